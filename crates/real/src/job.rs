//! A job of processes on this machine: starts one a rank, passes signals on, and ends all when one fails.
#![allow(unsafe_code)]

use crate::sys;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between looks at the processes.
const LOOK: Duration = Duration::from_millis(5);
/// How long ranks may take to notice that another has failed, and to end when they are asked to.
const GRACE: Duration = Duration::from_secs(1);

/// What is started.
#[derive(Clone, Debug)]
pub struct Job {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// How many of it.
    pub ranks: u32,
    /// Variables that every rank gets beside those that name its place.
    pub variables: Vec<(String, OsString)>,
    /// Each line that a rank prints is marked with its number.
    pub tags: bool,
    /// What ranks print goes to the standard error output, all of it.
    pub errors_alone: bool,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEnd {
    /// What a shell would say: 0, the status of the first rank that failed, or 128 and the signal that ended it.
    pub status: u8,
    /// Which rank failed first, and how; the lowest of those that failed in the same way before they were asked to end.
    pub failed: Option<String>,
}

/// The signal that this process got and should pass on.
static GOT: AtomicI32 = AtomicI32::new(0);

extern "C" fn note(signal: libc::c_int) {
    GOT.store(signal, Ordering::Relaxed);
}

/// Signals that are the ranks' rather than this process's.
const PASSED: [libc::c_int; 6] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2, libc::SIGCONT];

fn listen() {
    for signal in PASSED {
        // SAFETY: the handler only stores a number.
        unsafe { libc::signal(signal, note as *const () as libc::sighandler_t) };
    }
}

/// The running ranks; killed and reaped when dropped.
struct Ranks(Vec<(u32, Child)>);

impl Ranks {
    fn signal(&self, signal: libc::c_int) {
        for (_, child) in &self.0 {
            // SAFETY: a child that was not reaped, so that the number is still its own.
            unsafe { libc::kill(child.id() as libc::pid_t, signal) };
        }
    }
    /// Takes out those that have ended.
    fn ended(&mut self) -> io::Result<Vec<(u32, ExitStatus)>> {
        let mut ended = Vec::new();
        let mut place = 0;
        while place < self.0.len() {
            match self.0[place].1.try_wait()? {
                Some(status) => ended.push((self.0.swap_remove(place).0, status)),
                None => place += 1,
            }
        }
        ended.sort_by_key(|end| end.0);
        Ok(ended)
    }
}

impl Drop for Ranks {
    fn drop(&mut self) {
        self.signal(libc::SIGKILL);
        self.0.iter_mut().for_each(|(_, child)| _ = child.wait());
    }
}

/// Copies what a rank prints, line by line.
fn tagged(rank: u32, from: impl io::Read + Send + 'static, to_errors: bool) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let (mut from, mut line) = (BufReader::new(from), Vec::new());
        while from.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
            let mut whole = format!("[{rank}] ").into_bytes();
            whole.append(&mut line);
            if whole.last() != Some(&b'\n') {
                whole.push(b'\n');
            }
            // One write a line, so that lines of ranks do not mix. Who reads no more is not the ranks' concern.
            let _ = if to_errors { io::stderr().write_all(&whole) } else { io::stdout().write_all(&whole) };
        }
    })
}

fn how(status: ExitStatus) -> (u8, String) {
    match (status.code(), status.signal()) {
        (Some(code), _) => (code.clamp(0, 255) as u8, format!("ended with status {code}")),
        (None, Some(signal)) => ((128 + signal).clamp(0, 255) as u8, format!("was killed by signal {signal}")),
        (None, None) => (1, "ended".to_owned()),
    }
}

impl Job {
    /// Runs it to its end. The first rank has this process's standard input, the others an empty one.
    ///
    /// # Errors
    /// The system's, of starting a process.
    pub fn run(&self) -> io::Result<JobEnd> {
        self.run_telling(|_| ())
    }
    /// The same; `ended` hears of each rank's end, after that was noted.
    ///
    /// # Errors
    /// As [`Job::run`].
    pub fn run_telling(&self, ended: impl Fn(u32)) -> io::Result<JobEnd> {
        listen();
        let mut ranks = Ranks(Vec::new());
        let mut copies = Vec::new();
        for rank in 0..self.ranks {
            let mut child = self.start(rank)?;
            if let (Some(out), Some(errors)) = (child.stdout.take(), child.stderr.take()) {
                copies.push(tagged(rank, out, self.errors_alone));
                copies.push(tagged(rank, errors, true));
            }
            ranks.0.push((rank, child));
        }
        let end = supervise(&mut ranks, ended)?;
        drop(ranks);
        copies.into_iter().for_each(|copy| _ = copy.join());
        Ok(end)
    }
    fn start(&self, rank: u32) -> io::Result<Child> {
        let program = self.command.first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(&self.command[1..]).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.env("HOTLINK_RANK", rank.to_string()).env("HOTLINK_RANKS", self.ranks.to_string());
        // The parent's number tells jobs apart that run at the same time.
        command.env("HOTLINK_JOB", format!("run-{}", std::process::id()));
        if rank > 0 {
            command.stdin(Stdio::null());
        }
        if self.tags {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        } else if self.errors_alone {
            command.stdout(io::stderr());
        }
        let parent = std::process::id();
        // SAFETY: between fork and exec only plain system calls are made.
        unsafe {
            command.pre_exec(move || {
                PASSED.iter().for_each(|&signal| _ = libc::signal(signal, libc::SIG_DFL));
                if sys::die_with(parent) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
            });
        }
        let told = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", program.display()));
        command.spawn().map_err(told)
    }
}

fn supervise(ranks: &mut Ranks, told: impl Fn(u32)) -> io::Result<JobEnd> {
    let mut end = JobEnd { status: 0, failed: None };
    let mut asked: Option<(Instant, bool)> = None;
    // The rank that the end names.
    let mut first: Option<u32> = None;
    while !ranks.0.is_empty() {
        let ended = ranks.ended()?;
        for &(rank, status) in &ended {
            let (code, how) = how(status);
            // Which of ranks that fail alike is seen first is chance: by itself that would change from run to run.
            let is_alike = end.status == code && asked.is_some_and(|(_, terminated)| !terminated);
            let names_it = first.is_none_or(|first| is_alike && rank < first);
            if code != 0 && names_it {
                end = JobEnd { status: code, failed: Some(format!("rank {rank} {how}")) };
                first = Some(rank);
                asked.get_or_insert((Instant::now(), false));
            }
        }
        ended.iter().for_each(|(rank, _)| told(*rank));
        match GOT.swap(0, Ordering::Relaxed) {
            0 => {}
            signal => {
                ranks.signal(signal);
                if [libc::SIGINT, libc::SIGTERM, libc::SIGHUP].contains(&signal) {
                    asked.get_or_insert((Instant::now(), true));
                }
            }
        }
        // First they may notice by themselves and say so, then they are asked to end, then they are ended.
        if let Some((when, terminated)) = asked
            && when.elapsed() > GRACE
        {
            ranks.signal(if terminated { libc::SIGKILL } else { libc::SIGTERM });
            asked = Some((Instant::now(), true));
        }
        std::thread::sleep(LOOK);
    }
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(script: &str, ranks: u32) -> Job {
        let command = ["sh", "-c", script].map(OsString::from).to_vec();
        Job { command, ranks, variables: vec![("MARK".to_owned(), "x".into())], tags: false, errors_alone: false }
    }

    #[test]
    fn a_job_ends_as_its_first_failing_rank() {
        let good = job("test \"$HOTLINK_RANKS$MARK\" = 3x && test $HOTLINK_RANK -lt 3", 3).run().unwrap();
        assert_eq!(good, JobEnd { status: 0, failed: None });
        // The others would sleep for long.
        let bad = job("if test $HOTLINK_RANK = 1; then exit 7; fi; exec sleep 100", 3).run().unwrap();
        assert_eq!(bad, JobEnd { status: 7, failed: Some("rank 1 ended with status 7".to_owned()) });
        let killed = job("if test $HOTLINK_RANK = 0; then kill -9 $$; fi; exec sleep 100", 2).run().unwrap();
        assert_eq!(killed, JobEnd { status: 137, failed: Some("rank 0 was killed by signal 9".to_owned()) });
        // Ranks that fail alike, the lowest last; and one that fails in another way since the first has.
        let alike = job("test $HOTLINK_RANK = 1 || sleep 0.1; exit 3", 2).run().unwrap();
        assert_eq!(alike, JobEnd { status: 3, failed: Some("rank 0 ended with status 3".to_owned()) });
        let other = job("test $HOTLINK_RANK = 1 && exit 3; sleep 0.1; exit 4", 2).run().unwrap();
        assert_eq!(other, JobEnd { status: 3, failed: Some("rank 1 ended with status 3".to_owned()) });
    }

    #[test]
    fn what_cannot_be_started_is_named() {
        let none = Job { command: vec!["/no/such/program".into()], ..job("", 2) };
        assert!(none.run().unwrap_err().to_string().contains("/no/such/program"));
    }
}
