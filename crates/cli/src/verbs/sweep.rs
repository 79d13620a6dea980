//! `hotlink sweep`: a plan of studies, cell by cell, resumable, on all cores or a share of several machines.

mod plan;
mod store;

pub use store::run_cell;

use crate::{Failure, output::Output, table::Table};
use hotlink_bench::Record;
use plan::Cell;
use rayon::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use store::{Keys, Store};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink sweep plans/all-to-all.toml --out cells/ --json > all-to-all.json
  hotlink sweep plans/load-curves.toml --out /shared/cells --shard 2/4        # on the second of four machines
  hotlink sweep plans/load-curves.toml --out /shared/cells --finished --json  # then gather

A plan is a TOML file of studies:
  [[study]]
  name = \"all-to-all\"                    # optional; stands in the records
  verb = \"simulate alltoall\"             # analyze, compare, measure BENCH, reproduce, simulate BENCH
  fabric = [\"sci-ring\", \"sci-torus2d\"]   # a list: one cell for each value, crossed with the other lists
  nodes = { each = \"4..64..x2\" }         # a range: one cell for each value
  size = \"8,64KiB\"                       # a text stands as on the command line: one cell
  links = true                           # a flag
With --out, a finished cell is a file named by the hash of its inputs: run the same line again to go on.")]
pub(crate) struct Args {
    /// The plan.
    #[arg(value_name = "PLAN.toml")]
    plan: PathBuf,
    /// Folder that keeps finished cells, one result file each; cells that are there are not run again.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Only every N-th cell, from the I-th.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Cells that run at once; measurements always run one at a time. [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Run nothing: list the cells, and whether each is finished.
    #[arg(long, conflicts_with = "finished")]
    list: bool,
    /// Run nothing: print what is finished; what is not is named, with exit status 1.
    #[arg(long, requires = "out")]
    finished: bool,
    /// Records tell how long simulations took, where no cell is kept.
    #[arg(skip)]
    timed: bool,
}

/// `--shard I/N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shard {
    index: usize,
    of: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let wrong = || format!("`{text}`: allowed is I/N with I from 1 to N, such as 2/4");
        let (index, of) = text.split_once('/').ok_or_else(wrong)?;
        let shard = Shard { index: index.parse().map_err(|_| wrong())?, of: of.parse().map_err(|_| wrong())? };
        if (1..=shard.of).contains(&shard.index) { Ok(shard) } else { Err(wrong()) }
    }
}

/// What became of a cell.
type Outcome = Result<Value, String>;

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let cells = cells(args)?;
    let keys = Keys::new();
    let named: Vec<(String, &Cell)> = cells.iter().map(|cell| (keys.of(&cell.arguments), cell)).collect();
    let store = args.out.as_deref().map(Store);
    let load = |key: &str, cell: &Cell| store.as_ref().and_then(|store| store.load(key, cell));
    let mut outcomes: BTreeMap<&str, Outcome> = BTreeMap::new();
    let mut missing: Vec<(&str, &Cell)> = Vec::new();
    for (key, cell) in &named {
        match load(key, cell) {
            Some(document) => _ = outcomes.insert(key, Ok(document)),
            None if missing.iter().all(|(other, _)| other != key) => missing.push((key, cell)),
            None => {}
        }
    }
    if args.list {
        list(&named, &outcomes, output);
        return Ok(());
    }
    if !args.finished {
        if !outcomes.is_empty() {
            eprintln!("hotlink: {} of {} cells are finished already", outcomes.len(), outcomes.len() + missing.len());
        }
        outcomes.extend(run_all(&missing, args, output)?);
    }
    gather(&named, &outcomes, output)
}

/// What is done with a plan's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// Those that are not finished run; the records of all are given.
    Run,
    /// They are listed.
    List,
    /// The records of finished ones are given.
    Gather,
}

/// A plan by values: `out` keeps finished cells.
pub(crate) fn sweep(plan: &Path, out: Option<&Path>, cells: Cells, output: &mut Output) -> Result<(), Failure> {
    let (plan, out) = (plan.to_owned(), out.map(Path::to_owned));
    let (list, finished) = (cells == Cells::List, cells == Cells::Gather);
    if finished && out.is_none() {
        return Err(Failure::Input("--finished: needs --out, which keeps finished cells".to_owned()));
    }
    run(&Args { plan, out, shard: None, jobs: None, list, finished, timed: false }, output)
}

/// Runs a plan whose studies are all of `verb`, and keeps nothing: a verb's own `--plan`.
pub(crate) fn run_plan(plan: &Path, verb: &[&str], output: &mut Output) -> Result<(), Failure> {
    let args =
        Args { plan: plan.to_owned(), out: None, shard: None, jobs: None, list: false, finished: false, timed: true };
    if let Some(other) = cells(&args)?
        .iter()
        .find(|cell| !cell.arguments.iter().map(String::as_str).take(verb.len()).eq(verb.iter().copied()))
    {
        let (place, verb) = (&other.place, verb.join(" "));
        return Err(Failure::Input(format!("{place}: verb: is not `{verb}`; `hotlink sweep` runs any plan")));
    }
    run(&args, output)
}

fn cells(args: &Args) -> Result<Vec<Cell>, Failure> {
    let file = args.plan.display().to_string();
    let text = hotlink_fabric::input::text(&file)
        .map_err(|error| Failure::Input(format!("{file}: cannot be read: {error}")))?;
    let cells = plan::expand(&file, &text)
        .map_err(|mistakes| Failure::Input(mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")))?;
    let Some(shard) = args.shard else { return Ok(cells) };
    Ok(cells.into_iter().skip(shard.index - 1).step_by(shard.of).collect())
}

fn list(named: &[(String, &Cell)], outcomes: &BTreeMap<&str, Outcome>, output: &mut Output) {
    for (key, cell) in named {
        output.push(
            Record::new()
                .with("study", cell.study.as_str())
                .with("cell", key.as_str())
                .with("arguments", cell.arguments.clone())
                .with("measured", cell.is_measured())
                .with("finished", outcomes.contains_key(key.as_str())),
        );
    }
    let shown = |(key, cell): &(String, &Cell)| {
        let finished = if outcomes.contains_key(key.as_str()) { "finished" } else { "" };
        vec![cell.study.clone(), finished.to_owned(), format!("hotlink {}", cell.arguments.join(" "))]
    };
    let columns = ["study", "", "command"].map(str::to_owned).to_vec();
    output.table(Table { columns, rows: named.iter().map(shown).collect(), ..Table::default() });
}

/// Runs the cells: what measures this machine first and one at a time, the rest on all cores.
fn run_all<'a>(missing: &[(&'a str, &Cell)], args: &Args, output: &Output) -> Result<Vec<(&'a str, Outcome)>, Failure> {
    let store = args.out.as_deref().map(Store);
    let progress = output.progress("sweep", missing.len() as u64);
    let one = |&(key, cell): &(&'a str, &Cell)| -> Result<(&'a str, Outcome), Failure> {
        let outcome = store::document(&cell.arguments, args.timed);
        if let (Ok(document), Some(store)) = (&outcome, &store) {
            store.save(key, document)?;
        }
        progress.step();
        Ok((key, outcome.map_err(|failure| failure.to_string())))
    };
    let (measured, computed): (Vec<_>, Vec<_>) = missing.iter().partition(|(_, cell)| cell.is_measured());
    let mut done = measured.iter().map(one).collect::<Result<Vec<_>, _>>()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.jobs.map_or(0, usize::from)).build();
    let pool = pool.map_err(|error| Failure::Check(format!("sweep: {error}")))?;
    let _ticking = progress.ticking();
    done.extend(pool.install(|| computed.par_iter().map(one).collect::<Result<Vec<_>, _>>())?);
    Ok(done)
}

/// All records in the plan's order, and which cells gave none.
fn gather(named: &[(String, &Cell)], outcomes: &BTreeMap<&str, Outcome>, output: &mut Output) -> Result<(), Failure> {
    let mut wrong = Vec::new();
    for (key, cell) in named {
        let line = format!("hotlink {}", cell.arguments.join(" "));
        let outcome = outcomes.get(key.as_str()).cloned().unwrap_or_else(|| Err("is not finished".to_owned()));
        let mut tell = |what: &str| wrong.push(format!("{}: {line}: {what}", cell.place));
        match outcome {
            Ok(document) => {
                if let Some(check) = document["check"].as_str() {
                    tell(check);
                }
                for record in document["records"].as_array().into_iter().flatten() {
                    output.push(of_study(cell, record));
                }
            }
            Err(what) => {
                tell(&what);
                output.push(
                    of_study(cell, &Value::Null).with("cell", key.as_str()).with("command", line).with("error", what),
                );
            }
        }
    }
    match wrong.first() {
        None => Ok(()),
        Some(first) => {
            Err(Failure::Check(format!("{} of {} cells failed; the first: {first}", wrong.len(), named.len())))
        }
    }
}

/// A cell's record under the study's name, with those swept options that it does not tell of itself.
fn of_study(cell: &Cell, record: &Value) -> Record {
    let empty = serde_json::Map::new();
    let fields = record.as_object().unwrap_or(&empty);
    let mut own = Record::new();
    if !cell.study.is_empty() {
        own.set("study", cell.study.as_str());
    }
    for (option, value) in &cell.swept {
        let key = option.replace('-', "_");
        let told = |field: &String| *field == key || field.strip_prefix(&key).is_some_and(|rest| rest.starts_with('_'));
        if !fields.keys().any(told) {
            own.set(&key, value.as_str());
        }
    }
    own.followed_by(Record::from(fields.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_a_share_of_the_cells() {
        assert_eq!("2/4".parse(), Ok(Shard { index: 2, of: 4 }));
        for wrong in ["0/4", "5/4", "1", "a/b", "1/0", ""] {
            assert!(wrong.parse::<Shard>().unwrap_err().contains("I/N"), "{wrong}");
        }
    }
}
