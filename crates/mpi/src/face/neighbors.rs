//! Collectives with the neighbours of a topology.

use super::collectives::{IN_PLACE, Parts, spans};
use crate::abi::Handle;
use crate::failure::{Done, check, fail};
use crate::pointer::{Address, In, Ints};
use crate::process::Process;
use crate::process::buffer::Staged;
use crate::process::communicator::{Communicator, Topology};
use crate::process::request::Start;
use hotlink_port::Span;
use hotlink_standard::Alike;
use hotlink_standard::constants as c;
use std::rc::Rc;

/// The ranks that send to this one and those to which it sends, in the topology's order; `None`: none, beyond an edge.
#[derive(Clone)]
struct Edges {
    from: Vec<Option<u32>>,
    to: Vec<Option<u32>>,
    /// Two for each dimension: below and above.
    is_grid: bool,
}

fn edges(comm: &Communicator) -> Done<Edges> {
    let rank = i64::from(comm.rank);
    let known = |peer: &i64| u32::try_from(*peer).ok();
    Ok(match &comm.topology {
        Some(Topology::Cart(cart)) => {
            let all: Vec<Option<u32>> = cart.neighbors(rank).into_iter().map(|peer| known(&peer?)).collect();
            Edges { from: all.clone(), to: all, is_grid: true }
        }
        Some(Topology::Graph(graph)) => {
            let all: Vec<Option<u32>> = graph.neighbors(rank).iter().map(known).collect();
            Edges { from: all.clone(), to: all, is_grid: false }
        }
        Some(Topology::Distributed(neighbors)) => Edges {
            from: neighbors.sources.iter().map(|source| known(&source.0)).collect(),
            to: neighbors.destinations.iter().map(|destination| known(&destination.0)).collect(),
            is_grid: false,
        },
        None => return fail(c::MPI_ERR_TOPOLOGY, "the communicator has no topology"),
    })
}

/// With those that are there.
fn there(edges: &[Option<u32>], staged: &[Staged]) -> Vec<(u32, Span)> {
    edges.iter().zip(spans(staged)).filter_map(|(peer, span)| Some(((*peer)?, span))).collect()
}

/// The same with the two of each dimension turned round.
fn turned(edges: &[Option<u32>], staged: &[Staged]) -> Vec<(u32, Span)> {
    let all: Vec<(Option<u32>, Span)> = edges.iter().copied().zip(spans(staged)).collect();
    all.chunks(2).flat_map(|pair| pair.iter().rev()).filter_map(|&(peer, span)| Some((peer?, span))).collect()
}

fn exchanged(p: &Process, comm: &Rc<Communicator>, start: Start, edges: Edges, from: Parts, into: Parts) -> Done {
    p.collectively(comm, start, Alike::default(), move |view| {
        let (edges, from, into) = (edges.clone(), from.clone(), into.clone());
        async move {
            let (from, into) = (from.sources(), into.targets());
            // In a grid, data that goes down a dimension arrives from above. Where both neighbours are one rank, data
            // that goes up must go first, since the neighbour takes data from below first.
            let sends = if edges.is_grid { turned(&edges.to, &from) } else { there(&edges.to, &from) };
            view.exchange_with(&sends, &there(&edges.from, &into)).await?;
            // A part that no rank sends stays as it is.
            let came = edges.from.iter().zip(&into).filter(|(peer, _)| peer.is_some());
            came.for_each(|(_, into)| into.land());
            Ok(())
        }
    })
}

fn known(p: &Process, comm: Handle, sendbuf: Address) -> Done<(Rc<Communicator>, Edges)> {
    let comm = p.intracomm(comm)?;
    let edges = edges(&comm)?;
    check(sendbuf != IN_PLACE, c::MPI_ERR_BUFFER, || "MPI_IN_PLACE is not for neighbours".to_owned())?;
    Ok((comm, edges))
}

pub(crate) fn neighbor_allgather(
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
    let (comm, edges) = known(p, comm, sendbuf)?;
    let from = Parts(vec![p.buffer(sendbuf, sendcount, sendtype)?; edges.to.len()]);
    let into = Parts::equal(p, recvbuf, recvcount, recvtype, edges.from.len() as u32)?;
    exchanged(p, &comm, start, edges, from, into)
}

pub(crate) fn neighbor_allgatherv(
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
    let (comm, edges) = known(p, comm, sendbuf)?;
    let from = Parts(vec![p.buffer(sendbuf, sendcount, sendtype)?; edges.to.len()]);
    let into = Parts::counted(p, recvbuf, (recvcounts, displs), recvtype, edges.from.len() as u32)?;
    exchanged(p, &comm, start, edges, from, into)
}

pub(crate) fn neighbor_alltoall(
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
    let (comm, edges) = known(p, comm, sendbuf)?;
    let from = Parts::equal(p, sendbuf, sendcount, sendtype, edges.to.len() as u32)?;
    let into = Parts::equal(p, recvbuf, recvcount, recvtype, edges.from.len() as u32)?;
    exchanged(p, &comm, start, edges, from, into)
}

pub(crate) fn neighbor_alltoallv(
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
    let (comm, edges) = known(p, comm, sendbuf)?;
    let from = Parts::counted(p, sendbuf, (sendcounts, sdispls), sendtype, edges.to.len() as u32)?;
    let into = Parts::counted(p, recvbuf, (recvcounts, rdispls), recvtype, edges.from.len() as u32)?;
    exchanged(p, &comm, start, edges, from, into)
}

pub(crate) fn neighbor_alltoallw(
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
    let (comm, edges) = known(p, comm, sendbuf)?;
    let from = Parts::typed(p, sendbuf, (sendcounts, sdispls), sendtypes, edges.to.len() as u32)?;
    let into = Parts::typed(p, recvbuf, (recvcounts, rdispls), recvtypes, edges.from.len() as u32)?;
    exchanged(p, &comm, start, edges, from, into)
}
