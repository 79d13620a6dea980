//! What takes no part in collectives: nodes of QsNet's own (`simulate barrier|bcast --fabric qsnet`), failing links of all.

use hotlink_study::simulate::request::Request;

/// What takes no part in collectives.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Missing {
    /// Nodes that take no part, with QsNet's own algorithms: the tree takes the hardware's place unless the others are contiguous.
    #[arg(long, value_name = "LIST", value_delimiter = ',', num_args = 1)]
    without: Vec<u32>,
    /// Plan of links and switches that fail, come back or degrade; of QsNet's own algorithms the tree takes the hardware's place.
    #[arg(long, value_name = "PLAN.toml")]
    faults: Option<String>,
}

impl Missing {
    /// The request without them.
    pub(crate) fn of(&self, request: Request) -> Request {
        Request { without: self.without.clone(), faults: self.faults.clone(), ..request }
    }
}
