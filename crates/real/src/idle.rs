//! What a rank does while it has nothing to do: spin, then let others have the core, then nap.

use crate::sys;
use hotlink_fabric::units::Time;
use std::time::{Duration, Instant};

/// Idle calls that spin, when every rank has a core.
const SPINS: u32 = 4000;
/// ... and when ranks share cores: whoever is waited for may be waiting for this core.
const SPINS_SHARED: u32 = 20;
/// Then cores are offered to others for this long, and then naps begin.
const YIELDING: Duration = Duration::from_millis(20);
const NAP: Duration = Duration::from_micros(50);

/// Counts how long nothing has happened.
pub(crate) struct Idler {
    spins: u32,
    limit: u32,
    yielding_since: Option<Instant>,
}

impl Idler {
    pub(crate) fn new(oversubscribed: bool) -> Idler {
        Idler { spins: 0, limit: if oversubscribed { SPINS_SHARED } else { SPINS }, yielding_since: None }
    }
    /// Something happened.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.spins = 0;
    }
    /// Nothing happened. True now and then: time to look for what happens seldom.
    #[inline]
    pub(crate) fn rest(&mut self, until: Time) -> bool {
        self.spins += 1;
        if self.spins < self.limit {
            std::hint::spin_loop();
            return self.spins.is_multiple_of(256);
        }
        self.give_way(until)
    }
    #[cold]
    fn give_way(&mut self, until: Time) -> bool {
        if self.spins == self.limit {
            self.yielding_since = Some(Instant::now());
        }
        // Saturates: the count only needs to stay beyond the limit.
        self.spins = self.spins.min(u32::MAX - 1);
        let napping = self.yielding_since.is_some_and(|since| since.elapsed() > YIELDING);
        if napping && until == Time::MAX {
            std::thread::sleep(NAP)
        } else {
            sys::yield_core()
        }
        true
    }
}
