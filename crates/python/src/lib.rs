//! `hotlink._core`: questions to the engines, the Rust command line and the message passing for Python. No logic lives here: arguments in, results
//! out, one error map.
//!
//! A call on arrays goes from `comm` (arguments), by `array` and `lent` (memory), to `carrier` (waiting) and `desk` (what
//! `hotlink_message` does).

mod array;
mod carrier;
mod comm;
mod desk;
mod job;
mod lent;
mod measuring;
mod questions;
mod request;
mod site;
mod verbs;
mod waiting;

use hotlink_paper::Plotter;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

create_exception!(
    hotlink,
    InputError,
    PyValueError,
    "Bad usage or input; the text names the place and what is allowed."
);

create_exception!(hotlink, CommError, PyRuntimeError, "A communication failed.");
create_exception!(hotlink, PeerGoneError, CommError, "The rank that was needed has died: ``rank`` tells which.");
create_exception!(hotlink, TruncatedError, CommError, "A message was longer than the array; its beginning came.");

/// Runs the command line `args` (the program's name first) and returns its exit status. `plot` draws the plots of the
/// result file that it is called with.
#[pyfunction]
fn main(py: Python<'_>, args: Vec<OsString>, plot: Py<PyAny>) -> u8 {
    py.detach(|| hotlink_cli::main(args, Some(plotter(plot))))
}

fn plotter(plot: Py<PyAny>) -> Plotter {
    Box::new(move |file| {
        Python::attach(|py| plot.call1(py, (PathBuf::from(file),)).map(drop).map_err(|error| error.to_string()))
    })
}

/// Runs the command line `args` and returns what `--json` prints; `plot` as of `main`. Bad input is an `InputError`.
#[pyfunction]
fn json(py: Python<'_>, args: Vec<OsString>, plot: Py<PyAny>) -> PyResult<String> {
    let told = waiting::answerable(py, |_| hotlink_cli::json_drawn(args, Some(plotter(plot))))?;
    told.map_err(|failure| InputError::new_err(failure.to_string()))
}

/// Runs one cell of a sweep, the words after `hotlink`, and returns the text of its file.
#[pyfunction]
fn cell(py: Python<'_>, args: Vec<String>) -> PyResult<String> {
    let told = waiting::answerable(py, move |_| hotlink_cli::run_cell(&args))?;
    told.map_err(|failure| InputError::new_err(failure.to_string()))
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("InputError", module.py().get_type::<InputError>())?;
    module.add("CommError", module.py().get_type::<CommError>())?;
    module.add("PeerGoneError", module.py().get_type::<PeerGoneError>())?;
    module.add("TruncatedError", module.py().get_type::<TruncatedError>())?;
    module.add("ANY_SOURCE", comm::ANY)?;
    module.add("ANY_TAG", comm::ANY)?;
    module.add("TOLD", hotlink_results::compare_runs::TOLD)?;
    module.add_class::<comm::Comm>()?;
    module.add_class::<request::Request>()?;
    module.add_class::<request::Status>()?;
    module.add_class::<job::Job>()?;
    module.add_function(wrap_pyfunction!(request::wait_all, module)?)?;
    module.add_function(wrap_pyfunction!(request::wait_any, module)?)?;
    module.add_function(wrap_pyfunction!(job::launched, module)?)?;
    module.add_function(wrap_pyfunction!(job::use_copy, module)?)?;
    module.add_function(wrap_pyfunction!(job::run_launched, module)?)?;
    module.add_function(wrap_pyfunction!(questions::analyze, module)?)?;
    module.add_function(wrap_pyfunction!(questions::compare, module)?)?;
    module.add_function(wrap_pyfunction!(questions::design, module)?)?;
    module.add_function(wrap_pyfunction!(questions::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(questions::simulate_schedule, module)?)?;
    module.add_function(wrap_pyfunction!(questions::simulate_jobs, module)?)?;
    module.add_function(wrap_pyfunction!(questions::simulate_region, module)?)?;
    module.add_function(wrap_pyfunction!(measuring::measure, module)?)?;
    module.add_function(wrap_pyfunction!(site::site_nodes, module)?)?;
    module.add_function(wrap_pyfunction!(site::site, module)?)?;
    module.add_function(wrap_pyfunction!(site::site_reroute, module)?)?;
    module.add_function(wrap_pyfunction!(site::site_keep, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::calibrate, module)?)?;
    module.add_function(wrap_pyfunction!(site::diagnose, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::report, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::import_results, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::of_today, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::records_of, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::reproduce, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::compare_runs, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::compare_commands, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::sweep, module)?)?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(json, module)?)?;
    module.add_function(wrap_pyfunction!(cell, module)?)
}
