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

/// W01 s3 and s4: the effective bandwidth with N copies over that without.
#[test]
fn copies_on_the_way_have_an_efficiency() {
    let records = run("hotlink simulate deposit --fabric w01-sci-d330 --series copied --size 64KiB,1MiB --copies 1..3");
    let records = records.expect("runs");
    assert_eq!(records.len(), 2 * 3);
    for (at, record) in records.iter().enumerate() {
        let number = |key: &str| record[key].as_f64().expect("a number");
        assert_eq!(number("copies"), 1.0 + (at % 3) as f64);
        assert!((number("copying_efficiency") - number("zero_copy_us") / number("latency_us")).abs() < 1e-12);
        assert!(number("copying_efficiency") < 1.0, "{record}");
    }
}

/// K98 s13 and s17: a gather that an adapter cannot do is an error that names the missing part, and what packs instead.
#[test]
fn a_gather_needs_an_adapter_that_is_described() {
    let line = "hotlink simulate deposit --strides 8 --series remote-gather --fabric";
    assert_eq!(run(&format!("{line} k98-myrinet")).expect("runs")[0]["limiting_resource"], "LANai (sender)");
    let told = run(&format!("{line} k98-sci")).expect_err("SCI has none");
    assert!(told.contains("nic_element_time") && told.contains("remote-pack-dma"), "{told}");
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
    assert!(wrong("--fabric k98-sci --sizes 0").contains("--size: 0 is out of range; must be 1 to 64MiB"));
    assert!(wrong("--fabric k98-sci --sizes 1GiB").contains("--size: 1GiB is out of range"));
    assert!(wrong("--fabric k98-sci --strides 2000000").contains("must be 1 to 1048576"));
    assert!(wrong("--fabric k98-scy").contains("did you mean `k98-sci`?"));
    assert!(wrong("--fabric gige").contains("gige: no host model"));
}
