//! The computation of each rank of a program between its calls, written to a file.

use crate::fabric::RECORDED;
use hotlink_real::{Job, JobEnd};
use hotlink_results::{can_write, write_whole};
use hotlink_study::Error;
use std::path::{Path, PathBuf};

/// A rank's part of the record while the program runs.
fn part(out: &Path, rank: Option<u32>) -> PathBuf {
    let mut path = out.as_os_str().to_owned();
    path.push(format!(".{}", std::process::id()));
    if let Some(rank) = rank {
        path.push(format!(".{rank}"));
    }
    path.into()
}

/// Runs the job over shared memory and writes the computation of its ranks to `out`. Nothing is written if a rank
/// failed: the job's end names it.
///
/// # Errors
/// The file cannot be written, or the program did not end as an MPI program does.
pub fn record(mut job: Job, out: &Path) -> Result<JobEnd, Error> {
    let of = |path: &Path, error: std::io::Error| Error::Input(format!("{}: {error}", path.display()));
    can_write("--out", out)?;
    let whole = std::path::absolute(out).map_err(|error| of(out, error))?;
    job.variables.push(("HOTLINK_RECORD".to_owned(), part(&whole, None).into()));
    let ranks = job.ranks;
    let end = job.run().map_err(|error| Error::Input(error.to_string()))?;
    let mut text = format!("{RECORDED} {ranks}\n");
    let mut missing = None;
    for rank in 0..ranks {
        let file = part(&whole, Some(rank));
        match std::fs::read_to_string(&file) {
            Ok(times) => text += &(times.split_whitespace().collect::<Vec<_>>().join(" ") + "\n"),
            Err(error) => missing = missing.or(Some((rank, error))),
        }
        // A rank that failed has left no file.
        let _ = std::fs::remove_file(&file);
    }
    if end.failed.is_some() {
        return Ok(end);
    }
    match missing {
        Some((rank, error)) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::Check(format!("rank {rank} never called MPI_Finalize: there is nothing to record")));
        }
        Some((rank, error)) => return Err(of(&part(&whole, Some(rank)), error)),
        None => {}
    }
    write_whole("--out", &whole, &text)?;
    Ok(end)
}
