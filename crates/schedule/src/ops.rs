//! Operations as they are kept: 8 bytes each, where few sizes and tags occur.

use crate::form::{ANY, MOST_SIZE};
use crate::matching::mixed;
use crate::mix::Mixed;
use std::collections::HashMap;

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
    /// software may take less, so that no bound counts it. LogGP's model, which knows processors alone, runs it as a
    /// computation of both times.
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

/// A word's lowest bit marks a computation. It has its processor in the next bits, then its size; most fit.
const CALC: u64 = 1;
const CPU_BITS: u32 = 4;
const SIZE_BITS: u32 = 35;
/// Any other word has the number of its shape there, then the other rank. The rank stands in the top bits of both.
const SHAPE_BITS: u32 = 15;
const PEER: u32 = 1 + SHAPE_BITS;
const RANK: u32 = 40;
const RANKS: u32 = (1 << 24) - 1;
/// Larger numbers are no shapes: no number was left for the operation's own. It stands whole at the place in the other
/// bits.
const SHAPES: u64 = (1 << SHAPE_BITS) - (1 << WHOLE_BITS);
/// Bits of that place that stand in the number; the others are the other rank's. All are 31, as of an id.
const WHOLE_BITS: u32 = 31 - 24;

/// What is known of all operations.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extent {
    /// One more than the largest processor or adapter.
    pub cpus: u32,
    /// The same of adapters.
    pub nics: u32,
    /// How many send.
    pub sends: u64,
    /// The most bytes of a message.
    pub largest: u64,
    /// Whether any receives of any source or tag.
    pub(crate) wild: bool,
    /// What stands for messages less what stands for receives: nearly always sizes are the same on both sides.
    pub(crate) odd: u64,
}

/// All operations of a schedule.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ops {
    words: Vec<u64>,
    /// All of an operation but its rank and the other rank.
    shapes: Vec<Op>,
    numbers: HashMap<Key, u16, Mixed>,
    /// Of each kind the shape that was added last: the next one is often the same.
    latest: [Option<(Key, u16)>; 4],
    whole: Vec<Op>,
    extent: Extent,
}

/// A shape in two words.
type Key = (u64, u64);

/// The same operations, whatever numbers their shapes have.
impl PartialEq for Ops {
    fn eq(&self, other: &Ops) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Ops {}

impl Ops {
    #[inline]
    pub fn len(&self) -> usize {
        self.words.len()
    }
    /// So many more come.
    pub fn expect(&mut self, many: usize) {
        self.words.reserve(many);
    }
    #[inline(always)]
    pub fn push(&mut self, op: Op) {
        match op.kind {
            Kind::Calc | Kind::Post => {}
            Kind::Send => {
                self.extent.sends += 1;
                self.extent.odd = self.extent.odd.wrapping_add(mixed(&op));
            }
            Kind::Recv => self.extent.odd = self.extent.odd.wrapping_sub(mixed(&op)),
        }
        let word = self.word(op);
        self.words.push(word);
    }
    pub fn extent(&self) -> &Extent {
        &self.extent
    }
    /// In place of one of the same kind: a computation or post that takes other time.
    pub fn set(&mut self, id: u32, op: Op) {
        self.words[id as usize] = self.word(op);
    }
    #[inline]
    pub fn get(&self, id: u32) -> Op {
        self.op(self.words[id as usize])
    }
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Op> {
        self.words.iter().map(|&word| self.op(word))
    }

    #[inline(always)]
    fn word(&mut self, op: Op) -> u64 {
        let size = op.size.min(MOST_SIZE);
        let rank = u64::from(op.rank) << RANK;
        let is_plain = op.kind == Kind::Calc && op.nic == 0 && op.peer == 0 && op.tag == 0;
        if is_plain && op.cpu < 1 << CPU_BITS && size < 1 << SIZE_BITS {
            self.extent.cpus = self.extent.cpus.max(u32::from(op.cpu) + 1);
            return rank | size << (1 + CPU_BITS) | u64::from(op.cpu) << 1 | CALC;
        }
        let is_any = op.peer == ANY;
        let small = u64::from(op.cpu) << 32 | u64::from(op.nic) << 40 | u64::from(is_any) << 48;
        let key = (size | (op.kind as u64) << 62, u64::from(op.tag) | small);
        let number = match self.latest[op.kind as usize] {
            Some((latest, number)) if latest == key => Some(number),
            _ => self.number(key, Op { rank: 0, peer: if is_any { ANY } else { 0 }, size, ..op }),
        };
        match number {
            Some(number) => {
                let peer = if is_any { 0 } else { u64::from(op.peer & RANKS) };
                rank | peer << PEER | u64::from(number) << 1
            }
            None => {
                let place = self.whole.len() as u64;
                self.whole.push(Op { size, ..op });
                rank | (place & u64::from(RANKS)) << PEER | (SHAPES + (place >> 24)) << 1
            }
        }
    }

    /// The number of a shape, if there is one or one is left.
    #[inline(never)]
    fn number(&mut self, key: Key, shape: Op) -> Option<u16> {
        let extent = &mut self.extent;
        extent.cpus = extent.cpus.max(u32::from(shape.cpu) + 1);
        extent.nics = extent.nics.max(u32::from(shape.nic) + 1);
        match shape.kind {
            Kind::Calc | Kind::Post => {}
            Kind::Send => extent.largest = extent.largest.max(shape.size),
            Kind::Recv => extent.wild |= shape.peer == ANY || shape.tag == ANY,
        }
        let number = match self.numbers.get(&key) {
            Some(&number) => number,
            None if self.shapes.len() as u64 == SHAPES => return None,
            None => {
                let number = self.shapes.len() as u16;
                self.shapes.push(shape);
                self.numbers.insert(key, number);
                number
            }
        };
        self.latest[shape.kind as usize] = Some((key, number));
        Some(number)
    }

    #[inline]
    fn op(&self, word: u64) -> Op {
        let rank = (word >> RANK) as u32;
        if word & CALC != 0 {
            let cpu = (word >> 1) as u8 & ((1 << CPU_BITS) - 1);
            let size = word >> (1 + CPU_BITS) & ((1 << SIZE_BITS) - 1);
            return Op { kind: Kind::Calc, cpu, nic: 0, rank, peer: 0, tag: 0, size };
        }
        let number = word >> 1 & ((1 << SHAPE_BITS) - 1);
        let peer = (word >> PEER) as u32 & RANKS;
        match self.shapes.get(number as usize) {
            Some(shape) => Op { rank, peer: shape.peer | peer, ..*shape },
            None => self.whole[((number - SHAPES) << 24) as usize | peer as usize],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_survive_their_packing() {
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
        let calc = Op { kind: Kind::Calc, cpu: 15, nic: 0, peer: 0, tag: 0, size: (1 << SIZE_BITS) - 1, ..most };
        let post = Op { kind: Kind::Post, nic: 0, peer: 0, size: MOST_SIZE, ..most };
        let given = [
            most,
            any,
            Op { kind: Kind::Recv, ..most },
            Op { peer: 0, tag: 0, ..any },
            calc,
            Op { cpu: 16, ..calc },
            Op { size: 1 << SIZE_BITS, ..calc },
            Op { nic: 1, peer: 7, tag: 3, ..calc },
            post,
            Op { kind: Kind::Post, ..calc },
        ];
        // Once with numbers for their shapes, once after others have them all, then with half of the ranks each.
        let others = (0..SHAPES).map(|tag| Op { tag: tag as u32, ..most });
        let all: Vec<Op> =
            given.into_iter().chain(others).chain(given.map(|op| Op { cpu: 77, rank: 1, ..op })).collect();
        let mut ops = Ops::default();
        all.iter().for_each(|&op| ops.push(op));
        assert_eq!(ops.iter().collect::<Vec<_>>(), all);
        assert!((0..).zip(&all).all(|(id, &op)| ops.get(id) == op));
        assert!(ops.whole.len() > given.len() / 2 && ops.shapes.len() as u64 == SHAPES);
        ops.set(3, calc);
        assert_eq!((ops.get(3), ops.len()), (calc, all.len()));
        ops.push(Op { size: u64::MAX, ..most });
        assert_eq!(ops.get(ops.len() as u32 - 1).size, MOST_SIZE);
    }
}
