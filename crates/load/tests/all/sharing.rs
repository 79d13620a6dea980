//! Senders over one link.

use hotlink_fabric::network::{Channel, Node};
use hotlink_fabric::spec::Role;
use hotlink_fabric::traffic::{Demand, Flow};
use hotlink_fabric::{Fabric, catalog};
use hotlink_load::sharing::{Sharing, shared_link_pairs};

/// Whether some link between devices carries what each pair sends.
fn have_common_link(fabric: &Fabric, pairs: &[(u32, u32)]) -> bool {
    let flow = |&(from, to): &(u32, u32)| Flow { source: Node(from), destination: Node(to), amount: 1.0 };
    let demand = Demand { nodes: fabric.nodes(), all_pairs: 0.0, flows: pairs.iter().map(flow).collect() };
    let load = hotlink_load::count(fabric, &demand).unwrap();
    let network = &fabric.network;
    let is_cable = |role: Role| [Role::Link, Role::SwitchLink, Role::GlobalLink].contains(&role);
    let is_between = |c: Channel| !network.is_node(network.from(c)) && !network.is_node(network.to(c));
    let mut loads = (0..).map(Channel).zip(&load.channel).zip(&network.channel_role);
    loads.any(|((c, &load), &role)| is_cable(role) && is_between(c) && load > pairs.len() as f64 - 1e-6)
}

/// What is called senders over one link crosses one link, or is refused.
#[test]
fn senders_cross_one_link_or_are_refused() {
    let pairs = |name: &str, nodes: Option<u32>, senders: u32| {
        let spec = catalog::load(name).expect("in the catalog");
        let nodes = nodes.unwrap_or_else(|| Sharing::Link.usual_nodes(&spec, senders));
        let fabric = Fabric::build(&spec, nodes).expect(name);
        let pairs = Sharing::Link.pairs(&fabric, nodes, senders);
        assert!(pairs.iter().all(|pairs| senders == 1 || have_common_link(&fabric, pairs)), "{name}");
        pairs.map(|pairs| (nodes, pairs))
    };
    assert_eq!(pairs("sci-ring", None, 3), Ok((6, vec![(0, 3), (1, 4), (2, 5)])));
    assert_eq!(pairs("sci-ring", Some(8), 4), Ok((8, shared_link_pairs(8, 4))));
    assert_eq!(pairs("myrinet-minimal", None, 4), Ok((30, shared_link_pairs(30, 4))));
    // In one row, as half the nodes further on is another row.
    assert_eq!(pairs("sci-torus2d", None, 3), Ok((36, vec![(0, 3), (1, 4), (2, 5)])));
    assert_eq!(pairs("sci-torus2d", Some(64), 4), Ok((64, vec![(0, 4), (1, 5), (2, 6), (3, 7)])));
    // One crossbar: each has a link of its own. With two parallel links, packets take either.
    for (name, nodes) in [("myrinet-minimal", 6), ("myrinet-ring2", 6), ("myrinet-ring2", 24), ("gige", 16)] {
        let refused = pairs(name, Some(nodes), 3).expect_err(name);
        assert!(refused.contains("no common link"), "{name}: {refused}");
    }
}
