//! What every port must do, as programs: a new port passes by being listed in a test that calls [`check`].
//!
//! Each case runs on two or three ranks and returns complaints. Cases follow the port's [`Limits`]: every claim is
//! exercised, and what is not claimed must be refused.

use crate::{
    Align, Combine, Driver, Element, Engine, Event, Head, Key, Kind, Layout, Limits, Memory, Op, Operation, Payload,
    Port, Posted, Program, Rank, Refusal, RemoteSpan, Share, Span, Work, wait,
};
use hotlink_fabric::units::Time;
use std::collections::VecDeque;

mod collective;
mod control;
mod host;
mod remote;

/// Runs every case; the complaints, each naming its case and rank. Empty: the port conforms.
pub fn check<D: Driver>(driver: &mut D) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut case = |name: &str, results: Result<Vec<Vec<String>>, crate::RunError>| match results {
        Err(error) => complaints.push(format!("{name}: {error}")),
        Ok(ranks) => {
            for (rank, told) in ranks.into_iter().enumerate() {
                complaints.extend(told.into_iter().map(|what| format!("{name}, rank {rank}: {what}")));
            }
        }
    };
    case("host", driver.run(1, &host::Memories));
    case("clock", driver.run(1, &host::Clock));
    case("control: sizes", driver.run(2, &control::Sizes));
    case("control: refusals", driver.run(2, &control::Refusals));
    case("control: layouts", driver.run(2, &control::Layouts));
    case("control: back-pressure", driver.run(3, &control::Flood));
    case("control: to itself", driver.run(1, &control::Itself));
    case("a rank that stops", driver.run(3, &control::Stops));
    case("remote stores and loads", driver.run(2, &remote::Transfers));
    case("remote: revocation", driver.run(2, &remote::Revocation));
    case("remote: unclaimed is refused", driver.run(2, &remote::Unclaimed));
    case("hardware barrier", driver.run(3, &collective::Barriers));
    case("hardware reduction", driver.run(3, &collective::Reductions));
    case("hardware broadcast", driver.run(3, &collective::Broadcasts));
    complaints
}

/// A rank under test: its port, what came while something else was waited for, and what was wrong.
struct Subject<P> {
    port: P,
    limits: Limits,
    early: VecDeque<(Event, Vec<u8>)>,
    /// Ranks that closed their ports.
    left: Vec<Rank>,
    complaints: Vec<String>,
}

impl<P: Port> Subject<P> {
    fn new(port: P) -> Subject<P> {
        let limits = port.limits().clone();
        Subject { port, limits, early: VecDeque::new(), left: Vec::new(), complaints: Vec::new() }
    }
    fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds && self.complaints.len() < 20 {
            self.complaints.push(what());
        }
    }
    /// The next event with its payload's bytes.
    async fn next(&mut self) -> (Event, Vec<u8>) {
        if let Some(early) = self.early.pop_front() {
            return early;
        }
        loop {
            if let Some(event) = self.port.poll() {
                return (event, self.payload(&event));
            }
            wait(&mut self.port, Time::MAX).await;
        }
    }
    fn payload(&self, event: &Event) -> Vec<u8> {
        let Event::Control { bytes, .. } = event else { return Vec::new() };
        let mut payload = vec![0; *bytes as usize];
        let filled = self.port.peek(0, &mut payload);
        payload.truncate(filled);
        payload
    }
    /// Posts, waiting while the port is busy; other events are kept for [`Subject::next`].
    async fn post(&mut self, op: &Op<'_>) -> Result<(), Refusal> {
        loop {
            match self.port.post(op) {
                Posted::Accepted => return Ok(()),
                Posted::Refused(refusal) => return Err(refusal),
                Posted::Busy => {}
            }
            match self.port.poll() {
                Some(event) => {
                    let payload = self.payload(&event);
                    self.early.push_back((event, payload));
                }
                None => wait(&mut self.port, Time::MAX).await,
            }
        }
    }
    async fn send(&mut self, to: Rank, head: Head, payload: Payload<'_>) {
        let sent = self.post(&Op::Control { to, head, payload }).await;
        self.expect(sent.is_ok(), || format!("control message {head:?}: {sent:?}"));
    }
    /// The next control message. Revocations may come late, after a detach, and a rank may have ended, but what it sent
    /// comes before; other events are complaints.
    async fn receive(&mut self) -> (Rank, Head, Vec<u8>) {
        loop {
            match self.next().await {
                (Event::Control { from, head, .. }, payload) => {
                    let left = self.left.contains(&from);
                    self.expect(!left, || format!("a message of rank {from} after it had left"));
                    return (from, head, payload);
                }
                (Event::PeerLeft(rank), _) => self.left.push(rank),
                (Event::Revoked(_), _) => {}
                (other, _) => self.expect(false, || format!("{other:?} instead of a control message")),
            }
        }
    }
    /// Waits for the end of an operation, keeping other events.
    async fn done(&mut self, token: u64) -> Result<(), Refusal> {
        let mut others = VecDeque::new();
        let result = loop {
            match self.next().await {
                (Event::Done(ended), _) if ended == token => break Ok(()),
                (Event::Failed(ended, refusal), _) if ended == token => break Err(refusal),
                other => others.push_back(other),
            }
        };
        self.early.extend(others);
        result
    }
    fn alloc(&mut self, bytes: u64, kind: Kind) -> Memory {
        match self.port.alloc(bytes, kind, Align::Default) {
            Ok(memory) => memory,
            Err(refusal) => panic!("{bytes} B of {kind:?} memory: {refusal}"),
        }
    }
    fn bytes_of(&mut self, memory: Memory, bytes: u64) -> Vec<u8> {
        let mut seen = vec![0; bytes as usize];
        let read = self.port.read(memory, 0, &mut seen);
        self.expect(read.is_ok(), || format!("reading memory: {read:?}"));
        seen
    }
    fn kinds(&self) -> Vec<Kind> {
        if self.limits.segments { vec![Kind::Private, Kind::Shared] } else { vec![Kind::Private] }
    }
}

/// Bytes that distinguish one message from another.
fn pattern(seed: u64, bytes: u64) -> Vec<u8> {
    (0..bytes).map(|i| (seed.wrapping_mul(37).wrapping_add(i.wrapping_mul(11)) % 241) as u8).collect()
}

/// Sizes around every limit that a port names.
fn sizes_around(limits: &Limits, most: u64) -> Vec<u64> {
    let mut sizes = vec![0, 1, 7, 8, 9, 63, 64, 65, most.saturating_sub(1), most];
    sizes.extend([limits.inline_bytes.saturating_sub(1), limits.inline_bytes, limits.inline_bytes + 1]);
    sizes.retain(|&size| size <= most);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Bytes past the ends of a buffer, which must stay as they are.
const SENTINEL: u8 = 0xA5;
const MARGIN: u64 = 64;

/// What a buffer of sentinels must hold after `stream` went to `layout` from byte `offset`.
fn expected(size: u64, offset: u64, layout: &Layout, stream: &[u8]) -> Vec<u8> {
    let mut expected = vec![SENTINEL; size as usize];
    let mut taken = 0;
    for (at, len) in layout.runs(0, stream.len() as u64) {
        let start = (offset + at) as usize;
        expected[start..start + len as usize].copy_from_slice(&stream[taken..taken + len as usize]);
        taken += len as usize;
    }
    expected
}
