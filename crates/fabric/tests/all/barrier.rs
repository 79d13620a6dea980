//! Hardware barriers: latencies of the catalog's networks against their sources.

use hotlink_fabric::barrier::{BarrierError, BarrierSpec};
use hotlink_fabric::catalog;
use hotlink_fabric::units::Time;

fn spec(name: &str) -> BarrierSpec {
    catalog::load(name).unwrap().barrier.unwrap()
}

#[test]
fn one_device_is_h06s_model() {
    let hwbarr = spec("hwbarr");
    assert_eq!(hwbarr.latency(4, false).unwrap(), Time(2_440_000));
    assert_eq!(hwbarr.latency(2, false).unwrap(), Time(2_420_000));
}

#[test]
fn what_is_known_for_whole_networks_is_taken_from_the_next_larger() {
    let board = spec("hwbarr-hx8k");
    let op = |nodes: u32| board.processing[&nodes].value;
    assert_eq!((board.gate(2), board.gate(4), board.gate(5)), (op(4), op(4), op(8)));
    assert_eq!(board.latency(256, false).unwrap(), Time(2_400_000 + op(256).0));
    assert_eq!(board.latency(257, false), Err(BarrierError::Nodes { nodes: 257, least: 2, most: 256 }));
}

#[test]
fn a_machines_tree_is_climbed_whole_unless_partitioned() {
    let tree = spec("bluegene-l");
    assert_eq!(tree.levels(2, false).unwrap().len(), tree.levels(65_536, false).unwrap().len());
    assert_eq!(tree.latency(2, false).unwrap(), tree.latency(65_536, false).unwrap());
    assert!(tree.latency(512, true).unwrap() < tree.latency(512, false).unwrap());
    assert_eq!(tree.levels(513, true).unwrap().len(), tree.levels(1024, true).unwrap().len());
    assert_eq!(tree.levels(65_537, false), Err(BarrierError::Nodes { nodes: 65_537, least: 2, most: 65_536 }));
    assert_eq!(spec("hwbarr").levels(4, true), Err(BarrierError::Whole));
}
