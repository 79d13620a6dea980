//! Deadlock freedom of a routing, by its channel-dependency graph (Dally and Seitz 1987).
//!
//! A packet that holds one virtual channel may wait for the next on its route. If no cycle of such dependencies can
//! form, packets cannot deadlock; a cycle means that blocked packets of the right lengths may. Every route that the
//! routing allows is followed. On a cube in dimension order, rings of one dimension are copies of each other, and
//! dependencies between dimensions only ascend. One ring of each dimension therefore suffices.
//!
//! The graph does not see two things. SCI rings have cycles, but their access protocol (bypass FIFO, echo, busy retry)
//! keeps packets moving. Unbounded buffers never block.

use hotlink_fabric::Fabric;
use hotlink_fabric::flow_control::Admission;
use hotlink_fabric::network::{Channel, Node, Resource, Vertex};
use hotlink_fabric::routing::forwarding::Forwarding;
use hotlink_fabric::routing::lanes::{LEVELS, Lanes};
use hotlink_fabric::routing::{Hop, Routing, State, Toward};
use hotlink_fabric::topology::Cube;

/// A virtual channel of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VirtualChannel {
    /// The channel.
    pub channel: Channel,
    /// Which of its virtual channels.
    pub vc: u8,
}

/// Why blocked packets cannot deadlock in any graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// SCI's ring access protocol.
    RingAccess,
    /// Buffers without bound.
    UnboundedBuffers,
    /// Perhaps virtual lanes: forwarding tables do not say which lanes packets take.
    LanesUnknown,
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
    /// Virtual channels of each channel that were distinguished.
    pub lanes: u8,
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
pub const MAX_STEPS: u64 = 1 << 29;

/// Follows every route and looks for a cycle.
///
/// # Errors
/// [`TooLarge`].
pub fn check(fabric: &Fabric) -> Result<Report, TooLarge> {
    let mut graph = Dependencies::new(fabric)?;
    match &fabric.routing {
        Routing::Cube(cube) => graph.follow_one_ring_of_each_dimension(cube, WHOLE_RING),
        Routing::Tables(tables) => {
            let rows = u64::from(fabric.nodes()) * u64::from(tables.addresses());
            let steps = rows * (fabric.network.vertices() - fabric.nodes() as usize) as u64;
            if steps > MAX_STEPS {
                return Err(TooLarge { steps });
            }
            match tables.lanes() {
                Some(lanes) => graph.follow_lanes(tables, lanes),
                None => graph.follow_tables(tables),
            }
        }
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
    let flow_control = fabric.spec.flow_control;
    let unbounded = (flow_control.admission == Admission::Unbounded).then_some(Protection::UnboundedBuffers);
    let is_unknown = matches!(&fabric.routing, Routing::Tables(tables) if tables.lanes().is_none());
    let lanes = is_unknown.then_some(Protection::LanesUnknown);
    let protection = if flow_control.is_ring() { Some(Protection::RingAccess) } else { unbounded.or(lanes) };
    let (channels, dependencies, cycle) = (graph.used(), graph.count(), graph.cycle());
    Ok(Report { channels, dependencies, cycle, protection, lanes: graph.vcs as u8 })
}

/// Whether packets cannot deadlock, and why (not). `None` where that is not known: too many routes.
pub fn told(fabric: &Fabric) -> (Option<bool>, String) {
    match check(fabric) {
        Ok(report) => (report.known_free(), report.sentence(fabric)),
        Err(why) => (None, why.to_string()),
    }
}

impl Report {
    /// Whether packets cannot deadlock, as far as is known.
    pub fn is_free(&self) -> bool {
        self.known_free() == Some(true)
    }

    /// Whether packets cannot deadlock; `None` where that hangs on virtual lanes that nobody stated.
    pub fn known_free(&self) -> Option<bool> {
        match (&self.cycle, self.protection) {
            (None, _) => Some(true),
            (Some(_), Some(Protection::LanesUnknown)) => None,
            (Some(_), protection) => Some(protection.is_some()),
        }
    }

    /// The finding in a sentence, resources by name.
    pub fn sentence(&self, fabric: &Fabric) -> String {
        let name = |c: &VirtualChannel| match self.lanes {
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
            (Some(cycle), protection) => {
                let can = match protection {
                    Some(_) => "can deadlock on one virtual lane (lanes unknown: tables do not state them)",
                    None => "can deadlock",
                };
                let shown: Vec<String> = cycle.iter().take(8).map(name).collect();
                let more = if cycle.len() > shown.len() { ", ..." } else { "" };
                format!("{can}: a cycle of {} virtual channels: {}{more}", cycle.len(), shown.join(", "))
            }
        }
    }
}

/// The graph: for each virtual channel a row of bits, one for each virtual channel that leaves its far end.
struct Dependencies<'a> {
    fabric: &'a Fabric,
    vcs: usize,
    /// First word of the row of each channel's virtual channel 0. A node's first channel, where no packet arrives, has
    /// none.
    row: Vec<u64>,
    words: Vec<u64>,
    used: Vec<bool>,
}

/// Longest ring all of whose routes are followed.
const WHOLE_RING: usize = 64;

/// Most words of all rows together: 1 GiB.
const MAX_WORDS: u64 = 1 << 27;

impl<'a> Dependencies<'a> {
    fn new(fabric: &'a Fabric) -> Result<Dependencies<'a>, TooLarge> {
        let network = &fabric.network;
        let vcs = usize::from(fabric.routing.virtual_channels());
        let mut row = Vec::with_capacity(network.channels() + 1);
        let mut words = 0;
        for channel in (0..network.channels() as u32).map(Channel) {
            row.push(words);
            let is_first =
                network.is_node(network.from(channel)) && fabric.attachment.has_home(Node(network.from(channel).0));
            if !is_first {
                words += (vcs * mask_words(fabric, vcs, network.to(channel))) as u64;
            }
        }
        row.push(words);
        if words > MAX_WORDS {
            return Err(TooLarge { steps: words * 64 });
        }
        let used = vec![false; network.channels() * vcs];
        Ok(Dependencies { fabric, vcs, row, words: vec![0; words as usize], used })
    }

    fn index(&self, c: VirtualChannel) -> usize {
        c.channel.0 as usize * self.vcs + usize::from(c.vc)
    }

    /// Words of the row of `held`.
    fn range(&self, held: VirtualChannel) -> std::ops::Range<usize> {
        let c = held.channel.0 as usize;
        let length = (self.row[c + 1] - self.row[c]) as usize / self.vcs;
        let start = self.row[c] as usize + usize::from(held.vc) * length;
        start..start + length
    }

    /// A packet that came by `held` may want any of the bits of `mask`.
    fn add(&mut self, held: VirtualChannel, mask: &[u64]) {
        let index = self.index(held);
        self.used[index] = true;
        let range = self.range(held);
        self.words[range].iter_mut().zip(mask).for_each(|(word, more)| *word |= more);
    }

    fn successors(&self, held: VirtualChannel) -> impl Iterator<Item = VirtualChannel> + '_ {
        let first = self.fabric.network.out_start[self.fabric.network.to(held.channel).0 as usize];
        let bits = self.words[self.range(held)].iter().enumerate().flat_map(|(i, &word)| {
            let next = |rest: &u64| Some(rest & (rest - 1)).filter(|rest| *rest != 0);
            std::iter::successors(Some(word).filter(|word| *word != 0), next)
                .map(move |rest| i * 64 + rest.trailing_zeros() as usize)
        });
        bits.map(move |bit| VirtualChannel {
            channel: Channel(first + (bit / self.vcs) as u32),
            vc: (bit % self.vcs) as u8,
        })
    }

    fn used(&self) -> usize {
        self.used.iter().filter(|used| **used).count()
    }

    fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
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

    /// Follows the path of every home's packets to every node, switch by switch.
    fn follow_tables(&mut self, tables: &Forwarding) {
        let network = &self.fabric.network;
        let mut seen = vec![u32::MAX; network.vertices()];
        let addresses = tables.addresses();
        let all = network.node_iter().flat_map(|node| (0..addresses).map(move |address| (node, address)));
        for (round, (destination, address)) in all.enumerate() {
            let (view, round) = (tables.view(network, destination, address), round as u32);
            for &home in &self.fabric.attachment.homes {
                let mut held: Option<Channel> = None;
                let mut at = home;
                while !network.is_node(at) {
                    let Some(wanted) = view.step(at) else { break };
                    if let Some(held) = held {
                        self.depend(only(held), only(wanted));
                    }
                    // Another home's packets went on from here.
                    if std::mem::replace(&mut seen[at.0 as usize], round) == round {
                        break;
                    }
                    (held, at) = (Some(wanted), network.to(wanted));
                }
            }
        }
    }

    /// The same on the lanes that packets take, pair by pair. A packet's level and ports choose its lanes.
    fn follow_lanes(&mut self, tables: &Forwarding, lanes: &Lanes) {
        let network = &self.fabric.network;
        // Destination for which a virtual channel was last held at a level: from there packets went on before.
        let mut seen = vec![u32::MAX; self.used.len() * LEVELS];
        for destination in network.node_iter() {
            for source in network.node_iter().filter(|&source| source != destination) {
                let address = tables.address_for(source);
                let view = tables.view(network, destination, address);
                let first = network.out(source.vertex()).next();
                let (Some(mut came), Some(level)) = (first, lanes.level(source, destination)) else { continue };
                let mut held: Option<VirtualChannel> = None;
                while let Some(channel) = view.step(network.to(came)) {
                    let vc = lanes.lane(network, came, channel, level);
                    if vc == Lanes::DROP {
                        break;
                    }
                    let wanted = VirtualChannel { channel, vc };
                    if let Some(held) = held {
                        self.depend(held, wanted);
                    }
                    let place = self.index(wanted) * LEVELS + usize::from(level);
                    let round = destination.0 * tables.addresses() + address;
                    if std::mem::replace(&mut seen[place], round) == round {
                        break;
                    }
                    (held, came) = (Some(wanted), channel);
                }
            }
        }
    }

    /// A packet that holds one channel may want the other.
    fn depend(&mut self, held: VirtualChannel, wanted: VirtualChannel) {
        let first = self.fabric.network.out_start[self.fabric.network.to(held.channel).0 as usize];
        let bit = (wanted.channel.0 - first) as usize * self.vcs + usize::from(wanted.vc);
        let word = self.range(held).start + bit / 64;
        self.words[word] |= 1 << (bit % 64);
        let index = self.index(held);
        self.used[index] = true;
    }

    fn follow_explicit_routes(&mut self) {
        for route in self.fabric.routing.explicit().into_iter().flat_map(|routes| routes.values()) {
            for (i, &channel) in route.iter().enumerate() {
                let is_first = self.row[channel.0 as usize] == self.row[channel.0 as usize + 1];
                let Some(&wanted) = route.get(i + 1).filter(|_| !is_first) else { continue };
                self.depend(only(channel), only(wanted));
            }
        }
    }

    fn follow_one_ring_of_each_dimension(&mut self, cube: &Cube, whole: usize) {
        let fabric = self.fabric;
        let mut walk = Walk::new(fabric);
        for d in 0..cube.dimensions() {
            let mut ring = vec![0];
            while ring.len() < cube.extents[d as usize] as usize {
                ring.push(cube.neighbour(ring[ring.len() - 1], d, true));
            }
            // Without virtual channels to change on the path, a long route depends on nothing that short ones do not.
            let (many, short) = (ring.len(), self.vcs == 1 && ring.len() > whole);
            let before = 1..if short { 3 } else { many };
            let after = if short && cube.bidirectional { many - 2..many } else { 0..0 };
            for (at, to) in ring.iter().enumerate() {
                let node = Node(to * cube.nodes_per_router);
                let group = fabric.attachment.group[node.0 as usize] as usize;
                let toward = fabric.routing.toward(&fabric.network, &fabric.attachment, group);
                let from = |steps: usize| cube.home(ring[(at + many - steps) % many]);
                walk.from(self, &toward, before.clone().chain(after.clone()).map(from));
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

/// The only virtual channel of a channel.
fn only(channel: Channel) -> VirtualChannel {
    VirtualChannel { channel, vc: 0 }
}

/// Words of a mask of the virtual channels that leave `vertex`.
fn mask_words(fabric: &Fabric, vcs: usize, vertex: Vertex) -> usize {
    (fabric.network.out(vertex).len() * vcs).div_ceil(64)
}

/// Sets the bit of a virtual channel in the mask of the vertex that it leaves.
fn set(mask: &mut [u64], fabric: &Fabric, vcs: usize, wanted: VirtualChannel) {
    let first = fabric.network.out_start[fabric.network.from(wanted.channel).0 as usize];
    let bit = (wanted.channel.0 - first) as usize * vcs + usize::from(wanted.vc);
    mask[bit / 64] |= 1 << (bit % 64);
}

/// Visits every state that routes to one home reach, once.
struct Walk {
    /// Round in which a state was last seen, by vertex and phase.
    seen: Vec<u32>,
    round: u32,
    phases: usize,
    /// For each state seen, where its mask of wanted virtual channels starts.
    mask_start: Vec<usize>,
    masks: Vec<u64>,
    /// Every hop of the round, with the state it leads to.
    taken: Vec<(VirtualChannel, usize)>,
    open: Vec<State>,
}

impl Walk {
    fn new(fabric: &Fabric) -> Walk {
        let phases = usize::from(fabric.routing.phases());
        let states = fabric.network.vertices() * phases;
        Walk {
            seen: vec![0; states],
            round: 0,
            phases,
            mask_start: vec![0; states],
            masks: Vec::new(),
            taken: Vec::new(),
            open: Vec::new(),
        }
    }

    /// Opens a state unless it was seen in this round; returns its index.
    fn reach(&mut self, state: State) -> usize {
        let index = state.at.0 as usize * self.phases + usize::from(state.phase);
        if self.seen[index] != self.round {
            self.seen[index] = self.round;
            self.open.push(state);
        }
        index
    }

    fn from(&mut self, graph: &mut Dependencies, toward: &Toward, homes: impl Iterator<Item = Vertex>) {
        let fabric = graph.fabric;
        self.round += 1;
        self.masks.clear();
        self.taken.clear();
        for state in homes.map(|at| State { at, phase: 0 }).filter(|&state| toward.rank(state).is_some()) {
            self.reach(state);
        }
        let mut hops: Vec<Hop> = Vec::new();
        while let Some(state) = self.open.pop() {
            let start = self.masks.len();
            let index = self.reach(state);
            self.mask_start[index] = start;
            self.masks.resize(start + mask_words(fabric, graph.vcs, state.at), 0);
            hops.clear();
            toward.hops(state, &mut hops);
            for hop in &hops {
                let held = VirtualChannel { channel: hop.channel, vc: hop.vc };
                set(&mut self.masks[start..], fabric, graph.vcs, held);
                let next = self.reach(State { at: fabric.network.to(hop.channel), phase: hop.phase });
                self.taken.push((held, next));
            }
        }
        for &(held, next) in &self.taken {
            let words = mask_words(fabric, graph.vcs, fabric.network.to(held.channel));
            graph.add(held, &self.masks[self.mask_start[next]..][..words]);
        }
    }
}
