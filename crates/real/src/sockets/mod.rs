//! The operating system's own sockets, streams (TCP) and datagrams (UDP), between two processes or hosts: K98's third
//! level. One side drives and sends the other its orders by a connection of its own; each order is done on new sockets.

mod serve;
mod wire;

pub use serve::serve;
pub use wire::interface_of;
pub(crate) use wire::own_addresses;

use crate::proof::{Purpose, Secret, Session, derived};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};
use wire::{accept, buffers, read_text, read_word, set_buffers, write_in, write_text};

/// Longest datagram of IPv4.
pub const DATAGRAM_MAX: u64 = 65_507;
/// Shortest: its number.
pub const DATAGRAM_MIN: u64 = 8;
/// The other side is given up after this.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often a side that waits for datagrams checks whether more will come.
const LOOK: Duration = Duration::from_millis(20);
/// No datagram comes this long after the last was sent.
const QUIET: Duration = Duration::from_millis(500);
const READ: usize = 256 << 10;
/// Longest message and buffer that one side asks the other for.
const ASKED_MAX: u64 = 1 << 30;
/// The first message of both sides to each other's datagrams: no other program knows it.
type Greeting = [u8; 16];

fn greeting(session: &Session, port: u16) -> Greeting {
    let all = derived(session, &[b"datagrams to port ".as_slice(), &port.to_le_bytes()].concat());
    std::array::from_fn(|k| all[k])
}

/// Which sockets are used, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketOptions {
    /// Datagrams, else a stream.
    pub datagram: bool,
    /// Nagle's algorithm: the kernel holds short segments back while others are unacknowledged.
    pub nagle: bool,
    /// Bytes of send and receive buffers; `None`: the system's own choice.
    pub buffer: Option<u64>,
    /// Calls in which a message is written.
    pub writes: u64,
}

/// The order to the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// Sends each message back.
    Echo,
    /// Takes messages in and reports how fast they came.
    Drain,
}

/// The buffers that the kernel gave, as it reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketBuffers {
    /// Bytes to send.
    pub send: u64,
    /// Bytes received.
    pub receive: u64,
}

/// Round trips.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pings {
    /// Half round trips in microseconds.
    pub times_us: Vec<f64>,
    /// Datagrams without an answer in time.
    pub lost: u64,
    /// Buffers of the sender's socket.
    pub buffers: SocketBuffers,
}

/// Messages as fast as they go, or at a given pace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flood {
    /// MB/s (10^6 bytes per second) at the receiver, interval by interval, the first tenth left out.
    pub mbps: Vec<f64>,
    /// Messages sent.
    pub sent: u64,
    /// Messages received; of a stream, whole ones.
    pub received: u64,
    /// Buffers of the sender's socket.
    pub buffers: SocketBuffers,
}

/// The side that drives.
#[derive(Debug)]
pub struct Sockets {
    listener: TcpListener,
    control: TcpStream,
    /// Proves further connections of the side that proved the secret.
    session: Session,
}

fn first_of(address: &str) -> io::Result<SocketAddr> {
    let mut all = address.to_socket_addrs()?;
    all.next().ok_or_else(|| io::Error::new(ErrorKind::NotFound, "no such host"))
}

/// The secret between this side and the one that listens, or listens to us, at `address`.
fn secret_for(address: SocketAddr) -> io::Result<Secret> {
    Secret::find(address.ip().is_loopback()).map_err(io::Error::other)
}

impl Sockets {
    /// Two threads of this process, over the loopback.
    ///
    /// # Errors
    /// The system has no sockets for us.
    pub fn local() -> io::Result<Sockets> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let (address, secret) = (listener.local_addr()?, Secret::fresh()?);
        let theirs = secret.clone();
        std::thread::spawn(move || serve::serve_at(address, &theirs, ""));
        Sockets::meet(listener, &secret, |_| String::new())
    }
    /// Waits at `host:port` for the other side, see [`serve`], which must prove the secret. `objection` judges the
    /// choices that it sends: a complaint in words for both sides; empty if there is none.
    ///
    /// # Errors
    /// No such address here, no secret, no peer came, or the objection.
    pub fn listen(address: &str, objection: impl FnOnce(&str) -> String) -> io::Result<Sockets> {
        let address = first_of(address)?;
        let secret = secret_for(address)?;
        let listener = TcpListener::bind(address)?;
        eprintln!("hotlink: listens at {address} for one that proves the secret of {}", secret.origin());
        crate::crew::tell_listening(address.to_string());
        Sockets::meet(listener, &secret, objection)
    }
    fn meet(listener: TcpListener, secret: &Secret, objection: impl FnOnce(&str) -> String) -> io::Result<Sockets> {
        let (mut control, session) = accept(&listener, Purpose::Orders, secret, PATIENCE)?;
        control.set_nodelay(true)?;
        let objection = objection(&read_text(&mut control)?);
        write_text(&mut control, &objection)?;
        if !objection.is_empty() {
            return Err(io::Error::other(objection));
        }
        Ok(Sockets { listener, control, session })
    }
    /// This host's address, as the other side sees it.
    ///
    /// # Errors
    /// The other side has gone.
    pub fn address(&self) -> io::Result<IpAddr> {
        Ok(self.control.local_addr()?.ip())
    }
    fn order(&mut self, task: Task, options: SocketOptions, size: u64, port: u16) -> io::Result<()> {
        let words = [
            1 + u64::from(task == Task::Drain),
            u64::from(options.datagram),
            u64::from(options.nagle),
            options.buffer.unwrap_or(0),
            options.writes,
            size,
            port.into(),
        ];
        self.control.write_all(words.map(u64::to_le_bytes).as_flattened())
    }
    fn stream(&mut self, task: Task, options: SocketOptions, size: u64) -> io::Result<TcpStream> {
        // Buffers are inherited from the listener, so that the window is negotiated with them.
        set_buffers(self.listener.as_raw_fd(), options.buffer)?;
        self.order(task, options, size, 0)?;
        let session = Secret::of(self.session.to_vec(), "this measurement");
        let (stream, _) = accept(&self.listener, Purpose::Stream, &session, PATIENCE)?;
        stream.set_nodelay(!options.nagle)?;
        set_buffers(stream.as_raw_fd(), options.buffer)?;
        Ok(stream)
    }
    fn datagrams(&mut self, task: Task, options: SocketOptions, size: u64) -> io::Result<UdpSocket> {
        let socket = UdpSocket::bind((self.address()?, 0))?;
        set_buffers(socket.as_raw_fd(), options.buffer)?;
        let port = socket.local_addr()?.port();
        self.order(task, options, size, port)?;
        let (start, greeting, mut word) = (Instant::now(), greeting(&self.session, port), Greeting::default());
        loop {
            let left = PATIENCE.saturating_sub(start.elapsed());
            socket.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
            let (n, from) = socket.recv_from(&mut word)?;
            if n == greeting.len()
                && word == greeting
                && Some(from.ip()) == self.control.peer_addr().ok().map(|a| a.ip())
            {
                socket.connect(from)?;
                socket.send(&greeting)?;
                return Ok(socket);
            }
        }
    }

    /// Messages of `size` bytes there and back, one at a time, until `enough` says so of the samples.
    ///
    /// # Errors
    /// The other side does not answer, or the system refuses.
    pub fn ping(&mut self, options: SocketOptions, size: u64, enough: impl FnMut(&[f64]) -> bool) -> io::Result<Pings> {
        if options.datagram {
            self.ping_datagrams(options, size, enough)
        } else {
            self.ping_stream(options, size, enough)
        }
    }
    fn ping_stream(
        &mut self,
        options: SocketOptions,
        size: u64,
        mut enough: impl FnMut(&[f64]) -> bool,
    ) -> io::Result<Pings> {
        let mut stream = self.stream(Task::Echo, options, size)?;
        let mut pings = Pings { buffers: buffers(stream.as_raw_fd())?, ..Pings::default() };
        let (out, mut into) = (vec![1; size as usize], vec![0; size as usize]);
        for turn in -(WARMUP as i64).. {
            let start = Instant::now();
            write_in(&mut stream, &out, options.writes)?;
            stream.read_exact(&mut into)?;
            if turn >= 0 {
                pings.times_us.push(half_us(start));
            }
            if turn >= 0 && enough(&pings.times_us) {
                break;
            }
        }
        Ok(pings)
    }
    fn ping_datagrams(
        &mut self,
        options: SocketOptions,
        size: u64,
        mut enough: impl FnMut(&[f64]) -> bool,
    ) -> io::Result<Pings> {
        let socket = self.datagrams(Task::Echo, options, size)?;
        let mut pings = Pings { buffers: buffers(socket.as_raw_fd())?, ..Pings::default() };
        let (mut out, mut into) = (vec![1; size as usize], vec![0; DATAGRAM_MAX as usize]);
        let mut slowest = Duration::from_secs(1);
        for turn in 0u64.. {
            out[..8].copy_from_slice(&turn.to_le_bytes());
            // An answer that takes four times as long as the slowest so far does not come.
            let limit = 4 * slowest + LOOK;
            socket.set_read_timeout(Some(limit))?;
            let start = Instant::now();
            socket.send(&out)?;
            let answered = loop {
                match socket.recv(&mut into) {
                    Ok(n) if n == out.len() && into[..8] == out[..8] => break true,
                    Ok(_) if start.elapsed() < limit => {}
                    Ok(_) => break false,
                    Err(error) if is_timeout(&error) => break false,
                    Err(error) => return Err(error),
                }
            };
            let took = start.elapsed();
            if turn < WARMUP {
                slowest = if answered { took.max(Duration::from_millis(1)) } else { slowest };
                continue;
            }
            if answered {
                slowest = slowest.max(took);
                pings.times_us.push(took.as_secs_f64() * 0.5e6);
            } else {
                pings.lost += 1;
            }
            if enough(&pings.times_us) || (pings.times_us.is_empty() && pings.lost > 20) {
                break;
            }
        }
        self.end()?;
        Ok(pings)
    }

    /// Messages of `size` bytes to the other side for `time`, at most `pace` MB/s of datagrams.
    ///
    /// # Errors
    /// As [`Sockets::ping`].
    pub fn flood(&mut self, options: SocketOptions, size: u64, time: Duration, pace: Option<f64>) -> io::Result<Flood> {
        let mut flood = Flood::default();
        let mut out = vec![1; size as usize];
        if options.datagram {
            let socket = self.datagrams(Task::Drain, options, size)?;
            flood.buffers = buffers(socket.as_raw_fd())?;
            // From here: the other side may have been at what was before for longer than this takes.
            let start = Instant::now();
            while start.elapsed() < time {
                out[..8].copy_from_slice(&flood.sent.to_le_bytes());
                match socket.send(&out) {
                    Ok(_) => flood.sent += 1,
                    // No room on the way out: the kernel reports that of some devices.
                    Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => std::thread::yield_now(),
                    Err(error) => return Err(error),
                }
                if let Some(pace) = pace {
                    let due = Duration::from_secs_f64((flood.sent * size) as f64 / (pace * 1e6));
                    std::thread::sleep(due.saturating_sub(start.elapsed()));
                }
            }
            self.end()?;
        } else {
            let mut stream = self.stream(Task::Drain, options, size)?;
            flood.buffers = buffers(stream.as_raw_fd())?;
            let start = Instant::now();
            while start.elapsed() < time {
                write_in(&mut stream, &out, options.writes)?;
                flood.sent += 1;
            }
            stream.shutdown(std::net::Shutdown::Write)?;
        }
        flood.received = read_word(&mut self.control)? / size.max(1);
        let intervals = read_word(&mut self.control)?;
        for _ in 0..intervals {
            flood.mbps.push(f64::from_bits(read_word(&mut self.control)?));
        }
        flood.mbps.drain(..flood.mbps.len() / 10);
        Ok(flood)
    }
    /// The other side may stop waiting for datagrams.
    fn end(&mut self) -> io::Result<()> {
        self.control.write_all(&[0])
    }
}

/// Round trips before the first that counts.
pub const WARMUP: u64 = 5;
/// Rates are reported for intervals of this length.
const INTERVAL: Duration = Duration::from_millis(20);

fn half_us(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 0.5e6
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(datagram: bool) -> SocketOptions {
        SocketOptions { datagram, nagle: false, buffer: None, writes: 1 }
    }

    #[test]
    fn pings_come_back_on_streams_and_datagrams() {
        let mut sockets = Sockets::local().unwrap();
        for (datagram, size) in [(false, 1), (false, 100_000), (true, 8), (true, 1400)] {
            let pings = sockets.ping(options(datagram), size, |samples| samples.len() == 20).unwrap();
            assert_eq!(pings.times_us.len(), 20);
            assert!(pings.times_us.iter().all(|&us| us > 0.0) && pings.buffers.send > 0);
        }
    }

    #[test]
    fn a_stream_loses_nothing_and_datagrams_are_counted() {
        let mut sockets = Sockets::local().unwrap();
        let time = Duration::from_millis(100);
        let flood = sockets.flood(SocketOptions { writes: 3, ..options(false) }, 10_000, time, None).unwrap();
        assert!(flood.sent > 0 && flood.received == flood.sent, "{} of {}", flood.received, flood.sent);
        let flood = sockets.flood(options(true), 1000, time, Some(1.0)).unwrap();
        assert!(flood.received <= flood.sent && flood.sent <= 110, "{} of {}", flood.received, flood.sent);
        // And it goes on afterwards, however long the other side waits for late datagrams of the earlier test.
        assert!(sockets.ping(options(true), 8, |samples| samples.len() == 2).is_ok());
        assert!(sockets.flood(options(true), 1000, time, None).unwrap().sent > 0);
        assert!(sockets.ping(options(false), 8, |samples| samples.len() == 2).is_ok());
    }

    #[test]
    fn buffers_are_what_was_asked_for() {
        let mut sockets = Sockets::local().unwrap();
        let small = SocketOptions { buffer: Some(16 << 10), ..options(false) };
        let pings = sockets.ping(small, 8, |samples| samples.len() == 2).unwrap();
        // Linux doubles what it is asked for, for its own needs.
        assert_eq!(pings.buffers, SocketBuffers { send: 32 << 10, receive: 32 << 10 });
    }

    #[test]
    fn the_loopback_is_found_by_its_address() {
        assert_eq!(interface_of(Ipv4Addr::LOCALHOST.into()).as_deref(), Some("lo"));
        assert_eq!(interface_of(Ipv4Addr::new(192, 0, 2, 1).into()), None);
    }
}
