//! `libmpi_abi.so.1`: the standard ABI of MPI 5 on this project's message passing.
//!
//! `generated/names.rs` holds the exported functions. Each wraps its pointers (`pointer.rs`) and calls a function of the same
//! name in `face/`, through the one gate (`process/gate.rs`) that locks, judges errors and calls error handlers. Faces are safe code:
//! they check arguments and call `hotlink_message` and `hotlink_standard`. Memory is touched in `memory.rs`, functions of the
//! program are called in `process/callback.rs`.

mod abi;
mod face;
mod failure;
mod generated;
mod memory;
mod pointer;
mod process;
mod seat;
mod table;
