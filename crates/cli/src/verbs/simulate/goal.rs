//! `hotlink simulate goal`: a schedule on a machine of the LogGP family.

use crate::progress::Stopwatch;
use crate::{Failure, output::Output, values::Counts};
use hotlink_bench::Step;
use hotlink_fabric::units::Time;
use hotlink_loggp::LogGops;
use hotlink_results::write_with;
use hotlink_study::simulate::goal::{Goal, Scheduled};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate goal trace.goal --loggp L=2us,o=0.5us,g=50ns,G=0.08ns --json
  hotlink simulate goal --generate barrier:dissemination --ranks 2..1024..x2 --loggp L=2us,o=0.5us,g=50ns,G=0
  hotlink simulate goal --generate bcast:binomial:8,barrier:tree --ranks 64 --repeat 10 --write trace.goal \\
      --loggp L=2us,o=0.5us,g=50ns,G=0.08ns,S=64KiB
  hotlink simulate goal --generate bcast:binomial:64KiB --ranks 2..64..x2 --fabric this-mpi")]
pub(crate) struct Args {
    /// A schedule in LogGOPSim's text format.
    #[arg(required_unless_present = "generate", conflicts_with = "generate")]
    file: Option<PathBuf>,
    /// L, o, g (times), G and optionally O (times per byte) and S (bytes; longer messages go by rendezvous).
    #[arg(long, value_name = "L=..,o=..,g=..,G=..[,S=..][,O=..]")]
    loggp: Option<LogGops>,
    /// A fabric that `hotlink calibrate --model loggp` wrote, in place of --loggp.
    #[arg(long, value_name = "FABRIC", conflicts_with = "loggp")]
    fabric: Option<String>,
    /// What one unit of `calc` in FILE stands for (generated schedules count picoseconds).
    #[arg(long, value_enum, default_value_t = CalcUnit::Ns)]
    calc_unit: CalcUnit,
    /// Collectives instead of a file, one after the other: OPERATION:ALGORITHM[:SIZE[:SEGMENT]]. Recorded from the
    /// message stack, running on the machine.
    #[arg(long, value_delimiter = ',', value_name = "LIST", requires = "ranks")]
    generate: Vec<Step>,
    /// Ranks of the generated collectives: a count, list or range.
    #[arg(long, value_name = "LIST", conflicts_with = "file")]
    ranks: Option<Counts>,
    /// How often the generated list is run.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000), conflicts_with = "file")]
    repeat: u32,
    /// Also write the generated schedule (of one number of ranks) to this file.
    #[arg(long, value_name = "FILE", requires = "generate")]
    write: Option<PathBuf>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum CalcUnit {
    Ps,
    Ns,
    Us,
}

impl Args {
    /// The schedule and its machine, and the machine's fabric.
    fn goal(&self) -> Result<(Goal, &str), Failure> {
        let schedule = match &self.file {
            Some(file) => Scheduled::File {
                file: file.display().to_string(),
                calc_unit: match self.calc_unit {
                    CalcUnit::Ps => Time(1),
                    CalcUnit::Ns => Time(1_000),
                    CalcUnit::Us => Time(1_000_000),
                },
            },
            None => Scheduled::Generated { steps: self.generate.clone(), repeat: self.repeat },
        };
        if self.loggp.is_none() && self.fabric.is_none() {
            return Err(input("a machine is needed: --loggp L=..,o=..,g=..,G=.. or --fabric NAME".to_owned()));
        }
        Ok((Goal { schedule, machine: self.loggp }, self.fabric.as_deref().unwrap_or("loggp")))
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let (goal, fabric) = args.goal()?;
    let ranks = args.ranks.as_ref().map(Counts::to_u32).transpose().map_err(input)?.unwrap_or_default();
    if args.write.is_some() && ranks.len() != 1 {
        return Err(input("--write: takes one number of ranks; --ranks gives several".to_owned()));
    }
    goal.each(fabric, &ranks, &Stopwatch, &mut |schedule, record| {
        output.push(record);
        args.write.as_ref().map_or(Ok(()), |path| write_with("--write", path, |mut out| schedule.write(&mut out)))
    })
}

fn input(what: String) -> Failure {
    Failure::Input(what)
}
