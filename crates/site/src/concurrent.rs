//! What the cables would allow: the most that every pair of nodes can exchange at once, by the best routes there are
//! (maximum concurrent flow), split as finely as one likes.
//!
//! Two numbers hold it from both sides. Any flow is a lower bound: what it gives when its fullest channel is full. Any
//! weights on the channels are an upper bound (its linear program's dual): if carrying one unit between every pair costs
//! `a` by the cheapest paths, and all channels full cost `c`, then no more than `c / a` fits. The search is Frank and
//! Wolfe's, one destination after another: weights grow with how full a channel is, flow moves to the paths that are
//! cheapest by them, and both bounds are read off until they meet. Whoever doubts the upper bound adds it up from the weights.

use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Resource, Vertex};
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The most that every node can send to every other at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Concurrent {
    /// Bytes per second of each pair that a flow was found for.
    pub lower: f64,
    /// Bytes per second of each pair beyond which the weights prove that nothing fits.
    pub upper: f64,
    /// The proof: a weight of each channel, of those that have one. Empty where the nodes' own links set the bound.
    pub weights: Vec<(Channel, f64)>,
    /// Rounds of the search.
    pub rounds: usize,
}

impl Concurrent {
    /// How far the bounds are apart, as a share of the upper one.
    pub fn gap(&self) -> f64 {
        1.0 - self.lower / self.upper
    }
}

/// Bounds on all-to-all among the nodes of a fabric, at the channels' gross rates, until they are `gap` apart (such as
/// 0.01) or `steps` channels have been visited. `None` where some pair has no path, or a channel on the way no rate.
pub fn all_to_all(fabric: &Fabric, gap: f64, steps: u64) -> Option<Concurrent> {
    let core = Core::new(fabric)?;
    let own = core.own_links;
    if core.homes.len() < 2 {
        return Some(Concurrent { lower: own, upper: own, weights: Vec::new(), rounds: 0 });
    }
    let mut search = Search::new(&core)?;
    let per_round = (core.homes.len() * core.arcs.len()) as u64;
    let most = usize::try_from(steps / per_round.max(1)).unwrap_or(usize::MAX).clamp(1, 2000);
    while search.rounds < most && search.gap() > gap && search.lower < own {
        search.round(gap)?;
    }
    let Search { lower, upper, best, rounds, .. } = search;
    if own <= upper {
        return Some(Concurrent { lower: lower.min(own), upper: own, weights: Vec::new(), rounds });
    }
    let weights = core.arcs.iter().zip(&best).filter(|(_, weight)| **weight > 0.0);
    let weights = weights.map(|(arc, &weight)| (arc.channel, weight)).collect();
    Some(Concurrent { lower: lower.min(own), upper, weights, rounds })
}

/// A channel between switches.
#[derive(Clone, Copy)]
struct Arc {
    channel: Channel,
    from: u32,
    to: u32,
    rate: f64,
}

/// The switches and the channels between them.
struct Core {
    arcs: Vec<Arc>,
    /// Arcs that enter vertex v are `entering[start[v]..start[v + 1]]`.
    entering: Vec<u32>,
    start: Vec<u32>,
    vertices: usize,
    /// Switches with nodes, and how many.
    homes: Vec<(u32, f64)>,
    /// What the nodes' own links allow each pair.
    own_links: f64,
}

impl Core {
    fn new(fabric: &Fabric) -> Option<Core> {
        let (network, attachment) = (&fabric.network, &fabric.attachment);
        let first = network.nodes;
        let vertices = network.vertices() - first as usize;
        let rate = |channel| fabric.gross(Resource::Channel(channel)).map(|rate| rate.0 as f64);
        let others = f64::from(network.nodes.saturating_sub(1).max(1));
        let mut own_links = f64::INFINITY;
        for node in network.node_iter() {
            if !attachment.has_home(node) {
                return None;
            }
            for channel in [network.port(node.vertex(), 0), attachment.eject[node.0 as usize]] {
                own_links = own_links.min(rate(channel)? / others);
            }
        }
        let channels = (0..network.channels() as u32).map(Channel);
        let between = channels.filter(|&c| !network.is_node(network.from(c)) && !network.is_node(network.to(c)));
        let arc = |channel| {
            let place = |v: Vertex| v.0 - first;
            let (from, to) = (place(network.from(channel)), place(network.to(channel)));
            Some(Arc { channel, from, to, rate: rate(channel)? })
        };
        let arcs: Vec<Arc> = between.map(arc).collect::<Option<_>>()?;
        let mut start = vec![0u32; vertices + 1];
        arcs.iter().for_each(|arc| start[arc.to as usize + 1] += 1);
        (0..vertices).for_each(|v| start[v + 1] += start[v]);
        let (mut next, mut entering) = (start.clone(), vec![0; arcs.len()]);
        for (i, arc) in arcs.iter().enumerate() {
            entering[next[arc.to as usize] as usize] = i as u32;
            next[arc.to as usize] += 1;
        }
        let homes = attachment.homes.iter().enumerate();
        let homes = homes.map(|(group, home)| (home.0 - first, attachment.nodes_of(group).len() as f64)).collect();
        Some(Core { arcs, entering, start, vertices, homes, own_links })
    }

    /// What one byte between every pair costs by the cheapest paths.
    fn cost(&self, length: &[f64]) -> Option<f64> {
        let one = |tree: &mut CheapestTree, &(home, nodes): &(u32, f64)| tree.cost(self, length, home, nodes);
        let costs: Option<Vec<f64>> = self.homes.par_iter().map_init(|| CheapestTree::new(self), one).collect();
        Some(costs?.iter().sum())
    }
}

/// A vertex and its distance, the least first in a heap.
#[derive(PartialEq)]
struct Reached(f64, u32);

impl Eq for Reached {}

impl Ord for Reached {
    fn cmp(&self, other: &Reached) -> Ordering {
        other.0.total_cmp(&self.0).then(other.1.cmp(&self.1))
    }
}

impl PartialOrd for Reached {
    fn partial_cmp(&self, other: &Reached) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Cheapest paths to one home after another.
struct CheapestTree {
    distance: Vec<f64>,
    settled: Vec<u32>,
    flow: Vec<f64>,
    heap: BinaryHeap<Reached>,
    /// Arcs of a vertex that lie on its cheapest paths.
    ways: Vec<Vec<u32>>,
}

impl CheapestTree {
    fn new(core: &Core) -> CheapestTree {
        CheapestTree {
            distance: vec![f64::INFINITY; core.vertices],
            settled: Vec::new(),
            flow: vec![0.0; core.vertices],
            heap: BinaryHeap::new(),
            ways: vec![Vec::new(); core.vertices],
        }
    }

    /// Finds the cheapest paths to a home, whose nodes get what all others send; returns what that costs.
    fn cost(&mut self, core: &Core, length: &[f64], home: u32, nodes: f64) -> Option<f64> {
        self.distance.fill(f64::INFINITY);
        self.settled.clear();
        self.ways.iter_mut().for_each(Vec::clear);
        self.distance[home as usize] = 0.0;
        self.heap.push(Reached(0.0, home));
        while let Some(Reached(distance, v)) = self.heap.pop() {
            if distance > self.distance[v as usize] {
                continue;
            }
            self.settled.push(v);
            for &arc in &core.entering[core.start[v as usize] as usize..core.start[v as usize + 1] as usize] {
                let from = core.arcs[arc as usize].from as usize;
                let through = distance + length[arc as usize];
                let slack = 1e-12 * through;
                if through < self.distance[from] - slack {
                    self.distance[from] = through;
                    self.ways[from].clear();
                    self.ways[from].push(arc);
                    self.heap.push(Reached(through, from as u32));
                } else if through <= self.distance[from] + slack && self.distance[from] > distance {
                    self.ways[from].push(arc);
                }
            }
        }
        let mut cost = 0.0;
        self.flow.fill(0.0);
        for &(other, count) in core.homes.iter().filter(|(other, _)| *other != home) {
            let distance = self.distance[other as usize];
            if !distance.is_finite() {
                return None;
            }
            self.flow[other as usize] = count * nodes;
            cost += count * nodes * distance;
        }
        Some(cost)
    }

    /// What goes to a home by its cheapest paths, split evenly where they are equal: how full that makes each arc.
    fn alone(&mut self, core: &Core, length: &[f64], home: u32, nodes: f64) -> Option<Vec<f64>> {
        self.cost(core, length, home, nodes)?;
        let mut full = vec![0.0; core.arcs.len()];
        for &v in self.settled.iter().rev() {
            let share = self.flow[v as usize] / self.ways[v as usize].len().max(1) as f64;
            if share == 0.0 {
                continue;
            }
            for &arc in &self.ways[v as usize] {
                full[arc as usize] += share / core.arcs[arc as usize].rate;
                self.flow[core.arcs[arc as usize].to as usize] += share;
            }
        }
        Some(full)
    }
}

/// The search's state.
struct Search<'a> {
    core: &'a Core,
    /// Of each home, how full each arc is by what goes to it, when every pair sends a byte a second.
    flow: Vec<Vec<f64>>,
    /// The sum over the homes.
    full: Vec<f64>,
    lower: f64,
    upper: f64,
    /// Weights of the best upper bound.
    best: Vec<f64>,
    /// Weights of the last rounds, averaged: they waver less than those of one round.
    mean: Vec<f64>,
    rounds: usize,
}

impl<'a> Search<'a> {
    fn new(core: &'a Core) -> Option<Search<'a>> {
        let even: Vec<f64> = core.arcs.iter().map(|arc| 1.0 / arc.rate).collect();
        let flow: Option<Vec<Vec<f64>>> = core
            .homes
            .par_iter()
            .map_init(|| CheapestTree::new(core), |tree, &(home, nodes)| tree.alone(core, &even, home, nodes))
            .collect();
        let best = vec![1.0; core.arcs.len()];
        let upper = f64::INFINITY;
        let mean = vec![0.0; core.arcs.len()];
        let mut search = Search { core, flow: flow?, full: Vec::new(), lower: 0.0, upper, best, mean, rounds: 0 };
        search.sum();
        search.prove(search.best.clone())?;
        // What is the fullest now says more.
        let sharp = search.sharp(0.02);
        search.prove(search.weights(sharp))?;
        Some(search)
    }

    fn gap(&self) -> f64 {
        1.0 - self.lower / self.upper
    }

    /// Adds up the homes' flows, and reads off the lower bound.
    fn sum(&mut self) {
        let mut full = vec![0.0; self.core.arcs.len()];
        for flow in &self.flow {
            full.iter_mut().zip(flow).for_each(|(sum, own)| *sum += own);
        }
        self.lower = self.lower.max(1.0 / full.iter().copied().fold(0.0, f64::max));
        self.full = full;
    }

    /// How sharply weights tell the fullest arcs apart: by `fine` of them.
    fn sharp(&self, fine: f64) -> f64 {
        let most = self.full.iter().copied().fold(0.0, f64::max);
        (self.full.len() as f64).ln().max(1.0) / (fine * most)
    }

    fn weights(&self, sharp: f64) -> Vec<f64> {
        let most = self.full.iter().copied().fold(0.0, f64::max);
        self.full.iter().map(|full| (sharp * (full - most)).exp().max(1e-12)).collect()
    }

    /// Reads the upper bound off some weights.
    fn prove(&mut self, weights: Vec<f64>) -> Option<()> {
        let length: Vec<f64> = weights.iter().zip(&self.core.arcs).map(|(weight, arc)| weight / arc.rate).collect();
        let upper = weights.iter().sum::<f64>() / self.core.cost(&length)?;
        if upper < self.upper {
            (self.upper, self.best) = (upper, weights);
        }
        Some(())
    }

    /// Moves the flow of one home after another towards the paths that are cheapest then, and reads off both bounds.
    fn round(&mut self, wanted: f64) -> Option<()> {
        let sharp = self.sharp((self.gap() / 4.0).max(wanted / 8.0));
        let most = self.full.iter().copied().fold(0.0, f64::max);
        let weight = |full: f64| (sharp * (full - most)).exp().max(1e-12);
        let arcs = &self.core.arcs;
        let mut length: Vec<f64> = self.full.iter().zip(arcs).map(|(full, arc)| weight(*full) / arc.rate).collect();
        let mut tree = CheapestTree::new(self.core);
        for (flow, &(home, nodes)) in self.flow.iter_mut().zip(&self.core.homes) {
            let to = tree.alone(self.core, &length, home, nodes)?;
            let moved: Vec<(usize, f64)> = (0..to.len()).map(|e| (e, to[e] - flow[e])).filter(|m| m.1 != 0.0).collect();
            let step = step(&moved, &self.full, sharp, most);
            if step == 0.0 {
                continue;
            }
            for (e, change) in moved {
                flow[e] = (flow[e] + step * change).max(0.0);
                self.full[e] += step * change;
                length[e] = weight(self.full[e]) / arcs[e].rate;
            }
        }
        self.rounds += 1;
        self.sum();
        let weights = self.weights(sharp);
        let total: f64 = weights.iter().sum();
        self.mean.iter_mut().zip(&weights).for_each(|(mean, weight)| *mean = 0.9 * *mean + 0.1 * weight / total);
        // Every other round the average is asked, which costs as much.
        let weights = if self.rounds.is_multiple_of(2) { self.mean.clone() } else { weights };
        self.prove(weights)
    }
}

/// The step, from 0 to 1, along some arcs' changes after which the smooth maximum rises again.
fn step(moved: &[(usize, f64)], full: &[f64], sharp: f64, most: f64) -> f64 {
    let rises = |step: f64| {
        let slope = |&(e, change): &(usize, f64)| change * (sharp * (full[e] + step * change - most)).exp();
        moved.iter().map(slope).sum::<f64>() >= 0.0
    };
    if moved.is_empty() || rises(0.0) {
        return 0.0;
    }
    if !rises(1.0) {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..16 {
        let middle = (low + high) / 2.0;
        if rises(middle) { high = middle } else { low = middle }
    }
    low
}
