//! Barrier and reduction networks: what they are, and how long they take in closed form.
//!
//! A barrier network is a tree of combining devices next to the fabric's data network. A node signals its arrival
//! (`enter`). Every device passes the signal up once all its inputs have it. The top device returns the result, and the
//! devices pass it down; a node polls for it (`read`). One device is H06's two-state machine, with
//! `t_b = o_w + o_p(P) + o_r` (H06 s22). A single device for all nodes with a time per arrival is a counter. A tree with a
//! machine's full depth is BlueGene/L's.

use crate::terms::{Origin, Value};
use crate::units::Time;
use std::collections::BTreeMap;

/// The barrier network of a fabric: `[barrier]` in its file.
#[derive(Clone, Debug, PartialEq)]
pub struct BarrierSpec {
    /// Name in the machine's terms.
    pub name: String,
    /// Inputs of a device.
    pub arity: u32,
    /// The tree is that of a machine of this size, for any part of it: signals go to its top.
    pub machine_nodes: Option<u32>,
    /// The tree can be cut into partitions of this many nodes times a power of two, each with a top of its own.
    pub partition_nodes: Option<u32>,
    /// Independent trees.
    pub channels: u32,
    /// Trips through the tree per barrier: 2 where the wires must be brought back first (barrier and anti-barrier).
    pub phases: u32,
    /// Source of the counts.
    pub origin: Origin,
    /// Processor time to signal (H06 o_w).
    pub enter: Value<Time>,
    /// Processor time of one polling read (H06 o_r).
    pub read: Value<Time>,
    /// A wire between a node and its device, or between devices.
    pub hop: Value<Time>,
    /// A device, from its last input to its output, each way.
    pub gate: Value<Time>,
    /// o_p(P) of the whole network for up to so many nodes, where it is known for whole networks (a synthesis). It adds
    /// to `gate`, and one device of the model stands for all. Empty if not known.
    pub processing: BTreeMap<u32, Value<Time>>,
    /// The same for each of its inputs in use (H06 o_p(P) = P x 0.01 us); none: zero.
    pub gate_per_input: Option<Value<Time>>,
    /// Time that a device spends on each arriving input, one after the other (a counter); none: zero.
    pub serial: Option<Value<Time>>,
    /// What the message-passing library adds around a barrier; none: zero.
    pub software: Option<Value<Time>>,
}

/// Why a barrier network cannot serve so many nodes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BarrierError {
    /// Too few or too many nodes.
    #[error("{nodes} nodes (allowed: {least} to {most})")]
    Nodes {
        /// Asked for.
        nodes: u32,
        /// Fewest.
        least: u32,
        /// Most.
        most: u32,
    },
    /// It cannot be cut.
    #[error("this barrier network cannot be partitioned (allowed: the whole machine)")]
    Whole,
}

/// Most nodes of a barrier network without a machine's size: 2^20.
pub const MOST_NODES: u32 = 1 << 20;

fn or_zero(value: &Option<Value<Time>>) -> Time {
    value.as_ref().map_or(Time::ZERO, |value| value.value)
}

impl BarrierSpec {
    /// Time of a device for each of its inputs in use.
    pub fn gate_per_input(&self) -> Time {
        or_zero(&self.gate_per_input)
    }
    /// Time of a device on each arriving input, one after the other.
    pub fn serial(&self) -> Time {
        or_zero(&self.serial)
    }
    /// What the library adds.
    pub fn software(&self) -> Time {
        or_zero(&self.software)
    }

    /// Time of a device, from its last input to its output, in a network of `nodes` nodes.
    pub fn gate(&self, nodes: u32) -> Time {
        let whole = self.processing.range(nodes..).next().map_or(Time::ZERO, |(_, value)| value.value);
        Time(self.gate.value.0 + whole.0)
    }

    /// Most nodes that it serves.
    pub fn most_nodes(&self) -> u32 {
        let known = self.processing.last_key_value().map(|(&nodes, _)| nodes);
        self.machine_nodes.or(known).unwrap_or(MOST_NODES)
    }

    /// Devices in use on each level, from the nodes up, when the first `nodes` nodes take part.
    ///
    /// # Errors
    /// A number of nodes that the network does not serve.
    pub fn levels(&self, nodes: u32, partitioned: bool) -> Result<Vec<u32>, BarrierError> {
        let most = self.most_nodes();
        if !(2..=most).contains(&nodes) {
            return Err(BarrierError::Nodes { nodes, least: 2, most });
        }
        let mut height = match (partitioned, self.partition_nodes) {
            (true, None) => return Err(BarrierError::Whole),
            (true, Some(smallest)) => {
                most.min(smallest.max(1) << nodes.div_ceil(smallest.max(1)).next_power_of_two().ilog2())
            }
            (false, _) => self.machine_nodes.unwrap_or(nodes),
        };
        let (mut used, mut levels) = (nodes, Vec::new());
        while height > 1 {
            height = height.div_ceil(self.arity.max(2));
            used = used.div_ceil(self.arity.max(2));
            levels.push(used);
        }
        Ok(levels)
    }

    /// From a device's first input to its output when `inputs` of them come at once.
    fn device(&self, gate: Time, inputs: u32) -> Time {
        let each = self.gate_per_input().0 + self.serial().0;
        Time(gate.0 + each * u64::from(inputs))
    }

    /// H06's o_p(P): from the last of `nodes` signals on its wire until the result is on all of theirs.
    ///
    /// Nodes must fill their devices for the serial part to be exact; else it is an upper bound.
    ///
    /// # Errors
    /// A number of nodes that the network does not serve.
    pub fn processing_time(&self, nodes: u32, partitioned: bool) -> Result<Time, BarrierError> {
        let levels = self.levels(nodes, partitioned)?;
        let (gate, mut below) = (self.gate(nodes), nodes);
        let mut tree = 0;
        for (level, &used) in levels.iter().enumerate() {
            let up = self.device(gate, below.min(self.arity.max(2))).0;
            let down = if level + 1 < levels.len() { gate.0 } else { 0 };
            tree += up + down + 2 * self.hop.value.0;
            below = used;
        }
        Ok(Time(tree))
    }

    /// A barrier of `nodes` nodes that arrive together: `phases` x (o_w + o_p(P) + o_r), H06 s22.
    ///
    /// Polling is counted as one whole read after the result, its worst case: a read under way may see it earlier.
    ///
    /// # Errors
    /// A number of nodes that the network does not serve.
    pub fn latency(&self, nodes: u32, partitioned: bool) -> Result<Time, BarrierError> {
        let trip = self.enter.value.0 + self.processing_time(nodes, partitioned)?.0 + self.read.value.0;
        Ok(Time(trip * u64::from(self.phases)))
    }
}
