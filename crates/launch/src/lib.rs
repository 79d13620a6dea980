//! MPI programs as jobs of this machine:
//!
//! - the library that they find ([`library()`]), and the compilers that link them to it ([`compiler`]);
//! - their ranks on a simulated fabric ([`on_fabric`]), on several ([`Compared`]), with other jobs ([`Programs`]) or on
//!   several hosts ([`hosts`]);
//! - the record of their computation ([`record`]);
//! - any two commands that run in turn for their results ([`pairs()`]).
//!
//! It starts processes and prints nothing.

mod collectives;
mod compared;
pub mod compiler;
mod fabric;
pub mod hosts;
mod library;
mod pairs;
mod programs;
mod recorded;

pub use compared::Compared;
pub use fabric::{Clocks, Ended, How, Interpreter, OTHER_MPI, Told, on_fabric};
pub use hotlink_workloads::seating::{MOST_PER_NODE, Seats, Wanted};
pub use library::{Commands, library, with_library};
pub use pairs::pairs;
pub use programs::Programs;
pub use recorded::record;

/// The words of a command as records name it.
pub(crate) fn words_of(command: &[std::ffi::OsString]) -> String {
    command.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
