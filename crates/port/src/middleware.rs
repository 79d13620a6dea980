//! Ports that wrap ports. [`Trace`] reports what happens, [`Count`] counts it, and [`Fault`] makes everything happen
//! that a port is allowed to do to its user. A wrapped port keeps the contract, and the conformance suite checks that.

use crate::blocks::Elsewhere;
use crate::random::Random;
use crate::{
    Align, Attachment, Driver, Engine, Event, Host, Key, Kind, Limits, Lodge, Memory, Note, Op, Operation, Port,
    Posted, Program, Rank, Refusal, RunError, Span, Work,
};
use hotlink_fabric::units::Time;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::future::Future;
use std::rc::Rc;

/// What a wrapper may see and change. Everything else passes through.
pub trait Layer {
    /// Whether the layer wants to know what things take: reading a clock costs.
    const TIMED: bool = false;
    /// Sees an operation before it is posted; `Some` answers in the port's place.
    fn before_post(&mut self, op: &Op<'_>) -> Option<Posted> {
        let _ = op;
        None
    }
    /// Sees the answer.
    fn after_post(&mut self, now: Time, op: &Op<'_>, posted: Posted) {
        let _ = (now, op, posted);
    }
    /// `false`: this time, `poll` gives nothing, even if something is there.
    fn lets_poll(&mut self) -> bool {
        true
    }
    /// Sees what was polled.
    fn after_poll(&mut self, now: Time, event: Option<&Event>) {
        let _ = (now, event);
    }
    /// Sees a registration or attachment before it is made; `Some` refuses it.
    fn before_setup(&mut self) -> Option<Refusal> {
        None
    }
    /// Sees whose memory an attachment is of.
    fn attached(&mut self, attachment: Attachment, owner: Rank) {
        let _ = (attachment, owner);
    }
    /// Hears what the program is at.
    fn hears(&mut self, note: Note) {
        let _ = note;
    }
    /// Sees what took the time from `from` to `to`, if [`Layer::TIMED`].
    fn took(&mut self, step: Step<'_>, from: Time, to: Time) {
        let _ = (step, from, to);
    }
}

/// What takes a rank's time.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// An operation was posted.
    Post(&'a Op<'a>, Posted),
    /// The host did something by itself: its name, and bytes where it moves some.
    Local(&'static str, Option<u64>),
    /// The program waited: for this event, or until it had something else to do.
    Wait(Option<&'a Event>),
}

/// A port with a layer around it.
pub struct Wrapped<P, L> {
    inner: P,
    layer: L,
    /// The layer kept something from the program, which must poll again without an event to wake it.
    held_back: bool,
    /// Since when the program waits.
    waits: Option<Time>,
}

impl<P: Port, L: Layer> Wrapped<P, L> {
    /// The clock, for a layer that wants it.
    fn clock(&self) -> Time {
        if L::TIMED { self.inner.glance() } else { Time::ZERO }
    }
    /// The program does something else than wait.
    fn ends_wait(&mut self, event: Option<&Event>) {
        if let Some(since) = self.waits.take() {
            let now = self.clock();
            self.layer.took(Step::Wait(event), since, now);
        }
    }
    /// Does something that takes the host's time.
    fn local<T>(&mut self, name: &'static str, bytes: Option<u64>, work: impl FnOnce(&mut P) -> T) -> T {
        if !L::TIMED {
            return work(&mut self.inner);
        }
        self.ends_wait(None);
        let from = self.clock();
        let done = work(&mut self.inner);
        let to = self.clock();
        self.layer.took(Step::Local(name, bytes), from, to);
        done
    }
    /// Wraps `inner`.
    pub fn new(inner: P, layer: L) -> Wrapped<P, L> {
        Wrapped { inner, layer, held_back: false, waits: None }
    }
    /// The layer.
    pub fn layer(&self) -> &L {
        &self.layer
    }
}

impl<P: Port, L: Layer> Port for Wrapped<P, L> {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }
    fn ranks(&self) -> u32 {
        self.inner.ranks()
    }
    fn limits(&self) -> &Limits {
        self.inner.limits()
    }
    fn now(&self) -> Time {
        self.inner.now()
    }
    fn glance(&self) -> Time {
        self.inner.glance()
    }
    fn post(&mut self, op: &Op<'_>) -> Posted {
        self.ends_wait(None);
        let from = self.clock();
        let posted = match self.layer.before_post(op) {
            Some(posted) => {
                self.held_back |= posted == Posted::Busy;
                posted
            }
            None => self.inner.post(op),
        };
        self.layer.after_post(self.inner.glance(), op, posted);
        if L::TIMED {
            let to = self.clock();
            self.layer.took(Step::Post(op, posted), from, to);
        }
        posted
    }
    fn poll(&mut self) -> Option<Event> {
        let lets = self.layer.lets_poll();
        self.held_back |= !lets;
        let event = if lets { self.inner.poll() } else { None };
        self.layer.after_poll(self.inner.glance(), event.as_ref());
        if event.is_some() {
            self.ends_wait(event.as_ref());
        }
        event
    }
    fn deliver(&mut self, at: u64, to: Span) -> Result<(), Refusal> {
        self.local("deliver", Some(to.bytes()), |inner| inner.deliver(at, to))
    }
    fn peek(&self, at: u64, into: &mut [u8]) -> usize {
        self.inner.peek(at, into)
    }
    fn idle(&mut self, until: Time) {
        if L::TIMED && self.waits.is_none() {
            self.waits = Some(self.clock());
        }
        let held_back = std::mem::replace(&mut self.held_back, false);
        self.inner.idle(if held_back { self.inner.now() } else { until });
    }
    fn settle(&mut self) {
        self.inner.settle();
    }
    fn close(&mut self) {
        self.inner.close();
    }
    fn listens(&self) -> bool {
        self.inner.listens()
    }
    fn note(&mut self, note: Note) {
        self.layer.hears(note);
        self.inner.note(note);
    }
}

impl<P: Lodge, L: Layer> Lodge for Wrapped<P, L> {
    fn lodge(&mut self, bytes: u64, kind: Kind, with: Rc<dyn Elsewhere>) -> Result<Memory, Refusal> {
        self.inner.lodge(bytes, kind, with)
    }
}

impl<P: Port, L: Layer> Host for Wrapped<P, L> {
    fn alloc(&mut self, bytes: u64, kind: Kind, align: Align) -> Result<Memory, Refusal> {
        self.inner.alloc(bytes, kind, align)
    }
    fn free(&mut self, memory: Memory) -> Result<(), Refusal> {
        self.inner.free(memory)
    }
    fn size(&self, memory: Memory) -> Result<u64, Refusal> {
        self.inner.size(memory)
    }
    fn kind(&self, memory: Memory) -> Result<Kind, Refusal> {
        self.inner.kind(memory)
    }
    fn read(&self, memory: Memory, offset: u64, into: &mut [u8]) -> Result<(), Refusal> {
        self.inner.read(memory, offset, into)
    }
    fn write(&mut self, memory: Memory, offset: u64, from: &[u8]) -> Result<(), Refusal> {
        self.inner.write(memory, offset, from)
    }
    fn copy(&mut self, from: Span, to: Span) -> Result<(), Refusal> {
        self.local("copy", Some(to.bytes()), |inner| inner.copy(from, to))
    }
    fn combine(&mut self, operation: Operation, other: Span, into: Span) -> Result<(), Refusal> {
        self.inner.combine(operation, other, into)
    }
    fn register(&mut self, memory: Memory) -> Result<Key, Refusal> {
        match self.layer.before_setup() {
            Some(refusal) => Err(refusal),
            None => self.local("register", None, |inner| inner.register(memory)),
        }
    }
    fn unregister(&mut self, key: Key) -> Result<(), Refusal> {
        self.local("unregister", None, |inner| inner.unregister(key))
    }
    fn attach(&mut self, key: Key, engine: Engine) -> Result<Attachment, Refusal> {
        if let Some(refusal) = self.layer.before_setup() {
            return Err(refusal);
        }
        let attachment = self.local("attach", Some(key.bytes), |inner| inner.attach(key, engine))?;
        self.layer.attached(attachment, key.rank);
        Ok(attachment)
    }
    fn detach(&mut self, attachment: Attachment) -> Result<(), Refusal> {
        self.local("detach", None, |inner| inner.detach(attachment))
    }
    fn compute(&mut self, work: Work) {
        self.local("compute", None, |inner| inner.compute(work));
    }
}

/// Hands each line of a trace to `write`.
pub struct Trace<W: FnMut(&str)> {
    write: W,
}

impl<W: FnMut(&str)> Trace<W> {
    /// Writes with `write`.
    pub fn new(write: W) -> Trace<W> {
        Trace { write }
    }
}

impl<W: FnMut(&str)> Layer for Trace<W> {
    fn after_post(&mut self, now: Time, op: &Op<'_>, posted: Posted) {
        (self.write)(&format!("{:.3} us post {op:?}: {posted:?}", now.us()));
    }
    fn after_poll(&mut self, now: Time, event: Option<&Event>) {
        if let Some(event) = event {
            (self.write)(&format!("{:.3} us {event:?}", now.us()));
        }
    }
}

/// What went through a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Control messages posted.
    pub controls: u64,
    /// Their payload bytes.
    pub control_bytes: u64,
    /// Deposits and fetches posted.
    pub transfers: u64,
    /// Their bytes.
    pub transfer_bytes: u64,
    /// Operations for which there was no room.
    pub busy: u64,
    /// Operations refused.
    pub refused: u64,
    /// Events polled.
    pub events: u64,
    /// Polls that gave nothing.
    pub empty_polls: u64,
    /// Registrations and attachments asked for.
    pub setups: u64,
}

impl Layer for Count {
    fn after_post(&mut self, _: Time, op: &Op<'_>, posted: Posted) {
        match (posted, op) {
            (Posted::Busy, _) => self.busy += 1,
            (Posted::Refused(_), _) => self.refused += 1,
            (Posted::Accepted, Op::Control { payload, .. } | Op::Broadcast { payload, .. }) => {
                self.controls += 1;
                self.control_bytes += payload.bytes();
            }
            (Posted::Accepted, Op::Deposit { from: span, .. } | Op::Fetch { to: span, .. }) => {
                self.transfers += 1;
                self.transfer_bytes += span.bytes();
            }
            (Posted::Accepted, Op::Barrier { .. } | Op::Reduce { .. }) => {}
        }
    }
    fn after_poll(&mut self, _: Time, event: Option<&Event>) {
        if event.is_some() { self.events += 1 } else { self.empty_polls += 1 }
    }
    fn before_setup(&mut self) -> Option<Refusal> {
        self.setups += 1;
        None
    }
}

/// Does what a port may do: is busy, is late, refuses registrations for lack of resources. Each field is a percentage
/// of cases.
#[derive(Clone, Debug)]
pub struct Fault {
    random: Random,
    /// Posts answered with [`Posted::Busy`].
    pub busy: u64,
    /// Polls that give nothing.
    pub late: u64,
    /// Registrations and attachments refused.
    pub scarce: u64,
}

impl Fault {
    /// These shares, drawn from `seed`.
    pub fn new(seed: u64, busy: u64, late: u64, scarce: u64) -> Fault {
        Fault { random: Random::new(seed), busy, late, scarce }
    }
}

impl Layer for Fault {
    fn before_post(&mut self, _: &Op<'_>) -> Option<Posted> {
        self.random.chance(self.busy).then_some(Posted::Busy)
    }
    fn lets_poll(&mut self) -> bool {
        !self.random.chance(self.late)
    }
    fn before_setup(&mut self) -> Option<Refusal> {
        self.random.chance(self.scarce).then_some(Refusal::NoEntries)
    }
}

/// A driver whose ports are wrapped in layers made by `layer(rank)`.
pub struct Layered<D, F> {
    driver: D,
    layer: F,
}

impl<D: Driver, L: Layer, F: Fn(Rank) -> L> Layered<D, F> {
    /// Wraps the ports of `driver`.
    pub fn new(driver: D, layer: F) -> Layered<D, F> {
        Layered { driver, layer }
    }
}

impl<D: Driver, L: Layer, F: Fn(Rank) -> L> Driver for Layered<D, F> {
    type Port = Wrapped<D::Port, L>;
    fn run<T, R>(&mut self, ranks: u32, program: &R) -> Result<Vec<T>, RunError>
    where
        T: Serialize + DeserializeOwned,
        R: Program<Wrapped<D::Port, L>, T>,
    {
        struct Around<'a, R, F>(&'a R, &'a F);
        impl<P: Port, L: Layer, T, F: Fn(Rank) -> L, R: Program<Wrapped<P, L>, T>> Program<P, T> for Around<'_, R, F> {
            fn run(&self, port: P) -> impl Future<Output = T> {
                let layer = (self.1)(port.rank());
                self.0.run(Wrapped::new(port, layer))
            }
        }
        self.driver.run(ranks, &Around(program, &self.layer))
    }
}
