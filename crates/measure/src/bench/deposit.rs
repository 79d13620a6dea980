//! `deposit`.

use crate::pass::Pass;
use crate::request as asked;
use crate::session::{Session, summary};
use hotlink_bench::{Deposit, Record, Samples, Series};
use hotlink_study::Error;
use hotlink_study::options::Memory;

const ALL: [Series; 3] = [Series::Local, Series::Direct, Series::Unpack];

pub(crate) fn run(asked: &asked::Deposit, pass: &mut Pass<'_>) -> Result<(), Error> {
    let session = pass.session;
    let word = asked.word;
    if ![4, 8].contains(&word) {
        return Err(Error::Input(format!("--word {word}: must be 4 or 8")));
    }
    if let Some(size) = asked.sizes.iter().find(|&&size| size == 0 || size % word != 0) {
        let what = format!("--size {size}: words have {word} B; must be a multiple of {word} from {word} on");
        return Err(Error::Input(what));
    }
    if let Some(stride) = asked.strides.iter().find(|&&stride| stride > 4096) {
        return Err(Error::Input(format!("--strides {stride}: must be 1 to 4096")));
    }
    session.fits(&asked.sizes, 2, 1 + asked.strides.iter().copied().max().unwrap_or(1))?;
    let over = session.oversubscribed(2);
    pass.expect(asked.memory.len() * asked.sizes.len() * asked.strides.len());
    for &memory in &asked.memory {
        for &size in asked.sizes.iter() {
            for &stride in asked.strides.iter() {
                for record in point(asked, session, memory, size, stride, over)? {
                    pass.push(record);
                }
                pass.step();
            }
        }
    }
    Ok(())
}

/// All series of one point. No words come to their places faster than both ranks store half of them each; within one
/// rank's memory that rank is the limit.
fn point(
    asked: &asked::Deposit,
    session: &Session<'_>,
    memory: Memory,
    size: u64,
    stride: u64,
    over: bool,
) -> Result<Vec<Record>, Error> {
    let private = memory == Memory::Private;
    let run = |series, plan| -> Result<Vec<Vec<Option<Samples>>>, Error> {
        let bench = Deposit { series, word: asked.word, size, strides: vec![stride], private, plan };
        session.run(session.least(2)?, &bench)
    };
    let best = |samples: &Samples| samples.values.iter().copied().fold(0.0, f64::max);
    let limits = run(Series::Both, session.bound_plan())?;
    let mut seen = limits.iter().map(|rank| rank[0].as_ref().map_or(0.0, best));
    let seen = [seen.next().unwrap_or(0.0), seen.next().unwrap_or(0.0)];
    let mut records = Vec::new();
    for series in ALL {
        let Some(samples) = run(series, session.plan())?.swap_remove(0).swap_remove(0) else { continue };
        let is_local = series == Series::Local;
        let first = if is_local { seen[0].max(best(&samples)) } else { seen[0] };
        let bound = hotlink_bound::local::stores([first, seen[1]], is_local, stride);
        let bandwidth = summary(&samples)?.median;
        let mut record = session
            .record()
            .with("memory", memory.name())
            .with("series", series.name())
            .with("ranks", 2)
            .with("size_B", size)
            .with("word_B", asked.word)
            .with("stride", stride)
            .with("bandwidth_MBps", bandwidth);
        if session.is_mpi() && series == Series::Direct {
            record.set("window", if private { "created" } else { "allocated" });
        }
        let record = record.beside_rate(&bound, bandwidth).with("oversubscribed", over);
        records.push(session.finish(record, &samples, "bandwidth_MBps")?);
    }
    Ok(records)
}
