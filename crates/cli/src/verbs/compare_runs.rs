//! `hotlink compare-runs`: the same measurements before and after, for acceptance tests.

use crate::Failure;
use hotlink_diagnose::compare_pairs::{self, PAIRS_LEAST};
use hotlink_launch::pairs;
use hotlink_paper::Output;
use hotlink_report::possible::check_records;
use hotlink_results::compare_runs::{Row, Share, Verdict, judged, rows};
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// How often a command of a pair may run.
const PAIRS: RangeInclusive<u32> = PAIRS_LEAST as u32..=1000;

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
    #[arg(long, value_name = "N", default_value_t = 10, requires = "a", value_parser = clap::value_parser!(u32).range(i64::from(*PAIRS.start())..=i64::from(*PAIRS.end())))]
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

/// The two sides.
pub enum Sides {
    /// Files that `--json` printed, or folders of a sweep: before and after.
    Files(PathBuf, PathBuf),
    /// Commands that run in turn, and how often each does.
    Commands(String, String, u32),
}

/// A comparison of runs as it is asked for.
pub struct Runs {
    /// What is compared.
    pub sides: Sides,
    /// Changes smaller than this are none.
    pub floor: Share,
    /// Parameters that may differ between the two.
    pub ignore: Vec<String>,
    /// Whether the second side may lack results of the first.
    pub allow_missing: bool,
    /// Where the verdicts go as JUnit, too.
    pub junit: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let Args { before, after, a, b, pairs, floor, ignore, allow_missing, junit } = args;
    let sides = match (a, b) {
        (Some(a), Some(b)) => Sides::Commands(a.clone(), b.clone(), *pairs),
        _ => Sides::Files(before.clone().unwrap_or_default(), after.clone().unwrap_or_default()),
    };
    let (floor, ignore, allow_missing, junit) = (*floor, ignore.clone(), *allow_missing, junit.clone());
    compare(&Runs { sides, floor, ignore, allow_missing, junit }, output)
}

/// Compares, and writes the verdicts.
pub(crate) fn compare(asked: &Runs, output: &mut Output) -> Result<(), Failure> {
    if let Some(path) = &asked.junit {
        let inputs: &[&PathBuf] = match &asked.sides {
            Sides::Files(before, after) => &[before, after],
            Sides::Commands(..) => &[],
        };
        hotlink_results::is_no_input("--junit", path, inputs)?;
        hotlink_results::can_write("--junit", path)?;
    }
    let rows = match &asked.sides {
        Sides::Commands(a, b, count) => {
            if !PAIRS.contains(count) {
                let (least, most) = (PAIRS.start(), PAIRS.end());
                return Err(Failure::Input(format!("--pairs {count}: must be {least} to {most}")));
            }
            let progress = output.progress("compare-runs: runs", 2 * u64::from(*count));
            let pairs = pairs((a, b), *count, &progress)?;
            let sides = pairs.iter().flat_map(|pair| [&pair.a, &pair.b]);
            sides.map(std::slice::from_ref).try_for_each(check_records)?;
            compare_pairs::rows(&pairs, asked.floor, &asked.ignore)?
        }
        Sides::Files(before, after) => of_files([before, after], asked)?,
    };
    report(asked, &rows, output)
}

fn of_files([before, after]: [&PathBuf; 2], asked: &Runs) -> Result<Vec<Row>, Failure> {
    let (earlier, later) = (hotlink_results::read(before)?, hotlink_results::read(after)?);
    [&earlier, &later].into_iter().try_for_each(|results| check_records(results))?;
    let [before, after] = [before, after].map(|path| path.display().to_string());
    rows((&before, &earlier), (&after, &later), asked.floor, &asked.ignore)
}

fn report(asked: &Runs, rows: &[Row], output: &mut Output) -> Result<(), Failure> {
    if let Some(path) = &asked.junit {
        hotlink_results::write_whole("--junit", path, &hotlink_report::runs::report(rows, asked.allow_missing))?;
    }
    let lost = rows.iter().filter(|row| [Verdict::OnlyBefore, Verdict::OnlyAfter].contains(&row.verdict)).count();
    match lost {
        0 => {}
        _ if output.is_muted() => {}
        1 => hotlink_paper::tell!("hotlink: 1 result has no partner"),
        _ => hotlink_paper::tell!("hotlink: {lost} results have no partner"),
    }
    output.table(hotlink_paper::runs::table(rows));
    output.push_all(rows.iter().map(|row| row.record.clone()));
    judged(rows, asked.allow_missing)
}
