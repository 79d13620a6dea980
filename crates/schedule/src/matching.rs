//! Which receive takes which message, in constant time each.
//!
//! Every (receiver, source, tag) that occurs gets a number before the run. Matching is then an array access, and the
//! queues are lists threaded through the operations. Nothing is searched, however much is posted at once. With
//! wildcards, a message stands in the queue of each pattern that fits it (at most four). It leaves the other queues
//! when they find it already taken.

use crate::form::{ANY, Kind, NONE, Op, Schedule};
use crate::state::{Line, Marks, State};
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

/// Source or ANY, tag or ANY: of one receiver.
type Key = (u32, u32);
type Numbers = HashMap<Key, u32, BuildHasherDefault<Mix>>;

/// Queues of receives and messages that wait for one another.
#[derive(Clone, Debug)]
pub struct Matching {
    /// By pattern: receives that wait. Without wildcards messages, where there are any: then none of the receives does.
    waiting: Vec<Line>,
    /// Patterns with waiting messages.
    of_messages: Marks,
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

/// Numbers the patterns of one receiver after the other, so that the table of numbers stays small and near.
#[derive(Default)]
struct Numbering {
    numbers: Numbers,
    /// What stands in a row is often of one pattern.
    latest: Option<(Key, u32)>,
    patterns: u32,
}

impl Numbering {
    /// The next receiver, which has so many sends and receives.
    fn begin(&mut self, many: usize) {
        // Clearing takes as long as the table is large.
        match self.numbers.capacity() > 64 + 8 * many {
            true => self.numbers = Numbers::default(),
            false => self.numbers.clear(),
        }
        self.latest = None;
    }
    fn of(&mut self, key: Key) -> u32 {
        if let Some((latest, number)) = self.latest
            && latest == key
        {
            return number;
        }
        let number = *self.numbers.entry(key).or_insert(self.patterns);
        self.patterns += u32::from(number == self.patterns);
        self.latest = Some((key, number));
        number
    }
}

impl Matching {
    /// For the operations of a schedule. It shows each to `show`, and keeps a run's state of each.
    pub fn new<T: Default>(schedule: &Schedule, mut show: impl FnMut(&Op)) -> (Matching, Vec<State<T>>) {
        // By receiver: where its sends begin, in the order of receivers.
        let mut ends = vec![0u32; schedule.ranks() as usize];
        let mut wildcards = false;
        for op in schedule.ops() {
            show(&op);
            match op.kind {
                Kind::Calc | Kind::Post => {}
                Kind::Send => ends[op.peer as usize] += 1,
                Kind::Recv => wildcards |= lane(&op) != 0,
            }
        }
        let mut sends = 0;
        for end in &mut ends {
            sends += std::mem::replace(end, sends);
        }
        let mut states: Vec<State<T>> = schedule.ops().map(|_| State::default()).collect();
        for (id, op) in (0..).zip(schedule.ops()).filter(|(_, op)| op.kind == Kind::Send) {
            let place = &mut ends[op.peer as usize];
            states[*place as usize].lend(id);
            *place += 1;
        }
        let mut wild = wildcards.then(|| Wild::new(states.len()));
        let (mut numbering, mut first) = (Numbering::default(), 0);
        for (rank, &end) in (0..).zip(&ends) {
            let own = schedule.of_rank(rank);
            numbering.begin(own.len() + (end - first) as usize);
            for id in own {
                let op = schedule.op(id);
                if op.kind == Kind::Recv {
                    states[id as usize].is_of(numbering.of((op.peer, op.tag)));
                }
            }
            for place in first..end {
                let id = states[place as usize].lent();
                let op = schedule.op(id);
                states[id as usize].is_of(numbering.of((op.rank, op.tag)));
                if let Some(wild) = &mut wild {
                    wild.fits[id as usize] = fitting(&op, &numbering.numbers);
                }
            }
            first = end;
        }
        schedule.each_waiting(|after| states[after as usize].held());
        let patterns = numbering.patterns as usize;
        if let Some(wild) = &mut wild {
            wild.messages = vec![Line::EMPTY; patterns];
        }
        let matching = Matching { waiting: vec![Line::EMPTY; patterns], of_messages: Marks::new(patterns), wild };
        (matching, states)
    }

    /// Whether any receive takes messages of any source or tag.
    pub fn has_wildcards(&self) -> bool {
        self.wild.is_some()
    }

    /// How many patterns there are.
    pub(crate) fn patterns(&self) -> usize {
        self.waiting.len()
    }

    /// The message that receive `id` takes, or none: then it waits.
    #[inline]
    pub fn post<T>(&mut self, states: &mut [State<T>], id: u32, op: &Op) -> Option<u32> {
        let pattern = states[id as usize].pattern();
        let line = &mut self.waiting[pattern as usize];
        let found = match &mut self.wild {
            None if self.of_messages.has(pattern) => line.take(states),
            None => None,
            Some(wild) => wild.message(pattern, lane(op)),
        };
        match found {
            Some(message) => meet(states, message, id),
            None => {
                match &mut self.wild {
                    None => self.of_messages.clear(pattern),
                    Some(wild) => wild.posted(id),
                }
                line.join(states, id);
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
                let line = &mut self.waiting[pattern as usize];
                let found = if self.of_messages.has(pattern) { None } else { line.take(states) };
                if found.is_none() {
                    self.of_messages.set(pattern);
                    line.join(states, id);
                }
                found
            }
            Some(wild) => match wild.receives(&self.waiting, pattern, id) {
                Some(pattern) => self.waiting[pattern as usize].take(states),
                None => {
                    wild.wait(pattern, id);
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
    /// By pattern: messages that wait.
    messages: Vec<Line>,
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
    fn new(many: usize) -> Wild {
        Wild {
            messages: Vec::new(),
            fits: vec![[NONE; 3]; many],
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

    /// The first message of a pattern that is not taken yet.
    fn message(&mut self, pattern: u32, lane: usize) -> Option<u32> {
        loop {
            let first = self.messages[pattern as usize].take_by(|id| self.links[id as usize][lane])?;
            if !std::mem::replace(&mut self.taken[first as usize], true) {
                return Some(first);
            }
        }
    }

    /// The pattern whose receives wait longest for a message of this one.
    fn receives(&self, waiting: &[Line], exact: u32, id: u32) -> Option<u32> {
        let since = |(_, pattern): (usize, u32)| {
            let first = waiting[pattern as usize].first()?;
            Some((self.order[first as usize], pattern))
        };
        self.patterns(exact, id).filter_map(since).min().map(|(_, pattern)| pattern)
    }

    /// The message waits in all its queues.
    fn wait(&mut self, exact: u32, id: u32) {
        for (lane, pattern) in self.patterns(exact, id) {
            let links = &mut self.links;
            self.messages[pattern as usize].join_by(id, |of, next| links[of as usize][lane] = next);
        }
    }
}

/// Numbers of its receiver's patterns with wildcards that fit a send.
fn fitting(op: &Op, numbers: &Numbers) -> [u32; 3] {
    [(op.rank, ANY), (ANY, op.tag), (ANY, ANY)].map(|key| numbers.get(&key).copied().unwrap_or(NONE))
}
