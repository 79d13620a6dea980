//! The order of steps and of work that keeps them out (`hotlink_real::Latch`), as a model. It runs every interleaving
//! of few processes, each with a buffer of stores as x86 has it. Steps that the processor does not reorder are one
//! event here.

use std::collections::HashSet;

/// Words of memory, then a mark of each process.
const ELEMENT: usize = 0;
const CLOSED: usize = 1;
const BUSY: usize = 2;
const MARKS: usize = 3;
const PROCESSES: usize = 3;

/// The steps of a process, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Does {
    /// One step of the processor on the element.
    Step,
    /// Reads the element, and writes it later.
    Alone,
}

/// The part of the protocol that is left out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Without {
    Nothing,
    Closing,
    Order,
    Waiting,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Process {
    /// Its present step, and the place in it; then the rest.
    todo: Vec<Does>,
    at: usize,
    register: u8,
    /// Stores that others do not see yet, oldest first.
    buffer: Vec<(usize, u8)>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct World {
    memory: [u8; MARKS + PROCESSES],
    processes: Vec<Process>,
}

/// Where the parts of a step that comes late, and of work alone, begin.
const LATE: usize = 10;
const ORDERS: usize = 2;
const WAITS: usize = ORDERS + PROCESSES;
const WORKS: usize = WAITS + PROCESSES;

impl World {
    fn load(&self, who: usize, word: usize) -> u8 {
        let own = self.processes[who].buffer.iter().rev().find(|store| store.0 == word);
        own.map_or(self.memory[word], |store| store.1)
    }
    /// The oldest store reaches memory.
    fn drain(&mut self, who: usize) {
        let (word, value) = self.processes[who].buffer.remove(0);
        self.memory[word] = value;
    }
    /// The next event of a process; `None`: it must wait.
    fn event(&self, who: usize, closes_for: u8, without: Without) -> Option<World> {
        let mut next = self.clone();
        let process = &mut next.processes[who];
        let &does = process.todo.first()?;
        let is_drained = process.buffer.is_empty();
        let over = |process: &mut Process| {
            process.todo.remove(0);
            process.at = 0;
        };
        match (does, process.at) {
            (Does::Step, 0) => process.buffer.push((MARKS + who, 1)),
            (Does::Step, 1) if self.load(who, CLOSED) != 0 => {
                process.buffer.push((MARKS + who, 0));
                process.at = LATE - 1;
            }
            (Does::Step, 1) => {}
            // A locked instruction: all earlier stores are there before.
            (Does::Step, 2) if is_drained => next.memory[ELEMENT] += 1,
            (Does::Step, 3) => process.buffer.push((MARKS + who, 0)),
            (Does::Step, 4) => over(process),
            (Does::Step, LATE) | (Does::Alone, 0) if is_drained && self.memory[BUSY] == 0 => next.memory[BUSY] = 1,
            (Does::Step, 11) => process.buffer.push((CLOSED, self.load(who, CLOSED).saturating_sub(1))),
            (Does::Step, 12) if is_drained => next.memory[ELEMENT] += 1,
            (Does::Step, 13) => {
                process.buffer.push((BUSY, 0));
                over(process);
            }
            (Does::Alone, 1) if without == Without::Closing => process.at = WORKS - 1,
            (Does::Alone, 1) if is_drained => {
                next.memory[CLOSED] = closes_for;
                if self.memory[CLOSED] != 0 {
                    process.at = WORKS - 1;
                }
            }
            (Does::Alone, at @ ORDERS..WAITS) => {
                let other = at - ORDERS;
                while without != Without::Order && !next.processes[other].buffer.is_empty() {
                    next.drain(other);
                }
            }
            (Does::Alone, at @ WAITS..WORKS)
                if without == Without::Waiting || self.load(who, MARKS + at - WAITS) == 0 => {}
            (Does::Alone, WORKS) => process.register = self.load(who, ELEMENT),
            (Does::Alone, 9) => process.buffer.push((ELEMENT, process.register + 1)),
            (Does::Alone, 10) => {
                process.buffer.push((BUSY, 0));
                over(process);
            }
            _ => return None,
        }
        let process = &mut next.processes[who];
        if process.todo.len() == self.processes[who].todo.len() {
            process.at += 1;
        }
        Some(next)
    }
}

/// Whether every order of events ends with all that was added; a state in which nothing can go on is a failure.
fn holds(todo: [&[Does]; PROCESSES], closes_for: u8, without: Without) -> bool {
    let process = |todo: &&[Does]| Process { todo: todo.to_vec(), at: 0, register: 0, buffer: Vec::new() };
    let first = World { memory: [0; MARKS + PROCESSES], processes: todo.iter().map(process).collect() };
    let due = todo.iter().map(|todo| todo.len() as u8).sum::<u8>();
    let (mut seen, mut open) = (HashSet::from([first.clone()]), vec![first]);
    while let Some(world) = open.pop() {
        let events = (0..PROCESSES).filter_map(|who| world.event(who, closes_for, without));
        let drains = (0..PROCESSES).filter(|&who| !world.processes[who].buffer.is_empty()).map(|who| {
            let mut next = world.clone();
            next.drain(who);
            next
        });
        let next: Vec<World> = events.chain(drains).collect();
        let is_over = world.processes.iter().all(|process| process.todo.is_empty());
        if next.is_empty() && !(is_over && world.memory[ELEMENT] == due) {
            return false;
        }
        open.extend(next.into_iter().filter(|next| seen.insert(next.clone())));
    }
    true
}

const STEP: &[Does] = &[Does::Step];
const STEPS: &[Does] = &[Does::Step, Does::Step];
const ALONE: &[Does] = &[Does::Alone];

#[test]
fn no_order_of_steps_and_of_work_alone_loses_anything() {
    for closes_for in [1, 2, 9] {
        assert!(holds([STEPS, STEPS, ALONE], closes_for, Without::Nothing));
        assert!(holds([STEPS, ALONE, ALONE], closes_for, Without::Nothing));
        assert!(holds([STEPS, &[Does::Step, Does::Alone], &[Does::Alone, Does::Step]], closes_for, Without::Nothing));
        assert!(holds([STEPS, STEP, &[Does::Alone, Does::Alone]], closes_for, Without::Nothing));
    }
}

#[test]
fn each_part_of_it_is_needed() {
    for without in [Without::Closing, Without::Order, Without::Waiting] {
        assert!(!holds([STEP, STEP, ALONE], 2, without));
    }
}
