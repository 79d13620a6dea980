//! `hotlink simulate`: benchmarks on simulated machines. One file per benchmark in `simulate/`.

mod barrier;
mod cell;
mod deposit;
mod goal;
mod options;
mod packet;

use crate::{Failure, output::Output};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate goal --generate barrier:dissemination --ranks 2..1024..x2 --loggp L=2us,o=0.5us,g=50ns,G=0")]
pub(crate) struct Args {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(clap::Subcommand)]
enum Benchmark {
    /// Barriers on a fabric's own barrier network, with arrival skew, and what limits them.
    Barrier(barrier::Args),
    /// A block into local and remote memory, contiguous and strided: memory, host bus, adapter (K98's first level).
    Deposit(deposit::Args),
    /// A GOAL schedule (LogGOPSim's text) or generated collectives on a LogGP machine.
    Goal(goal::Args),
    /// One message to and fro between two nodes.
    Pingpong(packet::PingPongArgs),
    /// Senders that share a link, pairs that share a bus: the aggregate against their number.
    Saturation(packet::SaturationArgs),
    /// Every node sends to every other node at once.
    Alltoall(packet::AllToAllArgs),
    /// Open loop: accepted load and latency against offered load.
    Traffic(packet::TrafficArgs),
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    match &args.benchmark {
        Benchmark::Barrier(args) => barrier::run(args, output),
        Benchmark::Deposit(args) => deposit::run(args, output),
        Benchmark::Goal(args) => goal::run(args, output),
        Benchmark::Pingpong(args) => packet::run(&args.cells()?, output),
        Benchmark::Saturation(args) => packet::run(&args.cells()?, output),
        Benchmark::Alltoall(args) => packet::run(&args.cells()?, output),
        Benchmark::Traffic(args) => packet::run(&args.cells()?, output),
    }
}
