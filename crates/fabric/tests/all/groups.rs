//! Networks of groups: Dragonfly+ and GPU rails, their links counted and their paths as long as they must be.

use hotlink_fabric::network::{Channel, Node, Resource};
use hotlink_fabric::spec::{FabricSpec, Role, RoutingSpec, TopologySpec};
use hotlink_fabric::topology::{DragonflyPlus, Rail};
use hotlink_fabric::{Fabric, catalog};

const ROUTING: RoutingSpec = RoutingSpec::ShortestEcmp;

fn built(topology: TopologySpec, nodes: u32) -> Fabric {
    Fabric::build(&FabricSpec::bare("groups", topology, ROUTING), nodes).unwrap()
}

/// Channels of a role, both ways of a link.
fn channels(fabric: &Fabric, role: Role) -> usize {
    let network = &fabric.network;
    (0..network.channels() as u32).filter(|&c| network.role(Resource::Channel(Channel(c))) == role).count()
}

/// Hops of the shortest path.
fn hops(fabric: &Fabric, from: u32, to: u32) -> usize {
    let network = &fabric.network;
    let (mut reached, mut hops) = (std::collections::BTreeSet::from([Node(from).vertex()]), 0);
    while !reached.contains(&Node(to).vertex()) {
        reached = reached.iter().flat_map(|&v| network.out(v).map(|c| network.to(c))).collect();
        hops += 1;
        assert!(hops < 20, "{from} does not reach {to}");
    }
    hops
}

#[test]
fn every_two_groups_of_a_dragonfly_plus_have_equally_many_links() {
    // Five groups of 2 x 2 nodes, 2 spines of 2 links: one link between every two groups.
    let topology = || TopologySpec::new(DragonflyPlus { nodes_per_leaf: 2, leaves: 2, spines: 2, global_per_spine: 2 });
    let fabric = built(topology(), 20);
    assert_eq!(channels(&fabric, Role::GlobalLink), 5 * 4);
    assert_eq!(channels(&fabric, Role::SwitchLink), 2 * 5 * 4);
    // Two groups have four links; every spine has as many as it has ports.
    let two = built(topology(), 8);
    assert_eq!(channels(&two, Role::GlobalLink), 2 * 4);
    for fabric in [&fabric, &two] {
        let spines = (0..fabric.network.vertices() as u32).map(hotlink_fabric::network::Vertex);
        let global =
            |v| fabric.network.out(v).filter(|&c| fabric.network.role(Resource::Channel(c)) == Role::GlobalLink);
        assert!(spines.map(|v| global(v).count()).all(|many| many == 0 || many == 2));
    }
    // Node, leaf, node; node, leaf, spine, leaf, node; and one global link more, after at most one spine to turn at.
    assert_eq!([hops(&fabric, 0, 1), hops(&fabric, 0, 2)], [2, 4]);
    assert!((4..20).all(|far| hops(&fabric, 0, far) == 5));
    let why = Fabric::build(&FabricSpec::bare("groups", topology(), ROUTING), 21).unwrap_err();
    assert!(why.0.contains("5 groups of 4 hold 20"), "{why}");
}

#[test]
fn the_catalogs_dragonfly_plus_gives_all_to_all_its_full_bandwidth_inside_a_group() {
    let spec = catalog::load("ib-ndr-dragonfly-plus").unwrap();
    let fabric = Fabric::build(&spec, 96).unwrap();
    assert_eq!(hops(&fabric, 0, 95), 4);
    assert_eq!(channels(&fabric, Role::GlobalLink), 0);
    // A group alone is no larger than its nodes need: leaves, spines of 64 ports, the links of full leaves.
    for (nodes, leaves, spines) in [(32, 1, 0), (64, 2, 1), (96, 3, 2), (512, 16, 8), (1024, 32, 16)] {
        let fabric = Fabric::build(&spec, nodes).unwrap();
        assert_eq!(fabric.network.vertices() as u32, nodes + leaves + spines, "{nodes} nodes");
        assert_eq!(channels(&fabric, Role::SwitchLink) as u32, 2 * 32 * leaves * spines.min(1), "{nodes} nodes");
    }
}

#[test]
fn rails_that_are_joined_meet_in_spines_or_above_them() {
    let joined = |radix: u32| TopologySpec::new(Rail { joined: true, ..Rail::apart(4, radix) });
    // Eight hosts, four on a leaf: two leaves a rail, eight in all, under four spines.
    let two = built(joined(8), 32);
    assert_eq!(channels(&two, Role::SwitchLink), 2 * 8 * 4);
    // Same rail and leaf; another rail of another host; another GPU of the own host, over its scale-up switch.
    assert_eq!([hops(&two, 0, 4), hops(&two, 0, 5), hops(&two, 0, 1)], [4, 6, 4]);
    // Twelve hosts: three leaves a rail, more than eight in all; a core level above each rail's four spines.
    let three = built(joined(8), 48);
    assert_eq!(channels(&three, Role::SwitchLink), 2 * (12 * 4 + 16 * 4));
    assert_eq!([hops(&three, 0, 16), hops(&three, 0, 17)], [6, 8]);
    // Seventeen hosts: five leaves a rail, more than a spine's four ports. Each rail has groups of three and of two
    // leaves, each under four spines of its own, and cores join all eight groups. A spine has three links down, hence
    // as many up.
    let groups = built(joined(8), 68);
    assert_eq!(channels(&groups, Role::SwitchLink), 2 * (20 * 4 + 32 * 3));
    assert_eq!([hops(&groups, 0, 4), hops(&groups, 0, 16), hops(&groups, 0, 48), hops(&groups, 0, 49)], [4, 6, 8, 8]);
    let why = Fabric::build(&FabricSpec::bare("groups", joined(8), ROUTING), 132).unwrap_err();
    assert!(why.0.contains("leaves, spines and cores with 8 ports hold 128"), "{why}");
}

#[test]
fn rails_apart_have_cores_of_their_own_where_leaves_stand_in_groups() {
    let apart =
        |nodes| Fabric::build(&FabricSpec::bare("groups", TopologySpec::new(Rail::apart(4, 4)), ROUTING), nodes);
    // Eight hosts on four leaves of two, under two spines; ten on five leaves, in three groups.
    assert_eq!(channels(&apart(32).unwrap(), Role::SwitchLink), 2 * (4 * 4 * 2));
    let groups = apart(40).unwrap();
    assert_eq!(channels(&groups, Role::SwitchLink), 2 * (4 * 5 * 2 + 4 * 3 * 2 * 2));
    // Same leaf, same group, other group; another rail by the own host's GPU of it, on the same way.
    assert_eq!([hops(&groups, 0, 4), hops(&groups, 0, 8), hops(&groups, 0, 16), hops(&groups, 0, 17)], [5, 7, 9, 11]);
    let why = apart(68).unwrap_err();
    assert!(why.0.contains("with 4 ports hold 64"), "{why}");
}

#[test]
fn a_mesh_of_gpus_has_a_link_between_every_two() {
    let mesh = built(TopologySpec::new(Rail { mesh: true, ..Rail::apart(4, 8) }), 8);
    assert_eq!(channels(&mesh, Role::LocalLink), 2 * 4 * 3);
    // Over the two memories; to another host's rail over the own host's GPU of it.
    assert_eq!([hops(&mesh, 0, 1), hops(&mesh, 0, 4), hops(&mesh, 0, 5)], [3, 5, 6]);
}
