//! Proof of a shared secret by challenge and answer, before a connection is believed in anything else.
//!
//! ```text
//! joiner                                        door
//! hello: purpose, rank, ranks, job, nonce  ->
//!                                          <-   challenge: nonce
//! proof: HMAC of all of the above          ->
//!                                          <-   verdict, HMAC of all of the above and the verdict
//! ```
//!
//! Each message has a fixed length: nothing that a stranger declares takes memory. Both codes (HMAC-SHA-256) cover both
//! nonces, the purpose, the rank, the number of ranks and the job, and their labels differ. So an old answer, an answer
//! of another connection or a side's own code sent back proves nothing. Codes are compared in constant time. The door
//! sends nothing but its nonce to a joiner that has not proven the secret. The whole exchange has one deadline.
//!
//! The proof covers the start alone. Messages are neither encrypted nor authenticated afterwards: an attacker that can
//! change packets between two hosts can still change the messages of ranks.

mod door;
mod joiner;
mod secret;

pub(crate) use door::{Admitted, Door};
pub(crate) use joiner::{Joining, Progress, Refused};
pub(crate) use secret::Secret;
pub use secret::{fresh_secret, use_secret_file};

use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A whole exchange, from the first byte to the verdict.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);

/// First bytes of a hello: the protocol and its version.
const MAGIC: [u8; 8] = *b"hotlink\x02";
const NONCE: usize = 32;
const CODE: usize = 32;
/// Magic, purpose, rank, ranks, digest of the job, nonce.
const HELLO: usize = 8 + 4 + 4 + 4 + 32 + NONCE;
/// Verdict and code.
const ANSWER: usize = 1 + CODE;

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Purpose {
    /// Between a rank and rank 0, while the job lasts.
    Crew = 1,
    /// Messages between two ranks.
    Messages = 2,
    /// Orders of `measure sockets`.
    Orders = 3,
    /// A stream of `measure sockets`.
    Stream = 4,
}

/// A joiner's claims about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) purpose: Purpose,
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    /// Digest of the job's name: see [`job_digest`].
    pub(crate) job: [u8; 32],
}

/// A door's answer to a joiner that has proven the secret; [`Verdict::Unproven`] is sent without a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Verdict {
    Admitted = 0,
    OtherJob = 1,
    OtherRanks = 2,
    RankTaken = 3,
    Unproven = 255,
}

impl Verdict {
    fn of(byte: u8) -> Option<Verdict> {
        use Verdict::{Admitted, OtherJob, OtherRanks, RankTaken, Unproven};
        [Admitted, OtherJob, OtherRanks, RankTaken, Unproven].into_iter().find(|&verdict| verdict as u8 == byte)
    }
}

/// A key that only the two sides of an admitted connection have: it differs for every connection.
pub(crate) type Session = [u8; 32];

/// A digest of fixed length for a job's name, whatever that is.
pub(crate) fn job_digest(job: &str) -> [u8; 32] {
    Sha256::digest(job.as_bytes()).into()
}

fn hello(claim: &Claim, nonce: &[u8; NONCE]) -> [u8; HELLO] {
    let mut bytes = [0; HELLO];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&(claim.purpose as u32).to_le_bytes());
    bytes[12..16].copy_from_slice(&claim.rank.to_le_bytes());
    bytes[16..20].copy_from_slice(&claim.ranks.to_le_bytes());
    bytes[20..52].copy_from_slice(&claim.job);
    bytes[52..].copy_from_slice(nonce);
    bytes
}

/// The claim in a hello that begins with the magic, if its purpose is this one.
fn claim_of(hello: &[u8; HELLO], purpose: Purpose) -> Option<Claim> {
    let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|k| hello[at + k]));
    let job = std::array::from_fn(|k| hello[20 + k]);
    (word(8) == purpose as u32).then_some(Claim { purpose, rank: word(12), ranks: word(16), job })
}

/// The code of a role over what both sides have said; who checks one compares by [`Mac::verify_slice`].
fn code(key: &Secret, role: &str, hello: &[u8; HELLO], challenge: &[u8; NONCE], verdict: Option<u8>) -> Hmac<Sha256> {
    let mut code = keyed(key.bytes());
    code.update(role.as_bytes());
    code.update(hello);
    code.update(challenge);
    code.update(verdict.as_slice());
    code
}

const JOINS: &str = "hotlink start-up: the joiner's proof ";
const ADMITS: &str = "hotlink start-up: the door's proof ";
const SESSION: &str = "hotlink start-up: session key ";

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    #[allow(clippy::expect_used, reason = "HMAC takes keys of any length")]
    Hmac::new_from_slice(key).expect("a key of any length")
}

/// Another key that follows from this one, for the use that `label` names.
pub(crate) fn derived(key: &[u8], label: &[u8]) -> [u8; 32] {
    let mut code = keyed(key);
    code.update(label);
    code.finalize().into_bytes().into()
}

/// Bytes that cannot be guessed.
///
/// # Errors
/// The system has none.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A connection that can be proven.
pub(crate) trait Wire: Read + Write + AsRawFd {
    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()>;
}

impl Wire for TcpStream {
    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        TcpStream::set_nonblocking(self, nonblocking)
    }
}

impl Wire for UnixStream {
    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        UnixStream::set_nonblocking(self, nonblocking)
    }
}

/// A message of fixed length while it comes.
struct Incoming<const N: usize> {
    bytes: [u8; N],
    filled: usize,
}

impl<const N: usize> Incoming<N> {
    fn new() -> Incoming<N> {
        Incoming { bytes: [0; N], filled: 0 }
    }
    /// Reads what is there, nothing beyond the message; whether it is whole.
    ///
    /// # Errors
    /// The connection has ended.
    fn read(&mut self, from: &mut impl Read) -> io::Result<bool> {
        while self.filled < N {
            match from.read(&mut self.bytes[self.filled..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// Writes a few bytes, for which a connection that has carried next to nothing has room.
fn write_small(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    match to.write(bytes) {
        Ok(written) if written == bytes.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::WriteZero.into()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
