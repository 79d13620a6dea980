//! Schedules: operations by rank, and who waits for whom as one compact array.

use crate::follows::{Follows, START, Successors};
use crate::ops::Ops;
use std::borrow::Cow;

pub use crate::ops::{Extent, Kind, Op};

/// Any source (as `peer`) or any tag of a receive.
pub const ANY: u32 = u32::MAX;
/// Most ranks of a schedule.
pub const MOST_RANKS: u32 = 1 << 24;
/// Most operations: the top bit of an id is free for a mark, and no id with it is [`NONE`].
pub const MOST_OPS: usize = (1 << 31) - 1;
/// A message of more bytes is a slip of the pen.
pub const MOST_BYTES: u64 = 1 << 40;
/// The longest computation: a unit is a picosecond or more, so that no run has time for it.
pub const MOST_UNITS: u64 = MOST_SIZE;
/// The latest time of a run: about 2^62 ps (53 days). What goes on beyond it is an error, as [`MOST_UNITS`] do.
pub const LATEST: u64 = MOST_SIZE - 1;
/// The id of no operation.
pub const NONE: u32 = u32::MAX;
/// A larger size counts as this: it is beyond the end of time.
pub(crate) const MOST_SIZE: u64 = (1 << 62) - 1;

/// What all ranks do. Operation ids count through the ranks' blocks in the order in which the blocks stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    blocks: Vec<std::ops::Range<u32>>,
    ops: Ops,
    successors: Successors,
}

impl Schedule {
    /// Ranks.
    pub fn ranks(&self) -> u32 {
        self.blocks.len() as u32
    }
    /// All operations.
    pub fn ops(&self) -> impl ExactSizeIterator<Item = Op> {
        self.ops.iter()
    }
    /// One of them.
    #[inline]
    pub fn op(&self, id: u32) -> Op {
        self.ops.get(id)
    }
    /// What is known of all of them.
    pub fn extent(&self) -> &Extent {
        self.ops.extent()
    }
    /// Ids of the operations of `rank`.
    pub fn of_rank(&self, rank: u32) -> std::ops::Range<u32> {
        self.blocks[rank as usize].clone()
    }
    /// The same with computation counted in units of `to_ps` picoseconds where this counts units of `from_ps`, rounded.
    /// GOAL counts nanoseconds.
    #[must_use]
    pub fn recounted(&self, from_ps: u64, to_ps: u64) -> Cow<'_, Schedule> {
        if from_ps == to_ps {
            return Cow::Borrowed(self);
        }
        let mut other = self.clone();
        for id in 0..self.ops.len() as u32 {
            let op = self.op(id);
            let counted = |units: u64| {
                let ps = u128::from(units) * u128::from(from_ps);
                u64::try_from((ps + u128::from(to_ps / 2)) / u128::from(to_ps.max(1))).unwrap_or(u64::MAX)
            };
            match op.kind {
                Kind::Calc => other.ops.set(id, Op { size: counted(op.size), ..op }),
                Kind::Post => {
                    let tag = u32::try_from(counted(op.tag.into())).unwrap_or(u32::MAX);
                    other.ops.set(id, Op { size: counted(op.size), tag, ..op });
                }
                Kind::Send | Kind::Recv => {}
            }
        }
        Cow::Owned(other)
    }
    /// Dependencies in all.
    pub fn dependencies(&self) -> usize {
        self.successors.many()
    }
    /// How many dependencies each operation waits for: counted.
    pub fn waits(&self) -> Vec<u32> {
        let mut waits = vec![0; self.ops.len()];
        self.each_waiting(|after| waits[after as usize] += 1);
        waits
    }
    /// Shows each operation that waits, once for each dependency.
    pub(crate) fn each_waiting(&self, show: impl FnMut(u32)) {
        self.successors.each(show);
    }
    /// Operations that wait for `op`, and whether they wait for its start only (`irequires`).
    #[inline]
    pub fn successors(&self, op: u32) -> impl Iterator<Item = (u32, bool)> {
        self.successors.iter(op)
    }
    /// Shows those that wait for the end of `op`, or for its start only.
    #[inline]
    pub fn each_successor(&self, op: u32, start_only: bool, show: impl FnMut(u32)) {
        self.successors.each_of(op, start_only, show);
    }
    /// Whether anything waits for `op`.
    #[inline]
    pub fn has_successors(&self, op: u32) -> bool {
        self.successors.has(op)
    }
    /// Whether receives of one message take it in one order only, for any times. Each rank's operations stand in the
    /// order in which they wait for one another, and no receive takes messages of any source or tag. A schedule that
    /// ends on one machine then ends on each where no message asks first.
    pub fn is_in_order(&self) -> bool {
        let in_order = |block: &std::ops::Range<u32>| {
            block.is_empty() || (block.start..block.end - 1).all(|id| self.successors.has_next(id))
        };
        self.blocks.iter().all(in_order) && !self.extent().wild
    }
    /// Whether anything anywhere waits for a start.
    pub fn has_start_waits(&self) -> bool {
        self.successors.starts
    }
}

/// Where an operation stands in what was read: a file of several, and a line, a node or a path in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Which file.
    pub file: u32,
    /// Line or node; of JSON the list, then the item.
    pub at: [u64; 2],
}

/// Collects operations and dependencies rank by rank.
#[derive(Debug)]
pub struct Builder {
    blocks: Vec<Option<std::ops::Range<u32>>>,
    /// The rank whose block was begun last.
    rank: u32,
    ops: Ops,
    /// By operation; lists have no numbers yet.
    follows: Vec<Follows>,
    /// What lists hold, in the order given: (what is waited for, who waits with the mark).
    listed: Vec<(u32, u32)>,
    dependencies: usize,
    /// Where what is added next stands.
    place: Place,
    /// An operation whose place is asked for, and that place.
    watched: (u32, Option<Place>),
}

impl Builder {
    /// For `ranks` ranks, at most [`MOST_RANKS`].
    pub fn new(ranks: u32) -> Builder {
        Builder::watching(ranks, NONE)
    }
    /// The same, which notes where operation `watched` stands: places are asked for after a mistake, so that reading
    /// keeps none.
    pub fn watching(ranks: u32, watched: u32) -> Builder {
        assert!(ranks <= MOST_RANKS, "at most {MOST_RANKS} ranks");
        Builder {
            blocks: vec![None; ranks as usize],
            rank: NONE,
            ops: Ops::default(),
            follows: Vec::new(),
            listed: Vec::new(),
            dependencies: 0,
            place: Place::default(),
            watched: (watched, None),
        }
    }
    /// What is added from here on stands there.
    #[inline]
    pub fn stands(&mut self, place: Place) {
        self.place = place;
    }
    /// Where the watched operation stands.
    pub fn watched(&self) -> Option<Place> {
        self.watched.1
    }
    /// Ranks.
    pub fn ranks(&self) -> u32 {
        self.blocks.len() as u32
    }
    /// Starts the block of `rank`: operations added from here on are its. False if it had one already.
    #[must_use]
    pub fn begin(&mut self, rank: u32) -> bool {
        self.end();
        let at = self.ops.len() as u32;
        self.rank = rank;
        self.blocks[rank as usize].replace(at..at).is_none()
    }
    /// The first rank without a block, and how many have none.
    pub(crate) fn without(&self) -> Option<(u32, usize)> {
        let first = self.blocks.iter().position(Option::is_none)?;
        Some((first as u32, self.blocks.iter().filter(|block| block.is_none()).count()))
    }
    /// Ends the block begun last.
    fn end(&mut self) {
        if let Some(Some(block)) = self.blocks.get_mut(self.rank as usize) {
            block.end = self.ops.len() as u32;
        }
    }
    /// So many operations come.
    pub(crate) fn expect(&mut self, ops: usize) {
        self.ops.expect(ops);
        self.follows.reserve(ops);
    }
    /// Adds an operation to the block of its rank, which must be the one begun last, and returns its id.
    #[inline(always)]
    pub fn add(&mut self, op: Op) -> u32 {
        assert!(self.ops.len() < MOST_OPS, "at most {MOST_OPS} operations");
        assert!(op.rank == self.rank, "rank {} was begun last, not {}", self.rank, op.rank);
        let is_peer = (op.peer as usize) < self.blocks.len() || op.kind == Kind::Recv && op.peer == ANY;
        assert!(is_peer || !op.kind.is_of_message(), "no message's other rank is {}", op.peer);
        let id = self.ops.len() as u32;
        if id == self.watched.0 {
            self.watched.1 = Some(self.place);
        }
        self.ops.push(op);
        self.follows.push(Follows::NOBODY);
        id
    }
    /// `after` waits for the end of `before`, or only for its start. Both have been added.
    #[inline(always)]
    pub fn requires(&mut self, after: u32, before: u32, start_only: bool) {
        self.dependencies += 1;
        let follows = &mut self.follows[before as usize];
        if let Some(alone) = follows.with(before, after, start_only) {
            *follows = alone;
            return;
        }
        let (alone, many) = std::mem::replace(follows, Follows::list(0)).alone(before);
        self.listed.extend(alone.into_iter().take(many).map(|word| (before, word)));
        self.listed.push((before, after | if start_only { START } else { 0 }));
    }
    /// Operations so far.
    pub fn ops(&self) -> usize {
        self.ops.len()
    }
    /// Dependencies so far.
    pub fn edges(&self) -> usize {
        self.dependencies
    }
    /// The schedule; ranks without a block do nothing.
    pub fn build(mut self) -> Schedule {
        self.end();
        let Builder { blocks, ops, follows, listed, .. } = self;
        let successors = Successors::of(follows, &listed);
        let blocks = blocks.into_iter().map(Option::unwrap_or_default).collect();
        Schedule { blocks, ops, successors }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successors_keep_the_order_in_which_they_were_given() {
        let all = [(1, false), (2, true), (1, true), (3, false)];
        for many in 0..1 << all.len() {
            let mut builder = Builder::new(1);
            assert!(builder.begin(0));
            for size in 0..4 {
                builder.add(Op { kind: Kind::Calc, cpu: 0, nic: 0, rank: 0, peer: 0, tag: 0, size });
            }
            let given: Vec<_> = (0..all.len()).filter(|at| many >> at & 1 != 0).map(|at| all[at]).collect();
            // A list of another operation stands before this one's.
            let other = [(3, true), (2, false)];
            other.iter().for_each(|&(after, start_only)| builder.requires(after, 0, start_only));
            given.iter().for_each(|&(after, start_only)| builder.requires(after, 2, start_only));
            assert_eq!(builder.edges(), given.len() + 2);
            let schedule = builder.build();
            assert_eq!(schedule.successors(2).collect::<Vec<_>>(), given);
            assert_eq!(schedule.successors(0).collect::<Vec<_>>(), other);
            assert_eq!((schedule.has_successors(2), schedule.has_successors(3)), (!given.is_empty(), false));
            for start in [false, true] {
                let mut shown = Vec::new();
                schedule.each_successor(2, start, |after| shown.push((after, start)));
                assert_eq!(shown, given.iter().copied().filter(|one| one.1 == start).collect::<Vec<_>>());
            }
            assert_eq!(schedule.dependencies(), given.len() + 2);
            assert_eq!(schedule.waits().iter().sum::<u32>() as usize, given.len() + 2);
            assert!(schedule.has_start_waits());
        }
    }

    #[test]
    fn in_order_is_what_no_time_changes() {
        let is_in_order = |text: &str| Schedule::parse(text).unwrap().is_in_order();
        assert!(is_in_order(
            "num_ranks 3\nrank 1 { a: calc 1; b: calc 1; c: calc 1; b requires a; c irequires b; c requires a }\nrank 0 { calc 1 }\nrank 2 { }"
        ));
        assert!(!is_in_order("num_ranks 1\nrank 0 { a: calc 1; b: calc 1; c: calc 1; b requires a; c requires a }"));
        assert!(!is_in_order("num_ranks 1\nrank 0 { a: send 1b to 0; b: recv 1b from 0 tag -1; b requires a }"));
    }
}
