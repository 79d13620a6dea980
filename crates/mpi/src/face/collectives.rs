//! Collectives that move data. Between two groups they are exchanges of each rank with those of the other side.

use crate::abi::Handle;
use crate::failure::{Done, check, fail};
use crate::pointer::{Address, In, Ints};
use crate::process::Process;
use crate::process::buffer::{Buffer, Staged};
use crate::process::communicator::Communicator;
use crate::process::request::Start;
use hotlink_port::{Layout, Memory, Span};
use hotlink_standard::Alike;
use hotlink_standard::constants as c;
use std::ffi::c_int;
use std::rc::Rc;

pub(crate) const IN_PLACE: Address = Address(c::MPI_IN_PLACE);

/// The data of a rank that gives none.
const NOTHING: Span = Span { memory: Memory(u64::MAX), offset: 0, layout: Layout { block: 0, count: 1, stride: 0 } };

/// Which part a rank has in a collective with a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// It is the root of its own group.
    Root(u32),
    /// It is another rank of that group.
    Other(u32),
    /// It is the root, and the others are the other group.
    RootBetween,
    /// The root is this rank of the other group, as the view names it.
    With(u32),
    /// It is on the root's side, and has no part.
    Aside,
}

pub(crate) fn part(comm: &Communicator, root: c_int) -> Done<Part> {
    if comm.remote.is_none() {
        let root = Process::root(comm, root)?;
        return Ok(if comm.rank == root { Part::Root(root) } else { Part::Other(root) });
    }
    match root {
        c::MPI_ROOT => Ok(Part::RootBetween),
        c::MPI_PROC_NULL => Ok(Part::Aside),
        root if root >= 0 && (root as u32) < comm.peers() => Ok(Part::With(comm.peer(root as u32))),
        _ => fail(c::MPI_ERR_ROOT, format!("root {root}: it must be 0 to {}", comm.peers() - 1)),
    }
}

/// The values that ranks with a root must give alike. Between two groups the root's side gives nothing.
pub(crate) fn rooted(part: Part, bytes: Option<u64>) -> Alike {
    match part {
        Part::Root(root) | Part::Other(root) => Alike { root: Some(root), bytes, ..Alike::default() },
        Part::RootBetween | Part::With(_) | Part::Aside => Alike::default(),
    }
}

/// The peers of the other side, as the view names them.
pub(crate) fn peers(comm: &Communicator) -> Vec<u32> {
    (0..comm.peers()).map(|rank| comm.peer(rank)).collect()
}

/// Fails where data would be sent from where it is received: the standard has `MPI_IN_PLACE` for that.
pub(crate) fn apart(sendbuf: Address, recvbuf: Address, count: i64) -> Done {
    let one = sendbuf == recvbuf && count > 0 && !sendbuf.is_null();
    check(!one, c::MPI_ERR_BUFFER, || "the send buffer is the receive buffer: MPI_IN_PLACE is for that".to_owned())
}

pub(crate) fn barrier(p: &Process, start: Start, comm: Handle) -> Done {
    let comm = p.comm(comm)?;
    if let Some(world) = p.directly(start) {
        return Ok(world.block_on(comm.view.barrier())?);
    }
    p.collectively(&comm, start, Alike::default(), |view| async move { Ok(view.barrier().await?) })
}

pub(crate) fn bcast(
    p: &Process,
    start: Start,
    buf: Address,
    count: i64,
    datatype: Handle,
    root: c_int,
    comm: Handle,
) -> Done {
    let comm = p.comm(comm)?;
    let part = part(&comm, root)?;
    let buffer = if part == Part::Aside { p.buffer(buf, 0, c::MPI_BYTE)? } else { p.buffer(buf, count, datatype)? };
    let (peers, alike) = (peers(&comm), rooted(part, Some(buffer.bytes())));
    p.collectively(&comm, start, alike, move |view| {
        let (buffer, peers) = (buffer.clone(), peers.clone());
        async move {
            let staged = buffer.both(false);
            match part {
                Part::Root(root) | Part::Other(root) => view.bcast(root, staged.span).await?,
                Part::RootBetween => {
                    let sends: Vec<_> = peers.into_iter().map(|peer| (peer, staged.span)).collect();
                    view.exchange_with(&sends, &[]).await?;
                }
                Part::With(root) => view.exchange_with(&[], &[(root, staged.span)]).await?,
                Part::Aside => {}
            }
            if matches!(part, Part::Other(_) | Part::With(_)) {
                staged.land();
            }
            Ok(())
        }
    })
}

/// Parts of a buffer, one for each rank: equal ones, or as counts and displacements say.
#[derive(Clone)]
pub(crate) struct Parts(pub(crate) Vec<Buffer>);

impl Parts {
    pub(crate) fn none() -> Parts {
        Parts(Vec::new())
    }
    pub(crate) fn equal(p: &Process, at: Address, count: i64, datatype: Handle, ranks: u32) -> Done<Parts> {
        let whole = p.buffer(at, count, datatype)?;
        Ok(Parts((0..i64::from(ranks)).map(|rank| whole.part(rank * count, count)).collect()))
    }
    pub(crate) fn counted(
        p: &Process,
        at: Address,
        (counts, displacements): (Ints, Ints),
        datatype: Handle,
        ranks: u32,
    ) -> Done<Parts> {
        let (counts, displacements) = (counts.list(ranks as usize)?, displacements.list(ranks as usize)?);
        let all = counts.into_iter().zip(displacements);
        let part = |(count, displacement): (i64, i64)| {
            let buffer = p.buffer(at, count, datatype)?;
            Ok(buffer.part(displacement, count))
        };
        all.map(part).collect::<Done<_>>().map(Parts)
    }
    /// Bytes of all parts but that of this rank itself.
    fn beyond(&self, rank: u32) -> u64 {
        let others = self.0.iter().enumerate().filter(|(place, _)| *place != rank as usize);
        others.map(|(_, part)| part.bytes()).sum()
    }
    /// As [`apart`]: fails if a part that is not empty begins where the rank's own buffer does.
    fn apart(&self, own: Option<&Buffer>) -> Done {
        let Some(own) = own.filter(|own| own.bytes() > 0) else { return Ok(()) };
        self.0.iter().filter(|part| part.at == own.at).try_for_each(|part| apart(own.at, part.at, part.bytes() as i64))
    }
    /// Each of a type of its own, at a displacement in bytes. The null type names none for a rank that gets nothing, as
    /// programs of other libraries have it.
    pub(crate) fn typed(
        p: &Process,
        at: Address,
        (counts, displacements): (Ints, Ints),
        types: In<Handle>,
        ranks: u32,
    ) -> Done<Parts> {
        let (counts, displacements) = (counts.list(ranks as usize)?, displacements.list(ranks as usize)?);
        let types = types.list(ranks as usize)?;
        let part = |index: usize| {
            let is_none = counts[index] == 0 && types[index] == c::MPI_DATATYPE_NULL;
            let datatype = if is_none { c::MPI_BYTE } else { types[index] };
            p.buffer(at.plus(displacements[index]), counts[index], datatype)
        };
        (0..ranks as usize).map(part).collect::<Done<_>>().map(Parts)
    }
    pub(crate) fn sources(&self) -> Vec<Staged> {
        self.0.iter().map(|part| part.source(false)).collect()
    }
    pub(crate) fn targets(&self) -> Vec<Staged> {
        self.0.iter().map(|part| part.target(false)).collect()
    }
    /// Packed copies of the present data.
    pub(crate) fn copies(&self) -> Vec<Staged> {
        self.0.iter().map(|part| Staged::of(part.everything(), &part.data())).collect()
    }
}

pub(crate) fn spans(staged: &[Staged]) -> Vec<Span> {
    staged.iter().map(|one| one.span).collect()
}

pub(crate) fn with(peers: &[u32], staged: &[Staged]) -> Vec<(u32, Span)> {
    peers.iter().copied().zip(spans(staged)).collect()
}

/// Bytes of the parts of a rank: at the root those of one part, elsewhere its own.
fn piece(own: Option<&Buffer>, parts: &Parts) -> Option<u64> {
    parts.0.first().or(own).map(Buffer::bytes)
}

/// Every rank's `own` goes to its part at the root.
fn gathered(
    p: &Process,
    comm: &Rc<Communicator>,
    (start, alike): (Start, Alike),
    part: Part,
    own: Option<Buffer>,
    parts: Parts,
) -> Done {
    let (peers, rank) = (peers(comm), comm.rank as usize);
    p.collectively(comm, start, alike, move |view| {
        let (own, parts, peers) = (own.clone(), parts.clone(), peers.clone());
        async move {
            let mine = own.as_ref().map(|own| own.source(false));
            let span = mine.as_ref().map_or(NOTHING, |mine| mine.span);
            match part {
                Part::Root(root) => {
                    let into = parts.targets();
                    // In place: the root's own part is where it belongs.
                    let span = if mine.is_some() { span } else { into[rank].span };
                    view.gatherv(root, span, &spans(&into)).await?;
                    let others = into.iter().enumerate().filter(|(place, _)| mine.is_some() || *place != rank);
                    others.for_each(|(_, part)| part.land());
                }
                Part::Other(root) => view.gatherv(root, span, &[]).await?,
                Part::RootBetween => {
                    let into = parts.targets();
                    view.exchange_with(&[], &with(&peers, &into)).await?;
                    into.iter().for_each(Staged::land);
                }
                Part::With(root) => view.exchange_with(&[(root, span)], &[]).await?,
                Part::Aside => {}
            }
            Ok(())
        }
    })
}

/// The data that a rank with a root moves: of the root, all parts but its own.
fn moved(part: Part, own: Option<&Buffer>, parts: &Parts, rank: u32) -> Alike {
    rooted(part, None).moving(if is_root(part) { parts.beyond(rank) } else { own.map_or(0, Buffer::bytes) })
}

fn is_root(part: Part) -> bool {
    matches!(part, Part::Root(_) | Part::RootBetween)
}

/// The data that a rank gives or takes: nothing in place, at the root of another side, or aside.
fn own(p: &Process, part: Part, (at, count, datatype): (Address, i64, Handle)) -> Done<Option<Buffer>> {
    let none = matches!(part, Part::Aside | Part::RootBetween) || (at == IN_PLACE && matches!(part, Part::Root(_)));
    if none { Ok(None) } else { p.buffer(at, count, datatype).map(Some) }
}

pub(crate) fn gather(
    p: &Process,
    start: Start,
    sendbuf: Address,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Handle,
    root: c_int,
    comm: Handle,
) -> Done {
    let comm = p.comm(comm)?;
    let part = part(&comm, root)?;
    if matches!(part, Part::Root(_)) {
        apart(sendbuf, recvbuf, recvcount)?;
    }
    let mine = own(p, part, (sendbuf, sendcount, sendtype))?;
    let ranks = comm.peers();
    let parts = if is_root(part) { Parts::equal(p, recvbuf, recvcount, recvtype, ranks)? } else { Parts::none() };
    let alike = rooted(part, piece(mine.as_ref(), &parts));
    gathered(p, &comm, (start, alike), part, mine, parts)
}

pub(crate) fn gatherv(
    p: &Process,
    start: Start,
    sendbuf: Address,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: Address,
    recvcounts: Ints,
    displs: Ints,
    recvtype: Handle,
    root: c_int,
    comm: Handle,
) -> Done {
    let comm = p.comm(comm)?;
    let part = part(&comm, root)?;
    let mine = own(p, part, (sendbuf, sendcount, sendtype))?;
    let counted = || Parts::counted(p, recvbuf, (recvcounts, displs), recvtype, comm.peers());
    let parts = if is_root(part) { counted()? } else { Parts::none() };
    parts.apart(mine.as_ref())?;
    gathered(p, &comm, (start, moved(part, mine.as_ref(), &parts, comm.rank)), part, mine, parts)
}

/// Each part at the root goes to its rank's `own`.
fn scattered(
    p: &Process,
    comm: &Rc<Communicator>,
    (start, alike): (Start, Alike),
    part: Part,
    own: Option<Buffer>,
    parts: Parts,
) -> Done {
    let (peers, rank) = (peers(comm), comm.rank as usize);
    p.collectively(comm, start, alike, move |view| {
        let (own, parts, peers) = (own.clone(), parts.clone(), peers.clone());
        async move {
            let into = own.as_ref().map(|own| own.target(false));
            let span = into.as_ref().map_or(NOTHING, |into| into.span);
            match part {
                Part::Root(root) => {
                    let from = parts.sources();
                    let span = if into.is_some() { span } else { from[rank].span };
                    view.scatterv(root, &spans(&from), span).await?;
                }
                Part::Other(root) => view.scatterv(root, &[], span).await?,
                Part::RootBetween => {
                    let from = parts.sources();
                    view.exchange_with(&with(&peers, &from), &[]).await?;
                }
                Part::With(root) => view.exchange_with(&[], &[(root, span)]).await?,
                Part::Aside => {}
            }
            into.iter().for_each(Staged::land);
            Ok(())
        }
    })
}

pub(crate) fn scatter(
    p: &Process,
    start: Start,
    sendbuf: Address,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Handle,
    root: c_int,
    comm: Handle,
) -> Done {
    let comm = p.comm(comm)?;
    let part = part(&comm, root)?;
    if matches!(part, Part::Root(_)) {
        apart(sendbuf, recvbuf, sendcount)?;
    }
    let mine = own(p, part, (recvbuf, recvcount, recvtype))?;
    let ranks = comm.peers();
    let parts = if is_root(part) { Parts::equal(p, sendbuf, sendcount, sendtype, ranks)? } else { Parts::none() };
    let alike = rooted(part, piece(mine.as_ref(), &parts));
    scattered(p, &comm, (start, alike), part, mine, parts)
}

pub(crate) fn scatterv(
    p: &Process,
    start: Start,
    sendbuf: Address,
    sendcounts: Ints,
    displs: Ints,
    sendtype: Handle,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Handle,
    root: c_int,
    comm: Handle,
) -> Done {
    let comm = p.comm(comm)?;
    let part = part(&comm, root)?;
    let mine = own(p, part, (recvbuf, recvcount, recvtype))?;
    let counted = || Parts::counted(p, sendbuf, (sendcounts, displs), sendtype, comm.peers());
    let parts = if is_root(part) { counted()? } else { Parts::none() };
    parts.apart(mine.as_ref())?;
    scattered(p, &comm, (start, moved(part, mine.as_ref(), &parts, comm.rank)), part, mine, parts)
}

/// Every rank's `own` goes to its part everywhere.
fn spread(p: &Process, comm: &Rc<Communicator>, start: Start, own: Option<Buffer>, parts: Parts) -> Done {
    let (peers, rank, between) = (peers(comm), comm.rank as usize, comm.remote.is_some());
    check(own.is_some() || !between, c::MPI_ERR_BUFFER, || "MPI_IN_PLACE is not for intercommunicators".to_owned())?;
    // All give to all: each has the same parts.
    let alike = unless(between, || parts.0.iter().map(Buffer::bytes).sum()).moving(parts.beyond(comm.rank));
    p.collectively(comm, start, alike, move |view| {
        let (own, parts, peers) = (own.clone(), parts.clone(), peers.clone());
        async move {
            let mine = own.as_ref().map(|own| own.source(false));
            if between {
                let into = parts.targets();
                let sends: Vec<_> =
                    peers.iter().map(|&peer| (peer, mine.as_ref().map_or(NOTHING, |m| m.span))).collect();
                view.exchange_with(&sends, &with(&peers, &into)).await?;
                into.iter().for_each(Staged::land);
                return Ok(());
            }
            let mut into = parts.targets();
            if mine.is_none() {
                into[rank] = parts.0[rank].both(false);
            }
            let span = mine.as_ref().map_or(into[rank].span, |mine| mine.span);
            view.allgatherv(span, &spans(&into)).await?;
            into.iter().for_each(Staged::land);
            Ok(())
        }
    })
}

/// A length that all ranks of one group give alike, and those of two do not.
pub(crate) fn unless(between: bool, bytes: impl FnOnce() -> u64) -> Alike {
    if between { Alike::default() } else { Alike::bytes(bytes()) }
}

/// The data that a rank gives to all, unless it lies in its place.
fn given(p: &Process, at: Address, count: i64, datatype: Handle) -> Done<Option<Buffer>> {
    if at == IN_PLACE { Ok(None) } else { p.buffer(at, count, datatype).map(Some) }
}

pub(crate) fn allgather(
    p: &Process,
    start: Start,
    sendbuf: Address,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
) -> Done {
    let comm = p.comm(comm)?;
    apart(sendbuf, recvbuf, recvcount)?;
    let mine = given(p, sendbuf, sendcount, sendtype)?;
    let whole = p.buffer(recvbuf, recvcount.max(0) * i64::from(comm.peers()), recvtype)?;
    let row = whole.of.datatype.regular(whole.count).is_some_and(|run| run.count == 1);
    if comm.remote.is_some() || !row {
        let parts = Parts::equal(p, recvbuf, recvcount, recvtype, comm.peers())?;
        return spread(p, &comm, start, mine, parts);
    }
    let own = whole.part(i64::from(comm.rank) * recvcount, recvcount);
    mine.as_ref().map_or(Ok(()), |mine| apart(mine.at, own.at, recvcount))?;
    let alike = Alike::bytes(whole.bytes());
    p.collectively(&comm, start, alike, move |view| {
        let (mine, own, whole) = (mine.clone(), own.clone(), whole.clone());
        async move {
            let from = mine.as_ref().unwrap_or(&own).source(false);
            view.allgather(from.span, whole.target(true).span).await?;
            Ok(())
        }
    })
}

pub(crate) fn allgatherv(
    p: &Process,
    start: Start,
    sendbuf: Address,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: Address,
    recvcounts: Ints,
    displs: Ints,
    recvtype: Handle,
    comm: Handle,
) -> Done {
    let comm = p.comm(comm)?;
    let mine = given(p, sendbuf, sendcount, sendtype)?;
    let parts = Parts::counted(p, recvbuf, (recvcounts, displs), recvtype, comm.peers())?;
    parts.apart(mine.as_ref())?;
    spread(p, &comm, start, mine, parts)
}

/// Part `i` of `from` goes to rank `i`; `None`: the data in `into`.
fn exchanged(
    p: &Process,
    comm: &Rc<Communicator>,
    (start, alike): (Start, Alike),
    from: Option<Parts>,
    into: Parts,
) -> Done {
    let (peers, between) = (peers(comm), comm.remote.is_some());
    let sent = from.as_ref().map_or(0, |from| from.beyond(comm.rank));
    for (from, into) in from.iter().flat_map(|from| from.0.iter().zip(&into.0)) {
        apart(from.at, into.at, into.bytes() as i64)?;
    }
    let alike = alike.moving(sent.max(into.beyond(comm.rank)));
    check(from.is_some() || !between, c::MPI_ERR_BUFFER, || "MPI_IN_PLACE is not for intercommunicators".to_owned())?;
    p.collectively(comm, start, alike, move |view| {
        let (from, into, peers) = (from.clone(), into.clone(), peers.clone());
        async move {
            let from = from.as_ref().map_or_else(|| into.copies(), Parts::sources);
            let into = into.targets();
            if between {
                view.exchange_with(&with(&peers, &from), &with(&peers, &into)).await?;
            } else {
                view.alltoallv(&spans(&from), &spans(&into)).await?;
            }
            into.iter().for_each(Staged::land);
            Ok(())
        }
    })
}

pub(crate) fn alltoall(
    p: &Process,
    start: Start,
    sendbuf: Address,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
) -> Done {
    let comm = p.comm(comm)?;
    apart(sendbuf, recvbuf, recvcount)?;
    let ranks = comm.peers();
    let in_place = sendbuf == IN_PLACE;
    let from = (!in_place).then(|| Parts::equal(p, sendbuf, sendcount, sendtype, ranks)).transpose()?;
    let into = Parts::equal(p, recvbuf, recvcount, recvtype, ranks)?;
    let alike = unless(comm.remote.is_some(), || piece(None, &into).unwrap_or(0));
    exchanged(p, &comm, (start, alike), from, into)
}

pub(crate) fn alltoallv(
    p: &Process,
    start: Start,
    sendbuf: Address,
    sendcounts: Ints,
    sdispls: Ints,
    sendtype: Handle,
    recvbuf: Address,
    recvcounts: Ints,
    rdispls: Ints,
    recvtype: Handle,
    comm: Handle,
) -> Done {
    let comm = p.comm(comm)?;
    let ranks = comm.peers();
    let from = || Parts::counted(p, sendbuf, (sendcounts, sdispls), sendtype, ranks);
    let from = (sendbuf != IN_PLACE).then(from).transpose()?;
    exchanged(
        p,
        &comm,
        (start, Alike::default()),
        from,
        Parts::counted(p, recvbuf, (recvcounts, rdispls), recvtype, ranks)?,
    )
}

pub(crate) fn alltoallw(
    p: &Process,
    start: Start,
    sendbuf: Address,
    sendcounts: Ints,
    sdispls: Ints,
    sendtypes: In<Handle>,
    recvbuf: Address,
    recvcounts: Ints,
    rdispls: Ints,
    recvtypes: In<Handle>,
    comm: Handle,
) -> Done {
    let comm = p.comm(comm)?;
    let ranks = comm.peers();
    let from = || Parts::typed(p, sendbuf, (sendcounts, sdispls), sendtypes, ranks);
    let from = (sendbuf != IN_PLACE).then(from).transpose()?;
    exchanged(
        p,
        &comm,
        (start, Alike::default()),
        from,
        Parts::typed(p, recvbuf, (recvcounts, rdispls), recvtypes, ranks)?,
    )
}
