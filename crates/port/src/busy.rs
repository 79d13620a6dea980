//! What a rank's processor and adapter spend their time with, accounted by ports in virtual time where it is charged.

use crate::{Edge, Rank};
use hotlink_fabric::units::Time;

/// What a processor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Calls: posts, polls, the kernel's segments; on a calibrated machine a message's overheads.
    Software,
    /// Copies between a program's memory and buffers, or moves messages itself (shared memory).
    Copy,
    /// Stores to remote memory.
    Store,
    /// Registers, maps and connects memory.
    Setup,
    /// Is interrupted.
    Interrupt,
    /// A program's or a collective's own work on memory: combining, sorting.
    Work,
    /// Computes for as long as a program says.
    Compute,
    /// Waits for the common start of a benchmark's ranks.
    Rest,
}

impl Task {
    /// All of them.
    pub const ALL: [Task; 8] =
        [Task::Software, Task::Copy, Task::Store, Task::Setup, Task::Interrupt, Task::Work, Task::Compute, Task::Rest];

    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Task::Software => "software",
            Task::Copy => "copies",
            Task::Store => "stores",
            Task::Setup => "registration",
            Task::Interrupt => "interrupts",
            Task::Work => "work on memory",
            Task::Compute => "computation",
            Task::Rest => "rest",
        }
    }
}

/// How long a rank's devices were busy in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    processor_ps: [u64; Task::ALL.len()],
    engine_ps: u64,
}

impl Busy {
    /// The processor was busy with a task for this long.
    pub fn add(&mut self, task: Task, ps: u64) {
        let sum = &mut self.processor_ps[task as usize];
        *sum = sum.saturating_add(ps);
    }

    /// The adapter's engine was busy for this long.
    pub fn add_engine(&mut self, ps: u64) {
        self.engine_ps = self.engine_ps.saturating_add(ps);
    }

    /// The same, the adapter busy for at least so long.
    #[must_use]
    pub fn with_engine(self, ps: u64) -> Busy {
        Busy { engine_ps: self.engine_ps.max(ps), ..self }
    }

    /// What came since.
    #[must_use]
    pub fn since(self, earlier: Busy) -> Busy {
        let of = |task: usize| self.processor_ps[task].saturating_sub(earlier.processor_ps[task]);
        Busy { processor_ps: std::array::from_fn(of), engine_ps: self.engine_ps.saturating_sub(earlier.engine_ps) }
    }

    /// Time of the processor with a task.
    pub fn processor(&self, task: Task) -> Time {
        Time(self.processor_ps[task as usize])
    }

    /// Time of the adapter: its engine, or what keeps it from the next message.
    pub fn engine(&self) -> Time {
        Time(self.engine_ps)
    }
}

/// A moment of a run: its clock, and how long each server of its network was busy until then, in picoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Clock.
    pub now: u64,
    /// By server; none where there is no network.
    pub servers: Vec<u64>,
}

/// The part of a run that a benchmark counts. It lasts from the first moment at which all its ranks had begun to the
/// last at which all had ended. Earlier work, such as registering memory, is no part of its answer.
#[derive(Clone, Debug, Default)]
pub struct Counting {
    ranks: Vec<[Option<Busy>; 2]>,
    seen: [u32; 2],
    edges: [Option<Moment>; 2],
}

/// What was busy in the part that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// How long it was.
    pub elapsed: Time,
    /// Each rank's devices; nothing of ranks that took no part.
    pub busy: Vec<Busy>,
    /// Each server of the network: picoseconds.
    pub servers: Vec<u64>,
}

impl Counting {
    /// One of `ranks` marks an end of what `members` of them count, having been `busy` so far.
    pub fn mark(
        &mut self,
        (edge, members): (Edge, u32),
        (rank, ranks): (Rank, usize),
        busy: Busy,
        moment: impl FnOnce() -> Moment,
    ) {
        let edge = edge as usize;
        // Later beginnings lie within what counts already.
        if edge == Edge::Begins as usize && self.edges[edge].is_some() {
            return;
        }
        self.ranks.resize(ranks, [None; 2]);
        self.ranks[rank as usize][edge] = Some(busy);
        self.seen[edge] += 1;
        if self.seen[edge].is_multiple_of(members.max(1)) {
            self.edges[edge] = Some(moment());
        }
    }

    /// The part, if it began and ended.
    pub fn part(&self) -> Option<Part> {
        let [Some(from), Some(until)] = &self.edges else { return None };
        let busy = self.ranks.iter().map(|edges| match edges {
            [Some(from), Some(until)] => until.since(*from),
            _ => Busy::default(),
        });
        let servers = until.servers.iter().zip(&from.servers).map(|(until, from)| until.wrapping_sub(*from));
        Some(Part {
            elapsed: Time(until.now.saturating_sub(from.now)),
            busy: busy.collect(),
            servers: servers.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_told_by_task() {
        let mut busy = Busy::default();
        busy.add(Task::Copy, 5);
        busy.add(Task::Copy, 7);
        busy.add(Task::Setup, u64::MAX);
        busy.add(Task::Setup, 1);
        busy.add_engine(3);
        busy.add_engine(4);
        let told = Task::ALL.map(|task| busy.processor(task).0);
        assert_eq!(told, [0, 12, 0, u64::MAX, 0, 0, 0, 0]);
        // What is known otherwise of the adapter counts where it is more.
        let engines = [busy, busy.with_engine(6), busy.with_engine(9)].map(|busy| busy.engine().0);
        assert_eq!((engines, busy.with_engine(9).processor(Task::Copy).0), ([7, 7, 9], 12));
    }

    #[test]
    fn what_counts_lies_between_the_marks_of_all_members() {
        let busy = |ps| {
            let mut busy = Busy::default();
            busy.add(Task::Setup, ps);
            busy
        };
        let mut counting = Counting::default();
        let mut mark = |edge, rank, ps, now| {
            counting.mark((edge, 2), (rank, 3), busy(ps), || Moment { now, servers: vec![now / 2] });
            counting.part()
        };
        assert_eq!(mark(Edge::Begins, 0, 100, 10), None);
        assert_eq!(mark(Edge::Begins, 2, 200, 20), None);
        // A second warm-up, within what counts.
        assert_eq!(mark(Edge::Begins, 0, 900, 30), None);
        assert_eq!(mark(Edge::Ends, 0, 101, 40), None);
        let part = mark(Edge::Ends, 2, 207, 60).unwrap();
        assert_eq!((part.elapsed, &part.servers[..]), (Time(40), &[20][..]));
        assert_eq!([0, 1, 2].map(|rank| part.busy[rank].processor(Task::Setup).0), [1, 0, 7]);
        // And a second end: the last counts.
        mark(Edge::Ends, 0, 108, 70);
        assert_eq!(mark(Edge::Ends, 2, 209, 80).unwrap().elapsed, Time(60));
    }

    #[test]
    fn tasks_have_names_of_their_own() {
        let names = Task::ALL.map(Task::name);
        let words =
            ["software", "copies", "stores", "registration", "interrupts", "work on memory", "computation", "rest"];
        assert_eq!(names, words);
    }
}
