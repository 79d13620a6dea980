//! A stable calendar queue.

use super::ring::{BUCKETS, Item, Ring};
use super::{BinaryHeap, Event, Queue};

/// Buckets of more events than this are sorted by digits, others by insertion.
const FEW: usize = 40;
/// Pushes between two checks of the width, at least.
const LOOK: usize = 4096;

/// A ring of buckets `2^shift` ps wide, from the last one opened. Later events wait in a heap until the ring reaches
/// them. A bucket keeps insertion order. It is sorted by time, stably, when the clock enters it or before
/// ([`Calendar::look_ahead`]). Events at equal times are therefore first-in first-out. An event moves twice, where a
/// radix heap moves it once a digit.
///
/// The width follows the events: wider while many lie beyond the ring, narrower while they crowd in its buckets. The ring
/// uses its memory again, so that the steady state does not allocate.
pub struct Calendar {
    ring: Ring,
    shift: u32,
    /// Number of the last bucket opened: its times divided by its width.
    open: u64,
    /// The events of the buckets opened, in order, and how many of them are gone.
    due: Vec<Item>,
    gone: usize,
    /// Time of the last event popped.
    now: u64,
    far: BinaryHeap,
    /// Time of the first event of `far`.
    far_at: u64,
    len: usize,
    spare: [Vec<Item>; 2],
    /// `left` of `pushes` pushes remain until the next check of the width. Since the last check, `moved` counts the
    /// places that events have moved in their buckets. `beyond` counts events pushed beyond the ring, by the digits of
    /// their distance in buckets.
    left: usize,
    pushes: usize,
    moved: usize,
    beyond: [u32; 65],
}

impl Default for Calendar {
    fn default() -> Calendar {
        Calendar {
            ring: Ring::default(),
            shift: 6,
            open: 0,
            due: Vec::new(),
            gone: 0,
            now: 0,
            far: BinaryHeap::default(),
            far_at: u64::MAX,
            len: 0,
            spare: [Vec::new(), Vec::new()],
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
        let ahead = (at >> self.shift).wrapping_sub(self.open);
        if ahead.wrapping_sub(1) < BUCKETS as u64 - 1 {
            return self.ring.push((at >> self.shift) as usize % BUCKETS, (at, event));
        }
        self.place_elsewhere(at, event);
    }

    #[inline(never)]
    fn place_elsewhere(&mut self, at: u64, event: Event) {
        if at >> self.shift <= self.open {
            return self.insert(at, event);
        }
        let ahead = (at >> self.shift) - self.open;
        self.beyond[(u64::BITS - ahead.leading_zeros()) as usize] += 1;
        self.far_at = self.far_at.min(at);
        self.far.push(at, event);
    }

    /// Forgets events that are gone.
    #[inline]
    fn forget(&mut self) {
        self.due.drain(..self.gone);
        self.gone = 0;
    }

    /// Adds an event to an open bucket.
    fn insert(&mut self, at: u64, event: Event) {
        if self.gone > 64 && 2 * self.gone > self.due.len() {
            self.forget();
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
        self.ring.occupied_from((self.open as usize + 1) % BUCKETS)
    }

    /// Opens the next bucket that holds events; `false` if none does.
    fn turn(&mut self) -> bool {
        self.forget();
        let here = self.open as usize % BUCKETS;
        match self.next_bucket() {
            Some(next) => self.open += (next.wrapping_sub(here) % BUCKETS) as u64,
            None if self.far_at == u64::MAX => return false,
            None => self.open = self.far_at >> self.shift,
        }
        self.fetch();
        let bucket = self.open as usize % BUCKETS;
        if self.ring.len(bucket) > FEW {
            self.sort_many(bucket)
        } else {
            self.sort_few(bucket)
        }
        true
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

    /// Moves the events of a bucket to `due` in order of time, by insertion.
    #[inline]
    fn sort_few(&mut self, bucket: usize) {
        let (due, moved) = (&mut self.due, &mut self.moved);
        self.ring.take(bucket, |items| {
            for &item in items {
                let mut place = due.len();
                due.push(item);
                while place > 0 && due[place - 1].0 > item.0 {
                    due[place] = due[place - 1];
                    place -= 1;
                }
                *moved += due.len() - 1 - place;
                due[place] = item;
            }
        });
    }

    /// Moves the events of a bucket to `due` in order of time, by one digit of it after another from the lowest.
    fn sort_many(&mut self, bucket: usize) {
        let [from, to] = &mut self.spare;
        from.clear();
        self.ring.take(bucket, |items| from.extend_from_slice(items));
        to.resize(from.len(), (0, Event(0)));
        // Digits of one length, 8 bits at most.
        let bits = self.shift.div_ceil(self.shift.div_ceil(8).max(1));
        for low in (0..self.shift).step_by(bits.max(1) as usize) {
            let mask = (1u64 << bits.min(self.shift - low)) - 1;
            let digit = |at: u64| (at >> low & mask) as usize;
            let mut ends = [0u32; 1 << 8];
            let ends = &mut ends[..=mask as usize];
            from.iter().for_each(|item| ends[digit(item.0)] += 1);
            let mut sum = 0;
            for end in &mut *ends {
                sum += *end;
                *end = sum;
            }
            for &item in from.iter().rev() {
                let place = &mut ends[digit(item.0)];
                *place -= 1;
                to[*place as usize] = item;
            }
            std::mem::swap(from, to);
        }
        self.due.extend_from_slice(from);
    }

    /// Takes the width at which seven of eight of the latest events were within the ring. Takes a narrower one where
    /// events still crowd in its buckets and the ring has room to spare.
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
            self.ring.take(bucket, |items| events.extend_from_slice(items));
        }
        self.due.clear();
        (self.gone, self.shift, self.open) = (0, shift, self.now >> shift);
        events.into_iter().for_each(|(at, event)| self.place(at, event));
        self.fetch();
        self.beyond = [0; 65];
    }

    /// Puts the events to come in order, `least` of them or what the ring holds: [`Calendar::due`] shows them.
    #[inline]
    pub fn look_ahead(&mut self, least: usize) {
        while self.due.len() - self.gone < least && self.next_bucket().is_some() {
            self.turn();
        }
    }

    /// The events to come whose order is known, from the next on.
    #[inline]
    pub fn due(&self) -> &[Item] {
        &self.due[self.gone..]
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
