//! The side that follows orders.

use super::wire::{greet, read_text, set_buffers, write_in, write_text};
use super::{
    ASKED_MAX, DATAGRAM_MAX, Greeting, INTERVAL, LOOK, PATIENCE, QUIET, READ, SocketOptions, first_of, greeting,
    is_timeout, secret_for,
};
use crate::proof::{Purpose, Secret};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Instant;

/// Joins the listener at `address`, if it proves the secret, and follows its orders until it leaves. `choices`: the
/// options of this side, see [`Sockets::listen`](super::Sockets::listen).
///
/// # Errors
/// No listener there, no secret, other choices than its own, or it falls silent within a task.
pub fn serve(address: &str, choices: &str) -> io::Result<()> {
    let address = first_of(address)?;
    serve_at(address, &secret_for(address)?, choices)
}

pub(super) fn serve_at(address: SocketAddr, secret: &Secret, choices: &str) -> io::Result<()> {
    let (mut control, session) = greet(address, None, Purpose::Orders, secret)?;
    control.set_read_timeout(Some(PATIENCE))?;
    write_text(&mut control, choices)?;
    let objection = read_text(&mut control)?;
    if !objection.is_empty() {
        return Err(io::Error::other(objection));
    }
    let streams = Secret::of(session.to_vec(), "this measurement");
    control.set_nodelay(true)?;
    loop {
        let mut words = [0; 7 * 8];
        control.set_read_timeout(None)?;
        match control.read_exact(&mut words) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            other => other?,
        }
        control.set_read_timeout(Some(PATIENCE))?;
        let word = |i: usize| u64::from_le_bytes(std::array::from_fn(|k| words[i * 8 + k]));
        let options = SocketOptions {
            datagram: word(1) == 1,
            nagle: word(2) == 1,
            buffer: Some(word(3)).filter(|&bytes| bytes > 0),
            writes: word(4),
        };
        let (echo, size) = (word(0) == 1, word(5));
        if size > ASKED_MAX || options.buffer.is_some_and(|bytes| bytes > ASKED_MAX) {
            return Err(io::Error::other(format!("asked for {size} B messages; must be at most {ASKED_MAX} B")));
        }
        if options.datagram {
            let far = SocketAddr::new(address.ip(), word(6) as u16);
            let socket = UdpSocket::bind((control.local_addr()?.ip(), 0))?;
            set_buffers(socket.as_raw_fd(), options.buffer)?;
            socket.connect(far)?;
            drain_datagrams(&socket, &mut control, echo, &greeting(&session, far.port()))?;
        } else {
            let (mut stream, _) = greet(address, options.buffer, Purpose::Stream, &streams)?;
            stream.set_nodelay(!options.nagle)?;
            if echo {
                echo_stream(&mut stream, size, options.writes)?
            } else {
                drain_stream(&mut stream, &mut control)?
            }
        }
    }
}

fn echo_stream(stream: &mut TcpStream, size: u64, writes: u64) -> io::Result<()> {
    let mut message = vec![0; size as usize];
    loop {
        match stream.read_exact(&mut message) {
            Err(error) if matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => {
                return Ok(());
            }
            other => other?,
        }
        write_in(stream, &message, writes)?;
        if size == 0 {
            return Ok(());
        }
    }
}

/// Rates at the receiver.
struct Meter {
    since: Option<Instant>,
    bytes: u64,
    total: u64,
    mbps: Vec<f64>,
}

impl Meter {
    fn new() -> Meter {
        Meter { since: None, bytes: 0, total: 0, mbps: Vec::new() }
    }
    fn count(&mut self, bytes: usize) {
        let now = Instant::now();
        self.total += bytes as u64;
        let Some(since) = self.since else {
            // The data of the first call came before time was taken.
            self.since = Some(now);
            return;
        };
        self.bytes += bytes as u64;
        let took = now - since;
        if took >= INTERVAL {
            self.mbps.push(self.bytes as f64 / took.as_secs_f64() / 1e6);
            (self.since, self.bytes) = (Some(now), 0);
        }
    }
    fn tell(&self, control: &mut TcpStream) -> io::Result<()> {
        let mut words = vec![self.total, self.mbps.len() as u64];
        words.extend(self.mbps.iter().map(|rate| rate.to_bits()));
        control.write_all(&words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>())
    }
}

fn drain_stream(stream: &mut TcpStream, control: &mut TcpStream) -> io::Result<()> {
    let (mut meter, mut room) = (Meter::new(), vec![0; READ]);
    loop {
        match stream.read(&mut room)? {
            0 => return meter.tell(control),
            n => meter.count(n),
        }
    }
}

/// Takes datagrams, or sends them back, until the other side says that it is over.
fn drain_datagrams(socket: &UdpSocket, control: &mut TcpStream, echo: bool, greeting: &Greeting) -> io::Result<()> {
    socket.set_read_timeout(Some(LOOK))?;
    let (mut meter, mut room) = (Meter::new(), vec![0; DATAGRAM_MAX as usize]);
    let (mut last, mut heard) = (Instant::now(), false);
    loop {
        if !heard {
            socket.send(greeting)?;
        }
        match socket.recv(&mut room) {
            Ok(n) if room[..n] == greeting[..] => heard = true,
            Ok(n) => {
                (heard, last) = (true, Instant::now());
                if echo {
                    socket.send(&room[..n])?;
                } else {
                    meter.count(n);
                }
                continue;
            }
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
        if last.elapsed() > QUIET && is_over(control)? {
            control.read_exact(&mut [0])?;
            return if echo { Ok(()) } else { meter.tell(control) };
        }
    }
}

/// Whether the other side has said something more.
fn is_over(control: &TcpStream) -> io::Result<bool> {
    control.set_nonblocking(true)?;
    let seen = control.peek(&mut [0]);
    control.set_nonblocking(false)?;
    match seen {
        Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
        Ok(_) => Ok(true),
        Err(error) if is_timeout(&error) => Ok(false),
        Err(error) => Err(error),
    }
}
