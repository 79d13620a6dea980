//! GOAL schedules on a machine of the LogGP family: traces and collectives at millions of operations a second.
//!
//! A [`Schedule`] states what every rank sends, receives and computes, and what must come before what. It is read from
//! files ([`hotlink_schedule`]), or recorded from programs that run on ports of such a machine ([`LogGp::recording`]).
//! [`simulate`] runs it under [`LogGops`] parameters (Hoefler, Schneider, Lumsdaine: LogGOPSim, HPDC 2010). The model
//! has no topology and one latency for all pairs, but processors and adapters that are busy.
//!
//! ```
//! use hotlink_loggp::{LogGops, Schedule, simulate};
//! let text = "num_ranks 2\nrank 0 { l1: send 8b to 1 }\nrank 1 { l1: recv 8b from 0; l2: calc 1000; l2 requires l1 }";
//! let schedule = Schedule::parse(text).unwrap();
//! let machine: LogGops = "L=2us,o=0.5us,g=50ns,G=0.08ns".parse().unwrap();
//! // o + L + 7 G + o, then a microsecond of computation
//! assert_eq!(simulate(&schedule, &machine).unwrap().latency().0, 4_000_560);
//! ```
//!
//! Two rules differ from the reference program, towards the published model. The bytes of a message (G) occupy the
//! adapters and not the receiver's processor. The receive overhead is paid when the receive is served, not when an
//! unexpected message arrives. A rendezvous pays its handshake: request, clearance and data cross the network each.

mod machine;
mod outcome;
mod parameters;
mod port;
mod simulate;

pub use hotlink_schedule::{ANY, Builder, GoalError, Kind, MOST_RANKS, Op, Schedule, Stuck};
pub use machine::{Cost, Machine, Missing};
pub use outcome::{Limit, Outcome};
pub use parameters::{Curve, LogGops, PerByte, per_size};
pub use port::{LogGp, LogGpPort, Ran};
pub use simulate::simulate;
