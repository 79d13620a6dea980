//! A picture that stands alone: with its title, its style and the text below it.

use crate::curves::{self, LEFT, WIDTH};
use crate::{Chart, Table};
use maud::{Markup, PreEscaped, html};

/// Colours that people with any sight tell apart (`python/tests/test_plot.py` holds them to it). Lines tell what made the points.
const LOOKS: &str = include_str!("file.css");
const LINE: f64 = 16.0;
const HEAD: f64 = 30.0;

/// The words of the key, in their order, with their meaning.
const KEY: [(&str, &str); 5] = [
    ("formula", "closed form"),
    ("load", "counted load"),
    ("packet", "packet by packet"),
    ("loggp", "LogGP"),
    ("measured", "measured here"),
];

/// A drawing.
#[derive(Clone, Copy)]
enum Drawn<'a> {
    Chart(&'a Chart, &'a str),
    Table(&'a Table),
}

/// The file of a chart (with what its curves show) or of a table, under a title, with notes below.
pub fn file(title: &str, drawn: Result<(&Chart, &str), &Table>, notes: &[String]) -> String {
    let drawn = drawn.map_or_else(Drawn::Table, |(chart, name)| Drawn::Chart(chart, name));
    let (width, height) = match drawn {
        Drawn::Chart(chart, name) => (WIDTH, curves::height(chart, name) + 1.3 * LINE),
        Drawn::Table(table) => {
            let (wide, high) = table.extent();
            (wide.max(8.0 + 7.5 * title.chars().count() as f64), high)
        }
    };
    let most = (width / 5.6) as usize;
    let notes: Vec<String> = notes.iter().flat_map(|note| lines(note, most)).collect();
    let high = HEAD + height + LINE * (notes.len() as f64 + 0.5);
    let markup = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {width} {high}")) role="img" aria-label=(title) {
            style { (PreEscaped(LOOKS)) }
            rect .paper width="100%" height="100%" {}
            text .title x="8" y="20" { (title) }
            g transform=(format!("translate(0 {HEAD})")) {
                @match drawn {
                    Drawn::Chart(chart, name) => { (curves::inside(chart, name)) (key(chart, name)) }
                    Drawn::Table(table) => (table.inside()),
                }
            }
            @for (index, note) in notes.iter().enumerate() {
                text .tick x="8" y=(HEAD + height + LINE * (index as f64 + 0.8)) { (note) }
            }
        }
    };
    // A line for each element, so that a change is seen where it is.
    markup.into_string().replace("><", ">\n<") + "\n"
}

/// What each kind of line means, of the kinds that the chart has.
fn key(chart: &Chart, name: &str) -> Markup {
    let has = |word: &str| chart.curves.iter().any(|curve| curve.made == word);
    let words: Vec<(&str, &str)> = KEY.into_iter().filter(|(word, _)| has(word)).collect();
    let place = |index: usize| LEFT + 150.0 * index as f64;
    let level = curves::height(chart, name) + LINE - 4.0;
    html! {
        @for (index, (word, said)) in words.iter().enumerate() {
            g class=(word) {
                path .curve d=(format!("M{} {}h22", place(index), level - 4.0)) {}
                circle cx=(place(index) + 11.0) cy=(level - 4.0) r="3" {}
            }
            text .tick x=(place(index) + 28.0) y=(level) { (said) }
        }
        @if !chart.printed.is_empty() {
            @let at = place(words.len());
            circle .printed cx=(at + 11.0) cy=(level - 4.0) r="4" {}
            text .tick x=(at + 28.0) y=(level) { "printed" }
        }
    }
}

/// A text in lines of at most `most` letters, where it has blanks to break at.
fn lines(text: &str, most: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    for word in text.split(' ') {
        let last = all.last_mut().expect("one line at least");
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > most {
            all.push(word.to_owned());
            continue;
        }
        if !last.is_empty() {
            last.push(' ');
        }
        last.push_str(word);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Curve, Line, Point, Printed};

    /// Two curves of one fabric by two engines, bars, and printed values on and beyond the axis.
    fn chart(line: Line) -> Chart {
        let point = |x: f64, y: f64| Point { x, y, interval: (y > 50.0).then_some([40.0, 55.0]), told: format!("{x}") };
        let curve = |made, by: f64| Curve {
            name: "a <fabric>".to_owned(),
            colour: 0,
            made,
            line,
            marks: true,
            points: [1.0, 4.0, 64.0].map(|x| point(x, by * x)).into(),
            bound: Vec::new(),
        };
        let printed = |x, y| Printed { x, y, told: "printed".to_owned() };
        let words = [1.0, 4.0, 64.0].map(|x| (x, x.to_string())).into();
        let ticks = [0.0, 45.0, 90.0].map(|y| (y, y.to_string())).into();
        Chart {
            x: Axis::words("stride", words),
            y: Axis::linear("MB/s", [0.0, 90.0], ticks),
            curves: vec![curve("packet", 2.0), curve("formula", 1.0)],
            printed: vec![printed(Some(1.0), 126.0), printed(None, 30.0)],
            label: "a chart".to_owned(),
        }
    }

    #[test]
    fn pictures_are_the_golden_file() {
        let table =
            Table { heads: ["bus", "MB/s"].map(str::to_owned).into(), rows: vec![vec!["PCI".into(), "533".into()]] };
        let note = ["beyond the axis: a <fabric> up to 128".to_owned()];
        let drawn = [Line::Straight, Line::Bars].map(|line| file("Lines & bars", Ok((&chart(line), "rate")), &note));
        let drawn = drawn.join("") + &file("A table", Err(&table), &[]);
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/file.golden");
        if std::env::var_os("HOTLINK_GOLDEN").is_some() {
            std::fs::write(path, &drawn).expect("a place to write to");
        }
        let golden = std::fs::read_to_string(path).expect("the golden file");
        assert!(drawn == golden, "HOTLINK_GOLDEN=write accepts a change:\n{drawn}");
    }

    #[test]
    fn notes_break_at_blanks() {
        assert_eq!(lines("ab cd efghij k", 5), ["ab cd", "efghij", "k"]);
    }
}
