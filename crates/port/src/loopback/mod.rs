//! The smallest port: ranks of one process, memory to memory, scheduled at random from a seed. It simulates nothing;
//! tests of protocols run on it, thousands of schedules a second.

mod port;

pub use crate::random::Random;
pub use port::LoopbackPort;

use crate::blocks::Blocks;
use crate::safety::Barriers;
use crate::{DepositLimits, Driver, Engine, Event, Head, Key, Limits, Program, Rank, RegistrationLimits, RunError};
use hotlink_fabric::units::{Rate, Time};
use serde::{Serialize, de::DeserializeOwned};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// What a registration, a mapping or a connection takes, and the end of one.
const SETUP: Time = Time(1000);

/// Runs ranks on [`LoopbackPort`]s in one process.
#[derive(Clone, Debug)]
pub struct Loopback {
    /// Which schedule.
    pub seed: u64,
    /// Control messages that a rank holds before its senders learn that it is busy.
    pub inbox: usize,
    /// Exports and attachments that a rank may have at once.
    pub entries: usize,
    /// Deposits and fetches exist.
    pub deposits: bool,
}

impl Default for Loopback {
    fn default() -> Loopback {
        Loopback { seed: 1, inbox: 8, entries: 1 << 20, deposits: true }
    }
}

struct Arrival {
    from: Rank,
    head: Head,
    bytes: Payloaded,
}

enum Payloaded {
    Real(Vec<u8>),
    Ghost(u64),
}

#[derive(Default)]
struct Seat {
    inbox: VecDeque<Arrival>,
    events: VecDeque<Event>,
    blocks: Blocks,
    exports: BTreeMap<u64, u64>,
    attached: BTreeMap<u64, (Key, Engine)>,
    current: Option<Arrival>,
    until: Time,
    idle: bool,
    /// The ranks for whose inboxes this one waits.
    blocked: Vec<Rank>,
    closed: bool,
    now: u64,
    next: u64,
}

struct World {
    seats: Vec<Seat>,
    inbox: usize,
    entries: usize,
    barriers: Barriers,
    /// What a program did that must not be.
    wrong: Option<String>,
}

impl Driver for Loopback {
    type Port = LoopbackPort;
    fn run<T, R>(&mut self, ranks: u32, program: &R) -> Result<Vec<T>, RunError>
    where
        T: Serialize + DeserializeOwned,
        R: Program<LoopbackPort, T>,
    {
        let limits = limits(self);
        let seats = (0..ranks).map(|_| Seat::default()).collect();
        let barriers = Barriers::new(ranks);
        let world = World { seats, inbox: self.inbox, entries: self.entries, barriers, wrong: None };
        let world = Rc::new(RefCell::new(world));
        let port = |rank| LoopbackPort { world: world.clone(), rank, limits: limits.clone() };
        let tasks = (0..ranks).map(|rank| Task::Running(Box::pin(program.run(port(rank))))).collect();
        schedule(&world, tasks, Random::new(self.seed))
    }
}

enum Task<'a, T> {
    Running(Pin<Box<dyn Future<Output = T> + 'a>>),
    Over(T),
}

fn schedule<T>(world: &RefCell<World>, mut tasks: Vec<Task<'_, T>>, mut random: Random) -> Result<Vec<T>, RunError> {
    let mut context = Context::from_waker(Waker::noop());
    while tasks.iter().any(|task| matches!(task, Task::Running(_))) {
        let ready: Vec<usize> = (0..tasks.len())
            .filter(|&rank| matches!(tasks[rank], Task::Running(_)) && world.borrow().is_ready(rank))
            .collect();
        let rank = match ready.len() {
            0 => wake_earliest(world, &tasks)?,
            n => ready[random.below(n as u64) as usize],
        };
        world.borrow_mut().seats[rank].awake();
        if let Task::Running(program) = &mut tasks[rank]
            && let Poll::Ready(result) = program.as_mut().poll(&mut context)
        {
            tasks[rank] = Task::Over(result);
            world.borrow_mut().seats[rank].closed = true;
        }
        if let Some(wrong) = world.borrow_mut().wrong.take() {
            return Err(RunError::Stuck(wrong));
        }
    }
    Ok(tasks.into_iter().filter_map(|task| if let Task::Over(result) = task { Some(result) } else { None }).collect())
}

/// Nothing can happen by itself: time passes until the first rank that waits for it.
fn wake_earliest<T>(world: &RefCell<World>, tasks: &[Task<'_, T>]) -> Result<usize, RunError> {
    let mut world = world.borrow_mut();
    let waiting = (0..tasks.len()).filter(|&rank| matches!(tasks[rank], Task::Running(_)));
    let first = waiting.min_by_key(|&rank| world.seats[rank].until);
    match first {
        Some(rank) if world.seats[rank].until < Time::MAX => {
            let until = world.seats[rank].until.0;
            let seat = &mut world.seats[rank];
            seat.now = seat.now.max(until);
            Ok(rank)
        }
        _ => Err(RunError::Stuck("every rank waits, and nothing is under way".to_owned())),
    }
}

impl World {
    fn is_ready(&self, rank: usize) -> bool {
        let seat = &self.seats[rank];
        let room = |&to: &Rank| self.seats[to as usize].inbox.len() < self.inbox || self.seats[to as usize].closed;
        let has_news = !seat.inbox.is_empty() || !seat.events.is_empty();
        !seat.idle || has_news || seat.until.0 <= seat.now || seat.blocked.iter().any(room)
    }
}

impl Seat {
    fn awake(&mut self) {
        self.idle = false;
        self.blocked.clear();
    }
    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

fn limits(driver: &Loopback) -> Limits {
    let remote = driver.deposits.then_some(DepositLimits::ANY);
    Limits {
        real_time: false,
        clock_step: Time(1),
        control_bytes_max: 256,
        inline_bytes: 16,
        deposit: remote,
        fetch: remote,
        segments: true,
        ghosts: true,
        registration: RegistrationLimits {
            private: driver.deposits,
            // What one control message cannot carry.
            zero_copy_min: 257,
            private_zero_copy_min: 300,
            entries: Some(driver.entries as u64),
            register_time: SETUP,
            map_time: SETUP,
            connect_time: SETUP,
            ..RegistrationLimits::NONE
        },
        post_overhead: Time(1000),
        poll_overhead: Time(1000),
        latency: Time(1000),
        rate: Rate::from_mbps(1000.0),
        copy_rate: Rate::from_mbps(1000.0),
        ..Limits::messages("loopback")
    }
}
