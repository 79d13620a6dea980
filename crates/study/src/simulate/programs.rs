//! Choices of programs on simulated ranks: every combination of them is one program.

use crate::Error;
use crate::cell::{Program, ProgramBench, What};
use crate::options::{Alignment, Cache, Memory, Via, ZeroCopy};
use hotlink_bench::{Watching, Which};
use hotlink_fabric::units::Time;
use hotlink_message::Way;
use hotlink_port::background::BackgroundSpec;

/// Choices of the message-passing stack. Of an empty list the usual value is taken.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Programs {
    /// Memory that messages lie in.
    pub memory: Vec<Memory>,
    /// Where in a page ordinary memory begins.
    pub align: Vec<Alignment>,
    /// Which registrations and connections are released when resources run out.
    pub cache: Vec<Cache>,
    /// Whether long messages move without buffers.
    pub zero_copy: Vec<ZeroCopy>,
    /// The carriers of messages.
    pub via: Vec<Via>,
    /// Rounds before the one that counts; by default 1, and none beyond 4096 nodes.
    pub warmup: Option<u64>,
    /// Other traffic on the network.
    pub background: Option<BackgroundSpec>,
    /// Samples; by default 1, with other traffic 20.
    pub samples: Option<u32>,
    /// Whether every sample is given.
    pub raw: bool,
    /// Observers and faults on the ranks' ports.
    pub watching: Option<Watching>,
}

impl Programs {
    /// Whether a choice asks for the message-passing stack.
    pub fn is_asked_for(&self) -> bool {
        !self.memory.is_empty()
            || !self.cache.is_empty()
            || !self.align.is_empty()
            || !self.zero_copy.is_empty()
            || !self.via.is_empty()
            || self.warmup.is_some()
            || self.background.is_some()
            || self.watching.is_some()
    }
    /// Whether a choice says how often a benchmark is repeated.
    pub fn repeats(&self) -> bool {
        self.warmup.is_some() || self.samples.is_some() || self.raw
    }
    /// Samples to be taken of a message of `bytes`: where none are asked for, no more than move 1 MiB.
    pub fn samples_of(&self, bytes: u64) -> u32 {
        let most = ((1 << 20) / bytes.max(1)).clamp(1, 20) as u32;
        self.samples.unwrap_or(self.samples().min(most))
    }
    /// Virtual time after which no further sample begins, with other traffic that never ends, unless their number is
    /// asked for.
    pub fn limit(&self) -> Option<Time> {
        (self.samples.is_none() && self.background.is_some()).then_some(ENOUGH)
    }
    /// Samples to be taken.
    pub fn samples(&self) -> u32 {
        self.samples.unwrap_or(if self.background.is_some() { 20 } else { 1 })
    }
    /// Programs of a collective by these algorithms, `nic` among them; by one that the cost model picks if none is named.
    pub fn by(&self, fabric: &str, nodes: u32, which: Which, names: &[String]) -> Result<Vec<What>, Error> {
        let bench = ProgramBench::Collective(which);
        let named = |name: &String| match name == Via::Nic.name() {
            true => Ok((Via::Nic, None)),
            false => Way::named(which.collective(), name).map(|way| (Via::Adapter, Some(way))),
        };
        let named: Result<Vec<_>, String> = names.iter().map(named).collect();
        let named = named.map_err(|what| Error::Input(format!("--algorithm: on {fabric}, {what}, and nic")))?;
        if named.is_empty() {
            return Ok(self.of(nodes, &bench, &[None]));
        }
        let of = |(via, algorithm): (Via, Option<Way>)| match via {
            Via::Nic => Programs { via: vec![via], ..self.clone() }.of(nodes, &bench, &[None]),
            _ => self.of(nodes, &bench, &[algorithm]),
        };
        Ok(named.into_iter().flat_map(of).collect())
    }
    /// One program for each combination.
    pub fn of(&self, nodes: u32, bench: &ProgramBench, algorithms: &[Option<Way>]) -> Vec<What> {
        fn or<T: Copy>(given: &[T], usual: T) -> Vec<T> {
            if given.is_empty() { vec![usual] } else { given.to_vec() }
        }
        let warmup = self.warmup.unwrap_or(u64::from(nodes <= 4096));
        let mut all = Vec::new();
        for &memory in &or(&self.memory, Memory::Shared) {
            for &align in &or(&self.align, Alignment::Default) {
                for &cache in &or(&self.cache, Cache::Lru) {
                    for &zero_copy in &or(&self.zero_copy, ZeroCopy::On) {
                        for &via in &or(&self.via, Via::Adapter) {
                            let of = |&algorithm: &Option<Way>| Program {
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
                                watching: self.watching,
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

/// Virtual time of samples with other traffic on QsNet that is enough.
const ENOUGH: Time = Time(10_000_000_000);
