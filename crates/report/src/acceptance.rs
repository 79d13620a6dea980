//! A site's requirements for results before it accepts a machine, as TOML:
//!
//! ```toml
//! title = "Acceptance of the new cluster"
//!
//! [[require]]
//! name = "short messages"
//! where = { benchmark = "pingpong", size_B = 8 }
//! latency_us = { at_most = 2.0 }
//!
//! [[require]]
//! name = "long messages reach nine tenths of what the network allows"
//! where = { benchmark = "pingpong", size_B = { at_least = "1MiB" } }
//! efficiency = { at_least = 0.9 }
//! ```
//!
//! A requirement holds for every record that `where` chooses. One that chooses none has failed: a value that was not
//! shown is not accepted.

use crate::{possible, scale};
use hotlink_bench::Record;
use hotlink_fabric::catalog::nearest;
use hotlink_fabric::units::Bytes;
use hotlink_results::compare_runs::QUANTITIES;
use hotlink_study::Error;
use hotlink_study::schema::{self, Kind};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::{Spanned, Value};

/// A file of requirements.
#[derive(Clone, Debug, PartialEq)]
pub struct Acceptance {
    /// Where it was read.
    pub file: PathBuf,
    /// The report's title.
    pub title: Option<String>,
    pub(crate) requirements: Vec<Requirement>,
    pub(crate) sha256: String,
}

/// One requirement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Requirement {
    pub(crate) name: String,
    /// Conditions on the records for which this is required.
    pub(crate) chosen: Vec<(String, Condition)>,
    /// The required limits of their numbers.
    pub(crate) limits: Vec<(String, Limit)>,
    /// Its line.
    pub(crate) line: usize,
}

/// A condition on a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    Text(String),
    Flag(bool),
    Number(f64),
    Range(Limit),
}

/// Between which numbers; either end may be open.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Limit {
    pub(crate) at_least: Option<f64>,
    pub(crate) at_most: Option<f64>,
}

/// Numbers that differ by less than this share of them are equal: sums and quotients of doubles round. It is far below
/// any measurement or requirement.
const NOISE: f64 = 1e-9;

impl Limit {
    pub(crate) fn holds(&self, value: f64) -> bool {
        !self.is_below(value) && !self.is_above(value)
    }

    /// Whether a value is less than the least.
    pub(crate) fn is_below(&self, value: f64) -> bool {
        self.at_least.is_some_and(|least| value < least - NOISE * least.abs())
    }

    /// Whether a value is more than the most.
    pub(crate) fn is_above(&self, value: f64) -> bool {
        self.at_most.is_some_and(|most| value > most + NOISE * most.abs())
    }
}

impl Condition {
    /// Whether a record's field is so.
    fn holds(&self, record: &Record, key: &str) -> bool {
        match self {
            Condition::Text(text) => record.text(key) == Some(text),
            Condition::Flag(flag) => record.get(key).and_then(serde_json::Value::as_bool) == Some(*flag),
            Condition::Number(number) => record.number(key) == Some(*number),
            Condition::Range(limit) => record.number(key).is_some_and(|value| limit.holds(value)),
        }
    }

    /// As it is asked for, in words.
    fn said(&self, key: &str) -> String {
        let number = |value: f64| scale::whole(key, value);
        match self {
            Condition::Text(text) => format!("{key} {text}"),
            Condition::Flag(flag) => format!("{key} {flag}"),
            Condition::Number(value) => format!("{key} {}", number(*value)),
            Condition::Range(limit) => {
                let end = |word: &str, end: Option<f64>| end.map(|end| format!(" {word} {}", number(end)));
                let ends = [end("at least", limit.at_least), end("at most", limit.at_most)];
                format!("{key}{}", ends.into_iter().flatten().collect::<Vec<_>>().join(","))
            }
        }
    }

    /// That no record's field is so, and which values there are instead.
    fn nowhere(&self, key: &str, records: &[&Record]) -> String {
        let told = |record: &&Record| match record.get(key)? {
            serde_json::Value::Null => None,
            serde_json::Value::String(text) => Some(text.clone()),
            value => Some(value.as_f64().map_or_else(|| value.to_string(), |number| scale::whole(key, number))),
        };
        let mut values: Vec<String> = Vec::new();
        for value in records.iter().filter_map(told) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        if values.is_empty() {
            return format!("no result has the key {key}");
        }
        let near = match self {
            Condition::Text(text) => nearest(text, values.iter().map(String::as_str)),
            _ => None,
        };
        let instead = match near {
            Some(near) => format!("did you mean {near}?"),
            None => {
                let more = if values.len() > SHOWN { ", ..." } else { "" };
                format!("the results have {}{more}", values[..values.len().min(SHOWN)].join(", "))
            }
        };
        format!("no result has {}; {instead}", self.said(key))
    }
}

/// At most this many values are named in place of one that no record has.
const SHOWN: usize = 6;

impl Requirement {
    /// Whether it speaks of a record.
    pub(crate) fn chooses(&self, record: &Record) -> bool {
        self.chosen.iter().all(|(key, condition)| condition.holds(record, key))
    }

    /// Its conditions, in words; empty where it holds for every record.
    pub(crate) fn sought(&self) -> String {
        self.chosen.iter().map(|(key, condition)| condition.said(key)).collect::<Vec<_>>().join(", ")
    }

    /// Why it chooses none of these records.
    pub(crate) fn unmatched(&self, records: &[&Record]) -> String {
        if records.is_empty() {
            return "there are no results".to_owned();
        }
        let nowhere = self.chosen.iter().filter(|(key, one)| !records.iter().any(|record| one.holds(record, key)));
        let told: Vec<String> = nowhere.map(|(key, one)| one.nowhere(key, records)).collect();
        match told.is_empty() {
            true => "no result meets all conditions of `where` together; each holds for some".to_owned(),
            false => told.join("; "),
        }
    }
}

impl Acceptance {
    /// Reads requirements; `file` is their name in messages.
    ///
    /// # Errors
    /// The line that is no requirement, its mistake and the allowed values.
    pub fn parse(file: &Path, text: &str) -> Result<Acceptance, Error> {
        let place = Place { file, text };
        let found: BTreeMap<Spanned<String>, Spanned<Value>> =
            toml::from_str(text).map_err(|error| place.wrong(error.span(), error.message()))?;
        let (mut title, mut requirements) = (None, Vec::new());
        for (key, value) in found {
            let span = Some(key.span());
            match (key.get_ref().as_str(), value.get_ref()) {
                ("title", Value::String(text)) => title = Some(text.clone()),
                ("require", Value::Array(_)) => requirements = place.requirements()?,
                ("title", _) => return Err(place.wrong(span, "title: must be a text")),
                ("require", _) => return Err(place.wrong(span, "require: must be tables, each after [[require]]")),
                (other, _) => {
                    return Err(place.wrong(span, format!("{other}: unknown (allowed: title, [[require]])")));
                }
            }
        }
        match requirements.is_empty() {
            true => Err(place.wrong(None, "requires nothing: at least one [[require]] is needed")),
            false => {
                Ok(Acceptance { file: file.to_owned(), title, requirements, sha256: hotlink_results::sha256(text) })
            }
        }
    }
}

/// A file and its text, for messages.
struct Place<'a> {
    file: &'a Path,
    text: &'a str,
}

/// The tables of requirements, with their places.
#[derive(Default)]
struct Tables(Vec<Spanned<BTreeMap<Spanned<String>, Spanned<Value>>>>);

impl Place<'_> {
    fn line(&self, at: usize) -> usize {
        self.text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
    }

    fn wrong(&self, span: Option<Range<usize>>, what: impl fmt::Display) -> Error {
        let line = span.map_or_else(String::new, |span| format!("{}:", self.line(span.start)));
        Error::Input(format!("{}:{line} {what}", self.file.display()))
    }

    fn requirements(&self) -> Result<Vec<Requirement>, Error> {
        let tables = Tables::read(self.text).map_err(|error| self.wrong(error.span(), error.message()))?;
        tables.0.iter().enumerate().map(|(index, table)| self.requirement(index, table)).collect()
    }

    fn requirement(
        &self,
        index: usize,
        table: &Spanned<BTreeMap<Spanned<String>, Spanned<Value>>>,
    ) -> Result<Requirement, Error> {
        let line = self.line(table.span().start);
        let mut made =
            Requirement { name: format!("requirement {}", index + 1), chosen: Vec::new(), limits: Vec::new(), line };
        for (key, value) in table.get_ref() {
            let (name, span) = (key.get_ref().as_str(), key.span());
            let wrong = |what: String| self.wrong(Some(span.clone()), format!("{name}: {what}"));
            match (name, value.get_ref()) {
                ("name", Value::String(text)) => made.name.clone_from(text),
                ("name", _) => return Err(wrong("must be a text".to_owned())),
                ("where", Value::Table(fields)) => {
                    for (key, value) in fields {
                        let condition = condition(key, value).map_err(|what| wrong(format!("{key}: {what}")))?;
                        made.chosen.push((key.clone(), condition));
                    }
                }
                ("where", _) => return Err(wrong("must be a table, { KEY = VALUE, ... }".to_owned())),
                (_, Value::Table(ends)) => {
                    made.limits.push((name.to_owned(), limit(name, ends).map_err(wrong)?));
                }
                _ => {
                    kinds(name).map_err(wrong)?;
                    return Err(wrong("must be { at_least = NUMBER, at_most = NUMBER }, one or both".to_owned()));
                }
            }
        }
        match made.limits.is_empty() {
            true => Err(self.wrong(Some(table.span()), "limits no number: such as efficiency = { at_least = 0.9 }")),
            false => Ok(made),
        }
    }
}

impl Tables {
    fn read(text: &str) -> Result<Tables, toml::de::Error> {
        #[derive(serde::Deserialize)]
        struct File {
            require: Vec<Spanned<BTreeMap<Spanned<String>, Spanned<Value>>>>,
        }
        toml::from_str::<File>(text).map(|file| Tables(file.require))
    }
}

/// The kinds of value of a key. Refuses a key that no record has: misspelt, it would choose or limit nothing.
fn kinds(key: &str) -> Result<Vec<Kind>, String> {
    let all = || schema::all().flat_map(schema::Records::keys);
    let found: Vec<Kind> = all().filter(|known| known.is(key)).map(|known| known.kind).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let keys: BTreeSet<&str> = all().map(|known| known.name).collect();
    let near = nearest(key, keys).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    Err(format!("no record has this key{near} (`hotlink schema BENCHMARK` lists those that it has)"))
}

/// Kinds that hold one number.
const NUMBERS: &[Kind] = &[Kind::Count, Kind::Number];

fn condition(key: &str, value: &Value) -> Result<Condition, String> {
    let kinds = kinds(key)?;
    let (condition, fitting) = match value {
        Value::Table(ends) => return limit(key, ends).map(Condition::Range),
        Value::Boolean(flag) => (Condition::Flag(*flag), &[Kind::Flag][..]),
        Value::String(text) if !key.ends_with("_B") => (Condition::Text(text.clone()), &[Kind::Text][..]),
        _ => (Condition::Number(number(key, value)?), NUMBERS),
    };
    let is_part = matches!(condition, Condition::Number(number) if number.fract() != 0.0);
    let fits = |kind: &Kind| *kind == Kind::Any || fitting.contains(kind) && !(is_part && *kind == Kind::Count);
    match kinds.iter().any(fits) {
        true => Ok(condition),
        false => Err(format!("`{value}`: must be {}", possible::allowed(kinds[0]))),
    }
}

fn limit(key: &str, ends: &toml::Table) -> Result<Limit, String> {
    if !kinds(key)?.iter().any(|kind| *kind == Kind::Any || NUMBERS.contains(kind)) {
        return Err("is no number; only numbers have limits".to_owned());
    }
    let mut limit = Limit::default();
    for (end, value) in ends {
        let value = Some(number(key, value)?);
        match end.as_str() {
            "at_least" => limit.at_least = value,
            "at_most" => limit.at_most = value,
            other => return Err(format!("{other}: unknown (allowed: at_least, at_most)")),
        }
    }
    match limit {
        Limit { at_least: None, at_most: None } => Err("must be at_least, at_most or both".to_owned()),
        Limit { at_least: Some(least), at_most: Some(most) } if least > most => {
            Err(format!("nothing is at least {least} and at most {most}"))
        }
        limit => Ok(limit),
    }
}

/// A number that the key may have; of bytes also with a unit, as in `1MiB`.
fn number(key: &str, value: &Value) -> Result<f64, String> {
    let found = match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::String(text) if key.ends_with("_B") => Some(text.parse::<Bytes>()?.0 as f64),
        _ => None,
    };
    let found = found.filter(|number| number.is_finite()).ok_or_else(|| format!("`{value}`: must be a number"))?;
    let is_share = key == "efficiency" || key.ends_with("_share");
    if is_share && !(0.0..=1.0).contains(&found) {
        return Err(format!("`{value}`: must be a share from 0 to 1, where 0.8 is 80 %"));
    }
    // An overlap is a difference: noise takes it below 0.
    let is_quantity = QUANTITIES.iter().any(|(quantity, _)| *quantity == key) && key != "overlap";
    let is_count = kinds(key)?.iter().all(|kind| *kind == Kind::Count);
    if found < 0.0 && (is_quantity || is_count) {
        return Err(format!("`{value}`: must be 0 or more"));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Acceptance, Error> {
        Acceptance::parse(Path::new("a.toml"), text)
    }

    #[test]
    fn a_requirement_chooses_and_limits() {
        let text = "title = 'x'\n[[require]]\nname = 'long'\nwhere = { benchmark = 'pingpong', size_B = { at_least = '1MiB' } }\n\
                    efficiency = { at_least = 0.9 }\n";
        let read = parse(text).unwrap();
        let one = &read.requirements[0];
        assert_eq!((read.title.as_deref(), one.name.as_str(), one.line), (Some("x"), "long", 2));
        let record = |size: u64| Record::new().with("benchmark", "pingpong").with("size_B", size);
        assert!(one.chooses(&record(1 << 20)) && !one.chooses(&record(1 << 19)));
        assert!(!one.chooses(&record(1 << 20).with("benchmark", "bcast")));
        assert_eq!(one.limits, [("efficiency".to_owned(), Limit { at_least: Some(0.9), at_most: None })]);
    }

    #[test]
    fn what_is_no_requirement_is_told_by_its_line() {
        for (text, told) in [
            ("", "a.toml: requires nothing"),
            ("title = 1", "a.toml:1: title: must be a text"),
            ("title = 'x'\nrequired = 1", "a.toml:2: required: unknown"),
            ("[[require]]\nname = 'x'\n", "a.toml:1: limits no number"),
            (
                "[[require]]\neficiency = { at_least = 1 }",
                "a.toml:2: eficiency: no record has this key; did you mean `efficiency`?",
            ),
            ("[[require]]\n\nefficiency = { at_lest = 1 }", "a.toml:3: efficiency: at_lest: unknown"),
            ("[[require]]\nefficiency = 0.9", "a.toml:2: efficiency: must be { at_least"),
            ("[[require]]\nefficiency = { }", "a.toml:2: efficiency: must be at_least"),
            ("[[require]]\nlatency_us = { at_least = 2, at_most = 1 }", "a.toml:2: latency_us: nothing is at least 2"),
            ("[[require]]\nefficiency = { at_least = 80 }", "a.toml:2: efficiency: `80`: must be a share from 0 to 1"),
            ("[[require]]\nlatency_us = { at_most = -2 }", "a.toml:2: latency_us: `-2`: must be 0 or more"),
            ("[[require]]\nfabric = { at_most = 2 }", "a.toml:2: fabric: is no number"),
            ("[[require]]\nwhere = { size_B = -8 }\nefficiency = { at_least = 1 }", "a.toml:2: where: size_B: `-8`: "),
            (
                "[[require]]\nwhere = { benchmark = 7 }\nefficiency = { at_least = 1 }",
                "a.toml:2: where: benchmark: `7`: must be a text",
            ),
            (
                "[[require]]\nwhere = { nodes = 2.5 }\nefficiency = { at_least = 1 }",
                "a.toml:2: where: nodes: `2.5`: must be a whole number",
            ),
            (
                "[[require]]\nwhere = { nodes = '2' }\nefficiency = { at_least = 1 }",
                "a.toml:2: where: nodes: `\"2\"`: must be a whole number",
            ),
            (
                "[[require]]\nwhere = { verified = 'yes' }\nefficiency = { at_least = 1 }",
                "a.toml:2: where: verified: `\"yes\"`: must be true or false",
            ),
            ("[[require]]\nwhere = { size_B = '1MiX' }\nefficiency = { at_least = 1 }", "a.toml:2: where: size_B: "),
            (
                "[[require]]\nwhere = { benchmrk = 'x' }\nefficiency = { at_least = 1 }",
                "a.toml:2: where: benchmrk: no record",
            ),
            ("[[require]\n", "a.toml:1:"),
        ] {
            let said = parse(text).err().unwrap_or_else(|| panic!("{text}")).to_string();
            assert!(said.starts_with(told), "{text}: {said}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}|\\[\\[require\\]\\]\n\\PC{0,40}|\\[\\[require\\]\\]\nwhere = \\{\\PC{0,20}\\}\nefficiency = \\{ at_least = [0-9.]{0,4} \\}") {
            let _ = parse(&text);
        }
    }
}
