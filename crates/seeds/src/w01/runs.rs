//! The questions that W01's rows and figures are read from: the message stack on the simulated fabric.

use super::FABRIC;
use crate::run::{Measure, Question, Run};
use hotlink_bench::{Pattern, Which};
use hotlink_study::Error;
use hotlink_study::options::{Alignment, Cache, ClassName, Memory, Side, Spin, ZeroCopy};
use hotlink_study::simulate::cache_study::CacheStudy;
use hotlink_study::simulate::programs::Programs;
use hotlink_study::simulate::request::{Benchmark, Request};
use serde_json::Value;

const PINGPONG: &str =
    "simulate pingpong --fabric w01-sci-d330 --size 1KiB..4MiB --memory regular,registered --cache lru,immediate";
const COPYING: &str = "simulate pingpong --fabric w01-sci-d330 --size 1KiB..4MiB --memory registered --zero-copy off";
/// Ordinary memory that begins at a page, and that does not.
const ALIGNMENT: &str = "simulate pingpong --fabric w01-sci-d330 --size 8KiB..4MiB --memory registered --align default,none --cache lru,immediate";
const OVERLAP: &str = "simulate overlap --fabric w01-sci-d330 --size 64KiB,256KiB --side sender --spin fixed,daxpy --memory regular,registered --zero-copy on,off --compute 0.1,0.25,0.5,0.75,1,1.25,1.5,2,3";
const ALLTOALLV: &str = "simulate alltoallv --fabric w01-sci-d330 --nodes 8 --size 4KiB,64KiB,128KiB --memory regular,registered --zero-copy on,off";
const SORT: &str =
    "simulate is --class W --fabric w01-sci-d330 --ranks 8 --memory regular,registered --zero-copy on,off";
const STUDY: &str = "simulate cache-study --pattern phases --cache lru,lfu,best-fit,random,immediate";
/// Buffers that may not be pinned.
const REFUSED: &str = "simulate cache-study --buffers 4 --uses 8 --buffer-size 64KiB --size 64KiB --pinned 16KiB";
/// This machine's shared memory, with the simulated SCI.
const MEASURED: [&str; 2] = [
    "measure pingpong --via shm --ranks 2 --size 1KiB..4MiB",
    "measure overlap --via shm --size 64KiB,256KiB --side sender --spin fixed,daxpy",
];

/// W01's two kinds of memory: its words and the words of options and records.
const KINDS: [(&str, Memory); 2] = [("regular", Memory::Shared), ("registered", Memory::Private)];

/// The value of `memory` in records of what W01 calls so.
pub(super) fn memory(word: &str) -> Value {
    KINDS.iter().find(|(name, _)| *name == word).map_or(Value::Null, |(_, kind)| kind.name().into())
}

/// W01's word for the memory of a record.
pub(super) fn word(record: &Value) -> &'static str {
    KINDS.iter().find(|(_, kind)| record["memory"] == kind.name()).map_or("", |(word, _)| word)
}

/// Sizes from one power of two to another.
fn sizes(first: u32, last: u32) -> Vec<u64> {
    (first..=last).map(|power| 1 << power).collect()
}

/// All questions to the simulator.
pub(super) fn questions() -> [Question; 8] {
    let memory = KINDS.map(|(_, kind)| kind).to_vec();
    let cache = vec![Cache::Lru, Cache::Immediate];
    let zero_copy = vec![ZeroCopy::On, ZeroCopy::Off];
    let ask = |command: &'static str, benchmark, sizes, programs| {
        let request = Request { sizes, programs, ..Request::new(benchmark, FABRIC) };
        Question { command: command.into(), request }
    };
    let usual = Programs::default;
    let both = || Programs { memory: memory.clone(), zero_copy: zero_copy.clone(), ..usual() };
    let on = |nodes, question: Question| {
        let Question { command, request } = question;
        Question { command, request: Request { nodes: Some(vec![nodes]), ..request } }
    };
    let overlap = Benchmark::Overlap {
        sides: vec![Side::Sender],
        spins: vec![Spin::Fixed, Spin::Daxpy],
        threads: None,
        shares: vec![0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0],
    };
    let policies = vec![Cache::Lru, Cache::Lfu, Cache::BestFit, Cache::Random, Cache::Immediate];
    let phases = CacheStudy { patterns: vec![Pattern::Phases], policies, ..CacheStudy::usual() };
    let refused = CacheStudy {
        buffers: 4,
        uses: 8,
        buffer_sizes: vec![64 << 10],
        message: 64 << 10,
        pinned: 16 << 10,
        ..CacheStudy::usual()
    };
    let registered = || vec![Memory::Private];
    let either = Programs { memory: memory.clone(), cache: cache.clone(), ..usual() };
    let copied = Programs { memory: registered(), zero_copy: vec![ZeroCopy::Off], ..usual() };
    let align = vec![Alignment::Default, Alignment::None];
    let aligned = Programs { memory: registered(), align, cache: cache.clone(), ..usual() };
    let message = vec![64 << 10];
    [
        ask(PINGPONG, Benchmark::pingpong(), sizes(10, 22), either),
        ask(COPYING, Benchmark::pingpong(), sizes(10, 22), copied),
        ask(ALIGNMENT, Benchmark::pingpong(), sizes(13, 22), aligned),
        ask(OVERLAP, overlap, vec![64 << 10, 256 << 10], both()),
        on(8, ask(ALLTOALLV, Benchmark::collective(Which::Alltoallv), vec![4 << 10, 64 << 10, 128 << 10], both())),
        on(8, ask(SORT, Benchmark::Sort(vec![ClassName::W]), message.clone(), both())),
        ask(STUDY, Benchmark::CacheStudy(phases), message.clone(), usual()),
        ask(REFUSED, Benchmark::CacheStudy(refused), message, usual()),
    ]
}

/// All of them.
pub(super) struct Runs {
    pub(super) pingpong: Run,
    pub(super) copying: Run,
    pub(super) alignment: Run,
    pub(super) overlap: Run,
    pub(super) alltoallv: Run,
    pub(super) sort: Run,
    pub(super) study: Run,
    pub(super) refused: Run,
    pub(super) measured: Vec<Run>,
}

impl Runs {
    /// Simulates, and measures on this machine where there is somebody who does.
    pub(super) fn new(measure: Option<&dyn Measure>) -> Result<Runs, Error> {
        let [pingpong, copying, alignment, overlap, alltoallv, sort, study, refused] = questions();
        let mut measured = Vec::new();
        if let Some(measure) = measure {
            for command in MEASURED {
                measured.push(Run::measured(command, measure)?);
            }
        }
        Ok(Runs {
            pingpong: Run::new(&pingpong)?,
            copying: Run::new(&copying)?,
            alignment: Run::new(&alignment)?,
            overlap: Run::new(&overlap)?,
            alltoallv: Run::new(&alltoallv)?,
            sort: Run::new(&sort)?,
            study: Run::new(&study)?,
            refused: Run::new(&refused)?,
            measured,
        })
    }
}
