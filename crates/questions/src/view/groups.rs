//! Groups of devices: those of a dragonfly, else the switches of each tier (the nodes on a network without switches).
//! Where they are too many to draw, groups are runs of them.

use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Resource, Vertex};
use hotlink_fabric::topology::Shape;

/// Most groups that a matrix shows.
const MOST: usize = 128;

/// A group.
pub(super) struct Group {
    pub name: String,
    pub hosts: u32,
    pub switches: u32,
}

/// Devices in groups.
pub(super) struct Groups {
    pub all: Vec<Group>,
    /// Group of each vertex.
    pub of: Vec<usize>,
}

impl Groups {
    pub(super) fn of(fabric: &Fabric) -> Groups {
        let network = &fabric.network;
        let is_unit = |v: &Vertex| !network.is_node(*v) || home(fabric, *v) == *v;
        let units: Vec<Vertex> = (0..network.vertices() as u32).map(Vertex).filter(is_unit).collect();
        let kinds = kinds(fabric, &units);
        let run = units.len().div_ceil(MOST.saturating_sub(kinds.len()).max(1));
        let mut groups = Groups { all: Vec::new(), of: vec![0; network.vertices()] };
        for kind in &kinds {
            // Of a dragonfly each kind is a group.
            let run = if matches!(fabric.shape, Shape::Dragonfly(_)) { kind.len() } else { run };
            kind.chunks(run.max(1)).for_each(|run| groups.add(fabric, run));
        }
        for vertex in (0..network.nodes).map(Vertex) {
            groups.of[vertex.0 as usize] = groups.of[home(fabric, vertex).0 as usize];
            let group = groups.of[vertex.0 as usize];
            groups.all[group].hosts += 1;
        }
        groups
    }

    fn add(&mut self, fabric: &Fabric, run: &[Vertex]) {
        let name = |vertex: Vertex| fabric.resource_name(Resource::Vertex(vertex));
        let name = match (&fabric.shape, run) {
            (Shape::Dragonfly(dragonfly), _) => format!("group {}", dragonfly.locate(run[0]).0),
            (_, [one]) => name(*one),
            _ => format!("{} to {}", name(run[0]), name(run[run.len() - 1])),
        };
        let switches = run.iter().filter(|&&vertex| !fabric.network.is_node(vertex)).count() as u32;
        run.iter().for_each(|vertex| self.of[vertex.0 as usize] = self.all.len());
        self.all.push(Group { name, hosts: 0, switches });
    }
}

/// The switch that a node hangs on; itself where it has links of its own choice.
fn home(fabric: &Fabric, vertex: Vertex) -> Vertex {
    if fabric.network.is_node(vertex) { fabric.attachment.home[vertex.0 as usize] } else { vertex }
}

/// Units in runs of one kind: a tier, a dragonfly's group.
fn kinds(fabric: &Fabric, units: &[Vertex]) -> Vec<Vec<Vertex>> {
    let kind = |vertex: Vertex| match &fabric.shape {
        Shape::Dragonfly(dragonfly) => dragonfly.locate(vertex).0 as usize,
        Shape::Tiers(tiers) => tiers.iter().rposition(|tier| tier.first <= vertex).unwrap_or(0),
        _ => 0,
    };
    let same = |a: &Vertex, b: &Vertex| kind(*a) == kind(*b);
    units.chunk_by(same).map(<[Vertex]>::to_vec).collect()
}

/// Levels of switches: the most links from a switch down to the nearest node.
pub(super) fn levels(fabric: &Fabric) -> u32 {
    let network = &fabric.network;
    let mut level: Vec<Option<u32>> = vec![None; network.vertices()];
    let mut front: Vec<Vertex> = (0..network.nodes).map(Vertex).collect();
    front.iter().for_each(|node| level[node.0 as usize] = Some(0));
    let mut reached = 0;
    while !front.is_empty() {
        let next = front.iter().flat_map(|&v| network.out(v)).map(|channel| network.to(channel));
        let mut next: Vec<Vertex> = next.filter(|v| level[v.0 as usize].is_none()).collect();
        next.sort();
        next.dedup();
        reached += u32::from(!next.is_empty());
        next.iter().for_each(|v| level[v.0 as usize] = Some(reached));
        front = next;
    }
    reached
}
