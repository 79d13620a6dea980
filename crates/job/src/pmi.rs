//! PMI-1: lines over a descriptor, by which MPICH's `mpiexec.hydra` and Slurm's `pmi2` talk with the ranks that they start.
#![allow(unsafe_code)]

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A conversation with the launcher.
pub(crate) struct Pmi {
    lines: BufReader<UnixStream>,
    space: String,
}

/// The value of a key in an answer.
fn value<'a>(answer: &'a str, key: &str) -> Option<&'a str> {
    answer.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

impl Pmi {
    /// Begins to talk over the descriptor that the launcher left to this process. `limit`: how long an answer may take.
    pub(crate) fn open(descriptor: RawFd, limit: Duration) -> io::Result<Pmi> {
        // SAFETY: the launcher left it open for this, and it is only borrowed until its copy is made.
        let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
        Pmi::over(UnixStream::from(borrowed.try_clone_to_owned()?), limit)
    }
    fn over(stream: UnixStream, limit: Duration) -> io::Result<Pmi> {
        stream.set_read_timeout(Some(limit))?;
        let mut pmi = Pmi { lines: BufReader::new(stream), space: String::new() };
        pmi.ask("init pmi_version=1 pmi_subversion=1", "response_to_init")?;
        let answer = pmi.ask("get_my_kvsname", "my_kvsname")?;
        pmi.space = value(&answer, "kvsname").ok_or_else(|| io::Error::other(answer.clone()))?.to_owned();
        Ok(pmi)
    }
    fn ask(&mut self, question: &str, due: &str) -> io::Result<String> {
        let told = |why: String| io::Error::other(format!("the launcher's PMI: {question:.20}: {why}"));
        self.lines.get_mut().write_all(format!("cmd={question}\n").as_bytes())?;
        let mut answer = String::new();
        self.lines.read_line(&mut answer).map_err(|error| told(error.to_string()))?;
        let is_well = value(&answer, "rc").is_none_or(|status| status == "0");
        if value(&answer, "cmd") != Some(due) || !is_well {
            return Err(told(format!("it answered {:?}", answer.trim())));
        }
        Ok(answer)
    }
    /// Keeps a value, which has no spaces, for the other ranks to see after the next fence.
    pub(crate) fn put(&mut self, key: &str, text: &str) -> io::Result<()> {
        let space = self.space.clone();
        self.ask(&format!("put kvsname={space} key={key} value={text}"), "put_result").map(drop)
    }
    /// Waits until all ranks are here.
    pub(crate) fn fence(&mut self) -> io::Result<()> {
        self.ask("barrier_in", "barrier_out").map(drop)
    }
    pub(crate) fn get(&mut self, key: &str) -> io::Result<String> {
        let space = self.space.clone();
        let answer = self.ask(&format!("get kvsname={space} key={key}"), "get_result")?;
        value(&answer, "value").map(str::to_owned).ok_or_else(|| io::Error::other(answer.clone()))
    }
    /// From now on the launcher watches how this process ends, and nothing else.
    pub(crate) fn end(mut self) -> io::Result<()> {
        self.ask("finalize", "finalize_ack").map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A launcher of one rank that answers as MPICH's does.
    fn launcher(stream: UnixStream) {
        let mut kept = String::new();
        let mut lines = BufReader::new(stream.try_clone().unwrap());
        let mut out = stream;
        let mut line = String::new();
        while lines.read_line(&mut line).unwrap_or(0) > 0 {
            let answer = match value(&line, "cmd").unwrap() {
                "init" => "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0".to_owned(),
                "get_my_kvsname" => "cmd=my_kvsname kvsname=kvs_7_0".to_owned(),
                "put" => {
                    kept = value(&line, "value").unwrap().to_owned();
                    "cmd=put_result rc=0 msg=success".to_owned()
                }
                "barrier_in" => "cmd=barrier_out".to_owned(),
                "get" if value(&line, "key") == Some("place") => {
                    format!("cmd=get_result rc=0 msg=success value={kept}")
                }
                "get" => "cmd=get_result rc=-1 msg=key_not_found value=unknown".to_owned(),
                _ => "cmd=finalize_ack".to_owned(),
            };
            out.write_all(format!("{answer}\n").as_bytes()).unwrap();
            line.clear();
        }
    }

    #[test]
    fn what_is_put_is_got_after_a_fence() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let server = std::thread::spawn(move || launcher(theirs));
        let mut pmi = Pmi::over(ours, Duration::from_secs(5)).unwrap();
        pmi.put("place", "10.0.0.1:7000").unwrap();
        pmi.fence().unwrap();
        assert_eq!(pmi.get("place").unwrap(), "10.0.0.1:7000");
        let none = pmi.get("other").unwrap_err().to_string();
        assert!(none.contains("key_not_found"), "{none}");
        pmi.end().unwrap();
        server.join().unwrap();
    }
}
