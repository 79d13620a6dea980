//! `hotlink catalog`: what is in the catalog, where each number comes from, and what is wrong with a file.

use crate::table::{Table, figure};
use crate::{Failure, output::Output};
use hotlink_bench::Record;
use hotlink_fabric::catalog::vocabulary::PARAMETERS;
use hotlink_fabric::catalog::{Described, Entry, Kind, Library, Mistake, status_name};
use hotlink_fabric::forms;
use hotlink_fabric::numbers::TOPOLOGY;
use hotlink_fabric::sensitivity;
use hotlink_fabric::spec::{FabricSpec, Role, Status};
use hotlink_study::{Source, uses};
use std::collections::BTreeMap;

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
    /// One line for each fabric, part and price list.
    List {
        /// Only this kind.
        #[arg(value_enum)]
        kind: Option<KindArg>,
    },
    /// Every number of a fabric, part or price list with unit, source and status.
    Show {
        /// A name of the catalog, or a file.
        name: String,
        /// Also the line each number stands on, what it is used for, and how capacities follow from it.
        #[arg(long)]
        why: bool,
    },
    /// Explain every mistake of files with line and key. Exit status 2 if there is one.
    Check {
        /// Fabric, part or price files, or names of the catalog.
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
        for parameter in PARAMETERS {
            let record = Record::new().with("kind", "parameter").with("name", parameter.name);
            output.push(record.with("title", parameter.meaning).with("units", parameter.dimension.names()));
        }
        return Ok(());
    }
    let folders = [(KindArg::Fabrics, "fabrics"), (KindArg::Parts, "parts"), (KindArg::Prices, "prices")];
    for (_, folder) in folders.iter().filter(|(this, _)| kind.is_none_or(|kind| kind == *this)) {
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

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Fabric => "fabric",
        Kind::Part => "part",
        Kind::Prices => "prices",
    }
}

fn head(described: &Described) -> Record {
    let mut record = Record::new()
        .with("kind", kind_name(described.kind))
        .with("name", described.name.clone())
        .with("title", described.title.clone());
    for status in [Status::Published, Status::Measured, Status::Fitted, Status::Estimated] {
        let count = described.entries.iter().filter(|entry| entry.status == status).count();
        record.set(status_name(status), count);
    }
    record
}

fn show(library: &Library, name: &str, why: bool, output: &mut Output) -> Result<(), Failure> {
    let described = library.describe(name).map_err(|mistakes| Failure::Input(lines(&mistakes)))?;
    let uses = match described.kind {
        Kind::Fabric if why => uses::of(&Source::open(name)?),
        _ => BTreeMap::new(),
    };
    for entry in &described.entries {
        let record = number(&described, entry);
        output.push(if why {
            record.with("place", entry.place.clone()).with("used_for", used_for(&described, entry, &uses))
        } else {
            record
        });
    }
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
    if !fixed.is_empty() {
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
        derived.into_iter().for_each(|record| output.push(record));
    }
    Ok(())
}

fn number(described: &Described, entry: &Entry) -> Record {
    Record::new()
        .with(kind_name(described.kind), described.name.clone())
        .with("key", entry.key.clone())
        .with("value", entry.value)
        .with("unit", entry.unit.clone())
        .with("status", status_name(entry.status))
        .with("source", entry.source.clone())
}

/// The questions that use a number, as the engines noted it when they were asked.
fn used_for(described: &Described, entry: &Entry, uses: &BTreeMap<String, Vec<&'static str>>) -> String {
    let key = if entry.key.starts_with("topology.") { TOPOLOGY } else { entry.key.as_str() };
    match (described.kind, uses.get(key)) {
        (Kind::Prices, _) => "compare (cost)".to_owned(),
        (Kind::Part, _) => "by the fabrics that name this part: hotlink catalog show FABRIC --why".to_owned(),
        (Kind::Fabric, Some(questions)) => questions.join(", "),
        (Kind::Fabric, None) => "not used by any engine".to_owned(),
    }
}

/// Theoretical and measured capacity of each resource, and what they follow from.
fn derived(spec: &FabricSpec) -> Vec<Record> {
    let mut records = Vec::new();
    for (role, resource) in &spec.resources {
        let record = |word: &str, rate: f64, status: Status, source: String| {
            Record::new()
                .with("fabric", spec.name.clone())
                .with("key", format!("capacity.{word}.{}", resource.name))
                .with("value", rate / 1e6)
                .with("unit", "MB/s")
                .with("status", status_name(status))
                .with("source", source)
        };
        if let Some(gross) = &resource.gross {
            let (efficiency, status, how) = efficiency(spec, *role);
            let rate = gross.value.0 as f64 * efficiency;
            let source = format!("gross {} MB/s ({}) x {how}", figure(gross.value.mbps()), gross.source);
            records.push(record("theoretical", rate, status.max(gross.status), source));
        }
        if let Some(measured) = &resource.measured {
            records.push(record("measured", measured.value.0 as f64, measured.status, measured.source.clone()));
        }
    }
    records
}

/// Packet efficiency on resources of `role`, its status, and how it comes about.
fn efficiency(spec: &FabricSpec, role: Role) -> (f64, Status, String) {
    if !role.carries_packets() {
        return (1.0, Status::Published, "1 (payload only)".to_owned());
    }
    let packet = &spec.packet;
    let efficiency = packet.efficiency(forms::MESSAGE_BYTES, 1.0);
    let status = packet.overhead_bytes.status.max(packet.overhead_per_hop_bytes.status);
    let size = packet.payload_max_bytes.as_ref().map_or(forms::MESSAGE_BYTES, |most| most.value);
    let overhead = packet.overhead_bytes.value + packet.overhead_per_hop_bytes.value;
    let how = format!(
        "efficiency {efficiency:.6} = {size} B / ({size} + {overhead}) over one switch ({})",
        packet.overhead_bytes.source
    );
    (efficiency, status, how)
}

fn check(library: &Library, files: &[String], output: &mut Output) -> Result<(), Failure> {
    let (mut mistakes, mut wrong) = (Vec::new(), 0);
    for file in files {
        match library.describe(file) {
            Ok(described) => output.push(head(&described).with("file", described.file.clone()).with("mistakes", 0)),
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
    Err(Failure::Input(format!("{n} {plural} in {wrong} of {} files\n{}", files.len(), lines(&mistakes))))
}

fn lines(mistakes: &[Mistake]) -> String {
    mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("\n")
}
