//! UGAL: a packet's first router chooses between the minimal path and one by a random other group or switch.
//!
//! Singh 2005; Kim, Dally, Scott and Abts 2008, s4.2. The router takes the minimal path if its queue times its hops is
//! at most the other path's queue times that one's hops. The product stands for the time to the destination. UGAL-L
//! counts the packets that wait for the first link of each path or cross it. UGAL-G counts those of the fullest link on
//! each path, which no real router knows.
//!
//! A packet chooses once. The virtual channels are those of Valiant routing. Both kinds of path pass them in ascending
//! order, so that nothing can deadlock.

use super::{CROWD, Net};
use crate::flow::Detours;
use crate::net::pool::AGAIN;
use crate::plan::{Plan, RouteBuffer, Stage};
use hotlink_fabric::network::{Node, Resource};
use hotlink_fabric::rng::mix;
use hotlink_fabric::routing::State;

/// How packets choose among paths as they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choosing {
    /// Their paths are drawn at the source.
    Never,
    /// At each device ([`super::adaptive`]).
    Adaptive,
    /// At the first router, whose stage this is.
    Ugal(Detours, u16),
}

/// The stage of a route in which a packet waits for its first router, the same for all nodes.
pub(super) fn first_router(plan: &Plan<'_>) -> u16 {
    let mut way = RouteBuffer::default();
    let last = plan.fabric.nodes().max(2) - 1;
    if plan.route(0, last, 0, &mut way).is_err() {
        return 0;
    }
    let network = &plan.fabric.network;
    let leaves_router = |stage: &Stage| match plan.server_resource(stage.lane >> plan.lane_shift) {
        Resource::Channel(channel) => !network.is_node(network.from(channel)),
        _ => false,
    };
    way.stages.iter().position(leaves_router).unwrap_or(0) as u16
}

impl Net<'_> {
    /// Sends a packet that is at its first router by another group if that promises to be faster.
    pub(super) fn weigh(&mut self, packet: u32, by: Detours) {
        let p = self.packets.items[packet as usize];
        // An empty queue cannot be beaten.
        if by == Detours::Local && self.waits_for(p.here) == 0 {
            return;
        }
        let m = &self.messages.items[p.message as usize];
        let (from, inner) = (m.from, m.inner);
        let choice = self.plan.choice(from, m.to, p.message, p.index & !AGAIN);
        let trip = self.plan.trip_by_another(from, m.to, mix(choice));
        if trip.via.is_none() {
            return;
        }
        let fabric = self.plan.fabric;
        let router = State { at: fabric.attachment.home[Node(from).0 as usize], phase: 0 };
        let ways = fabric.ways(trip);
        let lot = mix(choice ^ u64::from(p.index)) >> 32;
        let Some(hop) = ways.drawn(router, lot, &mut self.buffer.hops) else { return };
        if self.outage.is_some() && !self.plan.leads_on(hop, trip, &mut self.buffer) {
            return;
        }
        let enters = p.here.lane & self.plan.own_lanes != 0;
        self.buffer.inner = inner;
        if let Err(error) = self.plan.detour(hop, enters, trip, choice, &mut self.buffer) {
            self.failure = Some(error);
            return;
        }
        let hosts = self.plan.receiving_stages(inner);
        let (mut minimal, mut stage) = (Vec::new(), u32::from(p.stage));
        std::mem::swap(&mut minimal, &mut self.scratch);
        minimal.clear();
        loop {
            let here = self.routes.stage(packet, stage);
            minimal.push(here);
            if here.is_last() {
                break;
            }
            stage += 1;
        }
        let cost = |way: &[Stage]| {
            let links = &way[..way.len().saturating_sub(hosts).max(1)];
            let queue = match by {
                Detours::Local => self.waits_for(links[0]),
                Detours::Global => links.iter().map(|&link| self.waits_for(link)).max().unwrap_or(0),
            };
            u64::from(queue) * links.len() as u64
        };
        let leaves = cost(&minimal) > cost(&self.buffer.stages);
        self.scratch = minimal;
        if leaves {
            self.stats.detours += 1;
            self.take_detour(packet);
        }
    }

    /// Packets that wait for the server of a stage or hold it.
    fn waits_for(&self, stage: Stage) -> u32 {
        self.crowds.as_ref().map_or(0, |crowds| (crowds[self.server_of(stage.lane) as usize] / CROWD) as u32)
    }
}
