//! How flows share what they contend for: evenly where arbitration promises it, and at what cost where ties do not.

use hotlink_fabric::routing::Paths;
use hotlink_fabric::spec::{FabricSpec, RoutingSpec, TopologySpec};
use hotlink_fabric::technology;
use hotlink_fabric::topology::{CubeSpec, Extents};
use hotlink_fabric::{Fabric, catalog};
use hotlink_sim::workload::{Schedule, all_to_all};
use hotlink_sim::{Net, Note, Plan, Settings, SimError};
use proptest::prelude::*;

fn named(name: &str) -> FabricSpec {
    catalog::load(name).expect("a fabric of the catalog")
}

fn ring(nodes: u32) -> FabricSpec {
    let topology = TopologySpec::new(CubeSpec {
        dimensions: 1,
        bidirectional: true,
        b_link: false,
        nodes_per_router: 1,
        host_links: false,
        extents: Extents::Fixed(vec![nodes]),
    });
    FabricSpec { topology, routing: RoutingSpec::DimensionOrder, ..named("ib-ndr-fat-tree2") }
}

/// Messages of each sender that have arrived at `to` when a tenth of the fastest one's are left.
fn shares(spec: &FabricSpec, nodes: u32, to: u32, settings: &Settings, each: u32, bytes: u64) -> Vec<u32> {
    let fabric = Fabric::build(spec, nodes).expect(&spec.name);
    let plan = Plan::new(&fabric, settings).expect(&spec.name);
    let mut net = Net::new(&plan, settings);
    for _ in 0..each {
        (0..nodes).filter(|&from| from != to).for_each(|from| _ = net.post(from, to, bytes, 0).expect("valid"));
    }
    let mut arrived = vec![0; nodes as usize];
    while let Some(note) = net.advance().expect("no deadlock") {
        let Note::Delivered(message) = note else { continue };
        arrived[message.from as usize] += 1;
        if arrived[message.from as usize] == each * 9 / 10 {
            break;
        }
    }
    arrived.remove(to as usize);
    arrived
}

fn least_of_most(shares: &[u32]) -> f64 {
    let (least, most) = (shares.iter().min().expect("senders"), shares.iter().max().expect("senders"));
    f64::from(*least) / f64::from(*most)
}

#[test]
fn senders_into_one_port_share_it_evenly() {
    for (name, nodes) in [("gige", 8), ("ib-ndr-fat-tree2", 16), ("eth-400g-leaf-spine", 16)] {
        let spec = named(name);
        let even = least_of_most(&shares(&spec, nodes, 0, &Settings::of(&spec), 1000, 4096));
        assert!(even > 0.9, "{name}: the slowest sender gets {even:.2} of the fastest");
    }
}

/// Age decides between what passes and what enters, so that distance is no disadvantage (Abts and Weisser 2007).
#[test]
fn the_farthest_node_of_a_ring_is_not_shut_out() {
    let spec = ring(8);
    let shares = shares(&spec, 8, 0, &Settings::of(&spec), 300, 4096);
    assert!(least_of_most(&shares) > 0.7, "messages by sender: {shares:?}");
}

/// Time until all of an exchange on a ring of eight has arrived. With `balanced`, half of the traffic to the opposite
/// node goes forward; otherwise all of it does, by way of the next node.
fn ring_exchange(balanced: bool) -> f64 {
    let (nodes, spec) = (8, ring(8));
    let fabric = Fabric::build(&spec, nodes).expect("a ring");
    let settings = Settings::of(&spec);
    let plan = Plan::new(&fabric, &settings).expect("plan");
    let mut net = Net::new(&plan, &settings);
    for _ in 0..64 {
        for shift in [4, 1, 7, 2, 6, 3, 5] {
            for from in 0..nodes {
                let onward = !balanced && shift == 4;
                let to = (from + if onward { 1 } else { shift }) % nodes;
                net.post(from, to, 16 << 10, u64::from(onward)).expect("valid");
            }
        }
    }
    while let Some(note) = net.advance().expect("no deadlock") {
        if let Some(first) = note.message().filter(|message| message.tag == 1).copied() {
            net.post(first.to, (first.to + 3) % nodes, first.bytes, 0).expect("valid");
        }
    }
    net.now().us()
}

/// A forward link carries 1 + 2 + 3 message-steps and of the 4 to opposite nodes half, or all: 10 / 8 of the time.
#[test]
fn an_unbalanced_tie_costs_a_quarter_more_on_a_ring_of_eight() {
    let ratio = ring_exchange(false) / ring_exchange(true);
    assert!((1.18..1.35).contains(&ratio), "{ratio:.3}");
}

/// Credits deadlock like worms where paths wait in a circle: shortest paths round a ring without virtual channels.
#[test]
fn a_ring_with_credits_and_no_virtual_channels_names_its_deadlock() {
    for name in ["infiniband", "roce"] {
        let spec = named("myrinet-ring2").of_technology(technology::named(name).expect("a technology"));
        let spec = FabricSpec { paths: Paths::Packet, routing: RoutingSpec::ShortestEcmp, ..spec };
        let fabric = Fabric::build(&spec, 64).expect("64 nodes");
        let settings = Settings { packet_bytes: Some(4096), switch_buffer_bytes: 4096, ..Settings::of(&spec) };
        let plan = Plan::new(&fabric, &settings).expect("plan");
        let error = all_to_all(&plan, &settings, 65536, Schedule::LinearShift).expect_err("a ring");
        let SimError::Deadlock { cycle, packets, .. } = &error else { panic!("{error}") };
        assert!(*packets > 0 && cycle.len() > 3 && cycle.first() == cycle.last(), "{error}");
        assert!(cycle.iter().all(|name| name.contains("switch")), "{error}");
    }
}

#[test]
fn virtual_channels_keep_a_ring_with_credits_moving() {
    let spec = ring(8);
    let fabric = Fabric::build(&spec, 8).expect("a ring");
    assert!(fabric.routing.virtual_channels() > 1);
    let settings = Settings { switch_buffer_bytes: 1, ..Settings::of(&spec) };
    let plan = Plan::new(&fabric, &settings).expect("plan");
    let run = all_to_all(&plan, &settings, 256 << 10, Schedule::LinearShift).expect("the dateline breaks the circle");
    assert_eq!(run.stats.packets, run.stats.delivered);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// Messages of a pair arrive in the order posted where a pair has one path and a node works on one message at a
    /// time.
    #[test]
    fn one_path_and_one_stream_keep_a_pairs_messages_in_order(
        fabric in 0usize..5,
        posts in proptest::collection::vec((0u32..16, 0u32..15, 0u64..20_000), 1..100),
        seed: u64,
    ) {
        let spec = named(["gige", "ib-ndr-fat-tree2", "myrinet-clos64", "eth-400g-leaf-spine", "slingshot-dragonfly"][fabric]);
        let fabric = Fabric::build(&spec, 16).expect("16 nodes");
        let paths = Paths::Flow;
        let settings = Settings { seed, paths, streams: 1, switch_buffer_bytes: 4096, ..Settings::of(&spec) };
        let plan = Plan::new(&fabric, &settings).expect("plan");
        let mut net = Net::new(&plan, &settings);
        for (tag, &(from, to, bytes)) in posts.iter().enumerate() {
            net.post(from, (from + 1 + to) % 16, bytes, tag as u64).expect("valid");
        }
        let mut last = std::collections::BTreeMap::new();
        while let Some(note) = net.advance().expect("no deadlock") {
            let Note::Delivered(message) = note else { continue };
            let before = last.insert((message.from, message.to), message.tag);
            prop_assert!(before.is_none_or(|before| before < message.tag), "{before:?} then {}", message.tag);
        }
        prop_assert_eq!(net.stats().overtakings, 0);
    }
}
