//! A rank's own memory: blocks by name, checked at every use.
#![allow(unsafe_code)]

use crate::clock::Clock;
use crate::combine::combine;
use crate::copy;
use crate::pool::Pool;
use crate::threads::Threads;
use hotlink_fabric::units::Time;
use hotlink_port::{Align, Attachment, Kind, Layout, Memory, Operation, Port, Refusal, Span, Work};
use std::alloc::{alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::rc::Rc;

const PAGE: u64 = 4096;

/// A port that moves memory which the program owns, not only what it allocated through the port: an array of another
/// language, say.
pub trait Lend: Port {
    /// Names `bytes` from `start` on as private memory, until the name is freed; the memory itself stays the program's.
    ///
    /// # Safety
    /// The memory is valid for reads until the name is freed or the port is gone; also for writes if anything is
    /// received into it. While an operation uses it, nothing else writes it, and nothing reads it if the operation
    /// writes it.
    unsafe fn lend(&mut self, start: *mut u8, bytes: u64) -> Memory;
    /// Where memory is that the port allocated: valid until it is freed, or the port gone.
    ///
    /// # Errors
    /// No such memory.
    fn start(&self, memory: Memory) -> Result<*mut u8, Refusal>;
    /// Where another rank's segment is in this process, which it was attached to for PIO: valid until it is detached and its
    /// owner frees it.
    ///
    /// # Errors
    /// No such attachment, or the port maps none.
    fn mapped(&self, attachment: Attachment) -> Result<*mut u8, Refusal> {
        let _ = attachment;
        Err(Refusal::Unsupported)
    }
}

/// Pieces of the shared memory that are this rank's, from which regular segments are cut.
pub(crate) struct Arena {
    block: Rc<Pool>,
    /// By offset in the block.
    pieces: BTreeMap<u64, Piece>,
    /// Free blocks by offset; each lies in one piece.
    holes: BTreeMap<u64, u64>,
    reserved: u64,
}

struct Piece {
    start: *mut u8,
    bytes: u64,
    /// Bytes from here on were never handed out, hence are zeros.
    fresh: u64,
}

/// Smallest and largest piece that is added ahead of need: half of the present memory, between these.
const PIECE_MIN: u64 = 1 << 20;
const PIECE_MAX: u64 = 256 << 20;

impl Arena {
    pub(crate) fn new(block: Rc<Pool>) -> Arena {
        Arena { block, pieces: BTreeMap::new(), holes: BTreeMap::new(), reserved: 0 }
    }
    /// The piece that an offset is in, and where it begins.
    fn piece(&self, at: u64) -> Option<(u64, &Piece)> {
        self.pieces.range(..=at).next_back().map(|(&offset, piece)| (offset, piece))
    }
    fn start(&self, at: u64) -> *mut u8 {
        let place = self.piece(at).map(|(offset, piece)| piece.start.wrapping_add((at - offset) as usize));
        place.unwrap_or(std::ptr::null_mut())
    }
    /// First fit, whole pages; gives the offset of zeroed memory.
    fn take(&mut self, bytes: u64, align: u64) -> Option<u64> {
        self.fit(bytes, align).or_else(|| {
            self.grow(bytes.checked_add(align - PAGE)?)?;
            self.fit(bytes, align)
        })
    }
    fn grow(&mut self, bytes: u64) -> Option<()> {
        let bytes = bytes.max((self.reserved / 2).clamp(PIECE_MIN, PIECE_MAX)).next_multiple_of(PAGE);
        let told = |error: std::io::Error| eprintln!("hotlink: no memory for a segment: {error}");
        let offset = self.block.add(bytes).map_err(told).ok()?;
        let start = self.block.piece(offset, bytes).map_err(told).ok()?;
        self.pieces.insert(offset, Piece { start, bytes, fresh: offset });
        self.holes.insert(offset, bytes);
        self.reserved += bytes;
        Some(())
    }
    fn fit(&mut self, bytes: u64, align: u64) -> Option<u64> {
        let aligned = |at: u64| at + ((self.start(at) as u64).next_multiple_of(align) - self.start(at) as u64);
        let mut holes = self.holes.iter().map(|(&at, &len)| (at, len, aligned(at)));
        let fit = holes.find(|&(at, len, start)| start + bytes <= at + len);
        let (at, len, start) = fit?;
        self.holes.remove(&at);
        if start > at {
            self.holes.insert(at, start - at);
        }
        let end = start + bytes;
        if end < at + len {
            self.holes.insert(end, at + len - end);
        }
        let (_, piece) = self.pieces.range_mut(..=start).next_back()?;
        let used = piece.fresh.clamp(start, end) - start;
        piece.fresh = piece.fresh.max(end);
        // SAFETY: a hole is inside a piece of this arena and not in use.
        unsafe { std::ptr::write_bytes(self.start(start), 0, used as usize) };
        Some(start)
    }
    fn give_back(&mut self, at: u64, bytes: u64) {
        if bytes >= 16 * PAGE {
            self.block.punch(at, bytes);
        }
        let (mut at, mut bytes) = (at, bytes);
        // Pieces that follow each other in the block are at different places of this process.
        if let Some((&before, &len)) = self.holes.range(..at).next_back()
            && before + len == at
            && !self.pieces.contains_key(&at)
        {
            self.holes.remove(&before);
            (at, bytes) = (before, bytes + len);
        }
        if !self.pieces.contains_key(&(at + bytes))
            && let Some(len) = self.holes.remove(&(at + bytes))
        {
            bytes += len;
        }
        self.holes.insert(at, bytes);
    }
}

/// Where a block's bytes are.
#[derive(Clone, Copy, Debug)]
enum Place {
    Heap(std::alloc::Layout),
    Arena {
        at: u64,
        bytes: u64,
    },
    /// Lent by another library, which takes it back after it is freed here.
    Foreign,
    /// The program's own, in this process alone: as private as the heap's.
    Lent,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    start: *mut u8,
    bytes: u64,
    place: Place,
}

/// This rank's blocks. A name holds the slot and its generation, so that a freed name is never mistaken for another.
pub(crate) struct Store {
    slots: Vec<(u32, Option<Block>)>,
    vacant: Vec<u32>,
    arena: Option<Arena>,
    vectors: Vec<f64>,
    /// Where in them the next copy of a computation that stresses memory begins.
    stressed: usize,
    threads: Threads,
}

/// Elements of the block of such computations, 128 MiB: no cache holds it.
const STRESSED: usize = 16 << 20;

impl Store {
    pub(crate) fn new(arena: Option<Arena>) -> Store {
        let (slots, vacant, vectors) = (Vec::new(), Vec::new(), Vec::new());
        Store { slots, vacant, arena, vectors, stressed: 0, threads: Threads::default() }
    }
    #[inline]
    fn block(&self, memory: Memory) -> Result<&Block, Refusal> {
        match self.slots.get(memory.0 as u32 as usize) {
            Some((generation, Some(block))) if u64::from(*generation) == memory.0 >> 32 => Ok(block),
            _ => Err(Refusal::Gone),
        }
    }
    pub(crate) fn alloc(&mut self, bytes: u64, kind: Kind, align: Align) -> Result<Memory, Refusal> {
        let align = match align {
            Align::Default => PAGE,
            Align::None => 8,
            Align::Bytes(n) if n.is_power_of_two() && n <= 1 << 30 => n,
            Align::Bytes(n) => return Err(Refusal::Misaligned(n)),
        };
        let block = match (kind, &mut self.arena) {
            (Kind::Ghost, _) | (Kind::Shared, None) => return Err(Refusal::Unsupported),
            (Kind::Private, _) | (Kind::Default, None) => heap_block(bytes, align)?,
            (Kind::Shared | Kind::Default, Some(arena)) => {
                let whole = bytes.max(1).checked_next_multiple_of(PAGE).ok_or(Refusal::NoMemory)?;
                let at = arena.take(whole, align.max(PAGE)).ok_or(Refusal::NoMemory)?;
                Block { start: arena.start(at), bytes, place: Place::Arena { at, bytes: whole } }
            }
        };
        Ok(self.name(block))
    }
    /// Names memory that another library lends.
    ///
    /// # Safety
    /// `bytes` from `start` on are this process's to read and write until the name is freed.
    pub(crate) unsafe fn adopt(&mut self, start: *mut u8, bytes: u64) -> Memory {
        self.name(Block { start, bytes, place: Place::Foreign })
    }
    /// Names private memory that the program lends.
    ///
    /// # Safety
    /// As for [`Lend::lend`].
    pub(crate) unsafe fn lend(&mut self, start: *mut u8, bytes: u64) -> Memory {
        self.name(Block { start, bytes, place: Place::Lent })
    }
    fn name(&mut self, block: Block) -> Memory {
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            self.slots.len() as u32 - 1
        });
        let entry = &mut self.slots[slot as usize];
        entry.1 = Some(block);
        Memory(u64::from(entry.0) << 32 | u64::from(slot))
    }
    pub(crate) fn free(&mut self, memory: Memory) -> Result<(), Refusal> {
        let block = *self.block(memory)?;
        let slot = memory.0 as u32;
        let entry = &mut self.slots[slot as usize];
        *entry = (entry.0.wrapping_add(1), None);
        // A slot whose generations are used up is never used again.
        if entry.0 != 0 {
            self.vacant.push(slot);
        }
        self.release(block);
        Ok(())
    }
    fn release(&mut self, block: Block) {
        match block.place {
            // SAFETY: allocated with this layout, and its name is gone.
            Place::Heap(layout) => unsafe { dealloc(block.start, layout) },
            Place::Foreign | Place::Lent => {}
            Place::Arena { at, bytes } => {
                if let Some(arena) = &mut self.arena {
                    arena.give_back(at, bytes);
                }
            }
        }
    }
    /// Forgets a block without ever giving its memory back: a dead peer may still be named in it.
    pub(crate) fn leak(&mut self, memory: Memory) {
        if self.block(memory).is_ok() {
            let entry = &mut self.slots[memory.0 as u32 as usize];
            *entry = (entry.0.wrapping_add(1), None);
        }
    }
    pub(crate) fn size(&self, memory: Memory) -> Result<u64, Refusal> {
        Ok(self.block(memory)?.bytes)
    }
    pub(crate) fn kind(&self, memory: Memory) -> Result<Kind, Refusal> {
        Ok(match self.block(memory)?.place {
            Place::Heap(_) | Place::Lent => Kind::Private,
            Place::Arena { .. } | Place::Foreign => Kind::Shared,
        })
    }
    /// The place of a regular segment for other processes: its offset in the shared block, its piece, and the piece's
    /// bytes. `None`: it is no such segment.
    pub(crate) fn shared_place(&self, memory: Memory) -> Option<(u64, u64, u64)> {
        let Place::Arena { at, .. } = self.block(memory).ok()?.place else { return None };
        let (piece, about) = self.arena.as_ref()?.piece(at)?;
        Some((at, piece, about.bytes))
    }
    /// Start of the whole block.
    pub(crate) fn start(&self, memory: Memory) -> Result<*mut u8, Refusal> {
        Ok(self.block(memory)?.start)
    }
    /// Address of a span's first byte, its extent checked to lie inside its memory.
    #[inline]
    pub(crate) fn address(&self, span: Span) -> Result<*mut u8, Refusal> {
        self.row(span.memory, span.offset, checked_extent(&span.layout)?)
    }
    /// Address of `bytes` in a row, checked to lie inside their memory.
    #[inline]
    pub(crate) fn row(&self, memory: Memory, offset: u64, bytes: u64) -> Result<*mut u8, Refusal> {
        let block = self.block(memory)?;
        match offset.checked_add(bytes) {
            Some(end) if end <= block.bytes => Ok(block.start.wrapping_add(offset as usize)),
            _ => Err(Refusal::OutOfBounds),
        }
    }
    pub(crate) fn read(&self, memory: Memory, offset: u64, into: &mut [u8]) -> Result<(), Refusal> {
        let from = self.row(memory, offset, into.len() as u64)?;
        // SAFETY: checked to lie inside the block, which no Rust reference points into.
        unsafe { std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
        Ok(())
    }
    pub(crate) fn write(&mut self, memory: Memory, offset: u64, from: &[u8]) -> Result<(), Refusal> {
        let to = self.row(memory, offset, from.len() as u64)?;
        // SAFETY: as for `read`.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
        Ok(())
    }
    /// See [`hotlink_port::Host::combine`].
    pub(crate) fn combine(&mut self, operation: Operation, other: Span, into: Span) -> Result<(), Refusal> {
        operation.check(&other, &into)?;
        let (source, target) = (self.address(other)?, self.address(into)?);
        if (source as u64).abs_diff(target as u64) < into.bytes() {
            return Err(Refusal::OutOfBounds);
        }
        // SAFETY: both lie inside their blocks and do not overlap.
        unsafe { combine(operation, target, source, target, std::ptr::null_mut(), into.bytes()) };
        Ok(())
    }
    #[inline]
    pub(crate) fn copy(&mut self, from: Span, to: Span) -> Result<(), Refusal> {
        let bytes = from.layout.block;
        let blocks = from.layout.count == 1 && to.layout.count == 1 && bytes == to.layout.block;
        if blocks && from.memory != to.memory {
            let source = self.row(from.memory, from.offset, bytes)?;
            let target = self.row(to.memory, to.offset, bytes)?;
            // SAFETY: each inside a block of its own.
            unsafe { copy::row(source, target, bytes) };
            return Ok(());
        }
        self.copy_blocks(from, to)
    }
    fn copy_blocks(&mut self, from: Span, to: Span) -> Result<(), Refusal> {
        let (source, target) = (self.address(from)?, self.address(to)?);
        if from.bytes() != to.bytes() {
            return Err(Refusal::OutOfBounds);
        }
        let (source_end, target_end) = (from.offset + from.layout.extent(), to.offset + to.layout.extent());
        if from.memory == to.memory && from.offset < target_end && to.offset < source_end {
            return Err(Refusal::OutOfBounds);
        }
        // SAFETY: both extents lie inside their blocks and do not overlap; lengths are equal.
        unsafe { copy::copy(source, from.layout, target, to.layout) };
        Ok(())
    }
    /// Unpacks bytes that are not the store's own.
    #[inline]
    pub(crate) fn unpack(&mut self, from: &[u8], to: Span) -> Result<(), Refusal> {
        let target = self.address(to)?;
        if from.len() as u64 != to.bytes() {
            return Err(Refusal::OutOfBounds);
        }
        // SAFETY: the target lies inside its block; no slice points into blocks.
        unsafe { copy::copy(from.as_ptr(), Layout::contiguous(to.bytes()), target, to.layout) };
        Ok(())
    }
    /// The bytes of a contiguous span of private memory; `None` if it has gaps or others may write it.
    pub(crate) fn contiguous(&self, span: Span) -> Result<Option<&[u8]>, Refusal> {
        let start = self.address(span)?;
        if !span.layout.is_contiguous() || self.kind(span.memory)? != Kind::Private {
            return Ok(None);
        }
        // SAFETY: inside the block, which is written only through `&mut self`.
        Ok(Some(unsafe { std::slice::from_raw_parts(start, span.bytes() as usize) }))
    }
    /// Packs a span into memory that is not the store's own.
    #[inline]
    pub(crate) fn pack(&self, from: Span, into: &mut [u8]) -> Result<(), Refusal> {
        let source = self.address(from)?;
        if from.bytes() != into.len() as u64 {
            return Err(Refusal::OutOfBounds);
        }
        // SAFETY: the source lies inside its block; `into` is exclusively the caller's.
        unsafe { copy::copy(source, from.layout, into.as_mut_ptr(), Layout::contiguous(from.bytes())) };
        Ok(())
    }
    pub(crate) fn compute(&mut self, work: Work, clock: &Clock) {
        match work {
            Work::Mark { .. } => {}
            Work::Fixed(time) | Work::Rest(time) => {
                let end = Time(clock.now().0.saturating_add(time.0));
                while clock.now() < end {
                    std::hint::spin_loop();
                }
            }
            Work::Daxpy { elements, turns, threads } => {
                self.threads.daxpy(&mut self.vectors, (elements, turns, threads));
            }
            Work::Stress { bytes } => {
                if self.vectors.len() < STRESSED {
                    self.vectors.resize(STRESSED, 1.0);
                }
                let (x, y) = self.vectors.split_at_mut(STRESSED / 2);
                let mut left = (bytes as usize).div_ceil(size_of::<f64>());
                while left > 0 {
                    // On from where the last copy ended: no part is used again before all others were.
                    let at = self.stressed % y.len().min(x.len());
                    let part = left.min(x.len().min(y.len()) - at);
                    y[at..at + part].copy_from_slice(&x[at..at + part]);
                    std::hint::black_box(&mut *y);
                    (left, self.stressed) = (left - part, at + part);
                }
            }
            Work::Own { .. } => {}
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        for (_, block) in std::mem::take(&mut self.slots) {
            if let Some(block) = block {
                self.release(block);
            }
        }
    }
}

fn heap_block(bytes: u64, align: u64) -> Result<Block, Refusal> {
    let size = usize::try_from(bytes.max(1)).map_err(|_| Refusal::NoMemory)?;
    let layout = std::alloc::Layout::from_size_align(size, align as usize).map_err(|_| Refusal::NoMemory)?;
    // SAFETY: the size is not zero.
    let start = unsafe { alloc_zeroed(layout) };
    if start.is_null() {
        return Err(Refusal::NoMemory);
    }
    Ok(Block { start, bytes, place: Place::Heap(layout) })
}

/// The layout's extent, or a refusal when it is malformed or cannot be added up.
#[inline]
pub(crate) fn checked_extent(layout: &Layout) -> Result<u64, Refusal> {
    if layout.is_contiguous() {
        return layout.block.checked_mul(layout.count).ok_or(Refusal::OutOfBounds);
    }
    if layout.stride < layout.block {
        return Err(Refusal::OutOfBounds);
    }
    let last = (layout.count - 1).checked_mul(layout.stride).ok_or(Refusal::OutOfBounds)?;
    last.checked_add(layout.block).ok_or(Refusal::OutOfBounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_names_are_refused_even_when_memory_is_used_again() {
        let mut store = Store::new(Some(Arena::new(Rc::new(Pool::new(PAGE, 1).unwrap()))));
        for kind in [Kind::Private, Kind::Shared] {
            let first = store.alloc(100, kind, Align::Default).unwrap();
            store.write(first, 0, &[7; 100]).unwrap();
            store.free(first).unwrap();
            let second = store.alloc(100, kind, Align::Default).unwrap();
            let mut seen = [1; 100];
            store.read(second, 0, &mut seen).unwrap();
            assert_eq!(seen, [0; 100], "memory comes zeroed");
            assert_eq!(store.free(first), Err(Refusal::Gone));
            assert_eq!(store.read(first, 0, &mut seen), Err(Refusal::Gone));
            store.free(second).unwrap();
        }
    }

    #[test]
    fn an_arena_gives_back_what_it_got() {
        let mut store = Store::new(Some(Arena::new(Rc::new(Pool::new(PAGE, 1).unwrap()))));
        for round in 0..100u64 {
            let sizes = [1 << 18, 4096 * (round % 7 + 1), 1 << 17, 12345];
            let blocks = sizes.map(|bytes| store.alloc(bytes, Kind::Shared, Align::Default).unwrap());
            blocks.into_iter().for_each(|block| store.free(block).unwrap());
        }
        let reserved = |store: &Store| store.arena.as_ref().unwrap().reserved;
        assert_eq!(reserved(&store), 1 << 20);
        assert!(store.alloc(1 << 20, Kind::Shared, Align::Default).is_ok());
        assert_eq!(reserved(&store), 1 << 20, "all of it came back");
        assert!(store.alloc(1, Kind::Shared, Align::Default).is_ok());
        assert_eq!(reserved(&store), 2 << 20);
    }

    #[test]
    fn segments_reserve_at_most_twice_what_they_hold() {
        let mut store = Store::new(Some(Arena::new(Rc::new(Pool::new(PAGE, 1).unwrap()))));
        let mut held = 0;
        for bytes in (0..40).map(|i| (1 << 16) + i * 777_777) {
            for align in [Align::Default, Align::Bytes(1 << 16)] {
                let memory = store.alloc(bytes, Kind::Shared, align).unwrap();
                assert!(align == Align::Default || (store.start(memory).unwrap() as u64).is_multiple_of(1 << 16));
                held += bytes;
            }
            let reserved = store.arena.as_ref().unwrap().reserved;
            assert!(reserved <= 2 * held + (64 << 20), "{reserved} B for {held} B");
        }
    }

    #[test]
    fn spans_that_leave_their_memory_or_overlap_are_refused() {
        let mut store = Store::new(None);
        let block = store.alloc(64, Kind::Private, Align::None).unwrap();
        let whole = Span::new(block, 0, 64);
        assert_eq!(store.copy(whole, whole), Err(Refusal::OutOfBounds));
        assert_eq!(store.copy(Span::new(block, 0, 33), Span::new(block, 32, 33)), Err(Refusal::OutOfBounds));
        assert_eq!(store.copy(Span::new(block, 0, 32), Span::new(block, 32, 32)), Ok(()));
        let wild = Layout { block: 8, count: u64::MAX, stride: u64::MAX };
        assert_eq!(store.address(Span { memory: block, offset: 0, layout: wild }), Err(Refusal::OutOfBounds));
        assert_eq!(store.address(Span::new(block, u64::MAX, 2)), Err(Refusal::OutOfBounds));
    }
}
