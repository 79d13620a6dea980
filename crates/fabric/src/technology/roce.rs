//! RDMA over Converged Ethernet.

use super::{AdapterModel, PacketFormat, RDMA, Technology, estimated, published};
use crate::flow_control::ethernet;
use crate::routing::Paths;
use crate::terms::RoutingSpec;

/// What is known of it.
pub const RECORD: Technology = Technology {
    name: "roce",
    title: "RoCEv2: remote DMA in UDP over Ethernet",
    flow_control: published(&ethernet::RECORD, "IEEE 802.1Qbb: priority flow control, as RoCEv2 needs it"),
    adapter: published(AdapterModel::Rdma, "InfiniBand architecture, annex A17 (RoCEv2): verbs on registered memory"),
    packet: Some(published(
        PacketFormat { payload_max_bytes: Some(4096), overhead_bytes: 82.0, overhead_per_hop_bytes: 0.0 },
        "largest InfiniBand MTU; IEEE 802.3: preamble 8, header 14, FCS 4, gap 12; IP 20, UDP 8, BTH 12, ICRC 4",
    )),
    routing: published(&[RoutingSpec::ShortestEcmp], "RFC 2992: equal-cost paths"),
    paths: published(Paths::Flow, "RFC 2992: a hash of the flow chooses among equal-cost paths"),
    streams: estimated(64, "queue pairs served in turn, assumed"),
    outstanding: None,
    replicates: None,
    assumptions: RDMA,
};
