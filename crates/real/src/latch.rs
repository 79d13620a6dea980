//! Operations that processes do one at a time on memory that they share, and a lock that many may hold together or one
//! alone. Both are words in that memory. A process that dies with either held takes its job with it.
//!
//! Most such operations change one word by one step of the processor ([`Word`]), which nothing can interrupt. Work of
//! several steps must keep those out ([`Latch::alone`]). It is rare, so it bears all the cost. It closes the part to
//! steps and orders all processes' memory, by a system call. A step marks that it is under way by a plain store and
//! checks by a plain load whether the part is closed. If it is, the step takes the latch, too, which opens the part
//! again after some steps.
#![allow(unsafe_code)]

use crate::sys;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, compiler_fence};

/// Tries before a core is given to others.
const TRIES: u32 = 64;
/// Looks in vain at a lock before those who came later must wait.
const PATIENCE: u32 = 64;
/// Polls of shared memory before the core is given to others, where ranks share cores, and where each has its own.
const LOOKS: u32 = 32;
const LOOKS_ALONE: u32 = 1024;
/// The lock is held by one alone.
const ALONE: u32 = u32::MAX;
/// Steps that take the latch before a part is open to steps again: closing it takes as long as some hundreds of them.
const CLOSED: u32 = 1024;

static LOOKS_NOW: AtomicU32 = AtomicU32::new(LOOKS);

/// This process has a core of its own, or not, which is taken for granted at first.
pub(crate) fn shares_core(shares: bool) {
    LOOKS_NOW.store(if shares { LOOKS } else { LOOKS_ALONE }, Ordering::Relaxed);
}

/// The program has looked at memory that ranks share. It may do so until another rank has stored something, which may need
/// this core for that: after some looks it has it.
#[inline]
pub fn looked() {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.load(Ordering::Relaxed) + 1;
    let due = count >= LOOKS_NOW.load(Ordering::Relaxed);
    COUNT.store(if due { 0 } else { count }, Ordering::Relaxed);
    if due {
        std::thread::yield_now();
    }
}

/// Bytes that processes change by one step of the processor.
pub trait Word: Copy + Default + Eq + AsRef<[u8]> + AsMut<[u8]> {
    /// Adds a whole number, wrapping; what was there.
    ///
    /// # Safety
    /// The word is there, aligned to its size, and changed by such steps alone, or where [`Latch::alone`] keeps those out.
    unsafe fn add(self, at: *mut u8) -> Self;
    /// Changes the word, or leaves it if there is nothing to change; what was there.
    ///
    /// # Safety
    /// As above.
    unsafe fn change(at: *mut u8, change: impl FnMut(Self) -> Option<Self>) -> Self;
}

macro_rules! word {
    ($bytes:literal, $number:ty, $atomic:ident) => {
        impl Word for [u8; $bytes] {
            #[inline(always)]
            unsafe fn add(self, at: *mut u8) -> Self {
                // SAFETY: as the caller promises.
                let word = unsafe { $atomic::from_ptr(at.cast()) };
                word.fetch_add(<$number>::from_ne_bytes(self), Ordering::SeqCst).to_ne_bytes()
            }
            #[inline(always)]
            unsafe fn change(at: *mut u8, mut change: impl FnMut(Self) -> Option<Self>) -> Self {
                // SAFETY: as the caller promises.
                let word = unsafe { $atomic::from_ptr(at.cast()) };
                let change = |now: $number| change(now.to_ne_bytes()).map(<$number>::from_ne_bytes);
                let was = word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, change);
                was.unwrap_or_else(|unchanged| unchanged).to_ne_bytes()
            }
        }
    };
}

word!(1, u8, AtomicU8);
word!(2, u16, AtomicU16);
word!(4, u32, AtomicU32);
word!(8, u64, AtomicU64);

/// The latches of the parts of a memory, one for each of the processes that share it.
#[derive(Clone, Copy, Debug)]
pub struct Latches {
    start: *mut u8,
    own: u32,
    all: u32,
    by_steps: bool,
}

impl Latches {
    /// Bytes for each part: a line of the cache for its latch, and one for the mark of its process.
    pub const BYTES: u64 = 2 * LINE as u64;

    /// The latches at an address, for process `own` of `all`. `by_steps`: all of them change words by steps, as each has
    /// found that it can ([`has_steps`]).
    ///
    /// # Safety
    /// There are [`Latches::BYTES`] for each at `start`, aligned to words, that all users share. They were zero at
    /// first, outlive the users and are reached by latches alone.
    pub unsafe fn at(start: *mut u8, own: u32, all: u32, by_steps: bool) -> Latches {
        Latches { start, own, all, by_steps }
    }
    /// The latch of a part, which there must be.
    #[inline(always)]
    pub fn of(self, part: u32) -> Latch {
        debug_assert!(part < self.all);
        Latch { words: Words(self.line(part)), latches: self }
    }
    #[inline(always)]
    fn line(&self, number: u32) -> *mut u32 {
        // In one block, as `at` has it.
        self.start.wrapping_add(number as usize * LINE).cast()
    }
    /// Whether a process is at a step, in any of the parts.
    #[inline(always)]
    fn mark(&self, of: u32) -> &AtomicU32 {
        // SAFETY: who made them keeps what `at` asks for.
        unsafe { AtomicU32::from_ptr(self.line(self.all + of)) }
    }
}

/// Whether the system lets this process keep others from steps, and them it; see the module.
pub fn has_steps() -> bool {
    sys::can_order_everywhere()
}

/// A line of the cache.
const LINE: usize = 64;

/// The words of one. A process that waits for its lock keeps no other state of it.
#[derive(Clone, Copy, Debug)]
struct Words(*mut u32);

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Latch {
    words: Words,
    latches: Latches,
}

/// The words of a latch.
#[derive(Clone, Copy)]
enum Place {
    /// A process is at work.
    Busy,
    /// How many hold the lock, or [`ALONE`].
    Holders,
    /// How many wait to have it alone: others come after those.
    Wishes,
    /// How many have waited for long. Only they may take it. A process that takes it again and again would keep others
    /// out forever.
    Starved,
    /// How many steps must take the latch before the part is open to them: at 0 it is.
    Closed,
}

/// Wants a latch's lock, until it has it.
#[derive(Debug)]
pub struct Wish {
    words: Words,
    alone: bool,
    vain: u32,
}

impl Words {
    #[inline(always)]
    fn word(&self, place: Place) -> &AtomicU32 {
        // SAFETY: who made the latch keeps what `Latches::at` asks for.
        unsafe { AtomicU32::from_ptr(self.0.add(place as usize)) }
    }
}

impl Latch {
    #[inline(always)]
    fn word(&self, place: Place) -> &AtomicU32 {
        self.words.word(place)
    }
    /// Adds `more` to a word of the part by one step, as whole numbers, or changes it as `change` says; what was there.
    /// `None`: nothing was done, because there are no such steps at this place.
    ///
    /// # Safety
    /// The word is in the part, and changed so alone, or by what is done [`Latch::alone`].
    #[inline(always)]
    pub unsafe fn change<W: Word>(
        &self,
        at: *mut u8,
        more: Option<W>,
        change: impl FnMut(W) -> Option<W>,
    ) -> Option<W> {
        if !self.latches.by_steps || !at.addr().is_multiple_of(size_of::<W>()) {
            return None;
        }
        Some(self.step(|| match more {
            // SAFETY: as the caller promises; it is aligned.
            Some(more) => unsafe { more.add(at) },
            // SAFETY: as above.
            None => unsafe { W::change(at, change) },
        }))
    }
    #[inline(always)]
    fn step<T>(&self, step: impl FnOnce() -> T) -> T {
        let (mark, closed) = (self.latches.mark(self.latches.own), self.word(Place::Closed));
        mark.store(1, Ordering::Relaxed);
        // The processor may look before it stores. `close` has it do otherwise when that matters.
        compiler_fence(Ordering::SeqCst);
        if closed.load(Ordering::Acquire) != 0 {
            mark.store(0, Ordering::Release);
            return self.late(step);
        }
        let result = step();
        mark.store(0, Ordering::Release);
        result
    }
    #[cold]
    fn late<T>(&self, step: impl FnOnce() -> T) -> T {
        self.latched(|| {
            let closed = self.word(Place::Closed);
            closed.store(closed.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed);
            step()
        })
    }
    /// Does something that no other process's work of this kind interrupts, and no step.
    pub fn alone<T>(&self, work: impl FnOnce() -> T) -> T {
        self.latched(|| {
            if self.latches.by_steps {
                self.close();
            }
            work()
        })
    }
    /// Steps that begin from now on take the latch, and those that have begun are over.
    fn close(&self) {
        if self.word(Place::Closed).swap(CLOSED, Ordering::Relaxed) != 0 {
            return;
        }
        sys::order_everywhere();
        for mark in (0..self.latches.all).map(|rank| self.latches.mark(rank)) {
            wait_until(|| mark.load(Ordering::Acquire) == 0);
        }
    }
    fn latched<T>(&self, work: impl FnOnce() -> T) -> T {
        let busy = self.word(Place::Busy);
        wait_until(|| busy.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok());
        let result = work();
        busy.store(0, Ordering::Release);
        result
    }
    /// Asks for the lock, alone or together with others. The returned wish must be granted in the end.
    #[inline]
    pub fn wants(&self, alone: bool) -> Wish {
        if alone {
            self.word(Place::Wishes).fetch_add(1, Ordering::Relaxed);
        }
        Wish { words: self.words, alone, vain: 0 }
    }
    /// Gives it back.
    #[inline]
    pub fn gives_back(&self) {
        let less = |count: u32| Some(if count == ALONE { 0 } else { count.saturating_sub(1) });
        // Never refused.
        let _ = self.word(Place::Holders).fetch_update(Ordering::Release, Ordering::Relaxed, less);
    }
}

/// Looks until it holds.
fn wait_until(mut holds: impl FnMut() -> bool) {
    let mut tries = 0u32;
    while !holds() {
        tries += 1;
        if tries.is_multiple_of(TRIES) { std::thread::yield_now() } else { std::hint::spin_loop() }
    }
}

impl Wish {
    /// Takes the lock if it is free for this one; whether it was. To be asked again until it is.
    pub fn is_granted(&mut self) -> bool {
        let starved = self.words.word(Place::Starved);
        let starves = self.vain >= PATIENCE;
        if (starves || starved.load(Ordering::Relaxed) == 0) && self.takes(starves) {
            starved.fetch_sub(u32::from(starves), Ordering::Relaxed);
            return true;
        }
        self.vain = self.vain.saturating_add(1);
        starved.fetch_add(u32::from(self.vain == PATIENCE), Ordering::Relaxed);
        false
    }
    fn takes(&self, starves: bool) -> bool {
        let (holders, wishes) = (self.words.word(Place::Holders), self.words.word(Place::Wishes));
        if self.alone {
            let free = holders.compare_exchange(0, ALONE, Ordering::Acquire, Ordering::Relaxed).is_ok();
            wishes.fetch_sub(u32::from(free), Ordering::Relaxed);
            return free;
        }
        let free = |count| count != ALONE && (starves || wishes.load(Ordering::Relaxed) == 0);
        let more = |count: u32| free(count).then(|| count + 1);
        holders.fetch_update(Ordering::Acquire, Ordering::Relaxed, more).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latch(words: &mut [u32; 32]) -> Latch {
        // SAFETY: the words outlive it and are its alone.
        unsafe { Latches::at(words.as_mut_ptr().cast(), 0, 1, false) }.of(0)
    }

    /// Whether a new wish is granted at once; one that is not stays and counts.
    fn takes(latch: Latch, alone: bool) -> bool {
        latch.wants(alone).is_granted()
    }

    #[test]
    fn who_wants_it_alone_comes_before_those_who_share_it() {
        let mut words = [0; 32];
        let latch = latch(&mut words);
        assert!(takes(latch, false) && takes(latch, false));
        let mut alone = latch.wants(true);
        assert!(!alone.is_granted() && !takes(latch, false));
        latch.gives_back();
        latch.gives_back();
        assert!(!takes(latch, false) && alone.is_granted() && !takes(latch, false));
        latch.gives_back();
        assert!(takes(latch, false));
    }

    /// A process that asks only while another holds it gets it in the end, though the other takes it again at once.
    #[test]
    fn nobody_is_kept_out_for_ever() {
        for alone in [true, false] {
            let mut words = [0; 32];
            let latch = latch(&mut words);
            let mut waits = latch.wants(alone);
            for _ in 0..PATIENCE {
                assert!(takes(latch, true) && !waits.is_granted());
                latch.gives_back();
            }
            let mut again = latch.wants(true);
            assert!(!again.is_granted() && waits.is_granted() && !again.is_granted());
            latch.gives_back();
            assert!(again.is_granted(), "and then the others");
        }
    }

    /// Those that share it wait while one wants it alone, but not forever, when such wishes never end.
    #[test]
    fn wishes_to_have_it_alone_do_not_starve_those_who_share_it() {
        let mut words = [0; 32];
        let latch = latch(&mut words);
        let (mut shares, mut alone) = (latch.wants(false), latch.wants(true));
        assert!((0..PATIENCE).all(|_| !shares.is_granted()));
        assert!(!alone.is_granted() && shares.is_granted());
        latch.gives_back();
        assert!(alone.is_granted());
    }

    /// Threads play processes. One adds in two parts, which only the latch makes one step. Others add by steps, or by
    /// swaps of a word that is not aligned. A part opens and closes again and again.
    #[test]
    fn nothing_is_lost_between_steps_and_work_alone() {
        const THREADS: u32 = 3;
        for by_steps in [false, has_steps()] {
            let mut words = [0u32; 32 * THREADS as usize];
            let mut part = [0u64; 3];
            let (at, part_at) = (words.as_mut_ptr() as usize, part.as_mut_ptr() as usize);
            let adds = move |own: u32| {
                // SAFETY: the words outlive the threads and are theirs alone.
                let latch = unsafe { Latches::at(at as *mut u8, own, THREADS, by_steps) }.of(1);
                let (first, odd) = (part_at as *mut u8, (part_at + 9) as *mut u8);
                // SAFETY: both are in the part, which is changed here alone.
                let apart = |word: *mut u8, looks: u32| unsafe {
                    let word = word.cast::<u64>();
                    let sum = word.read_unaligned() + 1;
                    (0..looks).for_each(|_| std::hint::spin_loop());
                    word.write_unaligned(sum);
                };
                let more = |old: [u8; 8]| Some((u64::from_ne_bytes(old) + 1).to_ne_bytes());
                for round in 0..20_000 {
                    let add = (round % 2 == 0).then_some(1u64.to_ne_bytes());
                    let long = own == 0 && round % 1000 == 0;
                    // SAFETY: as above.
                    if long || unsafe { latch.change(first, add, more) }.is_none() {
                        latch.alone(|| apart(first, 100 * u32::from(long)));
                    }
                    if round % 500 == 0 {
                        // SAFETY: as above.
                        assert!(unsafe { latch.change(odd, None, more) }.is_none(), "it is not aligned");
                        latch.alone(|| apart(odd, 0));
                    }
                }
            };
            std::thread::scope(|scope| (0..THREADS).for_each(|own| drop(scope.spawn(move || adds(own)))));
            let odd =
                u64::from_ne_bytes(std::array::from_fn(|byte| part[1 + (byte + 1) / 8].to_ne_bytes()[(byte + 1) % 8]));
            assert_eq!((part[0], odd), (u64::from(THREADS) * 20_000, u64::from(THREADS) * 40));
        }
    }

    #[test]
    fn words_of_every_size_are_changed_by_steps() {
        fn changes<W: Word + std::fmt::Debug>(add: W, first: W, sum: W) {
            let mut words = [0u32; 32];
            let mut word = [0u64; 1];
            // SAFETY: the words outlive it and are its alone.
            let latch = unsafe { Latches::at(words.as_mut_ptr().cast(), 0, 1, true) }.of(0);
            let at = word.as_mut_ptr().cast::<u8>();
            // SAFETY: the word is there, and changed here alone.
            unsafe {
                assert_eq!(latch.change(at, None, |_| Some(first)), Some(W::default()));
                assert_eq!(latch.change(at, Some(add), |_| None), Some(first));
                assert_eq!(latch.change(at, None, |_: W| None), Some(sum));
            }
            assert_eq!(words, [0; 32], "neither a mark nor a latch is left");
        }
        changes([3], [254], [1]);
        changes(3u16.to_ne_bytes(), 65534u16.to_ne_bytes(), 1u16.to_ne_bytes());
        changes(3u32.to_ne_bytes(), 5u32.to_ne_bytes(), 8u32.to_ne_bytes());
        changes(3u64.to_ne_bytes(), 5u64.to_ne_bytes(), 8u64.to_ne_bytes());
    }
}
