//! All-to-all in folded trees and on rails, which is summed block by block or leaf by leaf, against every pair carried hop by
//! hop.

use hotlink_fabric::Fabric;
use hotlink_fabric::network::Node;
use hotlink_fabric::routing::choice::Draw;
use hotlink_fabric::routing::{Hop, Paths, Routing, State, Trip};
use hotlink_fabric::spec::{FabricSpec, RoutingSpec, TopologySpec};
use hotlink_fabric::topology::{Clos64, FatTree, Rail};
use hotlink_fabric::traffic::{Demand, Traffic};
use hotlink_load::{count_every_destination, count_paths, counts_leaves};
use proptest::prelude::*;

fn fat_tree(radix: u32, oversubscription: f64, top_all_down: bool) -> TopologySpec {
    TopologySpec::new(FatTree { radix, levels: None, oversubscription, top_all_down })
}

fn any_tree() -> impl Strategy<Value = (TopologySpec, RoutingSpec)> {
    let over = prop_oneof![Just(1.0), Just(2.0), Just(0.5), Just(3.0)];
    let trees = (2u32..=5, over, any::<bool>()).prop_map(|(half, over, down)| fat_tree(2 * half, over, down));
    let trees = prop_oneof![4 => trees, 1 => Just(TopologySpec::new(Clos64))];
    (trees, prop_oneof![3 => Just(RoutingSpec::ShortestEcmp), 1 => Just(RoutingSpec::ShortestSingle)])
}

/// Carries a pair's flow on from `state`: along the hop that the tables choose, or evenly along all.
fn carry(
    fabric: &Fabric,
    trip: Trip,
    paths: Paths,
    (state, flow): (State, f64),
    channel: &mut [f64],
    vertex: &mut [f64],
) {
    vertex[state.at.0 as usize] += flow;
    let mut hops: Vec<Hop> = Vec::new();
    fabric.hops(state, trip, &mut hops);
    if paths == Paths::Destination && hops.len() > 1 {
        let mut draw = Draw::of_pair(paths, 0, trip.source, trip.destination);
        let place = draw.pick(&fabric.network, fabric.tables(), &hops).unwrap();
        hops = vec![Hop { share: 1.0, ..hops[place] }];
    }
    for hop in hops {
        channel[hop.channel.0 as usize] += flow * hop.share;
        let next = State { at: fabric.network.to(hop.channel), phase: hop.phase };
        carry(fabric, trip, paths, (next, flow * hop.share), channel, vertex);
    }
}

fn pair_by_pair(fabric: &Fabric, demand: &Demand, paths: Paths) -> (Vec<f64>, Vec<f64>) {
    let (mut channel, mut vertex) = (vec![0.0; fabric.network.channels()], vec![0.0; fabric.network.vertices()]);
    demand.pairs(|source, destination, amount| {
        let start = (State::start(source), amount);
        carry(fabric, Trip::new(source, destination), paths, start, &mut channel, &mut vertex);
    });
    (channel, vertex)
}

fn is_tree(fabric: &Fabric) -> bool {
    matches!(&fabric.routing, Routing::Paths(paths) if paths.tree().is_some())
}

fn differ(a: &[f64], b: &[f64]) -> Option<String> {
    let pairs = a.iter().zip(b).enumerate();
    let mut apart =
        pairs.filter(|(_, (x, y))| (*x - *y).abs() > 1e-9 * x.abs().max(1.0) || (**x == 0.0) != (**y == 0.0));
    apart.next().map(|(at, (x, y))| format!("{at}: {x} and {y}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_tree_carries_what_carrying_every_pair_gives(
        (topology, routing) in any_tree(),
        traffic in prop_oneof![Just(Traffic::AllToAll), Just(Traffic::Uniform), Just(Traffic::HotSpot(40))],
        paths in prop_oneof![Just(Paths::Packet), Just(Paths::Destination)],
        n in 1u32..90,
    ) {
        let built = Fabric::build(&FabricSpec::bare("test", topology, routing), n);
        prop_assume!(built.is_ok());
        let fabric = built.unwrap();
        let demand = traffic.demand(fabric.nodes(), 5).unwrap();
        let (channel, vertex) = pair_by_pair(&fabric, &demand, paths);
        let load = count_paths(&fabric, &demand, paths, 0).unwrap();
        let devices = fabric.network.nodes as usize..;
        prop_assert_eq!(differ(&load.channel, &channel), None);
        prop_assert_eq!(differ(&load.vertex[devices.clone()], &vertex[devices]), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn rails_carry_what_carrying_every_pair_gives(
        (gpus_per_host, half, joined, mesh, oversubscription) in
            (1u32..=5, 1u32..=4, any::<bool>(), any::<bool>(), prop_oneof![Just(1.0), Just(2.0), Just(3.0), Just(0.5)]),
        traffic in prop_oneof![Just(Traffic::AllToAll), Just(Traffic::Uniform), Just(Traffic::HotSpot(40))],
        paths in prop_oneof![Just(Paths::Packet), Just(Paths::Destination)],
        n in 1u32..120,
    ) {
        let rail = Rail { gpus_per_host, radix: (2 * half).max(gpus_per_host), joined, mesh, oversubscription };
        let built = Fabric::build(&FabricSpec::bare("test", TopologySpec::new(rail), RoutingSpec::ShortestEcmp), n);
        prop_assume!(built.is_ok());
        let fabric = built.unwrap();
        prop_assume!(fabric.nodes() > 1);
        let demand = traffic.demand(fabric.nodes(), 5).unwrap();
        let (channel, vertex) = pair_by_pair(&fabric, &demand, paths);
        let load = count_paths(&fabric, &demand, paths, 0).unwrap();
        prop_assert_eq!(differ(&load.channel, &channel), None);
        prop_assert_eq!(differ(&load.vertex, &vertex), None);
    }
}

/// With one switch a rail, spines, or cores, full or not, on rails that meet and that do not.
#[test]
fn rails_of_every_level_are_counted_leaf_by_leaf() {
    for (joined, nodes) in [(true, 4), (true, 18), (true, 30), (true, 100), (false, 10), (false, 34), (false, 120)] {
        let rail = Rail { gpus_per_host: 2, radix: 8, joined, mesh: false, oversubscription: 1.0 };
        let spec = FabricSpec::bare("test", TopologySpec::new(rail), RoutingSpec::ShortestEcmp);
        assert!(counts_leaves(&Fabric::build(&spec, nodes).unwrap()), "{joined} {nodes}");
    }
    for (name, nodes) in [("hgx-h100-rail", 1024), ("hgx-h100-pod", 4096), ("gpu-rail", 600), ("mi300x-rail", 64)] {
        let spec = hotlink_fabric::catalog::load(name).unwrap();
        assert!(counts_leaves(&Fabric::build(&spec, nodes).unwrap()), "{name} {nodes}");
    }
    let spec = hotlink_fabric::catalog::load("ib-ndr-fat-tree2").unwrap();
    assert!(!counts_leaves(&Fabric::build(&spec, 64).unwrap()));
}

#[test]
fn trees_of_the_test_are_found_partly_filled_ones_too() {
    for (radix, over, down, nodes) in [(4, 1.0, true, 16), (6, 2.0, true, 50), (8, 1.0, false, 61), (4, 0.5, true, 33)]
    {
        let spec = FabricSpec::bare("test", fat_tree(radix, over, down), RoutingSpec::ShortestEcmp);
        assert!(is_tree(&Fabric::build(&spec, nodes).unwrap()), "{radix} {over} {down} {nodes}");
    }
}

/// A size at which homes, pods and the top all hold unequal numbers.
#[test]
fn a_partly_filled_tree_of_700_nodes_equals_the_count_of_every_destination() {
    let spec = FabricSpec::bare("test", fat_tree(16, 2.0, true), RoutingSpec::ShortestEcmp);
    let fabric = Fabric::build(&spec, 697).unwrap();
    assert!(is_tree(&fabric) && fabric.attachment.nodes_of(0).contains(&Node(0)));
    let demand = Traffic::AllToAll.demand(fabric.nodes(), 0).unwrap();
    let (summed, every) =
        (count_paths(&fabric, &demand, Paths::Packet, 0).unwrap(), count_every_destination(&fabric, &demand).unwrap());
    assert_eq!(differ(&summed.channel, &every.channel), None);
    assert_eq!(differ(&summed.vertex, &every.vertex), None);
}
