//! Where ranks listen for each other, and what they prove.

use super::Streams;
use crate::board::Board;
use crate::clock::Clock;
use crate::crew::{Crew, Lost};
use crate::proof::{Claim, Purpose, Secret, job_digest};
use crate::sys;
use hotlink_port::Rank;
use hotlink_seats::Waits;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;

/// The means by which ranks find each other, made before they are forked.
pub struct Meeting {
    /// Where each rank listens, and the listeners that this process holds.
    pub(super) addresses: Vec<SocketAddr>,
    listeners: Vec<Option<TcpListener>>,
    pub(super) secret: Secret,
    /// Of ranks that this process forks.
    pub(super) board: Option<Rc<Board>>,
    /// Reports of long waits: by all, if this process forks them, else by its own rank.
    pub(crate) waits: Option<Arc<Waits>>,
    pub(super) clock: Clock,
    pub(crate) oversubscribed: bool,
}

impl Meeting {
    pub(crate) fn new(ranks: u32, oversubscribed: bool) -> io::Result<Meeting> {
        // A listener and a pipe to each, and what a rank has of its own.
        sys::allow_descriptors(4 * u64::from(ranks) + 64).map_err(io::Error::other)?;
        let listeners = (0..ranks).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
        let listeners: Vec<TcpListener> = listeners.collect::<io::Result<_>>()?;
        let addresses = listeners.iter().map(TcpListener::local_addr).collect::<io::Result<_>>()?;
        let secret = Secret::fresh()?;
        let listeners = listeners.into_iter().map(Some).collect();
        let board = Some(Rc::new(Board::new(ranks)?));
        let waits = Some(Waits::new(ranks)?);
        Ok(Meeting { addresses, listeners, secret, board, waits, clock: Clock::start(), oversubscribed })
    }
    /// The meeting of the first `ranks` of a launched job: all exchange the addresses at which they listen.
    pub(crate) fn of_crew(crew: &mut Crew, ranks: u32) -> io::Result<Meeting> {
        let lost = |lost: Lost| io::Error::other(format!("rank {} has ended", lost.0));
        let ip = crew.own_ip().unwrap_or(Ipv4Addr::LOCALHOST.into());
        let listener = TcpListener::bind((ip, 0))?;
        let all = crew.exchange(listener.local_addr()?.to_string().as_bytes()).map_err(lost)?;
        let address = |text: &Vec<u8>| String::from_utf8_lossy(text).parse().map_err(io::Error::other);
        let addresses = all.iter().take(ranks as usize).map(address).collect::<io::Result<_>>()?;
        let mut listeners: Vec<_> = (0..ranks).map(|_| None).collect();
        if let Some(own) = listeners.get_mut(crew.rank as usize) {
            *own = Some(listener);
        }
        let oversubscribed = crew.is_crowded(ranks).map_err(lost)?;
        let secret = crew.secret().clone();
        let waits = Some(Waits::of_job(ranks)?);
        Ok(Meeting { addresses, listeners, secret, board: None, waits, clock: Clock::start(), oversubscribed })
    }
    /// The claim of `rank` to `to`.
    pub(super) fn claim(rank: Rank, to: Rank, ranks: u32) -> Claim {
        Claim { purpose: Purpose::Messages, rank, ranks, job: job_digest(&format!("messages to rank {to}")) }
    }
    /// The listener of `rank`, which this process holds.
    pub(super) fn listener(&self, rank: Rank) -> io::Result<TcpListener> {
        let listener = self.listeners.get(rank as usize).and_then(Option::as_ref);
        listener.ok_or(io::ErrorKind::NotConnected)?.try_clone()
    }
    /// `rank` has died, and this process forked it.
    pub(crate) fn mark_dead(&self, rank: Rank) {
        if let Some(board) = &self.board {
            board.bury(rank);
        }
    }
    /// The connections of `rank` to those for which `others` holds.
    pub(crate) fn streams(&self, rank: Rank, others: impl Fn(Rank) -> bool) -> io::Result<Streams> {
        Streams::open(self, rank, others)
    }
}
