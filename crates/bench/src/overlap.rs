//! Overlap of communication and computation, after W01 (slides 18 to 22): a message without waiting, a computation,
//! then the wait.

use crate::plan::{Buffers, Repeater, rewrite};
use crate::tuned::together;
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
    /// Compute by DAXPY over vectors of the message's size (W01's DAXPY), else on one variable (FIXED).
    pub daxpy: bool,
    /// What memory the message lies in.
    pub private: bool,
    /// Repetitions.
    pub plan: Plan,
}

/// What rank 0 saw, all in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverlapTimes {
    /// The message alone.
    pub message: Samples,
    /// For each share: the computation alone (median), and both together.
    pub points: Vec<(f64, Samples)>,
}

/// The total counts as longer than the message alone from this factor on: saturation.
const LONGER: f64 = 1.05;

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
        let saturated = totals.iter().find(|(_, total_us)| *total_us > LONGER * message_us);
        let saturation_us = saturated.map(|(busy_us, _)| *busy_us);
        let point = |(&(busy_us, total_us), (_, samples)): (&(f64, f64), &(f64, Samples))| {
            // What can be hidden is the shorter of the two.
            let hidden = (message_us + busy_us - total_us) / message_us.min(busy_us);
            let overhead = (total_us - busy_us) / message_us;
            // What is hidden completely takes as long as the longer of the two at its best, and each total holds a whole
            // computation, too: on a machine that others load, neither is at its best alone.
            let bound_us = least_us.max(busy_us.min(least(samples)));
            Record::new()
                .with("compute_us", busy_us)
                .with("message_us", message_us)
                .with("total_us", total_us)
                .with("overlap", hidden.clamp(0.0, 1.0))
                .with("saturation_us", saturation_us)
                .with("w01_overhead", overhead)
                .with("w01_hidden", 1.0 - overhead)
                .with("bound_total_us", bound_us)
                .with("efficiency", bound_us / total_us)
                .with("limiting_resource", if busy_us > message_us { "computation" } else { "message" })
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
        let message = repeater.run(async |inner| self.sample(comm, span, inner, None).await).await?;
        let alone_us = Summary::of(&message.values).map_or(0.0, |summary| summary.median);
        let mut points = Vec::new();
        for share in &self.shares {
            let work = self.work(comm, alone_us * share);
            let (work, busy_us) = (Some(work), time_of(comm, work));
            let both = repeater.run(async |inner| self.sample(comm, span, inner, work).await).await?;
            points.push((busy_us, both));
        }
        comm.barrier().await?;
        Ok(OverlapTimes { message, points })
    }
}

impl Overlap {
    fn work<E: Endpoint>(&self, comm: &E, us: f64) -> Work {
        if !self.daxpy {
            return Work::Fixed(Time::from_us(us));
        }
        let elements = (self.size / 8).max(1);
        let once = time_of(comm, Work::Daxpy { elements, repeats: 1 });
        Work::Daxpy { elements, repeats: (us / once.max(1e-3)).round().max(1.0) as u64 }
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
    /// One message, with computation at rank 0 between its start and the wait. Both ranks begin together.
    async fn sample<E: Endpoint>(
        &self,
        comm: &E,
        span: Span,
        inner: u64,
        work: Option<Work>,
    ) -> Result<(f64, Time), Error> {
        let empty = Span::new(span.memory, 0, 0);
        let mut time = Time::ZERO;
        for turn in 0..inner {
            if self.plan.buffers == Buffers::Rewritten {
                rewrite(comm, span, turn as u8)?;
            }
            together(comm, Time::from_us(self.plan.rest_us)).await?;
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
            time += comm.now() - start;
        }
        Ok((time.us() / inner as f64, time))
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
