//! One file per verb. To add one: a file with `Args` and `run`, a variant here.

mod catalog;

use crate::{Failure, output::Output};

#[derive(clap::Subcommand)]
pub(crate) enum Verb {
    /// List, show and check fabrics, parts and prices.
    Catalog(catalog::Args),
}

impl Verb {
    pub(crate) fn run(&self, output: &mut Output) -> Result<(), Failure> {
        match self {
            Verb::Catalog(args) => catalog::run(args, output),
        }
    }
}
