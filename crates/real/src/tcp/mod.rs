//! TCP between processes: the kernel's own path, for comparison and for ports without shared memory.

mod meeting;
mod peer;
mod streams;

pub use meeting::Meeting;
pub(crate) use streams::Streams;

use crate::clock::Clock;
use crate::idle::Idler;
use crate::ranks::Doors;
use crate::store::{Lend, Store};
use hotlink_fabric::units::{Rate, Time};
use hotlink_port::{
    Align, Event, Head, Host, Kind, Limits, Memory, Note, Op, Operation, Payload, Port, Posted, Rank, Refusal, Span,
    Work,
};
use hotlink_seats::{Account, Waits};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Longest payload of a message.
pub(crate) const MESSAGE_MAX: u64 = 64 << 10;
/// Length of payload, kind, four words of head.
const FRAME: usize = 40;
const USER: u32 = 0;
const CLOSE: u32 = 1;
/// Most ranks.
pub(crate) const MAX_RANKS: u32 = 1024;
/// How long a rank waits for another that has met it already.
const CONNECT_LIMIT: Duration = crate::crew::MEET_LIMIT;
/// Messages to itself that a rank has not taken.
const OWN_MAX: usize = 256;

impl Doors for Meeting {
    type Port = TcpPort;
    fn open(&self, rank: Rank) -> io::Result<TcpPort> {
        let ranks = self.addresses.len() as u32;
        // Where launched ranks run, only their launcher knows.
        let here = if self.board.is_some() { ranks } else { 1 };
        let account = self.waits.as_ref().map(|waits| Account::new(waits, rank));
        let mut idler = Idler::new(self.oversubscribed).sharing(here).telling(account);
        idler.look_by_calls();
        Ok(TcpPort {
            rank,
            ranks,
            limits: limits(),
            clock: self.clock,
            store: Store::new(None),
            streams: self.streams(rank, |_| true)?,
            own: VecDeque::new(),
            current: None,
            idler,
        })
    }
    fn bury(&self, rank: Rank) {
        self.mark_dead(rank);
    }
    fn waits(&self) -> Option<Arc<Waits>> {
        self.waits.clone()
    }
}

/// One process's door to its job over TCP.
pub struct TcpPort {
    rank: Rank,
    ranks: u32,
    limits: Limits,
    clock: Clock,
    store: Store,
    streams: Streams,
    /// Messages to this rank itself.
    own: VecDeque<(Head, Vec<u8>)>,
    /// The one of them whose payload can be taken.
    current: Option<Vec<u8>>,
    idler: Idler,
}

impl TcpPort {
    fn control(&mut self, to: Rank, head: &Head, payload: &Payload<'_>) -> Posted {
        if to != self.rank {
            return self.streams.send(&self.store, to, head, payload);
        }
        if payload.bytes() > MESSAGE_MAX {
            return Posted::Refused(Refusal::TooLong(MESSAGE_MAX));
        }
        if self.own.len() >= OWN_MAX {
            return Posted::Busy;
        }
        let mut bytes = vec![0; payload.bytes() as usize];
        match payload {
            Payload::None => {}
            Payload::Bytes(from) => bytes.copy_from_slice(from),
            Payload::Span(span) => {
                if let Err(refusal) = self.store.pack(*span, &mut bytes) {
                    return Posted::Refused(refusal);
                }
            }
        }
        self.own.push_back((*head, bytes));
        Posted::Accepted
    }
    fn payload(&self) -> &[u8] {
        self.current.as_deref().unwrap_or_else(|| self.streams.payload())
    }
}

impl Port for TcpPort {
    fn rank(&self) -> Rank {
        self.rank
    }
    fn ranks(&self) -> u32 {
        self.ranks
    }
    fn limits(&self) -> &Limits {
        &self.limits
    }
    fn now(&self) -> Time {
        self.clock.now()
    }
    fn post(&mut self, op: &Op<'_>) -> Posted {
        match *op {
            Op::Control { to, ref head, ref payload } => self.control(to, head, payload),
            _ => Posted::Refused(Refusal::Unsupported),
        }
    }
    fn poll(&mut self) -> Option<Event> {
        self.current = None;
        if let Some((head, bytes)) = self.own.pop_front() {
            self.streams.release();
            self.idler.reset();
            let event = Event::Control { from: self.rank, head, bytes: bytes.len() as u64 };
            self.current = Some(bytes);
            return Some(event);
        }
        let event = self.streams.poll();
        if event.is_some() {
            self.idler.reset();
        }
        event
    }
    fn deliver(&mut self, at: u64, to: Span) -> Result<(), Refusal> {
        let payload = self.current.as_deref().unwrap_or_else(|| self.streams.payload());
        let end = at.checked_add(to.bytes()).ok_or(Refusal::OutOfBounds)?;
        let part = payload.get(at as usize..end as usize).ok_or(Refusal::OutOfBounds)?;
        self.store.unpack(part, to)
    }
    fn peek(&self, at: u64, into: &mut [u8]) -> usize {
        let payload = self.payload().get(at as usize..).unwrap_or_default();
        let bytes = payload.len().min(into.len());
        into[..bytes].copy_from_slice(&payload[..bytes]);
        bytes
    }
    fn idle(&mut self, until: Time) {
        let TcpPort { own, streams, idler, .. } = self;
        if !own.is_empty() || streams.has_events() {
            return;
        }
        let is_time = match idler.sleeps_at_once() {
            true => idler.rest_by(until, |time| streams.nap(time)),
            false => idler.rest(until),
        };
        if is_time {
            streams.tend();
        }
    }
    #[inline]
    fn listens(&self) -> bool {
        self.idler.listens()
    }
    fn note(&mut self, note: Note) {
        if self.idler.listens() {
            self.idler.hear(note);
        }
    }
    fn close(&mut self) {
        self.streams.close();
    }
}

#[allow(unsafe_code)]
impl Lend for TcpPort {
    unsafe fn lend(&mut self, start: *mut u8, bytes: u64) -> Memory {
        // SAFETY: the caller keeps what the store asks for.
        unsafe { self.store.lend(start, bytes) }
    }
    fn start(&self, memory: Memory) -> Result<*mut u8, Refusal> {
        self.store.start(memory)
    }
}

impl Host for TcpPort {
    fn alloc(&mut self, bytes: u64, kind: Kind, align: Align) -> Result<Memory, Refusal> {
        self.store.alloc(bytes, kind, align)
    }
    fn free(&mut self, memory: Memory) -> Result<(), Refusal> {
        self.store.free(memory)
    }
    fn size(&self, memory: Memory) -> Result<u64, Refusal> {
        self.store.size(memory)
    }
    fn kind(&self, memory: Memory) -> Result<Kind, Refusal> {
        self.store.kind(memory)
    }
    fn read(&self, memory: Memory, offset: u64, into: &mut [u8]) -> Result<(), Refusal> {
        self.store.read(memory, offset, into)
    }
    fn write(&mut self, memory: Memory, offset: u64, from: &[u8]) -> Result<(), Refusal> {
        self.store.write(memory, offset, from)
    }
    fn copy(&mut self, from: Span, to: Span) -> Result<(), Refusal> {
        self.store.copy(from, to)
    }
    fn combine(&mut self, operation: Operation, other: Span, into: Span) -> Result<(), Refusal> {
        self.store.combine(operation, other, into)
    }
    fn compute(&mut self, work: Work) {
        self.store.compute(work, &self.clock);
    }
}

impl Drop for TcpPort {
    fn drop(&mut self) {
        self.close();
    }
}

fn limits() -> Limits {
    Limits {
        control_bytes_max: MESSAGE_MAX,
        inline_bytes: 1024,
        post_overhead: Time::from_us(2.0),
        poll_overhead: Time::from_us(2.0),
        latency: Time::from_us(8.0),
        rate: Rate::from_mbps(3000.0),
        copy_rate: Rate::from_mbps(10_000.0),
        ..Limits::messages("TCP")
    }
}
