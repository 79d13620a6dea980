//! Collectives: from a common start until the last rank is done, alone or with other messages under way.

use crate::clocks::{Clocks, wait_for};
use crate::plan::{Buffers, Repeater, rewrite};
use crate::tuned::{Starts, blank};
use crate::{Bench, Plan, Samples, Summary};
use hotlink_fabric::units::Time;
use hotlink_message::{CollectiveCall, Combine, Element, Endpoint, Error, Operation, Tag};
use hotlink_port::background::{BackgroundSpec, Turns, WINDOW};
use hotlink_port::{Kind, Span};
use serde::{Deserialize, Serialize};
use std::cell::Cell;

/// The meaning of a reduce-scatter's size in OSU's and IMB's programs; in ours it is a rank's part.
pub const OF_ALL_PARTS: &str = "all that each rank gives";

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
    /// A half, one or one and a half times `size` bytes from every rank to every other, see [`part`].
    Alltoallv,
    /// `size` bytes of every rank to rank 0.
    Gather,
    /// `size` bytes from rank 0 to each rank.
    Scatter,
    /// Doubles summed, of which each rank gets `size` bytes.
    ReduceScatter,
}

impl Which {
    /// All of them.
    pub const ALL: [Which; 10] = [
        Which::Barrier,
        Which::Bcast,
        Which::Reduce,
        Which::Allreduce,
        Which::Allgather,
        Which::Alltoall,
        Which::Alltoallv,
        Which::Gather,
        Which::Scatter,
        Which::ReduceScatter,
    ];
    /// Its name in records.
    pub fn name(self) -> &'static str {
        if self == Which::Alltoallv { "alltoallv" } else { self.collective().name() }
    }
    /// Whether operations in a row flow into each other, since some ranks hear of no other, or none of them.
    pub fn flows(self) -> bool {
        matches!(self, Which::Bcast | Which::Reduce | Which::Gather | Which::Scatter)
    }
    /// Whether adapters and reduction networks carry it by themselves.
    pub fn is_carried_by_adapters(self) -> bool {
        matches!(self, Which::Barrier | Which::Bcast | Which::Allreduce | Which::Reduce)
    }
    /// Bytes of the vector whose combination of all ranks would do it. A sum of nothing is a barrier, and one to which all
    /// but the root add zeros is a broadcast. Of a reduce-scatter it is what a rank gives for the others.
    pub fn combined(self, size: u64, ranks: u32) -> Option<u64> {
        match self {
            Which::Barrier | Which::Bcast | Which::Reduce | Which::Allreduce => Some(size),
            Which::ReduceScatter => Some(size.saturating_mul(u64::from(ranks.saturating_sub(1)))),
            _ => None,
        }
    }
    /// Bytes of an element: sizes are multiples of it. Numbers are combined, and parts of several lengths are whole words.
    pub fn element_bytes(self) -> u64 {
        match self {
            Which::Reduce | Which::Allreduce | Which::ReduceScatter | Which::Alltoallv => 8,
            _ => 1,
        }
    }
    /// Checks a size in bytes.
    ///
    /// # Errors
    /// It is no multiple of an element.
    pub fn check_size(self, size: u64) -> Result<(), String> {
        let element = self.element_bytes();
        if size.is_multiple_of(element) {
            return Ok(());
        }
        Err(format!("{size}: elements of {} have {element} B; must be a multiple of {element}", self.name()))
    }
    /// A call of it, as rules of MPIs see it: of elements of 8 bytes.
    pub fn call(self, ranks: u32, bytes: u64) -> CollectiveCall {
        let (collective, is_uneven) = (self.collective(), self == Which::Alltoallv);
        CollectiveCall { collective, is_uneven, ranks, bytes, element_bytes: 8 }
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
            Which::Alltoall | Which::Alltoallv => Collective::Alltoall,
            Which::Gather => Collective::Gather,
            Which::Scatter => Collective::Scatter,
            Which::ReduceScatter => Collective::ReduceScatter,
        }
    }
    /// Bytes that the busiest of `ranks` sends or receives at least, of `size` bytes (see [`Which`]); of parts of several
    /// lengths their mean.
    pub fn moved(self, size: f64, ranks: f64) -> f64 {
        match self {
            Which::Barrier => 0.0,
            Which::Bcast | Which::Reduce => size,
            Which::Allreduce => 2.0 * size * (ranks - 1.0) / ranks,
            Which::Allgather
            | Which::Alltoall
            | Which::Alltoallv
            | Which::Gather
            | Which::Scatter
            | Which::ReduceScatter => size * (ranks - 1.0),
        }
    }
    /// The size of the same where each node stands for `each` of its ranks. What these move among themselves never leaves
    /// the node, and they may combine it there.
    pub fn of_nodes(self, size: u64, each: u64) -> u64 {
        match self {
            Which::Alltoall | Which::Alltoallv => size * each * each,
            Which::Allgather | Which::ReduceScatter | Which::Gather | Which::Scatter => size * each,
            Which::Barrier | Which::Bcast | Which::Reduce | Which::Allreduce => size,
        }
    }
    /// Bytes that all of `ranks` together must write at least, however the operation goes about it.
    pub fn written(self, size: u64, ranks: u32) -> f64 {
        let (bytes, all) = (size as f64, f64::from(ranks));
        match self {
            Which::Barrier => 0.0,
            // The result; what it is made of is read, which no copy's rate bounds.
            Which::Reduce => bytes,
            Which::Allreduce | Which::ReduceScatter => bytes * all,
            Which::Bcast | Which::Gather | Which::Scatter => bytes * (all - 1.0),
            Which::Allgather | Which::Alltoall => bytes * all * (all - 1.0),
            Which::Alltoallv => {
                let pairs = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
                pairs.filter(|(from, to)| from != to).map(|(from, to)| part(size, from, to)).sum::<u64>() as f64
            }
        }
    }
}

/// Bytes from rank `from` to rank `to` in alltoallv, in whole words of 8 bytes. On average over three neighbours they
/// are `size`, and at least one word where `size` has one.
pub fn part(size: u64, from: u32, to: u32) -> u64 {
    let words = size / 8 * u64::from(1 + (from + to) % 3) / 2;
    8 * words.max((size / 8).min(1))
}

/// How ranks begin together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Start {
    /// When they leave a barrier; each takes its own time from there.
    #[default]
    Barrier,
    /// The same, with a barrier before each operation, which is timed by itself: as the OSU benchmarks do. Where the
    /// library is foreign, its own clock is read next to its call, as there.
    Each,
    /// At an agreed moment of clocks brought together; all take their time from there.
    Window,
}

impl Start {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Start::Barrier => "barrier",
            Start::Each => "each",
            Start::Window => "window",
        }
    }
}

/// The benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Collective {
    /// Which.
    pub which: Which,
    /// Bytes, see [`Which`].
    pub size: u64,
    /// Parts lie in ordinary memory, not in what the port likes best.
    pub private: bool,
    /// How ranks begin together in real time.
    pub start: Start,
    /// Other messages under way during each operation, in real time; a simulation has its own traffic.
    pub background: Option<BackgroundSpec>,
    /// Repetitions.
    pub plan: Plan,
}

/// The results of a rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Collected {
    /// Times in microseconds.
    pub samples: Samples,
    /// Most that this rank's clock may be wrong against rank 0's, in microseconds.
    pub clock_error_us: f64,
    /// When it left some barriers, by rank 0's clock, in microseconds.
    pub left_us: Vec<f64>,
    /// Operations that it began too late, of a [`Start::Window`].
    pub late: u64,
}

impl Collected {
    /// Times of the ranks, without the rest.
    pub fn samples(ranks: &[Collected]) -> Vec<Samples> {
        ranks.iter().map(|rank| rank.samples.clone()).collect()
    }
    /// How far apart the ranks leave a barrier: the median over some, in microseconds.
    pub fn spread_us(ranks: &[Collected]) -> f64 {
        let n = ranks.iter().map(|rank| rank.left_us.len()).min().unwrap_or(0);
        let spread = |i: usize| {
            let times = || ranks.iter().map(|rank| rank.left_us[i]);
            times().fold(f64::NEG_INFINITY, f64::max) - times().fold(f64::INFINITY, f64::min)
        };
        Summary::of(&(0..n).map(spread).collect::<Vec<_>>()).map_or(0.0, |summary| summary.median)
    }
}

/// Barriers from which the spread of their ends is taken.
const BARRIERS: usize = 11;
const BACKGROUND: Tag = 31_000;
/// A window begins this many times the news' travel time ahead.
const AHEAD: u64 = 4;

/// Memory of one run.
pub(crate) struct Places {
    one: Span,
    all: Span,
    send: Vec<Span>,
    recv: Vec<Span>,
    background: Option<Disturbance>,
    word: Span,
}

/// Background messages: which rank has which under way when, and their memory.
struct Disturbance {
    turns: Turns,
    /// Operations so far, the same number on all ranks.
    turn: Cell<u64>,
    out: Span,
    into: Span,
}

impl Collective {
    /// The maximum over the ranks, sample by sample.
    pub fn slowest(ranks: &[Samples]) -> Samples {
        let n = ranks.iter().map(|rank| rank.values.len()).min().unwrap_or(0);
        let slowest = |i: usize| ranks.iter().map(|rank| rank.values[i]).fold(0.0, f64::max);
        let first = ranks.first().cloned().unwrap_or_default();
        Samples { values: (0..n).map(slowest).collect(), ..first }
    }
    /// Whether each operation is begun and timed by itself, not in a row of them.
    pub fn is_by_itself(&self) -> bool {
        self.start != Start::Barrier || self.background.is_some() || self.plan.buffers == Buffers::Rewritten
    }
    pub(crate) async fn once<E: Endpoint>(&self, comm: &E, places: &Places) -> Result<(), Error> {
        let sum = Operation { combine: Combine::Sum, element: Element::F64 };
        let (one, all) = (places.one, places.all);
        match self.which {
            Which::Barrier => comm.barrier().await,
            Which::Bcast => comm.bcast(0, one).await,
            Which::Reduce => comm.reduce(0, sum, one, one_of(all, self.size)).await,
            Which::Allreduce => comm.allreduce(sum, one, one_of(all, self.size)).await,
            Which::Allgather => comm.allgather(one, all).await,
            Which::Alltoall => comm.alltoall(one, all).await,
            Which::Alltoallv => comm.alltoallv(&places.send, &places.recv).await,
            Which::Gather => comm.gather(0, one, all).await,
            Which::Scatter => comm.scatter(0, one, one_of(all, self.size)).await,
            Which::ReduceScatter => comm.reduce_scatter(sum, one, one_of(all, self.size)).await,
        }
    }
    pub(crate) fn places<E: Endpoint>(&self, comm: &E) -> Result<Places, Error> {
        let (size, ranks, me) = (self.size, comm.ranks(), comm.rank());
        let (sent, received) = match self.which {
            // Parts are at most one and a half times the size.
            Which::Alltoallv => (2 * size * u64::from(ranks), 2 * size * u64::from(ranks)),
            Which::Alltoall | Which::Scatter | Which::ReduceScatter => {
                (size * u64::from(ranks), size * u64::from(ranks))
            }
            _ => (size, size * u64::from(ranks)),
        };
        let kind = if self.private { Kind::Private } else { blank(comm) };
        let new = |bytes, kind| Ok::<_, Error>(Span::new(comm.alloc(bytes, kind)?, 0, bytes));
        let (one, all) = (new(sent, kind)?, new(received, kind)?);
        let (mut send, mut recv) = (Vec::new(), Vec::new());
        if self.which == Which::Alltoallv {
            send = row(one, (0..ranks).map(|to| part(size, me, to)));
            recv = row(all, (0..ranks).map(|from| part(size, from, me)));
        }
        let background = self.background.map(|spec| {
            let (turns, turn) = (spec.turns(ranks), Cell::new(0));
            Ok::<_, Error>(Disturbance { turns, turn, out: new(spec.size, kind)?, into: new(spec.size, kind)? })
        });
        Ok(Places { one, all, send, recv, background: background.transpose()?, word: new(16, Kind::Private)? })
    }
    fn disturb<E: Endpoint>(&self, comm: &E, places: &Places) -> Result<Vec<E::Request>, Error> {
        let Some(Disturbance { turns, turn, out, into }) = &places.background else { return Ok(Vec::new()) };
        let (me, turn) = (comm.rank(), turn.replace(turn.get() + 1));
        let mut requests = Vec::with_capacity(2 * WINDOW as usize);
        for from in (0..comm.ranks()).filter(|&from| from != me) {
            for _ in turns.during(turn, from).into_iter().filter(|&to| to == me) {
                requests.push(comm.irecv(Some(from), Some(BACKGROUND), *into)?);
            }
        }
        for to in turns.during(turn, me) {
            requests.push(comm.isend(to, BACKGROUND, *out)?);
        }
        Ok(requests)
    }
    /// One operation by itself; its time on this rank, and whether it began in time.
    async fn single<E: Endpoint>(
        &self,
        starts: &Starts<'_, E>,
        places: &Places,
        window: Option<(&Clocks, Time)>,
    ) -> Result<(Time, bool), Error> {
        let (comm, mut in_time) = (starts.comm, true);
        let mut start = match window {
            Some((clocks, ahead)) => clocks.agree(comm, places.word, ahead).await?,
            None => starts.together().await?,
        };
        let disturbing = self.disturb(comm, places)?;
        match window {
            Some(_) => in_time = wait_for(comm, start),
            None => start = comm.now(),
        }
        self.once(comm, places).await?;
        // Clocks may be wrong by more than a short operation takes.
        let time = comm.took().unwrap_or(Time(comm.now().0.saturating_sub(start.0)));
        comm.wait_all(disturbing).await?;
        Ok((time, in_time))
    }
    /// All operations in a row.
    async fn row<E: Endpoint>(&self, starts: &Starts<'_, E>, places: &Places, inner: u64) -> Result<Time, Error> {
        loop {
            let start = starts.together().await?;
            for _ in 0..inner {
                self.once(starts.comm, places).await?;
            }
            let time = starts.comm.now() - start;
            if starts.held().await? {
                return Ok(time);
            }
        }
    }
}

fn one_of(all: Span, size: u64) -> Span {
    Span::new(all.memory, 0, size)
}

/// Parts one behind the other.
fn row(whole: Span, parts: impl Iterator<Item = u64>) -> Vec<Span> {
    let mut offset = 0;
    let next = |bytes| {
        offset += bytes;
        Span::new(whole.memory, offset - bytes, bytes)
    };
    parts.map(next).collect()
}

impl Bench for Collective {
    type Result = Collected;
    async fn on<E: Endpoint>(&self, comm: &E) -> Result<Collected, Error> {
        let places = self.places(comm)?;
        let real = comm.limits().real_time;
        let clocks = Clocks::compare(comm).await?;
        let (mut left_us, mut early_us) = (Vec::new(), Vec::new());
        let mut news = Time::ZERO;
        for _ in (0..BARRIERS).filter(|_| real) {
            comm.barrier().await?;
            let left = clocks.common(comm.now());
            left_us.push(left.us());
            early_us.push((comm.latest(left).await? - left).us());
            let start = comm.now();
            clocks.agree(comm, places.word, Time::ZERO).await?;
            news = news.max(comm.latest(comm.now() - start).await?);
        }
        let window = (real && self.start == Start::Window).then_some((&clocks, Time(AHEAD * news.0)));
        // Rows are so long that it does not matter which rank leaves the barrier first, and how much earlier. But the
        // longer the row of operations that flow into each other, the less it says about one.
        let early = Summary::of(&early_us).map_or(0.0, |summary| summary.median);
        let is_row = real && !self.which.flows() && !self.is_by_itself();
        let spread = if is_row { comm.latest(Time::from_us(early)).await? } else { Time::ZERO };
        let repeater = Repeater::new(comm, &self.plan)?.beginning_apart(spread.us());
        let (late, starts) = (Cell::new(0), Starts::of(comm, &self.plan));
        let sample = async |inner| {
            let mut time = Time::ZERO;
            if !self.is_by_itself() {
                time = self.row(&starts, &places, inner).await?;
                return Ok((time.us() / inner as f64, time));
            }
            for turn in 0..inner {
                if self.plan.buffers == Buffers::Rewritten {
                    rewrite(comm, places.one, turn as u8)?;
                }
                let (one, in_time) = self.single(&starts, &places, window).await?;
                time += one;
                late.set(late.get() + u64::from(!in_time));
            }
            Ok((time.us() / inner as f64, time))
        };
        comm.time_calls(self.start == Start::Each);
        let samples = repeater.run(sample).await?;
        comm.time_calls(false);
        if real {
            comm.barrier().await?;
        }
        Ok(Collected { samples, clock_error_us: clocks.error_us, left_us, late: late.get() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_match_at_both_ends_and_fit() {
        for (size, ranks) in [(8, 2), (64, 5), (1000, 3)] {
            for me in 0..ranks {
                let (sent, received) = (|to| part(size, me, to), |from| part(size, from, me));
                assert!((0..ranks).map(sent).sum::<u64>() <= 2 * size * u64::from(ranks));
                assert!((0..ranks).map(received).sum::<u64>() <= 2 * size * u64::from(ranks));
            }
        }
        assert_eq!([part(1024, 0, 0), part(1024, 0, 1), part(1024, 1, 1)], [512, 1024, 1536]);
    }

    #[test]
    fn no_part_is_empty_where_there_is_a_word_to_send() {
        let parts = |size| [part(size, 0, 0), part(size, 0, 1), part(size, 1, 1)];
        assert_eq!([parts(0), parts(7)], [[0; 3]; 2]);
        assert_eq!([parts(8), parts(16), parts(24)], [[8, 8, 8], [8, 16, 24], [8, 24, 32]]);
    }

    #[test]
    fn the_spread_is_from_first_to_last() {
        let left = |left_us: &[f64]| Collected { left_us: left_us.to_vec(), ..Collected::default() };
        assert_eq!(Collected::spread_us(&[left(&[1.0, 5.0]), left(&[3.0, 5.0]), left(&[2.0, 4.0])]), 1.5);
    }
}
