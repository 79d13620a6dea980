//! A job on some of the hosts: its share under the tables, and better places for it.

use crate::routes::Routes;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Node};
use hotlink_fabric::rng::SplitMix64;

/// A fabric with tables on which jobs are placed.
pub struct Job<'a> {
    routes: Routes<'a>,
    /// Every host, neighbours near each other.
    near: Vec<Node>,
}

/// Hosts of a job in order of its ranks, and what they get.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// The hosts.
    pub hosts: Vec<Node>,
    /// Ordered pairs without a route.
    pub lost: u64,
    /// Bytes per second that each host sends when all send to all.
    pub all_to_all: f64,
    /// Bytes per second of each host when each sends to the next rank.
    pub ring: f64,
}

/// Channels that a search may visit: some seconds.
const STEPS: u64 = 1 << 28;

impl<'a> Job<'a> {
    /// `None`: the fabric has no forwarding tables, or a host without a switch.
    pub fn new(fabric: &'a Fabric) -> Option<Job<'a>> {
        let mut job = Job { routes: Routes::new(fabric)?, near: Vec::new() };
        let all: Vec<Node> = fabric.network.node_iter().collect();
        job.near = job.by_distance(&all);
        Some(job)
    }

    /// The share of some hosts.
    pub fn placed(&self, hosts: Vec<Node>) -> Placement {
        let (lost, all_to_all) = self.all_to_all(&hosts);
        let ring = self.ring(&hosts);
        Placement { hosts, lost, all_to_all, ring }
    }

    /// Some hosts drawn at random.
    pub fn random(&self, hosts: usize, seed: u64) -> Placement {
        let mut all: Vec<Node> = self.routes.network.node_iter().collect();
        SplitMix64::new(seed).shuffle(&mut all);
        all.truncate(hosts);
        self.placed(all)
    }

    /// Bytes per second of each flow when all of `flows` run at once; flows without a route do not count.
    pub fn flows(&self, flows: impl Iterator<Item = (Node, Node)>) -> f64 {
        let routes = &self.routes;
        let mut load = vec![0.0; routes.network.channels()];
        let mut ends = vec![[0.0f64; 2]; routes.network.nodes as usize];
        for (from, to) in flows.filter(|(from, to)| from != to) {
            ends[from.0 as usize][0] += 1.0;
            ends[to.0 as usize][1] += 1.0;
            self.add(from, to, 1.0, &mut load);
        }
        let full = load.iter().zip(&routes.inverse).map(|(load, inverse)| load * inverse).fold(0.0, f64::max);
        let links = routes.network.node_iter().zip(&ends);
        let links = links.map(|(node, [out, back])| routes.link(node) * out.max(*back)).fold(0.0, f64::max);
        1.0 / full.max(links)
    }

    /// Adds a flow where it has a route; whether it has.
    fn add(&self, from: Node, to: Node, amount: f64, load: &mut [f64]) -> bool {
        let routes = &self.routes;
        let mut path = [Channel(0); 16];
        let (mut long, mut length) = (Vec::new(), 0);
        let arrives = routes.walk(routes.home[from.0 as usize], routes.address(from, to), |channel| {
            match path.get_mut(length) {
                Some(place) => *place = channel,
                None => long.push(channel),
            }
            length += 1;
        });
        if arrives {
            path[..length.min(16)].iter().chain(&long).for_each(|channel| load[channel.0 as usize] += amount);
        }
        arrives
    }

    fn ring(&self, hosts: &[Node]) -> f64 {
        self.flows((0..hosts.len()).map(|rank| (hosts[rank], hosts[(rank + 1) % hosts.len()])))
    }

    /// Pairs without a route, and what each host sends.
    fn all_to_all(&self, hosts: &[Node]) -> (u64, f64) {
        let routes = &self.routes;
        let mut load = vec![0.0; routes.network.channels()];
        // One of the hosts of each switch that use the same address of others represents all of them.
        let mut at: Vec<((u32, u32), Node, u32)> = Vec::new();
        let mut sorted: Vec<Node> = hosts.to_vec();
        let class = |node: Node| (routes.home[node.0 as usize], routes.tables.address_for(node));
        sorted.sort_by_key(|&node| (class(node), node));
        for &node in &sorted {
            match at.last_mut() {
                Some(last) if last.0 == class(node) => last.2 += 1,
                _ => at.push((class(node), node, 1)),
            }
        }
        let mut lost = 0;
        for &to in hosts {
            for &(own, node, count) in &at {
                let count = count - u32::from(own == class(to));
                if count > 0 && !self.add(node, to, f64::from(count), &mut load) {
                    lost += u64::from(count);
                }
            }
        }
        let full = load.iter().zip(&routes.inverse).map(|(load, inverse)| load * inverse).fold(0.0, f64::max);
        let others = hosts.len().saturating_sub(1) as f64;
        let link = hosts.iter().map(|&node| routes.link(node)).fold(0.0, f64::max);
        (lost, others / full.max(link * others))
    }

    /// Hosts of one switch together, each switch followed by the nearest one that is left.
    fn by_distance(&self, hosts: &[Node]) -> Vec<Node> {
        let routes = &self.routes;
        let mut groups: Vec<(u32, Vec<Node>)> = Vec::new();
        let mut sorted = hosts.to_vec();
        sorted.sort_unstable();
        for node in sorted {
            let home = routes.home[node.0 as usize];
            match groups.iter_mut().rev().find(|group| group.0 == home) {
                Some(group) => group.1.push(node),
                None => groups.push((home, vec![node])),
            }
        }
        let mut order = Vec::with_capacity(hosts.len());
        let mut next = 0;
        while !groups.is_empty() {
            let (home, members) = groups.remove(next);
            let from = members[0];
            order.extend(members);
            let hops = |group: &(u32, Vec<Node>)| {
                let mut hops = 0;
                match routes.walk(home, routes.address(from, group.1[0]), |_| hops += 1) {
                    true => hops,
                    false => u32::MAX,
                }
            };
            next = (0..groups.len()).min_by_key(|&place| (hops(&groups[place]), place)).unwrap_or(0);
        }
        order
    }

    /// The same hosts in an order in which rings get more, as far as one is found.
    pub fn ring_order(&self, hosts: &[Node], seed: u64) -> Placement {
        let given = self.placed(hosts.to_vec());
        let near = self.by_distance(hosts);
        let mut best = match self.ring(&near) {
            ring if ring > given.ring => Placement { ring, hosts: near, ..given },
            _ => given,
        };
        let most = hosts.iter().map(|&node| self.routes.link(node)).fold(0.0, f64::max).recip();
        let mut random = SplitMix64::new(seed);
        // A stretch of ranks turned round changes two of the ring's hops.
        for _ in 0..self.tries(hosts.len(), 1) {
            if best.ring >= most * (1.0 - 1e-9) || hosts.len() < 4 {
                break;
            }
            let (a, b) = (random.below(hosts.len() as u64) as usize, random.below(hosts.len() as u64) as usize);
            let mut order = best.hosts.clone();
            order[a.min(b)..=a.max(b)].reverse();
            let ring = self.ring(&order);
            if ring > best.ring {
                best = Placement { hosts: order, ring, ..best };
            }
        }
        best
    }

    /// The best placement of `count` hosts that is found: neighbours, hosts spread over more and more switches, and
    /// then exchanges of one host. Every host of the fabric counts as free.
    pub fn best(&self, count: usize, seed: u64) -> Placement {
        let all = self.near.len();
        let mut found: Vec<Vec<Node>> = Vec::new();
        let windows = (all - count + 1).min(32);
        for window in 0..windows {
            let first = window * (all - count) / windows.max(1);
            found.push(self.near[first..first + count].to_vec());
        }
        let mut switches: Vec<Vec<Node>> = Vec::new();
        for &node in &self.near {
            let is_same =
                |group: &Vec<Node>| self.routes.home[group[0].0 as usize] == self.routes.home[node.0 as usize];
            match switches.last_mut() {
                Some(group) if is_same(group) => group.push(node),
                _ => switches.push(vec![node]),
            }
        }
        let mut over = 1;
        while over < 2 * switches.len() {
            let chosen = &switches[..over.min(switches.len())];
            let most = chosen.iter().map(Vec::len).max().unwrap_or(0);
            let mut spread: Vec<Node> =
                (0..most).flat_map(|place| chosen.iter().filter_map(move |group| group.get(place).copied())).collect();
            if spread.len() >= count {
                spread.truncate(count);
                found.push(self.by_distance(&spread));
            }
            over *= 2;
        }
        let most = self.tries(count, count);
        found.truncate(most.max(2));
        let better = |a: &Placement, b: &Placement| (b.lost, a.all_to_all, a.ring) > (a.lost, b.all_to_all, b.ring);
        let mut placements = found.into_iter().map(|hosts| self.placed(hosts));
        let first = placements.next().unwrap_or_else(|| self.random(count, seed));
        let mut best = placements.fold(first, |best, next| if better(&next, &best) { next } else { best });
        let mut random = SplitMix64::new(seed);
        let ceiling = self.near.iter().map(|&node| self.routes.link(node)).fold(f64::INFINITY, f64::min).recip();
        for _ in 0..most {
            if best.all_to_all >= ceiling * (1.0 - 1e-9) || count == all {
                break;
            }
            let new = self.near[random.below(all as u64) as usize];
            let place = random.below(count as u64) as usize;
            if best.hosts.contains(&new) {
                continue;
            }
            let mut hosts = best.hosts.clone();
            hosts[place] = new;
            let next = self.placed(hosts);
            if better(&next, &best) {
                best = next;
            }
        }
        let ordered = self.ring_order(&best.hosts, seed);
        if ordered.ring > best.ring { ordered } else { best }
    }

    /// How often `hosts` times `others` ways may be walked.
    fn tries(&self, hosts: usize, others: usize) -> usize {
        let each = (hosts * others) as u64 * 4 + self.routes.network.channels() as u64;
        (STEPS / each.max(1)).min(400) as usize
    }
}
