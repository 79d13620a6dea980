//! [`SimPort`]: one rank's door to the simulated fabric.

use super::family::Family;
use super::flight::{Flight, Phase, Transfer, What};
use super::seat::Seat;
use super::world::World;
use crate::plan::NONE;
use hotlink_fabric::units::Time;
use hotlink_port::blocks::{Elsewhere, PAGE, inside};
use hotlink_port::{
    Align, Attachment, DepositLimits, Engine, Event, Head, Host, Key, Kind, Layout, Limits, Lodge, Memory, Note, Op,
    Payload, Port, Posted, Rank, Refusal, RemoteSpan, Share, Span, Task, Token, Work,
};
use std::cell::RefCell;
use std::rc::Rc;

/// Clocks count picoseconds: further on, sums of them would no longer be held.
const LONGEST: Time = Time(u64::MAX / 4);

/// One rank's port on a simulated fabric.
pub struct SimPort<'a> {
    pub(super) world: Rc<RefCell<World<'a>>>,
    pub(super) rank: Rank,
    pub(super) limits: Rc<Limits>,
}

/// A deposit or fetch as it is posted.
struct Move {
    local: Span,
    remote: RemoteSpan,
    deposit: bool,
    engine: Engine,
    token: Token,
}

impl SimPort<'_> {
    fn seat<T>(&self, work: impl FnOnce(&mut Seat) -> T) -> T {
        work(&mut self.world.borrow_mut().seats[self.rank as usize])
    }
    fn charge(&self, task: Task, time: Time) {
        self.seat(|seat| seat.spend(task, time.0));
    }

    /// The kind of memory that is had where a program asks for this one.
    fn kind_of(&self, kind: Kind) -> Result<Kind, Refusal> {
        match kind {
            Kind::Default if self.limits.segments => Ok(Kind::Shared),
            Kind::Default => Ok(Kind::Private),
            Kind::Shared if !self.limits.segments => Err(Refusal::Unsupported),
            other => Ok(other),
        }
    }

    /// Must be pinned before the adapter reaches it; ghosts are like the port's usual memory.
    fn is_private(&self, kind: Kind) -> bool {
        kind == Kind::Private || (kind == Kind::Ghost && !self.limits.segments)
    }

    fn control(&self, to: Rank, head: Head, payload: &Payload<'_>) -> Result<Posted, Refusal> {
        let (bytes, most) = (payload.bytes(), self.limits.control_bytes_max);
        if bytes > most {
            return Err(Refusal::TooLong(most));
        }
        if to >= self.ranks() {
            return Err(Refusal::NoRank);
        }
        let mut world = self.world.borrow_mut();
        let queue = world.adapter.queue;
        let seat = world.seat(self.rank);
        let data = match payload {
            Payload::None => Some(Vec::new()),
            Payload::Bytes(bytes) => Some(bytes.to_vec()),
            Payload::Span(span) => seat.blocks.pack(span)?,
        };
        if seat.untaken >= queue {
            seat.blocked = true;
            return Ok(Posted::Busy);
        }
        seat.untaken += 1;
        seat.spend(Task::Software, self.limits.post_overhead.0);
        let mut flight = Flight { head, bytes, ghost: data.is_none(), ..Flight::new(What::Control, self.rank, to) };
        flight.data = data.unwrap_or_default();
        self.hand_over(&mut world, flight);
        Ok(Posted::Accepted)
    }
    /// A control message leaves the processor.
    fn hand_over(&self, world: &mut World<'_>, mut flight: Flight) {
        let (busy, pace) = world.adapter.hand_over(flight.bytes);
        let (latency, gap, to) = (world.adapter.latency_ps, world.adapter.gap_ps, flight.to);
        let task = world.adapter.hands_over_by();
        let seat = world.seat(self.rank);
        let begun = seat.now;
        seat.spend(task, busy.0);
        let leaves = seat.now;
        if world.is_near(self.rank, to) {
            flight.phase = Phase::Local;
            // A rank's own message is there once it has handed it over: programs look for it in their next call.
            let at = if to == self.rank { 0 } else { leaves };
            let place = world.add(flight);
            return world.at(at, place);
        }
        flight.pace = pace;
        let seat = world.seat(self.rank);
        let at = (begun + pace.lead_ps + latency).max(seat.nic_free);
        seat.nic_free = at + gap;
        world.share_adapter(self.rank);
        let place = world.add(flight);
        world.at(at, place);
    }

    fn transfer(&self, what: &Move) -> Result<Posted, Refusal> {
        let claim = if what.deposit { self.limits.deposit } else { self.limits.fetch };
        let claim = claim.ok_or(Refusal::Unsupported)?;
        let mut world = self.world.borrow_mut();
        let key = self.check(&world, what, &claim)?;
        let by_dma = what.engine == Engine::Dma;
        let (dma_queue, moving) = (world.adapter.dma_queue, world.moving(self.rank));
        let seat = world.seat(self.rank);
        if by_dma && moving >= dma_queue {
            seat.blocked = true;
            return Ok(Posted::Busy);
        }
        let (local, layout, offset) = (what.local, what.remote.layout, what.remote.offset);
        let kind = if what.deposit { What::Deposit } else { What::Fetch };
        let mut flight = Flight { bytes: local.bytes(), ..Flight::new(kind, self.rank, key.rank) };
        if what.deposit {
            let data = seat.blocks.pack(&local)?;
            (flight.ghost, flight.data) = (data.is_none(), data.unwrap_or_default());
        } else {
            seat.blocks.check(&local)?;
            flight.phase = Phase::Request;
        }
        seat.moving += u32::from(by_dma);
        seat.spend(Task::Software, self.limits.post_overhead.0);
        flight.transfer =
            Some(Box::new(Transfer { token: what.token, local, key, offset, layout, by_dma, result: Ok(()) }));
        self.launch(&mut world, flight, what);
        Ok(Posted::Accepted)
    }
    /// What must hold before a transfer starts; the export that it reaches.
    fn check(&self, world: &World<'_>, what: &Move, claim: &DepositLimits) -> Result<Key, Refusal> {
        let (local, remote) = (&what.local, &what.remote);
        let seat = &world.seats[self.rank as usize];
        let setups = seat.setups.as_ref().ok_or(Refusal::Gone)?;
        let import = setups.imported(remote.attachment).ok_or(Refusal::Gone)?;
        let by_dma = what.engine == Engine::Dma;
        if !(if by_dma { claim.dma } else { claim.pio }) {
            return Err(Refusal::Unsupported);
        }
        if !by_dma && import.engine == Engine::Dma {
            return Err(Refusal::NotReady);
        }
        if local.bytes() != remote.layout.bytes() {
            return Err(Refusal::OutOfBounds);
        }
        inside(import.key.bytes, remote.offset, &remote.layout)?;
        seat.blocks.check(local)?;
        if local.bytes() > claim.bytes_max {
            return Err(Refusal::TooLong(claim.bytes_max));
        }
        if !claim.strided && !remote.layout.is_contiguous() {
            return Err(Refusal::Unsupported);
        }
        if by_dma {
            let fits = |begins: u64, layout: &Layout| {
                let stride = if layout.is_contiguous() { 0 } else { layout.stride };
                [begins, layout.block, stride].iter().all(|n| n.is_multiple_of(claim.dma_align))
            };
            let owner = &world.seats[import.key.rank as usize];
            let exported = owner.setups.as_ref().and_then(|setups| setups.exported(import.key.id));
            let there = exported.map_or(Ok(0), |memory| owner.blocks.place(memory))? + remote.offset;
            let here = seat.blocks.place(local.memory)? + local.offset;
            if !fits(here, &local.layout) || !fits(there, &remote.layout) {
                return Err(Refusal::Misaligned(claim.dma_align));
            }
            let private = self.is_private(seat.blocks.kind(local.memory)?);
            if claim.dma_needs_registration && private && setups.exports_of(local.memory).is_empty() {
                return Err(Refusal::NotReady);
            }
        }
        Ok(import.key)
    }
    /// Where in a page a transfer begins in memory of `rank`, if that memory had to be registered.
    fn begins(&self, world: &World<'_>, rank: Rank, memory: Memory, offset: u64) -> Option<u64> {
        let blocks = &world.seats[rank as usize].blocks;
        let private = blocks.kind(memory).is_ok_and(|kind| self.is_private(kind));
        private.then(|| (blocks.place(memory).unwrap_or(0) + offset) % PAGE)
    }
    /// The same at the other end of a transfer.
    fn lands(&self, world: &World<'_>, flight: &Flight) -> Option<u64> {
        let transfer = flight.transfer.as_ref()?;
        let setups = world.seats[flight.to as usize].setups.as_ref()?;
        self.begins(world, flight.to, setups.exported(transfer.key.id)?, transfer.offset)
    }
    /// Sends a transfer on its path, fed by the processor or by the adapter's engine.
    fn launch(&self, world: &mut World<'_>, mut flight: Flight, what: &Move) {
        // The more scattered side decides how it moves.
        let layout = if what.remote.layout.is_contiguous() { what.local.layout } else { what.remote.layout };
        flight.pace = world.adapter.pace(what.engine, &layout);
        if what.engine == Engine::Dma {
            let begins =
                [self.begins(world, self.rank, what.local.memory, what.local.offset), self.lands(world, &flight)];
            flight.pace = world.adapter.paged(flight.pace, flight.bytes, begins);
        }
        let (busy, lead) = (flight.pace.busy_ps(flight.bytes), flight.pace.lead_ps);
        let extra = world.adapter.latency_ps;
        let there = world.latency(self.rank, flight.to);
        let seat = world.seat(self.rank);
        let mut start = seat.now;
        match what.engine {
            // The processor stores until all has left it; a load it waits for.
            Engine::Pio if !what.deposit => seat.spend(Task::Store, busy + 2 * (there + extra)),
            Engine::Pio => {
                seat.spend(Task::Store, busy);
                start += lead;
            }
            // A fetch is fed at the other end.
            Engine::Dma if !what.deposit => start = seat.now.max(seat.dma_free) + flight.pace.setup_ps,
            Engine::Dma => {
                start = seat.now.max(seat.dma_free);
                seat.move_by_engine(start, busy);
                start += lead;
                world.share_adapter(self.rank);
                let there = world.seat(flight.to);
                there.receives = there.receives.max(start + busy);
                if let Some(work) = there.works_during(start).filter(|_| flight.to != self.rank) {
                    let slowed = world.adapter.slowed(work, false);
                    world.seat(flight.to).is_slowed(start, busy, slowed);
                }
                world.share_adapter(flight.to);
            }
        }
        if world.is_near(self.rank, flight.to) {
            // Within a node the adapter is not asked: a copy.
            let whole = Layout::contiguous(flight.bytes);
            let at = start + world.adapter.local.copy(&whole, &layout).0;
            if !what.deposit {
                return self.fetch_near(world, flight, at);
            }
            flight.phase = Phase::Local;
            // What its own processor has stored is there.
            let at = if flight.to == self.rank && what.engine == Engine::Pio { 0 } else { at };
            let place = world.add(flight);
            return world.at(at, place);
        }
        let at = (start + extra).max(world.seats[self.rank as usize].nic_free);
        world.seat(self.rank).nic_free = at + world.adapter.gap_ps;
        world.share_adapter(self.rank);
        let place = world.add(flight);
        world.at(at, place);
    }
    fn fetch_near(&self, world: &mut World<'_>, mut flight: Flight, at: u64) {
        let seat = world.seat(flight.to);
        let copied = flight.transfer.as_ref().map_or(Err(Refusal::Gone), |transfer| {
            let exported = seat.setups.as_ref().and_then(|setups| setups.exported(transfer.key.id));
            let memory = exported.ok_or(Refusal::Gone)?;
            seat.blocks.pack(&Span { memory, offset: transfer.offset, layout: transfer.layout })
        });
        match copied {
            Ok(data) => (flight.ghost, flight.data) = (data.is_none(), data.unwrap_or_default()),
            Err(refusal) => flight.transfer.iter_mut().for_each(|transfer| transfer.result = Err(refusal)),
        }
        flight.phase = Phase::Local;
        let place = world.add(flight);
        world.at(at, place);
    }

    /// The event that a flight in the inbox is.
    fn event(&self, world: &mut World<'_>, place: u32) -> Event {
        let flight = world.flight(place);
        let event = match (&flight.transfer, flight.what) {
            (Some(transfer), _) => match transfer.result {
                Ok(()) => Event::Done(transfer.token),
                Err(refusal) => Event::Failed(transfer.token, refusal),
            },
            (None, What::Revoked(key)) => Event::Revoked(key),
            (None, What::Control) => Event::Control { from: flight.from, head: flight.head, bytes: flight.bytes },
            (None, _) => Event::Done(flight.head[0]),
        };
        let Event::Control { from, bytes, .. } = event else {
            world.forget(place);
            if matches!(event, Event::Revoked(_)) {
                // SCI's driver calls back from an interrupt.
                let now = world.seat(self.rank).now;
                world.interrupt(self.rank, now);
            }
            return event;
        };
        let cost = self.limits.poll_overhead + world.adapter.take_over(bytes);
        let seat = world.seat(self.rank);
        seat.current = place;
        seat.spend(Task::Software, cost.0);
        let now = seat.now;
        world.taken(from, now);
        event
    }
}

impl Port for SimPort<'_> {
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
        let moved =
            |local, remote, deposit, engine, token| self.transfer(&Move { local, remote, deposit, engine, token });
        let posted = match *op {
            Op::Control { to, head, ref payload } => self.control(to, head, payload),
            Op::Deposit { from, to, engine, token } => moved(from, to, true, engine, token),
            Op::Fetch { from, to, engine, token } => moved(to, from, false, engine, token),
            Op::Barrier { token } => self.barrier(token),
            Op::Reduce { share: Share::Root(_) | Share::Parts, .. } => Err(Refusal::Unsupported),
            Op::Reduce { operation, share: Share::All, from, to, token } => self.allreduce(operation, from, to, token),
            Op::Broadcast { .. } => Err(Refusal::Unsupported),
        };
        posted.unwrap_or_else(Posted::Refused)
    }
    fn poll(&mut self) -> Option<Event> {
        let world = &mut *self.world.borrow_mut();
        let seat = &mut world.seats[self.rank as usize];
        let last = std::mem::replace(&mut seat.current, NONE);
        let next = seat.inbox.pop(&mut world.flights.items);
        if last != NONE {
            world.forget(last);
        }
        Some(self.event(world, next?))
    }
    fn deliver(&mut self, at: u64, to: Span) -> Result<(), Refusal> {
        let world = &mut *self.world.borrow_mut();
        let seat = &mut world.seats[self.rank as usize];
        if seat.current == NONE {
            return Err(Refusal::OutOfBounds);
        }
        let flight = &world.flights.items[seat.current as usize];
        let end = at.checked_add(to.bytes()).filter(|&end| end <= flight.bytes).ok_or(Refusal::OutOfBounds)?;
        seat.blocks.unpack(&to, flight.payload().map(|data| &data[at as usize..end as usize]))?;
        let held = seat.blocks.size(to.memory)?;
        let cost = world.adapter.local.take(&to.layout, held);
        seat.spend(Task::Copy, cost.0);
        Ok(())
    }
    fn peek(&self, at: u64, into: &mut [u8]) -> usize {
        let world = self.world.borrow();
        let current = world.seats[self.rank as usize].current;
        let flight = world.flights.items.get(current as usize).filter(|_| current != NONE);
        let part = flight.and_then(|flight| flight.payload()?.get(at as usize..)).unwrap_or_default();
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
        let seat = &mut world.seats[self.rank as usize];
        match note {
            Note::EntersBarrier => world.barriers.enter(self.rank, seat.now),
            Note::LeavesBarrier => {
                if let Some(wrong) = world.barriers.leave(self.rank, seat.now) {
                    world.failure.get_or_insert(wrong);
                }
            }
            Note::Waits { call, peer, tag } => seat.awaits = Some((call, peer, tag)),
            Note::Calls => {}
        }
    }
}

impl Lodge for SimPort<'_> {
    fn lodge(&mut self, bytes: u64, kind: Kind, with: Rc<dyn Elsewhere>) -> Result<Memory, Refusal> {
        let kind = self.kind_of(kind)?;
        Ok(self.seat(|seat| seat.blocks.lodge(bytes, kind, with)))
    }
}

impl Host for SimPort<'_> {
    fn alloc(&mut self, bytes: u64, kind: Kind, align: Align) -> Result<Memory, Refusal> {
        let kind = self.kind_of(kind)?;
        self.seat(|seat| seat.blocks.alloc(bytes, kind, align))
    }
    fn free(&mut self, memory: Memory) -> Result<(), Refusal> {
        self.seat(|seat| seat.blocks.size(memory))?;
        let exports =
            self.seat(|seat| seat.setups.as_ref().map(|setups| setups.exports_of(memory)).unwrap_or_default());
        exports.into_iter().try_for_each(|id| self.unregister(Key { rank: self.rank, id, bytes: 0 }))?;
        self.seat(|seat| seat.blocks.free(memory))
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
        self.seat(|seat| seat.blocks.copy(&from, &to))?;
        let time = self.world.borrow().adapter.local.copy_at((&from.layout, from.offset), (&to.layout, to.offset));
        self.charge(Task::Copy, time);
        Ok(())
    }
    fn register(&mut self, memory: Memory) -> Result<Key, Refusal> {
        let limits = &self.limits.registration;
        let (bytes, kind) = self.seat(|seat| Ok((seat.blocks.size(memory)?, seat.blocks.kind(memory)?)))?;
        if self.limits.deposit.is_none() {
            return Err(Refusal::Unsupported);
        }
        // Whole pages are pinned; a regular segment is from the start.
        let place = self.seat(|seat| seat.blocks.place(memory))?;
        let pin = if self.is_private(kind) { (place + bytes).next_multiple_of(PAGE) } else { 0 };
        let id = self.seat(|seat| seat.setups().export((memory, bytes), pin, limits))?;
        if pin > 0 {
            let time = self.world.borrow().adapter.register_time(pin);
            self.charge(Task::Setup, time);
        }
        Ok(Key { rank: self.rank, id, bytes })
    }
    fn unregister(&mut self, key: Key) -> Result<(), Refusal> {
        if key.rank != self.rank {
            return Err(Refusal::Gone);
        }
        let (bytes, pinned, importers) = self.seat(|seat| seat.setups().unexport(key.id))?;
        if pinned > 0 {
            let time = self.world.borrow().adapter.unregister_time(pinned);
            self.charge(Task::Setup, time);
        }
        let mut world = self.world.borrow_mut();
        for to in importers {
            let at = world.seat(self.rank).now + world.latency(self.rank, to) + world.adapter.latency_ps;
            let what = What::Revoked(Key { bytes, ..key });
            world.tell(Flight { phase: Phase::Local, ..Flight::new(what, self.rank, to) }, at);
        }
        Ok(())
    }
    fn attach(&mut self, key: Key, engine: Engine) -> Result<Attachment, Refusal> {
        let mut world = self.world.borrow_mut();
        let owner = world.seats.get(key.rank as usize).ok_or(Refusal::NoRank)?;
        let memory = owner.setups.as_ref().and_then(|setups| setups.exported(key.id)).ok_or(Refusal::Gone)?;
        let (bytes, kind) = (owner.blocks.size(memory)?, owner.blocks.kind(memory)?);
        let (deposit, fetch) = (self.limits.deposit, self.limits.fetch);
        let claims = |claim: &DepositLimits| if engine == Engine::Pio { claim.pio } else { claim.dma };
        let mappable = kind != Kind::Private || self.limits.registration.private_mappable;
        if !deposit.iter().chain(&fetch).any(claims) || (engine == Engine::Pio && !mappable) {
            return Err(Refusal::Unsupported);
        }
        let key = Key { bytes, ..key };
        let attachment = world.seat(self.rank).setups().import(key, engine, &self.limits.registration)?;
        world.seat(key.rank).setups().imported_by(key.id, self.rank);
        if world.adapter.family == Family::Sci && key.rank != self.rank {
            // The exporter's driver answers the importer's.
            let asked = world.seat(self.rank).now + world.latency(self.rank, key.rank) + world.adapter.latency_ps;
            world.interrupt(key.rank, asked);
        }
        let time = if engine == Engine::Pio { world.adapter.map_time(bytes) } else { world.adapter.connect_time() };
        world.seat(self.rank).spend(Task::Setup, time.0);
        Ok(attachment)
    }
    fn detach(&mut self, attachment: Attachment) -> Result<(), Refusal> {
        self.seat(|seat| seat.setups().unimport(attachment).map(|_| ()))
    }
    fn compute(&mut self, work: Work) {
        let world = &mut *self.world.borrow_mut();
        if let Work::Mark { edge, members } = work {
            return world.mark(self.rank, edge, members);
        }
        let time = world.adapter.local.work(work);
        let task = work.task();
        match time {
            Ok(time) => {
                let adapter = world.adapter.clone();
                let seat = world.seat(self.rank);
                // The cost of a concurrent transfer is computed where there is one.
                let (begun, reads) = (seat.now, seat.dma_free > seat.now);
                let took =
                    if seat.is_moving() { seat.work_beside(time.0, adapter.slowed(work, reads)) } else { time.0 };
                if took > LONGEST.0 || begun > LONGEST.0 {
                    let [from, took, longest] = [Time(begun), Time(took), LONGEST].map(Time::s);
                    let what = format!("rank {} computes {took} s from {from} s on", self.rank);
                    let what = format!("{what}; virtual time goes to {longest} s");
                    world.failure.get_or_insert(what);
                    return;
                }
                seat.spend(task, took);
                seat.working = Some((work, begun, seat.now));
                world.share_adapter(self.rank);
            }
            Err(missing) => drop(world.failure.get_or_insert(missing.to_string())),
        }
    }
}
