//! Launched ranks: how processes that a launcher started find each other, and how they communicate outside of messages.
//! Rank 0 listens at an abstract local socket, which leaves nothing behind, or at `HOTLINK_MEET`. The others connect,
//! and both sides prove the job's secret (see [`crate::proof`]). They stay connected: a rank whose connection ends has
//! ended.

mod link;
mod lookout;
mod meet;

use crate::proof::{Secret, derived};
use crate::sys;
use hotlink_job::Launched;
use hotlink_port::RunError;
use link::{Bounds, Link};
pub(crate) use lookout::Lookout;
pub use lookout::stuck;
use meet::Place;
use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::Duration;

/// How long ranks search for each other.
pub(crate) const MEET_LIMIT: Duration = Duration::from_secs(20);
/// How long rank 0 waits where people start the others, on other machines.
const PEOPLE_LIMIT: Duration = Duration::from_secs(600);
/// Most bytes that a rank sends all others while a job starts.
const TOLD_MAX: u64 = 64 << 10;
/// Results of a run: a rank may take as long as it needs.
const RESULTS: Bounds = Bounds { bytes: 1 << 32, limit: None };

/// This process's part in the launched job.
pub(crate) struct Crew {
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    pub(crate) job: String,
    /// At rank 0: to each other rank (`None` at 0). Elsewhere: to rank 0 alone.
    links: Vec<Option<Link>>,
    /// Process numbers by rank; empty if the ranks may be on several machines.
    pub(crate) pids: Vec<i32>,
    /// The proof to another rank that this one is of the job.
    secret: Secret,
    /// How long another rank may take to say what it has to say while the job starts.
    patience: Duration,
}

/// A rank whose connection has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lost(pub(crate) u32);

impl Crew {
    /// Whether all ranks are on this machine.
    pub(crate) fn is_local(&self) -> bool {
        !self.pids.is_empty()
    }
    /// The address that other machines' ranks reach this one at.
    pub(crate) fn own_ip(&self) -> Option<IpAddr> {
        self.links.iter().flatten().find_map(|link| match link {
            Link::Host(stream) => stream.local_addr().ok().map(|address| address.ip()),
            Link::Local(_) => None,
        })
    }
    /// `limit`: how long rank 0 waits for the others.
    fn meet(place: &Launched, at: &Place, secret: Secret, limit: Duration) -> io::Result<Crew> {
        let (rank, ranks, job) = (place.rank, place.ranks, place.job.clone());
        // A rank that came early waits until the last is there.
        let patience = if rank == 0 { MEET_LIMIT } else { limit + MEET_LIMIT };
        let mut crew = Crew { rank, ranks, job, links: Vec::new(), pids: Vec::new(), secret: secret.clone(), patience };
        if rank == 0 {
            meet::gather(&mut crew, place, at, &secret, limit)?
        } else {
            meet::join(&mut crew, place, at, &secret)?
        }
        crew.share_pids(!place.is_spread())?;
        crew.share_session()?;
        crew.patience = MEET_LIMIT;
        Ok(crew)
    }
    fn share_pids(&mut self, local: bool) -> io::Result<()> {
        let lost = |lost: Lost| io::Error::other(format!("rank {} ended while the ranks met", lost.0));
        let all = self.exchange(&sys::pid().to_le_bytes()).map_err(lost)?;
        if local {
            let pid = |bytes: &Vec<u8>| bytes.as_slice().try_into().map(i32::from_le_bytes);
            self.pids = all.iter().map(pid).collect::<Result<_, _>>().map_err(io::Error::other)?;
        }
        Ok(())
    }
    /// From here on, ranks prove to each other a key of this job alone: the secret with a number that rank 0 made up.
    fn share_session(&mut self) -> io::Result<()> {
        let number = if self.rank == 0 { Some(crate::proof::random::<32>()?.to_vec()) } else { None };
        let number = self.broadcast(number).map_err(|lost| io::Error::other(format!("rank {} has ended", lost.0)))?;
        let key = derived(self.secret.bytes(), &[b"hotlink job key ", &number[..]].concat());
        self.secret = Secret::of(key.to_vec(), self.secret.origin());
        Ok(())
    }
    pub(crate) fn secret(&self) -> &Secret {
        &self.secret
    }
    /// Every rank's bytes, in order, at every rank: few, while a job starts, each within a time limit.
    pub(crate) fn exchange(&mut self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Lost> {
        let one = Bounds { bytes: TOLD_MAX, limit: Some(self.patience) };
        // As JSON, a byte takes up to four.
        let bytes = 4 * TOLD_MAX * u64::from(self.ranks);
        self.share_all(mine, one, Bounds { bytes, limit: one.limit.map(|limit| limit + MEET_LIMIT) })
    }
    fn share_all(&mut self, mine: &[u8], one: Bounds, all: Bounds) -> Result<Vec<Vec<u8>>, Lost> {
        if self.rank == 0 {
            let mut gathered = vec![mine.to_vec()];
            for rank in 1..self.ranks {
                gathered.push(self.link(rank)?.receive(one).map_err(|_| Lost(rank))?);
            }
            let packed = serde_json::to_vec(&gathered).map_err(|_| Lost(0))?;
            for rank in 1..self.ranks {
                self.link(rank)?.send(&packed).map_err(|_| Lost(rank))?;
            }
            return Ok(gathered);
        }
        let link = self.link(0)?;
        link.send(mine).map_err(|_| Lost(0))?;
        let packed = link.receive(all).map_err(|_| Lost(0))?;
        serde_json::from_slice(&packed).map_err(|_| Lost(0))
    }
    /// The bytes of rank 0, at every rank; `None` at the others.
    pub(crate) fn broadcast(&mut self, mine: Option<Vec<u8>>) -> Result<Vec<u8>, Lost> {
        match mine {
            Some(bytes) => {
                for rank in 1..self.ranks {
                    self.link(rank)?.send(&bytes).map_err(|_| Lost(rank))?;
                }
                Ok(bytes)
            }
            None => self.link(0)?.receive(RESULTS).map_err(|_| Lost(0)),
        }
    }
    /// Whether the first `ranks` share the cores of this machine. Every rank calls this, before it binds itself to a core.
    pub(crate) fn is_crowded(&mut self, ranks: u32) -> Result<bool, Lost> {
        let all: Vec<u32> = (0..ranks).collect();
        Ok(self.shares_cores(&all)? && self.is_local())
    }
    /// Whether the ranks of a group, which are on one machine, outnumber their cores: a launcher may have left each
    /// rank its own. Every rank calls this, each with its group.
    pub(crate) fn shares_cores(&mut self, group: &[u32]) -> Result<bool, Lost> {
        let mine: Vec<u8> = sys::allowed_cores().into_iter().flat_map(|core| (core as u32).to_le_bytes()).collect();
        let all = self.exchange(&mine)?;
        let cores: BTreeSet<&[u8]> = group.iter().flat_map(|&rank| all[rank as usize].chunks(4)).collect();
        Ok(group.len() > cores.len())
    }
    /// Hands a descriptor of rank 0 to all ranks of this machine.
    pub(crate) fn share_file(&mut self, file: Option<&OwnedFd>) -> io::Result<Option<OwnedFd>> {
        for link in self.links.iter().flatten() {
            let Link::Local(stream) = link else { return Err(io::Error::other("ranks are on several machines")) };
            match file {
                Some(file) => sys::send_file(stream.as_fd(), file.as_fd())?,
                None => return sys::receive_file(stream.as_fd()).map(Some),
            }
        }
        Ok(None)
    }
    fn link(&mut self, rank: u32) -> Result<&mut Link, Lost> {
        self.links.get_mut(rank as usize).and_then(Option::as_mut).ok_or(Lost(rank))
    }
}

/// The program's own settings in place of a launcher's.
static TOLD: OnceLock<Launched> = OnceLock::new();

/// Makes this process a rank of a job without a launcher: before anything is run, once.
///
/// # Errors
/// Numbers that cannot be; called twice.
pub fn join(place: Launched) -> Result<(), String> {
    if place.rank >= place.ranks {
        return Err(format!("rank {} of {}: must be 0 to one less", place.rank, place.ranks));
    }
    place.meet_at()?;
    TOLD.set(place).map_err(|_| "this process is a rank of a job already".to_owned())
}

/// Addresses other than local sockets at which this process waited for others.
static LISTENING: Mutex<Vec<String>> = Mutex::new(Vec::new());

pub(crate) fn tell_listening(address: String) {
    LISTENING.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(address);
}

/// The addresses at which this process listened for ranks that a launcher or people start.
pub fn listening() -> Vec<String> {
    LISTENING.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
}

/// The job's crew, met at first use; `None` if this process was started alone.
pub(crate) fn crew() -> Result<Option<MutexGuard<'static, Crew>>, RunError> {
    static CREW: OnceLock<Result<Option<Mutex<Crew>>, RunError>> = OnceLock::new();
    let met = CREW.get_or_init(|| {
        let told = TOLD.get().cloned();
        let limit = if told.is_some() { PEOPLE_LIMIT } else { MEET_LIMIT };
        let place = told.map_or_else(Launched::from_environment, |told| Ok(Some(told))).map_err(RunError::Setting)?;
        let Some(place) = place else { return Ok(None) };
        let address = place.meet_at().map_err(RunError::Setting)?;
        // On the loopback all are on this machine, and may have the secret that it keeps.
        let local = address.is_none_or(|address| address.ip().is_loopback());
        let lost = |error: io::Error| {
            RunError::Start(format!("rank {} of {} did not find the others: {error}", place.rank, place.ranks))
        };
        let (at, secret) = match place.exchange.clone() {
            Some(exchange) => meet::told_by(exchange, place.rank).map_err(lost)?,
            None => {
                let secret = Secret::find(local).map_err(RunError::Setting)?;
                (Place::of(&place.job, address).map_err(lost)?, secret)
            }
        };
        let crew = Crew::meet(&place, &at, secret, limit).map_err(lost)?;
        Ok(Some(Mutex::new(crew)))
    });
    match met {
        Ok(Some(crew)) => Ok(Some(crew.lock().unwrap_or_else(std::sync::PoisonError::into_inner))),
        Ok(None) => Ok(None),
        Err(error) => Err(error.clone()),
    }
}
