//! `hotlink run --on`: a job whose ranks are on a simulated fabric, and the report of it.

use super::seating::SeatingArgs;
use crate::Failure;
use crate::verbs::watching;
use crate::words::word;
use hotlink_launch::{Clocks, Ended, How, Interpreter, on_fabric};
use hotlink_paper::{Format, Output};
use hotlink_real::{Job, JobEnd};
use hotlink_results::{are_apart, can_write, is_no_input, write_whole, write_with};
use hotlink_study::Source;
use std::path::{Path, PathBuf};

/// The computation of the program, and the files to write besides the report.
#[derive(clap::Args)]
pub(super) struct Also {
    /// Charge the program for computing between its calls (with --on). none charges nothing; a number is a factor of
    /// the processor time used here. A file of `hotlink record` gives the times. [default: none]
    #[arg(long, value_name = "none|FACTOR|FILE", requires = "on")]
    compute_time: Option<String>,
    /// Write what every rank's port does as a timeline (with --on): Chrome trace events, which Perfetto opens.
    #[arg(long, value_name = "FILE", requires = "on")]
    trace: Option<PathBuf>,
    /// Write messages and bytes of each pair of ranks (with --on) as CSV. The library's own messages are included.
    #[arg(long, value_name = "FILE", requires = "on")]
    matrix: Option<PathBuf>,
    /// Write the messages and the computing of all ranks as a GOAL schedule (with --on), in nanoseconds: `hotlink simulate
    /// goal FILE` runs it on any fabric.
    #[arg(long, value_name = "FILE", requires = "on")]
    goal: Option<PathBuf>,
    /// Start interpreters for a Python script (with --on): one, which forks the ranks, or one for each rank. [default: once]
    #[arg(long, value_parser = word::<Interpreter>(), requires = "on")]
    interpreter: Option<Interpreter>,
    /// Let links and switches fail, come back or degrade while the program runs (with --on), as this plan says. Ranks that
    /// are cut off end the run with an error.
    #[arg(long, value_name = "PLAN.toml", requires = "on")]
    faults: Option<String>,
    #[command(flatten)]
    seating: SeatingArgs,
    /// Choose the time that the system's clocks and sleeps give the program (with --on). [default: virtual, where
    /// libhotlink_clock.so is next to the MPI library]
    #[arg(long, value_parser = word::<Clocks>(), requires = "on")]
    clocks: Option<Clocks>,
}

impl Also {
    /// The message where one interpreter may fork the ranks and does not.
    pub(super) fn forks(&self) -> Option<fn(&str)> {
        let told: fn(&str) = |why| hotlink_paper::tell!("hotlink: each rank starts an interpreter of its own: {why}");
        (self.interpreter != Some(Interpreter::Each)).then_some(told)
    }
}

/// Runs the job on a simulated fabric and reports it. Returns the job's end if that is to be reported.
pub(super) fn run(
    job: Job,
    fabric: &str,
    also: &Also,
    library: &Path,
    output: &mut Output,
) -> Result<Option<JobEnd>, Failure> {
    // Checked first, so that an hour's run is not lost to a wrong path.
    let outputs = [("--trace", &also.trace), ("--matrix", &also.matrix), ("--goal", &also.goal)];
    are_apart(outputs.map(|(option, path)| (option, path.as_ref())))?;
    for (option, path) in outputs {
        let read = [job.command.first().map(Path::new), also.compute_time.as_deref().map(Path::new)];
        let read = read.into_iter().chain([also.faults.as_deref().map(Path::new)]).flatten();
        path.iter().try_for_each(|path| can_write(option, path).and(is_no_input(option, path, read.clone())))?;
    }
    let seats = also.seating.wanted().seats(&Source::open(fabric)?, job.ranks)?;
    let (traced, schedule) = (also.trace.is_some(), also.goal.is_some());
    let compute = also.compute_time.as_deref().unwrap_or("none");
    let over = |end| _ = super::told(end);
    let how =
        How { seats, clocks: also.clocks, library, compute, traced, schedule, faults: also.faults.as_deref(), over };
    let mut told = match on_fabric(job, fabric, how)? {
        Ended::Ran(told) => told,
        Ended::Failed(end) => return Ok(Some(end)),
    };
    if told.is_unheard() {
        super::tell_unheard();
    }
    if let Some(path) = &also.trace {
        watching::write_timeline(path, &[told.timeline(fabric)])?;
    }
    if let Some(path) = &also.matrix {
        write_whole("--matrix", path, &told.matrix())?;
    }
    if let (Some(path), Some(schedule)) = (&also.goal, told.schedule()) {
        write_with("--goal", path, |mut out| schedule.write(&mut out))?;
    }
    match output.format() {
        Format::Table => eprint!("{}", hotlink_paper::job::report(&told.record, &told.called)),
        Format::Json | Format::Jsonl => {
            std::iter::once(told.record).chain(told.called).for_each(|record| output.push(record))
        }
        // Rows of one kind: a run is not its collectives.
        _ => output.push(told.record),
    }
    Ok(None)
}
