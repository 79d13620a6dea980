//! Groups of ranks.

use crate::abi::Handle;
use crate::failure::{Done, check, failure};
use crate::pointer::{In, Out};
use crate::process::Process;
use hotlink_standard::constants as c;
use hotlink_standard::{Compared, Group};
use std::ffi::c_int;

pub(crate) fn group_size(p: &Process, group: Handle, size: Out<c_int>) -> Done {
    size.set(p.group(group)?.size() as c_int);
    Ok(())
}

pub(crate) fn group_rank(p: &Process, group: Handle, rank: Out<c_int>) -> Done {
    let own = p.world()?.comm.rank();
    rank.set(p.group(group)?.place(own).map_or(c::MPI_UNDEFINED, |place| place as c_int));
    Ok(())
}

pub(crate) fn group_translate_ranks(
    p: &Process,
    group1: Handle,
    n: c_int,
    ranks1: In<c_int>,
    group2: Handle,
    ranks2: Out<c_int>,
) -> Done {
    let (from, to) = (p.group(group1)?, p.group(group2)?);
    check(n >= 0, c::MPI_ERR_ARG, || format!("n {n}: it must be at least 0"))?;
    ranks2.filled("ranks2", n as usize)?;
    for (index, rank) in ranks1.list(n as usize)?.into_iter().enumerate() {
        if rank == c::MPI_PROC_NULL {
            ranks2.put(index, c::MPI_PROC_NULL);
            continue;
        }
        let known = usize::try_from(rank).ok().and_then(|rank| from.ranks().get(rank).copied());
        let known =
            known.ok_or_else(|| failure(c::MPI_ERR_RANK, format!("rank {rank}: the group has {}", from.size())))?;
        ranks2.put(index, to.place(known).map_or(c::MPI_UNDEFINED, |place| place as c_int));
    }
    Ok(())
}

/// How the standard calls it.
pub(crate) fn compared(compared: Compared, same: c_int) -> c_int {
    match compared {
        Compared::Same => same,
        Compared::Similar => c::MPI_SIMILAR,
        Compared::Unequal => c::MPI_UNEQUAL,
    }
}

pub(crate) fn group_compare(p: &Process, group1: Handle, group2: Handle, result: Out<c_int>) -> Done {
    result.set(compared(p.group(group1)?.compare(&*p.group(group2)?), c::MPI_IDENT));
    Ok(())
}

pub(crate) fn group_union(p: &Process, group1: Handle, group2: Handle, newgroup: Out<Handle>) -> Done {
    newgroup.set(p.name_group(p.group(group1)?.union(&*p.group(group2)?)));
    Ok(())
}

pub(crate) fn group_intersection(p: &Process, group1: Handle, group2: Handle, newgroup: Out<Handle>) -> Done {
    newgroup.set(p.name_group(p.group(group1)?.intersection(&*p.group(group2)?)));
    Ok(())
}

pub(crate) fn group_difference(p: &Process, group1: Handle, group2: Handle, newgroup: Out<Handle>) -> Done {
    newgroup.set(p.name_group(p.group(group1)?.difference(&*p.group(group2)?)));
    Ok(())
}

fn chosen(p: &Process, places: Option<Vec<i64>>, group: &Group, takes: bool, newgroup: Out<Handle>) -> Done {
    let made = places.and_then(|places| if takes { group.pick(&places) } else { group.leave_out(&places) });
    let wrong = || {
        failure(
            c::MPI_ERR_RANK,
            match group.size() {
                0 => "the group has no rank that could be named".to_owned(),
                ranks => format!("a rank is named twice, or is none of 0 to {}", ranks - 1),
            },
        )
    };
    newgroup.set(p.name_group(made.ok_or_else(wrong)?));
    Ok(())
}

fn places(n: c_int, ranks: In<c_int>) -> Done<Vec<i64>> {
    check(n >= 0, c::MPI_ERR_ARG, || format!("n {n}: it must be at least 0"))?;
    Ok(ranks.list(n as usize)?.into_iter().map(i64::from).collect())
}

pub(crate) fn group_incl(p: &Process, group: Handle, n: c_int, ranks: In<c_int>, newgroup: Out<Handle>) -> Done {
    chosen(p, Some(places(n, ranks)?), &*p.group(group)?, true, newgroup)
}

pub(crate) fn group_excl(p: &Process, group: Handle, n: c_int, ranks: In<c_int>, newgroup: Out<Handle>) -> Done {
    chosen(p, Some(places(n, ranks)?), &*p.group(group)?, false, newgroup)
}

fn ranges(n: c_int, ranges: Out<c_int>) -> Done<Option<Vec<i64>>> {
    check(n >= 0, c::MPI_ERR_ARG, || format!("n {n}: it must be at least 0"))?;
    let numbers: Vec<i64> = ranges.list("ranges", 3 * n as usize)?.into_iter().map(i64::from).collect();
    Ok(Group::ranges(numbers.as_chunks::<3>().0))
}

pub(crate) fn group_range_incl(p: &Process, group: Handle, n: c_int, all: Out<c_int>, newgroup: Out<Handle>) -> Done {
    chosen(p, ranges(n, all)?, &*p.group(group)?, true, newgroup)
}

pub(crate) fn group_range_excl(p: &Process, group: Handle, n: c_int, all: Out<c_int>, newgroup: Out<Handle>) -> Done {
    chosen(p, ranges(n, all)?, &*p.group(group)?, false, newgroup)
}

pub(crate) fn group_free(p: &Process, group: Out<Handle>) -> Done {
    p.group(group.get(0))?;
    // The empty one has no object.
    p.groups.remove(group.get(0));
    group.set(c::MPI_GROUP_NULL);
    Ok(())
}
