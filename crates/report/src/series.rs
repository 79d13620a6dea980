//! Records as curves: one varying key is the axis, the other differences name the curves.

use crate::judge::NAMING;
use crate::quantity::{Between, between};
use hotlink_bench::Record;
use hotlink_results::compare_runs::{QUANTITIES, parameters};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Keys that may be an axis, the preferred first.
const AXES: [&str; 9] = ["size_B", "nodes", "ranks", "senders", "pairs", "stride", "load", "compute_us", "message_B"];
/// With fewer points a table says more than a curve.
const FEWEST: usize = 3;

/// Curves of one quantity.
pub(crate) struct Figure {
    pub(crate) x_key: &'static str,
    pub(crate) y_key: String,
    /// The year of its prices, where it shows money: that of another year is another, and has a figure of its own.
    pub(crate) year: Option<String>,
    /// Whether its intervals are what prices and other inputs allow: both ends are to be seen.
    pub(crate) is_range: bool,
    pub(crate) curves: Vec<Curve>,
}

/// One curve, and its bound where it has one.
pub(crate) struct Curve {
    /// Its name among the others; empty if there are none.
    pub(crate) name: String,
    /// By x.
    pub(crate) points: Vec<(f64, Between)>,
    /// By x.
    pub(crate) bound: Vec<(f64, f64)>,
    /// Points whose routing is not the one that was asked for: what took its place, and why.
    pub(crate) fallbacks: Vec<(f64, f64, String)>,
    /// Whether the value holds up to the next x: a count of load by whole nodes, each of which was computed.
    pub(crate) steps: bool,
    /// Points whose range from prices and inputs was not computed.
    pub(crate) unknown: usize,
    /// The year of its prices.
    year: Option<String>,
}

/// The figures of one benchmark's records: of each quantity that enough of them have, and of each year that money is of.
pub(crate) fn figures(records: &[&Record]) -> Vec<Figure> {
    let Some(x_key) = axis(records) else { return Vec::new() };
    let of = |y_key: String| {
        let is_range = records.iter().any(|record| record.number(&format!("{y_key}_high")).is_some());
        let mut figures: Vec<Figure> = Vec::new();
        for curve in curves(records, x_key, &y_key) {
            let year = curve.year.clone().filter(|_| y_key.starts_with("cost_"));
            match figures.iter_mut().find(|figure| figure.year == year) {
                Some(figure) => figure.curves.push(curve),
                None => figures.push(Figure { x_key, y_key: y_key.clone(), year, is_range, curves: vec![curve] }),
            }
        }
        figures.retain(|figure| figure.curves.iter().any(|curve| curve.points.len() >= FEWEST));
        figures
    };
    let offers = records.iter().find(|record| is_offer(record)).map(|record| {
        let cost = record.text("currency").map(|currency| format!("cost_per_node_{currency}"));
        cost.into_iter().chain(["idle_latency_us".to_owned()])
    });
    QUANTITIES.iter().map(|(key, _)| (*key).to_owned()).chain(offers.into_iter().flatten()).flat_map(of).collect()
}

/// Whether a record is of a network among others to buy (`hotlink compare`).
pub(crate) fn is_offer(record: &Record) -> bool {
    record.text("kind") == Some("fabric")
}

/// The field with most values.
fn axis(records: &[&Record]) -> Option<&'static str> {
    let values = |key: &str| {
        let all: BTreeSet<u64> = records.iter().filter_map(|record| record.number(key)).map(f64::to_bits).collect();
        all.len()
    };
    let most = AXES.iter().rev().max_by_key(|key| values(key))?;
    (values(most) >= FEWEST).then_some(*most)
}

fn curves(records: &[&Record], x_key: &str, y_key: &str) -> Vec<Curve> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let own = |record: &Record, is_kept: &dyn Fn(&str) -> bool| -> Vec<(String, String)> {
        let own = named(record).filter(|(key, _)| *key != x_key && !follows_axis(key) && is_kept(key));
        own.map(|(key, value)| (key.to_owned(), text(value))).collect()
    };
    // A network whose routing falls back at some size is one network all the same.
    let but_paths = |record: &Record| own(record, &|key| key != "paths");
    let fallen: Vec<_> =
        records.iter().filter(|record| has_fallen_back(record)).map(|record| but_paths(record)).collect();
    let mut groups: BTreeMap<Vec<(String, String)>, Vec<&Record>> = BTreeMap::new();
    let mut order: Vec<Vec<(String, String)>> = Vec::new();
    for record in records.iter().filter(|record| record.number(x_key).is_some() && record.number(y_key).is_some()) {
        let own = if fallen.contains(&but_paths(record)) { but_paths(record) } else { own(record, &|_| true) };
        if !groups.contains_key(&own) {
            order.push(own.clone());
        }
        groups.entry(own).or_default().push(record);
    }
    let telling = telling(&order);
    let curve = |group: &Vec<(String, String)>| {
        let name = group.iter().filter(|(key, _)| telling.contains(key)).map(|(_, value)| value.as_str());
        let name = name.collect::<Vec<_>>().join(", ");
        let mut rows: Vec<&Record> = groups[group].clone();
        rows.sort_by(|a, b| a.number(x_key).partial_cmp(&b.number(x_key)).unwrap_or(std::cmp::Ordering::Equal));
        let at = |record: &Record| record.number(x_key);
        // No node gets more than its own devices take.
        let bound_key = match y_key {
            "bandwidth_per_node_MBps" if rows.iter().any(|row| is_offer(row)) => "injection_per_node_MBps".to_owned(),
            _ => format!("bound_{y_key}"),
        };
        Curve {
            name,
            points: rows.iter().filter_map(|record| Some((at(record)?, between(record, y_key)?))).collect(),
            bound: rows.iter().filter_map(|record| Some((at(record)?, record.number(&bound_key)?))).collect(),
            fallbacks: rows
                .iter()
                .filter(|record| has_fallen_back(record))
                .filter_map(|record| Some((at(record)?, record.number(y_key)?, record.text("fallback")?.to_owned())))
                .collect(),
            steps: x_key == "nodes"
                && rows.iter().all(|record| matches!(record.text("method"), Some("load" | "formula")))
                && rows.windows(2).all(|pair| at(pair[1]).zip(at(pair[0])).is_some_and(|(b, a)| b - a <= 1.0)),
            unknown: rows.iter().filter(|row| row.number(&format!("{y_key}_high")).is_none()).count(),
            year: rows.iter().find_map(|row| row.get("prices_year").filter(|year| !year.is_null()).map(text)),
        }
    };
    order.iter().map(curve).collect()
}

/// The keys that distinguish all groups, those that every group has first. Each distinguishes more than those before
/// it.
fn telling(groups: &[Vec<(String, String)>]) -> Vec<String> {
    let mut keys: Vec<&String> = Vec::new();
    for (key, _) in groups.iter().flatten() {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.sort_by_key(|key| !groups.iter().all(|group| group.iter().any(|(own, _)| own == *key)));
    let parts = |chosen: &[String]| {
        let told = |group: &Vec<(String, String)>| -> Vec<(String, String)> {
            group.iter().filter(|(key, _)| chosen.contains(key)).cloned().collect()
        };
        groups.iter().map(told).collect::<BTreeSet<_>>().len()
    };
    let mut chosen: Vec<String> = Vec::new();
    for key in keys {
        let with_it = [chosen.as_slice(), std::slice::from_ref(key)].concat();
        if parts(&with_it) > parts(&chosen) {
            chosen = with_it;
        }
    }
    chosen
}

/// The parameters that name a result: words, and the counts that people ask for. Other whole numbers are results. The
/// file from which a record was imported represents its hosts.
pub(crate) fn named(record: &Record) -> impl Iterator<Item = (&str, &Value)> {
    let own = parameters(record).filter(|(key, value)| *key != "file" && (value.is_string() || NAMING.contains(key)));
    own.chain(record.get("file").map(|file| ("file", file)))
}

/// Whether other paths were taken than the technology's own.
fn has_fallen_back(record: &Record) -> bool {
    record.get("paths").is_some() && record.text("fallback").is_some()
}

/// Whether a parameter changes with the axis, and so tells no curves apart.
fn follows_axis(key: &str) -> bool {
    ["packet_B", "nodes_built", "algorithm", "algorithm_by", "seed"].contains(&key)
}

#[cfg(test)]
pub(crate) fn drawn_for_tests(points: &[(f64, [f64; 3])]) -> Vec<Curve> {
    let between = |[low, value, high]: [f64; 3]| Between { low, value, high };
    let points = points.iter().map(|(x, ends)| (*x, between(*ends))).collect();
    let name = "a".to_owned();
    vec![Curve { name, points, bound: Vec::new(), fallbacks: Vec::new(), steps: false, unknown: 0, year: None }]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(fabric: &str, size: u64, rate: f64) -> Record {
        let row =
            Record::new().with("fabric", fabric).with("benchmark", "pingpong").with("ranks", 2).with("size_B", size);
        row.with("bandwidth_MBps", rate).with("bound_bandwidth_MBps", 2.0 * rate)
    }

    #[test]
    fn what_varies_is_the_axis_and_what_differs_names_the_curves() {
        let rows = [row("a", 8, 1.0), row("b", 8, 3.0), row("a", 64, 5.0), row("a", 16, 2.0), row("b", 16, 4.0)];
        let found = figures(&rows.iter().collect::<Vec<_>>());
        assert_eq!((found.len(), found[0].x_key, found[0].y_key.as_str()), (1, "size_B", "bandwidth_MBps"));
        let names: Vec<&str> = found[0].curves.iter().map(|curve| curve.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        let first: Vec<(f64, f64)> = found[0].curves[0].points.iter().map(|(x, y)| (*x, y.value)).collect();
        assert_eq!(first, [(8.0, 1.0), (16.0, 2.0), (64.0, 5.0)]);
        assert_eq!(found[0].curves[0].bound[2], (64.0, 10.0));
    }

    #[test]
    fn steps_are_drawn_only_where_every_number_of_nodes_was_computed() {
        let row = |nodes: u64| {
            let row = Record::new().with("fabric", "a").with("method", "load").with("nodes", nodes);
            row.with("bandwidth_per_node_MBps", 1.0)
        };
        for (nodes, steps) in [(vec![4, 5, 6, 7], true), (vec![16, 32, 64], false), (vec![4, 5, 7], false)] {
            let rows: Vec<Record> = nodes.into_iter().map(row).collect();
            assert_eq!(figures(&rows.iter().collect::<Vec<_>>())[0].curves[0].steps, steps);
        }
    }

    #[test]
    fn what_several_files_hold_of_one_benchmark_is_a_curve_each() {
        let of = |file: &str| [8, 16, 64].map(|size| row("a", size, 1.0).with("file", format!("{file}.txt")));
        let rows: Vec<Record> = ["n1", "n2"].iter().flat_map(|host| of(host)).collect();
        let found = figures(&rows.iter().collect::<Vec<_>>());
        let curves: Vec<_> = found[0].curves.iter().map(|curve| (curve.name.as_str(), curve.points.len())).collect();
        assert_eq!(curves, [("n1.txt", 3), ("n2.txt", 3)]);
    }

    #[test]
    fn money_of_each_year_has_a_figure_and_a_curve_its_network_s_name() {
        let offer = |fabric: &str, year: u64, nodes: u64| {
            let row = Record::new().with("kind", "fabric").with("fabric", fabric).with("nodes", nodes);
            let row = row
                .with("currency", "USD")
                .with("prices", format!("{fabric}-{year}"))
                .with("prices_year", year.to_string());
            row.with("bandwidth_per_node_MBps", 1.0).with("cost_per_node_USD", 5.0).with("cost_per_node_USD_high", 9.0)
        };
        let of = |(fabric, year): (&'static str, u64)| [16, 32, 64].map(|nodes| offer(fabric, year, nodes));
        let rows: Vec<Record> = [("sci", 2002), ("gige", 2006), ("myri", 2006)].into_iter().flat_map(of).collect();
        let found = figures(&rows.iter().collect::<Vec<_>>());
        let told = |figure: &Figure| {
            let names: Vec<&str> = figure.curves.iter().map(|curve| curve.name.as_str()).collect();
            format!("{} {:?} {}", figure.y_key, figure.year.as_deref().unwrap_or("no year"), names.join("+"))
        };
        assert_eq!(
            found.iter().map(told).collect::<Vec<_>>(),
            [
                "bandwidth_per_node_MBps \"no year\" sci+gige+myri",
                "cost_per_node_USD \"2002\" sci",
                "cost_per_node_USD \"2006\" gige+myri"
            ]
        );
        assert_eq!(found.iter().map(|figure| figure.is_range).collect::<Vec<_>>(), [false, true, true]);
    }

    #[test]
    fn a_network_whose_routing_falls_back_is_one_curve_with_marks() {
        let row = |nodes: u64, paths: &str| {
            let row = Record::new().with("fabric", "eth").with("method", "load").with("nodes", nodes);
            let row = row.with("paths", paths).with("bandwidth_per_node_MBps", 1.0);
            if paths == "packet" { row.with("fallback", "flows are split evenly") } else { row }
        };
        let rows = [row(64, "flow"), row(128, "flow"), row(8193, "packet"), row(9000, "packet")];
        let found = figures(&rows.iter().collect::<Vec<_>>());
        let [curve] = &found[0].curves[..] else { panic!("one network") };
        assert_eq!((curve.points.len(), curve.fallbacks.len(), curve.fallbacks[0].0), (4, 2, 8193.0));
        // Two routings that were asked for are two curves.
        let rows = [row(64, "flow"), row(128, "flow"), row(256, "flow"), row(64, "destination")];
        assert_eq!(figures(&rows.iter().collect::<Vec<_>>())[0].curves.len(), 2);
    }

    #[test]
    fn two_points_are_no_curve() {
        let rows = [row("a", 8, 1.0), row("a", 16, 2.0)];
        assert!(figures(&rows.iter().collect::<Vec<_>>()).is_empty());
    }
}
