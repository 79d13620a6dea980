//! Machines of the LogGP family by the crate's doors.

use hotlink_bench::is::Class;
use hotlink_bench::{Calls, Direction, Record, Step, Which};
use hotlink_fabric::catalog;
use hotlink_fabric::spec::Value;
use hotlink_loggp::{LogGops, Machine, simulate};
use hotlink_study::Unwatched;
use hotlink_study::cell::{Cell, Program, ProgramBench, Streamed, What};
use hotlink_study::simulate::loggp::{collective, recorded, run, sorted};

#[test]
fn every_door_gives_the_time_that_is_known() {
    // o + L + 999 G + o.
    let messages: LogGops = "L=1us,o=0.5us,g=0.1us,G=1ns".parse().unwrap();
    let machine = Machine::of_messages("x", messages);
    let exchange = collective(&machine, Which::Alltoall, (2, 1000, 1), None).unwrap();
    let row = collective(&machine, Which::Alltoall, (2, 1000, 20), None).unwrap();
    assert_eq!((exchange.us, exchange.bound_us), (2.999, 2.999));
    assert!((row.us - 2.999).abs() < 1e-9, "{}", row.us);
    let step: Step = "alltoall:linear:1000".parse().unwrap();
    let (schedule, run) = recorded(&machine, &[step], 1, 2).unwrap();
    let replayed = simulate(&schedule, &messages).unwrap();
    assert_eq!([run.elapsed.us(), replayed.latency().us()], [2.999; 2]);
    let bcast = collective(&machine, Which::Bcast, (4, 1, 1), None).unwrap();
    assert_eq!(bcast.us, 4.0, "two rounds of 2 o + L");
}

#[test]
fn a_sort_takes_no_time_where_nothing_but_messages_does() {
    let machine = Machine::of_messages("x", "L=1us,o=0.5us,g=0.1us,G=1ns".parse().unwrap());
    let (alone, _) = sorted(&machine, Class::S, 1, Record::new()).unwrap();
    let (two, ran) = sorted(&machine, Class::S, 2, Record::new()).unwrap();
    assert_eq!(alone.number("time_s"), Some(0.0));
    assert!(two.number("time_s") > Some(0.0) && ran.messages > 0);
}

/// One point on a machine that a file describes, as [`Machine::of_messages`] has it above.
fn run_alone(nodes: u32, size: u64, bench: ProgramBench) -> Vec<Record> {
    let mut spec = catalog::load("gige").unwrap();
    let like = spec.parameters.values().next().unwrap().clone();
    spec.parameters.clear();
    for (name, ps) in [("latency", 1e6), ("overhead", 5e5), ("gap", 1e5), ("gap_per_byte", 1e3)] {
        spec.parameters.insert(format!("loggp_{name}"), Value { value: ps, ..like.clone() });
    }
    // Copies take no time there.
    for size in [1, 1 << 20] {
        spec.parameters.insert(format!("copy_time_of_{size}"), Value { value: 0.0, ..like.clone() });
    }
    let cell = Cell::plain("x", nodes, size, What::Program(Program::plain(bench)), 1);
    run(&cell, &spec, &Unwatched).unwrap()
}

#[test]
fn a_ping_pong_reaches_the_bound_of_its_message() {
    let record = &run_alone(2, 1000, ProgramBench::PingPong { between: [0, 1] })[0];
    assert_eq!(["latency_us", "bound_latency_us"].map(|key| record.number(key)), [Some(2.999); 2]);
}

#[test]
fn a_window_is_a_row_of_gaps_and_an_answer() {
    let stream = |direction| {
        let streamed = Streamed { benchmark: "stream", pairs: 1, direction, calls: Calls::Windowed, window: Some(10) };
        run_alone(2, 1000, ProgramBench::Stream(streamed)).remove(0)
    };
    let uni = stream(Direction::Uni);
    // Nine more gaps of g + 999 G, the last message's 2 o + L + 999 G, the answer's 2 o + L.
    let window_us = 9.0 * 1.099 + 2.999 + 2.0;
    let (value, bound) = (uni.number("bandwidth_MBps").unwrap(), uni.number("bound_bandwidth_MBps").unwrap());
    assert!((bound - 10_000.0 / window_us).abs() < 1e-9, "{bound}");
    assert!(value <= bound * 1.000_001 && value > 0.95 * bound, "{uni:?}");
    let both = stream(Direction::Bi);
    assert!(both.number("efficiency") <= Some(1.000_001) && both.number("bandwidth_MBps") > Some(value), "{both:?}");
}

#[test]
fn pairs_of_equal_ranks_are_equal() {
    let matrix = run_alone(3, 1000, ProgramBench::Pairs { slow: 1.25 });
    assert_eq!(matrix.len(), 3);
    for pair in matrix {
        assert!(pair.number("latency_us") == Some(2.999) && pair.get("slow") == Some(&false.into()), "{pair:?}");
    }
}
