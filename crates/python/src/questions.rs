//! Questions as Python puts them: arguments as JSON in, records out as JSON. No command line stands between.

use crate::InputError;
use hotlink_bench::Record;
use hotlink_questions::{Analyze, Compare, Design, Jobs, Region, Schedule, Simulation, read};
use hotlink_results::timeline::{self, Recorder};
use hotlink_study::{Error, Unwatched};
use pyo3::prelude::*;
use std::path::PathBuf;

/// A text of the library, which names choices as the command's options, with Python's names: `--skew-us 5` is
/// `skew_us=5`. Command lines between backticks stay.
pub(crate) fn in_python(text: &str) -> String {
    let converted = |text: &str| {
        let mut parts = text.split("--");
        let mut told = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(part.len());
            let (name, rest) = part.split_at(end);
            told += &if name == "class" { "class_".to_owned() } else { name.replace('-', "_") };
            match rest.strip_prefix(' ').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
                Some(value) => told = format!("{told}={value}"),
                None => told += rest,
            }
        }
        told
    };
    let between = |(index, part): (usize, &str)| if index % 2 == 0 { converted(part) } else { part.to_owned() };
    text.split('`').enumerate().map(between).collect::<Vec<_>>().join("`")
}

/// The records as a JSON list, or an `InputError`.
pub(crate) fn told(py: Python<'_>, work: impl FnOnce() -> Result<Vec<Record>, Error> + Send) -> PyResult<String> {
    let records = py.detach(|| hotlink_cli::on_threads_of_this_process(work));
    let records = records.map_err(|error| InputError::new_err(in_python(&error.to_string())))?;
    Ok(records_as_json(&records))
}

pub(crate) fn records_as_json(records: &[Record]) -> String {
    let texts: Vec<String> = records.iter().map(hotlink_paper::line).collect();
    format!("[{}]", texts.join(","))
}

/// Every engine of a method that answers, for each number of nodes.
#[pyfunction]
pub(crate) fn analyze(py: Python<'_>, asked: &str) -> PyResult<String> {
    told(py, || Ok(read::<Analyze>(asked)?.answered(&|_, _| ())?.records))
}

/// Several fabrics at each size, and where the lead changes.
#[pyfunction]
pub(crate) fn compare(py: Python<'_>, asked: &str, out: Option<PathBuf>) -> PyResult<String> {
    told(py, || {
        let judged = read::<Compare>(asked)?.judged(&|_, _| ())?;
        if let Some(folder) = &out {
            hotlink_paper::comparison::write_alone(&judged, folder)?;
        }
        Ok(judged.records())
    })
}

/// Benchmarks on simulated machines.
#[pyfunction]
pub(crate) fn simulate(py: Python<'_>, asked: &str, trace: Option<PathBuf>) -> PyResult<String> {
    told(py, || {
        let timelines = Recorder::new(&Unwatched);
        let records = read::<Simulation>(asked)?.records(&timelines)?;
        if let Some(path) = &trace {
            hotlink_results::write_whole("trace", path, &timeline::chrome(&timelines.runs()))?;
        }
        Ok(records)
    })
}

/// A schedule of any form on a fabric's packet network.
#[pyfunction]
pub(crate) fn simulate_schedule(py: Python<'_>, asked: &str) -> PyResult<String> {
    told(py, || read::<Schedule>(asked)?.records(&Unwatched))
}

/// Several jobs on a fabric's packet network at once.
#[pyfunction]
pub(crate) fn simulate_jobs(py: Python<'_>, asked: &str) -> PyResult<String> {
    told(py, || read::<Jobs>(asked)?.records(&hotlink_cli::programs(), &Unwatched))
}

/// Memory that another node reaches.
#[pyfunction]
pub(crate) fn simulate_region(py: Python<'_>, asked: &str) -> PyResult<String> {
    told(py, || read::<Region>(asked)?.records(&Unwatched))
}

/// Variants for so many hosts, and those that nothing beats.
#[pyfunction]
pub(crate) fn design(py: Python<'_>, asked: &str, out: Option<PathBuf>) -> PyResult<String> {
    told(py, || {
        let found = hotlink_design::design(&read::<Design>(asked)?.request()?, &Unwatched)?;
        if let Some(folder) = &out {
            hotlink_paper::design::write_alone(&found, folder)?;
        }
        Ok(found.records)
    })
}
