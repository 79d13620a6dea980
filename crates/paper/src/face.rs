//! The terminal as a measurement's face: progress, and each line once.

use crate::progress::{Progress, When};
use hotlink_measure::Face;
use hotlink_study::Watch;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Shows progress when it is asked to.
pub struct Terminal(pub When);

thread_local! {
    static SAID: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

impl Face for Terminal {
    fn task(&self, name: &str, total: u64) -> Box<dyn Watch> {
        Box::new(Progress::new(name, total, self.0))
    }
    fn say(&self, line: &str) {
        self.pass_on(&format!("hotlink: {line}"));
    }
    fn pass_on(&self, line: &str) {
        if SAID.with_borrow_mut(|said| said.insert(line.to_owned())) {
            crate::tell!("{line}");
        }
    }
}
