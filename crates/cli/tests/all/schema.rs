//! Records hold what their schema says: no other key, no value of another kind.

use crate::common::program;
use hotlink_bench::Record;
use hotlink_study::schema::{RECORDS, all, named, of};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

fn out(line: &str) -> Vec<u8> {
    let home = std::env::temp_dir().join("hotlink-no-home");
    let mut command = Command::new(program());
    let temporary = std::env::temp_dir();
    let line = line.replace("{tmp}", temporary.to_str().unwrap());
    command.args(line.split_whitespace()).env("HOME", home).env_remove("HOTLINK_CATALOG").env_remove("XDG_DATA_HOME");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Checks the records of a command line; gives the names of their schemas.
fn checked(line: &str, mistakes: &mut Vec<String>) -> BTreeSet<&'static str> {
    let document: Value = serde_json::from_slice(&out(&format!("{line} --json"))).unwrap();
    let records = document["records"].as_array().unwrap();
    assert!(!records.is_empty(), "{line}");
    let mut names = BTreeSet::new();
    for record in records {
        let record = Record::from(record.as_object().unwrap().clone());
        let verb = VERBS.iter().find(|(start, _)| line.starts_with(start)).map(|(_, name)| named(name).unwrap());
        let Some(schema) = verb.or_else(|| of(&record)) else {
            mistakes.push(format!("{line}: no schema for {record:?}"));
            continue;
        };
        mistakes.extend(schema.mistakes(&record).into_iter().map(|what| format!("{line}: {what}")));
        names.insert(schema.name);
    }
    names
}

/// Benchmarks of `simulate`, and the verbs without one.
const SIMULATED: &[&str] = &[
    "simulate pingpong --fabric ib-qdr --nodes 2 --size 8 --links --sensitivity",
    "simulate pingpong --fabric w01-sci-d330 --size 64 --stack message --background uniform:0.1 --count",
    "simulate semantics --fabric k98-sci --size 64",
    "simulate saturation --fabric sci-ring --senders 2 --messages 20",
    "simulate alltoall --fabric sci-torus2d --nodes 16 --size 64 --method all",
    "simulate alltoallv --fabric ib-qdr --nodes 4 --size 64",
    "simulate overlap --fabric w01-sci-d330 --size 4KiB",
    "simulate bcast --fabric qsnet --nodes 8 --size 64 --algorithm hardware,tree --background uniform:0.5 --raw",
    "simulate reduce --fabric ib-qdr --nodes 4 --size 64",
    "simulate allreduce --fabric sharp --nodes 8 --size 8 --algorithm hardware --samples 3",
    "simulate reduce-scatter --fabric ib-qdr --nodes 4 --size 64",
    "simulate allgather --fabric ib-qdr --nodes 4 --size 64",
    "simulate gather --fabric ib-qdr --nodes 4 --size 64",
    "simulate scatter --fabric ib-qdr --nodes 4 --size 64",
    "simulate stream --fabric ib-qdr --nodes 2 --size 64",
    "simulate rate --fabric ib-qdr --nodes 2 --size 64",
    "simulate pairs --fabric ib-qdr --nodes 3 --size 64",
    "simulate kernel --fabric ib-qdr --nodes 2",
    "simulate is --fabric ib-qdr --ranks 2",
    "simulate traffic --fabric ib-qdr --nodes 4 --load 0.5 --messages 10",
    "simulate barrier --fabric hwbarr --nodes 4",
    "simulate barrier --fabric qsnet --nodes 4 --algorithm hardware,nic,dissemination",
    "simulate deposit --fabric k98-sci --series local,dma --size 64",
    "simulate cache-study --uses 20 --buffers 4",
    "simulate region --fabric w01-sci-d330 --kind shared,remote,rdma --memory regular,registered --size 4KiB",
    "simulate schedule ../schedule/tests/data/chakra --fabric hgx-h100-rail --overhead 1us",
    "simulate schedule ../schedule/tests/data/ring.xml --size 64KiB --fabric ib-qdr --sensitivity",
    "simulate schedule ../schedule/tests/data/ring.xml --size 64KiB --fabric ib-qdr --ranks-per-node 2 --placement random",
    "simulate jobs ../../plans/two-jobs.toml --fabric ib-ndr-fat-tree2 --placement packed,spread",
    "simulate allreduce --fabric ib-ndr-fat-tree2 --nodes 80 --size 64 --faults ../../plans/faults/spine.toml",
    "simulate jobs ../../plans/jobs-faults.toml --fabric ib-ndr-fat-tree2",
    "simulate allreduce --fabric hgx-h100-rail --nodes 8 --size 64KiB --algorithm ring,tree,hierarchical,nvls",
    "simulate allgather --fabric hgx-h100-rail --nodes 8 --size 64KiB",
    "simulate reduce-scatter --fabric hgx-h100-rail --nodes 8 --size 64KiB",
    "simulate alltoall --fabric hgx-h100-rail --nodes 8 --size 64KiB --algorithm pairwise,hierarchical",
    "simulate goal --generate barrier:dissemination --ranks 4 --loggp L=2us,o=0.5us,g=50ns,G=0,S=64KiB",
    "analyze sci-torus2d --nodes 16 --why --links",
    "analyze ib-qdr --nodes 8 --traffic permutation:random --samples 3 --method all",
    "fabric ../site/tests/data/tree2/ibnetdiscover.txt ../site/tests/data/tree2/opensm-lfts.dump",
    "fabric ../site/tests/data/tree2/ibnetdiscover.txt ../site/tests/data/tree2/opensm-lfts.dump --failures",
    "fabric ../site/tests/data/tree2/ibnetdiscover.txt ../site/tests/data/tree2/opensm-lfts.dump --groups",
    "fabric ../site/tests/data/tree2/ibnetdiscover.txt ../site/tests/data/tree2/opensm-lfts.dump --fail spine0 --samples 5",
    "fabric ../site/tests/data/tree2/ibnetdiscover.txt ../site/tests/data/tree2/opensm-lfts.dump --reroute {tmp}/hotlink-schema-tables",
    "fabric ../site/tests/data/tree2/ibnetdiscover.txt ../site/tests/data/tree2/opensm-lfts.dump --hosts host[0-2]-0 --samples 5",
    "analyze eth-400g-leaf-spine --nodes 64 --hash-seeds 3",
    "analyze ib-qdr --nodes 8 --traffic uniform --size 2KiB --load 0.5 --method all",
    "compare sci-ring ib-qdr --nodes 4,9",
];

/// Benchmarks of `measure`, as short as they can be.
const MEASURED: &[&str] = &[
    "measure pingpong --size 8 --time 0.002 --blocks 3 --spread 0 --rounds 2 --raw",
    "measure stream --size 8 --time 0.002 --blocks 1 --spread 0",
    "measure rate --time 0.002 --blocks 1 --spread 0",
    "measure pairs --ranks 2 --size 8 --time 0.002 --blocks 1 --spread 0",
    "measure bcast --ranks 2 --size 8 --time 0.002 --blocks 1 --spread 0",
    "measure barrier --time 0.002 --blocks 1 --spread 0",
    "measure saturation --size 8 --time 0.002 --blocks 1 --spread 0",
    "measure semantics --size 8 --time 0.002 --blocks 1 --spread 0",
    "measure overlap --size 8 --time 0.002 --blocks 1 --spread 0",
    "measure deposit --size 64 --time 0.002 --blocks 1 --spread 0",
    "measure memory --size 64KiB --time 0.002 --blocks 1 --spread 0",
    "measure registration --size 64KiB --time 0.002 --blocks 1 --spread 0",
    "measure region --kind shared,rdma --size 4KiB --time 0.002 --blocks 1 --spread 0",
    "measure sockets --protocol stream --test latency --time 0.01",
    "measure is --ranks 2 --class S",
];

/// How command lines begin whose records are their verb's own.
const VERBS: &[(&str, &str)] = &[
    ("doctor", "doctor"),
    ("catalog", "catalog"),
    ("import", "import"),
    ("diagnose", "diagnose"),
    ("calibrate", "calibrate"),
    ("compare-runs", "compare-runs"),
    ("reproduce", "reproduce"),
    ("run", "run"),
];

/// Command lines of these verbs.
const OF_VERBS: &[&str] = &[
    "doctor",
    "catalog list",
    "catalog list parameters",
    "catalog show sci-ring",
    "catalog show infiniband-qdr",
    "catalog show m02-2002",
    "catalog show sci-ring --why",
    "catalog check ../../catalog/parts/infiniband-qdr.toml",
    "reproduce H06",
    "design --hosts 96 --technology infiniband --max-racks 9 --min-share permutation:shift:1=0.1 --simulate --size 4KiB",
    "design --hosts 96 --technology roce --oversubscription 1,2 --why roce-96-fat-tree2-1to1",
];

fn checked_all(lines: &[&str]) -> BTreeSet<&'static str> {
    let mut mistakes = Vec::new();
    let seen = lines.iter().flat_map(|line| checked(line, &mut mistakes)).collect();
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    seen
}

#[test]
fn records_of_every_simulation_hold_what_their_schema_says() {
    let seen = checked_all(SIMULATED);
    let measured_alone = ["memory", "registration", "sockets"];
    let all: BTreeSet<&str> = RECORDS.iter().map(|records| records.name).collect();
    let left: Vec<&str> = all.difference(&seen).copied().collect();
    assert_eq!(left, measured_alone, "every other name was checked");
}

/// Every collective of every kind of GPU fabric, as it runs and as a log of it.
#[test]
fn records_of_gpus_hold_what_their_schema_says() {
    let file = std::env::temp_dir().join(format!("hotlink-schema-{}.txt", std::process::id()));
    let (mut mistakes, mut seen) = (Vec::new(), BTreeSet::new());
    for name in ["bcast", "reduce", "allreduce", "allgather", "reduce-scatter", "gather", "scatter", "alltoall"] {
        for fabric in ["hgx-h100-rail", "hgx-h100-sharp", "mi300x-rail"] {
            seen.extend(checked(&format!("simulate {name} --fabric {fabric} --nodes 16 --size 64KiB"), &mut mistakes));
            let program = match name {
                "bcast" => "broadcast".to_owned(),
                name => name.replace('-', "_").replace("allgather", "all_gather").replace("allreduce", "all_reduce"),
            };
            let ranks: String =
                (0..16).map(|rank| format!("# Rank {rank} Pid 1 on n{} device 0\n", rank / 8)).collect();
            let head = format!("# Collective test starting: {program}_perf\n{ranks}# size time algbw busbw #wrong\n");
            // Short rows have too few digits of a bandwidth to contradict the time.
            std::fs::write(&file, format!("{head}1024 9.87 0.10 0.10 0\n# Avg bus bandwidth : 1\n")).unwrap();
            let line = format!("import nccl-tests {} --fabric {fabric} --json", file.display());
            let document: Value = serde_json::from_slice(&out(&line)).unwrap();
            let record = Record::from(document["records"][0].as_object().unwrap().clone());
            assert!(record.get("bound_largest_MBps").is_some(), "{record:?}");
            mistakes.extend(named(name).unwrap().mistakes(&record).into_iter().map(|what| format!("{line}: {what}")));
        }
    }
    std::fs::remove_file(&file).unwrap();
    assert_eq!((seen.len(), mistakes), (8, Vec::<String>::new()));
}

#[test]
fn records_of_every_measurement_hold_what_their_schema_says() {
    let seen = checked_all(MEASURED);
    for name in ["memory", "registration", "sockets", "pingpong", "bcast"] {
        assert!(seen.contains(name), "{name}");
    }
}

#[test]
fn records_of_other_verbs_hold_what_their_schema_says() {
    let folder = std::env::temp_dir().join(format!("hotlink-schema-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let sizes: String =
        (0..20).map(|power| format!("{} {:.2}\n", 1 << power, 1.0 + f64::from(1 << power) / 1e3)).collect();
    let osu = write("osu.txt", format!("# OSU MPI Latency Test v7.3\n# Size Latency (us)\n{sizes}").as_bytes());
    let measured = ["pingpong", "saturation"].map(|bench| {
        let line = format!("measure {bench} --size 8,64KiB --time 0.002 --blocks 1 --spread 0 --json");
        write(&format!("{bench}.json"), &out(&line))
    });
    let run = write("run.json", &out("simulate pingpong --fabric ib-qdr --nodes 2 --size 8,64 --json"));
    let model = folder.join("model.toml").display().to_string();
    let mut lines: Vec<String> = OF_VERBS.iter().map(|&line| line.to_owned()).collect();
    lines.push(format!("import osu {osu} --fabric ib-qdr"));
    lines.push(format!("diagnose {osu} --fabric ib-qdr --nodes 16"));
    lines.push(format!("compare-runs {run} {run}"));
    let page = folder.join("report.html").display().to_string();
    lines.push(format!("report {run} --out {page}"));
    let library = write("libmpi_abi.so.1", b"");
    lines.push(format!("run --json --library {library} --on gige -n 2 true"));
    lines.push(format!("calibrate {} --out {model} --name mine", measured.join(" ")));
    let seen = checked_all(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let all_of_them: BTreeSet<&str> = hotlink_study::schema::VERBS.iter().map(|records| records.name).collect();
    assert_eq!(seen, all_of_them);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Simulated records of `compare` name their benchmark, and have the keys of `compare` in addition to its own.
#[test]
fn what_compare_simulates_holds_its_own_schema() {
    let line = "compare sci-torus2d myrinet-clos64 --nodes 4,9 --size 64 --method load,packet --sensitivity --json";
    let document: Value = serde_json::from_slice(&out(line)).unwrap();
    let schema = named("compare").unwrap();
    let records = document["records"].as_array().unwrap().iter().map(|one| one.as_object().unwrap().clone());
    let mistakes: Vec<String> = records.flat_map(|record| schema.mistakes(&Record::from(record))).collect();
    assert_eq!(mistakes, Vec::<String>::new());
}

#[test]
fn the_command_prints_each_schema_and_lists_them() {
    let schema: Value = serde_json::from_slice(&out("schema pingpong")).unwrap();
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["properties"]["latency_us"]["unit"], "us");
    assert_eq!(String::from_utf8(out("schema --list --format jsonl")).unwrap().lines().count(), all().count());
}

#[test]
fn results_of_the_version_before_are_printed_in_todays_keys() {
    let file = std::env::temp_dir().join(format!("hotlink-old-{}.json", std::process::id()));
    let old = r#"{"schema": "hotlink/1", "command": ["hotlink"], "environment": {"host": "h"}, "records": [
        {"fabric": "x", "nodes": 4, "method": "load", "bandwidth_per_node_MBps": 1.0, "efficiency": 0.5}]}"#;
    std::fs::write(&file, old).unwrap();
    let convert = format!("schema --convert {}", file.display());
    let new: Value = serde_json::from_slice(&out(&convert)).unwrap();
    let csv = String::from_utf8(out(&format!("{convert} --format csv"))).unwrap();
    assert!(csv.starts_with("fabric,nodes,method,") && csv.lines().count() == 2, "{csv}");
    let line: Value = serde_json::from_slice(&out(&format!("{convert} --format jsonl"))).unwrap();
    assert_eq!(line, new["records"][0]);
    std::fs::remove_file(file).unwrap();
    assert_eq!((new["schema"].as_str(), new["environment"]["host"].as_str()), (Some("hotlink/2"), Some("h")));
    let record = Record::from(new["records"][0].as_object().unwrap().clone());
    assert_eq!(named("analyze").unwrap().mistakes(&record), Vec::<String>::new());
    assert_eq!(record.number("injection_share"), Some(0.5));
}
