//! `registration`: the saving by a registration cache on this machine (W01 s10).

use crate::clock::timer;
use crate::pass::Pass;
use crate::request as asked;
use crate::session::{Session, summary};
use hotlink_bench::{Plan, Record, Samples};
use hotlink_real::{Reach, Registration};
use hotlink_study::Error;
use std::time::{Duration, Instant};

/// Copies before the first that counts.
const WARMUP: u64 = 10;

pub(crate) fn run(asked: &asked::Registration, pass: &mut Pass<'_>) -> Result<(), Error> {
    let session = pass.session;
    session.without_buffers()?;
    if let Some(size) = asked.sizes.iter().find(|&&size| !(1..=1 << 30).contains(&size)) {
        return Err(Error::Input(format!("--size {size}: must be 1 B to 1 GiB")));
    }
    let plan = session.plan();
    pass.expect(2 * asked.sizes.len());
    for &size in asked.sizes.iter() {
        for how in [Reach::Map, Reach::Pin] {
            for record in records(session, size, how, &plan)? {
                pass.push(record);
            }
            pass.step();
        }
    }
    Ok(())
}

/// Copies with the registration kept and made each time, one of each in turn, so that noise meets both.
fn records(session: &Session<'_>, size: u64, how: Reach, plan: &Plan) -> Result<Vec<Record>, Error> {
    let failed = |error: std::io::Error| Error::Check(format!("measure registration: {size} B: {error}"));
    let mut block = Registration::new(size as usize).map_err(failed)?;
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    let (mut kept, mut each) = (Vec::new(), Vec::new());
    let start = Instant::now();
    loop {
        let mut once = || Ok((us(block.kept()), us(block.each_time(how)?)));
        let (one, other) = match once() {
            Ok(times) => times,
            // Only root may pin beyond a limit.
            Err(error) if how == Reach::Pin => return Ok(vec![head(session, size, how).with("note", refused(&error))]),
            Err(error) => return Err(failed(error)),
        };
        let before = kept.len() as u64;
        kept.push(one);
        each.push(other);
        let looks = before.is_power_of_two() || before.is_multiple_of(50);
        if before > WARMUP + 3 && looks && plan.is_enough(each.len(), us(start.elapsed())) {
            break;
        }
    }
    let samples = |values: Vec<f64>| Samples {
        values: values[WARMUP as usize..].to_vec(),
        inner: 1,
        warmup: WARMUP,
        timer: timer(),
    };
    let (kept, each) = (samples(kept), samples(each));
    let (cached_us, us) = (summary(&kept)?.median, summary(&each)?.median);
    let bound = hotlink_bound::local::kept(cached_us, how == Reach::Pin);
    let record = head(session, size, how)
        .with("latency_us", us)
        .with("cached_us", cached_us)
        .with("setup_us", us - cached_us)
        .with("over_cached", us / cached_us)
        .with("bandwidth_MBps", size as f64 / us)
        .beside_time(&bound, us)
        .also_bounded("bound_bandwidth_MBps", bound.in_time(size));
    Ok(vec![session.finish(record, &each, "latency_us")?])
}

fn refused(error: &std::io::Error) -> String {
    format!("pinning is refused: {error}; ulimit -l tells how much may be locked")
}

fn head(session: &Session<'_>, size: u64, how: Reach) -> Record {
    session
        .bare_record()
        .with("series", if how == Reach::Map { "map" } else { "pin" })
        .with("ranks", 1)
        .with("size_B", size)
}
