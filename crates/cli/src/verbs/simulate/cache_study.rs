//! `hotlink simulate cache-study`: replacement policies of the set-up cache under traces of buffer reuse.

use super::program::Cache;
use crate::source::Source;
use crate::table::Table;
use crate::values::{Size, Sizes};
use crate::{Failure, output::Output};
use hotlink_bench::{Pattern, Record, Reuse, ReuseTime, Told, Tuned, Tuning};
use hotlink_message::Error;
use hotlink_port::Driver;
use hotlink_sim::port::VirtualTime;
use hotlink_sim::{Plan, Settings};
use rayon::prelude::*;
use std::path::PathBuf;
use std::time::Instant;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate cache-study --plan plans/segment-cache.toml --json
  hotlink simulate cache-study --pattern hot-cold,stream --cache lru,lfu --buffers 60 --pinned 8MiB

Buffers take the sizes of --buffer-size in turn. --plan runs a plan of such studies as `hotlink sweep` does, which also
keeps finished cells and shares them among machines.")]
pub(crate) struct Args {
    /// A plan of studies of this verb, in place of the options.
    #[arg(long, value_name = "FILE", conflicts_with_all = OPTIONS)]
    plan: Option<PathBuf>,
    /// Fabric: a name of the catalog or a file.
    #[arg(long, default_value = "w01-sci-d330")]
    fabric: String,
    /// In what order buffers are used: loop, hot-cold, phases, stack, uniform, stream.
    #[arg(long, value_delimiter = ',', default_value = "loop", value_parser = pattern)]
    pattern: Vec<Pattern>,
    /// What is released when a new set-up does not fit.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "lru")]
    cache: Vec<Cache>,
    /// Buffers.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=MOST))]
    buffers: u64,
    /// Bytes of the buffers, in turn.
    #[arg(long, value_name = "SIZES", default_value = "64KiB..1MiB")]
    buffer_size: Sizes,
    /// Messages.
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=MOST))]
    uses: u64,
    /// Bytes of a message, at the beginning of its buffer.
    #[arg(long, default_value = "32KiB")]
    size: Size,
    /// Memory that each rank may have registered at a time.
    #[arg(long, value_name = "SIZE", default_value = "8MiB")]
    pinned: Size,
    /// Seed of the random patterns and the random policy.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What a plan's studies say themselves.
const OPTIONS: [&str; 9] = ["fabric", "pattern", "cache", "buffers", "buffer_size", "uses", "size", "pinned", "seed"];
/// Most of anything counted in a study.
const MOST: u64 = 100_000;
/// Largest buffer.
const MOST_BYTES: u64 = 64 << 20;

fn pattern(text: &str) -> Result<Pattern, String> {
    let named = serde_json::from_value(serde_json::Value::from(text));
    named.map_err(|_| "allowed: loop, hot-cold, phases, stack, uniform, stream".to_owned())
}

/// One policy under one trace.
struct Run {
    cache: Cache,
    reuse: Reuse,
    pinned: u64,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    if let Some(plan) = &args.plan {
        return crate::verbs::sweep::run_plan(plan, &["simulate", "cache-study"], output);
    }
    let runs = args.runs().map_err(Failure::Input)?;
    let source = Source::open(&args.fabric)?;
    let progress = output.progress("simulate cache-study", runs.len() as u64);
    let ticking = progress.ticking();
    let one = |run: &Run| {
        let record = run.record(&source);
        progress.step();
        record
    };
    let records: Result<Vec<Record>, String> = runs.par_iter().map(one).collect();
    drop((ticking, progress));
    let records = records.map_err(Failure::Input)?;
    output.table(Table::of_keys(
        &records,
        &[
            "pattern",
            "policy",
            "hit_rate",
            "evictions",
            "setup_us",
            "time_us",
            "bound_hit_rate",
            "efficiency",
            "limiting_resource",
        ],
    ));
    records.into_iter().for_each(|record| output.push(record));
    Ok(())
}

impl Args {
    fn runs(&self) -> Result<Vec<Run>, String> {
        let (Size(message), Size(pinned)) = (self.size, self.pinned);
        let sizes: Vec<u64> = self.buffer_size.to_vec();
        for (option, bytes) in
            [("--size", message), ("--pinned", pinned)].into_iter().chain(sizes.iter().map(|&b| ("--buffer-size", b)))
        {
            if !(1..=MOST_BYTES).contains(&bytes) {
                return Err(format!("{option}: {bytes} B: allowed are 1 B to 64 MiB"));
            }
        }
        if let Some(short) = sizes.iter().find(|&&bytes| bytes < message) {
            return Err(format!("--buffer-size: a buffer of {short} B cannot hold a message of {message} B (--size)"));
        }
        let buffers: Vec<u64> = sizes.iter().copied().cycle().take(self.buffers as usize).collect();
        let reuse = |pattern| Reuse { pattern, buffers: buffers.clone(), uses: self.uses, message, seed: self.seed };
        let of = |&pattern| self.cache.iter().map(move |&cache| Run { cache, reuse: reuse(pattern), pinned });
        Ok(self.pattern.iter().flat_map(of).collect())
    }
}

impl Run {
    /// What keeps set-ups from being hit; `falls_short`: of the bound, which knows no limit of memory and keeps all.
    fn limiting(&self, falls_short: bool) -> &'static str {
        match self.cache {
            _ if !falls_short => "first uses",
            Cache::Immediate => "nothing is kept",
            _ => "memory that may be registered",
        }
    }
    fn record(&self, source: &Source) -> Result<Record, String> {
        let start = Instant::now();
        let fabric = source.build(2)?;
        let settings = Settings { seed: self.reuse.seed, ..Settings::of(&fabric.spec) };
        let plan = Plan::new(&fabric, &settings).map_err(|error| error.to_string())?;
        let mut driver = VirtualTime::new(&plan, &settings).with_limits(|limits| {
            limits.registration.pinned_bytes = Some(self.pinned);
        });
        let tuning = Tuning {
            policy: Some(self.cache.policy(self.reuse.seed)),
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
        let hit_rate = hits as f64 / (hits + misses).max(1) as f64;
        let bound = 1.0 - first as f64 / uses.len().max(1) as f64;
        Ok(Record::new()
            .with("fabric", fabric.spec.name.as_str())
            .with("benchmark", "cache-study")
            .with("method", "packet")
            .with("nodes", 2)
            .with("pattern", serde_json::json!(self.reuse.pattern))
            .with("policy", self.cache.name())
            .with("buffers", self.reuse.buffers.len())
            .with("buffers_B", self.reuse.buffers.iter().sum::<u64>())
            .with("pinned_max_B", self.pinned)
            .with("messages", uses.len())
            .with("size_B", self.reuse.message)
            .with("hits", hits)
            .with("misses", misses)
            .with("hit_rate", hit_rate)
            .with("bound_hit_rate", bound)
            .with("efficiency", if bound > 0.0 { hit_rate / bound } else { 1.0 })
            .with("limiting_resource", self.limiting(hit_rate < bound))
            .with("evictions", sum(|stats| stats.evictions))
            .with("setup_us", sender.setups.time.us() + receiver.setups.time.us())
            .with("sent_in_pieces", sender.counters.pieces)
            .with("deposited", sender.counters.deposited)
            .with("time_us", sender.result.time_us)
            .with("seed", self.reuse.seed)
            .with("events", run.stats.events)
            .with("trace_hash", format!("{:016x}", run.trace_hash))
            .with("packet_hops", run.stats.packet_hops)
            .with("wall_s", start.elapsed().as_secs_f64()))
    }
}
