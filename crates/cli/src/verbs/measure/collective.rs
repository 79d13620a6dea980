//! `hotlink measure barrier`, `bcast`, `reduce`, `allreduce`, `allgather`, `alltoall`.

use super::{Repetition, carrier::Carrier, summary};
use crate::values::{Counts, Sizes};
use crate::{Failure, output::Output};
use hotlink_bench::{Collective, Record, Samples, Which};
use hotlink_message::Algorithm;

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Ranks: a list or range. 2 if not given, under MPI all that were started.
    #[arg(long, value_name = "LIST")]
    ranks: Option<Counts>,
    /// Bytes of each rank's part: a list or range, multiples of 8; a barrier has none.
    #[arg(long, value_name = "LIST", default_value = "8,64KiB")]
    size: Sizes,
    /// How, over this project's messages: by default what the cost model picks; a wrong name is told what there is.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub(super) algorithm: Vec<String>,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

impl Args {
    pub(super) fn ranks(&self) -> Result<Vec<u32>, Failure> {
        let asked = self.ranks.as_ref().map(Counts::to_u32).transpose();
        self.carrier.ranks(asked.map_err(|what| Failure::Input(format!("--ranks: {what}")))?, &[2])
    }
    /// The algorithms named; one unnamed if the cost model is to pick.
    pub(super) fn algorithms<'a>(
        &self,
        which: Which,
        names: impl Iterator<Item = &'a String>,
    ) -> Result<Vec<Option<Algorithm>>, Failure> {
        let wrong = |what: String| Failure::Input(format!("--algorithm: {what}"));
        let via = self.carrier.name();
        let named = |name: &String| match Algorithm::named(which.collective(), name).map_err(wrong)? {
            _ if self.carrier.is_mpi() => Err(wrong(format!("`{name}` with --via mpi: that MPI chooses for itself"))),
            Algorithm::Hardware => Err(wrong(format!("`hardware`: --via {via} has none; see hotlink simulate"))),
            algorithm => Ok(Some(algorithm)),
        };
        let algorithms: Vec<_> = names.map(named).collect::<Result<_, _>>()?;
        Ok(if algorithms.is_empty() { vec![None] } else { algorithms })
    }
}

pub(super) fn run(which: Which, args: &Args, output: &mut Output) -> Result<(), Failure> {
    by(which, args, &args.algorithms(which, args.algorithm.iter())?, output)
}

/// By each of the algorithms.
pub(super) fn by(
    which: Which,
    args: &Args,
    algorithms: &[Option<Algorithm>],
    output: &mut Output,
) -> Result<(), Failure> {
    let ranks = args.ranks()?;
    let sizes = if which == Which::Barrier { &[0][..] } else { &args.size[..] };
    if let Some(size) = sizes.iter().find(|&&size| size % 8 != 0) {
        return Err(Failure::Input(format!("--size {size}: elements have 8 B; allowed are multiples of 8")));
    }
    let hand_off_us = args.carrier.hand_off_us()?.unwrap_or(0.0);
    let progress =
        output.progress(&format!("measure {}", which.name()), (ranks.len() * sizes.len() * algorithms.len()) as u64);
    for &ranks in &ranks {
        let over = args.carrier.oversubscribed(ranks);
        for &size in sizes {
            let bench = Collective { which, size, plan: args.repetition.plan()? };
            for &algorithm in algorithms {
                let results: Vec<Samples> = match algorithm {
                    Some(algorithm) => args.carrier.run_by(ranks, &bench, (which.collective(), algorithm))?,
                    None => args.carrier.run(ranks, &bench)?,
                };
                let mut record = record(&bench, args, ranks, &Collective::slowest(&results), hand_off_us, over)?;
                if let Some(algorithm) = algorithm {
                    record.set("algorithm", algorithm.name());
                }
                output.push(record);
                progress.step();
            }
        }
    }
    Ok(())
}

fn record(
    bench: &Collective,
    args: &Args,
    ranks: u32,
    samples: &Samples,
    hand_off_us: f64,
    over: bool,
) -> Result<Record, Failure> {
    let summary = summary(samples)?;
    // News of every rank needs that many steps to reach all, each a hand-off at least.
    let bound_us = f64::from(ranks.next_power_of_two().trailing_zeros()) * hand_off_us;
    let mut record = args
        .carrier
        .record(&args.repetition.fabric, bench.which.name())
        .with("ranks", ranks)
        .with("size_B", bench.size)
        .with("latency_us", summary.median)
        .with("bound_latency_us", bound_us)
        .with("efficiency", bound_us / summary.median)
        .with("limiting_resource", "cache-line hand-off")
        .with("bound_is", "ceil(log2 ranks) hand-offs of a cache line between cores")
        .with("oversubscribed", over);
    record = summary.into(record).with("statistic_of", "latency_us").with("inner", samples.inner);
    if args.repetition.raw {
        record.set("samples", samples.values.clone());
    }
    Ok(record)
}
