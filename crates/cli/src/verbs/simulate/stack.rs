//! Options of programs on simulated ranks.

use crate::words::word;
use hotlink_fabric::background::BackgroundSpec;
use hotlink_fabric::units::Time;
use hotlink_message::Algorithm;
use hotlink_study::cell::What;
use hotlink_study::cell::{Program, ProgramBench};
use hotlink_study::options::{Alignment, Cache, Memory, Via, ZeroCopy};

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
    /// Whether an option asks for the message-passing stack.
    pub(crate) fn is_asked_for(&self) -> bool {
        !self.memory.is_empty()
            || !self.cache.is_empty()
            || !self.align.is_empty()
            || !self.zero_copy.is_empty()
            || !self.via.is_empty()
            || self.warmup.is_some()
            || self.background.is_some()
    }
    /// Traffic beside it.
    pub(crate) fn background(&self) -> Option<BackgroundSpec> {
        self.background
    }
    /// Whether every sample is asked for.
    pub(crate) fn raw(&self) -> bool {
        self.raw
    }
    /// Whether an option says how often a benchmark is repeated.
    pub(crate) fn repeats(&self) -> bool {
        self.warmup.is_some() || self.samples.is_some() || self.raw
    }
    /// Samples to be taken of a message of `bytes`: where none are asked for, no more than move 1 MiB.
    pub(crate) fn samples_of(&self, bytes: u64) -> u32 {
        let most = ((1 << 20) / bytes.max(1)).clamp(1, 20) as u32;
        self.samples.unwrap_or(self.samples().min(most))
    }
    /// Virtual time after which no further sample begins, beside other traffic that never ends, unless their number is
    /// asked for.
    pub(crate) fn limit(&self) -> Option<Time> {
        (self.samples.is_none() && self.background.is_some()).then_some(ENOUGH)
    }
    /// Samples to be taken.
    pub(crate) fn samples(&self) -> u32 {
        self.samples.unwrap_or(if self.background.is_some() { 20 } else { 1 })
    }
    /// One program for each combination.
    pub(crate) fn programs(&self, nodes: u32, bench: &ProgramBench, algorithms: &[Option<Algorithm>]) -> Vec<What> {
        fn or<T: Copy>(given: &[T], usual: T) -> Vec<T> {
            if given.is_empty() { vec![usual] } else { given.to_vec() }
        }
        let warmup = self.warmup.unwrap_or(u64::from(nodes <= 4096));
        let mut all = Vec::new();
        for &memory in &or(&self.memory, Memory::Regular) {
            for &align in &or(&self.align, Alignment::Default) {
                for &cache in &or(&self.cache, Cache::Lru) {
                    for &zero_copy in &or(&self.zero_copy, ZeroCopy::On) {
                        for &via in &or(&self.via, Via::Adapter) {
                            let of = |&algorithm: &Option<Algorithm>| Program {
                                bench: bench.clone(),
                                memory,
                                align,
                                cache,
                                zero_copy: zero_copy == ZeroCopy::On,
                                via,
                                algorithm,
                                warmup,
                                background: self.background,
                                samples: self.samples(),
                                raw: self.raw,
                                watching: None,
                            };
                            all.extend(algorithms.iter().map(of).map(What::Program));
                        }
                    }
                }
            }
        }
        all
    }
}

/// Virtual time of samples beside other traffic on QsNet that is enough.
const ENOUGH: Time = Time(10_000_000_000);
