//! The command in a folder of a test's own, and result files made by hand.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The command: cargo's, which has the checks of the tests' profile, or the one that the environment names. `make test-release`
/// names that of a release, which users get.
pub fn program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        std::env::var("HOTLINK_TEST_COMMAND").unwrap_or_else(|_| env!("CARGO_BIN_EXE_hotlink").to_owned())
    })
}

/// An empty folder for a test.
pub fn place(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The command there, with no catalog but its own and the folder's.
pub fn hotlink(line: &str, folder: &Path) -> Output {
    let mut command = Command::new(program());
    command.args(line.split_whitespace()).current_dir(folder).env("HOME", folder);
    command.env_remove("XDG_DATA_HOME").env_remove("HOTLINK_CATALOG").output().unwrap()
}

/// The records of a run with `--json` that succeeded.
pub fn records_of(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    document["records"].as_array().expect("records").clone()
}

/// Each command is refused as bad input, with words that contain the second.
pub fn refuses(folder: &Path, lines: &[(&str, &str)]) {
    for (line, told) in lines {
        let output = hotlink(line, folder);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {error}");
        assert!(error.contains(told), "{line}: {error}");
    }
}

/// A result file that holds these records.
pub fn write(folder: &Path, name: &str, records: &[Value]) {
    let environment = json!({"host": "test", "cores": 2});
    let document =
        json!({"schema": "hotlink/1", "command": ["hotlink"], "environment": environment, "records": records});
    std::fs::write(folder.join(name), document.to_string()).unwrap();
}

/// Measurements of a machine of L = 1 us, o = g = 0.25 us, G = 0.1 ns/B over an adapter, copies at 10 GB/s.
pub fn machine() -> Vec<Value> {
    let sizes: Vec<u64> = (3..24).map(|power| 1 << power).collect();
    let base = |benchmark: &str, size: u64| json!({"benchmark": benchmark, "method": "measured", "size_B": size});
    let with = |mut record: Value, key: &str, value: f64| {
        record[key] = value.into();
        record["statistic_of"] = key.into();
        record["ci95_low"] = (value * 0.99).into();
        record["ci95_high"] = (value * 1.01).into();
        record
    };
    let mut all = Vec::new();
    for &size in &sizes {
        let s = size as f64;
        let mut pingpong = base("pingpong", size);
        pingpong["via"] = "tcp".into();
        all.push(with(pingpong, "latency_us", 1.5 + 1e-4 * s));
        all.push(with(base("stream", size), "bandwidth_MBps", s / (0.25 + 1e-4 * s)));
        all.push(with(base("memory", size), "bandwidth_MBps", 10_000.0));
    }
    all
}
