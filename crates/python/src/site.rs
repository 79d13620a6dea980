//! A site's own network: its facts, the cost of its failures, better places for a job, better tables; diagnosis.

use crate::questions::{given, told};
use crate::waiting::Heeding;
use hotlink_bench::Record;
use hotlink_questions::{Diagnose, Network, read};
use hotlink_study::{Error, Watch};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Reads the files, so that mistakes are reported at once; the number of hosts.
#[pyfunction]
pub(crate) fn site_nodes(py: Python<'_>, asked: String) -> PyResult<u32> {
    let nodes = move || Ok(read::<Network>(&asked)?.open()?.own_site().map_or(0, |site| site.nodes()));
    given(py, move |_| nodes())
}

/// One of the questions about a network.
#[pyfunction]
pub(crate) fn site(py: Python<'_>, what: String, asked: String) -> PyResult<String> {
    type Ask = fn(&Network, &dyn Watch) -> Result<Vec<Record>, Error>;
    let ask: Ask = match what.as_str() {
        "inspect" => Network::inspect,
        "failures" => Network::failures,
        "groups" => Network::groups,
        _ => Network::place,
    };
    told(py, move |halt| ask(&read(&asked)?, &Heeding(halt)))
}

/// The network as one binary file, which takes the place of its dumps.
#[pyfunction]
pub(crate) fn site_keep(py: Python<'_>, asked: String, out: PathBuf) -> PyResult<()> {
    given(py, move |_| {
        let question = read::<Network>(&asked)?;
        let failed = |error: Error| std::io::Error::other(error.to_string());
        hotlink_results::write_with("out", &out, |file| question.keep(file).map_err(failed))?;
        Ok(())
    })
}

/// Better tables, written to a file.
#[pyfunction]
pub(crate) fn site_reroute(py: Python<'_>, asked: String, out: Option<PathBuf>) -> PyResult<String> {
    told(py, move |halt| {
        let question = read::<Network>(&asked)?;
        question.reroute(&Heeding(halt), |tables| match &out {
            Some(file) => hotlink_results::write_with("out", file, |out| tables.write(out)),
            None => Ok(()),
        })
    })
}

/// The limits of a site's network.
#[pyfunction]
pub(crate) fn diagnose(py: Python<'_>, asked: String) -> PyResult<String> {
    told(py, move |_| read::<Diagnose>(&asked)?.records())
}
