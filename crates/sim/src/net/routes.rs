//! Routes of packets under way.
//!
//! A saturated network holds so many packets that their routes are most of what must come from memory. A route is
//! therefore a row of short stages. In 32 bits they hold a lane, and the index of the latency in a list of all
//! latencies. Where 32 bits are too few (very many lanes or latencies), stages take 64 bits as elsewhere. A packet's
//! index alone gives the place of its route.

use crate::plan::{NO_CHOICE, Stage};
use hotlink_fabric::routing::State;

/// A row of `T` for each place of a pool, all of the same room.
#[derive(Debug)]
pub(super) struct Rows<T> {
    items: Vec<T>,
    room: usize,
    /// What unused places hold.
    none: T,
}

impl<T: Copy> Rows<T> {
    /// None yet.
    pub fn new(none: T) -> Rows<T> {
        Rows { items: Vec::new(), room: 1, none }
    }
    #[inline]
    fn at(&self, place: u32, i: u32) -> T {
        self.items[place as usize * self.room + i as usize]
    }
    #[inline]
    fn ask(&self, place: u32, i: u32) {
        super::ahead::fetch(&self.items, place as usize * self.room + i as usize);
    }
    #[inline]
    fn put(&mut self, place: u32, i: u32, item: T) {
        self.items[place as usize * self.room + i as usize] = item;
    }
    /// Makes room for `length` items at `place`.
    #[inline]
    fn reserve(&mut self, place: u32, length: usize) {
        if length > self.room {
            self.widen(length.next_multiple_of(4));
        }
        let end = (place as usize + 1) * self.room;
        if end > self.items.len() {
            self.items.resize(end, self.none);
        }
    }
    /// Gives every row more room.
    fn widen(&mut self, room: usize) {
        let mut wider = Vec::with_capacity(self.items.len() / self.room * room);
        for row in self.items.chunks(self.room) {
            wider.extend_from_slice(row);
            wider.resize(wider.len() + room - self.room, self.none);
        }
        (self.items, self.room) = (wider, room);
    }
}

impl Rows<Stage> {
    /// Keeps a whole route.
    pub fn keep(&mut self, place: u32, stages: &[Stage]) {
        self.reserve(place, stages.len());
        let from = place as usize * self.room;
        self.items[from..from + stages.len()].copy_from_slice(stages);
    }
    /// Puts a whole route into `out`.
    pub fn read(&self, place: u32, out: &mut Vec<Stage>) {
        let route = &self.items[place as usize * self.room..];
        let last = route.iter().position(|stage| stage.is_last()).unwrap_or(0);
        out.clear();
        out.extend_from_slice(&route[..=last]);
    }
}

/// Routes by the places of their packets.
#[derive(Debug)]
pub(super) struct Routes {
    /// The words ([`Stage::word`]) seen: a fabric has a few latencies.
    words: Vec<u32>,
    /// Bits of a short stage that hold its word's place in `words`; the lane is above.
    word_bits: u32,
    short: Rows<u32>,
    /// In place of `short` where its bits are too few.
    long: Option<Rows<Stage>>,
    /// Beside each stage where it was chosen (adaptive routing and faults only).
    chosen_at: Option<Rows<State>>,
}

impl Routes {
    /// None yet, on this many lanes; with `keeps_choices` each stage remembers where it was chosen.
    pub fn new(lanes: usize, keeps_choices: bool) -> Routes {
        Routes {
            words: Vec::new(),
            word_bits: lanes.next_power_of_two().leading_zeros().saturating_sub(usize::BITS - 32),
            short: Rows::new(0),
            long: None,
            chosen_at: keeps_choices.then(|| Rows::new(NO_CHOICE)),
        }
    }
    /// Puts `stages` in place of those from `stage` on of the route of `place`.
    #[inline]
    pub fn write(&mut self, place: u32, stage: u32, stages: &[Stage], chosen_at: &[State]) {
        let length = stage as usize + stages.len();
        match &mut self.long {
            Some(long) => long.reserve(place, length),
            None => self.short.reserve(place, length),
        }
        for (i, stage) in (stage..).zip(stages) {
            self.put(place, i, *stage);
        }
        if let Some(all) = &mut self.chosen_at {
            all.reserve(place, stage as usize + chosen_at.len());
            (stage..).zip(chosen_at).for_each(|(i, state)| all.put(place, i, *state));
        }
    }
    #[inline]
    fn put(&mut self, place: u32, i: u32, stage: Stage) {
        if self.long.is_none() {
            let known = self.words.iter().position(|&word| word == stage.word);
            let word = known.unwrap_or_else(|| {
                self.words.push(stage.word);
                self.words.len() - 1
            });
            if word >> self.word_bits == 0 {
                return self.short.put(place, i, stage.lane << self.word_bits | word as u32);
            }
            self.lengthen();
        }
        if let Some(long) = &mut self.long {
            long.put(place, i, stage);
        }
    }
    /// From now on 64 bits a stage.
    #[cold]
    fn lengthen(&mut self) {
        let short = std::mem::replace(&mut self.short, Rows::new(0));
        let items = short.items.iter().map(|&code| self.decode(code)).collect();
        self.long = Some(Rows { items, room: short.room, none: Stage::default() });
    }
    #[inline]
    fn decode(&self, code: u32) -> Stage {
        let word = code & ((1 << self.word_bits) - 1);
        Stage { lane: code >> self.word_bits, word: self.words[word as usize] }
    }
    /// Moves a stage to another lane.
    pub fn set_lane(&mut self, place: u32, stage: u32, lane: u32) {
        self.put(place, stage, Stage { lane, ..self.stage(place, stage) });
    }
    /// Where a stage was chosen among several; [`NO_CHOICE`] if it was the only path on.
    #[inline]
    pub fn chosen_at(&self, place: u32, stage: u32) -> State {
        self.chosen_at.as_ref().map_or(NO_CHOICE, |all| all.at(place, stage))
    }
    #[inline]
    pub fn stage(&self, place: u32, stage: u32) -> Stage {
        match &self.long {
            Some(long) => long.at(place, stage),
            None => self.decode(self.short.at(place, stage)),
        }
    }
    /// Latency of all its stages, in picoseconds.
    pub fn latency_ps(&self, place: u32) -> u64 {
        self.latency_from(place, 0)
    }
    /// Latency of its stages from `stage` on.
    pub fn latency_from(&self, place: u32, mut stage: u32) -> u64 {
        let mut sum = 0;
        loop {
            let here = self.stage(place, stage);
            sum += here.latency_ps();
            if here.is_last() {
                return sum;
            }
            stage += 1;
        }
    }
    /// The stage after `here`, which is number `stage`.
    #[inline]
    pub fn after(&self, place: u32, stage: u32, here: Stage) -> Stage {
        if here.is_last() { here } else { self.stage(place, stage + 1) }
    }
    /// Asks memory for a stage, or what lies in its place.
    #[inline]
    pub fn ask(&self, place: u32, stage: u32) {
        match &self.long {
            Some(long) => long.ask(place, stage),
            None => self.short.ask(place, stage),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_keep_their_beginning_when_they_turn_and_when_all_get_longer() {
        let stage = |lane| Stage { lane, word: lane / 2 };
        let stages: Vec<Stage> = (0..6).map(stage).collect();
        let chosen = [NO_CHOICE; 20];
        let mut routes = Routes::new(200_000, true);
        for place in 0..3 {
            routes.write(place, 0, &stages, &chosen[..6]);
        }
        for (tail, first) in [(1, 100), (3, 100), (20, 200), (1, 100)] {
            let new: Vec<Stage> = (first..first + tail).map(stage).collect();
            routes.write(1, 3, &new, &chosen[..tail as usize]);
            let all: Vec<Stage> = (0..3 + tail).map(|i| routes.stage(1, i)).collect();
            assert_eq!((&all[..3], &all[3..]), (&stages[..3], &new[..]));
            assert!([0, 2].iter().all(|&place| (0..6).all(|i| routes.stage(place, i) == stages[i as usize])));
            assert_eq!(routes.chosen_at(2, 5), NO_CHOICE);
        }
        // More latencies than fit beside lanes of 18 bits.
        for word in 0..20_000 {
            let two = [Stage { lane: 199_999, word }, stage(word)];
            routes.write(3 + word % 7, 0, &two, &chosen[..2]);
            assert_eq!([0, 1].map(|i| routes.stage(3 + word % 7, i)), two);
        }
        assert!(routes.long.is_some() && (0..6).all(|i| routes.stage(0, i) == stages[i as usize]));
        routes.set_lane(0, 2, 7);
        assert_eq!(routes.stage(0, 2), Stage { lane: 7, ..stages[2] });
    }

    #[test]
    fn a_kept_route_reads_back() {
        let mut rows = Rows::new(Stage::default());
        let route = |n: u32| -> Vec<Stage> {
            (1..=n).map(|i| Stage { lane: i, word: if i == n { 1 << 31 } else { i } }).collect()
        };
        let lengths = [1, 8, 9, 30];
        (0..).zip(lengths).for_each(|(place, n)| rows.keep(place, &route(n)));
        for (place, n) in (0..).zip(lengths) {
            let mut out = Vec::new();
            rows.read(place, &mut out);
            assert_eq!(out, route(n));
        }
    }
}
