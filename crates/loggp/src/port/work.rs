//! What a processor has yet to do, where ranks share a memory and their processors move messages themselves.
//!
//! A message, or a long copy, then takes longer while the other side moves one too. The program's requests therefore
//! wait in a row until the program waits, because by then the others may have begun. A program that asks for the time
//! before it waits settles its row at once.

use super::seat::{Flight, State};
use super::world::World;
use hotlink_port::{Rank, Task};
use std::collections::VecDeque;

/// Something that a processor does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Job {
    /// Takes this long.
    Fixed(u64, Task),
    /// A long copy: its time with concurrent copies, and the fraction of that time when it runs alone.
    Copy { beside: u64, alone: f64 },
    /// Moves a message to another rank, within a working set.
    Carry { place: u32, working: u64 },
    /// Moves a message to its own rank.
    Own { place: u32, ps: u64 },
}

/// What it does now.
#[derive(Clone, Copy, Debug)]
struct Running {
    job: Job,
    /// Since when all of it, and since when at the speed that gives its end.
    start: u64,
    since: u64,
    end: u64,
    /// What was left of a copy at `since`.
    left: f64,
    /// The other side of a message moves one, too.
    both: bool,
}

/// A processor's row.
#[derive(Debug, Default)]
pub(super) struct Work {
    jobs: VecDeque<Job>,
    running: Option<Running>,
    /// Counts what was put off or brought forward: earlier news of it is stale.
    turn: u32,
    /// A message was moved, and since then the program neither took one nor waited.
    is_row: bool,
    /// Messages from each rank that this one has not taken yet: how many, and the longest.
    untaken: Vec<(Rank, u32, u64)>,
}

/// How far ahead a message looks for the next one of its row.
const NEXT: usize = 3;
/// Bits of a turn that an event keeps.
const TURNS: u32 = 0xff_ffff;

impl Work {
    pub fn is_done(&self) -> bool {
        self.jobs.is_empty() && self.running.is_none()
    }
    pub fn breaks_row(&mut self) {
        self.is_row = false;
    }
    /// The longest message of `from` that was not taken.
    fn untaken(&self, from: Rank) -> Option<u64> {
        self.untaken.iter().find(|known| known.0 == from).map(|known| known.2)
    }
    fn expects(&mut self, from: Rank, bytes: u64) {
        match self.untaken.iter_mut().find(|known| known.0 == from) {
            Some(known) => (known.1, known.2) = (known.1 + 1, known.2.max(bytes)),
            None => self.untaken.push((from, 1, bytes)),
        }
    }
    fn took(&mut self, from: Rank) {
        if let Some(index) = self.untaken.iter().position(|known| known.0 == from) {
            self.untaken[index].1 -= 1;
            if self.untaken[index].1 == 0 {
                self.untaken.swap_remove(index);
            }
        }
    }
}

impl World {
    fn work(&mut self, rank: Rank) -> &mut Work {
        self.seat(rank).work.get_or_insert_default()
    }
    /// A rank's processor spends so long, now or after what it has yet to do.
    pub fn charge(&mut self, rank: Rank, task: Task, ps: u64) {
        if self.seats[rank as usize].is_working() {
            return self.work(rank).jobs.push_back(Job::Fixed(ps, task));
        }
        let seat = self.seat(rank);
        seat.now = seat.now.saturating_add(ps);
        seat.busy.add(task, ps);
        self.pauses(rank, ps);
        self.record(|recorder| recorder.calc(rank, ps));
    }
    /// A processor does something else for this long: what it sent has come if that is longer than the path.
    fn pauses(&mut self, rank: Rank, ps: u64) {
        let way = self.machine.news();
        if let Some(work) = self.seat(rank).work.as_mut().filter(|_| ps > way) {
            work.breaks_row();
        }
    }
    /// Puts something in a processor's row.
    pub fn ask(&mut self, rank: Rank, job: Job) {
        if let Job::Carry { place, .. } = job {
            let Flight { to, bytes, .. } = self.flights[place as usize];
            self.work(to).expects(rank, bytes);
        }
        self.work(rank).jobs.push_back(job);
    }
    /// A message is taken, or dropped.
    pub fn took(&mut self, place: u32) {
        let Flight { from, to, is_carried, .. } = self.flights[place as usize];
        if is_carried {
            self.work(to).took(from);
        }
    }

    /// The program waits: its processor goes on.
    pub fn begin_work(&mut self, rank: Rank) {
        let (at, turn) = (self.seats[rank as usize].now, self.turn(rank));
        if at > self.now { self.push_worked(at, rank, turn) } else { self.next_job(rank) }
    }
    /// A new turn of a rank.
    fn turn(&mut self, rank: Rank) -> u32 {
        let work = self.work(rank);
        work.turn = (work.turn + 1) & TURNS;
        work.turn
    }
    /// A processor is done with what it did, or may begin; stale news is dropped.
    pub fn worked(&mut self, rank: Rank, turn: u32) {
        if self.work(rank).turn != turn {
            return;
        }
        if let Some(running) = self.work(rank).running.take() {
            self.finish(rank, running);
        }
        if self.seats[rank as usize].now > self.now {
            return self.begin_work(rank);
        }
        self.next_job(rank);
    }
    fn next_job(&mut self, rank: Rank) {
        let Some(job) = self.work(rank).jobs.pop_front() else {
            self.work(rank).breaks_row();
            if self.seats[rank as usize].state == State::Working {
                self.rest(rank);
            }
            return;
        };
        let now = self.now;
        let (cost, both) = match job {
            Job::Fixed(ps, _) | Job::Own { ps, .. } => (ps, false),
            Job::Copy { .. } => return self.begin_copy(rank, job),
            Job::Carry { place, working } => self.carry(rank, place, working),
        };
        let end = now.saturating_add(cost);
        self.work(rank).running = Some(Running { job, start: now, since: now, end, left: 1.0, both });
        let turn = self.turn(rank);
        self.push_worked(end, rank, turn);
    }
    /// The time to move a message that begins now, and whether the other side moves one at the same time. If that side
    /// does so already, its message takes as long.
    fn carry(&mut self, rank: Rank, place: u32, working: u64) -> (u64, bool) {
        let Flight { to, bytes, .. } = self.flights[place as usize];
        let Some(theirs) = self.work(rank).untaken(to) else {
            let way = self.machine.news();
            let work = self.work(rank);
            // In a row, also the first: between two there may be what a call costs, or a copy.
            let mut soon =
                work.jobs.iter().take(NEXT).take_while(|next| !matches!(next, Job::Fixed(ps, _) if *ps > way));
            let follows = soon.any(|next| matches!(next, Job::Carry { .. }));
            let in_a_row = work.is_row || follows;
            return (self.machine.carry(bytes, in_a_row), false);
        };
        let both = self.machine.carry_both(bytes.max(theirs), working);
        if let Some(running) = self.seats[to as usize].work.as_ref().and_then(|work| work.running)
            && let Job::Carry { place: other, working } = running.job
            && self.flights[other as usize].to == rank
            && !running.both
        {
            let longer = self.machine.carry_both(bytes.max(theirs), working);
            let end = running.end.max(running.start + longer);
            self.reckon(to, Running { end, both: true, ..running });
        }
        (both, true)
    }
    /// What a rank does ends at another time than was thought.
    fn reckon(&mut self, rank: Rank, running: Running) {
        self.work(rank).running = Some(running);
        let turn = self.turn(rank);
        self.push_worked(running.end, rank, turn);
    }
    fn begin_copy(&mut self, rank: Rank, job: Job) {
        let now = self.now;
        self.movers.push(rank);
        self.work(rank).running = Some(Running { job, start: now, since: now, end: now, left: 1.0, both: false });
        self.share_memory();
    }
    /// As many ranks copy as do: what that means for the ends of their copies.
    fn share_memory(&mut self) {
        let (now, is_alone) = (self.now, self.movers.len() == 1);
        for rank in self.movers.clone() {
            let Some(running) = self.work(rank).running else { continue };
            let Job::Copy { beside, alone } = running.job else { continue };
            let before = if running.both { beside as f64 } else { beside as f64 * alone };
            let left = (running.left - (now - running.since) as f64 / before.max(1.0)).max(0.0);
            let after = if is_alone { beside as f64 * alone } else { beside as f64 };
            let end = now.saturating_add((left * after).round() as u64);
            self.reckon(rank, Running { since: now, end, left, both: !is_alone, ..running });
        }
    }
    fn finish(&mut self, rank: Rank, running: Running) {
        let now = self.now;
        self.seat(rank).now = now;
        if let Job::Copy { .. } = running.job {
            self.movers.retain(|&mover| mover != rank);
            self.share_memory();
        }
        self.done(rank, running.job, now - running.start);
    }
    /// A processor has done something, and the rank's clock has advanced by its time.
    fn done(&mut self, rank: Rank, job: Job, took: u64) {
        self.record(|recorder| recorder.calc(rank, took));
        let task = if let Job::Fixed(_, task) = job { task } else { Task::Copy };
        self.seat(rank).busy.add(task, took);
        match job {
            Job::Fixed(..) | Job::Copy { .. } => self.pauses(rank, took),
            Job::Carry { place, .. } => {
                self.send(place);
                self.work(rank).is_row = true;
            }
            Job::Own { place, .. } => {
                let at = self.seats[rank as usize].now;
                self.arrive_own(place, at);
            }
        }
    }
    /// Does all that is in a rank's row, as things stand now.
    pub fn settle(&mut self, rank: Rank) {
        while let Some(job) = self.seat(rank).work.as_mut().and_then(|work| work.jobs.pop_front()) {
            let took = match job {
                Job::Fixed(ps, _) | Job::Own { ps, .. } => ps,
                Job::Copy { beside, .. } => beside,
                Job::Carry { place, working } => self.carry(rank, place, working).0,
            };
            let seat = self.seat(rank);
            seat.now = seat.now.saturating_add(took);
            self.done(rank, job, took);
        }
    }
}
