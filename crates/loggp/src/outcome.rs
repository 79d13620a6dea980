//! What a run gives.

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

impl Limit {
    /// As text, with a processor's name by its rank and number.
    pub fn named(&self, processor: impl Fn(u32, u32) -> String) -> String {
        match *self {
            Limit::Cpu { rank, cpu } => processor(rank, cpu),
            other => other.to_string(),
        }
    }
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
