//! `hotlink simulate cache-study`: replacement policies of the set-up cache under traces of buffer reuse.

use super::program::Cache;
use crate::source::Source;
use crate::table::Table;
use crate::values::Size;
use crate::{Failure, output::Output};
use clap::ValueEnum;
use hotlink_bench::{Pattern, Record, Reuse, ReuseTime, Told, Tuned, Tuning};
use hotlink_message::Error;
use hotlink_port::Driver;
use hotlink_sim::port::VirtualTime;
use hotlink_sim::{Plan, Settings};
use rayon::prelude::*;
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Instant;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  hotlink simulate cache-study --plan plans/segment-cache.toml --json")]
pub(crate) struct Args {
    /// The study: fabric, policies, memory that may be pinned, traces.
    #[arg(long, value_name = "FILE")]
    plan: PathBuf,
}

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Study {
    #[allow(dead_code)] // for people
    title: Option<String>,
    fabric: String,
    policies: Vec<String>,
    pinned: String,
    message: String,
    seed: u64,
    trace: Vec<Trace>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Trace {
    name: String,
    pattern: Pattern,
    buffers: u64,
    size: Vec<String>,
    uses: u64,
}

/// Most of anything counted in a study.
const MOST: u64 = 100_000;
/// Largest buffer.
const MOST_BYTES: u64 = 64 << 20;

/// One policy under one trace.
struct Run<'a> {
    study: &'a Study,
    cache: Cache,
    name: &'a str,
    reuse: Reuse,
    pinned: u64,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let file = args.plan.display().to_string();
    let text = std::fs::read_to_string(&args.plan)
        .map_err(|error| Failure::Input(format!("{file}: cannot be read: {error}")))?;
    let records = study(&file, &text)?;
    output.table(Table::of_keys(
        &records,
        &["trace", "policy", "hit_rate", "evictions", "setup_us", "time_us", "bound_hit_rate"],
    ));
    records.into_iter().for_each(|record| output.push(record));
    Ok(())
}

/// The records of the study that `text` describes.
pub(crate) fn study(file: &str, text: &str) -> Result<Vec<Record>, Failure> {
    let at = |what: String| Failure::Input(format!("{file}: {what}"));
    let study: Study = toml::from_str(text).map_err(|error| at(error.to_string().trim_end().to_owned()))?;
    let runs = study.runs().map_err(at)?;
    let source = Source::open(&study.fabric)?;
    let records: Result<Vec<Record>, String> = runs.par_iter().map(|run| run.record(&source)).collect();
    records.map_err(at)
}

fn size(key: &str, text: &str) -> Result<u64, String> {
    let Size(bytes) = text.parse().map_err(|what| format!("{key}: {what}"))?;
    if (1..=MOST_BYTES).contains(&bytes) { Ok(bytes) } else { Err(format!("{key}: {text}: allowed are 1 B to 64 MiB")) }
}

impl Study {
    fn runs(&self) -> Result<Vec<Run<'_>>, String> {
        let (pinned, message) = (size("pinned", &self.pinned)?, size("message", &self.message)?);
        let mut runs = Vec::new();
        for trace in &self.trace {
            let counts = [("buffers", trace.buffers), ("uses", trace.uses), ("sizes", trace.size.len() as u64)];
            if let Some((key, count)) = counts.iter().find(|(_, count)| !(1..=MOST).contains(count)) {
                return Err(format!("trace `{}`: {count} {key}: allowed are 1 to {MOST}", trace.name));
            }
            let sizes: Vec<u64> = trace.size.iter().map(|text| size("size", text)).collect::<Result<_, _>>()?;
            if let Some(short) = sizes.iter().find(|&&bytes| bytes < message) {
                return Err(format!(
                    "trace `{}`: a buffer of {short} B cannot hold a message of {message} B",
                    trace.name
                ));
            }
            let buffers = (0..trace.buffers as usize).map(|i| sizes[i % sizes.len()]).collect();
            let reuse = Reuse { pattern: trace.pattern, buffers, uses: trace.uses, message, seed: self.seed };
            for policy in &self.policies {
                let cache = Cache::from_str(policy, false)
                    .map_err(|_| format!("policy `{policy}`; allowed: lru, lfu, best-fit, random, immediate"))?;
                runs.push(Run { study: self, cache, name: &trace.name, reuse: reuse.clone(), pinned });
            }
        }
        Ok(runs)
    }
}

impl Run<'_> {
    fn record(&self, source: &Source) -> Result<Record, String> {
        let start = Instant::now();
        let fabric = source.build(2)?;
        let settings = Settings { seed: self.study.seed, ..Settings::of(&fabric.spec) };
        let plan = Plan::new(&fabric, &settings).map_err(|error| error.to_string())?;
        let mut driver = VirtualTime::new(&plan, &settings).with_limits(|limits| {
            limits.registration.pinned_bytes = Some(self.pinned);
        });
        let tuning = Tuning {
            policy: Some(self.cache.policy(self.study.seed)),
            zero_copy_bytes: Some(self.reuse.message),
            ..Tuning::default()
        };
        let told: Vec<Result<Told<ReuseTime>, Error>> =
            driver.run(2, &Tuned { bench: &self.reuse, tuning }).map_err(|error| error.to_string())?;
        let told: Vec<Told<ReuseTime>> =
            told.into_iter().collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        let [sender, receiver] = &told[..] else { return Err("two ranks give two results".to_owned()) };
        let sum = |pick: fn(&hotlink_message::CacheStats) -> u64| {
            let of = |told: &Told<ReuseTime>| pick(&told.setups.registrations) + pick(&told.setups.attachments);
            of(sender) + of(receiver)
        };
        let (hits, misses) = (sum(|stats| stats.hits), sum(|stats| stats.misses));
        let run = &driver.outcome().ok_or("the run did not end")?.run;
        let uses = self.reuse.trace();
        let mut seen = std::collections::BTreeSet::new();
        // Without limits each buffer misses once on either side, and its import once.
        let first = uses.iter().filter(|&&buffer| seen.insert(buffer)).count();
        Ok(Record::new()
            .with("fabric", fabric.spec.name.as_str())
            .with("benchmark", "cache-study")
            .with("method", "packet")
            .with("nodes", 2)
            .with("trace", self.name)
            .with("policy", self.cache.name())
            .with("buffers", self.reuse.buffers.len())
            .with("buffers_B", self.reuse.buffers.iter().sum::<u64>())
            .with("pinned_max_B", self.pinned)
            .with("messages", uses.len())
            .with("size_B", self.reuse.message)
            .with("hits", hits)
            .with("misses", misses)
            .with("hit_rate", hits as f64 / (hits + misses).max(1) as f64)
            .with("bound_hit_rate", 1.0 - first as f64 / uses.len().max(1) as f64)
            .with("evictions", sum(|stats| stats.evictions))
            .with("setup_us", sender.setups.time.us() + receiver.setups.time.us())
            .with("sent_in_pieces", sender.counters.pieces)
            .with("deposited", sender.counters.deposited)
            .with("time_us", sender.result.time_us)
            .with("seed", self.study.seed)
            .with("events", run.stats.events)
            .with("trace_hash", format!("{:016x}", run.trace_hash))
            .with("wall_s", start.elapsed().as_secs_f64()))
    }
}
