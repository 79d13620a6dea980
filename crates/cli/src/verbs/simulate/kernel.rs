//! `hotlink simulate is|alltoallv`: kernels over the simulated message stack, or on a machine that was calibrated as
//! LogGP (`calibrate --model loggp`), as the fabric is.

use super::cell::Cell;
use super::options::PacketArgs;
use super::packet::{self, CollectiveArgs};
use super::program::{ProgramBench, StackArgs};
use crate::kernel::{Kernel, Machine};
use crate::source::Source;
use crate::values::Counts;
use crate::verbs::measure::{ClassName, is_ranks};
use crate::{Failure, output::Output};
use hotlink_bench::{Record, Which};
use hotlink_fabric::spec::FabricSpec;
use hotlink_sim::loggp::Outcome;
use std::time::Instant;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink simulate is --class A --fabric w01-sci-d330 --ranks 8
  hotlink calibrate m.json --model loggp --name this-mpi && hotlink simulate is --class A --fabric this-mpi --ranks 2")]
pub(crate) struct IsArgs {
    /// Problem classes, from 2^16 keys (S) to 2^27 (C).
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "S")]
    class: Vec<ClassName>,
    #[command(flatten)]
    on: OnArgs,
    #[command(flatten)]
    message: StackArgs,
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

/// Whether a fabric is a LogGP machine.
fn is_calibrated(spec: &FabricSpec) -> bool {
    spec.parameters.contains_key("loggp_latency")
}

/// Times that an exchange is repeated, as `measure` does, so that one flows into the next.
const REPEAT: u32 = 20;

pub(crate) fn sort(args: &IsArgs, output: &mut Output) -> Result<(), Failure> {
    let source = Source::open(&args.on.fabric)?;
    let Some(spec) = source.spec().filter(|spec| is_calibrated(spec)) else {
        return packet::run(&args.cells()?, output);
    };
    if args.message.is_asked_for() || args.message.repeats() {
        return Err(no_adapters(spec));
    }
    let machine = Machine::of(spec).map_err(Failure::Input)?;
    for &class in &args.class {
        for &ranks in &is_ranks(&args.on.ranks)? {
            let class: hotlink_bench::is::Class = class.into();
            let record = Record::new()
                .with("fabric", args.on.fabric.as_str())
                .with("benchmark", "is")
                .with("method", "loggp")
                .with("ranks", ranks)
                .with("class", class.name())
                .with("keys", class.keys());
            let (record, outcome) = run(record, &machine, Kernel::IntegerSort(class), ranks)?;
            let time_s = outcome.latency().us() * 1e-6;
            let mops = hotlink_bench::is::ITERATIONS as f64 * class.keys() as f64 * 1e-6 / time_s;
            output
                .push(record.with("time_s", time_s).with("mops", mops).with("bound_time_s", outcome.bound.us() * 1e-6));
        }
    }
    Ok(())
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
                let class: hotlink_bench::is::Class = class.into();
                let size = class.keys() * size_of::<u32>() as u64 / u64::from(ranks);
                let programs = self.message.programs(ranks, &ProgramBench::IntegerSort(class), &[None]);
                cells.extend(programs.into_iter().map(|what| PacketArgs::plain(&self.on.fabric, ranks, size, what, 1)));
            }
        }
        Ok(cells)
    }
}

fn no_adapters(spec: &FabricSpec) -> Failure {
    let what = format!("--fabric {}: is calibrated as LogGP, which knows no adapters", spec.name);
    Failure::Input(what + "; allowed are only such fabrics, without options of the message stack")
}

/// On fabrics that were calibrated as LogGP at that level, on others over the message stack.
pub(crate) fn alltoallv(args: &CollectiveArgs, output: &mut Output) -> Result<(), Failure> {
    let sources: Vec<Source> = args.packet.fabric.iter().map(|name| Source::open(name)).collect::<Result<_, _>>()?;
    let specs: Vec<&FabricSpec> = sources.iter().filter_map(Source::spec).filter(|spec| is_calibrated(spec)).collect();
    if specs.is_empty() {
        return packet::run(&args.cells(Which::Alltoallv)?, output);
    }
    if specs.len() < sources.len() || args.asks_for_messages() {
        return Err(no_adapters(specs[0]));
    }
    let ranks = args.packet.nodes(Some(2))?;
    if let Some(many) = ranks.iter().find(|&&ranks| !(1..=1024).contains(&ranks)) {
        return Err(Failure::Input(format!("--nodes {many}: allowed are 1 to 1024")));
    }
    for spec in specs {
        let machine = Machine::of(spec).map_err(Failure::Input)?;
        for &ranks in &ranks {
            for &size in args.packet.sizes() {
                output.push(exchanged(spec, &machine, ranks, size)?);
            }
        }
    }
    Ok(())
}

/// One size of alltoallv on a LogGP machine.
fn exchanged(spec: &FabricSpec, machine: &Machine, ranks: u32, size: u64) -> Result<Record, Failure> {
    let record = Record::new()
        .with("fabric", spec.name.as_str())
        .with("benchmark", "alltoallv")
        .with("method", "loggp")
        .with("ranks", ranks)
        .with("size_B", size);
    let (record, outcome) = run(record, machine, Kernel::Exchange { size, uneven: true, repeat: REPEAT }, ranks)?;
    let each = |us: f64| us / f64::from(REPEAT);
    let record = record.with("latency_us", each(outcome.latency().us()));
    Ok(record.with("bound_latency_us", each(outcome.bound.us())))
}

fn run(record: Record, machine: &Machine, kernel: Kernel, ranks: u32) -> Result<(Record, Outcome), Failure> {
    let start = Instant::now();
    let outcome = machine.run(&kernel, ranks).map_err(Failure::Input)?;
    let (bound, latency) = (outcome.bound.us(), outcome.latency().us());
    let record = record
        .with("efficiency", if latency > 0.0 { bound / latency } else { 1.0 })
        .with("limiting_resource", outcome.limit.to_string())
        .with("kind", "calibrated")
        .with("messages", outcome.messages)
        .with("events", outcome.events)
        .with("trace_hash", format!("{:016x}", outcome.trace_hash))
        .with("packet_hops", 0)
        .with("wall_s", start.elapsed().as_secs_f64());
    Ok((record, outcome))
}
