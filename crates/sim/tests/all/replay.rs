//! Schedules on the packet network: against times computed by hand, ping-pongs, and what cannot run.

use hotlink_fabric::units::Time;
use hotlink_fabric::{Fabric, catalog};
use hotlink_schedule::{Builder, Kind, Op, Schedule, Stuck};
use hotlink_sim::workload::{PingPong, Replay, ReplayError, Replayed, ping_pong, replay};
use hotlink_sim::{Plan, Settings};

fn on(
    fabric: &str,
    nodes: u32,
    places: &[u32],
    schedule: &Schedule,
    overhead: Time,
    eager_max: u64,
) -> Result<Replayed, ReplayError> {
    let spec = catalog::load(fabric).unwrap();
    let fabric = Fabric::build(&spec, nodes).unwrap();
    let settings = Settings::of(&spec);
    let plan = Plan::new(&fabric, &settings).unwrap();
    replay(
        &plan,
        &settings,
        Replay { schedule, nodes: places, unit_ps: 1000, overhead, eager_max, starts: &[], timed: false },
    )
}

fn alone(fabric: &str, nodes: u32, between: [u32; 2], size: u64) -> u64 {
    let spec = catalog::load(fabric).unwrap();
    let fabric = Fabric::build(&spec, nodes).unwrap();
    let settings = Settings::of(&spec);
    let plan = Plan::new(&fabric, &settings).unwrap();
    ping_pong(&plan, &settings, PingPong { between, size, messages: 1 }).unwrap().elapsed.0
}

fn parse(text: &str) -> Schedule {
    Schedule::parse(text).unwrap()
}

#[test]
fn a_message_takes_what_a_ping_pong_takes_and_the_overheads() {
    let schedule =
        parse("num_ranks 2\nrank 0 { send 10000b to 1 }\nrank 1 { r: recv 10000b from 0; c: calc 7; c requires r }");
    for fabric in ["ib-qdr", "myrinet-clos64", "gige", "qsnet", "sci-ring"] {
        let there = alone(fabric, 4, [0, 1], 10_000);
        let ran = on(fabric, 4, &[0, 1], &schedule, Time(500_000), u64::MAX).unwrap();
        assert_eq!(ran.run.elapsed.0, there + 2 * 500_000 + 7_000, "{fabric}");
        assert!(ran.chain <= ran.run.elapsed && ran.chain.0 > 1_007_000, "{fabric}: {:?}", ran.chain);
        assert_eq!((ran.messages, ran.bytes), (1, 10_000));
        // A request and a clearance before it, each an empty message.
        let asked = on(fabric, 4, &[0, 1], &schedule, Time::ZERO, 100).unwrap();
        let handshake = alone(fabric, 4, [0, 1], 0) + alone(fabric, 4, [1, 0], 0);
        assert_eq!(asked.run.elapsed.0, there + handshake + 7_000, "{fabric}");
    }
}

#[test]
fn processors_serve_one_operation_at_a_time_and_ranks_of_a_node_need_no_network() {
    let schedule = parse(
        "num_ranks 2\nrank 0 { calc 5; calc 7; calc 3 cpu 1; s: send 100000b to 1 cpu 1 }\nrank 1 { recv 100000b from 0 }",
    );
    let ran = on("ib-qdr", 2, &[1, 1], &schedule, Time::ZERO, u64::MAX).unwrap();
    assert_eq!((ran.run.elapsed, ran.run.stats.packets), (Time(12_000), 0));
    assert_eq!(ran.busiest, Some((0, 0, Time(12_000))));
    assert_eq!(ran.finish, [Time(12_000), Time(3_000)]);
}

/// A post's processor is free before the post ends, and no bound counts either.
#[test]
fn posts_overlap_but_for_their_processors_work() {
    let post = Op { kind: Kind::Post, cpu: 3, nic: 0, rank: 0, peer: 0, tag: 9, size: 2 };
    let mut builder = Builder::new(1);
    assert!(builder.begin(0));
    for op in [post, post, post, Op { kind: Kind::Calc, cpu: 0, tag: 0, size: 4, ..post }] {
        builder.add(op);
    }
    let ran = on("ib-qdr", 2, &[0], &builder.build(), Time::ZERO, u64::MAX).unwrap();
    assert_eq!((ran.run.elapsed, ran.chain), (Time(15_000), Time(4_000)));
    assert_eq!((ran.busiest, ran.computing), (Some((0, 3, Time(6_000))), Some((0, 0, Time(4_000)))));
}

#[test]
fn starts_release_what_waits_for_them_alone() {
    let schedule =
        parse("num_ranks 1\nrank 0 { a: calc 10; b: calc 4 cpu 1; b irequires a; c: calc 1 cpu 1; c requires a }");
    let ran = on("ib-qdr", 2, &[0], &schedule, Time::ZERO, u64::MAX).unwrap();
    assert_eq!((ran.run.elapsed, ran.chain), (Time(11_000), Time(11_000)));
}

#[test]
fn messages_of_a_pair_are_received_in_the_order_in_which_they_were_sent() {
    // The short one overtakes the long one in the network; the first receive still takes the first sent.
    let schedule = parse(
        "num_ranks 3\nrank 0 { a: send 1000000b to 1; b: send 8b to 1; b requires a }
         rank 1 { r: recv 1000000b from 0; s: send 8b to 2; s requires r; recv 8b from 0 }
         rank 2 { recv 8b from 1 }",
    );
    let ran = on("ib-qdr", 4, &[0, 1, 2], &schedule, Time::ZERO, u64::MAX).unwrap();
    assert!(ran.finish[2].0 > alone("ib-qdr", 4, [0, 1], 1_000_000), "{:?}", ran.finish);
    // Receives of any source take the first arrival, and all is received.
    let any = parse(
        "num_ranks 3\nrank 0 { recv 8b from -1 tag -1; recv 8b from -1 tag -1 }\nrank 1 { send 8b to 0 tag 1 }\nrank 2 { send 8b to 0 tag 2 }",
    );
    assert_eq!(on("ib-qdr", 4, &[0, 1, 2], &any, Time::ZERO, 0).unwrap().messages, 2);
}

#[test]
fn the_same_schedule_gives_the_same_trace_and_no_run_beats_its_chain() {
    let schedule = parse(
        "num_ranks 4
         rank 0 { a: send 5000b to 1; b: recv 5000b from 3; c: calc 100; c requires b }
         rank 1 { a: send 5000b to 2; b: recv 5000b from 0; c: calc 100; c requires b }
         rank 2 { a: send 5000b to 3; b: recv 5000b from 1; c: calc 100; c requires b }
         rank 3 { a: send 5000b to 0; b: recv 5000b from 2; c: calc 100; c requires b }",
    );
    let run = || on("myrinet-clos64", 8, &[0, 2, 4, 6], &schedule, Time(100_000), 1000).unwrap();
    let (one, other) = (run(), run());
    assert_eq!(one, other);
    assert!(one.chain <= one.run.elapsed, "{:?} {:?}", one.chain, one.run.elapsed);
}

#[test]
fn what_cannot_run_says_why() {
    let stuck = parse("num_ranks 2\nrank 0 { recv 8b from 1 }\nrank 1 { }");
    match on("ib-qdr", 2, &[0, 1], &stuck, Time::ZERO, u64::MAX) {
        Err(ReplayError::Stuck(Stuck::Never { operations: 1, .. })) => {}
        other => panic!("{other:?}"),
    }
    let lone = parse("num_ranks 2\nrank 0 { }\nrank 1 { }");
    match on("ib-qdr", 2, &[0, 5], &lone, Time::ZERO, u64::MAX) {
        Err(ReplayError::Network(error)) => assert!(error.to_string().contains("each rank needs a node"), "{error}"),
        other => panic!("{other:?}"),
    }
}
