//! How a rank's calls reach its port while Python stays answerable: other threads run meanwhile, and Ctrl-C ends a wait.

use crate::CommError;
use crate::desk::{Call, Desk, Reply};
use crate::lent::{Lender, Simulated, detached};
use hotlink_message::Error;
use hotlink_real::Lend;
use hotlink_seats::{Door, Halted};
use pyo3::prelude::*;
use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// How long a signal may go unnoticed.
const SLICE: Duration = Duration::from_millis(5);

/// Brings a rank's calls to its port.
pub(crate) trait Carrier {
    /// Does what is asked for; the outer error is that of a signal's handler, as of Ctrl-C.
    fn call(&self, py: Python<'_>, call: Call) -> PyResult<Result<Reply, Error>>;
}

/// The port is this process's, and polled by the thread that calls.
impl<P: Lend, L: Lender<P>> Carrier for Desk<P, L> {
    fn call(&self, py: Python<'_>, call: Call) -> PyResult<Result<Reply, Error>> {
        let mut served = pin!(self.serve(call));
        if let Some(result) = polls(served.as_mut(), L::SPINS) {
            return Ok(result);
        }
        loop {
            let result = detached(py, || {
                let start = Instant::now();
                loop {
                    self.rest();
                    let result = polls(served.as_mut(), L::SPINS.div_ceil(4));
                    if result.is_some() || start.elapsed() > SLICE {
                        return result;
                    }
                }
            });
            match result {
                Some(result) => return Ok(result),
                None => {
                    py.check_signals()?;
                    if let Some(why) = hotlink_real::stuck() {
                        return Err(CommError::new_err(format!("no progress: {why}")));
                    }
                }
            }
        }
    }
}

/// The result of `future`, if it ends within `most` polls.
fn polls<T>(mut future: Pin<&mut impl Future<Output = T>>, most: u32) -> Option<T> {
    let mut context = Context::from_waker(Waker::noop());
    (0..most).find_map(|_| match future.as_mut().poll(&mut context) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    })
}

/// A rank of a simulation, which may be halted: another rank has failed, or no rank can go on.
pub(crate) struct Seated {
    desk: Desk<Door, Simulated>,
    halted: Cell<Option<Halted>>,
}

impl Seated {
    pub(crate) fn new(desk: Desk<Door, Simulated>) -> Seated {
        Seated { desk, halted: Cell::new(None) }
    }
}

impl Carrier for Seated {
    fn call(&self, py: Python<'_>, call: Call) -> PyResult<Result<Reply, Error>> {
        if self.halted.get().is_none() {
            // The desk is not used again after a call that unwound.
            match catch_unwind(AssertUnwindSafe(|| self.desk.call(py, call))) {
                Ok(called) => return called,
                Err(unwound) => match unwound.downcast::<Halted>() {
                    Ok(halted) => self.halted.set(Some(*halted)),
                    Err(other) => resume_unwind(other),
                },
            }
        }
        match self.halted.get() {
            Some(Halted(Some(rank))) => Ok(Err(Error::PeerGone(rank))),
            _ => Err(CommError::new_err("the simulation has ended")),
        }
    }
}
