//! The operating system's monotonic clock as [`Time`] since a common start: the same for all ranks of a machine.

use crate::sys::monotonic_ns;
use hotlink_fabric::units::Time;

/// Time since a moment of the system's monotonic clock. Copied into every rank's process, so that their clocks agree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start_ns: u64,
}

impl Clock {
    /// Starts now.
    pub(crate) fn start() -> Clock {
        Clock::started_at(monotonic_ns())
    }
    /// Another process of this machine started its clock when the system's monotonic clock gave `start_ns`.
    pub(crate) fn started_at(start_ns: u64) -> Clock {
        Clock { start_ns }
    }
    /// Time since the start.
    #[inline]
    pub(crate) fn now(&self) -> Time {
        Time(monotonic_ns().saturating_sub(self.start_ns) * 1000)
    }
}
