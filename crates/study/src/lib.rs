//! hotlink as a library: a question about an interconnect goes in, answers come out as [records](hotlink_bench::Record).
//!
//! Nothing here reads a command line, prints, starts a process, opens a socket or reads a clock. The faces (the
//! command, Python, a browser) do that and use this crate. A long computation reaches its face through [`Watch`].

pub mod ask;
pub mod benchmarks;
pub mod bound;
pub mod catalogued;
pub mod cell;
pub mod choices;
pub mod comparison;
pub mod effort;
mod error;
pub mod failed;
pub mod inputs;
pub mod judged;
pub mod model;
pub mod options;
pub mod parallel;
pub mod ranking;
pub mod schema;
pub mod sensitivity;
pub mod simulate;
mod simulated;
pub mod sizes;
pub mod sort;
mod source;
pub mod text;
pub mod transports;
pub mod uses;
pub mod values;
mod watch;

pub use error::Error;
pub use hotlink_bench::words;
pub use hotlink_sim::{Gauge, Halt, Halted};
pub use simulated::{Ran, Seating, on_fabric, recorded_on_fabric};
pub use source::{Source, explain, is_graph};
pub use watch::{Unwatched, Watch, Within};
