//! Independent parts on all cores.

use crate::Error;
use hotlink_bench::Record;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// `one` of each of `all`, in their order, whichever ends first.
pub fn each<'a, T: Sync, R: Send>(all: &'a [T], one: impl Fn(&'a T) -> R + Sync + Send) -> Vec<R> {
    all.par_iter().map(one).collect()
}

/// As [`each`], and `give`s each result as soon as it and all before it are there. Once `give` says false nothing more is
/// begun or given.
pub fn each_in_order<T: Sync, R: Send>(
    all: &[T],
    one: impl Fn(&T) -> R + Sync + Send,
    give: impl FnMut(R) -> bool + Send,
) {
    struct Line<R, G> {
        next: usize,
        waiting: BTreeMap<usize, R>,
        ended: bool,
        give: G,
    }
    let line = Mutex::new(Line { next: 0, waiting: BTreeMap::new(), ended: false, give });
    let locked = || line.lock().unwrap_or_else(PoisonError::into_inner);
    // One after the other from the front, so that the first results come first.
    let begin = |(index, item): (usize, &T)| {
        if locked().ended {
            return;
        }
        let result = one(item);
        let mut line = locked();
        line.waiting.insert(index, result);
        while !line.ended {
            let next = line.next;
            let Some(result) = line.waiting.remove(&next) else { break };
            line.next += 1;
            line.ended = !(line.give)(result);
        }
    };
    all.iter().enumerate().par_bridge().for_each(begin);
}

/// The records of `one` of each of `all`, handed to `give` in order: each as soon as it and all before it are there. Once
/// `give` says false nothing further begins.
///
/// # Errors
/// Of the first that has no answer; what came before it is given.
pub fn answers_in_order<T: Sync>(
    all: &[T],
    one: impl Fn(&T) -> Result<Vec<Record>, Error> + Sync + Send,
    give: &mut (dyn FnMut(Vec<Record>) -> bool + Send),
) -> Result<(), Error> {
    let mut failed = None;
    each_in_order(all, one, |records| match records {
        Ok(records) => give(records),
        Err(error) => {
            failed = Some(error);
            false
        }
    });
    failed.map_or(Ok(()), Err)
}
