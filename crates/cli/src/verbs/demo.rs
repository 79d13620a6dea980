//! `hotlink demo`: the first ten seconds. Every line comes from a command, whose records are stored next to the page.

use super::sweep::run_cell;
use crate::Failure;
use hotlink_paper::Output;
use hotlink_report::demo;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink demo
  hotlink demo --out report/      # then open report/index.html

The demo measures two ranks on this machine, compares three networks for 512 nodes, and shows one finding of the studies.
It takes some ten seconds and prints at most 25 lines. The folder gets the records of each command, and one page of them
all.")]
pub(crate) struct Args {
    /// Write the page and its records into this folder.
    #[arg(long, value_name = "DIR", default_value = "report")]
    out: PathBuf,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let progress = output.ticking("demo", demo::COMMANDS);
    let shown = demo::shown(&args.out, &run_cell, &|| progress.step())?;
    drop(progress);
    output.text(shown.lines.join("\n"));
    output.push_all(shown.networks);
    shown.judged
}
