//! Fabrics are built or refused: no parameters, however wild, make a generator panic or run away.

use hotlink_fabric::inventory::Inventory;
use hotlink_fabric::network::{Resource, Vertex};
use hotlink_fabric::spec::{FabricSpec, ItemKind, RoutingSpec, TopologySpec};
use hotlink_fabric::topology::{
    Clos64, Crossbar, CubeSpec, DragonflyPlus, DragonflySpec, Extents, FatTree, Graph, Rail, Shared, SwitchArray,
    SwitchRing,
};
use hotlink_fabric::{Fabric, catalog, topology, traffic::Traffic};
use proptest::prelude::*;
use std::collections::BTreeSet;

#[test]
fn extents_follow_from_the_number_of_nodes() {
    let extents = |n, dimensions, of: &Extents| {
        let (bidirectional, b_link, nodes_per_router, host_links, extents) = (true, false, 1, false, of.clone());
        let spec = CubeSpec { dimensions, bidirectional, b_link, nodes_per_router, host_links, extents };
        topology::Cube::new(n, &spec).unwrap().extents
    };
    for (nodes, dimensions, wanted) in
        [(64, 3, &[4, 4, 4][..]), (65536, 3, &[64, 32, 32]), (24, 2, &[6, 4]), (13, 3, &[13]), (1, 4, &[])]
    {
        assert_eq!(extents(nodes, dimensions, &Extents::Balanced), wanted);
    }
    for (nodes, side) in [(26, 3), (27, 3), (28, 4)] {
        assert_eq!(extents(nodes, 3, &Extents::PaddedCube), [side; 3]);
    }
    assert!(extents(1, 5, &Extents::PaddedCube).is_empty());
}

#[test]
fn bad_parameters_of_cubes_are_refused_with_what_is_allowed() {
    let cube = |n, dimensions, bidirectional, b_link, nodes_per_router, e: &Extents| {
        let (host_links, extents) = (false, e.clone());
        let spec = CubeSpec { dimensions, bidirectional, b_link, nodes_per_router, host_links, extents };
        topology::Cube::new(n, &spec).map_err(|e| e.0)
    };
    assert!(cube(8, 0, true, false, 1, &Extents::Balanced).unwrap_err().contains("1 to 16"));
    assert!(cube(8, 2, true, true, 1, &Extents::Balanced).unwrap_err().contains("unidirectional"));
    assert!(cube(8, 2, true, false, 1, &Extents::Fixed(vec![3, 3])).unwrap_err().contains("3 x 3"));
    assert!(cube(8, 2, true, false, 1, &Extents::Fixed(vec![8])).unwrap_err().contains("one for each"));
    assert!(cube(8, 2, true, false, 1, &Extents::Fixed(vec![u32::MAX, u32::MAX])).is_err());
}

/// Small, large and absurd numbers.
fn any_count() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0u32..20, 2 => 0u32..2000, 1 => any::<u32>(), 1 => Just(u32::MAX)]
}

fn any_topology() -> impl Strategy<Value = TopologySpec> {
    let extents = prop_oneof![
        Just(Extents::PaddedCube),
        Just(Extents::Balanced),
        proptest::collection::vec(any_count(), 0..4).prop_map(Extents::Fixed),
    ];
    let groups = || prop_oneof![Just(Vec::new()), proptest::collection::vec(any_count(), 1..5)];
    let oversubscription = || prop_oneof![Just(1.0), Just(f64::NAN), any::<f64>(), 0.1f64..8.0];
    prop_oneof![
        (any_count(), any::<[bool; 3]>(), any_count(), extents).prop_map(
            |(dimensions, [bidirectional, b_link, host_links], nodes_per_router, extents)| {
                TopologySpec::new(CubeSpec { dimensions, bidirectional, b_link, nodes_per_router, host_links, extents })
            }
        ),
        (any_count(), any_count(), groups()).prop_map(|(ports, links, groups)| TopologySpec::new(SwitchArray {
            ports,
            links,
            groups
        })),
        (any_count(), any_count(), any::<bool>(), groups()).prop_map(|(ports, links, links_per_switch, groups)| {
            TopologySpec::new(SwitchRing { ports, links, links_per_switch, groups })
        }),
        Just(TopologySpec::new(Clos64)),
        (any_count(), proptest::option::of(any_count()), oversubscription(), any::<bool>()).prop_map(
            |(radix, levels, oversubscription, top_all_down)| {
                TopologySpec::new(FatTree { radix, levels, oversubscription, top_all_down })
            }
        ),
        (any_count(), any_count(), any_count()).prop_map(|(p, a, h)| TopologySpec::new(DragonflySpec {
            nodes_per_router: p,
            routers_per_group: a,
            global_per_router: h
        })),
        (any_count(), any_count(), any::<bool>(), any::<bool>(), oversubscription()).prop_map(
            |(gpus_per_host, radix, joined, mesh, oversubscription)| {
                TopologySpec::new(Rail { gpus_per_host, radix, joined, mesh, oversubscription })
            }
        ),
        (any_count(), any_count(), any_count(), any_count()).prop_map(
            |(nodes_per_leaf, leaves, spines, global_per_spine)| {
                TopologySpec::new(DragonflyPlus { nodes_per_leaf, leaves, spines, global_per_spine })
            }
        ),
        any_count().prop_map(|ports| TopologySpec::new(Crossbar { ports })),
        Just(TopologySpec::new(Shared)),
        Just(TopologySpec::new(Graph)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_fabric_is_built_soundly_or_refused_with_a_reason(topology in any_topology(), nodes in prop_oneof![0u32..200, Just(5000u32), Just(u32::MAX)]) {
        match Fabric::build(&FabricSpec::bare("wild", topology, RoutingSpec::ShortestEcmp), nodes) {
            Err(error) => prop_assert!(error.0.len() > 10, "{error}"),
            Ok(fabric) => {
                let network = &fabric.network;
                prop_assert!(fabric.nodes() >= nodes && nodes > 0);
                prop_assert_eq!(network.out_start.len(), network.vertices() + 1);
                prop_assert!(network.to.iter().all(|to| (to.0 as usize) < network.vertices()));
                prop_assert!(network.from.is_sorted());
                for node in network.node_iter() {
                    prop_assert!(network.out(node.vertex()).len() > 0, "every node has a way out");
                }
            }
        }
    }
}

#[test]
fn no_switch_has_more_links_than_ports() {
    let ports = |topology: &TopologySpec| {
        let array = topology.get().map(|array: &SwitchArray| array.ports);
        let ring = topology.get().map(|ring: &SwitchRing| ring.ports);
        let tree = topology.get().map(|tree: &FatTree| tree.radix);
        let clos = topology.get().map(|_: &Clos64| 16);
        let router = |of: &DragonflySpec| of.nodes_per_router + of.routers_per_group - 1 + of.global_per_router;
        array.or(ring).or(tree).or(clos).or(topology.get().map(router))
    };
    let mut checked = 0;
    let fabrics = [
        "myrinet-minimal",
        "myrinet-ring2",
        "myrinet-ring4",
        "myrinet-clos64",
        "qsnet",
        "ib-ndr-fat-tree2",
        "ib-ndr-fat-tree2-2to1",
        "ib-ndr-fat-tree3",
        "eth-400g-leaf-spine",
        "slingshot-dragonfly",
    ];
    for name in fabrics {
        let spec = catalog::load(name).unwrap();
        let Some(ports) = ports(&spec.topology) else { continue };
        for nodes in (1..=130).chain([200, 513, 1000, 2049]) {
            let Ok(fabric) = Fabric::build(&spec, nodes) else { continue };
            for v in fabric.network.nodes..fabric.network.vertices() as u32 {
                let used = fabric.network.out(Vertex(v)).len();
                assert!(used <= ports as usize, "{name} with {nodes} nodes: {used} links on {ports} ports");
            }
            checked += 1;
        }
    }
    assert!(checked > 1000, "{checked}");
}

#[test]
fn no_two_switches_have_one_name() {
    for (name, nodes) in
        [("qsnet", 64), ("qsnet", 256), ("qsnet", 1024), ("ib-ndr-fat-tree3", 2049), ("myrinet-clos64", 64)]
    {
        let fabric = Fabric::build(&catalog::load(name).unwrap(), nodes).unwrap();
        let vertices = fabric.network.nodes..fabric.network.vertices() as u32;
        let names: BTreeSet<String> =
            vertices.clone().map(|v| fabric.resource_name(Resource::Vertex(Vertex(v)))).collect();
        assert_eq!(names.len(), vertices.len(), "{name} with {nodes} nodes");
    }
}

#[test]
fn the_sums_do_not_depend_on_the_number_of_cores() {
    let spec = catalog::load("slingshot-dragonfly").unwrap();
    let fabric = Fabric::build(&spec, 700).unwrap();
    let demand = Traffic::HotSpot(30).demand(fabric.nodes(), 0).unwrap();
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| hotlink_load::count(&fabric, &demand).unwrap())
    };
    let bits = |load: hotlink_load::Load| load.channel.into_iter().map(f64::to_bits).collect::<Vec<_>>();
    let one = bits(with(1));
    assert_eq!(one, bits(with(2)));
    assert_eq!(one, bits(with(5)));
}

/// Fewer links up need no more switches above them.
/// Leaves of 64 ports with 42 hosts and 22 links up at 2:1; the rest has full bisection. 1:1 is as it was.
#[test]
fn rails_are_oversubscribed_between_leaves_and_spines() {
    let count = |joined: bool, oversubscription: f64, hosts: u32| {
        let rail = Rail { joined, oversubscription, ..Rail::apart(8, 64) };
        let levels = rail.levels(hosts).unwrap();
        let fabric =
            Fabric::build(&FabricSpec::bare("rail", TopologySpec::new(rail), RoutingSpec::ShortestEcmp), 8 * hosts);
        let pieces = Inventory::of(&fabric.unwrap());
        assert_eq!(levels.held + levels.leaf_up, 64);
        (levels.held, pieces.count(ItemKind::Switch), pieces.count(ItemKind::CableSwitch))
    };
    // 128 hosts on four leaves a rail, with 22 links up each. Spines of 64 ports take 4 x 22 links of a rail, or 32 x 22.
    assert_eq!(count(false, 2.0, 128), (42, 8 * (4 + 2), 8 * 4 * 22));
    assert_eq!(count(true, 2.0, 128), (42, 32 + 11, 32 * 22));
    assert_eq!(count(false, 1.0, 128), (32, 8 * (4 + 2), 8 * 4 * 32));
    assert!(Rail { oversubscription: 2.0, ..Rail::apart(8, 64) }.levels(64 * 32 * 42).is_ok());
}

#[test]
fn more_oversubscription_needs_no_more_switches() {
    for (nodes, levels) in [(100, 2), (256, 2), (500, 2), (1500, 3)] {
        let mut last = u32::MAX;
        for step in 0..=40 {
            let oversubscription = 1.0 + f64::from(step) / 8.0;
            let tree = FatTree { radix: 64, levels: Some(levels), oversubscription, top_all_down: true };
            let Ok((network, _)) = topology::build(&TopologySpec::new(tree), nodes) else { continue };
            let switches = network.vertices() as u32 - nodes;
            // What rounding to whole ports gives and takes: a switch or two of each level, more of three.
            let most = last.saturating_add(levels.max(last / 5));
            assert!(switches <= most, "{nodes} nodes, {oversubscription}: {switches} after {last}");
            last = last.min(switches);
        }
    }
}
