//! Messages between this rank and others over connections, of which there is one to each rank that it talks with.
//!
//! In a small job all connections are made at the start, so that a rank that dies is noticed by the others wherever they
//! wait. In a large one ([`EAGER_MAX`]) each is made when one side first sends. If both sides connect at once, the lower
//! rank's connection is used and the other is given up, so that messages never overtake each other.

use super::meeting::Meeting;
use super::peer::{Peer, Stage};
use super::{CLOSE, CONNECT_LIMIT, MESSAGE_MAX, USER};
use crate::board::Board;
use crate::proof::{Admitted, Claim, Door, Joining, Progress, Purpose, Secret, Verdict};
use crate::store::Store;
use crate::sys;
use hotlink_port::{Event, Head, Payload, Posted, Rank, Refusal};
use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Up to this number, ranks connect to each other at the start.
pub(super) const EAGER_MAX: u32 = 64;
/// The longest nap of a rank that any message wakes up: deaths that a board reports are seen after it.
const NAP_MAX: Duration = Duration::from_millis(1);
/// Polls in vain between checks for new connections.
const QUIET_POLLS: u32 = 64;
/// More connections are first asked by one call which of them have something.
const ASK_FROM: usize = 8;

/// The state of another rank.
enum Contact {
    /// Nothing was sent either way.
    Unknown,
    Open(Box<Peer>),
    /// It said good-bye, died, or cannot be reached.
    Over,
}

/// A rank's connections.
pub(crate) struct Streams {
    rank: Rank,
    addresses: Vec<SocketAddr>,
    secret: Secret,
    board: Option<Rc<Board>>,
    listener: TcpListener,
    door: Door<TcpStream>,
    contacts: Vec<Contact>,
    /// Ranks with an open contact.
    live: Vec<Rank>,
    turn: usize,
    /// The frame whose payload can be taken: its sender, its beginning, its bytes.
    current: Option<(Rank, usize, usize)>,
    events: VecDeque<Event>,
    ends: u32,
    quiet: u32,
    packed: Vec<u8>,
}

impl Streams {
    /// Those of `rank`; `others`: whether it uses this route to a rank.
    ///
    /// # Errors
    /// The system's; ranks of a small job that did not come.
    pub(crate) fn open(meeting: &Meeting, rank: Rank, others: impl Fn(Rank) -> bool) -> io::Result<Streams> {
        let listener = meeting.listener(rank)?;
        listener.set_nonblocking(true)?;
        let ranks = meeting.addresses.len() as u32;
        let contact = |other: Rank| if others(other) && other != rank { Contact::Unknown } else { Contact::Over };
        let mut streams = Streams {
            rank,
            addresses: meeting.addresses.clone(),
            secret: meeting.secret.clone(),
            board: meeting.board.clone(),
            listener,
            door: Door::new(Purpose::Messages, ranks),
            contacts: (0..ranks).map(contact).collect(),
            live: Vec::new(),
            turn: 0,
            current: None,
            events: VecDeque::new(),
            ends: 0,
            quiet: 0,
            packed: Vec::new(),
        };
        if ranks <= EAGER_MAX {
            streams.connect_all()?;
        }
        Ok(streams)
    }
    /// Connects to the ranks before this one, and waits for those after it.
    fn connect_all(&mut self) -> io::Result<()> {
        for to in 0..self.rank {
            if matches!(self.contacts[to as usize], Contact::Unknown) {
                self.connect(to)?;
            }
        }
        let start = Instant::now();
        loop {
            self.tend();
            let is_missing = |contact: &Contact| match contact {
                Contact::Unknown => true,
                Contact::Open(peer) => !peer.is_ready(),
                Contact::Over => false,
            };
            let missing = self.contacts.iter().filter(|contact| is_missing(contact)).count();
            if missing == 0 {
                return Ok(());
            }
            if start.elapsed() > CONNECT_LIMIT {
                let limit_s = CONNECT_LIMIT.as_secs();
                return Err(io::Error::other(format!("{missing} ranks did not connect within {limit_s} s")));
            }
            self.wait(Duration::from_millis(20));
        }
    }
    /// Sleeps until something comes. For `time` alone while something waits to be sent, and in a large job, where asking the
    /// system about all connections takes longer than that.
    pub(crate) fn nap(&self, time: Duration) {
        let is_pending =
            |&rank: &Rank| matches!(&self.contacts[rank as usize], Contact::Open(peer) if peer.is_pending());
        if self.live.len() > EAGER_MAX as usize || self.live.iter().any(is_pending) {
            std::thread::sleep(time);
        } else {
            self.wait(time.max(NAP_MAX));
        }
    }
    /// Waits until a connection may go on.
    fn wait(&self, limit: Duration) {
        let open = self.live.iter().filter_map(|&rank| match &self.contacts[rank as usize] {
            Contact::Open(peer) => Some(peer.fd()),
            _ => None,
        });
        let listener = std::os::fd::AsRawFd::as_raw_fd(&self.listener);
        let fds: Vec<i32> = std::iter::once(listener).chain(self.door.fds()).chain(open).collect();
        sys::wait_readable(&fds, limit);
    }
    fn connection(&self, to: Rank) -> io::Result<(TcpStream, Stage)> {
        let mut stream = TcpStream::connect_timeout(&self.addresses[to as usize], CONNECT_LIMIT)?;
        stream.set_nonblocking(true)?;
        let claim = Meeting::claim(self.rank, to, self.addresses.len() as u32);
        // Without a limit: the other side may compute for long before it polls. Moreover, a side that admits this one
        // keeps the connection for the pair. So this side must not give it up before it knows.
        let joining = Joining::begin(&mut stream, &claim, None)?;
        Ok((stream, Stage::Joining(joining)))
    }
    fn connect(&mut self, to: Rank) -> io::Result<()> {
        let (stream, stage) = self.connection(to)?;
        self.contacts[to as usize] = Contact::Open(Box::new(Peer::new(stream, stage)?));
        self.live.push(to);
        Ok(())
    }
    /// Sends a message, or keeps it until its connection is there and takes it.
    pub(crate) fn send(&mut self, store: &Store, to: Rank, head: &Head, payload: &Payload<'_>) -> Posted {
        if payload.bytes() > MESSAGE_MAX {
            return Posted::Refused(Refusal::TooLong(MESSAGE_MAX));
        }
        let is_unknown = match self.contacts.get(to as usize) {
            None => return Posted::Refused(Refusal::NoRank),
            Some(contact) => matches!(contact, Contact::Unknown),
        };
        if is_unknown && self.connect(to).is_err() {
            if self.is_there(to) == Some(true) {
                return Posted::Busy;
            }
            self.lose(to);
        }
        let Contact::Open(peer) = &mut self.contacts[to as usize] else {
            return Posted::Refused(Refusal::PeerGone(to));
        };
        peer.flush();
        if peer.over {
            return Posted::Refused(Refusal::PeerGone(to));
        }
        if peer.is_busy() {
            return Posted::Busy;
        }
        match packed(store, payload, &mut self.packed) {
            Ok(bytes) => peer.send(USER, head, bytes),
            Err(refusal) => return Posted::Refused(refusal),
        }
        Posted::Accepted
    }
    /// Ends the life of the payload that [`Streams::poll`] gave.
    pub(crate) fn release(&mut self) {
        if let Some((from, start, bytes)) = self.current.take()
            && let Contact::Open(peer) = &mut self.contacts[from as usize]
        {
            peer.taken = start + bytes;
        }
    }
    /// The next message or death.
    pub(crate) fn poll(&mut self) -> Option<Event> {
        self.release();
        let count = self.live.len();
        let readable = if count > ASK_FROM { Some(self.readable()) } else { None };
        for step in 0..count {
            let at = (self.turn + step) % count;
            let Some(&from) = self.live.get(at) else { break };
            let may_read = readable.as_ref().is_none_or(|readable| readable.get(at) == Some(&true));
            if let Some(event) = self.look(from, may_read) {
                self.turn = at + 1;
                self.quiet = 0;
                return Some(event);
            }
            if self.live.len() != count {
                // One has said good-bye: the places have changed.
                break;
            }
        }
        self.quiet += 1;
        if self.quiet.is_multiple_of(QUIET_POLLS) {
            self.tend();
        }
        self.events.pop_front()
    }
    fn readable(&self) -> Vec<bool> {
        let fd = |&rank: &Rank| match &self.contacts[rank as usize] {
            Contact::Open(peer) => peer.fd(),
            _ => -1,
        };
        let fds: Vec<i32> = self.live.iter().map(fd).collect();
        sys::wait_readable(&fds, Duration::ZERO)
    }
    /// Polls a peer: a whole frame, or its end.
    fn look(&mut self, from: Rank, may_read: bool) -> Option<Event> {
        let Contact::Open(peer) = &mut self.contacts[from as usize] else { return None };
        peer.flush();
        if !peer.is_ready() {
            return None;
        }
        let frame = peer.frame().or_else(|| if may_read && peer.fill() { peer.frame() } else { None });
        let Some(frame) = frame else {
            if !peer.over {
                return None;
            }
            self.lose(from);
            return Some(Event::PeerGone(from));
        };
        if frame.kind == CLOSE {
            self.lose(from);
            return Some(Event::PeerLeft(from));
        }
        self.current = Some((from, frame.start, frame.bytes));
        Some(Event::Control { from, head: frame.head, bytes: frame.bytes as u64 })
    }
    fn lose(&mut self, rank: Rank) {
        self.contacts[rank as usize] = Contact::Over;
        self.live.retain(|&live| live != rank);
    }
    /// Serves rare events: new connections, proofs, ends of ranks to which there is no connection.
    pub(crate) fn tend(&mut self) {
        // A rank that has left by now has sent all its messages before: the next polls find them.
        let ended = self.ended();
        while let Ok((stream, from)) = self.listener.accept() {
            self.door.take(stream, from.to_string());
        }
        let (rank, contacts) = (self.rank, &self.contacts);
        let mut admitted = Vec::new();
        while let Some(one) = self.door.step(&self.secret, |claim| judge(rank, contacts, &admitted, claim)) {
            admitted.push(one);
        }
        admitted.into_iter().for_each(|one| self.admit(one));
        for at in (0..self.live.len()).rev() {
            self.prove(self.live[at]);
        }
        self.notice_ends(&ended);
    }
    fn admit(&mut self, admitted: Admitted<TcpStream>) {
        let from = admitted.claim.rank;
        let done = match &mut self.contacts[from as usize] {
            Contact::Open(peer) => peer.move_to(admitted.wire, Stage::Ready),
            contact => Peer::new(admitted.wire, Stage::Ready).map(|peer| {
                *contact = Contact::Open(Box::new(peer));
                self.live.push(from);
            }),
        };
        if done.is_err() {
            self.lose(from);
            self.events.push_back(Event::PeerGone(from));
        }
    }
    /// Goes on with the proof to one rank; a connection that ended before it is made again.
    fn prove(&mut self, to: Rank) {
        let Contact::Open(peer) = &mut self.contacts[to as usize] else { return };
        let Progress::Refused(_) = peer.prove(&self.secret) else { return };
        if matches!(peer.stage, Stage::Awaits) {
            return;
        }
        let again = self.connection(to);
        let moved = match (&mut self.contacts[to as usize], again) {
            (Contact::Open(peer), Ok((stream, stage))) => peer.move_to(stream, stage),
            (_, again) => again.map(drop),
        };
        // A rank that is there can be reached sooner or later, and something waits to be sent to it: the next look tries
        // again.
        if moved.is_err() && self.is_there(to) != Some(true) {
            self.lose(to);
            self.events.push_back(Event::PeerGone(to));
        }
    }
    /// Whether a rank has neither died nor left, where a board reports that.
    fn is_there(&self, rank: Rank) -> Option<bool> {
        self.board.as_ref().map(|board| !board.is_dead(rank) && !board.has_left(rank))
    }
    /// Ranks that have ended since the last check, and whether they died.
    fn ended(&mut self) -> Vec<(Rank, bool)> {
        let Some(board) = &self.board else { return Vec::new() };
        if board.ends() == self.ends {
            return Vec::new();
        }
        self.ends = board.ends();
        let end = |rank| (board.is_dead(rank) || board.has_left(rank)).then(|| (rank, board.is_dead(rank)));
        (0..self.addresses.len() as u32).filter_map(end).collect()
    }
    fn notice_ends(&mut self, ended: &[(Rank, bool)]) {
        for &(rank, dead) in ended {
            // A connection that is ready ends by itself, after what came before.
            let silent = match &self.contacts[rank as usize] {
                Contact::Unknown => true,
                Contact::Open(peer) => !peer.is_ready(),
                Contact::Over => false,
            };
            if silent {
                // A rank that is no partner on this route has been over from the beginning.
                let known = !matches!(self.contacts[rank as usize], Contact::Over);
                self.lose(rank);
                self.events.extend(known.then_some(if dead { Event::PeerGone(rank) } else { Event::PeerLeft(rank) }));
            }
        }
    }
    /// The payload of the message that [`Streams::poll`] gave.
    pub(crate) fn payload(&self) -> &[u8] {
        match self.current {
            Some((from, start, bytes)) => match &self.contacts[from as usize] {
                Contact::Open(peer) => &peer.input[start..start + bytes],
                _ => &[],
            },
            None => &[],
        }
    }
    /// Whether events wait that are no messages.
    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }
    /// Says good-bye to all, after what waits to be sent: that is taken, or who it was for has died.
    pub(crate) fn close(&mut self) {
        let start = Instant::now();
        for &rank in &self.live {
            if let Contact::Open(peer) = &mut self.contacts[rank as usize] {
                peer.send(CLOSE, &[0; 4], &[]);
            }
        }
        loop {
            self.tend();
            let mut pending = false;
            for &rank in &self.live {
                // However long the other side computes before it reads. A connection that is still being proven may
                // come for as long as the other side is there. Where no board shows that, it may come for some time.
                let is_there = self.is_there(rank).unwrap_or(start.elapsed() < CONNECT_LIMIT);
                if let Contact::Open(peer) = &mut self.contacts[rank as usize] {
                    peer.flush();
                    let may_come = peer.is_ready() || is_there;
                    pending |= peer.is_pending() && !peer.over && !peer.is_broken && may_come;
                }
            }
            if !pending {
                break;
            }
            std::thread::yield_now();
        }
        if let Some(board) = &self.board {
            board.leave(self.rank);
        }
        self.live.clear();
        self.contacts.iter_mut().for_each(|contact| *contact = Contact::Over);
    }
}

/// Whether a rank that has proven the secret may have a connection.
fn judge(rank: Rank, contacts: &[Contact], admitted: &[Admitted<TcpStream>], claim: &Claim) -> Verdict {
    if *claim != Meeting::claim(claim.rank, rank, contacts.len() as u32) {
        return Verdict::OtherJob;
    }
    let free = match contacts.get(claim.rank as usize) {
        Some(Contact::Unknown) => true,
        Some(Contact::Open(peer)) => match peer.stage {
            Stage::Joining(_) => claim.rank < rank,
            Stage::Awaits => true,
            Stage::Ready => false,
        },
        Some(Contact::Over) | None => false,
    };
    let twice = admitted.iter().any(|one| one.claim.rank == claim.rank);
    if free && !twice { Verdict::Admitted } else { Verdict::RankTaken }
}

/// A payload's bytes in a row.
fn packed<'a>(store: &'a Store, payload: &Payload<'a>, room: &'a mut Vec<u8>) -> Result<&'a [u8], Refusal> {
    let span = match payload {
        Payload::None => return Ok(&[]),
        Payload::Bytes(bytes) => return Ok(bytes),
        Payload::Span(span) => *span,
    };
    if let Some(bytes) = store.contiguous(span)? {
        return Ok(bytes);
    }
    room.resize(span.bytes() as usize, 0);
    store.pack(span, room)?;
    Ok(room)
}
