//! SCI rings: request, echo, response.
//!
//! A request circulates to the ring stop where it leaves the ring. Links never block: a stop sends its own packets only
//! while its bypass buffer is empty (passing lanes before own lanes). The receiver takes the packet into its queue, and
//! an echo frees the sender's copy. If the queue is full, a busy echo makes the sender try again. At the end of its
//! path the request is answered by a response, which frees one of the sender's stream buffers.
//!
//! Echoes and responses cost time, not bandwidth. A request carries 128 bytes of payload in 192 on the wire. That
//! overhead already holds its response, both echoes and the idle symbols (M02 section 3.1; parameters P021). Charging
//! them again on the other half of the ring would count them twice.

use super::{Net, kind};
use hotlink_event::{Event, Queue};

impl Net<'_> {
    pub(super) fn is_ring_stage(&self, packet: u32, stage: u32) -> bool {
        let server = self.server_of(self.routes.stage(packet, stage).lane);
        self.paces[self.servers[server as usize].class as usize].ring
    }

    /// Where a packet that has crossed stage `last` of a ring entered the ring, and the time that the echo still needs.
    /// The echo travels the rest of the ring.
    fn ring_leg(&self, packet: u32, last: u32) -> (u32, u64) {
        let (mut first, mut came) = (last, 0);
        loop {
            came += self.routes.stage(packet, first).latency_ps();
            if first == 0 || !self.is_ring_stage(packet, first - 1) || self.enters_ring(packet, first) {
                break;
            }
            first -= 1;
        }
        let server = self.server_of(self.routes.stage(packet, first).lane);
        (first, u64::from(self.plan.ring_ps[server as usize]).saturating_sub(came))
    }

    /// Whether a packet enters the ring at this stage.
    pub(super) fn enters_ring(&self, packet: u32, stage: u32) -> bool {
        self.routes.stage(packet, stage).lane & self.plan.own_lanes != 0
    }

    /// A packet has arrived at its stage; where that ends its path on a ring, whether the receiver takes it.
    pub(super) fn accept(&mut self, packet: u32) -> bool {
        let p = self.packets.items[packet as usize];
        let stage = u32::from(p.stage);
        let stays = self.is_ring_stage(packet, stage) && !self.enters_ring(packet, stage);
        if !self.is_ring_stage(packet, stage - 1) || stays {
            return true;
        }
        let (first, echo_ps) = self.ring_leg(packet, stage - 1);
        let receiver = self.input_lane(p.came);
        let here = &mut self.lanes[receiver as usize];
        if here.room < p.wire() as i32 {
            self.stats.retries += 1;
            self.send_again(packet, first);
            self.queue.push(self.now + echo_ps, Event::new(kind::RETRY, packet, 0));
            return false;
        }
        here.room -= p.wire() as i32;
        self.echo(packet, first, p.wire(), echo_ps);
        true
    }

    /// A packet's path on a ring ends with stage `last`: the echo sets out.
    pub(super) fn end_of_ring(&mut self, packet: u32, last: u32, wire: u32) {
        if self.is_ring_stage(packet, last) {
            let (first, echo_ps) = self.ring_leg(packet, last);
            self.echo(packet, first, wire, echo_ps);
        }
    }

    /// Frees the sender's queue when the echo is back.
    fn echo(&mut self, packet: u32, first: u32, wire: u32, echo_ps: u64) {
        if first > 0 && !self.is_ring_stage(packet, first - 1) {
            let sender = self.input_lane(self.routes.stage(packet, first - 1).lane);
            self.queue.push(self.now + echo_ps, Event::new(kind::ECHO, sender, wire));
        }
    }

    /// A request is in its receiver's memory: the response sets out.
    pub(super) fn deliver_sci(&mut self, packet: u32) {
        let p = self.packets.items[packet as usize];
        let last = u32::from(p.stage);
        self.end_of_ring(packet, last, p.wire());
        let m = self.messages.items[p.message as usize];
        let mut back_ps = m.pause_ps;
        if back_ps == 0 {
            // The path back is that of a request; the response is a header only.
            let found = self.plan.route(m.to, m.from, 0, &mut self.buffer);
            back_ps = if found.is_ok() { self.buffer.latency_ps.clamp(1, u64::from(u32::MAX)) as u32 } else { 1 };
            self.messages.items[p.message as usize].pause_ps = back_ps;
        }
        self.queue.push(self.now + u64::from(back_ps), Event::new(kind::RESPONSE, m.from, 0));
    }
}
