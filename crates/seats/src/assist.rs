//! Short copies that a process does in its own memory for another of its machine, while it waits in a call.
//!
//! The other process could do them by the system's copy ([`crate::Neighbor`]), which takes microseconds. A request through
//! shared memory takes a few transfers of a cache line. Each process has a slot there. The slot's state is a turn and one of
//! four phases:
//!
//! - *Away*: nobody looks at it. The process of the slot opens it at its next poll.
//! - *Open*: a process that asks claims it, by compare-and-swap, with the next turn.
//! - *Claimed*: that process writes its request.
//! - *Posted*: the process of the slot does it at its next poll, and opens its slot again. Before, it writes the reply into the
//!   slot of the one that asked.
//!
//! An open slot does not say that its process polls: that may have left its call. Who asks therefore waits for no longer than
//! the system's copy takes. Then it sets *posted* to *away*, and has the system copy. So it takes twice as long at most, once
//! for each time that the process goes away. It waits as long again at most where others have claimed the slot before.
//!
//! The process of the slot first notes the turn that it takes, then checks that it is still posted. Who withdraws a request
//! first withdraws it, then looks at the note. So one of them sees what the other did, or both do. In that case
//! the one that asked waits for the reply, or for the note that the request was dropped.
//!
//! Nothing here orders work at one place by several processes. Those who combine hold a latch (`hotlink_real::Latch`) meanwhile,
//! as for the system's copy.
#![allow(unsafe_code)]

use crate::sys;
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Phases.
const AWAY: u64 = 0;
const OPEN: u64 = 1;
const CLAIMED: u64 = 2;
const POSTED: u64 = 3;

/// Bytes of a copy up to which a request is no slower than the system's copy, also between far cores. An assumption: see
/// `docs/reports/2026-11-27-mpi-speed.md`.
const COPIED: usize = 4096;
/// Without a request, combining takes two of the system's copies.
const MOST: usize = 2 * COPIED;
/// Polls between looks at the clock, which takes as long as some polls.
const TRIES: u32 = 16;
/// Polls for a reply that is being written before the core is given to others.
const LONG: u32 = 1024;

/// Combines bytes with others in place, as the number says.
pub type Combine = fn(u32, &mut [u8], &[u8]);

/// What is done at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Nothing: the bytes there are wanted.
    Leave,
    /// They become others.
    Replace,
    /// They are combined with others. The number is [`Combine`]'s, below `1 << 31`.
    Combine(u32),
}

/// A request: what is done at `bytes` from `at` on, in the memory of the process that is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) at: u64,
    pub(crate) bytes: usize,
    pub(crate) how: How,
    /// The other bytes, here; null if there are none.
    pub(crate) from: *const u8,
    /// Where the bytes go as they were; null if they are not wanted.
    pub(crate) into: *mut u8,
}

impl How {
    fn number(self) -> u32 {
        match self {
            How::Leave => u32::MAX,
            How::Replace => u32::MAX - 1,
            How::Combine(number) => number,
        }
    }
}

/// See the module. What different processes write is in different lines of the cache.
#[repr(C, align(64))]
struct Slot {
    state: AtomicU64,
    at: AtomicU64,
    /// How many bytes, and how.
    bytes: AtomicU32,
    how: AtomicU32,
    /// Who asks, if the bytes there are wanted [`WANTS`] more, and the number of its request.
    asker: AtomicU32,
    serial: AtomicU32,
    data: UnsafeCell<[u8; MOST]>,
    taken: Taken,
    reply: Reply,
}

/// Twice the turn that the process of the slot took last, and one more if it dropped it.
#[repr(C, align(64))]
struct Taken(AtomicU64);

/// The number of the request of this slot's process that was done last, and the bytes that it wanted.
#[repr(C, align(64))]
struct Reply {
    done: AtomicU32,
    data: UnsafeCell<[u8; MOST]>,
}

const WANTS: u32 = 1 << 31;

/// The slots of processes that share memory, as one of them sees them.
#[derive(Clone, Copy, Debug)]
pub struct Assists {
    slots: *const Slot,
    own: u32,
    all: u32,
    /// How long the system's copy takes.
    limit_ns: u64,
    combine: Combine,
}

impl PartialEq for Assists {
    fn eq(&self, other: &Assists) -> bool {
        self.slots == other.slots
    }
}

/// Waits for no longer than a time.
struct Patience {
    tries: u32,
    since: u64,
    limit_ns: u64,
}

impl Patience {
    fn is_over(&mut self) -> bool {
        self.tries += 1;
        std::hint::spin_loop();
        if !self.tries.is_multiple_of(TRIES) {
            return false;
        }
        let now = sys::monotonic_ns();
        if self.tries == TRIES {
            self.since = now;
        }
        now - self.since >= self.limit_ns
    }
}

impl Assists {
    /// Bytes for each process's slot.
    pub const BYTES: u64 = size_of::<Slot>() as u64;

    /// The slots at an address, for process `own` of `all`. The system's copy takes `limit_ns` nanoseconds, and `combine` is the
    /// same in all processes.
    ///
    /// # Safety
    /// There are [`Assists::BYTES`] for each at `start`, aligned to 64, that all users share. They were zero at first,
    /// outlive the users and are reached by this alone. Who asks a process, by a [`crate::Neighbor`], gives it addresses
    /// that are its to write.
    pub unsafe fn at(start: *mut u8, (own, all): (u32, u32), limit_ns: u64, combine: Combine) -> Assists {
        Assists { slots: start.cast_const().cast(), own, all, limit_ns, combine }
    }
    #[inline(always)]
    fn slot(&self, of: u32) -> &Slot {
        debug_assert!(of < self.all);
        // SAFETY: as `at` has it. All that processes share in it is in atomics and cells.
        unsafe { &*self.slots.add(of as usize) }
    }
    /// Does what another process asks of this one, or opens this one's slot; whether there was any of that. From then on
    /// this should be called again and again.
    #[inline]
    pub fn serve(&self) -> bool {
        let slot = self.slot(self.own);
        let state = slot.state.load(Acquire);
        match state & 3 {
            AWAY => slot.state.store(state | OPEN, Release),
            POSTED => self.take(slot, state),
            _ => return false,
        }
        true
    }
    fn take(&self, slot: &Slot, state: u64) {
        let twice = state >> 2 << 1;
        slot.taken.0.swap(twice, SeqCst);
        if slot.state.load(SeqCst) != state {
            return slot.taken.0.store(twice | 1, Release);
        }
        let (asker, bytes) = (slot.asker.load(Relaxed), slot.bytes.load(Relaxed) as usize);
        let reply = &self.slot(asker & !WANTS).reply;
        let (at, how) = (slot.at.load(Relaxed) as *mut u8, slot.how.load(Relaxed));
        let data = slot.data.get().cast::<u8>();
        // SAFETY: who asks gives an address of this process's memory that is meant for that, as `at` has it. The bytes are at
        // most as many as there is room. It leaves its request, and its reply, alone until that is done.
        unsafe {
            if asker & WANTS != 0 {
                copied(at, reply.data.get().cast(), bytes);
            }
            match how {
                u32::MAX => {}
                0x8000_0000.. => copied(data, at, bytes),
                number => {
                    let now = std::slice::from_raw_parts_mut(at, bytes);
                    (self.combine)(number, now, std::slice::from_raw_parts(data, bytes));
                }
            }
        }
        reply.done.store(slot.serial.load(Relaxed), Release);
        slot.state.store(state & !3 | OPEN, Release);
    }
    /// The turn of a slot that this process has claimed.
    fn claim(&self, slot: &Slot) -> Option<u64> {
        let mut patience = self.patience();
        loop {
            let state = slot.state.load(Relaxed);
            let claimed = ((state >> 2) + 1) << 2 | CLAIMED;
            match state & 3 {
                OPEN if slot.state.compare_exchange(state, claimed, Acquire, Relaxed).is_ok() => {
                    return Some(claimed >> 2);
                }
                AWAY => return None,
                _ => _ = self.serve(),
            }
            if patience.is_over() {
                return None;
            }
        }
    }
    fn patience(&self) -> Patience {
        Patience { tries: 0, since: 0, limit_ns: self.limit_ns }
    }
    /// Asks a process; whether it did the work. It did not if it does not poll, or has ended, as `lives` then says.
    ///
    /// # Safety
    /// The address is that process's to read, and to write unless nothing is done there. The bytes here are there, and do not
    /// overlap.
    pub(crate) unsafe fn ask(&self, of: u32, work: &Work, lives: impl Fn() -> bool) -> bool {
        let slot = self.slot(of);
        let most = if matches!(work.how, How::Combine(_)) { MOST } else { COPIED };
        if work.bytes == 0 || work.bytes > most {
            return false;
        }
        let Some(turn) = self.claim(slot) else { return false };
        let reply = &self.slot(self.own).reply;
        let serial = reply.done.load(Relaxed).wrapping_add(1);
        slot.at.store(work.at, Relaxed);
        slot.bytes.store(work.bytes as u32, Relaxed);
        slot.how.store(work.how.number(), Relaxed);
        slot.asker.store(self.own | if work.into.is_null() { 0 } else { WANTS }, Relaxed);
        slot.serial.store(serial, Relaxed);
        if !work.from.is_null() {
            // SAFETY: the bytes are there, and there is room for them in the slot, which this process has claimed.
            unsafe { copied(work.from, slot.data.get().cast(), work.bytes) };
        }
        slot.state.store(turn << 2 | POSTED, Release);
        let is_done = || reply.done.load(Acquire) == serial;
        let mut patience = self.patience();
        while !is_done() {
            self.serve();
            if patience.is_over() {
                if self.withdraws(slot, turn, is_done, lives) {
                    return false;
                }
                break;
            }
        }
        if !work.into.is_null() {
            // SAFETY: as above; the process that was asked has written the reply.
            unsafe { copied(reply.data.get().cast(), work.into, work.bytes) };
        }
        true
    }
    /// Takes a request back; `false`: it is done.
    #[cold]
    fn withdraws(&self, slot: &Slot, turn: u64, is_done: impl Fn() -> bool, lives: impl Fn() -> bool) -> bool {
        let [posted, away] = [POSTED, AWAY].map(|phase| turn << 2 | phase);
        let was_posted = slot.state.compare_exchange(posted, away, SeqCst, Relaxed).is_ok();
        let mut tries = 0u32;
        loop {
            // Looked at in this order: a reply is not missed.
            let dropped = was_posted && slot.taken.0.load(SeqCst) != turn << 1;
            if is_done() || dropped {
                return !is_done();
            }
            tries += 1;
            if tries.is_multiple_of(LONG) {
                if !lives() {
                    return true;
                }
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }
}

/// Copies bytes. Most are one word, for which a call of a function takes longer than its copy.
///
/// # Safety
/// As [`std::ptr::copy_nonoverlapping`].
#[inline(always)]
unsafe fn copied(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: as the caller promises.
    unsafe {
        match bytes {
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            _ => std::ptr::copy_nonoverlapping(from, to, bytes),
        }
    }
}
