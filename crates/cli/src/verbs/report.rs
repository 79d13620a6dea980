//! `hotlink report`: results as one page that one can sign.

use crate::{Failure, output::Output, table::Table};
use hotlink_fabric::input;
use hotlink_report::{Acceptance, Report, Verdict};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink report pingpong.json fabric.json --out report.html
  hotlink report m.json --out report.html --require acceptance.toml --junit report.xml
  hotlink new acceptance > acceptance.toml      # what may be required, each key explained

The page is one HTML file that needs no network: the verdict, what was required and reached, what stands out, curves beside
their bounds, what the numbers rest on, the commands that make them again, the files' fingerprints, room for signatures.

fail: a requirement is missed by the whole interval, or a result is wrong in itself (a failed check, a credit loop, hosts
that cannot reach each other). suspicious: an interval reaches over its limit, a number beats its bound, more ranks than
cores ran, links run below their rate. pass: neither. Exit status 1 for fail; with --require for suspicious, too.")]
pub(crate) struct Args {
    /// Results: files that `--json` printed, or folders of a sweep; - is standard input.
    #[arg(value_name = "RESULTS", required = true)]
    pub(super) results: Vec<PathBuf>,
    /// The page to write.
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    pub(super) out: PathBuf,
    /// What is required of the results, as TOML.
    #[arg(long, value_name = "FILE")]
    pub(super) require: Option<PathBuf>,
    /// Also write checks and findings as JUnit.
    #[arg(long, value_name = "FILE")]
    pub(super) junit: Option<PathBuf>,
    /// What the page is called. [default: the title of --require]
    #[arg(long, value_name = "TEXT")]
    pub(super) title: Option<String>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    hotlink_results::can_write("--out", &args.out)?;
    if let Some(path) = &args.junit {
        hotlink_results::can_write("--junit", path)?;
    }
    let acceptance = args.require.as_ref().map(|path| {
        let text = input::text(&path.to_string_lossy());
        let text = text.map_err(|error| Failure::Input(format!("{}: cannot be read: {error}", path.display())))?;
        Acceptance::parse(path, &text)
    });
    let acceptance = acceptance.transpose()?;
    let read: Result<Vec<_>, Failure> = args.results.iter().map(|path| hotlink_results::read(path)).collect();
    let inputs = read?.into_iter().flatten().collect();
    let report = Report::new(inputs, acceptance, args.title.clone(), command(args));
    hotlink_results::write_whole("--out", &args.out, &report.html())?;
    if let Some(path) = &args.junit {
        hotlink_results::write_whole("--junit", path, &report.junit())?;
    }
    let records = report.records();
    let verdict = report.verdict();
    let title = format!("{}: {} ({})", verdict.name(), report.sentence(), args.out.display());
    output.table(Table { title, ..Table::of(&records[1..]) });
    records.into_iter().for_each(|record| output.push(record));
    match verdict {
        Verdict::Fail => Err(Failure::Check(format!("fail: {}", report.sentence()))),
        Verdict::Suspicious if args.require.is_some() => {
            Err(Failure::Check(format!("suspicious: {}", report.sentence())))
        }
        _ => Ok(()),
    }
}

/// The command that makes the page again.
fn command(args: &Args) -> String {
    let mut words = vec!["hotlink report".to_owned()];
    words.extend(args.results.iter().map(|path| path.display().to_string()));
    words.push(format!("--out {}", args.out.display()));
    words.extend(args.require.iter().map(|path| format!("--require {}", path.display())));
    words.extend(args.title.iter().map(|title| format!("--title '{title}'")));
    words.join(" ")
}
