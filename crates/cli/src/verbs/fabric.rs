//! `hotlink fabric`: a site's own network on one screen.

use crate::table::Table;
use crate::{Failure, output::Output};
use hotlink_bench::Record;
use hotlink_study::Source;
use hotlink_study::inspection::{PARTS, Question, inspect};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink fabric ibnetdiscover.txt opensm-lfts.dump
  hotlink fabric iblinkinfo.txt dump_fts.txt --samples 1000 --seed 7 --json

Shares are of the usual host link: 1 means that every host sends at that rate. `cable_bound_share` is proved: no routing
gives more on these cables; `cable_reached_share` is what a routing was found for.")]
pub(crate) struct Args {
    /// Dumps of one network: its cables (ibnetdiscover, iblinkinfo, opensm-subnet.lst), and its forwarding tables
    /// (opensm-lfts.dump, dump_fts, opensm.fdbs) if there are any.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    /// Random permutations to draw.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    samples: u64,
    /// Seed of the draws.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// How close the two bounds of what the cables allow shall come.
const GAP: f64 = 0.01;

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let source = Source::open(&args.files.join("+"))?;
    let progress = output.progress("fabric", PARTS);
    let ticking = progress.ticking();
    let question = Question { samples: args.samples, seed: args.seed, gap: GAP };
    let record = inspect(&source, question, &progress)?;
    drop(ticking);
    let notes = notes(args, &record);
    output.table(Table { notes, ..Table::of(std::slice::from_ref(&record)) });
    output.push(record);
    Ok(())
}

/// The command that shows each finding.
fn notes(args: &Args, record: &Record) -> Vec<String> {
    let routes = args.files.get(1).map_or_else(String::new, |_| format!(" --routes {}", args.files[1..].join(" ")));
    let analyze = format!("hotlink analyze {}{routes}", args.files[0]);
    let mut notes = vec![format!("what every cable carries: {analyze} --links")];
    if let Some(seed) = record.text("permutation_worst_seed") {
        notes.push(format!(
            "the worst permutation: {analyze} --traffic permutation:random --samples 1 --seed {seed} --links"
        ));
    }
    if let Some(shift) = record.text("shift_worst") {
        notes.push(format!("the worst shift: {analyze} --traffic {shift} --links"));
    }
    notes
}
