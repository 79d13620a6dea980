//! `hotlink simulate deposit`: records as documented, deterministic but for the clock, errors that say what is allowed.

use serde_json::Value;
use std::ffi::OsString;

fn run(line: &str) -> Result<Vec<Value>, String> {
    let args = line.split_whitespace().map(OsString::from);
    let text = hotlink_cli::json(args).map_err(|failure| failure.to_string())?;
    let document: Value = serde_json::from_str(&text).expect("JSON");
    Ok(document["records"].as_array().expect("records").clone())
}

const ISSUE: &str = "hotlink simulate deposit --fabric k98-sci --strides 1,2,3,4,5,6,7,8,12,16,24,32,48,64 --json";

#[test]
fn the_command_of_the_issue_gives_every_stride_and_series() {
    let records = run(ISSUE).expect("runs");
    assert_eq!(records.len(), 14 * 3);
    for record in &records {
        for key in
            ["bandwidth_MBps", "latency_us", "bound_bandwidth_MBps", "efficiency", "events", "packet_hops", "wall_s"]
        {
            assert!(record[key].is_number(), "{key} in {record}");
        }
        let efficiency = record["efficiency"].as_f64().expect("a number");
        assert!(efficiency > 0.0 && efficiency <= 1.0 + 1e-9, "{record}");
        let local = record["series"] == "local";
        assert_eq!(record["memory"], if local { "local" } else { "remote" });
    }
}

#[test]
fn two_runs_differ_in_the_clock_only() {
    let line = "hotlink simulate deposit --fabric k98-myrinet,k98-t3d --sizes 8,4KiB --strides 1,8 --json";
    let without_clock = || {
        let mut records = run(line).expect("runs");
        for record in &mut records {
            record.as_object_mut().expect("an object").remove("wall_s");
        }
        records
    };
    assert_eq!(without_clock(), without_clock());
}

#[test]
fn wrong_input_is_told_with_what_is_allowed() {
    let wrong = |options: &str| run(&format!("hotlink simulate deposit {options}")).expect_err("wrong input");
    assert!(wrong("--fabric k98-sci --sizes 0").contains("--size: 0 is out of range; allowed are 1 to 64MiB"));
    assert!(wrong("--fabric k98-sci --sizes 1GiB").contains("--size: 1GiB is out of range"));
    assert!(wrong("--fabric k98-sci --strides 2000000").contains("allowed are 1 to 1048576"));
    assert!(wrong("--fabric k98-scy").contains("did you mean `k98-sci`?"));
    assert!(wrong("--fabric gige").contains("gige: no host model"));
}
