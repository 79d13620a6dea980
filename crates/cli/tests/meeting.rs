//! Processes that people start on several machines, `--listen` on one and `--connect` on the other: who does not belong is
//! told, and nobody waits for what cannot come.

#[path = "../../real/tests/free_port/mod.rs"]
mod free_port;

use free_port::free_port;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn hotlink(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotlink"));
    command.args(line.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// One that listens, and has said so.
struct Listener {
    child: Child,
    told: BufReader<std::process::ChildStderr>,
}

impl Listener {
    fn start(line: &str) -> Listener {
        let mut child = hotlink(line).spawn().unwrap();
        let told = BufReader::new(child.stderr.take().unwrap());
        let mut listener = Listener { child, told };
        listener.says("waits at");
        listener
    }
    /// Reads what it tells up to a line with these words.
    fn says(&mut self, words: &str) {
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            assert!(self.told.read_line(&mut line).unwrap() > 0, "`{words}` was not told");
        }
    }
    /// Exit status, stdout and the rest of stderr.
    fn ends(mut self) -> (Option<i32>, String, String) {
        let (mut out, mut told) = (String::new(), String::new());
        self.told.read_to_string(&mut told).unwrap();
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        (self.child.wait().unwrap().code(), out, told)
    }
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn another_benchmark_is_turned_away_and_told_and_the_right_one_still_meets() {
    let address = format!("127.0.0.1:{}", free_port());
    let near = Listener::start(&format!("measure pingpong --via tcp --size 8 --time 0.02 --json --listen {address}"));
    let start = Instant::now();
    let other = hotlink(&format!("measure stream --via tcp --size 8 --connect {address}")).output().unwrap();
    assert_eq!(other.status.code(), Some(1), "{}", told(&other));
    assert!(told(&other).contains("turned this one away"), "{}", told(&other));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    let far =
        hotlink(&format!("measure pingpong --via tcp --size 8 --time 0.02 --connect {address}")).output().unwrap();
    assert!(far.status.success(), "{}", told(&far));
    let (status, out, told) = near.ends();
    assert!(status == Some(0) && out.contains("latency_us"), "{told}");
    assert!(far.stdout.is_empty(), "rank 0 alone tells results");
}

#[test]
fn shared_memory_is_refused_before_anybody_waits() {
    let output = hotlink("measure pingpong --listen 127.0.0.1:1 --size 8").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("allowed with them is --via tcp"), "{}", told(&output));
}

#[test]
fn a_peer_that_dies_is_told() {
    let address = format!("127.0.0.1:{}", free_port());
    let line = "measure pingpong --via tcp --size 8 --time 0.05 --rounds 1000 --progress always";
    let mut near = Listener::start(&format!("{line} --listen {address}"));
    let mut far = hotlink(&format!("{line} --connect {address}")).stderr(Stdio::null()).spawn().unwrap();
    near.says(" of 1000");
    far.kill().unwrap();
    far.wait().unwrap();
    let start = Instant::now();
    let (status, _, told) = near.ends();
    assert_eq!(status, Some(1), "{told}");
    assert!(told.contains("rank 1 ended"), "{told}");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}
