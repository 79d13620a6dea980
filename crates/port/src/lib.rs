//! The contract between message passing and its transport.
//!
//! A [`Port`] is one rank's non-blocking door to a fabric, simulated or real. Protocols, collectives and benchmarks
//! stand on it and never learn which kind they have. A [`Driver`] runs one asynchronous program per rank; the one
//! point where a program may suspend is [`wait`].
//!
//! ```
//! use hotlink_port::{Op, Event, Payload, Port, Posted, wait};
//! use hotlink_fabric::units::Time;
//!
//! /// Rank 0 sends eight bytes to rank 1; returns what this rank saw.
//! async fn hello<P: Port>(mut port: P) -> Vec<u8> {
//!     if port.rank() == 0 {
//!         let op = Op::Control { to: 1, head: [7, 0, 0, 0], payload: Payload::Bytes(b"eight by") };
//!         while port.post(&op) == Posted::Busy {
//!             wait(&mut port, Time::MAX).await;
//!         }
//!         return Vec::new();
//!     }
//!     loop {
//!         if let Some(Event::Control { bytes, .. }) = port.poll() {
//!             let mut seen = vec![0; bytes as usize];
//!             port.peek(0, &mut seen);
//!             return seen;
//!         }
//!         wait(&mut port, Time::MAX).await;
//!     }
//! }
//! ```
//!
//! Rules of the contract, which the conformance suite holds every port to:
//! - Control messages between two ranks arrive once, whole and in the order in which they were posted.
//! - Back-pressure is a value ([`Posted::Busy`]), not an error; a busy port becomes free by being polled.
//! - A rank's clock never goes back, and local work ([`Host`]) is over when the call returns: `now()` has moved on.
//! - Nothing is written outside the bytes that a layout names.
//! - Everything accepted ends in exactly one event: [`Event::Done`], [`Event::Failed`], or the peer's arrival.
//! - A transfer with a rank that died ends before [`Event::PeerGone`] reports it. Messages of that rank may come later.

pub mod background;
pub mod blocks;
mod busy;
pub mod conformance;
mod contract;
mod limits;
pub mod loopback;
mod memory;
pub mod middleware;
mod object;
mod op;
mod random;
mod reduction;
pub mod safety;

pub use busy::{Busy, Counting, Moment, Part, Task};
pub use contract::{Call, Driver, Host, Lodge, Note, Port, Program, RunError, wait, yield_once};
pub use limits::{COPIED, ControlRates, DepositLimits, Limits, ReductionLimits, RegistrationLimits, Together};
pub use memory::{Align, Attachment, Key, Kind, Layout, Memory, Span};
pub use object::{AnyPort, OnAny, any};
pub use op::{Edge, Engine, Event, Head, Op, Payload, Posted, Refusal, RemoteSpan, Token, Work};
pub use reduction::{Combine, Element, Operation, Share, Value, With};

/// A rank: 0..ranks.
pub type Rank = u32;

/// Copies beyond the caches: from this size on, stores bypass them (the target is not read, nothing is evicted).
pub const STREAM_BYTES: u64 = 4 << 20;

/// Contiguous messages in memory that both ranks reach: from this size on, each moves a half.
pub const HALVES_BYTES: u64 = 64 << 10;
