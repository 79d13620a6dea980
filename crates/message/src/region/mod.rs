//! Regions: memory of one rank that others reach, after the shared-memory interface (SMI) under W01.
//!
//! | W01 | here |
//! |---|---|
//! | region types: shared, REMOTE, RDMA | [`RegionType`] |
//! | collective, point-to-point, individual regions | [`Comm::region`], [`Comm::region_between`], [`Comm::region_export`] and [`Comm::region_import`] |
//! | `SMI_Memcpy` (PIO), `SMI_Put`, `SMI_Get` (waits) | [`Region::put`], [`Region::get`] |
//! | `SMI_Imemcpy`, `SMI_Iput`, `SMI_Iget` (DMA if possible), `SMI_Memwait` | [`Region::iput`], [`Region::iget`], [`Comm::wait`] |
//! | dynamic allocation in segments | [`Region::alloc`], [`Region::free`] |
//! | state of a memory range | [`Region::state`], [`Comm::state`] |
//! | callback when a remote segment goes away | [`Comm::on_revoked`] |
//!
//! ```
//! use hotlink_message::{Comm, Error, RegionSource, RegionType};
//! use hotlink_port::{Kind, Layout, Port, Span};
//!
//! /// Rank 0 owns a region of 4 KiB; all others put a word of their own into it.
//! async fn program<P: Port>(comm: Comm<P>) -> Result<(), Error> {
//!     let region = comm.region(0, RegionType::Shared, RegionSource::New(4096)).await?;
//!     let word = comm.alloc(8, Kind::Default)?;
//!     region.put(Span::new(word, 0, 8), u64::from(comm.rank()) * 8, Layout::contiguous(8)).await?;
//!     comm.barrier().await?;
//!     region.close().await
//! }
//! ```

mod heap;
mod setup;

pub use setup::RegionSource;

use crate::onesided::Move;
use crate::{Comm, Error, Request};
use heap::Heap;
use hotlink_port::{Align, Attachment, Engine, Key, Kind, Layout, Memory, Port, Rank, Refusal, RemoteSpan, Span};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;

/// How a region is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RegionType {
    /// A regular segment that the others map: by the processor's stores and by DMA.
    Shared,
    /// Memory of any kind that the others map (REMOTE). Refused where the port cannot map that kind.
    Remote,
    /// Memory of any kind that the others only connect to: DMA alone (RDMA). User memory can be such a region without
    /// ever being mapped.
    Rdma,
}

impl RegionType {
    /// The engine that an import of such a region prepares.
    fn engine(self) -> Engine {
        if self == RegionType::Rdma { Engine::Dma } else { Engine::Pio }
    }
}

/// Memory of one rank that this rank can reach. Close it: see [`Region::close`].
pub struct Region<P: Port> {
    comm: Comm<P>,
    region_type: RegionType,
    key: Key,
    place: Place,
    heap: RefCell<Heap>,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    /// This rank owns it; `new`: the region allocated it.
    Own { memory: Memory, new: bool },
    /// Imported.
    There(Attachment),
}

/// The state of a range of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeState {
    /// Its owner.
    pub owner: Rank,
    /// It can be stored to by the processor.
    pub mapped: bool,
    /// DMA can reach it.
    pub connected: bool,
    /// It is registered: DMA and other ranks may use it without a further registration.
    pub registered: bool,
    /// A persistent request keeps it registered.
    pub held: bool,
    /// Regular segment (true) or ordinary memory; of another rank's memory only known if it is mapped.
    pub regular: bool,
    /// Its owner took it away.
    pub gone: bool,
    /// Bytes of the range that are allocated by [`Region::alloc`] here.
    pub allocated: u64,
}

impl<P: Port> Region<P> {
    /// The owner of the memory.
    pub fn owner(&self) -> Rank {
        self.key.rank
    }
    /// Its bytes.
    pub fn bytes(&self) -> u64 {
        self.key.bytes
    }
    /// The key that another rank needs to import it ([`Comm::region_import`]).
    pub fn key(&self) -> Key {
        self.key
    }
    /// At its owner: the memory itself.
    pub fn memory(&self) -> Option<Memory> {
        match self.place {
            Place::Own { memory, .. } => Some(memory),
            Place::There(_) => None,
        }
    }
    /// Allocates `bytes` inside the region; returns the offset. Each rank keeps its own account. So either one rank
    /// manages a region and sends offsets, or all make the same calls in the same order and get the same offsets.
    ///
    /// # Errors
    /// No part is large enough; an alignment that is no power of two.
    pub fn alloc(&self, bytes: u64, align: Align) -> Result<u64, Error> {
        let align = match align {
            Align::Default => 64,
            Align::None => 1,
            Align::Bytes(bytes) => bytes,
        };
        Ok(self.heap.borrow_mut().alloc(bytes, align)?)
    }
    /// Frees what was allocated at `at`.
    ///
    /// # Errors
    /// Nothing was.
    pub fn free(&self, at: u64) -> Result<(), Error> {
        Ok(self.heap.borrow_mut().free(at)?)
    }

    /// Puts `from` at byte `at` in `layout`, and waits until it is visible there: by the processor where the region is
    /// mapped.
    pub async fn put(&self, from: Span, at: u64, layout: Layout) -> Result<(), Error> {
        let request = self.start(Move::Put, from, at, layout, false).await?;
        self.comm.wait(request).await.map(|_| ())
    }
    /// Gets the bytes of `layout` at byte `at` into `to`.
    pub async fn get(&self, at: u64, layout: Layout, to: Span) -> Result<(), Error> {
        let request = self.start(Move::Get, to, at, layout, false).await?;
        self.comm.wait(request).await.map(|_| ())
    }
    /// Starts a put: by DMA if possible.
    pub async fn iput(&self, from: Span, at: u64, layout: Layout) -> Result<Request, Error> {
        self.start(Move::Put, from, at, layout, true).await
    }
    /// Starts a get: by DMA if possible.
    pub async fn iget(&self, at: u64, layout: Layout, to: Span) -> Result<Request, Error> {
        self.start(Move::Get, to, at, layout, true).await
    }
    async fn start(&self, way: Move, here: Span, at: u64, layout: Layout, dma: bool) -> Result<Request, Error> {
        let attachment = match self.place {
            Place::Own { memory, .. } => {
                let there = Span { memory, offset: at, layout };
                match way {
                    Move::Put => self.comm.copy(here, there)?,
                    Move::Get => self.comm.copy(there, here)?,
                }
                return Ok(Request::over());
            }
            Place::There(attachment) => attachment,
        };
        let there = RemoteSpan { attachment, offset: at, layout };
        let engine = self.engine(way, &here, &there, dma);
        self.comm.transfer(way, self.key.rank, (here, there), engine).await
    }
    /// The engine that moves the data of [`Region::put`].
    pub fn mover(&self, from: Span, at: u64, layout: Layout) -> Engine {
        match self.place {
            Place::Own { .. } => Engine::Pio,
            Place::There(attachment) => {
                let there = RemoteSpan { attachment, offset: at, layout };
                self.engine(Move::Put, &from, &there, false)
            }
        }
    }
    /// The engine that moves the data: the processor if it may and is asked to, else DMA if that is possible as asked.
    fn engine(&self, way: Move, here: &Span, there: &RemoteSpan, dma: bool) -> Engine {
        let limits = self.comm.limits();
        let claim = if matches!(way, Move::Put) { limits.deposit } else { limits.fetch };
        let Some(claim) = claim else { return Engine::Dma };
        let pio = claim.pio && self.region_type != RegionType::Rdma;
        let aligned = [here.offset, there.offset, here.layout.block, there.layout.block]
            .iter()
            .all(|bytes| bytes.is_multiple_of(claim.dma_align));
        let strided = claim.strided || there.layout.is_contiguous();
        if pio && !(dma && claim.dma && aligned && strided) { Engine::Pio } else { Engine::Dma }
    }

    /// The state of `bytes` from byte `at` on.
    ///
    /// # Errors
    /// The range leaves the region.
    pub fn state(&self, at: u64, bytes: u64) -> Result<RangeState, Error> {
        if at.checked_add(bytes).is_none_or(|end| end > self.key.bytes) {
            return Err(Refusal::OutOfBounds.into());
        }
        let allocated = self.heap.borrow().used_in(at, bytes);
        if let Place::Own { memory, .. } = self.place {
            let state = self.comm.state(memory, at, bytes)?;
            return Ok(RangeState { registered: true, connected: true, allocated, ..state });
        }
        let watch = self.comm.engine.borrow().watched.get(&(self.key.rank, self.key.id)).copied();
        let gone = watch.is_none_or(|(_, gone)| gone);
        let mapped = self.region_type != RegionType::Rdma;
        Ok(RangeState {
            owner: self.key.rank,
            mapped: mapped && !gone,
            connected: !gone,
            registered: !gone,
            held: false,
            regular: self.region_type == RegionType::Shared,
            gone,
            allocated,
        })
    }
}

impl<P: Port> Comm<P> {
    /// The state of `bytes` of this rank's own memory from byte `at` on. It is W01's query, by which a zero-copy
    /// protocol decides which registration is possible.
    ///
    /// # Errors
    /// The range leaves the memory, or the memory is gone.
    pub fn state(&self, memory: Memory, at: u64, bytes: u64) -> Result<RangeState, Error> {
        let engine = self.engine.borrow();
        if at.checked_add(bytes).is_none_or(|end| engine.port.size(memory).is_ok_and(|size| end > size)) {
            return Err(Refusal::OutOfBounds.into());
        }
        let kind = engine.port.kind(memory)?;
        let (registered, held) = engine.setup.state_of(memory);
        let limits = engine.port.limits();
        let needs = limits.deposit.is_some_and(|claim| claim.dma_needs_registration) && kind == Kind::Private;
        Ok(RangeState {
            owner: self.rank(),
            mapped: true,
            connected: limits.deposit.is_some() && (registered || !needs),
            registered,
            held,
            regular: kind == Kind::Shared,
            gone: false,
            allocated: 0,
        })
    }
}
