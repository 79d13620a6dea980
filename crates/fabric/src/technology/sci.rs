//! Dolphin's Scalable Coherent Interface.

use super::{AdapterModel, Assumption, PacketFormat, Technology, assumption, estimated, published};
use crate::flow_control::sci_ring;
use crate::routing::Paths;
use crate::terms::RoutingSpec;

/// What is known of it.
pub const RECORD: Technology = Technology {
    name: "sci",
    title: "Scalable Coherent Interface: rings with request, echo and response",
    flow_control: published(&sci_ring::RECORD, "IEEE 1596: bypass FIFO, echoes, retry of busy requests"),
    adapter: published(AdapterModel::Sci, "K98 s14-15: stores through stream buffers, DMA"),
    packet: Some(published(
        PacketFormat { payload_max_bytes: Some(64), overhead_bytes: 18.0, overhead_per_hop_bytes: 0.0 },
        "IEEE 1596: 16 bytes of header, 2 of CRC; data of 16, 64, 256",
    )),
    routing: published(
        &[RoutingSpec::DimensionOrder, RoutingSpec::ShortestSingle],
        "M02 s3.1: packets turn from ring to ring in order of dimension",
    ),
    paths: estimated(Paths::Flow, "one way for each pair: rings lead one way round"),
    streams: estimated(4, "the memory blocks that a processor stores to in turn, assumed"),
    outstanding: Some(published(16, "MP-MPICH SMI query.c: 16 stream buffers on 64-bit adapters")),
    replicates: None,
    assumptions: ASSUMPTIONS,
};

const ASSUMPTIONS: &[Assumption] = &[
    assumption("adapter_latency", 0.5, "us", [0.2, 2.3], "D330 to D310, less the rings, by analogy"),
    assumption("att_entries", 4096.0, "entries", [512.0, 16384.0], "Dolphin PSB64 data sheet (off-chip SRAM, up to)"),
    assumption("connect_time", 30.0, "us", [10.0, 100.0], "system call, driver and handshake, by analogy"),
    assumption("deposit_alignment", 8.0, "B", [8.0, 64.0], "SMI manual p27 (64 is best)"),
    assumption("dma_setup_time", 15.0, "us", [5.0, 30.0], "descriptor, start and completion by the driver, by analogy"),
    assumption("host_overhead_recv", 0.3, "us", [0.1, 1.0], "one look at a flag in memory, by analogy"),
    assumption("host_overhead_send", 0.3, "us", [0.1, 1.0], "a few stores to mapped memory, by analogy"),
    assumption("interrupt_time", 5.0, "us", [2.0, 20.0], "Linux on a PC of the time, by analogy"),
    assumption("map_time", 50.0, "us", [20.0, 200.0], "system call, driver and handshake, by analogy"),
    assumption("map_time_per_byte", 0.48828125, "ns/B", [0.1, 1.0], "2 us for a page of 4 KiB, by analogy"),
    assumption("message_gap", 0.0, "us", [0.0, 1.0], "none beyond the stores, assumed"),
    assumption("page_size", 4.0, "KiB", [4.0, 512.0], "Dolphin PSB64 data sheet (4 to 512 KB)"),
    assumption("pinned_memory", 64.0, "MiB", [16.0, 512.0], "a share of the hosts' memory of the time, by analogy"),
    assumption("register_time", 20.0, "us", [5.0, 50.0], "system call and pinning, by analogy"),
    assumption("register_time_per_byte", 0.244140625, "ns/B", [0.1, 1.0], "1 us for a page of 4 KiB, by analogy"),
];
