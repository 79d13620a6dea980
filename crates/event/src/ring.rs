//! The buckets of a calendar.

use super::{Event, NONE};

pub(super) type Item = (u64, Event);

/// Buckets of a ring: a power of two, with a bit of one word for every 64.
pub(super) const BUCKETS: usize = 1024;
/// Events of a chunk.
const CHUNK: usize = 8;

/// Two cache lines of events.
#[derive(Clone, Copy)]
#[repr(align(128))]
struct Chunk([Item; CHUNK]);

/// A chain of chunks, all full but the last.
#[derive(Clone, Copy)]
struct Bucket {
    first: u32,
    last: u32,
    /// Events of the last chunk.
    used: u32,
    len: u32,
}

const EMPTY: Bucket = Bucket { first: NONE, last: NONE, used: CHUNK as u32, len: 0 };

/// A ring of buckets that keep the order of insertion. Their chunks come from one pool, which reuses the last freed
/// first. Near memory thus stays in use, however far apart the times of the events.
pub(super) struct Ring {
    buckets: Vec<Bucket>,
    occupied: [u64; BUCKETS / 64],
    /// Which words of `occupied` are not 0.
    words: u64,
    chunks: Vec<Chunk>,
    /// The chunk after each, in its bucket or among the free ones.
    next: Vec<u32>,
    free: u32,
}

impl Default for Ring {
    fn default() -> Ring {
        Ring {
            buckets: vec![EMPTY; BUCKETS],
            occupied: [0; BUCKETS / 64],
            words: 0,
            chunks: Vec::new(),
            next: Vec::new(),
            free: NONE,
        }
    }
}

impl Ring {
    /// Adds an event to a bucket.
    #[inline]
    pub fn push(&mut self, bucket: usize, item: Item) {
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
        self.words |= 1 << (bucket / 64);
        if self.buckets[bucket].used == CHUNK as u32 {
            self.lengthen(bucket);
        }
        let bucket = &mut self.buckets[bucket];
        self.chunks[bucket.last as usize].0[bucket.used as usize] = item;
        bucket.used += 1;
        bucket.len += 1;
    }

    /// Gives a bucket another chunk.
    #[inline]
    fn lengthen(&mut self, bucket: usize) {
        let chunk = self.free;
        let chunk = if chunk == NONE {
            self.chunks.push(Chunk([(0, Event(0)); CHUNK]));
            self.next.push(NONE);
            self.chunks.len() as u32 - 1
        } else {
            self.free = std::mem::replace(&mut self.next[chunk as usize], NONE);
            chunk
        };
        let bucket = &mut self.buckets[bucket];
        match bucket.last {
            NONE => bucket.first = chunk,
            last => self.next[last as usize] = chunk,
        }
        (bucket.last, bucket.used) = (chunk, 0);
    }

    /// Events of a bucket.
    #[inline]
    pub fn len(&self, bucket: usize) -> usize {
        self.buckets[bucket].len as usize
    }

    /// Takes all events of a bucket in order of insertion.
    #[inline]
    pub fn take(&mut self, bucket: usize, mut show: impl FnMut(&[Item])) {
        self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        if self.occupied[bucket / 64] == 0 {
            self.words &= !(1 << (bucket / 64));
        }
        let Bucket { first, last, used, .. } = std::mem::replace(&mut self.buckets[bucket], EMPTY);
        let mut chunk = first;
        while chunk != NONE {
            let items = &self.chunks[chunk as usize].0;
            show(if chunk == last { &items[..used as usize] } else { items });
            chunk = self.next[chunk as usize];
        }
        if last != NONE {
            self.next[last as usize] = std::mem::replace(&mut self.free, first);
        }
    }

    /// The first occupied bucket from `from` on, once round.
    #[inline]
    pub fn occupied_from(&self, from: usize) -> Option<usize> {
        if self.words == 0 {
            return None;
        }
        let word = from / 64;
        let here = self.occupied[word] >> (from % 64);
        if here != 0 {
            return Some(from + here.trailing_zeros() as usize);
        }
        let after = self.words & !((2u64 << word) - 1);
        let word = if after != 0 { after } else { self.words }.trailing_zeros() as usize;
        Some(word * 64 + self.occupied[word].trailing_zeros() as usize)
    }
}
