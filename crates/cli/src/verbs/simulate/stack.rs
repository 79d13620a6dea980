//! Options of programs on simulated ranks.

use crate::words::word;
use hotlink_bench::Watching;
use hotlink_port::background::BackgroundSpec;
use hotlink_study::options::{Alignment, Cache, Memory, Via, ZeroCopy};
use hotlink_study::simulate::programs::Programs;

/// Options of programs.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct StackArgs {
    /// Choose the memory that messages lie in. [default: shared]
    #[arg(long, value_parser = word::<Memory>(), value_delimiter = ',')]
    memory: Vec<Memory>,
    /// Align registered memory to pages, or not at all. [default: default]
    #[arg(long, value_parser = word::<Alignment>(), value_delimiter = ',')]
    align: Vec<Alignment>,
    /// Choose which registration, mapping or connection the cache releases when resources run out. [default: lru]
    #[arg(long, value_parser = word::<Cache>(), value_delimiter = ',')]
    cache: Vec<Cache>,
    /// Move long messages without buffers, or through them. [default: on]
    #[arg(long, value_parser = word::<ZeroCopy>(), value_delimiter = ',')]
    zero_copy: Vec<ZeroCopy>,
    /// Carry messages by the adapter itself, or by the kernel's TCP/IP over it. [default: adapter]
    #[arg(long, value_parser = word::<Via>(), value_delimiter = ',')]
    via: Vec<Via>,
    /// Run this many rounds before the one that counts, so that registrations exist. [default: 1, above 4096 nodes 0]
    #[arg(long, value_name = "N")]
    warmup: Option<u64>,
    /// Add background traffic: uniform, permutation, hotspot, bursty, ring, pairs or all-to-all, with its load, as in
    /// uniform:1.0. [default: none]
    #[arg(long, value_name = "PATTERN:LOAD[:BYTES]")]
    background: Option<BackgroundSpec>,
    /// Take this many samples, one after the other. More than one makes sense with other traffic only. [default: 1.
    /// With --background 20, but fewer of long broadcasts: QsNet's own algorithms begin none after 10 ms of simulated
    /// time]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    samples: Option<u32>,
    /// Keep every sample in the records, as `plot --y samples` draws them.
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
