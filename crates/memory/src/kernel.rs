//! What a program does with memory.

use crate::WORD;
use crate::dram::Dram;
use crate::machine::Machine;
use crate::processor::{Counts, Processor};
use hotlink_fabric::units::Time;

/// A program's loop over memory, a word each turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kernel {
    /// Contiguous loads, stores `stride` words apart that begin `offset` bytes after a page's start.
    Copy {
        /// Payload.
        bytes: u64,
        /// Words from one store to the next.
        stride: u64,
        /// Offset of the first store.
        offset: u64,
    },
    /// Loads `stride` words apart, contiguous stores.
    Pack {
        /// Payload.
        bytes: u64,
        /// Words from one load to the next.
        stride: u64,
    },
    /// Contiguous loads.
    Read {
        /// Payload.
        bytes: u64,
    },
    /// Contiguous stores.
    Write {
        /// Payload.
        bytes: u64,
    },
    /// Multiply-adds over two vectors: two loads and a store each.
    Daxpy {
        /// Length of a vector.
        elements: u64,
        /// Time of the processor for each, with all data at hand.
        each: Time,
    },
}

/// Where the second block begins: pages away from the first, and one row further. Blocks of a machine without
/// translation then do not always meet in a bank.
fn second(machine: &Machine) -> u64 {
    (1 << 40) / machine.dram.row * machine.dram.row + machine.dram.row
}

impl Kernel {
    /// Turns of the loop.
    pub(crate) fn turns(&self) -> u64 {
        match *self {
            Kernel::Copy { bytes, .. }
            | Kernel::Pack { bytes, .. }
            | Kernel::Read { bytes }
            | Kernel::Write { bytes } => bytes.div_ceil(WORD),
            Kernel::Daxpy { elements, .. } => elements,
        }
    }

    /// The same loop of this many turns.
    pub(crate) fn of_turns(self, turns: u64) -> Kernel {
        let bytes = turns * WORD;
        match self {
            Kernel::Copy { stride, offset, .. } => Kernel::Copy { bytes, stride, offset },
            Kernel::Pack { stride, .. } => Kernel::Pack { bytes, stride },
            Kernel::Read { .. } => Kernel::Read { bytes },
            Kernel::Write { .. } => Kernel::Write { bytes },
            Kernel::Daxpy { each, .. } => Kernel::Daxpy { elements: turns, each },
        }
    }

    /// Streams that it reads in order.
    pub(crate) fn streams(&self) -> u32 {
        if matches!(self, Kernel::Daxpy { .. }) { 2 } else { 1 }
    }

    /// One turn.
    pub(crate) fn turn(&self, turn: u64, machine: &Machine, processor: &mut Processor<'_>, dram: &mut Dram) {
        let (first, second) = (turn * WORD, second(machine));
        match *self {
            Kernel::Copy { bytes, stride, offset } => {
                processor.load(dram, first);
                let to = second + offset + turn * stride.max(1) * WORD;
                if stride <= 1 && machine.ahead.is_some_and(|ahead| bytes >= ahead.past_from) {
                    return processor.store_past(dram, to);
                }
                processor.store(dram, to);
                let last = to + WORD - 1;
                // A word across two lines is two stores.
                if last / machine.line != to / machine.line {
                    processor.store(dram, last);
                }
            }
            Kernel::Pack { stride, .. } => {
                processor.load(dram, first * stride.max(1));
                processor.store(dram, second + first);
            }
            Kernel::Read { .. } => processor.load(dram, first),
            Kernel::Write { .. } => processor.store(dram, first),
            Kernel::Daxpy { each, .. } => {
                processor.load(dram, first);
                processor.load(dram, second + first);
                processor.store(dram, second + first);
                processor.compute(each.0.saturating_sub(3 * machine.issue_ps()));
            }
        }
    }

    /// One pass of the loop; the time that it took.
    pub(crate) fn pass(&self, machine: &Machine, processor: &mut Processor<'_>, dram: &mut Dram) -> u64 {
        let start = processor.now;
        if let Kernel::Copy { stride, .. } | Kernel::Pack { stride, .. } = self {
            processor.call(*stride);
        }
        for turn in 0..self.turns() {
            self.turn(turn, machine, processor, dram);
        }
        processor.finish(dram) - start
    }

    /// A pass that finds a block of `bytes` at its destination in the caches, and nothing else, in picoseconds.
    pub(crate) fn at_destination(&self, machine: &Machine, bytes: u64) -> u64 {
        let (mut processor, mut dram) = (Processor::new(machine, self.streams()), Dram::new(&machine.dram));
        for word in 0..bytes / WORD {
            processor.store(&mut dram, second(machine) + word * WORD);
        }
        processor.finish(&mut dram);
        self.pass(machine, &mut processor, &mut dram)
    }

    /// A pass after `warm` (nothing: empty caches), in picoseconds, and the counts of its accesses.
    pub(crate) fn run(&self, machine: &Machine, warm: &[Kernel]) -> (u64, Counts) {
        let (mut processor, mut dram) = (Processor::new(machine, self.streams()), Dram::new(&machine.dram));
        for kernel in warm {
            kernel.pass(machine, &mut processor, &mut dram);
        }
        let before = processor.counts(&dram);
        let took = self.pass(machine, &mut processor, &mut dram);
        (took, processor.counts(&dram).since(&before))
    }
}
