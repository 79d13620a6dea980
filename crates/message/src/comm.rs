//! [`Comm`]: the interface for programs.

use crate::collectives::algorithm::{Algorithm, Collective};
use crate::collectives::spare::Spare;
use crate::collectives::tags;
use crate::engine::{Direct, Engine, Pattern};
use crate::members::Members;
use crate::options::{Counters, Mode, Options};
use crate::request::{Request, SENT, Status};
use crate::setup::SetupStats;
use crate::wire::Context;
use crate::{Error, Tag};
use hotlink_fabric::units::Time;
use hotlink_port::{
    Align, Call, Host, Key, Kind, Limits, Memory, Note, Op, Payload, Port, Rank, Refusal, Span, Work, yield_once,
};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;

/// The program's callback for another rank's exported memory that goes away.
type OnRevoked = Box<dyn FnMut(Key)>;

/// A rank's handle to its communicator. Clones share one state.
pub struct Comm<P: Port> {
    pub(crate) engine: Rc<RefCell<Engine<P>>>,
    revoked: Rc<RefCell<Option<OnRevoked>>>,
    pub(crate) rank: Rank,
    pub(crate) ranks: u32,
    /// Ranks of the port.
    pub(crate) all: u32,
    /// Which of them are of this communicator; `None`: all, in their order.
    pub(crate) members: Option<Rc<Members>>,
    /// Of its own messages; see [`Context::collective`].
    pub(crate) context: Context,
    /// The mark of its collectives' tags: the number of the call.
    pub(crate) call: Tag,
    pub(crate) limits: Rc<Limits>,
    /// The result of a send that was over at once; made once, because a result is long.
    sent: Result<Status, Error>,
    /// Times that a waiting program polls before it gives way to other tasks of its process.
    pub(crate) patience: u32,
    /// Something else runs in its process now: it looks once. Shared by all views and the engine.
    pub(crate) others: Rc<Cell<bool>>,
    /// The kind of memory that is given by default, and its alignment.
    memory: Kind,
    align: Align,
    /// Algorithms that were asked for, by collective.
    forced: Rc<Cell<[Option<Algorithm>; Collective::ALL.len()]>>,
    /// Bytes of a segment of a pipeline, if it was asked for.
    segment: Rc<Cell<Option<u64>>>,
    /// Temporary memory of its collectives.
    pub(crate) spare: Rc<RefCell<Spare>>,
    /// By which each collective ran last.
    ran: Rc<Cell<[Option<Algorithm>; Collective::ALL.len()]>>,
}

impl<P: Port> Clone for Comm<P> {
    fn clone(&self) -> Comm<P> {
        Comm {
            engine: self.engine.clone(),
            revoked: self.revoked.clone(),
            members: self.members.clone(),
            limits: self.limits.clone(),
            forced: self.forced.clone(),
            segment: self.segment.clone(),
            spare: self.spare.clone(),
            ran: self.ran.clone(),
            others: self.others.clone(),
            ..*self
        }
    }
}

impl<P: Port> Comm<P> {
    /// All ranks of `port`.
    pub fn new(port: P) -> Comm<P> {
        let options = Options::of(port.limits());
        Comm::with_options(port, options)
    }
    /// As [`Comm::new`], with the given choices.
    pub fn with_options(port: P, options: Options) -> Comm<P> {
        let (rank, ranks, limits) = (port.rank(), port.ranks(), Rc::new(port.limits().clone()));
        let (memory, align) = (options.memory, options.align);
        let engine = Engine::new(port, options);
        Comm {
            others: engine.others.clone(),
            engine: Rc::new(RefCell::new(engine)),
            revoked: Rc::default(),
            rank,
            ranks,
            all: ranks,
            members: None,
            context: Context::USER,
            call: 0,
            sent: Ok(Status { from: rank, tag: 0, bytes: 0 }),
            patience: if limits.real_time { 64 } else { 1 },
            limits,
            memory,
            align,
            forced: Rc::default(),
            segment: Rc::default(),
            spare: Rc::default(),
            ran: Rc::default(),
        }
    }
    /// This rank.
    pub fn rank(&self) -> Rank {
        self.rank
    }
    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }
    /// The port's claims.
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
    /// Allocates zeroed memory, aligned as the options say: as the port likes it where they do not. See [`Host::alloc`].
    pub fn alloc(&self, bytes: u64, kind: Kind) -> Result<Memory, Error> {
        self.alloc_mem(bytes, kind, self.align)
    }
    /// The same with both of W01's attributes, type and alignment (slide 11).
    pub fn alloc_mem(&self, bytes: u64, kind: Kind, align: Align) -> Result<Memory, Error> {
        let kind = match kind {
            Kind::Default | Kind::Ghost if self.memory != Kind::Default => self.memory,
            kind => kind,
        };
        Ok(self.with_port(|port| port.alloc(bytes, kind, align))?)
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

    /// Counts of the protocols so far.
    pub fn counters(&self) -> Counters {
        Counters { algorithms: self.ran.get(), ..self.engine.borrow().counters }
    }
    /// The choices, within the port's limits.
    pub fn options(&self) -> Options {
        self.engine.borrow().options.clone()
    }
    /// The cost of registrations and attachments for zero-copy transfers so far.
    pub fn setup_stats(&self) -> SetupStats {
        self.engine.borrow().setup.stats()
    }

    /// Starts a send. `span` may be used again when the request is over.
    pub fn isend(&self, to: Rank, tag: Tag, span: Span) -> Result<Request, Error> {
        self.isend_as(Mode::Standard, to, tag, span)
    }
    /// Starts a send with the semantics of `mode`.
    pub fn isend_as(&self, mode: Mode, to: Rank, tag: Tag, span: Span) -> Result<Request, Error> {
        let to = self.port_rank(to);
        self.engine.borrow_mut().send_as(mode, to, (tag, self.context), span, false).map(Request)
    }
    /// Sends; `span` may be used again afterwards. A short message goes when this is called: a future is more to go
    /// through than the message itself.
    #[inline]
    pub fn send(&self, to: Rank, tag: Tag, span: Span) -> impl Future<Output = Result<(), Error>> {
        let sent = self.engine.borrow_mut().send_now(self.port_rank(to), tag, self.context, &span, true);
        async move { if sent { Ok(()) } else { self.send_as(Mode::Standard, to, tag, span).await } }
    }
    /// Sends with the semantics of `mode`.
    pub async fn send_as(&self, mode: Mode, to: Rank, tag: Tag, span: Span) -> Result<(), Error> {
        let to = self.port_rank(to);
        let id = self.engine.borrow_mut().send_as(mode, to, (tag, self.context), span, true)?;
        self.wait_id(id).await.map(|_| ())
    }
    /// Waits until nothing that this rank sent by [`Mode::Postal`] is still here: call it before the port is closed. Nothing
    /// else is left of requests that are over: see [`Comm::wait`].
    pub async fn flush(&self) {
        while self.engine.borrow().detached > 0 {
            if !self.step() {
                self.pause(Call::Flush, None, None).await;
            }
        }
    }
    /// Has `callback` called whenever another rank's exported memory, to which this rank was attached, went away
    /// (W01's segment callback). It is called from within whatever waits or tests, with no state of the communicator
    /// borrowed. Replaces the callback before it.
    pub fn on_revoked(&self, callback: impl FnMut(Key) + 'static) {
        *self.revoked.borrow_mut() = Some(Box::new(callback));
    }
    #[inline(always)]
    pub(crate) fn patience(&self) -> u32 {
        if self.others.get() { 1 } else { self.patience }
    }
    /// Makes some progress; whether any was possible.
    #[inline]
    pub(crate) fn step(&self) -> bool {
        let mut engine = self.engine.borrow_mut();
        let any = engine.progress();
        if !engine.revoked.is_empty() {
            drop(engine);
            self.tell_revoked();
        }
        any
    }
    #[cold]
    pub(crate) fn tell_revoked(&self) {
        let revoked = std::mem::take(&mut self.engine.borrow_mut().revoked);
        // Taken out while it runs, so that it may set another.
        let Some(mut callback) = self.revoked.borrow_mut().take() else { return };
        revoked.into_iter().for_each(&mut callback);
        self.revoked.borrow_mut().get_or_insert(callback);
    }
    /// Nothing to do before an event: the port may rest, and hears what for.
    pub(crate) fn rest(&self, id: u64) {
        let mut engine = self.engine.borrow_mut();
        engine.note_wait(id);
        engine.port.idle(Time::MAX);
    }
    /// The same where there is no request, until the port may have an event.
    pub(crate) fn pause(&self, call: Call, peer: Option<Rank>, tag: Option<Tag>) -> impl Future<Output = ()> {
        self.tell_wait(call, peer, tag);
        self.with_port(|port| port.idle(Time::MAX));
        yield_once()
    }
    pub(crate) fn tell_wait(&self, call: Call, peer: Option<Rank>, tag: Option<Tag>) {
        self.with_port(|port| {
            if port.listens() {
                port.note(Note::Waits { call, peer, tag });
            }
        });
    }
    /// The result of request `id` if it is over; else the program waits.
    #[inline(always)]
    fn over_or_settle(&self, id: u64) -> Option<Result<Status, Error>> {
        let mut engine = self.engine.borrow_mut();
        let over = engine.take(id);
        if over.is_none() {
            engine.settle_for(id);
        }
        over
    }
    pub(crate) async fn wait_id(&self, id: u64) -> Result<Status, Error> {
        if id == SENT {
            return self.sent;
        }
        if let Some(result) = self.over_or_settle(id) {
            return result;
        }
        loop {
            let mut looks = 0;
            while looks < self.patience() {
                match self.look_for(id) {
                    Look::Over(result) => return result,
                    Look::Something => {}
                    Look::Nothing => {
                        self.rest(id);
                        looks += 1;
                    }
                }
            }
            yield_once().await;
            // Another task here may have ended it.
            if let Some(result) = self.engine.borrow_mut().take(id) {
                return result;
            }
        }
    }
    /// Makes a step for request `id`, which was not over.
    #[inline(always)]
    fn look_for(&self, id: u64) -> Look {
        let mut engine = self.engine.borrow_mut();
        let any = engine.progress();
        if !engine.revoked.is_empty() {
            drop(engine);
            self.tell_revoked();
            engine = self.engine.borrow_mut();
        }
        if any { engine.take(id).map_or(Look::Something, Look::Over) } else { Look::Nothing }
    }
    /// Starts a receive from `from` (or any rank) with `tag` (or any tag).
    pub fn irecv(&self, from: Option<Rank>, tag: Option<Tag>, span: Span) -> Result<Request, Error> {
        self.engine.borrow_mut().recv(self.pattern(from, tag), span, true).map(Request)
    }
    /// Waits until the request is over. A send's memory is then free, or a receive's message has arrived. The other
    /// rank has also got all that it needs to end its own request, so a program may end when its requests are over.
    #[inline]
    pub async fn wait(&self, request: Request) -> Result<Status, Error> {
        // Without another future's frame.
        if request.0 == SENT {
            return self.sent;
        }
        self.wait_id(request.0).await
    }
    /// Receives.
    pub fn recv(
        &self,
        from: Option<Rank>,
        tag: Option<Tag>,
        span: Span,
    ) -> impl Future<Output = Result<Status, Error>> {
        // The very future, not one around it: each costs a short message some nanoseconds.
        self.receive(self.pattern(from, tag), span)
    }
    async fn receive(&self, pattern: Pattern, span: Span) -> Result<Status, Error> {
        if pattern.from.is_some_and(|from| from >= self.all) {
            return Err(Refusal::NoRank.into());
        }
        self.engine.borrow_mut().settle(span.bytes());
        let id = 'begun: loop {
            for _ in 0..self.patience() {
                let mut engine = self.engine.borrow_mut();
                match engine.recv_now(&pattern, &span) {
                    Direct::Done(result) => return result,
                    Direct::Started(id) => break 'begun id,
                    Direct::Usual => {
                        let early = engine.announces(&span);
                        break 'begun engine.recv(pattern, span, early)?;
                    }
                    Direct::Nothing => {
                        if engine.port.listens() {
                            let Pattern { from: peer, tag, context } = pattern;
                            engine.port.note(tags::wait(Call::Receive, peer, context, tag));
                        }
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
        while self.step() {}
        self.engine.borrow().probe(&self.pattern(from, tag))
    }
    /// Waits for such a message, without receiving it.
    ///
    /// # Errors
    /// The rank that it could come from has died or ended (of any rank: one of them has died).
    pub async fn probe(&self, from: Option<Rank>, tag: Option<Tag>) -> Result<Status, Error> {
        loop {
            if let Some(status) = self.iprobe(from, tag) {
                return Ok(status);
            }
            if let Some(error) = self.engine.borrow().in_vain(from.map(|from| self.port_rank(from))) {
                return Err(error);
            }
            self.pause(Call::Probe, from, tag).await;
        }
    }
    /// A send between the ranks of a collective, waited for.
    pub(crate) async fn tell(&self, to: Rank, tag: Tag, span: Span) -> Result<(), Error> {
        let request = self.start(Side::Send, to, tag, span)?;
        self.wait(request).await.map(|_| ())
    }
    /// From now on pipelines move segments of that many bytes (`None`: the cost model's choice). All ranks must agree.
    pub fn set_segment(&self, bytes: Option<u64>) {
        self.segment.set(bytes.filter(|&bytes| bytes > 0));
    }
    pub(crate) fn segment(&self) -> Option<u64> {
        self.segment.get()
    }
    pub(crate) fn forced(&self, collective: Collective) -> Option<Algorithm> {
        self.forced.get()[collective as usize]
    }
    pub(crate) fn set_forced(&self, collective: Collective, algorithm: Option<Algorithm>) {
        let mut forced = self.forced.get();
        forced[collective as usize] = algorithm;
        self.forced.set(forced);
    }
    /// Notes by which algorithm a collective runs.
    pub(crate) fn note_algorithm(&self, collective: Collective, algorithm: Algorithm) {
        let mut ran = self.ran.get();
        ran[collective as usize] = Some(algorithm);
        self.ran.set(ran);
    }
    /// Whether messages may move without buffers at all.
    pub(crate) fn moves_directly(&self) -> bool {
        self.engine.borrow().options.zero_copy_bytes < u64::MAX
    }
    /// Longest message that travels at once.
    pub(crate) fn eager_bytes(&self) -> u64 {
        self.engine.borrow().options.eager_bytes
    }
    /// A short message to all other ranks by the fabric: an eager message of a collective to each of them.
    pub(crate) async fn broadcast(&self, tag: Tag, span: Span) -> Result<(), Error> {
        while !self.engine.borrow_mut().admits_broadcast(span.bytes()) {
            if !self.step() {
                self.pause(Call::Bcast, None, None).await;
            }
        }
        let head = self.engine.borrow_mut().broadcast_head(tag, span.bytes());
        let payload = Payload::of(span);
        self.perform(self.rank, |token| Op::Broadcast { head, payload, token }).await
    }
    /// A receive of a collective, waited for.
    pub(crate) async fn receive_for(&self, from: Rank, tag: Tag, span: Span) -> Result<Status, Error> {
        let (from, tag, context) = (Some(self.port_rank(from)), Some(self.call | tag), self.context.collective());
        self.receive(Pattern { from, tag, context }, span).await
    }
    /// A send or receive of a collective, apart from the program's own messages.
    pub(crate) fn start(&self, what: Side, peer: Rank, tag: Tag, span: Span) -> Result<Request, Error> {
        let mut engine = self.engine.borrow_mut();
        let (peer, tag, context) = (self.port_rank(peer), self.call | tag, self.context.collective());
        match what {
            Side::Send if engine.send_now(peer, tag, context, &span, false) => return Ok(Request(SENT)),
            Side::Send => engine.send(peer, tag, context, span, true),
            Side::Direct => engine.send_direct(peer, tag, context, span),
            Side::Recv => {
                let early = engine.announces(&span);
                engine.recv(Pattern { from: Some(peer), tag: Some(tag), context }, span, early)
            }
        }
        .map(Request)
    }
}

/// The result of a step for a request.
enum Look {
    /// It is over.
    Over(Result<Status, Error>),
    /// Something was done.
    Something,
    Nothing,
}

/// Which side of a collective's message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    Send,
    /// A send without buffers, however short it is.
    Direct,
    Recv,
}
