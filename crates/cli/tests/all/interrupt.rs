//! Long lists of cells: what is done is told while the rest runs, and Ctrl-C leaves it.

use crate::common::program;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

/// The first cell takes a moment, the second one minutes.
const LINE: &str = "simulate alltoall --fabric ib-ndr-fat-tree2 --nodes 32 --size 64,128MiB --progress always";

fn started(line: &str) -> Child {
    // A shell's job in the background ignores Ctrl-C, and so does what it starts.
    let mut command = Command::new("env");
    command.arg("--default-signal=INT").arg(program());
    command.args(line.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Runs a line until it tells that a first result is done, then interrupts it: its status, results and last words.
fn interrupted(line: &str) -> (Option<i32>, String, String) {
    let mut child = started(line);
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut told = String::new();
    while !told.contains("hotlink: done: ") {
        let mut line = String::new();
        assert!(errors.read_line(&mut line).unwrap() > 0, "it ended by itself: {told}");
        told.push_str(&line);
    }
    assert!(
        told.contains("done: ib-ndr-fat-tree2, alltoall, linear-shift, destination, packet, nodes 32, size_B 64: "),
        "{told}"
    );
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    errors.read_to_string(&mut told).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap(), told)
}

#[test]
fn ctrl_c_leaves_what_is_done() {
    let (status, out, told) = interrupted(&format!("{LINE} --json"));
    assert_eq!(status, Some(130), "{told}");
    assert!(told.contains("hotlink: interrupted: 1 results were done; a plan (`hotlink sweep"), "{told}");
    let document: Value = serde_json::from_str(&out).expect("one whole document");
    assert_eq!(document["incomplete"], "interrupted by Ctrl-C");
    let records = document["records"].as_array().unwrap();
    assert!(records.len() == 1 && records[0]["size_B"] == 64 && records[0]["latency_us"].is_number(), "{out}");
    // CSV cannot say so; the user knows.
    let (status, out, told) = interrupted(&format!("{LINE} --format csv"));
    assert_eq!((status, out.lines().count()), (Some(130), 2), "{out}{told}");
    let (status, out, told) = interrupted(LINE);
    assert!(status == Some(130) && out.contains("incomplete: interrupted by Ctrl-C"), "{out}{told}");
}

/// A finished cell is a file before the sweep ends, so that the same line goes on after it.
#[test]
fn an_interrupted_sweep_goes_on_from_its_finished_cells() {
    let folder = std::env::temp_dir().join(format!("hotlink-interrupt-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).unwrap();
    let plan = folder.join("p.toml");
    let study = "[[study]]\nverb = \"simulate alltoall\"\nfabric = \"ib-ndr-fat-tree2\"\nnodes = 32\n";
    std::fs::write(&plan, format!("{study}size = [\"64\", \"128MiB\"]\n")).unwrap();
    let cells = folder.join("cells");
    let line = format!("sweep {} --out {} --json", plan.display(), cells.display());
    let (status, out, told) = interrupted(&format!("{line} --progress always"));
    assert_eq!(status, Some(130), "{told}");
    assert!(told.contains("the same command goes on from the cells in "), "{told}");
    let document: Value = serde_json::from_str(&out).expect("one whole document");
    assert_eq!(document["records"].as_array().unwrap().len(), 1, "{out}");
    let kept = std::fs::read_dir(&cells).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    assert!(kept.len() == 1 && kept[0].to_string_lossy().ends_with(".json"), "{kept:?}");
    let listed = Command::new(program()).args(line.split_whitespace()).arg("--list").output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let finished: Vec<&Value> = listed["records"].as_array().unwrap().iter().map(|one| &one["finished"]).collect();
    assert_eq!(finished, [&Value::Bool(true), &Value::Bool(false)]);
    std::fs::remove_dir_all(&folder).unwrap();
}
