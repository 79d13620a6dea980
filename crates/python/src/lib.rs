//! `hotlink._core`: the Rust command line for Python. No logic lives here: arguments in, results out, one error map.

use hotlink_cli::Plotter;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

create_exception!(
    hotlink,
    InputError,
    PyValueError,
    "Bad usage or input; the text names the place and what is allowed."
);

/// Runs the command line `args` (the program's name first) and returns its exit status. `plot` draws the plots of the
/// result file that it is called with.
#[pyfunction]
fn main(py: Python<'_>, args: Vec<OsString>, plot: Py<PyAny>) -> u8 {
    let plotter: Plotter = Box::new(move |file| {
        Python::attach(|py| plot.call1(py, (PathBuf::from(file),)).map(drop).map_err(|error| error.to_string()))
    });
    py.detach(|| hotlink_cli::main(args, Some(plotter)))
}

/// Runs the command line `args` and returns what `--json` prints. Bad input is an `InputError`.
#[pyfunction]
fn json(py: Python<'_>, args: Vec<OsString>) -> PyResult<String> {
    py.detach(|| hotlink_cli::json(args)).map_err(|failure| InputError::new_err(failure.to_string()))
}

/// Runs one cell of a sweep, the words after `hotlink`, and returns the text of its file.
#[pyfunction]
fn cell(py: Python<'_>, args: Vec<String>) -> PyResult<String> {
    py.detach(|| hotlink_cli::run_cell(&args)).map_err(|failure| InputError::new_err(failure.to_string()))
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("InputError", module.py().get_type::<InputError>())?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(json, module)?)?;
    module.add_function(wrap_pyfunction!(cell, module)?)
}
