//! What a file says of a topology.

use super::Topology;
use std::sync::Arc;

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
    /// One of [`super::Topology`]'s registry.
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
