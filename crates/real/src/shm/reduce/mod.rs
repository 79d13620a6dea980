//! Reductions over what the ranks share: no allocation, no message and, once every rank has taken part in one, no system
//! call. Every rank notes that it has begun, and each algorithm goes on from there:
//!
//! | algorithm | when | how |
//! |---|---|---|
//! | tiny | to 48 B | the elements are in the note; whoever gets the result combines all |
//! | flat | to 8 KiB | each rank copies its elements to its lane; whoever gets the result combines all |
//! | direct | all elements and results are in segments | each rank combines a part of all ranks' elements, straight from where they are to where they go |
//! | staged | else | block by block: each copies in what others combine, combines its part of the block, copies out theirs; for one rank alone: that one combines all |
//!
//! **Order of operations.** All of them combine each element in the order of the ranks, from the left: `((e0 + e1) +
//! e2) + ...`. So a result has the same bits on every rank, by each algorithm, whatever the reduction's length and the
//! place of its memory.
//!
//! A rank goes on in its polls, block by block, so that messages of others are served between.
#![allow(unsafe_code)]

mod direct;
mod piece;
mod staged;

use super::lane::{BLOCK, Counter, FLAT, FLATS, Lane, NOTES, Note, TINY};
use super::world::{World, state};
use crate::combine::combine;
use crate::copy;
use crate::store::Store;
use crate::sys;
use hotlink_port::{Event, Operation, Posted, Rank, Refusal, Share, Span, Token};
use piece::blocks;
use std::cell::UnsafeCell;
use std::io;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use std::sync::atomic::fence;

/// Tiny reductions after which a rank reports that it is done with them.
const TOLD: u64 = NOTES / 4;
/// Bytes of three and more ranks' elements that are combined at a time, in the core's own cache.
const CHUNK: usize = 16 << 10;

/// This rank's part in reductions.
pub(crate) struct Reductions {
    world: World,
    rank: Rank,
    /// Every rank's lane, null until it is known. Others' are read only, but for nothing.
    lanes: Vec<*mut Lane>,
    known: bool,
    /// Reductions that this rank has begun.
    begun: u64,
    /// Reductions with which all ranks are known to be done.
    done: u64,
    /// Blocks that were staged before the current reduction: as many on every rank.
    blocks: u64,
    /// Where combined elements of three and more ranks are put together.
    chunk: Box<UnsafeCell<[u8; CHUNK]>>,
    /// Of a direct reduction: every rank's elements, and where this rank's part of the result goes.
    sources: Vec<*const u8>,
    targets: Vec<*mut u8>,
    current: Option<Current>,
}

/// The reduction under way.
#[derive(Clone, Copy)]
struct Current {
    token: Token,
    operation: Operation,
    share: Share,
    what: u64,
    from: *const u8,
    /// Null where this rank gets nothing.
    to: *mut u8,
    /// Bytes of every rank's elements.
    bytes: u64,
    stage: Stage,
}

#[derive(Clone, Copy)]
enum Stage {
    /// Others are not done with the place of this one's note or elements.
    Room {
        places: [u64; 6],
    },
    /// The notes of ranks before this one have come.
    Notes(Rank),
    /// This many bytes of this rank's part are combined.
    Direct(u64),
    /// This rank's part is; others' are awaited.
    Finish,
    Staged {
        block: u64,
        step: Step,
    },
}

/// The next step for a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Stage,
    Combine,
    Take,
}

/// The result of an attempt to go on.
enum Went {
    Waits,
    On,
    Over(Result<(), Refusal>),
}

impl Reductions {
    pub(crate) fn new(world: &World, rank: Rank) -> Reductions {
        let ranks = world.ranks() as usize;
        Reductions {
            world: world.clone(),
            rank,
            lanes: vec![null_mut(); ranks],
            known: false,
            begun: 0,
            done: 0,
            blocks: 0,
            chunk: Box::new(UnsafeCell::new([0; CHUNK])),
            sources: Vec::with_capacity(ranks),
            targets: Vec::with_capacity(ranks),
            current: None,
        }
    }
    fn ranks(&self) -> u32 {
        self.lanes.len() as u32
    }
    #[inline]
    pub(crate) fn is_running(&self) -> bool {
        self.current.is_some()
    }
    /// Begins a reduction. One at a time: busy until the last is over.
    #[inline]
    pub(crate) fn begin(
        &mut self,
        store: &Store,
        (operation, share): (Operation, Share),
        (from, to): (Span, Span),
        token: Token,
    ) -> Posted {
        if self.current.is_some() {
            return Posted::Busy;
        }
        match self.prepare(store, (operation, share), (from, to), token) {
            Ok(current) => {
                self.begun += 1;
                self.current = Some(current);
                self.try_note();
                Posted::Accepted
            }
            Err(refusal) => Posted::Refused(refusal),
        }
    }
    fn prepare(
        &mut self,
        store: &Store,
        (operation, share): (Operation, Share),
        (from, to): (Span, Span),
        token: Token,
    ) -> Result<Current, Refusal> {
        share.check(operation, self.rank, self.ranks(), &from, &to)?;
        let bytes = from.bytes();
        let gets = !matches!(share, Share::Root(root) if root != self.rank);
        let source = store.address(from)?;
        let target = if gets { store.address(to)? } else { null_mut() };
        let (first, second) = (source as u64, target as u64);
        let overlap = gets && first < second + to.bytes() && second < first + bytes;
        if overlap && (source != target || share == Share::Parts) {
            return Err(Refusal::OutOfBounds);
        }
        if self.lanes[self.rank as usize].is_null() {
            let made = self.world.make_lane(self.rank);
            self.lanes[self.rank as usize] = made.map_err(|_| Refusal::NoMemory)?;
        }
        let mut places = [0; 6];
        if bytes > FLAT {
            let place = |span: &Span| {
                let (at, piece, bytes) = store.shared_place(span.memory)?;
                Some([piece, bytes, at + span.offset])
            };
            places[..3].copy_from_slice(&place(&from).unwrap_or_default());
            places[3..].copy_from_slice(&place(&to).filter(|_| gets).unwrap_or_default());
        }
        let what = what(operation, share, bytes)?;
        let stage = Stage::Room { places };
        Ok(Current { token, operation, share, what, from: source, to: target, bytes, stage })
    }
    #[inline]
    fn lane(&self, rank: Rank) -> *mut Lane {
        self.lanes[rank as usize]
    }
    #[inline]
    fn own(&self) -> *mut Lane {
        self.lane(self.rank)
    }
    fn note_of(&self, rank: Rank, number: u64) -> *mut Note {
        // SAFETY: inside the lane.
        unsafe { (&raw mut (*self.lane(rank)).notes).cast::<Note>().add((number % NOTES) as usize) }
    }
    fn flat_of(&self, rank: Rank, number: u64) -> *mut u8 {
        // SAFETY: inside the lane.
        unsafe { (&raw mut (*self.lane(rank)).flat).cast::<u8>().add((number % FLATS * FLAT) as usize) }
    }
    /// Whether a counter of every other rank has reached `least`.
    #[inline]
    fn have_all(&self, counter: impl Fn(&Lane) -> &Counter, least: u64) -> bool {
        let others = (0..self.ranks()).filter(|&rank| rank != self.rank);
        // SAFETY: (below) lanes are known; counters are atomics.
        others.into_iter().all(|rank| counter(unsafe { &*self.lane(rank) }).0.load(Acquire) >= least)
    }
    fn tell(&self, counter: impl Fn(&Lane) -> &Counter, value: u64) {
        // SAFETY: this rank's own lane; counters are atomics.
        counter(unsafe { &*self.own() }).0.store(value, Release);
    }
    /// Finds the lanes of the others, which make them when they first come.
    #[cold]
    fn find_lanes(&mut self) -> io::Result<bool> {
        for rank in 0..self.ranks() {
            if self.lane(rank).is_null() {
                match self.world.lane(rank)? {
                    Some(lane) => self.lanes[rank as usize] = lane,
                    None => return Ok(false),
                }
            }
        }
        self.known = true;
        Ok(true)
    }
    /// Writes this rank's note, and its elements where those go with it, if there is room.
    #[inline]
    fn try_note(&mut self) -> bool {
        let number = self.begun;
        let Some(mut current) = self.current else { return false };
        let Stage::Room { places } = current.stage else { return true };
        let (bytes, rooms) = (current.bytes, if current.bytes > TINY { FLATS } else { NOTES });
        if bytes > TINY {
            // Others may wait for this before they go on.
            self.tell(|lane| &lane.done, number - 1);
        }
        if self.done + rooms < number {
            if !self.known || !self.have_all(|lane| &lane.done, number - rooms) {
                return false;
            }
            self.done = number - rooms;
        }
        // SAFETY: every rank is done with the note and elements that these replace, and reads the new ones only after
        // the number. `bytes` are inside the span that begins at `from`.
        unsafe {
            let note = self.note_of(self.rank, number);
            (*note).what = current.what;
            if bytes <= TINY {
                copy::row(current.from, (&raw mut (*note).words).cast(), bytes);
            } else if bytes <= FLAT {
                copy::row(current.from, self.flat_of(self.rank, number), bytes);
            } else {
                (*note).words = places;
            }
            (*note).number.store(number, Release);
        }
        current.stage = Stage::Notes(0);
        self.current = Some(current);
        true
    }
    /// Goes on with the reduction under way; its end, if this was it. `deaths`: ranks that have died as far as the port
    /// has heard.
    #[inline]
    pub(crate) fn go_on(&mut self, deaths: u32) -> (bool, Option<Event>) {
        let Some(current) = self.current else { return (false, None) };
        let went = match current.stage {
            Stage::Room { .. } => {
                if !self.known && self.find_lanes().is_err() {
                    Went::Over(Err(Refusal::NoMemory))
                } else if self.try_note() {
                    Went::On
                } else {
                    Went::Waits
                }
            }
            Stage::Notes(awaited) => self.read_notes(&current, awaited),
            Stage::Direct(done) => self.go_on_directly(&current, done, deaths),
            Stage::Finish if self.have_all(|lane| &lane.finished, self.begun) => Went::Over(Ok(())),
            Stage::Finish => Went::Waits,
            Stage::Staged { block, step } => self.go_on_staging(&current, block, step),
        };
        match went {
            Went::Waits => (false, None),
            Went::On => (true, None),
            Went::Over(result) => {
                self.end(&current, result.is_ok());
                let token = current.token;
                (true, Some(result.map_or_else(|refusal| Event::Failed(token, refusal), |()| Event::Done(token))))
            }
        }
    }
    #[inline]
    fn end(&mut self, current: &Current, ended: bool) {
        self.current = None;
        if current.bytes > TINY || self.begun.is_multiple_of(TOLD) {
            self.tell(|lane| &lane.done, self.begun);
        }
        if ended && (current.bytes > FLAT || !current.to.is_null()) {
            // All ranks have begun this one, hence are done with the one before.
            self.done = self.done.max(self.begun - 1);
        }
    }
    /// Waits for the notes of the others, as far as this rank needs them.
    #[inline]
    fn read_notes(&mut self, current: &Current, mut awaited: Rank) -> Went {
        if current.to.is_null() && current.bytes <= FLAT {
            return Went::Over(Ok(()));
        }
        if !self.known {
            match self.find_lanes() {
                Ok(true) => {}
                Ok(false) => return Went::Waits,
                Err(_) => return Went::Over(Err(Refusal::NoMemory)),
            }
        }
        let before = awaited;
        while awaited < self.ranks() {
            // SAFETY: a note of a known lane; its number is an atomic.
            if unsafe { (*self.note_of(awaited, self.begun)).number.load(Acquire) } < self.begun {
                if awaited > before {
                    self.set(Stage::Notes(awaited));
                }
                return Went::Waits;
            }
            // SAFETY: written before the number, and not again before this rank is done with it.
            if unsafe { (*self.note_of(awaited, self.begun)).what } != current.what {
                return Went::Over(Err(Refusal::OutOfBounds));
            }
            awaited += 1;
        }
        if current.bytes <= FLAT {
            self.combine_copies(current);
            return Went::Over(Ok(()));
        }
        let direct = self.is_direct(current.share);
        self.set(if direct { Stage::Direct(0) } else { Stage::Staged { block: 0, step: Step::Stage } });
        Went::On
    }
    #[inline]
    fn set(&mut self, stage: Stage) {
        if let Some(current) = &mut self.current {
            current.stage = stage;
        }
    }
    /// Combines what came with notes or lies in lanes.
    #[inline]
    fn combine_copies(&mut self, current: &Current) {
        let number = self.begun;
        let (at, bytes) = match current.share {
            Share::All | Share::Root(_) => (0, current.bytes),
            Share::Parts => {
                let part = current.bytes / u64::from(self.ranks());
                (part * u64::from(self.rank), part)
            }
        };
        let source = |rank: Rank| {
            let start = if current.bytes <= TINY {
                // SAFETY: inside the note.
                unsafe { (&raw const (*self.note_of(rank, number)).words).cast::<u8>() }
            } else {
                self.flat_of(rank, number).cast_const()
            };
            start.wrapping_add(at as usize)
        };
        // SAFETY: every rank's elements are there until this one is done, all of them copies; the target has room for what
        // this rank gets.
        unsafe {
            combine(current.operation, source(0), source(1), current.to, null_mut(), bytes);
            for rank in 2..self.ranks() {
                combine(current.operation, current.to, source(rank), current.to, null_mut(), bytes);
            }
        }
    }
    fn places(&self, rank: Rank) -> [u64; 6] {
        // SAFETY: the note of the reduction under way, which has come.
        unsafe { (*self.note_of(rank, self.begun)).words }
    }
    /// A rank has died. The reduction under way goes on if that rank had done its whole part of it, as all others then
    /// see. Otherwise it ends now, and no other rank touches its memory any more.
    pub(crate) fn give_up(&mut self, died: Rank) -> Option<Event> {
        let current = self.current?;
        // No deaths known: of a direct reduction nothing more is combined here.
        while let (true, event) = self.go_on(0) {
            if event.is_some() {
                return event;
            }
        }
        if self.has_done_its_part(died) {
            return None;
        }
        self.current = None;
        fence(SeqCst);
        for rank in (0..self.ranks()).filter(|&rank| rank != self.rank) {
            let Ok(Some(lane)) = self.world.lane(rank) else { continue };
            // SAFETY: a lane of the shared block; its counters are atomics.
            let holding = unsafe { &(*lane).holding.0 };
            while holding.load(Acquire) == 1 && self.world.member(rank).state.load(Acquire) == state::ALIVE {
                self.world.watch();
                sys::yield_core();
            }
        }
        Some(Event::Failed(current.token, Refusal::PeerGone(died)))
    }
    /// Whether no rank needs anything more of `rank` for the reduction under way.
    fn has_done_its_part(&self, rank: Rank) -> bool {
        let Some(current) = self.current else { return true };
        if self.lane(rank).is_null() {
            return false;
        }
        // SAFETY: a known lane; counters and the number of a note are atomics.
        let lane = unsafe { &*self.lane(rank) };
        match current.stage {
            Stage::Direct(_) | Stage::Finish => lane.finished.0.load(Acquire) >= self.begun,
            Stage::Staged { .. } => {
                let count = blocks((current.share, current.bytes, BLOCK), self.ranks());
                lane.combined.0.load(Acquire) >= self.blocks + count
            }
            // SAFETY: as above.
            Stage::Room { .. } | Stage::Notes(_) if current.bytes <= FLAT => unsafe {
                (*self.note_of(rank, self.begun)).number.load(Acquire) >= self.begun
            },
            // No rank begins a long one before all notes are there.
            Stage::Room { .. } | Stage::Notes(_) => false,
        }
    }
}

/// The facts that all ranks must agree on, in a word.
fn what(operation: Operation, share: Share, bytes: u64) -> Result<u64, Refusal> {
    const MOST: u64 = (1 << 44) - 1;
    if bytes > MOST {
        return Err(Refusal::TooLong(MOST));
    }
    let share = match share {
        Share::All => 0,
        Share::Parts => 1,
        Share::Root(root) => 2 + u64::from(root),
    };
    Ok(bytes | share << 44 | (operation.combine as u64) << 58 | (operation.element as u64) << 61)
}
