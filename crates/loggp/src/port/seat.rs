//! One rank, and what is under way to it.

use super::work::Work;
use hotlink_event::NONE;
use hotlink_port::blocks::Blocks;
use hotlink_port::{Busy, Head, Memory, Rank};
use std::collections::BTreeMap;

/// Where a rank's program stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It runs, or has not begun.
    Running,
    /// It has suspended, and its processor still does what it asked for.
    Working,
    /// It waits for an event or for its time.
    Waiting,
    /// It is about to run.
    Ready,
    /// It has ended.
    Over,
}

/// A message under way, or in its receiver's inbox.
pub(super) struct Flight {
    pub from: Rank,
    pub to: Rank,
    pub head: Head,
    pub bytes: u64,
    /// The payload; `None`: a ghost's.
    pub data: Option<Vec<u8>>,
    /// The sender's processor moves it before it goes.
    pub is_carried: bool,
    /// Next in an inbox, or next free place.
    pub next: u32,
}

/// One rank.
pub(super) struct Seat {
    /// The processor's clock. What is asked of it while `work` is not empty comes after that.
    pub now: u64,
    pub until: u64,
    pub state: State,
    /// The program said that it has nothing to do until an event.
    pub idle: bool,
    pub closed: bool,
    /// When its adapter may send and receive again, and when the last message that it received was whole.
    pub send_free: u64,
    pub recv_free: u64,
    pub last_whole: u64,
    /// Messages that left the program and not yet the adapter.
    pub unsent: u32,
    /// Wakes that are due at this time need not be asked for again.
    pub wake_at: u64,
    /// Messages to be polled.
    pub first: u32,
    pub last: u32,
    /// The message whose payload can be taken.
    pub current: u32,
    pub blocks: Blocks,
    /// What its processor has yet to do, on machines where that cannot be said in advance.
    pub work: Option<Box<Work>>,
    /// How far apart in bytes uses of the same memory are, on machines where that matters.
    pub reuse: Option<Box<Reuse>>,
    /// What it waits for, as it says: peer and tag.
    pub awaits: Option<(Option<Rank>, Option<u32>)>,
    /// How long its processor, and its adapter's sending side, were busy.
    pub busy: Busy,
    /// The same of the adapter's receiving side.
    pub took_ps: u64,
}

impl Seat {
    /// How long its devices were busy, its adapter on the busier side.
    pub fn all_busy(&self) -> Busy {
        self.busy.with_engine(self.took_ps)
    }
    pub fn new(is_carried: bool, forgets_memory: bool) -> Seat {
        Seat {
            now: 0,
            until: 0,
            state: State::Running,
            idle: false,
            closed: false,
            send_free: 0,
            recv_free: 0,
            last_whole: 0,
            unsent: 0,
            wake_at: u64::MAX,
            first: NONE,
            last: NONE,
            current: NONE,
            blocks: Blocks::default(),
            work: is_carried.then(Box::default),
            reuse: (!forgets_memory).then(Box::default),
            awaits: None,
            busy: Busy::default(),
            took_ps: 0,
        }
    }
    pub fn has_news(&self) -> bool {
        self.first != NONE
    }
    pub fn is_working(&self) -> bool {
        self.work.as_ref().is_some_and(|work| !work.is_done())
    }
    /// The program uses memory: how many bytes it went through since it last used that.
    pub fn uses(&mut self, memory: Memory, offset: u64, bytes: u64) -> u64 {
        self.reuse.as_mut().map_or(0, |reuse| reuse.uses((memory.0, offset), bytes))
    }
    /// The program goes through memory of its own.
    pub fn streams(&mut self, bytes: u64) {
        if let Some(reuse) = &mut self.reuse {
            reuse.through = reuse.through.saturating_add(bytes);
        }
    }
}

/// What a program goes through before it comes back to the same bytes: its working set.
#[derive(Debug, Default)]
pub(super) struct Reuse {
    /// Bytes gone through.
    through: u64,
    /// Where each block was last used, by its memory and offset.
    last: BTreeMap<(u64, u64), u64>,
}

impl Reuse {
    fn uses(&mut self, place: (u64, u64), bytes: u64) -> u64 {
        let at = self.through;
        self.through = at.saturating_add(bytes);
        let before = self.last.insert(place, at);
        before.map_or(0, |before| at - before)
    }
    /// Memory is gone, and its name is never used again.
    pub fn forget(&mut self, memory: Memory) {
        let places = self.last.range((memory.0, 0)..=(memory.0, u64::MAX)).map(|(&place, _)| place);
        let places: Vec<(u64, u64)> = places.collect();
        places.iter().for_each(|place| _ = self.last.remove(place));
    }
}
