//! How a rank's calls reach its port while Python stays answerable: other threads run meanwhile, and Ctrl-C ends a wait.

use crate::CommError;
use crate::desk::{Call, Desk, Reply};
use crate::lent::{Lender, detached};
use hotlink_message::Error;
use hotlink_port::Port;
use pyo3::prelude::*;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Polls before other threads of the interpreter may run: what is over at once, or nearly, does not wait for them.
const SPINS: u32 = 256;
/// How long a signal may go unnoticed.
const SLICE: Duration = Duration::from_millis(5);

/// Brings a rank's calls to its port.
pub(crate) trait Carrier {
    /// Does what is asked for; the outer error is that of a signal's handler, as of Ctrl-C.
    fn call(&self, py: Python<'_>, call: Call) -> PyResult<Result<Reply, Error>>;
    /// Whether the port's memory cannot be seen by the program.
    fn is_apart(&self) -> bool {
        false
    }
}

/// The port is this process's, and polled by the thread that calls.
impl<P: Port, L: Lender<P>> Carrier for Desk<P, L> {
    fn call(&self, py: Python<'_>, call: Call) -> PyResult<Result<Reply, Error>> {
        let mut served = pin!(self.serve(call));
        if let Some(result) = polls(served.as_mut(), SPINS) {
            return Ok(result);
        }
        loop {
            let result = detached(py, || {
                let start = Instant::now();
                loop {
                    let result = polls(served.as_mut(), SPINS / 4);
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

/// What `future` ends with, if it does within so many polls.
fn polls<T>(mut future: Pin<&mut impl Future<Output = T>>, most: u32) -> Option<T> {
    let mut context = Context::from_waker(Waker::noop());
    (0..most).find_map(|_| match future.as_mut().poll(&mut context) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    })
}
