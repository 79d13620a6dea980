//! Flows whose path a hash of the pair chooses: each pair is followed by itself.
//!
//! What lies ahead of a switch depends on it and on the destination's home alone, so the hops are asked for once a home,
//! and each pair only draws among them.

use crate::{Counter, Counts, LoadError, in_chunks};
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Node};
use hotlink_fabric::routing::choice::Draw;
use hotlink_fabric::routing::{Hop, Paths, State, Trip};
use hotlink_fabric::traffic::{Demand, Flow};

/// Most pairs of nodes whose paths are followed one by one (under [`Paths::Flow`]): all of 8,192 nodes.
pub const MOST_PAIRS: u64 = 1 << 26;

/// Follows every pair's own path, one destination after another.
pub(crate) fn count(fabric: &Fabric, demand: &Demand, seed: u64) -> Result<Counts, LoadError> {
    let nodes = fabric.nodes();
    let all = if demand.all_pairs > 0.0 { u64::from(nodes) * u64::from(nodes) } else { 0 };
    let pairs = all + demand.flows.len() as u64;
    if pairs > MOST_PAIRS {
        return Err(LoadError::Pairs { pairs, most: MOST_PAIRS });
    }
    let mut flows: Vec<&Flow> = demand.flows.iter().collect();
    flows.sort_by_key(|flow| (flow.destination, flow.source));
    in_chunks(fabric, nodes as usize, |counter, to| {
        let to = Node(to as u32);
        if demand.all_pairs > 0.0 {
            (0..nodes).try_for_each(|from| counter.follow(Node(from), to, demand.all_pairs, seed))?;
        }
        let own = flows.partition_point(|flow| flow.destination < to)..;
        let own = flows[own].iter().take_while(|flow| flow.destination == to);
        own.into_iter().try_for_each(|flow| counter.follow(flow.source, to, flow.amount, seed))
    })
}

impl Counter<'_> {
    /// Adds `amount` along the path that the pair's hash chooses.
    fn follow(&mut self, source: Node, destination: Node, amount: f64, seed: u64) -> Result<(), LoadError> {
        let fabric = self.fabric;
        let explicit = fabric.routing.explicit().is_some_and(|routes| routes.contains_key(&(source, destination)));
        if source == destination || explicit {
            return Ok(());
        }
        let attachment = &fabric.attachment;
        let end = attachment.home[destination.0 as usize];
        self.ahead.turn_to(attachment.group[destination.0 as usize]);
        let mut state = State { at: attachment.home[source.0 as usize], phase: 0 };
        let mut draw = Draw::of_pair(Paths::Flow, seed, source, destination);
        loop {
            self.counts.vertex[state.at.0 as usize] += amount;
            if state.at == end {
                return Ok(());
            }
            let hops = self.ahead.of(fabric, state, source, destination);
            let Some(&(channel, next)) = hops.get(draw.place(hops.len() as u32) as usize) else {
                return Err(LoadError::NoRoute { sender: source, receiver: destination });
            };
            self.counts.channel[channel.0 as usize] += amount;
            state = next;
        }
    }
}

/// The hops towards one home after another, asked for when they are first needed.
#[derive(Default)]
pub(crate) struct Ahead {
    group: Option<u32>,
    /// How often the home changed; what is known of a state is of an earlier home where its number is less.
    turn: u32,
    /// Of each state: the turn in which it was asked for, and where its hops stand.
    known: Vec<(u32, u32, u32)>,
    hops: Vec<(Channel, State)>,
    asked: Vec<Hop>,
}

impl Ahead {
    fn turn_to(&mut self, group: u32) {
        if self.group != Some(group) {
            self.group = Some(group);
            self.turn += 1;
            self.hops.clear();
        }
    }

    /// The hops at `state` of what goes from `source` to `destination`, which is not there yet.
    fn of(&mut self, fabric: &Fabric, state: State, source: Node, destination: Node) -> &[(Channel, State)] {
        let phases = usize::from(fabric.routing.phases());
        let place = state.at.0 as usize * phases + usize::from(state.phase);
        if self.known.is_empty() {
            self.known = vec![(0, 0, 0); fabric.network.vertices() * phases];
        }
        if self.known[place].0 != self.turn {
            fabric.hops(state, Trip::new(source, destination), &mut self.asked);
            let start = self.hops.len() as u32;
            let next = |hop: &Hop| State { at: fabric.network.to(hop.channel), phase: hop.phase };
            self.hops.extend(self.asked.iter().map(|hop| (hop.channel, next(hop))));
            self.known[place] = (self.turn, start, self.hops.len() as u32);
        }
        let (_, start, end) = self.known[place];
        &self.hops[start as usize..end as usize]
    }
}
