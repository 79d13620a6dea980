//! What a node could inject into an otherwise idle fabric.

use hotlink_fabric::spec::Capacities;
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

#[test]
fn the_bus_limits_where_packets_cost_nothing() {
    assert!((injection("sci-torus3d", 27, 1.0) - 533.0).abs() < 1e-9);
}
