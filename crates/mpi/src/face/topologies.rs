//! Grids and graphs of ranks.

use super::communicators::{name_split, split};
use crate::abi::Handle;
use crate::failure::{Done, check, fail, failure};
use crate::pointer::{In, Out};
use crate::process::Process;
use crate::process::communicator::{Communicator, Topology};
use hotlink_message::words::{gathered, largest};
use hotlink_standard::constants as c;
use hotlink_standard::{Cart, Given, Graph, Neighbors, balanced};
use std::ffi::c_int;
use std::rc::Rc;

fn list(count: c_int, numbers: In<c_int>) -> Done<Vec<i64>> {
    check(count >= 0, c::MPI_ERR_ARG, || format!("{count} of something: it must be at least 0"))?;
    Ok(numbers.list(count as usize)?.into_iter().map(i64::from).collect())
}

fn narrow(numbers: &[i64]) -> Vec<c_int> {
    numbers.iter().map(|&number| number as c_int).collect()
}

fn rank_or_nobody(rank: Option<i64>) -> c_int {
    rank.map_or(c::MPI_PROC_NULL, |rank| rank as c_int)
}

/// The first `nodes` ranks with a topology; the others get nothing.
fn first(p: &Process, old: &Communicator, nodes: i64, topology: Topology, given: Given, new: Out<Handle>) -> Done {
    let fits = nodes <= i64::from(old.size());
    check(fits, c::MPI_ERR_DIMS, || format!("{nodes} ranks where the communicator has {}", old.size()))?;
    let inside = i64::from(old.rank) < nodes;
    name_split(p, split(p, old, inside.then_some(0), i64::from(old.rank), Some(topology), given)?, new)
}

pub(crate) fn cart_create(
    p: &Process,
    comm_old: Handle,
    ndims: c_int,
    dims: In<c_int>,
    periods: In<c_int>,
    reorder: c_int,
    comm_cart: Out<Handle>,
) -> Done {
    comm_cart.set(c::MPI_COMM_NULL);
    let old = p.intracomm(comm_old)?;
    let cart = Cart { dims: list(ndims, dims)?, periods: list(ndims, periods)?.iter().map(|&p| p != 0).collect() };
    let nodes = cart.ranks().ok_or_else(|| failure(c::MPI_ERR_DIMS, "a dimension must be at least 1"))?;
    let rings: Vec<i64> = cart.periods.iter().map(|&ring| ring.into()).collect();
    let reorder = [i64::from(reorder != 0)];
    let given = Given::to("MPI_Cart_create", &[("dims", &cart.dims), ("periods", &rings), ("reorder", &reorder)]);
    first(p, &old, nodes, Topology::Cart(cart), given, comm_cart)
}

pub(crate) fn cart_map(
    p: &Process,
    comm: Handle,
    ndims: c_int,
    dims: In<c_int>,
    _periods: In<c_int>,
    newrank: Out<c_int>,
) -> Done {
    let old = p.intracomm(comm)?;
    let cart = Cart { dims: list(ndims, dims)?, periods: Vec::new() };
    let nodes = cart.ranks().ok_or_else(|| failure(c::MPI_ERR_DIMS, "a dimension must be at least 1"))?;
    check(nodes <= i64::from(old.size()), c::MPI_ERR_DIMS, || format!("{nodes} ranks of {}", old.size()))?;
    newrank.set(if i64::from(old.rank) < nodes { old.rank as c_int } else { c::MPI_UNDEFINED });
    Ok(())
}

fn cart(comm: &Communicator) -> Done<&Cart> {
    if let Some(Topology::Cart(cart)) = &comm.topology {
        Ok(cart)
    } else {
        fail(c::MPI_ERR_TOPOLOGY, "the communicator is no grid")
    }
}

pub(crate) fn cartdim_get(p: &Process, comm: Handle, ndims: Out<c_int>) -> Done {
    ndims.set(cart(&*p.comm(comm)?)?.dims.len() as c_int);
    Ok(())
}

pub(crate) fn cart_get(
    p: &Process,
    comm: Handle,
    maxdims: c_int,
    dims: Out<c_int>,
    periods: Out<c_int>,
    coords: Out<c_int>,
) -> Done {
    let comm = p.comm(comm)?;
    let cart = cart(&comm)?;
    let fits = maxdims >= 0 && cart.dims.len() <= maxdims as usize;
    check(fits, c::MPI_ERR_ARG, || format!("room for {maxdims} of {} dimensions", cart.dims.len()))?;
    dims.fill(&narrow(&cart.dims));
    periods.fill(&cart.periods.iter().map(|&ring| c_int::from(ring)).collect::<Vec<_>>());
    coords.fill(&narrow(&cart.coordinates(i64::from(comm.rank))));
    Ok(())
}

pub(crate) fn cart_coords(p: &Process, comm: Handle, rank: c_int, maxdims: c_int, coords: Out<c_int>) -> Done {
    let comm = p.comm(comm)?;
    let (cart, rank) = (cart(&comm)?, i64::from(comm.ranked(rank)?));
    let fits = maxdims >= 0 && cart.dims.len() <= maxdims as usize;
    check(fits, c::MPI_ERR_ARG, || format!("room for {maxdims} of {} dimensions", cart.dims.len()))?;
    coords.fill(&narrow(&cart.coordinates(rank)));
    Ok(())
}

pub(crate) fn cart_rank(p: &Process, comm: Handle, coords: In<c_int>, rank: Out<c_int>) -> Done {
    let comm = p.comm(comm)?;
    let cart = cart(&comm)?;
    let coordinates = list(cart.dims.len() as c_int, coords)?;
    let found = cart.rank(&coordinates);
    let wrong = || failure(c::MPI_ERR_ARG, format!("coordinates {coordinates:?} are beyond the grid {:?}", cart.dims));
    rank.set(found.ok_or_else(wrong)? as c_int);
    Ok(())
}

pub(crate) fn cart_shift(
    p: &Process,
    comm: Handle,
    direction: c_int,
    disp: c_int,
    source: Out<c_int>,
    dest: Out<c_int>,
) -> Done {
    let comm = p.comm(comm)?;
    let cart = cart(&comm)?;
    let known = direction >= 0 && (direction as usize) < cart.dims.len();
    check(known, c::MPI_ERR_ARG, || format!("direction {direction} of {} dimensions", cart.dims.len()))?;
    let (before, behind) = cart.shifted(i64::from(comm.rank), direction as usize, i64::from(disp));
    source.set(rank_or_nobody(before));
    dest.set(rank_or_nobody(behind));
    Ok(())
}

pub(crate) fn cart_sub(p: &Process, comm: Handle, remain_dims: In<c_int>, newcomm: Out<Handle>) -> Done {
    let comm = p.comm(comm)?;
    let cart = cart(&comm)?;
    let remain: Vec<bool> = remain_dims.list(cart.dims.len())?.into_iter().map(|remains| remains != 0).collect();
    let (sub, color, key) = cart.sub(i64::from(comm.rank), &remain);
    let given =
        Given::to("MPI_Cart_sub", &[("remain", &remain.iter().map(|&remains| remains.into()).collect::<Vec<_>>())]);
    name_split(p, split(p, &comm, Some(color), key, Some(Topology::Cart(sub)), given)?, newcomm)
}

pub(crate) fn dims_create(_p: &Process, nnodes: c_int, ndims: c_int, dims: Out<c_int>) -> Done {
    check(ndims >= 0, c::MPI_ERR_DIMS, || format!("{ndims} dimensions"))?;
    let given: Vec<i64> = dims.list("dims", ndims as usize)?.into_iter().map(i64::from).collect();
    if given.is_empty() && nnodes == 1 {
        return Ok(());
    }
    let wrong = || failure(c::MPI_ERR_DIMS, format!("{nnodes} ranks cannot be a grid of {given:?}"));
    dims.fill(&narrow(&balanced(i64::from(nnodes), &given).ok_or_else(wrong)?));
    Ok(())
}

pub(crate) fn topo_test(p: &Process, comm: Handle, status: Out<c_int>) -> Done {
    status.set(match p.comm(comm)?.topology {
        Some(Topology::Cart(_)) => c::MPI_CART,
        Some(Topology::Graph(_)) => c::MPI_GRAPH,
        Some(Topology::Distributed(_)) => c::MPI_DIST_GRAPH,
        None => c::MPI_UNDEFINED,
    });
    Ok(())
}

fn given_graph(nnodes: c_int, indx: In<c_int>, edges: In<c_int>) -> Done<Graph> {
    let index = list(nnodes, indx)?;
    let edges = list(index.last().copied().unwrap_or(0) as c_int, edges)?;
    let graph = Graph { index, edges };
    let sound = graph.is_sound(i64::from(nnodes));
    check(sound, c::MPI_ERR_ARG, || "the index must rise, and edges lead to nodes".to_owned())?;
    Ok(graph)
}

pub(crate) fn graph_create(
    p: &Process,
    comm_old: Handle,
    nnodes: c_int,
    indx: In<c_int>,
    edges: In<c_int>,
    reorder: c_int,
    comm_graph: Out<Handle>,
) -> Done {
    let old = p.intracomm(comm_old)?;
    let graph = given_graph(nnodes, indx, edges)?;
    let reorder = [i64::from(reorder != 0)];
    let given =
        Given::to("MPI_Graph_create", &[("index", &graph.index), ("edges", &graph.edges), ("reorder", &reorder)]);
    first(p, &old, i64::from(nnodes), Topology::Graph(graph), given, comm_graph)
}

pub(crate) fn graph_map(
    p: &Process,
    comm: Handle,
    nnodes: c_int,
    indx: In<c_int>,
    edges: In<c_int>,
    newrank: Out<c_int>,
) -> Done {
    let old = p.intracomm(comm)?;
    given_graph(nnodes, indx, edges)?;
    check(nnodes as u32 <= old.size(), c::MPI_ERR_ARG, || format!("{nnodes} ranks of {}", old.size()))?;
    newrank.set(if (old.rank as c_int) < nnodes { old.rank as c_int } else { c::MPI_UNDEFINED });
    Ok(())
}

fn graph(comm: &Communicator) -> Done<&Graph> {
    match &comm.topology {
        Some(Topology::Graph(graph)) => Ok(graph),
        _ => fail(c::MPI_ERR_TOPOLOGY, "the communicator is no graph"),
    }
}

pub(crate) fn graphdims_get(p: &Process, comm: Handle, nnodes: Out<c_int>, nedges: Out<c_int>) -> Done {
    let comm = p.comm(comm)?;
    let graph = graph(&comm)?;
    nnodes.set(graph.index.len() as c_int);
    nedges.set(graph.edges.len() as c_int);
    Ok(())
}

pub(crate) fn graph_get(
    p: &Process,
    comm: Handle,
    maxindex: c_int,
    maxedges: c_int,
    indx: Out<c_int>,
    edges: Out<c_int>,
) -> Done {
    let comm = p.comm(comm)?;
    let graph = graph(&comm)?;
    let most = |numbers: &[i64], room: c_int| narrow(&numbers[..numbers.len().min(room.max(0) as usize)]);
    indx.fill(&most(&graph.index, maxindex));
    edges.fill(&most(&graph.edges, maxedges));
    Ok(())
}

pub(crate) fn graph_neighbors_count(p: &Process, comm: Handle, rank: c_int, nneighbors: Out<c_int>) -> Done {
    let comm = p.comm(comm)?;
    nneighbors.set(graph(&comm)?.neighbors(i64::from(comm.ranked(rank)?)).len() as c_int);
    Ok(())
}

pub(crate) fn graph_neighbors(p: &Process, comm: Handle, rank: c_int, most: c_int, neighbors: Out<c_int>) -> Done {
    let comm = p.comm(comm)?;
    let all = graph(&comm)?.neighbors(i64::from(comm.ranked(rank)?)).to_vec();
    neighbors.fill(&narrow(&all[..all.len().min(most.max(0) as usize)]));
    Ok(())
}

/// Weights: one for each edge, or none given.
fn weights(count: usize, weights: In<c_int>) -> Done<(Vec<i64>, bool)> {
    let (all, given) = match weights.address() {
        c::MPI_UNWEIGHTED => (vec![1; count], false),
        c::MPI_WEIGHTS_EMPTY => (vec![1; count], true),
        _ => (weights.list(count)?.into_iter().map(i64::from).collect(), true),
    };
    match all.iter().find(|&&weight| weight < 0) {
        None => Ok((all, given)),
        Some(weight) => fail(c::MPI_ERR_ARG, format!("weight {weight}: it must be at least 0")),
    }
}

fn distributed(
    p: &Process,
    name: &'static str,
    old: &Communicator,
    neighbors: Neighbors,
    reorder: c_int,
    new: Out<Handle>,
) -> Done {
    let known =
        |edge: &(i64, i64)| edge.0 < i64::from(old.size()) && (edge.0 >= 0 || edge.0 == i64::from(c::MPI_PROC_NULL));
    let sound = neighbors.sources.iter().chain(&neighbors.destinations).all(known);
    check(sound, c::MPI_ERR_RANK, || format!("an edge must lead to 0 to {}", old.size() - 1))?;
    let words = [neighbors.weighted, reorder != 0].map(i64::from);
    let given = Given::to(name, &[("weights", &words[..1]), ("reorder", &words[1..])]);
    let made = split(p, old, Some(0), i64::from(old.rank), Some(Topology::Distributed(neighbors)), given)?;
    new.set(made.map_or(c::MPI_COMM_NULL, |made| p.comms.add(Rc::new(made))));
    Ok(())
}

pub(crate) fn dist_graph_create_adjacent(
    p: &Process,
    comm_old: Handle,
    indegree: c_int,
    sources: In<c_int>,
    sourceweights: In<c_int>,
    outdegree: c_int,
    destinations: In<c_int>,
    destweights: In<c_int>,
    _info: Handle,
    reorder: c_int,
    comm_dist_graph: Out<Handle>,
) -> Done {
    let old = p.intracomm(comm_old)?;
    let (sources, destinations) = (list(indegree, sources)?, list(outdegree, destinations)?);
    let (inward, weighted) = weights(sources.len(), sourceweights)?;
    let (outward, _) = weights(destinations.len(), destweights)?;
    let neighbors = Neighbors {
        sources: sources.into_iter().zip(inward).collect(),
        destinations: destinations.into_iter().zip(outward).collect(),
        weighted,
    };
    distributed(p, "MPI_Dist_graph_create_adjacent", &old, neighbors, reorder, comm_dist_graph)
}

/// Every rank sends all the edges that it knows, and takes its own.
pub(crate) fn dist_graph_create(
    p: &Process,
    comm_old: Handle,
    n: c_int,
    sources: In<c_int>,
    degrees: In<c_int>,
    destinations: In<c_int>,
    given: In<c_int>,
    _info: Handle,
    reorder: c_int,
    comm_dist_graph: Out<Handle>,
) -> Done {
    let (world, old) = (p.world()?, p.intracomm(comm_old)?);
    let (sources, degrees) = (list(n, sources)?, list(n, degrees)?);
    check(degrees.iter().all(|&degree| degree >= 0), c::MPI_ERR_ARG, || "a degree is below 0".to_owned())?;
    let count: i64 = degrees.iter().sum();
    let destinations = list(count as c_int, destinations)?;
    let (weights, weighted) = weights(count as usize, given)?;
    let from = sources.iter().zip(&degrees).flat_map(|(&source, &degree)| vec![source; degree as usize]);
    let edges: Vec<[i64; 3]> = from
        .zip(destinations)
        .zip(weights)
        .map(|((source, destination), weight)| [source, destination, weight])
        .collect();
    let all = world.block_on(async {
        let most = largest(&old.view, &[edges.len() as i64, i64::from(weighted)]).await?;
        // Lists of one length: a missing entry is an edge to no rank.
        let mut words = edges.concat();
        words.resize(3 * most[0].max(1) as usize, -1);
        let mut all: Vec<[i64; 3]> = Vec::new();
        for list in gathered(&old.view, &words).await? {
            all.extend(list.as_chunks::<3>().0.iter().filter(|edge| **edge != [-1, -1, -1]));
        }
        Ok::<_, hotlink_message::Error>((all, most[1] != 0))
    })?;
    let rank = i64::from(old.rank);
    let neighbors = Neighbors {
        sources: all.0.iter().filter(|edge| edge[1] == rank).map(|edge| (edge[0], edge[2])).collect(),
        destinations: all.0.iter().filter(|edge| edge[0] == rank).map(|edge| (edge[1], edge[2])).collect(),
        weighted: all.1,
    };
    distributed(p, "MPI_Dist_graph_create", &old, neighbors, reorder, comm_dist_graph)
}

fn neighbors(comm: &Communicator) -> Done<&Neighbors> {
    match &comm.topology {
        Some(Topology::Distributed(neighbors)) => Ok(neighbors),
        _ => fail(c::MPI_ERR_TOPOLOGY, "the communicator is no distributed graph"),
    }
}

pub(crate) fn dist_graph_neighbors_count(
    p: &Process,
    comm: Handle,
    indegree: Out<c_int>,
    outdegree: Out<c_int>,
    weighted: Out<c_int>,
) -> Done {
    let comm = p.comm(comm)?;
    let known = neighbors(&comm)?;
    indegree.set(known.sources.len() as c_int);
    outdegree.set(known.destinations.len() as c_int);
    weighted.set(c_int::from(known.weighted));
    Ok(())
}

pub(crate) fn dist_graph_neighbors(
    p: &Process,
    comm: Handle,
    maxindegree: c_int,
    sources: Out<c_int>,
    sourceweights: Out<c_int>,
    maxoutdegree: c_int,
    destinations: Out<c_int>,
    destweights: Out<c_int>,
) -> Done {
    let comm = p.comm(comm)?;
    let known = neighbors(&comm)?;
    let marks = [c::MPI_UNWEIGHTED, c::MPI_WEIGHTS_EMPTY];
    let write = |edges: &[(i64, i64)], room: c_int, ranks: Out<c_int>, weights: Out<c_int>| {
        for (place, edge) in edges.iter().take(room.max(0) as usize).enumerate() {
            ranks.put(place, edge.0 as c_int);
            if known.weighted && !marks.contains(&weights.address()) {
                weights.put(place, edge.1 as c_int);
            }
        }
    };
    write(&known.sources, maxindegree, sources, sourceweights);
    write(&known.destinations, maxoutdegree, destinations, destweights);
    Ok(())
}
