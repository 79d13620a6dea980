//! `--trace`, `--count` and `--inject`: observers and faults on every rank's port, on both sides.

use crate::Failure;
use hotlink_bench::{Faults, Seen, Watching};
use hotlink_paper::Output;
use hotlink_results::timeline;
use std::path::{Path, PathBuf};

/// Heading of these options in the help.
const OBSERVERS: &str = "Observers (over this project's message stack)";

/// Options of observers.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct WatchOptions {
    /// Write what every rank's port does as a timeline: Chrome trace events, which Perfetto opens.
    #[arg(help_heading = OBSERVERS, long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Add the number of operations that went through the ports of all ranks together.
    #[arg(help_heading = OBSERVERS, long)]
    count: bool,
    /// Inject faults into this percentage of operations: busy (no room for an operation), late (an event comes later),
    /// scarce (a registration or import is refused). The percentage is 10 if it is left out, as in busy:20,late.
    #[arg(help_heading = OBSERVERS, long, value_name = "FAULT[:PERCENT]", value_delimiter = ',', value_parser = Faults::read)]
    inject: Vec<(String, u64)>,
    /// Draw the faults from this seed.
    #[arg(help_heading = OBSERVERS, long, value_name = "N", default_value_t = 1, requires = "inject")]
    inject_seed: u64,
}

impl WatchOptions {
    /// The request for observers; `None`: none are needed.
    pub(crate) fn watching(&self) -> Option<Watching> {
        // Each fault was read by the same rules.
        Watching::of(self.trace.is_some(), self.count, &self.inject, self.inject_seed).unwrap_or_default()
    }
    /// Whether a timeline is written when all is done.
    pub(crate) fn writes(&self) -> bool {
        self.trace.is_some()
    }
    /// Refuses a path to which no timeline could be written.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.trace.as_ref().map_or(Ok(()), |path| hotlink_results::can_write("--trace", path))
    }
    /// Writes the timelines, if asked for.
    pub(crate) fn write(&self, runs: &[timeline::Run], output: &Output) -> Result<(), Failure> {
        let Some(path) = self.trace.as_ref().filter(|_| !output.is_muted()) else { return Ok(()) };
        write_timeline(path, runs)
    }
}

/// Writes a timeline; reports if it is too short for all operations of the ranks.
pub(crate) fn write_timeline(path: &Path, runs: &[timeline::Run]) -> Result<(), Failure> {
    let left_out = timeline::left_out(runs);
    if left_out > 0 {
        let kept = Seen::MOST;
        hotlink_paper::tell!(
            "hotlink: --trace: keeps the first {kept} operations of each rank and run; {left_out} more are left out"
        );
    }
    hotlink_results::write_whole("--trace", path, &timeline::chrome(runs))
}
