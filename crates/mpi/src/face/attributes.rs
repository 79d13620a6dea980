//! Keys and attributes of communicators and datatypes, the standard's own among them.

use crate::abi::Handle;
use crate::failure::{Done, fail};
use crate::pointer::{Address, Out};
use crate::process::Process;
use crate::process::attribute::{Attributes, Key, Kind};
use hotlink_standard::constants as c;
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::atomic::{AtomicI32, Ordering};

/// Where programs read the standard's own attributes.
static TAG_MAX: AtomicI32 = AtomicI32::new(c_int::MAX);
static NOBODY: AtomicI32 = AtomicI32::new(c::MPI_PROC_NULL);
static ANY: AtomicI32 = AtomicI32::new(c::MPI_ANY_SOURCE);
static GLOBAL: AtomicI32 = AtomicI32::new(0);
static LAST_CODE: AtomicI32 = AtomicI32::new(c::MPI_ERR_LASTCODE);
static RANKS: AtomicI32 = AtomicI32::new(1);
static NUMBER: AtomicI32 = AtomicI32::new(0);

/// The program has added this code.
pub(crate) fn tell_last_code(code: c_int) {
    LAST_CODE.store(code, Ordering::Relaxed);
}

/// The standard's own attribute of a communicator.
fn standard(p: &Process, key: c_int) -> Option<Address> {
    let of = |value: &'static AtomicI32| Some(Address::of(value.as_ptr()));
    match key {
        c::MPI_TAG_UB => of(&TAG_MAX),
        c::MPI_IO => of(&ANY),
        c::MPI_HOST => of(&NOBODY),
        c::MPI_WTIME_IS_GLOBAL => of(&GLOBAL),
        c::MPI_LASTUSEDCODE => of(&LAST_CODE),
        c::MPI_APPNUM => of(&NUMBER),
        c::MPI_UNIVERSE_SIZE => {
            RANKS.store(p.world().map_or(1, |world| world.comm.ranks() as c_int), Ordering::Relaxed);
            of(&RANKS)
        }
        _ => None,
    }
}

/// The standard's own of windows.
const WINDOWS: [c_int; 5] =
    [c::MPI_WIN_BASE, c::MPI_WIN_SIZE, c::MPI_WIN_DISP_UNIT, c::MPI_WIN_CREATE_FLAVOR, c::MPI_WIN_MODEL];

fn create(p: &Process, kind: Kind, (copy, delete): (usize, usize), keyval: Out<c_int>, extra: Address) -> Done {
    keyval.set(p.keys.add(Rc::new(Key { kind, copy, delete, extra })) as c_int);
    Ok(())
}

fn free(p: &Process, kind: Kind, keyval: Out<c_int>) -> Done {
    let key = p.key(kind, keyval.get(0))?;
    // While objects have such attributes it stays: the table, this call and they hold it.
    if Rc::strong_count(&key) <= 2 {
        p.keys.remove(keyval.get(0) as Handle);
    }
    keyval.set(c::MPI_KEYVAL_INVALID);
    Ok(())
}

fn get(p: &Process, of: (Kind, &Attributes), keyval: c_int, value: Address, flag: Out<c_int>) -> Done {
    let found = of.1.get(keyval).or_else(|| if of.0 == Kind::Comm { standard(p, keyval) } else { None });
    if found.is_none() {
        p.key(of.0, keyval)?;
    }
    flag.set(c_int::from(found.is_some()));
    if let Some(found) = found {
        value.holds().set(found.0);
    }
    Ok(())
}

fn changeable(p: &Process, kind: Kind, keyval: c_int) -> Done<Rc<Key>> {
    let own = match kind {
        Kind::Comm => standard(p, keyval).is_some(),
        Kind::Win => WINDOWS.contains(&keyval),
        Kind::Type => false,
    };
    if own {
        return fail(c::MPI_ERR_KEYVAL, "the standard's own attributes cannot be changed");
    }
    p.key(kind, keyval)
}

pub(crate) fn comm_create_keyval(p: &Process, copy: usize, delete: usize, keyval: Out<c_int>, extra: Address) -> Done {
    create(p, Kind::Comm, (copy, delete), keyval, extra)
}

pub(crate) fn keyval_create(p: &Process, copy: usize, delete: usize, keyval: Out<c_int>, extra: Address) -> Done {
    create(p, Kind::Comm, (copy, delete), keyval, extra)
}

pub(crate) fn comm_free_keyval(p: &Process, keyval: Out<c_int>) -> Done {
    free(p, Kind::Comm, keyval)
}

pub(crate) fn keyval_free(p: &Process, keyval: Out<c_int>) -> Done {
    free(p, Kind::Comm, keyval)
}

pub(crate) fn comm_get_attr(p: &Process, comm: Handle, keyval: c_int, value: Address, flag: Out<c_int>) -> Done {
    get(p, (Kind::Comm, &p.comm(comm)?.attributes), keyval, value, flag)
}

pub(crate) fn attr_get(p: &Process, comm: Handle, keyval: c_int, value: Address, flag: Out<c_int>) -> Done {
    comm_get_attr(p, comm, keyval, value, flag)
}

pub(crate) fn comm_set_attr(p: &Process, comm: Handle, keyval: c_int, value: Address) -> Done {
    let key = changeable(p, Kind::Comm, keyval)?;
    p.comm(comm)?.attributes.set(comm, keyval, key, value)
}

pub(crate) fn attr_put(p: &Process, comm: Handle, keyval: c_int, value: Address) -> Done {
    comm_set_attr(p, comm, keyval, value)
}

pub(crate) fn comm_delete_attr(p: &Process, comm: Handle, keyval: c_int) -> Done {
    changeable(p, Kind::Comm, keyval)?;
    p.comm(comm)?.attributes.delete(comm, keyval)
}

pub(crate) fn attr_delete(p: &Process, comm: Handle, keyval: c_int) -> Done {
    comm_delete_attr(p, comm, keyval)
}

pub(crate) fn type_create_keyval(p: &Process, copy: usize, delete: usize, keyval: Out<c_int>, extra: Address) -> Done {
    create(p, Kind::Type, (copy, delete), keyval, extra)
}

pub(crate) fn type_free_keyval(p: &Process, keyval: Out<c_int>) -> Done {
    free(p, Kind::Type, keyval)
}

pub(crate) fn type_get_attr(p: &Process, datatype: Handle, keyval: c_int, value: Address, flag: Out<c_int>) -> Done {
    get(p, (Kind::Type, &p.datatype(datatype)?.attributes), keyval, value, flag)
}

pub(crate) fn type_set_attr(p: &Process, datatype: Handle, keyval: c_int, value: Address) -> Done {
    let key = changeable(p, Kind::Type, keyval)?;
    p.datatype(datatype)?.attributes.set(datatype, keyval, key, value)
}

pub(crate) fn type_delete_attr(p: &Process, datatype: Handle, keyval: c_int) -> Done {
    changeable(p, Kind::Type, keyval)?;
    p.datatype(datatype)?.attributes.delete(datatype, keyval)
}

pub(crate) fn win_create_keyval(p: &Process, copy: usize, delete: usize, keyval: Out<c_int>, extra: Address) -> Done {
    create(p, Kind::Win, (copy, delete), keyval, extra)
}

pub(crate) fn win_free_keyval(p: &Process, keyval: Out<c_int>) -> Done {
    free(p, Kind::Win, keyval)
}

pub(crate) fn win_get_attr(p: &Process, win: Handle, keyval: c_int, value: Address, flag: Out<c_int>) -> Done {
    let window = p.window(win)?;
    let facts = &window.made.facts;
    // The base is the value itself, the others are at the value.
    let own = match keyval {
        c::MPI_WIN_BASE => window.made.base,
        c::MPI_WIN_SIZE => Address::of(&raw const facts.size),
        c::MPI_WIN_DISP_UNIT => Address::of(&raw const facts.unit),
        c::MPI_WIN_CREATE_FLAVOR => Address::of(&raw const facts.flavor),
        c::MPI_WIN_MODEL => Address::of(&raw const facts.model),
        _ => return get(p, (Kind::Win, &window.attributes), keyval, value, flag),
    };
    flag.set(1);
    value.holds().set(own.0);
    Ok(())
}

pub(crate) fn win_set_attr(p: &Process, win: Handle, keyval: c_int, value: Address) -> Done {
    let key = changeable(p, Kind::Win, keyval)?;
    p.window(win)?.attributes.set(win, keyval, key, value)
}

pub(crate) fn win_delete_attr(p: &Process, win: Handle, keyval: c_int) -> Done {
    changeable(p, Kind::Win, keyval)?;
    p.window(win)?.attributes.delete(win, keyval)
}
