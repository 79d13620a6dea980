//! The protocols of one rank: matching, eager, rendezvous. Driven by calls; its only I/O is the port.
//!
//! A message up to [`Options::eager_bytes`] travels at once with its envelope (*eager*). A longer one announces
//! itself (`Rts`); when a receive matches, it comes by *rendezvous* (see `rendezvous`). Both travel in the port's
//! order, so messages between two ranks match in the order in which they were sent. How much may be sent before a
//! receive waits for it is bounded (see `flow`).

mod early;
#[cfg(any(test, feature = "prove"))]
mod fingerprint;
mod flow;
mod halves;
mod matching;
mod pieces;
mod rendezvous;
mod requests;
mod speech;

pub(crate) use requests::Pattern;

use crate::options::{Counters, Mode, Options};
use crate::request::SENT;
use crate::setup::Setup;
use crate::wire::{Context, Kind, Place, Words};
use crate::{Error, Status, Tag};
use early::Early;
use flow::Flows;
use hotlink_port::{self as port, Align, Event, Head, Key, Memory, Op, Payload, Port, Posted, Rank, Refusal, Span};
use matching::Unexpected;
use requests::{Entry, State};
use speech::{Carried, Saying};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

/// How [`Engine::recv_now`] went.
pub(crate) enum Direct {
    /// Received.
    Done(Result<Status, Error>),
    /// Nothing has come.
    Nothing,
    /// Another event came: the receive has begun the usual way.
    Started(u64),
    /// It must go the usual way.
    Usual,
}

/// One rank's protocol state.
#[derive(Clone)]
pub(crate) struct Engine<P: Port> {
    pub(crate) port: P,
    /// The engines that move messages without buffers: from or to other ranks' memory that cannot be mapped, and that
    /// can.
    movers: [port::Engine; 2],
    /// The port has remote stores but no loads.
    only_puts: bool,
    eager_always: u64,
    /// Places without gaps travel with the head. On simulated ports they keep the length that their results have.
    short_places: bool,
    pub(crate) options: Options,
    pub(crate) setup: Setup,
    pub(crate) counters: Counters,
    pub(crate) entries: Vec<Entry>,
    vacant: Vec<u32>,
    pub(crate) posted: VecDeque<u64>,
    unexpected: VecDeque<Unexpected>,
    /// Messages that a probe has taken out for a receive of their own, by number.
    matched: BTreeMap<u64, Unexpected>,
    waiting: VecDeque<Saying>,
    pub(crate) sending: VecDeque<u64>,
    /// Early receives of other ranks that this one may send into.
    pub(crate) early: Vec<Early>,
    flows: Flows,
    /// Sends for which no task waits, with copies of their messages.
    pub(crate) detached: u64,
    /// Exports of other ranks that went away and that the program does not know of yet.
    pub(crate) revoked: VecDeque<Key>,
    /// Exports that regions import, by rank and number: how many do, and whether it went away.
    pub(crate) watched: BTreeMap<(Rank, u64), (u32, bool)>,
    /// Ranks that say nothing more, with the error that every request which needs one of them ends with.
    pub(crate) ends: Vec<(Rank, Error)>,
    /// The fabric's barriers that this rank has entered and left, and why none can be left any more.
    barriers: (u64, u64),
    barred: Option<Error>,
    /// How the port's reduction ended, if it did and was not asked.
    pub(crate) reduced: Option<Result<(), Error>>,
    /// Communicators whose program takes what comes unasked, and those of them that something has come for.
    pub(crate) attended: BTreeSet<Context>,
    pub(crate) called: VecDeque<Context>,
    /// Something else of this process has work: a waiting program gives way at each poll.
    pub(crate) others: Rc<Cell<bool>>,
}

/// How a send goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Eagerly if it is short.
    Usual,
    /// After the receiver's answer.
    Announced,
    /// So, and without buffers.
    Direct,
}

/// The token of barriers, which need no request: they end in the order in which they were entered.
const BARRIER: u64 = u64::MAX - 1;
/// The token of the port's reductions, of which a program has one at a time.
const REDUCTION: u64 = u64::MAX - 2;

/// Up to this size a message is eager whatever memory it lies in, as far as [`Options::eager_bytes`] goes. A port that
/// claims to be faster without buffers from a smaller size on lowers the limit.
const EAGER_ALWAYS: u64 = 16 << 10;

impl<P: Port> Engine<P> {
    pub(crate) fn new(port: P, options: Options) -> Engine<P> {
        let most = port.limits().control_bytes_max;
        let (eager_bytes, piece_bytes) = (options.eager_bytes.min(most), options.piece_bytes.clamp(1, most));
        let setup = Setup::new(options.policy);
        let claim = port.limits().deposit.or(port.limits().fetch);
        let mover = |mappable| claim.map_or(port::Engine::Dma, |claim| claim.mover(mappable));
        let movers = [mover(port.limits().registration.private_mappable), mover(true)];
        let options = Options { eager_bytes, piece_bytes, ..options };
        Engine {
            flows: Flows::new(port.ranks(), &options),
            eager_always: EAGER_ALWAYS.min(port.limits().registration.zero_copy_min.saturating_sub(1)),
            only_puts: port.limits().deposit.is_some() && port.limits().fetch.is_none(),
            short_places: port.limits().real_time && port.limits().inline_bytes >= Place::PLAIN as u64,
            port,
            movers,
            options,
            setup,
            counters: Counters::default(),
            early: Vec::new(),
            detached: 0,
            revoked: VecDeque::new(),
            watched: BTreeMap::new(),
            entries: Vec::new(),
            vacant: Vec::new(),
            posted: VecDeque::new(),
            unexpected: VecDeque::new(),
            matched: BTreeMap::new(),
            waiting: VecDeque::new(),
            sending: VecDeque::new(),
            ends: Vec::new(),
            barriers: (0, 0),
            barred: None,
            reduced: None,
            attended: BTreeSet::new(),
            called: VecDeque::new(),
            others: Rc::default(),
        }
    }
    /// Starts a send that promises what `mode` says.
    #[inline]
    pub(crate) fn send_as(
        &mut self,
        mode: Mode,
        to: Rank,
        (tag, context): (Tag, Context),
        span: Span,
        waits: bool,
    ) -> Result<u64, Error> {
        match mode {
            Mode::Restricted => self.send_by(to, tag, context, span, (waits, Way::Announced)),
            _ if self.send_now(to, tag, context, &span, waits) => Ok(SENT),
            Mode::Standard => self.send(to, tag, context, span, waits),
            Mode::Postal => self.send_copy(to, tag, context, span),
        }
    }
    /// Copies a message and sends the copy.
    fn send_copy(&mut self, to: Rank, tag: Tag, context: Context, span: Span) -> Result<u64, Error> {
        let bytes = span.bytes();
        let kind = self.port.kind(span.memory)?;
        let copy = Span::new(self.port.alloc(bytes, kind, Align::Default)?, 0, bytes);
        let sent = match self.port.copy(span, copy) {
            Ok(()) => self.send(to, tag, context, copy, false),
            Err(refusal) => Err(refusal.into()),
        };
        match sent {
            Ok(id) => self.detach(id, copy.memory),
            Err(error) => {
                self.port.free(copy.memory)?;
                return Err(error);
            }
        }
        self.counters.buffered += 1;
        Ok(SENT)
    }
    /// Starts a send; `waits`: the program does nothing else until it is over.
    pub(crate) fn send(&mut self, to: Rank, tag: Tag, context: Context, span: Span, waits: bool) -> Result<u64, Error> {
        self.send_by(to, tag, context, span, (waits, Way::Usual))
    }
    /// Starts a send that the program waits for and that the receiver fetches, however short it is, where it can.
    pub(crate) fn send_direct(&mut self, to: Rank, tag: Tag, context: Context, span: Span) -> Result<u64, Error> {
        self.send_by(to, tag, context, span, (true, Way::Direct))
    }
    fn send_by(
        &mut self,
        to: Rank,
        tag: Tag,
        context: Context,
        span: Span,
        (waits, way): (bool, Way),
    ) -> Result<u64, Error> {
        if to >= self.port.ranks() {
            return Err(Refusal::NoRank.into());
        }
        if let Some(error) = self.end_of(to) {
            return Err(error);
        }
        let total = span.bytes();
        let short = way == Way::Usual && self.is_short(&span, waits);
        let goes = short && self.flows.of(to).admits(total);
        let kind = if goes { Kind::Eager } else { Kind::Rts };
        let words = Words { kind, context, tag, total, id: 0, at: 0 };
        let number = self.flows.of(to).sent;
        let id = self.open(to, span, State::Offered { words, number });
        let words = Words { id, ..words };
        let sent = if goes {
            self.counters.eager += 1;
            self.flows.of(to).charge(total);
            self.drop_early(to, &words);
            let payload = if total > 0 { Carried::Span(span) } else { Carried::Nothing };
            self.say(Saying { to, words, payload, request: id, ends: true })
        } else {
            self.counters.held_back += u64::from(short);
            self.offer(to, words, (waits, way == Way::Direct))
        };
        self.flows.of(to).sent += 1;
        if let Err(error) = sent {
            self.finish(id, Err(error));
        }
        Ok(id)
    }
    /// Whether a message goes eagerly: it is short, or not much longer and would not be moved without buffers anyway.
    #[inline(always)]
    fn is_short(&self, span: &Span, waits: bool) -> bool {
        let total = span.bytes();
        total <= self.options.eager_bytes && (total <= self.eager_always || !self.offers(span, waits))
    }
    /// Sends a short message at once and leaves nothing to wait for; `false`: it must take the usual route.
    #[inline(never)]
    pub(crate) fn send_now(&mut self, to: Rank, tag: Tag, context: Context, span: &Span, waits: bool) -> bool {
        let total = span.bytes();
        let usual = !self.is_short(span, waits) || !self.waiting.is_empty() || to >= self.port.ranks();
        if usual || !self.flows.of(to).admits(total) {
            return false;
        }
        let words = Words { kind: Kind::Eager, context, tag, total, id: 0, at: 0 };
        let posted = if span.layout.is_contiguous() {
            self.port.post_row(to, words.head(), span.memory, span.offset, total)
        } else {
            self.post_blocks(to, words.head(), *span)
        };
        if posted != Posted::Accepted {
            return false;
        }
        self.counters.eager += 1;
        let flow = self.flows.of(to);
        flow.sent += 1;
        flow.charge(total);
        if !self.early.is_empty() {
            self.drop_early(to, &words);
        }
        true
    }
    /// A whole message of several blocks. By itself, so that what is posted need not lie in memory where there is one.
    #[inline(never)]
    fn post_blocks(&mut self, to: Rank, head: Head, span: Span) -> Posted {
        self.port.post(&Op::Control { to, head, payload: Payload::of(span) })
    }
    /// The head of a hardware broadcast: to each other rank an eager message of a collective like any other.
    pub(crate) fn broadcast_head(&mut self, tag: Tag, total: u64) -> Head {
        let me = self.port.rank();
        for to in (0..self.port.ranks()).filter(|&to| to != me) {
            let flow = self.flows.of(to);
            flow.sent += 1;
            flow.charge(total);
        }
        Words { kind: Kind::Eager, context: Context::COLLECTIVE, tag, total, id: 0, at: 0 }.head()
    }
    /// The program waits for a message of that many bytes. Only short ones come so soon and so regularly that the port
    /// may let time pass first; it would delay the steps of a rendezvous.
    #[inline]
    pub(crate) fn settle(&mut self, bytes: u64) {
        if bytes <= self.eager_always {
            self.port.settle();
        }
    }
    /// Whether a receive is announced even when its program waits. Where only the sender can move data, it must first
    /// know the place, or it could not do so during a computation (W01's asynchronous rendezvous). Memory that buffers
    /// reach sooner is not announced.
    #[inline]
    pub(crate) fn announces(&self, span: &Span) -> bool {
        self.only_puts && self.offers(span, true)
    }
    /// Receives while nothing else is expected: a short message goes straight to its place.
    #[inline(always)]
    pub(crate) fn recv_now(&mut self, pattern: &Pattern, span: &Span) -> Direct {
        let expected = !self.posted.is_empty() || !self.unexpected.is_empty();
        let in_vain = !self.ends.is_empty() && self.in_vain(pattern.from).is_some();
        if expected || in_vain || self.announces(span) {
            return Direct::Usual;
        }
        match self.port.poll() {
            None => {
                let busy = !self.waiting.is_empty() || !self.sending.is_empty();
                if busy { Direct::Usual } else { Direct::Nothing }
            }
            Some(Event::Control { from, head, bytes }) => {
                let words = Words::eager(head[0], head[1]);
                if head[0] as u8 != Kind::Eager as u8 || !pattern.takes(from, &words) {
                    return self.recv_beside(pattern, span, Event::Control { from, head, bytes });
                }
                let placed = self.place_eager(from, &words, span);
                self.seen_and_taken(from, words.total);
                Direct::Done(placed)
            }
            Some(event) => self.recv_beside(pattern, span, event),
        }
    }
    /// Starts a receive the usual way when something else has happened.
    #[cold]
    fn recv_beside(&mut self, pattern: &Pattern, span: &Span, event: Event) -> Direct {
        match self.recv(*pattern, *span, false) {
            Ok(id) => {
                self.on_event(event);
                Direct::Started(id)
            }
            Err(error) => Direct::Done(Err(error)),
        }
    }
    /// Starts an operation of the program; `None`: no room now. Its own memory `here` is registered for it where the
    /// port's DMA needs that.
    pub(crate) fn transfer(
        &mut self,
        peer: Rank,
        here: Option<(Span, port::Engine)>,
        op: &impl Fn(u64) -> Op<'static>,
    ) -> Option<Result<u64, Error>> {
        let span = here.map_or(Span::new(Memory(u64::MAX), 0, 0), |(span, _)| span);
        let id = self.open(peer, span, State::Moving);
        let ready = here.map_or(Ok(()), |(span, engine)| self.register_for_dma(id, span, engine));
        let posted = match ready {
            Ok(()) => self.port.post(&op(id)),
            Err(refusal) => Posted::Refused(refusal),
        };
        match posted {
            Posted::Accepted => Some(Ok(id)),
            Posted::Refused(refusal) => {
                self.finish(id, Err(refused(refusal)));
                self.take(id).map(|result| result.map(|_| id))
            }
            Posted::Busy => {
                self.finish(id, Err(Error::NoRequest));
                let _ = self.take(id);
                None
            }
        }
    }
    fn register_for_dma(&mut self, id: u64, here: Span, engine: port::Engine) -> Result<(), Refusal> {
        let needs = self.port.limits().deposit.is_some_and(|claim| claim.dma_needs_registration);
        if engine == port::Engine::Dma && needs && self.port.kind(here.memory)? == port::Kind::Private {
            self.setup.register(&mut self.port, here.memory)?;
            self.entries[id as u32 as usize].registered = true;
        }
        Ok(())
    }

    /// Starts a receive; `early`: the program may stop polling, so the sender learns at once where the message may go.
    #[inline]
    pub(crate) fn recv(&mut self, pattern: Pattern, span: Span, early: bool) -> Result<u64, Error> {
        // Taken apart, and passed so: stored field by field and then read as a whole it would take long.
        let Pattern { from, tag, context } = pattern;
        if let Some(from) = from
            && from >= self.port.ranks()
        {
            return Err(Refusal::NoRank.into());
        }
        let id = self.open(from.unwrap_or(0), span, State::Vacant);
        self.entries[id as u32 as usize].state = State::Posted(Pattern { from, tag, context });
        if (!self.unexpected.is_empty() || !self.ends.is_empty()) && self.is_settled(id, from, tag, context) {
            return Ok(id);
        }
        if early && span.bytes() >= self.options.zero_copy_bytes {
            self.announce(id, from, tag, context, span);
        }
        self.posted.push_back(id);
        Ok(id)
    }
    /// Whether the receive `id` takes a message that came before it, or one that can never come.
    fn is_settled(&mut self, id: u64, from: Option<Rank>, tag: Option<Tag>, context: Context) -> bool {
        let pattern = Pattern { from, tag, context };
        let found = self.unexpected.iter().position(|message| pattern.takes(message.from, &message.words));
        if let Some(message) = found.and_then(|index| self.unexpected.remove(index)) {
            self.match_kept(id, message);
        } else if let Some(error) = pattern.from.and_then(|from| self.end_of(from)) {
            self.finish(id, Err(error));
        } else {
            return false;
        }
        true
    }
    /// Enters the fabric's barrier, which gets a number; `None`: no room now.
    #[inline]
    pub(crate) fn enter_barrier(&mut self) -> Result<Option<u64>, Error> {
        match self.port.post(&Op::Barrier { token: BARRIER }) {
            Posted::Accepted => {
                self.barriers.0 += 1;
                Ok(Some(self.barriers.0))
            }
            Posted::Busy => Ok(None),
            Posted::Refused(refusal) => Err(self.refused_by(refusal)),
        }
    }
    /// How barrier `number` ended, if it did.
    #[inline]
    pub(crate) fn left_barrier(&self, number: u64) -> Option<Result<(), Error>> {
        if self.barriers.1 >= number { Some(Ok(())) } else { self.barred.map(Err) }
    }
    /// Begins the port's reduction; `false`: no room now.
    #[inline]
    pub(crate) fn begin_reduction(&mut self, op: impl Fn(u64) -> Op<'static>) -> Result<bool, Error> {
        match self.port.post(&op(REDUCTION)) {
            Posted::Accepted => Ok(true),
            Posted::Busy => Ok(false),
            Posted::Refused(refusal) => Err(self.refused_by(refusal)),
        }
    }
    /// Does what can be done now; whether anything was.
    #[inline]
    pub(crate) fn progress(&mut self) -> bool {
        match self.port.poll() {
            None => self.go_on(),
            Some(Event::Done(BARRIER)) => {
                self.barriers.1 += 1;
                true
            }
            Some(Event::Control { from, head, bytes }) if head[0] as u8 == Kind::Eager as u8 => {
                // Word by word: a processor that reads two words in one waits until both stores of them have left.
                self.on_eager(from, Words::eager(head[0], head[1]), bytes);
                true
            }
            Some(event) => {
                self.on_event(event);
                true
            }
        }
    }
    /// Says and sends what had to wait for room.
    fn go_on(&mut self) -> bool {
        (!self.waiting.is_empty() && self.say_again()) || (!self.sending.is_empty() && self.send_pieces())
    }
    fn on_event(&mut self, event: Event) {
        match event {
            Event::Control { from, head, bytes } => self.on_control(from, &head, bytes),
            Event::PeerGone(rank) => self.on_end(rank, Error::PeerGone(rank)),
            Event::PeerLeft(rank) => self.on_end(rank, Error::Ended(rank)),
            Event::Done(BARRIER) => self.barriers.1 += 1,
            Event::Failed(BARRIER, refusal) => self.barred = Some(self.refused_by(refusal)),
            Event::Done(REDUCTION) => self.reduced = Some(Ok(())),
            Event::Failed(REDUCTION, refusal) => self.reduced = Some(Err(self.refused_by(refusal))),
            Event::Done(id) => self.on_moved(id, Ok(())),
            Event::Failed(id, refusal) => self.on_moved(id, Err(refusal)),
            Event::Revoked(key) => {
                self.setup.forget_key(&mut self.port, key);
                if let Some(watch) = self.watched.get_mut(&(key.rank, key.id)) {
                    watch.1 = true;
                }
                self.revoked.push_back(key);
            }
        }
    }
    /// A whole message has come.
    #[inline]
    fn on_eager(&mut self, from: Rank, words: Words, bytes: u64) {
        match self.claim(from, &words) {
            Some(id) => {
                self.take_eager(id, from, &words);
                self.seen_and_taken(from, words.total);
            }
            None => {
                self.flows.of(from).seen += 1;
                self.keep(from, words, bytes);
            }
        }
    }
    fn on_control(&mut self, from: Rank, head: &Head, bytes: u64) {
        let Some(words) = Words::parse(head) else { return };
        // Of a dead rank's last messages only a whole one is of use; nothing that it began will end.
        if words.kind != Kind::Eager && self.end_of(from).is_some() {
            return;
        }
        match words.kind {
            Kind::Eager => self.on_eager(from, words, bytes),
            Kind::Rts => {
                self.flows.of(from).seen += 1;
                let place = self.place(from, bytes, words.total);
                match self.claim(from, &words) {
                    Some(id) => self.begin(id, from, words, place),
                    None => self.put_by(Unexpected { from, words, kept: Ok(None), place }),
                }
            }
            Kind::Cts => self.on_clear(&words, self.place(from, bytes, words.total)),
            Kind::Data => self.on_piece(from, &words, bytes),
            Kind::Fetched => {
                if self.is_in_halves(words.id) {
                    self.their_half_over(words.id, true);
                } else {
                    self.finish(words.id, Ok(Status { from, tag: words.tag, bytes: words.total }));
                }
            }
            Kind::Half => self.on_half(words, self.place(from, bytes, words.total)),
            Kind::Landed => self.on_landed(from, &words),
            Kind::Ready => self.on_ready(from, words, self.place(from, bytes, words.total)),
            Kind::Claim => self.on_claim(from, words),
            Kind::Credit => self.on_credit(from, words.at),
        }
    }
    /// A refusal as an error: a rank that is gone may have ended well.
    fn refused_by(&self, refusal: Refusal) -> Error {
        match refused(refusal) {
            Error::PeerGone(rank) => self.end_of(rank).unwrap_or(Error::PeerGone(rank)),
            other => other,
        }
    }
    /// The error that a request which needs this rank ends with, if the rank says nothing more.
    pub(crate) fn end_of(&self, rank: Rank) -> Option<Error> {
        self.ends.iter().find(|end| end.0 == rank).map(|end| end.1)
    }
    /// Why no message can come from a rank any more, or from any: then one has died.
    pub(crate) fn in_vain(&self, from: Option<Rank>) -> Option<Error> {
        let concerns = |end: &&(Rank, Error)| match from {
            Some(from) => end.0 == from,
            None => matches!(end.1, Error::PeerGone(_)),
        };
        self.ends.iter().find(concerns).map(|end| end.1)
    }
    /// A rank has died, or its program has ended: every request that needs it fails. A receive from any rank fails only
    /// if one has died: others may still send, this rank itself among them.
    fn on_end(&mut self, rank: Rank, error: Error) {
        self.ends.push((rank, error));
        let unsaid: VecDeque<Saying>;
        (unsaid, self.waiting) = self.waiting.drain(..).partition(|message| message.to == rank);
        unsaid.iter().for_each(|message| self.fail_to_say(message, error));
        self.early.retain(|early| early.from != rank);
        let mut failed = Vec::new();
        for (slot, entry) in self.entries.iter().enumerate() {
            let needs = match entry.state {
                State::Offered { .. } | State::Sending { .. } | State::Depositing { .. } | State::Moving => {
                    entry.peer == rank
                }
                State::Receiving { .. } | State::Fetching { .. } => entry.peer == rank,
                State::Posted(Pattern { from: Some(from), .. }) => from == rank,
                State::Posted(_) => matches!(error, Error::PeerGone(_)),
                State::Done(_) | State::Vacant => false,
            };
            if needs {
                failed.push(u64::from(entry.generation) << 32 | slot as u64);
            }
        }
        failed.into_iter().for_each(|id| self.finish(id, Err(error)));
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

#[cfg(test)]
mod tests;
