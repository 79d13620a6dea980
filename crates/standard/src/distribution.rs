//! Distributed arrays: the part of a global array that one of a grid of processes has, as HPF distributes it.

use crate::build::Order;
use crate::datatype::{Combiner, Contents, Datatype};
use std::rc::Rc;

/// How a dimension is distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Every process has all of it.
    None,
    /// In blocks of this many, one a process; without a number as large as all need.
    Block(Option<i64>),
    /// In blocks of this many, dealt out in turn.
    Cyclic(i64),
}

/// A dimension of a distributed array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Global size.
    pub size: i64,
    /// See [`Distribution`].
    pub distribution: Distribution,
    /// Processes along it.
    pub processes: i64,
}

impl Share {
    /// Ranges (first, count) of the process at a place.
    fn ranges(self, place: i64) -> Option<Vec<(i64, i64)>> {
        let (size, processes) = (self.size, self.processes);
        match self.distribution {
            Distribution::None => (processes == 1).then(|| vec![(0, size)]),
            Distribution::Block(length) => {
                let length = length.unwrap_or((size + processes - 1) / processes);
                if length <= 0 || length * processes < size {
                    return None;
                }
                let first = place * length;
                let count = length.min(size - first);
                Some(if count > 0 { vec![(first, count)] } else { Vec::new() })
            }
            Distribution::Cyclic(length) => {
                if length <= 0 {
                    return None;
                }
                let firsts = (0..).map(|turn| (turn * processes + place) * length).take_while(|&first| first < size);
                Some(firsts.map(|first| (first, length.min(size - first))).collect())
            }
        }
    }
}

impl Datatype {
    /// The part of process `rank` of a grid, which counts its processes with the last dimension fastest. `integers` are
    /// the constructor's own arguments.
    pub fn darray(
        rank: i64,
        shares: &[Share],
        order: Order,
        integers: Vec<i64>,
        of: &Rc<Datatype>,
    ) -> Option<Datatype> {
        if shares.is_empty() || shares.iter().any(|share| share.size < 1 || share.processes < 1) {
            return None;
        }
        let mut left = rank;
        let mut places = vec![0; shares.len()];
        for (place, share) in places.iter_mut().zip(shares).rev() {
            (*place, left) = (left % share.processes, left / share.processes);
        }
        if rank < 0 || left != 0 {
            return None;
        }
        let ranges: Option<Vec<_>> = shares.iter().zip(&places).map(|(share, &place)| share.ranges(place)).collect();
        let sizes: Vec<i64> = shares.iter().map(|share| share.size).collect();
        let contents = Contents::new(Combiner::Darray, integers, Vec::new(), vec![of.clone()]);
        Datatype::of_array(&sizes, &ranges?, order, of, contents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic::Basic;
    use std::collections::BTreeSet;

    /// In any distribution, each element of the array belongs to exactly one process.
    #[test]
    fn the_parts_of_all_processes_are_the_array() {
        let int = Rc::new(Datatype::named(Basic::I32));
        let distributions = [Distribution::Block(None), Distribution::Cyclic(2), Distribution::Cyclic(1)];
        for (first, second) in distributions.into_iter().flat_map(|a| distributions.map(|b| (a, b))) {
            for order in [Order::C, Order::Fortran] {
                let shares = [
                    Share { size: 7, distribution: first, processes: 2 },
                    Share { size: 5, distribution: second, processes: 3 },
                ];
                let mut seen = BTreeSet::new();
                for rank in 0..6 {
                    let part = Datatype::darray(rank, &shares, order, Vec::new(), &int).unwrap();
                    assert_eq!(part.extent(), 4 * 35);
                    for run in part.runs() {
                        for block in 0..run.count as i64 {
                            let start = run.at + block * run.stride;
                            (start..start + run.bytes as i64).for_each(|byte| assert!(seen.insert(byte)));
                        }
                    }
                }
                assert_eq!(seen.len(), 4 * 35, "{first:?} {second:?} {order:?}");
            }
        }
    }

    #[test]
    fn grids_and_blocks_that_do_not_fit_are_refused() {
        let int = Rc::new(Datatype::named(Basic::I32));
        let share = Share { size: 7, distribution: Distribution::Block(Some(3)), processes: 2 };
        assert!(Datatype::darray(0, &[share], Order::C, Vec::new(), &int).is_none());
        let share = Share { distribution: Distribution::None, ..share };
        assert!(Datatype::darray(0, &[share], Order::C, Vec::new(), &int).is_none());
        let share = Share { processes: 1, ..share };
        assert!(Datatype::darray(1, &[share], Order::C, Vec::new(), &int).is_none());
    }
}
