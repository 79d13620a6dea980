//! Benchmarks, statistics and result records. One result row is a [`Record`].
//!
//! A benchmark is a [`Bench`]: written once on [`hotlink_message::Endpoint`], run on simulated and real ports and on
//! foreign MPIs alike. It returns [`Samples`]; [`Summary`] is what a record says of them.

mod bound;
mod collective;
mod deposit;
pub mod is;
mod memory;
mod overlap;
mod pingpong;
mod plan;
mod program;
mod record;
mod reuse;
mod saturation;
mod stats;
mod tuned;

pub use bound::{CopyRate, copy_bound_mbps};
pub use collective::{Collective, Which};
pub use deposit::{Deposit, Series};
pub use memory::{MemoryCopy, MemoryPoint};
pub use overlap::{Overlap, OverlapTimes};
pub use pingpong::PingPong;
pub use plan::{Plan, Samples, timer_overhead};
pub use program::{Bench, OnPort};
pub use record::Record;
pub use reuse::{Pattern, Reuse, ReuseTime};
pub use saturation::Saturation;
pub use stats::Summary;
pub use tuned::{Told, Tuned, Tuning};
