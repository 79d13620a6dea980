//! Commands of this program whose records a study's rows and figures are read from.

use crate::Failure;
use serde_json::Value;
use std::ffi::OsString;

/// A command and its records.
pub(super) struct Run {
    pub(super) command: &'static str,
    records: Vec<Value>,
}

impl Run {
    /// Runs it.
    pub(super) fn new(command: &'static str) -> Result<Run, Failure> {
        let words = std::iter::once("hotlink").chain(command.split(' ')).map(OsString::from);
        let wrong = |what: String| Failure::Input(format!("{command}: {what}"));
        let text = crate::json(words).map_err(|failure| wrong(failure.to_string()))?;
        let mut document: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        match document["records"].take() {
            Value::Array(records) => Ok(Run { command, records }),
            _ => Err(wrong("gave no records".to_owned())),
        }
    }
    /// Records whose keys have these values, in the command's order.
    pub(super) fn with<'a>(&'a self, wanted: &'a [(&'a str, Value)]) -> impl Iterator<Item = &'a Value> {
        self.records.iter().filter(move |record| wanted.iter().all(|(key, value)| record[*key] == *value))
    }
    /// `key` of the first of them, NaN if there is none.
    pub(super) fn number(&self, wanted: &[(&str, Value)], key: &str) -> f64 {
        self.with(wanted).next().map_or(f64::NAN, |record| number(record, key))
    }
}

/// NaN where it is none.
pub(super) fn number(record: &Value, key: &str) -> f64 {
    record[key].as_f64().unwrap_or(f64::NAN)
}
