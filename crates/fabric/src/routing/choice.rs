//! Which of equal paths a packet takes. Both engines ask here: the load count and the simulator choose alike.
//!
//! A routing offers several hops where paths are equal. Under [`Paths::Destination`] each switch has one forwarding
//! table: its hop depends on the switch and the destination alone. Under [`Paths::Flow`] it depends on a hash of the
//! pair. The other two depend on the packet: the load count splits evenly there, which is their ideal.

use super::Hop;
use crate::network::{Channel, Network, Node, Resource, Vertex};
use crate::rng::mix;
use crate::terms::Role;

/// Which of equal paths a packet takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Paths {
    /// The packets of a message take the equal paths round-robin: even load, and packets of a pair may overtake each
    /// other.
    Packet,
    /// One path for each pair of nodes, by a hash of the pair (ECMP): order kept, load as even as the hash.
    Flow,
    /// One path for each destination from any switch (D-mod-k, as subnet managers and route mappers fill tables). It
    /// keeps order, and spreads the load of shifts and exchanges evenly.
    Destination,
    /// At each switch the least occupied of the equal paths; packets of a pair may overtake each other.
    Adaptive,
}

impl Paths {
    /// Names in files and options.
    pub const NAMES: &'static [(&'static str, Paths)] = &[
        ("packet", Paths::Packet),
        ("flow", Paths::Flow),
        ("destination", Paths::Destination),
        ("adaptive", Paths::Adaptive),
    ];

    /// Its name in files and options.
    pub fn name(self) -> &'static str {
        Paths::NAMES.iter().find(|(_, paths)| *paths == self).map_or("", |(name, _)| name)
    }

    /// The policy called `name`.
    ///
    /// # Errors
    /// There is none; the text lists all.
    pub fn named(name: &str) -> Result<Paths, String> {
        let names = || Paths::NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let found = Paths::NAMES.iter().find(|(own, _)| *own == name).map(|(_, paths)| *paths);
        found.ok_or_else(|| format!("`{name}` is no way to choose among equal paths (allowed: {})", names()))
    }

    /// Whether every packet of a pair takes the same path.
    pub fn is_static(self) -> bool {
        matches!(self, Paths::Flow | Paths::Destination)
    }
}

/// The lot of a pair of nodes under a seed: what [`Paths::Flow`] hashes.
#[inline]
pub fn pair_lot(seed: u64, from: u32, to: u32) -> u64 {
    mix(seed ^ (u64::from(from) << 32 | u64::from(to)))
}

/// What picks hop after hop of one packet's path.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    lot: u64,
    turn: u64,
    paths: Paths,
    destination: Node,
}

impl Draw {
    /// For a packet with this lot (32 bits count) and round-robin index.
    #[inline]
    pub fn new(paths: Paths, destination: Node, lot: u64, turn: u64) -> Draw {
        Draw { lot, turn, paths, destination }
    }

    /// For every packet of a pair under a static policy.
    #[inline]
    pub fn of_pair(paths: Paths, seed: u64, from: Node, to: Node) -> Draw {
        Draw::new(paths, to, pair_lot(seed, from.0, to.0) & 0xffff_ffff, 0)
    }

    /// The place of the next hop among those offered at one device; `None` where there is none.
    pub fn pick(&mut self, network: &Network, tables: &Tables, hops: &[Hop]) -> Option<usize> {
        if hops.len() < 2 {
            return (hops.len() == 1).then_some(0);
        }
        if self.paths == Paths::Destination {
            let ends = [hops[0].channel, hops[hops.len() - 1].channel];
            return Some(tables.place(network, ends, hops.len(), self.destination));
        }
        Some(self.place(hops.len() as u32) as usize)
    }

    /// The same by their number alone, which [`Paths::Destination`] cannot do.
    #[inline]
    pub fn place(&mut self, ways: u32) -> u32 {
        if ways < 2 {
            return 0;
        }
        // Every choice advances with every packet, and once more when the choices before it have come round. A few
        // packets already spread over every stage, and many take every combination.
        self.lot = mix(self.lot);
        // The first packet's division takes half the time: it is of half as many digits.
        if self.turn == 0 {
            return (self.lot >> 32) as u32 % ways;
        }
        let ways = u64::from(ways);
        let way = (self.lot >> 32) + self.turn;
        self.turn += self.turn / ways;
        (way % ways) as u32
    }
}

/// The forwarding tables of [`Paths::Destination`], as a few numbers for each device. A destination's number is divided
/// by them before it is taken modulo the hops. Nodes of one switch have consecutive numbers, in any numbering. Each
/// level of a tree uses its own digits, as D-mod-k does, so the next level spreads what one level has separated.
#[derive(Debug)]
pub struct Tables {
    /// Number of each node.
    number: Vec<u32>,
    /// Links between a device and the nearest node.
    level: Vec<u32>,
    /// Divisor on the path up and across.
    up: Vec<u64>,
    /// Channels up.
    ups: Vec<u64>,
    /// Devices above before the first comes again: parallel channels lie so many ports apart.
    apart: Vec<u64>,
}

impl Tables {
    /// The tables of a network.
    pub fn new(network: &Network) -> Tables {
        let mut tables = Tables {
            number: numbers(network),
            level: vec![u32::MAX; network.vertices()],
            up: vec![1; network.vertices()],
            ups: vec![u64::MAX; network.vertices()],
            apart: vec![1; network.vertices()],
        };
        let mut here: Vec<Vertex> = network.node_iter().map(Node::vertex).collect();
        here.iter().for_each(|v| tables.level[v.0 as usize] = 0);
        // Some devices only receive, so that nothing leads up to them.
        let into = (0..network.channels() as u32).map(Channel).filter(|&c| network.is_node(network.to(c)));
        let mut next: Vec<Vertex> = into.map(|c| network.from(c)).filter(|&v| !network.is_node(v)).collect();
        next.dedup();
        next.iter().for_each(|v| tables.level[v.0 as usize] = 1);
        for level in 0.. {
            for &v in &here {
                tables.reach(network, v, level, &mut next);
            }
            if next.is_empty() {
                break;
            }
            here = std::mem::take(&mut next);
        }
        tables
    }

    /// Levels and divisors of what lies above `v`.
    fn reach(&mut self, network: &Network, v: Vertex, level: u32, next: &mut Vec<Vertex>) {
        let above = |tables: &Tables, c: &Channel| tables.level[network.to(*c).0 as usize] > level;
        let ups: Vec<Channel> = network.out(v).filter(|c| above(self, c)).collect();
        let Some(&first) = ups.first() else { return };
        let to = |channel: Channel| network.to(channel);
        // Parallel channels are either next to each other in port order or a round of all devices above apart.
        let parallel = ups.iter().skip(1).position(|&c| to(c) == to(first));
        let apart = parallel.map_or(1, |place| place as u64 + 1);
        let own = self.up[v.0 as usize];
        (self.apart[v.0 as usize], self.ups[v.0 as usize]) = (apart, ups.len() as u64);
        // The digits distinguish the device above. They do not distinguish its parallel channels where these lie a
        // round apart: the next level spreads that, too. It has no more in a group that is not full, whose leaves then
        // have several channels to each device above.
        let is_round = apart > 1 && (apart as usize..ups.len()).all(|at| to(ups[at]) == to(ups[at - apart as usize]));
        let devices = if is_round && (ups.len() as u64).is_multiple_of(apart) { apart } else { ups.len() as u64 };
        // Only switches spread: what else leads on in several ways leads to different places.
        let spread = if network.vertex_role[v.0 as usize] == Role::Switch { devices } else { 1 };
        let divisor = own.saturating_mul(spread);
        for &channel in &ups {
            let to = network.to(channel).0 as usize;
            if self.level[to] == u32::MAX {
                self.level[to] = level + 1;
                next.push(network.to(channel));
            }
            if self.level[to] == level + 1 {
                self.up[to] = self.up[to].max(divisor);
            }
        }
    }

    /// The number of a destination.
    pub fn number(&self, destination: Node) -> u64 {
        u64::from(self.number[destination.0 as usize])
    }

    /// The divisor of a destination's number on the path up or across. The quotient modulo the hops is the hop's index.
    pub fn divisor(&self, device: Vertex) -> u64 {
        self.up[device.0 as usize]
    }

    /// The index of the hop taken towards a destination, where a device offers `ways` of them from `first` to `last`.
    /// Of parallel channels down it is the copy by which a packet to the same node would have climbed.
    pub fn place(&self, network: &Network, [first, last]: [Channel; 2], ways: usize, destination: Node) -> usize {
        let (at, to, number) = (network.from(first), network.to(first), self.number(destination));
        let (below, own) = (to.0 as usize, at.0 as usize);
        let descends = network.to(last) == to && self.level[below] < self.level[own];
        let place = match descends {
            true => number / self.up[below] % self.ups[below] / self.apart[below],
            false => number / self.up[own],
        };
        (place % ways as u64) as usize
    }
}

/// The nodes by the switch that their cable comes from, then by their own number. The GPUs of one host hang from a leaf
/// each, and those of one leaf spread over all that leads down to it.
fn numbers(network: &Network) -> Vec<u32> {
    let mut switch = vec![u32::MAX; network.vertices()];
    let channels = (0..network.channels() as u32).map(Channel);
    let ends = channels.map(|c| (network.from(c).0, network.to(c).0, network.role(Resource::Channel(c))));
    let cables = ends.clone().filter(|&(from, _, role)| role == Role::Link && from >= network.nodes);
    cables.for_each(|(from, to, _)| switch[to as usize] = from);
    let buses = ends.filter(|&(_, to, role)| role == Role::HostBus && to < network.nodes);
    buses.for_each(|(from, to, _)| switch[to as usize] = switch[from as usize]);
    let mut order: Vec<u32> = (0..network.nodes).collect();
    order.sort_by_key(|&node| (switch[node as usize], node));
    let mut number = vec![0; order.len()];
    (0..).zip(order).for_each(|(place, node)| number[node as usize] = place);
    number
}
