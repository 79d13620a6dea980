//! Open MPI's fixed rules: an algorithm for each limit of ranks and of bytes. The thresholds are those of
//! `ompi/mca/coll/tuned/coll_tuned_decision_fixed.c`, the same in Open MPI 4.1.6 and 5.0.9, for operations that
//! commute.

use super::Take::{self, By, Other};
use crate::collectives::algorithm::Algorithm::{
    BasicLinear, Binary, Binomial, Bruck, Central, Chain, Dissemination, KNomial, Linear, NeighborExchange, Pairwise,
    Pipelined, Rabenseifner, RecursiveDoubling, RecursiveHalving, Ring, ScatterDoubling, SplitBinary, Tournament,
};

/// For each limit of ranks (below it): limits of bytes, each with its choice.
pub(super) type Table = &'static [(u32, &'static [(u64, Take)])];

/// For any greater number of ranks, or size.
const MORE: u32 = u32::MAX;
const LONGER: u64 = u64::MAX;
const NONOVERLAPPING: Take = Other("nonoverlapping: its own reduce, then its own bcast");
const IN_ORDER: Take = Other("in-order_binary");
const REDUCED: Take = Other("non-overlapping: its own reduce, then its own scatter");
const BUTTERFLY: Take = Other("butterfly");
const GATHER_SYNC: Take = Other("linear_sync");

pub(super) const BARRIER: Table = &[
    (4, &[(LONGER, By(RecursiveDoubling))]),
    (8, &[(LONGER, By(Central))]),
    (64, &[(LONGER, By(RecursiveDoubling))]),
    (256, &[(LONGER, By(Dissemination))]),
    (512, &[(LONGER, By(Tournament))]),
    (1024, &[(LONGER, By(Dissemination))]),
    (4096, &[(LONGER, By(Tournament))]),
    (MORE, &[(LONGER, By(Dissemination))]),
];

pub(super) const BCAST: Table = &[
    (
        4,
        &[
            (32, By(Pipelined)),
            (256, By(Binary)),
            (512, By(Pipelined)),
            (1_024, By(KNomial)),
            (32_768, By(Linear)),
            (131_072, By(Binary)),
            (262_144, By(Chain)),
            (524_288, By(Linear)),
            (1_048_576, By(Binomial)),
            (LONGER, By(Binary)),
        ],
    ),
    (
        8,
        &[
            (64, By(Binary)),
            (128, By(Binomial)),
            (2_048, By(Binary)),
            (8_192, By(Binomial)),
            (1_048_576, By(Linear)),
            (LONGER, By(Chain)),
        ],
    ),
    (
        16,
        &[
            (8, By(KNomial)),
            (64, By(Binary)),
            (4_096, By(KNomial)),
            (16_384, By(Binary)),
            (32_768, By(Binomial)),
            (LONGER, By(Linear)),
        ],
    ),
    (32, &[(4_096, By(KNomial)), (1_048_576, By(Binomial)), (LONGER, By(ScatterDoubling))]),
    (64, &[(2_048, By(Binomial)), (LONGER, By(KNomial))]),
    (128, &[(LONGER, By(KNomial))]),
    (
        256,
        &[(2, By(Binomial)), (16_384, By(Binary)), (32_768, By(Linear)), (65_536, By(Binary)), (LONGER, By(KNomial))],
    ),
    (1024, &[(16_384, By(KNomial)), (32_768, By(SplitBinary)), (LONGER, By(KNomial))]),
    (2048, &[(524_288, By(KNomial)), (LONGER, By(ScatterDoubling))]),
    (4096, &[(262_144, By(KNomial)), (LONGER, By(ScatterDoubling))]),
    (MORE, &[(8_192, By(KNomial)), (16_384, By(Binary)), (262_144, By(KNomial)), (LONGER, By(ScatterDoubling))]),
];

pub(super) const REDUCE: Table = &[
    (
        4,
        &[
            (8, By(Rabenseifner)),
            (16, By(Binary)),
            (32, By(Pipelined)),
            (262_144, By(Linear)),
            (524_288, By(Pipelined)),
            (1_048_576, By(Chain)),
            (LONGER, By(Pipelined)),
        ],
    ),
    (
        8,
        &[
            (4_096, By(Binary)),
            (65_536, By(Chain)),
            (262_144, By(Binomial)),
            (524_288, By(Linear)),
            (1_048_576, By(Binomial)),
            (LONGER, By(Linear)),
        ],
    ),
    (16, &[(8_192, By(Binary)), (LONGER, By(Binomial))]),
    (32, &[(4_096, By(Binary)), (LONGER, By(Binomial))]),
    (256, &[(LONGER, By(Binomial))]),
    (512, &[(8_192, By(Binomial)), (16_384, IN_ORDER), (LONGER, By(Binomial))]),
    (2048, &[(LONGER, By(Binomial))]),
    (
        4096,
        &[(512, By(Binomial)), (1_024, IN_ORDER), (8_192, By(Binomial)), (16_384, IN_ORDER), (LONGER, By(Binomial))],
    ),
    (
        MORE,
        &[
            (16, By(Binomial)),
            (32, IN_ORDER),
            (1_024, By(Binomial)),
            (2_048, IN_ORDER),
            (8_192, By(Binomial)),
            (16_384, IN_ORDER),
            (LONGER, By(Binomial)),
        ],
    ),
];

pub(super) const ALLREDUCE: Table = &[
    (
        4,
        &[
            (8, By(Ring)),
            (4_096, By(RecursiveDoubling)),
            (8_192, By(Ring)),
            (16_384, By(RecursiveDoubling)),
            (262_144, By(Ring)),
            (LONGER, By(Rabenseifner)),
        ],
    ),
    (8, &[(16, By(Ring)), (8_192, By(RecursiveDoubling)), (LONGER, By(Rabenseifner))]),
    (16, &[(8_192, By(RecursiveDoubling)), (LONGER, By(Rabenseifner))]),
    (32, &[(64, By(Ring)), (4_096, By(RecursiveDoubling)), (LONGER, By(Rabenseifner))]),
    (64, &[(128, By(Ring)), (LONGER, By(Rabenseifner))]),
    (128, &[(262_144, By(RecursiveDoubling)), (LONGER, By(Rabenseifner))]),
    (256, &[(131_072, NONOVERLAPPING), (262_144, By(RecursiveDoubling)), (LONGER, By(Rabenseifner))]),
    (512, &[(4_096, NONOVERLAPPING), (LONGER, By(Rabenseifner))]),
    (2048, &[(2_048, NONOVERLAPPING), (16_384, By(RecursiveDoubling)), (LONGER, By(Rabenseifner))]),
    (4096, &[(2_048, NONOVERLAPPING), (4_096, By(Ring)), (16_384, By(RecursiveDoubling)), (LONGER, By(Rabenseifner))]),
    (MORE, &[(2_048, NONOVERLAPPING), (16_384, By(Ring)), (32_768, By(RecursiveDoubling)), (LONGER, By(Rabenseifner))]),
];

pub(super) const REDUCE_SCATTER: Table = &[
    (4, &[(65_536, By(Ring)), (131_072, BUTTERFLY), (LONGER, By(Ring))]),
    (8, &[(8, REDUCED), (262_144, By(RecursiveHalving)), (LONGER, By(Ring))]),
    (32, &[(262_144, By(RecursiveHalving)), (LONGER, By(Ring))]),
    (64, &[(64, REDUCED), (2_048, By(RecursiveHalving)), (524_288, BUTTERFLY), (LONGER, By(Ring))]),
    (
        128,
        &[
            (256, REDUCED),
            (512, By(RecursiveHalving)),
            (2_048, BUTTERFLY),
            (4_096, By(RecursiveHalving)),
            (LONGER, BUTTERFLY),
        ],
    ),
    (256, &[(256, REDUCED), (512, By(RecursiveHalving)), (LONGER, BUTTERFLY)]),
    (512, &[(256, REDUCED), (1_024, By(RecursiveHalving)), (LONGER, BUTTERFLY)]),
    (
        1024,
        &[
            (512, REDUCED),
            (2_048, By(RecursiveHalving)),
            (8_192, BUTTERFLY),
            (16_384, By(RecursiveHalving)),
            (LONGER, BUTTERFLY),
        ],
    ),
    (
        2048,
        &[
            (512, REDUCED),
            (4_096, By(RecursiveHalving)),
            (16_384, BUTTERFLY),
            (32_768, By(RecursiveHalving)),
            (LONGER, BUTTERFLY),
        ],
    ),
    (4096, &[(512, REDUCED), (4_096, By(RecursiveHalving)), (LONGER, BUTTERFLY)]),
    (MORE, &[(1_024, REDUCED), (8_192, By(RecursiveHalving)), (LONGER, BUTTERFLY)]),
];

pub(super) const ALLGATHER: Table = &[
    (3, &[(LONGER, By(RecursiveDoubling))]),
    (32, &[(LONGER, By(RecursiveDoubling))]),
    (64, &[(1_024, By(RecursiveDoubling)), (65_536, By(NeighborExchange)), (LONGER, By(Ring))]),
    (128, &[(512, By(RecursiveDoubling)), (65_536, By(NeighborExchange)), (LONGER, By(Ring))]),
    (
        256,
        &[
            (512, By(RecursiveDoubling)),
            (131_072, By(NeighborExchange)),
            (524_288, By(Ring)),
            (1_048_576, By(NeighborExchange)),
            (LONGER, By(Ring)),
        ],
    ),
    (
        512,
        &[
            (32, By(RecursiveDoubling)),
            (128, By(Bruck)),
            (1_024, By(RecursiveDoubling)),
            (131_072, By(NeighborExchange)),
            (524_288, By(Ring)),
            (1_048_576, By(NeighborExchange)),
            (LONGER, By(Ring)),
        ],
    ),
    (
        1024,
        &[
            (64, By(RecursiveDoubling)),
            (256, By(Bruck)),
            (2_048, By(RecursiveDoubling)),
            (LONGER, By(NeighborExchange)),
        ],
    ),
    (
        2048,
        &[
            (4, By(RecursiveDoubling)),
            (8, By(Bruck)),
            (16, By(RecursiveDoubling)),
            (32, By(Bruck)),
            (256, By(RecursiveDoubling)),
            (512, By(Bruck)),
            (4_096, By(RecursiveDoubling)),
            (LONGER, By(NeighborExchange)),
        ],
    ),
    (
        4096,
        &[
            (32, By(Bruck)),
            (128, By(RecursiveDoubling)),
            (512, By(Bruck)),
            (4_096, By(RecursiveDoubling)),
            (LONGER, By(NeighborExchange)),
        ],
    ),
    (
        MORE,
        &[
            (2, By(RecursiveDoubling)),
            (8, By(Bruck)),
            (16, By(RecursiveDoubling)),
            (512, By(Bruck)),
            (4_096, By(RecursiveDoubling)),
            (LONGER, By(NeighborExchange)),
        ],
    ),
];

pub(super) const ALLTOALL: Table = &[
    (3, &[(32_768, By(Pairwise)), (262_144, By(BasicLinear)), (LONGER, By(Pairwise))]),
    (8, &[(524_288, By(BasicLinear)), (1_048_576, By(Pairwise)), (LONGER, By(BasicLinear))]),
    (16, &[(LONGER, By(BasicLinear))]),
    (32, &[(4, By(BasicLinear)), (512, By(Bruck)), (LONGER, By(BasicLinear))]),
    (64, &[(512, By(Bruck)), (LONGER, By(BasicLinear))]),
    (128, &[(1_024, By(Bruck)), (262_144, By(BasicLinear)), (LONGER, By(Pairwise))]),
    (256, &[(1_024, By(Bruck)), (262_144, By(BasicLinear)), (LONGER, By(Pairwise))]),
    (512, &[(1_024, By(Bruck)), (32_768, By(BasicLinear)), (LONGER, By(Pairwise))]),
    (1024, &[(512, By(Bruck)), (262_144, By(BasicLinear)), (LONGER, By(Pairwise))]),
    (2048, &[(512, By(Bruck)), (LONGER, By(BasicLinear))]),
    (4096, &[(1_024, By(Bruck)), (LONGER, By(BasicLinear))]),
    (MORE, &[(2_048, By(Bruck)), (LONGER, By(BasicLinear))]),
];

pub(super) const ALLTOALLV: Table = &[
    (4, &[(LONGER, By(Pairwise))]),
    (64, &[(LONGER, By(BasicLinear))]),
    (128, &[(LONGER, By(Pairwise))]),
    (256, &[(LONGER, By(BasicLinear))]),
    (1024, &[(LONGER, By(Pairwise))]),
    (MORE, &[(LONGER, By(BasicLinear))]),
];

pub(super) const GATHER: Table = &[
    (
        4,
        &[
            (2, GATHER_SYNC),
            (4, By(Linear)),
            (32_768, By(Binomial)),
            (65_536, By(Linear)),
            (131_072, By(Binomial)),
            (LONGER, GATHER_SYNC),
        ],
    ),
    (
        8,
        &[
            (1_024, By(Binomial)),
            (8_192, By(Linear)),
            (32_768, By(Binomial)),
            (262_144, By(Linear)),
            (LONGER, GATHER_SYNC),
        ],
    ),
    (256, &[(LONGER, By(Binomial))]),
    (512, &[(2_048, By(Binomial)), (8_192, By(Linear)), (LONGER, By(Binomial))]),
    (MORE, &[(LONGER, By(Binomial))]),
];

pub(super) const SCATTER: Table = &[
    (4, &[(LONGER, By(Linear))]),
    (8, &[(2_048, By(Binomial)), (4_096, By(Linear)), (8_192, By(Binomial)), (LONGER, By(Linear))]),
    (16, &[(16_384, By(Binomial)), (LONGER, By(Linear))]),
    (32, &[(16_384, By(Binomial)), (LONGER, By(Linear))]),
    (64, &[(512, By(Binomial)), (8_192, By(Linear)), (16_384, By(Binomial)), (LONGER, By(Linear))]),
    (MORE, &[(512, By(Binomial)), (LONGER, By(Linear))]),
];
#[cfg(test)]
pub(super) const ALL: [Table; 10] =
    [BARRIER, BCAST, REDUCE, ALLREDUCE, REDUCE_SCATTER, ALLGATHER, ALLTOALL, ALLTOALLV, GATHER, SCATTER];
