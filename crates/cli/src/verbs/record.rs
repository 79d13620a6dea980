//! `hotlink record`: what each rank of an MPI program computes between its calls, for `hotlink run --compute-time FILE`.

use super::run::{RECORDED, told, with_library};
use crate::{Failure, output::Output};
use hotlink_real::{Job, cores};
use hotlink_results::{can_write, write_whole};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Example:
  hotlink record -n 4 --out run.rec ./app && hotlink run --on gige -n 4 --compute-time run.rec ./app

The program runs over shared memory. Times are those that the system had a rank's thread on a processor.")]
pub(crate) struct Args {
    /// Ranks: processes on this machine.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    ranks: u32,
    /// Write the record here.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Use this library [default: as `hotlink run`].
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// A rank's part of the record while the program runs.
fn part(out: &Path, rank: Option<u32>) -> PathBuf {
    let mut path = out.as_os_str().to_owned();
    path.push(format!(".{}", std::process::id()));
    if let Some(rank) = rank {
        path.push(format!(".{rank}"));
    }
    path.into()
}

/// What it prints is the program's own.
pub(crate) fn run(args: &Args, _output: &mut Output) -> Result<(), Failure> {
    let of = |path: &Path, error: std::io::Error| Failure::Input(format!("{}: {error}", path.display()));
    can_write("--out", &args.out)?;
    let whole = std::path::absolute(&args.out).map_err(|error| of(&args.out, error))?;
    let mut variables = with_library(args.library.as_deref())?;
    variables.push(("HOTLINK_RECORD".to_owned(), part(&whole, None).into()));
    if args.ranks <= cores() && args.ranks > 1 {
        variables.push(("HOTLINK_BIND".to_owned(), "core".into()));
    }
    let job = Job { command: args.command.clone(), ranks: args.ranks, variables, tags: false, errors_alone: false };
    let end = job.run().map_err(|error| Failure::Input(error.to_string()))?;
    let mut text = format!("{RECORDED} {}\n", args.ranks);
    let mut missing = None;
    for rank in 0..args.ranks {
        let file = part(&whole, Some(rank));
        match std::fs::read_to_string(&file) {
            Ok(times) => text += &(times.split_whitespace().collect::<Vec<_>>().join(" ") + "\n"),
            Err(_) => missing = missing.or(Some(rank)),
        }
        // What a rank that failed has not written is not there.
        let _ = std::fs::remove_file(&file);
    }
    if end.failed.is_some() {
        return told(end);
    }
    if let Some(rank) = missing {
        return Err(Failure::Check(format!("rank {rank} never called MPI_Finalize: there is nothing to record")));
    }
    write_whole("--out", &whole, &text)
}
