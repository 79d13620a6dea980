//! The same program on several simulated fabrics, with its times and each fabric's cost.

use crate::fabric::{Ended, How, on_fabric};
use crate::library::{Commands, unheard};
use crate::{Seats, words_of};
use hotlink_bench::Record;
use hotlink_real::JobEnd;
use hotlink_study::comparison::Priced;
use hotlink_study::{Error, Source, Watch};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A program to compare fabrics by.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Its ranks, a node each.
    pub ranks: u32,
    /// Fabrics, one after the other.
    pub fabrics: Vec<String>,
    /// The charge for computing between calls.
    pub compute: String,
    /// The MPI library.
    pub library: Option<PathBuf>,
    /// The file that says what fails meanwhile.
    pub faults: Option<String>,
    /// Where the running command is.
    pub commands: Commands,
}

/// A shell's statuses of a job that was ended by SIGHUP, SIGINT or SIGTERM.
const INTERRUPTED: [u8; 3] = [128 + 1, 128 + 2, 128 + 15];

impl Compared {
    /// Runs it on each fabric: a record each, or the end of a job that was interrupted. A fabric that cannot take it has a
    /// note in place of times.
    ///
    /// # Errors
    /// A fabric or a price list is not sound, or the program ran on no fabric.
    pub fn run(&self, prices: Option<&Path>, watch: &dyn Watch) -> Result<Result<Vec<Record>, JobEnd>, Error> {
        // Before anything runs: a name that is none is a slip, not a finding.
        let open = |name: &String| Priced::new(Source::open(name)?, prices);
        let sources: Vec<Priced> = self.fabrics.iter().map(open).collect::<Result<_, _>>()?;
        let mut records = Vec::new();
        for (name, priced) in self.fabrics.iter().zip(&sources) {
            match self.on(name, priced)? {
                Ok(record) => records.push(record),
                Err(end) => return Ok(Err(end)),
            }
            watch.step();
        }
        if let (Some(first), true) = (records.first(), records.iter().all(|record| record.get("note").is_some())) {
            let why = first.text("note").unwrap_or_default();
            return Err(Error::Check(format!("the program ran on none of these fabrics; the first: {why}")));
        }
        Ok(Ok(records))
    }

    /// Its record on one fabric, or the end of a job that was interrupted.
    fn on(&self, name: &str, priced: &Priced) -> Result<Result<Record, JobEnd>, Error> {
        let given = self.library.as_deref();
        let (job, library) = unheard(self.command.clone(), self.ranks, given, &self.commands)?;
        let plain = How::plain(Seats::alone(self.ranks), &library, &self.compute);
        let how = How { faults: self.faults.as_deref(), ..plain };
        let mut record = match on_fabric(job, name, how) {
            Ok(Ended::Ran(told)) => told.record,
            Ok(Ended::Failed(end)) if INTERRUPTED.contains(&end.status) => return Ok(Err(end)),
            Ok(Ended::Failed(end)) => self.without(name, &end.failed.unwrap_or_default()),
            Err(why) => self.without(name, &why.to_string()),
        };
        if record.get("note").is_none() {
            let fabric = priced.source.build(self.ranks).map_err(Error::Input)?;
            priced.price(&fabric, &mut record).map_err(Error::Input)?;
            let hot = record.get("hot_links").and_then(|names| names.get(0)).and_then(|name| name.as_str());
            if let Some(hot) = hot.map(str::to_owned) {
                record.set("hot_link", hot);
            }
        }
        Ok(Ok(record))
    }

    /// The row of a fabric that cannot take the program.
    fn without(&self, name: &str, why: &str) -> Record {
        let record = Record::new().with("fabric", name).with("benchmark", "run").with("ranks", self.ranks);
        record.with("program", words_of(&self.command)).with("note", why)
    }
}
