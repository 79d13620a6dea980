//! The values of one machine's memory system.

use crate::parameters::Parameters;
use hotlink_fabric::ledger::Unfit;
use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::units::Time;

/// One level of cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Bytes it holds.
    pub size: u64,
    /// Lines of one set.
    pub ways: u64,
    /// Time to read or write a line that it holds.
    pub line_time: Time,
}

/// Address translation of the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Pages that it knows at a time.
    pub entries: u64,
    /// Their places for one page: all of them where the page may be in any.
    pub ways: u64,
    /// Bytes of a page.
    pub page: u64,
    /// Time to look up a page that it does not know.
    pub miss: Time,
}

/// A processor that goes on while lines arrive from its caches, as out-of-order processors do.
///
/// Each cache delivers one line after the other. The processor waits only where the most lines are under way. Its last
/// of three caches is shared: any line of a set makes room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// Time of a load or store of a word by itself. Words of a block move several at a time, as the first cache's line
    /// time says.
    pub word: Time,
    /// Fixed time of a call that copies a block.
    pub copy_call: Time,
    /// Fixed time of a call that scatters words.
    pub scatter_call: Time,
    /// Blocks of at least this size are copied by stores that bypass the caches.
    pub past_from: u64,
    /// Whether a line that comes from memory brings the other one of its pair into the last cache.
    pub pairs: bool,
    /// Whether the shared cache finds its sets by all bits of an address, rather than by the low ones.
    pub hashes: bool,
    /// Time of a line read from or written to memory where words share lines, because the processor prefetches the next
    /// ones. `None` where it is the memory's own time.
    pub stream: Option<Time>,
    /// Lines that stores prefetch. A line that had to leave its set before this many others had arrived is fetched once
    /// more.
    pub stores: u64,
    /// What that takes, after all lines under way.
    pub again: Time,
}

/// The memory chips and their controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dram {
    /// Bytes of the row that a bank holds open.
    pub row: u64,
    /// Banks, each with an open row.
    pub banks: u64,
    /// From a request to its first data, the row being open.
    pub open: Time,
    /// The same beyond that, where another row must be closed and this one opened.
    pub opening: Time,
    /// Time that a line takes of the data path when it is read.
    pub read: Time,
    /// The same of a line or a part of one that is written.
    pub write: Time,
    /// Requests that the controller works on at a time.
    pub requests: u64,
}

/// Between the memory and the host bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bridge {
    /// From a transaction on the bus to its request at the memory: decoding, both clocks, the check of the caches.
    pub time: Time,
    /// Lines that it fetches ahead of the bus.
    pub lines: u64,
}

/// The memory system of one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Bytes of a line.
    pub line: u64,
    /// From the nearest to the processor.
    pub caches: Vec<Level>,
    /// `None` where programs use the memory's own addresses.
    pub translation: Option<Translation>,
    /// The memory.
    pub dram: Dram,
    /// The part of a request's latency between processor and memory, there and back.
    pub path: Time,
    /// Lines under way between processor and memory.
    pub misses: u64,
    /// `None` where the processor waits for each line that a cache delivers.
    pub ahead: Option<Ahead>,
    /// Whether a store that misses fetches its line first.
    pub allocates: bool,
    /// Lines of stores that wait where stores do not allocate.
    pub write_buffers: u64,
    /// What a line takes instead of the memory's time where the one after it was fetched ahead.
    pub read_ahead: Option<Time>,
    /// `None` where adapters do not sit behind a bus.
    pub bridge: Option<Bridge>,
}

/// The third cache is one that cores share.
pub(crate) const SHARED: usize = 2;

/// Names of the parameters of each level of cache, from the nearest.
pub const LEVELS: [[&str; 3]; 3] = [
    ["l1_size", "l1_ways", "l1_line_time"],
    ["l2_size", "l2_ways", "l2_line_time"],
    ["l3_size", "l3_ways", "l3_line_time"],
];

/// Those of [`Translation`], [`Ahead`] and [`Bridge`]: all of a group, or none.
const TRANSLATION: &[&str] = &["tlb_entries", "tlb_ways", "tlb_page", "tlb_miss_time"];
const AHEAD: &[&str] = &[
    "cache_word_time",
    "copy_call_time",
    "scatter_call_time",
    "copy_past_from",
    "memory_pairs",
    "stores_ahead",
    "store_again_time",
];
const BRIDGE: &[&str] = &["bridge_time", "bridge_lines"];
/// What every machine needs.
const ALWAYS: &[&str] = &[
    "memory_line_time",
    "memory_row",
    "memory_banks",
    "memory_open_time",
    "memory_row_time",
    "memory_write_time",
    "memory_requests",
    "memory_path_time",
    "memory_misses",
    "memory_allocate",
];

impl Machine {
    /// Whether a fabric says anything of its machines' memory: any value that only the memory system has.
    pub fn is_stated(fabric: &FabricSpec) -> bool {
        let groups = [ALWAYS, TRANSLATION, AHEAD, BRIDGE].into_iter().chain(LEVELS.iter().map(|level| &level[..]));
        groups.flatten().any(|name| fabric.parameters.contains_key(name))
    }

    /// The values that a fabric's machines state.
    ///
    /// # Errors
    /// The first that is missing or out of range.
    pub fn new(parameters: Parameters<'_>) -> Result<Machine, Unfit> {
        let line = parameters.line("memory_line")?;
        let mut caches = Vec::new();
        for level @ [size, ways, time] in LEVELS {
            if parameters.any(&level) {
                let (size, ways) = (parameters.cache(size)?, parameters.buffers(ways)?);
                caches.push(Level { size, ways, line_time: parameters.time(time)? });
            }
        }
        let ahead = match parameters.any(AHEAD) {
            false => None,
            true => Some(Ahead {
                word: parameters.time("cache_word_time")?,
                copy_call: parameters.time("copy_call_time")?,
                scatter_call: parameters.time("scatter_call_time")?,
                past_from: parameters.capacity("copy_past_from")?,
                pairs: parameters.clocks("memory_pairs")? > 0,
                hashes: !parameters.has("l3_hashes") || parameters.clocks("l3_hashes")? > 0,
                stream: parameters.time_if("memory_stream_time")?,
                stores: parameters.count("stores_ahead")?,
                again: parameters.time("store_again_time")?,
            }),
        };
        let translation = match parameters.any(TRANSLATION) {
            false => None,
            true => Some(Translation {
                entries: parameters.buffers("tlb_entries")?,
                ways: parameters.buffers("tlb_ways")?,
                page: parameters.line("tlb_page")?,
                miss: parameters.time("tlb_miss_time")?,
            }),
        };
        let bridge = match parameters.any(BRIDGE) {
            false => None,
            true => Some(Bridge { time: parameters.time("bridge_time")?, lines: parameters.buffers("bridge_lines")? }),
        };
        let dram = Dram {
            row: parameters.line("memory_row")?,
            banks: parameters.buffers("memory_banks")?,
            open: parameters.time("memory_open_time")?,
            opening: parameters.time("memory_row_time")?,
            read: parameters.time("memory_line_time")?,
            write: parameters.time("memory_write_time")?,
            requests: parameters.buffers("memory_requests")?,
        };
        let allocates = parameters.clocks("memory_allocate")? > 0;
        Ok(Machine {
            line,
            caches,
            translation,
            dram,
            path: parameters.time("memory_path_time")?,
            misses: parameters.buffers("memory_misses")?,
            ahead,
            allocates,
            write_buffers: if allocates { 1 } else { parameters.buffers("write_buffers")? },
            read_ahead: parameters.time_if("memory_read_ahead_time")?,
            bridge,
        })
    }

    /// The machine as one of this many busy processors has it: each has its part of a shared cache.
    pub(crate) fn shared_by(&self, processors: u32) -> Machine {
        let mut machine = self.clone();
        if let (Some(_), Some(level)) = (machine.ahead, machine.caches.get_mut(SHARED)) {
            level.size = (level.size / u64::from(processors.max(1))).max(machine.line);
        }
        machine
    }

    /// Bytes of the largest cache; 0 without.
    pub fn largest_cache(&self) -> u64 {
        self.caches.iter().map(|level| level.size).max().unwrap_or(0)
    }

    /// Time of one load or store of a word that the nearest cache holds.
    pub(crate) fn issue_ps(&self) -> u64 {
        self.caches.first().map_or(0, |level| level.line_time.0 * crate::WORD / self.line)
    }
}
