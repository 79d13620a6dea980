//! Memory of a running simulation: packets, messages, routes. Freed places are used again, so that the steady state
//! does not allocate.

use crate::plan::{NO_CHOICE, NONE, Stage};
use hotlink_fabric::routing::State;

/// A packet under way: a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Packet {
    /// When its sender could have made it at the best, in picoseconds: its age counts from there.
    pub born: u64,
    /// Its message; `NONE` on a free place.
    pub message: u32,
    pub route: u32,
    pub payload: u32,
    /// Position in its message, and [`AGAIN`].
    pub index: u32,
    /// Next in the queue of a lane, or next free place.
    pub next: u32,
    /// Room that this next one needs.
    pub next_need: i32,
    /// The stage that its head waits for or crosses: a copy from the route, as are the two that follow, so that a step
    /// waits for one line and the route is only read ahead.
    pub here: Stage,
    /// The stage after it; means nothing after the last.
    pub ahead: Stage,
    /// Lane of the stage before it; means nothing at the first.
    pub came: u32,
    /// Number of the stage `here`.
    pub stage: u16,
    /// Wire bytes beyond the payload.
    pub overhead: u16,
    /// It has waited too long somewhere (ECN).
    pub marked: bool,
    /// Since when it waits for its stage, in nanoseconds (ECN).
    pub since_ns: u32,
}

/// Bit of [`Packet::index`]: its source sends it a second time.
pub(crate) const AGAIN: u32 = 1 << 31;

impl Packet {
    /// Bytes on the wire.
    #[inline]
    pub fn wire(&self) -> u32 {
        self.payload + u32::from(self.overhead)
    }
}

/// What only worms need of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Worm {
    /// Next that waits in the same input buffer.
    pub behind: u32,
    /// First stage that the tail has not left.
    pub tail: u32,
    /// A broadcast's packet: which; [`NONE`] for a unicast.
    pub cast: u32,
    /// Its stage in the tree of the broadcast.
    pub at: u32,
}

impl Default for Worm {
    fn default() -> Worm {
        Worm { behind: NONE, tail: 0, cast: NONE, at: 0 }
    }
}

/// A message: what a workload posts and is told about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Sender.
    pub from: u32,
    /// Receiver.
    pub to: u32,
    /// Payload in bytes.
    pub bytes: u64,
    /// The workload's own word.
    pub tag: u64,
    /// When it was posted, in picoseconds.
    pub posted_ps: u64,
    /// Packets that it consists of.
    pub packets: u32,
    /// Packets made so far.
    pub made: u32,
    /// Packets delivered so far.
    pub delivered: u32,
    /// Nodes that each packet goes to, and the tree by which; 1 and [`NONE`] for a unicast.
    pub(crate) copies: u32,
    pub(crate) tree: u32,
    /// From adapter to adapter.
    pub(crate) inner: bool,
    /// Packets that will never arrive: with one of them a message is never told of as delivered.
    pub lost: u32,
    /// Way of all its packets, where they share one.
    pub(crate) route: u32,
    pub(crate) switches: u16,
    /// ECN: marks of packets before this one are old news.
    pub(crate) heed_from: u32,
    /// SCI: latency of a response, 0 until known. ECN: pause between packets.
    pub(crate) pause_ps: u32,
    /// Next in a node's queue, or next free place.
    pub(crate) next: u32,
}

/// Places for `T` with a free list through `T`'s own link.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    pub items: Vec<T>,
    free: u32,
    pub live: u32,
}

impl<T> Default for Pool<T> {
    fn default() -> Pool<T> {
        Pool { items: Vec::new(), free: NONE, live: 0 }
    }
}

impl<T: Linked> Pool<T> {
    pub fn add(&mut self, item: T) -> u32 {
        self.live += 1;
        match self.free {
            NONE => {
                self.items.push(item);
                self.items.len() as u32 - 1
            }
            place => {
                self.free = *self.items[place as usize].link();
                self.items[place as usize] = item;
                place
            }
        }
    }
    pub fn remove(&mut self, place: u32) {
        self.live -= 1;
        let link = self.items[place as usize].link();
        *link = self.free;
        self.free = place;
    }
}

/// Has a link of its own for lists.
pub(crate) trait Linked {
    fn link(&mut self) -> &mut u32;
}
impl Linked for Packet {
    fn link(&mut self) -> &mut u32 {
        &mut self.next
    }
}
impl Linked for Message {
    fn link(&mut self) -> &mut u32 {
        &mut self.next
    }
}

/// A first-in first-out list through the items' links.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    pub head: u32,
    pub tail: u32,
}

impl Default for List {
    fn default() -> List {
        List { head: NONE, tail: NONE }
    }
}

impl List {
    #[inline]
    pub fn push<T: Linked>(&mut self, items: &mut [T], item: u32) {
        *items[item as usize].link() = NONE;
        match self.tail {
            NONE => self.head = item,
            tail => *items[tail as usize].link() = item,
        }
        self.tail = item;
    }
    #[inline]
    pub fn pop<T: Linked>(&mut self, items: &mut [T]) -> Option<u32> {
        if self.head == NONE {
            return None;
        }
        let first = self.head;
        self.head = *items[first as usize].link();
        if self.head == NONE {
            self.tail = NONE;
        }
        Some(first)
    }
}

/// Routes of packets under way, counted by their users, in blocks of 8, 16, 32 … stages of one arena. The first stage of
/// a block is its header: length and users.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    arena: Vec<Stage>,
    /// Beside each stage where it was chosen (adaptive routing only).
    chosen_at: Vec<State>,
    keeps_choices: bool,
    free: [Vec<u32>; 16],
}

impl Routes {
    /// None yet; with `keeps_choices` each stage remembers where it was chosen.
    pub fn new(keeps_choices: bool) -> Routes {
        Routes { keeps_choices, ..Routes::default() }
    }
    /// Stores a route with one user.
    pub fn add(&mut self, stages: &[Stage], chosen_at: &[State]) -> u32 {
        let class = size_class(stages.len());
        let at = self.free[class].pop().unwrap_or_else(|| {
            let at = self.arena.len();
            self.arena.resize(at + (8 << class), Stage::default());
            at as u32
        });
        self.arena[at as usize] = Stage { lane: stages.len() as u32, word: 1 };
        self.write(at, 0, stages, chosen_at);
        at
    }
    /// Puts `stages` in place of those from `stage` on, of a route with one user; it may move.
    pub fn turn(&mut self, route: u32, stage: u32, stages: &[Stage], chosen_at: &[State]) -> u32 {
        let length = stage as usize + stages.len();
        if size_class(length) == size_class(self.arena[route as usize].lane as usize) {
            self.arena[route as usize].lane = length as u32;
            self.write(route, stage, stages, chosen_at);
            return route;
        }
        let from = route as usize + 1;
        let mut all = self.arena[from..from + stage as usize].to_vec();
        let mut all_chosen = self.chosen_at[from..from + stage as usize].to_vec();
        all.extend_from_slice(stages);
        all_chosen.extend_from_slice(chosen_at);
        self.release(route);
        self.add(&all, &all_chosen)
    }
    fn write(&mut self, route: u32, stage: u32, stages: &[Stage], chosen_at: &[State]) {
        let from = (route + 1 + stage) as usize;
        self.arena[from..from + stages.len()].copy_from_slice(stages);
        if self.keeps_choices {
            self.chosen_at.resize(self.arena.len(), NO_CHOICE);
            self.chosen_at[from..from + stages.len()].copy_from_slice(chosen_at);
        }
    }
    /// Moves a stage of a route with one user to another lane.
    pub fn set_lane(&mut self, route: u32, stage: u32, lane: u32) {
        self.arena[(route + 1 + stage) as usize].lane = lane;
    }
    /// Where a stage was chosen among several; [`NO_CHOICE`] if it was the only way on.
    #[inline]
    pub fn chosen_at(&self, route: u32, stage: u32) -> State {
        self.chosen_at[(route + 1 + stage) as usize]
    }
    /// One more user.
    pub fn share(&mut self, route: u32) -> u32 {
        self.arena[route as usize].word += 1;
        route
    }
    /// One user less.
    pub fn release(&mut self, route: u32) {
        let header = &mut self.arena[route as usize];
        header.word -= 1;
        if header.word == 0 {
            self.free[size_class(header.lane as usize)].push(route);
        }
    }
    #[inline]
    pub fn stage(&self, route: u32, stage: u32) -> Stage {
        self.arena[(route + 1 + stage) as usize]
    }
    /// Latency of all its stages, in picoseconds.
    pub fn latency_ps(&self, route: u32) -> u64 {
        let (mut stage, mut sum) = (0, 0);
        loop {
            let here = self.stage(route, stage);
            sum += here.latency_ps();
            if here.is_last() {
                return sum;
            }
            stage += 1;
        }
    }
    /// The stage after `here`, which is number `stage`.
    #[inline]
    pub fn after(&self, route: u32, stage: u32, here: Stage) -> Stage {
        if here.is_last() { here } else { self.stage(route, stage + 1) }
    }
}

/// Blocks of class c hold 8 x 2^c stages, the header included.
fn size_class(stages: usize) -> usize {
    ((stages + 1).next_power_of_two().trailing_zeros() as usize).saturating_sub(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_reused_when_their_last_user_is_gone() {
        let mut routes = Routes::default();
        let stage = |lane| Stage { lane, word: lane };
        let long: Vec<Stage> = (0..20).map(stage).collect();
        let mut add = |stages: &[Stage]| routes.add(stages, &[]);
        let (a, b) = (add(&[stage(5)]), add(&long));
        let holds_long = |routes: &Routes| (0..20).all(|i| routes.stage(b, i) == long[i as usize]);
        assert!(holds_long(&routes));
        routes.share(a);
        routes.release(a);
        assert_ne!(routes.add(&[stage(6)], &[]), a);
        routes.release(a);
        assert_eq!(routes.add(&[stage(7), stage(8)], &[]), a);
        assert!(routes.stage(a, 1) == stage(8) && holds_long(&routes));
    }

    #[test]
    fn a_turned_route_keeps_its_beginning() {
        let stage = |lane| Stage { lane, word: lane };
        let stages: Vec<Stage> = (0..6).map(stage).collect();
        let chosen = [NO_CHOICE; 20];
        for tail in [1, 3, 20] {
            let mut routes = Routes::new(true);
            let route = routes.add(&stages, &chosen[..6]);
            let new: Vec<Stage> = (100..100 + tail).map(stage).collect();
            let route = routes.turn(route, 3, &new, &chosen[..tail as usize]);
            let all: Vec<Stage> = (0..3 + tail).map(|i| routes.stage(route, i)).collect();
            assert_eq!((&all[..3], &all[3..]), (&stages[..3], &new[..]));
        }
    }
}
