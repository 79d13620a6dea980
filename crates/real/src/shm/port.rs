//! The shared-memory port.
#![allow(unsafe_code)]

use super::exports::Exports;
use super::ring::{INLINE, MESSAGE_MAX, Receiver, Seen, Sender};
use super::scatter::{Put, Scatters};
use super::world::{World, state};
use crate::idle::Idler;
use crate::store::{Store, checked_extent};
use crate::sys::{self, Way};
use hotlink_fabric::units::{Rate, Time};
use hotlink_port::{
    Align, Attachment, DepositLimits, Engine, Event, Head, Host, Key, Kind, Limits, Memory, Op, Payload, Port, Posted,
    Rank, Refusal, RegistrationLimits, RemoteSpan, Span, Token, Work,
};
use std::collections::VecDeque;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Kinds of ring messages.
const USER: u8 = 0;
const REVOKED: u8 = 1;
/// A piece of a put of small blocks, and the last of it.
const PIECE: u8 = 2;
const LAST_PIECE: u8 = 3;
/// A put is in place (`head[0]` is 1) or could not be.
const ANSWER: u8 = 4;

/// Looks for the next part of a payload before other processes are given the core: its sender is copying it.
const PART_SPINS: u32 = 2000;

/// One process's door to the shared memory of its job.
pub struct ShmPort {
    world: World,
    rank: Rank,
    limits: Limits,
    store: Store,
    exports: Exports,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    /// The payload that can be taken, and whose ring it is in.
    current: Option<(Rank, Seen)>,
    /// Where to look first: the ranks take turns.
    turn: Rank,
    /// Ends of operations, deaths.
    events: VecDeque<Event>,
    /// Revocations that found no room in a ring yet.
    revocations: VecDeque<(Rank, Key)>,
    deaths: u32,
    gone: Vec<bool>,
    scatters: Scatters,
    idler: Idler,
}

impl ShmPort {
    pub(crate) fn new(world: &World, rank: Rank, oversubscribed: bool) -> ShmPort {
        let member = world.member(rank);
        member.pid.store(sys::pid(), Release);
        member.state.store(state::ALIVE, Release);
        let ranks = world.ranks();
        ShmPort {
            rank,
            limits: limits(sys::can_copy_between_processes()),
            store: Store::new(Some(world.arena(rank))),
            exports: Exports::new(world.clone(), rank),
            senders: (0..ranks).map(|to| Sender::new(world.ring(rank, to))).collect(),
            receivers: (0..ranks).map(|from| Receiver::new(world.ring(from, rank))).collect(),
            current: None,
            turn: 0,
            events: VecDeque::new(),
            revocations: VecDeque::new(),
            deaths: 0,
            gone: vec![false; ranks as usize],
            scatters: Scatters::default(),
            idler: Idler::new(oversubscribed),
            world: world.clone(),
        }
    }
    #[inline]
    fn control(&mut self, to: Rank, head: &Head, payload: &Payload<'_>) -> Posted {
        let bytes = payload.bytes();
        if bytes > MESSAGE_MAX {
            return Posted::Refused(Refusal::TooLong(MESSAGE_MAX));
        }
        match self.gone.get(to as usize) {
            None => return Posted::Refused(Refusal::NoRank),
            Some(true) => return Posted::Refused(Refusal::PeerGone(to)),
            Some(false) => {}
        }
        if self.scatters.blocks(to) && !self.send_puts(Some(to)) {
            return Posted::Busy;
        }
        let (store, sender) = (&self.store, &mut self.senders[to as usize]);
        match payload {
            Payload::None => sender.send((USER, false), head, 0, |_, _| Ok(())),
            Payload::Bytes(from) => sender.send((USER, false), head, bytes, |_, into| {
                into.copy_from_slice(from);
                Ok(())
            }),
            Payload::Span(span) if !span.layout.is_contiguous() => {
                sender.send((USER, false), head, bytes, |_, into| store.pack(*span, into))
            }
            // Refused, if it is to be, before the reader has seen a part.
            Payload::Span(span) if let Err(refusal) = store.address(*span) => Posted::Refused(refusal),
            Payload::Span(span) => sender.send((USER, true), head, bytes, |at, into| {
                store.pack(Span::new(span.memory, span.offset + at, into.len() as u64), into)
            }),
        }
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
    /// The deposit as a put that its target helps with, if it is one of small blocks into private memory and sound:
    /// if not, the ordinary way does it or says what is wrong.
    fn scatter(&self, local: Span, remote: RemoteSpan, token: Token) -> Option<Put> {
        if remote.layout.is_contiguous() {
            return None;
        }
        let key = self.exports.far_private(remote.attachment)?;
        self.store.address(local).ok()?;
        let end = remote.offset.checked_add(checked_extent(&remote.layout).ok()?)?;
        let sound = local.bytes() == remote.layout.bytes() && end <= key.bytes && !self.gone[key.rank as usize];
        let short = self.limits.registration.private_block_min;
        sound.then(|| Put::new(key, local, remote.offset, remote.layout, token, short))?
    }
    /// Sends pieces while there is room; whether all puts (to `only`) are sent whole.
    #[cold]
    fn send_puts(&mut self, only: Option<Rank>) -> bool {
        let mut kept = VecDeque::new();
        let mut blocked: Vec<Rank> = Vec::new();
        while let Some(mut put) = self.scatters.puts.pop_front() {
            let to = put.key.rank;
            if blocked.contains(&to) || !self.send_pieces(&mut put) {
                blocked.push(to);
                kept.push_back(put);
            }
        }
        self.scatters.puts = kept;
        only.map_or(blocked.is_empty(), |to| !blocked.contains(&to))
    }
    /// Whether the put was sent whole (or has failed).
    fn send_pieces(&mut self, put: &mut Put) -> bool {
        let Self { store, senders, scatters, events, .. } = self;
        loop {
            let Some(piece) = put.piece() else {
                events.push_back(Event::Failed(put.token, Refusal::OutOfBounds));
                return true;
            };
            let kind = if piece.last { LAST_PIECE } else { PIECE };
            let sender = &mut senders[put.key.rank as usize];
            match sender.send((kind, false), &piece.head, piece.from.bytes(), |_, into| store.pack(piece.from, into)) {
                Posted::Accepted => put.advance(&piece),
                Posted::Busy => return false,
                Posted::Refused(refusal) => {
                    events.push_back(Event::Failed(put.token, refusal));
                    return true;
                }
            }
            if piece.last {
                scatters.sent_whole(put);
                return true;
            }
        }
    }
    #[cold]
    fn tend_scatters(&mut self) {
        self.send_puts(None);
        while let Some(&(to, placed)) = self.scatters.answers.front() {
            let head = [u64::from(placed), 0, 0, 0];
            if self.senders[to as usize].send((ANSWER, false), &head, 0, |_, _| Ok(())) == Posted::Busy {
                return;
            }
            self.scatters.answers.pop_front();
        }
    }
    /// Takes what ranks' ports say to each other; `None`: the program need not know.
    #[cold]
    fn on_port_message(&mut self, from: Rank, seen: Seen) -> Option<Event> {
        self.idler.reset();
        match seen.kind {
            REVOKED => return Some(Event::Revoked(Key { rank: from, id: seen.head[0], bytes: seen.head[1] })),
            ANSWER => return self.scatters.on_answer(from, seen.head[0] == 1),
            PIECE | LAST_PIECE => {
                let memory = self.exports.exported(seen.head[0]);
                // SAFETY: the ring keeps these bytes until `release`, which comes after; they are no store's memory.
                let payload = unsafe { std::slice::from_raw_parts(seen.payload, seen.bytes as usize) };
                let what = (payload, seen.kind == LAST_PIECE);
                self.scatters.spread(&mut self.store, memory, from, &seen.head, what);
                self.tend_scatters();
            }
            _ => {}
        }
        None
    }
    /// Looks into the rings, beginning after the rank that was last served.
    #[inline]
    fn look(&mut self) -> Option<Event> {
        let ranks = self.receivers.len() as Rank;
        for step in 0..ranks {
            let from = if self.turn + step < ranks { self.turn + step } else { self.turn + step - ranks };
            let Some(seen) = self.receivers[from as usize].peek() else { continue };
            self.turn = if from + 1 == ranks { 0 } else { from + 1 };
            self.current = Some((from, seen));
            if seen.kind == USER {
                return Some(Event::Control { from, head: seen.head, bytes: seen.bytes });
            }
            if let Some(event) = self.on_port_message(from, seen) {
                return Some(event);
            }
            self.release();
        }
        None
    }
    fn notice_deaths(&mut self) {
        self.world.watch();
        let deaths = self.world.deaths().load(Acquire);
        if deaths == self.deaths {
            return;
        }
        self.deaths = deaths;
        for rank in 0..self.world.ranks() {
            let dead = self.world.member(rank).state.load(Acquire) == state::DEAD;
            if dead && !std::mem::replace(&mut self.gone[rank as usize], true) {
                let failed = self.scatters.bury(rank);
                self.events.extend(failed);
                self.events.push_back(Event::PeerGone(rank));
            }
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
            if ended.attached >> to.min(63) & 1 == 1 {
                self.revocations.push_back((to, key));
            }
        }
        self.send_revocations();
        Ok(ended.held)
    }
    #[inline]
    fn release(&mut self) {
        if let Some((from, seen)) = self.current.take() {
            self.receivers[from as usize].release(seen.bytes);
        }
    }
    /// Waits until `bytes` of a payload that comes in parts are there, which its sender is copying now: how many are.
    fn wait_filled(&self, from: Rank, seen: &Seen, bytes: u64) -> Result<u64, Refusal> {
        let receiver = &self.receivers[from as usize];
        let mut spins = 0;
        loop {
            let there = receiver.filled(seen);
            if there >= bytes {
                return Ok(there);
            }
            if spins < PART_SPINS {
                spins += 1;
                std::hint::spin_loop();
                continue;
            }
            self.world.watch();
            if self.world.member(from).state.load(Acquire) == state::DEAD && receiver.filled(seen) < bytes {
                return Err(Refusal::PeerGone(from));
            }
            sys::yield_core();
        }
    }
    /// Copies the current payload from byte `at` to a contiguous span while it comes.
    fn deliver_parts(&mut self, (from, seen): (Rank, Seen), at: u64, to: Span) -> Result<(), Refusal> {
        let mut done = 0;
        while done < to.bytes() {
            let there = self.wait_filled(from, &seen, at + done + 1)?.min(at + to.bytes());
            let bytes = there - at - done;
            // SAFETY: so much of the payload is there, and the ring keeps it until `release`; not memory of the store.
            let part = unsafe { std::slice::from_raw_parts(seen.payload.add((at + done) as usize), bytes as usize) };
            self.store.unpack(part, Span::new(to.memory, to.offset + done, bytes))?;
            done += bytes;
        }
        Ok(())
    }
}

impl Port for ShmPort {
    fn rank(&self) -> Rank {
        self.rank
    }
    fn ranks(&self) -> u32 {
        self.world.ranks()
    }
    fn limits(&self) -> &Limits {
        &self.limits
    }
    #[inline]
    fn now(&self) -> Time {
        self.world.clock.now()
    }
    #[inline]
    fn post(&mut self, op: &Op<'_>) -> Posted {
        match *op {
            Op::Control { to, ref head, ref payload } => self.control(to, head, payload),
            Op::Deposit { from, to, engine, token } => self.remote(Way::Write, from, to, engine, token),
            Op::Fetch { from, to, engine, token } => self.remote(Way::Read, to, from, engine, token),
            Op::Barrier { .. } | Op::Broadcast { .. } | Op::Allreduce { .. } => Posted::Refused(Refusal::Unsupported),
        }
    }
    #[inline]
    fn poll(&mut self) -> Option<Event> {
        self.release();
        if !self.scatters.is_idle() {
            self.tend_scatters();
        }
        if !self.events.is_empty() {
            return self.events.pop_front();
        }
        let event = self.look();
        if event.is_some() {
            self.idler.reset();
        }
        event
    }
    #[inline]
    fn deliver(&mut self, at: u64, to: Span) -> Result<(), Refusal> {
        let Some((from, seen)) = self.current.filter(|(_, seen)| at + to.bytes() <= seen.bytes) else {
            return Err(Refusal::OutOfBounds);
        };
        if seen.is_in_parts() {
            self.store.address(to)?;
            if to.layout.is_contiguous() {
                return self.deliver_parts((from, seen), at, to);
            }
            self.wait_filled(from, &seen, at + to.bytes())?;
        }
        // SAFETY: inside the payload, which the ring keeps until `release`; not memory of the store.
        let from = unsafe { std::slice::from_raw_parts(seen.payload.add(at as usize), to.bytes() as usize) };
        self.store.unpack(from, to)
    }
    fn peek(&self, at: u64, into: &mut [u8]) -> usize {
        let Some((from, seen)) = self.current.filter(|(_, seen)| at < seen.bytes) else { return 0 };
        let bytes = (seen.bytes - at).min(into.len() as u64);
        if self.wait_filled(from, &seen, at + bytes).is_err() {
            return 0;
        }
        // SAFETY: inside the payload, whose bytes are there and which the ring keeps until `release`.
        let payload = unsafe { std::slice::from_raw_parts(seen.payload.add(at as usize), bytes as usize) };
        into[..bytes as usize].copy_from_slice(payload);
        bytes as usize
    }
    #[inline]
    fn idle(&mut self, until: Time) {
        if self.events.is_empty() && self.idler.rest(until) {
            self.notice_deaths();
            self.send_revocations();
        }
    }
    fn close(&mut self) {
        let member = self.world.member(self.rank);
        let _ = member.state.compare_exchange(state::ALIVE, state::CLOSED, Release, Acquire);
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
    fn copy(&mut self, from: Span, to: Span) -> Result<(), Refusal> {
        self.store.copy(from, to)
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
fn limits(private: bool) -> Limits {
    let remote = DepositLimits {
        bytes_max: u64::MAX,
        dma_align: 1,
        strided: true,
        pio: true,
        dma: true,
        dma_needs_registration: false,
    };
    Limits {
        name: "shared memory".to_owned(),
        real_time: true,
        clock_step: Time(1000),
        control_bytes_max: MESSAGE_MAX,
        inline_bytes: INLINE,
        deposit: Some(remote),
        fetch: Some(remote),
        ordered: true,
        segments: true,
        ghosts: false,
        registration: RegistrationLimits {
            private,
            private_mappable: false,
            private_block_min: 2048,
            zero_copy_min: 32 << 10,
            private_zero_copy_min: u64::MAX,
            entries: Some(super::world::EXPORTS as u64),
            entry_bytes: u64::MAX,
            pinned_bytes: None,
            register_time: Time::from_ns(50.0),
            map_time: Time::from_ns(50.0),
            connect_time: Time::from_ns(50.0),
        },
        barrier: false,
        broadcast: false,
        reduction: None,
        post_overhead: Time::from_ns(20.0),
        poll_overhead: Time::from_ns(20.0),
        latency: Time::from_ns(200.0),
        rate: Rate::from_mbps(10_000.0),
        copy_rate: Rate::from_mbps(10_000.0),
    }
}
