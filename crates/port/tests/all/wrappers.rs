//! What wrappers see and pass on, and what a port is by default.

use hotlink_fabric::units::Time;
use hotlink_port::loopback::{Loopback, LoopbackPort};
use hotlink_port::middleware::{Count, Fault, Layer, Layered, Step, Trace, Wrapped};
use hotlink_port::{
    Align, Attachment, Driver, Engine, Event, Host, Key, Kind, Layout, Limits, Memory, Note, Op, Operation, Payload,
    Port, Posted, Rank, Refusal, RemoteSpan, Span, Work, wait,
};
use std::cell::RefCell;
use std::rc::Rc;

fn word(number: u64) -> Op<'static> {
    Op::Control { to: 0, head: [number; 4], payload: Payload::None }
}

/// A memory that its own rank exports and imports.
fn own<P: Port>(port: &mut P) -> (Memory, Key, Attachment) {
    let memory = port.alloc(64, Kind::Shared, Align::Default).unwrap();
    let key = port.register(memory).unwrap();
    (memory, key, port.attach(key, Engine::Dma).unwrap())
}

#[test]
fn everything_is_counted_once() {
    async fn program(mut port: Wrapped<LoopbackPort, Count>) -> Count {
        let (memory, _, attachment) = own(&mut port);
        let there = |bytes| RemoteSpan { attachment, offset: 32, layout: Layout::contiguous(bytes) };
        let here = |bytes| Span::new(memory, 0, bytes);
        let engine = Engine::Dma;
        let ops = [
            Op::Control { to: 0, head: [0; 4], payload: Payload::Bytes(b"abc") },
            Op::Control { to: 0, head: [0; 4], payload: Payload::Bytes(b"abcd") },
            word(3),
            Op::Deposit { from: here(16), to: there(16), engine, token: 1 },
            Op::Fetch { from: there(8), to: here(8), engine, token: 2 },
            Op::Barrier { token: 3 },
            Op::Control { to: 9, head: [0; 4], payload: Payload::None },
        ];
        let posted = ops.map(|op| port.post(&op));
        let refused = [Refusal::Unsupported, Refusal::NoRank].map(Posted::Refused);
        let [a, b, full, c, d, e, f] = posted;
        assert_eq!(([a, b, c, d], full, [e, f]), ([Posted::Accepted; 4], Posted::Busy, refused));
        let events = (0..6).filter(|_| port.poll().is_some()).count();
        assert_eq!(events, 4);
        *port.layer()
    }
    let mut driver = Layered::new(Loopback { inbox: 2, ..Loopback::default() }, |_| Count::default());
    let wanted = Count {
        controls: 2,
        control_bytes: 7,
        transfers: 2,
        transfer_bytes: 24,
        busy: 1,
        refused: 2,
        events: 4,
        empty_polls: 2,
        setups: 2,
    };
    assert_eq!(driver.run(1, &program), Ok(vec![wanted]));
}

#[test]
fn a_trace_has_a_line_for_each_post_and_event() {
    let lines = Rc::new(RefCell::new(Vec::new()));
    let write = |_| {
        let lines = lines.clone();
        Trace::new(move |line: &str| lines.borrow_mut().push(line.to_owned()))
    };
    let program = async |mut port: Wrapped<LoopbackPort, _>| {
        assert_eq!(port.post(&word(5)), Posted::Accepted);
        (0..3).filter(|_| port.poll().is_some()).count()
    };
    assert_eq!(Layered::new(Loopback::default(), write).run(1, &program), Ok(vec![1]));
    let wanted = [
        "0.001 us post Control { to: 0, head: [5, 5, 5, 5], payload: None }: Accepted",
        "0.002 us Control { from: 0, head: [5, 5, 5, 5], bytes: 0 }",
    ];
    assert_eq!(*lines.borrow(), wanted);
}

#[test]
fn a_fault_of_a_hundred_percent_is_sure() {
    async fn program(mut port: Wrapped<LoopbackPort, Fault>) -> (bool, bool, bool) {
        let memory = port.alloc(64, Kind::Shared, Align::Default).unwrap();
        let busy = port.post(&word(1)) == Posted::Busy;
        let scarce = port.register(memory) == Err(Refusal::NoEntries);
        // What was held back comes without an event that would wake the rank.
        wait(&mut port, Time::MAX).await;
        (busy, port.poll().is_none(), scarce)
    }
    for (busy, late, scarce) in [(100, 0, 0), (0, 100, 0), (0, 0, 100), (100, 100, 100)] {
        let mut driver = Layered::new(Loopback::default(), |_| Fault::new(7, busy, late, scarce));
        let results = driver.run(1, &program).unwrap();
        assert_eq!(results, [(busy > 0, late > 0 || busy > 0, scarce > 0)], "{busy} {late} {scarce}");
    }
}

/// Notes what it hears, and when; refuses registrations if `refuses`.
#[derive(Clone, Default)]
struct Watch {
    told: Rc<RefCell<Vec<String>>>,
    refuses: bool,
}

impl Layer for Watch {
    const TIMED: bool = true;
    fn before_setup(&mut self) -> Option<Refusal> {
        self.refuses.then_some(Refusal::PinLimit)
    }
    fn attached(&mut self, attachment: Attachment, owner: Rank) {
        self.told.borrow_mut().push(format!("{attachment:?} of {owner}"));
    }
    fn hears(&mut self, note: Note) {
        self.told.borrow_mut().push(format!("{note:?}"));
    }
    fn took(&mut self, step: Step<'_>, from: Time, to: Time) {
        let what = match step {
            Step::Post(Op::Control { .. }, posted) => format!("post {posted:?}"),
            Step::Wait(Some(Event::Control { .. })) => "wait for a message".to_owned(),
            other => format!("{other:?}"),
        };
        self.told.borrow_mut().push(format!("{what} {}-{}", from.0, to.0));
    }
}

#[test]
fn a_timed_layer_sees_what_takes_a_ranks_time() {
    async fn program(mut port: Wrapped<LoopbackPort, Watch>) -> Vec<String> {
        let (memory, key, attachment) = own(&mut port);
        let part = |offset| Span::new(memory, offset, 16);
        port.copy(part(0), part(16)).unwrap();
        port.detach(attachment).unwrap();
        port.unregister(key).unwrap();
        port.note(Note::Calls);
        let _ = port.post(&Op::Control { to: 0, head: [0; 4], payload: Payload::Span(part(0)) });
        // The wait begins once, however often the rank polls.
        for _ in 0..2 {
            wait(&mut port, Time::MAX).await;
        }
        assert!(port.poll().is_some());
        port.deliver(0, part(0)).unwrap();
        let until = port.now() + Time(500);
        wait(&mut port, until).await;
        port.compute(Work::Fixed(Time(30)));
        let told = port.layer().told.take();
        wait(&mut port, Time::ZERO).await;
        let _ = port.post(&word(1));
        told.into_iter().chain(port.layer().told.take()).collect()
    }
    let told = Layered::new(Loopback::default(), |_| Watch::default()).run(1, &program).unwrap().remove(0);
    assert_eq!(
        told,
        [
            "Local(\"register\", None) 0-1000",
            "Local(\"attach\", Some(64)) 1000-2000",
            "Attachment(2) of 0",
            "Local(\"copy\", Some(16)) 2000-2000",
            "Local(\"detach\", None) 2000-3000",
            "Local(\"unregister\", None) 3000-4000",
            "Calls",
            "post Accepted 4000-5000",
            "wait for a message 5000-6000",
            "Local(\"deliver\", Some(16)) 6000-6000",
            "Wait(None) 6000-6500",
            "Local(\"compute\", None) 6500-6530",
            "Wait(None) 6530-6530",
            "post Accepted 6530-7530",
        ]
    );
}

#[test]
fn a_layer_may_refuse_set_ups() {
    async fn program(mut port: Wrapped<LoopbackPort, Watch>) -> bool {
        let memory = port.alloc(64, Kind::Shared, Align::Default).unwrap();
        let key = Key { rank: 0, id: 1, bytes: 64 };
        let refused = port.register(memory) == Err(Refusal::PinLimit);
        refused && port.attach(key, Engine::Dma) == Err(Refusal::PinLimit) && port.layer().told.borrow().is_empty()
    }
    let layer = |_| Watch { refuses: true, ..Watch::default() };
    assert_eq!(Layered::new(Loopback::default(), layer).run(1, &program), Ok(vec![true]));
}

/// A port that does no more than it must, and notes what it is asked.
struct Bare {
    limits: Limits,
    asked: Rc<RefCell<Vec<String>>>,
}

impl Bare {
    fn new(real_time: bool) -> Bare {
        let limits = Limits { real_time, ..Limits::messages("bare") };
        Bare { limits, asked: Rc::default() }
    }
    fn ask(&self, what: impl Into<String>) {
        self.asked.borrow_mut().push(what.into());
    }
}

impl Host for Bare {
    fn alloc(&mut self, _: u64, _: Kind, _: Align) -> Result<Memory, Refusal> {
        Ok(Memory(4))
    }
    fn free(&mut self, _: Memory) -> Result<(), Refusal> {
        Err(Refusal::Gone)
    }
    fn size(&self, _: Memory) -> Result<u64, Refusal> {
        Ok(44)
    }
    fn kind(&self, _: Memory) -> Result<Kind, Refusal> {
        Ok(Kind::Private)
    }
    fn read(&self, _: Memory, _: u64, _: &mut [u8]) -> Result<(), Refusal> {
        Err(Refusal::NoMemory)
    }
    fn write(&mut self, _: Memory, _: u64, _: &[u8]) -> Result<(), Refusal> {
        Err(Refusal::Forbidden)
    }
    fn copy(&mut self, _: Span, _: Span) -> Result<(), Refusal> {
        Err(Refusal::OutOfBounds)
    }
    fn compute(&mut self, work: Work) {
        self.ask(format!("{work:?}"));
    }
}

impl Port for Bare {
    fn rank(&self) -> Rank {
        3
    }
    fn ranks(&self) -> u32 {
        5
    }
    fn limits(&self) -> &Limits {
        &self.limits
    }
    fn now(&self) -> Time {
        Time(77)
    }
    fn post(&mut self, op: &Op<'_>) -> Posted {
        self.ask(format!("{op:?}"));
        Posted::Busy
    }
    fn poll(&mut self) -> Option<Event> {
        None
    }
    fn deliver(&mut self, _: u64, _: Span) -> Result<(), Refusal> {
        Err(Refusal::TooLong(5))
    }
    fn peek(&self, _: u64, into: &mut [u8]) -> usize {
        into.len() + 1
    }
    fn idle(&mut self, until: Time) {
        self.ask(format!("idle {}", until.0));
    }
    fn settle(&mut self) {
        self.ask("settle");
    }
    fn close(&mut self) {
        self.ask("close");
    }
    fn note(&mut self, note: Note) {
        self.ask(format!("{note:?}"));
    }
}

/// Lets nothing be polled, and counts what it should not see.
#[derive(Default)]
struct Shut {
    took: u32,
}

impl Layer for Shut {
    fn lets_poll(&mut self) -> bool {
        false
    }
    fn took(&mut self, _: Step<'_>, _: Time, _: Time) {
        self.took += 1;
    }
}

/// What a layer kept back comes without an event that would wake the rank.
#[test]
fn who_was_kept_from_polling_looks_again_at_once() {
    let bare = Bare::new(false);
    let asked = bare.asked.clone();
    let mut port = Wrapped::new(bare, Shut::default());
    assert_eq!(port.poll(), None);
    port.idle(Time(99));
    port.idle(Time(99));
    assert_eq!(*asked.borrow(), ["idle 77", "idle 99"]);
    assert_eq!(port.post(&word(1)), Posted::Busy);
    assert_eq!(port.layer().took, 0, "a layer without a clock is not told what takes time");
}

/// A wait begins with its first rest.
#[test]
fn a_wait_in_several_rests_is_one() {
    async fn program(mut port: Wrapped<LoopbackPort, Watch>) -> Vec<String> {
        for until in [200, 700] {
            wait(&mut port, Time(until)).await;
        }
        port.compute(Work::Fixed(Time(1)));
        port.layer().told.take()
    }
    let told = Layered::new(Loopback::default(), |_| Watch::default()).run(1, &program).unwrap().remove(0);
    assert_eq!(told, ["Wait(None) 0-700", "Local(\"compute\", None) 700-701"]);
}

#[test]
fn a_wrapper_passes_on_what_its_layer_leaves() {
    let bare = Bare::new(false);
    let asked = bare.asked.clone();
    let mut port = Wrapped::new(bare, Count::default());
    assert_eq!((port.rank(), port.ranks(), port.now(), port.glance()), (3, 5, Time(77), Time(77)));
    assert!(port.listens() && port.limits().name == "bare");
    assert_eq!((port.alloc(1, Kind::Ghost, Align::None), port.free(Memory(1))), (Ok(Memory(4)), Err(Refusal::Gone)));
    assert_eq!((port.size(Memory(1)), port.kind(Memory(1))), (Ok(44), Ok(Kind::Private)));
    assert_eq!(port.read(Memory(1), 0, &mut []), Err(Refusal::NoMemory));
    assert_eq!(port.write(Memory(1), 0, &[]), Err(Refusal::Forbidden));
    let span = Span::new(Memory(1), 0, 8);
    let operation = Operation { combine: hotlink_port::Combine::Sum, element: hotlink_port::Element::F64 };
    assert_eq!(port.copy(span, span), Err(Refusal::OutOfBounds));
    assert_eq!(port.combine(operation, span, span), Err(Refusal::NoMemory));
    assert_eq!((port.deliver(0, span), port.peek(0, &mut [0; 2])), (Err(Refusal::TooLong(5)), 3));
    port.compute(Work::Fixed(Time(9)));
    port.settle();
    port.note(Note::Calls);
    port.idle(Time(8));
    port.close();
    assert_eq!(*asked.borrow(), ["Fixed(Time(9))", "settle", "Calls", "idle 8", "close"]);
}

#[test]
fn a_port_refuses_by_default_what_it_need_not_have() {
    let mut port = Bare::new(false);
    let key = Key { rank: 0, id: 0, bytes: 0 };
    assert_eq!(port.register(Memory(1)), Err(Refusal::Unsupported));
    assert_eq!(port.unregister(key), Err(Refusal::Unsupported));
    assert_eq!(port.attach(key, Engine::Pio), Err(Refusal::Unsupported));
    assert_eq!(port.detach(Attachment(0)), Err(Refusal::Unsupported));
    assert_eq!(port.glance(), Time(77));
    let listens =
        |real_time| (Bare::new(real_time).listens(), Wrapped::new(Bare::new(real_time), Count::default()).listens());
    assert_eq!([listens(false), listens(true)], [(true, true), (false, false)]);
    assert_eq!(port.post_row(2, [1; 4], Memory(4), 16, 8), Posted::Busy);
    let row = Op::Control { to: 2, head: [1; 4], payload: Payload::Span(Span::new(Memory(4), 16, 8)) };
    assert_eq!(*port.asked.borrow(), [format!("{row:?}")]);
}
