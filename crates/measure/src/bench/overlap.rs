//! `overlap`.

use crate::pass::Pass;
use crate::request as asked;
use crate::session::{Session, no_sample};
use hotlink_bench::{Overlap, OverlapTimes, Record, Samples};
use hotlink_study::Error;
use hotlink_study::benchmarks::check_overlap;
use hotlink_study::options::{Memory, Side, Spin};

/// Every side with every way to compute.
fn ways(asked: &asked::Overlap) -> impl Iterator<Item = (Side, Spin)> {
    asked.sides.iter().flat_map(|&side| asked.spins.iter().map(move |&spin| (side, spin)))
}

pub(crate) fn run(asked: &asked::Overlap, pass: &mut Pass<'_>) -> Result<(), Error> {
    let session = pass.session;
    check_overlap(&asked.sizes, &asked.shares, (&asked.spins, asked.threads))?;
    session.fits(&asked.sizes, 2, 2)?;
    pass.expect(asked.sizes.len() * ways(asked).count());
    for (side, spin) in ways(asked) {
        let spinning = spin.on(asked.threads);
        let over = session.oversubscribed_by(2, spinning.threads().unwrap_or(1) - 1);
        for &size in asked.sizes.iter() {
            let bench = Overlap {
                size,
                sender: side == Side::Sender,
                shares: asked.shares.clone(),
                spin: spinning,
                private: asked.memory == Memory::Private,
                plan: session.plan(),
            };
            let mut results: Vec<OverlapTimes> = session.run(session.least(2)?, &bench)?;
            for record in records(asked, session, (side, spin, size), (&results.swap_remove(0), over))? {
                pass.push(record);
            }
            pass.step();
        }
    }
    Ok(())
}

fn records(
    asked: &asked::Overlap,
    session: &Session<'_>,
    of: (Side, Spin, u64),
    (times, over): (&OverlapTimes, bool),
) -> Result<Vec<Record>, Error> {
    let (side, spin, size) = of;
    let curve = times.curve().ok_or_else(no_sample)?;
    let record = |(point, (_, samples)): (Record, &(f64, Samples))| {
        let head = session
            .record()
            .with("memory", asked.memory.name())
            .with("ranks", 2)
            .with("side", side.name())
            .with("spin", spin.name());
        let threads = spin.on(asked.threads).threads();
        let head = threads.into_iter().fold(head, |head, threads| head.with("threads", threads)).with("size_B", size);
        session.finish(head.followed_by(point).with("oversubscribed", over), samples, "total_us")
    };
    curve.into_iter().zip(&times.points).map(record).collect()
}
