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
    /// Share of the run in MPI where the application was observed (Abinit: 0.08).
    #[arg(long, value_name = "SHARE", default_value_t = Proportions::ABINIT.mpi)]
    mpi_share: f64,
    /// Share of that in MPI_Barrier (Abinit: 0.65).
    #[arg(long, value_name = "SHARE", default_value_t = Proportions::ABINIT.barrier)]
    barrier_share: f64,
    /// Time in a barrier there, waiting for late ranks included, in microseconds (H06's Gigabit Ethernet: 80 where
    /// nobody is late, 107.5 with the skew that was fitted to Abinit).
    #[arg(long, value_name = "US", default_value_t = Proportions::ABINIT.barrier_us)]
    barrier_us: f64,
    /// Most that a rank computes longer than the others before a barrier, in microseconds; the mean stays
    /// (fitted to Abinit: 171.5).
    #[arg(long, value_name = "US", default_value_t = 0.0)]
    skew: f64,
    /// Barriers of a run.
    #[arg(long, value_name = "N", default_value_t = usual::ITERATIONS)]
    iterations: u64,
    /// Of the skew.
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
    /// One way, both ways at once, or each rank to itself.
    #[arg(long, value_parser = word::<Direction>(), value_delimiter = ',', default_value = "uni,bi")]
    pub(crate) direction: Vec<Direction>,
    /// Messages of a window all at once, or each in a blocking call of its own.
    #[arg(long, value_parser = word::<Calls>(), default_value = "windowed")]
    pub(crate) calls: Calls,
    #[command(flatten)]
    pub(crate) window: WindowOptions,
}

/// Options of `stream` and `rate`.
#[derive(clap::Args, Clone)]
pub(crate) struct WindowOptions {
    /// Messages of each sender before the receiver's answer; by default as many as make 4 MiB, from 2 to 64.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(crate) window: Option<u64>,
}

/// Options of `pairs`.
#[derive(clap::Args, Clone)]
pub(crate) struct SlowOptions {
    /// A pair is slow that takes this many times the median pair's time.
    #[arg(long, value_name = "FACTOR", default_value_t = usual::SLOW, value_parser = factor)]
    pub(crate) slow: f64,
}

/// Which regions, measured and simulated alike.
#[derive(clap::Args)]
pub(crate) struct RegionArgs {
    /// How a region is reached.
    #[arg(long, value_parser = word::<RegionKind>(), value_delimiter = ',', default_values_t = [RegionKind::Shared, RegionKind::Remote, RegionKind::Rdma])]
    pub(crate) kind: Vec<RegionKind>,
    /// Who sets it up.
    #[arg(long, value_parser = word::<RegionSetup>(), value_delimiter = ',', default_values_t = [RegionSetup::Individual])]
    pub(crate) setup: Vec<RegionSetup>,
    /// Keep the region imported and the source registered, or set both up for each access.
    #[arg(long, value_parser = word::<Hold>(), value_delimiter = ',', default_values_t = [Hold::Persistent, Hold::Each])]
    pub(crate) hold: Vec<Hold>,
    /// Memory that the region is.
    #[arg(long, value_parser = word::<Memory>(), value_delimiter = ',', default_values_t = [Memory::Shared])]
    pub(crate) memory: Vec<Memory>,
    /// Bytes of the region and of an access: a list or range.
    #[arg(long, value_name = "LIST", default_value = usual::REGION_SIZES)]
    pub(crate) size: Sizes,
}

/// What is overlapped with what, measured and simulated alike.
#[derive(clap::Args)]
pub(crate) struct CurveArgs {
    /// Who computes.
    #[arg(long, value_parser = word::<Side>(), value_delimiter = ',', default_values_t = [Side::Sender, Side::Receiver])]
    pub(crate) side: Vec<Side>,
    /// How it computes: on one variable for a fixed time, DAXPY on vectors of the message's size, copies that stress memory, or
    /// DAXPY by several threads at once.
    #[arg(long, value_parser = word::<Spin>(), value_delimiter = ',', default_values_t = [Spin::Fixed])]
    pub(crate) spin: Vec<Spin>,
    /// Threads of `--spin threads`, that of the rank among them, each on vectors of its own. 2 if not given.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<u32>,
    /// Computation times as shares of the message's own time.
    #[arg(long, value_name = "LIST", default_value = usual::SHARES)]
    pub(crate) compute: Numbers,
}

fn factor(text: &str) -> Result<f64, String> {
    let factor = text.parse::<f64>().ok().filter(|factor| (1.01..=1000.0).contains(factor));
    factor.ok_or_else(|| "allowed is a number from 1.01 to 1000".to_owned())
}
