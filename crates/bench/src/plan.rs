//! How often a benchmark is repeated in one block of its samples: until the block's time is up, decided by rank 0 for all.
//! A block never ends because its values look alike: intervals of blocks chosen so would be too narrow.

use crate::Summary;
use crate::tuned::Starts;
use hotlink_fabric::units::Time;
use hotlink_message::{Endpoint, Error, Tag};
use hotlink_port::{Edge, Kind, Memory, Rank, Span, Work};
use serde::{Deserialize, Serialize};

/// The state of a send buffer between messages: its lines are in the sender's cache, or shared with the receiver's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Buffers {
    /// Left as it is.
    #[default]
    Kept,
    /// Written anew before each message, outside of the time that counts.
    Rewritten,
}

impl Buffers {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Buffers::Kept => "kept",
            Buffers::Rewritten => "rewritten",
        }
    }
}

/// When to stop, per point and block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// As many samples at least, as far as the time allows.
    pub samples_min: usize,
    /// At most this many.
    pub samples_max: usize,
    /// Stop after this time, with one sample at least.
    pub time_us: f64,
    /// Repetitions before the first sample. Those after the first one take at most a quarter of the time. Real ports
    /// repeat until 5 ms have passed.
    pub warmup: u64,
    /// In virtual time: how long ranks wait for their common start, the news of which must reach all before it.
    pub rest_us: f64,
    /// In virtual time: whether other traffic may delay that news. Work that a rank began too late is then repeated,
    /// after a longer wait.
    pub is_loaded: bool,
    /// In virtual time: operations in a row that a sample averages over, each flowing into the next.
    pub row: u64,
    /// Send buffers between messages.
    pub buffers: Buffers,
}

/// How long a warm-up takes on a real port, if a quarter of the time allows it. Ports and libraries send through
/// buffers whose pages are untouched before their first round. A hundred messages of 4 KiB do not go round a buffer of
/// 1 MiB.
const WARM_UP_US: f64 = 5_000.0;

/// Long enough for news to reach every rank of a large idle machine.
const REST_US: f64 = 10_000.0;

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            samples_min: 50,
            samples_max: 10_000,
            time_us: 500_000.0,
            warmup: 10,
            rest_us: REST_US,
            is_loaded: false,
            row: 1,
            buffers: Buffers::Kept,
        }
    }
}

impl Plan {
    /// Virtual time repeats exactly: once is enough.
    pub fn once() -> Plan {
        Plan {
            samples_min: 1,
            samples_max: 1,
            time_us: f64::INFINITY,
            warmup: 1,
            rest_us: REST_US,
            is_loaded: false,
            row: 1,
            buffers: Buffers::Kept,
        }
    }
    /// The reason why a block of `samples` ended: its time, or their number.
    pub fn ended_by(&self, samples: usize) -> &'static str {
        if samples < self.samples_max { "time" } else { "samples" }
    }
    /// Whether samples taken since `since_us` are enough.
    pub fn is_enough(&self, samples: usize, since_us: f64) -> bool {
        samples >= self.samples_max || samples > 0 && since_us >= self.time_us
    }
}

/// The measurements of a rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// In the benchmark's unit.
    pub values: Vec<f64>,
    /// Repetitions in each sample, so that the timer's cost is small against them.
    pub inner: u64,
    /// Repetitions before the first sample.
    pub warmup: u64,
    /// The clock that took them.
    pub timer: Timer,
}

/// The resolution of a clock, in microseconds; zero in virtual time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timer {
    /// Cost of reading it.
    pub overhead_us: f64,
    /// Its smallest step seen.
    pub resolution_us: f64,
}

impl Timer {
    /// Of this rank's clock.
    pub fn of<E: Endpoint>(comm: &E) -> Timer {
        if !comm.limits().real_time {
            return Timer::default();
        }
        let step = |_| {
            let start = comm.now();
            let later = std::iter::repeat_with(|| comm.now()).take(1000).find(|&now| now > start);
            later.map_or(f64::INFINITY, |later| (later - start).us())
        };
        let resolution_us = (0..50).map(step).fold(f64::INFINITY, f64::min);
        Timer { overhead_us: timer_overhead(comm), resolution_us }
    }
}

/// Cost of reading the clock in microseconds: the median of batches.
fn timer_overhead<E: Endpoint>(comm: &E) -> f64 {
    const READS: u32 = 100;
    let batch = |_| {
        let start = comm.now();
        (1..READS).for_each(|_| _ = comm.now());
        (comm.now() - start).us() / f64::from(READS)
    };
    let batches: Vec<f64> = (0..11).map(batch).collect();
    Summary::of(&batches).map_or(0.0, |summary| summary.median)
}

/// No benchmark's own; MPI allows tags up to 32767 everywhere.
const ORDERS: Tag = 32_000;
/// The largest error of a sample's ends over its time: the timer's cost, ranks that do not start together.
const ENDS_SHARE: f64 = 0.01;
const INNER_MAX: u64 = 10_000;

/// Repeats samples on ranks of `comm` in step, the first of them deciding how often.
pub(crate) struct Repeater<'a, E: Endpoint> {
    comm: &'a E,
    plan: &'a Plan,
    orders: Memory,
    /// `None`: all, so that a rank needs no memory for each of them.
    members: Option<Vec<Rank>>,
    timer: Timer,
    /// How far apart the ranks begin a sample, in microseconds.
    spread_us: f64,
}

/// The next order of rank 0 to the others.
#[derive(Clone, Copy)]
struct Order {
    samples: u64,
    inner: u64,
    keep: bool,
}

impl<'a, E: Endpoint> Repeater<'a, E> {
    pub(crate) fn new(comm: &'a E, plan: &'a Plan) -> Result<Repeater<'a, E>, Error> {
        Repeater::of(comm, plan, None)
    }
    /// For some of the ranks; the first leads.
    pub(crate) fn among(comm: &'a E, plan: &'a Plan, members: Vec<Rank>) -> Result<Repeater<'a, E>, Error> {
        Repeater::of(comm, plan, Some(members))
    }
    /// One size after the other; no rank leaves before all are done.
    pub(crate) async fn each<T>(
        &self,
        sizes: &[u64],
        one: impl AsyncFn(u64) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut all = Vec::with_capacity(sizes.len());
        for &size in sizes {
            all.push(one(size).await?);
        }
        self.comm.barrier().await?;
        Ok(all)
    }
    fn of(comm: &'a E, plan: &'a Plan, members: Option<Vec<Rank>>) -> Result<Repeater<'a, E>, Error> {
        Ok(Repeater {
            comm,
            plan,
            orders: comm.alloc(24, Kind::Private)?,
            members,
            timer: Timer::of(comm),
            spread_us: 0.0,
        })
    }
    /// Samples that begin when the ranks leave a barrier, at times this far apart, are long against that.
    pub(crate) fn beginning_apart(self, spread_us: f64) -> Self {
        Repeater { spread_us, ..self }
    }
    fn member(&self, place: u32) -> Rank {
        self.members.as_ref().map_or(place, |members| members[place as usize])
    }
    /// Time of `inner` runs of `once` on this rank, begun together at `starts`, if at any. It times all in one, or one
    /// by one where `sent` must be rewritten before each.
    pub(crate) async fn time(
        &self,
        inner: u64,
        sent: Span,
        starts: Option<&Starts<'_, E>>,
        once: impl AsyncFn() -> Result<(), Error>,
    ) -> Result<Time, Error> {
        let kept = self.plan.buffers == Buffers::Kept;
        let (rows, each) = if kept { (1, inner) } else { (inner, 1) };
        let mut time = Time::ZERO;
        for turn in 0..rows {
            if !kept {
                rewrite(self.comm, sent, turn as u8)?;
            }
            time += self.timed(each, starts, &once).await?;
        }
        Ok(time)
    }
    async fn timed(
        &self,
        inner: u64,
        starts: Option<&Starts<'_, E>>,
        once: impl AsyncFn() -> Result<(), Error>,
    ) -> Result<Time, Error> {
        loop {
            let start = match starts {
                Some(starts) => starts.agreed().await?,
                None => self.comm.now(),
            };
            for _ in 0..inner {
                once().await?;
            }
            let time = self.comm.now() - start;
            match starts {
                Some(starts) if !starts.held().await? => {}
                _ => return Ok(time),
            }
        }
    }

    /// Runs `sample(inner)` on every rank as often as the plan wants. A sample gives its value, in whatever unit, and
    /// the time that it took.
    pub(crate) async fn run(&self, sample: impl AsyncFn(u64) -> Result<(f64, Time), Error>) -> Result<Samples, Error> {
        let mut samples = Samples { inner: 1, timer: self.timer, ..Samples::default() };
        if self.plan.samples_max == 1 && !self.comm.limits().real_time {
            // Virtual time repeats exactly, and every rank knows that: no order is needed.
            for _ in 0..self.plan.warmup {
                sample(self.plan.row).await?;
            }
            (samples.warmup, samples.inner) = (self.plan.warmup, self.plan.row);
            self.mark(Edge::Begins);
            samples.values.push(sample(self.plan.row).await?.0);
            self.mark(Edge::Ends);
            // The clean-up afterwards interrupts others, and must not reach those that are not done.
            self.comm.compute(Work::Rest(Time::from_us(self.plan.rest_us)));
            return Ok(samples);
        }
        if self.comm.rank() != self.member(0) {
            loop {
                let order = self.hear().await?;
                if order.samples == 0 {
                    return Ok(samples);
                }
                self.obey(order, &sample, &mut samples).await?;
            }
        }
        let warmup = |samples| Order { samples, inner: 1, keep: false };
        let began = self.comm.now();
        let mut one = self.lead(warmup(1), &sample, &mut samples).await?;
        // Warm-up takes no longer than a quarter of the time for samples.
        let fit = (self.plan.time_us / 4.0 / one.us().max(1e-6)) as u64;
        let more = self.plan.warmup.saturating_sub(1).min(fit);
        if more > 0 {
            one = self.lead(warmup(more), &sample, &mut samples).await?;
        }
        let wanted_us = if self.comm.limits().real_time { WARM_UP_US.min(self.plan.time_us / 4.0) } else { 0.0 };
        loop {
            let left_us = wanted_us - (self.comm.now() - began).us();
            if left_us <= 0.0 {
                break;
            }
            // Most take longer than the shortest.
            let some = (left_us / one.us().max(self.timer.overhead_us).max(1e-3) / 4.0).clamp(1.0, 1e6) as u64;
            one = one.min(self.lead(warmup(some), &sample, &mut samples).await?);
        }
        // As far as that leaves the time for enough samples: ranks that share cores may begin milliseconds apart.
        let apart_us = (self.spread_us / ENDS_SHARE).min(self.plan.time_us / self.plan.samples_min as f64);
        let wanted_us = apart_us.max(self.timer.overhead_us / ENDS_SHARE);
        let inner =
            (wanted_us / one.us().max(self.timer.overhead_us).max(1e-6)).ceil().clamp(1.0, INNER_MAX as f64) as u64;
        let start = self.comm.now();
        loop {
            let batch = self.plan.samples_min.max(samples.values.len() / 2).min(self.plan.samples_max) as u64;
            let left_us = self.plan.time_us - (self.comm.now() - start).us();
            let left = (left_us / (one.us().max(1e-6) * inner as f64)).clamp(1.0, 1e9) as u64;
            self.lead(Order { samples: batch.min(left), inner, keep: true }, &sample, &mut samples).await?;
            if self.plan.is_enough(samples.values.len(), (self.comm.now() - start).us()) {
                self.tell(Order { samples: 0, inner, keep: false }).await?;
                return Ok(samples);
            }
        }
    }
    /// As rank 0: all do as ordered. Returns the shortest sample's time, because a noisy one says nothing.
    async fn lead(
        &self,
        order: Order,
        sample: &impl AsyncFn(u64) -> Result<(f64, Time), Error>,
        samples: &mut Samples,
    ) -> Result<Time, Error> {
        self.tell(order).await?;
        self.obey(order, sample, samples).await
    }
    async fn obey(
        &self,
        order: Order,
        sample: &impl AsyncFn(u64) -> Result<(f64, Time), Error>,
        samples: &mut Samples,
    ) -> Result<Time, Error> {
        let mut shortest = Time(u64::MAX);
        samples.inner = order.inner;
        if order.keep {
            self.mark(Edge::Begins);
        }
        for _ in 0..order.samples {
            let (value, time) = sample(order.inner).await?;
            if order.keep {
                samples.values.push(value);
            } else {
                samples.warmup += 1;
            }
            shortest = shortest.min(time);
        }
        if order.keep {
            self.mark(Edge::Ends);
        }
        Ok(shortest)
    }
    /// An end of the timed part, on this rank.
    fn mark(&self, edge: Edge) {
        self.comm.compute(Work::Mark { edge, members: self.members() });
    }
    fn members(&self) -> u32 {
        self.members.as_ref().map_or(self.comm.ranks(), |members| members.len() as u32)
    }
    async fn tell(&self, order: Order) -> Result<(), Error> {
        let words = [order.samples, order.inner, u64::from(order.keep)];
        self.comm.write(self.orders, 0, words.map(u64::to_le_bytes).as_flattened())?;
        for place in 1..self.members() {
            self.comm.send(self.member(place), ORDERS, Span::new(self.orders, 0, 24)).await?;
        }
        Ok(())
    }
    async fn hear(&self) -> Result<Order, Error> {
        self.comm.recv(Some(self.member(0)), Some(ORDERS), Span::new(self.orders, 0, 24)).await?;
        let mut bytes = [0; 24];
        self.comm.read(self.orders, 0, &mut bytes)?;
        let word = |i: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[i * 8 + k]));
        Ok(Order { samples: word(0), inner: word(1), keep: word(2) == 1 })
    }
}

/// Writes memory anew in small pieces, so that their source takes little room in the cache.
pub(crate) fn rewrite<E: Endpoint>(comm: &E, span: Span, value: u8) -> Result<(), Error> {
    const PIECE: u64 = 4096;
    let piece = [value; PIECE as usize];
    for at in (0..span.bytes()).step_by(PIECE as usize) {
        let bytes = PIECE.min(span.bytes() - at);
        comm.write(span.memory, span.offset + at, &piece[..bytes as usize])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enough_is_late_or_all_and_never_nothing() {
        let plan = Plan { time_us: 100.0, samples_max: 60, ..Plan::default() };
        assert!(!plan.is_enough(59, 99.0) && plan.is_enough(60, 1.0));
        assert!(plan.is_enough(1, 100.0) && !plan.is_enough(0, 1e9));
        assert_eq!([plan.ended_by(59), plan.ended_by(60)], ["time", "samples"]);
    }
}
