//! `hotlink simulate cache-study`: replacement policies of the registration cache under traces of buffer reuse.

use super::options::UncertainArgs;
use super::run::Ask;
use crate::Failure;
use crate::values::{Size, Sizes};
use crate::words::word;
use hotlink_bench::Pattern;
use hotlink_paper::columns;
use hotlink_study::options::Cache;
use hotlink_study::simulate::cache_study::{CacheStudy, MOST, pattern};
use hotlink_study::simulate::request::{Benchmark, Request};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate cache-study --plan plans/segment-cache.toml --json
  hotlink simulate cache-study --pattern hot-cold,stream --cache lru,lfu --buffers 60 --pinned 8MiB
  hotlink simulate cache-study --pattern loop,uniform --cache lru,immediate --persistent 6

Buffers take the sizes of --buffer-size in turn. With --plan, it runs a plan of such studies as `hotlink sweep` does. The
latter also keeps finished cells and shares them among machines.")]
pub(crate) struct Args {
    /// Run the studies of this plan in place of the options.
    #[arg(long, value_name = "FILE", conflicts_with_all = OPTIONS)]
    plan: Option<PathBuf>,
    /// Fabric to simulate: a name of the catalog, or a file.
    #[arg(long, default_value = "w01-sci-d330")]
    fabric: String,
    /// Choose the order in which buffers are used: loop, hot-cold, phases, stack, uniform, stream.
    #[arg(long, value_delimiter = ',', default_value = "loop", value_parser = pattern)]
    pattern: Vec<Pattern>,
    /// Choose what is released when a new registration or connection does not fit.
    #[arg(long, value_parser = word::<Cache>(), value_delimiter = ',', default_value = "lru")]
    cache: Vec<Cache>,
    /// Use this many buffers.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=MOST))]
    buffers: u64,
    /// Give the buffers these sizes, in turn.
    #[arg(long, value_name = "SIZES", default_value = "64KiB..1MiB")]
    buffer_size: Sizes,
    /// Send this many messages.
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=MOST))]
    uses: u64,
    /// Bytes of a message, which lies at the beginning of its buffer.
    #[arg(long, default_value = "32KiB")]
    size: Size,
    /// Let each rank have this much memory registered at a time.
    #[arg(long, value_name = "SIZE", default_value = "8MiB")]
    pinned: Size,
    /// Make this many of the first buffers those of persistent operations. They are registered ahead of the messages
    /// and released after all others (W01 slide 10).
    #[arg(long, value_name = "BUFFERS", default_value_t = 0)]
    persistent: u64,
    /// Draw the random patterns and the random policy from this seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    uncertain: UncertainArgs,
}

/// Options that a plan's studies state themselves.
const OPTIONS: [&str; 10] =
    ["fabric", "pattern", "cache", "buffers", "buffer_size", "uses", "size", "pinned", "persistent", "seed"];

impl Args {
    /// The plan to run in place of the options.
    pub(super) fn plan(&self) -> Option<&Path> {
        self.plan.as_deref()
    }
}

impl Ask for Args {
    fn shown(&self) -> &'static [&'static str] {
        columns::CACHE_STUDY
    }
    fn request(&self) -> Result<Request, Failure> {
        let study = CacheStudy {
            patterns: self.pattern.clone(),
            policies: self.cache.clone(),
            buffers: self.buffers,
            buffer_sizes: self.buffer_size.to_vec(),
            uses: self.uses,
            message: self.size.0,
            pinned: self.pinned.0,
            persistent: self.persistent,
            seed: self.seed,
        };
        let request = Request::new(Benchmark::CacheStudy(study), &self.fabric);
        Ok(Request { seed: self.seed, sensitivity: self.uncertain.vary(), ..request })
    }
}
