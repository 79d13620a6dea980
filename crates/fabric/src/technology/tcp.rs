//! Kernel TCP/IP over Ethernet of any speed.

use super::{AdapterModel, Assumption, PacketFormat, Statement, Technology, assumption, estimated, published};
use crate::flow_control::ethernet;
use crate::routing::Paths;
use crate::terms::RoutingSpec;

/// What is known of it.
pub const RECORD: Technology = Technology {
    name: "tcp",
    title: "kernel TCP/IP over Ethernet",
    flow_control: published(&ethernet::RECORD, "IEEE 802.3x: pause, or frames are dropped"),
    adapter: SOCKETS,
    packet: Some(FRAME),
    routing: published(&[RoutingSpec::ShortestEcmp], "RFC 2992: equal-cost paths"),
    paths: published(Paths::Flow, "RFC 2992: a hash of the flow chooses among equal-cost paths"),
    streams: estimated(64, "sockets served in turn, assumed"),
    outstanding: None,
    replicates: None,
    assumptions: ASSUMPTIONS,
};

pub(super) const SOCKETS: Statement<AdapterModel> =
    published(AdapterModel::Tcp, "K98: TCP/IP in the kernel copies and works for every segment");

pub(super) const FRAME: Statement<PacketFormat> = published(
    PacketFormat { payload_max_bytes: Some(1460), overhead_bytes: 78.0, overhead_per_hop_bytes: 0.0 },
    "MTU 1500 less 20 (RFC 791) and 20 (RFC 793); IEEE 802.3: preamble 8, header 14, FCS 4, gap 12; IP 20, TCP 20",
);

pub(super) const ASSUMPTIONS: &[Assumption] = &[
    assumption("adapter_latency", 0.0, "us", [0.0, 20.0], "in the kernel's overheads, which hold the whole stack"),
    assumption("host_overhead_recv", 10.0, "us", [3.0, 25.0], "system call, stack and wake-up, by analogy"),
    assumption("host_overhead_send", 10.0, "us", [3.0, 25.0], "system call and stack, by analogy"),
    assumption("interrupt_time", 0.0, "us", [0.0, 10.0], "in the overhead of a message"),
    assumption("message_gap", 0.0, "us", [0.0, 10.0], "none beyond the overheads, assumed"),
    assumption("tcp_segment", 1460.0, "B", [536.0, 8960.0], "MTU 1500 less 20 (RFC 791) and 20 (RFC 793)"),
];
