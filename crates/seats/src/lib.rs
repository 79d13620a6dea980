//! Seats of ranks that are processes and whose network is simulated: a compiled program runs on a fabric that is not there.
//!
//! A rank's process has a [`Door`], a port whose calls are served at its desk in the simulator, one at a time. The
//! simulation stands still while a process runs, so it alone decides the order of events. The two meet in a mailbox of
//! shared memory. The process's own memory stays where it is, and the simulator reads and writes it there. [`Office`]
//! is the simulator's side, a [`hotlink_port::Program`] for any port on which others may lodge memory.
//!
//! On real ports ranks report in [`Waits`] what they wait for, and a [`Watch`] sees that none can go on. There a process also
//! reads and writes the memory of a [`Neighbor`], and [`Assists`] it.

mod assist;
mod calls;
mod desk;
mod door;
mod held;
mod idle;
mod mailbox;
mod name;
mod neighbor;
mod office;
mod remote;
mod steps;
pub mod sys;
mod talk;
mod tasks;
mod turns;
mod waits;

/// The status of a rank that has only noticed another's end: the MPI library's `MPI_ERR_PROC_ABORTED`.
pub const NOTICED: u8 = 58;

pub use assist::{Assists, Combine, How};
pub use calls::{Called, Entry, Sums};
pub use door::{Clock, Door, Halted, clock, goes_into, is_simulated, look, within};
pub use idle::Idle;
pub use neighbor::Neighbor;
pub use office::{Office, Spent};
pub use steps::Step;
pub use turns::{Lends, Sleeps, Turns, Want, sleeps_by, take_turns, turns};
pub use waits::{Account, WAITS, Waits, Watch, Words, function, keep_quiet, quietly, waits_in};
