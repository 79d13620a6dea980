//! A message that is sent in parts.

use std::cell::{Cell, RefCell};

/// Which parts of a partitioned message are ready.
pub struct Parts {
    ready: RefCell<Vec<bool>>,
    left: Cell<usize>,
    begun: Cell<bool>,
}

impl Parts {
    /// So many, none ready, not started.
    pub fn new(count: usize) -> Parts {
        Parts { ready: RefCell::new(vec![false; count]), left: Cell::new(count), begun: Cell::new(false) }
    }
    /// It is started: none is ready.
    pub fn begin(&self) {
        self.ready.borrow_mut().fill(false);
        self.left.set(self.count());
        self.begun.set(true);
    }
    /// Whether it was started.
    pub fn are_begun(&self) -> bool {
        self.begun.get()
    }
    /// How many there are.
    pub fn count(&self) -> usize {
        self.ready.borrow().len()
    }
    /// Whether all are ready.
    pub fn are_ready(&self) -> bool {
        self.left.get() == 0
    }
    /// One is; `false`: it was before, or is none.
    pub fn ready(&self, part: usize) -> bool {
        match self.ready.borrow_mut().get_mut(part) {
            Some(ready) if !*ready => {
                *ready = true;
                self.left.set(self.left.get() - 1);
                true
            }
            _ => false,
        }
    }
}
