//! All-to-all on rails of GPU hosts, by the numbers of hosts on each leaf.
//!
//! Within a host there is one path to each other node and to each leaf. Between the leaves, hosts of one leaf send
//! alike. A destination's number chooses the same port at all leaves, and at all spines. Each channel up is therefore a
//! product of numbers of hosts and destinations, and each destination has one path down.
//!
//! Amounts are numbers of pairs, multiplied by the flow of a pair at the end.

use crate::Counts;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Network, Node, Vertex};
use hotlink_fabric::routing::Routing;
use hotlink_fabric::topology::{Rail, RailLevels};
use std::collections::BTreeMap;

/// A fabric of rails, as its file builds it.
pub(crate) struct Rails<'a> {
    fabric: &'a Fabric,
    rail: &'a Rail,
    levels: RailLevels,
    hosts: u32,
    /// First of each kind: memories, scale-up switches, leaves, spines, cores, sending and receiving NICs.
    first: [u32; 7],
    /// Ports up of a leaf, and of a spine.
    ups: [Vec<Vec<Channel>>; 2],
    /// Channels down, by the switches above and below them.
    downs: BTreeMap<(Vertex, Vertex), Vec<Channel>>,
}

/// Rails whose nodes meet outside the hosts.
struct Realm {
    rails: std::ops::Range<u32>,
    /// Messages of a host to a node of another one that leave by each of these rails.
    each: f64,
}

impl<'a> Rails<'a> {
    /// `None`: the fabric is no such one, or a link of it is missing.
    pub(crate) fn of(fabric: &'a Fabric) -> Option<Rails<'a>> {
        let rail = fabric.spec.topology.get::<Rail>()?;
        let Routing::Paths(paths) = &fabric.routing else { return None };
        let (nodes, network) = (fabric.nodes(), &fabric.network);
        let hosts = nodes / rail.gpus_per_host;
        let levels = rail.levels(hosts).ok()?;
        let [leaves, spines, cores] = counts(rail, &levels);
        let switches = if rail.mesh { 0 } else { hosts };
        let mut first = [nodes; 7];
        for (at, many) in [nodes, switches, leaves, spines, cores, nodes].into_iter().enumerate() {
            first[at + 1] = first[at] + many;
        }
        let mut rails = Rails { fabric, rail, levels, hosts, first, ups: Default::default(), downs: BTreeMap::new() };
        let in_host = if rail.mesh { rail.gpus_per_host + 5 } else { 8 };
        let upward = levels.leaf_up * leaves + levels.spine_up * spines;
        let whole =
            first[6] + nodes == network.vertices() as u32 && nodes * in_host + 2 * upward == network.channels() as u32;
        if paths.is_single() || paths.phases() > 1 || !whole || hosts * rail.gpus_per_host != nodes {
            return None;
        }
        rails.ups = [rails.ports(2..3)?, rails.ports(3..4)?];
        for from in (first[3]..first[5]).map(Vertex) {
            for channel in network.out(from).filter(|&channel| network.to(channel) < from) {
                rails.downs.entry((from, network.to(channel))).or_default().push(channel);
            }
        }
        Some(rails)
    }

    /// The ports up of switches of a tier, by switch; `None` unless they lead to the same switches and choose alike.
    fn ports(&self, tier: std::ops::Range<usize>) -> Option<Vec<Vec<Channel>>> {
        let (network, tables) = (&self.fabric.network, self.fabric.tables());
        let above = self.first[tier.end];
        let up = |from: Vertex| {
            let to = move |channel: &Channel| (above..self.first[5]).contains(&network.to(*channel).0);
            network.out(from).filter(to).collect::<Vec<Channel>>()
        };
        let own = self.first[tier.start]..self.first[tier.end];
        let all: Vec<Vec<Channel>> = own.clone().map(|at| up(Vertex(at))).collect();
        let most = if tier.start == 2 { self.levels.leaf_up } else { self.levels.spine_up };
        let is_whole = own.zip(&all).all(|(at, ports)| {
            let [first, many] = self.first_above(tier.start, at - self.first[tier.start]);
            let leads = (0..).zip(ports).all(|(port, &channel)| network.to(channel).0 == above + first + port % many);
            ports.len() as u32 == most && many <= most.max(1) && leads
        });
        let divisors = (self.first[tier.start]..self.first[tier.end]).map(|at| tables.divisor(Vertex(at)));
        let is_one = divisors.collect::<std::collections::BTreeSet<u64>>().len() <= 1;
        (is_whole && is_one).then_some(all)
    }

    /// The first switch above a switch of a tier, and how many there are; numbers count within their tiers.
    fn first_above(&self, tier: usize, at: u32) -> [u32; 2] {
        let RailLevels { leaves, groups, spines, cores, .. } = self.levels;
        match tier {
            2 => [self.unit(at / leaves, at % leaves) * spines, spines.max(1)],
            _ if self.rail.joined => [at % spines * cores, cores.max(1)],
            _ => [(at / (groups * spines) * spines + at % spines) * cores, cores.max(1)],
        }
    }

    /// The set of spines above a leaf: of its group, of its rail, or of all rails.
    fn unit(&self, rail: u32, leaf: u32) -> u32 {
        if self.rail.joined && self.levels.cores == 0 { 0 } else { rail * self.levels.groups + self.group(leaf) }
    }

    fn group(&self, leaf: u32) -> u32 {
        leaf / self.levels.leaves.div_ceil(self.levels.groups)
    }

    /// Hosts on a leaf of each rail.
    fn held(&self, leaf: u32) -> f64 {
        let RailLevels { held, .. } = self.levels;
        f64::from(held.min(self.hosts - leaf * held))
    }

    /// Hosts on the leaves of a group.
    fn held_in(&self, group: u32) -> f64 {
        (0..self.levels.leaves).filter(|&leaf| self.group(leaf) == group).map(|leaf| self.held(leaf)).sum()
    }

    fn realms(&self) -> Vec<Realm> {
        let all = self.rail.gpus_per_host;
        match self.rail.joined {
            true => vec![Realm { rails: 0..all, each: 1.0 }],
            false => (0..all).map(|rail| Realm { rails: rail..rail + 1, each: f64::from(all) }).collect(),
        }
    }

    fn leaf(&self, rail: u32, leaf: u32) -> Vertex {
        Vertex(self.first[2] + rail * self.levels.leaves + leaf)
    }

    fn ports_of(&self, switch: Vertex) -> &[Channel] {
        let tier = usize::from(switch.0 >= self.first[3]);
        &self.ups[tier][(switch.0 - self.first[2 + tier]) as usize]
    }

    fn spine(&self, rail: u32, leaf: u32, port: u32) -> Vertex {
        Vertex(self.first[3] + self.unit(rail, leaf) * self.levels.spines + port % self.levels.spines)
    }

    /// Counts an even split over equal paths.
    pub(crate) fn evenly(&self, amount: f64) -> Counts {
        let network = &self.fabric.network;
        let mut counts = self.within_hosts();
        let mut both = |channel: Channel, pairs: f64| {
            counts.channel[channel.0 as usize] = pairs;
            if let Some(back) = network.reverse(channel) {
                counts.channel[back.0 as usize] = pairs;
            }
        };
        let RailLevels { leaves, spines, cores, .. } = self.levels;
        for Realm { rails, each } in self.realms() {
            let many = f64::from(rails.end - rails.start);
            // A host sends nothing to its own nodes on other rails; all other nodes outside count.
            let leaving = |held: f64| each * held * (f64::from(self.hosts) * many - held - many + 1.0);
            for (rail, leaf) in rails.flat_map(|rail| (0..leaves).map(move |leaf| (rail, leaf))) {
                let ports = self.ports_of(self.leaf(rail, leaf));
                let share = leaving(self.held(leaf)) / ports.len().max(1) as f64;
                ports.iter().for_each(|&port| both(port, share));
                let is_first = leaf == 0 || self.group(leaf) != self.group(leaf - 1);
                if cores > 0 && is_first {
                    let share = leaving(self.held_in(self.group(leaf))) / ports.len() as f64;
                    for (spine, first) in (0..spines).zip(ports) {
                        let parallel = ports.iter().filter(|&&port| network.to(port) == network.to(*first)).count();
                        let ups = self.ports_of(self.spine(rail, leaf, spine));
                        let share = share * parallel as f64 / ups.len() as f64;
                        ups.iter().for_each(|&port| both(port, share));
                    }
                }
            }
        }
        self.through(counts).times(amount)
    }

    /// Counts the paths that forwarding tables choose by the destination.
    pub(crate) fn by_table(&self, amount: f64) -> Counts {
        let network = &self.fabric.network;
        let mut counts = self.within_hosts();
        let RailLevels { leaves, cores, .. } = self.levels;
        let hosts = f64::from(self.hosts);
        for Realm { rails, each } in self.realms() {
            let many = f64::from(rails.end - rails.start);
            // Destinations by the ports that they choose at leaves, and at spines: at each leaf, and in each group.
            let mut at_leaf: BTreeMap<u32, BTreeMap<(u32, u32), f64>> = BTreeMap::new();
            let mut in_group: BTreeMap<[u32; 2], BTreeMap<(u32, u32), f64>> = BTreeMap::new();
            for (rail, host) in rails.clone().flat_map(|rail| (0..self.hosts).map(move |host| (rail, host))) {
                let (leaf, node) = (host / self.levels.held, Node(host * self.rail.gpus_per_host + rail));
                if self.levels.leaf_up == 0 {
                    continue;
                }
                let end = self.leaf(rail, leaf);
                let port = self.place(self.ports_of(end), node);
                let all = each * (hosts * many - many);
                *at_leaf.entry(port).or_default().entry((rail, leaf)).or_insert(0.0) += 1.0;
                let spine = self.spine(rail, leaf, port);
                let arriving = all - each * (self.held(leaf) - 1.0);
                counts.channel[self.down(spine, end, node).0 as usize] += arriving;
                if cores > 0 {
                    let ups = self.ports_of(spine);
                    let up = self.place(ups, node);
                    let group = self.group(leaf);
                    *in_group.entry([port, up]).or_default().entry((rail, group)).or_insert(0.0) += 1.0;
                    let arriving = all - each * (self.held_in(group) - 1.0);
                    let core = network.to(ups[up as usize]);
                    counts.channel[self.down(core, spine, node).0 as usize] += arriving;
                }
            }
            let every = || rails.clone().flat_map(|rail| (0..leaves).map(move |leaf| (rail, leaf)));
            for (port, destinations) in &at_leaf {
                let climbing = Climbing::new(destinations, each);
                for (rail, leaf) in every() {
                    let channel = self.ports_of(self.leaf(rail, leaf))[*port as usize];
                    counts.channel[channel.0 as usize] += climbing.from((rail, leaf), self.held(leaf));
                }
            }
            for ([port, up], destinations) in &in_group {
                let climbing = Climbing::new(destinations, each);
                let is_first = |&(_, leaf): &(u32, u32)| leaf == 0 || self.group(leaf) != self.group(leaf - 1);
                for (rail, leaf) in every().filter(is_first) {
                    let channel = self.ports_of(self.spine(rail, leaf, *port))[*up as usize];
                    let group = self.group(leaf);
                    counts.channel[channel.0 as usize] += climbing.from((rail, group), self.held_in(group));
                }
            }
        }
        self.through(counts).times(amount)
    }

    /// Which of some channels the tables choose for a node.
    fn place(&self, ways: &[Channel], node: Node) -> u32 {
        match ways {
            [first, .., last] => {
                self.fabric.tables().place(&self.fabric.network, [*first, *last], ways.len(), node) as u32
            }
            _ => 0,
        }
    }

    fn down(&self, from: Vertex, to: Vertex, node: Node) -> Channel {
        let ways = &self.downs[&(from, to)];
        ways[self.place(ways, node) as usize]
    }

    /// What crosses the channels of the hosts, and those between them and their leaves.
    fn within_hosts(&self) -> Counts {
        let network = &self.fabric.network;
        let mut counts = Counts::new(self.fabric);
        let [gpus, hosts] = [self.rail.gpus_per_host, self.hosts].map(f64::from);
        let (outside, peers) = (gpus * (hosts - 1.0), gpus - 1.0);
        // Where rails do not meet, a host's GPUs send by each other's NICs.
        let lent = if self.rail.joined { 0.0 } else { hosts - 1.0 };
        let [memory, scale_up, leaf, _, _, sender, _] = self.first;
        let (memories, scale_ups) = (memory..memory + self.fabric.nodes(), scale_up..leaf);
        for channel in (0..network.channels() as u32).map(Channel) {
            let (from, to) = (network.from(channel), network.to(channel));
            let is_memory = |v: Vertex| memories.contains(&v.0);
            let is_scale_up = |v: Vertex| scale_ups.contains(&v.0);
            counts.channel[channel.0 as usize] = match () {
                () if is_memory(from) && network.is_node(to) => peers,
                () if network.is_node(from) && is_memory(to) => peers + if self.rail.joined { 0.0 } else { outside },
                () if is_memory(from) && is_memory(to) => 1.0 + lent,
                () if is_scale_up(from) || is_scale_up(to) => peers * (1.0 + lent),
                () if [from, to].iter().any(|v| (sender..).contains(&v.0)) => outside,
                () => 0.0,
            };
        }
        counts
    }

    /// With what passes each vertex: all that enters, and what nodes send.
    fn through(&self, mut counts: Counts) -> Counts {
        let network: &Network = &self.fabric.network;
        for channel in (0..network.channels() as u32).map(Channel) {
            counts.vertex[network.to(channel).0 as usize] += counts.channel[channel.0 as usize];
        }
        let sent = f64::from(self.fabric.nodes()) - 1.0;
        counts.vertex[..self.fabric.nodes() as usize].iter_mut().for_each(|node| *node += sent);
        counts
    }
}

/// Leaves, spines and cores of all rails.
fn counts(rail: &Rail, levels: &RailLevels) -> [u32; 3] {
    let &RailLevels { leaves, groups, spines, cores, .. } = levels;
    let rails = rail.gpus_per_host;
    let units = if rail.joined && cores == 0 { 1 } else { rails * groups };
    [rails * leaves, units * spines, if rail.joined { 1 } else { rails } * spines * cores]
}

/// What climbs towards destinations that choose the same ports, from leaves or from groups of them.
struct Climbing<'d> {
    /// Destinations at each: its rail and number there.
    at: &'d BTreeMap<(u32, u32), f64>,
    all: f64,
    /// The same of all rails together.
    of_number: BTreeMap<u32, f64>,
    each: f64,
}

impl<'d> Climbing<'d> {
    fn new(at: &'d BTreeMap<(u32, u32), f64>, each: f64) -> Climbing<'d> {
        let mut of_number = BTreeMap::new();
        at.iter().for_each(|(&(_, number), many)| *of_number.entry(number).or_insert(0.0) += many);
        Climbing { at, all: at.values().sum(), of_number, each }
    }

    /// From one that holds so many hosts: none of them sends to its own nodes on other rails.
    fn from(&self, place: (u32, u32), held: f64) -> f64 {
        let own = self.at.get(&place).copied().unwrap_or(0.0);
        let same = self.of_number.get(&place.1).copied().unwrap_or(0.0);
        self.each * (held * (self.all - own) - (same - own))
    }
}
