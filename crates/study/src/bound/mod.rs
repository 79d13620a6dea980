//! The one place that knows what no answer can beat: the least time or the most bandwidth, the resource that sets it, and
//! how that comes about in words.
//!
//! [`pattern`] bounds what nodes send under a pattern; [`message`] one message through the idle network; [`program`] a
//! benchmark over the message stack; [`network`] a fabric's own barrier, reduction and broadcast networks; [`measured`]
//! puts them behind rows of real ranks. A property test (`tests/bounds.rs`) runs every benchmark on every fabric of the
//! catalog against them.

pub mod measured;
pub mod message;
pub mod network;
pub mod pattern;
pub mod program;

/// What sets the time of a message whose bytes do not: the latency of its way, and the overheads of its ends.
pub(crate) const LATENCY: &str = "latency and overheads";
/// What sets the rate of a node that has several ways into the network.
pub const DEVICES: &str = "a node's own devices";
