//! Bounds of what nccl-tests measured, by algorithm, protocol and level.

use crate::jobs::{self, NETWORK};
use hotlink_bench::{Record, flag_impossible};
use hotlink_schedule::collective::Which;
use hotlink_study::bound::measured::Bounds;
use hotlink_study::inputs::Vary;
use hotlink_study::options::Rates;
use hotlink_study::{Source, Unwatched};
use hotlink_workloads::collective::{self, Collective};
use hotlink_workloads::measured::{
    Bus, CALLS, FEWEST, FEWEST_AT, GPUS_PER_HOST, Told, beyond_chosen, beyond_named, impossible_under,
};
use hotlink_workloads::replay::Network;
use std::collections::BTreeSet;

/// By what the links carry, whatever others measured of them.
fn by_links() -> Told {
    Told { capacities: Rates::Theoretical, ..Told::default() }
}

/// A row of nccl-tests with this bus bandwidth, and the bounds of `fabric`.
fn judged(fabric: &str, gpus: u32, bus: f64) -> Record {
    let told = Told { gpus: Some(gpus), ..by_links() };
    let row = Record::new().with("benchmark", "allreduce").with("size_B", 1u64 << 33).with("bus_bandwidth_MBps", bus);
    Bus::open(fabric, &told).unwrap().add(row).unwrap()
}

fn bound(record: &Record, key: &str) -> f64 {
    record.number(key).unwrap_or_else(|| panic!("{key}: {record:?}"))
}

#[test]
fn hosts_of_a_topology_file_are_bound_as_the_same_hosts_of_the_catalog() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../site/tests/data/outline/nccl.xml+nvlink:25GB/s");
    let inside = judged(file, 2, 200e3);
    assert_eq!(bound(&inside, "bound_ring_MBps"), 300e3);
    // Across hosts: one adapter of 25 GB/s for both GPUs of each.
    let across = judged(file, 8, 20e3);
    assert_eq!((bound(&across, "bound_ring_MBps"), across.text("limiting_resource")), (25e3, Some("NIC")));
    let told = Told { gpus: Some(3), ..by_links() };
    let row = Record::new().with("benchmark", "allreduce").with("bus_bandwidth_MBps", 1.0);
    let why = Bus::open(file, &told).unwrap().add(row).unwrap_err().to_string();
    assert!(why.contains("3 GPUs in hosts of 2"), "{why}");
}

#[test]
fn what_has_no_bound_says_why() {
    let none = |benchmark: &str, gpus: u32| {
        let told = Told { gpus: Some(gpus), ..by_links() };
        let row = Record::new().with("benchmark", benchmark).with("bus_bandwidth_MBps", 1.0);
        let record = Bus::open("hgx-h100-rail", &told).unwrap().add(row).unwrap();
        assert_eq!(record.number("bound_bus_bandwidth_MBps"), None);
        record.text("bound_is").unwrap().to_owned()
    };
    assert!(none("hypercube", 24).contains("a power of two"));
    assert_eq!(none("unheard", 8), "none: no bound is known for this benchmark");
    let text = "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"1\"><gpu dev=\"0\" sm=\"80\"/></pci>\
                <pci busid=\"2\"><gpu dev=\"1\" sm=\"80\"/></pci></cpu></system>";
    let file = std::env::temp_dir().join(format!("hotlink-{}-no-rates.xml", std::process::id()));
    std::fs::write(&file, text).unwrap();
    let silent = judged(&file.display().to_string(), 2, 1.0);
    std::fs::remove_file(&file).unwrap();
    assert!(silent.text("bound_is").is_some_and(|text| text.contains("states no rate")), "{silent:?}");
}

/// One GPU of each host has the host's adapters and its own PCIe, not the scale-up network of a host.
#[test]
fn the_hosts_that_a_log_names_make_the_domains() {
    let on = |fabric: &str, gpus: u32, on_host: Option<u32>| {
        let row = Record::new().with("benchmark", "allreduce").with("ranks", gpus).with("bus_bandwidth_MBps", 1.0);
        let row = row.with("algorithm", "ring");
        let row = match on_host {
            Some(many) => row.with("gpus_per_host", many),
            None => row,
        };
        Bus::open(fabric, &by_links()).unwrap().add(row).unwrap()
    };
    let level = |record: &Record| {
        (bound(record, "bound_ring_MBps").round(), record.text("limiting_resource").map(str::to_owned))
    };
    let of = |what: &str| Some(what.to_owned());
    assert_eq!(level(&on("hgx-h100-rail", 8, Some(8))), (450e3, of("NVLink")));
    // Four GPUs have four PCIe links, and the adapters of eight.
    assert_eq!(level(&on("hgx-h100-rail", 8, Some(4))), (252e3, of("PCIe 5.0 x16")));
    assert_eq!(level(&on("hgx-h100-rail", 8, Some(1))), (63e3, of("PCIe 5.0 x16")));
    let assumed = on("hgx-h100-rail", 8, None);
    assert_eq!(level(&assumed), (450e3, of("NVLink")));
    assert!(assumed.text("bound_is").is_some_and(|text| text.contains("names no hosts: one is assumed")));
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../site/tests/data/outline/nccl.xml+nvlink:25GB/s");
    // Two hosts of one GPU each, 16 lanes of PCI Express 4, an adapter of 25 GB/s.
    assert_eq!(level(&on(file, 2, Some(1))), (25e3, of("NIC")));
    // Three GPUs: one host is full, the other one has half.
    assert_eq!(level(&on(file, 3, Some(2))), (25e3, of("NIC")));
}

/// Bounds are of equal hosts: with others a result has none, and the reason has the place. A rack is one domain.
#[test]
fn hosts_with_other_numbers_of_gpus_have_no_bound() {
    let on = |fabric: &str, gpus: u32, [most, least]: [u32; 2]| {
        let row = Record::new().with("benchmark", "allreduce").with("ranks", gpus).with("bus_bandwidth_MBps", 1.0);
        let row = row.with(GPUS_PER_HOST, most).with(FEWEST, least).with(FEWEST_AT, "line 14");
        Bus::open(fabric, &by_links()).unwrap().add(row).unwrap()
    };
    let uneven = on("hgx-h100-rail", 12, [8, 4]);
    assert_eq!((uneven.number("bound_bus_bandwidth_MBps"), uneven.number("efficiency")), (None, None));
    assert_eq!(on("hgx-h100-rail", 8, [5, 3]).number("efficiency"), None);
    let why = "none: hosts have 8 and 4 GPUs (line 14 names the first of 4); bounds are of equal hosts";
    assert_eq!(uneven.text("bound_is"), Some(why));
    assert_eq!(bound(&on("gb200-nvl72", 6, [4, 2]), "bound_ring_MBps"), 900e3);
}

/// Adapters are no GPUs, and NVLinks between some of them join no others.
#[test]
fn the_form_that_describes_a_network_counts_gpus_alone() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../site/tests/data/outline/nccl.xml");
    let long = judged(&format!("{file}+rate:31GB/s+nvlink:25GB/s+technology:nvlink"), 2, 200e3);
    assert_eq!(bound(&long, "bound_ring_MBps"), 300e3);
    let matrix = concat!(env!("CARGO_MANIFEST_DIR"), "/../site/tests/data/outline/topo.txt");
    let row = Record::new().with("benchmark", "allreduce").with("ranks", 2).with("bus_bandwidth_MBps", 1.0);
    let name = format!("{matrix}+rate:31.5GB/s+nvlink:25GB/s+technology:nvlink");
    let why = Bus::open(&name, &by_links()).unwrap().add(row).unwrap_err().to_string();
    assert!(why.contains("its adapters are nodes, too") && why.contains("NCCL_TOPO_DUMP_FILE"), "{why}");
}

#[test]
fn a_result_above_the_bound_of_a_named_algorithm_is_reported() {
    let row = Record::new()
        .with("benchmark", "allreduce")
        .with("size_B", 1u64 << 27)
        .with("ranks", 8)
        .with("bus_bandwidth_MBps", 480e3);
    let beside = |algorithm: Option<&str>, protocol: Option<&str>, row: Record| {
        let [algorithm, protocol] = [algorithm, protocol].map(|name| name.map(str::to_owned));
        Bus::open("hgx-h100-rail", &Told { algorithm, protocol, ..by_links() }).unwrap().add(row).unwrap()
    };
    // NVLS may have run.
    assert_eq!(beyond_named(&beside(None, None, row.clone())), None);
    assert_eq!(beyond_named(&beside(Some("nvls"), None, row.clone())), None);
    for (record, named) in [
        (beside(Some("ring"), None, row.clone()), "ring"),
        (beside(None, Some("ll"), row.clone()), "ll"),
        (beside(None, None, row.clone().with("algorithm", "ring").with("protocol", "simple")), "ring"),
    ] {
        let told = beyond_named(&record).unwrap_or_else(|| panic!("{record:?}"));
        assert!(told.contains("allreduce of 134217728 B") && told.contains(named), "{told}");
    }
    // Slower than the links, and quicker than a ring's steps by the catalog's kernels: newer ones may do it.
    let short = row.clone().with("size_B", 8u64 << 10).with("bus_bandwidth_MBps", 5e3);
    let record = beside(Some("ring"), Some("simple"), short.clone());
    assert!(bound(&record, "efficiency") > 1.0 && beyond_named(&record).is_none(), "{record:?}");
    let told = impossible_under(&record).unwrap_or_else(|| panic!("{record:?}"));
    assert!(told.contains("impossible under ring with simple by the catalog's kernels"), "{told}");
    assert!(told.contains("newer than the catalog's") && told.contains("another algorithm or protocol"), "{told}");
    let held = beside(Some("ring"), Some("simple"), short.with("bus_bandwidth_MBps", 1.0));
    assert_eq!((impossible_under(&held), held.get("impossible_under")), (None, None));
    // Above the largest it is impossible for any algorithm.
    let all = beside(Some("ring"), None, row.with("bus_bandwidth_MBps", 2e6));
    assert_eq!((beyond_named(&all), all.number("bound_largest_MBps").is_some()), (None, true));
}

/// What a log names is never judged as something else.
#[test]
fn an_algorithm_that_a_fabric_does_not_have_leaves_a_log_without_bound() {
    let logged = |fabric: &str, gpus: u32, algorithm: &str, protocol: &str| {
        let row = Record::new().with("benchmark", "allreduce").with("ranks", gpus).with("algorithm", algorithm);
        let row = row.with("protocol", protocol).with("bus_bandwidth_MBps", 350e3);
        Bus::open(fabric, &by_links()).unwrap().add(row).unwrap()
    };
    for (gpus, algorithm, protocol) in [
        (32, "collnet", "simple"),
        (32, "pat", "simple"),
        (32, "unknown", "simple"),
        (32, "nvls", "simple"),
        (8, "nvls", "ll128"),
        (8, "nvls-tree", "simple"),
    ] {
        let none = logged("hgx-h100-rail", gpus, algorithm, protocol);
        assert_eq!((none.number("efficiency"), none.text("bound_algorithm")), (None, None), "{none:?}");
        let expected = format!("none: the log names {algorithm}, and hgx-h100-rail has no such allreduce");
        assert!(none.text("bound_is").is_some_and(|text| text.starts_with(&expected)), "{none:?}");
    }
    // 4 hosts: an inner host of the trees sends its GPUs' data twice, where a ring sends it 31/16 times.
    let tree = logged("hgx-h100-rail", 32, "nvls-tree", "simple");
    assert_eq!(
        (bound(&tree, "bound_nvls_tree_MBps"), tree.text("bound_algorithm")),
        (bound(&tree, "bound_tree_MBps"), Some("nvls-tree"))
    );
    assert!((0.85..1.0).contains(&bound(&tree, "efficiency")), "{tree:?}");
}

#[test]
fn a_result_beyond_the_chosen_algorithm_says_so() {
    let row = Record::new().with("benchmark", "allreduce").with("ranks", 72).with("gpus_per_host", 4);
    let row = row.with("bus_bandwidth_MBps", 1700e3);
    let add = |row: Record| Bus::open("gb200-nvl72", &by_links()).unwrap().add(row).unwrap();
    let rack = add(row.clone());
    assert!(bound(&rack, "efficiency") > 1.3 && bound(&rack, "bound_nvls_MBps") > bound(&rack, "bound_ring_MBps"));
    assert!(beyond_chosen(&rack).is_some_and(|text| text.contains("beyond the bound of nvls")), "{rack:?}");
    assert!(rack.text("bound_is").is_some_and(|text| text.contains("shows that another ran")), "{rack:?}");
    // Better than a ring's bound, it may be NVLS: within its own, and no mistake.
    let within = add(row.clone().with("bus_bandwidth_MBps", 1200e3));
    assert_eq!((beyond_chosen(&within), within.text("bound_algorithm")), (None, Some("nvls")));
    assert!((0.9..1.0).contains(&bound(&within, "efficiency")), "{within:?}");
    assert_eq!(beyond_chosen(&add(row.with("algorithm", "nvls").with("bus_bandwidth_MBps", 1300e3))), None);
    // A domain of 72 has nine hosts of eight.
    let eights = Record::new().with("benchmark", "allreduce").with("ranks", 96).with("gpus_per_host", 8);
    let eights = add(eights.with("bus_bandwidth_MBps", 1.0));
    assert!(eights.text("bound_is").is_some_and(|text| text.contains("up to 9 hosts of 8 GPUs")), "{eights:?}");
}

#[test]
fn one_gpu_has_no_bound() {
    let row = Record::new().with("benchmark", "allreduce").with("ranks", 1).with("bus_bandwidth_MBps", 0.0);
    let record = Bus::of(Source::open("hgx-h100-rail").unwrap(), Rates::Measured).add(row).unwrap();
    assert_eq!(record.number("efficiency"), None);
}

#[test]
fn a_rack_of_one_domain_exceeds_what_hosts_of_eight_can_do() {
    // 72 GPUs at 840 GB/s: a rack does it by NVLink; nine hosts of eight cannot by their adapters.
    let rack = judged("gb200-nvl72", 72, 840e3);
    assert!(bound(&rack, "efficiency") < 1.0 && bound(&rack, "bound_largest_MBps") > 840e3, "{rack:?}");
    let hosts = judged("hgx-h100-rail", 72, 840e3);
    assert!(bound(&hosts, "bound_largest_MBps") < 840e3, "{hosts:?}");
}

/// A rack has an operating system for each tray of four GPUs, which a log counts by host names.
#[test]
fn trays_of_a_rack_share_its_domain() {
    let on = |gpus: u32, each: u32| {
        let row = Record::new().with("benchmark", "allreduce").with("ranks", gpus).with("gpus_per_host", each);
        Bus::open("gb200-nvl72", &by_links()).unwrap().add(row.with("bus_bandwidth_MBps", 840e3)).unwrap()
    };
    for gpus in [8, 72] {
        let rack = on(gpus, 4);
        assert_eq!((bound(&rack, "bound_ring_MBps"), rack.text("limiting_resource")), (900e3, Some("NVLink")));
        assert!(rack.text("bound_is").is_some_and(|text| text.contains("18 hosts of 4 GPUs")), "{rack:?}");
    }
    // One GPU of each tray: 18 of a rack, 17 of whose 18 hops stay inside.
    let few = on(36, 1);
    assert_eq!(bound(&few, "bound_ring_MBps").round(), (900e3f64 * 18.0 / 17.0).round());
}

#[test]
fn what_a_fabric_leaves_open_is_not_called_impossible() {
    let open = judged("gpu-rail", 8, 478e3);
    assert_eq!((bound(&open, "bound_ring_MBps"), bound(&open, "bound_largest_MBps")), (450e3, 700e3));
    assert!(open.text("bound_is").is_some_and(|text| text.contains("gpu_switch_reduces")), "{open:?}");
    assert_eq!(open.number("bound_nvls_MBps"), None);
    assert!(!judged("mi300x-rail", 8, 1.0).text("bound_is").is_some_and(|text| text.contains("gpu_switch_reduces")));
}

#[test]
fn nvls_across_hosts_is_bound_by_what_the_network_combines() {
    let sharp = judged("hgx-h100-sharp", 32, 520e3);
    // NVLink's switches reach 85 % of their links, which is no limit of the links themselves.
    for (name, due) in [("nvls", 658_750.0), ("collnet", 498_214.0)] {
        // Pieces of what is counted are whole bytes.
        let found = bound(&sharp, &format!("bound_{name}_MBps"));
        assert!((found / due - 1.0).abs() < 1e-4, "{name} {found}");
    }
    assert_eq!(bound(&sharp, "bound_largest_MBps").round(), 770_112.0);
}

/// A leaf has as many links up as down, with any network above its spines.
#[test]
fn cores_add_nothing_to_a_leafs_way_up() {
    let spine = |gpus: u32| {
        let row = Record::new().with("benchmark", "alltoall").with("ranks", gpus).with("bus_bandwidth_MBps", 1.0);
        let record = Bus::open("hgx-h100-pod:radix=16", &by_links()).unwrap().add(row).unwrap();
        bound(&record, "bound_spine_MBps") * f64::from(gpus - 8) / f64::from(gpus - 1)
    };
    assert_eq!(spine(128).round(), spine(256).round());
}

#[test]
fn a_mesh_counts_all_links_of_a_gpu() {
    let mesh = judged("mi300x-rail", 8, 300e3);
    // Seven links of 64 GB/s.
    assert_eq!(bound(&mesh, "bound_ring_MBps").round(), 448e3);
    assert_eq!(bound(&judged("hgx-h200-rail", 8, 400e3), "bound_ring_MBps").round(), 450e3);
    // Rings of an odd number of hosts load no link twice, either: their NICs bind them.
    for gpus in [16, 24, 40] {
        let ring = bound(&judged("mi300x-rail", gpus, 300e3), "bound_ring_MBps");
        assert!((ring / 392_149.0 - 1.0).abs() < 0.01, "{gpus} {ring}");
    }
}

#[test]
fn pods_are_built_at_their_published_sizes() {
    for (fabric, gpus) in [("hgx-h100-pod", 1024), ("hgx-h100-pod-eth", 32_768), ("hgx-h100-rail-only", 8192)] {
        let pod = judged(fabric, gpus, 300e3);
        let nic = bound(&pod, "bound_nic_MBps");
        assert!((385e3..=400e3).contains(&nic), "{fabric} {nic}");
    }
}

/// One bound for one question: `import` has that of `simulate`, by its size, algorithm, protocol and capacities. Where a
/// log names neither, another protocol may allow more.
#[test]
fn a_simulated_run_that_is_imported_keeps_its_bound() {
    let sizes = [8, 8 << 10, 256 << 10, 4 << 20, 32 << 20];
    let mut limits = BTreeSet::new();
    for (fabric, gpus) in [
        ("hgx-h100-rail", 32),
        ("hgx-h100-rail", 8),
        ("hgx-h100-sharp", 16),
        ("mi300x-rail", 8),
        ("hgx-a100-rail", 16),
        ("mi300x-rail", 24),
        ("gb200-nvl72", 16),
    ] {
        let is_long = gpus == 32 || fabric == "mi300x-rail" && gpus == 8;
        for (which, capacities) in [
            ("allreduce", Rates::Measured),
            ("allreduce", Rates::Theoretical),
            ("allgather", Rates::Measured),
            ("bcast", Rates::Measured),
            ("alltoall", Rates::Measured),
        ] {
            if capacities == Rates::Theoretical && !is_long {
                continue;
            }
            let asked = Collective {
                which: collective::named(which).unwrap(),
                algorithms: Vec::new(),
                protocols: Vec::new(),
                nodes: vec![gpus],
                sizes: sizes[..if is_long { 5 } else { 4 }].to_vec(),
                network: Network { capacities, ..Network::default() },
                vary: Vary::No,
            };
            let mut bus = Bus::open(fabric, &Told { capacities, ..Told::default() }).unwrap();
            for run in asked.records(&[fabric.to_owned()], &Unwatched).unwrap() {
                let keys = ["benchmark", "size_B", "ranks", "latency_us", "bus_bandwidth_MBps"];
                let row = keys.iter().fold(Record::new(), |row, key| row.with(key, run.get(key).unwrap().clone()));
                let text = |key: &str| run.text(key).unwrap().replace("pairwise", "pairs");
                let ways = row.clone().with("algorithm", text("algorithm")).with("protocol", text("protocol"));
                let named = bus.add(ways).unwrap();
                let about = format!("{fabric} {which} {capacities:?}: {run:?} {named:?}");
                let share = |record: &Record, key: &str| bound(record, key) / bound(&run, key);
                // One function counts both; a log prints its time in microseconds.
                let near = 1e-6;
                for key in ["bound_bus_bandwidth_MBps", "efficiency"] {
                    assert!((share(&named, key) - 1.0).abs() < near, "{} of {key}: {about}", share(&named, key));
                }
                assert_eq!(named.text("limiting_resource"), run.text("limiting_resource"), "{about}");
                assert!(bound(&run, "efficiency") < 1.005, "{about}");
                limits.insert(run.text("limiting_resource").unwrap().to_owned());
                let open = bus.add(row).unwrap();
                // Without a name the bound is that of the algorithm that NCCL's model chooses, as it did for the run.
                let taken = run.text("algorithm").map(|name| if name == "pairwise" { "pairs" } else { name });
                assert_eq!(open.text("bound_algorithm"), taken, "{about}: {open:?}");
                let of_it = bound(&open, &format!("bound_{}_MBps", text("algorithm").replace('-', "_")));
                assert!(of_it / bound(&run, "bound_bus_bandwidth_MBps") > 1.0 - near, "{about}: {open:?}");
            }
        }
    }
    // The sizes cross from what kernels and steps take to what links carry.
    assert!(limits.len() > 3 && limits.contains("dependency chain") && limits.contains("NDR link"), "{limits:?}");
}

/// No algorithm launches a kernel and reaches the farthest GPU in no time, whatever ran.
#[test]
fn what_comes_before_a_kernel_can_have_begun_is_impossible() {
    let of = |fabric: &str, gpus: u32, which: &str, us: f64, calls: Option<u64>| {
        let factor = if which == "bcast" { 1.0 } else { 2.0 * f64::from(gpus - 1) / f64::from(gpus) };
        let row = Record::new().with("benchmark", which).with("size_B", 8).with("ranks", gpus);
        let row = row.with("latency_us", us).with("bus_bandwidth_MBps", factor * 8.0 / us);
        let row = calls.into_iter().fold(row, |row, calls| row.with(CALLS, calls));
        let record = Bus::open(fabric, &Told::default()).unwrap().add(row).unwrap();
        let floor = record.number("bound_floor_us");
        (flag_impossible(record).1, floor)
    };
    for (fabric, gpus) in [("hgx-h100-rail", 32), ("hgx-h100-rail", 8), ("mi300x-rail", 16), ("gpu-rail", 32)] {
        let (told, floor) = of(fabric, gpus, "allreduce", 0.2, None);
        assert!(told.is_some_and(|told| told.contains("bound_largest")), "{fabric} {gpus} {floor:?}");
        // With every estimate at its least; the quickest of today's kernels take several times as long.
        assert!((0.25..2.0).contains(&floor.unwrap()), "{fabric} {gpus} {floor:?}");
        assert_eq!(of(fabric, gpus, "allreduce", 3.0, None).0, None, "{fabric} {gpus}");
    }
    // A root's next call may begin while the last GPU of the one before waits; calls that are launched together share it.
    let [all, root] = ["allreduce", "bcast"].map(|which| of("hgx-h100-rail", 32, which, 3.0, None).1.unwrap());
    assert_eq!(root, 0.25, "the least launch of the catalog");
    assert!(all > 2.0 * root);
    assert_eq!(of("hgx-h100-rail", 32, "allreduce", 0.5, Some(20)), (None, Some(all / 20.0)));
}

/// A log of 30 sizes on 1,024 GPUs takes no simulation.
#[test]
fn bounds_of_a_large_cluster_take_few_operations() {
    let mut bus = Bus::open("hgx-h100-rail", &Told::default()).unwrap();
    let row = |size: u64| {
        let row = Record::new().with("benchmark", "allreduce").with("size_B", size).with("ranks", 1024);
        row.with("latency_us", 1e6).with("bus_bandwidth_MBps", 1.0)
    };
    let all: Vec<Record> = (3..33).step_by(3).map(|bits| bus.add(row(1 << bits)).unwrap()).collect();
    let rates: Vec<f64> = all.iter().map(|record| bound(record, "bound_bus_bandwidth_MBps")).collect();
    assert!(rates.windows(2).all(|two| two[1] > 0.9 * two[0]) && rates[9] > 1e3 * rates[0], "{rates:?}");
    assert!(all.iter().any(|record| record.text("bound_is").is_some_and(|text| text.contains("which is no longer"))));
}

/// What a root gives leaves its host by all NICs: no simulation beats the bound, and a log, a job and OSU's rows have it.
#[test]
fn a_scatter_is_bound_alike_by_every_door() {
    let sizes = vec![4 << 20, 64 << 20];
    for (fabric, gpus) in [("hgx-h100-rail", 16), ("mi300x-rail", 24), ("hgx-h100-pod", 16)] {
        for which in [Which::Scatter, Which::Gather, Which::Bcast, Which::Reduce] {
            let asked = Collective {
                which,
                algorithms: Vec::new(),
                protocols: Vec::new(),
                nodes: vec![gpus],
                sizes: sizes.clone(),
                network: NETWORK,
                vary: Vary::No,
            };
            for record in asked.records(&[fabric.to_owned()], &Unwatched).unwrap() {
                let [efficiency, us, bus] =
                    ["efficiency", "latency_us", "bus_bandwidth_MBps"].map(|k| bound(&record, k));
                assert!(efficiency > 0.2 && efficiency <= 1.000_001, "{record:?}");
                let row = ["benchmark", "size_B", "algorithm", "protocol"];
                let row = row.into_iter().fold(Record::new(), |row, key| row.with(key, record.get(key).cloned()));
                let row = row.with("latency_us", us).with("bus_bandwidth_MBps", bus);
                let usual = if row.text("algorithm") == Some("pairwise") { row.without("algorithm") } else { row };
                let told = Told { gpus: Some(gpus), ..Told::default() };
                let logged = Bus::open(fabric, &told).unwrap().add(usual).unwrap();
                let ratio = bound(&logged, "bound_bus_bandwidth_MBps") / bound(&record, "bound_bus_bandwidth_MBps");
                assert!((ratio - 1.0).abs() < 0.01, "{logged:?} {record:?}");
                assert!(bus <= bound(&logged, "bound_largest_MBps"), "{logged:?}");
                let (name, bytes) = (collective::name(which), bound(&record, "size_B"));
                let plan = format!(
                    "nodes = {gpus}\n[[job]]\nname = \"a\"\ncollective = {name:?}\nsize = \"{bytes}\"\nranks = {gpus}\n"
                );
                let job = &jobs::told(&plan, fabric)[0];
                assert!(
                    (bound(job, "bound_latency_us") / bound(&record, "bound_latency_us") - 1.0).abs() < 0.01,
                    "{job:?}"
                );
                // OSU's size is a part of a gather or scatter.
                let parts = if matches!(which, Which::Gather | Which::Scatter) { gpus } else { 1 };
                let row = Record::new().with("benchmark", name).with("ranks", gpus);
                let row = row.with("size_B", bytes / f64::from(parts)).with("latency_us", us);
                let osu = Bounds::open(fabric, None).unwrap().add(row).unwrap();
                let least = if which == Which::Scatter { 0.1 } else { 0.0 };
                assert!(osu.number("efficiency").is_some_and(|share| share > least && share <= 1.0), "{osu:?}");
            }
        }
    }
}
