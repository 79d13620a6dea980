//! Why nothing moves any more.

use super::Net;
use crate::error::SimError;
use crate::plan::NONE;

impl Net<'_> {
    /// The error for packets that are left when no event is: the cycle of resources that wait for one another.
    pub(super) fn deadlock(&self) -> SimError {
        let wants = self.wants();
        let mut server = wants.iter().position(|&want| want != NONE).unwrap_or(0) as u32;
        let mut seen = vec![false; wants.len()];
        while wants[server as usize] != NONE && !seen[server as usize] {
            seen[server as usize] = true;
            server = wants[server as usize];
        }
        let (start, mut cycle) = (server, vec![self.plan.server_name(server)]);
        while wants[server as usize] != NONE {
            server = wants[server as usize];
            cycle.push(self.plan.server_name(server));
            if server == start {
                break;
            }
        }
        SimError::Deadlock { at_us: format!("{:.3}", self.now as f64 / 1e6), packets: self.packets.live, cycle }
    }

    /// For each server that a waiting packet holds, or whose buffer it fills: the server that the packet waits for.
    fn wants(&self) -> Vec<u32> {
        let mut wants = vec![NONE; self.servers.len()];
        for (i, p) in self.packets.items.iter().enumerate().filter(|(_, p)| p.message != NONE && p.stage > 0) {
            let want = self.server_of(p.here.lane);
            let last = u32::from(p.stage) - 1;
            let first = self.worms.get(i).map_or(last, |worm| worm.tail.min(last));
            for stage in first..=last {
                let held = self.server_of(self.routes.stage(p.route, stage).lane);
                wants[held as usize] = want;
            }
        }
        wants
    }
}
