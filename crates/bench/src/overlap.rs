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
    /// Computation times as shares of the message's own time; without any, the message alone is timed.
    pub shares: Vec<f64>,
    /// How it computes.
    pub spin: Spinning,
    /// Whether the message lies in private memory.
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
    /// DAXPY by that many threads at once, each over vectors of its own (W01 slide 21).
    Threads(u32),
}

impl Spinning {
    /// The threads of the form that has several.
    pub fn threads(self) -> Option<u32> {
        if let Spinning::Threads(threads) = self { Some(threads) } else { None }
    }
}

/// The times at rank 0, all in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverlapTimes {
    /// The message alone.
    pub message: Samples,
    /// For each share: the computation alone (median), and both together.
    pub points: Vec<(f64, Samples)>,
    /// The same of two computations more, which find the saturation whatever the shares: one well beyond it, one not
    /// quite there.
    pub around: Vec<(f64, Samples)>,
}

/// A computation that is surely longer than the saturation, in times of the message alone.
const BEYOND: f64 = 3.0;
/// The largest share of added computation by which a total counts as growing before the saturation.
const SLOWED: f64 = 0.9;
/// Bytes of a copy by which the rate of copies is found.
const TIMED: u64 = 1 << 20;

/// Where the total would begin to grow if the message took as long during a computation as alone. The ranks wait in
/// full for what is computed `beyond`, and the total is then the busy time and a rest that nothing hides. Never later
/// than the saturation.
fn begins(message_us: f64, beyond: (f64, f64)) -> f64 {
    (message_us - (beyond.1 - beyond.0)).max(0.0)
}

/// W01's saturation: the busy time from which on the total grows by all that is computed more. `before` is a point not
/// quite there: a computation that slows the message makes the total creep up to it.
fn saturation(message_us: f64, before: (f64, f64), beyond: (f64, f64)) -> f64 {
    let (busy_us, total_us) = before;
    let slowed = if busy_us > 0.0 { ((total_us - message_us) / busy_us).clamp(0.0, SLOWED) } else { 0.0 };
    begins(message_us, beyond) / (1.0 - slowed)
}

impl OverlapTimes {
    /// W01's curve: a record of each point, from `compute_us` to `limiting_resource`. `None` where no sample was taken.
    pub fn curve(&self) -> Option<Vec<Record>> {
        let median = |samples: &Samples| Summary::of(&samples.values).map(|summary| summary.median);
        let message_us = median(&self.message)?;
        let least = |samples: &Samples| samples.values.iter().copied().fold(f64::INFINITY, f64::min);
        // Each total holds a whole message: the fastest seen may be one of those.
        let least_us = self.points.iter().map(|(_, total)| least(total)).fold(least(&self.message), f64::min);
        let medians = |points: &[(f64, Samples)]| {
            points.iter().map(|(busy_us, total)| Some((*busy_us, median(total)?))).collect::<Option<Vec<_>>>()
        };
        let totals = medians(&self.points)?;
        let saturation_us = match medians(&self.around)?[..] {
            [beyond, before] => Some(saturation(message_us, before, beyond)),
            _ => None,
        };
        let point = |(&(busy_us, total_us), (_, samples)): (&(f64, f64), &(f64, Samples))| {
            // At most the shorter of the two can be hidden.
            let hidden = (message_us + busy_us - total_us) / message_us.min(busy_us);
            let overhead = (total_us - busy_us) / message_us;
            // If one hides the other completely, the total is the longer of the two at its best, and it holds a whole
            // computation, too. On a loaded machine, neither is at its best alone.
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
        let both = async |us: f64| -> Result<(f64, Samples), Error> {
            let work = self.work(comm, us);
            let (work, busy_us) = (Some(work), time_of(comm, work));
            let both = repeater.run(async |inner| self.sample(&starts, span, inner, work).await).await?;
            Ok((busy_us, both))
        };
        let mut points = Vec::new();
        if self.shares.is_empty() {
            comm.barrier().await?;
            return Ok(OverlapTimes { message, ..OverlapTimes::default() });
        }
        for share in &self.shares {
            points.push(both(alone_us * share).await?);
        }
        let beyond = both(alone_us * BEYOND).await?;
        let total_us = Summary::of(&beyond.1.values).map_or(0.0, |summary| summary.median);
        let before = both(begins(alone_us, (beyond.0, total_us))).await?;
        comm.barrier().await?;
        Ok(OverlapTimes { message, points, around: vec![beyond, before] })
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
    /// Where only the sender can move data, it must know the place before it computes. So the receiver waits first, as
    /// it does in W01's loop, where nothing makes the ranks start together. Returns its request, at the receiver.
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

    #[test]
    fn saturation_is_the_knee_where_the_total_is_level_or_creeps() {
        for creep in [0.0, 0.17, 0.5] {
            let total = |busy_us: f64| (500.0 + creep * busy_us).max(busy_us + 120.0);
            let beyond = (1500.0, total(1500.0));
            let begins = begins(500.0, beyond);
            assert!((begins - 380.0).abs() < 1e-9, "{begins}");
            let found = saturation(500.0, (begins, total(begins)), beyond);
            assert!((found - 380.0 / (1.0 - creep)).abs() < 1e-9, "{found} where it creeps by {creep}");
        }
        // All of it is waited for.
        assert_eq!(saturation(500.0, (0.0, 500.0), (1500.0, 2000.0)), 0.0);
    }
}
