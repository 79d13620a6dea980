//! Ranks of Python that one interpreter forks, once it has imported what their script imports at its top. A thousand of
//! them start in a fraction of the time, and share the memory of the modules.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What the interpreter runs.
const PROGRAM: &str = include_str!("zygote.py");

/// Options of Python that take no other word, and leave the script what it is.
const FLAGS: &str = "bBdEIOPqsSu";
/// Those that take the rest of their word, or the next.
const WITH_VALUE: &str = "WX";

/// How many words stand between the interpreter and its script, if a command is that.
fn options(command: &[OsString]) -> Option<usize> {
    let name = Path::new(command.first()?).file_name()?.to_str()?;
    let version = name.strip_prefix("python")?;
    if !version.chars().all(|letter| letter.is_ascii_digit() || letter == '.') {
        return None;
    }
    let mut place = 1;
    loop {
        let word = command.get(place)?.to_str()?;
        let Some(flags) = word.strip_prefix('-') else { return Some(place - 1) };
        let first = flags.chars().next()?;
        place += match (WITH_VALUE.contains(first), flags.len()) {
            (true, 1) => 2,
            (true, _) => 1,
            (false, _) if flags.chars().all(|flag| FLAGS.contains(flag)) => 1,
            _ => return None,
        };
    }
}

/// How ranks ended, by their numbers.
type Ends = Arc<Mutex<BTreeMap<u32, ExitStatus>>>;

/// A rank that the interpreter forked.
pub(crate) struct Forked {
    rank: u32,
    pub(crate) id: u32,
    ends: Ends,
}

impl Forked {
    /// How it ended, once it has.
    pub(crate) fn ended(&self) -> Option<ExitStatus> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).get(&self.rank).copied()
    }
}

/// The interpreter that has forked ranks. It ends with the last of them.
pub(crate) struct Zygote(Child);

impl Drop for Zygote {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A pipe: what is read, and the other end for a child.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: the array is the call's to fill; both descriptors are new.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

/// How the ranks of a command start.
pub(crate) enum Start {
    /// The command is no script of Python's.
    Other,
    /// Each starts an interpreter: why.
    Alone(String),
    /// These were forked.
    Forked(Zygote, Vec<Forked>),
}

/// Has one interpreter fork the ranks of a command, which `prepared` begins as it would begin a rank. Where that takes longer
/// than the job may, it is killed.
///
/// # Errors
/// The system's, of starting a process.
pub(crate) fn fork(
    command: &[OsString],
    ranks: u32,
    limit: Option<Duration>,
    prepared: impl FnOnce(&OsStr) -> Command,
) -> io::Result<Start> {
    let Some(options) = options(command) else { return Ok(Start::Other) };
    let (from, to) = pipe()?;
    let mut interpreter = prepared(&command[0]);
    interpreter.args(&command[1..=options]).args(["-c", PROGRAM]);
    interpreter.args([ranks.to_string(), to.as_raw_fd().to_string(), options.to_string()]).args(command);
    let end = to.as_raw_fd();
    // SAFETY: between fork and exec one plain system call is made.
    unsafe {
        interpreter.pre_exec(move || match libc::fcntl(end, libc::F_SETFD, 0) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
    let told = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", command[0].display()));
    let zygote = Zygote(interpreter.spawn().map_err(told)?);
    drop(to);
    let (started, wait) = channel::<()>();
    if let Some(limit) = limit {
        let id = zygote.0.id() as libc::pid_t;
        std::thread::spawn(move || {
            if wait.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                // SAFETY: a plain system call; it was not reaped, since then `started` is gone.
                unsafe { libc::kill(id, libc::SIGKILL) };
            }
        });
    }
    let mut lines = BufReader::new(std::fs::File::from(from)).lines();
    let first = lines.next().transpose()?;
    if first.as_deref() != Some("ready") {
        let why = first.as_deref().and_then(|line| line.strip_prefix("no ")).unwrap_or("the interpreter ended");
        return Ok(Start::Alone(why.trim().to_owned()));
    }
    let ends = Ends::default();
    let mut forked = Vec::new();
    // Ranks may end while others are still to be started.
    while forked.len() < ranks as usize {
        match lines.next().transpose()?.map(|line| heard(&line)) {
            Some(Some(Heard::Started(rank, id))) => forked.push(Forked { rank, id, ends: ends.clone() }),
            Some(Some(Heard::Ended(rank, status))) => note(&ends, rank, status),
            _ => return Err(io::Error::other("the interpreter that forks the ranks ended before they were started")),
        }
    }
    drop(started);
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            if let Some(Heard::Ended(rank, status)) = heard(&line) {
                note(&ends, rank, status);
            }
        }
        // Ranks end with the interpreter.
        let mut ends = ends.lock().unwrap_or_else(PoisonError::into_inner);
        (0..ranks).for_each(|rank| _ = ends.entry(rank).or_insert(ExitStatus::from_raw(libc::SIGKILL)));
    });
    Ok(Start::Forked(zygote, forked))
}

fn note(ends: &Ends, rank: u32, status: ExitStatus) {
    ends.lock().unwrap_or_else(PoisonError::into_inner).insert(rank, status);
}

/// What the interpreter says.
enum Heard {
    Started(u32, u32),
    Ended(u32, ExitStatus),
}

fn heard(line: &str) -> Option<Heard> {
    let mut words = line.split(' ');
    let (what, rank, number) = (words.next()?, words.next()?.parse().ok()?, words.next()?);
    match what {
        "started" => Some(Heard::Started(rank, number.parse().ok()?)),
        "ended" => Some(Heard::Ended(rank, ExitStatus::from_raw(number.parse().ok()?))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_python_are_known() {
        let of = |line: &str| options(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(of("python a.py -c x"), Some(0));
        assert_eq!(of("/usr/bin/python3.11 -u -W error -Xdev a.py"), Some(4));
        for other in [
            "python -c print()",
            "python -m a",
            "python",
            "python -u",
            "python -i a.py",
            "sh a.py",
            "pythonic a.py",
            "python -",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
