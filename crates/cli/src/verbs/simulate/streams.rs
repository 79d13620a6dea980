//! `hotlink simulate stream|rate|pairs|kernel`: the code of `measure` on simulated ranks.

use super::options::{PacketArgs, watched};
use super::packet;
use super::stack::StackArgs;
use crate::values::Counts;
use crate::verbs::benches;
use crate::verbs::watching::WatchOptions;
use crate::{Failure, output::Output};
use hotlink_bench::{Calls, Direction, Plan};
use hotlink_study::cell::Cell;
use hotlink_study::cell::ProgramBench;
use hotlink_study::cell::Streamed;

#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  hotlink simulate stream --fabric w01-sci-d330 --size 8,4KiB,64KiB --direction uni,bi"
)]
pub(crate) struct StreamArgs {
    #[command(flatten)]
    packet: PacketArgs,
    #[command(flatten)]
    stream: benches::StreamOptions,
    #[command(flatten)]
    message: StackArgs,
}

#[derive(clap::Args)]
#[command(after_help = "Example:\n  hotlink simulate rate --fabric ib-ndr-fat-tree2 --pairs 1..8..x2 --size 8,64,512")]
pub(crate) struct RateArgs {
    #[command(flatten)]
    packet: PacketArgs,
    /// Pairs of nodes that send at once: a list or range [default: 1, or half of --nodes].
    #[arg(long, value_name = "LIST")]
    pairs: Option<Counts>,
    #[command(flatten)]
    window: benches::WindowOptions,
    #[command(flatten)]
    message: StackArgs,
}

#[derive(clap::Args)]
#[command(after_help = "Example:\n  hotlink simulate pairs --fabric sci-torus2d --nodes 9 --size 8,64KiB")]
pub(crate) struct PairsArgs {
    #[command(flatten)]
    packet: PacketArgs,
    #[command(flatten)]
    slow: benches::SlowOptions,
    #[command(flatten)]
    message: StackArgs,
}

#[derive(clap::Args)]
#[command(after_help = "Example:\n  hotlink simulate kernel --fabric gige,ib-ndr-fat-tree2 --nodes 4,16 --skew 10")]
pub(crate) struct KernelArgs {
    /// Fabrics: names of the catalog or files.
    #[arg(long, value_delimiter = ',', required = true, value_name = "LIST")]
    fabric: Vec<String>,
    /// Numbers of nodes: a list or range.
    #[arg(long, alias = "ranks", value_name = "LIST", default_value = "2")]
    nodes: Counts,
    #[command(flatten)]
    kernel: benches::KernelOptions,
    #[command(flatten)]
    message: StackArgs,
    #[command(flatten)]
    watching: WatchOptions,
    #[command(flatten)]
    uncertain: super::options::UncertainArgs,
}

impl StreamArgs {
    /// Options of every packet simulation.
    pub(crate) fn packet(&self) -> &PacketArgs {
        &self.packet
    }
    pub(crate) fn cells(&self) -> Result<Vec<Cell>, Failure> {
        benches::check_sizes(self.packet.sizes())?;
        let (calls, window) = (self.stream.calls, self.stream.window.window);
        self.packet.cells(Some(2), |_, nodes| {
            let one = |&direction: &Direction| {
                let streamed = Streamed { benchmark: "stream", pairs: 1, direction, calls, window };
                self.message.programs(nodes, &ProgramBench::Stream(streamed), &[None])
            };
            Ok(self.stream.direction.iter().flat_map(one).collect())
        })
    }
}

impl RateArgs {
    /// Options of every packet simulation.
    pub(crate) fn packet(&self) -> &PacketArgs {
        &self.packet
    }
    pub(crate) fn cells(&self) -> Result<Vec<Cell>, Failure> {
        benches::check_sizes(self.packet.sizes())?;
        let counts = self.pairs.as_ref().map(Counts::to_u32).transpose();
        let counts = counts.map_err(|what| Failure::Input(format!("--pairs: {what}")))?;
        let most = counts.iter().flatten().copied().max().unwrap_or(1);
        self.packet.cells(Some(2 * most), |fabric, nodes| {
            let one = |pairs: u32| {
                if 2 * pairs > nodes {
                    let needed = 2 * pairs;
                    return Err(Failure::Input(format!("{fabric}: {pairs} pairs need {needed} nodes, not {nodes}")));
                }
                let (direction, calls, window) = (Direction::Uni, Calls::Windowed, self.window.window);
                let streamed = Streamed { benchmark: "rate", pairs, direction, calls, window };
                Ok(self.message.programs(nodes, &ProgramBench::Stream(streamed), &[None]))
            };
            let counts = counts.clone().unwrap_or_else(|| vec![nodes / 2]);
            Ok(counts.into_iter().map(one).collect::<Result<Vec<_>, _>>()?.concat())
        })
    }
}

impl PairsArgs {
    /// Options of every packet simulation.
    pub(crate) fn packet(&self) -> &PacketArgs {
        &self.packet
    }
    pub(crate) fn cells(&self) -> Result<Vec<Cell>, Failure> {
        self.packet.cells(Some(4), |_, nodes| {
            benches::check_pairs(nodes)?;
            Ok(self.message.programs(nodes, &ProgramBench::Pairs { slow: self.slow.slow }, &[None]))
        })
    }
}

impl KernelArgs {
    pub(crate) fn run(&self, output: &mut Output) -> Result<(), Failure> {
        let mut cells = self.cells()?;
        watched(&mut cells, &self.watching)?;
        packet::run(&cells, &self.watching, output)
    }
    fn cells(&self) -> Result<Vec<Cell>, Failure> {
        let nodes = self.nodes.to_u32().map_err(|what| Failure::Input(format!("--nodes: {what}")))?;
        let bench = ProgramBench::Kernel(self.kernel.bench(Plan::once()));
        let cell = |fabric: &String, nodes: u32| {
            let programs = self.message.programs(nodes, &bench, &[None]);
            let sensitivity = self.uncertain.vary();
            let plain = |what| Cell { sensitivity, ..Cell::plain(fabric, nodes, 0, what, 1) };
            programs.into_iter().map(plain).collect::<Vec<_>>()
        };
        let of = |fabric| nodes.iter().flat_map(move |&nodes| cell(fabric, nodes));
        Ok(self.fabric.iter().flat_map(of).collect())
    }
}
