//! Dragonfly routing by formula: minimal (local, global, local) and Valiant (minimal to a random intermediate group, then
//! minimal to the destination; Kim, Dally, Scott, Abts 2008).
//!
//! A router with a global link of its own to the wanted group takes it; any other spreads evenly over the group's
//! links there. Virtual channels rise along the way (local 0, global 0, local 1, global 1, local 2), so that no cycle
//! of channels can form.

use super::{Hop, State};
use crate::network::{Network, Vertex};
use crate::topology::Dragonfly;

/// Where a packet of phase 0 or 1 goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Minimal, to this router.
    Router(Vertex),
    /// First leg of a Valiant route: any router of this group.
    Group(u32),
    /// Both legs: by this group to this router.
    Via(u32, Vertex),
}

/// The way to a goal.
#[derive(Debug)]
pub struct DragonflyToward<'a> {
    shape: &'a Dragonfly,
    network: &'a Network,
    goal: Goal,
}

impl<'a> DragonflyToward<'a> {
    /// The way to `goal`.
    pub fn new(shape: &'a Dragonfly, network: &'a Network, goal: Goal) -> DragonflyToward<'a> {
        DragonflyToward { shape, network, goal }
    }

    /// Goal, and phase, once arrival in the intermediate group is taken into account.
    fn leg(&self, state: State) -> (Goal, u8) {
        let (group, _) = self.shape.locate(state.at);
        match self.goal {
            Goal::Via(via, _) if state.phase == 0 && group != via => (Goal::Group(via), 0),
            Goal::Via(_, router) => (Goal::Router(router), 1),
            goal => (goal, state.phase),
        }
    }

    /// Falls with every hop and is 0 at the goal: at most 3 hops a leg.
    pub fn rank(&self, state: State) -> u32 {
        let (goal, _) = self.leg(state);
        let (group, at) = self.shape.locate(state.at);
        let (wanted, place) = self.group_of(goal);
        let arrived = u32::from(place.is_some_and(|place| place != at));
        let rank = match group == wanted {
            true => arrived,
            false => 3 - u32::from(self.own_link(group, at, wanted)),
        };
        rank + if matches!((self.goal, goal), (Goal::Via(..), Goal::Group(_))) { 4 } else { 0 }
    }

    fn group_of(&self, goal: Goal) -> (u32, Option<u32>) {
        match goal {
            Goal::Group(group) => (group, None),
            Goal::Router(router) | Goal::Via(_, router) => {
                let (group, place) = self.shape.locate(router);
                (group, Some(place))
            }
        }
    }

    fn own_link(&self, group: u32, at: u32, wanted: u32) -> bool {
        let offset = self.shape.offset(group, wanted);
        (0..self.shape.links).any(|link| self.shape.gateway(offset, link).0 == at)
    }

    /// Ways on from a router.
    pub fn hops(&self, state: State, hops: &mut Vec<Hop>) {
        let (goal, phase) = self.leg(state);
        let (group, at) = self.shape.locate(state.at);
        let (wanted, place) = self.group_of(goal);
        let mut go = |port: u32, vc: u8, share: f64| {
            hops.push(Hop { channel: self.network.port(state.at, port), vc, phase, share });
        };
        if group == wanted {
            if let Some(place) = place.filter(|&place| place != at) {
                go(self.shape.local_port(at, place), phase + 1, 1.0);
            }
            return;
        }
        let offset = self.shape.offset(group, wanted);
        let gateways = (0..self.shape.links).map(|link| self.shape.gateway(offset, link));
        let own = gateways.clone().filter(|&(router, _)| router == at).count();
        for (router, port) in gateways {
            if router == at {
                go(self.shape.routers - 1 + port, phase, 1.0 / own as f64);
            } else if own == 0 {
                go(self.shape.local_port(at, router), phase, 1.0 / f64::from(self.shape.links));
            }
        }
    }
}
