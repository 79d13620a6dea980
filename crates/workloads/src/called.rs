//! The bounds of the collectives that a program called on a simulated fabric, of all ranks or of some.

use hotlink_bench::Which;
use hotlink_bound::Bound;
use hotlink_bound::network::{barrier_port, by_devices, reduced};
use hotlink_fabric::network::Node;
use hotlink_sim::Plan;
use hotlink_sim::port::Adapter;
use hotlink_study::bound::program::Moved;
use hotlink_study::options::Rates;
use std::collections::BTreeMap;

/// A collective as a program called it.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The function of MPI.
    pub name: &'a str,
    /// The ranks of the communicator.
    pub ranks: &'a [u32],
    /// The place of the root among them.
    pub root: Option<u32>,
    /// Bytes that all of them gave alike: of one part, or of all parts of an allgather or a reduce-scatter.
    pub bytes: Option<u64>,
    /// Where lengths may differ: bytes that the busiest rank sent to others or received from them.
    pub moved: Option<f64>,
    /// Ranks used a network that the fabric has for it.
    pub by_hardware: bool,
}

impl Call<'_> {
    /// Bytes of one rank's part.
    pub fn part(&self) -> Option<u64> {
        match known(self.name) {
            Some(Known::Alike(Which::Allgather | Which::ReduceScatter)) => {
                self.bytes.map(|bytes| bytes / self.ranks.len().max(1) as u64)
            }
            _ => self.bytes,
        }
    }
}

/// What is known of a function: its bound for parts of one length, or that lengths differ.
enum Known {
    Alike(Which),
    Uneven,
}

/// The function without what does not change its bound: whether it returns at once, or is started later.
fn known(name: &str) -> Option<Known> {
    let plain = name.strip_prefix("MPI_")?;
    let plain = plain.strip_suffix("_c").unwrap_or(plain);
    let plain = plain.strip_suffix("_init").unwrap_or(plain).to_lowercase();
    Some(match plain.strip_prefix('i').unwrap_or(&plain) {
        "barrier" => Known::Alike(Which::Barrier),
        "bcast" => Known::Alike(Which::Bcast),
        "reduce" => Known::Alike(Which::Reduce),
        "allreduce" => Known::Alike(Which::Allreduce),
        "allgather" => Known::Alike(Which::Allgather),
        "alltoall" => Known::Alike(Which::Alltoall),
        "gather" => Known::Alike(Which::Gather),
        "scatter" => Known::Alike(Which::Scatter),
        "reduce_scatter_block" => Known::Alike(Which::ReduceScatter),
        "gatherv" | "scatterv" | "allgatherv" | "alltoallv" | "alltoallw" | "reduce_scatter" => Known::Uneven,
        _ => return None,
    })
}

/// The fabric that a program ran on, and where its ranks were.
#[derive(Clone, Copy)]
pub struct Ground<'a, 'p> {
    /// The network.
    pub plan: &'a Plan<'p>,
    /// The nodes' adapters.
    pub adapter: &'a Adapter,
    /// The node of each rank; none: that of its number.
    pub places: &'a [u32],
}

/// What `hotlink run --on` runs by: the simulation's own.
const CAPACITIES: Rates = Rates::Theoretical;

impl Ground<'_, '_> {
    /// What one call cannot beat, from the first rank that enters to the last that leaves; or why nothing is known.
    ///
    /// # Errors
    /// In words.
    pub fn least(&self, called: &Call<'_>) -> Result<Bound, String> {
        let none = |why: &str| Err(why.to_owned());
        let node = |rank: &u32| self.places.get(*rank as usize).copied().unwrap_or(*rank);
        let mut sharing = BTreeMap::<u32, u64>::new();
        called.ranks.iter().for_each(|rank| *sharing.entry(node(rank)).or_default() += 1);
        let Some(known) = known(called.name) else { return none("no bound is known for this collective") };
        if called.ranks.len() == 1 {
            return none("a single rank");
        }
        if sharing.len() == 1 {
            return none("all its ranks are on one node");
        }
        match known {
            Known::Alike(which) => self.alike(called, which, &sharing),
            Known::Uneven if sharing.len() < called.ranks.len() => none("lengths may differ, and ranks share nodes"),
            Known::Uneven => self.uneven(called, &sharing),
        }
    }

    fn alike(&self, called: &Call<'_>, which: Which, sharing: &BTreeMap<u32, u64>) -> Result<Bound, String> {
        let none = |why: &str| Err(why.to_owned());
        let spec = &self.plan.fabric.spec;
        let size = match (which, called.part()) {
            (Which::Barrier, _) => 0,
            (_, Some(bytes)) => bytes,
            (_, None) => return none("between two groups, or of lengths that differ"),
        };
        if which != Which::Barrier && size == 0 {
            return none("nothing is moved");
        }
        let nodes: Vec<u32> = sharing.keys().copied().collect();
        if called.by_hardware {
            return match (which, spec.barrier(), spec.reduction()) {
                (Which::Barrier, Some(own), _) => Ok(barrier_port(own)),
                (Which::Reduce | Which::Allreduce, _, Some(own)) => reduced(own, nodes.len() as u32, size),
                _ => none("no bound is known for it on the fabric's own network"),
            };
        }
        let root = called.root.and_then(|place| called.ranks.get(place as usize)).unwrap_or(&called.ranks[0]);
        let root = self.places.get(*root as usize).copied().unwrap_or(*root);
        let size = which.of_nodes(size, sharing.values().copied().min().unwrap_or(1));
        let bytes = which.moved(size as f64, nodes.len() as f64);
        let root = nodes.iter().position(|&node| node == root).unwrap_or(0);
        let moved = Moved { which, nodes: &nodes, root, size, bytes, capacities: CAPACITIES, seed: 1 };
        moved.least(self.adapter, self.plan)
    }

    /// With lengths that differ, the bytes of the busiest rank by all paths of its node. Which ranks depend on each
    /// other is not known.
    fn uneven(&self, called: &Call<'_>, sharing: &BTreeMap<u32, u64>) -> Result<Bound, String> {
        let Some(moved) = called.moved else { return Err("between two groups".to_owned()) };
        if moved == 0.0 {
            return Err("nothing is moved".to_owned());
        }
        let fabric = self.plan.fabric;
        // In how many messages it goes is not known either.
        let efficiency = fabric.spec.packet().full_efficiency(1.0);
        // Nor whether the busiest rank sends or receives.
        let of_node = |&node: &u32| {
            let out = fabric.injection_at_mbps(Node(node), CAPACITIES.into(), efficiency)?;
            Some(out.max(fabric.reception_at_mbps(Node(node), CAPACITIES.into(), efficiency)?))
        };
        let rates: Option<Vec<f64>> = sharing.keys().map(of_node).collect();
        let Some(mbps) = rates.and_then(|rates| rates.into_iter().reduce(f64::max)) else {
            return Err("what a node's devices carry is not known".to_owned());
        };
        let is =
            "the bytes that the busiest rank must send or receive at what its devices let in or out, whichever is more";
        Ok(by_devices(moved, mbps, is))
    }
}
