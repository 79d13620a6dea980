//! A mailbox: shared memory of a rank's process and its desk, in which each waits for the other's words in turn.
#![allow(unsafe_code)]

use crate::name;
use crate::sys::{self, SharedMemory};
use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Bytes of a mailbox.
const BYTES: usize = 16 << 10;
/// Words that a sentence has room for.
pub(crate) const WORDS: usize = (BYTES - size_of::<Head>()) / 8;

/// Words of a function's name, or of those that threads are in.
const NAME: usize = 48;

/// Readings of a clock that stands still before time advances by itself, and by how many picoseconds it does at each
/// reading.
const LOOKS: u32 = 10_000;
const LOOK_PS: u64 = 100_000;

/// Whose words are there.
const ASKED: u32 = 1;
const ANSWERED: u32 = 2;

/// What stands before the words.
#[repr(C, align(64))]
pub(crate) struct Head {
    turn: AtomicU32,
    /// The rank's process; 0: it has not come yet.
    process: AtomicU32,
    simulator: AtomicU32,
    /// The simulation is over for this rank: 1, or 2 and the rank that ended it.
    halted: AtomicU32,
    /// The rank's clock in picoseconds.
    clock: AtomicU64,
    /// Picoseconds that the process has slept, beyond that.
    slept: AtomicU64,
    count: AtomicU64,
    /// The function of the library that the program has called.
    within: [AtomicU64; NAME],
}

impl Head {
    pub(crate) fn now(&self) -> u64 {
        self.clock.load(Ordering::Relaxed).saturating_add(self.slept.load(Ordering::Relaxed))
    }
    /// The time that the program reads. A program that reads it again and again waits for the clock. Each reading then
    /// sleeps for [`LOOK_PS`], so that the wait ends.
    pub(crate) fn look(&self, sleep: impl FnOnce(u64)) -> u64 {
        static SEEN: AtomicU64 = AtomicU64::new(u64::MAX);
        static AGAIN: AtomicU32 = AtomicU32::new(0);
        let now = self.now();
        if SEEN.swap(now, Ordering::Relaxed) != now {
            AGAIN.store(0, Ordering::Relaxed);
            return now;
        }
        if AGAIN.load(Ordering::Relaxed) < LOOKS {
            AGAIN.fetch_add(1, Ordering::Relaxed);
            return now;
        }
        sleep(LOOK_PS);
        let now = self.now();
        SEEN.store(now, Ordering::Relaxed);
        now
    }
    /// The process sleeps for this many picoseconds.
    pub(crate) fn sleep(&self, ps: u64) {
        self.slept.fetch_add(ps, Ordering::Relaxed);
    }
    /// That of a rank, mapped for as long as the process lives.
    pub(crate) fn lasting(path: &str, rank: u32, ranks: u32) -> io::Result<&'static Head> {
        let memory = SharedMemory::open(path, ranks as usize * BYTES)?;
        let start = memory.start().wrapping_add(rank as usize * BYTES);
        std::mem::forget(memory);
        // SAFETY: as in `Mailbox::head`; the memory is never unmapped, and the rank is one of this many.
        Ok(unsafe { &*start.cast::<Head>() })
    }
}

/// All mailboxes of a job.
#[derive(Clone)]
pub(crate) struct Mailboxes {
    memory: Rc<SharedMemory>,
    ranks: u32,
}

/// One rank's.
#[derive(Clone)]
pub(crate) struct Mailbox {
    all: Mailboxes,
    rank: u32,
}

impl Mailboxes {
    pub(crate) fn new(ranks: u32) -> io::Result<Mailboxes> {
        let all = Mailboxes { memory: Rc::new(SharedMemory::new(ranks as usize * BYTES)?), ranks };
        for rank in 0..ranks {
            all.of(rank).head().simulator.store(sys::pid() as u32, Ordering::Relaxed);
        }
        Ok(all)
    }
    /// Those at the path that another process states.
    pub(crate) fn open(path: &str, ranks: u32) -> io::Result<Mailboxes> {
        Ok(Mailboxes { memory: Rc::new(SharedMemory::open(path, ranks as usize * BYTES)?), ranks })
    }
    /// Where other processes find them.
    pub(crate) fn path(&self) -> io::Result<String> {
        self.memory.path().ok_or_else(|| io::Error::other("the system has no memory files (memfd)"))
    }
    pub(crate) fn of(&self, rank: u32) -> Mailbox {
        assert!(rank < self.ranks, "rank {rank} of {}", self.ranks);
        Mailbox { all: self.clone(), rank }
    }
}

impl Mailbox {
    fn start(&self) -> *mut u8 {
        self.all.memory.start().wrapping_add(self.rank as usize * BYTES)
    }
    fn head(&self) -> &Head {
        // SAFETY: the memory holds so many mailboxes, is mapped while `self` is there, and consists of atomics that
        // zeros are sound values of.
        unsafe { &*self.start().cast::<Head>() }
    }
    fn words(&self) -> *mut u64 {
        self.start().wrapping_add(size_of::<Head>()).cast()
    }
    /// Puts words there, and lets the other side have its turn.
    fn put(&self, words: &[u64], turn: u32) {
        assert!(words.len() <= WORDS, "a sentence of {} words", words.len());
        // SAFETY: it is this side's turn, so nobody else reads the words; the length was checked.
        unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), self.words(), words.len()) };
        let head = self.head();
        head.count.store(words.len() as u64, Ordering::Relaxed);
        head.turn.store(turn, Ordering::Release);
        sys::wake_at(&head.turn);
    }
    /// Takes the words that are there.
    fn take(&self, into: &mut Vec<u64>) {
        let count = (self.head().count.load(Ordering::Relaxed) as usize).min(WORDS);
        into.clear();
        into.resize(count, 0);
        // SAFETY: it is this side's turn; the count is within the mailbox.
        unsafe { std::ptr::copy_nonoverlapping(self.words(), into.as_mut_ptr(), count) };
    }
    /// Waits for a turn, for this long; whether it came.
    fn wait(&self, due: u32, limit: Duration) -> bool {
        let head = self.head();
        let seen = head.turn.load(Ordering::Acquire);
        if seen == due {
            return true;
        }
        sys::wait_at(&head.turn, seen, Some(limit));
        head.turn.load(Ordering::Acquire) == due
    }

    /// The process says which it is.
    pub(crate) fn arrive(&self) {
        self.head().process.store(sys::pid() as u32, Ordering::Release);
    }
    /// The rank's process, once it has come.
    pub(crate) fn process(&self) -> Option<i32> {
        let process = self.head().process.load(Ordering::Acquire);
        (process != 0).then_some(process as i32)
    }
    /// Whether the simulator is still there.
    pub(crate) fn is_served(&self) -> bool {
        std::path::Path::new("/proc").join(self.head().simulator.load(Ordering::Relaxed).to_string()).exists()
    }
    pub(crate) fn ask(&self, words: &[u64]) {
        self.put(words, ASKED);
    }
    /// The answer, if it comes within the time.
    pub(crate) fn answer_within(&self, limit: Duration, into: &mut Vec<u64>) -> bool {
        let came = self.wait(ANSWERED, limit);
        if came {
            self.take(into);
        }
        came
    }
    /// What the process asks, if it does so within the time.
    pub(crate) fn asked_within(&self, limit: Duration, into: &mut Vec<u64>) -> bool {
        let came = self.wait(ASKED, limit);
        if came {
            self.take(into);
        }
        came
    }
    pub(crate) fn answer(&self, clock: u64, words: &[u64]) {
        self.head().clock.store(clock, Ordering::Relaxed);
        self.put(words, ANSWERED);
    }
    /// The process says which function it is in; of a name that is too long, the beginning.
    pub(crate) fn goes_into(&self, name: &str) {
        name::write(&self.head().within, name);
    }
    /// The function that the process was in when it last waited, if it ever did.
    pub(crate) fn within(&self) -> Option<String> {
        name::read(&self.head().within)
    }
    /// The rank's clock: as of the last answer, and what it has slept since.
    pub(crate) fn clock(&self) -> u64 {
        self.head().now()
    }
    /// The process sleeps for this many picoseconds.
    pub(crate) fn sleeps(&self, ps: u64) {
        self.head().sleep(ps);
    }
    /// What the process has slept since this was last asked.
    pub(crate) fn take_slept(&self) -> u64 {
        match self.head().slept.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.head().slept.swap(0, Ordering::Relaxed),
        }
    }
    /// Ends the simulation for this rank; `by`: because that rank failed. The first reason stays.
    pub(crate) fn halt(&self, by: Option<u32>) {
        let head = self.head();
        let word = by.map_or(1, |rank| rank.saturating_add(2));
        let _ = head.halted.compare_exchange(0, word, Ordering::Release, Ordering::Relaxed);
        sys::wake_at(&head.turn);
    }
    /// Whether the simulation is over for this rank, and which rank ended it, if one did.
    pub(crate) fn halted(&self) -> Option<Option<u32>> {
        match self.head().halted.load(Ordering::Acquire) {
            0 => None,
            word => Some(word.checked_sub(2)),
        }
    }
}
