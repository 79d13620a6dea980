//! `hotlink measure deposit`.

use super::{Memory, Repetition, carrier::Carrier, summary};
use crate::values::{Counts, Sizes};
use crate::{Failure, output::Output};
use hotlink_bench::{Deposit, Record, Samples, Series};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Distances between stored 8-byte words, in words: a list or range; 1 is contiguous.
    #[arg(long, value_name = "LIST", default_value = "1,2,8,64")]
    strides: Counts,
    /// Payload sizes, multiples of 8: a list or range.
    #[arg(long, value_name = "LIST", default_value = "1MiB")]
    size: Sizes,
    /// Memory that is stored to.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Memory::Private, Memory::Shared])]
    memory: Vec<Memory>,
    #[command(flatten)]
    repetition: Repetition,
}

const ALL: [Series; 3] = [Series::Local, Series::Direct, Series::Unpack];

pub(super) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    args.repetition.without_buffers("deposit")?;
    if let Some(size) = args.size.iter().find(|&&size| size == 0 || size % 8 != 0) {
        return Err(Failure::Input(format!("--size {size}: words have 8 B; allowed are multiples of 8 from 8 on")));
    }
    if let Some(stride) = args.strides.iter().find(|&&stride| stride > 4096) {
        return Err(Failure::Input(format!("--strides {stride}: allowed are 1 to 4096")));
    }
    let over = args.carrier.oversubscribed(2);
    let progress =
        output.progress("measure deposit", (args.memory.len() * args.size.len() * args.strides.len()) as u64);
    for &memory in &args.memory {
        for &size in args.size.iter() {
            for &stride in args.strides.iter() {
                for record in point(args, memory, size, stride, over)? {
                    output.push(record);
                }
                progress.step();
            }
        }
    }
    Ok(())
}

/// All series of one point; the local one is the bound of the others.
fn point(args: &Args, memory: Memory, size: u64, stride: u64, over: bool) -> Result<Vec<Record>, Failure> {
    let mut bound = None;
    let mut records = Vec::new();
    for series in ALL {
        let plan = args.repetition.plan()?;
        let private = memory == Memory::Private;
        let bench = Deposit { series, size, strides: vec![stride], private, plan };
        let results: Vec<Vec<Option<Samples>>> = args.carrier.run(args.carrier.least(2), &bench)?;
        let Some(samples) = &results[0][0] else { continue };
        let summary = summary(samples)?;
        let mut record = args
            .carrier
            .record(&args.repetition.fabric, "deposit")
            .with("memory", memory.name())
            .with("series", series.name())
            .with("ranks", 2)
            .with("size_B", size)
            .with("stride", stride)
            .with("bandwidth_MBps", summary.median);
        if args.carrier.is_mpi() && series == Series::Direct {
            record.set("window", if private { "created" } else { "allocated" });
        }
        if series == Series::Local {
            bound = Some(summary.median);
        } else if let Some(bound) = bound {
            record = record
                .with("bound_bandwidth_MBps", bound)
                .with("efficiency", summary.median / bound)
                .with("limiting_resource", if stride > 1 { "strided stores" } else { "memory copy" })
                .with("bound_is", "one rank storing as many words at this stride in its own memory");
        }
        record = record.with("oversubscribed", over);
        records.push(args.repetition.finish(record, samples, "bandwidth_MBps")?);
    }
    Ok(records)
}
