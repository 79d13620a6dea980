//! `hotlink sweep`: a plan of studies, cell by cell, resumable, on all cores or a share of several machines.

mod words;

use crate::Failure;
use hotlink_paper::{Output, Table};
use hotlink_sweep::{Gathered, Plan, Shard, command_line, document, listed, text};
use std::path::{Path, PathBuf};
use words::Words;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink sweep plans/all-to-all.toml --out cells/ --json > all-to-all.json
  hotlink sweep plans/load-curves.toml --out /shared/cells --shard 2/4        # on the second of four machines
  hotlink sweep plans/load-curves.toml --out /shared/cells --finished --json  # then gather

A plan is a TOML file of studies:

  [[study]]
  name = \"all-to-all\"                    # optional; goes into the records
  verb = \"simulate alltoall\"             # analyze, compare, import PROGRAM, measure BENCH, reproduce, simulate BENCH
  fabric = [\"sci-ring\", \"sci-torus2d\"]   # a list: one cell for each value, crossed with the other lists
  nodes = { each = \"4..64..x2\" }         # a range: one cell for each value
  size = \"8,64KiB\"                       # a text, as on the command line: one cell
  links = true                           # a flag

With --out, a finished cell is a file named by the hash of its inputs: run the same line again to go on.")]
pub(crate) struct Args {
    /// Plan of the studies (`hotlink new plan` prints one).
    #[arg(value_name = "PLAN.toml")]
    plan: PathBuf,
    /// Keep finished cells in this folder, one result file each. Finished cells are not run again.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Run only every N-th cell, from the I-th on.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Run this many cells at once; measurements always run one at a time. [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Run nothing: list the cells, and whether each is finished.
    #[arg(long, conflicts_with = "finished")]
    list: bool,
    /// Run nothing: print finished cells. Unfinished ones are named, and the exit status is then 1.
    #[arg(long, requires = "out")]
    finished: bool,
}

impl Args {
    /// How an interrupted sweep goes on.
    pub(super) fn goes_on(&self) -> String {
        match &self.out {
            Some(folder) => format!("the same command goes on from the cells in {}", folder.display()),
            None => "with --out, finished cells are kept, and the same command goes on from them".to_owned(),
        }
    }
}

/// The action on a plan's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// Run unfinished ones; return the records of all.
    Run,
    /// List them.
    List,
    /// Return the records of finished ones.
    Gather,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let plan = Plan::read(&args.plan, args.shard, args.out.as_deref(), &Words)?;
    let cells = match (args.list, args.finished) {
        (true, _) => Cells::List,
        (_, true) => Cells::Gather,
        _ => Cells::Run,
    };
    answer(plan, cells, (args.jobs.map_or(0, usize::from), false), output)
}

/// A plan by values: `out` keeps finished cells.
pub(crate) fn sweep(plan: &Path, out: Option<&Path>, cells: Cells, output: &mut Output) -> Result<(), Failure> {
    if cells == Cells::Gather && out.is_none() {
        return Err(Failure::Input("--finished: needs --out, which keeps finished cells".to_owned()));
    }
    answer(Plan::read(plan, None, out, &Words)?, cells, (0, false), output)
}

/// Runs a plan whose studies are all of `verb`, and keeps nothing: a verb's own `--plan`.
pub(crate) fn run_plan(plan: &Path, verb: &[&str], output: &mut Output) -> Result<(), Failure> {
    let plan = Plan::read(plan, None, None, &Words)?;
    let is_of = |words: &[String]| words.iter().map(String::as_str).take(verb.len()).eq(verb.iter().copied());
    if let Some((_, other)) = plan.cells.iter().find(|(_, cell)| !is_of(&cell.arguments)) {
        let (place, verb) = (&other.place, verb.join(" "));
        return Err(Failure::Input(format!("{place}: verb: is not `{verb}`; `hotlink sweep` runs any plan")));
    }
    answer(plan, Cells::Run, (0, true), output)
}

/// Runs the command line of a cell: the text of its file.
///
/// # Errors
/// The command's message, where it gave no result.
pub fn run_cell(arguments: &[String]) -> Result<String, Failure> {
    document(arguments, false, &Words).map(|document| text(&document))
}

/// On `jobs` cores; `timed`: with the time of each simulation.
fn answer(mut plan: Plan, cells: Cells, (jobs, timed): (usize, bool), output: &mut Output) -> Result<(), Failure> {
    if cells == Cells::List {
        output.push_all(listed(&plan.cells, &plan.outcomes));
        output.table(list(&plan));
        return Ok(());
    }
    if cells == Cells::Run {
        let missing = plan.missing().len();
        let finished = plan.outcomes.len();
        if finished > 0 {
            hotlink_paper::tell!("hotlink: {finished} of {} cells are finished already", finished + missing);
        }
        if !plan.keeps() {
            output.end_with_reader();
        }
        let progress = output.ticking("sweep", missing as u64);
        plan.run((jobs, timed), &Words, &*progress, &mut |records| {
            output.push_all(records);
            !output.is_closed()
        })?;
        if output.is_closed() {
            return Ok(());
        }
    }
    let Gathered { records, check } = Gathered::new(&plan.cells, &plan.outcomes);
    if cells == Cells::Gather {
        output.push_all(records);
    }
    check
}

/// The cells, for people.
fn list(plan: &Plan) -> Table {
    let row = |(key, cell): &(String, hotlink_sweep::Cell)| {
        let finished = if plan.outcomes.contains_key(key) { "finished" } else { "" };
        vec![cell.study.clone(), finished.to_owned(), command_line(cell)]
    };
    let columns = ["study", "", "command"].map(str::to_owned).to_vec();
    Table { columns, rows: plan.cells.iter().map(row).collect(), ..Table::default() }
}
