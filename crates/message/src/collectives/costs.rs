//! The cost model that picks an algorithm by size and count.
//!
//! It is LogGP's, with the port's own figures ([`Limits`]). A message takes its latency, its bytes at the rate of each
//! stage, and processor time at both ends; a long one asks first. While all ranks send, bytes pass at the rate that the
//! network leaves each of them ([`Together`]). Every rank has the same limits and the same arguments, so all choose
//! alike.

use super::algorithm::{ARITY, Algorithm, Collective, WAYS};
use Algorithm::{
    Binomial, Bruck, Central, Dissemination, Hardware, Linear, NWay, Pairwise, Pipelined, Rabenseifner,
    RecursiveDoubling, RecursiveHalving, Ring, ScatterAllgather, Tournament, Tree,
};
use hotlink_fabric::maths::ln;
use hotlink_fabric::units::{Rate, Time};
use hotlink_port::{COPIED, ControlRates, Limits, Together};

/// The cost of messages, in picoseconds and bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs<'a> {
    latency: f64,
    /// Processor time of a message where it is posted, and where it is taken.
    post: f64,
    poll: f64,
    /// Least time between two that a processor posts.
    gap: f64,
    byte: f64,
    /// A byte of a message through buffers: the processor that posts it, the network, the processor that takes it.
    stages: [f64; 3],
    /// The longest piece of such a message.
    piece: f64,
    /// A byte copied by one processor, by the length of the block.
    copies: [f64; COPIED.len()],
    /// Longer messages ask first.
    eager: f64,
    /// Shorter ones are copied into and out of buffers.
    zero_copy: f64,
    /// What a message without buffers takes in addition to its bytes; and whether its sender alone can have it go so.
    long: f64,
    is_fetched: bool,
    /// Of a long message, the bytes that leave before those of another.
    turn: f64,
    /// The fabric's own reduction: an empty one, and each byte.
    hardware: (f64, f64),
    together: Option<&'a Together>,
}

/// Messages of many ranks that meet in one rank's processor and link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crowd {
    /// It sends them.
    Out,
    /// It receives them.
    In,
    /// It does both, and so do all.
    Both,
}

/// Control messages of one that does not go at once: question, answer and data.
const LONG_TRIPS: f64 = 3.0;
/// Streams of memory of a combination, in those of a copy: two are read and one is written.
const COMBINED: f64 = 1.5;

/// The longest message that goes without a question.
fn at_once(limits: &Limits) -> u64 {
    match (limits.whole_messages, limits.deposit.is_some() && !limits.real_time) {
        (true, _) => limits.control_bytes_max,
        // A message that an adapter can move by itself asks first.
        (false, true) => {
            limits.control_bytes_max.min(16 << 10).min(limits.registration.zero_copy_min.saturating_sub(1))
        }
        (false, false) => limits.control_bytes_max.min(16 << 10),
    }
}

/// Whether a sender alone can have a message go without buffers, however short it is.
pub(super) fn is_fetched(limits: &Limits) -> bool {
    limits.fetch.is_some() && !limits.real_time && !limits.whole_messages
}

fn per_byte(rate: Rate) -> f64 {
    if rate == ControlRates::AT_ONCE { 0.0 } else { 1e12 / rate.0.max(1) as f64 }
}

impl<'a> Costs<'a> {
    pub(crate) fn of(limits: &'a Limits) -> Costs<'a> {
        let (byte, copy) = (per_byte(limits.rate), per_byte(limits.copy_rate));
        let time = |time: Time| time.0 as f64;
        let stages = match limits.control {
            // The cost of whole messages includes their copies.
            _ if limits.whole_messages => [0.0, byte, 0.0],
            Some(ControlRates { post, wire, poll }) => [post, wire, poll].map(per_byte),
            None => [copy, byte, copy],
        };
        Costs {
            latency: time(limits.latency),
            post: time(limits.post_overhead),
            gap: time(limits.message_gap),
            poll: time(limits.poll_overhead),
            byte,
            stages,
            piece: limits.control_bytes_max as f64,
            copies: limits.copy_rates.map_or([copy; COPIED.len()], |rates| rates.map(per_byte)),
            eager: at_once(limits) as f64,
            zero_copy: if limits.whole_messages { f64::MAX } else { limits.registration.zero_copy_min as f64 },
            long: limits.long_latency.map_or(LONG_TRIPS * time(limits.latency), time),
            is_fetched: is_fetched(limits),
            turn: limits.turn_bytes as f64,
            hardware: limits.reduction.map_or((0.0, 0.0), |own| (time(own.latency), per_byte(own.rate))),
            together: limits.together.as_ref(),
        }
    }
    /// A copy of a block: a cache holds a short one.
    fn copy(&self, bytes: f64) -> f64 {
        let at = |number: usize| ln(COPIED[number] as f64);
        let last = COPIED.len() - 1;
        let place = ln(bytes.max(1.0)).clamp(at(0), at(last));
        let lower = (0..last).rev().find(|&number| at(number) <= place).unwrap_or(0);
        let share = (place - at(lower)) / (at(lower + 1) - at(lower));
        bytes * (self.copies[lower] * (1.0 - share) + self.copies[lower + 1] * share)
    }
    /// Combines a block with another.
    fn combine(&self, bytes: f64) -> f64 {
        self.copy(COMBINED * bytes)
    }
    /// Control messages of a message: one, or question, answer and data.
    fn trips(&self, bytes: f64) -> f64 {
        if bytes > self.eager { LONG_TRIPS } else { 1.0 }
    }
    fn is_buffered(&self, bytes: f64) -> bool {
        bytes < self.zero_copy
    }
    /// One message from its start to its end.
    fn message(&self, bytes: f64) -> f64 {
        self.message_at(self.byte, bytes)
    }
    /// The same where a byte takes `byte` in the network.
    fn message_at(&self, byte: f64, bytes: f64) -> f64 {
        let shared = (byte - self.byte).max(0.0) * bytes;
        if !self.is_buffered(bytes) {
            return self.long + bytes * self.byte + shared;
        }
        // Of pieces, the longest stage hides the others.
        let piece = bytes.min(self.piece);
        let [all, slowest] = [self.stages.iter().sum::<f64>(), self.stages.iter().copied().fold(self.byte, f64::max)];
        self.trips(bytes) * self.latency + piece * all + (bytes - piece) * slowest + shared
    }
    /// One message each way between two ranks, which both wait for: of a long one the sender hears last.
    fn exchange_at(&self, byte: f64, bytes: f64) -> f64 {
        self.message_at(byte, bytes) + if self.is_buffered(bytes) { 0.0 } else { self.latency }
    }
    /// A byte in round `i` of what `rates` are of.
    fn shared(&self, rates: fn(&Together) -> &[Rate], i: usize) -> f64 {
        self.together.and_then(|together| rates(together).get(i)).map_or(self.byte, |&rate| per_byte(rate))
    }
    /// A byte while every rank exchanges with the one whose number differs in bit `i`.
    fn paired(&self, i: usize) -> f64 {
        self.shared(|together| &together.paired, i)
    }
    /// A byte while every rank sends to the one 2^i further on.
    fn further(&self, i: usize) -> f64 {
        self.shared(|together| &together.further, i)
    }
    /// A message of `bytes(i)` on each level `i` of a binomial tree, from its root or to it.
    fn tree(&self, levels: usize, way: Crowd, bytes: impl Fn(usize) -> f64) -> f64 {
        let rates: fn(&Together) -> &[Rate] = match way {
            Crowd::In => |together| &together.up,
            _ => |together| &together.down,
        };
        (0..levels).map(|i| self.message_at(self.shared(rates, i), bytes(i))).sum()
    }
    /// A byte while every rank sends to all others.
    fn of_all(&self) -> f64 {
        self.together.map_or(self.byte, |together| per_byte(together.all))
    }
    /// `n` messages at once, each way that they may go: as their size says, and without buffers.
    pub(super) fn ways(&self, crowd: Crowd, n: f64, bytes: f64) -> [f64; 2] {
        let staged = if self.is_buffered(bytes) { bytes } else { 0.0 };
        let [sent, taken] = [(self.post, self.stages[0]), (self.poll, self.stages[2])]
            .map(|(message, byte)| self.trips(bytes) * message + byte * staged);
        // The sender posts the offer and takes the notice of the end. The receiver takes the one, and posts the fetch
        // and the other.
        let [offered, fetched] = [self.post + self.poll, self.poll + 2.0 * self.post];
        // The notice of the last one is on its way.
        let last = if crowd == Crowd::In { 0.0 } else { self.latency };
        let long = self.long + last + bytes * self.byte;
        let usual = if staged > 0.0 || bytes <= 0.0 { self.message(bytes) } else { long };
        let each = [(usual, sent, taken, 0.0), (long, offered, fetched, last)];
        let [usual, direct] = each.map(|(first, out, into, wait)| match crowd {
            Crowd::Out => first + (n - 1.0).max(0.0) * out.max(self.gap).max(bytes * self.byte),
            Crowd::In => first + (n - 1.0).max(0.0) * into.max(bytes * self.byte),
            // While one message is on its way, the processor has the others.
            Crowd::Both => {
                let next = out.max(into).max(self.gap).max(bytes * self.of_all());
                (first + (n - 1.0).max(0.0) * next).max(n * (out + into) + wait)
            }
        });
        [usual, if self.is_fetched && bytes > 0.0 { direct } else { f64::INFINITY }]
    }
    fn crowd(&self, crowd: Crowd, n: f64, bytes: f64) -> f64 {
        let [usual, direct] = self.ways(crowd, n, bytes);
        usual.min(direct)
    }
    /// The time of a binomial tree of `children` below its root, beyond one message a level. The two results are for
    /// long messages that leave one after the other, and all at once. One after the other, the sender learns of a
    /// message's end one latency late. All at once, messages share the link, so that the largest subtree gets its data
    /// as late as the others; this repeats at every level.
    fn below(&self, children: f64, bytes: f64) -> [f64; 2] {
        let late = (bytes - self.turn).max(0.0) * self.byte;
        [(children - 1.0).max(0.0) * self.latency, children * (children - 1.0) / 2.0 * late]
    }
    /// Whether the messages to that many children of a binomial tree leave one after the other.
    pub(super) fn in_turn(&self, children: u32, bytes: u64) -> bool {
        let [in_turn, at_once] = self.below(children.into(), bytes as f64);
        bytes as f64 > self.eager && in_turn < at_once
    }
    /// `rounds` exchanges between pairs one after the other, each twice as long as the one before, the nearest first.
    fn paired_doubling(&self, rounds: usize, first: f64) -> f64 {
        let round = |i| self.exchange_at(self.paired(i), first * f64::from(1u32 << i));
        (0..rounds).map(round).sum()
    }
    /// Halves between pairs that combine them, the farthest first.
    fn halving(&self, rounds: usize, last: f64) -> f64 {
        let combined = |i: usize| self.combine(last * f64::from(1u32 << i));
        self.paired_doubling(rounds, last) + (0..rounds).map(combined).sum::<f64>()
    }
    /// The best segment of a pipeline of `stages`. It balances the start-up of the stages against that of the segments,
    /// which is shorter for eager segments.
    pub(crate) fn segment(&self, bytes: u64, stages: u32) -> u64 {
        let (whole, stages) = (bytes as f64, f64::from(stages.max(1)));
        let most_eager = (self.eager / 64.0).floor() * 64.0;
        let [eager, long] = [(1.0, most_eager), (LONG_TRIPS, f64::MAX)].map(|(trips, most)| {
            let best = (whole * trips * self.latency / (self.byte.max(1e-3) * stages)).sqrt();
            (best.min(most) as u64).clamp(1024, 256 << 10).next_multiple_of(64).min(bytes.max(1))
        });
        let time = |segment: u64| (stages + (whole / segment as f64).ceil()) * self.message(segment as f64);
        if time(long) < time(eager) { long } else { eager }
    }

    fn of_algorithm(&self, algorithm: Algorithm, collective: Collective, ranks: u32, bytes: u64) -> f64 {
        let (n, m) = (f64::from(ranks), bytes as f64);
        match (collective, algorithm) {
            (Collective::Reduce | Collective::Allreduce | Collective::ReduceScatter, Hardware) => {
                self.hardware.0 + m * self.hardware.1
            }
            (_, Hardware) => 0.0,
            (Collective::Barrier, _) => self.barrier(algorithm, n),
            (Collective::Bcast, _) => self.bcast(algorithm, ranks, bytes),
            (Collective::Reduce | Collective::Allreduce | Collective::ReduceScatter, _) => {
                self.reduction(collective, algorithm, ranks, m)
            }
            // Of the others, `bytes` are those of one rank's part.
            (Collective::Gather, Linear) => self.crowd(Crowd::In, n - 1.0, m),
            (Collective::Scatter, Linear) => self.crowd(Crowd::Out, n - 1.0, m),
            // The root's parts are copied to or from one block.
            (Collective::Gather | Collective::Scatter, _) => {
                let way = if collective == Collective::Gather { Crowd::In } else { Crowd::Out };
                self.tree(rounds(ranks), way, |i| m * f64::from(1u32 << i)) + n * self.copy(m)
            }
            (Collective::Allgather | Collective::Alltoall, _) => self.everybody(collective, algorithm, ranks, m),
        }
    }
    fn barrier(&self, algorithm: Algorithm, n: f64) -> f64 {
        let up_and_down = |n| self.crowd(Crowd::In, n, 0.0) + self.crowd(Crowd::Out, n, 0.0);
        let log = |base: u32| (ln(n) / ln(f64::from(base))).ceil();
        match algorithm {
            Central => up_and_down(n - 1.0),
            Tree => log(ARITY) * up_and_down(f64::from(ARITY).min(n - 1.0)),
            NWay => log(WAYS) * self.crowd(Crowd::Both, f64::from(WAYS - 1), 0.0),
            Tournament => 2.0 * log(2) * self.message(0.0),
            Dissemination => log(2) * self.message(0.0),
            _ => f64::INFINITY,
        }
    }
    fn bcast(&self, algorithm: Algorithm, ranks: u32, bytes: u64) -> f64 {
        let (n, m) = (f64::from(ranks), bytes as f64);
        let part = m / n;
        let levels = || self.tree(rounds(ranks), Crowd::Out, |_| m);
        match algorithm {
            Linear => self.crowd(Crowd::Out, n - 1.0, m),
            Pipelined => {
                let segment = self.segment(bytes, ranks.saturating_sub(2)) as f64;
                (n - 2.0 + (m / segment).ceil().max(1.0)) * self.message(segment.min(m))
            }
            ScatterAllgather => self.crowd(Crowd::Out, n - 1.0, part) + self.round_the_ring(n, part),
            _ if m > self.eager => {
                let [in_turn, at_once] = self.below(rounds(ranks) as f64, m);
                levels() + in_turn.min(at_once)
            }
            _ => levels(),
        }
    }
    fn round_the_ring(&self, n: f64, part: f64) -> f64 {
        (n - 1.0) * self.exchange_at(self.further(0), part)
    }
    /// Of `m` bytes that each rank gives.
    fn reduction(&self, collective: Collective, algorithm: Algorithm, ranks: u32, m: f64) -> f64 {
        let (n, part) = (f64::from(ranks), m / f64::from(ranks));
        let rounds = rounds(ranks);
        let up = || self.tree(rounds, Crowd::In, |_| m) + rounds as f64 * self.combine(m);
        // A rank count that is no power of two needs a message before and one after.
        let uneven = if ranks.is_power_of_two() { 0.0 } else { 2.0 * self.message(m) + self.combine(m) };
        let whole = self.message(m) + self.combine(m);
        let ring = || self.round_the_ring(n, part) + (n - 1.0) * self.combine(part);
        // Most begin with a copy of what the rank gives.
        self.copy(m)
            + match (collective, algorithm) {
                (Collective::Reduce, Binomial) => up(),
                // The root takes one message after the other, and answers a request only when its turn has come.
                (Collective::Reduce, Linear) if m > self.eager => (n - 1.0) * (whole - self.latency) + self.latency,
                (Collective::Reduce, Linear) => {
                    let taken = self.poll + m * self.stages[2] + self.combine(m);
                    whole + (n - 2.0) * taken.max(m * self.byte)
                }
                (Collective::Reduce, Rabenseifner) => {
                    uneven + self.halving(rounds, part) + self.crowd(Crowd::In, n - 1.0, part)
                }
                (Collective::Reduce, _) => ring() + self.crowd(Crowd::In, n - 1.0, part),
                (Collective::Allreduce, Binomial) => up() + self.tree(rounds, Crowd::Out, |_| m),
                (Collective::Allreduce, RecursiveDoubling) => {
                    let round = |i| self.exchange_at(self.paired(i), m) + self.combine(m);
                    uneven + (0..rounds).map(round).sum::<f64>()
                }
                (Collective::Allreduce, Rabenseifner) => {
                    uneven + self.halving(rounds, part) + self.paired_doubling(rounds, part)
                }
                (Collective::Allreduce, _) => ring() + self.round_the_ring(n, part),
                (_, Binomial) => up() + self.tree(rounds, Crowd::Out, |i| part * f64::from(1u32 << i)),
                (_, RecursiveHalving) => uneven + self.halving(rounds, part),
                (_, Pairwise) => {
                    let round = self.exchange_at(self.of_all(), part) + self.combine(part);
                    (n - 1.0) * round + self.copy(part) - self.copy(m)
                }
                (_, _) => ring(),
            }
    }
    /// Of `m` bytes of each rank, or of each rank for each.
    fn everybody(&self, collective: Collective, algorithm: Algorithm, ranks: u32, m: f64) -> f64 {
        let n = f64::from(ranks);
        // Half of the ranks' blocks move in a round.
        let half = m * n / 2.0;
        let rounds = 0..rounds(ranks);
        self.copy(m)
            + match (collective, algorithm) {
                (_, Linear) => self.crowd(Crowd::Both, n - 1.0, m),
                (Collective::Allgather, RecursiveDoubling) => self.paired_doubling(rounds.end, m),
                (Collective::Allgather, Bruck) => {
                    // From the second round on, some rank's blocks wrap round and go as two messages.
                    let more = |i| if i > 0 { self.post + self.poll } else { 0.0 };
                    rounds.map(|i| self.exchange_at(self.further(i), m * f64::from(1u32 << i)) + more(i)).sum()
                }
                (_, Bruck) => {
                    let round = |i| self.exchange_at(self.further(i), half) + 2.0 * self.copy(half);
                    rounds.map(round).sum::<f64>() + 2.0 * self.copy(2.0 * half)
                }
                (Collective::Alltoall, Ring) => (n - 1.0) * self.exchange_at(self.further(0), half),
                (Collective::Alltoall, _) => (n - 1.0) * self.exchange_at(self.of_all(), m),
                _ => self.round_the_ring(n, m),
            }
    }

    /// The cheapest algorithm of `collective` that `limits` and `allowed` admit.
    pub(crate) fn pick(
        &self,
        collective: Collective,
        ranks: u32,
        bytes: u64,
        limits: &Limits,
        allowed: impl Fn(Algorithm) -> bool,
    ) -> Algorithm {
        let all = collective.candidates().iter().copied();
        let possible = all.filter(|&algorithm| algorithm.is_possible(collective, limits) && allowed(algorithm));
        let cost = |algorithm: &Algorithm| self.of_algorithm(*algorithm, collective, ranks, bytes);
        possible.min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or(Linear)
    }
}

/// Steps of a doubling among that many ranks.
fn rounds(ranks: u32) -> usize {
    ranks.next_power_of_two().trailing_zeros() as usize
}

#[cfg(test)]
mod tests;
