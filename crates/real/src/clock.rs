//! The operating system's monotonic clock as [`Time`] since a common start: the same for all ranks of a machine.

use hotlink_fabric::units::Time;
use std::time::Instant;

/// Time since `start`. Copied into every rank's process, so that their clocks agree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    /// Starts now.
    pub(crate) fn start() -> Clock {
        Clock { start: Instant::now() }
    }
    /// Time since the start.
    #[inline]
    pub(crate) fn now(&self) -> Time {
        let elapsed = self.start.elapsed();
        Time(elapsed.as_secs() * 1_000_000_000_000 + u64::from(elapsed.subsec_nanos()) * 1000)
    }
}
