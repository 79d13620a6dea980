//! What ranks send, take and compute, in order: what a schedule of the program is made of.
//!
//! A control message is sent and taken by its ranks. A deposit is taken with the next control message that its poster
//! sends to the same rank, because posts between two ranks arrive in order. A fetch counts as sent by the rank whose
//! memory it reads.

use hotlink_fabric::units::Time;
use hotlink_port::{Rank, Token};
use std::collections::{BTreeMap, VecDeque};

/// One thing that a rank does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A message leaves: its number counts the messages between these two ranks.
    Sends {
        /// To this rank.
        to: Rank,
        /// See [`Step::Sends`].
        number: u32,
        /// Its length.
        bytes: u64,
    },
    /// A message is taken.
    Takes {
        /// From this rank.
        from: Rank,
        /// The same as where it was sent.
        number: u32,
        /// Its length.
        bytes: u64,
    },
    /// The program computes for this long.
    Computes(Time),
}

/// A message on its path.
#[derive(Clone, Copy, Debug)]
struct Sent {
    number: u32,
    bytes: u64,
    /// The rank that takes it hears of it by itself.
    is_told: bool,
}

/// Messages from one rank to another.
#[derive(Clone, Debug, Default)]
struct Pair {
    count: u32,
    under_way: VecDeque<Sent>,
}

/// The steps of all ranks so far.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    lines: Vec<Vec<Step>>,
    pairs: BTreeMap<(Rank, Rank), Pair>,
    /// Fetches by who posted them.
    fetches: BTreeMap<(Rank, Token), (Rank, u32, u64)>,
}

impl Steps {
    pub(crate) fn of(ranks: u32) -> Steps {
        Steps { lines: vec![Vec::new(); ranks as usize], pairs: BTreeMap::new(), fetches: BTreeMap::new() }
    }
    fn line(&mut self, rank: Rank) -> &mut Vec<Step> {
        &mut self.lines[rank as usize]
    }
    fn next(&mut self, from: Rank, to: Rank) -> u32 {
        let pair = self.pairs.entry((from, to)).or_default();
        pair.count += 1;
        pair.count - 1
    }
    /// A message leaves; `is_told`: it is a control message.
    pub(crate) fn sends(&mut self, from: Rank, to: Rank, bytes: u64, is_told: bool) {
        let number = self.next(from, to);
        self.line(from).push(Step::Sends { to, number, bytes });
        self.pairs.entry((from, to)).or_default().under_way.push_back(Sent { number, bytes, is_told });
    }
    /// A rank fetches from another's memory.
    pub(crate) fn fetches(&mut self, to: Rank, from: Rank, bytes: u64, token: Token) {
        let number = self.next(from, to);
        self.line(from).push(Step::Sends { to, number, bytes });
        self.fetches.insert((to, token), (from, number, bytes));
    }
    /// A rank takes a control message of another, and what came before it.
    pub(crate) fn takes(&mut self, rank: Rank, from: Rank) {
        let Some(pair) = self.pairs.get_mut(&(from, rank)) else { return };
        while let Some(Sent { number, bytes, is_told }) = pair.under_way.pop_front() {
            self.lines[rank as usize].push(Step::Takes { from, number, bytes });
            if is_told {
                return;
            }
        }
    }
    /// What a rank posted under this name is over.
    pub(crate) fn ends(&mut self, rank: Rank, token: Token) {
        if let Some((from, number, bytes)) = self.fetches.remove(&(rank, token)) {
            self.line(rank).push(Step::Takes { from, number, bytes });
        }
    }
    pub(crate) fn computes(&mut self, rank: Rank, time: Time) {
        self.line(rank).push(Step::Computes(time));
    }
    /// All steps by rank. Messages that nobody took are taken at the end.
    pub(crate) fn whole(mut self) -> Vec<Vec<Step>> {
        for ((from, to), pair) in self.pairs {
            let left = pair.under_way.into_iter();
            self.lines[to as usize].extend(left.map(|Sent { number, bytes, .. }| Step::Takes { from, number, bytes }));
        }
        for ((to, _), (from, number, bytes)) in self.fetches {
            self.lines[to as usize].push(Step::Takes { from, number, bytes });
        }
        self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_is_taken_once_with_the_news_of_it() {
        let mut steps = Steps::of(2);
        steps.sends(0, 1, 8, true);
        steps.sends(0, 1, 1000, false);
        steps.sends(0, 1, 16, true);
        steps.computes(1, Time(5));
        steps.takes(1, 0);
        steps.takes(1, 0);
        // A fetch is its owner's message; its poster takes it at its end.
        steps.fetches(1, 0, 64, 7);
        steps.ends(1, 8);
        steps.ends(1, 7);
        // Nobody hears of this one.
        steps.sends(1, 0, 3, false);
        let sends = |to, number, bytes| Step::Sends { to, number, bytes };
        let takes = |from, number, bytes| Step::Takes { from, number, bytes };
        let lines = steps.whole();
        assert_eq!(lines[0], [sends(1, 0, 8), sends(1, 1, 1000), sends(1, 2, 16), sends(1, 3, 64), takes(1, 0, 3)]);
        let due = [Step::Computes(Time(5)), takes(0, 0, 8), takes(0, 1, 1000), takes(0, 2, 16), takes(0, 3, 64)];
        assert_eq!(lines[1], [&due[..], &[sends(0, 0, 3)]].concat());
    }
}
