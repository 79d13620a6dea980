//! A packet crosses a server.
//!
//! The head arrives, waits for the server and for room behind it, and goes on after the latency; the tail follows after
//! the serialisation. With cut-through, a packet of serialisation T_i on stage i requests the next stage when its head
//! arrives. If that stage is faster, it requests it just so much later that the stage does not run dry: start_i +
//! latency_i + max(0, T_i - T_(i+1)). An idle network therefore takes exactly sum(latency) + T_1 + sum(max(0, T_(i+1) -
//! T_i)), and every server is held for its own serialisation only.
//!
//! Packets share a switch with a rate of its own cell by cell. A packet's bytes go on as they come, so that the switch
//! does not run dry, and its T counts as max(T_(i-1), T_i) here. The switch has no buffer either: a packet keeps its
//! room in front until it leaves.

use super::pool::AGAIN;
use super::ugal::Choosing;
use super::worm::part;
use super::{CROWD, Net, Note, Packet, kind};
use crate::flow::Settings;
use crate::plan::{NONE, Plan, Stage};
use hotlink_event::{Event, Queue};
use hotlink_fabric::flow_control::{Admission, Passage};
use hotlink_fabric::ledger::Inputs;
use hotlink_transport::reorder::{Arriving, Comes};

/// The need of a packet that starts in any room ([`Net::need`]).
const NO_NEED: i32 = i32::MIN;

impl Net<'_> {
    /// A packet's head is at its stage.
    #[inline]
    pub(super) fn arrive(&mut self, packet: u32) {
        if self.outage.is_some() && self.came_by_a_dead_link(packet) {
            return self.lose(packet, false);
        }
        if self.express(packet) {
            return;
        }
        let goes_on = match self.admission {
            _ if self.passage == Passage::Worm => return self.arrive_worm(packet),
            Admission::RingAccess => self.accept(packet),
            Admission::OnArrival => self.came_through(packet) || self.admit(packet),
            _ => true,
        };
        if !goes_on {
            return;
        }
        match self.choosing {
            Choosing::Never => {}
            Choosing::Adaptive => self.choose_way(packet),
            Choosing::Ugal(by, stage) => {
                if self.packets.items[packet as usize].stage == stage {
                    self.weigh(packet, by);
                }
            }
        }
        self.request(packet);
    }

    /// Puts a packet into the lane of its stage.
    #[inline]
    pub(super) fn request(&mut self, packet: u32) {
        let lane = self.packets.items[packet as usize].here.lane;
        let server = self.server_of(lane);
        if self.is_down(lane) {
            return self.divert(packet);
        }
        if self.watches {
            self.see_waiting(packet, server);
        }
        self.enqueue(lane, packet);
        self.servers[server as usize].waiting |= 1 << (lane - (server << self.plan.lane_shift));
        if let Some(crowds) = &mut self.crowds {
            crowds[self.servers[server as usize].place as usize] += CROWD;
        }
        self.try_start(server);
    }

    #[inline]
    fn enqueue(&mut self, lane: u32, packet: u32) {
        let p = &self.packets.items[packet as usize];
        let need = self.need(p, p.here);
        let here = &mut self.lanes[lane as usize];
        match here.queue.tail {
            NONE => here.need = need,
            tail => self.packets.items[tail as usize].next_need = need,
        }
        here.queue.push(&mut self.packets.items, packet);
    }

    /// Room that a packet needs behind the server of its stage `here` to start there.
    #[inline]
    fn need(&self, p: &Packet, here: Stage) -> i32 {
        let pace = || &self.paces[self.plan.server_class[self.server_of(here.lane) as usize] as usize];
        match self.admission {
            _ if here.is_last() || self.goes_through(p) => NO_NEED,
            Admission::Part => p.wire().min(pace().buffer) as i32,
            Admission::RingAccess if pace().ring => NO_NEED,
            Admission::Whole | Admission::RingAccess => p.wire() as i32,
            // Any room at all, into the headroom, unless the lane is closed.
            Admission::UntilPaused => NO_NEED + 1,
            Admission::OnArrival | Admission::Unbounded => NO_NEED,
        }
    }

    /// Starts the next packet on a server if one can start.
    #[inline(always)]
    pub(super) fn try_start(&mut self, server: u32) {
        let s = &self.servers[server as usize];
        if !s.busy && s.waiting != 0 {
            self.start_next(server);
        }
    }

    #[inline(never)]
    fn start_next(&mut self, server: u32) {
        let can = self.can_start(server);
        if can == 0 {
            return;
        }
        let bit = if can & (can - 1) == 0 { can.trailing_zeros() } else { self.first_in_turn(server, can) };
        let lane = (server << self.plan.lane_shift) + bit;
        self.start(server, lane, self.lanes[lane as usize].queue.head);
    }

    /// Lanes whose first packet finds room behind the server.
    #[inline]
    pub(super) fn can_start(&self, server: u32) -> u16 {
        let s = &self.servers[server as usize];
        let own_lanes = self.plan.own_lanes;
        let shut = match self.admission {
            _ if self.passage == Passage::Worm => s.held,
            Admission::UntilPaused => s.closed,
            _ => 0,
        };
        let from = (server << self.plan.lane_shift) as usize;
        let lanes = &self.lanes[from..from + 2 * own_lanes as usize];
        let (mut set, mut can) = (s.waiting, 0);
        while set != 0 {
            let bit = set.trailing_zeros();
            let account = bit & (own_lanes - 1);
            let need = lanes[bit as usize].need;
            can |= u16::from(lanes[account as usize].room >= need) << bit;
            // Nobody pauses a packet's last stage; a worm's channel may be held there, too.
            if shut >> account & 1 != 0 && (self.passage == Passage::Worm || need != NO_NEED) {
                can &= !(1 << bit);
            }
            set &= set - 1;
        }
        can
    }

    /// The next of the lanes `can`, two or more, round-robin: those after the last one served first.
    fn first_in_turn(&self, server: u32, can: u16) -> u32 {
        let s = &self.servers[server as usize];
        let late = ((2u32 << s.last_lane) - 1) as u16;
        let waiting = s.waiting;
        let own = waiting & !((1 << self.plan.own_lanes) - 1);
        let first = if own != 0 && own != waiting { self.first_lanes(server) } else { waiting };
        let sets = [first & !late, first & late, waiting & !first].map(|set| set & can);
        sets.into_iter().find(|&set| set != 0).map_or(0, u16::trailing_zeros)
    }

    /// The lanes that are served first where packets that enter the network at `server` meet passing packets. On an SCI
    /// ring the passing packets go first, because the bypass buffer must drain. They do so on its B-Link, too, while a
    /// receive queue in front is more than half full. Elsewhere the lane with the oldest packet goes first. Age keeps
    /// new packets out of a loaded network and yet shuts no node out (Abts and Weisser 2007).
    fn first_lanes(&self, server: u32) -> u16 {
        let s = &self.servers[server as usize];
        let own_lanes = (1 << self.plan.own_lanes) - 1;
        let (passing, own) = (s.waiting & own_lanes, s.waiting & !own_lanes);
        if self.admission == Admission::RingAccess {
            let ring = self.paces[s.class as usize].ring;
            return if ring || self.is_crowded(server, passing) { passing } else { s.waiting };
        }
        if self.oldest(server, own) < self.oldest(server, passing) { own } else { passing }
    }

    /// When the oldest of the packets at the heads of the lanes `set` was made.
    fn oldest(&self, server: u32, mut set: u16) -> u64 {
        let mut least = u64::MAX;
        while set != 0 {
            let lane = (server << self.plan.lane_shift) + set.trailing_zeros();
            least = least.min(self.packets.items[self.lanes[lane as usize].queue.head as usize].born);
            set &= set - 1;
        }
        least
    }

    /// Whether the buffer that the first packet of one of the lanes `set` waits in is more than half full.
    fn is_crowded(&self, server: u32, mut set: u16) -> bool {
        while set != 0 {
            let lane = (server << self.plan.lane_shift) + set.trailing_zeros();
            let p = &self.packets.items[self.lanes[lane as usize].queue.head as usize];
            if p.stage > 0 {
                let input = self.input_lane(p.came);
                let buffer = self.paces[self.servers[self.server_of(input) as usize].class as usize].buffer;
                if self.lanes[input as usize].room < buffer as i32 / 2 {
                    return true;
                }
            }
            set &= set - 1;
        }
        false
    }

    fn start(&mut self, server: u32, lane: u32, packet: u32) {
        self.stats.packet_hops += 1;
        self.lanes[lane as usize].queue.pop(&mut self.packets.items);
        let bit = lane - (server << self.plan.lane_shift);
        let empty = self.lanes[lane as usize].queue.head == NONE;
        let p = self.packets.items[packet as usize];
        self.lanes[lane as usize].need = p.next_need;
        let s = &mut self.servers[server as usize];
        s.busy = true;
        s.last_lane = bit as u8;
        s.waiting &= !(u16::from(empty) << bit);
        let class = s.class;
        if self.watches {
            self.see_start(packet, server);
        }
        let stage = u32::from(p.stage);
        let here = p.here;
        let last = here.is_last();
        let took = self.packet_time(class, &p, here.lane);
        let through = self.goes_through(&p);
        if !last && !through {
            self.reserve(lane, class, p.wire());
        }
        let mut copied = false;
        if self.passage == Passage::Worm {
            self.acknowledge_on_arrival(packet);
            copied = self.hold(packet, lane, took, last);
        } else {
            self.set_feeder(server, packet, &p);
            self.servers[server as usize].busy_ps += took;
            self.queue.push(self.now + took, Event::new(kind::DONE, server, 0));
        }
        let tail = if self.crossbars { self.tail_time(packet, &p, took) } else { took };
        if last && copied {
            // Its arrival is reported when all copies can arrive.
        } else if last {
            self.queue.push(self.now + tail + here.latency_ps(), Event::new(kind::DELIVER, packet, 0));
        } else {
            let next = p.ahead;
            let wait = if self.passage == Passage::Stored { took } else { self.lag(&p, next.lane, tail) };
            let p = &mut self.packets.items[packet as usize];
            (p.stage, p.came, p.here) = (p.stage + 1, if through { p.came } else { here.lane }, next);
            p.ahead = self.routes.after(packet, stage + 1, next);
            let at = self.now + here.latency_ps() + wait;
            self.queue.push(at, Event::new(kind::ARRIVE, packet, 0));
        }
        if stage == 0 && p.index & AGAIN == 0 && !self.pause(p.message, took) {
            self.injected(p.message);
        }
    }

    /// How much later than its head's arrival a packet asks for the next stage, so as not to run dry there.
    #[inline]
    pub(super) fn lag(&mut self, p: &Packet, next: u32, took: u64) -> u64 {
        // The plan's list of classes is small enough to stay near; the next server itself is not needed yet.
        let server = self.server_of(next) as usize;
        let class = if self.outage.is_some() { self.servers[server].class } else { self.plan.server_class[server] };
        if self.paces[class as usize].crossbar { 0 } else { took.saturating_sub(self.packet_time(class, p, next)) }
    }

    #[inline]
    fn is_crossbar(&self, lane: u32) -> bool {
        self.crossbars && self.paces[self.servers[self.server_of(lane) as usize].class as usize].crossbar
    }

    /// Whether a packet keeps its room in front of its stage. Rings answer for it.
    #[inline]
    pub(super) fn goes_through(&self, p: &Packet) -> bool {
        let takes_room = self.admission != Admission::RingAccess;
        takes_room && p.stage > 0 && !p.here.is_last() && self.is_crossbar(p.here.lane)
    }

    /// Whether a packet that arrives has its room in front of the stage before.
    fn came_through(&self, packet: u32) -> bool {
        let p = &self.packets.items[packet as usize];
        p.came != self.routes.stage(packet, u32::from(p.stage) - 1).lane
    }

    /// From a packet's start at its stage, which takes `took`, until its tail has crossed that, in an idle network.
    #[inline]
    pub(super) fn tail_time(&mut self, packet: u32, p: &Packet, took: u64) -> u64 {
        let (mut tail, mut stage, mut lane) = (took, u32::from(p.stage), p.here.lane);
        while stage > 0 && self.passage != Passage::Stored && self.is_crossbar(lane) {
            stage -= 1;
            lane = self.routes.stage(packet, stage).lane;
            tail = tail.max(self.packet_time(self.servers[self.server_of(lane) as usize].class, p, lane));
        }
        tail
    }

    /// How long a packet holds a server of `class` in `lane`.
    #[inline(always)]
    pub(super) fn packet_time(&mut self, class: u8, p: &Packet, lane: u32) -> u64 {
        let pace = &mut self.paces[class as usize];
        if pace.bus { self.bus_time(p, lane) } else { pace.packet_time(p) }
    }

    /// How long a packet holds a host's bus: its first lane is for sending, its second for receiving.
    #[inline(never)]
    fn bus_time(&self, p: &Packet, lane: u32) -> u64 {
        let bus = self.asides[p.message as usize].bus[(lane & 1) as usize];
        part(bus.0, u64::from(p.payload), self.messages.items[p.message as usize].bytes)
    }

    /// Takes room behind `lane` for a packet that starts there. SCI receivers and dropping switches decide at its
    /// arrival instead.
    #[inline]
    fn reserve(&mut self, lane: u32, class: u8, wire: u32) {
        let pace = &self.paces[class as usize];
        let account = self.input_lane(lane);
        let here = &mut self.lanes[account as usize];
        match self.admission {
            Admission::Whole => {
                here.room -= wire as i32;
                self.take_behind(account, u64::from(wire));
            }
            Admission::Part => here.room -= wire.min(pace.buffer) as i32,
            Admission::RingAccess if !pace.ring => here.room -= wire as i32,
            Admission::UntilPaused => {
                // A paused link still ends its packet: that goes to the headroom.
                here.room -= wire as i32;
                let closed = here.room <= pace.pauses_at;
                let (server, bit) = self.account(account);
                server.closed = if closed { server.closed | bit } else { server.closed & !bit };
            }
            _ => {}
        }
    }

    /// Notes whose buffer the packet leaves when its tail has crossed `server`.
    #[inline]
    fn set_feeder(&mut self, server: u32, packet: u32, p: &Packet) {
        let stage = u32::from(p.stage);
        let keeps = || self.keeps_copy(packet, stage) || self.goes_through(p);
        let feeder = if stage == 0 || self.admission == Admission::Unbounded || keeps() {
            NONE
        } else {
            self.input_lane(p.came)
        };
        let s = &mut self.servers[server as usize];
        (s.feeder, s.feeder_bytes) = (feeder, p.wire());
    }

    /// An SCI ring link: the sender keeps its copy until the echo. A packet leaves a receive queue here only where it
    /// turns from ring to ring with no B-Link between.
    #[inline]
    fn keeps_copy(&self, packet: u32, stage: u32) -> bool {
        let turns = || self.enters_ring(packet, stage) && self.is_ring_stage(packet, stage - 1);
        self.admission == Admission::RingAccess && self.is_ring_stage(packet, stage) && !turns()
    }

    /// The lane that keeps the account of the buffer behind `lane`: that of passing packets.
    #[inline]
    pub(super) fn input_lane(&self, lane: u32) -> u32 {
        lane & !self.plan.own_lanes
    }

    /// A packet's tail has left a server.
    #[inline]
    pub(super) fn done(&mut self, server: u32) {
        self.lay_down(server);
        let s = &self.servers[server as usize];
        let (feeder, bytes) = (s.feeder, s.feeder_bytes);
        if feeder != NONE {
            self.free_room(feeder, bytes);
        }
        self.try_start(server);
    }

    /// No packet holds a server any more.
    #[inline]
    pub(super) fn lay_down(&mut self, server: u32) {
        let server = &mut self.servers[server as usize];
        let was_busy = std::mem::replace(&mut server.busy, false);
        if let Some(crowds) = &mut self.crowds {
            crowds[server.place as usize] -= u64::from(was_busy) * CROWD;
        }
    }

    /// Gives back room behind `lane` and checks whether its server can start.
    #[inline(always)]
    pub(super) fn free_room(&mut self, lane: u32, bytes: u32) {
        self.lanes[lane as usize].room += bytes as i32;
        if self.admission == Admission::UntilPaused {
            self.resume(lane);
        }
        self.take_behind(lane, u64::from(bytes).wrapping_neg());
        self.try_start(self.server_of(lane));
    }

    /// Shows choices that the buffer behind `lane` has so many bytes less.
    #[inline]
    fn take_behind(&mut self, lane: u32, bytes: u64) {
        let server = self.server_of(lane) as usize;
        if let Some(crowds) = self.crowds.as_mut().filter(|_| self.sees_room) {
            let crowd = &mut crowds[self.servers[server].place as usize];
            *crowd = crowd.wrapping_add(bytes);
        }
    }

    /// Lets a paused lane go on when enough of the buffer behind it is free.
    fn resume(&mut self, lane: u32) {
        let class = self.servers[self.server_of(lane) as usize].class;
        if self.lanes[lane as usize].room >= self.paces[class as usize].resumes_at {
            let (server, bit) = self.account(lane);
            server.closed &= !bit;
        }
    }

    /// Ethernet without pause: a packet that finds no room is dropped, and sent again by its source after a time.
    fn admit(&mut self, packet: u32) -> bool {
        let p = self.packets.items[packet as usize];
        let lane = self.input_lane(p.came);
        let own = self.is_own(&p);
        let here = &mut self.lanes[lane as usize];
        if here.room >= p.wire() as i32 || own {
            here.room -= p.wire() as i32;
            return true;
        }
        self.stats.drops += 1;
        let after = self.again_after(packet);
        self.send_again(packet, 0);
        self.queue.push(self.now + after, Event::new(kind::RETRY, packet, 0));
        false
    }

    /// Shares of a buffer at which its link is paused, and at which it resumes.
    pub(super) fn pauses(plan: &Plan<'_>, admission: Admission, settings: &Settings) -> [f64; 2] {
        if admission != Admission::UntilPaused {
            return [1.0; 2];
        }
        let inputs = Inputs::new(&plan.fabric.spec);
        let stated = |name: &str| inputs.require(name).expect("an assumption of any technology");
        let pause = settings.pause_share.unwrap_or_else(|| stated("pfc_pause_share"));
        [pause, settings.resume_share.map_or_else(|| pause * stated("pfc_resume_share"), |resume| resume.min(pause))]
    }

    /// After how long what is gone is sent again.
    pub(super) fn retransmit_ps(&self) -> u64 {
        let stated = || Inputs::new(&self.plan.fabric.spec).require("retransmit_time");
        self.settings.retransmit_ps.unwrap_or_else(|| stated().expect("an assumption of any technology") as u64)
    }

    /// Takes a packet back to a stage of its route.
    pub(super) fn send_again(&mut self, packet: u32, stage: u32) {
        let p = &mut self.packets.items[packet as usize];
        (p.stage, p.here) = (stage as u16, self.routes.stage(packet, stage));
        p.ahead = self.routes.after(packet, stage, p.here);
        p.came = if stage == 0 { NONE } else { self.routes.stage(packet, stage - 1).lane };
        p.index |= AGAIN;
    }

    fn came_by_a_dead_link(&self, packet: u32) -> bool {
        let stage = u32::from(self.packets.items[packet as usize].stage);
        self.is_down(self.routes.stage(packet, stage - 1).lane)
    }

    /// Whether earlier packets of its message are still to come.
    #[inline]
    fn comes(&mut self, p: &Packet) -> Comes {
        let m = &self.messages.items[p.message as usize];
        let of = Arriving { to: m.to, bytes: m.bytes, full: self.plan.packet_bytes, delivered: m.delivered };
        if m.tree != NONE { Comes::InOrder } else { self.reorder.arrives(p.message, p.index & !AGAIN, of) }
    }

    /// A receiver has no room for a packet before its turn: its sender hears of that a path back later.
    #[inline(never)]
    fn refuse(&mut self, packet: u32, p: &Packet) {
        self.stats.reorder_drops += 1;
        let back = self.back_ps(p).unwrap_or_else(|| self.routes.latency_ps(packet));
        self.send_again(packet, 0);
        self.queue.push(self.now + back, Event::new(kind::RETRY, packet, 0));
    }

    /// A packet is at its destination.
    pub(super) fn deliver(&mut self, packet: u32) -> Option<Note> {
        let p = self.packets.items[packet as usize];
        if self.outage.is_some() && self.is_down(p.here.lane) {
            self.lose_at_end(packet);
            return None;
        }
        match self.comes(&p) {
            Comes::InOrder => {}
            Comes::Early => {
                self.stats.overtakings += 1;
                self.stats.reorder_bytes = self.reorder.most();
            }
            Comes::Refused => {
                self.refuse(packet, &p);
                return None;
            }
        }
        if self.admission == Admission::RingAccess {
            self.deliver_sci(packet);
        }
        if self.passage == Passage::Worm {
            self.copy_arrived(packet);
        }
        if self.watches {
            self.see_arrival(packet, &p);
        }
        if self.outage.is_some() {
            self.acknowledge(packet);
        }
        self.stats.delivered += 1;
        self.stats.delivered_bytes += u64::from(p.payload);
        self.packets.items[packet as usize].message = NONE;
        self.packets.remove(packet);
        let m = &mut self.messages.items[p.message as usize];
        m.delivered += 1;
        let copies = self.casts.copies(m.tree);
        if m.delivered < m.packets * copies {
            return None;
        }
        let message = *m;
        self.messages.remove(p.message);
        Some(Note::Delivered(message))
    }
}
