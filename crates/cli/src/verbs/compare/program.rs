//! `hotlink compare --program`: the same binary on several simulated fabrics, with its times and each fabric's cost.

use crate::verbs::question::VariantArgs;
use crate::verbs::run::told;
use crate::words::Fabrics;
use crate::{Failure, place};
use hotlink_launch::Compared;
use hotlink_paper::{Output, job};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Heading of these options in the help.
const PROGRAM: &str = "A program on each fabric";

/// Options of a program that is compared.
#[derive(clap::Args)]
pub(super) struct ProgramArgs {
    /// Run this MPI program on each fabric of --on, in virtual time. Its arguments follow after --.
    #[arg(
        help_heading = PROGRAM, long, value_name = "PROGRAM", requires = "on",
        conflicts_with_all = [
            "fabrics", "nodes", "method", "across_eras", "sensitivity", "out", "traffic", "capacities", "size", "seed", "paths",
            "technology", "samples", "hash_seeds",
        ],
    )]
    program: Option<OsString>,
    /// Run this many ranks of the program.
    #[arg(
        help_heading = PROGRAM, short = 'n', value_name = "N", id = "ranks", default_value_t = 1, requires = "program",
        value_parser = clap::value_parser!(u32).range(1..=1024),
    )]
    ranks: u32,
    /// Fabrics that the program runs on, one after the other: names of the catalog, or files.
    #[arg(help_heading = PROGRAM, long, value_name = "LIST", requires = "program")]
    on: Vec<Fabrics>,
    /// Charge the program for computing between its calls. none charges nothing; a number is a factor of the processor
    /// time used here. A file of `hotlink record` gives the times. [default: none]
    #[arg(help_heading = PROGRAM, long, value_name = "none|FACTOR|FILE", requires = "program")]
    compute_time: Option<String>,
    /// Use this MPI library. [default: as `hotlink run`]
    #[arg(help_heading = PROGRAM, long, value_name = "FILE", requires = "program")]
    library: Option<PathBuf>,
    /// Let links and switches fail, come back or degrade while the program runs, on each fabric as this plan says.
    #[arg(help_heading = PROGRAM, long, value_name = "PLAN.toml", requires = "program")]
    faults: Option<String>,
    /// The program's arguments.
    #[arg(last = true, value_name = "ARGUMENTS", requires = "program")]
    arguments: Vec<OsString>,
}

impl ProgramArgs {
    /// The program, if one is compared.
    pub(super) fn asked(&self, variant: &VariantArgs) -> Result<Option<Compared>, Failure> {
        let Some(program) = self.program.clone() else { return Ok(None) };
        Ok(Some(Compared {
            command: std::iter::once(program).chain(self.arguments.iter().cloned()).collect(),
            ranks: self.ranks,
            fabrics: variant.of_all(Fabrics::all(&self.on))?,
            compute: self.compute_time.clone().unwrap_or_else(|| "none".to_owned()),
            library: self.library.clone(),
            faults: self.faults.clone(),
            commands: place::commands(),
        }))
    }
}

/// Runs it on each fabric.
pub(super) fn run(asked: &Compared, prices: Option<&Path>, output: &mut Output) -> Result<(), Failure> {
    let progress = output.progress("compare", asked.fabrics.len() as u64);
    let ran = asked.run(prices, &progress);
    drop(progress);
    match ran? {
        Err(end) => told(end),
        Ok(records) => {
            output.table(job::table(&records));
            output.push_all(records);
            Ok(())
        }
    }
}
