//! The route of a message, and the port's view of it.

use super::super::pieces::piece;
use super::*;
use hotlink_port::Layout;

fn strided(block: u64, count: u64) -> Span {
    Span { layout: Layout::strided(block, count, 2 * block), ..row(0) }
}

/// An engine whose memory is private: worth while from 2000 B to 4000 B where the program waits, in blocks of 8 B.
fn private() -> Engine<Scripted> {
    let registration = RegistrationLimits {
        private_zero_copy_min: 2000,
        private_zero_copy_max: 4000,
        private_block_min: 8,
        ..limits().registration
    };
    let mut engine = engine_of(Limits { registration, ..limits() });
    engine.port.kind = port::Kind::Private;
    engine
}

#[test]
fn memory_is_offered_where_that_saves_time() {
    let sizes = [999, 1000, 1999, 2000, 3999, 4000];
    let offers = |engine: &Engine<Scripted>, waits| sizes.map(|bytes| engine.offers(&row(bytes), waits));
    let shared = engine();
    assert_eq!([false, true].map(|waits| offers(&shared, waits)), [[false, true, true, true, true, true]; 2]);
    let mut private = private();
    assert_eq!(offers(&private, false), [false, true, true, true, true, true]);
    assert_eq!(offers(&private, true), [false, false, false, true, true, false]);
    assert_eq!([7, 8, 9].map(|block| private.offers(&strided(block, 400), false)), [false, true, true]);
    assert!(engine().offers(&strided(1, 2000), false), "regular memory in blocks of any length");
    private.port.limits.registration.private = false;
    assert_eq!([false, true].map(|waits| offers(&private, waits)), [[false; 6]; 2]);
    let may = |deposit, fetch, bytes| engine_of(Limits { deposit, fetch, ..limits() }).may_register(&row(bytes));
    let any = Some(DepositLimits::ANY);
    assert_eq!(
        [may(any, None, 1000), may(None, any, 1000), may(None, None, 1000), may(any, any, 999)],
        [true, true, false, false]
    );
}

#[test]
fn ghosts_are_what_the_ports_usual_memory_is() {
    let regular = |kind, segments| {
        let mut engine = engine_of(Limits { segments, ..limits() });
        engine.port.kind = kind;
        engine.is_regular(&row(8))
    };
    use port::Kind::{Ghost, Private, Shared};
    let told = [(Private, true), (Shared, false), (Ghost, true), (Ghost, false)]
        .map(|(kind, segments)| regular(kind, segments));
    assert_eq!(told, [false, true, true, false]);
}

#[test]
fn a_place_is_taken_in_blocks_that_are_long_enough() {
    let engine = private();
    let key = Key { rank: 1, id: 5, bytes: 4000 };
    let takes = |regular, block| {
        engine.takes(&strided(block, 9), &Place { key, offset: 0, layout: Layout::contiguous(72), regular })
    };
    assert_eq!([takes(true, 7), takes(false, 7), takes(false, 8)], [true, false, true]);
}

#[test]
fn memory_is_pinned_once_and_only_where_the_adapter_needs_it() {
    let by = |engine: &mut Engine<Scripted>, claim, mover| {
        let id = engine.open(1, row(2000), State::Moving);
        let pinned = [(); 2].map(|()| engine.pin(id, &row(2000), claim, mover));
        (pinned, engine.log().len())
    };
    let pins = |engine: &mut Engine<Scripted>, claim| by(engine, claim, port::Engine::Dma);
    let (needs, free) = (limits().deposit, Some(DepositLimits::ANY));
    assert_eq!(pins(&mut private(), needs), ([true; 2], 1));
    assert_eq!([free, None].map(|claim| pins(&mut private(), claim)), [([true; 2], 0); 2]);
    assert_eq!(pins(&mut engine(), needs), ([true; 2], 0), "regular memory");
    assert_eq!(by(&mut private(), needs, port::Engine::Pio), ([true; 2], 0));
    let mut scarce = private();
    scarce.port.registers = Err(Refusal::PinLimit);
    assert_eq!(pins(&mut scarce, needs).0, [false; 2]);
}

/// Shorter than what usually moves so, and through buffers where nobody could fetch it.
#[test]
fn a_direct_send_is_fetched_however_short_it_is() {
    let offered = |engine: &mut Engine<Scripted>, span: Span| {
        engine.send_direct(1, 0, Context::USER, span).unwrap();
        let said = engine.port.said.take();
        (said[0].kind, engine.log().pop().unwrap().starts_with("Rts to 1: 0 of"))
    };
    assert_eq!(offered(&mut engine(), row(100)), (Kind::Rts, false));
    assert_eq!(offered(&mut private(), strided(4, 25)), (Kind::Rts, true));
}

/// The sender offers its help (`at` 1) only where it waits, and its memory can be fetched in one row that is long enough.
#[test]
fn an_offer_says_where_the_message_lies_and_who_helps() {
    let offered = |engine: &mut Engine<Scripted>, span: Span, waits| {
        engine.options.halves_bytes = 3000;
        engine.send_by(1, 0, Context::USER, span, (waits, Way::Announced)).unwrap();
        let said = engine.port.said.take();
        let log = engine.log().pop().unwrap();
        assert!(said.len() == 1 && said[0].kind == Kind::Rts);
        (log.starts_with("Rts to 1: 0 of"), said[0].at)
    };
    let (no, yes, helps) = ((true, 0), (false, 0), (false, 1));
    let shared = |bytes, waits| offered(&mut engine(), row(bytes), waits);
    assert_eq!([shared(999, true), shared(2999, true), shared(3000, true), shared(3000, false)], [no, yes, helps, yes]);
    assert_eq!(offered(&mut engine(), strided(8, 500), true), yes);
    assert_eq!(offered(&mut engine_of(Limits { fetch: None, ..limits() }), row(3000), true), no);
    let mut scarce = engine();
    scarce.port.registers = Err(Refusal::PinLimit);
    assert_eq!(offered(&mut scarce, row(3000), true), no);
    let halves_from = |private_halves_min, bytes| {
        let mut engine = private();
        engine.port.limits.registration.private_halves_min = private_halves_min;
        offered(&mut engine, row(bytes), true)
    };
    assert_eq!([halves_from(0, 3000), halves_from(3500, 3000), halves_from(3500, 3500)], [helps, yes, helps]);
    let mut regular = engine();
    regular.port.limits.registration.private_halves_min = 3500;
    assert_eq!(offered(&mut regular, row(3000), true), helps);
}

/// A receive is cleared with a place where the sender can deposit into its memory, and without one else.
#[test]
fn a_receive_that_is_cleared_names_its_place_where_that_helps() {
    let cleared = |deposit, bytes| {
        let mut engine = engine_of(Limits { deposit, ..limits() });
        let words = Words { kind: Kind::Rts, context: Context::USER, tag: 0, total: bytes, id: 4, at: 0 };
        let id = engine.open(1, row(5000), State::Vacant);
        engine.begin(id, 1, words, None);
        engine.log().pop().unwrap()
    };
    assert_eq!(cleared(limits().deposit, 1000), "Cts to 1: 24 of 1000 B");
    assert_eq!([cleared(limits().deposit, 999), cleared(None, 999)], ["Cts to 1: 0 of 999 B"; 2]);
    assert_eq!(cleared(None, 1000), "Cts to 1: 0 of 1000 B");
}

#[test]
fn pieces_are_of_whole_blocks_or_of_one() {
    let span = strided(8, 4);
    let part = |at, len| span.part(at, len).unwrap();
    assert_eq!(
        [piece(&span, 20, 0), piece(&span, 20, 16), piece(&span, 100, 8)],
        [part(0, 16), part(16, 16), part(8, 24)]
    );
    let run = |offset, bytes| Span::new(Memory(7), offset, bytes);
    assert_eq!([piece(&span, 5, 0), piece(&span, 5, 5), piece(&span, 20, 4)], [run(0, 5), run(5, 3), run(4, 4)]);
    assert_eq!([piece(&row(50), 20, 0), piece(&row(50), 20, 40)], [run(0, 20), run(40, 10)]);
}

/// Places of requests are used again, and freed memory is no longer registered.
#[test]
fn what_is_over_leaves_its_place() {
    let mut engine = engine();
    for _ in 0..10 {
        let id = engine.send(1, 0, Context::USER, row(8), false).unwrap();
        assert!(engine.take(id).is_some_and(|result| result.is_ok()));
        assert_eq!(engine.send_copy(1, 0, Context::USER, row(8)), Ok(SENT));
    }
    assert_eq!((engine.entries.len(), engine.leftover(false)), (1, None));
    assert_eq!(engine.log().iter().filter(|what| *what == "free 100").count(), 10);
    let id = engine.open(1, row(2000), State::Moving);
    assert!(engine.export(id, row(2000)).is_some() && engine.setup.state_of(Memory(7)).0);
    engine.release_setups(id);
    engine.free(Memory(7)).unwrap();
    assert!(!engine.setup.state_of(Memory(7)).0);
}

#[test]
fn a_port_that_listens_hears_what_is_waited_for() {
    let told = |real_time, state| {
        let mut engine = engine_of(Limits { real_time, ..limits() });
        let id = engine.open(2, row(8), state);
        engine.note_wait(id);
        engine.settle_for(id);
        engine.log()
    };
    let words = Words { kind: Kind::Rts, context: Context::USER, tag: 6, total: 8, id: 0, at: 0 };
    let pattern = Pattern { from: None, tag: Some(5), context: Context::USER };
    let waits = |call: &str, peer: &str, tag: &str| {
        vec![format!("Waits {{ call: {call}, peer: {peer}, tag: {tag} }}"), "settle".to_owned()]
    };
    assert_eq!(told(true, State::Moving), ["settle"]);
    assert_eq!(told(false, State::Moving), waits("Transfer", "Some(2)", "None"));
    assert_eq!(told(false, State::Posted(pattern)), waits("Receive", "None", "Some(5)"));
    assert_eq!(told(false, State::Receiving { words, came: 0 }), waits("Receive", "Some(2)", "Some(6)"));
    assert_eq!(told(false, State::Offered { words, number: 0 }), waits("Send", "Some(2)", "Some(6)"));
    assert_eq!(told(false, State::Depositing { peer: 3 }), waits("Send", "Some(2)", "None"));
}
