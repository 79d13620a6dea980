//! Benchmarks on simulated machines, as cells: everything that decides the outcome of one simulation.

pub mod barrier;
pub mod cache_study;
pub mod cell;
pub mod deposit;
pub mod faults;
pub mod goal;
mod idle;
pub mod limiter;
pub mod loggp;
pub mod program;
pub mod programs;
pub mod qsnet;
pub mod request;
pub mod streams;
pub(crate) mod traffic;
