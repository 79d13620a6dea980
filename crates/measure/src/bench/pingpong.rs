//! `pingpong`.

use crate::pass::Pass;
use crate::request as asked;
use crate::session::{Session, summary, with_hand_offs, with_rates};
use hotlink_bench::{PingPong, Record, Samples};
use hotlink_bound::local::{Route, message};
use hotlink_study::Error;
use hotlink_study::options::Memory;

pub(crate) fn run(asked: &asked::PingPong, pass: &mut Pass<'_>) -> Result<(), Error> {
    let session = pass.session;
    let ranks = session.ranks(asked.ranks.map(|ranks| vec![ranks]), &[2])?[0];
    if ranks < 2 {
        return Err(Error::Input(format!("--ranks {ranks}: a ping-pong needs at least 2")));
    }
    session.fits(&asked.sizes, 2, 2)?;
    let over = session.oversubscribed(ranks);
    session.hand_off_us()?;
    let mut crossed = session.crossed(ranks, 1)?;
    pass.expect(asked.sizes.len());
    let mut points = Vec::new();
    let mut point = |size: u64| {
        let bench = PingPong {
            sizes: vec![size],
            private: asked.memory == Memory::Private,
            rewrite: asked.rewrite,
            plan: session.plan(),
        };
        let results: Vec<Vec<Samples>> = session.run(ranks, &bench)?;
        let copy_mbps = session.copy_rate(size, 2)?;
        session.hand_off_us()?;
        points.push((size, results, copy_mbps, session.hand_off_beside_us()));
        pass.step();
        Ok(())
    };
    let mut taken = asked.sizes.iter().try_for_each(|&size| point(size));
    if taken.is_ok() {
        match session.crossed(ranks, 1) {
            Ok(again) => crossed = again,
            Err(failure) => taken = Err(failure),
        }
    }
    // Only now is known how fast the machine was at its best, for the bounds of all.
    let route = session.route(asked.memory, asked.rewrite, crossed);
    for (size, results, copy_mbps, beside_us) in points {
        let record = record(asked, session, (ranks, size), &results[0][0], over, (beside_us, copy_mbps, route))?;
        pass.push(record);
    }
    taken
}

fn record(
    asked: &asked::PingPong,
    session: &Session<'_>,
    (ranks, size): (u32, u64),
    samples: &Samples,
    over: bool,
    (beside_us, copy_mbps, route): (Option<f64>, Option<f64>, Route),
) -> Result<Record, Error> {
    let summary = summary(samples)?;
    let least_us = session.least_hand_off_us();
    let bound = message(least_us.unwrap_or(0.0), size, route.peak(copy_mbps, 1));
    let record = session
        .record()
        .with("memory", asked.memory.name())
        .with("ranks", ranks)
        .with("size_B", size)
        .with("latency_us", summary.median)
        .with("bandwidth_MBps", size as f64 / summary.median)
        .also_bounded("bound_bandwidth_MBps", bound.in_time(size));
    let record = with_rates(record.beside_time(&bound, summary.median), copy_mbps, route);
    let mut record = with_hand_offs(record, beside_us, least_us).with("oversubscribed", over);
    if asked.rewrite {
        record.set("rewritten", true);
    }
    session.finish(record, samples, "latency_us")
}
