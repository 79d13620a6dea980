//! `hotlink catalog`.

use crate::{Failure, output::Output};

#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, _output: &mut Output) -> Result<(), Failure> {
    Err(Failure::Input("catalog: not written yet".to_owned()))
}
