//! Tests of ranks over shared memory, TCP and both: one program, because each would compile the message engine for
//! every port anew. Tests that count their process's memory, or have an instruction counted, are programs of their own.

mod assist;
mod collectives;
mod conformance;
mod free_port;
mod latch;
mod launched;
mod messages;
mod random;
mod reductions;
mod stalls;
mod strangers;
mod strided;
