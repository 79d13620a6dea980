//! Deadlock freedom of a routing, by its channel-dependency graph (Dally and Seitz 1987).
//!
//! A packet that holds one virtual channel may wait for the next on its route. If no cycle of such dependencies can
//! form, packets cannot deadlock; a cycle means that blocked packets of the right lengths may. Every route that the
//! routing allows is followed. On a cube in dimension order, rings of one dimension are copies of each other and
//! dependencies between dimensions only ascend, so one ring of each dimension tells all.
//!
//! What the graph does not see is told beside it: SCI rings have cycles but their access protocol (bypass FIFO, echo,
//! busy retry) keeps packets moving, and unbounded buffers never block.

use crate::built::Fabric;
use crate::network::{Channel, Node, Resource, Vertex};
use crate::routing::{Hop, Routing, State, Toward};
use crate::spec::FlowControl;
use crate::topology::Cube;

/// A virtual channel of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VirtualChannel {
    /// The channel.
    pub channel: Channel,
    /// Which of its virtual channels.
    pub vc: u8,
}

/// Why blocked packets cannot deadlock whatever the graph says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// SCI's ring access protocol.
    RingAccess,
    /// Buffers without bound.
    UnboundedBuffers,
}

/// What the channel-dependency graph shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Virtual channels that routes use.
    pub channels: usize,
    /// Dependencies between them.
    pub dependencies: usize,
    /// A cycle, if there is one: each waits for the next, the last for the first.
    pub cycle: Option<Vec<VirtualChannel>>,
    /// What prevents deadlock in spite of a cycle.
    pub protection: Option<Protection>,
}

/// The fabric is too large to follow every route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "too many routes to check for deadlock (about {steps} steps, at most {MAX_STEPS}): check a smaller size of this fabric"
)]
pub struct TooLarge {
    /// Steps that it would take.
    pub steps: u64,
}

/// Most steps (channel visits over all destinations) that a check takes: some seconds.
pub const MAX_STEPS: u64 = 1 << 28;

/// Follows every route and looks for a cycle.
///
/// # Errors
/// [`TooLarge`].
pub fn check(fabric: &Fabric) -> Result<Report, TooLarge> {
    let mut graph = Dependencies::new(fabric);
    match &fabric.routing {
        Routing::Cube(cube) => graph.follow_one_ring_of_each_dimension(cube),
        routing => {
            let vias = if routing.is_valiant() { fabric.attachment.homes.len() as u64 } else { 1 };
            let steps = fabric.attachment.homes.len() as u64 * fabric.network.channels() as u64;
            let steps = steps.saturating_mul(vias);
            if steps > MAX_STEPS {
                return Err(TooLarge { steps });
            }
            graph.follow_all();
        }
    }
    let protection = match fabric.spec.flow_control {
        FlowControl::SciRing => Some(Protection::RingAccess),
        FlowControl::StoreAndForward => Some(Protection::UnboundedBuffers),
        _ => None,
    };
    Ok(Report { channels: graph.used(), dependencies: graph.count(), cycle: graph.cycle(), protection })
}

impl Report {
    /// Whether packets cannot deadlock.
    pub fn is_free(&self) -> bool {
        self.cycle.is_none() || self.protection.is_some()
    }

    /// The finding in a sentence, resources by name.
    pub fn sentence(&self, fabric: &Fabric) -> String {
        let name = |c: &VirtualChannel| match fabric.routing.virtual_channels() {
            1 => fabric.resource_name(Resource::Channel(c.channel)),
            _ => format!("{} (virtual channel {})", fabric.resource_name(Resource::Channel(c.channel)), c.vc),
        };
        match (&self.cycle, self.protection) {
            (None, _) => format!(
                "free of deadlock: {} dependencies among {} virtual channels form no cycle",
                self.dependencies, self.channels
            ),
            (Some(_), Some(Protection::RingAccess)) => {
                "free of deadlock by the ring access protocol (bypass FIFO, echo, retry); the rings' channels themselves form cycles".to_owned()
            }
            (Some(_), Some(Protection::UnboundedBuffers)) => {
                "free of deadlock only because buffers are taken to be unbounded; the routes' channels form cycles".to_owned()
            }
            (Some(cycle), None) => {
                let shown: Vec<String> = cycle.iter().take(8).map(name).collect();
                let more = if cycle.len() > shown.len() { ", ..." } else { "" };
                format!("can deadlock: a cycle of {} virtual channels: {}{more}", cycle.len(), shown.join(", "))
            }
        }
    }
}

/// The graph: one bit for each (virtual channel, next virtual channel).
struct Dependencies<'a> {
    fabric: &'a Fabric,
    vcs: usize,
    /// First bit of each channel's virtual channel 0.
    start: Vec<u64>,
    bits: Vec<u64>,
    used: Vec<bool>,
}

impl<'a> Dependencies<'a> {
    fn new(fabric: &'a Fabric) -> Dependencies<'a> {
        let vcs = usize::from(fabric.routing.virtual_channels());
        let mut start = Vec::with_capacity(fabric.network.channels() + 1);
        let mut bit = 0u64;
        for c in 0..fabric.network.channels() {
            start.push(bit);
            bit += (fabric.network.out(fabric.network.to(Channel(c as u32))).len() * vcs * vcs) as u64;
        }
        let used = vec![false; fabric.network.channels() * vcs];
        Dependencies { fabric, vcs, start, bits: vec![0; bit.div_ceil(64) as usize], used }
    }

    fn index(&self, c: VirtualChannel) -> usize {
        c.channel.0 as usize * self.vcs + usize::from(c.vc)
    }

    fn bit(&self, held: VirtualChannel, port: usize, vc: usize) -> u64 {
        let ports = self.fabric.network.out(self.fabric.network.to(held.channel)).len();
        self.start[held.channel.0 as usize] + ((usize::from(held.vc) * ports + port) * self.vcs + vc) as u64
    }

    fn add(&mut self, held: Hop, wanted: Hop) {
        let first = self.fabric.network.out_start[self.fabric.network.to(held.channel).0 as usize];
        let held = VirtualChannel { channel: held.channel, vc: held.vc };
        let bit = self.bit(held, (wanted.channel.0 - first) as usize, usize::from(wanted.vc));
        self.bits[(bit / 64) as usize] |= 1 << (bit % 64);
    }

    fn successors(&self, held: VirtualChannel) -> impl Iterator<Item = VirtualChannel> + '_ {
        let out = self.fabric.network.out(self.fabric.network.to(held.channel));
        out.enumerate().flat_map(move |(port, channel)| {
            (0..self.vcs).filter_map(move |vc| {
                let bit = self.bit(held, port, vc);
                let is_set = self.bits[(bit / 64) as usize] >> (bit % 64) & 1 == 1;
                is_set.then_some(VirtualChannel { channel, vc: vc as u8 })
            })
        })
    }

    fn used(&self) -> usize {
        self.used.iter().filter(|used| **used).count()
    }

    fn count(&self) -> usize {
        self.bits.iter().map(|word| word.count_ones() as usize).sum()
    }

    fn follow_all(&mut self) {
        let fabric = self.fabric;
        let homes = &fabric.attachment.homes;
        let mut walk = Walk::new(fabric);
        for group in 0..homes.len() {
            let last = fabric.attachment.nodes_of(group)[0];
            let toward = fabric.routing.toward(&fabric.network, &fabric.attachment, group);
            walk.from(self, &toward, homes.iter().copied().filter(|&home| home != homes[group]));
            for via in 0..fabric.routing.groups() {
                let Some(toward) = fabric.routing.toward_via(&fabric.network, &fabric.attachment, group, via) else {
                    continue;
                };
                let goes = |from: usize| {
                    let first = fabric.attachment.nodes_of(from)[0];
                    fabric.routing.is_via(&fabric.attachment, first, last, via)
                };
                walk.from(self, &toward, (0..homes.len()).filter(|&from| goes(from)).map(|from| homes[from]));
            }
        }
        self.follow_explicit_routes();
    }

    fn follow_explicit_routes(&mut self) {
        for route in self.fabric.routing.explicit().into_iter().flat_map(|routes| routes.values()) {
            let hop = |channel: Channel| Hop { channel, vc: 0, phase: 0, share: 1.0 };
            for pair in route.windows(2) {
                self.add(hop(pair[0]), hop(pair[1]));
            }
            route.iter().for_each(|channel| self.used[channel.0 as usize * self.vcs] = true);
        }
    }

    fn follow_one_ring_of_each_dimension(&mut self, cube: &Cube) {
        let fabric = self.fabric;
        let mut walk = Walk::new(fabric);
        for d in 0..cube.dimensions() {
            let mut ring = vec![0];
            while ring.len() < cube.extents[d as usize] as usize {
                ring.push(cube.neighbour(ring[ring.len() - 1], d, true));
            }
            for &to in &ring {
                let node = Node(to * cube.nodes_per_router);
                let group = fabric.attachment.group[node.0 as usize] as usize;
                let toward = fabric.routing.toward(&fabric.network, &fabric.attachment, group);
                walk.from(self, &toward, ring.iter().filter(|&&from| from != to).map(|&from| cube.home(from)));
            }
        }
    }

    /// Depth-first search for a cycle, without recursion.
    fn cycle(&self) -> Option<Vec<VirtualChannel>> {
        const NEW: u8 = 0;
        const OPEN: u8 = 1;
        const DONE: u8 = 2;
        let mut colour = vec![NEW; self.used.len()];
        let roots = (0..self.used.len()).filter(|&i| self.used[i]);
        for root in roots {
            if colour[root] != NEW {
                continue;
            }
            let at = |i: usize| VirtualChannel { channel: Channel((i / self.vcs) as u32), vc: (i % self.vcs) as u8 };
            colour[root] = OPEN;
            let mut path = vec![(at(root), self.successors(at(root)))];
            while let Some((here, successors)) = path.last_mut() {
                let here = *here;
                match successors.next() {
                    None => {
                        colour[self.index(here)] = DONE;
                        path.pop();
                    }
                    Some(next) if colour[self.index(next)] == NEW => {
                        colour[self.index(next)] = OPEN;
                        path.push((next, self.successors(next)));
                    }
                    Some(next) if colour[self.index(next)] == OPEN => {
                        let cycle = path.iter().map(|(c, _)| *c).skip_while(|c| *c != next);
                        return Some(cycle.collect());
                    }
                    Some(_) => {}
                }
            }
        }
        None
    }
}

/// Visits every state that routes to one home reach.
struct Walk {
    seen: Vec<u32>,
    round: u32,
    phases: usize,
}

impl Walk {
    fn new(fabric: &Fabric) -> Walk {
        let phases = usize::from(fabric.routing.phases());
        Walk { seen: vec![0; fabric.network.vertices() * phases], round: 0, phases }
    }

    fn from(&mut self, graph: &mut Dependencies, toward: &Toward, homes: impl Iterator<Item = Vertex>) {
        self.round += 1;
        let mut open: Vec<State> =
            homes.map(|at| State { at, phase: 0 }).filter(|&s| toward.rank(s).is_some()).collect();
        for state in &open {
            self.seen[state.at.0 as usize * self.phases] = self.round;
        }
        let (mut hops, mut next_hops) = (Vec::new(), Vec::new());
        while let Some(state) = open.pop() {
            hops.clear();
            toward.hops(state, &mut hops);
            for &hop in &hops {
                let held = VirtualChannel { channel: hop.channel, vc: hop.vc };
                let index = graph.index(held);
                graph.used[index] = true;
                let next = State { at: graph.fabric.network.to(hop.channel), phase: hop.phase };
                next_hops.clear();
                toward.hops(next, &mut next_hops);
                next_hops.iter().for_each(|&wanted| graph.add(hop, wanted));
                let seen = &mut self.seen[next.at.0 as usize * self.phases + usize::from(next.phase)];
                if *seen != self.round {
                    *seen = self.round;
                    open.push(next);
                }
            }
        }
    }
}
