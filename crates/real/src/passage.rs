//! The passage into a library that one thread of a process has at a time. Threads on real memory and connections have it as they
//! come; those of a rank on a simulated fabric take turns ([`hotlink_seats::Turns`]).

use crate::sys;
use hotlink_seats::{Lends, Want, turns};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

static OWNER: AtomicU64 = AtomicU64::new(0);
/// No thread's number: only those that wait may enter.
const HANDED_OVER: u64 = u64::MAX;
/// Threads that wait, and those of them that sleep.
static WAITING: AtomicU32 = AtomicU32::new(0);
static ASLEEP: AtomicU32 = AtomicU32::new(0);
static BED: AtomicU32 = AtomicU32::new(0);
/// Looks before a thread sleeps, or comes back from letting others in: on cores of their own they meet sooner.
const SPINS: u32 = 200;
/// The longest nap. A thread that leaves checks for sleepers without a fence, for which each call would pay, and misses
/// some.
const NAP: Duration = Duration::from_millis(1);
static MET: AtomicBool = AtomicBool::new(false);

/// This thread's number.
pub fn thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static NUMBER: u64 = NEXT.fetch_add(1, Ordering::Relaxed));
    NUMBER.with(|number| *number)
}

/// Whether this thread has the passage.
#[inline]
pub fn is_own() -> bool {
    OWNER.load(Ordering::Relaxed) == thread()
}

/// This thread, the only one so far, has it.
pub fn take() {
    OWNER.store(thread(), Ordering::Relaxed);
}

/// Threads have met here: one that waits within looks once before others may enter.
pub fn have_met() -> bool {
    MET.load(Ordering::Relaxed)
}

/// Waits until this thread has it, which had not.
#[inline]
pub fn enter() {
    match turns() {
        None => {
            enter_as(thread());
            // They may have begun meanwhile.
            if turns().is_some() {
                let _ = OWNER.compare_exchange(thread(), 0, Ordering::Relaxed, Ordering::Relaxed);
                enter();
            }
        }
        Some(turns) => {
            if turns.enter() {
                MET.store(true, Ordering::Relaxed);
            }
            take();
        }
    }
}

#[inline]
fn enter_as(me: u64) {
    if OWNER.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_err() {
        wait_for_it(me);
    }
}

/// The same if it is free.
pub fn try_enter() -> bool {
    match turns() {
        None => OWNER.compare_exchange(0, thread(), Ordering::Acquire, Ordering::Relaxed).is_ok(),
        Some(turns) => {
            let free = turns.try_enter();
            if free {
                take();
            }
            free
        }
    }
}

#[cold]
fn wait_for_it(me: u64) {
    MET.store(true, Ordering::Relaxed);
    WAITING.fetch_add(1, Ordering::Relaxed);
    let takes = |seen| OWNER.compare_exchange(seen, me, Ordering::Acquire, Ordering::Relaxed).is_ok();
    let mut tries = 0;
    while !(is_free() && (takes(HANDED_OVER) || takes(0))) {
        tries += 1;
        if tries < SPINS { std::hint::spin_loop() } else { sleep() }
    }
    WAITING.fetch_sub(1, Ordering::Relaxed);
}

fn is_free() -> bool {
    [0, HANDED_OVER].contains(&OWNER.load(Ordering::Relaxed))
}

/// Until a thread has left.
fn sleep() {
    let seen = BED.load(Ordering::Relaxed);
    ASLEEP.fetch_add(1, Ordering::SeqCst);
    if !is_free() {
        sys::wait_at(&BED, seen, Some(NAP));
    }
    ASLEEP.fetch_sub(1, Ordering::Relaxed);
}

/// This thread leaves.
#[inline]
pub fn leave() {
    match turns() {
        None => leave_to(0),
        Some(turns) => {
            OWNER.store(0, Ordering::Relaxed);
            turns.leave();
        }
    }
}

#[inline]
fn leave_to(whom: u64) {
    OWNER.store(whom, Ordering::Release);
    if ASLEEP.load(Ordering::Relaxed) != 0 {
        BED.fetch_add(1, Ordering::Release);
        sys::wake_at(&BED);
    }
}

/// Whether others wait that can be let in: where turns are taken, they are given.
#[inline]
pub fn is_wanted() -> bool {
    WAITING.load(Ordering::Relaxed) != 0
}

/// Lets one of those in that wait, and has the passage again afterwards.
pub fn lend() {
    leave_to(HANDED_OVER);
    (0..SPINS).any(|_| {
        std::thread::yield_now();
        OWNER.load(Ordering::Relaxed) != HANDED_OVER
    });
    let _ = OWNER.compare_exchange(HANDED_OVER, 0, Ordering::Relaxed, Ordering::Relaxed);
    enter_as(thread());
}

/// A call on a simulated fabric waits, where threads take turns; `false`: they do not. `alone`: no other thread may enter meanwhile.
pub fn wait(want: Want, alone: bool, lends: Lends<'_>) -> bool {
    let Some(turns) = turns() else { return false };
    if alone {
        turns.wait_within(want, lends);
    } else {
        OWNER.store(0, Ordering::Relaxed);
        turns.wait(want, lends);
        take();
    }
    true
}

/// Whether another thread may be within, in addition to this one's call. Where turns are taken, the number of threads
/// is known.
pub fn is_crowded() -> bool {
    turns().is_none_or(|turns| turns.are_several())
}
