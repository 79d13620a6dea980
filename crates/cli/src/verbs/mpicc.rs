//! `hotlink mpicc` and `hotlink mpicxx`: the system's compilers with the header and the library of MPI's standard ABI.

use crate::{Failure, place};
use hotlink_launch::compiler::{Language, compile, layout};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink mpicc -O2 -o app app.c
  hotlink mpicxx -std=c++17 -o app app.cpp
  hotlink mpicc -showme:link
  hotlink mpicc --layout ~/mpi && export PATH=~/mpi/bin:$PATH

The compiler is that of HOTLINK_CC (cc) or HOTLINK_CXX (c++). -show prints the command line; -showme:compile and -showme:link
print what it adds. Header and library are in the folder `mpi` beside the command, which is made at first use; HOTLINK_MPI
names another. The folder has bin/mpicc, bin/mpicxx, lib/pkgconfig/hotlink-mpi.pc and modulefiles/hotlink-mpi.")]
pub(crate) struct Args {
    /// Write the folder of header, library and scripts here, and compile nothing.
    #[arg(long, value_name = "DIR", conflicts_with = "arguments")]
    layout: Option<PathBuf>,
    /// Link with this library. [default: as `hotlink run`]
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// The compiler's arguments.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENTS",
        required_unless_present = "layout"
    )]
    arguments: Vec<OsString>,
}

/// Becomes the compiler, or prints its command line.
pub(crate) fn run(args: &Args, language: Language) -> Result<(), Failure> {
    let (library, commands) = (args.library.as_deref(), place::commands());
    if let Some(folder) = &args.layout {
        return layout(folder, library, &commands);
    }
    let words = compile(&args.arguments, language, library, &commands)?;
    println!("{}", words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "));
    Ok(())
}
