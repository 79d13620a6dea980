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
    /// Run barriers on a fabric's own barrier network, with arrival skew, or by messages; report what limits them.
    Barrier(barrier::Args),
    /// Store a block into local and remote memory, contiguous and strided: memory, host bus, adapter (K98's first level).
    Deposit(deposit::Args),
    /// Run a GOAL schedule on a LogGP machine or a packet network, or generated collectives on a LogGP machine.
    Goal(Box<goal::Args>),
    /// Run a schedule of any form on a packet network: GOAL, Chakra traces, plans of MSCCL and MSCCL++, JSON.
    Schedule(Box<schedule::Args>),
    /// Run several jobs on one fabric at once: the time of each alone and with the others, and the links that they share.
    Jobs(Box<jobs::Args>),
    /// Send a message back and forth between two nodes.
    Pingpong(packet::PingPongArgs),
    /// Measure the bandwidth of windows of messages between two nodes, one way and both ways.
    Stream(streams::StreamArgs),
    /// Count short messages per second, of one pair of nodes and of many.
    Rate(streams::RateArgs),
    /// Run a ping-pong between every two nodes, one pair at a time, and name slow pairs.
    Pairs(streams::PairsArgs),
    /// Run an application that is bound by barriers: H06's Abinit, or proportions of your own.
    Kernel(streams::KernelArgs),
    /// Compare messages that wait for their receiver with messages sent at any time (K98's two flavours of message passing).
    Semantics(packet::SemanticsArgs),
    /// Let several senders share a link, or pairs a bus: aggregate bandwidth by their number.
    Saturation(packet::SaturationArgs),
    /// Let every node send to every other node at once (all-to-all).
    Alltoall(packet::AllToAllArgs),
    /// Run an all-to-all with parts of different sizes; of equal sizes on a machine calibrated as LogGP.
    Alltoallv(packet::CollectiveArgs),
    /// Compute while a message is under way, and report how much of the message it hides (W01).
    Overlap(packet::OverlapArgs),
    /// Reach another node's memory: registration, first and further accesses, holds, revocation (W01's SMI regions).
    Region(region::Args),
    /// Broadcast from node 0 to all nodes, by messages or by the fabric's own tree.
    Bcast(packet::CollectiveArgs),
    /// Combine the values of all nodes at node 0.
    Reduce(packet::CollectiveArgs),
    /// Combine the values of all nodes at every node.
    Allreduce(packet::CollectiveArgs),
    /// Send every node's part to all nodes.
    Allgather(packet::CollectiveArgs),
    /// Collect every node's part at node 0.
    Gather(packet::CollectiveArgs),
    /// Send a part from node 0 to every node.
    Scatter(packet::CollectiveArgs),
    /// Combine the values of all nodes and leave a part at each; the size is the part's (on GPUs, of all parts: `size_is`).
    ReduceScatter(packet::CollectiveArgs),
    /// Compare policies of the cache of registrations and connections, under traces of buffer reuse (W01).
    CacheStudy(cache_study::Args),
    /// Run NPB's Integer Sort, over the message stack or on a machine calibrated as LogGP.
    Is(kernel::IsArgs),
    /// Offer load in an open loop: accepted load and latency by offered load.
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
