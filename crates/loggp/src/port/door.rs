//! One rank's port.

use super::seat::{Flight, Seat};
use super::work::Job;
use super::world::World;
use crate::machine::Cost;
use hotlink_event::NONE;
use hotlink_fabric::units::Time;
use hotlink_port::{
    Align, Attachment, Event, Head, Host, Key, Kind, Layout, Limits, Memory, Note, Op, Payload, Port, Posted, Rank,
    Refusal, STREAM_BYTES, Span, Task, Work,
};
use std::cell::RefCell;
use std::rc::Rc;

/// One rank's port on a [`LogGp`](super::LogGp) machine.
pub struct LogGpPort {
    pub(super) world: Rc<RefCell<World>>,
    pub(super) rank: Rank,
    pub(super) limits: Rc<Limits>,
}

impl LogGpPort {
    fn seat<T>(&self, work: impl FnOnce(&mut Seat) -> T) -> T {
        work(&mut self.world.borrow_mut().seats[self.rank as usize])
    }
    fn control(&self, to: Rank, head: Head, payload: &Payload<'_>) -> Result<(), Refusal> {
        let (bytes, most) = (payload.bytes(), self.limits.control_bytes_max);
        if bytes > most {
            return Err(Refusal::TooLong(most));
        }
        let world = &mut *self.world.borrow_mut();
        if to as usize >= world.seats.len() {
            return Err(Refusal::NoRank);
        }
        let seat = &mut world.seats[self.rank as usize];
        let (data, working) = match payload {
            Payload::None => (Some(Vec::new()), 0),
            Payload::Bytes(bytes) => (Some(bytes.to_vec()), 0),
            Payload::Span(span) => (seat.blocks.pack(span)?, seat.uses(span.memory, span.offset, bytes)),
        };
        let is_own = to == self.rank;
        let is_carried = world.machine.is_carried() && !is_own;
        let place = world.keep(Flight { from: self.rank, to, head, bytes, data, is_carried, next: NONE });
        if is_carried {
            world.ask(self.rank, Job::Carry { place, working });
        } else if is_own {
            self.send_own(world, place, working);
        } else {
            world.send(place);
        }
        Ok(())
    }
    /// A rank's message to itself. It takes as long as measured, all of it the processor's; else as to any other rank.
    fn send_own(&self, world: &mut World, place: u32, working: u64) {
        let bytes = world.flights[place as usize].bytes;
        match world.machine.message_to_self(bytes, working) {
            Some(ps) if world.seats[self.rank as usize].is_working() => {
                world.ask(self.rank, Job::Own { place, ps });
            }
            Some(ps) => {
                world.charge(self.rank, Task::Copy, ps);
                let at = world.seats[self.rank as usize].now;
                world.arrive_own(place, at);
            }
            None => {
                world.settle(self.rank);
                world.send(place);
            }
        }
    }
    /// Spends what something costs; what the machine does not state is free, and noted.
    fn spend(world: &mut World, rank: Rank, task: Task, cost: Cost) {
        match cost {
            Ok(0) => {}
            Ok(ps) => world.charge(rank, task, ps),
            Err(missing) => _ = world.missing.insert(missing),
        }
    }
    /// The program moves bytes between its own data and memory of the port. That is free, unless the machine states the
    /// cost of copies. A program that was measured has made them.
    fn moves(&self, memory: Memory, offset: u64, bytes: u64) {
        let world = &mut *self.world.borrow_mut();
        let working = world.seats[self.rank as usize].uses(memory, offset, bytes);
        world.seats[self.rank as usize].streams(bytes);
        let cost = world.machine.program_copy(bytes, world.seats.len() as u32, working);
        LogGpPort::spend(world, self.rank, Task::Copy, Ok(cost));
    }
}

impl Port for LogGpPort {
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
        let mut world = self.world.borrow_mut();
        world.settle(self.rank);
        Time(world.seats[self.rank as usize].now)
    }
    fn glance(&self) -> Time {
        self.seat(|seat| Time(seat.now))
    }
    fn post(&mut self, op: &Op<'_>) -> Posted {
        match *op {
            Op::Control { to, head, ref payload } => match self.control(to, head, payload) {
                Ok(()) => Posted::Accepted,
                Err(refusal) => Posted::Refused(refusal),
            },
            _ => Posted::Refused(Refusal::Unsupported),
        }
    }
    fn poll(&mut self) -> Option<Event> {
        let world = &mut *self.world.borrow_mut();
        let last = std::mem::replace(&mut world.seats[self.rank as usize].current, NONE);
        if last != NONE {
            world.forget(last);
        }
        // A processor takes a message when it is done with what it was asked for before.
        if world.seats[self.rank as usize].is_working() {
            return None;
        }
        let place = world.take(self.rank)?;
        world.took(place);
        let Flight { from, head, bytes, is_carried, .. } = world.flights[place as usize];
        let is_own = from == self.rank && world.machine.message_to_self(bytes, 0).is_some();
        let over = if is_carried { bytes.min(1) } else { bytes };
        let work = if is_own { 0 } else { world.machine.messages.work(over) };
        let seat = &mut world.seats[self.rank as usize];
        (seat.current, seat.now) = (place, seat.now + work);
        seat.busy.add(Task::Software, work);
        if let Some(work) = &mut seat.work {
            work.breaks_row();
        }
        if !is_own {
            world.record(|recorder| recorder.recv(self.rank, from, 0, over));
        }
        Some(Event::Control { from, head, bytes })
    }
    fn deliver(&mut self, at: u64, to: Span) -> Result<(), Refusal> {
        let world = &mut *self.world.borrow_mut();
        let seat = &mut world.seats[self.rank as usize];
        if seat.current == NONE {
            return Err(Refusal::OutOfBounds);
        }
        // The message's own cost holds the path to its place.
        let flight = &world.flights[seat.current as usize];
        let end = at.checked_add(to.bytes()).filter(|&end| end <= flight.bytes).ok_or(Refusal::OutOfBounds)?;
        seat.blocks.unpack(&to, flight.data.as_ref().map(|data| &data[at as usize..end as usize]))?;
        seat.uses(to.memory, to.offset, to.bytes());
        Ok(())
    }
    fn peek(&self, at: u64, into: &mut [u8]) -> usize {
        let world = self.world.borrow();
        let current = world.seats[self.rank as usize].current;
        let flight = world.flights.get(current as usize).filter(|_| current != NONE);
        let part = flight.and_then(|flight| flight.data.as_ref()?.get(at as usize..)).unwrap_or_default();
        let len = part.len().min(into.len());
        into[..len].copy_from_slice(&part[..len]);
        len
    }
    fn idle(&mut self, until: Time) {
        self.seat(|seat| (seat.idle, seat.until) = (true, until.0));
    }
    fn close(&mut self) {
        self.seat(|seat| seat.closed = true);
    }
    fn note(&mut self, note: Note) {
        let world = &mut *self.world.borrow_mut();
        match note {
            Note::Calls => {
                let cost = world.machine.collective();
                LogGpPort::spend(world, self.rank, Task::Software, Ok(cost));
            }
            Note::EntersBarrier => {
                let now = world.seats[self.rank as usize].now;
                world.barriers.enter(self.rank, now);
            }
            Note::LeavesBarrier => {
                let now = world.seats[self.rank as usize].now;
                if let Some(wrong) = world.barriers.leave(self.rank, now) {
                    world.failure.get_or_insert(wrong);
                }
            }
            Note::Waits { peer, tag, .. } => world.seats[self.rank as usize].awaits = Some((peer, tag)),
        }
    }
}

impl Host for LogGpPort {
    fn alloc(&mut self, bytes: u64, kind: Kind, align: Align) -> Result<Memory, Refusal> {
        let kind = match kind {
            Kind::Default => Kind::Private,
            Kind::Shared => return Err(Refusal::Unsupported),
            other => other,
        };
        self.seat(|seat| seat.blocks.alloc(bytes, kind, align))
    }
    fn free(&mut self, memory: Memory) -> Result<(), Refusal> {
        self.seat(|seat| {
            if let Some(reuse) = &mut seat.reuse {
                reuse.forget(memory);
            }
            seat.blocks.free(memory)
        })
    }
    fn size(&self, memory: Memory) -> Result<u64, Refusal> {
        self.seat(|seat| seat.blocks.size(memory))
    }
    fn kind(&self, memory: Memory) -> Result<Kind, Refusal> {
        self.seat(|seat| seat.blocks.kind(memory))
    }
    fn read(&self, memory: Memory, offset: u64, into: &mut [u8]) -> Result<(), Refusal> {
        self.seat(|seat| seat.blocks.read(memory, offset, into))?;
        self.moves(memory, offset, into.len() as u64);
        Ok(())
    }
    fn write(&mut self, memory: Memory, offset: u64, from: &[u8]) -> Result<(), Refusal> {
        let to = Span::new(memory, offset, from.len() as u64);
        self.seat(|seat| seat.blocks.unpack(&to, Some(from)))?;
        self.moves(memory, offset, from.len() as u64);
        Ok(())
    }
    fn copy(&mut self, from: Span, to: Span) -> Result<(), Refusal> {
        let world = &mut *self.world.borrow_mut();
        let ranks = world.seats.len() as u32;
        let seat = &mut world.seats[self.rank as usize];
        seat.blocks.copy(&from, &to)?;
        let bytes = to.bytes();
        let working = seat.uses(from.memory, from.offset, bytes);
        seat.uses(to.memory, to.offset, bytes);
        match world.machine.copy(bytes, ranks, working) {
            Ok(beside) if world.machine.is_carried() && bytes >= STREAM_BYTES => {
                let alone = world.machine.alone(bytes);
                world.ask(self.rank, Job::Copy { beside, alone });
            }
            cost => LogGpPort::spend(world, self.rank, Task::Copy, cost),
        }
        Ok(())
    }
    fn unregister(&mut self, _: Key) -> Result<(), Refusal> {
        Err(Refusal::Gone)
    }
    fn detach(&mut self, _: Attachment) -> Result<(), Refusal> {
        Err(Refusal::Gone)
    }
    fn compute(&mut self, work: Work) {
        let world = &mut *self.world.borrow_mut();
        let ranks = world.seats.len() as u32;
        let cost = match work {
            Work::Mark { edge, members } => return world.mark(self.rank, edge, members),
            Work::Fixed(time) | Work::Rest(time) => Ok(time.0),
            Work::Daxpy { .. } => world.machine.daxpy(),
            Work::Stress { bytes } => world.machine.copy(bytes, ranks, 2 * bytes),
            Work::Own { streamed, scattered } => {
                world.seats[self.rank as usize].streams(streamed);
                world.machine.own(streamed, scattered, ranks)
            }
        };
        LogGpPort::spend(world, self.rank, work.task(), cost);
    }
}

/// What the ports claim.
pub(super) fn limits(machine: &crate::Machine) -> Limits {
    let messages = &machine.messages;
    let long = 1 << 20;
    let rate = |ps: u64| hotlink_fabric::units::Rate((long as u128 * 1_000_000_000_000 / u128::from(ps.max(1))) as u64);
    let overhead = messages.overhead;
    let transit = machine.carry(long, false).max(messages.transit(long));
    Limits {
        real_time: false,
        clock_step: Time(1),
        control_bytes_max: 1 << 40,
        whole_messages: true,
        ghosts: true,
        post_overhead: overhead,
        poll_overhead: overhead,
        latency: messages.latency + overhead + overhead,
        rate: rate(transit),
        copy_rate: rate(machine.copy(Layout::contiguous(long).bytes(), 1, 0).unwrap_or(0)),
        ..Limits::messages(format!("LogGP ({})", machine.name()))
    }
}
