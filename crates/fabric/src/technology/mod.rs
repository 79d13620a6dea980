//! Technologies: what a network of some make does, stated once and with its source.
//!
//! A part of the catalog says which technology it is (`technology = "infiniband"`), and so does a graph. The record of
//! that technology says how blocked packets behave, how packets are framed, and what model of adapters fits. It also
//! says which routing is usual, and which of equal paths a packet takes. Nothing is guessed from another value.
//!
//! To add a technology, write a file with a `pub const RECORD: Technology` and add one line to [`TECHNOLOGIES`].
//!
//! ```
//! use hotlink_fabric::{routing::Paths, technology};
//! let infiniband = technology::named("infiniband").unwrap();
//! assert_eq!(infiniband.paths.value, Paths::Destination);
//! assert!(technology::named("infinibad").unwrap_err().contains("infiniband"));
//! ```

mod any;
mod barrier_network;
mod bluegene;
mod gigabit_ethernet;
mod ici;
mod ideal;
mod infiniband;
mod myrinet;
mod nvlink;
mod qsnet;
mod roce;
mod sci;
mod shared_memory;
mod slingshot;
mod t3d;
mod tcp;

pub use crate::assumption::Assumption;
use crate::assumption::assumption;
use crate::flow_control::FlowControl;
use crate::routing::Paths;
use crate::sheet::nearest;
use crate::terms::{RoutingSpec, Status};

/// Every technology, sorted by name.
pub const TECHNOLOGIES: &[&Technology] = &[
    &barrier_network::RECORD,
    &bluegene::RECORD,
    &gigabit_ethernet::RECORD,
    &ici::RECORD,
    &ideal::RECORD,
    &infiniband::RECORD,
    &myrinet::RECORD,
    &nvlink::RECORD,
    &qsnet::RECORD,
    &roce::RECORD,
    &sci::RECORD,
    &shared_memory::RECORD,
    &slingshot::RECORD,
    &t3d::RECORD,
    &tcp::RECORD,
];

/// One statement of a record, with its source.
#[derive(Clone, Copy, Debug)]
pub struct Statement<T> {
    /// What is stated.
    pub value: T,
    /// A public document, a seed, or `by analogy`, `recalled`, `assumed`.
    pub source: &'static str,
    /// How sure it is.
    pub status: Status,
}

/// A statement that its source prints.
const fn published<T>(value: T, source: &'static str) -> Statement<T> {
    Statement { value, source, status: Status::Published }
}

/// A statement from memory or by analogy.
const fn estimated<T>(value: T, source: &'static str) -> Statement<T> {
    Statement { value, source, status: Status::Estimated }
}

/// What adapters let a program do, and so which model of adapter and host applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AdapterModel {
    /// Dolphin's PCI-SCI: remote memory mapped for stores through stream buffers, and DMA (K98 s14-15, W01).
    Sci,
    /// Myrinet: a processor on the adapter and DMA from pinned memory; no remote stores (K98 s12).
    Myrinet,
    /// QsNet's Elan: DMA from and to user virtual memory, translated by the adapter (P01).
    Elan,
    /// Cray T3D: stores and loads of remote memory, put there by a deposit engine (K98 s16).
    T3d,
    /// Remote DMA on registered memory: InfiniBand, RoCE, Slingshot.
    Rdma,
    /// Kernel sockets: the processor copies, and works for every segment.
    Tcp,
}

impl AdapterModel {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            AdapterModel::Sci => "sci",
            AdapterModel::Myrinet => "myrinet",
            AdapterModel::Elan => "elan",
            AdapterModel::T3d => "t3d",
            AdapterModel::Rdma => "rdma",
            AdapterModel::Tcp => "tcp",
        }
    }
}

/// How a message is cut into packets.
#[derive(Clone, Copy, Debug)]
pub struct PacketFormat {
    /// Largest payload in bytes; `None`: a message of any length is one packet.
    pub payload_max_bytes: Option<u64>,
    /// Overhead bytes of every packet.
    pub overhead_bytes: f64,
    /// Overhead bytes for each switch on the route.
    pub overhead_per_hop_bytes: f64,
}

/// What is known of a technology.
#[derive(Debug)]
pub struct Technology {
    /// Key in files and options.
    pub name: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// How blocked packets behave.
    pub flow_control: Statement<&'static FlowControl>,
    /// Model of adapter and host.
    pub adapter: Statement<AdapterModel>,
    /// Packet format where neither part nor graph states one. `None`: it must be stated.
    pub packet: Option<Statement<PacketFormat>>,
    /// Usual routings, the best first: the first that suits the topology is taken where a fabric states none.
    pub routing: Statement<&'static [RoutingSpec]>,
    /// Which of equal paths a packet takes.
    pub paths: Statement<Paths>,
    /// Messages of a node that its adapter serves round-robin.
    pub streams: Statement<u16>,
    /// Packets that a node may have unanswered. `None`: no limit of its own.
    pub outstanding: Option<Statement<u16>>,
    /// Switches replicate packets (hardware broadcast).
    pub replicates: Option<Statement<()>>,
    /// What stands in where a machine states no such parameter.
    pub assumptions: &'static [Assumption],
}

impl PartialEq for Technology {
    fn eq(&self, other: &Technology) -> bool {
        self.name == other.name
    }
}

impl Technology {
    /// What stands in for a parameter that a machine does not state: of the technology, else what holds for any.
    pub fn assumption(&self, parameter: &str) -> Option<&'static Assumption> {
        self.assumptions.iter().chain(any::ASSUMPTIONS).find(|assumption| assumption.parameter == parameter)
    }
}

/// The technology called `name`.
///
/// # Errors
/// There is none; the text names the nearest and lists all.
pub fn named(name: &str) -> Result<&'static Technology, String> {
    let found = TECHNOLOGIES.iter().find(|technology| technology.name == name).copied();
    found.ok_or_else(|| {
        let near = nearest(name, TECHNOLOGIES.iter().map(|technology| technology.name));
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        format!("technology `{name}` is unknown{near} (allowed: {})", names())
    })
}

/// The names of all technologies, for messages.
pub fn names() -> String {
    TECHNOLOGIES.iter().map(|technology| technology.name).collect::<Vec<_>>().join(", ")
}

/// Assumptions for adapters of remote DMA, by analogy with the generations of the catalog's InfiniBand parts.
const RDMA: &[Assumption] = &[
    assumption(
        "adapter_latency",
        0.1,
        "us",
        [0.0, 0.5],
        "through both adapters beyond the parts' own latency, by analogy",
    ),
    assumption("connect_time", 0.0, "us", [0.0, 100.0], "queue pairs are made before a program starts, assumed"),
    assumption("dma_setup_time", 0.1, "us", [0.05, 0.3], "work request fetched by the adapter, by analogy"),
    assumption(
        "host_overhead_recv",
        0.1,
        "us",
        [0.05, 1.1],
        "one poll of a completion queue, by analogy; QDR with MVAPICH took 1.07 us",
    ),
    assumption(
        "host_overhead_send",
        0.1,
        "us",
        [0.05, 1.2],
        "one work request posted, by analogy; QDR with MVAPICH took 1.15 us",
    ),
    assumption("map_time", 0.0, "us", [0.0, 0.0], "remote memory is not mapped"),
    assumption("map_time_per_byte", 0.0, "ns/B", [0.0, 0.0], "remote memory is not mapped"),
    assumption(
        "message_gap",
        0.0,
        "us",
        [0.0, 1.1],
        "none beyond the overheads, assumed; QDR with MVAPICH took 1.08 us",
    ),
    assumption("register_time", 5.0, "us", [1.0, 30.0], "system call and table update, by analogy"),
    assumption("register_time_per_byte", 0.0244140625, "ns/B", [0.005, 0.1], "0.1 us for a page of 4 KiB, by analogy"),
];
