//! What happens when a link or switch fails, comes back or degrades ([`crate::fault`]).
//!
//! A packet is lost if the link is down when its head arrives at the far end (at the destination: its tail). A packet
//! that waits for a link that is down turns to another path where its routing offers one from there. Otherwise it is
//! dropped, too.
//!
//! The source sends a lost packet again after [`Settings::retransmit_ps`](crate::Settings::retransmit_ps), on a path
//! that avoids what is down. Only store-and-forward networks count it as lost for good. Where no path is left and no
//! repair is to come, the source gives up the rest of the message. The run notes its pair of nodes.

use super::pool::{AGAIN, Message};
use super::{CROWD, Net, Pace, kind};
use crate::fault::{Condition, Fault, Lost};
use crate::plan::{NO_CHOICE, NONE, Plan, RouteBuffer};
use hotlink_event::{Event, Queue};
use hotlink_fabric::flow_control::{Admission, Passage};
use hotlink_fabric::network::Channel;
use hotlink_fabric::units::{Rate, Time};
use std::collections::BTreeSet;
use std::ops::Range;

/// What is down, and what is still to happen.
pub(super) struct Outage {
    faults: Vec<Fault>,
    server_down: Vec<bool>,
    /// Future changes that mend something.
    repairs_left: usize,
    unreachable: BTreeSet<(u32, u32)>,
    /// The last time in which nothing was left to happen but failures.
    idle: Option<Range<u64>>,
}

fn mends(fault: &Fault) -> bool {
    fault.condition != Condition::Down
}

impl Net<'_> {
    /// Schedules the faults of the settings; those of time 0 are there before anything is sent.
    pub(super) fn plan_outages(&mut self) {
        if self.settings.faults.is_empty() {
            return;
        }
        let faults = self.settings.faults.clone();
        self.buffer.avoid(self.plan.fabric.network.channels());
        self.outage = Some(Box::new(Outage {
            repairs_left: faults.iter().filter(|fault| mends(fault)).count(),
            faults,
            server_down: vec![false; self.servers.len()],
            unreachable: BTreeSet::new(),
            idle: None,
        }));
        for i in 0..self.settings.faults.len() {
            match self.settings.faults[i].at.0 {
                0 => self.fault(i as u32, 0),
                at => self.queue.push(at, Event::new(kind::FAULT, i as u32, 0)),
            }
        }
    }

    /// Pairs of nodes between which messages were given up, in order.
    pub fn unreachable(&self) -> Vec<(u32, u32)> {
        self.outage.as_ref().map_or_else(Vec::new, |outage| outage.unreachable.iter().copied().collect())
    }

    /// What failures took for good, if anything.
    pub fn lost(&self) -> Option<Lost> {
        let messages = self.stats.lost_messages;
        (messages > 0).then(|| Lost { messages, unreachable: self.unreachable() })
    }

    /// The clock, less the time in which nothing was left to happen but failures.
    pub(crate) fn worked(&self) -> Time {
        let idle = self.outage.as_ref().and_then(|outage| outage.idle.clone()).filter(|idle| idle.end == self.now);
        Time(idle.map_or(self.now, |idle| idle.start))
    }

    /// Fault `index` happens; the event before it was at `before`.
    pub(super) fn fault(&mut self, index: u32, before: u64) {
        let is_idle = self.messages.live == 0 && self.timers == 0;
        let Some(outage) = &mut self.outage else { return };
        let start = outage.idle.as_ref().filter(|idle| idle.end == before).map_or(before, |idle| idle.start);
        outage.idle = is_idle.then_some(start..self.now);
        let fault = outage.faults[index as usize];
        outage.repairs_left -= usize::from(mends(&fault));
        let channels = fault.channels(&self.plan.fabric.network);
        // All are down before any packet looks for another path.
        let servers: Vec<u32> = channels.iter().map(|&channel| self.change(channel, fault.condition)).collect();
        for server in servers.into_iter().filter(|&server| server != NONE) {
            if fault.condition == Condition::Down { self.evacuate(server) } else { self.try_start(server) }
        }
    }

    /// Puts one channel into its new condition; gives its server.
    fn change(&mut self, channel: Channel, condition: Condition) -> u32 {
        let down = condition == Condition::Down;
        self.buffer.down[channel.0 as usize] = down;
        let server = self.plan.server_of_channel(channel);
        if server == NONE {
            return NONE;
        }
        if let Some(outage) = &mut self.outage {
            outage.server_down[server as usize] = down;
        }
        let usual = self.plan.server_class[server as usize];
        self.servers[server as usize].class = match condition {
            Condition::Degraded(share) => self.slower(usual, share),
            _ => usual,
        };
        server
    }

    /// A class like `usual` at a share of its rate (`usual` itself where there is no number left for another class).
    fn slower(&mut self, usual: u8, share: f64) -> u8 {
        let pace = self.paces[usual as usize];
        let rate = Rate(((pace.rate.0 as f64 * share) as u64).max(1));
        let of = |p: &Pace| (p.payload_only, p.ring, p.crossbar, p.buffer);
        let same = |p: &Pace| p.rate == rate && of(p) == of(&pace);
        let at = self.paces.iter().position(same).unwrap_or(self.paces.len());
        let Ok(class) = u8::try_from(at) else { return usual };
        if at == self.paces.len() {
            self.paces.push(Pace { rate, bytes: 0, ps: 0, ..pace });
        }
        class
    }

    /// Whether the link of `lane` is down.
    #[inline]
    pub(super) fn is_down(&self, lane: u32) -> bool {
        self.outage.as_ref().is_some_and(|outage| outage.server_down[self.server_of(lane) as usize])
    }

    /// Turns away all that waits for `server`.
    fn evacuate(&mut self, server: u32) {
        let mut waiting = Vec::new();
        for lane in server << self.plan.lane_shift..(server + 1) << self.plan.lane_shift {
            while let Some(packet) = self.lanes[lane as usize].queue.pop(&mut self.packets.items) {
                waiting.push(packet);
            }
        }
        self.servers[server as usize].waiting = 0;
        if let Some(crowds) = &mut self.crowds {
            let crowd = &mut crowds[server as usize];
            *crowd = *crowd % CROWD + u64::from(self.servers[server as usize].busy) * CROWD;
        }
        self.see_evacuated(server);
        waiting.into_iter().for_each(|packet| self.divert(packet));
    }

    /// A packet's next link is down: another path from here, from its source, later, or not at all.
    pub(super) fn divert(&mut self, packet: u32) {
        let p = self.packets.items[packet as usize];
        if p.stage > 0 {
            return if self.turn_away(packet) { self.request(packet) } else { self.lose(packet, true) };
        }
        if self.renew(packet) && !self.is_down(self.packets.items[packet as usize].here.lane) {
            return self.request(packet);
        }
        if self.repair_awaited() {
            let at = self.now + self.retransmit_ps();
            return self.queue.push(at, Event::new(kind::RETRY, packet, 0));
        }
        self.give_up(packet);
    }

    /// Gives a packet another path on from where it is.
    fn turn_away(&mut self, packet: u32) -> bool {
        let p = self.packets.items[packet as usize];
        let state = self.routes.chosen_at(packet, u32::from(p.stage));
        if state == NO_CHOICE || self.admission == Admission::RingAccess {
            return false;
        }
        let m = &self.messages.items[p.message as usize];
        self.buffer.inner = m.inner;
        let choice = self.plan.choice(m.from, m.to, p.message, p.index & !AGAIN);
        let trip = self.plan.trip(m.from, m.to, choice);
        let mut hops = std::mem::take(&mut self.hops);
        self.plan.fabric.hops(state, trip, &mut hops);
        hops.retain(|hop| {
            self.plan.server_of_channel(hop.channel) != NONE && self.plan.leads_on(*hop, trip, &mut self.buffer)
        });
        let hop = hops.get((choice as usize) % hops.len().max(1)).copied();
        self.hops = hops;
        let enters = p.here.lane & self.plan.own_lanes != 0;
        let found = hop.is_some_and(|hop| self.plan.detour(hop, enters, trip, choice, &mut self.buffer).is_ok());
        if found {
            self.take_detour(packet);
        }
        found
    }

    /// A new path for a packet that is at its source; `false` if there is none (it keeps the old one).
    fn renew(&mut self, packet: u32) -> bool {
        let p = self.packets.items[packet as usize];
        let m = &self.messages.items[p.message as usize];
        self.buffer.inner = m.inner;
        let choice = self.plan.choice(m.from, m.to, p.message, p.index & !AGAIN);
        let found = self.plan.route(m.from, m.to, choice, &mut self.buffer).is_ok();
        if found {
            self.take_detour(packet);
        }
        found
    }

    /// A lost, dropped or refused packet tries again; from its source by a path that avoids what is down.
    pub(super) fn retry(&mut self, packet: u32) {
        self.see_loss(packet);
        let at_source = self.packets.items[packet as usize].stage == 0;
        if self.outage.is_some() && at_source && !self.renew(packet) {
            return self.divert(packet);
        }
        self.request(packet);
    }

    /// A packet's head arrives by a link that is down, or (`waits`) it waits for one with no other path.
    pub(super) fn lose(&mut self, packet: u32, waits: bool) {
        self.stats.lost += 1;
        self.forget(packet, waits);
        self.send_lost(packet);
    }

    /// A packet's tail should be at its destination, but the last link is down.
    pub(super) fn lose_at_end(&mut self, packet: u32) {
        self.stats.lost += 1;
        let p = self.packets.items[packet as usize];
        if self.admission == Admission::RingAccess {
            self.end_of_ring(packet, u32::from(p.stage), p.wire());
        }
        self.send_lost(packet);
    }

    fn send_lost(&mut self, packet: u32) {
        if self.admission == Admission::Unbounded {
            return self.remove_lost(packet);
        }
        self.send_again(packet, 0);
        if let Some(worm) = self.worms.get_mut(packet as usize) {
            worm.tail = 0;
        }
        self.queue.push(self.now + self.retransmit_ps(), Event::new(kind::RETRY, packet, 0));
    }

    /// Gives back what a packet holds behind it.
    fn forget(&mut self, packet: u32, waits: bool) {
        let p = self.packets.items[packet as usize];
        let stage = u32::from(p.stage);
        let input = self.input_lane(p.came);
        match self.admission {
            _ if self.passage == Passage::Worm => self.forget_worm(packet, input, waits),
            Admission::Whole | Admission::Part | Admission::UntilPaused => self.free_room(input, p.wire()),
            Admission::OnArrival if waits => self.free_room(input, p.wire()),
            Admission::OnArrival | Admission::Unbounded => {}
            Admission::RingAccess => {
                let on_ring = self.is_ring_stage(packet, stage - 1);
                let passes = self.is_ring_stage(packet, stage) && !self.enters_ring(packet, stage);
                if on_ring && (passes || !waits) {
                    self.end_of_ring(packet, stage - 1, p.wire());
                } else {
                    self.free_room(input, p.wire());
                }
            }
        }
    }

    /// No path is left for a packet that has not left its source.
    fn give_up(&mut self, packet: u32) {
        let p = self.packets.items[packet as usize];
        self.note_unreachable(p.message);
        let Message { from, inner, .. } = self.messages.items[p.message as usize];
        self.remove_lost(packet);
        if self.settings.outstanding != u16::MAX && !inner {
            self.response(from);
        }
        if p.index & AGAIN == 0 {
            self.injected(p.message);
        }
    }

    fn note_unreachable(&mut self, message: u32) {
        let m = &self.messages.items[message as usize];
        let pair = (m.from, m.to);
        if let Some(outage) = &mut self.outage {
            outage.unreachable.insert(pair);
        }
    }

    /// Takes a packet out of the network for good.
    fn remove_lost(&mut self, packet: u32) {
        let p = self.packets.items[packet as usize];
        self.stats.gone += 1;
        self.packets.items[packet as usize].message = NONE;
        self.packets.remove(packet);
        let m = &mut self.messages.items[p.message as usize];
        self.stats.lost_messages += u64::from(m.lost == 0);
        m.lost += 1;
        self.see_end(p.trip);
    }

    /// Whether something that is down will be mended.
    pub(super) fn repair_awaited(&self) -> bool {
        self.outage.as_ref().is_some_and(|outage| outage.repairs_left > 0)
    }

    /// Gives up what of a message is not yet made, if nothing can be done about it; its packets under way go on.
    pub(super) fn give_up_rest(&mut self, message: u32) -> bool {
        let Some(outage) = &self.outage else { return false };
        if outage.repairs_left > 0 {
            return false;
        }
        self.note_unreachable(message);
        let m = &mut self.messages.items[message as usize];
        let rest = m.packets - m.made;
        self.stats.lost_messages += u64::from(m.lost == 0 && rest > 0);
        m.lost += rest;
        m.made = m.packets;
        self.stats.gone += u64::from(rest);
        self.stats.packets += u64::from(rest);
        true
    }
}

impl Lost {
    /// The first pair that was cut off, and the failure that left it no path. `faults` are in order of time.
    pub fn cut(&self, plan: &Plan<'_>, faults: &[Fault]) -> Option<((u32, u32), Fault)> {
        let &(from, to) = self.unreachable.first()?;
        let mut way = RouteBuffer::default();
        way.avoid(plan.fabric.network.channels());
        let mut cut = None;
        for &fault in faults {
            for channel in fault.channels(&plan.fabric.network) {
                way.down[channel.0 as usize] = fault.condition == Condition::Down;
            }
            cut = match plan.route(from, to, 0, &mut way) {
                Ok(()) => None,
                Err(_) => cut.or(Some(((from, to), fault))),
            };
        }
        cut
    }
}
