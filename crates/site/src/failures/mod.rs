//! The cost of a failure of each cable and switch, under the tables as they are, and with the cut-off destinations
//! moved to other paths.
//!
//! Nothing is counted whole again. The load of all-to-all is known. A failure removes, for each destination whose path
//! leads over the part, the flow of the switches behind it (a subtree of that destination's tree). To re-route, these
//! switches alone get new paths for these destinations: shortest ones over what is left, over the least loaded cables.
//! All other entries stay, as a subnet manager would keep them. Whether the new paths wait for each other in a circle
//! is not checked here.

mod scratch;
mod trees;

use crate::routes::{Address, Routes};
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Node, Vertex};
use rayon::prelude::*;
use scratch::Scratch;
use std::cmp::Reverse;
use trees::Trees;

/// A part that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A cable between switches, by the direction that comes first.
    Cable(Channel),
    /// A switch, with the hosts behind it.
    Switch(Vertex),
}

/// The result for all-to-all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Ordered pairs of remaining hosts that lost their path.
    pub lost: u64,
    /// Bytes per second of each pair; infinite where no rate limits. A host's own link counts as if no pair had lost
    /// its path.
    pub pair_rate: f64,
}

/// The cost of one failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Failure {
    /// The part.
    pub part: Part,
    /// Hosts that go with it.
    pub hosts_lost: u32,
    /// With the tables as they are.
    pub kept: Outcome,
    /// With the destinations concerned moved.
    pub rerouted: Outcome,
}

/// A fabric whose parts may fail.
pub struct Failures<'a> {
    routes: Routes<'a>,
    /// Place of the next channel by switch and address: the transposed tables.
    columns: Vec<u8>,
    /// For each address the switches whose packets arrive, each before those that send to it: `switches` long, the rest
    /// unused. Switches that send through another come right behind it.
    order: Vec<u16>,
    /// Place of each switch in that order, [`NOWHERE`] where packets do not arrive; and how many are there with it.
    place: Vec<u16>,
    size: Vec<u16>,
    /// Channels that enter each switch from a switch: channel, switch, place.
    entering: Vec<(Channel, u32, u8)>,
    start: Vec<u32>,
    load: Vec<f64>,
    /// Channels between switches, the fullest first.
    fullest: Vec<u32>,
    /// Nodes by their link's time for a byte, the slowest first.
    slowest: Vec<Node>,
    lost: u64,
}

const NONE: u32 = u32::MAX;
const NOWHERE: u16 = u16::MAX;

impl<'a> Failures<'a> {
    /// `None`: the fabric has no forwarding tables, or more than 65,534 switches.
    pub fn new(fabric: &'a Fabric) -> Option<Failures<'a>> {
        let routes = Routes::new(fabric)?;
        let (network, switches) = (routes.network, routes.switches() as usize);
        let addresses = routes.addresses().count();
        if switches >= usize::from(NOWHERE) {
            return None;
        }
        let mut columns = vec![0; switches * addresses];
        for to in routes.addresses() {
            let row = routes.row(to);
            (0..switches).for_each(|s| columns[s * addresses + to.0 as usize] = row[s]);
        }
        let mut all = Vec::new();
        for from in 0..switches as u32 {
            for (place, channel) in network.out(Vertex(routes.first + from)).enumerate() {
                if let Some(to) = routes.switch_at(channel) {
                    all.push((to, (channel, from, place as u8)));
                }
            }
        }
        all.sort_unstable();
        let mut start = vec![0u32; switches + 1];
        all.iter().for_each(|(to, _)| start[*to as usize + 1] += 1);
        (0..switches).for_each(|s| start[s + 1] += start[s]);
        let entering = all.into_iter().map(|(_, entry)| entry).collect();
        let (mut load, mut lost) = (vec![0.0; network.channels()], 0);
        for to in routes.addresses() {
            lost += add_all(&routes, to, &mut load);
        }
        let mut trees = Trees::new(&routes);
        routes.addresses().for_each(|to| trees.add(&routes, to));
        let Trees { order, place, size, .. } = trees;
        let mut fullest: Vec<u32> = (0..network.channels() as u32).filter(|&c| load[c as usize] > 0.0).collect();
        let full = |c: u32| load[c as usize] * routes.inverse[c as usize];
        fullest.sort_by(|&a, &b| full(b).total_cmp(&full(a)).then(a.cmp(&b)));
        let mut slowest: Vec<Node> = network.node_iter().collect();
        slowest.sort_by(|&a, &b| routes.link(b).total_cmp(&routes.link(a)).then(a.cmp(&b)));
        Some(Failures { routes, columns, order, place, size, entering, start, load, fullest, slowest, lost })
    }

    /// Every cable between switches, then every switch.
    pub fn parts(&self) -> Vec<Part> {
        let network = self.routes.network;
        let is_first = |&c: &Channel| {
            let (from, to) = (network.from(c), network.to(c));
            !network.is_node(from) && !network.is_node(to) && network.reverse(c).is_some_and(|back| c < back)
        };
        let cables = (0..network.channels() as u32).map(Channel).filter(is_first).map(Part::Cable);
        let switches = (self.routes.first..network.vertices() as u32).map(|v| Part::Switch(Vertex(v)));
        cables.chain(switches).collect()
    }

    /// With nothing failed; pairs without a way are those of the tables.
    pub fn intact(&self) -> Outcome {
        let full = self.fullest.first().map_or(0.0, |&c| self.load[c as usize] * self.routes.inverse[c as usize]);
        Outcome { lost: self.lost, pair_rate: self.pair_rate(full, None) }
    }

    /// Each part in turn; `step` is called after each.
    pub fn all(&self, parts: &[Part], step: &(dyn Fn() + Sync)) -> Vec<Failure> {
        let one = |scratch: &mut Scratch, &part: &Part| {
            let failure = self.one(scratch, part);
            step();
            failure
        };
        parts.par_iter().map_init(|| Scratch::new(self), one).collect()
    }

    fn one(&self, scratch: &mut Scratch, part: Part) -> Failure {
        let network = self.routes.network;
        let affected = self.affected(part);
        let (broken, dead) = match part {
            Part::Cable(channel) => ([Some(channel), network.reverse(channel)], None),
            Part::Switch(vertex) => ([None, None], Some(vertex.0 - self.routes.first)),
        };
        let hosts_lost = dead.map_or(0, |dead| self.routes.hosts[dead as usize]);
        let mut lost = 0;
        for &(to, at) in &affected {
            lost += self.remove(scratch, to, at, dead);
        }
        let kept = Outcome { lost, pair_rate: self.pair_rate(scratch.full(self), dead) };
        let mut lost = 0;
        for &(to, at) in affected.iter().filter(|(to, _)| dead != Some(self.routes.home(*to))) {
            lost += self.repair(scratch, to, at, dead, broken);
        }
        let rerouted = Outcome { lost, pair_rate: self.pair_rate(scratch.full(self), dead) };
        scratch.restore(self);
        Failure { part, hosts_lost, kept, rerouted }
    }

    /// Addresses whose ways lead over a part, each with the switch from which they do.
    fn affected(&self, part: Part) -> Vec<(Address, u32)> {
        let addresses = self.routes.addresses().count();
        match part {
            Part::Cable(channel) => {
                let directions = [Some(channel), self.routes.network.reverse(channel)];
                let of = |channel: Channel| {
                    let from = self.routes.network.from(channel);
                    let place = (channel.0 - self.routes.network.out_start[from.0 as usize]) as u8;
                    let switch = from.0 - self.routes.first;
                    let column = &self.columns[switch as usize * addresses..][..addresses];
                    let on = column.iter().enumerate().filter(move |(_, next)| **next == place);
                    on.map(move |(to, _)| (Address(to as u32), switch))
                };
                directions.into_iter().flatten().flat_map(of).collect()
            }
            Part::Switch(vertex) => self.routes.addresses().map(|to| (to, vertex.0 - self.routes.first)).collect(),
        }
    }

    /// The rate of each pair where the fullest channel between switches takes `full` seconds a byte of every pair.
    fn pair_rate(&self, full: f64, dead: Option<u32>) -> f64 {
        let gone = dead.map_or(0, |dead| self.routes.hosts[dead as usize]);
        let others = f64::from((self.routes.network.nodes - gone).saturating_sub(1));
        let left = self.slowest.iter().find(|node| Some(self.routes.home[node.0 as usize]) != dead);
        1.0 / full.max(left.map_or(0.0, |&node| self.routes.link(node) * others))
    }

    /// The switches whose ways to an address lead through `at`, each before those that send to it; `None`: they do not arrive.
    fn subtree(&self, to: Address, at: u32) -> Option<&[u16]> {
        let start = to.0 as usize * self.routes.hosts.len();
        let place = self.place[start + at as usize];
        let size = self.size[start + at as usize];
        (place != NOWHERE).then(|| &self.order[start + usize::from(place)..][..usize::from(size)])
    }

    /// The flow of each switch of a subtree to an address, with the flow that it forwards.
    fn flows(&self, scratch: &mut Scratch, to: Address, subtree: &[u16]) {
        let row = self.routes.row(to);
        for &s in subtree {
            scratch.flow[usize::from(s)] = f64::from(self.routes.senders(to, u32::from(s)));
        }
        for &s in subtree[1..].iter().rev() {
            let on = self.routes.next(row, u32::from(s)).and_then(|channel| self.routes.switch_at(channel));
            if let Some(on) = on {
                scratch.flow[on as usize] += scratch.flow[usize::from(s)];
            }
        }
    }

    /// Takes away all that goes to an address through a switch; the number of pairs, those of hosts that are gone aside.
    fn remove(&self, scratch: &mut Scratch, to: Address, at: u32, dead: Option<u32>) -> u64 {
        let routes = &self.routes;
        let row = routes.row(to);
        let Some(subtree) = self.subtree(to, at) else { return 0 };
        self.flows(scratch, to, subtree);
        for &s in &subtree[1..] {
            if let Some(channel) = routes.next(row, u32::from(s)) {
                scratch.change(channel, -scratch.flow[usize::from(s)]);
            }
        }
        let flow = scratch.flow[at as usize];
        routes.walk(at, to, |channel| scratch.change(channel, -flow));
        let gone = match dead {
            Some(dead) if dead == routes.home(to) => flow,
            Some(dead) => f64::from(routes.senders(to, dead)),
            None => 0.0,
        };
        (flow - gone) as u64
    }

    /// Gives other paths to the switches whose paths to an address led through `at`; the number of pairs without one.
    fn repair(
        &self,
        scratch: &mut Scratch,
        to: Address,
        at: u32,
        dead: Option<u32>,
        broken: [Option<Channel>; 2],
    ) -> u64 {
        let routes = &self.routes;
        let row = routes.row(to);
        // A switch that had no path before has none to lose.
        let Some(subtree) = self.subtree(to, at) else { return 0 };
        scratch.epoch += 1;
        scratch.subtree.clear();
        subtree.iter().for_each(|&s| scratch.enter(u32::from(s)));
        if self.step_aside(scratch, to, subtree, dead, broken) {
            return 0;
        }
        self.measure(scratch, to, dead, broken);
        let behind = scratch.subtree.len();
        let is_cut = |&s: &u32| scratch.hops[s as usize] == NONE && routes.senders(to, s) > 0 && dead != Some(s);
        if scratch.subtree.iter().any(is_cut) {
            // Switches to which the tables give no way can carry it, too.
            for s in 0..routes.switches() {
                let is_new = scratch.inside[s as usize] != scratch.epoch;
                if is_new && self.known(scratch, s, to) == NONE {
                    scratch.enter(s);
                }
            }
            self.measure(scratch, to, dead, broken);
        }
        let mut lost = 0;
        let places = scratch.subtree.iter().enumerate();
        let mut order: Vec<(u32, u32, bool)> =
            places.map(|(place, &s)| (scratch.hops[s as usize], s, place < behind)).collect();
        order.sort_unstable();
        for (hops, s, lost_its_way) in order {
            let count = if dead == Some(s) || !lost_its_way { 0 } else { routes.senders(to, s) };
            if hops == NONE {
                lost += u64::from(count);
                continue;
            }
            let leads = |scratch: &Scratch, channel: Channel| {
                let on = routes.switch_at(channel)?;
                let known = scratch.inside[on as usize] == scratch.epoch || scratch.seen[on as usize] == scratch.epoch;
                (known && !broken.contains(&Some(channel)) && scratch.hops[on as usize] == hops - 1).then_some(on)
            };
            // A switch that can keep its entry does.
            let kept = routes.next(row, s).filter(|&channel| leads(scratch, channel).is_some());
            let best = kept.or_else(|| {
                let all = routes.network.out(Vertex(routes.first + s));
                let priced = all.filter_map(|channel| {
                    leads(scratch, channel)?;
                    let mut price = (0.0, 0.0);
                    self.way(scratch, row, channel, |channel| price = self.add_price(scratch, channel, price));
                    Some((price, channel))
                });
                let least = priced.min_by(|(a, _), (b, _)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
                least.map(|(_, channel)| channel)
            });
            let Some(best) = best else { continue };
            scratch.next[s as usize] = best;
            if count > 0 {
                let mut path = std::mem::take(&mut scratch.path);
                path.clear();
                self.way(scratch, row, best, |channel| path.push(channel));
                path.iter().for_each(|&channel| scratch.change(channel, f64::from(count)));
                scratch.path = path;
            }
        }
        lost
    }

    /// The common case: some switches of the subtree have another channel on a path no longer than theirs, and every
    /// other stays behind them. Returns whether that serves all hosts; if not, nothing is changed.
    fn step_aside(
        &self,
        scratch: &mut Scratch,
        to: Address,
        subtree: &[u16],
        dead: Option<u32>,
        broken: [Option<Channel>; 2],
    ) -> bool {
        let (routes, row) = (&self.routes, self.routes.row(to));
        let start = to.0 as usize * routes.hosts.len();
        let mut hops = 1;
        routes.walk(u32::from(subtree[0]), to, |_| hops += 1);
        // Switches that step aside, and the least hops behind their other channels.
        let mut aside: Vec<(usize, u32)> = Vec::new();
        let mut at = 0;
        while let Some(&switch) = subtree.get(at) {
            let s = u32::from(switch);
            // Hops before the failure: one more than those of the switch to which it sent, which comes before it.
            let own = match at {
                0 => hops,
                _ => {
                    let on = routes.next(row, s).and_then(|channel| routes.switch_at(channel));
                    on.map_or(NONE, |on| scratch.before[on as usize] + 1)
                }
            };
            scratch.before[s as usize] = own;
            let mut least = NONE;
            if dead != Some(s) {
                for channel in routes.network.out(Vertex(routes.first + s)) {
                    let Some(on) = routes.switch_at(channel) else { continue };
                    if !broken.contains(&Some(channel)) && scratch.inside[on as usize] != scratch.epoch {
                        least = least.min(self.known(scratch, on, to).saturating_add(1));
                    }
                }
            }
            if least <= own {
                aside.push((at, least));
                at += usize::from(self.size[start + s as usize]);
            } else if routes.senders(to, s) > 0 && dead != Some(s) {
                return false;
            } else {
                at += 1;
            }
        }
        for (first, least) in aside {
            let s = u32::from(subtree[first]);
            let behind = &subtree[first..][..usize::from(self.size[start + s as usize])];
            self.flows(scratch, to, behind);
            for &other in &behind[1..] {
                if let Some(channel) = routes.next(row, u32::from(other)) {
                    scratch.change(channel, scratch.flow[usize::from(other)]);
                }
            }
            let flow = scratch.flow[s as usize];
            let mut best: Option<((f64, f64), Channel)> = None;
            for channel in routes.network.out(Vertex(routes.first + s)) {
                let Some(on) = routes.switch_at(channel) else { continue };
                let leads = scratch.inside[on as usize] != scratch.epoch && scratch.hops[on as usize] == least - 1;
                if !leads || broken.contains(&Some(channel)) {
                    continue;
                }
                let mut price = (0.0, 0.0);
                self.way(scratch, row, channel, |channel| price = self.add_price(scratch, channel, price));
                let is_less = |than: &(f64, f64)| price.0.total_cmp(&than.0).then(price.1.total_cmp(&than.1)).is_lt();
                if best.as_ref().is_none_or(|(than, _)| is_less(than)) {
                    best = Some((price, channel));
                }
            }
            if let Some((_, channel)) = best {
                scratch.change(channel, flow);
                if let Some(on) = routes.switch_at(channel) {
                    routes.walk(on, to, |channel| scratch.change(channel, flow));
                }
            }
        }
        true
    }

    /// Hops to an address from the switches of the subtree, over what is left.
    fn measure(&self, scratch: &mut Scratch, to: Address, dead: Option<u32>, broken: [Option<Channel>; 2]) {
        let routes = &self.routes;
        scratch.heap.clear();
        for place in 0..scratch.subtree.len() {
            scratch.hops[scratch.subtree[place] as usize] = NONE;
        }
        for place in 0..scratch.subtree.len() {
            let s = scratch.subtree[place];
            if dead == Some(s) {
                continue;
            }
            let mut least = NONE;
            for channel in routes.network.out(Vertex(routes.first + s)) {
                let Some(on) = routes.switch_at(channel) else { continue };
                if !broken.contains(&Some(channel)) && scratch.inside[on as usize] != scratch.epoch {
                    least = least.min(self.known(scratch, on, to).saturating_add(1));
                }
            }
            if least != NONE {
                scratch.hops[s as usize] = least;
                scratch.heap.push(Reverse((least, s)));
            }
        }
        while let Some(Reverse((hops, s))) = scratch.heap.pop() {
            if hops != scratch.hops[s as usize] {
                continue;
            }
            let entering = self.start[s as usize] as usize..self.start[s as usize + 1] as usize;
            for &(channel, from, _) in &self.entering[entering] {
                let usable = scratch.inside[from as usize] == scratch.epoch && dead != Some(from);
                if usable && !broken.contains(&Some(channel)) && hops + 1 < scratch.hops[from as usize] {
                    scratch.hops[from as usize] = hops + 1;
                    scratch.heap.push(Reverse((hops + 1, from)));
                }
            }
        }
    }

    /// The fullest channel of a way, and all of them together.
    fn add_price(&self, scratch: &Scratch, channel: Channel, (most, sum): (f64, f64)) -> (f64, f64) {
        let full = (scratch.load[channel.0 as usize] + 1.0) * self.routes.inverse[channel.0 as usize];
        (full.max(most), sum + full)
    }

    /// Calls `each` with the channels between switches from `first` on: by the new entries, then by the tables.
    fn way(&self, scratch: &Scratch, row: &[u8], first: Channel, mut each: impl FnMut(Channel)) {
        let mut channel = first;
        while let Some(at) = self.routes.switch_at(channel) {
            each(channel);
            channel = match scratch.inside[at as usize] == scratch.epoch {
                true => scratch.next[at as usize],
                false => match self.routes.next(row, at) {
                    Some(next) => next,
                    None => return,
                },
            };
        }
    }

    /// Hops of the tables' way from a switch that they serve still; [`NONE`]: none.
    fn known(&self, scratch: &mut Scratch, from: u32, to: Address) -> u32 {
        let (routes, row, node) = (&self.routes, self.routes.row(to), self.routes.node(to));
        scratch.trail.clear();
        let mut at = from;
        let mut hops = loop {
            if scratch.seen[at as usize] == scratch.epoch {
                break scratch.hops[at as usize];
            }
            // Until its path is known a switch has none: so has a circle.
            scratch.seen[at as usize] = scratch.epoch;
            scratch.hops[at as usize] = NONE;
            let Some(channel) = routes.next(row, at) else { break NONE };
            match routes.switch_at(channel) {
                Some(on) => {
                    scratch.trail.push(at);
                    at = on;
                }
                None if routes.network.to(channel) == node.vertex() => {
                    scratch.hops[at as usize] = 1;
                    break 1;
                }
                None => break NONE,
            }
        };
        while let Some(switch) = scratch.trail.pop() {
            hops = hops.saturating_add(1);
            scratch.hops[switch as usize] = hops;
        }
        hops
    }
}

/// Adds what every host sends to one address; pairs without a way.
fn add_all(routes: &Routes<'_>, to: Address, load: &mut [f64]) -> u64 {
    let (mut lost, mut path) = (0, Vec::new());
    for s in 0..routes.switches() {
        let count = routes.senders(to, s);
        if count == 0 {
            continue;
        }
        path.clear();
        match routes.walk(s, to, |channel| path.push(channel)) {
            true => path.iter().for_each(|channel: &Channel| load[channel.0 as usize] += f64::from(count)),
            false => lost += u64::from(count),
        }
    }
    lost
}
