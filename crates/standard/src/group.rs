//! Groups: ordered ranks.

use hotlink_port::Rank;

/// Ordered ranks of the whole job, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    ranks: Vec<Rank>,
}

/// How two groups or communicators are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// The same ranks in the same order.
    Same,
    /// The same ranks in another order.
    Similar,
    /// Other ranks.
    Unequal,
}

impl Group {
    /// These ranks, none of them twice.
    pub fn new(ranks: Vec<Rank>) -> Group {
        Group { ranks }
    }
    /// In order.
    pub fn ranks(&self) -> &[Rank] {
        &self.ranks
    }
    /// The same, to be sent.
    pub fn words(&self) -> Vec<i64> {
        self.ranks.iter().map(|&rank| i64::from(rank)).collect()
    }
    /// How many.
    pub fn size(&self) -> usize {
        self.ranks.len()
    }
    /// The place of a rank of the job.
    pub fn place(&self, rank: Rank) -> Option<usize> {
        self.ranks.iter().position(|&other| other == rank)
    }
    /// See [`Compared`].
    pub fn compare(&self, other: &Group) -> Compared {
        let sorted = |group: &Group| {
            let mut ranks = group.ranks.clone();
            ranks.sort_unstable();
            ranks
        };
        match self.ranks == other.ranks {
            true => Compared::Same,
            false if sorted(self) == sorted(other) => Compared::Similar,
            false => Compared::Unequal,
        }
    }
    /// All of this one, then those that only `other` has.
    #[must_use]
    pub fn union(&self, other: &Group) -> Group {
        let more = other.ranks.iter().filter(|&&rank| self.place(rank).is_none());
        Group::new(self.ranks.iter().chain(more).copied().collect())
    }
    /// Those of this one that `other` has as well.
    #[must_use]
    pub fn intersection(&self, other: &Group) -> Group {
        Group::new(self.ranks.iter().filter(|&&rank| other.place(rank).is_some()).copied().collect())
    }
    /// Those of this one that `other` has not.
    #[must_use]
    pub fn difference(&self, other: &Group) -> Group {
        Group::new(self.ranks.iter().filter(|&&rank| other.place(rank).is_none()).copied().collect())
    }
    /// Those at these places, in their order; `None`: a place that is none, or twice.
    pub fn pick(&self, places: &[i64]) -> Option<Group> {
        let mut taken = vec![false; self.size()];
        let mut ranks = Vec::with_capacity(places.len());
        for &place in places {
            let place = usize::try_from(place).ok().filter(|&place| place < taken.len())?;
            if std::mem::replace(&mut taken[place], true) {
                return None;
            }
            ranks.push(self.ranks[place]);
        }
        Some(Group::new(ranks))
    }
    /// All but those at these places.
    pub fn leave_out(&self, places: &[i64]) -> Option<Group> {
        self.pick(places).map(|out| self.difference(&out))
    }
    /// The places that ranges of first, last and stride name; `None`: a stride that leads nowhere, or a place beyond.
    pub fn ranges(ranges: &[[i64; 3]]) -> Option<Vec<i64>> {
        let mut places = Vec::new();
        for &[first, last, stride] in ranges {
            if stride == 0 || (last - first) * stride < 0 || first < 0 || last < 0 {
                return None;
            }
            places.extend((0..=(last - first) / stride).map(|step| first + step * stride));
        }
        Some(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_keep_the_order_of_the_first() {
        let (a, b) = (Group::new(vec![4, 1, 3]), Group::new(vec![3, 2, 4]));
        assert_eq!(a.union(&b).ranks(), [4, 1, 3, 2]);
        assert_eq!(a.intersection(&b).ranks(), [4, 3]);
        assert_eq!(a.difference(&b).ranks(), [1]);
        let compared = [&a, &Group::new(vec![1, 3, 4]), &b].map(|other| a.compare(other));
        assert_eq!(compared, [Compared::Same, Compared::Similar, Compared::Unequal]);
    }

    #[test]
    fn places_are_checked() {
        let group = Group::new(vec![9, 8, 7, 6]);
        assert_eq!(group.pick(&[3, 0]).unwrap().ranks(), [6, 9]);
        assert_eq!(group.leave_out(&[3, 0]).unwrap().ranks(), [8, 7]);
        assert!(group.pick(&[0, 0]).is_none() && group.pick(&[4]).is_none() && group.pick(&[-1]).is_none());
        assert_eq!(Group::ranges(&[[3, 0, -2], [2, 2, 1]]).unwrap(), [3, 1, 2]);
        assert!(Group::ranges(&[[0, 3, 0]]).is_none() && Group::ranges(&[[0, 3, -1]]).is_none());
    }
}
