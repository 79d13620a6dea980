//! Requests refused because they would take too long.

use hotlink_fabric::traffic::Traffic;
use hotlink_study::Source;
use hotlink_study::cell::{Cell, What};
use hotlink_study::effort::{check_cell, check_count};

#[test]
fn what_runs_for_days_is_refused_with_what_fits() {
    let tree = Source::open("qsnet").unwrap().build(65_536).unwrap();
    let all = |nodes| Traffic::AllToAll.demand(nodes, 1).unwrap();
    let said = check_count(&tree, &all(65_536)).err();
    assert_eq!(said, None, "minutes");
    let cell = |nodes, size, what| Cell::plain("qsnet", nodes, size, what, 1);
    let exchange = || What::AllToAll { order: hotlink_study::options::Order::LinearShift };
    let said = check_cell(&cell(65_536, 64, exchange()), &tree).unwrap_err();
    assert!(said.contains("hops of packets, and at most 2e9 are allowed: ask for about"), "{said}");
    let between = [0, 65_535];
    let ping = |size| cell(65_536, size, What::PingPong { between, messages: Some(2) });
    check_cell(&ping(8), &tree).unwrap();
    assert!(check_cell(&ping(1 << 60), &tree).unwrap_err().contains("smaller or fewer messages"));
}

/// A full torus is alike from every node, whatever its size.
#[test]
fn a_torus_of_a_million_nodes_is_counted_by_symmetry() {
    let torus = Source::open("sci-torus2d").unwrap().build(1_000_000).unwrap();
    check_count(&torus, &Traffic::AllToAll.demand(1_000_000, 1).unwrap()).unwrap();
    let shift = |nodes| Traffic::Shift(1).demand(nodes, 1).unwrap();
    check_count(&torus, &shift(1_000_000)).unwrap();
    let tree = Source::open("qsnet").unwrap().build(262_144).unwrap();
    let said = check_count(&tree, &shift(262_144)).unwrap_err();
    assert!(said.contains("steps to count the load of the links, and at most 1e11 are allowed"), "{said}");
    assert!(said.contains("nodes or fewer"), "{said}");
}
