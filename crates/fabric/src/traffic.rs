//! Who sends how much to whom.
//!
//! A [`Traffic`] is a pattern with a command-line spelling (`all-to-all`, `permutation:shift:3`); for a number of nodes it
//! becomes a [`Demand`]: amounts per ordered pair, in messages.

use crate::network::Node;

/// What was wrong with a traffic pattern and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TrafficError(pub String);

/// A traffic pattern.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// Every node sends one message to every other node.
    AllToAll,
}

/// An amount from one node to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Sender.
    pub source: Node,
    /// Receiver.
    pub destination: Node,
    /// Messages (or bytes: any unit, the same for all).
    pub amount: f64,
}

/// A pattern for a given number of nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demand {
    /// Number of nodes.
    pub nodes: u32,
    /// Amount from every node to every other node.
    pub all_pairs: f64,
    /// Further amounts, by pair.
    pub flows: Vec<Flow>,
}

impl Traffic {
    /// The demand among `nodes` nodes; `seed` matters to random patterns only.
    ///
    /// # Errors
    /// The pattern does not exist for this number of nodes.
    pub fn demand(&self, nodes: u32, _seed: u64) -> Result<Demand, TrafficError> {
        match self {
            Traffic::AllToAll => Ok(Demand { nodes, all_pairs: 1.0, flows: Vec::new() }),
        }
    }
}

impl Demand {
    /// What each node sends in all, and what it receives.
    pub fn per_node(&self) -> (Vec<f64>, Vec<f64>) {
        let uniform = self.all_pairs * f64::from(self.nodes.saturating_sub(1));
        let (mut sent, mut received) = (vec![uniform; self.nodes as usize], vec![uniform; self.nodes as usize]);
        for flow in self.flows.iter().filter(|flow| flow.source != flow.destination) {
            sent[flow.source.0 as usize] += flow.amount;
            received[flow.destination.0 as usize] += flow.amount;
        }
        (sent, received)
    }
}
