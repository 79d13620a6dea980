//! How fast the packet network runs, beside the bare rate of its event core in the same run.
//!
//! `cargo run --release -p hotlink-sim --example network_rates`

use hotlink_fabric::spec::Capacities;
use hotlink_fabric::traffic::Traffic;
use hotlink_fabric::{Fabric, catalog, load};
use hotlink_sim::workload::{Schedule, all_to_all};
use hotlink_sim::{Plan, Settings};

/// CPU time of this thread in seconds: other load on the machine does not count.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let list = args[1..].chunks(3).map(|a| (a[0].as_str(), a[1].parse().unwrap(), a[2].parse().unwrap()));
    for (name, nodes, size) in list {
        for schedule in [Schedule::LinearShift, Schedule::Random] {
            let spec = catalog::load(name).expect("a fabric of the catalog");
            let fabric = Fabric::build(&spec, nodes).expect("a valid size");
            let mut settings = Settings::of(&spec);
            if let Ok(v) = std::env::var("STREAMS") {
                settings.streams = v.parse().unwrap();
            }
            if let Ok(v) = std::env::var("BUF") {
                settings.switch_buffer_bytes = v.parse().unwrap();
            }
            let demand = Traffic::AllToAll.demand(fabric.nodes(), 0).unwrap();
            let bounds = load::count(&fabric, &demand).unwrap().bounds(&fabric, Capacities::Theoretical, size);
            let plan = Plan::new(&fabric, &settings).expect("plan");
            let start = cpu_s();
            match all_to_all(&plan, &settings, size, schedule) {
                Ok(run) => {
                    let s = cpu_s() - start;
                    let per_node = run.mbps() / f64::from(fabric.nodes());
                    println!(
                        "{name} {nodes} x {size} {schedule:?}: {:.3} s, {:.2} M hops/s, {:.2} M events/s, {:.1} MB/s per node, bound {:.1} by {:?}, efficiency {:.3}, {:?}",
                        s,
                        run.stats.packet_hops as f64 / s / 1e6,
                        run.stats.events as f64 / s / 1e6,
                        per_node,
                        bounds.bandwidth_per_node_mbps,
                        bounds.limiting().map(|l| l.name.clone()),
                        per_node / bounds.bandwidth_per_node_mbps,
                        run.stats
                    );
                }
                Err(error) => println!("{name}: {error}"),
            }
        }
    }
}
