//! Barriers on dedicated barrier networks, event by event.

use super::limiter;
use crate::bound::network;
use crate::effort;
use crate::inputs::{self, Vary};
use crate::{Error, Source, Watch};
use hotlink_barrier::BarrierNetwork;
use hotlink_bench::{Record, distribution};
use hotlink_fabric::barrier::BarrierSpec;
use hotlink_fabric::catalog::Library;
use hotlink_fabric::rng::SplitMix64;
use hotlink_fabric::spec::{Status, Value};
use hotlink_fabric::units::Time;

/// Barriers in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Barriers {
    /// The nodes are a partition with a top of its own, where the network can be cut.
    pub partition: bool,
    /// How many; each node arrives up to `skew_us` after it left the one before.
    pub repetitions: u32,
    /// Most delay of a node's arrival, each delay equally likely.
    pub skew_us: f64,
    /// Seed of the delays.
    pub seed: u64,
    /// The processor's time to signal (H06's o_w), where it is not the fabric's own time.
    pub write_us: Option<f64>,
    /// Its time for a polling read (H06's o_r), where it is not the fabric's own time.
    pub read_us: Option<f64>,
}

impl Barriers {
    /// One barrier of the whole machine, at the fabric's own times.
    pub fn usual() -> Barriers {
        Barriers { partition: false, repetitions: 1, skew_us: 0.0, seed: 1, write_us: None, read_us: None }
    }

    /// The fabric as its processors reach the network in the times asked for, as by memory-mapped registers (H06 s28).
    fn mapped(&self, source: &Source) -> Source {
        let mut spec = source.spec().clone();
        for (key, us) in [("enter", self.write_us), ("read", self.read_us)] {
            let (Some(us), Some(barrier)) = (us, &mut spec.barrier) else { continue };
            let time = if key == "read" { &mut barrier.read } else { &mut barrier.enter };
            let source = "as asked".to_owned();
            *time = Value { value: Time::from_us(us), unit: "us".to_owned(), source, status: Status::Estimated };
            spec.ranges.remove(&format!("barrier.{key}"));
        }
        source.varied(spec)
    }

    /// Refuses what no run has.
    fn check(&self) -> Result<(), Error> {
        let Barriers { repetitions, skew_us, .. } = *self;
        if !(0.0..=MOST_SKEW_US).contains(&skew_us) {
            return Err(Error::Input(format!("--skew-us: {skew_us} is out of range; allowed: 0 to {MOST_SKEW_US}")));
        }
        if !(1..=MOST_REPETITIONS).contains(&repetitions) {
            return Err(Error::Input(format!("--repetitions: {repetitions}: must be 1 to {MOST_REPETITIONS}")));
        }
        for (option, us, least) in [("--write-us", self.write_us, 0.0), ("--read-us", self.read_us, 1e-6)] {
            if let Some(us) = us.filter(|us| !(least..=MOST_SKEW_US).contains(us)) {
                return Err(Error::Input(format!(
                    "{option}: {us} is out of range; allowed: {least} to {MOST_SKEW_US}"
                )));
            }
        }
        Ok(())
    }
}

/// Most delay of an arrival.
const MOST_SKEW_US: f64 = 1e6;
/// Most barriers in a row.
pub const MOST_REPETITIONS: u32 = 1_000_000;

/// Barriers on the fabric's own barrier network: a record for each size, handed to `give` as soon as it is there. Once
/// `give` says false no further size begins. Where only a quick variation is asked for, the first size has it.
///
/// # Errors
/// The fabric has no such network, or not for that many nodes.
pub fn hardware(
    source: &Source,
    sizes: &[u32],
    what: Barriers,
    vary: Vary,
    watch: &dyn Watch,
    give: &mut (dyn FnMut(Vec<Record>) -> bool + Send),
) -> Result<(), Error> {
    for (at, &nodes) in sizes.iter().enumerate() {
        if !give(of(source, nodes, what, vary.at(at), watch)?) {
            break;
        }
    }
    Ok(())
}

/// One size.
///
/// # Errors
/// As [`hardware`].
pub fn of(source: &Source, nodes: u32, what: Barriers, vary: Vary, watch: &dyn Watch) -> Result<Vec<Record>, Error> {
    what.check()?;
    let mut records = inputs::told(&what.mapped(source), vary, watch, &|source, watch| {
        Ok(vec![of_size(source, nodes, what, watch)?])
    })?;
    if what.write_us.or(what.read_us).is_some() {
        let own = Barriers { write_us: None, read_us: None, ..what };
        let stated = of_size(&source.unasked(), nodes, own, watch)?.number("latency_us").unwrap_or(f64::NAN);
        for record in &mut records {
            let gain = record.number("latency_us").map(|us| stated / us);
            record.set("stated_latency_us", stated);
            record.set("gain", gain);
        }
    }
    Ok(records)
}

fn of_size(source: &Source, nodes: u32, what: Barriers, watch: &dyn Watch) -> Result<Record, Error> {
    let fabric = source.spec();
    let spec = own_network(source)?;
    let at = |what: String| Error::Input(format!("--fabric {} --nodes {nodes}: {what}", fabric.name));
    effort::check_barriers(nodes, what.repetitions).map_err(at)?;
    simulated(what, &fabric.name, spec, nodes, watch).map_err(at)
}

/// The fabric's own barrier network.
fn own_network(source: &Source) -> Result<&BarrierSpec, Error> {
    let fabric = source.spec();
    fabric.barrier().ok_or_else(|| {
        let what = format!("--fabric {}: has no barrier network, as --algorithm hardware needs", fabric.name);
        Error::Input(format!("{what}; allowed: {}", with_barrier(&Library::user()).join(", ")))
    })
}

/// H06's o_p(P) of the fabric's own barrier network, over all phases: the time of a device that models it.
///
/// # Errors
/// As [`hardware`].
pub fn processing_time(source: &Source, nodes: u32) -> Result<Time, Error> {
    let spec = own_network(source)?;
    let trip = spec.processing_time(nodes, false);
    let at = |error| Error::Input(format!("--fabric {} --nodes {nodes}: {error}", source.spec().name));
    Ok(Time(trip.map_err(at)?.0 * u64::from(spec.phases)))
}

/// The fabrics of the catalog that have a barrier network.
fn with_barrier(library: &Library) -> Vec<String> {
    let names = library.list("fabrics").into_iter().map(|listed| listed.name);
    names.filter(|name| library.fabric(name).is_ok_and(|loaded| loaded.spec.barrier.is_some())).collect()
}

/// Why nodes may leave before H06's o_w + o_p + o_r.
const READ_UNDER_WAY: &str = "the formula adds a whole read after the network's time; here nodes poll meanwhile, and the \
                              read that is under way at its end sees the result";

/// One size: `repetitions` barriers in a row.
fn simulated(what: Barriers, name: &str, spec: &BarrierSpec, nodes: u32, watch: &dyn Watch) -> Result<Record, String> {
    let start = watch.seconds();
    let mut machine = BarrierNetwork::new(spec, nodes, what.partition).map_err(|error| error.to_string())?;
    let mut random = SplitMix64::new(what.seed);
    let most = Time::from_us(what.skew_us).0;
    let mut arrivals = vec![Time::ZERO; nodes as usize];
    let (mut latencies, mut least_ps) = (Vec::new(), 0.0);
    let (mut events, mut reads, mut network_ps, mut trace_hash) = (0, 0, 0, 0u64);
    for _ in 0..what.repetitions {
        for arrival in &mut arrivals {
            *arrival = Time(arrival.0 + random.below(most + 1));
        }
        let run = machine.barrier(0, &arrivals).map_err(|fault| fault.to_string())?;
        latencies.push(run.latency());
        least_ps += network::barrier(spec, &run).0 as f64;
        (events, reads, network_ps) = (events + run.events, reads + run.reads, network_ps + run.network.0);
        trace_hash = trace_hash.rotate_left(1) ^ run.trace_hash;
        // Only differences matter: the clock starts anew when the first node left.
        let first = run.leave.iter().copied().min().unwrap_or_default();
        arrivals = run.leave.into_iter().map(|leave| leave - first).collect();
        watch.step();
    }
    let wall_s = watch.seconds() - start;
    let sorted = distribution::ascending_us(&latencies);
    let quantile = |share: f64| distribution::quantile(&sorted, share);
    let mean_ps = latencies.iter().map(|latency| latency.0 as f64).sum::<f64>();
    let formula = spec.latency(nodes, what.partition).map_err(|error| error.to_string())?;
    let median = distribution::median(&sorted);
    let record = Record::new()
        .with("fabric", name)
        .with("benchmark", "barrier")
        .with("algorithm", "hardware")
        .with("method", "events")
        .with("nodes", nodes)
        .with("partition", what.partition)
        .with("channels", spec.channels)
        .with("skew_us", what.skew_us)
        .with("latency_us", median)
        .with("latency_in_library_us", median + spec.software().us())
        .with("formula_us", formula.us())
        .with("n", latencies.len())
        .with("min", quantile(0.0))
        .with("median", median)
        .with("p93", quantile(0.93))
        .with("p99", quantile(0.99))
        .with("max", quantile(1.0))
        .bounded(
            "bound_latency_us",
            least_ps / f64::from(what.repetitions) / 1e6,
            if mean_ps > 0.0 { least_ps / mean_ps } else { 1.0 },
        )
        .with("limiting_resource", hotlink_bound::network::barrier_limit(spec, formula));
    let later_pct = 100.0 * (formula.us() / median - 1.0);
    let record = match later_pct >= 0.05 {
        true => record.with("differs", format!("{later_pct:.1} % better than formula: {READ_UNDER_WAY}")),
        false => record,
    };
    Ok(limiter::of_barriers(record, spec, Time(mean_ps as u64), Time(network_ps))
        .with("safe", true)
        .with("reads_per_node", reads as f64 / f64::from(what.repetitions) / f64::from(nodes))
        .with("events", events)
        // Gates pass no packets on.
        .with("packet_hops", 0)
        .with("trace_hash", format!("{trace_hash:016x}"))
        .with("wall_s", wall_s))
}
