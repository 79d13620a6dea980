//! The ranks of a job: forked by Python, or started by a launcher.

use crate::comm::Comm;
use crate::desk::Desk;
use crate::lent::{InPlace, Own, detached};
use crate::{CommError, InputError};
use hotlink_port::{Driver, RunError};
use hotlink_real::{
    COPY_VARIABLE, Doors, Gathering, Launched, Lend, Meeting, Mixed, Options, Shm, Tcp, Watch, World, die_with,
};
use pyo3::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

enum Shared {
    Shm(World),
    Tcp(Meeting),
    Mixed(Gathering),
}

/// What the ranks of a job share, made before they are forked.
#[pyclass(frozen)]
pub(crate) struct Job(Own<Opened>);

struct Opened {
    shared: Shared,
    /// Sees waits that cannot end, where that was asked for.
    watch: RefCell<Option<Watch>>,
}

#[pymethods]
impl Job {
    #[new]
    #[pyo3(signature = (via, ranks, stall = None))]
    fn new(via: &str, ranks: u32, stall: Option<f64>) -> PyResult<Job> {
        let stall = patience(stall)?;
        let shared = match via {
            "shm" => Shm::doors(ranks).map(Shared::Shm),
            "tcp" => Tcp::doors(ranks).map(Shared::Tcp),
            "mixed" => Mixed::new(Options::default()).doors(ranks).map(Shared::Mixed),
            _ => return Err(unknown(via)),
        };
        let shared = shared.map_err(|error| InputError::new_err(error.to_string()))?;
        let waits = match &shared {
            Shared::Shm(world) => world.waits(),
            Shared::Tcp(meeting) => meeting.waits(),
            Shared::Mixed(gathering) => gathering.waits(),
        };
        let watch = RefCell::new(stall.and_then(|stall| Some(waits?.watch(stall))));
        Ok(Job(Own::new(Opened { shared, watch })))
    }
    /// In the process of `rank`, which `parent` has just forked: its communicator.
    fn open(&self, py: Python<'_>, rank: u32, parent: u32) -> PyResult<Comm> {
        die_with(parent)?;
        Ok(match &self.0.get()?.shared {
            Shared::Shm(world) => comm_on(world.open(rank)?),
            Shared::Tcp(meeting) => comm_on(detached(py, || meeting.open(rank))?),
            Shared::Mixed(gathering) => comm_on(detached(py, || gathering.open(rank))?),
        })
    }
    /// In the process that forked them: `rank` has died, and the others are told.
    fn bury(&self, rank: u32) -> PyResult<()> {
        match &self.0.get()?.shared {
            Shared::Shm(world) => world.bury(rank),
            Shared::Tcp(meeting) => meeting.bury(rank),
            Shared::Mixed(gathering) => gathering.bury(rank),
        }
        Ok(())
    }
    /// In the process that forked them, now and then; `over`: of each rank, whether it has ended well. Who waits for whom,
    /// if none of the others can go on.
    fn stuck(&self, over: Vec<bool>) -> PyResult<Option<String>> {
        let mut watch = self.0.get()?.watch.borrow_mut();
        Ok(watch.as_mut().and_then(|watch| watch.look(|rank| over.get(rank as usize) == Some(&true))))
    }
}

/// How long waits may take that cannot end.
fn patience(stall: Option<f64>) -> PyResult<Option<Duration>> {
    let Some(seconds) = stall else { return Ok(None) };
    if !(0.1..=86_400.0).contains(&seconds) {
        return Err(InputError::new_err(format!("stall={seconds}; allowed: 0.1 to 86400 seconds, or None")));
    }
    Ok(Some(Duration::from_secs_f64(seconds)))
}

/// How long messages of this process's ranks move, and of those that it forks: see `hotlink.run`.
#[pyfunction]
pub(crate) fn use_copy(copy: Option<&str>) -> PyResult<()> {
    let (text, origin) = match copy {
        Some(text) => (text.to_owned(), "copy"),
        None => (std::env::var(COPY_VARIABLE).unwrap_or_else(|_| "auto".to_owned()), COPY_VARIABLE),
    };
    let way = hotlink_real::copy_named(&text).map_err(|what| InputError::new_err(format!("{origin}: {what}")))?;
    hotlink_real::use_copy(way);
    Ok(())
}

fn comm_on(port: impl Lend + 'static) -> Comm {
    let desk = Desk::<_, InPlace>::new(port);
    let place = desk.place();
    Comm::new(Rc::new(desk), place)
}

fn unknown(via: &str) -> PyErr {
    InputError::new_err(format!("via={via:?}; allowed: \"shm\", \"tcp\", \"mixed\""))
}

/// The ranks of the job that a launcher (`mpirun`, `srun`) started this process as one of; `None`: it was started alone.
#[pyfunction]
pub(crate) fn launched() -> PyResult<Option<u32>> {
    Ok(Launched::from_environment().map_err(InputError::new_err)?.map(|place| place.ranks))
}

/// Calls `program` with the communicator of this process's rank, if it is one of the first `ranks` of the launched job.
/// Gives what the programs of all of them returned, which is bytes; a program that fails must end its process.
#[pyfunction]
pub(crate) fn run_launched(
    via: &str,
    ranks: u32,
    pin: bool,
    stall: Option<f64>,
    program: &Bound<'_, PyAny>,
) -> PyResult<Vec<Vec<u8>>> {
    let options = Options { pin, stall: patience(stall)?, ..Options::default() };
    let several = Launched::from_environment().map_err(InputError::new_err)?.is_some_and(|place| place.meet.is_some());
    let results = match via {
        "shm" if several => {
            let what =
                "via=\"shm\": the ranks may be on several machines (HOTLINK_MEET); allowed there: \"tcp\", \"mixed\"";
            return Err(InputError::new_err(what));
        }
        "shm" => Shm::new(options).run(ranks, &async |port| call(program, port)),
        "tcp" => Tcp::new(options).run(ranks, &async |port| call(program, port)),
        "mixed" => Mixed::new(options).run(ranks, &async |port| call(program, port)),
        _ => return Err(unknown(via)),
    };
    results.map_err(|error| match error {
        RunError::Ranks { .. } | RunError::Setting(_) => InputError::new_err(error.to_string()),
        other => CommError::new_err(other.to_string()),
    })
}

fn call(program: &Bound<'_, PyAny>, port: impl Lend + 'static) -> Vec<u8> {
    let comm = Bound::new(program.py(), comm_on(port));
    let told = comm.and_then(|comm| program.call1((comm,))?.extract::<Vec<u8>>());
    // What reads the results tells that this is none.
    told.unwrap_or_default()
}
