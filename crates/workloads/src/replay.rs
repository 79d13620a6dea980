//! A schedule on a fabric's packet network, and the record of what came of it.

use crate::gpu::nodes_built;
use hotlink_bench::{Record, distribution};
use hotlink_bound::Bound;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::Node;
use hotlink_fabric::routing;
use hotlink_fabric::spec::{Capacities, FabricSpec};
use hotlink_fabric::traffic::{Demand, Flow};
use hotlink_fabric::units::Time;
use hotlink_schedule::{Format, Kind, Op, Schedule};
use hotlink_sim::workload::{Replay, ReplayError, Replayed, replay};
use hotlink_sim::{Plan, Settings, SimError};
use hotlink_study::bound::pattern::Pattern;
use hotlink_study::options::{Ethernet, Rates, Ways};
use hotlink_study::simulate::cell::with_run;
use hotlink_study::simulate::request::Request;
use hotlink_study::simulate::{faults, limiter};
use hotlink_study::transports::Control;
use hotlink_study::{Error, Watch};
use std::collections::BTreeMap;

/// What decides how messages cross the network.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Rates of the resources.
    pub capacities: Rates,
    /// Seed of every random choice.
    pub seed: u64,
    /// Which of equal paths a packet takes; `None`: as the technology has it.
    pub paths: Option<routing::Paths>,
    /// Largest payload of a packet; `None`: the fabric's limit.
    pub packet_size: Option<u32>,
    /// A processor's time to send or receive a message.
    pub overhead: Time,
    /// Messages of more bytes ask the receiver first.
    pub eager_max: u64,
    /// What Ethernet does when a buffer fills.
    pub ethernet: Ethernet,
    /// What controls flows.
    pub control: Control,
    /// What fails, and when: a file.
    pub faults: Option<String>,
}

impl Default for Network {
    fn default() -> Network {
        Network {
            capacities: Rates::Measured,
            seed: 1,
            paths: None,
            packet_size: None,
            overhead: Time::ZERO,
            eager_max: u64::MAX,
            ethernet: Ethernet::Pause,
            control: Control::usual(),
            faults: None,
        }
    }
}

impl Network {
    /// Those of a request, one for each of its transports; `who` runs on them.
    ///
    /// # Errors
    /// Paths through the network that schedules do not have.
    pub fn of(request: &Request, who: &str) -> Result<Vec<Network>, Error> {
        let asked = &request.network;
        let paths = match asked.paths[..] {
            [] => None,
            [Ways::Equal(paths)] => Some(paths.into()),
            _ => {
                let what = format!("--paths: {who} take one of packet, flow, destination, adaptive");
                return Err(Error::Input(what));
            }
        };
        let one = |&control: &Control| Network {
            control,
            ethernet: asked.ethernet,
            capacities: asked.capacities,
            seed: request.seed,
            paths,
            packet_size: asked.packet_size.map(|size| u32::try_from(size).unwrap_or(u32::MAX)),
            faults: request.faults.clone(),
            ..Network::default()
        };
        Ok(asked.controls.iter().map(one).collect())
    }

    pub(crate) fn settings(&self, spec: &FabricSpec, fabric: &Fabric) -> Result<Settings, String> {
        let base = Settings::of(&fabric.spec);
        let faults = self.faults.as_ref().map_or(Ok(Vec::new()), |file| faults::read(file, fabric))?;
        let settings = Settings {
            seed: self.seed,
            capacities: self.capacities.into(),
            packet_bytes: self.packet_size.or(base.packet_bytes),
            paths: self.paths.unwrap_or(base.paths),
            congestion: self.control.ethernet(self.ethernet).into(),
            faults,
            ..base
        };
        self.control.applied(spec, fabric, settings)
    }
}

/// The least time of a run, and what sets it.
#[derive(Clone, Debug, PartialEq)]
pub struct Least {
    /// The time.
    pub time: Time,
    /// What sets it.
    pub resource: String,
    /// The rank and its processor, where one does.
    pub processor: Option<(u32, u32)>,
    /// The link, bus or adapter, where one does.
    pub hot_link: Option<String>,
}

/// What ran.
#[derive(Debug)]
pub struct Ran {
    /// The run.
    pub replayed: Replayed,
    /// The least that it could have taken.
    pub least: Least,
    /// Its record, without what the question adds.
    pub record: Record,
}

impl Ran {
    /// When the last rank ended.
    pub fn latency(&self) -> Time {
        self.replayed.run.elapsed
    }
}

/// Why a schedule did not run.
#[derive(Debug)]
pub enum Failed {
    /// An operation, and why it never ends.
    Stuck(hotlink_schedule::Stuck),
    /// Anything else.
    Other(String),
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failed::Stuck(stuck) => stuck.fmt(f),
            Failed::Other(what) => f.write_str(what),
        }
    }
}

/// Runs a schedule on a network of a machine's, with `unit_ps` picoseconds a unit of computation, rank i on node
/// `places[i]`.
///
/// # Errors
/// The fabric has too few nodes, or the schedule cannot end.
pub fn run(
    (spec, fabric): (&FabricSpec, &Fabric),
    (schedule, places): (&Schedule, &[u32]),
    unit_ps: u64,
    network: &Network,
    watch: &dyn Watch,
) -> Result<Ran, Failed> {
    let mut settings = network.settings(spec, fabric).map_err(Failed::Other)?;
    settings.gauge = watch.gauge();
    let plan = Plan::new(fabric, &settings).map_err(|error| Failed::Other(error.to_string()))?;
    let Network { overhead, eager_max, .. } = *network;
    let start = watch.seconds();
    let asked = Replay { schedule, nodes: places, unit_ps, overhead, eager_max, starts: &[], timed: false };
    let replayed = replay(&plan, &settings, asked);
    let wall_s = watch.seconds() - start;
    let failed = |error: ReplayError| match error {
        ReplayError::Stuck(stuck) => Failed::Stuck(stuck),
        ReplayError::Network(SimError::Lost(lost)) => {
            Failed::Other(faults::told(&lost, &plan, &settings.faults, network.faults.as_deref().as_slice(), &[]))
        }
        other => Failed::Other(format!("{}: {other}", fabric.spec.name)),
    };
    let replayed = replayed.map_err(failed)?;
    let least = least(fabric, (schedule, places), &settings, network, &replayed).map_err(Failed::Other)?;
    let record = record(&plan, schedule, &settings, network, &replayed, &least).with("wall_s", wall_s);
    let record = network.control.told(record, network.ethernet, &settings);
    let mut record = of_processor(limiter::of_packets(record, &plan, &replayed.run), &replayed, processor);
    if !settings.faults.is_empty() {
        let sound = Settings { faults: Vec::new(), ..settings.clone() };
        let healthy = replay(&plan, &sound, asked).map_err(failed)?.run.elapsed;
        record = faults::with_cost(record, healthy.us());
    }
    Ok(Ran { replayed, least, record })
}

/// What a rank's processor is called where nothing else is known of it.
fn processor(rank: u32, cpu: u32) -> String {
    Format::Goal.processor(rank, cpu)
}

/// The record, with the busiest processor as the limiter (`limiter`) where it was busier than any part of the network.
pub(crate) fn of_processor(record: Record, ran: &Replayed, name: impl Fn(u32, u32) -> String) -> Record {
    let Some((rank, cpu, time)) = ran.busiest else { return record };
    let share = time.0 as f64 / ran.run.elapsed.0.max(1) as f64;
    match record.number("limiter_share").is_none_or(|of_network| share >= of_network) {
        true => record.with("limiter", name(rank, cpu)).with("limiter_share", share.min(1.0)),
        false => record,
    }
}

/// Bytes from node to node, and the largest message.
pub(crate) fn demand(schedule: &Schedule, places: &[u32], nodes: u32) -> (Demand, u64) {
    let ends = |op: &Op| [op.rank, op.peer].map(|rank| places[rank as usize]);
    let sends = schedule.ops().filter(|op| op.kind == Kind::Send);
    let (mut largest, mut pairs) = (0, BTreeMap::<(u32, u32), u64>::new());
    for (op, [from, to]) in sends.map(|op| (op, ends(&op))).filter(|(_, [from, to])| from != to) {
        largest = op.size.max(largest);
        *pairs.entry((from, to)).or_default() += op.size;
    }
    (demand_of(pairs, largest, nodes), largest)
}

/// The demand of bytes from node to node, in messages as large as the largest.
pub(crate) fn demand_of(pairs: impl IntoIterator<Item = ((u32, u32), u64)>, largest: u64, nodes: u32) -> Demand {
    let flow = |((from, to), bytes): ((u32, u32), u64)| Flow {
        source: Node(from),
        destination: Node(to),
        amount: bytes as f64 / largest.max(1) as f64,
    };
    let flows = pairs.into_iter().filter(|(_, bytes)| *bytes > 0).map(flow).collect();
    Demand { nodes, all_pairs: 0.0, flows }
}

/// The longest chain of operations and messages as a resource.
pub(crate) const CHAIN: &str = "dependency chain";

/// The largest of the longest chain, the load on the hottest resource (all packets as full as the largest message's),
/// and the busiest processor.
pub(crate) fn least(
    fabric: &Fabric,
    (schedule, places): (&Schedule, &[u32]),
    settings: &Settings,
    network: &Network,
    replayed: &Replayed,
) -> Result<Least, String> {
    let mut least = Least { time: replayed.chain, resource: CHAIN.to_owned(), processor: None, hot_link: None };
    if let Some((rank, cpu, time)) = replayed.computing.filter(|&(_, _, time)| time > least.time) {
        least = Least { time, resource: processor(rank, cpu), processor: Some((rank, cpu)), hot_link: None };
    }
    let (demand, size) = demand(schedule, places, fabric.nodes());
    if demand.flows.is_empty() {
        return Ok(least);
    }
    let routes = (settings.paths, settings.seed);
    let bounds = Pattern::of_paths(fabric, &demand, network.capacities, size, routes)?.bounds;
    let time = hotlink_bound::schedule::carried(&bounds, size);
    match bounds.limiting().filter(|_| time > least.time) {
        Some(limit) => {
            let hot_link = Some(fabric.resource_name(limit.hottest));
            Ok(Least { time, resource: limit.name.clone(), processor: None, hot_link })
        }
        None => Ok(least),
    }
}

const IS: &str =
    "the longest chain of operations and messages, the load on the hottest resource, or the busiest processor";

fn record(
    plan: &Plan<'_>,
    schedule: &Schedule,
    settings: &Settings,
    network: &Network,
    replayed: &Replayed,
    least: &Least,
) -> Record {
    let latency = replayed.run.elapsed;
    let mut record = Record::new()
        .with("fabric", plan.fabric.spec.name.as_str())
        .with("method", "packet")
        .with("ranks", schedule.ranks())
        .with("nodes_built", nodes_built(plan.fabric))
        .with("packet_B", plan.packet_bytes)
        .with("capacities", network.capacities.name())
        // Measured capacities are put in, so a plateau at one of them is a calibration, not a prediction.
        .with("kind", if settings.capacities == Capacities::Measured { "calibrated" } else { "prediction" })
        .with("seed", network.seed)
        .with("paths", settings.paths.name())
        .with("o_us", network.overhead.us());
    if network.eager_max != u64::MAX {
        record.set("S_B", network.eager_max);
    }
    let record = distribution::with_ends(record.with("latency_us", latency.us()), &replayed.finish)
        .with("operations", schedule.ops().len())
        .with("messages", replayed.messages)
        .with("bytes", replayed.bytes)
        .beside_time(&Bound::of_time(least.time.us(), least.resource.as_str(), IS), latency.us());
    let record = match &least.hot_link {
        Some(link) => record.with("hot_link", link.as_str()),
        None => record,
    };
    with_run(record, &replayed.run)
}
