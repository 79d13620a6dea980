//! The protocols of one rank: matching, eager, rendezvous. Driven by calls; its only I/O is the port.
//!
//! A message up to [`Options::eager_bytes`] travels at once with its envelope (*eager*). A longer one announces
//! itself (`Rts`); when a receive matches, it comes by *rendezvous* (see `rendezvous`). Both travel in the port's order, so messages between two ranks match in the order in which they were sent.

mod early;
mod matching;
mod pieces;
mod rendezvous;
mod requests;
mod speech;

pub(crate) use requests::Pattern;

use crate::options::{Counters, Options};
use crate::setup::Setup;
use crate::wire::{Context, Kind, Words};
use crate::{Error, Status, Tag};
use early::Early;
use hotlink_port::{Event, Head, Memory, Op, Payload, Port, Posted, Rank, Refusal, Span};
use matching::Unexpected;
use requests::{Entry, State};
use speech::{Carried, Saying};
use std::collections::{BTreeMap, VecDeque};

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

/// Messages by rank: in a row for as many ranks as one would want in a row, else only the ranks that have any, so that
/// memory grows with partners and not with peers.
#[derive(Debug)]
pub(crate) struct Tally {
    near: Vec<u64>,
    far: BTreeMap<Rank, u64>,
}

impl Tally {
    const NEAR: usize = 256;
    fn new(ranks: usize) -> Tally {
        Tally { near: vec![0; if ranks <= Tally::NEAR { ranks } else { 0 }], far: BTreeMap::new() }
    }
    #[inline]
    pub(crate) fn of(&mut self, rank: Rank) -> &mut u64 {
        match self.near.get_mut(rank as usize) {
            Some(count) => count,
            None => self.far.entry(rank).or_default(),
        }
    }
}

/// One rank's protocol state.
pub(crate) struct Engine<P: Port> {
    pub(crate) port: P,
    /// Who moves messages without buffers: the adapter, which lets this side compute, where it can.
    pub(crate) mover: hotlink_port::Engine,
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
    pub(crate) sent: Tally,
    pub(crate) seen: Tally,
    pub(crate) gone: Vec<Rank>,
}

impl<P: Port> Engine<P> {
    pub(crate) fn new(port: P, options: Options) -> Engine<P> {
        let most = port.limits().control_bytes_max;
        let (eager_bytes, piece_bytes) = (options.eager_bytes.min(most), options.piece_bytes.clamp(1, most));
        let (setup, ranks) = (Setup::new(options.policy), port.ranks() as usize);
        let by_dma = port.limits().deposit.or(port.limits().fetch).is_none_or(|claim| claim.dma);
        Engine {
            port,
            mover: if by_dma { hotlink_port::Engine::Dma } else { hotlink_port::Engine::Pio },
            options: Options { eager_bytes, piece_bytes, ..options },
            setup,
            counters: Counters::default(),
            early: Vec::new(),
            sent: Tally::new(ranks),
            seen: Tally::new(ranks),
            entries: Vec::new(),
            vacant: Vec::new(),
            posted: VecDeque::new(),
            unexpected: VecDeque::new(),
            waiting: VecDeque::new(),
            sending: VecDeque::new(),
            gone: Vec::new(),
        }
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
        *self.sent.of(to) += 1;
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
        *self.sent.of(to) += 1;
        if !self.early.is_empty() {
            self.drop_early(to, &words);
        }
        true
    }
    /// The head of a hardware broadcast: to each other rank an eager message of a collective like any other.
    pub(crate) fn broadcast_head(&mut self, tag: Tag, total: u64) -> Head {
        let me = self.port.rank();
        (0..self.port.ranks()).filter(|&to| to != me).for_each(|to| *self.sent.of(to) += 1);
        Words { kind: Kind::Eager, context: Context::COLLECTIVE, tag, total, id: 0, at: 0 }.head()
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
            *self.seen.of(from) += 1;
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
                *self.seen.of(from) += 1;
                match self.claim(from, &words) {
                    Some(id) => self.take_eager(id, from, &words),
                    None => self.keep(from, words, bytes),
                }
            }
            Kind::Rts => {
                *self.seen.of(from) += 1;
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
