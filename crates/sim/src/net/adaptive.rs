//! Adaptive routing: at each device with several ways on, the least occupied one.
//!
//! The choice falls when a packet's head is at the front of its input (QsNet's Elite switches choose an output on the way
//! up like this) and stands: the packet then waits for that output. Least occupied: fewest packets that wait for the
//! server or hold it, then the most room behind it, then by lot. Where a link has more virtual channels than the routing
//! tells apart, a packet takes one that is free. Only ways that the routing offers are chosen from, so
//! the routing's freedom from deadlock holds; packets of a message may overtake one another.

use super::pool::{AGAIN, Packet};
use super::{CROWD, Net};
use crate::plan::{NO_CHOICE, NONE, Open};
use hotlink_fabric::flow_control::Admission;
use hotlink_fabric::network::Channel;
use hotlink_fabric::rng::mix;
use hotlink_fabric::routing::{Alike, Hop, State, Trip};

impl Net<'_> {
    /// Turns a packet that has reached a choice to the least occupied way; the rest of its route follows.
    pub(super) fn choose_way(&mut self, packet: u32) {
        let p = &self.packets.items[packet as usize];
        if self.buffer.stays_open {
            // The last stage of a route that is open stands twice. Nowhere else need memory be asked.
            if p.here == p.ahead && !p.here.is_last() {
                self.turn(packet, self.routes.open(packet));
            }
        } else {
            let state = self.routes.chosen_at(packet, u32::from(p.stage));
            if state != NO_CHOICE {
                let m = &self.messages.items[p.message as usize];
                let choice = self.plan.choice(m.from, m.to, p.message, 0);
                self.turn(packet, Open::new(state, [m.from, m.to], choice, m.inner));
            }
        }
        if self.plan.alike > 1 {
            self.choose_channel(packet);
        }
    }

    fn turn(&mut self, packet: u32, open: Open) {
        let Packet { here, stage, index, .. } = self.packets.items[packet as usize];
        let (state, [from, to], choice) = open.of(index & !AGAIN);
        let trip = self.plan.trip(from, to, choice);
        let lot = mix(choice ^ u64::from(stage)) as usize;
        let hop = match self.plan.fabric.alike(state, trip.destination).filter(|_| self.outage.is_none()) {
            Some(Alike { channels, vc, phase }) => {
                let nth = match self.sees_room {
                    true => self.emptiest(channels, lot),
                    false => self.least_occupied(channels.len(), lot, |nth| Some((channels[nth], vc))),
                };
                nth.map(|nth| Hop { channel: channels[nth], vc, phase, share: 1.0 })
            }
            None => self.least_of_any(state, trip, lot),
        };
        // Nothing to turn where the least occupied way is the one drawn, unless nothing is known beyond.
        let drawn = |hop: &Hop| self.plan.server_of_channel(hop.channel) == self.server_of(here.lane);
        let Some(hop) = hop.filter(|hop| self.buffer.stays_open || !drawn(hop)) else { return };
        let enters = here.lane & self.plan.own_lanes != 0;
        self.buffer.inner = open.inner;
        if let Err(error) = self.plan.detour(hop, enters, trip, choice, &mut self.buffer) {
            self.failure = Some(error);
            return;
        }
        self.take_detour(packet);
    }

    /// The least occupied of the ways on, whatever the routing.
    #[inline(never)]
    fn least_of_any(&mut self, state: State, trip: Trip, lot: usize) -> Option<Hop> {
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

    /// Puts the way found in place of a packet's own from its stage on.
    pub(super) fn take_detour(&mut self, packet: u32) {
        let p = &mut self.packets.items[packet as usize];
        let (stage, stages) = (p.stage, &self.buffer.stages);
        (p.here, p.ahead) = (stages[0], stages.get(1).copied().unwrap_or(stages[0]));
        self.keep_way(packet, u32::from(stage));
    }

    /// Writes down the way found as a packet's own from `stage` on.
    pub(super) fn keep_way(&mut self, packet: u32, stage: u32) {
        self.routes.write(packet, stage, &self.buffer.stages, &self.buffer.states);
        if self.buffer.stays_open {
            self.routes.keep_open(packet, self.buffer.open);
        }
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

    /// As [`Net::least_occupied`], where [`Net::crowds`] holds all that it compares.
    #[inline]
    fn emptiest(&self, channels: &[Channel], lot: usize) -> Option<usize> {
        let crowds = self.crowds.as_ref()?;
        let (mut least, mut number) = (u64::MAX, None);
        let mut look = |from: usize, channels: &[Channel]| {
            for (nth, &channel) in (from..).zip(channels) {
                // A channel without a rate has no crowd.
                let crowd = crowds.get(self.plan.server_of_channel(channel) as usize).copied().unwrap_or(u64::MAX);
                if crowd < least {
                    (least, number) = (crowd, Some(nth));
                    if crowd == 0 {
                        break;
                    }
                }
            }
            least != 0
        };
        let first = lot.checked_rem(channels.len())?;
        let _ = look(first, &channels[first..]) && look(0, &channels[..first]);
        number
    }

    /// The number of the least occupied of `count` ways whose channel has a rate, of equals the first from `lot` on.
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
            // Most ways are told apart by those that wait there: the room behind comes from elsewhere in memory.
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
