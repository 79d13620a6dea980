//! `hotlink measure registration`: what caching set-ups is worth on this machine (W01 s10).

use super::{Repetition, clock::timer, summary};
use crate::values::Sizes;
use crate::{Failure, output::Output};
use hotlink_bench::{Plan, Record, Samples};
use hotlink_real::{Reach, Registration};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
#[command(after_help = "Example:
  hotlink measure registration --size 64KiB,1MiB,16MiB --json")]
pub(super) struct Args {
    /// Block sizes: a list or range.
    #[arg(long, value_name = "LIST", default_value = "1MiB")]
    size: Sizes,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

/// Copies before the first that counts.
const WARMUP: u64 = 10;

pub(super) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    args.repetition.without_buffers("registration")?;
    if let Some(size) = args.size.iter().find(|&&size| !(1..=1 << 30).contains(&size)) {
        return Err(Failure::Input(format!("--size {size}: allowed are 1 B to 1 GiB")));
    }
    let plan = args.repetition.plan()?;
    let progress = output.progress("measure registration", 2 * args.size.len() as u64);
    for &size in args.size.iter() {
        for how in [Reach::Map, Reach::Pin] {
            for record in records(args, size, how, &plan)? {
                output.push(record);
            }
            progress.step();
        }
    }
    Ok(())
}

/// Copies with the set-up kept and made each time, one of each in turn: what disturbs one disturbs both.
fn records(args: &Args, size: u64, how: Reach, plan: &Plan) -> Result<Vec<Record>, Failure> {
    let failed = |error: std::io::Error| Failure::Check(format!("measure registration: {size} B: {error}"));
    let mut block = Registration::new(size as usize).map_err(failed)?;
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    let (mut kept, mut each) = (Vec::new(), Vec::new());
    let start = Instant::now();
    loop {
        let mut once = || Ok((us(block.kept()), us(block.each_time(how)?)));
        let (one, other) = match once() {
            Ok(times) => times,
            // Only root may pin beyond a limit.
            Err(error) if how == Reach::Pin => return Ok(vec![head(args, size, how).with("note", refused(&error))]),
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
    let record = head(args, size, how)
        .with("latency_us", us)
        .with("cached_us", cached_us)
        .with("setup_us", us - cached_us)
        .with("over_cached", us / cached_us)
        .with("bandwidth_MBps", size as f64 / us)
        .with("bound_latency_us", cached_us)
        .with("bound_bandwidth_MBps", size as f64 / cached_us)
        .with("efficiency", cached_us / us)
        .with("limiting_resource", if how == Reach::Map { "mapping and touching pages" } else { "pinning pages" })
        .with("bound_is", "the same copy with the set-up kept, as a cache of set-ups does");
    Ok(vec![args.repetition.finish(record, &each, "latency_us")?])
}

fn refused(error: &std::io::Error) -> String {
    format!("pinning is refused: {error}; ulimit -l tells how much may be locked")
}

fn head(args: &Args, size: u64, how: Reach) -> Record {
    Record::new()
        .with("fabric", args.repetition.fabric.as_str())
        .with("benchmark", "registration")
        .with("method", "measured")
        .with("series", if how == Reach::Map { "map" } else { "pin" })
        .with("ranks", 1)
        .with("size_B", size)
}
