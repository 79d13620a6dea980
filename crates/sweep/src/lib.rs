//! Sweeps: a plan of studies, expanded to cells, run on all cores or in shares on several machines, kept and gathered.
//!
//! A [`Plan`] is TOML. Each of its cells is a command line of the face that runs it ([`Commands`]), so that people can
//! run one cell by hand. A finished cell is a file named by the hash of everything that decides its result. Nothing
//! here knows a face's options, prints, starts a process or reads a clock.

mod commands;
mod gather;
mod plan;
mod run;
mod store;

pub use commands::{Commands, Named, Refusal, Takes};
pub use gather::{Gathered, Outcome, command_line, listed};
pub use plan::{Cell, expand};
pub use run::{Plan, Shard, document};
pub use store::{Keys, Store, text};
