//! Machines that stand in the catalog for their barrier or reduction network; of the data network little is known.

use super::{AdapterModel, RDMA, Technology, estimated};
use crate::flow_control::credit;
use crate::routing::Paths;
use crate::terms::RoutingSpec;

/// What is known of it.
pub const RECORD: Technology = Technology {
    name: "barrier-network",
    title: "a machine known for its barrier network (CM-5, Earth Simulator)",
    flow_control: estimated(&credit::RECORD, "assumed: whole packets wait in buffers and none is dropped"),
    adapter: estimated(AdapterModel::Rdma, "assumed; H06 gives these machines for their barriers"),
    packet: None,
    routing: estimated(&[RoutingSpec::DimensionOrder, RoutingSpec::ShortestEcmp], "shortest paths, assumed"),
    paths: estimated(Paths::Packet, "assumed: the CM-5 climbs by random choice, recalled"),
    streams: estimated(64, "messages served in turn, assumed"),
    outstanding: None,
    replicates: None,
    assumptions: RDMA,
};
