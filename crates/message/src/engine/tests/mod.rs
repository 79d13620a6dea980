//! Cases that the checker's worlds lack: the fabric's barriers, reductions and broadcasts, operations of the program,
//! and the route of a message. They run against a port that answers as a test says, and notes the requests.

mod ends;
mod ways;

use super::*;
use hotlink_fabric::units::{Rate, Time};
use hotlink_port::{Attachment, DepositLimits, Host, Limits, Posted, RegistrationLimits, Work};
use std::cell::RefCell;

/// A port of rank 0: its answers and events come from the test.
struct Scripted {
    limits: Limits,
    ranks: u32,
    kind: port::Kind,
    /// The results of the next posts; beyond, all are taken.
    answers: VecDeque<Posted>,
    events: VecDeque<Event>,
    copies: Result<(), Refusal>,
    registers: Result<(), Refusal>,
    said: RefCell<Vec<Words>>,
    /// The places that control messages carried, and the tokens of other operations.
    places: RefCell<Vec<Place>>,
    tokens: RefCell<Vec<u64>>,
    log: RefCell<Vec<String>>,
}

impl Scripted {
    fn log(&self, what: impl Into<String>) {
        self.log.borrow_mut().push(what.into());
    }
}

impl Host for Scripted {
    fn alloc(&mut self, bytes: u64, _: port::Kind, _: Align) -> Result<Memory, Refusal> {
        self.log(format!("alloc {bytes}"));
        Ok(Memory(100))
    }
    fn free(&mut self, memory: Memory) -> Result<(), Refusal> {
        self.log(format!("free {}", memory.0));
        Ok(())
    }
    fn size(&self, _: Memory) -> Result<u64, Refusal> {
        Ok(1 << 20)
    }
    fn kind(&self, _: Memory) -> Result<port::Kind, Refusal> {
        Ok(self.kind)
    }
    fn read(&self, _: Memory, _: u64, _: &mut [u8]) -> Result<(), Refusal> {
        Ok(())
    }
    fn write(&mut self, _: Memory, _: u64, _: &[u8]) -> Result<(), Refusal> {
        Ok(())
    }
    fn copy(&mut self, _: Span, _: Span) -> Result<(), Refusal> {
        self.copies
    }
    fn register(&mut self, memory: Memory) -> Result<Key, Refusal> {
        self.log(format!("register {}", memory.0));
        self.registers?;
        Ok(Key { rank: 0, id: memory.0, bytes: 1 << 20 })
    }
    fn unregister(&mut self, _: Key) -> Result<(), Refusal> {
        Ok(())
    }
    fn attach(&mut self, key: Key, _: port::Engine) -> Result<Attachment, Refusal> {
        self.log(format!("attach {}", key.id));
        Ok(Attachment(key.id))
    }
    fn detach(&mut self, _: Attachment) -> Result<(), Refusal> {
        Ok(())
    }
    fn compute(&mut self, _: Work) {}
}

impl Port for Scripted {
    fn rank(&self) -> Rank {
        0
    }
    fn ranks(&self) -> u32 {
        self.ranks
    }
    fn limits(&self) -> &Limits {
        &self.limits
    }
    fn now(&self) -> Time {
        Time::ZERO
    }
    fn post(&mut self, op: &Op<'_>) -> Posted {
        match *op {
            Op::Control { to, head, payload } => {
                let words = Words::parse(&head).unwrap();
                self.said.borrow_mut().push(words);
                if let Payload::Bytes(bytes) = payload {
                    self.places.borrow_mut().extend(Place::parse(self.rank(), bytes, words.total));
                }
                self.log(format!("{:?} to {to}: {} of {} B", words.kind, payload.bytes(), words.total));
            }
            Op::Deposit { token, .. } | Op::Fetch { token, .. } | Op::Barrier { token } => {
                self.tokens.borrow_mut().push(token);
                self.log("post");
            }
            _ => self.log("post"),
        }
        self.answers.pop_front().unwrap_or(Posted::Accepted)
    }
    fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
    fn deliver(&mut self, _: u64, _: Span) -> Result<(), Refusal> {
        Ok(())
    }
    fn peek(&self, _: u64, _: &mut [u8]) -> usize {
        0
    }
    fn idle(&mut self, _: Time) {}
    fn settle(&mut self) {
        self.log("settle");
    }
    fn close(&mut self) {}
    fn note(&mut self, note: hotlink_port::Note) {
        self.log(format!("{note:?}"));
    }
}

fn limits() -> Limits {
    Limits {
        control_bytes_max: 4096,
        inline_bytes: 24,
        deposit: Some(DepositLimits { dma_needs_registration: true, ..DepositLimits::ANY }),
        fetch: Some(DepositLimits::ANY),
        registration: RegistrationLimits { private: true, zero_copy_min: 1000, ..RegistrationLimits::NONE },
        ..Limits::messages("scripted")
    }
}

fn engine_of(limits: Limits) -> Engine<Scripted> {
    let options = Options { eager_bytes: 4000, ..Options::of(&limits) };
    let port = Scripted {
        limits,
        ranks: 3,
        kind: port::Kind::Shared,
        answers: VecDeque::new(),
        events: VecDeque::new(),
        copies: Ok(()),
        registers: Ok(()),
        said: RefCell::default(),
        places: RefCell::default(),
        tokens: RefCell::default(),
        log: RefCell::default(),
    };
    Engine::new(port, options)
}
fn engine() -> Engine<Scripted> {
    engine_of(limits())
}

impl Engine<Scripted> {
    fn log(&self) -> Vec<String> {
        self.port.log.take()
    }
    fn answer(&mut self, answers: &[Posted]) {
        self.port.answers.extend(answers);
    }
    /// The token of the operation posted last.
    fn token(&self) -> u64 {
        *self.port.tokens.borrow().last().unwrap()
    }
    fn happens(&mut self, event: Event) {
        self.port.events.push_back(event);
        assert!(self.progress());
    }
}

fn row(bytes: u64) -> Span {
    Span::new(Memory(7), 0, bytes)
}

const GONE: Posted = Posted::Refused(Refusal::PeerGone(1));

#[test]
fn barriers_are_left_in_the_order_in_which_they_were_entered() {
    let mut engine = engine();
    engine.answer(&[Posted::Accepted, Posted::Busy, Posted::Accepted, Posted::Accepted]);
    assert_eq!([(); 3].map(|()| engine.enter_barrier()), [Ok(Some(1)), Ok(None), Ok(Some(2))]);
    assert_eq!(engine.left_barrier(1), None);
    let barrier = engine.token();
    engine.happens(Event::Done(barrier));
    assert_eq!([1, 2].map(|number| engine.left_barrier(number)), [Some(Ok(())), None]);
    // One that ends while a receive polls for its message.
    let pattern = Pattern { from: Some(1), tag: None, context: Context::USER };
    engine.port.events.push_back(Event::Done(barrier));
    assert!(matches!(engine.recv_now(&pattern, &row(8)), Direct::Started(_)));
    assert_eq!([1, 2, 3].map(|number| engine.left_barrier(number)), [Some(Ok(())), Some(Ok(())), None]);
    assert_eq!(engine.enter_barrier(), Ok(Some(3)));
    // A rank that is gone may have ended well.
    engine.happens(Event::PeerLeft(1));
    engine.happens(Event::Failed(barrier, Refusal::PeerGone(1)));
    assert_eq!(engine.left_barrier(3), Some(Err(Error::Ended(1))));
    engine.answer(&[GONE, Posted::Refused(Refusal::PeerGone(2)), Posted::Refused(Refusal::Unsupported)]);
    let refused = [Error::Ended(1), Error::PeerGone(2), Error::Refused(Refusal::Unsupported)];
    assert_eq!(refused.map(|_| engine.enter_barrier()), refused.map(Err));
}

#[test]
fn a_reduction_of_the_port_begins_and_ends() {
    let mut engine = engine();
    engine.answer(&[Posted::Accepted, Posted::Busy, GONE]);
    let mut begin = || engine.begin_reduction(|token| Op::Barrier { token });
    assert_eq!([begin(), begin(), begin()], [Ok(true), Ok(false), Err(Error::PeerGone(1))]);
    let reduction = engine.token();
    engine.happens(Event::Done(reduction));
    assert_eq!(engine.reduced.take(), Some(Ok(())));
    engine.happens(Event::Failed(reduction, Refusal::PeerGone(2)));
    assert_eq!((engine.reduced, engine.barred), (Some(Err(Error::PeerGone(2))), None));
}

#[test]
fn a_broadcast_counts_as_a_message_to_every_other_rank() {
    let mut engine = engine();
    assert!(engine.admits_broadcast(64));
    let words = Words::parse(&engine.broadcast_head(5, 64)).unwrap();
    assert_eq!((words.kind, words.context, words.tag, words.total), (Kind::Eager, Context::COLLECTIVE, 5, 64));
    assert_eq!([0, 1, 2].map(|rank| engine.flow_with(rank)), [(0, 0), (1, 0), (1, 0)]);
    // Room at every other rank counts, and that at its own does not.
    let fill = |engine: &mut Engine<Scripted>, rank| engine.flows.of(rank).charge(1 << 40);
    fill(&mut engine, 0);
    assert!(engine.admits_broadcast(64));
    fill(&mut engine, 2);
    assert!(!engine.admits_broadcast(64) && engine.flows.of(1).admits(64));
    // The part of a share that a broadcast took is taken.
    let mut other = engine_of(limits());
    let share = (64 << 20) / 3;
    other.broadcast_head(0, share.min(1 << 20) - 64);
    assert!(!other.admits_broadcast(0));
}

#[test]
fn operations_of_the_program_begin_end_and_leave_nothing() {
    let mut engine = engine();
    let op = |token| Op::Barrier { token };
    engine.answer(&[Posted::Busy, GONE, Posted::Accepted, Posted::Accepted]);
    assert_eq!(engine.transfer(1, None, &op), None);
    assert_eq!(engine.transfer(1, None, &op), Some(Err(Error::PeerGone(1))));
    assert_eq!(engine.leftover(false), None);
    let [first, second] = [(); 2].map(|()| engine.transfer(1, None, &op).unwrap().unwrap());
    assert_eq!((engine.take(first), engine.is_done(second)), (None, false));
    engine.happens(Event::Done(first));
    engine.happens(Event::Failed(second, Refusal::PeerGone(1)));
    assert_eq!(engine.take(first), Some(Ok(Status { from: 1, tag: 0, bytes: 0 })));
    assert_eq!(engine.take(second), Some(Err(Error::PeerGone(1))));
    assert_eq!((engine.take(first), engine.leftover(false)), (Some(Err(Error::NoRequest)), None));
}

#[test]
fn only_private_memory_is_registered_for_the_adapter() {
    let registers = |kind, moved_by, needs| {
        let mut limits = limits();
        limits.deposit.as_mut().unwrap().dma_needs_registration = needs;
        let mut engine = engine_of(limits);
        engine.port.kind = kind;
        let id = engine.transfer(1, Some((row(8), moved_by)), &|token| Op::Barrier { token }).unwrap().unwrap();
        let registered = engine.log().contains(&"register 7".to_owned());
        assert_eq!(engine.setup.in_use(), usize::from(registered));
        engine.happens(Event::Done(id));
        assert_eq!((engine.setup.in_use(), engine.take(id).is_some()), (0, true));
        registered
    };
    let (private, shared, dma, pio) = (port::Kind::Private, port::Kind::Shared, port::Engine::Dma, port::Engine::Pio);
    assert!(registers(private, dma, true));
    assert!(
        ![(private, pio, true), (private, dma, false), (shared, dma, true)]
            .map(|(a, b, c)| registers(a, b, c))
            .contains(&true)
    );
}

#[test]
fn a_copy_that_cannot_be_sent_is_freed() {
    let mut engine = engine();
    assert_eq!(engine.send_copy(9, 0, Context::USER, row(2000)), Err(Error::Refused(Refusal::NoRank)));
    assert_eq!(engine.log(), ["alloc 2000", "free 100"]);
    engine.port.copies = Err(Refusal::NoMemory);
    assert_eq!(engine.send_copy(1, 0, Context::USER, row(2000)), Err(Error::Refused(Refusal::NoMemory)));
    assert_eq!((engine.log(), engine.counters.buffered), (vec!["alloc 2000".to_owned(), "free 100".to_owned()], 0));
    engine.port.copies = Ok(());
    assert_eq!((engine.send_copy(1, 0, Context::USER, row(8)), engine.counters.buffered), (Ok(SENT), 1));
    assert_eq!(engine.log(), ["alloc 8", "Eager to 1: 8 of 8 B", "free 100"]);
    assert_eq!(engine.leftover(false), None);
}

#[test]
fn ranks_that_do_not_exist_are_refused_at_once() {
    let mut engine = engine();
    let no_rank = Error::Refused(Refusal::NoRank);
    for rank in [3, 4] {
        assert_eq!(engine.send(rank, 0, Context::USER, row(8), false), Err(no_rank));
        assert!(!engine.send_now(rank, 0, Context::USER, &row(8), false));
        let pattern = Pattern { from: Some(rank), tag: None, context: Context::USER };
        assert_eq!(engine.recv(pattern, row(8), false), Err(no_rank));
    }
    assert_eq!((engine.log().len(), engine.leftover(false)), (0, None));
}

#[test]
fn a_short_message_leaves_at_once_and_leaves_nothing_behind() {
    let mut engine = engine();
    let send =
        |engine: &mut Engine<Scripted>, to, span| engine.send_as(Mode::Standard, to, (5, Context::USER), span, false);
    assert_eq!([send(&mut engine, 2, row(8)), send(&mut engine, 2, row(0))], [Ok(SENT); 2]);
    let blocks = Span { layout: hotlink_port::Layout::strided(8, 3, 16), ..row(0) };
    assert_eq!(send(&mut engine, 2, blocks), Ok(SENT));
    let sent = ["Eager to 2: 8 of 8 B", "Eager to 2: 0 of 0 B", "Eager to 2: 24 of 24 B"];
    assert_eq!((engine.log(), engine.counters.eager, engine.flow_with(2)), (sent.map(str::to_owned).into(), 3, (3, 0)));
    assert_eq!(engine.leftover(false), None);
    // A busy port has it later, on the usual route, and once.
    engine.answer(&[Posted::Busy, Posted::Busy]);
    let id = send(&mut engine, 2, row(8)).unwrap();
    assert!(id != SENT && engine.take(id).is_none() && engine.progress());
    assert_eq!((engine.take(id).is_some(), engine.counters.eager, engine.flow_with(2)), (true, 4, (4, 0)));
}

/// Up to the size from which on it would be moved without buffers, and beyond where it would not.
#[test]
fn what_is_short_depends_on_memory_and_port() {
    let mut engine = engine();
    let short = |engine: &Engine<Scripted>, bytes| engine.is_short(&row(bytes), false);
    assert_eq!([999, 1000, 4000].map(|bytes| short(&engine, bytes)), [true, false, false]);
    engine.port.kind = port::Kind::Private;
    engine.port.limits.registration.private = false;
    assert_eq!([1000, 4000, 4001].map(|bytes| short(&engine, bytes)), [true, true, false]);
    let long =
        Limits { registration: RegistrationLimits { zero_copy_min: 1 << 20, ..limits().registration }, ..limits() };
    assert_eq!((engine_of(long).eager_always, engine.eager_always), (16 << 10, 999));
}

#[test]
fn a_port_may_settle_before_short_messages() {
    let mut engine = engine();
    for bytes in [8, 999, 1000, 5000] {
        engine.settle(bytes);
    }
    assert_eq!(engine.log(), ["settle", "settle"]);
}

#[test]
fn options_are_cut_to_what_the_port_can() {
    let cut = |piece_bytes| {
        let options = Options { eager_bytes: 1 << 30, piece_bytes, ..Options::of(&limits()) };
        let engine = Engine::new(engine().port, options);
        (engine.options.eager_bytes, engine.options.piece_bytes)
    };
    assert_eq!([0, 100, 1 << 30].map(cut), [(4096, 1), (4096, 100), (4096, 4096)]);
}

#[test]
fn the_port_decides_who_moves_and_how_places_travel() {
    let of = |inline_bytes, real_time| engine_of(Limits { inline_bytes, real_time, ..limits() }).short_places;
    assert_eq!(
        [of(23, true), of(24, true), of(25, true), of(24, false), of(23, false)],
        [false, true, true, false, false]
    );
    let pio = Some(DepositLimits { dma: false, ..DepositLimits::ANY });
    let movers = |deposit, fetch| engine_of(Limits { deposit, fetch, ..limits() }).movers;
    let any = Some(DepositLimits::ANY);
    let each = [movers(any, any), movers(pio, any), movers(None, pio), movers(None, any), movers(None, None)];
    use port::Engine::{Dma, Pio};
    assert_eq!(each, [[Dma; 2], [Pio; 2], [Pio; 2], [Dma; 2], [Dma; 2]]);
    // Where both are known, the faster; the processor only where it can map the memory.
    let rates = |pio, dma| {
        let claim = DepositLimits { pio_rate: Rate(pio), dma_rate: Rate(dma), ..DepositLimits::ANY };
        movers(Some(claim), None)
    };
    assert_eq!([rates(5, 4), rates(4, 4), rates(4, 5)], [[Dma, Pio], [Dma; 2], [Dma; 2]]);
    // Where only the sender can move data, a receive is announced even by a program that waits.
    let announces = |deposit, fetch| {
        [999, 1000, 1001].map(|bytes| engine_of(Limits { deposit, fetch, ..limits() }).announces(&row(bytes)))
    };
    assert_eq!(announces(any, None), [false, true, true]);
    assert_eq!([announces(any, any), announces(None, any), announces(None, None)], [[false; 3]; 3]);
}
