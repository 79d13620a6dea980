//! M02's three saturation experiments (Figs. 5 to 8, 11, 12). One sender is limited by its own host; several fill the
//! link or bus that they share. The plateaus are measured capacities, which are inputs; where they begin is not.

use hotlink_bound::Limited;
use hotlink_fabric::network::Node;
use hotlink_fabric::spec::{Capacities, Role};
use hotlink_fabric::traffic::{Demand, Flow};
use hotlink_fabric::{Fabric, catalog};
use hotlink_load::sharing::{shared_link_pairs, turning_pairs};
use hotlink_sim::host::{Deposit, Host, Series};
use hotlink_sim::workload::{Stream, exchanges, message_passing_pause, saturate};
use hotlink_sim::{Plan, Settings};

const M02: [&str; 8] = [
    "sci-ring",
    "sci-torus2d",
    "sci-torus3d",
    "sci-torus4d",
    "myrinet-minimal",
    "myrinet-clos64",
    "myrinet-ring2",
    "myrinet-ring4",
];

/// Aggregate in MB/s of `pairs` that send messages of `size` one at a time, by measured capacities.
fn aggregate(name: &str, nodes: u32, pairs: Vec<(u32, u32)>, size: u64) -> f64 {
    let spec = catalog::load(name).expect("in the catalog");
    let fabric = Fabric::build(&spec, nodes).expect(name);
    let settings = Settings { capacities: Capacities::Measured, ..Settings::of(&spec) };
    let plan = Plan::new(&fabric, &settings).expect(name);
    let pause = message_passing_pause(&plan, &settings, &pairs).expect("no deadlock");
    let stream = Stream { pairs, size, window: 1, messages: 15, pause };
    saturate(&plan, &settings, &stream).expect("no deadlock").mbps()
}

fn ring(senders: u32, size: u64) -> f64 {
    aggregate("sci-ring", 8, shared_link_pairs(8, senders), size)
}
fn turning(pairs: u32, size: u64) -> f64 {
    aggregate("sci-torus2d", 16, turning_pairs(4, pairs), size)
}
fn switches(senders: u32, size: u64) -> f64 {
    aggregate("myrinet-minimal", 30, shared_link_pairs(30, senders), size)
}

/// M02 s3.2 (G079): two senders reach "twice that of a single sender, but when the third is added, the link is
/// saturated". A fourth makes "almost no difference"; 390 MB/s.
#[test]
fn two_senders_double_one_and_the_third_saturates_the_sci_link() {
    let [one, two, three, four] = [1, 2, 3, 4].map(|senders| ring(senders, 64 << 10));
    assert!((two / one - 2.0).abs() < 0.1, "{one} {two}");
    // One sender's host feeds 192.8 MB/s (below), so that two leave 1 % of the link to the third.
    assert!((one / 192.8 - 1.0).abs() < 0.05 && three > 0.99 * 390.0 && three < 1.05 * two, "{one} {two} {three}");
    assert!((four / three - 1.0).abs() < 0.01 && (four - 390.0).abs() < 1.0, "{three} {four}");
}

/// M02 Fig. 8: as pairs are added the B-Link saturates at 360 MB/s.
#[test]
fn three_pairs_saturate_the_b_link_that_one_does_not() {
    let [one, two, three] = [1, 2, 3].map(|pairs| turning(pairs, 64 << 10));
    assert!(one < 0.6 * 360.0 && two > 1.7 * one, "{one} {two}");
    assert!((three - 360.0).abs() < 1.0 && three >= 0.999 * two, "{two} {three}");
}

/// M02 Fig. 12: four senders get 144 MB/s through one link. Short messages need all of them, long ones hardly more than
/// one: M02 prints the maximum only.
#[test]
fn four_senders_fill_the_myrinet_link_that_short_messages_of_one_do_not() {
    assert!((switches(4, 256 << 10) - 144.0).abs() < 1.0);
    let [one, two] = [1, 2].map(|senders| switches(senders, 4 << 10));
    assert!((two / one - 2.0).abs() < 0.02 && two < 130.0, "{one} {two}");
    assert!(switches(1, 256 << 10) > 1.8 * one);
}

#[test]
fn a_larger_message_never_gets_less() {
    for aggregate in [ring, turning, switches] {
        let rates = [256, 1 << 10, 4 << 10, 16 << 10].map(|size| aggregate(1, size));
        assert!(rates.is_sorted(), "{rates:?}");
    }
}

/// The same resource graph gives the bound: one sender is limited by its own engine or link, by name.
#[test]
fn the_load_count_names_the_host_or_link_that_limits_one_sender() {
    for name in M02 {
        let spec = catalog::load(name).expect("in the catalog");
        let fabric = Fabric::build(&spec, 64).expect(name);
        let flows = vec![Flow { source: Node(0), destination: Node(fabric.nodes() / 2), amount: 1.0 }];
        let demand = Demand { nodes: fabric.nodes(), all_pairs: 0.0, flows };
        let load = hotlink_load::count(&fabric, &demand).expect("routes");
        let bounds = load.bounds(&fabric, Capacities::Measured, 1 << 16);
        let limit = bounds.limiting().expect("something limits");
        let (role, mbps) = if name.starts_with("sci") { (Role::Engine, 192.8) } else { (Role::Link, 144.0) };
        assert_eq!((limit.role, bounds.bandwidth_per_node_mbps), (role, mbps), "{name}");
        assert!(role != Role::Engine || limit.name.contains("PCI"), "{}", limit.name);
        let engine = bounds.roles.iter().find(|bound| bound.role == Role::Engine).expect("each has an engine");
        assert_eq!((engine.hottest_load, engine.sharing), (1.0, 1), "what node 32 receives does not cross its engine");
    }
}

/// The rate of the SCI fabrics' stores follows from the host's parameters, burst by burst.
#[test]
fn the_engine_is_as_fast_as_the_simulated_stores() {
    let spec = catalog::load("sci-torus2d").expect("in the catalog");
    let stores = Host::new(&spec).expect("has a host").deposit(&Deposit::new(4 << 20, 1, Series::RemoteDirect)).rate;
    let engine = spec.resources[&Role::Engine].measured.as_ref().expect("stated").value.0 as f64;
    assert!((stores / engine - 1.0).abs() < 0.002, "{stores} {engine}");
}

/// Mean rate each way in MB/s of pairs that exchange.
fn exchanged(name: &str, nodes: u32, pairs: &[(u32, u32)]) -> f64 {
    let spec = catalog::load(name).expect("in the catalog");
    let fabric = Fabric::build(&spec, nodes).expect(name);
    let settings = Settings::of(&spec);
    let plan = Plan::new(&fabric, &settings).expect(name);
    exchanges(&plan, &settings, pairs, 2 << 20, 4).expect("no deadlock").1
}

/// A pair that exchanges is as slow as what its directions share with others.
#[test]
fn exchanges_wait_for_both_directions() {
    let name = "ib-ndr-fat-tree2";
    let alone = exchanged(name, 64, &[(0, 63)]);
    assert!(alone > 45e3 && alone < 50e3, "{alone}");
    // On one leaf nothing is shared.
    let apart = exchanged(name, 64, &[(0, 1), (2, 3)]);
    assert!((apart / alone - 1.0).abs() < 0.05, "{apart} {alone}");
    // A node in two pairs halves both of them, though its partners' links carry no other traffic.
    let shared = exchanged(name, 64, &[(0, 63), (0, 62)]);
    assert!((shared / alone - 0.5).abs() < 0.05, "{shared} {alone}");
}

/// The mean is of the pairs' own rates, not all bytes over the time of the slowest pair.
#[test]
fn pairs_that_are_done_count_their_own_time() {
    let name = "ib-ndr-fat-tree2";
    let alone = exchanged(name, 64, &[(0, 63)]);
    let three = exchanged(name, 64, &[(0, 63), (0, 62), (1, 2)]);
    assert!((three / alone - 2.0 / 3.0).abs() < 0.05, "{three} {alone}");
}
