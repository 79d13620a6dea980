//! Partitioned point-to-point: a message whose parts become ready one by one. It goes as one when the last part is ready.
//!
//! Sends meet receives in the order in which both were made, in whichever they are started. So a send that is made says under
//! which tag it will come, by a message with the program's own tag.

use super::messages::to;
use crate::abi::{Handle, Status};
use crate::failure::{Done, check, fail, failure};
use crate::pointer::{Address, In, Out};
use crate::process::Process;
use crate::process::buffer::{Buffer, Staged};
use crate::process::request::{Ended, Work, received};
use hotlink_port::yield_once;
use hotlink_standard::Parts;
use hotlink_standard::constants as c;
use std::cell::Cell;
use std::ffi::c_int;
use std::rc::Rc;

/// Tags of the messages themselves; the program's are below.
const NAMED: u32 = 1 << 31;

/// All parts as one buffer.
fn whole(p: &Process, buf: Address, partitions: c_int, count: i64, datatype: Handle) -> Done<Buffer> {
    check(partitions > 0, c::MPI_ERR_ARG, || format!("partitions {partitions}: there must be at least 1"))?;
    check(count >= 0, c::MPI_ERR_COUNT, || format!("count {count}: it must be at least 0"))?;
    let all = count.checked_mul(i64::from(partitions));
    p.buffer(buf, all.ok_or_else(|| failure(c::MPI_ERR_COUNT, "too many elements"))?, datatype)
}

pub(crate) fn psend_init(
    p: &Process,
    buf: Address,
    partitions: c_int,
    count: i64,
    datatype: Handle,
    dest: c_int,
    tag: c_int,
    comm: Handle,
    _info: Handle,
    request: Out<Handle>,
) -> Done {
    let (world, comm) = (p.world()?, p.comm(comm)?);
    let (buffer, peer) = (whole(p, buf, partitions, count, datatype)?, to(&comm, dest)?);
    check(tag >= 0, c::MPI_ERR_TAG, || format!("tag {tag}: it must be at least 0"))?;
    let (view, parts) = (comm.apart(&world.comm)?, Rc::new(Parts::new(partitions as usize)));
    let number = world.partitioned.replace(world.partitioned.get().wrapping_add(1));
    let name = NAMED | (number % NAMED);
    if let Some(peer) = peer.pattern() {
        let (view, told) = (view.clone(), Staged::of(&world.all, &name.to_ne_bytes()));
        p.task(async move {
            let sent = view.isend(peer, tag as u32, told.span)?;
            view.wait(sent).await?;
            drop(told);
            Ok(Status::EMPTY)
        })?;
    }
    let begun = parts.clone();
    p.issue_parts(request, parts, move |p| {
        begun.begin();
        let Some(peer) = peer.pattern() else { return Ok(Work::Over(Ended::well(Status::NOBODY))) };
        let (view, parts, buffer) = (view.clone(), begun.clone(), buffer.clone());
        p.task(async move {
            while !parts.are_ready() {
                yield_once().await;
            }
            let staged = buffer.source(false);
            let sent = view.isend(peer, name, staged.span)?;
            view.wait(sent).await?;
            drop(staged);
            Ok(Status::EMPTY)
        })
    });
    Ok(())
}

pub(crate) fn precv_init(
    p: &Process,
    buf: Address,
    partitions: c_int,
    count: i64,
    datatype: Handle,
    source: c_int,
    tag: c_int,
    comm: Handle,
    _info: Handle,
    request: Out<Handle>,
) -> Done {
    let (world, comm) = (p.world()?, p.comm(comm)?);
    let (buffer, peer) = (whole(p, buf, partitions, count, datatype)?, to(&comm, source)?);
    check(tag >= 0, c::MPI_ERR_TAG, || format!("tag {tag}: it must be at least 0"))?;
    let (view, parts) = (comm.apart(&world.comm)?, Rc::new(Parts::new(partitions as usize)));
    // The name that the send will come under, once it is known.
    let named: Rc<Cell<Option<u32>>> = Rc::default();
    if let Some(peer) = peer.pattern() {
        let (view, room, named) = (view.clone(), Staged::room(&world.all, 4), named.clone());
        let naming = view.irecv_quietly(Some(peer), Some(tag as u32), room.span)?;
        p.task(async move {
            view.wait(naming).await?;
            named.set(room.own().first_chunk().map(|bytes| u32::from_ne_bytes(*bytes)));
            Ok(Status::EMPTY)
        })?;
    }
    p.issue_parts(request, parts, move |p| {
        let Some(peer) = peer.pattern() else { return Ok(Work::Over(Ended::well(Status::NOBODY))) };
        let (view, comm, into, of) = (view.clone(), comm.clone(), buffer.target(false), buffer.of.clone());
        let named = named.clone();
        p.task(async move {
            let name = loop {
                match named.get() {
                    Some(name) => break name,
                    None => yield_once().await,
                }
            };
            let coming = view.irecv_quietly(Some(peer), Some(name), into.span)?;
            let ended = received(&comm, view.wait(coming).await, (&into, &of));
            ended.failed.map_or(Ok(Status { tag, ..ended.status }), Err)
        })
    });
    Ok(())
}

/// Parts of a request that was started to send.
fn parts(p: &Process, request: Handle) -> Done<Rc<Parts>> {
    let wrong = || failure(c::MPI_ERR_REQUEST, "it is no partitioned send that was started");
    let pending = p.request(request)?;
    pending.parts.clone().filter(|parts| parts.are_begun() && !pending.is_idle()).ok_or_else(wrong)
}

fn ready(parts: &Parts, partition: c_int) -> Done {
    parts.ready(partition).or_else(|why| fail(c::MPI_ERR_ARG, why))
}

pub(crate) fn pready(p: &Process, partition: c_int, request: Handle) -> Done {
    ready(&*parts(p, request)?, partition)?;
    p.world()?.look();
    Ok(())
}

pub(crate) fn pready_range(p: &Process, partition_low: c_int, partition_high: c_int, request: Handle) -> Done {
    let parts = parts(p, request)?;
    check(partition_low <= partition_high, c::MPI_ERR_ARG, || {
        format!("partitions {partition_low} to {partition_high}: the first is above the last")
    })?;
    (partition_low..=partition_high).try_for_each(|partition| ready(&parts, partition))?;
    p.world()?.look();
    Ok(())
}

pub(crate) fn pready_list(p: &Process, length: c_int, array_of_partitions: In<c_int>, request: Handle) -> Done {
    check(length >= 0, c::MPI_ERR_COUNT, || format!("length {length}: it must be at least 0"))?;
    let parts = parts(p, request)?;
    array_of_partitions.list(length as usize)?.into_iter().try_for_each(|partition| ready(&parts, partition))?;
    p.world()?.look();
    Ok(())
}

/// Parts come with the whole.
pub(crate) fn parrived(p: &Process, request: Handle, partition: c_int, flag: Out<c_int>) -> Done {
    let (world, pending) = (p.world()?, p.request(request)?);
    let known = pending.parts.as_ref().is_some_and(|parts| (0..parts.count() as c_int).contains(&partition));
    check(known, c::MPI_ERR_ARG, || format!("partition {partition} is none of the request"))?;
    world.look();
    let over = pending.ended().is_some();
    flag.set(c_int::from(over));
    if !over {
        world.pass();
    }
    Ok(())
}
