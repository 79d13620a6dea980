//! Launched ranks: how processes that a launcher started find each other, and what they tell each other outside of
//! messages. Rank 0 listens (at an abstract local socket, which leaves nothing behind; or at `HOTLINK_MEET`), the
//! others connect and stay connected: whose connection ends has ended.

use crate::launch::Launched;
use crate::sys;
use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as LocalAddr, UnixListener, UnixStream};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

/// How long ranks look for each other.
pub(crate) const MEET_LIMIT: Duration = Duration::from_secs(20);
/// How long rank 0 waits where people start the others, on other machines.
const PEOPLE_LIMIT: Duration = Duration::from_secs(600);

/// A connection between rank 0 and another.
enum Link {
    Local(UnixStream),
    Host(TcpStream),
}

impl Link {
    fn stream(&mut self) -> &mut dyn ReadWrite {
        match self {
            Link::Local(stream) => stream,
            Link::Host(stream) => stream,
        }
    }
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let stream = self.stream();
        stream.write_all(&(bytes.len() as u64).to_le_bytes())?;
        stream.write_all(bytes)
    }
    fn receive(&mut self) -> io::Result<Vec<u8>> {
        const MOST: u64 = 1 << 32;
        let stream = self.stream();
        let mut length = [0; 8];
        stream.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        if length > MOST {
            return Err(io::Error::other("no rank of this job"));
        }
        let mut bytes = Vec::new();
        stream.take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
    fn set_limit(&self, limit: Option<Duration>) -> io::Result<()> {
        match self {
            Link::Local(stream) => stream.set_read_timeout(limit),
            Link::Host(stream) => stream.set_read_timeout(limit),
        }
    }
}

trait ReadWrite: Read + Write {
    fn take(&mut self, limit: u64) -> io::Take<&mut dyn ReadWrite>;
}
impl<T: Read + Write> ReadWrite for T {
    fn take(&mut self, limit: u64) -> io::Take<&mut dyn ReadWrite> {
        Read::take(self as &mut dyn ReadWrite, limit)
    }
}

/// This process's part in the launched job.
pub(crate) struct Crew {
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    pub(crate) job: String,
    /// At rank 0: to each other rank (`None` at 0). Elsewhere: to rank 0 alone.
    links: Vec<Option<Link>>,
    /// Process numbers by rank; empty if the ranks may be on several machines.
    pub(crate) pids: Vec<i32>,
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
    fn meet(place: &Launched, limit: Duration) -> io::Result<Crew> {
        let address = place.meet_at().map_err(io::Error::other)?;
        let mut crew =
            Crew { rank: place.rank, ranks: place.ranks, job: place.job.clone(), links: Vec::new(), pids: Vec::new() };
        if place.rank == 0 {
            crew.gather_links(address, limit)?
        } else {
            crew.join(address)?
        }
        crew.share_pids(address.is_none())?;
        Ok(crew)
    }
    fn local_address(&self) -> io::Result<LocalAddr> {
        LocalAddr::from_abstract_name(format!("hotlink-{}-{}", sys::user(), self.job))
    }
    /// As rank 0: accepts all others. Whoever does not know the job is turned away.
    fn gather_links(&mut self, address: Option<SocketAddr>, limit: Duration) -> io::Result<()> {
        self.links = (0..self.ranks).map(|_| None).collect();
        let accept: Box<dyn Fn() -> io::Result<Link>> = match address {
            Some(address) => {
                let told = |error: io::Error| io::Error::other(format!("cannot listen at {address}: {error}"));
                let listener = TcpListener::bind(address).map_err(told)?;
                listener.set_nonblocking(true)?;
                Box::new(move || {
                    let (stream, _) = listener.accept()?;
                    stream.set_nonblocking(false)?;
                    stream.set_nodelay(true)?;
                    Ok(Link::Host(stream))
                })
            }
            None => {
                let listener = UnixListener::bind_addr(&self.local_address()?)?;
                listener.set_nonblocking(true)?;
                Box::new(move || {
                    let (stream, _) = listener.accept()?;
                    stream.set_nonblocking(false)?;
                    Ok(Link::Local(stream))
                })
            }
        };
        let (start, mut turned_away) = (Instant::now(), Vec::new());
        while self.links.iter().flatten().count() + 1 < self.ranks as usize {
            match accept() {
                Ok(link) => turned_away.extend(self.admit(link)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(Duration::from_millis(1)),
                Err(error) => return Err(error),
            }
            if start.elapsed() > limit {
                let there = self.links.iter().flatten().count() + 1;
                let came = format!("{there} of {} ranks came within {} s", self.ranks, limit.as_secs());
                let others = turned_away.last().map(|why| format!("; turned away: {why}")).unwrap_or_default();
                return Err(io::Error::other(came + &others));
            }
        }
        Ok(())
    }
    /// Takes a rank in, or says why not.
    fn admit(&mut self, mut link: Link) -> Option<String> {
        let hello = link.set_limit(Some(Duration::from_secs(2))).and_then(|()| link.receive());
        let stranger = || Some("what is no rank".to_owned());
        let Ok(hello) = hello else { return stranger() };
        let Some((rank, job)) = hello.split_first_chunk::<4>() else { return stranger() };
        let rank = u32::from_le_bytes(*rank) as usize;
        if job != self.job.as_bytes() {
            return Some(format!("rank {rank} of `{}`, not `{}`", String::from_utf8_lossy(job), self.job));
        }
        match self.links.get_mut(rank).filter(|_| rank > 0) {
            Some(slot @ None) if link.set_limit(None).is_ok() => *slot = Some(link),
            _ => return Some(format!("a second rank {rank}, or one that is none of 1 to {}", self.ranks - 1)),
        }
        None
    }
    fn join(&mut self, address: Option<SocketAddr>) -> io::Result<()> {
        let start = Instant::now();
        let mut link = loop {
            let tried = match address {
                Some(address) => TcpStream::connect(address).map(Link::Host),
                None => UnixStream::connect_addr(&self.local_address()?).map(Link::Local),
            };
            match tried {
                Ok(link) => break link,
                Err(error) if start.elapsed() > MEET_LIMIT => {
                    let place = address.map_or_else(|| "on this machine".to_owned(), |address| format!("at {address}"));
                    return Err(io::Error::other(format!("no rank 0 {place} for {} s: {error}", MEET_LIMIT.as_secs())));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        if let Link::Host(stream) = &link {
            stream.set_nodelay(true)?;
        }
        let hello = [&self.rank.to_le_bytes()[..], self.job.as_bytes()].concat();
        link.send(&hello)?;
        self.links = vec![Some(link)];
        Ok(())
    }
    fn share_pids(&mut self, local: bool) -> io::Result<()> {
        let lost = |lost: Lost| match lost.0 {
            0 => {
                io::Error::other("rank 0 has ended, or turned this one away: it runs another job, or the rank is taken")
            }
            rank => io::Error::other(format!("rank {rank} ended while the ranks met")),
        };
        let all = self.all_to_all(&sys::pid().to_le_bytes()).map_err(lost)?;
        if local {
            let pid = |bytes: &Vec<u8>| bytes.as_slice().try_into().map(i32::from_le_bytes);
            self.pids = all.iter().map(pid).collect::<Result<_, _>>().map_err(io::Error::other)?;
        }
        Ok(())
    }
    /// What every rank gives, in order, at every rank.
    pub(crate) fn all_to_all(&mut self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Lost> {
        if self.rank == 0 {
            let mut all = vec![mine.to_vec()];
            for rank in 1..self.ranks {
                all.push(self.link(rank)?.receive().map_err(|_| Lost(rank))?);
            }
            let packed = serde_json::to_vec(&all).map_err(|_| Lost(0))?;
            for rank in 1..self.ranks {
                self.link(rank)?.send(&packed).map_err(|_| Lost(rank))?;
            }
            return Ok(all);
        }
        let link = self.link(0)?;
        link.send(mine).map_err(|_| Lost(0))?;
        let packed = link.receive().map_err(|_| Lost(0))?;
        serde_json::from_slice(&packed).map_err(|_| Lost(0))
    }
    /// What rank 0 gives, at every rank; `None` at the others.
    pub(crate) fn broadcast(&mut self, mine: Option<Vec<u8>>) -> Result<Vec<u8>, Lost> {
        match mine {
            Some(bytes) => {
                for rank in 1..self.ranks {
                    self.link(rank)?.send(&bytes).map_err(|_| Lost(rank))?;
                }
                Ok(bytes)
            }
            None => self.link(0)?.receive().map_err(|_| Lost(0)),
        }
    }
    /// Whether the first `ranks` share the cores of this machine: a launcher may have left each rank its own. Every rank
    /// calls this, before it binds itself to a core.
    pub(crate) fn is_crowded(&mut self, ranks: u32) -> Result<bool, Lost> {
        let mine: Vec<u8> = sys::allowed_cores().into_iter().flat_map(|core| (core as u32).to_le_bytes()).collect();
        let all = self.all_to_all(&mine)?;
        let cores: BTreeSet<&[u8]> = all.iter().take(ranks as usize).flat_map(|cores| cores.chunks(4)).collect();
        Ok(self.is_local() && ranks as usize > cores.len())
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

/// What the program said in place of a launcher.
static TOLD: OnceLock<Launched> = OnceLock::new();

/// Makes this process a rank of a job without a launcher: before anything is run, once.
///
/// # Errors
/// Numbers that cannot be; called twice.
pub fn join(place: Launched) -> Result<(), String> {
    if place.rank >= place.ranks {
        return Err(format!("rank {} of {}: allowed is 0 to one less", place.rank, place.ranks));
    }
    place.meet_at()?;
    TOLD.set(place).map_err(|_| "this process is a rank of a job already".to_owned())
}

/// The job's crew, met at first use; `None` if this process was started alone.
pub(crate) fn crew() -> Result<Option<MutexGuard<'static, Crew>>, String> {
    static CREW: OnceLock<Result<Option<Mutex<Crew>>, String>> = OnceLock::new();
    let met = CREW.get_or_init(|| {
        let told = TOLD.get().cloned();
        let limit = if told.is_some() { PEOPLE_LIMIT } else { MEET_LIMIT };
        let Some(place) = told.map_or_else(Launched::from_environment, |told| Ok(Some(told)))? else { return Ok(None) };
        let crew = Crew::meet(&place, limit)
            .map_err(|error| format!("rank {} of {} did not find the others: {error}", place.rank, place.ranks))?;
        Ok(Some(Mutex::new(crew)))
    });
    match met {
        Ok(Some(crew)) => Ok(Some(crew.lock().unwrap_or_else(std::sync::PoisonError::into_inner))),
        Ok(None) => Ok(None),
        Err(error) => Err(error.clone()),
    }
}
