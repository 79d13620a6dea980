//! What needs no more than what the crate shows, in one program.

mod faults;
mod qsnet;
mod queues;
mod ranking;
mod sensitivity;
mod transports;
mod values;
