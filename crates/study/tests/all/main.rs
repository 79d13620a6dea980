//! What needs no more than what the crate shows, in one program.

mod effort;
mod failed;
mod faults;
mod limiter;
mod qsnet;
mod queues;
mod ranking;
mod schema;
mod sensitivity;
mod transports;
mod values;
