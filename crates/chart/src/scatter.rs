//! Things of two numbers as marks, each with an interval across; those that have a name bear it where nothing is hidden.

use crate::curves::{ACROSS, HEIGHT, TOP, UPWARDS, WIDTH, frame, mark as shaped};
use crate::{Axis, look};
use maud::{Markup, html};

/// One thing.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Across.
    pub x: f64,
    /// Upwards.
    pub y: f64,
    /// Across between these ends, where an interval is known.
    pub interval: Option<[f64; 2]>,
    /// The number of its colour.
    pub colour: usize,
    /// Its label; a thing without a name is a ring in the background.
    pub name: Option<String>,
    /// Its text.
    pub told: String,
}

/// Marks over two axes.
pub struct Scatter {
    /// Across.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// The meaning of each colour, in the order of the colours.
    pub colours: Vec<String>,
    /// The marks.
    pub marks: Vec<Mark>,
    /// The text for a screen reader.
    pub label: String,
}

/// Colours of a page's stylesheet.
const COLOURS: usize = 6;
/// Room of a letter, and half of a line's height.
const LETTER: f64 = 7.0;
const HALF: f64 = 7.0;
/// From a mark's middle to its name.
const BESIDE: f64 = 8.0;

/// A box: left, top, right, bottom.
type Area = [f64; 4];

fn overlap(a: &Area, b: &Area) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

/// Marks as markup.
pub fn scattered(scatter: &Scatter) -> Markup {
    let Scatter { x, y, marks, .. } = scatter;
    let places: Vec<(f64, f64)> =
        marks.iter().map(|mark| (x.within(mark.x, ACROSS), y.within(mark.y, UPWARDS))).collect();
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(scatter.label) {
            (frame(x, y))
            // Those with a name lie on top.
            @for is_named in [false, true] {
                @for (mark, at) in marks.iter().zip(&places).filter(|(mark, _)| mark.name.is_some() == is_named) {
                    (marked(mark, *at, x))
                }
            }
            @for (mark, area) in marks.iter().zip(labels(marks, &places, x)) {
                @if let (Some(name), Some([left, top, ..])) = (&mark.name, area) {
                    text class=(format!("name {}", look(mark.colour, COLOURS).0)) x=(left) y=(top + HALF + 4.0) { (name) }
                }
            }
            @for (colour, said) in scatter.colours.iter().enumerate() {
                @let at = TOP + 10.0 + 17.0 * colour as f64;
                @let (class, shape) = look(colour, COLOURS);
                g class=(class) { (dot(shape, (ACROSS.1 + 16.0, at), "4", None)) }
                text class=(format!("name {class}")) x=(ACROSS.1 + 26.0) y=(at + 4.0) { (said) }
            }
        }
    }
}

fn marked(mark: &Mark, (across, up): (f64, f64), x: &Axis) -> Markup {
    let made = if mark.name.is_some() { "" } else { " behind" };
    let (class, shape) = look(mark.colour, COLOURS);
    html! {
        g class=(format!("{class}{made}")) {
            @if let Some([low, high]) = mark.interval {
                line .whisker x1=(x.within(low, ACROSS)) x2=(x.within(high, ACROSS)) y1=(up) y2=(up) {}
            }
            (dot(shape, (across, up), if mark.name.is_some() { "5" } else { "4" }, Some(&mark.told)))
        }
    }
}

/// A disc, or another shape where colours begin again.
fn dot(shape: usize, (across, up): (f64, f64), radius: &str, told: Option<&str>) -> Markup {
    html! {
        @if shape > 0 {
            (shaped(shape, (across, up), told))
        } @else {
            circle cx=(across) cy=(up) r=(radius) { @if let Some(told) = told { title { (told) } } }
        }
    }
}

/// The place of each name: as near to its mark as no mark, no interval and no other name is. `None` where there is no
/// such place: the mark's own text has the name.
fn labels(marks: &[Mark], places: &[(f64, f64)], x: &Axis) -> Vec<Option<Area>> {
    let window = [ACROSS.0, 0.0, ACROSS.1, UPWARDS.0];
    let mark = |(across, up): &(f64, f64)| [across - 5.0, up - 5.0, across + 5.0, up + 5.0];
    let whisker = |(mark, (_, up)): (&Mark, &(f64, f64))| {
        let [low, high] = mark.interval?.map(|end| x.within(end, ACROSS));
        Some([low, up - 1.0, high, up + 1.0])
    };
    let mut taken: Vec<Area> = places.iter().map(mark).collect();
    taken.extend(marks.iter().zip(places).filter_map(whisker));
    let mut found = Vec::new();
    for (mark, (across, up)) in marks.iter().zip(places) {
        let Some(name) = &mark.name else {
            found.push(None);
            continue;
        };
        let wide = LETTER * name.chars().count() as f64;
        // Next to it, then above and below, ever farther; there the name may begin or end at its mark.
        let steps = (0..14).flat_map(|step| [f64::from(step), -f64::from(step)]).map(|step| HALF * step);
        let areas = steps.flat_map(|down| {
            let near = if down.abs() < 2.0 * HALF { BESIDE } else { -3.0 };
            let middle = up - down;
            [across + near, across - near - wide].map(|left| [left, middle - HALF, left + wide, middle + HALF])
        });
        let is_free = |area: &Area| {
            let within = area[0] >= window[0] && area[1] >= window[1] && area[2] <= window[2] && area[3] <= window[3];
            within && !taken.iter().any(|other| overlap(area, other))
        };
        let mut areas = areas.filter(is_free);
        let area = areas.next().map(|area| area.map(|number| (10.0 * number).round() / 10.0));
        taken.extend(area);
        found.push(area);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scatter() -> Scatter {
        let ticks = |ends: [f64; 2]| ends.map(|end| (end, end.to_string())).into();
        let mark = |x, name: Option<&str>| Mark {
            x,
            y: 0.5,
            interval: Some([x - 1.0, x + 1.0]),
            colour: 1,
            name: name.map(str::to_owned),
            told: format!("<{x}>"),
        };
        Scatter {
            x: Axis::linear("cost", [0.0, 10.0], ticks([0.0, 10.0])),
            y: Axis::linear("share", [0.0, 1.0], ticks([0.0, 1.0])),
            colours: vec!["a".to_owned(), "b".to_owned()],
            marks: vec![mark(2.0, Some("one")), mark(3.0, None), mark(9.9, Some("a name too long for what is left"))],
            label: "marks".to_owned(),
        }
    }

    #[test]
    fn marks_bear_their_names_beside_them_and_within_the_frame() {
        let drawn = scattered(&scatter()).into_string();
        assert_eq!(drawn.matches("<circle").count(), 3 + 2);
        assert_eq!(drawn.matches("class=\"whisker\"").count(), 3);
        assert_eq!(drawn.matches("c1 behind").count(), 1);
        assert!(drawn.find("&lt;3&gt;") < drawn.find("&lt;2&gt;"), "those with a name lie on top");
        let Scatter { x, marks, .. } = scatter();
        let bare: Vec<Mark> = marks.iter().map(|mark| Mark { interval: None, ..mark.clone() }).collect();
        let places = [(ACROSS.0 + 40.0, 100.0), (200.0, 200.0), (ACROSS.1 - 4.0, 100.0)];
        let found = labels(&bare, &places, &x);
        assert_eq!(found[0].map(|area| area[0]), Some(ACROSS.0 + 40.0 + BESIDE));
        assert_eq!(found[1], None, "it has no name");
        assert!(found[2].is_some_and(|area| area[2] <= ACROSS.1 - 4.0), "it stands at the left: {found:?}");
        // An interval is not struck through a name.
        let found = labels(&marks, &places, &x);
        let [low, high] = [1.0, 3.0].map(|end| x.within(end, ACROSS));
        assert!(found[0].is_some_and(|area| !overlap(&area, &[low, 99.0, high, 101.0])), "{found:?}");
    }

    #[test]
    fn after_the_last_colour_marks_have_another_shape() {
        let mut many = scatter();
        many.colours = (0..8).map(|colour| format!("technology {colour}")).collect();
        many.marks = (0..8).map(|colour| Mark { colour, name: None, ..many.marks[0].clone() }).collect();
        let drawn = scattered(&many).into_string();
        assert!(!drawn.contains("c6"), "a colour that the page does not have");
        assert_eq!((drawn.matches("<circle").count(), drawn.matches("class=\"mark\"").count()), (2 * 6, 2 * 2));
    }

    proptest! {
        #[test]
        fn names_hide_no_name_no_mark_and_no_interval(
            places in proptest::collection::vec((ACROSS.0..ACROSS.1, TOP..UPWARDS.0), 1..14),
        ) {
            let x = Axis::linear("", [ACROSS.0, ACROSS.1], Vec::new());
            let mark = |(index, (across, up)): (usize, &(f64, f64))| Mark {
                x: *across,
                y: *up,
                interval: (index % 2 == 0).then_some([across - 30.0, across + 30.0]),
                colour: 0,
                name: (index % 5 != 4).then(|| "x".repeat(8 + index)),
                told: String::new(),
            };
            let marks: Vec<Mark> = places.iter().enumerate().map(mark).collect();
            let found: Vec<Area> = labels(&marks, &places, &x).into_iter().flatten().collect();
            for (index, area) in found.iter().enumerate() {
                // To the tenth that places are rounded to.
                let inner = [area[0] + 0.1, area[1] + 0.1, area[2] - 0.1, area[3] - 0.1];
                prop_assert!(!found[..index].iter().any(|other| overlap(&inner, other)));
                for (mark, (across, up)) in marks.iter().zip(&places) {
                    prop_assert!(!overlap(&inner, &[across - 4.9, up - 4.9, across + 4.9, up + 4.9]));
                    let [low, high] = mark.interval.unwrap_or([*across; 2]);
                    prop_assert!(!overlap(&inner, &[low.max(ACROSS.0), up - 0.9, high.min(ACROSS.1), up + 0.9]));
                }
            }
        }
    }
}
