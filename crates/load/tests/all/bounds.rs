//! From loads to bandwidth: which resource limits, at which of its rates.

use hotlink_bound::{Bounds, Limited};
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Node, Resource};
use hotlink_fabric::spec::{Capacities, FabricSpec, ResourceSpec, Role, RoutingSpec, Status, TopologySpec, Value};
use hotlink_fabric::topology::{Crossbar, DragonflySpec, Shared, SwitchArray};
use hotlink_fabric::traffic::Traffic;
use hotlink_fabric::units::{Rate, Time};
use hotlink_load::count;

fn stated<T>(value: T) -> Value<T> {
    Value { value, unit: String::new(), source: "test".to_owned(), status: Status::Estimated }
}

fn resource(mbps: f64, half_duplex: bool) -> ResourceSpec {
    let gross = Some(stated(Rate::from_mbps(mbps)));
    ResourceSpec { name: "resource".to_owned(), gross, measured: None, latency: stated(Time::ZERO), half_duplex }
}

fn bounds(
    topology: TopologySpec,
    resources: &[(Role, ResourceSpec)],
    nodes: u32,
    traffic: Traffic,
) -> (Fabric, Bounds) {
    let mut spec = FabricSpec::bare("test", topology, RoutingSpec::ShortestEcmp);
    spec.resources.extend(resources.iter().cloned());
    let fabric = Fabric::build(&spec, nodes).unwrap();
    let load = count(&fabric, &traffic.demand(nodes, 0).unwrap()).unwrap();
    let bounds = load.bounds(&fabric, Capacities::Theoretical, 1024);
    (fabric, bounds)
}

#[test]
fn a_half_duplex_bus_carries_what_a_node_sends_and_receives_a_full_duplex_one_the_greater() {
    let crossbar = TopologySpec::new(Crossbar { ports: 8 });
    for (half, mbps) in [(true, 50.0), (false, 100.0)] {
        let (fabric, bounds) =
            bounds(crossbar.clone(), &[(Role::HostBus, resource(100.0, half))], 4, Traffic::AllToAll);
        assert_eq!(bounds.bandwidth_per_node_mbps, mbps);
        let limit = bounds.limiting().unwrap();
        assert_eq!((limit.hottest, limit.sharing), (Resource::Host(Node(0), Role::HostBus), 4));
        assert_eq!(fabric.resource_name(limit.hottest), "resource of node 0");
    }
}

#[test]
fn a_half_duplex_link_carries_both_directions() {
    let array = TopologySpec::new(SwitchArray { ports: 4, links: 1, groups: Vec::new() });
    for (half, mbps) in [(false, 100.0), (true, 50.0)] {
        let resources = [(Role::SwitchLink, resource(300.0, half))];
        let (_, bounds) = bounds(array.clone(), &resources, 6, Traffic::Bisection);
        // Three nodes of each switch send across one link.
        assert_eq!(bounds.bandwidth_per_node_mbps, mbps);
    }
}

#[test]
fn processes_of_a_machine_share_its_memory() {
    let resources = [(Role::Link, resource(100.0, false)), (Role::Memory, resource(300.0, false))];
    let of = |nodes| bounds(TopologySpec::new(Shared), &resources, nodes, Traffic::Shift(1)).1.bandwidth_per_node_mbps;
    assert_eq!([of(2), of(3), of(4), of(6)], [100.0, 100.0, 75.0, 50.0]);
}

#[test]
fn links_between_groups_that_are_not_told_apart_have_the_rate_of_plain_links() {
    let dragonfly =
        TopologySpec::new(DragonflySpec { nodes_per_router: 1, routers_per_group: 2, global_per_router: 1 });
    let (fabric, bounds) = bounds(dragonfly, &[(Role::Link, resource(100.0, false))], 6, Traffic::AllToAll);
    let global = bounds.roles.iter().find(|role| role.role == Role::GlobalLink).unwrap();
    assert_eq!(global.payload_mbps, Some(100.0));
    assert_eq!(fabric.role_name(Role::GlobalLink), "resource");
}

#[test]
fn where_nothing_has_a_rate_or_nothing_flows_nothing_limits() {
    let crossbar = TopologySpec::new(Crossbar { ports: 8 });
    let (_, no_rate) = bounds(crossbar.clone(), &[], 4, Traffic::AllToAll);
    let (_, no_flow) = bounds(crossbar, &[(Role::Link, resource(1.0, false))], 1, Traffic::AllToAll);
    assert!(no_rate.limiting().is_none() && no_rate.bandwidth_per_node_mbps.is_infinite());
    assert!(no_flow.limiting().is_none() && no_flow.flow_per_node == 0.0);
}
