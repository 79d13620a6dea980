//! The program's computation between its calls. On a simulated fabric it takes as long as here times a factor, or as
//! long as an earlier record says. Natively it is recorded for that.

use crate::failure::{Done, failure};
use crate::process::Process;
use crate::process::handler::tell;
use hotlink_message::Comm;
use hotlink_real::Seat;
use hotlink_standard::constants as c;
use std::cell::{Cell, RefCell};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// `factor:1.5`, or `record:FILE` of all ranks' times.
const COMPUTE: &str = "HOTLINK_COMPUTE";
/// The file of this rank's times, its number added.
const RECORD: &str = "HOTLINK_RECORD";

static ON: AtomicBool = AtomicBool::new(false);

/// From now on calls are watched: where the simulation, or a check, wants to know which function the program is in.
pub(crate) fn watch() {
    ON.store(true, Ordering::Relaxed);
}

/// Whether any of this is asked for.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Where times come from, or go to.
enum Source {
    Factor(f64),
    /// Nanoseconds before each call, and how many calls were made.
    Replay(Vec<u64>, usize),
    Record(PathBuf, Vec<u64>),
}

/// See the module.
pub(crate) struct Effort {
    source: RefCell<Source>,
    /// When the last call ended, on this thread's clock in nanoseconds.
    since: Cell<u64>,
    /// Computed since the last call that counts.
    spent: Cell<u64>,
    /// Calls within calls, of callbacks.
    depth: Cell<u32>,
}

/// Calls that programs repeat until they succeed, so that their number has no meaning. The computation between them
/// counts for the next other call.
fn is_repeated(name: &str) -> bool {
    let words = ["MPI_Test", "MPI_Iprobe", "MPI_Improbe", "MPI_Request_get_status"];
    words.iter().any(|word| name.starts_with(word))
}

impl Effort {
    /// The request of the environment.
    pub(crate) fn asked(rank: u32) -> Done<Option<Effort>> {
        let (word, record) = (std::env::var_os(COMPUTE), std::env::var_os(RECORD));
        let wrong = |what: String| failure(c::MPI_ERR_OTHER, what);
        // Names of files need not be UTF-8.
        let of = |start: &[u8]| word.as_ref()?.as_bytes().strip_prefix(start).map(OsStr::from_bytes);
        let factor = of(b"factor:").and_then(|text| text.to_str()?.parse().ok());
        let source = match (factor, of(b"record:").map(Path::new), &word, record) {
            (Some(factor), ..) if (0.0..f64::INFINITY).contains(&factor) => Source::Factor(factor),
            (None, Some(path), ..) => {
                let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
                let times = text.and_then(|text| recorded(&text, rank).ok_or(format!("no times of rank {rank}")));
                Source::Replay(times.map_err(|what| wrong(format!("{}: {what}", path.display())))?, 0)
            }
            (_, _, Some(word), _) => Err(wrong(format!("{COMPUTE}={word:?} (allowed: factor:NUMBER, record:FILE)")))?,
            (.., Some(mut path)) => {
                path.push(format!(".{rank}"));
                Source::Record(path.into(), Vec::new())
            }
            _ => return Ok(None),
        };
        ON.store(true, Ordering::Relaxed);
        let since = Cell::new(crate::seat::computed());
        Ok(Some(Effort { source: RefCell::new(source), since, spent: Cell::new(0), depth: Cell::new(1) }))
    }
    fn enter(&self, name: &str, comm: &Comm<Seat>) {
        if self.depth.replace(self.depth.get() + 1) > 0 {
            return;
        }
        self.spent.set(self.spent.get() + crate::seat::computed().saturating_sub(self.since.get()));
        if is_repeated(name) {
            return;
        }
        let spent = self.spent.take();
        let due = match &mut *self.source.borrow_mut() {
            Source::Factor(factor) => (spent as f64 * *factor * 1e3) as u64,
            Source::Replay(times, next) => {
                *next += 1;
                times.get(*next - 1).copied().unwrap_or(0) * 1000
            }
            Source::Record(_, times) => return times.push(spent),
        };
        comm.with_port(|port| port.computes(due));
    }
    fn leave(&self) {
        let depth = self.depth.get().saturating_sub(1);
        self.depth.set(depth);
        if depth == 0 {
            self.since.set(crate::seat::computed());
        }
    }
    /// The program has left the library.
    pub(crate) fn end(&self, rank: u32) -> Done {
        match &*self.source.borrow() {
            Source::Record(path, times) => {
                let text: String = times.iter().map(|ns| format!("{ns}\n")).collect();
                let told = |error| failure(c::MPI_ERR_OTHER, format!("{}: {error}", path.display()));
                std::fs::write(path, text).map_err(told)
            }
            Source::Replay(times, made) if *made != times.len() => {
                tell(&format!("hotlink: rank {rank}: {made} calls where {} were recorded\n", times.len()));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// The times of a rank in a record: a line a rank, numbers in order, after a line that says what it is.
fn recorded(text: &str, rank: u32) -> Option<Vec<u64>> {
    let line = text.lines().nth(rank as usize + 1)?;
    line.split_whitespace().map(|word| word.parse().ok()).collect()
}

impl Process {
    /// A call begins: the computation before it is over.
    #[cold]
    pub(crate) fn computed_until(&self, name: &'static str) {
        if let Ok(world) = self.world()
            && let Some(effort) = &world.effort
        {
            effort.enter(name, &world.comm);
        }
    }
    /// A call ends.
    #[cold]
    pub(crate) fn computes(&self) {
        if let Ok(world) = self.world() {
            world.called();
            world.effort.iter().for_each(Effort::leave);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_reads_its_line() {
        let text = "hotlink-compute/1 2\n1 2 3\n\n";
        assert_eq!(recorded(text, 0), Some(vec![1, 2, 3]));
        assert_eq!((recorded(text, 1), recorded(text, 2)), (Some(vec![]), None));
        assert!(is_repeated("MPI_Testall") && !is_repeated("MPI_Wtime"));
    }
}
