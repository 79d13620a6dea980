//! Shared memory between processes of one machine: rings for control messages, segments cut from shared memory,
//! and the kernel's copy between processes for private memory.

mod exports;
mod port;
mod ring;
mod world;

pub use port::ShmPort;
pub(crate) use world::{MAX_RANKS, World};
