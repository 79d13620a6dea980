//! Options of every benchmark between ranks: the carrier of the messages, the repetitions, the machines.

use crate::Failure;
use crate::values::{Numbers, address};
use crate::verbs::question::VariantArgs;
use crate::verbs::watching::WatchOptions;
use crate::words::word;
use hotlink_bench::Watching;
use hotlink_measure::request::{self, SendBuffers, Via, fabric_or_label, usual};
use hotlink_real::CopyWay;
use hotlink_study::options::Cache;

/// The variable of `--mpi`.
const MPICC: &str = "HOTLINK_MPICC";

/// Options of every benchmark between ranks.
#[derive(clap::Args)]
pub(super) struct Carrier {
    /// Choose what carries the messages.
    #[arg(long, value_parser = word::<Via>(), default_value_t = request::Carrier::default().via)]
    via: Via,
    /// Move long messages of ordinary memory over shared memory by this route: auto (the fastest on this machine, measured
    /// once), ring, stream, system or halves.
    #[arg(long, value_name = "ROUTE", env = hotlink_real::COPY_VARIABLE, default_value = "auto", value_parser = route)]
    copy: Route,
    /// Choose which registration the cache releases when another needs its place; immediate keeps none. [default: lru]
    #[arg(long, value_parser = word::<Cache>())]
    cache: Option<Cache>,
    /// Use this MPI: openmpi, mpich, an mpicc, a libmpi_abi.so, or an MPI's folder. [default: the launcher's own]
    #[arg(long, value_name = "MPI", env = MPICC, help_heading = "MPI")]
    pub(super) mpi: Option<String>,
    /// Start the ranks by this command, anew for each block (with --via mpi): `mpirun -n 2`, as words for /bin/sh.
    #[arg(long, value_name = "COMMAND", help_heading = "MPI", conflicts_with = "slurm")]
    pub(super) launcher: Option<String>,
    /// Print a Slurm script that runs this command with --via mpi, instead of running it.
    #[arg(long, help_heading = "MPI")]
    pub(super) slurm: bool,
    #[command(flatten)]
    pub(super) watching: WatchOptions,
}

/// A route of long messages; none: the machine decides.
#[derive(Clone, Copy, Debug)]
struct Route(Option<CopyWay>);

fn route(text: &str) -> Result<Route, String> {
    hotlink_real::copy_named(text).map(Route)
}

impl Carrier {
    /// As values; the launcher's words are the verb's.
    pub(super) fn asked(&self) -> request::Carrier {
        let watching: Option<Watching> = self.watching.watching();
        // The variable may be set for runs that need it.
        let is_of_environment = self.mpi.as_deref() == std::env::var(MPICC).ok().as_deref();
        let mpi = self.mpi.clone().filter(|_| self.via == Via::Mpi || !is_of_environment);
        let copy = self.copy.0;
        request::Carrier { via: self.via, copy, cache: self.cache, mpi, launcher: None, watching }
    }
}

/// Options of every benchmark.
#[derive(clap::Args)]
pub(super) struct Repetition {
    /// Fabric that is measured: one of the catalog, a file, or label:NAME for a name that only the results carry.
    #[arg(long, value_name = "NAME", default_value = usual::FABRIC, value_parser = fabric_or_label)]
    fabric: String,
    #[command(flatten)]
    variant: VariantArgs,
    /// Measure each point for this many seconds, all blocks of a round together. A block ends before its share of them once
    /// it has 10,000 samples, as those of short operations do (ended_by).
    #[arg(long, value_name = "SECONDS", default_value = "0.5")]
    time: Numbers,
    /// Measure all points in N blocks, one block of each point after the other. The 95 % interval is of the blocks' medians
    /// and needs 6 or more. With 1, the interval is of the samples, and holds for one short moment only.
    #[arg(long, value_name = "N", default_value_t = usual::BLOCKS, value_parser = clap::value_parser!(u32).range(1..=1000))]
    blocks: u32,
    /// Spread the blocks of a round over at least this many seconds, idle in between. The interval does not include noise
    /// that lasts longer. [default: 20 times --time]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    spread: Option<f64>,
    /// Begin no block after this many seconds. The record then has fewer of them (blocks), and fewer than 6 hold no interval.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    limit: Option<f64>,
    /// Keep every sample and every block's median in the records.
    #[arg(long)]
    raw: bool,
    /// Leave send buffers as they are between messages, or write them anew before each, outside of the time that counts.
    #[arg(long, value_parser = word::<SendBuffers>(), default_value_t = SendBuffers::Kept)]
    buffers: SendBuffers,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.0..=86_400.0).contains(seconds));
    seconds.ok_or_else(|| "must be seconds from 0 to 86400".to_owned())
}

impl Repetition {
    pub(super) fn asked(&self, rounds: u32) -> Result<request::Repetition, Failure> {
        let Repetition { fabric, variant, blocks, spread, limit, raw, buffers, .. } = self;
        // The default is only a name, and has no parts to change.
        let named = Some(fabric.as_str()).filter(|name| *name != usual::FABRIC);
        let varied = variant.of_named("--fabric", named)?.unwrap_or_else(|| usual::FABRIC.to_owned());
        if varied != *fabric {
            fabric_or_label(&varied).map_err(|what| Failure::Input(format!("--fabric {what}")))?;
        }
        let time_s = match self.time[..] {
            [time] if (0.001..=3600.0).contains(&time) => time,
            _ => return Err(Failure::Input(format!("--time {}: must be one number from 0.001 to 3600", self.time))),
        };
        Ok(request::Repetition {
            fabric: varied,
            time_s,
            blocks: *blocks,
            spread_s: *spread,
            limit_s: *limit,
            rounds,
            raw: *raw,
            buffers: (*buffers).into(),
        })
    }
}

/// Heading of these options in the help.
const SEVERAL: &str = "Several machines (with --via tcp or mixed, or sockets; the same command on each)";

/// Ranks on several machines without a launcher. Under mpirun or srun none of this is needed on one machine; across
/// machines, the variable HOTLINK_MEET=host:port says where rank 0 listens.
#[derive(clap::Args)]
pub(super) struct Hosts {
    /// Be rank 0, and wait for the other processes at this address.
    #[arg(help_heading = SEVERAL, long, global = true, value_name = "HOST:PORT", value_parser = address, conflicts_with = "connect")]
    listen: Option<String>,
    /// Join rank 0 at this address.
    #[arg(help_heading = SEVERAL, long, global = true, value_name = "HOST:PORT", value_parser = address)]
    connect: Option<String>,
    /// Take this rank, with --connect.
    #[arg(help_heading = SEVERAL, long, global = true, value_name = "RANK", default_value_t = 1)]
    as_rank: u32,
    /// Let this many processes meet, with --listen and --connect.
    #[arg(help_heading = SEVERAL, long, global = true, value_name = "N", default_value_t = 2)]
    processes: u32,
    /// Prove the secret in this file (mode 600, the same on all machines). [default: HOTLINK_SECRET_FILE, else
    /// HOTLINK_SECRET]
    #[arg(help_heading = SEVERAL, long, global = true, value_name = "FILE")]
    secret_file: Option<std::path::PathBuf>,
}

impl Hosts {
    pub(super) fn asked(&self) -> request::Hosts {
        let Hosts { listen, connect, as_rank, processes, secret_file } = self;
        let (listen, connect, secret_file) = (listen.clone(), connect.clone(), secret_file.clone());
        request::Hosts { listen, connect, as_rank: *as_rank, processes: *processes, secret_file }
    }
}
