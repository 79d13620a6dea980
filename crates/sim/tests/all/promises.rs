//! What the packet network promises under load. It reaches its bound where the flow control can, and splits ties
//! evenly. It keeps order on a single path, and loses nothing. No figure changes unnoticed (golden table).

use hotlink_bound::Limited;
use hotlink_fabric::routing::Paths;
use hotlink_fabric::spec::{Capacities, FabricSpec, RoutingSpec, TopologySpec};
use hotlink_fabric::topology::{CubeSpec, Extents, FatTree};
use hotlink_fabric::traffic::Traffic;
use hotlink_fabric::units::Time;
use hotlink_fabric::{Fabric, catalog, network::Resource};
use hotlink_load::sharing::turning_pairs;
use hotlink_sim::flow::Congestion;
use hotlink_sim::workload::{OpenLoop, Run, Schedule, SizeLaw, Stream, all_to_all, saturate};
use hotlink_sim::{Net, Note, Plan, Settings};
use proptest::prelude::*;
use std::fmt::Write;

fn named(name: &str) -> FabricSpec {
    catalog::load(name).expect("a fabric of the catalog")
}

fn torus(extents: &[u32]) -> FabricSpec {
    let topology = TopologySpec::new(CubeSpec {
        dimensions: extents.len() as u32,
        bidirectional: true,
        b_link: false,
        nodes_per_router: 1,
        host_links: false,
        extents: Extents::Fixed(extents.to_vec()),
    });
    // Each packet chooses at ties: a table by number would send every even node one way round a ring of four.
    let paths = Paths::Packet;
    FabricSpec { topology, routing: RoutingSpec::DimensionOrder, paths, ..named("ib-ndr-fat-tree2") }
}

fn fat_tree(radix: u32) -> FabricSpec {
    let topology = TopologySpec::new(FatTree { radix, levels: None, oversubscription: 1.0, top_all_down: true });
    FabricSpec { topology, ..named("ib-ndr-fat-tree2") }
}

/// All-to-all among `nodes`, and the share of the bound that it reached.
fn exchange(spec: &FabricSpec, nodes: u32, size: u64) -> (Run, f64) {
    exchange_under(Capacities::Theoretical, spec, nodes, size)
}

fn exchange_under(capacities: Capacities, spec: &FabricSpec, nodes: u32, size: u64) -> (Run, f64) {
    let fabric = Fabric::build(spec, nodes).expect(&spec.name);
    let settings = Settings { capacities, ..Settings::of(spec) };
    let plan = Plan::new(&fabric, &settings).expect(&spec.name);
    let run = all_to_all(&plan, &settings, size, Schedule::LinearShift).expect(&spec.name);
    let demand = Traffic::AllToAll.demand(fabric.nodes(), 0).expect("all-to-all");
    let bounds = plan.count(&demand).expect("routes").bounds(&fabric, capacities, size);
    let efficiency = run.mbps() / f64::from(fabric.nodes()) / bounds.bandwidth_per_node_mbps;
    (run, efficiency)
}

#[test]
fn saturated_throughput_reaches_nine_tenths_of_the_bound_where_the_flow_control_can() {
    let cases = [
        (named("sci-ring"), 8, 32, 0.9),
        (named("sci-torus2d"), 16, 64, 0.9),
        (named("w01-sci-d330"), 8, 32, 0.9),
        (named("k98-clustar"), 16, 16, 0.9),
        (named("gige"), 16, 64, 0.9),
        (named("eth-400g-leaf-spine"), 16, 256, 0.9),
        (named("gpu-rail"), 16, 256, 0.9),
        (named("slingshot-dragonfly"), 16, 256, 0.9),
        (named("ai-pod-torus3d"), 16, 256, 0.9),
        (fat_tree(8), 32, 512, 0.9),
        // Packets that turn hold a receive queue while they wait for the next ring's; with three rings that costs more.
        (named("sci-torus3d"), 27, 8, 0.75),
        // Worms stop at each other's tails, and no buffer lets others by.
        (named("myrinet-clos64"), 16, 64, 0.3),
    ];
    for (spec, nodes, kib, share) in cases {
        let (_, efficiency) = exchange(&spec, nodes, kib << 10);
        assert!((share..=1.000_1).contains(&efficiency), "{} {nodes} x {kib} KiB: {efficiency}", spec.name);
    }
}

#[test]
fn a_rate_that_is_only_measured_is_as_much_a_limit_as_a_gross_one() {
    for (name, nodes) in [("sci-torus2d", 16), ("gige", 16)] {
        let stated = named(name);
        let mut measured = named(name);
        for resource in measured.resources.values_mut() {
            resource.measured = resource.measured.take().or(resource.gross.clone());
            resource.gross = None;
        }
        let share = |spec: &FabricSpec| exchange_under(Capacities::Measured, spec, nodes, 64 << 10).1;
        let (usual, own) = (share(&stated), share(&measured));
        assert!((0.9..=1.000_1).contains(&usual), "{name}: {usual}");
        assert!((0.9..=1.000_1).contains(&own), "{name}, measured alone: {own}");
    }
}

#[test]
fn an_open_loop_at_half_load_is_accepted_whole() {
    for spec in [named("sci-torus2d"), named("ib-ndr-fat-tree2"), torus(&[4, 4])] {
        let fabric = Fabric::build(&spec, 16).expect("16 nodes");
        let settings = Settings { capacities: Capacities::Theoretical, ..Settings::of(&spec) };
        let plan = Plan::new(&fabric, &settings).expect("plan");
        let demand = Traffic::Uniform.demand(16, 0).expect("uniform");
        let bound = plan.count(&demand).expect("routes").bounds(&fabric, Capacities::Theoretical, 4096);
        let offered_mbps = bound.bandwidth_per_node_mbps / 2.0;
        let mut offered = OpenLoop::new(&plan, &settings, &demand, SizeLaw::Fixed(4096), offered_mbps);
        let (begin, end) = (offered.time_of(50.0), offered.time_of(450.0));
        offered.run_to(begin).expect("no deadlock");
        let before = offered.delivered_bytes();
        offered.run_to(end).expect("no deadlock");
        let accepted = (offered.delivered_bytes() - before) as f64 / (end - begin).us() / 16.0;
        assert!((accepted / offered_mbps - 1.0).abs() < 0.05, "{}: {accepted} of {offered_mbps}", spec.name);
    }
}

/// However short the interval is compared with a packet's time, and however often neighbours were merged.
#[test]
fn a_series_of_utilisation_has_the_runs_mean() {
    let spec = named("gige");
    let fabric = Fabric::build(&spec, 16).expect("16 nodes");
    let settings = Settings::of(&spec);
    let plan = Plan::new(&fabric, &settings).expect("plan");
    let demand = Traffic::Uniform.demand(16, 0).expect("uniform");
    for interval_us in [1.0, 5.0, 40.0, 200.0] {
        let mut open = OpenLoop::new(&plan, &settings, &demand, SizeLaw::Fixed(1500), 60.0);
        open.watch(Time::from_us(interval_us));
        let end = open.time_of(400.0);
        open.run_to(end).expect("no deadlock");
        let run = open.run(end, open.delivered_bytes());
        let series = open.series().expect("watched");
        for (server, &busy) in run.busy.iter().enumerate().filter(|(_, busy)| **busy > 0.01) {
            let samples: Vec<f64> = series.utilisation(server).collect();
            let mean = samples.iter().sum::<f64>() / samples.len() as f64;
            assert!((mean / busy - 1.0).abs() < 0.03, "{interval_us} us: {mean} of {busy}");
        }
    }
}

#[test]
fn ties_are_balanced_and_an_unbalanced_tie_would_cost_half_as_much_again() {
    // On a ring of four, half of each node's traffic to the opposite node goes forward and half back. Every ring link
    // carries 1/2 + 1 message-steps. If all went forward, forward links would carry 1 + 2 halves more: 1.5 times.
    let spec = torus(&[4, 4]);
    let fabric = Fabric::build(&spec, 16).expect("16 nodes");
    let settings = Settings::of(&spec);
    let plan = Plan::new(&fabric, &settings).expect("plan");
    let run = all_to_all(&plan, &settings, 1 << 18, Schedule::LinearShift).expect("no deadlock");
    let ring = |r: Resource| matches!(r, Resource::Channel(c) if !fabric.network.is_node(fabric.network.from(c)));
    let shares = (0..).zip(&run.busy).filter(|&(server, &share)| ring(plan.server_resource(server)) && share > 0.0);
    let busy: Vec<f64> = shares.map(|(_, &share)| share).collect();
    let (least, most) = (busy.iter().copied().fold(1.0, f64::min), busy.iter().copied().fold(0.0, f64::max));
    assert_eq!(busy.len(), 64);
    assert!(most / least < 1.15, "{least} to {most}: an unbalanced tie would give 1.5 or more");
}

#[test]
fn one_path_keeps_the_order_of_a_message() {
    for spec in [fat_tree(8), named("myrinet-clos64"), named("gige"), named("slingshot-dragonfly")] {
        let fabric = Fabric::build(&spec, 32).expect(&spec.name);
        let settings = Settings { paths: Paths::Flow, ..Settings::of(&spec) };
        let plan = Plan::new(&fabric, &settings).expect("plan");
        let run = all_to_all(&plan, &settings, 32 << 10, Schedule::Random).expect("no deadlock");
        assert_eq!(run.stats.overtakings, 0, "{}", spec.name);
    }
}

#[test]
fn a_network_that_drops_still_delivers_everything() {
    let spec = named("eth-400g-leaf-spine");
    let fabric = Fabric::build(&spec, 16).expect("16 nodes");
    let congestion = Congestion::Drop;
    let settings = Settings { congestion, switch_buffer_bytes: 16 << 10, ..Settings::of(&spec) };
    let plan = Plan::new(&fabric, &settings).expect("plan");
    let mut net = Net::new(&plan, &settings);
    (1..16).for_each(|from| _ = net.post(from, 0, 1 << 20, 0).expect("valid"));
    let mut delivered = 0;
    while net.advance().expect("no deadlock").is_some() {
        delivered += 1;
    }
    assert_eq!(delivered, 15);
    assert!(net.stats().drops > 0, "fifteen senders into one port must overflow it");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn every_message_arrives_once_and_whole(
        fabric in 0usize..8,
        posts in proptest::collection::vec((0u32..16, 0u32..15, 0u64..20_000), 1..120),
        seed: u64,
    ) {
        let specs = ["sci-ring", "sci-torus2d", "gige", "eth-400g-leaf-spine", "ib-ndr-fat-tree2", "myrinet-clos64", "qsnet", "k98-t3d"];
        let spec = named(specs[fabric]);
        let fabric = Fabric::build(&spec, 16).expect("16 nodes");
        let settings = Settings { seed, switch_buffer_bytes: 4096, ..Settings::of(&spec) };
        let plan = Plan::new(&fabric, &settings).expect("plan");
        let mut net = Net::new(&plan, &settings);
        for (tag, &(from, to, bytes)) in posts.iter().enumerate() {
            net.post(from, (from + 1 + to) % 16, bytes, tag as u64).expect("valid");
        }
        let mut seen = vec![0; posts.len()];
        while let Some(note) = net.advance().expect("no deadlock") {
            if let Note::Delivered(message) = note {
                seen[message.tag as usize] += 1;
                prop_assert_eq!(message.bytes, posts[message.tag as usize].2);
            }
        }
        prop_assert!(seen.iter().all(|&count| count == 1));
        prop_assert_eq!(net.stats().delivered_bytes, posts.iter().map(|post| post.2).sum::<u64>());
        prop_assert_eq!(net.stats().packets, net.stats().delivered);
    }
}

/// Studies whose every figure is kept. To accept a change: `HOTLINK_GOLDEN=write cargo test -p hotlink-sim golden`.
#[test]
fn golden_table() {
    let mut table = String::from("study,elapsed_ps,packets,packet_hops,events,retries,trace_hash\n");
    let mut add = |study: &str, run: &Run| {
        let s = run.stats;
        let (ps, hash) = (run.elapsed.0, run.trace_hash);
        writeln!(table, "{study},{ps},{},{},{},{},{hash:016x}", s.packets, s.packet_hops, s.events, s.retries).unwrap();
    };
    for name in
        ["sci-ring", "sci-torus2d", "myrinet-clos64", "qsnet", "gige", "ib-ndr-fat-tree2", "slingshot-dragonfly"]
    {
        add(&format!("alltoall {name} 16 x 4096"), &exchange(&named(name), 16, 4096).0);
    }
    for congestion in [Congestion::Pause, Congestion::Drop, Congestion::Mark] {
        let spec = named("eth-400g-leaf-spine");
        let fabric = Fabric::build(&spec, 64).expect("64 nodes");
        let settings = Settings { congestion, switch_buffer_bytes: 16 << 10, ..Settings::of(&spec) };
        let plan = Plan::new(&fabric, &settings).expect("plan");
        let run = all_to_all(&plan, &settings, 16384, Schedule::Random).expect("no deadlock");
        add(&format!("alltoall eth-400g-leaf-spine 64 x 16384 {congestion:?}"), &run);
    }
    add("alltoall torus 4x4x4 x 4096", &exchange(&torus(&[4, 4, 4]), 64, 4096).0);
    let spec = named("sci-torus2d");
    let fabric = Fabric::build(&spec, 16).expect("16 nodes");
    let settings = Settings { capacities: Capacities::Measured, ..Settings::of(&spec) };
    let plan = Plan::new(&fabric, &settings).expect("plan");
    for pairs in 1..=3 {
        let stream = Stream { pairs: turning_pairs(4, pairs), size: 16384, window: 2, messages: 20, pause: Time::ZERO };
        add(&format!("saturation sci-torus2d {pairs} pairs"), &saturate(&plan, &settings, &stream).expect("runs"));
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden.csv");
    if std::env::var_os("HOTLINK_GOLDEN").is_some() {
        std::fs::write(path, &table).expect("the golden table can be written");
    }
    let golden = std::fs::read_to_string(path).expect("tests/golden.csv");
    assert_eq!(table, golden, "a figure changed; HOTLINK_GOLDEN=write accepts it");
}
