//! `hotlink fabric`: a site's own network on one screen, what its failures cost, where a job would get more, and better
//! tables.

use super::question::FailArgs;
use crate::Failure;
use hotlink_bench::Record;
use hotlink_diagnose::inspection::{self, JOB_PARTS, JobQuestion, PARTS, Question};
use hotlink_paper::{Output, Table, site as paper};
use hotlink_study::{Error, Source, Watch};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink fabric ibnetdiscover.txt opensm-lfts.dump
  hotlink fabric iblinkinfo.txt dump_fts.txt --samples 1000 --seed 7 --json
  hotlink fabric ibnetdiscover.txt opensm-lfts.dump --failures
  hotlink fabric ibnetdiscover.txt opensm-lfts.dump --groups --json > groups.json && hotlink report groups.json
  hotlink fabric ibnetdiscover.txt opensm-lfts.dump --hosts 'node[001-016]'
  hotlink fabric ibnetdiscover.txt opensm-lfts.dump --reroute tables.out
  hotlink fabric ibnetdiscover.txt opensm-lfts.dump --keep site.hotlink

Shares are of the usual host link: 1 means that every host sends at that rate. `cable_bound_share` is proved: no routing
gives more on these cables. `cable_reached_share` is the share that the best routing found gives.")]
pub(crate) struct Args {
    /// Read these dumps of one network. Its cables: ibnetdiscover, iblinkinfo, opensm-subnet.lst. Optionally its
    /// forwarding tables: opensm-lfts.dump, dump_fts, opensm.fdbs. Its virtual lanes: opensm-sl2vl.dump,
    /// ibdiagnet.slvl. Its service levels: saquery -p, ibdiagnet.psl.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    #[command(flatten)]
    failed: FailArgs,
    /// Let every cable and every switch fail in turn, and rank them by that cost, with the tables as they are and
    /// re-routed.
    #[arg(long, conflicts_with_all = ["hosts", "reroute"])]
    failures: bool,
    /// Show the share of the host link that hosts of each switch reach to those of each other switch. `hotlink report` draws
    /// it.
    #[arg(long, conflicts_with_all = ["failures", "hosts", "reroute"])]
    groups: bool,
    /// Show this many failures in the table; the other formats have all.
    #[arg(long, value_name = "N", default_value_t = 20, requires = "failures")]
    top: usize,
    /// Examine a job on these hosts, in order of its ranks. Name a Slurm host list such as node[001-016], or @FILE with
    /// hosts or host lists on its lines.
    #[arg(long, value_name = "LIST|@FILE", conflicts_with = "reroute")]
    hosts: Option<String>,
    /// Write better tables (balanced by destination, up*/down*) to a file that `opensm -R file -U FILE` loads.
    #[arg(long, value_name = "FILE")]
    reroute: Option<PathBuf>,
    /// Write the network to one binary file, which takes the place of its dumps and is read much faster; then inspect it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["failures", "hosts", "reroute"])]
    keep: Option<PathBuf>,
    /// Draw this many random permutations, and as many random placements.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    samples: u64,
    /// Draw them from this seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The gap at which the two bounds of the cables' capacity are close enough.
const GAP: f64 = 0.01;

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    for (option, file) in [("--reroute", &args.reroute), ("--keep", &args.keep)] {
        if let Some(file) = file {
            hotlink_results::is_no_input(option, file, &args.files)?;
            hotlink_results::can_write(option, file)?;
        }
    }
    let source = Source::open(&format!("{}{}", args.files.join("+"), args.failed.spelled()))?;
    if let Some(file) = &args.keep {
        hotlink_results::write_with("--keep", file, |out| {
            inspection::keep(&source, out).map_err(|error| std::io::Error::other(error.to_string()))
        })?;
    }
    let question = Question { samples: args.samples, seed: args.seed, gap: GAP };
    let (records, tables) = if args.failures {
        let records = watched(output, 2, |watch| inspection::failures(&source, watch))?;
        let tables = paper::failures(&records, args.top).to_vec();
        (records, tables)
    } else if args.groups {
        as_they_are(watched(output, 2, |watch| inspection::groups(&source, watch))?, Vec::new())
    } else if let Some(hosts) = &args.hosts {
        let job = JobQuestion { hosts: inspection::hosts(hosts)?, draws: question };
        as_they_are(watched(output, JOB_PARTS, |watch| inspection::job(&source, &job, watch))?, Vec::new())
    } else if let Some(file) = &args.reroute {
        let (records, tables) = watched(output, 3, |watch| inspection::reroute(&source, question, watch))?;
        hotlink_results::write_with("--reroute", file, |out| tables.write(out))?;
        as_they_are(records, vec![format!("load them: opensm -R file -U {}", file.display())])
    } else {
        let record = watched(output, PARTS, |watch| inspection::inspect(&source, question, watch))?;
        if let Some(lost) = record.number("unreachable_pairs").filter(|lost| *lost > 0.0) {
            hotlink_paper::tell!("hotlink: {lost} pairs of hosts have no route: are these the tables of these cables?");
        }
        let table = paper::inspection(&args.files, &record);
        (vec![record], vec![table])
    };
    output.tables(tables);
    output.push_all(records);
    Ok(())
}

fn as_they_are(records: Vec<Record>, notes: Vec<String>) -> (Vec<Record>, Vec<Table>) {
    let table = Table { notes, ..Table::of(&records) };
    (records, vec![table])
}

/// Runs a question under a line of progress.
fn watched<T>(output: &Output, parts: u64, ask: impl FnOnce(&dyn Watch) -> Result<T, Error>) -> Result<T, Failure> {
    ask(&*output.ticking("fabric", parts))
}
