//! Result files and their uses:
//!
//! - [`read`] reads them back, and [`import`] reads those of other programs.
//!
//! - [`Batch`] writes them all or not at all.
//!
//! - [`compare_runs`] compares two sets, and [`calibrate`] makes a fabric of them.
//!
//! - [`timeline`] shows the actions of ranks' ports.
//!
//! Nothing here reads a command line, prints, starts a process or reads a clock.

pub mod anonymous;
pub mod calibrate;
pub mod compare_runs;
mod files;
pub mod import;
mod lines;
pub mod picked;
mod place;
pub mod timeline;
mod versions;

pub use files::{IMPORTED_ON, INCOMPLETE, Results, as_typed, measured, parse, read, sha256};
pub use place::{Batch, are_apart, can_write, is_free, is_no_input, write_whole, write_with};
pub use versions::{is_ours, of_today};
