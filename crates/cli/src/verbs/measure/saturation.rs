//! `hotlink measure saturation`.

use super::{Repetition, carrier::Carrier, stream::BOUND_IS, summary};
use crate::values::{Counts, Sizes};
use crate::words::word;
use crate::{Failure, output::Output};
use hotlink_bench::{Calls, Direction, PingPong, Plan, Record, Samples, Stream};
use hotlink_study::options::Memory;

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Pairs of ranks that send at once: a list or range. 1..4 if not given, under MPI half of all that were started.
    #[arg(long, value_name = "LIST")]
    pairs: Option<Counts>,
    /// Message sizes: a list or range, such as 64KiB,1MiB.
    #[arg(long, value_name = "LIST", default_value = "1MiB")]
    size: Sizes,
    /// Memory that messages lie in.
    #[arg(long, value_parser = word::<Memory>(), default_value_t = Memory::Private)]
    memory: Memory,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let asked = args.pairs.as_ref().map(Counts::to_u32).transpose();
    let asked = asked.map_err(|what| Failure::Input(format!("--pairs: {what}")))?;
    let ranks = args.carrier.ranks(asked.map(|pairs| pairs.iter().map(|pairs| 2 * pairs).collect()), &[2, 4, 6, 8])?;
    let pairs: Vec<u32> = ranks.iter().map(|ranks| ranks / 2).collect();
    if let Some(many) = pairs.iter().find(|&&pairs| pairs > 32) {
        return Err(Failure::Input(format!("--pairs {many}: allowed are 1 to 32")));
    }
    hotlink_study::benchmarks::check_sizes(&args.size)?;
    args.carrier.fits(&args.size, 2 * pairs.iter().copied().max().unwrap_or(1), 2)?;
    let private = args.memory == Memory::Private;
    let idle = PingPong { sizes: vec![8], private, rewrite: false, plan: args.repetition.bound_plan()? };
    let idle: Vec<Vec<Samples>> = args.carrier.run(args.carrier.least(2)?, &idle)?;
    let idle_latency_us = summary(&idle[0][0])?.median;
    let progress = output.progress("measure saturation", (pairs.len() * args.size.len()) as u64);
    for &pairs in &pairs {
        let over = args.carrier.oversubscribed(2 * pairs);
        for &size in args.size.iter() {
            let bench = stream(args, pairs, size, args.repetition.plan()?);
            let results: Vec<Vec<Samples>> = args.carrier.run(args.carrier.least(2 * pairs)?, &bench)?;
            let aggregate = bench.aggregate(&results);
            let bound = args.carrier.copy_rate(size, 2 * pairs, args.repetition.bound_plan()?)?.unwrap_or(0.0);
            output.push(record(args, pairs, size, &aggregate[0], over, bound, idle_latency_us)?);
            progress.step();
        }
    }
    Ok(())
}

fn stream(args: &Args, pairs: u32, size: u64, plan: Plan) -> Stream {
    let private = args.memory == Memory::Private;
    Stream { sizes: vec![size], pairs, window: None, calls: Calls::Windowed, direction: Direction::Uni, private, plan }
}

fn record(
    args: &Args,
    pairs: u32,
    size: u64,
    samples: &Samples,
    over: bool,
    bound_mbps: f64,
    idle_latency_us: f64,
) -> Result<Record, Failure> {
    let summary = summary(samples)?;
    let record = args
        .carrier
        .record(&args.repetition.fabric, "saturation")
        .with("memory", args.memory.name())
        .with("ranks", 2 * pairs)
        .with("pairs", pairs)
        .with("size_B", size)
        .with("window", stream(args, pairs, size, args.repetition.plan()?).window(size))
        .with("bandwidth_MBps", summary.median)
        .with("bound_bandwidth_MBps", bound_mbps)
        .with("efficiency", if bound_mbps > 0.0 { summary.median / bound_mbps } else { 0.0 })
        .with("limiting_resource", "memory copy")
        .with("bound_is", BOUND_IS)
        .with("idle_latency_us", idle_latency_us)
        .with("oversubscribed", over);
    args.repetition.finish(record, samples, "bandwidth_MBps")
}
