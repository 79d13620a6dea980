//! The message-passing stack in virtual time. Every collective runs by every algorithm on every family of adapters.
//! Each run takes the same course, and reports what cannot go on.

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

/// Every rank gets and sends what is due wherever it is; a placement in order of the nodes changes nothing.
#[test]
fn ranks_are_where_they_are_placed() {
    for name in ["w01-sci-d330", "ib-ndr-fat-tree2", "gige"] {
        let course = |nodes: &[u32]| {
            with(name, 8, |driver| {
                let mut driver = driver.placed(nodes.to_vec());
                assert_eq!(check(&mut driver, 6, &[(3000, 5)]), [""; 0], "{name}: {nodes:?}");
                driver.outcome().cloned().expect("it ended")
            })
        };
        assert_eq!(course(&[]), course(&[0, 1, 2, 3, 4, 5]), "{name}");
        // On two nodes, and all on one: then nothing crosses the network.
        let (apart, near) = (course(&[7, 7, 7, 1, 1, 1]), course(&[3; 6]));
        assert!(apart.run.stats.packets > 0 && near.run.stats.packets == 0, "{name}");
        // One adapter serves the ranks of a node.
        let engines: Vec<Time> = apart.busy.iter().map(|busy| busy.engine()).collect();
        assert_eq!((engines[0], engines[3]), (engines[2], engines[5]), "{name}: {engines:?}");
    }
}

#[test]
fn places_that_are_not_there_are_refused() {
    let why = |name, places: &[u32], ranks| {
        let ended: Result<Vec<u32>, RunError> =
            with(name, 4, |driver| driver.placed(places.to_vec()).run(ranks, &Ranks));
        ended.expect_err("refused").to_string()
    };
    assert!(why("gige", &[0, 4], 2).contains("there is no node 4: 0 to 3 are allowed"));
    assert!(why("gige", &[0, 1], 3).contains("2 nodes are listed, one for each rank"));
    assert!(why("hwbarr", &[0, 0], 2).contains("one rank of each node"));
}

struct Ranks;

impl<P: Port> hotlink_port::Program<P, u32> for Ranks {
    async fn run(&self, port: P) -> u32 {
        port.ranks()
    }
}

/// Two ranks of a node send through one adapter: one waits for as long as the other's message takes on its link.
#[test]
fn ranks_of_a_node_share_its_adapter() {
    async fn program(port: impl Port) -> u64 {
        let comm = Comm::new(port);
        let memory = comm.alloc(1 << 22, Kind::Ghost).expect("memory");
        let (span, half) = (Span::new(memory, 0, 1 << 22), comm.ranks() / 2);
        match comm.rank() < half {
            true => comm.send(comm.rank() + half, 0, span).await.expect("a receiver"),
            false => drop(comm.recv(Some(comm.rank() - half), Some(0), span).await.expect("a sender")),
        }
        comm.now().0
    }
    let last = |places: &[u32]| {
        with("ib-ndr-fat-tree2", 4, |driver| {
            let ends = driver.placed(places.to_vec()).run(places.len() as u32, &program).expect("all end");
            ends.into_iter().max().unwrap_or(0)
        })
    };
    let (alone, apart, shared) = (last(&[0, 2]), last(&[0, 1, 2, 3]), last(&[0, 0, 2, 2]));
    assert!(apart < alone + alone / 50, "{apart} beside {alone}");
    // 4 MiB at 50 GB/s.
    let waited = Time(shared - alone).us();
    assert!((80.0..90.0).contains(&waited), "{shared} beside {alone}");
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
fn ranks_in_different_collectives_are_told_apart() {
    async fn program(port: impl Port) -> Result<(), Error> {
        let comm = Comm::new(port);
        let memory = comm.alloc(8, Kind::Default)?;
        match comm.rank() {
            0 => comm.barrier().await,
            _ => comm.bcast(0, Span::new(memory, 0, 8)).await,
        }
    }
    let stuck: Result<Vec<Result<(), Error>>, RunError> = with("gige", 2, |mut driver| driver.run(2, &program));
    let Err(RunError::Stuck(what)) = stuck else { panic!("{stuck:?}") };
    assert!(what.contains("(is in a barrier) for rank 1") && what.contains("(is in a broadcast) for rank 0"), "{what}");
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
