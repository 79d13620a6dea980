//! Sessions: the library without `MPI_Init`, and communicators made of groups alone.

use super::communicators::split_number;
use super::info;
use crate::abi::Handle;
use crate::failure::{Done, check, fail, failure};
use crate::pointer::{Out, Text, TextOut};
use crate::process::communicator::GROUP_CALLS;
use crate::process::{Process, Session};
use hotlink_message::words::told;
use hotlink_standard::constants as c;
use hotlink_standard::{Given, Group};
use std::cell::Cell;
use std::ffi::c_int;
use std::rc::Rc;

/// The sets of processes that there are: all, and this one.
const SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];
/// How a session says which threads may call.
const LEVEL: &str = "thread_level";
const LEVELS: [(&str, c_int); 4] = [
    ("MPI_THREAD_SINGLE", c::MPI_THREAD_SINGLE),
    ("MPI_THREAD_FUNNELED", c::MPI_THREAD_FUNNELED),
    ("MPI_THREAD_SERIALIZED", c::MPI_THREAD_SERIALIZED),
    ("MPI_THREAD_MULTIPLE", c::MPI_THREAD_MULTIPLE),
];

pub(crate) fn session_init(p: &Process, info: Handle, errhandler: Handle, session: Out<Handle>) -> Done {
    session.set(c::MPI_SESSION_NULL);
    p.check_handler(errhandler)?;
    let asked = info::given(p, info)?.into_iter().find(|pair| pair.0 == LEVEL).map(|pair| pair.1);
    let level = match asked {
        // The program did not say that one thread alone calls.
        None => LEVELS[3],
        Some(word) => {
            let found = LEVELS.iter().find(|level| level.0 == word).copied();
            found.ok_or_else(|| failure(c::MPI_ERR_ARG, format!("{LEVEL}={word}: it is none")))?
        }
    };
    let granted = super::environment::enter(p, level.1)?;
    let level = if granted == level.1 { level.0 } else { LEVELS[2].0 };
    let made = Session { handler: Cell::new(errhandler), level, attached: Cell::new(None) };
    session.set(p.sessions.add(Rc::new(made)));
    Ok(())
}

pub(crate) fn session_finalize(p: &Process, session: Out<Handle>) -> Done {
    p.session(session.get(0))?;
    let world = p.world()?;
    world.until(|| world.buffered.borrow().is_empty().then_some(()));
    p.sessions.remove(session.get(0));
    session.set(c::MPI_SESSION_NULL);
    Ok(())
}

pub(crate) fn session_get_info(p: &Process, session: Handle, info_used: Out<Handle>) -> Done {
    let level = p.session(session)?.level;
    info_used.set(info::named(p, vec![(LEVEL.to_owned(), level.to_owned())]));
    Ok(())
}

pub(crate) fn session_get_num_psets(p: &Process, session: Handle, _info: Handle, npset_names: Out<c_int>) -> Done {
    p.session(session)?;
    npset_names.set(SETS.len() as c_int);
    Ok(())
}

pub(crate) fn session_get_nth_pset(
    p: &Process,
    session: Handle,
    _info: Handle,
    n: c_int,
    pset_len: Out<c_int>,
    pset_name: TextOut,
) -> Done {
    p.session(session)?;
    let found = usize::try_from(n).ok().and_then(|n| SETS.get(n));
    let name = found.ok_or_else(|| failure(c::MPI_ERR_ARG, format!("process set {n}: there are {}", SETS.len())))?;
    if pset_len.get(0) > 0 {
        pset_name.write(name, pset_len.get(0) as usize);
    }
    pset_len.set(name.len() as c_int + 1);
    Ok(())
}

/// The ranks of a set.
fn members(p: &Process, session: Handle, name: Text) -> Done<Group> {
    p.session(session)?;
    let (world, name) = (p.world()?, name.string().unwrap_or_default());
    match SETS.iter().position(|set| set.eq_ignore_ascii_case(&name)) {
        Some(0) => Ok((*world.world.group).clone()),
        Some(_) => Ok((*world.own.group).clone()),
        None => fail(c::MPI_ERR_ARG, format!("process set {name:?}: there are {}", SETS.join(", "))),
    }
}

pub(crate) fn session_get_pset_info(p: &Process, session: Handle, pset_name: Text, info: Out<Handle>) -> Done {
    let size = members(p, session, pset_name)?.size();
    info.set(info::named(p, vec![("mpi_size".to_owned(), size.to_string())]));
    Ok(())
}

pub(crate) fn group_from_session_pset(p: &Process, session: Handle, pset_name: Text, newgroup: Out<Handle>) -> Done {
    newgroup.set(c::MPI_GROUP_NULL);
    newgroup.set(p.name_group(members(p, session, pset_name)?));
    Ok(())
}

/// The tag distinguishes calls that agree on a communicator.
fn call(tag: Text) -> u32 {
    let tag = tag.string().unwrap_or_default();
    let sum = tag.bytes().fold(0u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    GROUP_CALLS + sum % GROUP_CALLS
}

pub(crate) fn comm_create_from_group(
    p: &Process,
    group: Handle,
    stringtag: Text,
    info: Handle,
    errhandler: Handle,
    newcomm: Out<Handle>,
) -> Done {
    let (world, group) = (p.world()?, p.group(group)?);
    newcomm.set(c::MPI_COMM_NULL);
    p.check_handler(errhandler)?;
    let hints = info::hints(p, info, "mpi_assert_")?;
    if group.place(world.comm.rank()).is_none() {
        check(group.size() == 0, c::MPI_ERR_GROUP, || "this process is not in the group".to_owned())?;
        return Ok(());
    }
    let few = world.comm.view(group.ranks(), world.world.number)?.beside(call(stringtag));
    let number = p.new_number(&few, Given::to("MPI_Comm_create_from_group", &[]))?;
    let made = p.made((*group).clone(), number, None, errhandler)?;
    *made.info.borrow_mut() = hints;
    newcomm.set(p.comms.add(Rc::new(made)));
    Ok(())
}

/// Only the leader must know the other group: it passes it on to its own.
pub(crate) fn intercomm_create_from_groups(
    p: &Process,
    local_group: Handle,
    local_leader: c_int,
    remote_group: Handle,
    _remote_leader: c_int,
    stringtag: Text,
    _info: Handle,
    errhandler: Handle,
    newintercomm: Out<Handle>,
) -> Done {
    let (world, local) = (p.world()?, p.group(local_group)?);
    newintercomm.set(c::MPI_COMM_NULL);
    p.check_handler(errhandler)?;
    let known = local_leader >= 0 && (local_leader as usize) < local.size();
    check(known, c::MPI_ERR_RANK, || format!("local leader {local_leader}: it must be a rank of the group"))?;
    let (leader, call) = (local_leader as u32, call(stringtag));
    let ours = world.comm.view(local.ranks(), world.world.number)?.beside(call);
    let mut words: Vec<i64> = Vec::new();
    if ours.rank() == leader {
        words = p.group(remote_group)?.words();
    }
    let length = world.block_on(told(&ours, leader, &[words.len() as i64]))?[0] as usize;
    words.resize(length, 0);
    let words = world.block_on(told(&ours, leader, &words))?;
    let remote = Rc::new(Group::new(words.into_iter().map(|rank| rank as u32).collect()));
    let overlaps = remote.size() == 0 || remote.intersection(&local).size() > 0;
    check(!overlaps, c::MPI_ERR_GROUP, || "the other group is empty, or shares a rank".to_owned())?;
    let first = local.ranks().iter().min() < remote.ranks().iter().min();
    let both = if first { [local.ranks(), remote.ranks()] } else { [remote.ranks(), local.ranks()] };
    let all = world.comm.view(&both.concat(), split_number(world))?.beside(call);
    let number = p.new_number(&all, Given::to("MPI_Intercomm_create_from_groups", &[]))?;
    let made = p.made_between(&local, &remote, first, number, errhandler)?;
    newintercomm.set(p.comms.add(Rc::new(made)));
    Ok(())
}
