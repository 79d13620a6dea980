//! The services of a face for a long computation: progress, and a clock.

use crate::model::Counted;
use hotlink_bench::Seen;
use hotlink_sim::Gauge;

/// A face that watches a computation. Results do not depend on it, `wall_s` aside.
pub trait Watch: Sync {
    /// One more part is done.
    fn step(&self) {}
    /// One for a simulation that is about to begin; it says how far it is.
    fn gauge(&self) -> Gauge {
        Gauge::default()
    }
    /// The observations of the ports of a run's ranks, where the run was asked to watch them.
    fn saw(&self, run: &str, ranks: &[Seen]) {
        let _ = (run, ranks);
    }
    /// The load behind an answer of the load count, for a face that draws it.
    fn counted(&self, load: Counted) {
        drop(load);
    }
    /// Seconds since some fixed moment; always 0 where the face has no clock.
    fn seconds(&self) -> f64 {
        0.0
    }
}

/// Watches a step of a task: how far it is moves the task, and its own steps are none of the task's.
pub struct Within<'a>(pub &'a dyn Watch);

impl Watch for Within<'_> {
    fn gauge(&self) -> Gauge {
        self.0.gauge()
    }
    fn seconds(&self) -> f64 {
        self.0.seconds()
    }
}

/// Nobody watches, and nobody has a clock.
pub struct Unwatched;

impl Watch for Unwatched {}
