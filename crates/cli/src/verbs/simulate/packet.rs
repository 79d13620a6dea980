//! `hotlink simulate pingpong|saturation|alltoall|traffic`: benchmarks on the packet network.

use super::cell::{Cell, What};
use super::options::PacketArgs;
use crate::source::Source;
use crate::table::Table;
use crate::values::{Counts, Numbers};
use crate::{Failure, output::Output};
use hotlink_bench::Record;
use hotlink_fabric::spec::{Extents, TopologySpec};
use hotlink_sim::workload::{shared_link_pairs, turning_pairs};
use rayon::prelude::*;

#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  hotlink simulate pingpong --fabric myrinet-clos64 --size 8,4KiB --messages 1000000"
)]
pub(crate) struct PingPongArgs {
    #[command(flatten)]
    packet: PacketArgs,
    /// Messages in all, both ways.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    messages: u64,
    /// The two nodes; by default the first and the last.
    #[arg(long, value_name = "A,B", value_delimiter = ',', num_args = 1)]
    between: Vec<u32>,
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
    /// In what order a node serves the others.
    #[arg(long, value_enum, default_value_t = Order::LinearShift)]
    schedule: Order,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Order {
    /// In step k to the node k places on.
    LinearShift,
    /// In a random order of its own.
    Random,
}

#[derive(clap::Args)]
#[command(after_help = "Example:
  hotlink simulate traffic --fabric ib-ndr-fat-tree2 --nodes 512 --traffic uniform --load 0.1..1.0 --size 4KiB")]
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
}

impl PingPongArgs {
    pub(crate) fn cells(&self) -> Result<Vec<Cell>, Failure> {
        self.packet.cells(Some(2), |_, nodes| {
            let between = match self.between[..] {
                [] => [0, nodes - 1],
                [a, b] if a != b => [a, b],
                _ => return Err(Failure::Input("--between: two different nodes, such as 0,5".to_owned())),
            };
            Ok(vec![What::PingPong { between, messages: self.messages }])
        })
    }
}

impl SaturationArgs {
    pub(crate) fn cells(&self) -> Result<Vec<Cell>, Failure> {
        let (counted, counts) = match (&self.senders, &self.pairs) {
            (Some(counts), _) => ("senders", counts),
            (None, counts) => ("pairs", counts.as_ref().expect("clap asks for one of them")),
        };
        let counts = counts.to_u32().map_err(|what| Failure::Input(format!("--{counted}: {what}")))?;
        let most = counts.iter().copied().max().unwrap_or(1);
        let source = Source::open(&self.packet.fabric[0])?;
        let turning = counted == "pairs" && source.spec().is_some_and(|spec| turns(&spec.topology));
        self.packet.cells(Some(default_nodes(&source, most, turning)), |fabric, nodes| {
            let one = |&count: &u32| {
                let side = nodes.isqrt();
                let (pairs, needed) = match turning {
                    true => (turning_pairs(side, count), (count + 1) * (count + 1)),
                    false => (shared_link_pairs(nodes, count), 2 * count),
                };
                if nodes < needed || (turning && side * side != nodes) {
                    return Err(Failure::Input(format!(
                        "{fabric}: {count} {counted} need {needed} nodes or more, not {nodes}"
                    )));
                }
                Ok(What::Saturation { pairs, messages: self.messages, window: self.window, counted })
            };
            counts.iter().map(one).collect()
        })
    }
}

/// Whether pairs can turn at one node: a unidirectional torus of two dimensions whose dimensions meet in a B-Link.
fn turns(topology: &TopologySpec) -> bool {
    matches!(topology, TopologySpec::Cube { dimensions: 2, b_link: true, extents: Extents::PaddedCube, .. })
}

/// Nodes where none are asked for: M02's set-ups, two switches of a line or a ring or square just large enough.
fn default_nodes(source: &Source, most: u32, turning: bool) -> u32 {
    match source.spec().map(|spec| &spec.topology) {
        Some(TopologySpec::SwitchArray { ports, links, .. }) => 2 * (ports - links),
        _ if turning => (most + 1) * (most + 1),
        _ => 2 * most.max(1),
    }
}

impl AllToAllArgs {
    pub(crate) fn cells(&self) -> Result<Vec<Cell>, Failure> {
        self.packet.cells(None, |_, _| Ok(vec![What::AllToAll { random: self.schedule == Order::Random }]))
    }
}

impl TrafficArgs {
    pub(crate) fn cells(&self) -> Result<Vec<Cell>, Failure> {
        if let Some(load) = self.load.iter().find(|load| !(**load > 0.0 && **load <= 10.0)) {
            return Err(Failure::Input(format!("--load: {load}: allowed are shares of the bound above 0, up to 10")));
        }
        self.packet.cells(None, |_, _| {
            let what = |&load: &f64| What::Traffic { pattern: self.traffic.clone(), load, messages: self.messages };
            Ok(self.load.iter().map(what).collect())
        })
    }
}

/// What the table for people shows of a packet simulation.
const SHOWN: [&str; 21] = [
    "fabric",
    "benchmark",
    "nodes",
    "size_B",
    "senders",
    "pairs",
    "traffic",
    "load",
    "resource",
    "utilisation",
    "latency_us",
    "p99",
    "bandwidth_MBps",
    "bandwidth_per_node_MBps",
    "bound_bandwidth_MBps",
    "bound_bandwidth_per_node_MBps",
    "efficiency",
    "limiting_resource",
    "kind",
    "events",
    "wall_s",
];

/// Runs the cells on all cores and prints their records in order.
pub(crate) fn run(cells: &[Cell], output: &mut Output) -> Result<(), Failure> {
    let progress = output.progress("simulate", cells.len() as u64);
    let results: Vec<Result<Vec<Record>, String>> = cells
        .par_iter()
        .map(|cell| {
            let records = cell.run();
            progress.step();
            records
        })
        .collect();
    let mut records = Vec::new();
    for result in results {
        records.extend(result.map_err(Failure::Input)?);
    }
    print(records, output);
    Ok(())
}

/// Pushes the records and their table.
pub(crate) fn print(records: Vec<Record>, output: &mut Output) {
    output.table(Table::of_keys(&records, &SHOWN));
    records.into_iter().for_each(|record| output.push(record));
}
