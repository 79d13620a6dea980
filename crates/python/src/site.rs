//! A site's own network: what it is, what its failures cost, where a job would get more, better tables.

use crate::questions::told;
use hotlink_diagnose::inspection::{self, JobQuestion, Question};
use hotlink_study::{Error, Source, Unwatched};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Draws, their seed, and the gap of the cables' bound.
fn question(samples: u64, seed: u64, gap: f64) -> Result<Question, Error> {
    if !(1..=100_000).contains(&samples) {
        return Err(Error::Input(format!("samples: {samples}: must be from 1 to 100000")));
    }
    match gap > 0.0 && gap < 1.0 {
        true => Ok(Question { samples, seed, gap }),
        false => Err(Error::Input(format!("gap: {gap}: must be between 0 and 1"))),
    }
}

/// Reads the files, so that mistakes are told at once; the number of hosts.
#[pyfunction]
pub(crate) fn site_nodes(py: Python<'_>, fabric: String) -> PyResult<u32> {
    let mut nodes = 0;
    told(py, || {
        let source = Source::open(&fabric)?;
        let site = source.own_site();
        nodes =
            site.map(|site| site.nodes()).ok_or_else(|| Error::Input(format!("{fabric}: is no dump of a network")))?;
        Ok(Vec::new())
    })?;
    Ok(nodes)
}

/// The inspection.
#[pyfunction]
pub(crate) fn site_inspect(py: Python<'_>, fabric: String, samples: u64, seed: u64, gap: f64) -> PyResult<String> {
    told(py, || Ok(vec![inspection::inspect(&Source::open(&fabric)?, question(samples, seed, gap)?, &Unwatched)?]))
}

/// Every failure.
#[pyfunction]
pub(crate) fn site_failures(py: Python<'_>, fabric: String) -> PyResult<String> {
    told(py, || inspection::failures(&Source::open(&fabric)?, &Unwatched))
}

/// What groups of hosts reach.
#[pyfunction]
pub(crate) fn site_groups(py: Python<'_>, fabric: String) -> PyResult<String> {
    told(py, || inspection::groups(&Source::open(&fabric)?, &Unwatched))
}

/// A job on some hosts.
#[pyfunction]
pub(crate) fn site_place(
    py: Python<'_>,
    fabric: String,
    hosts: String,
    samples: u64,
    seed: u64,
    gap: f64,
) -> PyResult<String> {
    told(py, || {
        let asked = JobQuestion { hosts: inspection::hosts(&hosts)?, draws: question(samples, seed, gap)? };
        inspection::job(&Source::open(&fabric)?, &asked, &Unwatched)
    })
}

/// Better tables, written to a file.
#[pyfunction]
pub(crate) fn site_reroute(
    py: Python<'_>,
    fabric: String,
    out: Option<PathBuf>,
    samples: u64,
    seed: u64,
    gap: f64,
) -> PyResult<String> {
    told(py, || {
        let source = Source::open(&fabric)?;
        let (records, tables) = inspection::reroute(&source, question(samples, seed, gap)?, &Unwatched)?;
        if let Some(file) = out {
            hotlink_results::write_with("out", &file, |out| tables.write(out))?;
        }
        Ok(records)
    })
}
