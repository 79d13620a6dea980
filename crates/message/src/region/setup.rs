//! How regions come to be and go.

use super::heap::Heap;
use super::{Place, Region, RegionType};
use crate::{Combine, Comm, Element, Error, Operation, Tag};
use hotlink_port::{Key, Kind, Memory, Port, Rank, Refusal, Span};
use std::cell::RefCell;

/// Tag of messages among a region's ranks, apart from the program's by its context.
const KEYS: Tag = 100;
const KEY_BYTES: u64 = 32;

/// The memory of a region, at its owner; that of other ranks is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionSource {
    /// That many bytes, allocated for it: a regular segment, or ordinary memory for [`RegionType::Rdma`] where the port
    /// has no segments.
    New(u64),
    /// This memory, which stays the program's.
    Existing(Memory),
}

impl<P: Port> Comm<P> {
    /// A collective region: every rank calls it; the memory is that of `owner`.
    ///
    /// # Errors
    /// On every rank if any rank could not set it up.
    pub async fn region(&self, owner: Rank, region_type: RegionType, source: RegionSource) -> Result<Region<P>, Error> {
        if owner >= self.ranks() {
            return Err(Refusal::NoRank.into());
        }
        let board = self.alloc(KEY_BYTES, Kind::Default)?;
        let span = Span::new(board, 0, KEY_BYTES);
        let own = (self.rank() == owner).then(|| self.region_export(region_type, source));
        if let Some(own) = &own {
            self.write_key(board, own.as_ref().ok().map(Region::key))?;
        }
        self.bcast(owner, span).await?;
        let mine = match own {
            Some(own) => own,
            None => match self.read_key(board)? {
                Some(key) => self.region_import(region_type, key),
                None => Err(Refusal::Unsupported.into()),
            },
        };
        // All or none: the largest of 0 (done) and 1 (not).
        self.write(board, 0, &i64::from(mine.is_err()).to_le_bytes())?;
        let worst = Operation { combine: Combine::Max, element: Element::I64 };
        self.allreduce(worst, Span::new(board, 0, 8), Span::new(board, 8, 8)).await?;
        let mut failed = [0; 8];
        self.read(board, 8, &mut failed)?;
        self.free(board)?;
        match (mine, failed != [0; 8]) {
            (Ok(region), true) => {
                region.release()?;
                Err(Refusal::Unsupported.into())
            }
            (mine, _) => mine,
        }
    }
    /// A region between two ranks: only `owner` and `other` call it.
    ///
    /// # Errors
    /// On both if either could not set it up.
    pub async fn region_between(
        &self,
        owner: Rank,
        other: Rank,
        region_type: RegionType,
        source: RegionSource,
    ) -> Result<Region<P>, Error> {
        let peer = if self.rank() == owner { other } else { owner };
        if peer == self.rank() || peer >= self.ranks() {
            return Err(Refusal::NoRank.into());
        }
        let board = self.alloc(KEY_BYTES, Kind::Default)?;
        let span = Span::new(board, 0, KEY_BYTES);
        let mine = if self.rank() == owner {
            let own = self.region_export(region_type, source);
            self.write_key(board, own.as_ref().ok().map(Region::key))?;
            self.tell(peer, KEYS, span).await?;
            self.receive_for(peer, KEYS, span).await?;
            own
        } else {
            self.receive_for(peer, KEYS, span).await?;
            let there = match self.read_key(board)? {
                Some(key) => self.region_import(region_type, key),
                None => Err(Refusal::Unsupported.into()),
            };
            self.write_key(board, there.as_ref().ok().map(Region::key))?;
            self.tell(peer, KEYS, span).await?;
            there
        };
        let agreed = self.read_key(board)?.is_some();
        self.free(board)?;
        match (mine, agreed) {
            (Ok(region), false) => {
                region.release()?;
                Err(Refusal::Unsupported.into())
            }
            (mine, _) => mine,
        }
    }
    /// An individual region of this rank's own: its [`Region::key`] goes to others by whatever way the program likes.
    pub fn region_export(&self, region_type: RegionType, source: RegionSource) -> Result<Region<P>, Error> {
        let (memory, new) = match source {
            RegionSource::New(bytes) => (self.alloc(bytes, self.kind_for(region_type))?, true),
            RegionSource::Existing(memory) => (memory, false),
        };
        let exported = self.export_as(region_type, memory);
        if exported.is_err() && new {
            self.free(memory)?;
        }
        let key = exported?;
        let heap = RefCell::new(Heap::new(key.bytes));
        Ok(Region { comm: self.clone(), region_type, key, place: Place::Own { memory, new }, heap })
    }
    fn kind_for(&self, region_type: RegionType) -> Kind {
        if self.limits().segments || region_type == RegionType::Shared { Kind::Shared } else { Kind::Private }
    }
    fn export_as(&self, region_type: RegionType, memory: Memory) -> Result<Key, Error> {
        let private = self.with_port(|port| port.kind(memory))? == Kind::Private;
        let mappable = self.limits().registration.private_mappable;
        let wrong = match region_type {
            RegionType::Shared => private,
            RegionType::Remote => private && !mappable,
            RegionType::Rdma => false,
        };
        if wrong { Err(Refusal::Unsupported.into()) } else { self.export(memory) }
    }
    /// Imports an individual region by its key.
    pub fn region_import(&self, region_type: RegionType, key: Key) -> Result<Region<P>, Error> {
        let attachment = self.import(key, region_type.engine())?;
        self.engine.borrow_mut().watched.entry((key.rank, key.id)).or_default().0 += 1;
        let heap = RefCell::new(Heap::new(key.bytes));
        Ok(Region { comm: self.clone(), region_type, key, place: Place::There(attachment), heap })
    }
    fn write_key(&self, board: Memory, key: Option<Key>) -> Result<(), Error> {
        let words = key.map_or([0; 4], |key| [1, u64::from(key.rank), key.id, key.bytes]);
        self.write(board, 0, words.map(u64::to_le_bytes).as_flattened())
    }
    fn read_key(&self, board: Memory) -> Result<Option<Key>, Error> {
        let mut bytes = [0; KEY_BYTES as usize];
        self.read(board, 0, &mut bytes)?;
        let word = |i: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[i * 8 + k]));
        Ok((word(0) == 1).then(|| Key { rank: word(1) as Rank, id: word(2), bytes: word(3) }))
    }
}

impl<P: Port> Region<P> {
    /// Closes a collective region: every rank calls it. No rank reaches the memory afterwards.
    pub async fn close(self) -> Result<(), Error> {
        self.comm.barrier().await?;
        self.release()
    }
    /// Ends this rank's part in a region. An owner that does so takes the memory away from all ranks that still have it
    /// imported: their transfers fail, and their [`Comm::on_revoked`] is called.
    pub fn release(self) -> Result<(), Error> {
        match self.place {
            Place::There(attachment) => {
                let engine = &mut *self.comm.engine.borrow_mut();
                let name = (self.key.rank, self.key.id);
                if let Some(watch) = engine.watched.get_mut(&name) {
                    watch.0 -= 1;
                    if watch.0 == 0 {
                        engine.watched.remove(&name);
                    }
                }
                Ok(engine.port.detach(attachment)?)
            }
            Place::Own { memory, new: true } => self.comm.free(memory),
            Place::Own { .. } => Ok(self.comm.with_port(|port| port.unregister(self.key))?),
        }
    }
}
