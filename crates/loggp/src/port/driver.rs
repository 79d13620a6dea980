//! [`LogGp`]: runs rank programs on a LogGP machine.

use super::door::{LogGpPort, limits};
use super::seat::{Seat, State};
use super::world::World;
use crate::machine::{Machine, Missing};
use hotlink_fabric::units::Time;
use hotlink_port::{Busy, Driver, Limits, Part, Program, Rank, RunError};
use hotlink_schedule::{MOST_RANKS, Recorder, Schedule};
use serde::{Serialize, de::DeserializeOwned};
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// What a run shows in addition to the programs' results.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    /// When the last program ended.
    pub elapsed: Time,
    /// When each did.
    pub finish: Vec<Time>,
    /// Messages between ranks, and their bytes.
    pub messages: u64,
    /// See `messages`.
    pub bytes: u64,
    /// Events of the simulation.
    pub events: u64,
    /// Times that a program was resumed.
    pub resumptions: u64,
    /// Barriers that were reported and found safe.
    pub barriers: u64,
    /// Fingerprint of the course taken.
    pub trace_hash: u64,
    /// What the machine does not state and a program needed: it was free.
    pub missing: Vec<Missing>,
    /// How long each rank's processor and adapter, the busier of its sides, were busy.
    pub busy: Vec<Busy>,
    /// The same in the part that a benchmark counted.
    pub counted: Option<Part>,
}

/// The driver of a LogGP machine.
pub struct LogGp {
    machine: Rc<Machine>,
    limits: Rc<Limits>,
    records: bool,
    ran: Option<Ran>,
    schedule: Option<Schedule>,
}

impl LogGp {
    /// Ranks on a machine.
    pub fn new(machine: Machine) -> LogGp {
        let limits = Rc::new(limits(&machine));
        LogGp { machine: Rc::new(machine), limits, records: false, ran: None, schedule: None }
    }
    /// The same, and what the ranks do is recorded as a schedule.
    #[must_use]
    pub fn recording(self) -> LogGp {
        LogGp { records: true, ..self }
    }
    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }
    /// What its ports claim.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
    /// What the last run showed, if it came to its end.
    pub fn ran(&self) -> Option<&Ran> {
        self.ran.as_ref()
    }
    /// What the ranks of the last run did, if it was [`LogGp::recording`]. Units of `calc` are picoseconds. A message
    /// that a processor carries is a `calc` and its notice.
    pub fn schedule(&mut self) -> Option<Schedule> {
        self.schedule.take()
    }
}

impl Driver for LogGp {
    type Port = LogGpPort;
    fn run<T, R>(&mut self, ranks: u32, program: &R) -> Result<Vec<T>, RunError>
    where
        T: Serialize + DeserializeOwned,
        R: Program<LogGpPort, T>,
    {
        (self.ran, self.schedule) = (None, None);
        if !(1..=MOST_RANKS).contains(&ranks) {
            return Err(RunError::Ranks { ranks, why: format!("must be 1 to {MOST_RANKS}") });
        }
        let world = Rc::new(RefCell::new(World::new(self.machine.clone(), ranks, self.records)));
        let port = |rank| LogGpPort { world: world.clone(), rank, limits: self.limits.clone() };
        let mut tasks = Tasks {
            running: (0..ranks).map(|rank| Some(Box::pin(program.run(port(rank))))).collect(),
            results: (0..ranks).map(|_| None).collect(),
            left: ranks,
            resumptions: 0,
        };
        tasks.run(&world)?;
        let mut world = world.borrow_mut();
        let finish: Vec<Time> = world.seats.iter().map(|seat| Time(seat.now)).collect();
        self.ran = Some(Ran {
            elapsed: finish.iter().copied().max().unwrap_or_default(),
            finish,
            messages: world.messages,
            bytes: world.bytes,
            events: world.events,
            resumptions: tasks.resumptions,
            barriers: world.barriers.over(),
            trace_hash: world.trace.value(),
            missing: world.missing.iter().copied().collect(),
            busy: world.seats.iter().map(Seat::all_busy).collect(),
            counted: world.counting.part(),
        });
        self.schedule = world.recorder.take().map(Recorder::schedule);
        Ok(tasks.results.into_iter().flatten().collect())
    }
}

/// The programs of a run.
struct Tasks<F: Future> {
    running: Vec<Option<Pin<Box<F>>>>,
    results: Vec<Option<F::Output>>,
    left: u32,
    resumptions: u64,
}

impl<F: Future> Tasks<F> {
    fn run(&mut self, world: &RefCell<World>) -> Result<(), RunError> {
        loop {
            let next = world.borrow_mut().ready.pop_front();
            if let Some(rank) = next {
                self.resume(world, rank);
                continue;
            }
            let mut world = world.borrow_mut();
            if let Some(failure) = world.failure.take() {
                return Err(RunError::Stuck(failure));
            }
            // What is still under way when the last program has ended is counted, too.
            if !world.advance() {
                return if self.left > 0 { Err(RunError::Stuck(world.stuck())) } else { Ok(()) };
            }
        }
    }

    fn resume(&mut self, world: &RefCell<World>, rank: Rank) {
        self.resumptions += 1;
        world.borrow_mut().resume(rank);
        let Some(task) = &mut self.running[rank as usize] else { return };
        match task.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => world.borrow_mut().suspend(rank),
            Poll::Ready(result) => {
                self.results[rank as usize] = Some(result);
                self.running[rank as usize] = None;
                self.left -= 1;
                let mut world = world.borrow_mut();
                world.settle(rank);
                world.seat(rank).state = State::Over;
            }
        }
    }
}
