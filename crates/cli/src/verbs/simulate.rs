//! `hotlink simulate`: benchmarks on simulated machines. One file per benchmark in `simulate/`.

mod barrier;
mod cache_study;
mod deposit;
mod goal;
mod jobs;
mod kernel;
mod options;
mod packet;
mod qsnet;
mod region;
mod run;
mod schedule;
mod stack;
mod streams;

use crate::Failure;
use hotlink_bench::Which;
use hotlink_paper::Output;
use hotlink_study::benchmarks;
#[cfg(test)]
use hotlink_study::simulate::request::Request;
use packet::Collective;
use run::Ask;

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
    /// A GOAL schedule on a LogGP machine or a packet network, or generated collectives on a LogGP machine.
    Goal(Box<goal::Args>),
    /// A schedule of any form on a packet network: GOAL, Chakra traces, plans of MSCCL and MSCCL++, JSON.
    Schedule(Box<schedule::Args>),
    /// Several jobs on one fabric at once: each one's time beside the others and alone, and where they meet.
    Jobs(Box<jobs::Args>),
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
    /// Memory that another node reaches: set-up, first and further accesses, holds, revocation (W01's SMI regions).
    Region(region::Args),
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
    /// Combined, a part at each node; the size is the part's (on GPUs, of all parts: `size_is`).
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
        Benchmark::Goal(args) => goal::run(args, output),
        Benchmark::Schedule(args) => schedule::run(args, output),
        Benchmark::Jobs(args) => jobs::run(args, output),
        Benchmark::Region(args) => region::run(args, output),
        Benchmark::CacheStudy(args) if args.plan().is_some() => {
            args.plan().map_or(Ok(()), |plan| super::sweep::run_plan(plan, &["simulate", "cache-study"], output))
        }
        benchmark => benchmark.ask(&mut |ask| run::run(ask, output)),
    }
}

/// The question that the options ask.
#[cfg(test)]
pub(crate) fn request(args: &Args) -> Result<Request, Failure> {
    let mut request = Err(Failure::Input("simulate goal: asks no question of this kind".to_owned()));
    args.benchmark.ask(&mut |ask| {
        request = ask.request();
        Ok(())
    })?;
    request
}

impl Benchmark {
    /// Calls `then` with the options that ask for a simulation.
    fn ask(&self, then: &mut dyn FnMut(&dyn Ask) -> Result<(), Failure>) -> Result<(), Failure> {
        match self {
            Benchmark::Barrier(args) => then(args),
            Benchmark::Deposit(args) => then(args),
            Benchmark::Goal(_) | Benchmark::Schedule(_) | Benchmark::Jobs(_) | Benchmark::Region(_) => Ok(()),
            Benchmark::Pingpong(args) => then(args),
            Benchmark::Stream(args) => then(args),
            Benchmark::Rate(args) => then(args),
            Benchmark::Pairs(args) => then(args),
            Benchmark::Kernel(args) => then(args),
            Benchmark::Semantics(args) => then(args),
            Benchmark::Saturation(args) => then(args),
            Benchmark::Alltoall(args) => then(args),
            Benchmark::CacheStudy(args) => then(args),
            Benchmark::Overlap(args) => then(args),
            Benchmark::Bcast(args) => then(&Collective(Which::Bcast, args)),
            Benchmark::Reduce(args) => then(&Collective(Which::Reduce, args)),
            Benchmark::Allreduce(args) => then(&Collective(Which::Allreduce, args)),
            Benchmark::Allgather(args) => then(&Collective(Which::Allgather, args)),
            Benchmark::Gather(args) => then(&Collective(Which::Gather, args)),
            Benchmark::Scatter(args) => then(&Collective(Which::Scatter, args)),
            Benchmark::ReduceScatter(args) => then(&Collective(Which::ReduceScatter, args)),
            Benchmark::Is(args) => then(args),
            Benchmark::Alltoallv(args) => then(&Collective(Which::Alltoallv, args)),
            Benchmark::Traffic(args) => then(args),
        }
    }
}
