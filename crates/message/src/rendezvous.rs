//! Rendezvous: how a message that was announced moves.
//!
//! Without buffers where the ports, the memory and the layouts allow: the receiver fetches it from the sender's
//! memory, or the sender deposits it into the receiver's. Through buffers, in pieces, where a set-up is refused or
//! buffers are faster: chosen message by message and counted.
//!
//! A receive that starts without waiting ([`crate::Comm::irecv`]) is announced (`Ready`): the sender may then deposit
//! the message while the receiver computes. The announcement holds if no message was on the way when it came, and the
//! sender takes it with a `Claim`, in order with its other messages; or if the one message on the way is the very one
//! that will meet it. So matching order is kept. Only the sender moves the data of an announced receive, so that
//! nothing is written after both sides are done.

use crate::engine::{Carried, Engine, Pattern, Saying, State, refused};
use crate::wire::{Context, Kind, Place, Words};
use crate::{Error, Status, Tag};
use hotlink_port::{self as port, Op, Payload, Port, Posted, Rank, Refusal, RemoteSpan, Span};

/// An early receive of another rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Early {
    pub(crate) from: Rank,
    tag: Tag,
    context: Context,
    room: u64,
    /// The receiver's request.
    id: u64,
    place: Place,
}

impl<P: Port> Engine<P> {
    /// Offers a message that is too long to be eager.
    pub(crate) fn offer(&mut self, to: Rank, words: Words, waits: bool) -> Result<(), Error> {
        if self.take_early(to, &words)? {
            return Ok(());
        }
        let id = words.id;
        let span = self.entries[id as u32 as usize].span;
        let fetchable = self.port.limits().fetch.is_some() && self.offers(&span, waits);
        let place = if fetchable { self.export(id, span) } else { None };
        let payload = place.map_or(Carried::Nothing, Carried::Place);
        let words = Words { kind: Kind::Rts, ..words };
        self.say(Saying { to, words, payload, request: id, ends: false })
    }

    fn is_regular(&self, span: &Span) -> bool {
        self.port.kind(span.memory) != Ok(port::Kind::Private)
    }
    /// Whether blocks are long enough for the system's copy.
    fn is_coarse(&self, span: &Span) -> bool {
        span.layout.is_contiguous() || span.layout.block >= self.port.limits().registration.private_block_min
    }
    /// Whether memory is offered to the other side, which saves buffers; `waits`: this side does nothing else.
    fn offers(&self, span: &Span, waits: bool) -> bool {
        let limits = &self.port.limits().registration;
        let worth = !waits || span.bytes() >= limits.private_zero_copy_min;
        let private = || limits.private && worth && self.is_coarse(span);
        span.bytes() >= self.options.zero_copy_bytes && (self.is_regular(span) || private())
    }
    /// Whether an offer is taken with this memory on the own side.
    fn takes(&self, span: &Span, place: &Place) -> bool {
        place.regular || self.is_coarse(span)
    }
    /// Registers the memory of request `id`; `None` if that is refused.
    fn export(&mut self, id: u64, span: Span) -> Option<Place> {
        let key = self.setup.register(&mut self.port, span.memory).ok()?;
        self.entries[id as u32 as usize].registered = true;
        Some(Place { key, offset: span.offset, layout: span.layout, regular: self.is_regular(&span) })
    }
    /// Attaches to a place for request `id`.
    fn import(&mut self, id: u64, place: &Place) -> Result<RemoteSpan, Refusal> {
        let attachment = self.setup.attach(&mut self.port, place.key, port::Engine::Dma)?;
        self.entries[id as u32 as usize].attached = Some(place.key);
        Ok(RemoteSpan { attachment, offset: place.offset, layout: place.layout })
    }
    /// The set-ups of a request are no longer in use.
    pub(crate) fn release_setups(&mut self, id: u64) {
        let Some(entry) = self.entry(id) else { return };
        let (memory, registered) = (entry.span.memory, std::mem::take(&mut entry.registered));
        let attached = entry.attached.take();
        if registered {
            self.setup.registered_done(&mut self.port, memory);
        }
        if let Some(key) = attached {
            self.setup.attached_done(&mut self.port, key, port::Engine::Dma);
        }
    }
    /// Frees memory of the program.
    pub(crate) fn free(&mut self, memory: port::Memory) -> Result<(), Refusal> {
        self.setup.forget_memory(memory);
        self.port.free(memory)
    }
    /// The place that the current control message carries.
    pub(crate) fn place(&self, from: Rank, bytes: u64) -> Option<Place> {
        let mut place = [0; Place::BYTES];
        let whole = bytes == Place::BYTES as u64 && self.port.peek(0, &mut place) == Place::BYTES;
        whole.then(|| Place::parse(from, &place))
    }

    /// An announced message has met its receive `id`.
    pub(crate) fn begin(&mut self, id: u64, from: Rank, words: Words, place: Option<Place>) {
        let span = self.entries[id as u32 as usize].span;
        let entry = &mut self.entries[id as u32 as usize];
        entry.peer = from;
        if let Some(announced) = entry.announced {
            let place = announced.part(words.total).map_or(Carried::Nothing, Carried::Place);
            return self.clear(id, from, words, place);
        }
        if words.total <= span.bytes() {
            let into = span.part(0, words.total);
            if let (Some(place), Some(into)) = (place, into)
                && self.takes(&span, &place)
                && self.fetch(id, &words, &place, into)
            {
                return;
            }
            let depositable = self.port.limits().deposit.is_some();
            if let Some(into) = into.filter(|into| depositable && self.offers(into, true))
                && let Some(target) = self.export(id, into)
            {
                return self.clear(id, from, words, Carried::Place(target));
            }
        }
        self.clear(id, from, words, Carried::Nothing);
    }
    /// Fetches a message; `false` if it must come another way.
    fn fetch(&mut self, id: u64, words: &Words, place: &Place, into: Span) -> bool {
        let Ok(from) = self.import(id, place) else { return false };
        let op = Op::Fetch { from, to: into, engine: port::Engine::Dma, token: id };
        if self.port.post(&op) != Posted::Accepted {
            self.release_setups(id);
            return false;
        }
        self.entries[id as u32 as usize].state = State::Fetching { words: *words };
        true
    }
    /// Tells the sender of an announced message where to send it for the receive `id`.
    fn clear(&mut self, id: u64, from: Rank, words: Words, payload: Carried) {
        self.entries[id as u32 as usize].state = State::Receiving { words, came: 0 };
        let words = Words { kind: Kind::Cts, at: id, ..words };
        if let Err(error) = self.say(Saying { to: from, words, payload, request: id, ends: false }) {
            self.finish(id, Err(error));
        }
    }
    /// The receiver is ready for the announced message `words.id`.
    pub(crate) fn on_clear(&mut self, words: &Words, place: Option<Place>) {
        let Some(entry) = self.entry(words.id) else { return };
        if matches!(entry.state, State::Offered { .. }) {
            self.move_to(words.id, words.at, place);
        }
    }
    /// Moves the offered message `id` into the receive `peer`.
    fn move_to(&mut self, id: u64, peer: u64, place: Option<Place>) {
        self.release_setups(id);
        if place.is_none_or(|place| !self.deposit(id, peer, &place)) {
            self.start_pieces(id, peer);
        }
    }
    fn start_pieces(&mut self, id: u64, peer: u64) {
        self.counters.pieces += 1;
        if let Some(entry) = self.entry(id) {
            entry.state = State::Sending { sent: 0, peer };
            self.sending.push_back(id);
            self.send_pieces();
        }
    }
    /// Deposits the message `id` into the receive `peer`; `false` if it must go another way.
    fn deposit(&mut self, id: u64, peer: u64, place: &Place) -> bool {
        let span = self.entries[id as u32 as usize].span;
        if !self.takes(&span, place) {
            return false;
        }
        let Ok(to) = self.import(id, place) else { return false };
        let op = Op::Deposit { from: span, to, engine: port::Engine::Dma, token: id };
        if self.port.post(&op) != Posted::Accepted {
            self.release_setups(id);
            return false;
        }
        self.entries[id as u32 as usize].state = State::Depositing { peer };
        true
    }

    /// A fetch or deposit for request `id` is over.
    pub(crate) fn on_moved(&mut self, id: u64, moved: Result<(), Refusal>) {
        let Some(entry) = self.entry(id) else { return };
        let (peer_rank, span, state) = (entry.peer, entry.span, entry.state);
        match (state, moved) {
            (State::Fetching { words }, Ok(())) => {
                self.counters.fetched += 1;
                let (_, result) = Self::fit(peer_rank, &words, span);
                let fetched = Words { kind: Kind::Fetched, ..words };
                let said = self.say(Saying {
                    to: peer_rank,
                    words: fetched,
                    payload: Carried::Nothing,
                    request: id,
                    ends: false,
                });
                self.finish(id, said.and(result));
            }
            (State::Fetching { words }, Err(_)) => {
                self.release_setups(id);
                self.clear(id, peer_rank, words, Carried::Nothing);
            }
            (State::Depositing { peer }, Ok(())) => {
                self.counters.deposited += 1;
                let total = span.bytes();
                let words = Words { kind: Kind::Landed, context: Context::USER, tag: 0, total, id: peer, at: 0 };
                let landed = Saying { to: peer_rank, words, payload: Carried::Nothing, request: id, ends: true };
                if let Err(error) = self.say(landed) {
                    self.finish(id, Err(error));
                }
            }
            (State::Depositing { peer }, Err(_)) => {
                self.release_setups(id);
                self.start_pieces(id, peer);
            }
            (State::Moving, moved) => {
                let status = Status { from: peer_rank, tag: 0, bytes: 0 };
                self.finish(id, moved.map(|()| status).map_err(refused));
            }
            _ => {}
        }
    }
    /// The message of receive `words.id` has been deposited.
    pub(crate) fn on_landed(&mut self, from: Rank, words: &Words) {
        let Some(entry) = self.entry(words.id) else { return };
        if let State::Receiving { words: announced, .. } = entry.state {
            let (_, result) = Self::fit(from, &announced, entry.span);
            self.finish(words.id, result);
        }
    }

    /// Tells the sender of a receive where its message may go, if nothing else could take that message first.
    pub(crate) fn announce(&mut self, id: u64, pattern: &Pattern, span: Span) {
        let (Some(from), Some(tag)) = (pattern.from, pattern.tag) else { return };
        let rival = |&other: &u64| match self.entries[other as u32 as usize].state {
            State::Posted(other) => {
                other.context == pattern.context
                    && other.from.is_none_or(|rank| rank == from)
                    && other.tag.is_none_or(|t| t == tag)
            }
            _ => false,
        };
        let depositable = self.port.limits().deposit.is_some() && from != self.port.rank();
        if !depositable || !self.offers(&span, false) || self.posted.iter().any(rival) {
            return;
        }
        let Some(place) = self.export(id, span) else { return };
        self.entries[id as u32 as usize].announced = Some(place);
        let (total, at) = (span.bytes(), self.seen[from as usize]);
        let words = Words { kind: Kind::Ready, context: pattern.context, tag, total, id, at };
        // Not said in time, the message comes the usual way.
        let _ = self.say(Saying { to: from, words, payload: Carried::Place(place), request: id, ends: false });
    }
    /// Another rank has announced a receive.
    pub(crate) fn on_ready(&mut self, from: Rank, words: Words, place: Option<Place>) {
        let Some(place) = place else { return };
        let on_the_way = self.sent[from as usize].wrapping_sub(words.at);
        let Words { tag, context, total: room, id, .. } = words;
        match on_the_way {
            0 => self.early.push(Early { from, tag, context, room, id, place }),
            1 => self.meet(from, &words, &place),
            _ => {}
        }
    }
    /// The one message on the way to `from` meets the announced receive, if it is an offered one that this receive
    /// takes: an earlier one would have met it when it was posted.
    fn meet(&mut self, from: Rank, ready: &Words, place: &Place) {
        let meets = |entry: &crate::engine::Entry| match entry.state {
            State::Offered { words } => entry.peer == from && (words.tag, words.context) == (ready.tag, ready.context),
            _ => false,
        };
        let Some(slot) = self.entries.iter().position(meets) else { return };
        let (total, id) = (self.entries[slot].span.bytes(), self.id_of(slot));
        if let Some(place) = place.part(total) {
            self.move_to(id, ready.id, Some(place));
        }
    }
    /// Takes out the early receive that a message to `to` will meet.
    pub(crate) fn drop_early(&mut self, to: Rank, words: &Words) -> Option<Early> {
        let takes = |early: &Early| early.from == to && early.tag == words.tag && early.context == words.context;
        let index = self.early.iter().position(takes)?;
        Some(self.early.remove(index))
    }
    /// Sends the message `words.id` into an early receive, if there is one for it.
    fn take_early(&mut self, to: Rank, words: &Words) -> Result<bool, Error> {
        let Some(early) = self.drop_early(to, words) else { return Ok(false) };
        let id = words.id;
        let span = self.entries[id as u32 as usize].span;
        let fits = words.total <= early.room && self.takes(&span, &early.place);
        let Some(place) = early.place.part(words.total).filter(|_| fits) else { return Ok(false) };
        let Ok(remote) = self.import(id, &place) else { return Ok(false) };
        let claim = Words { kind: Kind::Claim, id: early.id, ..*words };
        self.say(Saying { to, words: claim, payload: Carried::Nothing, request: id, ends: false })?;
        self.counters.early += 1;
        self.entries[id as u32 as usize].state = State::Depositing { peer: early.id };
        let op = Op::Deposit { from: span, to: remote, engine: port::Engine::Dma, token: id };
        if self.port.post(&op) != Posted::Accepted {
            self.release_setups(id);
            self.start_pieces(id, early.id);
        }
        Ok(true)
    }
    /// The sender takes the early receive `words.id`.
    pub(crate) fn on_claim(&mut self, from: Rank, words: Words) {
        self.seen[from as usize] += 1;
        let Some(entry) = self.entry(words.id) else { return };
        (entry.peer, entry.state) = (from, State::Receiving { words, came: 0 });
        self.posted.retain(|&id| id != words.id);
    }

    /// Sends pieces while the port takes them; whether it took any.
    pub(crate) fn send_pieces(&mut self) -> bool {
        let mut any = false;
        for _ in 0..self.sending.len() {
            let Some(id) = self.sending.pop_front() else { break };
            if self.send_pieces_of(id, &mut any) {
                self.sending.push_back(id);
            }
        }
        any
    }
    /// Sends pieces of one message; whether there is more to send.
    fn send_pieces_of(&mut self, id: u64, any: &mut bool) -> bool {
        let piece_bytes = self.options.piece_bytes;
        let Some(entry) = self.entry(id) else { return false };
        let (to, span) = (entry.peer, entry.span);
        let State::Sending { mut sent, peer } = entry.state else { return false };
        if self.is_blocked(to) {
            // A claim may wait there, which must come before its pieces.
            return true;
        }
        let total = span.bytes();
        let result = loop {
            if sent == total {
                break Ok(Status { from: to, tag: 0, bytes: total });
            }
            let part = piece(&span, piece_bytes, sent);
            let head = Words { kind: Kind::Data, context: Context::USER, tag: 0, total, id: peer, at: sent }.head();
            match self.port.post(&Op::Control { to, head, payload: Payload::Span(part) }) {
                Posted::Accepted => (sent, *any) = (sent + part.bytes(), true),
                Posted::Busy => {
                    if let Some(entry) = self.entry(id) {
                        entry.state = State::Sending { sent, peer };
                    }
                    return true;
                }
                Posted::Refused(refusal) => break Err(refused(refusal)),
            }
        };
        self.finish(id, result);
        false
    }
    /// A piece has come.
    pub(crate) fn on_piece(&mut self, from: Rank, words: &Words, bytes: u64) {
        let Some(entry) = self.entry(words.id) else { return };
        let span = entry.span;
        let State::Receiving { words: announced, came } = entry.state else { return };
        let came = came + bytes;
        entry.state = State::Receiving { words: announced, came };
        let room = span.bytes().saturating_sub(words.at).min(bytes);
        let delivered = match span.part(words.at, room) {
            Some(into) => self.port.deliver(0, into).map_err(Error::from),
            None => self.deliver_in_parts(words.at, room, span),
        };
        if delivered.is_err() || came == announced.total {
            let (_, result) = Self::fit(from, &announced, span);
            self.finish(words.id, delivered.and(result));
        }
    }
}

/// The next piece of a span from byte `sent`: whole blocks if there are gaps, or a part of one block.
fn piece(span: &Span, most: u64, sent: u64) -> Span {
    let left = span.bytes() - sent;
    let block = span.layout.block;
    let whole = if span.layout.is_contiguous() { left.min(most) } else { left.min(most / block * block) };
    let part = if whole > 0 { span.part(sent, whole) } else { None };
    part.unwrap_or_else(|| {
        let (offset, run) = span.layout.runs(sent, most).next().unwrap_or((0, 0));
        Span::new(span.memory, span.offset + offset, run)
    })
}
