//! A site's own network: dumps of ibsim and OpenSM (`crates/site/tests/data`) through the command.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn file(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../site/tests/data/tree2").canonicalize().unwrap();
    root.join(name).to_str().unwrap().to_owned()
}

fn run(line: &str) -> Result<Vec<Value>, String> {
    let words: Vec<String> = line
        .split_whitespace()
        .map(|word| if word.ends_with(".txt") || word.contains("opensm") { file(word) } else { word.to_owned() })
        .collect();
    let mut hotlink = Command::new(env!("CARGO_BIN_EXE_hotlink"));
    hotlink.args(&words).arg("--json").env("HOME", std::env::temp_dir().join("hotlink-no-home"));
    let output = hotlink.env_remove("XDG_DATA_HOME").env_remove("HOTLINK_CATALOG").output().unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    Ok(document["records"].as_array().unwrap().clone())
}

/// The tree: 3 leaves of 4 hosts at 1,000 MB/s, two spines, two cables to each, of which two run at a quarter.
#[test]
fn a_network_is_inspected() {
    let records = run("fabric ibnetdiscover.txt opensm-lfts.dump --samples 50").unwrap();
    let [record] = &records[..] else { panic!("{records:?}") };
    for (key, value) in [("hosts", 12), ("switches", 5), ("levels", 2), ("switch_cables", 12), ("parallel_cables", 12)]
    {
        assert_eq!(record[key], value, "{key}");
    }
    assert_eq!(record["pattern"], "tree");
    assert_eq!(record["host_link_MBps"], 1000.0);
    assert_eq!(record["slow_links_count"], 2);
    assert_eq!((&record["unreachable_pairs"], &record["credit_loop"]), (&0.into(), &false.into()));
    let number = |key: &str| record[key].as_f64().unwrap_or_else(|| panic!("{key}: {record}"));
    // By hand: leaf1's slow cable to spine0 carries what its 4 hosts send to 2 others at a quarter of the rate: each host's
    // share is 11 / 8 of a quarter.
    assert!((number("all_to_all_share") - 0.25 * 11.0 / 8.0).abs() < 1e-9, "{}", number("all_to_all_share"));
    assert_eq!((&record["hot_link"], &record["hot_links"]), (&"leaf1 port 5 -> spine0 port 3".into(), &4.into()));
    // By hand: the cut around leaf2 or leaf1 with three whole cables and a quarter carries 3,250 MB/s for 4 x 8 pairs.
    let cut: f64 = 3250.0 / 32.0 * 11.0 / 1000.0;
    assert!(number("cable_bound_share") >= cut.min(1.0) - 1e-9 && number("cable_bound_share") <= cut.min(1.0) * 1.01);
    assert!(number("cable_reached_share") <= number("cable_bound_share"));
    assert!(number("permutation_worst_share") <= number("permutation_median_share"));
    // The worst draw is found again.
    let seed = record["permutation_worst_seed"].as_str().unwrap();
    let again = run(&format!(
        "analyze ibnetdiscover.txt --routes opensm-lfts.dump --traffic permutation:random --samples 1 --seed {seed} \
         --method load --capacities theoretical --size 1MiB"
    ))
    .unwrap();
    let efficiency = 4096.0 / (4096.0 + 26.0);
    let share = again[0]["bandwidth_per_node_MBps"].as_f64().unwrap() / (1000.0 * efficiency);
    assert!((share - number("permutation_worst_share")).abs() < 1e-6, "{share}");
}

/// The commands of the documentation.
#[test]
fn tables_steer_analyze_and_simulate() {
    let all =
        run("analyze ibnetdiscover.txt --routes opensm-lfts.dump --method load --capacities theoretical").unwrap();
    let bound = all[0]["bandwidth_per_node_MBps"].as_f64().unwrap();
    assert_eq!((&all[0]["nodes"], &all[0]["deadlock_free"]), (&12.into(), &true.into()));
    let fts = run("analyze iblinkinfo.txt --routes dump_fts.txt --traffic permutation:random --samples 200 --seed 1")
        .unwrap();
    let fts = fts.iter().find(|record| record["method"] == "load").unwrap();
    assert_eq!(fts["samples"], 200);
    assert!(fts["min_bandwidth_per_node_MBps"].as_f64() <= fts["median_bandwidth_per_node_MBps"].as_f64());
    let links =
        run("analyze ibnetdiscover.txt --routes opensm-lfts.dump --traffic permutation:shift:3 --links").unwrap();
    assert!(links.iter().any(|record| record["resource"] == "leaf0 port 5 -> spine0 port 1"), "{links:?}");
    let simulated = run("simulate alltoall --fabric ibnetdiscover.txt --routes opensm-lfts.dump --size 64KiB").unwrap();
    let simulated = simulated[0]["bandwidth_per_node_MBps"].as_f64().unwrap();
    assert!(simulated <= bound * 1.001 && simulated > 0.6 * bound, "simulated {simulated}, bound {bound}");
}

#[test]
fn what_is_missing_is_named() {
    let error = run("fabric opensm-lfts.dump").unwrap_err();
    assert!(error.contains("no file states cables"), "{error}");
    let error = run("fabric ibnetdiscover.txt iblinkinfo.txt").unwrap_err();
    assert!(error.contains("states cables, as"), "{error}");
    let error = run("analyze ibnetdiscover.txt --routes nowhere.dump").unwrap_err();
    assert!(error.contains("nowhere.dump: there is no such file"), "{error}");
    let error = run("fabric sci-ring").unwrap_err();
    assert!(error.contains("is no dump of a network"), "{error}");
}
