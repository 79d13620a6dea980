//! Why a loop takes another time a word than one of another stride: lines, rows, translations.

use crate::kernel::Kernel;
use crate::memory::Memory;
use crate::processor::Counts;

/// The cost of a word's accesses, each kind as a number a word and as picoseconds a word.
struct Share {
    what: &'static str,
    each: f64,
    ps: f64,
}

/// A difference below this share of the time is none.
const SAME: f64 = 0.01;

impl Memory {
    /// Why `now` takes another time a word than `before`, from the accesses of both; `cached`: both have been run before.
    pub fn why(&self, now: Kernel, before: Kernel, cached: bool) -> String {
        let [after, first] = [now, before].map(|kernel| self.shares(&self.counts(kernel, cached)));
        let total: f64 = first.iter().map(|share| share.ps).sum();
        let change = |at: &usize| (after[*at].ps - first[*at].ps).abs();
        let most = (0..after.len()).max_by(|a, b| change(a).total_cmp(&change(b))).unwrap_or(0);
        if change(&most) < SAME * total {
            return format!("as at the stride before: {:.2} lines a word", after[0].each);
        }
        format!("{}: {:.3} a word, {:.3} before", after[most].what, after[most].each, first[most].each)
    }

    fn shares(&self, counts: &Counts) -> [Share; 3] {
        let (dram, machine) = (&self.machine().dram, self.machine());
        // A copy's word is a load and a store.
        let words = (counts.words as f64 / 2.0).max(1.0);
        let lines = (counts.fetched + counts.written) as f64;
        let busy = counts.fetched as f64 * (dram.open + dram.read).0 as f64
            + counts.written as f64 * (dram.open + dram.write).0 as f64;
        let miss = machine.translation.map_or(0, |translation| translation.miss.0);
        let share = |what, each: f64, ps: f64| Share { what, each: each / words, ps: ps / words };
        [
            share("lines moved", lines, busy),
            share("rows opened", counts.opened as f64, counts.opened as f64 * dram.opening.0 as f64),
            share("pages looked up", counts.translated as f64, counts.translated as f64 * miss as f64),
        ]
    }
}
