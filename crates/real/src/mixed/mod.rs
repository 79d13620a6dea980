//! One job on many hosts: shared memory between ranks of a host, TCP between hosts.
//!
//! Each pair of ranks has one route for the whole job, so that messages of a pair never overtake each other. The port
//! claims what both routes can do: control messages. Remote memory, segments and the barrier by flags belong to one host,
//! and a claim holds for every pair. Ranks of a host can still share a segment that the program asks for.

mod gathering;

pub use gathering::Gathering;

use crate::shm::ShmPort;
use crate::store::Lend;
use crate::tcp::{self, Streams};
use hotlink_fabric::units::{Rate, Time};
use hotlink_port::{
    Align, Attachment, Engine, Event, Head, Host, Key, Kind, Limits, Memory, Note, Op, Operation, Payload, Port,
    Posted, Rank, Refusal, Span, Work,
};
use std::time::{Duration, Instant};

/// Polls of shared memory from one poll of the connections to the next: one of these is a system call.
const POLLS: u32 = 8;
/// The time between checks for new connections.
const LOOK: Duration = Duration::from_millis(1);

/// One process's door to a job on several hosts.
pub struct MixedPort {
    rank: Rank,
    limits: Limits,
    /// To the ranks of this host, which it knows by their place in `group`.
    shm: ShmPort,
    streams: Streams,
    /// Of every rank: its place in `group`, if it is on this host.
    place: Vec<Option<Rank>>,
    /// The ranks of this host.
    group: Vec<Rank>,
    /// The last event came over a connection.
    is_far: bool,
    /// Polls of shared memory before the next of the connections.
    until_far: u32,
    looked: Instant,
}

impl MixedPort {
    fn has_far(&self) -> bool {
        self.group.len() < self.place.len()
    }
    /// A refusal in the names of the whole job.
    fn outward(&self, posted: Posted) -> Posted {
        match posted {
            Posted::Refused(refusal) => Posted::Refused(self.named(refusal)),
            other => other,
        }
    }
    fn named(&self, refusal: Refusal) -> Refusal {
        match refusal {
            Refusal::PeerGone(local) => Refusal::PeerGone(self.group[local as usize]),
            other => other,
        }
    }
    /// A key of this host in the names of the whole job.
    fn outside(&self, key: Key) -> Key {
        Key { rank: self.group[key.rank as usize], ..key }
    }
    /// The reverse: no rank reaches another host's memory.
    fn inside(&self, key: Key) -> Result<Key, Refusal> {
        let local = self.place.get(key.rank as usize).ok_or(Refusal::NoRank)?;
        Ok(Key { rank: local.ok_or(Refusal::Unsupported)?, ..key })
    }
    pub(crate) fn shm_mut(&mut self) -> &mut ShmPort {
        &mut self.shm
    }
    /// The first of the ranks that this one shares memory with.
    pub(crate) fn host(&self) -> Rank {
        self.group[0]
    }
    fn near(&self, event: Event) -> Event {
        match event {
            Event::Control { from, head, bytes } => Event::Control { from: self.group[from as usize], head, bytes },
            Event::PeerGone(local) => Event::PeerGone(self.group[local as usize]),
            Event::PeerLeft(local) => Event::PeerLeft(self.group[local as usize]),
            Event::Revoked(key) => Event::Revoked(self.outside(key)),
            Event::Failed(token, refusal) => Event::Failed(token, self.named(refusal)),
            other => other,
        }
    }
    fn poll_far(&mut self) -> Option<Event> {
        let event = self.streams.poll()?;
        self.is_far = true;
        self.shm.stir();
        Some(event)
    }
    fn poll_near(&mut self) -> Option<Event> {
        self.shm.poll().map(|event| self.near(event))
    }
}

impl Port for MixedPort {
    fn rank(&self) -> Rank {
        self.rank
    }
    fn ranks(&self) -> u32 {
        self.place.len() as u32
    }
    fn limits(&self) -> &Limits {
        &self.limits
    }
    fn now(&self) -> Time {
        self.shm.now()
    }
    fn post(&mut self, op: &Op<'_>) -> Posted {
        let Op::Control { to, ref head, ref payload } = *op else { return Posted::Refused(Refusal::Unsupported) };
        match self.place.get(to as usize) {
            None => Posted::Refused(Refusal::NoRank),
            Some(None) => self.streams.send(self.shm.store(), to, head, payload),
            Some(&Some(local)) => {
                let posted = self.shm.post(&Op::Control { to: local, head: *head, payload: *payload });
                self.outward(posted)
            }
        }
    }
    fn post_row(&mut self, to: Rank, head: Head, memory: Memory, offset: u64, bytes: u64) -> Posted {
        match self.place.get(to as usize) {
            Some(&Some(local)) => {
                let posted = self.shm.post_row(local, head, memory, offset, bytes);
                self.outward(posted)
            }
            _ => self.post(&Op::Control { to, head, payload: Payload::of(Span::new(memory, offset, bytes)) }),
        }
    }
    fn poll(&mut self) -> Option<Event> {
        if std::mem::replace(&mut self.is_far, false) {
            self.streams.release();
        }
        if !self.has_far() {
            return self.poll_near();
        }
        // Neither route can keep the other from being polled, however much comes over it.
        if self.until_far == 0 {
            self.until_far = POLLS;
            return self.poll_far().or_else(|| self.poll_near());
        }
        self.until_far -= 1;
        self.poll_near()
    }
    fn deliver(&mut self, at: u64, to: Span) -> Result<(), Refusal> {
        if !self.is_far {
            return self.shm.deliver(at, to);
        }
        let end = at.checked_add(to.bytes()).ok_or(Refusal::OutOfBounds)?;
        let part = self.streams.payload().get(at as usize..end as usize).ok_or(Refusal::OutOfBounds)?;
        self.shm.store_mut().unpack(part, to)
    }
    fn peek(&self, at: u64, into: &mut [u8]) -> usize {
        if !self.is_far {
            return self.shm.peek(at, into);
        }
        let payload = self.streams.payload().get(at as usize..).unwrap_or_default();
        let bytes = payload.len().min(into.len());
        into[..bytes].copy_from_slice(&payload[..bytes]);
        bytes
    }
    fn idle(&mut self, until: Time) {
        if self.streams.has_events() {
            return;
        }
        self.shm.idle(until);
        // The next poll checks the connections: a rank that rests may rest for long.
        self.until_far = 0;
        if self.has_far() && self.looked.elapsed() > LOOK {
            self.looked = Instant::now();
            self.streams.tend();
        }
    }
    #[inline]
    fn listens(&self) -> bool {
        self.shm.listens()
    }
    fn note(&mut self, note: Note) {
        self.shm.note(note);
    }
    fn close(&mut self) {
        self.shm.close();
        self.streams.close();
    }
}

#[allow(unsafe_code)]
impl Lend for MixedPort {
    unsafe fn lend(&mut self, start: *mut u8, bytes: u64) -> Memory {
        // SAFETY: the caller keeps what the store asks for.
        unsafe { self.shm.lend(start, bytes) }
    }
    fn start(&self, memory: Memory) -> Result<*mut u8, Refusal> {
        Lend::start(&self.shm, memory)
    }
    fn mapped(&self, attachment: Attachment) -> Result<*mut u8, Refusal> {
        self.shm.mapped(attachment)
    }
}

impl Host for MixedPort {
    fn alloc(&mut self, bytes: u64, kind: Kind, align: Align) -> Result<Memory, Refusal> {
        match kind {
            Kind::Default => self.shm.alloc(bytes, Kind::Private, align),
            kind => self.shm.alloc(bytes, kind, align),
        }
    }
    fn free(&mut self, memory: Memory) -> Result<(), Refusal> {
        self.shm.free(memory)
    }
    fn size(&self, memory: Memory) -> Result<u64, Refusal> {
        self.shm.size(memory)
    }
    fn kind(&self, memory: Memory) -> Result<Kind, Refusal> {
        self.shm.kind(memory)
    }
    fn read(&self, memory: Memory, offset: u64, into: &mut [u8]) -> Result<(), Refusal> {
        self.shm.read(memory, offset, into)
    }
    fn write(&mut self, memory: Memory, offset: u64, from: &[u8]) -> Result<(), Refusal> {
        self.shm.write(memory, offset, from)
    }
    fn copy(&mut self, from: Span, to: Span) -> Result<(), Refusal> {
        self.shm.copy(from, to)
    }
    fn combine(&mut self, operation: Operation, other: Span, into: Span) -> Result<(), Refusal> {
        self.shm.combine(operation, other, into)
    }
    fn register(&mut self, memory: Memory) -> Result<Key, Refusal> {
        // Ordinary memory is no other rank's to reach: messages take one route for all pairs.
        if self.shm.kind(memory)? != Kind::Shared {
            return Err(Refusal::Unsupported);
        }
        self.shm.register(memory).map(|key| self.outside(key))
    }
    fn unregister(&mut self, key: Key) -> Result<(), Refusal> {
        self.shm.unregister(self.inside(key)?)
    }
    fn attach(&mut self, key: Key, engine: Engine) -> Result<Attachment, Refusal> {
        self.shm.attach(self.inside(key)?, engine)
    }
    fn detach(&mut self, attachment: Attachment) -> Result<(), Refusal> {
        self.shm.detach(attachment)
    }
    fn compute(&mut self, work: Work) {
        self.shm.compute(work);
    }
}

impl Drop for MixedPort {
    fn drop(&mut self) {
        self.close();
    }
}

fn limits(near: &Limits) -> Limits {
    Limits {
        // The longest that both routes take.
        control_bytes_max: tcp::MESSAGE_MAX.min(near.control_bytes_max),
        inline_bytes: near.inline_bytes,
        post_overhead: Time::from_us(2.0),
        poll_overhead: Time::from_us(2.0),
        latency: Time::from_us(8.0),
        rate: Rate::from_mbps(3000.0),
        copy_rate: near.copy_rate,
        ..Limits::messages("shared memory and TCP")
    }
}
