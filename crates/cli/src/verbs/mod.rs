//! One file per verb. To add one: a file with `Args` and `run`, a variant here.

mod analyze;
mod catalog;
mod compare;

use crate::{Failure, output::Output};

#[derive(clap::Subcommand)]
pub(crate) enum Verb {
    /// One fabric at given sizes: bandwidth per node by closed form and load count, and what limits it.
    Analyze(analyze::Args),
    /// Several fabrics: the most bandwidth per node and per dollar at each size, what limits each, crossovers.
    Compare(compare::Args),
    /// List, show and check fabrics, parts and prices.
    Catalog(catalog::Args),
}

impl Verb {
    pub(crate) fn run(&self, output: &mut Output) -> Result<(), Failure> {
        match self {
            Verb::Analyze(args) => analyze::run(args, output),
            Verb::Compare(args) => compare::run(args, output),
            Verb::Catalog(args) => catalog::run(args, output),
        }
    }
}
