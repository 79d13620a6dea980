//! A simulation as every face asks for it: one [`Request`] of plain values, which becomes [`Part`]s to run.
//!
//! The command makes it of its options, Python of its arguments, the studies write it down. Lists are asked in every
//! combination: by fabric, number of nodes, size, then the benchmark's own choices, then those of the message stack.
//!
//! ```
//! use hotlink_study::{Unwatched, simulate::request::{Benchmark, Request}};
//! let request = Request { sizes: vec![8, 4096], ..Request::new(Benchmark::pingpong(), "w01-sci-d330") };
//! assert_eq!(request.run(&Unwatched).unwrap().len(), 2);
//! ```

mod cells;
mod part;

pub use part::Part;

use super::barrier::Barriers;
use super::cache_study::CacheStudy;
use super::deposit::Transfers;
use super::goal::Goal;
use super::programs::Programs;
use crate::cell::Offered;
use crate::inputs::Vary;
use crate::options::{ClassName, Ethernet, Order, Rates, SendMode, Side, Spin, Stack, Ways};
use crate::transports::Control;
use crate::{Error, Source, Watch, is_graph};
use hotlink_bench::{Calls, Direction, Kernel, Record, Which};
use hotlink_fabric::technology::Technology;

/// Offered loads where none are asked for.
pub const LOADS: &str = "0.1..1.0";

/// A simulation. [`Request::new`] gives the defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The benchmark, with its own choices.
    pub benchmark: Benchmark,
    /// Fabrics: names of the catalog, or files.
    pub fabrics: Vec<String>,
    /// Numbers of nodes; where none is given, those that suit the benchmark.
    pub nodes: Option<Vec<u32>>,
    /// Bytes of a message, for benchmarks that have one.
    pub sizes: Vec<u64>,
    /// Bare packets or the message stack; by default packets where the network alone answers.
    pub stack: Option<Stack>,
    /// Choices of the message stack.
    pub programs: Programs,
    /// Choices of the network.
    pub network: Network,
    /// Nodes that take no part in QsNet's own collectives.
    pub without: Vec<u32>,
    /// File with the plan of links and switches that fail.
    pub faults: Option<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Whether the uncertain inputs are varied for the answer's interval.
    pub sensitivity: Vary,
}

/// Choices of the network.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Rates of the resources.
    pub capacities: Rates,
    /// Largest payload of a packet, within the fabric's limit.
    pub packet_size: Option<u64>,
    /// Concurrent messages of a node, which are served in turn.
    pub streams: Option<u16>,
    /// How equal paths are chosen, and how a dragonfly is crossed; by default as the fabric does.
    pub paths: Vec<Ways>,
    /// The technology of a graph, where its file does not state it.
    pub technology: Option<&'static Technology>,
    /// Ethernet's action when a buffer fills.
    pub ethernet: Ethernet,
    /// The flow control; several: one run for each.
    pub controls: Vec<Control>,
    /// Whether every link, bus and adapter has a record of its own.
    pub links: bool,
}

/// Which benchmark, with its own choices.
#[derive(Clone, Debug, PartialEq)]
pub enum Benchmark {
    /// One message to and fro.
    PingPong {
        /// Messages in all, both ways, of bare packets; by default as many as show a latency.
        messages: Option<u64>,
        /// The two nodes; by default the first and the last.
        between: Option<[u32; 2]>,
    },
    /// Windows of messages between two nodes.
    Stream {
        /// Between whom.
        directions: Vec<Direction>,
        /// How the messages of a window are called for.
        calls: Calls,
        /// Messages before the receiver's answer; by default as many as make 4 MiB, from 2 to 64.
        window: Option<u64>,
    },
    /// Short messages of many pairs at once.
    Rate {
        /// Pairs of nodes; by default half of the nodes.
        pairs: Option<Vec<u32>>,
        /// As in `Stream`.
        window: Option<u64>,
    },
    /// Ping-pong between every two nodes; a pair is slow if it takes this many times the median pair's time.
    Pairs {
        /// See above.
        slow: f64,
    },
    /// An application bound by barriers.
    Kernel(Kernel),
    /// K98's two flavours of a send.
    Semantics(Vec<SendMode>),
    /// Senders that share a link.
    Saturation {
        /// Whether they are pairs that turn at one node of a 2-D torus (M02 Fig. 7), not senders that share a link.
        turning: bool,
        /// How many.
        counts: Vec<u32>,
        /// Messages of each in the measured part, about.
        messages: u64,
        /// Messages that each keeps under way.
        window: Option<u32>,
    },
    /// All nodes in random pairs that exchange both ways (effective bisection bandwidth): `saturation` too.
    Exchanges {
        /// Exchanges of each pair.
        times: u64,
    },
    /// A collective, but a barrier.
    Collective {
        /// Which.
        which: Which,
        /// How; by default what the cost model picks.
        algorithms: Vec<String>,
        /// By which protocols, of GPUs' kernels; by default as their library chooses.
        protocols: Vec<String>,
        /// Of bare packets that all exchange: in what order a node serves the others.
        order: Order,
    },
    /// Computation while a message is under way.
    Overlap {
        /// The computing sides.
        sides: Vec<Side>,
        /// How.
        spins: Vec<Spin>,
        /// Threads of `threads`.
        threads: Option<u32>,
        /// Computation times as shares of the message's own time.
        shares: Vec<f64>,
    },
    /// NPB's Integer Sort.
    Sort(Vec<ClassName>),
    /// Open loop.
    Traffic {
        /// The offered traffic, except for the load and the sizes.
        offered: Offered,
        /// Offered loads, as shares of the bound.
        loads: Vec<f64>,
        /// Distributions of the messages' sizes, in addition to the request's sizes.
        laws: Vec<String>,
    },
    /// A barrier: on the fabric's own barrier network (`hardware`), by QsNet's adapters, or by messages.
    Barrier {
        /// How; by default by messages, as the cost model picks.
        algorithms: Vec<String>,
        /// On the fabric's own network; the seed is the request's.
        own: Barriers,
    },
    /// A block into local and remote memory.
    Deposit(Transfers),
    /// Policies of the cache of registrations, under traces of buffer reuse.
    CacheStudy(CacheStudy),
    /// A schedule on a LogGP machine.
    Goal(Box<Goal>),
}

impl Network {
    /// As the fabric states it, at its measured rates.
    pub fn usual() -> Network {
        Network {
            capacities: Rates::Measured,
            packet_size: None,
            streams: None,
            paths: Vec::new(),
            technology: None,
            ethernet: Ethernet::Pause,
            controls: vec![Control::usual()],
            links: false,
        }
    }
}

impl Benchmark {
    /// Between the first and the last node.
    pub fn pingpong() -> Benchmark {
        Benchmark::PingPong { messages: None, between: None }
    }
    /// A collective as the cost model picks it.
    pub fn collective(which: Which) -> Benchmark {
        Benchmark::Collective { which, algorithms: Vec::new(), protocols: Vec::new(), order: Order::LinearShift }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Benchmark::PingPong { .. } => "pingpong",
            Benchmark::Stream { .. } => "stream",
            Benchmark::Rate { .. } => "rate",
            Benchmark::Pairs { .. } => "pairs",
            Benchmark::Kernel(_) => "kernel",
            Benchmark::Semantics(_) => "semantics",
            Benchmark::Saturation { .. } | Benchmark::Exchanges { .. } => "saturation",
            Benchmark::Collective { which, .. } => which.name(),
            Benchmark::Overlap { .. } => "overlap",
            Benchmark::Sort(_) => "is",
            Benchmark::Traffic { .. } => "traffic",
            Benchmark::Barrier { .. } => "barrier",
            Benchmark::Deposit(_) => "deposit",
            Benchmark::CacheStudy(_) => "cache-study",
            Benchmark::Goal(_) => "goal",
        }
    }
}

impl Request {
    /// With the usual values: 64 KiB, measured rates, seed 1.
    pub fn new(benchmark: Benchmark, fabric: &str) -> Request {
        Request {
            benchmark,
            fabrics: vec![fabric.to_owned()],
            nodes: None,
            sizes: vec![65536],
            stack: None,
            programs: Programs::default(),
            network: Network::usual(),
            without: Vec::new(),
            faults: None,
            seed: 1,
            sensitivity: Vary::No,
        }
    }

    /// All records, in order.
    ///
    /// # Errors
    /// What cannot be asked, or has no answer.
    pub fn run(&self, watch: &dyn Watch) -> Result<Vec<Record>, Error> {
        let mut records = Vec::new();
        for part in self.parts()? {
            part.run(watch, &mut |given| {
                records.extend(given);
                true
            })?;
        }
        Ok(records)
    }

    /// The technology of fabrics that do not state it.
    fn technology(&self, fabric: &str) -> Option<&'static Technology> {
        self.network.technology.filter(|_| is_graph(fabric))
    }
    fn open(&self, fabric: &str) -> Result<Source, Error> {
        Source::open_as(fabric, self.technology(fabric))
    }
}

fn input<T>(what: impl Into<String>) -> Result<T, Error> {
    Err(Error::Input(what.into()))
}
