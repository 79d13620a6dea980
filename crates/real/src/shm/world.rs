//! The one block of shared memory of a job: who lives, what is exported, rings between every two ranks, and each
//! rank's arena. Pages take memory when first touched, so rings between ranks that never talk cost nothing.
#![allow(unsafe_code)]

use crate::clock::Clock;
use crate::crew::{Crew, Lost};
use crate::drivers::is_oversubscribed;
use crate::store::Arena;
use crate::sys::{self, SharedMemory};
use hotlink_port::Rank;
use std::cell::Cell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};
use std::time::{Duration, Instant};

/// Slots of a ring: messages on the way from one rank to another.
pub(crate) const SLOTS: u64 = 256;
/// Payload bytes on the way from one rank to another, beyond those inside slots.
pub(crate) const RING_BYTES: u64 = 1 << 20;
/// Exports of a rank at a time.
pub(crate) const EXPORTS: usize = 1024;
/// Most ranks.
pub(crate) const MAX_RANKS: u32 = 256;
/// Address space of a rank's arena (a limit, not a use of memory).
const ARENA_BYTES: u64 = 32 << 30;
const PAGE: u64 = 4096;

/// One message: a cache line, so that a short one moves with a single line.
#[repr(C, align(64))]
pub(crate) struct Slot {
    /// Lap of the ring (low half), payload bytes (24 bits) and kind (8 bits); written last.
    pub(crate) stamp: AtomicU64,
    pub(crate) head: [u64; 4],
    pub(crate) inline: [u8; 24],
}

/// What the receiver tells the sender of a ring, in a line of its own.
#[repr(C, align(64))]
pub(crate) struct Taken {
    /// Messages taken.
    pub(crate) slots: AtomicU64,
    /// Running position in the payload ring up to which bytes are free again.
    pub(crate) bytes: AtomicU64,
}

/// Up to where the sender has filled the payload ring, for payloads that come in parts. A line of its own.
#[repr(C, align(64))]
pub(crate) struct Filled(pub(crate) AtomicU64);

#[repr(C, align(64))]
pub(crate) struct Ring {
    pub(crate) taken: Taken,
    pub(crate) filled: Filled,
    pub(crate) slots: [Slot; SLOTS as usize],
    pub(crate) payload: [u8; RING_BYTES as usize],
}

/// One export of a rank. `state` holds generation (high 48 bits), whether it is open, and the number of ranks that
/// are moving data in it this moment, which the owner waits for before the memory can go.
#[repr(C, align(64))]
pub(crate) struct Export {
    pub(crate) state: AtomicU64,
    pub(crate) address: AtomicU64,
    pub(crate) bytes: AtomicU64,
    /// 1: a regular segment, addressed in the shared block; 0: private memory, addressed in the owner's process.
    pub(crate) shared: AtomicU64,
    /// Ranks that attached, as bits; the last bit stands for all from 63 on.
    pub(crate) attached: AtomicU64,
}

#[repr(C, align(64))]
pub(crate) struct Member {
    pub(crate) pid: AtomicI32,
    /// See [`state`].
    pub(crate) state: AtomicU32,
    /// How many ranks have sent something to this one.
    pub(crate) calls: AtomicU32,
    /// Which: as bits. Only their rings are looked into, and only those take memory.
    pub(crate) callers: [AtomicU64; MAX_RANKS as usize / 64],
}

/// Lines in which a rank counts its barriers, in turn.
pub(crate) const GATES: u64 = 64;

/// What the barrier reads of a rank.
#[repr(C, align(64))]
pub(crate) struct Gate {
    /// Barriers that the rank had entered when it last wrote this line.
    pub(crate) entered: AtomicU64,
}

impl Member {
    /// Rank `from` is about to send to this one for the first time.
    pub(crate) fn call(&self, from: Rank) {
        self.callers[from as usize / 64].fetch_or(1 << (from % 64), Relaxed);
        self.calls.fetch_add(1, Release);
    }
    pub(crate) fn is_caller(&self, from: Rank) -> bool {
        self.callers[from as usize / 64].load(Relaxed) >> (from % 64) & 1 == 1
    }
}

/// Values of [`Member::state`]; 0 is a rank that has not opened its port yet.
pub(crate) mod state {
    pub(crate) const ALIVE: u32 = 1;
    pub(crate) const CLOSED: u32 = 2;
    pub(crate) const DEAD: u32 = 3;
}

#[repr(C, align(64))]
struct Header {
    /// Changes whenever a rank dies.
    deaths: AtomicU32,
}

/// Handle to the shared block. Forked processes share the block, each with its own handle at the same addresses.
#[derive(Clone)]
pub struct World {
    shared: Rc<SharedMemory>,
    ranks: u32,
    /// Ranks share cores. Known from before each is bound to one of its own.
    pub(crate) crowded: bool,
    pub(crate) clock: Clock,
    watch: Option<Rc<Watch>>,
}

/// Processes that nobody's parent watches: launched ranks watch each other.
struct Watch {
    /// By rank; `None`: this process itself.
    handles: Vec<Option<OwnedFd>>,
    looked: Cell<Instant>,
}

/// How often launched ranks that have nothing to do look whether the others live.
const LOOK: Duration = Duration::from_millis(20);

impl World {
    pub(crate) fn new(ranks: u32) -> io::Result<World> {
        let shared = Rc::new(SharedMemory::new(World::bytes(ranks))?);
        Ok(World { shared, ranks, crowded: is_oversubscribed(ranks), clock: Clock::start(), watch: None })
    }
    fn bytes(ranks: u32) -> usize {
        (arena_offset(ranks) + u64::from(ranks) * ARENA_BYTES) as usize
    }
    /// The world of the first `ranks` of a launched job: made by rank 0, handed to all.
    pub(crate) fn of_crew(crew: &mut Crew, ranks: u32) -> io::Result<World> {
        let lost = |lost: Lost| io::Error::other(format!("rank {} has ended", lost.0));
        let start = crew.broadcast((crew.rank == 0).then(|| sys::monotonic_ns().to_le_bytes().to_vec()));
        let start = start.map_err(lost)?.as_slice().try_into().map(u64::from_le_bytes).map_err(io::Error::other)?;
        let shared = if crew.rank == 0 {
            let shared = SharedMemory::new(World::bytes(ranks))?;
            let file = shared.file().ok_or_else(|| io::Error::other("the system forbids memory files"))?;
            crew.share_file(Some(file))?;
            shared
        } else {
            let file = crew.share_file(None)?.ok_or_else(|| io::Error::other("no memory file came"))?;
            SharedMemory::of(file, World::bytes(ranks))?
        };
        let handle = |(rank, &pid): (usize, &i32)| (rank != crew.rank as usize).then(|| sys::process_handle(pid).ok());
        let handles = crew.pids.iter().take(ranks as usize).enumerate().map(|each| handle(each).flatten()).collect();
        let watch = Some(Rc::new(Watch { handles, looked: Cell::new(Instant::now()) }));
        let crowded = crew.is_crowded(ranks).map_err(lost)?;
        Ok(World { shared: Rc::new(shared), ranks, crowded, clock: Clock::started_at(start), watch })
    }
    /// Now and then, buries launched ranks whose processes have ended.
    pub(crate) fn watch(&self) {
        let Some(watch) = &self.watch else { return };
        if watch.looked.get().elapsed() < LOOK {
            return;
        }
        watch.looked.set(Instant::now());
        let known =
            watch.handles.iter().zip(0..).filter_map(|(handle, rank)| Some((handle.as_ref()?.as_raw_fd(), rank)));
        let (fds, ranks): (Vec<i32>, Vec<Rank>) = known.unzip();
        let ended = sys::wait_readable(&fds, Duration::ZERO);
        ranks.into_iter().zip(ended).filter(|(_, ended)| *ended).for_each(|(rank, _)| self.bury(rank));
    }
    #[inline]
    pub(crate) fn ranks(&self) -> u32 {
        self.ranks
    }
    pub(crate) fn arena(&self, rank: Rank) -> Arena {
        Arena::new(self.shared.clone(), arena_offset(self.ranks) + u64::from(rank) * ARENA_BYTES, ARENA_BYTES)
    }
    /// First byte of the shared block: the same in every process of the job.
    pub(crate) fn base(&self) -> *mut u8 {
        self.shared.start()
    }
    /// # Safety
    /// `offset` is that of a `T` in the layout, for which all-zero bytes are valid.
    #[inline]
    unsafe fn at<T>(&self, offset: u64) -> *mut T {
        self.shared.start().wrapping_add(offset as usize).cast()
    }
    pub(crate) fn deaths(&self) -> &AtomicU32 {
        // SAFETY: the header is first; only atomics are shared by reference.
        unsafe { &(*self.at::<Header>(0)).deaths }
    }
    #[inline]
    pub(crate) fn member(&self, rank: Rank) -> &Member {
        assert!(rank < self.ranks);
        // SAFETY: inside the members' part; only atomics.
        unsafe { &*self.at::<Member>(size::<Header>() + u64::from(rank) * size::<Member>()) }
    }
    /// [`GATES`] for each rank.
    pub(crate) fn gates(&self) -> *const Gate {
        // SAFETY: the gates' part; only atomics.
        unsafe { self.at(gates_offset(self.ranks)) }
    }
    pub(crate) fn export(&self, rank: Rank, slot: usize) -> &Export {
        assert!(rank < self.ranks && slot < EXPORTS);
        let index = u64::from(rank) * EXPORTS as u64 + slot as u64;
        // SAFETY: inside the exports' part; only atomics.
        unsafe { &*self.at::<Export>(exports_offset(self.ranks) + index * size::<Export>()) }
    }
    /// The ring that carries messages from `from` to `to`: written by one, read by the other.
    pub(crate) fn ring(&self, from: Rank, to: Rank) -> *mut Ring {
        assert!(from < self.ranks && to < self.ranks);
        let index = u64::from(to) * u64::from(self.ranks) + u64::from(from);
        // SAFETY: inside the rings' part; used through raw pointers.
        unsafe { self.at(rings_offset(self.ranks) + index * ring_bytes()) }
    }
    /// Marks a rank dead, for the others to see.
    pub(crate) fn bury(&self, rank: Rank) {
        let member = self.member(rank);
        let before = member.state.load(Acquire);
        // Who closed its port may go; and one of several witnesses is enough.
        let alive = before != state::CLOSED && before != state::DEAD;
        if alive && member.state.compare_exchange(before, state::DEAD, AcqRel, Acquire).is_ok() {
            self.deaths().fetch_add(1, Release);
        }
    }
}

fn size<T>() -> u64 {
    std::mem::size_of::<T>() as u64
}
fn ring_bytes() -> u64 {
    size::<Ring>().next_multiple_of(PAGE)
}
fn gates_offset(ranks: u32) -> u64 {
    (size::<Header>() + u64::from(ranks) * size::<Member>()).next_multiple_of(size::<Gate>())
}
fn exports_offset(ranks: u32) -> u64 {
    (gates_offset(ranks) + u64::from(ranks) * GATES * size::<Gate>()).next_multiple_of(PAGE)
}
fn rings_offset(ranks: u32) -> u64 {
    (exports_offset(ranks) + u64::from(ranks) * EXPORTS as u64 * size::<Export>()).next_multiple_of(PAGE)
}
fn arena_offset(ranks: u32) -> u64 {
    (rings_offset(ranks) + u64::from(ranks) * u64::from(ranks) * ring_bytes()).next_multiple_of(2 << 20)
}
