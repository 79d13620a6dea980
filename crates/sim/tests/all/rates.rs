//! Links, switches and hosts of unlike rates: what a message takes alone, and switches that have a rate.

use hotlink_bound::Limited;
use hotlink_fabric::routing::Paths;
use hotlink_fabric::spec::{CubeSpec, Extents, FabricSpec, Role, RoutingSpec, SwitchArray, SwitchRing, TopologySpec};
use hotlink_fabric::topology::hyperx::HyperX;
use hotlink_fabric::topology::{DragonflySpec, FatTree};
use hotlink_fabric::traffic::Traffic;
use hotlink_fabric::units::Rate;
use hotlink_fabric::{Fabric, catalog, technology};
use hotlink_load::{Serial, deadlock};
use hotlink_sim::workload::{PingPong, Schedule, all_to_all, exchange, ping_pong};
use hotlink_sim::{Plan, Settings};
use proptest::prelude::*;

/// Rates in Gbit/s; 0 is none.
const RATES: [u64; 6] = [0, 50, 100, 200, 400, 3200];

/// A topology with the rates of links, links between switches, global links, switches and host buses, as places in
/// [`RATES`].
fn spec(topology: TopologySpec, routing: RoutingSpec, rates: [usize; 5]) -> FabricSpec {
    let mut spec = catalog::load("ib-ndr-fat-tree2").expect("a fabric of the catalog");
    (spec.topology, spec.routing) = (topology, routing);
    let roles = [Role::Link, Role::SwitchLink, Role::GlobalLink, Role::Switch, Role::HostBus];
    let like = spec.resources[&Role::Link].clone();
    for (role, rate) in roles.into_iter().zip(rates) {
        let resource = spec.resources.entry(role).or_insert(like.clone());
        (resource.gross, resource.measured) = (like.gross.clone(), None);
        let gbit = Rate(RATES[rate] * 125_000_000);
        resource.gross.as_mut().expect("rated").value = gbit;
        resource.gross = resource.gross.take().filter(|_| RATES[rate] > 0);
    }
    spec
}

fn cube(extents: &[u32], nodes_per_router: u32) -> TopologySpec {
    TopologySpec::new(CubeSpec {
        dimensions: extents.len() as u32,
        bidirectional: true,
        b_link: false,
        host_links: false,
        nodes_per_router,
        extents: Extents::Fixed(extents.to_vec()),
    })
}

fn dragonfly(nodes_per_router: u32, routers_per_group: u32, global_per_router: u32) -> TopologySpec {
    TopologySpec::new(DragonflySpec { nodes_per_router, routers_per_group, global_per_router })
}

/// A topology, its routing and its nodes.
fn shapes() -> impl Strategy<Value = (TopologySpec, RoutingSpec, u32)> {
    use RoutingSpec::{DimensionOrder, DragonflyMinimal, DragonflyValiant, UpDown};
    let tree = FatTree { radix: 8, levels: Some(2), oversubscription: 1.0, top_all_down: true };
    let array = SwitchArray { ports: 5, links: 1, groups: Vec::new() };
    let ring = SwitchRing { ports: 6, links: 1, links_per_switch: false, groups: Vec::new() };
    let hyperx = HyperX { extents: vec![2, 3], links: 1, nodes_per_switch: 2 };
    prop_oneof![
        Just((TopologySpec::new(tree), UpDown, 24)),
        Just((TopologySpec::new(array), UpDown, 12)),
        Just((TopologySpec::new(ring), UpDown, 13)),
        Just((TopologySpec::new(hyperx), DimensionOrder, 12)),
        Just((cube(&[8], 3), DimensionOrder, 24)),
        Just((cube(&[2, 4], 2), DimensionOrder, 16)),
        Just((dragonfly(2, 2, 1), DragonflyMinimal, 12)),
        Just((dragonfly(1, 2, 2), DragonflyValiant, 10)),
    ]
}

fn technologies() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("infiniband"), Just("roce"), Just("gigabit-ethernet"), Just("slingshot")]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// What `analyze --load` prints for an idle network is the mean of what messages take alone. No fabric with
    /// deadlock-free routes locks up, and no faster switch makes a message slower.
    #[test]
    fn a_message_alone_takes_what_is_counted(
        (topology, routing, nodes) in shapes(),
        rates in proptest::array::uniform5(0usize..6),
        technology in technologies(),
        (flow, bytes) in (any::<bool>(), 1u64..4096),
    ) {
        prop_assume!(rates[0] > 0 || rates[1] > 0);
        let paths = if flow { Paths::Flow } else { Paths::Destination };
        let technology = technology::named(technology).expect("a technology");
        let of = |rates| FabricSpec { paths, ..spec(topology.clone(), routing, rates).of_technology(technology) };
        let spec = of(rates);
        let fabric = Fabric::build(&spec, nodes).expect("a fabric");
        let settings = Settings { paths, ..Settings::of(&spec) };
        let plan = Plan::new(&fabric, &settings).expect("plan");
        let demand = Traffic::AllToAll.demand(nodes, 0).expect("a pattern");
        let (mut sum, mut pairs) = (0.0, 0.0);
        // A path by a random group differs from seed to seed.
        for seed in 0..if fabric.routing.is_valiant() { 40 } else { 1 } {
            let settings = Settings { seed: settings.seed + seed, ..settings.clone() };
            let plan = Plan::new(&fabric, &settings).expect("plan");
            let all = (0..nodes).flat_map(|from| (0..nodes).map(move |to| [from, to]));
            for between in all.filter(|[from, to]| from != to) {
                let what = PingPong { between, size: bytes, messages: 1 };
                sum += ping_pong(&plan, &settings, what).expect("it arrives").elapsed.us();
                pairs += 1.0;
            }
        }
        let alone = sum / pairs;
        let load = plan.count(&demand).expect("routes");
        let efficiency = spec.packet().efficiency(bytes, 1.0);
        let serial = Serial::new(&fabric, (paths, settings.seed), settings.capacities, efficiency, bytes);
        let counted = load.idle_us(&fabric).expect("all send") + serial.mean_us(&demand).expect("all send");
        let most = if fabric.routing.is_valiant() { 0.02 } else { 1e-4 };
        prop_assert!((alone - counted).abs() < most * alone, "{} alone, {} counted", alone, counted);
        if RATES[rates[3]] > 0 && !fabric.routing.is_valiant() {
            let without = of([rates[0], rates[1], rates[2], 0, rates[4]]);
            let without = Fabric::build(&without, nodes).expect("a fabric");
            let plan = Plan::new(&without, &settings).expect("plan");
            let what = PingPong { between: [0, nodes - 1], size: bytes, messages: 1 };
            let ideal = ping_pong(&plan, &settings, what).expect("it arrives").elapsed.us();
            let plan = Plan::new(&fabric, &settings).expect("plan");
            let own = ping_pong(&plan, &settings, what).expect("it arrives").elapsed.us();
            prop_assert!(own >= ideal - 1e-6, "{} with a rate of the switches, {} without", own, ideal);
            let slowest = rates[..3].iter().map(|&rate| RATES[rate]).filter(|&rate| rate > 0).max();
            if slowest.is_some_and(|most| RATES[rates[3]] >= most) && rates[..3].iter().all(|&rate| rate > 0) {
                prop_assert!((own - ideal).abs() < 1e-4, "{} with a rate of the switches, {} without", own, ideal);
            }
        }
        if deadlock::check(&fabric).expect("small").is_free() {
            let small = Settings { switch_buffer_bytes: 1, ..settings };
            let plan = Plan::new(&fabric, &small).expect("plan");
            all_to_all(&plan, &small, 40_000, Schedule::LinearShift).expect("no deadlock");
        }
    }
}

/// Lanes of rings' datelines met in the queue of a router: a ring of eight routers with three nodes each locked up.
#[test]
fn virtual_channels_stay_apart_through_a_rated_switch() {
    for (topology, routing, nodes) in [
        (cube(&[8], 3), RoutingSpec::DimensionOrder, 24),
        (cube(&[2, 4], 2), RoutingSpec::DimensionOrder, 16),
        (dragonfly(4, 4, 2), RoutingSpec::DragonflyValiant, 72),
    ] {
        let spec = FabricSpec { paths: Paths::Packet, ..spec(topology, routing, [0, 4, 4, 4, 0]) };
        let fabric = Fabric::build(&spec, nodes).expect("a fabric");
        assert!(deadlock::check(&fabric).expect("small").is_free());
        let settings = Settings { switch_buffer_bytes: 1, ..Settings::of(&spec) };
        let plan = Plan::new(&fabric, &settings).expect("plan");
        let run = all_to_all(&plan, &settings, 40_000, Schedule::Random).expect("no deadlock");
        assert_eq!(run.stats.packets, run.stats.delivered);
    }
}

/// The bound shared a pair's flow over all links of its router, and packets took one of them.
#[test]
fn routes_by_random_groups_keep_below_their_bound_whatever_chooses_paths() {
    for paths in [Paths::Packet, Paths::Flow, Paths::Destination] {
        let spec = spec(dragonfly(1, 2, 3), RoutingSpec::DragonflyValiant, [4, 1, 3, 0, 0]);
        let fabric = Fabric::build(&spec, 14).expect("14 nodes");
        for traffic in [Traffic::HotSpot(100), Traffic::Bisection, Traffic::Random, Traffic::Shift(2)] {
            let settings = Settings { paths, ..Settings::of(&spec) };
            let plan = Plan::new(&fabric, &settings).expect("plan");
            let demand = traffic.demand(14, 1).expect("a pattern");
            let size = 4 << 20;
            let run = exchange(&plan, &settings, &demand, size, Schedule::LinearShift).expect("no deadlock");
            let load = plan.count(&demand).expect("routes");
            let bound = load.bounds(&fabric, settings.capacities, size).bandwidth_per_node_mbps;
            let senders = load.sent.iter().filter(|&&sent| sent > 0.0).count();
            let share = run.mbps() / senders as f64 / bound;
            assert!((0.2..1.02).contains(&share), "{traffic}, {}: {share}", paths.name());
        }
    }
}

/// A worm would hold the whole switch until its tail has left it: two that cross each other locked up.
#[test]
fn worms_through_rated_switches_are_refused_with_what_to_do() {
    let array = SwitchArray { ports: 6, links: 1, groups: Vec::new() };
    let spec = spec(TopologySpec::new(array), RoutingSpec::UpDown, [2, 2, 0, 2, 0]);
    let spec = spec.of_technology(technology::named("myrinet").expect("a technology"));
    let fabric = Fabric::build(&spec, 10).expect("10 nodes");
    let error = Plan::new(&fabric, &Settings::of(&spec)).expect_err("worms").to_string();
    assert!(error.contains("resource.switch.gross"), "{error}");
}
