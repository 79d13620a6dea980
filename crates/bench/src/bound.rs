//! The bound beside a measured transfer on one machine: how fast its ranks can copy memory, all at once.

use crate::{Bench, Plan, Samples, Summary, plan::Repeater};
use hotlink_message::{Endpoint, Error};
use hotlink_port::{Kind, Span};
use serde::{Deserialize, Serialize};

/// Every rank copies blocks in its own memory at the same time: MB/s per rank and size. No transfer between two ranks
/// moves data faster than all of them copying it, each its share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CopyRate {
    /// Block sizes in bytes.
    pub sizes: Vec<u64>,
    /// Repetitions.
    pub plan: Plan,
}

impl Bench for CopyRate {
    type Result = Vec<Samples>;
    async fn on<E: Endpoint>(&self, comm: &E) -> Result<Vec<Samples>, Error> {
        let repeater = Repeater::new(comm, &self.plan)?;
        let mut all = Vec::new();
        for &size in &self.sizes {
            let (from, to) = (comm.alloc(size, Kind::Private)?, comm.alloc(size, Kind::Private)?);
            comm.write(from, 0, &vec![1; size as usize])?;
            let (source, target) = (Span::new(from, 0, size), Span::new(to, 0, size));
            let copies = repeater.run(async |inner| {
                comm.barrier().await?;
                let start = comm.now();
                for _ in 0..inner {
                    comm.copy(source, target)?;
                }
                let time = comm.now() - start;
                Ok(((size * inner) as f64 / time.us(), time))
            });
            all.push(copies.await?);
            comm.free(from)?;
            comm.free(to)?;
        }
        Ok(all)
    }
}

/// The sum over the ranks of their median copy rates, for the size at `index`.
pub fn copy_bound_mbps(ranks: &[Vec<Samples>], index: usize) -> Option<f64> {
    ranks.iter().map(|rank| Summary::of(&rank.get(index)?.values).map(|summary| summary.median)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_the_sum_of_the_ranks_medians() {
        let rank = |values: &[f64]| vec![Samples::default(), Samples { values: values.to_vec(), ..Samples::default() }];
        assert_eq!(copy_bound_mbps(&[rank(&[1.0, 5.0, 6.0]), rank(&[10.0, 20.0, 90.0])], 1), Some(25.0));
        assert_eq!(copy_bound_mbps(&[rank(&[1.0])], 0), None);
    }
}
