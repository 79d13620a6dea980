//! Adaptive routing: what it must gain, and what it may not lose.

use hotlink_bound::Limited;
use hotlink_fabric::network::Resource;
use hotlink_fabric::routing::Paths;
use hotlink_fabric::spec::{Capacities, FabricSpec};
use hotlink_fabric::traffic::Traffic;
use hotlink_fabric::units::Time;
use hotlink_fabric::{Fabric, catalog};
use hotlink_sim::fault::{Condition, Fault};
use hotlink_sim::workload::{Run, Schedule, exchange};
use hotlink_sim::{Plan, Settings};

fn named(name: &str) -> FabricSpec {
    catalog::load(name).expect("a fabric of the catalog")
}

/// Share of the bound that `traffic` reaches when every flow sends `size` bytes.
fn efficiency(spec: &FabricSpec, nodes: u32, traffic: &Traffic, size: u64, paths: Paths) -> (f64, Run) {
    let fabric = Fabric::build(spec, nodes).expect(&spec.name);
    let settings = Settings { paths, capacities: Capacities::Theoretical, ..Settings::of(spec) };
    let plan = Plan::new(&fabric, &settings).expect(&spec.name);
    let demand = traffic.demand(nodes, 1).expect("a pattern for this size");
    let run = exchange(&plan, &settings, &demand, size, Schedule::LinearShift).expect("no deadlock");
    // Against an even split: the most that any choice of paths can reach.
    let load = hotlink_load::count(&fabric, &demand).expect("routes");
    let bounds = load.bounds(&fabric, Capacities::Theoretical, size);
    let senders = demand.flows.len() as f64;
    (run.mbps() / senders / bounds.bandwidth_per_node_mbps, run)
}

#[test]
fn qsnet_climbs_adaptively_without_being_asked() {
    assert_eq!(Settings::of(&named("qsnet")).paths, Paths::Adaptive);
    assert_ne!(Settings::of(&named("myrinet-clos64")).paths, Paths::Adaptive);
}

#[test]
fn adaptive_ascent_beats_a_static_hash_under_permutations() {
    // Every leaf's four nodes all send out of it: a hash puts several of them on one of its four up links.
    let patterns =
        [Traffic::Shift(16), Traffic::Shift(4), Traffic::Transpose, Traffic::BitReversal, Traffic::Bisection];
    for traffic in patterns {
        let share = |paths| efficiency(&named("qsnet"), 64, &traffic, 64 << 10, paths).0;
        let (flow, adaptive) = (share(Paths::Flow), share(Paths::Adaptive));
        assert!(adaptive > 1.3 * flow, "{traffic}: adaptive {adaptive}, by a hash {flow}");
    }
}

#[test]
fn adaptive_routing_loses_nothing_and_never_beats_the_bound() {
    for (name, nodes) in [
        ("qsnet", 64),
        ("ib-ndr-fat-tree3", 64),
        ("eth-400g-leaf-spine", 64),
        ("slingshot-dragonfly", 80),
        ("ai-pod-torus3d", 64),
    ] {
        let spec = named(name);
        for traffic in [Traffic::Shift(5), Traffic::Random] {
            let (share, run) = efficiency(&spec, nodes, &traffic, 64 << 10, Paths::Adaptive);
            assert!(share <= 1.000_1, "{name} {traffic}: {share}");
            assert_eq!(run.stats.packets, run.stats.delivered, "{name} {traffic}");
            let (_, again) = efficiency(&spec, nodes, &traffic, 64 << 10, Paths::Adaptive);
            assert_eq!(run, again, "{name} {traffic}: the same inputs give the same course");
        }
    }
}

/// Where nothing ever fails a route ends at its first choice; where something may, all of it is made at once. Paths,
/// times and counts must not differ.
#[test]
fn a_failure_that_never_comes_changes_nothing() {
    for (name, nodes) in
        [("qsnet", 64), ("ib-ndr-fat-tree2", 128), ("ib-ndr-fat-tree3", 1100), ("eth-400g-leaf-spine", 64)]
    {
        let spec = named(name);
        let fabric = Fabric::build(&spec, nodes).expect(name);
        let demand = Traffic::Random.demand(nodes, 3).expect("a permutation");
        let run = |faults| {
            let settings = Settings { paths: Paths::Adaptive, faults, ..Settings::of(&spec) };
            let plan = Plan::new(&fabric, &settings).expect(name);
            let Run { elapsed, bytes, stats, busy, .. } =
                exchange(&plan, &settings, &demand, 64 << 10, Schedule::LinearShift).expect("no deadlock");
            (elapsed, bytes, stats.packets, stats.packet_hops, stats.delivered, busy)
        };
        let link = Resource::Channel(fabric.network.out(fabric.attachment.homes[0]).next().expect("a link"));
        let never = Fault { at: Time(1 << 60), resource: link, condition: Condition::Down };
        assert_eq!(run(vec![]), run(vec![never]), "{name}");
    }
}
