//! Programs on the ranks of a simulated fabric. Each rank is a thread of Python, whose calls are served by the rank's
//! program in the simulation; the simulation stands still while a thread has not asked for anything yet, so one thread
//! runs at a time, in an order that the simulation alone decides.

use crate::carrier::Carrier;
use crate::comm::Comm;
use crate::desk::{Call, Desk, Reply};
use crate::lent::{ByCopy, detached};
use crate::{CommError, InputError};
use hotlink_message::Error;
use hotlink_port::{Port, Program, Rank};
use hotlink_study::Error as Failure;
use pyo3::exceptions::PyTimeoutError;
use pyo3::prelude::*;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

/// How long a signal may go unnoticed, and the end of the time allowed.
const LOOK: Duration = Duration::from_millis(20);

type Replied = Result<Reply, Error>;

/// What a thread tells its rank.
enum Told {
    Asks(Call),
    Ended,
    Raised,
}

/// A rank's side of the line to its thread.
struct Line {
    told: Receiver<Told>,
    replies: Sender<Replied>,
}

/// Why the simulation goes no further.
#[derive(Default)]
struct Halt {
    is: AtomicBool,
    /// The rank whose program raised.
    failed: Mutex<Option<Rank>>,
    /// What ended the simulation from outside: a signal's handler, the time.
    raised: Mutex<Option<PyErr>>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A rank's place in the simulation, for its thread to take.
#[pyclass(frozen)]
pub(crate) struct Seat {
    place: (Rank, u32),
    told: Sender<Told>,
    replies: Mutex<Option<Receiver<Replied>>>,
    halt: Arc<Halt>,
}

#[pymethods]
impl Seat {
    /// Waits for the rank's first turn; its communicator.
    fn open(&self, py: Python<'_>) -> PyResult<Comm> {
        let replies = locked(&self.replies).take().ok_or_else(|| CommError::new_err("the seat is taken"))?;
        let thread = Thread { told: self.told.clone(), replies, halt: self.halt.clone() };
        thread.hear(py)?.map_err(|error| CommError::new_err(error.to_string()))?;
        Ok(Comm::new(Rc::new(thread), self.place))
    }
    /// The rank's program is over; `failed`: by raising.
    fn end(&self, failed: bool) {
        // Nobody listens when the simulation is over: who raises because of that is not to blame.
        let _ = self.told.send(if failed { Told::Raised } else { Told::Ended });
    }
}

/// A thread's side of the line.
struct Thread {
    told: Sender<Told>,
    replies: Receiver<Replied>,
    halt: Arc<Halt>,
}

impl Thread {
    fn hear(&self, py: Python<'_>) -> PyResult<Replied> {
        let heard = detached(py, || self.replies.recv());
        heard.or_else(|_| match *locked(&self.halt.failed) {
            Some(rank) => Ok(Err(Error::PeerGone(rank))),
            None => Err(CommError::new_err("the simulation has ended")),
        })
    }
}

impl Carrier for Thread {
    fn call(&self, py: Python<'_>, call: Call) -> PyResult<Replied> {
        // If nobody listens, nobody replies either.
        let _ = self.told.send(Told::Asks(call));
        self.hear(py)
    }
    fn is_apart(&self) -> bool {
        true
    }
}

/// The simulation's program: serves the threads.
#[pyclass(frozen)]
pub(crate) struct Simulation {
    lines: Vec<Mutex<Option<Line>>>,
    halt: Arc<Halt>,
}

/// The same while it runs.
struct Running<'a> {
    simulation: &'a Simulation,
    start: Instant,
    limit: Option<Duration>,
}

#[pymethods]
impl Simulation {
    /// A simulation and its seats.
    #[staticmethod]
    fn of(ranks: u32) -> (Simulation, Vec<Seat>) {
        let halt = Arc::new(Halt::default());
        let (mut lines, mut seats) = (Vec::new(), Vec::new());
        for rank in 0..ranks {
            let ((tell, told), (reply, replies)) = (channel(), channel());
            lines.push(Mutex::new(Some(Line { told, replies: reply })));
            let replies = Mutex::new(Some(replies));
            seats.push(Seat { place: (rank, ranks), told: tell, replies, halt: halt.clone() });
        }
        (Simulation { lines, halt }, seats)
    }
    /// Runs it on `fabric`, to its end: at the latest after `limit` seconds.
    fn run(&self, py: Python<'_>, fabric: &str, limit: Option<f64>) -> PyResult<()> {
        let limit = limit.map(Duration::try_from_secs_f64).transpose();
        let limit = limit.map_err(|error| InputError::new_err(format!("limit: {error}")))?;
        let running = Running { simulation: self, start: Instant::now(), limit };
        let ran = py.detach(|| hotlink_study::on_fabric::<(), _>(fabric, self.lines.len() as u32, &running));
        // Whoever waits for a turn that never comes.
        self.lines.iter().for_each(|line| *locked(line) = None);
        if let Some(raised) = locked(&self.halt.raised).take() {
            return Err(raised);
        }
        match ran {
            Err(Failure::Input(what)) => {
                Err(InputError::new_err(format!("via: {what}; real ranks: \"shm\" or \"tcp\"")))
            }
            // What a program raised is told by its thread.
            Err(Failure::Check(what)) if !self.halt.is.load(Ordering::Acquire) => Err(CommError::new_err(what)),
            _ => Ok(()),
        }
    }
}

impl Running<'_> {
    fn is_halted(&self) -> bool {
        self.simulation.halt.is.load(Ordering::Acquire)
    }
    /// Looks for signals, and at the time.
    fn look(&self) {
        let over = self.limit.filter(|&limit| self.start.elapsed() > limit);
        let late = || {
            let limit_s = self.limit.unwrap_or_default().as_secs_f64();
            PyTimeoutError::new_err(format!("ranks still run after the {limit_s} s allowed"))
        };
        let looked = if over.is_some() { Err(late()) } else { Python::attach(|py| py.check_signals()) };
        if let Err(raised) = looked {
            locked(&self.simulation.halt.raised).get_or_insert(raised);
            self.simulation.halt.is.store(true, Ordering::Release);
        }
    }
    /// What the thread asks for next; `None`: nothing more.
    fn next(&self, rank: Rank, line: &Line) -> Option<Call> {
        while !self.is_halted() {
            match line.told.recv_timeout(LOOK) {
                Ok(Told::Asks(call)) => return Some(call),
                Ok(Told::Ended) | Err(RecvTimeoutError::Disconnected) => return None,
                Ok(Told::Raised) => {
                    locked(&self.simulation.halt.failed).get_or_insert(rank);
                    self.simulation.halt.is.store(true, Ordering::Release);
                }
                Err(RecvTimeoutError::Timeout) => self.look(),
            }
        }
        None
    }
    /// What `served` ends with, unless the simulation is halted before.
    async fn unless_halted(&self, served: impl Future<Output = Replied>) -> Option<Replied> {
        let mut served = pin!(served);
        poll_fn(|context| match self.is_halted() {
            true => Poll::Ready(None),
            false => served.as_mut().poll(context).map(Some),
        })
        .await
    }
}

impl<P: Port> Program<P, ()> for Running<'_> {
    async fn run(&self, port: P) {
        let desk = Desk::<P, ByCopy>::new(port);
        let (rank, _) = desk.place();
        let Some(line) = locked(&self.simulation.lines[rank as usize]).take() else { return };
        let mut reply = Ok(Reply::Done);
        let mut looked = Instant::now();
        while line.replies.send(reply).is_ok() {
            let Some(call) = self.next(rank, &line) else { return };
            if looked.elapsed() > LOOK {
                self.look();
                looked = Instant::now();
            }
            match self.unless_halted(desk.serve(call)).await {
                Some(replied) => reply = replied,
                None => return,
            }
        }
    }
}
