//! A packet alone in the network crosses it in one step.
//!
//! When a packet's head arrives and no other packet, message or timer exists, only its own course can happen before its
//! delivery. Every server ahead is idle, every buffer is empty, and the workload is not asked. Each start, and how long
//! a worm holds each channel, then follow without the queue, by the rules of [`transfer`](super::transfer) and
//! [`worm`](super::worm). Only the delivery, and the end of what the packet already holds, are events. Times, the busy
//! time of servers and the other counts are the same.
//!
//! This does not apply where an arrival decides anything (SCI receivers, dropping switches, adaptive paths, marks,
//! broadcasts). Nor does it apply where something may fail, or where a path may use the same link twice (Valiant
//! routing).

use super::{Net, Packet, kind, worm};
use crate::plan::NONE;
use hotlink_event::{Event, Queue};
use hotlink_fabric::flow_control::{Admission, Passage};

/// A virtual channel that a worm holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    channel: u32,
    /// Start of a hold that began in this step; `None` for an earlier one, whose end is an event.
    begun: Option<u64>,
    bound: u64,
}

impl Net<'_> {
    /// Whether packets may cross in one step at all.
    pub(super) fn may_express(&self) -> bool {
        !matches!(self.admission, Admission::RingAccess | Admission::OnArrival)
            && self.crowds.is_none()
            && !self.watches
            && self.settings.faults.is_empty()
            && self.settings.unacknowledged == u16::MAX
            && !self.plan.fabric.routing.is_valiant()
    }

    /// Takes a packet that has arrived at a stage through the rest of its path if it is alone.
    #[inline]
    pub(super) fn express(&mut self, packet: u32) -> bool {
        if self.packets.live != 1 || self.messages.live != 1 || self.timers != 0 || !self.expresses {
            return false;
        }
        let p = self.packets.items[packet as usize];
        let m = &self.messages.items[p.message as usize];
        if m.made < m.packets || m.tree != NONE || self.supply.is_some() {
            return false;
        }
        self.cross_alone(packet, p);
        true
    }

    fn cross_alone(&mut self, packet: u32, mut p: Packet) {
        let mut held = std::mem::take(&mut self.held);
        held.clear();
        let input = self.input_lane(p.came);
        match self.admission {
            _ if self.passage == Passage::Worm => self.take_up(packet, &p, input, &mut held),
            Admission::Unbounded => {}
            _ => self.free_room(input, p.wire()),
        }
        let (mut at, mut freed) = (self.now, 0);
        loop {
            self.stats.packet_hops += 1;
            let (lane, server) = (p.here.lane, self.server_of(p.here.lane) as usize);
            let took = self.packet_time(self.servers[server].class, &p, lane);
            let tail = self.tail_time(packet, &p, took);
            let s = &mut self.servers[server];
            s.last_lane = (lane - ((server as u32) << self.plan.lane_shift)) as u8;
            if self.passage != Passage::Worm || self.plan.channels_each > 1 {
                s.busy_ps += took;
            }
            if self.passage == Passage::Worm {
                held.push(Held { channel: self.input_lane(lane), begun: Some(at), bound: at + took });
                freed = self.let_go_alone(&mut held, freed, (at, took), &p);
            }
            if p.here.is_last() {
                self.queue.push(at + tail + p.here.latency_ps(), Event::new(kind::DELIVER, packet, 0));
                break;
            }
            at += p.here.latency_ps()
                + if self.passage == Passage::Stored { took } else { self.lag(&p, p.ahead.lane, tail) };
            (p.came, p.here, p.stage) = (lane, p.ahead, p.stage + 1);
            p.ahead = self.routes.after(packet, u32::from(p.stage), p.here);
        }
        self.packets.items[packet as usize] = p;
        self.held = held;
    }

    /// The channels that a worm holds so far; it leaves the input buffer at whose front it is.
    fn take_up(&mut self, packet: u32, p: &Packet, input: u32, held: &mut Vec<Held>) {
        for k in self.worms[packet as usize].tail..u32::from(p.stage) {
            let channel = self.channel_at(packet, k);
            held.push(Held { channel, begun: None, bound: self.holds[channel as usize].bound });
        }
        self.worms[packet as usize].tail = u32::from(p.stage);
        self.lanes[input as usize].room += u64::from(p.wire()).min(self.buffer_behind(input)) as i32;
    }

    /// The last of `held` has begun at `at`. Releases those whose end is now known, from `freed` on, and returns their
    /// number.
    fn let_go_alone(&mut self, held: &mut [Held], freed: usize, (at, took): (u64, u64), p: &Packet) -> usize {
        let (bytes, last) = (u64::from(p.wire()), held.len() - 1);
        let ahead = if p.here.is_last() { u64::MAX } else { self.buffer_behind(held[last].channel) };
        let (mut between, mut free_to) = (0u64, freed);
        for k in (freed..=last).rev() {
            if k < last {
                between += self.buffer_behind(held[k].channel);
                held[k].bound = held[k].bound.max(at + worm::part(took, bytes.saturating_sub(between), bytes));
            }
            if between.saturating_add(ahead) >= bytes {
                free_to = free_to.max(k + 1);
            }
        }
        for hold in &held[freed..free_to] {
            match hold.begun {
                None => self.queue.push(hold.bound, Event::new(kind::RELEASE, hold.channel, 0)),
                Some(begun) if self.plan.channels_each == 1 => {
                    let server = self.server_of(hold.channel) as usize;
                    let s = &mut self.servers[server];
                    s.busy_ps = s.busy_ps.wrapping_add(hold.bound - begun);
                }
                Some(_) => {}
            }
        }
        free_to
    }
}
