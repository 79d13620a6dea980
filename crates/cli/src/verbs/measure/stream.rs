//! `hotlink measure stream` and `rate`: windows of messages between two ranks, one way and both; short ones counted.

use super::{Repetition, carrier::Carrier, summary};
use crate::values::{Counts, Sizes};
use crate::verbs::benches::{StreamOptions, WindowOptions};
use crate::words::word;
use crate::{Failure, output::Output};
use hotlink_bench::{Calls, Direction, Record, Samples, Stream};
use hotlink_study::benchmarks::check_sizes;
use hotlink_study::options::Memory;

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Ranks; the first sends to the last, the others wait. 2 if not given, under a launcher all that it started.
    #[arg(long, value_name = "N")]
    ranks: Option<u32>,
    /// Message sizes: a list or range.
    #[arg(long, value_name = "LIST", default_value = "8,4KiB,64KiB,1MiB")]
    size: Sizes,
    #[command(flatten)]
    stream: StreamOptions,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(clap::Args)]
pub(super) struct RateArgs {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Pairs of ranks that send at once: a list or range. 1 if not given, under MPI half of all that were started.
    #[arg(long, value_name = "LIST")]
    pairs: Option<Counts>,
    /// Message sizes: a list or range.
    #[arg(long, value_name = "LIST", default_value = "8,64,512")]
    size: Sizes,
    #[command(flatten)]
    window: WindowOptions,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(clap::Args)]
pub(super) struct Common {
    /// Memory that messages lie in.
    #[arg(long, value_parser = word::<Memory>(), default_value_t = Memory::Private)]
    memory: Memory,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

/// It holds for any way to move bytes, and is loose: of several copies each counts as the only one, a message's own cost
/// beside its bytes as none (which for short ones is nearly all), and the bytes come from the nearest cache.
pub(super) const BOUND_IS: &str = "all cores that the ranks can use copying messages in their own memory at once; loose \
                                   where a message is copied twice, and for short ones, whose own cost has no bound";

/// One point.
struct Point<'a> {
    carrier: &'a Carrier,
    common: &'a Common,
    ranks: u32,
    bench: Stream,
}

impl<'a> Point<'a> {
    fn new(
        carrier: &'a Carrier,
        common: &'a Common,
        (ranks, pairs): (u32, u32),
        size: u64,
        (direction, calls, window): (Direction, Calls, &WindowOptions),
    ) -> Result<Point<'a>, Failure> {
        if ranks < 2 || pairs > ranks / 2 {
            return Err(Failure::Input(format!("--ranks {ranks}: a pair needs two")));
        }
        let (private, plan) = (common.memory == Memory::Private, common.repetition.plan()?);
        let bench = Stream { sizes: vec![size], pairs, window: window.window, calls, direction, private, plan };
        Ok(Point { carrier, common, ranks, bench })
    }
    /// The record, its bandwidth beside the bound.
    fn record(&self, benchmark: &str, over: bool) -> Result<(Record, Samples), Failure> {
        let (bench, carrier, repetition) = (&self.bench, self.carrier, &self.common.repetition);
        let results: Vec<Vec<Samples>> = carrier.run(self.ranks, bench)?;
        let size = bench.sizes[0];
        let bound = carrier.copy_rate(size, 2 * bench.pairs, repetition.bound_plan()?)?.unwrap_or(0.0);
        let head = carrier
            .record(&repetition.fabric, benchmark)
            .with("memory", self.common.memory.name())
            .with("ranks", self.ranks);
        let (record, samples) = told(bench, head, &results)?;
        let bandwidth = summary(&samples)?.median;
        let record = record
            .with("bound_bandwidth_MBps", bound)
            .with("efficiency", if bound > 0.0 { bandwidth / bound } else { 0.0 })
            .with("limiting_resource", "memory copy")
            .with("bound_is", BOUND_IS)
            .with("oversubscribed", over);
        Ok((record, samples))
    }
}

/// What the ranks' samples say.
fn told(bench: &Stream, head: Record, results: &[Vec<Samples>]) -> Result<(Record, Samples), Failure> {
    bench.record(head, results).ok_or_else(super::no_sample)
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    check_sizes(&args.size)?;
    let ranks = args.carrier.ranks(args.ranks.map(|ranks| vec![ranks]), &[2])?[0];
    args.carrier.fits(&args.size, 2, 2)?;
    let over = args.carrier.oversubscribed(ranks);
    let progress = output.progress("measure stream", (args.stream.direction.len() * args.size.len()) as u64);
    for &direction in &args.stream.direction {
        for &size in args.size.iter() {
            let how = (direction, args.stream.calls, &args.stream.window);
            let point = Point::new(&args.carrier, &args.common, (ranks, 1), size, how)?;
            let (record, samples) = point.record("stream", over)?;
            output.push(args.common.repetition.finish(record, &samples, "bandwidth_MBps")?);
            progress.step();
        }
    }
    Ok(())
}

pub(super) fn run_rate(args: &RateArgs, output: &mut Output) -> Result<(), Failure> {
    check_sizes(&args.size)?;
    let asked = args.pairs.as_ref().map(Counts::to_u32).transpose();
    let asked = asked.map_err(|what| Failure::Input(format!("--pairs: {what}")))?;
    if let Some(many) = asked.iter().flatten().find(|&&pairs| pairs > 32) {
        return Err(Failure::Input(format!("--pairs {many}: allowed are 1 to 32")));
    }
    let asked = asked.map(|pairs| pairs.iter().map(|pairs| 2 * pairs).collect());
    let ranks = args.carrier.ranks(asked, &[2])?;
    let progress = output.progress("measure rate", (ranks.len() * args.size.len()) as u64);
    for &ranks in &ranks {
        args.carrier.fits(&args.size, ranks, 2)?;
        let over = args.carrier.oversubscribed(ranks);
        for &size in args.size.iter() {
            let how = (Direction::Uni, Calls::Windowed, &args.window);
            let point = Point::new(&args.carrier, &args.common, (ranks, ranks / 2), size, how)?;
            let (record, samples) = point.record("rate", over)?;
            let per_message = 1e6 / size as f64;
            let rates = Samples { values: samples.values.iter().map(|mbps| mbps * per_message).collect(), ..samples };
            let bound = record.number("bound_bandwidth_MBps").unwrap_or(0.0) * per_message;
            let record = record.with("bound_messages_per_s", bound);
            output.push(args.common.repetition.finish(record, &rates, "messages_per_s")?);
            progress.step();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotlink_bench::Plan;

    /// What `simulate` says of the same samples: `study/src/simulate/streams.rs`.
    #[test]
    fn pairs_that_share_a_link_unfairly_do_not_sum_up_to_more_than_it_carries() {
        let (direction, calls, plan) = (Direction::Uni, Calls::Windowed, Plan::once());
        let bench = Stream { sizes: vec![100], pairs: 2, window: None, calls, direction, private: true, plan };
        let ranks = [[100.0].as_slice(), &[50.0], &[], &[]];
        let ranks = ranks.map(|values| vec![Samples { values: values.to_vec(), inner: 1, ..Samples::default() }]);
        let (record, samples) = told(&bench, Record::new(), &ranks).unwrap();
        assert_eq!((record.number("bandwidth_MBps"), record.number("messages_per_s")), (Some(100.0), Some(1e6)));
        assert_eq!(samples.values, [100.0]);
    }
}
