//! Curves of a page: units scaled, bounds dotted in their curve's colour, intervals as bars, names at the curves' ends.

use crate::judge;
use crate::quantity::Between;
use crate::scale::{self, Scale};
use crate::series::{self, Figure};
use hotlink_chart::{Axis, Chart, Curve, Line, Point, Printed, charted};
use hotlink_fabric::maths;
use hotlink_study::text::figure;
use maud::{Markup, html};
use std::collections::BTreeSet;
use std::fmt::Write;

/// More curves would hide each other: they get a chart of their own.
const MOST_CURVES: usize = 6;
/// What a letter of a number takes of an axis across.
const LETTER_SHARE: f64 = 0.013;
/// From this ratio of the ends on, an axis is logarithmic.
const WIDE: f64 = 20.0;

/// Charts of a figure: one, or several where curves are many.
pub(crate) fn charts(figure: &Figure) -> Markup {
    let parts: Vec<&[series::Curve]> = figure.curves.chunks(MOST_CURVES).collect();
    let (x, y) = (across(figure), upwards(figure));
    let value = called(figure);
    html! {
        @for (part, curves) in parts.iter().enumerate() {
            @let which = if parts.len() > 1 { format!(" ({} of {})", part + 1, parts.len()) } else { String::new() };
            figure {
                figcaption { (capital(&value)) " by " (scale::name(figure.x_key)) (which) }
                (charted(&Chart {
                    x: x.clone(),
                    y: y.clone(),
                    curves: curves.iter().enumerate().map(|(colour, curve)| drawn(figure, curve, colour)).collect(),
                    printed: curves.iter().flat_map(|curve| &curve.fallbacks).map(ringed).collect(),
                    label: label(figure, curves),
                }, &value))
                @for why in fallbacks(curves) { p .note { "Ringed: " (why) "." } }
                @for said in of_intervals(figure, curves, &y) { p .note { (said) } }
            }
        }
    }
}

/// What a reader cannot see of the intervals: ends beyond the axis, and points of which none was computed.
fn of_intervals(figure: &Figure, curves: &[series::Curve], y: &Axis) -> Vec<&'static str> {
    let points = || curves.iter().flat_map(|curve| &curve.points).map(|(_, value)| value);
    let is_cut = points().any(|value| !y.holds(value.low) || !y.holds(value.high));
    let is_partly =
        figure.is_range && points().any(Between::is_interval) && curves.iter().any(|curve| curve.unknown > 0);
    let cut = "Arrow at the frame: the interval goes on beyond the axis. The table has both ends.";
    let partly = "A point without a bar: its interval was not computed (--sensitivity computes all).";
    [(is_cut, cut), (is_partly, partly)].into_iter().filter_map(|(holds, said)| holds.then_some(said)).collect()
}

fn ringed((x, y, why): &(f64, f64, String)) -> Printed {
    Printed { x: Some(*x), y: *y, told: why.clone() }
}

/// Why points are ringed, each reason once.
fn fallbacks(curves: &[series::Curve]) -> BTreeSet<&str> {
    curves.iter().flat_map(|curve| curve.fallbacks.iter().map(|(_, _, why)| why.as_str())).collect()
}

/// What a figure shows: money with its year.
fn called(figure: &Figure) -> String {
    let year = figure.year.as_ref().map_or_else(String::new, |year| format!(" in prices of {year}"));
    format!("{}{year}", scale::name(&figure.y_key))
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + chars.as_str())
}

fn drawn(figure: &Figure, curve: &series::Curve, colour: usize) -> Curve {
    let point = |(x, value): &(f64, Between)| Point {
        x: *x,
        y: value.value,
        interval: value.is_interval().then_some([value.low, value.high]),
        told: format!("{}: {}", scale::told(figure.x_key, *x), judge::interval(&figure.y_key, *value)),
    };
    Curve {
        name: curve.name.clone(),
        colour,
        made: "",
        line: if curve.steps { Line::Steps } else { Line::Straight },
        marks: true,
        points: curve.points.iter().map(point).collect(),
        bound: curve.bound.clone(),
    }
}

fn across(figure: &Figure) -> Axis {
    let mut values: Vec<f64> = figure.curves.iter().flat_map(|curve| curve.points.iter().map(|(x, _)| *x)).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let mut range = Range::of(figure.x_key, &values);
    if let [first, .., last] = &values[..] {
        (range.low, range.high) = (*first, *last);
        // Where even steps have more room by their differences.
        let least = |place: fn(f64) -> f64| {
            let gaps = values.windows(2).map(|two| place(two[1]) - place(two[0]));
            gaps.fold(f64::MAX, f64::min) / (place(*last) - place(*first))
        };
        range.log = range.log && least(maths::ln) > least(|value| value);
    }
    range.ticks = range.told(&values);
    // Intervals of several curves lie beside each other, at the ends too.
    range.widen();
    range.axis()
}

/// By the values and bounds. An interval of a measurement that reaches beyond them is cut at the frame, lest it flatten
/// the curves. The range from prices and other inputs is drawn to its ends.
fn upwards(figure: &Figure) -> Axis {
    let ends = |curve: &series::Curve| {
        let bounds = curve.bound.iter().map(|(_, y)| *y);
        let ranges = curve.points.iter().filter(|_| figure.is_range).flat_map(|(_, y)| [y.low, y.high]);
        curve.points.iter().map(|(_, y)| y.value).chain(bounds).chain(ranges).collect::<Vec<f64>>()
    };
    let values: Vec<f64> = figure.curves.iter().flat_map(ends).filter(|value| value.is_finite()).collect();
    let range = Range::of(&figure.y_key, &values);
    // Numbers with a unit each need the room, and the chart's caption says what they are.
    let is_named = !range.each_unit();
    let mut axis = range.axis();
    axis.title.retain(|_| is_named);
    axis
}

/// An axis from nothing to the greatest of `values`, called `key`.
pub(crate) fn axis(key: &str, values: &[f64]) -> Axis {
    let high = values.iter().copied().fold(f64::MIN, f64::max);
    let scale = scale::scale(key, high);
    let (low, high, ticks) = steps(0.0, high, scale.by);
    Range { key, low, high, log: false, scale, ticks }.axis()
}

/// The numbers that an axis shows.
struct Range<'a> {
    key: &'a str,
    low: f64,
    high: f64,
    log: bool,
    scale: Scale,
    ticks: Vec<f64>,
}

impl<'a> Range<'a> {
    fn of(key: &'a str, values: &[f64]) -> Range<'a> {
        let high = values.iter().copied().fold(f64::MIN, f64::max);
        let low = values.iter().copied().fold(f64::MAX, f64::min);
        let log = low > 0.0 && high / low > WIDE;
        let scale = scale::scale(key, if log { (low * high).sqrt() } else { high });
        let (low, high, ticks) = if log { decades(low, high, scale.by) } else { steps(low, high, scale.by) };
        Range { key, low, high, log, scale, ticks }
    }

    fn axis(self) -> Axis {
        let ticks = self.ticks.iter().map(|tick| (*tick, self.tick(*tick))).collect();
        let of = if self.log { Axis::log } else { Axis::linear };
        of(self.title(), [self.low, self.high], ticks)
    }

    /// Those of ascending values that have room for their numbers: the ends, and between them as many as there can be.
    /// What was asked for is what people look for.
    fn told(&self, values: &[f64]) -> Vec<f64> {
        let [first, .., last] = values else { return values.to_vec() };
        let across = |value: f64| if self.log { maths::ln(value) } else { value };
        let span = across(self.high) - across(self.low);
        let room = |value: f64| LETTER_SHARE * (self.tick(value).chars().count() as f64 + 2.0) * span;
        let apart = |a: f64, b: f64| across(b) - across(a) >= 0.5 * (room(a) + room(b));
        let mut kept = vec![*last];
        for value in values[1..values.len() - 1].iter().rev() {
            if apart(*value, kept[kept.len() - 1]) && apart(*first, *value) {
                kept.push(*value);
            }
        }
        kept.extend(apart(*first, *last).then_some(*first));
        kept.reverse();
        kept
    }

    /// Makes room at both ends.
    fn widen(&mut self) {
        const ROOM: f64 = 0.04;
        if self.log {
            let by = maths::exp(ROOM * maths::ln(self.high / self.low));
            (self.low, self.high) = (self.low / by, self.high * by);
        } else {
            let by = ROOM * (self.high - self.low);
            (self.low, self.high) = (self.low - by, self.high + by);
        }
    }

    /// Whether each number has a unit of its own: sizes, and rates over many powers of ten.
    fn each_unit(&self) -> bool {
        self.key.ends_with("_B") || self.log && self.key.ends_with("_MBps") && self.high > 1e3
    }

    fn title(&self) -> String {
        let unit = if self.scale.unit.is_empty() || self.each_unit() {
            String::new()
        } else {
            format!(" ({})", self.scale.unit)
        };
        format!("{}{unit}", scale::name(self.key))
    }

    /// A tick's number, in the axis's unit or in its own.
    fn tick(&self, value: f64) -> String {
        if self.each_unit() { scale::told(self.key, value) } else { figure(value / self.scale.by) }
    }
}

/// Powers of ten around the values, in the axis's unit.
fn decades(low: f64, high: f64, by: f64) -> (f64, f64, Vec<f64>) {
    let (first, last) = (maths::log10(low / by).floor() as i32, maths::log10(high / by).ceil() as i32);
    let ticks: Vec<f64> = (first..=last).map(|power| by * maths::powi(10.0, power)).collect();
    (ticks[0], ticks[ticks.len() - 1], ticks)
}

/// Round steps from 0 or from below the least value.
fn steps(low: f64, high: f64, by: f64) -> (f64, f64, Vec<f64>) {
    let high = if high > 0.0 { high / by } else { 1.0 };
    let raw = high / 5.0;
    let power = maths::powi(10.0, maths::log10(raw).floor() as i32);
    let step = [1.0, 2.0, 5.0, 10.0].iter().map(|m| m * power).find(|step| *step >= raw).unwrap_or(raw);
    let first = (low.min(0.0) / by / step).floor() as i32;
    let last = (high / step - 1e-9).ceil() as i32;
    let ticks: Vec<f64> = (first..=last).map(|n| by * step * f64::from(n)).collect();
    (ticks[0], ticks[ticks.len() - 1], ticks)
}

/// The text of the chart for a screen reader; the table next to it holds the numbers.
fn label(figure: &Figure, curves: &[series::Curve]) -> String {
    let mut said = format!("{} by {}.", called(figure), scale::name(figure.x_key));
    for curve in curves {
        let (Some((first, from)), Some((last, to))) = (curve.points.first(), curve.points.last()) else { continue };
        let name = if curve.name.is_empty() { String::new() } else { format!("{}: ", curve.name) };
        let point =
            |at: f64, value: f64| format!("{} at {}", scale::told(&figure.y_key, value), scale::told(figure.x_key, at));
        let _ = write!(said, " {name}{} to {}", point(*first, from.value), point(*last, to.value));
        if let (Some((first, from)), Some((last, to))) = (curve.bound.first(), curve.bound.last()) {
            let _ = write!(said, "; its bound {} to {}", point(*first, *from), point(*last, *to));
        }
        said.push('.');
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_holds_what_prices_allow_and_the_year_is_told() {
        let mut figure = Figure {
            x_key: "nodes",
            y_key: "cost_per_node_USD".to_owned(),
            year: Some("2025".to_owned()),
            is_range: true,
            curves: series::drawn_for_tests(&[(64.0, [3000.0, 5500.0, 6875.0])]),
        };
        assert!(upwards(&figure).holds(6875.0));
        assert!(charts(&figure).into_string().contains("Cost per node in prices of 2025 by nodes"));
        let note = |figure: &Figure| of_intervals(figure, &figure.curves, &upwards(figure)).concat();
        assert_eq!(note(&figure), "");
        figure.curves[0].unknown = 1;
        assert!(note(&figure).contains("was not computed"), "{}", note(&figure));
        figure.is_range = false;
        assert!(!upwards(&figure).holds(6875.0), "a measurement's interval is cut");
        assert!(note(&figure).contains("goes on beyond the axis"), "{}", note(&figure));
        let arrow = "l4-5l4 5";
        assert!(charts(&figure).into_string().contains(arrow), "{}", charts(&figure).into_string());
    }

    #[test]
    fn ticks_are_round_and_hold_all_values() {
        assert_eq!(steps(3.0, 47.0, 1.0), (0.0, 50.0, vec![0.0, 10.0, 20.0, 30.0, 40.0, 50.0]));
        assert_eq!(steps(0.0, 47_000.0, 1e3).2.last(), Some(&50_000.0));
        assert_eq!(decades(0.5, 300.0, 1.0), (0.1, 1000.0, vec![0.1, 1.0, 10.0, 100.0, 1000.0]));
    }

    #[test]
    fn numbers_across_are_those_computed_and_have_room() {
        let told = |key, values: &[f64]| {
            let range = Range::of(key, values);
            range.told(values)
        };
        assert_eq!(told("nodes", &[64.0, 128.0, 512.0]), [64.0, 128.0, 512.0]);
        let many: Vec<f64> = (1..=100).map(|count| 5.0 * f64::from(count)).collect();
        let some = told("nodes", &many);
        assert!((some[0], some[some.len() - 1]) == (5.0, 500.0) && (6..20).contains(&some.len()), "{some:?}");
        assert_eq!(told("nodes", &[500.0, 501.0]), [501.0]);
        let sizes = told("size_B", &[8.0, 16.0, 1_048_576.0]);
        assert_eq!((sizes[0], sizes[sizes.len() - 1]), (8.0, 1_048_576.0));
        let axis = Range::of("bandwidth_MBps", &[2.0, 50_000.0]);
        let said: Vec<String> = axis.ticks.iter().map(|tick| axis.tick(*tick)).collect();
        assert_eq!(said, ["1 MB/s", "10 MB/s", "100 MB/s", "1 GB/s", "10 GB/s", "100 GB/s"]);
        assert_eq!(axis.title(), "bandwidth");
    }
}
