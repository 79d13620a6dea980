//! Streams: windows of messages under way from each sender, one pair or many. One pair is `stream`, short messages are
//! `rate`. Many pairs are `saturation`: the aggregate is the bytes of all over the time until the last is done.

use crate::plan::{Buffers, Repeater};
use crate::tuned::Starts;
use crate::words::Word;
use crate::{Bench, Plan, Record, Samples, Summary};
use hotlink_message::{Endpoint, Error, Tag};
use hotlink_port::{Kind, Rank, Span};
use serde::{Deserialize, Serialize};

/// Bytes of a window's messages together, as far as [`Stream::WINDOW_MAX`] allows.
const WINDOW_BYTES: u64 = 4 << 20;
const DATA: Tag = 0;
const ANSWER: Tag = 1;

/// Between whom messages go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// From senders to receivers.
    #[default]
    Uni,
    /// Receivers send as much at the same time.
    Bi,
    /// Each rank of a pair to itself, both at the same time: the cost of a rank's own part that is sent as a message.
    Own,
}

impl Direction {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Uni => "uni",
            Direction::Bi => "bi",
            Direction::Own => "self",
        }
    }
}

/// How the messages of a window are called for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Calls {
    /// All of a window at once, then waited for together.
    #[default]
    Windowed,
    /// Each ends before the next begins, as programs and the trees of collectives call. A sender may run ahead of its
    /// receiver as far as the library lets it. Both ways that is a row of exchanges (receive posted, sent, waited for).
    Blocking,
}

impl Calls {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Calls::Windowed => "windowed",
            Calls::Blocking => "blocking",
        }
    }
}

/// The benchmark. Rank `i` of the first `pairs` sends windows of messages to rank `ranks - pairs + i`, which answers
/// each window with an empty message. With both ways at once, each rank waits for its sends and receives, without an
/// answer. Each rank returns its samples for every size. Those of senders are MB/s (10^6 bytes per second), both
/// directions together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// Message sizes in bytes.
    pub sizes: Vec<u64>,
    /// Pairs that send at once, at most half as many as ranks.
    pub pairs: u32,
    /// Messages of each sender before the receiver's answer; `None`: [`Stream::window`].
    pub window: Option<u64>,
    /// How they are called for.
    pub calls: Calls,
    /// Between whom they go.
    pub direction: Direction,
    /// Whether the messages lie in private memory.
    pub private: bool,
    /// Repetitions.
    pub plan: Plan,
}

impl Stream {
    /// Most messages of a window, if none is asked for.
    pub const WINDOW_MAX: u64 = 64;
    /// Messages of each sender before the receiver's answer.
    pub fn window(&self, size: u64) -> u64 {
        self.window.unwrap_or_else(|| (WINDOW_BYTES / size.max(1)).clamp(2, Stream::WINDOW_MAX))
    }
    /// Aggregate samples of the ranks' results of one run. For each size, sample by sample, they are the bytes of all
    /// pairs over the time of the slowest. Pairs begin together and move as many bytes. The sum of their own rates
    /// would exceed the link's, because a pair that has ended leaves its share of the link to the others.
    pub fn aggregate(&self, results: &[Vec<Samples>]) -> Vec<Samples> {
        let senders = &results[..(self.pairs as usize).min(results.len())];
        let sizes = senders.iter().map(Vec::len).min().unwrap_or(0);
        let all = |size: usize| {
            let n = senders.iter().map(|sender| sender[size].values.len()).min().unwrap_or(0);
            let slowest = |i: usize| senders.iter().map(|sender| sender[size].values[i]).fold(f64::INFINITY, f64::min);
            let values = (0..n).map(|i| slowest(i) * senders.len() as f64).collect();
            Samples { values, ..senders[0][size] }
        };
        (0..sizes).map(all).collect()
    }
    /// The record of the first size from what the ranks of one run returned, and the aggregate's samples; `None` where
    /// there is no sample.
    pub fn record(&self, head: Record, results: &[Vec<Samples>]) -> Option<(Record, Samples)> {
        let samples = self.aggregate(results).into_iter().next()?;
        let (size, bandwidth_mbps) = (*self.sizes.first()?, Summary::of(&samples.values)?.median);
        let record = head
            .with("pairs", self.pairs)
            .with("direction", self.direction.name())
            .with("size_B", size)
            .with("window", self.window(size))
            .with("calls", self.calls.name())
            .with("bandwidth_MBps", bandwidth_mbps)
            .with("messages_per_s", bandwidth_mbps * 1e6 / size as f64);
        Some((record, samples))
    }
    /// Sender and receiver of each flow, of `ranks`.
    pub fn flows(&self, ranks: u32) -> Vec<(Rank, Rank)> {
        let pairs = (0..self.pairs).map(|rank| (rank, rank + ranks - self.pairs));
        match self.direction {
            Direction::Uni => pairs.collect(),
            Direction::Bi => pairs.flat_map(|(a, b)| [(a, b), (b, a)]).collect(),
            Direction::Own => Vec::new(),
        }
    }
    /// The other rank of `rank`'s pair, and whether `rank` leads it.
    fn partner(&self, rank: Rank, ranks: u32) -> Option<(Rank, bool)> {
        let distance = ranks - self.pairs;
        match rank {
            _ if rank < self.pairs => Some((rank + distance, true)),
            _ if rank >= distance => Some((rank - distance, false)),
            _ => None,
        }
    }
    async fn one<E: Endpoint>(&self, comm: &E, repeater: &Repeater<'_, E>, size: u64) -> Result<Samples, Error> {
        let kind = if self.private { Kind::Private } else { Kind::Default };
        let (window, partner) = (self.window(size), self.partner(comm.rank(), comm.ranks()));
        let (out, into) = (comm.alloc(size, kind)?, comm.alloc(size, kind)?);
        comm.write(out, 0, &vec![1; size as usize])?;
        let (out, into) = (Span::new(out, 0, size), Span::new(into, 0, size));
        let directions = 1 + u64::from(self.direction == Direction::Bi);
        let once = async || match partner {
            Some((peer, leads)) => self.exchange(comm, (peer, leads), (out, into), window).await,
            None => Ok(()),
        };
        // One pair's own messages keep it in step. A barrier before each sample would add the time between its two
        // ends, which a row of short windows does not have.
        let in_step = comm.limits().real_time
            && self.pairs == 1
            && self.direction != Direction::Own
            && self.plan.buffers == Buffers::Kept;
        // In virtual time, ranks that left a barrier one by one would have begun before the first of them reads its
        // clock.
        let starts = (!in_step).then(|| Starts::of(comm, &self.plan));
        let sample = async |inner| {
            let time = repeater.time(inner, out, starts.as_ref(), &once).await?;
            Ok(((size.max(1) * window * directions * inner) as f64 / time.us().max(1e-6), time))
        };
        let samples = repeater.run(sample).await?;
        comm.free(out.memory)?;
        comm.free(into.memory)?;
        Ok(samples)
    }
    /// One window, and the answer to it.
    async fn exchange<E: Endpoint>(
        &self,
        comm: &E,
        (peer, leads): (Rank, bool),
        (out, into): (Span, Span),
        window: u64,
    ) -> Result<(), Error> {
        let (one_way, own) = (self.direction == Direction::Uni, self.direction == Direction::Own);
        let peer = if own { comm.rank() } else { peer };
        let (sends, receives) = (leads || !one_way, !leads || !one_way);
        match self.calls {
            Calls::Windowed => {
                let many = |any| if any { window } else { 0 };
                comm.exchange(peer, DATA, (into, many(receives)), (out, many(sends))).await?;
            }
            Calls::Blocking => {
                for _ in 0..window {
                    match (receives, sends) {
                        (true, true) => {
                            let coming = comm.irecv(Some(peer), Some(DATA), into)?;
                            comm.send(peer, DATA, out).await?;
                            comm.wait(coming).await?;
                        }
                        (true, false) => comm.recv(Some(peer), Some(DATA), into).await?,
                        _ => comm.send(peer, DATA, out).await?,
                    }
                }
            }
        }
        // Exchanges end together: no rank is done before the other's messages are here.
        if !one_way {
            return Ok(());
        }
        let empty = Span::new(into.memory, 0, 0);
        if leads { comm.recv(Some(peer), Some(ANSWER), empty).await } else { comm.send(peer, ANSWER, empty).await }
    }
}

impl Bench for Stream {
    type Result = Vec<Samples>;
    async fn on<E: Endpoint>(&self, comm: &E) -> Result<Vec<Samples>, Error> {
        let repeater = Repeater::new(comm, &self.plan)?;
        repeater.each(&self.sizes, async |size| self.one(comm, &repeater, size).await).await
    }
}

impl Word for Direction {
    const ALL: &'static [Direction] = &[Direction::Uni, Direction::Bi, Direction::Own];
    fn word(self) -> &'static str {
        self.name()
    }
    fn meaning(self) -> &'static str {
        match self {
            Direction::Uni => "From the first rank to the last",
            Direction::Bi => "Both ways at once; the bandwidth is that of both together",
            Direction::Own => "The first and the last rank each to itself, at once; the bandwidth is the first's",
        }
    }
}

impl Word for Calls {
    const ALL: &'static [Calls] = &[Calls::Windowed, Calls::Blocking];
    fn word(self) -> &'static str {
        self.name()
    }
    fn meaning(self) -> &'static str {
        match self {
            Calls::Windowed => "All at once, then waited for together",
            Calls::Blocking => {
                "One after the other, as programs and the trees of collectives call: both ways, a row of exchanges"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(pairs: u32) -> Stream {
        let plan = Plan::once();
        Stream {
            sizes: vec![8],
            pairs,
            window: None,
            calls: Calls::Windowed,
            direction: Direction::Uni,
            private: true,
            plan,
        }
    }

    #[test]
    fn the_aggregate_is_all_bytes_over_the_slowest_pairs_time() {
        let samples = |values: &[f64]| vec![Samples { values: values.to_vec(), inner: 1, ..Samples::default() }];
        let results = [samples(&[1.0, 20.0]), samples(&[10.0, 2.0]), samples(&[7.0]), samples(&[])];
        assert_eq!(stream(2).aggregate(&results), samples(&[2.0, 4.0]));
        assert_eq!(stream(1).aggregate(&results), samples(&[1.0, 20.0]));
    }

    #[test]
    fn pairs_are_apart_and_ranks_between_look_on() {
        let partners = |pairs, ranks| (0..ranks).map(|rank| stream(pairs).partner(rank, ranks)).collect::<Vec<_>>();
        assert_eq!(partners(1, 3), [Some((2, true)), None, Some((0, false))]);
        assert_eq!(partners(2, 4), [Some((2, true)), Some((3, true)), Some((0, false)), Some((1, false))]);
    }
}
