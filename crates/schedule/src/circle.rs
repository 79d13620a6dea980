//! Why operations never end: what each of them waits for, up to one for which nothing comes, or round a circle.

use crate::form::{ANY, Kind, Op, Schedule};
use std::collections::{BTreeMap, BTreeSet};

/// What the first operation that never ends waits for, directly or by way of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Another end of its message: this schedule has none left.
    Alone(u32),
    /// Itself: each operation waits for the next, and the last for the first.
    Circle(Vec<u32>),
}

impl Waits {
    /// The operations, in the order in which they wait for each other.
    pub fn ops(&self) -> &[u32] {
        match self {
            Waits::Alone(op) => std::slice::from_ref(op),
            Waits::Circle(ops) => ops,
        }
    }

    /// Follows `first`, which has not ended.
    pub(crate) fn of(schedule: &Schedule, ended: impl Fn(u32) -> bool, first: u32) -> Waits {
        let left = Left::of(schedule, ended);
        let (mut way, mut places) = (vec![first], BTreeMap::from([(first, 0)]));
        loop {
            let last = way[way.len() - 1];
            let Some(next) = left.before(last).or_else(|| left.other_end(schedule, last)) else {
                return Waits::Alone(last);
            };
            if let Some(&at) = places.get(&next) {
                // A circle has no first: the first in the schedule's order begins it.
                let mut circle = way.split_off(at);
                let least = (0..circle.len()).min_by_key(|&at| circle[at]).unwrap_or(0);
                circle.rotate_left(least);
                return Waits::Circle(circle);
            }
            places.insert(next, way.len());
            way.push(next);
        }
    }
}

/// What has not ended.
struct Left {
    /// By operation: what must end before it, and what must begin before it.
    before: BTreeMap<u32, [Vec<u32>; 2]>,
    /// Those that have begun: nothing keeps them but the other end of their message.
    begun: BTreeSet<u32>,
    /// Sends and receives that could be the other end of a message, by the rank that receives.
    ends: BTreeMap<u32, Vec<u32>>,
}

impl Left {
    fn of(schedule: &Schedule, ended: impl Fn(u32) -> bool) -> Left {
        let ids = || (0..schedule.ranks()).flat_map(|rank| schedule.of_rank(rank)).filter(|&id| !ended(id));
        let mut before: BTreeMap<u32, [Vec<u32>; 2]> = ids().map(|id| (id, Default::default())).collect();
        let mut ends: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for id in ids() {
            for (after, is_start) in schedule.successors(id) {
                before.entry(after).or_default()[usize::from(is_start)].push(id);
            }
            let op = schedule.op(id);
            match op.kind {
                Kind::Calc | Kind::Post => {}
                Kind::Send => ends.entry(op.peer).or_default().push(id),
                Kind::Recv => ends.entry(op.rank).or_default().push(id),
            }
        }
        let mut held: BTreeMap<u32, usize> =
            before.iter().map(|(&id, [ends, starts])| (id, ends.len() + starts.len())).collect();
        let mut ready: Vec<u32> = held.iter().filter(|&(_, &held)| held == 0).map(|(&id, _)| id).collect();
        let mut begun = BTreeSet::new();
        while let Some(id) = ready.pop() {
            if !begun.insert(id) {
                continue;
            }
            for (after, _) in schedule.successors(id).filter(|&(_, is_start)| is_start) {
                // One that has ended is held by none.
                let Some(held) = held.get_mut(&after) else { continue };
                *held = held.saturating_sub(1);
                if *held == 0 {
                    ready.push(after);
                }
            }
        }
        Left { before, begun, ends }
    }

    fn has_begun(&self, id: u32) -> bool {
        self.begun.contains(&id)
    }

    /// An operation that must end, or begin, before this one can begin.
    fn before(&self, id: u32) -> Option<u32> {
        let [ends, starts] = self.before.get(&id)?;
        ends.first().or_else(|| starts.iter().find(|&&id| !self.has_begun(id))).copied()
    }

    /// An operation that has not begun and would take, or bring, the message of one that has.
    fn other_end(&self, schedule: &Schedule, id: u32) -> Option<u32> {
        let op = schedule.op(id);
        let fits = |send: Op, recv: Op| {
            let is_one_of = |wanted: u32, has: u32| wanted == ANY || wanted == has;
            send.peer == recv.rank && is_one_of(recv.peer, send.rank) && is_one_of(recv.tag, send.tag)
        };
        let receiver = match op.kind {
            Kind::Calc | Kind::Post => return None,
            Kind::Send => op.peer,
            Kind::Recv => op.rank,
        };
        let mut others = self.ends.get(&receiver)?.iter().copied().filter(|&other| !self.has_begun(other));
        others.find(|&other| match (op.kind, schedule.op(other)) {
            (Kind::Send, recv) if recv.kind == Kind::Recv => fits(op, recv),
            (Kind::Recv, send) if send.kind == Kind::Send => fits(send, op),
            _ => false,
        })
    }
}
