//! What a rank's processor and memory take for local work.

use crate::host::Memory;
use hotlink_fabric::ledger::{Inputs, Unfit};
use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::technology::Technology;
use hotlink_fabric::units::{Rate, Time};
use hotlink_memory::Kernel;
use hotlink_port::{Layout, Work};

/// A processor and its memory.
#[derive(Clone, Debug)]
pub(super) struct Local {
    /// The memory system, line by line, where the catalog knows it.
    memory: Option<Memory>,
    /// Rate of a contiguous copy; not used where the memory system is known.
    copy_rate: Rate,
    /// The adapter's own processor works: what it takes stays in its memory, and only combining data takes time.
    of_adapter: bool,
    /// The machine and whose assumptions hold: what only some programs need is asked for when they do.
    machine: (FabricSpec, &'static Technology),
}

/// A copy that no cache holds, whose rate that of a longer one is.
const STREAM: u64 = 64 << 20;

/// How far apart a layout's blocks are, in blocks.
fn stride(layout: &Layout) -> u64 {
    if layout.is_contiguous() { 1 } else { layout.stride.div_ceil(layout.block.max(1)) }
}

impl Local {
    /// The processor and memory of `spec`, with the assumptions of `technology`.
    ///
    /// # Errors
    /// Nothing is stated of the memory system, and no rate of a copy; or the memory system is stated in part.
    pub fn new(spec: &FabricSpec, technology: &'static Technology) -> Result<Local, Unfit> {
        let memory = Memory::stated(spec)?;
        let copy_rate = match &memory {
            Some(_) => Rate(0),
            None => Rate(Inputs::of_technology(spec, technology).require("copy_rate")? as u64),
        };
        Ok(Local { memory, copy_rate, of_adapter: false, machine: (spec.clone(), technology) })
    }
    /// The adapter's own processor.
    pub fn of_adapter(spec: &FabricSpec, technology: &'static Technology) -> Local {
        Local { memory: None, copy_rate: Rate(0), of_adapter: true, machine: (spec.clone(), technology) }
    }
    fn inputs(&self) -> Inputs<'_> {
        Inputs::of_technology(&self.machine.0, self.machine.1)
    }
    /// Picoseconds of this many clocks of the processor.
    fn clocks(&self, name: &str) -> Result<f64, Unfit> {
        let inputs = self.inputs();
        Ok(1e12 * inputs.require(name)? / inputs.require("cpu_clock")?.max(1e6))
    }
    /// Share of a registration's time that its end takes.
    pub fn unregister_share(&self) -> f64 {
        self.inputs().require("unregister_share").expect("an assumption of any technology")
    }
    /// Time of an update of a word in no order.
    fn update(&self) -> Result<Time, Unfit> {
        let inputs = self.inputs();
        let stated = inputs.stated("update_time").map_or_else(|| self.clocks("update_clocks"), Ok);
        // Neither: the time itself is what a calibration gives.
        stated.map(|ps| Time(ps as u64)).map_err(|_| inputs.missing("update_time"))
    }
    /// Rate of a contiguous copy of that many bytes.
    pub fn copy_rate(&self, bytes: u64) -> Rate {
        let block = Layout::contiguous(bytes);
        Rate((u128::from(bytes) * 1_000_000_000_000 / u128::from(self.copy(&block, &block).0.max(1))) as u64)
    }
    /// A message taken from where the adapter put it to a layout in a block of `held` bytes.
    pub fn take(&self, to: &Layout, held: u64) -> Time {
        match &self.memory {
            Some(memory) if to.bytes() > 0 => memory.copy_arrived(to.bytes(), stride(to), held),
            _ => self.copy(&Layout::contiguous(to.bytes()), to),
        }
    }
    /// A copy of a block that no cache holds.
    pub fn copy_cold(&self, bytes: u64) -> Time {
        self.memory.as_ref().map_or_else(|| self.copy_rate.time_for(bytes), |memory| memory.copy_uncached(bytes, 1, 0))
    }
    /// Time to read a block for its checksum. It is zero where the memory is not modelled line by line, because
    /// adapters of later generations compute the checksum.
    pub fn checksum(&self, bytes: u64) -> Time {
        self.memory.as_ref().map_or(Time::ZERO, |memory| memory.read(bytes))
    }
    /// A copy from one layout to another, both from the start of a line.
    pub fn copy(&self, from: &Layout, to: &Layout) -> Time {
        self.copy_at((from, 0), (to, 0))
    }
    /// A copy from one layout to another, each at this offset from the start of a line.
    pub fn copy_at(&self, (from, from_offset): (&Layout, u64), (to, to_offset): (&Layout, u64)) -> Time {
        let bytes = to.bytes();
        if bytes == 0 || self.of_adapter {
            return Time::ZERO;
        }
        // The more scattered side decides: each of its lines moves whole for the few bytes used of it.
        let (stride, offset) = (stride(from), from_offset).max((stride(to), to_offset));
        match &self.memory {
            Some(memory) => memory.copy_at(bytes, stride, offset),
            None => {
                // A stride cannot waste more of a copy than a line.
                let line = || self.inputs().require("memory_line").expect("an assumption of any technology") as u64;
                let waste = if stride > 1 { stride.min((line() / 8).max(1)) } else { stride };
                self.copy_rate.time_for(bytes.saturating_mul(1 + waste) / 2)
            }
        }
    }
    /// The processors that this many threads keep busy.
    fn processors(&self, threads: u32) -> u32 {
        let has = || self.inputs().require("host_processors").expect("an assumption of any technology") as u32;
        if threads > 1 { threads.min(has()).max(1) } else { 1 }
    }
    /// What a computation does with memory, and on how many processors; nothing where it uses none, or where the memory is
    /// not known.
    pub fn kernel(&self, work: Work) -> Option<(&Memory, Kernel, u32)> {
        let mut processors = 1;
        let kernel = match work {
            Work::Fixed(_) | Work::Rest(_) | Work::Mark { .. } => return None,
            Work::Daxpy { elements, threads, .. } => {
                processors = self.processors(threads);
                Kernel::Daxpy { elements, each: Time(self.clocks("multiply_add_clocks").ok()? as u64) }
            }
            Work::Stress { .. } => Kernel::Copy { bytes: STREAM, stride: 1, offset: 0 },
            // In steps of a doubling: what decides is which cache holds it.
            Work::Own { streamed, .. } => {
                Kernel::Copy { bytes: (streamed / 2).next_power_of_two(), stride: 1, offset: 0 }
            }
        };
        Some((self.memory.as_ref()?, kernel, processors))
    }
    /// A computation.
    ///
    /// # Errors
    /// The processor is not known well enough for it.
    pub fn work(&self, work: Work) -> Result<Time, Unfit> {
        Ok(match work {
            Work::Fixed(time) | Work::Rest(time) => time,
            Work::Mark { .. } => Time::ZERO,
            Work::Daxpy { elements, turns, threads } => {
                let (threads, processors) = (threads.max(1), self.processors(threads));
                let each = Time(self.clocks("multiply_add_clocks")? as u64);
                let pass = match &self.memory {
                    Some(memory) => memory.run_on(processors, Kernel::Daxpy { elements, each }).0,
                    // Two loads and a store for each element are a copy and a half. The processors use the memory one
                    // after the other, or each at its own pace.
                    None => {
                        let block = Layout::contiguous(8 * elements);
                        let copies = (self.copy(&block, &block).0 / 2 * 3).saturating_mul(u64::from(processors));
                        copies.max(elements.saturating_mul(each.0))
                    }
                };
                // Threads beyond the processors take turns.
                let all = u128::from(pass) * u128::from(turns) * u128::from(threads) / u128::from(processors);
                Time((all / u128::from(elements.max(1))) as u64)
            }
            Work::Stress { bytes } => {
                let long = Layout::contiguous(STREAM);
                Time((u128::from(self.copy(&long, &long).0) * u128::from(bytes) / u128::from(STREAM)) as u64)
            }
            // Two operands and a result of 8 bytes each.
            Work::Own { streamed, .. } if self.of_adapter => {
                let inputs = self.inputs();
                let each = 1e12 * inputs.require("nic_combine_clocks")? / inputs.require("nic_clock")?.max(1e6);
                Time((each * streamed as f64 / 24.0) as u64)
            }
            Work::Own { streamed, scattered } => {
                // A copy's reads and writes are two streams.
                let block = Layout::contiguous(streamed / 2);
                let updates = if scattered == 0 { 0 } else { self.update()?.0.saturating_mul(scattered) };
                self.copy(&block, &block) + Time(updates)
            }
        })
    }
}
