//! A ring of messages between two ranks: one writer, one reader, no lock, no system call.
//!
//! A short message is one cache line, which its writer writes and its reader reads:
//!
//! ```text
//! byte   0 .. 4   4 .. 7  7      8 .. 40         40 .. 64
//!        lap      bytes   kind   head, 4 words   payload
//!        '------ stamp -------'
//! ```
//!
//! The stamp is stored last, and its lap says whether the line is of this round. The reader polls that very line, with
//! no other flag or index. Once in a quarter of the ring it reports what it has taken. The writer reads that line only
//! when the ring seems full. Nothing here is locked.
//!
//! Longer payloads take a ring of bytes next to the slots. A long payload is announced when its first part is there.
//! While the writer copies one part in, the reader copies the part before it out.
#![allow(unsafe_code)]

use super::world::{Ring, SLOTS, Slot, World};
use crate::copy;
use hotlink_port::{Head, Posted, Rank, Refusal};
use std::rc::Rc;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Payload inside a slot.
pub(crate) const INLINE: u64 = 24;
/// Longest payload where few ranks share a host.
pub(crate) const MESSAGE_MAX: u64 = 64 << 10;
/// A payload of several parts of this size is announced when the first is there.
const PART: u64 = 16 << 10;
/// Mark in a message's kind: its payload comes in parts.
const PARTS: u8 = 0x80;
/// The reader reports free room to the writer in steps of this share of the ring.
const STEPS: u64 = 4;
/// How many slots ahead of a message's the writer prefetches in a row of messages. Lines arrive one after the other if
/// stores wait for them, and side by side if they are prefetched. The reader polls none so far ahead.
const AHEAD: u64 = 8;

/// Where a payload of `bytes` goes in a ring of `room`, a power of two, when the running position is `at`: start and end.
/// Never split at the ring's end.
#[inline]
fn place(room: u64, at: u64, bytes: u64) -> (u64, u64) {
    let start = if (at & (room - 1)) + bytes > room { at.next_multiple_of(room) } else { at };
    (start, start + bytes.next_multiple_of(64))
}

/// Zeroed memory is lap 0 of nothing: laps count from one and skip zero when they wrap.
#[inline]
fn lap(position: u64) -> u32 {
    ((position / SLOTS) as u32).wrapping_add(1).max(1)
}

#[inline]
fn slot_at(ring: *mut Ring, position: u64) -> *mut Slot {
    // SAFETY: inside the ring.
    unsafe { (&raw mut (*ring).slots).cast::<Slot>().add((position % SLOTS) as usize) }
}

/// The byte of the payload room at a running position.
#[inline]
fn payload_at(ring: *mut Ring, room: u64, position: u64) -> *mut u8 {
    ring.cast::<u8>().wrapping_add(size_of::<Ring>() + (position & (room - 1)) as usize)
}

#[inline]
fn stamp(lap: u32, bytes: u64, kind: u8) -> u64 {
    u64::from(lap) | bytes << 32 | u64::from(kind) << 56
}

/// The writing end.
pub(crate) struct Sender {
    /// Null before the first message.
    ring: *mut Ring,
    /// Payload bytes of the ring.
    room: u64,
    /// Sender and receiver, before the first message.
    call: Option<(Rc<World>, Rank, Rank)>,
    /// The next message's.
    slot: *mut Slot,
    lap: u32,
    sent: u64,
    bytes: u64,
    /// So many messages may go before this end has to check for room: none before the first, and none to a reader that
    /// is gone.
    sent_max: u64,
    seen_bytes: u64,
    closed: bool,
}

impl Sender {
    /// The only writer of the ring from rank `from` to rank `to`.
    pub(crate) fn new(world: &Rc<World>, from: Rank, to: Rank) -> Sender {
        let (call, room) = (Some((world.clone(), from, to)), world.shape().ring_bytes);
        let (ring, slot, lap) = (std::ptr::null_mut(), std::ptr::null_mut(), lap(0));
        Sender { ring, room, call, slot, lap, sent: 0, bytes: 0, sent_max: 0, seen_bytes: 0, closed: false }
    }
    /// The reader is gone: from now on there is no room.
    pub(crate) fn close(&mut self) {
        (self.closed, self.sent_max) = (true, 0);
    }
    /// Before the first message: makes the ring, and announces it to the reader. False if there is no memory for it,
    /// which is reported once.
    fn open(&mut self) -> bool {
        let Some((world, from, to)) = &self.call else { return !self.ring.is_null() };
        let made = world.make_ring(*from, *to);
        let opened = match made {
            Ok(ring) => {
                (self.ring, self.slot) = (ring, slot_at(ring, 0));
                world.member(*to).call(*from);
                true
            }
            Err(error) => {
                eprintln!("hotlink: rank {from} has no memory for messages to rank {to}: {error}");
                false
            }
        };
        self.call = None;
        opened
    }
    /// Whether there can be no ring.
    pub(crate) fn has_no_memory(&self) -> bool {
        self.ring.is_null() && self.call.is_none()
    }
    /// Prepares the next message after the one before it, which a waiting receiver has by now.
    #[inline]
    fn advance(&mut self) {
        self.sent += 1;
        (self.slot, self.lap) = (slot_at(self.ring, self.sent), lap(self.sent));
    }
    /// Sends a message of at most [`INLINE`] bytes; `false` if there is no room. One line is written, none is read
    /// but, once in a quarter of the ring, the reader's account. `row`: another message went just before.
    ///
    /// # Safety
    /// `bytes` from `from` on can be read.
    #[inline(always)]
    pub(crate) unsafe fn send_short(&mut self, kind: u8, head: &Head, from: *const u8, bytes: u64, row: bool) -> bool {
        debug_assert!(bytes <= INLINE);
        if self.sent >= self.sent_max && !self.look_for_room(self.bytes) {
            return false;
        }
        let slot = self.slot;
        // SAFETY: this end is the only writer, and the reader has given back the slot; it reads it only after the
        // stamp.
        unsafe {
            // Word by word: copied two at a time, they would wait until the caller's stores of both have left.
            let words = (&raw mut (*slot).head).cast::<u64>();
            words.write_volatile(head[0]);
            words.add(1).write_volatile(head[1]);
            words.add(2).write_volatile(head[2]);
            words.add(3).write_volatile(head[3]);
            copy::short(from, (&raw mut (*slot).inline).cast::<u8>(), bytes as usize);
            (*slot).stamp.store(stamp(self.lap, bytes, kind), Release);
        }
        self.advance();
        // Not for a lone message: a prefetch after it would delay it on its way.
        if row {
            copy::own_line(slot_at(self.ring, self.sent + AHEAD).cast());
        }
        true
    }
    /// Asks for the next message's line: it comes while the answer does that the message follows.
    #[inline]
    pub(crate) fn own_next(&self) {
        copy::own_line(self.slot.cast());
    }
    /// Sends a message whose payload `fill` writes; [`Posted::Busy`] if there is no room. With `parts`, `fill` is
    /// called for one part after the other, with the place where it begins. It must not refuse then: the reader has the
    /// first parts already.
    pub(crate) fn send(
        &mut self,
        (kind, parts): (u8, bool),
        head: &Head,
        bytes: u64,
        mut fill: impl FnMut(u64, &mut [u8]) -> Result<(), Refusal>,
    ) -> Posted {
        let (start, end) = if bytes > INLINE { place(self.room, self.bytes, bytes) } else { (self.bytes, self.bytes) };
        if !self.fits(end) && !self.look_for_room(end) {
            return if self.has_no_memory() { Posted::Refused(Refusal::NoMemory) } else { Posted::Busy };
        }
        let parts = parts && bytes > PART && self.is_taken();
        let first = if parts { PART } else { bytes };
        let slot = self.slot;
        // SAFETY: this end is the only writer, and the reader has given back the slot and the bytes that are written
        // here (`fits`). The reader reads them only after the stamp, and parts only once `filled` says so. Each borrow
        // ends before the borrowed bytes are published.
        unsafe {
            let payload = if bytes <= INLINE {
                (&raw mut (*slot).inline).cast::<u8>()
            } else {
                payload_at(self.ring, self.room, start)
            };
            if let Err(refusal) = fill(0, std::slice::from_raw_parts_mut(payload, first as usize)) {
                return Posted::Refused(refusal);
            }
            (*slot).head = *head;
            let kind = if parts { kind | PARTS } else { kind };
            if parts {
                (*self.ring).filled.0.store(start + first, Release);
            }
            (*slot).stamp.store(stamp(self.lap, bytes, kind), Release);
            let mut at = first;
            while at < bytes {
                let part = (bytes - at).min(PART);
                let _ = fill(at, std::slice::from_raw_parts_mut(payload.add(at as usize), part as usize));
                at += part;
                (*self.ring).filled.0.store(start + at, Release);
            }
        }
        self.advance();
        self.bytes = end;
        Posted::Accepted
    }
    /// Whether there is room for a message whose payload ends at `end`, as far as this side knows.
    #[inline]
    fn fits(&self, end: u64) -> bool {
        self.sent < self.sent_max && end - self.seen_bytes <= self.room
    }
    /// Whether the reader reports that it has taken every payload outside the slots, so that it waits for this one. A
    /// reader that still copies earlier ones would only be notified more often.
    fn is_taken(&mut self) -> bool {
        let room = self.room;
        let within = |seen: u64, end: u64| end - seen < room / STEPS;
        if !within(self.seen_bytes, self.bytes) {
            // SAFETY: a line of atomics in the shared block.
            self.seen_bytes = unsafe { (*self.ring).taken.bytes.load(Acquire) };
        }
        within(self.seen_bytes, self.bytes)
    }
    #[cold]
    fn look_for_room(&mut self, end: u64) -> bool {
        if self.closed || !self.open() {
            return false;
        }
        // SAFETY: a line of atomics in the shared block.
        let taken = unsafe { &(*self.ring).taken };
        (self.sent_max, self.seen_bytes) = (taken.slots.load(Acquire) + SLOTS, taken.bytes.load(Acquire));
        self.fits(end)
    }
}

/// A message's stamp: how its reader first sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp(u64);

impl Stamp {
    /// A message of kind 0 whose payload is in its slot.
    #[inline]
    pub(crate) fn is_plain(self) -> bool {
        self.0 >> 32 <= INLINE
    }
    #[inline]
    pub(crate) fn bytes(self) -> u64 {
        self.0 >> 32 & 0xFF_FFFF
    }
    #[inline]
    pub(crate) fn kind(self) -> u8 {
        (self.0 >> 56) as u8 & !PARTS
    }
    fn is_in_parts(self) -> bool {
        self.0 >> 56 & u64::from(PARTS) != 0
    }
}

/// The place of a message's payload. It has words only. It is set and read on the short path, where a field of another
/// width would make the processor wait for its own stores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) payload: *const u8,
    pub(crate) bytes: u64,
    /// Where it begins in the running position, if it comes in parts; else [`WHOLE`].
    parts: u64,
}

/// See [`Seen::parts`].
const WHOLE: u64 = u64::MAX;

impl Seen {
    /// No bytes.
    pub(crate) const NOTHING: Seen = Seen { payload: std::ptr::null(), bytes: 0, parts: WHOLE };
    /// Whether the payload comes in parts: see [`Receiver::filled`].
    #[inline]
    pub(crate) fn is_in_parts(&self) -> bool {
        self.parts != WHOLE
    }
}

/// The reading end.
pub(crate) struct Receiver {
    ring: *mut Ring,
    /// Payload bytes of the ring.
    room: u64,
    /// The next message's.
    slot: *const Slot,
    lap: u32,
    taken: u64,
    bytes: u64,
    told_bytes: u64,
}

impl Receiver {
    /// The only reader of `ring`, which has `room` payload bytes.
    pub(crate) fn new(ring: *mut Ring, room: u64) -> Receiver {
        Receiver { ring, room, slot: slot_at(ring, 0), lap: lap(0), taken: 0, bytes: 0, told_bytes: 0 }
    }
    /// The stamp of the next message, if it has come. It stays the next until it is released.
    #[inline]
    pub(crate) fn peek(&self) -> Option<Stamp> {
        // SAFETY: an atomic in the shared block.
        let word = unsafe { (*self.slot).stamp.load(Acquire) };
        (word as u32 == self.lap).then_some(Stamp(word))
    }
    /// Head of the message that `peek` gave.
    ///
    /// # Safety
    /// `peek` gave one, which was not released.
    #[inline]
    pub(crate) unsafe fn head(&self) -> Head {
        // SAFETY: its stamp says that the writer is done with it.
        unsafe {
            let head = &(*self.slot).head;
            [head[0], head[1], head[2], head[3]]
        }
    }
    /// Where the payload of that message is if it lies in the slot.
    #[inline]
    pub(crate) fn inside(&self, stamp: Stamp) -> Seen {
        // SAFETY: inside the ring.
        let payload = unsafe { (&raw const (*self.slot).inline).cast::<u8>() };
        Seen { payload, bytes: stamp.bytes(), parts: WHOLE }
    }
    /// Where it is in any case.
    pub(crate) fn seen(&self, stamp: Stamp) -> Seen {
        let bytes = stamp.bytes();
        if bytes <= INLINE {
            return self.inside(stamp);
        }
        let start = place(self.room, self.bytes, bytes).0;
        let payload = payload_at(self.ring, self.room, start).cast_const();
        Seen { payload, bytes, parts: if stamp.is_in_parts() { start } else { WHOLE } }
    }
    /// How many bytes of a message's payload are there.
    #[inline]
    pub(crate) fn filled(&self, seen: &Seen) -> u64 {
        if !seen.is_in_parts() {
            return seen.bytes;
        }
        // SAFETY: a line of atomics in the shared block.
        unsafe { (*self.ring).filled.0.load(Acquire) }.saturating_sub(seen.parts).min(seen.bytes)
    }
    /// Gives the room of the next message, which had `bytes`, back.
    #[inline]
    pub(crate) fn release(&mut self, bytes: u64) {
        self.taken += 1;
        (self.slot, self.lap) = (slot_at(self.ring, self.taken), lap(self.taken));
        if bytes > INLINE {
            self.release_beside(bytes);
        }
        if self.taken.is_multiple_of(SLOTS / STEPS) {
            self.tell();
        }
    }
    fn release_beside(&mut self, bytes: u64) {
        self.bytes = place(self.room, self.bytes, bytes).1;
        if self.bytes - self.told_bytes >= self.room / STEPS {
            self.tell();
        }
    }
    #[cold]
    fn tell(&mut self) {
        // SAFETY: a line of atomics in the shared block.
        let taken = unsafe { &(*self.ring).taken };
        taken.bytes.store(self.bytes, Release);
        taken.slots.store(self.taken, Release);
        self.told_bytes = self.bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Any mixture of lengths and of sending and taking: every message comes once, whole and in order.
        #[test]
        fn messages_come_once_whole_in_order(steps in prop::collection::vec((0u64..3, 0u64..MESSAGE_MAX), 1..400)) {
            let world = Rc::new(World::new(1).unwrap());
            let ring = world.make_ring(0, 0).unwrap();
            let (mut sender, mut receiver) = (Sender::new(&world, 0, 0), Receiver::new(ring, world.shape().ring_bytes));
            let mut expected = std::collections::VecDeque::new();
            let mut number = 0u64;
            for (what, len) in steps {
                let bytes = if what == 0 { len % 40 } else { len };
                let fill = |_: u64, payload: &mut [u8]| { payload.fill(number as u8); Ok(()) };
                let head = [number, 1, 2, 3];
                let sent = if bytes <= INLINE && len % 2 == 0 {
                    let payload = [number as u8; INLINE as usize];
                    // SAFETY: the payload has that many bytes.
                    let sent = unsafe { sender.send_short(3, &head, payload.as_ptr(), bytes, what == 2) };
                    if sent { Posted::Accepted } else { Posted::Busy }
                } else {
                    sender.send((3, what == 1), &head, bytes, fill)
                };
                match sent {
                    Posted::Accepted => { expected.push_back((number, bytes)); number += 1; }
                    other => prop_assert!(other == Posted::Busy && !expected.is_empty()),
                }
                while expected.len() as u64 > len % 300 || (what == 2 && !expected.is_empty()) {
                    let (number, bytes) = expected.pop_front().unwrap();
                    let stamp = receiver.peek().expect("sent and not taken");
                    // SAFETY: one was given.
                    let (head, seen) = (unsafe { receiver.head() }, receiver.seen(stamp));
                    prop_assert_eq!((stamp.kind(), head, seen.bytes), (3, [number, 1, 2, 3], bytes));
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
        let world = Rc::new(World::new(1).unwrap());
        const MESSAGES: u64 = 300;
        let value = |number: u64, at: u64| (number * 31 + at / 8) as u8;
        /// An end that another thread may have: it is the only one.
        struct Moved(Sender);
        // SAFETY: the ring is made for two threads, and the block lives longer than both.
        unsafe impl Send for Moved {}
        /// The reader's end, which is another thread's than the writer's.
        struct Ours(*mut Ring);
        let ring = Ours(world.make_ring(0, 0).unwrap());
        let mut sender = Sender::new(&world, 0, 0);
        // Before the threads part: an end has the world until its first message.
        assert!(sender.open());
        let sender = Moved(sender);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let Moved(mut sender) = { sender };
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
            let mut receiver = Receiver::new(ring.0, world.shape().ring_bytes);
            for number in 0..MESSAGES {
                let stamp = loop {
                    match receiver.peek() {
                        Some(stamp) => break stamp,
                        None => std::thread::yield_now(),
                    }
                };
                // SAFETY: one was given.
                let (head, seen) = (unsafe { receiver.head() }, receiver.seen(stamp));
                assert_eq!((head, seen.bytes), ([number; 4], MESSAGE_MAX - number * 100));
                let mut at = 0;
                while at < seen.bytes {
                    let there = receiver.filled(&seen);
                    // SAFETY: `there` bytes of the payload are there, until released.
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
