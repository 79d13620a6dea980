//! Connections, their buffers and interfaces.
#![allow(unsafe_code)]

use super::{GREETING, PATIENCE, SocketBuffers, is_timeout};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

/// One message in so many calls, as equal as can be.
pub(super) fn write_in(stream: &mut TcpStream, message: &[u8], writes: u64) -> io::Result<()> {
    let piece = message.len().div_ceil(writes.max(1) as usize).max(1);
    message.chunks(piece).try_for_each(|piece| stream.write_all(piece))
}

pub(super) fn read_word(stream: &mut TcpStream) -> io::Result<u64> {
    let mut bytes = [0; 8];
    stream.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Connects, and says who we are. Who listens may not be there yet.
pub(super) fn greet(address: SocketAddr, buffer: Option<u64>) -> io::Result<TcpStream> {
    let start = Instant::now();
    loop {
        let tried = TcpStream::connect(address);
        match tried {
            Ok(mut stream) => {
                set_buffers(stream.as_raw_fd(), buffer)?;
                stream.write_all(GREETING)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                return Ok(stream);
            }
            Err(error) if start.elapsed() > PATIENCE => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// Takes the next connection of ours; whoever else connects is turned away.
pub(super) fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    let start = Instant::now();
    listener.set_nonblocking(true)?;
    loop {
        match listener.accept() {
            Ok((mut stream, _)) => {
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                let mut greeting = [0; GREETING.len()];
                if stream.read_exact(&mut greeting).is_ok() && greeting == *GREETING {
                    return Ok(stream);
                }
            }
            Err(error) if !is_timeout(&error) => return Err(error),
            Err(_) if start.elapsed() > PATIENCE => {
                return Err(io::Error::new(ErrorKind::TimedOut, "nobody connected"));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
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

/// The network interface that has this IPv4 address.
pub fn interface_of(address: IpAddr) -> Option<String> {
    let IpAddr::V4(wanted) = address else { return None };
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: a place for the list, which is walked by its own links and freed once.
    unsafe {
        if libc::getifaddrs(&raw mut list) != 0 {
            return None;
        }
        let (mut entry, mut found) = (list, None);
        while let Some(one) = entry.as_ref() {
            if !one.ifa_addr.is_null() && i32::from((*one.ifa_addr).sa_family) == libc::AF_INET {
                let socket = one.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned();
                if Ipv4Addr::from(u32::from_be(socket.sin_addr.s_addr)) == wanted {
                    found = Some(std::ffi::CStr::from_ptr(one.ifa_name).to_string_lossy().into_owned());
                }
            }
            entry = one.ifa_next;
        }
        libc::freeifaddrs(list);
        found
    }
}
