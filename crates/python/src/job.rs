//! The ranks of a job that Python forks.

use crate::InputError;
use crate::comm::Comm;
use crate::desk::Desk;
use crate::lent::{InPlace, detached};
use hotlink_real::{Doors, Lend, Meeting, Shm, Tcp, World, die_with};
use pyo3::prelude::*;
use std::rc::Rc;

enum Shared {
    Shm(World),
    Tcp(Meeting),
}

/// What the ranks of a job share, made before they are forked.
#[pyclass(frozen, unsendable)]
pub(crate) struct Job(Shared);

#[pymethods]
impl Job {
    #[new]
    fn new(via: &str, ranks: u32) -> PyResult<Job> {
        let shared = match via {
            "shm" => Shm::doors(ranks).map(Shared::Shm),
            "tcp" => Tcp::doors(ranks).map(Shared::Tcp),
            _ => return Err(InputError::new_err(format!("via={via:?}; allowed: \"shm\", \"tcp\""))),
        };
        shared.map(Job).map_err(|error| InputError::new_err(error.to_string()))
    }
    /// In the process of `rank`, which `parent` has just forked: its communicator.
    fn open(&self, py: Python<'_>, rank: u32, parent: u32) -> PyResult<Comm> {
        die_with(parent)?;
        Ok(match &self.0 {
            Shared::Shm(world) => comm_on(world.open(rank)?),
            Shared::Tcp(meeting) => comm_on(detached(py, || meeting.open(rank))?),
        })
    }
    /// In the process that forked them: `rank` has died, and the others are told.
    fn bury(&self, rank: u32) {
        match &self.0 {
            Shared::Shm(world) => world.bury(rank),
            Shared::Tcp(meeting) => meeting.bury(rank),
        }
    }
}

fn comm_on(port: impl Lend + 'static) -> Comm {
    let desk = Desk::<_, InPlace>::new(port);
    let place = desk.place();
    Comm::new(Rc::new(desk), place)
}
