//! Windows: making, sharing, naming and freeing them.

use super::info;
use crate::abi::Handle;
use crate::failure::{Done, check, fail, failure};
use crate::memory;
use crate::pointer::{Address, Out, OutInt, Text, TextOut};
use crate::process::communicator::Communicator;
use crate::process::window::{Facts, Made, Shared, Window};
use crate::process::{Process, gate};
use hotlink_message::INTERNAL;
use hotlink_message::words::{gathered, largest, told};
use hotlink_port::{Engine, Key, Kind};
use hotlink_real::{Assists, Latches, Lend, Neighbor};
use hotlink_standard::Given;
use hotlink_standard::constants as c;
use std::ffi::c_int;
use std::rc::Rc;

/// Hints that are kept, with their defaults.
const HINTS: [(&str, &str); 7] = [
    ("no_locks", "false"),
    ("accumulate_ordering", "rar,raw,war,waw"),
    ("accumulate_ops", "same_op_no_op"),
    ("mpi_accumulate_granularity", "0"),
    ("same_size", "false"),
    ("same_disp_unit", "false"),
    ("alloc_shared_noncontig", "false"),
];

/// The request for a window.
struct Wish {
    info: Handle,
    comm: Handle,
    base: Address,
    size: i64,
    unit: i64,
    /// The kind of the window, and the function that made it.
    flavor: (c_int, &'static str),
}

fn set_hints(p: &Process, window: &Window, info: Handle) -> Done {
    let given = info::given(p, info)?;
    let mut hints = window.hints.borrow_mut();
    for (name, value) in given.into_iter().filter(|pair| HINTS.iter().any(|hint| hint.0 == pair.0)) {
        hints.retain(|hint| hint.0 != name);
        hints.push((name, value));
    }
    Ok(())
}

fn make(p: &Process, wish: &Wish, win: Out<Handle>) -> Done {
    let (world, old) = (p.world()?, p.intracomm(wish.comm)?);
    win.set(c::MPI_WIN_NULL);
    check(wish.size >= 0, c::MPI_ERR_SIZE, || format!("size {}: it must be at least 0", wish.size))?;
    check(wish.unit > 0, c::MPI_ERR_DISP, || format!("displacement unit {}: it must be at least 1", wish.unit))?;
    let given = info::given(p, wish.info)?;
    let number = p.new_number(&old.view, Given::to(wish.flavor.1, &[]))? | INTERNAL;
    let comm = Rc::new(p.made((*old.group).clone(), number, None, c::MPI_ERRORS_ARE_FATAL)?);
    // A simulated fabric's ranks share nothing.
    let host = world.comm.with_port(|port| port.shares_with()).map_or(-1, i64::from);
    let steps = i64::from(host >= 0 && hotlink_real::has_steps());
    let all = world.block_on(gathered(&comm.view, &[wish.size, wish.unit, host, steps]))?;
    let peers: Vec<(i64, i64)> = all.iter().map(|words| (words[0], words[1])).collect();
    let near = comm.size() > 1 && host >= 0 && all.iter().all(|words| words[2] == host);
    let by_steps = all.iter().all(|words| words[3] == 1);
    let shared = match wish.flavor.0 {
        c::MPI_WIN_FLAVOR_SHARED => {
            let apart = given.iter().any(|pair| pair.0 == "alloc_shared_noncontig" && pair.1 == "true");
            Some(share(p, &comm, &peers, apart, by_steps)?)
        }
        // Ranks that share memory reach each other's parts without help.
        c::MPI_WIN_FLAVOR_ALLOCATE if near => share(p, &comm, &peers, true, by_steps).ok(),
        c::MPI_WIN_FLAVOR_CREATE if near => reached(p, &comm, &peers, wish.base)?,
        _ => None,
    };
    let owned = wish.flavor.0 == c::MPI_WIN_FLAVOR_ALLOCATE && shared.is_none();
    let base = match &shared {
        Some(shared) => shared.parts[comm.rank as usize].0,
        None if owned => memory::allocate(wish.size as usize),
        None => wish.base,
    };
    let missing = world.block_on(largest(&comm.view, &[i64::from(base.is_null() && wish.size > 0)]))?[0] != 0;
    check(!missing, c::MPI_ERR_NO_MEM, || format!("a rank has no memory for its part ({} B here)", wish.size))?;
    let unit = c_int::try_from(wish.unit).unwrap_or(c_int::MAX);
    let facts = Facts { size: wish.size, unit, flavor: wish.flavor.0, model: c::MPI_WIN_UNIFIED };
    let window = Rc::new(Window::new(comm.clone(), world.all.clone(), Made { base, facts, peers, shared, owned }));
    set_hints(p, &window, wish.info)?;
    world.served.borrow_mut().insert(comm.number, window.clone());
    comm.view.attend(true);
    // On a simulated fabric only the simulation decides when a process acts. Ranks that share the memory need no help.
    if comm.size() > 1 && window.made.shared.is_none() && hotlink_real::virtual_clock().is_none() {
        gate::attend(|p| !p.windows.is_empty() && p.world().is_ok_and(|world| world.tend()));
    }
    win.set(p.windows.add(window));
    Ok(())
}

/// Memory of the program's own in processes of one machine, and a segment that orders access to it. `None`: the system
/// does not let every rank reach the next one.
fn reached(p: &Process, comm: &Communicator, peers: &[(i64, i64)], base: Address) -> Done<Option<Shared>> {
    let (world, [pid, mark_at, mark]) = (p.world()?, Neighbor::card());
    let all = world.block_on(gathered(&comm.view, &[base.0 as i64, pid, mark_at, mark]))?;
    let card = |words: &Vec<i64>| [words[1], words[2], words[3]];
    let time_ns = Neighbor::reaches(card(&all[(comm.rank as usize + 1) % all.len()]));
    if world.block_on(largest(&comm.view, &[i64::from(time_ns.is_none())]))?[0] != 0 {
        return Ok(None);
    }
    let parts = all.iter().zip(peers).map(|(words, peer)| (Address(words[0] as usize), peer.0, peer.1)).collect();
    let Ok(shared) = share(p, comm, &vec![(Assists::BYTES as i64, 1); peers.len()], true, false) else {
        return Ok(None);
    };
    let assists = memory::assists(shared.parts[0].0, (comm.rank, comm.size()), time_ns.unwrap_or(0));
    let helping = |(words, place)| Neighbor::of(card(words)).helping(assists, place);
    let neighbors = all.iter().zip(0..).map(helping).collect();
    world.comm.with_port(|port| port.assist(true, assists));
    Ok(Some(Shared { parts, neighbors, assists: Some(assists), ..shared }))
}

/// One segment of the first rank, mapped by the others; each has its part.
fn share(p: &Process, comm: &Communicator, peers: &[(i64, i64)], apart: bool, by_steps: bool) -> Done<Shared> {
    /// Parts that need not follow each other begin at lines of the cache.
    const LINE: i64 = 64;
    let world = p.world()?;
    let mut starts = Vec::new();
    let mut end = 0;
    for &(size, _) in peers {
        starts.push(end);
        end += if apart { (size + LINE - 1) / LINE * LINE } else { size };
    }
    let latches = (end + LINE - 1) / LINE * LINE;
    let end = latches + peers.len() as i64 * Latches::BYTES as i64;
    let refused = || {
        let why = match hotlink_real::virtual_clock() {
            Some(_) => "ranks on a simulated fabric share no memory, on one node neither",
            None => "the ranks of the communicator do not share memory",
        };
        failure(c::MPI_ERR_RMA_SHARED, why)
    };
    let (mut memory, mut attachment, mut words, mut start) = (None, None, [0; 4], Address(0));
    // One rank alone shares with no other.
    let kind = if peers.len() == 1 { Kind::Private } else { Kind::Shared };
    if comm.rank == 0
        && let Ok(made) = world.comm.alloc(end as u64, kind)
    {
        let at = world.comm.with_port(|port| port.start(made)).map_err(|_| refused())?;
        if kind == Kind::Private {
            (memory, start) = (Some(made), Address::of(at));
        } else if let Ok(key) = world.comm.export(made) {
            words = [1, i64::from(key.rank), key.id as i64, key.bytes as i64];
            (memory, start) = (Some(made), Address::of(at));
        }
    }
    let words = world.block_on(told(&comm.view, 0, &words))?;
    if words[0] == 1 && comm.rank > 0 {
        let key = Key { rank: words[1] as u32, id: words[2] as u64, bytes: words[3] as u64 };
        if let Ok(made) = world.comm.import(key, Engine::Pio) {
            attachment = Some(made);
            start = world.comm.with_port(|port| port.mapped(made)).map_or(Address(0), |at| Address::of(at));
        }
    }
    let failed = world.block_on(largest(&comm.view, &[i64::from(start.is_null())]))?[0] != 0;
    if failed {
        return Err(refused());
    }
    // A rank without memory has no address.
    let place = |at: i64, size: i64| if size > 0 { start.plus(at) } else { Address(0) };
    let parts = starts.iter().zip(peers).map(|(&at, &(size, unit))| (place(at, size), size, unit)).collect();
    let latches = memory::latches(start.plus(latches), comm.rank, comm.size(), by_steps);
    Ok(Shared { parts, neighbors: Vec::new(), assists: None, latches, memory, attachment })
}

pub(crate) fn win_create(
    p: &Process,
    base: Address,
    size: i64,
    disp_unit: i64,
    info: Handle,
    comm: Handle,
    win: Out<Handle>,
) -> Done {
    let flavor = (c::MPI_WIN_FLAVOR_CREATE, "MPI_Win_create");
    make(p, &Wish { info, comm, base, size, unit: disp_unit, flavor }, win)
}

fn allocated(
    p: &Process,
    (size, unit, flavor): (i64, i64, (c_int, &'static str)),
    (info, comm): (Handle, Handle),
    base: Address,
    win: Out<Handle>,
) -> Done {
    make(p, &Wish { info, comm, base: Address(0), size, unit, flavor }, win)?;
    base.holds().set(p.window(win.get(0))?.made.base.0);
    Ok(())
}

pub(crate) fn win_allocate(
    p: &Process,
    size: i64,
    disp_unit: i64,
    info: Handle,
    comm: Handle,
    baseptr: Address,
    win: Out<Handle>,
) -> Done {
    allocated(p, (size, disp_unit, (c::MPI_WIN_FLAVOR_ALLOCATE, "MPI_Win_allocate")), (info, comm), baseptr, win)
}

pub(crate) fn win_allocate_shared(
    p: &Process,
    size: i64,
    disp_unit: i64,
    info: Handle,
    comm: Handle,
    baseptr: Address,
    win: Out<Handle>,
) -> Done {
    allocated(p, (size, disp_unit, (c::MPI_WIN_FLAVOR_SHARED, "MPI_Win_allocate_shared")), (info, comm), baseptr, win)
}

pub(crate) fn win_create_dynamic(p: &Process, info: Handle, comm: Handle, win: Out<Handle>) -> Done {
    let flavor = (c::MPI_WIN_FLAVOR_DYNAMIC, "MPI_Win_create_dynamic");
    make(p, &Wish { info, comm, base: Address(0), size: 0, unit: 1, flavor }, win)
}

pub(crate) fn win_attach(p: &Process, win: Handle, base: Address, size: i64) -> Done {
    let window = p.window(win)?;
    check(window.is_dynamic(), c::MPI_ERR_RMA_FLAVOR, || "the window is not a dynamic one".to_owned())?;
    check(size >= 0, c::MPI_ERR_SIZE, || format!("size {size}: it must be at least 0"))?;
    window.attached.borrow_mut().push((base.0, size as u64));
    Ok(())
}

pub(crate) fn win_detach(p: &Process, win: Handle, base: Address) -> Done {
    let window = p.window(win)?;
    let mut attached = window.attached.borrow_mut();
    let Some(place) = attached.iter().position(|part| part.0 == base.0) else {
        return fail(c::MPI_ERR_RMA_ATTACH, "no memory is attached there");
    };
    attached.remove(place);
    Ok(())
}

pub(crate) fn win_shared_query(
    p: &Process,
    win: Handle,
    rank: c_int,
    size: Out<i64>,
    disp_unit: OutInt,
    baseptr: Address,
) -> Done {
    let window = p.window(win)?;
    check(!window.is_dynamic(), c::MPI_ERR_RMA_FLAVOR, || "a dynamic window has no memory of its own".to_owned())?;
    let known = rank == c::MPI_PROC_NULL || (rank >= 0 && (rank as u32) < window.comm.size());
    check(known, c::MPI_ERR_RANK, || format!("rank {rank}: it must be 0 to {}", window.comm.size() - 1))?;
    let mapped = window.made.shared.as_ref().filter(|shared| shared.neighbors.is_empty());
    let found = match (mapped, usize::try_from(rank)) {
        (Some(shared), Ok(rank)) => shared.parts.get(rank).copied(),
        // The first that has any.
        (Some(shared), Err(_)) => shared.parts.iter().find(|part| part.1 > 0).copied(),
        // Of other kinds, a rank sees its own part alone.
        (None, Ok(rank)) if rank == window.comm.rank as usize => {
            Some((window.made.base, window.made.facts.size, window.made.facts.unit.into()))
        }
        (None, _) => None,
    };
    let (at, bytes, unit) = found.unwrap_or((Address(0), 0, 1));
    size.set(bytes);
    disp_unit.set(unit);
    baseptr.holds().set(at.0);
    Ok(())
}

/// All ranks have ended their epochs: no more requests come.
pub(crate) fn win_free(p: &Process, win: Out<Handle>) -> Done {
    let (world, handle) = (p.world()?, win.get(0));
    let window = p.window(handle)?;
    {
        let access = window.access.borrow();
        let open =
            access.all || !access.locks.is_empty() || access.group.is_some() || window.exposed.borrow().is_some();
        check(!open, c::MPI_ERR_RMA_SYNC, || "an epoch is open".to_owned())?;
    }
    window.attributes.clear(handle)?;
    let flushed = world.block_on(window.flush(None));
    world.block_on(window.comm.view.barrier())?;
    world.until(|| (!window.serves.get()).then_some(()));
    window.comm.view.attend(false);
    world.served.borrow_mut().remove(&window.comm.number);
    if window.made.owned {
        memory::release(window.made.base);
    }
    if let Some(shared) = &window.made.shared {
        shared.assists.into_iter().for_each(|there| world.comm.with_port(|port| port.assist(false, there)));
        // A rank without a mapping gets no report that the memory is gone.
        if let Some(attachment) = shared.attachment {
            world
                .comm
                .with_port(|port| hotlink_port::Host::detach(port, attachment))
                .map_err(hotlink_message::Error::from)?;
        }
        world.block_on(window.comm.view.barrier())?;
        if let Some(memory) = shared.memory {
            world.comm.free(memory)?;
        }
    }
    p.windows.remove(handle);
    win.set(c::MPI_WIN_NULL);
    flushed
}

pub(crate) fn win_get_group(p: &Process, win: Handle, group: Out<Handle>) -> Done {
    group.set(p.name_group((*p.window(win)?.comm.group).clone()));
    Ok(())
}

pub(crate) fn win_set_name(p: &Process, win: Handle, name: Text) -> Done {
    *p.window(win)?.name.borrow_mut() = super::communicators::short(name.name()?);
    Ok(())
}

pub(crate) fn win_get_name(p: &Process, win: Handle, name: TextOut, resultlen: Out<c_int>) -> Done {
    let text = match win {
        c::MPI_WIN_NULL => "MPI_WIN_NULL".to_owned(),
        win => p.window(win)?.name.borrow().clone(),
    };
    resultlen.set(name.write(&text, c::MPI_MAX_OBJECT_NAME as usize) as c_int);
    Ok(())
}

pub(crate) fn win_set_info(p: &Process, win: Handle, info: Handle) -> Done {
    set_hints(p, &*p.window(win)?, info)
}

pub(crate) fn win_get_info(p: &Process, win: Handle, info_used: Out<Handle>) -> Done {
    let window = p.window(win)?;
    let hints = window.hints.borrow();
    let value = |(name, default): &(&str, &str)| {
        let given = hints.iter().find(|hint| hint.0 == *name).map(|hint| hint.1.clone());
        ((*name).to_owned(), given.unwrap_or_else(|| (*default).to_owned()))
    };
    info_used.set(info::named(p, HINTS.iter().map(value).collect()));
    Ok(())
}
