//! The two engines check each other: M02's closed forms against loads counted on routes.

use hotlink_bound::Limited;
use hotlink_fabric::network::Node;
use hotlink_fabric::spec::{Capacities, FabricSpec, Role, RoutingSpec, TopologySpec};
use hotlink_fabric::topology::{Crossbar, CubeSpec, SwitchArray, SwitchRing};
use hotlink_fabric::traffic::Traffic;
use hotlink_fabric::{Fabric, catalog, forms};
use hotlink_load::count;
use hotlink_load::split::SwitchSplit;
use proptest::prelude::*;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

fn split(spec: &FabricSpec, nodes: u32) -> (Fabric, SwitchSplit) {
    let fabric = Fabric::build(spec, nodes).unwrap();
    let demand = Traffic::AllToAll.demand(nodes, 0).unwrap();
    let load = count(&fabric, &demand).unwrap();
    let split = SwitchSplit::of(&fabric, &demand, &load).unwrap();
    (fabric, split)
}

#[test]
fn sci_forms_equal_counts_at_every_size() {
    for name in ["sci-ring", "sci-torus2d", "sci-torus3d", "sci-torus4d"] {
        let spec = catalog::load(name).unwrap();
        for nodes in 2..=130 {
            let fabric = Fabric::build(&spec, nodes).unwrap();
            let load = count(&fabric, &Traffic::AllToAll.demand(fabric.nodes(), 0).unwrap()).unwrap();
            for capacities in [Capacities::Measured, Capacities::Theoretical] {
                let form = forms::for_fabric(&spec, nodes, capacities, forms::MESSAGE_BYTES).unwrap();
                let bounds = load.bounds(&fabric, capacities, forms::MESSAGE_BYTES);
                assert_eq!(u64::from(fabric.nodes()), form.nodes_built);
                assert!(
                    close(bounds.bandwidth_per_node_mbps, form.bandwidth_per_node_mbps),
                    "{name} {nodes}: {bounds:?}"
                );
                assert_eq!(bounds.limiting().unwrap().name, form.limiting_resource, "{name} {nodes}");
            }
        }
    }
}

/// As the equations take it.
fn by_shortest_routes(name: &str) -> FabricSpec {
    FabricSpec { routing: RoutingSpec::ShortestEcmp, ..catalog::load(name).unwrap() }
}

#[test]
fn switch_forms_equal_counts_where_every_switch_is_full_and_k_always() {
    for name in ["myrinet-minimal", "myrinet-ring2", "myrinet-ring4", "myrinet-clos64"] {
        let spec = by_shortest_routes(name);
        let mut compared = 0;
        for nodes in 2..=128 {
            let (fabric, split) = split(&spec, nodes);
            let form = forms::for_fabric(&spec, nodes, Capacities::Measured, forms::MESSAGE_BYTES).unwrap();
            assert!(
                close(split.nodes_per_switch, form.nodes_per_switch.unwrap()),
                "{name} {nodes}: {split:?} {form:?}"
            );
            let held: Vec<usize> =
                (0..fabric.attachment.homes.len()).map(|group| fabric.attachment.nodes_of(group).len()).collect();
            // h of the forms weighs pairs of switches alike: only where all hold as many nodes is it the mean over packets.
            let is_clos = name == "myrinet-clos64";
            if !is_clos && held.iter().any(|&k| k != held[0]) {
                continue;
            }
            let hot = form.hot_link.unwrap_or(0.0);
            assert!(close(split.average_load, hot), "{name} {nodes}: {split:?} {form:?}");
            let hops = form.hops.unwrap() * if is_clos { 2.0 } else { 1.0 };
            assert!(close(split.hops, hops), "{name} {nodes}: {split:?} {form:?}");
            let link = spec.resources[&Role::Link].measured.as_ref().unwrap().value.mbps();
            let between = spec.resource(Role::SwitchLink).unwrap().measured().unwrap().value.mbps();
            let bandwidth = split.bandwidth(between, link);
            assert!(
                close(bandwidth.overall_mbps, form.bandwidth_per_node_mbps),
                "{name} {nodes}: {bandwidth:?} {form:?}"
            );
            assert!(bandwidth.overall_hottest_mbps <= bandwidth.overall_mbps * (1.0 + 1e-12));
            compared += 1;
        }
        assert!(compared >= 16, "{name}: {compared} sizes compared");
    }
}

#[test]
fn counted_hops_are_the_mean_over_pairs_of_nodes_at_every_size() {
    for (name, ring) in [("myrinet-minimal", false), ("myrinet-ring2", true), ("myrinet-ring4", true)] {
        let spec = by_shortest_routes(name);
        for nodes in 17..=128 {
            let (fabric, split) = split(&spec, nodes);
            let switches = fabric.attachment.homes.len() as i64;
            let (mut hops, mut pairs) = (0i64, 0i64);
            for a in 0..nodes {
                for b in 0..nodes {
                    let on = |n: u32| i64::from(fabric.attachment.group[Node(n).0 as usize]);
                    let straight = (on(a) - on(b)).abs();
                    hops += if ring { straight.min(switches - straight) } else { straight };
                    pairs += i64::from(straight != 0);
                }
            }
            assert!(close(split.hops, hops as f64 / pairs as f64), "{name} {nodes}: {split:?}");
            assert!(close(split.between_switches, pairs as f64 / f64::from(nodes)));
            assert!(close(split.average_load * split.channels as f64, hops as f64));
        }
    }
}

#[test]
fn the_middle_of_a_linear_array_is_hotter_than_the_average() {
    let (_, split) = split(&catalog::load("myrinet-minimal").unwrap(), 30 + 14 * 4);
    assert_eq!(split.hottest_load, 43.0 * 43.0, "each node of one half sends to each of the other: {split:?}");
    assert!(split.average_load < 1500.0, "{split:?}");
}

#[test]
fn idle_latencies_by_form_and_by_count_are_equal_at_every_size() {
    let sci = ["sci-ring", "sci-torus2d", "sci-torus3d", "sci-torus4d"].map(|name| catalog::load(name).unwrap());
    let myrinet = ["myrinet-minimal", "myrinet-ring2", "myrinet-ring4", "myrinet-clos64"].map(by_shortest_routes);
    for spec in sci.iter().chain(&myrinet) {
        let idle = |nodes: u32| {
            let fabric = Fabric::build(spec, nodes).unwrap();
            let load = count(&fabric, &Traffic::AllToAll.demand(fabric.nodes(), 0).unwrap()).unwrap();
            let form = forms::for_fabric(spec, nodes, Capacities::Measured, forms::MESSAGE_BYTES).unwrap();
            let counted = load.idle_us(&fabric).unwrap();
            assert!(close(counted, form.idle_us), "{} {nodes}: {counted} {}", spec.name, form.idle_us);
            counted
        };
        let all: Vec<f64> = (2..=128).map(idle).collect();
        assert!(all[126] > all[0], "{}: messages go further in a larger network", spec.name);
    }
}

/// A rate of the switches limits closed forms where all switches are alike; of others there is no form.
#[test]
fn forms_know_the_rate_of_switches() {
    let one = TopologySpec::new(Crossbar { ports: 40 });
    let [ring, array] = [true, false].map(|is_ring| grouped(is_ring, 1, &[4, 4, 4]).topology);
    let rated = |name: &str, topology: Option<TopologySpec>| {
        let spec = catalog::load(name).unwrap();
        let mut switch = spec.resources[&Role::Link].clone();
        switch.gross.as_mut().unwrap().value.0 *= 2;
        switch.measured = None;
        let mut spec = FabricSpec { topology: topology.unwrap_or(spec.topology.clone()), ..spec };
        spec.resources.insert(Role::Switch, switch);
        spec
    };
    let form = |spec: &FabricSpec, nodes| forms::for_fabric(spec, nodes, Capacities::Theoretical, 4096);
    for (spec, nodes) in [(rated("ib-ndr-fat-tree2", Some(one)), 32), (rated("sci-ring", None), 12)] {
        let mut spec = spec;
        if let Some(cube) = spec.topology.get::<CubeSpec>().cloned() {
            spec.topology = TopologySpec::new(CubeSpec { b_link: false, ..cube });
        }
        let fabric = Fabric::build(&spec, nodes).unwrap();
        let load = count(&fabric, &Traffic::AllToAll.demand(nodes, 0).unwrap()).unwrap();
        let bound = load.bounds(&fabric, Capacities::Theoretical, 4096).bandwidth_per_node_mbps;
        let form = form(&spec, nodes).unwrap();
        assert!(close(form.bandwidth_per_node_mbps, bound), "{}: {form:?}, counted {bound}", spec.name);
        assert_eq!(form.limiting_resource, spec.resources[&Role::Switch].name);
    }
    for topology in [ring, array] {
        assert_eq!(form(&rated("myrinet-minimal", Some(topology)), 12), None);
    }
}

/// A line or ring of 16-port switches with so many links between neighbours and so many nodes on each.
fn grouped(is_ring: bool, links: u32, groups: &[u32]) -> FabricSpec {
    let groups = groups.to_vec();
    let topology = match is_ring {
        true => TopologySpec::new(SwitchRing { ports: 16, links, links_per_switch: false, groups }),
        false => TopologySpec::new(SwitchArray { ports: 16, links, groups }),
    };
    FabricSpec { topology, ..by_shortest_routes("myrinet-minimal") }
}

proptest! {
    /// Uneven groups, the last of them filled in part: of M02's two readings of k, the mean over nodes is what counting gives.
    #[test]
    fn forms_of_uneven_groups_equal_counts(
        is_ring in any::<bool>(),
        links in 1u32..=3,
        groups in prop::collection::vec(1u32..=10, 2..=9),
        part in 0u32..10,
    ) {
        let sum: u32 = groups.iter().sum();
        let nodes = (sum - part.min(groups[groups.len() - 1] - 1)).max(2);
        let spec = grouped(is_ring, links, &groups);
        let (fabric, split) = split(&spec, nodes);
        let form = forms::for_fabric(&spec, nodes, Capacities::Measured, forms::MESSAGE_BYTES).unwrap();
        prop_assert_eq!(form.switches, Some(fabric.attachment.homes.len() as u32));
        prop_assert!(close(split.nodes_per_switch, form.nodes_per_switch.unwrap()), "{split:?} {form:?}");
        prop_assert!(close(split.average_load, form.hot_link.unwrap()), "{split:?} {form:?}");
        prop_assert!(close(split.hops, form.hops.unwrap()), "{split:?} {form:?}");
        let bandwidth = split.bandwidth(144.0, 144.0);
        prop_assert!(close(bandwidth.overall_mbps, form.bandwidth_per_node_mbps), "{bandwidth:?} {form:?}");
        let load = count(&fabric, &Traffic::AllToAll.demand(nodes, 0).unwrap()).unwrap();
        prop_assert!(close(load.idle_us(&fabric).unwrap(), form.idle_us), "{form:?}");
        let held: Vec<usize> = (0..groups.len()).map(|group| fabric.attachment.nodes_of(group).len()).collect();
        let is_even = held.iter().all(|&k| k == held[0]);
        // The mean over switches is never above that over nodes, and equal where switches are alike.
        prop_assert_eq!(form.by_switches.is_none(), is_even);
        if let Some((mean, mbps)) = form.by_switches {
            prop_assert!(close(mean, f64::from(nodes) / held.len() as f64) && mean < split.nodes_per_switch);
            prop_assert!(mbps > 0.0 && mbps <= 144.0 * (1.0 + 1e-12));
        }
    }

    /// The more of its traffic a node keeps on its own switch, the less goes between switches: in proportion.
    #[test]
    fn traffic_of_one_switch_stays_there(groups in prop::collection::vec(2u32..=12, 2..=6), percent in 0u32..=100) {
        let spec = grouped(false, 1, &groups);
        let nodes: u32 = groups.iter().sum();
        let fabric = Fabric::build(&spec, nodes).unwrap();
        let split = |pattern: &str| {
            let demand = pattern.parse::<Traffic>().unwrap().on(&fabric).demand(nodes, 0).unwrap();
            let load = count(&fabric, &demand).unwrap();
            prop_assert!(load.sent.iter().all(|&sent| close(sent, 1.0)));
            Ok(SwitchSplit::of(&fabric, &demand, &load).unwrap())
        };
        let (all, kept) = (split("uniform")?, split(&format!("same-switch:{percent}"))?);
        let left = 1.0 - f64::from(percent) / 100.0;
        prop_assert!((kept.between_switches - left * all.between_switches).abs() < 1e-9, "{kept:?}");
        prop_assert!((kept.hottest_load - left * all.hottest_load).abs() < 1e-9, "{kept:?}");
        prop_assert!((kept.same_switch + kept.between_switches - 1.0).abs() < 1e-9, "{kept:?}");
    }
}
