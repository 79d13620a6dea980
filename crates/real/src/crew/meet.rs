//! How launched ranks find each other: rank 0 listens, the others join, and each side proves the job's secret.

use super::{Crew, Link, MEET_LIMIT};
use crate::proof::{Admitted, Claim, Door, Joining, Purpose, Refused, Secret, Verdict, job_digest};
use crate::sockets::own_addresses;
use crate::sys;
use hotlink_job::{Exchange, Launched};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as LocalAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// How long an address may take to answer before the next is tried.
const NEXT: Duration = Duration::from_secs(3);
/// After so long a rank says that it still waits.
const QUIET: Duration = Duration::from_secs(3);

/// Most addresses that rank 0 passes on through a launcher, whose values are short.
const ADDRESSES: usize = 4;

/// Where a job meets.
pub(super) enum Place {
    /// At an abstract local socket, which leaves nothing behind.
    Here(LocalAddr),
    At(SocketAddr),
    /// Rank 0 listens there already, and has passed the address on through the launcher.
    Held(TcpListener),
    /// At one of these addresses, which rank 0 has passed on.
    Told(Vec<SocketAddr>),
}

/// Where the ranks meet and what they prove to each other, if the launcher carries that between them.
pub(super) fn told_by(exchange: Exchange, rank: u32) -> io::Result<(Place, Secret)> {
    let origin = "the launcher's job";
    if rank == 0 {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        let port = listener.local_addr()?.port();
        let secret = Secret::fresh()?;
        let addresses: Vec<String> = own_addresses().iter().take(ADDRESSES).map(IpAddr::to_string).collect();
        let hex: String = secret.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        exchange.hand_out(Some(&format!("{}/{port}/{hex}", addresses.join(","))), MEET_LIMIT)?;
        return Ok((Place::Held(listener), Secret::of(secret.bytes().to_vec(), origin)));
    }
    let told = exchange.hand_out(None, MEET_LIMIT)?;
    let read = || {
        let mut parts = told.split('/');
        let (addresses, port, hex) = (parts.next()?, parts.next()?.parse::<u16>().ok()?, parts.next()?);
        let address = |ip: &str| ip.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, port));
        let byte = |at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
        let secret = (0..hex.len()).step_by(2).map(byte).collect::<Option<Vec<u8>>>()?;
        Some((addresses.split(',').map(address).collect::<Option<Vec<_>>>()?, secret))
    };
    let (addresses, secret) =
        read().ok_or_else(|| io::Error::other("the launcher carried what rank 0 of this job never tells"))?;
    Ok((Place::Told(addresses), Secret::of(secret, origin)))
}

impl Place {
    pub(super) fn of(job: &str, address: Option<SocketAddr>) -> io::Result<Place> {
        match address {
            Some(address) => Ok(Place::At(address)),
            None => {
                LocalAddr::from_abstract_name(format!("hotlink-{}-{}", sys::user(), digest_text(job))).map(Place::Here)
            }
        }
    }
    fn connect(&self) -> io::Result<Link> {
        match self {
            Place::Here(address) => UnixStream::connect_addr(address).map(Link::Local),
            Place::At(address) => TcpStream::connect_timeout(address, MEET_LIMIT).map(Link::Host),
            Place::Told(all) => {
                let connect = |address| TcpStream::connect_timeout(address, NEXT).map(Link::Host);
                let reached = all.iter().map(connect).reduce(|one, next| one.or(next));
                reached.unwrap_or_else(|| Err(io::ErrorKind::AddrNotAvailable.into()))
            }
            Place::Held(_) => Err(io::ErrorKind::AddrInUse.into()),
        }
    }
    fn listen(&self) -> io::Result<Listener> {
        match self {
            Place::Here(address) => UnixListener::bind_addr(address).map(Listener::Here),
            Place::At(address) => {
                let told = |error: io::Error| io::Error::other(format!("cannot listen at {address}: {error}"));
                TcpListener::bind(address).map(Listener::At).map_err(told)
            }
            Place::Held(listener) => listener.try_clone().map(Listener::At),
            Place::Told(_) => Err(io::ErrorKind::AddrNotAvailable.into()),
        }
    }
    fn name(&self) -> String {
        match self {
            Place::Here(_) => "on this machine".to_owned(),
            Place::At(address) => format!("at {address}"),
            Place::Held(_) => "where the launcher has said".to_owned(),
            Place::Told(all) => {
                format!("at {}", all.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(" or "))
            }
        }
    }
}

/// A name of fixed length: those of abstract sockets are short.
fn digest_text(job: &str) -> String {
    job_digest(job)[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

enum Listener {
    Here(UnixListener),
    At(TcpListener),
}

impl Listener {
    fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Listener::Here(listener) => listener.set_nonblocking(true),
            Listener::At(listener) => listener.set_nonblocking(true),
        }
    }
    fn fd(&self) -> RawFd {
        match self {
            Listener::Here(listener) => listener.as_raw_fd(),
            Listener::At(listener) => listener.as_raw_fd(),
        }
    }
    /// A new connection and its owner; `None`: none comes now, or the system has no descriptor for it now.
    fn accept(&self) -> Option<(Link, String)> {
        match self {
            Listener::Here(listener) => {
                let (stream, _) = listener.accept().ok()?;
                Some((Link::Local(stream), "a process of this machine".to_owned()))
            }
            Listener::At(listener) => {
                let (stream, from) = listener.accept().ok()?;
                stream.set_nodelay(true).ok()?;
                Some((Link::Host(stream), from.to_string()))
            }
        }
    }
}

/// Rank 0 waits at most so long for the others.
pub(super) fn gather(
    crew: &mut Crew,
    place: &Launched,
    meet: &Place,
    secret: &Secret,
    limit: Duration,
) -> io::Result<()> {
    let listener = meet.listen()?;
    listener.set_nonblocking()?;
    if let Place::At(address) = meet {
        let (others, origin) = (crew.ranks - 1, secret.origin());
        eprintln!("hotlink: rank 0 listens at {address} for {others} more, which prove the secret of {origin}");
        super::tell_listening(address.to_string());
    }
    crew.links = (0..crew.ranks).map(|_| None).collect();
    let (start, mut told) = (Instant::now(), false);
    let mut door = Door::new(Purpose::Crew, crew.ranks);
    while crew.links.iter().flatten().count() + 1 < crew.ranks as usize {
        let fds: Vec<RawFd> = std::iter::once(listener.fd()).chain(door.fds()).collect();
        sys::wait_readable(&fds, Duration::from_millis(100));
        while let Some((link, from)) = listener.accept() {
            door.take(link, from);
        }
        while let Some(admitted) = door.step(secret, |claim| crew.judge(claim)) {
            crew.admit(admitted)?;
        }
        if !told && start.elapsed() > QUIET {
            told = true;
            let missing = crew.missing();
            eprintln!("hotlink: rank 0 waits {} for {missing}, at most {} s", meet.name(), limit.as_secs());
        }
        if start.elapsed() > limit {
            let there = crew.links.iter().flatten().count() + 1;
            let came = format!("{there} of {} ranks came within {} s", crew.ranks, limit.as_secs());
            let others = door.last_refusal().map(|why| format!("; turned away {why}")).unwrap_or_default();
            return Err(io::Error::other(came + &others + &place.doubt()));
        }
    }
    Ok(())
}

impl Crew {
    fn judge(&self, claim: &Claim) -> Verdict {
        if claim.job != job_digest(&self.job) {
            return Verdict::OtherJob;
        }
        if claim.ranks != self.ranks {
            return Verdict::OtherRanks;
        }
        match self.links.get(claim.rank as usize) {
            Some(None) if claim.rank > 0 => Verdict::Admitted,
            _ => Verdict::RankTaken,
        }
    }
    fn admit(&mut self, admitted: Admitted<Link>) -> io::Result<()> {
        crate::proof::Wire::set_nonblocking(&admitted.wire, false)?;
        self.links[admitted.claim.rank as usize] = Some(admitted.wire);
        Ok(())
    }
    /// The ranks that have not come, a few of them by number.
    fn missing(&self) -> String {
        let missing: Vec<usize> = (1..self.links.len()).filter(|&rank| self.links[rank].is_none()).collect();
        let some: Vec<String> = missing.iter().take(5).map(usize::to_string).collect();
        let more = if missing.len() > 5 { format!(" and {} more", missing.len() - 5) } else { String::new() };
        format!("rank {}{more}", some.join(", "))
    }
}

/// Another rank searches for rank 0, which may not be there yet.
pub(super) fn join(crew: &mut Crew, place: &Launched, meet: &Place, secret: &Secret) -> io::Result<()> {
    let claim = Claim { purpose: Purpose::Crew, rank: crew.rank, ranks: crew.ranks, job: job_digest(&crew.job) };
    let (start, mut told, mut pause) = (Instant::now(), false, Duration::from_millis(2));
    loop {
        let why = match try_once(meet, &claim, secret) {
            Ok(link) => {
                crew.links = vec![Some(link)];
                return Ok(());
            }
            Err(Try::Never(why)) => return Err(io::Error::other(why)),
            Err(Try::Again(why)) => why,
        };
        if start.elapsed() > MEET_LIMIT {
            let (place_name, limit_s) = (meet.name(), MEET_LIMIT.as_secs());
            return Err(io::Error::other(format!("no rank 0 {place_name} for {limit_s} s: {why}{}", place.doubt())));
        }
        if !told && start.elapsed() > QUIET {
            told = true;
            let (place, limit_s) = (meet.name(), MEET_LIMIT.as_secs());
            eprintln!("hotlink: rank {} looks {place} for rank 0, at most {limit_s} s: {why}", crew.rank);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

enum Try {
    /// Rank 0 may still come, or find time.
    Again(String),
    Never(String),
}

fn try_once(meet: &Place, claim: &Claim, secret: &Secret) -> Result<Link, Try> {
    let again = |error: io::Error| Try::Again(error.to_string());
    let mut link = meet.connect().map_err(again)?;
    if let Link::Host(stream) = &link {
        stream.set_nodelay(true).map_err(again)?;
    }
    let refused = match Joining::wait(&mut link, claim, secret) {
        Ok(_) => return Ok(link),
        Err(refused) => refused,
    };
    let (place, origin) = (meet.name(), secret.origin());
    let away = |why: &str| Try::Never(format!("rank 0 {place} turned this one away: {why}"));
    Err(match refused {
        Refused::Gone => Try::Again("the connection ended before its proof".to_owned()),
        Refused::Stranger => Try::Again(format!("the listener there does not know the secret of {origin}")),
        Refused::By(Verdict::OtherJob) => away("it runs another job (another benchmark, or of another launcher)"),
        Refused::By(Verdict::OtherRanks) => away(&format!("its job has another number of ranks than {}", claim.ranks)),
        Refused::By(Verdict::RankTaken) => {
            away(&format!("rank {} is there already, or none of 1 to {}", claim.rank, claim.ranks - 1))
        }
        Refused::By(_) => away(&format!("its secret is not that of {origin}")),
    })
}
