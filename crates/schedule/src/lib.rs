//! Schedules: what every rank sends, receives and computes, and what must come before what.
//!
//! A [`Schedule`] is one internal form for traces and plans of other programs. Readers turn their files into it: GOAL,
//! text and binary ([`goal`]), Chakra execution traces ([`chakra`]), MSCCL and MSCCL++ plans ([`msccl`]). A JSON form
//! is for people ([`plain`]). [`read()`] recognises the form of a file. [`check()`] finds what can never end before
//! anything runs. [`collective`] writes the collectives of GPU clusters as schedules.
//!
//! ```
//! use hotlink_schedule::{Schedule, check};
//! let text = "num_ranks 2\nrank 0 { send 8b to 1 }\nrank 1 { l1: recv 8b from 0; l2: calc 1000; l2 requires l1 }";
//! let schedule = Schedule::parse(text).unwrap();
//! assert_eq!((schedule.ranks(), schedule.ops().len()), (2, 3));
//! assert!(check(&schedule).is_ok());
//! ```
//!
//! Nothing here runs a schedule: LogGP machines (`hotlink-loggp`) and the packet network (`hotlink-sim`) do. Both keep a
//! [`States`] of the operations, and ask [`Matching`] which receive takes a message. [`longest()`] says how long a run takes
//! at least.

pub mod chakra;
mod check;
mod circle;
pub mod collective;
mod draft;
mod follows;
mod form;
pub mod goal;
mod longest;
mod matching;
mod mix;
pub mod msccl;
mod once;
mod ops;
pub mod plain;
mod protocol;
mod read;
mod record;
mod state;
mod together;
mod waiting;

pub use check::{Stuck, are_whole, check};
pub use circle::Waits;
pub use draft::{Draft, Local, Sums};
pub use form::{
    ANY, Builder, Extent, Kind, LATEST, MOST_BYTES, MOST_OPS, MOST_RANKS, MOST_UNITS, NONE, Op, Place, Schedule,
};
pub use goal::GoalError;
pub use longest::{Longest, longest};
pub use matching::Matching;
pub use protocol::Protocol;
#[doc(hidden)]
pub use read::read_bytes;
pub use read::{Costs, Cut, Domains, Format, Options, Read, ReadError, place, read};
pub use record::Recorder;
pub use state::{Line, Marks, States};
pub use together::{beside, repeated};
