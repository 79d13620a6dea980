//! What the simulator adds to a fabric's description: buffers, streams and packet size.
//!
//! A load count needs none of this; none of it raises a capacity. An assumption of the technology or flow control
//! replaces what a fabric does not state, and answers name it.

use crate::fault::Fault;
use hotlink_event::Gauge;
use hotlink_fabric::ledger::Inputs;
use hotlink_fabric::routing::Paths;
use hotlink_fabric::spec::{Capacities, FabricSpec};
use hotlink_transport::Config;

/// Largest packet: 256 MiB, so that buffer accounts fit 32 bits.
const MOST_PACKET_BYTES: u32 = 1 << 28;

/// As many switches as any path has.
pub(crate) const MOST_SWITCHES: u32 = 64;

/// What an Ethernet port does when its buffer fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// Priority flow control: pause the sender of the link.
    Pause,
    /// Drop the packet; its source sends it again.
    Drop,
    /// Pause, and before that mark packets (ECN), upon which their source slows down.
    Mark,
}

/// What a packet's first router knows of queues (UGAL: Singh 2005; Kim, Dally, Scott and Abts 2008).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detours {
    /// Its own.
    Local,
    /// Those of every link on both ways: an ideal.
    Global,
}

/// Settings of a packet simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Seed of every random choice.
    pub seed: u64,
    /// Which capacities rate the resources. `Measured` scales the gross rate so that full packets get the measured
    /// payload rate: a calibration, not a prediction.
    pub capacities: Capacities,
    /// Largest payload of a packet in bytes, within the fabric's limit; `None`: that limit.
    pub packet_bytes: Option<u32>,
    /// Input buffer of a switch port, per virtual channel, net of the link's round trip, in bytes.
    pub switch_buffer_bytes: u32,
    /// Share of an Ethernet port's buffer from which on it pauses its link; `None`: the fabric's `pfc_pause_share`.
    pub pause_share: Option<f64>,
    /// Share of that buffer at which the link resumes, at most the other; `None`: the fabric's `pfc_resume_share` of
    /// that.
    pub resume_share: Option<f64>,
    /// Virtual lanes of a link; `None`: the fabric's `virtual_channels` where packets choose, else what its routing
    /// needs.
    pub lanes: Option<u32>,
    /// Buffer of an adapter, each way, in bytes.
    pub nic_buffer_bytes: u32,
    /// Concurrent messages per node, served round-robin.
    pub streams: u16,
    /// Packets that a node may have unanswered (SCI's stream buffers; on QsNet, with those in its adapter);
    /// `u16::MAX`: no limit.
    pub outstanding: u16,
    /// Packets of a node's hosts that may be unacknowledged in a wormhole network. `u16::MAX`: no limit, and no
    /// acknowledgements.
    pub unacknowledged: u16,
    /// Picoseconds from the start of a full packet's head on its last link to its acknowledgement on the path back. A
    /// shorter packet takes proportionally less.
    pub acknowledge_ps: u64,
    /// Which of equal paths a packet takes.
    pub paths: Paths,
    /// Whether packets may leave minimal paths of a dragonfly with Valiant routing, and by what they decide it.
    pub detours: Option<Detours>,
    /// Ethernet's reaction to a full buffer.
    pub congestion: Congestion,
    /// Bytes of packets that came before their turn which a node can hold, on Ethernet; `None`: any. What exceeds that is
    /// sent again.
    pub reorder_bytes: Option<u64>,
    /// What decides when packets leave their senders; `None`: room alone.
    pub transport: Option<Config>,
    /// Time after which a dropped or lost packet is sent again, in picoseconds; `None`: the fabric's `retransmit_time`.
    pub retransmit_ps: Option<u64>,
    /// What fails, comes back or degrades, and when.
    pub faults: Vec<Fault>,
    /// Shows the progress of the run.
    pub gauge: Gauge,
}

impl Settings {
    /// Largest payload of a packet in bytes, within the fabric's limit.
    pub(crate) fn payload_max(&self, spec: &FabricSpec) -> u32 {
        let most = |limit: u64| limit.clamp(1, MOST_PACKET_BYTES.into()) as u32;
        let limit = spec.packet().payload_max_bytes.as_ref().map_or(MOST_PACKET_BYTES, |limit| most(limit.value));
        self.packet_bytes.map_or(limit, |bytes| bytes.clamp(1, limit))
    }

    /// Bytes of a full packet on the wire, past as many switches as any path has.
    fn packet_wire(&self, spec: &FabricSpec) -> u32 {
        let overhead =
            spec.packet.overhead_bytes.value + spec.packet.overhead_per_hop_bytes.value * f64::from(MOST_SWITCHES);
        self.payload_max(spec) + overhead.ceil() as u32
    }

    /// Bytes that a buffer has at least. Any packet must fit whole, and two of them for a steady stream; but a worm needs
    /// no room for itself.
    pub fn least_buffer(&self, spec: &FabricSpec) -> u32 {
        if spec.flow_control.is_wormhole() { 0 } else { 2 * self.packet_wire(spec) }
    }

    /// Defaults for a fabric: as in every answer, measured rates where such are known.
    pub fn of(spec: &FabricSpec) -> Settings {
        let inputs = Inputs::new(spec);
        // Every technology assumes what is asked for here.
        let always = |name: &str| inputs.require(name).expect("an assumption of any technology");
        let packet = match &spec.packet().payload_max_bytes {
            Some(limit) => limit.value.min(1 << 20) as u32,
            None => always("segment_size") as u32,
        };
        let technology = spec.technology;
        Settings {
            seed: 1,
            capacities: Capacities::Measured,
            packet_bytes: Some(packet),
            switch_buffer_bytes: inputs.switch_buffer(packet) as u32,
            pause_share: None,
            resume_share: None,
            lanes: None,
            nic_buffer_bytes: always("nic_buffer") as u32,
            streams: technology.streams.value,
            outstanding: technology.outstanding.map_or(u16::MAX, |limit| limit.value),
            unacknowledged: u16::MAX,
            acknowledge_ps: 0,
            paths: spec.paths,
            detours: None,
            congestion: Congestion::Pause,
            reorder_bytes: None,
            transport: None,
            retransmit_ps: None,
            faults: Vec::new(),
            gauge: Gauge::default(),
        }
    }
}
