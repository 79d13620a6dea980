//! `hotlink report`: results as one page that can be signed.

use crate::Failure;
use hotlink_paper::{Output, Table};
use hotlink_report::Asked;
use hotlink_results::anonymous::last_part;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink report pingpong.json fabric.json --out report.html
  hotlink report m.json --out report.html --require acceptance.toml --junit report.xml
  hotlink new acceptance > acceptance.toml      # what may be required, each key explained

The page is one HTML file that needs no network. It has the verdict, the requirements with the values reached, the outliers,
and the results that are furthest from their bounds. It also has the checks, curves with their bounds, and the basis of the
numbers. The commands that make them again, the files' fingerprints, and room for signatures come last.

The verdict is fail where the whole interval misses a requirement, or a result is wrong in itself or better than its bound.
It is suspicious where an interval reaches over its limit, or a result lacks what is required. So it is where ranks and other
processes outnumber cores, links run below their rate, or a check is broken. A size breaks a check if smaller messages with its data take less time. So do an outlier among repeats, and a
measurement apart from its simulation.

The verdict is pass where requirements and checks hold, and unjudged where nothing is required. The exit status is 1 for fail, and
with --require also for suspicious.")]
pub(crate) struct Args {
    /// Results: files that `--json` printed, or folders of a sweep; - is standard input.
    #[arg(value_name = "RESULTS", required = true)]
    results: Vec<PathBuf>,
    /// Write the page to this file.
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
    /// Check the results against these requirements, a TOML file.
    #[arg(long, value_name = "FILE")]
    require: Option<PathBuf>,
    /// Write checks and findings to this file, too, as JUnit.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Give the page this title. [default: the title of --require, else "Network report"]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let Args { results, out, require, junit, title } = args;
    let (results, out, require) = (results.clone(), out.clone(), require.clone());
    let asked =
        Asked { results, out, require, junit: junit.clone(), title: title.clone(), anonymous: output.is_anonymous() };
    let report = asked.write()?;
    let records = report.records();
    let place = args.out.display().to_string();
    let place = if output.is_anonymous() { last_part(&place) } else { &place };
    let title = format!("{}: {} ({place})", report.verdict().name(), report.sentence());
    // The title counts what each check covers.
    let shown = records[1..].iter().filter(|record| record.text("kind") != Some("held")).cloned();
    output.table(Table { title, ..Table::of(&shown.collect::<Vec<_>>()) });
    output.push_all(records);
    asked.verdict(&report)
}
