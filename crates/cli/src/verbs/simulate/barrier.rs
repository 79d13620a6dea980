//! `hotlink simulate barrier`: barriers on dedicated barrier networks, event by event.

use super::options::asked;
use super::run::Ask;
use super::stack::StackArgs;
use crate::verbs::question::VariantArgs;
use crate::verbs::watching::WatchOptions;
use crate::words::{Fabrics, word};
use crate::{Failure, values::Counts};
use hotlink_study::options::Stack;
use hotlink_study::simulate::barrier::{Barriers, MOST_REPETITIONS};
use hotlink_study::simulate::request::{Benchmark, Request};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate barrier --fabric bluegene-l --nodes 65536 --algorithm hardware --json
  hotlink simulate barrier --fabric hwbarr --nodes 2..1024..x2
  hotlink simulate barrier --fabric ib-ndr-fat-tree2,gige --nodes 16,64
  hotlink simulate barrier --fabric qsnet --nodes 2..1024..x2 --algorithm hardware,tree,nic
  hotlink simulate barrier --fabric hwbarr-hx8k --nodes 4..256..x2
  hotlink simulate barrier --fabric bluegene-l --nodes 512,1024 --partition
  hotlink simulate barrier --fabric hwbarr --nodes 4 --skew-us 5 --repetitions 1000 --seed 1
  hotlink simulate barrier --fabric hwbarr --nodes 4,64 --write-us 0.3 --read-us 0.3")]
pub(crate) struct Args {
    /// Fabrics to simulate: names of the catalog, or files.
    #[arg(long, required = true, value_name = "LIST")]
    fabric: Vec<Fabrics>,
    #[command(flatten)]
    variant: VariantArgs,
    /// Numbers of nodes: a list or range, such as 4,9,16 or 2..1024..x2.
    #[arg(long, value_name = "LIST")]
    nodes: Counts,
    /// Run this algorithm. hardware is the fabric's own barrier network, nic is QsNet's adapters. Algorithms by
    /// messages: central, tree, dissemination, n-way, tournament. Algorithms of other MPIs: recursive-doubling,
    /// double-ring. The rules of another MPI: mpich, openmpi. [default: hardware where the fabric has a barrier
    /// network, else the cost model's choice, which the record names]
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    algorithm: Vec<String>,
    /// Make the nodes a partition with a top of its own, where the network can be cut.
    #[arg(long)]
    partition: bool,
    /// Run this many barriers in a row; each node arrives up to --skew-us after it left the one before.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_REPETITIONS)))]
    repetitions: u32,
    /// Delay each node's arrival by up to this many microseconds, each delay equally likely. With 0 all nodes arrive as they
    /// left.
    #[arg(long, default_value_t = 0.0)]
    skew_us: f64,
    /// Set the processor's time to signal its arrival, in microseconds (H06's o_w), as with registers mapped into memory.
    /// [default: the fabric's own]
    #[arg(long, value_name = "US")]
    write_us: Option<f64>,
    /// Set the processor's time for a polling read, in microseconds (H06's o_r). The records give the gain over the fabric's
    /// own times. [default: the fabric's own]
    #[arg(long, value_name = "US")]
    read_us: Option<f64>,
    /// Draw delays and other random choices from this seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run the message stack, as fabrics other than those of GPUs do. GPUs have no barrier of their own.
    #[arg(long = "stack", value_parser = word::<Stack>())]
    engine: Option<Stack>,
    #[command(flatten)]
    stack: StackArgs,
    #[command(flatten)]
    missing: super::qsnet::Missing,
    #[command(flatten)]
    watching: WatchOptions,
    #[command(flatten)]
    uncertain: super::options::UncertainArgs,
}

impl Ask for Args {
    fn watching(&self) -> Option<&WatchOptions> {
        Some(&self.watching)
    }
    fn request(&self) -> Result<Request, Failure> {
        let Args { partition, repetitions, skew_us, write_us, read_us, seed, .. } = *self;
        let own = Barriers { partition, repetitions, skew_us, seed: 1, write_us, read_us };
        let benchmark = Benchmark::Barrier { algorithms: self.algorithm.clone(), own };
        let fabrics = self.variant.of_all(Fabrics::all(&self.fabric))?;
        let asked = asked(benchmark, (&fabrics, Some(&self.nodes)), &self.stack, (&self.watching, self.uncertain))?;
        Ok(self.missing.of(Request { seed, stack: self.engine, ..asked }))
    }
}
