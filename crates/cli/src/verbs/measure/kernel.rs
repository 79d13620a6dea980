//! `hotlink measure kernel`: an application bound by barriers, in the proportions of H06's Abinit or others.

use super::{Repetition, carrier::Carrier};
use crate::verbs::benches::KernelOptions;
use crate::{Failure, output::Output, values::Counts};
use hotlink_bench::Spent;

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Ranks: a list or range. 2 if not given, under a launcher all that it started.
    #[arg(long, value_name = "LIST")]
    ranks: Option<Counts>,
    #[command(flatten)]
    kernel: KernelOptions,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    args.repetition.without_buffers("kernel")?;
    let asked = args.ranks.as_ref().map(Counts::to_u32).transpose();
    let asked = asked.map_err(|what| Failure::Input(format!("--ranks: {what}")))?;
    let ranks = args.carrier.ranks(asked, &[2])?;
    let bench = args.kernel.bench(args.repetition.plan()?)?;
    let progress = output.progress("measure kernel", ranks.len() as u64);
    for &ranks in &ranks {
        let over = args.carrier.oversubscribed(ranks);
        let results: Vec<Spent> = args.carrier.run(ranks, &bench)?;
        let head = args.carrier.record(&args.repetition.fabric, "kernel");
        let (record, own) = bench.record(head, &results).ok_or_else(super::no_sample)?;
        output.push(args.repetition.finish(record, &own, "barrier_us")?.with("oversubscribed", over));
        progress.step();
    }
    Ok(())
}
