//! The shared state of a host's ranks: which ranks live, their exports, rings between ranks that communicate, and each
//! rank's segments. Rings and segments are pieces that are added to the block when they are first needed. Ranks that
//! never communicate cost a word of a table each.
#![allow(unsafe_code)]

use super::barrier::RANKS_MAX;
use super::lane::Lane;
use super::ring::MESSAGE_MAX;
use crate::clock::Clock;
use crate::crew::{Crew, Lost};
use crate::doors::BarrierDevice;
use crate::drivers::is_oversubscribed;
use crate::pool::Pool;
use crate::route::{self, Copying};
use crate::store::Arena;
use crate::sys::{self, SharedMemory};
use hotlink_port::Rank;
use hotlink_seats::{Account, Waits};
use std::cell::Cell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};
use std::time::{Duration, Instant};

/// Slots of a ring: messages on the way from one rank to another.
pub(crate) const SLOTS: u64 = 256;
/// Most ranks.
pub(crate) const MAX_RANKS: u32 = 1024;
const PAGE: u64 = 4096;
/// Ranks as bits.
type Set = [AtomicU64; MAX_RANKS as usize / 64];

/// Sizes that many ranks share the room for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Payload bytes on the way from one rank to another, beyond those inside slots: a power of two.
    pub(crate) ring_bytes: u64,
    /// Longest payload of a message.
    pub(crate) message_max: u64,
    /// Exports of a rank at a time.
    pub(crate) exports: usize,
}

impl Shape {
    /// Of a world of so many ranks. A ring of many ranks is short: each may have two to every other.
    fn of(ranks: u32) -> Shape {
        match ranks {
            0..=16 => Shape { ring_bytes: 1 << 20, message_max: MESSAGE_MAX, exports: 1024 },
            17..=64 => Shape { ring_bytes: 1 << 20, message_max: MESSAGE_MAX, exports: 256 },
            _ => Shape { ring_bytes: 64 << 10, message_max: 16 << 10, exports: 128 },
        }
    }
}

/// One message: a cache line, so that a short one moves with a single line.
#[repr(C, align(64))]
pub(crate) struct Slot {
    /// Lap of the ring (low half), payload bytes (24 bits) and kind (8 bits); written last.
    pub(crate) stamp: AtomicU64,
    pub(crate) head: [u64; 4],
    pub(crate) inline: [u8; 24],
}

/// The receiver's report to the sender of a ring, in a line of its own.
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
    /// The payload bytes follow.
    pub(crate) slots: [Slot; SLOTS as usize],
}

/// One export of a rank. `state` holds the generation (high 48 bits), whether it is open, and the number of ranks that
/// are moving data in it. The owner waits for these before the memory can go.
#[repr(C, align(64))]
pub(crate) struct Export {
    pub(crate) state: AtomicU64,
    /// Of a regular segment, in the shared block; of private memory, in the owner's process.
    pub(crate) address: AtomicU64,
    pub(crate) bytes: AtomicU64,
    /// The piece of the block that a regular segment is in, and its bytes: 0 for private memory.
    pub(crate) piece: AtomicU64,
    pub(crate) piece_bytes: AtomicU64,
    /// Ranks that attached.
    pub(crate) attached: Set,
}

#[repr(C, align(64))]
pub(crate) struct Member {
    pub(crate) pid: AtomicI32,
    /// See [`state`].
    pub(crate) state: AtomicU32,
    /// Where in the block this rank's lane of reductions is; 0: it has taken part in none.
    pub(crate) lane: AtomicU64,
    /// How many ranks have sent something to this one.
    pub(crate) calls: AtomicU32,
    /// Which: as bits. Only their rings are looked into, and only those take memory.
    pub(crate) callers: Set,
}

/// Lines in which a rank counts its barriers, in turn.
pub(crate) const GATES: u64 = 64;

/// The fields of a rank that the barrier reads.
#[repr(C, align(64))]
pub(crate) struct Gate {
    /// Barriers that the rank had entered when it last wrote this line.
    pub(crate) entered: AtomicU64,
    /// Of a node's first rank: barriers that the device between nodes had released when it last wrote this line.
    pub(crate) released: AtomicU64,
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
    /// The block's own: bytes of the pieces added to it.
    _added: AtomicU64,
    /// Changes whenever a rank dies, and whenever one closes its port.
    deaths: AtomicU32,
    closes: AtomicU32,
}

/// Handle to the shared block. Forked processes share the block, each with its own handle at the same addresses.
#[derive(Clone)]
pub struct World {
    block: Rc<Pool>,
    ranks: u32,
    shape: Shape,
    /// Ranks share cores. Known from before each is bound to one of its own.
    pub(crate) crowded: bool,
    /// Ranks of the job on this machine, those of other worlds among them, which share its cores.
    pub(crate) here: u32,
    pub(crate) clock: Clock,
    /// How long messages move.
    pub(crate) copying: Copying,
    /// The place for reports of long waits, and this world's first rank there.
    pub(crate) waits: Option<(Arc<Waits>, Rank)>,
    watch: Option<Rc<Watch>>,
    /// The device of barriers between nodes, where this machine plays several.
    pub(crate) device: Option<Arc<BarrierDevice>>,
}

/// Processes that no parent watches: launched ranks watch each other.
struct Watch {
    /// By rank; `None`: this process itself, and those that others watch.
    handles: Vec<Option<OwnedFd>>,
    looked: Cell<Instant>,
}

/// In a large job each rank watches this many after it, and reports what it sees to all.
const WATCHED: usize = 16;

impl Watch {
    /// Of the process at place `own`.
    fn new(pids: &[i32], own: usize) -> Watch {
        let count = pids.len();
        let is_watched = |rank: usize| rank != own && (rank + count - own) % count <= WATCHED;
        let all = pids.iter().enumerate();
        let handles = all.map(|(rank, &pid)| is_watched(rank).then(|| sys::process_handle(pid).ok()).flatten());
        Watch { handles: handles.collect(), looked: Cell::new(Instant::now()) }
    }
}

/// How often launched ranks that have nothing to do look whether the others live.
const LOOK: Duration = Duration::from_millis(20);

impl World {
    pub(crate) fn new(ranks: u32) -> io::Result<World> {
        World::with(ranks, route::held())
    }
    /// The same, with long messages moving as said.
    pub(crate) fn with(ranks: u32, copying: Copying) -> io::Result<World> {
        let block = Pool::new(bytes(ranks), ranks)?;
        let waits = Some((Waits::new(ranks)?, 0));
        Ok(World { copying, waits, ..World::on(block, ranks, is_oversubscribed(ranks), Clock::start(), None) })
    }
    fn on(block: Pool, ranks: u32, crowded: bool, clock: Clock, watch: Option<Rc<Watch>>) -> World {
        let copying = route::held();
        let (block, shape) = (Rc::new(block), Shape::of(ranks));
        World { block, ranks, shape, crowded, here: ranks, clock, copying, waits: None, watch, device: None }
    }
    /// The world of the first `ranks` of a launched job: made by rank 0, handed to all.
    pub(crate) fn of_crew(crew: &mut Crew, ranks: u32) -> io::Result<World> {
        let lost = |lost: Lost| io::Error::other(format!("rank {} has ended", lost.0));
        let start = crew.broadcast((crew.rank == 0).then(|| sys::monotonic_ns().to_le_bytes().to_vec()));
        let start = start.map_err(lost)?.as_slice().try_into().map(u64::from_le_bytes).map_err(io::Error::other)?;
        let block = if crew.rank == 0 {
            let block = Pool::new(bytes(ranks), ranks)?;
            let file = block.memory().file().ok_or_else(|| io::Error::other("the system forbids memory files"))?;
            crew.share_file(Some(file))?;
            block
        } else {
            let file = crew.share_file(None)?.ok_or_else(|| io::Error::other("no memory file came"))?;
            Pool::of(SharedMemory::of(file, bytes(ranks) as usize)?, bytes(ranks))
        };
        let watch = Some(Rc::new(Watch::new(&crew.pids[..ranks as usize], crew.rank as usize)));
        let crowded = crew.is_crowded(ranks).map_err(lost)?;
        let mut world = World::on(block, ranks, crowded, Clock::started_at(start), watch);
        world.waits = Some((Waits::of_job(ranks)?, 0));
        Ok(world)
    }
    /// The world of launched ranks of one host, by their processes: `made` by the first of them, and found by the others
    /// at its `path`. `own` is this process's place.
    pub(crate) fn of_group(
        made: Option<World>,
        path: &str,
        pids: &[i32],
        own: usize,
        start_ns: u64,
        crowded: bool,
    ) -> io::Result<World> {
        let ranks = pids.len() as u32;
        let told = |error: io::Error| io::Error::other(format!("the memory of this host's ranks, {path}: {error}"));
        let block = match made {
            Some(world) => world.block,
            None => {
                let bytes = bytes(ranks);
                Rc::new(Pool::of(SharedMemory::open(path, bytes as usize).map_err(told)?, bytes))
            }
        };
        let watch = Some(Rc::new(Watch::new(pids, own)));
        let clock = Clock::started_at(start_ns);
        let (shape, copying) = (Shape::of(ranks), route::held());
        Ok(World { block, ranks, shape, crowded, here: ranks, clock, copying, waits: None, watch, device: None })
    }
    /// The same world with a device between its nodes, whose daemon needs a core too.
    pub(crate) fn joined(self, device: Option<Arc<BarrierDevice>>) -> World {
        let crowded = self.crowded || device.is_some() && is_oversubscribed(self.ranks + 1);
        World { crowded, device, ..self }
    }
    /// Where other processes of this user find the shared block.
    pub(crate) fn path(&self) -> Option<String> {
        self.block.memory().path()
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
    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }
    /// A rank's own segments.
    pub(crate) fn arena(&self) -> Arena {
        Arena::new(self.block.clone())
    }
    pub(crate) fn block(&self) -> &Pool {
        &self.block
    }
    /// # Safety
    /// `offset` is that of a `T` in the layout, for which all-zero bytes are valid.
    #[inline]
    unsafe fn at<T>(&self, offset: u64) -> *mut T {
        self.block.start().wrapping_add(offset as usize).cast()
    }
    pub(crate) fn account(&self, rank: Rank) -> Option<Account> {
        self.waits.as_ref().map(|(waits, first)| Account::new(waits, first + rank))
    }
    pub(crate) fn deaths(&self) -> &AtomicU32 {
        // SAFETY: the header is first; only atomics are shared by reference.
        unsafe { &(*self.at::<Header>(0)).deaths }
    }
    pub(crate) fn closes(&self) -> &AtomicU32 {
        // SAFETY: the header is first; only atomics are shared by reference.
        unsafe { &(*self.at::<Header>(0)).closes }
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
        assert!(rank < self.ranks && slot < self.shape.exports);
        let index = u64::from(rank) * self.shape.exports as u64 + slot as u64;
        // SAFETY: inside the exports' part; only atomics.
        unsafe { &*self.at::<Export>(exports_offset(self.ranks) + index * size::<Export>()) }
    }
    /// Where the ring from `from` to `to` is in the block; 0: it was never used.
    fn ring_place(&self, from: Rank, to: Rank) -> &AtomicU64 {
        assert!(from < self.ranks && to < self.ranks);
        let index = u64::from(to) * u64::from(self.ranks) + u64::from(from);
        // SAFETY: inside the table of rings; only atomics.
        unsafe { &*self.at::<AtomicU64>(rings_offset(self.ranks) + index * size::<AtomicU64>()) }
    }
    /// The ring that carries messages from `from` to `to`, to be written by `from` alone: made at first use.
    pub(crate) fn make_ring(&self, from: Rank, to: Rank) -> io::Result<*mut Ring> {
        let place = self.ring_place(from, to);
        if place.load(Acquire) == 0 {
            place.store(self.block.add(self.ring_bytes())?, Release);
        }
        self.ring(from, to)
    }
    /// The same ring for its reader.
    pub(crate) fn ring(&self, from: Rank, to: Rank) -> io::Result<*mut Ring> {
        match self.ring_place(from, to).load(Acquire) {
            0 => Err(io::ErrorKind::NotFound.into()),
            offset => Ok(self.block.piece(offset, self.ring_bytes())?.cast()),
        }
    }
    fn ring_bytes(&self) -> u64 {
        size::<Ring>() + self.shape.ring_bytes
    }
    /// Makes this rank's lane of reductions.
    pub(crate) fn make_lane(&self, rank: Rank) -> io::Result<*mut Lane> {
        let offset = self.block.add(size::<Lane>())?;
        let start = self.block.piece(offset, size::<Lane>())?;
        self.member(rank).lane.store(offset, Release);
        Ok(start.cast())
    }
    /// The lane of another rank, if it has made it.
    pub(crate) fn lane(&self, rank: Rank) -> io::Result<Option<*mut Lane>> {
        match self.member(rank).lane.load(Acquire) {
            0 => Ok(None),
            offset => Ok(Some(self.block.piece(offset, size::<Lane>())?.cast())),
        }
    }
    /// Marks a rank dead, for the others to see.
    pub(crate) fn bury(&self, rank: Rank) {
        let member = self.member(rank);
        let before = member.state.load(Acquire);
        // A rank that closed its port may go; and one of several witnesses is enough.
        let alive = before != state::CLOSED && before != state::DEAD;
        if alive && member.state.compare_exchange(before, state::DEAD, AcqRel, Acquire).is_ok() {
            self.deaths().fetch_add(1, Release);
        }
    }
}

fn size<T>() -> u64 {
    std::mem::size_of::<T>() as u64
}
/// Bytes of the block's first part.
fn bytes(ranks: u32) -> u64 {
    (rings_offset(ranks) + u64::from(ranks) * u64::from(ranks) * size::<AtomicU64>()).next_multiple_of(PAGE)
}
fn gates_offset(ranks: u32) -> u64 {
    (size::<Header>() + u64::from(ranks) * size::<Member>()).next_multiple_of(size::<Gate>())
}
fn exports_offset(ranks: u32) -> u64 {
    let gates = if ranks <= RANKS_MAX { u64::from(ranks) * GATES } else { 0 };
    (gates_offset(ranks) + gates * size::<Gate>()).next_multiple_of(PAGE)
}
fn rings_offset(ranks: u32) -> u64 {
    let exports = u64::from(ranks) * Shape::of(ranks).exports as u64;
    (exports_offset(ranks) + exports * size::<Export>()).next_multiple_of(PAGE)
}
