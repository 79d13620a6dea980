//! `stream` and `rate`: windows of messages between two ranks, one way and both; short ones counted.

use crate::pass::Pass;
use crate::request as asked;
use crate::session::{Session, no_sample, summary, with_rates};
use hotlink_bench::{Calls, Crossed, Direction, Record, Samples, Stream};
use hotlink_bound::local::{Route, copies};
use hotlink_study::Error;
use hotlink_study::benchmarks::check_sizes;
use hotlink_study::options::Memory;

/// One point: which ranks, and what they do.
struct Point<'a> {
    session: &'a Session<'a>,
    memory: Memory,
    ranks: u32,
    bench: Stream,
}

impl<'a> Point<'a> {
    fn new(
        session: &'a Session<'a>,
        memory: Memory,
        (ranks, pairs): (u32, u32),
        size: u64,
        (direction, calls, window): (Direction, Calls, Option<u64>),
    ) -> Result<Point<'a>, Error> {
        if ranks < 2 || pairs > ranks / 2 {
            return Err(Error::Input(format!("--ranks {ranks}: a pair needs two")));
        }
        let (private, plan) = (memory == Memory::Private, session.plan());
        let bench = Stream { sizes: vec![size], pairs, window, calls, direction, private, plan };
        Ok(Point { session, memory, ranks, bench })
    }
    /// The record, its bandwidth with the bound.
    fn record(&self, over: bool, crossed: Option<Crossed>) -> Result<(Record, Samples), Error> {
        let (bench, session) = (&self.bench, self.session);
        let results: Vec<Vec<Samples>> = session.run(self.ranks, bench)?;
        let copies_mbps = session.copy_rate(bench.sizes[0], 2 * bench.pairs)?;
        let (route, directions) = match bench.direction {
            Direction::Uni => (session.route(self.memory, false, crossed), 1),
            Direction::Bi => (session.route(self.memory, false, crossed), 2),
            // A message of a rank to itself changes no core.
            Direction::Own => (Route::Kept, 1),
        };
        let bound = copies(route.peak(copies_mbps, directions));
        let head = session.record().with("memory", self.memory.name()).with("ranks", self.ranks);
        let (record, samples) = told(bench, head, &results)?;
        let bandwidth = summary(&samples)?.median;
        let record = with_rates(record.beside_rate(&bound, bandwidth), copies_mbps, route);
        Ok((record.with("oversubscribed", over), samples))
    }
}

/// The records of the ranks' samples.
fn told(bench: &Stream, head: Record, results: &[Vec<Samples>]) -> Result<(Record, Samples), Error> {
    bench.record(head, results).ok_or_else(no_sample)
}

pub(crate) fn run(asked: &asked::Stream, pass: &mut Pass<'_>) -> Result<(), Error> {
    let session = pass.session;
    check_sizes(&asked.sizes)?;
    let ranks = session.ranks(asked.ranks.map(|ranks| vec![ranks]), &[2])?[0];
    session.fits(&asked.sizes, 2, 2)?;
    let over = session.oversubscribed(ranks);
    let crossed = session.crossed(ranks, 1)?;
    pass.expect(asked.directions.len() * asked.sizes.len());
    for &direction in &asked.directions {
        for &size in asked.sizes.iter() {
            let how = (direction, asked.calls, asked.window);
            let point = Point::new(session, asked.memory, (ranks, 1), size, how)?;
            let (record, samples) = point.record(over, crossed)?;
            pass.push(session.finish(record, &samples, "bandwidth_MBps")?);
            pass.step();
        }
    }
    Ok(())
}

pub(crate) fn run_rate(asked: &asked::Rate, pass: &mut Pass<'_>) -> Result<(), Error> {
    let session = pass.session;
    check_sizes(&asked.sizes)?;
    if let Some(many) = asked.pairs.iter().flatten().find(|&&pairs| pairs > 32) {
        return Err(Error::Input(format!("--pairs {many}: must be 1 to 32")));
    }
    let asked_for = asked.pairs.as_ref().map(|pairs| pairs.iter().map(|pairs| 2 * pairs).collect());
    let ranks = session.ranks(asked_for, &[2])?;
    pass.expect(ranks.len() * asked.sizes.len());
    for &ranks in &ranks {
        session.fits(&asked.sizes, ranks, 2)?;
        let (over, crossed) = (session.oversubscribed(ranks), session.crossed(ranks, ranks / 2)?);
        for &size in asked.sizes.iter() {
            let how = (Direction::Uni, Calls::Windowed, asked.window);
            let point = Point::new(session, asked.memory, (ranks, ranks / 2), size, how)?;
            let (record, samples) = point.record(over, crossed)?;
            let per_message = 1e6 / size as f64;
            let rates = Samples { values: samples.values.iter().map(|mbps| mbps * per_message).collect(), ..samples };
            let record = record.bounded_messages(size);
            pass.push(session.finish(record, &rates, "messages_per_s")?);
            pass.step();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotlink_bench::Plan;

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
