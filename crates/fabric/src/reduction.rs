//! Reduction networks: trees whose devices combine what their inputs carry, in closed form.
//!
//! It works like a barrier network ([`crate::barrier`]), but every node sends data: whole segments, one after the other
//! at the network's rate. A device combines a segment once all its inputs have it and passes the result up. The top
//! returns it, and devices pass it down as it comes. InfiniBand switches (SHARP: Graham et al. 2016) and BlueGene/L's
//! collective network reduce so.

use crate::barrier::{BarrierError, BarrierSpec};
use crate::terms::Value;
use crate::units::{Rate, Time};

/// The reduction network of a fabric: `[reduction]` in its file.
#[derive(Clone, Debug, PartialEq)]
pub struct ReductionSpec {
    /// The tree and its times; `phases` are passes of the data (2: exponents first, then mantissas).
    pub tree: BarrierSpec,
    /// Most bytes of a segment.
    pub segment: Value<u64>,
    /// Rate at which a node sends segments and a device combines them.
    pub rate: Value<Rate>,
}

/// A message in segments: how many, and how long a full one and the last one take at the network's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    /// Number, at least 1.
    pub count: u64,
    /// Time of each but the last.
    pub each: Time,
    /// Time of the last.
    pub last: Time,
}

impl ReductionSpec {
    /// `bytes` in segments.
    pub fn segments(&self, bytes: u64) -> Segments {
        let most = self.segment.value.max(1);
        let count = bytes.div_ceil(most).max(1);
        let time =
            |bytes: u64| Time((u128::from(bytes) * 1_000_000_000_000).div_ceil(self.rate.value.0.max(1).into()) as u64);
        Segments { count, each: time(most), last: time(bytes - (count - 1) * most) }
    }

    /// A reduction of `bytes` on `nodes` nodes that arrive together, with its result on all. Each pass takes the path
    /// of a barrier, and the segments pass every level's device one after the other.
    ///
    /// A pipeline of S equal stages passes n segments in (n - 1 + S) times the time of one. The last one's own time
    /// replaces one of them. The first stage is the node's sending. Polling is counted as one whole read.
    ///
    /// # Errors
    /// A number of nodes that the network does not serve.
    pub fn latency(&self, nodes: u32, bytes: u64) -> Result<Time, BarrierError> {
        let levels = self.tree.levels(nodes, false)?.len() as u64;
        let Segments { count, each, last } = self.segments(bytes);
        let pipeline = match count {
            1 => (levels + 1) * last.0,
            _ => (count - 1 + levels) * each.0 + last.0,
        };
        Ok(Time(self.tree.latency(nodes, false)?.0 + u64::from(self.tree.phases) * pipeline))
    }
}
