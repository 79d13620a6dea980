//! Paths through a plan's servers: one stage after another, from the sender's host to the receiver's.

use super::{Crossing, NONE, Plan, UNLIMITED};
use crate::error::SimError;
use hotlink_fabric::flow_control::Passage;
use hotlink_fabric::network::{Channel, Node, Resource, Vertex};
use hotlink_fabric::rng::mix;
use hotlink_fabric::routing::choice::{Draw, pair_lot};
use hotlink_fabric::routing::{Hop, Paths, State, Trip};
use hotlink_fabric::spec::Role;
use hotlink_fabric::units::{Rate, Time};

/// One step of a route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// Server x lanes + lane.
    pub lane: u32,
    /// Latency, and whether this is the route's last stage, in 32 bits: see [`Stage::latency_ps`].
    pub(crate) word: u32,
}

/// Bit of [`Stage::word`] that marks the last stage of a route.
const LAST: u32 = 1 << 31;

/// [`Stage::word`] of a choice at which a path stays open; the stage after it says where the packet goes
/// ([`Stage::goal`]).
const OPEN: u32 = LAST - 1;

impl Stage {
    /// From the head's start here to its arrival at the next server (or at its destination), in picoseconds.
    #[inline]
    pub fn latency_ps(self) -> u64 {
        u64::from(self.word & !LAST)
    }
    /// Whether the packet is at its destination after this stage.
    #[inline]
    pub fn is_last(self) -> bool {
        self.word & LAST != 0
    }
    /// Whether the path stays open here.
    #[inline]
    pub fn is_open(self) -> bool {
        self.word == OPEN
    }
    /// What stands behind such a stage, so that no message need be read: the destination, the phase at the choice, and
    /// `inner`.
    #[inline]
    pub fn goal(self) -> (Node, u8, bool) {
        (Node(self.lane), (self.word >> 1) as u8, self.word & 1 != 0)
    }
}

/// State of a stage that was the only path on.
pub const NO_CHOICE: State = State { at: Vertex(NONE), phase: 0 };

/// A route being put together; reused so that routing does not allocate.
#[derive(Debug, Default)]
pub struct RouteBuffer {
    /// The stages.
    pub stages: Vec<Stage>,
    /// Where each stage was chosen among several: vertex and phase; [`NO_CHOICE`] elsewhere.
    pub states: Vec<State>,
    /// Switches crossed.
    pub switches: u32,
    /// Latency of the whole path in picoseconds.
    pub latency_ps: u64,
    /// Channels that are down; empty where nothing ever fails.
    pub(crate) down: Vec<bool>,
    /// States from which everything is down, on one search.
    dead: Vec<State>,
    pub(crate) hops: Vec<Hop>,
    /// Whether another choice might have given another path.
    pub(crate) drawn: bool,
    /// Paths end at their first choice: the packet continues its own there.
    pub(crate) stays_open: bool,
    /// There the first path stands for all: no others differ from it in what is asked before the choice.
    pub(crate) takes_first: bool,
    /// The lot of that choice ([`Plan::choice`]).
    pub(crate) lot: u32,
    lead_ps: u32,
    /// No server of the network passed yet.
    pub(super) at_host: bool,
    /// On an SCI ring.
    on_ring: bool,
    /// From adapter to adapter: what lies before them in the hosts is not crossed.
    pub(crate) inner: bool,
}

impl Plan<'_> {
    /// Puts the path of one packet from `from` to `to` into `out`; `choice` picks among equal paths. Where what is down
    /// leaves none by the group that a packet would cross, it goes by another group.
    ///
    /// # Errors
    /// There is no path.
    pub fn route(&self, from: u32, to: u32, choice: u64, out: &mut RouteBuffer) -> Result<(), SimError> {
        let mut found = self.route_on(self.trip(from, to, choice), choice, out);
        let others = if found.is_err() && !out.down.is_empty() { self.fabric.routing.groups() } else { 0 };
        // All of them round-robin, from one that the packet draws.
        for other in (0..others).map(u64::from) {
            if found.is_ok() {
                break;
            }
            found = self.route_on(self.trip_by_another(from, to, (mix(choice) >> 1) + other), choice, out);
        }
        found
    }
    fn route_on(&self, trip: Trip, choice: u64, out: &mut RouteBuffer) -> Result<(), SimError> {
        let from = trip.source.0;
        out.clear();
        self.begin(from, out);
        out.drawn = self.fabric.routing.is_valiant();
        self.walk(State::start(Node(from)), trip, choice, out)
    }
    /// The rest of a path that takes `hop` from where its routing had a choice. The first stage in `out` is that of the
    /// hop. `enters`: the packet has passed nothing of the network yet.
    ///
    /// # Errors
    /// There is no path.
    #[inline]
    pub fn detour(
        &self,
        hop: Hop,
        enters: bool,
        trip: Trip,
        choice: u64,
        out: &mut RouteBuffer,
    ) -> Result<(), SimError> {
        out.clear();
        out.at_host = enters;
        let next = self.cross(self.fabric.network.from(hop.channel), hop, NO_CHOICE, trip, out);
        self.walk(next, trip, choice, out)
    }
    /// The journey of a packet: under Valiant routing by the intermediate group that `choice` draws.
    pub fn trip(&self, from: u32, to: u32, choice: u64) -> Trip {
        match self.fabric.routing.is_valiant() && !self.minimal_first {
            true => self.trip_by_another(from, to, mix(!choice)),
            false => Trip::new(Node(from), Node(to)),
        }
    }
    /// The journey by another group, where the routing is Valiant's and there is one.
    pub(crate) fn trip_by_another(&self, from: u32, to: u32, random: u64) -> Trip {
        let (source, destination) = (Node(from), Node(to));
        let via = self.fabric.routing.choose_via(&self.fabric.attachment, source, destination, random);
        Trip { via, ..Trip::new(source, destination) }
    }
    /// Stages of a path in the sending host.
    pub(crate) fn sending_stages(&self) -> usize {
        (0..self.host_latency.len()).filter(|&role| self.host_server[role][0] != NONE).count()
    }
    /// Stages of a path in the receiving host.
    pub(crate) fn receiving_stages(&self, inner: bool) -> usize {
        let hosts = self.host_latency.len();
        (self.first_role(inner)..hosts).filter(|&role| self.host_server[role][1] != NONE).count()
    }
    /// The server of a channel; [`NONE`] if it has no rate.
    pub fn server_of_channel(&self, channel: Channel) -> u32 {
        self.channel[channel.0 as usize].server
    }
    /// Follows the routing from `state` to the trip's end, or to the first choice if the path stays open there. The
    /// path then ends with the stage that would be drawn, and the goal.
    fn walk(&self, mut state: State, trip: Trip, choice: u64, out: &mut RouteBuffer) -> Result<(), SimError> {
        let mut draw = Draw::new(self.paths, trip.destination, choice >> 32, choice & 0xffff_ffff);
        // A tree does not need them.
        let found = std::cell::OnceCell::new();
        let ways = |trip| found.get_or_init(|| self.fabric.ways(trip));
        // Destinations' tables and what is down need all paths on; else one of them by its number will do.
        let by_number = out.down.is_empty() && self.paths != Paths::Destination;
        let alike = |state| by_number.then(|| self.fabric.alike(state, trip.destination)).flatten();
        while state.at != trip.destination.vertex() {
            let (hop, chosen) = if let Some(alike) = alike(state) {
                let count = alike.channels.len();
                out.drawn |= count > 1;
                let first = out.takes_first && count > 1;
                (alike.hop(if first { 0 } else { draw.place(count as u32) as usize }), count > 1)
            } else if let Some(count) = by_number.then(|| ways(trip).count(state)).flatten() {
                out.drawn |= count > 1;
                (ways(trip).nth(state, draw.place(count)), count > 1)
            } else {
                let mut hops = std::mem::take(&mut out.hops);
                ways(trip).hops(state, &mut hops);
                let chosen = hops.len() > 1 || !out.down.is_empty();
                out.drawn |= hops.len() > 1;
                if !out.down.is_empty() {
                    hops.retain(|hop| self.leads_on(*hop, trip, out));
                }
                let hop = draw.pick(&self.fabric.network, self.fabric.tables(), &hops).map(|place| hops[place]);
                out.hops = hops;
                (hop, chosen)
            };
            let hop = hop.ok_or_else(|| SimError::no_route(self.fabric, trip))?;
            if chosen && out.stays_open {
                // All of it but its server is known once the choice has fallen.
                let enters = if out.at_host && !self.fabric.network.is_node(state.at) { self.own_lanes } else { 0 };
                let lane =
                    (self.server_of_channel(hop.channel) << self.lane_shift) + u32::from(hop.vc) * self.alike + enters;
                out.lot = (choice >> 32) as u32;
                let goal = u32::from(state.phase) << 1 | u32::from(out.inner);
                out.stages.push(Stage { lane, word: OPEN });
                out.stages.push(Stage { lane: trip.destination.0, word: goal });
                return Ok(());
            }
            state = self.cross(state.at, hop, if chosen { state } else { NO_CHOICE }, trip, out);
        }
        self.end(trip.destination.0, out);
        Ok(())
    }
    /// As [`Plan::route`], through what is down.
    ///
    /// # Errors
    /// There is no path even where all is up.
    pub(crate) fn route_whole(&self, from: u32, to: u32, choice: u64, out: &mut RouteBuffer) -> Result<(), SimError> {
        let up = vec![false; out.down.len()];
        let down = std::mem::replace(&mut out.down, up);
        let found = self.route(from, to, choice, out);
        out.down = down;
        found
    }
    /// Whether a hop and some path on from it are up.
    pub(crate) fn leads_on(&self, hop: Hop, trip: Trip, out: &mut RouteBuffer) -> bool {
        out.dead.clear();
        self.leads(hop, trip, out)
    }
    fn leads(&self, hop: Hop, trip: Trip, out: &mut RouteBuffer) -> bool {
        if out.down[hop.channel.0 as usize] {
            return false;
        }
        let state = State { at: self.fabric.network.to(hop.channel), phase: hop.phase };
        if state.at == trip.destination.vertex() {
            return true;
        }
        if out.dead.contains(&state) {
            return false;
        }
        let mut hops = Vec::new();
        self.fabric.hops(state, trip, &mut hops);
        let leads = hops.into_iter().any(|hop| self.leads(hop, trip, out));
        if !leads {
            out.dead.push(state);
        }
        leads
    }
    /// Adds a hop from the device `at` and the device that it leads to; gives the state there.
    pub(super) fn cross(&self, at: Vertex, hop: Hop, chosen_at: State, trip: Trip, out: &mut RouteBuffer) -> State {
        let network = &self.fabric.network;
        let (Crossing { server, latency_ps }, next) = (self.channel[hop.channel.0 as usize], network.to(hop.channel));
        let ring = !self.ring_ps.is_empty() && server != NONE && self.is_ring_server(server);
        // What enters the network here, or an SCI ring, is served after what passes.
        let enters = if ring { !out.on_ring } else { out.at_host && !network.is_node(at) };
        let lane = u32::from(hop.vc) * self.alike + self.part(trip) + if enters { self.own_lanes } else { 0 };
        out.on_ring = ring;
        self.pass(out, server, lane, latency_ps, chosen_at);
        out.at_host &= server == NONE;
        let Crossing { server, latency_ps } = self.vertex[next.0 as usize];
        if server != NONE {
            let lane = self.exit_port(next, hop.phase, trip, out) + if out.at_host { self.own_lanes } else { 0 };
            self.pass(out, server, lane, 0, NO_CHOICE);
            out.at_host = false;
        }
        self.pass(out, NONE, 0, latency_ps, NO_CHOICE);
        out.switches += u32::from(network.role(Resource::Vertex(next)) == Role::Switch);
        State { at: next, phase: hop.phase }
    }
    /// Which of the virtual channels that are alike a packet takes, before it chooses: those for one destination share
    /// one.
    fn part(&self, trip: Trip) -> u32 {
        match self.alike {
            1 => 0,
            _ if self.paths == Paths::Adaptive => 0,
            alike => (mix(u64::from(trip.destination.0)) % u64::from(alike)) as u32,
        }
    }
    /// The first of the host's roles that a path crosses.
    fn first_role(&self, inner: bool) -> usize {
        let roles = &self.fabric.network.host_roles;
        if inner { roles.iter().position(|&role| role == Role::Nic).unwrap_or(roles.len()) } else { 0 }
    }
    /// Latency of both hosts on a path, or of both adapters alone (`inner`), in picoseconds.
    pub(crate) fn hosts_ps(&self, inner: bool) -> u64 {
        let latencies = self.host_latency[self.first_role(inner)..].iter();
        latencies.map(|&[send, receive]| u64::from(send) + u64::from(receive)).sum()
    }
    /// The path from one node to its neighbour, empty where there is none; `inner`: from adapter to adapter.
    pub(crate) fn neighbour(&self, inner: bool) -> RouteBuffer {
        let mut way = RouteBuffer { inner, ..RouteBuffer::default() };
        let reached = self.fabric.nodes() > 1 && self.route(0, 1, 0, &mut way).is_ok();
        if reached { way } else { RouteBuffer::default() }
    }
    /// Latency of that path, in picoseconds.
    pub(crate) fn neighbour_ps(&self, inner: bool) -> u64 {
        self.neighbour(inner).latency_ps
    }
    /// The same with the serialisation of one packet of `bytes` in an idle network ([`crate::net`], `transfer`). `bus`:
    /// the times on the sender's and the receiver's host bus, where they are known.
    pub(crate) fn neighbour_alone_ps(&self, bytes: u32, bus: Option<[Time; 2]>) -> u64 {
        let way = self.neighbour(false);
        let wire = self.wire_bytes(bytes, way.switches);
        let stored = self.fabric.spec.flow_control.passage == Passage::Stored;
        let (mut before, mut crossing) = (0, 0);
        for stage in &way.stages {
            let class = self.class(*stage);
            let took = match bus.filter(|_| class.role == Role::HostBus) {
                Some(bus) => bus[(stage.lane & 1) as usize].0,
                None if class.rate == UNLIMITED => 0,
                None => class.rate.time_for(u64::from(if class.payload_only { bytes } else { wire })).0,
            };
            crossing += if stored { took } else { took.saturating_sub(before) };
            before = took;
        }
        way.latency_ps + crossing
    }
    /// Adds the sender's host.
    pub(super) fn begin(&self, from: u32, out: &mut RouteBuffer) {
        let hosts = self.host_latency.len();
        for role in self.first_role(out.inner)..hosts {
            self.pass(out, self.host_server[from as usize * hosts + role][0], 0, self.host_latency[role][0], NO_CHOICE);
        }
    }
    /// Adds the receiver's host and marks the last stage.
    pub(super) fn end(&self, to: u32, out: &mut RouteBuffer) {
        let hosts = self.host_latency.len();
        for role in (self.first_role(out.inner)..hosts).rev() {
            self.pass(out, self.host_server[to as usize * hosts + role][1], 1, self.host_latency[role][1], NO_CHOICE);
        }
        if out.stages.is_empty() {
            self.pass(out, self.unlimited, 0, 0, NO_CHOICE);
        }
        out.stages.last_mut().expect("one stage at least").word |= LAST;
    }
    /// The lane at a rated vertex (a B-Link): the port through which the packet leaves it. A full queue towards one
    /// ring then does not stop the others.
    fn exit_port(&self, vertex: Vertex, phase: u8, trip: Trip, out: &mut RouteBuffer) -> u32 {
        let mut hops = std::mem::take(&mut out.hops);
        self.fabric.hops(State { at: vertex, phase }, trip, &mut hops);
        let port = hops.first().map_or(0, |hop| hop.channel.0 - self.fabric.network.out_start[vertex.0 as usize]);
        out.hops = hops;
        port & (self.own_lanes - 1)
    }
    /// Adds a resource to the route: a stage if it is rated, else latency behind the stage before it.
    fn pass(&self, out: &mut RouteBuffer, server: u32, lane: u32, latency_ps: u32, chosen_at: State) {
        out.latency_ps += u64::from(latency_ps);
        if server != NONE {
            // Latency ahead of the first server counts behind it: the same sum.
            let latency_ps = latency_ps + std::mem::take(&mut out.lead_ps);
            out.stages.push(Stage { lane: (server << self.lane_shift) + lane, word: latency_ps });
            out.states.push(chosen_at);
        } else if let Some(last) = out.stages.last_mut() {
            last.word += latency_ps;
        } else {
            out.lead_ps += latency_ps;
        }
    }
    /// The lot of two nodes under the run's seed.
    pub fn pair_lot(&self, from: u32, to: u32) -> u64 {
        pair_lot(self.seed, from, to)
    }
    /// What picks among equal paths for packet `index` of a message from `from` to `to`. The upper half is a lot, the
    /// lower half a round-robin index.
    pub fn choice(&self, from: u32, to: u32, message: u32, index: u32) -> u64 {
        let pair = self.pair_lot(from, to);
        let (lot, turn) = match self.paths {
            Paths::Packet | Paths::Adaptive => (mix(pair ^ (u64::from(message) + 1)), index),
            Paths::Flow => (pair, 0),
            Paths::Destination => (0, 0),
        };
        lot << 32 | u64::from(turn)
    }
    /// The least latency between nodes. By another group a path may have more links and less latency.
    ///
    /// # Errors
    /// There is no path.
    pub fn least_latency_ps(&self, from: u32, to: u32, out: &mut RouteBuffer) -> Result<u64, SimError> {
        self.route_on(Trip::new(Node(from), Node(to)), 0, out)?;
        (0..u64::from(self.fabric.routing.groups().saturating_sub(2))).try_fold(out.latency_ps, |least, other| {
            let found = self.route_on(self.trip_by_another(from, to, other), 0, out);
            Ok(least.min(found.map_or(u64::MAX, |()| out.latency_ps)))
        })
    }
    /// The least latency, and the most that a message gets: what all its paths share, and the sender's links, let
    /// through.
    ///
    /// # Errors
    /// There is no path.
    pub fn quickest(&self, from: u32, to: u32, out: &mut RouteBuffer) -> Result<(u64, Rate), SimError> {
        let (least, one) = (self.least_latency_ps(from, to, out)?, self.one_path());
        let choice = if one { self.choice(from, to, 0, 0) } else { 0 };
        self.route_on(Trip::new(Node(from), Node(to)), choice, out)?;
        let network = self.sending_stages()..out.stages.len() - self.receiving_stages(out.inner);
        let shared = |place: usize| one || !network.contains(&place);
        let stages = out.stages.iter().enumerate().filter(|(place, _)| shared(*place));
        let leaving =
            self.fabric.network.out(Node(from).vertex()).map(|channel| match self.server_of_channel(channel) {
                NONE => UNLIMITED.0,
                server => self.classes[self.server_class[server as usize] as usize].rate.0,
            });
        let rates = stages.map(|(_, stage)| self.rate_of(*stage).0);
        Ok((least.min(out.latency_ps), Rate(rates.fold(leaving.fold(0, u64::saturating_add), u64::min))))
    }
    /// Whether every choice of a path is one between links that have a rate of their own, and nothing depends on the
    /// path's length.
    pub(crate) fn may_stay_open(&self) -> bool {
        let own = |(c, crossing): (u32, &Crossing)| self.resource_number.get(crossing.server as usize) == Some(&c);
        let rated = |crossing: &Crossing| crossing.server != NONE;
        (0..).zip(&self.channel).all(own) && !self.vertex.iter().any(rated) && self.overhead.1 == 0.0
    }
    /// Whether every packet of a message takes the same way.
    pub fn one_path(&self) -> bool {
        self.paths.is_static()
    }
}

impl RouteBuffer {
    /// From now on paths avoid those of `channels` channels that are marked down.
    pub(crate) fn avoid(&mut self, channels: usize) {
        self.down = vec![false; channels];
    }
    pub(super) fn clear(&mut self) {
        self.stages.clear();
        self.states.clear();
        (self.switches, self.latency_ps, self.lead_ps) = (0, 0, 0);
        (self.at_host, self.on_ring) = (true, false);
    }
}
