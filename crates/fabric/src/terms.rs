//! The words of a description: where a number comes from, what a resource is, how packets flow and find their way. All
//! other modules of the crate use them.

/// Where a number comes from, from the strongest to the weakest. Every number of the catalog carries one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
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

/// What a resource does in the fabric. One [`crate::spec::ResourceSpec`] per role.
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

/// How packets find their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RoutingSpec {
    /// Lowest dimension first; a tie at half-way is split evenly.
    DimensionOrder,
    /// Up* then down* over a spanning order.
    UpDown,
    /// Every shortest path, split evenly at each hop.
    ShortestEcmp,
    /// The same, with each hop in a lane (virtual channel) of its own. No cycle of waiting packets can then close
    /// (Günther, IEEE Transactions on Communications 1981).
    ShortestLanes,
    /// One shortest path per destination (lowest channel first).
    ShortestSingle,
    /// Dragonfly minimal: local, global, local.
    DragonflyMinimal,
    /// Dragonfly by a random intermediate group (Valiant).
    DragonflyValiant,
    /// Shortest paths to a random other group or switch, then shortest paths on (Valiant), each hop in a lane of its own.
    ShortestValiant,
    /// Explicit routes from the graph's file.
    Source,
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
