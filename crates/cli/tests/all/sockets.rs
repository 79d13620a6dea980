//! `measure sockets` on this machine, and between two network namespaces whose cable has a delay, a loss and a rate.
//! The result must match these.

use crate::common::program;
use serde_json::Value;
use std::process::Command;

fn document(output: &[u8]) -> Vec<Value> {
    let document: Value = serde_json::from_slice(output).unwrap();
    document["records"].as_array().unwrap().clone()
}

/// Records of `measure sockets ARGS` over such a cable; `None`, and why on stderr, where the system forbids it.
fn over_cable(delay_ms: f64, loss: f64, mbit: f64, arguments: &str) -> Option<Vec<Value>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/limited_hosts.sh");
    let command = program();
    let far = format!("{command} measure sockets --connect 10.99.0.1:7071 {arguments}");
    let near = format!("{command} measure sockets --listen 10.99.0.1:7071 --json {arguments}");
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "60", "unshare", "-rn", "sh", script]).env("HOTLINK_SECRET", "a secret of both hosts");
    command.args([delay_ms, loss, mbit].map(|value| value.to_string())).args([far, near]);
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => Some(document(&output.stdout)),
        Some(77) => {
            eprintln!("LEFT OUT: no network namespaces, or neither netem nor tun devices here: {told}");
            None
        }
        Some(1) if told.contains("unshare failed") || told.contains("Operation not permitted") => {
            eprintln!("LEFT OUT: no namespaces here: {told}");
            None
        }
        _ => panic!("{}\n{told}", String::from_utf8_lossy(&output.stdout)),
    }
}

/// Whether records over such a cable are right in one of three tries. A busy machine can miss once; a wrong measurement
/// misses always. True where the system forbids cables.
fn matches(cable: (f64, f64, f64), arguments: &str, are_right: impl Fn(&[Value]) -> bool) -> bool {
    (0..3).any(|_| {
        let Some(records) = over_cable(cable.0, cable.1, cable.2, arguments) else { return true };
        let right = are_right(&records);
        if !right {
            eprintln!("not so: {records:?}");
        }
        right
    })
}

fn number(record: &Value, key: &str) -> f64 {
    record[key].as_f64().unwrap_or_else(|| panic!("{key} in {record}"))
}

#[test]
fn latency_is_the_delay_imposed() {
    let arguments = "--test latency --size 64 --time 0.5 --blocks 1";
    assert!(matches((20.0, 0.0, 1000.0), arguments, |records| {
        let least = |record| number(record, "min") / 1000.0;
        // Never less, however busy the machine.
        assert!(records.len() == 2 && records.iter().all(|record| least(record) >= 20.0), "{records:?}");
        records.iter().all(|record| least(record) < 25.0)
    }));
}

#[test]
fn bandwidth_is_the_rate_imposed() {
    let arguments = "--test bandwidth --size 1400 --time 2 --blocks 1 --line-rate 2.5";
    assert!(matches((1.0, 0.0, 20.0), arguments, |records| {
        assert!(records.len() == 2);
        records.iter().all(|record| (0.8..1.05).contains(&number(record, "efficiency")))
    }));
}

#[test]
fn lost_datagrams_are_counted() {
    let arguments = "--test bandwidth --protocol datagram --size 100 --pace 0.2 --time 1.5 --blocks 1";
    assert!(matches((1.0, 0.2, 100.0), arguments, |records| {
        let (sent, lost) = (number(&records[0], "messages_sent"), number(&records[0], "lost_share"));
        // Four standard deviations of that many trials at 0.2 each.
        sent > 500.0 && (lost - 0.2).abs() < 4.0 * (0.2 * 0.8 / sent).sqrt()
    }));
}

#[test]
fn options_reach_the_sockets_and_stand_in_the_record() {
    let arguments = ["--size", "8,1400", "--nagle", "on,off", "--socket-buffer", "0,16KiB", "--writes", "2"];
    let all =
        [&["measure", "sockets", "--test", "latency", "--time", "0.005", "--blocks", "1", "--json"], &arguments[..]]
            .concat();
    let output = Command::new(program()).args(all).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let records = document(&output.stdout);
    // Streams: Nagle on and off, two buffers, two sizes; datagrams have no Nagle.
    assert_eq!(records.len(), 8 + 4);
    for record in &records {
        assert!(number(record, "latency_us") > 0.0 && number(record, "bound_latency_us") > 0.0);
        let (is_stream, asked) = (record["protocol"] == "stream", record["socket_buffer_B"].as_f64());
        assert_eq!(record["nagle"].is_boolean(), is_stream);
        // Linux gives double for its own needs.
        assert!(asked.is_none_or(|bytes| number(record, "send_buffer_B") == 2.0 * bytes), "{record}");
    }
}

#[test]
fn bad_requests_are_told() {
    for (arguments, told) in [
        (&["--size", "0"][..], "1 B to 1 GiB"),
        (&["--protocol", "datagram", "--size", "1MiB"], "8 to 65507"),
        (&["--listen", "nowhere.invalid:1"], "--listen nowhere.invalid:1"),
        (&["--pace", "0"], "MB/s from"),
    ] {
        let output = Command::new(program()).args(["measure", "sockets"]).args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && text.contains(told), "{arguments:?}: {text}");
    }
}
