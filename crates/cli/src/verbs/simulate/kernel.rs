//! `hotlink simulate is`: the kernel over the message stack, on any fabric.

use super::options::asked;
use super::run::Ask;
use super::stack::StackArgs;
use crate::Failure;
use crate::values::Counts;
use crate::verbs::watching::WatchOptions;
use crate::words::word;
use hotlink_study::options::ClassName;
use hotlink_study::simulate::request::{Benchmark, Request};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate is --class A --fabric w01-sci-d330 --ranks 8
  hotlink calibrate m.json --model loggp --name this-mpi && hotlink simulate is --class A --fabric this-mpi --ranks 2")]
pub(crate) struct IsArgs {
    /// Choose the problem classes, from 2^16 keys (S) to 2^27 (C).
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = word::<ClassName>(), default_value = "S")]
    class: Vec<ClassName>,
    #[command(flatten)]
    on: OnArgs,
    #[command(flatten)]
    message: StackArgs,
    #[command(flatten)]
    watching: WatchOptions,
    #[command(flatten)]
    uncertain: super::options::UncertainArgs,
}

#[derive(clap::Args)]
struct OnArgs {
    /// Fabric to simulate. One that `hotlink calibrate --model loggp` wrote runs as LogGP, others run the message stack.
    #[arg(long, value_name = "FABRIC", default_value = "this-mpi")]
    fabric: String,
    /// Numbers of ranks: a list or range.
    #[arg(long, value_name = "LIST", default_value = "2")]
    ranks: Counts,
}

impl Ask for IsArgs {
    fn watching(&self) -> Option<&WatchOptions> {
        Some(&self.watching)
    }
    fn request(&self) -> Result<Request, Failure> {
        let on = (std::slice::from_ref(&self.on.fabric), Some(&self.on.ranks));
        asked(Benchmark::Sort(self.class.clone()), on, &self.message, (&self.watching, self.uncertain))
    }
}
