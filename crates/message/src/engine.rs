//! The protocols of one rank: matching, eager, rendezvous. Driven by calls; its only I/O is the port.
//!
//! A message up to [`Options::eager_bytes`] travels at once with its envelope (*eager*). A longer one announces
//! itself (`Rts`); when a receive matches, it comes by *rendezvous* (see `rendezvous`). Both travel in the port's order, so messages between two ranks match in the order in which they were sent.

use crate::comm::SENT;
use crate::options::{Counters, Options};
use crate::rendezvous::Early;
use crate::setup::Setup;
use crate::wire::{Context, Kind, Place, Words};
use crate::{Error, Status, Tag};
use hotlink_port::{Align, Event, Head, Key, Memory, Op, Payload, Port, Posted, Rank, Refusal, Span};
use std::collections::VecDeque;

/// Who may match a receive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern {
    pub(crate) from: Option<Rank>,
    pub(crate) tag: Option<Tag>,
    pub(crate) context: Context,
}

impl Pattern {
    #[inline]
    fn takes(&self, from: Rank, words: &Words) -> bool {
        self.context == words.context
            && self.from.is_none_or(|rank| rank == from)
            && self.tag.is_none_or(|tag| tag == words.tag)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum State {
    /// A send that waits for the receiver.
    Offered { words: Words },
    /// A send whose pieces are on their way: bytes sent so far, and the receiver's request.
    Sending { sent: u64, peer: u64 },
    /// A send that is being deposited into the receiver's request `peer`.
    Depositing { peer: u64 },
    /// A put or get of the program.
    Moving,
    /// A receive that waits for a message.
    Posted(Pattern),
    /// A receive whose pieces come, or that is deposited into: bytes that came in pieces so far.
    Receiving { words: Words, came: u64 },
    /// A receive that is being fetched for the sender's request `words.id`.
    Fetching { words: Words },
    /// Over.
    Done(Result<Status, Error>),
    /// Free for a new request.
    Vacant,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    generation: u32,
    pub(crate) peer: Rank,
    pub(crate) span: Span,
    pub(crate) state: State,
    /// Its memory is registered for it.
    pub(crate) registered: bool,
    /// Where its message may go, as the sender was told.
    pub(crate) announced: Option<Place>,
    /// It uses the attachment to this key.
    pub(crate) attached: Option<Key>,
}

/// A message that came before its receive.
#[derive(Debug)]
struct Unexpected {
    from: Rank,
    words: Words,
    /// The payload of an eager message, or why there was no room for it: its receive fails with that.
    kept: Result<Option<Memory>, Refusal>,
    /// Where the payload of an announced message can be fetched.
    place: Option<Place>,
}

/// What a control message carries.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Carried {
    Nothing,
    Span(Span),
    Place(Place),
}

/// A control message to be said, now or when the port has room.
#[derive(Debug)]
pub(crate) struct Saying {
    pub(crate) to: Rank,
    pub(crate) words: Words,
    pub(crate) payload: Carried,
    /// This rank's request that fails if it cannot be posted...
    pub(crate) request: u64,
    /// ... and is over when it is.
    pub(crate) ends: bool,
}

/// How [`Engine::recv_now`] went.
pub(crate) enum Direct {
    /// Received.
    Done(Result<Status, Error>),
    /// Nothing has come.
    Nothing,
    /// Something else came: the receive has begun the usual way.
    Started(u64),
    /// It must go the usual way.
    Usual,
}

/// One rank's protocol state.
pub(crate) struct Engine<P: Port> {
    pub(crate) port: P,
    pub(crate) options: Options,
    pub(crate) setup: Setup,
    pub(crate) counters: Counters,
    pub(crate) entries: Vec<Entry>,
    vacant: Vec<u32>,
    pub(crate) posted: VecDeque<u64>,
    unexpected: VecDeque<Unexpected>,
    waiting: VecDeque<Saying>,
    pub(crate) sending: VecDeque<u64>,
    /// Early receives of other ranks that this one may send into.
    pub(crate) early: Vec<Early>,
    /// Messages sent to and seen from each rank: whether any is on the way decides whether an early receive holds.
    pub(crate) sent: Vec<u64>,
    pub(crate) seen: Vec<u64>,
    pub(crate) gone: Vec<Rank>,
}

impl<P: Port> Engine<P> {
    pub(crate) fn new(port: P, options: Options) -> Engine<P> {
        let most = port.limits().control_bytes_max;
        let (eager_bytes, piece_bytes) = (options.eager_bytes.min(most), options.piece_bytes.clamp(1, most));
        let (setup, ranks) = (Setup::new(options.policy), port.ranks() as usize);
        Engine {
            port,
            options: Options { eager_bytes, piece_bytes, ..options },
            setup,
            counters: Counters::default(),
            early: Vec::new(),
            sent: vec![0; ranks],
            seen: vec![0; ranks],
            entries: Vec::new(),
            vacant: Vec::new(),
            posted: VecDeque::new(),
            unexpected: VecDeque::new(),
            waiting: VecDeque::new(),
            sending: VecDeque::new(),
            gone: Vec::new(),
        }
    }

    fn open(&mut self, peer: Rank, span: Span, state: State) -> u64 {
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.entries.push(Entry {
                generation: 0,
                peer,
                span,
                state: State::Vacant,
                registered: false,
                announced: None,
                attached: None,
            });
            self.entries.len() as u32 - 1
        });
        let entry = &mut self.entries[slot as usize];
        let generation = entry.generation.wrapping_add(1);
        *entry = Entry { generation, peer, span, state, registered: false, announced: None, attached: None };
        u64::from(entry.generation) << 32 | u64::from(slot)
    }
    /// The request in a slot.
    pub(crate) fn id_of(&self, slot: usize) -> u64 {
        u64::from(self.entries[slot].generation) << 32 | slot as u64
    }
    pub(crate) fn entry(&mut self, id: u64) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(id as u32 as usize)?;
        (u64::from(entry.generation) == id >> 32 && !matches!(entry.state, State::Vacant)).then_some(entry)
    }
    pub(crate) fn finish(&mut self, id: u64, result: Result<Status, Error>) {
        let Some(entry) = self.entry(id) else { return };
        entry.state = State::Done(result);
        if entry.registered || entry.attached.is_some() {
            self.release_setups(id);
        }
    }
    /// The result of a request that is over; the request is then free. `None`: not over.
    #[inline]
    pub(crate) fn take(&mut self, id: u64) -> Option<Result<Status, Error>> {
        if id == SENT {
            return Some(Ok(Status { from: self.port.rank(), tag: 0, bytes: 0 }));
        }
        let Some(entry) = self.entry(id) else { return Some(Err(Error::NoRequest)) };
        let State::Done(result) = entry.state else { return None };
        entry.state = State::Vacant;
        self.vacant.push(id as u32);
        Some(result)
    }
    /// Whether a request is over.
    pub(crate) fn is_done(&mut self, id: u64) -> bool {
        self.entry(id).is_none_or(|entry| matches!(entry.state, State::Done(_)))
    }

    /// Starts a send; `waits`: the program does nothing else until it is over.
    pub(crate) fn send(&mut self, to: Rank, tag: Tag, context: Context, span: Span, waits: bool) -> Result<u64, Error> {
        if to >= self.port.ranks() {
            return Err(Refusal::NoRank.into());
        }
        if self.gone.contains(&to) {
            return Err(Error::PeerGone(to));
        }
        let total = span.bytes();
        let words = Words { kind: Kind::Eager, context, tag, total, id: 0, at: 0 };
        let id = self.open(to, span, State::Offered { words });
        let words = Words { id, ..words };
        let sent = if total <= self.options.eager_bytes {
            self.counters.eager += 1;
            self.drop_early(to, &words);
            let payload = if total > 0 { Carried::Span(span) } else { Carried::Nothing };
            self.say(Saying { to, words, payload, request: id, ends: true })
        } else {
            self.offer(to, words, waits)
        };
        self.sent[to as usize] += 1;
        if let Err(error) = sent {
            self.finish(id, Err(error));
        }
        Ok(id)
    }

    /// Sends a short message at once and leaves nothing to wait for; `false`: it must go the usual way.
    #[inline]
    pub(crate) fn send_now(&mut self, to: Rank, tag: Tag, context: Context, span: Span) -> bool {
        let total = span.bytes();
        if total > self.options.eager_bytes || !self.waiting.is_empty() {
            return false;
        }
        let words = Words { kind: Kind::Eager, context, tag, total, id: 0, at: 0 };
        let payload = if total > 0 { Payload::Span(span) } else { Payload::None };
        if self.port.post(&Op::Control { to, head: words.head(), payload }) != Posted::Accepted {
            return false;
        }
        self.counters.eager += 1;
        self.sent[to as usize] += 1;
        if !self.early.is_empty() {
            self.drop_early(to, &words);
        }
        true
    }
    /// Receives while nothing else is expected: a short message goes straight to its place.
    #[inline]
    pub(crate) fn recv_now(&mut self, pattern: Pattern, span: Span) -> Direct {
        if !self.posted.is_empty() || !self.unexpected.is_empty() {
            return Direct::Usual;
        }
        let Some(event) = self.port.poll() else {
            let busy = !self.waiting.is_empty() || !self.sending.is_empty();
            return if busy { Direct::Usual } else { Direct::Nothing };
        };
        if let Event::Control { from, head, .. } = event
            && let Some(words) = Words::parse(&head)
            && words.kind == Kind::Eager
            && pattern.takes(from, &words)
        {
            self.seen[from as usize] += 1;
            return Direct::Done(self.place_eager(from, &words, span));
        }
        match self.recv(pattern, span, false) {
            Ok(id) => {
                self.on_event(event);
                Direct::Started(id)
            }
            Err(error) => Direct::Done(Err(error)),
        }
    }

    /// Starts a put or get; `None`: no room now.
    pub(crate) fn transfer(&mut self, peer: Rank, op: impl Fn(u64) -> Op<'static>) -> Option<Result<u64, Error>> {
        let nothing = Span::new(Memory(u64::MAX), 0, 0);
        let id = self.open(peer, nothing, State::Moving);
        match self.port.post(&op(id)) {
            Posted::Accepted => return Some(Ok(id)),
            Posted::Refused(refusal) => self.finish(id, Err(refused(refusal))),
            Posted::Busy => self.finish(id, Err(Error::NoRequest)),
        }
        match self.take(id) {
            Some(Err(Error::NoRequest)) | None => None,
            Some(result) => Some(result.map(|_| id)),
        }
    }

    /// Starts a receive; `early`: the program may go away, so tell the sender at once where the message may go.
    pub(crate) fn recv(&mut self, pattern: Pattern, span: Span, early: bool) -> Result<u64, Error> {
        if let Some(from) = pattern.from
            && from >= self.port.ranks()
        {
            return Err(Refusal::NoRank.into());
        }
        let id = self.open(pattern.from.unwrap_or(0), span, State::Posted(pattern));
        let found = self.unexpected.iter().position(|message| pattern.takes(message.from, &message.words));
        if let Some(message) = found.and_then(|index| self.unexpected.remove(index)) {
            self.match_kept(id, message);
        } else if let Some(&from) = pattern.from.as_ref().filter(|from| self.gone.contains(from)) {
            self.finish(id, Err(Error::PeerGone(from)));
        } else {
            if early && span.bytes() >= self.options.zero_copy_bytes {
                self.announce(id, &pattern, span);
            }
            self.posted.push_back(id);
        }
        Ok(id)
    }

    /// The first message that came and that `pattern` would take.
    pub(crate) fn probe(&self, pattern: &Pattern) -> Option<Status> {
        let message = self.unexpected.iter().find(|message| pattern.takes(message.from, &message.words))?;
        Some(Status { from: message.from, tag: message.words.tag, bytes: message.words.total })
    }

    /// Does what can be done now; whether anything was.
    pub(crate) fn progress(&mut self) -> bool {
        if let Some(event) = self.port.poll() {
            self.on_event(event);
            return true;
        }
        (!self.waiting.is_empty() && self.say_again()) || (!self.sending.is_empty() && self.send_pieces())
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Control { from, head, bytes } => self.on_control(from, &head, bytes),
            Event::PeerGone(rank) => self.on_gone(rank),
            Event::Done(id) => self.on_moved(id, Ok(())),
            Event::Failed(id, refusal) => self.on_moved(id, Err(refusal)),
            Event::Revoked(key) => self.setup.forget_key(&mut self.port, key),
        }
    }

    fn on_control(&mut self, from: Rank, head: &Head, bytes: u64) {
        let Some(words) = Words::parse(head) else { return };
        match words.kind {
            Kind::Eager => {
                self.seen[from as usize] += 1;
                match self.claim(from, &words) {
                    Some(id) => self.take_eager(id, from, &words),
                    None => self.keep(from, words, bytes),
                }
            }
            Kind::Rts => {
                self.seen[from as usize] += 1;
                let place = self.place(from, bytes);
                match self.claim(from, &words) {
                    Some(id) => self.begin(id, from, words, place),
                    None => {
                        self.counters.unexpected += 1;
                        self.unexpected.push_back(Unexpected { from, words, kept: Ok(None), place });
                    }
                }
            }
            Kind::Cts => self.on_clear(&words, self.place(from, bytes)),
            Kind::Data => self.on_piece(from, &words, bytes),
            Kind::Fetched => self.finish(words.id, Ok(Status { from, tag: words.tag, bytes: words.total })),
            Kind::Landed => self.on_landed(from, &words),
            Kind::Ready => self.on_ready(from, words, self.place(from, bytes)),
            Kind::Claim => self.on_claim(from, words),
        }
    }

    /// The first posted receive that takes the message.
    #[inline]
    fn claim(&mut self, from: Rank, words: &Words) -> Option<u64> {
        let takes = |&id: &u64| match self.entries[id as u32 as usize].state {
            State::Posted(pattern) => pattern.takes(from, words),
            _ => false,
        };
        let index = self.posted.iter().position(takes)?;
        if index == 0 { self.posted.pop_front() } else { self.posted.remove(index) }
    }

    /// Room and result of receiving `words` into `span`: as many bytes as both have.
    #[inline]
    pub(crate) fn fit(from: Rank, words: &Words, span: Span) -> (Option<Span>, Result<Status, Error>) {
        let (sent, room) = (words.total, span.bytes());
        if sent <= room {
            let into = if sent == room { Some(span) } else { span.part(0, sent) };
            return (into, Ok(Status { from, tag: words.tag, bytes: sent }));
        }
        (Some(span), Err(Error::Truncated { sent, room }))
    }

    fn take_eager(&mut self, id: u64, from: Rank, words: &Words) {
        let span = self.entries[id as u32 as usize].span;
        let placed = self.place_eager(from, words, span);
        self.finish(id, placed);
    }
    #[inline]
    fn place_eager(&mut self, from: Rank, words: &Words, span: Span) -> Result<Status, Error> {
        let (into, result) = Self::fit(from, words, span);
        match into {
            _ if words.total == 0 => {}
            Some(into) => self.port.deliver(0, into)?,
            None => self.deliver_in_parts(0, words.total, span)?,
        }
        result
    }

    /// Delivers `bytes` of the current payload to the packed stream of `span` from byte `at`, where the piece does not
    /// begin and end on whole blocks: run by run.
    pub(crate) fn deliver_in_parts(&mut self, at: u64, bytes: u64, span: Span) -> Result<(), Error> {
        let mut taken = 0;
        for (offset, run) in span.layout.runs(at, bytes) {
            self.port.deliver(taken, Span::new(span.memory, span.offset + offset, run))?;
            taken += run;
        }
        Ok(())
    }

    /// Keeps an eager message that nobody waits for yet.
    fn keep(&mut self, from: Rank, words: Words, bytes: u64) {
        self.counters.unexpected += 1;
        let kept = (bytes > 0).then(|| {
            let ghost = self.port.peek(0, &mut [0]) == 0;
            let kind = if ghost { hotlink_port::Kind::Ghost } else { hotlink_port::Kind::Private };
            let memory = self.port.alloc(bytes, kind, Align::None)?;
            self.port.deliver(0, Span::new(memory, 0, bytes)).map(|()| memory)
        });
        self.unexpected.push_back(Unexpected { from, words, kept: kept.transpose(), place: None });
    }

    /// Gives a kept message to the receive `id`.
    fn match_kept(&mut self, id: u64, message: Unexpected) {
        if message.words.kind == Kind::Rts {
            return self.begin(id, message.from, message.words, message.place);
        }
        let span = self.entries[id as u32 as usize].span;
        let (_, result) = Self::fit(message.from, &message.words, span);
        let copied = match message.kept {
            Ok(Some(memory)) => self.unpack(memory, message.words.total, span),
            Ok(None) => Ok(()),
            Err(refusal) => Err(refusal.into()),
        };
        self.finish(id, copied.and(result));
    }

    fn unpack(&mut self, memory: Memory, bytes: u64, span: Span) -> Result<(), Error> {
        let mut taken = 0;
        let bytes = bytes.min(span.bytes());
        match span.part(0, bytes) {
            Some(into) => self.port.copy(Span::new(memory, 0, bytes), into)?,
            None => {
                for (offset, run) in span.layout.runs(0, bytes) {
                    let into = Span::new(span.memory, span.offset + offset, run);
                    self.port.copy(Span::new(memory, taken, run), into)?;
                    taken += run;
                }
            }
        }
        Ok(self.port.free(memory)?)
    }

    /// Whether messages to a rank already wait for room.
    #[inline]
    pub(crate) fn is_blocked(&self, to: Rank) -> bool {
        !self.waiting.is_empty() && self.waiting.iter().any(|message| message.to == to)
    }
    /// Posts a control message, or keeps it until there is room; messages to a rank stay in order.
    pub(crate) fn say(&mut self, message: Saying) -> Result<(), Error> {
        if self.is_blocked(message.to) || !self.try_say(&message)? {
            self.waiting.push_back(message);
        }
        Ok(())
    }
    #[inline]
    fn try_say(&mut self, message: &Saying) -> Result<bool, Error> {
        let place;
        let payload = match &message.payload {
            Carried::Nothing => Payload::None,
            Carried::Span(span) => Payload::Span(*span),
            Carried::Place(named) => {
                place = named.bytes();
                Payload::Bytes(&place)
            }
        };
        match self.port.post(&Op::Control { to: message.to, head: message.words.head(), payload }) {
            Posted::Accepted => {
                if message.ends {
                    let status = Status { from: message.to, tag: message.words.tag, bytes: message.words.total };
                    self.finish(message.request, Ok(status));
                }
                Ok(true)
            }
            Posted::Busy => Ok(false),
            Posted::Refused(refusal) => Err(refused(refusal)),
        }
    }
    fn say_again(&mut self) -> bool {
        let mut any = false;
        let mut blocked: Vec<Rank> = Vec::new();
        for _ in 0..self.waiting.len() {
            let Some(message) = self.waiting.pop_front() else { break };
            let said = if blocked.contains(&message.to) { Ok(false) } else { self.try_say(&message) };
            match said {
                Ok(true) => any = true,
                Ok(false) => {
                    blocked.push(message.to);
                    self.waiting.push_back(message);
                }
                Err(error) => self.finish(message.request, Err(error)),
            }
        }
        any
    }

    /// A rank has died: every request that needs it fails.
    fn on_gone(&mut self, rank: Rank) {
        self.gone.push(rank);
        self.waiting.retain(|message| message.to != rank);
        self.early.retain(|early| early.from != rank);
        let mut failed = Vec::new();
        for (slot, entry) in self.entries.iter().enumerate() {
            let needs = match entry.state {
                State::Offered { .. } | State::Sending { .. } | State::Depositing { .. } | State::Moving => {
                    entry.peer == rank
                }
                State::Receiving { .. } | State::Fetching { .. } => entry.peer == rank,
                State::Posted(pattern) => pattern.from.is_none_or(|from| from == rank),
                State::Done(_) | State::Vacant => false,
            };
            if needs {
                failed.push(u64::from(entry.generation) << 32 | slot as u64);
            }
        }
        failed.into_iter().for_each(|id| self.finish(id, Err(Error::PeerGone(rank))));
        let entries = &self.entries;
        self.posted.retain(|&id| matches!(entries[id as u32 as usize].state, State::Posted(_)));
    }
}

/// A refusal as an error of communication.
pub(crate) fn refused(refusal: Refusal) -> Error {
    match refusal {
        Refusal::PeerGone(rank) => Error::PeerGone(rank),
        other => Error::Refused(other),
    }
}
