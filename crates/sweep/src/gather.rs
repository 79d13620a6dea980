//! Records of a plan's cells, in its order.

use crate::plan::Cell;
use hotlink_bench::Record;
use hotlink_study::Error;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The result of a cell: its document, or its error.
pub type Outcome = Result<Value, String>;

/// The results of a plan's cells.
pub struct Gathered {
    /// All records, in the plan's order. A cell without a result is a record with `error`.
    pub records: Vec<Record>,
    /// Which cells failed, if any did.
    pub check: Result<(), Error>,
}

impl Gathered {
    /// The records of cells by their names.
    pub fn new(named: &[(String, Cell)], outcomes: &BTreeMap<String, Outcome>) -> Gathered {
        let (mut records, mut wrong) = (Vec::new(), Vec::new());
        for (key, cell) in named {
            let unfinished = Err("is not finished".to_owned());
            let outcome = outcomes.get(key).unwrap_or(&unfinished);
            let what = match outcome {
                Ok(document) => document["check"].as_str(),
                Err(what) => Some(what.as_str()),
            };
            wrong.extend(what.map(|what| format!("{}: {}: {what}", cell.place, command_line(cell))));
            records.extend(of_cell(key, cell, outcome));
        }
        let failed = |first: &String| {
            Err(Error::Check(format!("{} of {} cells failed; the first: {first}", wrong.len(), named.len())))
        };
        let check = wrong.first().map_or(Ok(()), failed);
        Gathered { records, check }
    }
}

/// A cell's command line, as a shell takes it.
pub fn command_line(cell: &Cell) -> String {
    format!("hotlink {}", hotlink_results::as_typed(&cell.arguments))
}

/// The records of one cell; without a result one with `error`.
pub(crate) fn of_cell(key: &str, cell: &Cell, outcome: &Outcome) -> Vec<Record> {
    match outcome {
        Ok(document) => {
            document["records"].as_array().into_iter().flatten().map(|record| of_study(cell, record)).collect()
        }
        Err(what) => {
            let failed = of_study(cell, &Value::Null).with("cell", key);
            vec![failed.with("command", command_line(cell)).with("error", what.as_str())]
        }
    }
}

/// A record for each cell, which says whether it is finished.
pub fn listed(named: &[(String, Cell)], outcomes: &BTreeMap<String, Outcome>) -> Vec<Record> {
    let record = |(key, cell): &(String, Cell)| {
        Record::new()
            .with("study", cell.study.as_str())
            .with("cell", key.as_str())
            .with("arguments", cell.arguments.clone())
            .with("measured", cell.is_measured())
            .with("finished", outcomes.contains_key(key))
    };
    named.iter().map(record).collect()
}

/// A cell's record under the study's name, with those swept options that it does not hold itself.
fn of_study(cell: &Cell, record: &Value) -> Record {
    let empty = Map::new();
    let fields = record.as_object().unwrap_or(&empty);
    let mut own = Record::new();
    if !cell.study.is_empty() {
        own.set("study", cell.study.as_str());
    }
    for (option, value) in &cell.swept {
        let key = option.replace('-', "_");
        let told = |field: &String| *field == key || field.strip_prefix(&key).is_some_and(|rest| rest.starts_with('_'));
        if !fields.keys().any(told) {
            own.set(&key, value.as_str());
        }
    }
    own.followed_by(Record::from(fields.clone()))
}
