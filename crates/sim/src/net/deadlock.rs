//! Why nothing moves any more.

use super::{Net, Packet};
use crate::error::SimError;
use crate::plan::NONE;
use hotlink_event::Queue;
use hotlink_fabric::flow_control::{Admission, Passage};

impl Net<'_> {
    /// The error for packets that can never move again, where such are: new messages and those that go elsewhere hide it.
    pub(crate) fn locked(&self) -> Option<SimError> {
        let is_over = self.packets.live > 0 && self.pokes.is_empty() && self.queue.len() == self.timers as usize;
        let frozen = || self.frozen().map(|lane| self.deadlock(Some(lane)));
        if is_over { Some(self.deadlock(None)) } else { frozen() }
    }

    /// A lane, if there is one, whose packets wait for room that only waiting packets could make. It does not apply to
    /// worms, which wait for one another, nor where echoes make room or packets are dropped.
    fn frozen(&self) -> Option<u32> {
        let by_room = matches!(self.admission, Admission::Part | Admission::Whole | Admission::UntilPaused);
        if !by_room || self.passage == Passage::Worm || self.repair_awaited() {
            return None;
        }
        let starts = |lane: u32| {
            let (server, bit) = (self.server_of(lane), lane & ((1 << self.plan.lane_shift) - 1));
            let s = &self.servers[server as usize];
            s.busy || self.lanes[lane as usize].queue.head == NONE || self.can_start(server) >> bit & 1 != 0
        };
        let mut moves: Vec<bool> = (0..self.lanes.len() as u32).map(starts).collect();
        loop {
            // Buffers that something leaves, now or once its lane moves.
            let mut drains = vec![false; moves.len()];
            let next = |p: &Packet| if self.goes_through(p) { p.ahead.lane } else { p.here.lane };
            let goes = |p: &&Packet| p.message != NONE && moves[next(p) as usize];
            let going = self.packets.items.iter().filter(goes);
            let leaving = self.servers.iter().filter(|server| server.busy).map(|server| server.feeder);
            for lane in going.map(|p| p.came).chain(leaving).filter(|&lane| lane != NONE) {
                drains[self.input_lane(lane) as usize] = true;
            }
            let thaws = |&lane: &u32| !moves[lane as usize] && drains[self.input_lane(lane) as usize];
            let thawed: Vec<u32> = (0..moves.len() as u32).filter(thaws).collect();
            if thawed.is_empty() {
                return moves.iter().position(|moves| !moves).map(|lane| lane as u32);
            }
            thawed.into_iter().for_each(|lane| moves[lane as usize] = true);
        }
    }

    /// The error for packets that are left when no event is: the cycle of resources that wait for one another. The
    /// search starts at the lane `from`, if given.
    pub(super) fn deadlock(&self, from: Option<u32>) -> SimError {
        let wants = self.wants();
        let any = || wants.iter().position(|&want| want != NONE).unwrap_or(0) as u32;
        let mut lane = from.map_or_else(any, |lane| self.input_lane(lane));
        let mut seen = vec![false; wants.len()];
        while wants[lane as usize] != NONE && !seen[lane as usize] {
            seen[lane as usize] = true;
            lane = wants[lane as usize];
        }
        let (start, mut cycle) = (lane, vec![self.lane_name(lane)]);
        while wants[lane as usize] != NONE {
            lane = wants[lane as usize];
            cycle.push(self.lane_name(lane));
            if lane == start {
                break;
            }
        }
        SimError::Deadlock { at_us: format!("{:.3}", self.now as f64 / 1e6), packets: self.packets.live, cycle }
    }

    /// For each virtual channel that a waiting packet holds, or whose buffer it fills: that which the packet waits for.
    fn wants(&self) -> Vec<u32> {
        let mut wants = vec![NONE; self.lanes.len()];
        for (i, p) in self.packets.items.iter().enumerate().filter(|(_, p)| p.message != NONE && p.stage > 0) {
            let want = self.input_lane(p.here.lane);
            let last = u32::from(p.stage) - 1;
            let first = self.worms.get(i).map_or(last, |worm| worm.tail.min(last));
            for stage in first..=last {
                let worm = self.passage == Passage::Worm;
                let held = if worm { self.routes.stage(i as u32, stage).lane } else { p.came };
                wants[self.input_lane(held) as usize] = want;
            }
        }
        wants
    }

    fn lane_name(&self, lane: u32) -> String {
        let server = self.server_of(lane);
        let name = self.plan.server_name(server);
        match lane - (server << self.plan.lane_shift) {
            channel if self.plan.channels_each > 1 => format!("{name} (virtual channel {channel})"),
            _ => name,
        }
    }
}
