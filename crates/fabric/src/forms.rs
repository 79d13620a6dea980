//! The closed forms of M02 (Eqs. 1-12): what all-to-all traffic lets a node send, without counting one route.
//!
//! ```
//! use hotlink_fabric::{catalog, forms, spec::Capacities};
//! let torus = catalog::load("sci-torus2d").unwrap();
//! let result = forms::for_fabric(&torus, 25, Capacities::Measured, forms::MESSAGE_BYTES).unwrap();
//! assert!((result.bandwidth_per_node_mbps - 135.0).abs() < 1e-9);
//! assert_eq!(result.limiting_resource, "B-Link");
//! ```
//!
//! In an all-to-all each of N nodes sends one packet to each other; the *hot link* is the number of packets over
//! one link. The rates here are MB/s (10^6 bytes per second) of payload that one node sends.
//!
//! The text of M02 is damaged or silent in places. There, tori of N nodes are padded to r^f with r = ceil(N^(1/f)).
//! Nodes fill switches in order. Up to one crossbar's ports there is one switch and B = B_eff. Eqs. 6-10 average over
//! the inter-switch links: the middle link of a linear array carries more, which the load count shows. This module
//! never looks at routes, so that each can check the other.
//!
//! M02's k is the number of node ports of a switch, where all switches are alike. Otherwise it has two readings. One is
//! the mean over nodes of the nodes on a node's own switch, sum k_i^2 / N, the other the mean over switches, N/S. This
//! module takes the first: N - k and k - 1 are then what a node sends to others and to its own switch.
//! [`FormResult::by_switches`] has the second.
//!
//! h is the mean over pairs of switches (Eqs. 7 and 8). Where the nodes of each switch are stated (`groups`), the first
//! reading weighs each pair of switches by its pairs of nodes.

use crate::maths;
use crate::spec::{Capacities, Clos64, Crossbar, CubeSpec, Extents, FabricSpec, Role, SwitchArray, SwitchRing};

/// The message size that stands for "large" where none is given: 1 MiB.
pub const MESSAGE_BYTES: u64 = 1 << 20;

/// M02 Eq. 1: packets over each link of an r-ary f-cube of `nodes` = r^f nodes with one-way rings, N(r-1)/2.
/// Only requests count; responses, echoes and idle symbols are in the packet efficiency.
pub fn hot_link_cube(nodes: f64, radix: f64) -> f64 {
    nodes * (radix - 1.0) / 2.0
}

/// M02 Eq. 2: packets over each B-Link, 2(N-1) + sum over d = 2..f of (d-1) C(f,d) (r-1)^d. The first term is what the
/// node sends and receives, the sum what turns from one ring into another there.
pub fn hot_b_link(nodes: f64, radix: f64, dimensions: u32) -> f64 {
    let mut binomial = f64::from(dimensions);
    let mut turning = 0.0;
    for d in 2..=dimensions {
        binomial = binomial * f64::from(dimensions - d + 1) / f64::from(d);
        turning += f64::from(d - 1) * binomial * maths::powf(radix - 1.0, f64::from(d));
    }
    2.0 * (nodes - 1.0) + turning
}

/// M02 Eqs. 4 and 5: (N-1)/hot x B_eff, what a link or B-Link that carries `hot` packets leaves to each node.
pub fn bandwidth_cube(nodes: f64, hot: f64, effective: f64) -> f64 {
    (nodes - 1.0) / hot * effective
}

/// M02 Eq. 6: mean packets over each of `channels` directed inter-switch links (j ports on each of S switches:
/// `channels` = jS), N(N-k) h / (jS).
pub fn hot_link_switches(nodes: f64, nodes_per_switch: f64, hops: f64, channels: f64) -> f64 {
    nodes * (nodes - nodes_per_switch) * hops / channels
}

/// M02 Eq. 7: mean hops between two distinct switches of a linear array. (S+1)/3 gives 1 for two switches as well.
pub fn hops_array(switches: f64) -> f64 {
    (switches + 1.0) / 3.0
}

/// M02 Eq. 8: mean hops between two distinct switches of a ring, floor(S^2/4)/(S-1).
pub fn hops_ring(switches: f64) -> f64 {
    (switches * switches / 4.0).floor() / (switches - 1.0)
}

/// M02 Eq. 9: Myrinet's packet efficiency M/(M+h+6).
pub fn efficiency_myrinet(message_bytes: f64, hops: f64) -> f64 {
    message_bytes / (message_bytes + hops + 6.0)
}

/// M02 Eq. 10: (N-k)/hot x B_eff, what a node sends to other switches; never more than its own link carries.
pub fn bandwidth_switch_to_switch(nodes: f64, nodes_per_switch: f64, hot: f64, effective: f64, host_link: f64) -> f64 {
    ((nodes - nodes_per_switch) / hot * effective).min(host_link)
}

/// M02 Eq. 12 (with Eq. 11, B_same = B_eff): the mean over a node's N-1 partners, ((N-k) B_sw2sw + (k-1) B_same)/(N-1).
/// The code's form gives exactly B for equal bandwidths B.
pub fn bandwidth_overall(nodes: f64, nodes_per_switch: f64, sw2sw: f64, same_switch: f64) -> f64 {
    same_switch - (nodes - nodes_per_switch) / (nodes - 1.0) * (same_switch - sw2sw)
}

/// What one resource alone would let each node send.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The resource's kind.
    pub role: Role,
    /// Its name.
    pub resource: String,
    /// MB/s per node.
    pub mbps: f64,
}

/// A closed form's result with every term on the path. Terms that the topology does not have are `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct FormResult {
    /// Nodes asked for.
    pub nodes: u32,
    /// Nodes of the model: r^f for a padded cube.
    pub nodes_built: u64,
    /// Eq. 1 or 6: packets over a link (Eq. 6: the mean over inter-switch links).
    pub hot_link: Option<f64>,
    /// Eq. 2.
    pub hot_b_link: Option<f64>,
    /// S.
    pub switches: Option<u32>,
    /// k, as the mean over nodes of the nodes on a node's own switch.
    pub nodes_per_switch: Option<f64>,
    /// k as the mean over switches, and the bandwidth per node in MB/s by that reading, where it differs.
    pub by_switches: Option<(f64, f64)>,
    /// h: mean hops between distinct switches.
    pub hops: Option<f64>,
    /// Mean time of a message's head through the idle network, over all pairs of nodes, in microseconds. It sums the
    /// resources on its path, without software and without the time of its bytes.
    pub idle_us: f64,
    /// Packet efficiency on links under [`Capacities::Theoretical`].
    pub efficiency: f64,
    /// Eq. 10, MB/s.
    pub sw2sw_mbps: Option<f64>,
    /// Eq. 11, MB/s.
    pub same_switch_mbps: Option<f64>,
    /// What each resource alone would allow.
    pub limits: Vec<Limit>,
    /// What each node sends, MB/s.
    pub bandwidth_per_node_mbps: f64,
    /// The resource that holds it back.
    pub limiting_resource: String,
}

impl FormResult {
    /// What each node sends at once, in MB/s, where all links between switches carry the mean load of Eq. 6. It is N R
    /// over that load, as a load count has it. Eq. 12 is a mean of bandwidths. Cubes have no other (Eqs. 4 and 5).
    pub fn links_averaged_mbps(&self) -> f64 {
        let nodes = f64::from(self.nodes);
        match (self.sw2sw_mbps, self.same_switch_mbps, self.nodes_per_switch) {
            (Some(between), Some(same), Some(k)) if between < same => {
                let limits = self.limits.iter().filter(|limit| Role::HOST.contains(&limit.role));
                let device = limits.map(|limit| limit.mbps).fold(same, f64::min);
                (between * (nodes - 1.0) / (nodes - k)).min(device)
            }
            _ => self.bandwidth_per_node_mbps,
        }
    }
}

/// The closed form for `nodes` nodes of `spec` under all-to-all traffic of messages of `message_bytes`.
///
/// `None` where M02 has no equation: fewer than two nodes, several switches with a rate, links without one, or another
/// topology. M02 has cubes of one-way rings, arrays and rings of switches, Clos64 (up to 128 nodes) and one crossbar.
pub fn for_fabric(spec: &FabricSpec, nodes: u32, capacities: Capacities, message_bytes: u64) -> Option<FormResult> {
    if nodes < 2 {
        return None;
    }
    let case = Case { spec, nodes, capacities, message_bytes };
    let topology = &spec.topology;
    if let Some(cube @ CubeSpec { bidirectional: false, nodes_per_router: 1, host_links: false, .. }) = topology.get() {
        return case.cube(radix(nodes, cube.dimensions, &cube.extents)?, cube.dimensions, cube.b_link);
    }
    let switches = if let Some(array) = topology.get() {
        Switches::array(nodes, array)?
    } else if let Some(ring) = topology.get() {
        Switches::ring(nodes, ring)?
    } else if topology.is::<Clos64>() {
        Switches::clos64(nodes)?
    } else if topology.get().is_some_and(|crossbar: &Crossbar| nodes <= crossbar.ports) {
        Switches::one(nodes)
    } else {
        return None;
    };
    case.switched(&switches)
}

/// Whether Eqs. 6 to 12 describe these nodes: several switches in an array, a ring or a Clos64.
pub fn describe_switches(spec: &FabricSpec, nodes: u32) -> bool {
    let form = for_fabric(spec, nodes, Capacities::Measured, MESSAGE_BYTES);
    form.is_some_and(|form| form.sw2sw_mbps.is_some())
}

/// r of the cube that holds `nodes` nodes; `None` if its extents are not all r.
fn radix(nodes: u32, dimensions: u32, extents: &Extents) -> Option<u32> {
    let whole = |r: u32| u64::from(r).checked_pow(dimensions);
    let r = match extents {
        Extents::Fixed(list) => *list.first()?,
        _ => (1..).find(|r| whole(*r).is_none_or(|built| built >= u64::from(nodes)))?,
    };
    let exact = whole(r) == Some(u64::from(nodes));
    match extents {
        Extents::PaddedCube => Some(r),
        Extents::Balanced => (dimensions == 1 || exact).then_some(r),
        Extents::Fixed(list) => (exact && list.iter().all(|extent| *extent == r)).then_some(r),
    }
}

/// One question to the equations.
struct Case<'a> {
    spec: &'a FabricSpec,
    nodes: u32,
    capacities: Capacities,
    message_bytes: u64,
}

impl Case<'_> {
    /// Payload rate in MB/s over `switches` switches.
    fn rate(&self, role: Role, switches: f64) -> Option<f64> {
        let of_packets = self.spec.packet().efficiency(self.message_bytes, switches);
        let efficiency = if role.carries_packets() { of_packets } else { 1.0 };
        Some(self.spec.own_resource(role)?.payload_rate(self.capacities, efficiency)? / 1e6)
    }

    fn limit(&self, role: Role, mbps: f64) -> Limit {
        Limit { role, resource: self.spec.resources[&role].name.clone(), mbps }
    }

    /// What the node's own devices allow: it sends B and receives B, through one rate where they are half duplex.
    fn host_limits(&self) -> Vec<Limit> {
        let rated = Role::HOST.into_iter().filter_map(|role| Some((role, self.rate(role, 0.0)?)));
        let shared = |role: &Role| if self.spec.resources[role].half_duplex { 2.0 } else { 1.0 };
        rated.map(|(role, rate)| self.limit(role, rate / shared(&role))).collect()
    }

    /// Eqs. 1-5.
    fn cube(&self, radix: u32, dimensions: u32, b_link: bool) -> Option<FormResult> {
        let built = u64::from(radix).checked_pow(dimensions)?;
        let (n, r) = (built as f64, f64::from(radix));
        let hot_link = hot_link_cube(n, r);
        let mut limits = vec![self.limit(Role::Link, bandwidth_cube(n, hot_link, self.rate(Role::Link, 0.0)?))];
        let hot_b_link = b_link.then(|| hot_b_link(n, r, dimensions));
        if let (Some(hot), Some(rate)) = (hot_b_link, self.rate(Role::BLink, 0.0)) {
            limits.push(self.limit(Role::BLink, bandwidth_cube(n, hot, rate)));
        }
        // A message goes f N (r-1)/2 / (N-1) links on average, over rings of f N (r-1)/r / (N-1) dimensions.
        let (f, others) = (f64::from(dimensions), n - 1.0);
        let (links, rings) = (f * hot_link / others, f * n * (r - 1.0) / r / others);
        // Routers are all alike.
        let router = self.rate(Role::Switch, 0.0).filter(|_| !b_link);
        limits.extend(router.map(|rate| self.limit(Role::Switch, rate / (links + 1.0))));
        limits.extend(self.host_limits());
        let least = least(&limits)?.clone();
        let way = match hot_b_link {
            Some(hot) => vec![
                (Role::Internal, 2.0 + 2.0 * rings),
                (Role::BLink, hot / others),
                (Role::RingStop, links + rings),
                (Role::Link, links),
            ],
            None => vec![(Role::Internal, 2.0), (Role::Switch, links + 1.0), (Role::Link, links)],
        };
        Some(FormResult {
            nodes: self.nodes,
            nodes_built: built,
            hot_link: Some(hot_link),
            hot_b_link,
            switches: None,
            nodes_per_switch: None,
            by_switches: None,
            hops: None,
            idle_us: self.idle_us(&way),
            efficiency: self.spec.packet().efficiency(self.message_bytes, 0.0),
            sw2sw_mbps: None,
            same_switch_mbps: None,
            limits,
            bandwidth_per_node_mbps: least.mbps,
            limiting_resource: least.resource,
        })
    }

    /// Latency of both hosts and of the resources on the path, each as often as it is passed.
    fn idle_us(&self, way: &[(Role, f64)]) -> f64 {
        // What a node receives does not pass the engine that sends.
        let passed = |role: Role| if role == Role::Engine { 1.0 } else { 2.0 };
        let hosts = Role::HOST.into_iter().filter(|role| self.spec.resources.contains_key(role));
        let all = hosts.map(|role| (role, passed(role))).chain(way.iter().copied().filter(|(_, times)| *times > 0.0));
        all.filter_map(|(role, times)| Some(times * self.spec.resource(role)?.latency().value.us())).sum()
    }

    /// Eqs. 6-12.
    fn switched(&self, switches: &Switches) -> Option<FormResult> {
        let (n, count, h) = (f64::from(self.nodes), switches.count(), switches.hops);
        let k = switches.held.iter().map(|&held| f64::from(held) * f64::from(held)).sum::<f64>() / n;
        let same_switch = self.rate(Role::Link, h + 1.0)?;
        let host = self.host_limits();
        let device = least(&host).map_or(f64::INFINITY, |device| device.mbps);
        let mut limits = vec![self.limit(Role::Link, same_switch)];
        match self.rate(Role::Switch, h + 1.0) {
            Some(_) if count > 1.0 => return None,
            rate => limits.extend(rate.map(|rate| self.limit(Role::Switch, rate / n))),
        }
        let (mut bandwidth, mut hot_link, mut sw2sw, mut by_switches) = (least(&limits)?.mbps, None, None, None);
        if count > 1.0 {
            let role = if self.spec.resources.contains_key(&Role::SwitchLink) { Role::SwitchLink } else { Role::Link };
            let rate = self.rate(role, h + 1.0)?;
            let of = |k: f64, h: f64| {
                let hot = hot_link_switches(n, k, h, switches.channels);
                let between = bandwidth_switch_to_switch(n, k, hot, rate, same_switch);
                (hot, between, bandwidth_overall(n, k, between, same_switch))
            };
            let (hot, between, overall) = of(k, h);
            if between < same_switch {
                limits.push(self.limit(role, between));
            }
            let mean = n / count;
            by_switches = (mean < k).then(|| (mean, of(mean, switches.even_hops).2.min(device)));
            (bandwidth, hot_link, sw2sw) = (overall, Some(hot), Some(between));
        }
        let mut limiting_resource = least(&limits)?.resource.clone();
        if let Some(device) = least(&host).filter(|device| device.mbps < bandwidth) {
            (bandwidth, limiting_resource) = (device.mbps, device.resource.clone());
        }
        limits.extend(host);
        Some(FormResult {
            nodes: self.nodes,
            nodes_built: u64::from(self.nodes),
            hot_link,
            hot_b_link: None,
            switches: Some(switches.held.len() as u32),
            nodes_per_switch: Some(k),
            by_switches,
            hops: Some(h),
            idle_us: self.idle_us(&switches.way),
            efficiency: self.spec.packet().efficiency(self.message_bytes, h + 1.0),
            sw2sw_mbps: sw2sw,
            same_switch_mbps: Some(same_switch),
            limits,
            bandwidth_per_node_mbps: bandwidth,
            limiting_resource,
        })
    }
}

/// The first of the smallest.
fn least(limits: &[Limit]) -> Option<&Limit> {
    limits.iter().reduce(|least, limit| if limit.mbps < least.mbps { limit } else { least })
}

/// Switches filled in order.
struct Switches {
    /// Nodes on each: there are S.
    held: Vec<u32>,
    /// h.
    hops: f64,
    /// h with every pair of switches weighed alike.
    even_hops: f64,
    /// jS.
    channels: f64,
    /// What a message passes on average over all pairs of nodes.
    way: Vec<(Role, f64)>,
}

impl Switches {
    /// One crossbar for all: no hop between switches.
    fn one(nodes: u32) -> Switches {
        let way = vec![(Role::Link, 2.0), (Role::Switch, 1.0)];
        Switches { held: vec![nodes], hops: 0.0, even_hops: 0.0, channels: 0.0, way }
    }

    /// S.
    fn count(&self) -> f64 {
        self.held.len() as f64
    }

    /// A line or ring of switches; `distances` sums hops over ordered pairs of nodes on distinct switches. Where
    /// `groups` are stated, h is their mean.
    fn joined(held: Vec<u32>, even_hops: f64, channels: f64, distances: f64, groups: &[u32]) -> Switches {
        let nodes: f64 = held.iter().map(|&held| f64::from(held)).sum();
        let within: f64 = held.iter().map(|&held| f64::from(held) * f64::from(held)).sum();
        let passed = distances / (nodes * (nodes - 1.0));
        let way = vec![(Role::Link, 2.0), (Role::SwitchLink, passed), (Role::Switch, passed + 1.0)];
        let hops = if groups.is_empty() { even_hops } else { distances / (nodes * nodes - within) };
        Switches { held, hops, even_hops, channels, way }
    }

    /// A line: the ends have one neighbour, the others two.
    fn array(nodes: u32, of: &SwitchArray) -> Option<Switches> {
        let &SwitchArray { ports, links, ref groups } = of;
        if nodes <= ports && groups.is_empty() {
            return Some(Switches::one(nodes));
        }
        let (end, inner) = (ports.checked_sub(links)?, ports.checked_sub(2 * links).filter(|ports| *ports > 0)?);
        let count = 2 + nodes.saturating_sub(2 * end).div_ceil(inner);
        let held = filled(nodes, groups, (0..count).map(|s| if s == 0 || s + 1 == count { end } else { inner }))?;
        if held.len() == 1 {
            return Some(Switches::one(nodes));
        }
        let count = held.len() as f64;
        let mut distances = 0.0;
        // Nodes so far, and the sum of their places.
        let (mut before, mut places) = (0.0, 0.0);
        for (place, &k) in held.iter().enumerate() {
            let (place, k) = (place as f64, f64::from(k));
            distances += 2.0 * k * (place * before - places);
            (before, places) = (before + k, places + k * place);
        }
        let channels = 2.0 * f64::from(links) * (count - 1.0);
        Some(Switches::joined(held, hops_array(count), channels, distances, groups))
    }

    /// A ring: two switches are one adjacent pair; from three on each has two neighbours.
    fn ring(nodes: u32, of: &SwitchRing) -> Option<Switches> {
        let &SwitchRing { ports, links, links_per_switch, ref groups } = of;
        if nodes <= ports && groups.is_empty() {
            return Some(Switches::one(nodes));
        }
        let pair = ports.checked_sub(links).filter(|ports| *ports > 0)?;
        let around = if links_per_switch { links } else { 2 * links };
        let each = ports.checked_sub(around).filter(|ports| *ports > 0)?;
        let (count, each) = if nodes <= 2 * pair { (2, pair) } else { (nodes.div_ceil(each), each) };
        let held = filled(nodes, groups, (0..count).map(|_| each))?;
        let count = held.len();
        let used = match count {
            1 => return Some(Switches::one(nodes)),
            2 => links,
            _ => around,
        };
        // Sums of nodes and of nodes times places, twice around.
        let twice = || held.iter().chain(&held).map(|&k| f64::from(k)).enumerate();
        let sums = twice().scan([0.0; 2], |sums, (place, k)| {
            *sums = [sums[0] + k, sums[1] + k * place as f64];
            Some(*sums)
        });
        let sums: Vec<[f64; 2]> = sums.collect();
        // Both ways to all that are nearer than half the ring; once to the one opposite.
        let near = (count - 1) / 2;
        let distances = (0..count).map(|place| {
            let [first, last] = [sums[place], sums[place + near]];
            let onward = last[1] - first[1] - place as f64 * (last[0] - first[0]);
            let opposite = f64::from(held[(place + count / 2) % count]) * (count / 2) as f64;
            f64::from(held[place]) * (2.0 * onward + if count.is_multiple_of(2) { opposite } else { 0.0 })
        });
        let (distances, s) = (distances.sum(), count as f64);
        Some(Switches::joined(held, hops_ring(s), f64::from(used) * s, distances, groups))
    }

    /// Clos64: 8 node ports and 8 switch ports per crossbar, h = 1, at most two enclosures of 64.
    fn clos64(nodes: u32) -> Option<Switches> {
        let count = Some(nodes.div_ceil(8)).filter(|_| nodes <= 128)?;
        let held = filled(nodes, &[], (0..count).map(|_| 8))?;
        let hops = if count > 1 { 1.0 } else { 0.0 };
        let pairs = f64::from(nodes) * f64::from(nodes - 1);
        let within: f64 = held.iter().map(|&k| f64::from(k) * f64::from(k - 1)).sum();
        let across = 2.0 * f64::from(nodes.min(64)) * f64::from(nodes.saturating_sub(64)) / pairs;
        let others = 1.0 - within / pairs;
        // Leaf, spine, leaf; in the other enclosure leaf, spine, spine, leaf.
        let way = vec![
            (Role::Link, 2.0),
            (Role::SwitchLink, 2.0 * others),
            (Role::GlobalLink, across),
            (Role::Switch, 1.0 + 2.0 * others + across),
        ];
        Some(Switches { held, hops, even_hops: hops, channels: 8.0 * f64::from(count), way })
    }
}

/// Nodes on each switch that has any. They fill `groups` in order, or `usual` if empty. `None` if there are more nodes.
fn filled(nodes: u32, groups: &[u32], usual: impl Iterator<Item = u32>) -> Option<Vec<u32>> {
    let mut left = nodes;
    let mut fill = |held: u32| {
        let held = held.min(left);
        left -= held;
        held
    };
    let held: Vec<u32> = match groups.is_empty() {
        true => usual.map(&mut fill).collect(),
        false => groups.iter().map(|&held| fill(held)).filter(|&held| held > 0).collect(),
    };
    (left == 0).then_some(held)
}
