//! [`Comm`]: what programs use.

use crate::collectives::algorithm::{Algorithm, Collective};
use crate::engine::{Direct, Engine, Pattern};
use crate::options::{Counters, Options};
use crate::setup::SetupStats;
use crate::wire::Context;
use crate::{Error, Tag};
use hotlink_fabric::units::Time;
use hotlink_port::{
    Align, Attachment, Host, Key, Kind, Limits, Memory, Note, Op, Payload, Port, Rank, RemoteSpan, Span, Work,
    yield_once,
};
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A rank's handle to its communicator. Clones share one state.
pub struct Comm<P: Port> {
    engine: Rc<RefCell<Engine<P>>>,
    rank: Rank,
    ranks: u32,
    limits: Rc<Limits>,
    /// Algorithms that were asked for, by collective.
    forced: Rc<Cell<[Option<Algorithm>; Collective::ALL.len()]>>,
}

impl<P: Port> Clone for Comm<P> {
    fn clone(&self) -> Comm<P> {
        let (engine, limits, forced) = (self.engine.clone(), self.limits.clone(), self.forced.clone());
        Comm { engine, limits, forced, ..*self }
    }
}

/// The request of a send that was over at once.
pub(crate) const SENT: u64 = u64::MAX;

/// What a completed receive tells; of a send it tells nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The other rank.
    pub from: Rank,
    /// The message's tag.
    pub tag: Tag,
    /// Its bytes.
    pub bytes: u64,
}

/// A communication under way. Must be waited for, or it holds its place for ever.
#[must_use]
#[derive(Debug)]
pub struct Request(u64);

impl<P: Port> Comm<P> {
    /// All ranks of `port`.
    pub fn new(port: P) -> Comm<P> {
        let options = Options::of(port.limits());
        Comm::with_options(port, options)
    }
    /// As [`Comm::new`], with choices of one's own.
    pub fn with_options(port: P, options: Options) -> Comm<P> {
        let (rank, ranks, limits) = (port.rank(), port.ranks(), Rc::new(port.limits().clone()));
        Comm { engine: Rc::new(RefCell::new(Engine::new(port, options))), rank, ranks, limits, forced: Rc::default() }
    }
    /// This rank.
    pub fn rank(&self) -> Rank {
        self.rank
    }
    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }
    /// What the port claims.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
    /// This rank's clock.
    pub fn now(&self) -> Time {
        self.engine.borrow().port.now()
    }
    /// Local work, or anything else that the port offers.
    pub fn with_port<T>(&self, work: impl FnOnce(&mut P) -> T) -> T {
        work(&mut self.engine.borrow_mut().port)
    }
    /// Allocates zeroed memory, aligned as the port likes it. See [`Host::alloc`].
    pub fn alloc(&self, bytes: u64, kind: Kind) -> Result<Memory, Error> {
        Ok(self.with_port(|port| port.alloc(bytes, kind, Align::Default))?)
    }
    /// Frees memory.
    pub fn free(&self, memory: Memory) -> Result<(), Error> {
        Ok(self.engine.borrow_mut().free(memory)?)
    }
    /// Writes memory from byte `offset`.
    pub fn write(&self, memory: Memory, offset: u64, from: &[u8]) -> Result<(), Error> {
        Ok(self.with_port(|port| port.write(memory, offset, from))?)
    }
    /// Reads memory from byte `offset`.
    pub fn read(&self, memory: Memory, offset: u64, into: &mut [u8]) -> Result<(), Error> {
        Ok(self.with_port(|port| port.read(memory, offset, into))?)
    }
    /// Computes, without progress of communication but what the port does by itself.
    pub fn compute(&self, work: Work) {
        self.with_port(|port| Host::compute(port, work));
    }

    /// What the protocols did so far.
    pub fn counters(&self) -> Counters {
        self.engine.borrow().counters
    }
    /// What set-ups for zero-copy transfers cost so far.
    pub fn setup_stats(&self) -> SetupStats {
        self.engine.borrow().setup.stats()
    }
    /// Registers memory ahead of use and keeps it so in preference to other memory.
    pub fn hold(&self, memory: Memory) -> Result<(), Error> {
        let engine = &mut *self.engine.borrow_mut();
        Ok(engine.setup.hold(&mut engine.port, memory)?)
    }

    /// Starts a send. `span` may be used again when the request is over.
    pub fn isend(&self, to: Rank, tag: Tag, span: Span) -> Result<Request, Error> {
        if self.engine.borrow_mut().send_now(to, tag, Context::USER, span) {
            return Ok(Request(SENT));
        }
        self.engine.borrow_mut().send(to, tag, Context::USER, span, false).map(Request)
    }
    /// Starts a receive from `from` (or any rank) with `tag` (or any tag).
    pub fn irecv(&self, from: Option<Rank>, tag: Option<Tag>, span: Span) -> Result<Request, Error> {
        let pattern = Pattern { from, tag, context: Context::USER };
        self.engine.borrow_mut().recv(pattern, span, true).map(Request)
    }
    /// Waits until the request is over.
    pub async fn wait(&self, request: Request) -> Result<Status, Error> {
        self.wait_id(request.0).await
    }
    async fn wait_id(&self, id: u64) -> Result<Status, Error> {
        loop {
            {
                let mut engine = self.engine.borrow_mut();
                if let Some(result) = engine.take(id) {
                    return result;
                }
                if engine.progress() {
                    continue;
                }
                engine.note_wait(id);
                engine.port.idle(Time::MAX);
            }
            yield_once().await;
        }
    }
    /// Waits for all; the first error, if any, after all are over.
    pub async fn wait_all(&self, requests: impl IntoIterator<Item = Request>) -> Result<Vec<Status>, Error> {
        let mut results = Vec::new();
        for request in requests {
            results.push(self.wait(request).await);
        }
        results.into_iter().collect()
    }
    /// Waits until one of `requests` is over; removes it and says which it was. `None` if there is none.
    pub async fn wait_any(&self, requests: &mut Vec<Request>) -> Option<(usize, Result<Status, Error>)> {
        while !requests.is_empty() {
            {
                let mut engine = self.engine.borrow_mut();
                if let Some(index) = requests.iter().position(|request| engine.is_done(request.0)) {
                    let request = requests.remove(index);
                    return Some((index, engine.take(request.0).unwrap_or(Err(Error::NoRequest))));
                }
                if engine.progress() {
                    continue;
                }
                engine.port.idle(Time::MAX);
            }
            yield_once().await;
        }
        None
    }
    /// Makes what progress is possible and gives the result if the request is over, else the request back.
    pub fn test(&self, request: Request) -> Result<Result<Status, Error>, Request> {
        let mut engine = self.engine.borrow_mut();
        while engine.progress() {}
        engine.take(request.0).ok_or(request)
    }
    /// Sends; `span` may be used again afterwards.
    pub async fn send(&self, to: Rank, tag: Tag, span: Span) -> Result<(), Error> {
        if self.engine.borrow_mut().send_now(to, tag, Context::USER, span) {
            return Ok(());
        }
        let id = self.engine.borrow_mut().send(to, tag, Context::USER, span, true)?;
        self.wait_id(id).await.map(|_| ())
    }
    /// Receives.
    pub async fn recv(&self, from: Option<Rank>, tag: Option<Tag>, span: Span) -> Result<Status, Error> {
        self.receive(Pattern { from, tag, context: Context::USER }, span).await
    }
    async fn receive(&self, pattern: Pattern, span: Span) -> Result<Status, Error> {
        let id = loop {
            {
                let mut engine = self.engine.borrow_mut();
                match engine.recv_now(pattern, span) {
                    Direct::Done(result) => return result,
                    Direct::Started(id) => break id,
                    Direct::Usual => break engine.recv(pattern, span, false)?,
                    Direct::Nothing => {
                        engine.port.note(Note::Waits { peer: pattern.from, tag: pattern.tag });
                        engine.port.idle(Time::MAX);
                    }
                }
            }
            yield_once().await;
        };
        self.wait_id(id).await
    }
    /// Sends and receives at the same time.
    pub async fn sendrecv(&self, to: (Rank, Tag, Span), from: (Rank, Tag, Span)) -> Result<Status, Error> {
        let receive = self.irecv(Some(from.0), Some(from.1), from.2)?;
        let send = self.isend(to.0, to.1, to.2)?;
        self.wait(send).await?;
        self.wait(receive).await
    }
    /// Whether a message has come that such a receive would take, and which.
    pub fn iprobe(&self, from: Option<Rank>, tag: Option<Tag>) -> Option<Status> {
        let mut engine = self.engine.borrow_mut();
        while engine.progress() {}
        engine.probe(&Pattern { from, tag, context: Context::USER })
    }
    /// Waits for such a message, without receiving it.
    pub async fn probe(&self, from: Option<Rank>, tag: Option<Tag>) -> Status {
        loop {
            if let Some(status) = self.iprobe(from, tag) {
                return status;
            }
            self.with_port(|port| port.idle(Time::MAX));
            yield_once().await;
        }
    }
    /// Exports memory to other ranks: the key travels in messages. See [`Host::register`].
    pub fn export(&self, memory: Memory) -> Result<Key, Error> {
        Ok(self.with_port(|port| port.register(memory))?)
    }
    /// Imports exported memory, mapped ([`hotlink_port::Engine::Pio`]) or only connected ([`hotlink_port::Engine::Dma`]).
    pub fn import(&self, key: Key, engine: hotlink_port::Engine) -> Result<Attachment, Error> {
        Ok(self.with_port(|port| port.attach(key, engine))?)
    }
    /// Puts `from` into imported memory of rank `peer`; over when it is visible there.
    pub async fn put(&self, peer: Rank, from: Span, to: RemoteSpan, engine: hotlink_port::Engine) -> Result<(), Error> {
        self.transfer(peer, |token| Op::Deposit { from, to, engine, token }).await
    }
    /// Gets imported memory of rank `peer` into `to`.
    pub async fn get(&self, peer: Rank, from: RemoteSpan, to: Span, engine: hotlink_port::Engine) -> Result<(), Error> {
        self.transfer(peer, |token| Op::Fetch { from, to, engine, token }).await
    }
    pub(crate) async fn transfer(&self, peer: Rank, op: impl Fn(u64) -> Op<'static>) -> Result<(), Error> {
        let id = loop {
            {
                let mut engine = self.engine.borrow_mut();
                if let Some(started) = engine.transfer(peer, &op) {
                    break started?;
                }
                if engine.progress() {
                    continue;
                }
                engine.port.idle(Time::MAX);
            }
            yield_once().await;
        };
        self.wait_id(id).await.map(|_| ())
    }
    pub(crate) fn forced(&self, collective: Collective) -> Option<Algorithm> {
        self.forced.get()[collective as usize]
    }
    pub(crate) fn set_forced(&self, collective: Collective, algorithm: Option<Algorithm>) {
        let mut forced = self.forced.get();
        forced[collective as usize] = algorithm;
        self.forced.set(forced);
    }
    /// Longest message that travels at once.
    pub(crate) fn eager_bytes(&self) -> u64 {
        self.engine.borrow().options.eager_bytes
    }
    /// A short message to all other ranks by the fabric: an eager message of a collective to each of them.
    pub(crate) async fn broadcast(&self, tag: Tag, span: Span) -> Result<(), Error> {
        let head = self.engine.borrow_mut().broadcast_head(tag, span.bytes());
        let payload = if span.bytes() > 0 { Payload::Span(span) } else { Payload::None };
        self.transfer(self.rank, |token| Op::Broadcast { head, payload, token }).await
    }
    /// A receive of a collective, waited for.
    pub(crate) async fn receive_for(&self, from: Rank, tag: Tag, span: Span) -> Result<Status, Error> {
        self.receive(Pattern { from: Some(from), tag: Some(tag), context: Context::COLLECTIVE }, span).await
    }
    /// A send or receive of a collective, apart from the program's own messages.
    pub(crate) fn start(&self, what: Side, peer: Rank, tag: Tag, span: Span) -> Result<Request, Error> {
        let mut engine = self.engine.borrow_mut();
        let context = Context::COLLECTIVE;
        match what {
            Side::Send if engine.send_now(peer, tag, context, span) => return Ok(Request(SENT)),
            Side::Send => engine.send(peer, tag, context, span, true),
            Side::Recv => engine.recv(Pattern { from: Some(peer), tag: Some(tag), context }, span, false),
        }
        .map(Request)
    }
}

/// Which side of a collective's message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    Send,
    Recv,
}
