//! `hotlink simulate`: benchmarks on simulated machines. One file per benchmark in `simulate/`.

mod barrier;
mod cache_study;
mod deposit;
mod goal;
mod kernel;
mod options;
mod packet;
mod qsnet;
mod stack;
mod streams;

use crate::{Failure, output::Output};
use hotlink_bench::Which;
use hotlink_study::benchmarks;

const EXAMPLES: &str = "Examples:
  hotlink simulate barrier --fabric ib-ndr-fat-tree3 --nodes 65536 --algorithm dissemination
  hotlink simulate goal --generate barrier:dissemination --ranks 2..1024..x2 --loggp L=2us,o=0.5us,g=50ns,G=0";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\nWhich side has a benchmark:\n{}", benchmarks::table()))]
pub(crate) struct Args {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(clap::Subcommand)]
enum Benchmark {
    /// Barriers on a fabric's own barrier network, with arrival skew, or by messages, and what limits them.
    Barrier(barrier::Args),
    /// A block into local and remote memory, contiguous and strided: memory, host bus, adapter (K98's first level).
    Deposit(deposit::Args),
    /// A GOAL schedule (LogGOPSim's text) or generated collectives on a LogGP machine.
    Goal(Box<goal::Args>),
    /// One message to and fro between two nodes.
    Pingpong(packet::PingPongArgs),
    /// Bandwidth of windows of messages between two nodes, one way and both ways.
    Stream(streams::StreamArgs),
    /// Short messages per second, of one pair of nodes and of many.
    Rate(streams::RateArgs),
    /// Ping-pong between every two nodes, one pair at a time; slow pairs are named.
    Pairs(streams::PairsArgs),
    /// An application bound by barriers: H06's Abinit, or proportions of your own.
    Kernel(streams::KernelArgs),
    /// A message sent when its receiver waits for it, or at any time (K98's two flavours of message passing).
    Semantics(packet::SemanticsArgs),
    /// Senders that share a link, pairs that share a bus: the aggregate against their number.
    Saturation(packet::SaturationArgs),
    /// Every node sends to every other node at once.
    Alltoall(packet::AllToAllArgs),
    /// The same with parts of different sizes; on a machine calibrated as LogGP, of one size.
    Alltoallv(packet::CollectiveArgs),
    /// Computation while a message is under way: how much of it hides (W01).
    Overlap(packet::OverlapArgs),
    /// From node 0 to all, by messages or by the fabric's own tree.
    Bcast(packet::CollectiveArgs),
    /// Combined at node 0.
    Reduce(packet::CollectiveArgs),
    /// Combined at all nodes.
    Allreduce(packet::CollectiveArgs),
    /// Every node's part to all.
    Allgather(packet::CollectiveArgs),
    /// Every node's part to node 0.
    Gather(packet::CollectiveArgs),
    /// A part from node 0 to every node.
    Scatter(packet::CollectiveArgs),
    /// Combined, a part at each node; the size is the part's.
    ReduceScatter(packet::CollectiveArgs),
    /// Policies of the cache of registrations and connections, under traces of buffer reuse (W01).
    CacheStudy(cache_study::Args),
    /// NPB's Integer Sort, over the message stack or on a machine calibrated as LogGP.
    Is(kernel::IsArgs),
    /// Open loop: accepted load and latency against offered load.
    Traffic(packet::TrafficArgs),
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    match &args.benchmark {
        Benchmark::Barrier(args) => barrier::run(args, output),
        Benchmark::Deposit(args) => deposit::run(args, output),
        Benchmark::Goal(args) => goal::run(args, output),
        Benchmark::Pingpong(args) => packet::run_by(args.packet(), &args.cells()?, output),
        Benchmark::Stream(args) => packet::run_by(args.packet(), &args.cells()?, output),
        Benchmark::Rate(args) => packet::run_by(args.packet(), &args.cells()?, output),
        Benchmark::Pairs(args) => packet::run_by(args.packet(), &args.cells()?, output),
        Benchmark::Kernel(args) => args.run(output),
        Benchmark::Semantics(args) => packet::run_by(args.packet(), &args.cells()?, output),
        Benchmark::Saturation(args) => packet::run_by(args.packet(), &args.cells()?, output),
        Benchmark::Alltoall(args) => packet::run_by(args.packet(), &args.cells()?, output),
        Benchmark::CacheStudy(args) => cache_study::run(args, output),
        Benchmark::Overlap(args) => packet::run_by(args.packet(), &args.cells()?, output),
        Benchmark::Bcast(args) => args.broadcast(output),
        Benchmark::Reduce(args) => packet::run_by(args.packet(), &args.cells(Which::Reduce)?, output),
        Benchmark::Allreduce(args) => packet::run_by(args.packet(), &args.cells(Which::Allreduce)?, output),
        Benchmark::Allgather(args) => packet::run_by(args.packet(), &args.cells(Which::Allgather)?, output),
        Benchmark::Gather(args) => packet::run_by(args.packet(), &args.cells(Which::Gather)?, output),
        Benchmark::Scatter(args) => packet::run_by(args.packet(), &args.cells(Which::Scatter)?, output),
        Benchmark::ReduceScatter(args) => packet::run_by(args.packet(), &args.cells(Which::ReduceScatter)?, output),
        Benchmark::Is(args) => kernel::sort(args, output),
        Benchmark::Alltoallv(args) => packet::run_by(args.packet(), &args.cells(Which::Alltoallv)?, output),
        Benchmark::Traffic(args) => packet::run_by(args.packet(), &args.cells()?, output),
    }
}
