//! Exported memory: the owner publishes it in the shared table, others attach to it. Every transfer holds the export
//! while it moves data, and the owner lets memory go only when no transfer holds it.
#![allow(unsafe_code)]

use super::world::{MAX_RANKS, World, state};
use crate::copy;
use crate::store::{Store, checked_extent};
use crate::sys::{self, Way};
use hotlink_port::{Attachment, Engine, Key, Kind, Memory, Rank, Refusal, RemoteSpan, Span};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

const OPEN: u64 = 1 << 15;
const GENERATION: u32 = 16;
/// Runs of a transfer through the kernel in one call.
const RUNS: usize = 256;
/// A rank that holds an export longer than this without being dead is stopped or worse; the memory is leaked then.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug)]
enum Target {
    /// Address in this process.
    Shared(*mut u8),
    /// Address in the owner's process.
    Private { pid: i32, address: u64 },
}

#[derive(Clone, Copy, Debug)]
struct Attached {
    key: Key,
    target: Target,
    mapped: bool,
}

/// A rank's exports and attachments.
pub(crate) struct Exports {
    world: World,
    rank: Rank,
    vacant: Vec<u32>,
    generations: Vec<u64>,
    owned: BTreeMap<u64, Memory>,
    attached: Vec<Option<Attached>>,
    vacant_attachments: Vec<u32>,
}

/// The steps that the owner must take after ending an export.
pub(crate) struct Ended {
    /// Ranks to notify, as bits.
    pub(crate) attached: [u64; MAX_RANKS as usize / 64],
    /// A rank may still move data in it: the memory must never be used again.
    pub(crate) held: bool,
}

impl Exports {
    pub(crate) fn new(world: World, rank: Rank) -> Exports {
        Exports {
            rank,
            vacant: (0..world.shape().exports as u32).rev().collect(),
            generations: vec![0; world.shape().exports],
            owned: BTreeMap::new(),
            attached: Vec::new(),
            vacant_attachments: Vec::new(),
            world,
        }
    }
    /// `private`: the system copies between processes, so that ordinary memory can be exported.
    pub(crate) fn register(&mut self, store: &Store, memory: Memory, private: bool) -> Result<Key, Refusal> {
        let (bytes, start) = (store.size(memory)?, store.start(memory)?);
        let shared = store.kind(memory)? == Kind::Shared;
        if !shared && !private {
            return Err(Refusal::Forbidden);
        }
        let slot = self.vacant.pop().ok_or(Refusal::NoEntries)?;
        self.generations[slot as usize] += 1;
        let generation = self.generations[slot as usize];
        let export = self.world.export(self.rank, slot as usize);
        let (address, piece, piece_bytes) = store.shared_place(memory).unwrap_or((start as u64, 0, 0));
        export.address.store(address, Relaxed);
        export.bytes.store(bytes, Relaxed);
        export.piece.store(piece, Relaxed);
        export.piece_bytes.store(piece_bytes, Relaxed);
        export.attached.iter().for_each(|ranks| ranks.store(0, Relaxed));
        export.state.store(generation << GENERATION | OPEN, Release);
        let id = generation << GENERATION | u64::from(slot);
        self.owned.insert(id, memory);
        Ok(Key { rank: self.rank, id, bytes })
    }
    /// The memory that this rank exports as `id`.
    pub(crate) fn exported(&self, id: u64) -> Option<Memory> {
        self.owned.get(&id).copied()
    }
    /// The key of an attachment to another rank's private memory.
    pub(crate) fn far_private(&self, attachment: Attachment) -> Option<Key> {
        let attached = self.attached.get(attachment.0 as usize).copied().flatten()?;
        let private = matches!(attached.target, Target::Private { .. }) && attached.key.rank != self.rank;
        private.then_some(attached.key)
    }
    /// Exports of `memory`.
    pub(crate) fn of(&self, memory: Memory) -> Vec<Key> {
        let keys = self.owned.iter().filter(|(_, owned)| **owned == memory);
        keys.map(|(&id, _)| Key { rank: self.rank, id, bytes: 0 }).collect()
    }
    /// Ends an export; waits for transfers in it to be over.
    pub(crate) fn unregister(&mut self, key: Key) -> Result<Ended, Refusal> {
        if key.rank != self.rank || self.owned.remove(&key.id).is_none() {
            return Err(Refusal::Gone);
        }
        let slot = (key.id & (OPEN - 1)) as usize;
        let export = self.world.export(self.rank, slot);
        let mut holders = export.state.fetch_and(!OPEN, AcqRel) & (OPEN - 1);
        let start = Instant::now();
        while holders != 0 && start.elapsed() < PATIENCE && self.world.deaths().load(Acquire) == 0 {
            sys::yield_core();
            holders = export.state.load(Acquire) & (OPEN - 1);
        }
        let held = holders != 0;
        if !held {
            self.vacant.push(slot as u32);
        }
        Ok(Ended { attached: std::array::from_fn(|word| export.attached[word].load(Acquire)), held })
    }
    pub(crate) fn attach(&mut self, key: Key, engine: Engine) -> Result<Attachment, Refusal> {
        if key.rank >= self.world.ranks() {
            return Err(Refusal::NoRank);
        }
        let world = self.world.clone();
        let hold = Hold::take(&world, key)?;
        let export = hold.export;
        let (address, bytes) = (export.address.load(Relaxed), export.bytes.load(Relaxed));
        let (piece, piece_bytes) = (export.piece.load(Relaxed), export.piece_bytes.load(Relaxed));
        let target = if piece > 0 {
            let start = world.block().piece(piece, piece_bytes).map_err(|_| Refusal::NoMemory)?;
            Target::Shared(start.wrapping_add((address - piece) as usize))
        } else if engine == Engine::Pio {
            return Err(Refusal::Unsupported);
        } else {
            Target::Private { pid: self.world.member(key.rank).pid.load(Acquire), address }
        };
        export.attached[self.rank as usize / 64].fetch_or(1 << (self.rank % 64), AcqRel);
        drop(hold);
        let attached = Attached { key: Key { bytes, ..key }, target, mapped: engine == Engine::Pio };
        let slot = self.vacant_attachments.pop().unwrap_or_else(|| {
            self.attached.push(None);
            self.attached.len() as u32 - 1
        });
        self.attached[slot as usize] = Some(attached);
        Ok(Attachment(u64::from(slot)))
    }
    /// Where an attached segment is in this process.
    pub(crate) fn mapped(&self, attachment: Attachment) -> Result<*mut u8, Refusal> {
        match self.attached.get(attachment.0 as usize).copied().flatten() {
            Some(Attached { target: Target::Shared(start), mapped: true, .. }) => Ok(start),
            Some(_) => Err(Refusal::Unsupported),
            None => Err(Refusal::Gone),
        }
    }
    pub(crate) fn detach(&mut self, attachment: Attachment) -> Result<(), Refusal> {
        let slot = self.attached.get_mut(attachment.0 as usize).ok_or(Refusal::Gone)?;
        slot.take().ok_or(Refusal::Gone)?;
        self.vacant_attachments.push(attachment.0 as u32);
        Ok(())
    }
    /// Moves data between a local span and an attachment now.
    pub(crate) fn transfer(
        &self,
        store: &Store,
        way: Way,
        local: Span,
        remote: RemoteSpan,
        engine: Engine,
    ) -> Result<(), Refusal> {
        let attached = self.attached.get(remote.attachment.0 as usize).copied().flatten().ok_or(Refusal::Gone)?;
        let here = store.address(local)?;
        let end = remote.offset.checked_add(checked_extent(&remote.layout)?).ok_or(Refusal::OutOfBounds)?;
        if local.bytes() != remote.layout.bytes() || end > attached.key.bytes {
            return Err(Refusal::OutOfBounds);
        }
        if engine == Engine::Pio && !attached.mapped {
            return Err(Refusal::NotReady);
        }
        let _hold = Hold::take(&self.world, attached.key)?;
        match attached.target {
            Target::Shared(start) => {
                let there = start.wrapping_add(remote.offset as usize);
                let apart = (here as u64).abs_diff(there as u64) >= local.layout.extent().max(remote.layout.extent());
                if !apart {
                    return Err(Refusal::OutOfBounds);
                }
                // SAFETY: both extents are checked to lie inside their blocks and apart; the hold keeps the remote
                // block in place. Other ranks may write it meanwhile, as on any shared memory: the bytes are then
                // some mixture, which the protocols above order by messages.
                unsafe {
                    match way {
                        Way::Write => copy::copy(here, local.layout, there, remote.layout),
                        Way::Read => copy::copy(there, remote.layout, here, local.layout),
                    }
                }
                Ok(())
            }
            Target::Private { pid, address } => through_kernel(pid, way, here, local, address + remote.offset, remote),
        }
    }
}

/// Moves data by the kernel's copy between processes.
fn through_kernel(
    pid: i32,
    way: Way,
    here: *mut u8,
    local: Span,
    there: u64,
    remote: RemoteSpan,
) -> Result<(), Refusal> {
    let total = local.bytes();
    let mut here_runs = local.layout.runs(0, total).map(|(at, len)| (here as u64 + at, len)).peekable();
    let mut there_runs = remote.layout.runs(0, total).map(|(at, len)| (there + at, len)).peekable();
    let (mut h, mut t) = (Vec::new(), Vec::new());
    // Batches of equal length on both sides: the shorter side's runs decide, the other's last run is cut.
    let (mut h_rest, mut t_rest) = (None, None);
    loop {
        h.clear();
        t.clear();
        while h.len() < RUNS && t.len() < RUNS {
            let (Some(a), Some(b)) =
                (h_rest.take().or_else(|| here_runs.next()), t_rest.take().or_else(|| there_runs.next()))
            else {
                break;
            };
            let len = u64::min(a.1, b.1);
            h.push((a.0, len));
            t.push((b.0, len));
            h_rest = (a.1 > len).then(|| (a.0 + len, a.1 - len));
            t_rest = (b.1 > len).then(|| (b.0 + len, b.1 - len));
        }
        if h.is_empty() {
            return Ok(());
        }
        move_all(pid, way, &mut h, &mut t)?;
    }
}

/// Repeats until all runs are moved: the kernel may stop early.
fn move_all(pid: i32, way: Way, here: &mut Vec<(u64, u64)>, there: &mut Vec<(u64, u64)>) -> Result<(), Refusal> {
    while !here.is_empty() {
        // SAFETY: the local runs are inside a checked extent; the remote ones inside a held export.
        let moved = unsafe { sys::transfer(pid, way, here, there) }.map_err(|error| match error.raw_os_error() {
            Some(libc::ESRCH | libc::EFAULT) => Refusal::Gone,
            _ => Refusal::Forbidden,
        })?;
        if moved == 0 {
            return Err(Refusal::Gone);
        }
        skip(here, moved);
        skip(there, moved);
    }
    Ok(())
}

fn skip(runs: &mut Vec<(u64, u64)>, mut bytes: u64) {
    let whole = runs.iter().take_while(|run| (run.1 <= bytes).then(|| bytes -= run.1).is_some()).count();
    runs.drain(..whole);
    if let Some(run) = runs.first_mut() {
        *run = (run.0 + bytes, run.1 - bytes);
    }
}

/// Keeps an export in place while it lives.
struct Hold<'a> {
    export: &'a super::world::Export,
}

impl<'a> Hold<'a> {
    fn take(world: &'a World, key: Key) -> Result<Hold<'a>, Refusal> {
        if world.member(key.rank).state.load(Acquire) >= state::CLOSED {
            return Err(Refusal::PeerGone(key.rank));
        }
        let slot = (key.id & (OPEN - 1)) as usize;
        if slot >= world.shape().exports {
            return Err(Refusal::Gone);
        }
        let export = world.export(key.rank, slot);
        let seen = export.state.fetch_add(1, AcqRel);
        let hold = Hold { export };
        let open = seen & OPEN != 0 && seen >> GENERATION == key.id >> GENERATION;
        if open { Ok(hold) } else { Err(Refusal::Gone) }
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.export.state.fetch_sub(1, AcqRel);
    }
}
