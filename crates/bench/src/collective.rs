//! Collectives: from a synchronised start until the last rank is done.

use crate::tuned::{blank, together};
use crate::{Bench, Plan, Samples, plan::Repeater};
use hotlink_fabric::units::Time;
use hotlink_message::{Combine, Element, Endpoint, Error, Operation};
use hotlink_port::Span;
use serde::{Deserialize, Serialize};

/// Which collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Which {
    /// No data.
    Barrier,
    /// `size` bytes from rank 0 to all.
    Bcast,
    /// `size` bytes of doubles summed at rank 0.
    Reduce,
    /// `size` bytes of doubles summed everywhere.
    Allreduce,
    /// `size` bytes of every rank to all.
    Allgather,
    /// `size` bytes from every rank to every other.
    Alltoall,
    /// `size` bytes of every rank to rank 0.
    Gather,
    /// `size` bytes from rank 0 to each rank.
    Scatter,
}

impl Which {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        self.collective().name()
    }
    /// The operation that it times.
    pub fn collective(self) -> hotlink_message::Collective {
        use hotlink_message::Collective;
        match self {
            Which::Barrier => Collective::Barrier,
            Which::Bcast => Collective::Bcast,
            Which::Reduce => Collective::Reduce,
            Which::Allreduce => Collective::Allreduce,
            Which::Allgather => Collective::Allgather,
            Which::Alltoall => Collective::Alltoall,
            Which::Gather => Collective::Gather,
            Which::Scatter => Collective::Scatter,
        }
    }
}

/// The benchmark: each rank returns its times in microseconds, sample by sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Collective {
    /// Which.
    pub which: Which,
    /// Bytes, see [`Which`].
    pub size: u64,
    /// Repetitions.
    pub plan: Plan,
}

impl Collective {
    /// The maximum over the ranks, sample by sample.
    pub fn slowest(ranks: &[Samples]) -> Samples {
        let n = ranks.iter().map(|rank| rank.values.len()).min().unwrap_or(0);
        let slowest = |i: usize| ranks.iter().map(|rank| rank.values[i]).fold(0.0, f64::max);
        Samples { values: (0..n).map(slowest).collect(), inner: ranks.first().map_or(1, |rank| rank.inner) }
    }
    async fn once<E: Endpoint>(&self, comm: &E, one: Span, all: Span) -> Result<(), Error> {
        let sum = Operation { combine: Combine::Sum, element: Element::F64 };
        match self.which {
            Which::Barrier => comm.barrier().await,
            Which::Bcast => comm.bcast(0, one).await,
            Which::Reduce => comm.reduce(0, sum, one, one_of(all, self.size)).await,
            Which::Allreduce => comm.allreduce(sum, one, one_of(all, self.size)).await,
            Which::Allgather => comm.allgather(one, all).await,
            Which::Alltoall => comm.alltoall(one, all).await,
            Which::Gather => comm.gather(0, one, all).await,
            Which::Scatter => comm.scatter(0, one, one_of(all, self.size)).await,
        }
    }
}

fn one_of(all: Span, size: u64) -> Span {
    Span::new(all.memory, 0, size)
}

impl Bench for Collective {
    type Result = Samples;
    async fn on<E: Endpoint>(&self, comm: &E) -> Result<Samples, Error> {
        let repeater = Repeater::new(comm, &self.plan)?;
        let (size, ranks) = (self.size, u64::from(comm.ranks()));
        let sent = if matches!(self.which, Which::Alltoall | Which::Scatter) { size * ranks } else { size };
        let kind = blank(comm);
        let one = Span::new(comm.alloc(sent, kind)?, 0, sent);
        let all = Span::new(comm.alloc(size * ranks, kind)?, 0, size * ranks);
        let sample = async |inner| {
            together(comm, Time::from_us(self.plan.rest_us)).await?;
            let start = comm.now();
            for _ in 0..inner {
                self.once(comm, one, all).await?;
            }
            let time = comm.now() - start;
            Ok((time.us() / inner as f64, time))
        };
        let samples = repeater.run(sample).await?;
        if comm.limits().real_time {
            comm.barrier().await?;
        }
        Ok(samples)
    }
}
