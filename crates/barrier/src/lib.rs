//! Barrier networks over time: wires, gates and polling processors, event by event.
//!
//! A [`BarrierNetwork`] is a fabric's [`BarrierSpec`] built for a number of nodes. A run takes the time at which each
//! node arrives and gives the time at which each leaves. Every run checks that nobody leaves before all have arrived.
//! The closed form [`BarrierSpec::latency`] is independent of this, so each checks the other.
//!
//! ```
//! use hotlink_fabric::{catalog, units::Time};
//! use hotlink_barrier::BarrierNetwork;
//! let spec = catalog::load("hwbarr").unwrap().barrier.unwrap();
//! let mut network = BarrierNetwork::new(&spec, 4, false).unwrap();
//! let run = network.barrier(0, &[Time(0), Time(0), Time(0), Time(500_000)]).unwrap();
//! // o_w and one read after the last arrival: the read is under way when the output changes, 40 ns after the write.
//! assert_eq!(run.latency(), Time(2_400_000));
//! ```

mod device;
mod reduction;

pub use reduction::ReductionNetwork;

use device::TwoState;
use hotlink_event::{Event, Queue, RadixHeap, TraceHash};
use hotlink_fabric::barrier::{BarrierError, BarrierSpec};
use hotlink_fabric::units::Time;

/// The times of a machine in picoseconds.
#[derive(Clone, Copy, Debug)]
struct Times {
    enter: u64,
    read: u64,
    hop: u64,
    gate: u64,
    gate_per_input: u64,
    serial: u64,
}

/// A barrier network built for the first `nodes` nodes of its machine.
#[derive(Clone, Debug)]
pub struct BarrierNetwork {
    times: Times,
    arity: usize,
    nodes: usize,
    phases: u32,
    /// First device of each level, from the nodes up; the last entry is the number of devices.
    levels: Vec<usize>,
    channels: Vec<Channel>,
}

/// One of the independent trees.
#[derive(Clone, Debug)]
struct Channel {
    devices: Vec<TwoState>,
    /// What the nodes hold their outgoing wires at.
    level: bool,
}

/// What happened to one barrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BarrierRun {
    /// When the last node arrived.
    pub last_arrival: Time,
    /// When the result was at the last node's input.
    pub released: Time,
    /// When each node had seen it.
    pub leave: Vec<Time>,
    /// How long the network worked, over all passes: from the last node's signal to the result at the last node's
    /// input. The rest of [`BarrierRun::latency`] are accesses of processors.
    pub network: Time,
    /// Polling reads of all nodes.
    pub reads: u64,
    /// Events of the simulation.
    pub events: u64,
    /// Fingerprint of the course taken.
    pub trace_hash: u64,
}

impl BarrierRun {
    /// From the last arrival until the last node has left: what a barrier costs, without the waiting that skew makes.
    pub fn latency(&self) -> Time {
        self.leave.iter().copied().max().unwrap_or_default() - self.last_arrival
    }
}

/// A run that must not be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BarrierFault {
    /// A node left before all had arrived.
    #[error("node {node} left the barrier {early_ps} ps before the last node arrived")]
    Unsafe {
        /// The node.
        node: u32,
        /// How much too early.
        early_ps: u64,
    },
    /// A node never saw the result.
    #[error("node {node} never left the barrier")]
    Stuck {
        /// The node.
        node: u32,
    },
    /// There is no such channel.
    #[error("channel {channel} (allowed: 0 to {last})")]
    NoChannel {
        /// Asked for.
        channel: u32,
        /// The last there is.
        last: u32,
    },
}

/// An input of device `id` changes.
const INPUT: u8 = 0;
/// The result leaves device `id` downwards.
const DOWN: u8 = 1;
/// The result is at node `id`.
const RESULT: u8 = 2;

impl BarrierNetwork {
    /// The network for `nodes` nodes, in a partition of their own if `partitioned`.
    ///
    /// # Errors
    /// A number of nodes that it does not serve, or a network that cannot be cut.
    pub fn new(spec: &BarrierSpec, nodes: u32, partitioned: bool) -> Result<BarrierNetwork, BarrierError> {
        let used = spec.levels(nodes, partitioned)?;
        let arity = spec.arity.max(2);
        let (mut levels, mut devices, mut below) = (vec![0], Vec::new(), nodes);
        for &used in &used {
            devices.extend((0..used).map(|device| TwoState::new(arity.min(below - device * arity))));
            levels.push(devices.len());
            below = used;
        }
        let times = Times {
            enter: spec.enter.value.0,
            read: spec.read.value.0.max(1),
            hop: spec.hop.value.0,
            gate: spec.gate(nodes).0,
            gate_per_input: spec.gate_per_input().0,
            serial: spec.serial().0,
        };
        let channels = vec![Channel { devices, level: false }; spec.channels.max(1) as usize];
        Ok(BarrierNetwork {
            times,
            arity: arity as usize,
            nodes: nodes as usize,
            phases: spec.phases,
            levels,
            channels,
        })
    }

    /// One barrier on `channel`; node i arrives at `arrivals[i]`.
    ///
    /// # Errors
    /// A run that must not be.
    ///
    /// # Panics
    /// If `arrivals` has not one time per node.
    pub fn barrier(&mut self, channel: u32, arrivals: &[Time]) -> Result<BarrierRun, BarrierFault> {
        assert_eq!(arrivals.len(), self.nodes, "one arrival per node");
        let last = self.channels.len() as u32 - 1;
        if channel > last {
            return Err(BarrierFault::NoChannel { channel, last });
        }
        in_phases(self.phases, arrivals, |arrivals| self.trip(channel as usize, arrivals))
    }

    /// Once up and down the tree.
    fn trip(&mut self, channel: usize, arrivals: &[Time]) -> Result<BarrierRun, BarrierFault> {
        let level = !self.channels[channel].level;
        self.channels[channel].level = level;
        let mut trip = Trip {
            times: self.times,
            arity: self.arity,
            levels: &self.levels,
            devices: &mut self.channels[channel].devices,
            busy_until: if self.times.serial > 0 { vec![0; *self.levels.last().unwrap_or(&0)] } else { Vec::new() },
            level,
            queue: RadixHeap::default(),
            result_at: vec![u64::MAX; arrivals.len()],
        };
        let mut by_arrival: Vec<(u64, u32)> = (0..).zip(arrivals).map(|(node, at)| (at.0, node)).collect();
        by_arrival.sort_unstable();
        for (at, node) in by_arrival {
            let first_input = at + self.times.enter + self.times.hop;
            trip.queue.push(first_input, Event::new(INPUT, node / self.arity as u32, 0));
        }
        let (events, trace_hash) = trip.run();
        let result_at = trip.result_at;
        if let Some(node) = result_at.iter().position(|&at| at == u64::MAX) {
            return Err(BarrierFault::Stuck { node: node as u32 });
        }
        Ok(leaving((self.times.enter, self.times.read), arrivals, &result_at, events, trace_hash))
    }

    /// A global OR, as BlueGene/L's interrupts use it. `source` raises it at `at`, and every device passes on its first
    /// input. Each node's interrupt line rises at the time returned.
    pub fn interrupt(&self, source: u32, at: Time) -> Vec<Time> {
        let (times, top) = (self.times, self.levels.len() as u64 - 1);
        let device = times.gate + times.gate_per_input;
        // One input at a time: no queue, every path is up to the top and down.
        let turned = at.0 + times.enter + top * (times.hop + device + times.serial);
        let risen = turned + top * times.hop + top.saturating_sub(1) * times.gate;
        debug_assert!((source as usize) < self.nodes);
        vec![Time(risen); self.nodes]
    }
}

/// Every node reads over and over from when it has signalled (`enter`); the wire is sampled as a read (`read`) ends.
fn leaving((enter, read): (u64, u64), arrivals: &[Time], result_at: &[u64], events: u64, hash: u64) -> BarrierRun {
    let mut reads = 0;
    let leave = arrivals.iter().zip(result_at).map(|(arrival, &result)| {
        let polling = arrival.0 + enter;
        let needed = result.saturating_sub(polling).div_ceil(read).max(1);
        reads += needed;
        Time(polling + needed * read)
    });
    let leave = leave.collect();
    let last_arrival = arrivals.iter().copied().max().unwrap_or_default();
    let released = Time(result_at.iter().copied().max().unwrap_or_default());
    BarrierRun {
        last_arrival,
        released,
        network: Time(released.0.saturating_sub(last_arrival.0 + enter)),
        leave,
        reads,
        events,
        trace_hash: hash,
    }
}

/// One pass through the tree after the other, each from where the one before it ended.
fn in_phases(
    phases: u32,
    arrivals: &[Time],
    mut pass: impl FnMut(&[Time]) -> Result<BarrierRun, BarrierFault>,
) -> Result<BarrierRun, BarrierFault> {
    let mut run = pass(arrivals)?;
    for _ in 1..phases {
        let next = pass(&run.leave)?;
        let (reads, events, network) = (run.reads + next.reads, run.events + next.events, run.network + next.network);
        let trace_hash = run.trace_hash.rotate_left(1) ^ next.trace_hash;
        run = BarrierRun { reads, events, network, trace_hash, ..next };
    }
    run.last_arrival = arrivals.iter().copied().max().unwrap_or_default();
    check(&run)?;
    Ok(run)
}

/// Barrier safety: nobody leaves before all have arrived.
fn check(run: &BarrierRun) -> Result<(), BarrierFault> {
    match run.leave.iter().position(|&leave| leave < run.last_arrival) {
        Some(node) => {
            let early_ps = (run.last_arrival - run.leave[node]).0;
            Err(BarrierFault::Unsafe { node: node as u32, early_ps })
        }
        None => Ok(()),
    }
}

struct Trip<'a> {
    times: Times,
    arity: usize,
    levels: &'a [usize],
    devices: &'a mut [TwoState],
    /// Until when a counter counts; empty where inputs do not queue.
    busy_until: Vec<u64>,
    level: bool,
    queue: RadixHeap,
    result_at: Vec<u64>,
}

impl Trip<'_> {
    fn run(&mut self) -> (u64, u64) {
        let (mut events, mut trace) = (0, TraceHash::default());
        while let Some((now, event)) = self.queue.pop() {
            trace.add(now, event);
            events += 1;
            let id = event.id() as usize;
            match event.kind() {
                INPUT => self.input(now, id),
                DOWN => self.down(now, id),
                RESULT => self.result_at[id] = now,
                kind => unreachable!("event kind {kind}"),
            }
        }
        (events, trace.value())
    }

    /// An input of `device` takes the nodes' new level.
    fn input(&mut self, now: u64, device: usize) {
        let mut counted = now;
        if let Some(busy) = self.busy_until.get_mut(device) {
            counted = now.max(*busy) + self.times.serial;
            *busy = counted;
        }
        if self.devices[device].set(self.level) != Some(self.level) {
            return;
        }
        let inputs = u64::from(self.devices[device].inputs());
        let output = counted + self.times.gate + self.times.gate_per_input * inputs;
        let level = self.level_of(device);
        if level + 2 == self.levels.len() {
            self.queue.push(output, Event::new(DOWN, device as u32, 0));
        } else {
            let above = self.levels[level + 1] + (device - self.levels[level]) / self.arity;
            self.queue.push(output + self.times.hop, Event::new(INPUT, above as u32, 0));
        }
    }

    /// The result goes to all that `device` combines.
    fn down(&mut self, now: u64, device: usize) {
        let level = self.level_of(device);
        let first = (device - self.levels[level]) * self.arity;
        let inputs = self.devices[device].inputs() as usize;
        for child in first..first + inputs {
            if level == 0 {
                self.queue.push(now + self.times.hop, Event::new(RESULT, child as u32, 0));
            } else {
                let below = self.levels[level - 1] + child;
                self.queue.push(now + self.times.hop + self.times.gate, Event::new(DOWN, below as u32, 0));
            }
        }
    }

    fn level_of(&self, device: usize) -> usize {
        self.levels.partition_point(|&first| first <= device) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_leaves_too_early_is_told() {
        let run = BarrierRun {
            last_arrival: Time(100),
            released: Time(50),
            leave: vec![Time(120), Time(90)],
            network: Time(0),
            reads: 2,
            events: 0,
            trace_hash: 0,
        };
        assert_eq!(check(&run), Err(BarrierFault::Unsafe { node: 1, early_ps: 10 }));
    }

    #[test]
    fn a_device_that_does_not_wait_for_all_is_caught() {
        let spec = hotlink_fabric::catalog::load("hwbarr").unwrap().barrier.unwrap();
        let mut network = BarrierNetwork::new(&spec, 4, false).unwrap();
        // An input stuck at high: the output rises with the third node.
        network.channels[0].devices[0].set(true);
        let fault = network.barrier(0, &[Time(0), Time(0), Time(0), Time(50_000_000)]).unwrap_err();
        assert!(matches!(fault, BarrierFault::Unsafe { .. }), "{fault}");
    }
}
