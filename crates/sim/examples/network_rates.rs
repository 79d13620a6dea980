//! How fast the packet network runs on CPU time of one thread, compared with the bare rate of its event core in the
//! same run.
//!
//! `cargo run --release -p hotlink-sim --example network_rates [WORD]`: only the lines that contain WORD.

use hotlink_bound::Limited;
use hotlink_event::random::Random;
use hotlink_event::{Calendar, Event, Queue};
use hotlink_fabric::routing::Paths;
use hotlink_fabric::spec::{FabricSpec, RoutingSpec, TopologySpec};
use hotlink_fabric::topology::{CubeSpec, Extents, FatTree};
use hotlink_fabric::traffic::{Demand, Traffic};
use hotlink_fabric::units::Time;
use hotlink_fabric::{Fabric, catalog};
use hotlink_sim::flow::Detours;
use hotlink_sim::net::Stats;
use hotlink_sim::workload::{OpenLoop, PingPong, Schedule, SizeLaw, all_to_all, ping_pong};
use hotlink_sim::{Net, Note, Plan, Settings};
use std::hint::black_box;

/// CPU time of this thread in seconds: other load on the machine does not count.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

fn resident_bytes() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok()).unwrap_or(0.0) * 4096.0
}

/// Events a second of the bare core with `pending` events.
fn bare_rate(pending: u32) -> f64 {
    let (mut queue, mut random) = (Calendar::default(), Random::new(1));
    (0..pending).for_each(|id| queue.push(random.next_u64() >> 44, Event::new(0, id, 0)));
    let start = cpu_s();
    let events = 4_000_000;
    for _ in 0..events {
        let (now, event) = queue.pop().expect("as many pushed as popped");
        queue.push(now + (random.next_u64() >> 44), black_box(event));
    }
    f64::from(events) / (cpu_s() - start)
}

/// What a line aims at: seconds at most, or million packet hops a second at least.
#[derive(Clone, Copy)]
enum Aim {
    None,
    Seconds(f64),
    Hops(f64),
}

fn tell(what: &str, aim: Aim, seconds: f64, stats: Stats) {
    let (hops, events) = (stats.packet_hops as f64 / seconds / 1e6, stats.events as f64 / seconds / 1e6);
    let (time, rate) = match aim {
        Aim::None => (String::new(), String::new()),
        Aim::Seconds(most) => (format!(" ({:.2} of the {most} s aimed at)", seconds / most), String::new()),
        Aim::Hops(least) => (String::new(), format!(" ({:.2} of the {least} M aimed at)", hops / least)),
    };
    println!("{what:<58} {seconds:>8.3} s{time}: {hops:.1} M packet-hops/s{rate}, {events:.1} M events/s");
}

fn spec(name: &str, topology: TopologySpec, routing: RoutingSpec) -> FabricSpec {
    FabricSpec { topology, routing, ..catalog::load(name).expect("a fabric of the catalog") }
}

fn torus(dimensions: u32) -> FabricSpec {
    let topology = TopologySpec::new(CubeSpec {
        dimensions,
        bidirectional: true,
        b_link: false,
        nodes_per_router: 1,
        host_links: false,
        extents: Extents::Balanced,
    });
    spec("ib-ndr-fat-tree2", topology, RoutingSpec::DimensionOrder)
}

fn fat_tree(radix: u32) -> FabricSpec {
    let topology = TopologySpec::new(FatTree { radix, levels: None, oversubscription: 1.0, top_all_down: true });
    spec("ib-ndr-fat-tree2", topology, RoutingSpec::ShortestEcmp)
}

/// Whether a line is asked for.
fn wanted(what: &str) -> bool {
    std::env::args().nth(1).is_none_or(|word| what.contains(&word))
}

fn exchange(what: &str, spec: &FabricSpec, nodes: u32, size: u64, aim: Aim) {
    if !wanted(what) {
        return;
    }
    let fabric = Fabric::build(spec, nodes).expect("a valid size");
    let settings = Settings { packet_bytes: Some(4096), ..Settings::of(spec) };
    let plan = Plan::new(&fabric, &settings).expect("a valid plan");
    let best = (0..3).map(|_| {
        let start = cpu_s();
        let run = all_to_all(&plan, &settings, size, Schedule::LinearShift).expect("no deadlock");
        (cpu_s() - start, run.stats)
    });
    let (seconds, stats) = best.min_by(|a, b| a.0.total_cmp(&b.0)).expect("three runs");
    tell(what, aim, seconds, stats);
}

/// Every node sends `each` messages of one packet to random nodes, all posted at once.
fn random_messages(what: &str, spec: &FabricSpec, nodes: u32, each: u32, aim: Aim) {
    if !wanted(what) {
        return;
    }
    let before = resident_bytes();
    let fabric = Fabric::build(spec, nodes).expect("a valid size");
    let settings = Settings { packet_bytes: Some(4096), streams: 4, ..Settings::of(spec) };
    let plan = Plan::new(&fabric, &settings).expect("a valid plan");
    let mut net = Net::new(&plan, &settings);
    let idle = (resident_bytes() - before) / f64::from(nodes);
    let (mut random, start) = (Random::new(1), cpu_s());
    for i in 0..nodes * each {
        let from = i % nodes;
        net.post(from, (from + 1 + random.below(nodes - 1)) % nodes, 4096, 0).expect("valid");
    }
    while net.advance().expect("no deadlock").is_some() {}
    tell(what, aim, cpu_s() - start, net.stats());
    if nodes > 10_000 {
        println!("{:<58} {idle:>8.0} B per idle node, the built fabric included", "");
    }
}

/// Every node sends this many packets to the node `shift` places on. Prints the most packets in the network at once,
/// and the memory of the whole process then.
fn under_way(what: &str, name: &str, nodes: u32, (packet, each, shift): (u32, u64, u32)) {
    if !wanted(what) {
        return;
    }
    let spec = catalog::load(name).expect("a fabric of the catalog");
    let fabric = Fabric::build(&spec, nodes).expect("a valid size");
    let settings = Settings { packet_bytes: Some(packet), ..Settings::of(&spec) };
    let plan = Plan::new(&fabric, &settings).expect("a valid plan");
    let (mut net, start) = (Net::new(&plan, &settings), cpu_s());
    (0..nodes).for_each(|from| {
        net.post(from, (from + shift) % nodes, each * u64::from(packet), 0).expect("valid");
    });
    let (mut most, mut resident, step) = (0, 0.0f64, Time(100_000));
    net.timer(step, 0);
    while let Some(note) = net.advance().expect("no deadlock") {
        if matches!(note, Note::Timer(_)) {
            most = most.max(net.under_way());
            resident = resident.max(resident_bytes());
            if net.pending() > 0 {
                net.timer(net.now() + step, 0);
            }
        }
    }
    tell(what, Aim::None, cpu_s() - start, net.stats());
    let (per_node, mb) = (most as f64 / f64::from(nodes), resident / 1e6);
    println!("{:<58} {most} packets in the network at once, {per_node:.1} for each node; {mb:.0} MB resident", "");
}

/// Uniform random traffic at a share of the bound, as `hotlink simulate traffic` makes it.
fn open_loop_at(what: &str, spec: &FabricSpec, nodes: u32, load: f64) {
    if !wanted(what) {
        return;
    }
    let settings = Settings { packet_bytes: Some(4096), ..Settings::of(spec) };
    let fabric = Fabric::build(spec, nodes).expect("a valid size");
    let demand = demand("uniform", &fabric);
    let bounds = hotlink_load::count(&fabric, &demand).expect("valid").bounds(&fabric, settings.capacities, 4096);
    offer(what, (&fabric, &demand), &settings, load * bounds.bandwidth_per_node_mbps);
}

fn demand(pattern: &str, fabric: &Fabric) -> Demand {
    let traffic = Traffic::parse(pattern, |_| Ok(String::new())).expect("a pattern").on(fabric);
    traffic.demand(fabric.nodes(), 1).expect("valid")
}

/// The same traffic by each kind of path: how a packet's choice is paid for. Each node offers `mbps`.
fn by_ways(pattern: &str, mbps: f64) {
    let dragonfly = |routing| FabricSpec { routing, ..catalog::load("slingshot-dragonfly").expect("of the catalog") };
    let tree = fat_tree(64);
    let valiant = dragonfly(RoutingSpec::DragonflyValiant);
    let ways = [
        ("fat tree, packet", &tree, Paths::Packet, None),
        ("fat tree, adaptive", &tree, Paths::Adaptive, None),
        ("dragonfly, minimal", &dragonfly(RoutingSpec::DragonflyMinimal), Paths::Packet, None),
        ("dragonfly, valiant", &valiant, Paths::Packet, None),
        ("dragonfly, ugal", &valiant, Paths::Packet, Some(Detours::Local)),
        ("dragonfly, ugal-g", &valiant, Paths::Packet, Some(Detours::Global)),
    ];
    for (name, spec, paths, detours) in ways {
        let what = format!("1,024 nodes, {pattern} at {mbps} MB/s, {name}");
        if wanted(&what) {
            let fabric = Fabric::build(spec, 1024).expect("a valid size");
            let settings = Settings { packet_bytes: Some(4096), paths, detours, ..Settings::of(spec) };
            // A tree has no groups.
            let pattern = if name.starts_with("fat") { "uniform" } else { pattern };
            offer(&what, (&fabric, &demand(pattern, &fabric)), &settings, mbps);
        }
    }
}

fn offer(what: &str, (fabric, demand): (&Fabric, &Demand), settings: &Settings, offered_mbps: f64) {
    let (plan, nodes) = (Plan::new(fabric, settings).expect("a valid plan"), fabric.nodes());
    let start = cpu_s();
    let mut offered = OpenLoop::new(&plan, settings, demand, SizeLaw::Fixed(4096), offered_mbps);
    let end = offered.time_of(f64::from(1_100_000 / nodes + 1));
    offered.run_to(end).expect("no deadlock");
    tell(what, Aim::None, cpu_s() - start, offered.run(end, offered.delivered_bytes()).stats);
}

fn main() {
    // First: its nodes' memory shows only while there is none that others have freed.
    random_messages("65,536 nodes x 4 messages, 3-D torus", &torus(3), 65536, 4, Aim::Hops(3.0));
    under_way("65,536 nodes, 10 packets each under way, fat tree", "ib-ndr-fat-tree3", 65536, (2048, 12, 32));
    under_way("65,536 nodes, 10 packets each under way, dragonfly", "slingshot-dragonfly", 65536, (2048, 12, 32));
    for pending in [1_000, 100_000].into_iter().filter(|_| wanted("bare event core")) {
        println!("bare event core, {pending} pending: {:.1} M events/s", bare_rate(pending) / 1e6);
    }
    exchange("all-to-all 64 x 64 KiB, 8 x 8 torus", &torus(2), 64, 65536, Aim::Seconds(0.15));
    exchange("all-to-all 64 x 64 KiB, Clos of 16-port switches", &fat_tree(16), 64, 65536, Aim::Seconds(0.15));
    exchange("all-to-all 1,024 x 4 KiB, two-level fat tree", &fat_tree(64), 1024, 4096, Aim::Seconds(3.0));
    for load in [0.2, 0.5, 0.8] {
        open_loop_at(&format!("1,000 nodes, uniform at {load} of the bound, 3-D torus"), &torus(3), 1000, load);
        open_loop_at(&format!("1,024 nodes, uniform at {load} of the bound, fat tree"), &fat_tree(64), 1024, load);
    }
    by_ways("uniform", 8000.0);
    by_ways("permutation:group-shift", 8000.0);
    random_messages("1,000 nodes x 1,000 messages, 3-D torus", &torus(3), 1000, 1000, Aim::Hops(5.0));
    random_messages("a million messages at once, 64 nodes, Clos", &fat_tree(16), 64, 16384, Aim::None);
    random_messages("four million messages at once, 64 nodes, Clos", &fat_tree(16), 64, 65536, Aim::None);
    let spec = catalog::load("myrinet-clos64").expect("a fabric of the catalog");
    for (name, spec) in [("myrinet-clos64", spec), ("Clos of 16-port switches", fat_tree(16))] {
        let what = format!("ping-pong of a million messages, {name}");
        if wanted(&what) {
            million_messages(&what, &spec);
        }
    }
}

/// Two nodes send 8 bytes to and fro.
fn million_messages(what: &str, spec: &FabricSpec) {
    let fabric = Fabric::build(spec, 2).expect("a valid size");
    let settings = Settings::of(spec);
    let plan = Plan::new(&fabric, &settings).expect("a valid plan");
    let start = cpu_s();
    let run = ping_pong(&plan, &settings, PingPong { between: [0, 1], size: 8, messages: 1_000_000 });
    tell(what, Aim::Seconds(0.3), cpu_s() - start, run.expect("no deadlock").stats);
}
