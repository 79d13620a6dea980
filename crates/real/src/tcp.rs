//! TCP between processes: the kernel's own path, for comparison and for ports without shared memory.

use crate::clock::Clock;
use crate::crew::{Crew, Lost};
use crate::idle::Idler;
use crate::ranks::Doors;
use crate::store::{Lend, Store};
use hotlink_fabric::units::{Rate, Time};
use hotlink_port::{
    Align, Attachment, Engine, Event, Head, Host, Key, Kind, Limits, Memory, Op, Payload, Port, Posted, Rank, Refusal,
    Span, Work,
};
use std::collections::VecDeque;
use std::io::{self, IoSlice, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Longest payload of a message.
const MESSAGE_MAX: u64 = 64 << 10;
/// Bytes kept for a peer that does not read: beyond, the port is busy.
const OUT_MAX: usize = 256 << 10;
/// Bytes read ahead from a peer.
const IN_MAX: usize = 256 << 10;
/// Length of payload, kind, four words of head.
const FRAME: usize = 40;
const USER: u32 = 0;
const CLOSE: u32 = 1;
/// Most ranks: a connection between every two.
pub(crate) const MAX_RANKS: u32 = 64;
/// How long a rank waits for another that has met it already.
const CONNECT_LIMIT: Duration = crate::crew::MEET_LIMIT;

/// What ranks need to find each other, made before they are forked.
pub struct Meeting {
    /// Where each rank listens, and the listeners that this process holds.
    addresses: Vec<SocketAddr>,
    listeners: Vec<Option<TcpListener>>,
    /// Proves that who connects belongs to the job.
    cookie: [u8; 16],
    clock: Clock,
    oversubscribed: bool,
}

impl Meeting {
    pub(crate) fn new(ranks: u32, oversubscribed: bool) -> io::Result<Meeting> {
        let listeners = (0..ranks).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
        let listeners: Vec<TcpListener> = listeners.collect::<io::Result<_>>()?;
        let addresses = listeners.iter().map(TcpListener::local_addr).collect::<io::Result<_>>()?;
        let cookie = random_cookie()?;
        let listeners = listeners.into_iter().map(Some).collect();
        Ok(Meeting { addresses, listeners, cookie, clock: Clock::start(), oversubscribed })
    }
    /// The meeting of the first `ranks` of a launched job: all tell each other where they listen.
    pub(crate) fn of_crew(crew: &mut Crew, ranks: u32) -> io::Result<Meeting> {
        let lost = |lost: Lost| io::Error::other(format!("rank {} has ended", lost.0));
        let ip = crew.own_ip().unwrap_or(Ipv4Addr::LOCALHOST.into());
        let listener = TcpListener::bind((ip, 0))?;
        let all = crew.all_to_all(listener.local_addr()?.to_string().as_bytes()).map_err(lost)?;
        let address = |text: &Vec<u8>| String::from_utf8_lossy(text).parse().map_err(io::Error::other);
        let addresses = all.iter().take(ranks as usize).map(address).collect::<io::Result<_>>()?;
        let cookie = if crew.rank == 0 { Some(random_cookie()?.to_vec()) } else { None };
        let cookie = crew.broadcast(cookie).map_err(lost)?.try_into().map_err(|_| io::Error::other("no cookie"))?;
        let mut listeners: Vec<_> = (0..ranks).map(|_| None).collect();
        if let Some(own) = listeners.get_mut(crew.rank as usize) {
            *own = Some(listener);
        }
        let oversubscribed = crew.is_crowded(ranks).map_err(lost)?;
        Ok(Meeting { addresses, listeners, cookie, clock: Clock::start(), oversubscribed })
    }
    fn connect(&self, rank: Rank, to: Rank) -> io::Result<Peer> {
        let mut stream = TcpStream::connect(self.addresses[to as usize])?;
        stream.write_all(&self.cookie)?;
        stream.write_all(&rank.to_le_bytes())?;
        Peer::new(stream)
    }
    /// Accepts one rank of the job; whoever else connects is turned away.
    ///
    /// # Errors
    /// Nobody of the job came: who was to come may have ended, and no launcher ends the others.
    fn accept(&self, rank: Rank) -> io::Result<(Rank, Peer)> {
        let listener = self.listeners[rank as usize].as_ref().ok_or(io::ErrorKind::NotConnected)?;
        listener.set_nonblocking(true)?;
        let start = Instant::now();
        while start.elapsed() < CONNECT_LIMIT {
            let mut stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                }
                Err(error) => return Err(error),
            };
            stream.set_nonblocking(false)?;
            stream.set_read_timeout(Some(CONNECT_LIMIT))?;
            let (mut cookie, mut from) = ([0; 16], [0; 4]);
            let heard = stream.read_exact(&mut cookie).and_then(|()| stream.read_exact(&mut from));
            if heard.is_ok() && cookie == self.cookie {
                return Ok((Rank::from_le_bytes(from), Peer::new(stream)?));
            }
        }
        Err(io::Error::other(format!("no other rank connected for {} s", CONNECT_LIMIT.as_secs())))
    }
}

fn random_cookie() -> io::Result<[u8; 16]> {
    let mut cookie = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut cookie)?;
    Ok(cookie)
}

impl Doors for Meeting {
    type Port = TcpPort;
    fn open(&self, rank: Rank) -> io::Result<TcpPort> {
        let ranks = self.addresses.len() as u32;
        let mut peers: Vec<Option<Peer>> = (0..ranks).map(|_| None).collect();
        for to in 0..rank {
            peers[to as usize] = Some(self.connect(rank, to)?);
        }
        for _ in rank + 1..ranks {
            let (from, peer) = self.accept(rank)?;
            match peers.get_mut(from as usize) {
                Some(slot @ None) if from > rank => *slot = Some(peer),
                _ => return Err(io::Error::other("two ranks claim the same number")),
            }
        }
        Ok(TcpPort {
            rank,
            ranks,
            limits: limits(),
            clock: self.clock,
            store: Store::new(None),
            peers,
            own: VecDeque::new(),
            current: None,
            turn: 0,
            events: VecDeque::new(),
            idler: Idler::new(self.oversubscribed),
            packed: Vec::new(),
        })
    }
    /// Nothing to do: the others see the connection end.
    fn bury(&self, _: Rank) {}
}

/// A connection. Bytes `taken..filled` of `input` have been read and not used, `written..` of `output` not sent.
struct Peer {
    stream: TcpStream,
    output: Vec<u8>,
    written: usize,
    input: Vec<u8>,
    taken: usize,
    filled: usize,
    /// Said good-bye, or its connection ended.
    over: bool,
}

/// A frame in a peer's input: its kind, head and payload's place.
struct Frame {
    kind: u32,
    head: Head,
    start: usize,
    bytes: usize,
}

impl Peer {
    fn new(stream: TcpStream) -> io::Result<Peer> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let input = vec![0; IN_MAX];
        Ok(Peer { stream, output: Vec::new(), written: 0, input, taken: 0, filled: 0, over: false })
    }
    /// Sends a frame or keeps what the connection does not take.
    fn send(&mut self, kind: u32, head: &Head, payload: &[u8]) {
        let mut frame = [0; FRAME];
        frame[..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        frame[4..8].copy_from_slice(&kind.to_le_bytes());
        frame[8..].copy_from_slice(head.map(u64::to_le_bytes).as_flattened());
        let mut sent = 0;
        if self.output.len() == self.written {
            sent = self.stream.write_vectored(&[IoSlice::new(&frame), IoSlice::new(payload)]).unwrap_or(0);
        }
        self.output.extend_from_slice(&frame[sent.min(FRAME)..]);
        self.output.extend_from_slice(&payload[sent.saturating_sub(FRAME)..]);
    }
    fn flush(&mut self) {
        while self.written < self.output.len() {
            match self.stream.write(&self.output[self.written..]) {
                Ok(sent) if sent > 0 => self.written += sent,
                _ => break,
            }
        }
        if self.written == self.output.len() {
            self.output.clear();
            self.written = 0;
        } else if self.written > OUT_MAX {
            self.output.drain(..self.written);
            self.written = 0;
        }
    }
    fn is_busy(&mut self) -> bool {
        self.output.len() - self.written > OUT_MAX
    }
    /// The next frame, if all of it is here.
    fn frame(&self) -> Option<Frame> {
        let bytes = &self.input[self.taken..self.filled];
        let header = bytes.get(..FRAME)?;
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|k| header[at + k]));
        let head = std::array::from_fn(|i| u64::from_le_bytes(std::array::from_fn(|k| header[8 + i * 8 + k])));
        let len = word(0) as usize;
        (bytes.len() >= FRAME + len).then_some(Frame { kind: word(4), head, start: self.taken + FRAME, bytes: len })
    }
    /// Reads what has come; whether anything did.
    fn fill(&mut self) -> bool {
        if self.taken == self.filled {
            (self.taken, self.filled) = (0, 0);
        } else if self.input.len() - self.taken < FRAME + MESSAGE_MAX as usize {
            self.input.copy_within(self.taken..self.filled, 0);
            (self.taken, self.filled) = (0, self.filled - self.taken);
        }
        match self.stream.read(&mut self.input[self.filled..]) {
            Ok(0) => self.over = true,
            Ok(read) => {
                self.filled += read;
                return true;
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => self.over = true,
        }
        false
    }
}

/// The payload that can be taken now.
enum Current {
    /// In a peer's input.
    Peer { from: Rank, start: usize, bytes: usize },
    /// A message to this rank itself.
    Own(Vec<u8>),
}

/// One process's door to its job over TCP.
pub struct TcpPort {
    rank: Rank,
    ranks: u32,
    limits: Limits,
    clock: Clock,
    store: Store,
    peers: Vec<Option<Peer>>,
    own: VecDeque<(Head, Vec<u8>)>,
    current: Option<Current>,
    turn: Rank,
    events: VecDeque<Event>,
    idler: Idler,
    packed: Vec<u8>,
}

impl TcpPort {
    fn control(&mut self, to: Rank, head: &Head, payload: &Payload<'_>) -> Posted {
        if payload.bytes() > MESSAGE_MAX {
            return Posted::Refused(Refusal::TooLong(MESSAGE_MAX));
        }
        if to >= self.ranks {
            return Posted::Refused(Refusal::NoRank);
        }
        if let Some(peer) = &mut self.peers[to as usize] {
            peer.flush();
            if peer.over {
                return Posted::Refused(Refusal::PeerGone(to));
            }
            if peer.is_busy() {
                return Posted::Busy;
            }
        } else if to != self.rank {
            return Posted::Refused(Refusal::PeerGone(to));
        } else if self.own.len() >= 256 {
            return Posted::Busy;
        }
        let packed = &mut self.packed;
        let bytes = match payload {
            Payload::None => &[][..],
            Payload::Bytes(bytes) => bytes,
            Payload::Span(span) => match self.store.contiguous(*span) {
                Ok(Some(bytes)) => bytes,
                Ok(None) => {
                    packed.resize(span.bytes() as usize, 0);
                    if let Err(refusal) = self.store.pack(*span, packed) {
                        return Posted::Refused(refusal);
                    }
                    packed
                }
                Err(refusal) => return Posted::Refused(refusal),
            },
        };
        match &mut self.peers[to as usize] {
            Some(peer) => peer.send(USER, head, bytes),
            None => self.own.push_back((*head, bytes.to_vec())),
        }
        Posted::Accepted
    }
    fn release(&mut self) {
        if let Some(Current::Peer { from, start, bytes }) = self.current.take()
            && let Some(peer) = &mut self.peers[from as usize]
        {
            peer.taken = start + bytes;
        }
    }
    /// Looks at a peer: a whole frame, or its end.
    fn look(&mut self, from: Rank) -> Option<Event> {
        let peer = self.peers[from as usize].as_mut()?;
        peer.flush();
        let frame = peer.frame().or_else(|| if peer.fill() { peer.frame() } else { None });
        let Some(frame) = frame else {
            if !peer.over {
                return None;
            }
            self.peers[from as usize] = None;
            return Some(Event::PeerGone(from));
        };
        if frame.kind == CLOSE {
            self.peers[from as usize] = None;
            return None;
        }
        self.current = Some(Current::Peer { from, start: frame.start, bytes: frame.bytes });
        Some(Event::Control { from, head: frame.head, bytes: frame.bytes as u64 })
    }
    fn payload(&self) -> &[u8] {
        match &self.current {
            Some(Current::Own(bytes)) => bytes,
            Some(Current::Peer { from, start, bytes }) => match &self.peers[*from as usize] {
                Some(peer) => &peer.input[*start..start + bytes],
                None => &[],
            },
            None => &[],
        }
    }
}

impl Port for TcpPort {
    fn rank(&self) -> Rank {
        self.rank
    }
    fn ranks(&self) -> u32 {
        self.ranks
    }
    fn limits(&self) -> &Limits {
        &self.limits
    }
    fn now(&self) -> Time {
        self.clock.now()
    }
    fn post(&mut self, op: &Op<'_>) -> Posted {
        match *op {
            Op::Control { to, ref head, ref payload } => self.control(to, head, payload),
            _ => Posted::Refused(Refusal::Unsupported),
        }
    }
    fn poll(&mut self) -> Option<Event> {
        self.release();
        if let Some((head, bytes)) = self.own.pop_front() {
            let event = Event::Control { from: self.rank, head, bytes: bytes.len() as u64 };
            self.current = Some(Current::Own(bytes));
            return Some(event);
        }
        for step in 0..self.ranks {
            let from = (self.turn + step) % self.ranks;
            if let Some(event) = self.look(from) {
                self.turn = (from + 1) % self.ranks;
                self.idler.reset();
                return Some(event);
            }
        }
        self.events.pop_front()
    }
    fn deliver(&mut self, at: u64, to: Span) -> Result<(), Refusal> {
        let payload = match &self.current {
            Some(Current::Own(bytes)) => &bytes[..],
            Some(Current::Peer { from, start, bytes }) => match &self.peers[*from as usize] {
                Some(peer) => &peer.input[*start..start + bytes],
                None => &[],
            },
            None => &[],
        };
        let end = at.checked_add(to.bytes()).ok_or(Refusal::OutOfBounds)?;
        let part = payload.get(at as usize..end as usize).ok_or(Refusal::OutOfBounds)?;
        self.store.unpack(part, to)
    }
    fn peek(&self, at: u64, into: &mut [u8]) -> usize {
        let payload = self.payload().get(at as usize..).unwrap_or_default();
        let bytes = payload.len().min(into.len());
        into[..bytes].copy_from_slice(&payload[..bytes]);
        bytes
    }
    fn idle(&mut self, until: Time) {
        if self.own.is_empty() && self.events.is_empty() {
            self.idler.rest(until);
        }
    }
    fn close(&mut self) {
        let start = Instant::now();
        for peer in self.peers.iter_mut().flatten() {
            peer.send(CLOSE, &[0; 4], &[]);
            while peer.output.len() > peer.written && !peer.over && start.elapsed() < CONNECT_LIMIT {
                peer.flush();
                std::thread::yield_now();
            }
        }
        self.peers.iter_mut().for_each(|peer| *peer = None);
    }
}

#[allow(unsafe_code)]
impl Lend for TcpPort {
    unsafe fn lend(&mut self, start: *mut u8, bytes: u64) -> Memory {
        // SAFETY: the caller keeps what the store asks for.
        unsafe { self.store.lend(start, bytes) }
    }
    fn start(&self, memory: Memory) -> Result<*mut u8, Refusal> {
        self.store.start(memory)
    }
}

impl Host for TcpPort {
    fn alloc(&mut self, bytes: u64, kind: Kind, align: Align) -> Result<Memory, Refusal> {
        self.store.alloc(bytes, kind, align)
    }
    fn free(&mut self, memory: Memory) -> Result<(), Refusal> {
        self.store.free(memory)
    }
    fn size(&self, memory: Memory) -> Result<u64, Refusal> {
        self.store.size(memory)
    }
    fn kind(&self, memory: Memory) -> Result<Kind, Refusal> {
        self.store.kind(memory)
    }
    fn read(&self, memory: Memory, offset: u64, into: &mut [u8]) -> Result<(), Refusal> {
        self.store.read(memory, offset, into)
    }
    fn write(&mut self, memory: Memory, offset: u64, from: &[u8]) -> Result<(), Refusal> {
        self.store.write(memory, offset, from)
    }
    fn copy(&mut self, from: Span, to: Span) -> Result<(), Refusal> {
        self.store.copy(from, to)
    }
    fn register(&mut self, _: Memory) -> Result<Key, Refusal> {
        Err(Refusal::Unsupported)
    }
    fn unregister(&mut self, _: Key) -> Result<(), Refusal> {
        Err(Refusal::Unsupported)
    }
    fn attach(&mut self, _: Key, _: Engine) -> Result<Attachment, Refusal> {
        Err(Refusal::Unsupported)
    }
    fn detach(&mut self, _: Attachment) -> Result<(), Refusal> {
        Err(Refusal::Unsupported)
    }
    fn compute(&mut self, work: Work) {
        self.store.compute(work, &self.clock);
    }
}

impl Drop for TcpPort {
    fn drop(&mut self) {
        self.close();
    }
}

fn limits() -> Limits {
    Limits {
        control_bytes_max: MESSAGE_MAX,
        inline_bytes: 1024,
        post_overhead: Time::from_us(2.0),
        poll_overhead: Time::from_us(2.0),
        latency: Time::from_us(8.0),
        rate: Rate::from_mbps(3000.0),
        copy_rate: Rate::from_mbps(10_000.0),
        ..Limits::messages("TCP")
    }
}
