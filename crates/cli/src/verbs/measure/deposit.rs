//! `hotlink measure deposit`.

use super::{Repetition, carrier::Carrier, summary};
use crate::values::{Counts, Sizes};
use crate::words::word;
use crate::{Failure, output::Output};
use hotlink_bench::{Deposit, Record, Samples, Series};
use hotlink_study::options::Memory;

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Distances between stored words, in words: a list or range; 1 is contiguous.
    #[arg(long, value_name = "LIST", default_value = "1,2,8,64")]
    strides: Counts,
    /// Bytes of a word: 4 or 8.
    #[arg(long, value_name = "BYTES", default_value_t = 8, value_parser = word_bytes)]
    word: u64,
    /// Payload sizes, multiples of the word's: a list or range.
    #[arg(long, value_name = "LIST", default_value = "1MiB")]
    size: Sizes,
    /// Memory that is stored to.
    #[arg(long, value_parser = word::<Memory>(), value_delimiter = ',', default_values_t = [Memory::Private, Memory::Shared])]
    memory: Vec<Memory>,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

fn word_bytes(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|bytes| [4, 8].contains(bytes)).ok_or_else(|| "allowed are 4 and 8".to_owned())
}

const ALL: [Series; 3] = [Series::Local, Series::Direct, Series::Unpack];

pub(super) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let word = args.word;
    if let Some(size) = args.size.iter().find(|&&size| size == 0 || size % word != 0) {
        let what = format!("--size {size}: words have {word} B; allowed are multiples of {word} from {word} on");
        return Err(Failure::Input(what));
    }
    if let Some(stride) = args.strides.iter().find(|&&stride| stride > 4096) {
        return Err(Failure::Input(format!("--strides {stride}: allowed are 1 to 4096")));
    }
    args.carrier.fits(&args.size, 2, 1 + args.strides.iter().copied().max().unwrap_or(1))?;
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

/// All series of one point. No words come to their places faster than both ranks store half of them each; within one
/// rank's memory that rank is the limit.
fn point(args: &Args, memory: Memory, size: u64, stride: u64, over: bool) -> Result<Vec<Record>, Failure> {
    let private = memory == Memory::Private;
    let run = |series, plan| -> Result<Vec<Vec<Option<Samples>>>, Failure> {
        let bench = Deposit { series, word: args.word, size, strides: vec![stride], private, plan };
        args.carrier.run(args.carrier.least(2)?, &bench)
    };
    let best = |samples: &Samples| samples.values.iter().copied().fold(0.0, f64::max);
    let limits = run(Series::Both, args.repetition.bound_plan()?)?;
    let limits: Vec<f64> = limits.iter().take(2).map(|rank| rank[0].as_ref().map_or(0.0, best)).collect();
    let mut records = Vec::new();
    for series in ALL {
        let Some(samples) = run(series, args.repetition.plan()?)?.swap_remove(0).swap_remove(0) else { continue };
        let (bound, bound_is) = match series {
            Series::Local => (limits[0].max(best(&samples)), "the best that one rank stores at this stride"),
            _ => (limits.iter().sum(), "both ranks storing half of the words each at this stride, at their best"),
        };
        let bandwidth = summary(&samples)?.median;
        let mut record = args
            .carrier
            .record(&args.repetition.fabric, "deposit")
            .with("memory", memory.name())
            .with("series", series.name())
            .with("ranks", 2)
            .with("size_B", size)
            .with("word_B", args.word)
            .with("stride", stride)
            .with("bandwidth_MBps", bandwidth);
        if args.carrier.is_mpi() && series == Series::Direct {
            record.set("window", if private { "created" } else { "allocated" });
        }
        let record = record
            .with("bound_bandwidth_MBps", bound)
            .with("efficiency", bandwidth / bound)
            .with("limiting_resource", if stride > 1 { "strided stores" } else { "memory copy" })
            .with("bound_is", bound_is)
            .with("oversubscribed", over);
        records.push(args.repetition.finish(record, &samples, "bandwidth_MBps")?);
    }
    Ok(records)
}
