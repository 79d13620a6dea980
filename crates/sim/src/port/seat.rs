//! What belongs to one rank of a run, and what ranks give to the fabric's own barrier and reduction networks.

use super::setups::Setups;
use crate::net::List;
use crate::plan::NONE;
use hotlink_barrier::{BarrierNetwork, ReductionNetwork};
use hotlink_memory::Slowed;
use hotlink_port::blocks::Blocks;
use hotlink_port::{Busy, Call, Operation, Rank, Span, Task, Work};

/// Where a rank's program stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It runs, or has not begun.
    Running,
    /// It waits for an event, for room, or for its time.
    Waiting,
    /// It is about to run.
    Ready,
    /// It has ended.
    Over,
}

/// One rank.
pub(super) struct Seat {
    pub now: u64,
    pub until: u64,
    pub state: State,
    /// The program said that it has nothing to do until an event.
    pub idle: bool,
    /// It was refused for want of room, and there may be room again.
    pub blocked: bool,
    pub roused: bool,
    pub closed: bool,
    /// Events to be polled.
    pub inbox: List,
    /// The control message whose payload can be taken.
    pub current: u32,
    /// The youngest of its flights not yet settled.
    pub youngest: u32,
    /// Its control messages not yet taken, and its DMA operations under way.
    pub untaken: u32,
    pub moving: u32,
    pub nic_free: u64,
    pub dma_free: u64,
    /// Until when what others send here is written into its memory.
    pub receives: u64,
    /// From when to when its processor uses the memory, and what a transfer then takes longer, in 1/1024.
    pub stressed: (u64, u64, u64),
    /// The computation that was booked last, and from when to when.
    pub working: Option<(Work, u64, u64)>,
    pub busy: Busy,
    pub blocks: Blocks,
    pub setups: Option<Box<Setups>>,
    /// What it waits for, as it says: the call, peer and tag.
    pub awaits: Option<(Call, Option<Rank>, Option<u32>)>,
}

impl Seat {
    pub fn new() -> Seat {
        Seat {
            now: 0,
            until: 0,
            state: State::Running,
            idle: false,
            blocked: false,
            roused: false,
            closed: false,
            inbox: List::default(),
            current: NONE,
            youngest: NONE,
            untaken: 0,
            moving: 0,
            nic_free: 0,
            dma_free: 0,
            receives: 0,
            stressed: (0, 0, 1024),
            working: None,
            busy: Busy::default(),
            blocks: Blocks::default(),
            setups: None,
            awaits: None,
        }
    }
    /// The processor is busy for this time.
    pub fn spend(&mut self, task: Task, ps: u64) {
        self.now += ps;
        self.busy.add(task, ps);
    }
    /// The adapter's engine is busy for this time, from `start` on.
    pub fn move_by_engine(&mut self, start: u64, ps: u64) {
        self.dma_free = start + ps;
        self.busy.add_engine(ps);
    }
    /// What a transfer at `now` takes of this memory, in 1/1024 of what it takes alone.
    pub fn stress(&self, now: u64) -> u64 {
        let (from, until, longer) = self.stressed;
        if (from..until).contains(&now) { longer } else { 1024 }
    }
    /// Whether the adapter's engine moves data of this rank, or receives another's.
    pub fn is_moving(&self) -> bool {
        self.dma_free.max(self.receives) > self.now
    }
    /// The processor works with memory from now on, for `ps` if alone, while transfers of its adapter go on. Returns
    /// how long it takes with them. They take longer until it ends.
    pub fn work_beside(&mut self, ps: u64, slowed: Slowed) -> u64 {
        let moving = self.dma_free.max(self.receives).saturating_sub(self.now);
        if moving == 0 || slowed == Slowed::NOT {
            return ps;
        }
        // Both at once until the first of them ends, then the other alone.
        let transfer = moving as f64 * slowed.transfer;
        let work = ps as f64 * slowed.program;
        let both = transfer.min(work);
        let took = if work <= transfer { work } else { both + (work - both) / slowed.program };
        let later = (both - both / slowed.transfer) as u64;
        for free in [&mut self.dma_free, &mut self.receives] {
            if *free > self.now {
                *free += later;
            }
        }
        self.stressed = (self.now, self.now + took as u64, (slowed.transfer * 1024.0) as u64);
        took as u64
    }
    /// The computation that a transfer into this memory finds under way at `start`. It was booked whole before the
    /// transfer was known, and the program has done nothing since.
    pub fn works_during(&self, start: u64) -> Option<Work> {
        let (work, _, until) = self.working?;
        (self.state == State::Waiting && until == self.now && start < until).then_some(work)
    }
    /// That computation takes longer while `ps` of a transfer go on from `start`.
    pub fn is_slowed(&mut self, start: u64, ps: u64, slowed: Slowed) {
        let Some((work, from, until)) = self.working else { return };
        let begun = start.max(from);
        let left = (until - begun) as f64 * slowed.program;
        let both = ((start + ps).saturating_sub(begun) as f64 * slowed.transfer).min(left);
        let more = (both - both / slowed.program) as u64;
        self.spend(work.task(), more);
        self.working = Some((work, from, until + more));
    }
    pub fn has_news(&self) -> bool {
        self.inbox.head != NONE || self.roused
    }
    pub fn setups(&mut self) -> &mut Setups {
        self.setups.get_or_insert_default()
    }
}

/// The fabric's own barrier network, and who has entered it: rank, token to return, and when.
pub(super) struct Hardware {
    pub network: BarrierNetwork,
    pub arrived: Vec<(Rank, u64, u64)>,
}

/// The fabric's own reduction network, and what has entered it.
pub(super) struct Reducer {
    pub network: ReductionNetwork,
    pub parts: Vec<Part>,
}

/// What a rank gave to be combined, and when.
pub(super) struct Part {
    pub rank: Rank,
    pub token: u64,
    pub now: u64,
    pub operation: Operation,
    /// Where the result goes.
    pub to: Span,
    /// `None`: ghosts.
    pub data: Option<Vec<u8>>,
}
