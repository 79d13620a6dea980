//! A site's own network: what it is, what its failures cost, where a job would get more, better tables; diagnosis.

use crate::questions::told;
use hotlink_bench::Record;
use hotlink_questions::{Diagnose, Network, read};
use hotlink_study::{Error, Unwatched, Watch};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Reads the files, so that mistakes are told at once; the number of hosts.
#[pyfunction]
pub(crate) fn site_nodes(py: Python<'_>, asked: &str) -> PyResult<u32> {
    let mut nodes = 0;
    told(py, || {
        nodes = read::<Network>(asked)?.open()?.own_site().map_or(0, |site| site.nodes());
        Ok(Vec::new())
    })?;
    Ok(nodes)
}

/// One of the questions about a network.
#[pyfunction]
pub(crate) fn site(py: Python<'_>, what: &str, asked: &str) -> PyResult<String> {
    type Ask = fn(&Network, &dyn Watch) -> Result<Vec<Record>, Error>;
    let ask: Ask = match what {
        "inspect" => Network::inspect,
        "failures" => Network::failures,
        "groups" => Network::groups,
        _ => Network::place,
    };
    told(py, || ask(&read(asked)?, &Unwatched))
}

/// The network as one binary file, which takes the place of its dumps.
#[pyfunction]
pub(crate) fn site_keep(py: Python<'_>, asked: &str, out: PathBuf) -> PyResult<()> {
    told(py, || {
        let question = read::<Network>(asked)?;
        let failed = |error: Error| std::io::Error::other(error.to_string());
        hotlink_results::write_with("out", &out, |file| question.keep(file).map_err(failed))?;
        Ok(Vec::new())
    })?;
    Ok(())
}

/// Better tables, written to a file.
#[pyfunction]
pub(crate) fn site_reroute(py: Python<'_>, asked: &str, out: Option<PathBuf>) -> PyResult<String> {
    told(py, || {
        let question = read::<Network>(asked)?;
        question.reroute(&Unwatched, |tables| match &out {
            Some(file) => hotlink_results::write_with("out", file, |out| tables.write(out)),
            None => Ok(()),
        })
    })
}

/// What holds a site's network back.
#[pyfunction]
pub(crate) fn diagnose(py: Python<'_>, asked: &str) -> PyResult<String> {
    told(py, || read::<Diagnose>(asked)?.records())
}
