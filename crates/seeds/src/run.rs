//! Commands of hotlink whose records a study's rows and figures are read from.

use hotlink_study::Error;
use serde_json::Value;

/// A face that runs hotlink's command lines.
pub trait Commands {
    /// The records of `command`, which names its verb first.
    ///
    /// # Errors
    /// The command's own, with the command.
    fn records(&self, command: &str) -> Result<Vec<Value>, Error>;
}

/// A command and its records.
pub(super) struct Run {
    pub(super) command: &'static str,
    records: Vec<Value>,
}

impl Run {
    /// Runs it.
    pub(super) fn new(command: &'static str, commands: &dyn Commands) -> Result<Run, Error> {
        Ok(Run { command, records: commands.records(command)? })
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
