//! Connections between rank 0 and the others, after their proof.

use crate::proof::Wire;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A connection between rank 0 and another.
pub(crate) enum Link {
    Local(UnixStream),
    Host(TcpStream),
}

/// Bounds of a message: its bytes, and the time from the request of its first byte to the arrival of its last.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) bytes: u64,
    pub(crate) limit: Option<Duration>,
}

impl Link {
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(&(bytes.len() as u64).to_le_bytes())?;
        self.write_all(bytes)
    }
    /// A message; memory grows with what has come, not with what was announced.
    pub(crate) fn receive(&mut self, bounds: Bounds) -> io::Result<Vec<u8>> {
        let mut timed = Timed { link: self, deadline: bounds.limit.map(|limit| Instant::now() + limit) };
        let mut length = [0; 8];
        timed.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        if length > bounds.bytes {
            return Err(io::Error::other(format!("{length} bytes where {} at most were expected", bounds.bytes)));
        }
        let mut bytes = Vec::new();
        timed.take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
    fn set_limit(&self, limit: Option<Duration>) -> io::Result<()> {
        match self {
            Link::Local(stream) => stream.set_read_timeout(limit),
            Link::Host(stream) => stream.set_read_timeout(limit),
        }
    }
}

/// Reads up to one deadline, however few bytes come at a time.
struct Timed<'a> {
    link: &'a mut Link,
    deadline: Option<Instant>,
}

impl Read for Timed<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.link.set_limit(left)?;
        self.link.read(into)
    }
}

impl Read for Link {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Link::Local(stream) => stream.read(into),
            Link::Host(stream) => stream.read(into),
        }
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Link::Local(stream) => stream.write(bytes),
            Link::Host(stream) => stream.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsRawFd for Link {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Link::Local(stream) => stream.as_raw_fd(),
            Link::Host(stream) => stream.as_raw_fd(),
        }
    }
}

impl Wire for Link {
    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        match self {
            Link::Local(stream) => stream.set_nonblocking(nonblocking),
            Link::Host(stream) => stream.set_nonblocking(nonblocking),
        }
    }
}
