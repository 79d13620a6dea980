//! `hotlink compare-runs`: the same measurements before and after, for acceptance tests.

use crate::Failure;
use hotlink_diagnose::compare_pairs::{self, PAIRS_LEAST};
use hotlink_launch::pairs;
use hotlink_paper::Output;
use hotlink_report::possible::check_records;
use hotlink_results::compare_runs::{Row, Share, Verdict, judged, rows};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink compare-runs before.json after.json --junit report.xml
  hotlink compare-runs cells-before/ cells-after/ --floor 10%     # folders of `hotlink sweep --out`
  hotlink compare-runs openmpi.json mpich.json --ignore fabric,mpi
  hotlink compare-runs --a 'old/hotlink measure pingpong --json' --b 'new/hotlink measure pingpong --json' --pairs 10

Records are matched by their parameters, such as benchmark, via, ranks and size_B. Records of several hosts or imported
files are matched also by name. One host is compared with one of another name. Each pair gives the ratio of the medians, its
95 % interval (from both medians' intervals, by the MOVER method on logarithms), and the verdict.

A regression is worse by more than the floor, with an interval that excludes no change. An interval holds the noise of one
run; the floor must cover the differences from run to run.

The exit status is 1 where something regressed or a value is invalid (a time of 0 or below). It is 1 also where AFTER lacks a
result of BEFORE, unless --allow-missing accepts that.

With --a and --b, both commands run in turn, each N times, so that a change on the machine meets both. The ratio is the
median of the pairs' ratios; its interval inverts Wilcoxon's signed-rank test. Commands run by /bin/sh and print records as
--json does.")]
pub(crate) struct Args {
    /// Results before: a file that `--json` printed, or a folder of a sweep.
    #[arg(value_name = "BEFORE", required_unless_present = "a")]
    before: Option<PathBuf>,
    /// Results after.
    #[arg(value_name = "AFTER", required_unless_present = "a")]
    after: Option<PathBuf>,
    /// Run this command in place of reading BEFORE.
    #[arg(long, value_name = "COMMAND", requires = "b", conflicts_with_all = ["before", "after"])]
    a: Option<String>,
    /// Run this command in place of reading AFTER.
    #[arg(long, value_name = "COMMAND", requires = "a")]
    b: Option<String>,
    /// Run both commands N times.
    #[arg(long, value_name = "N", default_value_t = 10, requires = "a", value_parser = clap::value_parser!(u32).range(PAIRS_LEAST as i64..=1000))]
    pairs: u32,
    /// Ignore changes smaller than this: 5% or 0.05.
    #[arg(long, value_name = "SHARE", default_value = "5%")]
    floor: Share,
    /// Let these parameters differ between the two.
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    ignore: Vec<String>,
    /// Accept that AFTER lacks results of BEFORE.
    #[arg(long)]
    allow_missing: bool,
    /// Write the verdicts to this file, too, as JUnit.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    if let Some(path) = &args.junit {
        hotlink_results::is_no_input("--junit", path, args.before.iter().chain(&args.after))?;
        hotlink_results::can_write("--junit", path)?;
    }
    let rows = match (&args.a, &args.b) {
        (Some(a), Some(b)) => {
            let progress = output.progress("compare-runs: runs", 2 * u64::from(args.pairs));
            let pairs = pairs((a, b), args.pairs, &progress)?;
            let sides = pairs.iter().flat_map(|pair| [&pair.a, &pair.b]);
            sides.map(std::slice::from_ref).try_for_each(check_records)?;
            compare_pairs::rows(&pairs, args.floor, &args.ignore)?
        }
        _ => of_files(args)?,
    };
    report(args, &rows, output)
}

fn of_files(args: &Args) -> Result<Vec<Row>, Failure> {
    let name = |path: &Option<PathBuf>| path.clone().unwrap_or_default();
    let (before, after) = (name(&args.before), name(&args.after));
    let (earlier, later) = (hotlink_results::read(&before)?, hotlink_results::read(&after)?);
    [&earlier, &later].into_iter().try_for_each(|results| check_records(results))?;
    let [before, after] = [before, after].map(|path| path.display().to_string());
    rows((&before, &earlier), (&after, &later), args.floor, &args.ignore)
}

fn report(args: &Args, rows: &[Row], output: &mut Output) -> Result<(), Failure> {
    if let Some(path) = &args.junit {
        hotlink_results::write_whole("--junit", path, &hotlink_report::runs::report(rows, args.allow_missing))?;
    }
    let lost = rows.iter().filter(|row| [Verdict::OnlyBefore, Verdict::OnlyAfter].contains(&row.verdict)).count();
    match lost {
        0 => {}
        1 => hotlink_paper::tell!("hotlink: 1 result has no partner"),
        _ => hotlink_paper::tell!("hotlink: {lost} results have no partner"),
    }
    output.table(hotlink_paper::runs::table(rows));
    output.push_all(rows.iter().map(|row| row.record.clone()));
    judged(rows, args.allow_missing)
}
