//! [`Comm`]: the communicator of a rank's program. Arguments are checked here; the `Desk` does the work.

use crate::array::Array;
use crate::carrier::Carrier;
use crate::desk::{Call, Collective, Pattern, Reply};
use crate::lent::{Own, Segment};
use crate::request::{Request, Status};
use crate::{CommError, PeerGoneError, TruncatedError};
use hotlink_fabric::units::Time;
use hotlink_message::Error;
use hotlink_port::{Align, Element, Kind as MemoryKind, Operation, Rank, Refusal};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The source or tag of a receive that takes any.
pub(crate) const ANY: i64 = -1;
/// Most bytes of a segment: more than a machine has.
const MOST_BYTES: u64 = 1 << 40;
/// As the ports have it.
const MOST_ALIGN: u64 = 1 << 30;

/// A rank's communicator, which `hotlink.run` gives to the program.
///
/// Arrays are anything with the buffer protocol, C contiguous or with one regular stride (``a[::2]``, a column). Their
/// bytes are moved without a copy on the Python side. An array of the wrong kind, type or size is a ``TypeError`` or
/// ``ValueError`` that names the argument.
///
/// Example::
///
///     def program(comm):
///         a = np.full(4, comm.rank)
///         comm.bcast(a, root=1)
///         return a
///
///     hotlink.run(program, ranks=2)  # [array([1, 1, 1, 1]), array([1, 1, 1, 1])]
#[pyclass(frozen, module = "hotlink")]
pub(crate) struct Comm {
    /// This rank, 0 to ``ranks - 1``.
    #[pyo3(get)]
    rank: u32,
    /// Number of ranks.
    #[pyo3(get)]
    ranks: u32,
    own: Own<Open>,
}

/// The state of a communicator while its program runs.
struct Open {
    /// `None` when the program has ended. Goes before the arrays that it may still work on.
    carrier: RefCell<Option<Rc<dyn Carrier>>>,
    /// Arrays of requests under way.
    kept: RefCell<BTreeMap<u64, Array>>,
    /// Arrays of calls that a signal ended: the port may still work on them.
    abandoned: RefCell<Vec<Array>>,
}

impl Comm {
    pub(crate) fn new(carrier: Rc<dyn Carrier>, (rank, ranks): (Rank, u32)) -> Comm {
        let carrier = RefCell::new(Some(carrier));
        Comm { rank, ranks, own: Own::new(Open { carrier, kept: RefCell::default(), abandoned: RefCell::default() }) }
    }
    fn carrier(&self) -> PyResult<Rc<dyn Carrier>> {
        let carrier = self.own.get()?.carrier.borrow().clone();
        carrier.ok_or_else(|| CommError::new_err("the communicator's program has ended"))
    }
    pub(crate) fn call(&self, py: Python<'_>, call: Call) -> PyResult<Reply> {
        self.carrier()?.call(py, call)?.map_err(|error| error_of(py, error))
    }
    /// The request `id` is over, and its array free.
    pub(crate) fn forget(&self, id: u64) -> PyResult<()> {
        let array = self.own.get()?.kept.borrow_mut().remove(&id);
        drop(array);
        Ok(())
    }
    /// A call that works on `arrays` until it returns.
    fn call_on(&self, py: Python<'_>, call: Call, arrays: impl IntoIterator<Item = Array>) -> PyResult<Reply> {
        let replied = self.call(py, call);
        let interrupted = |error: &PyErr| !error.is_instance_of::<CommError>(py);
        if replied.as_ref().is_err_and(interrupted) {
            self.own.get()?.abandoned.borrow_mut().extend(arrays);
        }
        replied
    }
    fn start(slf: &Bound<'_, Comm>, call: Call, array: Array) -> PyResult<Request> {
        let comm = slf.get();
        let Reply::Started(id) = comm.call(slf.py(), call)? else {
            return Err(CommError::new_err("nothing was started"));
        };
        comm.own.get()?.kept.borrow_mut().insert(id, array);
        Ok(Request::new(slf.clone().unbind(), id))
    }
    fn collective(&self, py: Python<'_>, what: Collective, send: Vec<Array>, recv: Vec<Array>) -> PyResult<()> {
        let blocks = |arrays: &[Array]| arrays.iter().map(Array::block).collect::<Vec<_>>();
        let (from, into) = (blocks(&send), blocks(&recv));
        let in_place = matches!(what, Collective::Reduce(..) | Collective::Allreduce(_));
        for (place, block) in into.iter().enumerate() {
            let others = from.iter().filter(|other| !(in_place && other.is_same(block))).chain(&into[place + 1..]);
            if others.into_iter().any(|other| other.overlaps(block)) {
                let allowed = if in_place { "arrays apart, or send itself" } else { "arrays apart" };
                let what = format!("recv: it shares memory with another array; allowed: {allowed}");
                return Err(PyValueError::new_err(what));
            }
        }
        self.call_on(py, Call::Collective(what, from, into), send.into_iter().chain(recv)).map(drop)
    }

    fn peer(&self, name: &str, rank: i64) -> PyResult<Rank> {
        let known = Rank::try_from(rank).ok().filter(|&rank| rank < self.ranks);
        known.ok_or_else(|| PyValueError::new_err(format!("{name}: no rank {rank}; allowed: 0 to {}", self.ranks - 1)))
    }
    fn pattern(&self, source: i64, tag: i64) -> PyResult<Pattern> {
        let source = if source == ANY { None } else { Some(self.peer("source", source)?) };
        Ok((source, if tag == ANY { None } else { Some(tagged(tag)?) }))
    }
    /// One array for each rank, or none where `needed` is false.
    fn each(
        &self,
        name: &str,
        objects: Option<Vec<Bound<'_, PyAny>>>,
        kind: Kind,
        needed: bool,
    ) -> PyResult<Vec<Array>> {
        let Some(objects) = objects.filter(|_| needed) else {
            let missing = || PyValueError::new_err(format!("{name}: it is needed here: an array for each rank"));
            return if needed { Err(missing()) } else { Ok(Vec::new()) };
        };
        if objects.len() != self.ranks as usize {
            let what = format!("{name}: {} arrays for {} ranks; allowed: one for each", objects.len(), self.ranks);
            return Err(PyValueError::new_err(what));
        }
        let named = objects.iter().enumerate().map(|(rank, object)| (format!("{name}[{rank}]"), object));
        named.map(|(name, object)| kind(&name, object)).collect()
    }
    /// Whether `whole`, of the argument `name`, is a part for each rank, as long as `part`.
    fn check_parts(&self, name: &str, whole: &Array, part: Option<&Array>) -> PyResult<()> {
        let (bytes, ranks) = (whole.bytes(), u64::from(self.ranks));
        let each = part.map_or(bytes / ranks, Array::bytes);
        let item = whole.item_bytes();
        if let Some(other) = part.map(Array::item_bytes).filter(|&other| other != item) {
            let what =
                format!("{name}: elements of {item} B, and of {other} B in the other array; allowed: elements alike");
            return Err(PyValueError::new_err(what));
        }
        if !each.is_multiple_of(item.max(1)) {
            let what = format!("{name}: {} elements are no equal parts for {ranks} ranks", bytes / item.max(1));
            return Err(PyValueError::new_err(what));
        }
        let fits = each * ranks == bytes && (whole.layout.is_contiguous() || each.is_multiple_of(whole.layout.block));
        let what =
            || format!("{name}: {bytes} B are not {ranks} parts of {each} B, one for each rank, in whole blocks");
        if fits { Ok(()) } else { Err(PyValueError::new_err(what())) }
    }
}

/// Reads an argument as an array: `Array::sent` or `Array::received`.
type Kind = fn(&str, &Bound<'_, PyAny>) -> PyResult<Array>;

fn tagged(tag: i64) -> PyResult<u32> {
    u32::try_from(tag).map_err(|_| PyValueError::new_err(format!("tag: {tag}; allowed: 0 to {}", u32::MAX)))
}

fn needed<'a, 'py>(name: &str, object: Option<&'a Bound<'py, PyAny>>) -> PyResult<&'a Bound<'py, PyAny>> {
    object.ok_or_else(|| PyValueError::new_err(format!("{name}: it is needed at the root")))
}

/// A result goes to elements of the same type.
fn same_elements(send: Operation, recv: Operation) -> PyResult<()> {
    let name = |of: Operation| match of.element {
        Element::F64 => "float64",
        Element::F32 => "float32",
        Element::I64 => "int64",
        Element::I32 => "int32",
    };
    let what = || format!("recv: elements are {}, where those of send are {}", name(recv), name(send));
    if send == recv { Ok(()) } else { Err(PyTypeError::new_err(what())) }
}

fn equal(send: &Array, recv: &Array) -> PyResult<()> {
    let what = || format!("recv: {} B for a result of {} B; allowed: as many", recv.bytes(), send.bytes());
    if send.bytes() == recv.bytes() { Ok(()) } else { Err(PyValueError::new_err(what())) }
}

/// The exception that an error of communication is.
pub(crate) fn error_of(py: Python<'_>, error: Error) -> PyErr {
    match error {
        Error::PeerGone(rank) | Error::Refused(Refusal::PeerGone(rank)) => {
            let raised = PeerGoneError::new_err(error.to_string());
            let _ = raised.value(py).setattr("rank", rank);
            raised
        }
        Error::Truncated { .. } => TruncatedError::new_err(error.to_string()),
        other => CommError::new_err(other.to_string()),
    }
}

#[pymethods]
impl Comm {
    /// Sends `array` to the rank `to`; it may be used again when this returns.
    ///
    /// Example: ``comm.send(a[::2], to=1, tag=7)``
    #[pyo3(signature = (array, to, tag = 0))]
    fn send(&self, py: Python<'_>, array: &Bound<'_, PyAny>, to: i64, tag: i64) -> PyResult<()> {
        let (array, to, tag) = (Array::sent("array", array)?, self.peer("to", to)?, tagged(tag)?);
        self.call_on(py, Call::Send(to, tag, array.block()), [array]).map(drop)
    }
    /// Receives into `array` from the rank `source` a message with `tag`; by default any from any rank.
    ///
    /// A message longer than the array is a `TruncatedError`; a shorter one fills its beginning: see `Status.bytes`.
    ///
    /// Example: ``status = comm.recv(a, source=0, tag=7)``
    #[pyo3(signature = (array, source = ANY, tag = ANY), text_signature = "($self, array, source=-1, tag=-1)")]
    fn recv(&self, py: Python<'_>, array: &Bound<'_, PyAny>, source: i64, tag: i64) -> PyResult<Option<Status>> {
        let (array, pattern) = (Array::received("array", array)?, self.pattern(source, tag)?);
        self.call_on(py, Call::Recv(pattern, array.block()), [array]).map(status)
    }
    /// Starts a send: `array` must not be changed before the request is over.
    ///
    /// Example: ``comm.isend(a, to=1).wait()``
    #[pyo3(signature = (array, to, tag = 0))]
    fn isend(slf: &Bound<'_, Comm>, array: &Bound<'_, PyAny>, to: i64, tag: i64) -> PyResult<Request> {
        let (array, to, tag) = (Array::sent("array", array)?, slf.get().peer("to", to)?, tagged(tag)?);
        Comm::start(slf, Call::Isend(to, tag, array.block()), array)
    }
    /// Starts a receive: `array` must not be touched before the request is over.
    ///
    /// Example: ``request = comm.irecv(a, source=0)``
    #[pyo3(signature = (array, source = ANY, tag = ANY), text_signature = "($self, array, source=-1, tag=-1)")]
    fn irecv(slf: &Bound<'_, Comm>, array: &Bound<'_, PyAny>, source: i64, tag: i64) -> PyResult<Request> {
        let (array, pattern) = (Array::received("array", array)?, slf.get().pattern(source, tag)?);
        Comm::start(slf, Call::Irecv(pattern, array.block()), array)
    }
    /// Waits for a message that such a receive would take, and leaves it there.
    ///
    /// Example: ``a = np.empty(comm.probe(source=0).bytes, "u1")``
    #[pyo3(signature = (source = ANY, tag = ANY), text_signature = "($self, source=-1, tag=-1)")]
    fn probe(&self, py: Python<'_>, source: i64, tag: i64) -> PyResult<Option<Status>> {
        self.call(py, Call::Probe(self.pattern(source, tag)?)).map(status)
    }
    /// The message that such a receive would take now, or ``None``.
    ///
    /// Example: ``if comm.iprobe(tag=3): ...``
    #[pyo3(signature = (source = ANY, tag = ANY), text_signature = "($self, source=-1, tag=-1)")]
    fn iprobe(&self, py: Python<'_>, source: i64, tag: i64) -> PyResult<Option<Status>> {
        self.call(py, Call::Iprobe(self.pattern(source, tag)?)).map(status)
    }

    /// Returns when every rank has called it.
    ///
    /// Example: ``comm.barrier()``
    fn barrier(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, Call::Barrier).map(drop)
    }
    /// The `array` of the rank `root` comes to all.
    ///
    /// Example: ``comm.bcast(a, root=0)``
    #[pyo3(signature = (array, root = 0))]
    fn bcast(&self, py: Python<'_>, array: &Bound<'_, PyAny>, root: i64) -> PyResult<()> {
        let root = self.peer("root", root)?;
        if root == self.rank {
            return self.collective(py, Collective::Bcast(root), vec![Array::sent("array", array)?], vec![]);
        }
        self.collective(py, Collective::Bcast(root), vec![], vec![Array::received("array", array)?])
    }
    /// Combines every rank's `send`, element by element, into `recv` of the rank `root` (elsewhere it is not looked
    /// at). `op` is ``"sum"``, ``"min"``, ``"max"`` or ``"prod"``; elements are float64, float32,
    /// int64 or int32.
    ///
    /// Example: ``comm.reduce(a, total, op="max", root=0)``
    #[pyo3(signature = (send, recv = None, op = "sum", root = 0))]
    fn reduce(
        &self,
        py: Python<'_>,
        send: &Bound<'_, PyAny>,
        recv: Option<&Bound<'_, PyAny>>,
        op: &str,
        root: i64,
    ) -> PyResult<()> {
        let (root, send) = (self.peer("root", root)?, Array::sent("send", send)?);
        let operation = send.operation("send", op)?;
        let what = Collective::Reduce(root, operation);
        if root != self.rank {
            return self.collective(py, what, vec![send], vec![]);
        }
        let recv = Array::received("recv", needed("recv", recv)?)?;
        same_elements(operation, recv.operation("recv", op)?)?;
        equal(&send, &recv)?;
        self.collective(py, what, vec![send], vec![recv])
    }
    /// Combines every rank's `send`, element by element, into every rank's `recv`, which may be `send` itself. See
    /// `reduce`. All ranks get the same bits.
    ///
    /// Example: ``comm.allreduce(a, total)``
    #[pyo3(signature = (send, recv, op = "sum"))]
    fn allreduce(&self, py: Python<'_>, send: &Bound<'_, PyAny>, recv: &Bound<'_, PyAny>, op: &str) -> PyResult<()> {
        let (send, recv) = (Array::sent("send", send)?, Array::received("recv", recv)?);
        let operation = send.operation("send", op)?;
        let what = Collective::Allreduce(operation);
        same_elements(operation, recv.operation("recv", op)?)?;
        equal(&send, &recv)?;
        self.collective(py, what, vec![send], vec![recv])
    }
    /// Combines every rank's `send`, element by element. The result has as many equal parts as there are ranks, and
    /// each rank gets its own in `recv`. See `reduce`.
    ///
    /// Example: ``comm.reduce_scatter(whole, part)``
    #[pyo3(signature = (send, recv, op = "sum"))]
    fn reduce_scatter(
        &self,
        py: Python<'_>,
        send: &Bound<'_, PyAny>,
        recv: &Bound<'_, PyAny>,
        op: &str,
    ) -> PyResult<()> {
        let (send, recv) = (Array::sent("send", send)?, Array::received("recv", recv)?);
        let operation = send.operation("send", op)?;
        let what = Collective::ReduceScatter(operation);
        same_elements(operation, recv.operation("recv", op)?)?;
        self.collective(py, what, vec![send], vec![recv])
    }
    /// Every rank's `send` comes to its part of `recv` at the rank `root` (elsewhere it is not looked at).
    ///
    /// Example: ``comm.gather(a, whole if comm.rank == 0 else None, root=0)``
    #[pyo3(signature = (send, recv = None, root = 0))]
    fn gather(
        &self,
        py: Python<'_>,
        send: &Bound<'_, PyAny>,
        recv: Option<&Bound<'_, PyAny>>,
        root: i64,
    ) -> PyResult<()> {
        let (root, send) = (self.peer("root", root)?, Array::sent("send", send)?);
        if root != self.rank {
            return self.collective(py, Collective::Gather(root), vec![send], vec![]);
        }
        let recv = Array::received("recv", needed("recv", recv)?)?;
        self.check_parts("recv", &recv, Some(&send))?;
        self.collective(py, Collective::Gather(root), vec![send], vec![recv])
    }
    /// As `gather`, with an array for each rank, of any sizes.
    ///
    /// Example: ``comm.gatherv(a, np.split(whole, [3, 5]) if comm.rank == 0 else None)``
    #[pyo3(signature = (send, recv = None, root = 0))]
    fn gatherv(
        &self,
        py: Python<'_>,
        send: &Bound<'_, PyAny>,
        recv: Option<Vec<Bound<'_, PyAny>>>,
        root: i64,
    ) -> PyResult<()> {
        let (root, send) = (self.peer("root", root)?, Array::sent("send", send)?);
        let recv = self.each("recv", recv, Array::received, root == self.rank)?;
        recv.get(root as usize).map_or(Ok(()), |own| equal(&send, own))?;
        self.collective(py, Collective::Gatherv(root), vec![send], recv)
    }
    /// The parts of `send` at the rank `root` (elsewhere it is not looked at) come to the ranks' `recv`.
    ///
    /// Example: ``comm.scatter(whole if comm.rank == 0 else None, a, root=0)``
    #[pyo3(signature = (send, recv, root = 0))]
    fn scatter(
        &self,
        py: Python<'_>,
        send: Option<&Bound<'_, PyAny>>,
        recv: &Bound<'_, PyAny>,
        root: i64,
    ) -> PyResult<()> {
        let (root, recv) = (self.peer("root", root)?, Array::received("recv", recv)?);
        if root != self.rank {
            return self.collective(py, Collective::Scatter(root), vec![], vec![recv]);
        }
        let send = Array::sent("send", needed("send", send)?)?;
        self.check_parts("send", &send, Some(&recv))?;
        self.collective(py, Collective::Scatter(root), vec![send], vec![recv])
    }
    /// As `scatter`, with an array for each rank, of any sizes.
    ///
    /// Example: ``comm.scatterv(np.split(whole, [3, 5]) if comm.rank == 0 else None, a)``
    #[pyo3(signature = (send, recv, root = 0))]
    fn scatterv(
        &self,
        py: Python<'_>,
        send: Option<Vec<Bound<'_, PyAny>>>,
        recv: &Bound<'_, PyAny>,
        root: i64,
    ) -> PyResult<()> {
        let (root, recv) = (self.peer("root", root)?, Array::received("recv", recv)?);
        let send = self.each("send", send, Array::sent, root == self.rank)?;
        send.get(root as usize).map_or(Ok(()), |own| equal(own, &recv))?;
        self.collective(py, Collective::Scatterv(root), send, vec![recv])
    }
    /// Every rank's `send` comes to its part of every rank's `recv`.
    ///
    /// Example: ``comm.allgather(a, whole)``
    fn allgather(&self, py: Python<'_>, send: &Bound<'_, PyAny>, recv: &Bound<'_, PyAny>) -> PyResult<()> {
        let (send, recv) = (Array::sent("send", send)?, Array::received("recv", recv)?);
        self.check_parts("recv", &recv, Some(&send))?;
        self.collective(py, Collective::Allgather, vec![send], vec![recv])
    }
    /// As `allgather`, with an array for each rank, of any sizes.
    ///
    /// Example: ``comm.allgatherv(a, np.split(whole, [3, 5]))``
    fn allgatherv(&self, py: Python<'_>, send: &Bound<'_, PyAny>, recv: Vec<Bound<'_, PyAny>>) -> PyResult<()> {
        let send = Array::sent("send", send)?;
        let recv = self.each("recv", Some(recv), Array::received, true)?;
        equal(&send, &recv[self.rank as usize])?;
        self.collective(py, Collective::Allgatherv, vec![send], recv)
    }
    /// Each part of every rank's `send` comes to its rank's part of `recv`.
    ///
    /// Example: ``comm.alltoall(a, b)``
    fn alltoall(&self, py: Python<'_>, send: &Bound<'_, PyAny>, recv: &Bound<'_, PyAny>) -> PyResult<()> {
        let (send, recv) = (Array::sent("send", send)?, Array::received("recv", recv)?);
        self.check_parts("send", &send, None)?;
        self.check_parts("recv", &recv, None)?;
        equal(&send, &recv)?;
        self.collective(py, Collective::Alltoall, vec![send], vec![recv])
    }
    /// As `alltoall`, with an array for each rank, of any sizes.
    ///
    /// Example: ``comm.alltoallv(np.split(a, [3, 5]), np.split(b, [2, 4]))``
    fn alltoallv(&self, py: Python<'_>, send: Vec<Bound<'_, PyAny>>, recv: Vec<Bound<'_, PyAny>>) -> PyResult<()> {
        let send = self.each("send", Some(send), Array::sent, true)?;
        let recv = self.each("recv", Some(recv), Array::received, true)?;
        equal(&send[self.rank as usize], &recv[self.rank as usize])?;
        self.collective(py, Collective::Alltoallv, send, recv)
    }

    /// Zeroed memory of `size` bytes. ``kind`` is "shared" (a regular segment, which the other rank reads and writes
    /// itself), "private" or "default" (which messages move best). Private memory is ordinary memory, which is
    /// registered before another rank reaches it. ``align`` is "default" (as the port moves best), "none", or bytes, a
    /// power of two. These are W01's attributes. Arrays on it are sent and received like others. It is freed with its
    /// last view.
    ///
    /// Example: ``a = np.frombuffer(comm.alloc(8000, "private", align=4096), dtype="f8")``
    #[pyo3(signature = (size, kind = "default", align = None))]
    fn alloc<'py>(
        &self,
        py: Python<'py>,
        size: u64,
        kind: &str,
        align: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyMemoryView>> {
        if size > MOST_BYTES {
            return Err(PyValueError::new_err(format!("size: {size}; allowed: 0 to {MOST_BYTES}")));
        }
        let kind = match kind {
            "default" => MemoryKind::Default,
            "shared" => MemoryKind::Shared,
            "private" => MemoryKind::Private,
            other => {
                let what = format!("kind: {other:?}; allowed: default, shared, private");
                return Err(PyValueError::new_err(what));
            }
        };
        let align = align.map_or(Ok(Align::Default), alignment)?;
        let segment = Segment::new(py, self.carrier()?, Call::Alloc(size, kind, align))?;
        let segment = segment.map_err(|error| error_of(py, error))?;
        PyMemoryView::from(Bound::new(py, segment)?.as_any())
    }
    /// This rank's clock, in seconds: that of the machine, or the simulation's.
    ///
    /// Example: ``start = comm.time(); comm.barrier(); took = comm.time() - start``
    fn time(&self, py: Python<'_>) -> PyResult<f64> {
        match self.call(py, Call::Time)? {
            Reply::Time(time) => Ok(time.s()),
            _ => Err(CommError::new_err("there is no clock")),
        }
    }
    /// Computes for the given seconds: keeps a core busy, or charges them to the simulation's time. The program's other
    /// work takes none of that time.
    ///
    /// Example: ``comm.compute(50e-6)``
    fn compute(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        if !(0.0..=1e6).contains(&seconds) {
            return Err(PyValueError::new_err(format!("seconds: {seconds}; allowed: 0 to 1e6")));
        }
        self.call(py, Call::Compute(Time::from_ns(seconds * 1e9))).map(drop)
    }

    /// The program has ended: the other ranks do not take this one's silence for a death.
    #[pyo3(name = "_close")]
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, Call::Close)?;
        let carrier = self.own.get()?.carrier.borrow_mut().take();
        drop(carrier);
        Ok(())
    }
}

fn status(reply: Reply) -> Option<Status> {
    match reply {
        Reply::Received(status) => Some(status.into()),
        _ => None,
    }
}

/// "default", "none", or bytes.
fn alignment(asked: &Bound<'_, PyAny>) -> PyResult<Align> {
    let word = asked.extract::<String>().ok();
    let bytes = asked.extract::<u64>().ok().filter(|bytes| bytes.is_power_of_two() && *bytes <= MOST_ALIGN);
    match (word.as_deref(), bytes) {
        (Some("default"), _) => Ok(Align::Default),
        (Some("none"), _) => Ok(Align::None),
        (_, Some(bytes)) => Ok(Align::Bytes(bytes)),
        _ => {
            let what = format!("align: {asked}; allowed: default, none, a power of two of at most {MOST_ALIGN} bytes");
            Err(PyValueError::new_err(what))
        }
    }
}
