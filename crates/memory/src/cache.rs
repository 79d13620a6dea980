//! Caches: sets of lines, the least recently used of which makes room.

use crate::machine::Level;

/// A cache at run time. A line's entry is its number plus one, twice, plus one if it was written; 0 is free.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    ways: usize,
    sets: u64,
    lines: Vec<u64>,
}

impl Cache {
    pub fn new(level: &Level, line: u64) -> Cache {
        let ways = level.ways.min((level.size / line).max(1));
        let sets = (level.size / line / ways).max(1);
        Cache { ways: ways as usize, sets, lines: vec![0; (sets * ways) as usize] }
    }

    fn set(&mut self, line: u64) -> &mut [u64] {
        let start = (line % self.sets) as usize * self.ways;
        &mut self.lines[start..start + self.ways]
    }

    /// Whether it holds the line, which is then its set's youngest.
    pub fn touch(&mut self, line: u64, written: bool) -> bool {
        let set = self.set(line);
        let Some(at) = set.iter().position(|&entry| entry >> 1 == line + 1) else { return false };
        set[..=at].rotate_right(1);
        set[0] |= u64::from(written);
        true
    }

    /// Takes a line in; the one that had to leave, and whether it was written.
    pub fn insert(&mut self, line: u64, written: bool) -> Option<(u64, bool)> {
        let set = self.set(line);
        set.rotate_right(1);
        let left = std::mem::replace(&mut set[0], (line + 1) << 1 | u64::from(written));
        (left != 0).then(|| ((left >> 1) - 1, left & 1 == 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotlink_fabric::units::Time;

    #[test]
    fn the_least_recently_used_line_of_a_set_leaves() {
        let mut cache = Cache::new(&Level { size: 4 * 32, ways: 2, line_time: Time(1) }, 32);
        assert!(cache.insert(0, false).is_none() && cache.insert(2, true).is_none());
        assert!(cache.insert(1, false).is_none(), "the other set");
        assert!(cache.touch(0, false));
        assert_eq!(cache.insert(4, false), Some((2, true)), "2 was used before 0, and written");
        assert!(!cache.touch(2, false) && cache.touch(0, true) && cache.touch(4, false));
        assert_eq!(cache.insert(6, false), Some((0, true)));
    }
}
