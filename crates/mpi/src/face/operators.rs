//! Operators, and combining without communication.

use super::collectives::{IN_PLACE, apart};
use crate::abi::Handle;
use crate::failure::{Done, check};
use crate::pointer::{Address, Out};
use crate::process::Process;
use crate::process::reduction::Operator;
use hotlink_standard::constants as c;
use std::ffi::c_int;

fn create(p: &Process, function: usize, wide: bool, commute: c_int, op: Out<Handle>) -> Done {
    p.world()?;
    check(function != 0, c::MPI_ERR_ARG, || "user_fn is a null pointer".to_owned())?;
    op.set(p.operators.add(Operator::User { function, wide, commutes: commute != 0 }));
    Ok(())
}

pub(crate) fn op_create(p: &Process, function: usize, commute: c_int, op: Out<Handle>) -> Done {
    create(p, function, false, commute, op)
}

pub(crate) fn op_create_c(p: &Process, function: usize, commute: c_int, op: Out<Handle>) -> Done {
    create(p, function, true, commute, op)
}

pub(crate) fn op_free(p: &Process, op: Out<Handle>) -> Done {
    let handle = op.get(0);
    check(p.operators.remove(handle).is_some(), c::MPI_ERR_OP, || "a predefined operator cannot be freed".to_owned())?;
    op.set(c::MPI_OP_NULL);
    Ok(())
}

pub(crate) fn op_commutative(p: &Process, op: Handle, commute: Out<c_int>) -> Done {
    commute.set(c_int::from(p.operator(op)?.commutes()));
    Ok(())
}

pub(crate) fn reduce_local(
    p: &Process,
    inbuf: Address,
    inoutbuf: Address,
    count: i64,
    datatype: Handle,
    op: Handle,
) -> Done {
    let in_place = [inbuf, inoutbuf].contains(&IN_PLACE);
    check(!in_place, c::MPI_ERR_BUFFER, || "MPI_IN_PLACE is for communication".to_owned())?;
    apart(inbuf, inoutbuf, count)?;
    let reducer = p.reducer(op, datatype)?;
    let (from, into) = (reducer.buffer(p, inbuf, count)?, reducer.buffer(p, inoutbuf, count)?);
    let mut result = into.data();
    reducer.fold(&from.data(), &mut result);
    into.fill(&result);
    Ok(())
}
