//! The pattern that a site's cables follow, and what is missing from it.
//!
//! Inferred from the graph alone, so that names of devices do not matter. A *tree* has cables between neighbouring
//! levels only. In a *torus* (or mesh) opposite sides of a square of four cables run along one dimension, adjacent
//! sides along two. The cables of one dimension form rings, all of one length but for missing cables.
//!
//! In a *dragonfly* the switches of a group share neighbours, those of two groups do not. Hosts with several ports have
//! *rails* where each leaf switch takes the same port of every host. A few cables or hosts in the wrong place hide no
//! tree and no torus: they are named.

use crate::build::natural;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Network, Resource, Vertex};
use std::collections::{BTreeMap, BTreeSet};

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Its name, with its extents.
    pub name: String,
    /// The parts that it lacks, in words.
    pub missing: Vec<String>,
    /// Cables and hosts that do not fit it, in words.
    pub odd: Vec<String>,
    /// Level of each vertex: 1 with hosts, 2 a cable further, and so on; 0 of hosts.
    pub level: Vec<u32>,
}

/// Share of a pattern's cables that may be missing, and share that may not fit it. It decides what is named, not a number: beyond it a pattern of another
/// name is as good a reading (docs/your-network.md, "What is assumed").
const MISSING: f64 = 0.1;

impl Pattern {
    /// The pattern of a fabric; `names` are those of its vertices.
    pub fn of(fabric: &Fabric, names: &[String]) -> Pattern {
        let graph = Graph::new(fabric, names);
        let mut level = levels(&fabric.network, &mut graph.hosts.keys().copied());
        let is_direct = graph.switches().all(|v| level[v.0 as usize] == 1);
        let whole = |(name, missing)| (name, missing, Vec::new());
        let direct = || graph.torus().or_else(|| graph.full_mesh()).or_else(|| graph.dragonfly()).map(whole);
        let found = if graph.between.is_empty() {
            Some(whole(("single switch".to_owned(), Vec::new())))
        } else {
            is_direct.then(direct).flatten().or_else(|| {
                let without = graph.without_strays(&level);
                let tree = graph.tree(&without)?;
                level = without;
                Some(tree)
            })
        };
        let found = found.or_else(|| is_direct.then(|| graph.torus_but_for_some()).flatten());
        let (name, mut missing, odd) = found.unwrap_or_else(|| match is_direct {
            true => whole(("direct (every switch has hosts)".to_owned(), graph.fewer(|_| 1, "to switches", |_| true))),
            false => whole(("irregular".to_owned(), Vec::new())),
        });
        let rails = graph.rails();
        missing.extend(rails.iter().flat_map(|rails| rails.1.clone()));
        let name = rails.map_or(name.clone(), |(rails, _)| format!("{name}, {rails} rails"));
        Pattern { name, missing, odd, level }
    }
}

/// A pattern's name, the parts that it lacks, the parts that do not fit it.
type Reading = (String, Vec<String>, Vec<String>);

/// Level of each vertex, of which the leaves have the first.
fn levels(network: &Network, leaves: &mut dyn Iterator<Item = Vertex>) -> Vec<u32> {
    let mut level = vec![0; network.vertices()];
    let mut here: Vec<Vertex> = leaves.collect();
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

/// The most frequent value. Of equally frequent values it is the middle one, and the larger of two. One cable in the
/// wrong place gives one switch more and one less than the right number of cables.
fn usual<T: Ord + Copy>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    let most = counts.values().copied().max()?;
    let values: Vec<T> = counts.into_iter().filter(|(_, count)| *count == most).map(|(value, _)| value).collect();
    values.get(values.len() / 2).copied()
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
    /// Hosts of each switch that has some.
    hosts: BTreeMap<Vertex, usize>,
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
        let mut hosts: BTreeMap<Vertex, usize> = BTreeMap::new();
        let homes = fabric.attachment.home.iter().filter(|&&home| !network.is_node(home));
        homes.for_each(|&home| *hosts.entry(home).or_default() += 1);
        Graph { fabric, network, names, between, near, pairs, hosts }
    }

    fn switches(&self) -> impl Iterator<Item = Vertex> + use<> {
        (self.network.nodes..self.network.vertices() as u32).map(Vertex)
    }

    fn name(&self, vertex: u32) -> &str {
        &self.names[vertex as usize]
    }

    /// The cables between switches that do not join neighbouring levels.
    fn astray(&self, level: &[u32]) -> impl Iterator<Item = Channel> {
        let at = |v: Vertex| level[v.0 as usize];
        self.between.iter().copied().filter(move |&c| at(self.network.from(c)).abs_diff(at(self.network.to(c))) != 1)
    }

    /// Levels that let more cables join neighbouring ones. A switch with few hosts, such as a spine that took one,
    /// counts as one without hosts where that helps.
    fn without_strays(&self, level: &[u32]) -> Vec<u32> {
        let (mut best, mut leaves) = (level.to_vec(), self.hosts.clone());
        let mut odd = self.astray(level).count();
        let usual = usual(self.hosts.values().copied()).unwrap_or(0);
        let mut few: Vec<(usize, Vertex)> = self.hosts.iter().map(|(&v, &hosts)| (hosts, v)).collect();
        few.retain(|(hosts, _)| 2 * hosts < usual);
        few.sort_unstable();
        for (hosts, switch) in few {
            if odd == 0 {
                break;
            }
            leaves.remove(&switch);
            let next = levels(self.network, &mut leaves.keys().copied());
            match self.astray(&next).count() {
                left if left < odd => (best, odd) = (next, left),
                _ => _ = leaves.insert(switch, hosts),
            }
        }
        best
    }

    /// Cables between neighbouring levels, but for a few.
    fn tree(&self, level: &[u32]) -> Option<Reading> {
        let astray: Vec<Channel> = self.astray(level).collect();
        if astray.len() as f64 > MISSING * self.between.len() as f64 {
            return None;
        }
        let at = |v: Vertex| level[v.0 as usize];
        let ends = |c: Channel| [at(self.network.from(c)), at(self.network.to(c))];
        let mut missing = self.fewer(at, "up", |c| ends(c)[1] > ends(c)[0]);
        missing.extend(self.fewer(at, "down", |c| ends(c)[1] < ends(c)[0]));
        let mut odd: Vec<String> = Vec::new();
        for c in astray {
            let name = self.cable(c);
            let [from, to] = ends(c);
            let why = if from == to { format!("both of level {from}") } else { format!("of levels {from} and {to}") };
            let told = format!("{name} ({why})");
            if !odd.contains(&told) {
                odd.push(told);
            }
        }
        odd.extend(self.thick(&at));
        for node in 0..self.network.nodes {
            let home = self.fabric.attachment.home[node as usize];
            if !self.network.is_node(home) && at(home) > 1 {
                odd.push(format!("{}: on {}, a switch of level {}", self.name(node), self.name(home.0), at(home)));
            }
        }
        Some(("tree".to_owned(), missing, odd))
    }

    /// A cable by its ends, alike in both directions.
    fn cable(&self, channel: Channel) -> String {
        let name = self.fabric.resource_name(Resource::Channel(channel));
        let mut ends: Vec<&str> = name.split(" -> ").collect();
        ends.sort_by(|a, b| natural(a, b));
        ends.join(" - ")
    }

    /// Pairs of switches with more cables than most pairs of their levels, where the lower one has not as many to all others.
    /// Many such pairs are the build of a network.
    fn thick(&self, at: &dyn Fn(Vertex) -> u32) -> Vec<String> {
        let up = |v: u32| self.near[&v].iter().filter(move |(w, _)| at(Vertex(**w)) == at(Vertex(v)) + 1);
        let mut of: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        self.switches().for_each(|v| of.entry(at(v)).or_default().extend(up(v.0).map(|(_, count)| *count)));
        let pairs: usize = of.values().map(Vec::len).sum();
        let most: BTreeMap<u32, usize> =
            of.into_iter().filter_map(|(level, counts)| Some((level, usual(counts.into_iter())?))).collect();
        let mut found = Vec::new();
        for v in self.switches() {
            let counts: BTreeSet<usize> = up(v.0).map(|(_, count)| *count).collect();
            let Some(&most) = most.get(&at(v)).filter(|_| counts.len() > 1) else { continue };
            let more = up(v.0).filter(|(_, count)| **count > most);
            found.extend(
                more.map(|(&w, count)| {
                    format!("{} - {}: {count} cables, most have {most}", self.name(v.0), self.name(w))
                }),
            );
        }
        if found.len() as f64 > MISSING * pairs as f64 { Vec::new() } else { found }
    }

    /// The same switches without the cables between some pairs.
    fn without(&self, pairs: &[Pair]) -> Graph<'a> {
        let is_left = |a: u32, b: u32| !pairs.contains(&(a.min(b), a.max(b)));
        let mut near = self.near.clone();
        near.iter_mut().for_each(|(&a, others)| others.retain(|&b, _| is_left(a, b)));
        let between = self.between.iter().copied();
        let between = between.filter(|&c| is_left(self.network.from(c).0, self.network.to(c).0)).collect();
        let all = self.pairs.iter().copied().filter(|&(a, b)| is_left(a, b)).collect();
        let (fabric, network, names, hosts) = (self.fabric, self.network, self.names, self.hosts.clone());
        Graph { fabric, network, names, between, near, pairs: all, hosts }
    }

    /// A torus once one cable is left out that does not fit, or two that are crossed: they share fewer squares than most.
    fn torus_but_for_some(&self) -> Option<Reading> {
        let squares = |&(u, v): &Pair| {
            let beside = self.near[&v].keys().filter(move |&&w| w != u);
            let closes = |w: u32| self.near[&u].keys().filter(|&&x| x != v && x != w && self.is_near(x, w)).count();
            beside.map(|&w| closes(w)).sum::<usize>()
        };
        let counts: Vec<(usize, Pair)> = self.pairs.iter().map(|pair| (squares(pair), *pair)).collect();
        // A cable of a torus lies in two squares with each other dimension, and in its own ring where that is of four.
        let most = self.near.values().map(BTreeMap::len).max()?;
        let usual = usual(counts.iter().map(|(count, _)| *count)).filter(|&usual| usual > 0 && usual < most)?;
        let few: Vec<(usize, Pair)> = counts.into_iter().filter(|(count, _)| *count < usual).collect();
        // Two cables in the wrong place break their own squares, with three other cables each.
        if few.len() > 2 + 2 * 3 * usual {
            return None;
        }
        let apart = |(a, b): Pair, (c, d): Pair| a != c && a != d && b != c && b != d;
        let ones = few.iter().map(|&(count, pair)| (1, count, vec![pair]));
        let twos = few.iter().enumerate().flat_map(|(at, &(count, one))| {
            let others = few[..at].iter().filter(move |(_, other)| apart(one, *other));
            others.map(move |&(more, other)| (2, count + more, vec![other, one]))
        });
        let mut tries: Vec<(usize, usize, Vec<Pair>)> = ones.chain(twos).collect();
        tries.sort_unstable();
        tries.into_iter().find_map(|(_, _, pairs)| {
            let (name, missing) = self.without(&pairs).torus()?;
            let is_odd = |c: &&Channel| {
                let (a, b) = (self.network.from(**c).0, self.network.to(**c).0);
                a < b && pairs.contains(&(a, b))
            };
            let odd = self.between.iter().filter(is_odd).map(|&c| format!("{} (along no line)", self.cable(c)));
            Some((name, missing, odd.collect()))
        })
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
        // A host whose ports are all there shows which switch takes which port.
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
