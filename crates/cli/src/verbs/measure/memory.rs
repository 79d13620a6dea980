//! `hotlink measure memory`.

use super::{Repetition, carrier::on_shm, room, summary};
use crate::values::{Counts, Sizes};
use crate::words::word;
use crate::{Failure, output::Output};
use hotlink_bench::{MemoryCopy, MemoryPoint, Record, Samples};
use hotlink_study::options::Memory;

/// Share of this machine's free memory that a point may use.
const MEMORY_SHARE: f64 = 0.25;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Payload sizes: a list or range.
    #[arg(long, value_name = "LIST", default_value = "4..64MiB..x4")]
    size: Sizes,
    /// Distances between stored 8-byte words, in words: a list or range; 1 is contiguous.
    #[arg(long, value_name = "LIST", default_value = "1..64..x2")]
    strides: Counts,
    /// Memory to copy in.
    #[arg(long, value_parser = word::<Memory>(), default_value_t = Memory::Private)]
    memory: Memory,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    args.repetition.without_buffers("memory")?;
    let points = points(args)?;
    let plan = args.repetition.plan()?;
    // Many points, little noise: a tenth of the time that a message's point gets.
    let plan = hotlink_bench::Plan { time_us: plan.time_us / 10.0, ..plan };
    let progress = output.progress("measure memory", points.len() as u64);
    let mut best = vec![0.0; points.len()];
    let mut records = Vec::new();
    for (index, &point) in points.iter().enumerate() {
        let bench = MemoryCopy { points: vec![point], private: args.memory == Memory::Private, plan: plan.clone() };
        let results: Vec<Vec<Samples>> = on_shm(1, &bench)?;
        let record = record(args, point, &results[0][0])?;
        best[index] = record.number("bandwidth_MBps").unwrap_or(0.0);
        records.push(record);
        progress.step();
    }
    for (record, point) in records.into_iter().zip(&points) {
        output.push(bounded(record, *point, &points, &best));
    }
    Ok(())
}

fn points(args: &Args) -> Result<Vec<MemoryPoint>, Failure> {
    let most = room::free_bytes().map_or(u64::MAX, |bytes| (bytes as f64 * MEMORY_SHARE) as u64);
    let mut points = Vec::new();
    for &stride in args.strides.iter() {
        for &size in args.size.iter() {
            let words = size / MemoryPoint::WORD;
            if size == 0 || (stride > 1 && (words < 2 || size % MemoryPoint::WORD != 0)) {
                continue;
            }
            let extent = u128::from(size) * u128::from(stride) + u128::from(size);
            if extent > u128::from(most) {
                let what = format!("{size} B at stride {stride} span {extent} B");
                return Err(Failure::Input(format!("--size, --strides: {what}; allowed here are {most} B")));
            }
            points.push(MemoryPoint { size, stride });
        }
    }
    if points.is_empty() {
        let what = "no point left: strided copies need two 8-byte words or more, contiguous ones 1 B";
        return Err(Failure::Input(format!("--size, --strides: {what}")));
    }
    Ok(points)
}

fn record(args: &Args, point: MemoryPoint, samples: &Samples) -> Result<Record, Failure> {
    let summary = summary(samples)?;
    let record = Record::new()
        .with("fabric", args.repetition.fabric.as_str())
        .with("benchmark", "memory")
        .with("method", "measured")
        .with("memory", args.memory.name())
        .with("ranks", 1)
        .with("size_B", point.size)
        .with("stride", point.stride)
        .with("bandwidth_MBps", summary.median);
    args.repetition.finish(record, samples, "bandwidth_MBps")
}

/// The bound of a strided copy: the contiguous copy of the same payload, if it was measured too.
fn bounded(record: Record, point: MemoryPoint, points: &[MemoryPoint], best: &[f64]) -> Record {
    let contiguous = points.iter().position(|other| other.stride == 1 && other.size == point.size);
    match contiguous {
        Some(index) if point.stride > 1 && best[index] > 0.0 => {
            let value = record.number("bandwidth_MBps").unwrap_or(0.0);
            record
                .with("bound_bandwidth_MBps", best[index])
                .with("efficiency", value / best[index])
                .with("limiting_resource", "strided stores")
                .with("bound_is", "the contiguous copy of as many bytes")
        }
        _ => record
            .with("bound_is", if point.stride > 1 { "none: stride 1 of this size was not asked for" } else { LIMIT }),
    }
}

const LIMIT: &str = "none: a contiguous copy is the bound that stands beside other transfers";
