//! What has to be bought for a fabric of a given size: the counts, without prices.

use crate::spec::ItemKind;
use std::collections::BTreeMap;

/// How many of each kind of thing a fabric of `nodes` nodes takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// Nodes asked for (a padded cube may be modelled larger; only what is asked for is bought).
    pub nodes: u64,
    /// Pieces by kind; a kind that does not occur is absent.
    pub pieces: BTreeMap<ItemKind, u64>,
}

impl Inventory {
    /// How many pieces of `kind`.
    pub fn count(&self, kind: ItemKind) -> u64 {
        self.pieces.get(&kind).copied().unwrap_or(0)
    }
}
