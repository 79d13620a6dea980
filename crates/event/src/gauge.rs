//! How far a simulation is, for those who wait for it. No result depends on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A whole.
const WHOLE: u32 = 1_000_000;

/// The share of a simulation that is done, as far as it is known before the end: read by another thread.
#[derive(Clone, Debug, Default)]
pub struct Gauge(Option<Arc<AtomicU32>>);

/// What nobody reads makes no settings differ.
impl PartialEq for Gauge {
    fn eq(&self, _other: &Gauge) -> bool {
        true
    }
}

impl Gauge {
    /// One that its clones read.
    pub fn new() -> Gauge {
        Gauge(Some(Arc::default()))
    }

    /// The share that is done; 0 where it is not known.
    pub fn share(&self) -> f64 {
        self.0.as_ref().map_or(0.0, |gauge| f64::from(gauge.load(Ordering::Relaxed)) / f64::from(WHOLE))
    }

    /// Whether the simulation that told it is over.
    pub fn is_over(&self) -> bool {
        self.0.as_ref().is_none_or(|gauge| Arc::strong_count(gauge) == 1)
    }

    /// So much of all is done; an `all` of 0 is not known.
    pub fn tell(&self, done: u64, all: u64) {
        if let Some(gauge) = self.0.as_ref().filter(|_| all > 0) {
            let share = u128::from(done.min(all)) * u128::from(WHOLE) / u128::from(all);
            gauge.store(share as u32, Ordering::Relaxed);
        }
    }
}
