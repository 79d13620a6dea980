//! Which algorithms there are for each collective, and the one cost model that picks among them by size and count.
//!
//! The model is LogGP's, with the port's own figures ([`Limits`]). A message takes its latency, its bytes at the port's
//! rate, and processor time at both ends; a long one asks first. Every rank has the same limits and the same arguments,
//! so all choose alike.

use hotlink_fabric::maths::ln;
use hotlink_port::Limits;
use serde::{Deserialize, Serialize};

/// Operations of all ranks of a communicator together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Collective {
    /// No rank goes on before all have come.
    Barrier,
    /// From one to all.
    Bcast,
    /// Combined at one.
    Reduce,
    /// Combined at all.
    Allreduce,
    /// From all to one.
    Gather,
    /// Parts from one to all.
    Scatter,
    /// From all to all, the same.
    Allgather,
    /// From all to all, each its own.
    Alltoall,
    /// Combined, a part at each.
    ReduceScatter,
}

/// Ways to do one. Which collective has which: [`Collective::algorithms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Algorithm {
    /// The fabric's own: [`hotlink_port::Op::Barrier`], [`hotlink_port::Op::Broadcast`],
    /// [`hotlink_port::Op::Reduce`].
    Hardware,
    /// All ranks signal rank 0, which signals all.
    Central,
    /// Combining tree of arity 4, up and down.
    Tree,
    /// ceil(log2 n) rounds, each rank to the one 2^i further on (Hensgen, Finkel and Manber 1988).
    Dissemination,
    /// The same with three messages a round to the ones 4^i, 2 x 4^i and 3 x 4^i further on.
    NWay,
    /// Losers of each round signal the winner; the champion's news goes down the same tree.
    Tournament,
    /// The root and each other rank, all at once.
    Linear,
    /// The same, after a rank has copied its own part (Open MPI's "basic linear").
    BasicLinear,
    /// As `Linear`, but the rank's own part is a message as well, and only some are under way at a time (MPICH's
    /// "scattered").
    Scattered,
    /// Binomial tree.
    Binomial,
    /// In segments along a chain.
    Pipelined,
    /// Scattered, then gathered everywhere round the ring (van de Geijn).
    ScatterAllgather,
    /// Exchanges over distances 1, 2, 4 ...
    RecursiveDoubling,
    /// Reduce-scatter by recursive halving, then gathered back (Rabenseifner 2004).
    Rabenseifner,
    /// Round the ring, neighbour to neighbour.
    Ring,
    /// ceil(log2 n) rounds of combined blocks (Bruck et al. 1997).
    Bruck,
    /// n - 1 exchanges, each with another rank.
    Pairwise,
    /// Round the ring and back, twice (Open MPI's "doublering" of two rounds).
    DoubleRing,
    /// Four chains from the root (Open MPI).
    Chain,
    /// A tree of two children each, the odd ranks under one and the even ones under the other (Open MPI).
    Binary,
    /// Down a binary tree, a half to each side; then the sides exchange (Open MPI).
    SplitBinary,
    /// A tree of radix 4 (Open MPI's default radix).
    KNomial,
    /// Scattered by a binomial tree, then gathered everywhere by doubling; where ranks are no power of two, as
    /// `ScatterRing` (MPICH; Open MPI's "scatter_allgather").
    ScatterDoubling,
    /// The same, gathered round the ring (MPICH; Open MPI's "scatter_allgather_ring").
    ScatterRing,
    /// A ring for each segment of the parts (Open MPI's "segmented_ring").
    SegmentedRing,
    /// All vectors come to all, which combine them rank by rank (Open MPI).
    AllgatherReduce,
    /// Pairs of blocks, with the neighbours in turn; odd counts go round the ring (Open MPI).
    NeighborExchange,
    /// Halves over distances n/2, n/4 ... (MPICH; Open MPI).
    RecursiveHalving,
}

use Algorithm::{
    AllgatherReduce, BasicLinear, Binary, Binomial, Bruck, Central, Chain, Dissemination, DoubleRing, Hardware,
    KNomial, Linear, NWay, NeighborExchange, Pairwise, Pipelined, Rabenseifner, RecursiveDoubling, RecursiveHalving,
    Ring, ScatterAllgather, ScatterDoubling, ScatterRing, Scattered, SegmentedRing, SplitBinary, Tournament, Tree,
};

impl Collective {
    /// All.
    pub const ALL: [Collective; 9] = [
        Collective::Barrier,
        Collective::Bcast,
        Collective::Reduce,
        Collective::Allreduce,
        Collective::Gather,
        Collective::Scatter,
        Collective::Allgather,
        Collective::Alltoall,
        Collective::ReduceScatter,
    ];
    /// Its name in records and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Collective::Barrier => "barrier",
            Collective::Bcast => "bcast",
            Collective::Reduce => "reduce",
            Collective::Allreduce => "allreduce",
            Collective::Gather => "gather",
            Collective::Scatter => "scatter",
            Collective::Allgather => "allgather",
            Collective::Alltoall => "alltoall",
            Collective::ReduceScatter => "reduce-scatter",
        }
    }
    /// Its algorithms, and how many of them the cost model picks from. These come first; those of foreign MPIs follow.
    /// The latter serve predictions and run only if asked for.
    fn own_and_foreign(self) -> (usize, &'static [Algorithm]) {
        match self {
            Collective::Barrier => {
                (6, &[Hardware, Central, Tree, Dissemination, NWay, Tournament, RecursiveDoubling, DoubleRing])
            }
            Collective::Bcast => (
                5,
                &[
                    Hardware,
                    Linear,
                    Binomial,
                    Pipelined,
                    ScatterAllgather,
                    Chain,
                    Binary,
                    SplitBinary,
                    KNomial,
                    ScatterDoubling,
                    ScatterRing,
                ],
            ),
            Collective::Reduce => {
                (5, &[Hardware, Binomial, Rabenseifner, Ring, Linear, Pipelined, Chain, Binary, KNomial])
            }
            Collective::Allreduce => (
                5,
                &[Hardware, Binomial, RecursiveDoubling, Rabenseifner, Ring, Linear, SegmentedRing, AllgatherReduce],
            ),
            Collective::ReduceScatter => (5, &[Hardware, Binomial, Ring, RecursiveHalving, Pairwise]),
            Collective::Gather | Collective::Scatter => (2, &[Linear, Binomial]),
            Collective::Allgather => (4, &[Linear, RecursiveDoubling, Bruck, Ring, NeighborExchange]),
            Collective::Alltoall => (4, &[Linear, Pairwise, Bruck, Ring, BasicLinear, Scattered]),
        }
    }
    /// Its algorithms.
    pub fn algorithms(self) -> &'static [Algorithm] {
        self.own_and_foreign().1
    }
}

impl Algorithm {
    /// Its name in records and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Hardware => "hardware",
            Central => "central",
            Tree => "tree",
            Dissemination => "dissemination",
            NWay => "n-way",
            Tournament => "tournament",
            Linear => "linear",
            BasicLinear => "basic-linear",
            Scattered => "scattered",
            Binomial => "binomial",
            Pipelined => "pipelined",
            ScatterAllgather => "scatter-allgather",
            RecursiveDoubling => "recursive-doubling",
            Rabenseifner => "rabenseifner",
            Ring => "ring",
            Bruck => "bruck",
            Pairwise => "pairwise",
            DoubleRing => "double-ring",
            Chain => "chain",
            Binary => "binary",
            SplitBinary => "split-binary",
            KNomial => "k-nomial",
            ScatterDoubling => "scatter-doubling",
            ScatterRing => "scatter-ring",
            SegmentedRing => "segmented-ring",
            AllgatherReduce => "allgather-reduce",
            NeighborExchange => "neighbor-exchange",
            RecursiveHalving => "recursive-halving",
        }
    }
    /// The algorithm of `collective` called `name`.
    ///
    /// # Errors
    /// What is allowed.
    pub fn named(collective: Collective, name: &str) -> Result<Algorithm, String> {
        let all = collective.algorithms();
        all.iter().copied().find(|algorithm| algorithm.name() == name).ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|algorithm| algorithm.name()).collect();
            format!("`{name}` is no algorithm of {}; allowed: {}", collective.name(), names.join(", "))
        })
    }
    /// Whether it moves segments ([`Comm::set_segment`](crate::Comm::set_segment)).
    pub fn is_segmented(self) -> bool {
        matches!(self, Pipelined | Chain | Binary | SplitBinary | KNomial | SegmentedRing)
    }
    /// The one that the cost model picks for `bytes` (see [`Comm::force`](crate::Comm::force)).
    pub fn chosen(collective: Collective, ranks: u32, bytes: u64, limits: &Limits) -> Algorithm {
        Costs::of(limits).pick(collective, ranks, bytes, limits, |_| true)
    }
    /// Whether a port can do it: hardware needs hardware.
    pub fn is_possible(self, collective: Collective, limits: &Limits) -> bool {
        match (self, collective) {
            (Hardware, Collective::Barrier) => limits.barrier,
            (Hardware, Collective::Bcast) => limits.broadcast,
            (Hardware, Collective::Reduce | Collective::Allreduce) => limits.reduction.is_some(),
            (Hardware, Collective::ReduceScatter) => limits.reduction.is_some_and(|own| own.shares),
            (Hardware, _) => false,
            _ => true,
        }
    }
}

/// Arity of [`Algorithm::Tree`].
pub(crate) const ARITY: u32 = 4;
/// Messages of a round of [`Algorithm::NWay`], and one.
pub(crate) const WAYS: u32 = 4;

/// The cost of messages, in picoseconds and bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    latency: f64,
    /// Processor time of a message where it is posted, and where it is taken.
    post: f64,
    poll: f64,
    byte: f64,
    /// A byte copied by one processor.
    copy: f64,
    combine: f64,
    /// Longer messages ask first.
    eager: f64,
    /// Shorter ones are copied into and out of buffers.
    zero_copy: f64,
    /// Of a long message, the bytes that leave before those of another.
    turn: f64,
    /// The fabric's own reduction: an empty one, and each byte.
    hardware: (f64, f64),
}

/// Control messages of one that does not go at once: question, answer and data.
const LONG_TRIPS: f64 = 3.0;

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

impl Costs {
    pub(crate) fn of(limits: &Limits) -> Costs {
        let per_byte = |rate: hotlink_fabric::units::Rate| 1e12 / (rate.0.max(1) as f64);
        let copy = per_byte(limits.copy_rate);
        Costs {
            latency: limits.latency.0 as f64,
            post: limits.post_overhead.0 as f64,
            poll: limits.poll_overhead.0 as f64,
            byte: per_byte(limits.rate),
            copy,
            combine: 1.5 * copy,
            eager: at_once(limits) as f64,
            // The cost of whole messages includes their copies.
            zero_copy: if limits.whole_messages { 0.0 } else { limits.registration.zero_copy_min as f64 },
            turn: limits.turn_bytes as f64,
            hardware: limits.reduction.map_or((0.0, 0.0), |own| (own.latency.0 as f64, per_byte(own.rate))),
        }
    }
    /// Control messages of a message: one, or question, answer and data.
    fn trips(&self, bytes: f64) -> f64 {
        if bytes > self.eager { LONG_TRIPS } else { 1.0 }
    }
    /// The bytes of a message that a processor copies.
    fn copied(&self, bytes: f64) -> f64 {
        if bytes < self.zero_copy { bytes * self.copy } else { 0.0 }
    }
    /// One message from its start to its end.
    fn message(&self, bytes: f64) -> f64 {
        self.trips(bytes) * self.latency + bytes * self.byte + 2.0 * self.copied(bytes)
    }
    /// `n` messages at once, where one rank's link and processor are in all of them: the processor takes `side` for each
    /// control message.
    fn crowd(&self, n: f64, bytes: f64, side: f64, copied: f64) -> f64 {
        let next = (self.trips(bytes) * side + copied).max(bytes * self.byte);
        self.message(bytes) + (n - 1.0).max(0.0) * next
    }
    /// `n` messages at once from one rank or to one.
    fn fan(&self, n: f64, bytes: f64) -> f64 {
        self.crowd(n, bytes, self.post.max(self.poll), self.copied(bytes))
    }
    /// `n` messages at once from each rank and to each.
    fn exchanges(&self, n: f64, bytes: f64) -> f64 {
        self.crowd(n, bytes, self.post + self.poll, 2.0 * self.copied(bytes))
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
    /// `rounds` messages one after the other, each twice as long as the one before.
    fn doubling(&self, rounds: f64, first: f64) -> f64 {
        (0..rounds as u32).map(|round| self.message(first * f64::from(1u32 << round))).sum()
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
        let rounds = f64::from(ranks.next_power_of_two().trailing_zeros());
        let part = m / n;
        // A rank count that is no power of two needs a message before and one after.
        let uneven = if ranks.is_power_of_two() { 0.0 } else { 2.0 * self.message(m) };
        match (collective, algorithm) {
            (Collective::Reduce | Collective::Allreduce | Collective::ReduceScatter, Hardware) => {
                self.hardware.0 + m * self.hardware.1
            }
            (_, Hardware) => 0.0,
            (_, Central) => 2.0 * self.fan(n - 1.0, 0.0),
            (_, Tree) => 2.0 * (ln(n) / ln(f64::from(ARITY))).ceil() * self.fan(f64::from(ARITY), 0.0),
            (_, Dissemination) => rounds * self.message(0.0),
            (_, NWay) => (ln(n) / ln(f64::from(WAYS))).ceil() * self.exchanges(f64::from(WAYS - 1), 0.0),
            (_, Tournament) => 2.0 * rounds * self.message(0.0),
            (Collective::Bcast, Linear) => self.fan(n - 1.0, m),
            (Collective::Bcast, Pipelined) => {
                let segment = self.segment(bytes, ranks.saturating_sub(2)) as f64;
                (n - 2.0 + (m / segment).ceil().max(1.0)) * self.message(segment.min(m))
            }
            (_, ScatterAllgather) => self.fan(n - 1.0, part) + (n - 1.0) * self.message(part),
            (Collective::Bcast, Binomial) if m > self.eager => {
                let [in_turn, at_once] = self.below(rounds, m);
                rounds * self.message(m) + in_turn.min(at_once)
            }
            (Collective::Bcast, _) => rounds * self.message(m),
            (Collective::Reduce, Binomial) => rounds * (self.message(m) + m * self.combine),
            (Collective::Allreduce, Binomial) => rounds * (2.0 * self.message(m) + m * self.combine),
            (Collective::Allreduce, RecursiveDoubling) => uneven + rounds * (self.message(m) + m * self.combine),
            // The root takes one message after the other, and answers a request only when its turn has come.
            (Collective::Reduce, Linear) if m > self.eager => {
                (n - 1.0) * (self.message(m) - self.latency + m * self.combine) + self.latency
            }
            (Collective::Reduce, Linear) => self.fan(n - 1.0, m) + (n - 1.0) * m * self.combine,
            (Collective::Reduce | Collective::Allreduce, Rabenseifner) => {
                uneven + 2.0 * self.doubling(rounds, part) + m * self.combine
            }
            (Collective::Reduce, Ring) => (n - 1.0) * self.message(part) + self.fan(n - 1.0, part) + m * self.combine,
            (Collective::ReduceScatter, Binomial) => {
                rounds * (self.message(m) + m * self.combine) + self.doubling(rounds, part)
            }
            (Collective::ReduceScatter, RecursiveHalving) => {
                m * self.copy + uneven + self.doubling(rounds, part) + m * self.combine
            }
            (Collective::ReduceScatter, Ring) => m * self.copy + (n - 1.0) * self.message(part) + m * self.combine,
            (Collective::ReduceScatter, Pairwise) => (n - 1.0) * self.message(part) + m * self.combine,
            (Collective::Allreduce, Ring) => 2.0 * (n - 1.0) * self.message(part) + m * self.combine,
            // From here on `bytes` are those of one rank's part.
            (Collective::Gather | Collective::Scatter, Linear) => self.fan(n - 1.0, m),
            // The root's parts are copied to or from one block.
            (Collective::Gather | Collective::Scatter, _) => self.doubling(rounds, m) + n * m * self.copy,
            (Collective::Allgather | Collective::Alltoall, Linear) => self.exchanges(n - 1.0, m) + m * self.copy,
            (Collective::Allgather, RecursiveDoubling | Bruck) => self.doubling(rounds, m),
            (Collective::Alltoall, Bruck) => rounds * (self.message(m * n / 2.0) + m * n / 1.5 * self.combine),
            (Collective::Alltoall, Ring) => (n - 1.0) * self.message(m * n / 2.0),
            _ => (n - 1.0) * self.message(m),
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
        let (own, all) = collective.own_and_foreign();
        let all = all[..own].iter().copied();
        let possible = all.filter(|&algorithm| algorithm.is_possible(collective, limits) && allowed(algorithm));
        let cost = |algorithm: &Algorithm| self.of_algorithm(*algorithm, collective, ranks, bytes);
        possible.min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or(Linear)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotlink_fabric::units::{Rate, Time};

    /// 20,000 B but for a packet take 1.59 us of the link; the sender learns of a message's end after 2 us.
    #[test]
    fn children_are_served_in_turn_where_the_way_out_costs_more_than_the_ends() {
        let own = Limits { latency: Time::from_us(2.0), rate: Rate::from_mbps(10_000.0), ..Limits::messages("x") };
        let in_turn = |turn_bytes, bytes| {
            let costs = Costs::of(&Limits { turn_bytes, ..own.clone() });
            [1, 2, 3].map(|children| costs.in_turn(children, bytes))
        };
        // Two ends against three times 1.59 us; one end against one.
        assert_eq!(in_turn(4096, 20_000), [false, false, true]);
        assert_eq!(in_turn(0, 24_200), [false, true, true]);
        // Ports that end one message before the next lose nothing; eager messages wait for nothing.
        assert_eq!(in_turn(u64::MAX, 1 << 20), [false; 3]);
        assert_eq!(in_turn(0, 16 << 10), [false; 3]);
        // The model charges the cheaper of the two, beyond a message a level.
        let costs = Costs::of(&Limits { turn_bytes: 4096, ..own.clone() });
        let took = |ranks| costs.of_algorithm(Binomial, Collective::Bcast, ranks, 20_000);
        let (message, late) = (costs.message(20_000.0), 15_904.0 * 100.0);
        assert_eq!([took(2), took(4), took(8)], [message, 2.0 * message + late, 3.0 * message + 2.0 * 2e6]);
    }
}
