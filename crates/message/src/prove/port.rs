//! The checker's port: everything that a port may do is a choice of the checker, and a world of ports can be copied.
//!
//! Memory is kept in cells of [`CELL`] bytes, one byte each. The engine counts bytes and never reads them, so a message
//! of 8 KiB costs the checker sixteen.

use hotlink_fabric::units::Time;
use hotlink_port::{
    DepositLimits, Engine, Event, Head, Key, Kind, Limits, Memory, Op, Payload, Port, Posted, Rank, Refusal,
    RegistrationLimits, RemoteSpan, Span,
};
use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// Bytes that one cell of memory stands for.
pub const CELL: u64 = 512;

/// The abilities of a port of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Door {
    /// Control messages only.
    Messages,
    /// Remote loads, but no stores.
    Fetch,
    /// Remote stores, but no loads.
    Deposit,
    /// Both, by an engine that moves the data when the transfer ends.
    Both,
    /// Both, by the processor: the data moves when the transfer is posted.
    Pio,
}

/// How often things that a port may do will happen in one run, at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Faults {
    /// Posts answered with [`Posted::Busy`], besides those that find no room.
    pub busy: u8,
    /// Registrations and attachments refused, besides those that find no entry.
    pub refuse: u8,
    /// Transfers that fail after they were accepted.
    pub fail: u8,
    /// Ranks that die.
    pub die: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Cargo {
    Nothing,
    Bytes(Vec<u8>),
    Cells(Vec<u8>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Packet {
    head: Head,
    cargo: Cargo,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Transfer {
    token: u64,
    deposit: bool,
    here: Span,
    /// The remote side, as a span of its rank's memory.
    key: Key,
    offset: u64,
    layout: hotlink_port::Layout,
    /// The data moved when it was posted.
    moved: Option<Result<(), Refusal>>,
}

#[derive(Clone, Debug, Hash)]
pub(super) struct Block {
    pub(super) kind: Kind,
    pub(super) cells: Vec<u8>,
}

/// The net's state for one rank.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Seat {
    pub(super) blocks: Vec<Option<Block>>,
    pub(super) exports: Vec<Option<Memory>>,
    pub(super) attached: Vec<Option<Key>>,
    pub(super) transfers: Vec<Transfer>,
    pub(super) revoked: VecDeque<Key>,
    /// Ranks that this one knows to be dead or gone, as bits.
    pub(super) heard: u8,
    pub(super) dead: bool,
    /// Its program is over, and so is its port: messages to it are accepted and lost.
    pub(super) left: bool,
    current: Option<Packet>,
}

/// State that all ports of a world share.
#[derive(Clone, Debug)]
pub(super) struct Net {
    pub(super) seats: Vec<Seat>,
    /// By sender and receiver: messages under way, in order.
    pub(super) channels: Vec<VecDeque<Packet>>,
    pub(super) left: Faults,
    room: usize,
    slots: usize,
    pub(super) entries: usize,
    /// The result of the next poll.
    next: Option<Event>,
    /// Answers to the choices of the present call, and how many there were.
    pub(super) script: Vec<u8>,
    pub(super) asked: usize,
    /// Features that have met in this run, by [`super::features`].
    pub(super) met: u32,
}

/// The abilities of a world's ports; see [`super::Case`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// The abilities of the ports.
    pub door: Door,
    /// Messages that fit between two ranks.
    pub room: usize,
    /// Transfers that a rank may have under way.
    pub slots: usize,
    /// Exports, and attachments, that a rank may have.
    pub entries: usize,
}

impl Net {
    pub(super) fn new(ranks: usize, shape: &Shape, left: Faults) -> Net {
        Net {
            seats: vec![Seat::default(); ranks],
            channels: vec![VecDeque::new(); ranks * ranks],
            left,
            room: shape.room,
            slots: shape.slots,
            entries: shape.entries,
            next: None,
            script: Vec::new(),
            asked: 0,
            met: 0,
        }
    }
    /// Whether a thing of which some are left happens here.
    pub(super) fn happens(&mut self, left: fn(&mut Faults) -> &mut u8) -> bool {
        if *left(&mut self.left) == 0 {
            return false;
        }
        let yes = self.script.get(self.asked).is_some_and(|&answer| answer == 1);
        self.asked += 1;
        *left(&mut self.left) -= u8::from(yes);
        yes
    }
    /// Whether the port of a rank says that another is dead, before it has reported the death by an event: it may.
    pub(super) fn knows_dead(&mut self, rank: usize, other: usize) -> bool {
        if !self.seats[other].dead {
            return false;
        }
        if self.seats[rank].heard >> other & 1 == 1 {
            return true;
        }
        self.asked += 1;
        self.script.get(self.asked - 1) == Some(&1)
    }
    pub(super) fn channel(&mut self, from: usize, to: usize) -> &mut VecDeque<Packet> {
        let ranks = self.seats.len();
        &mut self.channels[from * ranks + to]
    }
    /// The next message from a rank is what the next poll gives.
    pub(super) fn offer_message(&mut self, from: usize, to: usize) {
        let Some(packet) = self.channel(from, to).pop_front() else { return };
        let bytes = match &packet.cargo {
            Cargo::Nothing => 0,
            Cargo::Bytes(bytes) => bytes.len() as u64,
            Cargo::Cells(cells) => cells.len() as u64 * CELL,
        };
        self.next = Some(Event::Control { from: from as Rank, head: packet.head, bytes });
        self.seats[to].current = Some(packet);
    }
    /// A transfer ends, and the next poll says so.
    pub(super) fn offer_end(&mut self, rank: usize, index: usize, fails: bool) {
        let transfer = self.seats[rank].transfers.remove(index);
        let result = match transfer.moved {
            _ if fails => Err(Refusal::Gone),
            Some(result) => result,
            None => self.transfer(rank, &transfer),
        };
        self.next = Some(match result {
            Ok(()) => Event::Done(transfer.token),
            Err(refusal) => Event::Failed(transfer.token, refusal),
        });
    }
    pub(super) fn offer_revocation(&mut self, rank: usize) {
        self.next = self.seats[rank].revoked.pop_front().map(Event::Revoked);
    }
    /// A rank learns that another is dead; `drops`: that one's last messages are lost.
    pub(super) fn offer_death(&mut self, rank: usize, dead: usize, drops: bool) {
        self.seats[rank].heard |= 1 << dead;
        if drops {
            self.channel(dead, rank).clear();
        }
        self.next = Some(Event::PeerGone(dead as Rank));
    }
    /// A rank's program and its process are over, and its memory with them.
    pub(super) fn leave(&mut self, rank: usize) {
        self.seats[rank].left = true;
        self.seats[rank].exports.fill(None);
        (0..self.seats.len()).for_each(|from| self.channel(from, rank).clear());
    }
    /// A rank hears that another's program is over.
    pub(super) fn offer_leave(&mut self, rank: usize, other: usize) {
        self.seats[rank].heard |= 1 << other;
        self.next = Some(Event::PeerLeft(other as Rank));
    }
    /// Whether the last offer was taken.
    pub(super) fn is_taken(&self) -> bool {
        self.next.is_none()
    }
    fn transfer(&mut self, rank: usize, transfer: &Transfer) -> Result<(), Refusal> {
        let there = transfer.key.rank as usize;
        let memory = self.seats[there].exports.get(transfer.key.id as usize).copied().flatten().ok_or(Refusal::Gone)?;
        let far = Span { memory, offset: transfer.offset, layout: transfer.layout };
        if transfer.deposit {
            let cells = self.seats[rank].pack(&transfer.here)?;
            self.seats[there].unpack(&far, &cells)
        } else {
            let cells = self.seats[there].pack(&far)?;
            self.seats[rank].unpack(&transfer.here, &cells)
        }
    }
    pub(super) fn fingerprint(&self, hasher: &mut impl Hasher) {
        (&self.seats, &self.channels, self.left).hash(hasher);
    }
}

impl Seat {
    pub(super) fn block(&self, memory: Memory) -> Result<&Block, Refusal> {
        self.blocks.get(memory.0 as usize).and_then(Option::as_ref).ok_or(Refusal::Gone)
    }
    fn block_mut(&mut self, memory: Memory) -> Result<&mut Block, Refusal> {
        self.blocks.get_mut(memory.0 as usize).and_then(Option::as_mut).ok_or(Refusal::Gone)
    }
    pub(super) fn pack(&self, span: &Span) -> Result<Vec<u8>, Refusal> {
        let block = self.block(span.memory)?;
        let mut cells = Vec::with_capacity((span.bytes() / CELL) as usize);
        for (at, len) in span.layout.runs(0, span.bytes()) {
            let (at, end) = (span.offset + at, span.offset + at + len);
            assert!(at.is_multiple_of(CELL) && end.is_multiple_of(CELL), "{span:?} cuts a cell");
            cells.extend(block.cells.get((at / CELL) as usize..(end / CELL) as usize).ok_or(Refusal::OutOfBounds)?);
        }
        Ok(cells)
    }
    pub(super) fn unpack(&mut self, span: &Span, cells: &[u8]) -> Result<(), Refusal> {
        if cells.len() as u64 * CELL != span.bytes() {
            return Err(Refusal::OutOfBounds);
        }
        let block = self.block_mut(span.memory)?;
        let mut taken = 0;
        for (at, len) in span.layout.runs(0, span.bytes()) {
            let (at, end) = ((span.offset + at) / CELL, (span.offset + at + len) / CELL);
            let into = block.cells.get_mut(at as usize..end as usize).ok_or(Refusal::OutOfBounds)?;
            into.copy_from_slice(&cells[taken..taken + into.len()]);
            taken += into.len();
        }
        Ok(())
    }
    /// Blocks that are not freed.
    pub(super) fn allocated(&self) -> usize {
        self.blocks.iter().flatten().count()
    }
}

/// One rank's port.
#[derive(Clone)]
pub struct CheckPort {
    pub(super) net: Rc<RefCell<Net>>,
    pub(super) rank: Rank,
    limits: Rc<Limits>,
}

impl CheckPort {
    pub(super) fn new(net: &Rc<RefCell<Net>>, rank: Rank, limits: &Rc<Limits>) -> CheckPort {
        CheckPort { net: net.clone(), rank, limits: limits.clone() }
    }
    pub(super) fn net(&self) -> RefMut<'_, Net> {
        self.net.borrow_mut()
    }
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Seat) -> T) -> T {
        work(&mut self.net().seats[self.rank as usize])
    }
    fn control(&self, to: Rank, head: Head, payload: &Payload<'_>) -> Posted {
        let (mut net, me) = (self.net(), self.rank as usize);
        if payload.bytes() > self.limits.control_bytes_max {
            return Posted::Refused(Refusal::TooLong(self.limits.control_bytes_max));
        }
        if to as usize >= net.seats.len() {
            return Posted::Refused(Refusal::NoRank);
        }
        if net.knows_dead(me, to as usize) {
            return Posted::Refused(Refusal::PeerGone(to));
        }
        let cargo = match *payload {
            Payload::None => Cargo::Nothing,
            Payload::Bytes(bytes) => Cargo::Bytes(bytes.to_vec()),
            Payload::Span(span) => match net.seats[me].pack(&span) {
                Ok(cells) => Cargo::Cells(cells),
                Err(refusal) => return Posted::Refused(refusal),
            },
        };
        let silent = net.seats[to as usize].dead || net.seats[to as usize].left;
        let full = net.channel(me, to as usize).len() >= net.room && !silent;
        if full || net.happens(|left| &mut left.busy) {
            net.met |= super::features::BUSY;
            return Posted::Busy;
        }
        net.met |= super::features::of_kind(head[0] as u8);
        if !silent {
            net.channel(me, to as usize).push_back(Packet { head, cargo });
        }
        Posted::Accepted
    }
    fn remote(&self, here: Span, there: RemoteSpan, deposit: bool, engine: Engine, token: u64) -> Posted {
        let claim = if deposit { self.limits.deposit } else { self.limits.fetch };
        let Some(claim) = claim else { return Posted::Refused(Refusal::Unsupported) };
        let (mut net, me) = (self.net(), self.rank as usize);
        let Some(key) = net.seats[me].attached.get(there.attachment.0 as usize).copied().flatten() else {
            return Posted::Refused(Refusal::NotReady);
        };
        if here.bytes() != there.layout.bytes() {
            return Posted::Refused(Refusal::OutOfBounds);
        }
        let private = net.seats[me].block(here.memory).is_ok_and(|block| block.kind == Kind::Private);
        let exported = net.seats[me].exports.contains(&Some(here.memory));
        if engine == Engine::Dma && claim.dma_needs_registration && private && !exported {
            return Posted::Refused(Refusal::NotReady);
        }
        if net.seats[me].transfers.len() >= net.slots || net.happens(|left| &mut left.busy) {
            net.met |= super::features::BUSY;
            return Posted::Busy;
        }
        net.met |= if deposit { super::features::DEPOSIT } else { super::features::FETCH };
        let (offset, layout) = (there.offset, there.layout);
        let mut transfer = Transfer { token, deposit, here, key, offset, layout, moved: None };
        if engine == Engine::Pio {
            transfer.moved = Some(net.transfer(me, &transfer));
        }
        net.seats[me].transfers.push(transfer);
        Posted::Accepted
    }
}

impl Port for CheckPort {
    fn rank(&self) -> Rank {
        self.rank
    }
    fn ranks(&self) -> u32 {
        self.net().seats.len() as u32
    }
    fn limits(&self) -> &Limits {
        &self.limits
    }
    fn now(&self) -> Time {
        Time::ZERO
    }
    fn post(&mut self, op: &Op<'_>) -> Posted {
        match *op {
            Op::Control { to, head, ref payload } => self.control(to, head, payload),
            Op::Deposit { from, to, engine, token } => self.remote(from, to, true, engine, token),
            Op::Fetch { from, to, engine, token } => self.remote(to, from, false, engine, token),
            Op::Barrier { .. } | Op::Broadcast { .. } | Op::Reduce { .. } => Posted::Refused(Refusal::Unsupported),
        }
    }
    fn poll(&mut self) -> Option<Event> {
        let next = self.net().next.take();
        if !matches!(next, Some(Event::Control { .. })) {
            self.with(|seat| seat.current = None);
        }
        next
    }
    fn deliver(&mut self, at: u64, to: Span) -> Result<(), Refusal> {
        self.with(|seat| {
            let Some(Packet { cargo: Cargo::Cells(cells), .. }) = seat.current.clone() else {
                return Err(Refusal::OutOfBounds);
            };
            let part = (at / CELL) as usize..((at + to.bytes()) / CELL) as usize;
            seat.unpack(&to, cells.get(part).ok_or(Refusal::OutOfBounds)?)
        })
    }
    fn peek(&self, at: u64, into: &mut [u8]) -> usize {
        self.with(|seat| match &seat.current {
            Some(Packet { cargo: Cargo::Bytes(bytes), .. }) => {
                let part = bytes.get(at as usize..).unwrap_or_default();
                let len = part.len().min(into.len());
                into[..len].copy_from_slice(&part[..len]);
                len
            }
            // The engine reads no contents, but asks whether there are any.
            Some(Packet { cargo: Cargo::Cells(cells), .. }) => cells.len().min(into.len()),
            _ => 0,
        })
    }
    fn idle(&mut self, _: Time) {}
    fn close(&mut self) {}
}

/// The claims of ports of a shape.
pub(super) fn limits(shape: &Shape) -> Limits {
    let pio = shape.door == Door::Pio;
    let claim = DepositLimits { pio, dma: !pio, dma_needs_registration: !pio, ..DepositLimits::ANY };
    let has = |doors: &[Door]| doors.contains(&shape.door).then_some(claim);
    Limits {
        control_bytes_max: 8 * CELL,
        inline_bytes: 64,
        deposit: has(&[Door::Deposit, Door::Both, Door::Pio]),
        fetch: has(&[Door::Fetch, Door::Both, Door::Pio]),
        segments: true,
        registration: RegistrationLimits {
            private: shape.door != Door::Messages,
            zero_copy_min: 2 * CELL,
            private_zero_copy_min: 2 * CELL,
            ..RegistrationLimits::NONE
        },
        ..Limits::messages("checker")
    }
}
