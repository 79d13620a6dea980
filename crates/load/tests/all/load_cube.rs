//! The load count on cubes: M02's closed forms on every link, and symmetry against counting everything.

use hotlink_bound::Limited;
use hotlink_fabric::Fabric;
use hotlink_fabric::catalog;
use hotlink_fabric::spec::{Capacities, FabricSpec, Role, RoutingSpec, TopologySpec};
use hotlink_fabric::topology::{CubeSpec, Extents};
use hotlink_fabric::traffic::Traffic;
use hotlink_load::{count, count_every_destination};
use proptest::prelude::*;

fn sci(dimensions: u32) -> FabricSpec {
    let mut spec = catalog::load("sci-torus2d").expect("in the catalog");
    let extents = Extents::PaddedCube;
    spec.topology = TopologySpec::new(CubeSpec {
        dimensions,
        bidirectional: false,
        b_link: true,
        nodes_per_router: 1,
        host_links: false,
        extents,
    });
    spec.routing = RoutingSpec::DimensionOrder;
    spec
}

/// M02 Eq. 2: 2(N - 1) + sum over d of (d - 1) f! / (d! (f - d)!) (r - 1)^d.
fn hot_b_link(r: u64, f: u64) -> f64 {
    let n = r.pow(f as u32);
    let choose = |d: u64| (0..d).fold(1, |c, i| c * (f - i) / (i + 1));
    (2 * (n - 1) + (2..=f).map(|d| (d - 1) * choose(d) * (r - 1).pow(d as u32)).sum::<u64>()) as f64
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_sci_link_and_b_link_carries_what_m02_equations_1_and_2_say(f in 1u32..=4, r in 2u32..=9) {
        prop_assume!(r.pow(f) <= 800);
        let n = r.pow(f);
        let fabric = Fabric::build(&sci(f), n).unwrap();
        prop_assert_eq!(fabric.nodes(), n);
        for count in [count, count_every_destination] {
            let load = count(&fabric, &Traffic::AllToAll.demand(n, 0).unwrap()).unwrap();
            for (c, role) in fabric.network.channel_role.iter().enumerate().filter(|(_, role)| **role == Role::Link) {
                prop_assert_eq!(load.channel[c], f64::from(n) * f64::from(r - 1) / 2.0, "{:?}", role);
            }
            for (v, _) in fabric.network.vertex_role.iter().enumerate().filter(|(_, role)| **role == Role::BLink) {
                prop_assert_eq!(load.vertex[v], hot_b_link(u64::from(r), u64::from(f)));
            }
        }
    }
}

#[test]
fn a_3_by_3_sci_torus_gives_144_mbps_as_m02_does() {
    let fabric = Fabric::build(&sci(2), 9).unwrap();
    let load = count(&fabric, &Traffic::AllToAll.demand(9, 0).unwrap()).unwrap();
    let bounds = load.bounds(&fabric, Capacities::Measured, 128);
    assert_eq!(bounds.bandwidth_per_node_mbps, 144.0);
    let limit = bounds.limiting().unwrap();
    assert_eq!((limit.role, limit.sharing, limit.resources), (Role::BLink, 9, 9));
    assert_eq!(fabric.resource_name(limit.hottest), format!("{} of node 0", limit.name));
}
