//! `hotlink schema`: which keys the records of a benchmark hold, as JSON Schema.

use crate::Failure;
use crate::output::{self, Output};
use hotlink_bench::Record;
use hotlink_study::schema::{all, named};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink schema pingpong > pingpong.schema.json
  hotlink schema --list

A schema is of one record: an entry of `records` under --json, or a line under --format jsonl. It holds for `measure`,
`simulate` and `import` alike; doctor, catalog, import, calibrate, compare-runs and reproduce have their own. Each key has
its unit and its meaning.")]
pub(crate) struct Args {
    /// A benchmark or a verb.
    #[arg(value_name = "NAME", required_unless_present = "list")]
    name: Option<String>,
    /// List the names that there are.
    #[arg(long, conflicts_with = "name")]
    list: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    match &args.name {
        Some(name) => output.only(output::pretty(&named(name)?.schema())),
        None => all().for_each(|records| {
            output.push(Record::new().with("name", records.name).with("title", records.title));
        }),
    }
    Ok(())
}
