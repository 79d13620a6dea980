//! Sends and receives of every mode.

use crate::abi::{Handle, Status};
use crate::failure::{Done, check, fail};
use crate::pointer::{Address, Out, OutInt};
use crate::process::buffer::{Buffer, Staged};
use crate::process::communicator::Communicator;
use crate::process::request::{Ended, Mode, Start, Work, received};
use crate::process::{Buffered, Process};
use hotlink_message::Mode as Promise;
use hotlink_standard::constants as c;
use std::cell::Cell;
use std::ffi::c_int;
use std::future::Future;
use std::rc::Rc;

/// The largest tag.
pub(crate) const TAG_MAX: c_int = c_int::MAX;

/// The other end of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    Nobody,
    Any,
    Rank(u32),
}

fn sends(tag: c_int) -> Done<u32> {
    check(tag >= 0, c::MPI_ERR_TAG, || format!("tag {tag}: it must be 0 to {TAG_MAX}"))?;
    Ok(tag as u32)
}

pub(crate) fn receives(tag: c_int) -> Done<Option<u32>> {
    if tag == c::MPI_ANY_TAG { Ok(None) } else { sends(tag).map(Some) }
}

/// A rank to send to.
pub(crate) fn to(comm: &Communicator, rank: c_int) -> Done<Peer> {
    match rank {
        c::MPI_PROC_NULL => Ok(Peer::Nobody),
        rank if rank >= 0 && (rank as u32) < comm.peers() => Ok(Peer::Rank(comm.peer(rank as u32))),
        _ => fail(c::MPI_ERR_RANK, format!("rank {rank}: it must be 0 to {}, or MPI_PROC_NULL", comm.peers() - 1)),
    }
}

/// A rank to receive from.
pub(crate) fn from(comm: &Communicator, rank: c_int) -> Done<Peer> {
    if rank == c::MPI_ANY_SOURCE { Ok(Peer::Any) } else { to(comm, rank) }
}

impl Peer {
    pub(crate) fn pattern(self) -> Option<u32> {
        match self {
            Peer::Rank(rank) => Some(rank),
            _ => None,
        }
    }
}

/// Stores a status if the caller wants it. Its error is not for calls that end one operation alone.
pub(crate) fn give(status: Out<Status>, value: Status) {
    if !status.is_null() {
        status.set(Status { error: status.get(0).error, ..value });
    }
}

/// Elements that move between this rank and another: none to and from MPI_PROC_NULL, wherever the buffer is.
fn moved(count: i64, peer: c_int) -> i64 {
    if peer == c::MPI_PROC_NULL { count.min(0) } else { count }
}

pub(crate) fn send(
    p: &Process,
    mode: Mode,
    start: Start,
    buf: Address,
    count: i64,
    datatype: Handle,
    dest: c_int,
    tag: c_int,
    comm: Handle,
) -> Done {
    let comm = p.comm(comm)?;
    let (tag, buffer, peer) = (sends(tag)?, p.buffer(buf, moved(count, dest), datatype)?, to(&comm, dest)?);
    if let (Start::Blocking(_), Mode::Standard | Mode::Ready, Peer::Rank(rank)) = (start, mode, peer) {
        let staged = buffer.source(false);
        if comm.view.send_at_once(rank, tag, staged.span, true) {
            return Ok(());
        }
        let request = comm.view.send_waiting(Promise::Standard, rank, tag, staged.span)?;
        p.world()?.block_on(comm.view.wait(request))?;
        return Ok(());
    }
    match start {
        Start::Blocking(_) => {
            let pending = crate::process::request::Pending::new(begin_send(p, mode, &comm, &buffer, peer, tag)?, None);
            let ended = p.world()?.end_of(&pending);
            ended.failed.map_or(Ok(()), Err)
        }
        Start::Now(request) => {
            p.issue(request, begin_send(p, mode, &comm, &buffer, peer, tag)?);
            Ok(())
        }
        Start::Again(request) => {
            p.issue_again(request, move |p| begin_send(p, mode, &comm, &buffer, peer, tag));
            Ok(())
        }
    }
}

fn begin_send(p: &Process, mode: Mode, comm: &Rc<Communicator>, buffer: &Buffer, peer: Peer, tag: u32) -> Done<Work> {
    let Peer::Rank(rank) = peer else { return Ok(Work::Over(Ended::well(Status::NOBODY))) };
    if mode == Mode::Buffered {
        keep(p, comm, buffer, rank, tag)?;
        return Ok(Work::Over(Ended::well(Status::EMPTY)));
    }
    let kept = buffer.source(false);
    let promise = if mode == Mode::Synchronous { Promise::Restricted } else { Promise::Standard };
    let request = comm.view.isend_as(promise, rank, tag, kept.span)?;
    Ok(Work::Send { comm: comm.clone(), request, kept })
}

/// A copy goes, as far as the program's buffer has room for it.
fn keep(p: &Process, comm: &Rc<Communicator>, buffer: &Buffer, rank: u32, tag: u32) -> Done {
    let (world, bytes) = (p.world()?, buffer.bytes() + c::MPI_BSEND_OVERHEAD as u64);
    world.look();
    // A communicator's own buffer goes before the process's.
    let own = comm.attached.get();
    let shares = |sent: &&Buffered| own.is_none() || Rc::ptr_eq(&sent.comm, comm);
    let used: u64 = world.buffered.borrow().iter().filter(shares).map(|sent| sent.bytes).sum();
    let room = match own.or(world.attached.get()).or_else(|| p.session_buffer()) {
        Some((address, _)) if address == c::MPI_BUFFER_AUTOMATIC => u64::MAX,
        Some((_, room)) => room,
        None => return fail(c::MPI_ERR_BUFFER, "no buffer is attached"),
    };
    let fits = used.checked_add(bytes).is_some_and(|all| all <= room);
    check(fits, c::MPI_ERR_BUFFER, || format!("{bytes} B do not fit next to {used} B into the attached {room} B"))?;
    let copy = Staged::of(buffer.everything(), &buffer.data());
    let request = comm.view.isend(rank, tag, copy.span)?;
    world.buffered.borrow_mut().push(Buffered { comm: comm.clone(), request, copy, bytes });
    world.look();
    Ok(())
}

pub(crate) fn recv(
    p: &Process,
    start: Start,
    buf: Address,
    count: i64,
    datatype: Handle,
    source: c_int,
    tag: c_int,
    comm: Handle,
) -> Done {
    let comm = p.comm(comm)?;
    let (tag, buffer, peer) = (receives(tag)?, p.buffer(buf, moved(count, source), datatype)?, from(&comm, source)?);
    match start {
        Start::Blocking(status) => {
            if peer == Peer::Nobody {
                give(status, Status::NOBODY);
                return Ok(());
            }
            let into = buffer.target(false);
            let result = p.world()?.block_on(comm.view.recv(peer.pattern(), tag, into.span));
            let ended = received(&comm, result, (&into, &buffer.of));
            give(status, ended.status);
            ended.failed.map_or(Ok(()), Err)
        }
        Start::Now(request) => {
            p.issue(request, begin_recv(&comm, &buffer, peer, tag)?);
            Ok(())
        }
        Start::Again(request) => {
            p.issue_again(request, move |_| begin_recv(&comm, &buffer, peer, tag));
            Ok(())
        }
    }
}

fn begin_recv(comm: &Rc<Communicator>, buffer: &Buffer, peer: Peer, tag: Option<u32>) -> Done<Work> {
    if peer == Peer::Nobody {
        return Ok(Work::Over(Ended::well(Status::NOBODY)));
    }
    let into = buffer.target(false);
    let request = comm.view.irecv_quietly(peer.pattern(), tag, into.span)?;
    Ok(Work::Receive { comm: comm.clone(), request, into, of: buffer.of.clone() })
}

/// A send and a receive at the same time, as one.
fn exchanged(
    comm: &Rc<Communicator>,
    (out, dest, sendtag): (Staged, Peer, u32),
    (buffer, source, recvtag): (Buffer, Peer, Option<u32>),
) -> Done<impl Future<Output = (Option<Status>, Done)> + use<>> {
    let into = buffer.target(false);
    let receive = match source {
        Peer::Nobody => None,
        _ => Some(comm.view.irecv_quietly(source.pattern(), recvtag, into.span)?),
    };
    let send = match dest {
        Peer::Rank(rank) => Some(comm.view.isend(rank, sendtag, out.span)?),
        _ => None,
    };
    let comm = comm.clone();
    Ok(async move {
        let sent = match send {
            Some(send) => comm.view.wait(send).await.map(|_| ()).map_err(Into::into),
            None => Ok(()),
        };
        drop(out);
        let ended = match receive {
            Some(receive) => received(&comm, comm.view.wait(receive).await, (&into, &buffer.of)),
            None => Ended::well(Status::NOBODY),
        };
        (Some(ended.status), ended.failed.map_or(sent, Err))
    })
}

fn exchange(p: &Process, start: Start, what: impl Future<Output = (Option<Status>, Done)> + 'static) -> Done {
    match start {
        Start::Blocking(status) => {
            let (came, done) = p.world()?.block_on(what);
            if let Some(came) = came {
                give(status, came);
            }
            done
        }
        Start::Now(request) | Start::Again(request) => {
            let work = p.task(async move {
                let (status, done) = what.await;
                done.map(|()| status.unwrap_or(Status::EMPTY))
            })?;
            p.issue(request, work);
            Ok(())
        }
    }
}

pub(crate) fn sendrecv(
    p: &Process,
    start: Start,
    sendbuf: Address,
    sendcount: i64,
    sendtype: Handle,
    dest: c_int,
    sendtag: c_int,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Handle,
    source: c_int,
    recvtag: c_int,
    comm: Handle,
) -> Done {
    let comm = p.comm(comm)?;
    let out = p.buffer(sendbuf, moved(sendcount, dest), sendtype)?;
    let out = (out.source(false), to(&comm, dest)?, sends(sendtag)?);
    let into = p.buffer(recvbuf, moved(recvcount, source), recvtype)?;
    let into = (into, from(&comm, source)?, receives(recvtag)?);
    exchange(p, start, exchanged(&comm, out, into)?)
}

pub(crate) fn sendrecv_replace(
    p: &Process,
    start: Start,
    buf: Address,
    count: i64,
    datatype: Handle,
    dest: c_int,
    sendtag: c_int,
    source: c_int,
    recvtag: c_int,
    comm: Handle,
) -> Done {
    let comm = p.comm(comm)?;
    let buffer = p.buffer(buf, count, datatype)?;
    let copy = Staged::of(buffer.everything(), &buffer.data());
    let out = (copy, to(&comm, dest)?, sends(sendtag)?);
    let into = (buffer, from(&comm, source)?, receives(recvtag)?);
    exchange(p, start, exchanged(&comm, out, into)?)
}

/// Gives a place for the buffers of sends a buffer.
fn attach(place: &Cell<Option<(usize, u64)>>, buffer: Address, size: i64) -> Done {
    check(size >= 0, c::MPI_ERR_ARG, || format!("size {size}: it must be at least 0"))?;
    check(place.get().is_none(), c::MPI_ERR_BUFFER, || "a buffer is attached already".to_owned())?;
    place.set(Some((buffer.0, size as u64)));
    Ok(())
}

/// Takes it back, when what lies in it has gone.
fn detach(p: &Process, place: &Cell<Option<(usize, u64)>>, buffer_addr: Address, size: OutInt) -> Done {
    buffer_flush(p)?;
    let Some((address, bytes)) = place.take() else {
        return fail(c::MPI_ERR_BUFFER, "no buffer is attached");
    };
    buffer_addr.holds().set(address);
    size.set(bytes as i64);
    Ok(())
}

pub(crate) fn buffer_attach(p: &Process, buffer: Address, size: i64) -> Done {
    attach(&p.world()?.attached, buffer, size)
}

pub(crate) fn buffer_detach(p: &Process, buffer_addr: Address, size: OutInt) -> Done {
    detach(p, &p.world()?.attached, buffer_addr, size)
}

pub(crate) fn buffer_flush(p: &Process) -> Done {
    let world = p.world()?;
    world.until(|| world.buffered.borrow().is_empty().then_some(()));
    Ok(())
}

/// Flushes at once: the standard lets a call of this kind take its time.
pub(crate) fn buffer_iflush(p: &Process, request: Out<Handle>) -> Done {
    buffer_flush(p)?;
    p.issue(request, Work::Over(Ended::well(Status::EMPTY)));
    Ok(())
}

pub(crate) fn comm_attach_buffer(p: &Process, comm: Handle, buffer: Address, size: i64) -> Done {
    attach(&p.comm(comm)?.attached, buffer, size)
}

pub(crate) fn comm_detach_buffer(p: &Process, comm: Handle, buffer_addr: Address, size: OutInt) -> Done {
    detach(p, &p.comm(comm)?.attached, buffer_addr, size)
}

pub(crate) fn comm_flush_buffer(p: &Process, comm: Handle) -> Done {
    p.comm(comm)?;
    buffer_flush(p)
}

pub(crate) fn comm_iflush_buffer(p: &Process, comm: Handle, request: Out<Handle>) -> Done {
    p.comm(comm)?;
    buffer_iflush(p, request)
}

pub(crate) fn session_attach_buffer(p: &Process, session: Handle, buffer: Address, size: i64) -> Done {
    attach(&p.session(session)?.attached, buffer, size)
}

pub(crate) fn session_detach_buffer(p: &Process, session: Handle, buffer_addr: Address, size: OutInt) -> Done {
    detach(p, &p.session(session)?.attached, buffer_addr, size)
}

pub(crate) fn session_flush_buffer(p: &Process, session: Handle) -> Done {
    p.session(session)?;
    buffer_flush(p)
}

pub(crate) fn session_iflush_buffer(p: &Process, session: Handle, request: Out<Handle>) -> Done {
    p.session(session)?;
    buffer_iflush(p, request)
}
