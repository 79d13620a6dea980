//! `hotlink barrier` and `measure barrier --device`: the compiled RTL, the plug-in and the flags, with the tools of
//! this machine. Tests that need Verilator or an MPI are left out, and say so, where there is none.

use crate::common::{program, records_of};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Compiled parts are kept for the next run of the tests.
fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

/// The command, which no user's daemon serves.
fn command(args: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(args).env("XDG_CACHE_HOME", cache()).env("HOTLINK_BARRIER_DEVICE", "none");
    command
}

fn hotlink(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

fn records(args: &[&str]) -> Vec<Value> {
    records_of(&hotlink(args))
}

fn has(tool: &str) -> bool {
    let there = Command::new(tool).arg("--version").output().is_ok_and(|done| done.status.success());
    if !there {
        eprintln!("left out: no {tool} on this machine");
    }
    there
}

#[test]
fn devices_are_measured_beside_their_bound() {
    let mut devices = vec!["flags"];
    if has("verilator") {
        devices.push("rtl");
    }
    for device in devices {
        let args = [
            "measure", "barrier", "--via", "shm", "--device", device, "--ranks", "2", "--time", "0.02", "--blocks",
            "1", "--json",
        ];
        let records = records(&args);
        // The RTL also as the barrier of the messages.
        assert_eq!(records.len(), if device == "rtl" { 2 } else { 1 });
        let record = &records[0];
        let number = |key: &str| record[key].as_f64().unwrap_or_else(|| panic!("{key} is missing in {record}"));
        assert_eq!((&record["benchmark"], &record["device"]), (&"barrier".into(), &device.into()));
        assert!(number("n") >= 1.0 && number("min") <= number("median") && number("median") <= number("p99"));
        assert_eq!(number("latency_us"), number("median"));
        assert!((number("efficiency") - number("bound_latency_us") / number("latency_us")).abs() < 1e-12);
        assert!(record["limiting_resource"].is_string());
        if device == "rtl" {
            // The proved least; one more where an arrival just misses an edge, many where the device shares a core.
            assert!(number("clocks_per_barrier") >= 6.0, "{record}");
            let sum = number("write_us") + number("process_us") + number("read_us");
            assert!((number("sum_us") - sum).abs() < 1e-9 && number("process_us") > 0.0, "{record}");
            assert_eq!(record["served_by"], "benchmark", "{record}");
            assert_eq!((&records[1]["algorithm"], records[1]["nodes"].as_u64()), (&"hardware".into(), Some(2)));
            let latency_us = records[1]["latency_us"].as_f64().unwrap();
            assert!(latency_us > 0.0 && records[1]["bound_latency_us"].as_f64().unwrap() > 0.0, "{}", records[1]);
        }
    }
}

#[test]
fn a_running_daemon_is_measured() {
    if !has("verilator") {
        return;
    }
    let socket = std::env::temp_dir().join(format!("hotlink-daemon-{}", std::process::id()));
    let path = socket.display().to_string();
    let serve = ["barrier", "serve", "--device", "rtl", "--nodes", "4", "--ranks-per-node", "2", "--seconds", "300"];
    let mut daemon = command(&serve).args(["--socket", &path]).stdout(Stdio::null()).spawn().unwrap();
    while !socket.exists() {
        assert!(daemon.try_wait().unwrap().is_none(), "the daemon ended");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let second = hotlink(&[&serve[..], &["--socket", &path]].concat());
    let told = String::from_utf8_lossy(&second.stderr).into_owned();
    let asking = |line: &str| {
        command(&line.split(' ').collect::<Vec<_>>()).env("HOTLINK_BARRIER_DEVICE", &path).output().unwrap()
    };
    let measured = asking("measure barrier --device rtl --via shm --ranks 4 --time 0.02 --blocks 1 --json");
    let checked = asking("barrier check --port 3 --rounds 5");
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    std::fs::remove_file(&socket).unwrap();
    let records = records_of(&measured);
    assert_eq!(records[0]["served_by"], "daemon");
    // The stack's own barrier: two nodes of two ranks, as the daemon says.
    let of = |key: &str| records[1][key].as_u64();
    assert_eq!((&records[1]["algorithm"], of("nodes"), of("ranks_per_node")), (&"hardware".into(), Some(2), Some(2)));
    let told_of_wires = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success() && told_of_wires.starts_with("port 3 of rtl: OUT and IN follow"), "{checked:?}");
    assert!(!second.status.success() && told.contains("in use"), "a second daemon at the same socket: {told}");
}

#[test]
fn a_board_that_is_not_there_is_told() {
    if !has("c++") {
        return;
    }
    let output = hotlink(&["barrier", "serve", "--device", "spi:/dev/no-such-spidev", "--nodes", "4"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains("/dev/no-such-spidev: No such file or directory"), "{told}");
}

#[test]
fn flags_stand_beside_messages() {
    let args = ["measure", "barrier", "--via", "shm", "--ranks", "2", "--algorithm", "dissemination,flag"];
    let records = records(&[&args[..], &["--time", "0.02", "--blocks", "1", "--json"]].concat());
    let named: Vec<&str> = records.iter().map(|record| record["algorithm"].as_str().unwrap()).collect();
    assert_eq!(named, ["dissemination", "flag"]);
}

#[test]
fn the_plugin_is_compiled_once_and_exports_what_it_takes_over() {
    if !has("mpicc") {
        return;
    }
    let path = || String::from_utf8(hotlink(&["barrier", "plugin", "--mpi", "auto"]).stdout).unwrap();
    let first = path();
    assert_eq!(first, path());
    assert_eq!(first.lines().count(), 1);
    let library = std::fs::read(first.trim()).unwrap();
    for name in ["MPI_Barrier", "mpi_barrier_", "hotlink_barriers_taken"] {
        assert!(library.windows(name.len()).any(|window| window == name.as_bytes()), "{name} is not in {first}");
    }
    let records = records(&["barrier", "plugin", "--mpi", "auto", "--json"]);
    assert!(records.iter().all(|record| record["plugin"] == first.trim() && record["interface"].is_string()));
}

#[test]
fn a_missing_tool_is_named_with_the_way_to_get_it() {
    let output = Command::new(program())
        .args(["barrier", "serve", "--nodes", "4"])
        .env("XDG_CACHE_HOME", cache())
        .env("PATH", "/nonexistent")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(told.contains("verilator") && told.contains("apt-get install"), "{told}");
}

#[test]
fn bad_requests_are_told() {
    for (line, expected) in [
        ("barrier serve --nodes 33", "33 is not in 1..=32"),
        ("barrier serve --device leds --nodes 4", "must be rtl, spi:PATH"),
        ("barrier serve --device port:parport0 --nodes 4", "port:BASE, such as port:0x378"),
        ("barrier serve --device port:0x10000 --nodes 4", "port:BASE, such as port:0x378"),
        ("barrier serve --device fabric:gige --nodes 4", "has no barrier network"),
        ("barrier serve --device fabric:hwbarr-hx8k --nodes 1", "1 nodes (allowed: 2 to 256)"),
        ("barrier plugin --mpi lam", "--mpi lam: no such file or folder; allowed: auto, openmpi, mpich"),
        ("measure barrier --device rtl --ranks 2,40", "--ranks 40 with --device rtl: must be 1 to 32"),
        ("measure barrier --device flags --ranks 1", "--ranks 1 with --device flags: must be 2 to 256"),
        ("measure barrier --device flags --via tcp", "--device with --via tcp: devices are reached by --via shm"),
        ("measure barrier --device leds", "possible values: rtl, flags"),
    ] {
        let output = hotlink(&line.split(' ').collect::<Vec<_>>());
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && told.contains(expected), "{line}: {told}");
    }
}
