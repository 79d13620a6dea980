//! `hotlink barrier`: the hardware barrier at work: its compiled RTL as a device, and the plug-in for real MPIs.

use crate::{Failure, output::Output};
use hotlink_bench::Record;
use hotlink_measure::native::{device, plugin};
use std::os::unix::process::CommandExt;
use std::process::Command;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink barrier serve --ranks 4 &
  LD_PRELOAD=$(hotlink barrier plugin --mpi auto) mpirun -n 2 ./any-mpi-program
  hotlink measure barrier --device rtl,flags --ranks 2
Both are compiled from source at first use and kept; docs/barrier.md tells how they work.")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Runs the compiled RTL of the barrier device: ranks join by its pins in shared memory.
    Serve(Serve),
    /// Prints the path of the library that takes MPI_Barrier over, for LD_PRELOAD.
    Plugin(Plugin),
}

#[derive(clap::Args)]
struct Serve {
    /// Ranks of the group.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(device::MOST_PORTS)))]
    ranks: u32,
    /// Name of the shared memory that holds pins and registers.
    #[arg(long, value_name = "/NAME", default_value = "/hotlink-barrier")]
    shm: String,
    /// Ends after so many seconds; 0: never.
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    seconds: u32,
}

#[derive(clap::Args)]
struct Plugin {
    /// MPIs to serve: auto (all that are found), openmpi, mpich, or the path of an mpicc or of an MPI's folder.
    #[arg(long, value_name = "auto|openmpi|mpich|PATH", default_value = "auto")]
    mpi: String,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    match &args.what {
        What::Serve(serve) => Err(run_server(serve, output)?),
        What::Plugin(plugin) => print_plugin(plugin, output),
    }
}

/// Becomes the server, so that its end and its signals are this process's. Returns only if it cannot.
fn run_server(args: &Serve, output: &Output) -> Result<Failure, Failure> {
    if !args.shm.starts_with('/') || args.shm.len() > 250 || args.shm[1..].contains('/') || args.shm.len() < 2 {
        return Err(Failure::Input(format!("--shm {}: allowed is a slash and a name without one", args.shm)));
    }
    let program = device::server(args.ranks, &output.face())?;
    let mut command = Command::new(&program);
    command.args(["--ranks", &args.ranks.to_string(), "--shm", &args.shm, "--seconds", &args.seconds.to_string()]);
    let error = command.exec();
    Ok(Failure::Check(format!("{}: {error}", program.display())))
}

fn print_plugin(args: &Plugin, output: &mut Output) -> Result<(), Failure> {
    let compilers = plugin::find(&args.mpi)?;
    let path = plugin::plugin(&compilers, &output.face())?;
    let path = path.display().to_string();
    for compiler in &compilers {
        let record = Record::new().with("plugin", path.as_str()).with("interface", compiler.interface.name());
        output.push(record.with("compiler", compiler.program.as_str()));
    }
    output.text(path + "\n");
    Ok(())
}
