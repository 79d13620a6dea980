//! Curves with their points, intervals and bounds; their names are at their ends.

use crate::{Axis, Chart, look};
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
/// Intervals at one place across are at most so far apart.
const APART: f64 = 8.0;
/// The width of an interval in the stylesheets.
const INTERVAL: f64 = 4.0;
/// From the frame to a name that has a mark before it.
const NAMED: f64 = 20.0;
/// Shapes of marks.
const SHAPES: usize = 6;
/// Colours of a file's stylesheet. A page draws fewer curves in one chart.
const COLOURS: usize = 10;
/// Marks at most of a curve that has none at its points, where its colour alone does not tell it.
const FEW: usize = 8;
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
        svg viewBox=(format!("0 0 {WIDTH} {}", height(chart, name))) role="img" aria-label=(chart.label) {
            (inside(chart, name))
        }
    }
}

/// Its height: names that have no room beside the frame go on below its foot.
pub(crate) fn height(chart: &Chart, name: &str) -> f64 {
    let last = names(&chart.curves, &chart.y, name).last().map_or(0.0, |name| name.at);
    HEIGHT.max(last + LINE)
}

pub(crate) fn inside(chart: &Chart, name: &str) -> Markup {
    let Chart { x, y, curves, .. } = chart;
    let (right, bottom) = (ACROSS.1, UPWARDS.0);
    let window = [LEFT - BEYOND, TOP - BEYOND, right - LEFT + 2.0 * BEYOND, bottom - TOP + 2.0 * BEYOND];
    let bars = curves.iter().filter(|curve| curve.line == Line::Bars).count();
    let aside = aside(curves, x, y);
    let (thin, alone) = (thin(&aside), curves.len() == 1);
    html! {
        (frame(x, y))
        // Parts beyond the axes are cut at the frame.
        svg x=(window[0]) y=(window[1]) width=(window[2]) height=(window[3])
            viewBox=(window.map(|number| number.to_string()).join(" ")) {
            @for (index, curve) in curves.iter().enumerate() { (drawn(curve, (index, bars, aside[index]), thin.as_deref(), x, y)) }
            @for value in &chart.printed { (printed(value, x, y)) }
        }
        @for Name { colour, at, line, whole, shape } in names(curves, y, name) {
            @if let (Some(shape), false) = (shape, alone) {
                g class=(look(colour, COLOURS).0) { (mark(shape, (right + 11.0, at), None)) }
            }
            text class=(format!("name {}", look(colour, COLOURS).0)) x=(right + if alone { 8.0 } else { NAMED }) y=(at + 4.0) {
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

/// How wide an interval is where curves are moved so far: those of the next curve are not touched.
fn thin(aside: &[f64]) -> Option<String> {
    let mut moved = aside.to_vec();
    moved.sort_by(f64::total_cmp);
    moved.dedup();
    let step = moved.windows(2).map(|two| two[1] - two[0]).fold(f64::MAX, f64::min);
    (0.8 * step < INTERVAL).then(|| format!("stroke-width: {}", hundredth(0.8 * step)))
}

/// How far each curve is moved sideways, so that intervals at one place across lie beside each other.
fn aside(curves: &[Curve], x: &Axis, y: &Axis) -> Vec<f64> {
    let ends = |curve: &Curve| -> Vec<(f64, f64, f64)> {
        let known = curve.points.iter().filter_map(|point| Some((point.x, point.interval?)));
        let end = |value| y.within(value, UPWARDS);
        known.map(|(at, [low, high])| (x.at(at, ACROSS), end(high) - BEYOND, end(low) + BEYOND)).collect()
    };
    // A curve in steps has a place at each number: none is left beside it.
    let all: Vec<_> =
        curves.iter().map(|curve| if curve.line == Line::Straight { ends(curve) } else { vec![] }).collect();
    let meet = |(at, top, foot): &(f64, f64, f64), other: &[(f64, f64, f64)]| {
        other.iter().any(|(place, above, below)| (place - at).abs() < 1.0 && top < below && above < foot)
    };
    let is_met = |index: usize| {
        let others = all.iter().enumerate().filter(|(other, _)| *other != index);
        others.into_iter().any(|(_, other)| all[index].iter().any(|interval| meet(interval, other)))
    };
    let moved: Vec<usize> = (0..curves.len()).filter(|index| is_met(*index)).collect();
    let mut places: Vec<f64> = moved.iter().flat_map(|index| all[*index].iter().map(|(at, ..)| *at)).collect();
    places.sort_by(f64::total_cmp);
    let pitch = places.windows(2).map(|two| two[1] - two[0]).filter(|gap| *gap >= 1.0).fold(f64::MAX, f64::min);
    let step = APART.min(0.8 * pitch / moved.len() as f64);
    let middle = (moved.len() as f64 - 1.0) / 2.0;
    let place = |index| moved.iter().position(|one| *one == index);
    (0..curves.len()).map(|index| place(index).map_or(0.0, |place| hundredth(step * (place as f64 - middle)))).collect()
}

fn drawn(curve: &Curve, (index, bars, beside): (usize, usize, f64), thin: Option<&str>, x: &Axis, y: &Axis) -> Markup {
    let at = |(a, b): (f64, f64)| (hundredth(x.at(a, ACROSS) + beside), y.at(b, UPWARDS));
    let points: Vec<(f64, f64)> = curve.points.iter().map(|point| at((point.x, point.y))).collect();
    let bound: Vec<(f64, f64)> = curve.bound.iter().copied().map(at).collect();
    // A bar's own place among those of its word.
    let wide = 0.8 * x.pitch(ACROSS.1 - ACROSS.0) / bars.max(1) as f64;
    let aside = wide * (index as f64 - bars as f64 / 2.0);
    let foot = UPWARDS.0;
    let (colour, again) = look(curve.colour, COLOURS);
    let every = if curve.marks { 1 } else { points.len().div_ceil(FEW) };
    html! {
        g class=(format!("{colour} {}", curve.made).trim_end()) {
            @if !bound.is_empty() { path .bound d=(path(&bound, curve.line)) { title { "bound" } } }
            @if curve.line != Line::Bars { path .curve d=(path(&points, curve.line)) {} }
            @for (at, (point, (px, py))) in curve.points.iter().zip(&points).enumerate() {
                @if let Some([low, high]) = point.interval {
                    line .interval style=[thin] x1=(px) x2=(px) y1=(y.within(low, UPWARDS)) y2=(y.within(high, UPWARDS)) {}
                    // An arrow at the frame says that it goes on.
                    @if !y.holds(high) { path .curve d=(format!("M{} {}l4-5l4 5", px - 4.0, UPWARDS.1 + 5.0)) { title { (point.told) } } }
                    @if !y.holds(low) { path .curve d=(format!("M{} {}l4 5l4-5", px - 4.0, UPWARDS.0 - 5.0)) { title { (point.told) } } }
                }
                @if curve.line == Line::Bars {
                    rect .bar x=(hundredth(px + aside)) y=(py) width=(hundredth(wide)) height=(hundredth(foot - py)) {
                        title { (point.told) }
                    }
                } @else if curve.marks || again > 0 && at % every == 0 {
                    (mark(curve.shape(), (*px, *py), Some(&point.told)))
                }
            }
        }
    }
}

/// A mark of a shape at a place. The first shape is a disc. Curves that tell what made them have another where colours
/// begin again.
pub(crate) fn mark(shape: usize, (x, y): (f64, f64), told: Option<&str>) -> Markup {
    let shape = shape % SHAPES;
    // Of one area, so that none looks heavier.
    let outline = match shape {
        1 => "m-2.7-2.7h5.4v5.4h-5.4z",
        2 => "m0-3.8l3.8 3.8l-3.8 3.8l-3.8-3.8z",
        3 => "m0-3.9l3.8 6.4h-7.6z",
        4 => "m0 3.9l3.8-6.4h-7.6z",
        _ => "m-1.3-4h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7v-2.6h2.7z",
    };
    html! {
        @if shape == 0 {
            circle cx=(x) cy=(y) r="3" { @if let Some(told) = told { title { (told) } } }
        } @else {
            path .mark d=(format!("M{x} {y}{outline}")) { @if let Some(told) = told { title { (told) } } }
        }
    }
}

impl Curve {
    /// The number of its marks' shape.
    fn shape(&self) -> usize {
        let (_, again) = look(self.colour, COLOURS);
        if self.made.is_empty() { self.colour + again } else { again }
    }

    /// Whether its name has its mark before it.
    fn is_marked(&self) -> bool {
        self.marks && self.made.is_empty() || self.colour >= COLOURS
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
    /// The shape of the curve's marks, at a curve's first line.
    shape: Option<usize>,
}

/// The places of the names of curves and of their bound: at their ends, moved apart.
fn names(curves: &[Curve], y: &Axis, otherwise: &str) -> Vec<Name> {
    let last = |curve: &Curve| curve.points.last().map(|point| y.within(point.y, UPWARDS));
    let mut names: Vec<(usize, f64, &str, Option<usize>)> = Vec::new();
    for curve in curves {
        let name = if curve.name.is_empty() { otherwise } else { &curve.name };
        // Curves of one colour share a name.
        if !names.iter().any(|(colour, _, other, _)| (*colour, *other) == (curve.colour, name)) {
            let shape = curve.is_marked().then(|| curve.shape());
            names.extend(last(curve).map(|at| (curve.colour, at, name, shape)));
        }
        // Bounds that end at the same place share one.
        if let Some(at) = curve.bound.last().map(|(_, value)| y.within(*value, UPWARDS))
            && !names.iter().any(|(_, other, name, _)| *name == "bound" && (other - at).abs() < 1.0)
        {
            names.push((curve.colour, at, "bound", None));
        }
    }
    names.sort_by(|a, b| a.1.total_cmp(&b.1));
    let lines = names.iter().flat_map(|(colour, at, name, shape)| {
        let lines = wrapped(name);
        let whole = (lines[0] != *name).then(|| (*name).to_owned());
        lines.into_iter().enumerate().map(move |(index, line)| {
            let shape = shape.filter(|_| index == 0);
            Name { colour: *colour, at: *at, line, whole: whole.clone(), shape }
        })
    });
    let mut lines: Vec<Name> = lines.collect();
    let places: Vec<f64> = lines.iter().map(|name| name.at).collect();
    lines.iter_mut().zip(apart(&places)).for_each(|(name, at)| name.at = at);
    lines
}

/// Sorted places moved so that none is nearer to the next than a line of text, and none above the frame. They end at its
/// foot, or below it where they are too many.
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
    let mut head = TOP;
    for place in &mut moved {
        *place = place.max(head);
        head = *place + LINE;
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

    fn curve(colour: usize, points: &[(f64, f64)]) -> Curve {
        let point =
            |(x, y): &(f64, f64)| Point { x: *x, y: *y, interval: Some([0.5 * y, 1.5 * y]), told: String::new() };
        let points: Vec<Point> = points.iter().map(point).collect();
        let bound = points.iter().map(|point| (point.x, 1.2 * point.y)).collect();
        let name = format!("network-{colour}, of some routing");
        Curve { name, colour, made: "", line: Line::Straight, marks: true, points, bound }
    }

    fn chart(curves: Vec<Curve>) -> Chart {
        let axis = |high| Axis::linear("", [0.0, high], Vec::new());
        Chart { x: axis(10.0), y: axis(100.0), curves, printed: Vec::new(), label: String::new() }
    }

    #[test]
    fn intervals_at_one_place_lie_beside_each_other_and_others_stay() {
        let points = [(2.0, 40.0), (5.0, 50.0)];
        let of = |curves: &[Curve]| aside(curves, &chart(vec![]).x, &chart(vec![]).y);
        assert_eq!(of(&[0, 1, 2].map(|colour| curve(colour, &points))), [-8.0, 0.0, 8.0]);
        assert_eq!(of(&[curve(0, &points), curve(1, &[(3.0, 40.0)])]), [0.0, 0.0]);
        // Many numbers across leave less room, and none to the next one's.
        let dense: Vec<(f64, f64)> = (0..100).map(|at| (f64::from(at) / 10.0, 40.0)).collect();
        let moved = of(&[0, 1].map(|colour| curve(colour, &dense)));
        assert!(moved[1] - moved[0] < 5.1 && moved[1] > moved[0], "{moved:?}");
        assert!(thin(&moved).is_some() && thin(&[-8.0, 0.0, 8.0]).is_none());
        let drawn = charted(&chart([0, 1].map(|colour| curve(colour, &points)).into()), "").into_string();
        assert_eq!((drawn.matches("<circle").count(), drawn.matches("class=\"mark\"").count()), (3, 3));
    }

    /// No two curves of a chart look the same, with or without what made them, and with or without marks at points.
    #[test]
    fn after_the_last_colour_marks_tell_curves_apart() {
        for (made, marks) in [("", true), ("packet", true), ("packet", false)] {
            let flat = |colour: usize| Curve { made, marks, ..curve(colour, &[(1.0, 5.0 + colour as f64)]) };
            let looks: std::collections::BTreeSet<_> =
                (0..2 * COLOURS).map(|colour| (look(colour, COLOURS).0, flat(colour).shape() % SHAPES)).collect();
            assert_eq!(looks.len(), 2 * COLOURS, "{made} {marks}");
            let drawn = charted(&chart((0..2 * COLOURS).map(flat).collect()), "").into_string();
            assert!(!drawn.contains(&format!("c{COLOURS}")), "a colour that no stylesheet has");
            // Each curve's own mark, and the one before its name.
            let others = drawn.matches("class=\"mark\"").count();
            assert!(others >= 2 * COLOURS, "{made} {marks}: {others}");
        }
    }

    proptest! {
        #[test]
        fn names_lie_on_no_line_no_name_and_no_frame(
            series in proptest::collection::vec(
                proptest::collection::vec((0.0..10.0, 1.0..100.0), 1..9),
                1..14,
            ),
        ) {
            let curves: Vec<Curve> = series.iter().enumerate().map(|(colour, points)| curve(colour, points)).collect();
            let chart = chart(curves);
            let placed = names(&chart.curves, &chart.y, "");
            let high = height(&chart, "");
            // Lines are cut at the frame, which ends before the names begin.
            let drawn = charted(&chart, "").into_string();
            for text in drawn.split("<text class=\"name").skip(1) {
                let across = text.split("x=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
                prop_assert!(across.parse::<f64>().unwrap() > ACROSS.1 + BEYOND, "{text}");
            }
            for (index, name) in placed.iter().enumerate() {
                prop_assert!(name.at >= TOP - 1e-9 && name.at + LINE / 2.0 <= high, "{} of {high}", name.at);
                prop_assert!(index == 0 || name.at - placed[index - 1].at >= LINE - 1e-9);
                prop_assert!(6.0 * name.line.chars().count() as f64 <= RIGHT - NAMED);
            }
            let fits = placed.len() as f64 * LINE < HEIGHT - BOTTOM - TOP;
            prop_assert!(!fits || high == HEIGHT);
        }
    }
}
