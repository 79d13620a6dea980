//! Slim Fly: the graphs are what Besta and Hoefler say of them, and packets in lanes close no circle.

use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Network, Vertex};
use hotlink_fabric::spec::{FabricSpec, RoutingSpec, TopologySpec};
use hotlink_fabric::topology::SlimFly;
use hotlink_load::deadlock;
use std::collections::BTreeSet;

fn slim_fly(radix: u32, nodes: u32) -> Fabric {
    let spec = FabricSpec::bare("slim-fly", TopologySpec::new(SlimFly { radix }), RoutingSpec::ShortestLanes);
    Fabric::build(&spec, nodes).expect("fits")
}

fn neighbours(network: &Network, of: Vertex) -> Vec<Vertex> {
    network.out(of).map(|channel| network.to(channel)).filter(|&to| !network.is_node(to)).collect()
}

#[test]
fn any_two_switches_are_two_links_apart_at_most() {
    // Besta, Hoefler: powers q of primes with these degrees.
    let degrees =
        [(5, 7), (7, 11), (8, 12), (9, 13), (11, 17), (13, 19), (16, 24), (17, 25), (19, 29), (25, 37), (27, 41)];
    for (q, links) in degrees {
        let each = (links as u32).div_ceil(2);
        let fabric = slim_fly(links as u32 + each, 2 * q * q * each);
        let network = &fabric.network;
        let switches: Vec<Vertex> = (network.nodes..network.vertices() as u32).map(Vertex).collect();
        assert_eq!(switches.len() as u32, 2 * q * q);
        for &switch in &switches {
            let near = neighbours(network, switch);
            let distinct: BTreeSet<Vertex> = near.iter().copied().collect();
            assert_eq!((near.len(), distinct.len()), (links, links), "q = {q}, {switch:?}");
            assert!(!distinct.contains(&switch));
            let reached = near.iter().flat_map(|&at| neighbours(network, at)).chain(near.iter().copied());
            assert_eq!(reached.chain([switch]).collect::<BTreeSet<_>>().len(), switches.len(), "q = {q}");
        }
    }
}

/// For q = 5 it is the Hoffman-Singleton graph: as many switches as two links and seven neighbours can reach.
#[test]
fn the_smallest_is_the_graph_of_hoffman_and_singleton() {
    let fabric = slim_fly(11, 200);
    let network = &fabric.network;
    let near = neighbours(network, Vertex(200));
    let far: Vec<Vertex> =
        near.iter().flat_map(|&at| neighbours(network, at)).filter(|&at| at != Vertex(200)).collect();
    assert_eq!((network.vertices() - 200, near.len(), far.len()), (50, 7, 42));
    assert_eq!(far.iter().chain(&near).collect::<BTreeSet<_>>().len(), 49, "no triangle and no square");
}

#[test]
fn a_lane_for_each_hop_closes_no_circle() {
    let fabric = slim_fly(11, 200);
    assert_eq!((fabric.routing.virtual_channels(), fabric.routing.phases()), (2, 3));
    assert!(deadlock::check(&fabric).expect("small").is_free());
}

#[test]
fn the_smallest_that_holds_the_nodes_is_built_and_too_many_are_refused() {
    let spec = |radix| FabricSpec::bare("x", TopologySpec::new(SlimFly { radix }), RoutingSpec::ShortestLanes);
    let switches = |nodes| Fabric::build(&spec(64), nodes).map(|fabric| fabric.network.vertices() as u32 - nodes);
    assert_eq!([200, 201, 588, 589, 777].map(|nodes| switches(nodes).expect("fits")), [50, 98, 98, 128, 162]);
    let refused = |radix, nodes| Fabric::build(&spec(radix), nodes).expect_err("too many").to_string();
    assert!(
        refused(64, 50_000).contains("switches of 64 ports make a Slim Fly of at most 35322"),
        "{}",
        refused(64, 50_000)
    );
    assert!(refused(9, 4).contains("radix = 9: must be 10 to"));
}
