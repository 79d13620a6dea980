//! Programs on a machine that was calibrated as LogGP: the benchmarks of `measure`, over the message stack, on ports of
//! that machine. One engine for `simulate`, for `calibrate --check` and for what `simulate goal --generate` records.

use super::limiter;
use super::program::only;
use super::streams;
use crate::cell::{Cell, Program, ProgramBench, Streamed, What};
use crate::options::{Alignment, Cache, Memory, Rates, Via};
use crate::{Watch, sort};
use hotlink_bench::is::{Class, IntegerSort};
use hotlink_bench::{
    Bench, Collected, Collective, Direction, Pairs, PingPong, Plan, Record, Samples, Script, Start, Step, Summary,
};
use hotlink_bench::{Seen, Tuned, Tuning, Watching, Which, with_seen};
use hotlink_bound::Bound;
use hotlink_fabric::spec::FabricSpec;
use hotlink_loggp::{LogGp, Machine, Missing, Outcome, Ran, Schedule, simulate};
use hotlink_message::{Algorithm, Collective as Kind, Error};
use hotlink_port::{Driver, OnAny};
use serde::{Serialize, de::DeserializeOwned};

/// Whether a fabric is a LogGP machine.
pub fn is_calibrated(spec: &FabricSpec) -> bool {
    Machine::is(spec)
}

/// Most ranks of a program: each is a task with its own state.
const MOST_RANKS: u32 = 1 << 20;

/// The time of a collective, or a sort, on a machine.
#[derive(Clone, Debug)]
pub struct Predicted {
    /// Microseconds of one.
    pub us: f64,
    /// How long each rank took.
    pub ranks: Summary,
    /// By which algorithm, where that is one collective.
    pub algorithm: Option<Algorithm>,
    /// The bound of every machine with these parameters, in microseconds, and its source.
    pub bound_us: f64,
    /// See `bound_us`.
    pub limit: String,
    /// The run.
    pub ran: Ran,
}

/// The source of a collective's algorithm where none is asked for, as records name it.
const USUAL: &str = "what the machine's MPI is known to do";

/// The algorithm of a collective on such a machine where none is asked for. It is the known choice of the MPI with
/// which the machine was calibrated. Where nothing is known, it is all parts at once, trees of two and doubling.
pub fn usual(machine: &Machine, which: Which, ranks: u32, size: u64) -> Algorithm {
    let uneven = which == Which::Alltoallv;
    match which {
        Which::Alltoall | Which::Alltoallv if size <= machine.own_message_max(uneven) => Algorithm::Scattered,
        // Where processors move messages, their copies delay the messages; elsewhere copying hides behind them.
        Which::Alltoall | Which::Alltoallv if machine.is_carried() => Algorithm::BasicLinear,
        Which::Alltoall | Which::Alltoallv => Algorithm::Linear,
        Which::Bcast => Algorithm::Binomial,
        Which::Allreduce => Algorithm::RecursiveDoubling,
        _ => Algorithm::chosen(which.collective(), ranks, size, LogGp::new(machine.clone()).limits()),
    }
}

/// One collective, `row` of them flowing into each other, after one of each that does not count.
///
/// # Errors
/// What the machine does not state, or why the ranks cannot go on.
pub fn collective(
    machine: &Machine,
    which: Which,
    (ranks, size, row): (u32, u64, u64),
    asked: Option<Algorithm>,
) -> Result<Predicted, String> {
    collective_on(&mut Stage::new(machine, None), which, (ranks, size, row), asked)
}

fn collective_on(
    stage: &mut Stage,
    which: Which,
    (ranks, size, row): (u32, u64, u64),
    asked: Option<Algorithm>,
) -> Result<Predicted, String> {
    let machine = &stage.driver.machine().clone();
    let algorithm = asked.unwrap_or_else(|| usual(machine, which, ranks, size));
    let plan = Plan { row, ..Plan::once() };
    let bench = Collective { which, size, private: false, start: Start::Barrier, background: None, plan };
    let results = on_ranks(stage, ranks, &bench, vec![(which.collective(), algorithm)])?;
    let each = Collected::samples(&results);
    let slowest = Summary::of(&Collective::slowest(&each).values).ok_or("no sample was taken")?.median;
    let times: Vec<f64> = each.iter().map(only).collect::<Result<_, _>>()?;
    let step = Step { which, algorithm, size, segment: None };
    let (schedule, _) = recorded(machine, &[step], 1, ranks)?;
    let alone = replayed(machine, &schedule)?;
    Ok(Predicted {
        us: slowest,
        ranks: Summary::of(&times).ok_or("no rank")?,
        algorithm: Some(algorithm),
        bound_us: alone.bound.us(),
        limit: alone.limit.to_string(),
        ran: ran_of(stage)?,
    })
}

/// The actions of collectives, one after the other, on each rank, and the run.
///
/// # Errors
/// Why the ranks cannot go on.
pub fn recorded(machine: &Machine, steps: &[Step], repeat: u32, ranks: u32) -> Result<(Schedule, Ran), String> {
    let mut driver = LogGp::new(machine.clone()).recording();
    let ended: Vec<Result<(), Error>> =
        driver.run(ranks, &OnAny(&Script { steps, repeat })).map_err(|error| error.to_string())?;
    ended.into_iter().collect::<Result<Vec<()>, Error>>().map_err(|error| error.to_string())?;
    let schedule = driver.schedule().ok_or("nothing was recorded")?;
    Ok((schedule, driver.ran().cloned().ok_or("the run did not end")?))
}

/// The recorded schedule on the engine of schedules: the same time, and what gives the bound.
fn replayed(machine: &Machine, schedule: &Schedule) -> Result<Outcome, String> {
    simulate(schedule, &machine.messages).map_err(|stuck| stuck.to_string())
}

/// NPB's Integer Sort, its keys really sorted, and what its own verification said.
///
/// # Errors
/// What the machine does not state; keys that are not sorted.
pub fn sorted(machine: &Machine, class: Class, ranks: u32, head: Record) -> Result<(Record, Ran), String> {
    sorted_on(&mut Stage::new(machine, None), class, ranks, head)
}

fn sorted_on(stage: &mut Stage, class: Class, ranks: u32, head: Record) -> Result<(Record, Ran), String> {
    let machine = &stage.driver.machine().clone();
    let sort = IntegerSort { class };
    let exchange = (Kind::Alltoall, usual(machine, Which::Alltoallv, ranks, class.keys() * 4 / u64::from(ranks)));
    let sums = (Kind::Allreduce, usual(machine, Which::Allreduce, ranks, 0));
    let results = on_ranks(stage, ranks, &sort, vec![exchange, sums])?;
    let record = sort::record(head, &sort, &results).map_err(|error| error.to_string())?;
    Ok((record, ran_of(stage)?))
}

/// A machine's ranks, and what their ports' observers saw.
struct Stage {
    driver: LogGp,
    watching: Option<Watching>,
    seen: Vec<Seen>,
}

impl Stage {
    fn new(machine: &Machine, watching: Option<Watching>) -> Stage {
        Stage { driver: LogGp::new(machine.clone()), watching, seen: Vec::new() }
    }
}

/// Runs a benchmark with these algorithms.
fn on_ranks<B>(
    stage: &mut Stage,
    ranks: u32,
    bench: &B,
    algorithms: Vec<(Kind, Algorithm)>,
) -> Result<Vec<B::Result>, String>
where
    B: Bench,
    B::Result: Serialize + DeserializeOwned,
{
    if !(1..=MOST_RANKS).contains(&ranks) {
        return Err(format!("{ranks} ranks: must be 1 to {MOST_RANKS}"));
    }
    if let Some((collective, algorithm)) = algorithms.iter().find(|(_, algorithm)| *algorithm == Algorithm::Hardware) {
        let what = "a LogGP machine has no hardware for it";
        return Err(format!("--algorithm {}: {what} ({})", algorithm.name(), collective.name()));
    }
    let watching = stage.watching;
    let tuned = Tuned { bench, tuning: Tuning { algorithms, watching, ..Tuning::default() } };
    let results = stage.driver.run(ranks, &OnAny(&tuned)).map_err(|error| error.to_string())?;
    let told: Result<Vec<_>, Error> = results.into_iter().collect();
    let told = told.map_err(|error| error.to_string())?;
    stage.seen = told.iter().filter_map(|told| told.seen.clone()).collect();
    Ok(told.into_iter().map(|told| told.result).collect())
}

/// The run, if the machine stated all that it needed.
fn ran_of(Stage { driver, .. }: &Stage) -> Result<Ran, String> {
    let ran = driver.ran().ok_or("the run did not end")?;
    match ran.missing[..] {
        [] => Ok(ran.clone()),
        [missing, ..] => Err(told(driver.machine(), missing)),
    }
}

/// The values that a machine does not state.
pub fn told(machine: &Machine, missing: Missing) -> String {
    format!("{}: it {}", machine.name(), missing.told())
}

/// A cell whose fabric is a LogGP machine.
///
/// # Errors
/// What such a machine does not have, or does not state.
pub fn run(cell: &Cell, spec: &FabricSpec, watch: &dyn Watch) -> Result<Vec<Record>, String> {
    let machine = Machine::of(spec)?;
    let start = watch.seconds();
    let record = Record::new()
        .with("fabric", cell.fabric.as_str())
        .with("method", "loggp")
        .with("stack", "message")
        .with("kind", "calibrated");
    if cell.capacities == Rates::Theoretical {
        let what = "nothing on the way has a rate under --capacities theoretical";
        return Err(format!("{}: {what}: a LogGP machine was measured", cell.fabric));
    }
    let network = cell.faults.is_some() || cell.links || cell.packet_size.is_some() || cell.streams.is_some();
    if network || cell.paths.is_some() {
        return Err(no_network(spec));
    }
    let watching = match &cell.what {
        What::Program(program) => program.watching,
        _ => None,
    };
    let stage = &mut Stage::new(&machine, watching);
    let (records, ran) = match &cell.what {
        What::PingPong { between, .. } => one(ping_pong(stage, cell, *between, record)?),
        What::AllToAll { .. } => {
            let (record, ran) = timed(stage, cell, Which::Alltoall, None, record)?;
            one((record.with("algorithm_by", USUAL), ran))
        }
        What::Program(program) => {
            if asks_for_adapters(program) {
                return Err(no_network(spec));
            }
            match &program.bench {
                ProgramBench::PingPong { between } => one(ping_pong(stage, cell, *between, record)?),
                ProgramBench::Collective(which) => {
                    let asked = program.asked(cell.nodes, cell.size)?;
                    let (record, ran) = timed(stage, cell, *which, asked, record)?;
                    one((record.with("algorithm_by", program.algorithm_by(USUAL)), ran))
                }
                ProgramBench::IntegerSort(class) => {
                    one(sorted_on(stage, *class, cell.nodes, record.with("benchmark", "is"))?)
                }
                ProgramBench::Stream(streamed) => one(stream(stage, cell, streamed, record)?),
                ProgramBench::Pairs { slow } => pairs(stage, cell, *slow, &record)?,
                ProgramBench::Kernel(bench) => {
                    let sums = (Kind::Allreduce, usual(&machine, Which::Allreduce, cell.nodes, 8));
                    let ranks = on_ranks(stage, cell.nodes, bench, vec![sums])?;
                    one((streams::kernel(record.with("benchmark", "kernel"), bench, &ranks)?, ran_of(stage)?))
                }
                ProgramBench::Semantics { .. } | ProgramBench::Overlap { .. } => return Err(no_network(spec)),
            }
        }
        What::Saturation { .. } | What::Exchanges { .. } | What::Traffic(_) => return Err(no_network(spec)),
    };
    if !stage.seen.is_empty() {
        let benchmark = records.first().and_then(|record| record.text("benchmark")).unwrap_or_default();
        watch.saw(&format!("{} {benchmark} {} ranks {} B", cell.fabric, cell.nodes, cell.size), &stage.seen);
    }
    let which = match &cell.what {
        What::AllToAll { .. } => Some(Which::Alltoall),
        What::Program(Program { bench: ProgramBench::Collective(which), .. }) => Some(*which),
        _ => None,
    };
    let finish = |record: Record| {
        let record = with_seen(record, watching.as_ref(), &stage.seen);
        limiter::of_machine(record, &ran, which)
            .with("elapsed_us", ran.elapsed.us())
            .with("messages", ran.messages)
            .with("events", ran.events)
            .with("resumptions", ran.resumptions)
            .with("barriers_safe", ran.barriers)
            // A LogGP machine has no network to hop through.
            .with("packet_hops", 0)
            .with("trace_hash", format!("{:016x}", ran.trace_hash))
            .with("wall_s", watch.seconds() - start)
    };
    Ok(records.into_iter().map(finish).collect())
}

/// The one record of a run.
fn one((record, ran): (Record, Ran)) -> (Vec<Record>, Ran) {
    (vec![record], ran)
}

fn stream(stage: &mut Stage, cell: &Cell, streamed: &Streamed, head: Record) -> Result<(Record, Ran), String> {
    let bench = streamed.bench(cell.size, false, Plan::once());
    let machine = &stage.driver.machine().clone();
    let results = on_ranks(stage, cell.nodes, &bench, Vec::new())?;
    let (window, both) = (bench.window(cell.size), streamed.direction == Direction::Bi);
    let (least, limit) = match streamed.direction {
        Direction::Own => machine.least_of_own_window(cell.size, window),
        _ => machine.least_of_window(cell.size, window, both),
    };
    let sent = (cell.size * window * u64::from(streamed.pairs)) as f64 * if both { 2.0 } else { 1.0 };
    let least = Bound {
        latency_us: least.us(),
        mbps: sent / least.us(),
        resource: limit.to_owned(),
        is: "a window of messages: overheads, latency, and what each message keeps an adapter or processor",
    };
    let head = head.with("benchmark", streamed.benchmark).with("ranks", cell.nodes);
    Ok((streamed.record(head, &bench, &results, &least)?, ran_of(stage)?))
}

fn pairs(stage: &mut Stage, cell: &Cell, slow: f64, head: &Record) -> Result<(Vec<Record>, Ran), String> {
    let bench = Pairs { pairs: Pairs::of(cell.nodes), sizes: vec![cell.size], private: false, plan: Plan::once() };
    let machine = &stage.driver.machine().clone();
    let results = on_ranks(stage, cell.nodes, &bench, Vec::new())?;
    let alone = message_alone(machine, cell.size)?;
    let head = head.clone().with("benchmark", "pairs").with("ranks", cell.nodes).with("size_B", cell.size);
    let least = |_| {
        let (latency_us, resource) = (alone.bound.us(), alone.limit.to_string());
        Ok(Bound { latency_us, mbps: cell.size as f64 / latency_us, resource, is: MESSAGE_IS })
    };
    Ok((streams::pairs(&head, &bench, &results, slow, least)?, ran_of(stage)?))
}

fn no_network(spec: &FabricSpec) -> String {
    let what = "is calibrated as LogGP, which knows messages, but no adapters, links or traffic of packets";
    let allowed =
        "pingpong, stream, rate, pairs, kernel, barrier, is and the collectives, with --algorithm and --size alone";
    format!("--fabric {}: {what}; such a fabric answers {allowed}", spec.name)
}

fn asks_for_adapters(program: &Program) -> bool {
    program.memory != Memory::Shared
        || program.align != Alignment::Default
        || program.cache != Cache::Lru
        || !program.zero_copy
        || program.via != Via::Adapter
        || program.background.is_some()
        || program.samples > 1
        || program.raw
}

fn ping_pong(stage: &mut Stage, cell: &Cell, between: [u32; 2], head: Record) -> Result<(Record, Ran), String> {
    let bench = PingPong { sizes: vec![cell.size], private: false, rewrite: false, plan: Plan::once() };
    let machine = &stage.driver.machine().clone();
    let results: Vec<Vec<Samples>> = on_ranks(stage, between[1] + 1, &bench, Vec::new())?;
    let latency_us = only(&results[0][0])?;
    let alone = message_alone(machine, cell.size)?;
    let bound = Bound::of_time(alone.bound.us(), alone.limit.to_string(), MESSAGE_IS);
    let record = head
        .with("benchmark", "pingpong")
        .with("ranks", between[1] + 1)
        .with("size_B", cell.size)
        .with("latency_us", latency_us)
        .with("bandwidth_MBps", cell.size as f64 / latency_us)
        .beside_time(&bound, latency_us);
    Ok((record, ran_of(stage)?))
}

const MESSAGE_IS: &str = "one message between idle ranks: overheads, latency and its bytes";

/// One message by itself: a broadcast to one other rank.
fn message_alone(machine: &Machine, size: u64) -> Result<Outcome, String> {
    let message = Step { which: Which::Bcast, algorithm: Algorithm::Binomial, size, segment: None };
    replayed(machine, &recorded(machine, &[message], 1, 2)?.0)
}

fn timed(
    stage: &mut Stage,
    cell: &Cell,
    which: Which,
    asked: Option<Algorithm>,
    head: Record,
) -> Result<(Record, Ran), String> {
    let predicted = collective_on(stage, which, (cell.nodes, cell.size, 1), asked)?;
    let Predicted { us, ranks, algorithm, bound_us, limit, ran } = predicted;
    let is = "the longest chain of messages and copies, or the work of the busiest processor or adapter";
    let bound = Bound::of_time(bound_us, limit, is);
    let record = head
        .with("benchmark", which.name())
        .with("ranks", cell.nodes)
        .with("size_B", cell.size)
        .with("algorithm", algorithm.map_or("", Algorithm::name))
        .with("latency_us", us)
        .with("n", ranks.n)
        .with("median", ranks.median)
        .with("min", ranks.min)
        .with("p99", ranks.p99)
        .with("max", ranks.max)
        .with("statistic_of", "latency_us of the ranks, from a common start")
        .beside_time(&bound, us);
    Ok((record, ran))
}
