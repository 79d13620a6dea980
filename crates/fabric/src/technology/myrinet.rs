//! Myricom's Myrinet.

use super::{AdapterModel, Assumption, PacketFormat, Technology, assumption, estimated, published};
use crate::flow_control::wormhole;
use crate::routing::Paths;
use crate::terms::RoutingSpec;

/// What is known of it.
pub const RECORD: Technology = Technology {
    name: "myrinet",
    title: "Myrinet: source-routed worms, a processor on the adapter",
    flow_control: published(&wormhole::RECORD, "K98 s11: wormhole routing with back-pressure"),
    adapter: published(AdapterModel::Myrinet, "K98 s12: LANai processor and DMA engines"),
    packet: Some(published(
        PacketFormat { payload_max_bytes: None, overhead_bytes: 5.0, overhead_per_hop_bytes: 1.0 },
        "M02 Table 3: type 4, CRC-8 1, route 1 byte per switch",
    )),
    routing: published(
        &[RoutingSpec::ShortestEcmp, RoutingSpec::UpDown],
        "M02 Table 3: source routes, made by a mapper",
    ),
    paths: estimated(Paths::Destination, "the mapper gives each pair one route; spread by destination, assumed"),
    streams: estimated(1, "the LANai works on one message at a time, recalled"),
    outstanding: None,
    replicates: None,
    assumptions: ASSUMPTIONS,
};

const ASSUMPTIONS: &[Assumption] = &[
    assumption("adapter_latency", 3.0, "us", [1.0, 6.0], "LANai work at both ends, by analogy"),
    assumption("connect_time", 0.0, "us", [0.0, 0.0], "GM has no connections"),
    assumption("dma_setup_time", 1.0, "us", [0.5, 3.0], "descriptor found by the LANai's polling, by analogy"),
    assumption("host_overhead_recv", 0.8, "us", [0.3, 2.0], "an event taken from GM's queue, by analogy"),
    assumption("host_overhead_send", 0.8, "us", [0.3, 2.0], "a send token handed to GM, by analogy"),
    assumption("map_time", 0.0, "us", [0.0, 0.0], "remote memory is not mapped"),
    assumption("map_time_per_byte", 0.0, "ns/B", [0.0, 0.0], "remote memory is not mapped"),
    assumption("message_gap", 2.0, "us", [1.0, 5.0], "LANai work of a short message, by analogy"),
    assumption("pinned_memory", 64.0, "MiB", [16.0, 512.0], "a share of the hosts' memory of the time, by analogy"),
    assumption("register_time", 15.0, "us", [5.0, 50.0], "system call and pinning, by analogy"),
    assumption("register_time_per_byte", 0.1953125, "ns/B", [0.1, 1.0], "0.8 us for a page of 4 KiB, by analogy"),
];
