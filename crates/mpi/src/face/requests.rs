//! Waiting for, testing, starting and freeing requests.

use super::messages::give;
use crate::abi::{Handle, Status};
use crate::failure::{Done, Failure, check, failure};
use crate::pointer::{Address, In, Out};
use crate::process::request::{Ended, General, Pending, Work};
use crate::process::{Buffered, Process};
use hotlink_port::yield_once;
use hotlink_standard::constants as c;
use std::cell::Cell;
use std::ffi::c_int;
use std::rc::Rc;

/// Requests of a list: null ones have no object.
struct List {
    handles: Out<Handle>,
    all: Vec<Option<Rc<Pending>>>,
}

impl List {
    fn of(p: &Process, count: c_int, handles: Out<Handle>) -> Done<List> {
        check(count >= 0, c::MPI_ERR_COUNT, || format!("count {count}: it must be at least 0"))?;
        handles.filled("array_of_requests", count as usize)?;
        let all = (0..count as usize).map(|i| p.requested(handles.get(i))).collect::<Done<_>>()?;
        Ok(List { handles, all })
    }
    /// Those that may still end.
    fn active(&self) -> impl Iterator<Item = (usize, &Rc<Pending>)> {
        let some = self.all.iter().enumerate().filter_map(|(i, pending)| Some((i, pending.as_ref()?)));
        some.filter(|(_, pending)| !pending.is_idle())
    }
    /// The first that is over.
    fn any(&self) -> Option<(usize, Ended)> {
        self.active().find_map(|(i, pending)| pending.ended().map(|ended| (i, ended)))
    }
    fn retire(&self, p: &Process, index: usize) -> Done {
        match &self.all[index] {
            Some(pending) => p.retire(self.handles.nth(index), pending),
            None => Ok(()),
        }
    }
    /// Those at places `ended` are over: their statuses, one after the other from `first` on.
    fn finish(&self, p: &Process, ended: &[(usize, Ended)], statuses: Out<Status>) -> Done {
        let failed = ended.iter().any(|(_, ended)| ended.failed.is_some());
        for (place, (index, ended)) in ended.iter().enumerate() {
            let error = if failed { ended.code() } else { c::MPI_SUCCESS };
            if !statuses.is_null() {
                let kept = if failed { error } else { statuses.get(place).error };
                statuses.put(place, Status { error: kept, ..ended.status });
            }
            self.retire(p, *index)?;
        }
        let first = ended.iter().find_map(|(_, ended)| ended.failed.as_ref());
        match first {
            Some(failed) => Err(Box::new(Failure { code: c::MPI_ERR_IN_STATUS, ..(**failed).clone() })),
            None => Ok(()),
        }
    }
}

fn over(p: &Process, request: Out<Handle>, status: Out<Status>, pending: &Pending, ended: Ended) -> Done {
    give(status, ended.status);
    p.retire(request, pending)?;
    ended.failed.map_or(Ok(()), Err)
}

pub(crate) fn wait(p: &Process, request: Out<Handle>, status: Out<Status>) -> Done {
    let world = p.world()?;
    let Some(pending) = p.requested(request.get(0))?.filter(|pending| !pending.is_idle()) else {
        status.set(Status::EMPTY);
        return Ok(());
    };
    let ended = world.end_of(&pending);
    over(p, request, status, &pending, ended)
}

pub(crate) fn test(p: &Process, request: Out<Handle>, flag: Out<c_int>, status: Out<Status>) -> Done {
    let world = p.world()?;
    flag.set(1);
    let Some(pending) = p.requested(request.get(0))?.filter(|pending| !pending.is_idle()) else {
        status.set(Status::EMPTY);
        return Ok(());
    };
    world.look();
    match pending.ended() {
        Some(ended) => over(p, request, status, &pending, ended),
        None => {
            flag.set(0);
            world.pass();
            Ok(())
        }
    }
}

pub(crate) fn waitall(p: &Process, count: c_int, requests: Out<Handle>, statuses: Out<Status>) -> Done {
    let (world, list) = (p.world()?, List::of(p, count, requests)?);
    let mut ended = Vec::with_capacity(list.all.len());
    for (index, pending) in list.all.iter().enumerate() {
        let end = match pending {
            Some(pending) if !pending.is_idle() => world.end_of(pending),
            _ => Ended::well(Status::EMPTY),
        };
        ended.push((index, end));
    }
    list.finish(p, &ended, statuses)
}

pub(crate) fn testall(
    p: &Process,
    count: c_int,
    requests: Out<Handle>,
    flag: Out<c_int>,
    statuses: Out<Status>,
) -> Done {
    let (world, list) = (p.world()?, List::of(p, count, requests)?);
    world.look();
    let ends: Vec<Option<Ended>> = list
        .all
        .iter()
        .map(|pending| match pending {
            Some(pending) if !pending.is_idle() => pending.ended(),
            _ => Some(Ended::well(Status::EMPTY)),
        })
        .collect();
    flag.set(0);
    let Some(ended) = ends.into_iter().collect::<Option<Vec<_>>>() else {
        world.pass();
        return Ok(());
    };
    flag.set(1);
    list.finish(p, &ended.into_iter().enumerate().collect::<Vec<_>>(), statuses)
}

fn one(p: &Process, list: &List, index: Out<c_int>, status: Out<Status>, found: Option<(usize, Ended)>) -> Done {
    match found {
        Some((place, ended)) => {
            index.set(place as c_int);
            give(status, ended.status);
            list.retire(p, place)?;
            ended.failed.map_or(Ok(()), Err)
        }
        None => {
            index.set(c::MPI_UNDEFINED);
            status.set(Status::EMPTY);
            Ok(())
        }
    }
}

pub(crate) fn waitany(
    p: &Process,
    count: c_int,
    requests: Out<Handle>,
    index: Out<c_int>,
    status: Out<Status>,
) -> Done {
    let (world, list) = (p.world()?, List::of(p, count, requests)?);
    let none = list.active().next().is_none();
    let found = if none { None } else { Some(world.until(|| list.any())) };
    one(p, &list, index, status, found)
}

pub(crate) fn testany(
    p: &Process,
    count: c_int,
    requests: Out<Handle>,
    index: Out<c_int>,
    flag: Out<c_int>,
    status: Out<Status>,
) -> Done {
    let (world, list) = (p.world()?, List::of(p, count, requests)?);
    world.look();
    let found = list.any();
    let none = list.active().next().is_none();
    flag.set(c_int::from(none || found.is_some()));
    if !none && found.is_none() {
        index.set(c::MPI_UNDEFINED);
        world.pass();
        return Ok(());
    }
    one(p, &list, index, status, found)
}

/// All that are over now; `wait`: at least one.
fn some(
    p: &Process,
    (count, requests, wait): (c_int, Out<Handle>, bool),
    outcount: Out<c_int>,
    indices: Out<c_int>,
    statuses: Out<Status>,
) -> Done {
    let (world, list) = (p.world()?, List::of(p, count, requests)?);
    if list.active().next().is_none() {
        outcount.set(c::MPI_UNDEFINED);
        return Ok(());
    }
    let look = || {
        let ended: Vec<(usize, Ended)> =
            list.active().filter_map(|(i, pending)| pending.ended().map(|ended| (i, ended))).collect();
        (!wait || !ended.is_empty()).then_some(ended)
    };
    let ended = world.until(look);
    if ended.is_empty() {
        world.pass();
    }
    outcount.set(ended.len() as c_int);
    ended.iter().enumerate().for_each(|(place, (index, _))| indices.put(place, *index as c_int));
    list.finish(p, &ended, statuses)
}

pub(crate) fn waitsome(
    p: &Process,
    count: c_int,
    requests: Out<Handle>,
    outcount: Out<c_int>,
    indices: Out<c_int>,
    statuses: Out<Status>,
) -> Done {
    some(p, (count, requests, true), outcount, indices, statuses)
}

pub(crate) fn testsome(
    p: &Process,
    count: c_int,
    requests: Out<Handle>,
    outcount: Out<c_int>,
    indices: Out<c_int>,
    statuses: Out<Status>,
) -> Done {
    some(p, (count, requests, false), outcount, indices, statuses)
}

pub(crate) fn request_get_status(p: &Process, request: Handle, flag: Out<c_int>, status: Out<Status>) -> Done {
    p.world()?.look();
    let Some(pending) = p.requested(request)?.filter(|pending| !pending.is_idle()) else {
        flag.set(1);
        // Of no request, the empty status with its error.
        status.set(Status::EMPTY);
        return Ok(());
    };
    let ended = pending.ended();
    flag.set(c_int::from(ended.is_some()));
    match ended {
        Some(ended) => give(status, ended.status),
        None => p.world()?.vain(),
    }
    Ok(())
}

fn looked(p: &Process, count: c_int, requests: In<Handle>) -> Done<Vec<Option<Option<Ended>>>> {
    check(count >= 0, c::MPI_ERR_COUNT, || format!("count {count}: it must be at least 0"))?;
    p.world()?.look();
    let look = |handle| {
        let active = p.requested(handle)?.filter(|pending| !pending.is_idle());
        Ok(active.map(|pending| pending.ended()))
    };
    let all: Vec<_> = requests.list(count as usize)?.into_iter().map(look).collect::<Done<_>>()?;
    if all.iter().any(|one| matches!(one, Some(None))) {
        p.world()?.vain();
    }
    Ok(all)
}

pub(crate) fn request_get_status_all(
    p: &Process,
    count: c_int,
    requests: In<Handle>,
    flag: Out<c_int>,
    statuses: Out<Status>,
) -> Done {
    let all = looked(p, count, requests)?;
    let over = all.iter().all(|one| one.as_ref().is_none_or(Option::is_some));
    flag.set(c_int::from(over));
    if over {
        for (place, one) in all.into_iter().enumerate() {
            give(statuses.nth(place), one.flatten().map_or(Status::EMPTY, |ended| ended.status));
        }
    }
    Ok(())
}

pub(crate) fn request_get_status_any(
    p: &Process,
    count: c_int,
    requests: In<Handle>,
    index: Out<c_int>,
    flag: Out<c_int>,
    status: Out<Status>,
) -> Done {
    let all = looked(p, count, requests)?;
    let none = all.iter().all(Option::is_none);
    let found = all.into_iter().enumerate().find_map(|(i, one)| Some((i, one??)));
    flag.set(c_int::from(none || found.is_some()));
    index.set(found.as_ref().map_or(c::MPI_UNDEFINED, |found| found.0 as c_int));
    match found {
        Some(found) => give(status, found.1.status),
        // Of no request, the empty status with its error.
        None if none => status.set(Status::EMPTY),
        None => {}
    }
    Ok(())
}

pub(crate) fn request_get_status_some(
    p: &Process,
    count: c_int,
    requests: In<Handle>,
    outcount: Out<c_int>,
    indices: Out<c_int>,
    statuses: Out<Status>,
) -> Done {
    let all = looked(p, count, requests)?;
    if all.iter().all(Option::is_none) {
        outcount.set(c::MPI_UNDEFINED);
        return Ok(());
    }
    let over: Vec<(usize, Ended)> = all.into_iter().enumerate().filter_map(|(i, one)| Some((i, one??))).collect();
    outcount.set(over.len() as c_int);
    for (place, (index, ended)) in over.into_iter().enumerate() {
        indices.put(place, index as c_int);
        give(statuses.nth(place), ended.status);
    }
    Ok(())
}

pub(crate) fn start(p: &Process, request: Out<Handle>) -> Done {
    p.request(request.get(0))?.start(p)
}

pub(crate) fn startall(p: &Process, count: c_int, requests: Out<Handle>) -> Done {
    check(count >= 0, c::MPI_ERR_COUNT, || format!("count {count}: it must be at least 0"))?;
    requests.filled("array_of_requests", count as usize)?;
    (0..count as usize).try_for_each(|i| p.request(requests.get(i))?.start(p))
}

pub(crate) fn cancel(p: &Process, request: Out<Handle>) -> Done {
    p.request(request.get(0))?.cancel()
}

/// One that is under way goes on by itself.
pub(crate) fn request_free(p: &Process, request: Out<Handle>) -> Done {
    let (world, handle) = (p.world()?, request.get(0));
    let pending = p.request(handle)?;
    p.requests.remove(handle);
    request.set(c::MPI_REQUEST_NULL);
    world.look();
    if pending.is_idle() || (pending.general().is_none() && pending.ended().is_some()) {
        return Ok(());
    }
    match pending.left() {
        Work::Send { comm, request, kept } => {
            world.buffered.borrow_mut().push(Buffered { comm, request, copy: kept, bytes: 0 });
        }
        Work::General(general) if general.complete.get() => general.free()?,
        work => {
            let rest = Pending::new(work, None);
            p.task(async move {
                while rest.ended().is_none() {
                    yield_once().await;
                }
                rest.general().map_or(Ok(()), |general| general.free()).map(|()| Status::EMPTY)
            })?;
        }
    }
    Ok(())
}

pub(crate) fn grequest_start(
    p: &Process,
    query_fn: usize,
    free_fn: usize,
    cancel_fn: usize,
    extra_state: Address,
    request: Out<Handle>,
) -> Done {
    p.world()?;
    let general = General { functions: [query_fn, free_fn, cancel_fn], extra: extra_state, complete: Cell::new(false) };
    p.issue(request, Work::General(Rc::new(general)));
    Ok(())
}

pub(crate) fn grequest_complete(p: &Process, request: Handle) -> Done {
    let none = || failure(c::MPI_ERR_REQUEST, "it is no generalised request");
    p.request(request)?.general().ok_or_else(none)?.complete.set(true);
    Ok(())
}
