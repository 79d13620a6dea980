//! Asking memory ahead of time for what the next events need.
//!
//! A loaded network keeps more packets than caches hold. An event reaches its data only through a chain. It leads to a
//! server, the server's lane to the packet at its front, and that packet to the stages of its route. The loop therefore
//! prefetches for groups of future events. For a group farther off it prefetches the first link of the chain, for a
//! nearer group the next. Each step prefetches what the step after it reads.

use super::{Net, kind};
use crate::plan::NONE;
use hotlink_event::Event;

/// Events of a group.
const GROUP: usize = 8;
/// Steps.
const STEPS: usize = 4;
/// Fewer places of packets than this are near anyway. Tests look ahead always.
const COOL: usize = if cfg!(test) { 1 } else { 32768 };

/// Asks for place `at` of `items`, if there is such a place.
#[inline(always)]
#[allow(unsafe_code)]
pub(super) fn fetch<T>(items: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let place = items.as_ptr().wrapping_add(at);
        // SAFETY: a prefetch neither reads nor writes, and does nothing where there is no memory.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, at);
}

impl Net<'_> {
    /// Asks for what the next events need; to be called before every event.
    #[inline]
    pub(super) fn look_ahead(&mut self) {
        if self.packets.items.len() < COOL {
            return;
        }
        if self.looked == 0 {
            self.looked = GROUP as u32;
            self.ask_ahead();
        }
        self.looked -= 1;
    }

    fn ask_ahead(&mut self) {
        self.queue.look_ahead(STEPS * GROUP);
        let mut groups = self.queue.due().chunks(GROUP);
        let mut next = || groups.next().unwrap_or_default().iter().map(|item| item.1);
        next().for_each(|event| self.ask_ways_upstream(event));
        next().for_each(|event| self.ask_ways(event));
        next().for_each(|event| self.ask_what_it_leads_to(event));
        next().for_each(|event| self.ask_own(event));
    }

    /// First: what the event names.
    #[inline]
    fn ask_own(&self, event: Event) {
        let id = event.id() as usize;
        match event.kind() {
            kind::ARRIVE | kind::DELIVER => fetch(&self.packets.items, id),
            kind::DONE => {
                fetch(&self.servers, id);
                fetch(&self.lanes, id << self.plan.lane_shift);
            }
            kind::RELEASE => {
                fetch(&self.servers, self.server_of(event.id()) as usize);
                fetch(&self.holds, id);
            }
            _ => {}
        }
    }

    /// Then: the lane of the packet, its message; the packets that wait for the server, the buffer that becomes free.
    #[inline]
    fn ask_what_it_leads_to(&self, event: Event) {
        match event.kind() {
            kind::ARRIVE => {
                let lane = self.packets.items[event.id() as usize].here.lane;
                fetch(&self.lanes, lane as usize);
                fetch(&self.servers, self.server_of(lane) as usize);
                if !self.holds.is_empty() {
                    self.ask_worm(event.id(), lane);
                }
            }
            kind::RELEASE => self.ask_feeder(self.holds[event.id() as usize].feeder),
            kind::DELIVER => {
                fetch(&self.messages.items, self.packets.items[event.id() as usize].message as usize);
            }
            kind::DONE => {
                if let Some(feeder) = self.feeder(event) {
                    fetch(&self.lanes, feeder as usize);
                    fetch(&self.servers, self.server_of(feeder) as usize);
                }
                self.fronts(event.id(), |front| fetch(&self.packets.items, front as usize));
            }
            _ => {}
        }
    }

    /// The buffer that a worm arrives in, and what it holds.
    #[inline]
    fn ask_worm(&self, packet: u32, lane: u32) {
        fetch(&self.holds, self.input_lane(lane) as usize);
        fetch(&self.worms, packet as usize);
        self.ask_feeder(self.packets.items[packet as usize].came);
        self.routes.ask(packet, 0);
    }

    /// A virtual channel whose buffer a worm enters or leaves.
    #[inline]
    fn ask_feeder(&self, lane: u32) {
        if lane != NONE {
            fetch(&self.servers, self.server_of(lane) as usize);
            fetch(&self.holds, self.input_lane(lane) as usize);
        }
    }

    /// Then: the paths on of these packets; those that wait for room in the buffer.
    #[inline]
    fn ask_ways(&self, event: Event) {
        if event.kind() == kind::DONE {
            self.fronts(event.id(), |front| self.ask_way(front));
            if let Some(feeder) = self.feeder(event) {
                self.fronts(self.server_of(feeder), |front| fetch(&self.packets.items, front as usize));
            }
        }
    }

    /// At last: the paths on of the latter.
    #[inline]
    fn ask_ways_upstream(&self, event: Event) {
        if event.kind() == kind::DONE
            && let Some(feeder) = self.feeder(event)
        {
            self.fronts(self.server_of(feeder), |front| self.ask_way(front));
        }
    }

    /// The stage that a packet's record is to be filled with, and its message at the first one.
    #[inline]
    fn ask_way(&self, packet: u32) {
        let p = &self.packets.items[packet as usize];
        self.routes.ask(packet, u32::from(p.stage) + 2);
        if p.stage == 0 {
            fetch(&self.messages.items, p.message as usize);
        }
    }

    /// The lane whose buffer a packet leaves when its server is done.
    #[inline]
    fn feeder(&self, done: Event) -> Option<u32> {
        let feeder = self.servers[done.id() as usize].feeder;
        (feeder != NONE).then_some(feeder)
    }

    /// The first packets of a server's lanes.
    #[inline]
    fn fronts(&self, server: u32, show: impl Fn(u32)) {
        let mut set = self.servers[server as usize].waiting;
        while set != 0 {
            let lane = (server << self.plan.lane_shift) + set.trailing_zeros();
            show(self.lanes[lane as usize].queue.head);
            set &= set - 1;
        }
    }
}
