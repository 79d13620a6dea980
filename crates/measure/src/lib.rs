//! Benchmarks between real ranks of this machine, or of several: a [`Request`] goes in, [`Measured`] records come out,
//! each with its bound.
//!
//! This crate starts processes and reads clocks, but reads no command line and prints nothing. It hands messages for
//! people to the [`Face`] that asked. `study` puts questions to models; this crate puts them to machines.

mod adapters;
mod alike;
mod bench;
mod clock;
mod counters;
pub mod doctor;
pub mod environment;
mod face;
mod here;
mod launch;
mod machine;
mod mpi;
pub mod native;
pub mod osu;
mod pass;
pub mod request;
mod room;
mod rounds;
mod run;
pub mod script;
mod session;
mod wire;

pub use face::{Face, Quiet};
pub use here::Here;
pub use machine::describe;
pub use request::Request;
pub use run::Measured;
