//! Looking for messages, and receiving those that were found.

use super::messages::{Peer, from, give, receives};
use crate::abi::{Handle, Status};
use crate::failure::{Done, unknown};
use crate::pointer::{Address, Out};
use crate::process::communicator::Communicator;
use crate::process::request::{Ended, Pending, Start, Work};
use crate::process::{Message, Process};
use hotlink_standard::constants as c;
use std::cell::RefCell;
use std::ffi::c_int;
use std::rc::Rc;

fn seen(comm: &Communicator, found: &hotlink_message::Status) -> Status {
    Status::received(comm.peer_of(found.from), found.tag as c_int, found.bytes)
}

pub(crate) fn iprobe(
    p: &Process,
    source: c_int,
    tag: c_int,
    comm: Handle,
    flag: Out<c_int>,
    status: Out<Status>,
) -> Done {
    let comm = p.comm(comm)?;
    let (peer, tag) = (from(&comm, source)?, receives(tag)?);
    if peer == Peer::Nobody {
        flag.set(1);
        give(status, Status::NOBODY);
        return Ok(());
    }
    p.world()?.look();
    let found = comm.view.iprobe(peer.pattern(), tag);
    flag.set(c_int::from(found.is_some()));
    match found {
        Some(found) => give(status, seen(&comm, &found)),
        None => p.world()?.vain(),
    }
    Ok(())
}

/// Waits until `look` finds something, or nothing can come any more.
fn wait_for<T>(p: &Process, comm: &Communicator, peer: Peer, look: impl Fn() -> Option<T>) -> Done<T> {
    let lost = || comm.view.lost(peer.pattern());
    p.world()?.until(|| look().map(Ok).or_else(|| lost().map(|error| Err(error.into()))))
}

pub(crate) fn probe(p: &Process, source: c_int, tag: c_int, comm: Handle, status: Out<Status>) -> Done {
    let comm = p.comm(comm)?;
    let (peer, tag) = (from(&comm, source)?, receives(tag)?);
    if peer == Peer::Nobody {
        give(status, Status::NOBODY);
        return Ok(());
    }
    let found = wait_for(p, &comm, peer, || comm.view.iprobe(peer.pattern(), tag))?;
    give(status, seen(&comm, &found));
    Ok(())
}

fn found(
    p: &Process,
    comm: Rc<Communicator>,
    (matched, about): (hotlink_message::Matched, hotlink_message::Status),
    message: Out<Handle>,
    status: Out<Status>,
) {
    give(status, seen(&comm, &about));
    let matched = Rc::new(RefCell::new(Some(matched)));
    message.set(p.messages.add(Message { comm, matched }));
}

pub(crate) fn improbe(
    p: &Process,
    source: c_int,
    tag: c_int,
    comm: Handle,
    flag: Out<c_int>,
    message: Out<Handle>,
    status: Out<Status>,
) -> Done {
    let comm = p.comm(comm)?;
    let (peer, tag) = (from(&comm, source)?, receives(tag)?);
    flag.set(1);
    if peer == Peer::Nobody {
        message.set(c::MPI_MESSAGE_NO_PROC);
        give(status, Status::NOBODY);
        return Ok(());
    }
    p.world()?.look();
    match comm.view.improbe(peer.pattern(), tag) {
        Some(taken) => found(p, comm, taken, message, status),
        None => {
            flag.set(0);
            message.set(c::MPI_MESSAGE_NULL);
            p.world()?.vain();
        }
    }
    Ok(())
}

pub(crate) fn mprobe(
    p: &Process,
    source: c_int,
    tag: c_int,
    comm: Handle,
    message: Out<Handle>,
    status: Out<Status>,
) -> Done {
    let comm = p.comm(comm)?;
    let (peer, tag) = (from(&comm, source)?, receives(tag)?);
    if peer == Peer::Nobody {
        message.set(c::MPI_MESSAGE_NO_PROC);
        give(status, Status::NOBODY);
        return Ok(());
    }
    let taken = wait_for(p, &comm, peer, || comm.view.improbe(peer.pattern(), tag))?;
    found(p, comm, taken, message, status);
    Ok(())
}

pub(crate) fn mrecv(
    p: &Process,
    start: Start,
    buf: Address,
    count: i64,
    datatype: Handle,
    message: Out<Handle>,
) -> Done {
    let buffer = p.buffer(buf, count, datatype)?;
    let handle = message.get(0);
    let work = if handle == c::MPI_MESSAGE_NO_PROC {
        Work::Over(Ended::well(Status::NOBODY))
    } else {
        let none = || unknown(c::MPI_ERR_REQUEST, "message", handle);
        let known = p.messages.get(handle).ok_or_else(none)?;
        let matched = known.matched.take().ok_or_else(none)?;
        p.messages.remove(handle);
        let into = buffer.target(false);
        let request = known.comm.view.imrecv(matched, into.span)?;
        Work::Receive { comm: known.comm, request, into, of: buffer.of }
    };
    message.set(c::MPI_MESSAGE_NULL);
    match start {
        Start::Blocking(status) => {
            let pending = Pending::new(work, None);
            let ended = p.world()?.end_of(&pending);
            give(status, ended.status);
            ended.failed.map_or(Ok(()), Err)
        }
        Start::Now(request) | Start::Again(request) => {
            p.issue(request, work);
            Ok(())
        }
    }
}
