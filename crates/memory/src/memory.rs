//! The memory system as others use it: times of copies, reads and computations, alone and during a transfer.

use crate::beside::{self, Flow, Slowed};
use crate::kernel::Kernel;
use crate::machine::Machine;
use crate::parameters::Parameters;
use crate::processor::Counts;
use crate::team;
use hotlink_fabric::ledger::Unfit;
use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::units::Time;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// What the caches hold when a loop begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Before {
    /// What it left there itself: it was run before.
    Itself,
    /// Nothing of it: an adapter has put it into memory.
    Nothing,
    /// A block of this many bytes at its destination.
    Destination(u64),
    /// What it left there itself; so many processors run it at once, each on blocks of its own.
    Together(u32),
}

/// Times that were asked for, in picoseconds.
type Known = BTreeMap<(Kernel, Before), u64>;
/// How loops on so many processors and transfers slow each other down.
type Beside = BTreeMap<(Kernel, u32, Flow), Slowed>;

/// The memory system of one machine. Clones share their computed times.
#[derive(Clone, Debug)]
pub struct Memory {
    machine: Arc<Machine>,
    known: Arc<Mutex<Known>>,
    slowed: Arc<Mutex<Beside>>,
    /// Time of the processor to read a line of many, in picoseconds.
    line_ps: u64,
    /// The same where stores on their path to the bus hold all of its other buffers.
    line_alone_ps: u64,
}

/// Machines whose times are kept.
const MADE_BEFORE: usize = 32;
/// A loop with more turns than this continues as it does between half of this and this, where caches are not larger.
const LONG: u64 = 32 << 10;
/// Up to this many turns each length is run by itself. From there on eight lengths of each doubling are run, with lines
/// between them.
const EACH: u64 = 512;

impl Memory {
    /// The memory system that a fabric's machines have.
    ///
    /// # Errors
    /// The first value that is missing or out of range.
    pub fn of(fabric: &FabricSpec) -> Result<Memory, Unfit> {
        Ok(Memory::new(Machine::new(Parameters(fabric))?))
    }

    /// The same; none where the fabric says nothing of its machines' memory ([`Machine::is_stated`]).
    ///
    /// # Errors
    /// It says some of it, and not enough.
    pub fn stated(fabric: &FabricSpec) -> Result<Option<Memory>, Unfit> {
        Machine::is_stated(fabric).then(|| Memory::of(fabric)).transpose()
    }

    /// The memory of a machine. An earlier one for the same machine shares its computed times. A sweep has many
    /// simulations of a machine, and each loop is stepped through only once.
    pub fn new(machine: Machine) -> Memory {
        static MADE: Mutex<VecDeque<Memory>> = Mutex::new(VecDeque::new());
        let made = || MADE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = made().iter().find(|known| *known.machine == machine) {
            return known.clone();
        }
        let memory = Memory::made(machine);
        let mut made = made();
        made.push_back(memory.clone());
        // The last of a calibration's many.
        if made.len() > MADE_BEFORE {
            made.pop_front();
        }
        memory
    }

    fn made(machine: Machine) -> Memory {
        let lines = 256;
        let line = |machine: &Machine| Kernel::Read { bytes: lines * machine.line }.run(machine, &[]).0 / lines;
        let (line_ps, line_alone_ps) = (line(&machine), line(&Machine { misses: 1, ..machine.clone() }));
        Memory { line_ps, line_alone_ps, machine: Arc::new(machine), known: Arc::default(), slowed: Arc::default() }
    }

    /// Its values.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Bytes of a line.
    pub fn line(&self) -> u64 {
        self.machine.line
    }

    /// Time to copy `bytes` from contiguous memory to words `stride` words apart, from the start of a line.
    pub fn copy(&self, bytes: u64, stride: u64) -> Time {
        self.copy_at(bytes, stride, 0)
    }

    /// The same to words that begin `offset` bytes after the start of a line.
    pub fn copy_at(&self, bytes: u64, stride: u64, offset: u64) -> Time {
        self.time(self.copying(bytes, stride, offset), Before::Itself)
    }

    /// The same where no cache holds anything of it: after DMA or a deposit engine has put the block into memory.
    pub fn copy_uncached(&self, bytes: u64, stride: u64, offset: u64) -> Time {
        self.time(self.copying(bytes, stride, offset), Before::Nothing)
    }

    /// Time to copy `bytes` that an adapter has put into memory, whose lines no cache holds. The destination is words
    /// `stride` words apart in a block of `held` bytes that the program has used before.
    pub fn copy_arrived(&self, bytes: u64, stride: u64, held: u64) -> Time {
        // What does not fit is as if nothing had been there.
        let fits = held.saturating_mul(2) <= self.machine.largest_cache();
        let before = if fits { Before::Destination(held.max(bytes)) } else { Before::Nothing };
        self.time(self.copying(bytes, stride, 0), before)
    }

    /// Time of a loop that has been run before.
    pub fn run(&self, kernel: Kernel) -> Time {
        self.time(kernel, Before::Itself)
    }

    /// Time of a loop that has been run before, on so many processors at once, each on blocks of its own.
    pub fn run_on(&self, processors: u32, kernel: Kernel) -> Time {
        self.time(kernel, if processors > 1 { Before::Together(processors) } else { Before::Itself })
    }

    /// The counts of a loop's accesses, after a first pass or with empty caches.
    pub fn counts(&self, kernel: Kernel, cached: bool) -> Counts {
        let kernel = kernel.of_turns(kernel.turns().min(self.long()));
        kernel.run(&self.machine, if cached { std::slice::from_ref(&kernel) } else { &[] }).1
    }

    /// Time to read `bytes` of a long block from memory, a part of a line at its share.
    pub fn read(&self, bytes: u64) -> Time {
        Time((bytes * self.line_ps).div_ceil(self.machine.line))
    }

    /// The same while the processor stores what it reads to an adapter. Lines that wait for memory share its buffers
    /// with combined stores that wait for the bus, so one line is under way at a time.
    pub fn read_to_store(&self, bytes: u64) -> Time {
        Time((bytes * self.line_alone_ps).div_ceil(self.machine.line))
    }

    /// Time that an engine at the memory takes to read what is one line or a part of one, its row open.
    pub fn read_line(&self) -> Time {
        self.machine.dram.open + self.machine.dram.read
    }

    /// Time that an engine at the memory takes to store what is one line or a part of one, its row open.
    pub fn store_line(&self) -> Time {
        self.machine.dram.open + self.machine.dram.write
    }

    /// Time that the memory takes for each word that an adapter or an engine stores, `stride` words apart. The larger
    /// the stride, the more words open a row.
    pub fn store_word(&self, stride: u64) -> Time {
        self.store_line() + self.opening(stride)
    }

    /// The same for a word that an engine reads.
    pub fn read_word(&self, stride: u64) -> Time {
        self.read_line() + self.opening(stride)
    }

    /// A word's share of opening rows.
    fn opening(&self, stride: u64) -> Time {
        let apart = (stride * crate::WORD).min(self.machine.dram.row);
        Time(self.machine.dram.opening.0 * apart / self.machine.dram.row)
    }

    /// Time that the processor spends on translations for a word of many that are `stride` words apart.
    pub fn translate_word(&self, stride: u64) -> Time {
        let share = |page: u64, miss: u64| miss * (stride * crate::WORD).min(page) / page;
        self.machine.translation.map_or(Time::ZERO, |known| Time(share(known.page, known.miss.0)))
    }

    /// How a loop, on so many processors at once, and a transfer slow each other down.
    pub fn beside(&self, kernel: Kernel, processors: u32, flow: Flow) -> Slowed {
        // A pass that no cache holds goes on like its part.
        let kernel = kernel.of_turns(kernel.turns().min(self.long()).max(1));
        let mut slowed = self.slowed.lock().unwrap_or_else(PoisonError::into_inner);
        let both = || beside::beside(&self.machine, kernel, processors, flow);
        *slowed.entry((kernel, processors, flow)).or_insert_with(both)
    }

    fn copying(&self, bytes: u64, stride: u64, offset: u64) -> Kernel {
        // A page on, lines and pages lie as before.
        let period = self.machine.translation.map_or(self.machine.line, |translation| translation.page);
        Kernel::Copy { bytes, stride: stride.max(1), offset: offset % period }
    }

    /// Turns after which a loop continues unchanged: more than all caches hold, and beyond the size at which copies
    /// bypass them.
    fn long(&self) -> u64 {
        let most = self.machine.largest_cache().max(self.machine.ahead.map_or(0, |ahead| ahead.past_from));
        (2 * most / crate::WORD).max(LONG).next_power_of_two()
    }

    fn time(&self, kernel: Kernel, before: Before) -> Time {
        let (turns, long) = (kernel.turns(), self.long());
        let at = |turns: u64| u128::from(self.worked_out(kernel.of_turns(turns), before));
        let between = |low: u64, high: u64, turns: u64| {
            let (from, to) = (at(low), at(high));
            (from + to.saturating_sub(from) * u128::from(turns - low) / u128::from(high - low)) as u64
        };
        if turns > long {
            return Time(between(long / 2, long, turns));
        }
        let step = (turns.next_power_of_two() / 16).max(1);
        if turns <= EACH || turns.is_multiple_of(step) {
            return Time(at(turns) as u64);
        }
        Time(between(turns / step * step, turns.next_multiple_of(step), turns))
    }

    /// Runs a loop, unless its time is known. Others may ask meanwhile.
    fn worked_out(&self, kernel: Kernel, before: Before) -> u64 {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&time) = known().get(&(kernel, before)) {
            return time;
        }
        let time = match before {
            Before::Itself => kernel.run(&self.machine, &[kernel]).0,
            Before::Nothing => kernel.run(&self.machine, &[]).0,
            Before::Together(processors) => team::together(&self.machine, kernel, processors),
            Before::Destination(bytes) => kernel.at_destination(&self.machine, bytes),
        };
        known().insert((kernel, before), time);
        time
    }
}
