//! `libmpi_abi.so.1`: the standard ABI of MPI 5 on this project's message passing.
//!
//! `generated/names.rs` holds the exported functions. Each wraps its pointers (`pointer.rs`) and calls a function of
//! the same name in `face/`. The call goes through the one gate (`process/gate.rs`) that locks, judges errors and calls
//! error handlers. Faces are safe code: they check arguments and call `hotlink_message` and `hotlink_standard`. Only
//! `memory.rs` touches memory, and only `process/callback.rs` calls functions of the program.

mod abi;
mod face;
mod failure;
mod generated;
mod memory;
mod pointer;
mod process;
mod seat;
mod table;
