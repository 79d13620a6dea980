//! Options of each benchmark of `measure`, and the request that they make.

use super::options::{Carrier, Repetition};
use crate::Failure;
use crate::values::{Counts, Sizes};
use crate::verbs::benches::{CurveArgs, KernelOptions, RegionArgs, SlowOptions, StreamOptions, WindowOptions};
use crate::words::word;
use hotlink_bench::Plan;
use hotlink_measure::request::{self, Beginning, Benchmark, Device, Nagle, Protocol, Test, usual};
use hotlink_port::background::BackgroundSpec;
use hotlink_study::options::{ClassName, Memory};

/// The counts of a list, as the engines take ranks.
fn counts(option: &str, list: Option<&Counts>) -> Result<Option<Vec<u32>>, Failure> {
    list.map(Counts::to_u32).transpose().map_err(|what| Failure::Input(format!("{option}: {what}")))
}

fn word_bytes(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|bytes| [4, 8].contains(bytes)).ok_or_else(|| "must be 4 or 8".to_owned())
}

fn positive(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| (0.001..=1e6).contains(rate));
    rate.ok_or_else(|| "must be MB/s from 0.001 to 1000000".to_owned())
}

#[derive(clap::Args)]
pub(super) struct PingPong {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Number of ranks; the first and the last exchange messages, the others wait. [default: 2; under a launcher, all that
    /// it started]
    #[arg(long, value_name = "N")]
    ranks: Option<u32>,
    /// Message sizes: a list or range, such as 8,64KiB or 8..1MiB.
    #[arg(long, value_name = "LIST", default_value = usual::PINGPONG_SIZES)]
    size: Sizes,
    /// Choose the memory that messages lie in.
    #[arg(long, value_parser = word::<Memory>(), default_value_t = Memory::Private)]
    memory: Memory,
    /// Write each message anew before it is sent, within the time that counts.
    #[arg(long)]
    rewrite: bool,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

impl PingPong {
    pub(super) fn asked(&self) -> Benchmark {
        let (ranks, sizes) = (self.ranks, self.size.to_vec());
        Benchmark::PingPong(request::PingPong { ranks, sizes, memory: self.memory, rewrite: self.rewrite })
    }
}

#[derive(clap::Args)]
pub(super) struct Stream {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Number of ranks; the first sends to the last, the others wait. [default: 2; under a launcher, all that it started]
    #[arg(long, value_name = "N")]
    ranks: Option<u32>,
    /// Message sizes: a list or range.
    #[arg(long, value_name = "LIST", default_value = usual::STREAM_SIZES)]
    size: Sizes,
    #[command(flatten)]
    stream: StreamOptions,
    /// Choose the memory that messages lie in.
    #[arg(long, value_parser = word::<Memory>(), default_value_t = Memory::Private)]
    memory: Memory,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

impl Stream {
    pub(super) fn asked(&self) -> Benchmark {
        let StreamOptions { direction, calls, window } = &self.stream;
        Benchmark::Stream(request::Stream {
            ranks: self.ranks,
            sizes: self.size.to_vec(),
            directions: direction.clone(),
            calls: *calls,
            window: window.window,
            memory: self.memory,
        })
    }
}

#[derive(clap::Args)]
pub(super) struct Rate {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Let this many pairs of ranks send at once: a list or range. [default: 1; under MPI, half of all ranks]
    #[arg(long, value_name = "LIST")]
    pairs: Option<Counts>,
    /// Message sizes: a list or range.
    #[arg(long, value_name = "LIST", default_value = usual::RATE_SIZES)]
    size: Sizes,
    #[command(flatten)]
    window: WindowOptions,
    /// Choose the memory that messages lie in.
    #[arg(long, value_parser = word::<Memory>(), default_value_t = Memory::Private)]
    memory: Memory,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

impl Rate {
    pub(super) fn asked(&self) -> Result<Benchmark, Failure> {
        let (pairs, sizes) = (counts("--pairs", self.pairs.as_ref())?, self.size.to_vec());
        Ok(Benchmark::Rate(request::Rate { pairs, sizes, window: self.window.window, memory: self.memory }))
    }
}

#[derive(clap::Args)]
pub(super) struct Pairs {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Number of ranks. [default: 4; under a launcher, all that it started]
    #[arg(long, value_name = "N")]
    ranks: Option<u32>,
    /// Message sizes: a list or range.
    #[arg(long, value_name = "LIST", default_value = usual::PAIRS_SIZES)]
    size: Sizes,
    #[command(flatten)]
    slow: SlowOptions,
    /// Choose the memory that messages lie in.
    #[arg(long, value_parser = word::<Memory>(), default_value_t = Memory::Private)]
    memory: Memory,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

impl Pairs {
    pub(super) fn asked(&self) -> Benchmark {
        let (ranks, sizes) = (self.ranks, self.size.to_vec());
        Benchmark::Pairs(request::Pairs { ranks, sizes, slow: self.slow.slow, memory: self.memory })
    }
}

#[derive(clap::Args)]
pub(super) struct Semantics {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Message sizes: a list or range.
    #[arg(long, value_name = "LIST", default_value = usual::SEMANTICS_SIZES)]
    size: Sizes,
    /// Choose the memory that messages lie in.
    #[arg(long, value_parser = word::<Memory>(), default_value_t = Memory::Private)]
    memory: Memory,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

impl Semantics {
    pub(super) fn asked(&self) -> Benchmark {
        Benchmark::Semantics(request::Semantics { sizes: self.size.to_vec(), memory: self.memory })
    }
}

#[derive(clap::Args)]
pub(super) struct Saturation {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Let this many pairs of ranks send at once: a list or range. [default: 1..4; under MPI, half of all ranks]
    #[arg(long, value_name = "LIST")]
    pairs: Option<Counts>,
    /// Message sizes: a list or range, such as 64KiB,1MiB.
    #[arg(long, value_name = "LIST", default_value = usual::SATURATION_SIZES)]
    size: Sizes,
    /// Choose the memory that messages lie in.
    #[arg(long, value_parser = word::<Memory>(), default_value_t = Memory::Private)]
    memory: Memory,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

impl Saturation {
    pub(super) fn asked(&self) -> Result<Benchmark, Failure> {
        let (pairs, sizes) = (counts("--pairs", self.pairs.as_ref())?, self.size.to_vec());
        Ok(Benchmark::Saturation(request::Saturation { pairs, sizes, memory: self.memory }))
    }
}

#[derive(clap::Args)]
pub(super) struct Deposit {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Distances between stored words, in words: a list or range; 1 is contiguous.
    #[arg(long, value_name = "LIST", default_value = usual::DEPOSIT_STRIDES)]
    strides: Counts,
    /// Store words of this many bytes, 4 or 8.
    #[arg(long, value_name = "BYTES", default_value_t = usual::WORD, value_parser = word_bytes)]
    word: u64,
    /// Payload sizes, multiples of the word's: a list or range.
    #[arg(long, visible_alias = "sizes", value_name = "LIST", default_value = usual::DEPOSIT_SIZES)]
    size: Sizes,
    /// Choose the memory that is stored to.
    #[arg(long, value_parser = word::<Memory>(), value_delimiter = ',', default_values_t = [Memory::Private, Memory::Shared])]
    memory: Vec<Memory>,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

impl Deposit {
    pub(super) fn asked(&self) -> Benchmark {
        let (strides, sizes) = (self.strides.to_vec(), self.size.to_vec());
        Benchmark::Deposit(request::Deposit { strides, word: self.word, sizes, memory: self.memory.clone() })
    }
}

#[derive(clap::Args)]
pub(super) struct Overlap {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Message sizes: a list or range.
    #[arg(long, value_name = "LIST", default_value = usual::OVERLAP_SIZES)]
    size: Sizes,
    #[command(flatten)]
    curve: CurveArgs,
    /// Choose the memory that the message lies in.
    #[arg(long, value_parser = word::<Memory>(), default_value_t = Memory::Private)]
    memory: Memory,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

impl Overlap {
    pub(super) fn asked(&self) -> Benchmark {
        let CurveArgs { side, spin, threads, compute } = &self.curve;
        let (sizes, sides, spins) = (self.size.to_vec(), side.clone(), spin.clone());
        let (threads, shares) = (*threads, compute.to_vec());
        Benchmark::Overlap(request::Overlap { sizes, sides, spins, threads, shares, memory: self.memory })
    }
}

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink measure sockets --protocol stream,datagram --size 8,1400
  hotlink measure sockets --listen 10.0.0.1:7000 --json      # on one host; prints
  hotlink measure sockets --connect 10.0.0.1:7000            # on the other
  hotlink measure sockets --test latency --nagle on,off --writes 2    # what Nagle and delayed acknowledgement cost")]
pub(super) struct Sockets {
    /// Measure streams (TCP), datagrams (UDP) or both.
    #[arg(long, value_parser = word::<Protocol>(), value_delimiter = ',', default_values_t = [Protocol::Stream, Protocol::Datagram])]
    protocol: Vec<Protocol>,
    /// Choose what is measured.
    #[arg(long, value_parser = word::<Test>(), value_delimiter = ',', default_values_t = [Test::Latency, Test::Bandwidth])]
    test: Vec<Test>,
    /// Message sizes: a list or range. Those from 8 to 65507 are also measured as datagrams.
    #[arg(long, value_name = "LIST", default_value = usual::SOCKETS_SIZES)]
    size: Sizes,
    /// Turn Nagle's algorithm in streams on or off, or measure both.
    #[arg(long, value_parser = word::<Nagle>(), value_delimiter = ',', default_values_t = [Nagle::Off])]
    nagle: Vec<Nagle>,
    /// Ask for send and receive buffers of this many bytes. 0 leaves the choice to the system.
    #[arg(long, value_name = "LIST", default_value = "0")]
    socket_buffer: Sizes,
    /// Write a message of a stream in this many calls.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    writes: u64,
    /// Send datagrams at this rate. [default: as fast as possible]
    #[arg(long, value_name = "MB/s", value_parser = positive)]
    pace: Option<f64>,
    /// Take this as the line's rate, which gives the bound. [default: the rate that the interface states]
    #[arg(long, value_name = "MB/s", value_parser = positive)]
    line_rate: Option<f64>,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

impl Sockets {
    pub(super) fn asked(&self) -> Benchmark {
        Benchmark::Sockets(request::Sockets {
            protocols: self.protocol.clone(),
            tests: self.test.clone(),
            sizes: self.size.to_vec(),
            nagle: self.nagle.clone(),
            buffers: self.socket_buffer.to_vec(),
            writes: self.writes,
            pace: self.pace,
            line_rate: self.line_rate,
        })
    }
}

#[derive(clap::Args)]
pub(super) struct Copying {
    /// Payload sizes: a list or range.
    #[arg(long, value_name = "LIST", default_value = usual::MEMORY_SIZES)]
    size: Sizes,
    /// Distances between stored 8-byte words, in words: a list or range; 1 is contiguous.
    #[arg(long, value_name = "LIST", default_value = usual::MEMORY_STRIDES)]
    strides: Counts,
    /// Choose the memory to copy in.
    #[arg(long, value_parser = word::<Memory>(), default_value_t = Memory::Private)]
    memory: Memory,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

impl Copying {
    pub(super) fn asked(&self) -> Benchmark {
        let (sizes, strides) = (self.size.to_vec(), self.strides.to_vec());
        Benchmark::Memory(request::Copying { sizes, strides, memory: self.memory })
    }
}

#[derive(clap::Args)]
#[command(after_help = "Example:
  hotlink measure registration --size 64KiB,1MiB,16MiB --json")]
pub(super) struct Registration {
    /// Block sizes: a list or range.
    #[arg(long, value_name = "LIST", default_value = usual::REGISTRATION_SIZES)]
    size: Sizes,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

impl Registration {
    pub(super) fn asked(&self) -> Benchmark {
        Benchmark::Registration(request::Registration { sizes: self.size.to_vec() })
    }
}

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink measure region --size 4KiB,1MiB --json
  hotlink measure region --ranks 4 --setup collective,pair,individual --kind rdma --memory shared,private

It runs over shared memory. Rank 0 owns the region, rank 1 puts into it, and rank 0 revokes it in the end. The field
`latency_us` is one put; with --hold each, a put between an import and its release.")]
pub(super) struct Region {
    /// Number of ranks; all of them set up a collective region.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..=1024))]
    ranks: u32,
    #[command(flatten)]
    region: RegionArgs,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

impl Region {
    pub(super) fn asked(&self) -> Benchmark {
        let RegionArgs { kind, setup, hold, memory, size } = &self.region;
        Benchmark::Region(request::Region {
            ranks: self.ranks,
            sizes: size.to_vec(),
            kinds: kind.clone(),
            setups: setup.clone(),
            holds: hold.clone(),
            memory: memory.clone(),
        })
    }
}

#[derive(clap::Args)]
pub(super) struct Collective {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Numbers of ranks: a list or range. [default: 2; under a launcher, all that it started]
    #[arg(long, value_name = "LIST")]
    ranks: Option<Counts>,
    /// Bytes of each rank's part: a list or range, multiples of 8; a barrier has none.
    #[arg(long, value_name = "LIST", default_value = usual::COLLECTIVE_SIZES)]
    size: Sizes,
    /// Run this algorithm over this project's messages, or mpich or openmpi for that MPI's own choice. A wrong name
    /// prints the list. [default: the cost model's choice]
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    algorithm: Vec<String>,
    /// Let ranks begin together when they leave a barrier, before a row of operations or before each, or at an agreed moment
    /// of synchronised clocks.
    #[arg(long, value_parser = word::<Beginning>(), default_value_t = Beginning::Barrier)]
    start: Beginning,
    /// Choose the memory of the parts. [default: shared]
    #[arg(long, value_parser = word::<Memory>())]
    memory: Option<Memory>,
    /// Send other messages during each operation: uniform, permutation, hotspot, bursty, ring, pairs or all-to-all. A
    /// number after the colon is the mean load, as a share of 2 messages from each rank, as in uniform:1.0 or
    /// ring:0.5:64KiB. [default: none]
    #[arg(long, value_name = "PATTERN:LOAD[:BYTES]")]
    background: Option<BackgroundSpec>,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

impl Collective {
    pub(super) fn asked(&self) -> Result<request::Collective, Failure> {
        Ok(request::Collective {
            ranks: counts("--ranks", self.ranks.as_ref())?,
            sizes: self.size.to_vec(),
            algorithms: self.algorithm.clone(),
            start: self.start.into(),
            memory: self.memory,
            background: self.background,
        })
    }
}

#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Barrier {
    #[command(flatten)]
    pub(super) collective: Collective,
    /// Measure these barrier devices between processes, instead of messages.
    #[arg(long, value_parser = word::<Device>(), value_delimiter = ',')]
    device: Vec<Device>,
}

impl Barrier {
    pub(super) fn asked(&self) -> Result<Benchmark, Failure> {
        let (collective, devices) = (self.collective.asked()?, self.device.clone());
        Ok(Benchmark::Barrier(request::Barrier { collective, devices }))
    }
}

#[derive(clap::Args)]
pub(super) struct Kernel {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Numbers of ranks: a list or range. [default: 2; under a launcher, all that it started]
    #[arg(long, value_name = "LIST")]
    ranks: Option<Counts>,
    #[command(flatten)]
    kernel: KernelOptions,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

impl Kernel {
    pub(super) fn asked(&self) -> Result<Benchmark, Failure> {
        let (ranks, kernel) = (counts("--ranks", self.ranks.as_ref())?, self.kernel.bench(Plan::once())?);
        Ok(Benchmark::Kernel(request::Application { ranks, kernel }))
    }
}

#[derive(clap::Args)]
pub(super) struct Sort {
    #[command(flatten)]
    pub(super) carrier: Carrier,
    /// Numbers of ranks: a list or range of powers of two. [default: 2; under a launcher, all that it started]
    #[arg(long, value_name = "LIST")]
    ranks: Option<Counts>,
    /// Choose the problem classes, from 2^16 keys (S) to 2^27 (C).
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = word::<ClassName>(), default_value = "S")]
    class: Vec<ClassName>,
    #[command(flatten)]
    pub(super) repetition: Repetition,
}

impl Sort {
    pub(super) fn asked(&self) -> Result<Benchmark, Failure> {
        let ranks = counts("--ranks", self.ranks.as_ref())?;
        Ok(Benchmark::Sort(request::Sort { ranks, classes: self.class.clone() }))
    }
}
