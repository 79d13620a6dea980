//! Pointers of the ABI as values that safe code can use. Only the exported functions make them, of arguments that the
//! standard has the caller keep valid for the call. Nothing keeps one longer, except where the standard says so (the
//! place of a request's buffers).
#![allow(unsafe_code)]

use crate::failure::{Done, check, failure};
use hotlink_standard::constants as c;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;

/// A place in the program's memory: looked at in `memory.rs` alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Address(pub(crate) usize);

impl Address {
    pub(crate) fn of<T>(pointer: *const T) -> Address {
        Address(pointer as usize)
    }
    pub(crate) fn is_null(self) -> bool {
        self.0 == 0
    }
    pub(crate) fn plus(self, bytes: i64) -> Address {
        Address(self.0.wrapping_add(bytes as usize))
    }
    /// Read or written as such a value.
    pub(crate) fn holds<T: Copy>(self) -> Out<T> {
        Out { at: self.0, of: PhantomData }
    }
}

/// An array, or one value, that the call reads.
#[derive(Clone, Copy)]
pub(crate) struct In<T> {
    /// The argument's name.
    name: &'static str,
    at: usize,
    of: PhantomData<T>,
}

impl<T: Copy> In<T> {
    /// # Safety
    /// Null or one of the standard's marks, or it can be read as far as the call's other arguments say.
    pub(crate) unsafe fn at(name: &'static str, pointer: *const T) -> In<T> {
        In { name, at: pointer as usize, of: PhantomData }
    }
    pub(crate) fn address(self) -> usize {
        self.at
    }
    pub(crate) fn get(self, index: usize) -> T {
        // SAFETY: as promised at `at`.
        unsafe { (self.at as *const T).add(index).read_unaligned() }
    }
    /// The first `count` of the array.
    ///
    /// # Errors
    /// It is a null pointer.
    pub(crate) fn list(self, count: usize) -> Done<Vec<T>> {
        filled(self.name, self.at, count)?;
        Ok((0..count).map(|index| self.get(index)).collect())
    }
}

/// Fails for an array at a null pointer or one of the standard's marks, if any of it is wanted.
fn filled(name: &str, at: usize, count: usize) -> Done {
    check(count == 0 || !is_mark(at), c::MPI_ERR_ARG, || format!("{name} is a null pointer"))
}

/// Whether an address is null or one of the standard's marks, where nothing can be.
pub(crate) fn is_mark(at: usize) -> bool {
    at < 4096
}

/// A value, or an array, that the call writes.
#[derive(Clone, Copy)]
pub(crate) struct Out<T> {
    at: usize,
    of: PhantomData<T>,
}

impl<T: Copy> Out<T> {
    /// # Safety
    /// Null, or it can be read and written as far as the call's other arguments say.
    pub(crate) unsafe fn at(pointer: *mut T) -> Out<T> {
        Out { at: pointer as usize, of: PhantomData }
    }
    /// Nothing is wanted.
    pub(crate) fn nowhere() -> Out<T> {
        Out { at: 0, of: PhantomData }
    }
    pub(crate) fn is_null(self) -> bool {
        self.at == 0
    }
    pub(crate) fn address(self) -> usize {
        self.at
    }
    /// Writes it, if it is wanted.
    #[inline(always)]
    pub(crate) fn set(self, value: T) {
        self.put(0, value);
    }
    #[inline(always)]
    pub(crate) fn put(self, index: usize, value: T) {
        if self.at != 0 {
            // SAFETY: as promised at `at`.
            unsafe { (self.at as *mut T).add(index).write_unaligned(value) }
        }
    }
    pub(crate) fn get(self, index: usize) -> T {
        // SAFETY: as promised at `at`.
        unsafe { (self.at as *const T).add(index).read_unaligned() }
    }
    /// The first `count` of an array, the argument `name`.
    ///
    /// # Errors
    /// It is a null pointer.
    pub(crate) fn list(self, name: &str, count: usize) -> Done<Vec<T>> {
        self.filled(name, count)?;
        Ok((0..count).map(|index| self.get(index)).collect())
    }
    /// Fails where there is no such array.
    pub(crate) fn filled(self, name: &str, count: usize) -> Done {
        filled(name, self.at, count)
    }
    pub(crate) fn fill(self, values: &[T]) {
        values.iter().enumerate().for_each(|(index, &value)| self.put(index, value));
    }
    pub(crate) fn nth(self, index: usize) -> Out<T> {
        if self.at == 0 { self } else { Out { at: self.at + index * size_of::<T>(), of: PhantomData } }
    }
}

/// Counts or displacements of either width.
#[derive(Clone, Copy)]
pub(crate) enum Ints {
    Narrow(In<c_int>),
    Wide(In<i64>),
}

impl Ints {
    /// # Safety
    /// As [`In::at`].
    pub(crate) unsafe fn narrow(name: &'static str, pointer: *const c_int) -> Ints {
        // SAFETY: the caller's promise.
        Ints::Narrow(unsafe { In::at(name, pointer) })
    }
    /// # Safety
    /// As [`In::at`].
    pub(crate) unsafe fn wide(name: &'static str, pointer: *const i64) -> Ints {
        // SAFETY: the caller's promise.
        Ints::Wide(unsafe { In::at(name, pointer) })
    }
    /// The first `count` of the array.
    ///
    /// # Errors
    /// It is a null pointer.
    pub(crate) fn list(self, count: usize) -> Done<Vec<i64>> {
        match self {
            Ints::Narrow(ints) => Ok(ints.list(count)?.into_iter().map(i64::from).collect()),
            Ints::Wide(ints) => ints.list(count),
        }
    }
}

/// A number of either width that the call writes.
#[derive(Clone, Copy)]
pub(crate) enum OutInt {
    Narrow(Out<c_int>),
    Wide(Out<i64>),
}

impl OutInt {
    /// # Safety
    /// As [`Out::at`].
    pub(crate) unsafe fn narrow(pointer: *mut c_int) -> OutInt {
        // SAFETY: the caller's promise.
        OutInt::Narrow(unsafe { Out::at(pointer) })
    }
    /// # Safety
    /// As [`Out::at`].
    pub(crate) unsafe fn wide(pointer: *mut i64) -> OutInt {
        // SAFETY: the caller's promise.
        OutInt::Wide(unsafe { Out::at(pointer) })
    }
    pub(crate) fn get(self) -> i64 {
        match self {
            OutInt::Narrow(out) => i64::from(out.get(0)),
            OutInt::Wide(out) => out.get(0),
        }
    }
    /// Writes it; one that has no room becomes what the standard has for that.
    pub(crate) fn set(self, value: i64) {
        match self {
            OutInt::Narrow(out) => {
                out.set(c_int::try_from(value).unwrap_or(hotlink_standard::constants::MPI_UNDEFINED))
            }
            OutInt::Wide(out) => out.set(value),
        }
    }
}

/// A string that the call reads.
#[derive(Clone, Copy)]
pub(crate) struct Text(usize);

impl Text {
    /// # Safety
    /// Null, or a string that ends with a zero.
    pub(crate) unsafe fn at(pointer: *const c_char) -> Text {
        Text(pointer as usize)
    }
    /// `None`: there is none.
    pub(crate) fn string(self) -> Option<String> {
        if self.0 == 0 {
            return None;
        }
        // SAFETY: as promised at `at`.
        Some(unsafe { CStr::from_ptr(self.0 as *const c_char) }.to_string_lossy().into_owned())
    }
    /// The same of an object's name, which must be there.
    ///
    /// # Errors
    /// It is a null pointer.
    pub(crate) fn name(self) -> Done<String> {
        self.string().ok_or_else(|| failure(c::MPI_ERR_ARG, "the name is a null pointer"))
    }
}

/// Room for a string.
#[derive(Clone, Copy)]
pub(crate) struct TextOut(usize);

impl TextOut {
    /// # Safety
    /// Null, or it has as much room as the standard asks for, or the call's other arguments say.
    pub(crate) unsafe fn at(pointer: *mut c_char) -> TextOut {
        TextOut(pointer as usize)
    }
    /// Writes as much as `room` takes, with a zero at the end; how many letters that were.
    pub(crate) fn write(self, text: &str, room: usize) -> usize {
        if self.0 == 0 || room == 0 {
            return 0;
        }
        let bytes = &text.as_bytes()[..text.len().min(room - 1)];
        // SAFETY: as promised at `at`: `room` bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0 as *mut u8, bytes.len());
            ((self.0 + bytes.len()) as *mut u8).write(0);
        }
        bytes.len()
    }
}

const _: () = assert!(size_of::<*const c_void>() == size_of::<usize>());
