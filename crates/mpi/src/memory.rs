//! The program's memory: where messages are packed from and unpacked to, and how the port gets at it.
#![allow(unsafe_code)]

use crate::pointer::Address;
use hotlink_message::Comm;
use hotlink_port::{Layout, Memory, Span};
use hotlink_real::{Assists, How, Latch, Latches, Lend, Neighbor, Seat, Word};
use hotlink_standard::{Basic, Builtin, Datatype, Run};
use std::rc::Rc;

/// Beyond the addresses that a process of this kind can have.
const END: u64 = 1 << 47;

/// All memory of this process under one name: a buffer is a span of it, so that nothing is registered buffer by buffer. On a
/// simulated fabric, where registering costs what it costs, each buffer has a name of its own.
#[derive(Clone)]
pub(crate) struct Everything {
    memory: Memory,
    // Every buffer of a call holds this: it must be short.
    by_piece: Option<Rc<Comm<Seat>>>,
}

impl Everything {
    pub(crate) fn of(comm: &Comm<Seat>) -> Everything {
        if comm.with_port(|port| port.is_simulated()) {
            return Everything { memory: Memory(0), by_piece: Some(Rc::new(comm.clone())) };
        }
        // SAFETY: all spans are of buffers that the program gave to a call, or of `Scratch`. The standard has the
        // program keep those valid, and leave them alone, until the operation is over.
        let memory = comm.with_port(|port| unsafe { port.lend(std::ptr::null_mut(), END) });
        Everything { memory, by_piece: None }
    }
    #[inline(always)]
    fn span(&self, at: Address, layout: Layout) -> Span {
        match &self.by_piece {
            None => Span { memory: self.memory, offset: at.0 as u64, layout },
            Some(comm) => Everything::piece(comm, at, layout),
        }
    }
    #[cold]
    fn piece(comm: &Comm<Seat>, at: Address, layout: Layout) -> Span {
        // SAFETY: as above.
        let named = |port: &mut Seat| unsafe { port.name(at.0 as *mut u8, layout.extent()) };
        let (memory, offset) = comm.with_port(named);
        Span { memory, offset, layout }
    }
    #[inline(always)]
    pub(crate) fn row(&self, at: Address, bytes: u64) -> Span {
        self.span(at, Layout::contiguous(bytes))
    }
    /// Equal blocks at equal distances.
    #[inline]
    pub(crate) fn blocks(&self, at: Address, run: Run) -> Span {
        let layout = if run.count == 1 {
            Layout::contiguous(run.bytes)
        } else {
            Layout::strided(run.bytes, run.count, run.stride as u64)
        };
        self.span(at.plus(run.at), layout)
    }
}

/// Memory of the library's own that a port moves to or from.
pub(crate) struct Scratch {
    start: *mut u8,
    bytes: usize,
}

impl Scratch {
    pub(crate) fn new(bytes: u64) -> Scratch {
        let bytes = bytes as usize;
        // In words, so that any element is aligned.
        let words = vec![0u128; bytes.div_ceil(size_of::<u128>())].into_boxed_slice();
        Scratch { start: Box::into_raw(words).cast(), bytes }
    }
    pub(crate) fn address(&self) -> Address {
        Address::of(self.start)
    }
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `self.bytes` were allocated; the port writes them only while an operation is under way, before this
        // is called.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and they are borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let words = self.bytes.div_ceil(size_of::<u128>());
        let words = std::ptr::slice_from_raw_parts_mut(self.start.cast::<u128>(), words);
        // SAFETY: it is the box of `new`.
        drop(unsafe { Box::from_raw(words) });
    }
}

/// Each block of `count` elements at `buffer`, in order, and where it begins in their packed form; ends when `visit` says so.
pub(crate) fn each_block(
    buffer: Address,
    count: u64,
    datatype: &Datatype,
    mut visit: impl FnMut(Address, u64, u64) -> bool,
) {
    let mut packed = 0;
    // Elements that follow each other are one block.
    let regular = datatype.regular(count).filter(|run| run.bytes > 0);
    let (count, runs) = regular.as_ref().map_or((count, datatype.runs()), |run| (1, std::slice::from_ref(run)));
    for element in 0..count {
        let start = buffer.plus(element as i64 * datatype.extent());
        for run in runs {
            for block in 0..run.count {
                if !visit(start.plus(run.at + block as i64 * run.stride), packed, run.bytes) {
                    return;
                }
                packed += run.bytes;
            }
        }
    }
}

/// Packs elements of the program's memory.
pub(crate) fn pack(buffer: Address, count: u64, datatype: &Datatype, into: &mut [u8]) {
    let room = into.len() as u64;
    each_block(buffer, count, datatype, |from, at, bytes| {
        let bytes = bytes.min(room.saturating_sub(at));
        let into = into[at as usize..].as_mut_ptr();
        // SAFETY: the program's elements are where the datatype says; the room was checked.
        unsafe { std::ptr::copy_nonoverlapping(from.0 as *const u8, into, bytes as usize) };
        at + bytes < room
    });
}

/// Unpacks as many bytes as came.
pub(crate) fn unpack(from: &[u8], buffer: Address, count: u64, datatype: &Datatype) {
    let came = from.len() as u64;
    if came == 0 {
        return;
    }
    each_block(buffer, count, datatype, |into, at, bytes| {
        let bytes = bytes.min(came - at);
        // SAFETY: as in `pack`.
        unsafe { std::ptr::copy_nonoverlapping(from[at as usize..].as_ptr(), into.0 as *mut u8, bytes as usize) };
        at + bytes < came
    });
}

/// The bytes at an address.
pub(crate) fn read(at: Address, bytes: u64) -> Vec<u8> {
    let mut all = vec![0; bytes as usize];
    look(at, &mut all);
    all
}

/// The same, into memory that is there.
#[inline(always)]
pub(crate) fn look(at: Address, into: &mut [u8]) {
    if into.is_empty() {
        return;
    }
    // SAFETY: the program gave that many bytes there to the call.
    unsafe { std::ptr::copy_nonoverlapping(at.0 as *const u8, into.as_mut_ptr(), into.len()) };
}

/// Writes bytes to an address.
#[inline(always)]
pub(crate) fn write(at: Address, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    // SAFETY: the program gave so much room there to the call.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at.0 as *mut u8, bytes.len()) };
}

/// Reads bytes of a window's part, which may be a neighbor's; `None`: they are not there.
pub(crate) fn look_at(of: Option<&Neighbor>, at: Address, into: &mut [u8]) -> Option<()> {
    match of {
        Some(of) => of.read(at.0 as u64, into).then_some(()),
        None => {
            look(at, into);
            Some(())
        }
    }
}

/// Writes bytes there.
pub(crate) fn write_at(of: Option<&Neighbor>, at: Address, bytes: &[u8]) -> Option<()> {
    match of {
        Some(of) => moves(of, Address::of(bytes.as_ptr()), at, bytes.len() as u64, true).then_some(()),
        None => {
            write(at, bytes);
            Some(())
        }
    }
}

/// Moves a row of the program's bytes to a neighbor's part of a window, or from there; whether all were moved.
pub(crate) fn moves(of: &Neighbor, row: Address, there: Address, bytes: u64, out: bool) -> bool {
    // SAFETY: the program gave `bytes` here to the call, and there to the window.
    unsafe { of.moves(row.0 as u64, there.0 as u64, bytes, out) }
}

/// Has a neighbor combine numbers of its part with the program's, if it is ready for that; whether it did. `into` gets them as
/// they were.
pub(crate) fn combines(
    of: &Neighbor,
    (from, into): (Address, Option<Address>),
    (there, bytes): (Address, usize),
    (op, basic): (Builtin, Basic),
) -> bool {
    let how = if op == Builtin::Nothing { Some(How::Leave) } else { op.numbered(basic).map(How::Combine) };
    let into = into.map_or(0, |into| into.0) as *mut u8;
    // SAFETY: the program gave `bytes` here to the call, and there to the window.
    how.is_some_and(|how| unsafe { of.combines(there.0 as u64, bytes, how, from.0 as *const u8, into) })
}

/// Replaces a number of a neighbor's part by a new one, if it is as expected; `into` gets it as it was.
pub(crate) fn swaps(of: &Neighbor, there: Address, [new, expected, into]: [Address; 3], bytes: u64) -> Option<()> {
    let mut now = vec![0; bytes as usize];
    look_at(Some(of), there, &mut now)?;
    write(into, &now);
    if now == read(expected, bytes) { write_at(Some(of), there, &read(new, bytes)) } else { Some(()) }
}

/// Where rank `own` of `all` asks others for help in a window, and is asked. The system's copy takes `limit_ns`.
pub(crate) fn assists(at: Address, ranks: (u32, u32), limit_ns: u64) -> Assists {
    // SAFETY: as for `latches`, and windows are their ranks' to write.
    unsafe { Assists::at(at.0 as *mut u8, ranks, limit_ns, Builtin::combine_numbered) }
}

/// Moves elements of the program's memory to a row of bytes, or from there.
pub(crate) fn carry(buffer: Address, count: u64, datatype: &Datatype, row: Address, out: bool) {
    each_block(buffer, count, datatype, |at, packed, bytes| {
        let (at, row) = (at.0 as *mut u8, row.plus(packed as i64).0 as *mut u8);
        let (from, to) = if out { (at, row) } else { (row, at) };
        // SAFETY: as in `pack`, and the caller has checked the row. The two may be one memory.
        unsafe {
            match bytes {
                // Most one-sided calls move one word, for which calling a function costs more than moving it.
                8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
                _ => std::ptr::copy(from, to, bytes as usize),
            }
        }
        true
    });
}

/// A word at an address, aligned or not.
#[inline(always)]
pub(crate) fn load<W: Word>(at: Address) -> W {
    // SAFETY: as in `look`; a word is bytes.
    unsafe { (at.0 as *const W).read_unaligned() }
}

/// Copies a word. The two may be one.
#[inline(always)]
pub(crate) fn copy<W: Word>(from: Address, to: Address) {
    // SAFETY: as in `write`.
    unsafe { (to.0 as *mut W).write_unaligned(load(from)) };
}

/// Lets `how` change bytes of a window where they are, by as many of the call's that are not the same. No bytes may be at no
/// address.
pub(crate) fn alter(at: Address, from: Address, bytes: usize, how: impl FnOnce(&mut [u8], &[u8]) -> bool) {
    // SAFETY: they are in the window. While its latch is held, or its own rank's task works, no other call changes them. The
    // program, or the library, leaves what it gave the call alone meanwhile.
    unsafe {
        let now = std::slice::from_raw_parts_mut(at.0.max(1) as *mut u8, bytes);
        how(now, std::slice::from_raw_parts(from.0.max(1) as *const u8, bytes));
    }
}

/// Changes a word of a window; see [`hotlink_real::Latch::change`].
#[inline(always)]
pub(crate) fn change<W: Word>(
    (at, latch): (Address, &Latch),
    more: Option<W>,
    change: impl FnMut(W) -> Option<W>,
) -> Option<W> {
    // SAFETY: the place was checked to be in the window. Whatever else combines there has the latch alone.
    unsafe { latch.change(at.0 as *mut u8, more, change) }
}

/// The latches of a window that ranks share, for rank `own` of `all`.
pub(crate) fn latches(at: Address, own: u32, all: u32, by_steps: bool) -> Latches {
    // SAFETY: these bytes at the end of the window's memory are zero at first, and no other code reaches them while the
    // window lives.
    unsafe { Latches::at(at.0 as *mut u8, own, all, by_steps) }
}

/// Memory for the program, aligned for any use; null where there is none.
pub(crate) fn allocate(bytes: usize) -> Address {
    let mut start = std::ptr::null_mut();
    // SAFETY: a plain allocation of C, which `release` gives back.
    let failed = unsafe { libc::posix_memalign(&raw mut start, 64, bytes.max(1)) };
    if failed == 0 { Address::of(start) } else { Address(0) }
}

/// Gives back what `allocate` gave.
pub(crate) fn release(at: Address) {
    // SAFETY: the standard has the program give back what it got, once.
    unsafe { libc::free(at.0 as *mut libc::c_void) };
}
