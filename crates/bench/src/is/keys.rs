//! NAS Parallel Benchmarks, Integer Sort: problem classes, key generator and partial verification, as published with
//! NPB 2 and 3 (D. Bailey et al., The NAS Parallel Benchmarks, RNR-94-007, section 2.3.5, and the published results of
//! the test keys).

use serde::{Deserialize, Serialize};

/// Timed iterations.
pub const ITERATIONS: usize = 10;
/// Test keys of a class.
pub const TESTS: usize = 5;

/// How the published rank of a test key moves from iteration to iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drift {
    /// The first `rising` keys gain the iteration's number less `up`; the others lose it less `down`.
    First { rising: usize, up: i64, down: i64 },
    /// Keys 1, 2 and 4 gain the iteration's number; the others lose it.
    Odd,
}

/// Bytes of a key.
const KEY: u64 = size_of::<u32>() as u64;

/// Keys to buckets: read to count them, read and written to move them; each is counted and moved in no order.
pub(super) fn bucket_work(keys: u64) -> (u64, u64) {
    (KEY * keys * 3, 2 * keys)
}

/// Keys counted in a range, and the counts cleared and summed.
pub(super) fn count_work(keys: u64, range: u64) -> (u64, u64) {
    (KEY * (keys + 3 * range), keys)
}

/// Problem size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    /// 2^16 keys below 2^11.
    S,
    /// 2^20 keys below 2^16.
    W,
    /// 2^23 keys below 2^19.
    A,
    /// 2^25 keys below 2^21.
    B,
    /// 2^27 keys below 2^23.
    C,
}

/// The specification's values for a class.
struct Published {
    keys_log2: u32,
    key_log2: u32,
    positions: [u64; TESTS],
    ranks: [i64; TESTS],
    drift: Drift,
}

impl Class {
    /// Its letter.
    pub fn name(self) -> &'static str {
        match self {
            Class::S => "S",
            Class::W => "W",
            Class::A => "A",
            Class::B => "B",
            Class::C => "C",
        }
    }
    /// Number of keys on all ranks.
    pub fn keys(self) -> u64 {
        1 << self.published().keys_log2
    }
    /// Keys are below this.
    pub fn key_limit(self) -> u32 {
        1 << self.published().key_log2
    }
    /// The computation of one iteration on one of `ranks` ranks that get as many keys each. It is given as bytes read
    /// or written in order, and updates in no order. A running [`super::IntegerSort`] reports it.
    pub fn own_work(self, ranks: u64) -> (u64, u64) {
        let (share, range) = (self.keys() / ranks, u64::from(self.key_limit()) / ranks);
        let ((a, b), (c, d)) = (bucket_work(share), count_work(share, range));
        (a + c, b + d)
    }
    /// Positions in the sequence of the keys whose ranks are published.
    pub fn test_positions(self) -> [u64; TESTS] {
        self.published().positions
    }
    /// The published rank, that is the number of smaller keys, of test key `test` (0 to 4) in iteration `iteration`
    /// (1 to 10).
    pub fn test_rank(self, test: usize, iteration: usize) -> i64 {
        let published = self.published();
        let iteration = iteration as i64;
        let moved = match published.drift {
            Drift::First { rising, up, .. } if test < rising => iteration - up,
            Drift::First { down, .. } => down - iteration,
            Drift::Odd if matches!(test, 1 | 2 | 4) => iteration,
            Drift::Odd => -iteration,
        };
        published.ranks[test] + moved
    }
    fn published(self) -> Published {
        let (keys_log2, key_log2, positions, ranks, drift) = match self {
            Class::S => (
                16,
                11,
                [48427, 17148, 23627, 62548, 4431],
                [0, 18, 346, 64917, 65463],
                Drift::First { rising: 3, up: 0, down: 0 },
            ),
            Class::W => (
                20,
                16,
                [357773, 934767, 875723, 898999, 404505],
                [1249, 11698, 1039987, 1043896, 1048018],
                Drift::First { rising: 2, up: 2, down: 0 },
            ),
            Class::A => (
                23,
                19,
                [2112377, 662041, 5336171, 3642833, 4250760],
                [104, 17523, 123928, 8288932, 8388264],
                Drift::First { rising: 3, up: 1, down: 1 },
            ),
            Class::B => (
                25,
                21,
                [41869, 812306, 5102857, 18232239, 26860214],
                [33422937, 10244, 59149, 33135281, 99],
                Drift::Odd,
            ),
            Class::C => (
                27,
                23,
                [44172927, 72999161, 74326391, 129606274, 21736814],
                [61147, 882988, 266290, 133997595, 133525895],
                Drift::First { rising: 3, up: 0, down: 0 },
            ),
        };
        Published { keys_log2, key_log2, positions, ranks, drift }
    }
}

/// The linear congruential generator of the NAS benchmarks: x' = 5^13 x mod 2^46, x / 2^46 in (0, 1).
#[derive(Clone, Copy, Debug)]
struct Randlc(u64);

const MULTIPLIER: u64 = 1_220_703_125;
const SEED: u64 = 314_159_265;
const MASK: u64 = (1 << 46) - 1;

impl Randlc {
    /// The generator after `skip` numbers.
    fn after(mut skip: u64) -> Randlc {
        let (mut state, mut power) = (SEED, MULTIPLIER);
        while skip > 0 {
            if skip & 1 == 1 {
                state = state.wrapping_mul(power) & MASK;
            }
            power = power.wrapping_mul(power) & MASK;
            skip >>= 1;
        }
        Randlc(state)
    }
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(MULTIPLIER) & MASK;
        self.0 as f64 / (1u64 << 46) as f64
    }
}

/// The keys at positions `range` of the class's sequence: each a quarter of the limit times the sum of four numbers.
pub fn keys(class: Class, range: std::ops::Range<u64>) -> Vec<u32> {
    let mut random = Randlc::after(4 * range.start);
    let quarter = f64::from(class.key_limit()) / 4.0;
    let key = |_| (quarter * (random.next() + random.next() + random.next() + random.next())) as u32;
    range.map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks by counting, as the specification defines them, against the published ones: a check of the generator and
    /// of the tables in every iteration.
    #[test]
    fn published_ranks_of_test_keys() {
        for class in [Class::S, Class::W, Class::A] {
            let mut sequence = keys(class, 0..class.keys());
            for iteration in 1..=ITERATIONS {
                sequence[iteration] = iteration as u32;
                sequence[iteration + ITERATIONS] = class.key_limit() - iteration as u32;
                let tests = class.test_positions().map(|position| sequence[position as usize]);
                let mut count = vec![0u32; class.key_limit() as usize];
                sequence.iter().for_each(|&key| count[key as usize] += 1);
                for (test, &key) in tests.iter().enumerate() {
                    let smaller: u32 = count[..key as usize].iter().sum();
                    assert_eq!(
                        i64::from(smaller),
                        class.test_rank(test, iteration),
                        "class {} test {test} iteration {iteration}",
                        class.name()
                    );
                }
            }
        }
    }

    #[test]
    fn any_part_of_the_sequence_starts_anywhere() {
        let whole = keys(Class::S, 0..4096);
        for start in [0, 1, 777, 4000] {
            assert_eq!(keys(Class::S, start..4096), whole[start as usize..]);
        }
    }
}
