//! Figures 6, 8, 12 and 13 in time: M02's saturation experiments and its all-to-all, packet by packet.
//!
//! Capacities are the measured ones, so that a plateau at one of them is a calibration. What one sender gets follows
//! from its host (parameters of the catalog, not fitted to these figures), and with it where saturation begins.

use super::model::{Model, SIX};
use crate::Row;
use crate::evidence::{Evidence, unasked};
use crate::words::{is_same, off_pct};
use hotlink_bound::Limited;
use hotlink_fabric::Fabric;
use hotlink_fabric::catalog::Claim;
use hotlink_fabric::forms;
use hotlink_fabric::spec::{Capacities, FabricSpec};
use hotlink_fabric::traffic::Traffic;
use hotlink_load::sharing::{shared_link_pairs, turning_pairs};
use hotlink_sim::workload::{Run, Schedule, Stream, all_to_all};
use hotlink_sim::workload::{message_passing_pause, saturate};
use hotlink_sim::{Plan, Settings, SimError};
use hotlink_study::Error;
use hotlink_study::ask::Method;
use rayon::prelude::*;

/// One of the saturation experiments.
pub(super) struct Experiment {
    id: &'static str,
    quantity: &'static str,
    fabric: &'static str,
    nodes: u32,
    /// Most senders or pairs.
    most: u32,
    /// Largest message.
    largest: u64,
    pairs: fn(u32) -> Vec<(u32, u32)>,
    /// Last label of the axis and the measured maximum, in MB/s.
    top: f64,
    plateau: f64,
}

const EXPERIMENTS: [Experiment; 3] = [
    Experiment {
        id: "G102",
        quantity: "Fig. 6: aggregate through one SCI link",
        fabric: "sci-ring",
        nodes: 8,
        most: 4,
        largest: 64 << 10,
        pairs: |senders| shared_link_pairs(8, senders),
        top: 600.0,
        plateau: 390.0,
    },
    Experiment {
        id: "G103",
        quantity: "Fig. 8: aggregate through one B-Link",
        fabric: "sci-torus2d",
        nodes: 16,
        most: 3,
        largest: 64 << 10,
        pairs: |pairs| turning_pairs(4, pairs),
        top: 500.0,
        plateau: 360.0,
    },
    Experiment {
        id: "G106",
        quantity: "Fig. 12: aggregate through one link between two Myrinet switches",
        fabric: "myrinet-minimal",
        nodes: 30,
        most: 4,
        largest: 256 << 10,
        pairs: |senders| shared_link_pairs(30, senders),
        top: 180.0,
        plateau: 144.0,
    },
];

/// Smallest message of Figs. 6, 8 and 12 here; their axes are linear from 0.
const SMALLEST: u64 = 1 << 10;
/// Sizes of Fig. 13's simulated points: whole squares, both sides of where a switch is added, and the axis' end.
const SIZES: [u32; 11] = [4, 9, 16, 25, 30, 44, 64, 72, 100, 121, 128];
/// What a node sends in all in Fig. 13's simulation, for the start not to count.
const SENT: u64 = 32 << 10;

/// All points of the four figures.
pub(super) fn series(model: &Model) -> Result<Vec<Row>, Error> {
    let points = EXPERIMENTS.iter().flat_map(|experiment| {
        let doubling = std::iter::successors(Some(SMALLEST), |size| Some(2 * size));
        let sizes: Vec<u64> = doubling.take_while(|size| *size <= experiment.largest).collect();
        (1..=experiment.most)
            .flat_map(move |count| sizes.clone().into_iter().map(move |size| (count, size)))
            .map(move |(count, size)| (experiment, count, size))
    });
    // The model's caches are not for threads.
    let specs: Vec<_> = SIX.iter().map(|name| model.built(name).clone()).collect();
    let spec = |name: &str| specs.iter().find(|spec| spec.name == name).expect("one of SIX");
    let points: Vec<_> = points.collect();
    let figures: Result<Vec<Row>, SimError> = points
        .par_iter()
        .map(|(experiment, count, size)| experiment.point(spec(experiment.fabric), *count, *size))
        .collect();
    let exchanges: Vec<(&str, u32)> = SIX.iter().flat_map(|fabric| SIZES.map(|nodes| (*fabric, nodes))).collect();
    let exchanges: Result<Vec<(&str, u32, Exchange)>, SimError> =
        exchanges.into_par_iter().map(|(fabric, nodes)| Ok((fabric, nodes, exchange(spec(fabric), nodes)?))).collect();
    let failed = |error: SimError| Error::Input(error.to_string());
    let mut rows = figures.map_err(failed)?;
    let points = exchanges.map_err(failed)?;
    rows.extend(points.into_iter().map(|(fabric, nodes, run)| exchange_point(model, fabric, nodes, run)));
    Ok(rows)
}

impl Experiment {
    fn point(&self, spec: &FabricSpec, count: u32, size: u64) -> Result<Row, SimError> {
        let spec = &unasked(spec);
        let fabric = Fabric::build(spec, self.nodes).map_err(|error| SimError::Input(error.to_string()))?;
        let settings = Settings::of(spec);
        let plan = Plan::new(&fabric, &settings)?;
        let pairs = (self.pairs)(count);
        let pause = message_passing_pause(&plan, &settings, &pairs)?;
        let stream = Stream { pairs, size, window: 1, messages: 4, pause };
        let run = saturate(&plan, &settings, &stream)?;
        let what = if self.id == "G103" { "pair" } else { "sender" };
        let series = format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        Ok(Row::point(self.id, self.quantity, Evidence::of(Method::Packet, spec), run.mbps(), "MB/s")
            .also("fabric", self.fabric)
            .also("series", series)
            .also("senders", count)
            .also("size_B", size)
            .also("capacities", "measured")
            .also("trace_hash", format!("{:016x}", run.trace_hash)))
    }

    /// Whether the points stay on the axis, and the plateau.
    fn rows(&self, claim: &Claim, series: &[Row]) -> Vec<Row> {
        let of: Vec<&Row> = series.iter().filter(|row| row.id == self.id).collect();
        let highest = of.iter().filter_map(|row| row.reproduced.as_f64()).fold(0.0, f64::max);
        let row = || Row::new(claim, evidence_of(series, self.id));
        let axis = row()
            .reading("highest point on the printed axis")
            .reproduced(format!("{} points up to {highest:.1}", of.len()))
            .in_unit("MB/s")
            .holds(highest <= self.top);
        let plateau = row()
            .reading("plateau: most senders, largest message")
            .published(self.plateau, "MB/s")
            .reproduced(aggregate(series, self.id, self.most, self.largest))
            .under("the measured capacity is put in; that the senders reach it is the simulation's");
        let one = aggregate(series, self.id, 1, self.largest);
        let alone = row()
            .reading("one sender, largest message")
            .reproduced(one)
            .in_unit("MB/s")
            .under(match self.id {
                "G106" => "its own link is as fast as the shared one: only short messages need more senders, and M02 prints no more than the maximum",
                _ => "limited by the stores over its own PCI bus: memory reads and combined writes of the host's parameters, estimated, not fitted to this figure",
            });
        vec![axis, plateau, alone]
    }
}

/// What a figure's points rest on.
fn evidence_of(series: &[Row], id: &str) -> Evidence {
    let points = series.iter().filter(|row| row.id == id);
    points.fold(Evidence::stated(), |all, row| all.and(row.evidence.clone()))
}

/// A point of Figs. 6, 8 or 12.
fn aggregate(series: &[Row], id: &str, senders: u32, size: u64) -> f64 {
    let is = |row: &&Row| {
        row.id == id
            && row.key("senders").is_some_and(|count| *count == senders)
            && row.key("size_B").is_some_and(|bytes| *bytes == size)
    };
    series.iter().find(is).and_then(|row| row.reproduced.as_f64()).unwrap_or(f64::NAN)
}

/// The rows of G102, G103 and G106.
pub(super) fn figure(claim: &Claim, series: &[Row]) -> Vec<Row> {
    let experiments = EXPERIMENTS.iter().filter(|experiment| experiment.id == claim.id);
    experiments.flat_map(|experiment| experiment.rows(claim, series)).collect()
}

/// G079: "twice that of a single sender, but when the third is added, the link is saturated", and the fourth adds
/// almost nothing.
pub(super) fn senders(claim: &Claim, series: &[Row]) -> Vec<Row> {
    let rate = |senders| aggregate(series, "G102", senders, 64 << 10);
    let row = |reading: &str, value: f64| {
        Row::new(claim, evidence_of(series, "G102")).reading(reading).reproduced(value).under("64 KiB")
    };
    let [one, two, three, four] = [1, 2, 3, 4].map(rate);
    let plateau = EXPERIMENTS[0].plateau;
    // The number that is printed is that of two senders.
    let stated = |reading: &str, value: f64| {
        let mut row = row(reading, value);
        row.published = serde_json::Value::Null;
        row
    };
    vec![
        row("two senders over one", two / one)
            .published(2.0, "x")
            .under("one sender by the host's parameters, estimated, not fitted"),
        stated("three senders over one: saturated", three / one)
            .statement("x", is_same(three, plateau) && three < 3.0 * one),
        stated("the fourth sender adds", off_pct(four, three)).statement("%", is_same(four, three)),
    ]
}

/// A simulated all-to-all.
struct Exchange {
    run: Run,
    /// What the loads on its routes allow, in MB/s per node.
    bound: Option<f64>,
    /// The same of its steps, one after the other.
    steps: Option<f64>,
    evidence: Evidence,
}

/// What the loads of `traffic` allow on the paths that packets take, in MB/s per node.
fn bounded(fabric: &Fabric, plan: &Plan, traffic: &Traffic) -> Option<f64> {
    let demand = traffic.demand(fabric.nodes(), 0).ok()?;
    let bounds = plan.count(&demand).ok()?.bounds(fabric, Capacities::Measured, forms::MESSAGE_BYTES);
    Some(bounds.bandwidth_per_node_mbps)
}

/// Bandwidth per node in MB/s of an exchange that ends each step before the next. In step k every node sends to the
/// k-th after it. The loads of that step alone decide, over the paths that packets take. The bound of the whole
/// exchange adds all steps' loads first.
fn by_steps(fabric: &Fabric, plan: &Plan) -> Option<f64> {
    let nodes = fabric.nodes();
    let step = |by: u32| Some(1.0 / bounded(fabric, plan, &Traffic::Shift(by))?);
    let slowness: f64 = (1..nodes).map(step).sum::<Option<f64>>()?;
    Some(f64::from(nodes - 1) / slowness)
}

/// All-to-all among `nodes` by measured capacities.
fn exchange(spec: &FabricSpec, nodes: u32) -> Result<Exchange, SimError> {
    let spec = &unasked(spec);
    let fabric = Fabric::build(spec, nodes).map_err(|error| SimError::Input(error.to_string()))?;
    let settings = Settings::of(spec);
    let plan = Plan::new(&fabric, &settings)?;
    let size = (SENT / u64::from(fabric.nodes() - 1)).max(128).next_multiple_of(128);
    let run = all_to_all(&plan, &settings, size, Schedule::LinearShift)?;
    let bound = bounded(&fabric, &plan, &Traffic::AllToAll);
    let steps = by_steps(&fabric, &plan);
    Ok(Exchange { run, bound, steps, evidence: Evidence::of(Method::Packet, spec) })
}

/// A simulated point of Fig. 13.
fn exchange_point(model: &Model, fabric: &str, nodes: u32, exchange: Exchange) -> Row {
    let Exchange { run, bound, steps, evidence } = exchange;
    let form = model.form(fabric, nodes, Capacities::Measured);
    let rate = run.mbps() / form.nodes_built as f64;
    Row::point("G107", "Fig. 13 by packets: calibrated bandwidth per node", evidence, rate, "MB/s")
        .also("fabric", fabric)
        .also("nodes", nodes)
        .also("traffic", "all-to-all")
        .also("capacities", "measured")
        .also("formula", form.bandwidth_per_node_mbps)
        .also("bound_bandwidth_per_node_MBps", bound)
        .also("efficiency", bound.map(|bound| rate / bound))
        .also("by_steps_per_node_MBps", steps)
        .also("trace_hash", format!("{:016x}", run.trace_hash))
}

/// G107: each simulated curve of Fig. 13 with M02's model, and why they differ.
pub(super) fn exchanges(claim: &Claim, series: &[Row]) -> Vec<Row> {
    SIX.map(|fabric| {
        let is = |row: &&Row| row.id == "G107" && row.key("efficiency").is_some() && named(row) == Some(fabric);
        let points: Vec<&Row> = series.iter().filter(is).collect();
        let number = |row: &Row, key: &str| row.key(key).and_then(|value| value.as_f64()).unwrap_or(f64::NAN);
        let share = |row: &&Row| row.reproduced.as_f64().unwrap_or(f64::NAN) / number(row, "formula");
        let of_steps = |row: &Row| row.reproduced.as_f64().unwrap_or(f64::NAN) / number(row, "by_steps_per_node_MBps");
        let least = points.iter().map(share).fold(f64::INFINITY, f64::min);
        let efficiency = |row: &&Row| number(row, "efficiency");
        let most = points.iter().map(efficiency).fold(0.0, f64::max);
        let lowest = points.iter().map(efficiency).fold(f64::INFINITY, f64::min);
        let evidence = points.iter().fold(Evidence::stated(), |all, row| all.and(row.evidence.clone()));
        Row::new(claim, evidence)
            .reading(&format!("{fabric} by packets: least share of the model"))
            .reproduced(least)
            .in_unit("of the model")
            .also("sizes", points.len())
            .also("least_of_the_steps", points.iter().map(|row| of_steps(row)).fold(f64::INFINITY, f64::min))
            .also("least_efficiency", lowest)
            .also("greatest_efficiency", most)
            .under(why(fabric))
    })
    .to_vec()
}

fn named(row: &Row) -> Option<&str> {
    row.key("fabric")?.as_str()
}

/// Why the simulated curve lies where it does.
fn why(fabric: &str) -> &'static str {
    match fabric {
        "sci-ring" => "every link and B-Link of a kind carries the same: nothing to average",
        "sci-torus2d" => {
            "the order of sends: every link carries the same in the whole exchange, but not in one step of it, whose longest way decides; messages of 64 KiB lose as much again to receive queues of 3 KiB, which refuse packets that turn"
        }
        "myrinet-minimal" => {
            "Eq. 10 averages over the links of the line, whose middle one carries most and saturates first"
        }
        "myrinet-clos64" => {
            "M02 takes full bisection for granted; in a step of the exchange two routes share a link where leaves are not full, and a blocked worm holds what it has"
        }
        _ => {
            "packets take up*/down* routes, which never wait for each other in a circle: their busiest link carries more than the average over shortest ways of Eq. 10, more yet in one step of the exchange, and a blocked worm holds what it has"
        }
    }
}
