//! `hotlink simulate pingpong|saturation|alltoall|traffic`: benchmarks on the packet network.

use super::options::PacketArgs;
use super::qsnet;
use super::stack::StackArgs;
use crate::progress::Stopwatch;
use crate::table::Table;
use crate::values::{Counts, Numbers};
use crate::verbs::measure::CurveArgs;
use crate::verbs::question::Methods;
use crate::verbs::watching::{Recorder, WatchOptions};
use crate::words::word;
use crate::{Failure, output::Output};
use hotlink_bench::{Record, Which};
use hotlink_message::Algorithm;
use hotlink_study::ask::{ENGINES, Engine, Exactly, Measured, ask_engines};
use hotlink_study::cell::ProgramBench;
use hotlink_study::cell::{Cell, What};
use hotlink_study::inputs::Vary;
use hotlink_study::options::{Order, SendMode, Side, Spin, Stack};
use hotlink_study::simulate::cell;
use hotlink_study::simulate::loggp::is_calibrated;
use hotlink_study::simulate::pairs::Sharing;
use hotlink_study::{Source, is_graph};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate pingpong --fabric myrinet-clos64 --size 8,4KiB --messages 1000000
  hotlink simulate pingpong --fabric w01-sci-d330 --size 1KiB..4MiB --memory regular,registered --cache lru")]
pub(crate) struct PingPongArgs {
    #[command(flatten)]
    packet: PacketArgs,
    /// The network alone, or a program on ranks; any option of the message stack asks for that.
    #[arg(long, value_parser = word::<Stack>())]
    stack: Option<Stack>,
    #[command(flatten)]
    message: StackArgs,
    /// Messages in all, both ways.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    messages: u64,
    /// The two nodes; by default the first and the last.
    #[arg(long, value_name = "A,B", value_delimiter = ',', num_args = 1)]
    between: Vec<u32>,
}

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate semantics --fabric k98-myrinet,k98-clustar --size 4..1MiB
  hotlink simulate semantics --fabric k98-sci --size 1MiB --via adapter,tcp")]
pub(crate) struct SemanticsArgs {
    #[command(flatten)]
    packet: PacketArgs,
    /// Which of the two.
    #[arg(long, value_parser = word::<SendMode>(), value_delimiter = ',', default_value = "restricted,postal")]
    semantics: Vec<SendMode>,
    #[command(flatten)]
    message: StackArgs,
}

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate saturation --fabric sci-ring --senders 1..4 --size 4KiB..64KiB
  hotlink simulate saturation --fabric sci-torus2d --pairs 1..3
  hotlink simulate saturation --fabric myrinet-minimal --senders 1..4 --size 4KiB,64KiB,256KiB")]
pub(crate) struct SaturationArgs {
    #[command(flatten)]
    packet: PacketArgs,
    /// Senders whose messages all cross the same link (M02 Figs. 5, 11).
    #[arg(long, value_name = "LIST", conflicts_with = "pairs", required_unless_present = "pairs")]
    senders: Option<Counts>,
    /// Pairs that all turn at the same node of a 2-D torus (M02 Fig. 7); elsewhere the same as --senders.
    #[arg(long, value_name = "LIST")]
    pairs: Option<Counts>,
    /// Messages of each pair in the measured part, about.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    messages: u64,
    /// Messages that a pair keeps under way [default: 1, as with blocking sends, where the fabric states what message
    /// passing takes, else 2].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    window: Option<u32>,
}

#[derive(clap::Args)]
#[command(after_help = "Example:\n  hotlink simulate alltoall --fabric sci-torus2d --nodes 16 --size 64KiB")]
pub(crate) struct AllToAllArgs {
    #[command(flatten)]
    packet: PacketArgs,
    /// The network alone, or a program on ranks; any option of the message stack asks for that.
    #[arg(long, value_parser = word::<Stack>())]
    stack: Option<Stack>,
    /// How, over the message stack: linear, pairwise, bruck, ring; by default what the cost model picks.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    algorithm: Vec<String>,
    #[command(flatten)]
    message: StackArgs,
    /// In what order a node serves the others.
    #[arg(long, value_parser = word::<Order>(), default_value_t = Order::LinearShift)]
    schedule: Order,
    /// Plan of links and switches that fail, come back or degrade (packet network alone).
    #[arg(long, value_name = "PLAN.toml")]
    faults: Option<String>,
}

#[derive(clap::Args)]
#[command(after_help = "Example:
  hotlink simulate traffic --fabric ib-ndr-fat-tree2 --nodes 512 --traffic uniform --load 0.1..1.0 --size 4KiB
  hotlink simulate traffic --fabric ib-ndr-fat-tree2 --nodes 80 --load 0.5 --faults plan.toml")]
pub(crate) struct TrafficArgs {
    #[command(flatten)]
    packet: PacketArgs,
    /// Who sends to whom, as in `analyze`: uniform, permutation:random, hot-spot:10, ...
    #[arg(long, default_value = "uniform", value_name = "PATTERN")]
    traffic: String,
    /// Offered load, as a share of the bound that the load count gives for this pattern.
    #[arg(long, value_name = "LIST", default_value = "0.1..1.0")]
    load: Numbers,
    /// Messages that an average node offers in the measured part (half as many before it).
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    messages: u32,
    /// Plan of links and switches that fail, come back or degrade.
    #[arg(long, value_name = "PLAN.toml")]
    faults: Option<String>,
}

impl PingPongArgs {
    /// Options of every packet simulation.
    pub(crate) fn packet(&self) -> &PacketArgs {
        &self.packet
    }
    pub(crate) fn cells(&self) -> Result<Vec<Cell>, Failure> {
        self.packet.cells(Some(2), |_, nodes| {
            let between = match self.between[..] {
                [] => [0, nodes - 1],
                [a, b] if a != b => [a, b],
                _ => return Err(Failure::Input("--between: two different nodes, such as 0,5".to_owned())),
            };
            let asked = self.message.is_asked_for() || self.packet.watching.watching().is_some();
            match self.stack.unwrap_or(if asked { Stack::Message } else { Stack::Packet }) {
                Stack::Packet if asked => Err(only_with_messages()),
                Stack::Packet => Ok(vec![What::PingPong { between, messages: self.messages }]),
                Stack::Message if between[0] != 0 || between[1] != nodes - 1 => {
                    let what = "--between: the message stack plays between the first and the last node".to_owned();
                    Err(Failure::Input(what))
                }
                Stack::Message => Ok(self.message.programs(nodes, &ProgramBench::PingPong { between }, &[None])),
            }
        })
    }
}

impl SemanticsArgs {
    /// Options of every packet simulation.
    pub(crate) fn packet(&self) -> &PacketArgs {
        &self.packet
    }
    pub(crate) fn cells(&self) -> Result<Vec<Cell>, Failure> {
        crate::verbs::benches::check_sizes(self.packet.sizes())?;
        self.packet.cells(Some(2), |_, nodes| {
            let of = |&mode: &SendMode| {
                let bench = ProgramBench::Semantics { postal: mode == SendMode::Postal };
                self.message.programs(nodes, &bench, &[None])
            };
            Ok(self.semantics.iter().flat_map(of).collect())
        })
    }
}

impl SaturationArgs {
    /// Options of every packet simulation.
    pub(crate) fn packet(&self) -> &PacketArgs {
        &self.packet
    }
    pub(crate) fn cells(&self) -> Result<Vec<Cell>, Failure> {
        let (counted, counts) = match (&self.senders, &self.pairs) {
            (Some(counts), _) => ("senders", counts),
            (None, counts) => ("pairs", counts.as_ref().expect("clap asks for one of them")),
        };
        let counts = counts.to_u32().map_err(|what| Failure::Input(format!("--{counted}: {what}")))?;
        let most = counts.iter().copied().max().unwrap_or(1);
        let source = Source::open_as(
            &self.packet.fabric[0],
            self.packet.technology.filter(|_| is_graph(&self.packet.fabric[0])),
        )?;
        let sharing = Sharing::of(&source.spec().topology, counted == "pairs");
        self.packet.cells(Some(sharing.usual_nodes(most)), |fabric, nodes| {
            let one = |&count: &u32| {
                let pairs = sharing.pairs(nodes, count).map_err(|needed| {
                    Failure::Input(format!("{fabric}: {count} {counted} need {needed} nodes or more, not {nodes}"))
                })?;
                Ok(What::Saturation { pairs, messages: self.messages, window: self.window, counted })
            };
            counts.iter().map(one).collect()
        })
    }
}

impl AllToAllArgs {
    /// Options of every packet simulation.
    pub(crate) fn packet(&self) -> &PacketArgs {
        &self.packet
    }
    pub(crate) fn cells(&self) -> Result<Vec<Cell>, Failure> {
        let watched = self.packet.watching.watching().is_some();
        let asked = self.message.is_asked_for() || watched || !self.algorithm.is_empty();
        let stack = self.stack.unwrap_or(if asked { Stack::Message } else { Stack::Packet });
        if stack == Stack::Packet && asked {
            return Err(only_with_messages());
        }
        if stack == Stack::Message && self.faults.is_some() {
            return Err(Failure::Input("--faults: the message stack knows no failures: --stack packet".to_owned()));
        }
        let algorithms = algorithms(Which::Alltoall, &self.algorithm)?;
        let cells = self.packet.cells(pair_if_calibrated(&self.packet.fabric)?, |_, nodes| match stack {
            Stack::Packet => Ok(vec![What::AllToAll { order: self.schedule }]),
            Stack::Message => Ok(self.message.programs(nodes, &ProgramBench::Collective(Which::Alltoall), &algorithms)),
        })?;
        Ok(with_faults(cells, self.faults.as_ref()))
    }
}

impl TrafficArgs {
    /// Options of every packet simulation.
    pub(crate) fn packet(&self) -> &PacketArgs {
        &self.packet
    }
    pub(crate) fn cells(&self) -> Result<Vec<Cell>, Failure> {
        if let Some(load) = self.load.iter().find(|load| !(**load > 0.0 && **load <= 10.0)) {
            return Err(Failure::Input(format!("--load: {load}: allowed are shares of the bound above 0, up to 10")));
        }
        let cells = self.packet.cells(None, |_, _| {
            let what = |&load: &f64| What::Traffic { pattern: self.traffic.clone(), load, messages: self.messages };
            Ok(self.load.iter().map(what).collect())
        })?;
        Ok(with_faults(cells, self.faults.as_ref()))
    }
}

fn with_faults(cells: Vec<Cell>, plan: Option<&String>) -> Vec<Cell> {
    cells.into_iter().map(|cell| Cell { faults: plan.cloned(), ..cell }).collect()
}

fn only_with_messages() -> Failure {
    let what = "--memory, --cache, --zero-copy, --via, --warmup, --background, --samples, --raw, --trace, --count, --inject and --algorithm are the message stack's: --stack message";
    Failure::Input(what.to_owned())
}

/// The algorithms asked for; one unnamed if the cost model is to pick.
fn algorithms(which: Which, names: &[String]) -> Result<Vec<Option<Algorithm>>, Failure> {
    if names.is_empty() {
        return Ok(vec![None]);
    }
    let named = |name: &String| Algorithm::named(which.collective(), name).map(Some);
    names.iter().map(named).collect::<Result<_, _>>().map_err(|what| Failure::Input(format!("--algorithm: {what}")))
}

#[derive(clap::Args, Clone)]
#[command(after_help = "Examples:
  hotlink simulate bcast --fabric qsnet --nodes 64 --size 8..1MiB --algorithm hardware,tree --background uniform:1.0
  hotlink simulate bcast --fabric ib-ndr-fat-tree3 --nodes 1024 --size 8..1MiB --algorithm binomial,pipelined
  hotlink simulate allreduce --fabric sharp --nodes 128 --size 8,4KiB --algorithm hardware,recursive-doubling
  hotlink simulate allreduce --fabric slingshot-dragonfly --nodes 256 --size 64KiB,16MiB")]
pub(crate) struct CollectiveArgs {
    #[command(flatten)]
    pub(super) packet: PacketArgs,
    /// How; by default what the cost model picks.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    algorithm: Vec<String>,
    #[command(flatten)]
    message: StackArgs,
    #[command(flatten)]
    missing: qsnet::Missing,
}

/// Ranks where none are asked for: the two of a ping-pong, if every fabric is a machine that was calibrated with one.
fn pair_if_calibrated(fabrics: &[String]) -> Result<Option<u32>, Failure> {
    for fabric in fabrics {
        if !is_calibrated(Source::open(fabric)?.spec()) {
            return Ok(None);
        }
    }
    Ok(Some(2))
}

impl CollectiveArgs {
    /// Options of every packet simulation.
    pub(crate) fn packet(&self) -> &PacketArgs {
        &self.packet
    }
    pub(crate) fn cells(&self, which: Which) -> Result<Vec<Cell>, Failure> {
        self.missing.refuse()?;
        if let Some(size) = self.packet.sizes().iter().find(|&&size| size % 8 != 0) {
            return Err(Failure::Input(format!("--size {size}: elements have 8 B; allowed are multiples of 8")));
        }
        let algorithms = algorithms(which, &self.algorithm)?;
        let bench = ProgramBench::Collective(which);
        self.packet.cells(pair_if_calibrated(&self.packet.fabric)?, |_, nodes| {
            Ok(self.message.programs(nodes, &bench, &algorithms))
        })
    }
}

impl CollectiveArgs {
    /// Broadcasts: QsNet's own where the fabric has it, the others over the message stack.
    pub(crate) fn broadcast(&self, output: &mut Output) -> Result<(), Failure> {
        let names = self.algorithm.iter();
        let (own, others): (Vec<String>, Vec<String>) =
            names.cloned().partition(|name| self.packet.fabric.iter().all(|at| qsnet::algorithm(at, name).is_some()));
        for fabric in &self.packet.fabric {
            for algorithm in own.iter().filter_map(|name| qsnet::algorithm(fabric, name)) {
                qsnet::run(
                    &qsnet::broadcasts(&self.packet, fabric, algorithm, (&self.message, &self.missing))?,
                    self.packet.vary(),
                    output,
                )?;
            }
        }
        if others.is_empty() && !own.is_empty() {
            return Ok(());
        }
        let rest = CollectiveArgs { algorithm: others, ..self.clone() };
        run_by(&self.packet, &rest.cells(Which::Bcast)?, output)
    }
}

/// Barriers over messages: one cell for each fabric, number of nodes and algorithm, which is not the fabric's own.
pub(crate) fn barriers(
    fabric: &str,
    nodes: &[u32],
    algorithm: &str,
    stack: &StackArgs,
    seed: u64,
) -> Result<Vec<Cell>, Failure> {
    let algorithms = algorithms(Which::Barrier, &[algorithm.to_owned()])?;
    let bench = ProgramBench::Collective(Which::Barrier);
    let cell = |&nodes: &u32| {
        let what = stack.programs(nodes, &bench, &algorithms);
        what.into_iter().map(move |what| Cell::plain(fabric, nodes, 0, what, seed))
    };
    Ok(nodes.iter().flat_map(cell).collect())
}

#[derive(clap::Args)]
#[command(after_help = "Example:
  hotlink simulate overlap --fabric w01-sci-d330 --size 64KiB,256KiB --spin fixed,daxpy --memory regular,registered")]
pub(crate) struct OverlapArgs {
    #[command(flatten)]
    packet: PacketArgs,
    #[command(flatten)]
    curve: CurveArgs,
    #[command(flatten)]
    message: StackArgs,
}

impl OverlapArgs {
    /// Options of every packet simulation.
    pub(crate) fn packet(&self) -> &PacketArgs {
        &self.packet
    }
    pub(crate) fn cells(&self) -> Result<Vec<Cell>, Failure> {
        self.curve.check(self.packet.sizes())?;
        self.packet.cells(Some(2), |_, nodes| {
            let bench = |(side, spin)| {
                let (sender, daxpy) = (side == Side::Sender, spin == Spin::Daxpy);
                ProgramBench::Overlap { sender, daxpy, shares: self.curve.compute.to_vec() }
            };
            Ok(self.curve.ways().flat_map(|way| self.message.programs(nodes, &bench(way), &[None])).collect())
        })
    }
}

/// What the table for people shows of a packet simulation.
const SHOWN: [&str; 46] = [
    "fabric",
    "benchmark",
    "nodes",
    "size_B",
    "algorithm",
    "background",
    "via",
    "semantics",
    "memory",
    "cache",
    "side",
    "compute_us",
    "overlap",
    "setup_us",
    "senders",
    "pairs",
    "direction",
    "rank_a",
    "rank_b",
    "times_median",
    "traffic",
    "load",
    "resource",
    "utilisation",
    "latency_us",
    "p93",
    "p99",
    "under_20us",
    "class",
    "time_s",
    "mops",
    "barrier_us",
    "messages_per_s",
    "mpi_share",
    "bandwidth_MBps",
    "bandwidth_per_node_MBps",
    "bound_bandwidth_MBps",
    "bound_bandwidth_per_node_MBps",
    "efficiency",
    "limiting_resource",
    "lost",
    "gone",
    "unreachable",
    "kind",
    "events",
    "wall_s",
];

/// Whether a fabric is a LogGP machine; one that cannot be opened says so when it runs.
fn is_loggp(fabric: &str) -> bool {
    Source::open(fabric).is_ok_and(|source| is_calibrated(source.spec()))
}

/// Runs the cells as `packet` asks: by the simulator, or by every engine of `--method`.
pub(crate) fn run_by(packet: &PacketArgs, cells: &[Cell], output: &mut Output) -> Result<(), Failure> {
    let methods = match packet.method {
        None => return run(cells, &packet.watching, output),
        // It alone answers every benchmark, but nothing on a machine without a network.
        Some(Methods::Packet) if !packet.fabric.iter().any(|fabric| is_loggp(fabric)) => {
            return run(cells, &packet.watching, output);
        }
        Some(methods) => methods,
    };
    let measured = Measured(packet.measured.records()?);
    let progress = output.progress("simulate", cells.len() as u64);
    let ticking = progress.ticking();
    let recorder = Recorder::new(&Stopwatch);
    let (mut records, mut notes) = (Vec::new(), Vec::new());
    for cell in cells {
        let source = Source::open(&cell.fabric)?;
        let exactly = Exactly::new(cell.clone(), &source);
        let question = exactly.question().ok_or_else(|| {
            Failure::Input(format!("--method {methods}: only the simulator answers this benchmark: --method packet"))
        })?;
        let others = ENGINES.into_iter().filter(|engine| engine.method() != exactly.method());
        let engines: Vec<&dyn Engine> =
            others.chain([&exactly as &dyn Engine, &measured]).filter(|engine| methods.asks(engine.method())).collect();
        let answers = ask_engines(&question, &source, &engines, &recorder)?;
        records.extend(answers.records());
        records.extend(answers.given.iter().flat_map(|answer| answer.more.clone()));
        notes.extend(answers.notes().iter().map(|note| format!("{} nodes, {} B: {note}", cell.nodes, cell.size)));
        progress.step();
    }
    drop((ticking, progress));
    packet.watching.write(&recorder.runs(), output)?;
    let keys: Vec<&str> = ["fabric", "benchmark", "method"].into_iter().chain(SHOWN.into_iter().skip(2)).collect();
    output.table(Table { notes, ..Table::of_keys(&records, &keys) });
    records.into_iter().for_each(|record| output.push(record));
    Ok(())
}

/// Runs the cells on all cores and prints their records in order, as they come.
pub(crate) fn run(cells: &[Cell], watching: &WatchOptions, output: &mut Output) -> Result<(), Failure> {
    let quick = output.vary(false);
    let vary = |cell: &Cell| if cell.sensitivity == Vary::No { quick } else { cell.sensitivity };
    // One answer's inputs are varied unasked, for the line under the table.
    let first = |(index, cell): (usize, &Cell)| Cell {
        sensitivity: if index == 0 { vary(cell) } else { cell.sensitivity },
        ..cell.clone()
    };
    let cells: Vec<Cell> = cells.iter().enumerate().map(first).collect();
    let progress = output.progress("simulate", cells.len() as u64);
    let ticking = progress.ticking();
    let recorder = Recorder::new(&progress);
    let mut records = Vec::new();
    cell::run(&cells, &recorder, |of_cell| {
        records.extend(of_cell.clone());
        of_cell.into_iter().for_each(|record| output.push(record));
        !output.is_closed()
    })?;
    drop(ticking);
    watching.write(&recorder.runs(), output)?;
    output.table(Table::of_keys(&records, &SHOWN));
    Ok(())
}

/// Pushes the records and their table.
pub(crate) fn print(records: Vec<Record>, output: &mut Output) {
    output.table(Table::of_keys(&records, &SHOWN));
    records.into_iter().for_each(|record| output.push(record));
}
