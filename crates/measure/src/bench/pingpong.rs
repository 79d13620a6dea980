//! `pingpong`.

use crate::pass::Pass;
use crate::request as asked;
use crate::session::{Session, summary, with_rates};
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
    let mut hand_off_us = session.hand_off_us()?.unwrap_or(0.0);
    let route = session.route(asked.memory, asked.rewrite, session.crossed(ranks, 1)?);
    pass.expect(asked.sizes.len());
    for &size in asked.sizes.iter() {
        let bench = PingPong {
            sizes: vec![size],
            private: asked.memory == Memory::Private,
            rewrite: asked.rewrite,
            plan: session.plan(),
        };
        let results: Vec<Vec<Samples>> = session.run(ranks, &bench)?;
        let copy_mbps = session.copy_rate(size, 2)?;
        hand_off_us = session.least_hand_off_us(hand_off_us)?;
        pass.push(record(asked, session, ranks, size, &results[0][0], over, (hand_off_us, copy_mbps, route))?);
        pass.step();
    }
    Ok(())
}

fn record(
    asked: &asked::PingPong,
    session: &Session<'_>,
    ranks: u32,
    size: u64,
    samples: &Samples,
    over: bool,
    (hand_off_us, copy_mbps, route): (f64, Option<f64>, Route),
) -> Result<Record, Error> {
    let summary = summary(samples)?;
    let bound = message(hand_off_us, size, route.peak(copy_mbps, 1));
    let record = session
        .record()
        .with("memory", asked.memory.name())
        .with("ranks", ranks)
        .with("size_B", size)
        .with("latency_us", summary.median)
        .with("bandwidth_MBps", size as f64 / summary.median)
        .also_bounded("bound_bandwidth_MBps", bound.in_time(size));
    let record = with_rates(record.beside_time(&bound, summary.median), copy_mbps, route);
    let mut record = record.with("oversubscribed", over);
    if asked.rewrite {
        record.set("rewritten", true);
    }
    session.finish(record, samples, "latency_us")
}
