//! `hotlink simulate pingpong|saturation|alltoall|traffic|overlap` and collectives: options, and the question they ask.

use super::options::PacketArgs;
use super::qsnet::Missing;
use super::run::Ask;
use super::stack::StackArgs;
use crate::Failure;
use crate::values::{Counts, Numbers};
use crate::verbs::benches::CurveArgs;
use crate::words::word;
use hotlink_bench::Which;
use hotlink_fabric::units::Time;
use hotlink_study::cell::Offered;
use hotlink_study::options::{Order, SendMode, Stack};
use hotlink_study::simulate::request::{Benchmark, LOADS, Request};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate pingpong --fabric myrinet-clos64 --size 8,4KiB --messages 1000000
  hotlink simulate pingpong --fabric w01-sci-d330 --size 1KiB..4MiB --memory shared,private --cache lru")]
pub(crate) struct PingPongArgs {
    #[command(flatten)]
    packet: PacketArgs,
    /// Simulate the network alone, or a program on ranks. Any option of the message stack asks for the latter. [default:
    /// packet, unless an option asks for message]
    #[arg(long, value_parser = word::<Stack>())]
    stack: Option<Stack>,
    #[command(flatten)]
    message: StackArgs,
    /// Send this many messages in all, counted over both directions. [default: 1000; above 64 KiB as many as make 64 MiB, 10
    /// at least]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    messages: Option<u64>,
    /// Use these two nodes. [default: the first and the last]
    #[arg(long, value_name = "A,B", value_parser = two_nodes)]
    between: Option<[u32; 2]>,
}

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate semantics --fabric k98-myrinet,k98-clustar --size 4..1MiB
  hotlink simulate semantics --fabric k98-sci --size 1MiB --via adapter,tcp")]
pub(crate) struct SemanticsArgs {
    #[command(flatten)]
    packet: PacketArgs,
    /// Choose which kinds of send are simulated.
    #[arg(long, value_parser = word::<SendMode>(), value_delimiter = ',', default_value = "restricted,postal")]
    semantics: Vec<SendMode>,
    #[command(flatten)]
    message: StackArgs,
}

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate saturation --fabric sci-ring --senders 1..4 --size 4KiB..64KiB
  hotlink simulate saturation --fabric sci-torus2d --pairs 1..3
  hotlink simulate saturation --fabric myrinet-minimal --senders 1..4 --size 4KiB,64KiB,256KiB
  hotlink simulate saturation --fabric ib-ndr-fat-tree2 --nodes 64 --random-pairs --messages 10 --size 256KiB --paths flow,adaptive")]
pub(crate) struct SaturationArgs {
    #[command(flatten)]
    packet: PacketArgs,
    /// Let this many senders send at once across the same link (M02 Figs. 5, 11).
    #[arg(long, value_name = "LIST", conflicts_with = "pairs")]
    senders: Option<Counts>,
    /// Let this many pairs send at once that all turn at the same node of a 2-D torus (M02 Fig. 7). On other fabrics this is
    /// the same as --senders.
    #[arg(long, value_name = "LIST", default_value = "1")]
    pairs: Counts,
    /// Let all nodes exchange messages in random pairs, as MPI_Sendrecv does. The bandwidth is the mean of the pairs' own, each
    /// way (effective bisection bandwidth).
    #[arg(long, conflicts_with_all = ["senders", "pairs", "window"])]
    random_pairs: bool,
    /// Let each pair send about this many messages in the measured part, or exchange as often with --random-pairs.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    messages: u64,
    /// Let a pair keep this many messages in flight. [default: 1, as with blocking sends, where the fabric states
    /// message passing's times; else 2]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    window: Option<u32>,
}

#[derive(clap::Args)]
#[command(after_help = "Example:\n  hotlink simulate alltoall --fabric sci-torus2d --nodes 16 --size 64KiB")]
pub(crate) struct AllToAllArgs {
    #[command(flatten)]
    packet: PacketArgs,
    /// Simulate the network alone, or a program on ranks. Any option of the message stack asks for the latter. [default:
    /// packet, unless an option asks for message]
    #[arg(long, value_parser = word::<Stack>())]
    stack: Option<Stack>,
    /// Run this algorithm over the message stack: linear, pairwise, bruck or ring; mpich or openmpi take that MPI's own
    /// rules. On GPUs: pairwise or hierarchical. [default: the cost model's choice, on GPUs pairwise]
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    algorithm: Vec<String>,
    /// On GPUs, send messages with this protocol: simple or ll. [default: ll for short messages, as NCCL does]
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    protocol: Vec<String>,
    #[command(flatten)]
    message: StackArgs,
    /// Choose the order in which a node sends to the others.
    #[arg(long, value_parser = word::<Order>(), default_value_t = Order::LinearShift)]
    schedule: Order,
    /// Let links and switches fail, come back or degrade as this plan says.
    #[arg(long, value_name = "PLAN.toml")]
    faults: Option<String>,
}

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate traffic --fabric ib-ndr-fat-tree2 --nodes 512 --traffic uniform --load 0.1..1.0 --size 4KiB
  hotlink simulate traffic --fabric eth-400g-leaf-spine --nodes 64 --load 0.5 --size websearch,uniform:1KiB..1MiB
  hotlink simulate traffic --fabric ib-ndr-fat-tree2 --nodes 64 --load 0.8 --size 4KiB --series 10us --json
  hotlink simulate traffic --fabric slingshot-dragonfly --nodes 512 --traffic permutation:group-shift --paths minimal,valiant,ugal
  hotlink simulate traffic --fabric ib-ndr-fat-tree2 --nodes 80 --load 0.5 --faults plan.toml

A size is a number of bytes or a distribution: websearch, datamining, storage (tables of the catalog), uniform:MIN..MAX,
exponential:MEAN or file:TABLE. A line of TABLE has a number of bytes and the percentage of messages of at most as many.")]
pub(crate) struct TrafficArgs {
    #[command(flatten)]
    packet: PacketArgs,
    /// Choose which nodes send to which, as in `analyze`, such as uniform, permutation:random or hot-spot:10.
    #[arg(long, default_value = "uniform", value_name = "PATTERN")]
    traffic: String,
    /// Offer these loads, as shares of the fair bandwidth that the load count gives for this pattern.
    #[arg(long, value_name = "LIST", default_value = LOADS)]
    load: Numbers,
    /// Count this many messages of an average node. Half as many run before and do not count. [default: as many as the
    /// statistics need, within 8 million packets]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    messages: Option<u32>,
    /// Run until the 95 % intervals of mean and median reach at most this share to either side.
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, conflicts_with = "messages")]
    precision: f64,
    /// Sample every link, bus and adapter at this interval: utilisation and queue of the eight busiest, or of all with
    /// --links.
    #[arg(long, value_name = "TIME", value_parser = super::schedule::time)]
    series: Option<Time>,
    /// Let links and switches fail, come back or degrade as this plan says.
    #[arg(long, value_name = "PLAN.toml")]
    faults: Option<String>,
}

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate bcast --fabric qsnet --nodes 64 --size 8..1MiB --algorithm hardware,tree --background uniform:1.0
  hotlink simulate bcast --fabric ib-ndr-fat-tree3 --nodes 1024 --size 8..1MiB --algorithm binomial,pipelined
  hotlink simulate allreduce --fabric sharp --nodes 128 --size 8,4KiB --algorithm hardware,recursive-doubling
  hotlink simulate allreduce --fabric slingshot-dragonfly --nodes 256 --size 64KiB,16MiB
  hotlink simulate allreduce --fabric ib-ndr-fat-tree2 --nodes 80 --size 1MiB --faults plan.toml
  hotlink simulate bcast --fabric ib-ndr-fat-tree2 --nodes 16 --size 8..1MiB --algorithm mpich,openmpi
  hotlink simulate allreduce --fabric hgx-h100-rail --nodes 64 --size 8..1GiB..x8
  hotlink simulate allreduce --fabric hgx-h100-rail --nodes 64 --size 1MiB --algorithm ring,tree --protocol ll,ll128,simple")]
pub(crate) struct CollectiveArgs {
    #[command(flatten)]
    packet: PacketArgs,
    /// Simulate the network alone or a program on ranks. Fabrics that describe GPUs run the GPUs' own kernels unless message
    /// is asked for. [default: message, on fabrics of GPUs their kernels]
    #[arg(long, value_parser = word::<Stack>())]
    stack: Option<Stack>,
    /// Run this algorithm; mpich or openmpi take that MPI's own rules for size and ranks. A wrong name prints the list.
    /// [default: the cost model's choice; on GPUs that of NCCL's model, by size]
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    algorithm: Vec<String>,
    /// On GPUs, send messages with this protocol: simple, ll128 or ll. [default: by NCCL's model, by size]
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    protocol: Vec<String>,
    #[command(flatten)]
    message: StackArgs,
    #[command(flatten)]
    missing: Missing,
}

#[derive(clap::Args)]
#[command(after_help = "Example:
  hotlink simulate overlap --fabric w01-sci-d330 --size 64KiB,256KiB --spin fixed,daxpy --memory shared,private
  hotlink simulate overlap --fabric w01-sci-d330 --spin daxpy,threads --threads 2 --side sender")]
pub(crate) struct OverlapArgs {
    #[command(flatten)]
    packet: PacketArgs,
    #[command(flatten)]
    curve: CurveArgs,
    #[command(flatten)]
    message: StackArgs,
}

fn two_nodes(text: &str) -> Result<[u32; 2], String> {
    let nodes: Option<Vec<u32>> = text.split(',').map(|node| node.trim().parse().ok()).collect();
    match nodes.as_deref() {
        Some(&[a, b]) if a != b => Ok([a, b]),
        _ => Err("two different nodes, such as 0,5".to_owned()),
    }
}

impl Ask for PingPongArgs {
    fn packet(&self) -> Option<&PacketArgs> {
        Some(&self.packet)
    }
    fn request(&self) -> Result<Request, Failure> {
        let benchmark = Benchmark::PingPong { messages: self.messages, between: self.between };
        Ok(Request { stack: self.stack, ..self.packet.request(benchmark, &self.message)? })
    }
}

impl Ask for SemanticsArgs {
    fn packet(&self) -> Option<&PacketArgs> {
        Some(&self.packet)
    }
    fn request(&self) -> Result<Request, Failure> {
        self.packet.request(Benchmark::Semantics(self.semantics.clone()), &self.message)
    }
}

impl Ask for SaturationArgs {
    fn packet(&self) -> Option<&PacketArgs> {
        Some(&self.packet)
    }
    fn request(&self) -> Result<Request, Failure> {
        if self.random_pairs {
            let benchmark = Benchmark::Exchanges { times: self.messages };
            return self.packet.request(benchmark, &StackArgs::default());
        }
        let (turning, counted, counts) = match &self.senders {
            Some(senders) => (false, "senders", senders),
            None => (true, "pairs", &self.pairs),
        };
        let counts = counts.to_u32().map_err(|what| Failure::Input(format!("--{counted}: {what}")))?;
        let benchmark = Benchmark::Saturation { turning, counts, messages: self.messages, window: self.window };
        self.packet.request(benchmark, &StackArgs::default())
    }
}

impl Ask for AllToAllArgs {
    fn packet(&self) -> Option<&PacketArgs> {
        Some(&self.packet)
    }
    fn request(&self) -> Result<Request, Failure> {
        let (algorithms, protocols, order) = (self.algorithm.clone(), self.protocol.clone(), self.schedule);
        let benchmark = Benchmark::Collective { which: Which::Alltoall, algorithms, protocols, order };
        let request = self.packet.request(benchmark, &self.message)?;
        Ok(Request { stack: self.stack, faults: self.faults.clone(), ..request })
    }
}

impl Ask for TrafficArgs {
    fn packet(&self) -> Option<&PacketArgs> {
        Some(&self.packet)
    }
    fn request(&self) -> Result<Request, Failure> {
        let offered = Offered {
            messages: self.messages,
            precision: self.precision,
            series_us: self.series.map(|time| time.us()),
            ..Offered::plain(&self.traffic, 1.0)
        };
        let benchmark = Benchmark::Traffic { offered, loads: self.load.to_vec(), laws: Vec::new() };
        let request = self.packet.request(benchmark, &StackArgs::default())?;
        Ok(Request { faults: self.faults.clone(), ..request })
    }
}

/// The options of one of the collectives.
pub(crate) struct Collective<'a>(pub(crate) Which, pub(crate) &'a CollectiveArgs);

impl Ask for Collective<'_> {
    fn packet(&self) -> Option<&PacketArgs> {
        Some(&self.1.packet)
    }
    fn request(&self) -> Result<Request, Failure> {
        let Collective(which, args) = *self;
        let (algorithms, protocols) = (args.algorithm.clone(), args.protocol.clone());
        let benchmark = Benchmark::Collective { which, algorithms, protocols, order: Order::LinearShift };
        let request = args.packet.request(benchmark, &args.message)?;
        Ok(args.missing.of(Request { stack: args.stack, ..request }))
    }
}

impl Ask for OverlapArgs {
    fn packet(&self) -> Option<&PacketArgs> {
        Some(&self.packet)
    }
    fn request(&self) -> Result<Request, Failure> {
        let CurveArgs { side, spin, threads, compute } = &self.curve;
        let (sides, spins, threads, shares) = (side.clone(), spin.clone(), *threads, compute.to_vec());
        self.packet.request(Benchmark::Overlap { sides, spins, threads, shares }, &self.message)
    }
}
