//! The simulated machine with its fault, as a measurement program sees it.

use crate::fault::Fault;
use hotlink_fabric::Fabric;
use hotlink_fabric::catalog;
use hotlink_fabric::network::{Channel, Node, Override, Resource};
use hotlink_fabric::rng::SplitMix64;
use hotlink_fabric::spec::{FabricSpec, Role};
use hotlink_fabric::units::{Rate, Time};
use hotlink_load::count_paths;
use hotlink_sim::workload::{PingPong, Stream, ping_pong, saturate};
use hotlink_sim::{Plan, Settings};
use hotlink_study::bound::pattern::one;
use std::collections::BTreeMap;

/// Largest message.
pub const LARGEST: u64 = 1 << 20;
/// Nodes built: two leaves of a fat tree, several routers of a dragonfly.
pub const NODES: u32 = 96;

/// A host's name.
pub fn name(host: u32) -> String {
    format!("node{:03}", host + 1)
}

/// Machine, fault, and what its software adds.
pub struct Machine {
    fault: Fault,
    hosts: u32,
    /// The fabric as it is, and with a slower bus.
    fabric: Fabric,
    /// Where a single host's bus is slow: its runs are simulated here.
    slow_bus: Option<Fabric>,
    /// Cable that others use, too.
    shared: Option<Channel>,
    overhead_us: f64,
    reached: f64,
    noise: f64,
    known: BTreeMap<(u32, u32, u64, bool), f64>,
}

/// A number between 0 and 1.
fn unit(rng: &mut SplitMix64) -> f64 {
    rng.below(1 << 20) as f64 / f64::from(1 << 20)
}

/// About normal, with deviation 1.
fn normal(rng: &mut SplitMix64) -> f64 {
    (0..12).map(|_| unit(rng)).sum::<f64>() - 6.0
}

fn with_rate(spec: &FabricSpec, roles: &[Role], rate: f64) -> FabricSpec {
    let mut spec = spec.clone();
    for role in roles {
        if let Some(resource) = spec.resources.get_mut(role) {
            for value in [resource.gross.as_mut(), resource.measured.as_mut()].into_iter().flatten() {
                value.value = Rate((value.value.0 as f64 * rate) as u64);
            }
        }
    }
    spec
}

impl Machine {
    pub fn new(named: &str, hosts: u32, fault: Fault, rng: &mut SplitMix64) -> Machine {
        let load = |name: &str| catalog::load(name).unwrap();
        let spec = match &fault {
            Fault::WrongFabric { other } => load(other),
            Fault::AllLinks { rate } => {
                with_rate(&load(named), &[Role::Link, Role::SwitchLink, Role::GlobalLink], *rate)
            }
            Fault::AllPcie { rate } => with_rate(&load(named), &[Role::HostBus], *rate),
            _ => load(named),
        };
        let slow_bus = match &fault {
            Fault::Pcie { rate, .. } => Some(Fabric::build(&with_rate(&spec, &[Role::HostBus], *rate), NODES).unwrap()),
            _ => None,
        };
        let fabric = (hosts..=NODES).rev().find_map(|nodes| Fabric::build(&spec, nodes).ok()).unwrap();
        let mut machine = Machine {
            fault,
            hosts,
            fabric,
            slow_bus,
            shared: None,
            overhead_us: 0.2 + 0.6 * unit(rng),
            reached: 0.86 + 0.12 * unit(rng),
            noise: 0.005 + 0.02 * unit(rng),
            known: BTreeMap::new(),
        };
        machine.break_links();
        machine
    }

    /// Hosts lie on both sides of the machine.
    fn node(&self, host: u32) -> u32 {
        let (half, nodes) = (self.hosts / 2, self.fabric.nodes());
        if host < half { host } else { nodes / 2 + host - half }
    }

    fn slower(&mut self, channel: Channel, rate: f64) {
        let gross = self.fabric.gross(Resource::Channel(channel)).unwrap();
        let rate = Some(Rate((gross.0 as f64 * rate) as u64));
        self.fabric.network.overrides.insert(channel, Override { rate, latency: None });
    }

    fn break_links(&mut self) {
        match self.fault.clone() {
            Fault::Link { host, rate } => {
                let out = self.fabric.network.port(Node(self.node(host)).vertex(), 0);
                let back = self.fabric.network.reverse(out).unwrap();
                self.slower(out, rate);
                self.slower(back, rate);
            }
            Fault::OneDirection { host, is_out, rate } => {
                let out = self.fabric.network.port(Node(self.node(host)).vertex(), 0);
                let which = if is_out { out } else { self.fabric.network.reverse(out).unwrap() };
                self.slower(which, rate);
            }
            Fault::SwitchCable { pair, rate } => {
                let cable = self.cable(pair);
                let back = self.fabric.network.reverse(cable).unwrap();
                self.slower(cable, rate);
                self.slower(back, rate);
            }
            Fault::Congestion { pair, .. } => self.shared = Some(self.cable(pair)),
            _ => {}
        }
    }

    /// The first cable between switches on a pair's route.
    fn cable(&self, [a, b]: [u32; 2]) -> Channel {
        let route = self.route(self.node(a), self.node(b));
        let network = &self.fabric.network;
        let between = |c: &Channel| !network.is_node(network.from(*c)) && !network.is_node(network.to(*c));
        route.into_iter().find(between).expect("the hosts lie on two switches")
    }

    /// The channels of a route; where packets choose among paths, of all of them.
    fn route(&self, from: u32, to: u32) -> Vec<Channel> {
        let settings = Settings::of(&self.fabric.spec);
        let demand = one(self.fabric.nodes(), from, to);
        let load = count_paths(&self.fabric, &demand, settings.paths, settings.seed).unwrap();
        let channels = (0..self.fabric.network.channels() as u32).map(Channel);
        channels.filter(|&channel| load.of(&self.fabric, Resource::Channel(channel)) > 0.0).collect()
    }

    /// Which fabric a run sees.
    fn seen(&self, a: u32, b: u32) -> &Fabric {
        match (&self.fault, &self.slow_bus) {
            (Fault::Pcie { host, .. }, Some(slow)) if [a, b].contains(host) => slow,
            _ => &self.fabric,
        }
    }

    /// The network's own time of a message, or of each of a stream of them: us.
    fn network_us(&mut self, a: u32, b: u32, size: u64, is_stream: bool) -> f64 {
        if let Some(&us) = self.known.get(&(a, b, size, is_stream)) {
            return us;
        }
        let (from, to) = (self.node(a), self.node(b));
        let fabric = self.seen(a, b);
        let settings = Settings { packet_bytes: None, ..Settings::of(&fabric.spec) };
        let plan = Plan::new(fabric, &settings).unwrap();
        let us = if is_stream {
            let others = match (&self.fault, self.shared) {
                (Fault::Congestion { others, .. }, Some(cable)) if self.route(from, to).contains(&cable) => *others,
                _ => 0,
            };
            // Others that cross the same cable: from hosts near the sender to hosts near the receiver.
            let mut pairs = vec![(from, to)];
            let cable = self.shared;
            let beside = |node: u32| (1..fabric.nodes()).map(move |by| (node + by) % fabric.nodes());
            for (x, y) in beside(from).take(14).flat_map(|x| beside(to).take(14).map(move |y| (x, y))) {
                let is_free = pairs.iter().all(|&(a, b)| ![a, b].contains(&x) && ![a, b].contains(&y)) && x != y;
                if pairs.len() <= others as usize
                    && is_free
                    && cable.is_some_and(|cable| self.route(x, y).contains(&cable))
                {
                    pairs.push((x, y));
                }
            }
            let count = pairs.len() as f64;
            let stream = Stream { pairs, size, window: 4, pause: Time::ZERO, messages: 12 };
            size as f64 / (saturate(&plan, &settings, &stream).unwrap().mbps() / count)
        } else {
            let what = PingPong { between: [from, to], size, messages: 2 };
            ping_pong(&plan, &settings, what).unwrap().elapsed.us() / 2.0
        };
        self.known.insert((a, b, size, is_stream), us);
        us
    }

    fn overhead_us(&self, a: u32, b: u32) -> f64 {
        match &self.fault {
            Fault::SlowHost { host, times } if [a, b].contains(host) => self.overhead_us * times,
            Fault::KernelPath { overhead_us, .. } | Fault::Interrupts { overhead_us } => *overhead_us,
            _ => self.overhead_us,
        }
    }

    /// What a protocol costs at this size.
    fn protocol(&self, size: u64) -> f64 {
        match &self.fault {
            Fault::Knee { from, to, times } if (*from..*to).contains(&size) => *times,
            _ => 1.0,
        }
    }

    fn noisy(&self, value: f64, rng: &mut SplitMix64) -> f64 {
        let hiccup = if rng.below(150) == 0 { 0.7 } else { 1.0 };
        value * (1.0 - self.noise * normal(rng).abs()) * hiccup
    }

    /// Half a round trip, us.
    pub fn latency_us(&mut self, [a, b]: [u32; 2], size: u64, rng: &mut SplitMix64) -> f64 {
        let us = match self.fault.clone() {
            Fault::SameNode { latency_us, mbps } => latency_us + size as f64 / mbps,
            Fault::KernelPath { overhead_us, mbps } => overhead_us + size as f64 / mbps,
            _ => {
                let there = self.network_us(a, b, size.max(1), false);
                (there / self.reached + self.overhead_us(a, b)) * self.protocol(size)
            }
        };
        1.0 / self.noisy(1.0 / us, rng)
    }

    /// Rate of a stream from the first to the second, MB/s.
    pub fn stream_mbps(&mut self, [a, b]: [u32; 2], size: u64, rng: &mut SplitMix64) -> f64 {
        let mbps = match self.fault.clone() {
            Fault::SameNode { latency_us, mbps } => size as f64 / (latency_us / 2.0 + size as f64 / mbps),
            Fault::KernelPath { overhead_us, mbps } => size as f64 / (overhead_us / 4.0 + size as f64 / mbps),
            _ => {
                // Overheads of messages under way at once overlap with the wire; an interrupt serves several.
                let wire = self.network_us(a, b, size, true) / self.reached;
                let software = match &self.fault {
                    Fault::Interrupts { overhead_us } => overhead_us / 16.0,
                    _ => self.overhead_us(a, b),
                };
                size as f64 / (wire.max(software) * self.protocol(size))
            }
        };
        let mbps = self.noisy(mbps, rng);
        match &self.fault {
            Fault::Units { factor } => mbps * factor,
            _ => mbps,
        }
    }

    /// Both directions at once, MB/s: a sound machine's, where each has the whole rate but for a few percent.
    pub fn both_mbps(&mut self, [a, b]: [u32; 2], size: u64, rng: &mut SplitMix64) -> f64 {
        0.95 * (self.stream_mbps([a, b], size, rng) + self.stream_mbps([b, a], size, rng))
    }

    /// Whether the fault costs the two hosts that it was placed between a sixth of their rate: some are placed where packets
    /// find another path.
    pub fn shows(&mut self, sound: &mut Machine) -> bool {
        match self.fault {
            Fault::SwitchCable { pair: [a, b], .. } | Fault::Congestion { pair: [a, b], .. } => {
                self.network_us(a, b, LARGEST, true) > 1.2 * sound.network_us(a, b, LARGEST, true)
            }
            _ => true,
        }
    }

    /// What one run is off as a whole.
    pub fn run_factor(&self, rng: &mut SplitMix64) -> f64 {
        1.0 - 0.01 * normal(rng).abs()
    }
}
