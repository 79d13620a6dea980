//! `--trace`, `--count` and `--inject`: observers and faults on every rank's port, on both sides.

use crate::{Failure, output::Output};
use hotlink_bench::{Faults, Seen, Watching};
use hotlink_study::{Watch, timeline};
use std::path::PathBuf;
use std::sync::Mutex;

/// Options of observers.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Observers (over this project's message stack)")]
pub(crate) struct WatchOptions {
    /// Write what every rank's port does as a timeline: Chrome trace events, which Perfetto opens.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Add how many operations went through the ports, of all ranks together.
    #[arg(long)]
    count: bool,
    /// Let ports do what they may, in so many percent of cases [10]: busy (no room for an operation), late (an event comes
    /// later), scarce (a registration or import is refused).
    #[arg(long, value_name = "FAULT[:PERCENT]", value_delimiter = ',', value_parser = fault)]
    inject: Vec<(Kind, u64)>,
    /// Of the faults' draws.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "inject")]
    inject_seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Busy,
    Late,
    Scarce,
}

/// Beyond this a port hardly ever does what it is asked for.
const MOST_PERCENT: u64 = 90;

fn fault(text: &str) -> Result<(Kind, u64), String> {
    let allowed = format!("must be busy, late or scarce, and after a colon 1 to {MOST_PERCENT} percent: busy:20");
    let (name, percent) = text.split_once(':').unwrap_or((text, "10"));
    let kind = match name {
        "busy" => Kind::Busy,
        "late" => Kind::Late,
        "scarce" => Kind::Scarce,
        _ => return Err(allowed),
    };
    let percent = percent.parse().ok().filter(|percent| (1..=MOST_PERCENT).contains(percent));
    Ok((kind, percent.ok_or(allowed)?))
}

impl WatchOptions {
    /// What is asked of the observers; `None`: there need be none.
    pub(crate) fn watching(&self) -> Option<Watching> {
        let share = |kind: Kind| self.inject.iter().rfind(|(other, _)| *other == kind).map_or(0, |(_, share)| *share);
        let faults = Faults {
            busy: share(Kind::Busy),
            late: share(Kind::Late),
            scarce: share(Kind::Scarce),
            seed: self.inject_seed,
        };
        let faults = Some(faults).filter(|_| !self.inject.is_empty());
        let watching = Watching { trace: self.trace.is_some(), count: self.count, faults };
        (watching != Watching::default()).then_some(watching)
    }
    /// Whether a timeline is written when all is done.
    pub(crate) fn writes(&self) -> bool {
        self.trace.is_some()
    }
    /// Refuses a place where no timeline could be written.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.trace.as_ref().map_or(Ok(()), |path| hotlink_results::can_write("--trace", path))
    }
    /// Writes the timelines, if asked for.
    pub(crate) fn write(&self, runs: &[timeline::Run], output: &Output) -> Result<(), Failure> {
        let Some(path) = self.trace.as_ref().filter(|_| !output.is_muted()) else { return Ok(()) };
        let left_out = timeline::left_out(runs);
        if left_out > 0 {
            let kept = Seen::MOST;
            eprintln!("hotlink: --trace: keeps {kept} operations of each rank and run; {left_out} more are left out");
        }
        hotlink_results::write_whole("--trace", path, &timeline::chrome(runs))
    }
}

/// Passes progress on, and keeps the timelines.
pub(crate) struct Recorder<'a> {
    inner: &'a dyn Watch,
    runs: Mutex<Vec<timeline::Run>>,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(inner: &'a dyn Watch) -> Recorder<'a> {
        Recorder { inner, runs: Mutex::default() }
    }
    /// The timelines, in an order that does not depend on who was first.
    pub(crate) fn runs(self) -> Vec<timeline::Run> {
        let mut runs = self.runs.into_inner().unwrap_or_default();
        runs.sort_by(|a, b| a.0.cmp(&b.0));
        runs
    }
}

impl Watch for Recorder<'_> {
    fn step(&self) {
        self.inner.step();
    }
    fn gauge(&self) -> hotlink_study::Gauge {
        self.inner.gauge()
    }
    fn seconds(&self) -> f64 {
        self.inner.seconds()
    }
    fn saw(&self, run: &str, ranks: &[Seen]) {
        if let Ok(mut runs) = self.runs.lock() {
            runs.push((run.to_owned(), ranks.to_vec()));
        }
    }
}
