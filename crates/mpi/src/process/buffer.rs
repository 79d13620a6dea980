//! Buffers of the program: an address, a count and a datatype, and how they become spans of a port.

use crate::failure::{Done, check};
use crate::memory::{Everything, Scratch, carry, pack, unpack};
use crate::pointer::{Address, is_mark};
use crate::process::Process;
use crate::process::types::Type;
use hotlink_port::Span;
use hotlink_standard::constants as c;
use std::rc::Rc;

/// A number of elements at an address.
#[derive(Clone)]
pub(crate) struct Buffer {
    pub(crate) at: Address,
    pub(crate) count: u64,
    pub(crate) of: Rc<Type>,
    all: Everything,
}

/// A buffer as a span; where that cannot be, a packed copy.
pub(crate) struct Staged {
    pub(crate) span: Span,
    scratch: Option<Scratch>,
    /// Where the copy is unpacked to.
    back: Option<Buffer>,
}

impl Process {
    /// A buffer whose arguments are checked.
    #[inline(always)]
    pub(crate) fn buffer(&self, at: Address, count: i64, datatype: crate::abi::Handle) -> Done<Buffer> {
        check(count >= 0, c::MPI_ERR_COUNT, || format!("count {count}: it must be at least 0"))?;
        let of = self.committed(datatype)?;
        if is_mark(at.0) {
            is_somewhere(at, count, &of)?;
        }
        Ok(Buffer { at, count: count as u64, of, all: self.world()?.all.clone() })
    }
}

/// Fails for a buffer at `MPI_BOTTOM` or another of the standard's marks, unless its type has absolute addresses.
#[cold]
fn is_somewhere(at: Address, count: i64, of: &Type) -> Done {
    let data = of.datatype.true_extent().0.wrapping_add(at.0 as i64);
    let is_there = count == 0 || of.datatype.size() == 0 || usize::try_from(data).map_or(true, |data| !is_mark(data));
    check(is_there, c::MPI_ERR_BUFFER, || match at.0 {
        c::MPI_IN_PLACE => "MPI_IN_PLACE is not allowed for this buffer".to_owned(),
        _ => format!("the buffer is a null pointer, and {count} elements are asked for"),
    })
}

impl Buffer {
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.count * self.of.datatype.size()
    }
    /// Bytes from one element to the next.
    pub(crate) fn extent(&self) -> i64 {
        self.of.datatype.extent()
    }
    /// `count` elements from element `first` on.
    pub(crate) fn part(&self, first: i64, count: i64) -> Buffer {
        Buffer { at: self.at.plus(first * self.extent()), count: count.max(0) as u64, ..self.clone() }
    }
    #[inline(always)]
    fn span(&self, row: bool) -> Option<Span> {
        let run = self.of.datatype.regular(self.count)?;
        (!row || run.count == 1).then(|| self.all.blocks(self.at, run))
    }
    /// Where all its bytes are, if they lie in a row.
    pub(crate) fn row(&self) -> Option<Address> {
        let run = self.of.datatype.regular(self.count).filter(|run| run.count == 1)?;
        Some(self.at.plus(run.at))
    }
    pub(crate) fn everything(&self) -> &Everything {
        &self.all
    }
    /// To be sent; `row`: in one row.
    #[inline(always)]
    pub(crate) fn source(&self, row: bool) -> Staged {
        match self.span(row) {
            Some(span) => Staged { span, scratch: None, back: None },
            None => self.packed(),
        }
    }
    #[inline(never)]
    fn packed(&self) -> Staged {
        Staged::filled(&self.all, self.bytes(), |own| pack(self.at, self.count, &self.of.datatype, own))
    }
    /// To be received into: [`Staged::settle`] afterwards.
    #[inline(always)]
    pub(crate) fn target(&self, row: bool) -> Staged {
        match self.span(row) {
            Some(span) => Staged { span, scratch: None, back: None },
            None => Staged { back: Some(self.clone()), ..Staged::room(&self.all, self.bytes()) },
        }
    }
    /// To be received into, with what is there now.
    pub(crate) fn both(&self, row: bool) -> Staged {
        match self.span(row) {
            Some(span) => Staged { span, scratch: None, back: None },
            None => Staged { back: Some(self.clone()), ..self.packed() },
        }
    }
    /// Its bytes, packed.
    pub(crate) fn data(&self) -> Vec<u8> {
        let mut data = vec![0; self.bytes() as usize];
        pack(self.at, self.count, &self.of.datatype, &mut data);
        data
    }
    /// Moves it to a row of bytes.
    pub(crate) fn store(&self, row: Address) {
        carry(self.at, self.count, &self.of.datatype, row, true);
    }
    /// Fills it from a row of bytes.
    pub(crate) fn load(&self, row: Address) {
        carry(self.at, self.count, &self.of.datatype, row, false);
    }
    /// Unpacks data into it, as far as they go.
    pub(crate) fn fill(&self, data: &[u8]) {
        let room = (self.bytes() as usize).min(data.len());
        unpack(&data[..room], self.at, self.count, &self.of.datatype);
    }
}

impl Staged {
    /// Memory of the library's own.
    pub(crate) fn room(all: &Everything, bytes: u64) -> Staged {
        Staged::filled(all, bytes, |_| ())
    }
    pub(crate) fn of(all: &Everything, bytes: &[u8]) -> Staged {
        Staged::filled(all, bytes.len() as u64, |own| own.copy_from_slice(bytes))
    }
    pub(crate) fn filled(all: &Everything, bytes: u64, fill: impl FnOnce(&mut [u8])) -> Staged {
        let mut scratch = Scratch::new(bytes);
        fill(scratch.bytes_mut());
        Staged { span: all.row(scratch.address(), bytes), scratch: Some(scratch), back: None }
    }
    /// `bytes` have come: they go to their places.
    pub(crate) fn settle(&self, bytes: u64) {
        if let (Some(scratch), Some(back)) = (&self.scratch, &self.back) {
            back.fill(&scratch.bytes()[..(bytes as usize).min(scratch.bytes().len())]);
        }
    }
    /// Whether its bytes go to several places.
    pub(crate) fn is_scattered(&self) -> bool {
        self.back.is_some() || self.span.layout.count > 1
    }
    /// All have come.
    pub(crate) fn land(&self) {
        self.settle(u64::MAX);
    }
    /// The bytes of memory of the library's own.
    pub(crate) fn own(&self) -> &[u8] {
        self.scratch.as_ref().map_or(&[], Scratch::bytes)
    }
}
