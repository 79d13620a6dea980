//! `measure` and `calibrate` on this machine: the contents of records, not the machine's speed.

use crate::common::{program, records_of};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn hotlink(args: &[&str]) -> Output {
    Command::new(program()).args(args).output().unwrap()
}

fn records(args: &[&str]) -> Vec<Value> {
    records_of(&hotlink(args))
}

/// An efficiency, or why there is none, by how far apart the cores were.
fn assert_efficient(record: &Value) {
    let apart = record["hand_off_us"].as_f64().unwrap() / record["hand_off_least_us"].as_f64().unwrap();
    let (efficiency, why) = (record["efficiency"].as_f64(), record["no_efficiency"].as_str());
    assert_eq!((efficiency > Some(0.0), why.is_some()), (apart < 2.0, apart >= 2.0), "{record}");
}

fn assert_sound(record: &Value) {
    for key in ["fabric", "benchmark", "method", "bandwidth_MBps", "n", "blocks", "median", "min", "p99"] {
        assert!(!record[key].is_null(), "{key} is missing in {record}");
    }
    let number = |key: &str| record[key].as_f64().unwrap();
    let values = if number("blocks") > 1.0 { number("blocks") } else { number("n") };
    let ends = ["ci95_low", "ci95_high"].map(|key| record[key].as_f64());
    assert_eq!(ends.map(|end| end.is_some()), [values >= 6.0; 2], "{record}");
    if let [Some(low), Some(high)] = ends {
        assert!(low <= number("median") && number("median") <= high, "{record}");
    }
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    for (line, told) in [
        ("is --class S --time 0.2", "--time: is runs as a whole"),
        ("is --class S --blocks 2", "--blocks: is runs as a whole"),
        ("is --class S --spread 0", "--spread: is runs as a whole"),
        ("is --class S --raw", "--raw: is runs as a whole"),
        ("pingpong --size 8 --processes 3", "--processes: is of ranks that meet"),
        ("pingpong --size 8 --as-rank 2", "--as-rank: is of ranks that meet"),
        ("pingpong --size 8 --secret-file s", "--secret-file: is proved to ranks of other machines"),
        ("pingpong --size 8 --mpi mpich", "--mpi: names the MPI of --via mpi"),
    ] {
        let output = hotlink(&["measure"].into_iter().chain(line.split(' ')).collect::<Vec<_>>());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(told), "{line}: {said}");
    }
    // The variable is set for runs that need it.
    let line = "measure pingpong --size 8 --time 0.01 --blocks 1 --json";
    let output = Command::new(program()).args(line.split(' ')).env("HOTLINK_MPICC", "/no/mpicc").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let record = &records_of(&output)[0];
    assert!(["time", "samples"].iter().any(|by| record["ended_by"] == *by), "{record}");
}

#[test]
fn a_result_of_one_machine_that_names_a_fabric_is_told() {
    // So slow that no machine is too busy to be faster.
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("snail.toml");
    let origin = "source = \"a test\", status = \"published\"";
    let text = format!(
        "name = \"snail\"\ntitle = \"a slow network\"\nparts = [\"gigabit-ethernet\"]\n[topology]\nkind = \"fat-tree\"\n\
         radix = 48\nlevels = 2\nsource = \"a test\"\nstatus = \"published\"\n[resource.link]\n\
         measured = {{ value = 0.001, unit = \"MB/s\", {origin} }}\n"
    );
    std::fs::write(&file, text).unwrap();
    let said = |fabric: &str| {
        let line = format!("measure pingpong --size 64KiB --time 0.02 --blocks 1 --fabric {fabric} --json");
        let output = hotlink(&line.split(' ').collect::<Vec<_>>());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        let record = records_of(&output).remove(0);
        // What was said stands in the record, too; a label names no fabric.
        assert_eq!(record["named_only"].as_bool(), (!fabric.starts_with("label:")).then_some(true));
        (said, record["fabric"].as_str().unwrap().to_owned())
    };
    let name = file.display().to_string();
    let ((named, _), (label, fabric)) = (said(&name), said("label:gige"));
    assert!(named.contains("impossible: 1 of 1 results are beyond what"), "{named}");
    assert!(!label.contains("--fabric") && !label.contains("its links") && fabric == "gige", "{fabric}: {label}");
    // Within what a fabric allows they are not of it either.
    let (within, fabric) = said("ib-ndr-fat-tree2");
    assert!(within.contains("ranks of one machine do not use its links") && fabric == "ib-ndr-fat-tree2", "{within}");
}

#[test]
fn no_block_begins_after_the_limit() {
    let line = "measure pingpong --size 8 --time 0.012 --spread 0 --limit 0 --json";
    let output = hotlink(&line.split(' ').collect::<Vec<_>>());
    let (record, said) = (records_of(&output).remove(0), String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(record["blocks"] == 1 && record["latency_us"].as_f64() > Some(0.0), "{record}");
    assert!(said.contains("--limit: 1 of 12 blocks were measured"), "{said}");
}

#[test]
fn pingpong_gives_half_round_trip_with_its_bound() {
    for via in ["shm", "tcp"] {
        let args = [
            "measure", "pingpong", "--via", via, "--ranks", "2", "--size", "8,64KiB", "--time", "0.01", "--blocks",
            "1", "--json",
        ];
        let records = records(&args);
        assert_eq!(records.len(), 2);
        for record in &records {
            assert_sound(record);
            assert!(record["bound_latency_us"].as_f64().unwrap() > 0.0);
            assert_efficient(record);
            let product = record["latency_us"].as_f64().unwrap() * record["bandwidth_MBps"].as_f64().unwrap();
            assert!((product / record["size_B"].as_f64().unwrap() - 1.0).abs() < 1e-9);
        }
    }
}

/// A block of copies lasts as long as it was asked to. Where it begins, caches are cold, so a short one shows nothing else.
#[test]
fn copies_last_as_long_as_other_points() {
    let args = ["measure", "memory", "--size", "1MiB", "--strides", "8", "--time", "0.05", "--blocks", "1", "--raw"];
    let records = records(&[&args[..], &["--json"]].concat());
    let number = |key: &str| records[0][key].as_f64().expect(key);
    let rates = records[0]["samples"].as_array().expect("--raw gives them").iter().filter_map(Value::as_f64);
    let us: f64 = rates.map(|mbps| number("inner") * number("size_B") / mbps).sum();
    assert!(us > 0.5 * 50_000.0, "{us} us of 50,000");
}

#[test]
fn set_ups_stand_beside_what_a_cache_keeps() {
    let records =
        records(&["measure", "registration", "--size", "4KiB,64KiB", "--time", "0.01", "--blocks", "1", "--json"]);
    assert_eq!(records.len(), 4, "two sizes, mapped and pinned");
    for record in &records {
        if record["note"].is_string() {
            assert_eq!(record["series"], "pin", "only pinning may be forbidden");
            continue;
        }
        assert_sound(record);
        let number = |key: &str| record[key].as_f64().unwrap();
        assert!(number("cached_us") > 0.0 && number("latency_us") > 0.0);
        assert!((number("efficiency") * number("over_cached") - 1.0).abs() < 1e-9);
        assert!((number("setup_us") + number("cached_us") - number("latency_us")).abs() < 1e-6);
    }
    assert_eq!(hotlink(&["measure", "registration", "--size", "0"]).status.code(), Some(2));
}

/// Regions over shared memory: every part of their life has its time, and an access afterwards is refused.
#[test]
fn regions_are_set_up_used_and_taken_away() {
    let args = [
        "measure",
        "region",
        "--ranks",
        "3",
        "--kind",
        "shared,rdma",
        "--setup",
        "collective,pair,individual",
        "--size",
        "4KiB",
        "--time",
        "0.01",
        "--blocks",
        "1",
        "--json",
    ];
    let records = records(&args);
    assert_eq!(records.len(), 12, "two kinds, three set-ups, two holds");
    for record in &records {
        assert_sound(record);
        for key in ["region_setup_us", "import_us", "first_us", "release_us", "withdraw_us", "revoke_us"] {
            assert!(record[key].as_f64().is_some_and(|us| us > 0.0), "{key} of {record}");
        }
        assert_eq!(record["refused_after"], true, "{record}");
    }
    assert_eq!(hotlink(&["measure", "region", "--size", "0"]).status.code(), Some(2));
}

#[test]
fn saturation_becomes_a_fabric() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (results, fabric) = (folder.join("m.json"), folder.join("here.toml"));
    let args = [
        "measure",
        "saturation",
        "--via",
        "tcp",
        "--pairs",
        "1..2",
        "--size",
        "64KiB",
        "--time",
        "0.01",
        "--blocks",
        "1",
        "--json",
    ];
    let measured = hotlink(&args);
    assert!(measured.status.success(), "{}", String::from_utf8_lossy(&measured.stderr));
    std::fs::write(&results, &measured.stdout).unwrap();
    let (results, fabric) = (results.to_str().unwrap(), fabric.to_str().unwrap());
    let values = records(&["calibrate", results, "--name", "here", "--out", fabric, "--json"]);
    assert!(values.iter().all(|value| value["source"].as_str().unwrap().contains("hotlink measure saturation")));
    let checked = hotlink(&["catalog", "check", fabric]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
}

/// Copies of a made-up machine: of 4, 32 and 256 KiB of cache, whose lines cost what the level holding the block asks.
fn copies(strides: &[u64]) -> Vec<Value> {
    let mut records = Vec::new();
    for &stride in strides {
        for size in (6..=22).map(|bits| 1u64 << bits) {
            let (words, lines) = ((size / 8) as f64, (stride as f64 / 8.0).min(1.0));
            let footprint = size + (words * lines) as u64 * 64;
            let line = [(4u64 << 10, 0.0), (32 << 10, 1.0), (256 << 10, 2.0), (u64::MAX, 6.0)];
            let line = line.into_iter().find(|(most, _)| footprint <= *most).unwrap().1;
            let word = if stride == 1 { 0.2 } else { 0.4 };
            let ns = 20.0 + words * f64::max(word, line * (lines + 0.125));
            records.push(serde_json::json!({"fabric": "made-up", "benchmark": "memory", "method": "measured",
                "memory": "private", "ranks": 1, "size_B": size, "stride": stride,
                "bandwidth_MBps": 1e3 * size as f64 / ns}));
        }
    }
    records
}

#[test]
fn copies_become_a_nodes_memory_that_a_fabric_names_as_a_part() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("node-memory");
    std::fs::create_dir_all(&folder).unwrap();
    let cache = |level: u64, size: u64| serde_json::json!({"level": level, "size_B": size, "ways": 8, "line_B": 64});
    let write = |name: &str, records: Vec<Value>, caches: Option<Value>| {
        let mut environment = serde_json::json!({"hotlink": "0.1.0", "host": "made-up"});
        if let Some(caches) = caches {
            environment["caches"] = caches;
            environment["page_B"] = 4096.into();
        }
        let text = serde_json::json!({"schema": "hotlink/2", "command": "hotlink measure memory",
            "environment": environment, "records": records});
        let file = folder.join(name);
        std::fs::write(&file, text.to_string()).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let caches = Some(serde_json::json!([cache(1, 4 << 10), cache(2, 32 << 10), cache(3, 256 << 10)]));
    let results = write("copies.json", copies(&[1, 2, 8, 12, 16, 64]), caches);
    let mut deposit = copies(&[1, 8]);
    for record in &mut deposit {
        record["benchmark"] = "deposit".into();
        record["series"] = "direct".into();
        record["memory"] = "shared".into();
        record["word_B"] = 8.into();
    }
    // A message of 64 KiB during a computation of a second: the computation counts.
    deposit
        .push(serde_json::json!({"benchmark": "overlap", "method": "measured", "memory": "shared", "side": "sender",
        "spin": "fixed", "ranks": 2, "size_B": 65_536, "compute_us": 1e6, "total_us": 1e6}));
    let deposits = write("deposits.json", deposit, None);
    // Into the catalog of a user of its own.
    let hotlink = |args: &[&str]| Command::new(program()).args(args).env("XDG_DATA_HOME", &folder).output().unwrap();
    let named = ["calibrate", &results, "--model", "memory", "--name", "made-up-node", "--json"];
    let records = records_of(&hotlink(&[&named[..], &["--check", &deposits]].concat()));
    let of = |resource: &str| records.iter().find(|record| record["resource"] == resource).unwrap();
    assert_eq!(of("cache_word_time")["method"], "fitted");
    assert_eq!(of("tlb_entries")["method"], "estimated", "copies do not tell it");
    assert_eq!(of("memory_line")["value"], 64.0);
    assert_eq!(records.iter().filter(|record| record["held_out"] == true).count(), 17, "one stride");
    assert_eq!(records.iter().filter(|record| record["kind"] == "prediction").count(), 35);
    let overlap = records.iter().find(|record| record["benchmark"] == "overlap").unwrap();
    assert!(overlap["error"].as_f64().unwrap().abs() < 1e-9, "{overlap}");
    let checked = hotlink(&["catalog", "check", "made-up-node"]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    // Programs on a fabric that names it copy as its memory lets them.
    let fabric = folder.join("with-node.toml");
    let fabric_of = |parts: &str| {
        let text = format!(
            "name = \"with-node\"\ntitle = \"a switch\"\nparts = [{parts}]\nrouting = \"shortest-single\"\n\
             [topology]\nkind = \"crossbar\"\nports = 8\nsource = \"a test\"\nstatus = \"estimated\"\n"
        );
        std::fs::write(&fabric, text).unwrap();
        let args =
            ["simulate", "allreduce", "--fabric", fabric.to_str().unwrap(), "--nodes", "4", "--size", "1MiB", "--json"];
        records_of(&hotlink(&args))[0]["latency_us"].as_f64().unwrap()
    };
    let (assumed, modelled) = (fabric_of("\"gigabit-ethernet\""), fabric_of("\"gigabit-ethernet\", \"made-up-node\""));
    assert_ne!(assumed, modelled);
    // Missing parts are reported.
    let told = |results: &str, what: &str| {
        let output = hotlink(&["calibrate", results, "--model", "memory", "--name", "x"]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && error.contains(what), "{error}");
    };
    told(&write("old.json", copies(&[1, 2, 8, 64]), None), "measure again with this hotlink");
    let caches = Some(serde_json::json!([cache(1, 4 << 10), cache(2, 32 << 10), cache(3, 256 << 10)]));
    let odd = Some(serde_json::json!([cache(1, 4 << 10), cache(2, 4 << 10)]));
    told(&write("odd.json", copies(&[1, 2, 8, 64]), odd), "each larger than the one before");
    told(&write("narrow.json", copies(&[1, 8]), caches), "strides 1, 8, 16, one between 1 and 8");
}

#[test]
fn the_environment_is_told_and_can_be_anonymous() {
    let environment = |more: &[&str]| {
        let args = [
            &["measure", "memory", "--size", "8", "--strides", "1", "--time", "0.001", "--blocks", "1", "--json"],
            more,
        ]
        .concat();
        let document: Value = serde_json::from_slice(&hotlink(&args).stdout).unwrap();
        document["environment"].as_object().unwrap().clone()
    };
    let told = environment(&[]);
    for key in ["cpu", "cores", "kernel", "affinity", "governor", "load_1min", "hyperthreads", "host"] {
        assert!(told.contains_key(key), "{key} not in {told:?}");
    }
    assert!(!environment(&["--anonymous"]).contains_key("host"));
}

#[test]
fn real_ranks_are_traced_counted_and_disturbed() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("measure-trace.json");
    let args = [
        "measure",
        "pingpong",
        "--via",
        "shm",
        "--size",
        "8,64KiB",
        "--time",
        "0.01",
        "--blocks",
        "1",
        "--count",
        "--inject",
        "busy:20,late:20,scarce:20",
        "--json",
        "--trace",
    ];
    let records = records(&[&args[..], &[file.to_str().unwrap()]].concat());
    assert_eq!(records.len(), 2);
    for record in &records {
        assert_sound(record);
        assert_eq!(record["injected"], "busy:20,late:20,scarce:20");
        assert!(record["count_busy"].as_u64().unwrap() > 0 && record["count_controls"].as_u64().unwrap() > 0);
    }
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    for rank in 0..2 {
        let own = |event: &&Value| event["ph"] == "X" && event["tid"] == rank && event["args"]["peer"] == 1 - rank;
        assert!(events.iter().find(own).is_some_and(|event| event["dur"].as_f64() >= Some(0.0)), "rank {rank}");
    }
    let refused = hotlink(&["measure", "pingpong", "--via", "mpi", "--count"]);
    assert!(!refused.status.success());
}

#[test]
fn bad_requests_are_told() {
    for (args, told) in [
        (&["measure", "pingpong", "--size", "1TiB"][..], "must be at most"),
        (&["measure", "alltoall", "--size", "1TiB", "--ranks", "2"], "need 8 blocks of 1099511627776 B"),
        (&["measure", "pingpong", "--ranks", "1"][..], "at least 2"),
        (&["measure", "pingpong", "--radix", "4"], "change a fabric: name one with --fabric"),
        (&["measure", "pingpong", "--fabric", "label:x", "--radix", "4"], "change a fabric: name one with --fabric"),
        (
            &["measure", "pingpong", "--fabric", "sci-ring", "--radix", "4"],
            "the topology cube has no radix (--radix) to change",
        ),
        (&["measure", "pingpong", "--ranks", "100000"], "1 to 1024"),
        (&["measure", "saturation", "--size", "0"], "empty message"),
        (
            &["measure", "barrier", "--algorithm", "trees"],
            "n-way, tournament, recursive-doubling, double-ring, mpich, openmpi; also flag",
        ),
        (&["measure", "bcast", "--algorithm", "hardware"], "--via shm has none"),
        (&["measure", "memory", "--size", "4", "--strides", "2"], "no point left"),
        (&["measure", "memory", "--size", "1TiB"], "possible here"),
        (&["measure", "is", "--buffers", "rewritten"], "must be kept for is"),
        (&["measure", "deposit", "--word", "2"], "must be 4 or 8"),
        (&["measure", "deposit", "--size", "4"], "a multiple of 8"),
        (&["measure", "stream", "--size", "0"], "empty message"),
        (&["measure", "pairs", "--ranks", "1"], "2 to 256"),
        (&["measure", "kernel", "--mpi-share", "1"], "share from"),
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
    let deposits = records(&[&args[..], &["--time", "0.01", "--blocks", "1", "--json"]].concat());
    assert_eq!(deposits.len(), 12, "three series, two strides, two kinds of memory");
    deposits.iter().for_each(assert_sound);
    assert!(deposits.iter().all(|record| record["stride"].is_u64() && record["series"].is_string()));
    let shortest = measured(&["deposit", "--word", "4", "--size", "4", "--strides", "1", "--buffers", "rewritten"]);
    for record in deposits.iter().chain(&shortest) {
        let number = |key: &str| record[key].as_f64().unwrap();
        assert!((number("efficiency") * number("bound_bandwidth_MBps") / number("bandwidth_MBps") - 1.0).abs() < 1e-9);
        assert!(record["limiting_resource"].is_string() && record["bound_is"].is_string(), "{record}");
    }
    assert!(shortest.iter().all(|record| record["size_B"] == 4 && record["buffers"] == "rewritten"));
    assert!(shortest.iter().any(|record| record["series"] == "direct"), "4 B are stored, too");
    let args = [
        "measure",
        "overlap",
        "--size",
        "64KiB",
        "--side",
        "sender,receiver",
        "--compute",
        "1",
        "--time",
        "0.01",
        "--blocks",
        "1",
    ];
    let overlaps = records(&[&args[..], &["--json"]].concat());
    assert_eq!(overlaps.len(), 2);
    for record in overlaps {
        assert!((0.0..=1.0).contains(&record["overlap"].as_f64().unwrap()), "{record}");
        assert!(record["w01_overhead"].is_f64() && record.get("saturation_us").is_some());
    }
}

#[test]
fn collectives_give_the_slowest_ranks_time() {
    for which in [
        "barrier",
        "bcast",
        "reduce",
        "allreduce",
        "allgather",
        "alltoall",
        "alltoallv",
        "gather",
        "scatter",
        "reduce-scatter",
    ] {
        let records = records(&[
            "measure", which, "--ranks", "2,3", "--size", "1KiB", "--time", "0.01", "--blocks", "1", "--json",
        ]);
        assert_eq!(records.len(), 2);
        for record in records {
            assert!(record["latency_us"].as_f64().unwrap() > 0.0);
            assert_efficient(&record);
        }
    }
}

/// The records of `measure ARGS --json` in little time.
fn measured(args: &[&str]) -> Vec<Value> {
    records(&[&["measure"], args, &["--time", "0.005", "--blocks", "1", "--json"]].concat())
}

#[test]
fn a_window_of_clocks_brought_together_starts_collectives() {
    for record in measured(&["allreduce", "--size", "64", "--start", "window", "--background", "ring:1:4KiB"]) {
        let number = |key: &str| record[key].as_f64().unwrap();
        assert!(record["start"] == "window" && record["background"] == "ring:1", "{record}");
        assert!(number("clock_error_us") > 0.0 && number("start_spread_us") >= 0.0);
        assert_eq!(record["rank_median_us"].as_array().unwrap().len(), 2);
        assert!(number("p25") <= number("median") && number("median") <= number("p75"));
        assert!(number("p75") <= number("max"), "{record}");
    }
}

#[test]
fn streams_rates_and_semantics_stand_beside_their_bounds() {
    for via in ["shm", "tcp"] {
        let streams = measured(&["stream", "--via", via, "--size", "8,64KiB", "--buffers", "rewritten"]);
        let directions: Vec<_> = streams.iter().map(|record| record["direction"].as_str().unwrap()).collect();
        assert_eq!(directions, ["uni", "uni", "bi", "bi"]);
        let own = measured(&["stream", "--via", via, "--size", "4KiB", "--direction", "self", "--rounds", "3"]);
        assert!(own.len() == 1 && own[0]["direction"] == "self" && own[0]["rounds"] == 3, "{own:?}");
        assert_eq!(own[0]["round_values"].as_array().unwrap().len(), 3);
        let rates = measured(&["rate", "--via", via, "--pairs", "1,2", "--window", "16"]);
        assert_eq!(rates.len(), 6);
        let semantics = measured(&["semantics", "--via", via, "--size", "64KiB"]);
        assert!(semantics[0]["semantics"] == "restricted" && semantics[1]["semantics"] == "postal");
        for record in streams.iter().chain(&own).chain(&rates).chain(&semantics) {
            assert_sound(record);
            assert!(record["efficiency"].as_f64().unwrap() > 0.0 && record["limiting_resource"].is_string());
        }
        assert!(streams.iter().all(|record| record["buffers"] == "rewritten" && record["warmup"].as_u64() > Some(0)));
        assert!(
            rates.iter().all(|record| record["window"] == 16 && record["clock_resolution_us"].as_f64() > Some(0.0))
        );
    }
}

#[test]
fn a_message_whose_lines_must_change_cores_has_that_as_its_bound() {
    let of = |memory: &str, buffers: &str| {
        let args = ["pingpong", "--size", "256KiB", "--memory", memory, "--buffers", buffers];
        measured(&args).swap_remove(0)
    };
    let (ordinary, kept) = (of("private", "kept"), of("shared", "kept"));
    let rate = |record: &Value, key: &str| record[key].as_f64();
    let is_said = |record: &Value, what: &str| record["bound_is"].as_str().unwrap().contains(what);
    assert!(rate(&ordinary, "copies_MBps") > Some(0.0) && rate(&kept, "copies_MBps") > Some(0.0), "{ordinary} {kept}");
    assert!(kept["lines_MBps"].is_null() && is_said(&kept, "caches where they fit"), "{kept}");
    if ordinary["oversubscribed"] == true {
        // On one core none must.
        assert!(ordinary["lines_MBps"].is_null(), "{ordinary}");
        return;
    }
    let (lines, system) = (rate(&ordinary, "lines_MBps"), rate(&ordinary, "system_copy_MBps"));
    let most = lines.unwrap().max(system.unwrap_or(0.0)) * 1.000_001;
    assert!(rate(&ordinary, "bound_bandwidth_MBps").unwrap() <= most, "{ordinary}");
    assert!(is_said(&ordinary, "change cores"), "{ordinary}");
    let written = of("shared", "rewritten");
    let most = rate(&written, "copies_MBps").unwrap() / 2.0 + rate(&written, "lines_MBps").unwrap();
    assert!(rate(&written, "bound_bandwidth_MBps").unwrap() <= 1.000_001 * most, "{written}");
    let tcp = measured(&["pingpong", "--via", "tcp", "--size", "256KiB", "--memory", "shared"]).swap_remove(0);
    assert!(rate(&tcp, "lines_MBps") > Some(0.0), "nobody reaches the other's memory over TCP: {tcp}");
}

#[test]
fn every_pair_is_measured_and_slow_ones_twice() {
    let pairs = measured(&["pairs", "--via", "tcp", "--ranks", "4", "--size", "8"]);
    let names: Vec<_> = pairs.iter().map(|pair| (pair["rank_a"].as_u64(), pair["rank_b"].as_u64())).collect();
    let all = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
    assert_eq!(names, all.map(|(a, b)| (Some(a), Some(b))));
    for pair in pairs {
        assert_sound(&pair);
        assert!(pair["retested"] == true || pair["slow"] == false, "{pair}");
        assert_eq!(pair["retested"] == true, pair["first_latency_us"].is_f64());
    }
}

#[test]
fn the_kernel_computes_in_the_proportions_asked_for() {
    // A barrier of 10 us that is half of the MPI time, which is half of the run: 20 us of computation.
    let shares = ["--mpi-share", "0.5", "--barrier-share", "0.5", "--barrier-us", "10", "--iterations", "20"];
    let record = &measured(&[&["kernel"], &shares[..]].concat())[0];
    assert!((record["compute_us"].as_f64().unwrap() - 20.0).abs() < 1e-9, "{record}");
    assert!(record["bound_time_s"].as_f64().unwrap() >= 20.0 * 20e-6);
    assert!((0.0..=1.0).contains(&record["efficiency"].as_f64().unwrap()));
    let abinit = &measured(&["kernel", "--iterations", "1"])[0];
    assert!((abinit["compute_us"].as_f64().unwrap() - 80.0 / 0.052 * 0.92).abs() < 1e-9, "{abinit}");
}

#[test]
fn algorithms_are_forced_and_named() {
    for (which, algorithm) in [("barrier", "dissemination,central"), ("allreduce", "ring,recursive-doubling")] {
        let args = [
            "measure", which, "--via", "shm", "--ranks", "2", "--size", "1KiB", "--time", "0.01", "--blocks", "1",
            "--json",
        ];
        let records = records(&[&args[..], &["--algorithm", algorithm]].concat());
        let named: Vec<&str> = records.iter().map(|record| record["algorithm"].as_str().unwrap()).collect();
        assert_eq!(named.join(","), algorithm);
    }
}

#[test]
fn blocks_give_the_interval_and_rounds_add_to_it() {
    let args = ["measure", "pingpong", "--size", "8,64KiB", "--time", "0.012", "--blocks", "6", "--spread", "0"];
    let records = records(&[&args[..], &["--rounds", "2", "--raw", "--json"]].concat());
    assert_eq!(records.len(), 2);
    for record in &records {
        assert_sound(record);
        let list = |key: &str| record[key].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect::<Vec<_>>();
        let blocks = list("block_values");
        assert!(blocks.len() == 12 && record["blocks"] == 12 && record["rounds"] == 2, "{record}");
        assert_eq!(record["n"].as_u64(), Some(list("samples").len() as u64));
        assert!(blocks.contains(&record["median"].as_f64().unwrap()), "the median is a block's own");
        let ends = [&record["ci95_low"], &record["ci95_high"]].map(|end| end.as_f64().unwrap());
        assert!(blocks.iter().all(|block| (ends[0]..=ends[1]).contains(block)), "{record}");
        assert!((record["latency_us"].as_f64(), record["efficiency"].as_f64()) >= (Some(0.0), Some(0.0)));
    }
    let output = hotlink(&["measure", "pingpong", "--launcher", "mpirun -n 2"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("it starts an MPI's ranks, with --via mpi"));
}

/// The machine is measured once, into the user's cache; an option and a variable override it, and doctor says all this.
#[test]
fn the_route_of_long_messages_is_measured_once_and_told() {
    let cache = std::env::temp_dir().join(format!("hotlink-copy-{}", std::process::id()));
    let hotlink = |arguments: &[&str], asked: Option<&str>| {
        let mut command = std::process::Command::new(program());
        command.args(arguments).env("XDG_CACHE_HOME", &cache).env_remove("HOTLINK_COPY");
        asked.iter().for_each(|asked| _ = command.env("HOTLINK_COPY", asked));
        command.output().unwrap()
    };
    let found = |asked| {
        let out = hotlink(&["doctor", "--json"], asked);
        let told: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        let all = told["records"].as_array().unwrap();
        all.iter().find(|record| record["check"] == "copy route").unwrap()["found"].as_str().unwrap().to_owned()
    };
    let first = found(None);
    // A loaded machine may not let itself be measured, and may seem another one later; what is kept is tested in `real`.
    let measured = |found: &str| found.contains("measured now") || found.contains("could not be measured");
    assert!(measured(&first), "{first}");
    let second = found(None);
    assert!(measured(&second) || second.contains("measured before"), "{second}");
    if first.contains("measured now") {
        std::fs::write(cache.join("hotlink/copy.json"), "{}").unwrap();
        let third = found(None);
        assert!(measured(&third), "a corrupt file is not believed: {third}");
    }
    assert_eq!(found(Some("system")), "`system` was asked for");
    assert!(found(Some("fast")).contains("allowed: auto, ring, stream, system, halves"));
    let point = ["measure", "pingpong", "--size", "256KiB", "--time", "0.01", "--blocks", "1", "--json"];
    for route in ["ring", "stream", "system", "halves"] {
        assert!(hotlink(&[&point[..], &["--copy", route]].concat(), None).status.success(), "{route}");
    }
    let wrong = hotlink(&[&point[..], &["--copy", "fast"]].concat(), None);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("allowed: auto, ring"));
    let _ = std::fs::remove_dir_all(&cache);
}

#[test]
fn parts_of_collectives_lie_in_ordinary_memory_if_asked() {
    for which in ["alltoallv", "allreduce", "reduce-scatter"] {
        let line =
            ["measure", which, "--size", "64KiB", "--memory", "private", "--time", "0.01", "--blocks", "1", "--json"];
        let records = records(&line);
        assert_eq!(records[0]["memory"], "private");
        assert!(records[0]["latency_us"].as_f64().unwrap() > 0.0);
    }
}
