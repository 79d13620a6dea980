//! `hotlink schema`: which keys the records of a benchmark hold, as JSON Schema.

use crate::Failure;
use hotlink_bench::Record;
use hotlink_fabric::input;
use hotlink_paper::{Format, Output, pretty};
use hotlink_study::schema::{all, named};
use serde_json::Value;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink schema pingpong > pingpong.schema.json
  hotlink schema --list
  hotlink schema --convert old.json > new.json

A schema is of one record: an entry of `records` under --json, or a line under --format jsonl. It holds for `measure`,
`simulate` and `import` alike; doctor, catalog, import, calibrate, compare-runs and reproduce have their own. Each key has
its unit and its meaning.")]
pub(crate) struct Args {
    /// Benchmark or verb whose keys are printed.
    #[arg(value_name = "NAME", required_unless_present_any = ["list", "convert"])]
    name: Option<String>,
    /// List the names of all benchmarks and verbs.
    #[arg(long, conflicts_with = "name")]
    list: bool,
    /// Print the results of this file, of this or an earlier version, in this version's keys and words. Verbs that take
    /// results read earlier versions by themselves.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["name", "list"])]
    convert: Option<String>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    if let Some(file) = &args.convert {
        let document = converted(file)?;
        match output.format() {
            Format::Table | Format::Json => output.only(pretty(&document)),
            _ => {
                let records = document["records"].as_array().into_iter().flatten().filter_map(Value::as_object);
                output.push_all(records.cloned().map(Record::from));
            }
        }
        return Ok(());
    }
    match &args.name {
        Some(name) => output.only(pretty(&named(name)?.schema())),
        None => all().for_each(|records| {
            output.push(Record::new().with("name", records.name).with("title", records.title));
        }),
    }
    Ok(())
}

fn converted(file: &str) -> Result<Value, Failure> {
    let wrong = |what: String| Failure::Input(format!("{file}: {what}"));
    let text = input::text(file).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let document = serde_json::from_str(&text).map_err(|error| wrong(format!("is not JSON: {error}")))?;
    hotlink_results::of_today(document).map_err(wrong)
}
