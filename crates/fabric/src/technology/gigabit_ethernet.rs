//! Gigabit Ethernet with kernel TCP/IP, as clusters of 1998 to 2008 had it.

use super::tcp::{ASSUMPTIONS, FRAME, SOCKETS};
use super::{Technology, estimated, published};
use crate::flow_control::ethernet;
use crate::routing::Paths;
use crate::terms::RoutingSpec;

/// What is known of it.
pub const RECORD: Technology = Technology {
    name: "gigabit-ethernet",
    title: "Gigabit Ethernet with kernel TCP/IP",
    flow_control: published(&ethernet::RECORD, "IEEE 802.3x: pause, or frames are dropped"),
    adapter: SOCKETS,
    packet: Some(FRAME),
    routing: estimated(&[RoutingSpec::ShortestEcmp], "shortest paths; uplinks are aggregated"),
    paths: published(Paths::Flow, "IEEE 802.3ad: a hash of the conversation chooses a link of an aggregate"),
    streams: estimated(64, "sockets served in turn, assumed"),
    outstanding: None,
    replicates: None,
    assumptions: ASSUMPTIONS,
};
