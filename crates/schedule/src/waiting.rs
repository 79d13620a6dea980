//! Lines of those that wait for the other end of their message, by pattern: only of patterns for which somebody waits.

use crate::state::Line;

/// Receiver, source or ANY, tag or ANY.
pub(crate) type Pattern = (u32, u32, u32);

/// A line, and whether messages stand in it: else receives do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pattern: Pattern,
    pub line: Line,
    pub messages: bool,
}

const NOBODY: Waiting = Waiting { pattern: (0, 0, 0), line: Line::EMPTY, messages: false };
const FEWEST: usize = 16;

/// A table that is searched from a pattern's own place on; at most half of its places are taken.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    places: Vec<Waiting>,
    taken: usize,
}

impl Default for Table {
    fn default() -> Table {
        Table { places: vec![NOBODY; FEWEST], taken: 0 }
    }
}

impl Table {
    #[inline]
    fn own(&self, (receiver, source, tag): Pattern) -> usize {
        let ranks = (u64::from(receiver) << 32 | u64::from(source)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = ranks ^ u64::from(tag).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 32) as usize & (self.places.len() - 1)
    }
    /// The place of a pattern. If it has none, one with an empty line, for which room is made.
    #[inline]
    pub fn place(&mut self, pattern: Pattern) -> usize {
        if self.taken * 2 >= self.places.len() {
            self.grow();
        }
        let mut at = self.own(pattern);
        while !self.places[at].line.is_empty() && self.places[at].pattern != pattern {
            at = (at + 1) & (self.places.len() - 1);
        }
        at
    }
    #[inline]
    pub fn at(&mut self, place: usize) -> &mut Waiting {
        &mut self.places[place]
    }
    /// At an empty line, this one now stands.
    #[inline]
    pub fn put(&mut self, place: usize, pattern: Pattern, line: Line, messages: bool) {
        self.places[place] = Waiting { pattern, line, messages };
        self.taken += 1;
    }
    /// The line at this place is empty now. What stands after it and would be nearer to its own place there moves up.
    #[inline]
    pub fn left(&mut self, place: usize) {
        let (mask, mut gap, mut next) = (self.places.len() - 1, place, place);
        self.taken -= 1;
        loop {
            next = (next + 1) & mask;
            let one = self.places[next];
            if one.line.is_empty() {
                break;
            }
            if next.wrapping_sub(self.own(one.pattern)) & mask >= next.wrapping_sub(gap) & mask {
                self.places[gap] = one;
                gap = next;
            }
        }
        self.places[gap].line = Line::EMPTY;
    }
    #[cold]
    fn grow(&mut self) {
        let twice = vec![NOBODY; 2 * self.places.len()];
        for one in std::mem::replace(&mut self.places, twice).into_iter().filter(|one| !one.line.is_empty()) {
            let mut at = self.own(one.pattern);
            while !self.places[at].line.is_empty() {
                at = (at + 1) & (self.places.len() - 1);
            }
            self.places[at] = one;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// What comes and goes, beside a map: each step adds a pattern, or removes it if it is there.
        #[test]
        fn a_table_holds_what_a_map_does(steps in proptest::collection::vec((0u32..6, 0u32..6, 0u32..6), 0..600)) {
            let (mut table, mut map) = (Table::default(), BTreeMap::new());
            for (id, &pattern) in (0u32..).zip(&steps) {
                let place = table.place(pattern);
                let first = table.at(place).line.first();
                prop_assert_eq!(first, map.get(&pattern).copied());
                if map.remove(&pattern).is_some() {
                    table.at(place).line = Line::EMPTY;
                    table.left(place);
                } else {
                    let mut line = Line::EMPTY;
                    line.join_by(id, |_, _| ());
                    table.put(place, pattern, line, id % 2 == 0);
                    map.insert(pattern, id);
                }
                prop_assert_eq!(table.taken, map.len());
            }
        }
    }
}
