//! A sorted row while events are few.

use super::{Event, Queue};

/// Most events of the row: moving as many one by one takes as long as one operation of a heap.
const MOST: usize = 16;

/// Few events stand in a row, the next one last; with more, all are in the queue `Q` until it is empty. One rank's
/// chain of operations or messages has two or three events at a time. For these a row takes a fraction of a heap's
/// time.
pub struct Few<Q> {
    row: [(u64, Event); MOST],
    len: usize,
    /// All events while there are any.
    many: Q,
}

impl<Q: Queue> Default for Few<Q> {
    fn default() -> Few<Q> {
        Few { row: [(0, Event(0)); MOST], len: 0, many: Q::default() }
    }
}

impl<Q: Queue> Few<Q> {
    #[inline(never)]
    fn push_many(&mut self, at: u64, event: Event) {
        for &(at, event) in self.row[..self.len].iter().rev() {
            self.many.push(at, event);
        }
        self.len = 0;
        self.many.push(at, event);
    }
}

impl<Q: Queue> Queue for Few<Q> {
    #[inline]
    fn push(&mut self, at: u64, event: Event) {
        if self.len == MOST || !self.many.is_empty() {
            return self.push_many(at, event);
        }
        let mut place = self.len;
        // Among equal times the last pushed goes last.
        while place > 0 && self.row[place - 1].0 <= at {
            self.row[place] = self.row[place - 1];
            place -= 1;
        }
        self.row[place] = (at, event);
        self.len += 1;
    }

    #[inline]
    fn pop(&mut self) -> Option<(u64, Event)> {
        if self.len > 0 {
            self.len -= 1;
            return Some(self.row[self.len]);
        }
        self.many.pop()
    }

    fn len(&self) -> usize {
        self.len + self.many.len()
    }
}
