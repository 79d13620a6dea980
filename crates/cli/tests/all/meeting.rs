//! Processes that people start on several machines, `--listen` on one and `--connect` on the other. A process that does
//! not belong gets an error, and none waits for what cannot come.

#[path = "../../../real/tests/all/free_port.rs"]
mod free_port;

use crate::common::program;
use free_port::free_port;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn hotlink(line: &str) -> Command {
    let mut command = Command::new(program());
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
    /// Reads its output up to a line with these words.
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
    let near = Listener::start(&format!(
        "measure pingpong --via tcp --size 8 --time 0.02 --blocks 1 --json --listen {address}"
    ));
    let start = Instant::now();
    let other = hotlink(&format!("measure stream --via tcp --size 8 --connect {address}")).output().unwrap();
    assert_eq!(other.status.code(), Some(1), "{}", told(&other));
    assert!(told(&other).contains("turned this one away"), "{}", told(&other));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    let far = hotlink(&format!("measure pingpong --via tcp --size 8 --time 0.02 --blocks 1 --connect {address}"))
        .output()
        .unwrap();
    assert!(far.status.success(), "{}", told(&far));
    let (status, out, told) = near.ends();
    assert!(status == Some(0) && out.contains("latency_us"), "{told}");
    assert!(far.stdout.is_empty(), "rank 0 alone tells results");
}

#[test]
fn shared_memory_is_refused_before_anybody_waits() {
    let output = hotlink("measure pingpong --listen 127.0.0.1:1 --size 8").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("use --via tcp"), "{}", told(&output));
}

#[test]
fn ranks_that_are_asked_for_different_things_are_told_what_differs() {
    for (near, far, differs) in [
        ("--window 4", "--window 8", "window is 4 on rank 0 and 8 on rank 1"),
        ("--blocks 2", "--blocks 3", "blocks is 2 on rank 0 and 3 on rank 1"),
        ("--direction uni", "--direction bi", "directions is [Uni] on rank 0 and [Bi] on rank 1"),
    ] {
        let address = format!("127.0.0.1:{}", free_port());
        let line = "measure stream --via tcp --size 8 --time 0.02 --spread 0 --json";
        let blocks = if near.contains("blocks") { "" } else { "--blocks 1" };
        let one = Listener::start(&format!("{line} {blocks} {near} --listen {address}"));
        let other = hotlink(&format!("{line} {blocks} {far} --connect {address}")).output().unwrap();
        let (status, out, near_told) = one.ends();
        assert_eq!((status, other.status.code(), out.as_str()), (Some(2), Some(2), ""), "{near_told}");
        assert!(near_told.contains(differs) && told(&other).contains(differs), "{near_told}\n{}", told(&other));
    }
}

#[test]
fn a_peer_that_dies_is_told() {
    let address = format!("127.0.0.1:{}", free_port());
    let line = "measure pingpong --via tcp --size 8 --time 0.05 --blocks 1 --rounds 1000 --progress always";
    let mut near = Listener::start(&format!("{line} --listen {address}"));
    let mut far = hotlink(&format!("{line} --connect {address}")).stderr(Stdio::null()).spawn().unwrap();
    near.says(" of 1000");
    far.kill().unwrap();
    far.wait().unwrap();
    let start = Instant::now();
    let (status, _, told) = near.ends();
    assert_eq!(status, Some(1), "{told}");
    // Within a round, or while the ranks of the next one find each other.
    assert!(["rank 1 ended", "rank 1 has ended"].iter().any(|what| told.contains(what)), "{told}");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// The command with a launcher's variables and these options.
fn as_rank(variables: &[(&str, &str)], line: &str) -> Command {
    let mut command = hotlink(line);
    command.envs(variables.iter().copied());
    command
}

#[test]
fn numbers_that_cannot_be_and_secrets_that_are_none_are_bad_input() {
    let rank = [("HOTLINK_RANK", "5"), ("HOTLINK_RANKS", "2")];
    let far = [("HOTLINK_RANK", "1"), ("HOTLINK_RANKS", "2"), ("HOTLINK_MEET", "192.0.2.1:7000")];
    let open = std::env::temp_dir().join(format!("hotlink-open-secret-{}", std::process::id()));
    std::fs::write(&open, "a secret that others may read").unwrap();
    std::fs::set_permissions(&open, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let with_file = format!("measure barrier --via tcp --secret-file {}", open.display());
    for (variables, line, words) in [
        (&rank[..], "measure barrier", "HOTLINK_RANK=5 with HOTLINK_RANKS=2: the rank must be 0 to 1"),
        (&far, "measure barrier --via tcp", "HOTLINK_SECRET_FILE"),
        (&far, &with_file, "chmod 600"),
        (&[], "measure sockets --listen 192.0.2.1:7000", "HOTLINK_SECRET_FILE"),
        (&[], "measure sockets --connect 192.0.2.1:7000", "HOTLINK_SECRET_FILE"),
    ] {
        let output = as_rank(variables, line).output().unwrap();
        assert!(output.status.code() == Some(2) && told(&output).contains(words), "{line}: {}", told(&output));
        assert!(output.stdout.is_empty());
    }
    std::fs::remove_file(open).unwrap();
}

#[test]
fn a_rank_whose_others_never_come_says_whom_it_waits_for() {
    let mut child = as_rank(&[("PMI_RANK", "0"), ("PMI_SIZE", "2")], "measure barrier").spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.contains("waits on this machine for rank 1, at most 20 s"), "{line}");
}
