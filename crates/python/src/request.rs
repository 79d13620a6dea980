//! Requests and statuses, and waiting for several requests.

use crate::comm::{Comm, error_of};
use crate::desk::{Call, Reply};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::OnceLock;

/// The result of a completed receive: ``source``, ``tag`` and ``bytes`` of the message. A send's is empty.
///
/// Example::
///
///     status = comm.recv(a)  # from anybody, with any tag
///     print(status.source, status.tag, status.bytes // a.itemsize)
#[pyclass(frozen, get_all, module = "hotlink")]
#[derive(Clone, Copy)]
pub(crate) struct Status {
    source: u32,
    tag: u32,
    bytes: u64,
}

#[pymethods]
impl Status {
    fn __repr__(&self) -> String {
        format!("Status(source={}, tag={}, bytes={})", self.source, self.tag, self.bytes)
    }
}

impl From<hotlink_message::Status> for Status {
    fn from(status: hotlink_message::Status) -> Status {
        Status { source: status.from, tag: status.tag, bytes: status.bytes }
    }
}

/// A send or receive under way: the array must not be changed, nor one that is received into read, before it is over.
///
/// Example::
///
///     request = comm.irecv(a, source=0)
///     ...  # work on something else
///     status = request.wait()
#[pyclass(frozen, module = "hotlink")]
pub(crate) struct Request {
    comm: Py<Comm>,
    id: u64,
    over: OnceLock<Status>,
}

impl Request {
    pub(crate) fn new(comm: Py<Comm>, id: u64) -> Request {
        Request { comm, id, over: OnceLock::new() }
    }
    fn is_over(&self) -> Option<Status> {
        self.over.get().copied()
    }
    fn end(&self, reply: Reply) -> PyResult<Option<Status>> {
        let Reply::Received(status) = reply else { return Ok(None) };
        self.comm.get().forget(self.id)?;
        Ok(Some(*self.over.get_or_init(|| status.into())))
    }
}

#[pymethods]
impl Request {
    /// Waits until it is over, and returns the result of a receive. Waiting again returns the same.
    ///
    /// Example: ``status = comm.irecv(a, source=0).wait()``
    fn wait(&self, py: Python<'_>) -> PyResult<Option<Status>> {
        match self.is_over() {
            Some(status) => Ok(Some(status)),
            None => self.end(self.comm.get().call(py, Call::Wait(self.id))?),
        }
    }
    /// Its result if it is over, else ``None``; makes as much progress as possible.
    ///
    /// Example: ``while request.test() is None: work()``
    fn test(&self, py: Python<'_>) -> PyResult<Option<Status>> {
        match self.is_over() {
            Some(status) => Ok(Some(status)),
            None => self.end(self.comm.get().call(py, Call::Test(self.id))?),
        }
    }
}

/// Waits for all of `requests`; their statuses in order. The first error, if any, after all are over.
///
/// Example: ``hotlink.wait_all([comm.isend(a, to=1), comm.irecv(b, source=1)])``
#[pyfunction]
pub(crate) fn wait_all(py: Python<'_>, requests: Vec<Py<Request>>) -> PyResult<Vec<Option<Status>>> {
    let ended: Vec<PyResult<Option<Status>>> = requests.iter().map(|request| request.get().wait(py)).collect();
    ended.into_iter().collect()
}

/// Waits until one of `requests` is over: which, and its status. Leave it out when you wait for the others.
///
/// Example: ``index, status = hotlink.wait_any(requests)``
#[pyfunction]
pub(crate) fn wait_any(py: Python<'_>, requests: Vec<Py<Request>>) -> PyResult<(usize, Status)> {
    let Some(first) = requests.first().map(Py::get) else {
        return Err(PyValueError::new_err("requests: there is none; allowed: one or more"));
    };
    for (place, request) in requests.iter().enumerate() {
        if let Some(status) = request.get().is_over() {
            return Ok((place, status));
        }
        if !request.get().comm.is(&first.comm) {
            return Err(PyValueError::new_err(format!("requests[{place}]: it is another communicator's")));
        }
    }
    let ids = requests.iter().map(|request| request.get().id).collect();
    let Reply::Ended(place, ended) = first.comm.get().call(py, Call::WaitAny(ids))? else {
        return Err(never());
    };
    let request = requests[place].get();
    match ended {
        Ok(status) => Ok((place, request.end(Reply::Received(status))?.ok_or_else(never)?)),
        Err(error) => Err(error_of(py, error)),
    }
}

fn never() -> PyErr {
    PyValueError::new_err("requests: none of them can be waited for")
}
