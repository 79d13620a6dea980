//! A ring of messages between two ranks: one writer, one reader, no lock, no system call. A short message moves with
//! one cache line; longer payloads take a ring of bytes beside the slots. A long payload is announced when its first
//! part is there: while the writer copies one part in, the reader copies the part before it out.
#![allow(unsafe_code)]

use super::world::{RING_BYTES, Ring, SLOTS};
use hotlink_port::{Head, Posted, Refusal};
use std::sync::atomic::Ordering::{Acquire, Release};

/// Payload inside a slot.
pub(crate) const INLINE: u64 = 24;
/// Longest payload.
pub(crate) const MESSAGE_MAX: u64 = 64 << 10;
/// A payload of several parts of this size is announced when the first is there.
const PART: u64 = 16 << 10;
/// Mark in a message's kind: its payload comes in parts.
const PARTS: u8 = 0x80;
/// The reader tells the writer of free room in steps of this share of the ring.
const STEPS: u64 = 4;

/// Where a payload of `bytes` goes when the running position is `at`: start and end. Never split at the ring's end.
#[inline]
fn place(at: u64, bytes: u64) -> (u64, u64) {
    let start = if at % RING_BYTES + bytes > RING_BYTES { at.next_multiple_of(RING_BYTES) } else { at };
    (start, start + bytes.next_multiple_of(64))
}

#[inline]
fn stamp(position: u64, bytes: u64, kind: u8) -> u64 {
    let lap = (position / SLOTS) as u32;
    // Zeroed memory is lap 0 of nothing: count laps from one, skipping zero when they wrap.
    u64::from(lap.wrapping_add(1).max(1)) | bytes << 32 | u64::from(kind) << 56
}

/// The writing end.
pub(crate) struct Sender {
    ring: *mut Ring,
    sent: u64,
    bytes: u64,
    seen_sent: u64,
    seen_bytes: u64,
}

impl Sender {
    /// The only writer of `ring`.
    pub(crate) fn new(ring: *mut Ring) -> Sender {
        Sender { ring, sent: 0, bytes: 0, seen_sent: 0, seen_bytes: 0 }
    }
    /// Sends a message whose payload `fill` writes; [`Posted::Busy`] if there is no room. With `parts`, `fill` is called
    /// for one part after the other (with where it begins) and must not refuse: the reader has the first parts by then.
    #[inline]
    pub(crate) fn send(
        &mut self,
        (kind, parts): (u8, bool),
        head: &Head,
        bytes: u64,
        mut fill: impl FnMut(u64, &mut [u8]) -> Result<(), Refusal>,
    ) -> Posted {
        let (start, end) = if bytes > INLINE { place(self.bytes, bytes) } else { (self.bytes, self.bytes) };
        if !self.has_room(end) {
            return Posted::Busy;
        }
        let parts = parts && bytes > PART;
        let first = if parts { PART } else { bytes };
        // SAFETY: this end is the only writer, and the reader has given back the slot and the bytes that are written
        // here (`has_room`); it reads them only after the stamp, and parts only once `filled` says so. Each borrow ends
        // before what is borrowed is published.
        unsafe {
            let slot = (&raw mut (*self.ring).slots).cast::<super::world::Slot>().add((self.sent % SLOTS) as usize);
            let payload = if bytes <= INLINE {
                (&raw mut (*slot).inline).cast::<u8>()
            } else {
                (&raw mut (*self.ring).payload).cast::<u8>().add((start % RING_BYTES) as usize)
            };
            if let Err(refusal) = fill(0, std::slice::from_raw_parts_mut(payload, first as usize)) {
                return Posted::Refused(refusal);
            }
            (*slot).head = *head;
            let kind = if parts { kind | PARTS } else { kind };
            if parts {
                (*self.ring).filled.0.store(start + first, Release);
            }
            (*slot).stamp.store(stamp(self.sent, bytes, kind), Release);
            let mut at = first;
            while at < bytes {
                let part = (bytes - at).min(PART);
                let _ = fill(at, std::slice::from_raw_parts_mut(payload.add(at as usize), part as usize));
                at += part;
                (*self.ring).filled.0.store(start + at, Release);
            }
        }
        self.sent += 1;
        self.bytes = end;
        Posted::Accepted
    }
    #[inline]
    fn has_room(&mut self, end: u64) -> bool {
        let fits = |sent: u64, bytes: u64| self.sent - sent < SLOTS && end - bytes <= RING_BYTES;
        if fits(self.seen_sent, self.seen_bytes) {
            return true;
        }
        // SAFETY: a line of atomics in the shared block.
        let taken = unsafe { &(*self.ring).taken };
        let (sent, bytes) = (taken.slots.load(Acquire), taken.bytes.load(Acquire));
        let room = fits(sent, bytes);
        (self.seen_sent, self.seen_bytes) = (sent, bytes);
        room
    }
}

/// A message seen in a ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) kind: u8,
    pub(crate) head: Head,
    pub(crate) payload: *const u8,
    pub(crate) bytes: u64,
    /// Where its payload begins in the running position, if it comes in parts.
    parts: Option<u64>,
}

impl Seen {
    /// Whether the payload comes in parts: see [`Receiver::filled`].
    #[inline]
    pub(crate) fn is_in_parts(&self) -> bool {
        self.parts.is_some()
    }
}

/// The reading end.
pub(crate) struct Receiver {
    ring: *mut Ring,
    taken: u64,
    bytes: u64,
    told_taken: u64,
    told_bytes: u64,
}

impl Receiver {
    /// The only reader of `ring`.
    pub(crate) fn new(ring: *mut Ring) -> Receiver {
        Receiver { ring, taken: 0, bytes: 0, told_taken: 0, told_bytes: 0 }
    }
    /// The next message, if it has come. Stays the next until it is released.
    #[inline]
    pub(crate) fn peek(&self) -> Option<Seen> {
        // SAFETY: atomics first; the rest of the slot and the payload only after its stamp says that the writer is
        // done with them, until `release` gives them back.
        unsafe {
            let slot = (&raw const (*self.ring).slots).cast::<super::world::Slot>().add((self.taken % SLOTS) as usize);
            let word = (*slot).stamp.load(Acquire);
            if word as u32 != stamp(self.taken, 0, 0) as u32 {
                return None;
            }
            let bytes = word >> 32 & 0xFF_FFFF;
            let kind = (word >> 56) as u8;
            let (payload, parts) = if bytes <= INLINE {
                ((&raw const (*slot).inline).cast::<u8>(), None)
            } else {
                let start = place(self.bytes, bytes).0;
                let payload = (&raw const (*self.ring).payload).cast::<u8>().add((start % RING_BYTES) as usize);
                (payload, (kind & PARTS != 0).then_some(start))
            };
            Some(Seen { kind: kind & !PARTS, head: (*slot).head, payload, bytes, parts })
        }
    }
    /// How many bytes of a message's payload are there.
    #[inline]
    pub(crate) fn filled(&self, seen: &Seen) -> u64 {
        match seen.parts {
            // SAFETY: a line of atomics in the shared block.
            Some(start) => unsafe { (*self.ring).filled.0.load(Acquire) }.saturating_sub(start).min(seen.bytes),
            None => seen.bytes,
        }
    }
    /// Gives the room of the next message, which had `bytes`, back.
    #[inline]
    pub(crate) fn release(&mut self, bytes: u64) {
        self.taken += 1;
        if bytes > INLINE {
            self.bytes = place(self.bytes, bytes).1;
        }
        if self.taken - self.told_taken >= SLOTS / STEPS || self.bytes - self.told_bytes >= RING_BYTES / STEPS {
            self.tell();
        }
    }
    fn tell(&mut self) {
        // SAFETY: a line of atomics in the shared block.
        let taken = unsafe { &(*self.ring).taken };
        taken.bytes.store(self.bytes, Release);
        taken.slots.store(self.taken, Release);
        (self.told_taken, self.told_bytes) = (self.taken, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shm::world::World;
    use proptest::prelude::*;

    proptest! {
        /// Any mixture of lengths and of sending and taking: every message comes once, whole and in order.
        #[test]
        fn messages_come_once_whole_in_order(steps in prop::collection::vec((0u64..3, 0u64..MESSAGE_MAX), 1..400)) {
            let world = World::new(1).unwrap();
            let (mut sender, mut receiver) = (Sender::new(world.ring(0, 0)), Receiver::new(world.ring(0, 0)));
            let mut expected = std::collections::VecDeque::new();
            let mut number = 0u64;
            for (what, len) in steps {
                let bytes = if what == 0 { len % 40 } else { len };
                let fill = |_: u64, payload: &mut [u8]| { payload.fill(number as u8); Ok(()) };
                match sender.send((3, what == 1), &[number, 1, 2, 3], bytes, fill) {
                    Posted::Accepted => { expected.push_back((number, bytes)); number += 1; }
                    other => prop_assert!(other == Posted::Busy && !expected.is_empty()),
                }
                while expected.len() as u64 > len % 300 || (what == 2 && !expected.is_empty()) {
                    let (number, bytes) = expected.pop_front().unwrap();
                    let seen = receiver.peek().expect("sent and not taken");
                    prop_assert_eq!((seen.kind, seen.head, seen.bytes), (3, [number, 1, 2, 3], bytes));
                    prop_assert_eq!(receiver.filled(&seen), bytes);
                    // SAFETY: the payload is there until released.
                    let payload = unsafe { std::slice::from_raw_parts(seen.payload, bytes as usize) };
                    prop_assert!(payload.iter().all(|&b| b == number as u8));
                    receiver.release(bytes);
                }
                prop_assert_eq!(receiver.peek().is_some(), !expected.is_empty());
            }
        }
    }

    /// A reader that runs after the writer sees every byte of every part, and no byte before it was written.
    #[test]
    fn parts_are_read_while_others_are_written() {
        let world = World::new(1).unwrap();
        let ring = world.ring(0, 0) as usize;
        const MESSAGES: u64 = 300;
        let value = |number: u64, at: u64| (number * 31 + at / 8) as u8;
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut sender = Sender::new(ring as *mut Ring);
                for number in 0..MESSAGES {
                    let bytes = MESSAGE_MAX - number * 100;
                    let fill = |at: u64, part: &mut [u8]| {
                        (at..).zip(part).for_each(|(at, byte)| *byte = value(number, at));
                        Ok(())
                    };
                    while sender.send((1, true), &[number; 4], bytes, fill) != Posted::Accepted {
                        std::thread::yield_now();
                    }
                }
            });
            let mut receiver = Receiver::new(ring as *mut Ring);
            for number in 0..MESSAGES {
                let seen = loop {
                    match receiver.peek() {
                        Some(seen) => break seen,
                        None => std::thread::yield_now(),
                    }
                };
                assert_eq!((seen.head, seen.bytes), ([number; 4], MESSAGE_MAX - number * 100));
                let mut at = 0;
                while at < seen.bytes {
                    let there = receiver.filled(&seen);
                    // SAFETY: so many bytes of the payload are there, until released.
                    let part = unsafe { std::slice::from_raw_parts(seen.payload, there as usize) };
                    assert!((at..there).all(|at| part[at as usize] == value(number, at)), "message {number}");
                    at = there;
                    std::thread::yield_now();
                }
                receiver.release(seen.bytes);
            }
        });
    }
}
