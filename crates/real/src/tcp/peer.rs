//! A connection to another rank: frames that go out and come in.

use super::{FRAME, MESSAGE_MAX};
use crate::proof::{Joining, Progress, Refused, Secret, Verdict};
use hotlink_port::Head;
use std::io::{self, IoSlice, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// Bytes kept for a peer that does not read: beyond, the port is busy.
const OUT_MAX: usize = 256 << 10;
/// Bytes read ahead from a peer.
const IN_MAX: usize = 256 << 10;

/// How far a connection is.
pub(super) enum Stage {
    /// This side proves the secret.
    Joining(Joining),
    /// The other side connects to this one at the same time, and that connection is the one used.
    Awaits,
    Ready,
}

/// A connection. Bytes `taken..filled` of `input` have been read and not used, `written..` of `output` not sent.
pub(super) struct Peer {
    stream: TcpStream,
    pub(super) stage: Stage,
    output: Vec<u8>,
    written: usize,
    pub(super) input: Vec<u8>,
    pub(super) taken: usize,
    filled: usize,
    /// Said good-bye, or its connection ended.
    pub(super) over: bool,
    /// Nothing more can be sent.
    pub(super) is_broken: bool,
}

/// A frame in a peer's input: its kind, head and payload's place.
pub(super) struct Frame {
    pub(super) kind: u32,
    pub(super) head: Head,
    pub(super) start: usize,
    pub(super) bytes: usize,
}

impl Peer {
    pub(super) fn new(stream: TcpStream, stage: Stage) -> io::Result<Peer> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let (output, input) = (Vec::new(), vec![0; IN_MAX]);
        Ok(Peer { stream, stage, output, written: 0, input, taken: 0, filled: 0, over: false, is_broken: false })
    }
    /// Goes on over another connection; what waits to be sent goes there.
    pub(super) fn move_to(&mut self, stream: TcpStream, stage: Stage) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        (self.stream, self.stage) = (stream, stage);
        Ok(())
    }
    pub(super) fn fd(&self) -> i32 {
        self.stream.as_raw_fd()
    }
    pub(super) fn is_ready(&self) -> bool {
        matches!(self.stage, Stage::Ready)
    }
    /// Whether something waits to be sent.
    pub(super) fn is_pending(&self) -> bool {
        self.written < self.output.len()
    }
    /// Goes on with the proof; what came of it, once.
    pub(super) fn prove(&mut self, secret: &Secret) -> Progress {
        let Stage::Joining(joining) = &mut self.stage else { return Progress::Waits };
        let progress = joining.step(&mut self.stream, secret);
        match progress {
            Progress::Admitted(_) => self.stage = Stage::Ready,
            Progress::Refused(Refused::By(Verdict::RankTaken)) => self.stage = Stage::Awaits,
            _ => {}
        }
        progress
    }
    /// Sends a frame or keeps what the connection does not take.
    pub(super) fn send(&mut self, kind: u32, head: &Head, payload: &[u8]) {
        let mut frame = [0; FRAME];
        frame[..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        frame[4..8].copy_from_slice(&kind.to_le_bytes());
        frame[8..].copy_from_slice(head.map(u64::to_le_bytes).as_flattened());
        let mut sent = 0;
        if self.output.len() == self.written && self.is_ready() {
            sent = self.stream.write_vectored(&[IoSlice::new(&frame), IoSlice::new(payload)]).unwrap_or(0);
        }
        self.output.extend_from_slice(&frame[sent.min(FRAME)..]);
        self.output.extend_from_slice(&payload[sent.saturating_sub(FRAME)..]);
    }
    pub(super) fn flush(&mut self) {
        while self.is_ready() && self.written < self.output.len() {
            match self.stream.write(&self.output[self.written..]) {
                Ok(sent) if sent > 0 => self.written += sent,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                _ => {
                    self.is_broken = true;
                    break;
                }
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
    pub(super) fn is_busy(&self) -> bool {
        self.output.len() - self.written > OUT_MAX
    }
    /// The next frame, if all of it is here.
    pub(super) fn frame(&self) -> Option<Frame> {
        let bytes = &self.input[self.taken..self.filled];
        let header = bytes.get(..FRAME)?;
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|k| header[at + k]));
        let head = std::array::from_fn(|i| u64::from_le_bytes(std::array::from_fn(|k| header[8 + i * 8 + k])));
        let len = word(0) as usize;
        (bytes.len() >= FRAME + len).then_some(Frame { kind: word(4), head, start: self.taken + FRAME, bytes: len })
    }
    /// Reads what has come; whether anything did.
    pub(super) fn fill(&mut self) -> bool {
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
