//! `hotlink measure pingpong`.

use super::bound::{Bound, OF_A_MESSAGE};
use super::{Repetition, carrier::Carrier, summary};
use crate::words::word;
use crate::{Failure, output::Output, values::Sizes};
use hotlink_bench::{PingPong, Record, Samples};
use hotlink_study::options::Memory;

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Ranks; the first and the last play, the others wait. 2 if not given, under a launcher all that it started.
    #[arg(long, value_name = "N")]
    ranks: Option<u32>,
    /// Message sizes: a list or range, such as 8,64KiB or 8..1MiB.
    #[arg(long, value_name = "LIST", default_value = "8,64KiB,1MiB")]
    size: Sizes,
    /// Memory that messages lie in.
    #[arg(long, value_parser = word::<Memory>(), default_value_t = Memory::Private)]
    memory: Memory,
    /// Write each message anew before it is sent; the time of that counts.
    #[arg(long)]
    rewrite: bool,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let ranks = args.carrier.ranks(args.ranks.map(|ranks| vec![ranks]), &[2])?[0];
    if ranks < 2 {
        return Err(Failure::Input(format!("--ranks {ranks}: a ping-pong needs at least 2")));
    }
    args.carrier.fits(&args.size, 2, 2)?;
    let over = args.carrier.oversubscribed(ranks);
    let mut hand_off_us = args.carrier.hand_off_us()?.unwrap_or(0.0);
    let progress = output.progress("measure pingpong", args.size.len() as u64);
    for &size in args.size.iter() {
        let bench = PingPong {
            sizes: vec![size],
            private: args.memory == Memory::Private,
            rewrite: args.rewrite,
            plan: args.repetition.plan()?,
        };
        let results: Vec<Vec<Samples>> = args.carrier.run(ranks, &bench)?;
        let copy_mbps = args.carrier.copy_rate(size, 2, args.repetition.bound_plan()?)?;
        hand_off_us = args.carrier.least_hand_off_us(hand_off_us)?;
        output.push(record(args, ranks, size, &results[0][0], over, (hand_off_us, copy_mbps))?);
        progress.step();
    }
    Ok(())
}

fn record(
    args: &Args,
    ranks: u32,
    size: u64,
    samples: &Samples,
    over: bool,
    (hand_off_us, copy_mbps): (f64, Option<f64>),
) -> Result<Record, Failure> {
    let summary = summary(samples)?;
    let copy_us = copy_mbps.map_or(0.0, |rate| size as f64 / rate);
    let bound = Bound::larger(hand_off_us, copy_us, OF_A_MESSAGE);
    let record = args
        .carrier
        .record(&args.repetition.fabric, "pingpong")
        .with("memory", args.memory.name())
        .with("ranks", ranks)
        .with("size_B", size)
        .with("latency_us", summary.median)
        .with("bandwidth_MBps", size as f64 / summary.median)
        .with("bound_bandwidth_MBps", bound.mbps(size));
    let mut record = bound.add_to(record, summary.median).with("oversubscribed", over);
    if args.rewrite {
        record.set("rewritten", true);
    }
    args.repetition.finish(record, samples, "latency_us")
}
