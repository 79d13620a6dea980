//! The system's clock, where a benchmark reads it without ranks that meet.

use hotlink_bench::Timer;
use std::time::Instant;

/// What the clock that takes the samples cannot see.
pub(super) fn timer() -> Timer {
    let reads: Vec<Instant> = (0..1000).map(|_| Instant::now()).collect();
    let us = |(a, b): (Instant, Instant)| (b - a).as_secs_f64() * 1e6;
    let steps = reads.windows(2).map(|pair| us((pair[0], pair[1]))).filter(|&step| step > 0.0);
    let resolution_us = steps.fold(f64::INFINITY, f64::min);
    Timer { overhead_us: us((reads[0], reads[reads.len() - 1])) / (reads.len() - 1) as f64, resolution_us }
}
