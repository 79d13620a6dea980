//! Local work on the checker's port: memory in cells, exports and imports, each of which may be refused.

use super::port::{Block, CELL, CheckPort};
use hotlink_port::{Align, Attachment, Engine, Host, Key, Kind, Memory, Refusal, Span, Work};

impl Host for CheckPort {
    fn alloc(&mut self, bytes: u64, kind: Kind, _: Align) -> Result<Memory, Refusal> {
        assert!(bytes.is_multiple_of(CELL), "{bytes} B are no cells");
        let kind = if kind == Kind::Default { Kind::Shared } else { kind };
        self.with(|seat| {
            seat.blocks.push(Some(Block { kind, cells: vec![0; (bytes / CELL) as usize] }));
            Ok(Memory(seat.blocks.len() as u64 - 1))
        })
    }
    fn free(&mut self, memory: Memory) -> Result<(), Refusal> {
        let exports: Vec<usize> = self.with(|seat| {
            seat.block(memory)?;
            seat.blocks[memory.0 as usize] = None;
            Ok((0..seat.exports.len()).filter(|&id| seat.exports[id] == Some(memory)).collect())
        })?;
        exports.into_iter().try_for_each(|id| self.unregister(Key { rank: self.rank, id: id as u64, bytes: 0 }))
    }
    fn size(&self, memory: Memory) -> Result<u64, Refusal> {
        self.with(|seat| seat.block(memory).map(|block| block.cells.len() as u64 * CELL))
    }
    fn kind(&self, memory: Memory) -> Result<Kind, Refusal> {
        self.with(|seat| seat.block(memory).map(|block| block.kind))
    }
    fn read(&self, memory: Memory, offset: u64, into: &mut [u8]) -> Result<(), Refusal> {
        let cells = self.with(|seat| seat.pack(&Span::new(memory, offset, into.len() as u64 * CELL)))?;
        into.copy_from_slice(&cells);
        Ok(())
    }
    fn write(&mut self, memory: Memory, offset: u64, from: &[u8]) -> Result<(), Refusal> {
        self.with(|seat| seat.unpack(&Span::new(memory, offset, from.len() as u64 * CELL), from))
    }
    fn copy(&mut self, from: Span, to: Span) -> Result<(), Refusal> {
        self.with(|seat| {
            let cells = seat.pack(&from)?;
            seat.unpack(&to, &cells)
        })
    }
    fn register(&mut self, memory: Memory) -> Result<Key, Refusal> {
        let mut net = self.net();
        let (entries, refuses) = (net.entries, net.happens(|left| &mut left.refuse));
        let seat = &mut net.seats[self.rank as usize];
        let bytes = seat.block(memory)?.cells.len() as u64 * CELL;
        if refuses || seat.exports.iter().flatten().count() >= entries {
            return Err(Refusal::PinLimit);
        }
        seat.exports.push(Some(memory));
        Ok(Key { rank: self.rank, id: seat.exports.len() as u64 - 1, bytes })
    }
    fn unregister(&mut self, key: Key) -> Result<(), Refusal> {
        let mut net = self.net();
        let export = net.seats[self.rank as usize].exports.get_mut(key.id as usize).ok_or(Refusal::Gone)?;
        export.take().ok_or(Refusal::Gone)?;
        for seat in &mut net.seats {
            let found = seat.attached.iter().flatten().find(|other| (other.rank, other.id) == (self.rank, key.id));
            seat.revoked.extend(found.copied());
        }
        Ok(())
    }
    fn attach(&mut self, key: Key, _: Engine) -> Result<Attachment, Refusal> {
        let mut net = self.net();
        let (entries, refuses) = (net.entries, net.happens(|left| &mut left.refuse));
        if net.knows_dead(self.rank as usize, key.rank as usize) {
            return Err(Refusal::PeerGone(key.rank));
        }
        let owner = &net.seats[key.rank as usize];
        owner.exports.get(key.id as usize).copied().flatten().ok_or(Refusal::Gone)?;
        let seat = &mut net.seats[self.rank as usize];
        if refuses || seat.attached.iter().flatten().count() >= entries {
            return Err(Refusal::NoEntries);
        }
        seat.attached.push(Some(key));
        Ok(Attachment(seat.attached.len() as u64 - 1))
    }
    fn detach(&mut self, attachment: Attachment) -> Result<(), Refusal> {
        self.with(|seat| {
            let attached = seat.attached.get_mut(attachment.0 as usize).ok_or(Refusal::Gone)?;
            attached.take().map(|_| ()).ok_or(Refusal::Gone)
        })
    }
    fn compute(&mut self, _: Work) {}
}
