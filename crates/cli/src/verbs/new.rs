//! `hotlink new`: files to begin with, each key explained.

use crate::Failure;
use crate::words::word;
use hotlink_paper::{Format, Output};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink new fabric > mine.toml && hotlink catalog check mine.toml
  hotlink new prices > quotation.toml
  hotlink new plan > plan.toml && hotlink sweep plan.toml --list
  hotlink new schedule > steps.goal
  hotlink new jobs > jobs.toml && hotlink simulate jobs jobs.toml --fabric ib-ndr-fat-tree2
  hotlink new acceptance > acceptance.toml && hotlink report m.json --require acceptance.toml

Each file works as it is: change the values that differ at your site. The options --oversubscription, --radix, --levels and
--link of other verbs change a fabric of the catalog without a file.")]
pub(crate) struct Args {
    /// File to print.
    #[arg(value_name = "WHAT", value_parser = word::<Template>())]
    what: Template,
}

hotlink_study::words! {
    /// A file to begin with.
    pub(crate) enum Template {
        /// A network: its parts, topology, routes and prices.
        Fabric = "fabric",
        /// A price list.
        Prices = "prices",
        /// Studies for `hotlink sweep`.
        Plan = "plan",
        /// Messages and computation of ranks, for `hotlink simulate goal`.
        Schedule = "schedule",
        /// Several jobs on one fabric, for `hotlink simulate jobs`.
        Jobs = "jobs",
        /// Requirements for results, for `hotlink report`.
        Acceptance = "acceptance",
    }
}

impl Template {
    fn text(self) -> &'static str {
        match self {
            Template::Fabric => include_str!("../../templates/fabric.toml"),
            Template::Prices => include_str!("../../templates/prices.toml"),
            Template::Plan => include_str!("../../templates/plan.toml"),
            Template::Schedule => include_str!("../../templates/schedule.goal"),
            Template::Jobs => include_str!("../../templates/jobs.toml"),
            Template::Acceptance => include_str!("../../templates/acceptance.toml"),
        }
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    if output.format() != Format::Table {
        let what =
            format!("new: a template is a file to edit, and no result: it has no form {}", output.format().name());
        return Err(Failure::Input(what));
    }
    output.only(args.what.text());
    Ok(())
}
