//! Views of some ranks, matched probes and receives that are taken back, on the loopback.

use hotlink_message::{Combine, Comm, Element, Error, Operation};
use hotlink_port::loopback::{Loopback, LoopbackPort};
use hotlink_port::{Driver, Kind, Span};

fn word(comm: &Comm<LoopbackPort>, value: u64) -> Span {
    let memory = comm.alloc(8, Kind::Private).unwrap();
    comm.write(memory, 0, &value.to_le_bytes()).unwrap();
    Span::new(memory, 0, 8)
}

fn value(comm: &Comm<LoopbackPort>, word: Span) -> u64 {
    let mut bytes = [0; 8];
    comm.read(word.memory, word.offset, &mut bytes).unwrap();
    u64::from_le_bytes(bytes)
}

const SUM: Operation = Operation { combine: Combine::Sum, element: Element::I64 };

/// Even and odd ranks, each group from its last to its first: ranks are renumbered, and no group hears the other.
#[test]
fn views_renumber_ranks_and_keep_their_messages_apart() {
    let program = |port: LoopbackPort| async move {
        let comm = Comm::new(port);
        let mine = comm.rank() % 2;
        let ranks: Vec<u32> = (0..comm.ranks()).rev().filter(|rank| rank % 2 == mine).collect();
        let view = comm.view(&ranks, 1 + mine)?;
        assert_eq!(view.port_rank(view.rank()), comm.rank());
        assert_eq!(view.rank_of(comm.rank()), Some(view.rank()));
        assert_eq!(view.rank_of((comm.rank() + 1) % 2), None);
        // The same tag in both, the later receive first: only contexts distinguish them.
        let (next, last) = ((view.rank() + 1) % view.ranks(), (view.rank() + view.ranks() - 1) % view.ranks());
        let (plain, own) = (word(&comm, 1000), word(&comm, u64::from(view.rank())));
        let (there, here) = (word(&comm, 0), word(&comm, 0));
        let sends = [comm.isend(view.port_rank(next), 5, plain)?, view.isend(next, 5, own)?];
        let status = view.recv(Some(last), Some(5), here).await?;
        assert_eq!(view.rank_of(status.from), Some(last));
        comm.recv(None, Some(5), there).await?;
        comm.wait_all(sends).await?;
        assert_eq!((value(&comm, here), value(&comm, there)), (u64::from(last), 1000));
        // Two reductions at a time, begun in the same order and ended in the other.
        let (first, second) = (view.beside(1), view.beside(2));
        let results = [word(&comm, 0), word(&comm, 0)];
        let slow = first.allreduce(SUM, own, results[0]);
        second.allreduce(SUM, plain, results[1]).await?;
        slow.await?;
        Ok::<_, Error>((value(&comm, results[0]), value(&comm, results[1])))
    };
    let results = Loopback::default().run(6, &program).unwrap();
    assert!(results.into_iter().all(|result| result == Ok((3, 3000))));
}

#[test]
fn views_that_cannot_be_are_refused() {
    let program = |port: LoopbackPort| async move {
        let comm = Comm::new(port);
        let own = comm.rank();
        let wrong = [vec![own, own], vec![own, 7], vec![1 - own], vec![]];
        wrong.iter().all(|ranks| comm.view(ranks, 1).is_err())
            && comm.view(&[own], hotlink_message::CONTEXTS).is_err()
            && comm.view(&[own], hotlink_message::CONTEXTS - 1).is_ok()
    };
    assert_eq!(Loopback::default().run(2, &program).unwrap(), [true, true]);
}

/// Only what comes unasked, and to a view that is attended to, calls; then a waiting program gives way.
#[test]
fn a_view_that_is_attended_to_calls_when_something_comes_unasked() {
    let program = |port: LoopbackPort| async move {
        let comm = Comm::new(port);
        let views = [comm.view(&[0, 1], 3)?, comm.view(&[0, 1], 4)?];
        let [one, other] = [word(&comm, 1), word(&comm, 2)];
        if comm.rank() == 0 {
            for tag in [0, 1, 2] {
                comm.send(1, tag, one).await?;
                views[0].send(1, tag, one).await?;
                views[1].send(1, tag, other).await?;
                comm.barrier().await?;
            }
            return Ok(());
        }
        // A message that has come already calls at once.
        comm.barrier().await?;
        assert_eq!((views[0].called(), comm.gives_way()), (None, false));
        views[0].attend(true);
        assert!(comm.gives_way());
        assert_eq!([comm.called(), comm.called()], [Some(3), None]);
        comm.give_way(false);
        let expected = views[0].irecv(Some(0), Some(1), one)?;
        views[0].wait(expected).await?;
        assert_eq!((comm.called(), comm.gives_way()), (None, false));
        comm.barrier().await?;
        comm.barrier().await?;
        assert_eq!((comm.called(), comm.gives_way()), (Some(3), true));
        views[1].attend(true);
        assert_eq!(comm.called(), Some(4));
        views.iter().for_each(|view| view.attend(false));
        for view in &views {
            view.recv(Some(0), Some(0), one).await?;
        }
        Ok::<_, Error>(())
    };
    assert!(Loopback::default().run(2, &program).unwrap().into_iter().all(|result| result.is_ok()));
}

#[test]
fn a_matched_message_is_received_by_its_probe_alone() {
    let program = |port: LoopbackPort| async move {
        let comm = Comm::new(port);
        for bytes in [8, 100_000] {
            let memory = comm.alloc(bytes, Kind::Private)?;
            let span = Span::new(memory, 0, bytes);
            if comm.rank() == 0 {
                for fill in [1, 2] {
                    comm.write(memory, 0, &vec![fill; bytes as usize])?;
                    comm.send(1, 3, span).await?;
                }
                continue;
            }
            comm.probe(None, Some(3)).await?;
            let (message, status) = comm.improbe(Some(0), None).expect("it was probed");
            assert_eq!((status.from, status.tag, status.bytes), (0, 3, bytes));
            for (fill, request) in [(1, Some(comm.imrecv(message, span)?)), (2, None)] {
                let request = request.map_or_else(|| comm.irecv(Some(0), Some(3), span), Ok)?;
                comm.wait(request).await?;
                let mut seen = vec![0; bytes as usize];
                comm.read(memory, 0, &mut seen)?;
                assert_eq!(seen, vec![fill; bytes as usize]);
            }
        }
        Ok::<_, Error>(())
    };
    assert_eq!(Loopback::default().run(2, &program).unwrap(), [Ok(()), Ok(())]);
}

#[test]
fn messages_that_were_taken_out_are_received_in_any_order() {
    let program = |port: LoopbackPort| async move {
        let comm = Comm::new(port);
        let words: Vec<Span> = [11, 22, 33].map(|fill| word(&comm, fill)).to_vec();
        if comm.rank() == 0 {
            for &word in &words {
                comm.send(1, 3, word).await?;
            }
            return Ok::<_, Error>(Vec::new());
        }
        let mut taken = Vec::new();
        while taken.len() < 3 {
            comm.probe(None, Some(3)).await?;
            taken.extend(comm.improbe(None, Some(3)).map(|(message, _)| message));
        }
        let mut seen = Vec::new();
        for (message, &room) in taken.into_iter().rev().zip(&words) {
            comm.wait(comm.imrecv(message, room)?).await?;
            seen.push(value(&comm, room));
        }
        Ok(seen)
    };
    assert_eq!(Loopback::default().run(2, &program).unwrap(), [Ok(vec![]), Ok(vec![33, 22, 11])]);
}

#[test]
fn a_receive_taken_back_leaves_its_message_to_the_next() {
    let program = |port: LoopbackPort| async move {
        let comm = Comm::new(port);
        let own = word(&comm, u64::from(comm.rank()));
        let (here, there) = (word(&comm, 9), word(&comm, 9));
        let other = 1 - comm.rank();
        let back = comm.irecv_quietly(Some(other), Some(1), here)?;
        assert!(comm.cancel(&back) && comm.is_ended(&back));
        assert_eq!(comm.test(back).expect("over"), Err(Error::NoRequest));
        comm.barrier().await?;
        let receive = comm.irecv_quietly(Some(other), Some(1), there)?;
        let send = comm.isend(other, 1, own)?;
        comm.over(&receive).await;
        assert!(!comm.cancel(&receive), "it has met its message");
        comm.wait(receive).await?;
        comm.wait(send).await?;
        Ok::<_, Error>((value(&comm, here), value(&comm, there)))
    };
    assert_eq!(Loopback::default().run(2, &program).unwrap(), [Ok((9, 1)), Ok((9, 0))]);
}

/// Text as an operation that does not commute: who combines out of order spells another word.
#[test]
fn elements_are_combined_in_the_order_of_the_ranks() {
    let program = |port: LoopbackPort| async move {
        let comm = Comm::new(port);
        // Decimal digits: earlier ranks' before later ones'.
        let fold = |earlier: Span, later: Span| {
            let (a, b) = (value(&comm, earlier), value(&comm, later));
            let digits = b.ilog10() + 1;
            comm.write(earlier.memory, earlier.offset, &(a * 10u64.pow(digits) + b).to_le_bytes())
        };
        let own = u64::from(comm.rank()) + 1;
        let mut results = Vec::new();
        for root in 0..comm.ranks() {
            let mine = word(&comm, own);
            comm.reduce_by(root, mine, fold).await?;
            if root == comm.rank() {
                results.push(value(&comm, mine));
            }
        }
        let before = word(&comm, 0);
        comm.exscan_by(word(&comm, own), before, fold).await?;
        results.push(value(&comm, before));
        Ok::<_, Error>(results)
    };
    let results = Loopback::default().run(5, &program).unwrap();
    let expected = [0, 1, 12, 123, 1234].map(|before| Ok(vec![12345, before]));
    assert_eq!(results, expected);
}

#[test]
fn neighbours_exchange_in_the_order_of_their_lists() {
    let program = |port: LoopbackPort| async move {
        let comm = Comm::new(port);
        let (me, ranks) = (comm.rank(), comm.ranks());
        let (left, right) = ((me + ranks - 1) % ranks, (me + 1) % ranks);
        let out = [word(&comm, u64::from(10 * me)), word(&comm, u64::from(10 * me + 1)), word(&comm, 7)];
        let here = [word(&comm, 0), word(&comm, 0), word(&comm, 0)];
        let send = [(right, out[0]), (right, out[1]), (me, out[2])];
        let recv = [(left, here[0]), (me, here[2]), (left, here[1])];
        comm.exchange_with(&send, &recv).await?;
        Ok::<_, Error>(here.map(|span| value(&comm, span)) == [10 * left, 10 * left + 1, 7].map(u64::from))
    };
    assert_eq!(Loopback::default().run(3, &program).unwrap(), [Ok(true), Ok(true), Ok(true)]);
}
