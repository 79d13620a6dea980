//! Arrays as spans: memory that Python owns, lent to a port for the time of an operation. The unsafe code of this
//! crate is here.
#![allow(unsafe_code)]

use crate::CommError;
use crate::array::Array;
use crate::carrier::Carrier;
use crate::desk::{Call, Reply};
use hotlink_message::Error;
use hotlink_port::{Layout, Memory, Port, Span};
use hotlink_real::Lend;
use hotlink_seats::Door;
use pyo3::ffi;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::rc::Rc;
use std::thread::ThreadId;

/// Which bytes of this process an array is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    start: *mut u8,
    pub(crate) layout: Layout,
}

// SAFETY: a block only says where bytes are. Its readers, which are lenders alone, decide what may be done with them
// and when.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// `bytes` from `start` on.
    pub(crate) fn row(start: *mut u8, bytes: u64) -> Block {
        Block { start, layout: Layout::contiguous(bytes) }
    }
    /// The bytes of `array`. The owner of the block must keep the array as well.
    pub(crate) fn of(array: &Array) -> Block {
        Block { start: array.start(), layout: array.layout }
    }
    pub(crate) fn is_same(&self, other: &Block) -> bool {
        self.start == other.start && self.layout == other.layout
    }
    /// Whether a byte of the one is a byte of the other; may be mistaken only in that they do.
    pub(crate) fn overlaps(&self, other: &Block) -> bool {
        let (a, b) = (self.start as u64, other.start as u64);
        let (l, m) = (self.layout, other.layout);
        if a + l.extent() <= b || b + m.extent() <= a {
            return false;
        }
        if l.is_contiguous() || m.is_contiguous() || l.stride != m.stride {
            return true;
        }
        // Combs with the same pitch: apart if the one's teeth fit into the other's gaps.
        let phase = (i128::from(b) - i128::from(a)).rem_euclid(i128::from(l.stride)) as u64;
        phase < l.block || phase + m.block > l.stride
    }
}

/// How a port of kind `P` gets at blocks of this process, and how its ranks wait.
pub(crate) trait Lender<P: Port> {
    /// Polls of a call before other threads of the interpreter may run. A call that is over at once, or nearly, does
    /// not wait for them.
    const SPINS: u32;
    /// Memory of the port that the block lies in, and where in it the block begins.
    fn memory(port: &mut P, block: &Block) -> (Memory, u64);
    /// Whether that name is given back after each operation.
    const FORGETS: bool;
    /// A poll found nothing to do.
    fn rest(port: &mut P);
}

/// On real ports a block has a name as long as an operation uses it, and time goes on by itself.
pub(crate) struct Real;

impl<P: Lend> Lender<P> for Real {
    const SPINS: u32 = 256;
    const FORGETS: bool = true;
    fn memory(port: &mut P, block: &Block) -> (Memory, u64) {
        // SAFETY: a block is of an array whose buffer the caller keeps until the operation is over, or the port gone.
        // Python neither moves nor frees a buffer that it has given out. Only writable buffers receive.
        (unsafe { port.lend(block.start, block.layout.extent()) }, 0)
    }
    fn rest(_: &mut P) {}
}

/// On simulated ports a block keeps its name for the next operation, so that it is registered once. Time goes on when
/// the rank says that it waits.
pub(crate) struct Simulated;

impl Lender<Door> for Simulated {
    const SPINS: u32 = 1;
    const FORGETS: bool = false;
    fn memory(port: &mut Door, block: &Block) -> (Memory, u64) {
        // SAFETY: as above. The name of an array that is gone is used by no operation.
        unsafe { port.piece(block.start as u64, block.layout.extent()) }
    }
    fn rest(port: &mut Door) {
        port.suspend();
    }
}

/// Blocks that the port allocated, by where they start.
#[derive(Default)]
pub(crate) struct Segments(BTreeMap<usize, (u64, Memory)>);

impl Segments {
    pub(crate) fn add(&mut self, block: &Block, memory: Memory) {
        self.0.insert(block.start as usize, (block.layout.bytes(), memory));
    }
    pub(crate) fn remove(&mut self, block: &Block) -> Option<Memory> {
        self.0.remove(&(block.start as usize)).map(|(_, memory)| memory)
    }
    /// The span that the block is, if it lies in one of them.
    pub(crate) fn find(&self, block: &Block) -> Option<Span> {
        let (start, &(bytes, memory)) = self.0.range(..=block.start as usize).next_back()?;
        let offset = (block.start as usize - start) as u64;
        (offset + block.layout.extent() <= bytes).then_some(Span { memory, offset, layout: block.layout })
    }
}

/// Memory that the port allocated: see `Comm.alloc`.
#[pyclass(frozen)]
pub(crate) struct Segment {
    block: Block,
    /// Keeps the port, and with it the memory, though its program may be over.
    carrier: Own<Rc<dyn Carrier>>,
}

impl Segment {
    pub(crate) fn new(py: Python<'_>, carrier: Rc<dyn Carrier>, asked: Call) -> PyResult<Result<Segment, Error>> {
        Ok(match carrier.call(py, asked)? {
            Ok(Reply::Allocated(block)) => Ok(Segment { block, carrier: Own::new(carrier) }),
            Ok(_) => Err(Error::NoRequest),
            Err(error) => Err(error),
        })
    }
}

#[pymethods]
impl Segment {
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let block = slf.get().block;
        let bytes = block.layout.bytes() as ffi::Py_ssize_t;
        // SAFETY: the interpreter gives a view to be filled; it keeps the segment, which keeps the memory.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), block.start.cast(), bytes, 0, flags) };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

impl Drop for Segment {
    /// No view of it is left, nor any request.
    fn drop(&mut self) {
        if let Ok(carrier) = self.carrier.get() {
            // Of a simulation that is over nothing needs to be freed.
            let _ = Python::attach(|py| carrier.call(py, Call::Free(self.block)));
        }
    }
}

/// A value for the thread alone that made it, inside of an object that any thread may hold.
pub(crate) struct Own<T> {
    thread: ThreadId,
    value: ManuallyDrop<T>,
}

// SAFETY: the value is reached on the thread that made it and on no other, which `get` and `drop` check.
unsafe impl<T> Send for Own<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Own<T> {}

impl<T> Own<T> {
    pub(crate) fn new(value: T) -> Own<T> {
        Own { thread: std::thread::current().id(), value: ManuallyDrop::new(value) }
    }
    pub(crate) fn get(&self) -> PyResult<&T> {
        if self.thread == std::thread::current().id() {
            return Ok(&self.value);
        }
        Err(CommError::new_err("a communicator serves its rank's own thread alone"))
    }
}

impl<T> Drop for Own<T> {
    /// On another thread, it is never dropped.
    fn drop(&mut self) {
        if self.thread == std::thread::current().id() {
            // SAFETY: here alone, once, on its own thread.
            unsafe { ManuallyDrop::drop(&mut self.value) }
        }
    }
}

/// Runs `work` on this thread while other threads of the interpreter may run.
pub(crate) fn detached<T>(py: Python<'_>, work: impl FnOnce() -> T) -> T {
    struct Here<T>(T);
    // SAFETY: `detach` runs its closure on the calling thread and returns the result there. `Send` serves only to keep
    // Python objects out, and the works of this crate (polls of messages) hold none.
    unsafe impl<T> Send for Here<T> {}
    impl<F: FnOnce() -> T, T> Here<F> {
        fn run(self) -> Here<T> {
            Here((self.0)())
        }
    }
    let work = Here(work);
    py.detach(move || work.run()).0
}
