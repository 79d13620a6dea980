//! The loopback port: what it claims, and what it does at the edges.

use hotlink_fabric::units::{Rate, Time};
use hotlink_port::loopback::{Loopback, LoopbackPort};
use hotlink_port::{Align, Driver, Engine, Host, Kind, Op, Payload, Port, Posted, Refusal, RunError, Span, wait};

fn post(port: &mut LoopbackPort, to: u32, payload: Payload<'_>) -> Posted {
    port.post(&Op::Control { to, head: [0; 4], payload })
}

/// What a step takes by the port's clock.
fn took(port: &mut LoopbackPort, step: impl FnOnce(&mut LoopbackPort)) -> Time {
    let before = port.now();
    step(port);
    port.now() - before
}

/// Protocols choose by these claims.
#[test]
fn its_claims_are_what_it_does() {
    async fn program(mut port: LoopbackPort) {
        let limits = port.limits().clone();
        let longest = vec![7; limits.control_bytes_max as usize];
        let posting = took(&mut port, |port| assert_eq!(post(port, 0, Payload::Bytes(&longest)), Posted::Accepted));
        let polling = took(&mut port, |port| assert!(port.poll().is_some()));
        assert_eq!([posting, polling], [limits.post_overhead, limits.poll_overhead]);
        let refused = Posted::Refused(Refusal::TooLong(limits.control_bytes_max));
        assert_eq!(post(&mut port, 0, Payload::Bytes(&[&longest[..], b"1"].concat())), refused);
        let memory = port.alloc(64, Kind::Shared, Align::Default).unwrap();
        let key = port.register(memory).unwrap();
        let registering = took(&mut port, |port| assert!(port.register(memory).is_ok()));
        let attaching = took(&mut port, |port| assert!(port.attach(key, Engine::Pio).is_ok()));
        let claimed = &limits.registration;
        assert_eq!(
            [registering, attaching, attaching],
            [claimed.register_time, claimed.map_time, claimed.connect_time]
        );
        assert!(claimed.register_time > Time::ZERO);
    }
    assert_eq!(Loopback::default().run(1, &program), Ok(vec![()]));
}

/// Nothing here is in real time. A message's path, copies and rates take none of the clock: the claims about them are
/// there for protocols that divide by them.
#[test]
fn its_other_claims_are_stated() {
    async fn program(port: LoopbackPort) -> (bool, u64, Option<u64>) {
        let limits = port.limits();
        let stated = (limits.clock_step, limits.latency, limits.rate, limits.copy_rate);
        assert_eq!(stated, (Time(1), Time(1000), Rate::from_mbps(1000.0), Rate::from_mbps(1000.0)));
        (limits.real_time, limits.inline_bytes, limits.registration.entries)
    }
    let mut driver = Loopback { entries: 40, ..Loopback::default() };
    assert_eq!(driver.run(1, &program), Ok(vec![(false, 16, Some(40))]));
}

#[test]
fn no_more_is_exported_or_attached_than_there_are_entries() {
    async fn program(mut port: LoopbackPort) {
        let memory = port.alloc(64, Kind::Shared, Align::Default).unwrap();
        let keys = [(); 2].map(|()| port.register(memory).unwrap());
        assert_eq!(port.register(memory), Err(Refusal::PinLimit));
        let first = port.attach(keys[0], Engine::Dma).unwrap();
        port.attach(keys[1], Engine::Dma).unwrap();
        assert_eq!(port.attach(keys[0], Engine::Dma), Err(Refusal::NoEntries));
        port.detach(first).unwrap();
        assert!(port.attach(keys[0], Engine::Dma).is_ok());
    }
    assert_eq!(Loopback { entries: 2, ..Loopback::default() }.run(1, &program), Ok(vec![()]));
}

/// Memory without bytes sends a length, which is held to the same bounds.
#[test]
fn ghosts_arrive_with_their_length() {
    async fn program(mut port: LoopbackPort) {
        let ghost = port.alloc(40, Kind::Ghost, Align::Default).unwrap();
        let into = port.alloc(64, Kind::Private, Align::Default).unwrap();
        port.write(into, 0, &[5; 64]).unwrap();
        assert_eq!(post(&mut port, 0, Payload::Span(Span::new(ghost, 0, 40))), Posted::Accepted);
        assert!(port.poll().is_some());
        let mut delivers = |at, bytes| port.deliver(at, Span::new(into, 0, bytes));
        let out = Err(Refusal::OutOfBounds);
        assert_eq!([delivers(0, 40), delivers(8, 32), delivers(0, 39)], [Ok(()); 3]);
        assert_eq!([delivers(0, 41), delivers(9, 32), delivers(u64::MAX, 1)], [out; 3]);
        let mut seen = [0; 64];
        port.read(into, 0, &mut seen).unwrap();
        assert_eq!(seen, [5; 64], "a ghost overwrites nothing");
    }
    assert_eq!(Loopback::default().run(1, &program), Ok(vec![()]));
}

#[test]
fn a_payload_lasts_until_the_next_poll() {
    async fn program(mut port: LoopbackPort) {
        let into = Span::new(port.alloc(8, Kind::Private, Align::Default).unwrap(), 0, 3);
        assert_eq!(post(&mut port, 0, Payload::Bytes(b"abc")), Posted::Accepted);
        assert!(port.poll().is_some());
        assert_eq!([port.deliver(0, into), port.deliver(0, into)], [Ok(()); 2]);
        assert!(port.poll().is_none());
        assert_eq!((port.deliver(0, into), port.peek(0, &mut [0; 3])), (Err(Refusal::OutOfBounds), 0));
    }
    assert_eq!(Loopback::default().run(1, &program), Ok(vec![()]));
}

/// A rank that has left takes nothing more, and keeps nobody from going on.
#[test]
fn a_rank_that_has_left_is_never_busy() {
    let sends = |port: &mut LoopbackPort| (0..20).filter(|_| post(port, 1, Payload::None) == Posted::Busy).count();
    // It announces that it has closed its port, and ends only once something has still arrived.
    let closes = async |mut port: LoopbackPort| {
        if port.rank() == 1 {
            port.close();
            assert_eq!(post(&mut port, 0, Payload::None), Posted::Accepted);
        }
        while port.poll().is_none() {
            wait(&mut port, Time::MAX).await;
        }
        if port.rank() == 0 { sends(&mut port) } else { 0 }
    };
    // It ends without closing its port.
    let ends = async |mut port: LoopbackPort| {
        let mut busy = 0;
        while port.rank() == 0 && sends(&mut port) > 0 {
            busy += 1;
            wait(&mut port, Time::MAX).await;
        }
        busy
    };
    for seed in 0..10 {
        let driver = || Loopback { seed, inbox: 2, ..Loopback::default() };
        assert_eq!(driver().run(2, &closes), Ok(vec![0, 0]), "seed {seed}");
        assert!(driver().run(2, &ends).unwrap()[0] <= 1, "seed {seed}");
    }
}

#[test]
fn ranks_that_all_wait_for_ever_are_told() {
    let program = async |mut port: LoopbackPort| wait(&mut port, Time::MAX).await;
    let ended = Loopback::default().run(3, &program);
    assert!(matches!(&ended, Err(RunError::Stuck(why)) if why.contains("every rank waits")), "{ended:?}");
    // One that waits for a time is woken then.
    let program = async |mut port: LoopbackPort| {
        wait(&mut port, Time(5000)).await;
        port.now()
    };
    assert_eq!(Loopback::default().run(1, &program), Ok(vec![Time(5000)]));
}
