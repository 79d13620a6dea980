//! `hotlink barrier`: the hardware barrier at work: its compiled RTL as a device, and the plug-in for real MPIs.

use crate::Failure;
use hotlink_bench::Record;
use hotlink_measure::native::{Served, device, plugin};
use hotlink_paper::Output;
use std::os::unix::process::CommandExt;
use std::process::Command;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink barrier serve --device rtl --nodes 4 --ranks-per-node 2 &
  hotlink barrier serve --device fabric:sharp --nodes 8 &
  HOTLINK_BARRIER_WIRES=gpio:/dev/gpiochip0:10/20 hotlink barrier check --port 2
  LD_PRELOAD=$(hotlink barrier plugin --mpi auto) mpirun -n 2 ./any-mpi-program
  hotlink measure barrier --device rtl,flags --ranks 2
Both are compiled from source at first use and kept; docs/barrier.md explains them.")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Own a barrier device: write its groups, hand them out to MPI jobs, and take them back when processes die.
    Serve(Serve),
    /// Try this node's wires (HOTLINK_BARRIER_WIRES) against the daemon's device, and name the wire that does not follow.
    Check(Check),
    /// Print the path of the library that replaces MPI_Barrier, for LD_PRELOAD.
    Plugin(Plugin),
}

#[derive(clap::Args)]
struct Check {
    /// Port of the device that this node is wired to. [default: a free one, for the compiled RTL]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..i64::from(device::MOST_PORTS)))]
    port: Option<u32>,
    /// Try this many arrivals.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rounds: u32,
}

#[derive(clap::Args)]
struct Serve {
    /// Own this device: rtl (the Verilog of rtl/barrier, compiled by Verilator), spi:PATH (a board's registers by SPI)
    /// or port:BASE (by a parallel port's control lines). Or uio:PATH (a card's registers, memory-mapped), or
    /// fabric:NAME (the catalog's model of a fabric's own barrier network, such as sharp).
    #[arg(
        long,
        value_name = "rtl|spi:PATH|port:BASE|uio:PATH|fabric:NAME",
        default_value = "rtl",
        value_parser = Served::read
    )]
    device: Served,
    /// Number of nodes that the device joins, one port each.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(device::MOST_PORTS)))]
    nodes: u32,
    /// Let MPI jobs of this machine act as nodes of this many consecutive ranks. 0 takes the nodes from the MPI.
    #[arg(long, value_name = "M", default_value_t = 0)]
    ranks_per_node: u32,
    /// Listen at this socket; clients find it by HOTLINK_BARRIER_DEVICE. [default: the user's own, /tmp/hotlink-barrier-UID]
    #[arg(long, value_name = "PATH")]
    socket: Option<String>,
    /// End after this many seconds; 0 means never.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    seconds: u32,
}

#[derive(clap::Args)]
struct Plugin {
    /// Serve these MPIs: auto (all that are found), openmpi, mpich, or the path of an mpicc or of an MPI's folder.
    #[arg(long, value_name = "auto|openmpi|mpich|PATH", default_value = "auto")]
    mpi: String,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    match &args.what {
        What::Serve(serve) => Err(run_server(serve, output)?),
        What::Check(check) => Err(run_check(check, output)?),
        What::Plugin(plugin) => print_plugin(plugin, output),
    }
}

/// Becomes the self-test. Returns only if it cannot.
fn run_check(args: &Check, output: &Output) -> Result<Failure, Failure> {
    let mut command = Command::new(device::CHECK.make(&output.face())?);
    command.arg(args.port.map_or_else(|| "any".to_owned(), |port| port.to_string())).arg(args.rounds.to_string());
    Ok(becomes(command))
}

fn becomes(mut command: Command) -> Failure {
    let error = command.exec();
    Failure::Check(format!("{}: {error}", command.get_program().display()))
}

/// Becomes the server, so that its end and its signals are this process's. Returns only if it cannot.
fn run_server(args: &Serve, output: &Output) -> Result<Failure, Failure> {
    let mut command = args.device.command(args.nodes, args.socket.as_deref(), &output.face())?;
    command.args(["--seconds", &args.seconds.to_string()]);
    command.args(["--ranks-per-node", &args.ranks_per_node.to_string()]);
    Ok(becomes(command))
}

fn print_plugin(args: &Plugin, output: &mut Output) -> Result<(), Failure> {
    let compilers = plugin::find(&args.mpi)?;
    let path = plugin::plugin(&compilers, &output.face())?;
    let path = path.display().to_string();
    for compiler in &compilers {
        let record = Record::new().with("plugin", path.as_str()).with("interface", compiler.interface.name());
        output.push(record.with("compiler", compiler.program.as_str()));
    }
    output.text(path);
    Ok(())
}
