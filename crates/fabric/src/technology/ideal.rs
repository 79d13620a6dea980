//! No product: a network whose switches never block.

use super::{AdapterModel, PacketFormat, RDMA, Technology, estimated};
use crate::flow_control::store_and_forward;
use crate::routing::Paths;
use crate::terms::RoutingSpec;

/// What is assumed of it.
pub const RECORD: Technology = Technology {
    name: "ideal",
    title: "no product: whole packets in unbounded buffers, for teaching and tests",
    flow_control: estimated(&store_and_forward::RECORD, "by definition"),
    adapter: estimated(AdapterModel::Rdma, "by definition"),
    packet: Some(estimated(
        PacketFormat { payload_max_bytes: None, overhead_bytes: 0.0, overhead_per_hop_bytes: 0.0 },
        "by definition: payload alone",
    )),
    routing: estimated(
        &[RoutingSpec::DimensionOrder, RoutingSpec::DragonflyMinimal, RoutingSpec::ShortestEcmp],
        "by definition",
    ),
    paths: estimated(Paths::Packet, "by definition: an even split over equal paths"),
    streams: estimated(64, "by definition"),
    outstanding: None,
    replicates: None,
    assumptions: RDMA,
};
