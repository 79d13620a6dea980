//! Congestion control as state machines without a network: acknowledgements and times go in, how much a flow may send
//! comes out. No clock, no input or output, no random numbers.
//!
//! A [`Transport`] keeps the state of all flows, by place. Its driver reports when a flow opens ([`Transport::open`]),
//! when a packet leaves ([`Transport::sent`]) and when its acknowledgement returns ([`Transport::heard`]). Feedback is
//! as late as the driver makes it. Grants of a receiver are no answer to one packet, so they have times of their own
//! ([`Transport::next_ps`]). Before each packet the driver asks for the [`Allowance`]. [`Flows`] does that
//! bookkeeping for a network. A [`Config`] gives the transport with its numbers, and how switches mark packets.
//!
//! ```
//! use hotlink_transport::{Ack, Path, Transport, swift::{Swift, Parameters}};
//! let of = Parameters {
//!     target_ps: 5e6, additive: 1.0, decrease: 0.8, most_cut: 0.5, flow_range_ps: 0.0, flow_least: 0.1, flow_most: 100.0,
//! };
//! let mut swift = Swift::new(of);
//! swift.open(0, &Path {
//!     base_rtt_ps: 10_000_000, back_ps: 5_000_000, to: 1, rate: 12.5e9, to_rate: 12.5e9, packet: 4096.0, now_ps: 0,
//! });
//! let window = swift.allowance(0, 0).window;
//! // Twice the target: the window shrinks, by at most half.
//! let late = Ack { now_ps: 40_000_000, arrived_ps: 35_000_000, rtt_ps: 25_000_000, bytes: 4096, marked: false, hops: &[] };
//! swift.heard(0, &late);
//! assert!(swift.allowance(0, 40_000_000).window < window);
//! ```

pub mod credits;
pub mod dcqcn;
pub mod dctcp;
mod flows;
pub mod hpcc;
pub mod nscc;
mod numbers;
pub mod reorder;
pub mod swift;

pub use flows::{Flows, Permit};
pub use numbers::check;

/// What a flow knows of its path when it opens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// From a packet's start to its acknowledgement, where nothing waits, in picoseconds.
    pub base_rtt_ps: u64,
    /// The part of it that the acknowledgement takes.
    pub back_ps: u64,
    /// The receiver.
    pub to: u32,
    /// Rate of the sender's port in bytes per second.
    pub rate: f64,
    /// Rate of the receiver's port in bytes per second.
    pub to_rate: f64,
    /// Bytes of a full packet.
    pub packet: f64,
    /// The time.
    pub now_ps: u64,
}

/// An acknowledgement of one packet, back at the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ack<'a> {
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
    /// What the switches on its path wrote into it, the first one first; empty where they write nothing.
    pub hops: &'a [Hop],
}

/// What a switch writes into a packet that leaves it (in-band telemetry).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hop {
    /// Which port.
    pub link: u32,
    /// Rate of the port in bytes per second.
    pub rate: f64,
    /// Bytes that wait there.
    pub queue_bytes: f64,
    /// Bytes that it has sent so far.
    pub sent_bytes: f64,
    /// The time.
    pub at_ps: u64,
}

/// How much a flow may send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allowance {
    /// Bytes that may be without acknowledgement; infinite where nothing limits them.
    pub window: f64,
    /// Bytes per second; infinite where nothing paces them.
    pub rate: f64,
}

/// When a window has room for the next packet. It decides how much of the link a flow with a window of a few packets
/// reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// If all of the packet fits with the bytes that are not yet acknowledged.
    Whole,
    /// While the bytes that are without acknowledgement are fewer than the window: the last packet may go beyond it.
    Begun,
    /// While anything is granted, which the window is. Without a grant not even a first packet may leave.
    Granted,
}

impl Room {
    /// Whether a packet may leave while so many bytes are without acknowledgement.
    pub fn has(self, window: f64, in_flight: f64, packet: f64) -> bool {
        match self {
            Room::Whole => in_flight + packet <= window,
            Room::Begun => in_flight < window,
            Room::Granted => window > 0.0,
        }
    }
}

/// The congestion control of all flows.
pub trait Transport {
    /// A flow opens at a place that no open flow has.
    fn open(&mut self, flow: u32, path: &Path);
    /// A flow has so many more bytes to send, with headers.
    fn wants(&mut self, _flow: u32, _bytes: f64, _now_ps: u64) {}
    /// When something happens by itself next: [`Transport::tick`] is due then.
    fn next_ps(&self) -> Option<u64> {
        None
    }
    /// What was due by now happens. `granted` gets the flows that may send more by it.
    fn tick(&mut self, _now_ps: u64, _granted: &mut Vec<u32>) {}
    /// A packet of a flow leaves.
    fn sent(&mut self, flow: u32, bytes: u32, now_ps: u64);
    /// An acknowledgement is back.
    fn heard(&mut self, flow: u32, ack: &Ack<'_>);
    /// A packet of a flow was lost, and its sender has learnt of it.
    fn lost(&mut self, _flow: u32, _now_ps: u64) {}
    /// When its windows have room for a packet.
    fn room(&self) -> Room;
    /// What a flow may send now.
    fn allowance(&mut self, flow: u32, now_ps: u64) -> Allowance;
}

/// When a port of a switch marks a packet that leaves (RED: Floyd and Jacobson 1993). It uses the bytes that wait now,
/// as DCQCN does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ecn {
    /// Queue up to which no packet is marked, in bytes.
    pub low_bytes: f64,
    /// Queue from which on every packet is marked.
    pub high_bytes: f64,
    /// Share of the packets that are marked just below that.
    pub most: f64,
}

impl Ecn {
    /// The share of packets that are marked at a queue.
    pub fn share(&self, queue_bytes: f64) -> f64 {
        match queue_bytes {
            queue if queue <= self.low_bytes => 0.0,
            queue if queue >= self.high_bytes => 1.0,
            queue => self.most * (queue - self.low_bytes) / (self.high_bytes - self.low_bytes),
        }
    }
}

/// A queue of a port: the same at every port, or as long as the port takes for this many picoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// In bytes.
    Bytes(f64),
    /// In picoseconds of the port's own rate.
    Time(f64),
}

impl Threshold {
    /// Its bytes at a port of this many bytes per second.
    pub fn bytes(self, rate: f64) -> f64 {
        match self {
            Threshold::Bytes(bytes) => bytes,
            Threshold::Time(ps) => (ps / 1e12 * rate).round(),
        }
    }
}

/// When the switches of a network mark packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Marks {
    /// See [`Ecn::low_bytes`].
    pub low: Threshold,
    /// See [`Ecn::high_bytes`].
    pub high: Threshold,
    /// See [`Ecn::most`].
    pub most: f64,
}

impl Marks {
    /// Those of a port of this many bytes per second.
    pub fn at(&self, rate: f64) -> Ecn {
        Ecn { low_bytes: self.low.bytes(rate), high_bytes: self.high.bytes(rate), most: self.most }
    }
}

impl From<Ecn> for Marks {
    /// The same at every port.
    fn from(ecn: Ecn) -> Marks {
        Marks { low: Threshold::Bytes(ecn.low_bytes), high: Threshold::Bytes(ecn.high_bytes), most: ecn.most }
    }
}

/// Which transport, with its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Control {
    /// See [`dcqcn`].
    Dcqcn(dcqcn::Parameters),
    /// See [`dctcp`].
    Dctcp(dctcp::Parameters),
    /// See [`swift`].
    Swift(swift::Parameters),
    /// See [`nscc`].
    Nscc(nscc::Parameters),
    /// See [`hpcc`].
    Hpcc(hpcc::Parameters),
    /// See [`credits`].
    Credits(credits::Parameters),
}

/// What has a congestion state of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// A queue pair from each node to each other: its messages leave in order, and each begins with what those before
    /// it have learnt.
    Pair,
    /// Each message: it begins as its transport does, and all messages of a pair leave concurrently.
    Message,
}

/// A transport as a network runs it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Which.
    pub control: Control,
    /// What its flows are.
    pub connections: Connections,
    /// How switches mark packets, where the transport heeds marks.
    pub ecn: Option<Marks>,
}

impl Config {
    /// The state of all flows: none yet.
    pub fn flows(&self) -> Flows {
        Flows::new(match self.control {
            Control::Dcqcn(of) => Box::new(dcqcn::Dcqcn::new(of)),
            Control::Dctcp(of) => Box::new(dctcp::Dctcp::new(of)),
            Control::Swift(of) => Box::new(swift::Swift::new(of)),
            Control::Nscc(of) => Box::new(nscc::Nscc::new(of)),
            Control::Hpcc(of) => Box::new(hpcc::Hpcc::new(of)),
            Control::Credits(of) => Box::new(credits::Credits::new(of)),
        })
    }

    /// Whether switches write telemetry into packets.
    pub fn reads_telemetry(&self) -> bool {
        matches!(self.control, Control::Hpcc(_))
    }

    /// Whether a flow asks before it sends: it opens before its first packet may leave.
    pub fn asks(&self) -> bool {
        matches!(self.control, Control::Credits(_))
    }

    /// Whether a switch without room cuts a packet down to its header, which notifies the sender a round trip later.
    pub fn trims(&self) -> bool {
        matches!(self.control, Control::Nscc(_) | Control::Credits(_))
    }
}

/// The state of a flow, of which there may be none yet.
fn place<T: Clone>(flows: &mut Vec<T>, flow: u32, fresh: impl Fn() -> T) -> &mut T {
    if flows.len() <= flow as usize {
        flows.resize_with(flow as usize + 1, fresh);
    }
    &mut flows[flow as usize]
}

/// Puts the state of a flow at its place.
fn put<T: Copy>(flows: &mut Vec<T>, flow: u32, state: T) {
    *place(flows, flow, || state) = state;
}
