//! [`Datatype`]: which bytes around an address are a message, and what they are.

use crate::basic::Basic;
use std::rc::Rc;

/// Basic elements of one kind at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub(crate) basic: Basic,
    pub(crate) at: i64,
    pub(crate) count: u64,
    pub(crate) stride: i64,
}

/// Blocks of bytes at equal distances, the first at `at`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// First byte of the first block, relative to the buffer.
    pub at: i64,
    /// Bytes of a block.
    pub bytes: u64,
    /// Blocks.
    pub count: u64,
    /// From one to the next.
    pub stride: i64,
}

/// By which constructor a type was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Combiner {
    Named,
    Dup,
    Contiguous,
    Vector,
    Hvector,
    Indexed,
    Hindexed,
    IndexedBlock,
    HindexedBlock,
    Struct,
    Subarray,
    Darray,
    Resized,
    /// A pair of a value and its index.
    ValueIndex,
    /// Chosen by precision.
    F90Real,
    /// Chosen by precision.
    F90Complex,
    /// Chosen by range.
    F90Integer,
}

/// What a type was made of: the constructor's arguments, in the standard's order.
#[derive(Clone, Debug)]
pub struct Contents {
    /// See [`Combiner`].
    pub combiner: Combiner,
    /// Counts, block lengths and displacements in elements.
    pub integers: Vec<i64>,
    /// Displacements in bytes.
    pub addresses: Vec<i64>,
    /// Types.
    pub types: Vec<Rc<Datatype>>,
}

impl Contents {
    pub(crate) fn new(combiner: Combiner, integers: Vec<i64>, addresses: Vec<i64>, types: Vec<Rc<Datatype>>) -> Self {
        Contents { combiner, integers, addresses, types }
    }
}

/// A datatype: basic elements in order, each at its place.
#[derive(Clone, Debug)]
pub struct Datatype {
    pub(crate) leaves: Vec<Leaf>,
    runs: Vec<Run>,
    size: u64,
    pub(crate) lb: i64,
    pub(crate) ub: i64,
    true_lb: i64,
    true_ub: i64,
    elements: u64,
    /// Its bounds were set, and hold in any larger type.
    pub(crate) bounded: bool,
    contents: Contents,
}

impl Datatype {
    /// A type of these leaves with these bounds.
    pub(crate) fn of(leaves: Vec<Leaf>, (lb, ub): (i64, i64), bounded: bool, contents: Contents) -> Datatype {
        let ends = |leaf: &Leaf| {
            let (first, last) = (leaf.at, leaf.at + (leaf.count as i64 - 1) * leaf.stride);
            (first.min(last), first.max(last) + leaf.basic.size() as i64)
        };
        let true_lb = leaves.iter().map(|leaf| ends(leaf).0).min().unwrap_or(0);
        let true_ub = leaves.iter().map(|leaf| ends(leaf).1).max().unwrap_or(0);
        let size = leaves.iter().map(|leaf| leaf.basic.size() * leaf.count).sum();
        let elements = leaves.iter().map(|leaf| leaf.count).sum();
        let runs = joined(&leaves);
        Datatype { leaves, runs, size, lb, ub, true_lb, true_ub, elements, bounded, contents }
    }
    /// One basic element.
    pub fn named(basic: Basic) -> Datatype {
        let leaf = Leaf { basic, at: 0, count: 1, stride: basic.size() as i64 };
        let contents = Contents::new(Combiner::Named, Vec::new(), Vec::new(), Vec::new());
        Datatype::of(vec![leaf], (0, basic.size() as i64), false, contents)
    }
    /// A value and its index, as a C struct has them.
    pub fn pair(value: Basic, index: Basic) -> Datatype {
        let at = value.size().next_multiple_of(index.align()) as i64;
        let ub = (at as u64 + index.size()).next_multiple_of(value.align().max(index.align())) as i64;
        let leaf = |basic: Basic, at| Leaf { basic, at, count: 1, stride: basic.size() as i64 };
        let contents = Contents::new(Combiner::Named, Vec::new(), Vec::new(), Vec::new());
        let mut leaves = Vec::new();
        push(&mut leaves, leaf(value, 0));
        push(&mut leaves, leaf(index, at));
        Datatype::of(leaves, (0, ub), false, contents)
    }
    /// Bytes of data.
    #[inline]
    pub fn size(&self) -> u64 {
        self.size
    }
    /// From one element to the next.
    #[inline]
    pub fn extent(&self) -> i64 {
        self.ub - self.lb
    }
    /// Where an element begins.
    pub fn lb(&self) -> i64 {
        self.lb
    }
    /// Where its data begin, and how far they reach.
    pub fn true_extent(&self) -> (i64, i64) {
        (self.true_lb, self.true_ub - self.true_lb)
    }
    /// The constructor and its arguments.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }
    /// The same type as if made so.
    #[must_use]
    pub fn made_by(&self, combiner: Combiner, integers: Vec<i64>) -> Datatype {
        let contents = Contents::new(combiner, integers, Vec::new(), Vec::new());
        Datatype { contents, ..self.clone() }
    }
    /// Blocks of one element, in the order in which they travel.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }
    /// The basic type, if it is one.
    pub fn basic(&self) -> Option<Basic> {
        match (&self.contents.combiner, &self.leaves[..]) {
            (Combiner::Named | Combiner::Dup, [leaf]) if leaf.count == 1 => Some(leaf.basic),
            (Combiner::F90Real | Combiner::F90Complex | Combiner::F90Integer, [leaf]) => Some(leaf.basic),
            _ => None,
        }
    }
    /// The basic type of all of its elements, if they have one.
    pub fn uniform(&self) -> Option<Basic> {
        let first = self.leaves.first()?.basic;
        self.leaves.iter().all(|leaf| leaf.basic == first).then_some(first)
    }
    /// The value and index of all of its elements, if they are such pairs.
    pub fn paired(&self) -> Option<(Basic, Basic)> {
        let mut all = Vec::new();
        self.each_basic(self.size, |basic, _| all.push(basic));
        let (pairs, rest) = all.as_chunks::<2>();
        let &[value, index] = pairs.first()?;
        (rest.is_empty() && pairs.iter().all(|pair| *pair == [value, index])).then_some((value, index))
    }
    /// The value and index, if it is such a pair.
    pub fn value_index(&self) -> Option<(Basic, Basic)> {
        match (&self.contents.combiner, &self.leaves[..]) {
            (Combiner::Named | Combiner::Dup | Combiner::ValueIndex, [value, index]) => {
                Some((value.basic, index.basic))
            }
            (Combiner::Named | Combiner::Dup | Combiner::ValueIndex, [both]) if both.count == 2 => {
                Some((both.basic, both.basic))
            }
            _ => None,
        }
    }
    /// Where `count` elements are equal blocks at equal distances: first byte, bytes of a block, blocks, distance.
    pub fn regular(&self, count: u64) -> Option<Run> {
        let &[run] = &self.runs[..] else {
            return (self.size == 0 || count == 0).then_some(Run { at: 0, bytes: 0, count: 1, stride: 0 });
        };
        if count == 0 {
            return Some(Run { at: 0, bytes: 0, count: 1, stride: 0 });
        }
        let extent = self.extent();
        if run.count == 1 {
            return match extent {
                _ if count == 1 => Some(run),
                extent if extent == run.bytes as i64 => Some(Run { bytes: run.bytes * count, ..run }),
                extent if extent > run.bytes as i64 => Some(Run { count, stride: extent, ..run }),
                _ => None,
            };
        }
        let forward = run.stride >= run.bytes as i64;
        let goes_on = count == 1 || extent == run.stride * run.count as i64;
        (forward && goes_on).then_some(Run { count: run.count * count, ..run })
    }
    /// Basic elements in the first `bytes` of data; `None`: they end within one.
    pub fn elements_in(&self, bytes: u64) -> Option<u64> {
        if self.size == 0 {
            return (bytes == 0).then_some(0);
        }
        let (whole, mut rest) = (bytes / self.size, bytes % self.size);
        let mut elements = whole * self.elements;
        for leaf in &self.leaves {
            let size = leaf.basic.size();
            if rest < size * leaf.count {
                return rest.is_multiple_of(size).then_some(elements + rest / size);
            }
            rest -= size * leaf.count;
            elements += leaf.count;
        }
        Some(elements)
    }
    /// Bytes of the first so many basic elements.
    pub fn bytes_of(&self, elements: u64) -> u64 {
        if self.elements == 0 {
            return 0;
        }
        let (whole, mut rest) = (elements / self.elements, elements % self.elements);
        let mut bytes = whole * self.size;
        for leaf in &self.leaves {
            let here = rest.min(leaf.count);
            bytes += here * leaf.basic.size();
            rest -= here;
        }
        bytes
    }
    /// Bytes of an element in the portable form.
    pub fn external_size(&self) -> u64 {
        self.leaves.iter().map(|leaf| leaf.basic.external_size() * leaf.count).sum()
    }
    /// The portable form of packed data: most significant bytes first.
    pub fn to_external(&self, packed: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(packed.len());
        self.each_basic(packed.len() as u64, |basic, at| {
            let bytes = &packed[at as usize..(at + basic.size()) as usize];
            match basic {
                Basic::Wide => out.extend_from_slice(&[bytes[1], bytes[0]]),
                _ => bytes.chunks(basic.word() as usize).for_each(|word| out.extend(word.iter().rev())),
            }
        });
        out
    }
    /// Back from it, as far as it has whole elements.
    pub fn of_external(&self, external: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        if self.external_size() == 0 {
            return out;
        }
        let mut from = external;
        let packed = external.len() as u64 / self.external_size() * self.size;
        self.each_basic(packed, |basic, _| {
            let (bytes, rest) = from.split_at(basic.external_size() as usize);
            from = rest;
            match basic {
                Basic::Wide => out.extend_from_slice(&[bytes[1], bytes[0], 0, 0]),
                _ => bytes.chunks(basic.word() as usize).for_each(|word| out.extend(word.iter().rev())),
            }
        });
        out
    }
    /// Each basic element of this many packed bytes, and where it begins there.
    pub(crate) fn each_basic(&self, packed: u64, mut visit: impl FnMut(Basic, u64)) {
        let mut at = 0;
        while self.size > 0 && at + self.size <= packed {
            for leaf in &self.leaves {
                for _ in 0..leaf.count {
                    visit(leaf.basic, at);
                    at += leaf.basic.size();
                }
            }
        }
    }
}

/// Adds elements to those before, joined with the last ones where they go on at equal distances.
pub(crate) fn push(leaves: &mut Vec<Leaf>, leaf: Leaf) {
    if leaf.count == 0 {
        return;
    }
    if let Some(last) = leaves.last_mut()
        && last.basic == leaf.basic
    {
        let stride = if last.count == 1 { leaf.at - last.at } else { last.stride };
        let same = leaf.count == 1 || leaf.stride == stride;
        if same && leaf.at == last.at + last.count as i64 * stride {
            (last.count, last.stride) = (last.count + leaf.count, stride);
            return;
        }
    }
    leaves.push(leaf);
}

/// Blocks of bytes without a thought of what they are.
fn joined(leaves: &[Leaf]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for leaf in leaves {
        let size = leaf.basic.size();
        let run = match leaf.count {
            count if count == 1 || leaf.stride == size as i64 => {
                Run { at: leaf.at, bytes: size * count, count: 1, stride: 0 }
            }
            count => Run { at: leaf.at, bytes: size, count, stride: leaf.stride },
        };
        add(&mut runs, run);
    }
    // Blocks that grew at the same distances become one run only now: each was whole before the next began.
    let mut packed: Vec<Run> = Vec::new();
    for run in runs {
        match packed.last_mut() {
            Some(last) if last.bytes == run.bytes && run.count == 1 => {
                let stride = if last.count == 1 { run.at - last.at } else { last.stride };
                if run.at == last.at + last.count as i64 * stride {
                    (last.count, last.stride) = (last.count + 1, stride);
                    continue;
                }
                packed.push(run);
            }
            _ => packed.push(run),
        }
    }
    packed
}

fn add(runs: &mut Vec<Run>, run: Run) {
    if let Some(last) = runs.last_mut()
        && (last.count, run.count) == (1, 1)
        && last.at + last.bytes as i64 == run.at
    {
        last.bytes += run.bytes;
        return;
    }
    runs.push(run);
}
