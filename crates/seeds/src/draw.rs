//! The figures and tables of a study as SVG, on the study's own axes: our curves, with what the study prints where it does.
//!
//! The style shows the origin of a point: packets are solid, counted loads dotted, closed forms dashed, and
//! measurements marks alone. A study's printed value is a ring, or a black line where it holds at every place. Values
//! beyond a printed axis are cut there, and named below.

use crate::sheets::{self, Across, Mark, Sheet, Shows, Side, Upwards};
use crate::{Report, Row, Study};
use hotlink_chart::{Axis, Chart, Curve, Line, Point, Printed, Table};
use hotlink_fabric::maths;
use hotlink_study::text::figure;
use serde_json::Value;

/// More points than these need no marks of their own.
const MANY: usize = 40;

/// A figure as a file.
pub struct Drawing {
    /// Study and figure, with the ending.
    pub name: String,
    /// The file.
    pub svg: String,
}

/// Every figure and table of a report, in the study's order.
pub fn drawings(study: Study, report: &Report) -> Vec<Drawing> {
    let named = |sheet: &Sheet| format!("{}_{}.svg", study.name(), sheet.name).to_lowercase();
    sheets::of(study).iter().map(|sheet| Drawing { name: named(sheet), svg: drawn(sheet, report) }).collect()
}

fn drawn(sheet: &Sheet, report: &Report) -> String {
    match &sheet.shows {
        Shows::Curves { points, x, y, printed } => {
            let rows: Vec<&Row> = report.series.iter().filter(|row| is_of(row, *points)).collect();
            let printed: Vec<Printed> = printed.iter().flat_map(|mark| marked(mark, report)).collect();
            charted(sheet.title, curves(&rows, key_of(x)), across(x), y, printed)
        }
        Shows::Bars { claims, y } => {
            let rows: Vec<&Row> = report.claims.iter().filter(|row| row.id == *claims).collect();
            let (curves, fabrics) = bars(&rows);
            let words = fabrics.into_iter().enumerate().map(|(place, fabric)| (place as f64, fabric)).collect();
            charted(sheet.title, curves, Axis::words("", words), y, Vec::new())
        }
        Shows::Values(id) => {
            let rows: Vec<&Row> = report.series.iter().filter(|row| row.id == *id).collect();
            hotlink_chart::file(sheet.title, Err(&values(&rows)), &[])
        }
        Shows::Claims(ids) => {
            let all = report.claims.iter().filter(|row| ids.is_empty() || ids.contains(&row.id.as_str()));
            hotlink_chart::file(sheet.title, Err(&claims(&all.collect::<Vec<_>>())), &[])
        }
    }
}

/// Whether a point belongs to a figure.
fn is_of(row: &Row, (id, quantity): (&str, &str)) -> bool {
    row.id == id && row.quantity.starts_with(quantity)
}

fn key_of(x: &Side<Across>) -> &'static str {
    match x.ends {
        Across::Words(key, _) | Across::Powers(key, ..) | Across::Ratios(key, _) | Across::Linear(key, _) => key,
    }
}

fn text<'a>(row: &'a Row, key: &str) -> &'a str {
    row.key(key).and_then(Value::as_str).unwrap_or_default()
}

fn number(row: &Row, key: &str) -> Option<f64> {
    row.key(key).and_then(Value::as_f64)
}

/// One for each fabric, series and engine; where a point has the result of counted loads, one for those, too.
fn curves(rows: &[&Row], key: &str) -> Vec<Curve> {
    let mut all: Vec<Curve> = Vec::new();
    let mut colours: Vec<String> = Vec::new();
    let of_one = rows.windows(2).all(|two| text(two[0], "fabric") == text(two[1], "fabric"));
    for row in rows {
        let Some(x) = number(row, key) else { continue };
        let name = match (text(row, "fabric"), text(row, "series")) {
            (fabric, "") => fabric.to_owned(),
            (_, series) if of_one => series.to_owned(),
            (fabric, series) => format!("{fabric} {series}"),
        };
        let colour = colours.iter().position(|known| *known == name).unwrap_or_else(|| {
            colours.push(name.clone());
            colours.len() - 1
        });
        let made = row.evidence.method();
        for (made, value) in [(made, row.reproduced.as_f64()), ("load", number(row, "counted"))] {
            let Some(y) = value else { continue };
            let point = Point { x, y, interval: None, told: format!("{name}: {} at {}", figure(y), short(x)) };
            match all.iter_mut().find(|curve| (curve.colour, curve.made) == (colour, made)) {
                Some(curve) => curve.points.push(point),
                None => all.push(Curve {
                    name: name.clone(),
                    colour,
                    made,
                    line: Line::Straight,
                    marks: true,
                    points: vec![point],
                    bound: Vec::new(),
                }),
            }
        }
    }
    for curve in &mut all {
        curve.points.sort_by(|a, b| a.x.total_cmp(&b.x));
        curve.marks = curve.points.len() <= MANY;
    }
    all
}

/// One for each series, and the fabrics that they stand over.
fn bars(rows: &[&Row]) -> (Vec<Curve>, Vec<String>) {
    let mut fabrics: Vec<String> = Vec::new();
    let mut all: Vec<Curve> = Vec::new();
    for row in rows {
        let (fabric, series) = (text(row, "fabric"), text(row, "series"));
        let place = fabrics.iter().position(|known| known == fabric).unwrap_or_else(|| {
            fabrics.push(fabric.to_owned());
            fabrics.len() - 1
        });
        let Some(y) = row.reproduced.as_f64() else { continue };
        let point = Point { x: place as f64, y, interval: None, told: format!("{fabric}, {series}: {}", figure(y)) };
        match all.iter_mut().find(|curve| curve.name == series) {
            Some(curve) => curve.points.push(point),
            None => all.push(Curve {
                name: series.to_owned(),
                colour: all.len(),
                made: row.evidence.method(),
                line: Line::Bars,
                marks: true,
                points: vec![point],
                bound: Vec::new(),
            }),
        }
    }
    (all, fabrics)
}

/// What the study prints there.
fn marked<'a>(mark: &'a Mark, report: &'a Report) -> impl Iterator<Item = Printed> + use<'a> {
    let of = report.claims.iter().filter(|row| row.id == mark.claim && text(row, "reading").starts_with(mark.reading));
    let value = of.filter_map(|row| Some((row.published.as_f64()?, row))).take(1);
    value.map(|(y, row)| Printed { x: mark.at, y, told: format!("printed: {}, {} {}", row.quantity, y, row.unit) })
}

fn charted(title: &str, curves: Vec<Curve>, x: Axis, y: &Side<Upwards>, printed: Vec<Printed>) -> String {
    let highest = curves.iter().flat_map(|curve| &curve.points).map(|point| point.y).fold(0.0, f64::max);
    let lowest = curves.iter().flat_map(|curve| &curve.points).map(|point| point.y).fold(f64::INFINITY, f64::min);
    let mut notes = Vec::new();
    let up = match y.ends {
        Upwards::To(top, step) => Axis::linear(y.title, [0.0, top], ticks([0.0, top, step])),
        Upwards::Lost => {
            notes.push("The study's own axis upwards is lost.".to_owned());
            let step = round(highest / 6.0);
            let top = step * (highest / step).ceil().max(1.0);
            Axis::linear(y.title, [0.0, top], ticks([0.0, top, step]))
        }
        Upwards::Free => {
            let ends = [lowest, highest].map(|value| maths::ln(value) / maths::ln(2.0));
            let (low, high) = (ends[0].floor() as i32, ends[1].ceil() as i32);
            let powers = (low..=high).map(|power| maths::powi(2.0, power));
            let ends = [maths::powi(2.0, low), maths::powi(2.0, high)];
            Axis::log(y.title, ends, powers.map(|value| (value, figure(value))).collect())
        }
    };
    for curve in &curves {
        let beyond = curve.points.iter().filter(|point| !up.holds(point.y) || !x.holds(point.x));
        if let Some(most) = beyond.max_by(|a, b| a.y.total_cmp(&b.y)) {
            notes.push(format!("Beyond the axes: {} ({})", most.told, curve.made));
        }
    }
    let label = format!("{title}: {} curves", curves.len());
    hotlink_chart::file(title, Ok((&Chart { x, y: up, curves, printed, label }, y.title)), &notes)
}

fn across(x: &Side<Across>) -> Axis {
    match &x.ends {
        Across::Words(_, words) => {
            Axis::words(x.title, words.iter().map(|word| (*word as f64, word.to_string())).collect())
        }
        Across::Powers(_, first, last) => {
            let powers = (*first..=*last).map(|power| maths::powi(2.0, power as i32));
            Axis::words(x.title, powers.map(|value| (value, short(value))).collect())
        }
        Across::Ratios(_, [low, high, base]) => {
            let powers = std::iter::successors(Some(*low), |at| Some(at * base).filter(|at| at <= high));
            Axis::log(x.title, [*low, *high], powers.map(|value| (value, short(value))).collect())
        }
        Across::Linear(_, ends) => Axis::linear(x.title, [ends[0], ends[1]], ticks(*ends)),
    }
}

/// Marks after each step.
fn ticks([low, high, step]: [f64; 3]) -> Vec<(f64, String)> {
    let count = ((high - low) / step).round() as i32;
    (0..=count).map(|at| low + step * f64::from(at)).map(|value| (value, figure(value))).collect()
}

/// A round step of at least so much.
fn round(rough: f64) -> f64 {
    let power = maths::powi(10.0, maths::log10(rough.max(f64::MIN_POSITIVE)).floor() as i32);
    [1.0, 2.0, 5.0].into_iter().map(|by| by * power).find(|step| *step >= rough).unwrap_or(10.0 * power)
}

/// A size on an axis.
fn short(value: f64) -> String {
    let units = [(1_048_576.0, "M"), (1024.0, "k")];
    match units.into_iter().find(|(unit, _)| value >= *unit && value % unit == 0.0) {
        Some((unit, name)) => format!("{}{name}", value / unit),
        None => figure(value),
    }
}

/// A row for each series and size, a column for each quantity.
fn values(rows: &[&Row]) -> Table {
    let mut heads: Vec<String> = Vec::new();
    let mut lines: Vec<(String, Vec<(usize, String)>)> = Vec::new();
    for row in rows {
        let head = format!("{} ({})", row.quantity, row.unit);
        let column = heads.iter().position(|known| *known == head).unwrap_or_else(|| {
            heads.push(head);
            heads.len() - 1
        });
        let name = format!("{}, {}", text(row, "series"), short(number(row, "size_B").unwrap_or_default()));
        let cell = (column, told(&row.reproduced));
        match lines.iter_mut().find(|(known, _)| *known == name) {
            Some((_, cells)) => cells.push(cell),
            None => lines.push((name, vec![cell])),
        }
    }
    let cell = |cells: &[(usize, String)], column: usize| {
        cells.iter().find(|(at, _)| *at == column).map(|(_, text)| text.clone()).unwrap_or_default()
    };
    let row = |(name, cells): &(String, Vec<(usize, String)>)| {
        std::iter::once(name.clone()).chain((0..heads.len()).map(|column| cell(cells, column))).collect()
    };
    let rows = lines.iter().map(row).collect();
    Table { heads: std::iter::once("series, message".to_owned()).chain(heads.iter().cloned()).collect(), rows }
}

/// What is printed, what the models give, and what that is worth.
fn claims(rows: &[&Row]) -> Table {
    let line = |row: &&Row| {
        let reading = text(row, "reading");
        let quantity = if reading.is_empty() { row.quantity.clone() } else { format!("{} ({reading})", row.quantity) };
        let error = row.error_pct().map(|error| format!("{error:.1}")).unwrap_or_default();
        let cells = [quantity, told(&row.published), told(&row.reproduced), row.unit.clone(), error];
        let cells = cells.map(|cell| shortened(&cell));
        let ends = [row.class().name(), row.verdict()].map(str::to_owned);
        std::iter::once(row.id.clone()).chain(cells).chain(ends).collect()
    };
    let heads = ["id", "quantity", "printed", "ours", "unit", "error %", "kind", "holds"].map(str::to_owned).into();
    Table { heads, rows: rows.iter().map(line).collect() }
}

fn told(value: &Value) -> String {
    match (value.as_f64(), value.as_str()) {
        (Some(number), _) => figure(number),
        (_, Some(text)) => text.to_owned(),
        _ => String::new(),
    }
}

/// At most 48 letters.
fn shortened(text: &str) -> String {
    const MOST: usize = 48;
    match text.chars().count() > MOST {
        true => text.chars().take(MOST - 1).chain(['\u{2026}']).collect(),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Evidence;
    use hotlink_study::ask::Method;

    #[test]
    fn engines_of_one_fabric_share_a_colour_and_no_line() {
        let row = |method, nodes: u64, value: f64| {
            let row = Row::point("G107", "x", Evidence::of_inputs(method, ["x/y"]), value, "MB/s");
            row.also("fabric", "a").also("nodes", nodes)
        };
        let rows = [
            row(Method::Formula, 4, 2.0).also("counted", 1.5),
            row(Method::Formula, 2, 3.0),
            row(Method::Packet, 2, 1.0),
        ];
        let found = curves(&rows.iter().collect::<Vec<_>>(), "nodes");
        let made: Vec<(&str, usize, Vec<f64>)> = found
            .iter()
            .map(|curve| (curve.made, curve.colour, curve.points.iter().map(|point| point.y).collect()))
            .collect();
        assert_eq!(made, [("formula", 0, vec![3.0, 2.0]), ("load", 0, vec![1.5]), ("packet", 0, vec![1.0])]);
    }

    #[test]
    fn what_leaves_the_printed_axis_is_said() {
        let row = Row::point("G018", "s19", Evidence::of_inputs(Method::Packet, ["x/y"]), 103.0, "MB/s");
        let row = row.also("fabric", "k98-myrinet").also("series", "direct").also("stride", 1u64);
        let report = Report { name: "K98", title: "", claims: Vec::new(), series: vec![row] };
        let sheet = sheets::of(Study::K98).iter().find(|sheet| sheet.name == "s19").expect("a figure");
        assert!(drawn(sheet, &report).contains("Beyond the axes: direct: 103 at 1 (packet)"));
    }

    #[test]
    fn steps_are_round() {
        assert_eq!([0.7, 3.0, 45.0, 0.06].map(round), [1.0, 5.0, 50.0, 0.1]);
        assert_eq!([4096.0, 1_048_576.0, 48.0].map(short), ["4k", "1M", "48"]);
    }
}
