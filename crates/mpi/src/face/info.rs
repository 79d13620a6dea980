//! Keys and values as text.

use crate::abi::Handle;
use crate::failure::{Done, check, failure};
use crate::pointer::{Out, Text, TextOut};
use crate::process::Process;
use hotlink_standard::constants as c;
use std::cell::RefCell;
use std::ffi::c_int;
use std::rc::Rc;

fn key(key: Text) -> Done<String> {
    let key = key.string().unwrap_or_default();
    let fits = !key.is_empty() && key.len() < c::MPI_MAX_INFO_KEY as usize;
    check(fits, c::MPI_ERR_INFO_KEY, || format!("info key {key:?}: 1 to {} letters", c::MPI_MAX_INFO_KEY - 1))?;
    Ok(key)
}

fn value(p: &Process, info: Handle, name: &str) -> Done<Option<String>> {
    if info == c::MPI_INFO_ENV {
        return Ok(environment().into_iter().find(|pair| pair.0 == name).map(|pair| pair.1));
    }
    let info = p.info(info)?;
    let found = info.borrow().iter().find(|pair| pair.0 == name).map(|pair| pair.1.clone());
    Ok(found)
}

/// The standard's facts about the start of the program, as far as this library knows them.
fn environment() -> Vec<(String, String)> {
    let level = ("thread_level".to_owned(), "MPI_THREAD_MULTIPLE".to_owned());
    let mut pairs = vec![level];
    if let Ok(ranks) = std::env::var("HOTLINK_RANKS") {
        pairs.push(("maxprocs".to_owned(), ranks));
    }
    pairs
}

fn pairs(p: &Process, info: Handle) -> Done<Vec<(String, String)>> {
    if info == c::MPI_INFO_ENV { Ok(environment()) } else { Ok(p.info(info)?.borrow().clone()) }
}

/// A handle for an info of these pairs.
pub(crate) fn named(p: &Process, pairs: Vec<(String, String)>) -> Handle {
    p.infos.add(Rc::new(RefCell::new(pairs)))
}

/// The pairs that an optional info has.
pub(crate) fn given(p: &Process, info: Handle) -> Done<Vec<(String, String)>> {
    if info == c::MPI_INFO_NULL { Ok(Vec::new()) } else { pairs(p, info) }
}

/// Those of its hints that are understood: others are ignored, as the standard has it.
pub(crate) fn hints(p: &Process, info: Handle, understood: &str) -> Done<Vec<(String, String)>> {
    Ok(given(p, info)?.into_iter().filter(|pair| pair.0.starts_with(understood)).collect())
}

pub(crate) fn info_create(p: &Process, info: Out<Handle>) -> Done {
    info.set(named(p, Vec::new()));
    Ok(())
}

pub(crate) fn info_create_env(p: &Process, _argc: c_int, _argv: usize, info: Out<Handle>) -> Done {
    info.set(named(p, environment()));
    Ok(())
}

pub(crate) fn info_dup(p: &Process, info: Handle, newinfo: Out<Handle>) -> Done {
    newinfo.set(named(p, pairs(p, info)?));
    Ok(())
}

pub(crate) fn info_free(p: &Process, info: Out<Handle>) -> Done {
    p.info(info.get(0))?;
    p.infos.remove(info.get(0));
    info.set(c::MPI_INFO_NULL);
    Ok(())
}

pub(crate) fn info_set(p: &Process, info: Handle, name: Text, value: Text) -> Done {
    let (info, name, value) = (p.info(info)?, key(name)?, value.string().unwrap_or_default());
    let fits = value.len() < c::MPI_MAX_INFO_VAL as usize;
    check(fits, c::MPI_ERR_INFO_VALUE, || format!("info value: at most {} letters", c::MPI_MAX_INFO_VAL - 1))?;
    let mut pairs = info.borrow_mut();
    match pairs.iter_mut().find(|pair| pair.0 == name) {
        Some(pair) => pair.1 = value,
        None => pairs.push((name, value)),
    }
    Ok(())
}

pub(crate) fn info_delete(p: &Process, info: Handle, name: Text) -> Done {
    let (info, name) = (p.info(info)?, key(name)?);
    let before = info.borrow().len();
    info.borrow_mut().retain(|pair| pair.0 != name);
    check(info.borrow().len() < before, c::MPI_ERR_INFO_NOKEY, || format!("the info has no key {name:?}"))
}

pub(crate) fn info_get(
    p: &Process,
    info: Handle,
    name: Text,
    valuelen: c_int,
    into: TextOut,
    flag: Out<c_int>,
) -> Done {
    check(valuelen >= 0, c::MPI_ERR_ARG, || format!("valuelen {valuelen}: it must be at least 0"))?;
    let found = value(p, info, &key(name)?)?;
    flag.set(c_int::from(found.is_some()));
    if let Some(found) = found {
        into.write(&found, valuelen as usize + 1);
    }
    Ok(())
}

pub(crate) fn info_get_string(
    p: &Process,
    info: Handle,
    name: Text,
    buflen: Out<c_int>,
    into: TextOut,
    flag: Out<c_int>,
) -> Done {
    let found = value(p, info, &key(name)?)?;
    flag.set(c_int::from(found.is_some()));
    if let Some(found) = found {
        if buflen.get(0) > 0 {
            into.write(&found, buflen.get(0) as usize);
        }
        buflen.set(found.len() as c_int + 1);
    }
    Ok(())
}

pub(crate) fn info_get_valuelen(p: &Process, info: Handle, name: Text, valuelen: Out<c_int>, flag: Out<c_int>) -> Done {
    let found = value(p, info, &key(name)?)?;
    flag.set(c_int::from(found.is_some()));
    if let Some(found) = found {
        valuelen.set(found.len() as c_int);
    }
    Ok(())
}

pub(crate) fn info_get_nkeys(p: &Process, info: Handle, nkeys: Out<c_int>) -> Done {
    nkeys.set(pairs(p, info)?.len() as c_int);
    Ok(())
}

pub(crate) fn info_get_nthkey(p: &Process, info: Handle, n: c_int, into: TextOut) -> Done {
    let pairs = pairs(p, info)?;
    let pair = usize::try_from(n).ok().and_then(|n| pairs.get(n));
    let allowed = || failure(c::MPI_ERR_ARG, format!("key {n}: the info has {}", pairs.len()));
    into.write(&pair.ok_or_else(allowed)?.0, c::MPI_MAX_INFO_KEY as usize);
    Ok(())
}

pub(crate) fn abi_get_info(p: &Process, info: Out<Handle>) -> Done {
    let sizes = [("mpi_aint_size", 8), ("mpi_count_size", 8), ("mpi_offset_size", 8)];
    info.set(named(p, sizes.iter().map(|(name, size)| ((*name).to_owned(), format!("{size}"))).collect()));
    Ok(())
}

pub(crate) fn get_hw_resource_info(p: &Process, info: Out<Handle>) -> Done {
    info.set(named(p, Vec::new()));
    Ok(())
}
