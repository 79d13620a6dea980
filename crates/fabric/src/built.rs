//! A fabric built for a number of nodes: the description, its network, its routing and the names of its parts.

pub use crate::attachment::Attachment;
pub use crate::error::{BuildError, MAX_NODES};
use crate::network::{Channel, Incoming, Network, Node, Resource, Vertex};
use crate::notes::Part;
use crate::routing::choice::Tables;
use crate::routing::tree::Tree;
use crate::routing::{Alike, Guide, Hop, Routing, State, Trip};
use crate::spec::{FabricSpec, Role};
use crate::topology::{self, Shape};
use crate::units::{Rate, Time};
use std::sync::OnceLock;

/// A fabric built for a number of nodes.
#[derive(Debug)]
pub struct Fabric {
    /// The description that it was built from.
    pub spec: FabricSpec,
    /// Number of nodes asked for; [`Fabric::nodes`] may exceed it (a padded cube is built whole).
    pub asked: u32,
    /// The graph.
    pub network: Network,
    /// What the vertices are called and how they lie.
    pub shape: Shape,
    /// Where the nodes join.
    pub attachment: Attachment,
    /// How packets find their way.
    pub routing: Routing,
    tables: OnceLock<Tables>,
    /// Made once a node's reception is asked for.
    pub(crate) incoming: OnceLock<Incoming>,
}

/// The paths of one trip through a fabric: what depends on its ends alone, looked up once.
#[derive(Debug)]
pub struct Ways<'a> {
    fabric: &'a Fabric,
    destination: Vertex,
    home: Vertex,
    eject: Channel,
    guide: Guide<'a>,
}

impl Ways<'_> {
    /// How many next hops a packet at `state` has, where they can be had one by one ([`Ways::nth`]).
    pub fn count(&self, state: State) -> Option<u32> {
        self.is_inside(state).then(|| self.guide.count(state)).flatten()
    }
    fn is_inside(&self, state: State) -> bool {
        !self.is_home(state) && !self.fabric.network.is_node(state.at)
    }

    /// Whether what comes next is the destination.
    fn is_home(&self, state: State) -> bool {
        state.at == self.home && !self.guide.passes(state)
    }

    /// Next hop number `nth` of [`Ways::hops`], without the others.
    pub fn nth(&self, state: State, nth: u32) -> Option<Hop> {
        self.guide.nth(state, nth)
    }

    /// One of [`Ways::hops`], drawn by `lot`; `hops` is for its work.
    pub fn drawn(&self, state: State, lot: u64, hops: &mut Vec<Hop>) -> Option<Hop> {
        let nth = |count: usize| lot.checked_rem(count as u64).map(|nth| nth as u32);
        if let Some(count) = self.count(state) {
            return self.nth(state, nth(count as usize)?);
        }
        self.hops(state, hops);
        hops.get(nth(hops.len())? as usize).copied()
    }

    /// Every next hop of a packet at `state`, with the share of the flow that takes it. Empty at the destination, and
    /// where no route exists. Clears `hops` first and allocates nothing once `hops` is large enough.
    pub fn hops(&self, state: State, hops: &mut Vec<Hop>) {
        hops.clear();
        if state.at == self.destination {
            return;
        }
        let network = &self.fabric.network;
        if let (Guide::Table(view), false) = (&self.guide, network.is_node(state.at)) {
            // The last switch's own entry counts too.
            view.hops(state, hops);
        } else if self.is_home(state) {
            hops.push(Hop { channel: self.eject, vc: 0, phase: state.phase, share: 1.0 });
        } else if network.is_node(state.at) && self.fabric.attachment.has_home(Node(state.at.0)) {
            let channel = network.port(state.at, 0);
            let phase = if let Guide::Table(view) = &self.guide { view.phase_behind(channel) } else { state.phase };
            hops.push(Hop { channel, vc: 0, phase, share: 1.0 });
        } else {
            self.guide.hops(state, hops);
        }
    }
}

impl Fabric {
    /// Builds the fabric for `nodes` nodes.
    ///
    /// # Errors
    /// The topology cannot hold `nodes` nodes, its description contradicts itself, or the routing does not fit it.
    pub fn build(spec: &FabricSpec, nodes: u32) -> Result<Fabric, BuildError> {
        let (network, shape) = topology::build(&spec.topology, nodes)?;
        Fabric::assemble(spec, nodes, network, shape)
    }

    /// Puts a fabric together from a network that is built already (an imported graph, a site's cables).
    ///
    /// # Errors
    /// The routing does not fit the topology.
    pub fn assemble(spec: &FabricSpec, asked: u32, mut network: Network, shape: Shape) -> Result<Fabric, BuildError> {
        spec.parameters.notes().part(Part::Topology);
        let devices = &network.vertex_role[network.nodes as usize..];
        let in_network = |role: Role| devices.contains(&role) || network.channel_role.contains(&role);
        network.host_roles =
            Role::HOST.into_iter().filter(|role| spec.resources.contains_key(role) && !in_network(*role)).collect();
        let attachment = Attachment::new(&network);
        let routing = Routing::new(spec.routing, &network, &shape, &attachment)?;
        let (tables, incoming) = (OnceLock::new(), OnceLock::new());
        Ok(Fabric { spec: spec.clone(), asked, network, shape, attachment, routing, tables, incoming })
    }

    /// Number of nodes built.
    pub fn nodes(&self) -> u32 {
        self.network.nodes
    }

    /// The paths of a trip.
    pub fn ways(&self, trip: Trip) -> Ways<'_> {
        let node = trip.destination.0 as usize;
        Ways {
            fabric: self,
            destination: trip.destination.vertex(),
            home: self.attachment.home[node],
            eject: self.attachment.eject[node],
            guide: self.routing.guide(&self.network, &self.attachment, trip),
        }
    }

    /// The next hops of a packet to `to` on a complete tree, known without [`Fabric::ways`].
    #[inline]
    pub fn alike(&self, state: State, to: Node) -> Option<Alike<'_>> {
        let Routing::Paths(paths) = &self.routing else { return None };
        let (at, node) = (&self.attachment, to.0 as usize);
        let only = if state.at == at.home[node] {
            &at.eject[node]
        } else if self.network.is_node(state.at) {
            &at.inject[state.at.0 as usize]
        } else {
            return paths.alike(at.group[node], state);
        };
        let channels = std::slice::from_ref(only);
        paths.is_tree().then_some(Alike { channels, vc: 0, phase: state.phase })
    }

    /// All that [`Fabric::alike`] may give between devices of a complete tree, where packets do not remember their
    /// path.
    pub fn sets_alike(&self) -> impl Iterator<Item = &[Channel]> {
        let tree = match &self.routing {
            Routing::Paths(paths) if paths.phases() == 1 => paths.tree(),
            _ => None,
        };
        tree.into_iter().flat_map(Tree::sets)
    }

    /// Whether any pair of nodes may have more than one path, so that it matters how packets choose.
    pub fn offers_choices(&self) -> bool {
        match &self.routing {
            Routing::Cube(cube) => cube.has_ties(),
            Routing::Dragonfly { .. } | Routing::Valiant(_) => true,
            Routing::Paths(paths) | Routing::Source { paths, .. } => !paths.is_single(),
            Routing::Tables(_) => false,
        }
    }

    /// The forwarding tables of paths by destination, made when first asked for.
    pub fn tables(&self) -> &Tables {
        self.tables.get_or_init(|| Tables::new(&self.network))
    }

    /// The same for a single step: see [`Ways::hops`].
    pub fn hops(&self, state: State, trip: Trip, hops: &mut Vec<Hop>) {
        self.ways(trip).hops(state, hops);
    }

    /// What a resource of this role is called: `SCI link`.
    pub fn role_name(&self, role: Role) -> String {
        self.spec.resource(role).map_or_else(|| default_role_name(role).to_owned(), |r| r.name().to_owned())
    }

    /// A name for people: `SCI link d0 (0,0) -> (1,0)`, `B-Link of node 7`, `switch 2 -> switch 3 #1`.
    pub fn resource_name(&self, resource: Resource) -> String {
        let role = self.role_name(self.network.role(resource));
        match resource {
            Resource::Host(node, _) => format!("{role} of node {}", node.0),
            Resource::Vertex(v) => self.shape.vertex_name(&self.network, v, &role),
            Resource::Channel(c) => self.shape.channel_name(&self.network, c, &role),
        }
    }

    /// Gross rate of a resource in one direction (both together when half duplex); `None`: never a limit.
    pub fn gross(&self, resource: Resource) -> Option<Rate> {
        let role = self.spec.resource(self.network.role(resource))?;
        self.own_rate(resource).or_else(|| role.gross().map(|gross| gross.value))
    }

    /// Latency of a packet's head through the resource, excluding its serialisation.
    pub fn latency(&self, resource: Resource) -> Time {
        let role = self.spec.resource(self.network.role(resource));
        let own = self.override_of(resource).and_then(|own| own.latency);
        own.or_else(|| role.map(|role| role.latency().value)).unwrap_or(Time::ZERO)
    }

    /// The rate that a link has of its own.
    pub(crate) fn own_rate(&self, resource: Resource) -> Option<Rate> {
        self.override_of(resource).and_then(|own| own.rate)
    }

    fn override_of(&self, resource: Resource) -> Option<crate::network::Override> {
        match resource {
            Resource::Channel(c) => self.network.overrides.get(&c).copied(),
            _ => None,
        }
    }
}

fn default_role_name(role: Role) -> &'static str {
    match role {
        Role::Memory => "memory",
        Role::Engine => "sending engine",
        Role::HostBus => "host bus",
        Role::Nic => "NIC",
        Role::BLink => "B-Link",
        Role::Link => "link",
        Role::SwitchLink => "switch link",
        Role::GlobalLink => "global link",
        Role::LocalLink => "local link",
        Role::Switch => "switch",
        Role::RingStop => "ring stop",
        Role::Internal => "internal connection",
    }
}
