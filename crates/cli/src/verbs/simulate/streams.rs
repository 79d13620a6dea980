//! `hotlink simulate stream|rate|pairs|kernel`: the code of `measure` on simulated ranks.

use super::options::{PacketArgs, asked};
use super::run::Ask;
use super::stack::StackArgs;
use crate::Failure;
use crate::values::Counts;
use crate::verbs::benches;
use crate::verbs::watching::WatchOptions;
use crate::words::Fabrics;
use hotlink_bench::Plan;
use hotlink_study::simulate::request::{Benchmark, Request};

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
    /// Let this many pairs of nodes send at once: a list or range. [default: 1, or half of --nodes]
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
#[command(after_help = "Examples:
  hotlink simulate kernel --fabric gige,ib-ndr-fat-tree2 --nodes 4,16 --skew 10
  hotlink simulate kernel --fabric gige,hwbarr --nodes 4 --skew 171.5 --barrier-us 107.5 --iterations 2000

The last example has the skew and the time in a barrier that `reproduce H06` fits to Abinit. It gains more than H06 does:
the simulated barrier on Gigabit Ethernet takes longer than H06's 80 us, for the last rank, too.")]
pub(crate) struct KernelArgs {
    /// Fabrics to simulate: names of the catalog, or files.
    #[arg(long, required = true, value_name = "LIST")]
    fabric: Vec<Fabrics>,
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

impl Ask for StreamArgs {
    fn packet(&self) -> Option<&PacketArgs> {
        Some(&self.packet)
    }
    fn request(&self) -> Result<Request, Failure> {
        let benches::StreamOptions { direction, calls, window } = &self.stream;
        let (directions, calls, window) = (direction.clone(), *calls, window.window);
        self.packet.request(Benchmark::Stream { directions, calls, window }, &self.message)
    }
}

impl Ask for RateArgs {
    fn packet(&self) -> Option<&PacketArgs> {
        Some(&self.packet)
    }
    fn request(&self) -> Result<Request, Failure> {
        let pairs = self.pairs.as_ref().map(Counts::to_u32).transpose();
        let pairs = pairs.map_err(|what| Failure::Input(format!("--pairs: {what}")))?;
        self.packet.request(Benchmark::Rate { pairs, window: self.window.window }, &self.message)
    }
}

impl Ask for PairsArgs {
    fn packet(&self) -> Option<&PacketArgs> {
        Some(&self.packet)
    }
    fn request(&self) -> Result<Request, Failure> {
        self.packet.request(Benchmark::Pairs { slow: self.slow.slow }, &self.message)
    }
}

impl Ask for KernelArgs {
    fn watching(&self) -> Option<&WatchOptions> {
        Some(&self.watching)
    }
    fn request(&self) -> Result<Request, Failure> {
        let kernel = self.kernel.bench(Plan::once())?;
        let seed = kernel.seed;
        let fabrics: Vec<String> = Fabrics::all(&self.fabric).cloned().collect();
        let on = (&fabrics[..], Some(&self.nodes));
        let asked = asked(Benchmark::Kernel(kernel), on, &self.message, (&self.watching, self.uncertain))?;
        Ok(Request { seed, ..asked })
    }
}
