//! The least time of a schedule without a run: its longest chain of operations and messages, and its busiest processor.

use crate::{Kind, Matching, Op, Schedule, States};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What no run of a schedule can be shorter than, in units of its computations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Longest {
    /// The longest chain of operations and messages, none of which ever waits for another. The work of posts delays
    /// only posts, and does not count.
    pub chain: u64,
    /// The rank, the processor and the work of the one that computes most.
    pub computing: Option<(u32, u32, u64)>,
}

/// Both of them, where a message from rank to rank takes no less than `least` says. `None` where the chain depends on the
/// run: messages of any source or tag, or operations that never end.
pub fn longest(schedule: &Schedule, least: impl FnMut(&Op) -> u64) -> Option<Longest> {
    let (states, ready) = (States::new(schedule), BinaryHeap::new());
    let mut walk = Walk { schedule, states, ready, longest: 0, left: 0, least };
    let mut matching = Matching::new(schedule);
    if matching.has_wildcards() {
        return None;
    }
    let ids = (0..schedule.ranks()).flat_map(|rank| schedule.of_rank(rank));
    walk.ready = ids.filter(|&id| walk.states.is_ready(id)).map(|id| Reverse((0, id))).collect();
    walk.left = schedule.ops().len();
    while let Some(Reverse((_, id))) = walk.ready.pop() {
        let op = schedule.op(id);
        if schedule.has_start_waits() {
            walk.release(id, true);
        }
        match op.kind {
            Kind::Calc | Kind::Post => {
                *walk.states.own(id) += if op.kind == Kind::Calc { op.size } else { 0 };
                walk.end(id);
                walk.states.ends(id, 0);
            }
            Kind::Send => {
                walk.end(id);
                if let Some(recv) = matching.arrive(&mut walk.states, id, &op) {
                    walk.deliver(id, recv);
                }
            }
            Kind::Recv => {
                if let Some(send) = matching.post(&mut walk.states, id, &op) {
                    walk.deliver(send, id);
                }
            }
        }
    }
    (walk.left == 0).then(|| Longest { chain: walk.longest, computing: computing(schedule) })
}

fn computing(schedule: &Schedule) -> Option<(u32, u32, u64)> {
    let each = schedule.extent().cpus.max(1);
    let mut work = vec![0u64; schedule.ranks() as usize * each as usize];
    for op in schedule.ops().filter(|op| op.kind == Kind::Calc) {
        work[(op.rank * each + u32::from(op.cpu)) as usize] += op.size;
    }
    let most = (0..).zip(work).reduce(|most: (u32, u64), one| if one.1 > most.1 { one } else { most });
    most.filter(|&(_, work)| work > 0).map(|(at, work)| (at / each, at % each, work))
}

/// The operations in an order in which each stands after those that it waits for.
struct Walk<'a, L> {
    schedule: &'a Schedule,
    /// The longest chain to an operation's start, then to its end.
    states: States<u64>,
    /// Those that wait for nothing, by that chain: equal messages match in the order in which they would be sent.
    ready: BinaryHeap<Reverse<(u64, u32)>>,
    longest: u64,
    /// Operations that have not ended.
    left: usize,
    least: L,
}

impl<L: FnMut(&Op) -> u64> Walk<'_, L> {
    /// What waits for the end of `id` (or its start) waits no longer.
    fn release(&mut self, id: u32, start: bool) {
        let chain = *self.states.own(id);
        let (states, ready) = (&mut self.states, &mut self.ready);
        self.schedule.each_successor(id, start, |after| {
            let mut start = 0;
            let show = |own: &mut u64| {
                *own = chain.max(*own);
                start = *own;
            };
            if states.released(after, show) {
                ready.push(Reverse((start, after)));
            }
        });
    }

    fn end(&mut self, id: u32) {
        self.longest = self.longest.max(*self.states.own(id));
        self.left -= 1;
        self.release(id, false);
    }

    fn deliver(&mut self, send: u32, recv: u32) {
        let arrival = *self.states.own(send) + (self.least)(&self.schedule.op(send));
        let own = self.states.own(recv);
        *own = arrival.max(*own);
        self.end(recv);
        self.states.ends(recv, 0);
        self.states.ends(send, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Longest> {
        longest(&Schedule::parse(text).unwrap(), |op| 10 + op.size)
    }

    #[test]
    fn a_chain_goes_on_through_messages_and_its_work_counts() {
        let text = "num_ranks 2\n\
                    rank 0 { a: calc 100; b: send 8b to 1; b requires a; c: calc 500 cpu 1 }\n\
                    rank 1 { a: calc 300; b: recv 8b from 0; c: calc 50; c requires b; c requires a }";
        assert_eq!(of(text), Some(Longest { chain: 500, computing: Some((0, 1, 500)) }));
        // The message arrives after 100 + 10 + 8, later than its receiver is free.
        let late = text.replace("300", "30").replace("500", "5");
        assert_eq!(of(&late), Some(Longest { chain: 168, computing: Some((0, 0, 100)) }));
    }

    #[test]
    fn what_depends_on_the_run_has_no_chain() {
        let text = "num_ranks 2\nrank 0 { send 8b to 1 }\nrank 1 { recv 8b from any }";
        assert!(Schedule::parse(text).is_err() || of(text).is_none());
        assert_eq!(of("num_ranks 2\nrank 0 { send 8b to 1 }\nrank 1 { a: calc 5 }").map(|all| all.chain), Some(5));
        assert_eq!(of("num_ranks 2\nrank 0 { calc 1 }\nrank 1 { recv 8b from 0 }"), None);
    }
}
