//! A plan: studies in TOML, each a verb and its options, expanded to one command line a cell.

use crate::commands::{Commands, Named, Refusal, Takes};
use hotlink_fabric::catalog::{Lines, Mistake, MistakeKind, nearest};
use hotlink_study::values::{Counts, MOST_VALUES, Numbers, Size, Sizes};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// Keys of a study that are not options of its verb.
const OWN: [&str; 2] = ["name", "verb"];

/// One command line of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The study's name; empty if it has none.
    pub study: String,
    /// `file:line` of the study.
    pub place: String,
    /// The words after `hotlink`.
    pub arguments: Vec<String>,
    /// The options that take several values in this study, with this cell's.
    pub swept: Vec<(String, String)>,
}

impl Cell {
    /// Whether it measures this machine: such a cell must run alone.
    pub fn is_measured(&self) -> bool {
        is_measured(&self.arguments)
    }
}

/// Whether a command line measures this machine.
pub(crate) fn is_measured(arguments: &[String]) -> bool {
    arguments.first().is_some_and(|verb| verb == "measure")
}

/// The cells of the plan `text`, called `file` in messages.
///
/// # Errors
/// Every mistake of the plan that could be found.
pub fn expand(file: &str, text: &str, commands: &dyn Commands) -> Result<Vec<Cell>, Vec<Mistake>> {
    let mut reader = Reader { file, lines: Lines::new(text), commands, mistakes: Vec::new() };
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        reader.wrong(error.span().unwrap_or(0..0), "", error.message().replace('\n', ", "), "");
    }
    let mut cells = Vec::new();
    if errors.is_empty() {
        reader.studies(document.get_ref(), &mut cells);
    }
    if reader.mistakes.is_empty() { Ok(cells) } else { Err(reader.mistakes) }
}

struct Reader<'a> {
    file: &'a str,
    lines: Lines<'a>,
    commands: &'a dyn Commands,
    mistakes: Vec<Mistake>,
}

/// An option with the values that it takes, one after the other.
struct Axis {
    key: String,
    span: Range<usize>,
    /// How the values are handed over: by themselves for what is not an option.
    positional: bool,
    values: Vec<Choice>,
}

/// One value on an axis.
enum Choice {
    /// A flag that is not given.
    Absent,
    /// A flag that is given.
    Given,
    /// Values; a list of them makes one cell.
    Words(Vec<String>),
}

impl Reader<'_> {
    fn wrong(&mut self, span: Range<usize>, key: &str, what: impl Into<String>, allowed: impl Into<String>) {
        let (line, column) = self.lines.place(&span);
        let (file, key) = (self.file.to_owned(), key.to_owned());
        self.mistakes.push(Mistake {
            file,
            line,
            column,
            key,
            what: what.into(),
            allowed: allowed.into(),
            kind: MistakeKind::Other,
        });
    }

    fn studies(&mut self, root: &DeTable<'_>, cells: &mut Vec<Cell>) {
        for (key, value) in root.iter() {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("title", DeValue::String(_)) => {}
                ("title", _) => self.wrong(value.span(), "title", "is not a text", "a text"),
                ("study", DeValue::Array(studies)) => {
                    for (index, study) in studies.iter().enumerate() {
                        match study.get_ref() {
                            DeValue::Table(table) => self.study(index, table, study.span(), cells),
                            _ => self.wrong(study.span(), "study", "is not a table", "[[study]]"),
                        }
                    }
                }
                ("study", _) => self.wrong(value.span(), "study", "is not a list of tables", "[[study]]"),
                (other, _) => self.wrong(key.span(), other, "is unknown", "title, [[study]]"),
            }
        }
        if cells.is_empty() && self.mistakes.is_empty() {
            self.wrong(0..0, "study", "there is none", "[[study]] with a verb and its options");
        }
    }

    fn study(&mut self, index: usize, table: &DeTable<'_>, span: Range<usize>, cells: &mut Vec<Cell>) {
        let path = |key: &str| format!("study[{index}].{key}");
        let before = self.mistakes.len();
        let name = self.own_text(table, "name", &path("name")).unwrap_or_default();
        let Some(verb) = self.own_text(table, "verb", &path("verb")) else {
            if self.mistakes.len() == before {
                self.wrong(span, &path("verb"), "is missing", self.commands.below(&[]).join(", "));
            }
            return;
        };
        let at = table.get("verb").map_or(span.clone(), Spanned::span);
        let words: Vec<&str> = verb.split_whitespace().collect();
        if let Err((what, allowed)) = self.check_verb(&words) {
            return self.wrong(at, &path("verb"), what, allowed);
        }
        let options = self.commands.options(&words);
        let mut keys: Vec<_> = table.iter().filter(|(key, _)| !OWN.contains(&key.get_ref().as_ref())).collect();
        // In the order of the file, not of the alphabet: the last key varies fastest.
        keys.sort_by_key(|(key, _)| key.span().start);
        let mut axes = Vec::new();
        for (key, value) in keys {
            let name = key.get_ref().as_ref();
            match option(&options, name) {
                Ok(option) => match values(option, value.get_ref()) {
                    Ok(values) => {
                        let positional = option.is_positional;
                        axes.push(Axis { key: name.to_owned(), span: value.span(), positional, values });
                    }
                    Err((what, allowed)) => self.wrong(value.span(), &path(name), what, allowed),
                },
                Err((what, allowed)) => self.wrong(key.span(), &path(name), what, allowed),
            }
        }
        if self.mistakes.len() == before {
            self.cross(&name, &words, &axes, &span, &path, cells);
        }
    }

    fn own_text(&mut self, table: &DeTable<'_>, key: &str, path: &str) -> Option<String> {
        match table.get(key)?.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => Some(text.as_ref().to_owned()),
            _ => {
                self.wrong(table.get(key)?.span(), path, "is not a text", "a text that is not empty");
                None
            }
        }
    }

    /// Refuses the words of a verb that there is not.
    fn check_verb(&self, words: &[&str]) -> Result<(), (String, String)> {
        for (depth, word) in words.iter().enumerate() {
            let known = self.commands.below(&words[..depth]);
            if !known.iter().any(|known| known == word) {
                let near =
                    nearest(word, known.iter().map(String::as_str)).map(|near| format!("; did you mean `{near}`?"));
                return Err((format!("`{word}` is unknown{}", near.unwrap_or_default()), known.join(", ")));
            }
        }
        let below = self.commands.below(words);
        match below.is_empty() {
            true => Ok(()),
            false => Err(("does not say which benchmark".to_owned(), below.join(", "))),
        }
    }

    /// Every combination of the axes' values is a cell, checked by the command's own reading of its line.
    fn cross(
        &mut self,
        study: &str,
        verb: &[&str],
        axes: &[Axis],
        span: &Range<usize>,
        path: &dyn Fn(&str) -> String,
        cells: &mut Vec<Cell>,
    ) {
        let many = axes.iter().try_fold(1usize, |product, axis| product.checked_mul(axis.values.len()));
        let many = many.and_then(|many| many.checked_add(cells.len())).filter(|&many| many <= MOST_VALUES);
        let Some(many) = many else {
            let what = format!("the plan has more than {MOST_VALUES} cells");
            return self.wrong(span.clone(), &path("verb"), what, "fewer values");
        };
        let place = format!("{}:{}", self.file, self.lines.place(span).0);
        for index in 0..many - cells.len() {
            let mut cell = Cell {
                study: study.to_owned(),
                place: place.clone(),
                arguments: verb.iter().map(ToString::to_string).collect(),
                swept: Vec::new(),
            };
            let (mut rest, mut picks) = (index, vec![0; axes.len()]);
            for (axis, pick) in axes.iter().zip(&mut picks).rev() {
                (*pick, rest) = (rest % axis.values.len(), rest / axis.values.len());
            }
            for (axis, pick) in axes.iter().zip(picks) {
                cell.take(axis, &axis.values[pick]);
            }
            if let Err(refusal) = self.commands.check(&cell.arguments) {
                return self.refused(&refusal, axes, span, path);
            }
            cells.push(cell);
        }
    }

    /// The face's objection to a cell, at its key.
    fn refused(&mut self, refusal: &Refusal, axes: &[Axis], span: &Range<usize>, path: &dyn Fn(&str) -> String) {
        let Refusal { what, option } = refusal;
        let word = option.split([' ', '=']).next().unwrap_or_default().trim_start_matches('-');
        let is_named = |axis: &&Axis| axis.key == word || option.contains(&format!("<{}", axis.key.to_uppercase()));
        match axes.iter().find(is_named) {
            Some(axis) => self.wrong(axis.span.clone(), &path(&axis.key), what, ""),
            None => self.wrong(span.clone(), &path("verb"), what, ""),
        }
    }
}

impl Cell {
    fn take(&mut self, axis: &Axis, choice: &Choice) {
        let value = match choice {
            Choice::Absent => "false".to_owned(),
            Choice::Given => {
                self.arguments.push(format!("--{}", axis.key));
                "true".to_owned()
            }
            Choice::Words(words) if axis.positional => {
                self.arguments.extend(words.iter().cloned());
                words.join(",")
            }
            Choice::Words(words) => {
                let joined = words.join(",");
                self.arguments.push(format!("--{}={joined}", axis.key));
                joined
            }
        };
        if axis.values.len() > 1 {
            self.swept.push((axis.key.clone(), value));
        }
    }
}

/// The option that `key` means.
fn option<'o>(options: &'o [Named], key: &str) -> Result<&'o Named, (String, String)> {
    options.iter().find(|option| option.name == key).ok_or_else(|| {
        let known: Vec<&str> = options.iter().map(|option| option.name.as_str()).collect();
        let near = nearest(key, known.iter().copied()).map(|near| format!("; did you mean `{near}`?"));
        (format!("is no option of this verb{}", near.unwrap_or_default()), known.join(", "))
    })
}

/// The values of a key. A list is one cell each, except for an option that joins them; a list within it is one cell
/// together. A text stays as it is, and `{ each = "RANGE" }` is one cell for each value of the range.
fn values(option: &Named, value: &DeValue<'_>) -> Result<Vec<Choice>, (String, String)> {
    let joined = |words: &DeArray<'_>| {
        let words = words.iter().map(|word| scalar(option, word.get_ref()));
        words.collect::<Result<Vec<String>, _>>().map(Choice::Words)
    };
    match value {
        DeValue::Array(list) if list.is_empty() => Err(("is an empty list".to_owned(), "one value or more".to_owned())),
        DeValue::Array(list) if option.is_joined && !list.iter().any(|item| item.get_ref().is_array()) => {
            Ok(vec![joined(list)?])
        }
        DeValue::Array(list) => list
            .iter()
            .map(|item| match item.get_ref() {
                DeValue::Array(words) => joined(words),
                other => one(option, other),
            })
            .collect(),
        DeValue::Table(table) => {
            match table.iter().map(|(key, value)| (key.get_ref().as_ref(), value.get_ref())).next() {
                Some(("each", DeValue::String(range))) if table.len() == 1 => {
                    let words = each(option.takes, range)?;
                    Ok(words.into_iter().map(|word| Choice::Words(vec![word])).collect())
                }
                _ => Err(("is a table".to_owned(), "a value, a list, or { each = \"RANGE\" }".to_owned())),
            }
        }
        other => Ok(vec![one(option, other)?]),
    }
}

fn one(option: &Named, value: &DeValue<'_>) -> Result<Choice, (String, String)> {
    match (value, option.takes != Takes::Nothing) {
        (DeValue::Boolean(false), false) => Ok(Choice::Absent),
        (DeValue::Boolean(true), false) => Ok(Choice::Given),
        (_, false) => Err(("is a flag".to_owned(), "true or false".to_owned())),
        (other, true) => Ok(Choice::Words(vec![scalar(option, other)?])),
    }
}

fn scalar(option: &Named, value: &DeValue<'_>) -> Result<String, (String, String)> {
    match value {
        DeValue::String(text) => Ok(text.as_ref().to_owned()),
        DeValue::Integer(integer) => Ok(integer.to_string()),
        DeValue::Float(float) => Ok(float.to_string()),
        other => {
            let allowed = match option.takes != Takes::Nothing {
                true => "a text or a number",
                false => "true or false",
            };
            Err((format!("holds a {}", other.type_str()), allowed.to_owned()))
        }
    }
}

/// Each value of a range, by the kind of list that the option takes.
fn each(takes: Takes, range: &str) -> Result<Vec<String>, (String, String)> {
    let wrong = |what: String| (what, String::new());
    match takes {
        Takes::Counts => Ok(range.parse::<Counts>().map_err(wrong)?.iter().map(ToString::to_string).collect()),
        Takes::Sizes => {
            Ok(range.parse::<Sizes>().map_err(wrong)?.iter().map(|&bytes| Size(bytes).to_string()).collect())
        }
        Takes::Numbers => Ok(range.parse::<Numbers>().map_err(wrong)?.iter().map(ToString::to_string).collect()),
        Takes::Nothing | Takes::Text => {
            Err(("this option takes no range".to_owned(), "a value or a list of values".to_owned()))
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use hotlink_study::Error;
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    /// Two verbs, of which one has a benchmark.
    pub(crate) struct Two;

    impl Commands for Two {
        fn below(&self, verb: &[&str]) -> Vec<String> {
            let words: &[&str] = match verb {
                [] => &["analyze", "simulate"],
                ["simulate"] => &["pingpong"],
                _ => &[],
            };
            words.iter().map(|word| (*word).to_owned()).collect()
        }
        fn options(&self, verb: &[&str]) -> Vec<Named> {
            let is_positional = verb == ["analyze"];
            let named = |name: &str, takes, is_positional| Named {
                name: name.to_owned(),
                takes,
                is_positional,
                is_joined: is_positional,
            };
            vec![
                named("fabric", Takes::Text, is_positional),
                named("nodes", Takes::Counts, false),
                named("size", Takes::Sizes, false),
                named("load", Takes::Numbers, false),
                named("links", Takes::Nothing, false),
            ]
        }
        fn check(&self, arguments: &[String]) -> Result<(), Refusal> {
            let wrong = arguments.iter().any(|word| word.ends_with("=9K"));
            let (what, option) = ("is no size".to_owned(), "--size <LIST>".to_owned());
            if wrong { Err(Refusal { what, option }) } else { Ok(()) }
        }
        fn run(&self, arguments: &[String]) -> Result<Value, Error> {
            match arguments.iter().any(|word| word == "--nodes=13") {
                true => Err(Error::Input("thirteen".to_owned())),
                false => Ok(json!({ "command": arguments, "records": [{ "wall_s": 1, "nodes": 2 }] })),
            }
        }
        fn machine(&self) -> Map<String, Value> {
            Map::new()
        }
        fn version(&self) -> &str {
            "0"
        }
    }

    fn lines(text: &str) -> Vec<String> {
        expand("p.toml", text, &Two).unwrap().iter().map(|cell| cell.arguments.join(" ")).collect()
    }

    #[test]
    fn lists_are_swept_the_last_key_fastest_and_texts_stand_as_they_are() {
        let text = "title = \"t\"\n[[study]]\nverb = \"simulate pingpong\"\nfabric = [\"a\", \"b\"]\nnodes = \"4..6\"\n\
                    links = [false, true]\n[[study]]\nname = \"s\"\nverb = \"analyze\"\nfabric = [[\"a\", \"b\"]]\n\
                    size = { each = \"8..32..x2\" }\nload = { each = \"0.5,1\" }\n";
        assert_eq!(
            lines(text),
            [
                "simulate pingpong --fabric=a --nodes=4..6",
                "simulate pingpong --fabric=a --nodes=4..6 --links",
                "simulate pingpong --fabric=b --nodes=4..6",
                "simulate pingpong --fabric=b --nodes=4..6 --links",
                "analyze a b --size=8 --load=0.5",
                "analyze a b --size=8 --load=1",
                "analyze a b --size=16 --load=0.5",
                "analyze a b --size=16 --load=1",
                "analyze a b --size=32 --load=0.5",
                "analyze a b --size=32 --load=1",
            ]
        );
        let cells = expand("p.toml", text, &Two).unwrap();
        assert_eq!((cells[4].study.as_str(), cells[4].place.as_str()), ("s", "p.toml:7"));
        assert_eq!(cells[1].swept, [("fabric".into(), "a".into()), ("links".into(), "true".into())]);
    }

    #[test]
    fn a_list_of_what_stands_side_by_side_is_one_cell_and_lists_within_it_are_several() {
        let of = |fabrics: &str| lines(&format!("[[study]]\nverb = \"analyze\"\nfabric = {fabrics}\n"));
        assert_eq!(of("[\"a\", \"b\"]"), ["analyze a b"]);
        assert_eq!(of("[[\"a\", \"b\"], \"c\"]"), ["analyze a b", "analyze c"]);
    }

    #[test]
    fn what_the_face_refuses_is_told_at_its_key() {
        let text = "[[study]]\nverb = \"simulate pingpong\"\nsize = [8, \"9K\"]\n";
        let mistakes = expand("p.toml", text, &Two).unwrap_err();
        assert_eq!(mistakes[0].to_string().split(" (").next(), Some("p.toml:3:8: study[0].size: is no size"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(\\[\\[study\\]\\]\n)?(verb = \"(measure|simulate|analyze)( pingpong)?\"\n)?[a-z]{1,6} = (\\[\"[a-z0-9.]{0,5}\"\\]|\\{ each = \"[0-9.x]{0,6}\" \\}|[0-9]{1,3}|\\PC{0,12})\n|\\PC{0,40}") {
            let _ = expand("p.toml", &text, &Two);
        }
    }
}
