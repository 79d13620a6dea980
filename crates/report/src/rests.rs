//! The basis of a page's numbers. It lists each assumed or estimated input once, with its value, range, source and weight
//! on an answer.

use crate::scale;
use hotlink_bench::Record;
use hotlink_results::Results;
use hotlink_results::compare_runs::counted;
use maud::{Markup, html};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Longer tables are cut, and say so.
const MOST_ROWS: usize = 400;

/// What tells inputs apart: one of another value or range is another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Input {
    name: String,
    value: String,
    range: String,
}

/// What is known of an input.
#[derive(Default)]
struct Known {
    is_assumed: bool,
    /// Technologies that assume it, or fabrics whose description estimates it, with the reason where there is one.
    sources: BTreeSet<String>,
    results: usize,
    weight: Weight,
}

/// How far an input moves answers.
#[derive(Clone, Debug, Default, PartialEq)]
enum Weight {
    /// Nobody varied it.
    #[default]
    Unknown,
    /// It states no range.
    Fixed,
    /// It was varied, and moved none of these.
    None(BTreeSet<String>),
    /// The share of the answer between its ends, and in words which answer.
    Moves(f64, String),
}

impl Weight {
    /// What is known of two records together: the most.
    fn join(&mut self, other: Weight) {
        match (&mut *self, other) {
            (Weight::Moves(most, _), Weight::Moves(share, _)) if *most >= share => {}
            (Weight::Moves(..), Weight::None(_) | Weight::Fixed | Weight::Unknown) => {}
            (Weight::None(quantities), Weight::None(more)) => quantities.extend(more),
            (Weight::None(_), Weight::Fixed | Weight::Unknown) | (Weight::Fixed, Weight::Unknown) => {}
            (_, other) => *self = other,
        }
    }

    fn said(&self) -> String {
        match self {
            Weight::Unknown => "not known: ask with --sensitivity".to_owned(),
            Weight::Fixed => "not known: it states no range".to_owned(),
            Weight::None(of) => {
                let more = if of.len() > 1 { format!(", nor {} more", of.len() - 1) } else { String::new() };
                format!("none: does not move {}{more}", of.first().map_or("it", String::as_str))
            }
            Weight::Moves(_, said) => said.clone(),
        }
    }

    /// By which a table is sorted: what moves most first, then what nobody knows.
    fn rank(&self) -> f64 {
        match self {
            Weight::Moves(share, _) => *share,
            Weight::Unknown => 0.0,
            Weight::Fixed => -1.0,
            Weight::None(_) => -2.0,
        }
    }
}

/// The section.
pub(crate) fn section(inputs: &[Results]) -> Markup {
    let known = known(inputs);
    let mut rows: Vec<(&Input, &Known)> = known.iter().collect();
    // Stable: by name where the weight is the same.
    rows.sort_by(|a, b| b.1.weight.rank().total_cmp(&a.1.weight.rank()));
    let assumed = rows.iter().filter(|(_, known)| known.is_assumed).count();
    html! {
        section {
            h2 { "What the numbers rest on" }
            @if rows.is_empty() {
                p { "No result names an assumed or estimated input." }
            } @else {
                p {
                    "No file states the " (counted(assumed, "assumed value")) ". The catalog calls "
                    (counted(rows.len() - assumed, "value")) " an estimate."
                }
                details {
                    summary { "Each input with its weight, the heaviest first (" (rows.len()) ")" }
                    div .scroll tabindex="0" role="region" aria-label="assumed and estimated inputs" {
                        table .sortable {
                            caption { "Weight: the answer with the input at either end of its range, all else as stated; of all results that were varied, the one that it moves most" }
                            thead { tr { th { "input" } th { "is" } th { "value" } th { "range" } th { "weight" } th { "source" } th .number { "results" } } }
                            tbody {
                                @for (input, known) in rows.iter().take(MOST_ROWS) {
                                    tr {
                                        td .name { (input.name) }
                                        td { @if known.is_assumed { "assumed" } @else { "estimated" } }
                                        td .whole { (input.value) }
                                        td .whole { @if input.range.is_empty() { "not stated" } @else { (input.range) } }
                                        td .said data-sort=(known.weight.rank()) { (known.weight.said()) }
                                        td .said { (known.sources.iter().cloned().collect::<Vec<_>>().join("; ")) }
                                        td .number { (known.results) }
                                    }
                                }
                            }
                        }
                    }
                    @if rows.len() > MOST_ROWS { p .note { "The first " (MOST_ROWS) " of " (rows.len()) " rows; the files hold all." } }
                }
            }
        }
    }
}

fn known(inputs: &[Results]) -> BTreeMap<Input, Known> {
    let mut all: BTreeMap<Input, Known> = BTreeMap::new();
    for record in inputs.iter().flat_map(|results| &results.records) {
        let stated: BTreeMap<&str, (String, String)> = lines(record, "inputs").filter_map(stated).collect();
        let fabric = record.text("fabric").unwrap_or("the file");
        let assumed = lines(record, "assumed").map(|line| (true, assumed(line)));
        let estimated = lines(record, "estimates").map(|key| {
            let (value, range) = stated.get(key).cloned().unwrap_or_default();
            (false, (Input { name: bare(key).to_owned(), value, range }, fabric.to_owned()))
        });
        for (is_assumed, (input, source)) in assumed.chain(estimated) {
            let weight = weight(record, &input.name);
            let known = all.entry(input).or_default();
            known.is_assumed |= is_assumed;
            known.sources.insert(source);
            known.results += 1;
            known.weight.join(weight);
        }
    }
    all
}

fn lines<'r>(record: &'r Record, key: &str) -> impl Iterator<Item = &'r str> + use<'r> {
    record.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn bare(key: &str) -> &str {
    key.strip_prefix("parameter.").unwrap_or(key)
}

/// Of `key=value unit (status, least to most)` the key, value and range.
fn stated(line: &str) -> Option<(&str, (String, String))> {
    let (key, rest) = line.split_once('=')?;
    let (value, status) = rest.strip_suffix(')')?.rsplit_once(" (")?;
    let range = status.split_once(", ").map_or("", |(_, range)| range);
    Some((key, (value.to_owned(), range.to_owned())))
}

/// Of `name=value unit (least to most; technology: why)` the input and its source. A sentence of another form is a name.
fn assumed(line: &str) -> (Input, String) {
    let parts = line.split_once('=').and_then(|(name, rest)| Some((name, rest.strip_suffix(')')?.split_once(" (")?)));
    let Some((name, (value, why))) = parts else {
        return (Input { name: line.to_owned(), value: String::new(), range: String::new() }, String::new());
    };
    let (range, source) = match why.split_once("; ") {
        Some((range, source)) if range.contains(" to ") && !range.contains(':') => (range, source),
        _ => ("", why),
    };
    (Input { name: bare(name).to_owned(), value: value.to_owned(), range: range.to_owned() }, source.to_owned())
}

/// What a record says of an input's weight on its answers.
fn weight(record: &Record, name: &str) -> Weight {
    if lines(record, "not_varied").any(|key| bare(key) == name) {
        return Weight::Fixed;
    }
    let Some(of) = record.text("sensitivity_of") else { return Weight::Unknown };
    let mut found = Weight::Unknown;
    for (key, list) in [(of, "sensitivity"), ("idle_latency_us", "idle_sensitivity")] {
        let (Some(answer), true) = (record.number(key), record.get(list).is_some()) else { continue };
        let line = lines(record, list).find_map(|line| line.split_once(": ").filter(|(key, _)| bare(key) == name));
        let ends = line.and_then(|(_, ends)| {
            let (low, high) = ends.split_once(" to ")?;
            Some([low, high].map(|end| end.replace(',', "").parse::<f64>().ok()))
        });
        let of = format!("of {}", place(record));
        found.join(match ends {
            Some([Some(low), Some(high)]) => {
                let percent = |end: f64| match (100.0 * (end / answer - 1.0)).round() {
                    0.0 => "0 %".to_owned(),
                    percent => format!("{percent:+} %"),
                };
                let (least, most) = (scale::told(key, low), scale::told(key, high));
                let name = scale::name(key);
                let said = format!("{name} {least} to {most} ({}, {}) {of}", percent(low), percent(high));
                Weight::Moves((high - low) / answer, said)
            }
            _ => Weight::None(BTreeSet::from([format!("{} {of}", scale::name(key))])),
        });
    }
    found
}

/// Which answer a record is, in words.
fn place(record: &Record) -> String {
    let said = |key: &&str| match record.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        value if *key == "size_B" => Some(scale::told(key, value.as_f64()?)),
        value => Some(format!("{value} {key}")),
    };
    ["benchmark", "traffic", "fabric", "nodes", "size_B"].iter().filter_map(said).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn page(records: &Value) -> String {
        let json = serde_json::json!({"schema": "hotlink/2", "records": records}).to_string();
        section(&[hotlink_results::parse(Path::new("m.json"), &json).ok().unwrap()]).into_string()
    }

    #[test]
    fn an_input_stands_once_with_value_range_source_and_weight() {
        let row = |fabric: &str, technology: &str| {
            serde_json::json!({"fabric": fabric, "benchmark": "pingpong", "size_B": 8, "latency_us": 2.0,
                "inputs": ["resource.nic.latency=300 ns (estimated, 100 to 900)", "parameter.buffer=4 KiB (assumed)"],
                "estimates": ["resource.nic.latency"],
                "assumed": [format!("buffer=4 KiB (1 to 16; {technology}: by analogy)")]})
        };
        let mut varied = row("a", "infiniband");
        varied["sensitivity_of"] = "latency_us".into();
        varied["sensitivity"] = serde_json::json!(["resource.nic.latency: 1.5 to 3"]);
        let page = page(&serde_json::json!([row("a", "infiniband"), varied, row("b", "roce")]));
        assert_eq!(page.matches(">buffer<").count(), 1, "{page}");
        for said in [
            "<td class=\"whole\">300 ns</td><td class=\"whole\">100 to 900</td>",
            "latency 1.5 us to 3 us (-25 %, +50 %) of pingpong, a, 8 B",
            "none: does not move latency of pingpong, a, 8 B",
            "infiniband: by analogy; roce: by analogy",
        ] {
            assert!(page.contains(said), "{said}: {page}");
        }
        assert!(page.find("resource.nic.latency").unwrap() < page.find(">buffer<").unwrap(), "the heaviest first");
    }

    #[test]
    fn a_weight_that_nobody_asked_for_is_not_known() {
        let rows = serde_json::json!([{"fabric": "a", "latency_us": 2.0, "estimates": ["x"]},
            {"fabric": "b", "latency_us": 2.0, "assumed": ["free, since node 3 is gone"]},
            {"fabric": "c", "latency_us": 2.0, "estimates": ["y"], "not_varied": ["y"]}]);
        let page = page(&rows);
        assert_eq!(page.matches("not known: ask with --sensitivity").count(), 2, "{page}");
        assert_eq!(page.matches("not known: it states no range").count(), 1, "{page}");
    }
}
