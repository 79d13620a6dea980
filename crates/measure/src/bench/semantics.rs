//! `semantics`: restricted against full postal (K98).

use crate::pass::Pass;
use crate::request as asked;
use crate::session::{summary, with_rates};
use hotlink_bench::{Samples, Semantics};
use hotlink_bound::local::with_two_words;
use hotlink_study::Error;
use hotlink_study::benchmarks::check_sizes;
use hotlink_study::options::Memory;

pub(crate) fn run(asked: &asked::Semantics, pass: &mut Pass<'_>) -> Result<(), Error> {
    let session = pass.session;
    check_sizes(&asked.sizes)?;
    let ranks = session.least(2)?;
    session.fits(&asked.sizes, 2, 2)?;
    let over = session.oversubscribed(ranks);
    pass.expect(2 * asked.sizes.len());
    let hand_off_us = session.hand_off_us()?.unwrap_or(0.0);
    let route = session.route(asked.memory, false, session.crossed(ranks, 1)?);
    for &size in asked.sizes.iter() {
        let copies_mbps = session.copy_rate(size, 2)?;
        let bound = with_two_words(size as f64, route.peak(copies_mbps, 1), hand_off_us);
        for postal in [false, true] {
            let (private, plan) = (asked.memory == Memory::Private, session.plan());
            let bench = Semantics { postal, sizes: vec![size], private, plan };
            let results: Vec<Vec<Samples>> = session.run(ranks, &bench)?;
            let samples = &results[0][0];
            let bandwidth = summary(samples)?.median;
            let record = session
                .record()
                .with("semantics", if postal { "postal" } else { "restricted" })
                .with("memory", asked.memory.name())
                .with("ranks", ranks)
                .with("size_B", size)
                .with("bandwidth_MBps", bandwidth)
                .beside_rate(&bound, bandwidth);
            let record = with_rates(record, copies_mbps, route).with("oversubscribed", over);
            pass.push(session.finish(record, samples, "bandwidth_MBps")?);
            pass.step();
        }
    }
    Ok(())
}
