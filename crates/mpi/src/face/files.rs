//! Files: opened, closed, sized, viewed. How their data move is in `transfers.rs`.

use super::info;
use crate::abi::Handle;
use crate::failure::{Done, Failure, check, fail, failure};
use crate::pointer::{Out, OutInt, Text, TextOut};
use crate::process::Process;
use crate::process::communicator::same;
use crate::process::file::{File, Seen, failed};
use crate::process::types::Type;
use hotlink_message::words::{largest, told};
use hotlink_standard::constants as c;
use hotlink_standard::{Given, View};
use std::ffi::c_int;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Why a mode cannot be.
fn wrong_mode(mode: c_int) -> Option<&'static str> {
    let has = |flag: c_int| mode & flag != 0;
    let ways = [c::MPI_MODE_RDONLY, c::MPI_MODE_WRONLY, c::MPI_MODE_RDWR];
    if ways.iter().filter(|&&way| has(way)).count() != 1 {
        return Some("exactly one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR must be given");
    }
    if has(c::MPI_MODE_RDONLY) && (has(c::MPI_MODE_CREATE) || has(c::MPI_MODE_EXCL)) {
        return Some("a file for reading only cannot be made: MPI_MODE_CREATE and MPI_MODE_EXCL are for writing");
    }
    (has(c::MPI_MODE_RDWR) && has(c::MPI_MODE_SEQUENTIAL)).then_some("MPI_MODE_SEQUENTIAL cannot go with MPI_MODE_RDWR")
}

fn opened(path: &Path, mode: c_int, makes: bool) -> Done<fs::File> {
    let has = |flag: c_int| mode & flag != 0;
    let mut how = fs::OpenOptions::new();
    how.read(!has(c::MPI_MODE_WRONLY)).write(!has(c::MPI_MODE_RDONLY));
    if makes && has(c::MPI_MODE_CREATE) {
        if has(c::MPI_MODE_EXCL) {
            how.create_new(true)
        } else {
            how.create(true).truncate(false)
        };
    }
    how.open(path).map_err(|error| failed(&path.display().to_string(), &error))
}

/// Where the pointer that all ranks share is kept; rank 0 is the process `pid`.
fn shared_beside(path: &Path, pid: i64, number: u32) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.hotlink-{pid}-{number}"))
}

pub(crate) fn file_open(
    p: &Process,
    comm: Handle,
    filename: Text,
    amode: c_int,
    info: Handle,
    fh: Out<Handle>,
) -> Done {
    let (world, old) = (p.world()?, p.intracomm(comm)?);
    fh.set(c::MPI_FILE_NULL);
    let (name, hints) = (filename.string().unwrap_or_default(), info::given(p, info)?);
    let number = p.new_number(&old.view, Given::to("MPI_File_open", &[("amode", &[amode.into()])]))?;
    let own = Rc::new(p.made((*old.group).clone(), number, None, c::MPI_ERRORS_RETURN)?);
    if let Some(why) = wrong_mode(amode) {
        return fail(c::MPI_ERR_AMODE, format!("mode {amode}: {why}"));
    }
    let path = std::path::absolute(&name).map_err(|error| failed(&name, &error))?;
    let code = |result: &Done<fs::File>| result.as_ref().err().map_or(0, |failed| i64::from(failed.code));
    // Rank 0 makes the file, the others find it made.
    let first = (own.rank == 0).then(|| opened(&path, amode, true));
    let mine = [first.as_ref().map_or(0, code), i64::from(std::process::id())];
    let words = world.block_on(told(&own.view, 0, &mine))?;
    let result = match first {
        Some(first) => first,
        None if words[0] != 0 => fail(words[0] as c_int, format!("{name}: rank 0 could not open it")),
        None => opened(&path, amode, false),
    };
    let worst = world.block_on(largest(&own.view, &[code(&result)]))?[0];
    let file = result?;
    check(worst == 0, worst as c_int, || format!("{name}: another rank could not open it"))?;
    let shared = shared_beside(&path, words[1], number);
    let file = File::new(own, file, (path, shared), amode, p.datatype(c::MPI_BYTE)?, p.file_handler.get());
    *file.info.borrow_mut() = hints;
    if file.has(c::MPI_MODE_APPEND) {
        let end = file.end()?;
        file.at.set(end);
        if file.comm.rank == 0 {
            file.move_shared(|_| end)?;
        }
        meet(p, &file)?;
    }
    fh.set(p.files.add(Rc::new(file)));
    Ok(())
}

/// All ranks of the file are here.
fn meet(p: &Process, file: &File) -> Done {
    Ok(p.world()?.block_on(file.comm.view.barrier())?)
}

/// Rank 0 does something; all ranks hear how it went.
fn first_does(p: &Process, file: &File, work: impl FnOnce() -> Done) -> Done {
    let result = if file.comm.rank == 0 { work() } else { Ok(()) };
    let code = result.as_ref().err().map_or(0, |failed| i64::from(failed.code));
    let code = p.world()?.block_on(told(&file.comm.view, 0, &[code]))?[0];
    result?;
    check(code == 0, code as c_int, || "rank 0 could not do it".to_owned())
}

/// All ranks must give the same number to this function.
fn alike(p: &Process, file: &File, [name, argument]: [&'static str; 2], number: i64) -> Done {
    p.world()?.block_on(same(&file.comm.view, &Given::to(name, &[(argument, &[number])]), &[])).map(drop)
}

pub(crate) fn file_close(p: &Process, fh: Out<Handle>) -> Done {
    let handle = fh.get(0);
    let file = p.free_file(handle)?;
    meet(p, &file)?;
    p.files.remove(handle);
    fh.set(c::MPI_FILE_NULL);
    first_does(p, &file, || {
        file.forget_shared();
        let goes = file.has(c::MPI_MODE_DELETE_ON_CLOSE);
        let told = |error: std::io::Error| failed(&file.path.display().to_string(), &error);
        if goes { fs::remove_file(&file.path).map_err(told) } else { Ok(()) }
    })
}

pub(crate) fn file_delete(_p: &Process, filename: Text, _info: Handle) -> Done {
    let name = filename.string().unwrap_or_default();
    fs::remove_file(&name).map_err(|error| failed(&name, &error))
}

pub(crate) fn file_set_size(p: &Process, fh: Handle, size: i64) -> Done {
    let file = p.free_file(fh)?;
    file.may_write()?;
    alike(p, &file, ["MPI_File_set_size", "size"], size)?;
    check(size >= 0, c::MPI_ERR_ARG, || format!("size {size}: it must be at least 0"))?;
    first_does(p, &file, || file.set_bytes(size as u64))
}

/// The file becomes as long; whether the system keeps room for what is not written is its own choice.
pub(crate) fn file_preallocate(p: &Process, fh: Handle, size: i64) -> Done {
    let file = p.free_file(fh)?;
    file.may_write()?;
    alike(p, &file, ["MPI_File_preallocate", "size"], size)?;
    check(size >= 0, c::MPI_ERR_ARG, || format!("size {size}: it must be at least 0"))?;
    first_does(p, &file, || if file.bytes()? < size as u64 { file.set_bytes(size as u64) } else { Ok(()) })
}

pub(crate) fn file_get_size(p: &Process, fh: Handle, size: Out<i64>) -> Done {
    size.set(p.file(fh)?.bytes()? as i64);
    Ok(())
}

pub(crate) fn file_get_group(p: &Process, fh: Handle, group: Out<Handle>) -> Done {
    group.set(p.name_group((*p.file(fh)?.comm.group).clone()));
    Ok(())
}

pub(crate) fn file_get_amode(p: &Process, fh: Handle, amode: Out<c_int>) -> Done {
    amode.set(p.file(fh)?.mode);
    Ok(())
}

pub(crate) fn file_set_info(p: &Process, fh: Handle, info: Handle) -> Done {
    let (file, given) = (p.file(fh)?, info::given(p, info)?);
    let mut kept = file.info.borrow_mut();
    for (key, value) in given {
        match kept.iter_mut().find(|pair| pair.0 == key) {
            Some(pair) => pair.1 = value,
            None => kept.push((key, value)),
        }
    }
    Ok(())
}

/// No hint is used, so none is reported.
pub(crate) fn file_get_info(p: &Process, fh: Handle, info_used: Out<Handle>) -> Done {
    p.file(fh)?;
    info_used.set(info::named(p, Vec::new()));
    Ok(())
}

/// The parts of a view, checked.
fn seen(p: &Process, displacement: u64, etype: Handle, filetype: Handle, datarep: &str) -> Done<Seen> {
    let (etype, filetype) = (p.committed(etype)?, p.committed(filetype)?);
    let known = ["native", "internal", "external32"].contains(&datarep);
    let unknown = || format!("data representation {datarep:?}: must be native, internal or external32");
    check(known, c::MPI_ERR_UNSUPPORTED_DATAREP, unknown)?;
    let (unit, size) = (etype.datatype.size(), filetype.datatype.size());
    let whole = unit > 0 && size.is_multiple_of(unit);
    check(whole, c::MPI_ERR_ARG, || format!("the file type has {size} B, no whole number of etypes of {unit} B"))?;
    let is_plain = |of: &Type| of.datatype.external_size() == of.datatype.size();
    let fits = datarep != "external32" || (is_plain(&etype) && is_plain(&filetype));
    let why = || "external32 of types whose portable form has another size".to_owned();
    check(fits, c::MPI_ERR_UNSUPPORTED_DATAREP, why)?;
    let backwards = || -> Box<Failure> {
        failure(c::MPI_ERR_IO, "the displacements of the file type must be at least 0 and never decrease")
    };
    View::new(0, &etype.datatype).ok_or_else(backwards)?;
    let view = View::new(displacement, &filetype.datatype).ok_or_else(backwards)?;
    Ok(Seen { view: Rc::new(view), etype, filetype, representation: datarep.to_owned() })
}

pub(crate) fn file_set_view(
    p: &Process,
    fh: Handle,
    disp: i64,
    etype: Handle,
    filetype: Handle,
    datarep: Text,
    info: Handle,
) -> Done {
    let file = p.free_file(fh)?;
    let datarep = datarep.string().unwrap_or_default();
    let begins = || -> Done<u64> {
        let current = disp == c::MPI_DISPLACEMENT_CURRENT;
        check(disp >= 0 || current, c::MPI_ERR_ARG, || format!("displacement {disp}: it must be at least 0"))?;
        let sequence = file.has(c::MPI_MODE_SEQUENTIAL);
        let why = || "MPI_DISPLACEMENT_CURRENT is for files of MPI_MODE_SEQUENTIAL, and they take no other".to_owned();
        check(current == sequence, c::MPI_ERR_UNSUPPORTED_OPERATION, why)?;
        if !current {
            return Ok(disp as u64);
        }
        let at = file.move_shared(|now| now)?;
        let seen = file.seen.borrow();
        Ok(seen.view.place(at as u64 * seen.unit()))
    };
    let seen = begins().and_then(|displacement| {
        let seen = seen(p, displacement, etype, filetype, &datarep)?;
        let once = || "a file that is written must not be seen twice: the file type overlaps".to_owned();
        check(file.has(c::MPI_MODE_RDONLY) || !seen.view.overlaps(), c::MPI_ERR_IO, once)?;
        Ok(seen)
    });
    // All ranks learn of one that fails: none waits for it. No rank moves the shared pointer any more when rank 0 sets
    // it back.
    let unit = |sign: i64| seen.as_ref().map_or(i64::MIN, |seen| sign * seen.unit() as i64);
    let code = seen.as_ref().err().map_or(0, |failed| i64::from(failed.code));
    let all = p.world()?.block_on(largest(&file.comm.view, &[unit(1), unit(-1), code]))?;
    let seen = seen?;
    check(all[2] == 0, all[2] as c_int, || "another rank's view was refused".to_owned())?;
    check(all[0] == -all[1], c::MPI_ERR_NOT_SAME, || "the ranks give different sizes of etypes".to_owned())?;
    *file.seen.borrow_mut() = seen;
    file.at.set(0);
    file_set_info(p, fh, info)?;
    first_does(p, &file, || file.move_shared(|_| 0).map(drop))
}

/// A handle of a type for the program: the predefined one, or one of its own.
fn handle_of(p: &Process, of: &Rc<Type>) -> Handle {
    p.types.handle_of(&of.datatype).unwrap_or_else(|| p.derived.add(of.clone()))
}

pub(crate) fn file_get_view(
    p: &Process,
    fh: Handle,
    disp: Out<i64>,
    etype: Out<Handle>,
    filetype: Out<Handle>,
    datarep: TextOut,
) -> Done {
    let file = p.file(fh)?;
    let seen = file.seen.borrow();
    disp.set(seen.view.displacement() as i64);
    etype.set(handle_of(p, &seen.etype));
    filetype.set(handle_of(p, &seen.filetype));
    datarep.write(&seen.representation, c::MPI_MAX_DATAREP_STRING as usize);
    Ok(())
}

pub(crate) fn file_get_type_extent(p: &Process, fh: Handle, datatype: Handle, extent: OutInt) -> Done {
    p.file(fh)?;
    extent.set(p.datatype(datatype)?.datatype.extent());
    Ok(())
}

pub(crate) fn file_seek(p: &Process, fh: Handle, offset: i64, whence: c_int) -> Done {
    let file = p.file(fh)?;
    file.may_seek()?;
    file.at.set(file.sought(file.at.get(), offset, whence)?);
    Ok(())
}

pub(crate) fn file_get_position(p: &Process, fh: Handle, offset: Out<i64>) -> Done {
    let file = p.file(fh)?;
    file.may_seek()?;
    offset.set(file.at.get());
    Ok(())
}

pub(crate) fn file_seek_shared(p: &Process, fh: Handle, offset: i64, whence: c_int) -> Done {
    let file = p.file(fh)?;
    file.may_seek()?;
    let given = Given::to("MPI_File_seek_shared", &[("offset", &[offset]), ("whence", &[whence.into()])]);
    p.world()?.block_on(same(&file.comm.view, &given, &[]))?;
    let to = file.sought(file.move_shared(|now| now)?, offset, whence)?;
    meet(p, &file)?;
    first_does(p, &file, || file.move_shared(|_| to).map(drop))
}

pub(crate) fn file_get_position_shared(p: &Process, fh: Handle, offset: Out<i64>) -> Done {
    let file = p.file(fh)?;
    file.may_seek()?;
    offset.set(file.move_shared(|now| now)?);
    Ok(())
}

pub(crate) fn file_get_byte_offset(p: &Process, fh: Handle, offset: i64, disp: Out<i64>) -> Done {
    let file = p.file(fh)?;
    file.may_seek()?;
    check(offset >= 0, c::MPI_ERR_ARG, || format!("offset {offset}: it must be at least 0"))?;
    let seen = file.seen.borrow();
    disp.set(seen.view.place(offset as u64 * seen.unit()) as i64);
    Ok(())
}

pub(crate) fn file_set_atomicity(p: &Process, fh: Handle, flag: c_int) -> Done {
    let file = p.file(fh)?;
    alike(p, &file, ["MPI_File_set_atomicity", "flag"], i64::from(flag != 0))?;
    file.atomic.set(flag != 0);
    Ok(())
}

pub(crate) fn file_get_atomicity(p: &Process, fh: Handle, flag: Out<c_int>) -> Done {
    flag.set(c_int::from(p.file(fh)?.atomic.get()));
    Ok(())
}

pub(crate) fn file_sync(p: &Process, fh: Handle) -> Done {
    let file = p.free_file(fh)?;
    // A file that is only read has nothing to be kept.
    let result = if file.has(c::MPI_MODE_RDONLY) { Ok(()) } else { file.sync() };
    meet(p, &file)?;
    result
}
