//! `hotlink reproduce`: the tables, figures and claims of a study, beside what hotlink's models give.
//!
//! It is a report: what does not hold is said, with the numbers. The exit status is 1 only if a row that is known to
//! hold no longer does.

mod measured;

use crate::face::Terminal;
use crate::progress::When;
use crate::table::{Table, figure};
use crate::verbs::measure;
use crate::words::word;
use crate::{Failure, output::Output};
use hotlink_bench::Record;
use hotlink_results::Batch;
use hotlink_seeds::{Measure, Report, Row, Study, draw, score};
use hotlink_study::words::Word;
use serde_json::Value;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink reproduce M02
  hotlink reproduce M02 K98 --json > studies.json
  hotlink reproduce K98 W01 P01 H06 M02 --figures figures/
  hotlink reproduce --score --json
  hotlink reproduce K98 --measure --json")]
pub(crate) struct Args {
    /// The studies: K98 (SCI, Myrinet and T3D at three levels, Kurmann and Stricker 1998), W01 (zero-copy message
    /// passing over SCI, Worringen, Seifert and Bemmerl 2001), M02 (throughput and cost of SCI and Myrinet, Millich,
    /// George and Oral 2002), H06 (hardware barrier, Hoefler 2006), P01 (collectives on QsNet, Petrini, Coll, Frachtenberg
    /// and Hoisie 2001), others (results of the same hardware by others).
    #[arg(value_parser = word::<Study>(), ignore_case = true, required_unless_present = "score")]
    studies: Vec<Study>,
    /// Print one line for each study (all studies if none is named): predictions, how many of them come within 10 % or lie
    /// within their own interval where that is within 25 %, orderings, fits, identities, gaps. Then a table for each
    /// study with the verdict on every claim: what does not hold first, and of that the predictions by their error.
    #[arg(long, conflicts_with_all = ["figures", "series", "measure"])]
    score: bool,
    /// Draw every figure and table as SVG into this folder, on the study's own axes: packets solid, counted loads dotted,
    /// closed forms dashed, printed values as rings.
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
    /// In the table for people, print the figures' series too (the other formats always have them).
    #[arg(long)]
    series: bool,
    /// K98, W01 and H06: measure on this machine too, beside the simulated figures. K98: deposit over shared memory,
    /// messages over shared memory and TCP, sockets, up to a minute; W01: the same benchmarks over shared memory; H06: write,
    /// device and read of a barrier over the compiled RTL.
    #[arg(long)]
    measure: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    if args.score {
        let studies = if args.studies.is_empty() { Study::ALL.to_vec() } else { args.studies.clone() };
        return score(&studies, output);
    }
    if args.figures.is_none() && !args.measure {
        output.end_with_reader();
    }
    let batch = args.figures.as_deref().map(Batch::new).transpose()?;
    reports(&args.studies, args.measure, (args.series, batch.as_ref()), output)?;
    let Some(batch) = batch else { return Ok(()) };
    let count = batch.names().len();
    batch.commit()?;
    eprintln!("hotlink: drew {count} figures");
    Ok(())
}

/// A line for each study, then each study's claims.
fn score(studies: &[Study], output: &mut Output) -> Result<(), Failure> {
    output.end_with_reader();
    let progress = output.progress("reproduce", studies.len() as u64);
    let (mut verdicts, mut lines) = (Vec::new(), Vec::new());
    for study in studies {
        let report = study.report(None)?;
        let line = score::line(&report);
        output.push(line.clone());
        lines.push(line);
        verdicts.push((report.name, score::verdicts(&report)));
        progress.step();
    }
    drop(progress);
    let cells =
        |record: &Record, keys: &[&str]| keys.iter().map(|key| record.get(key).map(text).unwrap_or_default()).collect();
    let table = |title: &str, keys: &[&str], records: &[Record]| Table {
        title: title.to_owned(),
        columns: keys.iter().map(|key| key.replace('_', " ")).collect(),
        rows: records.iter().map(|record| cells(record, keys)).collect(),
        notes: Vec::new(),
    };
    let counts = [
        "study",
        "predictions",
        "predictions_met",
        "orderings_held",
        "orderings_not_held",
        "bounds",
        "fits",
        "identities",
        "gaps",
        "shown",
    ];
    output.table(table("How the studies come out", &counts, &lines));
    let keys = [
        "id",
        "verdict",
        "kind",
        "quantity",
        "reading",
        "published",
        "reproduced",
        "unit",
        "error_pct",
        "interval_low",
        "interval_high",
    ];
    for (study, records) in &verdicts {
        output.table(table(&format!("{study}: what does not hold first"), &keys, records));
    }
    verdicts.into_iter().flat_map(|(_, records)| records).for_each(|record| output.push(record));
    Ok(())
}

/// The studies' reports.
pub(crate) fn reports(
    studies: &[Study],
    measure: bool,
    (series, figures): (bool, Option<&Batch>),
    output: &mut Output,
) -> Result<(), Failure> {
    if measure && !studies.iter().any(|study| study.can_be_measured()) {
        return Err(Failure::Input(
            "--measure: of the studies, K98, W01 and H06 have figures to take on this machine".to_owned(),
        ));
    }
    let mut regressed = Vec::new();
    let progress = output.progress("reproduce", studies.len() as u64);
    // Measured ranks are forked, which a thread that ticks must not be beside.
    let _ticking = (!measure).then(|| progress.ticking());
    for study in studies {
        let report = study.report(measure.then_some(&Own))?;
        print_report(&report, series, output);
        for drawing in figures.map_or_else(Vec::new, |_| draw::drawings(*study, &report)) {
            figures.map(|batch| batch.write(&drawing.name, &drawing.svg)).transpose()?;
        }
        regressed.extend(report.claims.iter().filter(|row| row.regressed()).map(|row| row.id.clone()));
        if measure && matches!(study, Study::K98) {
            measured::run(output)?;
        }
        progress.step();
    }
    match regressed.is_empty() {
        true => Ok(()),
        false => Err(Failure::Check(format!("known to hold, but no longer does: {}", regressed.join(", ")))),
    }
}

/// Measures with the command lines of this very program.
struct Own;

impl Measure for Own {
    fn records(&self, command: &str) -> Result<Vec<Value>, Failure> {
        let wrong = |failure: Failure| Failure::Input(format!("{command}: {failure}"));
        let records =
            measure::of_line(command.trim_start_matches("measure "), &Terminal(When::Never)).map_err(wrong)?;
        Ok(records.into_iter().map(Value::from).collect())
    }
}

fn print_report(report: &Report, with_series: bool, output: &mut Output) {
    let claims: Vec<Record> = report.claims.iter().map(|row| row.record(report.name)).collect();
    let series: Vec<Record> = report.series.iter().map(|row| row.record(report.name)).collect();
    output.table(summary(report));
    if with_series {
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
        let ends = [row.class().name().to_owned(), row.verdict().to_owned()];
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
        "\n{} rows hold, {} do not hold as printed, {} are gaps; rows of kind identity or fit are no evidence.",
        count("yes"),
        count("NO"),
        count("gap")
    ));
    notes.push("--json has every row with its conditions, and the figures' series; --series prints those, --figures draws them.".to_owned());
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
        (_, Some(text)) => shortened(text),
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
    use crate::verbs::{Verb, simulate};

    #[test]
    fn a_row_names_the_command_that_asks_its_question() {
        let questions: Vec<_> =
            [Study::K98, Study::W01, Study::Others].into_iter().flat_map(Study::questions).collect();
        assert_eq!(questions.len(), 14);
        for question in questions {
            let words = std::iter::once("hotlink").chain(question.command.split(' ')).map(Into::into);
            let cli = crate::parse(&words.collect::<Vec<_>>()).unwrap();
            let Verb::Simulate(args) = &cli.verb else { panic!("{}", question.command) };
            assert_eq!(simulate::request(args).unwrap(), question.request, "{}", question.command);
        }
    }
}
