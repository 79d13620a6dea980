//! Where the nodes join a network.

use crate::network::{Channel, Network, Node, Vertex};

/// Where a node joins the network, and which nodes join at the same place.
#[derive(Clone, Debug)]
pub struct Attachment {
    /// Per node: its home, the device at the end of its only link; the node's own vertex if it has several links.
    pub home: Vec<Vertex>,
    /// Homes in ascending order.
    pub homes: Vec<Vertex>,
    /// Nodes ordered by home, then number.
    pub members: Vec<Node>,
    /// Nodes of home `i` are `members[start[i]..start[i + 1]]`.
    pub start: Vec<u32>,
    /// Per node: index of its home in `homes`.
    pub group: Vec<u32>,
    /// Per node with a home: the channel from its home to the node (else unused).
    pub eject: Vec<Channel>,
    /// Per node with a home: the channel from the node to it (else unused).
    pub inject: Vec<Channel>,
}

impl Attachment {
    pub(crate) fn new(network: &Network) -> Attachment {
        let nodes = network.nodes as usize;
        let mut entries = vec![(0u32, Channel(0)); nodes];
        for (c, to) in network.to.iter().enumerate() {
            if let Some(entry) = entries.get_mut(to.0 as usize) {
                *entry = (entry.0 + 1, Channel(c as u32));
            }
        }
        let home_of = |n: usize| {
            let mut out = network.out(Vertex(n as u32));
            let (entries, eject) = entries[n];
            match (out.len(), out.next()) {
                (1, Some(c))
                    if entries == 1 && network.from(eject) == network.to(c) && !network.is_node(network.to(c)) =>
                {
                    network.to(c)
                }
                _ => Vertex(n as u32),
            }
        };
        let home: Vec<Vertex> = (0..nodes).map(home_of).collect();
        let mut members: Vec<Node> = network.node_iter().collect();
        members.sort_by_key(|n| (home[n.0 as usize], *n));
        let (mut homes, mut start, mut group) = (Vec::new(), Vec::new(), vec![0; nodes]);
        for (i, node) in members.iter().enumerate() {
            let at = home[node.0 as usize];
            if homes.last() != Some(&at) {
                homes.push(at);
                start.push(i as u32);
            }
            group[node.0 as usize] = homes.len() as u32 - 1;
        }
        start.push(members.len() as u32);
        let eject = entries.into_iter().map(|(_, c)| c).collect();
        let inject = network.node_iter().map(|node| network.out(node.vertex()).next().unwrap_or(Channel(0))).collect();
        Attachment { home, homes, members, start, group, eject, inject }
    }

    /// Nodes that share home `group`.
    pub fn nodes_of(&self, group: usize) -> &[Node] {
        &self.members[self.start[group] as usize..self.start[group + 1] as usize]
    }

    /// Whether the node has a home (one link) rather than links of its own choice.
    pub fn has_home(&self, node: Node) -> bool {
        self.home[node.0 as usize] != node.vertex()
    }
}
