//! A fabric made ready for packets: rated resources become servers, routes become stages.
//!
//! A [`Stage`] is a server on a packet's path, the lane in which the packet waits, and the latency from this server to
//! the next. That latency includes its own and that of the unrated resources behind it, but no serialisation.

mod broadcast;
mod route;

pub use broadcast::BroadcastTree;
pub use route::{NO_CHOICE, RouteBuffer, Stage};

use crate::error::SimError;
use crate::flow::Settings;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Node, Resource, Vertex};
use hotlink_fabric::routing::Paths;
use hotlink_fabric::spec::{Capacities, Role};
use hotlink_fabric::traffic::Demand;
use hotlink_fabric::units::Rate;
use hotlink_load::{Load, LoadError};

pub use hotlink_event::NONE;

/// Rate of a server that takes no time.
pub const UNLIMITED: Rate = Rate(u64::MAX);

/// What servers of one kind do. Few, so that all stay in the nearest cache.
#[derive(Clone, Debug)]
pub struct Class {
    /// Role of the resource.
    pub role: Role,
    /// Bytes per second, of wire bytes or of payload.
    pub rate: Rate,
    /// Payload crosses without packet overhead (memory, host bus, NIC).
    pub payload_only: bool,
    /// A link of an SCI ring: passing packets before its own, and no back-pressure.
    pub ring: bool,
    /// A switch: it passes packets on cell by cell, as their bytes come.
    pub crossbar: bool,
    /// Buffer behind the server, per lane, in bytes.
    pub buffer: u32,
}

/// A fabric's servers.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The fabric.
    pub fabric: &'a Fabric,
    /// Lanes of every server: a power of two, as a shift.
    pub lane_shift: u32,
    /// First lane for packets that enter the network at a server, which are served after those that pass: half the
    /// lanes. The buffer behind a server is accounted on the lanes below.
    pub own_lanes: u32,
    /// Virtual channels of a link.
    pub channels_each: u32,
    /// Those of them that are alike: a packet takes whichever is free (adaptive routing).
    pub alike: u32,
    /// Kinds of server.
    pub classes: Vec<Class>,
    /// Class of each server.
    pub server_class: Vec<u8>,
    /// The resource that each server stands for, as a number: channels, then vertices, then hosts' roles. A third of
    /// the memory of a [`Resource`].
    resource_number: Vec<u32>,
    channel: Vec<Crossing>,
    vertex: Vec<Crossing>,
    /// Per node and host role: the server for sending, the server for receiving.
    host_server: Vec<[u32; 2]>,
    /// Per host role: the latency of sending and of receiving.
    host_latency: Vec<[u32; 2]>,
    /// A server that takes no time, for paths on which nothing has a rate.
    unlimited: u32,
    /// Largest payload of a packet in bytes.
    pub packet_bytes: u32,
    /// Wire bytes of a packet beyond its payload, and for each switch on its path.
    overhead: (f64, f64),
    /// Latency once round the ring of each SCI ring link, by server (empty without rings).
    pub ring_ps: Vec<u32>,
    paths: Paths,
    /// Packets set out on minimal paths, in any routing.
    minimal_first: bool,
    seed: u64,
}

/// What a packet meets in a channel or device, side by side, since each hop asks for both.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    /// [`NONE`] if it has no rate.
    server: u32,
    latency_ps: u32,
}

const FREE: Crossing = Crossing { server: NONE, latency_ps: 0 };

impl<'a> Plan<'a> {
    /// The largest buffer behind a channel.
    pub(crate) fn largest_buffer(&self) -> i32 {
        let servers = self.channel.iter().map(|channel| channel.server).filter(|&server| server != NONE);
        let buffers = servers.map(|server| self.classes[self.server_class[server as usize] as usize].buffer as i32);
        buffers.max().unwrap_or(0)
    }

    /// Prepares `fabric` under `settings`.
    ///
    /// # Errors
    /// A latency beyond 4 ms, more than 8 lanes, more than 256 different rates, or worms through switches that have a
    /// rate.
    pub fn new(fabric: &'a Fabric, settings: &Settings) -> Result<Plan<'a>, SimError> {
        let spec = &fabric.spec;
        let alike = alike(fabric, settings)?;
        let channels_each = u32::from(fabric.routing.virtual_channels()) * alike;
        let lane_shift = (2 * lanes(fabric).max(channels_each)).next_power_of_two().trailing_zeros();
        let mut plan = Plan {
            fabric,
            lane_shift,
            own_lanes: 1 << (lane_shift - 1),
            channels_each,
            alike,
            classes: Vec::new(),
            server_class: Vec::new(),
            resource_number: Vec::new(),
            channel: vec![FREE; fabric.network.channels()],
            vertex: vec![FREE; fabric.network.vertices()],
            host_server: Vec::new(),
            host_latency: Vec::new(),
            unlimited: NONE,
            packet_bytes: settings.payload_max(spec),
            overhead: (spec.packet.overhead_bytes.value, spec.packet.overhead_per_hop_bytes.value),
            ring_ps: Vec::new(),
            paths: hotlink_load::paths_on(fabric, settings.paths),
            minimal_first: settings.detours.is_some(),
            seed: settings.seed,
        };
        if plan.lane_shift > 4 {
            return Err(SimError::Input(format!("{} lanes for each resource: at most 8 are allowed", lanes(fabric))));
        }
        let most_overhead = plan.overhead.0 + plan.overhead.1 * f64::from(u8::MAX);
        if !(0.0..=f64::from(u16::MAX)).contains(&most_overhead) {
            let what = format!("{most_overhead} B of overhead on a packet; the packet simulator allows up to 65535 B");
            return Err(SimError::Input(what));
        }
        plan.add_latencies()?;
        plan.add_servers(settings)?;
        if spec.flow_control.is_wormhole() && plan.classes.iter().any(|class| class.crossbar) {
            let what = "resource.switch.gross: worms would hold the whole switch; leave it out to simulate them";
            return Err(SimError::Input(what.to_owned()));
        }
        plan.add_rings();
        Ok(plan)
    }

    /// The load of `demand` on the routes that packets of this plan take.
    ///
    /// # Errors
    /// As [`hotlink_load::count_paths`].
    pub fn count(&self, demand: &Demand) -> Result<Load, LoadError> {
        hotlink_load::count_paths(self.fabric, demand, self.paths, self.seed)
    }

    /// Number of servers.
    pub fn servers(&self) -> usize {
        self.server_class.len()
    }

    /// The resource that a server stands for.
    pub fn server_resource(&self, server: u32) -> Resource {
        let network = &self.fabric.network;
        let (channels, vertices, roles) = (network.channels(), network.vertices(), network.host_roles.len());
        let number = self.resource_number[server as usize] as usize;
        if number < channels {
            return Resource::Channel(Channel(number as u32));
        }
        if number < channels + vertices {
            return Resource::Vertex(Vertex((number - channels) as u32));
        }
        let host = number - channels - vertices;
        Resource::Host(Node((host / roles) as u32), network.host_roles[host % roles])
    }

    fn number_of(&self, resource: Resource) -> u32 {
        let network = &self.fabric.network;
        let (channels, vertices, roles) = (network.channels(), network.vertices(), &network.host_roles);
        match resource {
            Resource::Channel(channel) => channel.0,
            Resource::Vertex(vertex) => channels as u32 + vertex.0,
            Resource::Host(node, role) => {
                let place = roles.iter().position(|&own| own == role).unwrap_or(0);
                (channels + vertices + node.0 as usize * roles.len() + place) as u32
            }
        }
    }

    /// Name of a server for people.
    pub fn server_name(&self, server: u32) -> String {
        match server {
            _ if server == self.unlimited => "no limit".to_owned(),
            _ => self.fabric.resource_name(self.server_resource(server)),
        }
    }

    /// The rate of a stage's server.
    pub(crate) fn rate_of(&self, stage: Stage) -> Rate {
        self.class(stage).rate
    }

    /// What a stage's server does.
    pub(crate) fn class(&self, stage: Stage) -> &Class {
        &self.classes[self.server_class[(stage.lane >> self.lane_shift) as usize] as usize]
    }

    /// The gross rate of a server's resource, even where a measured one exists.
    pub(crate) fn gross_of(&self, server: u32) -> Rate {
        let class = &self.classes[self.server_class[server as usize] as usize];
        self.fabric.gross(self.server_resource(server)).unwrap_or(class.rate)
    }

    /// Wire bytes of a packet of `payload` bytes that crosses `switches` switches.
    pub fn wire_bytes(&self, payload: u32, switches: u32) -> u32 {
        payload + (self.overhead.0 + self.overhead.1 * f64::from(switches)).ceil() as u32
    }

    fn add_latencies(&mut self) -> Result<(), SimError> {
        let network = &self.fabric.network;
        let of = |resource| latency(self.fabric, resource);
        for v in network.nodes..network.vertices() as u32 {
            self.vertex[v as usize].latency_ps = of(Resource::Vertex(Vertex(v)))?;
        }
        for (c, channel) in (0..).zip(&mut self.channel) {
            channel.latency_ps = of(Resource::Channel(Channel(c)))?;
        }
        self.host_latency = network
            .host_roles
            .iter()
            .map(|&role| {
                let latency = of(Resource::Host(Node(0), role))?;
                Ok([latency, if role == Role::Engine { 0 } else { latency }])
            })
            .collect::<Result<_, _>>()?;
        Ok(())
    }

    fn add_servers(&mut self, settings: &Settings) -> Result<(), SimError> {
        let network = &self.fabric.network;
        let most = network.channels() + network.vertices() + 2 * network.host_roles.len() * network.nodes as usize + 1;
        self.server_class.reserve_exact(most);
        self.resource_number.reserve_exact(most);
        for c in 0..network.channels() as u32 {
            let channel = Channel(c);
            let shared = self.half_duplex(network.role(Resource::Channel(channel)));
            let other = if shared { network.reverse(channel).filter(|other| other.0 < c) } else { None };
            self.channel[c as usize].server = match other {
                Some(other) => self.channel[other.0 as usize].server,
                None => self.add_server(Resource::Channel(channel), settings)?,
            };
        }
        for v in network.nodes..network.vertices() as u32 {
            self.vertex[v as usize].server = self.add_server(Resource::Vertex(Vertex(v)), settings)?;
        }
        for node in network.node_iter() {
            for &role in &network.host_roles {
                let send = self.add_server(Resource::Host(node, role), settings)?;
                let receive = match role {
                    Role::Engine => NONE,
                    role if self.half_duplex(role) => send,
                    _ => self.add_server(Resource::Host(node, role), settings)?,
                };
                self.host_server.push([send, receive]);
            }
        }
        let (role, rate) = (Role::LocalLink, UNLIMITED);
        let class = Class { role, rate, payload_only: true, ring: false, crossbar: false, buffer: 0 };
        self.unlimited = self.add_class(Resource::Vertex(Vertex(0)), class)?;
        Ok(())
    }

    fn half_duplex(&self, role: Role) -> bool {
        self.fabric.spec.resource(role).is_some_and(|resource| resource.half_duplex())
    }

    fn add_server(&mut self, resource: Resource, settings: &Settings) -> Result<u32, SimError> {
        match self.class_of(resource, settings) {
            Some(class) => self.add_class(resource, class),
            None => Ok(NONE),
        }
    }

    fn add_class(&mut self, resource: Resource, class: Class) -> Result<u32, SimError> {
        let same = |c: &Class| (c.role, c.rate, c.ring, c.buffer) == (class.role, class.rate, class.ring, class.buffer);
        let index = self.classes.iter().position(same).unwrap_or_else(|| {
            self.classes.push(class);
            self.classes.len() - 1
        });
        let index = u8::try_from(index)
            .map_err(|_| SimError::Input("more than 256 different rates in one fabric: round them".to_owned()))?;
        self.server_class.push(index);
        self.resource_number.push(self.number_of(resource));
        Ok(self.server_class.len() as u32 - 1)
    }

    fn class_of(&self, resource: Resource, settings: &Settings) -> Option<Class> {
        let role = self.fabric.network.role(resource);
        let rate = self.rate(resource, settings.capacities)?;
        Some(Class {
            role,
            rate,
            payload_only: !role.carries_packets(),
            ring: self.is_ring_link(resource),
            crossbar: role == Role::Switch,
            buffer: self.buffer(resource, self.fabric.gross(resource).unwrap_or(rate), settings),
        })
    }

    /// Rate of wire bytes: the gross rate, or what gives full packets the measured payload rate. `None`: never a limit.
    fn rate(&self, resource: Resource, capacities: Capacities) -> Option<Rate> {
        let (spec, role) = (&self.fabric.spec, self.fabric.network.role(resource));
        let stated = spec.resource(role)?;
        let measured = if capacities == Capacities::Measured { stated.measured() } else { None };
        let gross = self.fabric.gross(resource);
        let Some(measured) = measured else { return gross };
        let (own, usual) = match (gross, stated.gross()) {
            (Some(own), Some(usual)) => (own.0, usual.value.0),
            // A link's own value takes precedence over what was measured of all.
            (Some(own), None) => return Some(own),
            // A calibrated machine knows no more than what was measured.
            (None, _) => (1, 1),
        };
        let efficiency = if role.carries_packets() { spec.packet().full_efficiency(0.0) } else { 1.0 };
        Some(Rate((measured.value.0 as f64 / efficiency * own as f64 / usual as f64).floor() as u64))
    }

    fn is_ring_link(&self, resource: Resource) -> bool {
        let network = &self.fabric.network;
        match resource {
            Resource::Channel(c) if self.fabric.spec.flow_control.is_ring() => {
                let role = |v| network.role(Resource::Vertex(v));
                let (from, to) = (network.from(c), network.to(c));
                role(from) == role(to) && !network.is_node(from)
            }
            _ => false,
        }
    }

    /// Bytes behind a server: the buffer of the settings, beyond what is under way at full rate.
    fn buffer(&self, resource: Resource, gross: Rate, settings: &Settings) -> u32 {
        let network = &self.fabric.network;
        let (bytes, latency_ps) = match resource {
            Resource::Channel(c) => {
                let to = network.to(c);
                let bytes = if network.is_node(to) { settings.nic_buffer_bytes } else { settings.switch_buffer_bytes };
                (bytes, self.channel[c.0 as usize].latency_ps + self.vertex[to.0 as usize].latency_ps)
            }
            Resource::Vertex(v) => (settings.switch_buffer_bytes, self.vertex[v.0 as usize].latency_ps),
            Resource::Host(..) => (settings.nic_buffer_bytes, self.host_latency.iter().map(|[send, _]| send).sum()),
        };
        let under_way = (u128::from(gross.0) * u128::from(latency_ps) / 1_000_000_000_000) as u64;
        let bytes = bytes.max(settings.least_buffer(&self.fabric.spec));
        (u64::from(bytes) + under_way).min(1 << 30) as u32
    }

    fn add_rings(&mut self) {
        let links: Vec<u32> = (0..self.servers() as u32).filter(|&s| self.is_ring_server(s)).collect();
        if links.is_empty() {
            return;
        }
        self.ring_ps = vec![0; self.servers()];
        for &first in &links {
            let (mut server, mut sum) = (first, 0);
            for _ in 0..links.len() {
                let Resource::Channel(channel) = self.server_resource(server) else { break };
                let stop = self.fabric.network.to(channel);
                sum += self.channel[channel.0 as usize].latency_ps + self.vertex[stop.0 as usize].latency_ps;
                let onward = self.fabric.network.out(stop).map(|c| self.channel[c.0 as usize].server);
                let Some(next) = onward.into_iter().find(|&s| s != NONE && self.is_ring_server(s)) else { break };
                if next == first {
                    break;
                }
                server = next;
            }
            self.ring_ps[first as usize] = sum;
        }
    }

    fn is_ring_server(&self, server: u32) -> bool {
        self.classes[self.server_class[server as usize] as usize].ring
    }
}

fn latency(fabric: &Fabric, resource: Resource) -> Result<u32, SimError> {
    let ps = fabric.latency(resource).0;
    // A route sums several in 32 bits.
    match u32::try_from(ps) {
        Ok(ps) if ps <= 1 << 28 => Ok(ps),
        _ => Err(SimError::Input(format!(
            "{}: a latency of {ps} ps; the packet simulator allows up to {} ps (0.27 ms)",
            fabric.resource_name(resource),
            1u32 << 28
        ))),
    }
}

/// Virtual channels of each kind that the routing distinguishes. Channels of the fabric's links beyond the routing's
/// needs serve adaptive routing (QsNet: two where an ascent and descent needs one). Where lanes are asked for, they
/// separate packets by destination.
fn alike(fabric: &Fabric, settings: &Settings) -> Result<u32, SimError> {
    let needs = u32::from(fabric.routing.virtual_channels());
    match settings.lanes {
        Some(lanes) if lanes >= needs && lanes <= 8 && lanes.is_multiple_of(needs) => Ok(lanes / needs),
        Some(lanes) => {
            let allowed = (1..=8 / needs.clamp(1, 8)).map(|each| (each * needs).to_string()).collect::<Vec<_>>();
            let what = format!("{lanes} virtual lanes: this routing needs {needs} of each link");
            Err(SimError::Input(format!("{what}; allowed: {}", allowed.join(", "))))
        }
        None if settings.paths != Paths::Adaptive => Ok(1),
        None => {
            let stated = fabric.spec.parameters.get("virtual_channels").map_or(1, |parameter| parameter.value as u32);
            Ok((stated / needs).clamp(1, 8))
        }
    }
}

/// Lanes that the fabric needs: virtual channels, a lane for sending and one for receiving on a shared bus, paths out
/// of a B-Link.
fn lanes(fabric: &Fabric) -> u32 {
    let network = &fabric.network;
    let rated = |role| fabric.spec.resource(role).is_some_and(|r| r.is_rated());
    let exits = (network.nodes..network.vertices() as u32)
        .filter(|&v| rated(network.vertex_role[v as usize]))
        .map(|v| network.out(Vertex(v)).len() as u32);
    let shared = if network.host_roles.is_empty() { 1 } else { 2 };
    // Paths out beyond eight share lanes.
    exits.max().unwrap_or(1).min(8).max(u32::from(fabric.routing.virtual_channels())).max(shared)
}
