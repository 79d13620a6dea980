//! Parts of a network that collectives leave out: nodes for QsNet's own (`simulate barrier|bcast --fabric qsnet`),
//! failing links for all.

use hotlink_study::simulate::request::Request;

/// Parts that collectives leave out.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Missing {
    /// Leave these nodes out, with QsNet's own algorithms. The tree takes the place of the hardware unless the others are
    /// contiguous.
    #[arg(long, value_name = "LIST", value_delimiter = ',', num_args = 1)]
    without: Vec<u32>,
    /// Let links and switches fail, come back or degrade as this plan says. Of QsNet's own algorithms, the tree takes the
    /// place of the hardware.
    #[arg(long, value_name = "PLAN.toml")]
    faults: Option<String>,
}

impl Missing {
    /// The request without them.
    pub(crate) fn of(&self, request: Request) -> Request {
        Request { without: self.without.clone(), faults: self.faults.clone(), ..request }
    }
}
