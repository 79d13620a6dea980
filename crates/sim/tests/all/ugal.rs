//! UGAL on a dragonfly: minimal where nothing is crowded, by other groups where the minimal path is.

use hotlink_bound::Limited;
use hotlink_fabric::network::Node;
use hotlink_fabric::routing::{Paths, State, Trip};
use hotlink_fabric::spec::{FabricSpec, RoutingSpec, TopologySpec};
use hotlink_fabric::topology::hyperx::HyperX;
use hotlink_fabric::topology::{DragonflyPlus, DragonflySpec, Shape, SlimFly};
use hotlink_fabric::traffic::Traffic;
use hotlink_fabric::{Fabric, catalog};
use hotlink_sim::flow::Detours;
use hotlink_sim::workload::{OpenLoop, Schedule, SizeLaw, exchange};
use hotlink_sim::{Plan, Settings};

/// p nodes a router, a routers a group, h global links a router; `groups` of them.
fn dragonfly([p, a, h]: [u32; 3], groups: u32, routing: RoutingSpec) -> (FabricSpec, Fabric) {
    let spec = FabricSpec {
        routing,
        topology: TopologySpec::new(DragonflySpec { nodes_per_router: p, routers_per_group: a, global_per_router: h }),
        ..catalog::load("slingshot-dragonfly").expect("a fabric of the catalog")
    };
    let fabric = Fabric::build(&spec, p * a * groups).expect("a valid size");
    (spec, fabric)
}

/// Payload that arrives of what an open loop offers at `mbps` a node, as a share; mean latency in microseconds; detours
/// a packet.
fn offered(routing: RoutingSpec, detours: Option<Detours>, traffic: &Traffic, mbps: f64, groups: u32) -> [f64; 3] {
    offered_on(dragonfly([4, 8, 4], groups, routing), (detours, Paths::Packet), traffic, mbps)
}

fn offered_on(
    (spec, fabric): (FabricSpec, Fabric),
    (detours, paths): (Option<Detours>, Paths),
    traffic: &Traffic,
    mbps: f64,
) -> [f64; 3] {
    let settings = Settings { detours, paths, ..Settings::of(&spec) };
    let plan = Plan::new(&fabric, &settings).expect("plan");
    let demand = traffic.clone().on(&fabric).demand(fabric.nodes(), 1).expect("a pattern");
    let mut open = OpenLoop::new(&plan, &settings, &demand, SizeLaw::Fixed(4096), mbps);
    let (begin, end) = (open.time_of(60.0), open.time_of(180.0));
    open.run_to(begin).expect("no deadlock");
    let before = open.delivered_bytes();
    open.run_to(end).expect("no deadlock");
    let accepted = (open.delivered_bytes() - before) as f64 / (end - begin).us() / f64::from(open.senders());
    let times: Vec<f64> = open.flows().latency_ps.iter().filter(|&&ps| ps > 0).map(|&ps| ps as f64 / 1e6).collect();
    let stats = open.run(end, 0).stats;
    [accepted / mbps, times.iter().sum::<f64>() / times.len() as f64, stats.detours as f64 / stats.packets as f64]
}

const WAYS: [(RoutingSpec, Option<Detours>); 4] = [
    (RoutingSpec::DragonflyMinimal, None),
    (RoutingSpec::DragonflyValiant, None),
    (RoutingSpec::DragonflyValiant, Some(Detours::Local)),
    (RoutingSpec::DragonflyValiant, Some(Detours::Global)),
];

/// Kim et al. 2008: under benign traffic UGAL is like minimal routing. Under a shift of groups it is nearly like
/// Valiant's, where minimal routing has one group's links for all of a group's nodes.
#[test]
fn ugal_takes_the_better_way_under_either_traffic() {
    // Nine groups of 32 nodes; four links of 25 GB/s between two groups: 3125 MB/s a node by minimal paths.
    let of = |traffic: &Traffic, mbps: f64| WAYS.map(|(routing, detours)| offered(routing, detours, traffic, mbps, 9));
    let [minimal, valiant, local, global] = of(&Traffic::GroupShift, 7000.0);
    assert!(minimal[0] < 0.5, "minimal ways are full: {minimal:?}");
    assert!(valiant[0] > 0.95 && local[0] > 0.95 && global[0] > 0.95, "{valiant:?} {local:?} {global:?}");
    assert!(local[2] > 0.3 && global[2] > 0.3, "{local:?} {global:?}");
    let [minimal, valiant, local, global] = of(&Traffic::Uniform, 7000.0);
    assert!(valiant[1] > 1.2 * minimal[1], "a detour costs hops: {minimal:?} {valiant:?}");
    for ugal in [local, global] {
        assert!(ugal[0] > 0.95 && ugal[1] < 1.15 * minimal[1] && ugal[2] < 0.3, "{ugal:?} {minimal:?}");
    }
}

/// In a single group Valiant's and UGAL's detours go by another router.
#[test]
fn in_a_single_group_detours_go_by_other_routers() {
    // All four nodes of a router send to the next router, over one link of 25 GB/s.
    let of = |mbps: f64| WAYS.map(|(routing, detours)| offered(routing, detours, &Traffic::GroupShift, mbps, 1));
    let [minimal, valiant, local, global] = of(10_000.0);
    assert!(minimal[0] < 0.7 && valiant[0] > 0.95 && local[0] > 0.95 && global[0] > 0.95, "{minimal:?} {local:?}");
    let [minimal, valiant, local, _] = of(500.0);
    assert!(valiant[1] > minimal[1] && local[1] < 1.02 * minimal[1] && local[2] < 0.1, "{minimal:?} {local:?}");
}

/// The same on topologies without a formula of their own. Packets go through other groups of a Dragonfly+, and through
/// other switches of a Slim Fly and of a HyperX. The links to the next group, or switch, could not carry that rate
/// alone.
#[test]
fn detours_go_by_other_groups_and_switches_of_any_topology_that_has_them() {
    // Five groups of 16 nodes on four leaves, and four links of 50 GB/s between two groups: 12.5 GB/s a node.
    let plus = DragonflyPlus { nodes_per_leaf: 4, leaves: 4, spines: 4, global_per_spine: 4 };
    let grid = HyperX { extents: vec![4, 4], links: 1, nodes_per_switch: 4 };
    // A link of 50 GB/s for the three, or four, nodes of a switch.
    let all = [
        ("ib-ndr-dragonfly-plus", TopologySpec::new(plus), 80, 30_000.0),
        ("ib-ndr-slim-fly", TopologySpec::new(SlimFly { radix: 10 }), 150, 30_000.0),
        ("ib-ndr-slim-fly", TopologySpec::new(grid), 64, 30_000.0),
    ];
    for (name, topology, nodes, mbps) in all {
        let one = |routing, how, mbps: f64, traffic: &Traffic| {
            let spec = catalog::load(name).expect("a fabric of the catalog");
            let spec = FabricSpec { routing, topology: topology.clone(), ..spec };
            let fabric = Fabric::build(&spec, nodes).expect("a valid size");
            offered_on((spec, fabric), how, traffic, mbps)
        };
        let of = |mbps: f64, traffic: &Traffic| {
            let ways = [(false, None), (true, None), (true, Some(Detours::Local)), (true, Some(Detours::Global))];
            ways.map(|(by_others, detours)| {
                let routing = if by_others { RoutingSpec::ShortestValiant } else { RoutingSpec::ShortestLanes };
                one(routing, (detours, Paths::Packet), mbps, traffic)
            })
        };
        // Each packet draws its own group also where switches' tables choose among equal paths.
        let tables = one(RoutingSpec::ShortestValiant, (None, Paths::Destination), 10_000.0, &Traffic::GroupShift);
        assert!(tables[0] > 0.95, "{name} {nodes} by tables: {tables:?}");
        let [minimal, valiant, local, global] = of(mbps, &Traffic::GroupShift);
        let told = format!("{name} {nodes}: {minimal:?} {valiant:?} {local:?} {global:?}");
        assert!(minimal[0] < 0.85, "minimal ways are full: {told}");
        assert!([valiant, local, global].iter().all(|ways| ways[0] > minimal[0] + 0.05), "{told}");
        assert!(local[2] > 0.1 && global[2] > 0.1, "{told}");
        let [minimal, valiant, local, global] = of(5_000.0, &Traffic::Uniform);
        let told = format!("{name} {nodes}, uniform: {minimal:?} {valiant:?} {local:?} {global:?}");
        assert!(valiant[1] > minimal[1], "a detour costs hops: {told}");
        for ugal in [local, global] {
            assert!(ugal[0] > 0.95 && ugal[1] < 1.15 * minimal[1] && ugal[2] < 0.3, "{told}");
        }
    }
}

/// Nothing is lost, nothing waits for ever, and the same inputs give the same course; the load count's links are those
/// that packets take.
#[test]
fn detours_lose_nothing_and_are_the_same_again() {
    for groups in [1, 5] {
        let (spec, fabric) = dragonfly([4, 8, 4], groups, RoutingSpec::DragonflyValiant);
        for detours in [None, Some(Detours::Local), Some(Detours::Global)] {
            let settings = Settings { detours, ..Settings::of(&spec) };
            let plan = Plan::new(&fabric, &settings).expect("plan");
            let demand = Traffic::GroupShift.on(&fabric).demand(fabric.nodes(), 1).expect("a pattern");
            let run = || exchange(&plan, &settings, &demand, 64 << 10, Schedule::LinearShift).expect("no deadlock");
            let first = run();
            assert_eq!(first.stats.packets, first.stats.delivered);
            assert_eq!(first, run());
            let bound = plan.count(&demand).expect("routes").bounds(&fabric, settings.capacities, 64 << 10);
            if detours.is_none() {
                let share = first.mbps() / f64::from(fabric.nodes()) / bound.bandwidth_per_node_mbps;
                assert!((0.5..1.02).contains(&share), "Valiant's bound in {groups} groups: {share}");
            }
        }
    }
}

/// Paths one by one, against a scan of every link between the two groups.
#[test]
fn ways_by_number_are_those_of_all_links() {
    let mut seen = 0;
    for (counts, groups) in [([2, 4, 2], 9), ([2, 4, 3], 3), ([4, 8, 4], 2), ([4, 8, 4], 1)] {
        let (_, fabric) = dragonfly(counts, groups, RoutingSpec::DragonflyMinimal);
        let Shape::Dragonfly(shape) = &fabric.shape else { panic!("a dragonfly") };
        for (to, &home) in (0..).map(Node).zip(&fabric.attachment.home) {
            let ways = fabric.ways(Trip::new(Node(0), to));
            for &at in fabric.attachment.homes.iter().filter(|&&at| at != home) {
                let ((group, place), (wanted, there)) = (shape.locate(at), shape.locate(home));
                let mut ports = Vec::new();
                if group == wanted {
                    ports.extend(shape.local_ports(place, there));
                } else {
                    let offset = shape.offset(group, wanted);
                    let links: Vec<(u32, u32)> = (0..shape.links).map(|link| shape.gateway(offset, link)).collect();
                    let own = links.iter().filter(|(router, _)| *router == place);
                    ports.extend(own.map(|&(_, port)| shape.global_port(port)));
                    if ports.is_empty() {
                        ports.extend(links.iter().flat_map(|&(router, _)| shape.local_ports(place, router)));
                    }
                }
                let state = State { at, phase: 0 };
                assert_eq!(ways.count(state), Some(ports.len() as u32));
                let channels: Vec<_> = ports.iter().map(|&port| fabric.network.port(at, port)).collect();
                let each: Vec<_> =
                    (0..ports.len() as u32).filter_map(|nth| ways.nth(state, nth)).map(|hop| hop.channel).collect();
                assert_eq!(each, channels);
                seen += each.len();
            }
        }
    }
    assert!(seen > 5_000, "{seen}");
}
