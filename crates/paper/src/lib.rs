//! Answers as people and programs read them. [`Output`] collects records and prints them once, in the requested format.
//! [`Table`] is for people, with the [`columns`] of each verb. [`Progress`] reports the remaining time. Each kind of
//! answer has a file that lays it out: [`comparison`], [`design`], [`diagnosis`], [`job`], [`runs`], [`site`],
//! [`studies`].
//!
//! It reads no command line and computes nothing: every number comes from a record.

pub mod columns;
pub mod comparison;
pub mod design;
pub mod diagnosis;
/// Writes a line to the standard error output, as `eprintln!` does. Where nobody reads it any longer, the program goes on.
#[macro_export]
macro_rules! tell {
    ($($words:tt)*) => {{
        use ::std::io::Write as _;
        let _ = ::std::writeln!(::std::io::stderr(), $($words)*);
    }};
}

mod face;
mod finished;
pub mod job;
mod output;
mod progress;
mod rests;
pub mod runs;
pub mod site;
pub mod studies;
mod table;

pub use face::Terminal;
pub use output::{Format, Options, Output, Plotter, line, pretty};
pub use progress::{Progress, Stopwatch, Ticking, When, heed_interrupts, heeding};
pub use table::Table;
