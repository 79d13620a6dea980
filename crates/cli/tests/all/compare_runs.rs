//! `compare-runs` as an acceptance test meets it: statuses, verdicts, records without a partner.

use crate::common::{hotlink, place, program, refuses, write};
use serde_json::{Value, json};

fn pingpong(size: u64, latency_us: f64, noise: f64) -> Value {
    json!({"fabric": "this-machine", "benchmark": "pingpong", "method": "measured", "via": "shm", "ranks": 2,
        "size_B": size, "latency_us": latency_us, "bandwidth_MBps": size as f64 / latency_us, "efficiency": 0.5,
        "limiting_resource": format!("by {latency_us}"), "n": 100, "warmup": (10.0 * latency_us) as u64, "median": latency_us,
        "ci95_low": latency_us * (1.0 - noise), "ci95_high": latency_us * (1.0 + noise), "statistic_of": "latency_us"})
}

#[test]
fn regressions_have_status_1_and_what_has_no_partner_is_said() {
    let folder = place("compare-runs-status");
    let before = [pingpong(8, 1.0, 0.01), pingpong(64, 2.0, 0.01), pingpong(4096, 3.0, 0.2), pingpong(1, 1.0, 0.01)];
    let after = [pingpong(64, 1.8, 0.01), pingpong(8, 1.1, 0.01), pingpong(4096, 3.3, 0.2), pingpong(2, 1.0, 0.01)];
    write(&folder, "a.json", &before);
    write(&folder, "b.json", &after);
    std::fs::create_dir(folder.join("report")).unwrap();
    let output = hotlink("compare-runs a.json b.json --junit report/out.xml --json", &folder);
    assert_eq!(output.status.code(), Some(1));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let records = document["records"].as_array().unwrap();
    let verdict = |size: u64| {
        let found = records.iter().find(|record| record["size_B"] == size).unwrap();
        (found["verdict"].as_str().unwrap().to_owned(), found["ratio"].as_f64())
    };
    assert_eq!(verdict(8).0, "regression");
    assert!((verdict(8).1.unwrap() - 1.1).abs() < 1e-9);
    assert_eq!((verdict(64).0.as_str(), verdict(4096).0.as_str()), ("improvement", "undecided"));
    assert_eq!((verdict(1), verdict(2)), (("only before".into(), None), ("only after".into(), None)));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("2 results have no partner") && said.contains("1 regression:") && said.contains("size_B=8"),
        "{said}"
    );
    let report = std::fs::read_to_string(folder.join("report/out.xml")).unwrap();
    assert!(report.contains("tests=\"5\" failures=\"2\"") && report.contains("skipped=\"2\""), "{report}");
    assert!(said.contains("1 result missing after"), "{said}");
    // A floor above the change, or the other way round, is no regression.
    let missing = hotlink("compare-runs a.json b.json --floor 12%", &folder);
    assert_eq!(missing.status.code(), Some(1), "what AFTER lacks is not shown to be as good");
    let allowed = "compare-runs a.json b.json --floor 12% --allow-missing --junit report/out.xml";
    assert_eq!(hotlink(allowed, &folder).status.code(), Some(0));
    let report = std::fs::read_to_string(folder.join("report/out.xml")).unwrap();
    assert!(report.contains("tests=\"5\" failures=\"0\""), "{report}");
    assert_eq!(hotlink("compare-runs a.json a.json", &folder).status.code(), Some(0));
    assert_eq!(hotlink("compare-runs b.json a.json", &folder).status.code(), Some(1), "64 B is slower that way");
}

#[test]
fn folders_of_sweeps_and_simulations_are_compared() {
    let folder = place("compare-runs-folders");
    let plan = "[[study]]\nverb = \"simulate alltoall\"\nfabric = \"sci-ring\"\nnodes = [4, 8]\nsize = 64\n";
    std::fs::write(folder.join("plan.toml"), plan).unwrap();
    assert!(hotlink("sweep plan.toml --out a", &folder).status.success());
    assert!(hotlink("sweep plan.toml --out b", &folder).status.success());
    assert_eq!(hotlink("compare-runs a b", &folder).status.code(), Some(0));
}

#[test]
fn runs_of_traffic_with_other_seeds_are_partners() {
    let folder = place("compare-runs-traffic");
    for seed in [1, 7] {
        let line = "simulate traffic --fabric gige --nodes 8 --traffic uniform --load 0.8,0.9 --messages 50 --json";
        let done = hotlink(&format!("{line} --seed {seed}"), &folder);
        std::fs::write(folder.join(format!("{seed}.json")), done.stdout).unwrap();
    }
    let done = hotlink("compare-runs 1.json 7.json --ignore seed --json", &folder);
    let rows: Value = serde_json::from_slice(&done.stdout).unwrap();
    let rows = rows["records"].as_array().unwrap();
    assert!(!rows.is_empty() && rows.iter().all(|row| row["ratio"].is_number()), "{rows:?}");
}

#[test]
fn measured_overlaps_are_partners_by_their_order() {
    let folder = place("compare-runs-overlap");
    let overlap = |compute_us: f64, overlap: f64| {
        json!({"fabric": "this-machine", "benchmark": "overlap", "method": "measured", "size_B": 65536,
            "compute_us": compute_us, "overlap": overlap, "statistic_of": "overlap", "ci95_low": 0.99 * overlap,
            "ci95_high": 1.01 * overlap})
    };
    write(&folder, "a.json", &[overlap(10.0, 0.9), overlap(20.0, 0.95)]);
    write(&folder, "b.json", &[overlap(11.0, 0.9), overlap(22.0, 0.5)]);
    let output = hotlink("compare-runs a.json b.json", &folder);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("1 regression:") && !said.contains("no partner"), "{said}");
}

#[test]
fn what_cannot_be_compared_is_told() {
    let folder = place("compare-runs-told");
    write(&folder, "a.json", &[pingpong(8, 1.0, 0.01)]);
    write(&folder, "b.json", &[pingpong(16, 1.0, 0.01)]);
    write(&folder, "empty.json", &[json!({"benchmark": "pingpong"})]);
    std::fs::write(folder.join("bad.json"), "{\n,").unwrap();
    let refused = [
        ("compare-runs a.json b.json", "has a partner"),
        ("compare-runs a.json none.json", "none.json: cannot be read"),
        ("compare-runs a.json bad.json", "bad.json:2: is not JSON"),
        ("compare-runs a.json empty.json", "can be compared"),
        ("compare-runs a.json b.json --floor 5x", "such as 5%"),
    ];
    refuses(&folder, &refused);
    assert_eq!(hotlink("compare-runs a.json b.json --ignore size_B", &folder).status.code(), Some(0));
}

#[test]
fn incomplete_results_are_refused_or_said() {
    let folder = place("compare-incomplete");
    let mut document =
        json!({"schema": "hotlink/2", "command": [], "environment": {}, "records": [pingpong(8, 1.0, 0.01)]});
    std::fs::write(folder.join("whole.json"), document.to_string()).unwrap();
    document["incomplete"] = "measure: rank 1 was killed".into();
    std::fs::write(folder.join("part.json"), document.to_string()).unwrap();
    let told = "part.json: `incomplete`: records are missing: measure: rank 1 was killed";
    let refused = [
        ("compare-runs whole.json part.json", told),
        ("calibrate part.json --model loggp --name x --out x.toml", told),
        ("plot part.json --out x.svg", told),
    ];
    refuses(&folder, &refused);
    let done = hotlink("report part.json --out x.html --json", &folder);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.code() == Some(1) && said.contains("it is incomplete, records are missing"), "{said}");
}

#[test]
fn rows_stand_in_the_order_of_their_sizes() {
    let folder = place("compare-order");
    let records: Vec<Value> = [65536, 8, 1024, 128].iter().map(|&size| pingpong(size, 1.0, 0.01)).collect();
    write(&folder, "a.json", &records);
    let output = hotlink("compare-runs a.json a.json --json", &folder);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let sizes: Vec<&Value> = document["records"].as_array().unwrap().iter().map(|row| &row["size_B"]).collect();
    assert_eq!(sizes, [8, 128, 1024, 65536]);
}

#[test]
fn a_share_that_fell_to_nothing_is_a_regression_and_values_that_cannot_be_are_no_success() {
    let folder = place("compare-nothing");
    let overlap = |share: f64, low: f64| {
        json!({"fabric": "x", "benchmark": "overlap", "method": "measured", "size_B": 8, "overlap": share, "n": 9,
            "statistic_of": "overlap", "ci95_low": low, "ci95_high": share + 0.01})
    };
    write(&folder, "good.json", &[overlap(0.95, 0.94)]);
    write(&folder, "bad.json", &[overlap(0.0, -0.1)]);
    write(&folder, "worse.json", &[overlap(0.2, -0.1)]);
    for after in ["bad.json", "worse.json"] {
        let output = hotlink(&format!("compare-runs good.json {after}"), &folder);
        assert_eq!(output.status.code(), Some(1), "{after}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(hotlink("compare-runs bad.json good.json", &folder).status.code(), Some(0));
    write(&folder, "negative.json", &[pingpong(8, -1.0, -0.01)]);
    write(&folder, "usual.json", &[pingpong(8, 1.0, 0.01)]);
    refuses(&folder, &[("compare-runs usual.json negative.json", "no pair has values to compare")]);
    write(&folder, "two.json", &[pingpong(8, 1.0, 0.01), pingpong(16, 1.0, 0.01)]);
    write(&folder, "one-bad.json", &[pingpong(8, -1.0, -0.01), pingpong(16, 1.0, 0.01)]);
    for order in ["two.json one-bad.json", "one-bad.json two.json"] {
        let output = hotlink(&format!("compare-runs {order} --allow-missing"), &folder);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // The time, and the rate that follows from it.
        assert!(output.status.code() == Some(1) && said.contains("1 invalid value:"), "{said}");
        assert!(!said.contains("no partner"), "{said}");
    }
}

#[test]
fn two_commands_run_in_turn_and_their_errors_have_a_place() {
    let folder = place("compare-runs-commands");
    write(&folder, "a.json", &[pingpong(8, 1.0, 0.01)]);
    write(&folder, "b.json", &[pingpong(8, 1.2, 0.01)]);
    let run = |a: &str, b: &str, more: &[&str]| {
        let command = ["compare-runs", "--a", a, "--b", b, "--pairs", "6", "--json"];
        std::process::Command::new(program()).args(command).args(more).current_dir(&folder).output().unwrap()
    };
    let output = run("echo a >> order; cat a.json", "echo b >> order; cat b.json", &["--junit", "pairs.xml"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let record = &document["records"][0];
    assert_eq!((record["verdict"].as_str(), record["pairs"].as_u64()), (Some("regression"), Some(6)));
    assert!((record["ratio"].as_f64().unwrap() - 1.2).abs() < 1e-9, "{record}");
    let order = std::fs::read_to_string(folder.join("order")).unwrap();
    assert_eq!(order.split_whitespace().collect::<String>(), "abbaabbaabba", "neither is always the first");
    assert!(std::fs::read_to_string(folder.join("pairs.xml")).unwrap().contains("failures=\"1\""));
    assert_eq!(run("cat a.json", "cat a.json", &[]).status.code(), Some(0));
    for (a, b, told) in [
        (
            "cat a.json",
            "echo no good >&2; exit 7",
            "--b, run 1 of 6: `echo no good >&2; exit 7` ended with exit status: 7:\n  no good",
        ),
        ("echo hello", "cat b.json", "--a, run 1 of 6: `echo hello` printed no results"),
    ] {
        let output = run(a, b, &[]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(told), "{said}");
    }
    let lines = [
        ("compare-runs --a true", "--b"),
        ("compare-runs --a true --b true --pairs 5", "5 is not in 6..=1000"),
        ("compare-runs a.json b.json --ignore sise_B", "--ignore sise_B: no record has this key"),
    ];
    refuses(&folder, &lines);
}

#[test]
fn hosts_are_named_in_rows_and_cases() {
    let folder = place("compare-runs-hosts");
    let side = |side: &str, hosts: &[(&str, f64)]| {
        std::fs::create_dir(folder.join(side)).unwrap();
        for (host, us) in hosts {
            let records = [pingpong(8, *us, 0.01)];
            let document =
                json!({"schema": "hotlink/2", "command": [], "environment": {"host": host}, "records": records});
            std::fs::write(folder.join(format!("{side}/{host}.json")), document.to_string()).unwrap();
        }
    };
    side("before", &[("n1", 1.0), ("n2", 1.2), ("n3", 1.0)]);
    side("after", &[("n2", 1.2), ("n3", 1.2)]);
    let output = hotlink("compare-runs before after --allow-missing --junit out.xml --json", &folder);
    assert_eq!(output.status.code(), Some(1));
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = rows["records"].as_array().unwrap().iter();
    let told: Vec<_> = rows.map(|row| (row["host"].as_str().unwrap(), row["verdict"].as_str().unwrap())).collect();
    assert_eq!(told, [("n1", "only before"), ("n2", "same"), ("n3", "regression")]);
    let report = std::fs::read_to_string(folder.join("out.xml")).unwrap();
    assert!(["n1", "n2", "n3"].iter().all(|host| report.matches(&format!("host={host} ")).count() >= 1), "{report}");
    assert_eq!(hotlink("compare-runs before/n2.json after/n2.json", &folder).status.code(), Some(0));
    assert_eq!(
        hotlink("compare-runs before/n1.json after/n2.json", &folder).status.code(),
        Some(1),
        "one with another"
    );
    let by_order = hotlink("compare-runs before after --ignore host --allow-missing", &folder);
    let said = String::from_utf8_lossy(&by_order.stderr).into_owned();
    assert!(said.contains("1 regression:"), "{said}");
}

#[test]
fn what_cannot_be_a_result_is_refused() {
    let folder = place("compare-runs-impossible");
    let changed = |key: &str, value: Value| {
        let mut record = pingpong(8, 2.0, 0.01);
        record[key] = value;
        record
    };
    write(&folder, "good.json", &[pingpong(8, 2.0, 0.01)]);
    write(&folder, "rev.json", &[changed("ci95_low", 2.5.into())]);
    write(&folder, "text.json", &[changed("size_B", "8".into())]);
    refuses(
        &folder,
        &[
            ("compare-runs good.json rev.json", "rev.json: record 1: ci95_low: 2.5 is above ci95_high"),
            ("compare-runs text.json good.json", "text.json: record 1: size_B: `\"8\"`: must be a whole number"),
        ],
    );
}
