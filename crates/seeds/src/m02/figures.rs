//! Figures 2, 3, 4, 9, 10, 13, 14 and 15 as series of points of the closed forms. Those in time are in
//! [`super::simulated`].

use super::model::{MYRINET, Model, SCI, SIX, SIZES, Tori};
use crate::Row;
use hotlink_fabric::spec::{Capacities, Role};
use hotlink_fabric::topology::CubeSpec;
use hotlink_study::ask::Method;

/// Every point of every figure, figure by figure.
pub(super) fn series(model: &Model) -> Vec<Row> {
    let theory = Capacities::Theoretical;
    let sw2sw = |fabric: &str, nodes| model.form(fabric, nodes, theory).sw2sw_mbps;
    let overall = |fabric: &str, nodes| Some(model.bandwidth(fabric, nodes, theory, Tori::Padded));
    let calibrated = |fabric: &str, nodes| Some(model.bandwidth(fabric, nodes, Capacities::Measured, Tori::Padded));
    let cost = |fabric: &str, nodes| Some(model.cost(fabric, nodes));
    let per_mbps = |fabric: &str, nodes| Some(model.cost_of_bandwidth(fabric, nodes));
    let mut rows = Vec::new();
    for figure in [2, 3, 4] {
        rows.extend(SCI.iter().flat_map(|fabric| sci_points(model, figure, fabric)));
    }
    let bandwidth = Sort { unit: "MB/s", inputs: ("capacities", "theoretical") };
    let measured = Sort { inputs: ("capacities", "measured"), ..bandwidth };
    let total = Sort { unit: "USD", inputs: ("prices", "fitted") };
    let per_node = Sort { unit: "USD per MB/s per node", ..total };
    let rows_9 = by_size(model, ("G104", "Fig. 9: switch-to-switch bandwidth per node"), &MYRINET, bandwidth, &sw2sw);
    rows.extend(rows_9.into_iter().map(|row| with_counted_links(model, row)));
    let rows_10 = by_size(model, ("G105", "Fig. 10: overall bandwidth per node"), &MYRINET, bandwidth, &overall);
    rows.extend(rows_10.into_iter().map(|row| with_counted(model, theory, row)));
    let rows_13 = by_size(model, ("G107", "Fig. 13: calibrated bandwidth per node"), &SIX, measured, &calibrated);
    rows.extend(rows_13.into_iter().map(|row| with_counted(model, Capacities::Measured, row)));
    rows.extend(by_size(model, ("G108", "Fig. 14: total cost"), &SIX, total, &cost));
    rows.extend(by_size(model, ("G109", "Fig. 15: cost of bandwidth"), &SIX, per_node, &per_mbps));
    rows
}

/// What all points of a figure share.
#[derive(Clone, Copy)]
struct Sort {
    unit: &'static str,
    inputs: (&'static str, &'static str),
}

impl Sort {
    fn point(self, model: &Model, (id, quantity): (&str, &str), fabric: &str, nodes: u32, value: f64) -> Row {
        let form = model.evidence(Method::Formula, &[fabric]);
        let evidence = if self.inputs.0 == "prices" { form.and(model.priced(&[fabric], [nodes])) } else { form };
        Row::point(id, quantity, evidence, value, self.unit)
            .also("fabric", fabric)
            .also("nodes", nodes)
            .also("traffic", "all-to-all")
            .also(self.inputs.0, self.inputs.1)
    }
}

/// One series for each fabric over all sizes where it has a value.
fn by_size(
    model: &Model,
    figure: (&str, &str),
    fabrics: &[&str],
    sort: Sort,
    value: &dyn Fn(&str, u32) -> Option<f64>,
) -> Vec<Row> {
    let points = fabrics.iter().flat_map(|fabric| SIZES.map(move |nodes| (*fabric, nodes)));
    let drawn = points.filter_map(|(fabric, nodes)| Some((fabric, nodes, value(fabric, nodes)?)));
    drawn.map(|(fabric, nodes, value)| sort.point(model, figure, fabric, nodes, value)).collect()
}

/// Fabric and size of a point.
fn place(row: &Row) -> Option<(String, u32)> {
    row.placed().and_then(|(_, fabric, nodes)| Some((fabric, u32::try_from(nodes).ok()?)))
}

/// The load count's answer with the formula's.
fn with_counted(model: &Model, capacities: Capacities, row: Row) -> Row {
    match place(&row).and_then(|(fabric, nodes)| model.counted(&fabric, nodes, capacities)) {
        Some(counted) => row.also("counted", counted),
        None => row,
    }
}

/// Eq. 10 averages over the inter-switch links: the count of routes gives the average and the hottest.
fn with_counted_links(model: &Model, row: Row) -> Row {
    match place(&row).and_then(|(fabric, nodes)| model.counted_sw2sw(&fabric, nodes, Capacities::Theoretical)) {
        Some((average, hottest)) => row.also("counted", average).also("counted_hottest", hottest),
        None => row,
    }
}

/// Points of Figs. 2 to 4: whole cubes up to 10,000 nodes, theoretical capacities.
fn sci_points(model: &Model, figure: u32, fabric: &str) -> Vec<Row> {
    let Some(&CubeSpec { dimensions, .. }) = model.spec(fabric).topology.get() else { return Vec::new() };
    let (id, what) = match figure {
        2 => ("G099", "Fig. 2: bandwidth per node limited by the SCI links"),
        3 => ("G100", "Fig. 3: bandwidth per node limited by the B-Link"),
        _ => ("G101", "Fig. 4: bandwidth per node limited by links and B-Link"),
    };
    let sort = Sort { unit: "MB/s", inputs: ("capacities", "theoretical") };
    let point = |nodes: u32| {
        let form = model.form(fabric, nodes, Capacities::Theoretical);
        let limit = |role| form.limits.iter().find(|limit| limit.role == role).map_or(f64::NAN, |limit| limit.mbps);
        let row = |value| sort.point(model, (id, what), fabric, nodes, value);
        match figure {
            2 => row(limit(Role::Link)).also("hot_link_packets", form.hot_link),
            3 => row(limit(Role::BLink)).also("hot_b_link_packets", form.hot_b_link),
            _ => row(form.bandwidth_per_node_mbps)
                .also("limiting_resource", form.limiting_resource)
                .also("counted", model.counted(fabric, nodes, Capacities::Theoretical)),
        }
    };
    radices(dimensions).into_iter().map(|r| point(r.pow(dimensions))).collect()
}

/// Radices whose cube has at most 10,000 nodes; a ring's grow by about a fifth past ten.
fn radices(dimensions: u32) -> Vec<u32> {
    let next = |r: u32| if r < 10 || dimensions > 1 { r + 1 } else { r + r / 5 };
    std::iter::successors(Some(2), |r| Some(next(*r)).filter(|r| r.pow(dimensions) <= 10_000)).collect()
}
