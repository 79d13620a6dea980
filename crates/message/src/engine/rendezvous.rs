//! Rendezvous: how a message that was announced moves.
//!
//! Long messages move without buffers where the ports, the memory and the layouts allow. The receiver fetches them from
//! the sender's memory, or the sender deposits them into the receiver's. They move through buffers, in pieces
//! ([`super::pieces`]), where a registration is refused or buffers are faster. The choice is made and counted message
//! by message.

use super::requests::State;
use super::speech::{Carried, Saying};
use super::{Engine, refused};
use crate::wire::{Context, Kind, Place, Words};
use crate::{Error, Status};
use hotlink_port::{self as port, DepositLimits, Op, Port, Posted, Rank, Refusal, RemoteSpan, Span};

impl<P: Port> Engine<P> {
    /// Offers a message that is too long to be eager, or that is to move without buffers (`direct`).
    pub(crate) fn offer(&mut self, to: Rank, words: Words, (waits, direct): (bool, bool)) -> Result<(), Error> {
        if self.take_early(to, &words)? {
            return Ok(());
        }
        let id = words.id;
        let span = self.entries[id as u32 as usize].span;
        let fetchable =
            self.port.limits().fetch.is_some() && (self.offers(&span, waits) || (direct && self.may_offer(&span)));
        let place = if fetchable { self.export(id, span) } else { None };
        let payload = place.map_or(Carried::Nothing, Carried::Place);
        let private_min = if self.is_regular(&span) { 0 } else { self.port.limits().registration.private_halves_min };
        let long = words.total >= self.options.halves_bytes.max(private_min);
        let helps = waits && place.is_some() && long && span.layout.is_contiguous();
        let words = Words { at: u64::from(helps), ..words };
        self.say(Saying { to, words, payload, request: id, ends: false })
    }
    pub(super) fn is_regular(&self, span: &Span) -> bool {
        match self.port.kind(span.memory) {
            Ok(port::Kind::Private) => false,
            // A length without bytes costs what the port's usual memory costs.
            Ok(port::Kind::Ghost) => self.port.limits().segments,
            _ => true,
        }
    }
    /// Whether blocks are long enough for the system's copy.
    pub(super) fn is_coarse(&self, span: &Span) -> bool {
        span.layout.is_contiguous() || span.layout.block >= self.port.limits().registration.private_block_min
    }
    /// Whether memory is offered to the other side, which saves buffers; `waits`: this side does nothing else.
    pub(super) fn offers(&self, span: &Span, waits: bool) -> bool {
        let limits = &self.port.limits().registration;
        let waited = limits.private_zero_copy_min..limits.private_zero_copy_max;
        let worth = !waits || waited.contains(&span.bytes()) || self.is_regular(span);
        span.bytes() >= self.options.zero_copy_bytes && worth && self.may_offer(span)
    }
    /// Whether the other side could use it.
    fn may_offer(&self, span: &Span) -> bool {
        self.is_regular(span) || (self.port.limits().registration.private && self.is_coarse(span))
    }
    /// Whether a message of this span might be moved without buffers, so that registering it ahead is worth while.
    pub(crate) fn may_register(&self, span: &Span) -> bool {
        let limits = self.port.limits();
        (limits.deposit.is_some() || limits.fetch.is_some()) && self.offers(span, false)
    }
    /// Whether an offer is taken with this memory on the own side.
    pub(super) fn takes(&self, span: &Span, place: &Place) -> bool {
        place.regular || self.is_coarse(span)
    }
    /// Registers the memory of request `id`; `None` if that is refused.
    pub(super) fn export(&mut self, id: u64, span: Span) -> Option<Place> {
        let key = self.setup.register(&mut self.port, span.memory).ok()?;
        self.entries[id as u32 as usize].registered = true;
        Some(Place { key, offset: span.offset, layout: span.layout, regular: self.is_regular(&span) })
    }
    /// The engine that moves messages from or to a place of another rank.
    pub(super) fn mover(&self, place: &Place) -> port::Engine {
        self.movers[usize::from(place.regular)]
    }
    /// Registers this side's memory where the adapter's engine needs it; `false`: that is refused.
    pub(super) fn pin(&mut self, id: u64, span: &Span, claim: Option<DepositLimits>, mover: port::Engine) -> bool {
        let needs = claim.is_some_and(|claim| claim.dma_needs_registration) && mover == port::Engine::Dma;
        !needs
            || self.is_regular(span)
            || self.entries[id as u32 as usize].registered
            || self.export(id, *span).is_some()
    }
    /// Attaches to a place for request `id`.
    pub(super) fn import(&mut self, id: u64, place: &Place) -> Result<RemoteSpan, Refusal> {
        let mover = self.mover(place);
        let attachment = self.setup.attach(&mut self.port, place.key, mover)?;
        self.entries[id as u32 as usize].attached = Some((place.key, mover));
        Ok(RemoteSpan { attachment, offset: place.offset, layout: place.layout })
    }
    /// Ends a request's use of its registration and attachment.
    pub(crate) fn release_setups(&mut self, id: u64) {
        let Some(entry) = self.entry(id) else { return };
        let (memory, registered) = (entry.span.memory, std::mem::take(&mut entry.registered));
        let attached = entry.attached.take();
        if registered {
            self.setup.registered_done(&mut self.port, memory);
        }
        if let Some((key, mover)) = attached {
            self.setup.attached_done(&mut self.port, key, mover);
        }
    }
    /// Frees memory of the program.
    pub(crate) fn free(&mut self, memory: port::Memory) -> Result<(), Refusal> {
        self.setup.forget_memory(memory);
        self.port.free(memory)
    }
    /// The place that the current control message carries, for a message of `total` bytes.
    pub(crate) fn place(&self, from: Rank, bytes: u64, total: u64) -> Option<Place> {
        let mut place = [0; Place::BYTES];
        let there = self.port.peek(0, &mut place);
        if bytes == there as u64 { Place::parse(from, &place[..there], total) } else { None }
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
                && self.fetch_or_share(id, &words, &place, into)
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
    pub(super) fn fetch(&mut self, id: u64, words: &Words, place: &Place, into: Span) -> bool {
        let Ok(from) = self.import(id, place) else { return false };
        let engine = self.mover(place);
        if !self.pin(id, &into, self.port.limits().fetch, engine) {
            self.release_setups(id);
            return false;
        }
        let op = Op::Fetch { from, to: into, engine, token: id };
        if self.port.post(&op) != Posted::Accepted {
            self.release_setups(id);
            return false;
        }
        self.entries[id as u32 as usize].state = State::Fetching { words: *words };
        true
    }
    /// Sends the sender of an announced message its place for the receive `id`.
    pub(super) fn clear(&mut self, id: u64, from: Rank, words: Words, payload: Carried) {
        self.entries[id as u32 as usize].state = State::Receiving { words, came: 0 };
        let clear = Words { kind: Kind::Cts, at: id, ..words };
        // Of an empty message nothing more will come.
        self.say_for(Saying { to: from, words: clear, payload, request: id, ends: words.total == 0 });
    }
    /// The receiver is ready for the announced message `words.id`.
    pub(crate) fn on_clear(&mut self, words: &Words, place: Option<Place>) {
        let Some(entry) = self.entry(words.id) else { return };
        if matches!(entry.state, State::Offered { .. }) || self.may_restart(words.id) {
            self.move_to(words.id, words.at, place);
        }
    }
    /// Moves the offered message `id` into the receive `peer`.
    pub(super) fn move_to(&mut self, id: u64, peer: u64, place: Option<Place>) {
        self.release_setups(id);
        self.entries[id as u32 as usize].halves = 0;
        let empty = self.entries[id as u32 as usize].span.bytes() == 0;
        if place.is_none_or(|place| empty || !self.deposit(id, peer, &place)) {
            self.start_pieces(id, peer);
        }
    }
    /// Deposits the message `id` into the receive `peer`; `false` if it must go another way.
    pub(super) fn deposit(&mut self, id: u64, peer: u64, place: &Place) -> bool {
        let span = self.entries[id as u32 as usize].span;
        if !self.takes(&span, place) {
            return false;
        }
        let Ok(to) = self.import(id, place) else { return false };
        let engine = self.mover(place);
        if !self.pin(id, &span, self.port.limits().deposit, engine) {
            self.release_setups(id);
            return false;
        }
        let op = Op::Deposit { from: span, to, engine, token: id };
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
        if self.is_in_halves(id) {
            return self.own_half_over(id, moved.is_ok());
        }
        match (state, moved) {
            (State::Fetching { words }, Ok(())) => {
                self.counters.fetched += 1;
                let words = Words { kind: Kind::Fetched, ..words };
                self.say_for(Saying { to: peer_rank, words, payload: Carried::Nothing, request: id, ends: true });
            }
            (State::Fetching { words }, Err(_)) => {
                self.release_setups(id);
                self.clear(id, peer_rank, words, Carried::Nothing);
            }
            (State::Depositing { peer }, Ok(())) => {
                self.counters.deposited += 1;
                let total = span.bytes();
                let words = Words { kind: Kind::Landed, context: Context::USER, tag: 0, total, id: peer, at: 0 };
                self.say_for(Saying { to: peer_rank, words, payload: Carried::Nothing, request: id, ends: true });
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
        if entry.halves > 0 {
            return self.their_half_over(words.id, words.at == 0);
        }
        if let State::Receiving { words: announced, .. } = entry.state {
            let (_, result) = Self::fit(from, &announced, entry.span);
            self.finish(words.id, result);
        }
    }
}
