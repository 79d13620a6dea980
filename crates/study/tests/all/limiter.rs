//! The busiest resource of a run: which is named, and its share.

use hotlink_bench::{Record, Which};
use hotlink_bound::LATENCY;
use hotlink_fabric::units::Time;
use hotlink_loggp::{LogGops, Schedule, simulate};
use hotlink_port::{Busy, Task};
use hotlink_schedule::Format;
use hotlink_study::Unwatched;
use hotlink_study::cell::{Cell, What};
use hotlink_study::options::Order;
use hotlink_study::simulate::limiter::{of_devices, of_schedule};

/// The busiest resource in a schedule's record: by hand.
#[test]
fn of_a_schedule_it_is_the_processor_or_adapter_that_worked_longest() {
    let machine: LogGops = "L=2us,o=0.5us,g=50ns,G=1ns".parse().unwrap();
    let of = |text: &str| {
        let outcome = simulate(&Schedule::parse(text).unwrap(), &machine).unwrap();
        let record = of_schedule(Record::new(), &outcome, |rank, cpu| Format::Goal.processor(rank, cpu));
        (record.text("limiter").unwrap_or_default().to_owned(), record.number("limiter_share").unwrap_or(0.0))
    };
    // 10 of 10 us, against 6.
    assert_eq!(
        of("num_ranks 2\nrank 0 { calc 6000 }\nrank 1 { calc 10000 }"),
        ("processor 0 of rank 1".to_owned(), 1.0)
    );
    // 10,000 bytes at 1 ns after the first, and the gap, of o + L + 10 us + o.
    let (name, share) = of("num_ranks 2\nrank 0 { send 10001b to 1 tag 0 }\nrank 1 { recv 10001b from 0 tag 0 }");
    assert_eq!(name, "adapter 0 of rank 0, sending");
    assert!((share - 10.05 / 13.0).abs() < 1e-9, "{share}");
    // Two overheads and 9 us of work against one such message.
    let (name, share) = of("num_ranks 2
        rank 0 { a: send 8001b to 1 tag 0 }
        rank 1 { b: recv 8001b from 0 tag 0; c: calc 9000; c requires b }");
    assert_eq!(name, "processor 0 of rank 1");
    assert!((share - 9.5 / 20.0).abs() < 1e-9, "{share}");
}

#[test]
fn the_busiest_is_named_with_what_it_did_most_and_its_share() {
    let mut copies = Busy::default();
    copies.add(Task::Copy, 600);
    copies.add(Task::Software, 100);
    copies.add(Task::Compute, 5000);
    let mut engine = Busy::default();
    engine.add_engine(500);
    let of = |busy: &[Busy], which| of_devices(Record::new(), busy, Time(1000), which);
    let record = of(&[engine, copies], None);
    assert_eq!(record.text("limiter"), Some("processor of rank 1 (copies)"));
    assert_eq!(record.number("limiter_share"), Some(0.7));
    assert_eq!(of(&[engine], None).text("limiter"), Some("adapter of rank 0"));
    let mut sums = Busy::default();
    sums.add(Task::Work, 900);
    assert_eq!(of(&[sums], Some(Which::Allreduce)).text("limiter"), Some("processor of rank 0 (reduction)"));
    assert_eq!(of(&[sums], None).text("limiter"), Some("processor of rank 0 (work on memory)"));
    assert!(of(&[Busy::default()], None).get("limiter").is_none(), "nothing was busy");
    // All rested for 300: the share is of the other 700.
    let [mut short, mut long] = [copies, engine];
    short.add(Task::Rest, 300);
    long.add(Task::Rest, 400);
    assert_eq!(of(&[short, long], None).number("limiter_share"), Some(1.0));
}

/// Bytes of short messages set nothing: an exchange of them is bound by the way to the farthest node.
#[test]
fn an_exchange_of_short_messages_is_limited_by_latency() {
    let exchange = |size| {
        let what = What::AllToAll { order: Order::LinearShift };
        Cell::plain("ib-ndr-fat-tree2", 32, size, what, 1).run(&Unwatched).unwrap().remove(0)
    };
    let (short, long) = (exchange(8), exchange(64 << 10));
    assert_eq!(short.text("limiting_resource"), Some(LATENCY));
    assert!(short.number("efficiency").is_some_and(|share| (0.9..=1.0).contains(&share)), "{short:?}");
    assert_eq!(long.text("limiting_resource"), Some("NDR link"));
}
