//! Verbs that work with processes and files of this machine, by values.

use crate::InputError;
use crate::questions::{records_as_json, told};
use hotlink_cli::{Cells, Runs, Sides, Studies};
use hotlink_questions::values::word;
use hotlink_report::Asked;
use hotlink_results::calibrate::Calibration;
use hotlink_results::import::{Files, Program};
use hotlink_seeds::Study;
use pyo3::prelude::*;
use std::path::PathBuf;

/// A fabric of measured results.
#[pyfunction]
pub(crate) fn calibrate(
    py: Python<'_>,
    files: Vec<PathBuf>,
    name: String,
    model: String,
    check: Vec<PathBuf>,
    force: bool,
    out: Option<PathBuf>,
) -> PyResult<String> {
    told(py, move |_| {
        let model = word("model", &model)?;
        hotlink_cli::calibrate(&Calibration { files, name, model, check, force, out, is_anonymous: false })
    })
}

/// Results of another measurement program.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn import_results(
    py: Python<'_>,
    program: String,
    files: Vec<PathBuf>,
    fabric: Option<String>,
    nodes: Option<u32>,
    benchmark: Option<String>,
    ranks: Option<u32>,
    gbits: bool,
    algorithm: Option<String>,
    protocol: Option<String>,
    capacities: String,
) -> PyResult<String> {
    told(py, move |_| {
        let program = Program::named(&program)?;
        let capacities = word("capacities", &capacities)?;
        let flags = if gbits { vec!["report-gbits"] } else { Vec::new() };
        let asked = Files { program, flags, files, fabric, nodes, benchmark, ranks, algorithm, protocol, capacities };
        let mut records = Vec::new();
        asked.each(&mut |record, impossible| {
            impossible.inspect(|what| hotlink_paper::tell!("hotlink: impossible: {what}"));
            records.push(record);
        })?;
        Ok(records)
    })
}

/// The page of results, and the verdict on them.
#[pyfunction]
pub(crate) fn report(
    py: Python<'_>,
    results: Vec<PathBuf>,
    out: PathBuf,
    require: Option<PathBuf>,
    junit: Option<PathBuf>,
    title: Option<String>,
) -> PyResult<String> {
    told(py, move |_| {
        let report = Asked { results, out, require, junit, title, anonymous: false }.write()?;
        Ok(report.records())
    })
}

/// A result document of any version as this one writes it.
#[pyfunction]
pub(crate) fn of_today(text: &str) -> PyResult<String> {
    let converted = serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"));
    let converted = converted.and_then(hotlink_results::of_today);
    converted.map(|document| document.to_string()).map_err(|what| InputError::new_err(format!("not a result: {what}")))
}

/// The records of a result file's text, in whatever form its name says that it is.
#[pyfunction]
pub(crate) fn records_of(file: PathBuf, text: &str) -> PyResult<String> {
    let read = hotlink_results::parse(&file, text).map_err(|error| InputError::new_err(error.to_string()))?;
    Ok(records_as_json(&read.records))
}

/// The rows of studies, or their score.
#[pyfunction]
pub(crate) fn reproduce(
    py: Python<'_>,
    studies: Vec<String>,
    score: bool,
    figures: Option<PathBuf>,
    measure: bool,
) -> PyResult<String> {
    told(py, move |_| {
        let studies = studies.iter().map(|name| word("studies", name)).collect::<Result<Vec<Study>, _>>()?;
        let measure = measure.then_some((Studies::SECONDS, None));
        hotlink_cli::reproduce(&Studies { studies, score, figures, measure, ..Studies::default() })
    })
}

/// Results before and after, of files.
#[pyfunction]
pub(crate) fn compare_runs(
    py: Python<'_>,
    files: (PathBuf, PathBuf),
    floor: String,
    ignore: Vec<String>,
    allow_missing: bool,
    junit: Option<PathBuf>,
) -> PyResult<String> {
    compared(py, Sides::Files(files.0, files.1), floor, ignore, allow_missing, junit)
}

/// The same of two commands, which run in turn.
#[pyfunction]
pub(crate) fn compare_commands(
    py: Python<'_>,
    commands: (String, String),
    pairs: u32,
    floor: String,
    ignore: Vec<String>,
    allow_missing: bool,
    junit: Option<PathBuf>,
) -> PyResult<String> {
    compared(py, Sides::Commands(commands.0, commands.1, pairs), floor, ignore, allow_missing, junit)
}

fn compared(
    py: Python<'_>,
    sides: Sides,
    floor: String,
    ignore: Vec<String>,
    allow_missing: bool,
    junit: Option<PathBuf>,
) -> PyResult<String> {
    told(py, move |_| {
        let floor = word("floor", &floor)?;
        hotlink_cli::compare_runs(&Runs { sides, floor, ignore, allow_missing, junit })
    })
}

/// The cells of a plan: run, listed, or those that are finished gathered.
#[pyfunction]
pub(crate) fn sweep(py: Python<'_>, plan: PathBuf, out: Option<PathBuf>, cells: &str) -> PyResult<String> {
    let cells = match cells {
        "list" => Cells::List,
        "gather" => Cells::Gather,
        _ => Cells::Run,
    };
    told(py, move |_| hotlink_cli::sweep(&plan, out.as_deref(), cells))
}
