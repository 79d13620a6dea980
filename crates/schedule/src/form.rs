//! Schedules: operations by rank, and who waits for whom as one compact array.

use std::borrow::Cow;

/// Any source (as `peer`) or any tag of a receive.
pub const ANY: u32 = u32::MAX;
/// Most ranks of a schedule.
pub const MOST_RANKS: u32 = 1 << 24;
/// Most operations: the top bit of a successor says how it waits.
pub const MOST_OPS: usize = 1 << 31;
/// A message of more bytes is a slip of the pen.
pub const MOST_BYTES: u64 = 1 << 40;
/// The longest computation: 10^15 units.
pub const MOST_UNITS: u64 = 1_000_000_000_000_000;
/// The id of no operation.
pub const NONE: u32 = u32::MAX;
/// Marks a successor that waits for the start only.
const START: u32 = 1 << 31;

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

/// One operation: 24 bytes.
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

/// What all ranks do. Operation ids count through the ranks' blocks in the order in which the blocks stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    blocks: Vec<std::ops::Range<u32>>,
    ops: Vec<Op>,
    /// Successors of operation i are `successors[offsets[i]..offsets[i + 1]]`.
    offsets: Vec<u32>,
    successors: Vec<u32>,
    /// Dependencies of each operation.
    waits: Vec<u32>,
}

impl Schedule {
    /// Ranks.
    pub fn ranks(&self) -> u32 {
        self.blocks.len() as u32
    }
    /// All operations.
    pub fn ops(&self) -> &[Op] {
        &self.ops
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
        for op in other.ops.iter_mut().filter(|op| op.kind == Kind::Calc) {
            let ps = u128::from(op.size) * u128::from(from_ps);
            op.size = u64::try_from((ps + u128::from(to_ps / 2)) / u128::from(to_ps.max(1))).unwrap_or(u64::MAX);
        }
        Cow::Owned(other)
    }
    /// Dependencies in all.
    pub fn dependencies(&self) -> usize {
        self.successors.len()
    }
    /// How many dependencies each operation waits for.
    pub fn waits(&self) -> &[u32] {
        &self.waits
    }
    /// Operations that wait for `op`, and whether they wait for its start only (`irequires`).
    #[inline]
    pub fn successors(&self, op: u32) -> impl Iterator<Item = (u32, bool)> {
        let range = self.offsets[op as usize] as usize..self.offsets[op as usize + 1] as usize;
        self.successors[range].iter().map(|&word| (word & !START, word & START != 0))
    }
    /// Whether anything waits for `op`.
    #[inline]
    pub fn has_successors(&self, op: u32) -> bool {
        self.offsets[op as usize] != self.offsets[op as usize + 1]
    }
    /// Whether anything anywhere waits for a start.
    pub fn has_start_waits(&self) -> bool {
        self.successors.iter().any(|word| word & START != 0)
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
    ops: Vec<Op>,
    /// (what is waited for, who waits with the mark).
    edges: Vec<(u32, u32)>,
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
        let blocks = vec![None; ranks as usize];
        Builder { blocks, ops: Vec::new(), edges: Vec::new(), place: Place::default(), watched: (watched, None) }
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
        let at = self.ops.len() as u32;
        self.blocks[rank as usize].replace(at..at).is_none()
    }
    /// Adds an operation to the block of its rank, which must be the one begun last, and returns its id.
    pub fn add(&mut self, op: Op) -> u32 {
        assert!(self.ops.len() < MOST_OPS, "at most {MOST_OPS} operations");
        let id = self.ops.len() as u32;
        if id == self.watched.0 {
            self.watched.1 = Some(self.place);
        }
        self.ops.push(op);
        let block = self.blocks[op.rank as usize].as_mut().expect("the rank's block was begun");
        block.end = id + 1;
        id
    }
    /// `after` waits for the end of `before`, or only for its start.
    pub fn requires(&mut self, after: u32, before: u32, start_only: bool) {
        self.edges.push((before, after | if start_only { START } else { 0 }));
    }
    /// Operations so far.
    pub fn ops(&self) -> usize {
        self.ops.len()
    }
    /// Dependencies so far.
    pub fn edges(&self) -> usize {
        self.edges.len()
    }
    /// The schedule; ranks without a block do nothing.
    pub fn build(self) -> Schedule {
        let mut offsets = vec![0u32; self.ops.len() + 1];
        let mut waits = vec![0u32; self.ops.len()];
        for &(before, after) in &self.edges {
            offsets[before as usize] += 1;
            waits[(after & !START) as usize] += 1;
        }
        let mut sum = 0;
        for offset in &mut offsets {
            sum += *offset;
            *offset = sum;
        }
        // Filled from behind: each offset ends where its operation's successors begin, in the order given.
        let mut successors = vec![0u32; self.edges.len()];
        for &(before, after) in self.edges.iter().rev() {
            let at = &mut offsets[before as usize];
            *at -= 1;
            successors[*at as usize] = after;
        }
        let blocks = self.blocks.into_iter().map(Option::unwrap_or_default).collect();
        Schedule { blocks, ops: self.ops, offsets, successors, waits }
    }
}
