//! `measure` and `calibrate` on this machine: what records hold, not how fast it is.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn hotlink(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hotlink")).args(args).output().unwrap()
}

fn records(args: &[&str]) -> Vec<Value> {
    let output = hotlink(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    document["records"].as_array().unwrap().clone()
}

fn assert_sound(record: &Value) {
    for key in ["fabric", "benchmark", "method", "bandwidth_MBps", "n", "median", "min", "p99", "ci95_low", "ci95_high"]
    {
        assert!(!record[key].is_null(), "{key} is missing in {record}");
    }
    let number = |key: &str| record[key].as_f64().unwrap();
    assert!(number("ci95_low") <= number("median") && number("median") <= number("ci95_high"));
}

#[test]
fn pingpong_gives_half_round_trip_with_its_bound() {
    for via in ["shm", "tcp"] {
        let args =
            ["measure", "pingpong", "--via", via, "--ranks", "2", "--size", "8,64KiB", "--time", "0.01", "--json"];
        let records = records(&args);
        assert_eq!(records.len(), 2);
        for record in &records {
            assert_sound(record);
            assert!(record["bound_latency_us"].as_f64().unwrap() > 0.0 && record["efficiency"].as_f64().unwrap() > 0.0);
            let product = record["latency_us"].as_f64().unwrap() * record["bandwidth_MBps"].as_f64().unwrap();
            assert!((product / record["size_B"].as_f64().unwrap() - 1.0).abs() < 1e-9);
        }
    }
}

#[test]
fn saturation_becomes_a_fabric() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (results, fabric) = (folder.join("m.json"), folder.join("here.toml"));
    let args =
        ["measure", "saturation", "--via", "tcp", "--pairs", "1..2", "--size", "64KiB", "--time", "0.01", "--json"];
    let measured = hotlink(&args);
    assert!(measured.status.success(), "{}", String::from_utf8_lossy(&measured.stderr));
    std::fs::write(&results, &measured.stdout).unwrap();
    let (results, fabric) = (results.to_str().unwrap(), fabric.to_str().unwrap());
    let values = records(&["calibrate", results, "--name", "here", "--out", fabric, "--json"]);
    assert!(values.iter().all(|value| value["source"].as_str().unwrap().contains("hotlink measure saturation")));
    let checked = hotlink(&["catalog", "check", fabric]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
}

#[test]
fn bad_requests_are_told() {
    for (args, told) in [
        (&["measure", "pingpong", "--ranks", "1"][..], "at least 2"),
        (&["measure", "pingpong", "--ranks", "1000"], "1 to 256"),
        (&["measure", "saturation", "--size", "0"], "empty message"),
        (&["measure", "barrier", "--algorithm", "trees"], "tree, dissemination, n-way, tournament; also flag"),
        (&["measure", "bcast", "--algorithm", "hardware"], "--via shm has none"),
        (&["measure", "memory", "--size", "4", "--strides", "2"], "no point left"),
        (&["measure", "memory", "--size", "1TiB"], "allowed here"),
        (&["calibrate", "/nowhere.json"], "cannot be read"),
    ] {
        let output = hotlink(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(told), "{args:?}");
    }
}

#[test]
fn deposit_and_overlap_have_their_keys() {
    let args = ["measure", "deposit", "--strides", "1,8", "--size", "64KiB", "--memory", "private,shared"];
    let deposits = records(&[&args[..], &["--time", "0.01", "--json"]].concat());
    assert_eq!(deposits.len(), 12, "three series, two strides, two kinds of memory");
    deposits.iter().for_each(assert_sound);
    assert!(deposits.iter().all(|record| record["stride"].is_u64() && record["series"].is_string()));
    let args =
        ["measure", "overlap", "--size", "64KiB", "--side", "sender,receiver", "--compute", "1", "--time", "0.01"];
    let overlaps = records(&[&args[..], &["--json"]].concat());
    assert_eq!(overlaps.len(), 2);
    for record in overlaps {
        assert!((0.0..=1.0).contains(&record["overlap"].as_f64().unwrap()), "{record}");
        assert!(record["w01_overhead"].is_f64() && record.get("saturation_us").is_some());
    }
}

#[test]
fn collectives_give_the_slowest_ranks_time() {
    for which in ["barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall"] {
        let records = records(&["measure", which, "--ranks", "2,3", "--size", "1KiB", "--time", "0.01", "--json"]);
        assert_eq!(records.len(), 2);
        for record in records {
            assert!(record["latency_us"].as_f64().unwrap() > 0.0 && record["efficiency"].as_f64().unwrap() > 0.0);
        }
    }
}

#[test]
fn algorithms_are_forced_and_named() {
    for (which, algorithm) in [("barrier", "dissemination,central"), ("allreduce", "ring,recursive-doubling")] {
        let args = ["measure", which, "--via", "shm", "--ranks", "2", "--size", "1KiB", "--time", "0.01", "--json"];
        let records = records(&[&args[..], &["--algorithm", algorithm]].concat());
        let named: Vec<&str> = records.iter().map(|record| record["algorithm"].as_str().unwrap()).collect();
        assert_eq!(named.join(","), algorithm);
    }
}
