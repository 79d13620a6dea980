//! InfiniBand.

use super::{AdapterModel, PacketFormat, RDMA, Technology, estimated, published};
use crate::flow_control::credit;
use crate::routing::Paths;
use crate::terms::RoutingSpec;

/// What is known of it.
pub const RECORD: Technology = Technology {
    name: "infiniband",
    title: "InfiniBand: credits, remote DMA, one forwarding table per switch",
    flow_control: published(&credit::RECORD, "InfiniBand architecture: credits for each virtual lane of a link"),
    adapter: published(AdapterModel::Rdma, "InfiniBand architecture: verbs on registered memory"),
    packet: Some(published(
        PacketFormat { payload_max_bytes: Some(4096), overhead_bytes: 26.0, overhead_per_hop_bytes: 0.0 },
        "InfiniBand architecture: largest MTU; LRH 8, BTH 12, ICRC 4, VCRC 2",
    )),
    routing: published(
        &[RoutingSpec::DimensionOrder, RoutingSpec::DragonflyMinimal, RoutingSpec::ShortestEcmp],
        "OpenSM: minimum hops, fat tree, dimension order (torus-2QoS)",
    ),
    paths: published(Paths::Destination, "InfiniBand architecture: switches forward by the destination's LID"),
    streams: estimated(64, "queue pairs served in turn, assumed"),
    outstanding: None,
    replicates: None,
    assumptions: RDMA,
};
