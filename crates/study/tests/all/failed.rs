//! Fabrics of which a part has failed.

use hotlink_bound::Limited;
use hotlink_fabric::spec::Capacities;
use hotlink_fabric::traffic::Traffic;
use hotlink_load::count;
use hotlink_study::Source;

fn per_node(name: &str, nodes: u32) -> f64 {
    let fabric = Source::open(name).unwrap().build(nodes).unwrap();
    let demand = Traffic::AllToAll.demand(fabric.nodes(), 0).unwrap();
    count(&fabric, &demand).unwrap().bounds(&fabric, Capacities::Measured, 1 << 20).bandwidth_per_node_mbps
}

#[test]
fn a_failed_part_takes_bandwidth_and_is_named() {
    let whole = per_node("ib-ndr-fat-tree2-2to1", 512);
    let cable = per_node("ib-ndr-fat-tree2-2to1+fail:leaf 0 -> spine 0 #1", 512);
    let two = per_node("ib-ndr-fat-tree2-2to1+fail:leaf 0 -> spine 0 #1+fail:leaf 0 -> spine 0 #1", 512);
    let switch = per_node("ib-ndr-fat-tree2-2to1+fail:spine 0", 512);
    assert!(whole > cable && cable > two && two > 0.0, "{whole} {cable} {two}");
    assert!(switch < whole && switch > 0.0, "{switch}");
}

/// A view prints what a cable is before its ends: both are its name.
#[test]
fn a_cable_is_found_by_its_ends_and_by_its_whole_name() {
    let by = |part: &str| per_node(&format!("ib-ndr-fat-tree2-2to1+fail:{part}"), 512);
    let ends = "leaf 0 -> spine 0 #1";
    assert_eq!(by(ends), by(&format!("NDR inter-switch link {ends}")));
}

/// Leaves of a full tree send three quarters of their traffic up: a cable less is no bound yet.
#[test]
fn a_full_tree_spares_a_cable() {
    assert_eq!(per_node("ib-ndr-fat-tree2", 128), per_node("ib-ndr-fat-tree2+fail:leaf 0 -> spine 0 #1", 128));
}

#[test]
fn parts_that_are_not_there_and_hosts_cut_off_are_errors() {
    for (part, why) in [
        ("spine 99", "no such switch"),
        ("leaf 0", "node 0 and 31 more would be cut off"),
        ("node 3 -> leaf 0", "leaf 0: node 3 would be cut off"),
        ("random:3", "in dumps of a network only"),
        ("", "such as `leaf 0"),
    ] {
        let source = Source::open(&format!("ib-ndr-fat-tree2+fail:{part}")).unwrap();
        let error = source.build(128).unwrap_err();
        assert!(error.contains(why), "{part}: {error}");
    }
    for (name, nodes, why) in [
        ("ib-ndr-fat-tree2+fail:spine 0", 64, "it has one switch"),
        // The GPU still has links: those into its host.
        ("hgx-h100-pod+fail:rail leaf 0", 64, "would be cut off from"),
    ] {
        let error = Source::open(name).unwrap().build(nodes).unwrap_err();
        assert!(error.contains(why), "{name}: {error}");
    }
}
