//! Datatypes made of others.

use crate::abi::Handle;
use crate::failure::{Done, check, fail, failure};
use crate::pointer::{In, Ints, Out};
use crate::process::Process;
use crate::process::types::Type;
use hotlink_standard::constants as c;
use hotlink_standard::{Basic, Combiner, Datatype, Distribution, Order, Share};
use std::ffi::c_int;
use std::rc::Rc;

/// Gives a new type its handle.
fn name(p: &Process, made: Option<Datatype>, newtype: Out<Handle>) -> Done {
    let made = made
        .ok_or_else(|| failure(c::MPI_ERR_ARG, "a count or a length is below 0, or a part lies outside the whole"))?;
    newtype.set(p.derived.add(Rc::new(Type::derived(made))));
    Ok(())
}

fn old(p: &Process, datatype: Handle) -> Done<Rc<Datatype>> {
    Ok(p.datatype(datatype)?.datatype.clone())
}

fn list(count: i64, numbers: Ints) -> Done<Vec<i64>> {
    check(count >= 0, c::MPI_ERR_COUNT, || format!("count {count}: it must be at least 0"))?;
    numbers.list(count as usize)
}

pub(crate) fn type_contiguous(p: &Process, count: i64, oldtype: Handle, newtype: Out<Handle>) -> Done {
    name(p, Datatype::contiguous(count, &old(p, oldtype)?), newtype)
}

pub(crate) fn type_vector(
    p: &Process,
    count: i64,
    length: i64,
    stride: i64,
    oldtype: Handle,
    newtype: Out<Handle>,
) -> Done {
    name(p, Datatype::vector(count, length, stride, &old(p, oldtype)?), newtype)
}

pub(crate) fn type_create_hvector(
    p: &Process,
    count: i64,
    length: i64,
    stride: i64,
    oldtype: Handle,
    newtype: Out<Handle>,
) -> Done {
    name(p, Datatype::hvector(count, length, stride, &old(p, oldtype)?), newtype)
}

pub(crate) fn type_indexed(
    p: &Process,
    count: i64,
    lengths: Ints,
    displacements: Ints,
    oldtype: Handle,
    newtype: Out<Handle>,
) -> Done {
    name(p, Datatype::indexed(&list(count, lengths)?, &list(count, displacements)?, &old(p, oldtype)?), newtype)
}

pub(crate) fn type_create_hindexed(
    p: &Process,
    count: i64,
    lengths: Ints,
    displacements: Ints,
    oldtype: Handle,
    newtype: Out<Handle>,
) -> Done {
    name(p, Datatype::hindexed(&list(count, lengths)?, &list(count, displacements)?, &old(p, oldtype)?), newtype)
}

pub(crate) fn type_create_indexed_block(
    p: &Process,
    count: i64,
    length: i64,
    displacements: Ints,
    oldtype: Handle,
    newtype: Out<Handle>,
) -> Done {
    name(p, Datatype::indexed_block(length, &list(count, displacements)?, &old(p, oldtype)?), newtype)
}

pub(crate) fn type_create_hindexed_block(
    p: &Process,
    count: i64,
    length: i64,
    displacements: Ints,
    oldtype: Handle,
    newtype: Out<Handle>,
) -> Done {
    name(p, Datatype::hindexed_block(length, &list(count, displacements)?, &old(p, oldtype)?), newtype)
}

pub(crate) fn type_create_struct(
    p: &Process,
    count: i64,
    lengths: Ints,
    displacements: Ints,
    types: In<Handle>,
    newtype: Out<Handle>,
) -> Done {
    let (lengths, displacements) = (list(count, lengths)?, list(count, displacements)?);
    let types: Vec<Rc<Datatype>> = types.list(count as usize)?.into_iter().map(|of| old(p, of)).collect::<Done<_>>()?;
    name(p, Datatype::structure(&lengths, &displacements, &types), newtype)
}

pub(crate) fn type_create_resized(p: &Process, oldtype: Handle, lb: i64, extent: i64, newtype: Out<Handle>) -> Done {
    name(p, Some(Datatype::resized(lb, extent, &old(p, oldtype)?)), newtype)
}

pub(crate) fn type_dup(p: &Process, oldtype: Handle, newtype: Out<Handle>) -> Done {
    let of = p.datatype(oldtype)?;
    newtype.set(c::MPI_DATATYPE_NULL);
    let made = Type::derived(Datatype::dup(&of.datatype));
    made.committed.set(of.committed.get());
    let attributes = of.attributes.copies(oldtype)?;
    newtype.set(p.derived.add(Rc::new(Type { attributes, ..made })));
    Ok(())
}

fn order(order: c_int) -> Done<Order> {
    match order {
        c::MPI_ORDER_C => Ok(Order::C),
        c::MPI_ORDER_FORTRAN => Ok(Order::Fortran),
        _ => fail(c::MPI_ERR_ARG, format!("order {order}: MPI_ORDER_C or MPI_ORDER_FORTRAN")),
    }
}

pub(crate) fn type_create_subarray(
    p: &Process,
    ndims: c_int,
    sizes: Ints,
    subsizes: Ints,
    starts: Ints,
    word: c_int,
    oldtype: Handle,
    newtype: Out<Handle>,
) -> Done {
    let list = |numbers| list(i64::from(ndims), numbers);
    let (sizes, subsizes, starts) = (list(sizes)?, list(subsizes)?, list(starts)?);
    let made = Datatype::subarray(&sizes, &subsizes, &starts, order(word)?, i64::from(word), &old(p, oldtype)?);
    name(p, made, newtype)
}

pub(crate) fn type_create_darray(
    p: &Process,
    size: c_int,
    rank: c_int,
    ndims: c_int,
    gsizes: Ints,
    distribs: Ints,
    dargs: Ints,
    psizes: Ints,
    word: c_int,
    oldtype: Handle,
    newtype: Out<Handle>,
) -> Done {
    let list = |numbers| list(i64::from(ndims), numbers);
    let lists = [list(gsizes)?, list(distribs)?, list(dargs)?, list(psizes)?];
    let processes: i64 = lists[3].iter().product();
    let fits = processes == i64::from(size) && (0..size).contains(&rank);
    check(fits, c::MPI_ERR_ARG, || format!("a grid of {processes} for {size} processes, of which this is {rank}"))?;
    let share = |dim: usize| {
        let given = lists[2][dim];
        let default = given == i64::from(c::MPI_DISTRIBUTE_DFLT_DARG);
        let distribution = match c_int::try_from(lists[1][dim]).unwrap_or(0) {
            c::MPI_DISTRIBUTE_NONE => Distribution::None,
            c::MPI_DISTRIBUTE_BLOCK => Distribution::Block((!default).then_some(given)),
            c::MPI_DISTRIBUTE_CYCLIC => Distribution::Cyclic(if default { 1 } else { given }),
            other => return fail(c::MPI_ERR_ARG, format!("distribution {other} is none")),
        };
        Ok(Share { size: lists[0][dim], distribution, processes: lists[3][dim] })
    };
    let shares: Vec<Share> = (0..lists[0].len()).map(share).collect::<Done<_>>()?;
    let head = [i64::from(size), i64::from(rank), i64::from(ndims)];
    let integers = [&head[..], &lists.concat(), &[i64::from(word)]].concat();
    name(p, Datatype::darray(i64::from(rank), &shares, order(word)?, integers, &old(p, oldtype)?), newtype)
}

/// Types that Fortran chooses by precision and range: the smallest that has it. They need no commit.
fn chosen(p: &Process, basic: Option<Basic>, made_by: (Combiner, Vec<i64>), newtype: Out<Handle>) -> Done {
    let basic = basic.ok_or_else(|| failure(c::MPI_ERR_ARG, "no type has such a precision and range"))?;
    let made = Type::derived(Datatype::named(basic).made_by(made_by.0, made_by.1));
    made.committed.set(true);
    // The same numbers give the same type.
    let of = |made: &Type| (made.datatype.contents().combiner, made.datatype.contents().integers.clone());
    let known = p.derived.find(|known| known.predefined && of(known) == of(&made));
    newtype.set(known.unwrap_or_else(|| p.derived.add(Rc::new(Type { predefined: true, ..made }))));
    Ok(())
}

/// Whether a float of 4 or of 8 bytes has that many digits and such a range.
fn is_single(digits: c_int, range: c_int) -> Option<bool> {
    let any = |number: c_int| if number == c::MPI_UNDEFINED { 0 } else { number };
    match (any(digits), any(range)) {
        (digits, range) if digits <= 6 && range <= 37 => Some(true),
        (digits, range) if digits <= 15 && range <= 307 => Some(false),
        _ => None,
    }
}

pub(crate) fn type_create_f90_real(p: &Process, digits: c_int, range: c_int, newtype: Out<Handle>) -> Done {
    let basic = is_single(digits, range).map(|single| if single { Basic::F32 } else { Basic::F64 });
    chosen(p, basic, (Combiner::F90Real, vec![i64::from(digits), i64::from(range)]), newtype)
}

pub(crate) fn type_create_f90_complex(p: &Process, digits: c_int, range: c_int, newtype: Out<Handle>) -> Done {
    let basic = is_single(digits, range).map(|single| if single { Basic::C32 } else { Basic::C64 });
    chosen(p, basic, (Combiner::F90Complex, vec![i64::from(digits), i64::from(range)]), newtype)
}

pub(crate) fn type_create_f90_integer(p: &Process, range: c_int, newtype: Out<Handle>) -> Done {
    let basic = match range {
        ..=2 => Some(Basic::I8),
        3..=4 => Some(Basic::I16),
        5..=9 => Some(Basic::I32),
        10..=18 => Some(Basic::I64),
        _ => None,
    };
    chosen(p, basic, (Combiner::F90Integer, vec![i64::from(range)]), newtype)
}
