//! Random message-passing programs and the rules that their results must keep, for any port.
//!
//! A [`Script`] is such a program as data: the steps of each rank. [`generate`] draws a legal one from a seed; no
//! matching that MPI allows makes it deadlock. [`play()`] runs it as one rank of a [`Comm`](hotlink_message::Comm) and
//! reports what each receive has [`Seen`]. [`judge`] reports what is wrong with that by MPI's matching rules.
//! [`shrink`] makes a failing script small. Another library can run the same script: `tools/fuzz-messages` runs scripts
//! under mpi4py.

mod deterministic;
mod draw;
mod hunt;
mod judge;
mod model;
mod play;
mod script;
mod shrink;
mod wild;

pub use draw::{Ground, generate};
pub use hunt::{Faults, Found, Hunted, Run, hunt, limits_of, run};
pub use judge::{Promise, judge};
pub use model::{Stuck, rehearse};
pub use play::{Outcome, Report, Scripts, TURNS, play};
pub use script::{
    Collectively, Form, Message, Posting, Script, Seen, Step, Tuning, Waiting, contents, key_of, message_key, prefix,
};
pub use shrink::{as_test, shrink};
