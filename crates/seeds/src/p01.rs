//! P01: collectives by hardware and by software on QsNet, alone and under load.
//!
//! Nothing is fitted to it: what was published elsewhere or is estimated by analogy goes in, and what comes out is a
//! prediction.

use super::evidence::{Evidence, Found, unasked};
use super::words::{is_clearly_more, is_slightly_more};
use super::{Report, Row};
use hotlink_bench::distribution::{ascending_us, median, share_under};
use hotlink_fabric::Fabric;
use hotlink_fabric::catalog::{Claim, Library};
use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::units::Time;
use hotlink_port::background::BackgroundSpec;
use hotlink_sim::qsnet::{self, Algorithm, Collective, Elan};
use hotlink_sim::{Plan, Settings};
use hotlink_study::Error;
use hotlink_study::ask::Method;
use rayon::prelude::*;

/// P01's cluster.
const NODES: u32 = 64;
/// Barriers and short broadcasts under load.
const SAMPLES: u32 = 100;
/// The abstract describes its flood as "flooded with a background traffic of unicast messages". This is full load, with
/// a random partner for each message. The abstract gives no length, so floods have their default length. It stands in
/// every row under load.
const FLOOD: &str = "uniform:1";
/// Other floods at full load, shown as points: the abstract picks none of them.
const OTHER_FLOODS: [&str; 3] = ["uniform:1:320", "uniform:1:1024", "permutation:1"];
/// Messages whose difference gives the asymptotic bandwidth. The time between them includes neither the call nor the fill
/// of a chain of hosts.
const LONG: [u64; 2] = [1 << 19, 1 << 20];
/// A long message under load, fewer bytes for the sake of time.
const LONG_LOADED: u64 = 1 << 16;

/// Virtual time of samples under load that is enough.
const ENOUGH: Time = Time(20_000_000_000);

/// What one simulation gave, in microseconds.
struct Times {
    /// Ascending.
    latency: Vec<f64>,
    synchronised: Vec<f64>,
}

impl Times {
    fn median(&self) -> f64 {
        median(&self.latency)
    }
    fn synchronised(&self) -> f64 {
        median(&self.synchronised)
    }
}

/// Everything that P01's abstract prints.
pub(super) fn report() -> Result<Report, Error> {
    let library = Library::embedded();
    let published = library.published("p01")?;
    let spec = library.fabric("qsnet")?.spec;
    let rows: Result<Vec<Vec<Row>>, String> = published.par_iter().map(|claim| rows(&spec, claim)).collect();
    let claims = rows.map_err(Error::Input)?.into_iter().flatten().collect();
    let mut series = scaling(&spec).map_err(Error::Input)?;
    series.extend(floods(&spec).map_err(Error::Input)?);
    let title = "Petrini, Coll, Frachtenberg and Hoisie 2001, Hardware- and Software-Based Collective Communication on \
                 the Quadrics Network";
    Ok(Report { name: "P01", title, claims, series })
}

/// A flood in words; figures and rows give its messages' size separately.
fn in_words(flood: &str) -> &'static str {
    if flood.starts_with("uniform") { "random partners, full load" } else { "fixed partners, full load" }
}

fn flood() -> BackgroundSpec {
    FLOOD.parse().expect("a flood")
}

fn idle(algorithm: Algorithm, bytes: Option<u64>) -> Collective {
    Collective { algorithm, nodes: NODES, bytes, samples: 1, limit: None, background: None }
}

fn loaded(algorithm: Algorithm, bytes: Option<u64>, samples: u32) -> Collective {
    Collective { samples, limit: Some(ENOUGH), background: Some(flood()), ..idle(algorithm, bytes) }
}

fn run(spec: &FabricSpec, what: Collective) -> Result<Times, String> {
    let fabric = Fabric::build(spec, what.nodes).map_err(|error| error.to_string())?;
    let elan = Elan::of(spec).ok_or("qsnet: no Elan parameters")?;
    let settings = elan.settings(&Settings::of(spec));
    let plan = Plan::new(&fabric, &settings).map_err(|error| error.to_string())?;
    let outcome = qsnet::run(&plan, &settings, elan, &what).map_err(|error| error.to_string())?;
    Ok(Times { latency: ascending_us(&outcome.latencies), synchronised: ascending_us(&outcome.synchronised) })
}

/// The rows of one claim; none where it is not known.
fn rows(spec: &FabricSpec, claim: &Claim) -> Result<Vec<Row>, String> {
    match claim.id.as_str() {
        "G040" => hardware_barrier(spec, claim),
        "G041" => software_barrier(spec, claim),
        "G042" => short_broadcasts(spec, claim),
        "G043" => bandwidths(spec, claim),
        "G044" => barriers_under_load(spec, claim),
        "G045" => broadcast_under_load(spec, claim),
        "G046" => software_barrier_under_load(spec, claim),
        "G047" => software_broadcast_under_load(spec, claim),
        "G048" => bandwidth_under_load(spec, claim),
        _ => Ok(Vec::new()),
    }
}

/// A number of a simulation.
type Number = fn(&Times) -> f64;
type Rows = Result<Vec<Row>, String>;

/// A number of a simulation of an idle network, which takes but a moment.
fn found(spec: &FabricSpec, what: Collective, number: impl Fn(&Times) -> f64) -> Result<Found, String> {
    Found::by(Method::Packet, spec, |spec| Ok(number(&run(spec, what)?)))
}

fn hardware_barrier(spec: &FabricSpec, claim: &Claim) -> Rows {
    let us = found(spec, idle(Algorithm::Hardware, None), Times::median)?;
    let under = "conditional out and back, then the word that ends it";
    Ok(vec![us.row(claim).under(under)])
}

fn software_barrier(spec: &FabricSpec, claim: &Claim) -> Rows {
    let us = found(spec, idle(Algorithm::Tree, None), Times::median)?;
    let under = "quaternary tree of puts, whose overheads are estimated: next to none would give 15.8 us";
    Ok(vec![us.row(claim).published(15.0, "us").known_not_to_hold().under(under)])
}

fn short_broadcasts(spec: &FabricSpec, claim: &Claim) -> Rows {
    let mut rows = Vec::new();
    let readings: [(&str, Number); 2] =
        [("last arrival", Times::median), ("with the barrier after it", Times::synchronised)];
    for (algorithm, name) in [(Algorithm::Hardware, "hardware"), (Algorithm::Tree, "software")] {
        for (what, number) in readings {
            let us = found(spec, idle(algorithm, Some(256)), number)?;
            let row = us.row(claim).reading(&format!("{name}, {what}"));
            let holds = algorithm == Algorithm::Tree && what == "last arrival";
            let why = "the abstract does not say how much synchronisation its 13 us include: both readings are given, \
                       256 B to the last node, and until a barrier by the same algorithm has freed the buffers too";
            rows.push(if holds { row } else { row.known_not_to_hold() }.under(why));
        }
    }
    Ok(rows)
}

/// Bandwidth in MB/s that longer messages approach.
fn asymptotic(spec: &FabricSpec, algorithm: Algorithm) -> Result<f64, String> {
    let us = |bytes| Ok::<f64, String>(run(spec, idle(algorithm, Some(bytes)))?.median());
    let [shorter, longer] = LONG;
    Ok((longer - shorter) as f64 / (us(longer)? - us(shorter)?))
}

fn bandwidths(spec: &FabricSpec, claim: &Claim) -> Rows {
    let row = |algorithm, name| {
        let mbps = Found::by(Method::Packet, spec, |spec| asymptotic(spec, algorithm))?;
        Ok::<Row, String>(mbps.row(claim).reading(name).also("size_B", LONG[1]))
    };
    let how = "bytes from 512 KiB to 1 MiB over the time that they add";
    let twice = "a host that forwards crosses its half-duplex PCI bus twice for every byte: 496 MB/s / 2, as 320 bytes \
                 take 43 clocks; P01's library forwards without that";
    let acknowledged = "acknowledge_time is estimated by analogy";
    Ok(vec![
        row(Algorithm::Hardware, "hardware")?.under(format!("{how}; {acknowledged}")),
        row(Algorithm::Tree, "software")?.known_not_to_hold().under(format!("{how}; {twice}")),
    ])
}

/// The share of barriers that take less than 20 us under a flood, in per cent.
fn short_barriers(spec: &FabricSpec, flood: BackgroundSpec) -> Result<Found, String> {
    let what = Collective { background: Some(flood), ..loaded(Algorithm::Hardware, None, SAMPLES) };
    Found::once(Method::Packet, spec, |spec| Ok(100.0 * share_under(&run(spec, what)?.latency, 20.0)))
}

fn barriers_under_load(spec: &FabricSpec, claim: &Claim) -> Rows {
    let row = short_barriers(spec, flood())?.row(claim).reading(in_words(FLOOD));
    let why = "every node has a DMA under way all the time and another in its queue, one packet of them in the network. The \
               abstract prints neither pattern nor length of its messages, and the share depends on them (the other floods \
               are points of the figure): the conditional and the word that ends a barrier must reach every node, and \
               wait for the longest of 64 queues, which uniform messages of 4 KiB pile up before a bus that both receives \
               and sends";
    Ok(vec![row.known_not_to_hold().under(why)])
}

/// The same with every flood that was tried.
fn floods(spec: &FabricSpec) -> Rows {
    let point = |flood: &str| {
        let told: BackgroundSpec = flood.parse()?;
        let share = short_barriers(spec, told)?;
        let row = Row::point("floods", "barriers under 20 us", share.evidence(), share.value, "%");
        Ok(row.also("fabric", "qsnet").also("series", in_words(flood)).also("size_B", told.size))
    };
    std::iter::once(FLOOD).chain(OTHER_FLOODS).map(point).collect()
}

fn broadcast_under_load(spec: &FabricSpec, claim: &Claim) -> Rows {
    let what = loaded(Algorithm::Hardware, Some(2048), SAMPLES / 3);
    let us = Found::once(Method::Packet, spec, |spec| Ok::<f64, String>(run(spec, what)?.median()))?;
    let holds = us.value <= 200.0;
    let row = us.row(claim).holds(holds);
    Ok(vec![row.under("median at load 1; `in 200 us` is an upper limit: it holds if no longer than printed")])
}

/// Medians of an algorithm alone and under a flood, and what they rest on.
fn beside(spec: &FabricSpec, [alone, loaded]: [Collective; 2], number: Number) -> Result<([f64; 2], Evidence), String> {
    let spec = unasked(spec);
    let times = [number(&run(&spec, alone)?), number(&run(&spec, loaded)?)];
    Ok((times, Evidence::of(Method::Packet, &spec)))
}

fn software_barrier_under_load(spec: &FabricSpec, claim: &Claim) -> Rows {
    let of = |algorithm| beside(spec, [idle(algorithm, None), loaded(algorithm, None, SAMPLES / 2)], Times::median);
    let (([alone, us], software), ([_, hardware_us], hardware)) = (of(Algorithm::Tree)?, of(Algorithm::Hardware)?);
    let holds = is_clearly_more(us, alone);
    let row = Row::new(claim, software.and(hardware)).reproduced(us / alone).in_unit("times slower").holds(holds);
    Ok(vec![row.under(format!("medians at load 1: software {us:.0} us, hardware {hardware_us:.0} us"))])
}

fn software_broadcast_under_load(spec: &FabricSpec, claim: &Claim) -> Rows {
    let both = [Algorithm::Hardware, Algorithm::Tree].map(|algorithm| loaded(algorithm, Some(2048), SAMPLES / 3));
    let ([hardware, software], evidence) = beside(spec, both, Times::synchronised)?;
    let slightly = is_slightly_more(software, hardware);
    let row = Row::new(claim, evidence).reproduced(software / hardware).in_unit("times hardware").holds(slightly);
    let why = "higher, but not slightly: at every level of the tree, and of the barrier after it, a put waits in the DMA \
               queue behind the flood's messages; the hardware's data wait there once, its barrier never";
    Ok(vec![
        row.known_not_to_hold().under(format!("2 KiB: software {software:.0} us, hardware {hardware:.0} us; {why}")),
    ])
}

fn bandwidth_under_load(spec: &FabricSpec, claim: &Claim) -> Rows {
    let mut rows = Vec::new();
    for (algorithm, name) in [(Algorithm::Hardware, "hardware"), (Algorithm::Tree, "software")] {
        let both = [idle(algorithm, Some(LONG_LOADED)), loaded(algorithm, Some(LONG_LOADED), 3)];
        let ([alone, loaded], evidence) = beside(spec, both, Times::median)?;
        let row = Row::new(claim, evidence).reproduced(alone / loaded).in_unit("of the idle bandwidth");
        rows.push(row.holds(is_clearly_more(loaded, alone)).reading(name).under("64 KiB at load 1"));
    }
    Ok(rows)
}

/// Barriers from 2 to 1,024 nodes; only the points at 64 have a published value.
fn scaling(spec: &FabricSpec) -> Result<Vec<Row>, String> {
    let cells: Vec<(Algorithm, u32)> =
        Algorithm::ALL.into_iter().flat_map(|algorithm| (1..=10).map(move |bits| (algorithm, 1 << bits))).collect();
    let point = |&(algorithm, nodes): &(Algorithm, u32)| {
        let spec = unasked(spec);
        let us = run(&spec, Collective { nodes, ..idle(algorithm, None) })?.median();
        Ok(Row::point("scaling", "barrier latency", Evidence::of(Method::Packet, &spec), us, "us")
            .also("fabric", "qsnet")
            .also("series", algorithm.name())
            .also("nodes", nodes))
    };
    cells.par_iter().map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The claims' rows, which take half a minute, are judged by the command's own tests.
    #[test]
    fn barriers_of_two_to_1024_nodes_take_what_they_took() {
        let spec = Library::embedded().fabric("qsnet").unwrap().spec;
        // Golden: barrier latency on 2, 4, ... 1,024 nodes.
        let golden: [[f64; 10]; 3] = [
            [4.885, 4.885, 5.185, 5.185, 5.485, 5.485, 5.785, 5.785, 6.085, 6.085],
            [3.99, 5.290107, 9.680107, 11.180214, 15.970214, 17.930535, 23.620642, 25.520856, 32.090963, 34.031177],
            [2.395, 4.02, 5.845, 7.57, 9.495, 11.32, 13.345, 15.27, 17.395, 19.42],
        ];
        let rows = scaling(&spec).unwrap();
        let series: Vec<f64> = rows.iter().filter_map(Row::placed).map(|(us, ..)| us).collect();
        assert_eq!(series, golden.concat());
    }
}
