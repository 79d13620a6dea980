//! What an interconnect does over time.
//!
//! Packets move through the resources of a fabric, and wait for them. [`event`] is the core: integer picoseconds, one
//! monotone queue, the same trace on every machine for the same inputs and seed.

pub mod event;
pub mod host;
pub mod loggp;
