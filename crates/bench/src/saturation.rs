//! Saturation: many pairs send at once; the aggregate bandwidth is the sum over the pairs, as M02 measures it.

use crate::plan::Repeater;
use crate::{Bench, Plan, Samples};
use hotlink_message::{Endpoint, Error};
use hotlink_port::{Kind, Span};
use serde::{Deserialize, Serialize};

/// Bytes of a window's messages together, as far as [`Saturation::WINDOW_MAX`] allows.
const WINDOW_BYTES: u64 = 4 << 20;

/// The benchmark on an even number of ranks: rank `i` of the first half sends windows of messages to rank
/// `i + ranks / 2`. Each rank returns its samples for every size; those of senders are MB/s (10^6 bytes per second).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Saturation {
    /// Message sizes in bytes.
    pub sizes: Vec<u64>,
    /// What memory the messages lie in.
    pub private: bool,
    /// Repetitions.
    pub plan: Plan,
}

impl Saturation {
    /// Most messages of a window.
    pub const WINDOW_MAX: u64 = 64;
    /// Messages under way at a time from a sender: its window is answered by one short message.
    pub fn window(size: u64) -> u64 {
        (WINDOW_BYTES / size.max(1)).clamp(2, Saturation::WINDOW_MAX)
    }
    /// Aggregate samples from what the ranks of one run returned: for each size, the sum over the senders of their
    /// samples, sample by sample.
    pub fn aggregate(results: &[Vec<Samples>]) -> Vec<Samples> {
        let senders = &results[..results.len() / 2];
        let sizes = senders.iter().map(Vec::len).min().unwrap_or(0);
        let sum = |size: usize| {
            let n = senders.iter().map(|sender| sender[size].values.len()).min().unwrap_or(0);
            let values = (0..n).map(|i| senders.iter().map(|sender| sender[size].values[i]).sum()).collect();
            Samples { values, inner: senders[0][size].inner }
        };
        (0..sizes).map(sum).collect()
    }
}

impl Bench for Saturation {
    type Result = Vec<Samples>;
    async fn on<E: Endpoint>(&self, comm: &E) -> Result<Vec<Samples>, Error> {
        let repeater = Repeater::new(comm, &self.plan)?;
        let mut all = Vec::new();
        for &size in &self.sizes {
            all.push(self.one(comm, &repeater, size).await?);
        }
        comm.barrier().await?;
        Ok(all)
    }
}

impl Saturation {
    async fn one<E: Endpoint>(&self, comm: &E, repeater: &Repeater<'_, E>, size: u64) -> Result<Samples, Error> {
        let kind = if self.private { Kind::Private } else { Kind::Default };
        let pairs = comm.ranks() / 2;
        let memory = comm.alloc(size, kind)?;
        comm.write(memory, 0, &vec![1; size as usize])?;
        let (block, window) = (Span::new(memory, 0, size), Saturation::window(size));
        let empty = Span::new(memory, 0, 0);
        let samples = repeater
            .run(async |inner| {
                comm.barrier().await?;
                let start = comm.now();
                for _ in 0..inner {
                    if comm.rank() < pairs {
                        send_window(comm, comm.rank() + pairs, block, window).await?;
                        comm.recv(Some(comm.rank() + pairs), Some(1), empty).await?;
                    } else if comm.rank() < 2 * pairs {
                        receive_window(comm, comm.rank() - pairs, block, window).await?;
                        comm.send(comm.rank() - pairs, 1, empty).await?;
                    }
                }
                let time = comm.now() - start;
                Ok(((size * window * inner) as f64 / time.us(), time))
            })
            .await?;
        comm.free(memory)?;
        Ok(samples)
    }
}

async fn send_window<E: Endpoint>(comm: &E, to: u32, block: Span, window: u64) -> Result<(), Error> {
    let requests: Result<Vec<_>, Error> = (0..window).map(|_| comm.isend(to, 0, block)).collect();
    comm.wait_all(requests?).await
}

async fn receive_window<E: Endpoint>(comm: &E, from: u32, block: Span, window: u64) -> Result<(), Error> {
    let requests: Result<Vec<_>, Error> = (0..window).map(|_| comm.irecv(Some(from), Some(0), block)).collect();
    comm.wait_all(requests?).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aggregate_is_the_sum_over_senders() {
        let samples = |values: &[f64]| vec![Samples { values: values.to_vec(), inner: 1 }];
        let results = [samples(&[1.0, 2.0]), samples(&[10.0, 20.0]), samples(&[7.0]), samples(&[])];
        assert_eq!(Saturation::aggregate(&results), [Samples { values: vec![11.0, 22.0], inner: 1 }]);
    }
}
