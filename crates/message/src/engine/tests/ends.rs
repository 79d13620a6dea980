//! Resources released when a message takes another route, and the end of requests when ranks end.

use super::*;
use hotlink_port::Layout;

const BYTES: u64 = 10_000;

/// Where rank 1 has a message, or room for one.
fn place() -> Place {
    let key = Key { rank: 1, id: 5, bytes: BYTES };
    Place { key, offset: 0, layout: Layout::contiguous(BYTES), regular: true }
}

fn words(kind: Kind) -> Words {
    Words { kind, context: Context::USER, tag: 3, total: BYTES, id: 4, at: 0 }
}

/// Of a request that has begun.
fn waiting() -> State {
    State::Posted(Pattern { from: Some(1), tag: Some(3), context: Context::USER })
}

/// Private memory, which the adapter moves only if it is registered, and which cannot be.
fn scarce() -> Engine<Scripted> {
    let needs = Some(DepositLimits { dma_needs_registration: true, ..DepositLimits::ANY });
    let mut engine = engine_of(Limits { deposit: needs, fetch: needs, ..limits() });
    engine.port.kind = port::Kind::Private;
    engine.port.registers = Err(Refusal::PinLimit);
    engine
}

/// A receive whose message lies at [`place`], with the receive's request.
fn fetching(engine: &mut Engine<Scripted>) -> u64 {
    let id = engine.open(1, row(BYTES), waiting());
    assert!(engine.fetch(id, &words(Kind::Rts), &place(), row(BYTES)));
    id
}

/// A send to rank 1 that waits for its receiver, with its request.
fn offered(engine: &mut Engine<Scripted>) -> u64 {
    engine.send_by(1, 3, Context::USER, row(BYTES), (false, Way::Announced)).unwrap()
}

#[test]
fn a_fetch_that_cannot_be_holds_nothing() {
    for (mut engine, answer) in [(scarce(), Posted::Accepted), (engine(), Posted::Busy)] {
        engine.answer(&[answer]);
        let id = engine.open(1, row(BYTES), waiting());
        assert!(!engine.fetch(id, &words(Kind::Rts), &place(), row(BYTES)));
        assert_eq!(engine.setup.in_use(), 0, "{answer:?}");
    }
    let mut engine = engine();
    let id = fetching(&mut engine);
    assert_eq!(engine.setup.in_use(), 1);
    engine.happens(Event::Failed(id, Refusal::Gone));
    assert_eq!((engine.setup.in_use(), engine.port.said.take()[0].kind), (0, Kind::Cts));
}

#[test]
fn a_deposit_that_cannot_be_holds_nothing() {
    for (mut engine, answer) in [(scarce(), Posted::Accepted), (engine(), Posted::Busy)] {
        engine.answer(&[answer]);
        let id = engine.open(1, row(BYTES), waiting());
        assert!(!engine.deposit(id, 9, &place()));
        assert_eq!(engine.setup.in_use(), 0, "{answer:?}");
    }
    // The pieces that take its place wait for room.
    let mut engine = engine();
    let id = engine.open(1, row(BYTES), waiting());
    assert!(engine.deposit(id, 9, &place()));
    assert_eq!(engine.setup.in_use(), 1);
    engine.answer(&[Posted::Busy]);
    engine.happens(Event::Failed(id, Refusal::Gone));
    assert_eq!((engine.setup.in_use(), engine.port.said.take()[0].kind), (0, Kind::Data));
}

#[test]
fn an_offer_that_is_cleared_to_come_in_pieces_is_let_go() {
    let mut engine = engine();
    let id = offered(&mut engine);
    assert_eq!(engine.setup.in_use(), 1, "its memory is offered");
    engine.entry(id).unwrap().halves = 4;
    engine.answer(&[Posted::Busy]);
    engine.on_clear(&Words { id, at: 9, ..words(Kind::Cts) }, None);
    assert_eq!((engine.setup.in_use(), engine.entry(id).unwrap().halves), (0, 0));
}

#[test]
fn an_announced_receive_that_cannot_be_sent_into_holds_nothing() {
    let announced = |engine: &mut Engine<Scripted>| {
        let ready = Words { id: 9, ..words(Kind::Ready) };
        engine.on_ready(1, ready, Some(place()));
        assert_eq!(engine.early.len(), 1);
        let id = engine.open(1, row(BYTES), waiting());
        (id, engine.take_early(1, &Words { id, ..words(Kind::Rts) }))
    };
    let mut scarce = scarce();
    assert_eq!(announced(&mut scarce).1, Ok(false));
    assert_eq!((scarce.setup.in_use(), scarce.log().contains(&"post".to_owned())), (0, false));
    // Claimed already, it comes in pieces.
    let mut engine = engine();
    engine.answer(&[Posted::Accepted, Posted::Busy, Posted::Busy]);
    let (_, taken) = announced(&mut engine);
    let kinds: Vec<Kind> = engine.port.said.take().iter().map(|words| words.kind).collect();
    assert_eq!((taken, engine.setup.in_use(), kinds), (Ok(true), 0, vec![Kind::Claim, Kind::Data]));
}

/// Only where the sender may write to it, only what is worth it, and not to this rank itself.
#[test]
fn a_receive_is_announced_where_a_deposit_may_meet_it() {
    let said = |deposit, from, bytes| {
        let mut engine = engine_of(Limits { deposit, ..limits() });
        let id = engine.open(from, row(bytes), waiting());
        engine.announce(id, Some(from), Some(3), Context::USER, row(bytes));
        engine.port.said.take().len()
    };
    let any = limits().deposit;
    let told = [said(any, 1, 1000), said(any, 1, 999), said(any, 0, 1000), said(None, 1, 1000)];
    assert_eq!(told, [1, 0, 0, 0]);
}

/// The receiver moves the first half, up to a line's end, and names the rest.
#[test]
fn a_message_in_halves_is_shared_out() {
    let shares = |into: Span, words: Words| {
        let mut engine = engine_of(Limits { real_time: false, ..limits() });
        let id = engine.open(1, into, waiting());
        assert!(engine.fetch_or_share(id, &words, &place(), into));
        let said = engine.port.said.take();
        let place = engine.port.places.take().pop();
        (said.first().map(|words| (words.kind, words.total)), place.map(|place| (place.offset, place.layout.bytes())))
    };
    let helped = Words { at: 1, ..words(Kind::Rts) };
    assert_eq!(shares(row(BYTES), helped), (Some((Kind::Half, 1808)), Some((8192, 1808))));
    assert_eq!(shares(row(BYTES), words(Kind::Rts)), (None, None));
    let apart = Span { layout: Layout::strided(100, 100, 200), ..row(0) };
    assert_eq!(shares(apart, helped), (None, None), "only rows have halves");
}

#[test]
fn a_sender_that_is_asked_to_help_deposits_its_half() {
    let mut engine = engine();
    let id = offered(&mut engine);
    engine.log();
    let rest = Words { id, at: 9, total: 1808, ..words(Kind::Half) };
    engine.on_half(rest, Some(Place { layout: Layout::contiguous(1808), ..place() }));
    assert_eq!((engine.log(), engine.token()), (["attach 5", "post"].map(str::to_owned).into(), id));
    engine.happens(Event::Done(id));
    assert_eq!((engine.log(), engine.is_done(id)), (vec!["Landed to 1: 0 of 0 B".to_owned()], false));
    engine.happens(Event::Control { from: 1, head: Words { id, ..words(Kind::Fetched) }.head(), bytes: 0 });
    assert!(matches!(engine.take(id), Some(Ok(_))));
}

/// A message whose halves failed comes in pieces like any other, and nothing of the halves is left.
#[test]
fn halves_that_failed_leave_nothing_behind() {
    let mut engine = engine();
    let id = engine.open(1, row(BYTES), waiting());
    assert!(engine.fetch_or_share(id, &Words { at: 1, ..words(Kind::Rts) }, &place(), row(BYTES)));
    engine.happens(Event::Done(id));
    assert_eq!(engine.setup.in_use(), 2);
    let landed = |at| Event::Control { from: 1, head: Words { id, at, ..words(Kind::Landed) }.head(), bytes: 0 };
    engine.happens(landed(1));
    let entry = *engine.entry(id).unwrap();
    assert_eq!((engine.setup.in_use(), entry.halves, entry.announced), (0, 0, None));
    assert!(matches!(entry.state, State::Receiving { came: 0, .. }));
    // Cleared again, it may be deposited as a whole.
    engine.happens(landed(0));
    assert!(matches!(engine.take(id), Some(Ok(Status { from: 1, tag: 3, bytes: BYTES }))));
}

#[test]
fn an_attachment_to_memory_that_is_gone_is_forgotten() {
    let mut engine = engine();
    let mut attaches = |revoked: bool| {
        if revoked {
            engine.happens(Event::Revoked(place().key));
        }
        let id = engine.open(1, row(BYTES), waiting());
        engine.import(id, &place()).unwrap();
        engine.release_setups(id);
        engine.log().contains(&"attach 5".to_owned())
    };
    assert_eq!([attaches(false), attaches(false), attaches(true)], [true, false, true]);
}

/// A refusal for another reason than the sender's end fails the receive.
#[test]
fn a_half_whose_end_cannot_be_said_fails() {
    let mut engine = engine();
    let id = engine.open(1, row(BYTES), waiting());
    assert!(engine.fetch_or_share(id, &Words { at: 1, ..words(Kind::Rts) }, &place(), row(BYTES)));
    engine.answer(&[Posted::Refused(Refusal::NoMemory)]);
    engine.happens(Event::Done(id));
    assert_eq!(engine.take(id), Some(Err(Error::Refused(Refusal::NoMemory))));
}

#[test]
fn offers_without_a_receive_are_counted() {
    let mut engine = engine();
    for count in 1..3 {
        engine.happens(Event::Control { from: 1, head: words(Kind::Rts).head(), bytes: 0 });
        assert_eq!(engine.counters.unexpected, count);
    }
}

#[test]
fn a_send_that_is_refused_ends_with_the_reason() {
    for way in [Way::Usual, Way::Announced] {
        let mut engine = engine();
        engine.answer(&[GONE]);
        let id = engine.send_by(1, 0, Context::USER, row(8), (false, way)).unwrap();
        assert_eq!(engine.take(id), Some(Err(Error::PeerGone(1))));
        // The same where there was no room before.
        engine.answer(&[Posted::Busy, GONE]);
        let id = engine.send_by(1, 0, Context::USER, row(8), (false, way)).unwrap();
        assert!(engine.take(id).is_none() && engine.progress());
        assert_eq!((engine.take(id), engine.leftover(false)), (Some(Err(Error::PeerGone(1))), None));
    }
}

/// Its message is there. It does no harm that the sender cannot be reached any more.
#[test]
fn a_receive_that_has_its_message_outlives_its_sender() {
    for refused in [false, true] {
        let mut engine = engine();
        let id = fetching(&mut engine);
        engine.answer(&[Posted::Busy]);
        engine.happens(Event::Done(id));
        assert!(engine.take(id).is_none(), "the sender waits for the news");
        if refused {
            engine.answer(&[GONE]);
            assert!(engine.progress());
        } else {
            engine.happens(Event::PeerGone(1));
        }
        assert_eq!(engine.take(id), Some(Ok(Status { from: 1, tag: 3, bytes: BYTES })));
        assert_eq!(engine.leftover(false), None);
    }
}

#[test]
fn what_a_rank_announced_and_what_it_waits_for_end_with_it() {
    let mut engine = engine();
    for from in [1, 2] {
        let key = Key { rank: from, ..place().key };
        engine.on_ready(from, words(Kind::Ready), Some(Place { key, ..place() }));
    }
    engine.answer(&[Posted::Busy, Posted::Busy]);
    let [first, second] = [1, 2].map(|to| engine.send_by(to, 0, Context::USER, row(8), (false, Way::Usual)).unwrap());
    engine.happens(Event::PeerLeft(1));
    assert_eq!((engine.early.len(), engine.early[0].from), (1, 2));
    assert_eq!((engine.take(first), engine.take(second)), (Some(Err(Error::Ended(1))), None));
    assert!(engine.progress());
    assert!(matches!(engine.take(second), Some(Ok(_))));
}

/// An announced message still lies with its sender, and goes with it. One that came whole is there.
#[test]
fn a_message_that_was_taken_out_is_received_if_it_came_before_its_sender_ended() {
    let pattern = Pattern { from: Some(1), tag: Some(3), context: Context::USER };
    let received = |kind: Kind| {
        let mut engine = engine();
        let head = Words { total: 0, ..words(kind) }.head();
        engine.happens(Event::Control { from: 1, head, bytes: 0 });
        let (number, status) = engine.take_out(&pattern).unwrap();
        assert_eq!((status.from, status.tag, engine.probe(&pattern)), (1, 3, None));
        engine.happens(Event::PeerGone(1));
        let id = engine.recv_matched(number, row(0)).unwrap();
        engine.take(id)
    };
    assert_eq!(received(Kind::Rts), Some(Err(Error::PeerGone(1))));
    assert_eq!(received(Kind::Eager), Some(Ok(Status { from: 1, tag: 3, bytes: 0 })));
}

#[test]
fn a_half_that_is_tried_with_other_memory_lets_go_of_the_first() {
    let mut engine = engine();
    let id = engine.open(1, row(BYTES), waiting());
    let other = Place { key: Key { id: 6, ..place().key }, ..place() };
    for tried in [place(), place(), other] {
        engine.import_again(id, &tried).unwrap();
        assert_eq!(engine.setup.in_use(), 1);
    }
}
