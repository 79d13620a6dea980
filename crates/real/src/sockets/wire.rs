//! Connections, their buffers and interfaces.
#![allow(unsafe_code)]

use super::{PATIENCE, SocketBuffers};
use crate::proof::{Claim, Door, Joining, Purpose, Refused, Secret, Session, Verdict, job_digest};
use crate::sys;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

/// One message in `writes` calls, as equal as possible.
pub(super) fn write_in(stream: &mut TcpStream, message: &[u8], writes: u64) -> io::Result<()> {
    let piece = message.len().div_ceil(writes.max(1) as usize).max(1);
    message.chunks(piece).try_for_each(|piece| stream.write_all(piece))
}

pub(super) fn read_word(stream: &mut TcpStream) -> io::Result<u64> {
    let mut bytes = [0; 8];
    stream.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Longest text that one side sends the other.
const TEXT_MAX: u64 = 64 << 10;

pub(super) fn write_text(stream: &mut TcpStream, text: &str) -> io::Result<()> {
    stream.write_all(&(text.len() as u64).to_le_bytes())?;
    stream.write_all(text.as_bytes())
}

pub(super) fn read_text(stream: &mut TcpStream) -> io::Result<String> {
    let length = read_word(stream)?;
    if length > TEXT_MAX {
        return Err(io::Error::other(format!("the other side tells {length} B; must be at most {TEXT_MAX} B")));
    }
    let mut bytes = vec![0; length as usize];
    stream.read_exact(&mut bytes)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// The claim of one side to the other before a connection is used for `purpose`.
fn claim(purpose: Purpose) -> Claim {
    Claim { purpose, rank: 1, ranks: 2, job: job_digest("hotlink measure sockets") }
}

/// Connects, and proves the secret, as the other side does. Who listens may not be there yet.
pub(super) fn greet(
    address: SocketAddr,
    buffer: Option<u64>,
    purpose: Purpose,
    secret: &Secret,
) -> io::Result<(TcpStream, Session)> {
    let start = Instant::now();
    loop {
        let why = match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(mut stream) => {
                set_buffers(stream.as_raw_fd(), buffer)?;
                match Joining::wait(&mut stream, &claim(purpose), secret) {
                    Ok(session) => {
                        stream.set_read_timeout(Some(PATIENCE))?;
                        return Ok((stream, session));
                    }
                    Err(Refused::Gone) => "the connection ended before its proof".to_owned(),
                    Err(Refused::Stranger) => {
                        format!("the listener there does not know the secret of {}", secret.origin())
                    }
                    Err(Refused::By(_)) => {
                        let what = format!("turned away: its secret is not that of {}", secret.origin());
                        return Err(io::Error::other(what));
                    }
                }
            }
            Err(error) => error.to_string(),
        };
        if start.elapsed() > PATIENCE {
            return Err(io::Error::other(why));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Takes the next connection that proves the secret; all others are turned away.
pub(super) fn accept(
    listener: &TcpListener,
    purpose: Purpose,
    secret: &Secret,
    limit: Duration,
) -> io::Result<(TcpStream, Session)> {
    let start = Instant::now();
    listener.set_nonblocking(true)?;
    let mut door = Door::new(purpose, 1);
    loop {
        let fds: Vec<i32> = std::iter::once(listener.as_raw_fd()).chain(door.fds()).collect();
        sys::wait_readable(&fds, Duration::from_millis(100));
        while let Ok((stream, from)) = listener.accept() {
            door.take(stream, from.to_string());
        }
        let expected = claim(purpose);
        let judge = |seen: &Claim| if *seen == expected { Verdict::Admitted } else { Verdict::OtherJob };
        if let Some(admitted) = door.step(secret, judge) {
            admitted.wire.set_nonblocking(false)?;
            admitted.wire.set_read_timeout(Some(PATIENCE))?;
            return Ok((admitted.wire, admitted.session));
        }
        if start.elapsed() > limit {
            let others = door.last_refusal().map(|why| format!("; turned away {why}")).unwrap_or_default();
            let what = format!("no process connected within {} s{others}", limit.as_secs());
            return Err(io::Error::new(ErrorKind::TimedOut, what));
        }
    }
}

pub(super) fn set_buffers(socket: RawFd, bytes: Option<u64>) -> io::Result<()> {
    let Some(bytes) = bytes else { return Ok(()) };
    let value = libc::c_int::try_from(bytes).map_err(io::Error::other)?;
    for option in [libc::SO_SNDBUF, libc::SO_RCVBUF] {
        // SAFETY: an open socket, and an int with its size.
        let done = unsafe {
            let size = size_of::<libc::c_int>() as libc::socklen_t;
            libc::setsockopt(socket, libc::SOL_SOCKET, option, (&raw const value).cast(), size)
        };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

pub(super) fn buffers(socket: RawFd) -> io::Result<SocketBuffers> {
    let ask = |option| {
        let (mut value, mut size): (libc::c_int, _) = (0, size_of::<libc::c_int>() as libc::socklen_t);
        // SAFETY: an open socket, and room for an int.
        let done =
            unsafe { libc::getsockopt(socket, libc::SOL_SOCKET, option, (&raw mut value).cast(), &raw mut size) };
        if done == 0 { Ok(value as u64) } else { Err(io::Error::last_os_error()) }
    };
    Ok(SocketBuffers { send: ask(libc::SO_SNDBUF)?, receive: ask(libc::SO_RCVBUF)? })
}

/// The network interfaces of this machine by name, with their IPv4 addresses.
fn interfaces() -> Vec<(String, Ipv4Addr)> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    let mut found = Vec::new();
    // SAFETY: a place for the list, which is walked by its own links and freed once.
    unsafe {
        if libc::getifaddrs(&raw mut list) != 0 {
            return found;
        }
        let mut entry = list;
        while let Some(one) = entry.as_ref() {
            if !one.ifa_addr.is_null() && i32::from((*one.ifa_addr).sa_family) == libc::AF_INET {
                let socket = one.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned();
                let name = std::ffi::CStr::from_ptr(one.ifa_name).to_string_lossy().into_owned();
                found.push((name, Ipv4Addr::from(u32::from_be(socket.sin_addr.s_addr))));
            }
            entry = one.ifa_next;
        }
        libc::freeifaddrs(list);
    }
    found
}

/// The network interface that has this IPv4 address.
pub fn interface_of(address: IpAddr) -> Option<String> {
    interfaces().into_iter().find(|(_, own)| IpAddr::V4(*own) == address).map(|(name, _)| name)
}

/// The IPv4 addresses at which others reach this machine; the loopback's, where no others can.
pub(crate) fn own_addresses() -> Vec<IpAddr> {
    let (near, far): (Vec<Ipv4Addr>, Vec<Ipv4Addr>) =
        interfaces().into_iter().map(|(_, own)| own).partition(Ipv4Addr::is_loopback);
    let all = if far.is_empty() { near } else { far };
    all.into_iter().map(IpAddr::V4).collect()
}
