//! The promises of sends, requests and registrations, on the loopback.

use hotlink_message::{Comm, Error, Indexed, Mode, Options, Policy};
use hotlink_port::loopback::{Loopback, LoopbackPort, Random};
use hotlink_port::{Align, Driver, Host, Kind, Layout, Program, Refusal, Span, yield_once};
use proptest::prelude::*;

fn run<T, R>(ranks: u32, program: R) -> Vec<T>
where
    T: serde::Serialize + serde::de::DeserializeOwned,
    R: Program<LoopbackPort, T>,
{
    Loopback::default().run(ranks, &program).unwrap()
}

fn block(comm: &Comm<LoopbackPort>, bytes: u64, fill: u8) -> Span {
    let memory = comm.alloc(bytes, Kind::Private).unwrap();
    comm.write(memory, 0, &vec![fill; bytes as usize]).unwrap();
    Span::new(memory, 0, bytes)
}

fn bytes_of(comm: &Comm<LoopbackPort>, span: Span) -> Vec<u8> {
    let mut bytes = vec![0; span.bytes() as usize];
    comm.read(span.memory, span.offset, &mut bytes).unwrap();
    bytes
}

/// Lets the other ranks do what they can.
async fn others_turn(comm: &Comm<LoopbackPort>) {
    for _ in 0..50 {
        comm.iprobe(None, Some(u32::MAX));
        yield_once().await;
    }
}

#[test]
fn what_is_kept_for_later_receives_is_bounded() {
    async fn flood(port: LoopbackPort) -> Result<(u64, u64), Error> {
        let options =
            Options { eager_bytes: 200, kept_bytes: 4000, ..Options::of(&hotlink_port::Port::limits(&port).clone()) };
        let comm = Comm::with_options(port, options);
        let out = block(&comm, 200, comm.rank() as u8);
        let mut sends = Vec::new();
        for _ in 0..if comm.rank() == 0 { 0 } else { 500 } {
            sends.push(comm.isend(0, 1, out)?);
        }
        others_turn(&comm).await;
        if comm.rank() == 0 {
            for i in 0..1000 {
                let status = comm.recv(Some(1 + i % 2), Some(1), out).await?;
                assert_eq!(bytes_of(&comm, out), vec![status.from as u8; 200]);
            }
        }
        comm.wait_all(sends).await?;
        comm.barrier().await?;
        let counters = comm.counters();
        assert_eq!(counters.kept_bytes, 0);
        Ok((counters.kept_bytes_max, counters.held_back))
    }
    let results: Vec<_> = run(3, flood).into_iter().map(Result::unwrap).collect();
    assert!((1..=4000).contains(&results[0].0), "{results:?}");
    assert!(results[1].1 > 0 && results[2].1 > 0, "{results:?}");
}

#[test]
fn restricted_sends_wait_for_the_receiver_and_postal_ones_never_do() {
    async fn program(port: LoopbackPort) -> Result<(), Error> {
        let comm = Comm::new(port);
        for bytes in [0, 8, 4000] {
            let out = block(&comm, bytes, 7);
            if comm.rank() == 0 {
                let restricted = comm.isend_as(Mode::Restricted, 1, 1, out)?;
                others_turn(&comm).await;
                let restricted = comm.test(restricted).expect_err("nobody receives yet");
                let postal = comm.isend_as(Mode::Postal, 1, 2, out)?;
                comm.test(postal).expect("over at once")?;
                comm.write(out.memory, 0, &vec![9; bytes as usize])?;
                comm.send(1, 3, Span::new(out.memory, 0, 0)).await?;
                comm.write(out.memory, 0, &vec![7; bytes as usize])?;
                comm.wait(restricted).await?;
                comm.flush().await;
            } else {
                comm.recv(Some(0), Some(3), Span::new(out.memory, 0, 0)).await?;
                for tag in [2, 1] {
                    comm.write(out.memory, 0, &vec![0; bytes as usize])?;
                    comm.recv(Some(0), Some(tag), out).await?;
                    assert_eq!(bytes_of(&comm, out), vec![7; bytes as usize], "tag {tag}");
                }
            }
        }
        Ok(())
    }
    assert_eq!(run(2, program), [Ok(()), Ok(())]);
}

#[test]
fn any_some_and_all_of_several_requests() {
    async fn program(port: LoopbackPort) -> Result<(), Error> {
        let comm = Comm::new(port);
        let word = block(&comm, 8, 1);
        if comm.rank() == 0 {
            for tag in [2, 0, 1, 3] {
                comm.recv(Some(1), Some(9), word).await?;
                comm.send(1, tag, word).await?;
            }
            return Ok(());
        }
        let mut requests: Vec<_> = (0..4).map(|tag| comm.irecv(Some(0), Some(tag), word)).collect::<Result<_, _>>()?;
        assert!(comm.test_any(&mut requests).is_none() && comm.test_some(&mut requests).is_empty());
        comm.send(0, 9, word).await?;
        let (index, status) = comm.wait_any(&mut requests).await.unwrap();
        assert_eq!((index, status?.tag, requests.len()), (2, 2, 3));
        comm.send(0, 9, word).await?;
        let some = comm.wait_some(&mut requests).await;
        assert_eq!((some.len(), some[0].0, requests.len()), (1, 0, 2));
        assert!(comm.test_all(&mut requests).is_none());
        comm.send(0, 9, word).await?;
        comm.send(0, 9, word).await?;
        while comm.test_all(&mut requests).is_none() {
            others_turn(&comm).await;
        }
        assert!(requests.is_empty() && comm.wait_any(&mut requests).await.is_none());
        assert!(comm.wait_some(&mut requests).await.is_empty());
        Ok(())
    }
    assert_eq!(run(2, program), [Ok(()), Ok(())]);
}

/// Persistent requests: right data each time, and their registration outlives the pressure of other memory.
#[test]
fn persistent_requests_keep_their_registration() {
    async fn program(port: LoopbackPort) -> Result<u64, Error> {
        let comm = Comm::new(port);
        let peer = 1 - comm.rank();
        let span = block(&comm, 1000, 0);
        let request = match comm.rank() {
            0 => comm.send_init(Mode::Standard, 1, 5, span)?,
            _ => comm.recv_init(Some(0), Some(5), span)?,
        };
        assert!(comm.state(span.memory, 0, 1000)?.held);
        for round in 0..20 {
            if comm.rank() == 0 {
                comm.write(span.memory, 0, &[round; 1000])?;
            }
            let started = comm.start_again(&request)?;
            comm.wait(started).await?;
            assert_eq!(bytes_of(&comm, span), vec![round; 1000]);
            let others: Vec<Span> = (0..4).map(|fill| block(&comm, 600, fill)).collect();
            for other in &others {
                comm.sendrecv((peer, 6, *other), (peer, 6, block(&comm, 600, 9))).await?;
            }
            assert!(comm.state(span.memory, 0, 1000)?.registered, "evicted in round {round}");
        }
        comm.release(request);
        assert!(!comm.state(span.memory, 0, 1000)?.held);
        comm.barrier().await?;
        Ok(comm.setup_stats().registrations.evictions)
    }
    let scarce = Loopback { entries: 3, ..Loopback::default() }.run(2, &program).unwrap();
    let evictions: Vec<u64> = scarce.into_iter().map(Result::unwrap).collect();
    assert!(evictions.iter().all(|&n| n > 0), "no pressure: {evictions:?}");
}

/// One entry for everything: each registration and attachment succeeds because the one before is released when it
/// fails.
#[test]
fn set_ups_are_released_on_demand() {
    async fn program(port: LoopbackPort) -> Result<(u64, u64), Error> {
        let comm = Comm::new(port);
        for fill in 0..10 {
            let span = block(&comm, 1000, fill);
            if comm.rank() == 0 {
                comm.send_as(Mode::Restricted, 1, 0, span).await?;
            } else {
                comm.write(span.memory, 0, &[99; 1000])?;
                comm.recv(Some(0), Some(0), span).await?;
                assert_eq!(bytes_of(&comm, span), vec![fill; 1000]);
            }
        }
        comm.barrier().await?;
        Ok((comm.counters().fetched, comm.setup_stats().registrations.evictions))
    }
    let scarce = Loopback { entries: 1, ..Loopback::default() }.run(2, &program).unwrap();
    let results: Vec<_> = scarce.into_iter().map(Result::unwrap).collect();
    assert_eq!((results[1].0, results[0].1), (10, 9), "all were fetched, through one entry");
}

/// Both ranks move a long message between regular segments when both wait for it. Every byte is there when either goes
/// on, also when entries are scarce and one side must do the other's half or all.
#[test]
fn both_sides_move_half_of_a_message() {
    async fn program(port: LoopbackPort) -> Result<u64, Error> {
        let options = Options {
            eager_bytes: 200,
            zero_copy_bytes: 1000,
            halves_bytes: 5000,
            ..Options::of(&hotlink_port::Port::limits(&port).clone())
        };
        let comm = Comm::with_options(port, options);
        for (number, bytes) in (0u8..).zip([4999u64, 5000, 8192, 8193, 12_345, 40_000]) {
            let memory = comm.alloc(bytes, Kind::Shared)?;
            let span = Span::new(memory, 0, bytes);
            let contents: Vec<u8> = (0..bytes).map(|i| (i % 251) as u8 ^ number).collect();
            if comm.rank() == u32::from(number % 2) {
                comm.write(memory, 0, &contents)?;
                comm.send(1 - comm.rank(), 0, span).await?;
                // The other side is done with it.
                comm.write(memory, 0, &vec![0xEE; bytes as usize])?;
            } else {
                comm.recv(None, Some(0), span).await?;
                assert!(bytes_of(&comm, span) == contents, "{bytes} bytes");
            }
            comm.free(memory)?;
        }
        comm.barrier().await?;
        Ok(comm.counters().halved)
    }
    for entries in [1, 2, 3, 100] {
        for seed in 0..20 {
            let ranks = Loopback { entries, seed, ..Loopback::default() }.run(2, &program).unwrap();
            let halved: u64 = ranks.into_iter().map(Result::unwrap).sum();
            assert_eq!(halved, if entries == 100 { 5 } else { halved }, "{entries} entries");
        }
    }
}

/// W01's attributes (slide 11): type and alignment are asked for, the options say what is given otherwise.
#[test]
fn memory_is_of_the_kind_asked_for_or_chosen() {
    for (chosen, given) in [(Kind::Default, Kind::Shared), (Kind::Shared, Kind::Shared), (Kind::Private, Kind::Private)]
    {
        let program = move |port: LoopbackPort| async move {
            let options = Options { memory: chosen, ..Options::of(&hotlink_port::Port::limits(&port).clone()) };
            let comm = Comm::with_options(port, options);
            for (kind, given) in [(Kind::Default, given), (Kind::Shared, Kind::Shared), (Kind::Private, Kind::Private)]
            {
                let memory = comm.alloc_mem(100, kind, Align::Bytes(64))?;
                assert_eq!(comm.with_port(|port| port.kind(memory))?, given, "{kind:?} with {chosen:?}");
            }
            assert!(comm.alloc_mem(100, Kind::Private, Align::Bytes(3)).is_err(), "no power of two");
            Ok::<_, Error>(())
        };
        assert_eq!(run(1, program), [Ok(())]);
    }
}

/// Memory that was registered, freed and allocated again is other memory.
#[test]
fn freed_and_reused_memory_is_not_mistaken() {
    for policy in [Policy::Lru, Policy::Immediate] {
        let program = move |port: LoopbackPort| async move {
            let options = Options { policy, ..Options::of(&hotlink_port::Port::limits(&port).clone()) };
            let comm = Comm::with_options(port, options);
            for fill in 0..30u8 {
                let span = block(&comm, 2000, fill);
                if comm.rank() == 0 {
                    comm.send(1, 0, span).await?;
                } else {
                    comm.recv(Some(0), Some(0), span).await?;
                    assert_eq!(bytes_of(&comm, span), vec![fill; 2000]);
                }
                comm.free(span.memory)?;
            }
            comm.barrier().await?;
            Ok::<_, Error>(())
        };
        assert_eq!(run(2, program), [Ok(()), Ok(())]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    /// Indexed blocks to indexed blocks of the same or less length: byte for byte, and nothing else changes.
    #[test]
    fn indexed_blocks_arrive_in_order(
        out in prop::collection::vec((0u64..900, 0u64..60), 0..12),
        into in prop::collection::vec(0u64..60, 1..12),
        gap in 0u64..3,
    ) {
        let sent = Indexed::new(hotlink_port::Memory(1), out.iter().copied()).bytes();
        let mut at = 0;
        let into: Vec<(u64, u64)> = into.iter().map(|&bytes| { let start = at; at += bytes + gap; (start, bytes) }).collect();
        let (out, into) = (&out, &into);
        let program = |port: LoopbackPort| async move {
            let comm = Comm::new(port);
            let memory = comm.alloc(1000, Kind::Private)?;
            let pattern: Vec<u8> = (0..1000u32).map(|i| (i * 7 % 251) as u8).collect();
            let room = Indexed::new(memory, into.iter().copied()).bytes();
            if comm.rank() == 0 {
                comm.write(memory, 0, &pattern)?;
                comm.send_indexed(1, 0, &Indexed::new(memory, out.iter().copied())).await?;
                return Ok((Vec::new(), 0));
            }
            let status = comm.recv_indexed(Some(0), Some(0), &Indexed::new(memory, into.iter().copied())).await;
            let truncated = matches!(status, Err(Error::Truncated { .. }));
            assert_eq!((status.is_ok(), truncated), (sent <= room, sent > room), "{status:?}");
            let mut seen = vec![0; 1000];
            comm.read(memory, 0, &mut seen)?;
            Ok::<_, Error>((seen, sent.min(room)))
        };
        let results = run(2, program);
        let (seen, came) = results[1].clone().unwrap();
        let pattern: Vec<u8> = (0..1000u32).map(|i| (i * 7 % 251) as u8).collect();
        let stream: Vec<u8> = out.iter().flat_map(|&(at, n)| pattern[at as usize..(at + n) as usize].to_vec()).collect();
        let mut expected = vec![0; 1000];
        let places = into.iter().flat_map(|&(at, n)| at..at + n);
        for (place, byte) in places.zip(stream).take(came as usize) {
            expected[place as usize] = byte;
        }
        prop_assert_eq!(seen, expected);
    }
}

#[test]
fn equal_blocks_at_equal_distances_need_no_buffer() {
    let memory = hotlink_port::Memory(3);
    let strided = Indexed::new(memory, (0..5).map(|i| (8 + i * 24, 8))).as_span();
    assert_eq!(strided, Some(Span { memory, offset: 8, layout: Layout::strided(8, 5, 24) }));
    assert_eq!(Indexed::new(memory, [(0, 8), (8, 8)]).as_span(), Some(Span::new(memory, 0, 16)));
    assert_eq!(Indexed::new(memory, [(24, 8), (0, 8)]).as_span(), None);
    assert_eq!(Indexed::new(memory, [(0, 8), (4, 8)]).as_span(), None);
    let mut random = Random::new(1);
    assert_eq!(Indexed::new(memory, (0..9).map(|_| (random.below(99), 0))).bytes(), 0);
}

/// A receive is announced while its message is on the way and an earlier message of the same tag is being fetched. It
/// gets its own message. Once, the announcement claimed the earlier offer, and the later message was lost.
#[test]
fn an_announced_receive_meets_the_message_on_the_way_and_no_earlier_offer() {
    async fn program(port: LoopbackPort) -> Result<Vec<(u64, Vec<u8>)>, Error> {
        let comm = Comm::new(port);
        let bytes = [4000, 500];
        if comm.rank() == 0 {
            let first = comm.isend(1, 7, block(&comm, bytes[0], 1))?;
            yield_once().await;
            let second = comm.isend(1, 7, block(&comm, bytes[1], 2))?;
            comm.wait_all([first, second]).await?;
            return Ok(Vec::new());
        }
        let into = [0; 2].map(|_| block(&comm, bytes[0], 0));
        while comm.iprobe(Some(0), Some(7)).is_none() {
            yield_once().await;
        }
        for _ in 0..5 {
            yield_once().await;
        }
        let requests = [comm.irecv(Some(0), Some(7), into[0])?, comm.irecv(Some(0), Some(7), into[1])?];
        let statuses = comm.wait_all(requests).await?;
        Ok(statuses
            .iter()
            .zip(into)
            .map(|(s, span)| (s.bytes, bytes_of(&comm, Span::new(span.memory, 0, s.bytes))))
            .collect())
    }
    let due = vec![(4000, vec![1; 4000]), (500, vec![2; 500])];
    for seed in 0..20 {
        let results = Loopback { seed, ..Loopback::default() }.run(2, &program).unwrap();
        assert_eq!(results[1], Ok(due.clone()), "seed {seed}");
    }
}

/// A receive from no rank is an error at once, and takes no message away from another.
#[test]
fn a_receive_from_no_rank_is_refused() {
    async fn program(port: LoopbackPort) -> Result<(), Error> {
        let comm = Comm::new(port);
        let span = block(&comm, 8, comm.rank() as u8 + 1);
        if comm.rank() == 0 {
            return comm.send(1, 3, span).await;
        }
        assert_eq!(comm.recv(Some(2), None, span).await, Err(Error::Refused(Refusal::NoRank)));
        others_turn(&comm).await;
        assert_eq!(comm.recv(Some(9), Some(3), span).await, Err(Error::Refused(Refusal::NoRank)));
        comm.recv(Some(0), Some(3), span).await?;
        assert_eq!(bytes_of(&comm, span), [1; 8]);
        Ok(())
    }
    assert!(run(2, program).iter().all(Result::is_ok));
}
