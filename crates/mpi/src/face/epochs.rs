//! When windows may be reached: fences, locks, and exposures that are posted, started, completed and waited for.

use crate::abi::Handle;
use crate::failure::{Done, check, fail};
use crate::pointer::Out;
use crate::process::buffer::Staged;
use crate::process::service::{Ask, Kind};
use crate::process::window::{POSTS, Window};
use crate::process::{Process, World};
use hotlink_real::quietly;
use hotlink_standard::Group;
use hotlink_standard::constants as c;
use std::ffi::c_int;
use std::rc::Rc;

const OF_FENCES: c_int = c::MPI_MODE_NOSTORE | c::MPI_MODE_NOPUT | c::MPI_MODE_NOPRECEDE | c::MPI_MODE_NOSUCCEED;
const OF_POSTS: c_int = c::MPI_MODE_NOCHECK | c::MPI_MODE_NOSTORE | c::MPI_MODE_NOPUT;

/// Fails for assertions that the function does not take.
fn asserted(assertion: c_int, allowed: c_int) -> Done {
    check(assertion & !allowed == 0, c::MPI_ERR_ASSERT, || {
        format!("assert {assertion}: {} is no assertion of this function", assertion & !allowed)
    })
}

fn out_of_turn<T>(why: &str) -> Done<T> {
    fail(c::MPI_ERR_RMA_SYNC, why)
}

pub(crate) fn win_fence(p: &Process, assertion: c_int, win: Handle) -> Done {
    asserted(assertion, OF_FENCES)?;
    let (world, window) = (p.world()?, p.window(win)?);
    {
        let access = window.access.borrow();
        if access.all || !access.locks.is_empty() || access.group.is_some() || window.exposed.borrow().is_some() {
            return out_of_turn("a fence while a lock, or an epoch of a group, is open");
        }
    }
    let flushed = world.block_on(window.flush(None));
    world.block_on(window.comm.view.barrier())?;
    window.access.borrow_mut().fence = assertion & c::MPI_MODE_NOSUCCEED == 0;
    flushed
}

/// No epoch but that of a fence may be open.
fn closed(window: &Window) -> Done {
    let access = window.access.borrow();
    let open = access.all || !access.locks.is_empty() || access.group.is_some();
    if open { out_of_turn("another epoch is open") } else { Ok(()) }
}

/// Ranks that hold several locks take them in an order on which they agree: those asked for are there before the next is.
fn hold(world: &World) -> Done {
    for (window, to) in world.asked.take().into_iter().filter_map(|(window, to)| Some((window.upgrade()?, to))) {
        if passive(&window, Some(to)).is_ok() {
            window.service.borrow_mut().failed |= world.block_on(window.told(to, Kind::Flush, 0))? != 0;
        }
    }
    Ok(())
}

fn ask(world: &World, window: &Rc<Window>, to: u32, how: c_int) -> Done {
    world.block_on(window.lock(to, how))?;
    if window.made.shared.is_none() && to != window.comm.rank {
        world.asked.borrow_mut().push((Rc::downgrade(window), to));
    }
    Ok(())
}

pub(crate) fn win_lock(p: &Process, lock_type: c_int, rank: c_int, assertion: c_int, win: Handle) -> Done {
    asserted(assertion, c::MPI_MODE_NOCHECK)?;
    let (world, window) = (p.world()?, p.window(win)?);
    let known = [c::MPI_LOCK_EXCLUSIVE, c::MPI_LOCK_SHARED].contains(&lock_type);
    check(known, c::MPI_ERR_LOCKTYPE, || format!("lock type {lock_type} is none"))?;
    if rank == c::MPI_PROC_NULL {
        return Ok(());
    }
    let to = window.comm.ranked(rank)?;
    {
        let access = window.access.borrow();
        if access.all || access.locks.contains_key(&to) || access.group.is_some() {
            return out_of_turn("another epoch is open for this rank");
        }
    }
    hold(world)?;
    ask(world, &window, to, lock_type)?;
    let mut access = window.access.borrow_mut();
    access.fence = false;
    access.locks.insert(to, lock_type);
    Ok(())
}

pub(crate) fn win_unlock(p: &Process, rank: c_int, win: Handle) -> Done {
    let (world, window) = (p.world()?, p.window(win)?);
    if rank == c::MPI_PROC_NULL {
        return Ok(());
    }
    let to = window.comm.ranked(rank)?;
    if window.access.borrow_mut().locks.remove(&to).is_none() {
        return out_of_turn("the rank is not locked");
    }
    world.block_on(window.release(to))
}

pub(crate) fn win_lock_all(p: &Process, assertion: c_int, win: Handle) -> Done {
    asserted(assertion, c::MPI_MODE_NOCHECK)?;
    let (world, window) = (p.world()?, p.window(win)?);
    closed(&window)?;
    hold(world)?;
    (0..window.comm.size()).try_for_each(|to| ask(world, &window, to, c::MPI_LOCK_SHARED))?;
    let mut access = window.access.borrow_mut();
    (access.fence, access.all) = (false, true);
    Ok(())
}

pub(crate) fn win_unlock_all(p: &Process, win: Handle) -> Done {
    let (world, window) = (p.world()?, p.window(win)?);
    if !std::mem::take(&mut window.access.borrow_mut().all) {
        return out_of_turn("not all are locked");
    }
    // All are released, whatever failed at one of them.
    let released: Vec<Done> = (0..window.comm.size()).map(|to| world.block_on(window.release(to))).collect();
    released.into_iter().collect()
}

/// A passive epoch must be open.
fn passive(window: &Window, rank: Option<u32>) -> Done {
    let access = window.access.borrow();
    let open = access.all || rank.map_or(!access.locks.is_empty(), |rank| access.locks.contains_key(&rank));
    if open { Ok(()) } else { out_of_turn("no lock is held") }
}

fn flushed(p: &Process, rank: Option<c_int>, win: Handle, locally: bool) -> Done {
    let (world, window) = (p.world()?, p.window(win)?);
    if rank == Some(c::MPI_PROC_NULL) {
        return Ok(());
    }
    let to = rank.map(|rank| window.comm.ranked(rank)).transpose()?;
    passive(&window, to)?;
    let done = match locally {
        _ if window.is_flushed() => Ok(()),
        true => world.block_on(window.settle()),
        false => world.block_on(window.flush(to)),
    };
    // Programs read their own part again and again, which needs no message, until another rank's data has come.
    if window.made.shared.is_none() && to.is_none_or(|to| to == window.comm.rank) {
        world.look();
        world.vain();
    }
    done
}

pub(crate) fn win_flush(p: &Process, rank: c_int, win: Handle) -> Done {
    flushed(p, Some(rank), win, false)
}

pub(crate) fn win_flush_all(p: &Process, win: Handle) -> Done {
    flushed(p, None, win, false)
}

pub(crate) fn win_flush_local(p: &Process, rank: c_int, win: Handle) -> Done {
    flushed(p, Some(rank), win, true)
}

pub(crate) fn win_flush_local_all(p: &Process, win: Handle) -> Done {
    flushed(p, None, win, true)
}

/// Memory is the same for all: the stores of others are there. Programs call this in turn as they read it.
pub(crate) fn win_sync(p: &Process, win: Handle) -> Done {
    let (world, _) = (p.world()?, p.window(win)?);
    hotlink_real::full_fence();
    world.look();
    world.vain();
    Ok(())
}

/// The window's names of a group's ranks.
fn members(window: &Window, group: &Group) -> Done<Vec<u32>> {
    let place = |&rank: &u32| window.comm.group.place(rank);
    match group.ranks().iter().map(place).collect::<Option<Vec<_>>>() {
        Some(members) => Ok(members.into_iter().map(|place| place as u32).collect()),
        None => fail(c::MPI_ERR_GROUP, "a rank of the group is not of the window"),
    }
}

pub(crate) fn win_post(p: &Process, group: Handle, assertion: c_int, win: Handle) -> Done {
    asserted(assertion, OF_POSTS)?;
    let (world, window) = (p.world()?, p.window(win)?);
    let members = members(&window, &*p.group(group)?)?;
    if window.exposed.borrow().is_some() {
        return out_of_turn("an exposure is open already");
    }
    let nothing = Staged::room(&window.all, 0);
    members.iter().try_for_each(|&to| world.block_on(window.comm.view.send(to, POSTS, nothing.span)))?;
    *window.exposed.borrow_mut() = Some(members);
    Ok(())
}

pub(crate) fn win_start(p: &Process, group: Handle, assertion: c_int, win: Handle) -> Done {
    asserted(assertion, c::MPI_MODE_NOCHECK)?;
    let (world, window) = (p.world()?, p.window(win)?);
    let members = members(&window, &*p.group(group)?)?;
    closed(&window)?;
    let nothing = Staged::room(&window.all, 0);
    let posted = |from: &u32| world.block_on(window.comm.view.recv(Some(*from), Some(POSTS), nothing.span)).map(|_| ());
    members.iter().try_for_each(posted)?;
    let mut access = window.access.borrow_mut();
    access.fence = false;
    access.group = Some(members);
    Ok(())
}

pub(crate) fn win_complete(p: &Process, win: Handle) -> Done {
    let (world, window) = (p.world()?, p.window(win)?);
    let Some(members) = window.access.borrow_mut().group.take() else {
        return out_of_turn("no access was started");
    };
    members.into_iter().try_for_each(|to| window.tell(to, Ask::of(Kind::Complete)))?;
    world.block_on(window.settle())
}

/// Whether all have completed their accesses; then they are taken into account.
fn completed(window: &Window) -> bool {
    let exposed = window.exposed.borrow().clone().unwrap_or_default();
    let mut service = window.service.borrow_mut();
    let completes = &mut service.completes;
    let all = exposed.iter().all(|rank| completes.get(rank).is_some_and(|&count| count > 0));
    if all {
        for rank in &exposed {
            completes.entry(*rank).and_modify(|count| *count -= 1);
        }
        *window.exposed.borrow_mut() = None;
    }
    all
}

pub(crate) fn win_wait(p: &Process, win: Handle) -> Done {
    let (world, window) = (p.world()?, p.window(win)?);
    if window.exposed.borrow().is_none() {
        return out_of_turn("no exposure was posted");
    }
    world.until(|| completed(&window).then_some(()));
    Ok(())
}

pub(crate) fn win_test(p: &Process, win: Handle, flag: Out<c_int>) -> Done {
    let (world, window) = (p.world()?, p.window(win)?);
    if window.exposed.borrow().is_none() {
        return out_of_turn("no exposure was posted");
    }
    world.look();
    let over = completed(&window);
    flag.set(c_int::from(over));
    if !over {
        quietly(|| world.rest());
    }
    Ok(())
}
