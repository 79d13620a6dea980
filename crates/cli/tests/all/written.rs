//! The commands that the documents promise, as they are written there, and what each must say.

use crate::common::{hotlink, machine, place, records_of, refuses, write};
use serde_json::Value;
use std::path::Path;

fn number(record: &Value, key: &str) -> f64 {
    record[key].as_f64().unwrap_or_else(|| panic!("{key} in {record}"))
}

/// A LogGP calibration called `mine`.
fn calibrated(folder: &Path) {
    write(folder, "m.json", &machine());
    let output = hotlink("calibrate m.json --model loggp --name mine", folder);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_calibrated_machine_gives_one_answer_by_whichever_door() {
    let folder = place("written-mine");
    calibrated(&folder);
    let line = "simulate alltoall --fabric mine --ranks 2 --size 64KiB --json";
    let [record] = &records_of(&hotlink(line, &folder))[..] else { panic!("one answer") };
    assert_eq!((record["method"].as_str(), record["ranks"].as_u64()), (Some("loggp"), Some(2)));
    let other = |line: &str| number(&records_of(&hotlink(line, &folder))[0], "latency_us");
    let named = record["algorithm"].as_str().unwrap();
    let goal = format!("simulate goal --generate alltoall:{named}:64KiB --ranks 2 --fabric mine --json");
    assert_eq!(other(&goal), number(record, "latency_us"), "recorded and replayed");
    let asked = format!("simulate alltoall --fabric mine --ranks 2 --size 64KiB --algorithm {named} --json");
    assert_eq!(other(&asked), number(record, "latency_us"), "asked for by name");
    std::fs::write(folder.join("seen.json"), seen()).unwrap();
    let checked = records_of(&hotlink("calibrate m.json --model loggp --name other --check seen.json --json", &folder));
    let checked = checked.iter().find(|record| !record["predicted_us"].is_null()).expect("a prediction");
    assert_eq!(number(checked, "predicted_us"), number(record, "latency_us"), "predicted by calibrate --check");
}

/// A measured exchange, to be predicted.
fn seen() -> String {
    let record = serde_json::json!({"benchmark": "alltoall", "method": "measured", "ranks": 2, "size_B": 65536,
        "latency_us": 20.0, "statistic_of": "latency_us", "ci95_low": 19.0, "ci95_high": 21.0, "inner": 1});
    serde_json::json!({"schema": "hotlink/1", "command": ["hotlink"], "environment": {"host": "test", "cores": 2},
        "records": [record]})
    .to_string()
}

#[test]
fn permutations_take_infinibands_static_routes() {
    let folder = place("written-static");
    let line = "analyze ib-ndr-fat-tree2 --nodes 512 --traffic permutation:random --samples 200 --seed 1";
    let static_routes = &records_of(&hotlink(&format!("{line} --json"), &folder))[0];
    assert_eq!((static_routes["paths"].as_str(), static_routes["samples"].as_u64()), (Some("destination"), Some(200)));
    let sprayed = &records_of(&hotlink(&format!("{line} --paths packet --json"), &folder))[0];
    // Static routes collide: every path evenly used gives several times as much.
    assert!(number(static_routes, "injection_share") < 0.35 && number(sprayed, "injection_share") > 0.9);
}

#[test]
fn a_graph_states_its_technology_and_its_rates() {
    let folder = place("written-graph");
    let graph = |head: &str, rate: &str| {
        format!(
            r#"{{{head}"directed": false, "multigraph": false, "graph": {{}},
            "nodes": [{{"id": "a"}}, {{"id": "b"}}, {{"id": "s", "kind": "switch"}}],
            "links": [{{"source": "a", "target": "s"{rate}}}, {{"source": "b", "target": "s"{rate}}}]}}"#
        )
    };
    let (stated, rate) = (r#""technology": "infiniband", "#, r#", "rate_MBps": 1000"#);
    let line = "analyze my-graph.json --traffic all-to-all --json";
    std::fs::write(folder.join("my-graph.json"), graph("", rate)).unwrap();
    refuses(&folder, &[(line, "technology: is missing"), (line, "--technology infiniband"), (line, "slingshot")]);
    let given = hotlink(&format!("{line} --technology infiniband"), &folder);
    std::fs::write(folder.join("my-graph.json"), graph(stated, rate)).unwrap();
    let in_file = hotlink(line, &folder);
    let of = |output| records_of(&output).iter().map(|r| number(r, "bandwidth_per_node_MBps")).collect::<Vec<_>>();
    let (given, in_file) = (of(given), of(in_file));
    assert!(given == in_file && given.iter().all(|&rate| rate > 900.0 && rate < 1000.0), "{given:?} {in_file:?}");
    // Where no link has a rate there is no bandwidth, and the message says how to give one.
    std::fs::write(folder.join("my-graph.json"), graph(stated, "")).unwrap();
    let simulated = "simulate pingpong --fabric my-graph.json --size 8";
    for line in [line, simulated, "simulate bcast --fabric my-graph.json --size 8", "compare my-graph.json --nodes 2"] {
        refuses(&folder, &[(line, "no link of the graph has a rate"), (line, "state rate_MBps")]);
    }
    // A host's own rate does not replace those of the links.
    std::fs::write(folder.join("my-graph.json"), graph(&format!(r#"{stated}"parts": ["server-pcie5"], "#), ""))
        .unwrap();
    refuses(&folder, &[(line, "no link of the graph has a rate")]);
}

#[test]
fn a_ping_pong_tells_its_interval_and_what_moves_it() {
    let folder = place("written-sensitivity");
    let line = "simulate pingpong --fabric ib-qdr --nodes 2 --size 8 --sensitivity --json";
    let record = &records_of(&hotlink(line, &folder))[0];
    let [low, value, high] = ["latency_us_low", "latency_us", "latency_us_high"].map(|key| number(record, key));
    assert!(low < value && value < high, "{low} {value} {high}");
    let moved: Vec<&str> =
        record["sensitivity"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    assert!(moved[0].starts_with("resource.nic.latency: "), "{moved:?}");
}

#[test]
fn a_stream_runs_on_simulated_sci() {
    let folder = place("written-stream");
    let records = records_of(&hotlink("simulate stream --fabric w01-sci-d330 --nodes 2 --json", &folder));
    assert_eq!(records.iter().map(|r| r["direction"].as_str().unwrap()).collect::<Vec<_>>(), ["uni", "bi"]);
    for record in &records {
        assert!(number(record, "bandwidth_MBps") > 0.0 && number(record, "efficiency") <= 1.005, "{record}");
    }
}

#[test]
fn a_broadcast_leaves_a_timeline() {
    let folder = place("written-trace");
    let line = "simulate bcast --fabric ib-ndr-fat-tree2 --nodes 16 --size 1MiB --trace trace.json";
    assert!(hotlink(line, &folder).status.success());
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("trace.json")).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let named = events.iter().filter(|event| event["name"] == "thread_name").count();
    assert_eq!(named, 16, "a track for each rank");
    // Chrome's format: complete events have a begin and a duration in microseconds.
    let complete: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X").collect();
    assert!(!complete.is_empty() && complete.iter().all(|event| number(event, "dur") >= 0.0 && event["ts"].is_f64()));
}

#[test]
fn a_bound_says_how_it_comes_about() {
    let folder = place("written-why");
    let output = hotlink("analyze sci-torus2d --nodes 64 --why", &folder);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    for said in ["SCI link (128 of them)", "63/224 of it", "The least of these is the bound: 109.7 MB/s of each node"] {
        assert!(text.contains(said), "{said} in {text}");
    }
}

#[test]
fn a_schema_is_json_schema() {
    let output = hotlink("schema pingpong", &place("written-schema"));
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(schema["$schema"].as_str().unwrap().contains("json-schema.org"));
    assert_eq!(schema["properties"]["latency_us"]["unit"], "us");
}

#[test]
fn a_prediction_of_an_mpi_runs_its_algorithm() {
    let folder = place("written-mpi");
    let line = "simulate bcast --fabric ib-ndr-fat-tree2 --nodes 16 --size 8KiB,16KiB,1MiB --algorithm mpich,openmpi";
    let records = records_of(&hotlink(&format!("{line} --json"), &folder));
    let of = |mpi: &str| -> Vec<String> {
        let of = |record: &&Value| record["algorithm_by"].as_str().unwrap().starts_with(mpi);
        records.iter().filter(of).map(|record| record["algorithm"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(of("MPICH 4.2.3"), ["binomial", "scatter-doubling", "scatter-ring"]);
    assert_eq!(of("Open MPI 4.1.6"), ["binomial", "binomial", "scatter-doubling"]);
    // The same run as by the algorithm's own name.
    let by_name = "simulate bcast --fabric ib-ndr-fat-tree2 --nodes 16 --size 1MiB --algorithm scatter-ring --json";
    let by_name = &records_of(&hotlink(by_name, &folder))[0];
    let same = |record: &&Value| record["size_B"] == 1 << 20 && record["algorithm"] == "scatter-ring";
    assert_eq!(records.iter().find(same).unwrap()["trace_hash"], by_name["trace_hash"]);
    assert_eq!(by_name["algorithm_by"], "asked");
    calibrated(&folder);
    let loggp = "simulate alltoall --fabric mine --ranks 8 --size 256,1KiB --algorithm mpich --json";
    let loggp = records_of(&hotlink(loggp, &folder));
    assert_eq!([&loggp[0]["algorithm"], &loggp[1]["algorithm"]], ["bruck", "scattered"]);
    refuses(
        &folder,
        &[
            (
                "simulate reduce-scatter --fabric gige --nodes 64 --size 64 --algorithm openmpi",
                "on 64 ranks it takes butterfly, which is none of ours",
            ),
            ("simulate bcast --fabric gige --nodes 4 --algorithm mpi", "scatter-ring, mpich, openmpi, and nic"),
        ],
    );
}

#[test]
fn simulated_collectives_can_be_compared_and_a_missing_file_is_called_one() {
    let folder = place("written-compare");
    let output = hotlink("simulate bcast --fabric gige --nodes 4 --size 8 --json", &folder);
    std::fs::write(folder.join("b.json"), &output.stdout).unwrap();
    let rows = records_of(&hotlink("compare-runs b.json b.json --json", &folder));
    assert_eq!((rows[0]["quantity"].as_str(), rows[0]["verdict"].as_str()), (Some("latency_us"), Some("same")));
    let missing = "there is no such file, and no such name in the catalog";
    refuses(&folder, &[("analyze ibnetdiscover.txt", missing), ("fabric opensm.fdbs", missing)]);
}
