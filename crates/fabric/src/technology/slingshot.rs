//! HPE Slingshot.

use super::{AdapterModel, PacketFormat, RDMA, Technology, estimated, published};
use crate::flow_control::credit;
use crate::routing::Paths;
use crate::terms::RoutingSpec;

/// What is known of it.
pub const RECORD: Technology = Technology {
    name: "slingshot",
    title: "Slingshot: Ethernet links with credits, adaptive routing",
    flow_control: estimated(&credit::RECORD, "link-level credits, recalled (De Sensi et al., SC 2020)"),
    adapter: estimated(AdapterModel::Rdma, "Cassini offers remote DMA through libfabric, recalled"),
    packet: Some(estimated(
        PacketFormat { payload_max_bytes: Some(4096), overhead_bytes: 50.0, overhead_per_hop_bytes: 0.0 },
        "by analogy: InfiniBand's MTU, Ethernet framing with a short header",
    )),
    routing: published(
        &[RoutingSpec::DragonflyMinimal, RoutingSpec::ShortestEcmp],
        "De Sensi et al., SC 2020: dragonfly, at most three hops between switches",
    ),
    paths: published(Paths::Adaptive, "De Sensi et al., SC 2020: each switch takes the least loaded path"),
    streams: estimated(64, "messages served in turn, assumed"),
    outstanding: None,
    replicates: None,
    assumptions: RDMA,
};
