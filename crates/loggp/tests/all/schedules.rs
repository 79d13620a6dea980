//! The LogGP level against closed forms, its own text format, and bad input.

use hotlink_bench::{Script, Step};
use hotlink_fabric::units::Time;
use hotlink_loggp::{ANY, Builder, Kind, Limit, LogGops, LogGp, Machine, Op, Schedule, Stuck, simulate};
use hotlink_message::Error;
use hotlink_port::Driver;
use hotlink_schedule::{LATEST, MOST_UNITS};
use proptest::prelude::*;

const MACHINE: &str = "L=2us,o=0.5us,g=50ns,G=0.08ns";

fn machine(text: &str) -> LogGops {
    text.parse().unwrap()
}

fn collectives(names: &[&str]) -> Vec<Step> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

/// What the message stack does for these collectives on such a machine, recorded.
fn generate(ranks: u32, steps: &[Step], repeat: u32, parameters: &str) -> Schedule {
    let mut driver = LogGp::new(Machine::of_messages("x", machine(parameters))).recording();
    let ended: Vec<Result<(), Error>> = driver.run(ranks, &Script { steps, repeat }).unwrap();
    assert!(ended.iter().all(Result::is_ok), "{ended:?}");
    driver.schedule().unwrap()
}

fn latency_ps(ranks: u32, name: &str, parameters: &str) -> u64 {
    simulate(&generate(ranks, &collectives(&[name]), 1, parameters), &machine(parameters)).unwrap().latency().0
}

#[test]
fn dissemination_barrier_takes_ceil_log2_rounds_of_2o_plus_l() {
    for ranks in [1u32, 2, 3, 4, 5, 7, 8, 9, 64, 100, 1000, 1024] {
        let rounds = u64::from(ranks.next_power_of_two().ilog2());
        assert_eq!(latency_ps(ranks, "barrier:dissemination", MACHINE), rounds * 3_000_000, "{ranks} ranks");
    }
}

/// Karp, Sahay, Santos, Schauser (SPAA 1993): a node of the tree sends every max(o, g) from when it has the item.
fn binomial_ps(rounds: u64, o: u64, l: u64, g: u64) -> u64 {
    (0..rounds).map(|child| child * o.max(g) + 2 * o + l + binomial_ps(rounds - 1 - child, o, l, g)).max().unwrap_or(0)
}

#[test]
fn binomial_broadcast_is_that_of_logp() {
    for k in 0..11 {
        assert_eq!(latency_ps(1 << k, "bcast:binomial", MACHINE), binomial_ps(k, 500_000, 2_000_000, 50_000));
        let gap = "L=1us,o=1us,g=7us,G=0";
        assert_eq!(latency_ps(1 << k, "bcast:binomial", gap), binomial_ps(k, 1_000_000, 1_000_000, 7_000_000));
    }
}

#[test]
fn linear_broadcast_and_central_barrier_are_serialised_at_the_root() {
    for ranks in [2u64, 3, 17, 200] {
        let linear = (ranks - 2) * 500_000 + 3_000_000;
        assert_eq!(latency_ps(ranks as u32, "bcast:linear", MACHINE), linear);
        // All arrive at once: the root receives for (P - 1) o, then sends.
        let central = 2_500_000 + (ranks - 1) * 500_000 + linear;
        assert_eq!(latency_ps(ranks as u32, "barrier:central", MACHINE), central);
    }
}

#[test]
fn pipelined_broadcast_streams() {
    let (ranks, segments) = (9u64, 16u64);
    let stage = 999_000;
    let hop = 100_000 + 1_000_000 + stage + 100_000;
    let got = latency_ps(ranks as u32, "bcast:pipelined:16000:1000", "L=1us,o=100ns,g=0,G=1ns");
    assert_eq!(got, (segments - 1) * stage + (ranks - 1) * hop);
}

#[test]
fn long_messages_take_the_time_of_loggp_and_rendezvous_its_handshake() {
    let bytes = 1 << 20;
    let (data, name) = (80 * (bytes - 1), format!("bcast:binomial:{bytes}"));
    assert_eq!(latency_ps(2, &name, MACHINE), 3_000_000 + data);
    assert_eq!(latency_ps(2, &name, &format!("{MACHINE},S=65536")), 4 * 500_000 + 3 * 2_000_000 + data);
    assert_eq!(latency_ps(2, &name, &format!("{MACHINE},O=10ps")), 3_000_000 + data + 10 * (bytes - 1));
}

#[test]
fn allreduces_take_their_closed_forms() {
    let (ranks, size) = (8u64, 8u64 << 20);
    let step = |bytes: u64| 3_000_000 + 80 * (bytes - 1);
    let ring = latency_ps(8, &format!("allreduce:ring:{size}"), MACHINE);
    assert_eq!(ring, 2 * (ranks - 1) * step(size / ranks));
    let halving: u64 = (1..=3).map(|k| step(size >> k)).sum();
    assert_eq!(latency_ps(8, &format!("allreduce:rabenseifner:{size}"), MACHINE), 2 * halving);
    assert_eq!(latency_ps(8, &format!("allreduce:recursive-doubling:{size}"), MACHINE), 3 * step(size));
}

#[test]
fn collectives_move_the_bytes_that_they_must() {
    for (name, ranks, bytes) in [
        ("alltoall:pairwise:100", 8, 8 * 7 * 100),
        ("alltoall:pairwise:100", 7, 7 * 6 * 100),
        ("alltoall:linear:100", 7, 7 * 6 * 100),
        ("alltoall:bruck:100", 8, 8 * 3 * 4 * 100),
        ("alltoall:ring:100", 5, 5 * (4 + 3 + 2 + 1) * 100),
        ("allreduce:ring:1000", 7, 2 * 6 * 1000),
        ("allreduce:rabenseifner:1000", 8, 2 * 7 * 1000),
    ] {
        let outcome = simulate(&generate(ranks, &collectives(&[name]), 1, MACHINE), &machine(MACHINE)).unwrap();
        assert_eq!(outcome.bytes, bytes, "{name} on {ranks}");
    }
}

/// Whoever comes late holds up everyone whose result needs it: this is what makes a barrier safe.
#[test]
fn nobody_leaves_a_collective_before_those_it_depends_on_have_arrived() {
    for name in Step::names() {
        for ranks in [1, 2, 3, 4, 5, 8, 9, 17] {
            for late in 0..ranks {
                // To whom the result of a rank goes: to all, from rank 0 to all, or from all to rank 0.
                let from_root = name.starts_with("bcast") || name.starts_with("scatter");
                let to_root = name.starts_with("reduce") || name.starts_with("gather");
                for (rank, at) in with_late_rank(ranks, &name, late).into_iter().enumerate() {
                    let held = rank as u32 == late || !(from_root || to_root);
                    let held = held || (from_root && late == 0) || (to_root && rank == 0);
                    assert!(!held || at >= 1_000_000_000, "{name}: rank {rank} of {ranks} left without {late}");
                }
            }
        }
    }
}

/// Finishing times with a millisecond of computation before the collective on one rank.
fn with_late_rank(ranks: u32, name: &str, late: u32) -> Vec<u64> {
    let plain = generate(ranks, &collectives(&[name]), 1, MACHINE);
    let mut builder = Builder::new(ranks);
    for rank in 0..ranks {
        assert!(builder.begin(rank));
        let size = if rank == late { 1_000_000 } else { 0 };
        let calc = builder.add(Op { kind: Kind::Calc, cpu: 0, nic: 0, rank, peer: 0, tag: 0, size });
        let block = plain.of_rank(rank);
        let moved = |op: u32| op - block.start + calc + 1;
        for op in block.clone() {
            let id = builder.add(plain.op(op));
            builder.requires(id, calc, false);
        }
        for op in block.clone() {
            for (after, start_only) in plain.successors(op) {
                builder.requires(moved(after), moved(op), start_only);
            }
        }
    }
    let outcome = simulate(&builder.build(), &machine(MACHINE)).unwrap();
    outcome.finish.iter().map(|time| time.0).collect()
}

#[test]
fn the_bound_is_met_where_nothing_waits_and_names_what_limits() {
    let run = |name: &str, parameters: &str| {
        simulate(&generate(64, &collectives(&[name]), 1, parameters), &machine(parameters)).unwrap()
    };
    let barrier = run("barrier:dissemination", MACHINE);
    assert_eq!((barrier.bound, barrier.limit.to_string().as_str()), (barrier.latency(), "dependency chain"));
    assert_eq!(run("bcast:linear", MACHINE).limit.to_string(), "processor 0 of rank 0");
    let gap = "L=1us,o=1us,g=5us,G=0";
    assert_eq!(run("bcast:linear", gap).limit.to_string(), "adapter 0 of rank 0, sending");
}

#[test]
fn matching_takes_messages_and_receives_in_order_with_wildcards() {
    // The wildcard was posted first and takes rank 1's early message; the receive by name waits for rank 0.
    let text = "num_ranks 3
        rank 0 { a: calc 100000; b: send 1b to 2 tag 7; b requires a }
        rank 1 { send 1b to 2 tag 7 }
        rank 2 { w: recv 1b from -1 tag -1; x: recv 1b from 0 tag 7; c: calc 1; c requires w }";
    let outcome = simulate(&Schedule::parse(text).unwrap(), &machine(MACHINE)).unwrap();
    assert_eq!(outcome.finish[2].0, 103_000_000);
    // With both messages waiting, a message taken by one pattern is gone from the others.
    let text = "num_ranks 3
        rank 0 { send 8b to 2 tag 9 }
        rank 1 { s: calc 10000; t: send 1b to 2 tag 9; t requires s }
        rank 2 { s: calc 900000; x: recv 8b from 0 tag -1; w: recv 1b from -1 tag 9; x requires s; w requires x }";
    let outcome = simulate(&Schedule::parse(text).unwrap(), &machine(MACHINE)).unwrap();
    assert_eq!((outcome.messages, outcome.finish[2].0), (2, 901_000_000));
}

#[test]
fn everything_posted_at_once_stays_linear() {
    // Messages and receives between two ranks with their tags backwards: a searched list would take n^2 steps.
    let many = 50_000u32;
    let mut builder = Builder::new(2);
    for (rank, kind) in [(0, Kind::Send), (1, Kind::Recv)] {
        assert!(builder.begin(rank));
        for i in 0..many {
            let tag = if rank == 0 { i } else { many - 1 - i };
            builder.add(Op { kind, cpu: 0, nic: 0, rank, peer: 1 - rank, tag, size: 1 });
        }
    }
    let outcome = simulate(&builder.build(), &machine(MACHINE)).unwrap();
    assert!(outcome.events < 6 * u64::from(many), "{} events", outcome.events);
    assert_eq!(outcome.latency().0, 2_500_000 + u64::from(many) * 500_000);
}

#[test]
fn what_cannot_end_is_told() {
    let told = |text: &str| simulate(&Schedule::parse(text).unwrap(), &machine(MACHINE)).unwrap_err();
    let circle = told("num_ranks 1\nrank 0 { a: calc 1; b: calc 1; a requires b; b requires a }");
    assert!(matches!(circle, Stuck::Never { operations: 2, .. }), "{circle}");
    let starved = told("num_ranks 2\nrank 0 { }\nrank 1 { calc 5; recv 8b from 0 tag 3 }");
    assert!(starved.to_string().contains("rank 1, operation 2: recv 8b from 0 tag 3"), "{starved}");
    let lost = told("num_ranks 2\nrank 0 { }\nrank 1 { send 8b to 0 }");
    assert!(matches!(lost, Stuck::Unreceived { messages: 1, .. }), "{lost}");
    let cut = told("num_ranks 2\nrank 0 { send 9b to 1 }\nrank 1 { recv 8b from 0 }");
    assert!(matches!(cut, Stuck::Cut { bytes: 9, .. }), "{cut}");
    let long = "calc 1000000000000000;".repeat(6);
    assert_eq!(told(&format!("num_ranks 1\nrank 0 {{ {long} }}")), Stuck::Late);
    // One computation alone, in nanoseconds, and in a unit that takes it beyond what counts.
    for (time, unit) in [(LATEST / 1000 + 1, 1000), (LATEST, 2), (MOST_UNITS, 1), (MOST_UNITS, 1_000_000)] {
        let machine = LogGops { calc_unit: Time(unit), ..machine(MACHINE) };
        let text = |time: u64| format!("num_ranks 1\nrank 0 {{ calc {time} }}");
        assert_eq!(
            simulate(&Schedule::parse(&text(time)).unwrap(), &machine).unwrap_err(),
            Stuck::Late,
            "{time} {unit}"
        );
        let latest = LATEST / unit;
        let outcome = simulate(&Schedule::parse(&text(latest)).unwrap(), &machine).unwrap();
        assert_eq!(outcome.latency(), Time(latest * unit));
    }
}

#[test]
fn mistakes_in_a_text_are_told_with_their_place() {
    for (text, expected) in [
        ("", "1:1: expected `num_ranks N`"),
        ("num_ranks 0", "1:11: the number of ranks: 0 (allowed: 1 to 16777216)"),
        ("num_ranks 99999999999999999999", "1:11: the number of ranks: 99999999999999999999 (allowed"),
        ("num_ranks 2\nrank 2 {\n}", "2:6: the rank: 2 (allowed: 0 to 1)"),
        ("num_ranks 2\nrank 1 {\n}\nrank 1 { }", "4:6: rank 1 occurs twice"),
        ("num_ranks 2\nrank 1 {\n  l1: sned 8b to 0", "3:7: expected `send`, `recv` or `calc`"),
        ("num_ranks 2\nrank 1 {\n  send 8 to 0 }", "3:10: expected `b` after the bytes"),
        ("num_ranks 2\nrank 1 {\n  send 8b to -1 }", "3:14: the other rank: no number (allowed: 0 to 1)"),
        ("num_ranks 2\nrank 1 {\n  calc 8 nic 1 }", "3:10: expected `cpu` or the end"),
        ("num_ranks 2\nrank 1 {\n  a: calc 8\n  a: calc 9\n}", "4:3: label `a` occurs twice"),
        ("num_ranks 2\nrank 1 {\n  a: calc 8\n  a requires b\n}", "4:14: label `b` is unknown"),
        ("num_ranks 2\nrank 1 {\n  a: calc 8 calc", "3:13: expected `cpu` or the end"),
        ("num_ranks 2\nrank 1 {\n  /* open", "3:3: this comment has no end"),
        ("num_ranks 2\nrank 1 {\n  calc 1", "3:9: expected the end of the statement"),
        (
            "num_ranks 3\nrank 1 {\n}\n",
            "4:1: ends without the blocks of 2 of 3 ranks; one that does nothing has an empty block: rank 0 { }",
        ),
    ] {
        let told = Schedule::parse(text).unwrap_err().to_string();
        assert!(told.starts_with(expected), "{text:?}: {told}");
    }
}

#[test]
fn comments_and_both_separators_are_read() {
    let text = "/* a\n */ num_ranks 2 // two\n rank 1 { // one\n b requires a; a: recv 8b from -1 tag -1 nic 2 cpu 1;; b: calc 3 cpu 7 }\r\nrank 0 { }";
    let schedule = Schedule::parse(text).unwrap();
    let recv = Op { kind: Kind::Recv, cpu: 1, nic: 2, rank: 1, peer: ANY, tag: ANY, size: 8 };
    let calc = Op { kind: Kind::Calc, cpu: 7, nic: 0, rank: 1, peer: 0, tag: 0, size: 3 };
    assert_eq!(schedule.ops().collect::<Vec<_>>(), [recv, calc]);
    assert_eq!(schedule.successors(0).collect::<Vec<_>>(), [(1, false)]);
}

type Ops = Vec<(u8, u8, u8, u32, u32, u64)>;
type Edges = Vec<(u32, u32, bool)>;

fn arbitrary_schedule() -> impl Strategy<Value = Schedule> {
    let op = (0..3u8, 0..4u8, 0..3u8, any::<u32>(), any::<u32>(), 0..1u64 << 40);
    let edge = (any::<u32>(), any::<u32>(), any::<bool>());
    let block = (prop::collection::vec(op, 0..12), prop::collection::vec(edge, 0..12));
    prop::collection::vec(block, 1..6).prop_map(|blocks: Vec<(Ops, Edges)>| {
        let ranks = blocks.len() as u32;
        let mut builder = Builder::new(ranks);
        for (rank, (ops, edges)) in (0..).zip(blocks) {
            assert!(builder.begin(rank));
            let ids: Vec<u32> = ops
                .iter()
                .map(|&(kind, cpu, nic, peer, tag, size)| {
                    let plain = Op { kind: Kind::Calc, cpu, nic: 0, rank, peer: 0, tag: 0, size };
                    let (peer, tag) = (peer % ranks, tag % 9);
                    let any = |number: u32| if tag < 3 { ANY } else { number };
                    builder.add(match kind {
                        0 => plain,
                        1 => Op { kind: Kind::Send, nic, peer, tag, ..plain },
                        _ => Op { kind: Kind::Recv, nic, peer: any(peer), tag: any(tag), ..plain },
                    })
                })
                .collect();
            for (after, before, start_only) in edges.into_iter().filter(|_| !ids.is_empty()) {
                let pick = |number: u32| ids[number as usize % ids.len()];
                builder.requires(pick(after), pick(before), start_only);
            }
        }
        builder.build()
    })
}

/// The model knows processors alone: a post keeps its own until it ends. Other software may take less, so that no bound
/// counts it.
#[test]
fn a_post_runs_as_a_computation_that_no_bound_counts() {
    let ran = |kind: Kind, size: u64, tag: u32| {
        let mut builder = Builder::new(1);
        assert!(builder.begin(0));
        let op = Op { kind, cpu: 1, nic: 0, rank: 0, peer: 0, tag, size };
        builder.add(op);
        let last = builder.add(op);
        let after = builder.add(Op { kind: Kind::Calc, cpu: 0, tag: 0, size: 9, ..op });
        builder.requires(after, last, false);
        let schedule = builder.build();
        hotlink_schedule::check(&schedule).unwrap();
        simulate(&schedule, &machine(MACHINE)).unwrap()
    };
    let (post, calc) = (ran(Kind::Post, 200, 300), ran(Kind::Calc, 500, 0));
    assert_eq!((&post.finish, &post.finish[..]), (&calc.finish, &[Time(1_009_000)][..]));
    // Two computations of 500 units on processor 1, then one of 9 on processor 0, which waits for them.
    assert_eq!((post.bound, calc.bound), (Time(9_000), Time(1_000_000)));
    assert_eq!(post.busiest, Some((Limit::Cpu { rank: 0, cpu: 1 }, Time(1_000_000))));
}

/// An operation that has begun starts one that has ended: nothing behind that is counted twice.
#[test]
fn a_circle_is_found_behind_what_has_ended() {
    let text = "num_ranks 2\nrank 0 {\nx: recv 8b from 1\ne: calc 1\na: recv 8b from 1 tag 1\nb: calc 1\nc: calc 1\n\
                e irequires x\na irequires e\nb irequires a\nb irequires c\nc irequires b\n}\nrank 1 {\n}\n";
    let schedule = Schedule::parse(text).unwrap();
    let stuck = simulate(&schedule, &machine("L=2us,o=0.5us,g=50ns,G=1us,O=1us")).unwrap_err();
    assert!(stuck.to_string().contains("never end"), "{stuck}");
}

proptest! {
    #[test]
    fn a_schedule_survives_its_text(schedule in arbitrary_schedule()) {
        let mut text = Vec::new();
        schedule.write(&mut text).unwrap();
        prop_assert_eq!(Schedule::parse(std::str::from_utf8(&text).unwrap()).unwrap(), schedule);
    }

    #[test]
    fn no_schedule_panics_or_hangs(schedule in arbitrary_schedule(), eager_max in 0..1u64 << 41) {
        let mut machine = machine("L=2us,o=0.5us,g=50ns,G=1us,O=1us");
        machine.eager_max = eager_max;
        if let Ok(outcome) = simulate(&schedule, &machine) {
            prop_assert!(outcome.bound <= outcome.latency());
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,80}") {
        let _ = Schedule::parse(&text);
    }

    /// Pieces of the grammar in any order reach deeper than random text.
    #[test]
    fn no_jumble_panics(words in prop::collection::vec(prop::sample::select(vec![
        "num_ranks", "2", "rank", "0", "1", "{", "}", "l1", ":", "l1:", "send", "recv", "calc", "8b", "to", "from", "-1",
        "tag", "cpu", "nic", "requires", "irequires", "\n", ";", "//", "/*", "*/", "l1048575", "l0", "l00", "é",
    ]), 0..40)) {
        let _ = Schedule::parse(&words.join(" "));
        let _ = Schedule::parse(&format!("num_ranks 2\nrank 0 {{ {} }}", words.join(" ")));
    }

    /// Any mix of collectives, sizes and thresholds runs to its end, moves all its messages and respects its bound.
    #[test]
    fn collectives_run_under_any_parameters(
        ranks in 1u32..20,
        picks in prop::collection::vec((any::<prop::sample::Index>(), 1u64..10_000), 1..4),
        o in 0u64..2000, l in 0u64..5000, g in 0u64..3000, per_byte in 0u64..2000, eager_max in 0u64..200_000,
    ) {
        let names: Vec<String> = Step::names().collect();
        let program: Vec<Step> = picks.iter().map(|(pick, words)| {
            format!("{}:{}", pick.get(&names), 8 * words).parse().unwrap()
        }).collect();
        let parameters = format!("L={l}ns,o={o}ns,g={g}ns,G={per_byte}ps");
        let schedule = generate(ranks, &program, 2, &parameters);
        let machine = machine(&format!("{parameters},S={eager_max}"));
        let outcome = simulate(&schedule, &machine).unwrap();
        prop_assert!(outcome.bound <= outcome.latency(), "{:?}", outcome.limit);
        let sends = schedule.ops().filter(|op| op.kind == Kind::Send).count();
        prop_assert_eq!(outcome.messages, sends as u64);
        prop_assert_eq!(simulate(&schedule, &machine).unwrap().trace_hash, outcome.trace_hash);
    }
}

#[test]
fn a_collective_is_its_text_and_knows_its_operations() {
    for name in Step::names() {
        let collective: Step = format!("{name}:4096").parse().unwrap();
        assert_eq!(collective.to_string().parse::<Step>().unwrap(), collective);
        for ranks in [1, 2, 3, 8, 33] {
            let made = generate(ranks, &[collective], 1, MACHINE).ops().len() as u64;
            assert!(made <= collective.operations(ranks), "{name} on {ranks}: {made}");
        }
    }
}

#[test]
fn a_message_may_wait_before_its_send_has_ended() {
    // A send keeps its processor for o + 999 O, longer than its message takes to the receiver.
    let sends = "a: send 1000b to 1\nb: send 1000b to 1\nc: calc 1\nc requires a\nc requires b";
    let recvs = "w: calc 1000000\nx: recv 1000b from 0\ny: recv 1000b from 0\nx requires w\ny requires x";
    let text = format!("num_ranks 2\nrank 0 {{\n{sends}\n}}\nrank 1 {{\n{recvs}\n}}");
    let outcome = simulate(&Schedule::parse(&text).unwrap(), &machine("L=0us,o=0.1us,g=0us,G=0.5ns,O=2ns")).unwrap();
    let work = 100_000 + 999 * 2_000;
    assert_eq!(outcome.finish, [Time(2 * work + 1_000), Time(1_000_000_000 + 2 * work)]);
    assert_eq!((outcome.messages, outcome.operations), (2, 6));
}
