//! Flows whose path a hash of the pair chooses: each pair is followed by itself.
//!
//! What lies ahead of a switch depends on it and on the destination's home alone. Each home therefore asks the switches
//! that offer a choice once. A pair only draws there: a hash and a counter for each choice. The counts are carried
//! along the links up to the next choice when all pairs of the home are through.

use crate::{Counter, Counts, Heard, LoadError, in_chunks};
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Node, Vertex};
use hotlink_fabric::routing::choice::Draw;
use hotlink_fabric::routing::{Hop, Paths, State, Trip};
use hotlink_fabric::traffic::{Demand, Flow};

/// Most pairs of nodes whose paths are followed one by one (under [`Paths::Flow`]): all of 65,536 nodes. That takes a
/// quarter of a minute or so on two cores. In a browser, which has one, it is all of 16,384.
pub const MOST_PAIRS: u64 = if cfg!(target_family = "wasm") { 1 << 28 } else { 1 << 32 };

/// Follows every pair's own path, one home of destinations after another.
pub(crate) fn count(fabric: &Fabric, demand: &Demand, seed: u64, heard: Heard<'_>) -> Result<Counts, LoadError> {
    let nodes = u64::from(fabric.nodes());
    let all = if demand.all_pairs > 0.0 { nodes * nodes } else { 0 };
    let pairs = all + demand.flows.len() as u64;
    if pairs > MOST_PAIRS {
        return Err(LoadError::Pairs { pairs, most: MOST_PAIRS });
    }
    let attachment = &fabric.attachment;
    let group = |flow: &Flow| attachment.group[flow.destination.0 as usize] as usize;
    let mut flows: Vec<&Flow> = demand.flows.iter().collect();
    flows.sort_by_key(|flow| (group(flow), flow.destination, flow.source));
    in_chunks(fabric, attachment.homes.len(), heard, |counter, to| {
        let own = flows.partition_point(|flow| group(flow) < to)..flows.partition_point(|flow| group(flow) <= to);
        let own = &flows[own];
        if demand.all_pairs == 0.0 && own.is_empty() {
            return Ok(());
        }
        counter.ahead.turn_to(fabric, attachment.homes[to]);
        for from in (0..attachment.homes.len()).filter(|_| demand.all_pairs > 0.0) {
            counter.follow(attachment.nodes_of(from), attachment.nodes_of(to), demand.all_pairs, seed)?;
        }
        own.iter().try_for_each(|flow| counter.follow(&[flow.source], &[flow.destination], flow.amount, seed))?;
        counter.ahead.carry_all(&mut counter.counts);
        Ok(())
    })
}

impl Counter<'_> {
    /// Adds `amount` for each pair of nodes of two homes, along the path that its hash chooses.
    fn follow(&mut self, sources: &[Node], destinations: &[Node], amount: f64, seed: u64) -> Result<(), LoadError> {
        let fabric = self.fabric;
        let explicit = fabric.routing.explicit();
        let (Some(&source), Some(&destination)) = (sources.first(), destinations.first()) else { return Ok(()) };
        let start = State { at: fabric.attachment.home[source.0 as usize], phase: 0 };
        let first = self.ahead.entry(fabric, start, Trip::new(source, destination));
        let mut all = 0.0;
        for &destination in destinations {
            for &source in sources {
                if source == destination || explicit.is_some_and(|all| all.contains_key(&(source, destination))) {
                    continue;
                }
                if !self.ahead.draw(first, Draw::of_pair(Paths::Flow, seed, source, destination), amount) {
                    return Err(LoadError::NoRoute { sender: source, receiver: destination });
                }
                all += amount;
            }
        }
        if all > 0.0 {
            self.ahead.carry(start, all, &mut self.counts);
        }
        Ok(())
    }
}

/// In place of a choice: the destination's home.
const END: u32 = u32::MAX;
/// In place of a choice: no path on.
const LOST: u32 = u32::MAX - 1;

/// What lies ahead of switches on the path to one home after another, asked for when it is first needed.
#[derive(Default)]
pub(crate) struct Ahead {
    end: Option<Vertex>,
    phases: usize,
    /// How often the home changed; what is known of a state is of an earlier home where its number is less.
    turn: u32,
    known: Vec<Known>,
    choices: Vec<Choice>,
    /// How many choices have known continuations.
    open: usize,
    /// For each path of each choice: its hop, the choice behind it, and what took it.
    hops: Vec<(Channel, State)>,
    next: Vec<u32>,
    taken: Vec<f64>,
    asked: Vec<Hop>,
    passed: Vec<usize>,
}

/// What is known of a state.
#[derive(Clone, Copy)]
struct Known {
    turn: u32,
    /// The first choice from there on, which may be its own.
    choice: u32,
    /// The only path on, where there is no choice.
    only: Option<(Channel, State)>,
}

/// A state with several paths on: those from `start`.
#[derive(Clone, Copy)]
struct Choice {
    start: u32,
    ways: u32,
}

impl Ahead {
    /// Forgets what lies ahead on the path to another home.
    fn turn_to(&mut self, fabric: &Fabric, end: Vertex) {
        self.phases = usize::from(fabric.routing.phases());
        let unknown = Known { turn: 0, choice: LOST, only: None };
        self.known.resize(fabric.network.vertices() * self.phases, unknown);
        self.end = Some(end);
        self.turn += 1;
        self.open = 0;
        self.choices.clear();
        self.hops.clear();
        self.next.clear();
        self.taken.clear();
    }

    fn place(&self, state: State) -> usize {
        state.at.0 as usize * self.phases + usize::from(state.phase)
    }

    /// The first choice from `state` on, with all that may lie behind it known.
    fn entry(&mut self, fabric: &Fabric, state: State, trip: Trip) -> u32 {
        let first = self.lead(fabric, state, trip);
        while let Some(&Choice { start, ways }) = self.choices.get(self.open) {
            self.open += 1;
            for way in start as usize..(start + ways) as usize {
                self.next[way] = self.lead(fabric, self.hops[way].1, trip);
            }
        }
        first
    }

    /// The first choice from `state` on.
    fn lead(&mut self, fabric: &Fabric, mut state: State, trip: Trip) -> u32 {
        let choice = loop {
            let place = self.place(state);
            if self.known[place].turn == self.turn {
                break self.known[place].choice;
            }
            // A path in a circle leads nowhere.
            self.known[place] = Known { turn: self.turn, choice: LOST, only: None };
            self.passed.push(place);
            if Some(state.at) == self.end {
                break END;
            }
            fabric.hops(state, trip, &mut self.asked);
            let ahead = |hop: &Hop| (hop.channel, State { at: fabric.network.to(hop.channel), phase: hop.phase });
            match &self.asked[..] {
                [] => break LOST,
                [only] => {
                    self.known[place].only = Some(ahead(only));
                    state = ahead(only).1;
                }
                several => {
                    self.choices.push(Choice { start: self.hops.len() as u32, ways: several.len() as u32 });
                    self.hops.extend(several.iter().map(ahead));
                    self.next.resize(self.hops.len(), LOST);
                    self.taken.resize(self.hops.len(), 0.0);
                    break self.choices.len() as u32 - 1;
                }
            }
        };
        for place in self.passed.drain(..) {
            self.known[place].choice = choice;
        }
        choice
    }

    /// Counts the paths that a pair draws from its first choice on; whether they end at the home.
    fn draw(&mut self, first: u32, mut draw: Draw, amount: f64) -> bool {
        let mut at = first;
        while let Some(&Choice { start, ways }) = self.choices.get(at as usize) {
            let way = (start + draw.place(ways)) as usize;
            self.taken[way] += amount;
            at = self.next[way];
        }
        at == END
    }

    /// Adds `amount` at a state, and along the only path from there to the next choice or the end.
    fn carry(&self, mut state: State, amount: f64, counts: &mut Counts) {
        loop {
            counts.vertex[state.at.0 as usize] += amount;
            let Some((channel, next)) = self.known[self.place(state)].only else { return };
            counts.channel[channel.0 as usize] += amount;
            state = next;
        }
    }

    /// Adds what took each way.
    fn carry_all(&self, counts: &mut Counts) {
        for (&(channel, next), &taken) in self.hops.iter().zip(&self.taken).filter(|(_, taken)| **taken > 0.0) {
            counts.channel[channel.0 as usize] += taken;
            self.carry(next, taken, counts);
        }
    }
}
