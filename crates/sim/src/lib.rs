//! What an interconnect does over time.
//!
//! Packets move through the resources of a fabric, and wait for them. [`hotlink_event`] is the core. It counts integer
//! picoseconds in one monotone queue, and gives the same trace on every machine for the same inputs and seed.

pub mod error;
pub mod fault;
pub mod flow;
pub mod host;
pub mod net;
pub mod plan;
pub mod port;
pub mod qsnet;
pub mod workload;

pub use error::SimError;
pub use flow::Settings;
pub use hotlink_event::{Gauge, Halt, Halted};
pub use net::{Message, Net, Note};
pub use plan::Plan;
