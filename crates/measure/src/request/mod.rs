//! A measurement as every face asks for it: one [`Request`] of plain values.
//!
//! The command makes it of its options, Python of its arguments. Lists are asked in every combination.
//!
//! ```
//! use hotlink_measure::{Quiet, Request, request::{Choices, Repetition}};
//! let once = Repetition { time_s: 0.001, blocks: 1, ..Repetition::default() };
//! let copy = Choices { size: Some(vec![4096]), strides: Some(vec![1]), ..Choices::default() };
//! let request = Request { repetition: once, ..Request::new(copy.benchmark("memory").unwrap()) };
//! assert!(request.run(&Quiet).unwrap().records[0].number("bandwidth_MBps").is_some());
//! ```

mod choices;
pub mod usual;
mod via;

pub use choices::Choices;
pub use via::Via;

use hotlink_bench::{Buffers, Calls, Direction, Hold, Kernel, RegionKind, RegionSetup, Start, Watching, Which};
use hotlink_port::background::BackgroundSpec;
use hotlink_real::CopyWay;
use hotlink_study::options::{Cache, ClassName, Memory, Side, Spin};
use hotlink_study::{Error, Source};
use std::path::PathBuf;

/// A measurement, and how it is made. [`Request::new`] gives the defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The benchmark, with its own choices.
    pub benchmark: Benchmark,
    /// The carrier of the messages, for benchmarks between ranks.
    pub carrier: Carrier,
    /// How often and how long.
    pub repetition: Repetition,
    /// Ranks on several machines without a launcher.
    pub hosts: Hosts,
    /// Ends a run in which every rank has waited for so long with no message under way.
    pub stall_s: Option<f64>,
    /// How long a waiting rank polls before it sleeps; 20 ms by default.
    pub poll_s: Option<f64>,
    /// Records name ranks in place of hosts.
    pub anonymous: bool,
}

/// The carrier of the messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Carrier {
    /// Which transport.
    pub via: Via,
    /// How long messages of ordinary memory move over shared memory; by default as this machine was measured to do best.
    pub copy: Option<CopyWay>,
    /// Which registration goes when another needs its place; by default the one used longest ago.
    pub cache: Option<Cache>,
    /// Which MPI, if not the launcher's own.
    pub mpi: Option<String>,
    /// Starts an MPI's ranks anew for each block.
    pub launcher: Option<Launcher>,
    /// Observers and faults on every rank's port.
    pub watching: Option<Watching>,
}

/// How ranks of a block are started: a face says by which words one of its processes is asked for this same request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// Words for `/bin/sh`, such as `mpirun -n 2`.
    pub command: String,
    /// The program that each rank becomes, and its arguments. Those that make it measure one block follow.
    pub program: Vec<String>,
}

/// How often and how long is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Repetition {
    /// The fabric that is measured, for its bound, or a mere name of the results: see [`fabric_or_label`].
    pub fabric: String,
    /// Seconds for each point, all blocks of a round together.
    pub time_s: f64,
    /// Blocks of a round.
    pub blocks: u32,
    /// Seconds over which the blocks of a round are spread; by default 20 times `time_s`.
    pub spread_s: Option<f64>,
    /// No block begins after that many seconds; the first always does.
    pub limit_s: Option<f64>,
    /// Rounds of all blocks.
    pub rounds: u32,
    /// Whether records keep every sample.
    pub raw: bool,
    /// Send buffers between messages.
    pub buffers: Buffers,
}

/// Ranks on several machines without a launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// Rank 0 waits for the others at this address.
    pub listen: Option<String>,
    /// This process joins rank 0 at this address.
    pub connect: Option<String>,
    /// As which rank.
    pub as_rank: u32,
    /// Processes that meet.
    pub processes: u32,
    /// Holds the secret that they prove.
    pub secret_file: Option<PathBuf>,
}

hotlink_study::words! {
    /// Send buffers between messages.
    pub enum SendBuffers {
        /// Left as they are.
        Kept = "kept",
        /// Written anew.
        Rewritten = "rewritten",
    }
}

impl From<SendBuffers> for Buffers {
    fn from(buffers: SendBuffers) -> Buffers {
        match buffers {
            SendBuffers::Kept => Buffers::Kept,
            SendBuffers::Rewritten => Buffers::Rewritten,
        }
    }
}

hotlink_study::words! {
    /// How ranks begin a collective together.
    pub enum Beginning {
        /// Leaving a barrier; then a row of operations.
        Barrier = "barrier",
        /// Leaving a barrier before each operation, timed by itself, as the OSU benchmarks do.
        Each = "each",
        /// At an agreed moment.
        Window = "window",
    }
}

impl From<Beginning> for Start {
    fn from(beginning: Beginning) -> Start {
        match beginning {
            Beginning::Barrier => Start::Barrier,
            Beginning::Each => Start::Each,
            Beginning::Window => Start::Window,
        }
    }
}

hotlink_study::words! {
    /// A barrier device.
    pub enum Device {
        /// The Verilog of rtl/barrier, compiled, in a process of its own behind pins in shared memory.
        Rtl = "rtl",
        /// Flags in shared memory.
        Flags = "flags",
    }
}

hotlink_study::words! {
    /// The protocol of the system's sockets.
    pub enum Protocol {
        /// TCP.
        Stream = "stream",
        /// UDP.
        Datagram = "datagram",
    }
}

hotlink_study::words! {
    /// A test of sockets.
    pub enum Test {
        /// Half round trips.
        Latency = "latency",
        /// As fast as it goes, one way.
        Bandwidth = "bandwidth",
    }
}

hotlink_study::words! {
    /// Nagle's algorithm in streams.
    pub enum Nagle {
        /// Short segments are held back.
        On = "on",
        /// TCP_NODELAY.
        Off = "off",
    }
}

/// Which benchmark, with its own choices. [`Benchmark::named`] gives the usual ones.
#[derive(Clone, Debug, PartialEq)]
pub enum Benchmark {
    /// Half round trip and bandwidth of a message between two ranks.
    PingPong(PingPong),
    /// Windows of messages between two ranks.
    Stream(Stream),
    /// Short messages per second.
    Rate(Rate),
    /// Ping-pong between every two ranks.
    Pairs(Pairs),
    /// Restricted against full postal messages.
    Semantics(Semantics),
    /// Several pairs of ranks that send at once.
    Saturation(Saturation),
    /// Remote stores of words.
    Deposit(Deposit),
    /// How much of a message's time hides behind computation.
    Overlap(Overlap),
    /// The system's own TCP and UDP.
    Sockets(Sockets),
    /// Copy within memory.
    Memory(Copying),
    /// The cost of registrations that a cache keeps.
    Registration(Registration),
    /// Memory that other ranks reach.
    Region(Region),
    /// Time until all ranks have met.
    Barrier(Barrier),
    /// A collective, but a barrier.
    Collective(Which, Collective),
    /// An application bound by barriers.
    Kernel(Application),
    /// NPB's Integer Sort.
    Sort(Sort),
}

/// Choices of [`Benchmark::PingPong`].
#[derive(Clone, Debug, PartialEq)]
pub struct PingPong {
    /// Ranks, of which the first and the last play; by default 2, under a launcher all that it started.
    pub ranks: Option<u32>,
    /// Bytes of a message.
    pub sizes: Vec<u64>,
    /// Memory that messages lie in.
    pub memory: Memory,
    /// Each message is written anew before it is sent, and the time of that counts.
    pub rewrite: bool,
}

/// Choices of [`Benchmark::Stream`].
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// Ranks, of which the first sends to the last; by default as of [`PingPong`].
    pub ranks: Option<u32>,
    /// Bytes of a message.
    pub sizes: Vec<u64>,
    /// Between whom.
    pub directions: Vec<Direction>,
    /// How the messages of a window are called for.
    pub calls: Calls,
    /// Messages before the receiver's answer; by default as many as make 4 MiB, from 2 to 64.
    pub window: Option<u64>,
    /// Memory that messages lie in.
    pub memory: Memory,
}

/// Choices of [`Benchmark::Rate`].
#[derive(Clone, Debug, PartialEq)]
pub struct Rate {
    /// Pairs of ranks that send at once; by default 1, under a launcher half of all that were started.
    pub pairs: Option<Vec<u32>>,
    /// Bytes of a message.
    pub sizes: Vec<u64>,
    /// As of [`Stream`].
    pub window: Option<u64>,
    /// Memory that messages lie in.
    pub memory: Memory,
}

/// Choices of [`Benchmark::Pairs`].
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    /// Ranks; by default 4, under a launcher all that it started.
    pub ranks: Option<u32>,
    /// Bytes of a message.
    pub sizes: Vec<u64>,
    /// A pair is slow if it takes this many times the median pair's time.
    pub slow: f64,
    /// Memory that messages lie in.
    pub memory: Memory,
}

/// Choices of [`Benchmark::Semantics`].
#[derive(Clone, Debug, PartialEq)]
pub struct Semantics {
    /// Bytes of a message.
    pub sizes: Vec<u64>,
    /// Memory that messages lie in.
    pub memory: Memory,
}

/// Choices of [`Benchmark::Saturation`].
#[derive(Clone, Debug, PartialEq)]
pub struct Saturation {
    /// Pairs of ranks; by default 1 to 4, under a launcher half of all that were started.
    pub pairs: Option<Vec<u32>>,
    /// Bytes of a message.
    pub sizes: Vec<u64>,
    /// Memory that messages lie in.
    pub memory: Memory,
}

/// Choices of [`Benchmark::Deposit`].
#[derive(Clone, Debug, PartialEq)]
pub struct Deposit {
    /// Distances between stored words, in words.
    pub strides: Vec<u64>,
    /// Bytes of a word: 4 or 8.
    pub word: u64,
    /// Bytes stored.
    pub sizes: Vec<u64>,
    /// Memory that is stored to.
    pub memory: Vec<Memory>,
}

/// Choices of [`Benchmark::Overlap`].
#[derive(Clone, Debug, PartialEq)]
pub struct Overlap {
    /// Bytes of a message.
    pub sizes: Vec<u64>,
    /// The computing sides.
    pub sides: Vec<Side>,
    /// How.
    pub spins: Vec<Spin>,
    /// Threads of [`Spin::Threads`].
    pub threads: Option<u32>,
    /// Computation times as shares of the message's own time.
    pub shares: Vec<f64>,
    /// Memory that the message lies in.
    pub memory: Memory,
}

/// Choices of [`Benchmark::Sockets`].
#[derive(Clone, Debug, PartialEq)]
pub struct Sockets {
    /// Streams or datagrams.
    pub protocols: Vec<Protocol>,
    /// The tests.
    pub tests: Vec<Test>,
    /// Bytes of a message.
    pub sizes: Vec<u64>,
    /// Nagle's algorithm in streams.
    pub nagle: Vec<Nagle>,
    /// Bytes asked for as send and receive buffers; 0: the system's own choice.
    pub buffers: Vec<u64>,
    /// Calls in which a message of a stream is written.
    pub writes: u64,
    /// MB/s at which datagrams are sent; by default as fast as they go.
    pub pace: Option<f64>,
    /// The line's rate in MB/s, as the bound; by default what the interface says of itself.
    pub line_rate: Option<f64>,
}

/// Choices of [`Benchmark::Memory`].
#[derive(Clone, Debug, PartialEq)]
pub struct Copying {
    /// Bytes copied.
    pub sizes: Vec<u64>,
    /// Distances between stored words of 8 bytes, in words.
    pub strides: Vec<u64>,
    /// Memory to copy in.
    pub memory: Memory,
}

/// Choices of [`Benchmark::Registration`].
#[derive(Clone, Debug, PartialEq)]
pub struct Registration {
    /// Bytes of a block.
    pub sizes: Vec<u64>,
}

/// Choices of [`Benchmark::Region`].
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// Ranks, the first of which owns the region and the second of which uses it.
    pub ranks: u32,
    /// Bytes of the region, and of an access.
    pub sizes: Vec<u64>,
    /// How it is reached.
    pub kinds: Vec<RegionKind>,
    /// The ranks that set it up.
    pub setups: Vec<RegionSetup>,
    /// Resources kept between accesses.
    pub holds: Vec<Hold>,
    /// The kinds of memory.
    pub memory: Vec<Memory>,
}

/// Choices of [`Benchmark::Collective`].
#[derive(Clone, Debug, PartialEq)]
pub struct Collective {
    /// Numbers of ranks; by default 2, under a launcher all that it started.
    pub ranks: Option<Vec<u32>>,
    /// Bytes of each rank's part, multiples of 8; a barrier has none.
    pub sizes: Vec<u64>,
    /// How; by default what the cost model picks.
    pub algorithms: Vec<String>,
    /// How ranks begin together.
    pub start: Start,
    /// Memory of the parts; shared by default.
    pub memory: Option<Memory>,
    /// Other messages under way during each operation.
    pub background: Option<BackgroundSpec>,
}

/// Choices of [`Benchmark::Barrier`].
#[derive(Clone, Debug, PartialEq)]
pub struct Barrier {
    /// As of the other collectives.
    pub collective: Collective,
    /// Barrier devices between processes, instead of messages.
    pub devices: Vec<Device>,
}

/// Choices of [`Benchmark::Kernel`].
#[derive(Clone, Debug, PartialEq)]
pub struct Application {
    /// As of [`Collective`].
    pub ranks: Option<Vec<u32>>,
    /// Its work.
    pub kernel: Kernel,
}

/// Choices of [`Benchmark::Sort`].
#[derive(Clone, Debug, PartialEq)]
pub struct Sort {
    /// As of [`Collective`]; powers of two.
    pub ranks: Option<Vec<u32>>,
    /// Problem classes.
    pub classes: Vec<ClassName>,
}

impl Default for Carrier {
    /// Shared memory.
    fn default() -> Carrier {
        let via = Via::Own(hotlink_real::Via::Shm);
        Carrier { via, copy: None, cache: None, mpi: None, launcher: None, watching: None }
    }
}

impl Default for Repetition {
    fn default() -> Repetition {
        Repetition {
            fabric: usual::FABRIC.to_owned(),
            time_s: usual::TIME_S,
            blocks: usual::BLOCKS,
            spread_s: None,
            limit_s: None,
            rounds: 1,
            raw: false,
            buffers: Buffers::Kept,
        }
    }
}

impl Default for Hosts {
    /// This machine alone.
    fn default() -> Hosts {
        Hosts { listen: None, connect: None, as_rank: 1, processes: 2, secret_file: None }
    }
}

impl Hosts {
    /// Whether the options name others.
    pub fn are_several(&self) -> bool {
        self.listen.is_some() || self.connect.is_some()
    }
}

impl Benchmark {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Benchmark::PingPong(_) => "pingpong",
            Benchmark::Stream(_) => "stream",
            Benchmark::Rate(_) => "rate",
            Benchmark::Pairs(_) => "pairs",
            Benchmark::Semantics(_) => "semantics",
            Benchmark::Saturation(_) => "saturation",
            Benchmark::Deposit(_) => "deposit",
            Benchmark::Overlap(_) => "overlap",
            Benchmark::Sockets(_) => "sockets",
            Benchmark::Memory(_) => "memory",
            Benchmark::Registration(_) => "registration",
            Benchmark::Region(_) => "region",
            Benchmark::Barrier(_) => "barrier",
            Benchmark::Collective(which, _) => which.name(),
            Benchmark::Kernel(_) => "kernel",
            Benchmark::Sort(_) => "is",
        }
    }
    /// Ranks that one launch starts for it: as many as it asks for, or as it usually has.
    ///
    /// # Errors
    /// It asks for several numbers of ranks.
    pub fn ranks(&self) -> Result<u32, Error> {
        let pairs = |asked: &Option<Vec<u32>>| {
            let most = asked.iter().flatten().copied().max().unwrap_or(1);
            Ok(most.saturating_mul(2))
        };
        match self {
            Benchmark::PingPong(PingPong { ranks, .. }) | Benchmark::Stream(Stream { ranks, .. }) => {
                Ok(ranks.unwrap_or(2))
            }
            Benchmark::Pairs(asked) => Ok(asked.ranks.unwrap_or(usual::PAIRS_RANKS)),
            Benchmark::Rate(asked) => pairs(&asked.pairs),
            Benchmark::Saturation(asked) => pairs(&asked.pairs),
            Benchmark::Barrier(Barrier { collective: Collective { ranks, .. }, .. })
            | Benchmark::Collective(_, Collective { ranks, .. })
            | Benchmark::Kernel(Application { ranks, .. })
            | Benchmark::Sort(Sort { ranks, .. }) => match ranks.as_deref() {
                None => Ok(2),
                Some([ranks]) => Ok(*ranks),
                Some(_) => input("--ranks: must be one number for an MPI's ranks, which are started once"),
            },
            _ => Ok(2),
        }
    }
    /// Whether its messages go between ranks, by a [`Carrier`].
    pub fn is_carried(&self) -> bool {
        !matches!(
            self,
            Benchmark::Sockets(_) | Benchmark::Memory(_) | Benchmark::Registration(_) | Benchmark::Region(_)
        )
    }
}

impl Request {
    /// With the usual values: between processes of this machine, over shared memory.
    pub fn new(benchmark: Benchmark) -> Request {
        let (carrier, repetition, hosts) = (Carrier::default(), Repetition::default(), Hosts::default());
        Request { benchmark, carrier, repetition, hosts, stall_s: None, poll_s: None, anonymous: false }
    }

    /// The carrier of the messages, if there are ranks.
    pub(crate) fn carried(&self) -> Option<&Carrier> {
        self.benchmark.is_carried().then_some(&self.carrier)
    }
    /// Blocks of a round. A sort is run as a whole, and sockets between hosts meet once.
    pub(crate) fn blocks(&self) -> u32 {
        match self.benchmark {
            Benchmark::Sort(_) => 1,
            Benchmark::Sockets(_) if self.hosts.are_several() => 1,
            _ => self.repetition.blocks,
        }
    }

    /// Refuses what can be seen to be wrong before any rank is started.
    ///
    /// # Errors
    /// The choice that cannot be, and what is allowed.
    pub fn check(&self) -> Result<(), Error> {
        let Repetition { time_s, blocks, rounds, spread_s, limit_s, .. } = self.repetition;
        let within = |option: &str, value: f64, least: f64, most: f64| match (least..=most).contains(&value) {
            true => Ok(()),
            false => input(format!("{option} {value}: must be {least} to {most}")),
        };
        within("--time", time_s, 0.001, 3600.0)?;
        within("--blocks", blocks.into(), 1.0, 1000.0)?;
        within("--rounds", rounds.into(), 1.0, 1000.0)?;
        within("--spread", spread_s.unwrap_or(0.0), 0.0, 86_400.0)?;
        within("--limit", limit_s.unwrap_or(0.0), 0.0, 86_400.0)?;
        within("--stall", self.stall_s.unwrap_or(1.0), 0.1, 86_400.0)?;
        within("--poll", self.poll_s.unwrap_or(0.0), 0.0, 3600.0)?;
        if rounds > 1 && matches!(self.benchmark, Benchmark::Sockets(_)) && self.hosts.are_several() {
            return input("--rounds: sockets between hosts meet once; repeat the command on both");
        }
        if matches!(self.benchmark, Benchmark::Sort(_)) {
            let usual = Repetition::default();
            let ignored = [
                ("--time", time_s != usual.time_s),
                ("--blocks", blocks != usual.blocks),
                ("--spread", spread_s.is_some()),
                ("--raw", self.repetition.raw),
            ];
            if let Some((option, _)) = ignored.into_iter().find(|(_, is_given)| *is_given) {
                return input(format!("{option}: is runs as a whole, once a round; use --rounds"));
            }
        }
        let Some(carrier) = self.carried() else { return Ok(()) };
        self.hosts.check(carrier.via)?;
        let is_mpi = carrier.via == Via::Mpi;
        if is_mpi && self.stall_s.is_some() {
            return input("--stall: waits inside an MPI cannot be seen; use --via shm, tcp or mixed");
        }
        if is_mpi && self.poll_s.is_some() {
            return input("--poll: an MPI decides itself how its ranks wait; use --via shm, tcp or mixed");
        }
        if carrier.mpi.is_some() && !is_mpi {
            return input("--mpi: names the MPI of --via mpi; shm, tcp and mixed are this project's own");
        }
        if carrier.launcher.is_some() && !is_mpi {
            return input(
                "--launcher: it starts an MPI's ranks, with --via mpi; shm and tcp start their own for each block",
            );
        }
        if is_mpi && carrier.watching.is_some() {
            return input(
                "--trace, --count, --inject: a foreign MPI has no ports to watch; use --via shm, tcp or mixed",
            );
        }
        if is_mpi && carrier.cache.is_some() {
            return input("--cache: a foreign MPI keeps its own registrations; use --via shm, tcp or mixed");
        }
        if carrier.via.is_one_machine() && self.hosts.are_several() {
            return input("--listen, --connect: shared memory is one machine's; use --via tcp or mixed");
        }
        Ok(())
    }
}

impl Hosts {
    /// Refuses what says how ranks of several commands meet where none meet.
    fn check(&self, via: Via) -> Result<(), Error> {
        let usual = Hosts::default();
        if !self.are_several() && (self.processes != usual.processes || self.as_rank != usual.as_rank) {
            let option = if self.processes == usual.processes { "--as-rank" } else { "--processes" };
            return input(format!("{option}: is of ranks that meet by --listen and --connect, and neither is given"));
        }
        if self.listen.is_some() && self.as_rank != usual.as_rank {
            return input("--as-rank: is with --connect; the process that listens is rank 0");
        }
        if self.secret_file.is_some() && via.is_one_machine() {
            return input("--secret-file: is proved to ranks of other machines; use --via tcp or mixed");
        }
        Ok(())
    }
}

/// Before a mere name of results, which no fabric is looked up by.
pub const LABEL: &str = "label:";

/// A fabric that exists, or a label, which keeps its mark. Otherwise a misspelt fabric would get into the results
/// without its bound.
///
/// # Errors
/// No fabric of that name, and how a mere name is written.
pub fn fabric_or_label(text: &str) -> Result<String, String> {
    if text.starts_with(LABEL) || text == usual::FABRIC {
        return Ok(text.to_owned());
    }
    let hint = format!("for a mere name of the results say label:{text}");
    Source::open(text).map(|_| text.to_owned()).map_err(|error| format!("{error}; {hint}"))
}

fn input<T>(what: impl Into<String>) -> Result<T, Error> {
    Err(Error::Input(what.into()))
}
