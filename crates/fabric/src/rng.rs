//! A small seeded generator (SplitMix64, Steele, Lea, Flood 2014): the same traffic on every machine and in every
//! version.

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Scrambles one word: the first output of SplitMix64 for this seed.
#[inline]
pub fn mix(word: u64) -> u64 {
    let mut z = word.wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator for `seed`.
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// A generator for stream `stream` of `seed`: streams of one seed do not resemble each other.
    pub fn stream(seed: u64, stream: u64) -> SplitMix64 {
        let mut first = SplitMix64(seed);
        let offset = first.next_u64();
        SplitMix64(offset ^ SplitMix64(stream.wrapping_add(1)).next_u64())
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let word = mix(self.0);
        self.0 = self.0.wrapping_add(STEP);
        word
    }

    /// A number below `bound` (at least 1), each equally likely (Lemire 2019).
    pub fn below(&mut self, bound: u64) -> u64 {
        let bound = bound.max(1);
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            if product as u64 >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }

    /// Puts `items` in random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}
