//! The load count against the plainest possible count: every pair's flow carried hop by hop over `Fabric::hops`.

use hotlink_fabric::Fabric;
use hotlink_fabric::catalog;
use hotlink_fabric::network::{Channel, Node, Resource, Vertex};
use hotlink_fabric::routing::choice::Draw;
use hotlink_fabric::routing::{Paths, State, Trip};
use hotlink_fabric::spec::{FabricSpec, Role, RoutingSpec, TopologySpec};
use hotlink_fabric::topology::hyperx::HyperX;
use hotlink_fabric::topology::{
    Clos64, Crossbar, CubeSpec, DragonflyPlus, DragonflySpec, Extents, FatTree, Rail, Shared, SlimFly, SwitchArray,
    SwitchRing,
};
use hotlink_fabric::traffic::{Demand, Traffic};
use hotlink_load::Load;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn cube(dimensions: u32, bidirectional: bool, b_link: bool, nodes_per_router: u32, extents: Extents) -> TopologySpec {
    TopologySpec::new(CubeSpec { dimensions, bidirectional, b_link, nodes_per_router, host_links: false, extents })
}

fn fat_tree(radix: u32, levels: Option<u32>, oversubscription: f64, top_all_down: bool) -> TopologySpec {
    TopologySpec::new(FatTree { radix, levels, oversubscription, top_all_down })
}

/// Every topology with every routing that suits it.
fn any_fabric() -> impl Strategy<Value = (TopologySpec, RoutingSpec)> {
    use RoutingSpec::{DimensionOrder, DragonflyMinimal, DragonflyValiant, ShortestEcmp, ShortestSingle, UpDown};
    let cubes =
        (1u32..=3, any::<bool>(), any::<bool>(), 1u32..=3, any::<bool>()).prop_map(|(f, both, sci, per, pad)| {
            let extents = if pad { Extents::PaddedCube } else { Extents::Balanced };
            cube(f, both && !sci, sci, if sci { 1 } else { per }, extents)
        });
    let dragonfly = (1u32..=4, 1u32..=6, 1u32..=2).prop_map(|(p, a, h)| {
        TopologySpec::new(DragonflySpec { nodes_per_router: p, routers_per_group: a, global_per_router: h })
    });
    let trees = (2u32..=4, prop_oneof![Just(1.0), Just(2.0), Just(0.5)], any::<bool>())
        .prop_map(|(half, over, down)| fat_tree(2 * half, None, over, down));
    let others = prop_oneof![
        (4u32..=8, 1u32..=1).prop_map(|(ports, links)| TopologySpec::new(SwitchArray {
            ports,
            links,
            groups: Vec::new()
        })),
        (5u32..=8, 1u32..=2).prop_map(|(ports, links)| TopologySpec::new(SwitchRing {
            ports,
            links,
            links_per_switch: false,
            groups: Vec::new()
        })),
        Just(TopologySpec::new(Clos64)),
        trees,
        (1u32..=4, 4u32..=6).prop_map(|(gpus_per_host, radix)| TopologySpec::new(Rail::apart(gpus_per_host, radix))),
        Just(TopologySpec::new(Crossbar { ports: 64 })),
        Just(TopologySpec::new(Shared)),
    ];
    let regional = prop_oneof![
        (1u32..=2, 1u32..=3, 1u32..=2, 1u32..=3).prop_map(|(nodes_per_leaf, leaves, spines, global_per_spine)| {
            TopologySpec::new(DragonflyPlus { nodes_per_leaf, leaves, spines, global_per_spine })
        }),
        (proptest::collection::vec(2u32..=3, 1..=3), 1u32..=2, 1u32..=3).prop_map(
            |(extents, links, nodes_per_switch)| TopologySpec::new(HyperX { extents, links, nodes_per_switch })
        ),
        Just(TopologySpec::new(SlimFly { radix: 11 })),
    ];
    let general = || prop_oneof![Just(ShortestEcmp), Just(ShortestSingle), Just(UpDown)];
    prop_oneof![
        (cubes.clone(), Just(DimensionOrder)),
        (cubes, general()),
        (dragonfly.clone(), prop_oneof![Just(DragonflyMinimal), Just(DragonflyValiant)]),
        (dragonfly, general()),
        (others, general()),
        (regional.clone(), Just(RoutingSpec::ShortestValiant)),
        (regional, general()),
    ]
}

fn any_traffic() -> impl Strategy<Value = Traffic> {
    prop_oneof![
        Just(Traffic::AllToAll),
        Just(Traffic::Uniform),
        Just(Traffic::Random),
        (1u32..9).prop_map(Traffic::Shift),
        Just(Traffic::Bisection),
        (1u32..=3).prop_map(Traffic::NearestNeighbour),
        (1u32..=100).prop_map(Traffic::HotSpot),
    ]
}

/// All intermediate groups that a packet may choose, `None` for a minimal route.
fn vias(fabric: &Fabric, source: Node, destination: Node) -> Vec<Option<u32>> {
    let mut all: Vec<_> =
        (0..64).map(|i| fabric.routing.choose_via(&fabric.attachment, source, destination, i)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Carries one pair's flow to its end, state by state; returns the longest route.
fn carry(fabric: &Fabric, trip: Trip, amount: f64, load: &mut Load) -> usize {
    let mut here = BTreeMap::from([(State::start(trip.source), amount)]);
    let mut hops = Vec::new();
    for length in 0.. {
        let mut next = BTreeMap::new();
        for (state, flow) in here {
            load.vertex[state.at.0 as usize] += flow;
            fabric.hops(state, trip, &mut hops);
            if state.at == trip.destination.vertex() {
                assert!(hops.is_empty(), "nothing leads on from the destination");
                continue;
            }
            let shares: f64 = hops.iter().map(|hop| hop.share).sum();
            assert!((shares - 1.0).abs() < 1e-12, "flow is lost or made at {state:?} on {trip:?}: {shares}");
            for hop in &hops {
                assert_eq!(fabric.network.from(hop.channel), state.at);
                assert!(hop.vc < fabric.routing.virtual_channels() && hop.phase < fabric.routing.phases());
                load.channel[hop.channel.0 as usize] += flow * hop.share;
                let to = State { at: fabric.network.to(hop.channel), phase: hop.phase };
                *next.entry(to).or_insert(0.0) += flow * hop.share;
            }
        }
        if next.is_empty() {
            return length;
        }
        here = next;
        assert!(length <= 4 * fabric.network.vertices(), "{trip:?} goes round in circles");
    }
    unreachable!()
}

/// Hops of a shortest path from a node to all vertices, not through nodes: breadth-first along the channels.
fn distances(fabric: &Fabric, from: Node) -> Vec<usize> {
    let mut distance = vec![usize::MAX; fabric.network.vertices()];
    distance[from.0 as usize] = 0;
    let mut queue = std::collections::VecDeque::from([from.vertex()]);
    while let Some(v) = queue.pop_front() {
        if fabric.network.is_node(v) && v != from.vertex() {
            continue;
        }
        for to in fabric.network.out(v).map(|channel| fabric.network.to(channel)) {
            if distance[to.0 as usize] == usize::MAX {
                distance[to.0 as usize] = distance[v.0 as usize] + 1;
                queue.push_back(to);
            }
        }
    }
    distance
}

/// Most hops that a routing may take where a shortest path has `shortest`.
fn most_hops(fabric: &Fabric, shortest: usize) -> usize {
    use RoutingSpec::{DragonflyMinimal, DragonflyValiant, ShortestValiant, Source, UpDown};
    match fabric.spec.routing {
        DragonflyMinimal => 2 + 3,
        DragonflyValiant => 2 + 5,
        UpDown | Source | ShortestValiant => fabric.network.vertices(),
        _ => shortest,
    }
}

fn pair_by_pair(fabric: &Fabric, demand: &Demand) -> Load {
    let (sent, received) = demand.per_node();
    let zero = |n| vec![0.0; n];
    let network = &fabric.network;
    let (vertex, channel, sent_out) = (zero(network.vertices()), zero(network.channels()), sent.clone());
    let mut load = Load { vertex, channel, sent, sent_out, received };
    let distance: Vec<Vec<usize>> = network.node_iter().map(|node| distances(fabric, node)).collect();
    demand.pairs(|source, destination, amount| {
        let vias = vias(fabric, source, destination);
        for &via in &vias {
            let trip = Trip { source, destination, via };
            let longest = carry(fabric, trip, amount / vias.len() as f64, &mut load);
            let shortest = distance[source.0 as usize][destination.0 as usize];
            let most = most_hops(fabric, shortest);
            assert!((shortest..=most).contains(&longest), "{trip:?}: {longest} hops, {shortest} to {most} expected");
        }
    });
    load
}

fn assert_close(a: &[f64], b: &[f64], what: &str) -> Result<(), TestCaseError> {
    for (i, (x, y)) in a.iter().zip(b).enumerate() {
        prop_assert!((x - y).abs() <= 1e-9 * x.abs().max(1.0), "{what} {i}: {x} and {y}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_global_rejects: 20_000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn load_is_what_carrying_every_pair_gives((topology, routing) in any_fabric(), traffic in any_traffic(), n in 1u32..40) {
        let spec = FabricSpec::bare("test", topology, routing);
        let built = Fabric::build(&spec, n);
        prop_assume!(built.is_ok());
        let fabric = built.unwrap();
        prop_assume!(fabric.nodes() <= 130);
        let demand = traffic.demand(fabric.nodes(), 5).unwrap();
        let expected = pair_by_pair(&fabric, &demand);
        let devices = fabric.network.nodes as usize..;
        for load in [hotlink_load::count(&fabric, &demand).unwrap(), hotlink_load::count_every_destination(&fabric, &demand).unwrap()] {
            assert_close(&load.channel, &expected.channel, "channel")?;
            assert_close(&load.vertex[devices.clone()], &expected.vertex[devices.clone()], "vertex")?;
        }
    }
}

/// Every pair's one path, hop by hop, as its hash draws it.
fn flow_by_flow(fabric: &Fabric, demand: &Demand, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let (mut channel, mut vertex) = (vec![0.0; fabric.network.channels()], vec![0.0; fabric.network.vertices()]);
    let mut hops = Vec::new();
    demand.pairs(|source, destination, amount| {
        let mut state = State::start(source);
        let mut draw = Draw::of_pair(Paths::Flow, seed, source, destination);
        vertex[source.0 as usize] += amount;
        while state.at != destination.vertex() {
            fabric.hops(state, Trip::new(source, destination), &mut hops);
            let hop = hops[draw.pick(&fabric.network, fabric.tables(), &hops).unwrap()];
            channel[hop.channel.0 as usize] += amount;
            state = State { at: fabric.network.to(hop.channel), phase: hop.phase };
            if state.at != destination.vertex() {
                vertex[state.at.0 as usize] += amount;
            }
        }
    });
    (channel, vertex)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_global_rejects: 20_000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn hashed_flows_are_counted_to_the_last((topology, routing) in any_fabric(), traffic in any_traffic(), n in 1u32..90, seed in 0u64..9) {
        let built = Fabric::build(&FabricSpec::bare("test", topology, routing), n);
        prop_assume!(built.is_ok());
        let fabric = built.unwrap();
        prop_assume!(fabric.nodes() <= 130 && fabric.offers_choices() && !fabric.routing.is_valiant());
        let demand = traffic.demand(fabric.nodes(), 5).unwrap();
        let (channel, vertex) = flow_by_flow(&fabric, &demand, seed);
        let load = hotlink_load::count_paths(&fabric, &demand, Paths::Flow, seed).unwrap();
        let devices = fabric.network.nodes as usize..;
        if demand.all_pairs == 1.0 && demand.flows.is_empty() {
            prop_assert_eq!(&load.channel, &channel);
            prop_assert_eq!(&load.vertex[devices], &vertex[fabric.network.nodes as usize..]);
        } else {
            assert_close(&load.channel, &channel, "channel")?;
            assert_close(&load.vertex[devices], &vertex[fabric.network.nodes as usize..], "vertex")?;
        }
    }
}

/// One group: a path goes by another router, but for nodes of one router, whose bytes pass it once.
#[test]
fn valiant_in_a_single_group_counts_neighbours_on_a_router() {
    // Four routers, with one cable and with two to each other.
    for (p, a, nodes) in [(2, 4, 7), (4, 9, 14)] {
        let topology =
            TopologySpec::new(DragonflySpec { nodes_per_router: p, routers_per_group: a, global_per_router: 1 });
        let fabric = Fabric::build(&FabricSpec::bare("test", topology, RoutingSpec::DragonflyValiant), nodes).unwrap();
        assert_eq!(fabric.attachment.homes.len(), 4);
        let demand = Traffic::AllToAll.demand(fabric.nodes(), 5).unwrap();
        let (counted, expected) = (hotlink_load::count(&fabric, &demand).unwrap(), pair_by_pair(&fabric, &demand));
        assert_close(&counted.channel, &expected.channel, "channel").unwrap();
        let devices = fabric.network.nodes as usize..;
        assert_close(&counted.vertex[devices.clone()], &expected.vertex[devices], "vertex").unwrap();
    }
}

#[test]
fn every_topology_of_the_test_can_be_built() {
    let build = |topology, routing, n| Fabric::build(&FabricSpec::bare("test", topology, routing), n).unwrap();
    let fabric = build(TopologySpec::new(Clos64), RoutingSpec::ShortestEcmp, 128);
    assert_eq!(fabric.network.channels(), 2 * (128 + 128 + 64));
    let fabric = build(fat_tree(4, None, 1.0, true), RoutingSpec::UpDown, 16);
    assert_eq!(fabric.network.vertices(), 16 + 8 + 8 + 4, "the 4-port fat tree of 16 hosts has 20 switches");
    let fabric = build(fat_tree(8, None, 1.0, false), RoutingSpec::UpDown, 64);
    assert_eq!(fabric.network.vertices(), 64 + 48, "the 4-ary 3-tree has 48 switches");
    assert_eq!(fabric.network.out(Vertex(64)).len(), 8);
}

#[test]
fn gpu_traffic_to_another_rail_goes_by_the_scale_up_switch_and_the_right_gpus_nic() {
    let topology = TopologySpec::new(Rail::apart(4, 8));
    let fabric = Fabric::build(&FabricSpec::bare("rails", topology, RoutingSpec::ShortestEcmp), 8).unwrap();
    let route = |source: u32, destination: u32| {
        let trip = Trip::new(Node(source), Node(destination));
        let mut state = State::start(trip.source);
        let (mut hops, mut names) = (Vec::new(), Vec::new());
        loop {
            fabric.hops(state, trip, &mut hops);
            let [hop] = hops[..] else { break };
            state = State { at: fabric.network.to(hop.channel), phase: hop.phase };
            names.push(fabric.shape.vertex_name(&fabric.network, state.at, ""));
        }
        names.join(", ")
    };
    assert_eq!(route(0, 4), "memory of GPU 0, sending NIC 0, rail leaf 0, receiving NIC 4, node 4");
    let cross =
        "memory of GPU 0, scale-up switch 0, memory of GPU 3, sending NIC 3, rail leaf 3, receiving NIC 7, node 7";
    assert_eq!(route(0, 7), cross);
    assert_eq!(route(0, 2), "memory of GPU 0, scale-up switch 0, memory of GPU 2, node 2");
}

/// GPUs of a host have consecutive numbers and hang from a leaf each. Tables by the number of a GPU would lead all GPUs
/// of a leaf down by a few of its cables.
#[test]
fn forwarding_tables_spread_the_gpus_of_a_leaf_over_its_cables() {
    for (name, nodes) in [("hgx-h100-pod", 512), ("hgx-h100-rail", 1024)] {
        let fabric = Fabric::build(&catalog::load(name).unwrap(), nodes).unwrap();
        let demand = Traffic::AllToAll.demand(nodes, 1).unwrap();
        let hottest = |paths| {
            let load = hotlink_load::count_paths(&fabric, &demand, paths, 1).unwrap();
            let cables = (0..fabric.network.channels() as u32).map(Channel);
            let cables = cables.filter(|&c| fabric.network.role(Resource::Channel(c)) == Role::SwitchLink);
            cables.map(|c| load.channel[c.0 as usize]).fold(0.0, f64::max)
        };
        // As even as packet by packet, but for parts of a GPU.
        let (table, even) = (hottest(Paths::Destination), hottest(Paths::Packet));
        assert!(table < 1.3 * even, "{name}: {table} on the hottest cable, {even} where packets take turns");
    }
}

#[test]
fn a_long_count_tells_how_far_it_is() {
    for (name, paths) in [
        ("eth-400g-leaf-spine", Paths::Flow),
        ("ib-ndr-fat-tree2", Paths::Flow),
        ("slingshot-dragonfly", Paths::Packet),
        ("ib-ndr-fat-tree2", Paths::Destination),
    ] {
        let mut spec = catalog::load(name).unwrap();
        if name.ends_with("dragonfly") {
            spec.routing = RoutingSpec::DragonflyValiant;
        }
        let fabric = Fabric::build(&spec, 512).unwrap();
        // A flow of its own is pushed by itself.
        let demand = Traffic::Random.demand(fabric.nodes(), 1).unwrap();
        let told = std::sync::Mutex::new(Vec::new());
        let heard = |done, all| told.lock().unwrap().push(done as f64 / all as f64);
        let load = hotlink_load::count_paths_heard(&fabric, &demand, paths, 1, &heard).unwrap();
        assert_eq!(load, hotlink_load::count_paths(&fabric, &demand, paths, 1).unwrap());
        let told = told.into_inner().unwrap();
        assert!(told.is_sorted() && told.len() > 1, "{name}: {told:?}");
        assert_eq!(told.last(), Some(&1.0), "{name}");
    }
}
