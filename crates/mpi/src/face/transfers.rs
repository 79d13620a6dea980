//! Data to and from files: at a given place, at a rank's own place, or at the shared one; by each rank, or by all.

use crate::abi::{Handle, Status};
use crate::failure::{Done, Of, check};
use crate::memory::Everything;
use crate::pointer::{Address, Out};
use crate::process::Process;
use crate::process::buffer::Buffer;
use crate::process::buffering;
use crate::process::file::File;
use crate::process::request::{Ended, Start, Work};
use hotlink_message::Comm;
use hotlink_message::words::{gathered, told};
use hotlink_real::Seat;
use hotlink_standard::Datatype;
use hotlink_standard::constants as c;
use std::borrow::Cow;
use std::ffi::c_int;
use std::rc::Rc;

/// The direction of data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Read,
    Write,
}

/// Where in a file; `None`: from the shared pointer on, of all ranks after those before this one.
type Place = Option<i64>;

/// Data as the file has them.
struct Form {
    of: Rc<Datatype>,
    is_external: bool,
}

impl Form {
    fn of(file: &File, buffer: &Buffer) -> Form {
        Form { of: buffer.of.datatype.clone(), is_external: file.seen.borrow().is_external() }
    }
    fn size(&self) -> u64 {
        if self.is_external { self.of.external_size() } else { self.of.size() }
    }
    fn packed(&self, buffer: &Buffer) -> Vec<u8> {
        let data = buffer.data();
        if self.is_external { self.of.to_external(&data) } else { data }
    }
    /// Moves the data to its place; the status.
    fn settle(&self, buffer: &Buffer, data: &[u8]) -> Status {
        let native = if self.is_external { Cow::from(self.of.of_external(data)) } else { Cow::from(data) };
        buffer.fill(&native);
        status(native.len() as u64)
    }
}

fn status(bytes: u64) -> Status {
    let mut status = Status::EMPTY;
    status.set_bytes(bytes);
    status
}

/// One rank's transfer, at once.
fn alone(file: &File, way: Way, at: i64, buffer: &Buffer) -> Done<Status> {
    let form = Form::of(file, buffer);
    let bytes = form.size() * buffer.count;
    let pieces = file.pieces(at, bytes)?;
    match way {
        Way::Write => file.write(&pieces, &form.packed(buffer)).map(|()| status(buffer.bytes())),
        Way::Read => {
            let mut data = vec![0; bytes as usize];
            let came = file.read(&pieces, &mut data)?;
            Ok(form.settle(buffer, &data[..came as usize]))
        }
    }
}

/// A rank's part: its place in the file, and its buffer.
type Part = (Place, Buffer);

/// Every rank's transfer. A rank whose call is wrong takes part with nothing, so that the others do not wait for it.
async fn together(
    view: Comm<Seat>,
    file: Rc<File>,
    all: Everything,
    way: Way,
    from: From,
    part: Done<Part>,
) -> Done<Status> {
    let bytes = part.as_ref().map_or(0, |(_, buffer)| Form::of(&file, buffer).size() * buffer.count);
    let order = match from {
        From::Order => ordered(&view, &file, file.units(bytes)).await?,
        From::Given(_) | From::Own => 0,
    };
    let part = part.and_then(|(place, buffer)| Ok((file.pieces(place.unwrap_or(order), bytes)?, buffer)));
    let pieces = part.as_ref().map_or(Vec::new(), |(pieces, _)| pieces.clone());
    match way {
        Way::Write => {
            let data = part.as_ref().map_or(Vec::new(), |(_, buffer)| Form::of(&file, buffer).packed(buffer));
            buffering::write(view, all, file, pieces, data).await?;
            part.map(|(_, buffer)| status(buffer.bytes()))
        }
        Way::Read => {
            let data = buffering::read(view, all, file.clone(), pieces).await?;
            part.map(|(_, buffer)| Form::of(&file, &buffer).settle(&buffer, &data))
        }
    }
}

/// This rank's place after the ranks before it; the shared pointer goes behind all.
async fn ordered(view: &Comm<Seat>, file: &File, units: i64) -> Done<i64> {
    let all = gathered(view, &[units]).await?;
    let sum = |ranks: usize| all[..ranks].iter().map(|row| row[0]).sum::<i64>();
    let first = if view.rank() == 0 { file.move_shared(|now| now + sum(all.len())) } else { Ok(0) };
    let code = first.as_ref().err().map_or(0, |failed| i64::from(failed.code));
    let words = told(view, 0, &[*first.as_ref().unwrap_or(&0), code]).await?;
    first?;
    check(words[1] == 0, words[1] as c_int, || "rank 0 could not move the shared pointer".to_owned())?;
    Ok(words[0] + sum(view.rank() as usize))
}

fn may(file: &File, way: Way) -> Done {
    if way == Way::Read { file.may_read() } else { file.may_write() }
}

/// A rank's own place, which goes behind what is asked for.
fn own(file: &File, buffer: &Buffer) -> Done<i64> {
    file.may_seek()?;
    let at = file.at.get();
    file.at.set(at + file.units(Form::of(file, buffer).size() * buffer.count));
    Ok(at)
}

/// Reports the end of a transfer.
fn over(p: &Process, start: Start, status: Status) -> Done {
    match start {
        Start::Blocking(into) => into.set(status),
        Start::Now(request) | Start::Again(request) => p.issue(request, Work::Over(Ended::well(status))),
    }
    Ok(())
}

/// Where data begin: at a place that is given, at a rank's own, or at the shared one, where all ranks go in order.
#[derive(Clone, Copy)]
enum From {
    Given(i64),
    Own,
    Order,
}

fn by_one(p: &Process, start: Start, way: Way, from: From, fh: Handle, what: (Address, i64, Handle)) -> Done {
    let file = p.file(fh)?;
    let (place, buffer) = part(p, &file, way, from, what)?;
    let units = file.units(Form::of(&file, &buffer).size() * buffer.count);
    let at = place.map_or_else(|| file.move_shared(|now| now + units), Ok)?;
    over(p, start, alone(&file, way, at, &buffer)?)
}

/// A rank's part, checked; one that goes in order has no place yet.
fn part(p: &Process, file: &File, way: Way, from: From, (buf, count, datatype): (Address, i64, Handle)) -> Done<Part> {
    may(file, way)?;
    let buffer = p.buffer(buf, count, datatype)?;
    let place = match from {
        From::Order => None,
        From::Own => Some(own(file, &buffer)?),
        From::Given(at) => {
            file.may_seek()?;
            Some(at)
        }
    };
    Ok((place, buffer))
}

fn by_all(p: &Process, start: Start, way: Way, from: From, fh: Handle, what: (Address, i64, Handle)) -> Done {
    let (file, world) = (p.free_file(fh)?, p.world()?);
    let (part, all) = (part(p, &file, way, from, what), world.all.clone());
    match start {
        Start::Blocking(into) => {
            let view = file.comm.view.clone();
            into.set(world.block_on(together(view, file, all, way, from, part))?);
        }
        Start::Now(request) | Start::Again(request) => {
            let (view, wrong) = (file.comm.beside(), part.as_ref().err().cloned());
            let done = together(view, file, all, way, from, part);
            let work = p.task(async move { done.await.map_err(|failed| failed.about(Of::File(fh))) })?;
            match wrong {
                None => p.issue(request, work),
                // The work for which the others wait goes on meanwhile.
                Some(failed) => return Err(failed),
            }
        }
    }
    Ok(())
}

/// A collective in two calls: all of it is done in the first.
fn begin(p: &Process, name: &'static str, way: Way, from: From, fh: Handle, what: (Address, i64, Handle)) -> Done {
    let (file, world) = (p.free_file(fh)?, p.world()?);
    let (part, all) = (part(p, &file, way, from, what), world.all.clone());
    let status = world.block_on(together(file.comm.view.clone(), file.clone(), all, way, from, part))?;
    *file.begun.borrow_mut() = Some((name, status));
    Ok(())
}

fn end(p: &Process, name: &'static str, fh: Handle, status: Out<Status>) -> Done {
    let file = p.file(fh)?;
    let begun = file.begun.borrow().as_ref().map(|begun| begun.0);
    let other = begun.map_or(String::new(), |other| format!(", but {other}_begin"));
    check(begun == Some(name), c::MPI_ERR_OTHER, || format!("no {name}_begin precedes it{other}"))?;
    if let Some((_, ended)) = file.begun.take() {
        status.set(ended);
    }
    Ok(())
}

/// Functions that differ in mode, direction and place of the data.
macro_rules! transfers {
    ($(pub(crate) fn $name:ident(p: &Process $(, $offset:ident)?) = $by:ident($way:expr, $from:expr);)*) => {$(
        pub(crate) fn $name(
            p: &Process,
            start: Start,
            fh: Handle,
            $($offset: i64,)?
            buf: Address,
            count: i64,
            datatype: Handle,
        ) -> Done {
            $by(p, start, $way, $from, fh, (buf, count, datatype))
        }
    )*};
}

transfers! {
pub(crate) fn file_read(p: &Process) = by_one(Way::Read, From::Own);
pub(crate) fn file_read_at(p: &Process, offset) = by_one(Way::Read, From::Given(offset));
pub(crate) fn file_read_shared(p: &Process) = by_one(Way::Read, From::Order);
pub(crate) fn file_read_all(p: &Process) = by_all(Way::Read, From::Own);
pub(crate) fn file_read_at_all(p: &Process, offset) = by_all(Way::Read, From::Given(offset));
pub(crate) fn file_read_ordered(p: &Process) = by_all(Way::Read, From::Order);
pub(crate) fn file_write(p: &Process) = by_one(Way::Write, From::Own);
pub(crate) fn file_write_at(p: &Process, offset) = by_one(Way::Write, From::Given(offset));
pub(crate) fn file_write_shared(p: &Process) = by_one(Way::Write, From::Order);
pub(crate) fn file_write_all(p: &Process) = by_all(Way::Write, From::Own);
pub(crate) fn file_write_at_all(p: &Process, offset) = by_all(Way::Write, From::Given(offset));
pub(crate) fn file_write_ordered(p: &Process) = by_all(Way::Write, From::Order);
}

/// Collectives in two calls: the first, and the second.
macro_rules! split {
    ($($whole:literal: pub(crate) fn $name:ident(p: &Process $(, $offset:ident)?) = begin($way:expr, $from:expr);
       pub(crate) fn $end:ident(p: &Process) = end;)*) => {$(
        pub(crate) fn $name(
            p: &Process,
            fh: Handle,
            $($offset: i64,)?
            buf: Address,
            count: i64,
            datatype: Handle,
        ) -> Done {
            begin(p, $whole, $way, $from, fh, (buf, count, datatype))
        }
        pub(crate) fn $end(p: &Process, fh: Handle, _buf: Address, status: Out<Status>) -> Done {
            end(p, $whole, fh, status)
        }
    )*};
}

split! {
"MPI_File_read_all":
pub(crate) fn file_read_all_begin(p: &Process) = begin(Way::Read, From::Own);
pub(crate) fn file_read_all_end(p: &Process) = end;
"MPI_File_read_at_all":
pub(crate) fn file_read_at_all_begin(p: &Process, offset) = begin(Way::Read, From::Given(offset));
pub(crate) fn file_read_at_all_end(p: &Process) = end;
"MPI_File_read_ordered":
pub(crate) fn file_read_ordered_begin(p: &Process) = begin(Way::Read, From::Order);
pub(crate) fn file_read_ordered_end(p: &Process) = end;
"MPI_File_write_all":
pub(crate) fn file_write_all_begin(p: &Process) = begin(Way::Write, From::Own);
pub(crate) fn file_write_all_end(p: &Process) = end;
"MPI_File_write_at_all":
pub(crate) fn file_write_at_all_begin(p: &Process, offset) = begin(Way::Write, From::Given(offset));
pub(crate) fn file_write_at_all_end(p: &Process) = end;
"MPI_File_write_ordered":
pub(crate) fn file_write_ordered_begin(p: &Process) = begin(Way::Write, From::Order);
pub(crate) fn file_write_ordered_end(p: &Process) = end;
}
