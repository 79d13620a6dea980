//! Google's inter-chip interconnect between TPUs.

use super::{AdapterModel, RDMA, Technology, estimated, published};
use crate::flow_control::credit;
use crate::routing::Paths;
use crate::terms::RoutingSpec;

/// What is known of it.
pub const RECORD: Technology = Technology {
    name: "ici",
    title: "TPU inter-chip interconnect: a torus of chips",
    flow_control: estimated(&credit::RECORD, "by analogy with other tori of today"),
    adapter: estimated(AdapterModel::Rdma, "remote DMA between the chips' memories, by analogy"),
    packet: Some(estimated(
        super::PacketFormat { payload_max_bytes: Some(256), overhead_bytes: 16.0, overhead_per_hop_bytes: 0.0 },
        "by analogy",
    )),
    routing: published(
        &[RoutingSpec::DimensionOrder, RoutingSpec::ShortestEcmp],
        "Jouppi et al., ISCA 2023: 3-D torus; dimension order by analogy",
    ),
    paths: estimated(Paths::Packet, "both ways half-way round a ring are used alike, assumed"),
    streams: estimated(64, "messages served in turn, assumed"),
    outstanding: None,
    replicates: None,
    assumptions: RDMA,
};
