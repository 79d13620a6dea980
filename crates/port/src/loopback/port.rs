//! One rank's port: its own seat in the world that all share.

use super::{Arrival, Payloaded, SETUP, Seat, World};
use crate::{
    Align, Attachment, Engine, Event, Head, Host, Key, Kind, Limits, Memory, Note, Op, Payload, Port, Posted, Rank,
    Refusal, RemoteSpan, Span, Token, Work,
};
use hotlink_fabric::units::Time;
use std::cell::RefCell;
use std::rc::Rc;

/// One rank's port of a `Loopback`.
pub struct LoopbackPort {
    pub(super) world: Rc<RefCell<World>>,
    pub(super) rank: Rank,
    pub(super) limits: Limits,
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
            Op::Barrier { .. } | Op::Broadcast { .. } | Op::Reduce { .. } => Posted::Refused(Refusal::Unsupported),
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
    fn note(&mut self, note: Note) {
        // Ranks have no common clock here: what counts is the order in which they run.
        let world = &mut *self.world.borrow_mut();
        match note {
            Note::EntersBarrier => world.barriers.enter(self.rank, 0),
            Note::LeavesBarrier => world.wrong = world.barriers.leave(self.rank, 0).or(world.wrong.take()),
            Note::Waits { .. } | Note::Calls => {}
        }
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
            seat.now += SETUP.0;
            Ok(Key { rank: self.rank, id, bytes })
        })
    }
    fn unregister(&mut self, key: Key) -> Result<(), Refusal> {
        let known = key.rank == self.rank && self.seat(|seat| seat.exports.remove(&key.id).is_some());
        if !known {
            return Err(Refusal::Gone);
        }
        self.seat(|seat| seat.now += SETUP.0);
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
        seat.now += SETUP.0;
        Ok(Attachment(id))
    }
    fn detach(&mut self, attachment: Attachment) -> Result<(), Refusal> {
        self.seat(|seat| {
            seat.attached.remove(&attachment.0).ok_or(Refusal::Gone)?;
            seat.now += SETUP.0;
            Ok(())
        })
    }
    fn compute(&mut self, work: Work) {
        let time = match work {
            Work::Fixed(time) | Work::Rest(time) => time,
            Work::Mark { .. } => Time::ZERO,
            Work::Daxpy { turns, .. } => Time(turns * 1000),
            Work::Stress { bytes } => Time(bytes * 200),
            Work::Own { streamed, scattered } => Time(streamed * 100 + scattered * 5000),
        };
        self.seat(|seat| seat.now += time.0);
    }
}
