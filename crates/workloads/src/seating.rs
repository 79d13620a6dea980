//! Where the ranks of a program or schedule are: how many nodes the fabric has, and which of them ranks get.

use crate::jobs::{Chosen, Placement, nodes_of};
use hotlink_bench::Record;
use hotlink_study::words::Word;
use hotlink_study::{Error, Seating, Source};
use std::path::Path;

/// Most ranks of a node.
pub const MOST_PER_NODE: u32 = 1024;

/// Where ranks shall be.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// Nodes of the fabric; by default as many as the ranks need.
    pub nodes: Option<u32>,
    /// Ranks on each node, in order.
    pub ranks_per_node: u32,
    /// The rule by which nodes are chosen, a list of them, or a file; by default from node 0 on.
    pub placement: Option<String>,
    /// Seed of a random choice.
    pub seed: u64,
}

/// A rank on each node, from node 0 on.
impl Default for Wanted {
    fn default() -> Wanted {
        Wanted { nodes: None, ranks_per_node: 1, placement: None, seed: 1 }
    }
}

/// Where ranks are.
#[derive(Clone, Debug)]
pub struct Seats {
    ranks: u32,
    nodes: u32,
    /// The node of each rank; none: that of its number.
    places: Vec<u32>,
    per_node: u32,
    placement: Option<String>,
}

impl Seats {
    /// A rank on each node.
    pub fn alone(ranks: u32) -> Seats {
        Seats { ranks, nodes: ranks, places: Vec::new(), per_node: 1, placement: None }
    }
    /// A rank on each of these nodes, of this many.
    pub fn at(nodes: u32, places: &[u32]) -> Seats {
        Seats { ranks: places.len() as u32, nodes, places: places.to_vec(), per_node: 1, placement: None }
    }
    /// The same, for a simulation.
    pub fn seating(&self) -> Seating<'_> {
        Seating { ranks: self.ranks, nodes: self.nodes, places: &self.places }
    }
    /// Nodes of the fabric.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }
    /// The node of each rank.
    pub fn places(&self) -> Vec<u32> {
        if self.places.is_empty() { (0..self.ranks).collect() } else { self.places.clone() }
    }
    /// Whether ranks share nodes.
    pub fn shares_nodes(&self) -> bool {
        self.per_node > 1
    }
    /// The record with what was asked for.
    pub fn told(&self, record: Record) -> Record {
        let mut record = record.with("nodes", self.nodes);
        if self.per_node > 1 {
            record.set("ranks_per_node", self.per_node);
        }
        if let Some(placement) = &self.placement {
            record.set("placement", placement.as_str());
            record.set("rank_nodes", self.places.iter().map(u32::to_string).collect::<Vec<_>>().join(","));
        }
        record
    }
}

impl Wanted {
    /// Where so many ranks are on a fabric.
    ///
    /// # Errors
    /// They need more nodes than there are, or the placement is none.
    pub fn seats(&self, source: &Source, ranks: u32) -> Result<Seats, Error> {
        let fabric = source.name();
        let used = ranks.div_ceil(self.ranks_per_node);
        // Most networks have two at least.
        let nodes = self.nodes.or(source.own_nodes()).unwrap_or(used.max(2));
        let input = |what: String| Error::Input(what);
        if used > nodes {
            let each = if self.ranks_per_node == 1 { "a node each".to_owned() } else { format!("{used} nodes") };
            return Err(input(format!("{fabric}: {ranks} ranks need {each}, and there are {nodes} (--nodes)")));
        }
        let hosts: Vec<u32> = match &self.placement {
            None => (0..used).collect(),
            Some(placement) => {
                let of = |what: String| input(format!("--placement {placement}: {what}"));
                let built = source.build(nodes).map_err(|what| input(format!("{fabric}: {what}")))?;
                let rule = Placement::of(placement);
                let file = placement.strip_prefix('@').unwrap_or(placement);
                let text = match rule.is_none() && Path::new(file).is_file() {
                    true => Some(hotlink_fabric::input::text(file).map_err(|error| of(error.to_string()))?),
                    false => None,
                };
                let how = match (rule, &text) {
                    (Some(rule), _) => Chosen::By(rule, self.seed),
                    (None, Some(text)) => Chosen::File(file, text),
                    (None, None) => Chosen::Listed(placement),
                };
                let allowed = || {
                    let rules = "contiguous, packed, spread, random, rail, a list of nodes, or a file of them";
                    format!("must be {rules}; {fabric} has {nodes} nodes here (--nodes)")
                };
                let found = nodes_of(&built, source.spec(), used, how);
                found.map_err(|what| of(if text.is_some() { what } else { format!("{what}; {}", allowed()) }))?
            }
        };
        let is_usual = self.placement.is_none() && self.ranks_per_node == 1;
        let place = |rank: u32| hosts[(rank / self.ranks_per_node) as usize];
        let places = if is_usual { Vec::new() } else { (0..ranks).map(place).collect() };
        Ok(Seats { ranks, nodes, places, per_node: self.ranks_per_node, placement: self.placement.clone() })
    }
}
