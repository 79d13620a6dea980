//! `hotlink run`: an MPI program on ranks of this machine, over this project's MPI library: over memory and sockets, or on a
//! simulated fabric.

use crate::Failure;
use crate::output::{Format, Output};
use hotlink_real::{Job, JobEnd, Via, cores};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

mod seating;
mod simulated;

pub(super) use seating::Seats;
pub(super) use simulated::{Ended, How, RECORDED, on_fabric, words_of};

/// Names the library's file, for those who do not want to say it each time.
const OWN: &str = "HOTLINK_LIBRARY";
/// The name by which programs ask for the library.
const LIBRARY: &str = "libmpi_abi.so.1";

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink run -n 4 ./app
  hotlink run -n 2 --via tcp --tag-output ./app --its-own options
  hotlink run -n 4 python program_with_mpi4py.py
  hotlink run --on ib-ndr-fat-tree2 -n 16 ./app
  hotlink run --on slingshot-dragonfly --nodes 64 --ranks-per-node 4 --placement spread -n 32 ./app

The program must be compiled for MPI's standard ABI (mpicc_abi of MPICH 5; mpi4py built with it). Its status is that of the
first rank that fails, and 0 if none does. Rank 0 has the standard input.")]
pub(crate) struct Args {
    /// Ranks: processes on this machine.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    ranks: u32,
    /// Carry messages by shared memory, TCP or both [default: what the ranks can share].
    #[arg(long, value_enum)]
    via: Option<Carrier>,
    /// Run on this simulated fabric (of the catalog, or a file), in virtual time.
    #[arg(long, value_name = "FABRIC", conflicts_with_all = ["via", "bind"])]
    on: Option<String>,
    #[command(flatten)]
    also: simulated::Also,
    /// Check the program: ranks in different collectives end the job, and MPI_Finalize tells what was never freed. The check
    /// sends messages of its own.
    #[arg(long)]
    check: bool,
    /// Mark each line of output with its rank.
    #[arg(long)]
    tag_output: bool,
    /// Keep each rank on a core of its own [default: where there are enough cores].
    #[arg(long, value_enum, default_value_t = Bind::Auto)]
    bind: Bind,
    /// Use this library [default: HOTLINK_LIBRARY, else libmpi_abi.so.1 beside the command or in ../lib/hotlink].
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// What carries messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Carrier {
    /// Shared memory.
    Shm,
    /// TCP, on the loopback.
    Tcp,
    /// Both, as between hosts.
    Mixed,
}

/// Where ranks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Bind {
    /// On a core each, if there are enough.
    Auto,
    /// Wherever the system likes.
    None,
}

impl Carrier {
    fn via(self) -> Via {
        match self {
            Carrier::Shm => Via::Shm,
            Carrier::Tcp => Via::Tcp,
            Carrier::Mixed => Via::Mixed,
        }
    }
}

/// Variables by which the program finds the library.
pub(super) fn with_library(given: Option<&Path>) -> Result<Vec<(String, OsString)>, Failure> {
    let mut path = library(given)?.parent().unwrap_or(Path::new("/")).as_os_str().to_owned();
    if let Some(others) = std::env::var_os("LD_LIBRARY_PATH").filter(|others| !others.is_empty()) {
        path.push(":");
        path.push(others);
    }
    Ok(vec![("LD_LIBRARY_PATH".to_owned(), path)])
}

/// Where the library may be, if nobody says so: beside the command, or in `lib/hotlink` of the folder that it is installed in.
/// The command of a Python package is a script: the running program is the interpreter then.
fn places() -> Vec<PathBuf> {
    let commands = [std::env::current_exe().ok(), std::env::args_os().next().map(PathBuf::from)];
    let folders = commands.iter().flatten().filter_map(|command| command.parent());
    let places = folders.flat_map(|folder| [Some(folder.to_owned()), folder.parent().map(|at| at.join("lib/hotlink"))]);
    let mut places: Vec<PathBuf> = places.flatten().map(|folder| folder.join(LIBRARY)).collect();
    places.dedup();
    places
}

/// The library's file, which must have the name that programs ask for.
pub(super) fn library(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let asked = given.map(Path::to_owned).or_else(|| std::env::var_os(OWN).map(PathBuf::from));
    let file = match asked {
        Some(file) if file.is_file() => file,
        Some(file) => {
            let who = if given.is_some() { "--library" } else { OWN };
            return Err(Failure::Input(format!("{who} {}: there is no such file", file.display())));
        }
        None => places().into_iter().find(|file| file.is_file()).ok_or_else(|| {
            let tried: Vec<String> = places().iter().map(|place| place.display().to_string()).collect();
            let how = format!(
                "`pip install` from sources does not bring it. `make build` in a checkout leaves \
                target/release/{LIBRARY}: give its place with --library or {OWN}"
            );
            Failure::Input(format!("{LIBRARY} is none of {}: {how}", tried.join(", ")))
        })?,
    };
    if file.file_name().is_none_or(|name| name != LIBRARY) {
        return Err(Failure::Input(format!("{}: it must be named {LIBRARY}, as programs ask for it", file.display())));
    }
    // A link is followed by the loader, not here: the name is what counts.
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let whole = folder.canonicalize().map(|folder| folder.join(LIBRARY));
    whole.map_err(|error| Failure::Input(format!("{}: {error}", file.display())))
}

/// What it prints is the program's own: nothing of ours is added to it, but a simulated run's report.
pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let command = args.command.clone();
    let mut variables = with_library(args.library.as_deref())?;
    if let Some(via) = args.via {
        variables.push(("HOTLINK_VIA".to_owned(), via.via().name().into()));
    }
    if args.bind == Bind::Auto && args.ranks <= cores() && args.ranks > 1 {
        variables.push(("HOTLINK_BIND".to_owned(), "core".into()));
    }
    if args.check {
        variables.push(("HOTLINK_CHECK".to_owned(), "1".into()));
    }
    let (ranks, tags) = (args.ranks, args.tag_output);
    let apart = args.on.is_some() && output.format() != Format::Table;
    let job = Job { command, ranks, variables, tags, errors_alone: apart };
    match &args.on {
        Some(fabric) => match simulated::run(job, fabric, &args.also, &library(args.library.as_deref())?, output)? {
            Some(end) => told(end),
            None => Ok(()),
        },
        None => told(job.run().map_err(|error| Failure::Input(error.to_string()))?),
    }
}

/// What the job's end comes to.
pub(super) fn told(end: JobEnd) -> Result<(), Failure> {
    match end.failed {
        None => Ok(()),
        Some(why) => {
            eprintln!("hotlink: {why}");
            std::process::exit(i32::from(end.status))
        }
    }
}
