//! [`Door`]: the port of a rank's process. The desk executes its requests; the process reads and writes its own memory
//! itself.
#![allow(unsafe_code)]

use crate::calls::Entry;
use crate::held::Held;
use crate::mailbox::{Head, Mailbox, Mailboxes, WORDS};
use crate::sys;
use crate::talk::{self, Ask, Carried, INLINE, Posting, Reader};
use crate::turns::{self, Place, Want};
use hotlink_fabric::units::Time;
use hotlink_port::{
    Align, Attachment, Engine, Event, Host, Key, Kind, Limits, Memory, Note, Op, Payload, Port, Posted, Rank, Refusal,
    RunError, Span, Work,
};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::sync::OnceLock;
use std::time::Duration;

/// Says where the mailboxes are.
pub(crate) const SEAT: &str = "HOTLINK_SEAT";
/// Polls in vain before they take longer where other threads sleep meanwhile, and which fraction of all their time each
/// then takes.
const LOOKS: u64 = 10_000;
const PART: u64 = 1 << 10;
/// Between checks whether the simulator is still there.
const LOOK: Duration = Duration::from_millis(500);

thread_local! {
    /// The function of the library that this thread is in.
    static WITHIN: Cell<&'static str> = const { Cell::new("") };
    /// What it waits for there: from or to whom, and with which tag.
    static AWAITS: Cell<Awaits> = const { Cell::new(None) };
}

/// The rank that a thread waits for, if it is one, and the tag, if it is the program's.
pub(crate) type Awaits = Option<(Option<Rank>, Option<u32>)>;

/// This thread enters a function of the library. Its name is reported if the thread waits there.
pub fn goes_into(name: &'static str) {
    WITHIN.set(name);
    AWAITS.set(None);
}

/// What this thread waits for.
pub(crate) fn awaits() -> Awaits {
    AWAITS.get()
}

/// The function of the library that this thread entered last.
pub fn within() -> &'static str {
    WITHIN.get()
}

/// This process's virtual clock, for whoever has no door at hand.
static CLOCK: OnceLock<Clock> = OnceLock::new();

/// Whether this process was started for a seat on a simulated fabric.
pub fn is_simulated() -> bool {
    std::env::var_os(SEAT).is_some()
}

/// The virtual time of this process's rank, if it has one.
#[inline]
pub fn clock() -> Option<Time> {
    CLOCK.get().map(Clock::now)
}

/// The same for a program that asks for it, and may ask until it has gone on ([`Clock::look`]).
pub fn look() -> Option<Time> {
    CLOCK.get().map(Clock::look)
}

/// See the module.
pub struct Door {
    mailbox: Mailbox,
    rank: Rank,
    ranks: u32,
    limits: Limits,
    held: Held,
    talk: RefCell<Talk>,
    /// Until when there is nothing to do, as those said who were asked since the last suspension.
    idle: Option<Time>,
    /// There is no event before time goes on.
    empty: bool,
    /// Something has happened since the last suspension, which others of this process may wait for.
    stirred: bool,
    /// Looks in vain since something has happened, and the time that they took.
    vain: (u64, Time),
    /// The event that the desk handed over with the end of a suspension, until it is polled.
    next: Option<(Event, Vec<u8>)>,
    /// How long the payload of the last event is, and how it starts.
    came: (u64, Vec<u8>),
    /// The function that the simulator knows this rank to be in.
    within: Cow<'static, str>,
    /// The process goes on when the simulation is halted.
    survives: bool,
    /// Collectives that were entered.
    entered: u64,
}

/// A call of a [`Door`] unwinds with this, by [`std::panic::resume_unwind`], where the simulation was halted and the
/// process goes on ([`Door::surviving`]). It names the rank that failed, if one did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halted(pub Option<Rank>);

/// Words for the desk, and from it.
#[derive(Default)]
struct Talk {
    out: Vec<u64>,
    back: Vec<u64>,
}

/// A rank's place as the launcher states it.
fn place() -> Option<(Rank, u32)> {
    let number = |name| std::env::var(name).ok()?.parse().ok();
    Some((number("HOTLINK_RANK")?, number("HOTLINK_RANKS")?)).filter(|&(rank, ranks)| rank < ranks)
}

/// The clock of a rank, as any part of its process reads it.
pub struct Clock {
    head: &'static Head,
}

impl Clock {
    /// That of the rank that this process is, if it was started for a seat on a simulated fabric.
    pub fn of_environment() -> Option<Clock> {
        let (rank, ranks) = place()?;
        Clock::at(&std::env::var(SEAT).ok()?, rank, ranks)
    }
    fn at(path: &str, rank: Rank, ranks: u32) -> Option<Clock> {
        Some(Clock { head: Head::lasting(path, rank, ranks).ok()? })
    }
    /// The virtual time.
    #[inline]
    fn now(&self) -> Time {
        Time(self.head.now())
    }
    /// The virtual time, as the program sees it. A program that only reads the clock sees it advance.
    pub fn look(&self) -> Time {
        Time(self.head.look(|ps| self.sleep(ps)))
    }
    /// Lets this many picoseconds pass, which are charged to the rank's next call. Where its threads take turns, the
    /// others may have theirs meanwhile.
    pub fn sleep(&self, ps: u64) {
        if !turns::sleeps(ps) {
            self.head.sleep(ps);
        }
    }
}

impl Door {
    /// Takes this process's seat.
    ///
    /// # Errors
    /// The simulator is not there; the system forbids it to reach this process's memory.
    pub fn open() -> Result<Door, RunError> {
        let start = |what: String| RunError::Start(format!("on a simulated fabric: {what}"));
        let path = std::env::var(SEAT).map_err(|_| start(format!("{SEAT} is not set")))?;
        let (rank, ranks) = place().ok_or_else(|| start("HOTLINK_RANK and HOTLINK_RANKS must be set".to_owned()))?;
        Door::at(&path, rank, ranks)
    }
    /// Takes the seat of `rank` in the office whose mailboxes are at `path`. The variables of a job do the same for
    /// [`Door::open`].
    ///
    /// # Errors
    /// As [`Door::open`].
    pub fn at(path: &str, rank: Rank, ranks: u32) -> Result<Door, RunError> {
        let start = |what: String| RunError::Start(format!("on a simulated fabric: {what}"));
        let boxes = Mailboxes::open(path, ranks).map_err(|error| start(format!("{path}: {error}")))?;
        if !sys::can_copy_between_processes() {
            return Err(start("the system forbids copying between processes (process_vm_readv)".to_owned()));
        }
        let mailbox = boxes.of(rank);
        mailbox.arrive();
        let (held, talk) = (Held::default(), RefCell::default());
        // Limits of nothing: the desk states them.
        let limits = Limits::messages("");
        let came = (0, Vec::new());
        let mut door = Door {
            mailbox,
            rank,
            ranks,
            limits,
            held,
            talk,
            idle: None,
            empty: false,
            stirred: false,
            vain: (0, Time::ZERO),
            next: None,
            came,
            within: Cow::Borrowed(""),
            survives: false,
            entered: 0,
        };
        door.say(Ask::Hello, |_| ());
        let limits = door.ask(|reader| serde_json::from_slice::<Limits>(&reader.bytes()));
        let limits = limits.map_err(|error| start(format!("the simulator is of another version: {error}")))?;
        // What has no bytes is nothing to a process.
        door.limits = Limits { ghosts: false, ..limits };
        let clock = Clock::at(path, rank, ranks).ok_or_else(|| start("its clock is not there".to_owned()))?;
        CLOCK.get_or_init(|| clock);
        Ok(door)
    }
    /// The same for a process that goes on when the simulation is halted: a call unwinds then, with [`Halted`], instead
    /// of ending the process. No call may be made after that.
    #[must_use]
    pub fn surviving(self) -> Door {
        Door { survives: true, ..self }
    }
    /// Names memory of the program, and where in it `start` is.
    ///
    /// # Safety
    /// It stays valid, for reads and for writes if anything is received into it, while an operation uses it or its
    /// name.
    pub unsafe fn piece(&mut self, start: u64, bytes: u64) -> (Memory, u64) {
        self.held.lend(start, bytes)
    }
    /// Where memory is that the port allocated.
    ///
    /// # Errors
    /// There is no such memory.
    pub fn start(&self, memory: Memory) -> Result<*mut u8, Refusal> {
        self.held.start(memory)
    }
    /// Whoever was asked had nothing to do: the simulation goes on, until there is something. Nothing may be borrowed
    /// that others wait for. Where something has happened meanwhile, all are asked again first.
    pub fn suspend(&mut self) {
        self.go_on(Ask::Suspend);
    }
    /// The program enters a collective. Gives the name by which it [leaves](Door::leaves).
    pub fn enters(&mut self, entry: &Entry) -> u64 {
        let token = self.entered;
        self.entered += 1;
        self.say(Ask::Enters, |words| entry.put(token, words));
        token
    }
    /// It is through with that.
    pub fn leaves(&mut self, token: u64) {
        self.say(Ask::Leaves, |words| words.push(token));
    }
    /// The program has polled for something in vain, and goes on. That takes some time, which its clock shows from its
    /// next request on.
    pub fn pass(&mut self) {
        self.go_on(Ask::Pass);
    }
    fn go_on(&mut self, how: Ask) {
        let until = self.idle.take();
        if std::mem::take(&mut self.stirred) {
            return;
        }
        self.is_within(Cow::Borrowed(WITHIN.get()));
        self.hand_over(how, until);
    }
    fn is_within(&mut self, within: Cow<'static, str>) {
        if self.within != within {
            self.within = within;
            self.mailbox.goes_into(&self.within);
        }
    }
    fn hand_over(&mut self, how: Ask, until: Option<Time>) {
        if let Some(until) = until.filter(|_| how == Ask::Suspend) {
            self.say(Ask::Idle, |words| words.push(until.0));
        }
        self.say(how, |_| ());
        self.empty = false;
        // Whoever waits polls next; a poll in vain is sent with the next request.
        if how == Ask::Suspend {
            self.say(Ask::Poll, |_| ());
            self.next = self.ask(event);
            self.empty = self.next.is_none();
        }
    }
    /// A thread that takes turns waits. Returns until when it has nothing to do, if it says so. Also returns whether
    /// something has happened since the last call, which others may wait for.
    pub(crate) fn rests(&mut self) -> (Option<Time>, bool) {
        if self.stirred {
            self.vain = (0, Time::ZERO);
        }
        (self.idle.take(), std::mem::take(&mut self.stirred))
    }
    /// All threads wait: time goes on as they want it.
    pub(crate) fn goes_on(&mut self, want: Want, until: Option<Time>, places: &[Place]) {
        self.is_within(turns::told(places));
        match want {
            Want::Sleep => {
                let now = self.mailbox.clock();
                self.mailbox.sleeps(until.map_or(0, |until| until.0.saturating_sub(now)));
            }
            Want::Look if places.len() > 1 => self.look_beside(until),
            Want::Look => self.hand_over(Ask::Pass, None),
            Want::Event | Want::Turn => self.hand_over(Ask::Suspend, until),
        }
    }
    /// A thread has polled in vain while others sleep, one of them until a time at the latest. After very many such
    /// polls, each takes longer: none could find anything before an event ends it, or that time.
    fn look_beside(&mut self, until: Option<Time>) {
        let (looks, all) = self.vain;
        let took = self.limits.poll_overhead.max(if looks < LOOKS { Time::ZERO } else { Time(all.0 / PART) });
        self.vain = (looks + 1, all + took);
        let ends = self.now() + took;
        self.say(Ask::Idle, |words| words.push(until.map_or(ends, |until| until.min(ends)).0));
        self.say(Ask::Suspend, |_| ());
        self.empty = false;
    }

    /// Adds to what the desk will hear.
    fn say(&self, ask: Ask, fill: impl FnOnce(&mut Vec<u64>)) {
        if self.talk.borrow().out.len() > WORDS / 2 {
            self.ask(|_| ());
        }
        let out = &mut self.talk.borrow_mut().out;
        let slept = self.mailbox.take_slept();
        if slept > 0 {
            out.push(Ask::Compute as u64);
            talk::put_work(out, Work::Fixed(Time(slept)));
        }
        out.push(ask as u64);
        fill(out);
    }
    /// Hands all that was said to the desk, and reads its answer to the last of it.
    fn ask<T>(&self, read: impl FnOnce(&mut Reader<'_>) -> T) -> T {
        let Talk { out, back } = &mut *self.talk.borrow_mut();
        self.mailbox.ask(out);
        out.clear();
        while !self.mailbox.answer_within(LOOK, back) {
            let by = match self.mailbox.halted() {
                Some(by) => by,
                None if !self.mailbox.is_served() => None,
                None => continue,
            };
            if self.survives {
                std::panic::resume_unwind(Box::new(Halted(by)));
            }
            sys::leave(crate::NOTICED.into());
        }
        read(&mut Reader::new(back))
    }
    /// Makes sure that the desk knows a memory.
    fn tell(&mut self, memory: Memory) {
        if let Some(about) = self.held.untold(memory) {
            self.say(Ask::Name, |words| {
                words.push(memory.0);
                words.extend(about);
            });
        }
    }
    fn tell_payload(&mut self, payload: &Payload<'_>) {
        if let Payload::Span(span) = payload {
            self.tell(span.memory);
        }
    }
    fn done(&mut self, ask: Ask, fill: impl FnOnce(&mut Vec<u64>)) -> Result<(), Refusal> {
        self.say(ask, fill);
        self.ask(|reader| reader.result(|_| ()))
    }
    fn own_kind(&self, kind: Kind) -> Result<Kind, Refusal> {
        match kind {
            Kind::Default if self.limits.segments => Ok(Kind::Shared),
            Kind::Default | Kind::Private => Ok(Kind::Private),
            Kind::Shared if self.limits.segments => Ok(Kind::Shared),
            Kind::Shared | Kind::Ghost => Err(Refusal::Unsupported),
        }
    }
}

fn put_payload(words: &mut Vec<u64>, payload: &Payload<'_>) {
    match payload {
        Payload::None => words.push(Carried::Nothing as u64),
        Payload::Bytes(bytes) if bytes.len() <= INLINE => {
            words.push(Carried::Bytes as u64);
            talk::put_bytes(words, bytes);
        }
        Payload::Bytes(bytes) => {
            words.extend([Carried::Remote as u64, bytes.as_ptr() as u64, bytes.len() as u64]);
        }
        Payload::Span(span) => {
            words.push(Carried::Span as u64);
            talk::put_span(words, span);
        }
    }
}

fn put_op(words: &mut Vec<u64>, op: &Op<'_>) {
    match op {
        Op::Control { to, head, payload } => {
            words.extend([Posting::Control as u64, u64::from(*to)]);
            words.extend(head);
            put_payload(words, payload);
        }
        Op::Deposit { from, to, engine, token } => {
            words.extend([Posting::Deposit as u64, talk::engine_word(*engine), *token]);
            talk::put_span(words, from);
            talk::put_remote(words, to);
        }
        Op::Fetch { from, to, engine, token } => {
            words.extend([Posting::Fetch as u64, talk::engine_word(*engine), *token]);
            talk::put_span(words, to);
            talk::put_remote(words, from);
        }
        Op::Barrier { token } => words.extend([Posting::Barrier as u64, *token]),
        Op::Reduce { operation, share, from, to, token } => {
            words.extend([Posting::Reduce as u64, *token]);
            talk::put_operation(words, *operation);
            talk::put_share(words, *share);
            talk::put_span(words, from);
            talk::put_span(words, to);
        }
        Op::Broadcast { head, payload, token } => {
            words.extend([Posting::Broadcast as u64, *token]);
            words.extend(head);
            put_payload(words, payload);
        }
    }
}

/// An event, and the start of what came with it.
fn event(reader: &mut Reader<'_>) -> Option<(Event, Vec<u8>)> {
    let event = match reader.word() {
        1 => {
            let (from, head) = (reader.narrow(), std::array::from_fn(|_| reader.word()));
            let bytes = reader.word();
            return Some((Event::Control { from, head, bytes }, reader.bytes()));
        }
        2 => Event::Done(reader.word()),
        3 => Event::Failed(reader.word(), reader.refusal()),
        4 => Event::Revoked(reader.key()),
        5 => Event::PeerGone(reader.narrow()),
        6 => Event::PeerLeft(reader.narrow()),
        _ => return None,
    };
    Some((event, Vec::new()))
}

impl Port for Door {
    fn rank(&self) -> Rank {
        self.rank
    }
    fn ranks(&self) -> u32 {
        self.ranks
    }
    fn limits(&self) -> &Limits {
        &self.limits
    }
    fn now(&self) -> Time {
        Time(self.mailbox.clock())
    }
    fn post(&mut self, op: &Op<'_>) -> Posted {
        match op {
            Op::Control { payload, .. } | Op::Broadcast { payload, .. } => self.tell_payload(payload),
            Op::Deposit { from: span, .. } | Op::Fetch { to: span, .. } => self.tell(span.memory),
            Op::Reduce { from, to, .. } => {
                self.tell(from.memory);
                self.tell(to.memory);
            }
            Op::Barrier { .. } => {}
        }
        self.say(Ask::Post, |words| put_op(words, op));
        let posted = self.ask(|reader| match reader.word() {
            0 => Posted::Accepted,
            1 => Posted::Busy,
            _ => Posted::Refused(reader.refusal()),
        });
        self.stirred |= posted == Posted::Accepted;
        // It may have come already, where it went to this rank.
        self.empty = false;
        posted
    }
    fn poll(&mut self) -> Option<Event> {
        self.came = (0, Vec::new());
        if self.empty {
            return None;
        }
        let polled = self.next.take().or_else(|| {
            self.say(Ask::Poll, |_| ());
            self.ask(event)
        });
        let Some((event, start)) = polled else {
            self.empty = true;
            return None;
        };
        self.stirred = true;
        if let Event::Control { bytes, .. } = event {
            self.came = (bytes, start);
        }
        Some(event)
    }
    fn deliver(&mut self, at: u64, to: Span) -> Result<(), Refusal> {
        self.tell(to.memory);
        self.done(Ask::Deliver, |words| {
            words.push(at);
            talk::put_span(words, &to);
        })
    }
    fn peek(&self, at: u64, into: &mut [u8]) -> usize {
        let (bytes, start) = &self.came;
        let due = bytes.saturating_sub(at).min(into.len() as u64) as usize;
        let at_hand = start.get(at as usize..).unwrap_or_default();
        if at_hand.len() >= due {
            into[..due].copy_from_slice(&at_hand[..due]);
            return due;
        }
        let mut seen = 0;
        while seen < due {
            self.say(Ask::Peek, |words| words.extend([at + seen as u64, (due - seen).min(INLINE) as u64]));
            let part = self.ask(|reader| reader.bytes());
            if part.is_empty() {
                break;
            }
            into[seen..seen + part.len()].copy_from_slice(&part);
            seen += part.len();
        }
        seen
    }
    fn idle(&mut self, until: Time) {
        self.idle = Some(self.idle.map_or(until, |before| before.min(until)));
    }
    fn close(&mut self) {
        self.say(Ask::Close, |_| ());
        self.ask(|_| ());
    }
    fn note(&mut self, note: Note) {
        if let Note::Waits { call, peer, tag } = note {
            // The tags of a collective are its own.
            AWAITS.set(Some((peer, tag.filter(|_| !call.is_collective()))));
        }
        self.say(Ask::Note, |words| talk::put_note(words, note));
    }
}

impl Host for Door {
    fn alloc(&mut self, bytes: u64, kind: Kind, align: Align) -> Result<Memory, Refusal> {
        let kind = self.own_kind(kind)?;
        self.held.alloc(bytes, kind, align)
    }
    fn free(&mut self, memory: Memory) -> Result<(), Refusal> {
        // Nothing else happens before the desk hears of it.
        if self.held.free(memory)? {
            return self.done(Ask::Free, |words| words.push(memory.0));
        }
        Ok(())
    }
    fn size(&self, memory: Memory) -> Result<u64, Refusal> {
        self.held.size(memory)
    }
    fn kind(&self, memory: Memory) -> Result<Kind, Refusal> {
        self.held.kind(memory)
    }
    fn read(&self, memory: Memory, offset: u64, into: &mut [u8]) -> Result<(), Refusal> {
        self.held.read(memory, offset, into)
    }
    fn write(&mut self, memory: Memory, offset: u64, from: &[u8]) -> Result<(), Refusal> {
        self.held.write(memory, offset, from)
    }
    fn copy(&mut self, from: Span, to: Span) -> Result<(), Refusal> {
        self.tell(from.memory);
        self.tell(to.memory);
        self.done(Ask::Copy, |words| {
            talk::put_span(words, &from);
            talk::put_span(words, &to);
        })
    }
    fn register(&mut self, memory: Memory) -> Result<Key, Refusal> {
        self.tell(memory);
        self.say(Ask::Register, |words| words.push(memory.0));
        self.ask(|reader| reader.result(Reader::key))
    }
    fn unregister(&mut self, key: Key) -> Result<(), Refusal> {
        self.done(Ask::Unregister, |words| talk::put_key(words, key))
    }
    fn attach(&mut self, key: Key, engine: Engine) -> Result<Attachment, Refusal> {
        self.say(Ask::Attach, |words| {
            talk::put_key(words, key);
            words.push(talk::engine_word(engine));
        });
        self.ask(|reader| reader.result(|reader| Attachment(reader.word())))
    }
    fn detach(&mut self, attachment: Attachment) -> Result<(), Refusal> {
        self.done(Ask::Detach, |words| words.push(attachment.0))
    }
    fn compute(&mut self, work: Work) {
        self.say(Ask::Compute, |words| talk::put_work(words, work));
        self.ask(|_| ());
    }
}
