//! Links and switches that fail, come back and degrade: what has a path left arrives, what has none is named.

use hotlink_fabric::network::{Channel, Resource, Vertex};
use hotlink_fabric::routing::Paths;
use hotlink_fabric::spec::{FabricSpec, RoutingSpec};
use hotlink_fabric::topology::Shape;
use hotlink_fabric::units::Time;
use hotlink_fabric::{Fabric, catalog};
use hotlink_sim::fault::{Condition, Fault};
use hotlink_sim::flow::{Congestion, Detours};
use hotlink_sim::workload::{Run, Schedule, all_to_all};
use hotlink_sim::{Net, Plan, Settings};
use proptest::prelude::*;

const FABRICS: [(&str, u32); 9] = [
    ("ib-ndr-fat-tree2", 128),
    ("eth-400g-leaf-spine", 128),
    ("myrinet-clos64", 24),
    ("qsnet", 16),
    ("sci-torus2d", 16),
    ("sci-ring", 6),
    ("slingshot-dragonfly", 80),
    ("ai-pod-torus3d", 27),
    ("k98-t3d", 16),
];

fn built(name: &str, nodes: u32) -> Fabric {
    Fabric::build(&catalog::load(name).expect("a fabric of the catalog"), nodes).expect(name)
}

fn fault(at_us: u64, resource: Resource, condition: Condition) -> Fault {
    Fault { at: Time(at_us * 1_000_000), resource, condition }
}

fn run(fabric: &Fabric, size: u64, faults: Vec<Fault>, congestion: Congestion) -> Run {
    let settings = Settings { faults, congestion, retransmit_ps: Some(5_000_000), ..Settings::of(&fabric.spec) };
    let plan = Plan::new(fabric, &settings).expect("plan");
    all_to_all(&plan, &settings, size, Schedule::LinearShift).expect(&fabric.spec.name)
}

/// Links between devices, one channel of each.
fn device_links(fabric: &Fabric) -> Vec<Channel> {
    let network = &fabric.network;
    let devices = |c: &Channel| !network.is_node(network.from(*c)) && !network.is_node(network.to(*c));
    (0..network.channels() as u32).map(Channel).filter(devices).collect()
}

#[test]
fn a_spine_that_is_down_is_avoided_and_costs_nothing_but_its_share() {
    let fabric = built("ib-ndr-fat-tree2", 128);
    let spine = Vertex(fabric.network.vertices() as u32 - 1);
    for paths in [Paths::Packet, Paths::Adaptive, Paths::Destination] {
        let faults = vec![fault(0, Resource::Vertex(spine), Condition::Down)];
        let settings = Settings { faults, paths, ..Settings::of(&fabric.spec) };
        let plan = Plan::new(&fabric, &settings).expect("plan");
        let run = all_to_all(&plan, &settings, 4096, Schedule::Random).expect("another way");
        assert_eq!(run.bytes, 128 * 127 * 4096, "{paths:?}");
        assert!(run.unreachable.is_empty() && run.stats.gone == 0);
        for (server, busy) in (0..).zip(&run.busy) {
            if let Resource::Channel(c) = plan.server_resource(server) {
                let dead = fabric.network.from(c) == spine || fabric.network.to(c) == spine;
                assert!(!dead || *busy == 0.0, "{paths:?}: {}", plan.server_name(server));
            }
        }
    }
}

#[test]
fn what_is_cut_off_is_named_and_the_rest_arrives() {
    for (name, nodes) in [("ib-ndr-fat-tree2", 80), ("myrinet-clos64", 16), ("gige", 12), ("sci-torus2d", 16)] {
        let fabric = built(name, nodes);
        let nodes = fabric.nodes();
        let link = fabric.network.out(Vertex(3)).next().expect("a link");
        let run = run(&fabric, 4096, vec![fault(0, Resource::Channel(link), Condition::Down)], Congestion::Pause);
        let cut: Vec<(u32, u32)> = (0..nodes)
            .flat_map(|a| (0..nodes).map(move |b| (a, b)))
            .filter(|&(a, b)| a != b && (a == 3 || b == 3))
            .collect();
        assert_eq!(run.unreachable, cut, "{name}");
        let whole = u64::from(nodes - 1) * u64::from(nodes - 2) * 4096;
        assert_eq!(run.bytes, whole, "{name}");
        assert_eq!(run.stats.packets, run.stats.delivered + run.stats.gone, "{name}");
    }
}

#[test]
fn a_link_that_fails_in_the_middle_and_comes_back_loses_no_message() {
    for (name, nodes) in FABRICS {
        let fabric = built(name, nodes);
        let nodes = u64::from(fabric.nodes());
        let calm = run(&fabric, 8192, Vec::new(), Congestion::Pause);
        let links = device_links(&fabric);
        let middle = (calm.elapsed.us() / 2.0) as u64;
        let faults = [0, links.len() / 2, links.len() - 1]
            .iter()
            .flat_map(|&at| {
                let link = Resource::Channel(links[at]);
                [fault(middle, link, Condition::Down), fault(middle * 3 + 20, link, Condition::Up)]
            })
            .collect::<Vec<_>>();
        for congestion in [Congestion::Pause, Congestion::Drop] {
            let run = run(&fabric, 8192, faults.clone(), congestion);
            assert_eq!(run.bytes, nodes * (nodes - 1) * 8192, "{name}");
            assert!(run.unreachable.is_empty() && run.stats.gone == 0, "{name}");
            assert_eq!(run.stats.packets, run.stats.delivered, "{name}");
        }
    }
}

/// Dragonfly routes through another group choose a group that can still be reached, and so do routes that usually use
/// none. All links from the first group to the second and the third are down, and every message arrives.
#[test]
fn dragonflies_go_by_groups_that_are_left() {
    let spec = catalog::load("slingshot-dragonfly").expect("in the catalog");
    let spec = FabricSpec { routing: RoutingSpec::DragonflyValiant, ..spec };
    let whole = Fabric::build(&spec, 2048).expect("a valid size");
    let Shape::Dragonfly(shape) = &whole.shape else { panic!("a dragonfly") };
    assert!(shape.groups > 3, "{}", shape.groups);
    let group = |vertex: Vertex| shape.locate(vertex).0;
    let network = &whole.network;
    let between = |c: &Channel| {
        let ends = [network.from(*c), network.to(*c)];
        ends.iter().all(|&end| !network.is_node(end)) && matches!(ends.map(group), [0, 1 | 2])
    };
    let cut = (0..network.channels() as u32).map(Channel).filter(between);
    let faults: Vec<Fault> = cut.map(|c| fault(0, Resource::Channel(c), Condition::Down)).collect();
    assert!(!faults.is_empty());
    for detours in [None, Some(Detours::Local)] {
        let settings = Settings { faults: faults.clone(), detours, ..Settings::of(&spec) };
        let plan = Plan::new(&whole, &settings).expect("plan");
        let mut net = Net::new(&plan, &settings);
        let per_group = shape.nodes_per_region();
        for node in 0..per_group {
            net.post(node, per_group + node, 20_000, 0).expect("two nodes");
        }
        let mut arrived = 0;
        while let Some(note) = net.advance().expect("no deadlock") {
            arrived += u32::from(note.message().is_some());
        }
        assert_eq!((arrived, net.stats().gone), (per_group, 0), "{detours:?}");
        assert!(net.unreachable().is_empty());
    }
}

#[test]
fn a_link_degraded_to_a_quarter_quarters_its_flow() {
    let fabric = built("gige", 4);
    let link = Resource::Channel(fabric.network.out(Vertex(0)).next().expect("a link"));
    let whole = run(&fabric, 1 << 20, Vec::new(), Congestion::Pause).elapsed.us();
    let slow = run(&fabric, 1 << 20, vec![fault(0, link, Condition::Degraded(0.25))], Congestion::Pause).elapsed.us();
    assert!((slow / whole - 4.0).abs() < 0.1, "{slow} us of {whole}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn whatever_fails_and_is_mended_every_message_arrives_once(
        fabric in 0usize..FABRICS.len(),
        failures in proptest::collection::vec((any::<prop::sample::Index>(), 0u64..60, 1u64..80), 1..6),
        drop: bool,
        adaptive: bool,
        seed: u64,
    ) {
        let (name, nodes) = FABRICS[fabric];
        let fabric = built(name, nodes.min(72));
        let channels: Vec<Channel> = (0..fabric.network.channels() as u32).map(Channel).collect();
        let mut faults = Vec::new();
        for (which, at, lasts) in &failures {
            let link = Resource::Channel(*which.get(&channels));
            faults.push(fault(*at, link, Condition::Down));
            // All is mended late enough that no shorter failure's repair can undo a longer one.
            faults.push(fault(at + lasts, link, Condition::Degraded(0.5)));
            faults.push(fault(500, link, Condition::Up));
        }
        let base = Settings::of(&fabric.spec);
        let settings = Settings {
            seed,
            faults,
            congestion: if drop { Congestion::Drop } else { Congestion::Pause },
            paths: if adaptive { Paths::Adaptive } else { base.paths },
            retransmit_ps: Some(3_000_000),
            ..base
        };
        let plan = Plan::new(&fabric, &settings).expect("plan");
        let run = all_to_all(&plan, &settings, 2000, Schedule::Random).expect(name);
        let nodes = u64::from(fabric.nodes());
        prop_assert_eq!(run.bytes, nodes * (nodes - 1) * 2000);
        prop_assert_eq!(run.stats.packets, run.stats.delivered);
        prop_assert!(run.unreachable.is_empty());
    }
}
