//! Machines of the LogGP family by the crate's doors.

use hotlink_bench::is::Class;
use hotlink_bench::{Record, Step, Which};
use hotlink_loggp::{LogGops, Machine, simulate};
use hotlink_study::simulate::loggp::{collective, recorded, sorted};

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
