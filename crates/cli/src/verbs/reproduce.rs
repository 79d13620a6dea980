//! `hotlink reproduce`: the tables, figures and claims of a study, beside what hotlink's models give.
//!
//! It is a report: what does not hold is said, with the numbers. The exit status is 1 only if a row that is known to
//! hold no longer does.

mod h06;
mod k98;
mod m02;
mod p01;
mod simulated;
mod w01;

use crate::table::{Table, figure};
use crate::{Failure, output::Output};
use hotlink_bench::Record;
use hotlink_fabric::catalog::Claim;
use serde_json::Value;
use std::io::Write;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink reproduce M02
  hotlink reproduce M02 K98 --json > studies.json
  hotlink reproduce K98 --measure --json")]
pub(crate) struct Args {
    /// The studies: K98 (SCI, Myrinet and T3D at three levels, Kurmann and Stricker 1998), W01 (zero-copy message
    /// passing over SCI, Worringen, Seifert and Bemmerl 2001), M02 (throughput and cost of SCI and Myrinet, Millich,
    /// George and Oral 2002), H06 (hardware barrier, Hoefler 2006), P01 (collectives on QsNet, Petrini, Coll, Frachtenberg
    /// and Hoisie 2001).
    #[arg(value_enum, ignore_case = true, required = true)]
    studies: Vec<Study>,
    /// In the table for people, print the figures' series too (the other formats always have them).
    #[arg(long)]
    figures: bool,
    /// K98 and W01: measure on this machine too, beside the simulated figures. K98: deposit over shared memory, messages
    /// over shared memory and TCP, sockets, up to a minute; W01: the same benchmarks over shared memory.
    #[arg(long)]
    measure: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Study {
    /// SCI versus Myrinet versus T3D: deposit, message passing, TCP/IP.
    #[value(name = "K98")]
    K98,
    /// Zero-copy message passing over SCI.
    #[value(name = "W01")]
    W01,
    /// Throughput models and cost of SCI and Myrinet.
    #[value(name = "M02")]
    M02,
    /// A hardware barrier for small commodity clusters.
    #[value(name = "H06")]
    H06,
    /// Collectives by hardware and software on QsNet.
    #[value(name = "P01")]
    P01,
}

/// What a row says about the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The model gives it from inputs that were not fitted to it.
    Prediction,
    /// An input of the model, or fitted to the very claim: no evidence.
    Calibrated,
    /// Who is ahead of whom, and where that changes.
    Ordering,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Prediction => "prediction",
            Kind::Calibrated => "calibrated",
            Kind::Ordering => "ordering",
        }
    }
}

/// One quantity or claim of a study beside what the models give.
#[derive(Clone, Debug)]
pub(super) struct Row {
    id: String,
    quantity: String,
    published: Value,
    reproduced: Value,
    unit: String,
    kind: Kind,
    /// Whether the claim holds in the model; `None`: nothing to hold (a point of a series, a gap).
    holds: Option<bool>,
    /// What `holds` is known to be.
    expected: Option<bool>,
    conditions: String,
    more: Vec<(&'static str, Value)>,
}

impl Row {
    /// A row for `claim`; nothing is reproduced yet.
    pub(super) fn new(claim: &Claim, kind: Kind) -> Row {
        let published = claim.value.parse::<f64>().map_or_else(|_| Value::from(claim.value.clone()), Value::from);
        Row {
            id: claim.id.clone(),
            quantity: format!("{}: {}", claim.system, claim.quantity),
            published,
            reproduced: Value::Null,
            unit: claim.unit.clone(),
            kind,
            holds: None,
            expected: None,
            conditions: claim.conditions.clone(),
            more: Vec::new(),
        }
    }
    /// A point of a series, of which the study prints no number.
    pub(super) fn point(id: &str, quantity: &str, kind: Kind, value: f64, unit: &str) -> Row {
        Row {
            id: id.to_owned(),
            quantity: quantity.to_owned(),
            published: Value::Null,
            reproduced: value.into(),
            unit: unit.to_owned(),
            kind,
            holds: None,
            expected: None,
            conditions: String::new(),
            more: Vec::new(),
        }
    }
    /// The model's answer.
    pub(super) fn reproduced(mut self, value: impl Into<Value>) -> Row {
        self.reproduced = value.into();
        self
    }
    /// Where the claim is a text, the number in it.
    pub(super) fn published(mut self, number: f64, unit: &str) -> Row {
        (self.published, self.unit) = (number.into(), unit.to_owned());
        self
    }
    /// The unit of the model's answer where the claim has none.
    pub(super) fn in_unit(mut self, unit: &str) -> Row {
        self.unit = unit.to_owned();
        self
    }
    /// Whether it holds; it is known to.
    pub(super) fn holds(mut self, holds: bool) -> Row {
        (self.holds, self.expected) = (Some(holds), Some(true));
        self
    }
    /// It holds if the numbers differ by at most `percent`.
    pub(super) fn within(self, percent: f64) -> Row {
        let close = self.error_pct().is_some_and(|error| error.abs() <= percent);
        self.holds(close).also("tolerance_pct", percent)
    }
    /// It is known not to hold.
    pub(super) fn known_not_to_hold(mut self) -> Row {
        self.expected = Some(false);
        self
    }
    /// How the claim is read, where it can be read in several ways.
    pub(super) fn reading(self, reading: &str) -> Row {
        self.also("reading", reading)
    }
    /// Conditions and how the number comes about.
    pub(super) fn under(mut self, conditions: impl AsRef<str>) -> Row {
        let separator = if self.conditions.is_empty() { "" } else { "; " };
        self.conditions = format!("{}{separator}{}", self.conditions, conditions.as_ref());
        self
    }
    /// Another key.
    pub(super) fn also(mut self, key: &'static str, value: impl Into<Value>) -> Row {
        self.more.push((key, value.into()));
        self
    }
    /// Not reproduced, and why.
    pub(super) fn gap(self, reason: &str) -> Row {
        self.also("gap", reason)
    }

    /// Value, fabric and nodes of a point.
    pub(super) fn placed(&self) -> Option<(f64, String, u64)> {
        let (fabric, nodes) = (self.key("fabric")?.as_str()?, self.key("nodes")?.as_u64()?);
        Some((self.reproduced.as_f64()?, fabric.to_owned(), nodes))
    }

    /// Value, curve, axis and place on it of a point of a figure.
    fn on_axis(&self) -> Option<(f64, String, &'static str, u64)> {
        let fabric = self.key("fabric")?.as_str()?;
        let series = self.key("series").and_then(Value::as_str).map(|series| format!(" {series}"));
        let at = |axis: &'static str| Some((axis, self.key(axis)?.as_u64()?));
        let (axis, place) = ["busy_us", "nodes", "stride", "size_B"].into_iter().find_map(at)?;
        Some((self.reproduced.as_f64()?, format!("{fabric}{}", series.unwrap_or_default()), axis, place))
    }

    fn key(&self, key: &str) -> Option<&Value> {
        self.more.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    fn error_pct(&self) -> Option<f64> {
        let (published, reproduced) = (self.published.as_f64()?, self.reproduced.as_f64()?);
        (published != 0.0).then(|| (reproduced - published) / published * 100.0)
    }

    fn verdict(&self) -> &'static str {
        match (self.holds, self.key("gap")) {
            (Some(true), _) => "yes",
            (Some(false), _) => "NO",
            (None, Some(_)) => "gap",
            (None, None) => "",
        }
    }

    fn regressed(&self) -> bool {
        self.expected == Some(true) && self.holds == Some(false)
    }

    fn record(&self, study: &str) -> Record {
        let mut record = Record::new()
            .with("study", study)
            .with("id", self.id.clone())
            .with("quantity", self.quantity.clone())
            .with("published", self.published.clone())
            .with("reproduced", self.reproduced.clone())
            .with("unit", self.unit.clone())
            .with("error_pct", self.error_pct())
            .with("kind", self.kind.name())
            .with("holds", self.holds)
            .with("known_to_hold", self.expected)
            .with("conditions", self.conditions.clone());
        if !self.reproduced.is_null() {
            record.set("method", "formula");
        }
        self.more.iter().for_each(|(key, value)| record.set(key, value.clone()));
        record
    }
}

/// What a study's module gives.
pub(super) struct Report {
    name: &'static str,
    title: &'static str,
    claims: Vec<Row>,
    series: Vec<Row>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    if args.measure && !args.studies.iter().any(|study| matches!(study, Study::K98 | Study::W01)) {
        return Err(Failure::Input(
            "--measure: of the studies, K98 and W01 have figures to take on this machine".to_owned(),
        ));
    }
    let mut regressed = Vec::new();
    let progress = output.progress("reproduce", args.studies.len() as u64);
    // Measured ranks are forked, which a thread that ticks must not be beside.
    let _ticking = (!args.measure).then(|| progress.ticking());
    for study in &args.studies {
        let report = match study {
            Study::K98 => k98::report()?,
            Study::W01 => w01::report(args.measure)?,
            Study::M02 => m02::report()?,
            Study::H06 => h06::report()?,
            Study::P01 => p01::report()?,
        };
        print_report(&report, args.figures, output);
        regressed.extend(report.claims.iter().filter(|row| row.regressed()).map(|row| row.id.clone()));
        if args.measure && matches!(study, Study::K98) {
            k98::measured::run(output)?;
        }
        progress.step();
    }
    if regressed.is_empty() {
        return Ok(());
    }
    // The report is printed all the same: it says what changed.
    let _ = std::io::stdout().write_all(output.render()?.as_bytes());
    Err(Failure::Check(format!("known to hold, but no longer does: {}", regressed.join(", "))))
}

fn print_report(report: &Report, figures: bool, output: &mut Output) {
    let claims: Vec<Record> = report.claims.iter().map(|row| row.record(report.name)).collect();
    let series: Vec<Record> = report.series.iter().map(|row| row.record(report.name)).collect();
    output.table(summary(report));
    if figures {
        for figure in tables_of(&report.series) {
            output.table(figure);
        }
    }
    claims.into_iter().chain(series).for_each(|record| output.push(record));
}

/// The claims, for people; what does not hold is explained below.
fn summary(report: &Report) -> Table {
    let heads = ["id", "quantity", "reading", "published", "reproduced", "unit", "error %", "kind", "holds"];
    let rows = report.claims.iter().map(|row| {
        let reading = row.key("reading").map(text).unwrap_or_default();
        let error = row.error_pct().map(|error| format!("{error:.1}")).unwrap_or_default();
        let cells = [&row.quantity, &reading, &text(&row.published), &text(&row.reproduced), &row.unit, &error];
        let cells = cells.map(|cell| shortened(cell));
        let ends = [row.kind.name().to_owned(), row.verdict().to_owned()];
        std::iter::once(row.id.clone()).chain(cells).chain(ends).collect()
    });
    let count = |verdict| report.claims.iter().filter(|row| row.verdict() == verdict).count();
    let told = report.claims.iter().filter(|row| matches!(row.verdict(), "NO" | "gap"));
    let mut notes: Vec<String> = vec![String::new()];
    notes.extend(told.map(|row| {
        let why = row.key("gap").and_then(Value::as_str).unwrap_or(&row.conditions);
        let reading = row.key("reading").map(|reading| format!(" ({})", text(reading))).unwrap_or_default();
        format!("{} {}{reading}: {why}", row.verdict(), row.id)
    }));
    notes.push(format!(
        "\n{} rows hold, {} do not hold as printed, {} are gaps; calibrated rows are inputs or fitted, no evidence.",
        count("yes"),
        count("NO"),
        count("gap")
    ));
    notes.push("--json has every row with its conditions, and the figures' series; --figures prints those.".to_owned());
    let columns = heads.map(str::to_owned).to_vec();
    Table { title: format!("{}: {}", report.name, report.title), columns, rows: rows.collect(), notes }
}

/// At most 44 characters.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(44) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}\u{2026}", &text[..at]),
    }
}

fn text(value: &Value) -> String {
    match (value.as_f64(), value.as_str()) {
        (Some(number), _) => figure(number),
        (_, Some(text)) => text.to_owned(),
        _ => String::new(),
    }
}

/// One table a figure: nodes, strides or sizes down, curves across.
fn tables_of(series: &[Row]) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut rest = series;
    while let Some(first) = rest.first() {
        let same = rest.iter().take_while(|row| (&row.id, &row.quantity) == (&first.id, &first.quantity)).count();
        let (points, others) = rest.split_at(same);
        tables.push(table_of(points));
        rest = others;
    }
    tables
}

fn table_of(points: &[Row]) -> Table {
    let placed: Vec<_> = points.iter().filter_map(Row::on_axis).collect();
    let mut curves: Vec<&str> = Vec::new();
    for (_, curve, ..) in &placed {
        if !curves.contains(&curve.as_str()) {
            curves.push(curve);
        }
    }
    let axis = placed.first().map_or("", |(_, _, axis, _)| axis);
    let mut places: Vec<u64> = placed.iter().map(|(.., place)| *place).collect();
    places.sort_unstable();
    places.dedup();
    let cell = |at: u64, name: &str| {
        let point = placed.iter().find(|(_, curve, _, place)| *place == at && curve == name);
        point.map(|(value, ..)| figure(*value)).unwrap_or_default()
    };
    let row = |at: u64| std::iter::once(at.to_string()).chain(curves.iter().map(|name| cell(at, name))).collect();
    let title = points.first().map(|row| format!("{}, {}", row.quantity, row.unit)).unwrap_or_default();
    let columns = std::iter::once(axis).chain(curves.iter().copied()).map(str::to_owned).collect();
    Table { title, columns, rows: places.iter().map(|at| row(*at)).collect(), notes: vec![] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim() -> Claim {
        let text = |text: &str| text.to_owned();
        let (id, system, quantity, value) = (text("G000"), text("x"), text("y"), text("64"));
        Claim { id, system, quantity, value, unit: text("nodes"), conditions: String::new(), source: text("M02") }
    }

    #[test]
    fn only_a_row_known_to_hold_regresses() {
        let row = || Row::new(&claim(), Kind::Ordering);
        assert!(row().reproduced(80.0).within(10.0).regressed());
        assert!(!row().reproduced(60.0).within(10.0).regressed());
        assert!(!row().reproduced(80.0).within(10.0).known_not_to_hold().regressed());
        assert!(!row().gap("later").regressed());
    }

    #[test]
    fn an_error_needs_two_numbers() {
        assert_eq!(Row::new(&claim(), Kind::Prediction).reproduced(80.0).error_pct(), Some(25.0));
        assert_eq!(Row::new(&claim(), Kind::Prediction).reproduced("none").error_pct(), None);
    }
}
