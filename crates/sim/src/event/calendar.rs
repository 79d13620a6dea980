//! A stable calendar queue.

use super::{BinaryHeap, Event, Queue};

type Item = (u64, Event);

/// Buckets of the calendar: a power of two, with a bit of one word for every 64.
const BUCKETS: usize = 1024;
/// Buckets of more events than this are sorted by digits, others by insertion.
const FEW: usize = 40;
/// Pushes between two looks at the width, at least.
const LOOK: usize = 4096;

/// A ring of buckets `2^shift` ps wide, from the one that the clock is in; what lies beyond them waits in a heap until
/// the ring comes by. A bucket keeps insertion order and is sorted by time, stably, when the clock enters it: hence
/// first-in first-out at equal times, and an event moves twice where a radix heap moves it once a digit.
///
/// The width follows the events: wider while many lie beyond the ring, narrower while they crowd in its buckets. Buckets
/// keep their memory, so that the steady state does not allocate.
pub struct Calendar {
    buckets: Vec<Vec<Item>>,
    occupied: [u64; BUCKETS / 64],
    /// Which words of `occupied` are not 0.
    words: u64,
    shift: u32,
    /// Number of the bucket that the clock is in: its times divided by its width.
    open: u64,
    /// The events of that bucket in order, and how many of them are gone.
    due: Vec<Item>,
    gone: usize,
    /// Time of the last event popped.
    now: u64,
    far: BinaryHeap,
    /// Time of the first event of `far`.
    far_at: u64,
    len: usize,
    spare: Vec<Item>,
    /// Pushes until the width is looked at again, and of how many in all; places that events have moved in their buckets
    /// since it last was, and events pushed beyond the ring, by the digits that their distance in buckets has.
    left: usize,
    pushes: usize,
    moved: usize,
    beyond: [u32; 65],
}

impl Default for Calendar {
    fn default() -> Calendar {
        Calendar {
            buckets: vec![Vec::new(); BUCKETS],
            occupied: [0; BUCKETS / 64],
            words: 0,
            shift: 6,
            open: 0,
            due: Vec::new(),
            gone: 0,
            now: 0,
            far: BinaryHeap::default(),
            far_at: u64::MAX,
            len: 0,
            spare: Vec::new(),
            left: LOOK,
            pushes: LOOK,
            moved: 0,
            beyond: [0; 65],
        }
    }
}

impl Calendar {
    #[inline]
    fn place(&mut self, at: u64, event: Event) {
        let ahead = (at >> self.shift) - self.open;
        if ahead.wrapping_sub(1) < BUCKETS as u64 - 1 {
            return self.append(at, event);
        }
        self.place_elsewhere(at, event);
    }

    /// Adds an event to its bucket, which is not the open one.
    #[inline]
    fn append(&mut self, at: u64, event: Event) {
        let bucket = (at >> self.shift) as usize % BUCKETS;
        self.buckets[bucket].push((at, event));
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
        self.words |= 1 << (bucket / 64);
    }

    #[inline(never)]
    fn place_elsewhere(&mut self, at: u64, event: Event) {
        if at >> self.shift == self.open {
            return self.insert(at, event);
        }
        let ahead = (at >> self.shift) - self.open;
        self.beyond[(u64::BITS - ahead.leading_zeros()) as usize] += 1;
        self.far_at = self.far_at.min(at);
        self.far.push(at, event);
    }

    /// Adds an event to the open bucket.
    fn insert(&mut self, at: u64, event: Event) {
        if self.gone > 64 && 2 * self.gone > self.due.len() {
            self.due.drain(..self.gone);
            self.gone = 0;
        }
        if self.due.last().is_none_or(|last| last.0 <= at) {
            return self.due.push((at, event));
        }
        let place = self.gone + self.due[self.gone..].partition_point(|item| item.0 <= at);
        self.moved += self.due.len() - place;
        self.due.insert(place, (at, event));
    }

    /// The first occupied bucket after the open one, by its place in the ring.
    #[inline]
    fn next_bucket(&self) -> Option<usize> {
        if self.words == 0 {
            return None;
        }
        let from = (self.open as usize + 1) % BUCKETS;
        let word = from / 64;
        let here = self.occupied[word] >> (from % 64);
        if here != 0 {
            return Some(from + here.trailing_zeros() as usize);
        }
        let after = self.words & !((2u64 << word) - 1);
        let word = if after != 0 { after } else { self.words }.trailing_zeros() as usize;
        Some(word * 64 + self.occupied[word].trailing_zeros() as usize)
    }

    /// Opens the next bucket that holds events; `false` if none does.
    fn turn(&mut self) -> bool {
        self.due.clear();
        self.gone = 0;
        let here = self.open as usize % BUCKETS;
        match self.next_bucket() {
            Some(next) => self.open += (next.wrapping_sub(here) % BUCKETS) as u64,
            None if self.far_at == u64::MAX => return false,
            None => self.open = self.far_at >> self.shift,
        }
        self.fetch();
        let bucket = self.open as usize % BUCKETS;
        self.strike(bucket);
        match self.buckets[bucket].len() {
            1 => self.due.push(self.buckets[bucket][0]),
            0..=FEW => self.sort_few(bucket),
            _ => self.sort_many(bucket),
        }
        self.buckets[bucket].clear();
        true
    }

    /// Takes a bucket off the map of the occupied ones.
    #[inline]
    fn strike(&mut self, bucket: usize) {
        self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        if self.occupied[bucket / 64] == 0 {
            self.words &= !(1 << (bucket / 64));
        }
    }

    /// Takes what the ring now reaches from beyond it, before anything at these times is pushed.
    #[inline]
    fn fetch(&mut self) {
        while self.far_at >> self.shift < self.open.saturating_add(BUCKETS as u64) {
            let Some((at, event)) = self.far.pop() else { break };
            self.place(at, event);
            self.far_at = self.far.first_at().unwrap_or(u64::MAX);
        }
    }

    /// Puts the events of a bucket into `due` in order of time, by insertion.
    #[inline]
    fn sort_few(&mut self, bucket: usize) {
        for &item in &self.buckets[bucket] {
            let mut place = self.due.len();
            self.due.push(item);
            while place > 0 && self.due[place - 1].0 > item.0 {
                self.due[place] = self.due[place - 1];
                place -= 1;
            }
            self.moved += self.due.len() - 1 - place;
            self.due[place] = item;
        }
    }

    /// Puts the events of a bucket into `due` in order of time, by one digit of it after another from the lowest.
    fn sort_many(&mut self, bucket: usize) {
        const BITS: u32 = 8;
        self.due.extend_from_slice(&self.buckets[bucket]);
        self.spare.clone_from(&self.due);
        for low in (0..self.shift).step_by(BITS as usize) {
            let digit = |at: u64| (at >> low) as usize & ((1 << BITS.min(self.shift - low)) - 1);
            let mut ends = [0; 1 << BITS];
            self.due.iter().for_each(|item| ends[digit(item.0)] += 1);
            let mut sum = 0;
            for end in &mut ends {
                sum += *end;
                *end = sum;
            }
            for &item in self.due.iter().rev() {
                let place = &mut ends[digit(item.0)];
                *place -= 1;
                self.spare[*place] = item;
            }
            std::mem::swap(&mut self.due, &mut self.spare);
        }
    }

    /// Takes the width at which seven of eight of the latest events had been within the ring; a narrower one where events
    /// crowd in its buckets nevertheless and the ring has room to spare.
    #[cold]
    fn look_at_width(&mut self) {
        let (pushes, moved) = (self.pushes, std::mem::take(&mut self.moved));
        let beyond = std::mem::replace(&mut self.beyond, [0; 65]);
        self.pushes = LOOK.max(self.len);
        self.left = self.pushes;
        // Buckets have widths that times have digits for.
        let most = u64::BITS - 1 - self.shift - BUCKETS.ilog2();
        let outside =
            |wider: u32| beyond[(BUCKETS.ilog2() + wider) as usize + 1..].iter().map(|&n| n as usize).sum::<usize>();
        let wider = (0..most).find(|&wider| 8 * outside(wider) <= pushes).unwrap_or(most);
        if wider > 0 {
            self.set_width(self.shift + wider);
        } else if moved > 16 * pushes && outside(0) == 0 && self.shift > 0 {
            self.set_width(self.shift - 1);
        }
    }

    fn set_width(&mut self, shift: u32) {
        let mut events = self.due.split_off(self.gone);
        while let Some(bucket) = self.next_bucket() {
            let here = self.open as usize % BUCKETS;
            self.open += (bucket.wrapping_sub(here) % BUCKETS) as u64;
            events.append(&mut self.buckets[bucket]);
            self.strike(bucket);
        }
        self.due.clear();
        (self.gone, self.shift, self.open) = (0, shift, self.now >> shift);
        events.into_iter().for_each(|(at, event)| self.place(at, event));
        self.fetch();
        self.beyond = [0; 65];
    }

    /// Shows the next events, about `most`, as far as their order is known without work; gives their number.
    #[inline]
    pub fn upcoming(&self, most: usize, mut show: impl FnMut(Event)) -> usize {
        let due = &self.due[self.gone..];
        due.iter().take(most).for_each(|&(_, event)| show(event));
        if due.len() >= most {
            return most;
        }
        let next = self.next_bucket().map_or(&[][..], |bucket| &self.buckets[bucket][..]);
        let next = &next[..next.len().min(most - due.len())];
        next.iter().for_each(|&(_, event)| show(event));
        due.len() + next.len()
    }
}

impl Queue for Calendar {
    #[inline]
    fn push(&mut self, at: u64, event: Event) {
        debug_assert!(at >= self.now, "scheduled at {at} ps, before the clock at {} ps", self.now);
        self.len += 1;
        self.place(at, event);
        self.left -= 1;
        if self.left == 0 {
            self.look_at_width();
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<Item> {
        if self.gone == self.due.len() && !self.turn() {
            return None;
        }
        let first = self.due[self.gone];
        self.gone += 1;
        self.len -= 1;
        self.now = first.0;
        Some(first)
    }

    fn len(&self) -> usize {
        self.len
    }
}
