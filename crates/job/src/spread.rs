//! A job on several hosts. One agent a host, started through `ssh` or its replacement, starts that host's ranks. It
//! ends them on request, or when its parent is gone.

use crate::job::{Job, JobEnd, Order, Process, Supervised, Until, supervise};
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// The first line on an agent's standard input.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Errand {
    /// Both sides must be of one version.
    version: String,
    folder: PathBuf,
    command: Vec<String>,
    first: u32,
    count: u32,
    ranks: u32,
    name: String,
    variables: Vec<(String, String)>,
    tags: bool,
    /// The MPI library, if the user has named one.
    pub library: Option<PathBuf>,
    /// Each rank stays on a core of its own, where there are enough.
    pub bind: bool,
}

/// Words that follow on the agent's standard input.
const SIGNAL: &str = "signal";
const INPUT: &str = "input";
const INPUT_ENDS: &str = "input ends";
/// The most of the standard input that one word carries.
const PIECE: usize = 64 << 10;
/// The status of an `ssh` that could not do what it was asked to.
const REMOTE_FAILED: u8 = 255;
/// A host's name for where we are.
const HERE: &str = "localhost";

/// A job and its hosts.
pub struct Spread {
    /// The command, all ranks, the variables and whether lines are tagged.
    pub job: Job,
    /// Each host with its ranks, in order.
    pub hosts: Vec<(String, u32)>,
    /// What starts a command on another host: `ssh`, with its options.
    pub remote: Vec<OsString>,
    /// The agent's command line on every host.
    pub agent: Vec<String>,
    /// See [`Errand`].
    pub library: Option<PathBuf>,
    /// See [`Errand`].
    pub bind: bool,
}

fn utf8(text: &OsStr) -> io::Result<String> {
    let told = || io::Error::other(format!("{}: words for other hosts must be UTF-8", text.display()));
    text.to_str().map(str::to_owned).ok_or_else(told)
}

/// A word as a shell takes it for itself.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The agents, by their host's place in the list.
struct Agents<'a> {
    hosts: &'a [(String, u32)],
    children: Vec<(u32, Process)>,
    inputs: Vec<Arc<Mutex<Option<ChildStdin>>>>,
    /// Their inputs have ended.
    closed: bool,
}

/// Says a word to an agent, which may be gone.
fn say(input: &Mutex<Option<ChildStdin>>, word: &str, bytes: &[u8]) -> bool {
    let mut input = input.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(open) = &mut *input else { return false };
    open.write_all(word.as_bytes()).and_then(|()| open.write_all(bytes)).and_then(|()| open.flush()).is_ok()
}

impl Supervised for Agents<'_> {
    fn children(&mut self) -> &mut Vec<(u32, Process)> {
        &mut self.children
    }
    fn signal(&mut self, signal: libc::c_int) {
        if signal == libc::SIGKILL {
            // An agent whose input ends kills its ranks. One that does not hear that is given up.
            if std::mem::replace(&mut self.closed, true) {
                crate::job::send(signal, &self.children);
            }
            self.inputs.iter().for_each(|input| *input.lock().unwrap_or_else(PoisonError::into_inner) = None);
        } else {
            self.inputs.iter().for_each(|input| _ = say(input, &format!("{SIGNAL} {signal}\n"), &[]));
        }
    }
    fn name(&self, place: u32) -> String {
        format!("the ranks of host {}:", self.hosts[place as usize].0)
    }
    fn still(&self) -> String {
        let mut places: Vec<u32> = self.children.iter().map(|(place, _)| *place).collect();
        places.sort_unstable();
        let names: Vec<&str> = places.iter().map(|place| self.hosts[*place as usize].0.as_str()).collect();
        format!("ranks of {}", names.join(", "))
    }
}

impl Spread {
    fn errand(&self, first: u32, count: u32) -> io::Result<Errand> {
        let variable = |(name, value): &(String, OsString)| Ok((name.clone(), utf8(value)?));
        Ok(Errand {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            folder: std::env::current_dir()?,
            command: self.job.command.iter().map(|word| utf8(word)).collect::<io::Result<_>>()?,
            first,
            count,
            ranks: self.job.ranks,
            name: format!("run-{}", std::process::id()),
            variables: self.job.variables.iter().map(variable).collect::<io::Result<_>>()?,
            tags: self.job.tags,
            library: self.library.clone(),
            bind: self.bind,
        })
    }
    fn start(&self, host: &str) -> io::Result<Child> {
        let mut command = if host == HERE {
            let mut command = Command::new(&self.agent[0]);
            // A terminal's signals reach it through this process alone.
            command.args(&self.agent[1..]).process_group(0);
            command
        } else {
            let words: Vec<String> = self.agent.iter().map(|word| quoted(word)).collect();
            let mut command = Command::new(&self.remote[0]);
            command.args(&self.remote[1..]).arg(host).arg(words.join(" "));
            command
        };
        let program = command.get_program().to_owned();
        let told = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", program.display()));
        command.stdin(Stdio::piped()).spawn().map_err(told)
    }
    /// Runs the job to its end. Rank 0 has this process's standard input.
    ///
    /// # Errors
    /// The system's, of starting a command.
    pub fn run(&self) -> io::Result<JobEnd> {
        let mut agents = Agents { hosts: &self.hosts, children: Vec::new(), inputs: Vec::new(), closed: false };
        crate::job::listen();
        let until = Until::now(self.job.limit);
        let mut first = 0;
        for (place, (host, count)) in (0..).zip(&self.hosts) {
            let mut child = self.start(host)?;
            let input = Arc::new(Mutex::new(child.stdin.take()));
            agents.children.push((place, Process::Own(child)));
            let mut errand = serde_json::to_vec(&self.errand(first, *count)?)?;
            errand.push(b'\n');
            say(&input, "", &errand);
            agents.inputs.push(input);
            first += count;
        }
        let to_first = agents.inputs[0].clone();
        // It ends with the process: nobody can take back a read of the standard input.
        std::thread::spawn(move || {
            if !crate::job::may_read_terminal() {
                return;
            }
            let (mut from, mut piece) = (io::stdin().lock(), vec![0; PIECE]);
            while let Ok(bytes @ 1..) = from.read(&mut piece) {
                if !say(&to_first, &format!("{INPUT} {bytes}\n"), &piece[..bytes]) {
                    return;
                }
            }
            say(&to_first, &format!("{INPUT_ENDS}\n"), &[]);
        });
        let mut end = supervise(&mut agents, true, until, |_| ())?;
        // An agent has named the rank; what starts agents has no word of its own for where it failed.
        if end.status != REMOTE_FAILED && !end.is_over_time {
            end.failed = None;
        }
        Ok(end)
    }
}

impl Errand {
    /// Reads what this agent is to do.
    ///
    /// # Errors
    /// The other side is no process of this command, or one of another version.
    pub fn read() -> io::Result<Errand> {
        let mut line = String::new();
        io::stdin().read_line(&mut line)?;
        let errand: Errand = serde_json::from_str(&line).map_err(|error| {
            io::Error::other(format!("an agent gets its job from `hotlink run --hosts` of the same version: {error}"))
        })?;
        let (theirs, ours) = (&errand.version, env!("CARGO_PKG_VERSION"));
        if theirs != ours {
            return Err(io::Error::other(format!("version {theirs} has sent the job, and this is {ours}")));
        }
        let told = |error| io::Error::other(format!("{}: {error}", errand.folder.display()));
        std::env::set_current_dir(&errand.folder).map_err(told)?;
        Ok(errand)
    }
    /// Ranks on this host.
    pub fn ranks_here(&self) -> u32 {
        self.count
    }
    /// Runs this host's ranks to their end, with more variables. If the standard input ends, so do they.
    ///
    /// # Errors
    /// The system's, of starting a process.
    pub fn run(&self, more: Vec<(String, OsString)>) -> io::Result<JobEnd> {
        let given = self.variables.iter().map(|(name, value)| (name.clone(), OsString::from(value)));
        let job = Job {
            command: self.command.iter().map(OsString::from).collect(),
            ranks: self.ranks,
            variables: given.chain(more).collect(),
            tags: self.tags,
            errors_alone: false,
            forks: None,
            stall: None,
            // The sender of the errand has the time limit.
            limit: None,
        };
        let input = listen();
        let order = Order { first: self.first, count: self.count, name: self.name.clone(), input: Some(input) };
        job.run_part(order, |_| ())
    }
}

/// Hears what else is said to an agent; gives what rank 0 is to read.
fn listen() -> Receiver<Vec<u8>> {
    let (to, from) = channel();
    std::thread::spawn(move || {
        let mut to = Some(to);
        let mut heard = io::stdin().lock();
        loop {
            let mut line = String::new();
            if heard.read_line(&mut line).is_ok_and(|bytes| bytes == 0) {
                break;
            }
            let mut words = line.split_whitespace();
            match (words.next(), words.next().and_then(|word| word.parse::<i32>().ok())) {
                (Some(SIGNAL), Some(signal)) => crate::job::pass_on(signal),
                (Some(INPUT), Some(bytes)) if (0..=PIECE as i32).contains(&bytes) => {
                    let mut piece = vec![0; bytes as usize];
                    if heard.read_exact(&mut piece).is_err() {
                        break;
                    }
                    to.as_ref().map(|to| to.send(piece));
                }
                (Some(INPUT), None) => to = None,
                _ => break,
            }
        }
        // The process that asked for the job is gone.
        crate::job::pass_on(libc::SIGKILL);
    });
    from
}

/// Whether a host is the one that we are on: it needs nothing to start a command.
pub fn is_here(host: &str) -> bool {
    host == HERE
}

/// The path of a command, for another host.
///
/// # Errors
/// It is not UTF-8.
pub fn path_word(path: &Path) -> io::Result<String> {
    utf8(path.as_os_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_a_quoted_word_for_itself() {
        let word = "a b'c$(d)";
        let told = Command::new("sh").args(["-c", &format!("printf %s {}", quoted(word))]).output().unwrap();
        assert_eq!(String::from_utf8(told.stdout).unwrap(), word);
    }
}
