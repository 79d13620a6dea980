//! Cray T3D.

use super::{AdapterModel, Assumption, PacketFormat, Technology, assumption, estimated, published};
use crate::flow_control::wormhole;
use crate::routing::Paths;
use crate::terms::RoutingSpec;

/// What is known of it.
pub const RECORD: Technology = Technology {
    name: "t3d",
    title: "Cray T3D: a torus of routers with a deposit engine at each node",
    flow_control: estimated(&wormhole::RECORD, "recalled"),
    adapter: published(AdapterModel::T3d, "K98 s16: fetch and deposit engine"),
    packet: Some(estimated(
        PacketFormat { payload_max_bytes: Some(32), overhead_bytes: 16.0, overhead_per_hop_bytes: 0.0 },
        "one cache line of four words; header of about eight 16-bit flits, recalled",
    )),
    routing: estimated(&[RoutingSpec::DimensionOrder, RoutingSpec::ShortestSingle], "dimension order, recalled"),
    paths: estimated(Paths::Packet, "both ways half-way round a ring are used alike, assumed"),
    streams: estimated(64, "each packet is a store of its own, so stores to several nodes mix"),
    outstanding: None,
    replicates: None,
    assumptions: ASSUMPTIONS,
};

const ASSUMPTIONS: &[Assumption] = &[
    assumption("adapter_latency", 0.2, "us", [0.1, 0.6], "by analogy with a remote read of 600 ns"),
    assumption("connect_time", 0.0, "us", [0.0, 0.0], "no connections"),
    assumption(
        "dma_setup_time",
        0.0,
        "us",
        [0.0, 180.0],
        "stores need no engine; the block transfer engine took 180 us, recalled",
    ),
    assumption("host_overhead_recv", 0.3, "us", [0.1, 1.0], "one look at a flag in memory, by analogy"),
    assumption("host_overhead_send", 0.3, "us", [0.1, 1.0], "a few remote stores, by analogy"),
    assumption("map_time", 0.0, "us", [0.0, 0.0], "the annex makes all memory reachable"),
    assumption("map_time_per_byte", 0.0, "ns/B", [0.0, 0.0], "the annex makes all memory reachable"),
    assumption("message_gap", 0.0, "us", [0.0, 1.0], "none beyond the stores, assumed"),
    assumption("register_time", 0.0, "us", [0.0, 0.0], "nothing is registered"),
    assumption("register_time_per_byte", 0.0, "ns/B", [0.0, 0.0], "nothing is registered"),
];
