//! The routes that the load count counts are those that packets take.

use hotlink_bound::Limited;
use hotlink_fabric::import;
use hotlink_fabric::network::{Resource, Vertex};
use hotlink_fabric::routing::Paths;
use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::traffic::Traffic;
use hotlink_fabric::{Fabric, catalog};
use hotlink_sim::plan::RouteBuffer;
use hotlink_sim::workload::{Run, Schedule, exchange};
use hotlink_sim::{Plan, Settings};
use std::fmt::Write;

fn named(name: &str) -> FabricSpec {
    catalog::load(name).expect("a fabric of the catalog")
}

/// Packets of each message: so many that every server works for whole ones only.
const PACKETS: u64 = 8;

/// One message for each flow of a random permutation.
fn run(fabric: &Fabric, paths: Paths, seed: u64) -> (Vec<(Resource, f64, f64)>, Run) {
    let settings = Settings { paths, seed, ..Settings::of(&fabric.spec) };
    let plan = Plan::new(fabric, &settings).expect("plan");
    let demand = Traffic::Random.demand(fabric.nodes(), seed).expect("a permutation");
    let size = PACKETS * u64::from(plan.packet_bytes);
    let run = exchange(&plan, &settings, &demand, size, Schedule::LinearShift).expect("no deadlock");
    let load = plan.count(&demand).expect("routes");
    let wire = f64::from(plan.wire_bytes(plan.packet_bytes, 0)) * PACKETS as f64;
    // The whole run is the measured part.
    let span = run.elapsed.s();
    let mut servers = Vec::new();
    for (server, busy) in (0..).zip(&run.busy) {
        let resource = plan.server_resource(server);
        let Resource::Channel(_) = resource else { continue };
        let rate = plan.classes[usize::from(plan.server_class[server as usize])].rate.0 as f64;
        servers.push((resource, load.of(fabric, resource), busy * span * rate / wire));
    }
    (servers, run)
}

#[test]
fn packets_load_every_link_as_counted_under_each_static_policy() {
    for (name, nodes) in [
        ("ib-ndr-fat-tree2", 128),
        ("ib-ndr-fat-tree2-2to1", 100),
        ("eth-400g-leaf-spine", 100),
        ("slingshot-dragonfly", 96),
        ("gige", 96),
        ("gpu-rail", 64),
    ] {
        let fabric = Fabric::build(&named(name), nodes).expect(name);
        for (paths, seed) in [(Paths::Destination, 1), (Paths::Flow, 1), (Paths::Flow, 7)] {
            let (servers, _) = run(&fabric, paths, seed);
            assert!(servers.iter().any(|(_, counted, _)| *counted > 1.0), "{name}: nothing shares a link");
            for (resource, counted, served) in servers {
                let what = || format!("{name}, {paths:?}, seed {seed}: {}", fabric.resource_name(resource));
                assert!((counted - served).abs() < 0.01 * counted.max(1.0), "{}: {counted}, served {served}", what());
            }
        }
    }
}

/// The links of a fabric as a graph file, and the parts behind them.
fn as_graph(fabric: &Fabric, parts: &[&str], technology: &str) -> String {
    let network = &fabric.network;
    let name = |v: Vertex| {
        if network.is_node(v) { format!("n{}", v.0) } else { format!("s{}", v.0 - network.nodes) }
    };
    let mut links = String::new();
    for c in 0..network.channels() as u32 {
        let channel = hotlink_fabric::network::Channel(c);
        let (from, to) = (name(network.from(channel)), name(network.to(channel)));
        let comma = if c == 0 { "" } else { "," };
        let _ = write!(links, "{comma}{{\"from\": \"{from}\", \"to\": \"{to}\", \"one_way\": true}}");
    }
    let switches = network.vertices() as u32 - network.nodes;
    format!(
        "{{\"technology\": \"{technology}\", \"parts\": {parts:?}, \"nodes\": {}, \"switches\": {switches}, \"links\": [{links}]}}",
        network.nodes
    )
}

#[test]
fn a_fabric_written_as_a_graph_simulates_as_the_catalog_has_it() {
    for (name, nodes, parts) in [
        ("eth-400g-leaf-spine", 128, &["server-pcie5", "ethernet-400g"][..]),
        ("ib-ndr-fat-tree2", 128, &["server-pcie5", "infiniband-ndr"]),
        ("myrinet-clos64", 64, &["pc-p3-1ghz", "myrinet-1280"]),
    ] {
        let spec = named(name);
        let fabric = Fabric::build(&spec, nodes).expect(name);
        let graph = import::graph("g.json", &as_graph(&fabric, parts, spec.technology.name), None).expect(name);
        assert_eq!(Settings::of(&graph.spec), Settings::of(&spec), "{name}");
        for paths in [spec.paths, Paths::Packet] {
            let (of_catalog, of_graph) = (run(&fabric, paths, 1).1, run(&graph, paths, 1).1);
            assert_eq!(of_catalog.elapsed, of_graph.elapsed, "{name}, {paths:?}");
            assert_eq!(of_catalog.stats.packets, of_graph.stats.packets, "{name}, {paths:?}");
        }
    }
}

#[test]
fn an_idle_graph_of_a_leaf_spine_reaches_its_bound() {
    let spec = named("eth-400g-leaf-spine");
    let fabric = Fabric::build(&spec, 64).expect("64 nodes");
    let graph = as_graph(&fabric, &["ethernet-400g"], "roce");
    let graph = import::graph("g.json", &graph, None).expect("a graph");
    let settings = Settings::of(&graph.spec);
    let plan = Plan::new(&graph, &settings).expect("plan");
    let mut demand = Traffic::Shift(1).demand(64, 1).expect("a shift");
    demand.flows.truncate(1);
    let size = 16 << 20;
    let run = exchange(&plan, &settings, &demand, size, Schedule::LinearShift).expect("no deadlock");
    let bounds = plan.count(&demand).expect("routes").bounds(&graph, settings.capacities, size);
    let share = run.mbps() / bounds.bandwidth_per_node_mbps;
    assert!((0.98..=1.0001).contains(&share), "{share}");
}

/// The load count's mean latency is that of the paths that packets take, pair by pair.
#[test]
fn idle_latency_as_counted_is_the_mean_over_ways() {
    for (name, nodes) in [
        ("sci-torus2d", 25),
        ("myrinet-ring4", 40),
        ("myrinet-ring2:groups=[3,10,1]", 13),
        ("myrinet-clos64", 100),
        ("k98-t3d", 16),
        ("qsnet", 64),
        ("ib-ndr-fat-tree2", 200),
        ("slingshot-dragonfly", 600),
        ("gpu-rail", 64),
    ] {
        let fabric = Fabric::build(&named(name), nodes).expect(name);
        let plan = Plan::new(&fabric, &Settings::of(&fabric.spec)).expect("plan");
        let all = fabric.nodes();
        let demand = Traffic::AllToAll.demand(all, 0).expect("a pattern");
        let counted = plan.count(&demand).expect("routes").idle_us(&fabric).expect("somebody sends");
        let (mut way, mut sum) = (RouteBuffer::default(), 0);
        for (from, to) in (0..all).flat_map(|from| (0..all).map(move |to| (from, to))).filter(|(from, to)| from != to) {
            plan.route(from, to, plan.choice(from, to, 0, 0), &mut way).expect("a way");
            sum += way.latency_ps;
        }
        let mean = sum as f64 / 1e6 / (f64::from(all) * f64::from(all - 1));
        assert!((counted - mean).abs() < 1e-6 * mean, "{name}: {counted} counted, {mean} over all ways");
        assert!(mean > 0.0, "{name}");
    }
}
