//! `hotlink simulate region`: regions of the shared-memory interface on a simulated fabric.

use super::options::UncertainArgs;
use crate::Failure;
use crate::verbs::benches::RegionArgs;
use crate::words::Fabrics;
use hotlink_paper::{Output, columns};
use hotlink_workloads::region::Study;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate region --fabric w01-sci-d330
  hotlink simulate region --fabric w01-sci-d330 --kind rdma --memory shared,private --size 4KiB..1MiB..x4
  hotlink simulate region --fabric w01-sci-d330 --nodes 8 --setup collective,pair,individual --hold persistent

Node 0 owns the region, node 1 puts into it, and node 0 revokes it in the end. The field `latency_us` is one put; with --hold
each, a put between an import and its release.")]
pub(crate) struct Args {
    /// Fabrics to simulate: names of the catalog, or files.
    #[arg(long, required = true, value_name = "LIST")]
    fabric: Vec<Fabrics>,
    /// Run one rank on each of this many nodes; all of them set up a collective region.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..))]
    nodes: u32,
    #[command(flatten)]
    region: RegionArgs,
    /// Draw every random choice from this seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    uncertain: UncertainArgs,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let RegionArgs { kind, setup, hold, memory, size } = &args.region;
    let study = Study {
        kinds: kind.clone(),
        setups: setup.clone(),
        holds: hold.clone(),
        memory: memory.clone(),
        sizes: size.to_vec(),
        nodes: args.nodes,
        seed: args.seed,
        vary: args.uncertain.vary(),
    };
    output.end_with_reader();
    let progress = output.ticking("simulate", (study.count() * Fabrics::all(&args.fabric).count()) as u64);
    for fabric in Fabrics::all(&args.fabric) {
        if output.is_closed() {
            return Ok(());
        }
        output.push_all(study.run(fabric, &*progress)?);
    }
    output.tabulate(columns::REGION);
    Ok(())
}
