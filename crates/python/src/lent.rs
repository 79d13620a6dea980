//! Arrays as spans: memory that Python owns, lent to a port for the time of an operation. The unsafe code of this
//! crate is here.
#![allow(unsafe_code)]

use crate::CommError;
use crate::array::Array;
use crate::carrier::Carrier;
use crate::desk::{Call, Reply};
use hotlink_message::{Comm, Error};
use hotlink_port::{Kind, Layout, Memory, Port, Span};
use hotlink_real::Lend;
use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::collections::{BTreeMap, VecDeque};
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

// SAFETY: a block only says where bytes are; what may be done with them, and when, is the business of who looks at
// them: here, lenders alone.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// The bytes of `array`, which whoever keeps the block keeps as well.
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

/// How a port of kind `P` gets at blocks of this process.
pub(crate) trait Lender<P: Port> {
    /// What it keeps from one call to the next.
    type Kept: Default;
    /// Memory of the port for the block.
    fn memory(comm: &Comm<P>, kept: &mut Self::Kept, block: &Block) -> Result<Memory, Error>;
    /// The end of that.
    fn forget(comm: &Comm<P>, kept: &mut Self::Kept, block: &Block, memory: Memory) -> Result<(), Error>;
    /// What the program wrote to the block is in `span`.
    fn put(comm: &Comm<P>, block: &Block, span: Span) -> Result<(), Error>;
    /// What was received into `span` is in the block.
    fn take(comm: &Comm<P>, block: &Block, span: Span) -> Result<(), Error>;
    /// Memory that the port moves best, as long as the block that may stand for it, and the block that it is.
    fn alloc(comm: &Comm<P>, stand_in: Block) -> Result<(Memory, Block), Error>;
}

/// The port works on the block itself.
pub(crate) struct InPlace;

impl<P: Lend> Lender<P> for InPlace {
    type Kept = ();
    fn memory(comm: &Comm<P>, (): &mut (), block: &Block) -> Result<Memory, Error> {
        // SAFETY: a block is of an array whose buffer the caller keeps until the operation is over, or the port gone;
        // buffers that Python has given out are not moved or freed. Received into are only those that may be written.
        Ok(comm.with_port(|port| unsafe { port.lend(block.start, block.layout.extent()) }))
    }
    fn forget(comm: &Comm<P>, (): &mut (), _: &Block, memory: Memory) -> Result<(), Error> {
        comm.free(memory)
    }
    fn put(_: &Comm<P>, _: &Block, _: Span) -> Result<(), Error> {
        Ok(())
    }
    fn take(_: &Comm<P>, _: &Block, _: Span) -> Result<(), Error> {
        Ok(())
    }
    fn alloc(comm: &Comm<P>, stand_in: Block) -> Result<(Memory, Block), Error> {
        let memory = comm.alloc(stand_in.layout.bytes(), Kind::Default)?;
        let start = comm.with_port(|port| port.start(memory))?;
        Ok((memory, Block { start, ..stand_in }))
    }
}

/// The port has memory of its own, to which blocks are copied and from there back, at no cost in its time: a simulated
/// one. Memory is kept for the next block of as many bytes, so that what is set up for it is set up once.
pub(crate) struct ByCopy;

/// Blocks of memory that are kept for the next.
const KEPT: usize = 64;

impl<P: Port> Lender<P> for ByCopy {
    type Kept = VecDeque<(u64, Memory)>;
    fn memory(comm: &Comm<P>, kept: &mut Self::Kept, block: &Block) -> Result<Memory, Error> {
        let bytes = block.layout.extent();
        let found = kept.iter().rposition(|&(size, _)| size == bytes).and_then(|place| kept.remove(place));
        found.map_or_else(|| comm.alloc(bytes, Kind::Private), |(_, memory)| Ok(memory))
    }
    fn forget(comm: &Comm<P>, kept: &mut Self::Kept, block: &Block, memory: Memory) -> Result<(), Error> {
        kept.push_back((block.layout.extent(), memory));
        match kept.len() > KEPT {
            true => kept.pop_front().map_or(Ok(()), |(_, memory)| comm.free(memory)),
            false => Ok(()),
        }
    }
    fn put(comm: &Comm<P>, block: &Block, span: Span) -> Result<(), Error> {
        for (at, bytes) in block.layout.runs(0, block.layout.bytes()) {
            // SAFETY: the run lies inside the block, which is there until the operation is over, and its owner waits
            // for this call.
            let from = unsafe { std::slice::from_raw_parts(block.start.wrapping_add(at as usize), bytes as usize) };
            comm.write(span.memory, span.offset + at, from)?;
        }
        Ok(())
    }
    fn take(comm: &Comm<P>, block: &Block, span: Span) -> Result<(), Error> {
        for (at, bytes) in block.layout.runs(0, block.layout.bytes()) {
            // SAFETY: as above, and the block may be written; gaps between the runs are not touched.
            let into = unsafe { std::slice::from_raw_parts_mut(block.start.wrapping_add(at as usize), bytes as usize) };
            comm.read(span.memory, span.offset + at, into)?;
        }
        Ok(())
    }
    fn alloc(comm: &Comm<P>, stand_in: Block) -> Result<(Memory, Block), Error> {
        Ok((comm.alloc(stand_in.layout.bytes(), Kind::Default)?, stand_in))
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
    /// What stands for it where the port has no memory in this process.
    stand_in: Option<Box<[u8]>>,
    /// Keeps the port, and with it the memory, though its program may be over.
    carrier: Own<Rc<dyn Carrier>>,
}

impl Segment {
    pub(crate) fn new(py: Python<'_>, carrier: Rc<dyn Carrier>, bytes: u64) -> PyResult<Result<Segment, Error>> {
        let mut stand_in = if carrier.is_apart() { Some(zeros(bytes as usize)?) } else { None };
        let start = stand_in.as_mut().map_or(std::ptr::null_mut(), |bytes| bytes.as_mut_ptr());
        let asked = Block { start, layout: Layout::contiguous(bytes) };
        Ok(match carrier.call(py, Call::Alloc(asked))? {
            Ok(Reply::Allocated(block)) => Ok(Segment { block, stand_in, carrier: Own::new(carrier) }),
            Ok(_) => Err(Error::NoRequest),
            Err(error) => Err(error),
        })
    }
}

fn zeros(bytes: usize) -> PyResult<Box<[u8]>> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(bytes).map_err(|error| PyMemoryError::new_err(error.to_string()))?;
    zeros.resize(bytes, 0);
    Ok(zeros.into_boxed_slice())
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
    /// Nobody has a view of it any more, nor any request.
    fn drop(&mut self) {
        if let Ok(carrier) = self.carrier.get() {
            // Of a simulation that is over nothing needs to be freed.
            let _ = Python::attach(|py| carrier.call(py, Call::Free(self.block)));
        }
        self.stand_in = None;
    }
}

/// What serves the thread alone that made it, inside of an object that any thread may hold.
pub(crate) struct Own<T> {
    thread: ThreadId,
    value: ManuallyDrop<T>,
}

// SAFETY: the value is reached on the thread that made it and on no other, which `get` and `drop` look at.
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
    // SAFETY: `detach` runs its closure on the calling thread and hands back the result there; that it must be `Send`
    // only keeps Python objects out, and the works of this crate (polls of messages) hold none.
    unsafe impl<T> Send for Here<T> {}
    impl<F: FnOnce() -> T, T> Here<F> {
        fn run(self) -> Here<T> {
            Here((self.0)())
        }
    }
    let work = Here(work);
    py.detach(move || work.run()).0
}
