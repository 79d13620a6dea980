//! Ranks on several machines: two sets of namespaces joined by a cable. Each has a network, a host name and a machine
//! identity of its own. Bounds are the network's, not those of one machine's memory.

use crate::common::program;
use serde_json::Value;
use std::process::{Command, Output};

/// Runs the same `measure` command on two such machines as ranks 0 and 1; `None` where the system forbids them.
fn on_two_machines(arguments: &str) -> Option<Output> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/limited_hosts.sh");
    let identity = |name: &str| {
        let file = std::env::temp_dir().join(format!("hotlink-machine-{}-{name}", std::process::id()));
        std::fs::write(&file, format!("{name}\n")).unwrap();
        file.display().to_string()
    };
    // As ranks of a Slurm step: task 0 is on the first machine, which the other finds by its name.
    let step = "HOTLINK_SECRET=long_enough_a_secret SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NUM_NODES=2 SLURM_JOB_ID=5 SLURM_STEP_ID=0";
    let on = |rank: u32, name: &str| {
        let own = format!("mount --bind {} /proc/sys/kernel/random/boot_id", identity(name));
        let step = format!("{step} SLURM_PROCID={rank} SLURM_STEP_NODELIST=10.99.0.1,10.99.0.2");
        let command = program();
        format!("unshare -m sh -c '{own} && {step} {command} measure {arguments} --json'")
    };
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "60", "unshare", "-rn", "sh", script, "0.5", "0", "1000"]);
    let output = command.args([on(1, "far"), on(0, "near")]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    let forbidden = ["unshare failed", "Operation not permitted", "permission denied"];
    if output.status.code() == Some(77) || forbidden.iter().any(|what| told.contains(what)) {
        eprintln!("LEFT OUT: no namespaces, or neither netem nor tun devices here: {told}");
        return None;
    }
    Some(output)
}

fn records(arguments: &str) -> Option<Vec<Value>> {
    let output = on_two_machines(arguments)?;
    let told = String::from_utf8_lossy(&output.stderr);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {told}"));
    Some(document["records"].as_array().unwrap().clone())
}

#[test]
fn the_bound_is_the_named_fabric() {
    let Some(records) = records("pingpong --via tcp --size 64KiB --time 0.1 --blocks 1 --fabric myrinet-clos64") else {
        return;
    };
    let [record] = &records[..] else { panic!("{records:?}") };
    assert_eq!((record["machines"].as_u64(), record["ranks"].as_u64()), (Some(2), Some(2)));
    assert!(record["limiting_resource"].as_str().unwrap().contains("Myrinet"), "{record}");
    // 64 KiB at no more than the bus lets through, and not at what memory copies.
    let bound = record["bound_latency_us"].as_f64().unwrap();
    assert!((200.0..1000.0).contains(&bound), "{record}");
    // Half a millisecond passes on the way: the bound is never beaten.
    assert!(record["efficiency"].as_f64().unwrap() < 1.0, "{record}");
}

#[test]
fn ports_that_tell_no_rate_leave_the_memory_as_bound() {
    let Some(records) = records("alltoall --via tcp --size 4KiB --time 0.1 --blocks 1") else { return };
    assert_eq!(records[0]["machines"], 2, "{records:?}");
    let limit = records[0]["limiting_resource"].as_str().unwrap();
    assert!(["memory copy", "cache-line hand-off"].contains(&limit), "{records:?}");
}

#[test]
fn shared_memory_is_one_machines() {
    let Some(output) = on_two_machines("pingpong --via shm --size 8 --time 0.1 --blocks 1") else { return };
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains("shared memory is one machine's"), "{told}");
}
