//! Memory of a running simulation: packets, messages, routes. Freed places are used again, so that the steady state
//! does not allocate.

use crate::plan::{NONE, Stage};

/// A packet under way: half a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Packet {
    /// Its message; `NONE` on a free place.
    pub message: u32,
    pub route: u32,
    pub payload: u32,
    /// Position in its message, and [`AGAIN`].
    pub index: u32,
    /// Next in the queue of a lane, or next free place.
    pub next: u32,
    /// The stage that its head waits for or crosses: a copy from the route, so that waiting touches one line.
    pub here: Stage,
    /// Number of that stage.
    pub stage: u16,
    /// Wire bytes beyond the payload.
    pub overhead: u16,
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
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Worm {
    /// Next that waits in the same input buffer.
    pub behind: u32,
    /// First stage that the tail has not left.
    pub tail: u32,
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
    /// Way of all its packets, where they share one.
    pub(crate) route: u32,
    pub(crate) switches: u32,
    /// Latency of a response (SCI); 0 until known.
    pub(crate) response_ps: u32,
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
    free: [Vec<u32>; 16],
}

impl Routes {
    /// Stores a route with one user.
    pub fn add(&mut self, stages: &[Stage]) -> u32 {
        let class = size_class(stages.len());
        let at = self.free[class].pop().unwrap_or_else(|| {
            let at = self.arena.len();
            self.arena.resize(at + (8 << class), Stage::default());
            at as u32
        });
        self.arena[at as usize] = Stage { lane: stages.len() as u32, word: 1 };
        self.arena[at as usize + 1..at as usize + 1 + stages.len()].copy_from_slice(stages);
        at
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
        let (a, b) = (routes.add(&[stage(5)]), routes.add(&long));
        let holds_long = |routes: &Routes| (0..20).all(|i| routes.stage(b, i) == long[i as usize]);
        assert!(holds_long(&routes));
        routes.share(a);
        routes.release(a);
        assert_ne!(routes.add(&[stage(6)]), a);
        routes.release(a);
        assert_eq!(routes.add(&[stage(7), stage(8)]), a);
        assert!(routes.stage(a, 1) == stage(8) && holds_long(&routes));
    }
}
