//! The message-passing stack in virtual time: every collective by every algorithm on every family of adapters, the
//! same course on every run, and reports of what cannot go on.

use hotlink_fabric::units::Time;
use hotlink_fabric::{Fabric, catalog};
use hotlink_message::conformance::check;
use hotlink_message::{Comm, Error};
use hotlink_port::{Driver, Kind, Note, Port, Rank, RunError, Span, Work};
use hotlink_sim::port::{Outcome, VirtualTime};
use hotlink_sim::{Plan, Settings};

fn with<T>(name: &str, nodes: u32, test: impl FnOnce(VirtualTime<'_>) -> T) -> T {
    let spec = catalog::load(name).expect(name);
    let fabric = Fabric::build(&spec, nodes).expect(name);
    let settings = Settings::of(&spec);
    let plan = Plan::new(&fabric, &settings).expect(name);
    test(VirtualTime::new(&plan, &settings).unwrap())
}

#[test]
fn every_collective_by_every_algorithm_on_every_family() {
    // All roots on one family; what differs between families is how messages move, not who sends to whom.
    let families = ["w01-sci-d330", "k98-myrinet", "qsnet", "k98-t3d", "ib-ndr-fat-tree2", "gige", "hwbarr", "sharp"];
    for name in families {
        with(name, 9, |mut driver| {
            let all = name == "ib-ndr-fat-tree2";
            for ranks in (1..10).filter(|ranks| all || [2, 3, 5, 8, 9].contains(ranks)) {
                let mut cases: Vec<(u64, Rank)> = vec![(0, 0), (130, ranks / 2), (3000, ranks - 1)];
                let roots = if all { 0..ranks } else { ranks / 3..ranks / 3 + 1 };
                cases.extend(roots.flat_map(|root| [1, 5].map(|words| (words, root))));
                assert_eq!(check(&mut driver, ranks, &cases), [""; 0], "{name}, {ranks} ranks");
                let outcome = driver.outcome().expect("it ended");
                assert!(
                    ranks < 2 || outcome.barriers > 4,
                    "{name}: {} barriers were seen to be safe",
                    outcome.barriers
                );
            }
        });
    }
}

#[test]
fn the_same_run_takes_the_same_course() {
    let run = |name| {
        with(name, 8, |mut driver| {
            assert_eq!(check(&mut driver, 8, &[(100, 3)]), [""; 0]);
            driver.outcome().cloned().expect("it ended")
        })
    };
    for name in ["w01-sci-d330", "qsnet", "slingshot-dragonfly"] {
        let (one, two): (Outcome, Outcome) = (run(name), run(name));
        assert_eq!(one, two, "{name}");
    }
}

#[test]
fn ranks_that_cannot_go_on_are_named_with_what_they_wait_for() {
    async fn program(port: impl Port) -> Result<(), Error> {
        let comm = Comm::new(port);
        let memory = comm.alloc(8, Kind::Default)?;
        comm.compute(Work::Fixed(Time::from_us(3.0)));
        if comm.rank() < 2 {
            comm.recv(Some(1 - comm.rank()), Some(7), Span::new(memory, 0, 8)).await?;
        }
        Ok(())
    }
    let stuck: Result<Vec<Result<(), Error>>, RunError> =
        with("ib-ndr-fat-tree2", 3, |mut driver| driver.run(3, &program));
    let Err(RunError::Stuck(what)) = stuck else { panic!("{stuck:?}") };
    assert!(what.contains("rank 0 at 3.000 us for rank 1, tag 7"), "{what}");
    assert!(what.contains("rank 1 at 3.000 us for rank 0, tag 7") && !what.contains("rank 2"), "{what}");
}

#[test]
fn leaving_a_barrier_early_ends_the_run() {
    async fn early(mut port: impl Port) {
        port.note(Note::EntersBarrier);
        port.note(Note::LeavesBarrier);
    }
    let result: Result<Vec<()>, RunError> = with("gige", 2, |mut driver| driver.run(2, &early));
    assert!(matches!(&result, Err(RunError::Stuck(what)) if what.contains("left barrier 0")), "{result:?}");
    let too_many: Result<Vec<()>, RunError> = with("gige", 2, |mut driver| driver.run(3, &early));
    assert!(matches!(too_many, Err(RunError::Ranks { ranks: 3, .. })), "{too_many:?}");
}
