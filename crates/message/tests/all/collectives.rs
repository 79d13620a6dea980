//! Collectives against their definition: every algorithm, every number of ranks up to 9, every root, small and large,
//! under faults. The loopback checks in every run that no rank leaves a barrier too early.

use hotlink_message::conformance::check;
use hotlink_port::loopback::Loopback;
use hotlink_port::middleware::{Fault, Layered};
use hotlink_port::{Driver, Note, Port, Rank, RunError};

#[test]
fn every_algorithm_does_what_its_collective_says() {
    for ranks in 1..10 {
        let mut cases: Vec<(u64, Rank)> = (0..ranks).flat_map(|root| [0, 1, 2, 5, 130].map(|n| (n, root))).collect();
        cases.push((4000, ranks / 2));
        let layer = |rank: Rank| Fault::new(u64::from(ranks * 100 + rank), 10, 20, 10);
        let mut driver = Layered::new(Loopback { seed: ranks.into(), ..Loopback::default() }, layer);
        assert_eq!(check(&mut driver, ranks, &cases), [""; 0], "{ranks} ranks");
    }
}

#[test]
fn a_port_without_remote_memory_does_too() {
    for ranks in [2, 5, 8, 16, 17] {
        let mut driver = Loopback { deposits: false, ..Loopback::default() };
        assert_eq!(check(&mut driver, ranks, &[(1, 0), (3, ranks - 1), (1000, 1)]), [""; 0], "{ranks} ranks");
    }
}

/// The check itself can fail.
#[test]
fn leaving_a_barrier_early_is_an_error() {
    let early = |mut port: hotlink_port::loopback::LoopbackPort| async move {
        port.note(Note::EntersBarrier);
        port.note(Note::LeavesBarrier);
    };
    let result: Result<Vec<()>, RunError> = Loopback::default().run(2, &early);
    assert!(matches!(result, Err(RunError::Stuck(_))), "{result:?}");
}
