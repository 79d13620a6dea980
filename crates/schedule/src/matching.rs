//! Which receive takes which message, in constant time each.
//!
//! Of every (receiver, source, tag) the receives that wait, or the messages that do, stand in a line that is threaded
//! through the operations. Nothing is searched, however much is posted at once, and nothing is kept of those for which
//! nothing waits. With wildcards, a message stands in the line of each pattern that fits it (at most four). It leaves the
//! other lines when they find it already taken.

use crate::form::{ANY, Kind, NONE, Op, Schedule};
use crate::mix::Mixed;
use crate::state::{Line, States};
use crate::waiting::{Pattern, Table};
use std::collections::HashMap;

/// Of a send or a receive.
#[inline]
pub(crate) fn pattern(op: &Op) -> Pattern {
    match op.kind {
        Kind::Send => (op.peer, op.rank, op.tag),
        Kind::Calc | Kind::Post | Kind::Recv => (op.rank, op.peer, op.tag),
    }
}

/// Stands for the pattern and size of a message or receive.
#[inline]
pub(crate) fn mixed(op: &Op) -> u64 {
    let (receiver, source, tag) = pattern(op);
    let mix = |one: u64, word: u64| (one.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = mix(mix(mix(op.size, receiver.into()), source.into()), tag.into());
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// Receives and messages that wait for one another.
#[derive(Clone, Debug)]
pub struct Matching {
    /// Without wildcards: those that wait.
    waiting: Table,
    /// Where a receive uses wildcards.
    wild: Option<Wild>,
}

/// Which of a message's lines that of a receive's pattern is.
fn lane(op: &Op) -> usize {
    match (op.peer == ANY, op.tag == ANY) {
        (false, false) => 0,
        (false, true) => 1,
        (true, false) => 2,
        (true, true) => 3,
    }
}

impl Matching {
    /// For the operations of a schedule.
    pub fn new(schedule: &Schedule) -> Matching {
        let wild = schedule.extent().wild.then(|| Wild::new(schedule));
        Matching { waiting: Table::default(), wild }
    }

    /// Whether any receive takes messages of any source or tag.
    pub fn has_wildcards(&self) -> bool {
        self.wild.is_some()
    }

    /// The message that receive `id` takes, or none: then it waits.
    #[inline]
    pub fn post<T: Copy + Default>(&mut self, states: &mut States<T>, id: u32, op: &Op) -> Option<u32> {
        let found = match &mut self.wild {
            None => self.pair(states, id, op, false),
            Some(wild) => wild.post(states, id, op),
        };
        if let Some(message) = found {
            states.meet(message, id);
        }
        found
    }

    /// The receive that takes message `id`, or none: then it waits.
    #[inline]
    pub fn arrive<T: Copy + Default>(&mut self, states: &mut States<T>, id: u32, op: &Op) -> Option<u32> {
        let found = match &mut self.wild {
            None => self.pair(states, id, op, true),
            Some(wild) => wild.arrive(states, id, op),
        };
        if let Some(receive) = found {
            states.meet(id, receive);
        }
        found
    }

    /// The first on the other side; or this one waits on its own.
    #[inline]
    fn pair<T: Copy + Default>(&mut self, states: &mut States<T>, id: u32, op: &Op, is_message: bool) -> Option<u32> {
        let pattern = pattern(op);
        let place = self.waiting.place(pattern);
        let waiting = self.waiting.at(place);
        if waiting.line.is_empty() {
            let mut line = Line::EMPTY;
            line.join(states, id);
            self.waiting.put(place, pattern, line, is_message);
            return None;
        }
        if waiting.messages == is_message {
            waiting.line.join(states, id);
            return None;
        }
        let found = waiting.line.take(states);
        if waiting.line.is_empty() {
            self.waiting.left(place);
        }
        found
    }
}

/// Lines of messages that several receives may take.
#[derive(Clone, Debug)]
struct Wild {
    /// By pattern of a receive: receives that wait, and messages that do.
    lines: HashMap<Pattern, [Line; 2], Mixed>,
    /// Next in a message's lines: its exact one, then the three with wildcards.
    links: Vec<[u32; 4]>,
    /// When a receive was posted, and whether a message was taken.
    order: Vec<u32>,
    taken: Vec<bool>,
    clock: u32,
}

impl Wild {
    fn new(schedule: &Schedule) -> Wild {
        let many = schedule.ops().len();
        let receives = schedule.ops().filter(|op| op.kind == Kind::Recv);
        Wild {
            lines: receives.map(|op| (pattern(&op), [Line::EMPTY; 2])).collect(),
            links: vec![[NONE; 4]; many],
            order: vec![0; many],
            taken: vec![false; many],
            clock: 0,
        }
    }

    /// The first message of its pattern that is not taken yet.
    fn post<T: Copy + Default>(&mut self, states: &mut States<T>, id: u32, op: &Op) -> Option<u32> {
        let [receives, messages] = self.lines.get_mut(&pattern(op)).expect("has the patterns of all receives");
        while let Some(first) = messages.take_by(|id| self.links[id as usize][lane(op)]) {
            if !std::mem::replace(&mut self.taken[first as usize], true) {
                return Some(first);
            }
        }
        self.order[id as usize] = self.clock;
        self.clock += 1;
        receives.join(states, id);
        None
    }

    /// The receive that waits longest for a message such as this one; or it waits in all its lines.
    fn arrive<T: Copy + Default>(&mut self, states: &mut States<T>, id: u32, op: &Op) -> Option<u32> {
        let (receiver, source, tag) = pattern(op);
        let patterns =
            [(source, tag), (source, ANY), (ANY, tag), (ANY, ANY)].map(|(source, tag)| (receiver, source, tag));
        let since = |pattern: &Pattern| {
            let first = self.lines.get(pattern)?[0].first()?;
            Some((self.order[first as usize], *pattern))
        };
        if let Some((_, pattern)) = patterns.iter().filter_map(since).min() {
            return self.lines.get_mut(&pattern).and_then(|[receives, _]| receives.take(states));
        }
        for (lane, pattern) in patterns.iter().enumerate() {
            if let Some([_, messages]) = self.lines.get_mut(pattern) {
                let links = &mut self.links;
                messages.join_by(id, |of, next| links[of as usize][lane] = next);
            }
        }
        None
    }
}
