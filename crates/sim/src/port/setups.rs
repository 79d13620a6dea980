//! A rank's exports and imports, within the adapter's limits (W01 slides 7 to 10).

use hotlink_port::{Attachment, Engine, Key, Memory, Rank, Refusal, RegistrationLimits};
use std::collections::BTreeMap;

#[derive(Debug)]
struct Export {
    memory: Memory,
    bytes: u64,
    pinned: u64,
    /// The ranks that have imported it.
    importers: Vec<Rank>,
}

/// Imported memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Import {
    pub key: Key,
    pub engine: Engine,
    entries: u64,
}

/// What a rank has set up.
#[derive(Debug, Default)]
pub(super) struct Setups {
    exports: BTreeMap<u64, Export>,
    imports: BTreeMap<u64, Import>,
    pinned: u64,
    entries: u64,
    next: u64,
}

impl Setups {
    /// Exports memory of this many bytes; `pin`: bytes of the pages that must be pinned for it.
    pub fn export(
        &mut self,
        (memory, bytes): (Memory, u64),
        pin: u64,
        limits: &RegistrationLimits,
    ) -> Result<u64, Refusal> {
        if limits.pinned_bytes.is_some_and(|most| pin > most - self.pinned) {
            return Err(Refusal::PinLimit);
        }
        self.pinned += pin;
        self.next += 1;
        self.exports.insert(self.next, Export { memory, bytes, pinned: pin, importers: Vec::new() });
        Ok(self.next)
    }
    /// Ends an export; gives its memory's size, what of it was pinned, and who had imported it.
    pub fn unexport(&mut self, id: u64) -> Result<(u64, u64, Vec<Rank>), Refusal> {
        let export = self.exports.remove(&id).ok_or(Refusal::Gone)?;
        self.pinned -= export.pinned;
        Ok((export.bytes, export.pinned, export.importers))
    }
    /// The exports of a memory.
    pub fn exports_of(&self, memory: Memory) -> Vec<u64> {
        self.exports.iter().filter(|(_, export)| export.memory == memory).map(|(&id, _)| id).collect()
    }
    /// The memory of an export.
    pub fn exported(&self, id: u64) -> Option<Memory> {
        self.exports.get(&id).map(|export| export.memory)
    }
    /// Notes an importer.
    pub fn imported_by(&mut self, id: u64, rank: Rank) {
        if let Some(export) = self.exports.get_mut(&id)
            && !export.importers.contains(&rank)
        {
            export.importers.push(rank);
        }
    }
    /// Imports memory; a mapping takes address translation entries, a connection none.
    pub fn import(&mut self, key: Key, engine: Engine, limits: &RegistrationLimits) -> Result<Attachment, Refusal> {
        let entries = if engine == Engine::Pio { key.bytes.div_ceil(limits.entry_bytes) } else { 0 };
        if limits.entries.is_some_and(|most| entries > most - self.entries) {
            return Err(Refusal::NoEntries);
        }
        self.entries += entries;
        self.next += 1;
        self.imports.insert(self.next, Import { key, engine, entries });
        Ok(Attachment(self.next))
    }
    /// Ends an import.
    pub fn unimport(&mut self, attachment: Attachment) -> Result<Import, Refusal> {
        let import = self.imports.remove(&attachment.0).ok_or(Refusal::Gone)?;
        self.entries -= import.entries;
        Ok(import)
    }
    /// What was imported.
    pub fn imported(&self, attachment: Attachment) -> Option<Import> {
        self.imports.get(&attachment.0).copied()
    }
}
