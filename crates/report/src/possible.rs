//! Whether records can be results at all: the kind and sign of each value, intervals that hold their value, a benchmark
//! that exists. A bad value in a possible result is a finding ([`crate::Finding`]) on the page.

use hotlink_bench::Record;
use hotlink_results::{Results, compare_runs};
use hotlink_study::schema::{self, Kind};
use hotlink_study::{Error, text::figure};
use serde_json::Value;
use std::collections::BTreeMap;

/// The most by which rounding moves the end of an interval, as a fraction of it.
const ROUNDED: f64 = 1e-6;

/// Refuses records that cannot be, and a file that is given twice.
///
/// # Errors
/// The file, the number of the record, its key, and what is allowed.
pub(crate) fn check(inputs: &[Results]) -> Result<(), Error> {
    for (at, results) in inputs.iter().enumerate() {
        let place = results.file.canonicalize().ok();
        if place.is_some() && inputs[..at].iter().any(|other| other.file.canonicalize().ok() == place) {
            let file = results.file.display();
            return Err(Error::Input(format!("{file}: is given twice; give each file once")));
        }
    }
    check_records(inputs)
}

/// Refuses records that cannot be.
///
/// # Errors
/// The file, the number of the record, its key, and what is allowed.
pub fn check_records(inputs: &[Results]) -> Result<(), Error> {
    let kinds = Kinds::read();
    for results in inputs {
        let file = results.file.display();
        // Tables for people leave keys out and have headings of their own.
        if results.file.extension().is_some_and(|extension| extension == "md") {
            continue;
        }
        for (number, record) in results.records.iter().enumerate() {
            let wrong = |what: String| Error::Input(format!("{file}: record {}: {what}", number + 1));
            kinds.check(record).and_then(|()| intervals(record)).and_then(|()| benchmark(record)).map_err(wrong)?;
        }
    }
    Ok(())
}

/// The schema's kinds of each key. Verbs may use one name in several ways.
struct Kinds {
    exact: BTreeMap<&'static str, Vec<Kind>>,
    /// Those that cover several names.
    covering: Vec<&'static schema::Key>,
}

impl Kinds {
    fn read() -> Kinds {
        let mut kinds = Kinds { exact: BTreeMap::new(), covering: Vec::new() };
        for key in schema::all().flat_map(schema::Records::keys) {
            match key.name.contains('*') {
                true => kinds.covering.push(key),
                false => kinds.exact.entry(key.name).or_default().push(key.kind),
            }
        }
        kinds
    }

    /// Keys that the schema has not are those of other programs: their values may be anything.
    fn check(&self, record: &Record) -> Result<(), String> {
        for (name, value) in record.fields() {
            let covering = || self.covering.iter().filter(|key| key.is(name)).map(|key| key.kind).collect();
            let kinds: Vec<Kind> = self.exact.get(name).cloned().unwrap_or_else(covering);
            if !kinds.is_empty() && !kinds.iter().any(|kind| holds(*kind, value)) {
                return Err(format!("{name}: `{value}`: must be {}", allowed(kinds[0])));
            }
        }
        match record.number("efficiency") {
            Some(share) if share < 0.0 => Err(format!("efficiency: {share}: must be 0 or more")),
            _ => Ok(()),
        }
    }
}

/// Texts may be numbers and lists may be texts: CSV does not distinguish them.
fn holds(kind: Kind, value: &Value) -> bool {
    value.is_null()
        || match kind {
            Kind::Count => value.as_f64().is_some_and(|number| number >= 0.0 && number.fract() == 0.0),
            Kind::Number => value.is_number(),
            Kind::Flag => value.is_boolean(),
            Kind::Text => !value.is_array() && !value.is_object(),
            Kind::Numbers | Kind::Texts | Kind::Any => true,
        }
}

/// The allowed values of a key of this kind.
pub(crate) fn allowed(kind: Kind) -> &'static str {
    match kind {
        Kind::Count => "a whole number from 0",
        Kind::Number => "a number",
        Kind::Flag => "true or false",
        _ => "a text",
    }
}

/// Ends of intervals are `KEY_low` and `KEY_high`; `ci95` is of the median and of the quantity of the statistics.
fn intervals(record: &Record) -> Result<(), String> {
    for (low_key, low) in record.fields() {
        let Some(key) = low_key.strip_suffix("_low") else { continue };
        let high_key = format!("{key}_high");
        let (Some(low), Some(high)) = (low.as_f64(), record.number(&high_key)) else { continue };
        let slack = ROUNDED * low.abs().max(high.abs());
        let told = || format!("{} to {}", figure(low), figure(high));
        if low > high + slack {
            return Err(format!("{low_key}: {} is above {high_key}, {}", figure(low), figure(high)));
        }
        let of = match key {
            "ci95" => ["median", record.statistic().unwrap_or_default()],
            key => [key, ""],
        };
        for key in of {
            let is_within = |value: &f64| (low - slack..=high + slack).contains(value);
            if let Some(value) = record.number(key).filter(|value| !is_within(value)) {
                return Err(format!("{key}: {}: must lie in its interval, {}", figure(value), told()));
            }
        }
    }
    Ok(())
}

/// Other programs have benchmarks that hotlink has not. Only verbs answer without a benchmark, and name what they answer.
fn benchmark(record: &Record) -> Result<(), String> {
    let has = |key: &str| record.get(key).is_some_and(|value| !value.is_null());
    match record.get("benchmark") {
        Some(Value::String(_)) if has("program") => Ok(()),
        Some(Value::String(name)) if schema::named(name).is_err() => {
            let allowed = "must be one of `hotlink schema --list`, or any with the `program` that measured";
            Err(format!("benchmark: {name}: is unknown; {allowed}"))
        }
        Some(Value::String(_)) => Ok(()),
        Some(other) if !other.is_null() => Err(format!("benchmark: `{other}`: must be a text")),
        _ if has("nodes") || has("study") => Ok(()),
        _ => match compare_runs::QUANTITIES.iter().find(|(quantity, _)| has(quantity)) {
            Some((quantity, _)) => Err(format!("benchmark: is missing; a record with {quantity} needs it")),
            None => Ok(()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::path::Path;

    fn read(name: &str, record: &Value) -> Results {
        let json = json!({"schema": "hotlink/2", "records": [record]}).to_string();
        hotlink_results::parse(Path::new(name), &json).ok().unwrap()
    }

    #[test]
    fn what_cannot_be_is_told_by_its_place() {
        let good = json!({"fabric": "x", "benchmark": "pingpong", "size_B": 8, "latency_us": 2.0, "efficiency": 0.5,
            "median": 2.0, "ci95_low": 1.0, "ci95_high": 3.0, "statistic_of": "latency_us", "verified": true});
        check(&[read("m.json", &good)]).unwrap();
        for (change, told) in [
            (json!({"latency_us": "fast"}), "latency_us: `\"fast\"`: must be a number"),
            (json!({"latency_us": [1, 2]}), "latency_us: `[1,2]`: must be a number"),
            (json!({"size_B": -8}), "size_B: `-8`: must be a whole number from 0"),
            (json!({"size_B": "8"}), "size_B: `\"8\"`: must be a whole number from 0"),
            (json!({"size_B": 8.5}), "size_B: `8.5`: must be a whole number from 0"),
            (json!({"verified": "yes"}), "verified: `\"yes\"`: must be true or false"),
            (json!({"fabric": ["x"]}), "fabric: `[\"x\"]`: must be a text"),
            (json!({"efficiency": -3}), "efficiency: -3: must be 0 or more"),
            (json!({"ci95_low": 5}), "ci95_low: 5 is above ci95_high, 3"),
            (json!({"median": 4}), "median: 4: must lie in its interval, 1 to 3"),
            (json!({"latency_us": 9}), "latency_us: 9: must lie in its interval, 1 to 3"),
            (json!({"time_us": 1, "time_us_low": 2, "time_us_high": 3}), "time_us: 1: must lie in"),
            (json!({"benchmark": "pingpang"}), "benchmark: pingpang: is unknown; must be one of"),
            (json!({"benchmark": 7}), "benchmark: `7`: must be a text"),
            (json!({"benchmark": null}), "benchmark: is missing; a record with latency_us needs it"),
        ] {
            let mut record = good.clone();
            record.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            let said = check(&[read("g.json", &good), read("m.json", &record)]).unwrap_err().to_string();
            assert!(said.starts_with(&format!("m.json: record 1: {told}")), "{said}");
        }
    }

    #[test]
    fn other_programs_have_benchmarks_of_their_own_and_verbs_have_none() {
        for record in [
            json!({"benchmark": "put", "program": "osu", "latency_us": 1.0}),
            json!({"fabric": "x", "nodes": 4, "bandwidth_per_node_MBps": 1.0}),
            json!({"check": "cores", "verdict": "ok"}),
            json!({"benchmark": "pingpong", "latency_us": null, "their_key": [1]}),
        ] {
            check(&[read("m.json", &record)]).unwrap();
        }
    }

    #[test]
    fn a_file_is_read_once() {
        let read = || hotlink_results::Results { file: "Cargo.toml".into(), ..read("m.json", &json!({"check": "x"})) };
        let said = check(&[read(), read()]).unwrap_err().to_string();
        assert_eq!(said, "Cargo.toml: is given twice; give each file once");
    }
}
