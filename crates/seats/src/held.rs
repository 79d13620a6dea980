//! Memory of a rank's process by name: what the port allocated, and what the program lends.
#![allow(unsafe_code)]

use hotlink_port::{Align, Kind, Memory, Refusal};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;

const PAGE: u64 = 4096;

struct Block {
    start: u64,
    bytes: u64,
    kind: Kind,
    /// Allocated here, so.
    own: Option<Layout>,
    /// The desk knows it.
    told: bool,
}

/// See the module. Names are given out once and never again.
#[derive(Default)]
pub(crate) struct Held {
    blocks: BTreeMap<u64, Block>,
    /// Lent memory by its start: its end, and its name. None lies within another.
    lent: BTreeMap<u64, (u64, u64)>,
    next: u64,
}

impl Held {
    fn block(&self, memory: Memory) -> Result<&Block, Refusal> {
        self.blocks.get(&memory.0).ok_or(Refusal::Gone)
    }
    fn name(&mut self, block: Block) -> Memory {
        self.next += 1;
        self.blocks.insert(self.next, block);
        Memory(self.next)
    }
    /// Zeros; `kind` is one that the port has.
    pub(crate) fn alloc(&mut self, bytes: u64, kind: Kind, align: Align) -> Result<Memory, Refusal> {
        let align = match align {
            Align::Default => PAGE,
            Align::None => 8,
            Align::Bytes(n) if n.is_power_of_two() => n,
            Align::Bytes(n) => return Err(Refusal::Misaligned(n)),
        };
        let size = usize::try_from(bytes.max(1)).map_err(|_| Refusal::NoMemory)?;
        let layout = Layout::from_size_align(size, align as usize).map_err(|_| Refusal::NoMemory)?;
        // SAFETY: the layout is not empty.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            return Err(Refusal::NoMemory);
        }
        Ok(self.name(Block { start: start as u64, bytes, kind, own: Some(layout), told: false }))
    }
    /// The program's memory: under the name of what it lent before, if it lies within that. Gives where in it.
    pub(crate) fn lend(&mut self, start: u64, bytes: u64) -> (Memory, u64) {
        let end = start.saturating_add(bytes);
        // Since none lies within another, the last that begins at or before it reaches furthest.
        if let Some((&from, &(to, name))) = self.lent.range(..=start).next_back()
            && end <= to
        {
            return (Memory(name), start - from);
        }
        let within: Vec<u64> =
            self.lent.range(start..).take_while(|lent| lent.1.0 <= end).map(|lent| *lent.0).collect();
        within.iter().for_each(|start| _ = self.lent.remove(start));
        let memory = self.name(Block { start, bytes, kind: Kind::Private, own: None, told: false });
        self.lent.insert(start, (end, memory.0));
        (memory, 0)
    }
    /// Forgets it; whether the desk knew it.
    pub(crate) fn free(&mut self, memory: Memory) -> Result<bool, Refusal> {
        let block = self.blocks.remove(&memory.0).ok_or(Refusal::Gone)?;
        match block.own {
            // SAFETY: allocated with this layout, and its name is gone.
            Some(layout) => unsafe { dealloc(block.start as *mut u8, layout) },
            None => {
                if self.lent.get(&block.start).is_some_and(|lent| lent.1 == memory.0) {
                    self.lent.remove(&block.start);
                }
            }
        }
        Ok(block.told)
    }
    pub(crate) fn size(&self, memory: Memory) -> Result<u64, Refusal> {
        Ok(self.block(memory)?.bytes)
    }
    pub(crate) fn kind(&self, memory: Memory) -> Result<Kind, Refusal> {
        Ok(self.block(memory)?.kind)
    }
    /// What the desk must hear of a memory before it is used: start, bytes, and whether it is private.
    pub(crate) fn untold(&mut self, memory: Memory) -> Option<[u64; 3]> {
        let block = self.blocks.get_mut(&memory.0).filter(|block| !block.told)?;
        block.told = true;
        Some([block.start, block.bytes, u64::from(block.kind == Kind::Private)])
    }
    fn row(&self, memory: Memory, offset: u64, bytes: u64) -> Result<*mut u8, Refusal> {
        let block = self.block(memory)?;
        let fits = offset.checked_add(bytes).is_some_and(|end| end <= block.bytes);
        if fits { Ok((block.start + offset) as *mut u8) } else { Err(Refusal::OutOfBounds) }
    }
    pub(crate) fn start(&self, memory: Memory) -> Result<*mut u8, Refusal> {
        self.row(memory, 0, 0)
    }
    pub(crate) fn read(&self, memory: Memory, offset: u64, into: &mut [u8]) -> Result<(), Refusal> {
        let from = self.row(memory, offset, into.len() as u64)?;
        // SAFETY: inside the block, which is allocated here or the program's, who keeps it while it is lent.
        unsafe { std::ptr::copy(from, into.as_mut_ptr(), into.len()) };
        Ok(())
    }
    pub(crate) fn write(&mut self, memory: Memory, offset: u64, from: &[u8]) -> Result<(), Refusal> {
        let to = self.row(memory, offset, from.len() as u64)?;
        // SAFETY: as for `read`.
        unsafe { std::ptr::copy(from.as_ptr(), to, from.len()) };
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let names: Vec<u64> = self.blocks.keys().copied().collect();
        names.into_iter().for_each(|name| _ = self.free(Memory(name)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lent_memory_keeps_its_name_while_something_wider_is_not_lent() {
        let mut held = Held::default();
        let (whole, at) = held.lend(1000, 100);
        assert_eq!((held.lend(1000, 100), at), ((whole, 0), 0));
        assert_eq!(held.lend(1040, 60), (whole, 40));
        assert_eq!(held.size(whole), Ok(100));
        // Beyond its end, and around it.
        let (later, _) = held.lend(1050, 100);
        assert_ne!(later, whole);
        let (wider, _) = held.lend(900, 1000);
        assert_eq!(held.lend(1000, 100), (wider, 100));
        assert_eq!(held.lend(1100, 50), (wider, 200));
        assert_eq!(held.untold(wider), Some([900, 1000, 1]));
        assert_eq!((held.untold(wider), held.free(wider), held.free(later)), (None, Ok(true), Ok(false)));
        assert_ne!(held.lend(1000, 100).0, wider);
    }

    #[test]
    fn memory_of_its_own_is_zeros_and_has_ends() {
        let mut held = Held::default();
        let memory = held.alloc(16, Kind::Private, Align::Default).unwrap();
        assert_eq!(held.start(memory).unwrap() as u64 % PAGE, 0);
        held.write(memory, 8, &[7; 8]).unwrap();
        let mut seen = [1; 16];
        held.read(memory, 0, &mut seen).unwrap();
        assert_eq!((seen[0], seen[15]), (0, 7));
        assert_eq!(held.write(memory, 9, &[0; 8]), Err(Refusal::OutOfBounds));
        assert_eq!((held.free(memory), held.free(memory)), (Ok(false), Err(Refusal::Gone)));
        assert_eq!(held.alloc(8, Kind::Private, Align::Bytes(3)), Err(Refusal::Misaligned(3)));
    }
}
