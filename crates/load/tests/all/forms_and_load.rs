//! The two engines check each other: M02's closed forms against loads counted on routes.

use hotlink_fabric::network::Node;
use hotlink_fabric::spec::{Capacities, FabricSpec, Role, RoutingSpec};
use hotlink_fabric::traffic::Traffic;
use hotlink_fabric::{Fabric, catalog, forms};
use hotlink_load::count;
use hotlink_load::split::SwitchSplit;

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
