//! Proof by exhaustion: the engines themselves, two or three of them, through every interleaving of small programs.
//!
//! A [`Case`] is a program for each rank, ports of some shape, and a limit on what may go wrong. The function
//! [`search`] starts from its first state and makes every possible move from every state. A rank goes on in its
//! program, or polls a message, the end of a transfer or a death. Every choice of the port within a call goes both
//! ways.
//!
//! A sequential model of MPI's matching rules (`oracle`) and marks in memory decide what is true at the end of every
//! path. Buffers are overwritten as soon as their requests are over, so that any later read or write of them shows.
//!
//! Which states are distinct, what is folded and why that is sound: `docs/message-proof.md`.

mod case;
mod cases;
mod chosen;
mod features;
mod host;
mod moves;
mod oracle;
mod port;
mod search;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod traces;
mod world;

pub use case::{Case, Size, Step};
pub use cases::Cases;
pub use chosen::chosen;
pub use features::{NAMES, Pairs};
pub use moves::{Move, What};
pub use port::{Door, Faults, Shape};
pub use search::{Fault, Seen, replay, search};
