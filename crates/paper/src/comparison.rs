//! What people read of a comparison: a table a quantity, what limits, the best by size, crossovers, a page to keep.

use crate::output::Output;
use crate::table::{Table, figure};
use hotlink_bench::Record;
use hotlink_fabric::inventory::Inventory;
use hotlink_fabric::price::OVER;
use hotlink_fabric::spec::ItemKind;
use hotlink_report::crossover;
use hotlink_results::Batch;
use hotlink_study::Error;
use hotlink_study::comparison::{Comparison, bought};
use hotlink_study::judged::Judged;
use hotlink_study::ranking::{Grid, Quantity, Span};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Most sizes that a table for people shows.
const MOST_SHOWN: usize = 12;
/// Most crossovers that are listed for people.
const MOST_CROSSOVERS: usize = 24;
/// Most steps of a fabric's inventory that are listed for people.
const MOST_STEPS: usize = 8;

/// Writes a comparison's tables and data into a folder, all or nothing; plots, where a face can draw.
///
/// # Errors
/// A file cannot be written.
pub fn write(judged: &Judged, folder: &Path, output: &Output) -> Result<(), Error> {
    let batch = Batch::new(folder)?;
    let data = batch.write("compare.json", &output.json())?;
    batch.write("compare.csv", &csv(judged))?;
    match output.plotter() {
        Some(plot) => {
            if let Err(why) = plot(&data) {
                crate::tell!("hotlink: no plots: {why}");
            }
        }
        None => crate::tell!(
            "hotlink: no plots: this is the bare binary; `pip install .` (or `make build`, then .venv/bin/hotlink) adds them"
        ),
    }
    let plots: Vec<String> = batch.names().into_iter().filter(|name| name.ends_with(".png")).collect();
    batch.write("summary.md", &summary(judged, &plots))?;
    let names = batch.names();
    batch.commit()?;
    crate::tell!("hotlink: wrote {} to {}", names.join(", "), folder.display());
    Ok(())
}

/// As [`write()`], by values: no face draws. `call` is what asked for it.
///
/// # Errors
/// A file cannot be written.
pub fn write_alone(judged: &Judged, folder: &Path, call: &str) -> Result<(), Error> {
    let mut output = Output::by_values(call);
    output.push_all(judged.records());
    write(judged, folder, &output)
}

/// One row for every fabric and size, by engine.
fn csv(judged: &Judged) -> String {
    crate::output::csv(&judged.0.iter().flat_map(Comparison::marked_cells).collect::<Vec<_>>())
}

/// What people read: the tables of each engine, and where engines disagree.
pub fn tables(judged: &Judged) -> Vec<Table> {
    let [one] = &judged.0[..] else {
        let titled = |comparison: &Comparison| {
            let method = comparison.method.name();
            let titled = move |table: Table| Table { title: format!("By {method}: {}", table.title), ..table };
            Paper(comparison).tables().into_iter().map(titled).collect::<Vec<_>>()
        };
        let mut tables: Vec<Table> = judged.0.iter().flat_map(titled).collect();
        let found = judged.disagreements();
        let methods: Vec<&str> = judged.0.iter().map(|comparison| comparison.method.name()).collect();
        let row = |record: &Record| {
            let text = |key: &str| record.text(key).unwrap_or("-").to_owned();
            let nodes = record.number("nodes").unwrap_or_default().to_string();
            let ahead = methods.iter().map(|method| text(&format!("ahead_by_{method}")));
            [text("quantity"), nodes].into_iter().chain(ahead).collect()
        };
        let columns = ["quantity", "nodes"].into_iter().map(str::to_owned);
        let columns = columns.chain(methods.iter().map(|method| format!("ahead by {method}"))).collect();
        let rows: Vec<Vec<String>> = found.iter().map(row).collect();
        let mut notes =
            if rows.is_empty() { vec!["none: each engine puts the same ahead".to_owned()] } else { Vec::new() };
        notes.extend(judged.mistakes());
        tables.push(Table { title: "Where engines disagree".to_owned(), columns, rows, notes });
        return tables;
    };
    Paper(one).tables()
}

/// A page to keep.
fn summary(judged: &Judged, plots: &[String]) -> String {
    let Some(first) = judged.0.first() else { return String::new() };
    let mut text = format!("# Comparison of {} interconnects\n\n", first.titles.len());
    for (name, title) in &first.titles {
        let _ = writeln!(text, "- `{name}`: {title}");
    }
    let shared = Table::of_keys(&first.cells, &["traffic", "capacities", "size_B"]);
    let _ = writeln!(text, "\n{}\n", shared.title);
    for table in tables(judged) {
        text.push_str(&Table { title: format!("## {}", table.title), ..table }.markdown());
        text.push('\n');
    }
    for plot in plots {
        let _ = writeln!(text, "![{}]({plot})\n", plot.trim_end_matches(".png"));
    }
    text.push_str("Every size and value is in `compare.csv` and, with where it was made, in `compare.json`.\n");
    text
}

/// A comparison on paper.
struct Paper<'a>(&'a Comparison);

impl Paper<'_> {
    /// A table a quantity, what limits, the best by size, crossovers.
    fn tables(&self) -> Vec<Table> {
        let shown = self.shown();
        let mut tables: Vec<Table> =
            self.0.quantities.iter().map(|(quantity, grid)| self.table(quantity, grid, &shown)).collect();
        tables.insert(1, self.injection(&shown));
        tables.insert(2, self.limits());
        tables.extend(self.counts(&shown));
        tables.extend(self.crossovers());
        let notes = self.notes();
        if let Some(last) = tables.last_mut() {
            last.notes.extend(notes);
        }
        tables
    }

    /// Indices of the sizes that tables show: all if few, else the powers of two and the ends.
    fn shown(&self) -> Vec<usize> {
        let all: Vec<usize> = (0..self.0.nodes.len()).collect();
        if all.len() <= MOST_SHOWN {
            return all;
        }
        let ends = [0, all.len() - 1];
        let chosen = |i: &usize| ends.contains(i) || self.0.nodes[*i].is_power_of_two();
        let chosen: Vec<usize> = all.iter().copied().filter(chosen).collect();
        if chosen.len() <= 2 * MOST_SHOWN { chosen } else { chosen.into_iter().step_by(2).collect() }
    }

    fn frame(&self, title: &str, shown: &[usize], cell: impl Fn(usize, usize) -> String) -> Table {
        let sizes = shown.iter().map(|&size| self.0.nodes[size].to_string());
        let columns = std::iter::once("nodes".to_owned()).chain(sizes).collect();
        let row = |(row, (name, _)): (usize, &(String, String))| {
            std::iter::once(name.clone()).chain(shown.iter().map(|&size| cell(row, size))).collect()
        };
        let rows = self.0.titles.iter().enumerate().map(row).collect();
        Table { title: title.to_owned(), columns, rows, notes: Vec::new() }
    }

    fn table(&self, quantity: &Quantity, grid: &Grid, shown: &[usize]) -> Table {
        let cell = |row: usize, size: usize| {
            let mark = if grid.best(size).contains(&row) { "*" } else { "" };
            let split = if quantity.key.contains("bandwidth") { self.split(row, size) } else { "" };
            grid.values[row][size].map_or_else(|| "-".to_owned(), |value| format!("{split}{}{mark}", figure(value)))
        };
        let mut table = self.frame(&quantity.title, shown, cell);
        // A fabric without prices of this year and currency has no line of dashes.
        let is_bought = quantity.key.starts_with("cost") || quantity.key.starts_with("power");
        let is_said = |cells: &[String]| !is_bought || cells[1..].iter().any(|cell| cell != "-");
        table.rows = table
            .rows
            .into_iter()
            .enumerate()
            .filter(|(_, cells)| is_said(cells))
            .flat_map(|(row, cells)| {
                // Prices of another year have a table of their own.
                let ranked = |size: usize| grid.values[row][size].and_then(|_| self.interval(row, size, &quantity.key));
                let interval = shown.iter().map(|&size| ranked(size)).collect::<Vec<_>>();
                let is_wide = interval.iter().any(Option::is_some);
                let interval = interval.into_iter().map(Option::unwrap_or_default);
                let label = std::iter::once("  from..to".to_owned());
                [Some(cells), is_wide.then(|| label.chain(interval).collect())].into_iter().flatten()
            })
            .collect();
        let spans: Vec<String> = grid.spans().iter().map(|span| self.span(span)).collect();
        table.notes = vec![format!("* {}: {}", quantity.superlative, spans.join("; "))];
        table.notes.extend(self.overlaps(quantity, grid));
        table
    }

    /// Fabrics whose range reaches into that of the best: the middle values alone do not settle who leads.
    fn overlaps(&self, quantity: &Quantity, grid: &Grid) -> Option<String> {
        let ends = |row: usize, size: usize| {
            let end = |end: &str| self.cell(row, size).number(&format!("{}_{end}", quantity.key));
            let value = grid.values[row][size]?;
            Some((end("low").unwrap_or(value), end("high").unwrap_or(value)))
        };
        let reaches = |row: usize, size: usize| {
            let best = grid.best(size);
            let lead = best.first().and_then(|&lead| ends(lead, size)).filter(|_| !best.contains(&row));
            let (lead, own) = lead.zip(ends(row, size))?;
            (lead.0.max(own.0) <= lead.1.min(own.1)).then_some(self.0.nodes[size])
        };
        let told = |(row, (name, _)): (usize, &(String, String))| {
            let sizes: Vec<u32> = (0..self.0.nodes.len()).filter_map(|size| reaches(row, size)).collect();
            let (first, last) = (sizes.first()?, sizes.last()?);
            let part = self.0.nodes.iter().filter(|nodes| (first..=last).contains(nodes)).count() > sizes.len();
            Some(format!("{name} at {}{} nodes", if part { "some of " } else { "" }, range(*first, *last)))
        };
        let told: Vec<String> = self.0.titles.iter().enumerate().filter_map(told).collect();
        (!told.is_empty()).then(|| {
            format!("ranges overlap with the best: {}; there * compares the middle values alone", told.join("; "))
        })
    }

    /// Least and greatest plausible value, where they differ.
    fn interval(&self, row: usize, size: usize, key: &str) -> Option<String> {
        let end = |end: &str| self.cell(row, size).number(&format!("{key}_{end}"));
        let (low, high) = (end("low")?, end("high")?);
        (low < high).then(|| format!("{}..{}", figure(low), figure(high)))
    }

    fn span(&self, span: &Span) -> String {
        let names: Vec<&str> = span.best.iter().map(|&row| self.0.titles[row].0.as_str()).collect();
        format!("{} at {} nodes", names.join(" and "), range(span.first, span.last))
    }

    /// Boxes and cables of variants that have no bill; `None` where there are none.
    fn counts(&self, shown: &[usize]) -> Option<Table> {
        let all = |cell: &Record, is: fn(&str) -> bool| {
            let counts = cell.fields().filter(|(key, _)| is(key)).filter_map(|(key, _)| cell.number(key));
            figure(counts.sum())
        };
        let said = |cell: &Record| {
            let switches = all(cell, |key| ["switches", "routers", "enclosures"].contains(&key));
            format!("{switches} + {}", all(cell, |key| key.ends_with("_cables")))
        };
        let mut table = self.frame("Switches + cables of what has no bill", shown, |row, size| {
            let cell = self.cell(row, size);
            if cell.get("note").is_some() { "-".to_owned() } else { said(cell) }
        });
        table.rows.retain(|row| self.unpriced(&row[0]).is_some());
        (!table.rows.is_empty()).then_some(table)
    }

    /// Why a variant has no bill at some size; `None`: it has one, or its fabric has none either.
    fn unpriced<'c>(&'c self, name: &'c str) -> Option<&'c str> {
        self.cells_of(name).find_map(|cell| cell.text("unpriced"))
    }

    fn cells_of<'c>(&'c self, name: &'c str) -> impl Iterator<Item = &'c Record> {
        self.0.cells.iter().filter(move |cell| cell.text("fabric") == Some(name))
    }

    fn injection(&self, shown: &[usize]) -> Table {
        self.frame("Share of a node's own injection limit that it gets", shown, |row, size| {
            let share = self.cell(row, size).number("injection_share");
            let split = self.split(row, size);
            share.map_or_else(|| "-".to_owned(), |share| format!("{split}{:.0}%", 100.0 * share))
        })
    }

    /// The sign at numbers of flows that are split evenly for want of their hash.
    fn split(&self, row: usize, size: usize) -> &'static str {
        if self.cell(row, size).get("fallback").is_some() { SPLIT } else { "" }
    }

    /// What limits each fabric, sizes in a row with the same limit joined.
    fn limits(&self) -> Table {
        let row = |(row, (name, _)): (usize, &(String, String))| {
            let mut spans: Vec<(&str, u32, u32)> = Vec::new();
            for (size, &nodes) in self.0.nodes.iter().enumerate() {
                let Some(limit) = self.cell(row, size).text("limiting_resource") else { continue };
                match spans.last_mut() {
                    Some((last, _, to)) if *last == limit => *to = nodes,
                    _ => spans.push((limit, nodes, nodes)),
                }
            }
            let spans = spans.into_iter().map(|(limit, from, to)| format!("{limit} {}", range(from, to)));
            vec![name.clone(), spans.collect::<Vec<_>>().join("; ")]
        };
        let rows = self.0.titles.iter().enumerate().map(row).collect();
        let columns = ["fabric", "limit at nodes"].map(str::to_owned).to_vec();
        Table { title: "What limits".to_owned(), columns, rows, notes: Vec::new() }
    }

    fn cell(&self, row: usize, size: usize) -> &Record {
        &self.0.cells[row * self.0.nodes.len() + size]
    }

    /// Which fabric overtakes which for good; `None` where none does.
    fn crossovers(&self) -> Option<Table> {
        let row = |record: Record| vec![record.number("nodes").map_or_else(String::new, figure), crossover(&record)];
        let mut rows: Vec<Vec<String>> = self.0.crossovers().into_iter().map(row).collect();
        let more = rows.len().saturating_sub(MOST_CROSSOVERS);
        rows.truncate(MOST_CROSSOVERS);
        let columns = ["from nodes", "from there on"].map(str::to_owned).to_vec();
        let notes = if more > 0 { vec![format!("{more} more in --json")] } else { Vec::new() };
        (!rows.is_empty()).then(|| Table { title: "Crossovers".to_owned(), columns, rows, notes })
    }

    /// Where prices come from, and what could not be answered.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (name, _) in &self.0.titles {
            let cells = || self.cells_of(name);
            if let Some(cell) = cells().find(|cell| cell.get("prices").is_some()) {
                let text = |key| cell.text(key).unwrap_or_default();
                let (list, date) = (text("prices"), text("prices_date"));
                let lists = list.split(OVER).zip(date.split(OVER).cycle());
                let lists: Vec<String> = lists.map(|(list, date)| format!("{list} of {date}")).collect();
                let (lists, status) = (lists.join(", and for the rest "), text("prices_status"));
                notes.push(format!("{name}: prices {lists}, {status}"));
                let assumed = cells().find_map(|cell| cell.text("prices_assumed"));
                notes.extend(assumed.map(|assumed| format!("{name}: assumed: {assumed}")));
                notes.extend(steps_of(name, cells()));
            } else if self.unpriced(name).is_none() && cells().any(|cell| cell.get("note").is_none()) {
                notes.push(format!("{name}: no prices"));
            }
            notes.extend(self.unpriced(name).map(|why| format!("{name}: no bill: {why}")));
            notes.extend(split_evenly(cells()).map(|told| format!("{SPLIT} {name}: {told}")));
            notes.extend(built_whole(cells()).map(|told| format!("{name}: {told}")));
            let unanswered: Vec<&Record> = cells().filter(|cell| cell.get("note").is_some()).collect();
            if let Some(first) = unanswered.first() {
                let at = first.number("nodes").unwrap_or_default();
                let why = first.text("note").unwrap_or_default();
                notes.push(format!("{name}: no value at {}; at {at} nodes: {why}", sizes(unanswered.len())));
            }
        }
        notes
    }
}

/// The sizes, of those compared, at which boxes are added: where cost jumps.
fn steps_of<'a>(name: &str, cells: impl Iterator<Item = &'a Record>) -> Option<String> {
    let inventories = cells.filter_map(bought).collect::<Vec<_>>();
    let steps = steps(&inventories);
    let told = steps
        .iter()
        .take(MOST_STEPS)
        .map(|(nodes, kind, boxes)| format!("{boxes} {} from {nodes} nodes", boxes_of(*kind)));
    // What was there before the first step.
    let first = inventories
        .first()
        .zip(steps.first())
        .map(|(first, (_, kind, _))| format!("{} {} at {} nodes", first.count(*kind), boxes_of(*kind), first.nodes));
    let told = first.into_iter().chain(told).collect::<Vec<_>>().join(", ");
    let more = steps.len().saturating_sub(MOST_STEPS);
    let rest = if more > 0 { format!(" and {more} steps more") } else { String::new() };
    (!steps.is_empty()).then(|| format!("{name}: {told}{rest}"))
}

fn boxes_of(kind: ItemKind) -> &'static str {
    if kind == ItemKind::Enclosure { "enclosures" } else { "switches" }
}

/// The steps in a series of inventories of growing size: the first number of nodes that takes so many boxes.
fn steps(inventories: &[Inventory]) -> Vec<(u64, ItemKind, u64)> {
    let of = |pair: &[Inventory]| {
        let boxes = [ItemKind::Switch, ItemKind::Enclosure].map(|kind| (pair[1].nodes, kind, pair[1].count(kind)));
        boxes.into_iter().filter(|(_, kind, count)| pair[0].count(*kind) != *count).collect::<Vec<_>>()
    };
    inventories.windows(2).flat_map(of).collect()
}

/// The sign at what is split evenly.
const SPLIT: &str = "~";

/// At which sizes flows are split evenly for want of their hash, and what that means for the numbers.
pub fn split_evenly<'r>(rows: impl Iterator<Item = &'r Record>) -> Option<String> {
    let told = |row: &'r Record| Some((row.number("nodes")?, row.text("fallback")?));
    let split: Vec<(f64, &str)> = rows.filter_map(told).collect();
    let nodes: Vec<String> = split.iter().map(|(nodes, _)| figure(*nodes)).collect();
    split.first().map(|(_, why)| format!("at {} nodes {why}; hashed flows get less", nodes.join(", ")))
}

/// The size that is built, where it is larger than asked for; the pieces to buy may be fewer.
pub fn built_whole<'r>(rows: impl Iterator<Item = &'r Record>) -> Option<String> {
    let larger = |row: &'r Record| {
        let (asked, built) = (row.number("nodes")?, row.number("nodes_built")?);
        (built > asked).then(|| (asked as u64, (built, row.number("nics"))))
    };
    let larger: BTreeMap<u64, (f64, Option<f64>)> = rows.filter_map(larger).collect();
    let (asked, (built, nics)) = larger.first_key_value()?;
    let bill = nics.map_or_else(String::new, |nics| format!("; its bill has {} NICs", figure(nics)));
    let others = match larger.len() - 1 {
        0 => String::new(),
        others => format!(" (likewise at {} more)", sizes(others)),
    };
    let built = figure(*built);
    Some(format!(
        "{asked} nodes are built as {built}, by whole hosts or a full cube, and all {built} send{bill}{others}"
    ))
}

fn sizes(count: usize) -> String {
    if count == 1 { "1 size".to_owned() } else { format!("{count} sizes") }
}

fn range(first: u32, last: u32) -> String {
    if first == last { first.to_string() } else { format!("{first}..{last}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_larger_is_told_with_its_bill() {
        let row = |nodes: u32, built: u32| Record::new().with("nodes", nodes).with("nodes_built", built);
        let told = |rows: &[Record]| built_whole(rows.iter());
        assert_eq!(told(&[row(16, 16)]), None);
        let whole = "13 nodes are built as 16, by whole hosts or a full cube, and all 16 send";
        // Closed form and load count of one size.
        assert_eq!(told(&[row(13, 16), row(13, 16)]).as_deref(), Some(whole));
        let bought = [row(15, 16).with("nics", 15), row(13, 16).with("nics", 13), row(16, 16).with("nics", 16)];
        assert_eq!(told(&bought), Some(format!("{whole}; its bill has 13 NICs (likewise at 1 size more)")));
    }

    #[test]
    fn sizes_of_an_even_split_are_named() {
        let row = |nodes: u32| Record::new().with("nodes", nodes);
        let rows = [row(64), row(70_000).with("fallback", "flows are split evenly"), row(80_000).with("fallback", "-")];
        let told = split_evenly(rows.iter()).unwrap();
        assert_eq!(told, "at 70000, 80000 nodes flows are split evenly; hashed flows get less");
        assert_eq!(split_evenly(rows[..1].iter()), None);
    }

    #[test]
    fn steps_are_the_sizes_at_which_a_switch_is_added() {
        let switches = |nodes: u64| if nodes <= 16 { 1 } else { 2 + (nodes.max(30) - 30).div_ceil(14) };
        let of = |nodes| Inventory { nodes, pieces: [(ItemKind::Switch, switches(nodes))].into() };
        let found = steps(&(14..34).map(of).collect::<Vec<_>>());
        assert_eq!(found, [(17, ItemKind::Switch, 2), (31, ItemKind::Switch, 3)]);
    }
}
