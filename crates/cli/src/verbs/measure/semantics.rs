//! `hotlink measure semantics`: restricted against full postal (K98).

use super::{Repetition, carrier::Carrier, summary};
use crate::words::word;
use crate::{Failure, output::Output, values::Sizes};
use hotlink_bench::{Samples, Semantics};
use hotlink_study::options::Memory;

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Message sizes: a list or range.
    #[arg(long, value_name = "LIST", default_value = "64,4KiB,64KiB,1MiB")]
    size: Sizes,
    /// Memory that messages lie in.
    #[arg(long, value_parser = word::<Memory>(), default_value_t = Memory::Private)]
    memory: Memory,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    hotlink_study::benchmarks::check_sizes(&args.size)?;
    let ranks = args.carrier.least(2)?;
    args.carrier.fits(&args.size, 2, 2)?;
    let over = args.carrier.oversubscribed(ranks);
    let progress = output.progress("measure semantics", 2 * args.size.len() as u64);
    let hand_off_us = args.carrier.hand_off_us()?.unwrap_or(0.0);
    for &size in args.size.iter() {
        let copy_mbps = args.carrier.copy_rate(size, 2, args.repetition.bound_plan()?)?.unwrap_or(0.0);
        // Two empty messages go with the data, each a hand-off at least.
        let (bytes_us, words_us) = (size as f64 / copy_mbps.max(1e-9), 2.0 * hand_off_us);
        let bound = size as f64 / (bytes_us + words_us);
        for postal in [false, true] {
            let (private, plan) = (args.memory == Memory::Private, args.repetition.plan()?);
            let bench = Semantics { postal, sizes: vec![size], private, plan };
            let results: Vec<Vec<Samples>> = args.carrier.run(ranks, &bench)?;
            let samples = &results[0][0];
            let bandwidth = summary(samples)?.median;
            let record = args
                .carrier
                .record(&args.repetition.fabric, "semantics")
                .with("semantics", if postal { "postal" } else { "restricted" })
                .with("memory", args.memory.name())
                .with("ranks", ranks)
                .with("size_B", size)
                .with("bandwidth_MBps", bandwidth)
                .with("bound_bandwidth_MBps", bound)
                .with("efficiency", bandwidth / bound)
                .with("limiting_resource", if bytes_us > words_us { "memory copy" } else { "cache-line hand-off" })
                .with("bound_is", "both ranks copying the message, and a cache line's hand-off for each empty message")
                .with("oversubscribed", over);
            output.push(args.repetition.finish(record, samples, "bandwidth_MBps")?);
            progress.step();
        }
    }
    Ok(())
}
