//! `memory`.

use crate::pass::Pass;
use crate::request as asked;
use crate::room;
use crate::session::{Session, summary};
use hotlink_bench::{MemoryCopy, MemoryPoint, Record, Samples};
use hotlink_study::Error;
use hotlink_study::options::Memory;

/// Share of this machine's free memory that a point may use.
const MEMORY_SHARE: f64 = 0.25;

pub(crate) fn run(asked: &asked::Copying, pass: &mut Pass<'_>) -> Result<(), Error> {
    let session = pass.session;
    session.without_buffers()?;
    let points = points(asked)?;
    // As long as a message's point: caches are cold where a block begins, and take some passes to fill.
    let plan = session.plan();
    pass.expect(points.len());
    let mut best = vec![0.0; points.len()];
    let mut records = Vec::new();
    for (index, &point) in points.iter().enumerate() {
        let bench = MemoryCopy { points: vec![point], private: asked.memory == Memory::Private, plan: plan.clone() };
        let results: Vec<Vec<Samples>> = session.on_shm(1, &bench)?;
        let record = record(asked, session, point, &results[0][0])?;
        best[index] = record.number("bandwidth_MBps").unwrap_or(0.0);
        records.push(record);
        pass.step();
    }
    for (record, point) in records.into_iter().zip(&points) {
        pass.push(bounded(record, *point, &points, &best));
    }
    Ok(())
}

fn points(asked: &asked::Copying) -> Result<Vec<MemoryPoint>, Error> {
    let most = room::free_bytes().map_or(u64::MAX, |bytes| (bytes as f64 * MEMORY_SHARE) as u64);
    let mut points = Vec::new();
    for &stride in asked.strides.iter() {
        for &size in asked.sizes.iter() {
            let words = size / MemoryPoint::WORD;
            if size == 0 || (stride > 1 && (words < 2 || size % MemoryPoint::WORD != 0)) {
                continue;
            }
            let extent = u128::from(size) * u128::from(stride) + u128::from(size);
            if extent > u128::from(most) {
                let what = format!("{size} B at stride {stride} span {extent} B");
                return Err(Error::Input(format!("--size, --strides: {what}; at most {most} B are possible here")));
            }
            points.push(MemoryPoint { size, stride });
        }
    }
    if points.is_empty() {
        let what = "no point left: strided copies need two 8-byte words or more, contiguous ones 1 B";
        return Err(Error::Input(format!("--size, --strides: {what}")));
    }
    Ok(points)
}

fn record(
    asked: &asked::Copying,
    session: &Session<'_>,
    point: MemoryPoint,
    samples: &Samples,
) -> Result<Record, Error> {
    let summary = summary(samples)?;
    let record = session
        .bare_record()
        .with("memory", asked.memory.name())
        .with("ranks", 1)
        .with("size_B", point.size)
        .with("stride", point.stride)
        .with("bandwidth_MBps", summary.median);
    session.finish(record, samples, "bandwidth_MBps")
}

/// The bound of a strided copy: the contiguous copy of the same payload, if it was measured too.
fn bounded(record: Record, point: MemoryPoint, points: &[MemoryPoint], best: &[f64]) -> Record {
    let contiguous = points.iter().position(|other| other.stride == 1 && other.size == point.size);
    match contiguous {
        Some(index) if point.stride > 1 && best[index] > 0.0 => {
            let value = record.number("bandwidth_MBps").unwrap_or(0.0);
            record.beside_rate(&hotlink_bound::local::strided(best[index]), value)
        }
        _ => record.unbounded(if point.stride > 1 { "stride 1 of this size was not asked for" } else { LIMIT }),
    }
}

const LIMIT: &str = "a contiguous copy is the bound of other transfers";
