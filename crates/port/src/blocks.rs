//! Memory of ranks that live in one process: blocks of bytes, or of only a length ([`Kind::Ghost`]). The loopback and
//! the simulated ports keep it for each rank, and add the costs of exports and imports.

use crate::{Align, Kind, Layout, Memory, Refusal, Span};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

/// Bytes of a page.
pub const PAGE: u64 = 4 << 10;
/// What a heap keeps before a block: two words of a 32-bit machine, by analogy with the C libraries of W01's time.
const HEAP: u64 = 8;

/// Memory that somebody else keeps, another process, say: a port moves its bytes as if they were a block's own.
pub trait Elsewhere {
    /// The packed bytes of a layout from byte `offset`.
    ///
    /// # Errors
    /// They cannot be reached.
    fn pack(&self, offset: u64, layout: &Layout) -> Result<Vec<u8>, Refusal>;
    /// Puts packed bytes there.
    ///
    /// # Errors
    /// As [`Elsewhere::pack`].
    fn unpack(&self, offset: u64, layout: &Layout, bytes: &[u8]) -> Result<(), Refusal>;
}

/// Where a block's bytes are.
enum Data {
    /// Here; empty for ghosts.
    Here(Vec<u8>),
    Elsewhere(Rc<dyn Elsewhere>),
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self, Data::Here(_)) { "Here" } else { "Elsewhere" })
    }
}

#[derive(Debug)]
struct Block {
    bytes: u64,
    kind: Kind,
    /// Bytes from a page's start to the block's.
    place: u64,
    data: Data,
}

/// One rank's memory. Names are given out once and never again.
#[derive(Debug, Default)]
pub struct Blocks {
    blocks: BTreeMap<u64, Block>,
    next: u64,
}

impl Blocks {
    /// A block of zeros; `kind` is never [`Kind::Default`].
    ///
    /// # Errors
    /// An alignment that is no power of two; more than this machine has.
    pub fn alloc(&mut self, bytes: u64, kind: Kind, align: Align) -> Result<Memory, Refusal> {
        if let Align::Bytes(n) = align
            && !n.is_power_of_two()
        {
            return Err(Refusal::Misaligned(n));
        }
        let data = if kind == Kind::Ghost { Vec::new() } else { zeros(bytes)? };
        // A heap's block follows the heap's own words.
        let place = match align {
            Align::Default => 0,
            Align::None => HEAP,
            Align::Bytes(n) => HEAP.next_multiple_of(n) % PAGE,
        };
        Ok(self.name(Block { bytes, kind, place, data: Data::Here(data) }))
    }
    /// A block whose bytes somebody else keeps. It counts as aligned to a page.
    pub fn lodge(&mut self, bytes: u64, kind: Kind, with: Rc<dyn Elsewhere>) -> Memory {
        self.name(Block { bytes, kind, place: 0, data: Data::Elsewhere(with) })
    }
    fn name(&mut self, block: Block) -> Memory {
        self.next += 1;
        self.blocks.insert(self.next, block);
        Memory(self.next)
    }
    /// Bytes from a page's start ([`PAGE`]) to the block's. They are zero where the port chose the alignment, and a
    /// heap's two words where any address was allowed.
    ///
    /// # Errors
    /// It is gone.
    pub fn place(&self, memory: Memory) -> Result<u64, Refusal> {
        Ok(self.block(memory)?.place)
    }
    /// Forgets a block.
    ///
    /// # Errors
    /// It is gone already.
    pub fn free(&mut self, memory: Memory) -> Result<(), Refusal> {
        self.blocks.remove(&memory.0).map(|_| ()).ok_or(Refusal::Gone)
    }
    fn block(&self, memory: Memory) -> Result<&Block, Refusal> {
        self.blocks.get(&memory.0).ok_or(Refusal::Gone)
    }
    /// Its bytes.
    ///
    /// # Errors
    /// It is gone.
    pub fn size(&self, memory: Memory) -> Result<u64, Refusal> {
        Ok(self.block(memory)?.bytes)
    }
    /// Its kind.
    ///
    /// # Errors
    /// It is gone.
    pub fn kind(&self, memory: Memory) -> Result<Kind, Refusal> {
        Ok(self.block(memory)?.kind)
    }
    /// Whether a span lies within its block.
    ///
    /// # Errors
    /// It does not, or the block is gone.
    pub fn check(&self, span: &Span) -> Result<(), Refusal> {
        inside(self.block(span.memory)?.bytes, span.offset, &span.layout)
    }
    /// The packed bytes of a span; `None` for ghosts.
    ///
    /// # Errors
    /// The span leaves its block, or the block is gone.
    pub fn pack(&self, span: &Span) -> Result<Option<Vec<u8>>, Refusal> {
        let block = self.block(span.memory)?;
        inside(block.bytes, span.offset, &span.layout)?;
        if block.kind == Kind::Ghost {
            return Ok(None);
        }
        let data = match &block.data {
            Data::Here(data) => data,
            Data::Elsewhere(with) => return with.pack(span.offset, &span.layout).map(Some),
        };
        let mut packed = Vec::with_capacity(span.bytes() as usize);
        for (at, len) in span.layout.runs(0, span.bytes()) {
            let start = (span.offset + at) as usize;
            packed.extend_from_slice(&data[start..start + len as usize]);
        }
        Ok(Some(packed))
    }
    /// Puts packed bytes into a span; no bytes, or a ghost's span: nothing but the check.
    ///
    /// # Errors
    /// The span leaves its block, or the block is gone.
    pub fn unpack(&mut self, span: &Span, bytes: Option<&[u8]>) -> Result<(), Refusal> {
        let block = self.blocks.get_mut(&span.memory.0).ok_or(Refusal::Gone)?;
        inside(block.bytes, span.offset, &span.layout)?;
        let Some(bytes) = bytes.filter(|_| block.kind != Kind::Ghost) else { return Ok(()) };
        let data = match &mut block.data {
            Data::Here(data) => data,
            Data::Elsewhere(with) => return with.unpack(span.offset, &span.layout, bytes),
        };
        let mut taken = 0;
        for (at, len) in span.layout.runs(0, span.bytes()) {
            let (start, len) = ((span.offset + at) as usize, len as usize);
            data[start..start + len].copy_from_slice(&bytes[taken..taken + len]);
            taken += len;
        }
        Ok(())
    }
    /// Fills `into` from byte `offset`.
    ///
    /// # Errors
    /// As [`Blocks::pack`]; a ghost has nothing to read.
    pub fn read(&self, memory: Memory, offset: u64, into: &mut [u8]) -> Result<(), Refusal> {
        let block = self.block(memory)?;
        inside(block.bytes, offset, &Layout::contiguous(into.len() as u64))?;
        if block.kind == Kind::Ghost {
            return Err(Refusal::Unsupported);
        }
        match &block.data {
            Data::Here(data) => into.copy_from_slice(&data[offset as usize..offset as usize + into.len()]),
            Data::Elsewhere(with) => {
                into.copy_from_slice(&with.pack(offset, &Layout::contiguous(into.len() as u64))?);
            }
        }
        Ok(())
    }
    /// Copies the bytes of `from`, in order, to the bytes of `to`.
    ///
    /// # Errors
    /// As [`Blocks::pack`]; different lengths; spans that overlap.
    pub fn copy(&mut self, from: &Span, to: &Span) -> Result<(), Refusal> {
        self.check(from)?;
        let end = |span: &Span| span.offset + span.layout.extent();
        let overlap = from.memory == to.memory && to.offset < end(from) && from.offset < end(to);
        if from.bytes() != to.bytes() || overlap {
            return Err(Refusal::OutOfBounds);
        }
        let bytes = self.pack(from)?;
        self.unpack(to, bytes.as_deref())
    }
}

fn zeros(bytes: u64) -> Result<Vec<u8>, Refusal> {
    let bytes = usize::try_from(bytes).map_err(|_| Refusal::NoMemory)?;
    // Zeros from the system cost nothing until they are touched; what cannot be had at all is refused.
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| Refusal::NoMemory)?;
    Ok(vec![0; bytes])
}

/// Whether a layout from byte `offset` lies within `bytes` bytes.
///
/// # Errors
/// [`Refusal::OutOfBounds`] if it does not, or if its blocks overlap.
pub fn inside(bytes: u64, offset: u64, layout: &Layout) -> Result<(), Refusal> {
    let malformed = !layout.is_contiguous() && layout.stride < layout.block;
    let last = layout.count.saturating_sub(1).checked_mul(layout.stride);
    let end = last.and_then(|last| last.checked_add(layout.block)).and_then(|end| end.checked_add(offset));
    let end = if layout.block == 0 || layout.count == 0 { Some(offset) } else { end };
    if malformed || end.is_none_or(|end| end > bytes) { Err(Refusal::OutOfBounds) } else { Ok(()) }
}
