//! Reduction networks over time: segments through combining devices, polling processors.
//!
//! Every source of a device sends its segments without a pause, so a device that combines full segments does the same.
//! Its first and its last segment determine the times of all others. A reduction therefore costs two steps a device,
//! for any size. The closed form [`ReductionSpec::latency`] is independent of this, so each checks the other.

use super::{BarrierFault, BarrierRun, in_phases, leaving};
use hotlink_event::{Event, TraceHash};
use hotlink_fabric::barrier::BarrierError;
use hotlink_fabric::reduction::{ReductionSpec, Segments};
use hotlink_fabric::units::Time;

/// A reduction network built for a number of nodes.
#[derive(Clone, Debug)]
pub struct ReductionNetwork {
    spec: ReductionSpec,
    /// Devices of each level, from the nodes up.
    levels: Vec<u32>,
}

/// When the first and the last segment of a message are whole at some place.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    first: u64,
    last: u64,
}

impl ReductionNetwork {
    /// The network for `nodes` nodes.
    ///
    /// # Errors
    /// A number of nodes that it does not serve.
    pub fn new(spec: &ReductionSpec, nodes: u32) -> Result<ReductionNetwork, BarrierError> {
        Ok(ReductionNetwork { levels: spec.tree.levels(nodes, false)?, spec: spec.clone() })
    }

    /// One reduction of `bytes` of each node, its result on all; node i arrives at `arrivals[i]`.
    ///
    /// # Errors
    /// A run that must not be: a node with a result before all have arrived.
    pub fn reduce(&self, arrivals: &[Time], bytes: u64) -> Result<BarrierRun, BarrierFault> {
        in_phases(self.spec.tree.phases, arrivals, |arrivals| Ok(self.pass(arrivals, bytes)))
    }

    /// Once up and down the tree.
    fn pass(&self, arrivals: &[Time], bytes: u64) -> BarrierRun {
        let (tree, segments) = (&self.spec.tree, self.spec.segments(bytes));
        let (enter, hop, nodes) = (tree.enter.value.0, tree.hop.value.0, arrivals.len() as u32);
        let gate = tree.gate(nodes).0;
        let source = |at: &Time| combined(segments, Stream { first: at.0 + enter, last: 0 });
        let mut streams: Vec<Stream> = arrivals.iter().map(source).collect();
        let (mut events, mut trace) = (0, TraceHash::default());
        for &devices in &self.levels {
            streams =
                streams.chunks(tree.arity.max(2) as usize).map(|inputs| self.device(segments, gate, inputs)).collect();
            debug_assert_eq!(streams.len(), devices as usize);
            for (device, stream) in (0..).zip(&streams) {
                trace.add(stream.last, Event::new(0, device, 0));
            }
            events += 2 * u64::from(devices);
        }
        // Down, as it comes: every device but the top passes each segment on.
        let depth = self.levels.len() as u64;
        let released = streams[0].last + depth * hop + (depth - 1) * gate;
        let result_at = vec![released; arrivals.len()];
        leaving((enter, tree.read.value.0.max(1)), arrivals, &result_at, events, trace.value())
    }

    /// A device combines what is whole at all its inputs.
    fn device(&self, segments: Segments, gate: u64, inputs: &[Stream]) -> Stream {
        let tree = &self.spec.tree;
        let hop = tree.hop.value.0;
        let latest = |of: fn(&Stream) -> u64| inputs.iter().map(of).max().unwrap_or(0) + hop;
        let done = combined(segments, Stream { first: latest(|input| input.first), last: latest(|input| input.last) });
        let through = gate + (tree.gate_per_input().0 + tree.serial().0) * inputs.len() as u64;
        Stream { first: done.first + through, last: done.last + through }
    }
}

/// Segments through a stage of the network's rate, which takes them one after the other.
fn combined(segments: Segments, whole: Stream) -> Stream {
    let Segments { count, each, last } = segments;
    if count == 1 {
        let done = whole.first + last.0;
        return Stream { first: done, last: done };
    }
    let first = whole.first + each.0;
    let before_last = first + (count - 2) * each.0;
    Stream { first, last: before_last.max(whole.last) + last.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotlink_fabric::catalog;
    use hotlink_fabric::rng::SplitMix64;

    fn spec(name: &str) -> ReductionSpec {
        catalog::load(name).unwrap().reduction.unwrap()
    }

    /// Segment by segment, as the definition says.
    fn slowly(spec: &ReductionSpec, arrivals: &[Time], bytes: u64) -> u64 {
        let (tree, Segments { count, each, last }) = (&spec.tree, spec.segments(bytes));
        let time = |k: u64| if k + 1 == count { last.0 } else { each.0 };
        let mut levels: Vec<Vec<u64>> = Vec::new();
        levels.push(arrivals.iter().map(|at| at.0 + tree.enter.value.0).collect());
        levels.extend(tree.levels(arrivals.len() as u32, false).unwrap().iter().map(|&n| vec![0; n as usize]));
        let mut top = 0;
        for k in 0..count {
            let mut whole: Vec<u64> = vec![0; arrivals.len()];
            for (level, busy) in levels.iter_mut().enumerate() {
                let gate = if level == 0 { 0 } else { tree.gate.value.0 };
                if level > 0 {
                    let arity = tree.arity as usize;
                    whole = whole.chunks(arity).map(|all| all.iter().max().unwrap() + tree.hop.value.0).collect();
                }
                for (busy, whole) in busy.iter_mut().zip(&mut whole) {
                    *busy = (*busy).max(*whole) + time(k);
                    *whole = *busy + gate;
                }
            }
            top = whole[0];
        }
        let depth = levels.len() as u64 - 1;
        top + depth * tree.hop.value.0 + (depth - 1) * tree.gate.value.0
    }

    #[test]
    fn two_segments_tell_the_times_of_all() {
        let mut random = SplitMix64::new(7);
        for (name, nodes) in [("sharp", 40), ("ib-hdr-sharp", 401), ("bluegene-l", 21)] {
            let mut spec = spec(name);
            spec.tree.phases = 1;
            let network = ReductionNetwork::new(&spec, nodes).unwrap();
            for bytes in [0, 8, 256, 300, 5000, 70_000] {
                let arrivals: Vec<Time> = (0..nodes).map(|_| Time(random.below(20_000_000))).collect();
                let run = network.reduce(&arrivals, bytes).unwrap();
                assert_eq!(run.released.0, slowly(&spec, &arrivals, bytes), "{name}, {bytes} B");
            }
        }
    }

    #[test]
    fn it_takes_its_closed_form_less_at_most_a_read_a_pass() {
        for (name, most) in [("sharp", 65_536), ("ib-hdr-sharp", 65_536), ("bluegene-l", 65_536)] {
            let spec = spec(name);
            for nodes in (1..=16).map(|bits| 1 << bits).filter(|&nodes| nodes <= most) {
                let network = ReductionNetwork::new(&spec, nodes).unwrap();
                for bytes in [8, 4096, 1 << 20] {
                    let run = network.reduce(&vec![Time(5); nodes as usize], bytes).unwrap();
                    let formula = spec.latency(nodes, bytes).unwrap();
                    let reads = u64::from(spec.tree.phases) * spec.tree.read.value.0;
                    let told = run.latency().0;
                    assert!(
                        told <= formula.0 && formula.0 - told <= reads,
                        "{name} {nodes} {bytes}: {told} {formula:?}"
                    );
                }
            }
        }
    }
}
