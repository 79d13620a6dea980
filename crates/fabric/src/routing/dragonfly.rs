//! Dragonfly routing by formula: minimal (local, global, local) and Valiant (Kim, Dally, Scott, Abts 2008). Valiant is
//! minimal to a random intermediate group, then minimal to the destination.
//!
//! A router with a global link of its own to the wanted group takes it; any other spreads evenly over the group's
//! links there. Virtual channels rise along the path (local 0, global 0, local 1, global 1, local 2), so that no cycle
//! of channels can form. In a single group a Valiant route goes by a random router.

use super::{Hop, State};
use crate::network::{Network, Vertex};
use crate::topology::Dragonfly;
use std::ops::Range;

/// Where a packet of phase 0 or 1 goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Minimal, to this router.
    Router(Vertex),
    /// First leg of a Valiant route: any router of this group.
    Group(u32),
    /// Both legs: by this group, or in a single group by this router, to this router.
    Via(u32, Vertex),
}

/// The path to a goal.
#[derive(Debug)]
pub struct DragonflyToward<'a> {
    shape: &'a Dragonfly,
    network: &'a Network,
    goal: Goal,
}

impl<'a> DragonflyToward<'a> {
    /// The path to `goal`.
    pub fn new(shape: &'a Dragonfly, network: &'a Network, goal: Goal) -> DragonflyToward<'a> {
        DragonflyToward { shape, network, goal }
    }

    /// Goal, and phase, once arrival in the intermediate group is taken into account.
    fn leg(&self, state: State) -> (Goal, u8) {
        let (group, _) = self.shape.locate(state.at);
        match self.goal {
            Goal::Via(via, _) if state.phase == 0 && self.shape.groups == 1 => {
                let router = self.shape.router(0, via);
                if state.at == router { self.second_leg() } else { (Goal::Router(router), 0) }
            }
            Goal::Via(via, _) if state.phase == 0 && group != via => (Goal::Group(via), 0),
            Goal::Via(..) => self.second_leg(),
            goal => (goal, state.phase),
        }
    }

    fn second_leg(&self) -> (Goal, u8) {
        match self.goal {
            Goal::Via(_, router) => (Goal::Router(router), 1),
            goal => (goal, 1),
        }
    }

    /// Falls with every hop and is 0 at the goal: at most 3 hops a leg.
    pub fn rank(&self, state: State) -> u32 {
        let (goal, phase) = self.leg(state);
        let (group, at) = self.shape.locate(state.at);
        let (wanted, place) = self.group_of(goal);
        let arrived = u32::from(place.is_some_and(|place| place != at));
        let rank = match group == wanted {
            true => arrived,
            false => 3 - u32::from(!self.own_links(group, at, wanted).is_empty()),
        };
        rank + if matches!(self.goal, Goal::Via(..)) && phase == 0 { 4 } else { 0 }
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

    /// Which of the links from `group` to `wanted` leave at router `at`: those whose slots are among its own.
    fn own_links(&self, group: u32, at: u32, wanted: u32) -> Range<u32> {
        let Dragonfly { groups, links, .. } = *self.shape;
        let first = self.shape.offset(group, wanted) - 1;
        // Link n has slot n x (groups - 1) + first.
        let from = |slot: u32| slot.saturating_sub(first).div_ceil(groups - 1).min(links);
        let slots = self.shape.slots(at);
        from(slots.start)..from(slots.end)
    }

    /// How many paths on there are from a router.
    pub fn count(&self, state: State) -> u32 {
        let (goal, _) = self.leg(state);
        let (group, at) = self.shape.locate(state.at);
        let (wanted, place) = self.group_of(goal);
        if group == wanted {
            return if place.is_some_and(|place| place != at) { self.shape.cables } else { 0 };
        }
        match self.own_links(group, at, wanted).len() as u32 {
            0 => self.shape.links * self.shape.cables,
            own => own,
        }
    }

    /// The path on number `nth` of [`DragonflyToward::hops`], without the others.
    pub fn nth(&self, state: State, nth: u32) -> Option<Hop> {
        let (goal, phase) = self.leg(state);
        let (group, at) = self.shape.locate(state.at);
        let (wanted, place) = self.group_of(goal);
        let go = |port: u32, vc: u8, share: f64| Hop { channel: self.network.port(state.at, port), vc, phase, share };
        if group == wanted {
            let mut ports = self.shape.local_ports(at, place.filter(|&place| place != at)?);
            let share = 1.0 / f64::from(self.shape.cables);
            return ports.nth(nth as usize).map(|port| go(port, phase + 1, share));
        }
        let own = self.own_links(group, at, wanted);
        let offset = self.shape.offset(group, wanted);
        if own.is_empty() {
            let Dragonfly { links, cables, .. } = *self.shape;
            let (router, _) = self.shape.gateway(offset, nth % links);
            let share = 1.0 / f64::from(links * cables);
            let port = self.shape.local_ports(at, router).nth((nth / links) as usize);
            return port.map(|port| go(port, phase, share));
        }
        let (_, port) = self.shape.gateway(offset, own.start + nth);
        (nth < own.len() as u32).then(|| go(self.shape.global_port(port), phase, 1.0 / own.len() as f64))
    }

    /// Paths on from a router.
    pub fn hops(&self, state: State, hops: &mut Vec<Hop>) {
        hops.extend((0..self.count(state)).filter_map(|nth| self.nth(state, nth)));
    }
}
