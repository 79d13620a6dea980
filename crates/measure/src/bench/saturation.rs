//! `saturation`.

use crate::pass::Pass;
use crate::request as asked;
use crate::session::{Session, summary, with_rates};
use hotlink_bench::{Calls, Direction, PingPong, Plan, Record, Samples, Stream};
use hotlink_bound::local::{Route, copies};
use hotlink_study::Error;
use hotlink_study::benchmarks::check_sizes;
use hotlink_study::options::Memory;

pub(crate) fn run(asked: &asked::Saturation, pass: &mut Pass<'_>) -> Result<(), Error> {
    let session = pass.session;
    let asked_for = asked.pairs.as_ref().map(|pairs| pairs.iter().map(|pairs| pairs.saturating_mul(2)).collect());
    let ranks = session.ranks(asked_for, &[2, 4, 6, 8])?;
    let pairs: Vec<u32> = ranks.iter().map(|ranks| ranks / 2).collect();
    if let Some(many) = pairs.iter().find(|&&pairs| pairs > 32) {
        return Err(Error::Input(format!("--pairs {many}: must be 1 to 32")));
    }
    check_sizes(&asked.sizes)?;
    session.fits(&asked.sizes, 2 * pairs.iter().copied().max().unwrap_or(1), 2)?;
    let private = asked.memory == Memory::Private;
    let idle = PingPong { sizes: vec![8], private, rewrite: false, plan: session.bound_plan() };
    let idle: Vec<Vec<Samples>> = session.run(session.least(2)?, &idle)?;
    let idle_latency_us = summary(&idle[0][0])?.median;
    pass.expect(pairs.len() * asked.sizes.len());
    for &pairs in &pairs {
        let (over, ranks) = (session.oversubscribed(2 * pairs), session.least(2 * pairs)?);
        let route = session.route(asked.memory, false, session.crossed(ranks, pairs)?);
        for &size in asked.sizes.iter() {
            let bench = stream(asked, pairs, size, session.plan());
            let results: Vec<Vec<Samples>> = session.run(ranks, &bench)?;
            let aggregate = bench.aggregate(&results);
            let of = (session.copy_rate(size, 2 * pairs)?, route, idle_latency_us);
            pass.push(record(asked, session, (pairs, size), &aggregate[0], over, of)?);
            pass.step();
        }
    }
    Ok(())
}

fn stream(asked: &asked::Saturation, pairs: u32, size: u64, plan: Plan) -> Stream {
    let private = asked.memory == Memory::Private;
    Stream { sizes: vec![size], pairs, window: None, calls: Calls::Windowed, direction: Direction::Uni, private, plan }
}

fn record(
    asked: &asked::Saturation,
    session: &Session<'_>,
    (pairs, size): (u32, u64),
    samples: &Samples,
    over: bool,
    (copies_mbps, route, idle_latency_us): (Option<f64>, Route, f64),
) -> Result<Record, Error> {
    let summary = summary(samples)?;
    let record = session
        .record()
        .with("memory", asked.memory.name())
        .with("ranks", 2 * pairs)
        .with("pairs", pairs)
        .with("size_B", size)
        .with("window", stream(asked, pairs, size, session.plan()).window(size))
        .with("bandwidth_MBps", summary.median)
        .beside_rate(&copies(route.peak(copies_mbps, 1)), summary.median);
    let record =
        with_rates(record, copies_mbps, route).with("idle_latency_us", idle_latency_us).with("oversubscribed", over);
    session.finish(record, samples, "bandwidth_MBps")
}
