//! `region`: the shared-memory interface's regions between processes of this machine (W01 slides 6 to 10).

use crate::pass::Pass;
use crate::request as asked;
use crate::session::{Session, summary, with_rates};
use hotlink_bench::{Crossed, Record, RegionTimes, Regions};
use hotlink_study::Error;
use hotlink_study::benchmarks::check_sizes;
use hotlink_study::options::Memory;

pub(crate) fn run(asked: &asked::Region, pass: &mut Pass<'_>) -> Result<(), Error> {
    let session = pass.session;
    session.without_buffers()?;
    check_sizes(&asked.sizes)?;
    session.fits(&asked.sizes, asked.ranks, 3)?;
    if asked.ranks < 2 {
        return Err(Error::Input(format!("--ranks {}: a region needs an owner and a user, 2 or more", asked.ranks)));
    }
    let over = session.oversubscribed(asked.ranks);
    // The owner and its user are the first two ranks; of more, the first and the last would be probed.
    let crossed = if asked.ranks == 2 { session.crossed(2, 1)? } else { None };
    let all = all(asked, session);
    pass.expect(all.len());
    for (regions, memory) in all {
        let times = session.regions(asked.ranks, &regions)?;
        pass.push(record(session, (&regions, memory, asked.ranks), &times, (over, crossed))?);
        pass.step();
    }
    Ok(())
}

/// Every kind with every memory, way of setup, size and hold.
fn all(asked: &asked::Region, session: &Session<'_>) -> Vec<(Regions, Memory)> {
    let mut all = Vec::new();
    for &kind in &asked.kinds {
        for &memory in &asked.memory {
            for &setup in &asked.setups {
                for &size in &asked.sizes {
                    for &hold in &asked.holds {
                        let (private, plan) = (memory == Memory::Private, session.plan());
                        all.push((Regions { kind, setup, hold, private, size, plan }, memory));
                    }
                }
            }
        }
    }
    all
}

fn record(
    session: &Session<'_>,
    (regions, memory, ranks): (&Regions, Memory, u32),
    times: &[RegionTimes],
    (over, crossed): (bool, Option<Crossed>),
) -> Result<Record, Error> {
    let head = session
        .bare_record()
        .with("via", "shm")
        .with("region", regions.kind.name())
        .with("setup", regions.setup.name())
        .with("hold", regions.hold.name())
        .with("memory", memory.name())
        .with("ranks", ranks)
        .with("size_B", regions.size);
    let [owner, user, ..] = times else {
        return Err(Error::Check("measure region: two ranks reported nothing".to_owned()));
    };
    if let Some(what) = &owner.lacking {
        return Ok(head.with("note", what.as_str()));
    }
    let us = summary(&user.access)?.median;
    // The bytes are copied, whatever moves them: no faster than all ranks of the region copy them together.
    let copies_mbps = session.copy_rate(regions.size, 2)?;
    let route = session.route(memory, false, crossed);
    let bound = hotlink_bound::local::copies(route.peak(copies_mbps, 1));
    let record = head
        .with("latency_us", us)
        .with("bandwidth_MBps", regions.size as f64 / us)
        .followed_by(RegionTimes::parts(owner, user))
        .beside_rate(&bound, regions.size as f64 / us)
        .also_bounded("bound_latency_us", regions.size as f64 / bound.mbps);
    let record = with_rates(record, copies_mbps, route).with("oversubscribed", over);
    session.finish(record, &user.access, "latency_us")
}
