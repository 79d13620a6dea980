//! What engines asked of a machine: which numbers of its description, and which assumptions stood in.

use crate::terms::{Role, Status};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One value that an answer rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Used {
    /// Value in base units.
    pub value: f64,
    /// Unit in which it is stated.
    pub unit: String,
    /// Source.
    pub source: String,
    /// Status: `Estimated` for every assumption.
    pub status: Status,
    /// Least and greatest plausible value in base units, if stated.
    pub range: Option<[f64; 2]>,
    /// The technology whose record stood in; `None`: the machine states the value.
    pub assumed_by: Option<&'static str>,
}

/// A number of a resource, or a group of numbers that are used together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// `resource.ROLE.gross`
    Gross(Role),
    /// `resource.ROLE.measured`
    Measured(Role),
    /// `resource.ROLE.latency`
    Latency(Role),
    /// `packet.*`
    Packet,
    /// `topology.*`
    Topology,
    /// `barrier.*`
    Barrier,
    /// `reduction.*`
    Reduction,
}

const ROLES: u32 = Role::Internal as u32 + 1;

impl Part {
    fn bit(self) -> u64 {
        let place = match self {
            Part::Gross(role) => role as u32,
            Part::Measured(role) => ROLES + role as u32,
            Part::Latency(role) => 2 * ROLES + role as u32,
            Part::Packet => 3 * ROLES,
            Part::Topology => 3 * ROLES + 1,
            Part::Barrier => 3 * ROLES + 2,
            Part::Reduction => 3 * ROLES + 3,
        };
        1 << place
    }
}

/// The notes of one machine.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Bits: a network asks for every one of its resources.
    parts: AtomicU64,
    parameters: Mutex<BTreeSet<String>>,
    assumed: Mutex<BTreeMap<String, Used>>,
}

impl Notes {
    /// A part of the description was used.
    pub fn part(&self, part: Part) {
        if !self.has(part) {
            self.parts.fetch_or(part.bit(), Ordering::Relaxed);
        }
    }

    /// Whether a part was used.
    pub fn has(&self, part: Part) -> bool {
        self.parts.load(Ordering::Relaxed) & part.bit() != 0
    }

    /// What another noted counts, too.
    pub fn extend(&self, other: &Notes) {
        self.parts.fetch_or(other.parts.load(Ordering::Relaxed), Ordering::Relaxed);
        open(&self.parameters).extend(other.parameters());
        open(&self.assumed).extend(other.assumed());
    }

    /// A parameter was asked for.
    pub fn parameter(&self, name: &str) {
        let mut parameters = open(&self.parameters);
        if !parameters.contains(name) {
            parameters.insert(name.to_owned());
        }
    }

    /// Parameters that were asked for.
    pub fn parameters(&self) -> BTreeSet<String> {
        open(&self.parameters).clone()
    }

    /// An assumption stood in for a parameter.
    pub fn assume(&self, name: &str, used: Used) {
        open(&self.assumed).insert(name.to_owned(), used);
    }

    /// Assumptions that stood in, by parameter.
    pub fn assumed(&self) -> BTreeMap<String, Used> {
        open(&self.assumed).clone()
    }
}

fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
