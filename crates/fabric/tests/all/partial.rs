//! Networks that are not full: what they have, and that what they lack limits nobody.

use hotlink_fabric::network::Vertex;
use hotlink_fabric::routing::{State, Trip};
use hotlink_fabric::spec::{FabricSpec, RoutingSpec, TopologySpec};
use hotlink_fabric::topology::hyperx::HyperX;
use hotlink_fabric::topology::{Dragonfly, DragonflyPlus, DragonflySpec, FatTree, Shape, SlimFly};
use hotlink_fabric::traffic::Traffic;
use hotlink_fabric::{Fabric, catalog};
use std::collections::{BTreeMap, BTreeSet};

fn fabric(topology: impl hotlink_fabric::topology::Topology, routing: RoutingSpec, nodes: u32) -> Fabric {
    Fabric::build(&FabricSpec::bare("partial", TopologySpec::new(topology), routing), nodes).unwrap()
}

/// The greatest load of a channel between switches, in pairs of nodes, under all-to-all.
fn hottest(fabric: &Fabric) -> f64 {
    let demand = Traffic::AllToAll.demand(fabric.nodes(), 0).unwrap();
    let load = hotlink_load::count(fabric, &demand).unwrap();
    let plain = hotlink_load::count_every_destination(fabric, &demand).unwrap();
    let mut most: f64 = 0.0;
    for (channel, (&amount, &plain)) in load.channel.iter().zip(&plain.channel).enumerate() {
        assert!((amount - plain).abs() <= 1e-9 * plain.max(1.0), "channel {channel}: {amount}, one by one {plain}");
        let ends = [fabric.network.from[channel], fabric.network.to[channel]];
        most = most.max(if ends.iter().any(|&v| fabric.network.is_node(v)) { 0.0 } else { amount });
    }
    most
}

/// Switches, cables between switches.
fn pieces(fabric: &Fabric) -> [u32; 2] {
    let network = &fabric.network;
    let between = network.from.iter().zip(&network.to);
    let cables = between.filter(|(from, to)| !network.is_node(**from) && !network.is_node(**to)).count();
    [network.vertices() as u32 - network.nodes, cables as u32 / 2]
}

/// A three-level tree's tiers, and for each switch of the middle its links down and up.
struct Levels {
    count: [u32; 3],
    middles: BTreeMap<Vertex, (u32, BTreeSet<Vertex>, u32)>,
}

fn levels(fabric: &Fabric, radix: u32) -> Option<Levels> {
    let Shape::Tiers(tiers) = &fabric.shape else { return None };
    let [leaves, middle, spines] = &tiers[..] else { return None };
    let mut middles: BTreeMap<Vertex, (u32, BTreeSet<Vertex>, u32)> = BTreeMap::new();
    let network = &fabric.network;
    for v in (network.nodes..network.vertices() as u32).map(Vertex) {
        assert!(network.out(v).len() <= radix as usize, "{} has {} links", v.0, network.out(v).len());
        for to in network.out(v).map(|channel| network.to(channel)).filter(|_| v >= middle.first && v < spines.first) {
            let entry = middles.entry(v).or_default();
            match to < middle.first {
                true => entry.0 += 1,
                false => {
                    entry.1.insert(to);
                    entry.2 += 1;
                }
            }
        }
    }
    Some(Levels { count: [leaves.count, middle.count, spines.count], middles })
}

/// For every number of nodes of three levels, the last block has the links that its leaves need, in whole links to each
/// spine. Full blocks have all of theirs. No channel carries more than the leaves' oversubscription lets them send.
#[test]
fn the_last_block_of_a_tree_has_what_its_leaves_need() {
    let mut seen = 0;
    let full = [(4, 1.0), (6, 1.0), (6, 2.0), (8, 1.0), (8, 3.0), (10, 1.0), (10, 1.5), (14, 1.0)];
    let trees = full.map(|(radix, ratio)| (radix, ratio, true)).into_iter().chain([(8, 1.0, false)]);
    for (radix, ratio, down) in trees {
        let tree = || FatTree { radix, levels: Some(3), oversubscription: ratio, top_all_down: down };
        let k = radix / 2;
        let mut before: Option<[u32; 3]> = None;
        for nodes in (1..=tree().most(3) as u32).step_by(if radix > 8 { 7 } else { 1 }) {
            let fabric = fabric(tree(), RoutingSpec::ShortestEcmp, nodes);
            let Some(Levels { count, middles }) = levels(&fabric, radix) else { continue };
            let told = format!("radix {radix}, {ratio} to 1, {nodes} nodes: {count:?}");
            let leaf = *fabric.attachment.homes.first().unwrap();
            let held = fabric.attachment.nodes_of(0).len() as u32;
            let leaf_up = fabric.network.out(leaf).len() as u32 - held;
            assert_eq!(count[0], nodes.div_ceil(held), "{told}");
            let (full, left) = (count[0] / k, count[0] % k);
            // Full blocks stay as they are.
            let first_of_last = Vertex(nodes + count[0] + full * leaf_up);
            for (v, (downs, _, ups)) in middles.range(..first_of_last) {
                assert_eq!((*downs, *ups), (k, k), "{told}: {v:?}");
            }
            let last: Vec<_> = middles.range(first_of_last..).map(|(_, middle)| middle).collect();
            let share = left * leaf_up;
            assert_eq!(last.iter().map(|middle| middle.0).sum::<u32>(), share, "{told}");
            let uplinks: u32 = last.iter().map(|middle| middle.2).sum();
            let joined = last.iter().flat_map(|middle| &middle.1).collect::<BTreeSet<_>>().len() as u32;
            assert!(left == 0 || joined == count[2], "{told}: a spine leads to each block");
            assert!(uplinks >= share && uplinks < share + joined.max(1), "{told}: {uplinks} for {share} to {joined}");
            assert!(last.len() as u32 <= (2 * uplinks).div_ceil(k).min(leaf_up), "{told}: {} switches", last.len());
            // One more leaf needs itself and at most a full block's switches less those there are.
            let is_same =
                |before: &[u32; 3]| before[2] == count[2] && before[0] / k == full && !before[0].is_multiple_of(k);
            if let Some(before) = before.filter(is_same) {
                assert!(count[1] <= before[1] + leaf_up.div_ceil(2) + 1, "{told} after {before:?}");
            }
            before = Some(count);
            let promise = f64::from(held) / f64::from(leaf_up) * f64::from(nodes - 1);
            let most = hottest(&fabric);
            assert!(most <= promise * (1.0 + 1e-9), "{told}: {most} pairs where {promise} are due");
            seen += 1;
        }
    }
    assert!(seen > 400, "{seen}");
}

/// Two leaves of 22 links up: two switches with 11 cables from each leaf, and 44 up.
#[test]
fn a_block_of_two_leaves_has_two_switches() {
    let mut spec = catalog::load("eth-400g-leaf-spine:oversubscription=2").unwrap();
    let at = |spec: &FabricSpec, nodes: u32| pieces(&Fabric::build(spec, nodes).unwrap());
    // Three blocks of 32 leaves and 22 switches, and 44 spines above them.
    assert_eq!(at(&spec, 4032), [96 + 66 + 44, 2 * 3 * 32 * 22]);
    assert_eq!(at(&spec, 4033), [97 + 66 + 2 + 44, 2 * 3 * 32 * 22 + 22 + 44]);
    assert_eq!(at(&spec, 4096), [98 + 66 + 2 + 44, 2 * (3 * 32 * 22 + 44)]);
    // A third level at full bisection: a leaf alone has a cable to each of the 64 spines.
    spec = catalog::load("ib-ndr-fat-tree3").unwrap();
    assert_eq!(at(&spec, 2049), [65 + 66 + 64, 2 * 2 * 32 * 32 + 32 + 64]);
}

/// Every pair has a path that climbs and descends, on shortest paths and by up*/down*.
#[test]
fn every_pair_of_a_partial_tree_has_a_path() {
    for routing in [RoutingSpec::ShortestEcmp, RoutingSpec::ShortestSingle, RoutingSpec::UpDown] {
        let tree = FatTree { radix: 6, levels: Some(3), oversubscription: 1.0, top_all_down: true };
        for nodes in 19..=54 {
            let fabric = fabric(tree.clone(), routing, nodes);
            let mut hops = Vec::new();
            for (source, destination) in fabric.network.node_iter().flat_map(|a| [(a, 0), (a, nodes - 1)]) {
                let trip = Trip::new(source, hotlink_fabric::network::Node(destination));
                let mut state = State::start(source);
                for step in 0.. {
                    fabric.hops(state, trip, &mut hops);
                    let Some(hop) = hops.last() else { break };
                    state = State { at: fabric.network.to(hop.channel), phase: hop.phase };
                    assert!(step < 6, "{nodes} nodes, {trip:?}");
                }
                assert_eq!(state.at, trip.destination.vertex(), "{nodes} nodes, {trip:?}");
            }
        }
    }
}

/// Routers with 16 nodes, 31 ports to their group and 17 to others: 64 nodes need one. 65 need five, with 7 cables to each
/// other. Two have no more cables than one has nodes.
#[test]
fn a_small_dragonfly_has_parallel_cables() {
    let fly = |p, a, h| DragonflySpec { nodes_per_router: p, routers_per_group: a, global_per_router: h };
    let at = |nodes| fabric(fly(16, 32, 17), RoutingSpec::DragonflyMinimal, nodes);
    for (nodes, routers, cables) in
        [(1, 1, 0), (64, 1, 0), (65, 5, 7), (96, 6, 6), (176, 11, 3), (256, 16, 2), (272, 17, 1), (512, 32, 1)]
    {
        let fabric = at(nodes);
        assert_eq!(pieces(&fabric), [routers, cables * routers * (routers - 1) / 2], "{nodes} nodes");
        // All nodes of the two fullest routers send each other one message each.
        if routers > 1 {
            let held = |router: u32| f64::from(nodes / routers + u32::from(router < nodes % routers));
            assert!((hottest(&fabric) - held(0) * held(1) / f64::from(cables)).abs() < 1e-9, "{nodes} nodes");
            assert!(hottest(&fabric) < f64::from(nodes), "no cable limits {nodes} nodes");
        }
    }
    assert_eq!(pieces(&fabric(fly(16, 64, 1), RoutingSpec::DragonflyMinimal, 100)), [7, 10 * 21]);
    assert_eq!(pieces(&fabric(fly(4, 32, 1), RoutingSpec::DragonflyMinimal, 37)), [10, 3 * 45]);
    assert_eq!(pieces(&fabric(fly(40, 41, 1), RoutingSpec::DragonflyMinimal, 84)), [3, 20 * 3]);
    // By other routers of the group, each pair's messages spread over all.
    let valiant = fabric(fly(16, 32, 17), RoutingSpec::DragonflyValiant, 96);
    assert!((hottest(&valiant) - 2.0 * 256.0 / 6.0).abs() < 1e-9, "{}", hottest(&valiant));
}

/// Groups are alike: one node more than a group holds needs two halves of a group, not a second whole one.
#[test]
fn groups_of_a_dragonfly_have_the_routers_that_their_nodes_need() {
    let fly = DragonflySpec { nodes_per_router: 16, routers_per_group: 32, global_per_router: 17 };
    let at = |nodes| fabric(fly.clone(), RoutingSpec::DragonflyMinimal, nodes);
    // Two groups of 17 routers and all their global ports; three of 22; two and three whole ones.
    assert_eq!(pieces(&at(512)), [32, 496]);
    assert_eq!(pieces(&at(513)), [34, 2 * 136 + 17 * 17]);
    assert_eq!(pieces(&at(1024)), [64, 2 * 496 + 32 * 17]);
    assert_eq!(pieces(&at(1025)), [66, 3 * 231 + 3 * (22 * 17 / 2)]);
    assert_eq!(pieces(&at(1536)), [96, 3 * 496 + 3 * (32 * 17 / 2)]);
    for nodes in (513..2048).step_by(67) {
        let fabric = at(nodes);
        let groups = nodes.div_ceil(512);
        assert!(pieces(&fabric)[0] < nodes.div_ceil(16) + groups, "{nodes} nodes: {:?}", pieces(&fabric));
        let held: Vec<usize> =
            (0..fabric.attachment.homes.len()).map(|at| fabric.attachment.nodes_of(at).len()).collect();
        assert!(held.iter().max().unwrap() - held.iter().min().unwrap() <= 1, "{nodes} nodes: {held:?}");
        assert!(hottest(&fabric) < f64::from(nodes), "no cable limits {nodes} nodes");
    }
    // As many groups as global ports allow: each still has a link to each other.
    for (p, a, h) in [(2, 3, 1), (1, 4, 2), (3, 2, 3), (2, 5, 1)] {
        let few = || DragonflySpec { nodes_per_router: p, routers_per_group: a, global_per_router: h };
        for nodes in p * a + 1..=p * a * (a * h + 1) {
            let fabric = fabric(few(), RoutingSpec::DragonflyMinimal, nodes);
            let Shape::Dragonfly(shape) = &fabric.shape else { panic!("a dragonfly") };
            assert!(shape.groups == 1 || shape.links > 0, "{p} {a} {h}: {nodes} nodes: {shape:?}");
            assert!(shape.groups == 1 || hottest(&fabric) > 0.0, "{p} {a} {h}: {nodes} nodes");
        }
    }
}

/// The same of leaves, and of the spines that these share evenly.
#[test]
fn groups_of_a_dragonfly_plus_have_the_leaves_and_spines_that_their_nodes_need() {
    let plus = DragonflyPlus { nodes_per_leaf: 32, leaves: 32, spines: 32, global_per_spine: 32 };
    let at = |nodes| fabric(plus.clone(), RoutingSpec::ShortestEcmp, nodes);
    // A group alone has no global links; two have 17 leaves and 32 spines each, or 16 of each.
    assert_eq!(pieces(&at(1024)), [32 + 16, 32 * 32]);
    assert_eq!(pieces(&at(1025)), [2 * (17 + 32), 2 * 17 * 32 + 32 * 32]);
    assert_eq!(pieces(&at(2048)), [2 * 64, 2 * 32 * 32 + 32 * 32]);
    assert_eq!(pieces(&at(3072 - 1024 + 1)), [3 * (22 + 32), 3 * 22 * 32 + 3 * 512]);
    let small = DragonflyPlus { nodes_per_leaf: 4, leaves: 8, spines: 4, global_per_spine: 8 };
    // 33 nodes in two groups of 5 leaves: 4 spines; 36 on 5 leaves each.
    let fabric = fabric(small, RoutingSpec::ShortestEcmp, 33);
    assert_eq!(pieces(&fabric), [2 * (5 + 4), 2 * 5 * 4 + 4 * 8]);
    assert!(hottest(&fabric) < 33.0);
}

/// In four levels no switch has more links than ports, and no channel carries more than the leaves' oversubscription lets
/// them send. The last block below the spines has the switches that it needs.
#[test]
fn the_last_block_of_a_deep_tree_has_what_is_below_it_needs() {
    let mut fewer = 0;
    for (radix, ratio) in [(4, 1.0), (6, 1.0), (6, 2.0), (8, 1.0)] {
        let tree = FatTree { radix, levels: Some(4), oversubscription: ratio, top_all_down: true };
        let k = radix / 2;
        for nodes in (tree.most(3) as u32 + 1..=tree.most(4) as u32).step_by(7) {
            let fabric = fabric(tree.clone(), RoutingSpec::ShortestEcmp, nodes);
            let network = &fabric.network;
            let told = format!("radix {radix}, {ratio} to 1, {nodes} nodes");
            let most = (nodes..network.vertices() as u32).map(|v| network.out(Vertex(v)).len()).max();
            assert!(most <= Some(radix as usize), "{told}: {most:?} links");
            let Shape::Tiers(tiers) = &fabric.shape else { panic!("tiers") };
            let count: Vec<u32> = tiers.iter().map(|tier| tier.count).collect();
            let held = fabric.attachment.nodes_of(0).len() as u32;
            let leaf_up = network.out(fabric.attachment.homes[0]).len() as u32 - held;
            let whole = count[0].div_ceil(k * k) * leaf_up * k;
            assert!(count.len() == 4 && count[2] <= whole, "{told}: {count:?}");
            fewer += u32::from(count[2] < whole);
            let promise = f64::from(held) / f64::from(leaf_up) * f64::from(nodes - 1);
            let most = hottest(&fabric);
            assert!(most <= promise * (1.0 + 1e-9), "{told}: {most} pairs where {promise} are due, {count:?}");
        }
    }
    assert!(fewer > 5, "{fewer}");
}

/// Switches that are there anyway share the nodes evenly.
#[test]
fn nodes_spread_over_the_switches_of_a_grid_and_a_slim_fly() {
    let grid = |nodes| {
        let grid = HyperX { extents: vec![4, 3], links: 1, nodes_per_switch: 7 };
        fabric(grid, RoutingSpec::DimensionOrder, nodes)
    };
    let slim = |nodes| fabric(SlimFly { radix: 11 }, RoutingSpec::ShortestLanes, nodes);
    for (fabric, switches) in [1, 5, 12, 13, 50, 83, 84]
        .map(|nodes| (grid(nodes), 12))
        .into_iter()
        .chain([1, 49, 50, 51, 128, 199, 200].map(|nodes| (slim(nodes), 50)))
    {
        let held: Vec<usize> =
            (0..fabric.attachment.homes.len()).map(|at| fabric.attachment.nodes_of(at).len()).collect();
        assert_eq!(held.len() as u32, fabric.nodes().min(switches), "{} nodes", fabric.nodes());
        assert!(held.iter().max().unwrap() - held.iter().min().unwrap() <= 1, "{} nodes: {held:?}", fabric.nodes());
        assert!(held.iter().all(|&held| held as u32 <= fabric.nodes().div_ceil(switches)));
    }
}

/// No router has a global link more than another beyond one, and each link has a port of its own.
#[test]
fn global_links_are_dealt_to_the_routers_evenly() {
    for (nodes, routers, global) in [(513, 32, 17), (3_072, 32, 17), (4_096, 32, 17), (5_120, 32, 17), (72, 4, 2)] {
        let shape = Dragonfly::new(nodes, 16, routers, global).expect("fits");
        let each: Vec<u32> = (0..shape.routers).map(|router| shape.slots(router).len() as u32).collect();
        let (least, most) = (each.iter().min().expect("one"), each.iter().max().expect("one"));
        assert!(most - least <= 1 && *most <= global, "{shape:?}: {each:?}");
        let links = (1..shape.groups).flat_map(|offset| (0..shape.links).map(move |link| (offset, link)));
        let ports: BTreeSet<(u32, u32)> = links.map(|(offset, link)| shape.gateway(offset, link)).collect();
        assert_eq!(ports.len() as u32, each.iter().sum::<u32>(), "{shape:?}");
        assert!(ports.iter().all(|&(router, port)| port < each[router as usize]), "{shape:?}");
    }
}
