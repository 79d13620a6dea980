//! Forwarding tables made anew: by destination, balanced, and free of deadlock on one virtual lane.
//!
//! Switches have a total order, and a packet climbs before it descends (up*/down*), so that no circle of channels can
//! wait for each other. Tables by destination keep that for every sender. A switch from which only descents lead to the
//! destination descends; every other climbs towards such a one. Among the shortest of these paths a destination takes
//! the least loaded so far. Further rounds move each destination again, and the best round is kept.
//!
//! All switches then reach a destination by the same path where they can, so that rounds of an exchange do not meet.
//! Where that fills the fullest cable more, each switch sees the load of those before it to the same destination.
//!
//! The order is that of the levels above the hosts where every cable joins two levels (a tree). Otherwise, orders by a
//! breadth-first search from each of some switches compete too. The order that loses no pair and loads its fullest
//! cable least is kept.

use crate::build::Site;
use crate::cabling::{DeviceKind, End};
use crate::tables::{Table, Tables};
use hotlink_fabric::maths;
use hotlink_fabric::network::{Channel, Vertex};
use hotlink_fabric::topology::Shape;
use std::collections::{HashMap, VecDeque};

/// Tables that were made.
#[derive(Debug)]
pub struct Proposal {
    /// The tables, for every LID of the network.
    pub tables: Tables,
    /// The order of the switches.
    pub order: String,
    /// Pairs of hosts that no climb and descent joins.
    pub unreachable: u64,
}

/// Channels that may be looked at: some ten seconds.
const STEPS: u64 = 3 << 30;

/// Most rounds.
const ROUNDS: u64 = 8;

/// Roots that are tried where cables do not join levels.
const ROOTS: usize = 4;

/// Balanced tables for a site, each of whose devices has a LID.
pub fn propose(site: &Site) -> Proposal {
    let graph = Graph::new(site);
    let level = graph.levels();
    let is_tree = graph.edges.iter().all(|edge| level[edge.from as usize] != level[edge.to as usize]);
    let top = level.iter().copied().max().unwrap_or(0);
    let mut orders = vec![("levels above the hosts".to_owned(), level.iter().map(|&level| top - level).collect())];
    if !is_tree {
        orders.extend(graph.roots().into_iter().take(ROOTS).map(|root| {
            let name = format!("distance from {}", site.names()[(graph.first + root) as usize]);
            (name, graph.distances(root))
        }));
    }
    let each = STEPS / (2 * orders.len() as u64);
    let best = [false, true]
        .into_iter()
        .flat_map(|one_by_one| orders.iter().map(move |order| (order, one_by_one)))
        .map(|((name, depth), one_by_one)| (name.clone(), Router::new(&graph, depth).balance(each, one_by_one)))
        .reduce(|best, next| {
            let (a, b) = (&best.1, &next.1);
            let is_better = b.lost < a.lost || (b.lost == a.lost && b.fullest < a.fullest * (1.0 - 1e-9));
            if is_better { next } else { best }
        });
    let Some((order, found)) = best else { unreachable!("there is always one order") };
    let tables = Writer { site, graph: &graph, found: &found }.tables();
    Proposal { tables, order, unreachable: found.lost }
}

/// A channel between switches; switches count from 0.
#[derive(Clone, Copy)]
struct Edge {
    from: u32,
    to: u32,
    channel: Channel,
    /// Time of a pair's unit: the inverse of its rate.
    inverse: f64,
}

/// The switches and the channels between them.
struct Graph {
    first: u32,
    edges: Vec<Edge>,
    /// Edges that leave switch s are `edges[out[s]..out[s + 1]]`.
    out: Vec<u32>,
    /// Edges that enter switch s are `entering[start[s]..start[s + 1]]`.
    entering: Vec<u32>,
    start: Vec<u32>,
    /// Hosts of each switch.
    hosts: Vec<u32>,
    /// Switch of each host.
    home: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Graph {
    fn new(site: &Site) -> Graph {
        let network = &site.network;
        let first = network.nodes;
        let switches = network.vertices() - first as usize;
        let (mut edges, mut out) = (Vec::new(), vec![0u32]);
        for v in (first..network.vertices() as u32).map(Vertex) {
            for channel in network.out(v).filter(|&c| !network.is_node(network.to(c))) {
                // Only the ratio counts; where no file states a rate, all are alike.
                let inverse = site.rate(channel).map_or(1.0, |rate| 1.0 / rate.0 as f64);
                edges.push(Edge { from: v.0 - first, to: network.to(channel).0 - first, channel, inverse });
            }
            out.push(edges.len() as u32);
        }
        let mut start = vec![0u32; switches + 1];
        edges.iter().for_each(|edge| start[edge.to as usize + 1] += 1);
        (0..switches).for_each(|s| start[s + 1] += start[s]);
        let (mut next, mut entering) = (start.clone(), vec![0; edges.len()]);
        for (e, edge) in edges.iter().enumerate() {
            entering[next[edge.to as usize] as usize] = e as u32;
            next[edge.to as usize] += 1;
        }
        let home: Vec<u32> =
            network.node_iter().map(|node| network.to(network.port(node.vertex(), 0)).0 - first).collect();
        let mut hosts = vec![0; switches];
        home.iter().for_each(|&home| hosts[home as usize] += 1);
        Graph { first, edges, out, entering, start, hosts, home }
    }

    fn switches(&self) -> u32 {
        self.hosts.len() as u32
    }

    fn leaving(&self, switch: u32) -> std::ops::Range<u32> {
        self.out[switch as usize]..self.out[switch as usize + 1]
    }

    fn entering(&self, switch: u32) -> &[u32] {
        &self.entering[self.start[switch as usize] as usize..self.start[switch as usize + 1] as usize]
    }

    /// 1 with hosts, 2 a cable further, and so on; 0 where no cable leads.
    fn levels(&self) -> Vec<u32> {
        let homes = (0..self.switches()).filter(|&s| self.hosts[s as usize] > 0);
        self.search(homes).into_iter().map(|distance| distance.map_or(0, |distance| distance + 1)).collect()
    }

    /// Distance from a switch; what it does not reach lies below all else.
    fn distances(&self, root: u32) -> Vec<u32> {
        self.search(std::iter::once(root)).into_iter().map(|distance| distance.unwrap_or(self.switches())).collect()
    }

    fn search(&self, from: impl Iterator<Item = u32>) -> Vec<Option<u32>> {
        let mut distance = vec![None; self.hosts.len()];
        let mut queue: VecDeque<u32> = from.collect();
        queue.iter().for_each(|&s| distance[s as usize] = Some(0));
        while let Some(s) = queue.pop_front() {
            for e in self.leaving(s) {
                let to = self.edges[e as usize].to;
                if distance[to as usize].is_none() {
                    distance[to as usize] = distance[s as usize].map(|d| d + 1);
                    queue.push_back(to);
                }
            }
        }
        distance
    }

    /// Switches in the middle first: most cables, then the least distance to the farthest.
    fn roots(&self) -> Vec<u32> {
        let mut roots: Vec<u32> = (0..self.switches()).collect();
        roots.sort_by_key(|&s| (std::cmp::Reverse(self.leaving(s).len()), s));
        roots.truncate(64);
        let far = |&s: &u32| self.distances(s).into_iter().max();
        roots.sort_by_cached_key(far);
        roots
    }
}

/// A balance: of each host the edge by switch.
struct Found {
    /// Edge of every switch for host 0, then for host 1, and so on.
    next: Vec<u32>,
    /// The same for each switch as a destination.
    to_switches: Vec<u32>,
    /// Pairs without a way.
    lost: u64,
    /// Time that the fullest edge takes for a unit of every pair.
    fullest: f64,
}

/// Climbs and descents in one order of the switches.
struct Router<'a> {
    graph: &'a Graph,
    /// Whether an edge climbs.
    up: Vec<bool>,
    /// Switches from the top.
    top_down: Vec<u32>,
    load: Vec<f64>,
    /// The price of an edge at its load.
    price: Vec<f64>,
    hops: Vec<u32>,
    cost: Vec<f64>,
    next: Vec<u32>,
    queue: Vec<u32>,
}

impl<'a> Router<'a> {
    fn new(graph: &'a Graph, depth: &[u32]) -> Router<'a> {
        let key = |s: u32| (depth[s as usize], s);
        let mut top_down: Vec<u32> = (0..graph.switches()).collect();
        top_down.sort_by_key(|&s| key(s));
        let up = graph.edges.iter().map(|edge| key(edge.to) < key(edge.from)).collect();
        let switches = graph.hosts.len();
        Router {
            graph,
            up,
            top_down,
            load: vec![0.0; graph.edges.len()],
            price: graph.edges.iter().map(|edge| edge.inverse).collect(),
            hops: vec![NONE; switches],
            cost: vec![0.0; switches],
            next: vec![NONE; switches],
            queue: Vec::with_capacity(switches),
        }
    }

    /// Fills `next` with the paths to a switch. With `pricing` each switch's hosts send there at once, so that later
    /// choices see the load of a path.
    fn tree(&mut self, home: u32, pricing: Option<&Pricing>) {
        self.descend(home);
        let top_down = std::mem::take(&mut self.top_down);
        for &s in &top_down {
            // Those that descend stay as they are, whichever switches send to them.
            if self.hops[s as usize] == NONE {
                self.climb(s, home, pricing.is_some());
            }
            if let Some(pricing) = pricing {
                self.send(s, home, pricing);
            }
        }
        self.top_down = top_down;
    }

    /// The paths of all switches from which only descents lead to `home`.
    fn descend(&mut self, home: u32) {
        let Router { graph, up, hops, cost, next, queue, price, .. } = self;
        hops.fill(NONE);
        next.fill(NONE);
        queue.clear();
        queue.push(home);
        (hops[home as usize], cost[home as usize]) = (0, 0.0);
        let mut done = 0;
        while let Some(&at) = queue.get(done) {
            done += 1;
            for &e in graph.entering(at).iter().filter(|&&e| !up[e as usize]) {
                let from = graph.edges[e as usize].from as usize;
                let (h, c) = (hops[at as usize] + 1, cost[at as usize] + price[e as usize]);
                if hops[from] == NONE {
                    queue.push(from as u32);
                } else if hops[from] != h || c >= cost[from] {
                    continue;
                }
                (hops[from], cost[from], next[from]) = (h, c, e);
            }
        }
    }

    /// The path of a switch that climbs: the cheapest of the shortest. `anew`: prices have changed since paths were
    /// chosen.
    fn climb(&mut self, s: u32, home: u32, anew: bool) {
        let mut best = (NONE, f64::INFINITY, NONE);
        for e in self.graph.leaving(s).filter(|&e| self.up[e as usize]) {
            let to = self.graph.edges[e as usize].to;
            let hops = self.hops[to as usize];
            if hops == NONE || hops >= best.0 {
                continue;
            }
            let beyond = if anew { self.cost_of_way(to, home) } else { self.cost[to as usize] };
            let way = (hops + 1, beyond + self.price[e as usize], e);
            if (way.0, way.1) < (best.0, best.1) {
                best = way;
            }
        }
        (self.hops[s as usize], self.cost[s as usize], self.next[s as usize]) = best;
    }

    fn cost_of_way(&self, from: u32, home: u32) -> f64 {
        let (mut at, mut cost) = (from, 0.0);
        while at != home {
            let e = self.next[at as usize] as usize;
            cost += self.price[e];
            at = self.graph.edges[e].to;
        }
        cost
    }

    /// Puts the messages of a switch's hosts to one of `home` on its path, if there is one.
    fn send(&mut self, from: u32, home: u32, pricing: &Pricing) {
        let (mut at, count) = (from, f64::from(self.graph.hosts[from as usize]));
        while at != home && count > 0.0 && self.next[at as usize] != NONE {
            let e = self.next[at as usize] as usize;
            self.load[e] += count;
            self.price[e] = pricing.of(self.load[e], &self.graph.edges[e]);
            at = self.graph.edges[e].to;
        }
    }

    /// Takes away what every host sends to one, whose ways are `row`.
    fn take_back(&mut self, row: &[u32], home: u32, pricing: &Pricing) {
        for (from, &count) in self.graph.hosts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let mut at = from as u32;
            while at != home && row[at as usize] != NONE {
                let e = row[at as usize] as usize;
                self.load[e] -= f64::from(count);
                self.price[e] = pricing.of(self.load[e], &self.graph.edges[e]);
                at = self.graph.edges[e].to;
            }
        }
    }

    fn fullest(&self) -> f64 {
        let full = self.load.iter().zip(&self.graph.edges).map(|(load, edge)| load * edge.inverse);
        full.fold(0.0, f64::max)
    }

    /// Pairs of hosts at switches without a way to `home`, for one host there.
    fn lost(&self, home: u32) -> u64 {
        let apart = |&(s, _): &(usize, &u32)| s as u32 != home && self.next[s] == NONE;
        self.graph.hosts.iter().enumerate().filter(apart).map(|(_, &hosts)| u64::from(hosts)).sum()
    }

    /// Routes every host in turn, then again while steps are left; `one_by_one`: the switches for it one after the other.
    fn balance(mut self, steps: u64, one_by_one: bool) -> Found {
        let (graph, switches) = (self.graph, self.graph.hosts.len());
        let a_round = (graph.home.len() * graph.edges.len()).max(1) as u64;
        let rounds = (steps / a_round).clamp(1, ROUNDS);
        let mut next = vec![NONE; graph.home.len() * switches];
        let mut best: Option<Found> = None;
        for round in 0..rounds {
            let mut lost = 0;
            let pricing = Pricing { round, most: self.fullest() };
            for (e, edge) in graph.edges.iter().enumerate() {
                self.price[e] = pricing.of(self.load[e], edge);
            }
            for host in 0..graph.home.len() {
                let home = graph.home[host];
                let row = host * switches..(host + 1) * switches;
                if round > 0 {
                    self.take_back(&next[row.clone()], home, &pricing);
                }
                if one_by_one {
                    self.tree(home, Some(&pricing));
                } else {
                    self.tree(home, None);
                    (0..switches as u32).for_each(|s| self.send(s, home, &pricing));
                }
                lost += self.lost(home);
                next[row].copy_from_slice(&self.next);
            }
            let fullest = self.fullest();
            if best.as_ref().is_none_or(|best| fullest < best.fullest * (1.0 - 1e-9)) {
                best = Some(Found { next: next.clone(), to_switches: Vec::new(), lost, fullest });
            }
        }
        let mut found = best.unwrap_or(Found { next, to_switches: Vec::new(), lost: 0, fullest: 0.0 });
        self.price = graph.edges.iter().map(|edge| edge.inverse).collect();
        for home in 0..graph.switches() {
            self.tree(home, None);
            found.to_switches.extend_from_slice(&self.next);
        }
        found
    }
}

/// The price of an edge at a load.
struct Pricing {
    round: u64,
    /// Time of the fullest edge when the round began.
    most: f64,
}

impl Pricing {
    /// The first round counts what lies on a way; later ones flee the fullest edges, more sharply each time.
    fn of(&self, load: f64, edge: &Edge) -> f64 {
        let (full, sharp) = ((load + 1.0) * edge.inverse, 4.0 * self.round as f64);
        if self.round == 0 { full } else { maths::exp(sharp * (full / self.most - 1.0)) * edge.inverse }
    }
}

/// From edges to ports and LIDs.
struct Writer<'a> {
    site: &'a Site,
    graph: &'a Graph,
    found: &'a Found,
}

impl Writer<'_> {
    fn tables(&self) -> Tables {
        let (site, graph) = (self.site, self.graph);
        let nodes = site.nodes() as usize;
        let device = |vertex: usize| &site.cabling.devices[site.devices[vertex] as usize];
        let mut tables = Tables::default();
        tables
            .switches
            .extend((0..graph.hosts.len()).map(|s| Table { guid: device(nodes + s).guid, ports: Vec::new() }));
        let switches = graph.hosts.len();
        let host_of: HashMap<u32, usize> = site.devices[..nodes].iter().copied().zip(0..).collect();
        for ((switch, port), place) in self.behind_switches() {
            let own = &site.cabling.devices[place as usize];
            let row = match host_of.get(&place) {
                Some(&host) => &self.found.next[host * switches..][..switches],
                None => &self.found.to_switches[switch as usize * switches..][..switches],
            };
            // All LIDs of a port lead along the same path.
            for lid in (0..1u16 << own.lmc).map_while(|more| own.lid.checked_add(more)) {
                self.enter(&mut tables, if own.lid == 0 { 0 } else { lid }, row, (switch, port));
            }
        }
        for s in 0..switches {
            let row = &self.found.to_switches[s * switches..][..switches];
            self.enter(&mut tables, device(nodes + s).lid, row, (s as u32, 0));
        }
        tables
    }

    /// Adapters and routers behind each switch and port, aggregation nodes among them.
    fn behind_switches(&self) -> Vec<((u32, u8), u32)> {
        let site = self.site;
        let of: HashMap<u32, u32> = site.devices[site.nodes() as usize..].iter().copied().zip(0..).collect();
        let ends = |ends: [End; 2]| {
            let [a, b] = ends;
            let is_switch = |end: End| site.cabling.devices[end.device as usize].kind == DeviceKind::Switch;
            match (is_switch(a), is_switch(b)) {
                (true, false) => Some(((*of.get(&a.device)?, a.port), b.device)),
                (false, true) => Some(((*of.get(&b.device)?, b.port), a.device)),
                _ => None,
            }
        };
        site.cabling.cables.iter().filter_map(|cable| ends(cable.ends)).collect()
    }

    /// The entries of one LID.
    fn enter(&self, tables: &mut Tables, lid: u16, row: &[u32], (home, port): (u32, u8)) {
        let Shape::Cabled(cabled) = &self.site.shape else { return };
        if lid == 0 {
            return;
        }
        for (s, table) in tables.switches.iter_mut().enumerate() {
            let port = match row[s] {
                _ if s as u32 == home => port,
                NONE => continue,
                e => cabled.ports[self.graph.edges[e as usize].channel.0 as usize][0],
            };
            if table.ports.len() <= usize::from(lid) {
                table.ports.resize(usize::from(lid) + 1, Table::NONE);
            }
            table.ports[usize::from(lid)] = port;
        }
    }
}
