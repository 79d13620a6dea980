//! How packets choose among equal paths, and that the load count follows the same choice.

use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Node};
use hotlink_fabric::routing::choice::Draw;
use hotlink_fabric::routing::{Paths, State, Trip};
use hotlink_fabric::spec::{FabricSpec, RoutingSpec, TopologySpec};
use hotlink_fabric::topology::{Clos64, DragonflySpec, FatTree, Rail, SwitchRing};
use hotlink_fabric::traffic::Traffic;
use hotlink_load::LoadError;
use proptest::prelude::*;

fn tree(radix: u32, levels: u32) -> FabricSpec {
    let topology =
        TopologySpec::new(FatTree { radix, levels: Some(levels), oversubscription: 1.0, top_all_down: true });
    FabricSpec::bare("tree", topology, RoutingSpec::ShortestEcmp)
}

fn any_spec() -> impl Strategy<Value = (FabricSpec, u32)> {
    prop_oneof![
        (2u32..=4, 1u32..=3, 2u32..=40).prop_map(|(k, levels, nodes)| (tree(2 * k, levels), nodes)),
        (1u32..=2, 2u32..=40).prop_map(|(links, nodes)| {
            let topology =
                TopologySpec::new(SwitchRing { ports: 8, links, links_per_switch: false, groups: Vec::new() });
            (FabricSpec::bare("ring", topology, RoutingSpec::ShortestEcmp), nodes)
        }),
        (2u32..=40).prop_map(|nodes| {
            let topology =
                TopologySpec::new(DragonflySpec { nodes_per_router: 2, routers_per_group: 3, global_per_router: 1 });
            (FabricSpec::bare("dragonfly", topology, RoutingSpec::DragonflyMinimal), nodes)
        }),
        (2u32..=64).prop_map(|nodes| (FabricSpec::bare("clos", TopologySpec::new(Clos64), RoutingSpec::UpDown), nodes)),
    ]
}

/// The channels of a pair's path, as the simulator walks it.
fn path(fabric: &Fabric, paths: Paths, seed: u64, from: Node, to: Node) -> Vec<Channel> {
    let ways = fabric.ways(Trip::new(from, to));
    let mut draw = Draw::of_pair(paths, seed, from, to);
    let (mut state, mut hops, mut path) = (State::start(from), Vec::new(), Vec::new());
    while state.at != to.vertex() {
        ways.hops(state, &mut hops);
        let hop = hops[draw.pick(&fabric.network, fabric.tables(), &hops).expect("a hop")];
        path.push(hop.channel);
        state = State { at: fabric.network.to(hop.channel), phase: hop.phase };
    }
    path
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn the_count_is_the_sum_of_the_paths_that_packets_take(
        (spec, nodes) in any_spec(), seed in 0u64..50, flow: bool, pattern in 0usize..3,
    ) {
        let Ok(fabric) = Fabric::build(&spec, nodes) else { return Ok(()) };
        let paths = if flow { Paths::Flow } else { Paths::Destination };
        let traffic = [Traffic::AllToAll, Traffic::Random, Traffic::Shift(1)][pattern].clone();
        let demand = traffic.demand(fabric.nodes(), seed).expect("a pattern of any size");
        let counted = hotlink_load::count_paths(&fabric, &demand, paths, seed).expect("routes");
        let mut expected = vec![0.0; fabric.network.channels()];
        let all = (0..nodes).flat_map(|a| (0..nodes).map(move |b| (Node(a), Node(b), demand.all_pairs)));
        let flows = demand.flows.iter().map(|flow| (flow.source, flow.destination, flow.amount));
        for (from, to, amount) in all.chain(flows).filter(|(from, to, amount)| from != to && *amount > 0.0) {
            for channel in path(&fabric, paths, seed, from, to) {
                expected[channel.0 as usize] += amount;
            }
        }
        for (channel, (&counted, &expected)) in counted.channel.iter().zip(&expected).enumerate() {
            prop_assert!((counted - expected).abs() < 1e-9, "channel {channel}: {counted}, walked {expected}");
        }
    }

    #[test]
    fn a_forwarding_table_has_one_entry_for_each_destination((spec, nodes) in any_spec(), to in 0u32..64) {
        let Ok(fabric) = Fabric::build(&spec, nodes) else { return Ok(()) };
        let to = Node(to % nodes);
        let mut entry = std::collections::BTreeMap::new();
        for from in (0..nodes).map(Node).filter(|from| *from != to) {
            for channel in path(&fabric, Paths::Destination, 1, from, to) {
                let at = fabric.network.from(channel);
                prop_assert_eq!(*entry.entry(at).or_insert(channel), channel, "{:?}", at);
            }
        }
    }
}

#[test]
fn tables_of_full_fat_trees_spread_all_to_all_and_shifts_evenly() {
    for (radix, levels, nodes) in [(8, 2, 32), (8, 3, 128), (4, 3, 16), (16, 2, 128), (16, 2, 64)] {
        let fabric = Fabric::build(&tree(radix, levels), nodes).expect("a full tree");
        for traffic in [Traffic::AllToAll, Traffic::Shift(radix / 2)] {
            let demand = traffic.demand(nodes, 1).expect("a pattern");
            let even = hotlink_load::count(&fabric, &demand).expect("routes");
            let tables = hotlink_load::count_paths(&fabric, &demand, Paths::Destination, 1).expect("routes");
            let most = |load: &hotlink_load::Load| load.channel.iter().copied().fold(0.0, f64::max);
            assert!(most(&tables) <= most(&even) * 1.000_001, "radix {radix}, {nodes} nodes, {traffic}");
        }
    }
}

/// In groups that are not full a leaf has several cables to each spine, and a spine several to each core.
#[test]
fn tables_of_pods_with_cores_use_all_cables_alike() {
    let spec = hotlink_fabric::catalog::load("hgx-h100-pod").expect("of the catalog");
    for (radix, nodes) in [(16, 128), (16, 192), (16, 256), (16, 512), (32, 1024)] {
        let topology =
            TopologySpec::new(Rail { gpus_per_host: 8, radix, joined: true, mesh: false, oversubscription: 1.0 });
        let fabric = Fabric::build(&FabricSpec { topology, ..spec.clone() }, nodes).expect("a pod");
        let demand = Traffic::AllToAll.demand(nodes, 1).expect("a pattern");
        let most = |paths| {
            let load = hotlink_load::count_paths(&fabric, &demand, paths, 1).expect("routes");
            load.channel.iter().copied().fold(0.0, f64::max)
        };
        assert!(most(Paths::Destination) <= most(Paths::Packet) * 1.000_001, "radix {radix}, {nodes} GPUs");
    }
}

#[test]
fn a_random_permutation_collides_on_tables_and_not_on_an_even_split() {
    let spec = hotlink_fabric::catalog::load("ib-ndr-fat-tree2").expect("of the catalog");
    assert_eq!(spec.paths, Paths::Destination);
    let fabric = Fabric::build(&spec, 512).expect("512 nodes");
    let demand = Traffic::Random.demand(512, 1).expect("a permutation");
    let most = |paths| {
        let load = hotlink_load::count_paths(&fabric, &demand, paths, 1).expect("routes");
        load.channel.iter().copied().fold(0.0, f64::max)
    };
    assert!(most(Paths::Packet) <= 1.0 + 1e-9);
    assert!(most(Paths::Destination) >= 3.0 && most(Paths::Flow) >= 3.0);
}

#[test]
fn too_many_pairs_are_an_error_that_names_the_way_out() {
    let topology = TopologySpec::new(FatTree { radix: 72, levels: Some(3), oversubscription: 1.0, top_all_down: true });
    let fabric = Fabric::build(&FabricSpec::bare("tree", topology, RoutingSpec::ShortestEcmp), 65_600).expect("built");
    let demand = Traffic::AllToAll.demand(65_600, 1).expect("all-to-all");
    let error = hotlink_load::count_paths(&fabric, &demand, Paths::Flow, 1).map(|_| ()).expect_err("too many pairs");
    assert!(matches!(error, LoadError::Pairs { .. }) && error.to_string().contains("paths: packet"), "{error}");
}
