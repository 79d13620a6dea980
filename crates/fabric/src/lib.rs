//! What an interconnect is.
//!
//! A fabric is a graph of resources: host bus, NIC, link, switch, B-Link. Each has a rate, a latency and a
//! per-packet overhead; a route is a sequence of resources. One description (a TOML file, [`spec::FabricSpec`])
//! feeds every engine: the closed forms ([`forms`]), the load count and the simulator.
//!
//! This crate is pure: it has no clock and no simulator. It reads only the catalog's files and those that the caller
//! names (standard input among them, [`input`]).

pub mod assumption;
mod attachment;
pub mod barrier;
pub mod built;
pub mod catalog;
mod error;
mod fitted;
pub mod flow_control;
pub mod forms;
pub mod import;
mod injection;
pub mod input;
pub mod inventory;
pub mod ledger;
pub mod maths;
pub mod network;
mod notes;
pub mod numbers;
mod parameters;
pub mod price;
pub mod reduction;
pub mod rng;
pub mod routing;
mod sheet;
pub mod spec;
pub mod technology;
mod terms;
pub mod topology;
pub mod traffic;
pub mod units;

pub use built::{BuildError, Fabric};
pub use parameters::Parameters;
