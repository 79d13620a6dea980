//! Reductions over shared memory: the order of operations that the port promises, ranks that disagree, and a rank that
//! dies. That sums are right is what the suites of port and message layer check.

use hotlink_message::{Combine, Comm, Element, Error, Operation};
use hotlink_port::{Driver, Kind, RunError, Span};
use hotlink_real::{Options, Shm, ShmPort};
use std::io::{Read, Write};
use std::time::Duration;

const SUM: Operation = Operation { combine: Combine::Sum, element: Element::F64 };

fn shm() -> Shm {
    Shm::new(Options { limit: Some(Duration::from_secs(60)), pin: false, ..Options::default() })
}

/// Numbers of such different sizes that each order of adding them up gives other bits.
fn element(rank: u32, i: u64) -> f64 {
    let mixed = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(7 * rank + 3);
    (mixed % 1000) as f64 * 10f64.powi((mixed >> 20) as i32 % 12 - 6) - 300.0
}

fn bytes_of(elements: impl Iterator<Item = f64>) -> Vec<u8> {
    elements.flat_map(f64::to_ne_bytes).collect()
}

/// By whatever algorithm for the length and the memory: from rank 0 on, in the order of the ranks.
#[test]
fn elements_are_combined_in_the_order_of_the_ranks() {
    for ranks in [2, 3, 4] {
        let program = |port: ShmPort| async move {
            let comm = Comm::new(port);
            let sum = |i: u64| (1..ranks).fold(element(0, i), |sum, rank| sum + element(rank, i));
            for words in [3u64, 700, 3000, 40_000] {
                for kinds in [[Kind::Shared; 2], [Kind::Private; 2], [Kind::Shared, Kind::Private]] {
                    let all = words * u64::from(ranks);
                    let send = Span::new(comm.alloc(8 * all, kinds[0])?, 0, 8 * all);
                    let recv = Span::new(comm.alloc(8 * words, kinds[1])?, 0, 8 * words);
                    comm.write(send.memory, 0, &bytes_of((0..all).map(|i| element(comm.rank(), i))))?;
                    let seen = || {
                        let mut seen = vec![0; 8 * words as usize];
                        comm.read(recv.memory, 0, &mut seen).map(|()| seen)
                    };
                    let few = Span::new(send.memory, 0, 8 * words);
                    let (first, part) = (bytes_of((0..words).map(sum)), words * u64::from(comm.rank()));
                    comm.allreduce(SUM, few, recv).await?;
                    assert!(seen()? == first, "allreduce of {words} in {kinds:?}");
                    comm.reduce(ranks - 1, SUM, few, recv).await?;
                    assert!(comm.rank() != ranks - 1 || seen()? == first, "reduce of {words} in {kinds:?}");
                    comm.reduce_scatter(SUM, send, recv).await?;
                    assert!(
                        seen()? == bytes_of((part..part + words).map(sum)),
                        "reduce_scatter of {words} in {kinds:?}"
                    );
                    comm.free(send.memory)?;
                    comm.free(recv.memory)?;
                }
            }
            Ok::<(), Error>(())
        };
        let results = shm().run(ranks, &program).unwrap();
        assert!(results.iter().all(Result::is_ok), "{results:?}");
    }
}

/// A program's mistake is an error on every rank that gets something, and the next reduction is sound.
#[test]
fn ranks_that_disagree_are_told() {
    let program = |port: ShmPort| async move {
        let comm = Comm::new(port);
        let span = |bytes| Ok::<_, Error>(Span::new(comm.alloc(bytes, Kind::Shared)?, 0, bytes));
        for (mine, others) in [(8, 16), (16, 800), (800, 80_000), (80_000, 88_000)] {
            let span = span(if comm.rank() == 0 { mine } else { others })?;
            assert!(comm.allreduce(SUM, span, span).await.is_err(), "{mine} and {others} B");
        }
        let word = span(8)?;
        comm.write(word.memory, 0, &f64::from(comm.rank() + 1).to_ne_bytes())?;
        comm.allreduce(SUM, word, word).await?;
        let mut sum = [0; 8];
        comm.read(word.memory, 0, &mut sum)?;
        Ok::<f64, Error>(f64::from_ne_bytes(sum))
    };
    assert_eq!(shm().run(2, &program).unwrap(), [Ok(3.0), Ok(3.0)]);
}

/// A rank that waits for one that dies learns of it, however far the reduction had come, and may use its memory again.
/// Survivors have a second before they are killed.
#[test]
fn a_rank_that_dies_ends_the_reduction_of_all() {
    for words in [1u64, 800, 200_000] {
        for (kind, rounds) in [(Kind::Shared, 0), (Kind::Shared, 3), (Kind::Private, 0), (Kind::Private, 3)] {
            let (mut reader, writer) = std::io::pipe().unwrap();
            let told = &writer;
            let program = |port: ShmPort| async move {
                let comm = Comm::new(port);
                let memory = comm.alloc(8 * words, kind).unwrap();
                let span = Span::new(memory, 0, 8 * words);
                let mut round = 0;
                let error = loop {
                    if comm.rank() == 2 && round == rounds {
                        std::process::abort();
                    }
                    match comm.allreduce(SUM, span, span).await {
                        Ok(()) => round += 1,
                        Err(error) => break error,
                    }
                };
                let again = comm.allreduce(SUM, span, span).await;
                if [error, again.unwrap_err()] == [Error::PeerGone(2); 2] && round == rounds {
                    comm.free(memory).unwrap();
                    let mut told = told;
                    told.write_all(&[comm.rank() as u8]).unwrap();
                }
            };
            let ended: Result<Vec<()>, RunError> = shm().run(3, &program);
            assert!(matches!(ended, Err(RunError::RankDied { rank: 2, .. })), "{ended:?}");
            drop(writer);
            let mut ranks = Vec::new();
            reader.read_to_end(&mut ranks).unwrap();
            ranks.sort_unstable();
            assert_eq!(ranks, [0, 1], "{words} words of {kind:?} memory, {rounds} rounds");
        }
    }
}
