//! Loads and stores: through caches and translation, with a number of misses under way, to the banks.

use crate::cache::{Cache, Crowding};
use crate::dram::Dram;
use crate::machine::{Machine, SHARED};
use crate::translation::Translation;
use std::collections::VecDeque;

/// The counts of a program's accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Words loaded and stored.
    pub words: u64,
    /// Lines that came from memory, those fetched before a store among them.
    pub fetched: u64,
    /// Lines, or parts of lines, written to memory.
    pub written: u64,
    /// Rows of memory opened.
    pub opened: u64,
    /// Pages looked up that translation did not know.
    pub translated: u64,
}

impl Counts {
    /// What has been added since `before`.
    #[must_use]
    pub fn since(&self, before: &Counts) -> Counts {
        Counts {
            words: self.words - before.words,
            fetched: self.fetched - before.fetched,
            written: self.written - before.written,
            opened: self.opened - before.opened,
            translated: self.translated - before.translated,
        }
    }
}

/// A line of stores that waits where stores do not allocate.
struct Waiting {
    line: u64,
    words: u64,
}

/// A processor at run time, times in picoseconds.
pub(crate) struct Processor<'m> {
    machine: &'m Machine,
    /// Where its program's memory begins.
    base: u64,
    caches: Vec<Cache>,
    translation: Translation,
    /// Its clock: when it may begin the next access.
    pub now: u64,
    issue_ps: u64,
    /// What a line takes of the memory's data path instead, read or written, while words share lines.
    stream: Option<u64>,
    /// When each cache can deliver another line, where the processor goes on meanwhile.
    free: Vec<u64>,
    /// Crowding of the first cache, where stores prefetch lines.
    crowding: Option<Crowding>,
    /// When the lines under way have come, the oldest at `next`.
    slots: Vec<u64>,
    next: usize,
    /// When the last line that was loaded had come: a store of it waits.
    loaded: u64,
    /// The program's line of the last load and of the last store.
    last: [u64; 2],
    waiting: VecDeque<Waiting>,
    /// When the writes of the write buffers are done, the oldest first.
    writing: VecDeque<u64>,
    /// The line that was fetched ahead, and when it had come.
    ahead: (u64, u64),
    reads_ahead: bool,
    counts: Counts,
}

const NO_LINE: u64 = u64::MAX;

impl<'m> Processor<'m> {
    /// With empty caches; `streams` that the program reads in order: a machine that reads ahead does so for one.
    pub fn new(machine: &'m Machine, streams: u32) -> Processor<'m> {
        Processor::at(machine, streams, 0)
    }

    /// One whose program's memory begins at `base`.
    pub fn at(machine: &'m Machine, streams: u32, base: u64) -> Processor<'m> {
        let cache = |(at, level)| match machine.ahead {
            Some(ahead) if at == SHARED => Cache::shared(level, machine.line, ahead.hashes),
            _ => Cache::new(level, machine.line),
        };
        let crowded = machine.ahead.is_some_and(|ahead| ahead.stores > 0);
        let crowding = machine.caches.first().filter(|_| crowded).map(|level| Crowding::new(level, machine.line));
        Processor {
            machine,
            base,
            caches: machine.caches.iter().enumerate().map(cache).collect(),
            translation: Translation::new(machine.translation),
            now: 0,
            issue_ps: machine.issue_ps(),
            stream: machine.ahead.and_then(|ahead| ahead.stream).map(|time| time.0),
            free: vec![0; machine.caches.len()],
            crowding,
            slots: vec![0; machine.misses as usize],
            next: 0,
            loaded: 0,
            last: [NO_LINE; 2],
            waiting: VecDeque::new(),
            writing: VecDeque::new(),
            ahead: (NO_LINE, 0),
            reads_ahead: streams <= 1,
            counts: Counts::default(),
        }
    }

    /// The counts of its accesses and of the memory's rows.
    pub fn counts(&self, dram: &Dram) -> Counts {
        Counts { opened: dram.opened, translated: self.translation.missed, ..self.counts }
    }

    /// Work that needs no memory.
    pub fn compute(&mut self, ps: u64) {
        self.now += ps;
    }

    /// A call that copies a block, or one that scatters words `stride` apart, begins.
    pub fn call(&mut self, stride: u64) {
        let Some(ahead) = self.machine.ahead else { return };
        self.now += if stride > 1 { ahead.scatter_call.0 } else { ahead.copy_call.0 };
        self.issue_ps = if stride > 1 { ahead.word.0 } else { self.machine.issue_ps() };
        let shares = stride * crate::WORD < self.machine.line;
        self.stream = ahead.stream.filter(|_| shares).map(|time| time.0);
    }

    /// A line at the memory: when it has passed.
    fn at_memory(&self, dram: &mut Dram, at: u64, address: u64, write: bool) -> u64 {
        match self.stream {
            Some(line) => dram.access_in(at, address, line),
            None => dram.access(at, address, write),
        }
    }

    /// Loads the word at `address`.
    pub fn load(&mut self, dram: &mut Dram, address: u64) {
        let place = self.begin(0, address);
        if let Some(physical) = place
            && !self.cached(dram, physical, false)
        {
            self.loaded = self.fetch(dram, physical);
            self.fill(dram, physical, false);
        }
    }

    /// Stores a word at `address`.
    pub fn store(&mut self, dram: &mut Dram, address: u64) {
        if !self.machine.allocates {
            return self.store_through(dram, address);
        }
        let place = self.begin(1, address);
        if let Some(physical) = place
            && !self.cached(dram, physical, true)
        {
            self.fetch(dram, physical);
            self.fill(dram, physical, true);
        }
    }

    /// Until all of its accesses are done.
    pub fn finish(&mut self, dram: &mut Dram) -> u64 {
        while let Some(waiting) = self.waiting.pop_front() {
            self.write(dram, waiting.line);
        }
        let last = self.slots.iter().chain(&self.writing).copied().max().unwrap_or(0);
        self.now = self.now.max(last);
        self.last = [NO_LINE; 2];
        self.now
    }

    /// The memory's address of an access, or nothing where it is in the line of the one before.
    fn begin(&mut self, kind: usize, address: u64) -> Option<u64> {
        self.counts.words += 1;
        self.now += self.issue_ps;
        let address = self.base + address;
        let line = address / self.machine.line;
        if self.last[kind] == line {
            return None;
        }
        self.last[kind] = line;
        let (physical, took) = self.translation.find(address);
        if took > 0 && self.machine.ahead.is_some() {
            // A page's entries come the same way as the lines asked for before them.
            self.now = self.all_come();
        }
        self.now += took;
        Some(physical)
    }

    /// When all lines under way have come.
    fn all_come(&self) -> u64 {
        self.slots.iter().copied().fold(self.now, u64::max)
    }

    /// Whether a cache holds the line, which then is in the nearest.
    fn cached(&mut self, dram: &mut Dram, physical: u64, written: bool) -> bool {
        let line = physical / self.machine.line;
        // The nearest cache alone knows of the store until the line leaves it.
        let mut level = 0..;
        let mut touches = |cache: &mut Cache| cache.touch(line, written && level.next() == Some(0));
        let Some(at) = self.caches.iter_mut().position(&mut touches) else { return false };
        if at > 0 {
            self.hand_over(at, line, written);
            for nearer in (0..at).rev() {
                self.take_in(dram, nearer, line, written && nearer == 0);
            }
        }
        true
    }

    /// A line arrives at the first cache. Returns whether the line that makes room for it had arrived a short while
    /// ago.
    fn is_crowded(&mut self, line: u64) -> bool {
        let (Some(ahead), Some(crowding)) = (self.machine.ahead, &mut self.crowding) else { return false };
        crowding.comes(line, self.machine.caches[0].ways, ahead.stores)
    }

    /// A cache further away hands a line over.
    fn hand_over(&mut self, at: usize, line: u64, written: bool) {
        let (line_ps, near) = (self.machine.caches[at].line_time.0, self.machine.caches[0].line_time.0);
        let Some(ahead) = self.machine.ahead else {
            self.now += line_ps.saturating_sub(near);
            return;
        };
        self.now = self.slot(self.now);
        if self.is_crowded(line) && written {
            self.now = self.all_come() + ahead.again.0;
        }
        self.free[at] = self.free[at].max(self.now) + line_ps;
        self.under_way(self.free[at]);
    }

    /// A line that has come is in all caches from now on; what it drives out is written if it must be.
    fn fill(&mut self, dram: &mut Dram, physical: u64, written: bool) {
        let line = physical / self.machine.line;
        for level in (0..self.caches.len()).rev() {
            self.take_in(dram, level, line, written && level == 0);
        }
    }

    fn take_in(&mut self, dram: &mut Dram, level: usize, line: u64, written: bool) {
        let Some((left, true)) = self.caches[level].insert(line, written) else { return };
        if self.caches[level + 1..].iter_mut().any(|cache| cache.touch(left, true)) {
            return;
        }
        self.counts.written += 1;
        // Written back once what drove it out has come; nobody waits for that but the banks.
        let at = self.now.max(self.slots[(self.next + self.slots.len() - 1) % self.slots.len()]);
        self.at_memory(dram, at, left * self.machine.line, true);
    }

    /// Waits for one of the lines under way; from when on another may be.
    fn slot(&self, from: u64) -> u64 {
        from.max(self.slots[self.next])
    }

    fn under_way(&mut self, done: u64) {
        self.slots[self.next] = done;
        self.next = (self.next + 1) % self.slots.len();
    }

    /// A line from memory: when it has come.
    fn fetch(&mut self, dram: &mut Dram, physical: u64) -> u64 {
        self.now = self.slot(self.now);
        self.counts.fetched += 1;
        self.is_crowded(physical / self.machine.line);
        if self.machine.ahead.is_some_and(|ahead| ahead.pairs) {
            self.fetch_other(dram, (physical / self.machine.line) ^ 1);
        }
        let (line, path) = (physical / self.machine.line, self.machine.path.0);
        let done = match self.machine.read_ahead {
            Some(instead) if self.reads_ahead && self.ahead.0 == line => {
                (self.now + instead.0).max(self.ahead.1) + path
            }
            _ => self.at_memory(dram, self.now + path / 2, physical, false) + path - path / 2,
        };
        self.under_way(done);
        if self.reads_ahead && self.machine.read_ahead.is_some() {
            self.ahead = (line + 1, self.at_memory(dram, done - path, (line + 1) * self.machine.line, false));
        }
        done
    }

    /// The other line of a pair comes into the last cache, and nobody waits for it but the banks.
    fn fetch_other(&mut self, dram: &mut Dram, line: u64) {
        if !self.caches.iter_mut().any(|cache| cache.touch(line, false)) {
            self.counts.fetched += 1;
            self.at_memory(dram, self.now, line * self.machine.line, false);
            self.take_in(dram, self.caches.len() - 1, line, false);
        }
    }

    /// A store that goes past the caches, of a block whose lines become full one after the other: nobody waits for it.
    pub fn store_past(&mut self, dram: &mut Dram, address: u64) {
        if let Some(physical) = self.begin(1, address) {
            self.now = self.slot(self.now);
            self.counts.written += 1;
            let done = dram.access(self.now, physical, true);
            self.under_way(done);
        }
    }

    /// A store that does not fetch its line: it waits with others of the line, until all have come or room is needed.
    fn store_through(&mut self, dram: &mut Dram, address: u64) {
        self.counts.words += 1;
        self.now += self.issue_ps;
        let (physical, took) = self.translation.find(self.base + address);
        self.now += took;
        let line = physical / self.machine.line;
        match self.waiting.iter_mut().find(|waiting| waiting.line == line) {
            Some(waiting) => waiting.words += 1,
            None => {
                if self.waiting.len() as u64 >= self.machine.write_buffers
                    && let Some(oldest) = self.waiting.pop_front()
                {
                    self.write(dram, oldest.line);
                }
                self.waiting.push_back(Waiting { line, words: 1 });
            }
        }
        let full = (self.machine.line / crate::WORD).max(1);
        if let Some(at) = self.waiting.iter().position(|waiting| waiting.words >= full) {
            self.waiting.remove(at);
            self.write(dram, line);
        }
    }

    /// A write buffer's line goes to memory; the processor waits only where all buffers do.
    fn write(&mut self, dram: &mut Dram, line: u64) {
        while self.writing.len() as u64 >= self.machine.write_buffers
            && let Some(oldest) = self.writing.pop_front()
        {
            self.now = self.now.max(oldest);
        }
        self.counts.written += 1;
        let begun = self.slot(self.now.max(self.loaded));
        let done = self.at_memory(dram, begun, line * self.machine.line, true);
        self.under_way(done);
        self.writing.push_back(done);
    }
}
