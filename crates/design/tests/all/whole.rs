//! Variants as fabrics: their files, their pieces, their cables, what failures leave.

use hotlink_bench::Record;
use hotlink_design::floor::Plan;
use hotlink_design::{Floor, Request, design, failure};
use hotlink_fabric::Fabric;
use hotlink_fabric::catalog::{self, load};
use hotlink_fabric::inventory::Inventory;
use hotlink_fabric::routing::Paths;
use hotlink_fabric::spec::{FabricSpec, ItemKind, TopologySpec};
use hotlink_fabric::topology::Rail;
use hotlink_fabric::traffic::Traffic;
use hotlink_study::model::PatternQuestion;
use hotlink_study::options::Rates;
use hotlink_study::{Source, Unwatched};
use proptest::prelude::*;
use serde_json::Value;

fn request(hosts: u32) -> Request {
    Request {
        hosts: vec![hosts],
        technologies: ["infiniband", "roce", "slingshot"].map(str::to_owned).to_vec(),
        oversubscriptions: vec![1.0, 2.0],
        samples: 1,
        collectives: Vec::new(),
        ..Request::default()
    }
}

const KINDS: [(&str, ItemKind); 5] = [
    ("nics", ItemKind::Nic),
    ("switches", ItemKind::Switch),
    ("node_cables", ItemKind::CableNode),
    ("switch_cables", ItemKind::CableSwitch),
    ("global_cables", ItemKind::CableGlobal),
];

/// Each variant's file is read, builds for its hosts and for no more than it says, and consists of what its rows say.
fn holds(request: &Request) {
    let found = design(request, &Unwatched).unwrap();
    let of = |kind: &str, name: &str| -> Vec<&Record> {
        let is = |record: &&Record| record.text("kind") == Some(kind) && record.text("fabric") == Some(name);
        found.records.iter().filter(is).collect()
    };
    assert!(!found.files.is_empty());
    for (file, text) in &found.files {
        let name = file.strip_suffix(".toml").unwrap();
        let record = of("variant", name)[0];
        let nodes = record.number("nodes").unwrap() as u32;
        let spec = catalog::parse(file, text).unwrap();
        let fabric = Fabric::build(&spec, nodes).unwrap();
        let pieces = Inventory::of(&fabric);
        for (key, kind) in KINDS {
            assert_eq!(record.number(key).unwrap_or(0.0), pieces.count(kind) as f64, "{name}: {key}");
        }
        for (cable, kind) in [("node", KINDS[2].1), ("switch", KINDS[3].1), ("global", KINDS[4].1)] {
            let rows = of("cables", name).into_iter().filter(|row| row.text("cable") == Some(cable));
            let sum: f64 = rows.map(|row| row.number("count").unwrap()).sum();
            assert_eq!(sum, pieces.count(kind) as f64, "{name}: {cable} cables by length");
        }
        let bought: f64 = of("item", name).iter().map(|row| row.number("cost_USD").unwrap()).sum();
        let cost = |end: &str| record.number(&format!("cost_USD{end}")).unwrap();
        assert!((bought - cost("")).abs() < 0.01, "{name}");
        let power: f64 = of("item", name).iter().map(|row| row.number("power_kW").unwrap()).sum();
        assert!((power - record.number("power_kW").unwrap()).abs() < 1e-6, "{name}");
        assert!(cost("_low") <= cost("") && cost("") <= cost("_high"), "{name}");
        let counts: f64 = of("item", name).iter().map(|row| row.number("count").unwrap()).sum();
        assert_eq!(counts, pieces.pieces.values().sum::<u64>() as f64, "{name}: each piece has a price");
        let most = record.number("holds_nodes").unwrap() as u64;
        assert!(most >= u64::from(nodes), "{name}");
        if most < 20_000 {
            assert!(Fabric::build(&spec, most as u32).is_ok(), "{name} holds {most}");
            assert!(Fabric::build(&spec, most as u32 + 1).is_err(), "{name} holds no more than {most}");
        }
        for share in ["all_to_all_share", "bisection_share", "permutation_share"] {
            // Two or three nodes may be drawn to send to themselves each time: they have no share of a permutation.
            let nothing_sent = nodes <= 3 && share == "permutation_share" && record.get(share) == Some(&Value::Null);
            // A rail's shares are of its NICs; its hosts carry part of the traffic inside.
            let most = if record.text("topology") == Some("rail") { f64::INFINITY } else { 1.0 + 1e-9 };
            let fits = record.number(share).is_some_and(|share| share > 0.0 && share <= most);
            assert!(fits || nothing_sent, "{name}: {share} {:?}", record.get(share));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    #[test]
    fn variants_of_any_size_are_what_they_say(hosts in 2_u32..400) {
        holds(&request(hosts));
    }
}

/// A draw of two hosts may be the identity: the fewest hosts are a case of their own.
#[test]
fn two_and_three_hosts_are_designed_for() {
    for hosts in [2, 3] {
        holds(&request(hosts));
    }
}

#[test]
fn hosts_with_gpus_have_rails() {
    let request = Request { gpus_per_host: Some(8), technologies: vec!["infiniband".to_owned()], ..request(16) };
    holds(&request);
    let found = design(&request, &Unwatched).unwrap();
    let rail = found.records.iter().find(|record| record.text("topology") == Some("rail")).unwrap();
    assert_eq!((rail.text("fabric"), rail.number("nodes")), (Some("infiniband-16-rail"), Some(128.0)));
    // One switch is a whole rail here. Each of the 16 hosts loses a GPU with it, and the other seven rails go on. Six
    // of 111 partners are then in a GPU's own host; before, seven of 127 were.
    assert_eq!((rail.number("switches"), rail.number("failed_switch_hosts")), (Some(8.0), Some(16.0)));
    assert_eq!(rail.get("failed_cable_share"), Some(&Value::Null));
    let after = rail.number("failed_switch_share").unwrap();
    assert!((after - 111.0 / 105.0 * 120.0 / 127.0).abs() < 1e-6, "{after}");
    // Its shares are of a NIC, as those of the tree are. Seven of 127 partners are in a GPU's own host: what it sends them
    // takes nothing of its NIC.
    let tree = found.records.iter().find(|record| record.text("topology") == Some("fat-tree2")).unwrap();
    let per_share =
        |record: &Record| record.number("all_to_all_MBps").unwrap() / record.number("all_to_all_share").unwrap();
    let of_tree = per_share(rail) / per_share(tree);
    assert!((of_tree - 127.0 / 120.0).abs() < 1e-3, "{} {}", per_share(rail), per_share(tree));
    assert!((rail.number("all_to_all_share").unwrap() - 1.0).abs() < 1e-3, "{rail:?}");
    // Its hosts are those of the catalog's rails with as many GPUs.
    assert!(
        found.files.iter().any(|(name, text)| name == "infiniband-16-rail.toml" && text.contains("as in gpu-rail"))
    );
}

/// Rails of two leaves that do not meet: hosts of the one that fails are out, and the others have what they had.
#[test]
fn hosts_that_lose_a_rail_of_several_leaves_are_out() {
    let spec = FabricSpec { topology: TopologySpec::new(Rail::apart(2, 8)), ..load("hgx-h100-rail").unwrap() };
    let fabric = Fabric::build(&spec, 24).unwrap();
    let routes = (Paths::Packet, 0);
    let (before, counted) = failure::exchange(&fabric, 1 << 20, routes).unwrap();
    let left = failure::left(&fabric, (before, &counted), 1 << 20, routes).unwrap();
    // That of a spine costs more: half of what leaves a leaf.
    let (name, share) = left.after_switch.unwrap();
    assert!(name.contains("spine") && share > 0.4, "{name} {share}");
    assert_eq!(left.nodes_of_switch.len(), 4);
}

/// 128 hosts on four leaves of 32, two spines: 16 links from each leaf to each spine.
#[test]
fn failures_cost_what_one_can_work_out() {
    let fabric = Fabric::build(&load("ib-ndr-fat-tree2").unwrap(), 128).unwrap();
    let left = |fabric: &Fabric, paths| {
        let (before, load) = failure::exchange(fabric, 1 << 20, (paths, 1)).unwrap();
        failure::left(fabric, (before, &load), 1 << 20, (paths, 1)).unwrap()
    };
    let evenly = left(&fabric, Paths::Packet);
    // Shortest paths split at each hop over ports: 31 of 32 links are left to what leaves a leaf.
    let full = 96.0 / 127.0;
    let (_, after_cable) = evenly.after_cable.unwrap();
    assert!((31.0 / 32.0..=1.0).contains(&after_cable), "{after_cable}");
    // A spine is half of what joins leaves; a node sends 96 of 127 messages there, at most half a link's rate each.
    let after_spine = 0.5 / full;
    let (switch, after_switch) = evenly.after_switch.unwrap();
    assert!((after_switch - after_spine).abs() < 1e-9 && switch == "spine 0", "{switch} {after_switch} {after_spine}");
    assert_eq!(evenly.nodes_of_switch.len(), 32);
    // By tables each node of a leaf has a link down to it for what 96 others send; without one, two nodes share a link.
    let by_table = left(&fabric, Paths::Destination);
    for (part, after) in [by_table.after_cable.unwrap(), by_table.after_switch.unwrap()] {
        assert!((after - 127.0 / (2.0 * 96.0)).abs() < 1e-9, "{part}: {after}");
    }
    let one = Fabric::build(&load("ib-ndr-fat-tree2").unwrap(), 64).unwrap();
    let left = left(&one, Paths::Destination);
    assert_eq!((left.after_cable, left.after_switch, left.nodes_of_switch.len()), (None, None, 64));
}

/// `analyze --fail` of the file that a design wrote: the same bandwidth, by the paths that the record names.
#[test]
fn failures_are_those_of_the_written_file() {
    let mut compared = 0;
    for (hosts, oversubscriptions) in [(512, vec![1.0, 2.0]), (2048, vec![2.0])] {
        let request = Request { technologies: vec!["infiniband".to_owned(), "roce".to_owned()], ..request(hosts) };
        let request = Request { oversubscriptions, ..request };
        let found = design(&request, &Unwatched).unwrap();
        for (file, text) in &found.files {
            let is = |record: &&Record| {
                record.text("kind") == Some("variant") && record.text("fabric") == file.strip_suffix(".toml")
            };
            let record = found.records.iter().find(is).unwrap();
            let path = std::env::temp_dir().join(format!("hotlink-design-{}-{file}", std::process::id()));
            std::fs::write(&path, text).unwrap();
            for key in ["failed_cable", "failed_switch"] {
                let source = Source::open(&format!("{}+fail:{}", path.display(), record.text(key).unwrap())).unwrap();
                // Hosts that would be cut off are an error there.
                let Ok(fabric) = source.build(hosts) else { continue };
                let question = PatternQuestion {
                    traffic: Traffic::AllToAll,
                    capacities: Rates::Measured,
                    size: request.size,
                    seed: request.seed,
                    samples: 1,
                    hash_seeds: 0,
                    paths: None,
                };
                let (answer, _) = question.by_load(fabric, &Unwatched).unwrap();
                assert_eq!(answer.text("paths"), record.text("all_to_all_paths"), "{file}");
                let after = answer.number("bandwidth_per_node_MBps").unwrap();
                let whole = record.number("all_to_all_MBps").unwrap();
                let share = record.number(&format!("{key}_share")).unwrap();
                assert!(
                    ((after / whole).min(1.0) - share).abs() < 1e-9,
                    "{file} {key}: {after} of {whole}, not {share}"
                );
                compared += 1;
            }
            std::fs::remove_file(&path).unwrap();
        }
    }
    assert!(compared >= 12, "{compared}");
}

#[test]
fn cables_are_as_long_as_the_floor_makes_them() {
    let fabric = Fabric::build(&load("ib-ndr-fat-tree2").unwrap(), 128).unwrap();
    let floor = Floor { hosts_per_rack: 32, racks_per_row: 3, ..Floor::default() };
    let plan = Plan::of(&fabric, &floor, 1);
    // Racks 0, 1, spines, then 3, 4 in a second row.
    assert_eq!(plan.racks, 5);
    let nodes = plan.cables[&ItemKind::CableNode];
    assert_eq!((nodes.classes, nodes.longest_m), ([128, 0, 0, 0, 0], 2.0), "each leaf stands with its hosts");
    let between = plan.cables[&ItemKind::CableSwitch];
    // From spines in rack 2: rack 0 at 1.2 m, rack 1 at 0.6, racks 3 and 4 a row further.
    assert_eq!((between.classes, between.copper), ([32, 96, 0, 0, 0], 32));
    assert!((between.longest_m - (2.0 + 3.0 + 1.2)).abs() < 1e-9, "{between:?}");
    assert_eq!(plan.optics(), 2 * 96);
    // Bought so: copper for hosts, and for the 32 that it reaches.
    let prices = fabric.spec.prices.as_ref().unwrap();
    let list = catalog::Library::embedded().price_list(&prices.list).unwrap();
    let bill = list.bill(&plan.items(prices, &list), &Inventory::of(&fabric)).unwrap();
    let lines: Vec<(&str, u64)> = bill.lines.iter().map(|line| (line.item.as_str(), line.count)).collect();
    let expected =
        [("ndr-nic", 128), ("ndr-switch", 6), ("ndr-copper-2m", 128), ("ndr-copper-2m", 32), ("ndr-optical-30m", 96)];
    assert_eq!(lines, expected);
}

/// A change of the models or of the generator shows here, as one of the table below.
#[test]
fn a_small_design_is_as_it_was() {
    let request = Request { oversubscriptions: vec![1.0], ..request(128) };
    let found = design(&request, &Unwatched).unwrap();
    let row = |record: &Record| {
        let number = |key: &str| record.number(key).map_or("-".to_owned(), hotlink_study::text::figure);
        let keys = [
            "switches",
            "switch_cables",
            "global_cables",
            "optics",
            "racks",
            "cost_USD",
            "power_kW",
            "all_to_all_share",
            "bisection_share",
            "permutation_share",
            "failed_cable_share",
            "failed_switch_share",
        ];
        let numbers: Vec<String> = keys.into_iter().map(number).collect();
        format!("{} {}", record.text("fabric").unwrap(), numbers.join(" "))
    };
    let variants = found.records.iter().filter(|record| record.text("kind") == Some("variant"));
    let table: Vec<String> = variants.map(row).collect();
    assert_eq!(table, include_str!("golden.txt").lines().collect::<Vec<_>>(), "\n{}\n", table.join("\n"));
}
