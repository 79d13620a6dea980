//! `hotlink report`: verdict and exit status, a page without markup of others, nothing half-written.

use crate::common::{hotlink, place, records_of, refuses, write};
use serde_json::{Value, json};

fn pingpong(latency: f64, low: f64, high: f64) -> Value {
    json!({"fabric": "this-machine", "benchmark": "pingpong", "method": "measured", "via": "shm", "ranks": 2,
        "size_B": 8, "latency_us": latency, "bound_latency_us": 0.1, "efficiency": 0.1 / latency, "n": 100,
        "median": latency, "ci95_low": low, "ci95_high": high, "statistic_of": "latency_us"})
}

const REQUIRED: &str = "[[require]]\nname = 'short'\nwhere = { benchmark = 'pingpong', size_B = 8 }\n\
                        latency_us = { at_most = 1.0 }\n";

#[test]
fn the_verdict_is_the_exit_status_and_stands_in_the_page() {
    let folder = place("report");
    std::fs::write(folder.join("a.toml"), REQUIRED).unwrap();
    for (latency, low, high, verdict, status) in
        [(0.5, 0.4, 0.9, "pass", 0), (0.9, 0.8, 1.1, "suspicious", 1), (1.5, 1.2, 1.6, "fail", 1)]
    {
        write(&folder, "m.json", &[pingpong(latency, low, high)]);
        let done = hotlink("report m.json --require a.toml --junit j.xml --json", &folder);
        assert_eq!(done.status.code(), Some(status), "{}", String::from_utf8_lossy(&done.stderr));
        let document: Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!(document["records"][0]["verdict"], verdict);
        assert_eq!(document["records"][1]["requirement"], "short");
        let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
        assert!(page.contains(&format!("<strong>{verdict}</strong>")));
        let junit = std::fs::read_to_string(folder.join("j.xml")).unwrap();
        assert!(junit.contains(&format!("failures=\"{status}\"")));
    }
}

#[test]
fn a_value_that_no_measurement_gives_fails() {
    let folder = place("report-invalid");
    std::fs::write(folder.join("a.toml"), REQUIRED).unwrap();
    let record = |latency: f64| json!({"fabric": "x", "benchmark": "pingpong", "method": "measured", "size_B": 8, "latency_us": latency});
    for (latency, verdict) in [(-3.0, "fail"), (0.0, "fail"), (0.5, "pass")] {
        write(&folder, "m.json", &[record(latency)]);
        let done = hotlink("report m.json --require a.toml --json", &folder);
        let document: Value = serde_json::from_slice(&done.stdout).unwrap();
        let all = document["records"].as_array().unwrap();
        let check = all.iter().find(|record| record["kind"] == "check").unwrap();
        assert_eq!((&all[0]["verdict"], &check["verdict"]), (&json!(verdict), &json!(verdict)), "{latency}");
        let said = all.iter().any(|record| record["what"].as_str().is_some_and(|what| what.contains("no measurement")));
        assert_eq!(said, verdict == "fail", "{latency}");
    }
    // Neither does a simulation below its bound.
    let simulated = json!({"fabric": "x", "benchmark": "pingpong", "method": "packet", "size_B": 8, "latency_us": 0.0,
        "bound_latency_us": 1.17});
    write(&folder, "m.json", &[simulated]);
    assert_eq!(hotlink("report m.json --require a.toml", &folder).status.code(), Some(1));
    refuses(&folder, &[("report m.json --out o.html --junit ./o.html", "--out writes the same file")]);
    // A rate below 0 is none either, and fails without a requirement.
    write(&folder, "m.json", &[json!({"benchmark": "stream", "method": "measured", "bandwidth_MBps": -5.0})]);
    assert_eq!(records_of_any(&hotlink("report m.json --json", &folder))[0]["verdict"], "fail");
}

fn records_of_any(output: &std::process::Output) -> Vec<Value> {
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    document["records"].as_array().unwrap().clone()
}

#[test]
fn without_requirements_checks_judge_and_the_page_is_the_same_again() {
    let folder = place("report-plain");
    write(&folder, "m.json", &[pingpong(0.5, 0.4, 0.9)]);
    let page = || std::fs::read(folder.join("out.html")).unwrap();
    let records = records_of(&hotlink("report m.json --out out.html --json", &folder));
    assert_eq!(records[0]["verdict"], "unjudged");
    let held =
        |name: &str| records.iter().find(|record| record["kind"] == "held" && record["subject"] == name).unwrap();
    assert_eq!((&held("bound")["verdict"], &held("sizes")["verdict"]), (&json!("pass"), &json!("unjudged")));
    assert!(records.iter().any(|record| record["kind"] == "furthest"));
    let first = page();
    let said = String::from_utf8_lossy(&first);
    assert!(
        said.contains("<strong>unjudged</strong> 1 result, no requirements given") && said.contains("What was checked")
    );
    records_of(&hotlink("report m.json --out out.html --json", &folder));
    assert!(first == page() && !first.is_empty());
    // A size out of line needs a look, and does not fail by itself.
    let mut slow = pingpong(50.0, 49.0, 51.0);
    slow["size_B"] = json!(16);
    slow["method"] = json!("packet");
    let mut small = pingpong(0.5, 0.4, 0.9);
    small["method"] = json!("packet");
    write(&folder, "slow.json", &[small, slow]);
    let done = hotlink("report slow.json --out out2.html --junit j.xml --json", &folder);
    assert_eq!(records_of(&done)[0]["verdict"], "suspicious");
    let junit = std::fs::read_to_string(folder.join("j.xml")).unwrap();
    assert!(junit.contains("failures=\"1\"") && junit.contains("out of line"), "{junit}");
    // Its own records can be read again.
    let done = hotlink("report m.json --out out.html --json", &folder);
    std::fs::write(folder.join("own.json"), done.stdout).unwrap();
    assert_eq!(records_of(&hotlink("report own.json --out own.html --json", &folder))[0]["verdict"], "unjudged");
}

#[test]
fn bad_input_is_told_and_leaves_no_page() {
    let folder = place("report-bad");
    write(&folder, "m.json", &[pingpong(0.5, 0.4, 0.9)]);
    std::fs::write(folder.join("no.json"), "{").unwrap();
    std::fs::write(folder.join("a.toml"), "[[require]]\neficiency = { at_least = 1 }\n").unwrap();
    let mut fast = pingpong(0.5, 0.4, 0.9);
    fast["latency_us"] = json!("fast");
    write(&folder, "fast.json", &[pingpong(0.5, 0.4, 0.9), fast]);
    refuses(
        &folder,
        &[
            ("report fast.json", "fast.json: record 2: latency_us: `\"fast\"`: must be a number"),
            ("report m.json ./m.json", "m.json: is given twice"),
            ("report", "RESULTS"),
            ("report gone.json", "gone.json: cannot be read"),
            ("report no.json", "no.json:1: is not JSON"),
            ("report m.json --require gone.toml", "gone.toml: cannot be read"),
            (
                "report m.json --require a.toml",
                "a.toml:2: eficiency: no record has this key; did you mean `efficiency`?",
            ),
            ("report m.json --out .", "is a folder"),
            ("report m.json --out gone/page.html", "--out gone/page.html: there is no folder gone"),
        ],
    );
    assert!(!folder.join("report.html").exists() && !folder.join("gone").exists());
}

#[test]
fn an_anonymous_page_names_no_folder_and_no_host() {
    let folder = place("report-anonymous");
    std::fs::write(folder.join("a.toml"), REQUIRED).unwrap();
    let record = |host: &str| {
        let mut record = pingpong(0.5, 0.4, 0.9);
        record["file"] = format!("osu.{host}.txt").into();
        record
    };
    write(&folder, "m.json", &[record("node-seven"), record("node-eight")]);
    let at = folder.display();
    let line = format!("report {at}/m.json --require {at}/a.toml --out {at}/r.html --junit {at}/j.xml");
    for (line, is_told) in [(line.clone(), true), (format!("{line} --anonymous"), false)] {
        let done = hotlink(&line, &folder);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let written = ["r.html", "j.xml"].map(|name| std::fs::read_to_string(folder.join(name)).unwrap()).concat();
        let written = written + &String::from_utf8(done.stdout).unwrap();
        for word in [&at.to_string(), "node-seven"] {
            assert_eq!(written.contains(word), is_told, "{word}: {line}");
        }
        assert!(written.contains("m.json") && written.contains("a.toml"));
    }
}
