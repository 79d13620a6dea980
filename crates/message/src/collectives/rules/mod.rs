//! The algorithm that an MPI takes by itself: its own rules, by size and number of ranks. A prediction of an MPI follows
//! them; our own stack never does.
//!
//! The thresholds are facts of the MPIs' sources. `docs/collectives.md` has the names, and says what is left out.

mod openmpi;

use super::algorithm::Algorithm::{
    self, Binomial, Bruck, Dissemination, Linear, Pairwise, Rabenseifner, RecursiveDoubling, RecursiveHalving, Ring,
    ScatterDoubling, ScatterRing, Scattered,
};
use super::algorithm::Collective;

/// An MPI whose rules are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// MPICH 4.2.3, 4.3.2 and 5.0.0, which have the same.
    Mpich,
    /// Open MPI 4.1.6 and 5.0.9, component `tuned`, which have the same.
    OpenMpi,
}

/// One call of a collective, as far as rules ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Which collective.
    pub collective: Collective,
    /// Whether the parts of an exchange differ in size.
    pub is_uneven: bool,
    /// Ranks of the communicator.
    pub ranks: u32,
    /// Bytes of a rank's vector or part.
    pub bytes: u64,
    /// Bytes of an element of it.
    pub element_bytes: u64,
}

/// How a collective is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By an algorithm.
    By(Algorithm),
    /// As an MPI would.
    As(Rules),
}

/// The choice of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Take {
    /// One of our algorithms.
    By(Algorithm),
    /// One that is none of ours.
    Other(&'static str),
}

impl Rules {
    /// All.
    pub const ALL: [Rules; 2] = [Rules::Mpich, Rules::OpenMpi];

    /// Its word on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Rules::Mpich => "mpich",
            Rules::OpenMpi => "openmpi",
        }
    }

    /// The source of the rules: versions and file.
    pub fn source(self) -> &'static str {
        match self {
            Rules::Mpich => "MPICH 4.2.3, 4.3.2, 5.0.0: maint/tuning/coll/mpir/generic.json",
            Rules::OpenMpi => "Open MPI 4.1.6, 5.0.9: ompi/mca/coll/tuned/coll_tuned_decision_fixed.c",
        }
    }

    /// The algorithm that it takes for `call`.
    ///
    /// # Errors
    /// It takes one that is none of ours.
    pub fn algorithm(self, call: Call) -> Result<Algorithm, String> {
        let take = match self {
            Rules::Mpich => Take::By(mpich(call)),
            Rules::OpenMpi => open_mpi(call),
        };
        match take {
            Take::By(algorithm) => Ok(algorithm),
            Take::Other(name) => {
                let Call { collective, ranks, bytes, .. } = call;
                let (mpi, what) = (self.name(), collective.name());
                Err(format!("{mpi}: for {what} of {bytes} B on {ranks} ranks it takes {name}, which is none of ours"))
            }
        }
    }
}

impl Way {
    /// The algorithm or rules called `name`.
    ///
    /// # Errors
    /// What is allowed.
    pub fn named(collective: Collective, name: &str) -> Result<Way, String> {
        if let Some(rules) = Rules::ALL.into_iter().find(|rules| rules.name() == name) {
            return Ok(Way::As(rules));
        }
        let names = Rules::ALL.map(Rules::name).join(", ");
        Algorithm::named(collective, name).map(Way::By).map_err(|what| format!("{what}, {names}"))
    }

    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Way::By(algorithm) => algorithm.name(),
            Way::As(rules) => rules.name(),
        }
    }

    /// The algorithm of a call.
    ///
    /// # Errors
    /// An MPI takes one that is none of ours.
    pub fn algorithm(self, call: Call) -> Result<Algorithm, String> {
        match self {
            Way::By(algorithm) => Ok(algorithm),
            Way::As(rules) => rules.algorithm(call),
        }
    }

    /// The source of the choice, as records name it.
    pub fn chosen_by(self) -> &'static str {
        match self {
            Way::By(_) => "asked",
            Way::As(rules) => rules.source(),
        }
    }
}

/// The greatest power of two within `ranks`.
fn power_within(ranks: u32) -> u64 {
    1 << ranks.max(1).ilog2()
}

/// MPICH's selection of operations that are built in, ranks not grouped by nodes.
fn mpich(Call { collective, is_uneven, ranks, bytes, element_bytes }: Call) -> Algorithm {
    let is_power = ranks.is_power_of_two();
    let total = bytes * u64::from(ranks);
    let is_short = bytes / element_bytes.max(1) < power_within(ranks);
    match collective {
        Collective::Barrier => Dissemination,
        Collective::Bcast if ranks < 8 || bytes <= 12_288 => Binomial,
        Collective::Bcast if is_power && bytes <= 524_288 => ScatterDoubling,
        Collective::Bcast => ScatterRing,
        Collective::Reduce if bytes <= 2_048 || is_short => Binomial,
        Collective::Reduce => Rabenseifner,
        Collective::Allreduce if bytes <= 8 || is_short => RecursiveDoubling,
        Collective::Allreduce => Rabenseifner,
        Collective::ReduceScatter if total < 524_288 => RecursiveHalving,
        Collective::ReduceScatter => Pairwise,
        Collective::Allgather if is_power && total < 524_288 => RecursiveDoubling,
        Collective::Allgather if !is_power && total < 81_920 => Bruck,
        Collective::Allgather => Ring,
        Collective::Alltoall if is_uneven => Scattered,
        Collective::Alltoall if ranks >= 8 && bytes <= 256 => Bruck,
        Collective::Alltoall if bytes <= 32_768 => Scattered,
        Collective::Alltoall => Pairwise,
        Collective::Gather | Collective::Scatter => Binomial,
    }
}

/// Open MPI's fixed rules, and where its algorithms pass a call on to others.
fn open_mpi(call: Call) -> Take {
    let Call { collective, is_uneven, ranks, bytes, element_bytes } = call;
    let (rules, size) = match collective {
        Collective::Barrier => (openmpi::BARRIER, 0),
        Collective::Bcast => (openmpi::BCAST, bytes),
        Collective::Reduce => (openmpi::REDUCE, bytes),
        Collective::Allreduce => (openmpi::ALLREDUCE, bytes),
        Collective::ReduceScatter => (openmpi::REDUCE_SCATTER, bytes * u64::from(ranks)),
        Collective::Allgather => (openmpi::ALLGATHER, bytes),
        Collective::Alltoall if is_uneven => (openmpi::ALLTOALLV, bytes),
        Collective::Alltoall => (openmpi::ALLTOALL, bytes),
        Collective::Gather => (openmpi::GATHER, bytes),
        Collective::Scatter => (openmpi::SCATTER, bytes),
    };
    let elements = bytes / element_bytes.max(1);
    match (collective, ruled(rules, ranks, size)) {
        // A ring needs an element a rank, halving one a pair.
        (Collective::Allreduce, Take::By(Ring)) if elements < u64::from(ranks) => Take::By(RecursiveDoubling),
        (Collective::Reduce | Collective::Allreduce, Take::By(Rabenseifner)) if elements < power_within(ranks) => {
            Take::By(Linear)
        }
        (Collective::Allgather, Take::By(RecursiveDoubling)) if !ranks.is_power_of_two() => Take::By(Bruck),
        (_, take) => take,
    }
}

/// The first row for that number of ranks, and its first entry for that size. The last of each has no limit.
fn ruled(rules: openmpi::Table, ranks: u32, size: u64) -> Take {
    let row = rules.iter().find(|(below, _)| ranks < *below).or(rules.last());
    let sizes = row.map_or(&[][..], |(_, sizes)| sizes);
    let rule = sizes.iter().find(|(below, _)| size < *below).or(sizes.last());
    rule.map_or(Take::By(Linear), |(_, take)| *take)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Algorithm::{BasicLinear, Central, Chain, KNomial, NeighborExchange, Tournament};

    fn call(collective: Collective, ranks: u32, bytes: u64) -> Call {
        Call { collective, is_uneven: false, ranks, bytes, element_bytes: 8 }
    }

    #[test]
    fn mpich_changes_at_its_documented_sizes() {
        let of = |collective, ranks, bytes| Rules::Mpich.algorithm(call(collective, ranks, bytes)).unwrap();
        use Collective::{Allgather, Allreduce, Alltoall, Bcast, Reduce, ReduceScatter};
        assert_eq!(
            [12_288, 12_296, 524_288, 524_296].map(|m| of(Bcast, 16, m)),
            [Binomial, ScatterDoubling, ScatterDoubling, ScatterRing]
        );
        assert_eq!((of(Bcast, 7, 1 << 20), of(Bcast, 12, 16_384)), (Binomial, ScatterRing));
        // 64 elements on 64 ranks are enough for halving, 63 are not.
        assert_eq!([8, 504, 512].map(|m| of(Allreduce, 64, m)), [RecursiveDoubling, RecursiveDoubling, Rabenseifner]);
        assert_eq!((of(Reduce, 4, 2_048), of(Reduce, 4, 2_056)), (Binomial, Rabenseifner));
        assert_eq!((of(ReduceScatter, 64, 8_184), of(ReduceScatter, 64, 8_192)), (RecursiveHalving, Pairwise));
        assert_eq!((of(Allgather, 8, 65_528), of(Allgather, 8, 65_536)), (RecursiveDoubling, Ring));
        assert_eq!((of(Allgather, 10, 8_184), of(Allgather, 10, 8_192)), (Bruck, Ring));
        assert_eq!([256, 264, 32_776].map(|m| of(Alltoall, 8, m)), [Bruck, Scattered, Pairwise]);
        assert_eq!(of(Alltoall, 7, 8), Scattered);
    }

    #[test]
    fn open_mpi_changes_at_its_documented_ranks_and_sizes() {
        let of = |collective, ranks, bytes| Rules::OpenMpi.algorithm(call(collective, ranks, bytes));
        use Collective::{Allgather, Allreduce, Alltoall, Barrier, Bcast, Reduce, ReduceScatter};
        let barrier = [2, 4, 8, 64, 256, 512, 1024, 4096].map(|ranks| of(Barrier, ranks, 0).unwrap());
        let (doubling, dissemination) = (RecursiveDoubling, Dissemination);
        assert_eq!(
            barrier,
            [doubling, Central, doubling, dissemination, Tournament, dissemination, Tournament, dissemination]
        );
        assert_eq!([4_095, 4_096, 1 << 20].map(|m| of(Bcast, 16, m).unwrap()), [KNomial, Binomial, ScatterDoubling]);
        assert_eq!(of(Bcast, 6, 1 << 20), Ok(Chain));
        assert_eq!((of(Alltoall, 2, 32_768), of(Alltoall, 20, 256)), (Ok(BasicLinear), Ok(Bruck)));
        assert_eq!([512, 1_024, 65_536].map(|m| of(Allgather, 32, m).unwrap()), [doubling, NeighborExchange, Ring]);
        assert_eq!(of(Allgather, 6, 8), Ok(Bruck), "doubling needs a power of two");
        assert_eq!(of(Allreduce, 4, 8), Ok(RecursiveDoubling), "a ring needs an element a rank");
        assert_eq!((of(Allreduce, 32, 136), of(Allreduce, 32, 256)), (Ok(Linear), Ok(Rabenseifner)));
        for (collective, ranks, bytes, named) in [
            (Reduce, 300, 8_192, "in-order_binary"),
            (ReduceScatter, 64, 64, "butterfly"),
            (Allreduce, 200, 8, "nonoverlapping"),
        ] {
            let told = of(collective, ranks, bytes).unwrap_err();
            assert!(told.contains(named) && told.contains(collective.name()), "{told}");
        }
    }

    #[test]
    fn rules_name_algorithms_that_the_collective_has() {
        for rules in Rules::ALL {
            for collective in Collective::ALL {
                for ranks in [2, 3, 5, 8, 20, 32, 100, 200, 300, 600, 1500, 3000, 9000] {
                    for bytes in (0..24).map(|power| 8 << power) {
                        for is_uneven in [false, true] {
                            let call = Call { is_uneven, ..call(collective, ranks, bytes) };
                            if let Ok(algorithm) = rules.algorithm(call) {
                                assert!(collective.algorithms().contains(&algorithm), "{call:?}: {algorithm:?}");
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn thresholds_rise_and_the_last_has_no_end() {
        for table in openmpi::ALL {
            assert!(table.windows(2).all(|pair| pair[0].0 < pair[1].0) && table.last().unwrap().0 == u32::MAX);
            for (_, sizes) in table {
                assert!(sizes.windows(2).all(|pair| pair[0].0 < pair[1].0) && sizes.last().unwrap().0 == u64::MAX);
            }
        }
    }
}
