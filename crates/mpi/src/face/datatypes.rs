//! Attributes of datatypes, their names, and packing.

use crate::abi::Handle;
use crate::failure::{Done, check, fail};
use crate::memory;
use crate::pointer::{Address, Out, OutInt, Text, TextOut};
use crate::process::Process;
use crate::process::types::Type;
use hotlink_standard::Combiner;
use hotlink_standard::constants::{self as c, *};
use std::ffi::c_int;
use std::rc::Rc;

pub(crate) fn type_size(p: &Process, datatype: Handle, size: OutInt) -> Done {
    size.set(p.datatype(datatype)?.datatype.size() as i64);
    Ok(())
}

pub(crate) fn type_size_x(p: &Process, datatype: Handle, size: Out<i64>) -> Done {
    type_size(p, datatype, OutInt::Wide(size))
}

pub(crate) fn type_get_extent(p: &Process, datatype: Handle, lb: OutInt, extent: OutInt) -> Done {
    let of = p.datatype(datatype)?;
    lb.set(of.datatype.lb());
    extent.set(of.datatype.extent());
    Ok(())
}

pub(crate) fn type_get_extent_x(p: &Process, datatype: Handle, lb: Out<i64>, extent: Out<i64>) -> Done {
    type_get_extent(p, datatype, OutInt::Wide(lb), OutInt::Wide(extent))
}

pub(crate) fn type_get_true_extent(p: &Process, datatype: Handle, lb: OutInt, extent: OutInt) -> Done {
    let (true_lb, true_extent) = p.datatype(datatype)?.datatype.true_extent();
    lb.set(true_lb);
    extent.set(true_extent);
    Ok(())
}

pub(crate) fn type_get_true_extent_x(p: &Process, datatype: Handle, lb: Out<i64>, extent: Out<i64>) -> Done {
    type_get_true_extent(p, datatype, OutInt::Wide(lb), OutInt::Wide(extent))
}

pub(crate) fn type_commit(p: &Process, datatype: Out<Handle>) -> Done {
    p.datatype(datatype.get(0))?.committed.set(true);
    Ok(())
}

pub(crate) fn type_free(p: &Process, datatype: Out<Handle>) -> Done {
    let handle = datatype.get(0);
    let known = p.datatype(handle)?;
    check(!known.predefined, c::MPI_ERR_TYPE, || "a predefined type cannot be freed".to_owned())?;
    known.attributes.clear(handle)?;
    // Operations under way, and types made of it, hold it as well.
    p.derived.remove(handle);
    datatype.set(c::MPI_DATATYPE_NULL);
    Ok(())
}

pub(crate) fn type_set_name(p: &Process, datatype: Handle, name: Text) -> Done {
    *p.datatype(datatype)?.name.borrow_mut() = name.name()?;
    Ok(())
}

pub(crate) fn type_get_name(p: &Process, datatype: Handle, name: TextOut, resultlen: Out<c_int>) -> Done {
    let text = match datatype {
        c::MPI_DATATYPE_NULL => "MPI_DATATYPE_NULL".to_owned(),
        datatype => p.datatype(datatype)?.name.borrow().clone(),
    };
    resultlen.set(name.write(&text, c::MPI_MAX_OBJECT_NAME as usize) as c_int);
    Ok(())
}

fn combiner(of: &Type) -> c_int {
    match of.datatype.contents().combiner {
        Combiner::Named => c::MPI_COMBINER_NAMED,
        Combiner::Dup => c::MPI_COMBINER_DUP,
        Combiner::Contiguous => c::MPI_COMBINER_CONTIGUOUS,
        Combiner::Vector => c::MPI_COMBINER_VECTOR,
        Combiner::Hvector => c::MPI_COMBINER_HVECTOR,
        Combiner::Indexed => c::MPI_COMBINER_INDEXED,
        Combiner::Hindexed => c::MPI_COMBINER_HINDEXED,
        Combiner::IndexedBlock => c::MPI_COMBINER_INDEXED_BLOCK,
        Combiner::HindexedBlock => c::MPI_COMBINER_HINDEXED_BLOCK,
        Combiner::Struct => c::MPI_COMBINER_STRUCT,
        Combiner::Subarray => c::MPI_COMBINER_SUBARRAY,
        Combiner::Darray => c::MPI_COMBINER_DARRAY,
        Combiner::Resized => c::MPI_COMBINER_RESIZED,
        Combiner::ValueIndex => c::MPI_COMBINER_VALUE_INDEX,
        Combiner::F90Real => c::MPI_COMBINER_F90_REAL,
        Combiner::F90Complex => c::MPI_COMBINER_F90_COMPLEX,
        Combiner::F90Integer => c::MPI_COMBINER_F90_INTEGER,
    }
}

pub(crate) fn type_get_envelope(
    p: &Process,
    datatype: Handle,
    integers: Out<c_int>,
    addresses: Out<c_int>,
    datatypes: Out<c_int>,
    combined: Out<c_int>,
) -> Done {
    let of = p.datatype(datatype)?;
    let contents = of.datatype.contents();
    integers.set(contents.integers.len() as c_int);
    addresses.set(contents.addresses.len() as c_int);
    datatypes.set(contents.types.len() as c_int);
    combined.set(combiner(&of));
    Ok(())
}

/// Every count fits into an `int` of the contents, or the constructor reports it below.
pub(crate) fn type_get_envelope_c(
    p: &Process,
    datatype: Handle,
    integers: Out<i64>,
    addresses: Out<i64>,
    large: Out<i64>,
    datatypes: Out<i64>,
    combined: Out<c_int>,
) -> Done {
    let of = p.datatype(datatype)?;
    let contents = of.datatype.contents();
    integers.set(contents.integers.len() as i64);
    addresses.set(contents.addresses.len() as i64);
    large.set(0);
    datatypes.set(contents.types.len() as i64);
    combined.set(combiner(&of));
    Ok(())
}

pub(crate) fn type_get_contents(
    p: &Process,
    datatype: Handle,
    max_integers: c_int,
    max_addresses: c_int,
    max_datatypes: c_int,
    integers: Out<c_int>,
    addresses: Out<i64>,
    datatypes: Out<Handle>,
) -> Done {
    let of = p.datatype(datatype)?;
    let contents = of.datatype.contents();
    if contents.combiner == Combiner::Named {
        return fail(c::MPI_ERR_TYPE, "a predefined type has no contents");
    }
    let room = [max_integers, max_addresses, max_datatypes].map(|room| room.max(0) as usize);
    let need = [contents.integers.len(), contents.addresses.len(), contents.types.len()];
    let fits = need.iter().zip(room).all(|(&need, room)| need <= room);
    check(fits, c::MPI_ERR_ARG, || format!("room for {room:?} where {need:?} are needed"))?;
    let narrow: Result<Vec<c_int>, _> = contents.integers.iter().map(|&number| c_int::try_from(number)).collect();
    match narrow {
        Ok(narrow) => integers.fill(&narrow),
        Err(_) => return fail(c::MPI_ERR_VALUE_TOO_LARGE, "a count of the constructor does not fit into an int"),
    }
    addresses.fill(&contents.addresses);
    for (place, part) in contents.types.iter().enumerate() {
        datatypes.put(place, named(p, part));
    }
    Ok(())
}

pub(crate) fn type_get_contents_c(
    p: &Process,
    datatype: Handle,
    max_integers: i64,
    max_addresses: i64,
    _max_large: i64,
    max_datatypes: i64,
    integers: Out<c_int>,
    addresses: Out<i64>,
    _large: Out<i64>,
    datatypes: Out<Handle>,
) -> Done {
    let most = |room: i64| c_int::try_from(room).unwrap_or(c_int::MAX);
    let rooms = (most(max_integers), most(max_addresses), most(max_datatypes));
    type_get_contents(p, datatype, rooms.0, rooms.1, rooms.2, integers, addresses, datatypes)
}

/// The handle of a part of a type: a predefined one's own, else a new one, which the program frees.
fn named(p: &Process, part: &Rc<hotlink_standard::Datatype>) -> Handle {
    p.types.handle_of(part).unwrap_or_else(|| {
        let of = Type { datatype: part.clone(), ..Type::derived((**part).clone()) };
        of.committed.set(true);
        p.derived.add(Rc::new(of))
    })
}

pub(crate) fn type_match_size(_p: &Process, typeclass: c_int, size: c_int, datatype: Out<Handle>) -> Done {
    datatype.set(match (typeclass, size) {
        (c::MPI_TYPECLASS_REAL, 2) => MPI_REAL2,
        (c::MPI_TYPECLASS_REAL, 4) => MPI_REAL4,
        (c::MPI_TYPECLASS_REAL, 8) => MPI_REAL8,
        (c::MPI_TYPECLASS_REAL, 16) => MPI_LONG_DOUBLE,
        (c::MPI_TYPECLASS_INTEGER, 1) => MPI_INTEGER1,
        (c::MPI_TYPECLASS_INTEGER, 2) => MPI_INTEGER2,
        (c::MPI_TYPECLASS_INTEGER, 4) => MPI_INTEGER4,
        (c::MPI_TYPECLASS_INTEGER, 8) => MPI_INTEGER8,
        (c::MPI_TYPECLASS_INTEGER, 16) => MPI_INTEGER16,
        (c::MPI_TYPECLASS_COMPLEX, 4) => MPI_COMPLEX4,
        (c::MPI_TYPECLASS_COMPLEX, 8) => MPI_COMPLEX8,
        (c::MPI_TYPECLASS_COMPLEX, 16) => MPI_COMPLEX16,
        (c::MPI_TYPECLASS_COMPLEX, 32) => MPI_C_LONG_DOUBLE_COMPLEX,
        (c::MPIX_TYPECLASS_LOGICAL, 1) => MPI_LOGICAL1,
        (c::MPIX_TYPECLASS_LOGICAL, 2) => MPI_LOGICAL2,
        (c::MPIX_TYPECLASS_LOGICAL, 4) => MPI_LOGICAL4,
        (c::MPIX_TYPECLASS_LOGICAL, 8) => MPI_LOGICAL8,
        (c::MPIX_TYPECLASS_LOGICAL, 16) => MPI_LOGICAL16,
        _ => return fail(c::MPI_ERR_ARG, format!("no type of class {typeclass} has {size} bytes")),
    });
    Ok(())
}

pub(crate) fn type_get_value_index(p: &Process, value: Handle, index: Handle, pair: Out<Handle>) -> Done {
    p.datatype(value).and(p.datatype(index))?;
    // The pairs that have names, which are of C's own types: one that is only alike in memory, as `long long`, has none.
    pair.set(match (value, index) {
        (MPI_FLOAT, MPI_INT) => MPI_FLOAT_INT,
        (MPI_DOUBLE, MPI_INT) => MPI_DOUBLE_INT,
        (MPI_LONG, MPI_INT) => MPI_LONG_INT,
        (MPI_INT, MPI_INT) => MPI_2INT,
        (MPI_SHORT, MPI_INT) => MPI_SHORT_INT,
        (MPI_LONG_DOUBLE, MPI_INT) => MPI_LONG_DOUBLE_INT,
        _ => c::MPI_DATATYPE_NULL,
    });
    Ok(())
}

/// Room for `bytes` at a position of a packed buffer.
fn room(position: i64, bytes: u64, size: i64) -> Done {
    let fits = position >= 0 && (position as u64).checked_add(bytes).is_some_and(|end| end <= size.max(0) as u64);
    check(fits, c::MPI_ERR_TRUNCATE, || format!("{bytes} B at position {position} of {size} B"))
}

pub(crate) fn pack(
    p: &Process,
    inbuf: Address,
    incount: i64,
    datatype: Handle,
    outbuf: Address,
    outsize: i64,
    position: OutInt,
    _comm: Handle,
) -> Done {
    let buffer = p.buffer(inbuf, incount, datatype)?;
    room(position.get(), buffer.bytes(), outsize)?;
    memory::write(outbuf.plus(position.get()), &buffer.data());
    position.set(position.get() + buffer.bytes() as i64);
    Ok(())
}

pub(crate) fn unpack(
    p: &Process,
    inbuf: Address,
    insize: i64,
    position: OutInt,
    outbuf: Address,
    outcount: i64,
    datatype: Handle,
    _comm: Handle,
) -> Done {
    let buffer = p.buffer(outbuf, outcount, datatype)?;
    room(position.get(), buffer.bytes(), insize)?;
    buffer.fill(&memory::read(inbuf.plus(position.get()), buffer.bytes()));
    position.set(position.get() + buffer.bytes() as i64);
    Ok(())
}

pub(crate) fn pack_size(p: &Process, incount: i64, datatype: Handle, _comm: Handle, size: OutInt) -> Done {
    check(incount >= 0, c::MPI_ERR_COUNT, || format!("count {incount}: it must be at least 0"))?;
    size.set(incount * p.datatype(datatype)?.datatype.size() as i64);
    Ok(())
}

fn portable(datarep: Text) -> Done {
    let word = datarep.string().unwrap_or_default();
    check(word == "external32", c::MPI_ERR_ARG, || format!("data representation {word:?}: external32"))
}

pub(crate) fn pack_external(
    p: &Process,
    datarep: Text,
    inbuf: Address,
    incount: i64,
    datatype: Handle,
    outbuf: Address,
    outsize: i64,
    position: OutInt,
) -> Done {
    portable(datarep)?;
    let buffer = p.buffer(inbuf, incount, datatype)?;
    let bytes = buffer.of.datatype.to_external(&buffer.data());
    room(position.get(), bytes.len() as u64, outsize)?;
    memory::write(outbuf.plus(position.get()), &bytes);
    position.set(position.get() + bytes.len() as i64);
    Ok(())
}

pub(crate) fn unpack_external(
    p: &Process,
    datarep: Text,
    inbuf: Address,
    insize: i64,
    position: OutInt,
    outbuf: Address,
    outcount: i64,
    datatype: Handle,
) -> Done {
    portable(datarep)?;
    let buffer = p.buffer(outbuf, outcount, datatype)?;
    let bytes = buffer.count * buffer.of.datatype.external_size();
    room(position.get(), bytes, insize)?;
    buffer.fill(&buffer.of.datatype.of_external(&memory::read(inbuf.plus(position.get()), bytes)));
    position.set(position.get() + bytes as i64);
    Ok(())
}

pub(crate) fn pack_external_size(p: &Process, datarep: Text, incount: i64, datatype: Handle, size: OutInt) -> Done {
    portable(datarep)?;
    check(incount >= 0, c::MPI_ERR_COUNT, || format!("count {incount}: it must be at least 0"))?;
    size.set(incount * p.datatype(datatype)?.datatype.external_size() as i64);
    Ok(())
}
