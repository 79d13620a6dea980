//! Studies on paper: how they come out, each one's claims and figures.

use crate::table::{Table, figure};
use hotlink_bench::Record;
use hotlink_seeds::{Report, Row};
use serde_json::Value;

/// What a study's line counts.
const COUNTS: [&str; 13] = [
    "study",
    "predictions",
    "predictions_met",
    "met_today",
    "orderings_held",
    "orderings_not_held",
    "bounds",
    "fits",
    "identities",
    "gaps",
    "shown",
    "read_on_page",
    "recalled",
];
/// The columns of a claim.
const VERDICT: [&str; 12] = [
    "id",
    "verdict",
    "kind",
    "quantity",
    "reading",
    "published",
    "predicted",
    "reproduced",
    "unit",
    "error_pct",
    "interval_low",
    "interval_high",
];

/// The scores of studies, and what does not hold of each.
pub fn scores(lines: &[Record], verdicts: &[(&str, Vec<Record>)]) -> Vec<Table> {
    let cells =
        |record: &Record, keys: &[&str]| keys.iter().map(|key| record.get(key).map(text).unwrap_or_default()).collect();
    let table = |title: &str, keys: &[&str], records: &[Record]| Table {
        title: title.to_owned(),
        columns: keys.iter().map(|key| key.replace('_', " ")).collect(),
        rows: records.iter().map(|record| cells(record, keys)).collect(),
        notes: Vec::new(),
    };
    let all = table("How the studies come out", &COUNTS, lines);
    let each =
        verdicts.iter().map(|(study, records)| table(&format!("{study}: what does not hold first"), &VERDICT, records));
    std::iter::once(all).chain(each).collect()
}

/// A study's claims, and its figures where they are asked for.
pub fn tables(report: &Report, with_series: bool) -> Vec<Table> {
    let figures = if with_series { tables_of(&report.series) } else { Vec::new() };
    std::iter::once(summary(report)).chain(figures).collect()
}

/// The claims, for people; what does not hold is explained below.
fn summary(report: &Report) -> Table {
    // Verdicts on predictions go by the number that was on file, not by today's.
    let has_file = report.claims.iter().any(|row| row.on_file().is_some());
    let on_file: &[&str] = if has_file { &["predicted", "off %"] } else { &[] };
    let heads = ["id", "quantity", "reading", "published", "reproduced", "unit", "error %"];
    let heads = heads.iter().chain(on_file).chain(&["kind", "holds"]);
    let percent = |off: Option<f64>| off.map(percent).unwrap_or_default();
    let mut long: Vec<String> = Vec::new();
    let rows = report.claims.iter().map(|row| {
        let reading = row.key("reading").map(text).unwrap_or_default();
        let mut told = Vec::new();
        let mut placed = |name: &str, said: String, most: usize| match said.chars().count() > most {
            true => {
                told.push(format!("{name}: {said}"));
                BELOW.to_owned()
            }
            false => said,
        };
        let [reading, published, reproduced] = [
            placed("reading", reading, READING),
            placed("published", whole(&row.published), VALUE),
            placed("reproduced", whole(&row.reproduced), VALUE),
        ];
        if !told.is_empty() {
            long.push(format!("{}: {}", row.id, told.join("; ")));
        }
        let quantity = shortened(&row.quantity);
        let cells = [quantity, reading, published, reproduced, row.unit.clone(), percent(row.error_pct())];
        let predicted =
            row.on_file().map(|number| [figure(number), percent(row.judged_error_pct())]).unwrap_or_default();
        let predicted = predicted.into_iter().filter(|_| has_file);
        // The kind of a gap says that it is one.
        let verdict = if row.verdict() == row.class().name() { "-" } else { row.verdict() };
        let ends = [row.class().name().to_owned(), verdict.to_owned()];
        std::iter::once(row.id.clone()).chain(cells).chain(predicted).chain(ends).collect()
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let count = |verdict| report.claims.iter().filter(|row| row.verdict() == verdict).count();
    let told = report.claims.iter().filter(|row| matches!(row.verdict(), "NO" | "gap"));
    let mut notes: Vec<String> = vec![String::new()];
    notes.extend(long);
    notes.extend(told.map(|row| {
        let on_file = row.on_file().map(|number| {
            let (off, today) = (percent(row.judged_error_pct()), percent(row.error_pct()));
            format!("{} was predicted, {off} % off; today's model is {today} % off", figure(number))
        });
        let conditions = Some(row.conditions.clone()).filter(|why| !why.is_empty());
        let why = row.key("gap").and_then(Value::as_str).map(str::to_owned);
        let why = why.unwrap_or_else(|| on_file.into_iter().chain(conditions).collect::<Vec<_>>().join("; "));
        let reading = row.key("reading").map(|reading| format!(" ({})", text(reading))).unwrap_or_default();
        format!("{} {}{reading}: {why}", row.verdict(), row.id)
    }));
    let gaps = match count("gap") {
        1 => "1 is a gap".to_owned(),
        gaps => format!("{gaps} are gaps"),
    };
    notes.push(format!(
        "\n{} rows hold, {} do not hold as printed, {gaps}; rows of kind identity or fit are no evidence.",
        count("yes"),
        count("NO")
    ));
    notes.push("--json has every row with its conditions, and the figures' series; --series prints those, --figures draws them.".to_owned());
    let columns = heads.map(|head| (*head).to_owned()).collect();
    Table { title: format!("{}: {}", report.name, report.title), columns, rows, notes }
}

/// In place of a text that stands in a line below the table.
const BELOW: &str = "(below)";
/// Letters of a value and of a reading; longer ones would make the table wider than a page.
const VALUE: usize = 18;
const READING: usize = 28;

/// To a tenth; what rounds to nothing has no sign.
fn percent(off: f64) -> String {
    let said = format!("{off:.1}");
    if said == "-0.0" { "0.0".to_owned() } else { said }
}

/// At most 44 characters.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(44) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}\u{2026}", &text[..at]),
    }
}

fn whole(value: &Value) -> String {
    value.as_str().map_or_else(|| text(value), str::to_owned)
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

/// What was measured of K98 on this machine.
pub fn here(records: &[Record]) -> Table {
    let text =
        |record: &Record, keys: &[&str]| keys.iter().find_map(|key| record.text(key)).unwrap_or_default().to_owned();
    let row = |record: &Record| {
        // Sockets have records of latency too; K98's figures are rates.
        record.number("bandwidth_MBps")?;
        let words = [&["quantity"][..], &["via"], &["memory"], &["series", "semantics", "protocol"]]
            .map(|keys| text(record, keys));
        let numbers = ["stride", "size_B", "bandwidth_MBps"];
        let numbers = numbers.map(|key| record.number(key).map(figure).unwrap_or_default());
        Some(words.into_iter().chain(numbers).collect())
    };
    let heads = ["figure", "via", "memory", "series", "stride", "bytes", "MB/s"];
    let note = "Memory and kernel of this machine in place of K98's networks: shapes compare, rates do not.";
    Table {
        title: "K98 on this machine, measured".to_owned(),
        columns: heads.map(str::to_owned).to_vec(),
        rows: records.iter().filter_map(row).collect(),
        notes: vec![note.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_rounds_to_nothing_has_no_sign() {
        assert_eq!([-0.04, 0.04, -0.06].map(percent), ["0.0", "0.0", "-0.1"]);
    }

    #[test]
    fn a_long_text_stands_below_the_table_in_full() {
        let study = hotlink_seeds::Study::H06;
        let report = study.report(None).unwrap();
        let table = summary(&report);
        let said = "G067: published: init read; toggle; write; read until toggled; reproduced: 1 write; 1 read";
        assert!(table.notes.iter().any(|note| note.starts_with(said)), "{:?}", table.notes);
        let widest =
            table.text().lines().take_while(|line| !line.starts_with("G065:")).map(|line| line.chars().count()).max();
        assert!(widest.is_some_and(|widest| widest <= 150), "{widest:?}");
    }
}
