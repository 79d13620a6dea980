//! The lines under a table: what its answers rest on, in brief. The records have all of it.

use crate::table::figure;
use hotlink_bench::Record;
use hotlink_study::inputs::{ANSWERS, BESIDE};
use serde_json::Value;
use std::collections::BTreeSet;

/// Most inputs that a line names.
const MOST: usize = 3;

/// Keys that these lines explain: no columns.
pub fn is_told_below(key: &str) -> bool {
    let interval = key.strip_suffix("_low").or_else(|| key.strip_suffix("_high"));
    const TOLD: [&str; 8] = [
        "inputs",
        "estimates",
        "assumed",
        "sensitivity",
        "sensitivity_of",
        "idle_sensitivity",
        "not_varied",
        "unchanged",
    ];
    TOLD.contains(&key) || interval.is_some_and(|of| ANSWERS.contains(&of) || of == BESIDE)
}

/// The interval of each answer that has one. A last line says how much was estimated or assumed, and which of these
/// inputs moves the answer most.
pub fn lines(records: &[Record]) -> Vec<String> {
    told(records, Some("--sensitivity tells which moves the answer most"))
}

/// The same of a program's run, whose inputs are not varied.
pub fn of_run(record: &Record) -> Vec<String> {
    told(std::slice::from_ref(record), None)
}

fn told(records: &[Record], otherwise: Option<&str>) -> Vec<String> {
    let varied: Vec<(&Record, &str)> =
        records.iter().filter_map(|record| Some((record, record.text("sensitivity_of")?))).collect();
    let with_interval = varied.iter().filter(|_| varied.len() > 1 || records.len() == 1);
    let mut lines: Vec<String> = with_interval.map(|(record, key)| interval(record, key)).collect();
    let unchanged =
        |record: &Record| Some(format!("{}: as it is: {}", record.text("fabric")?, record.text("unchanged")?));
    lines.extend(records.iter().filter_map(unchanged).collect::<BTreeSet<_>>());
    let strongest = varied.first().map(|(record, _)| texts(record, "sensitivity")).unwrap_or_default();
    let rests: Vec<String> = [("estimated", "estimates"), ("assumed", "assumed")]
        .into_iter()
        .filter_map(|(kind, key)| Some(format!("{kind}: {}", counted(named(records, key), &strongest)?)))
        .collect();
    if rests.is_empty() {
        return lines;
    }
    let most = match (varied.first(), strongest.first()) {
        (None, _) => otherwise.map(str::to_owned),
        (Some((_, key)), Some(first)) => Some(format!("{key} moves most with {first}")),
        (Some((_, key)), None) => Some(format!("{key} moves with none of those that state their uncertainty")),
    };
    lines.push(rests.into_iter().chain(most).collect::<Vec<_>>().join("; "));
    lines
}

/// An answer with its interval and the inputs that move it most.
fn interval(record: &Record, key: &str) -> String {
    let number = |key: &str| record.number(key).map_or_else(String::new, figure);
    let place = ["fabric", "nodes", "ranks", "size_B"].iter().filter_map(|key| match record.get(key)? {
        Value::String(text) => Some(text.clone()),
        value => Some(format!("{key} {value}")),
    });
    let place = place.collect::<Vec<_>>().join(", ");
    let (low, high) = (number(&format!("{key}_low")), number(&format!("{key}_high")));
    let ranking = texts(record, "sensitivity");
    let by = match ranking.len() {
        0 => "no input that states its uncertainty moves it".to_owned(),
        count if count <= MOST => ranking.join("; "),
        count => format!("{}; {} more move it less", ranking[..MOST].join("; "), count - MOST),
    };
    format!("{place}: {key} {}, {low} to {high} ({by})", number(key))
}

/// The names of what is listed under a key of any record, in order of first appearance.
fn named(records: &[Record], key: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for line in records.iter().flat_map(|record| texts(record, key)) {
        let name = bare(&line);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Of `parameter.name=value (why)` and of `parameter.name: 1 to 2` the name.
fn bare(line: &str) -> String {
    line.split(['=', ':']).next().unwrap_or_default().trim_start_matches("parameter.").to_owned()
}

/// All names where they are few, else how many, and those of them that move the answer most.
fn counted(mut names: Vec<String>, strongest: &[String]) -> Option<String> {
    let place = |name: &String| strongest.iter().position(|line| bare(line) == *name).unwrap_or(usize::MAX);
    // In the order in which they were used, where none is known to be stronger.
    names.sort_by_key(place);
    match names.len() {
        0 => None,
        count if count <= MOST + 1 => Some(names.join(", ")),
        count => Some(format!("{count} values ({} and {} more)", names[..MOST].join(", "), count - MOST)),
    }
}

fn texts(record: &Record, key: &str) -> Vec<String> {
    let list = record.get(key).and_then(|value| value.as_array());
    list.into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let assumed: Vec<String> = ["a=1", "b=2 (why)", "parameter.c=3", "d=4", "e=5"].map(str::to_owned).to_vec();
        Record::new().with("fabric", "f").with("latency_us", 2.0).with("assumed", assumed).with("estimates", vec!["x"])
    }

    #[test]
    fn many_inputs_are_counted_and_the_first_named() {
        let told =
            "estimated: x; assumed: 5 values (a, b, c and 2 more); --sensitivity tells which moves the answer most";
        assert_eq!(lines(&[record()]), [told]);
        assert!(lines(&[Record::new().with("latency_us", 1.0)]).is_empty());
    }

    #[test]
    fn a_fabric_that_stays_as_it_is_is_named_once() {
        let row =
            |nodes: u32| Record::new().with("fabric", "d").with("nodes", nodes).with("unchanged", "has no levels");
        assert_eq!(lines(&[row(8), row(16)]), ["d: as it is: has no levels"]);
        assert!(is_told_below("unchanged"));
    }

    #[test]
    fn the_strongest_come_first() {
        let moved: Vec<String> =
            ["e: 1 to 3", "parameter.c: 1.5 to 2.5", "x: 1 to 2", "d: 1 to 2"].map(str::to_owned).to_vec();
        let record = record()
            .with("latency_us_low", 1.0)
            .with("latency_us_high", 3.0)
            .with("sensitivity_of", "latency_us")
            .with("sensitivity", moved);
        let [interval, last] = &lines(&[record])[..] else { panic!("two lines") };
        let ranked = "e: 1 to 3; parameter.c: 1.5 to 2.5; x: 1 to 2; 1 more move it less";
        assert_eq!(*interval, format!("f: latency_us 2, 1 to 3 ({ranked})"));
        assert_eq!(*last, "estimated: x; assumed: 5 values (e, c, d and 2 more); latency_us moves most with e: 1 to 3");
    }
}
