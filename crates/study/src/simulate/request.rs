//! A simulation as a library asks for it: plain values in, cells out. Words are those of the command line.

use super::loggp::is_calibrated;
use super::pairs::Sharing;
use crate::cell::{Cell, Program, ProgramBench, Streamed, What};
use crate::inputs::Vary;
use crate::options::{Alignment, Cache, ClassName, Memory, Order, Paths, Rates, Via};
use crate::{Error, Source, benchmarks};
use hotlink_bench::{Calls, Direction, Kernel, Plan, Proportions, Watching, Which};
use hotlink_fabric::technology::Technology;
use hotlink_message::Algorithm;

/// What is simulated. [`Request::new`] gives the usual values.
#[derive(Clone, Debug)]
pub struct Request {
    /// A benchmark's name.
    pub benchmark: String,
    /// A fabric's name, of the catalog or a file.
    pub fabric: String,
    /// Numbers of nodes; where none is given, what suits the benchmark.
    pub nodes: Option<Vec<u32>>,
    /// Bytes of a message.
    pub sizes: Vec<u64>,
    /// How a collective runs; by default what the cost model picks.
    pub algorithm: Option<String>,
    /// Memory that messages lie in.
    pub memory: Memory,
    /// Which set-ups go when resources run out.
    pub cache: Cache,
    /// Whether long messages move without buffers.
    pub zero_copy: bool,
    /// What carries messages.
    pub via: Via,
    /// Bare packets or the message stack; by default packets where the network alone answers.
    pub message_stack: Option<bool>,
    /// Rates of the resources.
    pub capacities: Rates,
    /// How equal paths are chosen.
    pub paths: Option<Paths>,
    /// What a graph's network is.
    pub technology: Option<&'static Technology>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Pairs of `saturation` and `rate`.
    pub pairs: Option<u32>,
    /// Directions of `stream`.
    pub directions: Vec<Direction>,
    /// Messages before an answer, of `stream` and `rate`.
    pub window: Option<u64>,
    /// Who sends to whom in `traffic`.
    pub traffic: String,
    /// Offered loads of `traffic`, as shares of the bound.
    pub loads: Vec<f64>,
    /// Problem class of `is`.
    pub class: ClassName,
    /// Vary the uncertain inputs and give the answer's interval.
    pub sensitivity: bool,
    /// Observers and faults on the ranks' ports.
    pub watching: Option<Watching>,
}

impl Request {
    /// With the usual values: 64 KiB, measured rates, seed 1.
    pub fn new(benchmark: &str, fabric: &str) -> Request {
        Request {
            benchmark: benchmark.to_owned(),
            fabric: fabric.to_owned(),
            nodes: None,
            sizes: vec![65536],
            algorithm: None,
            memory: Memory::Regular,
            cache: Cache::Lru,
            zero_copy: true,
            via: Via::Adapter,
            message_stack: None,
            capacities: Rates::Measured,
            paths: None,
            technology: None,
            seed: 1,
            pairs: None,
            directions: vec![Direction::Uni, Direction::Bi],
            window: None,
            traffic: "uniform".to_owned(),
            loads: vec![1.0],
            class: ClassName::S,
            sensitivity: false,
            watching: None,
        }
    }

    /// The cells, by nodes and then by size.
    ///
    /// # Errors
    /// What the benchmark does not have, and what is allowed.
    pub fn cells(&self) -> Result<Vec<Cell>, Error> {
        if !names().any(|name| name == self.benchmark) {
            return Err(self.unknown());
        }
        let source = Source::open_as(&self.fabric, self.technology)?;
        let nodes = match (&self.nodes, self.usual_nodes(&source)) {
            (Some(nodes), _) => nodes.clone(),
            (None, Some(usual)) => vec![usual],
            (None, None) => return Err(Error::Input("say how many nodes: nodes=64, nodes=[2, 4, 8]".to_owned())),
        };
        let mut cells = Vec::new();
        for &nodes in &nodes {
            if nodes < 2 && self.benchmark != "is" {
                return Err(Error::Input(format!("nodes={nodes}: must be 2 or more")));
            }
            for &size in &self.sizes {
                for what in self.what(&source, nodes, size)? {
                    cells.push(self.cell(nodes, size, what)?);
                }
            }
        }
        Ok(cells)
    }

    fn usual_nodes(&self, source: &Source) -> Option<u32> {
        match self.benchmark.as_str() {
            "pingpong" | "stream" | "semantics" | "is" | "kernel" => Some(2),
            "pairs" => Some(4),
            "rate" => Some(2 * self.pairs.unwrap_or(1)),
            "saturation" => Some(self.sharing(source).usual_nodes(self.pairs.unwrap_or(1))),
            _ if is_calibrated(source.spec()) => Some(2),
            _ => None,
        }
    }

    fn sharing(&self, source: &Source) -> Sharing {
        Sharing::of(&source.spec().topology, true)
    }

    fn cell(&self, nodes: u32, size: u64, what: What) -> Result<Cell, Error> {
        let size = match &what {
            What::Program(Program { bench: ProgramBench::IntegerSort(class), .. }) => {
                class.keys() * size_of::<u32>() as u64 / u64::from(nodes)
            }
            _ => size,
        };
        let what = match what {
            What::Program(program) => What::Program(Program { watching: self.watching, ..program }),
            _ if self.watching.is_some() => {
                let told = "trace, count, inject: bare packets have no ports; allowed with stack=\"message\"";
                return Err(Error::Input(told.to_owned()));
            }
            bare => bare,
        };
        Ok(Cell {
            capacities: self.capacities,
            paths: self.paths,
            technology: self.technology,
            sensitivity: if self.sensitivity { Vary::Yes } else { Vary::No },
            ..Cell::plain(&self.fabric, nodes, size, what, self.seed)
        })
    }

    /// What runs at one number of nodes.
    fn what(&self, source: &Source, nodes: u32, size: u64) -> Result<Vec<What>, Error> {
        let input = |what: String| Error::Input(what);
        let last = nodes - 1;
        let is_asked = self.memory != Memory::Regular
            || self.cache != Cache::Lru
            || !self.zero_copy
            || self.via != Via::Adapter
            || self.algorithm.is_some()
            || self.watching.is_some();
        let stack = self.message_stack.unwrap_or(is_asked);
        if self.message_stack == Some(false) && is_asked {
            let told =
                "memory, cache, zero_copy, via, algorithm and observers are the message stack's: stack=\"message\"";
            return Err(input(told.to_owned()));
        }
        if let Some(which) = COLLECTIVES.into_iter().find(|which| which.name() == self.benchmark) {
            if which == Which::Alltoall && !stack {
                return Ok(vec![What::AllToAll { order: Order::LinearShift }]);
            }
            if !size.is_multiple_of(8) {
                return Err(input(format!("size={size}: elements have 8 B; must be a multiple of 8")));
            }
            let named = |name: &String| Algorithm::named(which.collective(), name);
            let algorithm = self.algorithm.as_ref().map(named).transpose();
            let algorithm = algorithm.map_err(|what| input(format!("algorithm: {what}")))?;
            return Ok(vec![self.program(nodes, ProgramBench::Collective(which), algorithm)]);
        }
        if self.algorithm.is_some() {
            return Err(input(format!("algorithm: {} is no collective", self.benchmark)));
        }
        let program = |bench| vec![self.program(nodes, bench, None)];
        let needs_bytes = ["stream", "rate", "semantics"].contains(&self.benchmark.as_str());
        if needs_bytes && size == 0 {
            return Err(input("size=0: an empty message has no bandwidth; must be 1 or more".to_owned()));
        }
        Ok(match self.benchmark.as_str() {
            "pingpong" if stack => program(ProgramBench::PingPong { between: [0, last] }),
            "pingpong" => vec![What::PingPong { between: [0, last], messages: 1000 }],
            "stream" => {
                let one = |&direction: &Direction| self.stream(nodes, "stream", 1, direction);
                self.directions.iter().map(one).collect()
            }
            "rate" => {
                let pairs = self.pairs.unwrap_or(nodes / 2);
                if 2 * pairs > nodes || pairs == 0 {
                    return Err(input(format!("pairs={pairs}: must be 1 to {} of {nodes} nodes", nodes / 2)));
                }
                vec![self.stream(nodes, "rate", pairs, Direction::Uni)]
            }
            "pairs" if nodes > 256 => return Err(input(format!("nodes={nodes}: must be 2 to 256"))),
            "pairs" => program(ProgramBench::Pairs { slow: 1.25 }),
            "semantics" => {
                let one = |postal| self.program(nodes, ProgramBench::Semantics { postal }, None);
                vec![one(false), one(true)]
            }
            "kernel" => {
                let abinit = Proportions::ABINIT;
                program(ProgramBench::Kernel(Kernel {
                    compute_us: abinit.compute_us(),
                    skew_us: 0.0,
                    sums: abinit.others_per_barrier(),
                    iterations: 200,
                    seed: self.seed,
                    plan: Plan::once(),
                }))
            }
            "is" => {
                crate::sort::allowed(vec![nodes])?;
                program(ProgramBench::IntegerSort(self.class.into()))
            }
            "saturation" => {
                let count = self.pairs.unwrap_or(1);
                let pairs = self
                    .sharing(source)
                    .pairs(nodes, count)
                    .map_err(|needed| input(format!("pairs={count}: need {needed} nodes or more, not {nodes}")))?;
                vec![What::Saturation { pairs, messages: 200, window: None, counted: "pairs" }]
            }
            "traffic" => {
                if let Some(load) = self.loads.iter().find(|load| !(**load > 0.0 && **load <= 10.0)) {
                    return Err(input(format!("load={load}: must be above 0 and at most 10 (share of the bound)")));
                }
                let one = |&load: &f64| What::Traffic { pattern: self.traffic.clone(), load, messages: 200 };
                self.loads.iter().map(one).collect()
            }
            _ => return Err(self.unknown()),
        })
    }

    /// What is said of a benchmark that no request has.
    fn unknown(&self) -> Error {
        let name = &self.benchmark;
        Error::Input(benchmarks::elsewhere(name, "simulate").unwrap_or_else(|| {
            let known: Vec<&str> = names().collect();
            let known = known.join(", ");
            format!("benchmark `{name}`: must be one of {known}; others run as hotlink.run(\"simulate\", ...)")
        }))
    }

    fn stream(&self, nodes: u32, benchmark: &'static str, pairs: u32, direction: Direction) -> What {
        let streamed = Streamed { benchmark, pairs, direction, calls: Calls::Windowed, window: self.window };
        self.program(nodes, ProgramBench::Stream(streamed), None)
    }

    fn program(&self, nodes: u32, bench: ProgramBench, algorithm: Option<Algorithm>) -> What {
        let Request { memory, cache, zero_copy, via, .. } = *self;
        What::Program(Program {
            bench,
            memory,
            align: Alignment::Default,
            cache,
            zero_copy,
            via,
            algorithm,
            warmup: u64::from(nodes <= 4096),
            background: None,
            samples: 1,
            raw: false,
            watching: None,
        })
    }
}

/// Benchmarks of a request that are no collectives.
const NAMES: [&str; 9] = ["pingpong", "stream", "rate", "pairs", "semantics", "kernel", "is", "saturation", "traffic"];

fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().chain(COLLECTIVES.map(Which::name))
}

const COLLECTIVES: [Which; 10] = crate::ask::WHICH;
