//! A job on several hosts: which hosts have how many ranks, how they meet, and the agent on each of them.

use crate::{Commands, with_library};
use hotlink_real::{Errand, Job, JobEnd, Spread, cores, is_here, path_word};
use hotlink_study::Error;
use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

/// The verb of an agent.
const AGENT: &str = "host-ranks";
/// Names the port at which rank 0 waits for the others.
const MEET: &str = "HOTLINK_MEET";
/// Names the job's secret.
const SECRET: &str = "HOTLINK_SECRET";
/// Where rank 0 listens on another host: below the ports that systems give to connections, above those of services.
const PORTS: std::ops::Range<u32> = 12_000..28_000;

/// Each host with its ranks.
fn dealt(list: &str, ranks: Option<u32>) -> Result<Vec<(String, u32)>, String> {
    let mut hosts: Vec<(String, Option<u32>)> = Vec::new();
    for word in list.split(',').map(str::trim) {
        let (name, slots) = word.split_once(':').map_or((word, None), |(name, slots)| (name, Some(slots)));
        let slots = match slots.map(str::parse) {
            None => None,
            Some(Ok(slots @ 1..=1024)) => Some(slots),
            Some(_) => return Err(format!("{word}: a host has 1 to 1024 ranks, as in `a:4`")),
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_@".contains(c);
        // A name that begins with a dash would be an option of the command that starts commands.
        if name.is_empty() || name.starts_with('-') || !name.chars().all(is_plain) {
            return Err(format!("{word:?} is no host; must be a name or an IPv4 address, as in `a:4,b:4`"));
        }
        hosts.push((name.to_owned(), slots));
    }
    let all = hosts.len() as u32;
    if hosts.iter().any(|(_, slots)| slots.is_some()) {
        let slots: u32 = hosts.iter().map(|(_, slots)| slots.unwrap_or(1)).sum();
        let mut left = ranks.unwrap_or(slots);
        if left > slots {
            return Err(format!("-n {left}: the hosts have {slots}"));
        }
        let take = |(name, slots): (String, Option<u32>)| {
            let count = slots.unwrap_or(1).min(left);
            left -= count;
            (name, count)
        };
        return Ok(hosts.into_iter().map(take).filter(|(_, count)| *count > 0).collect());
    }
    let ranks = ranks.unwrap_or(all);
    let share = |(place, (name, _)): (u32, (String, _))| (name, ranks / all + u32::from(place < ranks % all));
    Ok((0..).zip(hosts).map(share).filter(|(_, count)| *count > 0).collect())
}

/// Where rank 0, on the first host, waits for the others.
fn meeting(hosts: &[(String, u32)]) -> Result<String, String> {
    let first = &hosts[0].0;
    let name = first.rsplit('@').next().unwrap_or(first);
    if !is_here(first) {
        let port = PORTS.start + std::process::id() % (PORTS.end - PORTS.start);
        return Ok(format!("{name}:{port}"));
    }
    if let Some((other, _)) = hosts.iter().find(|(host, _)| !is_here(host)) {
        return Err(format!(
            "{other} cannot reach rank 0 at `{name}`: give the first host by the name that others know"
        ));
    }
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    free.map(|address| address.to_string()).map_err(|error| error.to_string())
}

/// The hosts of a job, and how commands are started there.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// Names, each with or without its number of ranks: `a:4,b:4`.
    pub list: String,
    /// The command that starts others on another host, with its options.
    pub remote_shell: String,
    /// This command on the hosts.
    pub remote_command: PathBuf,
    /// The MPI library, if the user has named one.
    pub library: Option<PathBuf>,
    /// Each rank stays on a core of its own, where there are enough.
    pub bind: bool,
}

impl Hosts {
    /// Runs a job of `ranks` ranks (by default as many as the hosts have) on the hosts, and returns its end.
    ///
    /// # Errors
    /// What is wrong with the hosts; of starting a command there.
    pub fn run(&self, ranks: Option<u32>, job: impl FnOnce(u32) -> Job) -> Result<JobEnd, Error> {
        let of = |what: String| Error::Input(format!("--hosts {}: {what}", self.list));
        let hosts = dealt(&self.list, ranks).map_err(of)?;
        let mut job = job(hosts.iter().map(|(_, count)| count).sum());
        // This command's settings are passed on to its ranks, wherever they are.
        let passed = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value));
        let own = std::env::vars_os().filter_map(passed).filter(|(name, _)| name.starts_with("HOTLINK_"));
        let own = own.filter(|(name, _)| !["HOTLINK_LIBRARY", "HOTLINK_SECRET_FILE"].contains(&name.as_str()));
        let given = std::mem::take(&mut job.variables);
        job.variables = own.chain(given).collect();
        let has = |job: &Job, wanted: &str| job.variables.iter().any(|(name, _)| name == wanted);
        if !has(&job, MEET) {
            job.variables.push((MEET.to_owned(), meeting(&hosts).map_err(of)?.into()));
        }
        if !has(&job, SECRET) {
            let secret = hotlink_real::fresh_secret().map_err(|error| of(error.to_string()))?;
            job.variables.push((SECRET.to_owned(), secret.into()));
        }
        let remote: Vec<OsString> = self.remote_shell.split_whitespace().map(OsString::from).collect();
        if remote.is_empty() {
            return Err(Error::Input("--remote-shell: the command that starts others is missing".to_owned()));
        }
        let agent = vec![path_word(&self.remote_command).map_err(input)?, AGENT.to_owned()];
        let spread = Spread { job, hosts, remote, agent, library: self.library.clone(), bind: self.bind };
        spread.run().map_err(input)
    }
}

/// Runs the ranks of this host, as the standard input says, and gives their end.
///
/// # Errors
/// Who talks is none of this command's; of starting a process.
pub fn agent(commands: &Commands) -> Result<JobEnd, Error> {
    let errand = Errand::read().map_err(input)?;
    let mut more = with_library(errand.library.as_deref(), commands)?;
    if errand.bind && errand.ranks_here() <= cores() && errand.ranks_here() > 1 {
        more.push(("HOTLINK_BIND".to_owned(), "core".into()));
    }
    errand.run(more).map_err(input)
}

/// This program's own path, if it is the command.
pub fn own_command() -> Option<PathBuf> {
    std::env::current_exe().ok().filter(|path| path.file_name().is_some_and(|name| name == "hotlink"))
}

fn input(error: std::io::Error) -> Error {
    Error::Input(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_dealt_in_order() {
        let of = |list: &str, ranks| {
            let dealt = dealt(list, ranks)?;
            Ok(dealt.into_iter().map(|(host, count)| format!("{host}={count}")).collect::<Vec<_>>().join(" "))
        };
        let well = |list: &str, ranks| of(list, ranks).unwrap_or_else(|why: String| why);
        assert_eq!(well("a:4,b:2", None), "a=4 b=2");
        assert_eq!(well("a:4,b:2", Some(5)), "a=4 b=1");
        assert_eq!(well("a:4,b:2", Some(3)), "a=3");
        assert_eq!(well("a,b,c", Some(8)), "a=3 b=3 c=2");
        assert_eq!(well("a,me@10.0.0.2", None), "a=1 me@10.0.0.2=1");
        assert!(well("a:2,b:2", Some(5)).contains("the hosts have 4"));
        assert!(well("a:0", None).contains("1 to 1024"));
        assert!(well("-oProxyCommand=x", None).contains("is no host"));
        assert!(well("a,,b", None).contains("is no host"));
    }

    #[test]
    fn hosts_meet_where_all_reach_rank_0() {
        let hosts = |list: &str| dealt(list, None).unwrap();
        assert!(meeting(&hosts("localhost:2")).unwrap().starts_with("127.0.0.1:"));
        assert!(meeting(&hosts("me@far,localhost")).unwrap().starts_with("far:"));
        assert!(meeting(&hosts("localhost,far")).unwrap_err().contains("far cannot reach"));
    }
}
