//! The schema of results: which keys a record may hold, as JSON Schema. It is made from one table ([`RECORDS`]), and a test
//! holds the records of every benchmark to it.

mod keys;
mod verbs;

pub use keys::{RECORDS, Records};
pub use verbs::VERBS;

use crate::Error;
use hotlink_bench::Record;
use hotlink_fabric::catalog::nearest;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// The version in results of this program. It changes when a key or a word of theirs does.
pub const VERSION: &str = "hotlink/2";

/// Which keys records have beyond their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A benchmark's: those that all benchmarks have.
    Benchmark,
    /// A benchmark's, of several fabrics: a record need not name one.
    Several,
    /// A verb's: none.
    Verb,
    /// Keys of other records: those of benchmarks, and numbers, flags and texts that the row's own meaning names.
    Open,
}

/// Every kind of record: the benchmarks', then the verbs'.
pub fn all() -> impl Iterator<Item = &'static Records> {
    RECORDS.iter().chain(VERBS)
}

/// Whether a key holds a number that need not be whole: a rounded one may look like a count.
pub fn is_number(name: &str) -> bool {
    static NUMBERS: LazyLock<Vec<&Key>> = LazyLock::new(|| {
        let mut numbers: Vec<&Key> = all().flat_map(Records::keys).filter(|key| key.kind == Kind::Number).collect();
        numbers.sort_unstable_by_key(|key| key.name);
        numbers.dedup_by_key(|key| key.name);
        numbers
    });
    NUMBERS.iter().any(|key| key.is(name))
}

/// The value of a key. Any may be null: a number that is not finite, a choice that was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// Yes or no.
    Flag,
    /// A whole number.
    Count,
    /// A number.
    Number,
    /// A list of numbers.
    Numbers,
    /// A list of texts.
    Texts,
    /// Several of these, by the benchmark.
    Any,
}

/// One key of records. A `*` in its name stands for any letters.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// Its kind of value.
    pub kind: Kind,
    /// Its unit; empty for none, 1 for a share.
    pub unit: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
}

impl Key {
    /// Whether it covers this name.
    pub fn is(&self, name: &str) -> bool {
        let has = |(start, end): (&str, &str)| name.strip_prefix(start).is_some_and(|rest| rest.ends_with(end));
        self.name.split_once('*').map_or(self.name == name, has)
    }

    fn schema(&self) -> Value {
        let of = |items: &str| json!({ "type": ["array", "null"], "items": { "type": items } });
        let mut schema = match self.kind {
            Kind::Text => json!({ "type": ["string", "null"] }),
            Kind::Flag => json!({ "type": ["boolean", "null"] }),
            Kind::Count => json!({ "type": ["integer", "null"] }),
            Kind::Number => json!({ "type": ["number", "null"] }),
            Kind::Numbers => json!({ "type": ["array", "null"], "items": { "type": ["number", "null"] } }),
            Kind::Texts => of("string"),
            Kind::Any => json!({}),
        };
        schema["description"] = self.meaning.into();
        if !self.unit.is_empty() {
            schema["unit"] = self.unit.into();
        }
        schema
    }

    fn holds(&self, value: &Value) -> bool {
        let all = |one: fn(&Value) -> bool| value.as_array().is_some_and(|list| list.iter().all(one));
        value.is_null()
            || match self.kind {
                Kind::Text => value.is_string(),
                Kind::Flag => value.is_boolean(),
                Kind::Count => value.as_f64().is_some_and(|number| number.fract() == 0.0),
                Kind::Number => value.is_number(),
                Kind::Numbers => all(|one| one.is_number() || one.is_null()),
                Kind::Texts => all(Value::is_string),
                Kind::Any => true,
            }
    }
}

impl Records {
    /// The keys that its records may hold.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> {
        let common: &[Key] = if self.form == Form::Verb { &[] } else { keys::COMMON };
        let own = || self.own.iter().copied().flatten();
        // Where a row has a key of its own that benchmarks have too, its own meaning holds.
        let common = common.iter().chain(&keys::OF_SWEEPS);
        common.filter(move |key| !own().any(|own| own.name == key.name)).chain(own())
    }

    /// The JSON Schema of a record.
    pub fn schema(&self) -> Value {
        let (mut exact, mut patterns) = (Map::new(), Map::new());
        for key in self.keys() {
            match key.name.split_once('*') {
                Some((start, end)) => patterns.insert(format!("^{start}.*{end}$"), key.schema()),
                None => exact.insert(key.name.to_owned(), key.schema()),
            };
        }
        let mut schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": format!("{VERSION}: a record of {}", self.name),
            "description": self.title,
            "type": "object",
            "properties": exact,
            "additionalProperties": false,
        });
        if self.form == Form::Benchmark {
            schema["required"] = json!(["fabric"]);
        }
        if self.form == Form::Open {
            schema["additionalProperties"] = json!({ "type": ["number", "boolean", "string", "null"] });
        }
        if !patterns.is_empty() {
            schema["patternProperties"] = patterns.into();
        }
        schema
    }

    /// Deviations of a record from the schema.
    pub fn mistakes(&self, record: &Record) -> Vec<String> {
        let wrong = |(name, value): (&str, &Value)| match self.keys().find(|key| key.is(name)) {
            None if self.form == Form::Open && !value.is_array() && !value.is_object() => None,
            None => Some(format!("{}: {name} is no key of its records", self.name)),
            Some(key) => (!key.holds(value)).then(|| format!("{}: {name} is {value}, not {:?}", self.name, key.kind)),
        };
        let is_nameless = self.form == Form::Benchmark && record.get("fabric").is_none();
        let nameless = is_nameless.then(|| format!("{}: names no fabric", self.name));
        record.fields().filter_map(wrong).chain(nameless).collect()
    }
}

/// The records called `name`.
///
/// # Errors
/// There are none; the text names the nearest and lists all.
pub fn named(name: &str) -> Result<&'static Records, Error> {
    let plain = name.strip_prefix("non_blocking_").unwrap_or(name);
    all().find(|records| records.name == plain).ok_or_else(|| {
        if let Some((_, own)) = SEVERAL.iter().find(|(verb, _)| *verb == plain) {
            return Error::Input(format!("schema: {name}: its records have schemas of their own: {own}"));
        }
        let names: Vec<&str> = all().map(|records| records.name).collect();
        let near = nearest(name, names.iter().copied());
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        Error::Input(format!(
            "schema: {name}: no benchmark or verb has this name{near} (allowed: {})",
            names.join(", ")
        ))
    })
}

/// Verbs whose records are of several kinds, with what these are called here.
const SEVERAL: [(&str, &str); 2] = [
    ("fabric", "inspection, failures, groups, reroute, job"),
    ("sweep", "those of the studies that its plan lists, such as analyze or compare"),
];

/// Which records a record is one of: its benchmark's, else those of `compare` or `analyze`.
pub fn of(record: &Record) -> Option<&'static Records> {
    let verb = if record.get("kind").is_some() { "compare" } else { "analyze" };
    let name = record.text("benchmark").or(record.get("nodes").map(|_| verb))?;
    named(name).ok()
}
