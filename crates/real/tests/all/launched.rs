//! Ranks that a launcher started: Debian's Open MPI and MPICH, and variables set by hand. Ranks killed at any moment,
//! and systems that forbid what the ports would like to use. Each test runs this very binary as its ranks.

use crate::free_port::free_port;
use hotlink_message::{Combine, Comm, Element, Error, Operation};
use hotlink_port::{Driver, Kind, Port, Program, RunError, Span};
use hotlink_real::{Mixed, Options, Shm, Tcp};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Sums of ranks by allreduce, and long messages around a ring in private memory.
struct Ring;
impl<P: Port> Program<P, Result<(i64, bool), Error>> for Ring {
    async fn run(&self, port: P) -> Result<(i64, bool), Error> {
        let comm = Comm::new(port);
        let (rank, ranks) = (comm.rank(), comm.ranks());
        let sum = comm.alloc(16, Kind::Default)?;
        comm.write(sum, 0, &i64::from(rank).to_le_bytes())?;
        let add = Operation { combine: Combine::Sum, element: Element::I64 };
        comm.allreduce(add, Span::new(sum, 0, 8), Span::new(sum, 8, 8)).await?;
        let mut total = [0; 8];
        comm.read(sum, 8, &mut total)?;
        let bytes = 300_000;
        let (out, into) = (comm.alloc(bytes, Kind::Private)?, comm.alloc(bytes, Kind::Private)?);
        comm.write(out, 0, &vec![rank as u8; bytes as usize])?;
        let (right, left) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        comm.sendrecv((right, 1, Span::new(out, 0, bytes)), (left, 1, Span::new(into, 0, bytes))).await?;
        let mut seen = vec![0; bytes as usize];
        comm.read(into, 0, &mut seen)?;
        comm.barrier().await?;
        Ok((i64::from_le_bytes(total), seen.iter().all(|&byte| byte == left as u8)))
    }
}

fn options() -> Options {
    Options { limit: Some(Duration::from_secs(20)), pin: false, ..Options::default() }
}

/// One rank's whole life; started by the tests below, with the launcher's variables set.
#[test]
#[ignore = "a rank of the other tests"]
fn rank() {
    let all = [Shm::new(options()).run(3, &Ring), Tcp::new(options()).run(3, &Ring), Shm::new(options()).run(2, &Ring)];
    for (results, sum) in all.into_iter().zip([3, 3, 1]) {
        let results = results.unwrap();
        assert!(results.iter().all(|result| *result == Ok((sum, true))), "{results:?}");
    }
    let many = Shm::new(options()).run(4, &Ring);
    assert!(matches!(many, Err(RunError::Ranks { .. })), "{many:?}");
    eprintln!("rank is content");
}

fn this_test(name: &str) -> Vec<String> {
    let program = std::env::current_exe().unwrap().to_string_lossy().into_owned();
    let name = format!("launched::{name}");
    vec![program, "--exact".to_owned(), name, "--ignored".to_owned(), "--nocapture".to_owned()]
}

fn launch(launcher: &[&str], ranks: &str) {
    let Ok(output) =
        Command::new(launcher[0]).args(&launcher[1..]).args(["-n", ranks]).args(this_test("rank")).output()
    else {
        eprintln!("{} is not here: not tested", launcher[0]);
        return;
    };
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{told}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(told.matches("rank is content").count(), 3, "{told}");
}

#[test]
fn under_open_mpi() {
    launch(&["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"], "3");
}

#[test]
fn under_mpich() {
    launch(&["mpiexec.mpich"], "3");
}

/// Processes of one job by hand: the variables that hotlink itself reads.
fn by_hand(name: &str, ranks: u32, job: &str, more: &[(&str, &str)]) -> Vec<Child> {
    let start = |rank: u32| {
        let words = this_test(name);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).envs(more.iter().copied());
        command.envs([("HOTLINK_RANK", rank.to_string()), ("HOTLINK_RANKS", ranks.to_string())]);
        command.env("HOTLINK_JOB", job).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    (0..ranks).map(start).collect()
}

fn all_are_content(children: Vec<Child>) {
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn by_variables_of_our_own() {
    all_are_content(by_hand("rank", 3, &format!("own-{}", std::process::id()), &[]));
}

/// Over an address, as between machines: TCP alone joins the ranks, shared memory stays each machine's own.
#[test]
fn across_an_address() {
    let free = format!("127.0.0.1:{}", free_port());
    all_are_content(by_hand("far_rank", 3, "far", &[("HOTLINK_MEET", &free)]));
}

#[test]
#[ignore = "a rank of the other tests"]
fn far_rank() {
    let results = Tcp::new(options()).run(3, &Ring).unwrap();
    assert!(results.iter().all(|result| *result == Ok((3, true))), "{results:?}");
}

#[test]
#[ignore = "a rank of the other tests"]
fn far_pair() {
    let results = Tcp::new(options()).run(2, &Ring).unwrap();
    assert!(results.iter().all(|result| *result == Ok((1, true))), "{results:?}");
}

#[test]
#[ignore = "a rank of the other tests"]
fn far_four() {
    let results = Mixed::new(options()).run(4, &Ring).unwrap();
    assert!(results.iter().all(|result| *result == Ok((6, true))), "{results:?}");
    let wrong = hotlink_port::conformance::check(&mut Mixed::new(options()));
    assert_eq!(wrong, [""; 0]);
}

/// Runs one of the tests above as ranks on two hosts that share nothing but a cable.
fn between_hosts(name: &str, each: u32) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/data/two_hosts.sh");
    let mut hosts = Command::new("unshare");
    hosts.args(["-rn", "sh", script]).args(this_test(name)).env("EACH", each.to_string());
    let Ok(output) = hosts.output() else {
        eprintln!("unshare is not here: not tested");
        return;
    };
    let told = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => {}
        Some(77) => eprintln!("no namespaces here: not tested: {told}"),
        // Namespaces of users may be forbidden as a whole.
        _ if told.contains("unshare failed") || told.contains("Operation not permitted") => {
            eprintln!("no namespaces here: not tested: {told}");
        }
        _ => panic!("{}\n{told}", String::from_utf8_lossy(&output.stdout)),
    }
}

#[test]
fn over_a_cable() {
    between_hosts("far_pair", 1);
}

#[test]
fn by_shared_memory_on_each_host_and_a_cable_between_them() {
    between_hosts("far_four", 2);
}

#[test]
fn without_memory_files_or_copies_between_processes() {
    for forbidden in ["process_vm", "memfd", "memfd,process_vm"] {
        let words = this_test("forked");
        let output = Command::new(&words[0]).args(&words[1..]).env("HOTLINK_FORBID", forbidden).output().unwrap();
        assert!(output.status.success(), "{forbidden}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
#[ignore = "a job of the other tests"]
fn forked() {
    let results = Shm::new(options()).run(3, &Ring).unwrap();
    assert!(results.iter().all(|result| *result == Ok((3, true))), "{results:?}");
    assert_eq!(hotlink_port::conformance::check(&mut Shm::new(options())), [""; 0]);
}

/// Works until it is killed or sees that another was.
struct Work;
impl<P: Port> Program<P, Result<(), Error>> for Work {
    async fn run(&self, port: P) -> Result<(), Error> {
        let comm = Comm::new(port);
        eprintln!("at work");
        loop {
            let memory = comm.alloc(100_000, Kind::Default)?;
            let (rank, ranks) = (comm.rank(), comm.ranks());
            let span = Span::new(memory, 0, 100_000);
            let out = comm.alloc(100_000, Kind::Private)?;
            let receive = comm.irecv(Some((rank + ranks - 1) % ranks), Some(1), span)?;
            let send = comm.isend((rank + 1) % ranks, 1, Span::new(out, 0, 100_000))?;
            let mut requests = vec![receive, send];
            // Whichever ends first. A rank that waits for a neighbour that noticed and left would wait forever.
            while let Some((_, result)) = comm.wait_any(&mut requests).await {
                result?;
            }
            comm.free(out)?;
            comm.free(memory)?;
        }
    }
}

#[test]
#[ignore = "a rank of the other tests"]
fn worker() {
    match Shm::new(options()).run(3, &Work) {
        Err(error) => eprintln!("ended: {error}"),
        Ok(results) => assert!(results.iter().all(Result::is_err)),
    }
}

/// Processes that carry a mark in their environment.
fn marked(mark: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.windows(mark.len()).any(|window| window == mark.as_bytes())
    };
    pids.filter(has).collect()
}

fn segments() -> Vec<String> {
    let files = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("hotlink")).collect()
}

/// Counts its own short sleeps, not the clock: on a machine that others keep busy both sides wait for the processor.
fn eventually(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    const SLEEP: Duration = Duration::from_millis(5);
    let mut left = limit.as_millis() / SLEEP.as_millis();
    while !holds() {
        assert!(left > 0, "not within {limit:?}: {what}");
        left -= 1;
        std::thread::sleep(SLEEP);
    }
}

/// A pseudo-random number of milliseconds below `most`.
fn moment(seed: u64, most: u64) -> Duration {
    Duration::from_millis(hotlink_port::loopback::Random::new(seed).below(most))
}

#[test]
fn whatever_is_killed_when_nothing_is_left() {
    // Segments of other processes, which may have been killed on this machine.
    let before = segments();
    for seed in 0..12 {
        let job = format!("killed-{}-{seed}", std::process::id());
        let words = this_test("worker");
        // A job that forks its ranks: the parent, or any of the processes.
        let mark = format!("HOTLINK_MARK={job}");
        let mut parent = Command::new(&words[0]);
        parent.args(&words[1..]).env("HOTLINK_MARK", &job).stdout(Stdio::null()).stderr(Stdio::null());
        let mut parent = parent.spawn().unwrap();
        std::thread::sleep(moment(seed, 60));
        let alive = marked(&mark);
        let victim = alive.get(seed as usize % alive.len().max(1)).copied().unwrap_or(parent.id());
        kill(victim);
        eventually("all processes end", Duration::from_secs(3), || {
            let _ = parent.try_wait();
            marked(&mark).is_empty()
        });
        parent.wait().unwrap();
    }
    let left: Vec<String> = segments().into_iter().filter(|name| !before.contains(name)).collect();
    assert_eq!(left, [""; 0]);
}

#[test]
fn launched_ranks_notice_a_death_within_a_second() {
    for victim in 0..3 {
        let mut ranks = by_hand("worker", 3, &format!("death-{}-{victim}", std::process::id()), &[]);
        // To the others, a rank that is killed before it has met them may still come.
        let told: Vec<_> = ranks.iter_mut().map(until_at_work).collect();
        kill(ranks[victim].id());
        ranks.remove(victim).wait().unwrap();
        for mut rank in ranks {
            eventually("survivors notice", Duration::from_millis(1500), || {
                // The test's own patience is longer than a second for a loaded machine: it only matters that they end.
                matches!(state(rank.id()), None | Some('Z'))
            });
            let _ = rank.wait();
        }
        drop(told);
    }
}

/// Reads what a worker says until it works; what it says later wants a reader, too.
fn until_at_work(rank: &mut Child) -> impl BufRead + use<> {
    let mut told = BufReader::new(rank.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("at work") {
        line.clear();
        assert!(told.read_line(&mut line).unwrap() > 0, "a worker ended before it worked");
    }
    told
}

/// The state letter of a process.
fn state(pid: u32) -> Option<char> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(") ")?.1.chars().next()
}

fn kill(pid: u32) {
    let _ = Command::new("kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status();
}
