//! Arrays as spans: memory that Python owns, lent to a port for the time of an operation. The unsafe code of this
//! crate is here.
#![allow(unsafe_code)]

use crate::array::Array;
use hotlink_message::{Comm, Error};
use hotlink_port::{Layout, Port, Span};
use hotlink_real::Lend;
use pyo3::Python;

/// Which bytes of this process an array is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    start: *mut u8,
    pub(crate) layout: Layout,
}

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
    /// The block as a span of `comm`, until [`Lender::take_back`].
    fn lend(comm: &Comm<P>, block: &Block) -> Result<Span, Error>;
    /// The operation is over; `received`: into this block.
    fn take_back(comm: &Comm<P>, block: &Block, span: Span, received: bool) -> Result<(), Error>;
}

/// The port works on the block itself.
pub(crate) struct InPlace;

impl<P: Lend> Lender<P> for InPlace {
    fn lend(comm: &Comm<P>, block: &Block) -> Result<Span, Error> {
        // SAFETY: a block is of an array whose buffer the caller keeps until the operation is over, or the port gone;
        // buffers that Python has given out are not moved or freed. Received into are only those that may be written.
        let memory = comm.with_port(|port| unsafe { port.lend(block.start, block.layout.extent()) });
        Ok(Span { memory, offset: 0, layout: block.layout })
    }
    fn take_back(comm: &Comm<P>, _: &Block, span: Span, _: bool) -> Result<(), Error> {
        comm.free(span.memory)
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
