//! Calls of functions that the program gave: operators, attribute functions, error handlers, generalised requests.
#![allow(unsafe_code)]

use crate::abi::{Handle, Status};
use crate::pointer::Address;
use crate::process::attribute::Key;
use crate::process::gate::calls_back;
use hotlink_standard::constants as c;
use std::ffi::c_int;

/// The marks that the ABI has for functions of its own.
const NULL_FN: usize = 0;
const DUP_FN: usize = 1;

/// The copied value; `None`: it is not copied; the function's error otherwise.
pub(crate) fn copy_attribute(key: &Key, of: Handle, number: c_int, value: Address) -> Result<Option<Address>, c_int> {
    type Copy = unsafe extern "C" fn(Handle, c_int, usize, usize, *mut usize, *mut c_int) -> c_int;
    match key.copy {
        NULL_FN => return Ok(None),
        DUP_FN => return Ok(Some(value)),
        _ => {}
    }
    let (mut copy, mut flag) = (0, 0);
    // SAFETY: the program gave it as such a function.
    let code = calls_back(|| unsafe {
        let function: Copy = std::mem::transmute(key.copy);
        function(of, number, key.extra.0, value.0, &raw mut copy, &raw mut flag)
    });
    if code != c::MPI_SUCCESS {
        return Err(code);
    }
    Ok((flag != 0).then_some(Address(copy)))
}

pub(crate) fn delete_attribute(key: &Key, of: Handle, number: c_int, value: Address) -> c_int {
    type Delete = unsafe extern "C" fn(Handle, c_int, usize, usize) -> c_int;
    if key.delete == NULL_FN {
        return c::MPI_SUCCESS;
    }
    // SAFETY: the program gave it as such a function.
    calls_back(|| unsafe {
        let function: Delete = std::mem::transmute(key.delete);
        function(of, number, value.0, key.extra.0)
    })
}

/// A user's operator, with a length of either width.
pub(crate) fn operate(function: usize, wide: bool, (from, into): (Address, Address), count: i64, datatype: Handle) {
    let mut datatype = datatype;
    if wide {
        type Wide = unsafe extern "C" fn(usize, usize, *mut i64, *mut Handle);
        let mut count = count;
        // SAFETY: the program gave it as such a function.
        calls_back(|| unsafe {
            let function: Wide = std::mem::transmute(function);
            function(from.0, into.0, &raw mut count, &raw mut datatype);
        });
        return;
    }
    type Narrow = unsafe extern "C" fn(usize, usize, *mut c_int, *mut Handle);
    let mut count = c_int::try_from(count).unwrap_or(c_int::MAX);
    // SAFETY: the program gave it as such a function.
    calls_back(|| unsafe {
        let function: Narrow = std::mem::transmute(function);
        function(from.0, into.0, &raw mut count, &raw mut datatype);
    })
}

/// An error handler; returns the code that it leaves, which the failed call returns. Arguments beyond the standard's
/// two are the library's choice: it passes none.
pub(crate) fn handle(function: usize, of: Handle, code: c_int) -> c_int {
    type Handler = unsafe extern "C" fn(*mut Handle, *mut c_int, ...);
    let (mut of, mut code) = (of, code);
    // SAFETY: the program gave it as such a function.
    calls_back(|| unsafe {
        let function: Handler = std::mem::transmute(function);
        function(&raw mut of, &raw mut code);
    });
    code
}

pub(crate) fn query(function: usize, extra: Address, status: &mut Status) -> c_int {
    type Query = unsafe extern "C" fn(usize, *mut Status) -> c_int;
    // SAFETY: the program gave it as such a function.
    calls_back(|| unsafe {
        let function: Query = std::mem::transmute(function);
        function(extra.0, status)
    })
}

pub(crate) fn free(function: usize, extra: Address) -> c_int {
    type Free = unsafe extern "C" fn(usize) -> c_int;
    // SAFETY: the program gave it as such a function.
    calls_back(|| unsafe {
        let function: Free = std::mem::transmute(function);
        function(extra.0)
    })
}

pub(crate) fn cancel(function: usize, extra: Address, complete: bool) -> c_int {
    type Cancel = unsafe extern "C" fn(usize, c_int) -> c_int;
    // SAFETY: the program gave it as such a function.
    calls_back(|| unsafe {
        let function: Cancel = std::mem::transmute(function);
        function(extra.0, c_int::from(complete))
    })
}
