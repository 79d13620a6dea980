//! Shared memory between processes of one machine: rings for control messages, and segments cut from shared memory.
//! Private memory takes the kernel's copy between processes, or the target's help where blocks are small.

mod barrier;
mod exports;
mod lane;
mod port;
mod reduce;
mod ring;
mod scatter;
mod world;

pub use port::ShmPort;
pub(crate) use world::MAX_RANKS;
pub use world::World;
