//! Tests that need only the crate's public parts, in one program.

mod asked;
mod difference;
mod effort;
mod estimates;
mod failed;
mod faults;
mod injection;
mod limiter;
mod loaded;
mod loggp;
mod parallel;
mod qsnet;
mod queues;
mod ranking;
mod schema;
mod sensitivity;
mod sizes;
mod split;
mod transports;
mod values;
