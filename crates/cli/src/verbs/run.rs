//! `hotlink run`: an MPI program on ranks of this machine, over this project's MPI library: over memory and sockets, or on a
//! simulated fabric.

use super::question::VariantArgs;
use crate::values::{stall_or_none, time_limit};
use crate::words::via;
use crate::{Failure, place};
use hotlink_launch::{OTHER_MPI, library, with_library};
use hotlink_paper::{Format, Output};
use hotlink_real::{Job, JobEnd, Via, cores};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

mod hosts;
mod seating;
mod simulated;

pub(super) use hosts::{AgentArgs, serve};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink run -n 4 ./app
  hotlink run -n 2 --via tcp --tag-output ./app --its-own options
  hotlink run -n 4 python program_with_mpi4py.py
  hotlink run --hosts node1:4,node2:4 ./app
  hotlink run --on ib-ndr-fat-tree2 -n 16 ./app
  hotlink run --on slingshot-dragonfly --nodes 64 --ranks-per-node 4 --placement spread -n 32 ./app

The program must be compiled for MPI's standard ABI (mpicc_abi of MPICH 5; mpi4py built with it). Its status is that of the
first rank that fails, and 0 if none does. Rank 0 has the standard input.

On a fabric (--on), one interpreter forks the ranks of a Python script. It first imports the modules of Python and of
installed packages that the script imports at its top, numpy and mpi4py among them. Each rank imports the program's own
modules. Where that cannot be done, each rank starts an interpreter, and a line says why.")]
pub(crate) struct Args {
    /// Start this many ranks, up to 1024, or up to 4096 with --on. They are processes on this machine, or on --hosts.
    /// [default: 1, or as many as the hosts have]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    ranks: Option<u32>,
    #[command(flatten)]
    hosts: hosts::HostArgs,
    /// Carry messages by shared memory, TCP or both. [default: by those that the ranks can share]
    #[arg(long, value_parser = via())]
    via: Option<Via>,
    /// Run on this simulated fabric (of the catalog, or a file), in virtual time.
    #[arg(long, value_name = "FABRIC", conflicts_with_all = ["via", "bind"])]
    on: Option<String>,
    #[command(flatten)]
    variant: VariantArgs,
    #[command(flatten)]
    also: simulated::Also,
    /// Check the program: ranks in different collectives end the job, and MPI_Finalize reports what was never freed. The
    /// check sends messages of its own.
    #[arg(long)]
    check: bool,
    /// Mark each line of output with its rank.
    #[arg(long)]
    tag_output: bool,
    /// Bind each rank to a core of its own, or to none.
    #[arg(long, value_enum, default_value_t = Bind::Auto)]
    bind: Bind,
    /// End ranks of this machine that have all waited this many seconds for each other, and report which rank waits for
    /// which. 0 lets them wait. Programs whose threads may all call MPI are not watched.
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = stall_or_none, conflicts_with_all = ["on", "hosts"])]
    stall: f64,
    #[command(flatten)]
    limit: LimitArgs,
    /// Use this library. [default: HOTLINK_LIBRARY, else libmpi_abi.so.1 next to the command or in ../lib/hotlink]
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// Program to run, and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// How long a job may take.
#[derive(clap::Args)]
pub(super) struct LimitArgs {
    /// End the job with all that its ranks have started after this many seconds of real time. The exit status is 124.
    /// [default: MPIEXEC_TIMEOUT, else no limit]
    #[arg(long, value_name = "SECONDS", value_parser = time_limit)]
    timeout: Option<Duration>,
}

impl LimitArgs {
    /// The option, or what other launchers read as well.
    pub(super) fn limit(&self) -> Result<Option<Duration>, Failure> {
        let given = std::env::var_os(TIMEOUT).filter(|text| self.timeout.is_none() && !text.is_empty());
        let Some(text) = given else { return Ok(self.timeout) };
        let wrong = |what| Failure::Input(format!("{TIMEOUT}={}: {what}", text.display()));
        time_limit(&text.to_string_lossy()).map(Some).map_err(wrong)
    }
}

/// How long a job may take, to MPICH's launcher and Open MPI's.
const TIMEOUT: &str = "MPIEXEC_TIMEOUT";

/// How long ranks may wait for each other; `None`: forever.
pub(super) fn waited(stall: f64) -> Option<Duration> {
    (stall > 0.0).then(|| Duration::from_secs_f64(stall))
}

/// Where ranks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Bind {
    /// Bind each to a core, if there are enough.
    Auto,
    /// Leave the choice to the system.
    None,
}

/// Ranks of a job that is not simulated.
const MOST_REAL: u32 = 1024;

/// Its output is the program's own: only a simulated run's report is added. Refuses an unknown option, which would be
/// taken for the program.
pub(super) fn program(verb: &str, command: &[OsString]) -> Result<(), Failure> {
    match command.first().and_then(|word| word.to_str()).filter(|word| word.starts_with('-')) {
        Some(word) => Err(Failure::Input(format!("{word}: no option of `hotlink {verb}`, and no program; see --help"))),
        None => Ok(()),
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    program("run", &args.command)?;
    let on = args.variant.of_named("--on", args.on.as_deref())?;
    let command = args.command.clone();
    let (own, commands) = (args.library.as_deref(), place::commands());
    let mut variables = Vec::new();
    if let Some(via) = args.via {
        variables.push(("HOTLINK_VIA".to_owned(), via.name().into()));
    }
    if args.check {
        variables.push(("HOTLINK_CHECK".to_owned(), "1".into()));
    }
    let (tags, bind) = (args.tag_output, args.bind == Bind::Auto);
    let apart = args.on.is_some() && output.format() != Format::Table;
    if let Some(ranks) = args.ranks.filter(|&ranks| ranks > MOST_REAL && args.on.is_none()) {
        return Err(Failure::Input(format!("-n {ranks}: must be 1 to {MOST_REAL}, or up to 4096 with --on")));
    }
    let forks = args.on.as_ref().and_then(|_| args.also.forks());
    // A simulation sees by itself that nothing can go on.
    let stall = args.on.is_none().then(|| waited(args.stall)).flatten();
    let limit = args.limit.limit()?;
    let job = |ranks| Job { command, ranks, variables, tags, errors_alone: apart, forks, stall, limit };
    let given = || own.map(|given| library(Some(given), &commands)).transpose();
    if let Some(hosts) = args.hosts.asked(given()?, bind) {
        return told(hosts.run(args.ranks, job)?);
    }
    let ranks = args.ranks.unwrap_or(1);
    let mut job = job(ranks);
    job.variables.extend(with_library(own, &commands)?);
    if bind && ranks <= cores() && ranks > 1 {
        job.variables.push(("HOTLINK_BIND".to_owned(), "core".into()));
    }
    match &on {
        Some(fabric) => match simulated::run(job, fabric, &args.also, &library(own, &commands)?, output)? {
            Some(end) => told(end),
            None => Ok(()),
        },
        None => told(job.run().map_err(|error| Failure::Input(error.to_string()))?),
    }
}

/// No rank has called the library.
fn tell_unheard() {
    hotlink_paper::tell!("hotlink: no rank called hotlink's MPI library, so each ran by itself: {OTHER_MPI}");
}

/// The exit status of the job's end.
pub(super) fn told(end: JobEnd) -> Result<(), Failure> {
    if let Some(why) = &end.failed {
        hotlink_paper::tell!("hotlink: {why}");
    }
    if end.is_unheard && end.status == 0 {
        tell_unheard();
    }
    match end.status {
        0 => Ok(()),
        // The host of a rank that failed has said so.
        status => std::process::exit(i32::from(status)),
    }
}
