//! Places that are used again, and queues through them: what comes and goes in a simulation, without allocation in the
//! steady state.

use crate::NONE;

/// Places for `T` with a free list through `T`'s own link.
#[derive(Debug)]
pub struct Pool<T> {
    /// All places, those that are free too.
    pub items: Vec<T>,
    free: u32,
    /// Places in use.
    pub live: u32,
}

impl<T> Default for Pool<T> {
    fn default() -> Pool<T> {
        Pool { items: Vec::new(), free: NONE, live: 0 }
    }
}

impl<T: Linked> Pool<T> {
    /// Puts `item` into a free place, and gives its number.
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
    /// Frees a place.
    pub fn remove(&mut self, place: u32) {
        self.live -= 1;
        let link = self.items[place as usize].link();
        *link = self.free;
        self.free = place;
    }
}

/// Has a link of its own for lists.
pub trait Linked {
    /// The number of the next one, or [`NONE`].
    fn link(&mut self) -> &mut u32;
}
/// A first-in first-out list through the items' links.
#[derive(Clone, Copy, Debug)]
pub struct List {
    /// The first; [`NONE`] if it is empty.
    pub head: u32,
    /// The last.
    pub tail: u32,
}

impl Default for List {
    fn default() -> List {
        List { head: NONE, tail: NONE }
    }
}

impl List {
    /// Puts `item` at the end.
    #[inline]
    pub fn push<T: Linked>(&mut self, items: &mut [T], item: u32) {
        *items[item as usize].link() = NONE;
        match self.tail {
            NONE => self.head = item,
            tail => *items[tail as usize].link() = item,
        }
        self.tail = item;
    }
    /// Takes the first away.
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
