//! The output of `generate/generate.py`. The exported functions are unsafe by nature: their pointers are the caller's
//! promise.
#![allow(unsafe_code, clippy::redundant_closure)]

/// Imports of the exported functions.
mod prelude {
    pub(super) use crate::abi::{Handle, Status};
    pub(super) use crate::failure::placed;
    pub(super) use crate::pointer::{Address, In, Ints, Out, OutInt, Text, TextOut};
    pub(super) use crate::process::gate::{Of, call, refuse, tools};
    pub(super) use crate::process::request::{Mode, Start};
    pub(super) use std::ffi::{c_char, c_int, c_void};
}

/// Exports each function under both of its names. A profiler that defines one calls the other.
macro_rules! export {
    ($($name:ident $profiled:ident ($($argument:ident : $type:ty),*) -> $result:ty = $body:expr;)*) => {$(
        /// Of the standard.
        ///
        /// # Safety
        /// As the standard has it: pointers are valid for what the call does with them.
        #[unsafe(no_mangle)]
        #[allow(unused_unsafe, non_snake_case)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            // SAFETY: the pointers are the caller's promise.
            unsafe { $body }
        }
        /// The same, under the name that profilers call.
        ///
        /// # Safety
        /// As above.
        #[unsafe(no_mangle)]
        #[allow(unused_unsafe, non_snake_case)]
        pub unsafe extern "C" fn $profiled($($argument: $type),*) -> $result {
            // SAFETY: as above.
            unsafe { $body }
        }
    )*};
}

mod names;
