//! Which nodes send how much to which.
//!
//! A [`Traffic`] is a pattern with a command-line spelling (`all-to-all`, `permutation:shift:3`). For a number of nodes
//! it becomes a [`Demand`]: amounts per ordered pair, in messages.
//!
//! ```
//! use hotlink_fabric::traffic::Traffic;
//! let traffic: Traffic = "permutation:shift:3".parse().unwrap();
//! let demand = traffic.demand(8, 0).unwrap();
//! assert_eq!(demand.flows[7].destination.0, 2);
//! ```

use crate::built::Fabric;
use crate::network::{Node, Vertex};
use crate::rng::SplitMix64;
use crate::topology::{Shape, cube};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// What was wrong with a traffic pattern and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TrafficError(pub String);

/// All spellings, for help texts and errors.
pub const SPELLINGS: &str = "all-to-all, uniform, permutation:random, permutation:ring, permutation:shift[:K], permutation:group-shift, \
     permutation:transpose, permutation:bit-reversal, bisection, nearest-neighbour[:D], hot-spot[:PERCENT], same-switch:PERCENT, incast:N, matrix:FILE.csv";

/// A traffic pattern.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// Every node sends one message to every other node.
    AllToAll,
    /// Every node sends one message in all, in equal parts to every other node.
    Uniform,
    /// A random permutation, each equally likely; a node that maps to itself sends nothing.
    Random,
    /// All nodes on one ring in a random order, each order equally likely: each sends to the next.
    Ring,
    /// Node i sends to i + K (modulo the number of nodes).
    Shift(u32),
    /// Each node sends to the same place in the next group of a dragonfly, or of a single group on the next router
    /// ([`Traffic::on`]).
    GroupShift,
    /// Nodes in a square, row by row: (row, column) sends to (column, row). The number of nodes is a square.
    Transpose,
    /// Node i sends to the node whose number has i's bits in reverse. The number of nodes is a power of two.
    BitReversal,
    /// Node i of the first half and node i + N/2 send to each other (with N odd, the last node is idle).
    Bisection,
    /// Nodes in a periodic grid of this many dimensions, as cube-like as their number allows (dimension 0 fastest,
    /// largest extent first). Each node sends one message to each neighbour both ways.
    NearestNeighbour(u32),
    /// All but node 0 send it this share (in %) of a message. Every node sends the rest in equal parts to all others.
    HotSpot(u32),
    /// Every node sends this share (in %) of a message in equal parts to the other nodes of its switch. It sends the
    /// rest in equal parts to all other nodes, those of its switch too. A node alone on its switch sends all of it to
    /// all others.
    SameSwitch {
        /// The share.
        percent: u32,
        /// The switch of each node, by number ([`Traffic::on`]).
        switch_of: Vec<u32>,
    },
    /// Nodes 1 to N each send one message to node 0.
    Incast(u32),
    /// Amounts from a file.
    Matrix(Demand),
}

/// An amount from one node to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Sender.
    pub source: Node,
    /// Receiver.
    pub destination: Node,
    /// Messages (or bytes: any unit, the same for all).
    pub amount: f64,
}

/// A pattern for a given number of nodes. What a node sends to itself stays out of the network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demand {
    /// Number of nodes.
    pub nodes: u32,
    /// Amount from every node to every other node.
    pub all_pairs: f64,
    /// Further amounts, by pair.
    pub flows: Vec<Flow>,
}

impl Traffic {
    /// Whether the pattern depends on the seed, so that several samples make sense.
    pub fn is_random(&self) -> bool {
        matches!(self, Traffic::Random | Traffic::Ring)
    }

    /// Reads a pattern; `matrix:FILE` reads its file by `read`.
    ///
    /// # Errors
    /// The pattern is not known, a parameter is out of range, the file cannot be read or has a bad number.
    pub fn parse(text: &str, read: impl FnOnce(&str) -> std::io::Result<String>) -> Result<Traffic, TrafficError> {
        match text.strip_prefix("matrix:") {
            Some(file) => {
                let text = read(file).map_err(|error| TrafficError(format!("{file}: {error}")))?;
                Traffic::from_csv(file, &text)
            }
            None => text.parse(),
        }
    }

    /// A matrix as comma-separated values: row i, column j is the amount that node i sends to node j. Lines that are
    /// empty or start with `#` do not count; the diagonal stays out of the network.
    ///
    /// # Errors
    /// The place (`file:line`, column) of a value that is no finite number of at least 0, or of a row of another
    /// length.
    pub fn from_csv(file: &str, text: &str) -> Result<Traffic, TrafficError> {
        let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
        let rows: Vec<(usize, &str)> = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).collect();
        let (nodes, wrong) = (rows.len(), |what: String| Err(TrafficError(what)));
        if nodes == 0 || nodes > 1 << 16 {
            return wrong(format!("{file}: {nodes} rows: a matrix of N rows with N numbers, N from 1 to 65536"));
        }
        let mut flows = Vec::new();
        for (source, (line, row)) in rows.into_iter().enumerate() {
            let columns = row.split(',').count();
            if columns != nodes {
                return wrong(format!("{file}:{line}: {columns} columns: as many as there are rows, {nodes}"));
            }
            for (destination, text) in row.split(',').enumerate() {
                let amount = amount(text).ok_or_else(|| {
                    let (column, text) = (destination + 1, text.trim());
                    TrafficError(format!("{file}:{line}: column {column}: '{text}': a finite number from 0 up"))
                })?;
                if amount > 0.0 && source != destination {
                    flows.push(flow(source as u32, destination as u32, amount));
                }
            }
        }
        let sum: f64 = flows.iter().map(|flow| flow.amount).sum();
        let matrix = Traffic::Matrix(Demand { nodes: nodes as u32, all_pairs: 0.0, flows });
        if sum.is_finite() { Ok(matrix) } else { wrong(format!("{file}: the sum is too large: give smaller numbers")) }
    }

    /// The pattern with what depends on the network filled in.
    #[must_use]
    pub fn on(self, fabric: &Fabric) -> Traffic {
        match (self, &fabric.shape) {
            (Traffic::GroupShift, Shape::Dragonfly(shape)) => Traffic::Shift(shape.nodes_per_region()),
            (Traffic::GroupShift, _) if fabric.network.region.contains(&1) => {
                let first = |home: &Vertex| fabric.network.region[home.0 as usize] == 0;
                Traffic::Shift(fabric.attachment.home.iter().take_while(|home| first(home)).count() as u32)
            }
            (Traffic::SameSwitch { percent, .. }, _) => {
                Traffic::SameSwitch { percent, switch_of: fabric.attachment.group.clone() }
            }
            (other, _) => other,
        }
    }

    /// The demand among `nodes` nodes; `seed` matters to random patterns only.
    ///
    /// # Errors
    /// The pattern does not exist for this number of nodes.
    pub fn demand(&self, nodes: u32, seed: u64) -> Result<Demand, TrafficError> {
        let others = f64::from(nodes.saturating_sub(1).max(1));
        let permutation = |to: &dyn Fn(u32) -> u32| {
            let flows = (0..nodes).map(|i| flow(i, to(i), 1.0)).collect();
            Ok(Demand { nodes, all_pairs: 0.0, flows })
        };
        match self {
            Traffic::AllToAll => Ok(Demand { nodes, all_pairs: 1.0, flows: Vec::new() }),
            Traffic::Uniform => Ok(Demand { nodes, all_pairs: 1.0 / others, flows: Vec::new() }),
            Traffic::Random => {
                let mut order: Vec<u32> = (0..nodes).collect();
                SplitMix64::new(seed).shuffle(&mut order);
                permutation(&|i| order[i as usize])
            }
            Traffic::Ring => {
                let mut order: Vec<u32> = (0..nodes).collect();
                SplitMix64::new(seed).shuffle(&mut order);
                let next = order.iter().cycle().skip(1);
                let mut flows: Vec<Flow> = order.iter().zip(next).map(|(&from, &to)| flow(from, to, 1.0)).collect();
                flows.sort_by_key(|flow| flow.source);
                Ok(Demand { nodes, all_pairs: 0.0, flows })
            }
            Traffic::Shift(k) => permutation(&|i| ((u64::from(i) + u64::from(*k)) % u64::from(nodes)) as u32),
            Traffic::GroupShift => Err(TrafficError(
                "permutation:group-shift: this network has no groups: use permutation:shift:K".to_owned(),
            )),
            Traffic::Transpose => {
                let side = nodes.isqrt();
                if side * side != nodes {
                    return Err(TrafficError(format!("transpose of {nodes} nodes: the number of nodes is a square")));
                }
                permutation(&|i| i % side * side + i / side)
            }
            Traffic::BitReversal => {
                if !nodes.is_power_of_two() {
                    let what = format!("bit reversal of {nodes} nodes: the number of nodes is a power of two");
                    return Err(TrafficError(what));
                }
                let bits = nodes.trailing_zeros();
                permutation(&|i| if bits == 0 { 0 } else { i.reverse_bits() >> (32 - bits) })
            }
            Traffic::Bisection => {
                let half = nodes / 2;
                let flows = (0..half).flat_map(|i| [flow(i, i + half, 1.0), flow(i + half, i, 1.0)]).collect();
                Ok(Demand { nodes, all_pairs: 0.0, flows })
            }
            Traffic::NearestNeighbour(dimensions) => Ok(nearest_neighbour(nodes, *dimensions)),
            Traffic::HotSpot(percent) => Ok(hot_spot(nodes, f64::from(*percent) / 100.0)),
            Traffic::SameSwitch { percent, switch_of } => same_switch(nodes, f64::from(*percent) / 100.0, switch_of),
            Traffic::Incast(senders) if *senders >= nodes => Err(TrafficError(format!(
                "incast:{senders} among {nodes} nodes: at most {} can send",
                nodes.max(1) - 1
            ))),
            Traffic::Incast(senders) => {
                Ok(Demand { nodes, all_pairs: 0.0, flows: (1..=*senders).map(|i| flow(i, 0, 1.0)).collect() })
            }
            Traffic::Matrix(demand) if demand.nodes == nodes => Ok(demand.clone()),
            Traffic::Matrix(demand) => {
                Err(TrafficError(format!("the traffic matrix is for {} nodes, the fabric has {nodes}", demand.nodes)))
            }
        }
    }
}

/// The seed of sample number `sample` of `seed`; sample 0 is the seed itself.
pub fn sample_seed(seed: u64, sample: u64) -> u64 {
    match sample {
        0 => seed,
        _ => SplitMix64::stream(seed, sample).next_u64(),
    }
}

fn flow(source: u32, destination: u32, amount: f64) -> Flow {
    Flow { source: Node(source), destination: Node(destination), amount }
}

fn amount(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|x: &f64| x.is_finite() && *x >= 0.0)
}

fn nearest_neighbour(nodes: u32, dimensions: u32) -> Demand {
    let extents = cube::balanced(nodes, dimensions);
    let mut flows = Vec::new();
    for i in 0..nodes {
        let mut stride = 1;
        for &r in &extents {
            let x = i / stride % r;
            for to in [(x + 1) % r, (x + r - 1) % r] {
                flows.push(flow(i, i - x * stride + to * stride, 1.0));
            }
            stride *= r;
        }
    }
    flows.retain(|flow| flow.source != flow.destination);
    Demand { nodes, all_pairs: 0.0, flows }
}

fn hot_spot(nodes: u32, share: f64) -> Demand {
    let others = f64::from(nodes.saturating_sub(1).max(1));
    let flows = (1..nodes).map(|i| flow(i, 0, share)).collect();
    Demand { nodes, all_pairs: (1.0 - share) / others, flows }
}

fn same_switch(nodes: u32, share: f64, switch_of: &[u32]) -> Result<Demand, TrafficError> {
    if switch_of.is_empty() {
        return Err(TrafficError("same-switch: there are no switches here: use uniform".to_owned()));
    }
    let mut on: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    (0..nodes).zip(switch_of).for_each(|(node, &switch)| on.entry(switch).or_default().push(node));
    if on.values().all(|on| on.len() < 2) {
        return Err(TrafficError(
            "same-switch: no two nodes are on the same switches, with all of their links: use uniform".to_owned(),
        ));
    }
    let others = f64::from(nodes - 1);
    let all: Vec<u32> = (0..nodes).collect();
    let mut flows = Vec::new();
    for on in on.values() {
        let to = if on.len() > 1 { on } else { &all };
        let each = share / (to.len() - 1) as f64;
        for &from in on {
            flows.extend(to.iter().filter(|to| **to != from).map(|&to| flow(from, to, each)));
        }
    }
    flows.sort_by_key(|flow| (flow.source, flow.destination));
    Ok(Demand { nodes, all_pairs: (1.0 - share) / others, flows })
}

impl Demand {
    /// What each node sends in all, and what it receives.
    pub fn per_node(&self) -> (Vec<f64>, Vec<f64>) {
        let uniform = self.all_pairs * f64::from(self.nodes.saturating_sub(1));
        let (mut sent, mut received) = (vec![uniform; self.nodes as usize], vec![uniform; self.nodes as usize]);
        for flow in self.flows.iter().filter(|flow| flow.source != flow.destination) {
            sent[flow.source.0 as usize] += flow.amount;
            received[flow.destination.0 as usize] += flow.amount;
        }
        (sent, received)
    }

    /// Calls `each(source, destination, amount)` for every ordered pair with traffic: for small numbers of nodes.
    pub fn pairs(&self, mut each: impl FnMut(Node, Node, f64)) {
        if self.all_pairs > 0.0 {
            for i in 0..self.nodes {
                (0..self.nodes).filter(|&j| j != i).for_each(|j| each(Node(i), Node(j), self.all_pairs));
            }
        }
        for flow in self.flows.iter().filter(|flow| flow.source != flow.destination) {
            each(flow.source, flow.destination, flow.amount);
        }
    }
}

impl FromStr for Traffic {
    type Err = TrafficError;

    fn from_str(text: &str) -> Result<Traffic, TrafficError> {
        let unknown = || TrafficError(format!("traffic '{text}' is not known: {SPELLINGS}"));
        let number = |text: &str, name: &str, allowed: std::ops::RangeInclusive<u32>| {
            text.parse().ok().filter(|n| allowed.contains(n)).ok_or_else(|| {
                TrafficError(format!("{name} = '{text}': a whole number from {} to {}", allowed.start(), allowed.end()))
            })
        };
        let parts: Vec<&str> = text.split(':').collect();
        Ok(match parts[..] {
            ["all-to-all"] => Traffic::AllToAll,
            ["uniform"] => Traffic::Uniform,
            ["permutation", "random"] => Traffic::Random,
            ["permutation", "ring"] => Traffic::Ring,
            ["permutation", "shift"] => Traffic::Shift(1),
            ["permutation", "shift", k] => Traffic::Shift(number(k, "permutation:shift:K, K", 1..=u32::MAX)?),
            ["permutation", "group-shift"] => Traffic::GroupShift,
            ["permutation", "transpose"] => Traffic::Transpose,
            ["permutation", "bit-reversal"] => Traffic::BitReversal,
            ["permutation", ..] => {
                let allowed = "permutation:random, permutation:ring, permutation:shift[:K], permutation:group-shift, \
                     permutation:transpose, permutation:bit-reversal";
                return Err(TrafficError(format!("traffic '{text}' is not known: {allowed}")));
            }
            ["bisection"] => Traffic::Bisection,
            ["nearest-neighbour" | "nearest-neighbor"] => Traffic::NearestNeighbour(1),
            ["nearest-neighbour" | "nearest-neighbor", d] => {
                Traffic::NearestNeighbour(number(d, "nearest-neighbour:D, D", 1..=cube::MAX_DIMENSIONS)?)
            }
            ["hot-spot"] => Traffic::HotSpot(100),
            ["hot-spot", percent] => Traffic::HotSpot(number(percent, "hot-spot:PERCENT, PERCENT", 1..=100)?),
            ["same-switch", percent] => {
                let percent = number(percent, "same-switch:PERCENT, PERCENT", 0..=100)?;
                Traffic::SameSwitch { percent, switch_of: Vec::new() }
            }
            ["incast", senders] => Traffic::Incast(number(senders, "incast:N, N", 1..=u32::MAX)?),
            _ => return Err(unknown()),
        })
    }
}

impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Traffic::AllToAll => f.write_str("all-to-all"),
            Traffic::Uniform => f.write_str("uniform"),
            Traffic::Random => f.write_str("permutation:random"),
            Traffic::Ring => f.write_str("permutation:ring"),
            Traffic::Shift(k) => write!(f, "permutation:shift:{k}"),
            Traffic::GroupShift => f.write_str("permutation:group-shift"),
            Traffic::Transpose => f.write_str("permutation:transpose"),
            Traffic::BitReversal => f.write_str("permutation:bit-reversal"),
            Traffic::Bisection => f.write_str("bisection"),
            Traffic::NearestNeighbour(d) => write!(f, "nearest-neighbour:{d}"),
            Traffic::HotSpot(percent) => write!(f, "hot-spot:{percent}"),
            Traffic::SameSwitch { percent, .. } => write!(f, "same-switch:{percent}"),
            Traffic::Incast(senders) => write!(f, "incast:{senders}"),
            Traffic::Matrix(_) => f.write_str("matrix"),
        }
    }
}
