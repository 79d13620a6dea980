//! The tree of a hardware broadcast: up to the least switch that covers a range of nodes, then down to all of them.
//!
//! QsNet's Elite switches do it so (P01). A packet for a contiguous range climbs, always by the first path up, to the
//! lowest switch above the source and the range. Switches replicate it on the path down. All broadcasts to a range
//! therefore turn at the same switch, from every source.

use super::{NONE, Plan, RouteBuffer, Stage};
use crate::error::SimError;
use hotlink_fabric::network::{Node, Vertex};
use hotlink_fabric::routing::{State, Trip};
use hotlink_fabric::topology::Shape;

/// Stages of a broadcast, each after its parent.
#[derive(Clone, Debug, Default)]
pub struct BroadcastTree {
    /// The stages; the first is the source's own.
    pub stages: Vec<Stage>,
    /// Stage before each; [`NONE`] for the first.
    pub(crate) parent: Vec<u32>,
    /// Stages after stage i: `kids[first_kid[i]..first_kid[i + 1]]`.
    first_kid: Vec<u32>,
    kids: Vec<u32>,
    /// Destinations.
    pub copies: u32,
    /// Switches on the longest path.
    pub switches: u32,
    /// Where it turns.
    pub root: Option<Vertex>,
    /// Latency of the longest path, in picoseconds.
    pub latency_ps: u64,
    /// Latency of its links and switches alone, in picoseconds.
    pub wire_ps: u64,
    /// Source, first and last node, and whether it goes from adapter to adapter.
    pub(crate) key: (u32, u32, u32, bool),
}

impl BroadcastTree {
    /// Stages after `stage`.
    #[inline]
    pub fn kids(&self, stage: u32) -> &[u32] {
        let at = stage as usize;
        &self.kids[self.first_kid[at] as usize..self.first_kid[at + 1] as usize]
    }

    /// From `stage` on, by first kids, to a destination.
    pub(crate) fn first_way(&self, mut stage: u32, out: &mut Vec<Stage>) {
        loop {
            out.push(self.stages[stage as usize]);
            match self.kids(stage).first() {
                Some(&kid) => stage = kid,
                None => return,
            }
        }
    }

    /// The stage of `lane` below `parent`, which is added if it is new.
    fn child(&mut self, parent: u32, stage: Stage, children: &mut Vec<Vec<u32>>) -> u32 {
        if let Some(own) = children.get(parent as usize) {
            let known = own.iter().find(|&&kid| self.stages[kid as usize].lane == stage.lane);
            if let Some(&kid) = known {
                return kid;
            }
        }
        let place = self.stages.len() as u32;
        self.stages.push(stage);
        self.parent.push(parent);
        children.push(Vec::new());
        if parent != NONE {
            children[parent as usize].push(place);
        }
        place
    }
}

impl Plan<'_> {
    /// The tree of a broadcast from `from` to the nodes `range[0]` to `range[1]`; `inner`: from adapter to adapters,
    /// else from host to hosts.
    ///
    /// # Errors
    /// A fabric whose switches do not replicate packets, a range that is none or has only the
    /// source in it.
    pub fn broadcast_tree(&self, from: u32, range: [u32; 2], inner: bool) -> Result<BroadcastTree, SimError> {
        self.broadcast_tree_by(0, from, range, inner)
    }

    /// The same by way number `way` of those up: all broadcasts must take the same, lest they deadlock.
    pub(crate) fn broadcast_tree_by(
        &self,
        way: usize,
        from: u32,
        [first, last]: [u32; 2],
        inner: bool,
    ) -> Result<BroadcastTree, SimError> {
        let nodes = self.fabric.nodes();
        let spec = &self.fabric.spec;
        let is_tree = matches!(&self.fabric.shape, Shape::Tiers(_));
        if spec.technology.replicates.is_none() || !is_tree {
            let what = format!(
                "{}: switches of technology {} do not replicate packets (qsnet's do, in a fat tree)",
                spec.name, spec.technology.name
            );
            return Err(SimError::Input(what));
        }
        if first > last || last >= nodes || from >= nodes || (first == from && last == from) {
            return Err(SimError::Input(format!(
                "a broadcast from node {from} to nodes {first} to {last}: nodes are 0 to {}, and one must be another",
                nodes - 1
            )));
        }
        let mut buffer = RouteBuffer::default();
        buffer.inner = inner;
        let mut tree =
            BroadcastTree { copies: last - first + 1, key: (from, first, last, inner), ..BroadcastTree::default() };
        let turn = self.climb(way, from, [first, last], &mut buffer, &mut tree)?;
        let mut children = Vec::new();
        let mut trunk = NONE;
        for &stage in &buffer.stages {
            trunk = tree.child(trunk, stage, &mut children);
        }
        let up_ps = buffer.latency_ps;
        tree.root = Some(turn.at);
        for to in first..=last {
            buffer.clear();
            buffer.at_host = false;
            self.numbered_ways(turn, Trip::new(Node(from), Node(to)), (0, usize::MAX), &mut buffer)?;
            self.end(to, &mut buffer);
            tree.latency_ps = tree.latency_ps.max(up_ps + buffer.latency_ps);
            let stages = std::mem::take(&mut buffer.stages);
            stages.iter().fold(trunk, |at, &stage| tree.child(at, stage, &mut children));
            buffer.stages = stages;
        }
        tree.wire_ps = tree.latency_ps.saturating_sub(self.hosts_ps(inner));
        for own in &children {
            tree.first_kid.push(tree.kids.len() as u32);
            tree.kids.extend(own);
        }
        tree.first_kid.push(tree.kids.len() as u32);
        Ok(tree)
    }

    /// Puts the path from `from` up to the least switch that covers the range into `out`; gives the state there.
    fn climb(
        &self,
        way: usize,
        from: u32,
        range: [u32; 2],
        out: &mut RouteBuffer,
        tree: &mut BroadcastTree,
    ) -> Result<State, SimError> {
        let mut far = (0, from);
        for to in range.into_iter().filter(|&to| to != from) {
            out.clear();
            self.numbered_ways(State::start(Node(from)), Trip::new(Node(from), Node(to)), (0, usize::MAX), out)?;
            far = far.max((out.switches, to));
        }
        let (switches, to) = far;
        tree.switches = switches;
        out.clear();
        self.begin(from, out);
        // A path crosses as many switches up as down, and the one where it turns.
        let up = switches.div_ceil(2) as usize;
        self.numbered_ways(State::start(Node(from)), Trip::new(Node(from), Node(to)), (way, up), out)
    }

    /// Follows path number `way` of those that the routing offers, for `most` hops or to the trip's end.
    fn numbered_ways(
        &self,
        mut state: State,
        trip: Trip,
        (way, most): (usize, usize),
        out: &mut RouteBuffer,
    ) -> Result<State, SimError> {
        let ways = self.fabric.ways(trip);
        for _ in 0..most {
            if state.at == trip.destination.vertex() {
                break;
            }
            let mut hops = std::mem::take(&mut out.hops);
            ways.hops(state, &mut hops);
            let hop = hops.get(way % hops.len().max(1)).copied();
            out.hops = hops;
            let hop = hop.ok_or_else(|| SimError::no_route(self.fabric, trip))?;
            state = self.cross(state.at, hop, super::NO_CHOICE, trip, out);
        }
        Ok(state)
    }
}
