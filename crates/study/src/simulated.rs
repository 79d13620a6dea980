//! A caller's own program on the ranks of a simulated fabric.

use crate::options::Rates;
use crate::simulate::{cell::with_losses, faults, limiter};
use crate::{Error, Source, inputs};
use hotlink_bench::{Observed, Record, Seen, Watching};
use hotlink_port::{Driver, Port, Program, Rank, RunError};
use hotlink_sim::port::{Adapter, Outcome, SimPort, VirtualTime};
use hotlink_sim::{Plan, Settings};
use serde::{Serialize, de::DeserializeOwned};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The number of busiest resources in a run's record.
const HOT: usize = 5;

/// The results of a program's run on a fabric.
pub struct Ran {
    /// The run: its time, the busiest resources, the bound, and what the answer rests on.
    pub record: Record,
    /// The observations of each rank's port, if they were asked for.
    pub seen: Vec<Seen>,
    /// The program's collectives with their bounds.
    pub called: Vec<Record>,
}

/// How many ranks a program has, and where.
#[derive(Clone, Copy, Debug)]
pub struct Seating<'s> {
    /// Ranks.
    pub ranks: u32,
    /// Nodes that the fabric is built for.
    pub nodes: u32,
    /// The node of each rank; none: that of its number. Ranks of one node share its adapter.
    pub places: &'s [u32],
}

impl Seating<'_> {
    /// A rank on each node.
    pub fn alone(ranks: u32) -> Seating<'static> {
        Seating { ranks, nodes: ranks, places: &[] }
    }
}

/// Runs `program` on the first `ranks` nodes of the fabric `name` (of the catalog, or a file). The fabric is built for
/// as many, with the settings of its description. The file `failing` lists what fails. Returns the ranks' results.
///
/// # Errors
/// [`Error::Input`]: no such fabric, or not of this size. [`Error::Check`]: no rank can ever go on (it names which
/// rank waits for which), or a failure cuts ranks off.
pub fn on_fabric<T, R>(name: &str, ranks: u32, failing: Option<&str>, program: &R) -> Result<Vec<T>, Error>
where
    T: Serialize + DeserializeOwned,
    R: for<'a> Program<SimPort<'a>, T>,
{
    let source = Source::open(name)?;
    run(&source, name, Seating::alone(ranks), program, failing, |_, _, _| ()).map(|(results, ())| results)
}

/// The same on nodes of choice, with a record of the run; `traced`: also a timeline of the actions of each rank's port.
/// `called` makes records of the collectives that the program called. The file `failing` lists what fails.
///
/// # Errors
/// As [`on_fabric`]; mistakes in that file; which failure cuts ranks off.
pub fn recorded_on_fabric<R>(
    name: &str,
    seating: Seating<'_>,
    program: &R,
    traced: bool,
    failing: Option<&str>,
    called: impl Fn(&Plan<'_>, &Adapter) -> Vec<Record>,
) -> Result<Ran, Error>
where
    R: for<'a> Program<SimPort<'a>, ()> + for<'a> Program<Observed<SimPort<'a>>, ()>,
{
    let source = Source::open(name)?.unasked();
    let watched =
        Watched { program, watching: Watching { trace: true, ..Watching::default() }, logs: RefCell::default() };
    let tell = |driver: &VirtualTime<'_>, plan: &Plan<'_>, outcome: &Outcome| {
        let record = match driver.faults() {
            [] => told(plan, outcome),
            faults => with_losses(told(plan, outcome), &outcome.run)
                .with("faults", faults::happened(faults, plan.fabric, outcome.run.elapsed)),
        };
        (record, called(plan, driver.adapter()))
    };
    let ran = match traced {
        true => run(&source, name, seating, &watched, failing, tell)?,
        false => run(&source, name, seating, program, failing, tell)?,
    };
    let (record, mut called) = ran.1;
    let mut record = record.with("ranks", seating.ranks);
    let used = source.spec().used();
    inputs::note(&mut record, &used);
    called.iter_mut().for_each(|called| inputs::note(called, &used));
    let seen = watched.logs.take().into_values().map(|log| log.take()).collect();
    Ok(Ran { record, seen, called })
}

/// Results, and the value that `tell` makes of the fabric and the outcome.
fn run<T, R, S>(
    source: &Source,
    name: &str,
    seating: Seating<'_>,
    program: &R,
    failing: Option<&str>,
    tell: impl FnOnce(&VirtualTime<'_>, &Plan<'_>, &Outcome) -> S,
) -> Result<(Vec<T>, S), Error>
where
    T: Serialize + DeserializeOwned,
    R: for<'a> Program<SimPort<'a>, T>,
{
    let Seating { ranks, nodes, places } = seating;
    let input = |what: String| Error::Input(format!("{name} with {ranks} ranks: {what}"));
    let fabric = source.build(nodes).map_err(input)?;
    // As `simulate` has them by default: the same messages take the same time.
    let mut settings = Settings::of(&fabric.spec);
    if let Some(file) = failing {
        settings.faults = faults::read(file, &fabric).map_err(Error::Input)?;
    }
    let plan = Plan::new(&fabric, &settings).map_err(|error| input(error.to_string()))?;
    let mut driver = VirtualTime::new(&plan, &settings).map_err(|missing| input(missing.to_string()))?;
    driver = driver.placed(places.to_vec());
    let ran = driver.run(ranks, program);
    let results = ran.map_err(|error| match (error, driver.lost()) {
        (error @ RunError::Ranks { .. }, _) => input(error.to_string()),
        (error, None) => Error::Check(error.to_string()),
        (error, Some(lost)) => {
            let why = faults::told(lost, &plan, &settings.faults, failing.as_slice(), &[]);
            Error::Check(format!("{why}; {error}"))
        }
    })?;
    let outcome = driver.outcome().ok_or_else(|| input("the run did not end".to_owned()))?;
    Ok((results, tell(&driver, &plan, outcome)))
}

/// The record of a run.
fn told(plan: &Plan<'_>, outcome: &Outcome) -> Record {
    let run = &outcome.run;
    let mut busiest: Vec<(usize, f64)> =
        run.busy.iter().copied().enumerate().filter(|(_, share)| *share > 0.0).collect();
    // Of equals the first, so that the same run names the same ones.
    busiest.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    busiest.truncate(HOT);
    let record = Record::new()
        .with("fabric", plan.fabric.spec.name.as_str())
        .with("benchmark", "run")
        .with("method", "packet")
        .with("capacities", Rates::Measured.name())
        .with("elapsed_us", run.elapsed.us());
    let record = limiter::of_ranks(record, plan, run, &outcome.busy, None);
    let mut record = match (record.number("limiter_share"), record.text("limiter").map(str::to_owned)) {
        (Some(share), Some(limiter)) => {
            record.bounded("bound_elapsed_us", share * run.elapsed.us(), share).with("limiting_resource", limiter)
        }
        _ => record,
    };
    if !busiest.is_empty() {
        let names: Vec<String> = busiest.iter().map(|(server, _)| plan.server_name(*server as u32)).collect();
        record.set("hot_links", names);
        record.set("hot_links_share", busiest.iter().map(|(_, share)| *share).collect::<Vec<f64>>());
    }
    record
        .with("events", run.stats.events)
        .with("packet_hops", run.stats.packet_hops)
        .with("packets", run.stats.packets)
        .with("resumptions", outcome.resumptions)
        .with("trace_hash", format!("{:016x}", run.trace_hash))
}

/// A program whose ports are watched.
struct Watched<'a, R> {
    program: &'a R,
    watching: Watching,
    logs: RefCell<BTreeMap<Rank, Rc<RefCell<Seen>>>>,
}

impl<P: Port, T, R: Program<Observed<P>, T>> Program<P, T> for Watched<'_, R> {
    async fn run(&self, port: P) -> T {
        let rank = port.rank();
        let (port, log) = self.watching.wrap(port);
        self.logs.borrow_mut().insert(rank, log);
        self.program.run(port).await
    }
}
