//! `hotlink compare --program`: the same binary on several simulated fabrics, its times beside what each fabric costs.

use crate::table::Table;
use crate::verbs::question::VariantArgs;
use crate::verbs::run::{Ended, How, Seats, library, on_fabric, told, with_library, words_of};
use crate::{Failure, output::Output};
use hotlink_bench::Record;
use hotlink_real::{Job, JobEnd};
use hotlink_study::Source;
use hotlink_study::comparison::Priced;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Options of a program that is compared.
#[derive(clap::Args)]
#[command(next_help_heading = "A program on each fabric")]
pub(super) struct ProgramArgs {
    /// Run this MPI program on each fabric of --on, in virtual time; its arguments follow after --.
    #[arg(
        long, value_name = "PROGRAM", requires = "on",
        conflicts_with_all = [
            "fabrics", "nodes", "method", "across_eras", "sensitivity", "out", "traffic", "capacities", "size", "seed", "paths",
            "technology", "samples", "hash_seeds",
        ],
    )]
    program: Option<OsString>,
    /// Ranks of the program.
    #[arg(
        short = 'n', value_name = "N", id = "ranks", default_value_t = 1, requires = "program",
        value_parser = clap::value_parser!(u32).range(1..=1024),
    )]
    ranks: u32,
    /// Fabrics that the program runs on, one after the other: names of the catalog, or files.
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "program")]
    on: Vec<String>,
    /// What computing between the program's calls costs: none, a factor of the processor time that it takes here, or a file
    /// of `hotlink record` [default: none].
    #[arg(long, value_name = "none|FACTOR|FILE", requires = "program")]
    compute_time: Option<String>,
    /// Use this MPI library [default: as `hotlink run`].
    #[arg(long, value_name = "FILE", requires = "program")]
    library: Option<PathBuf>,
    /// The program's arguments.
    #[arg(last = true, value_name = "ARGUMENTS", requires = "program")]
    arguments: Vec<OsString>,
}

/// A program to compare fabrics by.
pub(super) struct Asked<'a> {
    args: &'a ProgramArgs,
    command: Vec<OsString>,
}

/// What the table for people shows, prices aside.
const SHOWN: [&str; 11] = [
    "program",
    "ranks",
    "compute_time",
    "fabric",
    "elapsed_us",
    "communication_share",
    "waiting_share",
    "bound_elapsed_us",
    "efficiency",
    "limiting_resource",
    "hot_link",
];

impl ProgramArgs {
    /// The program, if one is compared.
    pub(super) fn asked(&self) -> Option<Asked<'_>> {
        let program = self.program.clone()?;
        Some(Asked { args: self, command: std::iter::once(program).chain(self.arguments.iter().cloned()).collect() })
    }
}

impl Asked<'_> {
    /// Runs it on each fabric. One that cannot take it has a note in place of times.
    pub(super) fn run(&self, variant: &VariantArgs, prices: Option<&Path>, output: &mut Output) -> Result<(), Failure> {
        let fabrics: Vec<String> = self.args.on.iter().map(|name| variant.of(name)).collect();
        // Before anything runs: a name that is none is a slip, not a finding.
        let open = |name: &String| Priced::new(Source::open(name)?, prices);
        let sources: Vec<Priced> = fabrics.iter().map(open).collect::<Result<_, _>>()?;
        let progress = output.progress("compare", fabrics.len() as u64);
        let mut records = Vec::new();
        for (name, priced) in fabrics.iter().zip(&sources) {
            match self.on(name, priced)? {
                Ok(record) => records.push(record),
                Err(end) => return told(end),
            }
            progress.step();
        }
        drop(progress);
        if let (Some(first), true) = (records.first(), records.iter().all(|record| record.get("note").is_some())) {
            let why = first.text("note").unwrap_or_default();
            return Err(Failure::Check(format!("the program ran on none of these fabrics; the first: {why}")));
        }
        output.table(table(&records));
        records.into_iter().for_each(|record| output.push(record));
        Ok(())
    }

    /// Its record on one fabric, or the end of a job that was interrupted.
    fn on(&self, name: &str, priced: &Priced) -> Result<Result<Record, JobEnd>, Failure> {
        let job = Job {
            command: self.command.clone(),
            ranks: self.args.ranks,
            variables: with_library(self.args.library.as_deref())?,
            tags: false,
            errors_alone: true,
        };
        let compute = self.args.compute_time.as_deref().unwrap_or("none");
        let seats = Seats::alone(self.args.ranks);
        let library = library(self.args.library.as_deref())?;
        let how = How { seats, clocks: None, library: &library, compute, traced: false, schedule: false };
        let mut record = match on_fabric(job, name, how) {
            Ok(Ended::Ran(told)) => told.record,
            Ok(Ended::Failed(end)) if INTERRUPTED.contains(&end.status) => return Ok(Err(end)),
            Ok(Ended::Failed(end)) => self.without(name, &end.failed.unwrap_or_default()),
            Err(why) => self.without(name, &why.to_string()),
        };
        if record.get("note").is_none() {
            let fabric = priced.source.build(self.args.ranks).map_err(Failure::Input)?;
            priced.price(&fabric, &mut record).map_err(Failure::Input)?;
            let hot = record.get("hot_links").and_then(|names| names.get(0)).and_then(|name| name.as_str());
            if let Some(hot) = hot.map(str::to_owned) {
                record.set("hot_link", hot);
            }
        }
        Ok(Ok(record))
    }

    /// The row of a fabric that cannot take the program.
    fn without(&self, name: &str, why: &str) -> Record {
        let record = Record::new().with("fabric", name).with("benchmark", "run").with("ranks", self.args.ranks);
        record.with("program", words_of(&self.command)).with("note", why)
    }
}

/// What a shell calls the end of a job that somebody ended by SIGHUP, SIGINT or SIGTERM.
const INTERRUPTED: [u8; 3] = [128 + 1, 128 + 2, 128 + 15];

fn table(records: &[Record]) -> Table {
    let currencies: std::collections::BTreeSet<&str> =
        records.iter().filter_map(|record| record.text("currency")).collect();
    let costs: Vec<String> = currencies.iter().map(|currency| format!("cost_{currency}")).collect();
    let keys: Vec<&str> = SHOWN.into_iter().chain(costs.iter().map(String::as_str)).chain(["note"]).collect();
    Table::of_keys(records, &keys)
}
