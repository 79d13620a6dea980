//! The progress of a question, for a face that shows it.

use hotlink_bench::Seen;
use hotlink_study::Watch;
use hotlink_study::model::Counted;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Is called with the parts that are done, and their number: 0 where it is unknown.
pub type Heard = dyn Fn(u64, u64) + Sync;

/// Counts the parts of one question.
pub struct Steps<'a> {
    heard: &'a Heard,
    done: AtomicU64,
    of: u64,
    /// Whether the load that is counted is kept, and what was.
    keeps: bool,
    kept: Mutex<Option<Counted>>,
}

impl<'a> Steps<'a> {
    /// A question of `of` parts.
    pub fn of(heard: &'a Heard, of: u64) -> Steps<'a> {
        heard(0, of);
        Steps { heard, done: AtomicU64::new(0), of, keeps: false, kept: Mutex::new(None) }
    }

    /// The same, which keeps the load that is counted where `keeps` says so.
    pub(crate) fn keeping(self, keeps: bool) -> Steps<'a> {
        Steps { keeps, ..self }
    }

    /// The load that was kept.
    pub(crate) fn kept(self) -> Option<Counted> {
        self.kept.into_inner().unwrap_or_default()
    }
}

impl Watch for Steps<'_> {
    fn step(&self) {
        (self.heard)(self.done.fetch_add(1, Ordering::Relaxed) + 1, self.of);
    }
    fn counted(&self, load: Counted) {
        if let (true, Ok(mut kept)) = (self.keeps, self.kept.lock()) {
            *kept = Some(load);
        }
    }
    fn saw(&self, _run: &str, _ranks: &[Seen]) {}
}
