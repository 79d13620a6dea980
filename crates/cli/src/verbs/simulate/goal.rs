//! `hotlink simulate goal`: a schedule on a machine of the LogGP family.

use crate::{Failure, output::Output, source::Source, values::Counts};
use hotlink_bench::Record;
use hotlink_fabric::units::Time;
use hotlink_sim::loggp::{Collective, LogGops, MOST_RANKS, Outcome, Schedule, generate, simulate};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

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
    /// What one unit of `calc` stands for.
    #[arg(long, value_enum, default_value_t = CalcUnit::Ns)]
    calc_unit: CalcUnit,
    /// Collectives instead of a file, one after the other: OPERATION:ALGORITHM[:SIZE[:SEGMENT]].
    #[arg(long, value_delimiter = ',', value_name = "LIST", requires = "ranks")]
    generate: Vec<Collective>,
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

/// Most operations that are generated: some gigabytes of memory.
const MOST_OPERATIONS: u64 = 50_000_000;

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let calc_unit = match args.calc_unit {
        CalcUnit::Ps => Time(1),
        CalcUnit::Ns => Time(1_000),
        CalcUnit::Us => Time(1_000_000),
    };
    let machine = LogGops { calc_unit, ..machine(args)? };
    if let Some(file) = &args.file {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file).map_err(|error| input(format!("{name}: cannot be read: {error}")))?;
        let schedule = Schedule::parse(&text).map_err(|error| input(format!("{name}:{error}")))?;
        output.push(simulated(args, &name, &schedule, &machine)?);
        return Ok(());
    }
    let sizes = args.ranks.as_ref().map(Counts::to_u32).transpose().map_err(input)?.unwrap_or_default();
    if args.write.is_some() && sizes.len() != 1 {
        return Err(input("--write: takes one number of ranks; --ranks gives several".to_owned()));
    }
    let names: Vec<String> = args.generate.iter().map(Collective::to_string).collect();
    for ranks in sizes {
        let schedule = generated(args, ranks)?;
        if let Some(path) = &args.write {
            write(path, &schedule)?;
        }
        output.push(simulated(args, &names.join(","), &schedule, &machine)?);
    }
    Ok(())
}

/// The machine that the options name.
fn machine(args: &Args) -> Result<LogGops, Failure> {
    let Some(name) = &args.fabric else {
        return args
            .loggp
            .ok_or_else(|| input("a machine is needed: --loggp L=..,o=..,g=..,G=.. or --fabric NAME".to_owned()));
    };
    let source = Source::open(name)?;
    let spec = source.spec().ok_or_else(|| input(format!("{name}: is a graph")))?;
    LogGops::of(spec).map_err(input)
}

fn input(what: String) -> Failure {
    Failure::Input(what)
}

fn generated(args: &Args, ranks: u32) -> Result<Schedule, Failure> {
    if ranks > MOST_RANKS {
        return Err(input(format!("--ranks: {ranks} is too many (allowed: 1 to {MOST_RANKS})")));
    }
    let operations: u64 = args.generate.iter().map(|collective| collective.operations(ranks)).sum();
    if operations.saturating_mul(u64::from(args.repeat)) > MOST_OPERATIONS {
        let what = format!("{ranks} ranks x {} repeats need more than {MOST_OPERATIONS} operations", args.repeat);
        return Err(input(format!("--generate: {what}; allowed: fewer ranks, repeats or segments")));
    }
    Ok(generate(ranks, &args.generate, args.repeat))
}

/// The schedule under another name first, so that a full disk leaves nothing half-written.
fn write(path: &Path, schedule: &Schedule) -> Result<(), Failure> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let written = std::fs::File::create(&partial).and_then(|file| {
        let mut out = BufWriter::new(file);
        schedule.write(&mut out)?;
        out.flush()?;
        std::fs::rename(&partial, path)
    });
    written.map_err(|error| {
        let _ = std::fs::remove_file(&partial);
        input(format!("--write {}: {error}", path.display()))
    })
}

fn simulated(args: &Args, name: &str, schedule: &Schedule, machine: &LogGops) -> Result<Record, Failure> {
    let start = Instant::now();
    let outcome = simulate(schedule, machine).map_err(|stuck| input(format!("{name}: {stuck}")))?;
    let wall_s = start.elapsed().as_secs_f64();
    let fabric = args.fabric.as_deref().unwrap_or("loggp");
    Ok(record(name, machine, &outcome).with("fabric", fabric).with("wall_s", wall_s))
}

fn record(name: &str, machine: &LogGops, outcome: &Outcome) -> Record {
    let mut finish = outcome.finish.clone();
    finish.sort_unstable();
    // Nearest rank: the smallest value that at least this share does not exceed.
    let quantile = |share: f64| finish[((share * finish.len() as f64).ceil() as usize).clamp(1, finish.len()) - 1].us();
    let (latency, bound) = (outcome.latency(), outcome.bound);
    let efficiency = if latency.0 == 0 { 1.0 } else { bound.0 as f64 / latency.0 as f64 };
    let mut record = Record::new()
        .with("fabric", "loggp")
        .with("benchmark", "goal")
        .with("method", "loggp")
        .with("schedule", name)
        .with("ranks", finish.len())
        .with("L_us", machine.latency.us())
        .with("o_us", machine.overhead.us())
        .with("g_us", machine.gap.us())
        .with("G_ns_per_B", machine.gap_per_byte.ns())
        .with("O_ns_per_B", machine.overhead_per_byte.ns());
    if machine.eager_max != u64::MAX {
        record.set("S_B", machine.eager_max);
    }
    record
        .with("latency_us", latency.us())
        .with("n", finish.len())
        .with("min", quantile(0.0))
        .with("median", quantile(0.5))
        .with("p99", quantile(0.99))
        .with("max", quantile(1.0))
        .with("operations", outcome.operations)
        .with("messages", outcome.messages)
        .with("bytes", outcome.bytes)
        .with("bound_latency_us", bound.us())
        .with("efficiency", efficiency)
        .with("limiting_resource", outcome.limit.to_string())
        .with("events", outcome.events)
        // The LogGP machine has no network to hop through.
        .with("packet_hops", 0)
        .with("trace_hash", format!("{:016x}", outcome.trace_hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The records of a command line, or what it said.
    fn hotlink(line: &str) -> Result<Vec<serde_json::Value>, Failure> {
        let args = std::iter::once("hotlink").chain(line.split(' ')).chain(["--json"]);
        let text = crate::json(args.map(Into::into))?;
        let result: serde_json::Value = serde_json::from_str(&text).unwrap();
        Ok(result["records"].as_array().unwrap().clone())
    }

    const MACHINE: &str = "--loggp L=2us,o=0.5us,g=50ns,G=0.08ns";

    #[test]
    fn generated_barriers_take_their_closed_form() {
        let line = format!("simulate goal --generate barrier:dissemination --ranks 2,4,5,1000 {MACHINE}");
        let latencies: Vec<f64> =
            hotlink(&line).unwrap().iter().map(|record| record["latency_us"].as_f64().unwrap()).collect();
        assert_eq!(latencies, [3.0, 6.0, 9.0, 30.0]);
    }

    #[test]
    fn a_written_schedule_runs_as_it_did() {
        let path = std::env::temp_dir().join(format!("hotlink-goal-{}.goal", std::process::id()));
        let file = path.display();
        let line =
            format!("simulate goal --generate bcast:binomial:8,barrier:tree --ranks 13 {MACHINE} --write {file}");
        let made = hotlink(&line).unwrap();
        let read = hotlink(&format!("simulate goal {file} {MACHINE}")).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(made[0]["trace_hash"], read[0]["trace_hash"]);
        assert_eq!(made[0]["latency_us"], read[0]["latency_us"]);
    }

    #[test]
    fn mistakes_name_their_place() {
        for (line, expected) in [
            ("simulate goal no-such.goal --loggp L=1us,o=1us,g=1us,G=0", "no-such.goal: cannot be read"),
            ("simulate goal x.goal --loggp L=1us,o=1us,g=1us", "G is missing"),
            ("simulate goal --generate barrier:magic --ranks 2 --loggp L=1us,o=1us,g=1us,G=0", "barrier:dissemination"),
            ("simulate goal --generate barrier:tree --loggp L=1us,o=1us,g=1us,G=0", "--ranks"),
            (
                "simulate goal --generate alltoall:linear --ranks 65536 --loggp L=1us,o=1us,g=1us,G=0",
                "more than 50000000 operations",
            ),
        ] {
            let told = hotlink(line).unwrap_err().to_string();
            assert!(told.contains(expected), "{line}: {told}");
        }
    }
}
