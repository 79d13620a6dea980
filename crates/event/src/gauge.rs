//! How far a simulation is, for those who wait for it, and whether they still do. No result depends on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// A whole. What is kept is one more than the share: 0 is none told.
const WHOLE: u32 = 1_000_000;

/// The share of a simulation that is done, as far as it is known before the end: read by another thread.
#[derive(Clone, Debug, Default)]
pub struct Gauge(Option<Arc<AtomicU32>>, Halt);

/// Ends work that nobody waits for any longer. Once one of its clones has halted, the work unwinds at its next check.
#[derive(Clone, Debug, Default)]
pub struct Halt(Option<Arc<AtomicBool>>);

/// What halted work unwinds with. It is no panic: nobody sees a message.
#[derive(Clone, Copy, Debug)]
pub struct Halted;

impl Halt {
    /// A halt that can be triggered.
    pub fn new() -> Halt {
        Halt(Some(Arc::default()))
    }

    /// The work shall end.
    pub fn tell(&self) {
        self.0.iter().for_each(|halt| halt.store(true, Ordering::Relaxed));
    }

    /// What says so, for a handler of signals; none where nothing can.
    pub fn flag(&self) -> Option<&AtomicBool> {
        self.0.as_deref()
    }

    /// Unwinds with [`Halted`] if the work shall end.
    pub fn look(&self) {
        if self.0.as_ref().is_some_and(|halt| halt.load(Ordering::Relaxed)) {
            std::panic::resume_unwind(Box::new(Halted));
        }
    }
}

/// A gauge that nobody reads makes no settings differ.
impl PartialEq for Gauge {
    fn eq(&self, _other: &Gauge) -> bool {
        true
    }
}

impl Gauge {
    /// One that its clones read.
    pub fn new() -> Gauge {
        Gauge::heeding(Halt::default())
    }

    /// The same, for a simulation that ends when `halt` is triggered.
    pub fn heeding(halt: Halt) -> Gauge {
        Gauge(Some(Arc::default()), halt)
    }

    /// The share that is done; 0 where it is not known.
    pub fn share(&self) -> f64 {
        self.0
            .as_ref()
            .map_or(0.0, |gauge| f64::from(gauge.load(Ordering::Relaxed).saturating_sub(1)) / f64::from(WHOLE))
    }

    /// Whether anything has been told: what is built before tells nothing.
    pub fn has_begun(&self) -> bool {
        self.0.as_ref().is_some_and(|gauge| gauge.load(Ordering::Relaxed) > 0)
    }

    /// Whether the simulation that reports to it is over.
    pub fn is_over(&self) -> bool {
        self.0.as_ref().is_none_or(|gauge| Arc::strong_count(gauge) == 1)
    }

    /// So much of all is done; an `all` of 0 is not known. Unwinds where the simulation shall end ([`Halt`]).
    pub fn tell(&self, done: u64, all: u64) {
        self.1.look();
        if let Some(gauge) = self.0.as_ref().filter(|_| all > 0) {
            let share = u128::from(done.min(all)) * u128::from(WHOLE) / u128::from(all);
            gauge.store(share as u32 + 1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_halted_unwinds() {
        let halt = Halt::new();
        let gauge = Gauge::heeding(halt.clone());
        assert!(!gauge.has_begun() && gauge.share() == 0.0);
        gauge.tell(1, 2);
        assert!(gauge.has_begun());
        assert_eq!(gauge.share(), 0.5);
        halt.tell();
        let unwound = std::panic::catch_unwind(|| gauge.tell(2, 2)).unwrap_err();
        assert!(unwound.is::<Halted>());
        assert_eq!(gauge.share(), 0.5);
        Gauge::new().tell(1, 2);
    }
}
