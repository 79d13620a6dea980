//! Load under forwarding tables: what goes to one destination flows together, switch by switch.
//!
//! Each switch has one path to a destination, so the flows to it form a tree. Switches whose path ends nowhere or in a
//! circle are apart. Flows are summed from the leaves of that tree: a step for each switch, for any number of senders.

use crate::{Counts, Heard, LoadError, in_chunks};
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Node};
use hotlink_fabric::routing::forwarding::Forwarding;
use hotlink_fabric::traffic::Demand;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts everything on the switches and between them.
pub(crate) fn count(
    fabric: &Fabric,
    tables: &Forwarding,
    demand: &Demand,
    heard: Heard<'_>,
) -> Result<Counts, LoadError> {
    let (counts, lost) = count_reachable(fabric, tables, demand, heard)?;
    match lost {
        0 => Ok(counts),
        _ => Err(first_lost(fabric, tables, demand)),
    }
}

/// As [`count`] for the pairs that have a route, and how many pairs with traffic have none. The nodes' own links show
/// what these pairs would have sent, as a number below zero.
pub(crate) fn count_reachable(
    fabric: &Fabric,
    tables: &Forwarding,
    demand: &Demand,
    heard: Heard<'_>,
) -> Result<(Counts, u64), LoadError> {
    let lost = AtomicU64::new(0);
    let mut counts = match demand.all_pairs > 0.0 {
        true => in_chunks(fabric, fabric.nodes() as usize, heard, |counter, node| {
            for address in 0..tables.addresses() {
                let tree = Tree::new(fabric, tables, Node(node as u32), address);
                let pairs = tree.add_to(demand.all_pairs, &mut counter.counts);
                lost.fetch_add(pairs, Ordering::Relaxed);
            }
            Ok(())
        })?,
        false => Counts::new(fabric),
    };
    let mut lost = lost.into_inner();
    // So far these are whole numbers of pairs: a node that reaches nobody sends exactly nothing.
    for node in fabric.network.node_iter().filter(|_| lost > 0) {
        own(fabric, node, node, |amount| *amount *= demand.all_pairs, &mut counts);
    }
    let mut path = Vec::new();
    for flow in demand.flows.iter().filter(|flow| flow.source != flow.destination && flow.amount > 0.0) {
        path.clear();
        match tables.walk(&fabric.network, flow.source, flow.destination, |channel| path.push(channel)) {
            true => add_path(fabric, &path, flow.amount, &mut counts),
            false => {
                lost += 1;
                own(fabric, flow.source, flow.destination, |amount| *amount -= flow.amount, &mut counts);
            }
        }
    }
    Ok((counts, lost))
}

/// Changes what stands for the links of a sender and of a receiver themselves.
fn own(fabric: &Fabric, from: Node, to: Node, change: impl Fn(&mut f64), counts: &mut Counts) {
    if fabric.attachment.has_home(from) {
        change(&mut counts.channel[fabric.network.port(from.vertex(), 0).0 as usize]);
        change(&mut counts.vertex[from.0 as usize]);
    }
    if fabric.attachment.has_home(to) {
        change(&mut counts.channel[fabric.attachment.eject[to.0 as usize].0 as usize]);
    }
}

/// Adds a path, but for the nodes' own channels, which are counted by what nodes send and receive.
fn add_path(fabric: &Fabric, path: &[Channel], amount: f64, counts: &mut Counts) {
    for &channel in path.iter().skip(1) {
        counts.vertex[fabric.network.from(channel).0 as usize] += amount;
        if !fabric.network.is_node(fabric.network.to(channel)) {
            counts.channel[channel.0 as usize] += amount;
        }
    }
}

/// Pairs with traffic that have no route.
pub(crate) fn lost_pairs<'a>(
    fabric: &'a Fabric,
    tables: &'a Forwarding,
    demand: &'a Demand,
) -> impl Iterator<Item = (Node, Node)> + 'a {
    let nodes = fabric.network.node_iter().filter(|_| demand.all_pairs > 0.0);
    let pairs = nodes.flat_map(|to| fabric.network.node_iter().map(move |from| (from, to)));
    let flows = demand.flows.iter().filter(|flow| flow.amount > 0.0).map(|flow| (flow.source, flow.destination));
    let is_lost = |&(from, to): &(Node, Node)| from != to && !tables.walk(&fabric.network, from, to, |_| {});
    pairs.chain(flows).filter(is_lost)
}

fn first_lost(fabric: &Fabric, tables: &Forwarding, demand: &Demand) -> LoadError {
    let (sender, receiver) = lost_pairs(fabric, tables, demand).next().unwrap_or((Node(0), Node(0)));
    LoadError::NoRoute { sender, receiver }
}

/// Whether packets from a switch arrive.
#[derive(Clone, Copy, PartialEq)]
enum Arrival {
    Unknown,
    /// On the path that is being followed.
    Open,
    Yes,
    No,
}

/// The paths of all switches to one address of a destination.
struct Tree<'a> {
    fabric: &'a Fabric,
    tables: &'a Forwarding,
    destination: Node,
    address: u32,
    /// Switches whose packets arrive, each after the switch that it sends to, with the channel taken.
    order: Vec<(u32, Channel)>,
    arrival: Vec<Arrival>,
}

impl<'a> Tree<'a> {
    fn new(fabric: &'a Fabric, tables: &'a Forwarding, destination: Node, address: u32) -> Tree<'a> {
        let network = &fabric.network;
        let switches = network.vertices() - network.nodes as usize;
        let view = tables.view(network, destination, address);
        let arrival = vec![Arrival::Unknown; switches];
        let mut tree = Tree { fabric, tables, destination, address, order: Vec::new(), arrival };
        let mut path = Vec::new();
        for &home in &fabric.attachment.homes {
            let mut at = home;
            let end = loop {
                if network.is_node(at) {
                    break if at == destination.vertex() { Arrival::Yes } else { Arrival::No };
                }
                match tree.arrival[(at.0 - network.nodes) as usize] {
                    Arrival::Unknown => {}
                    Arrival::Open => break Arrival::No,
                    known => break known,
                }
                tree.arrival[(at.0 - network.nodes) as usize] = Arrival::Open;
                let Some(channel) = view.step(at) else {
                    path.push((at.0, Channel(0)));
                    break Arrival::No;
                };
                path.push((at.0, channel));
                at = network.to(channel);
            };
            for (vertex, channel) in path.drain(..).rev() {
                tree.arrival[(vertex - network.nodes) as usize] = end;
                if end == Arrival::Yes {
                    tree.order.push((vertex, channel));
                }
            }
        }
        tree
    }

    /// Adds what every other node sends to this address of the destination; returns the number of nodes whose packets
    /// do not arrive.
    fn add_to(&self, amount: f64, counts: &mut Counts) -> u64 {
        let (network, attachment) = (&self.fabric.network, &self.fabric.attachment);
        let first = network.nodes as usize;
        let mut senders = vec![0u32; self.arrival.len()];
        let mut lost = 0;
        for (group, home) in attachment.homes.iter().enumerate() {
            let members = attachment.nodes_of(group);
            let sends = |&&node: &&Node| node != self.destination && self.tables.address_for(node) == self.address;
            let count = match self.tables.addresses() {
                1 => members.len() - usize::from(members.contains(&self.destination)),
                _ => members.iter().filter(sends).count(),
            };
            match self.fabric.network.is_node(*home) || self.arrival[home.0 as usize - first] != Arrival::Yes {
                true => {
                    lost += count as u64;
                    members.iter().filter(sends).for_each(|&from| {
                        own(self.fabric, from, self.destination, |pairs| *pairs -= 1.0, counts);
                    });
                }
                false => senders[home.0 as usize - first] = count as u32,
            }
        }
        for &(vertex, channel) in self.order.iter().rev() {
            let flow = senders[vertex as usize - first];
            counts.vertex[vertex as usize] += amount * f64::from(flow);
            let to = network.to(channel);
            if !network.is_node(to) {
                senders[to.0 as usize - first] += flow;
                counts.channel[channel.0 as usize] += amount * f64::from(flow);
            }
        }
        lost
    }
}
