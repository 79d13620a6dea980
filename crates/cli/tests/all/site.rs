//! A site's own network: dumps of ibsim and OpenSM (`crates/site/tests/data`) through the command.

use crate::common::program;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn file(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../site/tests/data/tree2").canonicalize().unwrap();
    root.join(name).to_str().unwrap().to_owned()
}

fn run(line: &str) -> Result<Vec<Value>, String> {
    with(line, &[])
}

/// A line, and further words as they are.
fn with(line: &str, further: &[&str]) -> Result<Vec<Value>, String> {
    let words: Vec<String> = line
        .split_whitespace()
        .map(|word| if word.ends_with(".txt") || word.contains("opensm") { file(word) } else { word.to_owned() })
        .collect();
    let mut hotlink = Command::new(program());
    hotlink.args(&words).args(further).arg("--json").env("HOME", std::env::temp_dir().join("hotlink-no-home"));
    let output = hotlink.env_remove("XDG_DATA_HOME").env_remove("HOTLINK_CATALOG").output().unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    Ok(document["records"].as_array().unwrap().clone())
}

/// Dumps say nothing of hosts: a fabric of the catalog does in their place. Two dumps of one name are distinguished.
#[test]
fn hosts_may_be_like_those_of_the_catalog_and_dumps_of_one_name_are_compared() {
    let network = format!("{}+{}", file("ibnetdiscover.txt"), file("opensm-lfts.dump"));
    let ask = |what: &str| run(&format!("simulate allreduce --size 64KiB --fabric {what}"));
    assert!(ask(&network).unwrap_err().contains("parameter.copy_rate is missing"));
    let [record] = &ask(&format!("{network}+like:ib-ndr-fat-tree2")).unwrap()[..] else { panic!("one record") };
    assert_eq!((&record["fabric"], &record["nodes"]), (&"ibnetdiscover+like:ib-ndr-fat-tree2".into(), &12.into()));
    assert!(record["inputs"].to_string().contains("parameter.copy_rate"));
    assert!(ask("ib-qdr+like:ib-ndr-fat-tree2 --nodes 4").unwrap_err().contains("states its own hosts"));
    let twice = ask(&format!("{network}+like:ib-qdr+like:ib-ndr-fat-tree2"));
    assert!(twice.unwrap_err().contains("like:ib-qdr and like:ib-ndr-fat-tree2: a network has hosts of one fabric"));
    assert!(ask(&format!("{network}+like:none-such")).unwrap_err().contains("none-such: not in the catalog"));
    let paths = run(&format!("simulate alltoall --size 64KiB --paths packet --fabric {network}"));
    assert!(paths.unwrap_err().contains("--paths: forwarding tables say"));
    let both = run(&format!("compare {network} {} --nodes 12", file("ibnetdiscover.txt"))).unwrap();
    let names: Vec<&str> = both.iter().filter_map(|record| record["fabric"].as_str()).collect();
    assert!(names.len() >= 2 && names[0] != names[1], "{names:?}");
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
    // By hand: leaf1's slow cable to spine0 carries, at a quarter of the rate, the messages of its 4 hosts to 2 others.
    // Each host's share is 11 / 8 of a quarter.
    assert!((number("all_to_all_share") - 0.25 * 11.0 / 8.0).abs() < 1e-9, "{}", number("all_to_all_share"));
    assert_eq!((&record["hot_link"], &record["hot_links"]), (&"leaf1 port 5 -> spine0 port 3".into(), &4.into()));
    // Who uses it: every host of its leaf, to those of whom the tables send that way.
    let senders = serde_json::json!(["host1-0", "host1-1", "host1-2", "host1-3"]);
    assert_eq!((&record["hot_link_senders"], &record["hot_link_senders_count"]), (&senders, &4.into()));
    assert_eq!(record["hot_link_destinations"], serde_json::json!(["host0-0", "host2-0"]));
    assert_eq!(
        (&record["hot_link_flows"][0], &record["hot_link_flows_count"]),
        (&"host1-0 -> host0-0".into(), &8.into())
    );
    // By hand: it carries a quarter of leaf1's messages upwards, with a thirteenth of the four cables' rate.
    assert_eq!(record["unbalanced_links"][0], "leaf1 port 5 -> spine0 port 3 (3.25 times)");
    assert_eq!(record["unbalanced_links_count"], 4);
    // By hand: the cut around leaf2 or leaf1 with three whole cables and a quarter carries 3,250 MB/s for 4 x 8 pairs.
    let cut: f64 = 3250.0 / 32.0 * 11.0 / 1000.0;
    assert!(number("cable_bound_share") >= cut.min(1.0) - 1e-9 && number("cable_bound_share") <= cut.min(1.0) * 1.01);
    assert!(number("cable_reached_share") <= number("cable_bound_share"));
    assert!(number("permutation_worst_share") <= number("permutation_median_share"));
    assert!(number("ring_worst_share") <= number("ring_median_share"));
    assert_eq!(record["rings"], 50);
    assert_eq!(record["lanes"], "unknown: no file states them");
    let seed = record["ring_worst_seed"].as_str().unwrap();
    let again = run(&format!(
        "analyze ibnetdiscover.txt --routes opensm-lfts.dump --traffic permutation:ring --samples 1 --seed {seed} \
         --method load --capacities theoretical --size 1MiB"
    ));
    let share = again.unwrap()[0]["injection_share"].as_f64().unwrap();
    assert!((share - number("ring_worst_share")).abs() < 1e-9, "{share}");
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

/// Of tables of another network some lead in circles, and of two hosts with one LID one has no route.
#[test]
fn circles_of_tables_and_lids_of_two_hosts_are_named() {
    let [record] = &run("fabric ibnetdiscover.txt ../ring5/opensm-lfts.dump").unwrap()[..] else {
        panic!("one record")
    };
    assert_eq!(record["unreachable_pairs"], 126);
    assert_eq!(record["unreachable"][0], "host1-0 -> host0-0: led to host1-1");
    let path = std::env::temp_dir().join(format!("hotlink-lids-{}.txt", std::process::id()));
    // A spine sends host0-0's packets to leaf1, which sends them there.
    let tables = std::fs::read_to_string(file("opensm-lfts.dump")).unwrap();
    let (before, after) = tables.split_once("('spine0'):").expect("a table of spine0");
    let after = after.replacen("0x0001 001 ", "0x0001 003 ", 1);
    std::fs::write(&path, format!("{before}('spine0'):{after}")).unwrap();
    let [record] = &run(&format!("fabric ibnetdiscover.txt {}", path.display())).unwrap()[..] else { panic!("one") };
    assert_eq!(record["unreachable"][0], "host1-0 -> host0-0: in a circle of leaf1, spine0");
    let text = std::fs::read_to_string(file("ibnetdiscover.txt")).unwrap();
    std::fs::write(&path, text.replace("lid 10 ", "lid 11 ")).unwrap();
    let [record] = &run(&format!("fabric {} opensm-lfts.dump", path.display())).unwrap()[..] else { panic!("one") };
    std::fs::remove_file(&path).unwrap();
    assert_eq!(record["shared_lids"], serde_json::json!(["11: host1-0, host1-1"]));
    assert_eq!(record["unreachable_pairs"], 11);
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

/// By hand: leaf0's cable to spine0 carries the messages of its 4 hosts to 2 hosts of leaf 1 and 2 of leaf 2. It also
/// carries those of 8 hosts to some.
#[test]
fn failures_are_ranked() {
    let records = run("fabric ibnetdiscover.txt opensm-lfts.dump --failures").unwrap();
    assert_eq!((&records[0]["switch_cables"], &records[0]["switches"]), (&12.into(), &5.into()));
    assert_eq!(records.len(), 1 + 12 + 5);
    // A leaf costs its four hosts; nothing else costs a host.
    let ranked = &records[1..];
    assert!(ranked[..3].iter().all(|record| record["part"] == "switch" && record["hosts_lost"] == 4), "{ranked:?}");
    assert!(ranked.iter().enumerate().all(|(i, record)| record["rank"] == i + 1));
    // With tables as they are, each spine costs what crosses it; of the 96 pairs of different leaves all cross one.
    let spines: Vec<&Value> =
        ranked.iter().filter(|record| record["failed"].as_str().unwrap().starts_with("spine")).collect();
    assert_eq!(spines.iter().map(|record| record["lost_pairs"].as_u64().unwrap()).sum::<u64>(), 96);
    assert!(spines.iter().all(|record| record["rerouted_lost_pairs"] == 0));
    let one = ranked.iter().find(|record| record["failed"] == "leaf0 port 5 -> spine0 port 1").unwrap();
    let lost = one["lost_pairs"].as_u64().unwrap();
    // The same by analyze, which counts the network without the cable whole.
    let line = "analyze ibnetdiscover.txt --routes opensm-lfts.dump --method load --capacities theoretical --size 1MiB";
    let kept = with(line, &["--fail", "leaf0 port 5 -> spine0 port 1"]).unwrap();
    assert_eq!(kept[0]["unreachable_pairs"], lost);
    assert!(kept[0]["unreachable"].as_str().unwrap().contains("host1-0 -> host0-0"), "{kept:?}");
    let share = kept[0]["bandwidth_per_node_MBps"].as_f64().unwrap() / (1000.0 * 4096.0 / (4096.0 + 26.0));
    assert!((share - one["kept_share"].as_f64().unwrap()).abs() < 1e-9, "{share} {one}");
    let rerouted = with(line, &["--fail", "leaf0 port 5", "--rerouted"]).unwrap();
    assert!(rerouted[0].get("unreachable_pairs").is_none_or(Value::is_null));
    assert_eq!(rerouted[0]["deadlock_free"], true);
}

/// Failed parts are gone for a simulation, too.
#[test]
fn failures_reach_the_simulation() {
    let line = "simulate alltoall --fabric ibnetdiscover.txt --routes opensm-lfts.dump --size 4KiB";
    let error = with(line, &["--fail", "spine0"]).unwrap_err();
    assert!(error.contains("pairs have no route: host") && error.contains("--rerouted"), "{error}");
    let whole = with(line, &["--rerouted"]).unwrap();
    let left = with(line, &["--fail", "spine0", "--rerouted"]).unwrap();
    let rate = |records: &[Value]| records[0]["bandwidth_per_node_MBps"].as_f64().unwrap();
    assert!(rate(&left) <= rate(&whole), "{} {}", rate(&left), rate(&whole));
    let hot = |records: &[Value]| records[0]["hot_link"].as_str().unwrap().to_owned();
    assert!(hot(&whole).contains("spine0 port") && !hot(&left).contains("spine0"), "{} {}", hot(&whole), hot(&left));
    let error = with(line, &["--fail", "spine7"]).unwrap_err();
    assert!(error.contains("fail:spine7: is no switch or host of this network"), "{error}");
    let error = run("analyze sci-ring --nodes 8 --fail x").unwrap_err();
    assert!(error.contains("fail: `x`: there is no such switch or cable"), "{error}");
}

#[test]
fn a_job_is_looked_at() {
    let records = run("fabric ibnetdiscover.txt opensm-lfts.dump --hosts host[0-2]-0,host1-3 --samples 20").unwrap();
    let [given, ordered, best, random] = &records[..] else { panic!("{records:?}") };
    assert_eq!((&given["hosts"], &given["nodes"]), (&"host0-0,host1-0,host2-0,host1-3".into(), &4.into()));
    let share = |record: &Value, key: &str| record[key].as_f64().unwrap_or_else(|| panic!("{key}: {record}"));
    assert!(share(given, "all_to_all_share") <= share(given, "cable_bound_share") + 1e-9);
    assert!(share(ordered, "ring_share") >= share(given, "ring_share"));
    // Four hosts fit on a leaf.
    assert!(["all_to_all_share", "ring_share"].iter().all(|key| (share(best, key) - 1.0).abs() < 1e-9), "{best}");
    assert_eq!(random["samples"], 20);
    assert!(share(random, "worst_share") <= share(random, "all_to_all_share"));
    let error = run("fabric ibnetdiscover.txt opensm-lfts.dump --hosts nobody").unwrap_err();
    assert!(error.contains("host 'nobody': no host of this network has this name"), "{error}");
}

#[test]
fn better_tables_are_written_and_read() {
    let file = std::env::temp_dir().join(format!("hotlink-reroute-{}.out", std::process::id()));
    let line = "fabric ibnetdiscover.txt opensm-lfts.dump --reroute";
    let records = with(line, &[file.to_str().unwrap()]).unwrap();
    let share = |place: usize| records[place]["all_to_all_share"].as_f64().unwrap();
    assert!(
        share(1) >= share(0) && share(1) <= records[1]["cable_bound_share"].as_f64().unwrap() + 1e-9,
        "{records:?}"
    );
    assert_eq!((&records[1]["credit_loop"], &records[1]["unreachable_pairs"]), (&false.into(), &0.into()));
    let again = with("fabric ibnetdiscover.txt", &[file.to_str().unwrap(), "--samples", "5"]).unwrap();
    assert_eq!(again[0]["all_to_all_share"], records[1]["all_to_all_share"]);
    std::fs::remove_file(file).unwrap();
}

#[test]
fn cables_of_unknown_speed_are_estimates() {
    let text = std::fs::read_to_string(file("ibnetdiscover.txt")).unwrap();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("unknown-speed.dump");
    std::fs::write(&path, text.replace("4xSDR", "4xFOO")).unwrap();
    let record = &with("fabric --samples 5", &[path.to_str().unwrap()]).unwrap()[0];
    assert!(record["estimates"].as_array().unwrap().contains(&"resource.link.gross".into()), "{record}");
    assert!(record["note"].as_str().unwrap().contains("cables state no known speed"), "{record}");
    let sound = &run("fabric ibnetdiscover.txt --samples 5").unwrap()[0];
    assert!(sound.get("estimates").is_none() && sound.get("note").is_none(), "{sound}");
}

#[test]
fn a_file_that_is_no_network_says_why() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-network");
    std::fs::create_dir_all(&folder).unwrap();
    for (bytes, why) in [
        (&b""[..], "it is empty"),
        (b"\xFF\xFEn\0a\0", "byte order mark"),
        (b"\x7FELF\x02\0\0", "zero bytes"),
        (b"some words\n", "no program is known"),
    ] {
        std::fs::write(folder.join("m4"), bytes).unwrap();
        let output = Command::new(program()).args(["fabric", "m4"]).current_dir(&folder).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("there is a file of this name") && said.contains(why), "{said}");
        assert!(!said.contains("did you mean"), "{said}");
    }
}

#[test]
fn a_share_of_some_pairs_says_so() {
    let record = &run("fabric ibnetdiscover.txt opensm-lfts.dump --samples 5 --fail spine0").unwrap()[0];
    let lost = record["unreachable_pairs"].as_f64().unwrap();
    // A host sends to seven others in the mean; the hottest link carries eleven flows.
    let share = record["all_to_all_share"].as_f64().unwrap();
    assert!(lost == 48.0 && (share - 7.0 / 11.0).abs() < 1e-9, "{record}");
    let told = format!("of the {} pairs that have a route, cable_bound_share of all 132", 132.0 - lost);
    assert!(record["note"].as_str().unwrap().contains(&told), "{record}");
}

#[test]
fn a_name_of_several_hosts_asks_which() {
    let text = std::fs::read_to_string(file("ibnetdiscover.txt")).unwrap();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("alike.dump");
    std::fs::write(&path, text.replace("\"host0-1\"", "\"host0-0\"")).unwrap();
    let fail = |part: &str| with("fabric --samples 5", &[path.to_str().unwrap(), "--fail", part]);
    for part in ["host0-0", "host0-0 port 1"] {
        let error = fail(part).unwrap_err();
        assert!(error.contains("'host0-0' is the name of 2: say which: 'host0-0 (0x"), "{error}");
        let spelled = error.split('\'').find(|part| part.starts_with("host0-0 (")).unwrap().to_owned();
        assert!(fail(&part.replace("host0-0", &spelled)).is_ok(), "{spelled}");
    }
}

#[test]
fn a_dump_alone_is_diagnosed_without_runs() {
    let words = ["diagnose", &file("ibnetdiscover.txt")];
    let output = Command::new(program()).args(words).output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("2 findings, and no run\n"), "{table}");
    // Both cables have the same kind of cause; those are two faults.
    assert!(!table.contains("hardly tell"), "{table}");
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

/// The worst cell of all groups is what the network gives as a whole, for its hot link is between switches.
#[test]
fn the_hottest_cell_of_the_groups_is_the_network_s_share() {
    let groups = run("fabric ibnetdiscover.txt opensm-lfts.dump --groups").unwrap();
    let whole = run("fabric ibnetdiscover.txt opensm-lfts.dump --samples 1").unwrap();
    let whole = whole[0]["all_to_all_share"].as_f64().unwrap();
    assert_eq!(groups.len(), 3);
    let shares = |record: &Value| -> Vec<f64> {
        record["shares"].as_array().unwrap().iter().map(|share| share.as_f64().unwrap()).collect()
    };
    let all: Vec<f64> = groups.iter().flat_map(shares).collect();
    assert_eq!(all.len(), 9);
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    assert!((least - whole).abs() < 1e-12, "{least} and {whole}");
    // Hosts of one switch reach each other over their own cables alone: no worse than across the tree.
    assert!(groups.iter().enumerate().all(|(i, record)| shares(record)[i] >= whole));
}

/// One network has one share of all-to-all, whatever is asked of it: with its own tables, and without any.
#[test]
fn groups_and_failures_take_the_routes_of_the_inspection() {
    for files in ["ibnetdiscover.txt opensm-lfts.dump", "ibnetdiscover.txt", "../ring5/ibnetdiscover.txt"] {
        let first = |options: &str| run(&format!("fabric {files} {options}")).unwrap()[0].clone();
        let whole = first("--samples 1");
        for part in ["--groups", "--failures"].map(first) {
            let share = |record: &Value| record["all_to_all_share"].as_f64().unwrap();
            assert!((share(&part) - share(&whole)).abs() < 1e-9, "{files}: {part} and {whole}");
            assert_eq!(part["routes"], whole["routes"]);
        }
    }
}

/// Tables name no folders either, and results are no network.
#[test]
fn an_anonymous_table_names_no_folder_and_results_are_no_network() {
    let dump = file("ibnetdiscover.txt");
    let output = Command::new(program()).args(["fabric", &dump, "--anonymous"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains("hotlink analyze ibnetdiscover.txt --links"), "{told}");
    assert!(!told.contains(dump.trim_end_matches("ibnetdiscover.txt")), "{told}");
    let folder = crate::common::place("site-results");
    crate::common::write(&folder, "m.json", &crate::common::machine());
    let output = Command::new(program()).args(["fabric", "m.json"]).current_dir(&folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("is a file of results"), "{said}");
}
