//! Curves as SVG: units scaled, bounds dashed in their curve's colour, intervals as bars, names at the curves' ends.

use crate::scale::{self, Scale};
use crate::series::{Curve, Figure};
use hotlink_fabric::maths;
use hotlink_study::text::figure;
use maud::{Markup, html};
use std::fmt::Write;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 44.0;
/// Lines of text at the curves' ends are at least so far apart.
const LINE: f64 = 15.0;
/// More curves would hide each other: they get a chart of their own.
const MOST_CURVES: usize = 6;
/// From this ratio of the ends on, an axis is logarithmic.
const WIDE: f64 = 20.0;

/// Charts of a figure: one, or several where curves are many.
pub(crate) fn charts(figure: &Figure) -> Markup {
    let parts: Vec<&[Curve]> = figure.curves.chunks(MOST_CURVES).collect();
    let all = figure.curves.iter();
    let (x, y) = (Axis::x(figure.x_key, all.clone()), Axis::y(figure.y_key, all));
    html! {
        @for (part, curves) in parts.iter().enumerate() {
            @let which = if parts.len() > 1 { format!(" ({} of {})", part + 1, parts.len()) } else { String::new() };
            figure {
                figcaption { (capital(&scale::name(figure.y_key))) " by " (scale::name(figure.x_key)) (which) }
                (chart(curves, &x, &y))
            }
        }
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + chars.as_str())
}

/// Where numbers lie in a picture.
struct Axis {
    key: &'static str,
    low: f64,
    high: f64,
    log: bool,
    scale: Scale,
    from: f64,
    to: f64,
    ticks: Vec<f64>,
}

impl Axis {
    fn x<'a>(key: &'static str, curves: impl Iterator<Item = &'a Curve>) -> Axis {
        let mut values: Vec<f64> = curves.flat_map(|curve| curve.points.iter().map(|(x, _)| *x)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let mut axis = Axis::of(key, &values, (LEFT, WIDTH - RIGHT));
        if let (true, [first, .., last]) = (axis.log, &values[..]) {
            (axis.low, axis.high) = (*first, *last);
        }
        // What was asked for is what people look for.
        let every = values.len().div_ceil(8);
        axis.ticks = values.into_iter().step_by(every).collect();
        axis
    }

    /// By the values and bounds: an interval that reaches beyond them is cut at the frame, lest it flatten the curves.
    fn y<'a>(key: &'static str, curves: impl Iterator<Item = &'a Curve>) -> Axis {
        let ends =
            |curve: &'a Curve| curve.points.iter().map(|(_, y)| y.value).chain(curve.bound.iter().map(|(_, y)| *y));
        let values: Vec<f64> = curves.flat_map(ends).filter(|value| value.is_finite()).collect();
        Axis::of(key, &values, (HEIGHT - BOTTOM, TOP))
    }

    fn of(key: &'static str, values: &[f64], (from, to): (f64, f64)) -> Axis {
        let high = values.iter().copied().fold(f64::MIN, f64::max);
        let low = values.iter().copied().fold(f64::MAX, f64::min);
        let log = low > 0.0 && high / low > WIDE;
        let scale = scale::scale(key, if log { (low * high).sqrt() } else { high });
        let (low, high, ticks) = if log { decades(low, high, scale.by) } else { steps(low, high, scale.by) };
        Axis { key, low, high, log, scale, from, to, ticks }
    }

    fn at(&self, value: f64) -> f64 {
        let share = match self.log {
            true => maths::ln(value / self.low) / maths::ln(self.high / self.low),
            false => (value - self.low) / (self.high - self.low),
        };
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        (100.0 * (self.from + share * (self.to - self.from))).round() / 100.0
    }

    fn title(&self) -> String {
        let unit = if self.scale.unit.is_empty() || self.key.ends_with("_B") {
            String::new()
        } else {
            format!(" ({})", self.scale.unit)
        };
        format!("{}{unit}", scale::name(self.key))
    }

    /// A tick's number, in the axis's unit; of sizes each in its own.
    fn tick(&self, value: f64) -> String {
        if self.key.ends_with("_B") { scale::told(self.key, value) } else { figure(value / self.scale.by) }
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

fn chart(curves: &[Curve], x: &Axis, y: &Axis) -> Markup {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(label(curves, x, y)) {
            @for tick in &y.ticks {
                @let at = y.at(*tick);
                line .grid x1=(LEFT) x2=(right) y1=(at) y2=(at) {}
                text .tick x=(LEFT - 6.0) y=(at + 4.0) text-anchor="end" { (y.tick(*tick)) }
            }
            @for tick in &x.ticks {
                @let at = x.at(*tick);
                line .grid x1=(at) x2=(at) y1=(bottom) y2=(bottom + 4.0) {}
                text .tick x=(at) y=(bottom + 17.0) text-anchor="middle" { (x.tick(*tick)) }
            }
            text .axis x=((LEFT + right) / 2.0) y=(HEIGHT - 6.0) text-anchor="middle" { (x.title()) }
            text .axis transform=(format!("translate(13 {}) rotate(-90)", (TOP + bottom) / 2.0)) text-anchor="middle" { (y.title()) }
            @for (index, curve) in curves.iter().enumerate() { (drawn(index, curve, x, y)) }
            @for (index, at, name) in names(curves, y) {
                text class=(format!("name c{index}")) x=(right + 8.0) y=(at + 4.0) { (name) }
            }
        }
    }
}

fn drawn(index: usize, curve: &Curve, x: &Axis, y: &Axis) -> Markup {
    let colour = format!("c{index}");
    let points: Vec<(f64, f64)> = curve.points.iter().map(|(at, value)| (x.at(*at), y.at(value.value))).collect();
    let bound: Vec<(f64, f64)> = curve.bound.iter().map(|(at, value)| (x.at(*at), y.at(*value))).collect();
    html! {
        g class=(colour) {
            @if !bound.is_empty() { path .bound d=(path(&bound, curve.steps)) { title { "bound" } } }
            path .curve d=(path(&points, curve.steps)) {}
            @for ((at, value), (px, py)) in curve.points.iter().zip(&points) {
                @if value.is_interval() {
                    line .interval x1=(px) x2=(px) y1=(y.at(value.low)) y2=(y.at(value.high)) {}
                }
                circle cx=(px) cy=(py) r="3" {
                    title { (scale::told(x.key, *at)) ": " (crate::judge::interval(y.key, *value)) }
                }
            }
        }
    }
}

fn path(points: &[(f64, f64)], steps: bool) -> String {
    let mut path = String::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let _ = match (index, steps) {
            (0, _) => write!(path, "M{x} {y}"),
            (_, true) => write!(path, "H{x}V{y}"),
            (_, false) => write!(path, "L{x} {y}"),
        };
    }
    path
}

/// Where the names of curves and of their bound stand: at their ends, moved apart.
fn names(curves: &[Curve], y: &Axis) -> Vec<(usize, f64, String)> {
    let last = |curve: &Curve| curve.points.last().map(|(_, value)| y.at(value.value));
    let mut names: Vec<(usize, f64, String)> = Vec::new();
    for (index, curve) in curves.iter().enumerate() {
        let name = if curve.name.is_empty() { scale::name(y.key) } else { curve.name.clone() };
        names.extend(last(curve).map(|at| (index, at, shortened(&name))));
        // Bounds that end at the same place share one name.
        if let Some(at) = curve.bound.last().map(|(_, value)| y.at(*value))
            && !names.iter().any(|(_, other, name)| name == "bound" && (other - at).abs() < 1.0)
        {
            names.push((index, at, "bound".to_owned()));
        }
    }
    names.sort_by(|a, b| a.1.total_cmp(&b.1));
    let places: Vec<f64> = names.iter().map(|(_, at, _)| *at).collect();
    names.iter_mut().zip(apart(&places)).for_each(|(name, at)| name.1 = at);
    names
}

/// Sorted places moved so that none is nearer to the next than a line of text, and none beyond the picture's foot.
fn apart(places: &[f64]) -> Vec<f64> {
    let mut moved = places.to_vec();
    for index in 1..moved.len() {
        moved[index] = moved[index].max(moved[index - 1] + LINE);
    }
    let mut foot = HEIGHT - BOTTOM;
    for place in moved.iter_mut().rev() {
        *place = place.min(foot);
        foot = *place - LINE;
    }
    moved
}

fn shortened(name: &str) -> String {
    const MOST: usize = 28;
    match name.chars().count() > MOST {
        true => name.chars().take(MOST - 1).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

/// What a screen reader says of the chart; the table beside it holds the numbers.
fn label(curves: &[Curve], x: &Axis, y: &Axis) -> String {
    let mut said = format!("{} by {}.", scale::name(y.key), scale::name(x.key));
    for curve in curves {
        let (Some((first, from)), Some((last, to))) = (curve.points.first(), curve.points.last()) else { continue };
        let name = if curve.name.is_empty() { String::new() } else { format!("{}: ", curve.name) };
        let point = |at: f64, value: f64| format!("{} at {}", scale::told(y.key, value), scale::told(x.key, at));
        let _ = write!(said, " {name}{} to {}.", point(*first, from.value), point(*last, to.value));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round_and_hold_all_values() {
        assert_eq!(steps(3.0, 47.0, 1.0), (0.0, 50.0, vec![0.0, 10.0, 20.0, 30.0, 40.0, 50.0]));
        assert_eq!(steps(0.0, 47_000.0, 1e3).2.last(), Some(&50_000.0));
        assert_eq!(decades(0.5, 300.0, 1.0), (0.1, 1000.0, vec![0.1, 1.0, 10.0, 100.0, 1000.0]));
    }

    #[test]
    fn a_count_by_nodes_is_drawn_in_steps() {
        let points = [(0.0, 9.0), (5.0, 4.0)];
        assert_eq!((path(&points, true).as_str(), path(&points, false).as_str()), ("M0 9H5V4", "M0 9L5 4"));
    }

    proptest! {
        #[test]
        fn names_never_collide(mut places in proptest::collection::vec(TOP..HEIGHT - BOTTOM, 0..15)) {
            places.sort_by(f64::total_cmp);
            let moved = apart(&places);
            for pair in moved.windows(2) {
                prop_assert!(pair[1] - pair[0] >= LINE - 1e-9);
            }
            prop_assert!(moved.last().is_none_or(|last| *last <= HEIGHT - BOTTOM));
        }
    }
}
