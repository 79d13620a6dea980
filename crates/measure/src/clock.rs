//! The system's clock, where a benchmark reads it without ranks that meet.

use hotlink_bench::Timer;
use std::time::{Duration, Instant};

/// The resolution of the clock that takes the samples.
pub(crate) fn timer() -> Timer {
    let reads: Vec<Instant> = (0..1000).map(|_| Instant::now()).collect();
    let us = |(a, b): (Instant, Instant)| (b - a).as_secs_f64() * 1e6;
    let steps = reads.windows(2).map(|pair| us((pair[0], pair[1]))).filter(|&step| step > 0.0);
    let resolution_us = steps.fold(f64::INFINITY, f64::min);
    Timer { overhead_us: us((reads[0], reads[reads.len() - 1])) / (reads.len() - 1) as f64, resolution_us }
}

/// Blocks that begin a fixed time apart, or later where they take longer.
pub(crate) struct Pace {
    began: Instant,
    step: Duration,
}

impl Pace {
    pub(crate) fn start(step: Duration) -> Pace {
        Pace { began: Instant::now(), step }
    }
    /// How long it is until block `index` may begin.
    pub(crate) fn left(&self, index: u32) -> Duration {
        (self.step * index).saturating_sub(self.began.elapsed())
    }
    /// Sleeps until block `index` may begin.
    pub(crate) fn wait(&self, index: u32) {
        let left = self.left(index);
        if !left.is_zero() {
            std::thread::sleep(left);
        }
    }
}
