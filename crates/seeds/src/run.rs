//! Questions whose records a study's rows and figures are read from.

use crate::evidence::Evidence;
use hotlink_bench::Record;
use hotlink_study::simulate::request::Request;
use hotlink_study::{Error, Unwatched};
use serde_json::Value;
use std::borrow::Cow;

/// A face that measures on this machine.
pub trait Measure {
    /// The records of `command`, a command line of hotlink that starts with `measure`.
    ///
    /// # Errors
    /// The command's own, with the command.
    fn records(&self, command: &str) -> Result<Vec<Record>, Error>;
}

/// A question, and the words by which rows name it: the command line that asks the same.
#[derive(Clone, Debug)]
pub struct Question {
    /// The command, its verb first.
    pub command: Cow<'static, str>,
    /// What it asks.
    pub request: Request,
}

/// A command and its records.
pub(super) struct Run {
    pub(super) command: Cow<'static, str>,
    records: Vec<Value>,
    evidence: Evidence,
}

impl Run {
    /// Simulates.
    pub(super) fn new(question: &Question) -> Result<Run, Error> {
        let Question { command, request } = question;
        let wrong = |error: Error| Error::Input(format!("{command}: {error}"));
        Ok(Run::of(command.clone(), request.run(&Unwatched).map_err(wrong)?))
    }
    fn of(command: Cow<'static, str>, records: Vec<Record>) -> Run {
        let records: Vec<Value> = records.into_iter().map(Value::from).collect();
        Run { command, evidence: Evidence::of_records(&records), records }
    }
    /// Measures on this machine.
    pub(super) fn measured(command: &'static str, measure: &dyn Measure) -> Result<Run, Error> {
        Ok(Run::of(command.into(), measure.records(command)?))
    }
    /// What its records rest on.
    pub(super) fn evidence(&self) -> Evidence {
        self.evidence.clone()
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
