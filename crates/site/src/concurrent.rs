//! The capacity of the cables (maximum concurrent flow). It is how much every pair of nodes can exchange at once, by
//! the best routes, split as finely as needed.
//!
//! Two numbers enclose it. Any flow gives a lower bound: its size when its fullest channel is full. Any weights on the
//! channels give an upper bound (its linear program's dual). If carrying one unit between every pair costs `a` by the
//! cheapest paths, and all channels full cost `c`, then no more than `c / a` fits. To check the upper bound, add it up
//! from the weights.
//!
//! The search minimises a smooth maximum of the channels' fullness: weights grow exponentially with how full a channel
//! is. It takes one destination after another. Each switch splits its flow for the destination among its channels, so
//! that all channels in use lead there at the same price. (Gallager 1977, routing of least delay; the step is that of
//! Bertsekas.) That converges where flow that jumps to the cheapest paths (Frank and Wolfe) wavers.

use hotlink_fabric::Fabric;
use hotlink_fabric::maths::{exp, ln};
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

/// Bounds on all-to-all among the nodes of a fabric, at the channels' gross rates. The search ends when they are `gap`
/// apart (such as 0.01) or `steps` channels have been visited. `None` where some pair has no path, or a channel on the
/// path no rate.
pub fn all_to_all(fabric: &Fabric, gap: f64, steps: u64) -> Option<Concurrent> {
    let core = Core::new(fabric)?;
    let own = core.own_links;
    if core.homes.len() < 2 {
        return Some(Concurrent { lower: own, upper: own, weights: Vec::new(), rounds: 0 });
    }
    let mut search = Search::new(&core)?;
    let per_round = ((core.homes.len() * core.arcs.len()) as u64).max(ROUND);
    let most = usize::try_from(steps / per_round.max(1)).unwrap_or(usize::MAX).max(1);
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

/// Channels that could be visited in the time that any round takes, however small the network.
const ROUND: u64 = 1 << 14;

/// A channel between switches.
#[derive(Clone, Copy)]
struct Arc {
    channel: Channel,
    from: u32,
    to: u32,
    rate: f64,
}

/// Numbers of arcs by a vertex of theirs.
struct ArcsOf {
    arcs: Vec<u32>,
    /// Those of vertex v are `arcs[start[v]..start[v + 1]]`.
    start: Vec<u32>,
}

impl ArcsOf {
    fn new(vertices: usize, vertex: impl Iterator<Item = u32> + Clone) -> ArcsOf {
        let mut start = vec![0u32; vertices + 1];
        vertex.clone().for_each(|v| start[v as usize + 1] += 1);
        (0..vertices).for_each(|v| start[v + 1] += start[v]);
        let (mut next, mut arcs) = (start.clone(), vec![0; start[vertices] as usize]);
        for (arc, v) in (0..).zip(vertex) {
            arcs[next[v as usize] as usize] = arc;
            next[v as usize] += 1;
        }
        ArcsOf { arcs, start }
    }
    fn of(&self, v: u32) -> &[u32] {
        &self.arcs[self.start[v as usize] as usize..self.start[v as usize + 1] as usize]
    }
}

/// The switches and the channels between them.
struct Core {
    arcs: Vec<Arc>,
    /// Arcs that enter a vertex.
    entering: ArcsOf,
    /// Arcs that leave a vertex.
    leaving: ArcsOf,
    vertices: usize,
    /// Switches with nodes, and how many.
    homes: Vec<(u32, f64)>,
    /// The rate of each pair by the nodes' own links.
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
        let entering = ArcsOf::new(vertices, arcs.iter().map(|arc| arc.to));
        let leaving = ArcsOf::new(vertices, arcs.iter().map(|arc| arc.from));
        let homes = attachment.homes.iter().enumerate();
        let homes = homes.map(|(group, home)| (home.0 - first, attachment.nodes_of(group).len() as f64)).collect();
        Some(Core { arcs, entering, leaving, vertices, homes, own_links })
    }

    /// The cost of one byte between every pair by the cheapest paths.
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
            for &arc in core.entering.of(v) {
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

    /// The load to a home by its cheapest paths, split evenly where they are equal: how full that makes each arc.
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
        // The fullest arcs now say more.
        let sharp = search.sharp(0.02);
        search.prove(search.weights(sharp))?;
        search.cut();
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

    /// How sharply weights distinguish the fullest arcs: by `fine` of them.
    fn sharp(&self, fine: f64) -> f64 {
        let most = self.full.iter().copied().fold(0.0, f64::max);
        ln(self.full.len() as f64).max(1.0) / (fine * most)
    }

    fn weights(&self, sharp: f64) -> Vec<f64> {
        let most = self.full.iter().copied().fold(0.0, f64::max);
        self.full.iter().map(|full| exp(sharp * (full - most)).max(1e-12)).collect()
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

    /// Reads the upper bound off the cut around each home: all that its nodes exchange with the others crosses it.
    fn cut(&mut self) {
        let core = self.core;
        let total: f64 = core.homes.iter().map(|home| home.1).sum();
        let rate = |arc: &u32| core.arcs[*arc as usize].rate;
        let around = |&(home, nodes): &(u32, f64)| {
            let pairs = nodes * (total - nodes);
            [&core.leaving, &core.entering]
                .map(|arcs| (arcs.of(home), arcs.of(home).iter().map(rate).sum::<f64>(), pairs))
        };
        let cuts = core.homes.iter().flat_map(around);
        let Some((arcs, through, pairs)) = cuts.min_by(|a, b| (a.1 / a.2).total_cmp(&(b.1 / b.2))) else { return };
        // A byte costs 1 on each channel of the cut, and next to nothing on others.
        let mut weights = vec![1e-12 * through; core.arcs.len()];
        arcs.iter().for_each(|arc| weights[*arc as usize] = rate(arc));
        let upper = weights.iter().sum::<f64>() / pairs;
        if upper < self.upper {
            (self.upper, self.best) = (upper, weights);
        }
    }

    /// Shares the flow to one home after another anew, and reads off both bounds.
    fn round(&mut self, wanted: f64) -> Option<()> {
        let sharp = self.sharp((self.gap() / 1.5).max(wanted / 2.0));
        let most = self.full.iter().copied().fold(0.0, f64::max);
        let price = Price { sharp, most };
        let mut sharing = Sharing::new(self.core);
        for (flow, &(home, nodes)) in self.flow.iter_mut().zip(&self.core.homes) {
            let to = sharing.toward(self.core, price, &self.full, flow, home, nodes)?;
            let moved: Vec<(usize, f64)> = (0..to.len()).map(|e| (e, to[e] - flow[e])).filter(|m| m.1 != 0.0).collect();
            let step = step(&moved, &self.full, sharp, most);
            for (e, change) in moved.into_iter().filter(|_| step > 0.0) {
                flow[e] = if step == 1.0 { to[e] } else { (flow[e] + step * change).max(0.0) };
                self.full[e] += step * change;
            }
        }
        self.rounds += 1;
        self.sum();
        let weights = self.weights(sharp);
        let total: f64 = weights.iter().sum();
        let new = (4.0 / (self.rounds as f64 + 4.0)).max(0.01);
        self.mean.iter_mut().zip(&weights).for_each(|(mean, weight)| *mean += new * (weight / total - *mean));
        // In turn: the average, and weights that distinguish the fullest arcs less sharply, since the flow is not at
        // rest yet. Every other round the average is asked, which costs as much.
        let weights = if self.rounds.is_multiple_of(2) { self.mean.clone() } else { weights };
        self.prove(weights)
    }
}

/// The price of a further byte a second on an arc, as the arc fills.
#[derive(Clone, Copy)]
struct Price {
    sharp: f64,
    most: f64,
}

impl Price {
    fn at(self, full: f64, rate: f64) -> f64 {
        exp(self.sharp * (full - self.most)).max(1e-12) / rate
    }
}

/// How vertices share what goes to one home among the arcs that leave them.
struct Sharing {
    /// Used arcs whose ends are not placed yet, and the largest label beyond the others.
    waits: Vec<(u32, f64)>,
    /// Arcs that carry more than a rest.
    used: Vec<bool>,
    /// Place in the order by labels; the home's is 0.
    place: Vec<u32>,
    order: Vec<u32>,
    /// The cost of a byte from here to the home, as the flow is shared now.
    cost: Vec<f64>,
    arriving: Vec<f64>,
    heap: BinaryHeap<Reached>,
    choice: Vec<Choice>,
}

/// An arc that leaves a vertex: its load, and the cost of a byte behind it.
#[derive(Clone, Copy)]
struct Choice {
    arc: usize,
    own: f64,
    behind: f64,
    price: f64,
}

const UNPLACED: u32 = u32::MAX;
/// A smaller share of a vertex's flow is the rest of an abandoned path.
const REST: f64 = 1e-3;

impl Sharing {
    fn new(core: &Core) -> Sharing {
        Sharing {
            waits: vec![(0, 0.0); core.vertices],
            used: vec![false; core.arcs.len()],
            place: vec![UNPLACED; core.vertices],
            order: Vec::with_capacity(core.vertices),
            cost: vec![0.0; core.vertices],
            arriving: vec![0.0; core.vertices],
            heap: BinaryHeap::new(),
            choice: Vec::new(),
        }
    }

    /// Orders the vertices so that used arcs lead to earlier ones. A vertex counts by its dearest path over used arcs,
    /// or by its cheapest where none is used. An arc to an earlier vertex may be used without making a circle.
    fn place(&mut self, core: &Core, price: impl Fn(usize) -> f64, own: &[f64], home: u32) {
        self.place.fill(UNPLACED);
        self.order.clear();
        self.used.fill(false);
        for v in 0..core.vertices as u32 {
            let bytes = |arc: u32| own[arc as usize] * core.arcs[arc as usize].rate;
            // The rest of an abandoned path must not decide the order.
            let least = REST * core.leaving.of(v).iter().map(|&arc| bytes(arc)).sum::<f64>();
            let used = core.leaving.of(v).iter().filter(|&&arc| bytes(arc) > least);
            self.waits[v as usize] = (0, 0.0);
            for &arc in used.filter(|_| v != home) {
                self.used[arc as usize] = true;
                self.waits[v as usize].0 += 1;
            }
        }
        self.heap.push(Reached(0.0, home));
        while let Some(Reached(label, v)) = self.heap.pop() {
            if self.place[v as usize] != UNPLACED {
                continue;
            }
            self.place[v as usize] = self.order.len() as u32;
            self.order.push(v);
            for &arc in core.entering.of(v) {
                let (from, arc) = (core.arcs[arc as usize].from, arc as usize);
                let (waits, dearest) = &mut self.waits[from as usize];
                let through = label + price(arc);
                if self.used[arc] {
                    (*waits, *dearest) = (*waits - 1, dearest.max(through));
                    if *waits == 0 {
                        self.heap.push(Reached(*dearest, from));
                    }
                } else if *waits == 0 && *dearest == 0.0 && self.place[from as usize] == UNPLACED {
                    self.heap.push(Reached(through, from));
                }
            }
        }
    }

    /// The flow to a home, in parts of each arc's rate, after each vertex has shared anew what comes to it.
    fn toward(
        &mut self,
        core: &Core,
        price: Price,
        full: &[f64],
        own: &[f64],
        home: u32,
        nodes: f64,
    ) -> Option<Vec<f64>> {
        let at = |arc: usize| price.at(full[arc], core.arcs[arc].rate);
        self.place(core, at, own, home);
        if self.order.len() < core.vertices && core.homes.iter().any(|home| self.place[home.0 as usize] == UNPLACED) {
            return None;
        }
        self.cost[home as usize] = 0.0;
        for &v in &self.order[1..] {
            let (mut carried, mut paid, mut least) = (0.0, 0.0, f64::INFINITY);
            for &arc in core.leaving.of(v) {
                let (arc, to) = (arc as usize, core.arcs[arc as usize].to as usize);
                if self.place[to] < self.place[v as usize] {
                    let (cost, bytes) = (at(arc) + self.cost[to], own[arc] * core.arcs[arc].rate);
                    (carried, paid, least) = (carried + bytes, paid + bytes * cost, least.min(cost));
                }
            }
            self.cost[v as usize] = if carried > 0.0 { paid / carried } else { least };
        }
        self.arriving.fill(0.0);
        let others = core.homes.iter().filter(|(other, _)| *other != home);
        others.for_each(|&(other, count)| self.arriving[other as usize] = count * nodes);
        let mut shared = vec![0.0; own.len()];
        for at_place in (1..self.order.len()).rev() {
            let v = self.order[at_place];
            let bytes = self.arriving[v as usize];
            if bytes == 0.0 {
                continue;
            }
            self.choice.clear();
            for &arc in core.leaving.of(v) {
                let (arc, to) = (arc as usize, core.arcs[arc as usize].to as usize);
                if (self.place[to] as usize) < at_place {
                    let own = own[arc] * core.arcs[arc].rate;
                    self.choice.push(Choice { arc, own, behind: self.cost[to], price: at(arc) });
                }
            }
            share(&mut self.choice, bytes, price.sharp, |arc| core.arcs[arc].rate);
            for &Choice { arc, own, .. } in self.choice.iter().filter(|choice| choice.own > 0.0) {
                shared[arc] = own / core.arcs[arc].rate;
                self.arriving[core.arcs[arc].to as usize] += own;
            }
        }
        Some(shared)
    }
}

/// Shares bytes among arcs so that a further byte costs the same on all that carry any. Their prices grow with their
/// load, and the prices behind them stay.
fn share(choice: &mut [Choice], bytes: f64, sharp: f64, rate: impl Fn(usize) -> f64) {
    let carried: f64 = choice.iter().map(|choice| choice.own).sum();
    if carried > 0.0 {
        choice.iter_mut().for_each(|choice| choice.own *= bytes / carried);
    }
    let [first, rest @ ..] = &mut *choice else { return };
    if rest.is_empty() {
        first.own = bytes;
        return;
    }
    // The load of an arc at which a further byte costs this much.
    let carries = |choice: &Choice, cost: f64| {
        let price = cost - choice.behind;
        let more = if price > 0.0 { rate(choice.arc) / sharp * ln(price / choice.price) } else { f64::NEG_INFINITY };
        (choice.own + more).max(0.0)
    };
    let now = |choice: &Choice| choice.behind + choice.price;
    let mut low = choice.iter().map(now).fold(f64::INFINITY, f64::min);
    let mut high = choice.iter().filter(|choice| choice.own > 0.0 || carried == 0.0).map(now).fold(low, f64::max);
    let all = |choice: &[Choice], cost: f64| choice.iter().map(|choice| carries(choice, cost)).sum::<f64>();
    while all(choice, high) < bytes {
        high += (high - low).max(high);
    }
    for _ in 0..48 {
        let middle = (low + high) / 2.0;
        if all(choice, middle) < bytes { low = middle } else { high = middle }
    }
    choice.iter_mut().for_each(|choice| choice.own = carries(choice, high));
    let whole: f64 = choice.iter().map(|choice| choice.own).sum();
    choice.iter_mut().for_each(|choice| choice.own *= bytes / whole);
}

/// The step, from 0 to 1, along some arcs' changes after which the smooth maximum rises again.
fn step(moved: &[(usize, f64)], full: &[f64], sharp: f64, most: f64) -> f64 {
    let rises = |step: f64| {
        let slope = |&(e, change): &(usize, f64)| change * exp(sharp * (full[e] + step * change - most));
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
