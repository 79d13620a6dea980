//! What a node could inject into an otherwise idle fabric.

use hotlink_fabric::network::{Node, Override};
use hotlink_fabric::spec::Capacities;
use hotlink_fabric::units::Rate;
use hotlink_fabric::{Fabric, catalog};

fn injection(name: &str, nodes: u32, efficiency: f64) -> f64 {
    let fabric = Fabric::build(&catalog::load(name).unwrap(), nodes).unwrap();
    fabric.injection_mbps(Capacities::Theoretical, efficiency).unwrap()
}

#[test]
fn an_sci_node_injects_what_its_narrowest_own_device_carries() {
    // B-Link 640 x 2/3 is below the link's 667 x 2/3 and the bus's 533.
    assert!((injection("sci-ring", 8, 2.0 / 3.0) - 640.0 * 2.0 / 3.0).abs() < 1e-9);
    assert!((injection("sci-torus2d", 9, 2.0 / 3.0) - 640.0 * 2.0 / 3.0).abs() < 1e-9);
}

/// What is broken is no measure: that of all others stays.
#[test]
fn a_slow_node_is_not_what_nodes_could_inject() {
    let fabric = Fabric::build(&catalog::load("ib-ndr-fat-tree2").unwrap(), 8).unwrap();
    let whole = fabric.injection_mbps(Capacities::Theoretical, 1.0).unwrap();
    let mut slow = fabric;
    let link = slow.network.port(Node(3).vertex(), 0);
    slow.network.overrides.insert(link, Override { rate: Some(Rate(1_000_000)), ..Override::default() });
    assert_eq!(slow.injection_at_mbps(Node(3), Capacities::Theoretical, 1.0), Some(1.0));
    assert_eq!(slow.injection_mbps(Capacities::Theoretical, 1.0), Some(whole));
}

#[test]
fn the_bus_limits_where_packets_cost_nothing() {
    assert!((injection("sci-torus3d", 27, 1.0) - 533.0).abs() < 1e-9);
}

/// A host that a link joins to a switch injects no more than that link carries. A node that is its own router injects
/// more.
#[test]
fn a_host_on_a_torus_of_switches_has_a_link() {
    assert_eq!(injection("myrinet-torus3d", 8, 1.0), injection("myrinet-minimal", 8, 1.0));
    assert_eq!(injection("myrinet-torus3d", 80, 1.0), 160.0);
    assert!((injection("ai-pod-torus3d", 27, 1.0) - 6.0 * 50_000.0).abs() < 1e-6);
}
