//! Replacement policies of the cache of registrations and connections, under traces of buffer reuse.

use crate::inputs::{self, Vary};
use crate::options::Cache;
use crate::{Error, Source, Watch, parallel};
use hotlink_bench::{Pattern, Record, Reuse, ReuseTime, Told, Tuned, Tuning};
use hotlink_message::Error as MessageError;
use hotlink_port::{Driver, OnAny};
use hotlink_sim::port::VirtualTime;
use hotlink_sim::{Plan, Settings};

/// Most of anything counted in a study.
pub const MOST: u64 = 100_000;
/// Largest buffer.
const MOST_BYTES: u64 = 64 << 20;

/// Every pattern with every policy.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheStudy {
    /// In what order buffers are used.
    pub patterns: Vec<Pattern>,
    /// The policy by which a registration is released when a new one does not fit.
    pub policies: Vec<Cache>,
    /// Buffers.
    pub buffers: u64,
    /// Bytes of the buffers, in turn.
    pub buffer_sizes: Vec<u64>,
    /// Messages.
    pub uses: u64,
    /// Bytes of a message, at the beginning of its buffer.
    pub message: u64,
    /// Memory that each rank may have registered at a time.
    pub pinned: u64,
    /// This many of the first buffers are those of persistent operations, whose registrations are held.
    pub persistent: u64,
    /// Seed of the random patterns and the random policy.
    pub seed: u64,
}

/// Reads a pattern's name.
///
/// # Errors
/// What is allowed.
pub fn pattern(text: &str) -> Result<Pattern, String> {
    let named = serde_json::from_value(serde_json::Value::from(text));
    named.map_err(|_| "allowed: loop, hot-cold, phases, stack, uniform, stream".to_owned())
}

/// One policy under one trace.
struct Run {
    cache: Cache,
    reuse: Reuse,
    pinned: u64,
}

impl CacheStudy {
    /// With the usual values: 60 buffers of 64 KiB to 1 MiB, 300 messages of 32 KiB, 8 MiB registered at most.
    pub fn usual() -> CacheStudy {
        CacheStudy {
            patterns: vec![Pattern::Loop],
            policies: vec![Cache::Lru],
            buffers: 60,
            buffer_sizes: (16..=20).map(|power| 1 << power).collect(),
            uses: 300,
            message: 32 << 10,
            pinned: 8 << 20,
            persistent: 0,
            seed: 1,
        }
    }
    /// How many runs it has.
    pub fn count(&self) -> usize {
        self.patterns.len() * self.policies.len()
    }

    /// A record for each pattern and policy, handed to `give` in order. Where only a quick variation is asked for, the
    /// first has it.
    ///
    /// # Errors
    /// What a size may be; the fabric cannot be built.
    pub fn run(
        &self,
        source: &Source,
        vary: Vary,
        watch: &dyn Watch,
        give: &mut (dyn FnMut(Vec<Record>) -> bool + Send),
    ) -> Result<(), Error> {
        let runs: Vec<(usize, Run)> = self.runs().map_err(Error::Input)?.into_iter().enumerate().collect();
        let one = |(at, run): &(usize, Run)| {
            let vary = vary.at(*at);
            let answer =
                |source: &Source, watch: &dyn Watch| run.record(source, watch).map(|r| vec![r]).map_err(Error::Input);
            let records = inputs::told(source, vary, watch, &answer);
            watch.step();
            records
        };
        parallel::answers_in_order(&runs, one, give)
    }

    fn runs(&self) -> Result<Vec<Run>, String> {
        let CacheStudy { message, pinned, .. } = *self;
        let sizes = &self.buffer_sizes;
        for (option, count) in [("--buffers", self.buffers), ("--uses", self.uses)] {
            if !(1..=MOST).contains(&count) {
                return Err(format!("{option}: {count}: must be 1 to {MOST}"));
            }
        }
        for (option, bytes) in
            [("--size", message), ("--pinned", pinned)].into_iter().chain(sizes.iter().map(|&b| ("--buffer-size", b)))
        {
            if !(1..=MOST_BYTES).contains(&bytes) {
                return Err(format!("{option}: {bytes} B: must be 1 B to 64 MiB"));
            }
        }
        if let Some(short) = sizes.iter().find(|&&bytes| bytes < message) {
            return Err(format!("--buffer-size: a buffer of {short} B cannot hold a message of {message} B (--size)"));
        }
        if self.persistent > self.buffers {
            return Err(format!("--persistent: {}: must be 0 to the number of --buffers", self.persistent));
        }
        let persistent = self.persistent as usize;
        let buffers: Vec<u64> = sizes.iter().copied().cycle().take(self.buffers as usize).collect();
        let of = Reuse { pattern: Pattern::Loop, buffers, uses: self.uses, message, persistent, seed: self.seed };
        let reuse = |pattern| Reuse { pattern, ..of.clone() };
        let each = |&pattern| self.policies.iter().map(move |&cache| Run { cache, reuse: reuse(pattern), pinned });
        Ok(self.patterns.iter().flat_map(each).collect())
    }
}

impl Run {
    /// The limit of hits in the registration cache. `falls_short`: of the bound, which knows no limit of memory and
    /// keeps all.
    fn limiting(&self, falls_short: bool) -> &'static str {
        match self.cache {
            _ if !falls_short => "first uses",
            Cache::Immediate if self.reuse.persistent > 0 => "nothing else is kept",
            Cache::Immediate => "nothing is kept",
            _ => "memory that may be registered",
        }
    }
    fn record(&self, source: &Source, watch: &dyn Watch) -> Result<Record, String> {
        let start = watch.seconds();
        let fabric = source.build(2)?;
        let settings = Settings { seed: self.reuse.seed, ..Settings::of(&fabric.spec) };
        let plan = Plan::new(&fabric, &settings).map_err(|error| error.to_string())?;
        let mut driver =
            VirtualTime::new(&plan, &settings).map_err(|missing| missing.to_string())?.with_limits(|limits| {
                limits.registration.pinned_bytes = Some(self.pinned);
            });
        let tuning = Tuning {
            policy: Some(self.cache.policy(self.reuse.seed)),
            zero_copy_bytes: Some(self.reuse.message),
            ..Tuning::default()
        };
        let told: Vec<Result<Told<ReuseTime>, MessageError>> =
            driver.run(2, &OnAny(&Tuned { bench: &self.reuse, tuning })).map_err(|error| error.to_string())?;
        let told: Vec<Told<ReuseTime>> =
            told.into_iter().collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        let [sender, receiver] = &told[..] else { return Err("two ranks give two results".to_owned()) };
        let sum = |pick: fn(&hotlink_message::CacheStats) -> u64| {
            let of = |told: &Told<ReuseTime>| pick(&told.setups.registrations) + pick(&told.setups.attachments);
            of(sender) + of(receiver)
        };
        let ahead = sender.result.ahead + receiver.result.ahead;
        let (hits, misses) = (sum(|stats| stats.hits), sum(|stats| stats.misses) - ahead);
        let run = &driver.outcome().ok_or("the run did not end")?.run;
        let uses = self.reuse.trace();
        let mut seen = std::collections::BTreeSet::new();
        // Without limits each buffer misses once on either side, and its import once.
        let first: Vec<usize> = uses.iter().copied().filter(|&buffer| seen.insert(buffer)).collect();
        // Memory that is registered ahead misses as an import alone.
        let held = first.iter().filter(|&&buffer| ahead > 0 && buffer < self.reuse.persistent).count() as f64;
        let imports = |told: &Told<ReuseTime>| told.setups.attachments.hits + told.setups.attachments.misses;
        let imports = imports(sender) + imports(receiver);
        let hit_rate = hits as f64 / (hits + misses).max(1) as f64;
        let registrations = 1.0 - imports as f64 / (hits + misses).max(1) as f64;
        let bound = hotlink_bound::local::hit_rate(first.len(), uses.len());
        let bound = bound + registrations * held / uses.len().max(1) as f64;
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
            .with("persistent", self.reuse.persistent)
            .with("messages", uses.len())
            .with("size_B", self.reuse.message)
            .with("hits", hits)
            .with("misses", misses)
            .with("hit_rate", hit_rate)
            .bounded("bound_hit_rate", bound, if bound > 0.0 { hit_rate / bound } else { 1.0 })
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
            .with("wall_s", watch.seconds() - start))
    }
}
