//! Operators by handle, and how elements are combined by them.

use crate::abi::Handle;
use crate::failure::{Done, check, unknown};
use crate::memory::{Scratch, pack, unpack};
use crate::process::Process;
use crate::process::buffer::Buffer;
use crate::process::callback;
use crate::process::types::Type;
use hotlink_message::{Comm, Error};
use hotlink_port::{Operation, Span};
use hotlink_real::Seat;
use hotlink_standard::constants as c;
use hotlink_standard::{Alike, Builtin, OperatorKind, operation_of};
use std::rc::Rc;

/// An operator.
#[derive(Clone, Copy)]
pub(crate) enum Operator {
    Builtin(Builtin),
    /// The program's function, and whether it takes a wide length.
    User {
        function: usize,
        wide: bool,
        commutes: bool,
    },
}

impl Operator {
    pub(crate) fn commutes(&self) -> bool {
        match *self {
            Operator::Builtin(builtin) => builtin != Builtin::Replace,
            Operator::User { commutes, .. } => commutes,
        }
    }
}

/// An operator on elements of a type.
#[derive(Clone)]
pub(crate) struct Reducer {
    operator: Operator,
    of: Rc<Type>,
    /// The type's handle, for the program's function.
    handle: Handle,
    /// The same where ports have it.
    pub(crate) own: Option<Operation>,
}

/// The standard's operator of a handle.
pub(crate) fn builtin(handle: Handle) -> Option<Builtin> {
    Some(match handle {
        c::MPI_SUM => Builtin::Sum,
        c::MPI_MIN => Builtin::Min,
        c::MPI_MAX => Builtin::Max,
        c::MPI_PROD => Builtin::Prod,
        c::MPI_BAND => Builtin::BitAnd,
        c::MPI_BOR => Builtin::BitOr,
        c::MPI_BXOR => Builtin::BitXor,
        c::MPI_LAND => Builtin::And,
        c::MPI_LOR => Builtin::Or,
        c::MPI_LXOR => Builtin::Xor,
        c::MPI_MINLOC => Builtin::MinLoc,
        c::MPI_MAXLOC => Builtin::MaxLoc,
        c::MPI_REPLACE => Builtin::Replace,
        c::MPI_NO_OP => Builtin::Nothing,
        _ => return None,
    })
}

impl Process {
    pub(crate) fn operator(&self, handle: Handle) -> Done<Operator> {
        if let Some(builtin) = builtin(handle) {
            return Ok(Operator::Builtin(builtin));
        }
        self.operators.get(handle).ok_or_else(|| unknown(c::MPI_ERR_OP, "operator", handle))
    }
    /// An operator on elements of a type, which it must take.
    pub(crate) fn reducer(&self, operator: Handle, datatype: Handle) -> Done<Reducer> {
        let of = self.committed(datatype)?;
        let operator = self.operator(operator)?;
        let mut own = None;
        if let Operator::Builtin(builtin) = operator {
            let reduces = !matches!(builtin, Builtin::Replace | Builtin::Nothing);
            let takes = reduces && builtin.takes(&of.datatype);
            let wrong = || format!("{} does not take elements of {}", builtin.name(), of.name.borrow());
            check(takes, c::MPI_ERR_OP, wrong)?;
            own = of.datatype.basic().and_then(|basic| operation_of(builtin, basic));
        }
        Ok(Reducer { operator, of, handle: datatype, own })
    }
}

impl Reducer {
    /// Values that all ranks must give alike to a reduction, with the operator and the type of its elements.
    pub(crate) fn alike(&self, alike: Alike) -> Alike {
        let operator = match self.operator {
            Operator::Builtin(builtin) => OperatorKind::Builtin(builtin),
            Operator::User { commutes, .. } => OperatorKind::Own { commutes },
        };
        Alike { operator: Some(operator), element: self.of.datatype.basic(), ..alike }
    }
    /// `later` becomes `earlier` combined with it: packed elements.
    pub(crate) fn fold(&self, earlier: &[u8], later: &mut [u8]) {
        match self.operator {
            Operator::Builtin(builtin) => {
                builtin.combine(&self.of.datatype, later, earlier);
            }
            Operator::User { function, wide, .. } => self.ask(function, wide, earlier, later),
        }
    }
    /// The program's function gets elements as they lie in its own buffers.
    fn ask(&self, function: usize, wide: bool, earlier: &[u8], later: &mut [u8]) {
        let datatype = &self.of.datatype;
        let count = (later.len() as u64).checked_div(datatype.size()).unwrap_or(0);
        if count == 0 {
            return;
        }
        let (true_lb, true_extent) = datatype.true_extent();
        let bytes = (count as i64 - 1) * datatype.extent().abs() + true_extent;
        let before = if datatype.extent() < 0 { (count as i64 - 1) * datatype.extent() } else { 0 };
        let images = [Scratch::new(bytes as u64), Scratch::new(bytes as u64)];
        let starts = [images[0].address().plus(-true_lb - before), images[1].address().plus(-true_lb - before)];
        unpack(earlier, starts[0], count, datatype);
        unpack(later, starts[1], count, datatype);
        callback::operate(function, wide, (starts[0], starts[1]), count as i64, self.handle);
        pack(starts[1], count, datatype, later);
    }
    /// `earlier` becomes itself combined with `later`.
    pub(crate) fn fold_spans(&self, comm: &Comm<Seat>, earlier: Span, later: Span) -> Result<(), Error> {
        let bytes = |span: Span| {
            let mut bytes = vec![0; span.bytes() as usize];
            comm.read(span.memory, span.offset, &mut bytes).map(|()| bytes)
        };
        let (first, mut second) = (bytes(earlier)?, bytes(later)?);
        self.fold(&first, &mut second);
        comm.write(earlier.memory, earlier.offset, &second)
    }
    /// Elements of rows, the first of which is the earliest, all combined.
    pub(crate) fn fold_rows(&self, rows: &[u8], row: usize) -> Vec<u8> {
        if row == 0 {
            return Vec::new();
        }
        let mut rows = rows.chunks_exact(row).rev();
        let mut result = rows.next().map_or(Vec::new(), <[u8]>::to_vec);
        rows.for_each(|earlier| self.fold(earlier, &mut result));
        result
    }
    /// Buffers of this type.
    pub(crate) fn buffer(&self, p: &Process, at: crate::pointer::Address, count: i64) -> Done<Buffer> {
        p.buffer(at, count, self.handle)
    }
}
