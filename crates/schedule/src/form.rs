//! Schedules: operations by rank, and who waits for whom as one compact array.

use std::borrow::Cow;

/// Any source (as `peer`) or any tag of a receive.
pub const ANY: u32 = u32::MAX;
/// Most ranks of a schedule.
pub const MOST_RANKS: u32 = 1 << 24;
/// Most operations: the top bit of an id is free for marks, and no id with it is [`NONE`].
pub const MOST_OPS: usize = (1 << 31) - 1;
/// A message of more bytes is a slip of the pen.
pub const MOST_BYTES: u64 = 1 << 40;
/// The longest computation: 10^15 units.
pub const MOST_UNITS: u64 = 1_000_000_000_000_000;
/// The id of no operation.
pub const NONE: u32 = u32::MAX;
/// Marks a successor that waits for the start only.
const START: u32 = 1 << 31;
/// Marks the number of a list of successors.
const LISTED: u32 = 1 << 31;
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
    /// Tag, or [`ANY`] for a receive.
    pub tag: u32,
    /// Bytes of a message, units of time of a computation.
    pub size: u64,
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
            Kind::Calc => 0,
            Kind::Send => 1,
            Kind::Recv if op.peer != ANY => 2,
            Kind::Recv => 3,
        };
        Packed {
            rank_cpu: op.rank << 8 | u32::from(op.cpu),
            peer_nic: op.peer << 8 | u32::from(op.nic),
            tag: op.tag,
            size: kind << 62 | op.size.min(MOST_SIZE),
        }
    }
    #[inline]
    fn op(self) -> Op {
        let (kind, peer) = match self.size >> 62 {
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
}

/// What all ranks do. Operation ids count through the ranks' blocks in the order in which the blocks stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    blocks: Vec<std::ops::Range<u32>>,
    ops: Vec<Packed>,
    /// By operation: the one that waits for its end, if nothing else waits for it; else the number of its list, with
    /// [`LISTED`], or [`NONE`].
    follows: Vec<u32>,
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
            if op.kind == Kind::Calc {
                let ps = u128::from(op.size) * u128::from(from_ps);
                let size = u64::try_from((ps + u128::from(to_ps / 2)) / u128::from(to_ps.max(1))).unwrap_or(u64::MAX);
                *packed = Packed::of(Op { size, ..op });
            }
        }
        Cow::Owned(other)
    }
    /// Dependencies in all.
    pub fn dependencies(&self) -> usize {
        self.listed.len() + self.follows.iter().filter(|&&word| word & LISTED == 0).count()
    }
    /// How many dependencies each operation waits for: counted.
    pub fn waits(&self) -> Vec<u32> {
        let mut waits = vec![0; self.ops.len()];
        self.each_waiting(|after| waits[after as usize] += 1);
        waits
    }
    /// Shows each operation that waits, once for each dependency.
    pub(crate) fn each_waiting(&self, mut show: impl FnMut(u32)) {
        self.follows.iter().filter(|&&word| word & LISTED == 0).for_each(|&after| show(after));
        self.listed.iter().for_each(|&word| show(word & !START));
    }
    /// Operations that wait for `op`, and whether they wait for its start only (`irequires`).
    #[inline]
    pub fn successors(&self, op: u32) -> impl Iterator<Item = (u32, bool)> {
        let word = &self.follows[op as usize];
        let words = match *word {
            NONE => &[],
            number if number & LISTED != 0 => {
                let list = (number & !LISTED) as usize;
                &self.listed[self.lists[list] as usize..self.lists[list + 1] as usize]
            }
            _ => std::slice::from_ref(word),
        };
        words.iter().map(|&word| (word & !START, word & START != 0))
    }
    /// Whether anything waits for `op`.
    #[inline]
    pub fn has_successors(&self, op: u32) -> bool {
        self.follows[op as usize] != NONE
    }
    /// Whether receives of one message take it in one order only, whatever takes how long: each rank's operations stand in
    /// the order in which they wait for one another, and no receive takes messages of any source or tag. What ends on one
    /// machine then ends on each that makes no message ask first.
    pub fn is_in_order(&self) -> bool {
        let is_next = |id: u32| self.successors(id).any(|(after, _)| after == id + 1);
        let in_order = |block: &std::ops::Range<u32>| block.is_empty() || (block.start..block.end - 1).all(is_next);
        let is_wild = |op: Op| op.kind == Kind::Recv && (op.peer == ANY || op.tag == ANY);
        self.blocks.iter().all(in_order) && !self.ops().any(is_wild)
    }
    /// Whether anything anywhere waits for a start.
    pub fn has_start_waits(&self) -> bool {
        self.listed.iter().any(|word| word & START != 0)
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
    follows: Vec<u32>,
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
    #[inline]
    pub fn add(&mut self, op: Op) -> u32 {
        assert!(self.ops.len() < MOST_OPS, "at most {MOST_OPS} operations");
        assert!(op.rank == self.rank, "rank {} was begun last, not {}", self.rank, op.rank);
        let is_peer = (op.peer as usize) < self.blocks.len() || op.kind == Kind::Recv && op.peer == ANY;
        assert!(is_peer || op.kind == Kind::Calc, "no message's other rank is {}", op.peer);
        let id = self.ops.len() as u32;
        if id == self.watched.0 {
            self.watched.1 = Some(self.place);
        }
        self.ops.push(Packed::of(op));
        self.follows.push(NONE);
        id
    }
    /// `after` waits for the end of `before`, or only for its start. Both have been added.
    #[inline]
    pub fn requires(&mut self, after: u32, before: u32, start_only: bool) {
        self.dependencies += 1;
        let follows = &mut self.follows[before as usize];
        if *follows == NONE && !start_only {
            *follows = after;
            return;
        }
        let alone = std::mem::replace(follows, LISTED);
        if alone & LISTED == 0 {
            self.listed.push((before, alone));
        }
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
            for follows in follows.iter_mut().filter(|follows| **follows == LISTED) {
                *follows |= lists.len() as u32 - 1;
                lists.push(0);
            }
        }
        let list = |before: u32| (follows[before as usize] & !LISTED) as usize;
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
