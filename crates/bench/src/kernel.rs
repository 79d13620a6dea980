//! An application kernel bound by barriers: computation, some messages, a barrier, over and over. The proportions are
//! those of H06's Abinit (slides 26 and 27), or the user's own.

use crate::{Bench, Plan, Record, Samples, Summary, Timer, tuned::Starts};
use hotlink_fabric::rng::SplitMix64;
use hotlink_fabric::units::Time;
use hotlink_message::{Combine, Element, Endpoint, Error, Operation};
use hotlink_port::{Edge, Kind, Span, Work};
use serde::{Deserialize, Serialize};

/// Doubles of the sum over all ranks that represents the messages other than the barrier.
const SUM_BYTES: u64 = 8;

/// The application's work between two barriers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proportions {
    /// Share of the run in MPI: 0.08 in Abinit on four nodes (H06 s26).
    pub mpi: f64,
    /// Share of that in MPI_Barrier: 0.65 (H06 s26).
    pub barrier: f64,
    /// Time in a barrier in that run, waiting for others included: 80 us on Gigabit Ethernet where no rank is late (H06
    /// s24).
    pub barrier_us: f64,
}

impl Proportions {
    /// H06's Abinit.
    pub const ABINIT: Proportions = Proportions { mpi: 0.08, barrier: 0.65, barrier_us: 80.0 };
    /// Computation between two barriers in microseconds: the rest of the time when `barrier_us` is the barrier's share
    /// of it.
    pub fn compute_us(&self) -> f64 {
        self.barrier_us / (self.mpi * self.barrier) * (1.0 - self.mpi)
    }
    /// The share of the run in messages other than the barrier, per share of the barrier.
    pub fn others_per_barrier(&self) -> f64 {
        (1.0 - self.barrier) / self.barrier
    }
}

/// The kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kernel {
    /// Computation of each rank before each barrier, in microseconds: the mean, its skew within.
    pub compute_us: f64,
    /// Most that a rank computes longer than that, each amount equally likely, in microseconds.
    pub skew_us: f64,
    /// Sums over all ranks before each barrier, on average.
    pub sums: f64,
    /// Barriers of the run.
    pub iterations: u64,
    /// Of the skew.
    pub seed: u64,
    /// Repetitions; only its warm-up counts here.
    pub plan: Plan,
}

/// Where a rank's time went, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// From the common start to the end.
    pub total_us: f64,
    /// Computing.
    pub compute_us: f64,
    /// In the sums.
    pub sums_us: f64,
    /// In each barrier, waiting for the slowest included.
    pub barriers_us: Vec<f64>,
    /// Its clock.
    pub timer: Timer,
}

impl Kernel {
    /// The record of the ranks' times, and the barriers' own times.
    pub fn record(&self, head: Record, ranks: &[Spent]) -> Option<(Record, Samples)> {
        let most = |of: fn(&Spent) -> f64| ranks.iter().map(of).fold(0.0, f64::max);
        let mean = |of: fn(&Spent) -> f64| ranks.iter().map(of).sum::<f64>() / ranks.len() as f64;
        let (total_us, compute_us) = (most(|rank| rank.total_us), most(|rank| rank.compute_us));
        let is = "the slowest rank's computation, with messages and barriers that take no time";
        let bound = hotlink_bound::local::computation(compute_us, total_us, ["computation", "barrier"], is);
        let barriers_us = mean(|rank| rank.barriers_us.iter().sum());
        let sums_us = mean(|rank| rank.sums_us);
        // The last rank waits for none: the minimum of the ranks' times is the barrier's own.
        let own = |i: usize| ranks.iter().map(|rank| rank.barriers_us[i]).fold(f64::INFINITY, f64::min);
        let values = (0..self.iterations as usize).map(own).collect();
        let own = Samples { values, inner: 1, warmup: self.plan.warmup, timer: ranks.first()?.timer };
        let record = head
            .with("ranks", ranks.len())
            .with("iterations", self.iterations)
            .with("compute_us", self.compute_us)
            .with("skew_us", self.skew_us)
            .with("sums_per_barrier", self.sums)
            .with("time_s", total_us * 1e-6)
            .with("mpi_share", (barriers_us + sums_us) / total_us)
            .with("barrier_share_of_mpi", barriers_us / (barriers_us + sums_us))
            .with("barrier_us", Summary::of(&own.values)?.median)
            .with("barrier_and_wait_us", barriers_us / self.iterations as f64)
            .bounded("bound_time_s", bound.latency_us * 1e-6, bound.share_of_time(total_us))
            .explained(&bound);
        Some((record, own))
    }
}

impl Bench for Kernel {
    type Result = Spent;
    async fn on<E: Endpoint>(&self, comm: &E) -> Result<Spent, Error> {
        let (one, all) = (comm.alloc(SUM_BYTES, Kind::Private)?, comm.alloc(SUM_BYTES, Kind::Private)?);
        let (one, all) = (Span::new(one, 0, SUM_BYTES), Span::new(all, 0, SUM_BYTES));
        let sum = Operation { combine: Combine::Sum, element: Element::F64 };
        for _ in 0..self.plan.warmup {
            comm.allreduce(sum, one, all).await?;
            comm.barrier().await?;
        }
        let (timer, starts) = (Timer::of(comm), Starts::of(comm, &self.plan));
        comm.compute(Work::Mark { edge: Edge::Begins, members: comm.ranks() });
        let spent = loop {
            let start = starts.together().await?;
            let spent = self.iterate(comm, start, (one, all)).await?;
            if starts.held().await? {
                break spent;
            }
        };
        comm.compute(Work::Mark { edge: Edge::Ends, members: comm.ranks() });
        comm.free(one.memory)?;
        comm.free(all.memory)?;
        Ok(Spent { timer, ..spent })
    }
}

impl Kernel {
    /// All iterations, which began at `start`.
    async fn iterate<E: Endpoint>(&self, comm: &E, start: Time, (one, all): (Span, Span)) -> Result<Spent, Error> {
        let sum = Operation { combine: Combine::Sum, element: Element::F64 };
        let mut skew = SplitMix64::stream(self.seed, comm.rank().into());
        let mut spent = Spent::default();
        let mut due = 0.0;
        for _ in 0..self.iterations {
            let begin = comm.now();
            // The sums come first: the others must wait for a late rank in the barrier, which is the observed time.
            due += self.sums;
            while due >= 1.0 {
                comm.allreduce(sum, one, all).await?;
                due -= 1.0;
            }
            let summed = comm.now();
            let late_us = (skew.below(1 << 20) as f64 / f64::from(1 << 20) - 0.5) * self.skew_us;
            comm.compute(Work::Fixed(Time::from_us((self.compute_us + late_us).max(0.0))));
            let computed = comm.now();
            comm.barrier().await?;
            spent.sums_us += (summed - begin).us();
            spent.compute_us += (computed - summed).us();
            spent.barriers_us.push((comm.now() - computed).us());
        }
        spent.total_us = (comm.now() - start).us();
        Ok(spent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abinit_spends_its_shares() {
        let abinit = Proportions::ABINIT;
        let (barrier_us, compute_us) = (abinit.barrier_us, abinit.compute_us());
        let others_us = barrier_us * abinit.others_per_barrier();
        let total_us = compute_us + barrier_us + others_us;
        assert!(((barrier_us + others_us) / total_us - 0.08).abs() < 1e-12);
        assert!((barrier_us / (barrier_us + others_us) - 0.65).abs() < 1e-12);
    }
}
