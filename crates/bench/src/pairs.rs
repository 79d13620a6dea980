//! The matrix of all pairs: ping-pong between every two ranks, one pair at a time, so that a slow cable, slot or node
//! shows.

use crate::plan::Repeater;
use crate::{Bench, Plan, Samples, Summary};
use hotlink_message::{Endpoint, Error};
use hotlink_port::{Kind, Rank, Span};
use serde::{Deserialize, Serialize};

/// The benchmark: each rank returns half round trips in microseconds for each size and each pair that it leads (as the
/// first of the two). It has no samples for the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pairs {
    /// Which pairs, in order.
    pub pairs: Vec<(Rank, Rank)>,
    /// Message sizes in bytes.
    pub sizes: Vec<u64>,
    /// Whether the messages lie in private memory.
    pub private: bool,
    /// Repetitions.
    pub plan: Plan,
}

impl Pairs {
    /// Every two of `ranks`.
    pub fn of(ranks: u32) -> Vec<(Rank, Rank)> {
        (0..ranks).flat_map(|a| (a + 1..ranks).map(move |b| (a, b))).collect()
    }
    /// Samples of each pair and size, each from the rank that leads the pair.
    pub fn collect(&self, results: &[Vec<Vec<Samples>>]) -> Vec<Vec<Samples>> {
        let of = |(pair, &(leader, _)): (usize, &(Rank, Rank))| results[leader as usize][pair].clone();
        self.pairs.iter().enumerate().map(of).collect()
    }
    async fn one<E: Endpoint>(&self, comm: &E, pair: (Rank, Rank), size: u64) -> Result<Samples, Error> {
        let repeater = Repeater::among(comm, &self.plan, vec![pair.0, pair.1])?;
        let kind = if self.private { Kind::Private } else { Kind::Default };
        let (out, into) = (comm.alloc(size, kind)?, comm.alloc(size, kind)?);
        comm.write(out, 0, &vec![1; size as usize])?;
        let (out, into) = (Span::new(out, 0, size), Span::new(into, 0, size));
        let once = async || {
            if comm.rank() == pair.0 {
                comm.send(pair.1, 0, out).await?;
                comm.recv(Some(pair.1), Some(0), into).await
            } else {
                comm.recv(Some(pair.0), Some(0), into).await?;
                comm.send(pair.0, 0, out).await
            }
        };
        let sample = async |inner| {
            let time = repeater.time(inner, out, None, &once).await?;
            Ok((time.us() / inner as f64 / 2.0, time))
        };
        let samples = repeater.run(sample).await?;
        comm.free(out.memory)?;
        comm.free(into.memory)?;
        Ok(samples)
    }
}

impl Bench for Pairs {
    type Result = Vec<Vec<Samples>>;
    async fn on<E: Endpoint>(&self, comm: &E) -> Result<Vec<Vec<Samples>>, Error> {
        let mut all = Vec::new();
        for &pair in &self.pairs {
            let mut sizes = Vec::new();
            if [pair.0, pair.1].contains(&comm.rank()) {
                for &size in &self.sizes {
                    sizes.push(self.one(comm, pair, size).await?);
                }
            }
            comm.barrier().await?;
            all.push(sizes);
        }
        Ok(all)
    }
}

/// Indices of the values that are more than `factor` times the median of all: the slow ones, where larger is slower.
pub fn slow(values: &[f64], factor: f64) -> Vec<usize> {
    let Some(summary) = Summary::of(values) else { return Vec::new() };
    (0..values.len()).filter(|&i| values[i] > factor * summary.median).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_two_once() {
        assert_eq!(Pairs::of(4), [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]);
        assert!(Pairs::of(1).is_empty());
    }

    #[test]
    fn only_what_stands_out_is_slow() {
        assert_eq!(slow(&[1.0, 1.1, 1.3, 0.9, 1.0], 1.25), [2]);
        assert!(slow(&[1.0; 6], 1.25).is_empty() && slow(&[], 1.25).is_empty());
    }
}
