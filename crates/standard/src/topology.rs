//! Virtual topologies: grids and graphs of ranks.

/// A grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cart {
    /// Ranks along each dimension.
    pub dims: Vec<i64>,
    /// Which dimensions are rings.
    pub periods: Vec<bool>,
}

impl Cart {
    /// Ranks of the grid; `None`: a dimension is not positive.
    pub fn ranks(&self) -> Option<i64> {
        self.dims.iter().try_fold(1i64, |all, &dim| if dim > 0 { all.checked_mul(dim) } else { None })
    }
    /// The coordinates of a rank: the last dimension runs fastest.
    pub fn coordinates(&self, rank: i64) -> Vec<i64> {
        let mut left = rank;
        let mut coordinates = vec![0; self.dims.len()];
        for (coordinate, dim) in coordinates.iter_mut().zip(&self.dims).rev() {
            (*coordinate, left) = (left % dim, left / dim);
        }
        coordinates
    }
    /// The rank at coordinates, round a ring where there is one; `None`: beyond an edge.
    pub fn rank(&self, coordinates: &[i64]) -> Option<i64> {
        let dims = self.dims.iter().zip(&self.periods);
        coordinates.iter().zip(dims).try_fold(0, |rank, (&at, (&dim, &ring))| {
            let at = if ring { at.rem_euclid(dim) } else { at };
            (0..dim).contains(&at).then_some(rank * dim + at)
        })
    }
    /// The ranks that are `distance` before and behind a rank along a dimension.
    pub fn shifted(&self, rank: i64, dimension: usize, distance: i64) -> (Option<i64>, Option<i64>) {
        let at = |distance: i64| {
            let mut coordinates = self.coordinates(rank);
            coordinates[dimension] += distance;
            self.rank(&coordinates)
        };
        (at(-distance), at(distance))
    }
    /// Both neighbours of a rank along each dimension in turn.
    pub fn neighbors(&self, rank: i64) -> Vec<Option<i64>> {
        let both = |dimension| {
            let (before, behind) = self.shifted(rank, dimension, 1);
            [before, behind]
        };
        (0..self.dims.len()).flat_map(both).collect()
    }
    /// The grid of the dimensions that remain, and of a rank: which of the sub-grids it is in, and where there.
    pub fn sub(&self, rank: i64, remain: &[bool]) -> (Cart, i64, i64) {
        let coordinates = self.coordinates(rank);
        let (mut sub, mut color, mut key) = (Cart { dims: Vec::new(), periods: Vec::new() }, 0, 0);
        for (dim, &remains) in remain.iter().enumerate() {
            if remains {
                sub.dims.push(self.dims[dim]);
                sub.periods.push(self.periods[dim]);
                key = key * self.dims[dim] + coordinates[dim];
            } else {
                color = color * self.dims[dim] + coordinates[dim];
            }
        }
        (sub, color, key)
    }
}

/// A graph that all ranks know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Where each node's edges end.
    pub index: Vec<i64>,
    /// The neighbours of all nodes, one after the other.
    pub edges: Vec<i64>,
}

impl Graph {
    /// Whether the index rises to the number of edges, and edges lead to nodes below `nodes`.
    pub fn is_sound(&self, nodes: i64) -> bool {
        let rises = self.index.is_sorted() && self.index.first().is_none_or(|&first| first >= 0);
        let ends = self.index.last().copied().unwrap_or(0) == self.edges.len() as i64;
        rises && ends && self.edges.iter().all(|edge| (0..nodes).contains(edge))
    }
    /// A node's neighbours.
    pub fn neighbors(&self, node: i64) -> &[i64] {
        let node = node as usize;
        let start = if node == 0 { 0 } else { self.index[node - 1] };
        &self.edges[start as usize..self.index[node] as usize]
    }
}

/// A rank's own edges of a graph that no rank knows whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbors {
    /// The ranks that send to it, with weights.
    pub sources: Vec<(i64, i64)>,
    /// To whom it sends, with weights.
    pub destinations: Vec<(i64, i64)>,
    /// Weights were given.
    pub weighted: bool,
}

/// Sizes of a grid of `nodes` where `dims` has 0, as equal as possible and none larger than the one before. `None`: the
/// given sizes do not divide them.
pub fn balanced(nodes: i64, dims: &[i64]) -> Option<Vec<i64>> {
    let given = dims
        .iter()
        .filter(|&&dim| dim != 0)
        .try_fold(1i64, |all, &dim| if dim > 0 { all.checked_mul(dim) } else { None })?;
    let free = dims.iter().filter(|&&dim| dim == 0).count();
    if nodes <= 0 || nodes % given != 0 || (free == 0 && nodes != given) {
        return None;
    }
    let mut best = closest(nodes / given, free).into_iter();
    Some(dims.iter().map(|&dim| if dim == 0 { best.next().unwrap_or(1) } else { dim }).collect())
}

/// All, rising.
fn divisors(of: i64) -> Vec<i64> {
    let mut all: Vec<i64> =
        (1..).take_while(|factor| factor * factor <= of).filter(|factor| of % factor == 0).collect();
    all.extend(all.clone().into_iter().map(|factor| of / factor));
    all.sort_unstable();
    all.dedup();
    all
}

/// Falling factors of `nodes` with the least difference of the largest and the smallest. Of several such, those with
/// the largest smallest factor, then the largest next smallest, and so on.
fn closest(nodes: i64, count: usize) -> Vec<i64> {
    let factors = divisors(nodes);
    let mut best: Vec<i64> = Vec::new();
    let not_above = |factor: i64| factor.checked_pow(count as u32).is_some_and(|all| all <= nodes);
    for &least in factors.iter().rev().filter(|&&factor| count > 0 && not_above(factor)) {
        let differs_less =
            |most: i64| best.first().zip(best.last()).is_none_or(|(first, last)| most - least < first - last);
        let wider = factors.iter().filter(|&&most| most >= least).take_while(|&&most| differs_less(most));
        let found = wider.copied().find_map(|most| {
            let mut rising = vec![least];
            rise(nodes / least, count - 1, most, &factors, &mut rising).then_some(rising)
        });
        if let Some(rising) = found {
            best = rising.into_iter().rev().collect();
        }
    }
    best
}

/// Continues rising factors by `count` more, whose product is `left` and none of which is above `most`. Each is as
/// large as the rest allows.
fn rise(left: i64, count: usize, most: i64, factors: &[i64], rising: &mut Vec<i64>) -> bool {
    if count == 0 {
        return left == 1;
    }
    let power = |factor: i64| factor.checked_pow(count as u32).unwrap_or(i64::MAX);
    if power(most) < left {
        return false;
    }
    let last = rising.last().copied().unwrap_or(1);
    let allowed = |factor: i64| (last..=most).contains(&factor) && left % factor == 0 && power(factor) <= left;
    for &factor in factors.iter().rev().filter(|&&factor| allowed(factor)) {
        rising.push(factor);
        if rise(left / factor, count - 1, most, factors, rising) {
            return true;
        }
        rising.pop();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_balanced() {
        type Case = (i64, &'static [i64], Option<&'static [i64]>);
        let cases: [Case; 10] = [
            (6, &[0, 0], Some(&[3, 2])),
            (7, &[0, 0], Some(&[7, 1])),
            (6, &[0, 3, 0], Some(&[2, 3, 1])),
            (7, &[0, 3, 0], None),
            (64, &[0, 0, 0], Some(&[4, 4, 4])),
            (60, &[0, 0, 0], Some(&[5, 4, 3])),
            // 20 x 18 x 14 differ as much, and 30 x 14 x 12 more.
            (5040, &[0, 0, 0], Some(&[21, 16, 15])),
            // 14 x 12 x 12 x 7 x 7 as well, with a smaller next smallest.
            (98_784, &[0; 5], Some(&[14, 14, 9, 8, 7])),
            // Twenty dimensions are found as fast as two.
            (720_720, &[0; 8], Some(&[13, 11, 7, 5, 4, 4, 3, 3])),
            (1, &[], Some(&[])),
        ];
        for (nodes, dims, balance) in cases {
            assert_eq!(balanced(nodes, dims).as_deref(), balance, "{nodes} {dims:?}");
        }
    }

    #[test]
    fn ranks_of_a_grid_have_neighbours_and_sub_grids() {
        let cart = Cart { dims: vec![2, 3], periods: vec![false, true] };
        assert_eq!(
            (0..6).map(|rank| cart.rank(&cart.coordinates(rank))).collect::<Vec<_>>(),
            (0..6).map(Some).collect::<Vec<_>>()
        );
        assert_eq!(cart.neighbors(0), [None, Some(3), Some(2), Some(1)]);
        assert_eq!(cart.shifted(5, 1, -1), (Some(3), Some(4)));
        let (sub, color, key) = cart.sub(4, &[false, true]);
        assert_eq!((sub.dims, color, key), (vec![3], 1, 1));
    }

    #[test]
    fn graphs_are_checked() {
        let graph = Graph { index: vec![2, 3, 4], edges: vec![1, 2, 0, 0] };
        assert!(graph.is_sound(3) && !graph.is_sound(2));
        assert_eq!([0, 1, 2].map(|node| graph.neighbors(node).len()), [2, 1, 1]);
        assert!(!Graph { index: vec![2, 1], edges: vec![0] }.is_sound(2));
    }
}
