//! What processes do one at a time to memory that they share, and a lock that many may hold together or one alone: words in
//! that memory. A process that dies with either held takes its job with it.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU32, Ordering};

/// Tries before a core is given to others.
const TRIES: u32 = 64;
/// The lock is held by one alone.
const ALONE: u32 = u32::MAX;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Latch {
    words: *mut u32,
}

/// The words of a latch.
#[derive(Clone, Copy)]
enum Word {
    /// Somebody is at work.
    Busy,
    /// How many hold the lock, or [`ALONE`].
    Holders,
    /// How many wait to have it alone: others come after those.
    Wishes,
}

impl Latch {
    /// Bytes of one: a line of the cache.
    pub const BYTES: u64 = 64;

    /// The latch at an address.
    ///
    /// # Safety
    /// [`Latch::BYTES`] there, aligned to words, are shared by all who use it, were zero at first, outlive it and are
    /// reached by latches alone.
    pub unsafe fn at(start: *mut u8) -> Latch {
        Latch { words: start.cast() }
    }
    fn word(&self, word: Word) -> &AtomicU32 {
        // SAFETY: who made it keeps what `at` asks for.
        unsafe { AtomicU32::from_ptr(self.words.add(word as usize)) }
    }
    /// Does something that no other process's work of this kind interrupts.
    pub fn alone<T>(&self, work: impl FnOnce() -> T) -> T {
        let busy = self.word(Word::Busy);
        let mut tries = 0u32;
        while busy.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            tries += 1;
            if tries.is_multiple_of(TRIES) { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
        let result = work();
        busy.store(0, Ordering::Release);
        result
    }
    /// Says before the first [`Latch::takes`] that it is wanted.
    pub fn wants(&self, alone: bool) {
        if alone {
            self.word(Word::Wishes).fetch_add(1, Ordering::Relaxed);
        }
    }
    /// Takes the lock if it is free; whether it was.
    pub fn takes(&self, alone: bool) -> bool {
        let (holders, wishes) = (self.word(Word::Holders), self.word(Word::Wishes));
        if alone {
            let free = holders.compare_exchange(0, ALONE, Ordering::Acquire, Ordering::Relaxed).is_ok();
            wishes.fetch_sub(u32::from(free), Ordering::Relaxed);
            return free;
        }
        let more = |count: u32| (count != ALONE && wishes.load(Ordering::Relaxed) == 0).then(|| count + 1);
        holders.fetch_update(Ordering::Acquire, Ordering::Relaxed, more).is_ok()
    }
    /// Gives it back.
    pub fn gives_back(&self) {
        let less = |count: u32| Some(if count == ALONE { 0 } else { count.saturating_sub(1) });
        // Never refused.
        let _ = self.word(Word::Holders).fetch_update(Ordering::Release, Ordering::Relaxed, less);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latch(words: &mut [u32; 16]) -> Latch {
        // SAFETY: the words outlive it and are its alone.
        unsafe { Latch::at(words.as_mut_ptr().cast()) }
    }

    #[test]
    fn who_wants_it_alone_comes_before_those_who_share_it() {
        let mut words = [0; 16];
        let latch = latch(&mut words);
        assert!(latch.takes(false) && latch.takes(false));
        latch.wants(true);
        assert!(!latch.takes(true) && !latch.takes(false));
        latch.gives_back();
        latch.gives_back();
        assert!(!latch.takes(false) && latch.takes(true) && !latch.takes(false));
        latch.gives_back();
        assert!(latch.takes(false));
    }

    #[test]
    fn nothing_is_lost_between_threads() {
        let mut words = [0u32; 16];
        let at = words.as_mut_ptr() as usize;
        let count = std::sync::atomic::AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    // SAFETY: as above.
                    let latch = unsafe { Latch::at(at as *mut u8) };
                    for _ in 0..1000 {
                        // Read and written apart, which only the latch makes one step.
                        latch.alone(|| count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed));
                    }
                });
            }
        });
        assert_eq!(count.load(Ordering::Relaxed), 4000);
    }
}
