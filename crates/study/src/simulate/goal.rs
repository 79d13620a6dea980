//! A schedule on a machine of the LogGP family.

use super::limiter;
use super::loggp::recorded;
use crate::inputs::{self, Vary};
use crate::options::CalcUnit;
use crate::{Error, Source, Watch};
use hotlink_bench::words::Word;
use hotlink_bench::{Record, Step, distribution};
use hotlink_fabric::units::Time;
use hotlink_loggp::{LogGops, MOST_RANKS, Machine, Missing, Outcome, Schedule, simulate};
use hotlink_schedule::{Format, Options, Read, check, read};
use std::borrow::Cow;
use std::cell::OnceCell;

/// Most operations that are generated: some gigabytes of memory.
const MOST_OPERATIONS: u64 = 50_000_000;

fn input(what: String) -> Error {
    Error::Input(what)
}

/// A schedule, and the machine that runs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// The schedule that runs.
    pub schedule: Scheduled,
    /// The machine; by default the fabric that is asked, which must be calibrated as LogGP.
    pub machine: Option<LogGops>,
}

/// Where a schedule comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Scheduled {
    /// From a file of any form that [`hotlink_schedule`] reads; `-` is standard input.
    File {
        /// Its path.
        file: String,
        /// The unit of computation, where the form does not state it.
        calc_unit: Time,
        /// Values that the file lacks.
        options: Box<Options>,
    },
    /// Recorded from the message stack, for each number of ranks.
    Generated {
        /// Collectives, one after the other.
        steps: Vec<Step>,
        /// How often they are run.
        repeat: u32,
    },
}

/// The simulated work: one schedule, or the source of its record.
enum Work<'a> {
    Read { file: &'a str, options: &'a Options, read: Box<Read>, calc_unit: Time },
    Recorded { steps: &'a [Step], repeat: u32, ranks: u32 },
}

impl Work<'_> {
    /// Runs it on a machine: the schedule, its record, and what was free since the machine does not state it.
    fn run(
        &self,
        fabric: &str,
        machine: &Machine,
        watch: &dyn Watch,
    ) -> Result<(Cow<'_, Schedule>, Record, Vec<Missing>), Error> {
        match self {
            Work::Read { file, options, read, calc_unit } => {
                let (schedule, unit) = (&read.schedule, read.unit_ps.map_or(*calc_unit, Time));
                let messages = LogGops { calc_unit: unit, ..machine.messages };
                let ran = simulated(fabric, file, (schedule, read.format), &messages, watch);
                // Operations that can never end on any machine are reported with their place.
                let record = ran.or_else(|error| sound(file, options, schedule).and(Err(error)))?;
                Ok((Cow::Borrowed(schedule), with_reading(record, read, options, *calc_unit), Vec::new()))
            }
            Work::Recorded { steps, repeat, ranks } => {
                let names: Vec<String> = steps.iter().map(Step::to_string).collect();
                let (schedule, missing) = generated(steps, *repeat, *ranks, machine)?;
                let record = simulated(fabric, &names.join(","), (&schedule, Format::Goal), &machine.messages, watch)?;
                Ok((Cow::Owned(schedule), record, missing))
            }
        }
    }
}

impl Goal {
    /// Hands `give` every schedule with its record: one for each of `ranks`, or that of the file. `vary`: the uncertain
    /// inputs of the fabric; of the first answer only, where that is to be quick.
    ///
    /// # Errors
    /// The machine, the file or a collective is not sound; the first of `give`.
    pub fn each(
        &self,
        fabric: &str,
        ranks: &[u32],
        vary: Vary,
        watch: &dyn Watch,
        give: &mut dyn FnMut(&Schedule, Record) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.machine.is_some() && vary == Vary::Yes {
            return Err(input("--sensitivity: what --loggp states has no uncertainty; give --fabric".to_owned()));
        }
        let source = self.machine.is_none().then(|| Source::open(fabric)).transpose()?;
        for (index, work) in self.works(ranks)?.iter().enumerate() {
            let vary = vary.at(index);
            let first = OnceCell::new();
            // Runs that are repeated with other inputs are no further schedules.
            let run = |name: &str, machine: &Machine, watch: &dyn Watch| {
                let (schedule, record, missing) = work.run(name, machine, watch)?;
                let _ = first.set((schedule, missing));
                Ok(vec![record])
            };
            let told = match (&source, self.machine) {
                (Some(source), _) => inputs::told(source, vary, watch, &|source, watch| {
                    run(fabric, &Machine::of(source.spec()).map_err(input)?, watch)
                }),
                // The record's own keys describe a stated machine.
                (None, Some(stated)) => run("loggp", &Machine::of_messages("loggp", stated), watch),
                (None, None) => Ok(Vec::new()),
            };
            let (Some(record), Some((schedule, missing))) = (told?.pop(), first.into_inner()) else { continue };
            give(&schedule, with_free(record, &missing))?;
            watch.step();
        }
        Ok(())
    }

    fn works(&self, ranks: &[u32]) -> Result<Vec<Work<'_>>, Error> {
        match &self.schedule {
            Scheduled::File { file, calc_unit, options } => {
                let read = Box::new(read(file, options).map_err(|error| input(error.to_string()))?);
                // Which receive takes a message may decide whether all end. If time does not matter for that, a
                // schedule that ends on this machine can end, so that running it checks it.
                if !read.schedule.is_in_order() {
                    sound(file, options, &read.schedule)?;
                }
                Ok(vec![Work::Read { file, options, read, calc_unit: *calc_unit }])
            }
            Scheduled::Generated { steps, repeat } => {
                Ok(ranks.iter().map(|&ranks| Work::Recorded { steps, repeat: *repeat, ranks }).collect())
            }
        }
    }
}

/// The record with how the file was read: its form, and the values that it lacks.
pub fn with_reading(record: Record, read: &Read, options: &Options, calc_unit: Time) -> Record {
    let mut record = record.with("format", read.format.name());
    if let Some(bytes) = options.bytes {
        record = record.with("size_B", bytes).with("size_is", "the larger of the collective's input and output");
    }
    let unit = CalcUnit::ALL.iter().find(|unit| Time::from(**unit) == calc_unit);
    if let Some(unit) = unit.filter(|_| read.unit_ps.is_none()) {
        record.set("calc_unit", unit.name());
    }
    if let Some(flops) = options.flops {
        record.set("flops", flops);
    }
    if let Some(groups) = &options.groups {
        record.set("groups", groups.display().to_string());
    }
    record
}

/// Operations that can never end, with their place in the file.
fn sound(file: &str, options: &Options, schedule: &Schedule) -> Result<(), Error> {
    check(schedule).map_err(|stuck| input(stuck.located(file, options)))
}

/// The record with what was free, among what was assumed.
fn with_free(mut record: Record, missing: &[Missing]) -> Record {
    if !missing.is_empty() {
        let fabric = record.text("fabric").unwrap_or_default().to_owned();
        let assumed = record.get("assumed").and_then(|list| list.as_array()).cloned();
        let mut assumed = assumed.unwrap_or_default();
        assumed.extend(missing.iter().map(|missing| format!("free, since {fabric} {}", missing.told()).into()));
        record.set("assumed", assumed);
    }
    record
}

/// The actions of collectives on a machine, one after the other, `repeat` times. They are recorded from the message
/// stack that runs there. Units of `calc` are picoseconds. Also values that the machine does not state, and that were
/// therefore free.
///
/// # Errors
/// Too many ranks or operations.
pub fn generated(
    steps: &[Step],
    repeat: u32,
    ranks: u32,
    machine: &Machine,
) -> Result<(Schedule, Vec<Missing>), Error> {
    if ranks > MOST_RANKS {
        return Err(input(format!("--ranks: {ranks} is too many: must be 1 to {MOST_RANKS}")));
    }
    let operations: u64 = steps.iter().map(|step| step.operations(ranks)).sum();
    if operations.saturating_mul(u64::from(repeat)) > MOST_OPERATIONS {
        let what = format!("{ranks} ranks x {repeat} repeats need more than {MOST_OPERATIONS} operations");
        return Err(input(format!("--generate: {what}: give fewer ranks, repeats or segments")));
    }
    let (schedule, ran) = recorded(machine, steps, repeat, ranks).map_err(input)?;
    Ok((schedule, ran.missing))
}

/// The record of a schedule that is called `name`, on a machine that is called `fabric`.
///
/// # Errors
/// The schedule cannot end, and which rank waits for what.
pub fn simulated(
    fabric: &str,
    name: &str,
    (schedule, format): (&Schedule, Format),
    machine: &LogGops,
    watch: &dyn Watch,
) -> Result<Record, Error> {
    let start = watch.seconds();
    let outcome = simulate(schedule, machine).map_err(|stuck| input(format!("{name}: {stuck}")))?;
    let wall_s = watch.seconds() - start;
    Ok(record((name, format), machine, &outcome).with("fabric", fabric).with("wall_s", wall_s))
}

fn record((name, format): (&str, Format), machine: &LogGops, outcome: &Outcome) -> Record {
    let processor = |rank, cpu| format.processor(rank, cpu);
    let (latency, bound) = (outcome.latency(), outcome.bound);
    let efficiency = if latency.0 == 0 { 1.0 } else { bound.0 as f64 / latency.0 as f64 };
    let mut record = Record::new()
        .with("fabric", "loggp")
        .with("benchmark", "goal")
        .with("method", "loggp")
        .with("schedule", name)
        .with("ranks", outcome.finish.len())
        .with("L_us", machine.latency.us())
        .with("o_us", machine.overhead.us())
        .with("g_us", machine.gap.us())
        .with("G_ns_per_B", machine.gap_per_byte.ns())
        .with("O_ns_per_B", machine.overhead_per_byte.ns());
    if machine.eager_max != u64::MAX {
        record.set("S_B", machine.eager_max);
    }
    let record = distribution::with_ends(record.with("latency_us", latency.us()), &outcome.finish)
        .with("operations", outcome.operations)
        .with("messages", outcome.messages)
        .with("bytes", outcome.bytes)
        .bounded("bound_latency_us", bound.us(), efficiency)
        .with("limiting_resource", outcome.limit.named(processor));
    limiter::of_schedule(record, outcome, processor)
        .with("events", outcome.events)
        // The LogGP machine has no network to hop through.
        .with("packet_hops", 0)
        .with("trace_hash", format!("{:016x}", outcome.trace_hash))
}
