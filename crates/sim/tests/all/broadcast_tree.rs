//! The trees by which QsNet's switches copy a packet.

use hotlink_fabric::{Fabric, catalog};
use hotlink_sim::{Plan, Settings};

#[test]
fn every_source_turns_at_the_same_switch_and_reaches_each_node_once() {
    let spec = catalog::load("qsnet").unwrap();
    for nodes in [2, 4, 8, 16, 32, 64, 100, 256, 1024] {
        let fabric = Fabric::build(&spec, nodes).unwrap();
        let plan = Plan::new(&fabric, &Settings::of(&spec)).unwrap();
        let built = fabric.nodes();
        let tree = |from| plan.broadcast_tree(from, [0, built - 1], false).unwrap();
        let root = tree(0).root;
        for from in [0, 1, built / 3, built / 2, built - 1] {
            let tree = tree(from);
            assert_eq!(tree.root, root, "{nodes} nodes, from {from}");
            let leaves = (0..tree.stages.len() as u32).filter(|&i| tree.kids(i).is_empty());
            let leaves: Vec<u32> = leaves.collect();
            assert_eq!(leaves.len() as u32, built);
            assert!(leaves.iter().all(|&leaf| tree.stages[leaf as usize].is_last()));
            let mut lanes: Vec<u32> = tree.stages.iter().map(|stage| stage.lane).collect();
            lanes.sort_unstable();
            lanes.dedup();
            assert_eq!(lanes.len(), tree.stages.len(), "no channel twice");
        }
    }
}

#[test]
fn a_range_within_a_switch_turns_there() {
    let spec = catalog::load("qsnet").unwrap();
    let fabric = Fabric::build(&spec, 64).unwrap();
    let plan = Plan::new(&fabric, &Settings::of(&spec)).unwrap();
    let tree = |from, range| plan.broadcast_tree(from, range, false).unwrap();
    assert_eq!(tree(1, [0, 3]).switches, 1);
    assert_eq!(tree(1, [0, 3]).copies, 4);
    assert_eq!(tree(1, [2, 15]).switches, 3);
    assert_eq!(tree(1, [2, 16]).switches, 5);
    assert_eq!(tree(20, [2, 3]).switches, 5);
    for (from, range) in [(0, [3, 2]), (0, [0, 64]), (64, [0, 1]), (5, [5, 5])] {
        assert!(plan.broadcast_tree(from, range, false).is_err());
    }
    let spec = catalog::load("ib-ndr-fat-tree2").unwrap();
    let fabric = Fabric::build(&spec, 16).unwrap();
    let plan = Plan::new(&fabric, &Settings::of(&spec)).unwrap();
    assert!(plan.broadcast_tree(0, [0, 15], false).unwrap_err().to_string().contains("replicate"));
}
