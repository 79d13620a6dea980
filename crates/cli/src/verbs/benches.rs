//! Options of the benchmarks that `measure` and `simulate` share: each once, for both sides.

use crate::Failure;
use crate::values::{Numbers, Sizes};
use crate::words::word;
use hotlink_bench::{Calls, Direction, Hold, Kernel, Plan, Proportions, RegionKind, RegionSetup};
use hotlink_measure::request::usual;
use hotlink_study::benchmarks;
use hotlink_study::options::{Memory, Side, Spin};

/// Options of `kernel`.
#[derive(clap::Args, Clone)]
pub(crate) struct KernelOptions {
    /// Give the share of the observed run that the application spent in MPI. Abinit spent 0.08.
    #[arg(long, value_name = "SHARE", default_value_t = Proportions::ABINIT.mpi)]
    mpi_share: f64,
    /// Give the share of that MPI time that was spent in MPI_Barrier. Abinit spent 0.65.
    #[arg(long, value_name = "SHARE", default_value_t = Proportions::ABINIT.barrier)]
    barrier_share: f64,
    /// Give the time of a barrier in the observed run, in microseconds, with the wait for late ranks. On H06's Gigabit
    /// Ethernet it is 80 where no rank is late, and 107.5 with the skew that was fitted to Abinit.
    #[arg(long, value_name = "US", default_value_t = Proportions::ABINIT.barrier_us)]
    barrier_us: f64,
    /// Let each rank compute up to this many microseconds longer than the others before a barrier; the mean stays the same.
    /// Fitted to Abinit: 171.5.
    #[arg(long, value_name = "US", default_value_t = 0.0)]
    skew: f64,
    /// Run this many barriers.
    #[arg(long, value_name = "N", default_value_t = usual::ITERATIONS)]
    iterations: u64,
    /// Draw the skew from this seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

impl KernelOptions {
    /// The benchmark.
    pub(crate) fn bench(&self, plan: Plan) -> Result<Kernel, Failure> {
        let proportions = Proportions { mpi: self.mpi_share, barrier: self.barrier_share, barrier_us: self.barrier_us };
        benchmarks::kernel(proportions, self.skew, self.iterations, self.seed, plan)
    }
}

/// Options of `stream`.
#[derive(clap::Args, Clone)]
pub(crate) struct StreamOptions {
    /// Send one way, both ways at once, or from each rank to itself.
    #[arg(long, value_parser = word::<Direction>(), value_delimiter = ',', default_value = "uni,bi")]
    pub(crate) direction: Vec<Direction>,
    /// Send the messages of a window all at once, or each in a blocking call of its own.
    #[arg(long, value_parser = word::<Calls>(), default_value = "windowed")]
    pub(crate) calls: Calls,
    #[command(flatten)]
    pub(crate) window: WindowOptions,
}

/// Options of `stream` and `rate`.
#[derive(clap::Args, Clone)]
pub(crate) struct WindowOptions {
    /// Let each sender send this many messages before the receiver answers. [default: as many as make 4 MiB, from 2 to 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(crate) window: Option<u64>,
}

/// Options of `pairs`.
#[derive(clap::Args, Clone)]
pub(crate) struct SlowOptions {
    /// Call a pair slow if it takes this many times the median pair's time.
    #[arg(long, value_name = "FACTOR", default_value_t = usual::SLOW, value_parser = factor)]
    pub(crate) slow: f64,
}

/// Which regions, measured and simulated alike.
#[derive(clap::Args)]
pub(crate) struct RegionArgs {
    /// Choose how other ranks reach a region.
    #[arg(long, value_parser = word::<RegionKind>(), value_delimiter = ',', default_values_t = [RegionKind::Shared, RegionKind::Remote, RegionKind::Rdma])]
    pub(crate) kind: Vec<RegionKind>,
    /// Choose which ranks set a region up.
    #[arg(long, value_parser = word::<RegionSetup>(), value_delimiter = ',', default_values_t = [RegionSetup::Individual])]
    pub(crate) setup: Vec<RegionSetup>,
    /// Keep the region imported and the source registered, or set both up anew for each access.
    #[arg(long, value_parser = word::<Hold>(), value_delimiter = ',', default_values_t = [Hold::Persistent, Hold::Each])]
    pub(crate) hold: Vec<Hold>,
    /// Choose the kind of memory that a region consists of.
    #[arg(long, value_parser = word::<Memory>(), value_delimiter = ',', default_values_t = [Memory::Shared])]
    pub(crate) memory: Vec<Memory>,
    /// Bytes of the region and of each access: a list or range.
    #[arg(long, value_name = "LIST", default_value = usual::REGION_SIZES)]
    pub(crate) size: Sizes,
}

/// The overlap of a message and a computation, measured and simulated alike.
#[derive(clap::Args)]
pub(crate) struct CurveArgs {
    /// Choose which rank computes.
    #[arg(long, value_parser = word::<Side>(), value_delimiter = ',', default_values_t = [Side::Sender, Side::Receiver])]
    pub(crate) side: Vec<Side>,
    /// Choose the computation: on one variable for a fixed time, or DAXPY on vectors of the message's size. Or copies
    /// that stress memory, or DAXPY by several threads at once.
    #[arg(long, value_parser = word::<Spin>(), value_delimiter = ',', default_values_t = [Spin::Fixed])]
    pub(crate) spin: Vec<Spin>,
    /// Run this many threads with `--spin threads`, the rank's own included, each on vectors of its own. [default: 2]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<u32>,
    /// Compute for these shares of the message's own time.
    #[arg(long, value_name = "LIST", default_value = usual::SHARES)]
    pub(crate) compute: Numbers,
}

fn factor(text: &str) -> Result<f64, String> {
    let factor = text.parse::<f64>().ok().filter(|factor| (1.01..=1000.0).contains(factor));
    factor.ok_or_else(|| "must be a number from 1.01 to 1000".to_owned())
}
