//! The description of a fabric, as a catalog file states it: what the topology is, how packets are routed,
//! and what each kind of resource can do. [`crate::network::Network`] is this description built for a number of nodes.
//!
//! A `FabricSpec` is plain data. Reading and validating TOML lives in `catalog`.

use crate::barrier::BarrierSpec;
use crate::parameters::Parameters;
use crate::reduction::ReductionSpec;
use crate::routing::Paths;
use crate::technology::{self, Technology};
use crate::topology::Topology;
use crate::units::{Rate, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where a number comes from, from the strongest to the weakest. Every number of the catalog carries one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// The source prints it.
    Published,
    /// A calibration on real hardware produced it.
    Measured,
    /// Chosen so that a model meets a published result; never counted as a prediction of that result.
    Fitted,
    /// From memory or by analogy: a starting value.
    Estimated,
}

/// A value with its provenance. `T` is in base units (bytes per second, picoseconds, bytes, a plain number).
#[derive(Clone, Debug, PartialEq)]
pub struct Value<T> {
    /// The value in base units.
    pub value: T,
    /// The unit that the file states.
    pub unit: String,
    /// The source: seed and slide, table or equation; or a public document.
    pub source: String,
    /// How the source came by it.
    pub status: Status,
}

/// Where a group of plain counts (a topology's sizes) comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// As [`Value::source`].
    pub source: String,
    /// As [`Value::status`].
    pub status: Status,
}

/// What a resource does in the fabric. One [`ResourceSpec`] per role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Host memory system.
    Memory,
    /// What moves a node's outgoing payload from memory to the adapter: the processor's stores or a DMA engine. Only
    /// what the node sends crosses it.
    Engine,
    /// Host bus between memory and NIC (PCI, PCIe), shared by both directions if `half_duplex`.
    HostBus,
    /// The adapter: DMA engines, NIC processor.
    Nic,
    /// Bus inside an adapter that joins rings (Dolphin's B-Link): every packet that enters, leaves or turns crosses it once.
    BLink,
    /// Channel between a node and its switch, or a ring or torus channel, unless a more special role is given.
    Link,
    /// Channel between two switches.
    SwitchLink,
    /// Channel between two groups (dragonfly) or enclosures.
    GlobalLink,
    /// Scale-up channel inside a host (NVLink-like).
    LocalLink,
    /// Crossbar of a switch: latency only, unless `rate` is given.
    Switch,
    /// Link controller where an adapter joins a ring (SCI's LC): the ring passes through it. Latency only, unless
    /// `rate` is given.
    RingStop,
    /// Connection inside a device (a node's port on its own router or B-Link): never a limit.
    Internal,
}

impl Role {
    /// Roles of a node's host, in the order in which what it sends crosses them.
    pub const HOST: [Role; 4] = [Role::Memory, Role::Engine, Role::HostBus, Role::Nic];

    /// Payload crosses it in the fabric's packets, so packet overhead takes its share; what stands in the host
    /// moves payload alone.
    pub fn carries_packets(self) -> bool {
        !Role::HOST.contains(&self)
    }
}

/// What one kind of resource can do.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceSpec {
    /// Name in the field's terms, as results print it: `SCI link`, `B-Link`, `Myrinet link`.
    pub name: String,
    /// Gross rate, one direction (both together when `half_duplex`). Absent: never a limit (latency only).
    pub gross: Option<Value<Rate>>,
    /// Payload rate at saturation, as measured. Replaces gross x efficiency under [`Capacities::Measured`].
    pub measured: Option<Value<Rate>>,
    /// Time of one packet's head through the resource, excluding its serialisation.
    pub latency: Value<Time>,
    /// Both directions share `gross`.
    pub half_duplex: bool,
}

/// Packet format: efficiency = payload / (payload + overhead).
#[derive(Clone, Debug, PartialEq)]
pub struct PacketSpec {
    /// Largest payload of a packet in bytes; `None`: messages of any length are one packet (Myrinet).
    pub payload_max_bytes: Option<Value<u64>>,
    /// Overhead bytes of every packet on every resource.
    pub overhead_bytes: Value<f64>,
    /// Overhead bytes for each switch on the route (Myrinet's route bytes).
    pub overhead_per_hop_bytes: Value<f64>,
}

impl PacketSpec {
    /// Packets that a message of `message_bytes` becomes (an empty message is one packet).
    pub fn packets(&self, message_bytes: u64) -> u64 {
        match &self.payload_max_bytes {
            Some(limit) => message_bytes.div_ceil(limit.value.max(1)).max(1),
            None => 1,
        }
    }

    /// Share of a resource's rate left for payload when messages of `message_bytes` pass `switches` switches
    /// (a mean, so it may be fractional): payload / (payload + packets x overhead).
    /// SCI: 128 / 192 (M02 section 3.1). Myrinet: M / (M + h + 6) with h + 1 switches (M02 Eq. 9).
    pub fn efficiency(&self, message_bytes: u64, switches: f64) -> f64 {
        let per_packet = self.overhead_bytes.value + self.overhead_per_hop_bytes.value * switches;
        let overhead = self.packets(message_bytes) as f64 * per_packet;
        let payload = message_bytes as f64;
        if payload + overhead > 0.0 { payload / (payload + overhead) } else { 1.0 }
    }
}

impl ResourceSpec {
    /// Payload rate in bytes per second under `capacities`, one direction (both together when half duplex):
    /// the measured rate where asked for and known, else gross x `efficiency`. `None`: never a limit.
    pub fn payload_rate(&self, capacities: Capacities, efficiency: f64) -> Option<f64> {
        let theoretical = self.gross.as_ref().map(|gross| gross.value.0 as f64 * efficiency);
        match capacities {
            Capacities::Theoretical => theoretical,
            Capacities::Measured => self.measured.as_ref().map(|rate| rate.value.0 as f64).or(theoretical),
        }
    }
}

/// Which capacities a model uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capacities {
    /// Gross rate x packet efficiency.
    Theoretical,
    /// The measured saturation rate where there is one, else the theoretical rate.
    Measured,
}

/// How blocked packets behave. The simulator's business; the load count ignores it. A technology's record says which
/// one applies; what tells them apart stands in the methods here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlowControl {
    /// A blocked packet holds its channels (Myrinet, Elite).
    Wormhole,
    /// Per-virtual-channel credits, whole packets buffered (InfiniBand-like).
    Credit,
    /// SCI ring: request, echo, response; bypass FIFO; busy retry.
    SciRing,
    /// Ethernet: drop or pause.
    Ethernet,
    /// Whole packets stored at every hop, unbounded buffers.
    StoreAndForward,
}

impl FlowControl {
    /// Packets on a ring pass before those that want to enter it, and what cannot be taken is sent again.
    pub fn is_ring(self) -> bool {
        self == FlowControl::SciRing
    }

    /// A packet may lie across several switches, so that no buffer need hold a whole one.
    pub fn is_wormhole(self) -> bool {
        self == FlowControl::Wormhole
    }

    /// Input buffer of a switch port, per virtual channel, net of the link's round trip, in bytes.
    pub fn switch_buffer_bytes(self, packet_bytes: u32) -> u32 {
        match self {
            // A slack buffer of a worm: Myrinet's and Elite's switches hold a few dozen bytes a port.
            FlowControl::Wormhole => 128,
            FlowControl::Credit => 64 * packet_bytes,
            FlowControl::Ethernet => 256 << 10,
            // 16 packets in each queue of a link controller (parameters P004).
            FlowControl::SciRing => 16 * 192,
            FlowControl::StoreAndForward => u32::MAX,
        }
    }
}

/// The shape of the network; sizes that depend on the number of nodes are worked out when it is built.
#[derive(Clone, Debug, PartialEq)]
pub enum TopologySpec {
    /// r-ary f-cube: f = 1 is a ring.
    Cube {
        /// f.
        dimensions: u32,
        /// Channels both ways (torus of routers) or one way (SCI ringlets).
        bidirectional: bool,
        /// Each node joins its rings by a B-Link bus (Dolphin) instead of a router.
        b_link: bool,
        /// Nodes on each router (2 on the T3D).
        nodes_per_router: u32,
        /// How extents follow from the number of nodes.
        extents: Extents,
    },
    /// Switches in a line (M02's minimally connected Myrinet).
    SwitchArray {
        /// Ports of a switch.
        ports: u32,
        /// Parallel links between neighbours.
        links: u32,
    },
    /// Switches in a ring (M02's ring of switches with n links).
    SwitchRing {
        /// Ports of a switch.
        ports: u32,
        /// n.
        links: u32,
        /// `false`: n links between each adjacent pair (2n switch ports); `true`: n switch ports in all.
        links_per_switch: bool,
    },
    /// Myricom's Clos64 enclosures: 8 leaf crossbars of 8 nodes, 8 spine crossbars; two enclosures join spine to spine.
    Clos64,
    /// Folded Clos of switches with `radix` ports in `levels` levels, as small as the number of nodes allows;
    /// also the k-ary n-tree (`top_down_only = false`, k = radix / 2).
    FatTree {
        /// Ports of a switch.
        radix: u32,
        /// Most levels of switches (fewer are built where they suffice); `None`: as many as needed.
        levels: Option<u32>,
        /// Node ports over up ports of a leaf: 1 is full bisection.
        oversubscription: f64,
        /// The top level turns all its ports down (a vendor's fat tree) or leaves the up ports unused (k-ary n-tree).
        top_all_down: bool,
    },
    /// Dragonfly: groups of all-to-all routers, all-to-all groups.
    Dragonfly {
        /// Nodes per router (p).
        nodes_per_router: u32,
        /// Routers per group (a).
        routers_per_group: u32,
        /// Global channels per router (h).
        global_per_router: u32,
    },
    /// Rail-optimised GPU fabric: GPU i of every host on rail i's leaf switches; a scale-up switch inside each host.
    Rail {
        /// GPUs (and NICs, and rails) in a host.
        gpus_per_host: u32,
        /// Ports of a leaf or spine switch.
        radix: u32,
    },
    /// One crossbar for all nodes.
    Crossbar {
        /// Most nodes it holds.
        ports: u32,
    },
    /// Nodes are processes of one machine on a shared memory system.
    Shared,
    /// Any graph, from a file (see `import`).
    Graph,
    /// One of [`crate::topology::Topology`]'s registry.
    Registered(Arc<dyn Topology>),
}

/// How a cube's extents follow from the number of nodes.
#[derive(Clone, Debug, PartialEq)]
pub enum Extents {
    /// r^f, r rounded up: a cube with more positions than nodes asked for is built whole (M02's reading).
    PaddedCube,
    /// The most cube-like factors whose product is the number of routers, exactly.
    Balanced,
    /// As given; the product is the number of routers.
    Fixed(Vec<u32>),
}

/// How packets find their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RoutingSpec {
    /// Lowest dimension first; a tie at half-way is split evenly.
    DimensionOrder,
    /// Up* then down* over a spanning order.
    UpDown,
    /// Every shortest path, split evenly at each hop.
    ShortestEcmp,
    /// One shortest path per destination (lowest channel first).
    ShortestSingle,
    /// Dragonfly minimal: local, global, local.
    DragonflyMinimal,
    /// Dragonfly by a random intermediate group (Valiant).
    DragonflyValiant,
    /// Explicit routes from the graph's file.
    Source,
}

/// One fabric of the catalog.
#[derive(Clone, Debug, PartialEq)]
pub struct FabricSpec {
    /// Key: the name on the command line.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Shape.
    pub topology: TopologySpec,
    /// Source of the topology's counts.
    pub topology_origin: Origin,
    /// Routing.
    pub routing: RoutingSpec,
    /// Resources by role.
    pub resources: BTreeMap<Role, ResourceSpec>,
    /// Packet format.
    pub packet: PacketSpec,
    /// What the network is: the record behind everything that the file does not state.
    pub technology: &'static Technology,
    /// Flow control: the technology's.
    pub flow_control: FlowControl,
    /// Which of equal paths a packet takes: the technology's, unless the file states another.
    pub paths: Paths,
    /// Parameters of hosts and adapters that the simulator needs, by the names of
    /// [`crate::catalog::vocabulary`], in base units (bytes per second, picoseconds, bytes, plain numbers).
    pub parameters: Parameters,
    /// Least and greatest plausible value by dotted key (`resource.link.latency`, `parameter.copy_rate`), in base units,
    /// of the values that state an uncertainty.
    pub ranges: BTreeMap<String, [f64; 2]>,
    /// A barrier network beside the data network.
    pub barrier: Option<BarrierSpec>,
    /// A network beside the data network that combines data.
    pub reduction: Option<ReductionSpec>,
    /// Which price list and which of its items, if the fabric has prices.
    pub prices: Option<PriceRef>,
}

/// What is bought, one kind per kind of line in an inventory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemKind {
    /// One adapter per node (or per GPU).
    Nic,
    /// One crossbar switch.
    Switch,
    /// One box that holds many crossbars (Clos64).
    Enclosure,
    /// Cable between a node and its switch or neighbour.
    CableNode,
    /// Cable between switches.
    CableSwitch,
    /// Cable between groups or enclosures.
    CableGlobal,
}

/// The price list of a fabric and the item of that list that each kind of thing is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceRef {
    /// Name of a file in `catalog/prices`.
    pub list: String,
    /// Item of the list by kind; a kind without item costs nothing of its own (a NIC's price may hold its cable).
    pub items: BTreeMap<ItemKind, String>,
}

impl FabricSpec {
    /// What is known of a role. Links between switches, groups or enclosures that the description does not tell
    /// apart are like the next plainer kind of link.
    pub fn resource(&self, role: Role) -> Option<&ResourceSpec> {
        let plainer = match role {
            Role::GlobalLink => Some(Role::SwitchLink),
            Role::SwitchLink => Some(Role::Link),
            _ => None,
        };
        self.resources.get(&role).or_else(|| self.resource(plainer?))
    }

    /// The same with another technology's record: its flow control and paths.
    #[must_use]
    pub fn of_technology(self, technology: &'static Technology) -> FabricSpec {
        FabricSpec { technology, flow_control: technology.flow_control.value, paths: technology.paths.value, ..self }
    }

    /// A fabric of this shape whose resources have no capacity: a start for tests and importers.
    pub fn bare(name: &str, topology: TopologySpec, routing: RoutingSpec) -> FabricSpec {
        let none = |value, unit: &str| Value {
            value,
            unit: unit.to_owned(),
            source: "none".to_owned(),
            status: Status::Estimated,
        };
        FabricSpec {
            name: name.to_owned(),
            title: name.to_owned(),
            topology,
            topology_origin: Origin { source: "none".to_owned(), status: Status::Estimated },
            routing,
            resources: BTreeMap::new(),
            packet: PacketSpec {
                payload_max_bytes: None,
                overhead_bytes: none(0.0, "B"),
                overhead_per_hop_bytes: none(0.0, "B"),
            },
            technology: technology::named("ideal").expect("in the registry"),
            flow_control: FlowControl::StoreAndForward,
            paths: Paths::Packet,
            parameters: Parameters::default(),
            ranges: BTreeMap::new(),
            barrier: None,
            reduction: None,
            prices: None,
        }
    }
}
