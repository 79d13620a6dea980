//! Strangers at the address where a job meets: impostors, scanners, slow and huge senders. The true ranks meet all the
//! same, no stranger learns anything, and rank 0 stays small.

use crate::free_port::free_port;
use hotlink_message::{Comm, Error};
use hotlink_port::{Driver, Port, Program};
use hotlink_real::{Options, Tcp};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

struct Meets;
impl<P: Port> Program<P, Result<u32, Error>> for Meets {
    async fn run(&self, port: P) -> Result<u32, Error> {
        let comm = Comm::new(port);
        comm.barrier().await?;
        Ok(comm.rank())
    }
}

/// One rank's whole life; started by the tests below, with the launcher's variables set.
#[test]
#[ignore = "a rank of the other tests"]
fn rank() {
    let options = Options { limit: Some(Duration::from_secs(60)), pin: false, ..Options::default() };
    match Tcp::new(options).run(3, &Meets) {
        Ok(results) => assert_eq!(results, [Ok(0), Ok(1), Ok(2)]),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(7);
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    eprintln!("rank is content with{peak}");
}

fn start(rank: u32, address: &str, secret: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "strangers::rank", "--ignored", "--nocapture"]);
    command.env("HOTLINK_RANK", rank.to_string()).env("HOTLINK_RANKS", "3").env("HOTLINK_JOB", "besieged");
    command.env("HOTLINK_MEET", address).env("HOTLINK_SECRET", secret);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn told(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A stranger that sends `words` at once, and stays until it is turned away. Returns what it received.
fn says(address: &str, words: &[u8]) -> Vec<u8> {
    let Ok(mut stream) = TcpStream::connect(address) else { return Vec::new() };
    let _ = stream.write_all(words);
    let mut heard = Vec::new();
    let _ = stream.read_to_end(&mut heard);
    heard
}

/// Sends one byte at a time of a valid beginning.
fn drips(address: &str, over: &AtomicBool) {
    let Ok(mut stream) = TcpStream::connect(address) else { return };
    for byte in b"hotlink\x02".iter().chain(std::iter::repeat(&0)) {
        if over.load(Ordering::Relaxed) || stream.write_all(&[*byte]).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The hello that was enough once: a length, the rank, the job.
fn old_hello(length: u64) -> Vec<u8> {
    [&length.to_le_bytes()[..], &1u32.to_le_bytes(), b"HOTLINK_RANK-besieged"].concat()
}

#[test]
fn a_besieged_job_starts_and_tells_strangers_nothing() {
    let address = format!("127.0.0.1:{}", free_port());
    let over = AtomicBool::new(false);
    let zero = start(0, &address, "a secret that is long enough");
    while TcpStream::connect(&address).is_err() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let heard = std::thread::scope(|scope| {
        let silent: Vec<_> = (0..200).filter_map(|_| TcpStream::connect(&address).ok()).collect();
        let (at, over) = (&address, &over);
        scope.spawn(move || drips(at, over));
        let huge = scope.spawn(move || says(at, &[old_hello(1 << 32), vec![1; 64 << 20]].concat()));
        let mut heard = Vec::new();
        for words in [&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], &old_hello(25), &old_hello(1 << 32), &[0xff; 4096]] {
            heard.extend(says(at, words));
        }
        let impostor = start(1, at, "another secret, just as long");
        let (status, why) = told(impostor);
        assert!(status == Some(7) && why.contains("its secret is not that of HOTLINK_SECRET"), "{why}");
        let others = [1, 2].map(|rank| start(rank, at, "a secret that is long enough"));
        for other in others {
            let (status, told) = told(other);
            assert!(status == Some(0) && told.contains("rank is content"), "{told}");
        }
        over.store(true, Ordering::Relaxed);
        drop(silent);
        heard.extend(huge.join().unwrap());
        heard
    });
    assert_eq!(heard, b"", "strangers hear nothing");
    let (status, told) = told(zero);
    assert!(status == Some(0), "{told}");
    assert!(told.contains(&format!("rank 0 listens at {address} for 2 more")), "{told}");
    assert!(told.contains("it says that it is rank 1, and does not know the secret"), "{told}");
    let lines = told.lines().filter(|line| line.contains("turned away")).count();
    assert!((1..40).contains(&lines), "{lines} lines about strangers:\n{told}");
    let peak = told.split("content with").nth(1).unwrap().split_whitespace().next().unwrap();
    let peak_kib: u64 = peak.parse().unwrap();
    assert!(peak_kib < 100 << 10, "rank 0 took {peak_kib} KiB");
}

#[test]
fn without_a_secret_nobody_listens_to_other_machines() {
    let rank = |secret: &[(&str, &str)]| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "strangers::rank", "--ignored", "--nocapture"]).envs(secret.iter().copied());
        command.envs([("HOTLINK_RANK", "0"), ("HOTLINK_RANKS", "3"), ("HOTLINK_MEET", "192.0.2.1:7000")]);
        told(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    };
    let (status, why) = rank(&[]);
    assert!(status == Some(7) && why.contains("HOTLINK_SECRET_FILE") && why.contains("umask 077"), "{why}");
    let (status, why) = rank(&[("HOTLINK_SECRET", "short")]);
    assert!(status == Some(7) && why.contains("16 to 4096"), "{why}");
    let (status, why) = rank(&[("HOTLINK_SECRET", "a secret that is long enough")]);
    assert!(status == Some(7) && why.contains("cannot listen at 192.0.2.1:7000"), "{why}");
}
