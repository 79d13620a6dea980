//! Adaptive routing: at each device with several paths on, the least occupied one.
//!
//! A packet chooses when its head is at the front of its input, as QsNet's Elite switches choose an output on the
//! ascent. The choice stands: the packet then waits for that output. The least occupied path has the fewest packets
//! that wait for the server or hold it, then the most room behind it. A lot decides between equals.
//!
//! Where a link has more virtual channels than the routing distinguishes, a packet takes one that is free. A packet
//! chooses only among paths that the routing offers, so the routing stays free of deadlock. Packets of a message may
//! overtake one another.

use super::pool::{AGAIN, Packet};
use super::{CROWD, Net};
use crate::plan::{NO_CHOICE, NONE};
use hotlink_fabric::flow_control::Admission;
use hotlink_fabric::network::{Channel, Resource};
use hotlink_fabric::rng::mix;
use hotlink_fabric::routing::{Hop, State, Trip};
use std::ops::Range;

/// Paths on a tree that differ in their channels alone. Any of its paths identifies a choice, which reads what it
/// compares from one place.
#[derive(Debug, Default)]
pub(super) struct Sets {
    /// Those of a set lie together, and so do their places in [`Net::crowds`].
    channels: Vec<Channel>,
    /// By these places, the first and the end of the set.
    bounds: Vec<[u32; 2]>,
}

impl Net<'_> {
    /// Gives each server its place among the crowds: on a tree by sets of paths, and one for all that nobody chooses.
    pub(super) fn place_crowds(&mut self) {
        (0..).zip(&mut self.servers).for_each(|(place, server)| server.place = place);
        let Some(crowds) = self.crowds.as_mut().filter(|_| self.sees_room) else { return };
        let mut takes_first = true;
        for set in self.plan.fabric.sets_alike() {
            let class = |channel: &Channel| self.plan.server_class[self.plan.server_of_channel(*channel) as usize];
            takes_first &= set.iter().all(|channel| class(channel) == class(&set[0]));
            let first = self.sets.channels.len() as u32;
            self.sets.channels.extend(set);
            let end = self.sets.channels.len() as u32;
            self.sets.bounds.resize(end as usize, [first, end]);
        }
        let Sets { channels, .. } = &self.sets;
        if channels.is_empty() {
            return;
        }
        self.buffer.takes_first = takes_first;
        self.servers.iter_mut().for_each(|server| server.place = channels.len() as u32);
        let old = std::mem::replace(crowds, vec![0; channels.len() + 1]);
        for (place, &channel) in (0..).zip(channels) {
            let server = self.plan.server_of_channel(channel) as usize;
            self.servers[server].place = place;
            crowds[place as usize] = old[server];
        }
    }

    /// Turns a packet that has reached a choice to the least occupied path; the rest of its route follows.
    #[inline]
    pub(super) fn choose_way(&mut self, packet: u32) {
        if self.buffer.stays_open {
            if self.packets.items[packet as usize].here.is_open() {
                self.go_on(packet);
            }
        } else {
            self.choose_again(packet);
        }
        if self.plan.alike > 1 {
            self.choose_channel(packet);
        }
    }

    /// Chooses among the paths from where a packet's own was drawn.
    fn choose_again(&mut self, packet: u32) {
        let Packet { here, stage, index, message, .. } = self.packets.items[packet as usize];
        let state = self.routes.chosen_at(packet, u32::from(stage));
        if state == NO_CHOICE {
            return;
        }
        let m = &self.messages.items[message as usize];
        let (from, to, inner) = (m.from, m.to, m.inner);
        let choice = self.plan.choice(from, to, message, 0) | u64::from(index & !AGAIN);
        let trip = self.plan.trip(from, to, choice);
        let hop = self.least_of_any(state, trip, mix(choice ^ u64::from(stage)) as usize);
        // Nothing to turn where the least occupied path is the one drawn.
        let drawn = |hop: &Hop| self.plan.server_of_channel(hop.channel) == self.server_of(here.lane);
        if let Some(hop) = hop.filter(|hop| !drawn(hop)) {
            self.turn(packet, hop, trip, choice, inner);
        }
    }

    /// Continues a path that stays open.
    fn go_on(&mut self, packet: u32) {
        let Packet { here, ahead, stage, index, message, trip: lot, .. } = self.packets.items[packet as usize];
        let (to, phase, inner) = ahead.goal();
        let choice = u64::from(lot) << 32 | u64::from(index & !AGAIN);
        let lot = mix(choice ^ u64::from(stage)) as usize;
        let drawn = self.server_of(here.lane);
        let set = self.sets.bounds.get(self.servers[drawn as usize].place as usize);
        let (hop, trip) = if let Some(&[first, end]) = set {
            let nth = self.emptiest(first as usize..end as usize, lot);
            // Nobody asks where it came from.
            (Some(Hop { channel: self.sets.channels[nth], vc: 0, phase, share: 1.0 }), Trip::new(to, to))
        } else if let Resource::Channel(channel) = self.plan.server_resource(drawn) {
            let trip = self.plan.trip(self.messages.items[message as usize].from, to.0, choice);
            (self.least_of_any(State { at: self.plan.fabric.network.from(channel), phase }, trip, lot), trip)
        } else {
            return;
        };
        if let Some(hop) = hop {
            self.turn(packet, hop, trip, choice, inner);
        }
    }

    #[inline(always)]
    fn turn(&mut self, packet: u32, hop: Hop, trip: Trip, choice: u64, inner: bool) {
        let enters = self.packets.items[packet as usize].here.lane & self.plan.own_lanes != 0;
        self.buffer.inner = inner;
        match self.plan.detour(hop, enters, trip, choice, &mut self.buffer) {
            Ok(()) => self.take_detour(packet),
            Err(error) => self.failure = Some(error),
        }
    }

    /// The least occupied of the next paths, in any routing.
    #[inline(never)]
    fn least_of_any(&mut self, state: State, trip: Trip, lot: usize) -> Option<Hop> {
        let alike = self.plan.fabric.alike(state, trip.destination).filter(|_| self.outage.is_none());
        if let Some(alike) = alike {
            let way = |nth: usize| Some((alike.channels[nth], alike.vc));
            return self.least_occupied(alike.channels.len(), lot, way).and_then(|nth| alike.hop(nth));
        }
        let ways = self.plan.fabric.ways(trip);
        if let Some(count) = ways.count(state).filter(|_| self.outage.is_none()) {
            let nth = |nth: usize| ways.nth(state, nth as u32);
            return self
                .least_occupied(count as usize, lot, |at| nth(at).map(|hop| (hop.channel, hop.vc)))
                .and_then(nth);
        }
        let mut hops = std::mem::take(&mut self.hops);
        ways.hops(state, &mut hops);
        if self.outage.is_some() {
            hops.retain(|hop| self.plan.leads_on(*hop, trip, &mut self.buffer));
        }
        let least = self.least_occupied(hops.len(), lot, |nth| Some((hops[nth].channel, hops[nth].vc)));
        let hop = least.map(|nth| hops[nth]);
        self.hops = hops;
        hop
    }

    /// Puts the path found in place of a packet's own from its stage on.
    #[inline]
    pub(super) fn take_detour(&mut self, packet: u32) {
        let p = &mut self.packets.items[packet as usize];
        let (stage, stages) = (p.stage, &self.buffer.stages);
        (p.here, p.ahead) = (stages[0], stages.get(1).copied().unwrap_or(stages[0]));
        self.keep_way(packet, u32::from(stage));
    }

    /// Writes the chosen path down as a packet's own from `stage` on. The first two stages are in its record; where
    /// choices see all room, nobody reads them again.
    #[inline]
    pub(super) fn keep_way(&mut self, packet: u32, stage: u32) {
        let held = if self.sees_room { self.buffer.stages.len().min(2) } else { 0 };
        self.routes.write(packet, stage + held as u32, &self.buffer.stages[held..], &self.buffer.states);
    }

    /// Takes the first of the virtual channels that are alike which no packet holds or waits for.
    pub(super) fn choose_channel(&mut self, packet: u32) {
        let p = self.packets.items[packet as usize];
        let class = self.servers[self.server_of(p.here.lane) as usize].class;
        if self.paces[class as usize].payload_only {
            return;
        }
        let mut channels = p.here.lane..p.here.lane + self.plan.alike;
        let server = self.server_of(p.here.lane);
        let held = self.servers[server as usize].held;
        let free = |&lane: &u32| {
            let channel = self.input_lane(lane) - (server << self.plan.lane_shift);
            held >> channel & 1 == 0 && self.lanes[lane as usize].queue.head == NONE
        };
        if let Some(lane) = channels.find(free) {
            self.packets.items[packet as usize].here.lane = lane;
            self.routes.set_lane(packet, u32::from(p.stage), lane);
        }
    }

    /// As [`Net::least_occupied`], where [`Net::crowds`] holds all that it compares, at `places`; gives the place.
    #[inline]
    fn emptiest(&self, places: Range<usize>, lot: usize) -> usize {
        let crowds = &self.crowds.as_deref().unwrap_or_default()[places.clone()];
        let mut nth = lot % crowds.len();
        let (mut least, mut at) = (u64::MAX, nth);
        for _ in 0..crowds.len() {
            if crowds[nth] < least {
                (least, at) = (crowds[nth], nth);
                if least == 0 {
                    break;
                }
            }
            nth = if nth + 1 == crowds.len() { 0 } else { nth + 1 };
        }
        places.start + at
    }

    /// The number of the least occupied of `count` paths whose channel has a rate, of equals the first from `lot` on.
    #[inline]
    fn least_occupied(&self, count: usize, lot: usize, way: impl Fn(usize) -> Option<(Channel, u8)>) -> Option<usize> {
        let crowds = self.crowds.as_ref()?;
        let mut least: Option<(u32, i32, usize)> = None;
        let mut nth = lot % count.max(1);
        for _ in 0..count {
            let this = nth;
            nth = if nth + 1 == count { 0 } else { nth + 1 };
            let Some((channel, vc)) = way(this) else { continue };
            let server = self.plan.server_of_channel(channel);
            if server == NONE {
                continue;
            }
            let channel = u32::from(vc) * self.plan.alike;
            let shut =
                self.admission == Admission::UntilPaused && self.servers[server as usize].closed >> channel & 1 != 0;
            let crowd = (crowds[server as usize] / CROWD) as u32 + u32::from(shut);
            // The packets that wait decide between most paths; the room behind comes from elsewhere in memory.
            if least.is_some_and(|(fewest, ..)| crowd > fewest) {
                continue;
            }
            let room = self.lanes[((server << self.plan.lane_shift) + channel) as usize].room;
            if least.is_none_or(|(fewest, most, _)| crowd < fewest || room > most) {
                least = Some((crowd, room, this));
            }
            // None can be emptier.
            if crowd == 0 && room == self.most_room {
                break;
            }
        }
        least.map(|(.., nth)| nth)
    }
}
