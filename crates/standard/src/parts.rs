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
    /// One is.
    ///
    /// # Errors
    /// It was before, or is none.
    pub fn ready(&self, part: i32) -> Result<(), String> {
        let (count, mut all) = (self.count(), self.ready.borrow_mut());
        let ready = usize::try_from(part).ok().and_then(|part| all.get_mut(part));
        let ready = ready.ok_or_else(|| format!("partition {part}: there are {count}, from 0 on"))?;
        if std::mem::replace(ready, true) {
            return Err(format!("partition {part} was ready before"));
        }
        self.left.set(self.left.get() - 1);
        Ok(())
    }
}
