//! `hotlink measure`: benchmarks on this machine, between real processes, each with its bound. Options become a
//! request; `hotlink_measure` measures.

mod benchmarks;
mod options;

use crate::Failure;
use crate::values::stall_time;
use benchmarks::*;
use clap::Parser;
use hotlink_bench::{Record, Which};
use hotlink_measure::request::{Benchmark, Launcher, Request, Via};
use hotlink_measure::{Face, Measured, osu, script};
use hotlink_paper::Output;
use options::{Carrier, Hosts, Repetition};

const EXAMPLES: &str = "Examples:
  hotlink measure pingpong --via shm --size 8,64KiB,1MiB
  hotlink measure saturation --via tcp --pairs 1..4 --json > m.json && hotlink calibrate m.json --name this-machine
  hotlink measure memory --strides 1..64..x2
  mpirun -n 2 hotlink measure overlap --via mpi --size 64KiB,1MiB --spin fixed,daxpy --json";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\nWhich side has a benchmark:\n{}", hotlink_study::benchmarks::table()))]
pub(crate) struct Args {
    #[command(subcommand)]
    bench: Bench,
    #[command(flatten)]
    hosts: Hosts,
    /// Repeat all blocks N times, one round after the other; the interval is of the blocks of all rounds, and outlying
    /// rounds are reported.
    #[arg(long, global = true, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// End with an error once every rank has waited for this many seconds and no message is under way. The error names
    /// which rank waits for which. [default: ranks wait until they are stopped]
    #[arg(long, global = true, value_name = "SECONDS", value_parser = stall_time)]
    stall: Option<f64>,
    /// Let a waiting rank sleep after it has polled for this many seconds. 0 leaves the cores to other programs and
    /// adds some 0.1 ms to each message. It suits machines in use, and networks slower than that. [default: 0.02]
    #[arg(long, global = true, value_name = "SECONDS")]
    poll: Option<f64>,
}

#[derive(clap::Subcommand)]
enum Bench {
    /// Measure half round trip and bandwidth of a message between two ranks.
    Pingpong(PingPong),
    /// Measure the bandwidth of windows of messages between two ranks, one way and both ways.
    Stream(Stream),
    /// Count short messages per second, of one pair of ranks and of many.
    Rate(Rate),
    /// Run a ping-pong between every two ranks, one pair at a time; slow pairs are tried again and named.
    Pairs(Pairs),
    /// Compare messages that the receiver waits for (restricted) with messages that may come at any time (full postal).
    Semantics(Semantics),
    /// Measure the aggregate bandwidth of several pairs of ranks that send at once.
    Saturation(Saturation),
    /// Measure remote stores of words, contiguous and strided, and local ones.
    Deposit(Deposit),
    /// Measure how much of a message's time is hidden behind computation.
    Overlap(Overlap),
    /// Measure the system's own TCP and UDP: latency, bandwidth, loss; Nagle, buffers; also between hosts.
    Sockets(Sockets),
    /// Measure copies within memory: contiguous loads to contiguous or strided stores.
    Memory(Copying),
    /// Measure the cost of registrations, which a cache saves: mapping and pinning memory for each copy, or once.
    Registration(Registration),
    /// Reach another rank's memory: registration, first and further accesses, holds, revocation (W01's SMI regions).
    Region(Region),
    /// Measure the time until all ranks have met.
    Barrier(Barrier),
    /// Measure the time of a broadcast from rank 0.
    Bcast(Collective),
    /// Measure the time of a sum of doubles at rank 0.
    Reduce(Collective),
    /// Measure the time of a sum of doubles on every rank.
    Allreduce(Collective),
    /// Measure the time until every rank has every rank's part.
    Allgather(Collective),
    /// Measure the time until every rank has a part from every other.
    Alltoall(Collective),
    /// Measure the time until every rank has a part from every other, with parts of different sizes.
    Alltoallv(Collective),
    /// Measure the time until rank 0 has every rank's part.
    Gather(Collective),
    /// Measure the time until every rank has its part from rank 0.
    Scatter(Collective),
    /// Measure the time until every rank has its part of a sum of doubles; the size is the part's.
    ReduceScatter(Collective),
    /// Run an application that is bound by barriers: H06's Abinit, or proportions of your own.
    Kernel(Kernel),
    /// Run NPB's Integer Sort, and verify its result.
    Is(Sort),
}

impl Args {
    /// Whether OSU's suite has this benchmark, too. Wrong options are reported when they are used.
    pub(crate) fn has_osu_form(&self) -> bool {
        self.bench.parts().map_or(true, |(benchmark, ..)| osu::has(benchmark.name()))
    }

    /// The request of the options, except for a launcher.
    fn request(&self) -> Result<Request, Failure> {
        let (benchmark, carrier, repetition) = self.bench.parts()?;
        Ok(Request {
            carrier: carrier.map(Carrier::asked).unwrap_or_default(),
            repetition: repetition.asked(self.rounds)?,
            hosts: self.hosts.asked(),
            stall_s: self.stall,
            poll_s: self.poll,
            ..Request::new(benchmark)
        })
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    // Bounds and marks are added when all is measured.
    output.hold();
    let mut request = Request { anonymous: output.is_anonymous(), ..args.request()? };
    let (_, carrier, _) = args.bench.parts()?;
    if let Some(carrier) = carrier {
        carrier.watching.check()?;
        request.carrier.launcher = launcher(&request, carrier)?
            .map(|command| Launcher { command, program: script::of_a_block(output.command(), std::env::args_os()) });
        request.check()?;
        if carrier.slurm {
            output.only(script::script(output.command(), output.format().ending()));
            return Ok(());
        }
        if request.carrier.via == Via::Mpi && request.carrier.launcher.is_none() {
            is_launched(output.command())?;
        }
    }
    let mut measured = Measured::default();
    let result = request.run_into(&mut measured, &output.face());
    if !measured.speaks {
        output.mute();
    }
    output.describe_all(measured.environment);
    output.push_all(measured.records);
    if let Err(why @ hotlink_study::Error::Check(_)) = &result {
        output.end_early(why);
    }
    result?;
    carrier.map_or(Ok(()), |carrier| carrier.watching.write(&measured.timelines, output))
}

/// The launcher of an MPI's ranks, as the options say. For this project's own library it is this command's `run`.
fn launcher(request: &Request, carrier: &Carrier) -> Result<Option<String>, Failure> {
    let is_launched = || hotlink_real::Launcher::of_this_process().is_some();
    let starts = request.carrier.via == Via::Mpi && carrier.launcher.is_none() && !carrier.slurm;
    let Some(mpi) = carrier.mpi.as_ref().filter(|_| starts && !is_launched()) else {
        return Ok(carrier.launcher.clone());
    };
    let library = hotlink_real::Library::named(mpi).map_err(Failure::Input)?;
    let Some(path) = library.own() else { return Ok(None) };
    let mut words = script::called(std::env::args_os());
    words.extend(["run", "-n", &request.benchmark.ranks()?.to_string(), "--library"].map(str::to_owned));
    words.extend([path.display().to_string(), "--".to_owned()]);
    Ok(Some(script::plain(&words)))
}

/// Refuses `--via mpi` outside of an MPI's job, with the lines that start one.
fn is_launched(command: &[String]) -> Result<(), Failure> {
    if hotlink_real::Launcher::of_this_process().is_some() {
        return Ok(());
    }
    let command = script::plain(command);
    let what = "--via mpi: this process was not started by an MPI launcher; start it as";
    Err(Failure::Input(format!(
        "{what}\n  mpirun -n 2 {command}\nor under Slurm\n  srun -n 2 {command}\n(--slurm prints a script)"
    )))
}

/// A benchmark and its options in words, as behind `hotlink measure`, without a launcher.
#[derive(clap::Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(flatten)]
    args: Args,
}

/// The results of the benchmark of `line`, whose options are separated by spaces, between ranks of its own on this
/// machine.
pub(crate) fn of_line(line: &str, face: &dyn Face) -> Result<Vec<Record>, Failure> {
    let line = Line::try_parse_from(line.split(' ')).map_err(|error| Failure::Input(error.to_string()))?;
    line.args.request()?.here(face)
}

impl Bench {
    /// The benchmark, the carrier of its messages, if it has any, and its repetition.
    fn parts(&self) -> Result<(Benchmark, Option<&Carrier>, &Repetition), Failure> {
        let of = |which: Which, args: &Collective| Ok::<_, Failure>(Benchmark::Collective(which, args.asked()?));
        Ok(match self {
            Bench::Pingpong(args) => (args.asked(), Some(&args.carrier), &args.repetition),
            Bench::Stream(args) => (args.asked(), Some(&args.carrier), &args.repetition),
            Bench::Rate(args) => (args.asked()?, Some(&args.carrier), &args.repetition),
            Bench::Pairs(args) => (args.asked(), Some(&args.carrier), &args.repetition),
            Bench::Semantics(args) => (args.asked(), Some(&args.carrier), &args.repetition),
            Bench::Saturation(args) => (args.asked()?, Some(&args.carrier), &args.repetition),
            Bench::Deposit(args) => (args.asked(), Some(&args.carrier), &args.repetition),
            Bench::Overlap(args) => (args.asked(), Some(&args.carrier), &args.repetition),
            Bench::Sockets(args) => (args.asked(), None, &args.repetition),
            Bench::Memory(args) => (args.asked(), None, &args.repetition),
            Bench::Registration(args) => (args.asked(), None, &args.repetition),
            Bench::Region(args) => (args.asked(), None, &args.repetition),
            Bench::Barrier(args) => (args.asked()?, Some(&args.collective.carrier), &args.collective.repetition),
            Bench::Bcast(args) => (of(Which::Bcast, args)?, Some(&args.carrier), &args.repetition),
            Bench::Reduce(args) => (of(Which::Reduce, args)?, Some(&args.carrier), &args.repetition),
            Bench::Allreduce(args) => (of(Which::Allreduce, args)?, Some(&args.carrier), &args.repetition),
            Bench::Allgather(args) => (of(Which::Allgather, args)?, Some(&args.carrier), &args.repetition),
            Bench::Alltoall(args) => (of(Which::Alltoall, args)?, Some(&args.carrier), &args.repetition),
            Bench::Alltoallv(args) => (of(Which::Alltoallv, args)?, Some(&args.carrier), &args.repetition),
            Bench::Gather(args) => (of(Which::Gather, args)?, Some(&args.carrier), &args.repetition),
            Bench::Scatter(args) => (of(Which::Scatter, args)?, Some(&args.carrier), &args.repetition),
            Bench::ReduceScatter(args) => (of(Which::ReduceScatter, args)?, Some(&args.carrier), &args.repetition),
            Bench::Kernel(args) => (args.asked()?, Some(&args.carrier), &args.repetition),
            Bench::Is(args) => (args.asked()?, Some(&args.carrier), &args.repetition),
        })
    }
}
