//! What a run gives.

use super::schedule::{ANY, Kind, Op};
use hotlink_fabric::units::Time;
use std::fmt;

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// When each rank's last operation ended.
    pub finish: Vec<Time>,
    /// Operations run.
    pub operations: u64,
    /// Messages delivered (handshakes not counted).
    pub messages: u64,
    /// Bytes delivered.
    pub bytes: u64,
    /// Events of the simulation.
    pub events: u64,
    /// Fingerprint of the course taken.
    pub trace_hash: u64,
    /// No machine with these parameters could run the schedule, matched as it was, in less.
    pub bound: Time,
    /// What gives the bound.
    pub limit: Limit,
    /// The processor or adapter that was busiest, and for how long; none where nothing was done.
    pub busiest: Option<(Limit, Time)>,
}

impl Outcome {
    /// When the last rank ended.
    pub fn latency(&self) -> Time {
        self.finish.iter().copied().max().unwrap_or_default()
    }
}

/// What a run cannot be faster than.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The longest chain of dependencies and messages, nothing ever waiting for a processor or adapter.
    Chain,
    /// The work of a rank's processor.
    Cpu {
        /// Rank.
        rank: u32,
        /// Processor.
        cpu: u32,
    },
    /// The gaps of a rank's adapter, sending.
    Send {
        /// Rank.
        rank: u32,
        /// Adapter.
        nic: u32,
    },
    /// The gaps of a rank's adapter, receiving.
    Recv {
        /// Rank.
        rank: u32,
        /// Adapter.
        nic: u32,
    },
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Chain => f.write_str("dependency chain"),
            Limit::Cpu { rank, cpu } => write!(f, "processor {cpu} of rank {rank}"),
            Limit::Send { rank, nic } => write!(f, "adapter {nic} of rank {rank}, sending"),
            Limit::Recv { rank, nic } => write!(f, "adapter {nic} of rank {rank}, receiving"),
        }
    }
}

/// Why a schedule cannot be run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// Operations that never end: a receive without message, a dependency circle.
    Never {
        /// How many.
        operations: u64,
        /// The first of them, the rank's n-th, from 1.
        first: Op,
        /// n.
        number: u32,
    },
    /// A message that no receive takes.
    Unreceived {
        /// How many.
        messages: u64,
        /// The first of them, the rank's n-th operation.
        first: Op,
        /// n.
        number: u32,
    },
    /// The clock passed its end.
    Late,
    /// More processors and adapters than can be kept.
    TooLarge,
}

impl std::error::Error for Stuck {}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stuck::Never { operations, first, number } => {
                write!(f, "{operations} operations never end, the first: {}", Shown(first, *number))?;
                f.write_str(" (a receive needs a message of its source and tag, dependencies must not run in circles)")
            }
            Stuck::Unreceived { messages, first, number } => {
                write!(f, "{messages} messages are never received, the first: {}", Shown(first, *number))
            }
            Stuck::Late => f.write_str("the simulated time passes 2^62 ps (53 days)"),
            Stuck::TooLarge => f.write_str("ranks x (largest processor or adapter number + 1) is above 2^26"),
        }
    }
}

struct Shown<'a>(&'a Op, u32);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(op, number) = self;
        let or_any = |number: u32| if number == ANY { "any".to_owned() } else { number.to_string() };
        write!(f, "rank {}, operation {number}: ", op.rank)?;
        match op.kind {
            Kind::Calc => write!(f, "calc {}", op.size),
            Kind::Send => write!(f, "send {}b to {} tag {}", op.size, op.peer, op.tag),
            Kind::Recv => write!(f, "recv {}b from {} tag {}", op.size, or_any(op.peer), or_any(op.tag)),
        }
    }
}
