//! MPI's matching rules, decided apart from the engines. A receiver takes whole messages one by one, in each order in
//! which they could have come. If no order explains what the receives got, the engines are wrong.

use super::case::{Size, Step};
use super::port::CELL;
use super::world::{Act, Outcome, World};
use hotlink_port::Rank;
use std::collections::HashSet;

/// The actions and results of one rank: the question, and all that its answer depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Received {
    rank: usize,
    acts: Vec<Act>,
    outcomes: Vec<(usize, Outcome)>,
    /// How many messages each rank has started to send here, and whether it is dead.
    sent: Vec<(usize, bool)>,
    /// It waits for such a message in vain.
    probes: Option<(Option<Rank>, Option<u32>)>,
}

/// The sequential model of one receiver.
struct Model<'a> {
    received: &'a Received,
    /// The messages from each rank, in order: number, tag, size.
    queues: Vec<Vec<(u8, u32, Size)>>,
    patterns: Vec<(Option<Rank>, Option<u32>)>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Point {
    acts: usize,
    came: Vec<usize>,
    /// Requests that wait, in the order in which they were started.
    posted: Vec<usize>,
    /// Messages that wait: sender and place in its queue.
    kept: Vec<(usize, usize)>,
}

impl Received {
    pub(super) fn of(world: &World, rank: usize) -> Received {
        let task = &world.tasks[rank];
        let net = world.net.borrow();
        let sent = |from: usize| {
            let begun = world.tasks[from].started.iter().filter(|started| {
                matches!(world.case.programs[from][started.step], Step::Send { to, .. } if to as usize == rank)
            });
            (begun.count(), net.seats[from].dead)
        };
        let probes = match world.case.programs[rank].get(task.at) {
            Some(&Step::Probe { from, tag }) => Some((from, tag)),
            _ => None,
        };
        Received {
            rank,
            acts: task.acts.clone(),
            outcomes: task.started.iter().map(|started| (started.step, started.outcome)).collect(),
            sent: (0..world.tasks.len()).map(sent).collect(),
            probes,
        }
    }
    /// Whether some order of arrivals explains it.
    pub(super) fn is_explained(&self, world: &World) -> bool {
        let queue = |from: usize| {
            let steps = world.messages.iter().enumerate().filter(|(_, sent)| sent.0 == from);
            let mine = steps.filter_map(|(number, &(_, at))| match world.case.programs[from][at] {
                Step::Send { to, tag, size, .. } if to as usize == self.rank => Some((number as u8, tag, size)),
                _ => None,
            });
            mine.take(self.sent[from].0).collect()
        };
        let pattern = |&(step, _): &(usize, Outcome)| match world.case.programs[self.rank][step] {
            Step::Recv { from, tag, .. } => (from, tag),
            _ => (None, None),
        };
        let queues: Vec<Vec<_>> = (0..self.sent.len()).map(queue).collect();
        let patterns = self.outcomes.iter().map(pattern).collect();
        let start = Point { acts: 0, came: vec![0; queues.len()], posted: Vec::new(), kept: Vec::new() };
        Model { received: self, queues, patterns }.can_end(start, &mut HashSet::new())
    }
}

fn takes((from, tag): (Option<Rank>, Option<u32>), sender: usize, its: u32) -> bool {
    from.is_none_or(|from| from as usize == sender) && tag.is_none_or(|tag| tag == its)
}

impl Model<'_> {
    fn outcome(&self, request: usize) -> Outcome {
        self.received.outcomes[request].1
    }
    fn can_end(&self, at: Point, seen: &mut HashSet<Point>) -> bool {
        if !seen.insert(at.clone()) {
            return false;
        }
        if self.is_end(&at) {
            return true;
        }
        let mut next = Vec::new();
        if at.acts < self.received.acts.len() {
            next.extend(self.act(&at));
        }
        for from in 0..self.queues.len() {
            if at.came[from] < self.queues[from].len() {
                next.extend(self.arrive(&at, from));
            }
            if self.received.sent[from].1 && at.came[from] < self.queues[from].len() {
                // It may have died with its rank, though a later one was whole and came.
                let mut lost = at.clone();
                lost.came[from] += 1;
                next.push(lost);
            }
        }
        // A receive that failed stops waiting at some time.
        for place in (0..at.posted.len()).filter(|&place| self.outcome(at.posted[place]) == Outcome::Failed) {
            let mut given_up = at.clone();
            given_up.posted.remove(place);
            next.push(given_up);
        }
        next.into_iter().any(|point| self.can_end(point, seen))
    }
    fn is_end(&self, at: &Point) -> bool {
        let came = at.came.iter().zip(&self.queues).all(|(&came, queue)| came == queue.len());
        let in_vain = |&(from, place): &(usize, usize)| {
            self.received.probes.is_none_or(|pattern| !takes(pattern, from, self.queues[from][place].1))
        };
        at.acts == self.received.acts.len()
            && came
            && at.posted.iter().all(|&request| self.outcome(request) == Outcome::Waiting)
            && at.kept.iter().all(in_vain)
    }
    /// The program's next act.
    fn act(&self, at: &Point) -> Option<Point> {
        let mut next = at.clone();
        next.acts += 1;
        match self.received.acts[at.acts] {
            Act::Posted(request) => {
                let pattern = self.patterns[request];
                let found = at.kept.iter().position(|&(from, place)| takes(pattern, from, self.queues[from][place].1));
                match found {
                    Some(index) => {
                        let (from, place) = next.kept.remove(index);
                        self.may_get(request, from, place).then_some(next)
                    }
                    None => {
                        next.posted.push(request);
                        Some(next)
                    }
                }
            }
            Act::Probed(pattern, found) => {
                let first = at.kept.iter().find(|&&(from, place)| takes(pattern, from, self.queues[from][place].1));
                let told = |&(from, place): &(usize, usize)| {
                    let (_, tag, size) = self.queues[from][place];
                    (from as Rank, tag, size.cells() * CELL) == found
                };
                first.is_some_and(told).then_some(next)
            }
        }
    }
    /// The next message of a rank comes.
    fn arrive(&self, at: &Point, from: usize) -> Option<Point> {
        let mut next = at.clone();
        let place = at.came[from];
        next.came[from] += 1;
        let taker = at.posted.iter().position(|&it| takes(self.patterns[it], from, self.queues[from][place].1));
        match taker {
            Some(index) => {
                let request = next.posted.remove(index);
                self.may_get(request, from, place).then_some(next)
            }
            None => {
                next.kept.push((from, place));
                Some(next)
            }
        }
    }
    /// Whether a receive that got this message ended as it did.
    fn may_get(&self, request: usize, from: usize, place: usize) -> bool {
        match self.outcome(request) {
            Outcome::Got(messages) => messages >> self.queues[from][place].0 & 1 == 1,
            // It is on the way from a rank that is alive, and can then not be the end.
            Outcome::Waiting => false,
            Outcome::Failed => self.received.sent[from].1,
            Outcome::Sent(_) => false,
        }
    }
}
