//! The constructors of datatypes. Each gives `None` where an argument cannot be: a negative count or block length,
//! lists of different lengths, a part outside its array.

use crate::datatype::{Combiner, Contents, Datatype, Leaf, push};
use std::rc::Rc;

/// How an array's elements follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The last index runs fastest.
    C,
    /// The first index runs fastest.
    Fortran,
}

/// So many elements in a row of a type at a displacement in bytes.
struct Block<'a> {
    count: i64,
    at: i64,
    of: &'a Datatype,
}

/// The elements of blocks, and the bounds that follow.
fn assembled(blocks: &[Block<'_>]) -> Option<(Vec<Leaf>, (i64, i64), bool)> {
    if blocks.iter().any(|block| block.count < 0) {
        return None;
    }
    let mut leaves = Vec::new();
    let bounded = blocks.iter().any(|block| block.of.bounded && block.count > 0);
    let mut bounds: Option<(i64, i64)> = None;
    for Block { count, at, of } in blocks.iter().filter(|block| block.count > 0) {
        let extent = of.extent();
        match of.leaves[..] {
            // A row of a plain type stays one leaf.
            [leaf] if extent == leaf.stride * leaf.count as i64 => {
                push(&mut leaves, Leaf { at: at + leaf.at, count: leaf.count * *count as u64, ..leaf });
            }
            _ => {
                for copy in 0..*count {
                    let shift = at + copy * extent;
                    of.leaves.iter().for_each(|leaf| push(&mut leaves, Leaf { at: shift + leaf.at, ..*leaf }));
                }
            }
        }
        if bounded && !of.bounded {
            continue;
        }
        let last = at + (count - 1) * extent;
        let (lb, ub) = (of.lb + (*at).min(last), of.ub + (*at).max(last));
        bounds = Some(bounds.map_or((lb, ub), |(low, high)| (low.min(lb), high.max(ub))));
    }
    Some((leaves, bounds.unwrap_or((0, 0)), bounded))
}

fn built(blocks: &[Block<'_>], contents: Contents) -> Option<Datatype> {
    let (leaves, bounds, bounded) = assembled(blocks)?;
    Some(Datatype::of(leaves, bounds, bounded, contents))
}

fn only(of: &Rc<Datatype>) -> Vec<Rc<Datatype>> {
    vec![of.clone()]
}

impl Datatype {
    /// The same once more.
    pub fn dup(of: &Rc<Datatype>) -> Datatype {
        let contents = Contents::new(Combiner::Dup, Vec::new(), Vec::new(), only(of));
        Datatype::of(of.leaves.clone(), (of.lb, of.ub), of.bounded, contents)
    }
    /// In a row.
    pub fn contiguous(count: i64, of: &Rc<Datatype>) -> Option<Datatype> {
        let contents = Contents::new(Combiner::Contiguous, vec![count], Vec::new(), only(of));
        built(&[Block { count, at: 0, of }], contents)
    }
    /// Equal blocks, `stride` elements from one to the next.
    pub fn vector(count: i64, block: i64, stride: i64, of: &Rc<Datatype>) -> Option<Datatype> {
        let contents = Contents::new(Combiner::Vector, vec![count, block, stride], Vec::new(), only(of));
        Datatype::strided(count, block, stride.checked_mul(of.extent())?, of, contents)
    }
    /// Equal blocks, `stride` bytes from one to the next.
    pub fn hvector(count: i64, block: i64, stride: i64, of: &Rc<Datatype>) -> Option<Datatype> {
        let contents = Contents::new(Combiner::Hvector, vec![count, block], vec![stride], only(of));
        Datatype::strided(count, block, stride, of, contents)
    }
    fn strided(count: i64, block: i64, stride: i64, of: &Datatype, contents: Contents) -> Option<Datatype> {
        if count < 0 || block < 0 {
            return None;
        }
        let blocks: Vec<Block<'_>> = (0..count).map(|i| Block { count: block, at: i * stride, of }).collect();
        built(&blocks, contents)
    }
    /// Blocks of this many elements, each displaced by so many.
    pub fn indexed(lengths: &[i64], displacements: &[i64], of: &Rc<Datatype>) -> Option<Datatype> {
        let integers = [&[lengths.len() as i64], lengths, displacements].concat();
        let contents = Contents::new(Combiner::Indexed, integers, Vec::new(), only(of));
        let at: Vec<i64> = displacements.iter().map(|at| at * of.extent()).collect();
        Datatype::scattered(lengths, &at, of, contents)
    }
    /// Blocks of this many elements, each displaced by so many bytes.
    pub fn hindexed(lengths: &[i64], displacements: &[i64], of: &Rc<Datatype>) -> Option<Datatype> {
        let integers = [&[lengths.len() as i64], lengths].concat();
        let contents = Contents::new(Combiner::Hindexed, integers, displacements.to_vec(), only(of));
        Datatype::scattered(lengths, displacements, of, contents)
    }
    /// Equal blocks, each displaced by so many elements.
    pub fn indexed_block(length: i64, displacements: &[i64], of: &Rc<Datatype>) -> Option<Datatype> {
        let integers = [&[displacements.len() as i64, length], displacements].concat();
        let contents = Contents::new(Combiner::IndexedBlock, integers, Vec::new(), only(of));
        let at: Vec<i64> = displacements.iter().map(|at| at * of.extent()).collect();
        Datatype::scattered(&vec![length; at.len()], &at, of, contents)
    }
    /// Equal blocks, each displaced by so many bytes.
    pub fn hindexed_block(length: i64, displacements: &[i64], of: &Rc<Datatype>) -> Option<Datatype> {
        let integers = vec![displacements.len() as i64, length];
        let contents = Contents::new(Combiner::HindexedBlock, integers, displacements.to_vec(), only(of));
        Datatype::scattered(&vec![length; displacements.len()], displacements, of, contents)
    }
    fn scattered(lengths: &[i64], at: &[i64], of: &Datatype, contents: Contents) -> Option<Datatype> {
        if lengths.len() != at.len() {
            return None;
        }
        let blocks = lengths.iter().zip(at).map(|(&count, &at)| Block { count, at, of });
        built(&blocks.collect::<Vec<_>>(), contents)
    }
    /// Blocks of several types, each displaced by so many bytes; as a C struct its end is padded.
    pub fn structure(lengths: &[i64], displacements: &[i64], types: &[Rc<Datatype>]) -> Option<Datatype> {
        if lengths.len() != types.len() || lengths.len() != displacements.len() {
            return None;
        }
        let integers = [&[lengths.len() as i64], lengths].concat();
        let contents = Contents::new(Combiner::Struct, integers, displacements.to_vec(), types.to_vec());
        let parts = lengths.iter().zip(displacements).zip(types);
        let blocks: Vec<Block<'_>> = parts.map(|((&count, &at), of)| Block { count, at, of }).collect();
        let (leaves, (lb, mut ub), bounded) = assembled(&blocks)?;
        if !bounded {
            let align = leaves.iter().map(|leaf| leaf.basic.align() as i64).max().unwrap_or(1);
            ub = lb + (ub - lb + align - 1).div_euclid(align) * align;
        }
        Some(Datatype::of(leaves, (lb, ub), bounded, contents))
    }
    /// With other bounds.
    pub fn resized(lb: i64, extent: i64, of: &Rc<Datatype>) -> Datatype {
        let contents = Contents::new(Combiner::Resized, Vec::new(), vec![lb, extent], only(of));
        Datatype::of(of.leaves.clone(), (lb, lb + extent), true, contents)
    }
    /// A part of an array, which is as large as the whole array.
    pub fn subarray(
        sizes: &[i64],
        subsizes: &[i64],
        starts: &[i64],
        order: Order,
        word: i64,
        of: &Rc<Datatype>,
    ) -> Option<Datatype> {
        let dims = sizes.iter().zip(subsizes).zip(starts);
        let inside = |((&size, &part), &start): ((&i64, &i64), &i64)| {
            size >= 1 && part >= 1 && start >= 0 && part.checked_add(start).is_some_and(|end| end <= size)
        };
        if sizes.is_empty() || !dims.clone().all(inside) {
            return None;
        }
        let integers = [&[sizes.len() as i64], sizes, subsizes, starts, &[word]].concat();
        let contents = Contents::new(Combiner::Subarray, integers, Vec::new(), only(of));
        let ranges: Vec<Vec<(i64, i64)>> = subsizes.iter().zip(starts).map(|(&n, &at)| vec![(at, n)]).collect();
        Datatype::of_array(sizes, &ranges, order, of, contents)
    }
    /// The elements of an array whose index in each dimension is in one of its ranges (first, count).
    pub(crate) fn of_array(
        sizes: &[i64],
        ranges: &[Vec<(i64, i64)>],
        order: Order,
        of: &Rc<Datatype>,
        contents: Contents,
    ) -> Option<Datatype> {
        let fastest_first: Vec<usize> = match order {
            Order::C => (0..sizes.len()).rev().collect(),
            Order::Fortran => (0..sizes.len()).collect(),
        };
        let extent = of.extent();
        let whole = sizes.iter().try_fold(extent, |all, &size| all.checked_mul(size))?;
        let mut part = (**of).clone();
        let mut step = extent;
        for dim in fastest_first {
            let mut blocks = Vec::new();
            for &(first, count) in &ranges[dim] {
                blocks.extend((first..first + count).map(|index| (1, index * step)));
            }
            // Rows of a plain type, a block each.
            if step == part.extent() {
                blocks = ranges[dim].iter().map(|&(first, count)| (count, first * step)).collect();
            }
            let (lengths, at): (Vec<i64>, Vec<i64>) = blocks.into_iter().unzip();
            let parts = lengths.iter().zip(&at).map(|(&count, &at)| Block { count, at, of: &part });
            let (leaves, ..) = assembled(&parts.collect::<Vec<_>>())?;
            step *= sizes[dim];
            let plain = Contents::new(Combiner::Named, Vec::new(), Vec::new(), Vec::new());
            part = Datatype::of(leaves, (0, step), false, plain);
        }
        Some(Datatype::of(part.leaves, (0, whole), true, contents))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic::Basic;
    use crate::datatype::Run;

    fn int() -> Rc<Datatype> {
        Rc::new(Datatype::named(Basic::I32))
    }

    #[test]
    fn vectors_are_regular_and_joined_where_they_touch() {
        let column = Rc::new(Datatype::vector(3, 2, 4, &int()).unwrap());
        assert_eq!((column.size(), column.extent()), (24, 40));
        assert_eq!(column.runs(), [Run { at: 0, bytes: 8, count: 3, stride: 16 }]);
        assert_eq!(column.regular(1), Some(Run { at: 0, bytes: 8, count: 3, stride: 16 }));
        assert_eq!(column.regular(2), None);
        let touching = Datatype::vector(3, 2, 2, &int()).unwrap();
        assert_eq!(touching.regular(5), Some(Run { at: 0, bytes: 120, count: 1, stride: 0 }));
        let back = Datatype::hvector(3, 1, -8, &int()).unwrap();
        assert_eq!((back.lb(), back.extent(), back.true_extent()), (-16, 20, (-16, 20)));
        assert_eq!(back.regular(1), None);
    }

    #[test]
    fn a_struct_is_padded_unless_its_bounds_are_set() {
        let (byte, double) = (Rc::new(Datatype::named(Basic::I8)), Rc::new(Datatype::named(Basic::F64)));
        let padded = Rc::new(Datatype::structure(&[1, 1], &[8, 0], &[byte.clone(), double.clone()]).unwrap());
        assert_eq!((padded.size(), padded.extent(), padded.true_extent()), (9, 16, (0, 9)));
        assert_eq!(padded.runs()[0].at, 8, "in the order of the arguments");
        let tight = Rc::new(Datatype::resized(-1, 10, &padded));
        assert_eq!((tight.lb(), tight.extent()), (-1, 10));
        let two = Datatype::contiguous(2, &tight).unwrap();
        assert_eq!((two.lb(), two.extent(), two.size()), (-1, 20, 18));
        assert!(Datatype::structure(&[1], &[0, 1], &[byte]).is_none() && Datatype::contiguous(-1, &double).is_none());
    }

    #[test]
    fn parts_of_arrays_lie_where_the_array_has_them() {
        let part = Datatype::subarray(&[4, 5], &[2, 3], &[1, 2], Order::C, 0, &int()).unwrap();
        assert_eq!((part.size(), part.extent()), (24, 80));
        assert_eq!(part.runs(), [Run { at: 4 * 7, bytes: 12, count: 2, stride: 20 }]);
        let turned = Datatype::subarray(&[4, 5], &[2, 3], &[1, 2], Order::Fortran, 0, &int()).unwrap();
        assert_eq!(turned.runs(), [Run { at: 4 * 9, bytes: 8, count: 3, stride: 16 }]);
        assert!(Datatype::subarray(&[4], &[2], &[3], Order::C, 0, &int()).is_none());
    }

    #[test]
    fn elements_are_counted_to_the_byte() {
        let mixed = Datatype::structure(&[1, 2], &[0, 8], &[int(), Rc::new(Datatype::named(Basic::F64))]);
        let mixed = mixed.unwrap();
        let counted = [0, 4, 12, 20, 24, 8].map(|bytes| mixed.elements_in(bytes));
        assert_eq!(counted, [Some(0), Some(1), Some(2), Some(3), Some(4), None]);
        assert_eq!([0, 1, 2, 3, 4].map(|n| mixed.bytes_of(n)), [0, 4, 12, 20, 24]);
    }

    #[test]
    fn the_portable_form_turns_words_round_and_back() {
        let mixed = Datatype::structure(&[1, 1], &[0, 8], &[int(), Rc::new(Datatype::named(Basic::C32))]).unwrap();
        let packed: Vec<u8> = (0..12).collect();
        let portable = mixed.to_external(&packed);
        assert_eq!(portable, [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8]);
        assert_eq!(mixed.of_external(&portable), packed);
    }
}
