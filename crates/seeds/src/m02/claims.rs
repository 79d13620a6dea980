//! Each claim of M02 with the model's answer: Tables 1 to 3, the capacities, who leads at which size, the axes.

use super::model::{Model, ranges};
use crate::Row;
use crate::evidence::Evidence;
use hotlink_fabric::catalog::Claim;
use hotlink_fabric::forms;
use hotlink_fabric::spec::Capacities::{Measured, Theoretical};
use hotlink_fabric::spec::Role;
use hotlink_study::ask::Method;

/// The rows of one claim; several where it can be read in several ways.
pub(super) fn rows(model: &Model, claim: &Claim, series: &[Row]) -> Vec<Row> {
    match claim.id.as_str() {
        "G069" => vec![clocked(claim, 64, 200.0 / 3.0, 1, "66 2/3 MHz (printed 66)")],
        "G070" => vec![clocked(claim, 64, 80.0, 1, "80 MHz")],
        "G071" => vec![clocked(claim, 16, 500.0 / 3.0, 2, "166 2/3 MHz (printed 166), both edges")],
        "G080" => vec![clocked(claim, 8, 80.0, 2, "80 MHz, both edges")],
        "G081" => vec![clocked(claim, 64, 400.0 / 3.0, 1, "133 1/3 MHz (printed 133)")],
        "G072" => vec![link_gbit(model, claim)],
        "G073" | "G074" => vec![packet(model, claim)],
        "G075" => vec![effective(model, claim, Role::Link)],
        "G076" => vec![effective(model, claim, Role::BLink)],
        "G077" => saturation(model, claim, "sci-ring", Role::Link, 88.0),
        "G078" => saturation(model, claim, "sci-ring", Role::BLink, 84.0),
        "G082" => saturation(model, claim, "myrinet-minimal", Role::SwitchLink, 90.0),
        "G079" => super::simulated::senders(claim, series),
        "G083" => vec![myrinet_overhead(model, claim)],
        "G084" => vec![clos64(model, claim)],
        "G085" => vec![testbed(model, claim)],
        "G102" | "G103" | "G106" => super::simulated::figure(claim, series),
        "G099" => vec![axis(claim, series, Some(900.0))],
        "G100" | "G101" => vec![axis(claim, series, Some(250.0))],
        "G104" | "G105" => vec![axis(claim, series, None)],
        "G107" => {
            let mut rows = vec![axis(claim, series, None)];
            rows.extend(super::simulated::exchanges(claim, series));
            rows
        }
        "G108" => vec![axis(claim, series, Some(270_000.0))],
        "G109" => vec![axis(claim, series, Some(80.0)).known_not_to_hold()],
        _ => super::orderings::rows(model, claim),
    }
}

/// A value as the catalog states it, or arithmetic on such values.
fn stated(claim: &Claim) -> Row {
    Row::new(claim, Evidence::stated())
}

/// Tables 1 and 2: width times frequency.
fn clocked(claim: &Claim, bits: u32, mhz: f64, edges: u32, clock: &str) -> Row {
    let rate = f64::from(bits / 8 * edges) * mhz;
    stated(claim).reproduced(rate).under(format!("{bits} bit x {clock}"))
}

fn link_gbit(model: &Model, claim: &Claim) -> Row {
    let gross =
        model.spec("sci-ring").resources[&Role::Link].gross.as_ref().map_or(f64::NAN, |gross| gross.value.mbps());
    stated(claim).reproduced(gross * 8.0 / 1000.0).under("Table 1's 667 MB/s")
}

/// Payload and efficiency are inputs: the overhead of 64 bytes follows from the printed 66.7 %.
fn packet(model: &Model, claim: &Claim) -> Row {
    let packet = &model.spec("sci-ring").packet;
    let payload = packet.payload_max_bytes.as_ref().map_or(f64::NAN, |payload| payload.value as f64);
    let value = if claim.id == "G073" { payload } else { packet.efficiency(forms::MESSAGE_BYTES, 0.0) * 100.0 };
    stated(claim).reproduced(value).under("input of the model")
}

/// Eq. 3.
fn effective(model: &Model, claim: &Claim, role: Role) -> Row {
    let rate = model.rate("sci-ring", role, Theoretical);
    stated(claim).reproduced(rate).under("Eq. 3: gross of Table 1 x 128/192")
}

/// A measured saturation rate is an input; its share of the theoretical rate is not.
fn saturation(model: &Model, claim: &Claim, fabric: &str, role: Role, printed_pct: f64) -> Vec<Row> {
    let (measured, theory) = (model.rate(fabric, role, Measured), model.rate(fabric, role, Theoretical));
    let input = stated(claim).reproduced(measured);
    let share = stated(claim)
        .published(printed_pct, "% of theory")
        .reproduced(measured / theory * 100.0)
        .under("measured rate over Eq. 3; printed to the nearest percent");
    vec![input.under("input of the calibrated models"), share]
}

/// Table 3: h hops between switches are h + 1 switches on the route.
fn myrinet_overhead(model: &Model, claim: &Claim) -> Row {
    let packet = &model.spec("myrinet-minimal").packet;
    let fixed = packet.overhead_bytes.value;
    let per_switch = packet.overhead_per_hop_bytes.value;
    let same = (0..16).map(f64::from).all(|hops| {
        let efficiency = packet.efficiency(4096, hops + 1.0);
        (efficiency - forms::efficiency_myrinet(4096.0, hops)).abs() < 1e-15
    });
    let formula = format!("{fixed} + {per_switch} (h+1) = h+{}", fixed + per_switch);
    stated(claim).reproduced(formula).holds(same).under("Table 3 and Eq. 9; input of the model")
}

/// What the built network has, and that no link in it limits below a host link.
fn clos64(model: &Model, claim: &Claim) -> Row {
    let Ok(fabric) = hotlink_fabric::Fabric::build(model.spec("myrinet-clos64"), 64) else {
        return stated(claim).gap("the network of a Clos64 cannot be built yet");
    };
    let crossbars = fabric.network.vertex_role.iter().filter(|role| **role == Role::Switch).count();
    let form = model.form("myrinet-clos64", 64, Theoretical).bandwidth_per_node_mbps;
    let counted = model.counted("myrinet-clos64", 64, Theoretical).unwrap_or(0.0);
    let full = counted > form * (1.0 - 1e-6);
    let row = Row::new(claim, model.evidence(Method::Load, &["myrinet-clos64"]));
    row.reproduced(format!("{crossbars} crossbars, {} hosts, full bisection: {full}", fabric.nodes()))
        .holds(crossbars == 16 && fabric.nodes() == 64 && full)
        .under("the built network, all-to-all counted over its routes")
        .also("counted", counted)
}

/// The testbed is a part of the catalog, an input.
fn testbed(model: &Model, claim: &Claim) -> Row {
    let parameters = &model.spec("sci-torus2d").parameters;
    let value = |name: &str| parameters.get(name).map_or(f64::NAN, |value| value.value);
    let (ghz, processors) = (value("cpu_clock") / 1e9, value("host_processors"));
    stated(claim)
        .reproduced(format!("{processors} processors of {ghz} GHz, measured as the sum over pairs"))
        .holds(ghz == 1.0 && processors == 2.0)
        .under("input of the model: part pc-p3-1ghz")
}

/// The figure's points, and whether they stay on its axis.
fn axis(claim: &Claim, series: &[Row], top: Option<f64>) -> Row {
    let drawn = || series.iter().filter(|row| row.id == claim.id);
    let points: Vec<(f64, String, u64)> = drawn().filter_map(Row::placed).collect();
    let most = points.iter().map(|(value, ..)| *value).fold(f64::NEG_INFINITY, f64::max);
    let least = points.iter().map(|(value, ..)| *value).fold(f64::INFINITY, f64::min);
    let evidence = drawn().fold(Evidence::stated(), |all, row| all.and(row.evidence.clone()));
    let row = Row::new(claim, evidence)
        .reproduced(format!("{} points from {least:.1} to {most:.1}", points.len()))
        .also("points", points.len());
    let Some(top) = top else { return row.under("the axis has no printed range that survived") };
    let beyond: Vec<&(f64, String, u64)> = points.iter().filter(|(value, ..)| *value > top).collect();
    let row = row.holds(beyond.is_empty()).under("every point is within the printed axis");
    match beyond.first() {
        None => row,
        Some(_) => row.under(format!("beyond it: {}", first_beyond(&beyond))),
    }
}

/// `sci-ring from 57 nodes, ...`
fn first_beyond(beyond: &[&(f64, String, u64)]) -> String {
    let mut seen: Vec<&str> = Vec::new();
    let mut told = Vec::new();
    for (_, fabric, _) in beyond {
        if !seen.contains(&fabric.as_str()) {
            seen.push(fabric);
            let sizes = beyond.iter().filter(|(_, name, _)| name == fabric).map(|(_, _, nodes)| *nodes as u32);
            told.push(format!("{fabric} at {} nodes", ranges(&sizes.collect::<Vec<_>>())));
        }
    }
    told.join(", ")
}
