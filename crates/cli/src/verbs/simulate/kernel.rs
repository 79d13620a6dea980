//! `hotlink simulate is`: the kernel over the message stack, on any fabric.

use super::options::watched;
use super::packet;
use super::stack::StackArgs;
use crate::values::Counts;
use crate::verbs::watching::WatchOptions;
use crate::words::word;
use crate::{Failure, output::Output};
use hotlink_bench::is::Class;
use hotlink_study::cell::Cell;
use hotlink_study::cell::ProgramBench;
use hotlink_study::options::ClassName;
use hotlink_study::sort::ranks as is_ranks;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate is --class A --fabric w01-sci-d330 --ranks 8
  hotlink calibrate m.json --model loggp --name this-mpi && hotlink simulate is --class A --fabric this-mpi --ranks 2")]
pub(crate) struct IsArgs {
    /// Problem classes, from 2^16 keys (S) to 2^27 (C).
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
    /// Any fabric; one that `hotlink calibrate --model loggp` wrote is LogGP, others carry the message stack.
    #[arg(long, value_name = "FABRIC", default_value = "this-mpi")]
    fabric: String,
    /// Ranks: a list or range.
    #[arg(long, value_name = "LIST", default_value = "2")]
    ranks: Counts,
}

pub(crate) fn sort(args: &IsArgs, output: &mut Output) -> Result<(), Failure> {
    let mut cells = args.cells()?;
    watched(&mut cells, &args.watching)?;
    packet::run(&cells, &args.watching, output)
}

impl IsArgs {
    /// Over the message stack: the size told is that of a rank's keys.
    fn cells(&self) -> Result<Vec<Cell>, Failure> {
        if self.message.repeats() {
            let what = "--warmup, --samples, --raw: the sort repeats itself, ten times after one untimed, as published";
            return Err(Failure::Input(what.to_owned()));
        }
        let mut cells = Vec::new();
        for &class in &self.class {
            for &ranks in &is_ranks(&self.on.ranks)? {
                let class: Class = class.into();
                let size = class.keys() * size_of::<u32>() as u64 / u64::from(ranks);
                let programs = self.message.programs(ranks, &ProgramBench::IntegerSort(class), &[None]);
                let sensitivity = self.uncertain.vary();
                let plain = |what| Cell { sensitivity, ..Cell::plain(&self.on.fabric, ranks, size, what, 1) };
                cells.extend(programs.into_iter().map(plain));
            }
        }
        Ok(cells)
    }
}
