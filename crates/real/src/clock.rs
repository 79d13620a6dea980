//! The operating system's monotonic clock as [`Time`] since a common start: the same for all ranks of a machine.

use hotlink_fabric::units::Time;
use std::time::Instant;

/// Time since `start`. Copied into every rank's process, so that their clocks agree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
    /// How long the common start was over when `start` was read.
    before: Time,
}

impl Clock {
    /// Starts now.
    pub(crate) fn start() -> Clock {
        Clock { start: Instant::now(), before: Time::ZERO }
    }
    /// Another process of this machine started its clock when the system's monotonic clock gave `start_ns`.
    pub(crate) fn started_at(start_ns: u64) -> Clock {
        let before = Time(crate::sys::monotonic_ns().saturating_sub(start_ns) * 1000);
        Clock { start: Instant::now(), before }
    }
    /// Time since the start.
    #[inline]
    pub(crate) fn now(&self) -> Time {
        let elapsed = self.start.elapsed();
        Time(self.before.0 + elapsed.as_secs() * 1_000_000_000_000 + u64::from(elapsed.subsec_nanos()) * 1000)
    }
}
