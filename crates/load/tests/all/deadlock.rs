//! Deadlock freedom: the check finds the cycles that are there and passes the routings that were made to avoid them.

use hotlink_fabric::Fabric;
use hotlink_fabric::catalog;
use hotlink_fabric::network::Channel;
use hotlink_fabric::spec::{FabricSpec, RoutingSpec, TopologySpec};
use hotlink_fabric::technology;
use hotlink_fabric::topology::hyperx::HyperX;
use hotlink_fabric::topology::{Clos64, CubeSpec, DragonflyPlus, DragonflySpec, Extents, FatTree, SlimFly, SwitchRing};
use hotlink_load::deadlock::{Protection, check};

fn torus(dimensions: u32, bidirectional: bool) -> TopologySpec {
    TopologySpec::new(CubeSpec {
        dimensions,
        bidirectional,
        b_link: false,
        nodes_per_router: 1,
        host_links: false,
        extents: Extents::Balanced,
    })
}

fn build(topology: TopologySpec, routing: RoutingSpec, nodes: u32) -> Fabric {
    let spec = FabricSpec::bare("test", topology, routing);
    let spec = spec.of_technology(technology::named("myrinet").unwrap());
    Fabric::build(&spec, nodes).unwrap()
}

#[test]
fn a_torus_without_virtual_channels_can_deadlock_and_its_cycle_is_one() {
    for (dimensions, both, nodes) in [(1, false, 3), (1, true, 5), (2, true, 25), (2, false, 9)] {
        let fabric = build(torus(dimensions, both), RoutingSpec::ShortestEcmp, nodes);
        let report = check(&fabric).unwrap();
        assert!(!report.is_free());
        let cycle = report.cycle.as_ref().expect("a cycle");
        for (i, held) in cycle.iter().enumerate() {
            let next: Channel = cycle[(i + 1) % cycle.len()].channel;
            assert_eq!(fabric.network.to(held.channel), fabric.network.from(next), "the cycle is connected");
        }
        assert!(report.sentence(&fabric).starts_with("can deadlock: a cycle of"));
    }
}

#[test]
fn the_same_torus_with_dateline_virtual_channels_cannot() {
    for (dimensions, both, nodes) in
        [(1, false, 3), (1, true, 5), (2, true, 25), (2, false, 9), (3, true, 60), (3, true, 8)]
    {
        let report = check(&build(torus(dimensions, both), RoutingSpec::DimensionOrder, nodes)).unwrap();
        assert_eq!(report.cycle, None);
        assert!(report.dependencies > 0 || nodes == 8, "extent 2: a packet takes one channel per dimension");
    }
}

/// By short routes, since all routes of such a ring would take days.
#[test]
fn a_ring_of_100_000_nodes_is_checked() {
    let fabric = Fabric::build(&catalog::load("sci-ring").unwrap(), 100_000).unwrap();
    let report = check(&fabric).unwrap();
    assert_eq!(report.protection, Some(Protection::RingAccess));
    assert!(report.is_free() && report.cycle.is_some_and(|cycle| cycle.len() == 100_000));
}

#[test]
fn up_down_never_deadlocks_where_shortest_paths_may() {
    let ring = TopologySpec::new(SwitchRing { ports: 8, links: 1, links_per_switch: false, groups: Vec::new() });
    assert!(!check(&build(ring.clone(), RoutingSpec::ShortestEcmp, 40)).unwrap().is_free());
    assert!(check(&build(ring, RoutingSpec::UpDown, 40)).unwrap().is_free());
    // So it is what a ring of switches takes whose file does not say.
    for name in ["myrinet-ring2", "myrinet-ring4"] {
        let spec = hotlink_fabric::catalog::load(name).unwrap();
        assert!(check(&hotlink_fabric::Fabric::build(&spec, 64).unwrap()).unwrap().is_free());
    }
    for nodes in [4, 9, 13, 25] {
        assert!(check(&build(torus(2, true), RoutingSpec::UpDown, nodes)).unwrap().is_free());
    }
}

#[test]
fn trees_and_dragonflies_are_free_by_their_own_routing() {
    use RoutingSpec::{DragonflyMinimal, DragonflyValiant, ShortestEcmp};
    let tree = TopologySpec::new(FatTree { radix: 4, levels: None, oversubscription: 1.0, top_all_down: true });
    assert!(check(&build(tree, ShortestEcmp, 16)).unwrap().is_free());
    assert!(check(&build(TopologySpec::new(Clos64), ShortestEcmp, 128)).unwrap().is_free());
    let dragonfly =
        TopologySpec::new(DragonflySpec { nodes_per_router: 2, routers_per_group: 4, global_per_router: 2 });
    for routing in [DragonflyMinimal, DragonflyValiant] {
        let report = check(&build(dragonfly.clone(), routing, 72)).unwrap();
        assert!(report.cycle.is_none() && report.dependencies > 0, "{routing:?}: {report:?}");
    }
    // By other groups or switches, each hop in a lane of its own.
    let plus = DragonflyPlus { nodes_per_leaf: 2, leaves: 3, spines: 2, global_per_spine: 3 };
    let regional = [
        (TopologySpec::new(plus), 36),
        (TopologySpec::new(SlimFly { radix: 11 }), 200),
        (TopologySpec::new(HyperX { extents: vec![3, 4], links: 1, nodes_per_switch: 2 }), 24),
    ];
    for (topology, nodes) in regional {
        let report = check(&build(topology.clone(), RoutingSpec::ShortestValiant, nodes)).unwrap();
        assert!(report.cycle.is_none() && report.dependencies > 0, "{topology:?}: {report:?}");
        assert!(report.lanes >= 4, "{topology:?}: {report:?}");
    }
    assert!(!check(&build(dragonfly, ShortestEcmp, 72)).unwrap().is_free(), "one virtual channel is not enough");
}

#[test]
fn sci_rings_are_said_to_rely_on_their_access_protocol() {
    let fabric = Fabric::build(&catalog::load("sci-torus2d").unwrap(), 16).unwrap();
    let report = check(&fabric).unwrap();
    assert!(report.cycle.is_some(), "the rings themselves are cycles");
    assert_eq!(report.protection, Some(Protection::RingAccess));
    assert!(report.sentence(&fabric).contains("ring access protocol"));
}

#[test]
fn a_large_torus_is_checked_and_what_is_too_large_is_refused() {
    assert!(check(&build(torus(3, true), RoutingSpec::DimensionOrder, 65_536)).unwrap().is_free());
    let tree = TopologySpec::new(FatTree { radix: 64, levels: None, oversubscription: 1.0, top_all_down: true });
    let error = check(&build(tree, RoutingSpec::ShortestEcmp, 65_536)).unwrap_err();
    assert!(error.to_string().contains("smaller size"));
}

/// From rings of 65 on, short routes stand for all: the graph goes on growing as it did with all routes.
#[test]
fn short_routes_of_a_ring_depend_on_all_that_long_ones_do() {
    let graph = |name: &str, others: &[u32], ring: u32| {
        let spec = catalog::load(name).unwrap();
        let extents: Vec<u32> = [&[ring], others].concat();
        let nodes = extents.iter().product();
        let cube = CubeSpec { extents: Extents::Fixed(extents), ..spec.topology.get::<CubeSpec>().unwrap().clone() };
        let spec = FabricSpec { topology: TopologySpec::new(cube), ..spec };
        let report = check(&Fabric::build(&spec, nodes).unwrap()).unwrap();
        [report.channels as i64, report.dependencies as i64]
    };
    for (name, others) in [("sci-ring", &[][..]), ("sci-torus2d", &[3]), ("ai-pod-torus3d", &[3, 2])] {
        let graph = |ring| graph(name, others, ring);
        // Two rings longer, of one parity.
        let grows = |from: u32, to: u32| {
            let (less, more) = (graph(from), graph(to));
            [0, 1].map(|at| more[at] - less[at])
        };
        for parity in [0, 1] {
            let whole = grows(60 + parity, 62 + parity);
            assert!(whole.iter().all(|&grown| grown > 0), "{name}: {whole:?}");
            for (from, to) in [(62 + parity, 66 + parity), (66 + parity, 68 + parity)] {
                let pairs = i64::from(to - from) / 2;
                assert_eq!(grows(from, to), whole.map(|grown| pairs * grown), "{name}, rings of {from} and {to}");
            }
        }
    }
}
