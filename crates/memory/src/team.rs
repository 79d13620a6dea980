//! Processors of one node that run the same loop at once, each on blocks of its own: they meet at the banks.

use crate::dram::Dram;
use crate::kernel::Kernel;
use crate::machine::Machine;
use crate::processor::Processor;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Processors at run time.
pub(crate) struct Team<'m> {
    machine: &'m Machine,
    kernel: Kernel,
    processors: Vec<Processor<'m>>,
}

/// The distance from one processor's blocks to the next one's. A row is added, so that they do not always meet in a
/// bank.
const APART: u64 = 1 << 30;

impl<'m> Team<'m> {
    /// With empty caches; `machine` as one of them has it ([`Machine::shared_by`]).
    pub fn new(machine: &'m Machine, kernel: Kernel, processors: u32) -> Team<'m> {
        let row = machine.dram.row;
        let apart = APART / row * row + row;
        let one = |at| Processor::at(machine, kernel.streams(), u64::from(at) * apart);
        Team { machine, kernel, processors: (0..processors.max(1)).map(one).collect() }
    }

    /// When the last of them is done with all that it did.
    pub fn now(&self) -> u64 {
        self.processors.iter().map(|processor| processor.now).max().unwrap_or(0)
    }

    /// A pass of the loop on each, begun together; the time until the last is done. `meanwhile` brings what else uses
    /// the memory up to the time that it is given.
    pub fn pass(&mut self, dram: &mut Dram, mut meanwhile: impl FnMut(&mut Dram, u64)) -> u64 {
        let (start, turns) = (self.now(), self.kernel.turns());
        for processor in &mut self.processors {
            processor.now = start;
            if let Kernel::Copy { stride, .. } | Kernel::Pack { stride, .. } = self.kernel {
                processor.call(stride);
            }
        }
        let first = |(at, processor): (usize, &Processor<'_>)| Reverse((processor.now, at, 0));
        let mut next: BinaryHeap<_> = self.processors.iter().enumerate().map(first).collect();
        // Whoever is behind goes next: the banks are asked in the order of time.
        while let Some(Reverse((now, at, turn))) = next.pop() {
            let processor = &mut self.processors[at];
            if turn == turns {
                processor.finish(dram);
                continue;
            }
            meanwhile(dram, now);
            self.kernel.turn(turn, self.machine, processor, dram);
            next.push(Reverse((processor.now, at, turn + 1)));
        }
        self.now() - start
    }
}

/// A pass of the loop on each of this many processors after one before, in picoseconds.
pub(crate) fn together(machine: &Machine, kernel: Kernel, processors: u32) -> u64 {
    let machine = machine.shared_by(processors);
    let (mut team, mut dram) = (Team::new(&machine, kernel, processors), Dram::new(&machine.dram));
    team.pass(&mut dram, |_, _| {});
    team.pass(&mut dram, |_, _| {})
}
