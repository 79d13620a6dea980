//! Benchmarks, statistics and result records. One result row is a [`Record`].
//!
//! A benchmark is a [`Bench`]: written once on [`hotlink_message::Endpoint`], run on simulated and real ports and on
//! foreign MPIs alike. It returns [`Samples`]; [`Summary`] is what a record says of them.

mod bound;
mod clocks;
mod collective;
mod crossing;
mod deposit;
pub mod distribution;
pub mod is;
mod kernel;
mod memory;
mod overlap;
mod pairs;
mod pingpong;
mod plan;
mod program;
mod record;
mod region;
mod reuse;
mod script;
mod semantics;
mod stats;
mod steady;
mod stream;
mod tuned;
mod watched;
pub mod words;

pub use bound::{
    CopyRate, HAND_OFF_LEAST_US, HAND_OFF_US, NO_EFFICIENCY, OF_PACKETS, beyond_by_estimates, copy_bound_mbps,
    flag_impossible, is_beyond, tightest, without_misleading,
};
pub use collective::{Collected, Collective, OF_ALL_PARTS, Start, Which, part};
pub use crossing::{Crossed, Crossing};
pub use deposit::{Deposit, Series};
pub use kernel::{Kernel, Proportions, Spent};
pub use memory::{MemoryCopy, MemoryPoint};
pub use overlap::{Overlap, OverlapTimes, Spinning};
pub use pairs::{Pairs, slow};
pub use pingpong::PingPong;
pub use plan::{Buffers, Plan, Samples, Timer};
pub use program::{Bench, OnPort};
pub use record::Record;
pub use region::{Hold, RegionKind, RegionSetup, RegionTimes, Regions};
pub use reuse::{Pattern, Reuse, ReuseTime};
pub use script::{Script, Step};
pub use semantics::Semantics;
#[doc(hidden)]
pub use serde;
pub use stats::{BLOCKS_LEAST, Summary, signed_rank};
pub use steady::{Steady, histogram};
pub use stream::{Calls, Direction, Stream};
pub use tuned::{Told, Tuned, Tuning};
pub use watched::{Faults, Happening, Observed, Observer, Seen, Watching, with_seen};
