//! Collectives by QsNet's adapters and switches: they end, safely and in the order of their means.

use hotlink_fabric::units::Time;
use hotlink_fabric::{Fabric, catalog};
use hotlink_port::Busy;
use hotlink_sim::qsnet::*;
use hotlink_sim::{Plan, Settings};

fn on(nodes: u32, what: impl Fn(Collective) -> Collective) -> Outcome {
    let spec = catalog::load("qsnet").unwrap();
    let fabric = Fabric::build(&spec, nodes).unwrap();
    let elan = Elan::of(&spec).unwrap();
    let settings = elan.settings(&Settings::of(&spec));
    let plan = Plan::new(&fabric, &settings).unwrap();
    let barrier =
        Collective { algorithm: Algorithm::Hardware, nodes, bytes: None, samples: 3, limit: None, background: None };
    run(&plan, &settings, elan, &what(barrier)).unwrap()
}

/// One barrier of the hosts before, and three. A host receives from and notifies each neighbour in the tree once, an
/// adapter one node a round.
#[test]
fn what_each_end_works_is_accounted() {
    let elan = Elan::of(&catalog::load("qsnet").unwrap()).unwrap();
    let [host, nic] =
        [Algorithm::Tree, Algorithm::Nic].map(|algorithm| on(16, |what| Collective { algorithm, ..what }).busy);
    let software = |busy: &Busy| busy.processor(hotlink_port::Task::Software);
    // With 16, node 1 has four children and a parent, node 15 only a parent.
    for (node, neighbours) in [(0, 4), (1, 5), (15, 1)] {
        assert_eq!(software(&host[node]).0, 4 * neighbours * (elan.send + elan.receive).0, "{node}");
        assert_eq!(nic[node].engine().0, 3 * 2 * 4 * elan.thread.0, "{node}");
        assert_eq!(software(&nic[node]).0, 3 * (elan.send + elan.receive).0, "{node}");
    }
}

#[test]
fn barriers_of_every_size_end_safely_and_the_same_each_time() {
    for algorithm in Algorithm::ALL {
        for nodes in [2, 3, 5, 16, 64] {
            let outcome = on(nodes, |what| Collective { algorithm, ..what });
            let before = if algorithm == Algorithm::Nic { 0 } else { 1 };
            assert_eq!(outcome.barriers, before + 3, "one before those measured where translations matter");
            // Adaptive ascents are random; not much depends on them here.
            let first = outcome.latencies[0].us();
            assert!(outcome.latencies.iter().all(|time| (time.us() / first - 1.0).abs() < 0.03));
            assert_eq!(outcome, on(nodes, |what| Collective { algorithm, ..what }));
        }
    }
}

#[test]
fn hardware_is_quickest_and_hardly_grows() {
    let us = |algorithm, nodes| on(nodes, |what| Collective { algorithm, ..what }).latencies[0].us();
    for nodes in [16, 64, 256] {
        for other in [Algorithm::Tree, Algorithm::Nic] {
            // Sixteen adapters are through in four rounds.
            let times = if (other, nodes) == (Algorithm::Nic, 16) { 1.4 } else { 1.5 };
            assert!(times * us(Algorithm::Hardware, nodes) < us(other, nodes));
        }
    }
    let growth = |algorithm| us(algorithm, 256) / us(algorithm, 4);
    assert!(growth(Algorithm::Hardware) < 1.3 && growth(Algorithm::Tree) > 2.0);
}

#[test]
fn broadcasts_of_every_size_arrive_and_wait_for_their_barrier() {
    for algorithm in Algorithm::ALL {
        let mut before = Time::ZERO;
        for bytes in [0, 1, 320, 5000, 65536] {
            let outcome = on(20, |what| Collective { algorithm, bytes: Some(bytes), ..what });
            assert!(outcome.latencies[0] >= before && outcome.synchronised[0] > outcome.latencies[0], "{bytes} B");
            before = outcome.latencies[0];
        }
    }
}

#[test]
fn under_a_flood_hardware_stays_ahead_of_adapters_and_these_of_hosts_whose_puts_cross_the_buses() {
    let flood = Some("uniform:1.0".parse().unwrap());
    let median = |algorithm, background| {
        let mut all = on(16, |what| Collective { algorithm, background, samples: 25, ..what }).latencies;
        all.sort_unstable();
        all[12].us()
    };
    let [hardware, tree, nic] = Algorithm::ALL.map(|algorithm| median(algorithm, flood));
    assert!(hardware < nic && nic < tree, "{hardware} {nic} {tree}");
    assert!(tree > 2.0 * median(Algorithm::Tree, None));
}

#[test]
fn nodes_with_a_gap_and_networks_with_faults_fall_back_to_the_tree_and_say_so() {
    let spec = catalog::load("qsnet").unwrap();
    let fabric = Fabric::build(&spec, 16).unwrap();
    let elan = Elan::of(&spec).unwrap();
    let whole = elan.settings(&Settings::of(&spec));
    let plan = Plan::new(&fabric, &whole).unwrap();
    // A switch at the top: a quarter of the paths up are gone.
    let top = hotlink_fabric::network::Vertex(fabric.network.vertices() as u32 - 1);
    let down = hotlink_sim::fault::Fault {
        at: Time::ZERO,
        resource: hotlink_fabric::network::Resource::Vertex(top),
        condition: hotlink_sim::fault::Condition::Down,
    };
    let broken = Settings { faults: vec![down], ..whole.clone() };
    for bytes in [None, Some(20_000)] {
        let hardware =
            Collective { algorithm: Algorithm::Hardware, nodes: 16, bytes, samples: 2, limit: None, background: None };
        let among = |settings: &Settings, algorithm, members: &[u32]| {
            run_among(&plan, settings, elan, &Collective { algorithm, ..hardware }, members).unwrap()
        };
        let (part, gap): (Vec<u32>, Vec<u32>) = ((4..12).collect(), (0..16).filter(|&node| node != 5).collect());
        assert_eq!(among(&whole, Algorithm::Hardware, &part).fallback, None);
        let (fallen, tree) = (among(&whole, Algorithm::Hardware, &gap), among(&whole, Algorithm::Tree, &gap));
        assert_eq!(fallen.fallback, Some("the nodes are not contiguous"));
        assert_eq!((fallen.latencies, tree.fallback), (tree.latencies, None));
        let all: Vec<u32> = (0..16).collect();
        let fallen = among(&broken, Algorithm::Hardware, &all);
        assert_eq!((fallen.fallback, fallen.latencies.len()), (Some("the network is not whole"), 2));
    }
}

#[test]
fn what_cannot_be_is_told() {
    let spec = catalog::load("qsnet").unwrap();
    let fabric = Fabric::build(&spec, 4).unwrap();
    let elan = Elan::of(&spec).unwrap();
    let settings = elan.settings(&Settings::of(&spec));
    let plan = Plan::new(&fabric, &settings).unwrap();
    let barrier =
        Collective { algorithm: Algorithm::Nic, nodes: 4, bytes: None, samples: 1, limit: None, background: None };
    for (nodes, what) in [(1, "1 nodes: a collective needs 2 or more"), (5, "are allowed")] {
        let wrong = Collective { nodes, ..barrier };
        let told = run(&plan, &settings, elan, &wrong).unwrap_err().to_string();
        assert!(told.contains(what), "{told}");
    }
    assert!(Elan::of(&catalog::load("ib-ndr-fat-tree2").unwrap()).is_none());
}
