//! PMI-1 and PMI-2: words over a descriptor, by which MPICH's `mpiexec.hydra` and Slurm's `pmi2` talk with the ranks that they
//! start. PMI-1 is lines. PMI-2 begins with such a line; then each text has its length in six digits in front.
#![allow(unsafe_code)]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Digits of a length in PMI-2.
const DIGITS: usize = 6;

/// What a process says of itself in PMI-2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    pub(crate) job: String,
    pub(crate) rank: String,
}

/// A conversation with the launcher.
pub(crate) struct Pmi {
    lines: BufReader<UnixStream>,
    /// PMI-2 is spoken, and the job is called so.
    job: Option<String>,
    /// Where PMI-1 keeps values.
    space: String,
}

/// The value of a key in an answer.
fn value<'a>(answer: &'a str, key: &str) -> Option<&'a str> {
    answer.split([';', ' ', '\n']).find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

impl Pmi {
    /// Begins to talk over the descriptor that the launcher left to this process. It uses PMI-2 if the launcher gave
    /// the process a name for it and agrees, else PMI-1. `limit`: how long an answer may take.
    pub(crate) fn open(descriptor: RawFd, named: Option<&Named>, limit: Duration) -> io::Result<Pmi> {
        // SAFETY: the launcher left it open for this, and it is only borrowed until its copy is made.
        let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
        Pmi::over(UnixStream::from(borrowed.try_clone_to_owned()?), named, limit)
    }
    fn over(stream: UnixStream, named: Option<&Named>, limit: Duration) -> io::Result<Pmi> {
        stream.set_read_timeout(Some(limit))?;
        let mut pmi = Pmi { lines: BufReader::new(stream), job: None, space: String::new() };
        if let Some(Named { job, rank }) = named {
            let answer = pmi.converse("init pmi_version=2 pmi_subversion=0")?;
            if value(&answer, "pmi_version") == Some("2") && is_well(&answer) {
                pmi.job = Some(job.clone());
                let own = format!("fullinit pmijobid={job} pmirank={rank} threaded=FALSE");
                pmi.ask(&own, "fullinit-response")?;
                return Ok(pmi);
            }
        }
        pmi.ask("init pmi_version=1 pmi_subversion=1", "response_to_init")?;
        let answer = pmi.ask("get_my_kvsname", "my_kvsname")?;
        pmi.space = value(&answer, "kvsname").ok_or_else(|| io::Error::other(answer.clone()))?.to_owned();
        Ok(pmi)
    }
    /// Sends a command with its values, and gives the answer.
    fn converse(&mut self, question: &str) -> io::Result<String> {
        if self.job.is_none() {
            self.lines.get_mut().write_all(format!("cmd={question}\n").as_bytes())?;
            let mut answer = String::new();
            self.lines.read_line(&mut answer)?;
            return Ok(answer);
        }
        let text = format!("cmd={};", question.replace(' ', ";"));
        self.lines.get_mut().write_all(format!("{:DIGITS$}{text}", text.len()).as_bytes())?;
        let mut digits = [0; DIGITS];
        self.lines.read_exact(&mut digits)?;
        let digits = String::from_utf8_lossy(&digits);
        let length = digits.trim().parse().map_err(|_| io::Error::other(format!("{digits:?} for a length")))?;
        let mut answer = vec![0; length];
        self.lines.read_exact(&mut answer)?;
        String::from_utf8(answer).map_err(io::Error::other)
    }
    fn ask(&mut self, question: &str, due: &str) -> io::Result<String> {
        let told = |why: String| io::Error::other(format!("the launcher's PMI: {question:.20}: {why}"));
        let answer = self.converse(question).map_err(|error| told(error.to_string()))?;
        if value(&answer, "cmd") != Some(due) || !is_well(&answer) {
            return Err(told(format!("it answered {:?}", answer.trim())));
        }
        Ok(answer)
    }
    /// Keeps a value, which has neither spaces nor semicolons, for the other ranks to see after the next fence.
    pub(crate) fn put(&mut self, key: &str, text: &str) -> io::Result<()> {
        let (question, due) = match &self.job {
            Some(_) => (format!("kvs-put key={key} value={text}"), "kvs-put-response"),
            None => (format!("put kvsname={} key={key} value={text}", self.space), "put_result"),
        };
        self.ask(&question, due).map(drop)
    }
    /// Waits until all ranks are here.
    pub(crate) fn fence(&mut self) -> io::Result<()> {
        let (question, due) =
            if self.job.is_some() { ("kvs-fence", "kvs-fence-response") } else { ("barrier_in", "barrier_out") };
        self.ask(question, due).map(drop)
    }
    pub(crate) fn get(&mut self, key: &str) -> io::Result<String> {
        let (question, due) = match &self.job {
            // From any rank.
            Some(job) => (format!("kvs-get jobid={job} srcid=-1 key={key}"), "kvs-get-response"),
            None => (format!("get kvsname={} key={key}", self.space), "get_result"),
        };
        let answer = self.ask(&question, due)?;
        value(&answer, "value").map(str::to_owned).ok_or_else(|| {
            io::Error::other(format!("the launcher's PMI has no value for {key}: it answered {:?}", answer.trim()))
        })
    }
    /// From now on the launcher watches how this process ends, and nothing else.
    pub(crate) fn end(mut self) -> io::Result<()> {
        let due = if self.job.is_some() { "finalize-response" } else { "finalize_ack" };
        self.ask("finalize", due).map(drop)
    }
}

fn is_well(answer: &str) -> bool {
    value(answer, "rc").is_none_or(|status| status == "0")
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

    /// A launcher of one rank that answers as Slurm's `pmi2` does.
    fn slurm(mut stream: UnixStream) {
        let mut first = Vec::new();
        while first.last() != Some(&b'\n') {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            first.push(byte[0]);
        }
        assert_eq!(first, b"cmd=init pmi_version=2 pmi_subversion=0\n");
        stream.write_all(b"cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n").unwrap();
        let mut kept = None;
        loop {
            let mut length = [0; 6];
            stream.read_exact(&mut length).unwrap();
            let mut text = vec![0; std::str::from_utf8(&length).unwrap().trim_start().parse().unwrap()];
            stream.read_exact(&mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            let answer = match text.as_str() {
                "cmd=fullinit;pmijobid=2.0;pmirank=0;threaded=FALSE;" => {
                    "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=0;size=1;appnum=-1;".to_owned()
                }
                "cmd=kvs-put;key=place;value=10.0.0.1:7000;" => {
                    kept = Some("10.0.0.1:7000");
                    "cmd=kvs-put-response;rc=0;".to_owned()
                }
                "cmd=kvs-fence;" => "cmd=kvs-fence-response;rc=0;".to_owned(),
                "cmd=kvs-get;jobid=2.0;srcid=-1;key=place;" => {
                    format!("cmd=kvs-get-response;rc=0;found=TRUE;value={};", kept.unwrap())
                }
                "cmd=kvs-get;jobid=2.0;srcid=-1;key=other;" => "cmd=kvs-get-response;rc=0;found=FALSE;".to_owned(),
                "cmd=finalize;" => "cmd=finalize-response;rc=0;".to_owned(),
                other => panic!("{other}"),
            };
            stream.write_all(format!("{:6}{answer}", answer.len()).as_bytes()).unwrap();
            if text == "cmd=finalize;" {
                return;
            }
        }
    }

    fn talk(server: fn(UnixStream), named: Option<&Named>, due: &str) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let server = std::thread::spawn(move || server(theirs));
        let mut pmi = Pmi::over(ours, named, Duration::from_secs(5)).unwrap();
        pmi.put("place", "10.0.0.1:7000").unwrap();
        pmi.fence().unwrap();
        assert_eq!(pmi.get("place").unwrap(), "10.0.0.1:7000");
        let none = pmi.get("other").unwrap_err().to_string();
        assert!(none.contains(due), "{none}");
        pmi.end().unwrap();
        server.join().unwrap();
    }

    #[test]
    fn what_is_put_is_got_after_a_fence() {
        talk(launcher, None, "key_not_found");
        let named = Named { job: "2.0".to_owned(), rank: "0".to_owned() };
        talk(slurm, Some(&named), "no value for other");
        // The first launcher knows PMI-1 alone, and says so.
        talk(launcher, Some(&named), "key_not_found");
    }
}
