//! Questions as Python puts them: arguments as JSON in, records out as JSON. No command line is between.

use crate::InputError;
use crate::waiting::{Heeding, answerable};
use hotlink_bench::Record;
use hotlink_questions::{Analyze, Compare, Design, Jobs, Region, Schedule, Simulation, read};
use hotlink_results::timeline::{self, Recorder};
use hotlink_study::{Error, Halt};
use pyo3::prelude::*;
use std::path::PathBuf;

/// A text of the library, which names choices as the command's options, with Python's names: `--skew-us 5` is
/// `skew_us=5`. Command lines between backticks stay.
pub(crate) fn in_python(text: &str) -> String {
    let converted = |text: &str| {
        let (mut told, mut rest) = (String::new(), text);
        while let Some(at) = rest.find("--") {
            let (before, option) = (&rest[..at], &rest[at + 2..]);
            let end = option.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(option.len());
            let (name, after) = option.split_at(end);
            told += before;
            // A mark within a word, or one that goes on as a word, is part of a file's name.
            let begins = before.is_empty() && told.is_empty() || told.ends_with([' ', '(']);
            let goes_on = |c: char| c.is_alphanumeric() || "_/\\".contains(c);
            let ends =
                !after.starts_with(goes_on) && !after.strip_prefix('.').is_some_and(|dot| dot.starts_with(goes_on));
            if !(begins && ends && name.starts_with(|c: char| c.is_ascii_lowercase())) {
                told = told + "--" + name;
                rest = after;
                continue;
            }
            told += &if name == "class" { "class_".to_owned() } else { name.replace('-', "_") };
            rest = after;
            if let Some(value) = after.strip_prefix(' ').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
                told.push('=');
                rest = value;
            }
        }
        told + rest
    };
    let between = |(index, part): (usize, &str)| if index % 2 == 0 { converted(part) } else { part.to_owned() };
    text.split('`').enumerate().map(between).collect::<Vec<_>>().join("`")
}

/// The records as a JSON list, or an `InputError`.
pub(crate) fn told(
    py: Python<'_>,
    work: impl FnOnce(&Halt) -> Result<Vec<Record>, Error> + Send + 'static,
) -> PyResult<String> {
    given(py, |halt| work(halt).map(|records| records_as_json(&records)))
}

/// The result of `work`, or an `InputError`.
pub(crate) fn given<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Halt) -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    answerable(py, work)?.map_err(|error| InputError::new_err(in_python(&error.to_string())))
}

pub(crate) fn records_as_json(records: &[Record]) -> String {
    let texts: Vec<String> = records.iter().map(hotlink_paper::line).collect();
    format!("[{}]", texts.join(","))
}

/// Every engine of a method that answers, for each number of nodes.
#[pyfunction]
pub(crate) fn analyze(py: Python<'_>, asked: String) -> PyResult<String> {
    told(py, move |halt| {
        let halt = halt.clone();
        Ok(read::<Analyze>(&asked)?.answered(&move |_, _| halt.look())?.records)
    })
}

/// Several fabrics at each size, and where the lead changes.
#[pyfunction]
pub(crate) fn compare(py: Python<'_>, asked: String, out: Option<PathBuf>, call: String) -> PyResult<String> {
    told(py, move |halt| {
        let halt = halt.clone();
        let judged = read::<Compare>(&asked)?.judged(&move |_, _| halt.look())?;
        if let Some(folder) = &out {
            hotlink_paper::comparison::write_alone(&judged, folder, &call)?;
        }
        Ok(judged.records())
    })
}

/// Benchmarks on simulated machines.
#[pyfunction]
pub(crate) fn simulate(py: Python<'_>, asked: String, trace: Option<PathBuf>) -> PyResult<String> {
    told(py, move |halt| {
        let heeding = Heeding(halt);
        let timelines = Recorder::new(&heeding);
        let records = read::<Simulation>(&asked)?.records(&timelines)?;
        if let Some(path) = &trace {
            hotlink_results::write_whole("trace", path, &timeline::chrome(&timelines.runs()))?;
        }
        Ok(records)
    })
}

/// A schedule of any form on a fabric's packet network.
#[pyfunction]
pub(crate) fn simulate_schedule(py: Python<'_>, asked: String) -> PyResult<String> {
    told(py, move |halt| read::<Schedule>(&asked)?.records(&Heeding(halt)))
}

/// Several jobs on a fabric's packet network at once.
#[pyfunction]
pub(crate) fn simulate_jobs(py: Python<'_>, asked: String) -> PyResult<String> {
    told(py, move |halt| read::<Jobs>(&asked)?.records(&hotlink_cli::programs(), &Heeding(halt)))
}

/// Memory that another node reaches.
#[pyfunction]
pub(crate) fn simulate_region(py: Python<'_>, asked: String) -> PyResult<String> {
    told(py, move |halt| read::<Region>(&asked)?.records(&Heeding(halt)))
}

/// Variants for a number of hosts, and the front that no other beats.
#[pyfunction]
pub(crate) fn design(py: Python<'_>, asked: String, out: Option<PathBuf>, call: String) -> PyResult<String> {
    told(py, move |halt| {
        let found = hotlink_design::design(&read::<Design>(&asked)?.request()?, &Heeding(halt))?;
        if let Some(folder) = &out {
            hotlink_paper::design::write_alone(&found, folder, &call)?;
        }
        Ok(found.records)
    })
}
