//! `hotlink simulate jobs`: several jobs on one fabric at once, each with its time alone.

use super::schedule::NetworkArgs;
use crate::Failure;
use crate::place::programs;
use crate::words::{Fabrics, word};
use hotlink_paper::{Output, columns};
use hotlink_workloads::jobs::{Jobs, Placement, Plan};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate jobs plans/two-jobs.toml --fabric ib-ndr-fat-tree2 --json
  hotlink simulate jobs plans/two-jobs.toml --fabric ib-ndr-fat-tree2 --placement contiguous,spread,random
  hotlink new jobs > jobs.toml && hotlink simulate jobs jobs.toml --fabric eth-400g-leaf-spine

A plan names jobs: schedules, collectives, traffic, training, or MPI programs (docs/jobs.md). It gives each job's nodes, its
start, its number of runs, and the failures meanwhile. Each job runs alone and then with the others, on the same nodes.")]
pub(crate) struct Args {
    /// Plan of jobs: a TOML file, or - for standard input.
    plan: String,
    /// Fabrics to simulate: names of the catalog, or files.
    #[arg(long, required = true, value_name = "LIST")]
    fabric: Vec<Fabrics>,
    /// Place jobs that list no nodes by this rule. Several rules give one answer each. [default: the plan's]
    #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = word::<Placement>())]
    placement: Vec<Placement>,
    #[command(flatten)]
    network: NetworkArgs,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let plan = Plan::read(&args.plan)?;
    let one = |network| Jobs {
        nodes: args.network.nodes(),
        placements: args.placement.clone(),
        network,
        vary: args.network.vary(),
    };
    let jobs: Vec<Jobs> = args.network.networks()?.into_iter().map(one).collect();
    output.end_with_reader();
    let steps: u64 = jobs.iter().map(|jobs| jobs.steps(&plan)).sum();
    let progress = output.ticking("simulate", steps * Fabrics::all(&args.fabric).count() as u64);
    let programs = programs();
    for fabric in Fabrics::all(&args.fabric) {
        for jobs in &jobs {
            if output.is_closed() {
                return Ok(());
            }
            output.push_all(jobs.run(&plan, &args.network.fabric(fabric), &programs, &*progress)?);
        }
    }
    output.tabulate(columns::JOBS);
    Ok(())
}
