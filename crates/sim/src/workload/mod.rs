//! What the nodes do: the benchmarks that need no rank program.
//!
//! Each runs to its end (or for a measured window) on a fresh network and gives a [`Run`] with its own figures.

mod alike;
mod alltoall;
mod background;
mod pingpong;
mod replay;
mod saturation;
mod series;
mod traffic;
mod whole;

pub use alltoall::{Schedule, all_to_all, exchange};
pub use background::Background;
pub(crate) use background::TAG as BACKGROUND;
pub use hotlink_event::sizes::SizeLaw;
pub use pingpong::{PingPong, ping_pong};
pub use replay::{Replay, ReplayError, replay};
pub use saturation::{Stream, exchanges, message_passing_pause, saturate};
pub use series::Series;
pub use traffic::{Flows, OpenLoop};
pub use whole::Replayed;

use crate::net::{Net, Stats};
use hotlink_fabric::units::Time;

/// What every simulation reports in addition to its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Simulated time of the measured part.
    pub elapsed: Time,
    /// Payload delivered in the measured part, in bytes.
    pub bytes: u64,
    /// Counts of the whole run.
    pub stats: Stats,
    /// Fingerprint of the whole run.
    pub trace_hash: u64,
    /// Pairs of nodes between which messages were given up because everything between them was down.
    pub unreachable: Vec<(u32, u32)>,
    /// Share of the whole run that each server was busy, in order of the plan's servers.
    pub busy: Vec<f64>,
}

impl Run {
    pub(crate) fn of(net: &Net<'_>, elapsed: Time, bytes: u64) -> Run {
        // Programs go on for a while after the last packet.
        let span = net.worked().0.max(elapsed.0).max(1) as f64;
        let busy = net.busy_ps().map(|ps| ps as f64 / span).collect();
        Run { elapsed, bytes, stats: net.stats(), trace_hash: net.trace_hash(), unreachable: net.unreachable(), busy }
    }
    /// Payload rate of the measured part in MB/s (10^6 bytes per second), all nodes together.
    pub fn mbps(&self) -> f64 {
        self.bytes as f64 / self.elapsed.us().max(f64::MIN_POSITIVE)
    }
}
