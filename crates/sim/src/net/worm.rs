//! Wormhole switching: a blocked packet holds its channels.
//!
//! A switch port buffers a few dozen bytes, so a long packet lies across several channels. When its head starts on stage
//! i at time t, its tail can leave an earlier stage k no sooner than t + time(M - B), where M is the packet and B what
//! the buffers between k and i hold. Stage k is let go once all of the packet fits into the buffers up to and
//! including the one behind stage i, or the head has reached its destination. With buffers as large as a packet this is
//! virtual cut-through.

use super::{Net, kind};
use crate::event::{Event, Queue};
use crate::plan::NONE;

impl Net<'_> {
    /// A head enters the input buffer behind its last channel, and asks for its stage when no worm is before it.
    pub(super) fn arrive_worm(&mut self, packet: u32) {
        let p = self.packets.items[packet as usize];
        let input = self.input_lane(self.routes.stage(p.route, u32::from(p.stage) - 1).lane);
        if self.lanes[input as usize].closed {
            return self.wait_in_input(input, packet);
        }
        self.lanes[input as usize].closed = true;
        self.ask(packet);
    }

    fn ask(&mut self, packet: u32) {
        if self.crowds.is_some() {
            self.choose_way(packet);
        }
        self.request(packet);
    }

    /// Queues a packet behind the worm that is leaving an input buffer. A worm may lie in several buffers; it waits in
    /// one at most, which is why one link a packet is enough.
    fn wait_in_input(&mut self, input: u32, packet: u32) {
        self.worms[packet as usize].behind = NONE;
        let list = &mut self.inputs[input as usize];
        match list.tail {
            NONE => list.head = packet,
            tail => self.worms[tail as usize].behind = packet,
        }
        list.tail = packet;
    }

    /// Holds `server` for a packet that starts there, and lets go of what its tail can now leave.
    pub(super) fn hold(&mut self, packet: u32, server: u32, took: u64, last: bool) {
        let p = self.packets.items[packet as usize];
        let (stage, bytes) = (u32::from(p.stage), u64::from(p.wire()));
        let s = &mut self.servers[server as usize];
        s.bound = self.now + took;
        s.busy_ps = s.busy_ps.wrapping_sub(self.now);
        let class = s.class;
        let ahead = if last { u64::MAX } else { u64::from(self.paces[class as usize].buffer) };
        // The packet drains from the input buffer that it waited in.
        if s.feeder != NONE {
            let feeder = s.feeder;
            let up = self.server_of(feeder);
            let buffer = self.paces[self.servers[up as usize].class as usize].buffer;
            self.lanes[feeder as usize].room += p.wire().min(buffer) as i32;
            self.pokes.push(up);
        }
        let mut between = 0u64;
        let tail = self.worms[packet as usize].tail;
        let mut free_to = tail;
        for k in (tail..=stage).rev() {
            let held = self.server_of(self.routes.stage(p.route, k).lane);
            if k < stage {
                between += u64::from(self.paces[self.servers[held as usize].class as usize].buffer);
                let rest = part(took, bytes.saturating_sub(between), bytes);
                let s = &mut self.servers[held as usize];
                s.bound = s.bound.max(self.now + rest);
            }
            if between.saturating_add(ahead) >= bytes {
                free_to = free_to.max(k + 1);
            }
        }
        for k in tail..free_to {
            let held = self.server_of(self.routes.stage(p.route, k).lane);
            self.queue.push(self.servers[held as usize].bound, Event::new(kind::DONE, held, 0));
        }
        self.worms[packet as usize].tail = free_to;
    }

    /// A worm's tail has left `server`, and with it the input buffer in front.
    pub(super) fn done_worm(&mut self, server: u32, feeder: u32) {
        let s = &mut self.servers[server as usize];
        s.busy_ps = s.busy_ps.wrapping_add(self.now);
        if feeder == NONE {
            return;
        }
        let list = &mut self.inputs[feeder as usize];
        let next = list.head;
        if next == NONE {
            self.lanes[feeder as usize].closed = false;
            return;
        }
        list.head = self.worms[next as usize].behind;
        if list.head == NONE {
            list.tail = NONE;
        }
        self.ask(next);
    }
}

/// The time that `bytes` of `all` take when all take `took`, rounded up.
fn part(took: u64, bytes: u64, all: u64) -> u64 {
    (u128::from(took) * u128::from(bytes)).div_ceil(u128::from(all.max(1))) as u64
}
