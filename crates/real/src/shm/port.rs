//! The shared-memory port.
#![allow(unsafe_code)]

mod long;
mod puts;

use super::barrier::{Barriers, RANKS_MAX};
use super::exports::Exports;
use super::reduce::Reductions;
use super::ring::{INLINE, Receiver, Seen, Sender, Stamp};
use super::scatter::Scatters;
use super::world::{Member, World, state};
use crate::copy;
use crate::idle::Idler;
use crate::store::{Lend, Store};
use crate::sys::{self, Way};
use hotlink_fabric::units::{Rate, Time};
use hotlink_port::{
    Align, Attachment, DepositLimits, Engine, Event, Head, Host, Key, Kind, Limits, Memory, Note, Op, Operation,
    Payload, Port, Posted, Rank, ReductionLimits, Refusal, RegistrationLimits, RemoteSpan, Share, Span, Token, Work,
};
use hotlink_seats::Assists;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Kinds of ring messages.
const USER: u8 = 0;
const REVOKED: u8 = 1;
/// A piece of a put of small blocks, and the last of it.
const PIECE: u8 = 2;
const LAST_PIECE: u8 = 3;
/// A put is in place (`head[0]` is 1) or could not be.
const ANSWER: u8 = 4;

/// See [`ShmPort::here`].
const NOBODY: usize = usize::MAX;
/// Payloads beyond this are delivered with an eye on how much came in a row.
const LONG: u64 = 16 << 10;
/// Polls for the next part of a payload before other processes are given the core: its sender is copying it.
const PART_SPINS: u32 = 2000;

/// One process's door to the shared memory of its job.
pub struct ShmPort {
    world: World,
    rank: Rank,
    /// This rank's account in the shared block.
    member: *const Member,
    limits: Limits,
    store: Store,
    exports: Exports,
    senders: Vec<Sender>,
    /// Of the ranks that ever sent something to this one, in the order in which they were heard of.
    receivers: Vec<(Rank, Receiver)>,
    /// How many those are by their own account.
    calls: u32,
    /// The receiver at the message whose payload can be taken ([`NOBODY`]: none), and its place.
    here: usize,
    current: Seen,
    /// Which receiver to poll first: they take turns.
    turn: usize,
    /// Ends of operations, deaths.
    events: VecDeque<Event>,
    /// Revocations that found no room in a ring yet.
    revocations: VecDeque<(Rank, Key)>,
    deaths: u32,
    /// Ranks that are dead, or that have closed and said all: nothing goes there.
    gone: Vec<bool>,
    /// The first that died; if none has, one that left.
    over: Option<Rank>,
    closes: u32,
    /// A rank has closed of which messages are still to be taken.
    leaving: bool,
    /// Where what was delivered in a row last ended, and how long the row is.
    row: (Memory, u64, u64),
    scatters: Scatters,
    barriers: Barriers,
    reductions: Reductions,
    idler: Idler,
    /// Where other processes ask this one for short copies, and which of those places it looks at next.
    assists: Vec<Assists>,
    next_assist: usize,
    /// The rank to which it last sent a short message.
    asked: usize,
}

impl ShmPort {
    pub(crate) fn new(world: &World, rank: Rank) -> ShmPort {
        let member = world.member(rank);
        member.pid.store(sys::pid(), Release);
        member.state.store(state::ALIVE, Release);
        let (ranks, shared) = (world.ranks(), Rc::new(world.clone()));
        ShmPort {
            rank,
            member: std::ptr::from_ref(member),
            limits: limits(sys::can_copy_between_processes(), ranks, world),
            store: Store::new(Some(world.arena())),
            exports: Exports::new(world.clone(), rank),
            senders: (0..ranks).map(|to| Sender::new(&shared, rank, to)).collect(),
            receivers: Vec::new(),
            calls: 0,
            here: NOBODY,
            current: Seen::NOTHING,
            turn: 0,
            events: VecDeque::new(),
            revocations: VecDeque::new(),
            deaths: 0,
            gone: vec![false; ranks as usize],
            over: None,
            closes: 0,
            leaving: false,
            row: (Memory(u64::MAX), 0, 0),
            scatters: Scatters::default(),
            barriers: Barriers::new(world, rank),
            reductions: Reductions::new(world, rank),
            idler: Idler::new(world.crowded).sharing(world.here).telling(world.account(rank)),
            assists: Vec::new(),
            next_assist: 0,
            asked: 0,
            world: world.clone(),
        }
    }
    /// From now on, data that comes in a row through the ring is stored past the caches after `bytes`.
    pub(crate) fn stream_after(&mut self, bytes: u64) {
        self.world.copying.stream_min = bytes;
    }
    /// This rank's blocks, for another route that moves them.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }
    pub(crate) fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }
    /// Each poll of another route is a system call.
    pub(crate) fn look_by_calls(&mut self) {
        self.idler.look_by_calls();
    }
    /// Something has happened on another route.
    pub(crate) fn stir(&mut self) {
        self.idler.reset();
    }
    /// From now on, or no more, does what processes ask of it there while it waits. Where ranks share cores, the one that asks
    /// may need this one's: then it does not.
    pub(crate) fn assist(&mut self, on: bool, there: Assists) {
        self.assists.retain(|other| *other != there);
        self.next_assist = 0;
        if on && !self.idler.is_crowded() {
            self.assists.push(there);
        }
    }
    #[cfg(test)]
    pub(crate) fn is_crowded(&self) -> bool {
        self.idler.is_crowded()
    }
    #[inline]
    fn control(&mut self, to: Rank, head: &Head, payload: &Payload<'_>) -> Posted {
        let bytes = payload.bytes();
        match payload {
            Payload::Span(span) if span.layout.is_contiguous() => {
                self.post_row(to, *head, span.memory, span.offset, bytes)
            }
            Payload::Span(_) => self.control_long(to, *head, *payload),
            _ if bytes > INLINE || !self.scatters.is_idle() => self.control_long(to, *head, *payload),
            // SAFETY: no bytes are read.
            Payload::None => unsafe { self.control_short(to, head, std::ptr::NonNull::dangling().as_ptr(), 0) },
            // SAFETY: the slice has that many bytes.
            Payload::Bytes(from) => unsafe { self.control_short(to, head, from.as_ptr(), bytes) },
        }
    }
    /// A message of at most [`INLINE`] bytes.
    ///
    /// # Safety
    /// `bytes` from `from` on can be read.
    #[inline(always)]
    unsafe fn control_short(&mut self, to: Rank, head: &Head, from: *const u8, bytes: u64) -> Posted {
        let Some(sender) = self.senders.get_mut(to as usize) else { return Posted::Refused(Refusal::NoRank) };
        // SAFETY: as promised by the caller.
        let sent = unsafe { sender.send_short(USER, head, from, bytes, self.idler.ask()) };
        self.asked = to as usize;
        if sent { Posted::Accepted } else { self.no_room(to) }
    }
    /// Why a message found no room.
    #[cold]
    fn no_room(&self, to: Rank) -> Posted {
        if self.gone[to as usize] {
            return Posted::Refused(Refusal::PeerGone(to));
        }
        if self.senders[to as usize].has_no_memory() { Posted::Refused(Refusal::NoMemory) } else { Posted::Busy }
    }
    fn remote(&mut self, way: Way, local: Span, remote: RemoteSpan, engine: Engine, token: Token) -> Posted {
        if way == Way::Write
            && let Some(put) = self.scatter(local, remote, token)
        {
            self.scatters.puts.push_back(put);
            self.send_puts(None);
            return Posted::Accepted;
        }
        match self.exports.transfer(&self.store, way, local, remote, engine) {
            Ok(()) => self.events.push_back(Event::Done(token)),
            Err(refusal @ Refusal::Gone) => self.events.push_back(Event::Failed(token, refusal)),
            Err(refusal) => return Posted::Refused(refusal),
        }
        Posted::Accepted
    }
    /// Takes what ranks' ports say to each other; `None`: the program need not know.
    #[cold]
    fn on_port_message(&mut self, from: Rank, kind: u8, head: &Head) -> Option<Event> {
        let seen = self.current;
        match kind {
            REVOKED => return Some(Event::Revoked(Key { rank: from, id: head[0], bytes: head[1] })),
            ANSWER => return self.scatters.on_answer(from, head[0] == 1),
            PIECE | LAST_PIECE => {
                let memory = self.exports.exported(head[0]);
                // SAFETY: the ring keeps these bytes until `release`, which comes after; they are no store's memory.
                let payload = unsafe { std::slice::from_raw_parts(seen.payload, seen.bytes as usize) };
                let what = (payload, kind == LAST_PIECE);
                self.scatters.spread(&mut self.store, memory, from, head, what);
                self.tend_scatters();
            }
            _ => {}
        }
        None
    }
    /// Looks into the rings that something ever came through, beginning after the rank that was last served.
    #[inline(always)]
    fn look(&mut self) -> Option<Event> {
        // SAFETY: this rank's account in the shared block, which lives as long as the world here.
        if unsafe { &(*self.member).calls }.load(Acquire) != self.calls {
            self.meet_callers();
        }
        let (mut at, count) = (self.turn, self.receivers.len());
        for _ in 0..count {
            let (from, receiver) = &self.receivers[at];
            let here = at;
            at = if at + 1 < count { at + 1 } else { 0 };
            let Some(stamp) = receiver.peek() else { continue };
            (self.turn, self.here) = (at, here);
            self.idler.reset();
            if !stamp.is_plain() {
                match self.look_beyond(stamp) {
                    None => continue,
                    event => return event,
                }
            }
            self.current = receiver.inside(stamp);
            // SAFETY: it was given just now.
            let head = unsafe { receiver.head() };
            return Some(Event::Control { from: *from, head, bytes: stamp.bytes() });
        }
        None
    }
    /// Takes a message that is not a plain one of the program; `None`: the program need not know.
    fn look_beyond(&mut self, stamp: Stamp) -> Option<Event> {
        let (from, receiver) = &self.receivers[self.here];
        let from = *from;
        self.current = receiver.seen(stamp);
        // SAFETY: it was given just now.
        let head = unsafe { receiver.head() };
        if stamp.kind() == USER {
            return Some(Event::Control { from, head, bytes: stamp.bytes() });
        }
        let event = self.on_port_message(from, stamp.kind(), &head);
        if event.is_none() {
            self.release();
        }
        event
    }
    #[cold]
    fn meet_callers(&mut self) {
        let member = self.world.member(self.rank);
        // As many as called when this began; one that calls meanwhile may be met now or later.
        self.calls = member.calls.load(Acquire);
        for from in (0..self.world.ranks()).filter(|&from| member.is_caller(from)) {
            if self.receivers.iter().any(|&(known, _)| known == from) {
                continue;
            }
            match self.world.ring(from, self.rank) {
                Ok(ring) => self.receivers.push((from, Receiver::new(ring, self.world.shape().ring_bytes))),
                Err(error) if !self.gone[from as usize] => {
                    let rank = self.rank;
                    eprintln!("hotlink: rank {rank} has no memory for messages from rank {from}: {error}");
                    self.gone[from as usize] = true;
                    self.events.push_back(Event::PeerGone(from));
                }
                Err(_) => {}
            }
        }
    }
    /// A rank that has died or left, if any: there is no barrier with it.
    #[inline]
    fn lost(&self) -> Option<Posted> {
        self.over.map(|rank| Posted::Refused(Refusal::PeerGone(rank)))
    }
    #[inline]
    fn enter_barrier(&mut self, token: Token) -> Posted {
        if !self.limits.barrier {
            return Posted::Refused(Refusal::Unsupported);
        }
        if let Some(refused) = self.lost() {
            return refused;
        }
        self.barriers.enter(token);
        Posted::Accepted
    }
    #[inline]
    fn reduce(&mut self, what: (Operation, Share), spans: (Span, Span), token: Token) -> Posted {
        if self.limits.reduction.is_none() {
            return Posted::Refused(Refusal::Unsupported);
        }
        // A rank that has left may have done its part: a rank that gets no result does not wait for the others.
        let lost = if self.deaths > 0 { self.lost() } else { None };
        lost.unwrap_or_else(|| self.reductions.begin(&self.store, what, spans, token))
    }
    fn notice_deaths(&mut self) {
        self.world.watch();
        let (deaths, closes) = (self.world.deaths().load(Acquire), self.world.closes().load(Acquire));
        if (deaths, closes) == (self.deaths, self.closes) && !self.leaving {
            return;
        }
        let had_died = self.deaths > 0;
        (self.deaths, self.closes) = (deaths, closes);
        let all = || (0..self.world.ranks()).filter(|&rank| rank != self.rank && !self.gone[rank as usize]);
        let state = |&rank: &Rank| self.world.member(rank).state.load(Acquire);
        // Read before the deaths, and reported after them: others may have left because of one.
        let closed: Vec<Rank> = all().filter(|rank| state(rank) == state::CLOSED).collect();
        let dead: Vec<Rank> = all().filter(|rank| state(rank) == state::DEAD).collect();
        let (left, leaving): (Vec<Rank>, Vec<Rank>) = closed.into_iter().partition(|&rank| self.is_silent(rank));
        self.leaving = !leaving.is_empty();
        self.over = if had_died { self.over } else { dead.first().copied().or(self.over).or(left.first().copied()) };
        let dead = dead.into_iter().map(|rank| (rank, Event::PeerGone(rank)));
        for (rank, ended) in dead.chain(left.into_iter().map(|rank| (rank, Event::PeerLeft(rank)))) {
            self.gone[rank as usize] = true;
            self.senders[rank as usize].close();
            let failed = self.scatters.bury(rank);
            self.events.extend(failed);
            // All may have entered before it died.
            let left = std::iter::from_fn(|| self.barriers.leave_by_flags()).map(Event::Done);
            self.events.extend(left);
            let gone = |token| Event::Failed(token, Refusal::PeerGone(rank));
            let given_up: Vec<Event> = self.barriers.give_up().map(gone).collect();
            if ended == Event::PeerGone(rank) {
                self.events.extend(given_up);
                self.events.extend(self.reductions.give_up(rank));
                self.events.push_back(ended);
            } else {
                // The meaning of the refusal is known by then. It has done its part in reductions of others.
                self.events.push_back(ended);
                self.events.extend(given_up);
            }
        }
    }
    /// Whether all that a rank has sent was taken.
    fn is_silent(&self, rank: Rank) -> bool {
        match self.receivers.iter().find(|(from, _)| *from == rank) {
            Some((_, receiver)) => receiver.peek().is_none(),
            None => !self.world.member(self.rank).is_caller(rank),
        }
    }
    fn revoke(&mut self, to: Rank, key: Key) -> bool {
        let head = [key.id, key.bytes, 0, 0];
        self.senders[to as usize].send((REVOKED, false), &head, 0, |_, _| Ok(())) == Posted::Accepted
    }
    fn send_revocations(&mut self) {
        while let Some(&(to, key)) = self.revocations.front() {
            if !self.gone[to as usize] && !self.revoke(to, key) {
                return;
            }
            self.revocations.pop_front();
        }
    }
    fn end_export(&mut self, key: Key) -> Result<bool, Refusal> {
        let ended = self.exports.unregister(key)?;
        for to in 0..self.world.ranks() {
            if ended.attached[to as usize / 64] >> (to % 64) & 1 == 1 {
                self.revocations.push_back((to, key));
            }
        }
        self.send_revocations();
        Ok(ended.held)
    }
    #[inline(always)]
    fn release(&mut self) {
        let here = std::mem::replace(&mut self.here, NOBODY);
        if let Some((_, receiver)) = self.receivers.get_mut(here) {
            receiver.release(self.current.bytes);
        }
    }
}

impl Port for ShmPort {
    #[inline]
    fn rank(&self) -> Rank {
        self.rank
    }
    #[inline]
    fn ranks(&self) -> u32 {
        self.world.ranks()
    }
    #[inline]
    fn limits(&self) -> &Limits {
        &self.limits
    }
    #[inline]
    fn now(&self) -> Time {
        self.world.clock.now()
    }
    #[inline(always)]
    fn post(&mut self, op: &Op<'_>) -> Posted {
        match *op {
            Op::Control { to, ref head, ref payload } => self.control(to, head, payload),
            Op::Deposit { from, to, engine, token } => self.remote(Way::Write, from, to, engine, token),
            Op::Fetch { from, to, engine, token } => self.remote(Way::Read, to, from, engine, token),
            Op::Barrier { token } => self.enter_barrier(token),
            Op::Reduce { operation, share, from, to, token } => self.reduce((operation, share), (from, to), token),
            Op::Broadcast { .. } => Posted::Refused(Refusal::Unsupported),
        }
    }
    #[inline(always)]
    fn post_row(&mut self, to: Rank, head: Head, memory: Memory, offset: u64, bytes: u64) -> Posted {
        if bytes > INLINE || !self.scatters.is_idle() {
            return self.control_long(to, head, Payload::of(Span::new(memory, offset, bytes)));
        }
        match self.store.row(memory, offset, bytes) {
            // SAFETY: the address was checked against a block that has that many bytes.
            Ok(from) => unsafe { self.control_short(to, &head, from, bytes) },
            Err(refusal) => Posted::Refused(refusal),
        }
    }
    #[inline(always)]
    fn poll(&mut self) -> Option<Event> {
        self.release();
        if self.barriers.is_waiting()
            && let Some(token) = self.barriers.leave()
        {
            self.idler.reset();
            return Some(Event::Done(token));
        }
        if self.reductions.is_running() {
            let (moved, ended) = self.reductions.go_on(self.deaths);
            if moved {
                self.idler.reset();
            }
            if ended.is_some() {
                return ended;
            }
        }
        if !self.events.is_empty() || !self.scatters.is_idle() {
            let event = self.tend();
            if event.is_some() {
                self.idler.reset();
                return event;
            }
        }
        self.look()
    }
    #[inline(always)]
    fn deliver(&mut self, at: u64, to: Span) -> Result<(), Refusal> {
        let bytes = to.bytes();
        if self.here == NOBODY || self.current.bytes.checked_sub(at).is_none_or(|left| bytes > left) {
            return Err(Refusal::OutOfBounds);
        }
        if bytes > LONG || self.current.is_in_parts() || !to.layout.is_contiguous() {
            return self.deliver_long(at, to);
        }
        let target = self.store.row(to.memory, to.offset, bytes)?;
        // SAFETY: inside the payload, which the ring keeps until `release`, and inside a block of the store.
        unsafe { copy::row(self.current.payload.add(at as usize), target, bytes) };
        Ok(())
    }
    fn peek(&self, at: u64, into: &mut [u8]) -> usize {
        let (here, seen) = (self.here, &self.current);
        if here == NOBODY || at >= seen.bytes {
            return 0;
        }
        let bytes = (seen.bytes - at).min(into.len() as u64);
        if self.wait_filled(&self.receivers[here], seen, at + bytes).is_err() {
            return 0;
        }
        // SAFETY: inside the payload, whose bytes are there and which the ring keeps until `release`.
        let payload = unsafe { std::slice::from_raw_parts(seen.payload.add(at as usize), bytes as usize) };
        into[..bytes as usize].copy_from_slice(payload);
        bytes as usize
    }
    #[inline]
    fn idle(&mut self, until: Time) {
        // One place in each call: with many, those who ask may lose patience, but no poll takes longer.
        if let Some(there) = self.assists.get(self.next_assist) {
            let next = self.next_assist + 1;
            self.next_assist = if next < self.assists.len() { next } else { 0 };
            if there.serve() {
                self.idler.reset();
            }
        }
        if self.events.is_empty() && self.idler.rest(until) {
            self.notice_deaths();
            if self.barriers.is_cut_off() {
                self.events.extend(self.barriers.give_up().map(|token| Event::Failed(token, Refusal::Gone)));
            }
            self.send_revocations();
        }
    }
    #[inline]
    fn settle(&mut self) {
        self.release();
        if self.idler.settle() {
            self.senders[self.asked].own_next();
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
        let member = self.world.member(self.rank);
        if member.state.compare_exchange(state::ALIVE, state::CLOSED, Release, Acquire).is_ok() {
            self.world.closes().fetch_add(1, Release);
        }
    }
}

impl Lend for ShmPort {
    unsafe fn lend(&mut self, start: *mut u8, bytes: u64) -> Memory {
        // SAFETY: the caller keeps what the store asks for.
        unsafe { self.store.lend(start, bytes) }
    }
    fn start(&self, memory: Memory) -> Result<*mut u8, Refusal> {
        self.store.start(memory)
    }
    fn mapped(&self, attachment: Attachment) -> Result<*mut u8, Refusal> {
        self.exports.mapped(attachment)
    }
}

impl Host for ShmPort {
    fn alloc(&mut self, bytes: u64, kind: Kind, align: Align) -> Result<Memory, Refusal> {
        self.store.alloc(bytes, kind, align)
    }
    fn free(&mut self, memory: Memory) -> Result<(), Refusal> {
        self.store.size(memory)?;
        let mut held = false;
        for key in self.exports.of(memory) {
            held |= self.end_export(key)?;
        }
        if held {
            self.store.leak(memory);
            return Ok(());
        }
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
    #[inline]
    fn copy(&mut self, from: Span, to: Span) -> Result<(), Refusal> {
        self.store.copy(from, to)
    }
    fn combine(&mut self, operation: Operation, other: Span, into: Span) -> Result<(), Refusal> {
        self.store.combine(operation, other, into)
    }
    fn register(&mut self, memory: Memory) -> Result<Key, Refusal> {
        self.exports.register(&self.store, memory, self.limits.registration.private)
    }
    fn unregister(&mut self, key: Key) -> Result<(), Refusal> {
        self.end_export(key).map(|_| ())
    }
    fn attach(&mut self, key: Key, engine: Engine) -> Result<Attachment, Refusal> {
        self.exports.attach(key, engine)
    }
    fn detach(&mut self, attachment: Attachment) -> Result<(), Refusal> {
        self.exports.detach(attachment)
    }
    fn compute(&mut self, work: Work) {
        self.store.compute(work, &self.world.clock);
    }
}

impl Drop for ShmPort {
    fn drop(&mut self) {
        self.close();
    }
}

/// `private`: the system copies between processes.
fn limits(private: bool, ranks: u32, world: &World) -> Limits {
    let (shape, copying) = (world.shape(), world.copying);
    Limits {
        control_bytes_max: shape.message_max,
        turn_bytes: u64::MAX,
        inline_bytes: INLINE,
        deposit: Some(DepositLimits::ANY),
        fetch: Some(DepositLimits::ANY),
        segments: true,
        registration: RegistrationLimits {
            private,
            private_block_min: 2048,
            zero_copy_min: 32 << 10,
            private_zero_copy_min: copying.system_min,
            private_zero_copy_max: copying.system_max,
            private_halves_min: copying.halves_min,
            entries: Some(shape.exports as u64),
            register_time: Time::from_ns(50.0),
            map_time: Time::from_ns(50.0),
            connect_time: Time::from_ns(50.0),
            ..RegistrationLimits::NONE
        },
        barrier: ranks <= RANKS_MAX,
        // One alone combines nothing.
        reduction: (2..=RANKS_MAX).contains(&ranks).then_some(ReductionLimits {
            latency: Time::from_ns(200.0),
            rate: Rate::from_mbps(10_000.0),
            shares: true,
        }),
        post_overhead: Time::from_ns(20.0),
        poll_overhead: Time::from_ns(20.0),
        latency: Time::from_ns(200.0),
        rate: Rate::from_mbps(10_000.0),
        copy_rate: Rate::from_mbps(10_000.0),
        ..Limits::messages("shared memory")
    }
}
