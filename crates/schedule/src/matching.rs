//! Which receive takes which message, in constant time each.
//!
//! Every (receiver, source, tag) that occurs gets a number before the run, so that matching is an array access and the
//! queues are lists threaded through the operations: nothing is searched however much is posted at once. Where a
//! receiver uses wildcards, a message stands in the queue of each pattern that fits it (at most four) and leaves the
//! others when it is met there again as already taken.

use crate::form::{ANY, Kind, NONE, Op, Schedule};
use crate::state::{Line, State};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Multiply and rotate: the keys are small numbers, and nothing ever iterates over the map.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(u32::from(byte)));
    }
    fn write_u32(&mut self, word: u32) {
        self.0 = (self.0.rotate_left(29) ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// Receiver, source or ANY, tag or ANY.
type Key = (u32, u32, u32);
type Numbers = HashMap<Key, u32, BuildHasherDefault<Mix>>;

/// Those that wait of one pattern.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    receives: Line,
    messages: Line,
}

const NOBODY: Waiting = Waiting { receives: Line::EMPTY, messages: Line::EMPTY };

/// Queues of receives and messages that wait for one another.
#[derive(Clone, Debug)]
pub struct Matching {
    /// By pattern.
    waiting: Vec<Waiting>,
    /// Where a receive uses wildcards.
    wild: Option<Wild>,
}

/// Which of a message's queues that of a receive's pattern is.
fn lane(op: &Op) -> usize {
    match (op.peer == ANY, op.tag == ANY) {
        (false, false) => 0,
        (false, true) => 1,
        (true, false) => 2,
        (true, true) => 3,
    }
}

impl Matching {
    /// For the operations of a schedule, each of which it shows, and what a run keeps of each.
    pub fn new<T: Default>(schedule: &Schedule, mut show: impl FnMut(&Op)) -> (Matching, Vec<State<T>>) {
        let mut numbers = Numbers::default();
        let mut wildcards = false;
        // What stands in a row is often of one pattern, a send or a receive.
        let mut latest = [((NONE, NONE, NONE), 0); 2];
        let state = |op: Op| {
            show(&op);
            let (key, latest) = match op.kind {
                Kind::Calc => return State::of_pattern(0),
                Kind::Send => ((op.peer, op.rank, op.tag), &mut latest[0]),
                Kind::Recv => ((op.rank, op.peer, op.tag), &mut latest[1]),
            };
            wildcards |= op.kind == Kind::Recv && lane(&op) != 0;
            if latest.0 != key {
                let next = numbers.len() as u32;
                *latest = (key, *numbers.entry(key).or_insert(next));
            }
            State::of_pattern(latest.1)
        };
        let mut states: Vec<State<T>> = schedule.ops().map(state).collect();
        schedule.each_waiting(|after| states[after as usize].held());
        let wild = wildcards.then(|| Wild::new(schedule, &numbers));
        let patterns = numbers.len();
        // Where there are many, its memory is wanted for their queues.
        drop(numbers);
        (Matching { waiting: vec![NOBODY; patterns], wild }, states)
    }

    /// Whether any receive takes messages of any source or tag.
    pub fn has_wildcards(&self) -> bool {
        self.wild.is_some()
    }

    /// The message that receive `id` takes, or none: then it waits.
    #[inline]
    pub fn post<T>(&mut self, states: &mut [State<T>], id: u32, op: &Op) -> Option<u32> {
        let waiting = &mut self.waiting[states[id as usize].pattern() as usize];
        let found = match &mut self.wild {
            None => waiting.messages.take(states),
            Some(wild) => wild.message(&mut waiting.messages, lane(op)),
        };
        match found {
            Some(message) => meet(states, message, id),
            None => {
                if let Some(wild) = &mut self.wild {
                    wild.posted(id);
                }
                waiting.receives.join(states, id);
            }
        }
        found
    }

    /// The receive that takes message `id`, or none: then it waits.
    #[inline]
    pub fn arrive<T>(&mut self, states: &mut [State<T>], id: u32) -> Option<u32> {
        let pattern = states[id as usize].pattern();
        let found = match &mut self.wild {
            None => {
                let waiting = &mut self.waiting[pattern as usize];
                let found = waiting.receives.take(states);
                if found.is_none() {
                    waiting.messages.join(states, id);
                }
                found
            }
            Some(wild) => match wild.receives(&self.waiting, pattern, id) {
                Some(pattern) => self.waiting[pattern as usize].receives.take(states),
                None => {
                    wild.wait(&mut self.waiting, pattern, id);
                    None
                }
            },
        };
        if let Some(receive) = found {
            meet(states, id, receive);
        }
        found
    }
}

fn meet<T>(states: &mut [State<T>], message: u32, receive: u32) {
    states[message as usize].meet(receive);
    states[receive as usize].meet(message);
}

/// Queues of messages that several receives may take.
#[derive(Clone, Debug)]
struct Wild {
    /// Numbers of the patterns with wildcards that a send fits.
    fits: Vec<[u32; 3]>,
    /// Next in a message's queues: its exact one, then the three with wildcards.
    links: Vec<[u32; 4]>,
    /// When a receive was posted, and whether a message was taken.
    order: Vec<u32>,
    taken: Vec<bool>,
    clock: u32,
}

impl Wild {
    fn new(schedule: &Schedule, numbers: &Numbers) -> Wild {
        let many = schedule.ops().len();
        Wild {
            fits: schedule.ops().map(|op| fitting(&op, numbers)).collect(),
            links: vec![[NONE; 4]; many],
            order: vec![0; many],
            taken: vec![false; many],
            clock: 0,
        }
    }

    fn posted(&mut self, id: u32) {
        self.order[id as usize] = self.clock;
        self.clock += 1;
    }

    fn patterns(&self, exact: u32, id: u32) -> impl Iterator<Item = (usize, u32)> + use<> {
        let [a, b, c] = self.fits[id as usize];
        [exact, a, b, c].into_iter().enumerate().filter(|&(_, pattern)| pattern != NONE)
    }

    /// The first message of a queue that is not taken yet.
    fn message(&mut self, line: &mut Line, lane: usize) -> Option<u32> {
        loop {
            let first = line.take_by(|id| self.links[id as usize][lane])?;
            if !std::mem::replace(&mut self.taken[first as usize], true) {
                return Some(first);
            }
        }
    }

    /// The pattern whose receives wait longest for a message of this one.
    fn receives(&self, waiting: &[Waiting], exact: u32, id: u32) -> Option<u32> {
        let since = |(_, pattern): (usize, u32)| {
            let first = waiting[pattern as usize].receives.first()?;
            Some((self.order[first as usize], pattern))
        };
        self.patterns(exact, id).filter_map(since).min().map(|(_, pattern)| pattern)
    }

    /// The message waits in all its queues.
    fn wait(&mut self, waiting: &mut [Waiting], exact: u32, id: u32) {
        for (lane, pattern) in self.patterns(exact, id) {
            let links = &mut self.links;
            waiting[pattern as usize].messages.join_by(id, |of, next| links[of as usize][lane] = next);
        }
    }
}

/// Numbers of the patterns with wildcards that fit a send.
fn fitting(op: &Op, numbers: &Numbers) -> [u32; 3] {
    if op.kind != Kind::Send {
        return [NONE; 3];
    }
    [(op.peer, op.rank, ANY), (op.peer, ANY, op.tag), (op.peer, ANY, ANY)]
        .map(|key| numbers.get(&key).copied().unwrap_or(NONE))
}
