//! Schedules of the usual collectives, rank by rank.
//!
//! A rank goes through rounds as blocking exchanges would make it: what a round sends and receives starts when all of
//! the round before has ended. Reductions are free; the text form of a collective is `OPERATION:ALGORITHM:SIZE`, with
//! `:SEGMENT` more for pipelines (`bcast:pipelined:1048576:8192`). SIZE is the vector of a broadcast or allreduce, the
//! block of one pair in an alltoall, and one byte where none is given.

use super::schedule::{Builder, Kind, MOST_RANKS, Op, Schedule};
use std::fmt;
use std::str::FromStr;

/// One collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    shape: Shape,
    size: u64,
    segment: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Central,
    Dissemination,
    Tree,
    Tournament,
    BcastBinomial,
    BcastLinear,
    BcastPipelined,
    RecursiveDoubling,
    Ring,
    Rabenseifner,
    AlltoallBruck,
    AlltoallLinear,
    AlltoallPairwise,
    AlltoallRing,
}

const NAMES: &[(&str, Shape)] = &[
    ("barrier:central", Shape::Central),
    ("barrier:dissemination", Shape::Dissemination),
    ("barrier:tree", Shape::Tree),
    ("barrier:tournament", Shape::Tournament),
    ("bcast:binomial", Shape::BcastBinomial),
    ("bcast:linear", Shape::BcastLinear),
    ("bcast:pipelined", Shape::BcastPipelined),
    ("allreduce:recursive-doubling", Shape::RecursiveDoubling),
    ("allreduce:ring", Shape::Ring),
    ("allreduce:rabenseifner", Shape::Rabenseifner),
    ("alltoall:bruck", Shape::AlltoallBruck),
    ("alltoall:linear", Shape::AlltoallLinear),
    ("alltoall:pairwise", Shape::AlltoallPairwise),
    ("alltoall:ring", Shape::AlltoallRing),
];

/// Largest vector or block.
const MOST_BYTES: u64 = 1 << 40;
/// Most segments of a pipeline.
const MOST_SEGMENTS: u64 = 1 << 16;

impl Collective {
    /// All operations and algorithms, as [`FromStr`] reads them.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }

    /// About how many operations [`generate`] makes of it on `ranks` ranks, never far too few.
    pub fn operations(&self, ranks: u32) -> u64 {
        let (ranks, rounds) = (u64::from(ranks), u64::from(ranks.max(1).ilog2()) + 1);
        let each = match self.shape {
            Shape::Central | Shape::Tree | Shape::Tournament | Shape::BcastBinomial | Shape::BcastLinear => 4,
            Shape::Dissemination | Shape::AlltoallBruck | Shape::RecursiveDoubling => 2 * rounds + 2,
            Shape::Rabenseifner => 4 * rounds + 2,
            Shape::BcastPipelined => 2 * self.size.div_ceil(self.segment),
            Shape::AlltoallLinear | Shape::AlltoallPairwise | Shape::AlltoallRing => 2 * ranks,
            Shape::Ring => 4 * ranks,
        };
        ranks * each
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, shape)| *shape == self.shape).map_or("", |(name, _)| name);
        write!(f, "{name}:{}", self.size)?;
        if self.segment == self.size { Ok(()) } else { write!(f, ":{}", self.segment) }
    }
}

impl FromStr for Collective {
    type Err = String;

    fn from_str(text: &str) -> Result<Collective, String> {
        let allowed = || {
            format!(
                "allowed: OPERATION:ALGORITHM[:SIZE[:SEGMENT]] with {}",
                Self::names().collect::<Vec<_>>().join(", ")
            )
        };
        let mut parts = text.splitn(3, ':');
        let name = format!("{}:{}", parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let Some(&(_, shape)) = NAMES.iter().find(|(known, _)| *known == name) else {
            return Err(format!("`{text}` is no collective; {}", allowed()));
        };
        let mut sizes = parts.next().into_iter().flat_map(|rest| rest.split(':')).map(|part| {
            part.parse::<u64>()
                .ok()
                .filter(|size| (1..=MOST_BYTES).contains(size))
                .ok_or_else(|| format!("`{text}`: `{part}` is no size (allowed: 1 to {MOST_BYTES} bytes)"))
        });
        let size = sizes.next().transpose()?.unwrap_or(1);
        let segment = sizes.next().transpose()?.unwrap_or(size);
        if sizes.next().is_some() || (segment != size && shape != Shape::BcastPipelined) {
            return Err(format!("`{text}` has too many sizes; {}", allowed()));
        }
        if size.div_ceil(segment) > MOST_SEGMENTS {
            return Err(format!("`{text}` has more than {MOST_SEGMENTS} segments"));
        }
        Ok(Collective { shape, size, segment })
    }
}

/// `repeat` times the collectives of `program`, one after the other, on `ranks` ranks (1 to [`MOST_RANKS`]).
pub fn generate(ranks: u32, program: &[Collective], repeat: u32) -> Schedule {
    assert!((1..=MOST_RANKS).contains(&ranks), "1 to {MOST_RANKS} ranks");
    let mut builder = Builder::new(ranks);
    for rank in 0..ranks {
        let first = builder.begin(rank);
        debug_assert!(first);
        let mut emit = Emit { builder: &mut builder, rank, ranks, tag: 0, before: Vec::new(), round: Vec::new() };
        for _ in 0..repeat {
            for (tag, collective) in program.iter().enumerate() {
                emit.tag = tag as u32;
                emit.collective(collective);
            }
        }
    }
    builder.build()
}

/// One rank's operations, round by round.
struct Emit<'a> {
    builder: &'a mut Builder,
    rank: u32,
    ranks: u32,
    tag: u32,
    /// The round before, whose end this round waits for.
    before: Vec<u32>,
    round: Vec<u32>,
}

impl Emit<'_> {
    fn collective(&mut self, collective: &Collective) {
        let &Collective { shape, size, segment } = collective;
        match shape {
            Shape::Central => self.central(size),
            Shape::Dissemination => self.dissemination(size),
            Shape::Tree => self.tree(size),
            Shape::Tournament => self.tournament(size),
            Shape::BcastBinomial => self.bcast_binomial(size),
            Shape::BcastLinear => self.bcast_linear(size),
            Shape::BcastPipelined => self.bcast_pipelined(size, segment),
            Shape::RecursiveDoubling => self.folded(size, Emit::recursive_doubling),
            Shape::Ring => self.ring(size),
            Shape::Rabenseifner => self.folded(size, Emit::rabenseifner),
            Shape::AlltoallBruck => self.alltoall_bruck(size),
            Shape::AlltoallLinear => self.alltoall_linear(size),
            Shape::AlltoallPairwise => self.alltoall_pairwise(size),
            Shape::AlltoallRing => self.alltoall_ring(size),
        }
        self.next();
    }

    fn message(&mut self, kind: Kind, peer: u32, size: u64) -> u32 {
        let id = self.builder.add(Op { kind, cpu: 0, nic: 0, rank: self.rank, peer, tag: self.tag, size });
        self.before.iter().for_each(|&before| self.builder.requires(id, before, false));
        self.round.push(id);
        id
    }
    fn send(&mut self, to: u32, size: u64) -> u32 {
        self.message(Kind::Send, to, size)
    }
    fn recv(&mut self, from: u32, size: u64) -> u32 {
        self.message(Kind::Recv, from, size)
    }
    /// What follows waits for this round.
    fn next(&mut self) {
        if !self.round.is_empty() {
            std::mem::swap(&mut self.before, &mut self.round);
            self.round.clear();
        }
    }
    /// One round with a neighbour each way.
    fn exchange(&mut self, to: u32, sent: u64, from: u32, received: u64) {
        self.send(to, sent);
        self.recv(from, received);
        self.next();
    }
    fn ahead(&self, distance: u32) -> u32 {
        ((u64::from(self.rank) + u64::from(distance)) % u64::from(self.ranks)) as u32
    }
    fn behind(&self, distance: u32) -> u32 {
        self.ahead(self.ranks - distance % self.ranks)
    }
    /// Powers of two below the number of ranks.
    fn powers(&self) -> impl DoubleEndedIterator<Item = u32> + use<> {
        let ranks = u64::from(self.ranks);
        (0..32).map(|bit| 1u32 << bit).filter(move |&power| u64::from(power) < ranks)
    }

    fn central(&mut self, size: u64) {
        if self.rank == 0 {
            (1..self.ranks).for_each(|rank| {
                self.recv(rank, size);
            });
            self.next();
            (1..self.ranks).for_each(|rank| {
                self.send(rank, size);
            });
        } else {
            self.send(0, size);
            self.next();
            self.recv(0, size);
        }
    }

    fn dissemination(&mut self, size: u64) {
        for distance in self.powers() {
            self.exchange(self.ahead(distance), size, self.behind(distance), size);
        }
    }

    /// Combining tree of two children a rank.
    fn tree(&mut self, size: u64) {
        let (rank, ranks) = (u64::from(self.rank), u64::from(self.ranks));
        let children = [2 * rank + 1, 2 * rank + 2].map(|child| (child < ranks).then_some(child as u32));
        children.iter().flatten().for_each(|&child| {
            self.recv(child, size);
        });
        self.next();
        if self.rank > 0 {
            let parent = (self.rank - 1) / 2;
            self.send(parent, size);
            self.next();
            self.recv(parent, size);
            self.next();
        }
        children.iter().flatten().for_each(|&child| {
            self.send(child, size);
        });
    }

    /// Winners are known beforehand; the champion's release goes back the way the losers came.
    fn tournament(&mut self, size: u64) {
        let mut beaten = Vec::new();
        let mut winner = None;
        for power in self.powers() {
            if self.rank & power != 0 {
                winner = Some(self.rank - power);
                break;
            }
            if self.ranks - self.rank > power {
                beaten.push(self.rank + power);
                self.recv(self.rank + power, size);
                self.next();
            }
        }
        if let Some(winner) = winner {
            self.send(winner, size);
            self.next();
            self.recv(winner, size);
            self.next();
        }
        beaten.iter().rev().for_each(|&loser| {
            self.send(loser, size);
        });
    }

    fn bcast_binomial(&mut self, size: u64) {
        if self.rank > 0 {
            self.recv(self.rank & (self.rank - 1), size);
            self.next();
        }
        let below = if self.rank == 0 { u32::MAX } else { self.rank & self.rank.wrapping_neg() };
        for power in self.powers().rev().filter(|&power| power < below) {
            if self.ranks - self.rank > power {
                self.send(self.rank + power, size);
            }
        }
    }

    fn bcast_linear(&mut self, size: u64) {
        if self.rank == 0 {
            (1..self.ranks).for_each(|rank| {
                self.send(rank, size);
            });
        } else {
            self.recv(0, size);
        }
    }

    /// Down the line of ranks, a segment at a time.
    fn bcast_pipelined(&mut self, size: u64, segment: u64) {
        for index in 0..size.div_ceil(segment) {
            let bytes = segment.min(size - index * segment);
            let received = (self.rank > 0).then(|| self.recv(self.rank - 1, bytes));
            if self.rank + 1 < self.ranks {
                let sent = self.send(self.rank + 1, bytes);
                received.iter().for_each(|&received| self.builder.requires(sent, received, false));
            }
        }
    }

    /// Allreduce among the largest power of two of ranks: others give their vector to a neighbour before and get the
    /// result after. `inner` is handed its place, how many take part, and their ranks.
    fn folded(&mut self, size: u64, inner: fn(&mut Self, u32, u32, &dyn Fn(u32) -> u32, u64)) {
        let parts = 1 << self.ranks.ilog2();
        let extra = self.ranks - parts;
        let pair = self.rank < 2 * extra;
        if pair && self.rank.is_multiple_of(2) {
            self.send(self.rank + 1, size);
            self.next();
            self.recv(self.rank + 1, size);
            return;
        }
        if pair {
            self.recv(self.rank - 1, size);
            self.next();
        }
        let place = if pair { self.rank / 2 } else { self.rank - extra };
        inner(self, place, parts, &|place| if place < extra { 2 * place + 1 } else { place + extra }, size);
        if pair {
            self.send(self.rank - 1, size);
        }
    }

    fn recursive_doubling(&mut self, place: u32, parts: u32, rank_of: &dyn Fn(u32) -> u32, size: u64) {
        for power in self.powers().filter(|&power| power < parts) {
            let partner = rank_of(place ^ power);
            self.exchange(partner, size, partner, size);
        }
    }

    /// Reduce-scatter by recursive halving, allgather by recursive doubling.
    fn rabenseifner(&mut self, place: u32, parts: u32, rank_of: &dyn Fn(u32) -> u32, size: u64) {
        // Bytes of the blocks that the `width` places around `place` are answerable for.
        let bytes = |place: u32, width: u32| {
            let first = place & !(width - 1);
            share(size, first + width - 1, parts).end - share(size, first, parts).start
        };
        for power in self.powers().filter(|&power| power < parts).rev() {
            let partner = place ^ power;
            self.exchange(rank_of(partner), bytes(partner, power), rank_of(partner), bytes(place, power));
        }
        for power in self.powers().filter(|&power| power < parts) {
            let partner = place ^ power;
            self.exchange(rank_of(partner), bytes(place, power), rank_of(partner), bytes(partner, power));
        }
    }

    /// Reduce-scatter and allgather around the ring.
    fn ring(&mut self, size: u64) {
        let ranks = self.ranks;
        let bytes = |chunk: u32| share(size, chunk, ranks).end - share(size, chunk, ranks).start;
        for step in 0..ranks - 1 {
            self.exchange(self.ahead(1), bytes(self.behind(step)), self.behind(1), bytes(self.behind(step + 1)));
        }
        for step in 0..ranks - 1 {
            let mine = (self.behind(step) + 1) % ranks;
            self.exchange(self.ahead(1), bytes(mine), self.behind(1), bytes(self.behind(step)));
        }
    }

    fn alltoall_bruck(&mut self, size: u64) {
        for power in self.powers() {
            let blocks = (0..self.ranks).filter(|block| block & power != 0).count() as u64;
            self.exchange(self.ahead(power), blocks * size, self.behind(power), blocks * size);
        }
    }

    /// Everything at once.
    fn alltoall_linear(&mut self, size: u64) {
        for distance in 1..self.ranks {
            self.recv(self.behind(distance), size);
        }
        for distance in 1..self.ranks {
            self.send(self.ahead(distance), size);
        }
    }

    fn alltoall_pairwise(&mut self, size: u64) {
        for step in 1..self.ranks {
            if self.ranks.is_power_of_two() {
                self.exchange(self.rank ^ step, size, self.rank ^ step, size);
            } else {
                self.exchange(self.ahead(step), size, self.behind(step), size);
            }
        }
    }

    /// Around the ring: what is not yet where it belongs goes on.
    fn alltoall_ring(&mut self, size: u64) {
        for step in 1..self.ranks {
            let bytes = u64::from(self.ranks - step) * size;
            self.exchange(self.ahead(1), bytes, self.behind(1), bytes);
        }
    }
}

/// Chunk `index` of `size` bytes in `parts`.
fn share(size: u64, index: u32, parts: u32) -> std::ops::Range<u64> {
    let at = |index: u32| (u128::from(size) * u128::from(index) / u128::from(parts)) as u64;
    at(index)..at(index + 1)
}
