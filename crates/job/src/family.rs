//! What a job's processes have started themselves, so that it ends with them.
#![allow(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// A process. Its start distinguishes it from a later process with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kin {
    id: u32,
    begun: u64,
}

/// A process that runs, and who started it.
fn running(id: u32) -> Option<(Kin, u32)> {
    let line = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name before it may be of any letters.
    let mut words = line.rsplit_once(')')?.1.split_whitespace();
    let (state, parent) = (words.next()?, words.next()?.parse().ok()?);
    let begun = words.nth(17)?.parse().ok()?;
    (!["Z", "X"].contains(&state)).then_some((Kin { id, begun }, parent))
}

/// All that these have started, and what those have, as far as who started them still runs.
pub(crate) fn below(these: impl Iterator<Item = u32>) -> BTreeSet<Kin> {
    let mut started: BTreeMap<u32, Vec<Kin>> = BTreeMap::new();
    let names = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    for (kin, parent) in names.filter_map(|name| running(name.to_str()?.parse().ok()?)) {
        started.entry(parent).or_default().push(kin);
    }
    let (mut found, mut left) = (BTreeSet::new(), these.collect::<Vec<_>>());
    while let Some(parent) = left.pop() {
        let below = started.remove(&parent).unwrap_or_default();
        left.extend(below.iter().map(|kin| kin.id));
        found.extend(below);
    }
    found
}

impl Kin {
    pub(crate) fn id(&self) -> u32 {
        self.id
    }
    /// Whether it still runs.
    pub(crate) fn runs(&self) -> bool {
        running(self.id).is_some_and(|(kin, _)| kin == *self)
    }
    /// Sends it a signal, if it still runs.
    pub(crate) fn send(&self, signal: libc::c_int) {
        if self.runs() {
            // SAFETY: a plain system call.
            unsafe { libc::kill(self.id as libc::pid_t, signal) };
        }
    }
}
