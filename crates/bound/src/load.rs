//! From load to bandwidth: what each kind of resource lets a node send, and the one that limits.
//!
//! A node sends F messages while the hottest resource of a kind carries L of them. It gets F / L of that resource's
//! payload rate (M02 Eqs. 4 and 5). Where a study averages over the links of a kind (M02 Eqs. 6 to 12), the bounds have
//! both the average and the hottest.

use crate::Peak;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Node, Resource, Vertex};
use hotlink_fabric::spec::{Capacities, Role};
use hotlink_load::Load;
use std::collections::{BTreeMap, BTreeSet};

/// What the resources of one role allow.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleBound {
    /// The role.
    pub role: Role,
    /// What it is called: `SCI link`; and whether the hottest is slower than others of the role.
    pub name: String,
    /// How many resources have the role.
    pub resources: usize,
    /// Greatest load of one of them, in messages.
    pub hottest_load: f64,
    /// The first resource with that load (relative to its rate).
    pub hottest: Resource,
    /// How many carry that load (to one part in 10^9).
    pub sharing: usize,
    /// Load averaged over those resources of the role that carry any.
    pub average_load: f64,
    /// Payload rate of the hottest, MB/s (10^6 bytes per second); `None`: never a limit.
    pub payload_mbps: Option<f64>,
    /// Bandwidth per node when the hottest is saturated, MB/s.
    pub bandwidth_per_node_mbps: Option<f64>,
    /// Bandwidth per node if all that carry load carried the average, MB/s.
    pub average_bandwidth_per_node_mbps: Option<f64>,
}

/// What a fabric allows each node under a traffic pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// Messages that a sending node sends (mean over the nodes that send).
    pub flow_per_node: f64,
    /// Mean number of switches on a route, weighted by flow.
    pub switches_per_route: f64,
    /// Packet efficiency used for theoretical capacities.
    pub efficiency: f64,
    /// One entry per role that carries load, in order of the roles.
    pub roles: Vec<RoleBound>,
    /// Index in `roles` of the one that limits.
    pub limit: Option<usize>,
    /// Bandwidth per sending node, MB/s (10^6 bytes per second); infinite if nothing limits.
    pub bandwidth_per_node_mbps: f64,
    /// Where nodes share a host: the same if only their own ways out of it limited.
    out_of_hosts_mbps: Option<f64>,
}

impl Bounds {
    /// The rate at which a node's own devices let it send the pattern, MB/s. Where hosts hold several nodes (GPUs), that
    /// is what its NIC carries of it; what stays within a host takes nothing of that.
    pub fn injection_mbps(&self, fabric: &Fabric, capacities: Capacities) -> Option<f64> {
        self.out_of_hosts_mbps.or_else(|| fabric.injection_mbps(capacities, self.efficiency))
    }

    /// Whether that counts the node's NIC alone.
    pub fn is_of_nics(&self) -> bool {
        self.out_of_hosts_mbps.is_some()
    }

    /// The role that limits, with its hottest resource.
    pub fn limiting(&self) -> Option<&RoleBound> {
        self.limit.map(|i| &self.roles[i])
    }

    /// The same, of the nodes' own devices and links alone.
    #[must_use]
    pub fn at_the_ends(mut self) -> Bounds {
        self.roles.retain(|role| !matches!(role.role, Role::SwitchLink | Role::GlobalLink));
        let limits = self.roles.iter().enumerate().filter_map(|(at, role)| Some((at, role.bandwidth_per_node_mbps?)));
        let least = limits.min_by(|a, b| a.1.total_cmp(&b.1));
        self.limit = least.map(|(at, _)| at);
        self.bandwidth_per_node_mbps = least.map_or(f64::INFINITY, |(_, mbps)| mbps);
        self
    }

    /// The same where `mbps` is what each sending node gets, set by `hottest` of the fabric where that is known.
    #[must_use]
    pub fn set_by(mut self, fabric: &Fabric, mbps: f64, hottest: Option<Resource>) -> Bounds {
        self.bandwidth_per_node_mbps = mbps;
        let place = |role: Role| self.roles.iter().position(|one| one.role == role);
        if let Some((at, hottest)) = hottest.and_then(|hottest| Some((place(fabric.network.role(hottest))?, hottest))) {
            self.limit = Some(at);
            self.roles[at].hottest = hottest;
            self.roles[at].name = name_of(fabric, hottest);
            self.roles[at].bandwidth_per_node_mbps = Some(mbps);
        }
        self
    }

    /// The rate of each sending node, and what sets it; infinite where nothing does.
    pub fn per_node(&self) -> Peak {
        let name = self.limiting().map_or("", |limit| limit.name.as_str());
        Peak::new(self.bandwidth_per_node_mbps, name)
    }
}

/// Running figures of one role.
struct Tally {
    resources: usize,
    used: usize,
    total: f64,
    hottest: Resource,
    hottest_load: f64,
    /// Load over gross rate where rates differ, else the load.
    pressure: f64,
    total_pressure: f64,
    sharing: usize,
}

/// A load as its bound sees it.
pub trait Limited {
    /// Bounds under `capacities` for messages of `message_bytes`.
    fn bounds(&self, fabric: &Fabric, capacities: Capacities, message_bytes: u64) -> Bounds;
}

impl Limited for Load {
    fn bounds(&self, fabric: &Fabric, capacities: Capacities, message_bytes: u64) -> Bounds {
        let total: f64 = self.sent.iter().sum();
        let senders = self.sent.iter().filter(|&&sent| sent > 0.0).count();
        let flow_per_node = if senders > 0 { total / senders as f64 } else { 0.0 };
        let switches_per_route = switches_per_route(self, fabric, total);
        let efficiency = fabric.spec.packet().efficiency(message_bytes, switches_per_route);
        let mut roles = Vec::new();
        for (role, tally) in tallies(self, fabric) {
            roles.push(role_bound(fabric, (capacities, efficiency), flow_per_node, role, &tally));
        }
        let limits = roles.iter().enumerate().filter_map(|(i, role)| Some((i, role.bandwidth_per_node_mbps?)));
        let least = limits.min_by(|a, b| a.1.total_cmp(&b.1));
        Bounds {
            flow_per_node,
            switches_per_route,
            efficiency,
            limit: least.map(|(i, _)| i),
            bandwidth_per_node_mbps: least.map_or(f64::INFINITY, |(_, mbps)| mbps),
            out_of_hosts_mbps: out_of_hosts(self, fabric, (capacities, efficiency)).map(|mbps| mbps * flow_per_node),
            roles,
        }
    }
}

/// What each message may have at most of a node's own bus to its NIC and of the link from it, MB/s. The NICs of other nodes
/// of the host, which routes may take, are not the node's own. Where nothing leaves a host, its own links count. `None`
/// where a host is one node.
fn out_of_hosts(load: &Load, fabric: &Fabric, (capacities, efficiency): (Capacities, f64)) -> Option<f64> {
    let network = &fabric.network;
    if !network.channel_role.contains(&Role::LocalLink) {
        return None;
    }
    let leads_out = |channel: &Channel| {
        let to = network.to(*channel);
        match network.channel_role[channel.0 as usize] {
            Role::HostBus => !network.is_node(to),
            Role::Link => network.vertex_role[to.0 as usize] == Role::Switch,
            _ => false,
        }
    };
    let channels = |of: &dyn Fn(&Channel) -> bool, carried: &dyn Fn(Channel) -> f64| {
        let share = |channel: Channel| {
            let rate = fabric.payload_mbps(Resource::Channel(channel), capacities, efficiency)?;
            Some(carried(channel)).filter(|&carried| carried > 0.0).map(|carried| rate / carried)
        };
        (0..network.channels() as u32).map(Channel).filter(of).filter_map(share).min_by(f64::total_cmp)
    };
    let most = load.sent_out.iter().copied().fold(0.0, f64::max);
    channels(&leads_out, &|_| most).or_else(|| {
        // Links into a receiver carry what others send.
        let behind = |node: Node| network.out(node.vertex()).map(|channel| network.to(channel));
        let own: BTreeSet<Vertex> = network.node_iter().flat_map(|node| behind(node).chain([node.vertex()])).collect();
        let is_local = |channel: &Channel| {
            network.channel_role[channel.0 as usize] == Role::LocalLink && own.contains(&network.from(*channel))
        };
        channels(&is_local, &|channel| load.of(fabric, Resource::Channel(channel)))
    })
}

fn switches_per_route(load: &Load, fabric: &Fabric, total: f64) -> f64 {
    let through = load.vertex.iter().zip(&fabric.network.vertex_role);
    let switched: f64 = through.filter(|(_, role)| **role == Role::Switch).map(|(carried, _)| carried).sum();
    if total > 0.0 { switched / total } else { 0.0 }
}

fn tallies(carried: &Load, fabric: &Fabric) -> BTreeMap<Role, Tally> {
    let network = &fabric.network;
    let mut tallies = BTreeMap::new();
    for resource in network.resources() {
        let load = carried.of(fabric, resource);
        let role = network.role(resource);
        let pressure = match network.overrides.is_empty() {
            true => load,
            false => fabric.gross(resource).map_or(0.0, |rate| load / rate.mbps()),
        };
        let tally = tallies.entry(role).or_insert(Tally {
            resources: 0,
            used: 0,
            total: 0.0,
            hottest: resource,
            hottest_load: 0.0,
            pressure: 0.0,
            total_pressure: 0.0,
            sharing: 0,
        });
        tally.add(resource, load, pressure);
    }
    tallies.retain(|_, tally| tally.total > 0.0);
    tallies
}

/// How the name of a resource ends that is slower than most of its role.
pub const SLOWER: &str = ", a slower one";

/// What a resource is called by its role, and whether it is slower than others of it.
fn name_of(fabric: &Fabric, resource: Resource) -> String {
    let role = fabric.network.role(resource);
    let usual = fabric.spec.resource(role).and_then(|spec| spec.gross()).map(|rate| rate.value);
    let is_slower = usual.zip(fabric.gross(resource)).is_some_and(|(usual, own)| own < usual);
    fabric.role_name(role) + if is_slower { SLOWER } else { "" }
}

fn role_bound(
    fabric: &Fabric,
    (capacities, efficiency): (Capacities, f64),
    flow_per_node: f64,
    role: Role,
    tally: &Tally,
) -> RoleBound {
    let average_load = tally.total / tally.used as f64;
    let payload_mbps = fabric.payload_mbps(tally.hottest, capacities, efficiency);
    let bandwidth = |load: f64| payload_mbps.map(|mbps| mbps * flow_per_node / load);
    // Where rates differ, what is averaged is the time that a load takes its link.
    let average = match !fabric.network.overrides.is_empty() && tally.pressure > 0.0 {
        true => tally.hottest_load * tally.total_pressure / tally.used as f64 / tally.pressure,
        false => average_load,
    };
    RoleBound {
        role,
        name: name_of(fabric, tally.hottest),
        resources: tally.resources,
        hottest_load: tally.hottest_load,
        hottest: tally.hottest,
        sharing: tally.sharing,
        average_load,
        payload_mbps,
        bandwidth_per_node_mbps: bandwidth(tally.hottest_load),
        average_bandwidth_per_node_mbps: bandwidth(average),
    }
}

impl Tally {
    fn add(&mut self, resource: Resource, load: f64, pressure: f64) {
        self.resources += 1;
        self.used += usize::from(load > 0.0);
        self.total += load;
        self.total_pressure += pressure;
        let slack = 1e-9 * self.pressure.max(pressure);
        if pressure > self.pressure + slack {
            (self.hottest, self.hottest_load, self.pressure, self.sharing) = (resource, load, pressure, 1);
        } else if pressure > 0.0 && pressure >= self.pressure - slack {
            self.sharing += 1;
        }
    }
}
