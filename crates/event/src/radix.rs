//! A stable monotone radix heap.

use super::{Event, Queue};

/// Levels of `2^BITS` buckets. The highest digit in which an event's time differs from the clock gives its level; the
/// event's own digit there gives its bucket. When the clock enters a bucket its events move to lower levels. A bucket
/// keeps insertion order and equal times always share a bucket: first-in first-out.
///
/// Buckets keep their memory, so that the steady state does not allocate.
pub struct RadixHeap<const BITS: u32 = 6> {
    buckets: Vec<Vec<(u64, Event)>>,
    /// Which buckets of a level hold events; `WORDS` words a level.
    occupied: Vec<u64>,
    /// Which levels hold events.
    levels: u64,
    /// Time of the last event popped.
    now: u64,
    /// Events at `now`, in order, and how many of them are gone.
    due: Vec<(u64, Event)>,
    gone: usize,
    len: usize,
    spare: Vec<(u64, Event)>,
}

impl<const BITS: u32> RadixHeap<BITS> {
    const LEVELS: u32 = 64u32.div_ceil(BITS);
    const WORDS: usize = (1usize << BITS).div_ceil(64);

    #[inline]
    fn place(&mut self, at: u64, event: Event) {
        let differs = at ^ self.now;
        if differs == 0 {
            self.due.push((at, event));
            return;
        }
        let level = (63 - differs.leading_zeros()) / BITS;
        let digit = (at >> (level * BITS)) as usize & ((1 << BITS) - 1);
        self.buckets[(level as usize) << BITS | digit].push((at, event));
        self.occupied[level as usize * Self::WORDS + digit / 64] |= 1 << (digit % 64);
        self.levels |= 1 << level;
    }

    /// The lowest bucket that holds events, taken off the maps.
    fn first_bucket(&mut self) -> Option<usize> {
        if self.levels == 0 {
            return None;
        }
        let level = self.levels.trailing_zeros() as usize;
        let words = &mut self.occupied[level * Self::WORDS..(level + 1) * Self::WORDS];
        let word = words.iter().position(|&bits| bits != 0).expect("an occupied level has a bucket");
        let digit = word * 64 + words[word].trailing_zeros() as usize;
        words[word] &= words[word] - 1;
        if words.iter().all(|&bits| bits == 0) {
            self.levels &= self.levels - 1;
        }
        Some(level << BITS | digit)
    }

    /// Moves the clock to the earliest event of `bucket` and spreads the bucket over the levels below.
    fn open(&mut self, bucket: usize) {
        let mut events = std::mem::replace(&mut self.buckets[bucket], std::mem::take(&mut self.spare));
        self.now = events.iter().map(|&(at, _)| at).min().expect("an occupied bucket has events");
        for (at, event) in events.drain(..) {
            self.place(at, event);
        }
        // The emptied memory goes back to its own bucket, whose size it has learnt.
        self.spare = std::mem::replace(&mut self.buckets[bucket], events);
    }
}

impl<const BITS: u32> RadixHeap<BITS> {
    /// Shows the next events, up to `most`, as far as their order is known without work; gives their number.
    #[inline]
    pub fn upcoming(&self, most: usize, mut show: impl FnMut(Event)) -> usize {
        let mut shown = 0;
        for &(_, event) in self.due[self.gone..].iter().take(most) {
            show(event);
            shown += 1;
        }
        for word in 0..Self::WORDS {
            let mut digits = self.occupied[word];
            while digits != 0 && shown < most {
                let bucket = &self.buckets[word * 64 + digits.trailing_zeros() as usize];
                bucket.iter().for_each(|&(_, event)| show(event));
                shown += bucket.len();
                digits &= digits - 1;
            }
        }
        shown
    }
}

impl<const BITS: u32> Default for RadixHeap<BITS> {
    fn default() -> Self {
        RadixHeap {
            buckets: vec![Vec::new(); (Self::LEVELS as usize) << BITS],
            occupied: vec![0; Self::LEVELS as usize * Self::WORDS],
            levels: 0,
            now: 0,
            due: Vec::new(),
            gone: 0,
            len: 0,
            spare: Vec::new(),
        }
    }
}

impl<const BITS: u32> Queue for RadixHeap<BITS> {
    #[inline]
    fn push(&mut self, at: u64, event: Event) {
        debug_assert!(at >= self.now, "scheduled at {at} ps, before the clock at {} ps", self.now);
        self.len += 1;
        self.place(at, event);
    }

    #[inline]
    fn pop(&mut self) -> Option<(u64, Event)> {
        if self.gone == self.due.len() {
            self.due.clear();
            self.gone = 0;
            let bucket = self.first_bucket()?;
            if let [(at, event)] = self.buckets[bucket][..] {
                self.buckets[bucket].clear();
                self.now = at;
                self.len -= 1;
                return Some((at, event));
            }
            self.open(bucket);
        }
        let first = self.due[self.gone];
        self.gone += 1;
        self.len -= 1;
        Some(first)
    }

    fn len(&self) -> usize {
        self.len
    }
}
