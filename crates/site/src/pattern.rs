//! The pattern that a site's cables follow, and what is missing from it.
//!
//! Inferred from the graph alone, so that it holds whatever devices are called. A *tree* has cables between neighbouring
//! levels only. In a *torus* (or mesh) opposite sides of a square of four cables run along one dimension, sides that meet
//! along two; what runs along one dimension forms rings, all of one length but for missing cables. In a *dragonfly* the
//! switches of a group share neighbours, those of two groups do not. *Rails* are what hosts with several ports have where
//! each leaf switch takes the same port of every host.

use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Network, Vertex};
use std::collections::{BTreeMap, BTreeSet};

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Its name, with its extents.
    pub name: String,
    /// What it lacks, in words.
    pub missing: Vec<String>,
    /// Level of each vertex: 1 with hosts, 2 a cable further, and so on; 0 of hosts.
    pub level: Vec<u32>,
}

/// Share of a pattern's cables that may be missing. It decides what is named, not a number: beyond it a pattern of another
/// name is as good a reading (docs/your-network.md, "What is assumed").
const MISSING: f64 = 0.1;

impl Pattern {
    /// The pattern of a fabric; `names` are those of its vertices.
    pub fn of(fabric: &Fabric, names: &[String]) -> Pattern {
        let graph = Graph::new(fabric, names);
        let level = levels(fabric);
        let apart = |c: Channel| {
            let (from, to) = (fabric.network.from(c), fabric.network.to(c));
            level[from.0 as usize].abs_diff(level[to.0 as usize])
        };
        let (name, mut missing) = if graph.between.is_empty() {
            ("single switch".to_owned(), Vec::new())
        } else if graph.switches().all(|v| level[v.0 as usize] == 1) {
            let found = graph.torus().or_else(|| graph.full_mesh()).or_else(|| graph.dragonfly());
            found.unwrap_or_else(|| {
                ("direct (every switch has hosts)".to_owned(), graph.fewer(|_| 1, "to switches", |_| true))
            })
        } else if graph.between.iter().all(|&c| apart(c) == 1) {
            let at = |v: Vertex| level[v.0 as usize];
            let up = |c: Channel| at(fabric.network.to(c)) > at(fabric.network.from(c));
            let mut missing = graph.fewer(at, "up", up);
            missing.extend(graph.fewer(at, "down", |c| !up(c)));
            ("tree".to_owned(), missing)
        } else {
            ("irregular".to_owned(), Vec::new())
        };
        let rails = graph.rails();
        missing.extend(rails.iter().flat_map(|rails| rails.1.clone()));
        let name = rails.map_or(name.clone(), |(rails, _)| format!("{name}, {rails} rails"));
        Pattern { name, missing, level }
    }
}

fn levels(fabric: &Fabric) -> Vec<u32> {
    let network = &fabric.network;
    let mut level = vec![0; network.vertices()];
    let mut here: Vec<Vertex> =
        fabric.attachment.homes.iter().copied().filter(|&home| !network.is_node(home)).collect();
    here.iter().for_each(|home| level[home.0 as usize] = 1);
    for next in 2.. {
        let mut reached = Vec::new();
        for channel in here.iter().flat_map(|&v| network.out(v)) {
            let to = network.to(channel);
            if !network.is_node(to) && level[to.0 as usize] == 0 {
                level[to.0 as usize] = next;
                reached.push(to);
            }
        }
        if reached.is_empty() {
            return level;
        }
        here = reached;
    }
    level
}

/// The value that most have; the larger of equally many.
fn usual<T: Ord + Copy>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    counts.into_iter().max_by_key(|&(value, count)| (count, value)).map(|(value, _)| value)
}

/// Two switches, the lower first.
type Pair = (u32, u32);

/// The switches and the cables between them.
struct Graph<'a> {
    fabric: &'a Fabric,
    network: &'a Network,
    names: &'a [String],
    /// Channels between switches.
    between: Vec<Channel>,
    /// Neighbours of each vertex, with the number of cables.
    near: BTreeMap<u32, BTreeMap<u32, usize>>,
    /// Pairs of switches with a cable.
    pairs: Vec<Pair>,
}

impl<'a> Graph<'a> {
    fn new(fabric: &'a Fabric, names: &'a [String]) -> Graph<'a> {
        let network = &fabric.network;
        let channels = (0..network.channels() as u32).map(Channel);
        let between: Vec<Channel> =
            channels.filter(|&c| !network.is_node(network.from(c)) && !network.is_node(network.to(c))).collect();
        let mut near: BTreeMap<u32, BTreeMap<u32, usize>> = BTreeMap::new();
        for v in network.nodes..network.vertices() as u32 {
            near.insert(v, BTreeMap::new());
        }
        for &c in &between {
            *near.entry(network.from(c).0).or_default().entry(network.to(c).0).or_default() += 1;
        }
        let pairs = near.iter().flat_map(|(&a, others)| others.keys().filter(move |&&b| a < b).map(move |&b| (a, b)));
        let pairs = pairs.collect();
        Graph { fabric, network, names, between, near, pairs }
    }

    fn switches(&self) -> impl Iterator<Item = Vertex> + use<> {
        (self.network.nodes..self.network.vertices() as u32).map(Vertex)
    }

    fn name(&self, vertex: u32) -> &str {
        &self.names[vertex as usize]
    }

    /// Switches with fewer cables of some kind than most of their class.
    fn fewer(&self, class: impl Fn(Vertex) -> u32, what: &str, counts: impl Fn(Channel) -> bool) -> Vec<String> {
        let ways =
            |v: Vertex| self.network.out(v).filter(|&c| !self.network.is_node(self.network.to(c)) && counts(c)).count();
        let mut of: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        self.switches().for_each(|v| of.entry(class(v)).or_default().push(ways(v)));
        let most: BTreeMap<u32, usize> =
            of.into_iter().filter_map(|(class, ways)| Some((class, usual(ways.into_iter())?))).collect();
        let short = |v: Vertex| {
            let (have, most) = (ways(v), most[&class(v)]);
            (have < most).then(|| format!("{}: {have} of {most} cables {what}", self.name(v.0)))
        };
        self.switches().filter_map(short).collect()
    }

    /// Pairs of switches that have fewer cables than most pairs.
    fn thin(&self) -> Vec<String> {
        let count = |&(a, b): &Pair| self.near[&a][&b];
        let Some(most) = usual(self.pairs.iter().map(count)) else { return Vec::new() };
        let thin = self.pairs.iter().filter(|pair| count(pair) < most);
        thin.map(|pair| format!("{} - {}: {} of {most} cables", self.name(pair.0), self.name(pair.1), count(pair)))
            .collect()
    }

    fn is_near(&self, a: u32, b: u32) -> bool {
        self.near[&a].contains_key(&b)
    }

    /// Every two switches are joined.
    fn full_mesh(&self) -> Option<(String, Vec<String>)> {
        let switches: Vec<u32> = self.near.keys().copied().collect();
        let all = switches.len() * (switches.len() - 1) / 2;
        if switches.len() < 4 || (all - self.pairs.len()) as f64 > MISSING * all as f64 {
            return None;
        }
        let apart = switches.iter().flat_map(|&a| switches.iter().filter(move |&&b| a < b).map(move |&b| (a, b)));
        let apart = apart.filter(|&(a, b)| !self.is_near(a, b));
        let mut missing: Vec<String> = apart.map(|(a, b)| format!("{} - {}", self.name(a), self.name(b))).collect();
        missing.extend(self.thin());
        Some((format!("full mesh of {} switches", switches.len()), missing))
    }

    /// Rings along dimensions.
    fn torus(&self) -> Option<(String, Vec<String>)> {
        let most = self.near.values().map(BTreeMap::len).max()?;
        // More dimensions than six are no torus that anyone cables.
        if most > 12 || self.near.len() < 3 {
            return None;
        }
        let place: BTreeMap<Pair, usize> = self.pairs.iter().copied().zip(0..).collect();
        let of = |a: u32, b: u32| place[&(a.min(b), a.max(b))];
        let (mut class, mut meeting) = (Sets::new(self.pairs.len()), BTreeSet::new());
        for &(u, v) in &self.pairs {
            for &w in self.near[&v].keys().filter(|&&w| w != u) {
                for &x in self.near[&u].keys().filter(|&&x| x != v && x != w && self.is_near(x, w)) {
                    class.join(of(u, v), of(x, w));
                    meeting.insert((of(u, v), of(u, x)));
                }
            }
        }
        let meeting: BTreeSet<(usize, usize)> = meeting
            .into_iter()
            .map(|(a, b)| (class.root(a), class.root(b)))
            .flat_map(|(a, b)| [(a, b), (b, a)])
            .collect();
        // Classes that never meet run along one dimension, one behind the other.
        let roots: BTreeSet<usize> = (0..self.pairs.len()).map(|pair| class.root(pair)).collect();
        let mut dimensions: Vec<Vec<usize>> = Vec::new();
        for &root in &roots {
            match dimensions.iter_mut().find(|own| own.iter().all(|&other| !meeting.contains(&(root, other)))) {
                Some(own) => own.push(root),
                None => dimensions.push(vec![root]),
            }
        }
        let (mut extents, mut missing, mut rings) = (Vec::new(), Vec::new(), true);
        for own in &dimensions {
            let along: Vec<Pair> = self
                .pairs
                .iter()
                .copied()
                .enumerate()
                .filter(|&(p, _)| own.contains(&class.root(p)))
                .map(|(_, pair)| pair)
                .collect();
            let (extent, is_ring, lacks) = self.lines(&along)?;
            extents.push(extent);
            missing.extend(lacks);
            rings &= is_ring || extent == 2;
        }
        if extents.iter().product::<usize>() != self.near.len()
            || missing.len() as f64 > MISSING * self.pairs.len() as f64
        {
            return None;
        }
        // A ring of four is two rings of two.
        let twos = extents.iter().filter(|&&extent| extent == 2).count();
        extents.retain(|&extent| extent != 2);
        if rings {
            extents.extend(std::iter::repeat_n(4, twos / 2).chain(std::iter::repeat_n(2, twos % 2)));
        } else {
            extents.extend(std::iter::repeat_n(2, twos));
        }
        extents.sort_unstable();
        let text = extents.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
        missing.extend(self.thin());
        let name = match (rings, &extents[..]) {
            (true, [_]) => format!("ring of {text} switches"),
            (true, _) => format!("torus {text}"),
            (false, _) => format!("mesh {text}"),
        };
        Some((name, missing))
    }

    /// The lines along one dimension: their length, whether they are rings, and which cables they lack; `None` where they
    /// are no lines of one length.
    fn lines(&self, along: &[Pair]) -> Option<(usize, bool, Vec<String>)> {
        let mut near: BTreeMap<u32, Vec<u32>> = self.near.keys().map(|&v| (v, Vec::new())).collect();
        for &(a, b) in along {
            near.entry(a).or_default().push(b);
            near.entry(b).or_default().push(a);
        }
        if near.values().any(|others| others.len() > 2) {
            return None;
        }
        let (mut seen, mut lines) = (BTreeSet::new(), Vec::new());
        for &first in near.keys() {
            let (mut line, mut open) = (Vec::new(), vec![first]);
            while let Some(v) = open.pop() {
                if seen.insert(v) {
                    line.push(v);
                    open.extend(&near[&v]);
                }
            }
            if !line.is_empty() {
                lines.push(line);
            }
        }
        let extent = usual(lines.iter().map(Vec::len))?;
        let ends = |line: &[u32]| -> Vec<u32> { line.iter().copied().filter(|v| near[v].len() < 2).collect() };
        let whole = || lines.iter().filter(|line| line.len() == extent);
        let is_ring = extent > 2 && 2 * whole().filter(|line| ends(line).is_empty()).count() >= whole().count();
        let mut missing = Vec::new();
        for line in &lines {
            let ends = ends(line);
            match (line.len() == extent, &ends[..]) {
                (true, [a, b]) if is_ring => missing.push(format!("{} - {}", self.name(*a), self.name(*b))),
                (true, _) => {}
                // A line that broke: its pieces are named by their ends.
                (false, _) if line.len() < extent => {
                    let names: Vec<&str> = ends.iter().map(|&v| self.name(v)).collect();
                    missing.push(format!(
                        "{}: a piece of {} of a line of {extent} switches",
                        names.join(" to "),
                        line.len()
                    ));
                }
                _ => return None,
            }
        }
        Some((extent, is_ring, missing))
    }

    /// Groups of switches that are all joined, and cables between every two groups.
    fn dragonfly(&self) -> Option<(String, Vec<String>)> {
        let common = |&(a, b): &Pair| self.near[&a].keys().filter(|&&c| self.is_near(b, c)).count();
        let shared: Vec<usize> = self.pairs.iter().map(common).collect();
        let most = shared.iter().copied().max().filter(|&most| most > 0)?;
        let places: Vec<u32> = self.near.keys().copied().collect();
        let place: BTreeMap<u32, usize> = places.iter().copied().zip(0..).collect();
        let mut group = Sets::new(places.len());
        for (pair, _) in self.pairs.iter().zip(&shared).filter(|(_, shared)| **shared * 2 >= most) {
            group.join(place[&pair.0], place[&pair.1]);
        }
        let mut groups: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        places.iter().enumerate().for_each(|(p, &v)| groups.entry(group.root(p)).or_default().push(v));
        let size = usual(groups.values().map(Vec::len))?;
        if groups.len() < 3 || size < 3 || groups.values().any(|group| group.len() != size) {
            return None;
        }
        let groups: Vec<Vec<u32>> = groups.into_values().collect();
        let mut missing = Vec::new();
        for group in &groups {
            let apart = group.iter().flat_map(|&a| group.iter().filter(move |&&b| a < b).map(move |&b| (a, b)));
            let apart = apart.filter(|&(a, b)| !self.is_near(a, b));
            missing.extend(apart.map(|(a, b)| format!("{} - {} (within a group)", self.name(a), self.name(b))));
        }
        let mut joined = Vec::new();
        for (i, a) in groups.iter().enumerate() {
            for b in &groups[i + 1..] {
                let cables = a.iter().flat_map(|v| b.iter().filter_map(|w| self.near[v].get(w))).sum::<usize>();
                joined.push((a[0], b[0], cables));
            }
        }
        let global = usual(joined.iter().map(|joined| joined.2)).filter(|&global| global > 0)?;
        let thin = joined.iter().filter(|joined| joined.2 < global);
        missing.extend(thin.map(|&(a, b, cables)| {
            format!("the groups of {} and {}: {cables} of {global} cables", self.name(a), self.name(b))
        }));
        if missing.len() as f64 > MISSING * self.pairs.len() as f64 {
            return None;
        }
        Some((format!("dragonfly of {} groups of {size} switches", groups.len()), missing))
    }

    /// How many rails there are, and what hosts lack of them.
    fn rails(&self) -> Option<(usize, Vec<String>)> {
        let mut hosts: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for node in 0..self.network.nodes {
            let host = self.name(node).split_whitespace().next().unwrap_or_default();
            hosts.entry(host).or_default().push(node);
        }
        let rails = usual(hosts.values().map(Vec::len)).filter(|&rails| rails > 1)?;
        // Whose ports are all there tells which switch takes which port.
        let mut takes: BTreeMap<Vertex, Vec<usize>> = BTreeMap::new();
        for ports in hosts.values().filter(|ports| ports.len() == rails) {
            for (port, &node) in ports.iter().enumerate() {
                takes.entry(self.fabric.attachment.home[node as usize]).or_default().push(port);
            }
        }
        let rail: BTreeMap<Vertex, usize> =
            takes.iter().filter_map(|(&switch, ports)| Some((switch, usual(ports.iter().copied())?))).collect();
        let strange = takes.iter().map(|(switch, ports)| ports.iter().filter(|port| **port != rail[switch]).count());
        let all: usize = takes.values().map(Vec::len).sum();
        if strange.sum::<usize>() as f64 > MISSING * all as f64 || rail.values().collect::<BTreeSet<_>>().len() != rails
        {
            return None;
        }
        let mut missing = Vec::new();
        for (host, ports) in hosts {
            if ports.len() < rails {
                missing.push(format!("{host}: {} of {rails} rails", ports.len()));
                continue;
            }
            for (port, &node) in ports.iter().enumerate().take(rails) {
                let own = rail.get(&self.fabric.attachment.home[node as usize]);
                if let Some(own) = own.filter(|own| **own != port) {
                    missing.push(format!("{}: on rail {} in place of {}", self.name(node), own + 1, port + 1));
                }
            }
        }
        Some((rails, missing))
    }
}

/// Sets that grow together.
struct Sets(Vec<usize>);

impl Sets {
    fn new(count: usize) -> Sets {
        Sets((0..count).collect())
    }

    fn root(&mut self, mut one: usize) -> usize {
        while self.0[one] != one {
            self.0[one] = self.0[self.0[one]];
            one = self.0[one];
        }
        one
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}
