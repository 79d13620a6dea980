//! Wormhole switching: a blocked packet holds its channels.
//!
//! A switch port buffers a few dozen bytes, so a long packet lies across several channels. Let the head of a packet of
//! M bytes start on stage i at time t. If the buffers between an earlier stage k and i hold B bytes, its tail can leave
//! stage k no sooner than t + time(M - B).
//!
//! Stage k is released once all of the packet fits into the buffers up to the one behind stage i, that one included. It
//! is also released once the head has reached its destination. With buffers as large as a packet this is virtual
//! cut-through.

use super::{List, Net, kind};
use crate::plan::NONE;
use hotlink_event::{Event, Queue};

impl Net<'_> {
    /// A head enters the input buffer behind its last channel, and asks for its stage when no worm is before it.
    pub(super) fn arrive_worm(&mut self, packet: u32) {
        let p = self.packets.items[packet as usize];
        let input = self.input_lane(p.came);
        let (server, bit) = self.account(input);
        if server.closed & bit != 0 {
            return self.wait_in_input(input, packet);
        }
        server.closed |= bit;
        self.ask(packet);
    }

    pub(super) fn ask(&mut self, packet: u32) {
        if self.settings.unacknowledged != u16::MAX && self.park(packet) {
            return;
        }
        if self.worms[packet as usize].cast != NONE {
            return self.ask_all(packet);
        }
        if self.crowds.is_some() {
            self.choose_way(packet);
        }
        self.request(packet);
    }

    /// Queues a packet behind the worm that is leaving an input buffer. A worm may lie in several buffers, but waits in
    /// at most one, so one link a packet is enough.
    fn wait_in_input(&mut self, input: u32, packet: u32) {
        self.worms[packet as usize].behind = NONE;
        let list = &mut self.holds[input as usize].behind;
        match list.tail {
            NONE => list.head = packet,
            tail => self.worms[tail as usize].behind = packet,
        }
        list.tail = packet;
    }

    /// Holds `lane` for a packet that starts there, and releases what its tail can now leave. Returns true for a packet
    /// to many nodes, whose arrival depends on its copies.
    pub(super) fn hold(&mut self, packet: u32, lane: u32, took: u64, last: bool) -> bool {
        let p = self.packets.items[packet as usize];
        let (stage, bytes) = (u32::from(p.stage), u64::from(p.wire()));
        let (server, channel) = (self.server_of(lane), self.input_lane(lane));
        let feeder = if stage == 0 { NONE } else { self.channel_at(packet, stage - 1) };
        let (held, bit) = self.account(channel);
        held.held |= bit;
        let hold = &mut self.holds[channel as usize];
        (hold.bound, hold.feeder) = (self.now + took, feeder);
        let s = &mut self.servers[server as usize];
        let shares = self.plan.channels_each > 1;
        s.busy_ps = if shares { s.busy_ps + took } else { s.busy_ps.wrapping_sub(self.now) };
        let done = (self.now + took, Event::new(kind::DONE, server, 0));
        if self.worms[packet as usize].cast != NONE {
            if shares {
                self.queue.push(done.0, done.1);
            }
            self.hold_copy(packet, channel, took, last);
            return true;
        }
        let ahead = if last { u64::MAX } else { self.buffer_behind(channel) };
        // The packet drains from the input buffer that it waited in.
        if feeder != NONE {
            self.lanes[feeder as usize].room += bytes.min(self.buffer_behind(feeder)) as i32;
            self.pokes.push(self.server_of(feeder));
        }
        let mut between = 0u64;
        let tail = self.worms[packet as usize].tail;
        let mut free_to = tail;
        for k in (tail..=stage).rev() {
            if k < stage {
                let held = self.channel_at(packet, k);
                between += self.buffer_behind(held);
                let rest = part(took, bytes.saturating_sub(between), bytes);
                let hold = &mut self.holds[held as usize];
                hold.bound = hold.bound.max(self.now + rest);
            }
            if between.saturating_add(ahead) >= bytes {
                free_to = free_to.max(k + 1);
            }
        }
        // A worm that fits into the buffer behind leaves server and channel at once: one event for both, one after the other.
        let both = shares && tail == stage && free_to == stage + 1 && self.holds[channel as usize].bound == done.0;
        if shares && !both {
            self.queue.push(done.0, done.1);
        }
        for k in tail..free_to {
            let held = self.channel_at(packet, k);
            self.queue.push(self.holds[held as usize].bound, Event::new(kind::RELEASE, held, u32::from(both)));
        }
        self.worms[packet as usize].tail = free_to;
        false
    }

    /// The virtual channel of a stage.
    pub(super) fn channel_at(&self, packet: u32, stage: u32) -> u32 {
        self.input_lane(self.routes.stage(packet, stage).lane)
    }

    /// Bytes that the buffer behind `lane` holds when empty.
    pub(super) fn buffer_behind(&self, lane: u32) -> u64 {
        let class = self.servers[self.server_of(lane) as usize].class;
        u64::from(self.paces[class as usize].buffer)
    }

    /// A worm's tail has left the virtual channel `lane`, and with it the input buffer in front; `leaves`: and the server.
    pub(super) fn release(&mut self, lane: u32, leaves: bool) {
        let server = self.server_of(lane);
        if leaves {
            self.done(server);
            self.start_poked();
        }
        let (held, bit) = self.account(lane);
        held.held &= !bit;
        if self.plan.channels_each == 1 {
            let s = &mut self.servers[server as usize];
            s.busy_ps = s.busy_ps.wrapping_add(self.now);
            self.lay_down(server);
        }
        let feeder = self.holds[lane as usize].feeder;
        if feeder != NONE && self.copy_has_left(lane, feeder) {
            self.leave_input(feeder);
        }
        self.try_start(server);
    }

    /// Gives back all that a lost worm holds: its channels, its room in the input buffer, and (`waits`) its place there.
    pub(super) fn forget_worm(&mut self, packet: u32, input: u32, waits: bool) {
        let p = self.packets.items[packet as usize];
        for k in self.worms[packet as usize].tail..u32::from(p.stage) {
            let held = self.channel_at(packet, k);
            self.queue.push(self.now, Event::new(kind::RELEASE, held, 0));
        }
        self.lanes[input as usize].room += u64::from(p.wire()).min(self.buffer_behind(input)) as i32;
        self.pokes.push(self.server_of(input));
        if waits {
            self.leave_input(input);
        }
    }

    /// The worm at the front of an input buffer is gone: the next asks for its stage.
    fn leave_input(&mut self, input: u32) {
        let list = &mut self.holds[input as usize].behind;
        let next = list.head;
        if next == NONE {
            let (server, bit) = self.account(input);
            server.closed &= !bit;
            return;
        }
        list.head = self.worms[next as usize].behind;
        if list.head == NONE {
            list.tail = NONE;
        }
        self.ask(next);
    }
}

/// What a worm does with the virtual channel of a lane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hold {
    /// When the worm's tail will have left, as far as known.
    pub(super) bound: u64,
    /// Virtual channel whose buffer the worm leaves; [`NONE`] for none.
    pub(super) feeder: u32,
    /// Copies of a broadcast that leave the buffer behind this channel and are not gone; 0 where one packet leaves it.
    pub(super) copies: u32,
    /// Packets that wait in the buffer behind this channel, behind the worm that leaves it.
    behind: List,
}

/// The time that `bytes` of `all` take when all take `took`, rounded up.
pub(super) fn part(took: u64, bytes: u64, all: u64) -> u64 {
    (u128::from(took) * u128::from(bytes)).div_ceil(u128::from(all.max(1))) as u64
}
