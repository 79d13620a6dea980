//! Measured results that are better than a bound which rests on estimates.

use hotlink_bench::{Record, beyond_by_estimates, flag_impossible};
use hotlink_study::bound::measured::Bounds;

/// The bound is 1.17 us with the catalog's middle values, and half of it with all latencies at their least.
#[test]
fn only_what_beats_all_of_its_range_is_impossible() {
    let told = |us: f64| {
        let row = Record::new().with("benchmark", "pingpong").with("ranks", 2).with("size_B", 8).with("latency_us", us);
        let record = Bounds::open("ib-ndr-fat-tree2", None).unwrap().add(row.with("method", "measured")).unwrap();
        (beyond_by_estimates(&record).is_some(), flag_impossible(record).1.is_some())
    };
    assert_eq!([1.5, 1.0, 0.2].map(told), [(false, false), (true, false), (false, true)]);
}
