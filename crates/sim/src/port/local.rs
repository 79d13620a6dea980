//! What a rank's processor and memory take for local work.

use crate::host::{Host, Memory};
use hotlink_fabric::ledger::{Inputs, Missing};
use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::units::{Rate, Time};
use hotlink_port::{Layout, Work};

/// Bytes of a line where the memory system is not known: a stride cannot waste more of a copy than this.
const LINE: u64 = 64;

/// A processor and its memory.
#[derive(Clone, Debug)]
pub(super) struct Local {
    /// The memory system, line by line, where the catalog knows it.
    memory: Option<Memory>,
    /// Of a contiguous copy; not used where the memory system is known.
    copy_rate: Rate,
    /// Time of a multiply-add.
    multiply_add_ps: Result<u64, Missing>,
    /// Time of an update of a word in no order.
    update: Result<Time, Missing>,
}

/// How far apart a layout's blocks are, in blocks.
fn stride(layout: &Layout) -> u64 {
    if layout.is_contiguous() { 1 } else { layout.stride.div_ceil(layout.block.max(1)) }
}

impl Local {
    pub fn new(spec: &FabricSpec, inputs: &Inputs<'_>) -> Result<Local, Missing> {
        let memory = Host::new(spec).ok().map(|host| host.memory().clone());
        // A copy reads, fetches and writes each line: a third of the memory's rate.
        let rate = inputs.stated("copy_rate").or_else(|| inputs.stated("memory_rate").map(|rate| rate / 3.0));
        let copy_rate = match (rate, &memory) {
            (Some(rate), _) => Rate(rate as u64),
            (None, Some(_)) => Rate(0),
            (None, None) => return Err(inputs.missing("copy_rate")),
        };
        let clock = inputs.stated("cpu_clock").map(|clock| clock.max(1e6));
        // A load, a store and a miss of the first-level cache.
        let update = inputs.stated("update_time").or(clock.map(|clock| 12e12 / clock));
        Ok(Local {
            memory,
            copy_rate,
            multiply_add_ps: clock.map(|clock| (2e12 / clock) as u64).ok_or_else(|| inputs.missing("cpu_clock")),
            update: update.map(|ps| Time(ps as u64)).ok_or_else(|| inputs.missing("update_time")),
        })
    }
    /// Rate of a large contiguous copy.
    pub fn copy_rate(&self) -> Rate {
        let block = Layout::contiguous(1 << 20);
        Rate(((1u128 << 20) * 1_000_000_000_000 / u128::from(self.copy(&block, &block).0.max(1))) as u64)
    }
    /// A message taken from where the adapter put it to a layout in a block of `held` bytes.
    pub fn take(&self, to: &Layout, held: u64) -> Time {
        match &self.memory {
            Some(memory) if to.bytes() > 0 => memory.copy_arrived(to.bytes(), stride(to), held),
            _ => self.copy(&Layout::contiguous(to.bytes()), to),
        }
    }
    /// A copy of a block of which no cache holds anything.
    pub fn copy_cold(&self, bytes: u64) -> Time {
        self.memory.as_ref().map_or_else(|| self.copy_rate.time_for(bytes), |memory| memory.copy_uncached(bytes, 1, 0))
    }
    /// A block read to add its checksum up; nothing where the memory is not known line by line: adapters of later
    /// generations add it up themselves.
    pub fn checksum(&self, bytes: u64) -> Time {
        self.memory.as_ref().map_or(Time::ZERO, |memory| memory.read(bytes))
    }
    /// A copy from one layout to another, both from the start of a line.
    pub fn copy(&self, from: &Layout, to: &Layout) -> Time {
        self.copy_at((from, 0), (to, 0))
    }
    /// A copy from one layout to another, each so many bytes after the start of a line.
    pub fn copy_at(&self, (from, from_offset): (&Layout, u64), (to, to_offset): (&Layout, u64)) -> Time {
        let bytes = to.bytes();
        if bytes == 0 {
            return Time::ZERO;
        }
        // The more scattered side decides: each of its lines moves whole for the few bytes used of it.
        let (stride, offset) = (stride(from), from_offset).max((stride(to), to_offset));
        match &self.memory {
            Some(memory) => memory.copy_at(bytes, stride, offset),
            None => {
                let waste = stride.min(LINE / 8);
                self.copy_rate.time_for(bytes.saturating_mul(1 + waste) / 2)
            }
        }
    }
    /// A computation.
    ///
    /// # Errors
    /// The processor is not known well enough for it.
    pub fn work(&self, work: Work) -> Result<Time, Missing> {
        Ok(match work {
            Work::Fixed(time) => time,
            Work::Daxpy { elements, repeats } => {
                // Two loads and a store for each element, a copy and a half; or the processor's own pace.
                let block = Layout::contiguous(8 * elements);
                let memory = self.copy(&block, &block).0 / 2 * 3;
                let multiply_add_ps = self.multiply_add_ps.clone()?;
                Time(memory.max(elements.saturating_mul(multiply_add_ps)).saturating_mul(repeats))
            }
            Work::Own { streamed, scattered } => {
                // A copy's reads and writes are two streams.
                let block = Layout::contiguous(streamed / 2);
                let updates = if scattered == 0 { 0 } else { self.update.clone()?.0.saturating_mul(scattered) };
                self.copy(&block, &block) + Time(updates)
            }
        })
    }
}
