//! `hotlink measure`: benchmarks on this machine, between real processes, each with its bound beside it.

mod barrier;
mod bound;
mod carrier;
mod clock;
mod collective;
mod deposit;
pub(crate) mod is;
mod kernel;
mod launch;
mod machine;
mod memory;
mod mpi;
mod overlap;
mod pairs;
mod pingpong;
mod registration;
mod room;
mod rounds;
mod saturation;
mod semantics;
mod sockets;
mod stream;
mod wire;

pub(crate) use machine::describe;
pub(crate) use overlap::CurveArgs;

use crate::values::{Numbers, address};
use crate::{Failure, osu, output::Output};
use carrier::Carrier;
use clap::Parser;
use hotlink_bench::{Buffers, Plan, Record, Samples, Summary, Which, flag_impossible};
use hotlink_port::RunError;
use hotlink_real::{Launched, Options};
use hotlink_study::{Source, benchmarks};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::Duration;
use wire::Wire;

const EXAMPLES: &str = "Examples:
  hotlink measure pingpong --via shm --size 8,64KiB,1MiB
  hotlink measure saturation --via tcp --pairs 1..4 --json > m.json && hotlink calibrate m.json --name this-machine
  hotlink measure memory --strides 1..64..x2
  mpirun -n 2 hotlink measure overlap --via mpi --size 64KiB,1MiB --spin fixed,daxpy --json";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\nWhich side has a benchmark:\n{}", benchmarks::table()))]
pub(crate) struct Args {
    #[command(subcommand)]
    bench: Bench,
    #[command(flatten)]
    hosts: Hosts,
    /// Repeat all blocks N times, one round after the other; the interval is of the blocks of all rounds, outlying rounds
    /// are reported.
    #[arg(long, global = true, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// End with an error that tells who waits for whom when every rank has waited for this many seconds and no message is
    /// under way. Without it they wait until they are stopped.
    #[arg(long, global = true, value_name = "SECONDS", value_parser = stall_time)]
    stall: Option<f64>,
}

impl Args {
    /// Whether OSU's suite has this benchmark, too.
    pub(crate) fn has_osu_form(&self) -> bool {
        osu::has(self.bench.name())
    }
}

/// Ranks on several machines without a launcher. Under mpirun or srun none of this is needed on one machine; across
/// machines, the variable HOTLINK_MEET=host:port says where rank 0 listens.
#[derive(clap::Args)]
#[command(next_help_heading = "Several machines (with --via tcp or mixed, or sockets; the same command on each)")]
struct Hosts {
    /// Be rank 0 and wait for the others at this address.
    #[arg(long, global = true, value_name = "HOST:PORT", value_parser = address, conflicts_with = "connect")]
    listen: Option<String>,
    /// Join rank 0 at this address.
    #[arg(long, global = true, value_name = "HOST:PORT", value_parser = address)]
    connect: Option<String>,
    /// This process's rank, with --connect.
    #[arg(long, global = true, value_name = "RANK", default_value_t = 1)]
    as_rank: u32,
    /// Processes that meet, with --listen and --connect.
    #[arg(long, global = true, value_name = "N", default_value_t = 2)]
    processes: u32,
    /// Prove the secret in this file (mode 600, the same on all machines); without it, HOTLINK_SECRET_FILE or HOTLINK_SECRET.
    #[arg(long, global = true, value_name = "FILE")]
    secret_file: Option<std::path::PathBuf>,
}

impl Hosts {
    fn are_several(&self) -> bool {
        self.listen.is_some() || self.connect.is_some()
    }
    /// Joins the ranks that the options or a launcher name; says nothing in the end unless this is rank 0.
    fn join(&self, bench: &Bench, output: &mut Output) -> Result<(), Failure> {
        if let Some(path) = &self.secret_file {
            hotlink_real::use_secret_file(path).map_err(|what| Failure::Input(format!("--secret-file: {what}")))?;
        }
        if matches!(bench, Bench::Sockets(_)) {
            return Ok(());
        }
        let place = match (&self.listen, &self.connect) {
            (Some(address), _) => Some((0, address)),
            (None, Some(address)) => Some((self.as_rank, address)),
            (None, None) => None,
        };
        if let Some((rank, address)) = place {
            if bench.carrier().is_some_and(Carrier::is_shm) {
                let what =
                    "--listen, --connect: shared memory is one machine's; allowed with them is --via tcp or mixed";
                return Err(Failure::Input(what.to_owned()));
            }
            let job = format!("hotlink measure {}", bench.name());
            if rank == 0 {
                eprintln!("hotlink: waits at {address} for `{job} --connect ...` on {} more", self.processes - 1);
            }
            let (ranks, meet, origin) = (self.processes, Some(address.clone()), "the options".to_owned());
            hotlink_real::join(Launched { rank, ranks, job, meet, origin })
                .map_err(|what| Failure::Input(format!("--listen, --connect: {what}")))?;
        }
        if hotlink_real::launched().map_err(failure)?.is_some_and(|(rank, _)| rank > 0) {
            output.mute();
        }
        Ok(())
    }
}

#[derive(clap::Subcommand)]
enum Bench {
    /// Half round trip and bandwidth of a message between two ranks.
    Pingpong(pingpong::Args),
    /// Bandwidth of windows of messages between two ranks, one way and both ways.
    Stream(stream::Args),
    /// Short messages per second, of one pair of ranks and of many.
    Rate(stream::RateArgs),
    /// Ping-pong between every two ranks, one pair at a time; slow pairs are tried again and named.
    Pairs(pairs::Args),
    /// Messages that the receiver waits for (restricted) against messages that may come at any time (full postal).
    Semantics(semantics::Args),
    /// Aggregate bandwidth of several pairs of ranks that send at once.
    Saturation(saturation::Args),
    /// Remote stores of words, contiguous and strided, beside local ones.
    Deposit(deposit::Args),
    /// How much of a message's time hides behind computation.
    Overlap(overlap::Args),
    /// The system's own TCP and UDP: latency, bandwidth, loss; Nagle, buffers; also between hosts.
    Sockets(sockets::Args),
    /// Copy within memory: contiguous loads to contiguous or strided stores.
    Memory(memory::Args),
    /// What set-ups cost that a cache keeps: mapping and pinning memory for each copy, or once.
    Registration(registration::Args),
    /// Time until all ranks have met.
    Barrier(barrier::Args),
    /// Time of a broadcast from rank 0.
    Bcast(collective::Args),
    /// Time of a sum of doubles at rank 0.
    Reduce(collective::Args),
    /// Time of a sum of doubles on every rank.
    Allreduce(collective::Args),
    /// Time until every rank has every rank's part.
    Allgather(collective::Args),
    /// Time until every rank has a part from every other.
    Alltoall(collective::Args),
    /// Time until every rank has a part from every other, parts of different sizes.
    Alltoallv(collective::Args),
    /// Time until rank 0 has every rank's part.
    Gather(collective::Args),
    /// Time until every rank has its part from rank 0.
    Scatter(collective::Args),
    /// Time until every rank has its part of a sum of doubles; the size is the part's.
    ReduceScatter(collective::Args),
    /// An application bound by barriers: H06's Abinit, or proportions of your own.
    Kernel(kernel::Args),
    /// NPB's Integer Sort, verified.
    Is(is::Args),
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    // Bounds and marks are added when all is measured.
    output.hold();
    let carrier = args.bench.carrier();
    if args.stall.is_some() && carrier.is_some_and(Carrier::is_mpi) {
        let what = "--stall: nobody sees the waits inside an MPI; allowed with it are --via shm, tcp and mixed";
        return Err(Failure::Input(what.to_owned()));
    }
    if let Some(launcher) = carrier.and_then(Carrier::launcher) {
        if carrier.is_some_and(|carrier| !carrier.is_mpi()) {
            let what =
                "--launcher: it starts an MPI's ranks, with --via mpi; shm and tcp start their own for each block";
            return Err(Failure::Input(what.to_owned()));
        }
        describe(output);
        rounds::launched(args, launcher, output)?;
        return flag(output);
    }
    match carrier.filter(|carrier| carrier.is_mpi() || carrier.is_script_wanted()) {
        Some(carrier) if !mpi::join(carrier, output)? => return Ok(()),
        Some(_) => {}
        None => args.hosts.join(&args.bench, output)?,
    }
    carrier.map_or(Ok(()), Carrier::check)?;
    if let Some(carrier) = carrier {
        carrier.choose_route();
    }
    if !output.is_muted() {
        describe(output);
    }
    let result = rounds::run(args, output).and_then(|()| beside_wire(args, output)).and_then(|()| flag(output));
    let result = result.and_then(|()| carrier.map_or(Ok(()), |carrier| carrier.write_trace(args.bench.name(), output)));
    // Whatever was open to others stands in the record.
    let listening = hotlink_real::listening();
    if !listening.is_empty() {
        output.describe("listened_at", listening);
    }
    mpi::leave(result)
}

/// Marks what exceeds its bound, and says so.
fn flag(output: &mut Output) -> Result<(), Failure> {
    let is_muted = output.is_muted();
    output.revise(|record| {
        let (record, told) = flag_impossible(record);
        if let Some(told) = told.filter(|_| !is_muted) {
            eprintln!("hotlink: impossible: {told}");
        }
        Ok(record)
    })
}

/// Puts the network's bound beside what was measured between machines.
fn beside_wire(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let Some(carrier) = args.bench.carrier() else { return Ok(()) };
    let fabric = output.records().first().and_then(|record| record.text("fabric")).unwrap_or(THIS_MACHINE).to_owned();
    match Wire::of(carrier, &fabric)? {
        Some(mut wire) => output.revise(|record| wire.beside(record)),
        None => Ok(()),
    }
}

/// A fabric that there is, or a label: a misspelt fabric would stand in the results without its bound.
fn fabric_or_label(text: &str) -> Result<String, String> {
    if let Some(label) = text.strip_prefix("label:") {
        return Ok(label.to_owned());
    }
    if text == THIS_MACHINE {
        return Ok(text.to_owned());
    }
    let hint = format!("for a mere name of the results say label:{text}");
    Source::open(text).map(|_| text.to_owned()).map_err(|error| format!("{error}; {hint}"))
}

/// The name of results that were given none.
const THIS_MACHINE: &str = "this-machine";

/// A benchmark and its options in words, as behind `hotlink measure`, without a launcher.
#[derive(clap::Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(flatten)]
    args: Args,
}

/// Runs the benchmark of `line`, options separated by spaces, between ranks of its own on this machine.
pub(crate) fn run_line(line: &str, output: &mut Output) -> Result<(), Failure> {
    let line = Line::try_parse_from(line.split(' ')).map_err(|error| Failure::Input(error.to_string()))?;
    rounds::run(&line.args, output)
}

fn run_bench(bench: &Bench, hosts: &Hosts, output: &mut Output) -> Result<(), Failure> {
    match bench {
        Bench::Pingpong(args) => pingpong::run(args, output),
        Bench::Stream(args) => stream::run(args, output),
        Bench::Rate(args) => stream::run_rate(args, output),
        Bench::Pairs(args) => pairs::run(args, output),
        Bench::Semantics(args) => semantics::run(args, output),
        Bench::Saturation(args) => saturation::run(args, output),
        Bench::Deposit(args) => deposit::run(args, output),
        Bench::Overlap(args) => overlap::run(args, output),
        Bench::Sockets(args) => sockets::run(args, hosts, output),
        Bench::Memory(args) => memory::run(args, output),
        Bench::Registration(args) => registration::run(args, output),
        Bench::Barrier(args) => barrier::run(args, output),
        Bench::Bcast(args) => collective::run(Which::Bcast, args, output),
        Bench::Reduce(args) => collective::run(Which::Reduce, args, output),
        Bench::Allreduce(args) => collective::run(Which::Allreduce, args, output),
        Bench::Allgather(args) => collective::run(Which::Allgather, args, output),
        Bench::Alltoall(args) => collective::run(Which::Alltoall, args, output),
        Bench::Alltoallv(args) => collective::run(Which::Alltoallv, args, output),
        Bench::Gather(args) => collective::run(Which::Gather, args, output),
        Bench::Scatter(args) => collective::run(Which::Scatter, args, output),
        Bench::ReduceScatter(args) => collective::run(Which::ReduceScatter, args, output),
        Bench::Kernel(args) => kernel::run(args, output),
        Bench::Is(args) => is::run(args, output),
    }
}

impl Bench {
    /// Its name on the command line, what carries its messages, if it has any, and how it is repeated.
    fn parts(&self) -> (&'static str, Option<&Carrier>, &Repetition) {
        match self {
            Bench::Pingpong(args) => ("pingpong", Some(&args.carrier), &args.repetition),
            Bench::Stream(args) => ("stream", Some(&args.carrier), &args.common.repetition),
            Bench::Rate(args) => ("rate", Some(&args.carrier), &args.common.repetition),
            Bench::Pairs(args) => ("pairs", Some(&args.carrier), &args.repetition),
            Bench::Semantics(args) => ("semantics", Some(&args.carrier), &args.repetition),
            Bench::Saturation(args) => ("saturation", Some(&args.carrier), &args.repetition),
            Bench::Deposit(args) => ("deposit", Some(&args.carrier), &args.repetition),
            Bench::Overlap(args) => ("overlap", Some(&args.carrier), &args.repetition),
            Bench::Sockets(args) => ("sockets", None, &args.repetition),
            Bench::Memory(args) => ("memory", None, &args.repetition),
            Bench::Registration(args) => ("registration", None, &args.repetition),
            Bench::Barrier(args) => ("barrier", Some(&args.collective.carrier), &args.collective.repetition),
            Bench::Bcast(args) => ("bcast", Some(&args.carrier), &args.repetition),
            Bench::Reduce(args) => ("reduce", Some(&args.carrier), &args.repetition),
            Bench::Allreduce(args) => ("allreduce", Some(&args.carrier), &args.repetition),
            Bench::Allgather(args) => ("allgather", Some(&args.carrier), &args.repetition),
            Bench::Alltoall(args) => ("alltoall", Some(&args.carrier), &args.repetition),
            Bench::Alltoallv(args) => ("alltoallv", Some(&args.carrier), &args.repetition),
            Bench::Gather(args) => ("gather", Some(&args.carrier), &args.repetition),
            Bench::Scatter(args) => ("scatter", Some(&args.carrier), &args.repetition),
            Bench::ReduceScatter(args) => ("reduce-scatter", Some(&args.carrier), &args.repetition),
            Bench::Kernel(args) => ("kernel", Some(&args.carrier), &args.repetition),
            Bench::Is(args) => ("is", Some(&args.carrier), &args.repetition),
        }
    }

    fn name(&self) -> &'static str {
        self.parts().0
    }
    fn carrier(&self) -> Option<&Carrier> {
        self.parts().1
    }
    /// Blocks of a round. A sort is run as a whole, and sockets between hosts meet once.
    fn blocks(&self, hosts: &Hosts) -> u32 {
        match self {
            Bench::Is(_) => 1,
            Bench::Sockets(_) if hosts.are_several() => 1,
            _ => self.parts().2.blocks,
        }
    }
}

/// Options of every benchmark.
#[derive(clap::Args)]
struct Repetition {
    /// The fabric that is measured: one of the catalog, a file, or label:NAME for a mere name of the results.
    #[arg(long, value_name = "NAME", default_value = THIS_MACHINE, value_parser = fabric_or_label)]
    fabric: String,
    /// Seconds for each point, all blocks of a round together.
    #[arg(long, value_name = "SECONDS", default_value = "0.5")]
    time: Numbers,
    /// Measure all points in N blocks, one block of each point after the other; the 95 % interval is of the blocks' medians
    /// and needs 6 or more. 1: the interval is of the samples, and holds for one short moment only.
    #[arg(long, value_name = "N", default_value_t = BLOCKS, value_parser = clap::value_parser!(u32).range(1..=1000))]
    blocks: u32,
    /// Spread the blocks of a round over this many seconds at least, idle in between: the interval does not hold noise
    /// that lasts longer [default: 20 times --time].
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    spread: Option<f64>,
    /// Keep every sample and every block's median in the records.
    #[arg(long)]
    raw: bool,
    /// Send buffers between messages: left as they are, or written anew before each, outside of the time that counts.
    #[arg(long, value_enum, default_value_t = SendBuffers::Kept)]
    buffers: SendBuffers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum SendBuffers {
    /// Left as they are.
    Kept,
    /// Written anew.
    Rewritten,
}

/// Blocks of a round. With twelve, the interval tolerates what the machine does for seconds; each costs a launch.
const BLOCKS: u32 = 12;
/// The default of `--spread` over `--time`.
const SPREAD: f64 = 20.0;

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.0..=86_400.0).contains(seconds));
    seconds.ok_or_else(|| "must be seconds from 0 to 86400".to_owned())
}

fn stall_time(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.1..=86_400.0).contains(seconds));
    seconds.ok_or_else(|| "must be seconds from 0.1 to 86400".to_owned())
}

impl Repetition {
    /// Of one block.
    fn plan(&self) -> Result<Plan, Failure> {
        let time_us = self.time_s()? * 1e6 / f64::from(self.blocks);
        Ok(Plan { time_us, buffers: self.buffers(), ..Plan::default() })
    }
    fn time_s(&self) -> Result<f64, Failure> {
        match self.time[..] {
            [time] if (0.001..=3600.0).contains(&time) => Ok(time),
            _ => Err(Failure::Input(format!("--time {}: must be one number from 0.001 to 3600", self.time))),
        }
    }
    /// How long a round of several blocks lasts at least.
    fn spread_s(&self) -> Result<f64, Failure> {
        Ok(self.spread.unwrap_or(SPREAD * self.time_s()?))
    }
    fn buffers(&self) -> Buffers {
        match self.buffers {
            SendBuffers::Kept => Buffers::Kept,
            SendBuffers::Rewritten => Buffers::Rewritten,
        }
    }
    /// For a benchmark whose buffers are what its program makes of them.
    fn without_buffers(&self, name: &str) -> Result<(), Failure> {
        match self.buffers {
            SendBuffers::Kept => Ok(()),
            SendBuffers::Rewritten => {
                let why = "its program itself decides what is written when";
                Err(Failure::Input(format!("--buffers rewritten: allowed for {name} is kept: {why}")))
            }
        }
    }
    /// A record with the statistics of one block's samples, of which `key` is the median, how they were taken, and the
    /// samples themselves, which [`rounds`] puts together.
    fn finish(&self, record: Record, samples: &Samples, key: &str) -> Result<Record, Failure> {
        Ok(summary(samples)?
            .into(record)
            .with("statistic_of", key)
            .with("inner", samples.inner)
            .with("warmup", samples.warmup)
            .with("buffers", self.buffers().name())
            .with("clock_overhead_us", samples.timer.overhead_us)
            .with("clock_resolution_us", samples.timer.resolution_us)
            .with(rounds::SAMPLES, samples.values.clone()))
    }
    /// A shorter plan for the bound of a point.
    fn bound_plan(&self) -> Result<Plan, Failure> {
        let plan = self.plan()?;
        Ok(Plan { time_us: (plan.time_us / 4.0).min(200_000.0), buffers: Buffers::Kept, ..plan })
    }
}

thread_local! {
    static SAID: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
    /// `--stall` of the verb that runs.
    static STALL: Cell<Option<f64>> = const { Cell::new(None) };
}

/// Prints a line on stderr, the first time that it is said: blocks find the same again.
fn say_once(line: String) {
    SAID.with_borrow_mut(|said| {
        if !said.contains(&line) {
            eprintln!("{line}");
            said.insert(line);
        }
    });
}

/// Ranks are killed after this: no benchmark point takes so long.
fn limits() -> Options {
    let stall = STALL.get().map(Duration::from_secs_f64);
    Options { limit: Some(Duration::from_secs(2 * 3600)), stall, ..Options::default() }
}

fn failure(error: RunError) -> Failure {
    match error {
        RunError::Ranks { .. } | RunError::Setting(_) => Failure::Input(format!("measure: {error}")),
        _ => Failure::Check(format!("measure: {error}")),
    }
}

fn summary(samples: &Samples) -> Result<Summary, Failure> {
    Summary::of(&samples.values).ok_or_else(no_sample)
}

fn no_sample() -> Failure {
    Failure::Check("measure: no sample was taken".to_owned())
}
