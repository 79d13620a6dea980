//! Overlap of communication and computation, after W01 (slides 18 to 22): a message without waiting, a computation,
//! then the wait.

use crate::plan::{Buffers, Repeater, rewrite};
use crate::tuned::Starts;
use crate::{Bench, Plan, Record, Samples, Summary};
use hotlink_fabric::units::Time;
use hotlink_message::{Endpoint, Error};
use hotlink_port::{Kind, Span, Work};
use serde::{Deserialize, Serialize};

/// The benchmark on two ranks; rank 0 computes, as sender or as receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overlap {
    /// Message bytes.
    pub size: u64,
    /// Rank 0 sends; else it receives.
    pub sender: bool,
    /// Computation times as shares of the message's own time.
    pub shares: Vec<f64>,
    /// How it computes.
    pub spin: Spinning,
    /// What memory the message lies in.
    pub private: bool,
    /// Repetitions.
    pub plan: Plan,
}

/// How a rank computes (W01 slide 22).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Spinning {
    /// On one variable for a fixed time.
    Fixed,
    /// DAXPY over vectors of the message's size.
    Daxpy,
    /// Copies within a block that no cache holds.
    Stress,
    /// DAXPY by so many threads at once, each over vectors of its own (W01 slide 21).
    Threads(u32),
}

impl Spinning {
    /// The threads of the form that has several.
    pub fn threads(self) -> Option<u32> {
        if let Spinning::Threads(threads) = self { Some(threads) } else { None }
    }
}

/// What rank 0 saw, all in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverlapTimes {
    /// The message alone.
    pub message: Samples,
    /// For each share: the computation alone (median), and both together.
    pub points: Vec<(f64, Samples)>,
}

/// The total counts as longer than the message alone from this factor on.
const LONGER: f64 = 1.05;
/// Bytes of a copy by which the rate of copies is found.
const TIMED: u64 = 1 << 20;

/// W01's saturation: the busy time from which on the total grows. What is computed beyond it is waited for in full: the
/// total is then the busy time and a rest that nothing hides. This line meets the message's own time at the saturation,
/// wherever the points lie. `None` where no total was longer.
fn saturation(message_us: f64, totals: &[(f64, f64)]) -> Option<f64> {
    totals.iter().find(|&&(_, total_us)| total_us > LONGER * message_us)?;
    let rest_us = totals.iter().map(|(busy_us, total_us)| total_us - busy_us).fold(f64::INFINITY, f64::min);
    Some((message_us - rest_us).max(0.0))
}

impl OverlapTimes {
    /// W01's curve: a record of each point, from `compute_us` to `limiting_resource`. `None` where no sample was taken.
    pub fn curve(&self) -> Option<Vec<Record>> {
        let median = |samples: &Samples| Summary::of(&samples.values).map(|summary| summary.median);
        let message_us = median(&self.message)?;
        let least = |samples: &Samples| samples.values.iter().copied().fold(f64::INFINITY, f64::min);
        // Each total holds a whole message: the fastest seen may be one of those.
        let least_us = self.points.iter().map(|(_, total)| least(total)).fold(least(&self.message), f64::min);
        let totals: Vec<(f64, f64)> =
            self.points.iter().map(|(busy_us, total)| Some((*busy_us, median(total)?))).collect::<Option<_>>()?;
        let saturation_us = saturation(message_us, &totals);
        let point = |(&(busy_us, total_us), (_, samples)): (&(f64, f64), &(f64, Samples))| {
            // What can be hidden is the shorter of the two.
            let hidden = (message_us + busy_us - total_us) / message_us.min(busy_us);
            let overhead = (total_us - busy_us) / message_us;
            // What is hidden completely takes as long as the longer of the two at its best, and each total holds a whole
            // computation, too: on a machine that others load, neither is at its best alone.
            let bound = hotlink_bound::local::hidden(least_us, busy_us.min(least(samples)), busy_us > message_us);
            Record::new()
                .with("compute_us", busy_us)
                .with("message_us", message_us)
                .with("total_us", total_us)
                .with("overlap", hidden.clamp(0.0, 1.0))
                .with("saturation_us", saturation_us)
                .with("w01_overhead", overhead)
                .with("w01_hidden", 1.0 - overhead)
                .bounded("bound_total_us", bound.latency_us, bound.share_of_time(total_us))
                .explained(&bound)
        };
        Some(totals.iter().zip(&self.points).map(point).collect())
    }
}

impl Bench for Overlap {
    type Result = OverlapTimes;
    async fn on<E: Endpoint>(&self, comm: &E) -> Result<OverlapTimes, Error> {
        let repeater = Repeater::new(comm, &self.plan)?;
        let memory = comm.alloc(self.size, if self.private { Kind::Private } else { Kind::Default })?;
        comm.write(memory, 0, &vec![1; self.size as usize])?;
        let span = Span::new(memory, 0, self.size);
        let starts = Starts::of(comm, &self.plan);
        let message = repeater.run(async |inner| self.sample(&starts, span, inner, None).await).await?;
        let alone_us = Summary::of(&message.values).map_or(0.0, |summary| summary.median);
        let mut points = Vec::new();
        for share in &self.shares {
            let work = self.work(comm, alone_us * share);
            let (work, busy_us) = (Some(work), time_of(comm, work));
            let both = repeater.run(async |inner| self.sample(&starts, span, inner, work).await).await?;
            points.push((busy_us, both));
        }
        comm.barrier().await?;
        Ok(OverlapTimes { message, points })
    }
}

impl Overlap {
    fn work<E: Endpoint>(&self, comm: &E, us: f64) -> Work {
        let elements = (self.size / 8).max(1);
        // So much of it is timed, then as much taken as lasts `us`: a computation may end within a pass.
        let lasting = |unit: u64, work: &dyn Fn(u64) -> Work| {
            let each = time_of(comm, work(unit)) / unit as f64;
            work((us / each.max(1e-9)).round().max(1.0) as u64)
        };
        let daxpy = |threads| lasting(elements, &|turns| Work::Daxpy { elements, turns, threads });
        match self.spin {
            Spinning::Fixed => Work::Fixed(Time::from_us(us)),
            Spinning::Daxpy => daxpy(1),
            Spinning::Threads(threads) => daxpy(threads),
            Spinning::Stress => lasting(TIMED, &|bytes| Work::Stress { bytes }),
        }
    }
    /// Where only the sender can move data, it must know where to before it computes: the receiver waits first, as it
    /// does in W01's loop, where nothing makes the ranks start together. Its request, at the receiver.
    async fn receiver_waits<E: Endpoint>(&self, comm: &E, span: Span) -> Result<Option<E::Request>, Error> {
        let limits = comm.limits();
        if !self.sender || limits.deposit.is_none() || limits.fetch.is_some() {
            return Ok(None);
        }
        let empty = Span::new(span.memory, 0, 0);
        match comm.rank() {
            0 => comm.recv(Some(1), Some(2), empty).await.map(|_| None),
            1 => {
                let request = comm.irecv(Some(0), Some(0), span)?;
                comm.send(0, 2, empty).await?;
                Ok(Some(request))
            }
            _ => Ok(None),
        }
    }
    /// Messages one by one, with computation at rank 0 between the start of each and the wait. Both ranks begin together.
    async fn sample<E: Endpoint>(
        &self,
        starts: &Starts<'_, E>,
        span: Span,
        inner: u64,
        work: Option<Work>,
    ) -> Result<(f64, Time), Error> {
        let mut time = Time::ZERO;
        for turn in 0..inner {
            if self.plan.buffers == Buffers::Rewritten {
                rewrite(starts.comm, span, turn as u8)?;
            }
            time += loop {
                starts.together().await?;
                let one = self.message(starts.comm, span, work).await?;
                if starts.held().await? {
                    break one;
                }
            };
        }
        Ok((time.us() / inner as f64, time))
    }
    /// One message, and how long this rank had to do with it.
    async fn message<E: Endpoint>(&self, comm: &E, span: Span, work: Option<Work>) -> Result<Time, Error> {
        let empty = Span::new(span.memory, 0, 0);
        let waits = self.receiver_waits(comm, span).await?;
        let start = comm.now();
        if comm.rank() == 0 {
            let request = match self.sender {
                true => comm.isend(1, 0, span)?,
                false => comm.irecv(Some(1), Some(0), span)?,
            };
            if let Some(work) = work {
                comm.compute(work);
            }
            comm.wait(request).await?;
            if self.sender {
                comm.recv(Some(1), Some(1), empty).await?;
            }
        } else if comm.rank() == 1 && self.sender {
            match waits {
                Some(request) => comm.wait(request).await.map(|_| ())?,
                None => comm.recv(Some(0), Some(0), span).await.map(|_| ())?,
            }
            comm.send(0, 1, empty).await?;
        } else if comm.rank() == 1 {
            comm.send(0, 0, span).await?;
        }
        Ok(comm.now() - start)
    }
}

/// The least time of a computation alone.
fn time_of<E: Endpoint>(comm: &E, work: Work) -> f64 {
    let once = |_| {
        let start = comm.now();
        comm.compute(work);
        (comm.now() - start).us()
    };
    (0..5).map(once).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wherever the points lie, the knee of a curve that is level and then goes up one for one is found.
    #[test]
    fn saturation_is_the_knee_and_not_a_point() {
        let total = |busy_us: f64| 500.0_f64.max(busy_us + 120.0);
        for shares in [vec![0.1, 0.5, 1.0, 3.0], vec![0.2, 0.76, 0.9], vec![2.0], vec![0.0, 0.5, 10.0]] {
            let totals: Vec<(f64, f64)> = shares.iter().map(|share| (500.0 * share, total(500.0 * share))).collect();
            let found = saturation(500.0, &totals).expect("it grows");
            assert!((found - 380.0).abs() < 1e-9, "{found} from {shares:?}");
        }
        assert_eq!(saturation(500.0, &[(100.0, 500.0), (300.0, 500.0)]), None);
    }
}
