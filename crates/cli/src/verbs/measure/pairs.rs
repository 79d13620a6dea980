//! `hotlink measure pairs`: the matrix of all pairs; slow ones are tried again, and named if they stay slow.

use super::bound::{Bound, OF_A_MESSAGE};
use super::{Repetition, carrier::Carrier, summary};
use crate::verbs::benches::SlowOptions;
use crate::words::word;
use crate::{Failure, output::Output, values::Sizes};
use hotlink_bench::{Pairs, Record, Samples, slow};
use hotlink_study::benchmarks::check_pairs;
use hotlink_study::options::Memory;

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Ranks. 4 if not given, under a launcher all that it started.
    #[arg(long, value_name = "N")]
    ranks: Option<u32>,
    /// Message sizes: a list or range.
    #[arg(long, value_name = "LIST", default_value = "8,1MiB")]
    size: Sizes,
    #[command(flatten)]
    slow: SlowOptions,
    /// Memory that messages lie in.
    #[arg(long, value_parser = word::<Memory>(), default_value_t = Memory::Private)]
    memory: Memory,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

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

pub(super) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let ranks = args.carrier.ranks(args.ranks.map(|ranks| vec![ranks]), &[4])?[0];
    check_pairs(ranks)?;
    args.carrier.fits(&args.size, ranks, 2)?;
    let over = args.carrier.oversubscribed(ranks);
    let hosts = args.carrier.hosts()?;
    let hosts = if output.is_anonymous() { numbered(&hosts) } else { hosts };
    let pairs = Pairs::of(ranks);
    let hand_off_us = args.carrier.hand_off_us()?.unwrap_or(0.0);
    let progress = output.progress("measure pairs", args.size.len() as u64);
    for &size in args.size.iter() {
        let copy_mbps = args.carrier.copy_rate(size, 2, args.repetition.bound_plan()?)?;
        let copy_us = copy_mbps.map_or(0.0, |rate| size as f64 / rate);
        let mut found = measure(args, ranks, &pairs, size)?;
        let medians = |found: &[Found]| found.iter().map(|pair| pair.median).collect::<Vec<_>>();
        let again = slow(&medians(&found), args.slow.slow);
        if !again.is_empty() {
            let pairs: Vec<_> = again.iter().map(|&index| pairs[index]).collect();
            for (second, &index) in measure(args, ranks, &pairs, size)?.into_iter().zip(&again) {
                found[index] = Found { first: Some(found[index].median), ..second };
            }
        }
        let still = slow(&medians(&found), args.slow.slow);
        let typical = hotlink_bench::Summary::of(&medians(&found)).map_or(0.0, |summary| summary.median);
        for (index, (pair, &(a, b))) in found.iter().zip(&pairs).enumerate() {
            let is_slow = still.contains(&index) && pair.first.is_some();
            let name = |rank: u32| match hosts.get(rank as usize) {
                Some(host) => format!("rank {rank} on {host}"),
                None => format!("rank {rank}"),
            };
            if is_slow && args.carrier.is_speaker() {
                super::say_once(format!("hotlink: slow: {} with {} at {size} B", name(a), name(b)));
            }
            let record = record(args, (ranks, size), (a, b), pair, (hand_off_us, copy_us))
                .with("from", name(a))
                .with("to", name(b))
                .with("times_median", pair.median / typical)
                .with("slow", is_slow)
                .with("retested", pair.first.is_some())
                .with("first_latency_us", pair.first)
                .with("oversubscribed", over);
            output.push(args.repetition.finish(record, &pair.samples, "latency_us")?);
        }
        progress.step();
    }
    Ok(())
}

fn measure(args: &Args, ranks: u32, pairs: &[(u32, u32)], size: u64) -> Result<Vec<Found>, Failure> {
    let (private, plan) = (args.memory == Memory::Private, args.repetition.plan()?);
    let bench = Pairs { pairs: pairs.to_vec(), sizes: vec![size], private, plan };
    let results: Vec<Vec<Vec<Samples>>> = args.carrier.run(ranks, &bench)?;
    let one = |mut sizes: Vec<Samples>| {
        let samples = sizes.swap_remove(0);
        Ok(Found { median: summary(&samples)?.median, samples, first: None })
    };
    bench.collect(&results).into_iter().map(one).collect()
}

fn record(
    args: &Args,
    (ranks, size): (u32, u64),
    (a, b): (u32, u32),
    pair: &Found,
    (hand_off_us, copy_us): (f64, f64),
) -> Record {
    let record = args
        .carrier
        .record(&args.repetition.fabric, "pairs")
        .with("memory", args.memory.name())
        .with("ranks", ranks)
        .with("rank_a", a)
        .with("rank_b", b)
        .with("size_B", size)
        .with("latency_us", pair.median)
        .with("bandwidth_MBps", size as f64 / pair.median);
    Bound::larger(hand_off_us, copy_us, OF_A_MESSAGE).add_to(record, pair.median)
}
