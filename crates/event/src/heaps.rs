//! Comparison heaps, for comparison: stable through a sequence number, 24 bytes an event.

use super::{Event, Queue};
use std::cmp::Reverse;

type Item = (u64, u64, u64);

/// The standard library's binary heap.
#[derive(Default)]
pub struct BinaryHeap {
    heap: std::collections::BinaryHeap<Reverse<Item>>,
    sequence: u64,
}

impl BinaryHeap {
    /// Time of the first event.
    pub(super) fn first_at(&self) -> Option<u64> {
        self.heap.peek().map(|&Reverse((at, ..))| at)
    }
}

impl Queue for BinaryHeap {
    fn push(&mut self, at: u64, event: Event) {
        self.heap.push(Reverse((at, self.sequence, event.0)));
        self.sequence += 1;
    }
    fn pop(&mut self) -> Option<(u64, Event)> {
        self.heap.pop().map(|Reverse((at, _, event))| (at, Event(event)))
    }
    fn len(&self) -> usize {
        self.heap.len()
    }
}

/// An implicit heap of four children a node: half the depth, a cache line or two a level.
#[derive(Default)]
pub struct QuadHeap {
    heap: Vec<Item>,
    sequence: u64,
}

impl QuadHeap {
    fn sift_up(&mut self, mut hole: usize, item: Item) {
        while hole > 0 {
            let parent = (hole - 1) / 4;
            if self.heap[parent] <= item {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = item;
    }

    fn sift_down(&mut self, item: Item) {
        let mut hole = 0;
        loop {
            let children = 4 * hole + 1..(4 * hole + 5).min(self.heap.len());
            let Some(least) = children.min_by_key(|&child| self.heap[child]) else { break };
            if item <= self.heap[least] {
                break;
            }
            self.heap[hole] = self.heap[least];
            hole = least;
        }
        self.heap[hole] = item;
    }
}

impl Queue for QuadHeap {
    fn push(&mut self, at: u64, event: Event) {
        let item = (at, self.sequence, event.0);
        self.sequence += 1;
        self.heap.push(item);
        self.sift_up(self.heap.len() - 1, item);
    }
    fn pop(&mut self) -> Option<(u64, Event)> {
        let first = *self.heap.first()?;
        let last = self.heap.pop().expect("not empty");
        if !self.heap.is_empty() {
            self.sift_down(last);
        }
        Some((first.0, Event(first.2)))
    }
    fn len(&self) -> usize {
        self.heap.len()
    }
}
