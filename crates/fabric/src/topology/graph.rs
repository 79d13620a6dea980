//! Any graph, from a file of its own.

use super::{Registered, Shape, Topology, TopologySpec, invalid};
use crate::error::BuildError;
use crate::network::Network;
use crate::terms::RoutingSpec;

/// The registry's entry.
pub(crate) const ENTRY: Registered = Registered {
    kind: "graph",
    meaning: "any graph, from a file of its own",
    read: |_| Some(TopologySpec::new(Graph)),
};

/// Any graph, from a file (see `import`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph;

impl Topology for Graph {
    fn kind(&self) -> &'static str {
        ENTRY.kind
    }
    fn build(&self, _: u32) -> Result<(Network, Shape), BuildError> {
        Err(invalid("a graph comes from its own file (a JSON file with nodes, switches and links)"))
    }
    fn routings(&self) -> &'static [RoutingSpec] {
        use RoutingSpec::{ShortestEcmp, ShortestSingle, Source, UpDown};
        &[Source, ShortestEcmp, ShortestSingle, UpDown]
    }
    fn fields(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
    fn has_one_size(&self) -> bool {
        true
    }
}
