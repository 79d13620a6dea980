//! The tools interface (MPI 5, chapter 15): the message engine's settings as control variables, its counters as
//! performance variables, both in one category. There are no events, sources and enumerations.
//!
//! Errors are codes of their own, and no handler is called. Counters can be set back for each handle; levels and
//! high-water marks cannot. Nothing has to be started.

use crate::abi::Handle;
use crate::failure::{Done, check, fail, failure};
use crate::pointer::{Address, Out, Text, TextOut};
use crate::process::Process;
use crate::process::counted::{CATEGORY, COUNTED, Counted, Reading, SETTINGS};
use crate::process::gate;
use hotlink_standard::constants as c;
use std::cell::Cell;
use std::ffi::c_int;
use std::rc::Rc;

/// A member of a list by its number.
fn nth<T>(list: &[T], index: c_int) -> Done<&T> {
    let found = usize::try_from(index).ok().and_then(|index| list.get(index));
    found.ok_or_else(|| failure(c::MPI_T_ERR_INVALID_INDEX, String::new()))
}

/// A string as the interface returns strings: as far as there is room, and its length with the zero at its end.
fn tell(text: &str, out: TextOut, length: Out<c_int>) {
    if length.is_null() {
        return;
    }
    out.write(text, usize::try_from(length.get(0)).unwrap_or(0));
    length.set(text.len() as c_int + 1);
}

/// The place of a name in a list.
fn place(name: Text, mut names: impl Iterator<Item = &'static str>, index: Out<c_int>) -> Done {
    let asked = name.string();
    let found = names.position(|name| Some(name) == asked.as_deref());
    index.set(found.ok_or_else(|| failure(c::MPI_T_ERR_INVALID_NAME, String::new()))? as c_int);
    Ok(())
}

fn count(number: Out<c_int>, list: usize) -> Done {
    number.set(list as c_int);
    Ok(())
}

/// The numbers from 0 on, as far as there is room.
fn members(list: usize, length: c_int, indices: Out<c_int>) -> Done {
    (0..list.min(usize::try_from(length).unwrap_or(0))).for_each(|index| indices.put(index, index as c_int));
    Ok(())
}

pub(crate) fn t_init_thread(p: &Process, required: c_int, provided: Out<c_int>) -> Done {
    p.tools.set(p.tools.get() + 1);
    if required == c::MPI_THREAD_MULTIPLE {
        gate::share();
    }
    provided.set(required);
    Ok(())
}

pub(crate) fn t_finalize(p: &Process) -> Done {
    p.tools.set(p.tools.get() - 1);
    Ok(())
}

pub(crate) fn t_cvar_get_num(_p: &Process, num_cvar: Out<c_int>) -> Done {
    count(num_cvar, SETTINGS.len())
}

pub(crate) fn t_cvar_get_info(
    _p: &Process,
    cvar_index: c_int,
    name: TextOut,
    name_len: Out<c_int>,
    verbosity: Out<c_int>,
    datatype: Out<Handle>,
    enumtype: Out<Handle>,
    desc: TextOut,
    desc_len: Out<c_int>,
    bind: Out<c_int>,
    scope: Out<c_int>,
) -> Done {
    let setting = nth(&SETTINGS, cvar_index)?;
    tell(setting.name, name, name_len);
    tell(setting.meaning, desc, desc_len);
    verbosity.set(c::MPI_T_VERBOSITY_TUNER_BASIC);
    datatype.set(c::MPI_UNSIGNED_LONG_LONG);
    enumtype.set(c::MPI_T_ENUM_NULL);
    bind.set(c::MPI_T_BIND_NO_OBJECT);
    scope.set(c::MPI_T_SCOPE_READONLY);
    Ok(())
}

pub(crate) fn t_cvar_get_index(_p: &Process, name: Text, cvar_index: Out<c_int>) -> Done {
    place(name, SETTINGS.iter().map(|setting| setting.name), cvar_index)
}

pub(crate) fn t_cvar_handle_alloc(
    p: &Process,
    cvar_index: c_int,
    _obj_handle: Address,
    handle: Out<Handle>,
    count: Out<c_int>,
) -> Done {
    nth(&SETTINGS, cvar_index)?;
    handle.set(p.settings.add(cvar_index));
    count.set(1);
    Ok(())
}

pub(crate) fn t_cvar_handle_free(p: &Process, handle: Out<Handle>) -> Done {
    p.settings.remove(given(handle)?).ok_or_else(no_handle)?;
    handle.set(c::MPI_T_CVAR_HANDLE_NULL);
    Ok(())
}

pub(crate) fn t_cvar_read(p: &Process, handle: Handle, buf: Address) -> Done {
    let setting = nth(&SETTINGS, p.settings.get(handle).ok_or_else(no_handle)?)?;
    // Settings are the port's, which is there from MPI's start.
    let world = p.any_world().ok_or_else(|| failure(c::MPI_T_ERR_NOT_ACCESSIBLE, String::new()))?;
    buf.holds::<u64>().set((setting.value)(&world.comm.options()));
    Ok(())
}

pub(crate) fn t_cvar_write(p: &Process, handle: Handle, _buf: Address) -> Done {
    p.settings.get(handle).ok_or_else(no_handle)?;
    fail(c::MPI_T_ERR_CVAR_SET_NEVER, "")
}

pub(crate) fn t_pvar_get_num(_p: &Process, num_pvar: Out<c_int>) -> Done {
    count(num_pvar, COUNTED.len())
}

pub(crate) fn t_pvar_get_info(
    _p: &Process,
    pvar_index: c_int,
    name: TextOut,
    name_len: Out<c_int>,
    verbosity: Out<c_int>,
    var_class: Out<c_int>,
    datatype: Out<Handle>,
    enumtype: Out<Handle>,
    desc: TextOut,
    desc_len: Out<c_int>,
    bind: Out<c_int>,
    readonly: Out<c_int>,
    continuous: Out<c_int>,
    atomic: Out<c_int>,
) -> Done {
    let counted = nth(&COUNTED, pvar_index)?;
    tell(counted.name, name, name_len);
    tell(counted.meaning, desc, desc_len);
    let is_counter = counted.class == c::MPI_T_PVAR_CLASS_COUNTER;
    verbosity.set(c::MPI_T_VERBOSITY_USER_BASIC);
    var_class.set(counted.class);
    datatype.set(c::MPI_UNSIGNED_LONG_LONG);
    enumtype.set(c::MPI_T_ENUM_NULL);
    bind.set(c::MPI_T_BIND_NO_OBJECT);
    readonly.set(c_int::from(!is_counter));
    continuous.set(1);
    atomic.set(c_int::from(is_counter));
    Ok(())
}

pub(crate) fn t_pvar_get_index(_p: &Process, name: Text, var_class: c_int, pvar_index: Out<c_int>) -> Done {
    let asked = name.string();
    let is = |counted: &Counted| counted.class == var_class && Some(counted.name) == asked.as_deref();
    let found = COUNTED.iter().position(is).ok_or_else(|| failure(c::MPI_T_ERR_INVALID_NAME, String::new()))?;
    pvar_index.set(found as c_int);
    Ok(())
}

pub(crate) fn t_pvar_session_create(p: &Process, session: Out<Handle>) -> Done {
    session.set(p.readers.add(()));
    Ok(())
}

pub(crate) fn t_pvar_session_free(p: &Process, session: Out<Handle>) -> Done {
    let freed = given(session)?;
    p.readers.remove(freed).ok_or_else(no_session)?;
    p.readings.retain(|reading| reading.session != freed);
    session.set(c::MPI_T_PVAR_SESSION_NULL);
    Ok(())
}

pub(crate) fn t_pvar_handle_alloc(
    p: &Process,
    session: Handle,
    pvar_index: c_int,
    _obj_handle: Address,
    handle: Out<Handle>,
    count: Out<c_int>,
) -> Done {
    p.readers.get(session).ok_or_else(no_session)?;
    let variable = nth(&COUNTED, pvar_index)?;
    handle.set(p.readings.add(Rc::new(Reading { session, variable, off: Cell::new(0) })));
    count.set(1);
    Ok(())
}

pub(crate) fn t_pvar_handle_free(p: &Process, session: Handle, handle: Out<Handle>) -> Done {
    reading(p, session, given(handle)?)?;
    p.readings.remove(handle.get(0));
    handle.set(c::MPI_T_PVAR_HANDLE_NULL);
    Ok(())
}

/// A handle of a session.
fn reading(p: &Process, session: Handle, handle: Handle) -> Done<Rc<Reading>> {
    p.readers.get(session).ok_or_else(no_session)?;
    p.readings.get(handle).filter(|reading| reading.session == session).ok_or_else(no_handle)
}

/// The handle, or all of the session.
fn readings(p: &Process, session: Handle, handle: Handle) -> Done<Vec<Rc<Reading>>> {
    if handle != c::MPI_T_PVAR_ALL_HANDLES {
        return Ok(vec![reading(p, session, handle)?]);
    }
    p.readers.get(session).ok_or_else(no_session)?;
    Ok(p.readings.all().into_iter().filter(|reading| reading.session == session).collect())
}

/// A variable that runs all the time is neither started nor stopped; calls for all handles of a session leave it out.
fn start_or_stop(p: &Process, session: Handle, handle: Handle) -> Done {
    readings(p, session, handle)?;
    check(handle == c::MPI_T_PVAR_ALL_HANDLES, c::MPI_T_ERR_PVAR_NO_STARTSTOP, String::new)
}

pub(crate) fn t_pvar_start(p: &Process, session: Handle, handle: Handle) -> Done {
    start_or_stop(p, session, handle)
}

pub(crate) fn t_pvar_stop(p: &Process, session: Handle, handle: Handle) -> Done {
    start_or_stop(p, session, handle)
}

pub(crate) fn t_pvar_read(p: &Process, session: Handle, handle: Handle, buf: Address) -> Done {
    buf.holds::<u64>().set(reading(p, session, handle)?.value(p));
    Ok(())
}

pub(crate) fn t_pvar_write(p: &Process, session: Handle, handle: Handle, buf: Address) -> Done {
    reading(p, session, handle)?.set(p, buf.holds::<u64>().get(0))
}

pub(crate) fn t_pvar_reset(p: &Process, session: Handle, handle: Handle) -> Done {
    let all = handle == c::MPI_T_PVAR_ALL_HANDLES;
    let readings = readings(p, session, handle)?;
    readings.iter().filter(|reading| !all || reading.is_counter()).try_for_each(|reading| reading.set(p, 0))
}

pub(crate) fn t_pvar_readreset(p: &Process, session: Handle, handle: Handle, buf: Address) -> Done {
    let reading = reading(p, session, handle)?;
    check(reading.is_counter(), c::MPI_T_ERR_PVAR_NO_ATOMIC, String::new)?;
    buf.holds::<u64>().set(reading.value(p));
    reading.set(p, 0)
}

pub(crate) fn t_category_get_num(_p: &Process, num_cat: Out<c_int>) -> Done {
    count(num_cat, 1)
}

pub(crate) fn t_category_get_info(
    _p: &Process,
    cat_index: c_int,
    name: TextOut,
    name_len: Out<c_int>,
    desc: TextOut,
    desc_len: Out<c_int>,
    num_cvars: Out<c_int>,
    num_pvars: Out<c_int>,
    num_categories: Out<c_int>,
) -> Done {
    let (own, meaning) = nth(&[CATEGORY], cat_index)?;
    tell(own, name, name_len);
    tell(meaning, desc, desc_len);
    num_cvars.set(SETTINGS.len() as c_int);
    num_pvars.set(COUNTED.len() as c_int);
    num_categories.set(0);
    Ok(())
}

pub(crate) fn t_category_get_index(_p: &Process, name: Text, cat_index: Out<c_int>) -> Done {
    place(name, [CATEGORY.0].into_iter(), cat_index)
}

pub(crate) fn t_category_get_cvars(_p: &Process, cat_index: c_int, len: c_int, indices: Out<c_int>) -> Done {
    nth(&[CATEGORY], cat_index)?;
    members(SETTINGS.len(), len, indices)
}

pub(crate) fn t_category_get_pvars(_p: &Process, cat_index: c_int, len: c_int, indices: Out<c_int>) -> Done {
    nth(&[CATEGORY], cat_index)?;
    members(COUNTED.len(), len, indices)
}

pub(crate) fn t_category_get_categories(_p: &Process, cat_index: c_int, _len: c_int, _indices: Out<c_int>) -> Done {
    nth(&[CATEGORY], cat_index).map(drop)
}

pub(crate) fn t_category_get_events(_p: &Process, cat_index: c_int, _len: c_int, _indices: Out<c_int>) -> Done {
    nth(&[CATEGORY], cat_index).map(drop)
}

pub(crate) fn t_category_get_num_events(_p: &Process, cat_index: c_int, num_events: Out<c_int>) -> Done {
    nth(&[CATEGORY], cat_index)?;
    count(num_events, 0)
}

pub(crate) fn t_category_changed(_p: &Process, update_number: Out<c_int>) -> Done {
    count(update_number, 0)
}

/// A handle that the call frees.
fn given(handle: Out<Handle>) -> Done<Handle> {
    check(!handle.is_null(), c::MPI_T_ERR_INVALID, String::new)?;
    Ok(handle.get(0))
}

fn no_handle() -> Box<crate::failure::Failure> {
    failure(c::MPI_T_ERR_INVALID_HANDLE, String::new())
}

fn no_session() -> Box<crate::failure::Failure> {
    failure(c::MPI_T_ERR_INVALID_SESSION, String::new())
}
