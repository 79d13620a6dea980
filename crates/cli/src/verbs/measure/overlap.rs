//! `hotlink measure overlap`.

use super::{Repetition, carrier::Carrier};
use crate::values::{Numbers, Sizes};
use crate::words::word;
use crate::{Failure, output::Output};
use hotlink_bench::{Overlap, OverlapTimes, Record, Samples};
use hotlink_study::benchmarks::check_overlap;
use hotlink_study::options::{Memory, Side, Spin};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Message sizes: a list or range.
    #[arg(long, value_name = "LIST", default_value = "64KiB,256KiB,1MiB")]
    size: Sizes,
    #[command(flatten)]
    curve: CurveArgs,
    /// Memory that the message lies in.
    #[arg(long, value_parser = word::<Memory>(), default_value_t = Memory::Private)]
    memory: Memory,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

/// What is overlapped with what, measured and simulated alike.
#[derive(clap::Args)]
pub(crate) struct CurveArgs {
    /// Who computes.
    #[arg(long, value_parser = word::<Side>(), value_delimiter = ',', default_values_t = [Side::Sender, Side::Receiver])]
    pub(crate) side: Vec<Side>,
    /// How it computes: on one variable for a fixed time, or DAXPY on vectors of the message's size.
    #[arg(long, value_parser = word::<Spin>(), value_delimiter = ',', default_values_t = [Spin::Fixed])]
    pub(crate) spin: Vec<Spin>,
    /// Computation times as shares of the message's own time.
    #[arg(long, value_name = "LIST", default_value = "0.25,0.5,1,1.5,2")]
    pub(crate) compute: Numbers,
}

impl CurveArgs {
    /// Every side with every way to compute.
    fn ways(&self) -> impl Iterator<Item = (Side, Spin)> {
        self.side.iter().flat_map(|&side| self.spin.iter().map(move |&spin| (side, spin)))
    }
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    check_overlap(&args.size, &args.curve.compute)?;
    args.carrier.fits(&args.size, 2, 2)?;
    let over = args.carrier.oversubscribed(2);
    let progress = output.progress("measure overlap", (args.size.len() * args.curve.ways().count()) as u64);
    for (side, spin) in args.curve.ways() {
        for &size in args.size.iter() {
            let bench = Overlap {
                size,
                sender: side == Side::Sender,
                shares: args.curve.compute.to_vec(),
                daxpy: spin == Spin::Daxpy,
                private: args.memory == Memory::Private,
                plan: args.repetition.plan()?,
            };
            let mut results: Vec<OverlapTimes> = args.carrier.run(args.carrier.least(2)?, &bench)?;
            for record in records(args, (side, spin, size), &results.swap_remove(0), over)? {
                output.push(record);
            }
            progress.step();
        }
    }
    Ok(())
}

const BOUND_IS: &str = "the fastest message and the fastest computation seen, alone or together: the longer of the two";

fn records(args: &Args, of: (Side, Spin, u64), times: &OverlapTimes, over: bool) -> Result<Vec<Record>, Failure> {
    let (side, spin, size) = of;
    let curve = times.curve().ok_or_else(|| Failure::Check("measure: no sample was taken".to_owned()))?;
    let record = |(point, (_, samples)): (Record, &(f64, Samples))| {
        let head = args
            .carrier
            .record(&args.repetition.fabric, "overlap")
            .with("memory", args.memory.name())
            .with("ranks", 2)
            .with("side", side.name())
            .with("spin", spin.name())
            .with("size_B", size);
        args.repetition.finish(
            head.followed_by(point).with("bound_is", BOUND_IS).with("oversubscribed", over),
            samples,
            "total_us",
        )
    };
    curve.into_iter().zip(&times.points).map(record).collect()
}
