//! IBM BlueGene/L.

use super::{AdapterModel, PacketFormat, RDMA, Technology, estimated, published};
use crate::flow_control::credit;
use crate::routing::Paths;
use crate::terms::RoutingSpec;

/// What is known of it.
pub const RECORD: Technology = Technology {
    name: "bluegene",
    title: "BlueGene: a torus of system chips with tokens",
    flow_control: estimated(&credit::RECORD, "tokens for each virtual channel, recalled (Adiga et al.)"),
    adapter: estimated(AdapterModel::Rdma, "packet FIFOs on the chip; remote DMA is the nearest model"),
    packet: Some(estimated(
        PacketFormat { payload_max_bytes: Some(240), overhead_bytes: 16.0, overhead_per_hop_bytes: 0.0 },
        "packets of at most 256 bytes with header and trailer, recalled",
    )),
    routing: published(
        &[RoutingSpec::DimensionOrder, RoutingSpec::ShortestEcmp],
        "Adiga et al., IBM J. Res. Dev. 49: 3-D torus, dimension order or adaptive",
    ),
    paths: estimated(Paths::Packet, "both ways half-way round a ring are used alike, assumed"),
    streams: estimated(64, "messages served in turn, assumed"),
    outstanding: None,
    replicates: None,
    assumptions: RDMA,
};
