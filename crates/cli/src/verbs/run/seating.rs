//! Options of where the ranks of a simulated job are.

use hotlink_launch::{MOST_PER_NODE, Wanted};

#[derive(clap::Args)]
pub(super) struct SeatingArgs {
    /// Build the fabric for this many nodes (with --on). [default: as many as the ranks need]
    #[arg(long, value_name = "N", requires = "on", value_parser = clap::value_parser!(u32).range(1..))]
    nodes: Option<u32>,
    /// Put this many ranks on each node (with --on), in order. They share its adapter, and have a processor each.
    #[arg(
        long, value_name = "K", requires = "on", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_PER_NODE)),
    )]
    ranks_per_node: u32,
    /// Choose the nodes (with --on): contiguous, packed, spread, random or rail, as `simulate jobs` does. Or give a
    /// list such as 0-7,32, or a file with numbers, ranges or host names on its lines. [default: from node 0 on]
    #[arg(long, value_name = "RULE|LIST|FILE", requires = "on")]
    placement: Option<String>,
    /// Draw --placement random from this seed.
    #[arg(long, default_value_t = 1, requires = "placement")]
    seed: u64,
}

impl SeatingArgs {
    pub(super) fn wanted(&self) -> Wanted {
        let SeatingArgs { nodes, ranks_per_node, seed, .. } = *self;
        Wanted { nodes, ranks_per_node, placement: self.placement.clone(), seed }
    }
}
