//! Dragonflies: groups whose routers are all joined, joined group to group (Kim, Dally, Scott, Abts 2008).
//!
//! There are as many groups as the nodes need. Where one router has ports for all nodes, it is alone. Groups are alike:
//! each has the routers that its share of the nodes needs, and nodes spread evenly over all routers. Local ports that
//! would lead to missing routers are parallel cables to those there are, no more to each than a router has nodes.
//!
//! Every pair of groups has the same number of links, as many as the global ports allow. The links of a group are dealt to
//! the other groups in turn, and to its routers evenly; ports left over stay free. A router's ports are the other routers of its group in ascending order, then its
//! global links, then its nodes.

use super::{Registered, Shape, Topology, TopologySpec, check_channels, check_range, invalid, spread};
use crate::error::BuildError;
use crate::network::{Builder, Network, Vertex};
use crate::sheet::Table;
use crate::terms::{Role, RoutingSpec};
use std::ops::Range;

/// The registry's entry.
pub(crate) const ENTRY: Registered =
    Registered { kind: "dragonfly", meaning: "groups of all-to-all routers, all-to-all groups", read };

/// What each of its parameters may be.
const COUNTS: std::ops::RangeInclusive<u32> = 1..=1024;

/// Dragonfly: groups of all-to-all routers, all-to-all groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DragonflySpec {
    /// Nodes per router (p).
    pub nodes_per_router: u32,
    /// Routers per group (a).
    pub routers_per_group: u32,
    /// Global channels per router (h).
    pub global_per_router: u32,
}

impl DragonflySpec {
    /// Global ports of a router with so many nodes for an oversubscription: its nodes over its global ports.
    pub fn global_for(nodes_per_router: u32, oversubscription: f64) -> u32 {
        ((f64::from(nodes_per_router) / oversubscription).round() as u32).max(1)
    }
}

fn read(table: &Table<'_>) -> Option<TopologySpec> {
    let nodes_per_router = table.count("nodes_per_router", COUNTS);
    let routers_per_group = table.count("routers_per_group", COUNTS);
    let global_per_router = table.count("global_per_router", COUNTS);
    Some(TopologySpec::new(DragonflySpec {
        nodes_per_router: nodes_per_router?,
        routers_per_group: routers_per_group?,
        global_per_router: global_per_router?,
    }))
}

impl Topology for DragonflySpec {
    fn kind(&self) -> &'static str {
        ENTRY.kind
    }
    fn build(&self, nodes: u32) -> Result<(Network, Shape), BuildError> {
        let DragonflySpec { nodes_per_router, routers_per_group, global_per_router } = *self;
        let shape = Dragonfly::new(nodes, nodes_per_router, routers_per_group, global_per_router)?;
        Ok((shape.network(), Shape::Dragonfly(shape)))
    }
    fn routings(&self) -> &'static [RoutingSpec] {
        use RoutingSpec::{DragonflyMinimal, DragonflyValiant, ShortestEcmp, ShortestSingle, UpDown};
        &[DragonflyMinimal, DragonflyValiant, ShortestEcmp, ShortestSingle, UpDown]
    }
    fn like(&self, key: &str, asked: f64) -> Option<(&'static str, f64)> {
        let global = DragonflySpec::global_for(self.nodes_per_router, asked);
        (key == "oversubscription" && asked >= 1.0).then_some(("global_per_router", global.into()))
    }
    fn ports(&self) -> Option<u32> {
        Some(self.nodes_per_router + self.routers_per_group - 1 + self.global_per_router)
    }
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("nodes_per_router", self.nodes_per_router.to_string()),
            ("routers_per_group", self.routers_per_group.to_string()),
            ("global_per_router", self.global_per_router.to_string()),
        ]
    }
}

/// The layout of a dragonfly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dragonfly {
    /// Nodes built.
    pub nodes: u32,
    /// Most nodes on a router (p).
    pub nodes_per_router: u32,
    /// Routers of a group: a, or the fewer that are needed.
    pub routers: u32,
    /// Parallel cables between each pair of routers of a group.
    pub cables: u32,
    /// Global ports of a router (h).
    pub global: u32,
    /// Groups (g).
    pub groups: u32,
    /// Links between each pair of groups.
    pub links: u32,
}

impl Dragonfly {
    /// Works out the number of groups for `nodes` nodes.
    ///
    /// # Errors
    /// A parameter out of range, or more nodes than a h + 1 groups hold.
    pub fn new(nodes: u32, per_router: u32, routers: u32, global: u32) -> Result<Dragonfly, BuildError> {
        check_range("nodes_per_router", per_router, COUNTS)?;
        check_range("routers_per_group", routers, COUNTS)?;
        check_range("global_per_router", global, 0..=*COUNTS.end())?;
        let ports = per_router + routers - 1 + global;
        let groups = if nodes <= ports { 1 } else { nodes.div_ceil(per_router * routers) };
        let most = routers * global + 1;
        if groups > most {
            let held = u64::from(most) * u64::from(per_router * routers);
            return Err(invalid(format!("{nodes} nodes: at most {most} groups of {routers} routers hold {held}")));
        }
        check_channels(u64::from(groups) * u64::from(routers) * u64::from(ports + 1 + per_router))?;
        let (per_router, routers, cables) = match nodes <= ports {
            true => (ports, 1, 0),
            false => {
                // Enough for a global port to each other group, since the groups but one would be full.
                let needed = nodes.div_ceil(groups).div_ceil(per_router);
                let cables = (routers - 1).checked_div(needed - 1).unwrap_or(0).min(per_router);
                (per_router, needed, cables)
            }
        };
        let links = if groups > 1 { routers * global / (groups - 1) } else { 0 };
        Ok(Dragonfly { nodes, nodes_per_router: per_router, routers, cables, global, groups, links })
    }

    /// Vertex of a router.
    pub fn router(&self, group: u32, router: u32) -> Vertex {
        Vertex(self.nodes + group * self.routers + router)
    }

    /// Group of a router, and its place there.
    pub fn locate(&self, router: Vertex) -> (u32, u32) {
        let device = router.0 - self.nodes;
        (device / self.routers, device % self.routers)
    }

    /// Where link `link` from `group` to the group `offset` places on leaves: the router's place and its global port.
    pub fn gateway(&self, offset: u32, link: u32) -> (u32, u32) {
        let slot = link * (self.groups - 1) + offset - 1;
        let router = slot * self.routers / (self.links * (self.groups - 1));
        (router, slot - self.slots(router).start)
    }

    /// Which of a group's links leave at a router of it. Link n to the group `offset` places on has the number
    /// n x (groups - 1) + `offset` - 1.
    pub fn slots(&self, router: u32) -> Range<u32> {
        let first = |router: u32| (router * self.links * (self.groups - 1)).div_ceil(self.routers);
        first(router)..first(router + 1)
    }

    /// Regions that Valiant routes go by: groups, or the routers of a single group.
    pub fn regions(&self) -> u32 {
        if self.groups == 1 { self.routers } else { self.groups }
    }

    /// The region of a router.
    pub fn region(&self, router: Vertex) -> u32 {
        let (group, place) = self.locate(router);
        if self.groups == 1 { place } else { group }
    }

    /// Nodes of the first region; the others have as many or fewer.
    pub fn nodes_per_region(&self) -> u32 {
        let (all, routers) = (self.groups * self.routers, if self.groups == 1 { 1 } else { self.routers });
        routers * (self.nodes / all) + routers.min(self.nodes % all)
    }

    /// How many places on `to` lies from `from`, going round the groups.
    pub fn offset(&self, from: u32, to: u32) -> u32 {
        (to + self.groups - from) % self.groups
    }

    /// Ports of router `at` that lead to router `to` of its group.
    pub fn local_ports(&self, at: u32, to: u32) -> Range<u32> {
        let place = if to < at { to } else { to - 1 };
        place * self.cables..(place + 1) * self.cables
    }

    /// Port of a router that is its global port `port`.
    pub fn global_port(&self, port: u32) -> u32 {
        (self.routers - 1) * self.cables + port
    }

    /// Builds the graph.
    pub fn network(&self) -> Network {
        let mut b = Builder::new(self.nodes);
        b.vertices(self.groups * self.routers, Role::Switch);
        for group in 0..self.groups {
            for at in 0..self.routers {
                for to in (0..self.routers).filter(|&to| to != at).flat_map(|to| vec![to; self.cables as usize]) {
                    b.channel(self.router(group, at), self.router(group, to), Role::SwitchLink);
                }
            }
            for slot in 0..self.links * self.groups.saturating_sub(1) {
                let (link, offset) = (slot / (self.groups - 1), slot % (self.groups - 1) + 1);
                let (from, _) = self.gateway(offset, link);
                let (to, _) = self.gateway(self.groups - offset, link);
                b.channel(self.router(group, from), self.router((group + offset) % self.groups, to), Role::GlobalLink);
            }
        }
        for (node, router) in spread(self.nodes, self.groups * self.routers) {
            b.link(node, Vertex(self.nodes + router), Role::Link);
        }
        b.build()
    }

    /// Name of a router.
    pub fn vertex_name(&self, vertex: Vertex) -> String {
        let (group, router) = self.locate(vertex);
        format!("router {router} of group {group}")
    }
}
