//! NVLink and NVSwitch.

use super::{AdapterModel, RDMA, Technology, estimated};
use crate::flow_control::credit;
use crate::routing::Paths;
use crate::terms::RoutingSpec;

/// What is known of it.
pub const RECORD: Technology = Technology {
    name: "nvlink",
    title: "NVLink: links between GPUs, through NVSwitch",
    flow_control: estimated(&credit::RECORD, "credits, by analogy with PCI Express"),
    adapter: estimated(AdapterModel::Rdma, "loads, stores and copy engines on the memory of other GPUs, by analogy"),
    packet: None,
    routing: estimated(&[RoutingSpec::ShortestEcmp], "one switch between any two GPUs of a host"),
    paths: estimated(Paths::Packet, "traffic of a pair is spread over all links, recalled"),
    streams: estimated(64, "messages served in turn, assumed"),
    outstanding: None,
    replicates: None,
    assumptions: RDMA,
};
