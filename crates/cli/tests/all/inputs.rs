//! The basis of answers, results as they come, and standard input in place of files.

use crate::common::program;
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};

fn run(line: &str, input: &str) -> Output {
    let mut command = Command::new(program());
    command.args(line.split_whitespace()).env_remove("HOTLINK_CATALOG");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn out(line: &str, input: &str) -> String {
    let output = run(line, input);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn records(line: &str, input: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(&out(&format!("{line} --json"), input)).unwrap();
    document["records"].as_array().unwrap().clone()
}

#[test]
fn every_benchmark_of_simulate_gives_the_interval_of_its_answer() {
    for (line, key, by) in [
        ("pingpong --fabric ib-qdr --nodes 2 --size 8", "latency_us", "resource.nic.latency"),
        ("pingpong --fabric ib-qdr --nodes 2 --size 8 --stack message", "latency_us", "resource.nic.latency"),
        ("alltoall --fabric ib-qdr --nodes 4 --size 8", "latency_us", "resource.nic.latency"),
        (
            "allreduce --fabric gpu-rail --nodes 8 --size 8 --stack message",
            "latency_us",
            "parameter.host_overhead_send",
        ),
        ("bcast --fabric ib-qdr --nodes 4 --size 8", "latency_us", "resource.nic.latency"),
        ("barrier --fabric ib-qdr --nodes 4 --algorithm dissemination", "latency_us", "resource.nic.latency"),
        ("semantics --fabric w01-sci-d330 --size 64 --semantics postal", "latency_us", ""),
        ("is --fabric ib-qdr --ranks 2", "time_s", ""),
        ("rate --fabric ib-qdr --nodes 2", "bandwidth_MBps", ""),
        ("kernel --fabric ib-qdr --nodes 2", "time_s", ""),
        ("pairs --fabric ib-qdr --nodes 2 --size 8", "latency_us", "resource.nic.latency"),
        ("cache-study --uses 10 --buffers 2", "time_us", "parameter."),
    ] {
        let record = &records(&format!("simulate {line} --sensitivity"), "")[0];
        let number = |key: &str| record[key].as_f64().unwrap_or_else(|| panic!("{line}: no {key}: {record}"));
        let (low, high) = (number(&format!("{key}_low")), number(&format!("{key}_high")));
        assert!(low <= number(key) && number(key) <= high, "{line}: {low} {high}");
        assert_eq!(record["sensitivity_of"], key, "{line}");
        let ranking = record["sensitivity"].as_array().unwrap();
        assert!(by.is_empty() || ranking[0].as_str().unwrap().starts_with(by), "{line}: {ranking:?}");
        assert!(by.is_empty() || low < high, "{line}");
    }
    // Values without a stated uncertainty, fitted ones too, move nothing, and that is reported.
    let record = &records("simulate barrier --fabric hwbarr --nodes 4 --sensitivity", "")[0];
    assert_eq!(record["sensitivity"], Value::Array(Vec::new()));
    assert_eq!(record["not_varied"], serde_json::json!(["barrier.software"]));
}

#[test]
fn a_table_ends_with_what_was_assumed_or_estimated_and_what_moves_the_answer_most() {
    let last = |line: &str| out(line, "").lines().last().unwrap().to_owned();
    let table = last("simulate pingpong --fabric ib-qdr --nodes 2 --size 8 --stack message");
    // Many are counted, and the first of them named.
    for part in ["estimated: 5 values (", "copy_rate", " more); assumed: ", "; latency_us moves most with resource.nic"]
    {
        assert!(table.contains(part), "{part} in {table}");
    }
    assert!(table.len() < 300, "{table}");
    // The bare network asks for no parameter of a host.
    let table = last("simulate pingpong --fabric ib-qdr --nodes 2 --size 8");
    assert!(table.starts_with("estimated: ") && !table.contains("copy_rate"), "{table}");
    assert!(table.contains("assumed: nic_buffer, switch_buffer_packets;"), "what its switches hold: {table}");
    assert!(last("compare ib-qdr --nodes 4,8").contains("--sensitivity tells which moves the answer most"));
    let text = out("analyze ib-qdr --nodes 4,8 --sensitivity", "");
    assert!(text.contains("ib-qdr, nodes 8") && text.contains("bandwidth_per_node_MBps"), "{text}");
}

#[test]
fn a_record_is_printed_as_soon_as_it_is_there() {
    let output = run("simulate pingpong --fabric ib-qdr,no-such-fabric --size 8 --format jsonl", "");
    assert_eq!(output.status.code(), Some(2));
    let first: Value = serde_json::from_slice(&output.stdout).expect("the first fabric's record, before the mistake");
    assert_eq!(first["fabric"], "ib-qdr");
    // One object is whole or absent.
    assert!(run("simulate pingpong --fabric ib-qdr,no-such-fabric --size 8 --json", "").stdout.is_empty());
}

#[test]
fn every_simulation_is_printed_as_it_comes() {
    // The second is refused when it is its turn: the output before it was printed.
    for line in [
        "simulate barrier --fabric t3d-barrier --algorithm hardware --nodes 2,1000000",
        "simulate deposit --fabric k98-t3d,no-such-fabric --size 64",
        "simulate deposit --fabric k98-t3d --size 64 --series local,dma",
        "simulate alltoall --fabric ib-ndr-fat-tree2 --nodes 4,1000000 --method all --size 64",
        "simulate bcast --fabric qsnet --nodes 4,2 --size 8 --algorithm hardware --without 3",
    ] {
        let output = run(&format!("{line} --format jsonl"), "");
        let lines = String::from_utf8(output.stdout).unwrap();
        // Fabrics of a deposit are opened before any runs.
        let is_refused_whole = line.contains("no-such-fabric");
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert_eq!(lines.is_empty(), is_refused_whole, "{line}: {lines}");
    }
}

/// A study's line comes when the study is done, not when all are.
#[test]
fn studies_are_printed_as_they_come() {
    let mut command = Command::new(program());
    command.args(["reproduce", "--score", "H06", "M02", "--format", "jsonl"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut first).unwrap();
    let line: Value = serde_json::from_str(&first).unwrap();
    assert_eq!((line["study"].as_str(), line.get("published")), (Some("H06"), None), "{first}");
    // The reader has left.
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_reader_that_leaves_ends_what_is_under_way() {
    let mut command = Command::new(program());
    // The second size would take far longer than a test may, and not so long that it is refused.
    command.args(["simulate", "pingpong", "--fabric", "sci-ring", "--size", "8,4GiB", "--messages", "4"]);
    let mut child = command.args(["--format", "jsonl"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let begun = std::time::Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if begun.elapsed().as_secs() > 60 => {
                child.kill().unwrap();
                panic!("it went on for nobody");
            }
            None => std::thread::sleep(std::time::Duration::from_millis(20)),
        }
    };
    assert!(status.success(), "{status}");
}

#[test]
fn compared_engines_say_how_they_differ() {
    let rows = records("compare sci-torus2d --nodes 4,16 --method load,packet --size 4KiB", "");
    let cells = rows.iter().filter(|row| row["kind"] == "fabric");
    let told: Vec<(&Value, &Value)> = cells.map(|row| (&row["method"], &row["differs"])).collect();
    assert_eq!(told.len(), 4);
    for (method, differs) in told {
        match method.as_str().unwrap() {
            "load" => assert!(differs.is_null()),
            _ => assert!(differs.as_str().unwrap().contains("worse than load: load knows no head-of-line blocking")),
        }
    }
}

#[test]
fn intervals_of_prices_stand_with_their_year() {
    let table = out("compare sci-torus2d ib-ndr-fat-tree2 --nodes 64", "");
    let (_, of_2002) = table.split_once("Total cost (USD of 2002)").unwrap();
    let of_2002 = of_2002.split("\n\n").nth(1).unwrap();
    assert!(of_2002.contains("96000..108800") && !of_2002.contains("110880"), "{of_2002}");
    assert!(table.contains("110880..200000"), "in the table of 2025: {table}");
}

#[test]
fn a_reader_that_stops_listening_ends_the_command_quietly() {
    let mut command = Command::new(program());
    command.args(["simulate", "pingpong", "--fabric", "sci-ring", "--size", "8..1000", "--format", "jsonl"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // No program reads at all.
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn standard_input_stands_for_every_file() {
    let fabric = "name = \"mine\"\ntitle = \"mine\"\nparts = [\"infiniband-qdr\"]\nrouting = \"shortest-single\"\n\
        [topology]\nkind = \"crossbar\"\nports = 8\nsource = \"me\"\nstatus = \"estimated\"\n";
    assert_eq!(records("simulate pingpong --fabric - --nodes 2 --size 8,64", fabric).len(), 2);
    assert_eq!(records("analyze - --nodes 4", fabric)[0]["fabric"], "mine");
    assert_eq!(records("catalog check -", fabric)[0]["mistakes"], 0);
    let graph = r#"{"technology": "infiniband", "nodes": ["a", "b"], "switches": ["s"],
        "links": [{"ends": ["a", "s"], "rate_MBps": 100}, {"ends": ["b", "s"], "rate_MBps": 100}]}"#;
    let output = run("analyze - --json", graph);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() || told.starts_with("hotlink: -:"), "read as a graph: {told}");
    let site = include_str!("../../../site/tests/data/lmc/ibnetdiscover.txt");
    let tables = concat!(env!("CARGO_MANIFEST_DIR"), "/../site/tests/data/lmc/opensm-lfts.dump");
    assert_eq!(records(&format!("analyze - --routes {tables}"), site)[0]["nodes"], 6);
    assert_eq!(records("fabric -", site)[0]["benchmark"], "inspection");
    let faults = "[[fault]]\nat_us = 1\nswitch = \"none\"\nstate = \"down\"\n";
    let told =
        String::from_utf8(run("simulate traffic --fabric ib-qdr --nodes 4 --load 0.5 --faults -", faults).stderr);
    assert!(told.unwrap().contains("-:"), "mistakes stand in standard input");
    let goal = "num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 0\n}\nrank 1 {\nl1: recv 8b from 0 tag 0\n}\n";
    assert_eq!(records("simulate goal - --loggp L=1us,o=1us,g=1us,G=0", goal)[0]["latency_us"], 3.0);
    let twice = records("simulate schedule - --fabric sci-ring,ib-qdr", goal);
    assert_eq!(
        twice.iter().map(|record| record["fabric"].as_str().unwrap()).collect::<Vec<_>>(),
        ["sci-ring", "ib-qdr"]
    );
    let matrix = "0,1\n1,0\n";
    assert_eq!(records("analyze ib-qdr --nodes 2 --traffic matrix:-", matrix)[0]["method"], "load");
    let result = out("analyze ib-qdr --nodes 2 --json", "");
    assert_eq!(records("compare-runs - -", &result)[0]["fabric"], "ib-qdr");
}
