//! A schedule in the making, by ranks in any order: readers of plans find operations of several ranks at once.

use crate::form::{ANY, Builder, Kind, MOST_BYTES, MOST_OPS, MOST_UNITS, Op, Place};
use std::collections::BTreeMap;

/// An operation of a rank: its number there.
pub type Local = u32;

/// Operations of all ranks, each rank's in a row of its own.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    ranks: Vec<Row>,
    place: Place,
    total: usize,
    /// In place of the operations, where only their sums are asked for.
    sums: Option<Box<Sums>>,
}

/// What operations put on links and processors, without their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    /// Bytes from rank to rank.
    pub sent: BTreeMap<(u32, u32), u64>,
    /// Bytes of the largest message.
    pub largest: u64,
    /// Computations by rank and processor, in units.
    pub work: BTreeMap<(u32, u8), u64>,
}

impl Sums {
    fn add(&mut self, op: Op) {
        match op.kind {
            Kind::Send => {
                *self.sent.entry((op.rank, op.peer)).or_default() += op.size;
                self.largest = op.size.max(self.largest);
            }
            Kind::Calc => *self.work.entry((op.rank, op.cpu)).or_default() += op.size,
            Kind::Recv | Kind::Post => {}
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Row {
    ops: Vec<Op>,
    /// Where operations from that number on stand.
    places: Vec<(Local, Place)>,
    /// Which operation waits for which, and whether for its start only.
    waits: Vec<(Local, Local, bool)>,
}

impl Draft {
    /// For so many ranks, none of which does anything yet.
    pub fn new(ranks: u32) -> Draft {
        Draft { ranks: vec![Row::default(); ranks as usize], ..Draft::default() }
    }
    /// The same that keeps only the sums of what is added.
    pub(crate) fn summing(ranks: u32) -> Draft {
        Draft { sums: Some(Box::default()), ..Draft::new(ranks) }
    }
    /// These sums.
    pub(crate) fn sums(self) -> Sums {
        self.sums.map(|sums| *sums).unwrap_or_default()
    }
    /// What is added from here on stands there.
    pub fn stands(&mut self, place: Place) {
        self.place = place;
    }
    /// Ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }
    /// Operations of all ranks so far.
    pub fn total(&self) -> usize {
        self.total
    }
    /// Operations of a rank so far.
    pub fn len(&self, rank: u32) -> u32 {
        self.ranks[rank as usize].ops.len() as u32
    }
    /// Whether no rank does anything.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// An operation as it stands.
    pub fn put(&mut self, op: Op) -> Local {
        assert!(self.total < MOST_OPS, "at most {MOST_OPS} operations");
        self.total += 1;
        if let Some(sums) = &mut self.sums {
            sums.add(op);
            return 0;
        }
        let row = &mut self.ranks[op.rank as usize];
        let number = row.ops.len() as u32;
        if row.places.last().map_or(Place::default(), |(_, place)| *place) != self.place {
            row.places.push((number, self.place));
        }
        row.ops.push(op);
        number
    }
    /// A computation of `units` on a processor of the rank. What is longer than a run may be ends beyond its latest time: an
    /// error there.
    pub fn calc(&mut self, rank: u32, cpu: u8, units: u64) -> Local {
        let size = units.min(MOST_UNITS);
        self.put(Op { kind: Kind::Calc, cpu, nic: 0, rank, peer: 0, tag: 0, size })
    }
    /// Software of the rank hands over a message: its processor is busy for `busy` units and the message leaves `then`
    /// units later.
    pub fn post(&mut self, rank: u32, cpu: u8, [busy, then]: [u64; 2]) -> Local {
        let (size, tag) = (busy.min(MOST_UNITS), u32::try_from(then).unwrap_or(u32::MAX));
        self.put(Op { kind: Kind::Post, cpu, nic: 0, rank, peer: 0, tag, size })
    }
    /// A message of `bytes` from `rank` to `peer`.
    pub fn send(&mut self, rank: u32, peer: u32, bytes: u64, tag: u32, cpu: u8) -> Local {
        let size = bytes.min(MOST_BYTES);
        self.put(Op { kind: Kind::Send, cpu, nic: 0, rank, peer, tag, size })
    }
    /// Its receive.
    pub fn recv(&mut self, rank: u32, peer: u32, bytes: u64, tag: u32, cpu: u8) -> Local {
        let size = bytes.min(MOST_BYTES);
        self.put(Op { kind: Kind::Recv, cpu, nic: 0, rank, peer, tag, size })
    }
    /// A receive from any rank.
    pub fn recv_any(&mut self, rank: u32, bytes: u64, tag: u32, cpu: u8) -> Local {
        self.recv(rank, ANY, bytes, tag, cpu)
    }
    /// `after` waits for the end of `before`, both of `rank`.
    pub fn requires(&mut self, rank: u32, after: Local, before: Local) {
        if self.sums.is_none() {
            self.ranks[rank as usize].waits.push((after, before, false));
        }
    }
    /// `after` waits for the start of `before`.
    pub fn requires_start(&mut self, rank: u32, after: Local, before: Local) {
        if self.sums.is_none() {
            self.ranks[rank as usize].waits.push((after, before, true));
        }
    }

    /// So many ranks more, which do nothing yet: the first of them.
    pub(crate) fn add_ranks(&mut self, many: u32) -> u32 {
        let first = self.ranks();
        self.ranks.resize((first + many) as usize, Row::default());
        first
    }

    /// Appends what a rank of another draft does. Its ranks are `ranks` here, and `tag` is added to its tags. Gives the
    /// number that its first operation has here.
    pub(crate) fn append(&mut self, other: &Draft, rank: u32, ranks: &[u32], tag: u32) -> Local {
        let (own, row) = (ranks[rank as usize], &other.ranks[rank as usize]);
        let first = self.len(own);
        for &op in &row.ops {
            let placed = match op.kind {
                Kind::Send | Kind::Recv => Op { peer: ranks[op.peer as usize], tag: tag + op.tag, ..op },
                // The tag of a post is a time.
                Kind::Calc | Kind::Post => op,
            };
            self.put(Op { rank: own, ..placed });
        }
        let waits = row.waits.iter().map(|&(after, before, start)| (first + after, first + before, start));
        self.ranks[own as usize].waits.extend(waits);
        first
    }

    /// The operations of a rank, and which of them waits for which.
    pub(crate) fn row(&self, rank: u32) -> (impl Iterator<Item = &Op>, impl Iterator<Item = [Local; 2]>) {
        let row = &self.ranks[rank as usize];
        (row.ops.iter(), row.waits.iter().map(|&(after, before, _)| [after, before]))
    }

    /// All of it, with the place of operation `watched`.
    pub fn builder(self, watched: u32) -> Builder {
        let mut builder = Builder::watching(self.ranks.len() as u32, watched);
        for (rank, row) in (0..).zip(self.ranks) {
            let _ = builder.begin(rank);
            let first = builder.ops() as u32;
            let mut places = row.places.into_iter().peekable();
            builder.stands(Place::default());
            for (number, op) in (0..).zip(row.ops) {
                if let Some((_, place)) = places.next_if(|(first, _)| *first == number) {
                    builder.stands(place);
                }
                builder.add(op);
            }
            for (after, before, start_only) in row.waits {
                builder.requires(first + after, first + before, start_only);
            }
        }
        builder
    }
}
