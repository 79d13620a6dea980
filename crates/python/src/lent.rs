//! Arrays as spans: memory that Python owns, lent to a port for the time of an operation. The unsafe code of this
//! crate is here.
#![allow(unsafe_code)]

use crate::CommError;
use crate::array::Array;
use hotlink_message::{Comm, Error};
use hotlink_port::{Kind, Layout, Memory, Port, Span};
use hotlink_real::Lend;
use pyo3::{PyResult, Python};
use std::collections::VecDeque;
use std::mem::ManuallyDrop;
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
    /// The block as a span of `comm`, until [`Lender::take_back`].
    fn lend(comm: &Comm<P>, kept: &mut Self::Kept, block: &Block) -> Result<Span, Error>;
    /// The operation is over; `received`: into this block.
    fn take_back(comm: &Comm<P>, kept: &mut Self::Kept, block: &Block, span: Span, received: bool)
    -> Result<(), Error>;
}

/// Blocks of memory that are kept for the next.
const KEPT: usize = 64;

/// The port works on the block itself.
pub(crate) struct InPlace;

impl<P: Lend> Lender<P> for InPlace {
    type Kept = ();
    fn lend(comm: &Comm<P>, (): &mut (), block: &Block) -> Result<Span, Error> {
        // SAFETY: a block is of an array whose buffer the caller keeps until the operation is over, or the port gone;
        // buffers that Python has given out are not moved or freed. Received into are only those that may be written.
        let memory = comm.with_port(|port| unsafe { port.lend(block.start, block.layout.extent()) });
        Ok(Span { memory, offset: 0, layout: block.layout })
    }
    fn take_back(comm: &Comm<P>, (): &mut (), _: &Block, span: Span, _: bool) -> Result<(), Error> {
        comm.free(span.memory)
    }
}

/// The port has memory of its own, to which blocks are copied and from there back, at no cost in its time: a simulated
/// one. Memory is kept for the next block of as many bytes, so that what is set up for it is set up once.
pub(crate) struct ByCopy;

impl<P: Port> Lender<P> for ByCopy {
    type Kept = VecDeque<(u64, Memory)>;
    fn lend(comm: &Comm<P>, kept: &mut Self::Kept, block: &Block) -> Result<Span, Error> {
        let bytes = block.layout.extent();
        let found = kept.iter().rposition(|&(size, _)| size == bytes).and_then(|place| kept.remove(place));
        let memory = found.map_or_else(|| comm.alloc(bytes, Kind::Private), |(_, memory)| Ok(memory))?;
        if bytes > 0 {
            // SAFETY: as for a block that is lent in place: it is there until the operation is over, and its owner
            // waits for this call.
            comm.write(memory, 0, unsafe { std::slice::from_raw_parts(block.start, bytes as usize) })?;
        }
        Ok(Span { memory, offset: 0, layout: block.layout })
    }
    fn take_back(
        comm: &Comm<P>,
        kept: &mut Self::Kept,
        block: &Block,
        span: Span,
        received: bool,
    ) -> Result<(), Error> {
        let whole = block.layout.bytes();
        for (at, bytes) in block.layout.runs(0, if received { whole } else { 0 }) {
            // SAFETY: the runs lie inside the block, which may be written; gaps between them are not touched.
            let into = unsafe { std::slice::from_raw_parts_mut(block.start.wrapping_add(at as usize), bytes as usize) };
            comm.read(span.memory, at, into)?;
        }
        kept.push_back((block.layout.extent(), span.memory));
        match kept.len() > KEPT {
            true => kept.pop_front().map_or(Ok(()), |(_, memory)| comm.free(memory)),
            false => Ok(()),
        }
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
