//! `hotlink simulate goal`: a schedule on a machine of the LogGP family, or on a fabric's packet network.

use crate::words::{one_of, word};
use crate::{Failure, values::Counts};
use hotlink_bench::Step;
use hotlink_fabric::units::Time;
use hotlink_loggp::LogGops;
use hotlink_paper::Output;
use hotlink_results::{can_write, is_free, write_with};
use hotlink_study::Source;
use hotlink_study::ask::Method;
use hotlink_study::inputs::Vary;
use hotlink_study::options::CalcUnit;
use hotlink_study::simulate::goal::{Goal, Scheduled};
use hotlink_study::simulate::loggp::is_calibrated;
use hotlink_workloads::schedule::Recorded;
use std::path::{Path, PathBuf};

use super::schedule::{NetworkArgs, SeatsArgs, on_packets};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate goal trace.goal --loggp L=2us,o=0.5us,g=50ns,G=0.08ns --json
  hotlink simulate goal trace.goal --fabric ib-ndr-fat-tree2 --overhead 0.5us
  hotlink simulate goal --generate barrier:dissemination --ranks 2..1024..x2 --loggp L=2us,o=0.5us,g=50ns,G=0
  hotlink simulate goal --generate bcast:binomial:8,barrier:tree --ranks 64 --repeat 10 --write trace.goal \\
      --loggp L=2us,o=0.5us,g=50ns,G=0.08ns,S=64KiB
  hotlink simulate goal --generate bcast:binomial:64KiB --ranks 2..64..x2 --fabric this-mpi
  hotlink simulate goal --generate allreduce:ring:1MiB --ranks 16,64 --fabric ib-ndr-fat-tree2")]
pub(crate) struct Args {
    /// Schedule to run: LogGOPSim's text or binary form, or any other that `simulate schedule` reads.
    #[arg(required_unless_present = "generate", conflicts_with = "generate")]
    file: Option<PathBuf>,
    /// Give the parameters of LogGP: L, o, g (times), G and optionally O (times per byte) and S (bytes; longer messages go
    /// by rendezvous).
    #[arg(long, value_name = "L=..,o=..,g=..,G=..[,S=..][,O=..]")]
    loggp: Option<LogGops>,
    /// Use a fabric in place of --loggp: its packet network, or one that `hotlink calibrate --model loggp` wrote.
    #[arg(long, value_name = "FABRIC", conflicts_with = "loggp")]
    fabric: Option<String>,
    /// Choose the engine. [default: loggp where the fabric is calibrated as such, else packet]
    #[arg(long, value_parser = one_of(&[Method::Loggp, Method::Packet]), conflicts_with = "loggp")]
    method: Option<Method>,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    seats: SeatsArgs,
    /// Read and write `calc` in this unit of time: in the file, and in the output of --write.
    #[arg(long, value_name = "UNIT", value_parser = word::<CalcUnit>(), default_value_t = CalcUnit::Ns)]
    calc_unit: CalcUnit,
    /// Generate these collectives instead of reading a file, one after the other: OPERATION:ALGORITHM[:SIZE[:SEGMENT]]. They
    /// are recorded from the message stack as it runs on the machine; on packets, the hosts' own work takes no time.
    #[arg(long, value_delimiter = ',', value_name = "LIST", requires = "ranks")]
    generate: Vec<Step>,
    /// Run the generated collectives on this many ranks: a count, list or range.
    #[arg(long, value_name = "LIST", conflicts_with = "file")]
    ranks: Option<Counts>,
    /// Run the generated list this many times.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000), conflicts_with = "file")]
    repeat: u32,
    /// Also write the generated schedule (of one number of ranks) to this file.
    #[arg(long, value_name = "FILE", requires = "generate")]
    write: Option<PathBuf>,
    /// Let --write replace a file that is there already.
    #[arg(long, requires = "write")]
    force: bool,
}

impl Args {
    /// The schedule and its machine, and the machine's fabric.
    fn goal(&self) -> Result<(Goal, String), Failure> {
        let schedule = match &self.file {
            Some(file) => Scheduled::File {
                file: file.display().to_string(),
                calc_unit: self.calc_unit.into(),
                options: Default::default(),
            },
            None => Scheduled::Generated { steps: self.generate.clone(), repeat: self.repeat },
        };
        if self.loggp.is_none() && self.fabric.is_none() {
            return Err(input("a machine is needed: --loggp L=..,o=..,g=..,G=.. or --fabric NAME".to_owned()));
        }
        Ok((Goal { schedule, machine: self.loggp }, self.own_fabric().unwrap_or("loggp".to_owned())))
    }

    /// The fabric with its changes.
    fn own_fabric(&self) -> Option<String> {
        self.fabric.as_deref().map(|name| self.network.fabric(name))
    }

    /// The fabric whose packets carry the schedule, if they do.
    fn on_packets(&self) -> Result<Option<String>, Failure> {
        let Some(fabric) = self.own_fabric() else { return Ok(None) };
        let is_loggp = is_calibrated(Source::open(&fabric)?.spec());
        match (self.method, is_loggp) {
            (Some(Method::Packet), true) => {
                Err(input(format!("--method packet: {fabric} is calibrated as LogGP and has no network of packets")))
            }
            (Some(Method::Loggp), _) | (None, true) => Ok(None),
            _ => Ok(Some(fabric)),
        }
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    if let Some(fabric) = args.on_packets()? {
        let name = args.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
        let mut scheduled = args.network.scheduled(&name, &args.seats, args.calc_unit.into())?;
        if args.write.is_some() {
            return Err(input(match &args.file {
                Some(file) => format!("--write: {}", rewrites(file)),
                None => "--write: works with --loggp or a fabric calibrated for LogGP, not with packets".to_owned(),
            }));
        }
        if args.file.is_none() {
            let ranks = args.ranks.as_ref().map(Counts::to_u32).transpose().map_err(input)?.unwrap_or_default();
            let of = |ranks: u32| Recorded { steps: args.generate.clone(), repeat: args.repeat, ranks };
            let each = |&ranks: &u32| scheduled.iter().map(move |one| one.recording(of(ranks))).collect::<Vec<_>>();
            scheduled = ranks.iter().flat_map(each).collect();
        }
        return on_packets(&scheduled, "goal", &[fabric], output);
    }
    let (goal, fabric) = args.goal()?;
    if args.network.asks() || args.seats.asks() {
        let what = "--nodes, --ranks-per-node, --placement, --overhead, --eager, --packet-size, --paths, --faults";
        return Err(input(format!("{what}: are of packets")));
    }
    let ranks = args.ranks.as_ref().map(Counts::to_u32).transpose().map_err(input)?.unwrap_or_default();
    if args.write.is_some() && ranks.len() != 1 {
        let what = match &args.file {
            Some(file) => rewrites(file),
            None => "takes one number of ranks, such as --ranks 8".to_owned(),
        };
        return Err(input(format!("--write: {what}")));
    }
    if let Some(path) = &args.write {
        is_free("--write", path, args.force)?;
        can_write("--write", path)?;
    }
    let vary = match args.network.vary() {
        Vary::No => output.vary(false),
        asked => asked,
    };
    // A stated machine has nothing to vary.
    let vary = if args.loggp.is_some() && vary == Vary::IfQuick { Vary::No } else { vary };
    let progress = output.ticking("simulate", ranks.len().max(1) as u64);
    goal.each(&fabric, &ranks, vary, &*progress, &mut |schedule, record| {
        output.push(record);
        // Recorded times are in picoseconds.
        let counted = || schedule.recounted(1, Time::from(args.calc_unit).0);
        args.write.as_ref().map_or(Ok(()), |path| write_with("--write", path, |mut out| counted().write(&mut out)))
    })
}

/// What writes a file's schedule.
fn rewrites(file: &Path) -> String {
    format!("writes what is recorded; `simulate schedule {} --write` rewrites it", file.display())
}

fn input(what: String) -> Failure {
    Failure::Input(what)
}
