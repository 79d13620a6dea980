//! `hotlink doctor`: what this machine lacks for measuring and building, and how to get it.

use crate::table::Table;
use crate::{Failure, output::Output};
use hotlink_bench::Record;
use hotlink_measure::doctor::{Finding, examine};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink doctor
  hotlink doctor --json

The status is 0 even where something is missing: each line says what it is needed for.")]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, output: &mut Output) -> Result<(), Failure> {
    let findings = examine(std::env::args_os().next().as_deref().map(std::path::Path::new));
    for finding in &findings {
        let verdict = finding.verdict.name();
        let record = Record::new().with("check", finding.check).with("verdict", verdict);
        output.push(record.with("found", finding.found.as_str()).with("advice", finding.advice.as_str()));
    }
    let columns = ["", "check", "found", "advice"].map(str::to_owned).to_vec();
    let row = |finding: &Finding| {
        vec![finding.verdict.name().to_owned(), finding.check.to_owned(), finding.found.clone(), finding.advice.clone()]
    };
    let rows = findings.iter().map(row).collect();
    output.table(Table { title: String::new(), columns, rows, notes: Vec::new() });
    Ok(())
}
