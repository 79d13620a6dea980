//! Which receive takes which message, in constant time each.
//!
//! Every (receiver, source, tag) that occurs gets a number before the run, so that matching is an array access and the
//! queues are lists threaded through the operations: nothing is searched however much is posted at once. Where a
//! receiver uses wildcards, a message stands in the queue of each pattern that fits it (at most four) and leaves the
//! others when it is met there again as already taken.

use crate::form::{ANY, Kind, NONE, Op};
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

#[derive(Clone, Copy, Debug)]
struct Fifo {
    first: u32,
    last: u32,
}

const EMPTY: Fifo = Fifo { first: NONE, last: NONE };

/// Queues of receives and messages that wait for one another.
#[derive(Clone, Debug)]
pub struct Matching {
    /// Number of each operation's pattern: exact for a send.
    pattern: Vec<u32>,
    /// Numbers of the patterns with wildcards that a send fits; empty without wildcards anywhere.
    wild: Vec<[u32; 3]>,
    /// Waiting receives and messages by pattern.
    posted: Vec<Fifo>,
    unexpected: Vec<Fifo>,
    /// Next in the list, `lanes` per operation: its exact queue, then its three with wildcards.
    link: Vec<u32>,
    lanes: usize,
    /// When a receive was posted, and whether a message was taken; empty without wildcards.
    order: Vec<u32>,
    taken: Vec<bool>,
    clock: u32,
}

/// Which of an operation's links its pattern uses.
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
    pub fn new(ops: &[Op]) -> Matching {
        let mut numbers = Numbers::default();
        let pattern: Vec<u32> = ops
            .iter()
            .map(|op| {
                let key = match op.kind {
                    Kind::Calc => return NONE,
                    Kind::Send => (op.peer, op.rank, op.tag),
                    Kind::Recv => (op.rank, op.peer, op.tag),
                };
                let next = numbers.len() as u32;
                *numbers.entry(key).or_insert(next)
            })
            .collect();
        let wildcards = ops.iter().any(|op| op.kind == Kind::Recv && lane(op) != 0);
        let patterns = numbers.len();
        let (lanes, many) = if wildcards { (4, ops.len()) } else { (1, 0) };
        Matching {
            pattern,
            wild: if wildcards { ops.iter().map(|op| fitting(op, &numbers)).collect() } else { Vec::new() },
            posted: vec![EMPTY; patterns],
            unexpected: vec![EMPTY; patterns],
            link: vec![NONE; ops.len() * lanes],
            lanes,
            order: vec![0; many],
            taken: vec![false; many],
            clock: 0,
        }
    }

    /// Whether any receive takes messages of any source or tag.
    pub fn has_wildcards(&self) -> bool {
        self.lanes > 1
    }

    /// The message that receive `id` takes, or none: then it waits.
    pub fn post(&mut self, id: u32, op: &Op) -> Option<u32> {
        let pattern = self.pattern[id as usize] as usize;
        let lane = lane(op);
        while let Some(message) = self.pop_unexpected(pattern, lane) {
            if self.wild.is_empty() {
                return Some(message);
            }
            if !std::mem::replace(&mut self.taken[message as usize], true) {
                return Some(message);
            }
        }
        if let Some(order) = self.order.get_mut(id as usize) {
            *order = self.clock;
            self.clock += 1;
        }
        push(&mut self.posted[pattern], &mut self.link, self.lanes, 0, id);
        None
    }

    /// The receive that takes message `id`, or none: then it waits.
    pub fn arrive(&mut self, id: u32) -> Option<u32> {
        let exact = self.pattern[id as usize];
        let Some(&wild) = self.wild.get(id as usize) else {
            let found = self.pop_posted(exact as usize);
            if found.is_none() {
                push(&mut self.unexpected[exact as usize], &mut self.link, 1, 0, id);
            }
            return found;
        };
        let patterns = [exact, wild[0], wild[1], wild[2]];
        let waiting = patterns.into_iter().filter(|&pattern| pattern != NONE && !self.is_idle(pattern));
        match waiting.min_by_key(|&pattern| self.order[self.posted[pattern as usize].first as usize]) {
            Some(pattern) => self.pop_posted(pattern as usize),
            None => {
                for (lane, pattern) in patterns.into_iter().enumerate().filter(|&(_, pattern)| pattern != NONE) {
                    push(&mut self.unexpected[pattern as usize], &mut self.link, 4, lane, id);
                }
                None
            }
        }
    }

    fn is_idle(&self, pattern: u32) -> bool {
        self.posted[pattern as usize].first == NONE
    }

    fn pop_posted(&mut self, pattern: usize) -> Option<u32> {
        pop(&mut self.posted[pattern], &self.link, self.lanes, 0)
    }

    fn pop_unexpected(&mut self, pattern: usize, lane: usize) -> Option<u32> {
        pop(&mut self.unexpected[pattern], &self.link, self.lanes, lane)
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

fn push(fifo: &mut Fifo, link: &mut [u32], lanes: usize, lane: usize, id: u32) {
    link[id as usize * lanes + lane] = NONE;
    match fifo.last {
        NONE => fifo.first = id,
        last => link[last as usize * lanes + lane] = id,
    }
    fifo.last = id;
}

fn pop(fifo: &mut Fifo, link: &[u32], lanes: usize, lane: usize) -> Option<u32> {
    let first = fifo.first;
    if first == NONE {
        return None;
    }
    fifo.first = link[first as usize * lanes + lane];
    if fifo.first == NONE {
        fifo.last = NONE;
    }
    Some(first)
}
