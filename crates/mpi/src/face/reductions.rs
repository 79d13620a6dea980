//! Collectives that combine.

use super::collectives::{IN_PLACE, Part, apart, part, peers, rooted, unless};
use crate::abi::Handle;
use crate::failure::{Done, check, fail};
use crate::pointer::{Address, Ints};
use crate::process::Process;
use crate::process::buffer::{Buffer, Staged};
use crate::process::communicator::Communicator;
use crate::process::reduction::Reducer;
use crate::process::request::Start;
use hotlink_message::Comm;
use hotlink_port::Span;
use hotlink_real::Seat;
use hotlink_standard::Alike;
use hotlink_standard::constants as c;
use std::ffi::c_int;
use std::rc::Rc;

/// Every rank's packed elements, combined at rank `root`; elsewhere what comes is of no use.
async fn combined(view: &Comm<Seat>, root: u32, reducer: &Reducer, from: &Buffer) -> Done<Vec<u8>> {
    let all = from.everything();
    let mine = Staged::of(all, &from.data());
    match reducer.own {
        Some(operation) => view.reduce(root, operation, mine.span, mine.span).await?,
        None => view.reduce_by(root, mine.span, |a, b| reducer.fold_spans(view, a, b)).await?,
    }
    Ok(mine.own().to_vec())
}

/// The elements of all ranks of the other side, combined here.
async fn heard(view: &Comm<Seat>, peers: &[u32], reducer: &Reducer, room: &Buffer) -> Done<Vec<u8>> {
    let bytes = room.bytes();
    let all = Staged::room(room.everything(), bytes * peers.len() as u64);
    let part = |i: usize| Span::new(all.span.memory, all.span.offset + bytes * i as u64, bytes);
    let recv: Vec<(u32, Span)> = peers.iter().enumerate().map(|(i, &peer)| (peer, part(i))).collect();
    view.exchange_with(&[], &recv).await?;
    Ok(reducer.fold_rows(all.own(), bytes as usize))
}

/// Elements go to all of the other side, and theirs are combined here.
async fn crossed(view: &Comm<Seat>, peers: &[u32], reducer: &Reducer, from: &Buffer) -> Done<Vec<u8>> {
    let (mine, bytes) = (from.source(false), from.bytes());
    let all = Staged::room(from.everything(), bytes * peers.len() as u64);
    let part = |i: usize| Span::new(all.span.memory, all.span.offset + bytes * i as u64, bytes);
    let recv: Vec<(u32, Span)> = peers.iter().enumerate().map(|(i, &peer)| (peer, part(i))).collect();
    let send: Vec<(u32, Span)> = peers.iter().map(|&peer| (peer, mine.span)).collect();
    view.exchange_with(&send, &recv).await?;
    Ok(reducer.fold_rows(all.own(), bytes as usize))
}

pub(crate) fn reduce(
    p: &Process,
    start: Start,
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Handle,
    op: Handle,
    root: c_int,
    comm: Handle,
) -> Done {
    let comm = p.comm(comm)?;
    let part = part(&comm, root)?;
    if part == Part::Aside {
        return p.collectively(&comm, start, Alike::default(), |_| async { Ok(()) });
    }
    let reducer = p.reducer(op, datatype)?;
    let at_root = matches!(part, Part::Root(_) | Part::RootBetween);
    if matches!(part, Part::Root(_)) {
        apart(sendbuf, recvbuf, count)?;
    }
    let into = if at_root { Some(reducer.buffer(p, recvbuf, count)?) } else { None };
    // Between groups the root sends nothing, and may give no buffer.
    let from = if sendbuf == IN_PLACE || part == Part::RootBetween { recvbuf } else { sendbuf };
    let (from, peers) = (reducer.buffer(p, from, count)?, peers(&comm));
    let alike = reducer.alike(rooted(part, Some(from.bytes())));
    p.collectively(&comm, start, alike, move |view| {
        let (reducer, from, into, peers) = (reducer.clone(), from.clone(), into.clone(), peers.clone());
        async move {
            let result = match part {
                Part::Root(root) | Part::Other(root) => combined(&view, root, &reducer, &from).await?,
                Part::RootBetween => heard(&view, &peers, &reducer, &from).await?,
                Part::With(root) => {
                    let mine = from.source(false);
                    view.exchange_with(&[(root, mine.span)], &[]).await?;
                    return Ok(());
                }
                Part::Aside => return Ok(()),
            };
            if let Some(into) = into {
                into.fill(&result);
            }
            Ok(())
        }
    })
}

pub(crate) fn allreduce(
    p: &Process,
    start: Start,
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Done {
    let comm = p.comm(comm)?;
    apart(sendbuf, recvbuf, count)?;
    let reducer = p.reducer(op, datatype)?;
    let into = reducer.buffer(p, recvbuf, count)?;
    let from = if sendbuf == IN_PLACE { into.clone() } else { reducer.buffer(p, sendbuf, count)? };
    let (peers, between) = (peers(&comm), comm.remote.is_some());
    if let (Some(world), Some(operation), false) = (p.directly(start), reducer.own, between) {
        let (mine, room) = (from.source(true), into.target(true));
        world.block_on(comm.view.allreduce(operation, mine.span, room.span))?;
        room.land();
        return Ok(());
    }
    let alike = reducer.alike(unless(between, || from.bytes()));
    p.collectively(&comm, start, alike, move |view| {
        let (reducer, from, into, peers) = (reducer.clone(), from.clone(), into.clone(), peers.clone());
        async move {
            if let Some(operation) = reducer.own.filter(|_| !between) {
                // Elements of a predefined type lie in a row.
                let (mine, room) = (from.source(true), into.target(true));
                view.allreduce(operation, mine.span, room.span).await?;
                room.land();
                return Ok(());
            }
            // In a box: a future that is short for most calls moves faster.
            Box::pin(async move {
                if between {
                    into.fill(&crossed(&view, &peers, &reducer, &from).await?);
                    return Ok(());
                }
                let all = Staged::of(into.everything(), &combined(&view, 0, &reducer, &from).await?);
                view.bcast(0, all.span).await?;
                into.fill(all.own());
                Ok(())
            })
            .await
        }
    })
}

/// The result of all ranks, of which each gets as many elements as `counts` says.
fn scattered(
    p: &Process,
    comm: &Rc<Communicator>,
    start: Start,
    (sendbuf, recvbuf): (Address, Address),
    counts: Vec<i64>,
    reducer: Reducer,
) -> Done {
    let total: i64 = counts.iter().sum();
    let into = reducer.buffer(p, recvbuf, counts[comm.rank as usize])?;
    apart(sendbuf, recvbuf, total)?;
    let from = reducer.buffer(p, if sendbuf == IN_PLACE { recvbuf } else { sendbuf }, total)?;
    let (peers, between, rank) = (peers(comm), comm.remote.is_some(), comm.rank as usize);
    let alike = reducer.alike(unless(between, || from.bytes()).moving(from.bytes() - into.bytes()));
    p.collectively(comm, start, alike, move |view| {
        let (reducer, from, into, peers, counts) =
            (reducer.clone(), from.clone(), into.clone(), peers.clone(), counts.clone());
        async move {
            let size = from.of.datatype.size();
            let ends: Vec<u64> = counts
                .iter()
                .scan(0, |end, &count| {
                    *end += count as u64 * size;
                    Some(*end)
                })
                .collect();
            let own = |i: usize| (ends[i] - counts[i] as u64 * size, counts[i] as u64 * size);
            if between {
                let result = crossed(&view, &peers, &reducer, &from).await?;
                let (first, bytes) = own(rank);
                into.fill(&result[first as usize..(first + bytes) as usize]);
                return Ok(());
            }
            let result = combined(&view, 0, &reducer, &from).await?;
            let all = Staged::of(from.everything(), &result);
            let parts: Vec<Span> = (0..counts.len())
                .map(|i| {
                    let (first, bytes) = own(i);
                    Span::new(all.span.memory, all.span.offset + first, bytes)
                })
                .collect();
            let room = into.target(false);
            view.scatterv(0, if view.rank() == 0 { &parts } else { &[] }, room.span).await?;
            room.land();
            Ok(())
        }
    })
}

pub(crate) fn reduce_scatter(
    p: &Process,
    start: Start,
    sendbuf: Address,
    recvbuf: Address,
    recvcounts: Ints,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Done {
    let comm = p.comm(comm)?;
    let counts = recvcounts.list(comm.size() as usize)?;
    if let Some(place) = counts.iter().position(|&count| count < 0) {
        return fail(c::MPI_ERR_COUNT, format!("recvcounts[{place}] is {}: it must be at least 0", counts[place]));
    }
    scattered(p, &comm, start, (sendbuf, recvbuf), counts, p.reducer(op, datatype)?)
}

pub(crate) fn reduce_scatter_block(
    p: &Process,
    start: Start,
    sendbuf: Address,
    recvbuf: Address,
    recvcount: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Done {
    let comm = p.comm(comm)?;
    check(recvcount >= 0, c::MPI_ERR_COUNT, || format!("count {recvcount}: it must be at least 0"))?;
    let counts = vec![recvcount; comm.size() as usize];
    scattered(p, &comm, start, (sendbuf, recvbuf), counts, p.reducer(op, datatype)?)
}

/// Of the ranks before this one, and of this one if it is `inclusive`.
fn prefixed(
    p: &Process,
    start: Start,
    (sendbuf, recvbuf, count): (Address, Address, i64),
    (datatype, op, comm): (Handle, Handle, Handle),
    inclusive: bool,
) -> Done {
    let comm = p.intracomm(comm)?;
    apart(sendbuf, recvbuf, count)?;
    let reducer = p.reducer(op, datatype)?;
    let into = reducer.buffer(p, recvbuf, count)?;
    let from = if sendbuf == IN_PLACE { into.clone() } else { reducer.buffer(p, sendbuf, count)? };
    let alike = reducer.alike(Alike::bytes(from.bytes()));
    p.collectively(&comm, start, alike, move |view| {
        let (reducer, from, into) = (reducer.clone(), from.clone(), into.clone());
        async move {
            let data = from.data();
            let mine = Staged::of(from.everything(), &data);
            let before = Staged::room(from.everything(), from.bytes());
            view.exscan_by(mine.span, before.span, |a, b| reducer.fold_spans(&view, a, b)).await?;
            match (inclusive, view.rank()) {
                (true, 0) => into.fill(&data),
                (false, 0) => {}
                (true, _) => {
                    let mut all = data;
                    reducer.fold(before.own(), &mut all);
                    into.fill(&all);
                }
                (false, _) => into.fill(before.own()),
            }
            Ok(())
        }
    })
}

pub(crate) fn scan(
    p: &Process,
    start: Start,
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Done {
    prefixed(p, start, (sendbuf, recvbuf, count), (datatype, op, comm), true)
}

pub(crate) fn exscan(
    p: &Process,
    start: Start,
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Done {
    prefixed(p, start, (sendbuf, recvbuf, count), (datatype, op, comm), false)
}

/// Two ranks swap lists of words by messages of the program's own kind.
pub(crate) fn swapped(p: &Process, comm: &Communicator, peer: u32, tag: u32, words: &[i64]) -> Done<Vec<i64>> {
    let world = p.world()?;
    let swap = async |mine: &[i64], count: usize| -> Done<Vec<i64>> {
        let bytes: Vec<u8> = mine.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let (out, into) = (Staged::of(&world.all, &bytes), Staged::room(&world.all, 8 * count as u64));
        let receive = comm.view.irecv_quietly(Some(peer), Some(tag), into.span)?;
        let send = comm.view.isend(peer, tag, out.span)?;
        comm.view.wait(send).await?;
        comm.view.wait(receive).await?;
        Ok(into.own().as_chunks::<8>().0.iter().map(|word| i64::from_ne_bytes(*word)).collect())
    };
    world.block_on(async {
        let count = swap(&[words.len() as i64], 1).await?[0] as usize;
        swap(words, count).await
    })
}
