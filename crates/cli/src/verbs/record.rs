//! `hotlink record`: what each rank of an MPI program computes between its calls, for `hotlink run --compute-time FILE`.

use super::run::{LimitArgs, told, waited};
use crate::values::stall_or_none;
use crate::{Failure, place};
use hotlink_launch::{record, with_library};
use hotlink_paper::Output;
use hotlink_real::{Job, cores};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Example:
  hotlink record -n 4 --out run.rec ./app && hotlink run --on gige -n 4 --compute-time run.rec ./app

The program runs over shared memory. Its times are those that a rank's thread spent on a processor.")]
pub(crate) struct Args {
    /// Start this many ranks, as processes on this machine.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    ranks: u32,
    /// Write the record to this file.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// End ranks that have all waited this many seconds for each other, and report which rank waits for which. 0 lets
    /// them wait.
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = stall_or_none)]
    stall: f64,
    #[command(flatten)]
    limit: LimitArgs,
    /// Use this library. [default: as `hotlink run`]
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// Program to run, and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// Its output is the program's own.
pub(crate) fn run(args: &Args, _output: &mut Output) -> Result<(), Failure> {
    super::run::program("record", &args.command)?;
    hotlink_results::is_no_input("--out", &args.out, args.command.first())?;
    let mut variables = with_library(args.library.as_deref(), &place::commands())?;
    if args.ranks <= cores() && args.ranks > 1 {
        variables.push(("HOTLINK_BIND".to_owned(), "core".into()));
    }
    let (command, ranks, stall, limit) = (args.command.clone(), args.ranks, waited(args.stall), args.limit.limit()?);
    let job = Job { command, ranks, variables, tags: false, errors_alone: false, forks: None, stall, limit };
    told(record(job, &args.out)?)
}
