//! `hotlink measure pingpong`.

use super::{Memory, Repetition, Via, failure, limits, oversubscribed, summary};
use crate::{Failure, output::Output, values::Sizes};
use hotlink_bench::{CopyRate, PingPong, Record, Samples, Summary, copy_bound_mbps};

#[derive(clap::Args)]
pub(super) struct Args {
    /// What carries the messages.
    #[arg(long, value_enum, default_value_t = Via::Shm)]
    via: Via,
    /// Ranks; the first and the last play, the others wait.
    #[arg(long, value_name = "N", default_value_t = 2)]
    ranks: u32,
    /// Message sizes: a list or range, such as 8,64KiB or 8..1MiB.
    #[arg(long, value_name = "LIST", default_value = "8,64KiB,1MiB")]
    size: Sizes,
    /// Memory that messages lie in.
    #[arg(long, value_enum, default_value_t = Memory::Private)]
    memory: Memory,
    #[command(flatten)]
    repetition: Repetition,
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    if args.ranks < 2 {
        return Err(Failure::Input(format!("--ranks {}: a ping-pong needs at least 2", args.ranks)));
    }
    let over = oversubscribed(args.ranks);
    let hand_off = hotlink_real::hand_off(&limits()).map_err(failure)?;
    let hand_off_us = Summary::of(&hand_off).map_or(0.0, |summary| summary.min);
    let progress = output.progress("measure pingpong", args.size.len() as u64);
    for &size in args.size.iter() {
        let bench =
            PingPong { sizes: vec![size], private: args.memory == Memory::Private, plan: args.repetition.plan()? };
        let results: Vec<Vec<Samples>> = args.via.run(args.ranks, &bench)?;
        let copy_mbps = copy_rate(size, 2.min(hotlink_real::cores()), &args.repetition)?;
        output.push(record(args, size, &results[0][0], over, hand_off_us, copy_mbps)?);
        progress.step();
    }
    Ok(())
}

/// The rate at which `ranks` ranks together copy blocks of `size`, in their own memory.
pub(super) fn copy_rate(size: u64, ranks: u32, repetition: &Repetition) -> Result<Option<f64>, Failure> {
    if size == 0 {
        return Ok(None);
    }
    let copies: Vec<Vec<Samples>> =
        Via::Shm.run(ranks, &CopyRate { sizes: vec![size], plan: repetition.bound_plan()? })?;
    Ok(copy_bound_mbps(&copies, 0))
}

fn record(
    args: &Args,
    size: u64,
    samples: &Samples,
    over: bool,
    hand_off_us: f64,
    copy_mbps: Option<f64>,
) -> Result<Record, Failure> {
    let summary = summary(samples)?;
    let copy_us = copy_mbps.map_or(0.0, |rate| size as f64 / rate);
    let (bound_us, limiting) =
        if copy_us > hand_off_us { (copy_us, "memory copy") } else { (hand_off_us, "cache-line hand-off") };
    let mut record = Record::new()
        .with("fabric", args.repetition.fabric.as_str())
        .with("benchmark", "pingpong")
        .with("method", "measured")
        .with("via", args.via.name())
        .with("memory", args.memory.name())
        .with("ranks", args.ranks)
        .with("size_B", size)
        .with("latency_us", summary.median)
        .with("bandwidth_MBps", size as f64 / summary.median)
        .with("bound_latency_us", bound_us)
        .with("bound_bandwidth_MBps", if size > 0 { size as f64 / bound_us } else { 0.0 })
        .with("efficiency", bound_us / summary.median)
        .with("limiting_resource", limiting)
        .with("bound_is", "the larger of a cache line's hand-off between cores and both ranks copying the message")
        .with("oversubscribed", over);
    record = summary.into(record).with("statistic_of", "latency_us").with("inner", samples.inner);
    if args.repetition.raw {
        record.set("samples", samples.values.clone());
    }
    Ok(record)
}
