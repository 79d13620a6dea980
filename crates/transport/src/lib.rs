//! Congestion control as state machines without a network: acknowledgements and times go in, how much a flow may send comes
//! out. No clock, no input or output, no random numbers.
//!
//! A [`Transport`] keeps the state of all flows, by place. Whoever drives it says when a flow opens ([`Transport::open`]), when
//! a packet leaves ([`Transport::sent`]) and when its acknowledgement has come back ([`Transport::heard`]): feedback is as
//! late as the driver makes it. Before each packet it asks for the [`Allowance`].
//!
//! ```
//! use hotlink_transport::{Ack, Path, Transport, swift::{Swift, Parameters}};
//! let of = Parameters { target_ps: 5e6, additive: 1.0, decrease: 0.8, most_cut: 0.5 };
//! let mut swift = Swift::new(of);
//! swift.open(0, &Path { base_rtt_ps: 10_000_000, rate: 12.5e9, packet: 4096.0, now_ps: 0 });
//! let window = swift.allowance(0, 0).window;
//! // Twice the target: the window shrinks, by at most half.
//! swift.heard(0, &Ack { now_ps: 40_000_000, arrived_ps: 35_000_000, rtt_ps: 25_000_000, bytes: 4096, marked: false });
//! assert!(swift.allowance(0, 40_000_000).window < window);
//! ```

pub mod dcqcn;
pub mod nscc;
pub mod swift;

/// What a flow knows of its way when it opens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// From a packet's start to its acknowledgement, where nothing waits, in picoseconds.
    pub base_rtt_ps: u64,
    /// Rate of the sender's port in bytes per second.
    pub rate: f64,
    /// Bytes of a full packet.
    pub packet: f64,
    /// The time.
    pub now_ps: u64,
}

/// An acknowledgement of one packet, back at the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ack {
    /// The time.
    pub now_ps: u64,
    /// When the packet arrived at the receiver.
    pub arrived_ps: u64,
    /// Since the packet's start.
    pub rtt_ps: u64,
    /// Bytes of the packet.
    pub bytes: u32,
    /// A switch has marked it (ECN).
    pub marked: bool,
}

/// How much a flow may send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allowance {
    /// Bytes that may be without acknowledgement; infinite where nothing limits them.
    pub window: f64,
    /// Bytes per second; infinite where nothing paces them.
    pub rate: f64,
}

/// The congestion control of all flows.
pub trait Transport {
    /// A flow opens at a place that no open flow has.
    fn open(&mut self, flow: u32, path: &Path);
    /// A packet of a flow leaves.
    fn sent(&mut self, flow: u32, bytes: u32, now_ps: u64);
    /// An acknowledgement is back.
    fn heard(&mut self, flow: u32, ack: &Ack);
    /// What a flow may send now.
    fn allowance(&mut self, flow: u32, now_ps: u64) -> Allowance;
}

/// The state of a flow, where there may be none yet.
fn put<T: Copy>(flows: &mut Vec<T>, flow: u32, state: T) {
    let places = flows.len().max(flow as usize + 1);
    flows.resize(places, state);
    flows[flow as usize] = state;
}
