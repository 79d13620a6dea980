//! Time and peak memory of the load count (and of the deadlock check) at scale: `cargo bench -p hotlink-fabric --bench load_scale`.
//!
//! Each case is built and counted from nothing. With a case's number as argument only that case runs, so that the peak
//! memory is its own. Without an argument, each case runs in its own process.

use hotlink_fabric::Fabric;
use hotlink_fabric::routing::Paths;
use hotlink_fabric::spec::{FabricSpec, RoutingSpec, TopologySpec};
use hotlink_fabric::topology::{CubeSpec, DragonflySpec, Extents, FatTree, Rail};
use hotlink_fabric::traffic::Traffic;
use hotlink_load::deadlock;
use std::time::Instant;

type Count = fn(&Fabric, &hotlink_fabric::traffic::Demand) -> Result<hotlink_load::Load, hotlink_load::LoadError>;

struct Case {
    title: &'static str,
    topology: TopologySpec,
    routing: RoutingSpec,
    nodes: u32,
    traffic: Traffic,
    count: Count,
}

fn hashed(
    fabric: &Fabric,
    demand: &hotlink_fabric::traffic::Demand,
) -> Result<hotlink_load::Load, hotlink_load::LoadError> {
    hotlink_load::count_paths(fabric, demand, Paths::Flow, 0)
}

fn torus() -> TopologySpec {
    let extents = Extents::Balanced;
    TopologySpec::new(CubeSpec {
        dimensions: 3,
        bidirectional: true,
        b_link: false,
        nodes_per_router: 1,
        host_links: false,
        extents,
    })
}

fn cases() -> Vec<Case> {
    use RoutingSpec::{DimensionOrder, DragonflyMinimal, DragonflyValiant, ShortestEcmp};
    let tree = TopologySpec::new(FatTree { radix: 64, levels: Some(3), oversubscription: 1.0, top_all_down: true });
    let dragonfly =
        TopologySpec::new(DragonflySpec { nodes_per_router: 8, routers_per_group: 16, global_per_router: 8 });
    let rail = TopologySpec::new(Rail::apart(8, 64));
    let case = |title, topology: &TopologySpec, routing, nodes, traffic, count| Case {
        title,
        topology: topology.clone(),
        routing,
        nodes,
        traffic,
        count,
    };
    let all = Traffic::AllToAll;
    vec![
        case("3-D torus, all-to-all, by symmetry", &torus(), DimensionOrder, 65_536, all.clone(), hotlink_load::count),
        case("3-level fat tree, all-to-all", &tree, ShortestEcmp, 16_384, all.clone(), hotlink_load::count),
        case(
            "3-D torus, all-to-all, by symmetry",
            &torus(),
            DimensionOrder,
            1_000_000,
            all.clone(),
            hotlink_load::count,
        ),
        case("3-D torus, random permutation", &torus(), DimensionOrder, 65_536, Traffic::Random, hotlink_load::count),
        case("3-level fat tree, all-to-all", &tree, ShortestEcmp, 65_536, all.clone(), hotlink_load::count),
        case("3-level fat tree, all-to-all, hashed flows", &tree, ShortestEcmp, 16_384, all.clone(), hashed),
        case("3-level fat tree, all-to-all, hashed flows", &tree, ShortestEcmp, 65_536, all.clone(), hashed),
        case("dragonfly minimal, all-to-all", &dragonfly, DragonflyMinimal, 16_512, all.clone(), hotlink_load::count),
        case("dragonfly Valiant, all-to-all", &dragonfly, DragonflyValiant, 16_512, all.clone(), hotlink_load::count),
        case("GPU rails, all-to-all", &rail, ShortestEcmp, 4_096, all.clone(), hotlink_load::count),
        case(
            "3-D torus, all-to-all, every destination",
            &torus(),
            DimensionOrder,
            8_192,
            all,
            hotlink_load::count_every_destination,
        ),
    ]
}

/// Peak resident memory of this process in MiB, where the system reports it.
fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib / 1024)
}

fn run(case: &Case) {
    let start = Instant::now();
    let spec = FabricSpec::bare("scale", case.topology.clone(), case.routing);
    let fabric = Fabric::build(&spec, case.nodes).expect("the case can be built");
    let built = start.elapsed();
    let demand = case.traffic.demand(fabric.nodes(), 1).expect("the traffic fits");
    let load = (case.count)(&fabric, &demand).expect("every pair has a route");
    let hottest = load.channel.iter().copied().fold(0.0, f64::max);
    let total = start.elapsed();
    let deadlock = match deadlock::check(&fabric) {
        Ok(_) => format!("{:5.2} s", (start.elapsed() - total).as_secs_f64()),
        Err(_) => "too large".to_owned(),
    };
    let memory = peak_mib().map_or_else(|| "unknown".to_owned(), |mib| format!("{mib} MiB"));
    println!(
        "{:42} {:>9} nodes  build {:6.2} s  total {:6.2} s  deadlock check {deadlock:>9}  peak {:>9}  hottest channel {hottest}",
        case.title,
        fabric.nodes(),
        built.as_secs_f64(),
        total.as_secs_f64(),
        memory
    );
}

fn main() {
    let cases = cases();
    let number = std::env::args().skip(1).find(|word| !word.starts_with("--"));
    match number.map(|n| n.parse::<usize>()) {
        Some(Ok(n)) if n < cases.len() => run(&cases[n]),
        Some(_) => {
            eprintln!("load_scale: the argument is a case's number, 0 to {}", cases.len() - 1);
            std::process::exit(2);
        }
        None => {
            let program = std::env::current_exe().expect("the system names this program");
            for n in 0..cases.len() {
                let status = std::process::Command::new(&program).arg(n.to_string()).status();
                if !status.is_ok_and(|status| status.success()) {
                    eprintln!("load_scale: case {n} failed");
                    std::process::exit(1);
                }
            }
        }
    }
}
