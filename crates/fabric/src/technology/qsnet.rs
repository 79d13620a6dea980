//! Quadrics QsNet.

use super::{AdapterModel, Assumption, PacketFormat, Technology, assumption, estimated, published};
use crate::flow_control::wormhole;
use crate::routing::Paths;
use crate::terms::RoutingSpec;

/// What is known of it.
pub const RECORD: Technology = Technology {
    name: "qsnet",
    title: "QsNet: Elan adapters, Elite switches that replicate packets",
    flow_control: estimated(&wormhole::RECORD, "recalled (Petrini et al., IEEE Micro 2002)"),
    adapter: published(AdapterModel::Elan, "P01: DMA from and to virtual memory by the adapter"),
    packet: Some(estimated(
        PacketFormat { payload_max_bytes: Some(320), overhead_bytes: 56.0, overhead_per_hop_bytes: 0.0 },
        "recalled (Petrini et al., IEEE Micro 2002): 400 MB/s carry about 340 of payload",
    )),
    routing: estimated(&[RoutingSpec::ShortestEcmp], "source routes over the least common stage, recalled"),
    paths: estimated(Paths::Adaptive, "Elite chooses among the up links, recalled (Petrini et al., IEEE Micro 2002)"),
    streams: estimated(1, "the DMA processor works on one message at a time, recalled"),
    outstanding: None,
    replicates: Some(published((), "P01: hardware broadcast to a range of nodes")),
    assumptions: ASSUMPTIONS,
};

const ASSUMPTIONS: &[Assumption] = &[
    assumption("adapter_latency", 0.8, "us", [0.4, 1.5], "beyond the parts' own latency, by analogy"),
    assumption("connect_time", 0.0, "us", [0.0, 0.0], "no connections: the adapter translates virtual addresses"),
    assumption("dma_setup_time", 1.0, "us", [0.5, 2.0], "descriptor handed to the DMA processor, by analogy"),
    assumption("host_overhead_recv", 0.5, "us", [0.03, 1.0], "one look at an event in memory, by analogy"),
    assumption("host_overhead_send", 0.5, "us", [0.03, 1.0], "one store to the command port, by analogy"),
    assumption("map_time", 0.0, "us", [0.0, 0.0], "remote memory is not mapped"),
    assumption("map_time_per_byte", 0.0, "ns/B", [0.0, 0.0], "remote memory is not mapped"),
    assumption("message_gap", 0.0, "us", [0.0, 1.0], "none beyond the overheads, assumed"),
    assumption(
        "register_time",
        0.0,
        "us",
        [0.0, 0.0],
        "the adapter translates virtual addresses: nothing is registered",
    ),
    assumption("register_time_per_byte", 0.0, "ns/B", [0.0, 0.0], "nothing is registered"),
];
