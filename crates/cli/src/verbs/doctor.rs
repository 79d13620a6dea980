//! `hotlink doctor`: what this machine lacks for measuring and building, and how to get it.

use crate::Failure;
use hotlink_bench::Record;
use hotlink_measure::doctor::examine;
use hotlink_paper::{Output, Table};
use hotlink_standard::{Name, names};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink doctor
  hotlink doctor --json
  hotlink doctor --mpi

The exit status is 0 even where something is missing. Each line says what needs it.")]
pub(crate) struct Args {
    /// List MPI's functions by chapter: how many of them libmpi_abi.so.1 has, and the names of those that it refuses.
    #[arg(long)]
    mpi: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    if args.mpi {
        chapters(output);
        return Ok(());
    }
    for finding in examine(std::env::args_os().next().as_deref().map(std::path::Path::new)) {
        let record = Record::new().with("check", finding.check).with("verdict", finding.verdict.name());
        output.push(record.with("found", finding.found.as_str()).with("advice", finding.advice.as_str()));
    }
    let columns = [("verdict", ""), ("check", "check"), ("found", "found"), ("advice", "advice")];
    output.table(Table::with_heads(output.records(), &columns));
    Ok(())
}

/// The standard's functions by chapter.
fn chapters(output: &mut Output) {
    let mut titles: Vec<&str> = Vec::new();
    for (_, title, _) in names() {
        if !titles.contains(&title) {
            titles.push(title);
        }
    }
    let mut rows = Vec::new();
    for title in titles {
        let all = names().filter(|name| name.1 == title);
        let (there, missing): (Vec<Name>, Vec<Name>) = all.partition(|name| name.2);
        let refused: Vec<&str> = missing.iter().map(|name| name.0).collect();
        let record = Record::new().with("chapter", title).with("functions", there.len() + refused.len());
        output.push(record.with("there", there.len()).with("refused", refused.join(" ")));
        let few = refused.iter().take(4).copied().collect::<Vec<_>>().join(" ");
        let more = if refused.len() > 4 { format!("{few} and {} more", refused.len() - 4) } else { few };
        rows.push(vec![title.to_owned(), there.len().to_string(), refused.len().to_string(), more]);
    }
    let columns = ["chapter", "there", "refused", "names (--json has all)"].map(str::to_owned).to_vec();
    output.table(Table { title: String::new(), columns, rows, notes: Vec::new() });
}
