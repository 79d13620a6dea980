//! What processes do one at a time to memory that they share, and a lock that many may hold together or one alone: words in
//! that memory. A process that dies with either held takes its job with it.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU32, Ordering};

/// Tries before a core is given to others.
const TRIES: u32 = 64;
/// Looks in vain at a lock before those who came later must wait.
const PATIENCE: u32 = 64;
/// Looks at shared memory before a core is given to others.
const LOOKS: u32 = 32;
/// The lock is held by one alone.
const ALONE: u32 = u32::MAX;

/// The program has looked at memory that ranks share. It may do so until another rank has stored something, which may need
/// this core for that: after some looks it has it.
pub fn looked() {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.load(Ordering::Relaxed).wrapping_add(1);
    COUNT.store(count, Ordering::Relaxed);
    if count.is_multiple_of(LOOKS) {
        std::thread::yield_now();
    }
}

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
    /// How many have waited for long. Only they may take it: who takes it again and again would keep others out for ever.
    Starved,
}

/// Wants a latch's lock, until it has it.
#[derive(Debug)]
pub struct Wish {
    latch: Latch,
    alone: bool,
    vain: u32,
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
    /// Wants the lock, alone or together with others. What is returned must be granted in the end.
    pub fn wants(self, alone: bool) -> Wish {
        if alone {
            self.word(Word::Wishes).fetch_add(1, Ordering::Relaxed);
        }
        Wish { latch: self, alone, vain: 0 }
    }
    /// Gives it back.
    pub fn gives_back(&self) {
        let less = |count: u32| Some(if count == ALONE { 0 } else { count.saturating_sub(1) });
        // Never refused.
        let _ = self.word(Word::Holders).fetch_update(Ordering::Release, Ordering::Relaxed, less);
    }
}

impl Wish {
    /// Takes the lock if it is free for this one; whether it was. To be asked again until it is.
    pub fn is_granted(&mut self) -> bool {
        let starved = self.latch.word(Word::Starved);
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
        let (holders, wishes) = (self.latch.word(Word::Holders), self.latch.word(Word::Wishes));
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

    fn latch(words: &mut [u32; 16]) -> Latch {
        // SAFETY: the words outlive it and are its alone.
        unsafe { Latch::at(words.as_mut_ptr().cast()) }
    }

    /// Whether a new wish is granted at once; one that is not stays and counts.
    fn takes(latch: Latch, alone: bool) -> bool {
        latch.wants(alone).is_granted()
    }

    #[test]
    fn who_wants_it_alone_comes_before_those_who_share_it() {
        let mut words = [0; 16];
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

    /// Whoever asks only while another holds it, which takes it again at once, gets it in the end.
    #[test]
    fn nobody_is_kept_out_for_ever() {
        for alone in [true, false] {
            let mut words = [0; 16];
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

    /// Those that share it wait while one wants it alone, but not for ever, when such wishes never end.
    #[test]
    fn wishes_to_have_it_alone_do_not_starve_those_who_share_it() {
        let mut words = [0; 16];
        let latch = latch(&mut words);
        let (mut shares, mut alone) = (latch.wants(false), latch.wants(true));
        assert!((0..PATIENCE).all(|_| !shares.is_granted()));
        assert!(!alone.is_granted() && shares.is_granted());
        latch.gives_back();
        assert!(alone.is_granted());
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
