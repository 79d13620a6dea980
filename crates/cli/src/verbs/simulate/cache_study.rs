//! `hotlink simulate cache-study`: replacement policies of the set-up cache under traces of buffer reuse.

use super::options::UncertainArgs;
use crate::table::Table;
use crate::values::{Size, Sizes};
use crate::words::word;
use crate::{Failure, output::Output};
use hotlink_bench::Pattern;
use hotlink_study::Source;
use hotlink_study::options::Cache;
use hotlink_study::simulate::cache_study::{CacheStudy, MOST, pattern};
use std::path::PathBuf;

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
    #[arg(long, value_parser = word::<Cache>(), value_delimiter = ',', default_value = "lru")]
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
    #[command(flatten)]
    uncertain: UncertainArgs,
}

/// What a plan's studies say themselves.
const OPTIONS: [&str; 9] = ["fabric", "pattern", "cache", "buffers", "buffer_size", "uses", "size", "pinned", "seed"];

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    if let Some(plan) = &args.plan {
        return crate::verbs::sweep::run_plan(plan, &["simulate", "cache-study"], output);
    }
    let study = CacheStudy {
        patterns: args.pattern.clone(),
        policies: args.cache.clone(),
        buffers: args.buffers,
        buffer_sizes: args.buffer_size.to_vec(),
        uses: args.uses,
        message: args.size.0,
        pinned: args.pinned.0,
        seed: args.seed,
    };
    let source = Source::open(&args.fabric)?;
    let progress = output.progress("simulate cache-study", study.count() as u64);
    let ticking = progress.ticking();
    let records = study.run(&source, output.vary(args.uncertain.sensitivity), &progress)?;
    drop((ticking, progress));
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
