//! Why nothing moves any more.

use super::Net;
use crate::error::SimError;
use crate::plan::NONE;
use hotlink_event::Queue;

impl Net<'_> {
    /// Whether packets are left and nothing is to come but the workload's timers: these cannot move them.
    pub(crate) fn is_locked(&self) -> bool {
        self.packets.live > 0 && self.pokes.is_empty() && self.queue.len() == self.timers as usize
    }

    /// The error for packets that are left when no event is: the cycle of resources that wait for one another.
    pub(crate) fn deadlock(&self) -> SimError {
        let wants = self.wants();
        let mut lane = wants.iter().position(|&want| want != NONE).unwrap_or(0) as u32;
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
                let held = self.input_lane(self.routes.stage(i as u32, stage).lane);
                wants[held as usize] = want;
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
