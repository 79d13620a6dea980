//! Shortest paths against a search written here: complete trees, which need no table, and trees with broken links.

use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Builder, Channel, Network, Node, Vertex};
use hotlink_fabric::routing::{Hop, State, Trip};
use hotlink_fabric::spec::{FabricSpec, RoutingSpec, TopologySpec};
use hotlink_fabric::topology::{FatTree, Shape};
use proptest::prelude::*;

fn tree(radix: u32, levels: Option<u32>, over: f64, top_all_down: bool) -> FabricSpec {
    let topology = TopologySpec::new(FatTree { radix, levels, oversubscription: over, top_all_down });
    FabricSpec::bare("tree", topology, RoutingSpec::ShortestEcmp)
}

/// The same network without some directions of its links between switches.
fn without(network: &Network, gone: &[Channel]) -> Network {
    let mut builder = Builder::new(network.nodes);
    for v in network.nodes..network.vertices() as u32 {
        builder.vertices(1, network.vertex_role[v as usize]);
    }
    for c in (0..network.channels() as u32).map(Channel).filter(|c| !gone.contains(c)) {
        builder.channel(network.from(c), network.to(c), network.channel_role[c.0 as usize]);
    }
    builder.build()
}

/// Hops from each vertex to `target`, by rounds over all channels between devices.
fn hops_to(network: &Network, target: Vertex) -> Vec<Option<u32>> {
    let mut hops = vec![None; network.vertices()];
    hops[target.0 as usize] = Some(0);
    for round in 0..network.vertices() as u32 {
        let before = hops.clone();
        for c in (0..network.channels() as u32).map(Channel) {
            let (from, to) = (network.from(c), network.to(c));
            if !network.is_node(from) && before[to.0 as usize] == Some(round) && hops[from.0 as usize].is_none() {
                hops[from.0 as usize] = Some(round + 1);
            }
        }
        if hops == before {
            break;
        }
    }
    hops
}

/// Asserts that every device knows its hops and paths to every home.
fn assert_shortest(fabric: &Fabric) {
    let network = &fabric.network;
    for (group, &home) in fabric.attachment.homes.iter().enumerate() {
        let toward = fabric.routing.toward(network, &fabric.attachment, group);
        let expected = hops_to(network, home);
        for at in (network.nodes..network.vertices() as u32).map(Vertex) {
            let here = expected[at.0 as usize];
            assert_eq!(toward.rank(State { at, phase: 0 }), here, "from {at:?} to home {group}");
            let mut ways = Vec::new();
            toward.hops(State { at, phase: 0 }, &mut ways);
            let nearer = |c: &Channel| {
                let there = expected[network.to(*c).0 as usize];
                !network.is_node(network.to(*c)) && here.is_some_and(|here| here > 0 && there == Some(here - 1))
            };
            let expected: Vec<Channel> = network.out(at).filter(nearer).collect();
            assert_eq!(ways.iter().map(|hop| hop.channel).collect::<Vec<_>>(), expected, "at {at:?} to home {group}");
            assert!(ways.iter().all(|hop| hop.share == 1.0 / expected.len() as f64));
            assert_one_by_one(fabric, home, State { at, phase: 0 }, &ways);
        }
    }
}

/// Asserts that paths that are had by their number are those of the list.
fn assert_one_by_one(fabric: &Fabric, home: Vertex, state: State, ways: &[Hop]) {
    let at_home = |node: &Node| fabric.attachment.home[node.0 as usize] == home;
    let node = fabric.network.node_iter().find(at_home).expect("a home has a node");
    let trip = fabric.ways(Trip::new(node, node));
    if let Some(count) = trip.count(state) {
        assert_eq!(count as usize, ways.len(), "at {:?} to {home:?}", state.at);
        let one_by_one: Vec<Hop> = (0..count + 1).filter_map(|nth| trip.nth(state, nth)).collect();
        assert_eq!(one_by_one, ways, "at {:?} to {home:?}", state.at);
        let alike: Vec<Channel> = ways.iter().map(|hop| hop.channel).collect();
        assert!(alike.is_empty() || fabric.sets_alike().any(|set| set == alike), "at {:?} to {home:?}", state.at);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn trees_lead_by_all_shortest_paths_and_no_other(
        half in 2u32..=3, levels in prop::option::of(1u32..=4), over in prop::sample::select(vec![1.0, 2.0]),
        top_all_down: bool, nodes in 2u32..=60,
        gone in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..3),
    ) {
        let spec = tree(2 * half, levels, over, top_all_down);
        let Ok(whole) = Fabric::build(&spec, nodes) else { return Ok(()) };
        assert_shortest(&whole);
        let network = &whole.network;
        let between = |c: &Channel| !network.is_node(network.from(*c)) && !network.is_node(network.to(*c));
        let links: Vec<Channel> = (0..network.channels() as u32).map(Channel).filter(between).collect();
        if links.is_empty() {
            return Ok(());
        }
        let broken = gone.iter().flat_map(|(index, both_ways)| {
            let link = links[index.index(links.len())];
            [Some(link), network.reverse(link).filter(|_| *both_ways)].into_iter().flatten()
        });
        let left = without(network, &broken.collect::<Vec<_>>());
        assert_shortest(&Fabric::assemble(&spec, nodes, left, Shape::Tiers(Vec::new())).expect("routes"));
    }
}

/// A search for each of the 16,384 homes would take hours and 4 GB.
#[test]
fn a_tree_of_65_536_nodes_needs_no_search() {
    let fabric = Fabric::build(&tree(8, None, 1.0, false), 65_536).expect("fits");
    let toward = fabric.routing.toward(&fabric.network, &fabric.attachment, 16_383);
    assert_eq!(toward.rank(State { at: fabric.attachment.homes[0], phase: 0 }), Some(14));
    let last = Node(fabric.network.nodes - 1);
    let up = fabric.ways(Trip::new(Node(0), last)).count(State { at: fabric.attachment.homes[0], phase: 0 });
    assert_eq!(up, Some(4), "ways of a tree can be had one by one");
}
