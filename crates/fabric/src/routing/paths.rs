//! Shortest paths on any graph: all (ECMP), a single one, or the shortest that climb before they descend (up*/down*).
//!
//! One array of distances per home is the whole table: the next channels of a device are those whose far end is one hop
//! nearer. A complete folded tree needs no table ([`Tree`]). Packets do not pass through nodes.

use super::tree::Tree;
use super::{Alike, Hop, State};
use crate::attachment::Attachment;
use crate::network::{Channel, Network, Vertex};
use crate::topology::Shape;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::OnceLock;

/// No path from here.
const UNREACHABLE: u16 = u16::MAX;

/// Shortest-path routing of a network.
#[derive(Debug)]
pub struct ShortestPaths {
    /// Take the first shortest path only.
    single: bool,
    /// Per channel: packets cross channels in ascending rank only (up before down, dimension before dimension). Empty
    /// where any order is allowed.
    rank: Vec<u8>,
    /// Phases of a packet: one more than the greatest rank.
    phases: u8,
    /// Lanes, one for each hop of the longest path; 0: all hops share one.
    lanes: u8,
    /// Channels that enter vertex v are `entering[start[v]..start[v + 1]]`.
    entering: Vec<Channel>,
    start: Vec<u32>,
    /// Vertices below this one (nodes with a home) need no distance.
    first: u32,
    /// Distances per home, kept for the simulator; made when first asked for.
    rows: Vec<OnceLock<Box<[u16]>>>,
    /// What takes their place in a complete folded tree.
    tree: Option<Tree>,
}

/// What knows the distances to one home.
#[derive(Debug)]
pub enum Row<'a> {
    /// An array by phase and vertex.
    Searched(Cow<'a, [u16]>),
    /// The tree, which needs the home's place among the homes only.
    Tree(&'a Tree, u32),
}

impl ShortestPaths {
    /// All shortest paths, split evenly at each hop; or the first only.
    pub fn shortest(network: &Network, attachment: &Attachment, single: bool) -> ShortestPaths {
        ShortestPaths { single, tree: Tree::find(network, attachment), ..ShortestPaths::searched(network, attachment) }
    }

    /// All shortest paths, by a search for each home.
    pub(super) fn searched(network: &Network, attachment: &Attachment) -> ShortestPaths {
        let (entering, start) = entering(network);
        let all_have_homes = network.node_iter().all(|node| attachment.has_home(node));
        let first = if all_have_homes { network.nodes } else { 0 };
        let rows = std::iter::repeat_with(OnceLock::new).take(attachment.homes.len()).collect();
        ShortestPaths { single: false, rank: Vec::new(), phases: 1, lanes: 0, entering, start, first, rows, tree: None }
    }

    /// The same paths, each hop in a lane of its own, of this many.
    pub(super) fn with_lanes(self, lanes: u8) -> ShortestPaths {
        ShortestPaths { lanes, ..self }
    }

    /// All shortest paths, each hop in a lane of its own.
    pub fn in_lanes(network: &Network, attachment: &Attachment) -> ShortestPaths {
        let paths = ShortestPaths::shortest(network, attachment, false);
        let farthest = |group: usize| {
            let row = paths.row(network, attachment, group, false);
            let hops = attachment.homes.iter().filter_map(|&at| paths.distance(network, &row, State { at, phase: 0 }));
            hops.max().unwrap_or(0)
        };
        let lanes = (0..attachment.homes.len()).map(farthest).max().unwrap_or(0);
        paths.with_lanes(u8::try_from(lanes).unwrap_or(u8::MAX))
    }

    /// The shortest paths that never climb after a descent. Up is towards a higher tier where tiers have levels.
    /// Elsewhere it is towards the root of a breadth-first tree (the device with most channels, lowest number first),
    /// then towards the lower number. No cycle of channels can then wait for each other.
    pub fn up_down(network: &Network, attachment: &Attachment, shape: &Shape) -> ShortestPaths {
        let depth = match shape {
            Shape::Tiers(tiers) if tiers.iter().any(|tier| tier.level > 0) => {
                let top = tiers.iter().map(|tier| tier.level).max().unwrap_or(0);
                let mut depth = vec![top + 1; network.vertices()];
                for tier in tiers {
                    depth[tier.first.0 as usize..][..tier.count as usize].fill(top - tier.level);
                }
                depth
            }
            _ => breadth_first_depth(network),
        };
        let key = |v: Vertex| (depth[v.0 as usize], v);
        let rank = network.from.iter().zip(&network.to).map(|(&from, &to)| u8::from(key(to) >= key(from))).collect();
        ShortestPaths::searched(network, attachment).ranked(rank)
    }

    /// The blocks of the network, where it is a complete folded tree.
    pub fn tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    /// Whether there is one path for each destination.
    pub fn is_single(&self) -> bool {
        self.single
    }

    /// All shortest paths in the order of the network's dimensions.
    pub fn ordered(network: &Network, attachment: &Attachment) -> ShortestPaths {
        ShortestPaths::searched(network, attachment).ranked(network.order.clone())
    }

    fn ranked(self, rank: Vec<u8>) -> ShortestPaths {
        let phases = rank.iter().max().map_or(1, |most| most + 1);
        ShortestPaths { rank, phases, ..self }
    }

    /// Phases of a packet: the rank of the channel crossed last, 0 at first; in lanes the hops behind it.
    pub fn phases(&self) -> u8 {
        self.phases.max(self.lanes.saturating_add(1))
    }

    /// Lanes, if each hop has one of its own; else 0.
    pub fn lanes(&self) -> u8 {
        self.lanes
    }

    /// Phase after crossing `channel` in `phase`; `None` if that is not allowed.
    fn after(&self, channel: Channel, phase: u8) -> Option<u8> {
        match self.rank.get(channel.0 as usize) {
            None => Some(0),
            Some(&rank) => (rank >= phase).then_some(rank),
        }
    }

    fn index(&self, network: &Network, state: State) -> usize {
        let width = network.vertices() - self.first as usize;
        // How many hops lie behind changes nothing ahead.
        let phase = if self.lanes > 0 { 0 } else { usize::from(state.phase) };
        phase * width + (state.at.0 - self.first) as usize
    }

    /// Distances to the nearest of `targets` by breadth-first search against the channels.
    pub(super) fn search(&self, network: &Network, targets: &[Vertex]) -> Box<[u16]> {
        let width = network.vertices() - self.first as usize;
        let mut row = vec![UNREACHABLE; width * usize::from(self.phases)].into_boxed_slice();
        let mut queue = VecDeque::new();
        for (&at, phase) in targets.iter().flat_map(|target| (0..self.phases).map(move |phase| (target, phase))) {
            row[self.index(network, State { at, phase })] = 0;
            queue.push_back(State { at, phase });
        }
        while let Some(state) = queue.pop_front() {
            let next = row[self.index(network, state)].saturating_add(1);
            if network.is_node(state.at) && !targets.contains(&state.at) {
                continue;
            }
            let at = state.at.0 as usize;
            for &channel in &self.entering[self.start[at] as usize..self.start[at + 1] as usize] {
                let from = network.from(channel);
                if from.0 < self.first {
                    continue;
                }
                for phase in 0..self.phases {
                    let before = State { at: from, phase };
                    let distance = &mut row[self.index(network, before)];
                    if *distance == UNREACHABLE && self.after(channel, phase) == Some(state.phase) {
                        *distance = next;
                        queue.push_back(before);
                    }
                }
            }
        }
        row
    }

    /// The row of home `group`: kept for later calls, or made for this one.
    pub fn row(&self, network: &Network, attachment: &Attachment, group: usize, keep: bool) -> Row<'_> {
        let search = || self.search(network, &attachment.homes[group..=group]);
        match &self.tree {
            Some(tree) => Row::Tree(tree, group as u32),
            None if keep => Row::Searched(Cow::Borrowed(self.rows[group].get_or_init(search))),
            None => Row::Searched(Cow::Owned(search().into_vec())),
        }
    }

    /// Hops from `state` by a row.
    pub fn distance(&self, network: &Network, row: &Row, state: State) -> Option<u32> {
        match row {
            Row::Searched(row) => Some(row[self.index(network, state)]).filter(|&d| d != UNREACHABLE).map(u32::from),
            Row::Tree(tree, group) => tree.distance(state.at, *group),
        }
    }

    /// Paths on from `state` by a row.
    pub fn hops(&self, network: &Network, row: &Row, state: State, hops: &mut Vec<Hop>) {
        let start = hops.len();
        match row {
            Row::Searched(row) => self.searched_hops(network, row, state, hops),
            Row::Tree(_, group) => {
                let ways = self.alike(*group, state);
                return hops
                    .extend(ways.iter().flat_map(|ways| (0..ways.channels.len()).filter_map(|nth| ways.hop(nth))));
            }
        }
        let share = 1.0 / (hops.len() - start) as f64;
        for hop in &mut hops[start..] {
            hop.share = share;
            if self.lanes > 0 {
                (hop.vc, hop.phase) = (state.phase, state.phase + 1);
            }
        }
    }

    /// Whether the network is a complete tree.
    #[inline]
    pub fn is_tree(&self) -> bool {
        self.tree.is_some()
    }

    /// All paths on from the device of `state` to home `group`, where a tree has them one by one.
    #[inline]
    pub fn alike(&self, group: u32, state: State) -> Option<Alike<'_>> {
        let (vc, phase) = if self.lanes > 0 { (state.phase, state.phase + 1) } else { (0, 0) };
        let ways = self.tree.as_ref()?.ways(state.at, group);
        let channels = if self.single { &ways[..ways.len().min(1)] } else { ways };
        Some(Alike { channels, vc, phase })
    }

    fn searched_hops(&self, network: &Network, row: &[u16], state: State, hops: &mut Vec<Hop>) {
        let here = row[self.index(network, state)];
        if here == 0 || here == UNREACHABLE {
            return;
        }
        for channel in network.out(state.at) {
            let to = network.to(channel);
            if to.0 < self.first {
                continue;
            }
            let Some(phase) = self.after(channel, state.phase) else { continue };
            let far = row[self.index(network, State { at: to, phase })];
            // A node at distance 0 is the destination; any other node is no path through.
            if far == here - 1 && (far == 0 || !network.is_node(to)) {
                hops.push(Hop { channel, vc: 0, phase, share: 1.0 });
                if self.single {
                    return;
                }
            }
        }
    }
}

/// Channels by the vertex they enter.
fn entering(network: &Network) -> (Vec<Channel>, Vec<u32>) {
    let mut start = vec![0u32; network.vertices() + 1];
    for to in &network.to {
        start[to.0 as usize + 1] += 1;
    }
    for v in 0..network.vertices() {
        start[v + 1] += start[v];
    }
    let mut next = start.clone();
    let mut entering = vec![Channel(0); network.channels()];
    for (c, to) in network.to.iter().enumerate() {
        let place = &mut next[to.0 as usize];
        entering[*place as usize] = Channel(c as u32);
        *place += 1;
    }
    (entering, start)
}

/// Depth of every device below the root of its component; nodes lie below all devices.
fn breadth_first_depth(network: &Network) -> Vec<u32> {
    let mut depth = vec![u32::MAX; network.vertices()];
    let mut roots: Vec<Vertex> = (network.nodes..network.vertices() as u32).map(Vertex).collect();
    roots.sort_by_key(|&v| (std::cmp::Reverse(network.out(v).len()), v));
    for root in roots {
        if depth[root.0 as usize] != u32::MAX {
            continue;
        }
        depth[root.0 as usize] = 0;
        let mut queue = VecDeque::from([root]);
        while let Some(v) = queue.pop_front() {
            for channel in network.out(v) {
                let to = network.to(channel);
                if !network.is_node(to) && depth[to.0 as usize] == u32::MAX {
                    depth[to.0 as usize] = depth[v.0 as usize] + 1;
                    queue.push_back(to);
                }
            }
        }
    }
    depth
}
