//! Options of programs on simulated ranks.

use crate::words::word;
use hotlink_bench::Watching;
use hotlink_port::background::BackgroundSpec;
use hotlink_study::options::{Alignment, Cache, Memory, Via, ZeroCopy};
use hotlink_study::simulate::programs::Programs;

/// Options of programs.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct StackArgs {
    /// Memory that messages lie in.
    #[arg(long, value_parser = word::<Memory>(), value_delimiter = ',')]
    memory: Vec<Memory>,
    /// Alignment of registered memory: to pages, or none.
    #[arg(long, value_parser = word::<Alignment>(), value_delimiter = ',')]
    align: Vec<Alignment>,
    /// Cache of registrations, mappings and connections: what goes when resources run out.
    #[arg(long, value_parser = word::<Cache>(), value_delimiter = ',')]
    cache: Vec<Cache>,
    /// Long messages without buffers, or through them.
    #[arg(long, value_parser = word::<ZeroCopy>(), value_delimiter = ',')]
    zero_copy: Vec<ZeroCopy>,
    /// What carries messages: the adapter itself, or the kernel's TCP/IP over it.
    #[arg(long, value_parser = word::<Via>(), value_delimiter = ',')]
    via: Vec<Via>,
    /// Rounds before the one that counts, so that set-ups are made; by default 1, and none beyond 4096 nodes.
    #[arg(long, value_name = "N")]
    warmup: Option<u64>,
    /// Traffic beside it: uniform, permutation, hotspot, bursty, ring, pairs or all-to-all, and the load, as uniform:1.0
    /// [default: none].
    #[arg(long, value_name = "PATTERN:LOAD[:BYTES]")]
    background: Option<BackgroundSpec>,
    /// Samples, one after another; more than one makes sense beside other traffic [default: 1; with --background 20, fewer
    /// of long broadcasts, and of QsNet's own algorithms none that would begin after 10 ms of simulated time].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    samples: Option<u32>,
    /// Give every sample, as `plot --y samples` draws.
    #[arg(long)]
    raw: bool,
}

impl StackArgs {
    /// As the library takes them.
    pub(crate) fn programs(&self, watching: Option<Watching>) -> Programs {
        let StackArgs { memory, align, cache, zero_copy, via, warmup, background, samples, raw } = self.clone();
        Programs { memory, align, cache, zero_copy, via, warmup, background, samples, raw, watching }
    }
}
