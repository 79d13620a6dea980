//! Schedules: operations by rank, and who waits for whom as one compact array.

use std::borrow::Cow;

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
/// Marks a successor that waits for the start only.
const START: u32 = 1 << 31;
/// A larger size counts as this: it is beyond the end of time.
const MOST_SIZE: u64 = (1 << 62) - 1;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Keeps a processor busy.
    Calc,
    /// Sends a message to `peer`.
    Send,
    /// Receives a message from `peer`, or from [`ANY`] rank.
    Recv,
    /// What software takes to hand over a message: keeps a processor busy for `size`, and ends `tag` units later. Other
    /// software may take less: no bound counts it.
    Post,
}

impl Kind {
    /// Whether it is an end of a message.
    pub fn is_of_message(self) -> bool {
        matches!(self, Kind::Send | Kind::Recv)
    }
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// What it does.
    pub kind: Kind,
    /// Processor of its rank.
    pub cpu: u8,
    /// Adapter of its rank.
    pub nic: u8,
    /// Its rank.
    pub rank: u32,
    /// The other rank of a message.
    pub peer: u32,
    /// Tag, or [`ANY`] for a receive; of a post the units of time after its processor is free.
    pub tag: u32,
    /// Bytes of a message, units of time of a computation.
    pub size: u64,
}

impl Op {
    /// The same for forms that have no posts: there it is a computation.
    pub(crate) fn without_posts(self) -> Op {
        match self.kind {
            Kind::Post => Op { kind: Kind::Calc, size: self.size + u64::from(self.tag), tag: 0, ..self },
            _ => self,
        }
    }
}

/// An operation as it is kept: 20 bytes. They are most of a schedule's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, packed(4))]
struct Packed {
    /// The rank, then its processor in the low byte.
    rank_cpu: u32,
    /// The other rank, then the adapter in the low byte.
    peer_nic: u32,
    tag: u32,
    /// The kind in the top two bits, with a kind of its own for a receive from any rank.
    size: u64,
}

impl Packed {
    #[inline]
    fn of(op: Op) -> Packed {
        let kind = match op.kind {
            Kind::Calc | Kind::Post => 0,
            Kind::Send => 1,
            Kind::Recv if op.peer != ANY => 2,
            Kind::Recv => 3,
        };
        Packed {
            rank_cpu: op.rank << 8 | u32::from(op.cpu),
            peer_nic: if op.kind == Kind::Post { POST } else { op.peer << 8 | u32::from(op.nic) },
            tag: op.tag,
            size: kind << 62 | op.size.min(MOST_SIZE),
        }
    }
    #[inline]
    fn op(self) -> Op {
        let (kind, peer) = match self.size >> 62 {
            0 if self.peer_nic == POST => return self.post(),
            0 => (Kind::Calc, self.peer_nic >> 8),
            1 => (Kind::Send, self.peer_nic >> 8),
            2 => (Kind::Recv, self.peer_nic >> 8),
            _ => (Kind::Recv, ANY),
        };
        Op {
            kind,
            cpu: self.rank_cpu as u8,
            nic: self.peer_nic as u8,
            rank: self.rank_cpu >> 8,
            peer,
            tag: self.tag,
            size: self.size & MOST_SIZE,
        }
    }
    #[cold]
    fn post(self) -> Op {
        let Packed { rank_cpu, tag, size, .. } = self;
        Op { kind: Kind::Post, cpu: rank_cpu as u8, nic: 0, rank: rank_cpu >> 8, peer: 0, tag, size }
    }
}

/// The other rank and adapter of a post, which has neither: no computation has these.
const POST: u32 = u32::MAX;

/// What waits for an operation. Most have one successor, not far from them, which then needs no list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Follows(u32);

/// Its kind, in the top two bits. One operation waits for the end, the start, or both, at the distance in the other
/// bits; or these are the number of a list.
const END: u32 = 0;
const BEGIN: u32 = 1;
const BOTH: u32 = 2;
const LIST: u32 = 3;

impl Follows {
    const NOBODY: Follows = Follows(u32::MAX);
    /// Lists: the number of no list is that of nobody.
    const MOST_LISTS: u32 = (1 << 30) - 1;

    #[inline]
    fn kind(self) -> u32 {
        self.0 >> 30
    }
    fn list(number: u32) -> Follows {
        assert!(number < Follows::MOST_LISTS, "more than {} operations for which several wait", Follows::MOST_LISTS);
        Follows(LIST << 30 | number)
    }
    #[inline]
    fn number(self) -> Option<usize> {
        (self.kind() == LIST && self != Follows::NOBODY).then_some((self.0 & Follows::MOST_LISTS) as usize)
    }
    /// `after` alone waits for `before`, if they are near enough.
    #[inline]
    fn one(before: u32, after: u32, kind: u32) -> Option<Follows> {
        let follows = Follows(kind << 30 | after.wrapping_sub(before) & Follows::MOST_LISTS);
        (follows.after(before) == after).then_some(follows)
    }
    /// The one that waits for `before`.
    #[inline]
    fn after(self, before: u32) -> u32 {
        before.wrapping_add_signed((self.0 << 2).cast_signed() >> 2)
    }
    /// How many that is.
    fn many(self) -> usize {
        [1, 1, 2, 0][self.kind() as usize]
    }
    /// Those of `before`, with the mark, that stand in no list: of this many the first.
    #[inline]
    fn alone(self, before: u32) -> ([u32; 2], usize) {
        let after = self.after(before);
        match self.kind() {
            END => ([after, 0], 1),
            BEGIN => ([after | START, 0], 1),
            BOTH => ([after, after | START], 2),
            _ => ([0, 0], 0),
        }
    }
}

/// What all ranks do. Operation ids count through the ranks' blocks in the order in which the blocks stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    blocks: Vec<std::ops::Range<u32>>,
    ops: Vec<Packed>,
    /// By operation.
    follows: Vec<Follows>,
    /// List n is `listed[lists[n]..lists[n + 1]]`.
    lists: Vec<u32>,
    listed: Vec<u32>,
}

impl Schedule {
    /// Ranks.
    pub fn ranks(&self) -> u32 {
        self.blocks.len() as u32
    }
    /// All operations.
    pub fn ops(&self) -> impl ExactSizeIterator<Item = Op> {
        self.ops.iter().map(|op| op.op())
    }
    /// One of them.
    #[inline]
    pub fn op(&self, id: u32) -> Op {
        self.ops[id as usize].op()
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
        for packed in &mut other.ops {
            let op = packed.op();
            let counted = |units: u64| {
                let ps = u128::from(units) * u128::from(from_ps);
                u64::try_from((ps + u128::from(to_ps / 2)) / u128::from(to_ps.max(1))).unwrap_or(u64::MAX)
            };
            match op.kind {
                Kind::Calc => *packed = Packed::of(Op { size: counted(op.size), ..op }),
                Kind::Post => {
                    let tag = u32::try_from(counted(op.tag.into())).unwrap_or(u32::MAX);
                    *packed = Packed::of(Op { size: counted(op.size), tag, ..op });
                }
                Kind::Send | Kind::Recv => {}
            }
        }
        Cow::Owned(other)
    }
    /// Dependencies in all.
    pub fn dependencies(&self) -> usize {
        self.listed.len() + self.follows.iter().map(|follows| follows.many()).sum::<usize>()
    }
    /// How many dependencies each operation waits for: counted.
    pub fn waits(&self) -> Vec<u32> {
        let mut waits = vec![0; self.ops.len()];
        self.each_waiting(|after| waits[after as usize] += 1);
        waits
    }
    /// Shows each operation that waits, once for each dependency.
    pub(crate) fn each_waiting(&self, mut show: impl FnMut(u32)) {
        for (before, follows) in (0..).zip(&self.follows) {
            (0..follows.many()).for_each(|_| show(follows.after(before)));
        }
        self.listed.iter().for_each(|&word| show(word & !START));
    }
    /// Operations that wait for `op`, and whether they wait for its start only (`irequires`).
    #[inline]
    pub fn successors(&self, op: u32) -> impl Iterator<Item = (u32, bool)> {
        let follows = self.follows[op as usize];
        let (alone, many) = follows.alone(op);
        let words = alone.into_iter().take(many).chain(self.list(follows).iter().copied());
        words.map(|word| (word & !START, word & START != 0))
    }
    /// Shows those that wait for the end of `op`, or for its start only.
    #[inline]
    pub fn each_successor(&self, op: u32, start_only: bool, mut show: impl FnMut(u32)) {
        let follows = self.follows[op as usize];
        match follows.kind() {
            LIST => {
                let words = self.list(follows).iter().filter(|&&word| (word & START != 0) == start_only);
                words.for_each(|word| show(word & !START));
            }
            kind if kind == BOTH || (kind == BEGIN) == start_only => show(follows.after(op)),
            _ => {}
        }
    }
    #[inline]
    fn list(&self, follows: Follows) -> &[u32] {
        match follows.number() {
            Some(list) => &self.listed[self.lists[list] as usize..self.lists[list + 1] as usize],
            None => &[],
        }
    }
    /// Whether anything waits for `op`.
    #[inline]
    pub fn has_successors(&self, op: u32) -> bool {
        self.follows[op as usize] != Follows::NOBODY
    }
    /// Whether receives of one message take it in one order only, for any times. Each rank's operations stand in the
    /// order in which they wait for one another, and no receive takes messages of any source or tag. A schedule that
    /// ends on one machine then ends on each where no message asks first.
    pub fn is_in_order(&self) -> bool {
        let is_next = |id: u32| self.successors(id).any(|(after, _)| after == id + 1);
        let in_order = |block: &std::ops::Range<u32>| block.is_empty() || (block.start..block.end - 1).all(is_next);
        let is_wild = |op: Op| op.kind == Kind::Recv && (op.peer == ANY || op.tag == ANY);
        self.blocks.iter().all(in_order) && !self.ops().any(is_wild)
    }
    /// Whether anything anywhere waits for a start.
    pub fn has_start_waits(&self) -> bool {
        let alone = |follows: &Follows| matches!(follows.kind(), BEGIN | BOTH);
        self.follows.iter().any(alone) || self.listed.iter().any(|word| word & START != 0)
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
    ops: Vec<Packed>,
    /// As in the schedule, but lists have no numbers yet.
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
            ops: Vec::new(),
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
        self.ops.reserve(ops);
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
        self.ops.push(Packed::of(op));
        self.follows.push(Follows::NOBODY);
        id
    }
    /// `after` waits for the end of `before`, or only for its start. Both have been added.
    #[inline(always)]
    pub fn requires(&mut self, after: u32, before: u32, start_only: bool) {
        self.dependencies += 1;
        let follows = &mut self.follows[before as usize];
        let kind = match follows.kind() {
            LIST if *follows == Follows::NOBODY => Some(if start_only { BEGIN } else { END }),
            END if start_only && follows.after(before) == after => Some(BOTH),
            _ => None,
        };
        if let Some(alone) = kind.and_then(|kind| Follows::one(before, after, kind)) {
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
        let Builder { blocks, ops, mut follows, listed: edges, .. } = self;
        let mut lists = vec![0u32];
        if !edges.is_empty() {
            for follows in follows.iter_mut().filter(|follows| follows.number().is_some()) {
                *follows = Follows::list(lists.len() as u32 - 1);
                lists.push(0);
            }
        }
        let list = |before: u32| follows[before as usize].number().expect("has a list");
        edges.iter().for_each(|&(before, _)| lists[list(before)] += 1);
        let mut sum = 0;
        for end in &mut lists {
            sum += *end;
            *end = sum;
        }
        // Filled from behind: each list's end becomes its beginning, its entries in the order given.
        let mut listed = vec![0u32; edges.len()];
        for &(before, after) in edges.iter().rev() {
            let at = &mut lists[list(before)];
            *at -= 1;
            listed[*at as usize] = after;
        }
        let blocks = blocks.into_iter().map(Option::unwrap_or_default).collect();
        Schedule { blocks, ops, follows, lists, listed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_and_successors_survive_their_packing() {
        let most = Op {
            kind: Kind::Send,
            cpu: 255,
            nic: 254,
            rank: 0xff_ffff,
            peer: 0xff_fffe,
            tag: 0xffff_fffe,
            size: 1 << 61,
        };
        let any = Op { kind: Kind::Recv, peer: ANY, tag: ANY, size: MOST_SIZE, ..most };
        let post = Op { kind: Kind::Post, nic: 0, peer: 0, ..most };
        let calc = Op { kind: Kind::Calc, size: 0, peer: 0, ..most };
        for op in [most, any, Op { kind: Kind::Recv, ..most }, calc, post] {
            assert_eq!(Packed::of(op).op(), op);
        }
        assert_eq!(Packed::of(Op { size: u64::MAX, ..most }).op().size, MOST_SIZE);
        let near = 1u32 << 29;
        for (before, after) in
            [(0, near - 1), (near, 0), (7, 7), (5, 6), (6, 5), (MOST_OPS as u32 - 1, MOST_OPS as u32 - near)]
        {
            assert_eq!(Follows::one(before, after, BOTH).unwrap().alone(before), ([after, after | START], 2));
        }
        assert_eq!([(0, near), (near + 1, 0)].map(|(before, after)| Follows::one(before, after, END)), [None, None]);
    }

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
