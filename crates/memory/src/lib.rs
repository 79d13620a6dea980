//! The memory system of a node: what its processor, its DMA engines and its bus bridge share.
//!
//! All agents work on one model of lines, pages and banks. The processor loads and stores through caches and address
//! translation, with a number of misses under way. An engine reads and writes lines through the bridge, burst by burst.
//! Both meet at the banks, where a request for a row that is not open waits longer. One set of values for each machine
//! gives the cost of a stride and the latency of a burst. It also gives the slowdown of a computation during a
//! transfer.
//!
//! Processors of today go on while lines come ([`machine::Ahead`]); the values of such a machine come from copies measured
//! on it (`hotlink calibrate --model memory`).
//!
//! The values are measured or stated ones of the catalog; none is fitted to what the model then predicts. The model is
//! stepwise: each agent's next access goes to the banks in the order of time. There are no events, no input and no output.
//!
//! | file | what |
//! |---|---|
//! | [`machine`] | the values of one machine, and where each comes from |
//! | `dram` | banks, open rows, the data path |
//! | `cache`, `translation` | what needs no memory; which page lies where |
//! | `processor` | loads and stores: misses under way, allocation, write buffers, read-ahead |
//! | `kernel` | what a program does: copies with a stride, reads, DAXPY |
//! | `engine` | bursts of DMA through the bridge |
//! | `team` | several processors that run a loop at once |
//! | `beside` | programs and an engine at the same time |
//! | `why` | what makes one stride slower than another |
//! | [`Bus`] | the clocked bus, with the waits that follow from the memory |
//!
//! ```
//! use hotlink_memory::Memory;
//! let t3d = hotlink_fabric::catalog::load("k98-t3d").unwrap();
//! let memory = Memory::of(&t3d).unwrap();
//! let rate = |bytes: u64, time: hotlink_fabric::units::Time| bytes as f64 / time.s() / 1e6;
//! // STREAM's copy, 192 MB/s one way, which no value of the model was fitted to.
//! assert!((rate(1 << 20, memory.copy(1 << 20, 1)) / 192.0 - 1.0).abs() < 0.05);
//! ```

mod beside;
mod bus;
mod cache;
mod dram;
mod engine;
mod kernel;
pub mod machine;
mod memory;
mod parameters;
mod processor;
mod team;
mod translation;
mod why;

pub use beside::{Flow, Slowed};
pub use bus::{Bus, BusUse, Buses};
pub use kernel::Kernel;
pub use machine::Machine;
pub use memory::Memory;
pub use parameters::Parameters;
pub use processor::Counts;

/// Bytes of a word: K98's strides count these.
pub const WORD: u64 = 8;
