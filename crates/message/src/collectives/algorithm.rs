//! Which algorithms there are for each collective. The cost model picks among them by size and count (`costs`).

use super::costs::Costs;
use hotlink_port::Limits;
use serde::{Deserialize, Serialize};

/// Operations of all ranks of a communicator together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Collective {
    /// No rank goes on before all have come.
    Barrier,
    /// From one to all.
    Bcast,
    /// Combined at one.
    Reduce,
    /// Combined at all.
    Allreduce,
    /// From all to one.
    Gather,
    /// Parts from one to all.
    Scatter,
    /// From all to all, the same.
    Allgather,
    /// From all to all, each its own.
    Alltoall,
    /// Combined, a part at each.
    ReduceScatter,
}

/// Ways to do one. Which collective has which: [`Collective::algorithms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Algorithm {
    /// The fabric's own: [`hotlink_port::Op::Barrier`], [`hotlink_port::Op::Broadcast`],
    /// [`hotlink_port::Op::Reduce`].
    Hardware,
    /// All ranks signal rank 0, which signals all.
    Central,
    /// Combining tree of arity 4, up and down.
    Tree,
    /// ceil(log2 n) rounds, each rank to the one 2^i further on (Hensgen, Finkel and Manber 1988).
    Dissemination,
    /// The same with three messages a round to the ones 4^i, 2 x 4^i and 3 x 4^i further on.
    NWay,
    /// Losers of each round signal the winner; the champion's news goes down the same tree.
    Tournament,
    /// The root and each other rank, all at once.
    Linear,
    /// The same, after a rank has copied its own part (Open MPI's "basic linear").
    BasicLinear,
    /// As `Linear`, but the rank's own part is a message as well, and only some are under way at a time (MPICH's
    /// "scattered").
    Scattered,
    /// Binomial tree.
    Binomial,
    /// In segments along a chain.
    Pipelined,
    /// Scattered, then gathered everywhere round the ring (van de Geijn).
    ScatterAllgather,
    /// Exchanges over distances 1, 2, 4 ...
    RecursiveDoubling,
    /// Reduce-scatter by recursive halving, then gathered back (Rabenseifner 2004).
    Rabenseifner,
    /// Round the ring, neighbour to neighbour.
    Ring,
    /// ceil(log2 n) rounds of combined blocks (Bruck et al. 1997).
    Bruck,
    /// n - 1 exchanges, each with another rank.
    Pairwise,
    /// Round the ring and back, twice (Open MPI's "doublering" of two rounds).
    DoubleRing,
    /// Four chains from the root (Open MPI).
    Chain,
    /// A tree of two children each, the odd ranks under one and the even ones under the other (Open MPI).
    Binary,
    /// Down a binary tree, a half to each side; then the sides exchange (Open MPI).
    SplitBinary,
    /// A tree of radix 4 (Open MPI's default radix).
    KNomial,
    /// Scattered by a binomial tree, then gathered everywhere by doubling; where ranks are no power of two, as
    /// `ScatterRing` (MPICH; Open MPI's "scatter_allgather").
    ScatterDoubling,
    /// The same, gathered round the ring (MPICH; Open MPI's "scatter_allgather_ring").
    ScatterRing,
    /// A ring for each segment of the parts (Open MPI's "segmented_ring").
    SegmentedRing,
    /// All vectors come to all, which combine them rank by rank (Open MPI).
    AllgatherReduce,
    /// Pairs of blocks, with the neighbours in turn; odd counts go round the ring (Open MPI).
    NeighborExchange,
    /// Halves over distances n/2, n/4 ... (MPICH; Open MPI).
    RecursiveHalving,
}

use Algorithm::{
    AllgatherReduce, BasicLinear, Binary, Binomial, Bruck, Central, Chain, Dissemination, DoubleRing, Hardware,
    KNomial, Linear, NWay, NeighborExchange, Pairwise, Pipelined, Rabenseifner, RecursiveDoubling, RecursiveHalving,
    Ring, ScatterAllgather, ScatterDoubling, ScatterRing, Scattered, SegmentedRing, SplitBinary, Tournament, Tree,
};

impl Collective {
    /// All.
    pub const ALL: [Collective; 9] = [
        Collective::Barrier,
        Collective::Bcast,
        Collective::Reduce,
        Collective::Allreduce,
        Collective::Gather,
        Collective::Scatter,
        Collective::Allgather,
        Collective::Alltoall,
        Collective::ReduceScatter,
    ];
    /// Its name in records and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Collective::Barrier => "barrier",
            Collective::Bcast => "bcast",
            Collective::Reduce => "reduce",
            Collective::Allreduce => "allreduce",
            Collective::Gather => "gather",
            Collective::Scatter => "scatter",
            Collective::Allgather => "allgather",
            Collective::Alltoall => "alltoall",
            Collective::ReduceScatter => "reduce-scatter",
        }
    }
    /// Its algorithms, and how many of them the cost model picks from. These come first; those of foreign MPIs follow.
    /// The latter serve predictions and run only if asked for.
    fn own_and_foreign(self) -> (usize, &'static [Algorithm]) {
        match self {
            Collective::Barrier => {
                (6, &[Hardware, Central, Tree, Dissemination, NWay, Tournament, RecursiveDoubling, DoubleRing])
            }
            Collective::Bcast => (
                5,
                &[
                    Hardware,
                    Linear,
                    Binomial,
                    Pipelined,
                    ScatterAllgather,
                    Chain,
                    Binary,
                    SplitBinary,
                    KNomial,
                    ScatterDoubling,
                    ScatterRing,
                ],
            ),
            Collective::Reduce => {
                (5, &[Hardware, Binomial, Rabenseifner, Ring, Linear, Pipelined, Chain, Binary, KNomial])
            }
            Collective::Allreduce => (
                5,
                &[Hardware, Binomial, RecursiveDoubling, Rabenseifner, Ring, Linear, SegmentedRing, AllgatherReduce],
            ),
            Collective::ReduceScatter => (5, &[Hardware, Binomial, Ring, RecursiveHalving, Pairwise]),
            Collective::Gather | Collective::Scatter => (2, &[Linear, Binomial]),
            Collective::Allgather => (4, &[Linear, RecursiveDoubling, Bruck, Ring, NeighborExchange]),
            Collective::Alltoall => (4, &[Linear, Pairwise, Bruck, Ring, BasicLinear, Scattered]),
        }
    }
    /// Its algorithms.
    pub fn algorithms(self) -> &'static [Algorithm] {
        self.own_and_foreign().1
    }
    /// Those that the cost model picks from, as far as a port can do them.
    pub fn candidates(self) -> &'static [Algorithm] {
        let (own, all) = self.own_and_foreign();
        &all[..own]
    }
}

impl Algorithm {
    /// Its name in records and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Hardware => "hardware",
            Central => "central",
            Tree => "tree",
            Dissemination => "dissemination",
            NWay => "n-way",
            Tournament => "tournament",
            Linear => "linear",
            BasicLinear => "basic-linear",
            Scattered => "scattered",
            Binomial => "binomial",
            Pipelined => "pipelined",
            ScatterAllgather => "scatter-allgather",
            RecursiveDoubling => "recursive-doubling",
            Rabenseifner => "rabenseifner",
            Ring => "ring",
            Bruck => "bruck",
            Pairwise => "pairwise",
            DoubleRing => "double-ring",
            Chain => "chain",
            Binary => "binary",
            SplitBinary => "split-binary",
            KNomial => "k-nomial",
            ScatterDoubling => "scatter-doubling",
            ScatterRing => "scatter-ring",
            SegmentedRing => "segmented-ring",
            AllgatherReduce => "allgather-reduce",
            NeighborExchange => "neighbor-exchange",
            RecursiveHalving => "recursive-halving",
        }
    }
    /// The algorithm of `collective` called `name`.
    ///
    /// # Errors
    /// What is allowed.
    pub fn named(collective: Collective, name: &str) -> Result<Algorithm, String> {
        let all = collective.algorithms();
        all.iter().copied().find(|algorithm| algorithm.name() == name).ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|algorithm| algorithm.name()).collect();
            format!("`{name}` is no algorithm of {}; allowed: {}", collective.name(), names.join(", "))
        })
    }
    /// Whether it moves segments ([`Comm::set_segment`](crate::Comm::set_segment)).
    pub fn is_segmented(self) -> bool {
        matches!(self, Pipelined | Chain | Binary | SplitBinary | KNomial | SegmentedRing)
    }
    /// The one that the cost model picks for `bytes` (see [`Comm::force`](crate::Comm::force)).
    pub fn chosen(collective: Collective, ranks: u32, bytes: u64, limits: &Limits) -> Algorithm {
        Costs::of(limits).pick(collective, ranks, bytes, limits, |_| true)
    }
    /// Whether a port can do it: hardware needs hardware.
    pub fn is_possible(self, collective: Collective, limits: &Limits) -> bool {
        match (self, collective) {
            (Hardware, Collective::Barrier) => limits.barrier,
            (Hardware, Collective::Bcast) => limits.broadcast,
            (Hardware, Collective::Reduce | Collective::Allreduce) => limits.reduction.is_some(),
            (Hardware, Collective::ReduceScatter) => limits.reduction.is_some_and(|own| own.shares),
            (Hardware, _) => false,
            _ => true,
        }
    }
}

/// Arity of [`Algorithm::Tree`].
pub(crate) const ARITY: u32 = 4;
/// Messages of a round of [`Algorithm::NWay`], and one.
pub(crate) const WAYS: u32 = 4;
