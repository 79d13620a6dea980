//! A job of processes on this machine: starts one a rank, passes signals on, and ends all when one fails.
#![allow(unsafe_code)]

use crate::family::{Kin, below};
use crate::zygote::{self, Forked, Zygote};
use hotlink_seats::{NOTICED, WAITS, Waits, Watch, sys};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between checks of the processes.
const LOOK: Duration = Duration::from_millis(5);
/// Between checks of what they wait for.
const LOOK_AT_WAITS: Duration = Duration::from_millis(50);
/// How long ranks may take to notice that another has failed, and to end when they are asked to.
const GRACE: Duration = Duration::from_secs(1);
/// The status of a job whose time was up: that of the command `timeout`. Other launchers have one each.
const OVER_TIME: u8 = 124;
/// What is passed on like a signal where the job's time is up.
pub(crate) const TIME_IS_UP: libc::c_int = -1;

/// What is started.
#[derive(Clone, Debug)]
pub struct Job {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// How many of it.
    pub ranks: u32,
    /// Variables that every rank gets, in addition to those that name its place.
    pub variables: Vec<(String, OsString)>,
    /// Each line that a rank prints is marked with its number.
    pub tags: bool,
    /// What ranks print goes to the standard error output, all of it.
    pub errors_alone: bool,
    /// If the program is a script of Python's, one interpreter imports what it imports at its top, and forks the ranks.
    /// Where each rank still starts its own, this receives the reason.
    pub forks: Option<fn(&str)>,
    /// When all ranks have waited this long for each other, they are ended, and the report says who waits for whom.
    /// `None`: they wait.
    pub stall: Option<Duration>,
    /// A job that has not ended after this long is ended; `None`: it may take for ever.
    pub limit: Option<Duration>,
}

/// How a job ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobEnd {
    /// What a shell would say: 0, the status of the first rank that failed, or 128 and the signal that ended it.
    pub status: u8,
    /// Which rank failed first, and how; the lowest of those that failed in the same way before they were asked to end.
    pub failed: Option<String>,
    /// There are several ranks, and none has begun with the library: each ran by itself. Known where stalls are
    /// detected.
    pub is_unheard: bool,
    /// It was ended because its time was up.
    pub is_over_time: bool,
}

/// The part of a job that this process starts: another one has the others.
pub(crate) struct Order {
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// Names the job, the same on all hosts.
    pub(crate) name: String,
    /// What rank 0 reads, if it is here; instead of this process's standard input.
    pub(crate) input: Option<Receiver<Vec<u8>>>,
}

/// The signal that this process got and should pass on.
static GOT: AtomicI32 = AtomicI32::new(0);
/// The signal to end that this process passed on to a job.
static ENDED: AtomicI32 = AtomicI32::new(0);

extern "C" fn note(signal: libc::c_int) {
    GOT.store(signal, Ordering::Relaxed);
}

/// Signals that are the ranks' rather than this process's.
const PASSED: [libc::c_int; 6] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2, libc::SIGCONT];

/// Has the ranks get this signal.
pub(crate) fn pass_on(signal: libc::c_int) {
    GOT.store(signal, Ordering::Relaxed);
}

/// Whether this process may read the standard input. A terminal stops processes in the background that read it.
pub(crate) fn may_read_terminal() -> bool {
    // SAFETY: plain questions to the system.
    unsafe { libc::isatty(0) == 0 || libc::tcgetpgrp(0) == libc::getpgrp() }
}

/// Ends this process by the signal that it passed on to a job to end it. A process without a job ends the same way, so
/// its parent sees that it was interrupted. Without such a signal nothing happens.
pub fn end_if_interrupted() {
    let signal = ENDED.load(Ordering::Relaxed);
    if signal != 0 {
        // SAFETY: plain system calls; the signal ends this process.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

/// From now on signals that are the ranks' are noted.
pub(crate) fn listen() {
    for signal in PASSED {
        // SAFETY: the handler only stores a number.
        unsafe { libc::signal(signal, note as *const () as libc::sighandler_t) };
    }
}

/// Processes that are started together and end together.
pub(crate) trait Supervised {
    /// Those that run, with their numbers.
    fn children(&mut self) -> &mut Vec<(u32, Process)>;
    /// Passes a signal on.
    fn signal(&mut self, signal: libc::c_int);
    /// What messages call one.
    fn name(&self, number: u32) -> String;
    /// Those that run, where the job's time is up.
    fn still(&self) -> String;
    /// Which rank waits for which, once it is known that none can go on.
    fn stuck(&mut self) -> Option<String> {
        None
    }
}

/// A process that a job started, itself or by an interpreter.
pub(crate) enum Process {
    Own(Child),
    Forked(Forked),
}

impl Process {
    fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        match self {
            Process::Own(child) => child.try_wait(),
            Process::Forked(forked) => Ok(forked.ended()),
        }
    }
    /// Its number, unless it was reaped: then that may be another's.
    fn id(&self) -> Option<u32> {
        match self {
            Process::Own(child) => Some(child.id()),
            Process::Forked(forked) => forked.ended().is_none().then_some(forked.id),
        }
    }
}

/// Sends a signal to processes that were not reaped, so that their numbers are still their own.
pub(crate) fn send(signal: libc::c_int, children: &[(u32, Process)]) {
    for id in children.iter().filter_map(|(_, process)| process.id()) {
        // SAFETY: a plain system call.
        unsafe { libc::kill(id as libc::pid_t, signal) };
    }
}

/// Takes out those that have ended.
fn ended(children: &mut Vec<(u32, Process)>) -> io::Result<Vec<(u32, ExitStatus)>> {
    let mut ended = Vec::new();
    let mut place = 0;
    while place < children.len() {
        match children[place].1.try_wait()? {
            Some(status) => ended.push((children.swap_remove(place).0, status)),
            None => place += 1,
        }
    }
    ended.sort_by_key(|end| end.0);
    Ok(ended)
}

/// The running ranks; killed and reaped when dropped.
struct Ranks {
    running: Vec<(u32, Process)>,
    /// The interpreter that forked them; it ends after them.
    _zygote: Option<Zygote>,
    /// Sees that none can go on; with the time of its last check.
    watch: Option<(Watch, Instant)>,
    /// What they had started when they were asked to end.
    kin: BTreeSet<Kin>,
}

impl Supervised for Ranks {
    fn children(&mut self) -> &mut Vec<(u32, Process)> {
        &mut self.running
    }
    fn signal(&mut self, signal: libc::c_int) {
        let is_up = signal == TIME_IS_UP;
        let signal = if is_up { libc::SIGTERM } else { signal };
        let ends = [libc::SIGTERM, libc::SIGKILL].contains(&signal);
        if ends {
            let ids = self.running.iter().filter_map(|(_, process)| process.id());
            let started = below(ids.chain(self.kin.iter().filter(|kin| kin.runs()).map(Kin::id)));
            self.kin.extend(started);
        }
        // Ranks first: a shell reports what it has started and ends before it does.
        send(signal, &self.running);
        self.kin.iter().filter(|_| ends).for_each(|kin| kin.send(signal));
    }
    fn name(&self, rank: u32) -> String {
        format!("rank {rank}")
    }
    fn still(&self) -> String {
        listed("rank", self.running.iter().map(|(rank, _)| *rank).collect())
    }
    fn stuck(&mut self) -> Option<String> {
        let Ranks { running, watch: Some((watch, looked)), .. } = self else { return None };
        if looked.elapsed() < LOOK_AT_WAITS {
            return None;
        }
        *looked = Instant::now();
        watch.look(|rank| running.iter().all(|(other, _)| *other != rank))
    }
}

impl Ranks {
    /// Waits until what the ranks had started has ended, but not for long.
    fn outlast_kin(&self) {
        let until = Instant::now() + GRACE;
        while self.kin.iter().any(Kin::runs) && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Ranks {
    fn drop(&mut self) {
        // What ranks have started has as long to end as they had.
        if self.running.is_empty() {
            self.outlast_kin();
        }
        self.signal(libc::SIGKILL);
        for (_, process) in &mut self.running {
            if let Process::Own(child) = process {
                let _ = child.wait();
            }
        }
        self.outlast_kin();
    }
}

/// Gives a rank what it is to read.
fn feed(mut to: ChildStdin, pieces: Receiver<Vec<u8>>) {
    // A rank that reads no more is its own concern. Where the pieces end, so does its input.
    std::thread::spawn(move || pieces.iter().all(|piece| to.write_all(&piece).is_ok()));
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
            // One write a line, so that lines of ranks do not mix. A reader that has gone is not the ranks' concern.
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

/// Numbers as people write them: `ranks 0 to 3, 7`.
pub(crate) fn listed(what: &str, mut numbers: Vec<u32>) -> String {
    numbers.sort_unstable();
    let runs: Vec<String> = numbers
        .chunk_by(|one, next| one + 1 == *next)
        .flat_map(|run| match run {
            [first, .., last] if run.len() > 2 => vec![format!("{first} to {last}")],
            _ => run.iter().map(u32::to_string).collect(),
        })
        .collect();
    format!("{what}{} {}", if numbers.len() == 1 { "" } else { "s" }, runs.join(", "))
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
        // This process's number distinguishes jobs that run at the same time.
        let name = format!("run-{}", std::process::id());
        self.run_part(Order { first: 0, count: self.ranks, name, input: None }, ended)
    }
    /// Runs some of its ranks.
    pub(crate) fn run_part(&self, order: Order, ended: impl Fn(u32)) -> io::Result<JobEnd> {
        let Order { first, count, name, mut input } = order;
        let is_part = input.is_some();
        let until = Until::now(self.limit);
        if !is_part {
            listen();
        }
        let stall = self.stall.filter(|_| !is_part);
        let waits = stall.and_then(|stall| Some((Waits::new(self.ranks).ok()?, stall)));
        let path = waits.as_ref().and_then(|(waits, _)| waits.path());
        let watch = waits.as_ref().map(|(waits, stall)| (waits.watch(*stall), Instant::now()));
        let mut ranks = Ranks { running: Vec::new(), _zygote: None, watch, kin: BTreeSet::new() };
        let shared = path.as_deref();
        let mut copies = Vec::new();
        if let Some(alone) = self.forks.filter(|_| !is_part && !self.tags) {
            let start =
                zygote::fork(&self.command, count, until.left(), |program| self.prepared(program, &name, shared));
            if until.is_up() {
                return Ok(until.over("the interpreter that forks the ranks"));
            }
            match start? {
                zygote::Start::Other => {}
                zygote::Start::Forked(zygote, forked) => {
                    ranks._zygote = Some(zygote);
                    ranks.running = (0..).zip(forked.into_iter().map(Process::Forked)).collect();
                }
                zygote::Start::Alone(why) => alone(&why),
            }
        }
        let started = ranks.running.len() as u32;
        for rank in first + started..first + count {
            let mut child = self.start(rank, &name, is_part, shared)?;
            if let (Some(out), Some(errors)) = (child.stdout.take(), child.stderr.take()) {
                copies.push(tagged(rank, out, self.errors_alone));
                copies.push(tagged(rank, errors, true));
            }
            if let (Some(to), Some(pieces)) = (child.stdin.take(), input.take()) {
                feed(to, pieces);
            }
            ranks.running.push((rank, Process::Own(child)));
        }
        let mut end = supervise(&mut ranks, !is_part, until, ended)?;
        drop(ranks);
        end.is_unheard = self.ranks > 1 && waits.is_some_and(|(waits, _)| !waits.are_opened());
        copies.into_iter().for_each(|copy| _ = copy.join());
        Ok(end)
    }
    fn start(&self, rank: u32, name: &str, fed: bool, waits: Option<&str>) -> io::Result<Child> {
        let program = self.command.first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = self.prepared(program, name, waits);
        command.args(&self.command[1..]).env("HOTLINK_RANK", rank.to_string());
        match rank {
            0 if fed => _ = command.stdin(Stdio::piped()),
            0 => {}
            _ => _ = command.stdin(Stdio::null()),
        }
        let told = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", program.display()));
        command.spawn().map_err(told)
    }
    /// What all ranks have in common; `waits`: where they report long waits.
    fn prepared(&self, program: &OsStr, name: &str, waits: Option<&str>) -> Command {
        let mut command = Command::new(program);
        waits.into_iter().for_each(|path| _ = command.env(WAITS, path));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.env("HOTLINK_RANKS", self.ranks.to_string()).env("HOTLINK_JOB", name);
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
        command
    }
}

/// When a job's time is up.
#[derive(Clone, Copy)]
pub(crate) struct Until {
    limit: Option<(Duration, Instant)>,
}

impl Until {
    /// As long as this from now on.
    pub(crate) fn now(limit: Option<Duration>) -> Until {
        Until { limit: limit.map(|limit| (limit, Instant::now())) }
    }
    /// How long that is from now.
    pub(crate) fn left(self) -> Option<Duration> {
        self.limit.map(|(limit, since)| limit.saturating_sub(since.elapsed()))
    }
    fn is_up(self) -> bool {
        self.left() == Some(Duration::ZERO)
    }
    /// How a job ends then; `still`: what runs. A part of one has no limit of its own, and is notified.
    fn over(self, still: &str) -> JobEnd {
        let limit = self.limit.map_or("of the job".to_owned(), |(limit, _)| format!("of {} s", limit.as_secs_f64()));
        let failed = format!("the time limit {limit} (--timeout or MPIEXEC_TIMEOUT) is reached: {still} still ran");
        JobEnd { status: OVER_TIME, failed: Some(failed), is_over_time: true, ..JobEnd::default() }
    }
}

/// Watches them until all have ended. Those of one that is no job's whole (`is_whole`) and is asked to end have not
/// failed.
pub(crate) fn supervise(
    of: &mut impl Supervised,
    is_whole: bool,
    until: Until,
    told: impl Fn(u32),
) -> io::Result<JobEnd> {
    let mut end = JobEnd::default();
    let mut asked: Option<(Instant, bool)> = None;
    // The one that the end names.
    let mut first: Option<u32> = None;
    while !of.children().is_empty() {
        let ended = ended(of.children())?;
        for &(number, status) in &ended {
            let (code, how) = how(status);
            // Chance decides which failure is seen first, and would change from run to run. Of those that fail alike it
            // is the lowest; a rank that noticed another's end was not the first.
            let is_by_itself = asked.is_some_and(|(_, terminated)| !terminated);
            let is_cause = |first| (end.status == code && number < first) || (end.status == NOTICED && code != NOTICED);
            let names_it = first.is_none_or(|first| is_by_itself && is_cause(first));
            if code != 0 && names_it {
                let is_asked = !is_whole && asked.is_some();
                let failed = (!is_asked).then(|| format!("{} {how}", of.name(number)));
                end = JobEnd { status: code, failed, ..JobEnd::default() };
                first = Some(number);
                asked.get_or_insert((Instant::now(), false));
            }
        }
        ended.iter().for_each(|(number, _)| told(*number));
        if asked.is_none()
            && let Some(why) = of.stuck()
        {
            end = JobEnd { status: 1, failed: Some(why), ..JobEnd::default() };
            // No rank's own end is named in place of that: none has a lower number.
            (first, asked) = (Some(0), Some((Instant::now(), false)));
        }
        let got = GOT.swap(0, Ordering::Relaxed);
        match if asked.is_none() && until.is_up() { TIME_IS_UP } else { got } {
            0 => {}
            TIME_IS_UP if asked.is_some() || of.children().is_empty() => {}
            TIME_IS_UP => {
                end = until.over(&of.still());
                of.signal(TIME_IS_UP);
                (first, asked) = (Some(0), Some((Instant::now(), true)));
            }
            signal => {
                of.signal(signal);
                if [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGKILL].contains(&signal) {
                    ENDED.store(signal, Ordering::Relaxed);
                    asked.get_or_insert((Instant::now(), true));
                }
            }
        }
        // First they may notice by themselves and say so, then they are asked to end, then they are ended.
        if let Some((when, terminated)) = asked
            && when.elapsed() > GRACE
        {
            of.signal(if terminated { libc::SIGKILL } else { libc::SIGTERM });
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
        let variables = vec![("MARK".to_owned(), "x".into())];
        Job { command, ranks, variables, tags: false, errors_alone: false, forks: None, stall: None, limit: None }
    }

    #[test]
    fn a_job_ends_as_its_first_failing_rank() {
        let good = job("test \"$HOTLINK_RANKS$MARK\" = 3x && test $HOTLINK_RANK -lt 3", 3).run().unwrap();
        assert_eq!(good, JobEnd::default());
        // The others would sleep for long.
        let bad = job("if test $HOTLINK_RANK = 1; then exit 7; fi; exec sleep 100", 3).run().unwrap();
        assert_eq!((bad.status, bad.failed.as_deref()), (7, Some("rank 1 ended with status 7")));
        let killed = job("if test $HOTLINK_RANK = 0; then kill -9 $$; fi; exec sleep 100", 2).run().unwrap();
        assert_eq!((killed.status, killed.failed.as_deref()), (137, Some("rank 0 was killed by signal 9")));
        // Ranks that fail alike, the lowest last; and one that fails in another way since the first has.
        let alike = job("test $HOTLINK_RANK = 1 || sleep 0.1; exit 3", 2).run().unwrap();
        assert_eq!((alike.status, alike.failed.as_deref()), (3, Some("rank 0 ended with status 3")));
        let noticed = job("test $HOTLINK_RANK = 0 && exit 58; sleep 0.1; exit 3", 2).run().unwrap();
        assert_eq!((noticed.status, noticed.failed.as_deref()), (3, Some("rank 1 ended with status 3")));
        let other = job("test $HOTLINK_RANK = 1 && exit 3; sleep 0.1; exit 4", 2).run().unwrap();
        assert_eq!((other.status, other.failed.as_deref()), (3, Some("rank 1 ended with status 3")));
    }

    #[test]
    fn a_job_ends_when_its_time_is_up_with_all_that_its_ranks_started() {
        // Shells that start another process each; one of these will not be asked to end. The second one ends by itself.
        let mark = format!("{}.5", 7000 + std::process::id() % 1000);
        let script = format!("test $HOTLINK_RANK = 1 || {{ (trap '' TERM; sleep {mark}; sleep {mark}); true; }}");
        let limited = |script: &str| Job { limit: Some(Duration::from_millis(500)), ..job(script, 5) };
        let began = Instant::now();
        let end = limited(&script).run().unwrap();
        let why = "the time limit of 0.5 s (--timeout or MPIEXEC_TIMEOUT) is reached: ranks 0, 2 to 4 still ran";
        assert_eq!((end.status, end.failed.as_deref(), end.is_over_time), (124, Some(why), true));
        assert!(began.elapsed() < Duration::from_secs(60));
        let lines = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("cmdline"));
        assert!(
            !lines.filter_map(|path| std::fs::read_to_string(path).ok()).any(|line| line == format!("sleep\0{mark}\0"))
        );
        // A job that fails before its limit has failed; one that is in time is neither.
        assert_eq!(limited("exit 3").run().unwrap().status, 3);
        assert_eq!(limited("true").run().unwrap(), JobEnd::default());
    }

    #[test]
    fn what_cannot_be_started_is_named() {
        let none = Job { command: vec!["/no/such/program".into()], ..job("", 2) };
        assert!(none.run().unwrap_err().to_string().contains("/no/such/program"));
    }
}
