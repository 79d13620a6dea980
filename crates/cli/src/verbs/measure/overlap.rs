//! `hotlink measure overlap`.

use super::{Memory, Repetition, carrier::Carrier, summary};
use crate::values::{Numbers, Sizes};
use crate::{Failure, output::Output};
use hotlink_bench::{Overlap, OverlapTimes, Record, Samples, Summary};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Message sizes: a list or range.
    #[arg(long, value_name = "LIST", default_value = "64KiB,256KiB,1MiB")]
    size: Sizes,
    /// Who computes.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Side::Sender, Side::Receiver])]
    side: Vec<Side>,
    /// How it computes: on one variable for a fixed time, or DAXPY on vectors of the message's size.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Spin::Fixed])]
    spin: Vec<Spin>,
    /// Computation times as shares of the message's own time.
    #[arg(long, value_name = "LIST", default_value = "0.25,0.5,1,1.5,2")]
    compute: Numbers,
    /// Memory that the message lies in.
    #[arg(long, value_enum, default_value_t = Memory::Private)]
    memory: Memory,
    #[command(flatten)]
    repetition: Repetition,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Side {
    /// The rank that sends.
    Sender,
    /// The rank that receives.
    Receiver,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Spin {
    /// W01's FIXED.
    Fixed,
    /// W01's DAXPY.
    Daxpy,
}

/// The total counts as longer than the message alone from this factor on: saturation.
const LONGER: f64 = 1.05;

pub(super) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    if args.size.contains(&0) {
        return Err(Failure::Input("--size 0: an empty message has nothing to hide; allowed is 1 and more".to_owned()));
    }
    if args.compute.iter().any(|&share| !(0.01..=100.0).contains(&share)) {
        return Err(Failure::Input(format!("--compute {}: allowed are shares from 0.01 to 100", args.compute)));
    }
    let over = args.carrier.oversubscribed(2);
    let progress = output.progress("measure overlap", (args.size.len() * args.side.len() * args.spin.len()) as u64);
    for &side in &args.side {
        for &spin in &args.spin {
            for &size in args.size.iter() {
                let bench = Overlap {
                    size,
                    sender: side == Side::Sender,
                    shares: args.compute.to_vec(),
                    daxpy: spin == Spin::Daxpy,
                    private: args.memory == Memory::Private,
                    plan: args.repetition.plan()?,
                };
                let mut results: Vec<OverlapTimes> = args.carrier.run(args.carrier.least(2), &bench)?;
                for record in records(args, (side, spin, size), &results.swap_remove(0), over)? {
                    output.push(record);
                }
                progress.step();
            }
        }
    }
    Ok(())
}

fn records(args: &Args, of: (Side, Spin, u64), times: &OverlapTimes, over: bool) -> Result<Vec<Record>, Failure> {
    let (side, spin, size) = of;
    let message_us = summary(&times.message)?.median;
    let mut totals = Vec::new();
    for (busy_us, samples) in &times.points {
        totals.push((*busy_us, summary(samples)?));
    }
    let saturated = totals.iter().find(|(_, total)| total.median > LONGER * message_us);
    let saturation_us = saturated.map(|(busy_us, _)| *busy_us);
    let record = |(&(busy_us, total), samples): (&(f64, Summary), &Samples)| {
        // What can be hidden is the shorter of the two.
        let hidden = (message_us + busy_us - total.median) / message_us.min(busy_us);
        let overhead = (total.median - busy_us) / message_us;
        let bound_us = message_us.max(busy_us);
        let record = args
            .carrier
            .record(&args.repetition.fabric, "overlap")
            .with("memory", args.memory.name())
            .with("ranks", 2)
            .with("side", if side == Side::Sender { "sender" } else { "receiver" })
            .with("spin", if spin == Spin::Fixed { "fixed" } else { "daxpy" })
            .with("size_B", size)
            .with("compute_us", busy_us)
            .with("message_us", message_us)
            .with("total_us", total.median)
            .with("overlap", hidden.clamp(0.0, 1.0))
            .with("saturation_us", saturation_us)
            .with("w01_overhead", overhead)
            .with("w01_hidden", 1.0 - overhead)
            .with("bound_total_us", bound_us)
            .with("efficiency", bound_us / total.median)
            .with("limiting_resource", if busy_us > message_us { "computation" } else { "message" })
            .with("oversubscribed", over);
        args.repetition.finish(record, samples, "total_us")
    };
    totals.iter().zip(times.points.iter().map(|(_, samples)| samples)).map(record).collect()
}
