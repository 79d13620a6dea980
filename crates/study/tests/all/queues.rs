//! Whether the intervals of `simulate traffic` hold: two nodes and a wire each way are queues whose times theory knows.
//! Here half a load, whose runs are short; `make bench-coverage` has the others.

use hotlink_bench::Record;
use hotlink_study::ask::{Asked, Method, Question, ask};
use hotlink_study::cell::{Cell, Offered, What};
use hotlink_study::options::Rates;
use hotlink_study::parallel;
use hotlink_study::{Source, Unwatched};

const QUEUE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/bench-coverage/queue.toml");
/// Bytes of a message: a microsecond on the wire.
const SIZE: u64 = 1000;

/// How many of 40 runs' intervals hold the median, how many the mean; both in microseconds.
fn held(sizes: Option<&str>, load: f64, median: f64, mean: f64) -> [usize; 2] {
    let one = |seed: &u64| {
        let offered = Offered { sizes: sizes.map(str::to_owned), ..Offered::plain("uniform", load) };
        let cell = Cell::plain(QUEUE, 2, SIZE, What::Traffic(offered), *seed);
        let cell = Cell { capacities: Rates::Theoretical, ..cell };
        let record = cell.run(&Unwatched).expect("runs").remove(0);
        assert!(record.get("saturated").is_none(), "{record:?}");
        let number = |key: &str| record.number(key).unwrap_or_else(|| panic!("{key} in {record:?}"));
        let holds = |low: &str, value: f64, high: &str| number(low) <= value && value <= number(high);
        // Times are whole picoseconds.
        let holds_median = holds("ci95_low", median + 1e-6, "ci95_high") || holds("ci95_low", median, "ci95_high");
        [holds_median, holds("mean_ci95_low", mean, "mean_ci95_high")]
    };
    let seeds: Vec<u64> = (1..=40).collect();
    let all = parallel::each(&seeds, one);
    [0, 1].map(|which| all.iter().filter(|both| both[which]).count())
}

#[test]
fn intervals_hold_what_theory_says_of_queues() {
    // At half a load half of M/D/1's customers do not wait: the median is the service.
    let fixed = held(None, 0.5, 1.0, 1.5);
    let exponential = held(Some("exponential:1000"), 0.5, 2.0 * std::f64::consts::LN_2, 2.0);
    let all = [fixed, exponential].concat();
    assert!(all.iter().all(|&of_40| of_40 >= 33), "{all:?}");
    assert!(all.iter().sum::<usize>() * 10 >= 9 * 40 * all.len(), "{all:?}");
}

#[test]
fn a_run_that_is_too_short_or_saturated_says_so() {
    let told = |offered: Offered| {
        let cell = Cell::plain(QUEUE, 2, SIZE, What::Traffic(offered), 1);
        Cell { capacities: Rates::Theoretical, ..cell }.run(&Unwatched).expect("runs").remove(0)
    };
    let short = told(Offered { messages: Some(20), ..Offered::plain("uniform", 0.5) });
    assert!(short.text("too_short").is_some_and(|why| why.contains("intervals need 64")), "{short:?}");
    let flooded = told(Offered::plain("uniform", 1.2));
    assert_eq!(flooded.get("saturated"), Some(&true.into()), "{flooded:?}");
    assert!(flooded.text("too_short").is_some() && flooded.number("efficiency").is_some_and(|share| share > 0.98));
    let steady = told(Offered::plain("uniform", 0.5));
    assert!(steady.get("too_short").is_none() && steady.get("unfinished_messages").is_none(), "{steady:?}");
    assert!(steady.number("efficiency").is_some_and(|share| (share - 0.5).abs() < 0.02), "{steady:?}");
    let (least, most) = (steady.number("min"), steady.number("p999"));
    assert!(least == Some(1.0) && most > steady.number("p99"), "{steady:?}");
    let slow = steady.number("slowdown_mean").expect("a number") / steady.number("mean").expect("a number");
    assert!((slow - 1.0).abs() < 1e-6, "alone a message takes a microsecond: {steady:?}");
}

/// Latencies are steady from the second message on here, while the network fills for a microsecond: then the rate counts later.
#[test]
fn a_long_run_has_a_rate_however_early_its_latencies_are_steady() {
    let cell = Cell::plain("ib-ndr-fat-tree2", 16, 1 << 16, What::Traffic(Offered::plain("uniform", 0.6)), 1);
    let record = cell.run(&Unwatched).expect("runs").remove(0);
    assert!(record.number("warmup_us") < Some(1.0), "{record:?}");
    assert!(record.number("efficiency").is_some_and(|share| (share - 0.6).abs() < 0.01), "{record:?}");
    assert!(record.get("too_short").is_none(), "{record:?}");
}

/// A run that ends while the network still fills has no bandwidth; one of more than the network carries is saturated however
/// short it is.
#[test]
fn a_run_that_only_fills_the_network_has_no_bandwidth() {
    let told = |load: f64, messages: u32| {
        let offered = Offered { messages: Some(messages), ..Offered::plain("uniform", load) };
        Cell::plain("ib-ndr-fat-tree2", 32, 4096, What::Traffic(offered), 1).run(&Unwatched).expect("runs").remove(0)
    };
    for load in [1.0, 2.0, 4.0] {
        let short = told(load, 20);
        assert!(short.number("bandwidth_per_node_MBps").is_none() && short.number("efficiency").is_none(), "{short:?}");
        assert!(short.text("too_short").is_some(), "{short:?}");
        assert_eq!(short.get("saturated").is_some(), load > 1.0, "{short:?}");
    }
    let rate = |record: &Record| record.number("bandwidth_per_node_MBps").unwrap();
    let long = [1.5, 2.0, 4.0].map(|load| told(load, 400));
    assert!(long.iter().all(|record| record.get("saturated") == Some(&true.into())), "{long:?}");
    assert!(long.windows(2).all(|pair| (rate(&pair[0]) / rate(&pair[1]) - 1.0).abs() < 0.02), "{long:?}");
    assert!(long.iter().all(|record| record.text("bound_is").is_some()), "{long:?}");
}

/// Counted loads' queues, and packets' waits: on one switch, and on a tree of three leaves.
#[test]
fn latency_under_load_as_counted_is_what_packets_take() {
    let fabric = "ib-ndr-fat-tree2";
    let loads = vec![0.3, 0.6, 0.8];
    // Thousands of short messages are on their way before the first has come.
    for (nodes, size) in [(16, 4096), (80, 4096), (16, 256)] {
        let what = Asked::Traffic("uniform".to_owned());
        let question = Question { size, loads: loads.clone(), ..Question::new(what, fabric, nodes) };
        let source = Source::open(fabric).expect("in the catalog");
        let counted = ask(&question, &source, &[Method::Load], &Unwatched).expect("counts").given.remove(0).more;
        assert_eq!(counted.len(), loads.len());
        let packets = parallel::each(&loads, |load| {
            let cell = Cell::plain(fabric, nodes, size, What::Traffic(Offered::plain("uniform", *load)), 1);
            cell.run(&Unwatched).expect("runs").remove(0)
        });
        for (counted, packets) in counted.iter().zip(&packets) {
            let number = |key: &str, record: &hotlink_bench::Record| record.number(key).expect("a number");
            assert_eq!(number("offered_per_node_MBps", counted), number("offered_per_node_MBps", packets));
            let ratio = number("mean", counted) / number("mean", packets);
            assert!((ratio - 1.0).abs() < 0.03, "{ratio}: {counted:?}");
        }
    }
    let what = Asked::Traffic("all-to-all".to_owned());
    let question = Question { loads: vec![0.5], ..Question::new(what, "sci-torus2d", 16) };
    let source = Source::open("sci-torus2d").expect("in the catalog");
    let refused = ask(&question, &source, &[Method::Formula], &Unwatched).expect_err("a closed form knows no queues");
    assert!(refused.to_string().contains("--method load"), "{refused}");
    let told = |fabric: &str, size: u64, pattern: &str, load: f64| {
        let what = Asked::Traffic(pattern.to_owned());
        let question = Question { size, loads: vec![load], ..Question::new(what, fabric, 16) };
        ask(&question, &Source::open(fabric).unwrap(), &[Method::Load], &Unwatched).expect_err("no queues").to_string()
    };
    for (fabric, size, pattern, load, why) in [
        (fabric, 4096, "uniform", 1.0, "below 1"),
        (fabric, 65536, "uniform", 0.5, "one packet"),
        (fabric, 4096, "permutation:ring", 0.5, "random nodes"),
        ("myrinet-clos64", 1024, "uniform", 0.5, "holds links"),
    ] {
        assert!(told(fabric, size, pattern, load).contains(why), "{}", told(fabric, size, pattern, load));
    }
}
