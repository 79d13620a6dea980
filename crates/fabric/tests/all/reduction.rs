//! Reductions in the network: times of the catalog's networks against their sources.

use hotlink_fabric::catalog;
use hotlink_fabric::reduction::ReductionSpec;

fn spec(name: &str) -> ReductionSpec {
    catalog::load(name).unwrap().reduction.unwrap()
}

#[test]
fn sharp_is_fitted_to_both_times_that_its_paper_prints() {
    let us = |bytes| spec("sharp").latency(128, bytes).unwrap().us();
    assert!((us(8) - 2.83).abs() < 0.005 && (us(4096) - 14.48).abs() < 0.005, "{} {}", us(8), us(4096));
}

#[test]
fn bluegenes_sum_of_doubles_takes_two_passes() {
    let us = spec("bluegene-l").latency(65_536, 8).unwrap().us();
    assert!((us - 10.0).abs() < 0.05, "{us}");
}

#[test]
fn segments_hold_all_bytes() {
    let spec = spec("sharp");
    for (bytes, count) in [(0, 1), (1, 1), (256, 1), (257, 2), (4096, 16)] {
        assert_eq!(spec.segments(bytes).count, count, "{bytes} B");
    }
    let (one, all) = (spec.segments(256), spec.segments(512));
    assert_eq!((one.last, all.last), (all.each, all.each));
}
