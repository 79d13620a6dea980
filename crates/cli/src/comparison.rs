//! Several fabrics at several sizes: their bandwidth, cost, the best at each size, and what people read of it.

use crate::Failure;
use crate::model::{Method, QuestionArgs};
use crate::output::csv;
use crate::ranking::{Grid, Quantity, Span};
use crate::source::{Source, explain};
use crate::table::{Table, figure};
use hotlink_bench::Record;
use hotlink_fabric::Fabric;
use hotlink_fabric::catalog::{Library, status_name};
use hotlink_fabric::inventory::Inventory;
use hotlink_fabric::price::{PriceList, steps};
use hotlink_fabric::spec::ItemKind;
use std::fmt::Write;
use std::path::Path;

/// Most sizes that a table for people shows.
const MOST_SHOWN: usize = 12;
/// Most crossovers that are listed for people.
const MOST_CROSSOVERS: usize = 24;
/// Most steps of a fabric's inventory that are listed for people.
const MOST_STEPS: usize = 8;

/// A fabric with the price list that it is bought from.
pub(crate) struct Priced {
    pub(crate) source: Source,
    list: Option<PriceList>,
}

impl Priced {
    /// With the catalog's prices, overridden by those of `own`.
    pub(crate) fn new(source: Source, own: Option<&Path>) -> Result<Priced, Failure> {
        let open =
            |name: &str| Library::user().price_list(name).map_err(|mistakes| Failure::Input(explain(name, &mistakes)));
        let prices = source.spec().and_then(|spec| spec.prices.as_ref());
        let own = own.map(|path| path.to_string_lossy().into_owned()).map(|path| open(&as_path(&path))).transpose()?;
        let list = match (prices.map(|prices| open(&prices.list)).transpose()?, own) {
            (Some(list), Some(own)) => Some(list.overridden_by(own)),
            (list, _) => list,
        };
        Ok(Priced { source, list })
    }

    /// Adds what `fabric` costs.
    fn price(&self, fabric: &Fabric, record: &mut Record) -> Result<(), String> {
        let prices = self.source.spec().and_then(|spec| spec.prices.as_ref());
        let (Some(list), Some(prices)) = (&self.list, prices) else { return Ok(()) };
        let inventory = Inventory::of(fabric);
        let bill = list.bill(prices, &inventory).map_err(|error| error.to_string())?;
        let currency = &bill.currency;
        for (kind, key) in PIECES {
            if let Some(count) = inventory.pieces.get(&kind) {
                record.set(key, *count);
            }
        }
        record.set(&format!("cost_{currency}"), bill.total.units());
        record.set(&format!("cost_per_node_{currency}"), bill.per_node());
        if let Some(bandwidth) = record.number("bandwidth_per_node_MBps") {
            record.set(&format!("cost_per_MBps_{currency}"), bill.per_mbps_per_node(bandwidth));
        }
        record.set("currency", currency.as_str());
        record.set("prices", list.name.as_str());
        record.set("prices_date", bill.date.as_str());
        record.set("prices_status", status_name(bill.status));
        Ok(())
    }
}

/// Keys of a record for what is bought.
const PIECES: [(ItemKind, &str); 6] = [
    (ItemKind::Nic, "nics"),
    (ItemKind::Switch, "switches"),
    (ItemKind::Enclosure, "enclosures"),
    (ItemKind::CableNode, "node_cables"),
    (ItemKind::CableSwitch, "switch_cables"),
    (ItemKind::CableGlobal, "global_cables"),
];

/// What a priced record says is bought.
fn bought(cell: &Record) -> Option<Inventory> {
    let whole = |key: &str| cell.number(key).map(|count| count as u64);
    let pieces = PIECES.iter().filter_map(|(kind, key)| Some((*kind, whole(key)?)));
    cell.get("prices")?;
    Some(Inventory { nodes: whole("nodes")?, pieces: pieces.collect() })
}

/// A file that is there is meant before the catalog's list of that name.
fn as_path(name_or_path: &str) -> String {
    let named = name_or_path.contains('/') || !Path::new(name_or_path).is_file();
    if named { name_or_path.to_owned() } else { format!("./{name_or_path}") }
}

/// The whole comparison.
pub(crate) struct Comparison {
    titles: Vec<(String, String)>,
    nodes: Vec<u32>,
    cells: Vec<Record>,
    quantities: Vec<(Quantity, Grid)>,
}

impl Comparison {
    /// Every fabric at every size. What cannot be built at some size becomes a row with a note.
    pub(crate) fn make(
        sources: &[Priced],
        sizes: &[u32],
        question: &QuestionArgs,
        method: Method,
        step: &dyn Fn(),
    ) -> Result<Comparison, Failure> {
        let mut cells = Vec::new();
        for priced in sources {
            for &nodes in sizes {
                let cell = cell(priced, nodes, question, method, step);
                cells.push(cell.unwrap_or_else(|why| {
                    (0..question.draws()).for_each(|_| step());
                    question.unanswered(priced.source.name(), nodes, &why)
                }));
            }
        }
        if let (Some(first), true) = (cells.first(), cells.iter().all(|cell| cell.get("note").is_some())) {
            let why = first.text("note").unwrap_or_default();
            return Err(Failure::Input(format!("no fabric can be built at any of these sizes; the first: {why}")));
        }
        let titles = sources.iter().map(|priced| (priced.source.name().to_owned(), priced.source.title()));
        let titles: Vec<_> = titles.collect();
        let fabrics: Vec<String> = titles.iter().map(|(name, _)| name.clone()).collect();
        let with_grid = |quantity: Quantity| {
            let grid = Grid::new(&cells, &fabrics, sizes, &quantity);
            (quantity, grid)
        };
        let quantities = Quantity::all(&cells).into_iter().map(with_grid).collect();
        Ok(Comparison { titles, nodes: sizes.to_vec(), cells, quantities })
    }

    /// A record for every fabric and size (`kind` = `fabric`, with a mark where it is best), then the crossovers
    /// (`kind` = `crossover`).
    pub(crate) fn records(&self) -> Vec<Record> {
        let mut records = self.marked_cells();
        for (quantity, grid) in &self.quantities {
            records.extend(grid.crossovers().into_iter().map(|crossover| {
                Record::new()
                    .with("kind", "crossover")
                    .with("quantity", quantity.key.as_str())
                    .with("nodes", crossover.nodes)
                    .with("ahead_before", crossover.before)
                    .with("ahead_after", crossover.after)
                    .with("lead_changes", crossover.changes)
            }));
        }
        records
    }

    fn marked_cells(&self) -> Vec<Record> {
        let mut cells = self.cells.clone();
        for (quantity, grid) in &self.quantities {
            for size in 0..self.nodes.len() {
                for best in grid.best(size) {
                    let cell = &mut cells[best * self.nodes.len() + size];
                    cell.set(&format!("best_{}", quantity.key), true);
                }
            }
        }
        cells
    }

    /// One row for every fabric and size.
    pub(crate) fn csv(&self) -> String {
        csv(&self.marked_cells())
    }

    /// What people read: a table a quantity, what limits, the best by size, crossovers.
    pub(crate) fn tables(&self) -> Vec<Table> {
        let shown = self.shown();
        let mut tables: Vec<Table> =
            self.quantities.iter().map(|(quantity, grid)| self.table(quantity, grid, &shown)).collect();
        tables.insert(1, self.efficiency(&shown));
        tables.insert(2, self.limits());
        tables.push(self.crossovers());
        let notes = self.notes();
        if let Some(last) = tables.last_mut() {
            last.notes.extend(notes);
        }
        tables
    }

    /// A page to keep.
    pub(crate) fn summary(&self, plots: &[String]) -> String {
        let mut text = format!("# Comparison of {} interconnects\n\n", self.titles.len());
        for (name, title) in &self.titles {
            let _ = writeln!(text, "- `{name}`: {title}");
        }
        let shared = Table::of_keys(&self.cells, &["traffic", "capacities", "size_B"]);
        let _ = writeln!(text, "\n{}\n", shared.title);
        for table in self.tables() {
            text.push_str(&Table { title: format!("## {}", table.title), ..table }.markdown());
            text.push('\n');
        }
        for plot in plots {
            let _ = writeln!(text, "![{}]({plot})\n", plot.trim_end_matches(".png"));
        }
        text.push_str("Every size and value is in `compare.csv` and, with where it was made, in `compare.json`.\n");
        text
    }

    /// Indices of the sizes that tables show: all if few, else the powers of two and the ends.
    fn shown(&self) -> Vec<usize> {
        let all: Vec<usize> = (0..self.nodes.len()).collect();
        if all.len() <= MOST_SHOWN {
            return all;
        }
        let ends = [0, all.len() - 1];
        let chosen = |i: &usize| ends.contains(i) || self.nodes[*i].is_power_of_two();
        let chosen: Vec<usize> = all.iter().copied().filter(chosen).collect();
        if chosen.len() <= 2 * MOST_SHOWN { chosen } else { chosen.into_iter().step_by(2).collect() }
    }

    fn frame(&self, title: &str, shown: &[usize], cell: impl Fn(usize, usize) -> String) -> Table {
        let sizes = shown.iter().map(|&size| self.nodes[size].to_string());
        let columns = std::iter::once("nodes".to_owned()).chain(sizes).collect();
        let row = |(row, (name, _)): (usize, &(String, String))| {
            std::iter::once(name.clone()).chain(shown.iter().map(|&size| cell(row, size))).collect()
        };
        let rows = self.titles.iter().enumerate().map(row).collect();
        Table { title: title.to_owned(), columns, rows, notes: Vec::new() }
    }

    fn table(&self, quantity: &Quantity, grid: &Grid, shown: &[usize]) -> Table {
        let cell = |row: usize, size: usize| {
            let mark = if grid.best(size).contains(&row) { "*" } else { "" };
            grid.values[row][size].map_or_else(|| "-".to_owned(), |value| format!("{}{mark}", figure(value)))
        };
        let mut table = self.frame(&quantity.title, shown, cell);
        let spans: Vec<String> = grid.spans().iter().map(|span| self.span(span)).collect();
        table.notes = vec![format!("* {}: {}", quantity.superlative, spans.join("; "))];
        table
    }

    fn span(&self, span: &Span) -> String {
        let names: Vec<&str> = span.best.iter().map(|&row| self.titles[row].0.as_str()).collect();
        format!("{} {}", names.join(" and "), range(span.first, span.last))
    }

    fn efficiency(&self, shown: &[usize]) -> Table {
        self.frame("Share of a node's own injection limit that it gets", shown, |row, size| {
            let efficiency = self.cell(row, size).number("efficiency");
            efficiency.map_or_else(|| "-".to_owned(), |share| format!("{:.0}%", 100.0 * share))
        })
    }

    /// What limits each fabric, sizes in a row with the same limit joined.
    fn limits(&self) -> Table {
        let row = |(row, (name, _)): (usize, &(String, String))| {
            let mut spans: Vec<(&str, u32, u32)> = Vec::new();
            for (size, &nodes) in self.nodes.iter().enumerate() {
                let Some(limit) = self.cell(row, size).text("limiting_resource") else { continue };
                match spans.last_mut() {
                    Some((last, _, to)) if *last == limit => *to = nodes,
                    _ => spans.push((limit, nodes, nodes)),
                }
            }
            let spans = spans.into_iter().map(|(limit, from, to)| format!("{limit} {}", range(from, to)));
            vec![name.clone(), spans.collect::<Vec<_>>().join("; ")]
        };
        let rows = self.titles.iter().enumerate().map(row).collect();
        let columns = ["fabric", "limit at nodes"].map(str::to_owned).to_vec();
        Table { title: "What limits".to_owned(), columns, rows, notes: Vec::new() }
    }

    fn cell(&self, row: usize, size: usize) -> &Record {
        &self.cells[row * self.nodes.len() + size]
    }

    fn crossovers(&self) -> Table {
        let mut rows = Vec::new();
        for (quantity, grid) in &self.quantities {
            for c in grid.crossovers() {
                rows.push(vec![
                    c.nodes.to_string(),
                    c.after,
                    c.before,
                    quantity.superlative.clone(),
                    c.changes.to_string(),
                ]);
            }
        }
        let more = rows.len().saturating_sub(MOST_CROSSOVERS);
        rows.truncate(MOST_CROSSOVERS);
        let columns = ["from nodes", "stays ahead", "of", "in", "lead changes"].map(str::to_owned).to_vec();
        let notes = if more > 0 { vec![format!("{more} more in --json")] } else { Vec::new() };
        Table { title: "Crossovers".to_owned(), columns, rows, notes }
    }

    /// Where prices come from, and what could not be answered.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (name, _) in &self.titles {
            let cells = || self.cells.iter().filter(|cell| cell.text("fabric") == Some(name));
            if let Some(cell) = cells().find(|cell| cell.get("prices").is_some()) {
                let text = |key| cell.text(key).unwrap_or_default();
                let (list, date) = (text("prices"), text("prices_date"));
                notes.push(format!("{name}: prices {list} of {date}, {}", text("prices_status")));
                notes.extend(steps_of(name, cells()));
            } else if cells().any(|cell| cell.get("note").is_none()) {
                notes.push(format!("{name}: no prices"));
            }
            let built = cells().filter(|cell| cell.number("nodes_built") > cell.number("nodes")).count();
            if built > 0 {
                notes.push(format!("{name}: at {} the model is the next full cube (nodes_built)", sizes(built)));
            }
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
    let inventories: Vec<Inventory> = cells.filter_map(bought).collect();
    let steps = steps(&inventories);
    let told = steps.iter().take(MOST_STEPS).map(|step| {
        let boxes = if step.kind == ItemKind::Enclosure { "enclosures" } else { "switches" };
        format!("{} {boxes} from {} nodes", step.to, step.nodes)
    });
    let told = told.collect::<Vec<_>>().join(", ");
    let more = steps.len().saturating_sub(MOST_STEPS);
    let rest = if more > 0 { format!(" and {more} steps more") } else { String::new() };
    (!steps.is_empty()).then(|| format!("{name}: {told}{rest}"))
}

fn sizes(count: usize) -> String {
    if count == 1 { "1 size".to_owned() } else { format!("{count} sizes") }
}

fn range(first: u32, last: u32) -> String {
    if first == last { first.to_string() } else { format!("{first}..{last}") }
}

/// One fabric at one size.
fn cell(
    priced: &Priced,
    nodes: u32,
    question: &QuestionArgs,
    method: Method,
    step: &dyn Fn(),
) -> Result<Record, String> {
    let fabric = priced.source.build(nodes)?;
    let spec = priced.source.spec().filter(|_| method == Method::Formula);
    let (mut record, fabric) = match spec.and_then(|spec| question.by_formula(spec, nodes)) {
        Some(record) => (record, fabric),
        None => question.by_load(fabric, step).map(|(record, counted)| (record, counted.fabric))?,
    };
    priced.price(&fabric, &mut record)?;
    Ok(Record::new().with("kind", "fabric").followed_by(record))
}
