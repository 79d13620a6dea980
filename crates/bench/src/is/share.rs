//! A rank's part of the sort, and what it computes by itself: compiled once, whatever carries the keys.

use super::keys::{Class, ITERATIONS, TESTS, bucket_work, count_work, keys};
use super::sort::Sorted;
use hotlink_port::Work;

/// Bytes of a key.
pub(super) const KEY: u64 = size_of::<u32>() as u64;

/// The keys of one of the ranks.
pub(super) struct Share {
    class: Class,
    rank: u32,
    ranks: u32,
    /// Its part of the sequence.
    sequence: Vec<u32>,
    /// The same in buckets, as it is sent; then what came.
    pub bucketed: Vec<[u8; KEY as usize]>,
    pub received: Vec<[u8; KEY as usize]>,
    /// Bits to shift a key by for its bucket.
    shift: u32,
    /// Of each bucket, here: keys; and of all ranks together, with the test keys behind.
    pub mine: Vec<u64>,
    pub all: Vec<u64>,
    /// Of each key in this rank's range: how many there are.
    counts: Vec<u32>,
    /// First key of the range, and the number of keys on lower ranks.
    first_key: u32,
    below: u64,
    pub result: Sorted,
}

/// What the last verification finds on one rank.
pub(super) struct Order {
    /// All keys lie in the rank's range, and all were counted.
    pub holds: bool,
    pub lowest: u64,
    pub highest: u64,
}

impl Share {
    pub fn new(class: Class, buckets: usize, rank: u32, ranks: u32) -> Share {
        let share = class.keys() / u64::from(ranks);
        let start = share * u64::from(rank);
        Share {
            class,
            rank,
            ranks,
            sequence: keys(class, start..start + share),
            bucketed: vec![[0; KEY as usize]; share as usize],
            received: Vec::new(),
            shift: class.key_limit().trailing_zeros() - buckets.trailing_zeros(),
            mine: vec![0; buckets + TESTS],
            all: vec![0; buckets + TESTS],
            counts: Vec::new(),
            first_key: 0,
            below: 0,
            result: Sorted {
                time_us: 0.0,
                communication_us: 0.0,
                partially_verified: true,
                tests: 0,
                fully_verified: false,
                keys: 0,
            },
        }
    }

    /// The two keys that an iteration sets.
    pub fn begin(&mut self, iteration: usize) {
        if self.rank == 0 {
            self.sequence[iteration] = iteration as u32;
            self.sequence[iteration + ITERATIONS] = self.class.key_limit() - iteration as u32;
        }
    }

    /// Counts this rank's keys by bucket and puts them in order of buckets; notes the test keys that it has.
    pub fn fill_buckets(&mut self) -> Work {
        let buckets = self.mine.len() - TESTS;
        self.mine.fill(0);
        for &key in &self.sequence {
            self.mine[(key >> self.shift) as usize] += 1;
        }
        let mut next = Vec::with_capacity(buckets);
        let mut sum = 0;
        for &count in &self.mine[..buckets] {
            next.push(sum);
            sum += count as usize;
        }
        for &key in &self.sequence {
            let place = &mut next[(key >> self.shift) as usize];
            self.bucketed[*place] = key.to_le_bytes();
            *place += 1;
        }
        let share = self.sequence.len() as u64;
        let start = share * u64::from(self.rank);
        for (test, position) in self.class.test_positions().into_iter().enumerate() {
            if let Some(offset) = position.checked_sub(start).filter(|&offset| offset < share) {
                self.mine[buckets + test] = u64::from(self.sequence[offset as usize]);
            }
        }
        let (streamed, scattered) = bucket_work(share);
        Work::Own { streamed, scattered }
    }

    /// For each rank the bucket after its last one: as even as whole buckets allow.
    pub fn share_out(&self) -> Vec<usize> {
        let buckets = self.all.len() - TESTS;
        let ranks = self.ranks as usize;
        let (mut ends, mut sum) = (Vec::with_capacity(ranks), 0);
        for (bucket, &count) in self.all[..buckets].iter().enumerate() {
            sum += count;
            while ends.len() + 1 < ranks && sum >= (ends.len() as u64 + 1) * self.class.keys() / ranks as u64 {
                ends.push(bucket + 1);
            }
        }
        ends.resize(ranks, buckets);
        ends
    }

    /// Counts how often each key of this rank's range came, and keys on lower ranks.
    pub fn count(&mut self, ends: &[usize]) -> Work {
        let rank = self.rank as usize;
        let first = if rank == 0 { 0 } else { ends[rank - 1] };
        self.first_key = (first as u32) << self.shift;
        self.below = self.all[..first].iter().sum();
        let range = (ends[rank] - first) << self.shift;
        self.counts.clear();
        self.counts.resize(range, 0);
        for &key in &self.received {
            // A key out of range is a fault of the transport, for the verification to find.
            if let Some(count) = self.counts.get_mut(u32::from_le_bytes(key).wrapping_sub(self.first_key) as usize) {
                *count += 1;
            }
        }
        // NPB ranks by summing the counts; here as there once for each iteration.
        let mut sum = 0;
        for count in &mut self.counts {
            sum += *count;
            *count = sum;
        }
        let received = self.received.len() as u64;
        self.result.keys = received;
        let (streamed, scattered) = count_work(received, range as u64);
        Work::Own { streamed, scattered }
    }

    /// The published ranks of those test keys that lie in this rank's range.
    pub fn check_tests(&mut self, iteration: usize) {
        let buckets = self.all.len() - TESTS;
        for test in 0..TESTS {
            let key = self.all[buckets + test];
            let Some(offset) = key.checked_sub(u64::from(self.first_key)) else { continue };
            if offset >= self.counts.len() as u64 {
                continue;
            }
            let smaller = if offset == 0 { 0 } else { self.counts[offset as usize - 1] };
            let rank = (self.below + u64::from(smaller)) as i64;
            self.result.tests += 1;
            self.result.partially_verified &= rank == self.class.test_rank(test, iteration);
        }
    }

    /// Whether the keys of this rank are those that it counted, with the lowest and the highest.
    pub fn order(&self) -> Order {
        let first = u64::from(self.first_key);
        let limit = first + self.counts.len() as u64;
        let of = |key: &[u8; KEY as usize]| u64::from(u32::from_le_bytes(*key));
        let counted = self.counts.last().copied().unwrap_or(0) as usize == self.received.len();
        Order {
            holds: counted && self.received.iter().all(|key| (first..limit).contains(&of(key))),
            lowest: self.received.iter().map(of).min().unwrap_or(limit),
            highest: self.received.iter().map(of).max().unwrap_or(first),
        }
    }
}
