//! What a rank's processor and adapter spend their time with, accounted by ports in virtual time where it is charged.

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
    /// The processor was busy with a task for so long.
    pub fn add(&mut self, task: Task, ps: u64) {
        let sum = &mut self.processor_ps[task as usize];
        *sum = sum.saturating_add(ps);
    }

    /// The adapter's engine was busy for so long.
    pub fn add_engine(&mut self, ps: u64) {
        self.engine_ps = self.engine_ps.saturating_add(ps);
    }

    /// The same, the adapter busy for at least so long.
    #[must_use]
    pub fn with_engine(self, ps: u64) -> Busy {
        Busy { engine_ps: self.engine_ps.max(ps), ..self }
    }

    /// Of the processor with a task.
    pub fn processor(&self, task: Task) -> Time {
        Time(self.processor_ps[task as usize])
    }

    /// Of the adapter: its engine, or what keeps it from the next message.
    pub fn engine(&self) -> Time {
        Time(self.engine_ps)
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
    fn tasks_have_names_of_their_own() {
        let names = Task::ALL.map(Task::name);
        let words =
            ["software", "copies", "stores", "registration", "interrupts", "work on memory", "computation", "rest"];
        assert_eq!(names, words);
    }
}
