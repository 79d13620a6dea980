//! The smallest port: ranks of one process, memory to memory, scheduled at random from a seed. It simulates nothing;
//! tests of protocols run on it, thousands of schedules a second.

use crate::blocks::Blocks;
use crate::{
    Align, Attachment, DepositLimits, Driver, Engine, Event, Head, Host, Key, Kind, Limits, Memory, Op, Payload, Port,
    Posted, Program, Rank, Refusal, RegistrationLimits, RemoteSpan, RunError, Span, Token, Work,
};
use hotlink_fabric::units::{Rate, Time};
use serde::{Serialize, de::DeserializeOwned};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// A generator of pseudo-random numbers (SplitMix64): the same on every machine.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }
    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    /// Below `n`, which is not zero.
    pub fn below(&mut self, n: u64) -> u64 {
        self.draw() % n
    }
    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// Runs ranks on [`LoopbackPort`]s in one process.
#[derive(Clone, Debug)]
pub struct Loopback {
    /// Which schedule.
    pub seed: u64,
    /// Control messages that a rank holds before its senders are told that it is busy.
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
}

/// One rank's port of a [`Loopback`].
pub struct LoopbackPort {
    world: Rc<RefCell<World>>,
    rank: Rank,
    limits: Limits,
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
        let world = World { seats, inbox: self.inbox, entries: self.entries };
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

impl LoopbackPort {
    fn seat<T>(&self, work: impl FnOnce(&mut Seat) -> T) -> T {
        work(&mut self.world.borrow_mut().seats[self.rank as usize])
    }
    fn packed(&self, payload: &Payload<'_>) -> Result<Payloaded, Refusal> {
        Ok(match payload {
            Payload::None => Payloaded::Real(Vec::new()),
            Payload::Bytes(bytes) => Payloaded::Real(bytes.to_vec()),
            Payload::Span(span) => match self.seat(|seat| seat.blocks.pack(span))? {
                Some(bytes) => Payloaded::Real(bytes),
                None => Payloaded::Ghost(span.bytes()),
            },
        })
    }
    fn control(&self, to: Rank, head: Head, payload: &Payload<'_>) -> Posted {
        if payload.bytes() > self.limits.control_bytes_max {
            return Posted::Refused(Refusal::TooLong(self.limits.control_bytes_max));
        }
        if to >= self.ranks() {
            return Posted::Refused(Refusal::NoRank);
        }
        let bytes = match self.packed(payload) {
            Ok(bytes) => bytes,
            Err(refusal) => return Posted::Refused(refusal),
        };
        let mut world = self.world.borrow_mut();
        let inbox = world.inbox;
        let seat = &mut world.seats[to as usize];
        if seat.inbox.len() >= inbox && !seat.closed {
            world.seats[self.rank as usize].blocked.push(to);
            return Posted::Busy;
        }
        seat.inbox.push_back(Arrival { from: self.rank, head, bytes });
        Posted::Accepted
    }
    fn remote(&self, local: Span, remote: RemoteSpan, deposit: bool, engine: Engine, token: Token) -> Posted {
        match self.transfer(local, remote, deposit, engine) {
            Ok(()) => self.seat(|seat| seat.events.push_back(Event::Done(token))),
            Err(Refusal::Gone) => self.seat(|seat| seat.events.push_back(Event::Failed(token, Refusal::Gone))),
            Err(refusal) => return Posted::Refused(refusal),
        }
        Posted::Accepted
    }
    fn transfer(&self, local: Span, remote: RemoteSpan, deposit: bool, engine: Engine) -> Result<(), Refusal> {
        if self.limits.deposit.is_none() {
            return Err(Refusal::Unsupported);
        }
        let mut world = self.world.borrow_mut();
        let seats = &mut world.seats;
        let here = self.rank as usize;
        let (key, how) = *seats[here].attached.get(&remote.attachment.0).ok_or(Refusal::Gone)?;
        if engine == Engine::Pio && how == Engine::Dma {
            return Err(Refusal::NotReady);
        }
        if local.bytes() != remote.layout.bytes() {
            return Err(Refusal::OutOfBounds);
        }
        let there = key.rank as usize;
        let memory = Memory(*seats[there].exports.get(&key.id).ok_or(Refusal::Gone)?);
        let far = Span { memory, offset: remote.offset, layout: remote.layout };
        if deposit {
            let bytes = seats[here].blocks.pack(&local)?;
            seats[there].blocks.unpack(&far, bytes.as_deref())
        } else {
            let bytes = seats[there].blocks.pack(&far)?;
            seats[here].blocks.unpack(&local, bytes.as_deref())
        }
    }
}

impl Port for LoopbackPort {
    fn rank(&self) -> Rank {
        self.rank
    }
    fn ranks(&self) -> u32 {
        self.world.borrow().seats.len() as u32
    }
    fn limits(&self) -> &Limits {
        &self.limits
    }
    fn now(&self) -> Time {
        self.seat(|seat| Time(seat.now))
    }
    fn post(&mut self, op: &Op<'_>) -> Posted {
        self.seat(|seat| seat.now += 1000);
        match *op {
            Op::Control { to, head, ref payload } => self.control(to, head, payload),
            Op::Deposit { from, to, engine, token } => self.remote(from, to, true, engine, token),
            Op::Fetch { from, to, engine, token } => self.remote(to, from, false, engine, token),
            Op::Barrier { .. } | Op::Broadcast { .. } => Posted::Refused(Refusal::Unsupported),
        }
    }
    fn poll(&mut self) -> Option<Event> {
        self.seat(|seat| {
            seat.now += 1000;
            seat.current = None;
            if let Some(event) = seat.events.pop_front() {
                return Some(event);
            }
            let arrival = seat.inbox.pop_front()?;
            let bytes = match &arrival.bytes {
                Payloaded::Real(bytes) => bytes.len() as u64,
                Payloaded::Ghost(bytes) => *bytes,
            };
            let event = Event::Control { from: arrival.from, head: arrival.head, bytes };
            seat.current = Some(arrival);
            Some(event)
        })
    }
    fn deliver(&mut self, at: u64, to: Span) -> Result<(), Refusal> {
        self.seat(|seat| {
            let arrival = seat.current.take().ok_or(Refusal::OutOfBounds)?;
            let end = at.checked_add(to.bytes()).ok_or(Refusal::OutOfBounds)?;
            let delivered = match &arrival.bytes {
                Payloaded::Ghost(bytes) if end <= *bytes => seat.blocks.unpack(&to, None),
                Payloaded::Real(bytes) if end <= bytes.len() as u64 => {
                    seat.blocks.unpack(&to, Some(&bytes[at as usize..end as usize]))
                }
                _ => Err(Refusal::OutOfBounds),
            };
            seat.current = Some(arrival);
            delivered
        })
    }
    fn peek(&self, at: u64, into: &mut [u8]) -> usize {
        self.seat(|seat| match &seat.current {
            Some(Arrival { bytes: Payloaded::Real(bytes), .. }) => {
                let part = bytes.get(at as usize..).unwrap_or_default();
                let len = part.len().min(into.len());
                into[..len].copy_from_slice(&part[..len]);
                len
            }
            _ => 0,
        })
    }
    fn idle(&mut self, until: Time) {
        self.seat(|seat| (seat.idle, seat.until) = (true, until));
    }
    fn close(&mut self) {
        self.seat(|seat| seat.closed = true);
    }
}

impl Host for LoopbackPort {
    fn alloc(&mut self, bytes: u64, kind: Kind, align: Align) -> Result<Memory, Refusal> {
        let kind = if kind == Kind::Default { Kind::Shared } else { kind };
        self.seat(|seat| seat.blocks.alloc(bytes, kind, align))
    }
    fn free(&mut self, memory: Memory) -> Result<(), Refusal> {
        let exports: Vec<u64> = self.seat(|seat| {
            seat.blocks.free(memory)?;
            Ok(seat.exports.iter().filter(|(_, block)| **block == memory.0).map(|(&id, _)| id).collect())
        })?;
        exports.into_iter().try_for_each(|id| self.unregister(Key { rank: self.rank, id, bytes: 0 }))
    }
    fn size(&self, memory: Memory) -> Result<u64, Refusal> {
        self.seat(|seat| seat.blocks.size(memory))
    }
    fn kind(&self, memory: Memory) -> Result<Kind, Refusal> {
        self.seat(|seat| seat.blocks.kind(memory))
    }
    fn read(&self, memory: Memory, offset: u64, into: &mut [u8]) -> Result<(), Refusal> {
        self.seat(|seat| seat.blocks.read(memory, offset, into))
    }
    fn write(&mut self, memory: Memory, offset: u64, from: &[u8]) -> Result<(), Refusal> {
        let to = Span::new(memory, offset, from.len() as u64);
        self.seat(|seat| seat.blocks.unpack(&to, Some(from)))
    }
    fn copy(&mut self, from: Span, to: Span) -> Result<(), Refusal> {
        self.seat(|seat| seat.blocks.copy(&from, &to))
    }
    fn register(&mut self, memory: Memory) -> Result<Key, Refusal> {
        let entries = self.world.borrow().entries;
        if self.limits.deposit.is_none() {
            return Err(Refusal::Unsupported);
        }
        self.seat(|seat| {
            let bytes = seat.blocks.size(memory)?;
            if seat.exports.len() >= entries {
                return Err(Refusal::PinLimit);
            }
            let id = seat.fresh();
            seat.exports.insert(id, memory.0);
            Ok(Key { rank: self.rank, id, bytes })
        })
    }
    fn unregister(&mut self, key: Key) -> Result<(), Refusal> {
        let known = key.rank == self.rank && self.seat(|seat| seat.exports.remove(&key.id).is_some());
        if !known {
            return Err(Refusal::Gone);
        }
        for seat in &mut self.world.borrow_mut().seats {
            let found = seat
                .attached
                .values()
                .map(|(attached, _)| *attached)
                .find(|attached| attached.id == key.id && attached.rank == key.rank);
            seat.events.extend(found.map(Event::Revoked));
        }
        Ok(())
    }
    fn attach(&mut self, key: Key, engine: Engine) -> Result<Attachment, Refusal> {
        let mut world = self.world.borrow_mut();
        let entries = world.entries;
        let owner = world.seats.get(key.rank as usize).ok_or(Refusal::NoRank)?;
        let memory = *owner.exports.get(&key.id).ok_or(Refusal::Gone)?;
        if engine == Engine::Pio && owner.blocks.kind(Memory(memory))? == Kind::Private {
            return Err(Refusal::Unsupported);
        }
        let seat = &mut world.seats[self.rank as usize];
        if seat.attached.len() >= entries {
            return Err(Refusal::NoEntries);
        }
        let id = seat.fresh();
        seat.attached.insert(id, (key, engine));
        Ok(Attachment(id))
    }
    fn detach(&mut self, attachment: Attachment) -> Result<(), Refusal> {
        self.seat(|seat| seat.attached.remove(&attachment.0).map(|_| ()).ok_or(Refusal::Gone))
    }
    fn compute(&mut self, work: Work) {
        let time = match work {
            Work::Fixed(time) => time,
            Work::Daxpy { elements, repeats } => Time(elements * repeats * 1000),
        };
        self.seat(|seat| seat.now += time.0);
    }
}

fn limits(driver: &Loopback) -> Limits {
    let remote = DepositLimits {
        bytes_max: u64::MAX,
        dma_align: 1,
        strided: true,
        pio: true,
        dma: true,
        dma_needs_registration: false,
    };
    Limits {
        name: "loopback".to_owned(),
        real_time: false,
        clock_step: Time(1),
        control_bytes_max: 256,
        inline_bytes: 16,
        deposit: driver.deposits.then_some(remote),
        fetch: driver.deposits.then_some(remote),
        ordered: true,
        segments: true,
        ghosts: true,
        registration: RegistrationLimits {
            private: driver.deposits,
            private_mappable: false,
            private_block_min: 0,
            zero_copy_min: 0,
            private_zero_copy_min: 300,
            entries: Some(driver.entries as u64),
            entry_bytes: u64::MAX,
            pinned_bytes: None,
            register_time: Time(1000),
            map_time: Time(1000),
            connect_time: Time(1000),
        },
        barrier: false,
        broadcast: false,
        post_overhead: Time(1000),
        poll_overhead: Time(1000),
        latency: Time(1000),
        rate: Rate::from_mbps(1000.0),
        copy_rate: Rate::from_mbps(1000.0),
    }
}
