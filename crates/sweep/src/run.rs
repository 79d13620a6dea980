//! A plan's cells: which there are, which are finished, and how the others run.

use crate::commands::Commands;
use crate::gather::{Outcome, of_cell};
use crate::plan::{Cell, expand, is_measured};
use crate::store::{Keys, Store};
use hotlink_bench::Record;
use hotlink_study::{Error, Halted, Watch};
use rayon::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

/// A share of the cells: every `of`-th, from the `index`-th.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    of: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let wrong = || format!("`{text}`: must be I/N with I from 1 to N, such as 2/4");
        let (index, of) = text.split_once('/').ok_or_else(wrong)?;
        let shard = Shard { index: index.parse().map_err(|_| wrong())?, of: of.parse().map_err(|_| wrong())? };
        if (1..=shard.of).contains(&shard.index) { Ok(shard) } else { Err(wrong()) }
    }
}

/// A plan, its cells by their names, and what is finished of them.
pub struct Plan {
    /// Each cell with its name, in the plan's order.
    pub cells: Vec<(String, Cell)>,
    /// The results of finished cells, by name.
    pub outcomes: BTreeMap<String, Outcome>,
    kept: Option<PathBuf>,
}

impl Plan {
    /// Reads a plan; `kept` is the folder that keeps finished cells.
    ///
    /// # Errors
    /// The plan's mistakes, each with its line.
    pub fn read(
        path: &Path,
        shard: Option<Shard>,
        kept: Option<&Path>,
        commands: &dyn Commands,
    ) -> Result<Plan, Error> {
        let file = path.display().to_string();
        // A name that is no UTF-8 is that of a file: nothing else has such names.
        let text = match path.to_str() {
            Some(name) => hotlink_fabric::input::text(name),
            None => std::fs::read_to_string(path),
        };
        let text = text.map_err(|error| Error::Input(format!("{file}: cannot be read: {error}")))?;
        let cells = expand(&file, &text, commands)?;
        let Shard { index, of } = shard.unwrap_or(Shard { index: 1, of: 1 });
        let keys = Keys::new();
        let cells = cells.into_iter().skip(index - 1).step_by(of);
        let cells: Vec<(String, Cell)> = cells.map(|cell| (keys.of(&cell.arguments, commands), cell)).collect();
        let load = |(key, cell): &(String, Cell)| Some((key.clone(), Ok(Store(kept?).load(key, cell)?)));
        let outcomes = cells.iter().filter_map(load).collect();
        Ok(Plan { cells, outcomes, kept: kept.map(Path::to_owned) })
    }

    /// Whether a folder keeps finished cells.
    pub fn keeps(&self) -> bool {
        self.kept.is_some()
    }

    /// The cells that are not finished, each once.
    pub fn missing(&self) -> Vec<(&str, &Cell)> {
        missing(&self.cells, |key| self.outcomes.contains_key(key))
    }

    /// Runs unfinished cells: those that measure this machine first and one at a time, the rest on `jobs` cores (0:
    /// all). `timed`: records give the times of simulations. The records of cells go to `give` in the plan's order,
    /// each as soon as it and all before it are there. Once `give` says false no further cell begins.
    ///
    /// # Errors
    /// A finished cell cannot be kept. A cell that failed is an outcome.
    pub fn run(
        &mut self,
        (jobs, timed): (usize, bool),
        commands: &dyn Commands,
        watch: &dyn Watch,
        give: &mut (dyn FnMut(Vec<Record>) -> bool + Send),
    ) -> Result<(), Error> {
        let Plan { cells, outcomes, kept } = self;
        let missing = missing(cells, |key| outcomes.contains_key(key));
        let line = Mutex::new(Line { cells, next: 0, outcomes, ended: false, give });
        let locked = || line.lock().unwrap_or_else(PoisonError::into_inner);
        locked().advance();
        let one = |&(key, cell): &(&str, &Cell)| -> Result<(), Error> {
            if locked().ended {
                return Ok(());
            }
            let outcome = document(&cell.arguments, timed, commands);
            if let (Ok(document), Some(folder)) = (&outcome, &kept) {
                Store(folder).save(key, document)?;
            }
            watch.step();
            let mut line = locked();
            line.outcomes.insert(key.to_owned(), outcome.map_err(|failure| failure.to_string()));
            line.advance();
            Ok(())
        };
        let (measured, computed): (Vec<_>, Vec<_>) = missing.iter().partition(|(_, cell)| cell.is_measured());
        measured.iter().try_for_each(one)?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
        let pool = pool.map_err(|error| Error::Check(format!("sweep: {error}")))?;
        // One after the other from the front, so that the first results come first.
        pool.install(|| computed.iter().par_bridge().try_for_each(one))
    }
}

fn missing(cells: &[(String, Cell)], is_finished: impl Fn(&str) -> bool) -> Vec<(&str, &Cell)> {
    let mut seen = BTreeSet::new();
    let cells = cells.iter().map(|(key, cell)| (key.as_str(), cell));
    cells.filter(|(key, _)| !is_finished(key) && seen.insert(key.to_owned())).collect()
}

/// Cells in their order, of which the first `next` were given.
struct Line<'a> {
    cells: &'a [(String, Cell)],
    next: usize,
    outcomes: &'a mut BTreeMap<String, Outcome>,
    ended: bool,
    give: &'a mut (dyn FnMut(Vec<Record>) -> bool + Send),
}

impl Line<'_> {
    /// Gives what follows and is there.
    fn advance(&mut self) {
        while let (false, Some((key, cell))) = (self.ended, self.cells.get(self.next)) {
            let Some(outcome) = self.outcomes.get(key) else { break };
            self.next += 1;
            self.ended = !(self.give)(of_cell(key, cell, outcome));
        }
    }
}

/// The result of a cell's command line. Without `timed`, how long a simulation took is left out: the same cell gives the
/// same bytes on any number of cores.
///
/// # Errors
/// What the command said, where it gave no result.
pub fn document(arguments: &[String], timed: bool, commands: &dyn Commands) -> Result<Value, Error> {
    let ran = catch_unwind(AssertUnwindSafe(|| commands.run(arguments)));
    let mut document = ran.unwrap_or_else(|unwound| match unwound.is::<Halted>() {
        true => resume_unwind(unwound),
        false => Err(Error::Check("panicked: this is a mistake of the program".to_owned())),
    })?;
    document["cell"] = Keys::new().of(arguments, commands).into();
    if !timed && !is_measured(arguments) {
        for record in document["records"].as_array_mut().into_iter().flatten() {
            record.as_object_mut().map(|record| record.shift_remove("wall_s"));
        }
    }
    Ok(document)
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
