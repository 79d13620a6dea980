//! `hotlink run --on`: a job whose ranks are on a simulated fabric, and the report of it.

use super::seating::SeatingArgs;
use crate::Failure;
use crate::output::{Format, Output};
use crate::words::word;
use hotlink_bench::Record;
use hotlink_launch::{Clocks, Ended, How, on_fabric};
use hotlink_real::{Job, JobEnd};
use hotlink_results::{can_write, write_whole, write_with};
use hotlink_study::text::figure;
use std::path::{Path, PathBuf};

/// How the program computes, and what is written beside the report.
#[derive(clap::Args)]
pub(super) struct Also {
    /// What computing between calls costs (with --on): none, this factor of the processor time that it takes here, or what
    /// `hotlink record` wrote to a file [default: none].
    #[arg(long, value_name = "none|FACTOR|FILE", requires = "on")]
    compute_time: Option<String>,
    /// Write what every rank's port does as a timeline (with --on): Chrome trace events, which Perfetto opens.
    #[arg(long, value_name = "FILE", requires = "on")]
    trace: Option<PathBuf>,
    /// Write messages and bytes of each pair of ranks (with --on) as CSV: those of the library, its own among them.
    #[arg(long, value_name = "FILE", requires = "on")]
    matrix: Option<PathBuf>,
    /// Write the messages and the computing of all ranks as a GOAL schedule (with --on), in nanoseconds: `hotlink simulate
    /// goal FILE` runs it on any fabric.
    #[arg(long, value_name = "FILE", requires = "on")]
    goal: Option<PathBuf>,
    #[command(flatten)]
    seating: SeatingArgs,
    /// What the system's clocks and sleeps tell the program (with --on) [default: virtual, where libhotlink_clock.so is
    /// beside the MPI library].
    #[arg(long, value_parser = word::<Clocks>(), requires = "on")]
    clocks: Option<Clocks>,
}

/// Runs the job on a simulated fabric and tells of it. Gives the job's end if that is what is to be told.
pub(super) fn run(
    job: Job,
    fabric: &str,
    also: &Also,
    library: &Path,
    output: &mut Output,
) -> Result<Option<JobEnd>, Failure> {
    // An hour's run is not lost to a wrong path.
    for (option, path) in [("--trace", &also.trace), ("--matrix", &also.matrix), ("--goal", &also.goal)] {
        path.iter().try_for_each(|path| can_write(option, path))?;
    }
    let seats = also.seating.wanted().seats(fabric, job.ranks)?;
    let (traced, schedule) = (also.trace.is_some(), also.goal.is_some());
    let compute = also.compute_time.as_deref().unwrap_or("none");
    let how = How { seats, clocks: also.clocks, library, compute, traced, schedule };
    let mut told = match on_fabric(job, fabric, how)? {
        Ended::Ran(told) => told,
        Ended::Failed(end) => return Ok(Some(end)),
    };
    if let Some(path) = &also.trace {
        write_whole("--trace", path, &told.timeline(fabric))?;
    }
    if let Some(path) = &also.matrix {
        write_whole("--matrix", path, &told.matrix())?;
    }
    if let (Some(path), Some(schedule)) = (&also.goal, told.schedule()) {
        write_with("--goal", path, |mut out| schedule.write(&mut out))?;
    }
    match output.format() {
        Format::Table => eprint!("{}", report(&told.record)),
        _ => output.push(told.record),
    }
    Ok(None)
}

/// The report for people.
fn report(record: &Record) -> String {
    let text = |key: &str| record.text(key).unwrap_or_default().to_owned();
    let number = |key: &str| record.number(key).map_or_else(|| "-".to_owned(), figure);
    let percent = |share: f64| format!("{} %", figure((share * 1000.0).round() / 10.0));
    let share = |key: &str| record.number(key).map_or_else(|| "-".to_owned(), percent);
    let mut lines = vec![format!(
        "hotlink: {} on {}, {} ranks: {} us of virtual time; {} of the ranks' time is communication",
        text("program"),
        text("fabric"),
        number("ranks"),
        number("elapsed_us"),
        share("communication_share")
    )];
    if text("compute_time") == "none" {
        lines.push("  computing: takes no time (--compute-time none)".to_owned());
    }
    if text("clocks") == Clocks::System.name() {
        lines.push("  clocks: the system's own, but MPI_Wtime's (--clocks)".to_owned());
    }
    let waiting = record.numbers("rank_waiting_us");
    // The first of equals.
    let most = waiting.iter().enumerate().reduce(|most, one| if one.1 > most.1 { one } else { most });
    let least = waiting.iter().enumerate().reduce(|least, one| if one.1 < least.1 { one } else { least });
    if let (Some(least), Some(most)) = (least, most) {
        let (from, to) = (figure(*least.1), figure(*most.1));
        let (share, least, most) = (share("waiting_share"), least.0, most.0);
        lines.push(format!("  waiting: {share} of the ranks' time, {from} us (rank {least}) to {to} us (rank {most})"));
    }
    let names = record.get("hot_links").and_then(|names| names.as_array()).cloned().unwrap_or_default();
    let shares = record.numbers("hot_links_share");
    let hot: Vec<String> = names
        .iter()
        .zip(shares)
        .map(|(name, share)| format!("{} {}", name.as_str().unwrap_or("-"), percent(share)))
        .collect();
    if !hot.is_empty() {
        lines.push(format!("  hot links: {} (share of the time that each is busy)", hot.join(", ")));
    }
    if record.number("bound_elapsed_us").is_some() {
        let (bound, limit) = (number("bound_elapsed_us"), text("limiting_resource"));
        lines.push(format!(
            "  bound: {bound} us, which {limit} is busy in any order of these messages; efficiency {}",
            number("efficiency")
        ));
    }
    lines
        .extend(hotlink_study::inputs::lines(std::slice::from_ref(record)).into_iter().map(|line| format!("  {line}")));
    lines.join("\n") + "\n"
}
