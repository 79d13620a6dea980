//! One point of a simulated study, as data: the machine, the benchmark and all else that decides the outcome. It is run
//! by [`crate::simulate`]; the bounds of every answer to it are in [`crate::bound`].

use crate::inputs::Vary;
use crate::options::{Alignment, Cache, Ethernet, Memory, Order, Paths, Rates, Routes, Spin, Via};
use crate::transports::Control;
use hotlink_bench::is::Class;
use hotlink_bench::{Calls, Direction, Kernel, Watching, Which};
use hotlink_fabric::technology::Technology;
use hotlink_message::{Algorithm, Way};
use hotlink_port::background::BackgroundSpec;

/// Everything that decides the outcome of one simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// A fabric's name, of the catalog or a file.
    pub fabric: String,
    /// Nodes that take part.
    pub nodes: u32,
    /// Bytes of a message.
    pub size: u64,
    /// The benchmark.
    pub what: What,
    /// Rates of the resources.
    pub capacities: Rates,
    /// Seed of every random choice.
    pub seed: u64,
    /// Largest payload of a packet, within the fabric's limit.
    pub packet_size: Option<u32>,
    /// Concurrent messages per node, served round-robin.
    pub streams: Option<u16>,
    /// How equal paths are chosen; by default as the fabric does.
    pub paths: Option<Paths>,
    /// How packets cross a dragonfly; by default by its own routing.
    pub routes: Option<Routes>,
    /// Whether the uncertain inputs are varied for the answer's interval.
    pub sensitivity: Vary,
    /// The technology of a graph, where its file does not state it.
    pub technology: Option<&'static Technology>,
    /// Ethernet's action when a buffer fills.
    pub ethernet: Ethernet,
    /// The flow control.
    pub control: Control,
    /// Whether every link, bus and adapter has a record of its own.
    pub links: bool,
    /// File with the plan of failures.
    pub faults: Option<String>,
}

/// The benchmark with its own parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// One message to and fro.
    PingPong {
        /// The two nodes.
        between: [u32; 2],
        /// Messages in all, both ways; [`What::usual_messages`] where none are asked for.
        messages: Option<u64>,
    },
    /// Pairs that send at once.
    Saturation {
        /// Sender and receiver of each pair.
        pairs: Vec<(u32, u32)>,
        /// Messages of each pair in the measured part, about.
        messages: u64,
        /// Messages that a pair keeps under way.
        window: Option<u32>,
        /// The key that counts the pairs.
        counted: &'static str,
    },
    /// Pairs that exchange messages both ways, as `MPI_Sendrecv` does.
    Exchanges {
        /// The two nodes of each pair.
        pairs: Vec<(u32, u32)>,
        /// Exchanges of each pair.
        times: u64,
    },
    /// Every node sends to every other node.
    AllToAll {
        /// In what order a node serves the others.
        order: Order,
    },
    /// Open loop.
    Traffic(Offered),
    /// A program on ranks.
    Program(Program),
}

impl What {
    /// Messages of a ping-pong where none are asked for. A message alone takes what the one before it took, so those of many
    /// packets need fewer.
    pub fn usual_messages(size: u64) -> u64 {
        ((64 << 20) / size.max(1)).clamp(10, 1000)
    }
}

impl Cell {
    /// One cell with nothing but its defaults.
    pub fn plain(fabric: &str, nodes: u32, size: u64, what: What, seed: u64) -> Cell {
        Cell {
            fabric: fabric.to_owned(),
            nodes,
            size,
            what,
            capacities: Rates::Measured,
            seed,
            packet_size: None,
            streams: None,
            paths: None,
            routes: None,
            technology: None,
            sensitivity: Vary::No,
            ethernet: Ethernet::Pause,
            control: Control::usual(),
            links: false,
            faults: None,
        }
    }
}

/// An open loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Offered {
    /// The pattern of senders and receivers.
    pub pattern: String,
    /// Share of the bound that is offered.
    pub load: f64,
    /// Messages that an average node offers in the measured part; by default as many as the statistics need.
    pub messages: Option<u32>,
    /// Distribution of the messages' sizes; by default all have the cell's.
    pub sizes: Option<String>,
    /// How far the intervals of median and mean may reach to either side, as a share, for the run to end.
    pub precision: f64,
    /// The sampling interval of every server, in microseconds.
    pub series_us: Option<f64>,
}

impl Offered {
    /// A share of the bound, with as many messages as statistics need.
    pub fn plain(pattern: &str, load: f64) -> Offered {
        let pattern = pattern.to_owned();
        Offered { pattern, load, messages: None, sizes: None, precision: 0.1, series_us: None }
    }
}

/// Which benchmark.
#[derive(Clone, Debug, PartialEq)]
pub enum ProgramBench {
    /// One message to and fro.
    PingPong {
        /// The two ranks.
        between: [u32; 2],
    },
    /// K98's two flavours of a send.
    Semantics {
        /// At any time, at the price of a copy.
        postal: bool,
    },
    /// Computation while a message is under way.
    Overlap {
        /// Whether the sender computes, not the receiver.
        sender: bool,
        /// How it computes.
        spin: Spin,
        /// Threads of the form that has several.
        threads: Option<u32>,
        /// Computation times as shares of the message's own time.
        shares: Vec<f64>,
    },
    /// A collective.
    Collective(Which),
    /// NPB IS.
    IntegerSort(Class),
    /// Windows of messages.
    Stream(Streamed),
    /// Ping-pong between every two ranks; a pair is slow if it takes this many times the median pair's time.
    Pairs {
        /// See above.
        slow: f64,
    },
    /// An application bound by barriers.
    Kernel(Kernel),
}

/// A benchmark on simulated ranks, with its choices.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The benchmark.
    pub bench: ProgramBench,
    /// Memory that messages lie in.
    pub memory: Memory,
    /// Where in a page registered memory begins.
    pub align: Alignment,
    /// Which registrations and connections go when resources run out.
    pub cache: Cache,
    /// Whether long messages move without buffers.
    pub zero_copy: bool,
    /// The carrier of messages.
    pub via: Via,
    /// How a collective runs; by default what the cost model picks.
    pub algorithm: Option<Way>,
    /// Rounds before those that count.
    pub warmup: u64,
    /// Traffic at the same time.
    pub background: Option<BackgroundSpec>,
    /// Samples to be taken.
    pub samples: u32,
    /// Whether every sample is given.
    pub raw: bool,
    /// Observers and faults on the ranks' ports.
    pub watching: Option<Watching>,
}

impl Program {
    /// A benchmark with nothing but its defaults, from the first message on.
    pub fn plain(bench: ProgramBench) -> Program {
        Program {
            bench,
            memory: Memory::Shared,
            align: Alignment::Default,
            cache: Cache::Lru,
            zero_copy: true,
            via: Via::Adapter,
            algorithm: None,
            warmup: 0,
            background: None,
            samples: 1,
            raw: false,
            watching: None,
        }
    }

    /// The algorithm that is asked for, on that many nodes and with messages of `size` bytes.
    ///
    /// # Errors
    /// An MPI takes one there that is none of ours.
    pub fn asked(&self, nodes: u32, size: u64) -> Result<Option<Algorithm>, String> {
        let (ProgramBench::Collective(which), Some(way)) = (&self.bench, self.algorithm) else { return Ok(None) };
        way.algorithm(which.call(nodes, size)).map(Some).map_err(|what| format!("--algorithm {what}"))
    }

    /// The source of the algorithm, where it is not `usual`'s choice.
    pub fn algorithm_by(&self, usual: &'static str) -> &'static str {
        self.algorithm.map_or(usual, Way::chosen_by)
    }
}

/// One point of a benchmark of streams.
#[derive(Clone, Debug, PartialEq)]
pub struct Streamed {
    /// `stream`, `rate` or `saturation`.
    pub benchmark: &'static str,
    /// Pairs that send at once.
    pub pairs: u32,
    /// Between whom.
    pub direction: Direction,
    /// How the messages of a window are called for.
    pub calls: Calls,
    /// Messages before the receiver's answer; by default as `measure`.
    pub window: Option<u64>,
}
