//! The ranks of a job: forked by Python, on this machine or on a simulated fabric, or started by a launcher.

use crate::carrier::Seated;
use crate::comm::Comm;
use crate::desk::Desk;
use crate::lent::{Own, Real, Simulated, detached};
use crate::{CommError, InputError};
use hotlink_port::{Rank, RunError};
use hotlink_real::{COPY_VARIABLE, Doors, Launched, Lend, Options, Transport, Via, Watch, With, die_with, stay_on};
use hotlink_seats::{Door, Office};
use hotlink_study::Error as Failure;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use std::thread::JoinHandle;
use std::time::Duration;

/// The shared state of ranks, whatever their port.
trait Shared {
    fn comm(&self, py: Python<'_>, rank: u32) -> PyResult<Comm>;
    /// All have been forked.
    fn begin(&self) {}
    fn gone(&self, rank: u32);
    fn watch(&self, patience: Duration) -> Option<Watch>;
    /// Why no rank can go on, if that is known without a watch.
    fn over(&self) -> PyResult<Option<String>> {
        Ok(None)
    }
}

impl<D: Doors<Port: Lend + 'static>> Shared for D {
    fn comm(&self, py: Python<'_>, rank: u32) -> PyResult<Comm> {
        Ok(comm_on(detached(py, || self.open(rank))?))
    }
    fn gone(&self, rank: u32) {
        self.bury(rank);
    }
    fn watch(&self, patience: Duration) -> Option<Watch> {
        Some(self.waits()?.watch(patience))
    }
}

/// Ranks on a simulated fabric. The simulation runs on a thread of the process that forked them.
struct Fabric {
    name: String,
    /// The file that says what fails.
    faults: Option<String>,
    ranks: u32,
    /// The core that simulation and ranks share: to hand over within a core takes a fraction of the time.
    core: u32,
    office: Office,
    ended: Box<dyn Fn(Rank)>,
    simulation: RefCell<Option<JoinHandle<Result<(), Failure>>>>,
}

impl Fabric {
    fn new(name: &str, ranks: u32, faults: Option<String>) -> PyResult<Fabric> {
        if ranks == 0 {
            return Err(InputError::new_err("0 ranks: 1 or more are allowed, as many as the fabric has nodes"));
        }
        let office = Office::new(ranks)?;
        let ended = Box::new(office.on_end());
        let core = std::process::id();
        Ok(Fabric { name: name.to_owned(), faults, ranks, core, office, ended, simulation: RefCell::default() })
    }
}

impl Shared for Fabric {
    fn comm(&self, py: Python<'_>, rank: u32) -> PyResult<Comm> {
        let path = self.office.path()?;
        stay_on(self.core);
        let door = detached(py, || Door::at(&path, rank, self.ranks));
        let door = door.map_err(|error| CommError::new_err(error.to_string()))?;
        let desk = Desk::<_, Simulated>::new(door.surviving());
        let place = desk.place();
        Ok(Comm::new(Rc::new(Seated::new(desk)), place))
    }
    fn begin(&self) {
        let (name, ranks, core) = (self.name.clone(), self.ranks, self.core);
        let faults = self.faults.clone();
        let office = self.office.elsewhere();
        let simulate = move || {
            stay_on(core);
            let office = office.and_then(|office| office()).map_err(|error| Failure::Check(error.to_string()))?;
            hotlink_study::on_fabric::<(), _>(&name, ranks, faults.as_deref(), &office).map(drop)
        };
        *self.simulation.borrow_mut() = Some(std::thread::spawn(simulate));
    }
    fn gone(&self, rank: u32) {
        self.office.halt_by(Some(rank));
        (self.ended)(rank);
    }
    fn watch(&self, _: Duration) -> Option<Watch> {
        None
    }
    fn over(&self) -> PyResult<Option<String>> {
        let ended = self.simulation.borrow_mut().take_if(|simulation| simulation.is_finished());
        let Some(simulation) = ended else { return Ok(None) };
        match simulation.join() {
            Ok(Ok(())) => Ok(None),
            Ok(Err(Failure::Input(what))) => {
                Err(InputError::new_err(format!("via: {what}; real ranks: \"shm\" or \"tcp\"")))
            }
            Ok(Err(error)) => Ok(Some(error.to_string().trim_start_matches("no progress: ").to_owned())),
            Err(_) => Ok(Some("the simulation ended by a mistake of its own".to_owned())),
        }
    }
}

impl Drop for Fabric {
    fn drop(&mut self) {
        self.office.halt();
        if let Some(simulation) = self.simulation.take() {
            // Its result no longer matters.
            let _ = simulation.join();
        }
    }
}

/// Makes the shared state of that many ranks.
struct Share(u32);

impl With for Share {
    type Output = Result<Box<dyn Shared>, RunError>;
    fn on<D: Transport>(self, driver: D) -> Self::Output {
        Ok(Box::new(driver.share(self.0)?))
    }
}

/// Calls a program on that many ranks that a launcher started.
struct Call<'a, 'py>(&'a Bound<'py, PyAny>, u32);

impl With for Call<'_, '_> {
    type Output = Result<Vec<Vec<u8>>, RunError>;
    fn on<D: Transport>(self, mut driver: D) -> Self::Output {
        driver.run(self.1, &async |port| call(self.0, port))
    }
}

/// The shared state of a job's ranks, made before they are forked.
#[pyclass(frozen)]
pub(crate) struct Job(Own<Opened>);

struct Opened {
    shared: Box<dyn Shared>,
    /// Sees waits that cannot end, where that was asked for.
    watch: RefCell<Option<Watch>>,
}

#[pymethods]
impl Job {
    /// By shared memory, connections or both, as `via` names. `via` may also name a fabric to simulate; the file
    /// `faults` then lists its failures.
    #[new]
    #[pyo3(signature = (via, ranks, stall = None, faults = None))]
    fn new(via: &str, ranks: u32, stall: Option<f64>, faults: Option<String>) -> PyResult<Job> {
        let stall = patience(stall)?;
        let shared: Box<dyn Shared> = match named(via) {
            Ok(via) => {
                let shared = via.with(Options::default(), Share(ranks));
                shared.map_err(|error| InputError::new_err(error.to_string()))?
            }
            Err(_) => Box::new(Fabric::new(via, ranks, faults)?),
        };
        let watch = RefCell::new(stall.and_then(|stall| shared.watch(stall)));
        Ok(Job(Own::new(Opened { shared, watch })))
    }
    /// In the process of `rank`, which `parent` has just forked: its communicator.
    fn open(&self, py: Python<'_>, rank: u32, parent: u32) -> PyResult<Comm> {
        die_with(parent)?;
        self.0.get()?.shared.comm(py, rank)
    }
    /// In the process that forked them: all have been.
    fn begin(&self) -> PyResult<()> {
        self.0.get()?.shared.begin();
        Ok(())
    }
    /// In the process that forked them: `rank` has died, and the others get a report.
    fn bury(&self, rank: u32) -> PyResult<()> {
        self.0.get()?.shared.gone(rank);
        Ok(())
    }
    /// In the process that forked them, now and then; `over`: of each rank, whether it has ended well. Returns which
    /// rank waits for which, if none of the others can go on.
    fn stuck(&self, over: Vec<bool>) -> PyResult<Option<String>> {
        let opened = self.0.get()?;
        if let Some(why) = opened.shared.over()? {
            return Ok(Some(why));
        }
        let mut watch = opened.watch.borrow_mut();
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
    let desk = Desk::<_, Real>::new(port);
    let place = desk.place();
    Comm::new(Rc::new(desk), place)
}

fn named(via: &str) -> PyResult<Via> {
    Via::ALL.iter().copied().find(|known| known.name() == via).ok_or_else(|| {
        let known: Vec<String> = Via::ALL.iter().map(|via| format!("{:?}", via.name())).collect();
        InputError::new_err(format!("via={via:?}; allowed: {}", known.join(", ")))
    })
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
    let several = Launched::from_environment().map_err(InputError::new_err)?.is_some_and(|place| place.is_spread());
    let via = named(via)?;
    if several && via.is_one_machine() {
        let allowed: Vec<String> =
            Via::ALL.iter().filter(|via| !via.is_one_machine()).map(|via| format!("{:?}", via.name())).collect();
        let what = format!("via={:?}: the ranks may be on several machines (HOTLINK_MEET)", via.name());
        return Err(InputError::new_err(format!("{what}; must be one of {}", allowed.join(", "))));
    }
    let results = via.with(options, Call(program, ranks));
    results.map_err(|error| match error {
        RunError::Ranks { .. } | RunError::Setting(_) => InputError::new_err(error.to_string()),
        other => CommError::new_err(other.to_string()),
    })
}

fn call(program: &Bound<'_, PyAny>, port: impl Lend + 'static) -> Vec<u8> {
    let comm = Bound::new(program.py(), comm_on(port));
    let told = comm.and_then(|comm| program.call1((comm,))?.extract::<Vec<u8>>());
    // The reader of the results reports that this is none.
    told.unwrap_or_default()
}
