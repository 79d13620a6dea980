//! r-ary f-cubes: rings, tori of routers (one or several nodes each), SCI multicubes whose nodes join rings by a
//! B-Link.
//!
//! Layout of a torus of routers: nodes, then routers. A router's ports are `+` (and `-`) of each dimension, then its
//! nodes. Layout of an SCI cube: nodes, then their B-Links, then ring stops (node-major). A B-Link's ports are its ring
//! stops, then the node. A ring stop's ports are the ring's next stop, then the B-Link. Dimensions of extent 1 have no
//! channels and are dropped. Dimension 0 varies fastest with the router's number.

use super::{PORTS, Registered, Shape, Topology, TopologySpec, check_channels, check_range, invalid};
use crate::error::{BuildError, MAX_NODES};
use crate::network::{Builder, Channel, Network, Vertex};
use crate::sheet::Table;
use crate::terms::{Role, RoutingSpec};

/// Most dimensions of a cube.
pub const MAX_DIMENSIONS: u32 = 16;

/// The registry's entry.
pub(crate) const ENTRY: Registered =
    Registered { kind: "cube", meaning: "ring, torus, multicube: routers, or nodes on rings", read };

/// r-ary f-cube: f = 1 is a ring.
#[derive(Clone, Debug, PartialEq)]
pub struct CubeSpec {
    /// f.
    pub dimensions: u32,
    /// Channels both ways (torus of routers) or one way (SCI ringlets).
    pub bidirectional: bool,
    /// Each node joins its rings by a B-Link bus (Dolphin) instead of a router.
    pub b_link: bool,
    /// Nodes on each router (2 on the T3D).
    pub nodes_per_router: u32,
    /// Nodes are hosts, and a link each joins them to their router; else node and router are one machine (T3D).
    pub host_links: bool,
    /// How extents follow from the number of nodes.
    pub extents: Extents,
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

fn read(table: &Table<'_>) -> Option<TopologySpec> {
    let dimensions = table.count("dimensions", 1..=MAX_DIMENSIONS);
    let bidirectional = table.flag_opt("bidirectional").unwrap_or(false);
    let b_link = table.flag_opt("b_link").unwrap_or(false);
    let nodes_per_router = table.count_opt("nodes_per_router", PORTS).unwrap_or(1);
    let host_links = table.flag_opt("host_links").unwrap_or(false);
    let extents = match table.counts_opt("extents", PORTS) {
        Some(extents) => {
            if dimensions.is_some_and(|dimensions| extents.len() != dimensions as usize) {
                table.wrong("extents", format!("{} numbers", extents.len()), "one number for each dimension");
            }
            Some(Extents::Fixed(extents))
        }
        None => table.choice("extents", &[("padded-cube", Extents::PaddedCube), ("balanced", Extents::Balanced)]),
    };
    if b_link && nodes_per_router != 1 {
        table.wrong("nodes_per_router", "a B-Link joins the rings of one node", "1");
    }
    if b_link && host_links {
        table.wrong("host_links", "a B-Link is within its node", "false");
    }
    let (dimensions, extents) = (dimensions?, extents?);
    Some(TopologySpec::new(CubeSpec { dimensions, bidirectional, b_link, nodes_per_router, host_links, extents }))
}

impl Topology for CubeSpec {
    fn kind(&self) -> &'static str {
        ENTRY.kind
    }
    fn build(&self, nodes: u32) -> Result<(Network, Shape), BuildError> {
        let cube = Cube::new(nodes, self)?;
        Ok((cube.network(), Shape::Cube(cube)))
    }
    fn routings(&self) -> &'static [RoutingSpec] {
        use RoutingSpec::{DimensionOrder, ShortestEcmp, ShortestSingle, UpDown};
        // Up*/down* needs every channel to have its reverse.
        match self.bidirectional {
            true => &[DimensionOrder, ShortestEcmp, ShortestSingle, UpDown],
            false => &[DimensionOrder, ShortestEcmp, ShortestSingle],
        }
    }
    fn has_circles(&self) -> bool {
        self.bidirectional
    }
    fn fields(&self) -> Vec<(&'static str, String)> {
        let extents = match &self.extents {
            Extents::PaddedCube => "\"padded-cube\"".to_owned(),
            Extents::Balanced => "\"balanced\"".to_owned(),
            Extents::Fixed(list) => format!("{list:?}"),
        };
        vec![
            ("dimensions", self.dimensions.to_string()),
            ("bidirectional", self.bidirectional.to_string()),
            ("b_link", self.b_link.to_string()),
            ("nodes_per_router", self.nodes_per_router.to_string()),
            ("host_links", self.host_links.to_string()),
            ("extents", extents),
        ]
    }
    fn has_one_size(&self) -> bool {
        matches!(self.extents, Extents::Fixed(_))
    }
    fn like(&self, key: &str, asked: f64) -> Option<(&'static str, f64)> {
        let more = asked * f64::from(self.nodes_per_router);
        (key == "oversubscription" && !self.b_link).then_some(("nodes_per_router", more))
    }
    fn ports(&self) -> Option<u32> {
        Some(self.nodes_per_router + 2 * self.dimensions)
    }
}

/// The layout of a cube.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cube {
    /// Routers (or ring members) along each dimension; none is 1.
    pub extents: Vec<u32>,
    /// Channels both ways.
    pub bidirectional: bool,
    /// SCI: nodes join their rings by a B-Link.
    pub b_link: bool,
    /// Nodes on each router.
    pub nodes_per_router: u32,
    /// A link joins a node to its router.
    pub host_links: bool,
    /// Product of the extents.
    pub routers: u32,
    /// Nodes built.
    pub nodes: u32,
}

impl Cube {
    /// Whether both ways round some ring are equally long for some pair.
    pub fn has_ties(&self) -> bool {
        self.bidirectional && self.extents.iter().any(|extent| extent % 2 == 0)
    }

    /// Works out the extents for `nodes` nodes.
    ///
    /// # Errors
    /// A parameter out of range, or fixed extents that do not hold the nodes.
    pub fn new(nodes: u32, spec: &CubeSpec) -> Result<Cube, BuildError> {
        let &CubeSpec { dimensions, bidirectional, b_link, nodes_per_router, host_links, ref extents } = spec;
        check_range("dimensions", dimensions, 1..=MAX_DIMENSIONS)?;
        check_range("nodes_per_router", nodes_per_router, PORTS)?;
        if b_link && (bidirectional || nodes_per_router != 1 || host_links) {
            return Err(invalid("a cube with b_link has unidirectional rings, one node per router, no host links"));
        }
        let wanted = nodes.div_ceil(nodes_per_router);
        let (mut extents, padded) = match extents {
            Extents::PaddedCube => (vec![root_up(wanted, dimensions); dimensions as usize], true),
            Extents::Balanced => (balanced(wanted, dimensions), false),
            Extents::Fixed(extents) => {
                check_fixed(extents, dimensions, wanted, nodes)?;
                (extents.clone(), false)
            }
        };
        let routers = extents.iter().map(|&r| u64::from(r)).product::<u64>();
        let built = if padded { routers * u64::from(nodes_per_router) } else { u64::from(nodes) };
        if built > u64::from(MAX_NODES) {
            return Err(invalid(format!("padded to {built} nodes: at most {MAX_NODES} are allowed")));
        }
        check_channels(routers * u64::from(dimensions) * 3 + 2 * built)?;
        extents.retain(|&r| r > 1);
        let (routers, nodes) = (routers as u32, built as u32);
        Ok(Cube { extents, bidirectional, b_link, nodes_per_router, host_links, routers, nodes })
    }

    /// Dimensions with channels.
    pub fn dimensions(&self) -> u32 {
        self.extents.len() as u32
    }

    /// Ring channels that leave a router in each dimension.
    pub fn directions(&self) -> u32 {
        1 + u32::from(self.bidirectional)
    }

    /// Whether every router has all its nodes, so that every translation of the cube maps it onto itself.
    pub fn is_full(&self) -> bool {
        self.nodes == self.routers * self.nodes_per_router
    }

    /// Vertex where the ring channels of `router` in `dimension` meet: the router, or its ring stop.
    pub fn stop(&self, router: u32, dimension: u32) -> Vertex {
        match self.b_link {
            true => Vertex(2 * self.nodes + router * self.dimensions() + dimension),
            false => Vertex(self.nodes + router),
        }
    }

    /// Vertex where the nodes of `router` join: the router or the B-Link.
    pub fn home(&self, router: u32) -> Vertex {
        Vertex(self.nodes + router)
    }

    /// Router (ring member) of a device, and the dimension if it is a ring stop.
    pub fn locate(&self, vertex: Vertex) -> (u32, Option<u32>) {
        let device = vertex.0 - self.nodes;
        if device < self.routers {
            return (device, None);
        }
        let stop = device - self.routers;
        (stop / self.dimensions(), Some(stop % self.dimensions()))
    }

    /// Coordinates of a router, written to `out`.
    pub fn coordinates(&self, router: u32, out: &mut [u32; MAX_DIMENSIONS as usize]) {
        let mut rest = router;
        for (x, &r) in out.iter_mut().zip(&self.extents) {
            *x = rest % r;
            rest /= r;
        }
    }

    /// The router one step along `dimension`.
    pub fn neighbour(&self, router: u32, dimension: u32, forward: bool) -> u32 {
        let stride: u32 = self.extents[..dimension as usize].iter().product();
        let r = self.extents[dimension as usize];
        let x = router / stride % r;
        let to = if forward { (x + 1) % r } else { (x + r - 1) % r };
        router - x * stride + to * stride
    }

    /// Builds the graph.
    pub fn network(&self) -> Network {
        let mut b = Builder::new(self.nodes);
        match self.b_link {
            true => self.add_sci(&mut b),
            false => self.add_routers(&mut b),
        }
        b.build()
    }

    fn add_routers(&self, b: &mut Builder) {
        let (between, own) =
            if self.host_links { (Role::SwitchLink, Role::Link) } else { (Role::Link, Role::Internal) };
        b.vertices(self.routers, Role::Switch);
        for router in 0..self.routers {
            for d in 0..self.dimensions() {
                b.channel(self.home(router), self.home(self.neighbour(router, d, true)), between);
                if self.bidirectional {
                    b.channel(self.home(router), self.home(self.neighbour(router, d, false)), between);
                }
            }
        }
        for node in 0..self.nodes {
            b.link(Vertex(node), self.home(node / self.nodes_per_router), own);
        }
    }

    fn add_sci(&self, b: &mut Builder) {
        b.vertices(self.nodes, Role::BLink);
        b.vertices(self.nodes * self.dimensions(), Role::RingStop);
        for node in 0..self.nodes {
            for d in 0..self.dimensions() {
                b.channel(self.home(node), self.stop(node, d), Role::Internal);
                b.channel(self.stop(node, d), self.stop(self.neighbour(node, d, true), d), Role::Link);
                b.channel(self.stop(node, d), self.home(node), Role::Internal);
            }
            b.link(Vertex(node), self.home(node), Role::Internal);
        }
    }

    /// Name of a device.
    pub fn vertex_name(&self, vertex: Vertex, role: &str) -> String {
        let (router, stop) = self.locate(vertex);
        match stop {
            Some(d) => format!("{role} d{d} of node {router}"),
            None if self.b_link => format!("{role} of node {router}"),
            None => format!("{role} {}", self.place(router)),
        }
    }

    /// Name of a ring channel; `None` for channels inside an adapter or to a node.
    pub fn ring_channel_name(&self, network: &Network, channel: Channel, role: &str) -> Option<String> {
        let (from, to) = (network.from(channel), network.to(channel));
        if network.is_node(from) || network.is_node(to) {
            return None;
        }
        let ((a, stop), (b, _)) = (self.locate(from), self.locate(to));
        let port = channel.0 - network.out_start[from.0 as usize];
        let d = match (self.b_link, stop) {
            (true, Some(d)) if a != b => d,
            (false, None) => port / self.directions(),
            _ => return None,
        };
        Some(format!("{role} d{d} {} -> {}", self.place(a), self.place(b)))
    }

    /// Coordinates as text: `(2,3)`.
    fn place(&self, router: u32) -> String {
        let mut at = [0; MAX_DIMENSIONS as usize];
        self.coordinates(router, &mut at);
        let text: Vec<String> = at[..self.extents.len()].iter().map(u32::to_string).collect();
        format!("({})", text.join(","))
    }
}

fn check_fixed(extents: &[u32], dimensions: u32, wanted: u32, nodes: u32) -> Result<(), BuildError> {
    if extents.len() != dimensions as usize {
        return Err(invalid(format!("{} extents for {dimensions} dimensions: give one for each", extents.len())));
    }
    let product = extents.iter().try_fold(1u32, |all, &r| all.checked_mul(r)).filter(|&all| all == wanted);
    if product.is_none() {
        let text: Vec<String> = extents.iter().map(u32::to_string).collect();
        let text = text.join(" x ");
        return Err(invalid(format!("{nodes} nodes need {wanted} routers; the extents are fixed at {text}")));
    }
    Ok(())
}

/// Smallest r with r^f >= n.
fn root_up(n: u32, f: u32) -> u32 {
    let holds = |r: u32| u64::from(r).checked_pow(f).is_none_or(|all| all >= u64::from(n));
    let guess = crate::maths::powf(f64::from(n), 1.0 / f64::from(f)) as u32;
    let mut r = guess.saturating_sub(1).max(1);
    while !holds(r) {
        r += 1;
    }
    r
}

/// The most cube-like `f` factors of `n`: smallest largest factor, then smallest second-largest, and so on; largest first.
pub(crate) fn balanced(n: u32, f: u32) -> Vec<u32> {
    fn search(n: u32, f: u32, cap: u32) -> Option<Vec<u32>> {
        if f == 1 {
            return (n <= cap).then(|| vec![n]);
        }
        let least = root_up(n, f);
        let mut largest = least;
        while largest <= cap && largest <= n {
            if n.is_multiple_of(largest)
                && let Some(mut rest) = search(n / largest, f - 1, largest)
            {
                rest.insert(0, largest);
                return Some(rest);
            }
            largest += 1;
        }
        None
    }
    search(n, f, n).unwrap_or_else(|| vec![n])
}
