//! Barrier safety: nobody leaves a barrier before everybody has entered it. Ports whose ranks live in one process check
//! it in every run, from what programs report ([`crate::Port::note`]).

use crate::Rank;
use std::collections::VecDeque;

/// One barrier in progress.
#[derive(Clone, Copy, Debug, Default)]
struct Barrier {
    entered: u32,
    left: u32,
    last: u64,
}

/// The barriers that programs report, in order.
#[derive(Debug)]
pub struct Barriers {
    ranks: u32,
    /// Barriers that each rank has entered.
    entered: Vec<u64>,
    /// The barriers that not all have left, and the number of those before.
    open: VecDeque<Barrier>,
    over: u64,
}

impl Barriers {
    /// For so many ranks.
    pub fn new(ranks: u32) -> Barriers {
        Barriers { ranks, entered: vec![0; ranks as usize], open: VecDeque::new(), over: 0 }
    }
    /// Barriers that all ranks have left.
    pub fn over(&self) -> u64 {
        self.over
    }
    /// A rank enters its next barrier; `now` by a clock that all ranks share (0: there is none).
    pub fn enter(&mut self, rank: Rank, now: u64) {
        let number = self.entered[rank as usize];
        self.entered[rank as usize] += 1;
        let index = (number - self.over) as usize;
        if index == self.open.len() {
            self.open.push_back(Barrier::default());
        }
        let barrier = &mut self.open[index];
        (barrier.entered, barrier.last) = (barrier.entered + 1, barrier.last.max(now));
    }
    /// A rank leaves the barrier that it entered last: what is wrong with that, if anything.
    pub fn leave(&mut self, rank: Rank, now: u64) -> Option<String> {
        let number = self.entered[rank as usize].checked_sub(1)?;
        let ranks = self.ranks;
        let barrier = self.open.get_mut(number.checked_sub(self.over)? as usize)?;
        let (entered, last) = (barrier.entered, barrier.last);
        barrier.left += 1;
        while self.open.front().is_some_and(|barrier| barrier.left == ranks) {
            self.open.pop_front();
            self.over += 1;
        }
        if entered == ranks && last <= now {
            return None;
        }
        Some(format!("rank {rank} left barrier {number} when {entered} of {ranks} ranks had entered it"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaving_early_is_seen() {
        let mut barriers = Barriers::new(2);
        assert_eq!(barriers.over(), 0);
        barriers.enter(0, 10);
        barriers.enter(1, 20);
        assert_eq!(barriers.leave(1, 25), None);
        assert_eq!(barriers.over(), 0, "rank 0 is still in it");
        barriers.enter(1, 30);
        assert_eq!(barriers.leave(0, 25), None);
        assert_eq!(barriers.over(), 1);
        assert!(barriers.leave(1, 40).is_some(), "rank 0 has not entered the second");
        let mut late = Barriers::new(2);
        late.enter(0, 10);
        late.enter(1, 20);
        assert!(late.leave(0, 15).is_some(), "in time as well as in number");
    }
}
