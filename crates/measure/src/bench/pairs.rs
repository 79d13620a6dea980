//! `pairs`: the matrix of all pairs; slow ones are tried again, and named if they stay slow.

use crate::pass::Pass;
use crate::request::{self as asked, usual};
use crate::session::{Session, summary, with_rates};
use hotlink_bench::{Pairs, Record, Samples, Summary, slow};
use hotlink_bound::local::Route;
use hotlink_study::Error;
use hotlink_study::benchmarks::check_pairs;
use hotlink_study::options::Memory;

/// Hosts by number instead of name.
fn numbered(hosts: &[String]) -> Vec<String> {
    let number = |host: &String| hosts.iter().position(|other| other == host).unwrap_or_default();
    hosts.iter().map(|host| format!("host of rank {}", number(host))).collect()
}

/// One pair at one size.
struct Found {
    samples: Samples,
    median: f64,
    first: Option<f64>,
}

pub(crate) fn run(asked: &asked::Pairs, pass: &mut Pass<'_>) -> Result<(), Error> {
    let session = pass.session;
    let ranks = session.ranks(asked.ranks.map(|ranks| vec![ranks]), &[usual::PAIRS_RANKS])?[0];
    check_pairs(ranks)?;
    session.fits(&asked.sizes, ranks, 2)?;
    let over = session.oversubscribed(ranks);
    let hosts = session.hosts()?;
    let hosts = if session.request.anonymous { numbered(&hosts) } else { hosts };
    let pairs = Pairs::of(ranks);
    let hand_off_us = session.hand_off_us()?.unwrap_or(0.0);
    // Of more than two, some may be nearer to each other than those that would be probed.
    let crossed = if ranks == 2 { session.crossed(ranks, 1)? } else { None };
    let route = session.route(asked.memory, false, crossed);
    pass.expect(asked.sizes.len());
    for &size in asked.sizes.iter() {
        let copy_mbps = session.copy_rate(size, 2)?;
        let mut found = measure(asked, session, ranks, &pairs, size)?;
        let medians = |found: &[Found]| found.iter().map(|pair| pair.median).collect::<Vec<_>>();
        let again = slow(&medians(&found), asked.slow);
        if !again.is_empty() {
            let pairs: Vec<_> = again.iter().map(|&index| pairs[index]).collect();
            for (second, &index) in measure(asked, session, ranks, &pairs, size)?.into_iter().zip(&again) {
                found[index] = Found { first: Some(found[index].median), ..second };
            }
        }
        let still = slow(&medians(&found), asked.slow);
        let typical = Summary::of(&medians(&found)).map_or(0.0, |summary| summary.median);
        for (index, (pair, &(a, b))) in found.iter().zip(&pairs).enumerate() {
            let is_slow = still.contains(&index) && pair.first.is_some();
            let name = |rank: u32| match hosts.get(rank as usize) {
                Some(host) => format!("rank {rank} on {host}"),
                None => format!("rank {rank}"),
            };
            let record = record(asked, session, (ranks, size), (a, b), pair, (hand_off_us, copy_mbps, route))
                .with("from", name(a))
                .with("to", name(b))
                .with("times_median", pair.median / typical)
                .with("slow", is_slow)
                .with("retested", pair.first.is_some())
                .with("first_latency_us", pair.first)
                .with("oversubscribed", over);
            pass.push(session.finish(record, &pair.samples, "latency_us")?);
        }
        pass.step();
    }
    Ok(())
}

/// Compares each record's pair with the others, by the values of all blocks, and notes it in the record. Returns a line
/// for each slow pair.
pub(crate) fn judge(factor: f64, records: &mut [Record]) -> Vec<String> {
    let mut told = Vec::new();
    let size = |record: &Record| record.number("size_B").unwrap_or(0.0);
    let us = |record: &Record| record.number("latency_us").unwrap_or(0.0);
    for at in 0..records.len() {
        let same = records.iter().filter(|other| size(other) == size(&records[at])).map(us);
        let Some(all) = Summary::of(&same.collect::<Vec<_>>()).filter(|all| all.median > 0.0) else { continue };
        let record = &mut records[at];
        let times = us(record) / all.median;
        // Each block measures anew; of one block, only what was tried again is known to stay slow.
        let is_tried = record.number("blocks") > Some(1.0) || record.get("retested").is_some_and(|is| is == true);
        let is_slow = times > factor && is_tried;
        record.set("times_median", times);
        record.set("slow", is_slow);
        if is_slow {
            let end = |key: &str| record.text(key).unwrap_or("?");
            told.push(format!("{SLOW}{} with {} at {} B", end("from"), end("to"), size(record)));
        }
    }
    told
}

/// How such a line begins.
pub(crate) const SLOW: &str = "slow: ";

fn measure(
    asked: &asked::Pairs,
    session: &Session<'_>,
    ranks: u32,
    pairs: &[(u32, u32)],
    size: u64,
) -> Result<Vec<Found>, Error> {
    let (private, plan) = (asked.memory == Memory::Private, session.plan());
    let bench = Pairs { pairs: pairs.to_vec(), sizes: vec![size], private, plan };
    let results: Vec<Vec<Vec<Samples>>> = session.run(ranks, &bench)?;
    let one = |mut sizes: Vec<Samples>| {
        let samples = sizes.swap_remove(0);
        Ok(Found { median: summary(&samples)?.median, samples, first: None })
    };
    bench.collect(&results).into_iter().map(one).collect()
}

fn record(
    asked: &asked::Pairs,
    session: &Session<'_>,
    (ranks, size): (u32, u64),
    (a, b): (u32, u32),
    pair: &Found,
    (hand_off_us, copy_mbps, route): (f64, Option<f64>, Route),
) -> Record {
    let record = session
        .record()
        .with("memory", asked.memory.name())
        .with("ranks", ranks)
        .with("rank_a", a)
        .with("rank_b", b)
        .with("size_B", size)
        .with("latency_us", pair.median)
        .with("bandwidth_MBps", size as f64 / pair.median);
    let bound = hotlink_bound::local::message(hand_off_us, size, route.peak(copy_mbps, 1));
    with_rates(record.beside_time(&bound, pair.median), copy_mbps, route)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_slow_by_the_median_of_all_in_the_table() {
        let pair = |to: u32, us: f64, slow: bool| {
            Record::new()
                .with("size_B", 8)
                .with("latency_us", us)
                .with("from", "rank 0")
                .with("to", format!("rank {to}"))
                .with("times_median", 9.0)
                .with("slow", slow)
                .with("retested", false)
                .with("blocks", 12)
        };
        // One block found the first slow; over all blocks the third is.
        let mut records = [pair(1, 1.0, true), pair(2, 1.0, false), pair(3, 2.0, false)];
        assert_eq!(judge(1.25, &mut records), ["slow: rank 0 with rank 3 at 8 B"]);
        let told = records.map(|record| (record.number("times_median"), record.get("slow").cloned()));
        assert_eq!(told[0], (Some(1.0), Some(false.into())));
        assert_eq!(told[2], (Some(2.0), Some(true.into())));
    }
}
