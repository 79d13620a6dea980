//! Which route a message takes, where any would carry it: the results are the same, only time would be lost.

use hotlink_message::{Comm, Counters, Error, Options};
use hotlink_port::loopback::{Loopback, LoopbackPort};
use hotlink_port::{Driver, Kind, Port, Span, yield_once};

fn block(comm: &Comm<LoopbackPort>, bytes: u64, fill: u8) -> Span {
    let memory = comm.alloc(bytes, Kind::Private).unwrap();
    comm.write(memory, 0, &vec![fill; bytes as usize]).unwrap();
    Span::new(memory, 0, bytes)
}

/// An announced receive is filled while its program computes and polls nothing. That holds whether or not the sender
/// knew of it before it sent, and whatever other receives are posted that take none of its messages.
#[test]
fn an_announced_receive_is_filled_while_its_program_computes() {
    async fn program(port: LoopbackPort, late: bool) -> Result<Counters, Error> {
        let comm = Comm::new(port);
        let long = block(&comm, 1000, comm.rank() as u8 + 1);
        let word = block(&comm, 8, 0);
        match comm.rank() {
            0 => {
                if late {
                    comm.recv(Some(1), Some(4), word).await?;
                }
                comm.send(1, 0, long).await?;
                comm.send(1, 9, long).await?;
            }
            1 => {
                let rivals = [(0, 9), (2, 0), (2, 7)]
                    .map(|(from, tag)| comm.irecv(Some(from), Some(tag), block(&comm, 1000, 0)));
                let announced = comm.irecv(Some(0), Some(0), long)?;
                if late {
                    comm.send(0, 4, word).await?;
                }
                for _ in 0..300 {
                    yield_once().await;
                }
                let mut seen = vec![0; 1000];
                comm.read(long.memory, 0, &mut seen)?;
                assert!(seen == vec![1; 1000], "late: {late}");
                comm.wait(announced).await?;
                for rival in rivals {
                    comm.wait(rival?).await?;
                }
            }
            _ => {
                comm.send(1, 0, long).await?;
                comm.send(1, 7, long).await?;
            }
        }
        comm.barrier().await?;
        Ok(comm.counters())
    }
    for seed in 0..5 {
        for late in [false, true] {
            let run = Loopback { seed, ..Loopback::default() }.run(3, &|port| program(port, late)).unwrap();
            let sender = run[0].unwrap();
            assert!(!late || sender.early >= 1, "seed {seed}: {sender:?}");
        }
    }
}

/// The receiver reports what it took in steps of half the sender's share. After many messages the sender may send as
/// much as at first, so neither side has lost a byte. Messages that met their receives at once count like kept ones.
#[test]
fn what_was_taken_may_be_sent_again() {
    async fn program(port: LoopbackPort, kept: bool) -> Result<Counters, Error> {
        // A share of two messages of 200 B, each with an envelope of 64 B.
        let options = Options { eager_bytes: 200, kept_bytes: 0, ..Options::of(&port.limits().clone()) };
        let comm = Comm::with_options(port, options);
        let (message, word) = (block(&comm, 100, 1), block(&comm, 8, 0));
        if comm.rank() == 0 {
            for _ in 0..300 {
                comm.send(1, 0, message).await?;
                comm.recv(Some(1), Some(1), word).await?;
            }
            let long = block(&comm, 200, 1);
            let last = (0..3).map(|_| comm.isend(1, 0, long)).collect::<Result<Vec<_>, _>>()?;
            let counters = comm.counters();
            comm.wait_all(last).await?;
            return Ok(counters);
        }
        for _ in 0..300 {
            while kept && comm.iprobe(Some(0), Some(0)).is_none() {
                yield_once().await;
            }
            comm.recv(Some(0), Some(0), message).await?;
            comm.send(0, 1, word).await?;
        }
        let counters = comm.counters();
        for _ in 0..3 {
            comm.recv(Some(0), Some(0), block(&comm, 200, 0)).await?;
        }
        Ok(counters)
    }
    for kept in [false, true] {
        let run = Loopback::default().run(2, &|port| program(port, kept)).unwrap();
        let [sender, receiver] = [0, 1].map(|rank| run[rank].unwrap());
        assert_eq!((sender.eager, sender.held_back), (302, 1), "kept: {kept}");
        // Words of 72 B with their envelopes: every fourth.
        assert_eq!((receiver.credits, sender.credits, receiver.eager), (150, 75, 300), "kept: {kept}");
        assert_eq!(receiver.kept_bytes, 0);
        assert!(!kept || receiver.unexpected == 300);
    }
}
