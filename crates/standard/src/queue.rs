//! Which rank has a window's lock, and which waits for it.

use std::collections::{BTreeMap, VecDeque};

/// How many that share a lock may pass one that waits for it exclusively. If none could, that one might wait for a
/// holder that itself waits for one behind it. Ranks that lock all for as long as they run do so.
const PASSES: u32 = 1000;

/// A lock that several may share or one have exclusively. It is granted in the order of requests. But those who share
/// it pass one that waits for it exclusively, while any holder is older than that one, and then 1,000 times.
#[derive(Debug)]
pub struct LockQueue<T> {
    holders: BTreeMap<u32, Holder>,
    queue: VecDeque<Waiter<T>>,
    /// How many have come.
    came: u64,
    passed: u32,
}

#[derive(Debug)]
struct Holder {
    alone: bool,
    came: u64,
}

#[derive(Debug)]
struct Waiter<T> {
    rank: u32,
    alone: bool,
    came: u64,
    with: T,
}

impl<T> Default for LockQueue<T> {
    fn default() -> Self {
        LockQueue { holders: BTreeMap::new(), queue: VecDeque::new(), came: 0, passed: 0 }
    }
}

impl<T> LockQueue<T> {
    /// A rank wants the lock, alone or not. What comes with it is given back when it has the lock.
    pub fn wait(&mut self, rank: u32, alone: bool, with: T) {
        self.queue.push_back(Waiter { rank, alone, came: self.came, with });
        self.came += 1;
    }
    /// What came with a rank that waits; `None`: it does not.
    pub fn waiting(&mut self, rank: u32) -> Option<&mut T> {
        self.queue.iter_mut().find(|waiter| waiter.rank == rank).map(|waiter| &mut waiter.with)
    }
    /// Gives the lock to one that may have it. To be asked again until there is none.
    pub fn grant(&mut self) -> Option<(u32, T)> {
        let first = self.queue.front()?;
        if self.holders.values().any(|holder| holder.alone) {
            return None;
        }
        let place = if !first.alone || self.holders.is_empty() {
            0
        } else {
            // It waits for its elders, whoever else joins them.
            let elders = self.holders.values().any(|holder| holder.came < first.came);
            let place = self.queue.iter().position(|waiter| !waiter.alone)?;
            if !elders && self.passed == PASSES {
                return None;
            }
            self.passed += u32::from(!elders);
            place
        };
        if place == 0 {
            self.passed = 0;
        }
        let Waiter { rank, alone, came, with } = self.queue.remove(place)?;
        self.holders.insert(rank, Holder { alone, came });
        Some((rank, with))
    }
    /// A rank gives the lock back.
    pub fn leave(&mut self, rank: u32) {
        self.holders.remove(&rank);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(queue: &mut LockQueue<()>) -> Vec<u32> {
        std::iter::from_fn(|| queue.grant()).map(|(rank, ())| rank).collect()
    }

    #[test]
    fn a_lock_is_granted_in_the_order_of_coming() {
        let mut queue = LockQueue::default();
        for (rank, alone) in [(0, true), (1, false), (2, false), (3, true)] {
            queue.wait(rank, alone, ());
        }
        assert_eq!(granted(&mut queue), [0]);
        assert!(queue.waiting(0).is_none() && queue.waiting(1).is_some());
        queue.leave(0);
        assert_eq!(granted(&mut queue), [1, 2]);
        queue.leave(1);
        assert!(granted(&mut queue).is_empty());
        queue.leave(2);
        assert_eq!(granted(&mut queue), [3]);
    }

    /// A holder may itself wait for one that shares the lock, so one that wants the lock alone does not keep it out.
    #[test]
    fn who_shares_a_lock_passes_one_that_waits_for_an_elder() {
        let mut queue = LockQueue::default();
        queue.wait(0, false, ());
        queue.wait(1, true, ());
        assert_eq!(granted(&mut queue), [0]);
        for _ in 0..2 * PASSES {
            queue.wait(2, false, ());
            assert_eq!(granted(&mut queue), [2]);
            queue.leave(2);
        }
        queue.leave(0);
        assert_eq!(granted(&mut queue), [1]);
        queue.wait(2, false, ());
        assert!(granted(&mut queue).is_empty());
        queue.leave(1);
        assert_eq!(granted(&mut queue), [2]);
    }

    /// Two ranks, one of which always holds the lock, let a third have it alone in the end.
    #[test]
    fn who_waits_to_have_it_alone_is_passed_so_often_only() {
        let mut queue = LockQueue::default();
        for _ in 0..2 {
            queue.wait(2, false, ());
            queue.wait(1, true, ());
            assert_eq!(granted(&mut queue), [2]);
            let (mut holds, mut passes) = (2, 0);
            loop {
                queue.wait(5 - holds, false, ());
                if granted(&mut queue).is_empty() {
                    break;
                }
                queue.leave(holds);
                (holds, passes) = (5 - holds, passes + 1);
            }
            assert_eq!(passes, PASSES + 1, "the first holder was an elder");
            queue.leave(holds);
            assert_eq!(granted(&mut queue), [1]);
            queue.leave(1);
            assert_eq!(granted(&mut queue), [5 - holds]);
            queue.leave(5 - holds);
        }
    }
}
