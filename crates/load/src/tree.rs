//! All-to-all in a complete folded tree, in a step or so for each link.
//!
//! Traffic that climbs from a home spreads alike for every destination outside the block. Traffic that descends to a
//! block spreads alike for every source. Nodes are therefore summed upwards once, and turn where a destination's block
//! begins. Under forwarding tables the same holds for a class of destinations whose numbers choose the same links
//! everywhere. A class climbs together, and each destination descends by itself.
//!
//! Amounts are numbers of nodes and pairs, multiplied by the flow of a pair at the end.

use crate::Counts;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Node, Vertex};
use hotlink_fabric::routing::Routing;
use hotlink_fabric::routing::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// A fabric whose network is such a tree.
pub(crate) struct Folded<'a> {
    fabric: &'a Fabric,
    tree: &'a Tree,
    /// The first of equal paths carries all.
    single: bool,
    /// Devices, those of lower levels first.
    upward: Vec<Vertex>,
}

/// The paths up from a device, and the number that chooses among them
/// ([`hotlink_fabric::routing::choice::Tables::divisor`]).
struct Ups {
    from: Vertex,
    ways: Vec<Channel>,
    divisor: u64,
}

/// What climbs towards the destinations of one class.
struct Climb {
    /// Nodes below each vertex whose packets pass it, if they lead on.
    nodes: Vec<f64>,
    /// Where they continue.
    next: Vec<Option<Vertex>>,
    /// Devices of each block that any pass.
    passed: Vec<Vec<Vertex>>,
}

impl<'a> Folded<'a> {
    pub(crate) fn of(fabric: &'a Fabric) -> Option<Folded<'a>> {
        let Routing::Paths(paths) = &fabric.routing else { return None };
        let tree = paths.tree()?;
        let mut upward: Vec<Vertex> = (fabric.nodes()..fabric.network.vertices() as u32).map(Vertex).collect();
        upward.sort_by_key(|&v| (tree.level(tree.block_of(v)), v));
        Some(Folded { fabric, tree, single: paths.is_single(), upward })
    }

    /// Nodes below a block.
    fn nodes(&self, block: usize) -> f64 {
        let (homes, start) = (self.tree.homes(block), &self.fabric.attachment.start);
        f64::from(start[homes.end] - start[homes.start])
    }

    /// Nodes that are not below a block.
    fn outside(&self, block: usize) -> f64 {
        f64::from(self.fabric.nodes()) - self.nodes(block)
    }

    /// The block that a channel from a device leads to; `None`: a node.
    fn block_behind(&self, channel: Channel) -> Option<usize> {
        let to = self.fabric.network.to(channel);
        (!self.fabric.network.is_node(to)).then(|| self.tree.block_of(to))
    }

    fn most(&self) -> usize {
        if self.single { 1 } else { usize::MAX }
    }

    fn ups(&self, from: Vertex) -> Vec<Channel> {
        let above = self.tree.above(self.tree.block_of(from));
        let leads_up = |&channel: &Channel| above.is_some() && self.block_behind(channel) == above;
        self.fabric.network.out(from).filter(leads_up).take(self.most()).collect()
    }

    /// The paths down from a device, by the block that they lead to.
    fn downs(&self, from: Vertex) -> BTreeMap<usize, Vec<Channel>> {
        let own = self.tree.block_of(from);
        let mut downs: BTreeMap<usize, Vec<Channel>> = BTreeMap::new();
        for channel in self.fabric.network.out(from) {
            if let Some(child) = self.block_behind(channel).filter(|&child| self.tree.above(child) == Some(own)) {
                let ways = downs.entry(child).or_default();
                if ways.len() < self.most() {
                    ways.push(channel);
                }
            }
        }
        downs
    }

    /// Counts an even split over equal paths.
    pub(crate) fn evenly(&self, amount: f64) -> Counts {
        let network = &self.fabric.network;
        let mut counts = Counts::new(self.fabric);
        let mut climbing = vec![0.0; network.vertices()];
        // The same by the block that it comes from.
        let mut arrived: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); network.vertices()];
        for &v in &self.upward {
            let (block, ups) = (self.tree.block_of(v), self.ups(v));
            if self.tree.level(block) == 0 {
                climbing[v.0 as usize] = self.nodes(block);
            }
            let (nodes, outside) = (climbing[v.0 as usize], self.outside(block));
            counts.vertex[v.0 as usize] += nodes * outside;
            let share = nodes / ups.len() as f64;
            for way in ups {
                counts.channel[way.0 as usize] += share * outside;
                let to = network.to(way).0 as usize;
                climbing[to] += share;
                *arrived[to].entry(block).or_insert(0.0) += share;
            }
        }
        // For each node below: of how many nodes the packets come from above.
        let mut descending = vec![0.0; network.vertices()];
        for &v in self.upward.iter().rev() {
            let block = self.tree.block_of(v);
            if self.tree.level(block) == 0 {
                let own = self.nodes(block);
                counts.vertex[v.0 as usize] += descending[v.0 as usize] * own + own * (own - 1.0);
                continue;
            }
            let others = Others::new(&arrived[v.0 as usize]);
            for (child, ways) in self.downs(v) {
                let (each, below) = (descending[v.0 as usize] + others.than(child), self.nodes(child));
                counts.vertex[v.0 as usize] += each * below;
                let share = each / ways.len() as f64;
                for way in ways {
                    counts.channel[way.0 as usize] += share * below;
                    descending[network.to(way).0 as usize] += share;
                }
            }
        }
        counts.times(amount)
    }

    /// Counts the paths that forwarding tables choose by the destination.
    pub(crate) fn by_table(&self, amount: f64) -> Counts {
        let vertices = self.fabric.network.vertices();
        let ups: Vec<Ups> = self.upward.iter().map(|&from| self.ups_by_table(from)).collect();
        let passed = vec![Vec::new(); self.tree.blocks()];
        let mut climb = Climb { nodes: vec![0.0; vertices], next: vec![None; vertices], passed };
        let mut counts = Counts::new(self.fabric);
        for class in self.classes(&ups) {
            self.climb(&ups, &class, &mut climb, &mut counts);
            class.iter().for_each(|&node| self.descend(&climb, node, &mut counts));
        }
        counts.times(amount)
    }

    fn number(&self, node: Node) -> u64 {
        self.fabric.tables().number(node)
    }

    fn ups_by_table(&self, from: Vertex) -> Ups {
        let ways = self.ups(from);
        let divisor = if ways.len() > 1 { self.fabric.tables().divisor(from) } else { 1 };
        Ups { from, ways, divisor }
    }

    /// Nodes in classes that choose the same ways up at every device, each in the order of its homes.
    fn classes(&self, ups: &[Ups]) -> Vec<Vec<Node>> {
        let choices: BTreeSet<(u64, u64)> = ups.iter().map(|ups| (ups.divisor, ups.ways.len().max(1) as u64)).collect();
        let mut classes: BTreeMap<Vec<u64>, Vec<Node>> = BTreeMap::new();
        for &node in &self.fabric.attachment.members {
            let chosen = choices.iter().map(|(divisor, ways)| self.number(node) / divisor % ways).collect();
            classes.entry(chosen).or_default().push(node);
        }
        classes.into_values().collect()
    }

    /// Carries the packets of all nodes up, for all destinations of a class.
    fn climb(&self, ups: &[Ups], class: &[Node], climb: &mut Climb, counts: &mut Counts) {
        let devices = self.fabric.nodes() as usize..;
        climb.nodes[devices.clone()].fill(0.0);
        climb.next[devices].fill(None);
        climb.passed.iter_mut().for_each(Vec::clear);
        let group = &self.fabric.attachment.group;
        let before = |home: usize| class.partition_point(|node| (group[node.0 as usize] as usize) < home);
        for Ups { from, ways, divisor } in ups {
            let (at, block) = (from.0 as usize, self.tree.block_of(*from));
            if self.tree.level(block) == 0 {
                climb.nodes[at] = self.nodes(block);
            }
            let nodes = climb.nodes[at];
            if nodes == 0.0 {
                continue;
            }
            climb.passed[block].push(*from);
            let place = self.number(class[0]) / divisor % ways.len().max(1) as u64;
            let Some(&way) = ways.get(place as usize) else { continue };
            let homes = self.tree.homes(block);
            let outside = class.len() - (before(homes.end) - before(homes.start));
            counts.vertex[at] += nodes * outside as f64;
            counts.channel[way.0 as usize] += nodes * outside as f64;
            let to = self.fabric.network.to(way);
            climb.nodes[to.0 as usize] += nodes;
            climb.next[at] = Some(to);
        }
    }

    /// Carries the packets to one node down: at each block above it, those turn that came from its other children.
    fn descend(&self, climb: &Climb, node: Node, counts: &mut Counts) {
        let network = &self.fabric.network;
        let home = self.fabric.attachment.group[node.0 as usize] as usize;
        let chain: Vec<usize> = std::iter::successors(Some(home), |&block| self.tree.above(block)).collect();
        let mut flows: BTreeMap<Vertex, f64> = BTreeMap::new();
        for step in chain.windows(2).rev() {
            let [child, block] = [step[0], step[1]];
            for &v in &climb.passed[block] {
                let from_child = climb.passed[child].iter().filter(|below| climb.next[below.0 as usize] == Some(v));
                let from_child: f64 = from_child.map(|below| climb.nodes[below.0 as usize]).sum();
                *flows.entry(v).or_insert(0.0) += climb.nodes[v.0 as usize] - from_child;
            }
            for (v, flow) in std::mem::take(&mut flows).into_iter().filter(|(_, flow)| *flow > 0.0) {
                let way = self.way_down(v, child, node);
                counts.vertex[v.0 as usize] += flow;
                counts.channel[way.0 as usize] += flow;
                *flows.entry(network.to(way)).or_insert(0.0) += flow;
            }
        }
        let own = self.nodes(home) - 1.0;
        counts.vertex[self.fabric.attachment.homes[home].0 as usize] += flows.values().sum::<f64>() + own;
    }

    /// The channel from a device to a block below it that the tables choose for a node.
    fn way_down(&self, from: Vertex, child: usize, node: Node) -> Channel {
        let network = &self.fabric.network;
        let ways: Vec<Channel> =
            network.out(from).filter(|&channel| self.block_behind(channel) == Some(child)).collect();
        match ways[..] {
            [first, .., last] => ways[self.fabric.tables().place(network, [first, last], ways.len(), node)],
            _ => ways[0],
        }
    }
}

/// Sums over all blocks but one, without a difference whose last digits would be left over.
struct Others {
    all: f64,
    /// For each block: the sum over those before and behind it.
    others: BTreeMap<usize, f64>,
}

impl Others {
    fn new(arrived: &BTreeMap<usize, f64>) -> Others {
        let mut others = BTreeMap::new();
        let mut all = 0.0;
        for (&block, nodes) in arrived {
            others.insert(block, all);
            all += nodes;
        }
        let mut behind = 0.0;
        for (block, nodes) in arrived.iter().rev() {
            others.entry(*block).and_modify(|sum| *sum += behind);
            behind += nodes;
        }
        Others { all, others }
    }

    fn than(&self, block: usize) -> f64 {
        self.others.get(&block).copied().unwrap_or(self.all)
    }
}
