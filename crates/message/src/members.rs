//! Which ranks of the port are of a communicator.

use hotlink_port::Rank;
use std::collections::BTreeMap;

/// Ranks of the port in the order of a communicator's own.
#[derive(Debug)]
pub(crate) struct Members {
    ranks: Vec<Rank>,
    places: BTreeMap<Rank, Rank>,
}

impl Members {
    /// These ranks of that many; `None`: one is not among them, or occurs twice.
    pub(crate) fn new(ranks: &[Rank], of: u32) -> Option<Members> {
        let places: BTreeMap<Rank, Rank> = ranks.iter().copied().zip(0..).collect();
        let sound = places.len() == ranks.len() && ranks.iter().all(|&rank| rank < of);
        sound.then(|| Members { ranks: ranks.to_vec(), places })
    }
    /// The port's name of a rank; beyond all ranks if it is none.
    #[inline(always)]
    pub(crate) fn rank(&self, place: Rank) -> Rank {
        self.ranks.get(place as usize).copied().unwrap_or(Rank::MAX)
    }
    /// The rank that the port's `rank` has here.
    pub(crate) fn place(&self, rank: Rank) -> Option<Rank> {
        self.places.get(&rank).copied()
    }
}
