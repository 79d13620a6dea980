//! What the simulator adds to a fabric's description: buffers, streams and packet size.
//!
//! A load count needs none of this; none of it raises a capacity. Every value here is a choice of the simulation with
//! a default by [`FlowControl`], not a measured property of a product.

use crate::fault::Fault;
use hotlink_fabric::spec::{Capacities, FabricSpec, FlowControl, TopologySpec};

/// How the paths of a spreading routing are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// The packets of a message take the equal paths in turn: even load, packets of a pair may overtake one another.
    Packet,
    /// One path for each pair of nodes, by a hash of the pair (ECMP): order kept, load as even as the hash.
    Flow,
    /// One path for each destination, the paths in turn by its number (D-mod-k, as subnet managers and route mappers
    /// fill their tables): order kept, load even for shifts and exchanges.
    Destination,
    /// At each switch the least occupied of the ways that the routing offers (QsNet's ascent); packets of a pair may
    /// overtake one another.
    Adaptive,
}

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
    /// Buffer of an adapter, each way, in bytes.
    pub nic_buffer_bytes: u32,
    /// Messages from which a node takes packets in turn.
    pub streams: u16,
    /// Packets that a node may have unanswered (SCI's stream buffers; on QsNet, with those in its adapter);
    /// `u16::MAX`: no limit.
    pub outstanding: u16,
    /// Packets of a node's hosts that may be in a wormhole network without an acknowledgement; `u16::MAX`: no limit, and
    /// none is sent.
    pub unacknowledged: u16,
    /// From the start of a full packet's head on its last link to its acknowledgement on the way back, in picoseconds;
    /// for a shorter packet in proportion.
    pub acknowledge_ps: u64,
    /// How paths are chosen.
    pub spread: Spread,
    /// Ethernet's reaction to a full buffer.
    pub congestion: Congestion,
    /// Time after which a dropped or lost packet is sent again, in picoseconds.
    pub retransmit_ps: u64,
    /// What fails, comes back or degrades, and when.
    pub faults: Vec<Fault>,
}

impl Settings {
    /// Defaults for a fabric.
    pub fn of(spec: &FabricSpec) -> Settings {
        let packet = spec.packet.payload_max_bytes.as_ref().map_or(4096, |limit| limit.value.min(1 << 20) as u32);
        let base = Settings {
            seed: 1,
            capacities: Capacities::Theoretical,
            // Where packets may be of any length, GM's 4 KiB.
            packet_bytes: Some(packet),
            switch_buffer_bytes: 64 * packet,
            nic_buffer_bytes: 256 << 10,
            streams: 64,
            outstanding: u16::MAX,
            unacknowledged: u16::MAX,
            acknowledge_ps: 0,
            spread: Spread::Packet,
            congestion: Congestion::Pause,
            retransmit_ps: 100_000_000,
            faults: Vec::new(),
        };
        let adaptive = spec.parameters.get("adaptive_routing").is_some_and(|parameter| parameter.value > 0.0);
        let by_kind = match spec.flow_control {
            // A slack buffer of a worm: Myrinet's and Elite's switches hold a few dozen bytes a port.
            FlowControl::Wormhole => {
                let cube = matches!(spec.topology, TopologySpec::Cube { .. });
                // A cube's ties are half-way round its rings, where a node's number would always choose alike.
                let spread = if cube { Spread::Packet } else { Spread::Destination };
                // A switched network's adapter works on one message at a time; a cube's packets are single stores.
                let streams = if cube { base.streams } else { 1 };
                Settings { switch_buffer_bytes: 128, streams, spread, ..base }
            }
            FlowControl::Credit => base,
            FlowControl::Ethernet => Settings { switch_buffer_bytes: 256 << 10, ..base },
            // 16 stream buffers (parameters P004); 16 packets in each queue of a link controller.
            FlowControl::SciRing => {
                Settings { switch_buffer_bytes: 16 * 192, streams: 4, outstanding: 16, spread: Spread::Flow, ..base }
            }
            FlowControl::StoreAndForward => Settings { switch_buffer_bytes: u32::MAX, ..base },
        };
        Settings { spread: if adaptive { Spread::Adaptive } else { by_kind.spread }, ..by_kind }
    }
}
