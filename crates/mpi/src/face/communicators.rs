//! Communicators: made, compared, named, freed.

use super::groups::compared;
use super::info;
use crate::abi::{Handle, Status};
use crate::failure::{Done, Failure, check, fail};
use crate::pointer::{Out, Text, TextOut};
use crate::process::Process;
use crate::process::check::different;
use crate::process::communicator::{Communicator, GROUP_CALLS, is_left, numbered, same};
use hotlink_message::words::{gathered, told as words_of};
use hotlink_standard::constants as c;
use hotlink_standard::{Compared, Given, Group};
use std::ffi::c_int;
use std::rc::Rc;

pub(crate) fn comm_rank(p: &Process, comm: Handle, rank: Out<c_int>) -> Done {
    rank.set(p.comm(comm)?.rank as c_int);
    Ok(())
}

pub(crate) fn comm_size(p: &Process, comm: Handle, size: Out<c_int>) -> Done {
    size.set(p.comm(comm)?.size() as c_int);
    Ok(())
}

pub(crate) fn comm_remote_size(p: &Process, comm: Handle, size: Out<c_int>) -> Done {
    let comm = p.comm(comm)?;
    check(comm.remote.is_some(), c::MPI_ERR_COMM, || "it is no intercommunicator".to_owned())?;
    size.set(comm.peers() as c_int);
    Ok(())
}

pub(crate) fn comm_test_inter(p: &Process, comm: Handle, flag: Out<c_int>) -> Done {
    flag.set(c_int::from(p.comm(comm)?.remote.is_some()));
    Ok(())
}

pub(crate) fn comm_group(p: &Process, comm: Handle, group: Out<Handle>) -> Done {
    group.set(p.name_group((*p.comm(comm)?.group).clone()));
    Ok(())
}

pub(crate) fn comm_remote_group(p: &Process, comm: Handle, group: Out<Handle>) -> Done {
    match &p.comm(comm)?.remote {
        Some(remote) => group.set(p.name_group((*remote.group).clone())),
        None => return fail(c::MPI_ERR_COMM, "it is no intercommunicator"),
    }
    Ok(())
}

pub(crate) fn comm_compare(p: &Process, comm1: Handle, comm2: Handle, result: Out<c_int>) -> Done {
    let (a, b) = (p.comm(comm1)?, p.comm(comm2)?);
    if comm1 == comm2 {
        result.set(c::MPI_IDENT);
        return Ok(());
    }
    let mut found = a.group.compare(&b.group);
    match (&a.remote, &b.remote) {
        (None, None) => {}
        (Some(a), Some(b)) => match a.group.compare(&b.group) {
            Compared::Unequal => found = Compared::Unequal,
            Compared::Similar if found == Compared::Same => found = Compared::Similar,
            _ => {}
        },
        _ => found = Compared::Unequal,
    }
    result.set(compared(found, c::MPI_CONGRUENT));
    Ok(())
}

/// The new communicator of `old`: the same groups, under another number.
fn twin(p: &Process, old: &Communicator, number: u32, made: (Handle, Vec<(String, String)>)) -> Done<Communicator> {
    let twin = match &old.remote {
        None => p.made((*old.group).clone(), number, old.topology.clone(), old.handler.get())?,
        Some(remote) => p.made_between(&old.group, &remote.group, remote.here == 0, number, old.handler.get())?,
    };
    let attributes = old.attributes.copies(made.0)?;
    *twin.info.borrow_mut() = made.1;
    Ok(Communicator { attributes, ..twin })
}

fn duplicate(p: &Process, name: &'static str, comm: Handle, info: Vec<(String, String)>, newcomm: Out<Handle>) -> Done {
    let old = p.comm(comm)?;
    newcomm.set(c::MPI_COMM_NULL);
    let number = p.new_number(&old.view, Given::to(name, &[]))?;
    newcomm.set(p.comms.add(Rc::new(twin(p, &old, number, (comm, info))?)));
    Ok(())
}

pub(crate) fn comm_dup(p: &Process, comm: Handle, newcomm: Out<Handle>) -> Done {
    let info = p.comm(comm)?.info.borrow().clone();
    duplicate(p, "MPI_Comm_dup", comm, info, newcomm)
}

pub(crate) fn comm_dup_with_info(p: &Process, comm: Handle, info: Handle, newcomm: Out<Handle>) -> Done {
    duplicate(p, "MPI_Comm_dup_with_info", comm, info::hints(p, info, "mpi_assert_")?, newcomm)
}

/// The number is agreed on while other calls run. The handle is there at once, its communicator when the request is
/// over.
fn iduplicate(
    p: &Process,
    name: &'static str,
    comm: Handle,
    info: Vec<(String, String)>,
    newcomm: Out<Handle>,
    request: Out<Handle>,
) -> Done {
    let (world, old) = (p.world()?, p.comm(comm)?);
    let (view, numbers, given) = (old.beside(), world.numbers.clone(), Given::to(name, &[]));
    // A place for it, until its number is known.
    let handle = p.comms.add(old.clone());
    newcomm.set(handle);
    let agreed = Rc::new(std::cell::Cell::new(0));
    let told = agreed.clone();
    let work = p.task(async move {
        told.set(numbered(numbers, &view, true, given).await?);
        Ok(Status::EMPTY)
    })?;
    p.issue_ending(request, work, move |p| {
        let made = twin(p, &old, agreed.get(), (comm, info.clone()))?;
        p.comms.replace(handle, Rc::new(made));
        Ok(())
    });
    Ok(())
}

pub(crate) fn comm_idup(p: &Process, comm: Handle, newcomm: Out<Handle>, request: Out<Handle>) -> Done {
    let info = p.comm(comm)?.info.borrow().clone();
    iduplicate(p, "MPI_Comm_idup", comm, info, newcomm, request)
}

pub(crate) fn comm_idup_with_info(
    p: &Process,
    comm: Handle,
    info: Handle,
    newcomm: Out<Handle>,
    request: Out<Handle>,
) -> Done {
    iduplicate(p, "MPI_Comm_idup_with_info", comm, info::hints(p, info, "mpi_assert_")?, newcomm, request)
}

pub(crate) fn comm_create(p: &Process, comm: Handle, group: Handle, newcomm: Out<Handle>) -> Done {
    let (world, old, group) = (p.world()?, p.comm(comm)?, p.group(group)?);
    newcomm.set(c::MPI_COMM_NULL);
    let inside = group.ranks().iter().all(|&rank| old.group.place(rank).is_some());
    check(inside, c::MPI_ERR_GROUP, || "a rank of the group is not of the communicator".to_owned())?;
    if old.remote.is_some() {
        // Each side hears who of the other is taken, and where.
        let place = group.place(world.comm.rank());
        let made =
            split(p, &old, place.map(|_| 0), place.unwrap_or(0) as i64, None, Given::to("MPI_Comm_create", &[]))?;
        return name_split(p, made, newcomm);
    }
    let number = p.new_number(&old.view, Given::to("MPI_Comm_create", &[]))?;
    // Of a rank's group every rank must have given the same one; others may have given others.
    let given = Given::to("MPI_Comm_create", &[("group", &group.words())]);
    let rows = world.block_on(gathered(&old.view, &given.row()))?;
    let others = |rank| old.group.place(rank).is_none_or(|place| rows[place] != rows[old.rank as usize]);
    if group.ranks().iter().any(|&rank| others(rank)) {
        return different(given.difference(&rows));
    }
    if group.place(world.comm.rank()).is_some() {
        newcomm.set(p.comms.add(Rc::new(p.made((*group).clone(), number, None, old.handler.get())?)));
    }
    Ok(())
}

/// The number of messages apart from those of all ranks, for calls of two groups.
pub(crate) fn split_number(world: &crate::process::World) -> u32 {
    world.world.number | hotlink_message::INTERNAL
}

/// Only the group's ranks call it: they agree by messages of their own, distinguished by the program's tag.
pub(crate) fn comm_create_group(p: &Process, comm: Handle, group: Handle, tag: c_int, newcomm: Out<Handle>) -> Done {
    let (world, old, group) = (p.world()?, p.intracomm(comm)?, p.group(group)?);
    newcomm.set(c::MPI_COMM_NULL);
    check(tag >= 0, c::MPI_ERR_TAG, || format!("tag {tag}: it must be at least 0"))?;
    if group.place(world.comm.rank()).is_none() {
        return Ok(());
    }
    let few = world.comm.view(group.ranks(), old.number)?.beside(GROUP_CALLS + tag as u32 % GROUP_CALLS);
    let number = p.new_number(&few, Given::to("MPI_Comm_create_group", &[]))?;
    newcomm.set(p.comms.add(Rc::new(p.made((*group).clone(), number, None, old.handler.get())?)));
    Ok(())
}

/// The communicator of those that gave the same color, in the order of their keys.
pub(crate) fn split(
    p: &Process,
    old: &Communicator,
    color: Option<i64>,
    key: i64,
    topology: Option<crate::process::communicator::Topology>,
    given: Given,
) -> Done<Option<Communicator>> {
    let world = p.world()?;
    let mine = [color.unwrap_or(i64::MIN), key];
    let (number, all) = world.block_on(async {
        let number = numbered(world.numbers.clone(), &old.view, false, given).await?;
        Ok::<_, Box<Failure>>((number, gathered(&old.view, &mine).await?))
    })?;
    let Some(color) = color else { return Ok(None) };
    // Of each side of an intercommunicator, whose ranks lie in a row of the view.
    let chosen = |group: &Group, first: usize| {
        let ours = all[first..first + group.size()].iter().zip(group.ranks());
        let mut chosen: Vec<(i64, usize, u32)> = ours
            .enumerate()
            .filter(|(_, (one, _))| one[0] == color)
            .map(|(place, (one, &rank))| (one[1], place, rank))
            .collect();
        chosen.sort_unstable();
        Group::new(chosen.into_iter().map(|(.., rank)| rank).collect())
    };
    let handler = old.handler.get();
    let Some(remote) = &old.remote else {
        return p.made(chosen(&old.group, 0), number, topology, handler).map(Some);
    };
    let (here, there) =
        (Rc::new(chosen(&old.group, remote.here as usize)), Rc::new(chosen(&remote.group, remote.there as usize)));
    if there.size() == 0 {
        return Ok(None);
    }
    p.made_between(&here, &there, remote.here == 0, number, handler).map(Some)
}

pub(super) fn name_split(p: &Process, made: Option<Communicator>, newcomm: Out<Handle>) -> Done {
    newcomm.set(made.map_or(c::MPI_COMM_NULL, |made| p.comms.add(Rc::new(made))));
    Ok(())
}

pub(crate) fn comm_split(p: &Process, comm: Handle, color: c_int, key: c_int, newcomm: Out<Handle>) -> Done {
    let old = p.comm(comm)?;
    let allowed = color >= 0 || color == c::MPI_UNDEFINED;
    check(allowed, c::MPI_ERR_ARG, || format!("color {color}: it must be at least 0, or MPI_UNDEFINED"))?;
    let color = (color != c::MPI_UNDEFINED).then_some(i64::from(color));
    name_split(p, split(p, &old, color, i64::from(key), None, Given::to("MPI_Comm_split", &[]))?, newcomm)
}

/// By what ranks share: memory.
pub(crate) fn comm_split_type(
    p: &Process,
    comm: Handle,
    split_type: c_int,
    key: c_int,
    info: Handle,
    newcomm: Out<Handle>,
) -> Done {
    let old = p.comm(comm)?;
    let shared = ("mpi_hw_resource_type".to_owned(), "mpi_shared_memory".to_owned());
    let by_memory = info::given(p, info)?.contains(&shared);
    let color = match split_type {
        c::MPI_COMM_TYPE_SHARED | c::MPI_COMM_TYPE_HW_GUIDED | c::MPI_COMM_TYPE_RESOURCE_GUIDED
            if split_type == c::MPI_COMM_TYPE_SHARED || by_memory =>
        {
            // On a simulated fabric by node, though its ranks share no memory.
            let world = &p.world()?.comm;
            let shares = world.with_port(|port| port.shares_with());
            Some(i64::from(shares.unwrap_or_else(|| crate::seat::node(world.rank()))))
        }
        // No hardware below the host is known here. Ranks are not separated, and the standard lets a library say so.
        c::MPI_COMM_TYPE_HW_UNGUIDED
        | c::MPI_COMM_TYPE_HW_GUIDED
        | c::MPI_COMM_TYPE_RESOURCE_GUIDED
        | c::MPI_UNDEFINED => None,
        _ => {
            return fail(
                c::MPI_ERR_ARG,
                format!("split type {split_type}: must be an MPI_COMM_TYPE constant or MPI_UNDEFINED"),
            );
        }
    };
    let given = match split_type {
        c::MPI_UNDEFINED => Given::whatever("MPI_Comm_split_type"),
        _ => Given::to("MPI_Comm_split_type", &[("split type", &[i64::from(split_type)])]),
    };
    name_split(p, split(p, &old, color, i64::from(key), None, given)?, newcomm)
}

pub(crate) fn comm_free(p: &Process, comm: Out<Handle>) -> Done {
    let handle = comm.get(0);
    let known = p.comm(handle)?;
    let always = handle == c::MPI_COMM_WORLD || handle == c::MPI_COMM_SELF;
    check(!always, c::MPI_ERR_COMM, || "MPI_COMM_WORLD and MPI_COMM_SELF cannot be freed".to_owned())?;
    known.attributes.clear(handle)?;
    // Operations under way hold it as well.
    p.comms.remove(handle);
    comm.set(c::MPI_COMM_NULL);
    Ok(())
}

pub(crate) fn comm_disconnect(p: &Process, comm: Out<Handle>) -> Done {
    let known = p.comm(comm.get(0))?;
    p.world()?.block_on(known.view.barrier())?;
    comm_free(p, comm)
}

/// A name as long as names may be.
pub(crate) fn short(mut name: String) -> String {
    let mut most = c::MPI_MAX_OBJECT_NAME as usize - 1;
    while !name.is_char_boundary(most.min(name.len())) {
        most -= 1;
    }
    name.truncate(most);
    name
}

pub(crate) fn comm_set_name(p: &Process, comm: Handle, name: Text) -> Done {
    *p.comm(comm)?.name.borrow_mut() = short(name.name()?);
    Ok(())
}

pub(crate) fn comm_get_name(p: &Process, comm: Handle, name: TextOut, resultlen: Out<c_int>) -> Done {
    let comm = if comm == c::MPI_COMM_NULL { None } else { Some(p.comm(comm)?) };
    let text = comm.map_or("MPI_COMM_NULL".to_owned(), |comm| comm.name.borrow().clone());
    resultlen.set(name.write(&text, c::MPI_MAX_OBJECT_NAME as usize) as c_int);
    Ok(())
}

pub(crate) fn comm_set_info(p: &Process, comm: Handle, info: Handle) -> Done {
    *p.comm(comm)?.info.borrow_mut() = info::hints(p, info, "mpi_assert_")?;
    Ok(())
}

pub(crate) fn comm_get_info(p: &Process, comm: Handle, info: Out<Handle>) -> Done {
    let pairs = p.comm(comm)?.info.borrow().clone();
    info.set(info::named(p, pairs));
    Ok(())
}

/// No MPI program started this job.
pub(crate) fn comm_get_parent(p: &Process, parent: Out<Handle>) -> Done {
    p.world()?;
    parent.set(c::MPI_COMM_NULL);
    Ok(())
}

/// The leaders exchange their groups over the peer communicator, and pass them on to their own groups.
pub(crate) fn intercomm_create(
    p: &Process,
    local_comm: Handle,
    local_leader: c_int,
    peer_comm: Handle,
    remote_leader: c_int,
    tag: c_int,
    newintercomm: Out<Handle>,
) -> Done {
    let (world, local) = (p.world()?, p.intracomm(local_comm)?);
    newintercomm.set(c::MPI_COMM_NULL);
    let leader = Process::root(&local, local_leader)?;
    let given = Given::to("MPI_Intercomm_create", &[("local leader", &[i64::from(local_leader)])]);
    let next = world.block_on(same(&local.view, &given, &[i64::from(world.numbers.next())]))?[0];
    // The other side: its next number, and its ranks. A rank that does not lead first gets the number of those.
    let mut heard = Vec::new();
    if local.rank == leader {
        let bridge = p.comm(peer_comm)?;
        let allowed = remote_leader >= 0 && (remote_leader as u32) < bridge.peers() && tag >= 0;
        check(allowed, c::MPI_ERR_RANK, || {
            let last = bridge.peers() - 1;
            format!("remote leader {remote_leader} and tag {tag}: must be a rank 0 to {last}, and a tag from 0 on")
        })?;
        let words = [vec![next], local.group.words()].concat();
        heard = super::reductions::swapped(p, &bridge, bridge.peer(remote_leader as u32), tag as u32, &words)?;
    }
    let length = world.block_on(words_of(&local.view, leader, &[heard.len() as i64]))?[0] as usize;
    heard.resize(length, 0);
    let heard = world.block_on(words_of(&local.view, leader, &heard))?;
    let number = is_left(next.max(heard[0]) as u32)?;
    world.numbers.take(number);
    let remote = Rc::new(Group::new(heard[1..].iter().map(|&rank| rank as u32).collect()));
    let overlaps = remote.intersection(&local.group).size() > 0;
    check(!overlaps, c::MPI_ERR_COMM, || "the two groups share a rank".to_owned())?;
    let first = local.group.ranks().iter().min() < remote.ranks().iter().min();
    let made = p.made_between(&local.group, &remote, first, number, local.handler.get())?;
    newintercomm.set(p.comms.add(Rc::new(made)));
    Ok(())
}

pub(crate) fn intercomm_merge(p: &Process, intercomm: Handle, high: c_int, newintracomm: Out<Handle>) -> Done {
    let (world, old) = (p.world()?, p.comm(intercomm)?);
    let Some(remote) = &old.remote else { return fail(c::MPI_ERR_COMM, "it is no intercommunicator") };
    let number = p.new_number(&old.view, Given::to("MPI_Intercomm_merge", &[]))?;
    let all = world.block_on(gathered(&old.view, &[i64::from(high != 0)]))?;
    let here = &all[remote.here as usize..][..old.group.size()];
    let given = || format!("`high` is {} here, and other ranks of this group give another", high != 0);
    check(here.iter().all(|one| one == &here[0]), c::MPI_ERR_ARG, given)?;
    let (mine, theirs) = (all[remote.here as usize][0], all[remote.there as usize][0]);
    // Where both say the same, the side with the view's first ranks goes first.
    let first = if mine == theirs { remote.here == 0 } else { mine < theirs };
    let both = if first { [&old.group, &remote.group] } else { [&remote.group, &old.group] };
    let ranks = both.iter().flat_map(|group| group.ranks().iter().copied()).collect();
    newintracomm.set(p.comms.add(Rc::new(p.made(Group::new(ranks), number, None, old.handler.get())?)));
    Ok(())
}
