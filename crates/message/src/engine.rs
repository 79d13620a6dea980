//! The protocols of one rank: matching, eager, rendezvous. Driven by calls; its only I/O is the port.
//!
//! A message up to [`Options::eager_bytes`] travels at once with its envelope (*eager*). A longer one announces
//! itself (`Rts`); when a receive matches, the receiver clears it (`Cts`) and it comes in pieces (`Data`).
//! Both travel in the port's order, so messages between two ranks match in the order in which they were sent.

use crate::wire::{Context, Kind, Words};
use crate::{Error, Status, Tag};
use hotlink_port::{Align, Event, Head, Memory, Op, Payload, Port, Posted, Rank, Refusal, Span};
use std::collections::VecDeque;

/// Choices that a port's limits leave open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Longest eager message.
    pub eager_bytes: u64,
    /// Longest piece of a rendezvous through buffers.
    pub piece_bytes: u64,
}

impl Options {
    /// What suits a port.
    pub fn of(limits: &hotlink_port::Limits) -> Options {
        Options { eager_bytes: limits.control_bytes_max.min(16 << 10), piece_bytes: limits.control_bytes_max }
    }
}

/// Who may match a receive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern {
    pub(crate) from: Option<Rank>,
    pub(crate) tag: Option<Tag>,
    pub(crate) context: Context,
}

impl Pattern {
    fn takes(&self, from: Rank, words: &Words) -> bool {
        self.context == words.context
            && self.from.is_none_or(|rank| rank == from)
            && self.tag.is_none_or(|tag| tag == words.tag)
    }
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// A send that waits for the receiver.
    Offered,
    /// A send whose pieces are on their way: bytes sent so far, and the receiver's request.
    Sending { sent: u64, peer: u64 },
    /// A receive that waits for a message.
    Posted(Pattern),
    /// A receive whose pieces come: bytes that came so far.
    Receiving { words: Words, came: u64 },
    /// Over.
    Done(Result<Status, Error>),
    /// Free for a new request.
    Vacant,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    generation: u32,
    peer: Rank,
    span: Span,
    state: State,
}

/// A message that came before its receive.
#[derive(Debug)]
struct Unexpected {
    from: Rank,
    words: Words,
    /// The payload of an eager message.
    kept: Option<Memory>,
}

/// A control message for which the port had no room.
#[derive(Debug)]
struct Waiting {
    to: Rank,
    words: Words,
    payload: Option<Span>,
    /// This rank's request that fails if it cannot be posted...
    request: u64,
    /// ... and is over when it is.
    ends: bool,
}

/// One rank's protocol state.
pub(crate) struct Engine<P: Port> {
    pub(crate) port: P,
    options: Options,
    entries: Vec<Entry>,
    vacant: Vec<u32>,
    posted: VecDeque<u64>,
    unexpected: VecDeque<Unexpected>,
    waiting: VecDeque<Waiting>,
    sending: VecDeque<u64>,
    gone: Vec<Rank>,
}

impl<P: Port> Engine<P> {
    pub(crate) fn new(port: P, options: Options) -> Engine<P> {
        let most = port.limits().control_bytes_max;
        let options =
            Options { eager_bytes: options.eager_bytes.min(most), piece_bytes: options.piece_bytes.clamp(1, most) };
        Engine {
            port,
            options,
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
            self.entries.push(Entry { generation: 0, peer, span, state: State::Vacant });
            self.entries.len() as u32 - 1
        });
        let entry = &mut self.entries[slot as usize];
        *entry = Entry { generation: entry.generation.wrapping_add(1), peer, span, state };
        u64::from(entry.generation) << 32 | u64::from(slot)
    }
    fn entry(&mut self, id: u64) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(id as u32 as usize)?;
        (u64::from(entry.generation) == id >> 32 && !matches!(entry.state, State::Vacant)).then_some(entry)
    }
    fn finish(&mut self, id: u64, result: Result<Status, Error>) {
        if let Some(entry) = self.entry(id) {
            entry.state = State::Done(result);
        }
    }
    /// The result of a request that is over; the request is then free. `None`: not over.
    pub(crate) fn take(&mut self, id: u64) -> Option<Result<Status, Error>> {
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

    /// Starts a send.
    pub(crate) fn send(&mut self, to: Rank, tag: Tag, context: Context, span: Span) -> Result<u64, Error> {
        if to >= self.port.ranks() {
            return Err(Refusal::NoRank.into());
        }
        if self.gone.contains(&to) {
            return Err(Error::PeerGone(to));
        }
        let total = span.bytes();
        let id = self.open(to, span, State::Offered);
        let eager = total <= self.options.eager_bytes;
        let kind = if eager { Kind::Eager } else { Kind::Rts };
        let words = Words { kind, context, tag, total, id, at: 0 };
        let sent =
            self.say(Waiting { to, words, payload: (eager && total > 0).then_some(span), request: id, ends: eager });
        if let Err(error) = sent {
            self.finish(id, Err(error));
        }
        Ok(id)
    }

    /// Starts a receive.
    pub(crate) fn recv(&mut self, pattern: Pattern, span: Span) -> Result<u64, Error> {
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
            Event::Done(_) | Event::Failed(..) | Event::Revoked(_) => {}
        }
    }

    fn on_control(&mut self, from: Rank, head: &Head, bytes: u64) {
        let Some(words) = Words::parse(head) else { return };
        match words.kind {
            Kind::Eager | Kind::Rts => match self.claim(from, &words) {
                Some(id) if words.kind == Kind::Eager => self.take_eager(id, from, &words),
                Some(id) => self.clear(id, from, words),
                None => self.keep(from, words, bytes),
            },
            Kind::Cts => self.on_clear(&words),
            Kind::Data => self.on_piece(from, &words, bytes),
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
    fn fit(from: Rank, words: &Words, span: Span) -> (Option<Span>, Result<Status, Error>) {
        let (sent, room) = (words.total, span.bytes());
        if sent <= room {
            let into = if sent == room { Some(span) } else { span.part(0, sent) };
            return (into, Ok(Status { from, tag: words.tag, bytes: sent }));
        }
        (Some(span), Err(Error::Truncated { sent, room }))
    }

    fn take_eager(&mut self, id: u64, from: Rank, words: &Words) {
        let span = self.entries[id as u32 as usize].span;
        let (into, result) = Self::fit(from, words, span);
        let delivered = match into {
            _ if words.total == 0 => Ok(()),
            Some(into) => self.port.deliver(0, into).map_err(Error::from),
            None => self.deliver_in_parts(0, words.total, span),
        };
        self.finish(id, delivered.and(result));
    }

    /// Delivers `bytes` of the current payload to the packed stream of `span` from byte `at`, where the piece does not
    /// begin and end on whole blocks: run by run.
    fn deliver_in_parts(&mut self, at: u64, bytes: u64, span: Span) -> Result<(), Error> {
        let mut taken = 0;
        for (offset, run) in span.layout.runs(at, bytes) {
            self.port.deliver(taken, Span::new(span.memory, span.offset + offset, run))?;
            taken += run;
        }
        Ok(())
    }

    /// Keeps a message that nobody waits for yet.
    fn keep(&mut self, from: Rank, words: Words, bytes: u64) {
        let kept = (words.kind == Kind::Eager && bytes > 0).then(|| {
            let ghost = self.port.peek(0, &mut [0]) == 0;
            let kind = if ghost { hotlink_port::Kind::Ghost } else { hotlink_port::Kind::Private };
            let memory = self.port.alloc(bytes, kind, Align::None)?;
            self.port.deliver(0, Span::new(memory, 0, bytes)).map(|()| memory)
        });
        match kept.transpose() {
            Ok(kept) => self.unexpected.push_back(Unexpected { from, words, kept }),
            // No memory for a message that was accepted: nothing sound can follow.
            Err(refusal) => panic!("no room for an unexpected message of {bytes} B from rank {from}: {refusal}"),
        }
    }

    /// Gives a kept message to the receive `id`.
    fn match_kept(&mut self, id: u64, message: Unexpected) {
        if message.words.kind == Kind::Rts {
            return self.clear(id, message.from, message.words);
        }
        let span = self.entries[id as u32 as usize].span;
        let (_, result) = Self::fit(message.from, &message.words, span);
        let copied = message.kept.map_or(Ok(()), |memory| self.unpack(memory, message.words.total, span));
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

    /// Tells the sender of an announced message to send it to the receive `id`.
    fn clear(&mut self, id: u64, from: Rank, words: Words) {
        let entry = &mut self.entries[id as u32 as usize];
        (entry.peer, entry.state) = (from, State::Receiving { words, came: 0 });
        let words = Words { kind: Kind::Cts, at: id, ..words };
        if let Err(error) = self.say(Waiting { to: from, words, payload: None, request: id, ends: false }) {
            self.finish(id, Err(error));
        }
    }

    fn on_clear(&mut self, words: &Words) {
        if let Some(entry) = self.entry(words.id)
            && matches!(entry.state, State::Offered)
        {
            entry.state = State::Sending { sent: 0, peer: words.at };
            self.sending.push_back(words.id);
            self.send_pieces();
        }
    }

    /// Sends pieces while the port takes them; whether it took any.
    fn send_pieces(&mut self) -> bool {
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

    fn on_piece(&mut self, from: Rank, words: &Words, bytes: u64) {
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

    /// Posts a control message, or keeps it until there is room; messages to a rank stay in order.
    fn say(&mut self, message: Waiting) -> Result<(), Error> {
        let blocked = !self.waiting.is_empty() && self.waiting.iter().any(|other| other.to == message.to);
        if blocked || !self.try_say(&message)? {
            self.waiting.push_back(message);
        }
        Ok(())
    }
    #[inline]
    fn try_say(&mut self, message: &Waiting) -> Result<bool, Error> {
        let payload = message.payload.map_or(Payload::None, Payload::Span);
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
        for entry in &mut self.entries {
            let needs = match entry.state {
                State::Offered | State::Sending { .. } | State::Receiving { .. } => entry.peer == rank,
                State::Posted(pattern) => pattern.from.is_none_or(|from| from == rank),
                State::Done(_) | State::Vacant => false,
            };
            if needs {
                entry.state = State::Done(Err(Error::PeerGone(rank)));
            }
        }
        let entries = &self.entries;
        self.posted.retain(|&id| matches!(entries[id as u32 as usize].state, State::Posted(_)));
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

fn refused(refusal: Refusal) -> Error {
    match refusal {
        Refusal::PeerGone(rank) => Error::PeerGone(rank),
        other => Error::Refused(other),
    }
}
