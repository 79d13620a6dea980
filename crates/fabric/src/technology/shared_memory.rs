//! Processes of one machine.

use super::{AdapterModel, RDMA, Technology, estimated};
use crate::flow_control::credit;
use crate::routing::Paths;
use crate::terms::RoutingSpec;

/// What is known of it.
pub const RECORD: Technology = Technology {
    name: "shared-memory",
    title: "processes of one machine, as a calibration measures them",
    flow_control: estimated(&credit::RECORD, "queues of fixed size between two processes: the sender waits"),
    adapter: estimated(AdapterModel::Rdma, "a process reads another's memory; remote DMA is the nearest model"),
    packet: None,
    routing: estimated(&[RoutingSpec::ShortestSingle], "one memory system: there is one path"),
    paths: estimated(Paths::Packet, "one memory system: there is one path"),
    streams: estimated(64, "messages served in turn, assumed"),
    outstanding: None,
    replicates: None,
    assumptions: RDMA,
};
