//! Curves with their points, intervals and bounds; their names are at their ends.

use crate::{Axis, Chart};
use maud::{Markup, html};
use std::fmt::Write;

pub(crate) const WIDTH: f64 = 760.0;
pub(crate) const HEIGHT: f64 = 340.0;
pub(crate) const LEFT: f64 = 62.0;
const RIGHT: f64 = 190.0;
pub(crate) const TOP: f64 = 14.0;
const BOTTOM: f64 = 44.0;
/// Lines of text at the curves' ends are at least so far apart.
const LINE: f64 = 15.0;
/// How far drawings may reach beyond the frame: half a mark.
const BEYOND: f64 = 4.0;
pub(crate) const ACROSS: (f64, f64) = (LEFT, WIDTH - RIGHT);
pub(crate) const UPWARDS: (f64, f64) = (HEIGHT - BOTTOM, TOP);

/// How the points of a curve hang together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// By straight lines.
    Straight,
    /// A value holds up to the next.
    Steps,
    /// Not at all: each is a bar.
    Bars,
}

/// A point of a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Across.
    pub x: f64,
    /// Upwards.
    pub y: f64,
    /// Between these ends, where an interval is known.
    pub interval: Option<[f64; 2]>,
    /// The text of the point.
    pub told: String,
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its name at its end.
    pub name: String,
    /// The number of its colour; curves of one colour share a name.
    pub colour: usize,
    /// A word of the stylesheet: the source of the points.
    pub made: &'static str,
    /// How its points hang together.
    pub line: Line,
    /// Whether each point has a mark of its own.
    pub marks: bool,
    /// In the order of x.
    pub points: Vec<Point>,
    /// The bound, in the order of x.
    pub bound: Vec<(f64, f64)>,
}

/// A published value.
#[derive(Clone, Debug, PartialEq)]
pub struct Printed {
    /// Its place; `None`: at every x.
    pub x: Option<f64>,
    /// The value.
    pub y: f64,
    /// Its text.
    pub told: String,
}

/// A chart as markup; `name` labels a curve without a name.
pub fn charted(chart: &Chart, name: &str) -> Markup {
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(chart.label) { (inside(chart, name)) }
    }
}

pub(crate) fn inside(chart: &Chart, name: &str) -> Markup {
    let Chart { x, y, curves, .. } = chart;
    let (right, bottom) = (ACROSS.1, UPWARDS.0);
    let window = [LEFT - BEYOND, TOP - BEYOND, right - LEFT + 2.0 * BEYOND, bottom - TOP + 2.0 * BEYOND];
    let bars = curves.iter().filter(|curve| curve.line == Line::Bars).count();
    html! {
        (frame(x, y))
        // Parts beyond the axes are cut at the frame.
        svg x=(window[0]) y=(window[1]) width=(window[2]) height=(window[3])
            viewBox=(window.map(|number| number.to_string()).join(" ")) {
            @for (index, curve) in curves.iter().enumerate() { (drawn(curve, (index, bars), x, y)) }
            @for value in &chart.printed { (printed(value, x, y)) }
        }
        @for Name { colour, at, line, whole } in names(curves, y, name) {
            text class=(format!("name c{colour}")) x=(right + 8.0) y=(at + 4.0) {
                (line)
                @if let Some(whole) = whole { title { (whole) } }
            }
        }
    }
}

/// The axes, with the labels of their marks.
pub(crate) fn frame(x: &Axis, y: &Axis) -> Markup {
    let (right, bottom) = (ACROSS.1, UPWARDS.0);
    html! {
        @for (tick, said) in &y.ticks {
            @let at = y.at(*tick, UPWARDS);
            line .grid x1=(LEFT) x2=(right) y1=(at) y2=(at) {}
            text .tick x=(LEFT - 6.0) y=(at + 4.0) text-anchor="end" { (said) }
        }
        @for (tick, said) in &x.ticks {
            @let at = x.at(*tick, ACROSS);
            line .grid x1=(at) x2=(at) y1=(bottom) y2=(bottom + 4.0) {}
            text .tick x=(at) y=(bottom + 17.0) text-anchor="middle" { (said) }
        }
        text .axis x=((LEFT + right) / 2.0) y=(HEIGHT - 6.0) text-anchor="middle" { (x.title) }
        text .axis transform=(format!("translate(13 {}) rotate(-90)", (TOP + bottom) / 2.0)) text-anchor="middle" { (y.title) }
    }
}

fn drawn(curve: &Curve, (index, bars): (usize, usize), x: &Axis, y: &Axis) -> Markup {
    let at = |(a, b): (f64, f64)| (x.at(a, ACROSS), y.at(b, UPWARDS));
    let points: Vec<(f64, f64)> = curve.points.iter().map(|point| at((point.x, point.y))).collect();
    let bound: Vec<(f64, f64)> = curve.bound.iter().copied().map(at).collect();
    // A bar's own place among those of its word.
    let wide = 0.8 * x.pitch(ACROSS.1 - ACROSS.0) / bars.max(1) as f64;
    let aside = wide * (index as f64 - bars as f64 / 2.0);
    let foot = UPWARDS.0;
    html! {
        g class=(format!("c{} {}", curve.colour, curve.made).trim_end()) {
            @if !bound.is_empty() { path .bound d=(path(&bound, curve.line)) { title { "bound" } } }
            @if curve.line != Line::Bars { path .curve d=(path(&points, curve.line)) {} }
            @for (point, (px, py)) in curve.points.iter().zip(&points) {
                @if let Some([low, high]) = point.interval {
                    line .interval x1=(px) x2=(px) y1=(y.within(low, UPWARDS)) y2=(y.within(high, UPWARDS)) {}
                }
                @if curve.line == Line::Bars {
                    rect .bar x=(hundredth(px + aside)) y=(py) width=(hundredth(wide)) height=(hundredth(foot - py)) {
                        title { (point.told) }
                    }
                } @else if curve.marks {
                    circle cx=(px) cy=(py) r="3" { title { (point.told) } }
                }
            }
        }
    }
}

fn hundredth(value: f64) -> f64 {
    (100.0 * value).round() / 100.0
}

/// A ring, or a line where it holds at every x; beyond the axis, with its number at the frame.
fn printed(value: &Printed, x: &Axis, y: &Axis) -> Markup {
    let up = y.within(value.y, UPWARDS);
    html! {
        @match value.x {
            Some(place) => {
                @let across = x.at(place, ACROSS);
                circle .printed cx=(across) cy=(up) r="4" { title { (value.told) } }
                @if !y.holds(value.y) { text .axis x=(across + 8.0) y=(up + 8.0) { (value.y) } }
            }
            None => line .printed x1=(ACROSS.0) x2=(ACROSS.1) y1=(up) y2=(up) { title { (value.told) } },
        }
    }
}

fn path(points: &[(f64, f64)], line: Line) -> String {
    let mut path = String::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let _ = match (index, line) {
            (0, _) => write!(path, "M{x} {y}"),
            (_, Line::Steps) => write!(path, "H{x}V{y}"),
            _ => write!(path, "L{x} {y}"),
        };
    }
    path
}

/// A line of a curve's name at the curve's end.
struct Name {
    colour: usize,
    at: f64,
    line: String,
    /// The name that the line is a part of.
    whole: Option<String>,
}

/// The places of the names of curves and of their bound: at their ends, moved apart.
fn names(curves: &[Curve], y: &Axis, otherwise: &str) -> Vec<Name> {
    let last = |curve: &Curve| curve.points.last().map(|point| y.within(point.y, UPWARDS));
    let mut names: Vec<(usize, f64, &str)> = Vec::new();
    for curve in curves {
        let name = if curve.name.is_empty() { otherwise } else { &curve.name };
        // Curves of one colour share a name.
        if !names.iter().any(|(colour, _, other)| (*colour, *other) == (curve.colour, name)) {
            names.extend(last(curve).map(|at| (curve.colour, at, name)));
        }
        // Bounds that end at the same place share one.
        if let Some(at) = curve.bound.last().map(|(_, value)| y.within(*value, UPWARDS))
            && !names.iter().any(|(_, other, name)| *name == "bound" && (other - at).abs() < 1.0)
        {
            names.push((curve.colour, at, "bound"));
        }
    }
    names.sort_by(|a, b| a.1.total_cmp(&b.1));
    let lines = names.iter().flat_map(|(colour, at, name)| {
        let lines = wrapped(name);
        let whole = (lines[0] != *name).then(|| (*name).to_owned());
        lines.into_iter().map(move |line| Name { colour: *colour, at: *at, line, whole: whole.clone() })
    });
    let mut lines: Vec<Name> = lines.collect();
    let places: Vec<f64> = lines.iter().map(|name| name.at).collect();
    lines.iter_mut().zip(apart(&places)).for_each(|(name, at)| name.at = at);
    lines
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

/// A name in lines that fit next to the chart. Only a word that fits in none is cut.
fn wrapped(name: &str) -> Vec<String> {
    const MOST: usize = 28;
    let long = |text: &str| text.chars().count() > MOST;
    let mut lines: Vec<String> = Vec::new();
    for word in name.split(' ') {
        let word = if long(word) { word.chars().take(MOST - 1).chain(['…']).collect() } else { word.to_owned() };
        match lines.last_mut() {
            Some(line) if !long(&format!("{line} {word}")) => *line = format!("{line} {word}"),
            _ => lines.push(word),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_count_by_nodes_is_drawn_in_steps() {
        let points = [(0.0, 9.0), (5.0, 4.0)];
        let drawn = [Line::Steps, Line::Straight].map(|line| path(&points, line));
        assert_eq!(drawn, ["M0 9H5V4", "M0 9L5 4"]);
    }

    #[test]
    fn long_names_are_wrapped_and_none_is_lost() {
        let lines = |name| wrapped(name).join("|");
        assert_eq!(lines("slingshot-dragonfly, adaptive"), "slingshot-dragonfly,|adaptive");
        assert_eq!(lines("ib-ndr-fat-tree2, destination paths"), "ib-ndr-fat-tree2,|destination paths");
        assert_eq!((lines("two words"), lines("")), ("two words".to_owned(), String::new()));
        assert_eq!(lines(&"x".repeat(40)), format!("{}…", "x".repeat(27)));
        let name = "ib-ndr-fat-tree2, destination paths of two";
        let point = Point { x: 1.0, y: 1.0, interval: None, told: String::new() };
        let curve = Curve {
            name: name.to_owned(),
            colour: 0,
            made: "",
            line: Line::Straight,
            marks: true,
            points: vec![point],
            bound: Vec::new(),
        };
        let axis = || Axis::linear("", [0.0, 2.0], Vec::new());
        let names = names(std::slice::from_ref(&curve), &axis(), "");
        assert_eq!(names.len(), 2);
        assert!((names[1].at - names[0].at - LINE).abs() < 1e-9);
        let chart = Chart { x: axis(), y: axis(), curves: vec![curve], printed: Vec::new(), label: String::new() };
        assert_eq!(charted(&chart, "").into_string().matches(&format!("<title>{name}</title>")).count(), 2);
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
