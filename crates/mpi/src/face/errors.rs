//! Error codes, their words, and handlers.

use crate::abi::Handle;
use crate::failure::{Done, check, fail, failure};
use crate::pointer::{Out, Text, TextOut};
use crate::process::Process;
use hotlink_standard::constants as c;
use hotlink_standard::{error_class as class_name, error_said};
use std::ffi::c_int;

/// Texts of the tools interface's errors.
const TOOLS: std::ops::RangeInclusive<c_int> = c::MPI_T_ERR_CANNOT_INIT..=c::MPI_T_ERR_PVAR_NO_ATOMIC;

pub(crate) fn error_class(p: &Process, errorcode: c_int, errorclass: Out<c_int>) -> Done {
    known(p, errorcode)?;
    errorclass.set(p.class_of(errorcode));
    Ok(())
}

fn known(p: &Process, code: c_int) -> Done {
    let known = class_name(code).is_some() || TOOLS.contains(&code) || code == c::MPI_ERR_LASTCODE;
    let known = known || p.codes.borrow().contains_key(&code);
    check(known, c::MPI_ERR_ARG, || format!("error code {code} is none"))
}

pub(crate) fn error_string(p: &Process, errorcode: c_int, string: TextOut, resultlen: Out<c_int>) -> Done {
    known(p, errorcode)?;
    let added = p.codes.borrow().get(&errorcode).map(|added| added.1.clone());
    let text = added.or_else(|| error_said(errorcode)).unwrap_or_else(|| format!("MPI_T error {errorcode}"));
    resultlen.set(string.write(&text, c::MPI_MAX_ERROR_STRING as usize) as c_int);
    Ok(())
}

fn add(p: &Process, class: Option<c_int>) -> c_int {
    let code = p.last_code.get() + 1;
    p.last_code.set(code);
    p.codes.borrow_mut().insert(code, (class.unwrap_or(code), String::new()));
    crate::face::attributes::tell_last_code(code);
    code
}

pub(crate) fn add_error_class(p: &Process, errorclass: Out<c_int>) -> Done {
    errorclass.set(add(p, None));
    Ok(())
}

pub(crate) fn add_error_code(p: &Process, errorclass: c_int, errorcode: Out<c_int>) -> Done {
    known(p, errorclass)?;
    errorcode.set(add(p, Some(errorclass)));
    Ok(())
}

pub(crate) fn add_error_string(p: &Process, errorcode: c_int, string: Text) -> Done {
    let text = string.string().unwrap_or_default();
    let fits = text.len() < c::MPI_MAX_ERROR_STRING as usize;
    check(fits, c::MPI_ERR_ARG, || "the string is too long".to_owned())?;
    match p.codes.borrow_mut().get_mut(&errorcode) {
        Some(added) => added.1 = text,
        None => return fail(c::MPI_ERR_ARG, format!("error code {errorcode} was not added by the program")),
    }
    Ok(())
}

fn remove(p: &Process, code: c_int, is_class: bool) -> Done {
    let added = p.codes.borrow().get(&code).map(|added| added.0 == code);
    check(added == Some(is_class), c::MPI_ERR_ARG, || format!("{code} was not added by the program as such"))?;
    let used = is_class && p.codes.borrow().iter().any(|(other, added)| *other != code && added.0 == code);
    check(!used, c::MPI_ERR_ARG, || format!("class {code} has codes"))?;
    let has_string = p.codes.borrow().get(&code).is_some_and(|added| !added.1.is_empty());
    check(!has_string, c::MPI_ERR_ARG, || format!("{code} has a string; MPI_Remove_error_string comes first"))?;
    p.codes.borrow_mut().remove(&code);
    Ok(())
}

pub(crate) fn remove_error_class(p: &Process, errorclass: c_int) -> Done {
    remove(p, errorclass, true)
}

pub(crate) fn remove_error_code(p: &Process, errorcode: c_int) -> Done {
    remove(p, errorcode, false)
}

pub(crate) fn remove_error_string(p: &Process, errorcode: c_int) -> Done {
    match p.codes.borrow_mut().get_mut(&errorcode) {
        Some(added) => added.1.clear(),
        None => return fail(c::MPI_ERR_ARG, format!("error code {errorcode} was not added by the program")),
    }
    Ok(())
}

fn create(p: &Process, function: usize, errhandler: Out<Handle>) -> Done {
    check(function != 0, c::MPI_ERR_ARG, || "the function is a null pointer".to_owned())?;
    errhandler.set(p.add_handler(function));
    Ok(())
}

pub(crate) fn comm_create_errhandler(p: &Process, function: usize, errhandler: Out<Handle>) -> Done {
    create(p, function, errhandler)
}

pub(crate) fn comm_set_errhandler(p: &Process, comm: Handle, errhandler: Handle) -> Done {
    p.check_handler(errhandler)?;
    p.comm(comm)?.handler.set(errhandler);
    Ok(())
}

pub(crate) fn comm_get_errhandler(p: &Process, comm: Handle, errhandler: Out<Handle>) -> Done {
    errhandler.set(p.another(p.comm(comm)?.handler.get()));
    Ok(())
}

pub(crate) fn comm_call_errhandler(p: &Process, comm: Handle, errorcode: c_int) -> Done {
    let handler = p.comm(comm)?.handler.get();
    p.handled("MPI_Comm_call_errhandler", handler, comm, &failure(errorcode, "called by the program"));
    Ok(())
}

pub(crate) fn win_create_errhandler(p: &Process, function: usize, errhandler: Out<Handle>) -> Done {
    create(p, function, errhandler)
}

pub(crate) fn win_set_errhandler(p: &Process, win: Handle, errhandler: Handle) -> Done {
    p.check_handler(errhandler)?;
    p.window(win)?.handler.set(errhandler);
    Ok(())
}

pub(crate) fn win_get_errhandler(p: &Process, win: Handle, errhandler: Out<Handle>) -> Done {
    errhandler.set(p.another(p.window(win)?.handler.get()));
    Ok(())
}

pub(crate) fn win_call_errhandler(p: &Process, win: Handle, errorcode: c_int) -> Done {
    let handler = p.window(win)?.handler.get();
    p.handled("MPI_Win_call_errhandler", handler, win, &failure(errorcode, "called by the program"));
    Ok(())
}

pub(crate) fn session_create_errhandler(p: &Process, function: usize, errhandler: Out<Handle>) -> Done {
    create(p, function, errhandler)
}

pub(crate) fn session_set_errhandler(p: &Process, session: Handle, errhandler: Handle) -> Done {
    p.check_handler(errhandler)?;
    p.session(session)?.handler.set(errhandler);
    Ok(())
}

pub(crate) fn session_get_errhandler(p: &Process, session: Handle, errhandler: Out<Handle>) -> Done {
    errhandler.set(p.another(p.session(session)?.handler.get()));
    Ok(())
}

pub(crate) fn session_call_errhandler(p: &Process, session: Handle, errorcode: c_int) -> Done {
    let handler = p.session(session)?.handler.get();
    p.handled("MPI_Session_call_errhandler", handler, session, &failure(errorcode, "called by the program"));
    Ok(())
}

pub(crate) fn file_create_errhandler(p: &Process, function: usize, errhandler: Out<Handle>) -> Done {
    create(p, function, errhandler)
}

/// The handler of a file; of none, that which files are opened with.
fn of_file(p: &Process, file: Handle, set: Option<Handle>) -> Done<Handle> {
    let known = if file == c::MPI_FILE_NULL { None } else { Some(p.file(file)?) };
    let cell = known.as_ref().map_or(&p.file_handler, |file| &file.handler);
    if let Some(handler) = set {
        cell.set(handler);
    }
    Ok(cell.get())
}

pub(crate) fn file_set_errhandler(p: &Process, file: Handle, errhandler: Handle) -> Done {
    p.check_handler(errhandler)?;
    of_file(p, file, Some(errhandler)).map(drop)
}

pub(crate) fn file_get_errhandler(p: &Process, file: Handle, errhandler: Out<Handle>) -> Done {
    errhandler.set(p.another(of_file(p, file, None)?));
    Ok(())
}

pub(crate) fn file_call_errhandler(p: &Process, file: Handle, errorcode: c_int) -> Done {
    let handler = of_file(p, file, None)?;
    p.handled("MPI_File_call_errhandler", handler, file, &failure(errorcode, "called by the program"));
    Ok(())
}

pub(crate) fn errhandler_free(p: &Process, errhandler: Out<Handle>) -> Done {
    let handler = errhandler.get(0);
    p.check_handler(handler)?;
    // Communicators that have it keep it: it is never taken out of the table.
    errhandler.set(c::MPI_ERRHANDLER_NULL);
    Ok(())
}
