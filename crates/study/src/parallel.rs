//! Independent parts on all cores.

use rayon::prelude::*;

/// `one` of each of `all`, in their order, whichever ends first.
pub fn each<'a, T: Sync, R: Send>(all: &'a [T], one: impl Fn(&'a T) -> R + Sync + Send) -> Vec<R> {
    all.par_iter().map(one).collect()
}
