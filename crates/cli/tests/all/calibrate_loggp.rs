//! `calibrate --model loggp` finds the machine behind the numbers, writes it as a fabric that `simulate` takes, and
//! reports the error of its predictions.

use crate::common::{hotlink, machine, place, program, records_of, refuses, write};
use serde_json::{Value, json};
use std::path::Path;

fn records(line: &str, folder: &Path) -> Vec<Value> {
    records_of(&hotlink(line, folder))
}

#[test]
fn the_machine_is_found_and_predicts_what_it_has_not_seen() {
    let folder = place("loggp-found");
    write(&folder, "m.json", &machine());
    // Back to back, an exchange of two ranks is 2 o + L + s G; its own part's copy hides behind the flight.
    let exchange = |size: u64| {
        let us = 1.5 + 1e-4 * size as f64;
        json!({"benchmark": "alltoall", "method": "measured", "ranks": 2, "size_B": size, "latency_us": us})
    };
    // Measured five times: by itself, and in four rounds, two of which were noisy. The 25th percentile counts.
    let mut disturbed = exchange(8);
    let rounds = json!([100.0, disturbed["latency_us"], 90.0, 110.0]);
    disturbed.as_object_mut().unwrap().extend([
        ("latency_us".to_owned(), json!(90.0)),
        ("statistic_of".to_owned(), json!("latency_us")),
        ("round_values".to_owned(), rounds),
    ]);
    write(&folder, "check.json", &[disturbed, exchange(65536), exchange(1 << 20), exchange(8)]);
    let line = "calibrate m.json --model loggp --name found --out found.toml --check check.json --json";
    let told = records(line, &folder);
    for (name, expected) in [("L", 1.0), ("o", 0.25), ("g", 0.25), ("G", 0.1)] {
        let found = told.iter().find(|record| record["parameter"] == name).unwrap();
        let number = |key: &str| found[key].as_f64().unwrap();
        assert!((number("value") / expected - 1.0).abs() < 0.01, "{found}");
        assert!(number("ci95_low") <= expected * 1.001 && expected * 0.999 <= number("ci95_high"), "{found}");
    }
    let predictions: Vec<&Value> = told.iter().filter(|record| record["error"].is_number()).collect();
    assert_eq!(predictions.len(), 3);
    let (least, median) = (&predictions[0]["measured_us"], &predictions[0]["measured_median_us"]);
    assert_eq!((least, median, &predictions[0]["measurements"]), (&json!(1.5008), &json!(90.0), &json!(5)));
    assert!(predictions.iter().all(|record| record["error"].as_f64().unwrap().abs() < 0.05), "{predictions:?}");
    let held_out = told.iter().find(|record| record["held_out_sizes"].is_number()).unwrap();
    assert!(held_out["loggp_max_error"].as_f64().unwrap() < 0.01, "{held_out}");
    // The file is a sound fabric, and the simulators take it.
    assert!(hotlink("catalog check found.toml", &folder).status.success());
    assert!(hotlink("analyze found.toml --nodes 2", &folder).status.success());
    let bcast = records("simulate goal --generate bcast:binomial:65536 --ranks 2 --fabric found.toml --json", &folder);
    assert!((bcast[0]["latency_us"].as_f64().unwrap() / (1.5 + 6.5536) - 1.0).abs() < 0.01, "{}", bcast[0]);
    let exchange = records("simulate alltoallv --size 8,1MiB --fabric found.toml --json", &folder);
    assert_eq!((exchange.len(), &exchange[0]["method"]), (2, &json!("loggp")));
}

#[test]
fn a_sort_on_one_rank_predicts_sorts_on_more() {
    let folder = place("loggp-sort");
    let mut all = machine();
    all.push(json!({"benchmark": "is", "method": "measured", "ranks": 1, "class": "S", "bound_time_s": 0.004}));
    write(&folder, "m.json", &all);
    assert!(hotlink("calibrate m.json --model loggp --name sort --out sort.toml", &folder).status.success());
    let times: Vec<f64> = records("simulate is --class S --ranks 1..4..x2 --fabric sort.toml --json", &folder)
        .iter()
        .map(|record| record["time_s"].as_f64().unwrap())
        .collect();
    // Its own 4 ms and three copies of the keys in each of ten iterations; less on more ranks.
    assert!((times[0] / (0.004 + 30.0 * 262_144.0 / 1e10) - 1.0).abs() < 0.01, "{times:?}");
    assert!(times[0] > times[1] && times[1] > times[2] && times[2] > times[0] / 4.0, "{times:?}");
}

#[test]
fn what_cannot_be_fitted_is_told() {
    let folder = place("loggp-told");
    let pingpong = |memory: &str, size: u64| {
        json!({"benchmark": "pingpong", "method": "measured", "memory": memory, "size_B": size, "latency_us": 1.0,
            "bandwidth_MBps": size})
    };
    write(&folder, "few.json", &[pingpong("private", 8), pingpong("private", 16)]);
    let mixed: Vec<Value> =
        [8, 16, 32].iter().flat_map(|&size| [pingpong("private", size), pingpong("shared", size)]).collect();
    write(&folder, "mixed.json", &mixed);
    write(&folder, "m.json", &machine());
    let refused = [
        ("calibrate few.json --model loggp --out x.toml", "at least 3"),
        ("calibrate mixed.json --model loggp --out x.toml", "memory private and shared are different machines"),
        ("calibrate m.json --model loggp --out x.toml --check m.json", "holds no is"),
        ("calibrate m.json --check m.json --out x.toml", "needs --model loggp"),
        ("simulate is --fabric sci-ring --samples 3", "the sort repeats itself"),
        ("simulate goal --generate barrier:tree --ranks 2", "--fabric"),
    ];
    refuses(&folder, &refused);
    // Numbers that no machine gives are reported at their place, not as mistakes of a generated file.
    let mut huge = machine();
    huge[3]["latency_us"] = 1e308.into();
    write(&folder, "huge.json", &huge);
    for line in ["calibrate huge.json --model loggp --out x.toml", "calibrate huge.json --out x.toml"] {
        refuses(&folder, &[(line, "huge.json: records[3].latency_us: is 1e+308; must be 1e-6 to 1e8")]);
    }
    assert!(!folder.join("x.toml").exists());
    assert!(hotlink("calibrate m.json --model loggp --name m --out m.toml", &folder).status.success());
    let output = hotlink("simulate is --fabric m.toml", &folder);
    assert!(String::from_utf8_lossy(&output.stderr).contains("measure is --ranks 1"));
}

#[test]
fn ping_pong_alone_is_completed_on_the_machine_that_measured_it_and_nowhere_else() {
    let folder = place("loggp-here");
    let output =
        hotlink("measure pingpong --via shm --ranks 2 --size 8..64KiB..x8 --time 0.01 --blocks 1 --json", &folder);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::write(folder.join("m.json"), &output.stdout).unwrap();
    let output = hotlink("calibrate m.json --model loggp --name here --out here.toml", &folder);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && told.matches("measured on this machine now").count() == 2, "{told}");
    // Two ranks sort at once, so two processes do.
    let are_two = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
    assert_eq!(
        told.contains("`hotlink measure is --class A --ranks 1 --rounds 3`, 2 processes at once"),
        are_two,
        "{told}"
    );
    let text = std::fs::read_to_string(folder.join("here.toml")).unwrap();
    assert!(text.contains("by calibrate itself"), "{text}");
    let sorted = records("simulate is --class A --fabric here.toml --ranks 2 --json", &folder);
    assert!(sorted[0]["time_s"].as_f64().unwrap() > 0.0, "{}", sorted[0]);
    // Results that cannot be fitted, or files that cannot be written, are reported before anything is measured.
    let output = hotlink("calibrate m.json --model loggp --name here --out m.json/here.toml", &folder);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && !told.contains("measured on this machine now"), "{told}");
    let mut document: Value = serde_json::from_slice(&std::fs::read(folder.join("m.json")).unwrap()).unwrap();
    document["records"].as_array_mut().unwrap().truncate(2);
    std::fs::write(folder.join("few.json"), document.to_string()).unwrap();
    let output = hotlink("calibrate few.json --model loggp --name few --out few.toml", &folder);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && told.contains("2 sizes of ping-pong are too few"), "{told}");
    assert!(!told.contains("measured on this machine now"), "{told}");
    // The same from elsewhere: missing values are reported, not filled in with this machine's.
    let mut document: Value = serde_json::from_slice(&std::fs::read(folder.join("m.json")).unwrap()).unwrap();
    document["environment"]["host"] = "elsewhere".into();
    std::fs::write(folder.join("other.json"), document.to_string()).unwrap();
    let output = hotlink("calibrate other.json --model loggp --name other --out other.toml", &folder);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && told.matches("are not this machine's").count() == 2, "{told}");
    let output = hotlink("calibrate m.json other.json --model loggp --name two --out two.toml", &folder);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && told.contains("elsewhere") && told.contains("calibrate each"), "{told}");
    assert!(!folder.join("two.toml").exists());
}

#[test]
fn imported_results_are_not_taken_for_this_machine_s() {
    let folder = place("loggp-imported");
    let rows = |value: fn(f64) -> f64| {
        (0..21).map(|power| format!("{} {:.2}\n", 1 << power, value(f64::from(1 << power)))).collect::<String>()
    };
    let latency = format!("# OSU MPI Latency Test v7.4\n# Size Latency (us)\n{}", rows(|size| 2.0 + size / 1e4));
    let bandwidth =
        format!("# OSU MPI Bandwidth Test v7.4\n# Size Bandwidth (MB/s)\n{}", rows(|size| 1e4 * size / (1e4 + size)));
    std::fs::write(folder.join("ol.txt"), latency).unwrap();
    std::fs::write(folder.join("ob.txt"), bandwidth).unwrap();
    let done = hotlink("import osu ol.txt ob.txt --json", &folder);
    let document: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(document["environment"].get("cpu").is_none(), "{}", document["environment"]);
    std::fs::write(folder.join("o.json"), &done.stdout).unwrap();
    // As an older version wrote it.
    let mut old = document;
    old["environment"] = serde_json::to_value(hotlink_measure::environment::describe()).unwrap();
    std::fs::write(folder.join("old.json"), old.to_string()).unwrap();
    for file in ["o.json", "old.json"] {
        let done = hotlink(&format!("calibrate {file} --model loggp --name t --out t.toml"), &folder);
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success() && told.matches("are not this machine's").count() == 2, "{told}");
        let text = std::fs::read_to_string(folder.join("t.toml")).unwrap();
        assert!(!text.contains("copy_time_of") && !text.contains("host_processors"), "{text}");
        assert!(text.contains("may be any less") && text.contains("estimated"), "{text}");
    }
}

/// The tool behind `make bench-predict`, with small sizes: every group has its row, and every size its error. The
/// errors themselves are of a loaded machine, and have no meaning.
#[test]
#[ignore = "it measures this machine for most of a minute: `make test-all`"]
fn the_table_of_errors_is_made_from_measurements_to_the_last_row() {
    let folder = place("bench-predict");
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/bench-predict/run");
    let mut command = std::process::Command::new("python3");
    command.arg(tool).args(["--hotlink", program()]).current_dir(&folder).env("HOME", &folder);
    let output = command
        .args("--quick --via shm --runs 1 --cycles 1 --rounds 2 --time 0.001 --keep kept".split(' '))
        .output()
        .unwrap();
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{table}{}", String::from_utf8_lossy(&output.stderr));
    assert!(table.contains("| shm: 1 runs of 1 cycles | median | bias | largest | within 10 % |"), "{table}");
    let rows = [("NPB IS, class S", 1), ("8 B to 2 KiB", 5), ("8 KiB", 1)];
    for (group, sizes) in rows {
        let all: Vec<&str> =
            table.lines().filter(|line| line.split('|').nth(1).is_some_and(|c| c.contains(group))).collect();
        assert_eq!(all.len(), if group.starts_with("NPB") { 1 } else { 3 }, "{group}: {table}");
        for line in all {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            assert!(cells.len() == 5 && cells[1..4].iter().all(|cell| cell.ends_with('%')), "{line}");
            assert!(cells[4].ends_with(&format!(" of {sizes}")), "{line}");
        }
    }
    assert!(folder.join("kept/shm-0/shm.toml").exists());
}
