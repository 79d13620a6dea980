//! `hotlink catalog`: the contents of the catalog, the source of each number, and the mistakes in a file.

use crate::Failure;
use hotlink_bench::Record;
use hotlink_fabric::catalog::{Kind, Library, one_a_line};
use hotlink_paper::{Output, Table};
use hotlink_study::catalogued::{self, derived, head, kind_name};
use hotlink_study::uses::Uses;
use hotlink_study::{Source, sensitivity};
use hotlink_workloads::uses;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink catalog list
  hotlink catalog show sci-torus2d --why
  hotlink catalog check my-fabric.toml")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List fabrics, parts and price lists, one a line.
    List {
        /// List only this kind.
        #[arg(value_enum)]
        kind: Option<KindArg>,
    },
    /// Show every number of a fabric, part or price list with its unit, source and status.
    Show {
        /// Name of the catalog, or a file.
        name: String,
        /// Show also each number's line, its use, and how capacities follow from it.
        #[arg(long)]
        why: bool,
    },
    /// Check files: explain every mistake with line and key. The exit status is 2 if there is one.
    Check {
        /// Files of fabrics, parts, prices or published results, or names of the catalog.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<String>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum KindArg {
    /// Fabrics.
    Fabrics,
    /// Parts of fabrics.
    Parts,
    /// Price lists.
    Prices,
    /// Published values of studies and other sources (`hotlink reproduce`); only on request.
    Published,
    /// The names that a file may state under [parameter], with their units.
    Parameters,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let library = Library::user();
    match &args.command {
        Command::List { kind } => list(&library, *kind, output),
        Command::Show { name, why } => show(&library, name, *why, output),
        Command::Check { files } => check(&library, files, output),
    }
}

fn list(library: &Library, kind: Option<KindArg>, output: &mut Output) -> Result<(), Failure> {
    if kind == Some(KindArg::Parameters) {
        output.push_all(catalogued::parameters());
        return Ok(());
    }
    let folders = [
        (KindArg::Fabrics, "fabrics"),
        (KindArg::Parts, "parts"),
        (KindArg::Prices, "prices"),
        (KindArg::Published, "published"),
    ];
    let is_asked = |this: KindArg| kind.map_or(this != KindArg::Published, |kind| kind == this);
    for (_, folder) in folders.iter().filter(|(this, _)| is_asked(*this)) {
        for listed in library.list(folder) {
            let path = if listed.file.starts_with("built-in:") { &listed.name } else { &listed.file };
            let record = match library.describe(path) {
                Ok(described) => head(&described).with("file", listed.file),
                Err(mistakes) => Record::new()
                    .with("kind", folder.trim_end_matches('s'))
                    .with("name", listed.name.clone())
                    .with("title", format!("{} mistakes: hotlink catalog check {path}", mistakes.len()))
                    .with("file", listed.file),
            };
            output.push(record);
        }
    }
    let table =
        Table::of_keys(output.records(), &["kind", "name", "title", "published", "measured", "fitted", "estimated"]);
    output.table(Table { notes: vec!["Numbers by status; hotlink catalog show NAME tells them.".to_owned()], ..table });
    Ok(())
}

fn show(library: &Library, name: &str, why: bool, output: &mut Output) -> Result<(), Failure> {
    let described = library.describe(name).map_err(|mistakes| Failure::Input(one_a_line(&mistakes)))?;
    let uses = match described.kind {
        Kind::Fabric if why => uses::of(&Source::open(name)?),
        _ => Uses::new(),
    };
    output.push_all(catalogued::numbers(&described, why.then_some(&uses)));
    let keys: &[&str] = match why {
        false => &["key", "value", "unit", "status", "source"],
        true => &["key", "value", "unit", "status", "source", "place", "used_for"],
    };
    let mut table = Table::of_keys(output.records(), keys);
    table.title = format!("{} {}: {}", kind_name(described.kind), described.name, described.title);
    table.notes.push(format!("file: {}", described.file));
    if !described.parts.is_empty() {
        table.notes.push(format!("parts: {}", described.parts.join(", ")));
    }
    let fixed = sensitivity::unstated(&described.entries);
    // Prices have their ranges as `low` and `high`.
    if !fixed.is_empty() && described.kind != Kind::Prices {
        let (count, names) = (fixed.len(), fixed.join(", "));
        table
            .notes
            .push(format!("{count} estimates state no uncertainty, so that --sensitivity does not vary them: {names}"));
    }
    output.table(table);
    if let Some(spec) = described.spec.as_ref().filter(|_| why) {
        let derived: Vec<Record> = derived(spec);
        let mut table = Table::of_keys(&derived, &["key", "value", "unit", "status", "source"]);
        table.title = "capacities that results use, messages of 1 MiB".to_owned();
        output.table(table);
        output.push_all(derived);
    }
    Ok(())
}

fn check(library: &Library, files: &[String], output: &mut Output) -> Result<(), Failure> {
    let (mut mistakes, mut wrong) = (Vec::new(), 0);
    for file in files {
        match library.describe(file) {
            Ok(described) => {
                let asked = described.published.as_ref().map(hotlink_seeds::check).unwrap_or_default();
                let told = head(&described).with("file", described.file.clone()).with("mistakes", asked.len());
                output.push(told);
                wrong += usize::from(!asked.is_empty());
                mistakes.extend(asked);
            }
            Err(told) => {
                wrong += 1;
                mistakes.extend(told);
            }
        }
    }
    if mistakes.is_empty() {
        return Ok(());
    }
    let (n, plural) = (mistakes.len(), if mistakes.len() == 1 { "mistake" } else { "mistakes" });
    Err(Failure::Input(format!("{n} {plural} in {wrong} of {} files\n{}", files.len(), one_a_line(&mistakes))))
}
