//! `hotlink measure kernel`: an application bound by barriers, in the proportions of H06's Abinit or others.

use super::{Repetition, carrier::Carrier, summary};
use crate::{Failure, output::Output, values::Counts};
use hotlink_bench::{Kernel, Proportions, Record, Samples, Spent};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Ranks: a list or range. 2 if not given, under a launcher all that it started.
    #[arg(long, value_name = "LIST")]
    ranks: Option<Counts>,
    /// Share of the run in MPI where the application was observed (Abinit: 0.08).
    #[arg(long, value_name = "SHARE", default_value_t = Proportions::ABINIT.mpi, value_parser = share)]
    mpi_share: f64,
    /// Share of that in MPI_Barrier (Abinit: 0.65).
    #[arg(long, value_name = "SHARE", default_value_t = Proportions::ABINIT.barrier, value_parser = share)]
    barrier_share: f64,
    /// Time of a barrier there, in microseconds (H06's Gigabit Ethernet: 80).
    #[arg(long, value_name = "US", default_value_t = Proportions::ABINIT.barrier_us, value_parser = microseconds)]
    barrier_us: f64,
    /// Most that a rank computes longer than the others before a barrier, in microseconds.
    #[arg(long, value_name = "US", default_value_t = 0.0, value_parser = microseconds)]
    skew: f64,
    /// Barriers of a run.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    iterations: u64,
    /// Of the skew.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0001..=0.9999).contains(share));
    share.ok_or_else(|| "allowed is a share from 0.0001 to 0.9999".to_owned())
}

fn microseconds(text: &str) -> Result<f64, String> {
    let us = text.parse::<f64>().ok().filter(|us| (0.0..=1e6).contains(us));
    us.ok_or_else(|| "allowed are microseconds from 0 to 1000000".to_owned())
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    args.repetition.without_buffers("kernel")?;
    let asked = args.ranks.as_ref().map(Counts::to_u32).transpose();
    let asked = asked.map_err(|what| Failure::Input(format!("--ranks: {what}")))?;
    let ranks = args.carrier.ranks(asked, &[2])?;
    let proportions = Proportions { mpi: args.mpi_share, barrier: args.barrier_share, barrier_us: args.barrier_us };
    let bench = Kernel {
        compute_us: proportions.compute_us(),
        skew_us: args.skew,
        sums: proportions.others_per_barrier(),
        iterations: args.iterations,
        seed: args.seed,
        plan: args.repetition.plan()?,
    };
    let progress = output.progress("measure kernel", ranks.len() as u64);
    for &ranks in &ranks {
        let over = args.carrier.oversubscribed(ranks);
        let results: Vec<Spent> = args.carrier.run(ranks, &bench)?;
        output.push(record(args, &bench, &results)?.with("oversubscribed", over));
        progress.step();
    }
    Ok(())
}

fn record(args: &Args, bench: &Kernel, ranks: &[Spent]) -> Result<Record, Failure> {
    let most = |of: fn(&Spent) -> f64| ranks.iter().map(of).fold(0.0, f64::max);
    let mean = |of: fn(&Spent) -> f64| ranks.iter().map(of).sum::<f64>() / ranks.len() as f64;
    let (total_us, compute_us) = (most(|rank| rank.total_us), most(|rank| rank.compute_us));
    let barriers_us = mean(|rank| rank.barriers_us.iter().sum());
    let sums_us = mean(|rank| rank.sums_us);
    // Who comes last waits for nobody: the least of the ranks' times is the barrier's own.
    let own = |i: usize| ranks.iter().map(|rank| rank.barriers_us[i]).fold(f64::INFINITY, f64::min);
    let own = Samples {
        values: (0..bench.iterations as usize).map(own).collect(),
        inner: 1,
        warmup: bench.plan.warmup,
        timer: ranks[0].timer,
    };
    let own_us = summary(&own)?.median;
    let record = args
        .carrier
        .record(&args.repetition.fabric, "kernel")
        .with("ranks", ranks.len())
        .with("iterations", bench.iterations)
        .with("compute_us", bench.compute_us)
        .with("skew_us", bench.skew_us)
        .with("sums_per_barrier", bench.sums)
        .with("time_s", total_us * 1e-6)
        .with("mpi_share", (barriers_us + sums_us) / total_us)
        .with("barrier_share_of_mpi", barriers_us / (barriers_us + sums_us))
        .with("barrier_us", own_us)
        .with("barrier_and_wait_us", barriers_us / bench.iterations as f64)
        .with("bound_time_s", compute_us * 1e-6)
        .with("efficiency", compute_us / total_us)
        .with("limiting_resource", if 2.0 * compute_us > total_us { "computation" } else { "barrier" })
        .with("bound_is", "the slowest rank's computation, with messages and barriers that take no time");
    args.repetition.finish(record, &own, "barrier_us")
}
