//! The figures of a study as SVG: one for each, a curve a fabric and series, with what the study prints where it does.
//!
//! How a point comes about is seen: packets are solid, counted loads dotted, closed forms dashed, measurements marks alone.
//! Places that span more than a factor of 32 stand on a logarithmic axis.

use crate::{Report, Row};
use hotlink_fabric::maths;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A figure as a file.
pub struct Drawing {
    /// Study, figure and quantity, with the ending.
    pub name: String,
    /// The file.
    pub svg: String,
}

/// What tells figures apart: identifier, quantity and axis.
type Figure<'a> = (&'a str, &'a str, &'static str);

/// Every figure of a report, in its order.
pub fn drawings(report: &Report) -> Vec<Drawing> {
    let mut figures: Vec<(Figure<'_>, Vec<&Row>)> = Vec::new();
    for row in &report.series {
        let Some((.., axis, _)) = row.on_axis() else { continue };
        let key = (row.id.as_str(), row.quantity.as_str(), axis);
        match figures.iter_mut().find(|(known, _)| *known == key) {
            Some((_, rows)) => rows.push(row),
            None => figures.push((key, vec![row])),
        }
    }
    let draw = |((id, quantity, axis), rows): (Figure<'_>, Vec<&Row>)| {
        let name = format!("{}_{}_{}_{axis}.svg", report.name, plain(id), plain(quantity));
        Drawing { name: name.to_lowercase(), svg: drawn(report.name, quantity, axis, &rows) }
    };
    figures.into_iter().map(draw).collect()
}

/// A name without what file systems mind.
fn plain(text: &str) -> String {
    let mut name = String::new();
    for letter in text.chars() {
        match letter.is_ascii_alphanumeric() {
            true => name.push(letter),
            false if !name.ends_with('-') && !name.is_empty() => name.push('-'),
            false => {}
        }
    }
    name.trim_end_matches('-').to_owned()
}

/// Points of a curve by place, and how they come about.
#[derive(Default)]
struct Curve {
    method: String,
    points: Vec<(f64, f64)>,
}

/// An axis: its ends, and whether it is logarithmic.
#[derive(Clone, Copy)]
struct Axis {
    low: f64,
    high: f64,
    log: bool,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64>, from_zero: bool) -> Axis {
        let finite: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let low = finite.iter().copied().fold(f64::INFINITY, f64::min);
        let high = finite.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if finite.is_empty() {
            return Axis { low: 0.0, high: 1.0, log: false };
        }
        let log = low > 0.0 && high / low > 32.0;
        let low = if from_zero && !log { low.min(0.0) } else { low };
        Axis { low, high: if high > low { high } else { low + 1.0 }, log }
    }
    /// Where a value stands, from 0 to 1.
    fn place(self, value: f64) -> f64 {
        let scale = |value: f64| if self.log { maths::ln(value.max(f64::MIN_POSITIVE)) } else { value };
        (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low))
    }
    /// Values with a mark: powers of two or ten, or steps of 1, 2 or 5.
    fn ticks(self) -> Vec<f64> {
        if self.log {
            let base: f64 = if self.high / self.low > 1e5 { 10.0 } else { 2.0 };
            let log = |value: f64| maths::ln(value) / maths::ln(base);
            let (from, to) = (log(self.low).ceil() as i32, log(self.high).floor() as i32);
            let every = ((to - from) / 10 + 1).max(1) as usize;
            return (from..=to).step_by(every).map(|power| maths::powi(base, power)).collect();
        }
        let rough = (self.high - self.low) / 6.0;
        let power = maths::powi(10.0, maths::log10(rough).floor() as i32);
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|by| by * power).find(|step| *step >= rough).unwrap_or(rough);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|at| at as f64 * step).collect()
    }
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 440.0;
/// Around the curves: left, top, right (the legend), bottom.
const ROOM: [f64; 4] = [70.0, 40.0, 250.0, 50.0];
/// Colours that people with any sight tell apart (Okabe and Ito).
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#b0a400"];

fn drawn(study: &str, quantity: &str, axis: &str, rows: &[&Row]) -> String {
    let mut curves: BTreeMap<String, Curve> = BTreeMap::new();
    let mut published: Vec<(f64, f64)> = Vec::new();
    for row in rows {
        let Some((value, name, _, place)) = row.on_axis() else { continue };
        let curve = curves.entry(name).or_default();
        row.evidence.method().clone_into(&mut curve.method);
        curve.points.push((place as f64, value));
        published.extend(row.published.as_f64().map(|value| (place as f64, value)));
    }
    let all = || curves.values().flat_map(|curve| &curve.points).chain(&published);
    let across = Axis::of(all().map(|point| point.0), false);
    let up = Axis::of(all().map(|point| point.1), true);
    let (width, height) = (WIDTH - ROOM[0] - ROOM[2], HEIGHT - ROOM[1] - ROOM[3]);
    let x = |value: f64| ROOM[0] + width * across.place(value);
    let y = |value: f64| ROOM[1] + height * (1.0 - up.place(value));
    let unit = rows.first().map_or("", |row| row.unit.as_str());
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{}\" y=\"22\" font-size=\"14\">{study}: {}, {}</text>\n",
        ROOM[0],
        escaped(quantity),
        escaped(unit)
    );
    for tick in across.ticks() {
        let (at, foot) = (x(tick), ROOM[1] + height);
        let _ = writeln!(svg, "<path d=\"M{at:.1} {:.1}V{foot:.1}\" stroke=\"#ddd\"/>", ROOM[1]);
        let _ =
            writeln!(svg, "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>", foot + 16.0, short(tick));
    }
    for tick in up.ticks() {
        let at = y(tick);
        let _ = writeln!(svg, "<path d=\"M{:.1} {at:.1}h{width:.1}\" stroke=\"#ddd\"/>", ROOM[0]);
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            ROOM[0] - 6.0,
            at + 4.0,
            short(tick)
        );
    }
    let middle = ROOM[0] + width / 2.0;
    let _ = writeln!(svg, "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{axis}</text>", HEIGHT - 12.0);
    for (at, (name, curve)) in curves.iter_mut().enumerate() {
        curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let colour = COLOURS[at % COLOURS.len()];
        let dash = match curve.method.as_str() {
            "formula" => " stroke-dasharray=\"6 3\"",
            "load" => " stroke-dasharray=\"2 3\"",
            _ => "",
        };
        let line: Vec<String> = curve.points.iter().map(|&(a, b)| format!("{:.1},{:.1}", x(a), y(b))).collect();
        if curve.method != "measured" {
            let line = line.join(" ");
            let _ = writeln!(
                svg,
                "<polyline points=\"{line}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"{dash}/>"
            );
        }
        for &(a, b) in &curve.points {
            let _ = writeln!(svg, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2\" fill=\"{colour}\"/>", x(a), y(b));
        }
        let (left, top) = (WIDTH - ROOM[2] + 14.0, ROOM[1] + 8.0 + 16.0 * at as f64);
        let _ = writeln!(svg, "<path d=\"M{left:.1} {top:.1}h22\" stroke=\"{colour}\" stroke-width=\"1.5\"{dash}/>");
        let told = format!("{} ({})", name.trim(), curve.method);
        let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", left + 28.0, top + 4.0, escaped(&told));
    }
    for &(a, b) in &published {
        let _ = writeln!(svg, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"none\" stroke=\"black\"/>", x(a), y(b));
    }
    svg.push_str("</svg>\n");
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A number on an axis.
fn short(value: f64) -> String {
    let units = [(1073741824.0, "Gi"), (1048576.0, "Mi"), (1024.0, "Ki")];
    match units.into_iter().find(|(unit, _)| value >= *unit && value % unit == 0.0) {
        Some((unit, name)) => format!("{}{name}", value / unit),
        None => format!("{}", (value * 1e6).round() / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Evidence;
    use hotlink_study::ask::Method;

    fn evidence(method: Method) -> Evidence {
        Evidence::of_inputs(method, ["x/y"])
    }

    /// A curve by packets over powers of two, one by a closed form, and a published point.
    fn report() -> Report {
        let row = |fabric: &str, method, size: u64, value: f64| {
            let row = Row::point("s15", "bandwidth against <size>", evidence(method), value, "MB/s");
            row.also("fabric", fabric).also("size_B", size)
        };
        let mut series: Vec<Row> =
            [8, 64, 512, 4096].map(|size| row("a", Method::Packet, size, size as f64 / 50.0)).into();
        series.extend([8, 4096].map(|size| row("b", Method::Formula, size, 60.0)));
        series.push(row("a", Method::Packet, 32768, 90.0).published(80.0, "MB/s"));
        series.push(Row::point("s15", "no axis", evidence(Method::Packet), 1.0, "us"));
        Report { name: "X00", title: "a study", claims: Vec::new(), series }
    }

    #[test]
    fn a_figure_is_the_golden_file() {
        let [figure] = &drawings(&report())[..] else { panic!("one figure") };
        assert_eq!(figure.name, "x00_s15_bandwidth-against-size_size_b.svg");
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/draw.svg");
        if std::env::var_os("HOTLINK_GOLDEN").is_some() {
            std::fs::write(path, &figure.svg).unwrap();
        }
        assert_eq!(figure.svg, std::fs::read_to_string(path).unwrap(), "HOTLINK_GOLDEN=write accepts a change");
    }

    #[test]
    fn axes_are_logarithmic_where_places_span_much_and_their_marks_are_round() {
        let axis = |values: &[f64]| Axis::of(values.iter().copied(), false);
        let wide = axis(&[8.0, 32768.0]);
        assert!(wide.log && wide.place(8.0) == 0.0 && wide.place(32768.0) == 1.0);
        assert_eq!(wide.ticks()[..3], [8.0, 32.0, 128.0]);
        let narrow = axis(&[2.0, 14.0]);
        assert!(!narrow.log);
        assert_eq!(narrow.ticks(), [2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0]);
        assert_eq!(axis(&[5.0]).place(5.0), 0.0);
        assert_eq!([4096.0, 1e6, 0.1 + 0.2].map(short), ["4Ki", "1000000", "0.3"]);
    }
}
