//! Caches: sets of lines. The least recently used line makes room, or any one.

use crate::machine::Level;
use hotlink_fabric::rng::SplitMix64;
use std::collections::VecDeque;

/// A cache at run time. A line's entry is its number plus one, twice, plus one if it was written; 0 is free.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    ways: usize,
    sets: u64,
    lines: Vec<u64>,
    /// For a cache that cores share: what chooses the line that makes room.
    chance: Option<SplitMix64>,
    /// Whether its sets are found by all bits of an address.
    hashes: bool,
}

impl Cache {
    pub fn new(level: &Level, line: u64) -> Cache {
        let ways = level.ways.min((level.size / line).max(1));
        let sets = (level.size / line / ways).max(1);
        Cache { ways: ways as usize, sets, lines: vec![0; (sets * ways) as usize], chance: None, hashes: false }
    }

    /// A cache that cores share. Any line of a set makes room. All bits of an address select its set, or the low ones.
    pub fn shared(level: &Level, line: u64, hashes: bool) -> Cache {
        Cache { chance: Some(SplitMix64::new(level.size)), hashes, ..Cache::new(level, line) }
    }

    fn set(&mut self, line: u64) -> &mut [u64] {
        let number = if self.hashes { SplitMix64::new(line).next_u64() } else { line };
        let start = (number % self.sets) as usize * self.ways;
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
        let chosen = self.chance.as_mut().map(|chance| chance.next_u64() as usize);
        let set = self.set(line);
        let last = set.len() - 1;
        if let Some(chosen) = chosen
            && set[last] != 0
        {
            set.swap(chosen % (last + 1), last);
        }
        set.rotate_right(1);
        let left = std::mem::replace(&mut set[0], (line + 1) << 1 | u64::from(written));
        (left != 0).then(|| ((left >> 1) - 1, left & 1 == 1))
    }
}

/// Whether a line had to leave its set before this many others had arrived: the arrival of each of a set's lines,
/// counted in lines.
#[derive(Clone, Debug)]
pub(crate) struct Crowding {
    sets: u64,
    came: Vec<VecDeque<u64>>,
    count: u64,
}

impl Crowding {
    pub fn new(level: &Level, line: u64) -> Crowding {
        let ways = level.ways.min((level.size / line).max(1));
        let sets = (level.size / line / ways).max(1);
        Crowding { sets, came: vec![VecDeque::with_capacity(ways as usize + 1); sets as usize], count: 0 }
    }

    /// A line comes; whether the one for which it makes room had come within the last `lines`, in a set of `ways`.
    pub fn comes(&mut self, line: u64, ways: u64, lines: u64) -> bool {
        self.count += 1;
        let set = &mut self.came[(line % self.sets) as usize];
        set.push_back(self.count);
        set.len() as u64 > ways && set.pop_front().is_some_and(|came| self.count - came <= lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotlink_fabric::units::Time;

    #[test]
    fn a_set_is_crowded_where_its_lines_leave_soon() {
        let level = Level { size: 16 * 64, ways: 2, line_time: Time(1) };
        let crowded = |apart: u64| {
            let mut crowding = Crowding::new(&level, 64);
            (0..64).filter(|turn| crowding.comes(turn * apart, 2, 6)).count()
        };
        assert_eq!(crowded(1), 0, "eight sets: sixteen lines in between");
        assert_eq!(crowded(4), 60, "two sets of two lines: four in between");
    }

    #[test]
    fn a_shared_cache_keeps_some_of_a_block_that_is_too_large() {
        let level = Level { size: 1024 * 64, ways: 16, line_time: Time(1) };
        let kept = |mut cache: Cache| {
            for line in (0..1200).chain(0..1200) {
                if !cache.touch(line, false) {
                    cache.insert(line, false);
                }
            }
            (0..1200).filter(|&line| cache.touch(line, false)).count()
        };
        assert_eq!(kept(Cache::new(&level, 64)), 1024);
        assert!(kept(Cache::shared(&level, 64, true)) > 800);
    }

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
